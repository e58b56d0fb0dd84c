"""Exercise 02.fetch: who reads the samples of a batch, how often, and what collate_fn is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils.data import default_collate, default_convert
from torch.utils.data._utils.fetch import _MapDatasetFetcher

from helpers.check.calls import calls_to
from helpers.check.compare import shown
from helpers.check.trial import Trial, plain
from helpers.exercise import Exercise

fetch = Exercise(
    "02.fetch",
    "From indices to a batch",
    objective="Read one sample or one batch from a map-style dataset, and pass it through collate_fn as torch does.",
    minutes=15,
    difficulty="easy",
    hints=[
        "There are three ways to read: one sample, a batch in one call, a batch sample by sample. Which two questions "
        "decide between them? Neither is about the type of `index`.",
        "collate_fn is called on all three ways, exactly once: DataLoader(batch_size=None) uses it to turn arrays into "
        "tensors. A dataset that can read many samples at once says so by an attribute __getitems__.",
        "Not auto_collation: collate_fn(dataset[index]). Otherwise, if hasattr(dataset, '__getitems__'): "
        "collate_fn(dataset.__getitems__(index)). Otherwise a list of dataset[one] for each one in index, in collate_fn.",
    ],
)


class Log:
    """A dataset without a length that notes what is asked of it. samples: a dict or a list."""

    def __init__(self, samples: Any) -> None:
        self.samples = samples
        self.asked: list[tuple[str, Any]] = []

    def __getitem__(self, index: Any) -> Any:
        self.asked.append(("one", index))
        return self.samples[tuple(index) if type(index) is list else index]


class ManyAtOnce(Log):
    """One that reads a whole batch in one call, and gives `bulk` then."""

    bulk: Any = None

    def __getitems__(self, indices: Any, /) -> Any:
        self.asked.append(("many", indices))
        return self.bulk


class Wrapped:
    """Hands all that it lacks on to another dataset, as wrappers do: its class knows no __getitems__."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def __getitem__(self, index: Any) -> Any:
        return self._dataset[index]

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_dataset"), name)


class Other:
    """What a collate_fn should not be given, or a sample; known by its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


THE_BATCH = Other("the batch")


ARGUMENTS = ("keyword", "positional argument")  # what Python says of a call with the wrong ones


class Collate:
    """A collate_fn that notes what it is given, and returns `result`."""

    def __init__(self, result: Any = THE_BATCH) -> None:
        self.given: list[Any] = []
        self.result = result

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        data = args[0] if len(args) == 1 and not kwargs else Other(f"{len(args) + len(kwargs)} arguments")
        if hasattr(type(data), "__next__"):
            read = list(data)
            data = Other(f"a {type(data).__name__} of {len(read)} samples")
        self.given.append(data)
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


def some_samples(count: int) -> list[Any]:
    return [Other(f"sample_{index}") for index in range(count)]


def fetched(
    trial: Trial,
    answer: Callable[..., Any],
    log: Log,
    index: Any,
    auto: bool,
    asked: list[tuple[str, Any]],
    wanted: Any,
    dataset: Any = None,
    result: Any = THE_BATCH,
    odd: str = "",
) -> None:
    """Wrong unless fetch asks the dataset for `asked`, calls collate_fn once with `wanted`, and returns what it returns.

    result: what collate_fn returns. odd: what is unusual here; an error is then told as an answer that does not take it.
    """
    collate_fn = Collate(result)
    before, inside = _copied(index), _copied(wanted)
    asked = [(way, _copied(what)) for way, what in asked]
    try:
        got = answer(log if dataset is None else dataset, index, auto, collate_fn)
    except Exception as error:
        if not odd or isinstance(error, NotImplementedError):
            raise
        trial.fail(
            f"The answer raised {type(error).__name__} for {odd}: {shown(str(error), 120)}.",
            expected=f"{_described(asked) or 'nothing read'}; then collate_fn({shown(inside, 90)})",
            got=type(error).__name__,
            observed=("raised for", odd, next((word for word in ARGUMENTS if word in str(error)), "")),
        )
    unchanged(trial, "`index`", index, before)
    given = collate_fn.given
    calls = [f"collate_fn({shown(each, 90)})" for each in given]
    came = "; ".join(filter(None, (_described(log.asked), ", ".join(calls))))
    expected = f"{_described(asked) or 'nothing read'}; then collate_fn({shown(inside, 90)}), and its result returned"
    returned = got is result
    seen = (
        kind_of_reads(log.asked, asked),
        [_kind_of_given(each, wanted) for each in given],
        "result" if returned else "what was read" if _fits(got, wanted) else _unlike(got, result),
    )
    for wrong, message in (
        (not given, "collate_fn was not called."),
        (len(given) > 1, f"collate_fn was called {len(given)} times for one fetch."),
        (
            given and _kind_of_given(given[0], wanted) == "copies",
            "collate_fn was given copies, not the objects that the dataset gave.",
        ),
        (
            given and not _fits(given[0], wanted),
            f"collate_fn was given {shown(given[:1], 60)[1:-1]}, in place of {shown([inside], 60)[1:-1]}.",
        ),
        (
            kind_of_reads(log.asked, asked) != "as asked",
            f"The dataset was asked for {_described(log.asked) or 'nothing'}, in place of {_described(asked) or 'nothing'}.",
        ),
        (
            not returned,
            f"collate_fn returned {shown(result, 60)}, and the answer returned a different object: {shown(got, 60)}.",
        ),
    ):
        trial.true(
            not wrong,
            message,
            expected=expected,
            got=Other(came or "nothing read, collate_fn not called"),
            observed=seen,
        )
    unchanged(trial, "what the dataset gave", wanted, inside)


def unchanged(trial: Trial, what: str, now: Any, before: Any) -> None:
    """Wrong if the answer edited this list."""
    trial.true(
        _copied(now) == before,
        f"The answer changed {what}.",
        expected=f"{what}, left as it is: {shown(before, 90)}",
        got=now,
        observed=("changed", what),
    )


def _unlike(got: Any, result: Any) -> str:
    if got is None:
        return "None"
    return "a copy of the result" if type(got) is type(result) else "something else"


def _copied(value: Any) -> Any:
    return list(value) if type(value) is list else value


def kind_of_reads(came: list[tuple[str, Any]], wanted: list[tuple[str, Any]]) -> Any:
    """In words, how the dataset was asked."""
    if len(came) == len(wanted) and all(map(_same_read, came, wanted)):
        return "as asked"
    many = [_described([read]) for read in came if read[0] == "many"]
    one = [_described([read]) for read in came if read[0] == "one"]
    right = _described(wanted).split(", dataset[") if wanted and wanted[0][0] == "one" else []
    right = right[:1] + [f"dataset[{read}" for read in right[1:]]
    if not many and wanted and wanted[0][0] == "one" and len(wanted) > 1:
        if sorted(one) == sorted(right):
            return "in a different order"
        if one == list(dict.fromkeys(right)):
            return "each index once"
        if set(one) < set(right):
            return "not all"
        if set(one) == set(right) and len(one) == 2 * len(right):
            return "twice"
    return _described(came)


def _same_read(came: tuple[str, Any], wanted: tuple[str, Any]) -> bool:
    """Of one index the object itself; a batch may come in a new list."""
    if came[0] == "many":
        return came[0] == wanted[0] and type(came[1]) is list and _fits(came[1], wanted[1])
    alike = came[1] is wanted[1] or (type(came[1]) in (list, tuple) and came[1] == wanted[1])
    return came[0] == wanted[0] and alike


def _kind_of_given(given: Any, wanted: Any) -> Any:
    """In words, what collate_fn was given."""
    if _fits(given, wanted):
        return "as wanted"
    if type(given) is type(wanted) and repr(given) == repr(wanted):
        return "copies"
    if type(given) is type(wanted) is list and len(given) == len(wanted):
        if all(any(a is b for b in given) for a in wanted):
            return "in a different order"
    return shown(given, 90)


def _fits(given: Any, wanted: Any) -> bool:
    """The object itself; a list may be a new one of the same samples."""
    if given is wanted:
        return True
    same_kind = type(given) is type(wanted) is list and len(given) == len(wanted)
    return same_kind and all(a is b for a, b in zip(given, wanted, strict=True))


def _described(asked: list[tuple[str, Any]]) -> str:
    return ", ".join(
        f"dataset[{shown(index, 60)}]" if way == "one" else f"dataset.__getitems__({shown(index, 60)})"
        for way, index in asked
    )


def _named(value: Any) -> Any:
    """Plain data for what an answer returned."""
    if isinstance(value, Other):
        return value.name
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [_named(item) for item in value])
    return plain(value)


@fetch.property(
    "a batch: its samples, read in the order of `index`, go to collate_fn as one list",
    asks=(
        "A batch of a dataset without `__getitems__`: the list of its samples, read in the order of `index`.",
        "`collate_fn` and `__getitems__` are called once, `__getitem__` once for each index, all with one argument; what `collate_fn` returns is returned as it is.",
        "`index` is left as it is.",
    ),
)
def _(answer: Callable[..., Any], trial: Trial) -> None:
    values = some_samples(9)
    values[3] = None
    several = trial.random.sample([0, 1, 2, 4, 5, 6, 7, 8], 3) + [3]
    trial.random.shuffle(several)
    while several in (sorted(several), sorted(several, reverse=True)):
        trial.random.shuffle(several)
    high, low = sorted(several[:2], reverse=True)
    for index in (several, [high, low, high, high]):
        trial.given(
            f"a dataset without __getitems__ whose sample 3 is None; index = {index}, auto_collation = True"
        )
        log, asked_index = Log(values), list(index)
        wanted = [values[one] for one in index]
        fetched(trial, answer, log, index, True, [("one", one) for one in asked_index], wanted)


@fetch.property(
    "a batch of one sample, or of none, is a list, too",
    asks="A batch of a dataset without `__getitems__`: the list of its samples, read in the order of `index`.",
    once_right=True,
)
def _(answer: Callable[..., Any], trial: Trial) -> None:
    values = some_samples(9)
    for index in ([trial.random.randrange(1, 9)], [0], []):
        trial.given(f"a dataset without __getitems__; index = {index}, auto_collation = True")
        fetched(
            trial,
            answer,
            Log(values),
            list(index),
            True,
            [("one", one) for one in index],
            [values[one] for one in index],
            odd="" if index else "an empty batch",
        )


@fetch.property(
    "no batching: dataset[index] goes to collate_fn, too",
    asks=(
        "What a map-style dataset gives for one index, or for one batch of them, through `collate_fn`.",
        "One index: `collate_fn` is given the sample dataset[index]",
    ),
)
def _(answer: Callable[..., Any], trial: Trial) -> None:
    values = some_samples(9)
    values[4] = None
    for index in (0, trial.random.randrange(5, 9), 4):
        trial.given(
            f"a dataset without __getitems__ whose sample 4 is None; index = {index}, auto_collation = False"
        )
        fetched(trial, answer, Log(values), index, False, [("one", index)], values[index])


@fetch.property(
    "auto_collation decides, not the type of index",
    asks="`auto_collation` alone says whether `index` is a batch: the type of `index` does not tell.",
    once_right=True,
)
def _(answer: Callable[..., Any], trial: Trial) -> None:
    one, other = trial.random.sample(range(100), 2)
    samples = {name: Other(f"sample_{name}") for name in ("cat", "", one, other)}
    samples[one, other] = Other(f"samples {one} and {other} at once")
    whole = samples[one, other]
    for index in ("cat", ""):
        trial.given(f"a dataset with keys; index = {index!r}, auto_collation = False")
        fetched(trial, answer, Log(samples), index, False, [("one", index)], samples[index])
    trial.given(f"a dataset that takes a list; index = {[one, other]}, auto_collation = False")
    fetched(trial, answer, Log(samples), [one, other], False, [("one", [one, other])], whole)
    trial.given(f"a dataset that takes a tuple; index = {one, other}, auto_collation = False")
    fetched(trial, answer, Log(samples), (one, other), False, [("one", (one, other))], whole)
    keys = ["cat", other, ""]
    trial.given(f"a dataset with keys; index = {keys!r}, auto_collation = True")
    asked = [("one", key) for key in keys]
    fetched(trial, answer, Log(samples), keys, True, asked, [samples[key] for key in keys])


@fetch.property(
    "__getitems__ reads a batch in one call; what it gives goes to collate_fn as it is",
    asks=(
        "A batch: `collate_fn` is given what `dataset.__getitems__(index)` gives, as it is.",
        "`collate_fn` and `__getitems__` are called once, `__getitem__` once for each index, all with one argument; what `collate_fn` returns is returned as it is.",
    ),
    once_right=True,
)
def _(answer: Callable[..., Any], trial: Trial) -> None:
    values = some_samples(9)
    index = trial.random.sample(range(9), 4)
    for count in (4, 1, 0):
        reads, bulk = index[:count], [values[one] for one in sorted(index[:count], reverse=True)]
        for kind, gives in (("a list", bulk), ("a dict", {"x": torch.zeros(2)}), ("a tuple", tuple(bulk))):
            odd = f"a dataset whose __getitems__ gives {kind}"
            own = ", in an order of its own" if count > 1 and kind != "a dict" else ""
            trial.given(f"{odd}{own}; index = {reads}, auto_collation = True")
            log = ManyAtOnce(values)
            log.bulk = gives
            fetched(trial, answer, log, reads, True, [("many", reads)], gives, odd=odd)


@fetch.property(
    "what __getitems__ gives may be empty, or None",
    asks="A batch: `collate_fn` is given what `dataset.__getitems__(index)` gives, as it is.",
    once_right=True,
)
def _(answer: Callable[..., Any], trial: Trial) -> None:
    values = some_samples(9)
    index = trial.random.sample(range(9), 3)
    for bulk in ([], None, {}, 0, values[:2]):
        trial.given(f"a dataset whose __getitems__ gives {bulk}; index = {index}, auto_collation = True")
        log = ManyAtOnce(values)
        log.bulk = bulk
        odd = "__getitems__ that gives something else than one sample for each index"
        fetched(trial, answer, log, index, True, [("many", index)], bulk, odd=odd)


@fetch.property(
    "__getitems__ is not called for a single index",
    asks="`collate_fn` is given the sample dataset[index]; `__getitems__` is not called.",
    once_right=True,
)
def _(answer: Callable[..., Any], trial: Trial) -> None:
    values = some_samples(9)
    for index in (0, trial.random.randrange(1, 9)):
        trial.given(f"a dataset with __getitems__; index = {index}, auto_collation = False")
        log = ManyAtOnce(values)
        log.bulk = [values[index]]
        fetched(trial, answer, log, index, False, [("one", index)], values[index])


@fetch.property(
    "__getitems__ is looked up on the object: a wrapper hands it on",
    asks="A batch: `collate_fn` is given what `dataset.__getitems__(index)` gives, as it is.",
    once_right=True,
)
def _(answer: Callable[..., Any], trial: Trial) -> None:
    values = some_samples(9)
    index = trial.random.sample(range(9), 3)
    trial.given(
        f"a wrapper that hands on the __getitems__ of another dataset; index = {index}, auto_collation = True"
    )
    log = ManyAtOnce(values)
    log.bulk = [values[one] for one in index]
    fetched(trial, answer, log, index, True, [("many", index)], log.bulk, dataset=Wrapped(log))


@fetch.property(
    "what collate_fn returns is returned, whatever it is",
    asks="`collate_fn` and `__getitems__` are called once, `__getitem__` once for each index, all with one argument; what `collate_fn` returns is returned as it is.",
    once_right=True,
)
def _(answer: Callable[..., Any], trial: Trial) -> None:
    values = some_samples(9)
    index = trial.random.sample(range(9), 3)
    samples = [values[one] for one in index]
    for result in (None, [], 0, "", samples[:1], {"x": samples}, (one for one in samples)):
        trial.given(f"a collate_fn that returns {shown(result, 60)}; index = {index}, auto_collation = True")
        reads = [("one", one) for one in index]
        fetched(trial, answer, Log(values), index, True, reads, samples, result=result)
        trial.given(
            f"a collate_fn that returns {shown(result, 60)}; index = {index[0]}, auto_collation = False"
        )
        fetched(trial, answer, Log(values), index[0], False, reads[:1], samples[0], result=result)


@fetch.property(
    "the dataset is given each index as it is",
    asks="A batch of a dataset without `__getitems__`: the list of its samples, read in the order of `index`.",
    once_right=True,
)
def _(answer: Callable[..., Any], trial: Trial) -> None:
    numbers = [np.int64(number) for number in trial.random.sample(range(1000, 9000), 2)]
    keys = [*numbers, ("a", 1), 2**70, True, ""]
    log = Log({key: Other(f"sample_{key!r}") for key in keys})
    trial.given(f"a dataset with keys of many kinds; index = {keys}, auto_collation = True")
    fetched(
        trial,
        answer,
        log,
        keys,
        True,
        [("one", key) for key in keys],
        [log.samples[key] for key in keys],
        odd="keys",
    )
    for key in keys:
        log.asked.clear()
        trial.given(f"a dataset with keys of many kinds; index = {key!r}, auto_collation = False")
        fetched(trial, answer, log, key, False, [("one", key)], log.samples[key], odd="a key")


class Lost(Exception):
    """What a dataset raises for a sample that it has lost."""


class FaultInside(AttributeError):
    """An AttributeError from inside a dataset's own code."""


@fetch.property(
    "an error of the dataset or of collate_fn comes through",
    asks="Errors of the dataset and of `collate_fn` come through; nothing is tried again.",
    once_right=True,
)
def _(answer: Callable[..., Any], trial: Trial) -> None:
    for error in (Lost, KeyError, IndexError, TypeError, ValueError, RuntimeError, OSError):
        for auto, index, where in ((True, [1, 0, 2], "a batch"), (False, 0, "one sample")):
            trial.given(
                f"a dataset that raises {error.__name__} for sample 0; index = {index}, auto_collation = {auto}"
            )
            _comes_through(trial, answer, _Failing(error), index, auto, where)
    for error in (FaultInside, Lost, TypeError, RuntimeError):
        trial.given(
            f"a dataset whose __getitems__ raises {error.__name__}; index = [1, 2], auto_collation = True"
        )
        _comes_through(trial, answer, _FailingMany(error), [1, 2], True, "__getitems__")
    for error in (Lost, TypeError, RuntimeError):
        for auto, index in ((True, [1, 2]), (False, 2)):
            trial.given(
                f"a collate_fn that raises {error.__name__}; index = {index}, auto_collation = {auto}"
            )
            _comes_through(
                trial, answer, _Failing(Lost), index, auto, "collate_fn", Collate(error("no batch"))
            )


class _Failing(Log):
    """Raises for sample 0."""

    def __init__(self, error: type[Exception]) -> None:
        super().__init__(some_samples(3))
        self.error = error("no such sample")

    def __getitem__(self, index: Any) -> Any:
        if index == 0:
            self.asked.append(("one", index))
            raise self.error
        return super().__getitem__(index)


class _FailingMany(_Failing):
    def __getitems__(self, indices: Any, /) -> Any:
        self.asked.append(("many", indices))
        raise self.error


def _comes_through(
    trial: Trial,
    answer: Callable[..., Any],
    dataset: _Failing,
    index: Any,
    auto: bool,
    where: str,
    collate_fn: Collate | None = None,
) -> None:
    collate_fn = collate_fn or Collate()
    error = collate_fn.result if isinstance(collate_fn.result, Exception) else dataset.error
    name, who = type(error).__name__, "collate_fn" if where == "collate_fn" else "dataset"
    try:
        got = answer(dataset, index, auto, collate_fn)
    except NotImplementedError:
        raise
    except Exception as came:
        trial.true(
            came is error,
            f"The {who} raised {name}, and a different error came: {type(came).__name__}.",
            expected=f"the {name} that was raised",
            got=f"{type(came).__name__}: {shown(str(came), 120)}",
            observed=("a different error", where),
        )
        reads = [read for read in dataset.asked if where != "a batch" or read[1] == 0]
        most = len(index) if where == "collate_fn" and auto else 1
        trial.true(
            len(reads) <= most and len(collate_fn.given) <= 1,
            f"The {who} raised {name}, and it was tried again.",
            expected="each sample read once, collate_fn called once",
            got=Other(_described(dataset.asked) or "nothing read"),
            observed=("again", where),
        )
        trial.true(
            where == "collate_fn" or not collate_fn.given,
            f"The dataset raised {name}, and collate_fn was called all the same.",
            expected=f"the {name}, and no call of collate_fn: there is no batch",
            got=Other(", ".join(f"collate_fn({shown(each, 90)})" for each in collate_fn.given)),
            observed=("collated after the error", where),
        )
        return
    trial.fail(
        f"The {who} raised {name}, and the answer hid it: nobody learns that samples are lost.",
        expected=name,
        got=f"{_described(dataset.asked)}; returned {'what collate_fn gave' if got is collate_fn.result else shown(got)}",
        observed=("hidden", where),
    )


@fetch.property(
    "the answer reads and collates itself",
    asks="torch's fetchers and collate functions are not called.",
    once_right=True,
)
def _(answer: Callable[..., Any], trial: Trial) -> None:
    trial.given("a list of five numbers; index = [1, 3], then 2")
    own = (_MapDatasetFetcher.__init__, _MapDatasetFetcher.fetch, default_collate, default_convert)
    with calls_to(*own) as seen:
        for index, auto in (([1, 3], True), (2, False)):
            answer([0.5, 1.5, 2.5, 3.5, 4.5], index, auto, list if auto else float)
    trial.true(
        not seen,
        f"The answer calls {' and '.join(sorted(set(seen)))} of torch.",
        expected="the dataset asked, and the collate_fn that is given called, by code of your own",
        observed=("calls", sorted(set(seen))),
    )
