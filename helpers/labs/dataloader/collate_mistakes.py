"""What people write for 02.collate: numbers, arrays, tensors and text."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.labs.dataloader.collate import collate


class Right:
    """A right answer in parts. A wrong one replaces a part."""

    def __call__(self, samples: list[Any]) -> Any:
        first = samples[0]
        if isinstance(first, Tensor):
            return self.tensors(samples)
        if isinstance(first, np.ndarray):
            return self.arrays(samples)
        if isinstance(first, (np.bool_, np.number)):
            return self.numpy_numbers(samples)
        if isinstance(first, (bool, int, float)):
            return self.numbers(samples)
        if isinstance(first, (str, bytes)):
            return self.text(samples)
        if isinstance(first, Mapping):
            return self.mappings(samples)
        if isinstance(first, tuple) and hasattr(first, "_fields"):
            return self.named(samples)
        if isinstance(first, Sequence):
            return self.sequences(samples)
        return self.others(samples)

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack(list(samples))

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return self.tensors([torch.as_tensor(sample) for sample in samples])

    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        return torch.as_tensor(np.stack(samples))

    def numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor(samples, dtype=torch.float64 if type(samples[0]) is float else None)

    def text(self, samples: Sequence[Any]) -> Any:
        return samples

    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = copy.copy(samples[0])
        batch.update({key: self([sample[key] for sample in samples]) for key in samples[0]})
        return batch

    def named(self, samples: Sequence[Any]) -> Any:
        return type(samples[0])(*self.columns(samples))

    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        return self.columns(samples)

    def equal_sizes(self, samples: Sequence[Any]) -> None:
        if len({len(sample) for sample in samples}) > 1:
            raise RuntimeError("samples of unequal size")

    def columns(self, samples: Sequence[Any]) -> Any:
        return [self(list(column)) for column in zip(*samples, strict=False)]

    def others(self, samples: Sequence[Any]) -> Any:
        raise TypeError(f"cannot collate {type(samples[0])}")


def wrong(name: str, *, why: str, seen: str) -> Callable[[type], type]:
    """Adds a wrong answer; decorates a class, an object of which is the answer."""

    def add(kind: type) -> type:
        collate.wrong_answer(name, why=why, seen=seen, answer=kind())
        return kind

    return add


def form(name: str) -> Callable[[type], type]:
    """Adds a form to a wrong answer; decorates a class."""

    def add(kind: type) -> type:
        collate.another_form(name)(kind())
        return kind

    return add


@wrong(
    "floats_become_float32",
    why="A Python float has 64 bits. torch.tensor of such makes float32, the default dtype; default_collate says float64, and a "
    "float32 model then asks for .float().",
    seen="A Python float has 64 bits",
)
class _(Right):
    def numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor(samples)


@form("floats_become_float32")
class _(Right):
    def numbers(self, samples: Sequence[Any]) -> Any:
        return torch.stack([torch.tensor(sample) for sample in samples])


@form("floats_become_float32")
class _(Right):
    def numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor(samples, dtype=torch.float32 if isinstance(samples[0], float) else None)


@form("floats_become_float32")
class _(Right):
    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        if isinstance(samples[0], float):
            return torch.tensor(samples, dtype=torch.float32)
        return super().numpy_numbers(samples)

    def numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor(samples, dtype=torch.float32 if isinstance(samples[0], float) else None)


@wrong(
    "all_numbers_become_floats",
    why="Labels are int and stay int64: cross_entropy and indexing refuse floats.",
    seen="cross_entropy and indexing refuse floats",
)
class _(Right):
    def numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor(samples, dtype=torch.float64)


@form("all_numbers_become_floats")
class _(Right):
    def numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor([float(sample) for sample in samples], dtype=torch.float64)


@form("all_numbers_become_floats")
class _(Right):
    def numbers(self, samples: Sequence[Any]) -> Any:
        return torch.Tensor(samples)


@form("all_numbers_become_floats")
class _(Right):
    def numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor(samples, dtype=None if type(samples[0]) is bool else torch.float64)


@wrong(
    "bools_become_ints",
    why="bool is a subclass of int, so isinstance(True, int) is true: with dtype=torch.int64 a mask becomes a list of indices 0 "
    "and 1.",
    seen="bool is a subclass of int",
)
class _(Right):
    def numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor(samples, dtype=torch.float64 if isinstance(samples[0], float) else torch.int64)


@wrong(
    "ints_cut_to_32_bits",
    why="int64 holds what people put into ints: ids, time stamps, offsets. int32 does not.",
    seen="ids, time stamps, offsets",
)
class _(Right):
    def numbers(self, samples: Sequence[Any]) -> Any:
        if type(samples[0]) is int:
            return torch.tensor(np.array(samples).astype(np.int32))
        return super().numbers(samples)


@wrong(
    "arrays_become_float32",
    why="NumPy's dtype was lost on the way: float64 became float32 (or whole numbers became floats). torch.as_tensor keeps it; "
    "torch.Tensor(...), torch.FloatTensor(...) and .float() do not.",
    seen="NumPy's dtype was lost on the way",
)
class _(Right):
    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.tensor(np.stack(samples), dtype=torch.float32)


@form("arrays_become_float32")
class _(Right):
    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.tensor(np.stack(samples), dtype=torch.float32)

    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor(np.stack(samples), dtype=torch.float32)


@form("arrays_become_float32")
class _(Right):
    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        batch = torch.as_tensor(np.stack(samples))
        return batch.float() if batch.dtype == torch.float64 else batch


@form("arrays_become_float32")
class _(Right):
    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.tensor([sample.tolist() for sample in samples])


@wrong(
    "arrays_stay_arrays",
    why="np.stack gives one more array. A batch is made of tensors: they are what goes to shared memory, pinned memory and the GPU.",
    seen="np.stack gives one more array",
)
class _(Right):
    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return np.stack(samples)


@form("arrays_stay_arrays")
class _(Right):
    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return np.stack(samples)

    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        return np.array(samples)


@wrong(
    "numpy_numbers_unknown",
    why="np.float32(1) is neither an array nor a Python float: a sum or a mean of an array gives such a number, and it has a "
    "class of its own.",
    seen="is neither an array nor a Python float",
)
class _(Right):
    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        return self.numbers(samples) if isinstance(samples[0], float) else self.others(samples)


@form("numpy_numbers_unknown")
class _(Right):
    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        if isinstance(samples[0], float):
            return torch.tensor(samples, dtype=torch.float64)
        return self.others(samples)


@form("numpy_numbers_unknown")
class _(Right):
    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        return self.others(samples)


@wrong(
    "numpy_numbers_as_pythons",
    why="float(sample) makes a Python float of np.float32 and of np.int16 alike: the dtype is gone.",
    seen="makes a Python float of np.float32",
)
class _(Right):
    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor([float(sample) for sample in samples], dtype=torch.float64)


@form("numpy_numbers_as_pythons")
class _(Right):
    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        return self.numbers([sample.item() for sample in samples])


@wrong(
    "numpy_numbers_become_float32",
    why="np.float64(1) is a float, too, and a branch for numbers that came first made float32 of it.",
    seen="a branch for numbers that came first",
)
class _(Right):
    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor([sample.item() for sample in samples])


@form("numpy_numbers_become_float32")
class _(Right):
    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor(np.stack(samples), dtype=torch.float32)


@wrong(
    "array_without_dimensions",
    why="np.array(3) has no dimension to join along: np.concatenate and torch.cat refuse it. Stacking makes a new one.",
    seen="has no dimension to join along",
)
class _(Right):
    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        joined = np.concatenate(samples)
        return torch.as_tensor(joined).reshape(len(samples), *samples[0].shape)


@form("array_without_dimensions")
class _(Right):
    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        if samples[0].ndim == 0:
            return self.others(samples)
        return super().arrays(samples)
