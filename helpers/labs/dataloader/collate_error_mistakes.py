"""What people write for 02.collate: errors that are missing or hidden, and samples that are spoilt."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.labs.dataloader.collate_mistakes import Right, form, wrong


@wrong(
    "missing_keys_skipped",
    why="A sample that lacks the key was skipped: this column is shorter than the others, and its rows belong to other samples.",
    seen="its rows belong to other samples",
)
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = copy.copy(samples[0])
        batch.update({key: self([sample[key] for sample in samples if key in sample]) for key in samples[0]})
        return batch


@form("missing_keys_skipped")
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        common = [key for key in samples[0] if all(key in sample for sample in samples)]
        return type(samples[0])((key, self([sample[key] for sample in samples])) for key in common)


@wrong(
    "cut_to_the_shortest",
    why="zip stops at the shortest sample and says nothing: boxes are lost. Compare the lengths first.",
    seen="zip stops at the shortest",
)
class _(Right):
    def equal_sizes(self, samples: Sequence[Any]) -> None:
        pass


@form("cut_to_the_shortest")
class _(Right):
    def equal_sizes(self, samples: Sequence[Any]) -> None:
        if len(samples) > 1 and len(samples[0]) != len(samples[1]):
            raise RuntimeError("samples of unequal size")


@form("cut_to_the_shortest")
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        return [self([sample[at] for sample in samples]) for at in range(min(map(len, samples)))]


@wrong(
    "cut_to_the_first",
    why="Only samples that are shorter than the first are noticed; of a longer one the rest is lost.",
    seen="of a longer one the rest is lost",
)
class _(Right):
    def equal_sizes(self, samples: Sequence[Any]) -> None:
        if any(len(sample) < len(samples[0]) for sample in samples):
            raise RuntimeError("samples of unequal size")


@form("cut_to_the_first")
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        return [self([sample[place] for sample in samples]) for place in range(len(samples[0]))]


@wrong(
    "other_error_for_unequal",
    why="zip(..., strict=True) and indexing notice unequal samples, but say so by another error: a caller that catches "
    "RuntimeError, as torch raises it, does not.",
    seen="notice unequal samples, but say so",
)
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        return [self(list(column)) for column in zip(*samples, strict=True)]


@form("other_error_for_unequal")
class _(Right):
    def equal_sizes(self, samples: Sequence[Any]) -> None:
        if len({len(sample) for sample in samples}) > 1:
            raise ValueError("samples of unequal size")


@form("other_error_for_unequal")
class _(Right):
    def equal_sizes(self, samples: Sequence[Any]) -> None:
        assert len({len(sample) for sample in samples}) <= 1


@form("other_error_for_unequal")
class _(Right):
    def equal_sizes(self, samples: Sequence[Any]) -> None:
        if len({len(sample) for sample in samples}) > 1:
            raise TypeError("samples of unequal size")


@wrong(
    "unknown_passed_through",
    why="What is none of the known kinds went through as a list: a None from a broken file reaches the model, and fails there.",
    seen="a None from a broken file reaches the model",
)
class _(Right):
    def others(self, samples: Sequence[Any]) -> Any:
        return samples


@form("unknown_passed_through")
class _(Right):
    def others(self, samples: Sequence[Any]) -> Any:
        return list(samples)

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        try:
            return super().arrays(samples)
        except TypeError:
            return list(samples)


@wrong(
    "none_left_out",
    why="Samples that are None were left out: the batch is smaller than batch_size, and nobody knows why.",
    seen="the batch is smaller than batch_size",
)
class _(Right):
    def __call__(self, samples: list[Any]) -> Any:
        samples = [sample for sample in samples if sample is not None]
        return super().__call__(samples) if samples else self.others([None])


@form("none_left_out")
class _(Right):
    def __call__(self, samples: list[Any]) -> Any:
        return super().__call__([sample for sample in samples if sample is not None])


@form("none_left_out")
class _(Right):
    """At the top alone."""

    def __call__(self, samples: list[Any]) -> Any:
        there = [sample for sample in samples if sample is not None]
        return Right()(there)


@wrong(
    "any_iterable_is_a_sequence",
    why="A set can be iterated, but it has no first item: from sample to sample the order is another one.",
    seen="A set can be iterated",
)
class _(Right):
    def others(self, samples: Sequence[Any]) -> Any:
        return self.sequences(samples) if hasattr(samples[0], "__iter__") else super().others(samples)


@wrong(
    "nothing_gives_something",
    why="A batch without samples has no structure, no dtype and no shape; whatever is returned for it is a guess that fails later.",
    seen="is a guess that fails later",
)
class _(Right):
    def __call__(self, samples: list[Any]) -> Any:
        return super().__call__(samples) if samples else []


@form("nothing_gives_something")
class _(Right):
    def __call__(self, samples: list[Any]) -> Any:
        return super().__call__(samples) if samples else None


@form("nothing_gives_something")
class _(Right):
    def __call__(self, samples: list[Any]) -> Any:
        return super().__call__(samples) if samples else torch.tensor([])


@wrong(
    "nothing_raises_stop_iteration",
    why="next(iter([])) raises StopIteration, which a `for` over the loader takes for the end of the epoch: training stops in silence.",
    seen="training stops in silence",
)
class _(Right):
    def __call__(self, samples: list[Any]) -> Any:
        next(iter(samples))
        return super().__call__(samples)


@wrong(
    "first_sample_overwritten",
    why="The batch was put into the first sample's own dict or list. Work on a copy.",
    seen="first sample's own dict or list",
)
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = samples[0]
        for key in batch:
            batch[key] = self([sample[key] for sample in samples])
        return batch


@form("first_sample_overwritten")
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


@form("first_sample_overwritten")
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        columns = self.columns(samples)
        if isinstance(samples[0], list):
            samples[0][:] = columns
            return samples[0]
        return columns


@wrong(
    "tensors_of_structures_only",
    why="Tensors were handled inside structures only: a dataset may give a bare tensor as its sample.",
    seen="may give a bare tensor as its sample",
)
class _(Right):
    def __call__(self, samples: list[Any]) -> Any:
        if isinstance(samples[0], Tensor):
            return samples
        return super().__call__(samples)

    def columns(self, samples: Sequence[Any]) -> Any:
        columns = [list(column) for column in zip(*samples, strict=False)]
        return [torch.stack(column) if isinstance(column[0], Tensor) else self(column) for column in columns]
