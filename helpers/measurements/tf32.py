"""The switches that allow TF32, for a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from helpers import precision as switches


@contextmanager
def precision(name: str) -> Iterator[None]:
    """In this block float32 products and convolutions on a GPU are computed as "ieee" or "tf32".

    By the older switches: they set the newer ones with them, so that whoever reads either finds the same.
    """
    before = switches.read()
    torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
    torch.backends.cudnn.allow_tf32 = name == "tf32"
    try:
        yield
    finally:
        switches.write(before)
