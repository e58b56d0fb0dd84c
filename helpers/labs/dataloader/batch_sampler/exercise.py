"""Exercise 02.batch_sampler: indices in lists, no more of them read than asked for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from torch.utils.data import BatchSampler

from helpers.check.calls import calls_to
from helpers.check.compare import shown
from helpers.check.trial import Mismatch, Trial, plain
from helpers.exercise import Exercise
from helpers.labs.dataloader.shared.taken import taken

batch_sampler = Exercise(
    "02.batch_sampler",
    "Indices in batches",
    objective="Cut a stream of indices into lists of one size, reading no further ahead than one batch.",
    minutes=15,
    difficulty="easy",
    hints=[
        "The sampler may have no end, so it cannot be turned into a list first. What is the least that must be "
        "read before the first batch can be given away?",
        "A function with `yield` in it is a generator: it runs up to the next `yield` each time that a batch is "
        "asked for. Collect indices in a list; when it is full, yield it. Which list does the next batch go into?",
        "for index in sampler: append it to `batch`; at batch_size indices, `yield batch` and then `batch = []` (a new "
        "list, not batch.clear()). After the loop: `if batch and not drop_last: yield batch`.",
    ],
)

SIZES = ((7, 3), (0, 3), (1, 1), (1, 4), (6, 3), (8, 3), (5, 1), (5, 5), (3, 7))  # indices, batch_size


class TooFar(Exception):
    """An answer read much further than it may."""


class Source:
    """A sampler that can be iterated and nothing else; it has no length.

    read: how many indices were taken from it. starts: how often an iteration began.
    """

    words = "a sampler without an end"

    def __init__(self, indices: Iterable[Any], most: int = 10_000) -> None:
        self._indices, self._most = indices, most
        self.read = self.starts = 0

    def __iter__(self) -> Iterator[Any]:
        self.starts += 1
        for index in self._indices:
            if self.read == self._most:
                raise TooFar
            self.read += 1
            yield index


class Long(Source):
    """One that has a length, and gives an index by its place, too."""

    words = "a sampler of 10**6 indices that has a length, and gives sampler[place]"

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, place: int) -> int:
        if self.read == self._most:
            raise TooFar
        self.read += 1
        return range(10**6)[place]


def iterated(got: Any, trial: Trial) -> Iterator[Any]:
    """An iterator over what the answer gave; wrong if it gave nothing that can be iterated."""
    if got is None or isinstance(got, str) or not hasattr(type(got), "__iter__"):
        kind = "None" if got is None else f"an object of type {type(got).__name__}"
        trial.fail(
            f"batch_sampler(...) gave {kind}. Is a `yield` missing?",
            expected="an iterator over lists of indices",
            got=shown(got),
            observed=("kind", type(got).__name__),
        )
    return iter(got)


def arrivals(got: Any, trial: Trial, most: int) -> list[Any]:
    """What comes, at most `most` batches; each is copied as it comes, since a list may be used again."""
    return [
        list(batch) if type(batch) is list else batch for batch in taken(iterated(got, trial), most, trial)
    ]


def batches_of(indices: list[Any], batch_size: int, drop_last: bool) -> list[list[Any]]:
    """The batches that are right."""
    starts = range(0, len(indices), batch_size)
    batches = [indices[start : start + batch_size] for start in starts]
    return [batch for batch in batches if len(batch) == batch_size or not drop_last]


def same(got: list[Any], want: list[list[Any]]) -> bool:
    """Whether these are lists of the very same objects."""
    return len(got) == len(want) and all(
        type(a) is list and len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))
        for a, b in zip(got, want, strict=True)
    )


def message_of(got: list[Any], want: list[list[Any]], drop_last: bool) -> str:
    """What is wrong with these batches, in a sentence."""
    for place, batch in enumerate(got, 1):
        if type(batch) is not list:
            return f"Batch {place} is no list but {shown(batch, 60)}, of type {type(batch).__name__}."
    if [] in got:
        return "A batch is empty."
    if len(got) > len(want) and same(got[: len(want)], want):
        return (
            "The last batch is short and drop_last=True, but it came."
            if drop_last
            else "Too many batches came."
        )
    if len(got) < len(want) and same(got, want[: len(got)]):
        return f"{len(want) - len(got)} batch(es) at the end did not come, with drop_last={drop_last}."
    if any(index not in sum(got, []) for index in sum(want, [])):
        return "Some indices are lost."
    lengths, right = [len(batch) for batch in got], [len(batch) for batch in want]
    if lengths != right:
        return f"Batches of {shown(lengths, 60)} indices came, where {shown(right, 60)} are right."
    if kinds := _kinds_of_indices(got, want):
        return f"An index is of type {' and '.join(kinds)}, and not the object that the sampler gave."
    return "The batches are not the sampler's indices in order."


def compared(trial: Trial, cases: Iterable[tuple[str, list[Any], list[list[Any]], bool]]) -> None:
    """Wrong if some case (what is given, got, wanted, drop_last) is."""
    found = [case for case in cases if not same(case[1], case[2])]
    if found:
        given, got, want, drop_last = found[0]
        trial.given(given)
        trial.fail(
            message_of(got, want, drop_last), expected=shown(want), got=shown(got), observed=kind_of(found)
        )


def kind_of(found: list[tuple[str, list[Any], list[list[Any]], bool]]) -> Any:
    """What tells mistakes apart: a kind of container, a kind of order; else what came in all of these cases."""
    if kinds := sorted({type(batch).__name__ for _, got, _, _ in found for batch in got} - {"list"}):
        return "no list", kinds, [len(got) for _, got, _, _ in found] if kinds == ["int"] else []
    pairs = [(got, want) for _, got, want, _ in found]
    if all(_kinds_of_indices(got, want) for got, want in pairs):
        return "indices of a different type"
    if all(_all_alike(_backwards, got, want) for got, want in pairs):
        return "backwards in each batch"
    if all(_all_alike(_mixed, got, want) for got, want in pairs):
        return "a different order in a batch"
    as_long = all(list(map(len, got)) == list(map(len, want)) for got, want in pairs)
    if as_long and all(_mixed(sum(got, []), sum(want, [])) for got, want in pairs):
        return "the sampler's indices in a different order"
    return [plain(got) for got, _ in pairs]


def _all_alike(alike: Callable[..., bool], got: list[Any], want: list[list[Any]]) -> bool:
    return len(got) == len(want) and all(alike(a, b) for a, b in zip(got, want, strict=True))


def _kinds_of_indices(got: list[list[Any]], want: list[list[Any]]) -> list[str]:
    """The types of the indices, if each has a type that the sampler's do not have, and all is as long as it should be."""
    if list(map(len, got)) != list(map(len, want)):
        return []
    right = {type(index) for index in sum(want, [])}
    kinds = {type(index) for index in sum(got, [])}
    return [] if kinds & right else sorted(kind.__name__ for kind in kinds)


def _backwards(batch: list[Any], wanted: list[Any]) -> bool:
    return batch[::-1] == wanted


def _mixed(batch: list[Any], wanted: list[Any]) -> bool:
    return len(batch) == len(wanted) and all(index in batch for index in wanted)


@batch_sampler.property(
    "every index once, in order; the last short batch is given or dropped as asked",
    asks=(
        "The indices of `sampler` in lists of `batch_size`, in the sampler's order.",
        "A last batch that is shorter than `batch_size` is left out if `drop_last` says so. No batch is empty.",
        'An index is passed on as it is: an int of any kind, a key such as "cat".',
        "and a list that is given as sampler stays as it is",
    ),
)
def _(answer: Callable[..., Any], trial: Trial) -> None:
    cases = []
    first = 0
    earlier: set[int] = set()
    for (count, batch_size), drop_last in itertools.product(SIZES, (False, True)):
        sampler = trial.random.sample(range(first, first + count), count)
        if 0 in sampler:  # not as the last: who takes it for the end loses what follows
            sampler.insert(2, sampler.pop(sampler.index(0)))
        first += count  # no index of one call is one of another: what is kept between calls shows
        before = list(sampler)
        given = f"sampler = {before}, batch_size = {batch_size}, drop_last = {drop_last}"
        trial.given(given)
        result = answer(sampler, batch_size, drop_last)
        if result is None:  # where other calls gave something, that tells more
            compared(trial, cases)
            trial.given(given)
        got = arrivals(result, trial, count + 2)
        trial.true(
            sampler == before,
            "The answer changed the list that it was given as sampler.",
            expected=f"a sampler that still holds {shown(before)}",
            got=sampler,
            observed="sampler changed",
        )
        kept = [index for batch in got if type(batch) is list for index in batch if _is_in(index, earlier)]
        earlier.update(before)
        trial.true(
            not kept,
            f"Indices of an earlier call came: {shown(kept)}. Something is kept from call to call.",
            expected=shown(batches_of(before, batch_size, drop_last)),
            got=got,
            observed="indices of an earlier call",
        )
        cases.append((given, got, batches_of(before, batch_size, drop_last), drop_last))
    compared(trial, cases)


def _is_in(index: Any, known: set[int]) -> bool:
    return type(index) is int and index in known


@batch_sampler.property(
    "two calls have nothing in common", asks="Calls have nothing in common.", once_right=True
)
def _(answer: Callable[..., Any], trial: Trial) -> None:
    trial.given("two iterators over two samplers, asked in turns; batch_size = 3, drop_last = True")
    first, second = range(100, 108), range(200, 207)
    cases = []
    one, other = (iterated(answer(sampler, 3, True), trial) for sampler in (first, second))
    got: tuple[list[Any], list[Any]] = ([], [])
    for _ in range(4):
        for batches, into in ((one, got[0]), (other, got[1])):
            into += [list(batch) for batch in itertools.islice(batches, 1)]
    for sampler, batches in zip((first, second), got, strict=True):
        wanted = [list(sampler[start : start + 3]) for start in (0, 3)]
        cases.append((f"sampler = {sampler}, batch_size = 3, drop_last = True", batches, wanted))
    found = [(given, plain(batches)) for given, batches, wanted in cases if batches != wanted]
    trial.true(
        not found,
        "What one call left over turned up in another one: something is kept from call to call.",
        expected=shown([wanted for _, _, wanted in cases]),
        got=got,
        observed=found,
    )


@batch_sampler.property(
    "an index that the sampler gives twice comes twice",
    asks="The indices of `sampler` in lists of `batch_size`, in the sampler's order.",
    once_right=True,
)
def _(answer: Callable[..., Any], trial: Trial) -> None:
    one, other = trial.random.sample(range(1, 50), 2)
    cases = []
    for sampler, batch_size in (
        ([one, one, other, one, other], 2),
        ([other, one, other, one, one, one, 0], 3),
    ):
        given = f"sampler = {sampler}, batch_size = {batch_size}, drop_last = False"
        trial.given(given)
        got = arrivals(answer(list(sampler), batch_size, False), trial, 9)
        cases.append((given, got, batches_of(sampler, batch_size, False), False))
    found = [case for case in cases if not same(case[1], case[2])]
    if found:
        given, got, want, _ = found[0]
        trial.given(given)
        trial.fail(
            "The sampler gives some indices more than once, as sampling with replacement does, and here they do not "
            "come as it gave them.",
            expected=shown(want),
            got=shown(got),
            observed="fewer" if len(sum(got, [])) < len(sum(want, [])) else kind_of(found),
        )


@batch_sampler.property(
    "any iterable will do as sampler, and it is gone through once",
    asks="The sampler is gone through once",
    once_right=True,
)
def _(answer: Callable[..., Any], trial: Trial) -> None:
    count, batch_size = trial.random.choice(((7, 3), (9, 4), (8, 5)))
    indices = trial.random.sample(range(count), count)
    wanted = batches_of(indices, batch_size, False)
    cases = []
    for word, sampler in (
        ("a generator", (index for index in indices)),
        ("an object that has __iter__ and nothing else", source := Source(indices)),
        ("a tuple", tuple(indices)),
    ):
        given = f"sampler = {word} that gives {indices}, batch_size = {batch_size}, drop_last = False"
        trial.given(given)
        got = arrivals(answer(sampler, batch_size, False), trial, count + 2)
        cases.append((given, got, wanted, False))
    given = f"sampler = range({count}), batch_size = {batch_size}, drop_last = False"
    trial.given(given)
    got = arrivals(answer(range(count), batch_size, False), trial, count + 2)
    cases.append((given, got, batches_of(list(range(count)), batch_size, False), False))
    compared(trial, cases)
    trial.given(cases[1][0])
    starts = source.starts
    trial.true(
        starts == 1,
        f"The sampler was gone through {starts} times. A RandomSampler draws a new order each time.",
        expected="one iteration over the sampler",
        observed=("starts", starts),
    )


@batch_sampler.property(
    "lazy: nothing is read before a batch is asked for, and never more than batch_size ahead",
    asks=(
        "Nothing is read before the first batch is asked for.",
        "At most one batch is read beyond those that have been given away.",
    ),
    once_right=True,
)
def _(answer: Callable[..., Any], trial: Trial) -> None:
    extra: list[int] = []
    batch_size = trial.random.randrange(3, 7)
    for drop_last, kind in ((False, Source), (True, Source), (False, Long), (True, Long)):
        trial.given(f"{kind.words}, batch_size = {batch_size}, drop_last = {drop_last}")
        sampler = kind(itertools.count(), most=60 * batch_size)
        try:
            batches = iterated(answer(sampler, batch_size, drop_last), trial)
            extra = [sampler.read]
            for given in range(1, 5):
                next(batches, None)
                extra.append(sampler.read - given * batch_size)
        except TooFar:
            extra.append(-1)
        if extra[0] or extra[-1] == -1 or max(extra) > batch_size:
            wanted = "nothing read at the call, then at most batch_size indices beyond those given away"
            seen = "to its end" if extra[-1] == -1 else "at the call" if extra[0] else "far ahead"
            trial.fail(_read(extra, batch_size), expected=wanted, observed=seen)


def _read(extra: list[int], batch_size: int) -> str:
    """How much too much was read, in words."""
    if extra[-1] == -1:
        return "The answer read on and on: training would begin late, or never where a sampler has no end."
    if extra[0]:
        return f"{extra[0]} {'index was' if extra[0] == 1 else 'indices were'} read before the first batch was asked for."
    place = next(place for place, more in enumerate(extra) if more > batch_size)
    read = place * batch_size + extra[place]
    return (
        f"When batch {place} was given away, {read} indices had been read, where {place * batch_size} suffice and "
        f"{(place + 1) * batch_size} are allowed. A sampler that waits for something (the losses of the last batch, a "
        "queue) would be asked too early."
    )


@batch_sampler.property(
    "each batch is a list of its own",
    asks="Each batch is a new list: the caller may keep it or edit it.",
    once_right=True,
)
def _(answer: Callable[..., Any], trial: Trial) -> None:
    count, batch_size = trial.random.choice(((7, 3), (9, 2), (11, 4)))
    trial.given(
        f"sampler = range({count}), batch_size = {batch_size}, drop_last = False; all batches are kept"
    )
    kept: list[Any] = []
    as_they_came: list[list[int]] = []
    for batch in itertools.islice(iterated(answer(range(count), batch_size, False), trial), count):
        kept.append(batch)
        as_they_came.append(list(batch))
    trial.true(
        len({id(batch) for batch in kept}) == len(kept) and kept == as_they_came,
        "Batches that were given away changed afterwards: one list is filled again and again. A loader that fetches "
        "ahead holds several batches at once.",
        expected=shown(as_they_came),
        got=kept,
        observed="one list",
    )
    trial.given(
        f"sampler = range({count}), batch_size = {batch_size}; the caller empties each batch that it gets"
    )
    got = []
    for batch in itertools.islice(iterated(answer(range(count), batch_size, False), trial), count):
        got.append(list(batch))
        batch.clear()
    trial.true(
        got == as_they_came,
        "The caller edited a batch, and the next ones changed with it.",
        expected=shown(as_they_came),
        got=got,
        observed="edited",
    )


class Key:
    """An index of a class of its own, as a dataset may have them."""

    def __repr__(self) -> str:
        return "Key()"


@batch_sampler.property(
    "an index is passed on as it is: a number of any kind, a key",
    asks='An index is passed on as it is: an int of any kind, a key such as "cat".',
    once_right=True,
)
def _(answer: Callable[..., Any], trial: Trial) -> None:
    number = np.int64(trial.random.randrange(1000, 2000))
    keys: list[Any] = ["cat", 0, number, "", ("a", 1), False, 2**70, -1]
    trial.random.shuffle(keys)
    keys += [Key(), "dog"]  # who takes one of them for the end loses these
    given = f"sampler = {keys}, batch_size = 3, drop_last = False"
    trial.given(given)
    wanted = batches_of(keys, 3, False)
    try:
        got = arrivals(answer(list(keys), 3, False), trial, 10)
    except (NotImplementedError, Mismatch):
        raise
    except Exception as error:
        trial.fail(
            f"The answer raised {type(error).__name__} for indices that are not all ints: {shown(str(error), 120)}.",
            expected=shown(wanted),
            got=type(error).__name__,
            observed="raised",
        )
    if not same(got, wanted):
        came = sum((batch for batch in got if type(batch) is list), [])
        equal = len(came) == len(keys) and all(a == b for a, b in zip(came, keys, strict=True))
        changed = [type(b).__name__ for a, b in zip(came, keys, strict=False) if a is not b]
        lost = [repr(key) for key in keys if not any(one is key for one in came)]
        trial.fail(
            f"{' and '.join(sorted(set(changed)))}: not the object itself came, but a different one."
            if len(came) == len(keys)
            else f"These indices are lost: {', '.join(lost)}."
            if lost
            else message_of(got, wanted, False),
            expected=shown(wanted),
            got=shown(got),
            observed=("other objects", equal, sorted(set(changed)))
            if len(came) == len(keys)
            else ("lost", sorted(lost))
            if lost and len(came) < len(keys)
            else kind_of([(given, got, wanted, False)]),
        )


class Broken(Exception):
    """What a sampler raises."""


ERRORS = (Broken, RuntimeError, IndexError, KeyError, TypeError, ValueError, OSError, AssertionError)


@batch_sampler.property(
    "an error in the sampler comes through, after the batches before it",
    asks="An error in the sampler comes through after the last full batch, or one batch earlier.",
    once_right=True,
)
def _(answer: Callable[..., Any], trial: Trial) -> None:
    batch_size, full = trial.random.randrange(2, 5), trial.random.randrange(2, 4)
    for error in ERRORS:
        for rest in (1, 0):
            _comes_through(trial, answer, error, batch_size, full, full * batch_size + rest)


def _comes_through(
    trial: Trial, answer: Callable[..., Any], error: type[Exception], batch_size: int, full: int, count: int
) -> None:
    raised = error("no more indices: the file is gone")

    def indices() -> Iterator[int]:
        yield from range(count)
        raise raised

    trial.given(
        f"a sampler that raises {error.__name__} after {count} indices, batch_size = {batch_size}, drop_last = False"
    )
    got: list[Any] = []
    wanted = batches_of(list(range(count)), batch_size, True)
    expected = f"{shown(wanted)}, then the sampler's {error.__name__}"
    try:
        for batch in itertools.islice(iterated(answer(indices(), batch_size, False), trial), full + 2):
            got.append(list(batch))
    except Exception as came:
        if isinstance(came, NotImplementedError):
            raise
        trial.true(
            came is raised,
            f"The sampler raised {error.__name__}, and a different error came: {type(came).__name__}.",
            expected=expected,
            got=f"{type(came).__name__}: {shown(str(came), 120)}",
            observed="a different error",
        )
        trial.true(
            got in (wanted, wanted[:-1]),  # who reads a batch ahead meets the error a batch earlier
            f"Before the error {len(wanted)} full batches can be given, and {len(got)} batches came.",
            expected=expected,
            got=got,
            observed=("before", "a short one" if got[:-1] == wanted else len(got) - len(wanted)),
        )
        return
    trial.fail(
        f"The sampler raised {error.__name__}, and the answer hid it: the epoch looks finished.",
        expected=expected,
        got=f"{shown(got)}, and no error",
        observed="hidden",
    )


@batch_sampler.property(
    "the answer cuts the batches itself",
    asks=("torch's BatchSampler is not called.", "No global generator is moved."),
    once_right=True,
)
def _(answer: Callable[..., Any], trial: Trial) -> None:
    trial.given("sampler = range(7), batch_size = 3, drop_last = False")
    with calls_to(BatchSampler.__iter__) as seen:
        arrivals(answer(range(7), 3, False), trial, 9)
    trial.true(
        not seen,
        "The answer lets torch's BatchSampler cut the batches: that is what this exercise re-creates.",
        expected="a loop of your own",
        observed=("calls", sorted(set(seen))),
    )
