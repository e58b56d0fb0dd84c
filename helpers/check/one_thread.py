"""Checks on one thread: some operations start all threads however small their input."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """A block, or as `@one_thread()` a function, on one thread. On a busy machine threads wait for each other: 0.5 s."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
