"""The digits that ship with the course."""

from __future__ import annotations

import pytest
import torch

from helpers import paths
from helpers.digits import digit_tensors, digits


@pytest.mark.parametrize(("split", "each"), [("train", 80), ("test", 20)])
def test_every_class_has_the_same_number(split, each):
    found = digits(split)
    assert found.classes == [str(digit) for digit in range(10)]
    assert torch.bincount(torch.tensor(found.targets)).tolist() == [each] * 10


def test_an_item_is_a_grey_picture_and_its_label():
    picture, label = digits("test")[0]
    assert picture.shape == (1, 8, 8) and picture.dtype == torch.float32
    assert 0 <= picture.min() < picture.max() <= 1
    assert label == 0


@pytest.mark.parametrize("split", ["train", "test"])
def test_tensors_hold_the_same_as_the_files(split):
    pictures, labels = digit_tensors(split)
    from_files, their_labels = zip(*digits(split), strict=True)
    assert torch.equal(pictures, torch.stack(from_files)) and labels.tolist() == list(their_labels)
    assert pictures.shape[1:] == (1, 8, 8) and labels.dtype == torch.int64


def test_only_the_seventeen_grey_values_of_the_origin():
    pictures, _ = digit_tensors("test")
    sixteenths = pictures * 16
    assert torch.allclose(sixteenths, sixteenths.round(), atol=16 / 255)
    assert len(pictures.unique()) == 17


def test_no_picture_stands_in_both_parts():
    names = [
        {path.name for path in (paths.DATA / "digits" / split).rglob("*.png")} for split in ("train", "test")
    ]
    assert not names[0] & names[1] and len(names[0] | names[1]) == 1000


def test_an_unknown_split_is_named():
    with pytest.raises(ValueError, match="take one of train, test"):
        digits("valid")


def test_missing_pictures_are_told_with_the_fix(monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "DATA", tmp_path)
    with pytest.raises(FileNotFoundError, match="git checkout -- data/digits"):
        digits()
