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


def _something_is_frozen() -> bool:
    """Whether somebody holds back what came before: in a check the fork server did, once and for all.

    To ask the collector takes 30 ms there: it counts all that is frozen.
    """
    return "helpers.processes.frozen" in sys.modules or gc.get_freeze_count() > 0
