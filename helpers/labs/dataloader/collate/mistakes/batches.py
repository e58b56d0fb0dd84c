"""What people write for 02.collate: numbers, arrays, tensors and text."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.labs.dataloader.collate.exercise import collate


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


# An object of the class is the answer.
objects = collate.bank(lambda kind: kind())


@objects.mistake()
class FloatsBecomeFloat32(Right):
    """Floats give float32, torch.tensor's default for them: a Python float has 64 bits, and default_collate
    says float64. A float32 model then asks for .float().
    """

    def numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor(samples)


@objects.variant(FloatsBecomeFloat32)
class _(Right):
    def numbers(self, samples: Sequence[Any]) -> Any:
        return torch.stack([torch.tensor(sample) for sample in samples])


@objects.variant(FloatsBecomeFloat32)
class _(Right):
    def numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor(samples, dtype=torch.float32 if isinstance(samples[0], float) else None)


@objects.variant(FloatsBecomeFloat32)
class _(Right):
    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        if isinstance(samples[0], float):
            return torch.tensor(samples, dtype=torch.float32)
        return super().numpy_numbers(samples)

    def numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor(samples, dtype=torch.float32 if isinstance(samples[0], float) else None)


@objects.mistake()
class AllNumbersBecomeFloats(Right):
    """Ints give floats. Labels are int and stay int64: cross_entropy and indexing refuse floats."""

    def numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor(samples, dtype=torch.float64)


@objects.variant(AllNumbersBecomeFloats)
class _(Right):
    def numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor([float(sample) for sample in samples], dtype=torch.float64)


@objects.variant(AllNumbersBecomeFloats)
class _(Right):
    def numbers(self, samples: Sequence[Any]) -> Any:
        return torch.Tensor(samples)


@objects.variant(AllNumbersBecomeFloats)
class _(Right):
    def numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor(samples, dtype=None if type(samples[0]) is bool else torch.float64)


@objects.mistake()
class BoolsBecomeInts(Right):
    """Bools give whole numbers, perhaps since isinstance(True, int) is true: a mask becomes a list of indices 0 and 1."""

    def numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor(samples, dtype=torch.float64 if isinstance(samples[0], float) else torch.int64)


@objects.mistake()
class ints_cut_to_32_bits(Right):
    """Ints give int32: int64 holds what people put into ints, such as ids, time stamps and offsets, and int32
    does not.
    """

    def numbers(self, samples: Sequence[Any]) -> Any:
        if type(samples[0]) is int:
            return torch.tensor(np.array(samples).astype(np.int32))
        return super().numbers(samples)


@objects.mistake()
class ArraysBecomeFloat32(Right):
    """NumPy's dtype was lost on the way: float64 became float32 (or whole numbers became floats).
    torch.as_tensor keeps it; torch.Tensor(...), torch.FloatTensor(...) and .float() do not.
    """

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.tensor(np.stack(samples), dtype=torch.float32)


@objects.variant(ArraysBecomeFloat32)
class _(Right):
    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.tensor(np.stack(samples), dtype=torch.float32)

    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor(np.stack(samples), dtype=torch.float32)


@objects.variant(ArraysBecomeFloat32)
class _(Right):
    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        batch = torch.as_tensor(np.stack(samples))
        return batch.float() if batch.dtype == torch.float64 else batch


@objects.variant(ArraysBecomeFloat32)
class _(Right):
    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.tensor([sample.tolist() for sample in samples])


@objects.mistake()
class ArraysStayArrays(Right):
    """Arrays give one more array, perhaps by np.stack. A batch is made of tensors: they are what goes to
    shared memory, pinned memory and the GPU.
    """

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return np.stack(samples)


@objects.variant(ArraysStayArrays)
class _(Right):
    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return np.stack(samples)

    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        return np.array(samples)


@objects.mistake(breaks="So do NumPy's numbers: np.float32(1), np.int16(2), np.bool_(True) and so on.")
class NumpyNumbersUnknown(Right):
    """NumPy's numbers raise. np.float32(1) is neither an array nor a Python float: a sum or a mean of an
    array gives such a number, and it has a class of its own.
    """

    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        return self.numbers(samples) if isinstance(samples[0], float) else self.others(samples)


@objects.variant(NumpyNumbersUnknown)
class _(Right):
    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        if isinstance(samples[0], float):
            return torch.tensor(samples, dtype=torch.float64)
        return self.others(samples)


@objects.variant(NumpyNumbersUnknown)
class _(Right):
    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        return self.others(samples)


@objects.mistake(
    breaks="give such a tensor of NumPy's dtype, one of shape (B,) if theirs is (). So do NumPy's numbers"
)
class NumpyNumbersAsPythons(Right):
    """NumPy's numbers give the dtypes of Python's, perhaps by float(sample) or item(): that makes one float
    of np.float64, np.float32 and np.float16, and their own dtype is gone.
    """

    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor([float(sample) for sample in samples], dtype=torch.float64)


@objects.variant(NumpyNumbersAsPythons)
class _(Right):
    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        return self.numbers([sample.item() for sample in samples])


@objects.mistake(
    breaks="give such a tensor of NumPy's dtype, one of shape (B,) if theirs is (). So do NumPy's numbers"
)
class NumpyNumbersBecomeFloat32(Right):
    """np.float64(1) gives float32, which torch.tensor makes of Python's floats. Perhaps a branch for floats
    came first, since np.float64 is one, or item() was called: torch.as_tensor keeps NumPy's dtype.
    """

    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor([sample.item() for sample in samples])


@objects.mistake(
    breaks="NumPy's arrays, also a memmap, give such a tensor of NumPy's dtype, one of shape (B,) if theirs is ()."
)
class ArraysWithoutDimensionsAsPythons(Right):
    """Arrays of shape () lose their dtype. Perhaps item() made Python's numbers of them: torch.as_tensor keeps NumPy's dtype."""

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        if samples[0].shape == ():
            return torch.tensor([sample.item() for sample in samples])
        return super().arrays(samples)


@objects.variant(ArraysWithoutDimensionsAsPythons)
class _(Right):
    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return (
            super().arrays(samples) if samples[0].shape else self.numbers([each.item() for each in samples])
        )


@objects.variant(NumpyNumbersBecomeFloat32)
class _(Right):
    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor(np.stack(samples), dtype=torch.float32)


@objects.mistake(
    breaks="NumPy's arrays, also a memmap, give such a tensor of NumPy's dtype, one of shape (B,) if "
    "theirs is ()."
)
class ArrayWithoutDimensions(Right):
    """Arrays of shape () raise, perhaps since they were to be joined: np.array(3) has no dimension to join along. Stacking makes
    a new one.
    """

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        joined = np.concatenate(samples)
        return torch.as_tensor(joined).reshape(len(samples), *samples[0].shape)


@objects.variant(ArrayWithoutDimensions)
class _(Right):
    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        if samples[0].ndim == 0:
            return self.others(samples)
        return super().arrays(samples)


@objects.mistake()
class IntsBecomeInt32(Right):
    """Ints give int32, or are refused for being too large for it: int64 holds ids, time stamps and offsets, int32 does not."""

    def numbers(self, samples: Sequence[Any]) -> Any:
        if type(samples[0]) is int:
            return torch.tensor(samples, dtype=torch.int32)
        return super().numbers(samples)


@objects.variant(IntsBecomeInt32)
class _(Right):
    def numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor(samples, dtype=torch.float64 if isinstance(samples[0], float) else torch.int32)


@objects.variant(IntsBecomeInt32)
class _(Right):
    def numbers(self, samples: Sequence[Any]) -> Any:
        return super().numbers(samples) if isinstance(samples[0], float) else torch.IntTensor(samples)


@objects.variant(IntsBecomeInt32)
class _(Right):
    def numbers(self, samples: Sequence[Any]) -> Any:
        return torch.IntTensor(samples) if type(samples[0]) is int else super().numbers(samples)


@objects.mistake()
class FloatsBecomeHalf(Right):
    """Floats give a dtype of 16 bits: a Python float has 64."""

    def numbers(self, samples: Sequence[Any]) -> Any:
        return torch.tensor(samples, dtype=torch.float16 if isinstance(samples[0], float) else None)


@objects.mistake()
class NumbersInAColumn(Right):
    """Numbers give shape (B, 1): a batch of B numbers has one dimension, and a loss that subtracts (B,) from (B, 1) broadcasts."""

    def numbers(self, samples: Sequence[Any]) -> Any:
        return super().numbers(samples).unsqueeze(1)


@objects.variant(NumbersInAColumn)
class _(Right):
    def numbers(self, samples: Sequence[Any]) -> Any:
        return super().numbers(samples).unsqueeze(1)

    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        return super().numpy_numbers(samples).unsqueeze(1)


@objects.mistake()
class NumbersStayAList(Right):
    """Python's numbers were only gathered: a column of numbers becomes a tensor."""

    def numbers(self, samples: Sequence[Any]) -> Any:
        return list(samples)


@objects.mistake()
class FloatsRefused(Right):
    """Floats raise: they give a float64 tensor."""

    def numbers(self, samples: Sequence[Any]) -> Any:
        return self.others(samples) if isinstance(samples[0], float) else super().numbers(samples)


@objects.mistake()
class BoolsRefused(Right):
    """Bools raise, perhaps since type(x) is int is false for them: isinstance(True, int) is true."""

    def numbers(self, samples: Sequence[Any]) -> Any:
        return self.others(samples) if isinstance(samples[0], bool) else super().numbers(samples)


@objects.mistake()
class ArrayDtypesWiden(Right):
    """Arrays come back with a wider dtype than theirs, perhaps by way of tolist(): Python has one float and one int."""

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.tensor(np.array([sample.tolist() for sample in samples]))


@objects.variant(ArrayDtypesWiden)
class _(Right):
    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples).astype(np.float64))


@objects.mistake()
class ArraysJoinedNotStacked(Right):
    """The arrays are joined along a dimension that is there: three of shape (2, 3) give (6, 3). A batch has a dimension of its own."""

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.concatenate(samples))


@objects.mistake()
class ArraysRefused(Right):
    """NumPy's arrays raise, or are taken for something else: they give a tensor, as torch.as_tensor makes it of each."""

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return self.others(samples)


@objects.variant(ArraysRefused)
class _(Right):
    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.stack(list(samples))


@objects.mistake()
class MemmapRefused(Right):
    """A memmap raises, perhaps since type(x) is np.ndarray is false for it: isinstance asks the right question."""

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return super().arrays(samples) if type(samples[0]) is np.ndarray else self.others(samples)


@objects.mistake(breaks="So do NumPy's numbers: np.float32(1), np.int16(2), np.bool_(True) and so on.")
class NumpyBoolUnknown(Right):
    """np.bool_ raises: it is no np.number, and no bool of Python's either. np.generic is above all of NumPy's numbers."""

    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        return self.others(samples) if isinstance(samples[0], np.bool_) else super().numpy_numbers(samples)


@objects.variant(BoolsBecomeInts)
class _(Right):
    def numbers(self, samples: Sequence[Any]) -> Any:
        kind = {float: torch.float64, bool: torch.uint8}.get(type(samples[0]))
        return torch.tensor(samples, dtype=kind)


@objects.mistake()
class FloatsRounded(Right):
    """Floats are float64, but their last digits are lost, perhaps on the way through float32: torch.tensor(samples, dtype=torch.float64) keeps them."""

    def numbers(self, samples: Sequence[Any]) -> Any:
        if isinstance(samples[0], float):
            return torch.tensor(samples).double()
        return super().numbers(samples)


@objects.mistake(
    breaks="give such a tensor of NumPy's dtype, one of shape (B,) if theirs is (). So do NumPy's numbers"
)
class NumpyNumbersGathered(Right):
    """NumPy's numbers were gathered in a list or an array: a tensor of their dtype is wanted."""

    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        return list(samples)


@objects.variant(NumpyNumbersGathered)
class _(Right):
    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        return np.array(samples)


@objects.mistake(
    breaks="give such a tensor of NumPy's dtype, one of shape (B,) if theirs is (). So do NumPy's numbers"
)
class NumpyNumbersInAColumn(Right):
    """NumPy's numbers give shape (B, 1): a batch of B numbers has one dimension."""

    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        return super().numpy_numbers(samples).unsqueeze(1)


@objects.mistake(breaks="one of shape (B,) if theirs is ()")
class ArraysWithoutDimensionsInAColumn(Right):
    """Arrays of shape () give shape (B, 1), perhaps by np.atleast_1d: stacking adds one dimension, and that is B."""

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return super().arrays([np.atleast_1d(sample) for sample in samples])


@objects.variant(ArraysWithoutDimensionsInAColumn)
class _(Right):
    """NumPy's numbers, too."""

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return super().arrays([np.atleast_1d(sample) for sample in samples])

    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        return self.arrays(samples)


@objects.variant(NumpyNumbersAsPythons)
class _(Right):
    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        if isinstance(samples[0], np.bool_):
            return self.others(samples)
        kind = torch.float64 if isinstance(samples[0], np.floating) else None
        return torch.tensor(samples, dtype=kind)


@objects.variant(ArraysJoinedNotStacked)
class _(Right):
    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.vstack(samples))


@objects.mistake(breaks="Floats give a float64 tensor of shape (B,)")
class WholeFloatsBecomeInts(Right):
    """Floats that are all whole give ints, other floats give floats: the dtype then changes from batch to batch. The type of
    the samples decides, not their values.
    """

    def numbers(self, samples: Sequence[Any]) -> Any:
        if type(samples[0]) is float and all(sample.is_integer() for sample in samples):
            return torch.tensor([int(sample) for sample in samples])
        return super().numbers(samples)


@objects.variant(WholeFloatsBecomeInts)
class _(Right):
    def numbers(self, samples: Sequence[Any]) -> Any:
        batch = super().numbers(samples)
        whole = batch.is_floating_point() and torch.equal(batch, batch.round())
        return batch.long() if whole else batch


@objects.variant(AllNumbersBecomeFloats)
class _(Right):
    def numbers(self, samples: Sequence[Any]) -> Any:
        if type(samples[0]) is int:
            return torch.tensor(samples, dtype=torch.float32)
        return super().numbers(samples)


@objects.variant(NumpyNumbersAsPythons)
class _(Right):
    def numpy_numbers(self, samples: Sequence[Any]) -> Any:
        if samples[0].dtype.kind in "iuf":
            return torch.tensor([float(sample) for sample in samples], dtype=torch.float64)
        return super().numpy_numbers(samples)
