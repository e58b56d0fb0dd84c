"""What the garbage collector looks at while an answer is checked."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def only_new_garbage() -> Iterator[None]:
    """In the block a collection looks only at what comes in the block.

    Else each look at all of torch takes a tenth of a second.
    """
    frozen = _something_is_frozen()
    gc.freeze()
    try:
        yield
    finally:
        if not frozen:
            gc.unfreeze()


@contextmanager
def collector(*, by_itself: bool) -> Iterator[None]:
    """A collection in the block looks only at what comes in the block, and may come only when asked.

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


def _something_is_frozen() -> bool:
    """Whether somebody holds back what came before: in a check the fork server did, once and for all.

    To ask the collector takes 30 ms there: it counts all that is frozen.
    """
    return "helpers.processes.frozen" in sys.modules or gc.get_freeze_count() > 0
