"""Exercise 01.sample_generator: a generator for each sample, whoever loads it, and whenever."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.reproducibility.seed_everything.exercise import GLOBAL, stirred
from helpers.labs.reproducibility.shared.machines import elsewhere, worker

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

Key = tuple[int, int, int]
NAMES = ("seed", "epoch", "index")
WORD = 2**31
REQUIRED = (255, 100, 50_000)  # seed, epoch, index up to these no answer may refuse


def made(answer: Callable[..., Any], trial: Trial, key: Key) -> torch.Generator:
    """answer(*key), if it is a generator on the CPU and not the global one."""
    before = torch.default_generator.initial_seed()
    got = answer(*key)
    if not isinstance(got, torch.Generator):
        kind = type(got).__name__
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
    return draws(generator)


def some_key(trial: Trial) -> Key:
    return trial.random.randrange(200), trial.random.randrange(1, 50), trial.random.randrange(1, 1000)


@sample_generator.property("each call gives a new generator on the CPU, and moves no other")
def _(answer: Any, trial: Trial) -> None:
    key = some_key(trial)
    other = (key[0], key[1], key[2] + 1)
    trial.given(f"(seed, epoch, index) = {key}, then {other}, then the first again")
    one = made(lambda *numbers: trial.call(answer, *numbers), trial, key)
    place = one.get_state()
    two = made(answer, trial, other)
    trial.true(
        two is not one,
        "Two calls gave one and the same object: making the second sample's generator moved that of the first.",
        expected="an object of its own for each call",
    )
    trial.true(
        made(answer, trial, key) is not one,
        "A second call with the same key gave the same object: it goes on where its first user left it.",
        expected="an object of its own for each call",
    )
    trial.true(
        torch.equal(place, one.get_state()),
        "Making another sample's generator moved this one.",
        expected="generators that have nothing in common",
    )


OTHER_PROCESSES: dict[str, dict[str, int]] = {
    "in a process with another number": {"pid": 5},
    "at another time": {"hours": 5},
    "in a process with another salt in its hashes": {"salt": 5},
}


@sample_generator.property(
    "the three numbers alone decide, in every worker and in every order", changes=GLOBAL
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
    for word, process in OTHER_PROCESSES.items():
        with elsewhere(**process):
            if other := again():
                return word, first, other
    return None


@sample_generator.property("seed, epoch and index each decide")
def _(answer: Any, trial: Trial) -> None:
    key = some_key(trial)
    trial.given(f"(seed, epoch, index) = {key}, and one number raised by 1")
    ignored, cut = [], ""
    first = made(answer, trial, key)
    seed, numbers = first.initial_seed(), draws(first)
    for at, name in enumerate(NAMES):
        second = made(answer, trial, _raised(key, at, 1))
        if draws(second) == numbers:
            ignored.append(name)
            cut = cut or (_cut(seed) if second.initial_seed() != seed else "")
    if ignored:
        trial.fail(
            f"Another {' or '.join(ignored)} gives the same numbers.{cut}",
            expected="another stream for every seed, epoch and index",
            observed=(ignored, bool(cut)),
        )


def _cut(seed: int) -> str:
    return f" manual_seed was given {seed:,}; a CPU generator uses the low 32 bits of its seed and cuts off the rest."


def _raised(key: Key, at: int, by: int) -> Key:
    numbers = list(key)
    numbers[at] += by
    return numbers[0], numbers[1], numbers[2]


@sample_generator.property("keys of simple kinds have streams of their own")
def _(answer: Any, trial: Trial) -> None:
    base = trial.random.randrange(200)
    trial.given(
        f"seeds {base} and {base + 1}, epochs 0 to 4, 10, 100, 1000, indices 0 to 5 and large round ones"
    )
    _apart(answer, trial, simple_keys(base))


def simple_keys(base: int) -> list[Key]:
    """Keys that meet where a key is a sum, an xor, or a sum with a factor."""
    indices = [*range(6), *(number + more for number in ROUND for more in (0, 1))]
    epochs = (*range(5), 10, 100, 1000)
    keys = [(base + more, epoch, index) for more in (0, 1) for epoch in epochs for index in indices]
    # Written side by side without a sign between them, 1, 11 and 11, 1 are the same.
    return keys + [key for key in itertools.product((1, 11, 111), (1, 11), (1, 11, 111)) if key not in keys]


def _apart(answer: Callable[..., Any], trial: Trial, keys: list[Key]) -> None:
    """Wrong if the generators of two pairs of keys draw the same numbers. One pair of 32 bits may be chance."""
    pairs = list(shared(answer, trial, keys))
    if len(pairs) < 2:
        return
    one, other = pairs[0]
    trial.fail(
        f"Two samples share a stream: sample_generator{one} and sample_generator{other}.",
        expected="another stream for every (seed, epoch, index)",
        got=f"{len(pairs):,} such pairs among {len(keys):,} keys",
        observed=_kind(pairs),
    )


# Data sets and powers by which people multiply an epoch.
ROUND = (10, 100, 1000, 1024, 10_000, 50_000, 60_000, 65_536, 100_000, 10**6, 2**20, 10**7, 2**24)


def shared(answer: Callable[..., Any], trial: Trial, keys: Iterable[Key]) -> Iterator[tuple[Key, Key]]:
    """Pairs of keys whose generators draw the same first numbers; a key that is refused is left out."""
    owners: dict[tuple[int, ...], Key] = {}
    for key in keys:
        numbers = first_draws(answer, trial, key)
        if numbers is not None and (owner := owners.setdefault(numbers, key)) != key:
            yield owner, key


def _kind(pairs: list[tuple[Key, Key]]) -> object:
    """How the keys of such pairs differ: what tells a sum from an xor, from a stride, from chance."""
    shifts = Counter(_shift(*pair) for pair in pairs)
    common = {shift for shift, count in shifts.items() if count > 4}
    if sum(x[:2] == y[:2] and x[1] == 0 for x, y in pairs) > 4:
        return "product"
    if (0, 1, 1) in common:
        return "xor"
    if (0, 1, -1) in common:
        return "sum"
    if any(seed == 0 and epoch * index < 0 for seed, epoch, index in common):
        return "stride"
    return sorted(common)[:5] or "chance"


def _shift(one: Key, other: Key) -> Key:
    return other[0] - one[0], other[1] - one[1], other[2] - one[2]


FAR = (2**31, 2**32, 2**40, 2**48)


@sample_generator.property(
    "large numbers count in full, or are refused; the streams are more than 2**32", changes=GLOBAL
)
def _(answer: Any, trial: Trial) -> None:
    key = trial.random.randrange(2000, 3000), trial.random.randrange(3, 20), trial.random.randrange(30, 99)
    trial.given(f"(seed, epoch, index) = {key}, with one of them raised by 2**31, 2**32, 2**40, 2**48")
    keys = [key, *(_raised(key, at, by) for at in range(3) for by in FAR)]
    pairs = list(shared(answer, trial, keys))
    if pairs:
        one, other = pairs[0]
        seed = made(answer, trial, other).initial_seed()
        trial.fail(
            f"Two samples share a stream: sample_generator{one} and sample_generator{other}."
            + (_cut(seed) if seed >= 2**32 and seed != made(answer, trial, one).initial_seed() else ""),
            expected="another stream, or ValueError for a key that has no place",
            observed="high bits lost" if all(sum(_shift(*pair)) % 2**31 == 0 for pair in pairs) else "other",
        )
    _has_room(answer, trial)


def _has_room(answer: Callable[..., Any], trial: Trial) -> None:
    """Wrong if the answer takes more keys than there are seeds of 32 bits, and its generator has such a seed."""
    key = (trial.random.randrange(1000), 2**20 + 1, 2**40 + 1)
    trial.given(f"(seed, epoch, index) = {key}")
    if first_draws(answer, trial, key) is None or swayed(answer, trial, key):
        return
    generator = made(answer, trial, key)
    given = generator.initial_seed()
    seed = seed_of_32_bits(generator)
    if seed is None:
        return
    cut = seed == given and seed >= 2**32
    trial.fail(
        (_cut(seed).strip() if cut else f"The generator is that of manual_seed({seed}), a key of 32 bits.")
        + " There are more samples than such keys, and the answer refuses none: two of some 100,000 samples share "
        "a stream (the birthday rule).",
        expected="a generator whose whole state is filled, or ValueError for what is beyond a bound",
        observed="cut by manual_seed" if cut else "32 bits",
    )


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


@sample_generator.property("the streams of neighbours have nothing in common")
def _(answer: Any, trial: Trial) -> None:
    key = some_key(trial)
    trial.given(f"(seed, epoch, index) = {key} and its neighbours, 1,500 draws of each")
    keys = [key, *(_raised(key, at, by) for at in range(3) for by in (1, 2))]
    streams = [torch.randint(WORD, (1500,), generator=made(answer, trial, each)).tolist() for each in keys]
    for each, stream in zip(keys[1:], streams[1:], strict=True):
        at_one_place = sum(a == b for a, b in zip(streams[0], stream, strict=True))
        common = len(set(streams[0]) & set(stream))
        if common > 10:  # chance gives one in a thousand checks
            kind = "at the same places" if at_one_place > 10 else "some draws later"
            trial.fail(
                f"sample_generator{key} and sample_generator{each} draw {common} of 1,500 numbers alike, {kind}.",
                expected="streams that have nothing in common",
                observed=kind,
            )


@sample_generator.property("the 5,000 samples of a run have 5,000 streams", changes=GLOBAL, once_right=True)
def _(answer: Any, trial: Trial) -> None:
    seed = trial.random.randrange(200)
    trial.given(f"seed = {seed}, epochs 0 to 24, indices 0 to 199")
    _apart(answer, trial, [(seed, epoch, index) for epoch in range(25) for index in range(200)])
