"""Right answers to 02.fetch, in different shapes."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any


def fetch_by_branches(dataset: Any, index: Any, auto_collation: bool, collate_fn: Callable) -> Any:
    """The plain answer."""
    if not auto_collation:
        return collate_fn(dataset[index])
    if getattr(dataset, "__getitems__", None):
        return collate_fn(dataset.__getitems__(index))
    return collate_fn([dataset[one] for one in index])


def fetch_by_a_reader(dataset: Any, index: Any, auto_collation: bool, collate_fn: Callable) -> Any:
    """Chooses how to read first, then reads."""

    def one_by_one(indices: Any) -> list:
        samples = []
        for each in indices:
            samples += [dataset[each]]
        return samples

    many = getattr(dataset, "__getitems__", one_by_one)
    read = many if auto_collation else dataset.__getitem__
    return collate_fn(read(index))


def fetch_by_map(dataset: Any, index: Any, auto_collation: bool, collate_fn: Callable) -> Any:
    """hasattr, and map in a list."""
    if auto_collation and hasattr(dataset, "__getitems__"):
        data = dataset.__getitems__(index)
    elif auto_collation:
        data = list(map(functools.partial(operator.getitem, dataset), index))
    else:
        data = dataset[index]
    return collate_fn(data)


class FetchByAClass:
    """An object that is the result of its making: __new__ returns what collate_fn gave."""

    def __new__(cls, dataset: Any, index: Any, auto_collation: bool, collate_fn: Callable) -> Any:
        how = {False: cls.one, True: cls.many}[bool(auto_collation)]
        return collate_fn(how(dataset, index))

    @staticmethod
    def one(dataset: Any, index: Any) -> Any:
        return dataset[index]

    @staticmethod
    def many(dataset: Any, index: Any) -> Any:
        try:
            at_once = dataset.__getitems__
        except AttributeError:
            return [dataset[each] for each in index]
        return at_once(list(index))


def fetch_by_cases(dataset: Any, index: Any, auto_collation: bool, collate_fn: Callable) -> Any:
    """A table of the two questions."""
    match auto_collation, getattr(dataset, "__getitems__", None):
        case False, _:
            data = dataset[index]
        case _, None:
            data = [*map(dataset.__getitem__, index)]
        case _, at_once:
            data = at_once(index)
    return collate_fn(data)


RIGHT = [fetch_by_branches, fetch_by_a_reader, fetch_by_map, FetchByAClass, fetch_by_cases]
