"""How cards and figures look to a reader: exported pages in light and dark, at 200 %, by keyboard, without pictures.

axe measures contrast only on pages outside JupyterLab, so pages of nbconvert are looked at, the way a reader makes them.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image
from playwright.sync_api import Browser, Page

from ci.notebooks.files import notebooks
from helpers import paths
from helpers.course.overview import overview
from helpers.display.comparison import Comparison
from helpers.display.report import VERDICTS, Report
from helpers.start import Course
from tests.browser.exported import violations

SOLUTIONS = notebooks(paths.SOLUTIONS)
# In `make test`: together they hold every kind of output that the course stores.
QUICK = ("00_start", "07_ddp")
EXPORTED = [pytest.param(path, marks=() if path.stem in QUICK else pytest.mark.slow) for path in SOLUTIONS]
# nbconvert's own, the same in every notebook of anybody: numbers of cells in pale grey, and colours of code that are
# too weak on its dark paper. Nothing else of a page is left out.
NBCONVERT = (".jp-InputPrompt", ".jp-OutputPrompt", ".highlight")
LONG = "a_name_that_never_ends_" * 12


@cache
def exporter(theme: str) -> HTMLExporter:
    """nbconvert, made once; what it would fetch from other machines is replaced by nothing."""
    nothing = "data:text/javascript,"
    return HTMLExporter(theme=theme, require_js_url=nothing, mathjax_url=nothing, mermaid_js_url=nothing)


@pytest.fixture(scope="module")
def reader(browser: Browser) -> Iterator[Page]:
    """A page that reaches no other machine."""
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.route("**/*", lambda route: route.abort())
    yield page
    page.close()


def show(page: Page, notebook: nbformat.NotebookNode, theme: str, *, unfold: bool = True) -> None:
    """Opens the exported notebook."""
    page.set_content(exporter(theme).from_notebook_node(notebook)[0], wait_until="load")
    if unfold:
        page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true })")


def cards() -> nbformat.NotebookNode:
    """A notebook of every card there is, with words and lines that are hard to fit, and of the map."""
    from helpers.labs import reproducibility as lab

    message = {
        "message": f"{LONG} was not given.",
        "given": f"x = {LONG}",
        "expected": "1 " * 200,
        "got": LONG,
    }
    known = {"some_mistake": f"The teacher says: `{LONG}` is not a name.", LONG: "Another."}
    reports = [
        Report("01.lab", f"Exercise {place}", verdict, mistake="some_mistake" if verdict == "wrong" else None, known=known,
               output=f"printed {LONG}\n" * 3, properties=("it holds", LONG), where=("Cell In[1], line 2", LONG), seed=1, **message)
        for place, verdict in enumerate(VERDICTS)
    ]  # fmt: skip
    long_line = f"    return {LONG}({', '.join(LONG.split('_'))})"
    compared = Comparison("01.lab", f"def f(x):\n{long_line}", f"def f(x):\n    y = x\n{long_line}")
    shown = [*reports, compared, lab.seed_everything.hint(), Course(overview())]
    cells = [new_markdown_cell("# Every card", id="title")]
    for place, one in enumerate(shown):
        html = one._repr_html_() if hasattr(one, "_repr_html_") else one._repr_mimebundle_()["text/html"]
        output = new_output("display_data", {"text/html": html})
        cells.append(new_code_cell("", id=f"card-{place}", outputs=[output]))
    return new_notebook(cells=cells)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", EXPORTED, ids=lambda path: path.stem)
def test_axe_finds_nothing_on_the_exported_page(reader: Page, path: Path, theme: str) -> None:
    show(reader, nbformat.read(path, as_version=4), theme)
    assert reader.locator(".jp-Cell").count() > 3
    assert violations(reader, exclude=NBCONVERT) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_in_any_card(reader: Page, theme: str) -> None:
    show(reader, cards(), theme)
    assert reader.get_by_role("group").count() >= len(VERDICTS) + 2
    assert violations(reader, exclude=NBCONVERT) == []


def test_axe_sees_a_bad_contrast(reader: Page) -> None:
    """A pair of colours that must be found: else the tests above prove nothing."""
    html = '<section role="group" aria-label="x" style="background:#fff;color:#ccc">pale words</section>'
    cell = new_code_cell("", id="pale", outputs=[new_output("display_data", {"text/html": html})])
    show(reader, new_notebook(cells=[new_markdown_cell("# Pale", id="title"), cell]), "light")
    assert [line.partition(":")[0] for line in violations(reader, exclude=NBCONVERT)] == ["color-contrast"]


# Elements inside outputs that are wider than the place they have, with the first words of each.
TOO_WIDE = """() => [...document.querySelectorAll('section[role=group], .jp-OutputArea-output')]
    .filter(one => !one.querySelector(':scope > pre, :scope > img') && one.scrollWidth > one.clientWidth + 1)
    .map(one => `${one.scrollWidth} > ${one.clientWidth}: ${one.textContent.trim().slice(0, 60)}`)"""


@pytest.fixture(scope="module")
def zoomed(browser: Browser) -> Iterator[Page]:
    """A window of 1400 pixels at 200 %: half as many fit beside each other."""
    page = browser.new_page(viewport={"width": 700, "height": 500}, device_scale_factor=2)
    page.route("**/*", lambda route: route.abort())
    yield page
    page.close()


def test_no_card_is_wider_than_its_place_at_200_percent(zoomed: Page) -> None:
    show(zoomed, cards(), "light")
    assert zoomed.evaluate(TOO_WIDE) == []


@pytest.mark.parametrize("path", EXPORTED, ids=lambda path: path.stem)
def test_no_stored_card_is_wider_than_its_place_at_200_percent(zoomed: Page, path: Path) -> None:
    show(zoomed, nbformat.read(path, as_version=4), "light")
    assert zoomed.evaluate(TOO_WIDE) == []


def test_keyboard_reaches_and_opens_every_fold_and_shows_where_it_is(reader: Page) -> None:
    show(reader, cards(), "light", unfold=False)
    visited = []
    while (at := visit(reader)) and len(visited) < 200:
        assert at["ring"], at
        visited.append(at["place"])
        if at["place"] >= 0:
            reader.keyboard.press("Enter")
    folds = reader.locator("summary").count()
    assert folds >= len(VERDICTS)
    assert [place for place in visited if place >= 0] == list(range(folds))
    assert reader.locator("details[open]").count() == folds


def visit(page: Page) -> dict[str, Any] | None:
    """Presses Tab and tells where that leads: the number of the fold, or -1; None when it leaves the page."""
    page.keyboard.press("Tab")
    return page.evaluate(
        "() => { const here = document.activeElement, style = getComputedStyle(here);"
        " return here === document.body ? null : {"
        " place: [...document.querySelectorAll('summary')].indexOf(here), what: here.outerHTML.slice(0, 80),"
        " ring: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1 } }"
    )


def outputs(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The outputs of a stored notebook, each with the id of its cell."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            yield cell["id"], output


@pytest.mark.parametrize("path", SOLUTIONS[1:], ids=lambda path: path.stem)
def test_every_stored_figure_has_a_picture_and_a_sentence(path: Path) -> None:
    """GitHub and nbconvert show the picture; a widget's view alone would show nothing there."""
    figures = 0
    for cell, output in outputs(path):
        data = output.get("data", {})
        pictures = [kind for kind in data if kind.startswith("image/")]
        assert pictures in ([], ["image/png"]), cell
        widget = "application/vnd.jupyter.widget-view+json" in data
        text = "".join(data.get("text/plain", ""))
        if not pictures:
            assert not widget and "<img" not in "".join(data.get("text/html", "")), cell
            continue
        figures += 1
        assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG\r\n"), cell
        alt = output["metadata"]["image/png"]["alt"]
        assert len(alt.split()) >= 8 and alt.endswith("."), (cell, alt)
        assert text in (f"[figure] {alt}", "<IPython.core.display.Image object>"), cell
    assert figures >= 1


def test_figures_are_drawn_on_white_paper() -> None:
    """In a dark page the dark words of a figure without paper could not be read."""
    seen = 0
    for path in SOLUTIONS:
        for cell, output in outputs(path):
            if picture := output.get("data", {}).get("image/png"):
                image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGBA")
                corners = [(x, y) for x in (0, image.width - 1) for y in (0, image.height - 1)]
                assert {image.getpixel(corner) for corner in corners} == {(255, 255, 255, 255)}, (
                    path.stem,
                    cell,
                )
                seen += 1
    assert seen >= 20
