"""The handwritten digits that ship with the course: 1,000 pictures of 8 x 8 grey pixels (see data/digits/README.md)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from PIL import Image

from helpers import paths

if TYPE_CHECKING:
    from torchvision.datasets import ImageFolder

SPLITS = ("train", "test")


def grey(path: str) -> Image.Image:
    """The picture in a file, 8 x 8 pixels, one channel. `ImageFolder` itself would make three channels of it."""
    with Image.open(path) as picture:
        return picture.convert("L")


def as_float(picture: Image.Image) -> torch.Tensor:
    """A grey picture as float32 of shape (1, 8, 8), from 0 (paper) to 1 (ink)."""
    return torch.from_numpy(np.array(picture)[None]).to(torch.float32) / 255


def digits(split: str = "train", transform: Callable[[Image.Image], Any] = as_float) -> ImageFolder:
    """The digits as files: item `i` reads a file and gives `(transform(picture), label)`.

    Args:
        split: "train" (800 pictures, 80 of each digit) or "test" (200, 20 of each).
        transform: From a grey picture to what the item shall hold.

    Raises:
        ValueError: there is no such split.
        FileNotFoundError: the pictures are not there.
    """
    from torchvision.datasets import ImageFolder  # here: most labs take the tensors, and it takes a second

    return ImageFolder(_folder(split), transform=transform, loader=grey)


def digit_tensors(split: str = "train") -> tuple[torch.Tensor, torch.Tensor]:
    """The digits in memory: pictures float32 of shape (n, 1, 8, 8) from 0 to 1, labels int64 of shape (n,)."""
    files = sorted(_folder(split).glob("*/*.png"))  # the order of ImageFolder: by class, then by name
    pictures = torch.stack([as_float(grey(str(file))) for file in files])
    return pictures, torch.tensor([int(file.parent.name) for file in files])


def _folder(split: str) -> Path:
    """Where the pictures of a split are; raises what `digits` says."""
    if split not in SPLITS:
        raise ValueError(f"there is no split {split!r}: take one of {', '.join(SPLITS)}")
    folder = paths.DATA / "digits" / split
    if not folder.is_dir():
        raise FileNotFoundError(
            f"data/digits/{split}/ is missing: restore it with `git checkout -- data/digits`"
        )
    return folder
