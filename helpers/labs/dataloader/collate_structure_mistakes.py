"""What people write for 02.collate: structures, errors, and samples that are spoilt."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from helpers.labs.dataloader.collate_mistakes import Right, form, wrong


@wrong(
    "lists_stacked",
    why="[x1, y1, x2, y2] for each sample gives four tensors of B numbers, not one of shape (B, 4): default_collate transposes "
    "lists. Return a tensor from the dataset if you want the other.",
    seen="default_collate transposes",
)
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        numbers = all(isinstance(item, (int, float)) for item in samples[0]) and isinstance(samples[0], list)
        return torch.tensor(samples) if numbers and samples[0] else self.columns(samples)


@form("lists_stacked")
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        if isinstance(samples[0], list):
            return torch.stack([torch.tensor(sample) for sample in samples])
        self.equal_sizes(samples)
        return self.columns(samples)


@form("lists_stacked")
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        if samples[0] and all(isinstance(item, (int, float)) for item in samples[0]):
            return torch.tensor(samples)
        return self.columns(samples)


@form("lists_stacked")
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        if isinstance(samples[0], list):
            return torch.as_tensor(np.array(samples))
        self.equal_sizes(samples)
        return self.columns(samples)


@form("lists_stacked")
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        if isinstance(samples[0], list) and all(isinstance(item, (int, float)) for item in samples[0]):
            return torch.tensor(samples)
        return self.columns(samples)


@form("lists_stacked")
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        if isinstance(samples[0], list):
            try:
                return torch.tensor(samples)
            except (TypeError, ValueError):
                pass
        self.equal_sizes(samples)
        return self.columns(samples)


@form("lists_stacked")
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        try:
            return torch.tensor(samples) if isinstance(samples[0], list) else self.columns(samples)
        except Exception:
            return self.columns(samples)


@wrong(
    "tuples_stay_tuples",
    why="A tuple of samples' items comes as a list for the sake of old code; only a namedtuple keeps its kind.",
    seen="for the sake of old code",
)
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        batch = super().sequences(samples)
        return tuple(batch) if isinstance(samples[0], tuple) else batch


@form("tuples_stay_tuples")
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        return type(samples[0])(self.columns(samples))


@wrong(
    "lists_become_tuples",
    why="Columns that come from a tuple(...) are a tuple, for lists, too; both lists and tuples give a list.",
    seen="Columns that come from a tuple(...)",
)
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        return tuple(super().sequences(samples))


@wrong(
    "columns_not_made",
    why="map and zip give an iterator: it can be gone through once, has no length, and cannot be sent from a worker.",
    seen="cannot be sent from a worker",
)
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        return (self(list(column)) for column in zip(*samples, strict=True))


@form("columns_not_made")
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        return map(self, map(list, zip(*samples, strict=True)))


@wrong(
    "not_transposed",
    why="Each sample was collated for itself: the batch is still a list of samples, where one column for each item is wanted.",
    seen="Each sample was collated for itself",
)
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        return [self(list(sample)) for sample in samples]


@form("not_transposed")
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        return list(samples)


@form("not_transposed")
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        return [self(sample) for sample in samples]


@wrong(
    "items_left_as_they_are",
    why="The columns of a tuple or list must be collated in their turn: a column of numbers becomes a tensor.",
    seen="a column of numbers becomes a tensor",
)
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        return [list(column) for column in zip(*samples, strict=True)]


@form("items_left_as_they_are")
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        return list(zip(*samples, strict=False))


@wrong(
    "only_one_level",
    why="The items were stacked on the spot instead of by the function itself: a dict inside a tuple, or a number, is not stacked.",
    seen="instead of by the function itself",
)
class _(Right):
    def columns(self, samples: Sequence[Any]) -> Any:
        return [self._flat(list(column)) for column in zip(*samples, strict=False)]

    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = copy.copy(samples[0])
        batch.update({key: self._flat([sample[key] for sample in samples]) for key in samples[0]})
        return batch

    def _flat(self, column: list[Any]) -> Any:
        return column if isinstance(column[0], (Mapping, list, tuple)) else self(column)


@form("only_one_level")
class _(Right):
    def columns(self, samples: Sequence[Any]) -> Any:
        return [self._flat(list(column)) for column in zip(*samples, strict=False)]

    def _flat(self, column: list[Any]) -> Any:
        return column if isinstance(column[0], (Mapping, list, tuple)) else self(column)


@form("only_one_level")
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = copy.copy(samples[0])
        batch.update({key: self._flat([sample[key] for sample in samples]) for key in samples[0]})
        return batch

    def _flat(self, column: list[Any]) -> Any:
        return column if isinstance(column[0], (Mapping, list, tuple)) else self(column)


@wrong(
    "dict_values_left_as_they_are",
    why="The values of a key were gathered in a list, but not collated.",
    seen="were gathered in a list, but not collated",
)
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = copy.copy(samples[0])
        batch.update({key: [sample[key] for sample in samples] for key in samples[0]})
        return batch


@form("dict_values_left_as_they_are")
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        return {key: [sample[key] for sample in samples] for key in samples[0]}


@wrong(
    "dicts_left_as_they_are",
    why="A list of dicts is no batch: one dict is wanted, whose values are batches.",
    seen="A list of dicts is no batch",
)
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        return list(samples)


@wrong(
    "dict_becomes_a_list",
    why="The names of the values were lost: a dict gives a dict.",
    seen="The names of the values were lost",
)
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        return [self([sample[key] for sample in samples]) for key in samples[0]]


@wrong(
    "dict_class_lost",
    why="{...} makes a plain dict of an OrderedDict, or of a class with methods of its own. Copy the first sample and update the copy.",
    seen="makes a plain dict of an OrderedDict",
)
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        return {key: self([sample[key] for sample in samples]) for key in samples[0]}


@wrong(
    "exact_dict_only",
    why="type(x) is dict is false for an OrderedDict. isinstance asks the right question.",
    seen="is false for an OrderedDict",
)
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        return super().mappings(samples) if type(samples[0]) is dict else self.others(samples)


@wrong(
    "keys_by_position",
    why="Two dicts may hold their keys in another order: values are paired by key, never by position.",
    seen="never by position",
)
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        columns = zip(*(sample.values() for sample in samples), strict=False)
        batch = copy.copy(samples[0])
        batch.update({key: self(list(column)) for key, column in zip(samples[0], columns, strict=False)})
        return batch


@form("keys_by_position")
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        columns = zip(*(sample.values() for sample in samples), strict=False)
        return type(samples[0])(zip(samples[0], map(self, map(list, columns)), strict=False))


@wrong(
    "namedtuple_lost",
    why="A namedtuple is a tuple, and the branch for tuples came first: batch.x works no more.",
    seen="batch.x works no more",
)
class _(Right):
    def named(self, samples: Sequence[Any]) -> Any:
        return self.sequences(samples)


@wrong(
    "namedtuple_becomes_a_tuple",
    why="tuple(columns) has no names: build the namedtuple's own type again.",
    seen="tuple(columns) has no names",
)
class _(Right):
    def named(self, samples: Sequence[Any]) -> Any:
        return tuple(self.columns(samples))


@wrong(
    "namedtuple_from_one_argument",
    why="A namedtuple is built from its fields, type(x)(*columns); type(x)([...]) is for lists and tuples.",
    seen="A namedtuple is built from its fields",
)
class _(Right):
    def named(self, samples: Sequence[Any]) -> Any:
        return type(samples[0])(self.columns(samples))


@form("namedtuple_from_one_argument")
class _(Right):
    def named(self, samples: Sequence[Any]) -> Any:
        return type(samples[0])(self(list(column)) for column in zip(*samples, strict=True))


@wrong(
    "exact_tuple_only",
    why="type(x) is tuple (or list) is false for a namedtuple, and no other branch takes it.",
    seen="no other branch takes it",
)
class _(Right):
    def named(self, samples: Sequence[Any]) -> Any:
        return self.others(samples)
