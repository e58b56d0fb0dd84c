"""A learner at a browser: `labbook lab` on a copy of the project, Chromium, real keys and clicks."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, sync_playwright

import helpers
from helpers import doctor

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
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\S+token=\w+")


class Server:
    """`labbook lab`, as a learner starts it, in a copy of the project."""

    def __init__(self, project: Path, state: Path) -> None:
        self.project = project
        config = state / "config"
        config.mkdir(parents=True)
        # The tests read cell ids and settled kernels through the application object.
        (config / "jupyter_server_config.json").write_text('{"LabApp": {"expose_app_in_browser": true}}')
        (config / "jupyter_lab_config.json").write_text('{"LabApp": {"expose_app_in_browser": true}}')
        folders = {name: str(state / name.lower()) for name in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")}
        folders |= {name: str(state / name.lower()) for name in ("JUPYTERLAB_SETTINGS_DIR", "IPYTHONDIR")}
        folders |= {"JUPYTERLAB_WORKSPACES_DIR": str(state / "workspaces"), "JUPYTER_CONFIG_DIR": str(config)}
        env = {**os.environ, **folders, "PYTHONPATH": str(project), "LABBOOK_NO_BROWSER": "1"}
        for name in ("PYTEST_CURRENT_TEST", "LABBOOK_STRICT", "LABBOOK_HEADLESS"):
            env.pop(name, None)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "helpers.cli", "lab"],
            cwd=project,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.log: list[str] = []
        self.address = self._found_address()
        threading.Thread(target=self.log.extend, args=(self.process.stdout,), daemon=True).start()

    def _found_address(self) -> str:
        for line in self.process.stdout:
            self.log.append(line)
            if found := ADDRESS.search(line):
                return found[0]
        raise RuntimeError("labbook lab ended without an address:\n" + "".join(self.log))

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)


class Learner:
    """The gestures that a learner makes in JupyterLab."""

    CURRENT = "const panel = window.jupyterapp.shell.currentWidget;"

    def __init__(self, page: Page, server: Server) -> None:
        self.page, self.server = page, server
        self.foreign: list[str] = []
        page.set_default_timeout(30_000)
        page.on("request", self._note_request)

    def _note_request(self, request: Any) -> None:
        if not request.url.startswith(("http://127.0.0.1", "ws://127.0.0.1", "data:", "blob:")):
            self.foreign.append(request.url)

    def arrive(self) -> None:
        """Opens the address that `labbook lab` printed, without what an earlier test had open."""
        self.page.goto(f"{self.server.address}&reset")
        self._settled()

    def follow(self, link: str) -> None:
        """Clicks a link of the open page to another notebook, and waits until that one is there."""
        before = self.name()
        self.panel.get_by_role("link", name=re.compile(link)).first.click()
        self.page.wait_for_function(
            "before => { const panel = window.jupyterapp.shell.currentWidget;"
            " return panel?.context?.path && panel.context.path !== before }",
            arg=before,
        )
        self._settled()

    def name(self) -> str:
        """Path of the notebook in front."""
        return self.page.evaluate(f"() => {{ {self.CURRENT} return panel.context.path }}")

    def _settled(self) -> None:
        self.page.locator("#jupyterlab-splash").wait_for(state="detached", timeout=60_000)
        self.panel.wait_for(timeout=60_000)
        self.page.wait_for_function(
            f"() => {{ {self.CURRENT} const kernel = panel?.sessionContext?.session?.kernel;"
            " return kernel?.connectionStatus === 'connected' && kernel.status === 'idle'"
            " && panel.content.widgets.length > 0 }",
            timeout=120_000,
        )

    @property
    def panel(self) -> Locator:
        return self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")

    def cell(self, id: str) -> Locator:
        """The cell with this id, made the active one and scrolled to."""
        index = self.page.evaluate(
            f"id => {{ {self.CURRENT} const at = panel.content.widgets.findIndex(cell => cell.model.id === id);"
            " if (at >= 0) { panel.content.activeCellIndex = at; panel.content.scrollToItem(at); } return at }",
            id,
        )
        assert index >= 0, f"{self.name()} has no cell {id}"
        return self.panel.locator(f'.jp-Cell[data-windowed-list-index="{index}"]')

    def source(self, id: str) -> str:
        """The text of a cell."""
        return self.page.evaluate(
            f"id => {{ {self.CURRENT}"
            " return panel.content.widgets.find(cell => cell.model.id === id).model.sharedModel.getSource() }",
            id,
        )

    def type_into(self, id: str, text: str) -> None:
        """Replaces a cell's text with the keyboard."""
        self.cell(id).locator(".cm-content").click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)
        assert self.source(id) == text

    def run(self, id: str) -> Locator:
        """Runs a cell with Ctrl+Enter and returns its output, when it is done."""
        cell = self.cell(id)
        cell.locator(".cm-content").click()
        # The promise of the command is awaited: right after the keys the kernel still says that it is idle.
        self.page.keyboard.press("Escape")
        self.page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-cell')")
        return cell.locator(".jp-Cell-outputArea")

    def run_all(self) -> None:
        self.page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")

    def save(self) -> None:
        self.page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")

    def theme(self, name: str) -> None:
        """Changes the theme; that shows the splash over the page once more."""
        self.page.evaluate(
            "name => window.jupyterapp.commands.execute('apputils:change-theme', { theme: name })", name
        )
        self.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=name)
        self.page.locator("#jupyterlab-splash").wait_for(state="detached")

    def shoot(self, name: str) -> None:
        """A screenshot into .labbook/shots/ of the project under test, for a person to look at."""
        folder = helpers.STATE / "shots"
        folder.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=folder / f"{name}.png")


def copied_project(target: Path) -> Path:
    """A copy of what git tracks or would track, as a fresh clone has it."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=helpers.ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        source = helpers.ROOT / name
        if source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)
    return target


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(copied_project(tmp_path_factory.mktemp("project")), tmp_path_factory.mktemp("state"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def learner(browser: Browser, server: Server) -> Iterator[Learner]:
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    learner = Learner(context.new_page(), server)
    yield learner
    context.close()
    assert learner.foreign == [], "nothing may be asked of another machine"


def notebook_ids(path: Path) -> list[str]:
    """The cell ids of a notebook file."""
    return [cell["id"] for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]
