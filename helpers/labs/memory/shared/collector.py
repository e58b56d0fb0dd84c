"""The garbage collector in a check: quick, and where it matters only when it is asked."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector(*, by_itself: bool) -> Iterator[None]:
    """In the block it looks only at what comes in the block: else each look at all of torch takes a tenth of a second.

    by_itself: False: it runs only when it is called, so that what it would free is there each time.
    """
    was, frozen = gc.isenabled(), _something_is_frozen()
    if not by_itself:
        gc.disable()
    gc.freeze()
    try:
        yield
    finally:
        if not frozen:
            gc.unfreeze()
        if was and not by_itself:
            gc.enable()


def _something_is_frozen() -> bool:
    """Whether somebody holds back what came before: in a check the fork server did, once and for all.

    To ask the collector takes 30 ms there: it counts all that is frozen.
    """
    return "helpers.processes.frozen" in sys.modules or gc.get_freeze_count() > 0
