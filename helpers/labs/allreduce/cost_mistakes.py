"""What people write for 08.cost, and why it is wrong: the wrong number of messages, bytes or additions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations

from helpers.labs.allreduce.cost import cost
from helpers.labs.allreduce.cost_model import Terms, terms

Part = Callable[[int, float], float]  # world, nbytes -> how many
Flaws = Mapping[str, Part]  # by algorithm and part: "ring.added"


def flawed(flaws: Flaws) -> Callable[..., float]:
    """A cost with these parts in place of the right ones."""

    def wrong(algorithm: str, world: int, nbytes: float, alpha: float, beta: float, gamma: float) -> float:
        if algorithm not in ("naive", "ring"):
            raise ValueError(algorithm)
        right = terms(algorithm, world, nbytes)
        messages, carried, added = (
            flaws[f"{algorithm}.{part}"](world, nbytes) if f"{algorithm}.{part}" in flaws else value
            for part, value in zip(Terms._fields, right, strict=True)
        )
        return messages * alpha + carried * beta + added * gamma

    return wrong


def scaled(factor: Callable[[int], float], *names: str) -> Flaws:
    """The right parts of these names, times a factor that the world decides."""

    def part(name: str) -> Part:
        algorithm, _, field = name.partition(".")
        return lambda world, nbytes: factor(world) * getattr(terms(algorithm, world, nbytes), field)

    return {name: part(name) for name in names}


def chosen(flaws: Flaws, *starts: str) -> Flaws:
    """Those flaws whose name starts with one of these."""
    return {name: part for name, part in flaws.items() if name.startswith(starts)}


SENT = ("ring.messages", "ring.carried", "naive.messages", "naive.carried")
ALL = (*SENT, "ring.added", "naive.added")

# Of each mistake the ways in which people make it; the first is the wrong answer itself. In the order in which the
# properties reject them: of two mistakes together the first gives the name.
WAYS: dict[str, list[Flaws]] = {}

whole = scaled(lambda world: world, "ring.carried", "ring.added")
added_twice = scaled(lambda world: 2.0 * world, "ring.added") | scaled(lambda world: 2.0, "naive.added")
WAYS["whole_vector_each_step"] = [
    chosen(whole, "ring.carried"),
    whole,
    chosen(whole, "ring.carried") | added_twice,
    chosen(whole, "ring.carried") | chosen(added_twice, "ring"),
]

half = scaled(lambda world: 0.5, *SENT)
WAYS["one_phase"] = [
    chosen(half, "ring"),
    half,
    chosen(half, "naive"),
    chosen(half, "ring.carried"),
    chosen(half, "ring.carried", "naive.carried"),
    chosen(half, "naive.carried"),
    half | scaled(lambda world: 0.0, "ring.added", "naive.added"),
    half | scaled(lambda world: 2.0, "ring.added", "naive.added"),
]

steps = scaled(lambda world: world / (world - 1) if world > 1 else 1, *ALL)
WAYS["as_many_steps_as_ranks"] = [
    steps,
    chosen(steps, "ring"),
    chosen(steps, "naive"),
    chosen(steps, *SENT),
    chosen(steps, "ring.messages", "ring.carried"),
    chosen(steps, "naive.messages", "naive.carried"),
    chosen(steps, "ring.added", "naive.added"),
    chosen(steps, "ring.added"),
    chosen(steps, "naive.added"),
]

everyone = scaled(lambda world: world, "ring.messages", "ring.carried", "ring.added")
WAYS["all_ranks_added_up"] = [
    everyone,
    chosen(everyone, "ring.messages", "ring.carried"),
    everyone | scaled(lambda world: world, "naive.messages", "naive.carried", "naive.added"),
]

bits = scaled(lambda world: 8.0, "ring.carried", "naive.carried", "ring.added", "naive.added")
WAYS["bits"] = [
    chosen(bits, "ring.carried", "naive.carried"),
    bits,
    scaled(lambda world: 1 / 8, *bits),
    scaled(lambda world: 1 / 8, "ring.carried", "naive.carried"),
    scaled(lambda world: 1 / 4, *bits),
    scaled(lambda world: 1 / 4, "ring.carried", "naive.carried"),
]

WAYS["microseconds"] = [scaled(lambda world, by=by: by, *ALL) for by in (1e6, 1e3, 1e9)]

swapped: Flaws = {
    f"{one}.{part}": lambda world, nbytes, other=other, part=part: getattr(terms(other, world, nbytes), part)
    for one, other in (("ring", "naive"), ("naive", "ring"))
    for part in Terms._fields
}
WAYS["names_swapped"] = [swapped]

WAYS["alpha_for_each_byte"] = [
    {
        "ring.messages": lambda n, size: 2 * (n - 1) * size / n,
        "naive.messages": lambda n, size: 2 * (n - 1) * size,
    },
    {
        "ring.messages": lambda n, size: 2 * (n - 1) * size,
        "naive.messages": lambda n, size: 2 * (n - 1) * size,
    },
    {"ring.messages": lambda n, size: 2 * (n - 1) * size / n},
]

once: Flaws = {"ring.messages": lambda n, size: 2.0, "naive.messages": lambda n, size: 2.0}
alone: Flaws = {"ring.messages": lambda n, size: 1.0, "naive.messages": lambda n, size: 1.0}
WAYS["alpha_once"] = [alone, once, chosen(alone, "ring"), chosen(once, "ring")]

twice = scaled(lambda world: 2.0, "ring.added", "naive.added")
WAYS["adds_in_both_phases"] = [twice, chosen(twice, "ring"), chosen(twice, "naive")]

WAYS["adds_whole_vectors"] = [chosen(whole, "ring.added")]

nothing = scaled(lambda world: 0.0, "ring.added", "naive.added")
WAYS["gamma_ignored"] = [nothing, chosen(nothing, "ring")]

single: Flaws = {"ring.added": lambda n, size: size / n, "naive.added": lambda n, size: size}
WAYS["added_once"] = [single, chosen(single, "naive"), chosen(single, "ring")]

WAYS["root_at_once"] = [
    {"naive.messages": lambda n, size: 2.0, "naive.carried": lambda n, size: 2 * size},
    {"naive.messages": lambda n, size: 2.0, "naive.carried": lambda n, size: 2 * size}
    | chosen(single, "naive"),
]

sending = {"naive.messages": lambda n, size: n, "naive.carried": lambda n, size: n * size}
WAYS["only_sending_is_limited"] = [sending, sending | chosen(single, "naive")]

WAYS["naive_in_chunks"] = [
    {"naive.carried": lambda n, size: 2 * (n - 1) * size / n},
    {
        "naive.carried": lambda n, size: 2 * (n - 1) * size / n,
        "naive.added": lambda n, size: (n - 1) * size / n,
    },
]

WHY = {
    "whole_vector_each_step": (
        "In a step of the ring a rank sends one chunk, nbytes / world. With the whole vector in each step the ring would "
        "be as slow as the naive way."
    ),
    "one_phase": (
        "That is one phase. The sum must also come back to all: the ring's all-gather and the root's answers send as "
        "much again, so 2 * (world - 1)."
    ),
    "as_many_steps_as_ranks": (
        "A phase has world - 1 steps, not world: a rank has its own part already. At world 2 that is twice too much, at "
        "1,024 it hardly shows."
    ),
    "all_ranks_added_up": "All ranks' messages were added up. They are sent at the same time: follow one rank, the one with the most to do.",
    "bits": (
        "beta is seconds a byte, and nbytes are bytes: neither the 8 bits of a byte nor the 4 bytes of a float32 belong "
        "into the formula."
    ),
    "microseconds": "The result is in another unit: alpha is seconds a message, so the sum is in seconds as it is.",
    "names_swapped": "The formulas of naive and ring have changed places. It is the ring that sends chunks of nbytes / world.",
    "alpha_for_each_byte": "alpha was paid for each byte. It is the price of starting a message, the same for 1 byte and for 64 MB.",
    "alpha_once": (
        "alpha was paid once for the whole call or once a phase. Each step waits for the message of the step before, so "
        "each message pays it."
    ),
    "adds_in_both_phases": "Additions were counted in both phases. The second phase only copies: what comes back is the sum already.",
    "adds_whole_vectors": "In a step of the ring only the chunk that came is added, nbytes / world; the rest of the vector is not touched.",
    "gamma_ignored": "The time for adding is missing. It is small beside a slow network, and not beside a fast one.",
    "added_once": "Only one addition is counted. world - 1 vectors, or chunks, come in one after the other, and each is added.",
    "root_at_once": (
        "The root was given a port for every rank. It has one: world - 1 messages come in through it one after the other, "
        "and world - 1 go out. That is why naive does not scale."
    ),
    "only_sending_is_limited": (
        "Only sending was taken as slow. Receiving is limited as well: the other ranks all send at once, and the root "
        "still takes in one message after the other."
    ),
    "naive_in_chunks": "The naive way knows no chunks: each message holds the whole vector.",
}

for name, why in WHY.items():
    first, *others = WAYS[name]
    cost.add_mistake(name, flawed(first), why=why)
    for flaws in others:
        cost.add_variant(name, flawed(flaws))
# What often comes beside another mistake: the additions, or the root's port.
BESIDE = ("adds_in_both_phases", "gamma_ignored", "added_once", "root_at_once", "only_sending_is_limited")
for one, other in combinations(WHY, 2):
    if other in BESIDE and not WAYS[one][0].keys() & WAYS[other][0].keys():
        cost.add_variant(one, flawed(WAYS[one][0] | WAYS[other][0]))
