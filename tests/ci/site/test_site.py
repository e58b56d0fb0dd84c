"""The published pages: what is prepared for the site's tool, and what happens where something is missing."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from ci.notebooks.files import PAGE, Problem, notebooks, number, read
from ci.site import build, environment, pages
from helpers import paths
from tests.ci.checkout.test_setup import names

FOLDER = paths.ROOT / "ci" / "site"
PICTURE = b"\x89PNG of a test"


def shown(*outputs: NotebookNode) -> tuple[list[NotebookNode], dict[str, bytes]]:
    """The prepared outputs of a cell, and the pictures."""
    cell = new_code_cell("figure", outputs=list(outputs), id="drawn")
    notebook, figures = pages.prepared(new_notebook(cells=[cell]), "01_lab")
    return notebook.cells[0].outputs, figures


def figure(alt: str) -> NotebookNode:
    data = {
        "image/png": base64.b64encode(PICTURE).decode(),
        "text/plain": "[figure]",
        "application/vnd.jupyter.widget-view+json": {"model_id": "1"},
    }
    return new_output("display_data", data, metadata={"image/png": {"alt": alt}})


def test_a_figure_is_a_picture_with_its_words_and_no_widget() -> None:
    [first, second], figures = shown(figure('A line that is "flat" & <long>.'), figure("Another line."))
    assert figures == {"01_lab-drawn-1.png": PICTURE, "01_lab-drawn-2.png": PICTURE}
    assert set(first.data) == {"text/html"}
    assert 'src="_static/figures/01_lab-drawn-1.png"' in first.data["text/html"]
    assert 'alt="A line that is &quot;flat&quot; &amp; &lt;long&gt;."' in first.data["text/html"]
    assert 'alt="Another line."' in second.data["text/html"]


def test_a_figure_without_words_is_refused_and_named() -> None:
    with pytest.raises(Problem, match="01_lab-drawn: this figure has no text alternative"):
        shown(figure("  "))


def test_a_card_stays_as_it_is_and_other_forms_go() -> None:
    card = new_output("execute_result", {"text/html": "<section>Passed</section>", "text/plain": "passed"})
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "1"}, "text/plain": "VBox"}
    stream = new_output("stream", text="printed\n")
    outputs, _ = shown(card, new_output("display_data", view), stream)
    assert outputs[0].data == {"text/html": "<section>Passed</section>"}
    assert outputs[1].data == {"text/plain": "VBox"}
    assert outputs[2] == stream


@pytest.mark.parametrize(
    ("written", "prepared"),
    [
        ("see [lab 8](08_allreduce.ipynb)", "see [lab 8](08_allreduce.ipynb)"),
        ("see [lab 8](../labs/08_allreduce.ipynb#ring)", "see [lab 8](08_allreduce.ipynb#ring)"),
        ("[start](00_start.ipynb)", "[start](index.md)"),
        ("[torch](torch/nn/modules/module.py)", "[torch](torch/nn/modules/module.py)"),
    ],
)
def test_links_between_labs_lead_to_pages(written: str, prepared: str) -> None:
    notebook, _ = pages.prepared(new_notebook(cells=[new_markdown_cell(written)]), "01_lab")
    assert notebook.cells[0].source == prepared


def test_links_in_outputs_lead_to_pages() -> None:
    html = '<a href="03_autograd.ipynb#cell-id=x">3</a> <a href="work/00_start.ipynb">0</a>'
    [output], _ = shown(new_output("display_data", {"text/html": html}))
    assert output.data["text/html"] == '<a href="03_autograd.html#cell-id=x">3</a> <a href="index.html">0</a>'


def test_first_page_lists_each_lab_with_its_question() -> None:
    labs = [path for path in notebooks(paths.SOLUTIONS) if number(path) != PAGE]
    text = pages.index(labs)
    assert "@" not in text
    for path in labs:
        assert f"]({path.name})" in text and f"<{path.stem}>" in text
        question = read(path, paths.ROOT).cells[0].source.partition("**Question.** ")[2].splitlines()[0]
        assert question in text


def test_every_stored_output_can_be_prepared(tmp_path: Path) -> None:
    """Every figure of the course has its words, and each page refers to pictures that are there."""
    pages.write_sources(paths.ROOT, tmp_path)
    used = set()
    for path in tmp_path.glob("*.ipynb"):
        used |= set(re.findall(r"_static/figures/[\w.-]+", path.read_text(encoding="utf-8")))
        assert "iVBORw0KGgo" not in path.read_text(encoding="utf-8"), "a picture stayed in the notebook"
    written = {path.relative_to(tmp_path).as_posix() for path in (tmp_path / pages.FIGURES).iterdir()}
    assert used == written and len(used) >= 20


def test_lock_of_the_site_pins_every_requirement_and_names_no_address() -> None:
    wanted = names((FOLDER / "requirements.in").read_text())
    lock = (FOLDER / "requirements.lock").read_text()
    pins = [line for line in lock.splitlines() if line[:1].isalnum()]
    assert wanted and wanted <= names(lock)
    assert all("==" in pin and pin.endswith("\\") for pin in pins)
    assert all("://" not in path.read_text() for path in FOLDER.iterdir() if path.is_file())


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a lock and the pages of before."""
    (tmp_path / environment.LOCK).parent.mkdir(parents=True)
    (tmp_path / environment.LOCK).write_text("")
    (tmp_path / build.SITE).mkdir(parents=True)
    (tmp_path / build.SITE / "index.html").write_text("before")
    return tmp_path


def before_is_kept(project: Path) -> bool:
    return (project / build.SITE / "index.html").read_text() == "before"


def assert_one_line(description: str, *words: str) -> None:
    assert len(description.splitlines()) == 1 and all(word in description for word in words), description


def test_missing_lock_is_told(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / environment.LOCK).unlink()
    assert build.site(project) == 1
    assert_one_line(capsys.readouterr().err, "requirements.lock", "git restore", "are as they were")
    assert before_is_kept(project)


def test_a_wrong_lock_is_told(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / environment.LOCK).write_text("sphinx==9.0.4\n")
    assert build.site(project) == 1
    output = capsys.readouterr().err
    assert_one_line(output, ".venv-site", "--require-hashes", "Fix", "are as they were")
    assert before_is_kept(project) and not (project / ".venv-site" / "labbook-stamp.json").exists()


def test_environment_is_made_once_and_again_for_another_lock(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for lock, makes in (("", True), ("", False), ("# changed\n", True)):
        (project / environment.LOCK).write_text(lock)
        python = environment.site_python(project)
        assert environment.answers(python)
        assert ("making .venv-site" in capsys.readouterr().out) is makes


def test_a_notebook_that_cannot_be_read_is_told(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "solutions").mkdir()
    (project / "solutions" / "01_lab.ipynb").write_text("{")
    assert build.site(project) == 1
    assert_one_line(capsys.readouterr().err, "solutions/01_lab.ipynb", "not valid JSON", "are as they were")
    assert before_is_kept(project)


COMPLAINTS = {
    "/tmp/x/sources/03_autograd.ipynb:20002: WARNING: 'myst' cross-reference target not found: 'x' [myst.xref_missing]": (
        "solutions/03_autograd.ipynb: 'myst' cross-reference target not found"
    ),
    "/tmp/x/sources/index.md:3: ERROR: Unknown directive": "index.md: Unknown directive",
    "WARNING: something general": "something general. Fix",
    "Traceback\nImportError: no theme": "Sphinx failed: ImportError: no theme",
    "": "Sphinx failed: no message",
}


@pytest.mark.parametrize("description", COMPLAINTS)
def test_a_complaint_of_the_tool_is_one_line_about_the_notebook(description: str) -> None:
    assert_one_line(str(build.complaint(description, Path("/tmp/x/sources"))), COMPLAINTS[description])


def test_new_pages_take_the_place_of_the_old_ones_only_when_they_are_done(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def half(python: Path, sources: Path, target: Path) -> None:
        target.mkdir()
        (target / "index.html").write_text("half")
        raise Problem("Sphinx failed: no reason")

    def whole(python: Path, sources: Path, target: Path) -> None:
        target.mkdir()
        (target / "index.html").write_text("new")

    monkeypatch.setattr(build, "site_python", lambda root: Path("python"))
    monkeypatch.setattr(build, "write_sources", lambda root, folder: None)
    monkeypatch.setattr(build, "run_sphinx", half)
    assert build.site(project) == 1 and before_is_kept(project)
    assert_one_line(capsys.readouterr().err, "Sphinx failed", "are as they were")
    monkeypatch.setattr(build, "run_sphinx", whole)
    assert build.site(project) == 0
    assert (project / build.SITE / "index.html").read_text() == "new"
    assert [path.name for path in (project / ".labbook").iterdir() if path.is_dir()] == ["site"]
    assert ".labbook/site" in capsys.readouterr().out
