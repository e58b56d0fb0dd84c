"""Typed comparison and its words."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
import torch

from helpers.check.compare import difference, shown

T = torch.tensor


@pytest.mark.parametrize(
    ("got", "want", "kind"),
    [
        (T([1.0, 2.0]), T([1.0, 2.0]), None),
        (T([1.0, 2.0 + 1e-7]), T([1.0, 2.0]), None),
        (T([1.0, float("nan")]), T([1.0, float("nan")]), None),
        (T([1.0, 2.001]), T([1.0, 2.0]), "value"),
        (T([1.0, float("nan")]), T([1.0, 2.0]), "nan"),
        (T([[1.0, 2.0]]), T([1.0, 2.0]), "shape"),
        (T(1.0), T([1.0]), "shape"),
        (T([1, 2]), T([1.0, 2.0]), "dtype"),
        (T([1, 3]), T([1, 2]), "value"),
        (T([1.0], requires_grad=True), T([1.0]), "requires_grad"),
        (None, T([1.0]), "none"),
        ([1.0], T([1.0]), "type"),
        (torch.nn.Parameter(T([1.0]), False), T([1.0]), "type"),
        (True, 1, "type"),
        (1, 1.0, "type"),
        (0.1 + 0.2, 0.3, None),
        ([1, 2], (1, 2), "type"),
        ([1, 2, 3], [1, 2], "length"),
        ([1, T(2.0)], [1, T(2.0)], None),
        ({"a": 1}, {"b": 1}, "keys"),
        ({"a": T(1.0)}, {"a": T(2.0)}, "value"),
        (OrderedDict(a=1), {"a": 1}, "type"),
        (np.ones(2, np.float32), np.ones(2), "dtype"),
        (np.ones(2), np.ones(2), None),
    ],
)
def test_kind_of_difference(got: Any, want: Any, kind: str | None) -> None:
    found = difference(got, want)
    assert (found.kind if found else None) == kind


def test_zero_tolerance_asks_for_the_same_bits() -> None:
    one = T([1.0])
    assert difference(torch.nextafter(one, T([2.0])), one) is None
    assert "every bit" in difference(torch.nextafter(one, T([2.0])), one, rtol=0, atol=0).sentence


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda w: 2 * w, "exactly 2 times"),
        (lambda w: w / 4, "exactly 1/4"),
        (lambda w: -w, "Every sign"),
        (lambda w: w * 4 / 5, "(n-1)/n"),
        (lambda w: w.roll(1), "shifted by one place"),
        (lambda w: w.flip(0), "a different order"),
        (lambda w: w + 3, "3 away"),
        (lambda w: w * 0, "Every value is 0"),
    ],
)
def test_symptom_is_named(change: Any, words: str) -> None:
    want = T([1.0, -2.0, 3.5, 7.0, 0.5])
    assert words in difference(change(want), want).symptom


@pytest.mark.parametrize("factor", [1e-28, -1e-9, 1e9])
def test_a_factor_that_nobody_writes_is_not_told(factor: float) -> None:
    want = T([1.0, -2.0, 3.5, 7.0, 0.5])
    assert "times" not in difference(want * factor, want).symptom


@pytest.mark.parametrize(
    ("change", "symptom"),
    [
        (lambda w: 2 * w, "It is exactly 2 times the expected one."),
        (lambda w: 0.3344 * w, ""),
        (lambda w: -w, "The sign is turned."),
        (lambda w: 0 * w, ""),
    ],
)
def test_one_number_is_not_called_every_value(change: Any, symptom: str) -> None:
    want = T(3.5)
    assert difference(change(want), want).symptom == symptom


def test_repr_that_raises_recurses_or_is_huge_does_no_harm() -> None:
    class Bad:
        def __repr__(self) -> str:
            raise ValueError

    endless: list[Any] = []
    endless.append(endless)
    assert "repr raised ValueError" in shown(Bad())
    assert len(shown("x" * 10**6)) < 300
    assert shown(endless)


def test_a_replaced_torch_function_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "isclose", lambda *args, **kwargs: torch.ones((), dtype=torch.bool))
    assert difference(T([1.0]), T([2.0]))


@pytest.mark.parametrize(
    ("got", "want", "symptom"),
    [
        ([2, 0, 1], [0, 1, 2], "The items are the expected ones, in a different order."),
        ([1, 1], [1, 2], "Every item is the same."),
        ([T([0]), T([1]), T([2])], [0, 1, 2], ""),  # each equals its item, in the same order
        ([T([1, 2]), T([3, 4])], [0, 1], ""),
        ([np.int64(1), np.int64(0)], [0, 1], ""),
        ([True, 0], [0, 1], ""),
        ([1, True], [1, 2], ""),
        ([[0], [1]], [0, 1], ""),
    ],
)
def test_items_are_called_the_expected_ones_only_if_they_are(got: Any, want: Any, symptom: str) -> None:
    assert difference(got, want).symptom == symptom
