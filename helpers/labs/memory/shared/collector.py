"""The garbage collector in a check: quick, and where it matters only when it is asked."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from helpers.check.garbage import only_new_garbage


@contextmanager
def collector(*, by_itself: bool) -> Iterator[None]:
    """In the block it looks only at what comes in the block.

    by_itself: False: it runs only when it is called, so that what it would free is there each time.
    """
    was = gc.isenabled()
    if not by_itself:
        gc.disable()
    try:
        with only_new_garbage():
            yield
    finally:
        if was and not by_itself:
            gc.enable()
