"""Pages that need no Jupyter, opened as a reader opens them: what they ask for, and what axe-core finds in them."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Request, Response

# Without preload: axe would fetch style sheets by itself, from wrong places.
OPTIONS = {"resultTypes": ["violations"], "preload": False}
# What fades in is pale at first.
ALL_MOVED = """document.getAnimations().filter(one => one.effect.getComputedTiming().endTime < Infinity)
    .forEach(one => one.finish())"""
HARMLESS = ("data:", "blob:", "about:")


def violations(page: Page, *, exclude: tuple[str, ...] = ()) -> list[str]:
    """What axe-core finds, one line for each element: the rule, where it is, and how it begins.

    exclude: CSS selectors of places that are left out.
    """
    page.evaluate(ALL_MOVED)
    context = {"exclude": [[selector] for selector in exclude]} if exclude else None
    found = Axe().run(page, context=context, options=OPTIONS).response["violations"]
    return [
        f"{rule['id']}: {node['target'][0]}: {' '.join(node['html'].split())[:120]}"
        for rule in found
        for node in rule["nodes"]
    ]


class Served:
    """A folder behind an address on this machine, and what pages asked for that it does not hold."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.foreign: list[str] = []
        self.missing: list[str] = []

    def watch(self, page: Page) -> Page:
        """The page, with what it asks for noted; requests to other machines do not leave this one."""
        page.route(
            "**/*", lambda route: route.abort() if self._is_foreign(route.request) else route.continue_()
        )
        page.on("request", lambda request: self._is_foreign(request) and self.foreign.append(request.url))
        page.on("response", self._note_missing)
        return page

    def _is_foreign(self, request: Request) -> bool:
        return not request.url.startswith((self.address, *HARMLESS))

    def _note_missing(self, response: Response) -> None:
        if response.status >= 400:
            self.missing.append(response.url)


@contextmanager
def served(folder: Path) -> Iterator[Served]:
    """The folder behind a small web server, for as long as the block lasts."""

    class Silent(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Silent, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield Served(f"http://127.0.0.1:{server.server_port}/")
    finally:
        server.shutdown()
        server.server_close()
