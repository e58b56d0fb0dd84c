"""The published pages in a browser: nothing is asked of another machine, links lead somewhere, axe finds nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from ci.notebooks.files import PAGE, notebooks, number
from ci.site.build import run_sphinx
from ci.site.environment import site_python
from ci.site.pages import write_sources
from helpers import paths
from tests.browser.exported import Served, served, violations

STEMS = [path.stem for path in notebooks(paths.SOLUTIONS) if number(path) != PAGE]
PAGES = ["index", "search", *STEMS]
# Thousands of coloured words, in the same colours on each page: axe looks at them on one.
CODE, CODE_SEEN_ON = (".highlight",), STEMS[0]
EXTERNAL = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=[\"']?(?:https?:)?//[^\s>]*")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages, built from the stored notebooks."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "sources").mkdir()
    write_sources(paths.ROOT, folder / "sources")
    run_sphinx(site_python(paths.ROOT), folder / "sources", folder / "pages")
    return folder / "pages"


@pytest.fixture(scope="module")
def site(pages: Path) -> Iterator[Served]:
    with served(pages) as address:
        yield address


@pytest.mark.slow
def test_every_lab_has_its_page_and_no_page_names_a_script_of_another_machine(pages: Path) -> None:
    assert {path.stem for path in pages.glob("*.html")} == set(PAGES)
    for path in pages.glob("*.html"):
        assert EXTERNAL.findall(path.read_text(encoding="utf-8")) == [], path.name


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("stem", PAGES)
def test_page_asks_for_nothing_elsewhere_and_axe_finds_nothing(
    browser: Browser, site: Served, stem: str, scheme: str
) -> None:
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, color_scheme=scheme)
    try:
        page = site.watch(context.new_page())
        page.goto(f"{site.address}{stem}.html", wait_until="load")
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        # A closed fold would hide its words from axe.
        page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true })")
        found = violations(page, exclude=() if stem in ("index", "search", CODE_SEEN_ON) else CODE)
    finally:
        context.close()
    assert (site.foreign, site.missing, found) == ([], [], [])


@pytest.mark.slow
def test_links_lead_to_pages_and_places_that_are_there(browser: Browser, site: Served, pages: Path) -> None:
    page = browser.new_page()
    anchors, links = {}, []
    for path in sorted(pages.glob("*.html")):
        page.goto(f"{site.address}{path.name}")
        anchors[path.name] = set(page.eval_on_selector_all("[id]", "all => all.map(one => one.id)"))
        here = page.eval_on_selector_all("a[href]", "all => all.map(one => one.getAttribute('href'))")
        links += [(path.name, link) for link in here if not link.startswith(("http:", "https:"))]
    page.close()
    lost = []
    for name, link in links:
        target, _, place = link.partition("#")
        if (target or name) not in anchors or place and place not in anchors[target or name]:
            lost.append((name, link))
    assert len(links) > 100 and lost == []


@pytest.mark.slow
def test_a_reader_finds_a_lab_and_opens_a_card(browser: Browser, site: Served) -> None:
    page = site.watch(browser.new_page())
    page.goto(f"{site.address}index.html")
    page.get_by_role("main").get_by_role("link", name=re.compile("^08 ")).click()
    page.wait_for_url("**/08_allreduce.html")
    assert page.locator("h1").first.inner_text().startswith("08 All-reduce")
    assert page.locator("img.figure").first.evaluate(
        "image => image.naturalWidth > 100 && image.alt.length > 40"
    )
    card = page.get_by_role("group", name=re.compile("passed$")).filter(has=page.locator("summary")).first
    fold = card.locator("summary").first
    fold.focus()
    page.keyboard.press("Enter")
    assert card.locator("li").first.is_visible()
    page.close()
    assert site.foreign == []
