"""Exercise 02.fetch: who reads the samples of a batch, how often, and what collate_fn is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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

    def __getitems__(self, indices: Any) -> Any:
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


class Collate:
    """A collate_fn that notes what it is given, and returns an object of its own."""

    def __init__(self) -> None:
        self.given: list[Any] = []
        self.result = Other("the batch")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        data = args[0] if len(args) == 1 and not kwargs else Other(f"{len(args) + len(kwargs)} arguments")
        if hasattr(type(data), "__next__"):
            read = list(data)
            data = Other(f"a {type(data).__name__} of {len(read)} samples")
        self.given.append(data)
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
) -> None:
    """Wrong unless fetch asks the dataset for `asked`, calls collate_fn once with `wanted`, and returns what it returns."""
    collate_fn = Collate()
    got = answer(log if dataset is None else dataset, index, auto, collate_fn)
    given = collate_fn.given
    calls = [f"collate_fn({shown(each, 90)})" for each in given]
    seen = (_described(log.asked), calls, "result" if got is collate_fn.result else _named(got))
    expected = f"{_described(asked) or 'nothing read'}; then collate_fn({shown(wanted, 90)}), and its result returned"
    came = "; ".join(filter(None, (seen[0], ", ".join(calls)))) or "nothing read, collate_fn not called"
    for wrong, message in (
        (not given, "collate_fn was not called."),
        (len(given) > 1, f"collate_fn was called {len(given)} times for one fetch."),
        (given and not _fits(given[0], wanted), "collate_fn was not given what it should be given."),
        (seen[0] != _described(asked), "The dataset was not asked for what it should be asked for."),
        (got is not collate_fn.result, f"What collate_fn returned was not returned, but {shown(got, 60)}."),
    ):
        trial.true(not wrong, message, expected=expected, got=Other(came), observed=seen)


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
        "Each is called once, with one argument; what `collate_fn` returns is returned as it is.",
        "`index` is left as it is.",
    ),
)
def _(answer: Callable[..., Any], trial: Trial) -> None:
    values = some_samples(9)
    values[3] = None
    several = trial.random.sample([0, 1, 2, 4, 5, 6, 7, 8], 3) + [3]
    trial.random.shuffle(several)
    for index in (several, [several[1], several[0], several[1]]):
        trial.given(
            f"a dataset without __getitems__ whose sample 3 is None; index = {index}, auto_collation = True"
        )
        log, asked_index = Log(values), list(index)
        wanted = [values[one] for one in index]
        fetched(trial, answer, log, index, True, [("one", one) for one in asked_index], wanted)
        trial.true(
            index == asked_index, "The answer changed the list of indices.", got=index, observed="index"
        )


@fetch.property(
    "a batch of one sample, or of none, is a list, too",
    asks="A batch of a dataset without `__getitems__`: the list of its samples, read in the order of `index`.",
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
    for index in (["cat", other, ""], ("cat", one)):
        trial.given(f"a dataset with keys; index = {index!r}, auto_collation = True")
        asked = [("one", key) for key in index]
        fetched(trial, answer, Log(samples), index, True, asked, [samples[key] for key in index])


@fetch.property(
    "__getitems__ reads a batch in one call; what it gives goes to collate_fn as it is",
    asks=(
        "A batch: `collate_fn` is given what `dataset.__getitems__(index)` gives, as it is.",
        "Each is called once, with one argument; what `collate_fn` returns is returned as it is.",
    ),
)
def _(answer: Callable[..., Any], trial: Trial) -> None:
    values = some_samples(9)
    index = trial.random.sample(range(9), 4)
    for bulk in ([values[one] for one in index], {"x": torch.zeros(2)}):
        for count in (4, 1):
            kind = "a dict" if type(bulk) is dict else "a list"
            trial.given(
                f"a dataset whose __getitems__ gives {kind}; index = {index[:count]}, auto_collation = True"
            )
            log = ManyAtOnce(values)
            log.bulk = bulk
            fetched(trial, answer, log, index[:count], True, [("many", index[:count])], bulk)


@fetch.property(
    "__getitems__ is not called for a single index",
    asks="`collate_fn` is given the sample dataset[index]; `__getitems__` is not called.",
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


class Lost(Exception):
    """What a dataset raises for a sample that it has lost."""


class FaultInside(AttributeError):
    """An AttributeError from inside a dataset's own code."""


@fetch.property("an error of the dataset comes through", asks="Errors of the dataset come through.")
def _(answer: Callable[..., Any], trial: Trial) -> None:
    for error in (Lost, KeyError, IndexError, TypeError):
        for auto, index in ((True, [1, 0, 2]), (False, 0)):
            trial.given(
                f"a dataset that raises {error.__name__} for sample 0; index = {index}, auto_collation = {auto}"
            )
            _comes_through(trial, answer, _Failing(error), index, auto, error)
    for error in (FaultInside, Lost, TypeError):
        trial.given(
            f"a dataset whose __getitems__ raises {error.__name__}; index = [1, 2], auto_collation = True"
        )
        _comes_through(trial, answer, _FailingMany(error), [1, 2], True, error)


class _Failing(Log):
    """Raises for sample 0."""

    def __init__(self, error: type[Exception]) -> None:
        super().__init__(some_samples(3))
        self.error = error

    def __getitem__(self, index: Any) -> Any:
        if index == 0:
            self.asked.append(("one", index))
            raise self.error("no such sample")
        return super().__getitem__(index)


class _FailingMany(_Failing):
    def __getitems__(self, indices: Any) -> Any:
        self.asked.append(("many", indices))
        raise self.error("a fault in the dataset's own code")


def _comes_through(
    trial: Trial,
    answer: Callable[..., Any],
    dataset: _Failing,
    index: Any,
    auto: bool,
    error: type[Exception],
) -> None:
    collate_fn = Collate()
    try:
        got = answer(dataset, index, auto, collate_fn)
    except error:
        return
    trial.fail(
        f"The dataset raised {error.__name__}, and the answer hid it: nobody learns that samples are lost.",
        expected=error.__name__,
        got=f"{_described(dataset.asked)}; returned {'what collate_fn gave' if got is collate_fn.result else shown(got)}",
        observed=(
            error.__name__,
            auto,
            _described(dataset.asked),
            [_named(each) for each in collate_fn.given],
        ),
    )


@fetch.property(
    "the answer reads and collates itself", asks="torch's fetchers and collate functions are not called."
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
