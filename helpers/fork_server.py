"""The one fork server of this process: a process that has imported what its children need, and never computed.

Python has one fork server a process. What it imports beforehand is fixed when it starts, so those who use it
agree on that here. It also keeps the environment of its start: children are told the present one.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import BaseContext

IMPORTED = ["helpers.child", "helpers.ranks.rank"]


def fork_server() -> BaseContext:
    """The multiprocessing context whose children come from the fork server."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    return context


@contextmanager
def no_main_module() -> Iterator[None]:
    """Hides the file of __main__, which a child would import a second time."""
    main = sys.modules.get("__main__")
    hidden = {name: getattr(main, name) for name in ("__file__", "__spec__") if getattr(main, name, None)}
    for name in hidden:
        setattr(main, name, None)
    try:
        yield
    finally:
        for name, value in hidden.items():
            setattr(main, name, value)
