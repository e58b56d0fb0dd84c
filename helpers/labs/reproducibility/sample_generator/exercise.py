"""Exercise 01.sample_generator: a generator for each sample, whoever loads it, and whenever."""

from __future__ import annotations

import itertools
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.reproducibility.sample_generator.keys import (
    FAR,
    LARGEST,
    Key,
    joined_keys,
    raised,
    simple_keys,
    strides_from,
)
from helpers.labs.reproducibility.seed_everything.exercise import GLOBAL, stirred
from helpers.labs.reproducibility.shared.forks import in_a_fork
from helpers.labs.reproducibility.shared.machines import elsewhere, worker
from helpers.ranks.pretended import as_rank

sample_generator = Exercise(
    "01.sample_generator",
    "A generator for each sample",
    objective="Derive a generator from (seed, epoch, index), so that augmentation is the same for any number of workers.",
    minutes=30,
    difficulty="medium",
    seconds=30,
    hints=[
        "If every sample has its own generator, it does not matter who loads it, or in which order. So the three "
        "numbers must decide the generator, and no two keys may share one. Why is their sum not enough?",
        "torch.Generator().manual_seed(key) takes 64 bits and uses the low 32 of them. However well you mix the key, "
        "two of some 100,000 samples then share a stream. But the state of the generator has room for 624 words.",
        "np.random.SeedSequence([...]).generate_state(624) gives 624 well mixed words; give it each number as two words "
        "of 32 bits, since it joins longer ones. "
        "get_state() of a seeded generator shows where its words lie: 8 bytes each, from byte 24 on. "
        "Write yours there, and hand the state to set_state.",
    ],
)

ONLY = "A new CPU generator whose stream is a function of the three numbers, and of nothing else."
TWO = "Two keys get two streams, which have no stretch in common."
EVERY_BIT = "Every bit of a number counts, also of 2**32 and more."

NAMES = ("seed", "epoch", "index")
WORD = 2**31
MOST = 2**62 - 1  # the largest number by which a bound is looked for
REQUIRED = (255, 100, 50_000)  # seed, epoch, index up to these no answer may refuse


def made(answer: Callable[..., Any], trial: Trial, key: Key) -> torch.Generator:
    """answer(*key), if it is a generator on the CPU and not the global one."""
    before = torch.default_generator.initial_seed()
    try:
        got = answer(*key)
    except ValueError as error:
        if any(number > most for number, most in zip(key, REQUIRED, strict=True)):
            raise
        trial.given(f"(seed, epoch, index) = {key}")
        trial.fail(
            f"sample_generator{key} raised ValueError. This key may not be refused: each of its numbers is in the range that "
            "every answer accepts.",
            expected="a generator",
            got=f"ValueError: {error}"[:200],
            observed=("refused", "a 0" if 0 in key else "no 0"),
        )
    if not isinstance(got, torch.Generator):
        kind = f"{type(got).__module__}.{type(got).__qualname__}".removeprefix("builtins.")
        trial.fail(
            f"sample_generator{key} gave {'None' if got is None else f'an object of type {kind}'}.",
            expected="a torch.Generator",
            observed=("kind", kind),
        )
    if got is torch.default_generator:
        trial.fail(
            "The answer gave the global generator, torch.default_generator.",
            expected="a new torch.Generator(); the global one untouched",
            observed="the global generator",
        )
    if torch.default_generator.initial_seed() != before:
        trial.fail(
            "The answer seeded torch's global generator: whoever loads a sample changes dropout and shuffling.",
            expected="global generators as they were",
            observed="the global generator seeded",
        )
    if got.device.type != "cpu":
        trial.fail("The generator is not on the CPU.", expected="cpu", got=str(got.device), observed="device")
    return got


_drawn = torch.empty(2, dtype=torch.int64, device="cpu")  # kept: thousands of generators are asked


def draws(generator: torch.Generator) -> tuple[int, ...]:
    """The next two numbers of a generator."""
    return tuple(_drawn.random_(2**62, generator=generator).tolist())


def first_draws(answer: Callable[..., Any], trial: Trial, key: Key) -> tuple[int, ...] | None:
    """Two numbers of the generator of this key; None if the key is large and refused with ValueError."""
    try:
        generator = made(answer, trial, key)
    except ValueError:
        if all(number <= most for number, most in zip(key, REQUIRED, strict=True)):
            raise
        return None
    except Exception as error:
        if all(number <= most for number, most in zip(key, REQUIRED, strict=True)):
            raise
        kind = "struct.error" if isinstance(error, struct.error) else type(error).__name__
        trial.fail(
            f"sample_generator{key} raised {kind}. What is too large for your way is refused with ValueError.",
            expected="a generator, or ValueError",
            got=f"{kind}: {error}"[:200],
            observed=("raised", kind),
        )
    return draws(generator)


def some_key(trial: Trial) -> Key:
    return trial.random.randrange(200), trial.random.randrange(1, 50), trial.random.randrange(1, 1000)


@sample_generator.property(
    "each call gives a new generator on the CPU, and moves no other",
    asks=(ONLY, "Each call returns a new object.", "No global generator is moved."),
)
def _(answer: Any, trial: Trial) -> None:
    key = some_key(trial)
    other = (key[0], key[1], key[2] + 1)
    trial.given(f"(seed, epoch, index) = {key}, then {other}, then the first again")
    one = made(lambda *numbers: trial.call(answer, *numbers), trial, key)
    place = one.get_state()
    again = made(answer, trial, key)
    two = made(answer, trial, other)
    trial.true(
        two is not one,
        "Calls with two keys gave one and the same object: two samples share it.",
        expected="an object of its own for each call",
        got="one object for both keys",
        observed="one object for two keys",
    )
    trial.true(
        one is not again and one is not made(answer, trial, key),
        "A second call with the same key gave the same object: its two users share it.",
        expected="an object of its own for each call",
        got="the object of the first call",
        observed="one object for one key",
    )
    trial.true(
        torch.equal(place, one.get_state()),
        "Making another sample's generator moved this one.",
        expected="generators that have nothing in common",
    )


OTHER_PROCESSES: dict[str, dict[str, int]] = {
    "in a process with a different number": {"pid": 5},
    "at a different time": {"hours": 5},
    "in a process with a different salt in its hashes": {"salt": 5},
}


@sample_generator.property(
    "the three numbers alone decide, in every worker and in every order", asks=ONLY, changes=GLOBAL
)
def _(answer: Any, trial: Trial) -> None:
    key = some_key(trial)
    trial.given(f"(seed, epoch, index) = {key}, made several times")
    if found := swayed(answer, trial, key):
        word, first, again = found
        trial.fail(
            f"Made again {word}, the generator of the same sample draws other numbers.",
            expected=f"{first} again",
            got=str(again),
            observed=word,
        )
    new = trial.random.randrange(200, 250), trial.random.randrange(50, 90), trial.random.randrange(1000, 2000)
    trial.given(f"(seed, epoch, index) = {new}, made in two processes; one of them makes other keys first")
    first = [(new[0] - 1, new[1] - 1, new[2] - 1), *(raised(new, at, -1) for at in range(3))]
    alone, later = (
        in_a_fork(lambda keys=keys: [draws(made(answer, trial, each)) for each in keys])[-1]
        for keys in ([new], [*first, new])
    )
    trial.true(
        alone == later,
        "In the process that made other keys first, the generator of the same sample draws other numbers.",
        expected=f"{alone} in both",
        got=f"{later} there",
        observed="in a process that made other keys first",
    )


def swayed(answer: Callable[..., Any], trial: Trial, key: Key) -> tuple[str, tuple, tuple] | None:
    """What else than the key decides: in words, with the draws before and after. The generators are stirred."""
    with elsewhere():
        first = draws(made(answer, trial, key))

        def again() -> tuple[int, ...] | None:
            numbers = draws(made(answer, trial, key))
            return None if numbers == first else numbers

        if other := again():
            return "at once", first, other
        for index in range(3):
            made(answer, trial, (key[0], key[1], index))
        if other := again():
            return "after other samples", first, other
        stirred(trial.random)
        if other := again():
            return "with the global generators elsewhere", first, other
        with worker(trial.random.getrandbits(62), 3, 4):
            if other := again():
                return "in a DataLoader's worker", first, other
        with float64_by_default():
            if other := again():
                return "where torch.float64 is the default dtype", first, other
        with as_rank(1, 2):
            if other := again():
                return "in a process of rank 1 of 2", first, other
        with one_thread_more():
            if other := again():
                return "with one thread more", first, other
    for word, process in OTHER_PROCESSES.items():
        with elsewhere(**process):
            if other := again():
                return word, first, other
    return None


@contextmanager
def one_thread_more() -> Iterator[None]:
    old = torch.get_num_threads()
    torch.set_num_threads(old + 1)
    try:
        yield
    finally:
        torch.set_num_threads(old)


@contextmanager
def float64_by_default() -> Iterator[None]:
    old = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(old)


@sample_generator.property(
    "the keys that every answer accepts",
    asks="Seeds to 255, epochs to 100 and indices to 50,000 are accepted.",
)
def _(answer: Any, trial: Trial) -> None:
    # One number at its bound at a time: the report shows which is refused.
    for at, most in enumerate(REQUIRED):
        made(answer, trial, raised((1, 1, 1), at, most - 1))
    for key in itertools.product(*((most, 0) for most in REQUIRED)):
        made(answer, trial, key)


@sample_generator.property("seed, epoch and index each decide", asks=TWO)
def _(answer: Any, trial: Trial) -> None:
    key = some_key(trial)
    trial.given(f"(seed, epoch, index) = {key}, and one number raised by 1")
    ignored, cut, places = [], "", set[int]()
    first = made(answer, trial, key)
    seed, numbers = first.initial_seed(), draws(first)
    ahead = torch.randint(WORD, (STRETCH,), generator=first)
    for at, name in enumerate(NAMES):
        second = made(answer, trial, raised(key, at, 1))
        if draws(second) == numbers:
            ignored.append(name)
            cut = cut or (_cut(seed) if second.initial_seed() != seed else "")
            apart = torch.randint(WORD, (STRETCH,), generator=second) != ahead
            places |= set(apart.nonzero()[:1].flatten().tolist())
    if ignored:
        same = (
            f"the streams begin alike, up to draw {min(places) + 2}"
            if places
            else "the same numbers are drawn"
        )
        trial.fail(
            f"With a different {' or '.join(ignored)} {same}.{cut}",
            expected="a different stream for every seed, epoch and index",
            got=f"the same draws, up to draw {min(places) + 2}"
            if places
            else f"{numbers}, the first two draws of both",
            observed=(ignored, bool(cut), bool(places)),
        )


def _cut(seed: int) -> str:
    return f" manual_seed was given {seed:,}; a CPU generator uses the low 32 bits of its seed and cuts off the rest."


STRETCH = 15_000  # draws in which two streams may not meet
CHANCE = 200_000  # keys: a hash of 32 bits gives some 5 pairs of them one seed, or none in 1 of 100 checks


@sample_generator.property("the streams of neighbours have nothing in common", asks=TWO)
def _(answer: Any, trial: Trial) -> None:
    key = some_key(trial)
    trial.given(f"(seed, epoch, index) = {key} and its neighbours, {STRETCH:,} draws of each")
    keys = [key, *(raised(key, at, by) for at in range(3) for by in (1, 2))]
    streams = [torch.randint(WORD, (STRETCH,), generator=made(answer, trial, each)).tolist() for each in keys]
    for each, stream in zip(keys[1:], streams[1:], strict=True):
        at_one_place = sum(a == b for a, b in zip(streams[0], stream, strict=True))
        common = max(len(set(streams[0]) & set(stream)), at_one_place)
        if common > 10:  # chance gives one in ten checks
            kind = "at the same places" if at_one_place > 10 else "some draws later"
            trial.fail(
                f"sample_generator{key} and sample_generator{each} draw the same numbers {kind}.",
                expected="streams that have nothing in common",
                got=f"{common:,} of {STRETCH:,} numbers in common",
                observed=kind,
            )


@sample_generator.property(
    "keys of simple kinds have streams of their own",
    asks=(TWO, "A number that is too large for your way may be refused: it raises ValueError."),
)
def _(answer: Any, trial: Trial) -> None:
    base = trial.random.randrange(200)
    trial.given(
        f"seeds {base} and {base + 1}, epochs 0 to 4, 10, 100, 1000, indices 0 to 5 and large round ones"
    )
    _apart(answer, trial, simple_keys(base))


def _apart(answer: Callable[..., Any], trial: Trial, keys: list[Key]) -> None:
    """Wrong if the generators of two pairs of keys draw the same numbers. One pair of 32 bits may be chance."""
    pairs = list(shared(answer, trial, keys))
    if len(pairs) < 2:
        return
    refused = any(first_draws(answer, trial, key) is None for key in (*keys[:200], *simple_keys(0)))
    kind = _kind(pairs)
    shifts = {"xor": (0, 1, 1), "sum": (0, 1, -1)}
    # A pair of the kind that the name of the mistake tells of, where there is such a kind.
    one, other = next((pair for pair in pairs if _shift(*pair) == shifts.get(str(kind))), pairs[0])
    trial.fail(
        f"Two samples share a stream: sample_generator{one} and sample_generator{other}.",
        expected="a different stream for every (seed, epoch, index)",
        got=f"{len(pairs):,} such pairs among {len(keys):,} keys",
        observed=(kind, refused),
    )


def shared(answer: Callable[..., Any], trial: Trial, keys: Iterable[Key]) -> Iterator[tuple[Key, Key]]:
    """Pairs of keys whose generators draw the same first numbers; a key that is refused is left out."""
    owners: dict[tuple[int, ...], Key] = {}
    for key in keys:
        numbers = first_draws(answer, trial, key)
        if numbers is not None and (owner := owners.setdefault(numbers, key)) != key:
            yield owner, key


def _kind(pairs: list[tuple[Key, Key]]) -> object:
    """How the keys of such pairs differ: what tells a sum from an xor, from a stride, from chance."""
    if all(int("".join(map(str, one))) == int("".join(map(str, other))) for one, other in pairs):
        return "digits joined"
    if all(_differ_by_zero(*pair) for pair in pairs):
        return "zero"
    if all(sorted(one) == sorted(other) for one, other in pairs):
        return "same numbers"
    shifts = Counter(_shift(*pair) for pair in pairs)
    common = {shift for shift, count in shifts.items() if count > 4}
    one_epoch = [(x, y) for x, y in pairs if x[:2] == y[:2]]
    if len(one_epoch) == len(pairs):
        return "index"
    if len(one_epoch) > 4 and all(x[1] == 0 for x, y in one_epoch):
        return "product"
    if (0, 1, 1) in common:
        return "xor"
    if (0, 1, -1) in common:
        return "sum"
    if any(seed == 0 and epoch * index < 0 for seed, epoch, index in common):
        return "stride"
    return sorted(common)[:5] or "chance"


def _differ_by_zero(one: Key, other: Key) -> bool:
    """Whether they differ in one number, which is 0 in one of them."""
    differ = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
    return len(differ) == 1 and 0 in differ[0]


def _shift(one: Key, other: Key) -> Key:
    return other[0] - one[0], other[1] - one[1], other[2] - one[2]


@sample_generator.property(
    "large numbers count in full, or are refused",
    asks=(EVERY_BIT, "A number that is too large for your way may be refused: it raises ValueError."),
)
def _(answer: Any, trial: Trial) -> None:
    key = trial.random.randrange(2000, 3000), trial.random.randrange(3, 20), trial.random.randrange(30, 99)
    trial.given(
        f"(seed, epoch, index) = {key}, with one of them raised by a power of two from 2**31 on or by 2**61 - 1, or near the largest"
    )
    largest = [raised(key, at, number - key[at]) for at in range(3) for number in (0, LARGEST - 1, LARGEST)]
    pairs = list(
        shared(answer, trial, [key, *(raised(key, at, by) for at in range(3) for by in FAR), *largest])
    )
    if pairs:
        one, other = pairs[0]
        seed = made(answer, trial, other).initial_seed()
        cut = seed >= 2**32 and seed != made(answer, trial, one).initial_seed()
        _fail_as_shared(trial, pairs, _lost(key, pairs), _cut(seed) if cut else "")


def _lost(key: Key, pairs: list[tuple[Key, Key]]) -> str:
    """What the numbers of these pairs lost."""
    shift = abs(sum(_shift(*pairs[0])))
    if all(LARGEST in (*one, *other) for one, other in pairs):
        return "the largest"
    if shift == 2**61 - 1:
        return "hash of an int"
    if shift % 2**31:
        return "rounded"
    powers = {by for by in FAR if by & (by - 1) == 0}
    for at in range(3):
        lost = {by for by in powers if (key, raised(key, at, by)) in pairs}
        if lost != {by for by in powers if lost and by >= min(lost)}:
            return "run together"  # one bit here and a different one there
    return "high bits lost"  # with a bit all those above it


def _fail_as_shared(trial: Trial, pairs: list[tuple[Key, Key]], kind: str, more: str = "") -> None:
    one, other = pairs[0]
    trial.fail(
        f"Two samples share a stream: sample_generator{one} and sample_generator{other}.{more}",
        expected="a different stream, or ValueError for a key that has no place",
        got=f"{len(pairs)} such pairs",
        observed=kind,
    )


@sample_generator.property(
    "large numbers do not run into their neighbours in the key", asks=EVERY_BIT, changes=GLOBAL
)
def _(answer: Any, trial: Trial) -> None:
    trial.given("keys whose numbers, written side by side in words of 8, 16 or 32 bits, are the same words")
    if pairs := list(shared(answer, trial, joined_keys(trial))):
        folded = all(sum(a != b for a, b in zip(*pair, strict=True)) == 1 for pair in pairs)
        if folded:
            _fail_as_shared(
                trial, pairs, "folded", " They differ in one number, whose parts have changed places."
            )
        _fail_as_shared(trial, pairs, "joined", " Side by side their words are the same.")
    key = 2 * trial.random.randrange(100), 2 * trial.random.randrange(20), 2 * trial.random.randrange(100)
    trial.given(
        f"(seed, epoch, index) = {key}, with one number raised by 1, or a later one by a round number or a prime"
    )
    if pairs := list(shared(answer, trial, strides_from(key, own_strides(answer, trial, key)))):
        _fail_as_shared(trial, pairs, "stride")


def own_strides(answer: Callable[..., Any], trial: Trial, key: Key) -> set[int]:
    """By how much the seed grows that the answer gives its generator: then this is a stride for sure."""
    seeds = [
        made(answer, trial, each).initial_seed() for each in (key, *(raised(key, at, 1) for at in range(3)))
    ]
    return {more for seed in seeds[1:] if 0 < (more := seed - seeds[0]) < 2**62}


@sample_generator.property(
    "up to its own bounds an answer keeps all keys apart",
    asks=(EVERY_BIT, "A number that is too large for your way may be refused"),
)
def _(answer: Any, trial: Trial) -> None:
    bounds = [most_accepted(answer, trial, at) for at in range(3)]
    trial.given("numbers at the edges of what is accepted: to {:,} for the seed, {:,}, {:,}".format(*bounds))
    edges = [sorted({0, 1, most // 2, most // 2 + 1, most - 1, most}) for most in bounds]
    if pairs := list(shared(answer, trial, itertools.product(*edges))):
        _fail_as_shared(trial, pairs, "bound" if min(bounds) < MOST else "no bound")


@sample_generator.property(
    "the 5,000 samples of a run have 5,000 streams", asks=TWO, changes=GLOBAL, once_right=True
)
def _(answer: Any, trial: Trial) -> None:
    seed = trial.random.randrange(200)
    trial.given(f"seed = {seed}, epochs 0 to 24, indices 0 to 199")
    _apart(answer, trial, [(seed, epoch, index) for epoch in range(25) for index in range(200)])


@sample_generator.property(
    "more keys than 2**32 are not squeezed into as many seeds",
    asks="`manual_seed` has 2**32 streams only: who accepts more keys needs more streams.",
    changes=GLOBAL,
)
def _(answer: Any, trial: Trial) -> None:
    key = tuple(2 ** ((most_accepted(answer, trial, at) + 1).bit_length() - 1) - 1 for at in range(3))
    in_words = ", ".join(f"2**{number.bit_length()} - 1" for number in key)
    trial.given(f"(seed, epoch, index) = ({in_words})")
    if sum(number.bit_length() for number in key) <= 32:
        return
    if first_draws(answer, trial, key) is None or swayed(answer, trial, key):
        return
    generator = made(answer, trial, key)
    given = generator.initial_seed()
    seed = seed_of_32_bits(generator)
    if seed is None:
        return
    cut = seed == given and seed >= 2**32
    trial.fail(
        (_cut(seed).strip() if cut else f"The generator is that of manual_seed({seed}), a seed of 32 bits.")
        + " Many more keys are accepted than there are such seeds. (If they are drawn as if by chance, two of some 100,000 "
        "samples share a stream: the birthday rule.)",
        expected="a generator whose whole state is filled, or ValueError for what is beyond a bound",
        got="a generator with one of 2**32 seeds, and "
        + " times ".join(f"2**{number.bit_length()}" for number in key)
        + " keys that are accepted",
        observed="cut by manual_seed" if cut else "32 bits",
    )


@sample_generator.property(
    "where the keys have 32 bits in all, no two share a seed", asks=TWO, changes=GLOBAL, once_right=True
)
def _(answer: Any, trial: Trial) -> None:
    if seed_of_32_bits(made(answer, trial, REQUIRED)) is None:
        return  # then its whole state is filled
    trial.given(f"{CHANCE:,} keys, with seeds, epochs and indices to {REQUIRED}")
    draw = trial.random.randrange
    keys = {tuple(draw(most + 1) for most in REQUIRED) for _ in range(CHANCE)}
    owners: dict[tuple[int, ...], Key] = {}
    for key in keys:  # bare calls: so many take seconds
        numbers = draws(answer(*key))
        if (owner := owners.setdefault(numbers, key)) is not key:
            trial.fail(
                f"Two samples share a stream: sample_generator{owner} and sample_generator{key}. Seeds of 32 bits that are "
                "drawn as if by chance meet after some 100,000 samples (the birthday rule).",
                expected="a stream of its own for each key that is accepted",
                got=f"the seed {made(answer, trial, key).initial_seed()} for both",
                observed="32 bits",
            )


def most_accepted(answer: Callable[..., Any], trial: Trial, at: int) -> int:
    """The largest number that the answer accepts, below 2**62, beside zeros for the other two."""
    fewest, most = REQUIRED[at], MOST
    middle = most
    while fewest < most:
        if first_draws(answer, trial, raised((0, 0, 0), at, middle)) is None:
            most = middle - 1
        else:
            fewest = middle
        middle = (fewest + most + 1) // 2
    return fewest


def seed_of_32_bits(generator: torch.Generator) -> int | None:
    """The seed with which manual_seed gives this generator, or one that is a few draws behind it; else None.

    Tried are its initial seed and the first word of its state: manual_seed makes the seed the first word, and so
    does NumPy's RandomState(seed), whose state fits in here.
    """
    first_word = int.from_bytes(bytes(generator.get_state()[24:28].tolist()), "little")
    numbers = torch.randint(WORD, (4,), generator=generator).tolist()
    for seed in (generator.initial_seed(), first_word):
        plain = torch.Generator().manual_seed(seed)
        stream = torch.randint(WORD, (300,), generator=plain).tolist()
        if any(stream[at : at + 4] == numbers for at in range(200)):
            return seed
    return None
