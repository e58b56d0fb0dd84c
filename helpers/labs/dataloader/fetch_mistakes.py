"""What people write for 02.fetch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any

import torch
from torch.utils.data import default_collate, default_convert
from torch.utils.data._utils.fetch import _MapDatasetFetcher

from helpers.labs.dataloader.fetch import fetch

Collate = Callable[[Any], Any]


def read_batch(dataset: Any, index: Iterable[Any]) -> Any:
    """A batch, read as it should be."""
    if hasattr(dataset, "__getitems__"):
        return dataset.__getitems__(index)
    return [dataset[one] for one in index]


@fetch.wrong_answer(
    "collate_skipped_for_one",
    why="Without automatic batching collate_fn is called as well, with the one sample: it is what turns arrays into tensors "
    "there (default_convert).",
    seen="it is what turns arrays into tensors",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    return collate_fn(read_batch(dataset, index)) if auto_collation else dataset[index]


@fetch.another_form("collate_skipped_for_one")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    return collate_fn(read_batch(dataset, index)) if auto_collation else default_convert(dataset[index])


@fetch.wrong_answer(
    "list_around_one",
    why="Without automatic batching there is no batch of one: collate_fn gets the sample, not a list around it, and no "
    "dimension is added.",
    seen="there is no batch of one",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    return collate_fn(read_batch(dataset, index) if auto_collation else [dataset[index]])


@fetch.wrong_answer(
    "collated_one_by_one",
    why="collate_fn turns samples into a batch. Called for each sample it sees no batch, and a list of results is returned.",
    seen="Called for each sample it sees no batch",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    return [collate_fn(sample) for sample in read_batch(dataset, index)]


@fetch.another_form("collated_one_by_one")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    return [collate_fn([sample]) for sample in read_batch(dataset, index)]


@fetch.another_form("collated_one_by_one")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return [collate_fn(dataset[one]) for one in index]


@fetch.wrong_answer(
    "samples_unpacked",
    why="collate_fn(*samples) hands over as many arguments as there are samples; a collate_fn takes one, the list.",
    seen="as many arguments as there are samples",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    return collate_fn(*read_batch(dataset, index)) if auto_collation else collate_fn(dataset[index])


@fetch.wrong_answer(
    "generator_to_collate",
    why="collate_fn looks at the first sample, counts them and goes through them more than once: it needs a list, and a "
    "generator (or map) is empty after one pass.",
    seen="is empty after one pass",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn(dataset[one] for one in index)


@fetch.another_form("generator_to_collate")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn(map(dataset.__getitem__, index))


@fetch.wrong_answer(
    "tuple_to_collate",
    why="default_collate and most people's collate_fn take the batch for a list; a tuple of samples looks like one sample "
    "with several fields.",
    seen="looks like one sample",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn(tuple(dataset[one] for one in index))


@fetch.wrong_answer(
    "one_sample_is_no_list",
    why="itemgetter(3, 1) gives a tuple, itemgetter(3) gives the sample itself: a last batch of one changes its kind, and an "
    "empty one raises.",
    seen="a last batch of one changes its kind",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn(itemgetter(*index)(dataset))


@fetch.another_form("one_sample_is_no_list")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    samples = read_batch(dataset, index)
    return collate_fn(samples[0] if len(samples) == 1 else samples)


@fetch.wrong_answer(
    "collate_never_called",
    why="What is read is returned as it is: nobody made a batch of it.",
    seen="nobody made a batch of it",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    return read_batch(dataset, index) if auto_collation else dataset[index]


@fetch.wrong_answer(
    "collate_skipped_for_many",
    why="__getitems__ gives samples, not a batch: collate_fn is called on what it gives, too.",
    seen="__getitems__ gives samples, not a batch",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return dataset.__getitems__(index)
    return collate_fn([dataset[one] for one in index])


@fetch.wrong_answer(
    "result_thrown_away",
    why="collate_fn returns the batch; the samples that went in stay as they are.",
    seen="the samples that went in stay",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    samples = read_batch(dataset, index) if auto_collation else dataset[index]
    collate_fn(samples)
    return samples


@fetch.wrong_answer(
    "own_collate",
    why="The caller's collate_fn was left out for default_collate: a batch of texts, or of boxes of unequal size, needs the "
    "one that was given.",
    seen="was left out for default_collate",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    return default_collate(read_batch(dataset, index)) if auto_collation else default_convert(dataset[index])


@fetch.another_form("own_collate")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    return torch.stack(read_batch(dataset, index)) if auto_collation else dataset[index]


@fetch.another_form("own_collate")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    return default_collate(read_batch(dataset, index)) if auto_collation else collate_fn(dataset[index])


@fetch.wrong_answer(
    "none_samples_dropped",
    why="Whether a sample that is None is left out is for collate_fn to say; here the batch silently gets smaller.",
    seen="is for collate_fn to say",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    samples = (dataset[one] for one in index)
    return collate_fn([sample for sample in samples if sample is not None])


@fetch.another_form("none_samples_dropped")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if auto_collation and hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    samples = [dataset[one] for one in index] if auto_collation else dataset[index]
    if auto_collation:
        samples = list(filter(None, samples))
    return collate_fn(samples) if samples is not None else None


@fetch.wrong_answer(
    "bad_samples_skipped",
    why="An error in __getitem__ was caught, and the sample left out: half of the data may be gone, and training goes on.",
    seen="half of the data may be gone",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    samples = []
    for one in index:
        with contextlib.suppress(Exception):
            samples.append(dataset[one])
    return collate_fn(samples)


@fetch.another_form("bad_samples_skipped")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    samples = []
    for one in index:
        with contextlib.suppress(IndexError, KeyError):
            samples.append(dataset[one])
    return collate_fn(samples)


@fetch.another_form("bad_samples_skipped")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    try:
        samples = read_batch(dataset, index) if auto_collation else dataset[index]
    except Exception:
        return None
    return collate_fn(samples)


@fetch.another_form("bad_samples_skipped")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    samples = []
    for one in index:
        try:
            samples.append(dataset[one])
        except Exception:
            samples.append(None)
    return collate_fn(samples)


@fetch.wrong_answer(
    "getitems_made_a_list",
    why="list(...) around __getitems__ spoils what it gives: of a dict of ready columns the keys are left, of a tensor its rows.",
    seen="spoils what it gives",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    return collate_fn(list(read_batch(dataset, index)) if auto_collation else dataset[index])


@fetch.another_form("getitems_made_a_list")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    return collate_fn([sample for sample in read_batch(dataset, index)])  # noqa: C416


@fetch.wrong_answer(
    "calls_torchs_fetcher",
    why="It works, and shows nothing: _MapDatasetFetcher is what this exercise takes apart. Its fetch has eight lines.",
    seen="Its fetch has eight lines",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    return _MapDatasetFetcher(dataset, auto_collation, collate_fn, drop_last=False).fetch(index)
