"""What people write for 02.fetch, and why it is wrong."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any

import torch
from torch.utils.data import default_collate, default_convert
from torch.utils.data._utils.fetch import _MapDatasetFetcher

from helpers.labs.dataloader.fetch.exercise import fetch

Collate = Callable[[Any], Any]


def read_batch(dataset: Any, index: Iterable[Any]) -> Any:
    """A batch, read as it should be."""
    if hasattr(dataset, "__getitems__"):
        return dataset.__getitems__(index)
    return [dataset[one] for one in index]


@fetch.mistake()
def collate_skipped_for_one(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """Without automatic batching collate_fn is called as well, with the one sample: it is what turns arrays
    into tensors there (default_convert).
    """
    return collate_fn(read_batch(dataset, index)) if auto_collation else dataset[index]


@fetch.variant(collate_skipped_for_one)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    return collate_fn(read_batch(dataset, index)) if auto_collation else default_convert(dataset[index])


@fetch.mistake()
def list_around_one(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """Without automatic batching there is no batch of one: collate_fn gets the sample, not a list around it,
    and no dimension is added.
    """
    return collate_fn(read_batch(dataset, index) if auto_collation else [dataset[index]])


@fetch.mistake()
def collated_one_by_one(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """collate_fn turns samples into a batch. Called for each sample it sees no batch, and a list of results
    is returned.
    """
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


@fetch.mistake()
def samples_unpacked(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """collate_fn(*samples) hands over as many arguments as there are samples; a collate_fn takes one, the
    list.
    """
    return collate_fn(*read_batch(dataset, index)) if auto_collation else collate_fn(dataset[index])


@fetch.mistake()
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


@fetch.mistake()
def tuple_to_collate(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """default_collate and most people's collate_fn take the batch for a list; a tuple of samples looks like
    one sample with several fields.
    """
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn(tuple(dataset[one] for one in index))


@fetch.mistake()
def one_sample_is_no_list(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """itemgetter(3, 1) gives a tuple, itemgetter(3) gives the sample itself: a last batch of one changes its
    kind, and an empty one raises.
    """
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn(itemgetter(*index)(dataset))


@fetch.variant(one_sample_is_no_list)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    samples = read_batch(dataset, index)
    return collate_fn(samples[0] if len(samples) == 1 else samples)


@fetch.mistake()
def collate_never_called(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """What is read is returned as it is: nobody made a batch of it."""
    return read_batch(dataset, index) if auto_collation else dataset[index]


@fetch.mistake()
def collate_skipped_for_many(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """__getitems__ gives samples, not a batch: collate_fn is called on what it gives, too."""
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return dataset.__getitems__(index)
    return collate_fn([dataset[one] for one in index])


@fetch.mistake()
def result_thrown_away(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """collate_fn returns the batch; the samples that went in stay as they are."""
    samples = read_batch(dataset, index) if auto_collation else dataset[index]
    collate_fn(samples)
    return samples


@fetch.mistake()
def own_collate(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """The caller's collate_fn was left out for default_collate: a batch of texts, or of boxes of unequal
    size, needs the one that was given.
    """
    return default_collate(read_batch(dataset, index)) if auto_collation else default_convert(dataset[index])


@fetch.variant(own_collate)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    return torch.stack(read_batch(dataset, index)) if auto_collation else dataset[index]


@fetch.variant(own_collate)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    return default_collate(read_batch(dataset, index)) if auto_collation else collate_fn(dataset[index])


@fetch.mistake()
def none_samples_dropped(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """Whether a sample that is None is left out is for collate_fn to say; here the batch silently gets
    smaller.
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
    """An error in __getitem__ was caught, and the sample left out: half of the data may be gone, and training
    goes on.
    """
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


@fetch.mistake()
def getitems_made_a_list(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """list(...) around __getitems__ spoils what it gives: of a dict of ready columns the keys are left, of a
    tensor its rows.
    """
    return collate_fn(list(read_batch(dataset, index)) if auto_collation else dataset[index])


@fetch.variant(getitems_made_a_list)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    return collate_fn([sample for sample in read_batch(dataset, index)])  # noqa: C416


@fetch.mistake()
def calls_torchs_fetcher(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """It works, and shows nothing: _MapDatasetFetcher is what this exercise takes apart. Its fetch has eight
    lines.
    """
    return _MapDatasetFetcher(dataset, auto_collation, collate_fn, drop_last=False).fetch(index)


# The dataset is asked in a wrong way.


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


@fetch.mistake()
def getitems_ignored(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """The dataset can read a batch in one call (one query, one read of a file), and was asked for each sample
    on its own.
    """
    return collate_fn([dataset[one] for one in index] if auto_collation else dataset[index])


@fetch.mistake()
def getitems_for_each_sample(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """__getitems__ takes the whole batch of indices. Called once a sample it saves nothing."""
    if auto_collation and hasattr(dataset, "__getitems__"):
        return collate_fn([dataset.__getitems__([one])[0] for one in index])
    return collate_fn([dataset[one] for one in index] if auto_collation else dataset[index])


@fetch.mistake()
def getitems_of_the_class(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """__getitems__ was looked up on the class. It is no method of Python's own, and a wrapper that hands
    attributes on by __getattr__ has it on the object only.
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


@fetch.variant(getitems_of_the_class)
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


@fetch.variant(type_of_index_decides)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if auto_collation and isinstance(index, list):
        return collate_fn(read_batch(dataset, index))
    return collate_fn(dataset[index])


@fetch.mistake()
def auto_collation_upside_down(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """auto_collation is taken the other way round: True means that index is a batch of indices."""
    return collate_fn(dataset[index] if auto_collation else read_batch(dataset, index))


@fetch.mistake()
def list_handed_to_getitem(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """dataset[[3, 1]] works for a tensor or an array; a dataset's __getitem__ takes one index."""
    if auto_collation and hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn(dataset[index])


@fetch.variant(list_handed_to_getitem)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    return collate_fn(dataset[index])


@fetch.mistake()
def repeated_index_read_once(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """A sampler with replacement gives an index twice in a batch, and augmentation makes two samples of it; a
    set or dict keeps one.
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


@fetch.mistake()
def read_in_another_order(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """The indices were sorted: the samples no longer stand where the sampler put them."""
    return collate_fn(read_batch(dataset, sorted(index)) if auto_collation else dataset[index])


@fetch.variant(read_in_another_order)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn([dataset[one] for one in sorted(index)])


@fetch.mistake()
def read_twice(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """The sample is read once to look at it and once more to take it: twice the work, and the augmentation of
    the second reading is another one.
    """
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn([dataset[one] for one in index if dataset[one] is not None])


@fetch.mistake()
def missing_method_by_except(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """`except AttributeError` around the call also catches a fault inside the dataset's own __getitems__,
    hides it, and reads everything again one by one. Ask with hasattr.
    """
    if not auto_collation:
        return collate_fn(dataset[index])
    try:
        samples = dataset.__getitems__(index)
    except AttributeError:
        samples = [dataset[one] for one in index]
    return collate_fn(samples)


@fetch.variant(missing_method_by_except)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    try:
        samples = dataset.__getitems__(index)
    except (AttributeError, TypeError, NotImplementedError):
        samples = [dataset[one] for one in index]
    return collate_fn(samples)


@fetch.variant(missing_method_by_except)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    try:
        samples = dataset.__getitems__(index)
    except Exception:
        samples = [dataset[one] for one in index]
    return collate_fn(samples)


@fetch.mistake()
def index_zero_is_nothing(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """`if not index` is true for index 0 and for the key '': the first sample can never be read alone."""
    if not index:
        return collate_fn([])
    return collate_fn(read_batch(dataset, index) if auto_collation else dataset[index])


@fetch.variant(index_zero_is_nothing)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not index and not auto_collation:
        return None
    return collate_fn(read_batch(dataset, index) if auto_collation else dataset[index])


@fetch.mistake()
def indices_made_ints(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """int(index) refuses keys such as 'cat'. An index is whatever the sampler gives and the dataset takes."""
    if not auto_collation:
        return collate_fn(dataset[int(index)])
    return collate_fn(read_batch(dataset, [int(one) for one in index]))


@fetch.variant(indices_made_ints)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    return collate_fn(read_batch(dataset, [int(one) for one in index]))


@fetch.mistake()
def length_needed(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """len(dataset) is not needed to read from it: a dataset without a length works in a DataLoader that is
    given a sampler.
    """
    for one in index if auto_collation else [index]:
        if not 0 <= one < len(dataset):
            raise IndexError(one)
    return collate_fn(read_batch(dataset, index) if auto_collation else dataset[index])


@fetch.variant(length_needed)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    samples = [dataset[one] for one in range(len(dataset))]
    return collate_fn([samples[one] for one in index] if auto_collation else samples[index])
