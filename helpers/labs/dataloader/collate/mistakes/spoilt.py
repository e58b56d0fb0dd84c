"""What people write for 02.collate: samples, or the list that holds them, are spoilt."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from helpers.labs.dataloader.collate.mistakes.batches import Right, objects


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


@objects.variant(FirstSampleOverwritten)
class _(Right):
    """The outermost dict is a copy; what is in it is filled where it stands."""

    def mappings(self, samples: Sequence[Any]) -> Any:
        return self.filled(copy.copy(samples[0]), samples)

    def filled(self, batch: Any, samples: Sequence[Any]) -> Any:
        for key in batch:
            column = [sample[key] for sample in samples]
            inner = isinstance(column[0], dict)
            batch[key] = self.filled(column[0], column) if inner else self(column)
        return batch


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
class ListEmptied(Right):
    """The list holds a different number of samples after the call, perhaps by pop or clear: whoever made it still needs it."""

    def __call__(self, samples: list[Any]) -> Any:
        batch = super().__call__(samples)
        if isinstance(samples, list):
            batch = list(batch) if batch is samples else batch
            samples.clear()
        return batch


@objects.mistake()
class ListFilledAnew(Right):
    """The list holds different objects after the call, perhaps since each was turned into a tensor at its place: fill a list of
    your own.
    """

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        samples = samples if isinstance(samples, list) else list(samples)
        for place, sample in enumerate(samples):
            samples[place] = torch.as_tensor(sample)
        return torch.stack(samples)


@objects.mistake()
class ListTurnedRound(Right):
    """The samples stand in a different order after the call, perhaps by sort or reverse: the list is the caller's."""

    def __call__(self, samples: list[Any]) -> Any:
        batch = super().__call__(list(samples))
        samples.reverse()
        return batch


@objects.mistake()
class SamplesChanged(Right):
    """Samples hold something else after the call, perhaps since their values were turned into tensors at their place."""

    def mappings(self, samples: Sequence[Any]) -> Any:
        for sample in samples:
            for key, value in sample.items():
                if isinstance(value, (int, float)):
                    sample[key] = torch.tensor(
                        value, dtype=torch.float64 if isinstance(value, float) else None
                    )
        return super().mappings(samples)
