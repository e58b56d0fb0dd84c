"""What people write for 02.collate: errors that are missing or hidden."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.labs.dataloader.collate.mistakes.batches import Right, objects


@objects.mistake()
class MissingKeysSkipped(Right):
    """A sample that lacks the key was skipped: this column is shorter than the others, and its rows belong to
    other samples.
    """

    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = copy.copy(samples[0])
        batch.update({key: self([sample[key] for sample in samples if key in sample]) for key in samples[0]})
        return batch


@objects.mistake()
class CutToTheShortest(Right):
    """Of lists or tuples of unequal size items are lost, and nothing is said, perhaps by zip: it stops at the
    shortest. Compare the lengths first.
    """

    def equal_sizes(self, samples: Sequence[Any]) -> None:
        pass


@objects.variant(CutToTheShortest)
class _(Right):
    def equal_sizes(self, samples: Sequence[Any]) -> None:
        if len(samples) > 1 and len(samples[0]) != len(samples[1]):
            raise RuntimeError("samples of unequal size")


@objects.variant(CutToTheShortest)
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        return [self([sample[at] for sample in samples]) for at in range(min(map(len, samples)))]


@objects.variant(CutToTheShortest)
class _(Right):
    def equal_sizes(self, samples: Sequence[Any]) -> None:
        if len(samples[0]) != len(samples[-1]):
            raise RuntimeError("samples of unequal size")


@objects.mistake()
class CutToTheFirst(Right):
    """Only samples that are shorter than the first are noticed; of a longer one the rest is lost."""

    def equal_sizes(self, samples: Sequence[Any]) -> None:
        if any(len(sample) < len(samples[0]) for sample in samples):
            raise RuntimeError("samples of unequal size")


@objects.variant(CutToTheFirst)
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        return [self([sample[place] for sample in samples]) for place in range(len(samples[0]))]


@objects.mistake()
class OtherErrorForUnequal(Right):
    """Unequal samples raise a different error, perhaps that of zip(..., strict=True) or of an index: a caller that catches
    RuntimeError, as torch raises it, does not catch it.
    """

    def sequences(self, samples: Sequence[Any]) -> Any:
        return [self(list(column)) for column in zip(*samples, strict=True)]


@objects.variant(OtherErrorForUnequal)
class _(Right):
    def equal_sizes(self, samples: Sequence[Any]) -> None:
        if len({len(sample) for sample in samples}) > 1:
            raise ValueError("samples of unequal size")


@objects.variant(OtherErrorForUnequal)
class _(Right):
    def equal_sizes(self, samples: Sequence[Any]) -> None:
        assert len({len(sample) for sample in samples}) <= 1


@objects.variant(OtherErrorForUnequal)
class _(Right):
    def equal_sizes(self, samples: Sequence[Any]) -> None:
        if len({len(sample) for sample in samples}) > 1:
            raise TypeError("samples of unequal size")


@objects.mistake()
class UnknownPassedThrough(Right):
    """What cannot be collated raised nothing, perhaps since it went through as it is: a None from a broken file reaches the model,
    and fails there.
    """

    def others(self, samples: Sequence[Any]) -> Any:
        return samples


@objects.variant(UnknownPassedThrough)
class _(Right):
    def others(self, samples: Sequence[Any]) -> Any:
        return list(samples)

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        try:
            return super().arrays(samples)
        except TypeError:
            return list(samples)


@objects.variant(UnknownPassedThrough)
class _(Right):
    def others(self, samples: Sequence[Any]) -> Any:
        return None


@objects.variant(UnknownPassedThrough)
class _(Right):
    def others(self, samples: Sequence[Any]) -> Any:
        return np.array(samples)


@objects.mistake()
class NoneLeftOut(Right):
    """A None among the samples raised nothing, perhaps since it was left out: the batch is then smaller than
    batch_size, and nobody knows why.
    """

    def __call__(self, samples: list[Any]) -> Any:
        samples = [sample for sample in samples if sample is not None]
        return super().__call__(samples) if samples else self.others([None])


@objects.variant(NoneLeftOut)
class _(Right):
    def __call__(self, samples: list[Any]) -> Any:
        return super().__call__([sample for sample in samples if sample is not None])


@objects.variant(NoneLeftOut)
class _(Right):
    """At the top alone."""

    def __call__(self, samples: list[Any]) -> Any:
        there = [sample for sample in samples if sample is not None]
        return Right()(there)


@objects.mistake()
class AnyIterableIsASequence(Right):
    """A set raised nothing. Perhaps all that can be iterated is taken for a sequence: a set has no first item, and the order
    in which its items come says nothing.
    """

    def others(self, samples: Sequence[Any]) -> Any:
        return self.sequences(samples) if hasattr(samples[0], "__iter__") else super().others(samples)


@objects.mistake()
class NothingGivesSomething(Right):
    """A batch without samples has no structure, no dtype and no shape; whatever is returned for it is a guess
    that fails later.
    """

    def __call__(self, samples: list[Any]) -> Any:
        return super().__call__(samples) if samples else []


@objects.variant(NothingGivesSomething)
class _(Right):
    def __call__(self, samples: list[Any]) -> Any:
        return super().__call__(samples) if samples else None


@objects.variant(NothingGivesSomething)
class _(Right):
    def __call__(self, samples: list[Any]) -> Any:
        return super().__call__(samples) if samples else {}


@objects.variant(NothingGivesSomething)
class _(Right):
    def __call__(self, samples: list[Any]) -> Any:
        return super().__call__(samples) if samples else torch.tensor([])


@objects.mistake()
class NothingRaisesStopIteration(Right):
    """Without samples StopIteration is raised, as next(iter([])) does. A `for` over the loader takes it for
    the end of the epoch: training stops in silence.
    """

    def __call__(self, samples: list[Any]) -> Any:
        next(iter(samples))
        return super().__call__(samples)


@objects.mistake(breaks="Tensors give a tensor of shape (B, *shape) and of their dtype.")
class TensorsOfStructuresOnly(Right):
    """Tensors were handled inside structures only: a dataset may give a bare tensor as its sample."""

    def __call__(self, samples: list[Any]) -> Any:
        if isinstance(samples[0], Tensor):
            return samples
        return super().__call__(samples)

    def columns(self, samples: Sequence[Any]) -> Any:
        columns = [list(column) for column in zip(*samples, strict=False)]
        return [torch.stack(column) if isinstance(column[0], Tensor) else self(column) for column in columns]


@objects.mistake()
class ClassCalledWithADict(Right):
    """The batch of a defaultdict raises TypeError, perhaps since its class was called with a dict: the first argument of
    defaultdict is the factory. Copy the first sample, and update the copy.
    """

    def mappings(self, samples: Sequence[Any]) -> Any:
        return type(samples[0])({key: self([sample[key] for sample in samples]) for key in samples[0]})


@objects.variant(ClassCalledWithADict)
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        return type(samples[0])((key, self([sample[key] for sample in samples])) for key in samples[0])


@objects.mistake()
class OnlyKeysOfAll(Right):
    """A key that one sample lacks is not in the batch, and nothing is said: the model misses it later, far from the file that
    lacks it.
    """

    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = copy.copy(samples[0])
        for key in list(batch):
            if all(key in sample for sample in samples):
                batch[key] = self([sample[key] for sample in samples])
            else:
                del batch[key]
        return batch


@objects.mistake()
class MissingKeyFilled(Right):
    """A value was put in the place of the missing one, perhaps by get(key, 0): the batch tells data that nobody has measured."""

    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = copy.copy(samples[0])
        batch.update({key: self([sample.get(key, 0) for sample in samples]) for key in samples[0]})
        return batch


@objects.mistake()
class OtherErrorForAMissingKey(Right):
    """A sample that lacks a key raises an error, but no KeyError. Perhaps get(key) put None in its place, or the keys are
    compared first: what sample[key] raises names the key.
    """

    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = copy.copy(samples[0])
        batch.update({key: self([sample.get(key) for sample in samples]) for key in samples[0]})
        return batch


@objects.variant(OtherErrorForAMissingKey)
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        if any(sample.keys() != samples[0].keys() for sample in samples):
            raise RuntimeError("samples with different keys")
        return super().mappings(samples)


@objects.variant(OtherErrorForAMissingKey)
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        if any(sample.keys() != samples[0].keys() for sample in samples):
            raise ValueError("samples with different keys")
        return super().mappings(samples)


@objects.variant(OtherErrorForAMissingKey)
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        assert all(sample.keys() == samples[0].keys() for sample in samples)
        return super().mappings(samples)


@objects.mistake()
class UnequalListsPadded(Right):
    """Lists of unequal length were filled up: whether, and with what, is a decision that a general function does not take."""

    def sequences(self, samples: Sequence[Any]) -> Any:
        width = max(map(len, samples))
        return self.columns([[*sample, *[0] * (width - len(sample))] for sample in samples])


@objects.mistake()
class UnequalTensorsLeftAsAList(Right):
    """Tensors of unequal size were gathered in a list: the type of the batch then depends on the sizes that were drawn."""

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        alike = len({sample.shape for sample in samples}) == 1
        return torch.stack(list(samples)) if alike else list(samples)


@objects.variant(UnequalTensorsLeftAsAList)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        alike = len({sample.shape for sample in samples}) == 1
        return torch.stack(list(samples)) if alike else list(samples)

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@objects.variant(UnequalTensorsLeftAsAList)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        alike = len({sample.shape for sample in samples}) == 1
        return torch.stack(list(samples)) if alike else torch.nested.nested_tensor(list(samples))

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@objects.mistake()
class UnequalTensorsFitted(Right):
    """Tensors of unequal size give a batch: one was repeated or laid out anew to fit, perhaps by an assignment that broadcasts
    or by a reshape.
    """

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        batch = samples[0].new_empty((len(samples), *samples[0].shape))
        for place, sample in enumerate(samples):
            batch[place] = sample
        return batch


@objects.variant(UnequalTensorsFitted)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        batch = samples[0].new_empty((len(samples), *samples[0].shape))
        for place, sample in enumerate(samples):
            batch[place] = sample
        return batch

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@objects.variant(UnequalTensorsFitted)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.cat([sample.flatten() for sample in samples]).view(len(samples), *samples[0].shape)


@objects.mistake()
class OtherErrorForUnknown(Right):
    """What cannot be collated raises an error, but no TypeError: the type is what is wrong, and TypeError says so."""

    def others(self, samples: Sequence[Any]) -> Any:
        raise ValueError(f"cannot collate {type(samples[0])}")


@objects.variant(OtherErrorForUnknown)
class _(Right):
    def others(self, samples: Sequence[Any]) -> Any:
        raise RuntimeError(f"cannot collate {type(samples[0])}")


@objects.variant(OtherErrorForUnknown)
class _(Right):
    def others(self, samples: Sequence[Any]) -> Any:
        return torch.tensor(samples)


@objects.variant(OtherErrorForUnknown)
class _(Right):
    def others(self, samples: Sequence[Any]) -> Any:
        raise AssertionError(f"cannot collate {type(samples[0])}")


@objects.mistake()
class NoneStaysNone(Right):
    """None raised nothing: a sample that is None is one that could not be read, and the batch must not hide it."""

    def others(self, samples: Sequence[Any]) -> Any:
        return None if samples[0] is None else super().others(samples)


@objects.variant(NoneStaysNone)
class _(Right):
    def others(self, samples: Sequence[Any]) -> Any:
        return list(samples) if samples[0] is None else super().others(samples)


@objects.mistake()
class ComplexTaken(Right):
    """Complex numbers raised nothing. Perhaps numbers.Number was asked for, or complex stands among the types: torch's function
    takes float, int and bool.
    """

    def others(self, samples: Sequence[Any]) -> Any:
        return torch.tensor(samples) if isinstance(samples[0], complex) else super().others(samples)


@objects.mistake()
class TextArraysPassed(Right):
    """Arrays of text raised nothing: there is no tensor of text, and torch's function refuses them."""

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return super().arrays(samples) if samples[0].dtype.kind in "biuf" else list(samples)


@objects.variant(TextArraysPassed)
class _(Right):
    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return super().arrays(samples) if samples[0].dtype.kind in "biuf" else np.stack(samples)


@objects.mistake()
class OtherErrorForNothing(Right):
    """Without samples an error is raised, but neither IndexError nor ValueError nor RuntimeError: samples[0] raises the first."""

    def __call__(self, samples: list[Any]) -> Any:
        assert samples
        return super().__call__(samples)


@objects.variant(OtherErrorForNothing)
class _(Right):
    def __call__(self, samples: list[Any]) -> Any:
        return super().__call__(samples) if samples else self.others([None])


@objects.variant(OtherErrorForUnequal)
class _(Right):
    def equal_sizes(self, samples: Sequence[Any]) -> None:
        if any(len(sample) < len(samples[0]) for sample in samples):
            raise RuntimeError("samples of unequal size")
        if any(len(sample) > len(samples[0]) for sample in samples):
            raise ValueError("samples of unequal size")


@objects.variant(OtherErrorForUnequal)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        if len({sample.shape for sample in samples}) > 1:
            raise ValueError("tensors of unequal size")
        return torch.stack(list(samples))


@objects.mistake()
class UnequalTensorsJoined(Right):
    """Tensors of unequal size were joined along a dimension that is there, perhaps after stacking had failed: which row is whose is lost."""

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        alike = len({sample.shape for sample in samples}) == 1
        return torch.stack(list(samples)) if alike else torch.cat(list(samples))


@objects.variant(UnequalTensorsJoined)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        alike = len({sample.shape for sample in samples}) == 1
        return torch.stack(list(samples)) if alike else torch.cat(list(samples))

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@objects.mistake()
class UnequalTensorsCut(Right):
    """Tensors of unequal size were cut to the smallest: what was cut off is lost, and nobody is told."""

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        if not samples[0].dim():
            return torch.stack(list(samples))
        size = min(len(sample) for sample in samples)
        return torch.stack([sample[:size] for sample in samples])


@objects.variant(UnequalTensorsCut)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        if not samples[0].dim():
            return torch.stack(list(samples))
        size = min(len(sample) for sample in samples)
        return torch.stack([sample[:size] for sample in samples])

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@objects.variant(NoneStaysNone)
class _(Right):
    def others(self, samples: Sequence[Any]) -> Any:
        return [None] * len(samples) if samples[0] is None else super().others(samples)


@objects.variant(OtherErrorForUnknown)
class _(Right):
    def others(self, samples: Sequence[Any]) -> Any:
        raise KeyError(type(samples[0]))


@objects.variant(OtherErrorForNothing)
class _(Right):
    def __call__(self, samples: list[Any]) -> Any:
        if not samples:
            raise KeyError("no samples")
        return super().__call__(samples)


@objects.mistake()
class KeysOfTheLast(Right):
    """The last sample lacks a key, so the batch lacks it, too, and nothing is said. Perhaps the keys of a
    sample other than the first decided.
    """

    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = copy.copy(samples[-1])
        batch.update({key: self([sample[key] for sample in samples]) for key in samples[-1]})
        return batch
