"""The handwritten digits that ship with the course: 1,000 pictures of 8 x 8 grey pixels (see data/digits/README.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from PIL import Image
from torchvision.datasets import ImageFolder
from torchvision.transforms.v2.functional import pil_to_tensor

import helpers

SPLITS = ("train", "test")


def grey(path: str) -> Image.Image:
    """The picture in a file, 8 x 8 pixels, one channel. `ImageFolder` itself would make three channels of it."""
    with Image.open(path) as picture:
        return picture.convert("L")


def as_float(picture: Image.Image) -> torch.Tensor:
    """A grey picture as float32 of shape (1, 8, 8), from 0 (paper) to 1 (ink)."""
    return pil_to_tensor(picture).to(torch.float32) / 255


def digits(split: str = "train", transform: Callable[[Image.Image], Any] = as_float) -> ImageFolder:
    """The digits as files: item `i` reads a file and gives `(transform(picture), label)`.

    Args:
        split: "train" (800 pictures, 80 of each digit) or "test" (200, 20 of each).
        transform: From a grey picture to what the item shall hold.

    Raises:
        ValueError: there is no such split.
        FileNotFoundError: the pictures are not there.
    """
    if split not in SPLITS:
        raise ValueError(f"there is no split {split!r}: take one of {', '.join(SPLITS)}")
    folder = helpers.DATA / "digits" / split
    if not folder.is_dir():
        raise FileNotFoundError(
            f"data/digits/{split}/ is missing: restore it with `git checkout -- data/digits`"
        )
    return ImageFolder(folder, transform=transform, loader=grey)


def digit_tensors(split: str = "train") -> tuple[torch.Tensor, torch.Tensor]:
    """The digits in memory: pictures float32 of shape (n, 1, 8, 8) from 0 to 1, labels int64 of shape (n,)."""
    pictures, labels = zip(*digits(split), strict=True)
    return torch.stack(pictures), torch.tensor(labels)
