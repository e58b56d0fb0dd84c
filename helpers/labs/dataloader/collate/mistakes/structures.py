"""What people write for 02.collate: structures, errors, and samples that are spoilt."""

from __future__ import annotations

import copy
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from helpers.labs.dataloader.collate.mistakes.batches import Right, objects


@objects.mistake()
class ListsStacked(Right):
    """[x1, y1, x2, y2] for each sample gives four tensors of B numbers, not one of shape (B, 4):
    default_collate transposes lists. Return a tensor from the dataset if you want the other.
    """

    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        numbers = all(isinstance(item, (int, float)) for item in samples[0]) and isinstance(samples[0], list)
        return torch.tensor(samples) if numbers and samples[0] else self.columns(samples)


@objects.variant(ListsStacked)
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        if isinstance(samples[0], list):
            return torch.stack([torch.tensor(sample) for sample in samples])
        self.equal_sizes(samples)
        return self.columns(samples)


@objects.variant(ListsStacked)
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        if samples[0] and all(isinstance(item, (int, float)) for item in samples[0]):
            return torch.tensor(samples)
        return self.columns(samples)


@objects.variant(ListsStacked)
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        if all(isinstance(item, (int, float)) for item in samples[0]):
            return torch.tensor(samples)
        self.equal_sizes(samples)
        return self.columns(samples)


@objects.variant(ListsStacked)
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        if isinstance(samples[0], list):
            return torch.as_tensor(np.array(samples))
        self.equal_sizes(samples)
        return self.columns(samples)


@objects.variant(ListsStacked)
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        if isinstance(samples[0], list) and all(isinstance(item, (int, float)) for item in samples[0]):
            return torch.tensor(samples)
        return self.columns(samples)


@objects.variant(ListsStacked)
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        if isinstance(samples[0], list):
            try:
                return torch.tensor(samples)
            except (TypeError, ValueError):
                pass
        self.equal_sizes(samples)
        return self.columns(samples)


@objects.variant(ListsStacked)
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        try:
            return torch.tensor(samples) if isinstance(samples[0], list) else self.columns(samples)
        except Exception:
            return self.columns(samples)


@objects.mistake()
class TuplesStayTuples(Right):
    """Tuples give a tuple, and a list is wanted, for the sake of old code; only a namedtuple keeps its kind."""

    def sequences(self, samples: Sequence[Any]) -> Any:
        batch = super().sequences(samples)
        return tuple(batch) if isinstance(samples[0], tuple) else batch


@objects.variant(TuplesStayTuples)
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        return type(samples[0])(self.columns(samples))


@objects.mistake()
class ListsBecomeTuples(Right):
    """Lists give a tuple, as tuples do, perhaps by tuple(...): both lists and tuples give a list."""

    def sequences(self, samples: Sequence[Any]) -> Any:
        return tuple(super().sequences(samples))


@objects.mistake()
class ColumnsNotMade(Right):
    """map and zip give an iterator: it can be gone through once, has no length, and cannot be sent from a
    worker.
    """

    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        return (self(list(column)) for column in zip(*samples, strict=True))


@objects.variant(ColumnsNotMade)
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        return map(self, map(list, zip(*samples, strict=True)))


@objects.mistake()
class NotTransposed(Right):
    """The batch is still a list of samples, where one column for each item is wanted. Perhaps each sample was
    collated for itself.
    """

    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        return [self(list(sample)) for sample in samples]


@objects.variant(NotTransposed)
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        return list(samples)


@objects.variant(NotTransposed)
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        return [self(sample) for sample in samples]


@objects.mistake()
class ItemsLeftAsTheyAre(Right):
    """The columns of a tuple or list must be collated in their turn: a column of numbers becomes a tensor."""

    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        return [list(column) for column in zip(*samples, strict=True)]


@objects.variant(ItemsLeftAsTheyAre)
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        return list(zip(*samples, strict=False))


@objects.mistake()
class OnlyOneLevel(Right):
    """Something inside a structure is not collated as it would be at the top, perhaps since it was stacked on the spot instead
    of by the function itself.
    """

    def columns(self, samples: Sequence[Any]) -> Any:
        return [self._flat(list(column)) for column in zip(*samples, strict=False)]

    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = copy.copy(samples[0])
        batch.update({key: self._flat([sample[key] for sample in samples]) for key in samples[0]})
        return batch

    def _flat(self, column: list[Any]) -> Any:
        return column if isinstance(column[0], (Mapping, list, tuple)) else self(column)


@objects.variant(OnlyOneLevel)
class _(Right):
    def columns(self, samples: Sequence[Any]) -> Any:
        return [self._flat(list(column)) for column in zip(*samples, strict=False)]

    def _flat(self, column: list[Any]) -> Any:
        return column if isinstance(column[0], (Mapping, list, tuple)) else self(column)


@objects.variant(OnlyOneLevel)
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = copy.copy(samples[0])
        batch.update({key: self._flat([sample[key] for sample in samples]) for key in samples[0]})
        return batch

    def _flat(self, column: list[Any]) -> Any:
        return column if isinstance(column[0], (Mapping, list, tuple)) else self(column)


@objects.mistake()
class DictValuesLeftAsTheyAre(Right):
    """The values of a key were gathered in a list, but not collated."""

    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = copy.copy(samples[0])
        batch.update({key: [sample[key] for sample in samples] for key in samples[0]})
        return batch


@objects.variant(DictValuesLeftAsTheyAre)
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        return {key: [sample[key] for sample in samples] for key in samples[0]}


@objects.mistake()
class DictsLeftAsTheyAre(Right):
    """A list of dicts is no batch: one dict is wanted, whose values are batches."""

    def mappings(self, samples: Sequence[Any]) -> Any:
        return list(samples)


@objects.mistake()
class DictBecomesAList(Right):
    """The names of the values were lost: a dict gives a dict."""

    def mappings(self, samples: Sequence[Any]) -> Any:
        return [self([sample[key] for sample in samples]) for key in samples[0]]


@objects.mistake()
class DictClassLost(Right):
    """A dict of a different class came back as a plain dict, perhaps by {...}: its methods, its order or its
    factory is lost. Copy the first sample and update the copy.
    """

    def mappings(self, samples: Sequence[Any]) -> Any:
        return {key: self([sample[key] for sample in samples]) for key in samples[0]}


@objects.mistake()
class ExactDictOnly(Right):
    """Dicts of a different class raise, perhaps since type(x) is dict is false for them. isinstance asks the
    right question.
    """

    def mappings(self, samples: Sequence[Any]) -> Any:
        return super().mappings(samples) if type(samples[0]) is dict else self.others(samples)


@objects.mistake()
class KeysByPosition(Right):
    """Values of two keys stand in one column, perhaps paired by position. Dicts may hold their keys in a
    different order: values are paired by key.
    """

    def mappings(self, samples: Sequence[Any]) -> Any:
        columns = zip(*(sample.values() for sample in samples), strict=False)
        batch = copy.copy(samples[0])
        batch.update({key: self(list(column)) for key, column in zip(samples[0], columns, strict=False)})
        return batch


@objects.variant(KeysByPosition)
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        columns = zip(*(sample.values() for sample in samples), strict=False)
        return type(samples[0])(zip(samples[0], map(self, map(list, columns)), strict=False))


@objects.mistake()
class NamedtupleLost(Right):
    """A namedtuple came back as a list: batch.x works no more. Perhaps the branch for tuples came first,
    since a namedtuple is a tuple, too.
    """

    def named(self, samples: Sequence[Any]) -> Any:
        return self.sequences(samples)


@objects.mistake()
class NamedtupleBecomesATuple(Right):
    """A namedtuple came back as a tuple, which has no names: build the namedtuple's own type again."""

    def named(self, samples: Sequence[Any]) -> Any:
        return tuple(self.columns(samples))


@objects.mistake()
class NamedtupleRefused(Right):
    """A namedtuple raises. Perhaps type(x)([...]) was called, which is for lists and tuples: a namedtuple is built from its
    fields, type(x)(*columns). Or no branch took it, since type(x) is tuple is false.
    """

    def named(self, samples: Sequence[Any]) -> Any:
        return type(samples[0])(self.columns(samples))


@objects.mistake()
class OrderedDictMade(Right):
    """A plain dict came back as an OrderedDict or a defaultdict: the batch has the class of the first sample."""

    def mappings(self, samples: Sequence[Any]) -> Any:
        return OrderedDict((key, self([sample[key] for sample in samples])) for key in samples[0])


@objects.variant(OrderedDictMade)
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = defaultdict(list)
        for key in samples[0]:
            batch[key] = self([sample[key] for sample in samples])
        return batch


@objects.mistake()
class KeysMustBeText(Right):
    """A key that is no str raises, perhaps in cls(**columns): a key may be anything that can be hashed, such as 0."""

    def mappings(self, samples: Sequence[Any]) -> Any:
        return type(samples[0])(**{key: self([sample[key] for sample in samples]) for key in samples[0]})


@objects.mistake()
class KeysBecomeText(Right):
    """The key 0 came as "0": the batch has the keys of the samples, as they are."""

    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = copy.copy(samples[0])
        batch.clear()
        batch.update({str(key): self([sample[key] for sample in samples]) for key in samples[0]})
        return batch


@objects.variant(KeysBecomeText)
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        return type(samples[0])(**{str(key): self([sample[key] for sample in samples]) for key in samples[0]})


@objects.variant(KeysBecomeText)
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = copy.copy(samples[0])
        batch.update({str(key): self([sample[key] for sample in samples]) for key in samples[0]})
        return batch


@objects.mistake()
class ValuesOfTheFirstKept(Right):
    """Under some keys the batch holds the value of the first sample alone, perhaps since a copy of it was updated under the
    other keys only.
    """

    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = copy.copy(samples[0])
        batch.update({key: self([sample[key] for sample in samples]) for key in samples[0] if key})
        return batch


@objects.variant(ValuesOfTheFirstKept)
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = copy.copy(samples[0])
        for key, value in samples[0].items():
            if isinstance(value, torch.Tensor):
                batch[key] = self([sample[key] for sample in samples])
        return batch


@objects.mistake()
class KeysLeftOut(Right):
    """The batch lacks keys that all samples have, perhaps by the truth of the key (0 and "" are false) or by the kind of the value."""

    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = copy.copy(samples[0])
        batch.clear()
        batch.update({key: self([sample[key] for sample in samples]) for key in samples[0] if key})
        return batch


@objects.variant(KeysLeftOut)
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        return {
            key: self([sample[key] for sample in samples])
            for key, value in samples[0].items()
            if isinstance(value, torch.Tensor)
        }


@objects.variant(KeysLeftOut)
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        return {
            key: self([sample[key] for sample in samples])
            for key, value in samples[0].items()
            if not isinstance(value, str)
        }


@objects.mistake()
class OnlyTensorsOfDictsCollated(Right):
    """In a dict only tensors are stacked: the other values were gathered in a list, but not collated."""

    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = copy.copy(samples[0])
        columns = {key: [sample[key] for sample in samples] for key in samples[0]}
        batch.update({key: self._stacked(column) for key, column in columns.items()})
        return batch

    def _stacked(self, column: list[Any]) -> Any:
        return torch.stack(column) if isinstance(column[0], torch.Tensor) else column


@objects.mistake()
class OnlyTensorsOfTuplesCollated(Right):
    """In a tuple or list only tensors are stacked: the other columns are lists, and a column of numbers becomes a tensor."""

    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        return [
            torch.stack(column) if isinstance(column[0], torch.Tensor) else list(column)
            for column in zip(*samples, strict=True)
        ]


@objects.mistake()
class ColumnsByTorchTensor(Right):
    """A column of floats in a tuple or list is float32, perhaps since torch.tensor was called there: the function itself makes
    float64 of it, there as everywhere.
    """

    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        return [
            torch.tensor(column) if isinstance(column[0], (int, float)) else self(list(column))
            for column in zip(*samples, strict=True)
        ]


@objects.mistake()
class ListsRefused(Right):
    """Lists raise, perhaps since only tuples were asked for: both are taken apart."""

    def sequences(self, samples: Sequence[Any]) -> Any:
        return super().sequences(samples) if isinstance(samples[0], tuple) else self.others(samples)


@objects.mistake()
class TuplesRefused(Right):
    """Tuples raise, perhaps since only lists were asked for: both are taken apart."""

    def sequences(self, samples: Sequence[Any]) -> Any:
        return super().sequences(samples) if isinstance(samples[0], list) else self.others(samples)


@objects.mistake()
class EmptyStructuresRefused(Right):
    """Lists or tuples without items raise, perhaps at [0]: they give an empty list."""

    def sequences(self, samples: Sequence[Any]) -> Any:
        samples[0][0]
        return super().sequences(samples)


@objects.mistake()
class EmptyStructuresStayAsTheyAre(Right):
    """Lists or tuples without items do not give an empty list: there is no item, so there is no column."""

    def sequences(self, samples: Sequence[Any]) -> Any:
        return super().sequences(samples) if samples[0] else list(samples)


@objects.mistake()
class NamedtupleBecomesADict(Right):
    """A namedtuple came back as a dict: batch.x works no more."""

    def named(self, samples: Sequence[Any]) -> Any:
        return {name: self([getattr(sample, name) for sample in samples]) for name in samples[0]._fields}


@objects.mistake()
class NamedtupleOfADifferentClass(Right):
    """The batch is a namedtuple of a new class: isinstance(batch, Point) is false. type(first) is the class."""

    def named(self, samples: Sequence[Any]) -> Any:
        kind = namedtuple(type(samples[0]).__name__, samples[0]._fields)
        return kind(*self.columns(samples))


@objects.mistake()
class NamedtupleFieldsLeftAsTheyAre(Right):
    """The values of a namedtuple's field were gathered, but not collated."""

    def named(self, samples: Sequence[Any]) -> Any:
        return type(samples[0])(*map(list, zip(*samples, strict=True)))


@objects.variant(NamedtupleFieldsLeftAsTheyAre)
class _(Right):
    def named(self, samples: Sequence[Any]) -> Any:
        return type(samples[0])(*zip(*samples, strict=True))


@objects.variant(DictClassLost)
class _(Right):
    def mappings(self, samples: Sequence[Any]) -> Any:
        columns = {key: self([sample[key] for sample in samples]) for key in samples[0]}
        try:
            return type(samples[0])(columns)
        except TypeError:
            return columns


@objects.mistake()
class FactoryLost(Right):
    """A defaultdict lost its default_factory, perhaps since it was made anew. copy.copy keeps it."""

    def mappings(self, samples: Sequence[Any]) -> Any:
        columns = {key: self([sample[key] for sample in samples]) for key in samples[0]}
        return (
            defaultdict(None, columns) if isinstance(samples[0], defaultdict) else type(samples[0])(columns)
        )


@objects.variant(ColumnsByTorchTensor)
class _(Right):
    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        return [
            torch.stack([torch.as_tensor(item) for item in column]) for column in zip(*samples, strict=True)
        ]


@objects.mistake()
class DictValuesByTorchTensor(Right):
    """A value of a dict that is text raises, perhaps since torch.tensor was called for all that is no tensor: the function itself knows what to do."""

    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = copy.copy(samples[0])
        columns = {key: [sample[key] for sample in samples] for key in samples[0]}
        batch.update({key: self._tensor(column) for key, column in columns.items()})
        return batch

    def _tensor(self, column: list[Any]) -> Any:
        return torch.stack(column) if isinstance(column[0], torch.Tensor) else torch.tensor(column)


@objects.mistake()
class SequencesFlattened(Right):
    """The items of all samples were laid in one row: the first items belong together, and the second ones."""

    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        return self([item for sample in samples for item in sample])


@objects.mistake()
class SequenceBecomesADict(Right):
    """A tuple or list gives a dict with numbers for keys: a list is wanted, one column after the other."""

    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        return dict(enumerate(self.columns(samples)))


@objects.mistake()
class OneColumnUnwrapped(Right):
    """Samples with one item give the column itself, and no list that holds it: the structure then depends on how many items there are."""

    def sequences(self, samples: Sequence[Any]) -> Any:
        self.equal_sizes(samples)
        columns = self.columns(samples)
        return columns[0] if len(columns) == 1 else columns


@objects.mistake()
class DictBecomesPairs(Right):
    """A dict gives a list of pairs: a dict is wanted."""

    def mappings(self, samples: Sequence[Any]) -> Any:
        return [(key, self([sample[key] for sample in samples])) for key in samples[0]]
