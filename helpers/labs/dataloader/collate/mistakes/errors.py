"""What people write for 02.collate: errors that are missing or hidden, and samples that are spoilt."""

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


@objects.variant(MissingKeysSkipped)
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        common = [key for key in samples[0] if all(key in sample for sample in samples)]
        return type(samples[0])((key, self([sample[key] for sample in samples])) for key in common)


@objects.mistake()
class CutToTheShortest(Right):
    """zip stops at the shortest sample and says nothing: boxes are lost. Compare the lengths first."""

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
    """zip(..., strict=True) and indexing notice unequal samples, but say so by another error: a caller that
    catches RuntimeError, as torch raises it, does not.
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
    """What is none of the known kinds went through as a list: a None from a broken file reaches the model,
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


@objects.mistake()
class NoneLeftOut(Right):
    """Samples that are None were left out: the batch is smaller than batch_size, and nobody knows why."""

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
    """A set can be iterated, but it has no first item: from sample to sample the order is another one."""

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
        return super().__call__(samples) if samples else torch.tensor([])


@objects.mistake()
class NothingRaisesStopIteration(Right):
    """next(iter([])) raises StopIteration, which a `for` over the loader takes for the end of the epoch:
    training stops in silence.
    """

    def __call__(self, samples: list[Any]) -> Any:
        next(iter(samples))
        return super().__call__(samples)


@objects.mistake()
class FirstSampleOverwritten(Right):
    """The first sample was changed, perhaps because the batch was put into its own dict or list. Work on a copy."""

    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = samples[0]
        for key in batch:
            batch[key] = self([sample[key] for sample in samples])
        return batch


@objects.variant(FirstSampleOverwritten)
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = samples[0]
        batch.update({key: self([sample[key] for sample in samples]) for key in batch})
        return batch

    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        columns = self.columns(samples)
        if isinstance(samples[0], list):
            samples[0][:] = columns
            return samples[0]
        return columns


@objects.variant(FirstSampleOverwritten)
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        columns = self.columns(samples)
        if isinstance(samples[0], list):
            samples[0][:] = columns
            return samples[0]
        return columns


@objects.mistake()
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
class ItemsTakenOut(Right):
    """The samples lack items after the call, perhaps taken out by pop: they are the dataset's own, and the next epoch needs
    them. Read, and leave them there.
    """

    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = copy.copy(samples[0])
        batch.update({key: self([sample.pop(key) for sample in samples]) for key in list(samples[0])})
        return batch


@objects.mistake()
class ClassCalledWithADict(Right):
    """The batch of a defaultdict raises TypeError, perhaps since its class was called with a dict: the first argument of
    defaultdict is the factory. Copy the first sample, and update the copy.
    """

    def mappings(self, samples: Sequence[Any]) -> Any:
        return type(samples[0])({key: self([sample[key] for sample in samples]) for key in samples[0]})
