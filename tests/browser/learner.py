"""The gestures that a learner makes in JupyterLab, each waiting for what it brings about."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator, Page

from helpers import paths
from tests.browser.server import Server

CURRENT = "const panel = window.jupyterapp.shell.currentWidget;"
SETTLED = f"""() => {{
    {CURRENT}
    const kernel = panel?.sessionContext?.session?.kernel;
    return kernel?.connectionStatus === 'connected' && kernel.status === 'idle' && panel.content.widgets.length > 0;
}}"""


class Learner:
    """Somebody at a browser. `foreign` holds what the pages asked of other machines."""

    def __init__(self, page: Page, server: Server) -> None:
        self.page, self.server = page, server
        self.foreign: list[str] = []
        page.set_default_timeout(30_000)
        page.on("request", self._note_request)

    def _note_request(self, request: Any) -> None:
        if not request.url.startswith(("http://127.0.0.1", "ws://127.0.0.1", "data:", "blob:")):
            self.foreign.append(request.url)

    # Moving about

    def arrive(self) -> None:
        """Opens the address that `labbook lab` printed."""
        self.page.goto(self.server.address)
        self.settled()

    def settled(self) -> None:
        """Waits until the notebook in front is there and its kernel is idle."""
        self.page.locator("#jupyterlab-splash").wait_for(state="detached", timeout=60_000)
        self.panel.wait_for(timeout=60_000)
        self.page.wait_for_function(SETTLED, timeout=120_000)

    def follow(self, link: str) -> None:
        """Clicks a link of the notebook in front to another one."""
        before = self.name()
        self.panel.get_by_role("link", name=re.compile(link)).first.click()
        self._arrived("another", before)

    def go_to(self, path: str) -> None:
        """Brings a notebook to the front, from the file browser or from its tab."""
        self.page.evaluate(
            "path => void window.jupyterapp.commands.execute('docmanager:open', { path })", path
        )
        self._arrived("this", path)

    def _arrived(self, which: str, path: str) -> None:
        self.page.wait_for_function(
            "([which, path]) => { const panel = window.jupyterapp.shell.currentWidget;"
            " const now = panel?.context?.path; return now && (now === path) === (which === 'this') }",
            arg=[which, path],
        )
        self.settled()

    def reload(self) -> None:
        """The browser's reload key."""
        self.page.reload()
        self.settled()

    def close(self) -> None:
        """Closes the notebook in front and shuts its kernel down, from the menu File."""
        path = self.name()
        self.page.evaluate("() => void window.jupyterapp.commands.execute('notebook:close-and-shutdown')")
        self._accept()
        self.page.wait_for_function(
            "path => ![...window.jupyterapp.shell.widgets('main')].some(one => one.context?.path === path)",
            arg=path,
        )

    def restart(self) -> None:
        """Restarts the kernel of the notebook in front, from the menu Kernel."""
        self.page.evaluate("() => void window.jupyterapp.commands.execute('notebook:restart-kernel')")
        self._accept()
        self.settled()

    def _accept(self) -> None:
        """Says yes to JupyterLab's question."""
        self.page.locator(".jp-Dialog .jp-mod-accept").click()
        self.page.locator(".jp-Dialog").wait_for(state="detached")

    # Reading

    @property
    def panel(self) -> Locator:
        return self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")

    def name(self) -> str:
        """Path of the notebook in front."""
        return self.page.evaluate(f"() => {{ {CURRENT} return panel.context.path }}")

    def number_of_cells(self) -> int:
        return self.page.evaluate(f"() => {{ {CURRENT} return panel.content.widgets.length }}")

    def cell(self, id: str) -> Locator:
        """The cell with this id, made the active one and scrolled to."""
        index = self.page.evaluate(
            f"id => {{ {CURRENT} const at = panel.content.widgets.findIndex(cell => cell.model.id === id);"
            " if (at >= 0) { panel.content.activeCellIndex = at; panel.content.scrollToItem(at); } return at }",
            id,
        )
        assert index >= 0, f"{self.name()} has no cell {id}"
        found = self.panel.locator(f'.jp-Cell[data-windowed-list-index="{index}"]')
        # Of a long notebook JupyterLab makes the far cells later, and their outputs when they come into view.
        found.wait_for(state="attached")
        found.scroll_into_view_if_needed()
        return found

    def output(self, id: str) -> Locator:
        """What stands under a cell."""
        return self.cell(id).locator(".jp-Cell-outputArea")

    def source(self, id: str) -> str:
        """The text of a cell."""
        return self.page.evaluate(
            f"id => {{ {CURRENT}"
            " return panel.content.widgets.find(cell => cell.model.id === id).model.sharedModel.getSource() }",
            id,
        )

    # Writing and running

    def type_into(self, id: str, text: str) -> None:
        """Replaces a cell's text with the keyboard."""
        self.cell(id).locator(".cm-content").click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)
        assert self.source(id) == text

    def add_below(self, id: str, text: str) -> str:
        """A new cell under another one, with the key b; returns its id."""
        self.cell(id).locator(".cm-content").click()
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("b")
        new = self.page.evaluate(f"() => {{ {CURRENT} return panel.content.activeCell.model.id }}")
        assert new != id
        self.type_into(new, text)
        return new

    def run(self, id: str) -> Locator:
        """Runs a cell and returns its output, when it is done."""
        cell = self.cell(id)
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Escape")
        # The promise of the command is awaited: right after Ctrl+Enter the kernel still says that it is idle.
        self.page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-cell')")
        return cell.locator(".jp-Cell-outputArea")

    def run_above(self, id: str) -> None:
        """Runs all cells above one, and waits for them."""
        self.cell(id)
        self.page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-above')")

    def save(self) -> None:
        self.page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")

    # Looking

    def theme(self, name: str) -> None:
        """Changes the theme; that shows the splash over the page once more."""
        self.page.evaluate(
            "name => window.jupyterapp.commands.execute('apputils:change-theme', { theme: name })", name
        )
        self.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=name)
        self.page.locator("#jupyterlab-splash").wait_for(state="detached")

    def shoot(self, name: str, of: Locator | None = None) -> None:
        """A screenshot into .labbook/shots/ of the project under test, for a person to look at."""
        folder = paths.STATE / "shots"
        folder.mkdir(parents=True, exist_ok=True)
        (of or self.page).screenshot(path=folder / f"{name}.png")
