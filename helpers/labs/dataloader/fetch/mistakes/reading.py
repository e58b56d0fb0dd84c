"""What people write for 02.fetch: the index, what __getitems__ gives, results and errors."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from helpers.labs.dataloader.fetch.exercise import fetch
from helpers.labs.dataloader.fetch.right import read, read_batch

Collate = Callable[[Any], Any]


@fetch.mistake(
    breaks="A batch of a dataset without `__getitems__`: the list of its samples, read in the order of "
    "`index`."
)
def read_in_another_order(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """The samples were read in a different order than `index` gives, perhaps sorted, backwards or out of a set: they no
    longer stand where the sampler put them, or a dataset that draws random numbers draws others.
    """
    return collate_fn(read_batch(dataset, sorted(index)) if auto_collation else dataset[index])


@fetch.variant(read_in_another_order)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn([dataset[one] for one in sorted(index)])


@fetch.variant(read_in_another_order)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if auto_collation and not hasattr(dataset, "__getitems__"):
        return collate_fn([dataset[one] for one in reversed(index)][::-1])
    return collate_fn(read(dataset, index, auto_collation))


@fetch.variant(read_in_another_order)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if auto_collation and not hasattr(dataset, "__getitems__"):
        return collate_fn([dataset[one] for one in reversed(index)])
    return collate_fn(read(dataset, index, auto_collation))


@fetch.mistake(
    breaks="A batch of a dataset without `__getitems__`: the list of its samples, read in the order of "
    "`index`."
)
def read_twice(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """Samples were read twice, perhaps once to look and once to take: twice the work, and the augmentation of the second
    reading is a different one.
    """
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn([dataset[one] for one in index if dataset[one] is not None])


@fetch.mistake()
def missing_method_by_except(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """A fault inside the dataset's own __getitems__ was hidden, perhaps by an `except` that was meant for a
    missing method, and everything read again one by one. Ask with hasattr.
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


@fetch.mistake(breaks="one index of any kind (0, a key, a list that the dataset takes at once)")
def index_zero_is_nothing(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """Index 0 was taken for no index, perhaps by `if not index`, which is true for 0 and for the key '': the first
    sample can never be read alone.
    """
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
    """The answer does not take a key such as 'cat', perhaps because of int(index). An index is whatever the sampler
    gives and the dataset takes.
    """
    if not auto_collation:
        return collate_fn(dataset[int(index)])
    return collate_fn(read_batch(dataset, [int(one) for one in index]))


@fetch.variant(indices_made_ints)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    return collate_fn(read_batch(dataset, [int(one) for one in index]))


@fetch.mistake(breaks="it need not have a length.")
def length_needed(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """The answer asks for len(dataset), which is not needed to read from it: a dataset without a length works in a
    DataLoader that is given a sampler.
    """
    for one in index if auto_collation else [index]:
        if not 0 <= one < len(dataset):
            raise IndexError(one)
    return collate_fn(read_batch(dataset, index) if auto_collation else dataset[index])


@fetch.variant(length_needed)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    samples = [dataset[one] for one in range(len(dataset))]
    return collate_fn([samples[one] for one in index] if auto_collation else samples[index])


@fetch.variant(length_needed)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if auto_collation:
        index = [one % len(dataset) for one in index]
    return collate_fn(read(dataset, index, auto_collation))


@fetch.mistake(breaks="`index` is left as it is.")
def index_changed(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """The list of indices was changed, perhaps by pop or sort: it is the caller's, who may need it again."""
    if auto_collation and not hasattr(dataset, "__getitems__"):
        samples = []
        while index:
            samples.append(dataset[index.pop(0)])
        return collate_fn(samples)
    return collate_fn(read(dataset, index, auto_collation))


@fetch.variant(index_changed)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if auto_collation and not hasattr(dataset, "__getitems__"):
        samples = []
        while index:
            samples.append(dataset[index.pop()])
        return collate_fn(samples[::-1])
    return collate_fn(read(dataset, index, auto_collation))


@fetch.variant(index_changed)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if auto_collation and isinstance(index, list):
        with contextlib.suppress(TypeError):
            index.sort()
    return collate_fn(read(dataset, index, auto_collation))


@fetch.mistake(breaks="A batch: `collate_fn` is given what `dataset.__getitems__(index)` gives, as it is.")
def empty_bulk_read_again(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """What __getitems__ gave did not go to collate_fn where it is false (an empty list, None): perhaps the
    samples were read one by one after that. What it gives is the batch, whatever it is.
    """
    if not auto_collation:
        return collate_fn(dataset[index])
    many = dataset.__getitems__(index) if hasattr(dataset, "__getitems__") else None
    return collate_fn(many or [dataset[one] for one in index])


@fetch.variant(empty_bulk_read_again)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    many = dataset.__getitems__(index) if hasattr(dataset, "__getitems__") else None
    return collate_fn([dataset[one] for one in index] if many is None else many)


@fetch.mistake(breaks="A batch: `collate_fn` is given what `dataset.__getitems__(index)` gives, as it is.")
def short_batches_one_by_one(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """For a batch without indices, and perhaps for one of a single index, __getitems__ was not called: it reads a batch of any length."""
    if auto_collation and len(index) > 1 and hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn([dataset[one] for one in index] if auto_collation else dataset[index])


@fetch.variant(short_batches_one_by_one)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if auto_collation and index and hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn([dataset[one] for one in index] if auto_collation else dataset[index])


@fetch.mistake(breaks="A batch: `collate_fn` is given what `dataset.__getitems__(index)` gives, as it is.")
def tuple_to_getitems(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """__getitems__ was given no list: it is handed the list of indices as it is."""
    if auto_collation and hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(tuple(index)))
    return collate_fn([dataset[one] for one in index] if auto_collation else dataset[index])


@fetch.mistake(breaks="all with one argument")
def getitems_unpacked(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """__getitems__ was called with a wrong number of arguments, perhaps by __getitems__(*index): it takes
    one, the list.
    """
    if auto_collation and hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(*index))
    return collate_fn([dataset[one] for one in index] if auto_collation else dataset[index])


@fetch.mistake(breaks="One index: `collate_fn` is given the sample dataset[index]")
def bulk_copied(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """collate_fn was given a copy of what the dataset gave: it takes the thing itself, whose class and memory
    may matter.
    """
    return collate_fn(copy.copy(read(dataset, index, auto_collation)))


@fetch.mistake(breaks="A batch: `collate_fn` is given what `dataset.__getitems__(index)` gives, as it is.")
def bulk_sorted(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """What __getitems__ gave was changed, perhaps sorted: the dataset's own list is spoilt."""
    data = read(dataset, index, auto_collation)
    if auto_collation and hasattr(dataset, "__getitems__") and isinstance(data, list):
        data.sort(key=str)
    return collate_fn(data)


@fetch.mistake(breaks="A batch: `collate_fn` is given what `dataset.__getitems__(index)` gives, as it is.")
def length_of_bulk_tested(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """The answer raises where __getitems__ gives something else than one sample for each index, perhaps since
    it compares the lengths: a dict of columns has the length of its keys. It goes to collate_fn as it is.
    """
    data = read(dataset, index, auto_collation)
    if auto_collation and len(data) != len(index):
        raise ValueError(f"{len(index)} indices, {len(data)} samples")
    return collate_fn(data)


@fetch.variant(length_of_bulk_tested)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    data = read(dataset, index, auto_collation)
    if auto_collation and isinstance(data, list) and len(data) != len(index):
        raise ValueError(f"{len(index)} indices, {len(data)} samples")
    return collate_fn(data)


@fetch.mistake()
def numpys_ints_made_pythons(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """An index of NumPy's type was made Python's int: an index is handed on as it is."""
    if not auto_collation:
        return collate_fn(dataset[_item(index)])
    return collate_fn(read_batch(dataset, [_item(one) for one in index]))


@fetch.variant(numpys_ints_made_pythons)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    return collate_fn(read_batch(dataset, [_item(one) for one in index]))


@fetch.mistake(breaks="A batch of a dataset without `__getitems__`: the list of its samples")
def array_to_collate(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """collate_fn was given an array of samples: it takes a list. An array turns samples of one shape into one block, and
    others into objects.
    """
    if auto_collation and not hasattr(dataset, "__getitems__"):
        return collate_fn(np.array([dataset[one] for one in index], dtype=object))
    return collate_fn(read(dataset, index, auto_collation))


@fetch.mistake(breaks="all with one argument")
def argument_by_name(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """collate_fn was called with a keyword argument: nobody knows how a collate_fn calls its one argument."""
    return collate_fn(batch=read(dataset, index, auto_collation))


@fetch.mistake()
def empty_batch_skipped(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """An empty batch did not go to collate_fn, which decides what becomes of it."""
    if auto_collation and not index:
        return []
    return collate_fn(read(dataset, index, auto_collation))


@fetch.mistake()
def empty_batch_refused(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """The answer raises for an empty batch. Whether that is an error is for collate_fn to say."""
    if auto_collation and not index:
        raise ValueError("a batch without indices")
    return collate_fn(read(dataset, index, auto_collation))


@fetch.mistake()
def false_result_replaced(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """Some of what collate_fn returned was replaced by something else, perhaps since it is false (None, 0, an
    empty list): what it returns is the batch, whatever it is.
    """
    data = read(dataset, index, auto_collation)
    return collate_fn(data) or data


@fetch.variant(false_result_replaced)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    data = read(dataset, index, auto_collation)
    result = collate_fn(data)
    return data if result is None else result


@fetch.variant(false_result_replaced)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    return collate_fn(read(dataset, index, auto_collation)) or None


@fetch.mistake(breaks="what `collate_fn` returns is returned as it is.")
def result_copied(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """A copy of what collate_fn returned came back: a batch in shared or pinned memory would lose it."""
    return copy.deepcopy(collate_fn(read(dataset, index, auto_collation)))


@fetch.mistake(breaks="what `collate_fn` returns is returned as it is.")
def result_wrapped(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """Something else came back than collate_fn returned, perhaps a list or a tuple around it: it is returned
    as it is.
    """
    return [collate_fn(read(dataset, index, auto_collation))]


@fetch.mistake(breaks="what `collate_fn` returns is returned as it is")
def nothing_returned(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """None is returned, and what collate_fn returned is lost. Perhaps a `return` is missing."""
    collate_fn(read(dataset, index, auto_collation))


@fetch.mistake()
def tried_again(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """After an error the dataset was asked again: an error comes through at once. Who wants a second try writes it into the
    dataset.
    """
    try:
        return collate_fn(read(dataset, index, auto_collation))
    except Exception:
        return collate_fn(read(dataset, index, auto_collation))


@fetch.mistake()
def collate_error_hidden(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """An error of collate_fn was caught, and something that is no batch was returned. Let it through."""
    data = read(dataset, index, auto_collation)
    try:
        return collate_fn(data)
    except Exception:
        return data


@fetch.mistake()
def different_error(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """The dataset's error was replaced by a different one, perhaps with more words: who catches the first one, or reads its
    attributes, never sees it.
    """
    try:
        data = read(dataset, index, auto_collation)
    except Exception as error:
        raise RuntimeError(f"index {index}") from error
    return collate_fn(data)


@fetch.variant(different_error)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    try:
        data = read(dataset, index, auto_collation)
    except (KeyError, IndexError) as error:
        raise IndexError(f"index {index}") from error
    return collate_fn(data)


def _item(index: Any) -> Any:
    return index.item() if hasattr(index, "item") else index


@fetch.mistake()
def collated_after_an_error(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """The dataset failed, and collate_fn was called all the same, perhaps in `finally`: it may raise for what it is given, and
    then hides why there is no batch.
    """
    data: Any = []
    try:
        data = read(dataset, index, auto_collation)
    finally:
        result = collate_fn(data)
    return result


@fetch.mistake(breaks="all with one argument")
def getitems_by_keyword(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """__getitems__ was called with a keyword argument: nobody knows how a dataset calls its one argument."""
    if auto_collation and hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(indices=index))
    return collate_fn([dataset[one] for one in index] if auto_collation else dataset[index])


@fetch.mistake(breaks="A batch of a dataset without `__getitems__`: the list of its samples")
def samples_copied(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """collate_fn was given copies of the samples: it takes the very objects that the dataset gave."""
    if not auto_collation:
        return collate_fn(copy.copy(dataset[index]))
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn([copy.copy(dataset[one]) for one in index])


@fetch.variant(samples_copied)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    return collate_fn(copy.deepcopy(read(dataset, index, auto_collation)))


@fetch.mistake(breaks="`__getitem__` once for each index")
def one_sample_read_twice(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """Without batching the sample was read twice. Perhaps once to look and once to take: keep it in a variable."""
    if not auto_collation:
        return None if dataset[index] is dataset else collate_fn(dataset[index])
    return collate_fn(read(dataset, index, auto_collation))


@fetch.mistake(breaks="`collate_fn` and `__getitems__` are called once")
def collated_twice(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    """collate_fn was called twice with the same samples, perhaps once to look at its result: it may be slow, or draw random
    numbers.
    """
    data = read(dataset, index, auto_collation)
    return None if collate_fn(data) is None else collate_fn(data)
