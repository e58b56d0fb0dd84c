"""Right answers to 02.collate, in different shapes."""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np
import torch


def collate_by_branches(samples: list) -> Any:
    """The plain answer."""
    first = samples[0]
    if isinstance(first, torch.Tensor):
        return torch.stack(samples)
    if isinstance(first, np.ndarray):
        return torch.stack([torch.as_tensor(sample) for sample in samples])
    if isinstance(first, (np.bool_, np.number)):
        return torch.as_tensor(np.stack(samples))
    if isinstance(first, float):
        return torch.tensor(samples, dtype=torch.float64)
    if isinstance(first, int):
        return torch.tensor(samples)
    if isinstance(first, (str, bytes)):
        return samples
    if isinstance(first, Mapping):
        batch = copy.copy(first)
        batch.update({key: collate_by_branches([sample[key] for sample in samples]) for key in first})
        return batch
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(collate_by_branches(list(column)) for column in zip(*samples, strict=True)))
    if isinstance(first, (tuple, list)):
        if any(len(sample) != len(first) for sample in samples):
            raise RuntimeError("each sample must have as many items as the first")
        return [collate_by_branches(list(column)) for column in zip(*samples, strict=True)]
    raise TypeError(f"cannot collate {type(first)}")


def collate_by_match(samples: list) -> Any:
    """Patterns; NumPy's arrays are stacked by NumPy, whose errors come through; dicts are built by their type."""
    match samples[0]:
        case torch.Tensor():
            return torch.stack(tuple(samples), dim=0)
        case np.ndarray() | np.generic() if not isinstance(samples[0], np.str_):
            return torch.from_numpy(np.stack(samples))
        case bool() | int():
            return torch.as_tensor(samples)
        case float():
            return torch.as_tensor(samples, dtype=torch.double)
        case str() | bytes():
            return list(samples)
        case dict() as first:
            batch = copy.copy(first)
            for key in first:
                batch[key] = collate_by_match([one[key] for one in samples])
            return batch
        case tuple() as first if hasattr(first, "_fields"):
            return first._make(map(collate_by_match, zip(*samples, strict=True)))
        case list() | tuple():
            if len(set(map(len, samples))) != 1:
                raise RuntimeError("unequal")
            return [collate_by_match(column) for column in zip(*samples, strict=True)]
    raise TypeError(type(samples[0]))


@functools.singledispatch
def _joined(first: Any, samples: list) -> Any:
    raise TypeError(f"no rule for {type(first).__name__}")


@_joined.register
def _(first: torch.Tensor, samples: list) -> torch.Tensor:
    return torch.cat([sample.unsqueeze(0) for sample in samples])


@_joined.register(np.ndarray)
@_joined.register(np.generic)
def _(first: Any, samples: list) -> torch.Tensor:
    return torch.stack([torch.as_tensor(sample) for sample in samples])


@_joined.register(bool)
@_joined.register(int)
@_joined.register(float)
def _(first: Any, samples: list) -> torch.Tensor:
    return torch.from_numpy(np.array(samples))


@_joined.register(str)
@_joined.register(bytes)
def _(first: Any, samples: list) -> tuple:
    return tuple(samples)


@_joined.register
def _(first: dict, samples: list) -> dict:
    batch = copy.copy(first)
    for key in first:
        batch[key] = collate_by_dispatch([sample[key] for sample in samples])
    return batch


@_joined.register
def _(first: list, samples: list) -> list:
    if {len(sample) for sample in samples} != {len(first)}:
        raise RuntimeError("samples of unequal length")
    return [collate_by_dispatch([sample[at] for sample in samples]) for at in range(len(first))]


@_joined.register
def _(first: tuple, samples: list) -> Any:
    columns = _joined(list(first), samples)
    return type(first)(*columns) if hasattr(first, "_fields") else columns


def collate_by_dispatch(samples: list) -> Any:
    """A function for each type."""
    if not samples:
        raise ValueError("no samples")
    return _joined(samples[0], samples)


class CollateByATable:
    """Rules in order, tried one after the other."""

    def __init__(self) -> None:
        self.rules = [
            (lambda x: isinstance(x, torch.Tensor), torch.stack),
            (lambda x: isinstance(x, (np.ndarray, np.number, np.bool_)), self.arrays),
            (lambda x: type(x) in (int, bool), torch.tensor),
            (lambda x: type(x) is float, lambda samples: torch.DoubleTensor(samples)),
            (lambda x: isinstance(x, (str, bytes)), lambda samples: samples),
            (lambda x: isinstance(x, MutableMapping | dict), self.mappings),
            (
                lambda x: isinstance(x, tuple) and hasattr(x, "_fields"),
                lambda s: type(s[0])(*self.columns(s)),
            ),
            (lambda x: isinstance(x, Sequence), self.columns),
        ]

    def __call__(self, samples: list) -> Any:
        for fits, rule in self.rules:
            if fits(samples[0]):
                return rule(samples)
        raise TypeError("unknown kind of sample")

    def arrays(self, samples: list) -> torch.Tensor:
        return torch.stack([torch.tensor(sample) for sample in samples])

    def mappings(self, samples: list) -> Any:
        batch = copy.copy(samples[0])
        batch.update((key, self([sample[key] for sample in samples])) for key in list(batch))
        return batch

    def columns(self, samples: list) -> list:
        try:
            return [self(list(column)) for column in list(zip(*samples, strict=True))]
        except ValueError as error:
            raise RuntimeError("unequal") from error


def collate_as_torch_does(samples: list) -> Any:
    """The branches in the order of torch's own function."""
    first, kind = samples[0], type(samples[0])
    if isinstance(first, torch.Tensor):
        return torch.stack(samples, 0)
    if kind.__module__ == "numpy" and kind.__name__ != "str_":
        if isinstance(first, np.ndarray):
            if re.search("[SaUO]", first.dtype.str):
                raise TypeError(f"an array of {first.dtype}")
            return collate_as_torch_does([torch.as_tensor(sample) for sample in samples])
        return torch.as_tensor(samples)
    if isinstance(first, float):
        return torch.tensor(samples, dtype=torch.float64)
    if isinstance(first, int):
        return torch.tensor(samples)
    if isinstance(first, (str, bytes)):
        return samples
    if isinstance(first, Mapping):
        columns = {key: collate_as_torch_does([sample[key] for sample in samples]) for key in first}
        batch = copy.copy(first)
        batch.update(columns)
        return batch
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(collate_as_torch_does(column) for column in zip(*samples, strict=True)))
    if isinstance(first, Sequence):
        rest = iter(samples)
        size = len(next(rest))
        if not all(len(sample) == size for sample in rest):
            raise RuntimeError("each element in list of batch should be of equal size")
        return [collate_as_torch_does(column) for column in list(zip(*samples, strict=True))]
    raise TypeError(kind)


def filled(rows: list) -> torch.Tensor:
    """An empty tensor, filled row by row."""
    batch = torch.empty((len(rows), *rows[0].shape), dtype=rows[0].dtype)
    for place, row in enumerate(rows):
        if row.shape != rows[0].shape:
            raise RuntimeError("unequal")
        batch[place] = row
    return batch


def collate_by_filling(samples: list) -> Any:
    """Without torch.stack."""
    first = samples[0]
    if isinstance(first, (np.ndarray, np.generic)) and not isinstance(first, (str, bytes)):
        return filled([torch.as_tensor(np.asarray(sample)) for sample in samples])
    if isinstance(first, torch.Tensor):
        return filled(samples)
    if isinstance(first, (bool, int, float)):
        return filled(
            [torch.tensor(sample, dtype={float: torch.float64}.get(type(first))) for sample in samples]
        )
    if isinstance(first, (str, bytes)):
        return [*samples]
    if isinstance(first, dict):
        batch = copy.copy(first)
        for key in batch:
            batch[key] = collate_by_filling([sample[key] for sample in samples])
        return batch
    if not isinstance(first, (tuple, list)):
        raise TypeError(f"{first!r} in a batch")
    if len({*map(len, samples)}) > 1:
        raise RuntimeError("unequal")
    parts = [collate_by_filling([sample[at] for sample in samples]) for at in range(len(first))]
    return first._make(parts) if hasattr(first, "_make") else parts


RIGHT = [
    collate_by_branches,
    collate_by_match,
    collate_by_dispatch,
    CollateByATable(),
    collate_as_torch_does,
    collate_by_filling,
]
