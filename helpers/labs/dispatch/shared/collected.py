"""What nothing keeps alive, whatever cycles of references there were: the garbage collector is called, quickly."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from helpers.check.garbage import only_new_garbage


@contextmanager
def collected() -> Iterator[Callable[[], int]]:
    """Yields what calls the garbage collector. It looks only at what comes in the block: else each look takes long."""
    with only_new_garbage():
        yield gc.collect
