"""What people write for 02.fetch: what collate_fn is given, and the ways to read."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any

import torch
from torch.utils.data import default_collate, default_convert
from torch.utils.data._utils.fetch import _MapDatasetFetcher

from helpers.labs.dataloader.fetch.exercise import fetch
from helpers.labs.dataloader.fetch.right import read_batch

Collate = Callable[[Any], Any]


@fetch.mistake(breaks="One index: `collate_fn` is given the sample dataset[index]")
def collate_skipped_for_one(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """Without automatic batching collate_fn is called as well, with the one sample: it is what turns arrays
    into tensors there (default_convert).
    """
    return collate_fn(read_batch(dataset, index)) if auto_collation else dataset[index]


@fetch.variant(collate_skipped_for_one)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    return collate_fn(read_batch(dataset, index)) if auto_collation else default_convert(dataset[index])


@fetch.mistake(breaks="One index: `collate_fn` is given the sample dataset[index]")
def list_around_one(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """Without automatic batching there is no batch of one: collate_fn gets the sample, not a list around it,
    and no dimension is added.
    """
    return collate_fn(read_batch(dataset, index) if auto_collation else [dataset[index]])


@fetch.mistake(breaks="A batch of a dataset without `__getitems__`: the list of its samples")
def collated_one_by_one(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """collate_fn was called for each sample, and sees no batch: it is what turns samples into one."""
    if not auto_collation:
        return collate_fn(dataset[index])
    return [collate_fn(sample) for sample in read_batch(dataset, index)]


@fetch.variant(collated_one_by_one)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    return [collate_fn([sample]) for sample in read_batch(dataset, index)]


@fetch.variant(collated_one_by_one)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return [collate_fn(dataset[one]) for one in index]


@fetch.mistake(breaks="all with one argument")
def samples_unpacked(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """collate_fn(*samples) hands over as many arguments as there are samples; a collate_fn takes one, the
    list.
    """
    return collate_fn(*read_batch(dataset, index)) if auto_collation else collate_fn(dataset[index])


@fetch.mistake(breaks="A batch of a dataset without `__getitems__`: the list of its samples")
def generator_to_collate(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """collate_fn looks at the first sample, counts them and goes through them more than once: it needs a
    list, and a generator (or map) is empty after one pass.
    """
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn(dataset[one] for one in index)


@fetch.variant(generator_to_collate)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn(map(dataset.__getitem__, index))


@fetch.mistake(breaks="A batch of a dataset without `__getitems__`: the list of its samples")
def tuple_to_collate(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """default_collate and most people's collate_fn take the batch for a list; a tuple of samples looks like
    one sample with several fields.
    """
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn(tuple(dataset[one] for one in index))


@fetch.variant(tuple_to_collate)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn(itemgetter(*index)(dataset))


@fetch.mistake()
def one_sample_is_no_list(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """A batch of one sample is no list here, but the sample itself: the last batch of an epoch changes its kind."""
    if not auto_collation:
        return collate_fn(dataset[index])
    samples = read_batch(dataset, index)
    return collate_fn(samples[0] if len(samples) == 1 else samples)


@fetch.mistake(
    breaks="What a map-style dataset gives for one index, or for one batch of them, through `collate_fn`."
)
def collate_never_called(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """What is read is returned as it is: nobody made a batch of it."""
    return read_batch(dataset, index) if auto_collation else dataset[index]


@fetch.mistake(breaks="A batch: `collate_fn` is given what `dataset.__getitems__(index)` gives, as it is.")
def collate_skipped_for_many(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """__getitems__ gives samples, not a batch: collate_fn is called on what it gives, too."""
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return dataset.__getitems__(index)
    return collate_fn([dataset[one] for one in index])


@fetch.mistake(breaks="what `collate_fn` returns is returned as it is.")
def result_thrown_away(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """What was read is returned, and what collate_fn made of it is lost: that is the batch."""
    samples = read_batch(dataset, index) if auto_collation else dataset[index]
    collate_fn(samples)
    return samples


@fetch.mistake(
    breaks="What a map-style dataset gives for one index, or for one batch of them, through `collate_fn`."
)
def own_collate(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """The samples were collated in torch's way, perhaps by default_collate in the place of the caller's
    collate_fn: a batch of texts, or of boxes of unequal size, needs the one that was given.
    """
    return default_collate(read_batch(dataset, index)) if auto_collation else default_convert(dataset[index])


@fetch.variant(own_collate)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    return torch.stack(read_batch(dataset, index)) if auto_collation else dataset[index]


@fetch.variant(own_collate)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    return default_collate(read_batch(dataset, index)) if auto_collation else collate_fn(dataset[index])


@fetch.mistake(breaks="A batch of a dataset without `__getitems__`: the list of its samples")
def none_samples_dropped(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """A sample that is None was left out. Whether it is to be left out is for collate_fn to say; here the batch silently
    gets smaller.
    """
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    samples = (dataset[one] for one in index)
    return collate_fn([sample for sample in samples if sample is not None])


@fetch.variant(none_samples_dropped)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if auto_collation and hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    samples = [dataset[one] for one in index] if auto_collation else dataset[index]
    if auto_collation:
        samples = list(filter(None, samples))
    return collate_fn(samples) if samples is not None else None


@fetch.mistake()
def bad_samples_skipped(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """An error of the dataset was caught, and nobody is told: half of the data may be gone, and training goes on."""
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    samples = []
    for one in index:
        with contextlib.suppress(Exception):
            samples.append(dataset[one])
    return collate_fn(samples)


@fetch.variant(bad_samples_skipped)
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


@fetch.variant(bad_samples_skipped)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    try:
        samples = read_batch(dataset, index) if auto_collation else dataset[index]
    except Exception:
        return None
    return collate_fn(samples)


@fetch.variant(bad_samples_skipped)
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


@fetch.mistake(breaks="A batch: `collate_fn` is given what `dataset.__getitems__(index)` gives, as it is.")
def getitems_made_a_list(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """What __getitems__ gives was made a list: of a dict of ready columns the keys are left, of a tensor its rows."""
    return collate_fn(list(read_batch(dataset, index)) if auto_collation else dataset[index])


@fetch.variant(getitems_made_a_list)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    return collate_fn([sample for sample in read_batch(dataset, index)])  # noqa: C416


@fetch.mistake()
def calls_torchs_fetcher(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """It works, and shows nothing: torch's fetchers and collate functions are what this exercise takes apart."""
    return _MapDatasetFetcher(dataset, auto_collation, collate_fn, drop_last=False).fetch(index)


@fetch.mistake()
def getitems_for_one(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """__getitems__ is for batches. A single index is read by dataset[index], which may well do something
    else.
    """
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn([dataset[one] for one in index] if auto_collation else dataset[index])


@fetch.variant(getitems_for_one)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if auto_collation:
        return collate_fn(read_batch(dataset, index))
    return collate_fn(read_batch(dataset, [index])[0])


@fetch.variant(getitems_for_one)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index if auto_collation else [index]))
    return collate_fn([dataset[one] for one in index] if auto_collation else dataset[index])


@fetch.mistake(breaks="A batch: `collate_fn` is given what `dataset.__getitems__(index)` gives, as it is.")
def getitems_ignored(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """The dataset can read a batch in one call (one query, one read of a file), and was asked for each sample
    on its own.
    """
    return collate_fn([dataset[one] for one in index] if auto_collation else dataset[index])


@fetch.mistake(breaks="A batch: `collate_fn` is given what `dataset.__getitems__(index)` gives, as it is.")
def getitems_for_each_sample(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """__getitems__ takes the whole batch of indices. Called once a sample it saves nothing."""
    if auto_collation and hasattr(dataset, "__getitems__"):
        return collate_fn([dataset.__getitems__([one])[0] for one in index])
    return collate_fn([dataset[one] for one in index] if auto_collation else dataset[index])


@fetch.mistake()
def getitems_of_the_class(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """A __getitems__ that is on the object only was not found, perhaps because it was looked up on the class.
    A wrapper that hands attributes on by __getattr__ has it so.
    """
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(type(dataset), "__getitems__"):
        return collate_fn(type(dataset).__getitems__(dataset, index))
    return collate_fn([dataset[one] for one in index])


@fetch.variant(getitems_of_the_class)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    if "__getitems__" in dir(dataset):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn([dataset[one] for one in index])


@fetch.mistake(breaks="A batch of a dataset without `__getitems__`: the list of its samples")
def getitems_taken_for_granted(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """The answer asks for the __getitems__ of a dataset that has none. Most datasets have none: ask with hasattr first."""
    if not auto_collation:
        return collate_fn(dataset[index])
    return collate_fn(dataset.__getitems__(index))


@fetch.variant(getitems_taken_for_granted)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    return collate_fn(type(dataset).__getitems__(dataset, index))


@fetch.variant(getitems_of_the_class)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if auto_collation and hasattr(dataset, "__getitems__"):
        return collate_fn(type(dataset).__getitems__(dataset, index))
    return collate_fn([dataset[one] for one in index] if auto_collation else dataset[index])


@fetch.mistake()
def type_of_index_decides(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """A list can be one index: with batch_size=None a sampler may give lists to a dataset that reads many
    rows at once. Only auto_collation says what is meant.
    """
    if isinstance(index, list):
        return collate_fn(read_batch(dataset, index))
    return collate_fn(dataset[index])


@fetch.variant(type_of_index_decides)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if isinstance(index, (list, tuple)):
        return collate_fn(read_batch(dataset, index))
    return collate_fn(dataset[index])


@fetch.variant(type_of_index_decides)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if isinstance(index, int):
        return collate_fn(dataset[index])
    return collate_fn(read_batch(dataset, index))


@fetch.variant(type_of_index_decides)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if isinstance(index, Iterable):
        return collate_fn(read_batch(dataset, index))
    return collate_fn(dataset[index])


@fetch.variant(type_of_index_decides)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if isinstance(index, Sequence) and not isinstance(index, (str, bytes)):
        return collate_fn(read_batch(dataset, index))
    return collate_fn(dataset[index])


@fetch.variant(type_of_index_decides)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if auto_collation or isinstance(index, list):
        return collate_fn(read_batch(dataset, index))
    return collate_fn(dataset[index])


@fetch.mistake(breaks="`auto_collation` alone says whether `index` is a batch")
def auto_collation_upside_down(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """auto_collation is taken the other way round: True means that index is a batch of indices."""
    return collate_fn(dataset[index] if auto_collation else read_batch(dataset, index))


@fetch.mistake(
    breaks="A batch of a dataset without `__getitems__`: the list of its samples, read in the order of "
    "`index`."
)
def list_handed_to_getitem(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """The dataset was asked for several samples at once by dataset[...]: that works for a tensor or an array;
    a dataset's __getitem__ takes one index.
    """
    if auto_collation and hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn(dataset[index])


@fetch.variant(list_handed_to_getitem)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    return collate_fn(dataset[index])


@fetch.mistake(breaks="A batch of a dataset without `__getitems__`: the list of its samples")
def repeated_index_read_once(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """An index that stands twice in the batch was read once. A sampler with replacement gives such batches, and
    augmentation makes two samples of one index; a set, a dict or a cache keeps one.
    """
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn([dataset[one] for one in dict.fromkeys(index)])


@fetch.variant(repeated_index_read_once)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    samples = {one: dataset[one] for one in dict.fromkeys(index)}
    return collate_fn([samples[one] for one in index])
