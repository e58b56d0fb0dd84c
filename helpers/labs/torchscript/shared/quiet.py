"""TorchScript warns at each step that it is deprecated; export logs what it could not do. A check says it once."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No warnings and no log lines of torch in the block. What the answer prints stays."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


@contextlib.contextmanager
def new_types() -> Iterator[None]:
    """In the block the compiler knows no class. One that it refused before, it would refuse with other words."""
    known = torch.jit._recursive.concrete_type_store
    torch.jit._recursive.concrete_type_store = type(known)()
    try:
        yield
    finally:
        torch.jit._recursive.concrete_type_store = known
