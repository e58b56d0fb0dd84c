"""A learner at a browser: `labbook lab` on a copy of the project, Chromium, real keys and clicks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from helpers import doctor
from tests.browser.learner import Learner
from tests.browser.server import Server, copied_project

CHROMIUM = doctor.browser()
FLAGS = [
    "--no-sandbox",  # the tests may run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


# For a module and no longer: as long as it is there, Playwright keeps an event loop running in this process.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def server(browser: Browser, tmp_path: Path) -> Iterator[Server]:
    """A server that this test alone has, on a fresh clone."""
    server = Server(copied_project(tmp_path / "project"), tmp_path / "state")
    yield server
    server.stop()


@pytest.fixture
def learner(browser: Browser, server: Server) -> Iterator[Learner]:
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    learner = Learner(context.new_page(), server)
    yield learner
    context.close()
    assert learner.foreign == [], "nothing may be asked of another machine"
