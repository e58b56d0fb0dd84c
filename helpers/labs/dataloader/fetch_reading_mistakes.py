"""What people write for 02.fetch: the dataset is asked in a wrong way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from helpers.labs.dataloader.fetch import fetch
from helpers.labs.dataloader.fetch_mistakes import Collate, read_batch


@fetch.wrong_answer(
    "getitems_for_one",
    why="__getitems__ is for batches. A single index is read by dataset[index], which may well do something else.",
    seen="__getitems__ is for batches",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn([dataset[one] for one in index] if auto_collation else dataset[index])


@fetch.another_form("getitems_for_one")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if auto_collation:
        return collate_fn(read_batch(dataset, index))
    return collate_fn(read_batch(dataset, [index])[0])


@fetch.another_form("getitems_for_one")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index if auto_collation else [index]))
    return collate_fn([dataset[one] for one in index] if auto_collation else dataset[index])


@fetch.wrong_answer(
    "getitems_ignored",
    why="The dataset can read a batch in one call (one query, one read of a file), and was asked for each sample on its own.",
    seen="one query, one read of a file",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    return collate_fn([dataset[one] for one in index] if auto_collation else dataset[index])


@fetch.wrong_answer(
    "getitems_for_each_sample",
    why="__getitems__ takes the whole batch of indices. Called once a sample it saves nothing.",
    seen="Called once a sample it saves nothing",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if auto_collation and hasattr(dataset, "__getitems__"):
        return collate_fn([dataset.__getitems__([one])[0] for one in index])
    return collate_fn([dataset[one] for one in index] if auto_collation else dataset[index])


@fetch.wrong_answer(
    "getitems_of_the_class",
    why="__getitems__ was looked up on the class. It is no method of Python's own, and a wrapper that hands attributes on by "
    "__getattr__ has it on the object only.",
    seen="was looked up on the class",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(type(dataset), "__getitems__"):
        return collate_fn(type(dataset).__getitems__(dataset, index))
    return collate_fn([dataset[one] for one in index])


@fetch.another_form("getitems_of_the_class")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    if "__getitems__" in dir(dataset):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn([dataset[one] for one in index])


@fetch.another_form("getitems_of_the_class")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    return collate_fn(type(dataset).__getitems__(dataset, index))


@fetch.another_form("getitems_of_the_class")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if auto_collation and hasattr(dataset, "__getitems__"):
        return collate_fn(type(dataset).__getitems__(dataset, index))
    return collate_fn([dataset[one] for one in index] if auto_collation else dataset[index])


@fetch.wrong_answer(
    "type_of_index_decides",
    why="A list can be one index: with batch_size=None a sampler may give lists to a dataset that reads many rows at once. "
    "Only auto_collation says what is meant.",
    seen="A list can be one index",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if isinstance(index, list):
        return collate_fn(read_batch(dataset, index))
    return collate_fn(dataset[index])


@fetch.another_form("type_of_index_decides")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if isinstance(index, (list, tuple)):
        return collate_fn(read_batch(dataset, index))
    return collate_fn(dataset[index])


@fetch.another_form("type_of_index_decides")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if isinstance(index, int):
        return collate_fn(dataset[index])
    return collate_fn(read_batch(dataset, index))


@fetch.another_form("type_of_index_decides")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if isinstance(index, Iterable):
        return collate_fn(read_batch(dataset, index))
    return collate_fn(dataset[index])


@fetch.another_form("type_of_index_decides")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if isinstance(index, Sequence) and not isinstance(index, (str, bytes)):
        return collate_fn(read_batch(dataset, index))
    return collate_fn(dataset[index])


@fetch.another_form("type_of_index_decides")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if auto_collation or isinstance(index, list):
        return collate_fn(read_batch(dataset, index))
    return collate_fn(dataset[index])


@fetch.another_form("type_of_index_decides")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if auto_collation and isinstance(index, list):
        return collate_fn(read_batch(dataset, index))
    return collate_fn(dataset[index])


@fetch.wrong_answer(
    "auto_collation_upside_down",
    why="auto_collation is taken the other way round: True means that index is a batch of indices.",
    seen="True means that index is a batch",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    return collate_fn(dataset[index] if auto_collation else read_batch(dataset, index))


@fetch.wrong_answer(
    "list_handed_to_getitem",
    why="dataset[[3, 1]] works for a tensor or an array; a dataset's __getitem__ takes one index.",
    seen="works for a tensor or an array",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if auto_collation and hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn(dataset[index])


@fetch.another_form("list_handed_to_getitem")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    return collate_fn(dataset[index])


@fetch.wrong_answer(
    "repeated_index_read_once",
    why="A sampler with replacement gives an index twice in a batch, and augmentation makes two samples of it; a set or dict "
    "keeps one.",
    seen="A sampler with replacement",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn([dataset[one] for one in dict.fromkeys(index)])


@fetch.another_form("repeated_index_read_once")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    samples = {one: dataset[one] for one in dict.fromkeys(index)}
    return collate_fn([samples[one] for one in index])


@fetch.wrong_answer(
    "read_in_another_order",
    why="The indices were sorted: the samples no longer stand where the sampler put them.",
    seen="The indices were sorted",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    return collate_fn(read_batch(dataset, sorted(index)) if auto_collation else dataset[index])


@fetch.another_form("read_in_another_order")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn([dataset[one] for one in sorted(index)])


@fetch.wrong_answer(
    "read_twice",
    why="The sample is read once to look at it and once more to take it: twice the work, and the augmentation of the second "
    "reading is another one.",
    seen="once to look at it",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    if hasattr(dataset, "__getitems__"):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn([dataset[one] for one in index if dataset[one] is not None])


@fetch.wrong_answer(
    "missing_method_by_except",
    why="`except AttributeError` around the call also catches a fault inside the dataset's own __getitems__, hides it, and reads "
    "everything again one by one. Ask with hasattr.",
    seen="a fault inside the dataset's own __getitems__",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    try:
        samples = dataset.__getitems__(index)
    except AttributeError:
        samples = [dataset[one] for one in index]
    return collate_fn(samples)


@fetch.another_form("missing_method_by_except")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    try:
        samples = dataset.__getitems__(index)
    except (AttributeError, TypeError, NotImplementedError):
        samples = [dataset[one] for one in index]
    return collate_fn(samples)


@fetch.another_form("missing_method_by_except")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    try:
        samples = dataset.__getitems__(index)
    except Exception:
        samples = [dataset[one] for one in index]
    return collate_fn(samples)


@fetch.wrong_answer(
    "index_zero_is_nothing",
    why="`if not index` is true for index 0 and for the key '': the first sample can never be read alone.",
    seen="can never be read alone",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not index:
        return collate_fn([])
    return collate_fn(read_batch(dataset, index) if auto_collation else dataset[index])


@fetch.another_form("index_zero_is_nothing")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not index and not auto_collation:
        return None
    return collate_fn(read_batch(dataset, index) if auto_collation else dataset[index])


@fetch.wrong_answer(
    "indices_made_ints",
    why="int(index) refuses keys such as 'cat'. An index is whatever the sampler gives and the dataset takes.",
    seen="int(index) refuses keys",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[int(index)])
    return collate_fn(read_batch(dataset, [int(one) for one in index]))


@fetch.another_form("indices_made_ints")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    if not auto_collation:
        return collate_fn(dataset[index])
    return collate_fn(read_batch(dataset, [int(one) for one in index]))


@fetch.wrong_answer(
    "length_needed",
    why="len(dataset) is not needed to read from it: a dataset without a length works in a DataLoader that is given a sampler.",
    seen="is not needed to read from it",
)
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    for one in index if auto_collation else [index]:
        if not 0 <= one < len(dataset):
            raise IndexError(one)
    return collate_fn(read_batch(dataset, index) if auto_collation else dataset[index])


@fetch.another_form("length_needed")
def _(dataset: Any, index: Any, auto_collation: bool, collate_fn: Collate) -> Any:
    samples = [dataset[one] for one in range(len(dataset))]
    return collate_fn([samples[one] for one in index] if auto_collation else samples[index])
