"""What people write for 08.cost, and why it is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import combinations

import numpy as np

from helpers.check.spec import returned
from helpers.labs.allreduce.cost.exercise import (
    ADDING,
    ALONE,
    AT_ONCE,
    EMPTY,
    MESSAGE,
    NAIVE,
    PORT,
    RING,
    TREE,
    cost,
)
from helpers.labs.allreduce.shared.cost_model import Terms, seconds, terms

built = cost.bank(returned)


@cost.mistake(breaks=MESSAGE)
def beta_is_bandwidth(
    algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float
) -> float:
    """The bytes come out far too expensive: as if they were divided by beta. beta is the inverse of the
    bandwidth, seconds a byte: multiply by it. Divided by it, a faster network takes longer.
    """
    messages, carried, added = known(algorithm, world, nbytes)
    return messages * alpha + carried / beta + added * gamma


@cost.variant(beta_is_bandwidth)
def _(algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float) -> float:
    messages, carried, added = known(algorithm, world, nbytes)
    return messages * alpha + carried / beta + added / gamma


@cost.variant(beta_is_bandwidth)
def _(algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float) -> float:
    messages, carried, added = known(algorithm, world, nbytes)
    return messages * alpha + (carried / beta if beta else 0.0) + added * gamma


def known(algorithm: str, world: int, nbytes: float) -> tuple[float, float, float]:
    """Messages, bytes carried and bytes added of the two algorithms that an answer must know."""
    if algorithm not in ("naive", "ring"):
        raise ValueError(algorithm)
    return terms(algorithm, world, nbytes)


@cost.mistake(breaks=RING)
def chunks_rounded(algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float) -> float:
    """Right where world divides nbytes, and wrong where it does not. Perhaps nbytes / world was rounded,
    as by `//`: that cuts a rest off, which is sent all the same, and a vector shorter than the world
    costs no bytes at all.
    """
    known(algorithm, world, nbytes)
    chunk = nbytes // world if algorithm == "ring" else nbytes
    return 2 * (world - 1) * (alpha + chunk * beta) + (world - 1) * chunk * gamma


@cost.variant(chunks_rounded)
def _(algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float) -> float:
    known(algorithm, world, nbytes)
    chunk = math.ceil(nbytes / world) if algorithm == "ring" else nbytes
    return 2 * (world - 1) * (alpha + chunk * beta) + (world - 1) * chunk * gamma


@cost.variant(chunks_rounded)
def _(algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float) -> float:
    known(algorithm, world, nbytes)
    chunk = round(nbytes / world) if algorithm == "ring" else nbytes
    return 2 * (world - 1) * (alpha + chunk * beta) + (world - 1) * chunk * gamma


@cost.variant(chunks_rounded)
def _(algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float) -> float:
    messages, carried, added = known(algorithm, world, nbytes)
    chunk = nbytes // world if algorithm == "ring" else nbytes
    return messages * alpha + 2 * (world - 1) * chunk * beta + added * gamma


@cost.variant(chunks_rounded)
def _(algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float) -> float:
    messages, carried, added = known(algorithm, world, nbytes)
    return messages * alpha + int(carried) * beta + int(added) * gamma


@cost.mistake(breaks=f"{MESSAGE}; {ADDING}")
def only_the_larger_part(
    algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float
) -> float:
    """Each part alone is right, and together they cost too little. Perhaps max() of two parts lets the
    smaller one vanish, as if both ran at the same time. A message first starts, then its bytes flow, then
    they are added: the parts add up.
    """
    messages, carried, added = known(algorithm, world, nbytes)
    return max(messages * alpha, carried * beta) + added * gamma


@cost.variant(only_the_larger_part)
def _(algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float) -> float:
    messages, carried, added = known(algorithm, world, nbytes)
    return messages * alpha + max(carried * beta, added * gamma)


@cost.variant(only_the_larger_part)
def _(algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float) -> float:
    messages, carried, added = known(algorithm, world, nbytes)
    return max(messages * alpha, carried * beta, added * gamma)


@cost.variant(only_the_larger_part)
def _(algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float) -> float:
    messages, carried, added = known(algorithm, world, nbytes)
    return (
        messages * alpha + carried * beta
        if carried * beta > added * gamma
        else messages * alpha + added * gamma
    )


@cost.variant(only_the_larger_part)
def _(algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float) -> float:
    """A chunk, or a vector, is added while the next is on its way."""
    messages, carried, added = known(algorithm, world, nbytes)
    steps = max(1, messages / 2)
    message = (messages * alpha + carried * beta) / (2 * steps)
    return steps * (message + max(message, added * gamma / steps))


@cost.mistake(breaks=ALONE)
def one_rank_pays(algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float) -> float:
    """A world of one is to cost something. It has no other rank, so there is no step at all: world - 1 is
    0. Perhaps there is a max() around it, or a case of its own.
    """
    known(algorithm, world, nbytes)
    steps = max(1, world - 1)
    chunk = nbytes / world if algorithm == "ring" else nbytes
    return 2 * steps * (alpha + chunk * beta) + steps * chunk * gamma


@cost.variant(one_rank_pays)
def _(algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float) -> float:
    known(algorithm, world, nbytes)
    return alpha if world == 1 else seconds(algorithm, world, nbytes, alpha, beta, gamma)


@cost.variant(one_rank_pays)
def _(algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float) -> float:
    known(algorithm, world, nbytes)
    if world == 1:
        return alpha + nbytes * beta
    return seconds(algorithm, world, nbytes, alpha, beta, gamma)


@cost.variant(one_rank_pays)
def _(algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float) -> float:
    known(algorithm, world, nbytes)
    if world == 1:
        return nbytes * gamma
    return seconds(algorithm, world, nbytes, alpha, beta, gamma)


@cost.mistake(breaks=EMPTY)
def nothing_is_free(
    algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float
) -> float:
    """An empty vector costs nothing here. The steps are made all the same, and each message costs alpha.
    Perhaps there is a case for nbytes of 0.
    """
    known(algorithm, world, nbytes)
    return seconds(algorithm, world, nbytes, alpha, beta, gamma) if nbytes else 0.0


def with_tree(rounds: Callable[[int], float], up_and_down: int = 2, adding: int = 1) -> Callable[..., float]:
    """Naive and ring are right; the tree has so many rounds, ways and additions a round."""

    def wrong(algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float) -> float:
        if algorithm != "tree":
            return seconds(algorithm, world, nbytes, alpha, beta, gamma)
        count = rounds(world)
        return up_and_down * count * (alpha + nbytes * beta) + adding * count * nbytes * gamma

    return wrong


def rounded_up(world: int) -> int:
    return (world - 1).bit_length()


@built.mistake(breaks=TREE[0])
def tree_rounds_cut():
    """The tree is right for worlds that are powers of two, and too cheap for others. Perhaps log2(world)
    was not rounded up: a tree over 3 ranks needs 2 rounds, as one over 4 does.
    """
    return with_tree(lambda world: int(math.log2(world)))


cost.variant(tree_rounds_cut)(with_tree(math.log2))
cost.variant(tree_rounds_cut)(with_tree(lambda world: round(math.log2(world))))


@built.mistake(breaks=TREE[0])
def tree_one_way():
    """The tree sends half of what it should. Perhaps it goes up only. Then the root alone has the sum; it
    must come down again.
    """
    return with_tree(rounded_up, up_and_down=1)


@built.mistake(breaks=TREE[1])
def tree_adds_going_down():
    """The tree adds twice as much as it should. Perhaps it adds on its way down as well. There the ready
    sum is copied.
    """
    return with_tree(rounded_up, adding=2)


@built.mistake(breaks=ALONE)
def tree_on_one_rank():
    """The tree is right on two ranks and more, and on one rank alone it costs something. Perhaps it has one round at the
    least, or the digits of bin(world - 1) were counted, and 0 has one, too. log2(1) is 0: there are no rounds.
    """
    return with_tree(lambda world: max(1, rounded_up(world)))


cost.variant(tree_on_one_rank)(with_tree(lambda world: len(bin(world - 1)) - 2))


@cost.mistake(breaks=EMPTY)
def empty_tree_is_free(
    algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float
) -> float:
    """The tree sends an empty vector for nothing, where naive and the ring do not. Each round has its message all the same,
    and each message costs alpha. Perhaps there is a case for nbytes of 0.
    """
    if algorithm == "tree" and not nbytes:
        return 0.0
    return seconds(algorithm, world, nbytes, alpha, beta, gamma)


# The wrong number of messages, bytes or additions.


Part = Callable[[int, float], float]  # world, nbytes -> how many
WrongParts = Mapping[str, Part]  # by algorithm and part: "ring.added"


def with_wrong_parts(parts: WrongParts) -> Callable[..., float]:
    """A cost with these parts in place of the right ones."""

    def wrong(algorithm: str, world: int, nbytes: float, alpha: float, beta: float, gamma: float) -> float:
        if algorithm not in ("naive", "ring"):
            raise ValueError(algorithm)
        right = terms(algorithm, world, nbytes)
        messages, carried, added = (
            parts[f"{algorithm}.{part}"](world, nbytes) if f"{algorithm}.{part}" in parts else value
            for part, value in zip(Terms._fields, right, strict=True)
        )
        return messages * alpha + carried * beta + added * gamma

    return wrong


def scaled(factor: Callable[[int], float], *names: str) -> WrongParts:
    """The right parts of these names, times a factor that the world decides."""

    def part(name: str) -> Part:
        algorithm, _, field = name.partition(".")
        return lambda world, nbytes: factor(world) * getattr(terms(algorithm, world, nbytes), field)

    return {name: part(name) for name in names}


def chosen(parts: WrongParts, *starts: str) -> WrongParts:
    """Those parts whose name starts with one of these."""
    return {name: part for name, part in parts.items() if name.startswith(starts)}


SENT = ("ring.messages", "ring.carried", "naive.messages", "naive.carried")
ALL = (*SENT, "ring.added", "naive.added")

# Of each mistake the ways in which people make it; the first is the wrong answer itself. In the order in which the
# properties reject them: of two mistakes together the first gives the name.
WAYS: dict[str, list[WrongParts]] = {}

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

swapped: WrongParts = {
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

once: WrongParts = {"ring.messages": lambda n, size: 2.0, "naive.messages": lambda n, size: 2.0}
alone: WrongParts = {"ring.messages": lambda n, size: 1.0, "naive.messages": lambda n, size: 1.0}
WAYS["alpha_once"] = [alone, once, chosen(alone, "ring"), chosen(once, "ring"), chosen(once, "naive")]

twice = scaled(lambda world: 2.0, "ring.added", "naive.added")
WAYS["adds_in_both_phases"] = [twice, chosen(twice, "ring"), chosen(twice, "naive")]

WAYS["adds_whole_vectors"] = [chosen(whole, "ring.added")]

nothing = scaled(lambda world: 0.0, "ring.added", "naive.added")
WAYS["gamma_ignored"] = [nothing, chosen(nothing, "ring"), chosen(nothing, "naive")]

WAYS["both_ways_in_turn"] = [scaled(lambda world: 2.0, "ring.messages", "ring.carried")]

WAYS["gamma_for_each_element"] = [
    scaled(lambda world, by=by: by, "ring.added", "naive.added") for by in (1 / 4, 1 / 8)
]

single: WrongParts = {"ring.added": lambda n, size: size / n, "naive.added": lambda n, size: size}
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

WHY = {  # what it breaks, and the sentence
    "whole_vector_each_step": (
        RING,
        "The ring sends `world` times too many bytes: as many as if each step sent the whole vector, and no fewer than the "
        "naive way. In a step a rank sends one chunk. Perhaps nbytes was not divided by world.",
    ),
    "one_phase": (
        RING,
        "Half of what is sent is missing. The sum must also come back to all: the ring's all-gather and the root's answers "
        "send as much again, so 2 * (world - 1). Perhaps one phase was counted.",
    ),
    "as_many_steps_as_ranks": (
        RING,
        "Too much by world / (world - 1): twice at world 2, hardly seen at 1,024. Perhaps a phase has world steps. It has "
        "world - 1: a rank has its own part already.",
    ),
    "all_ranks_added_up": (
        AT_ONCE,
        "The ring costs `world` times too much, its bytes and its messages. Perhaps all ranks' messages were added up. They "
        "are sent at the same time: follow one rank, the one with the most to do.",
    ),
    "bits": (
        MESSAGE,
        "The bytes are off by 8, or by 4, in naive as in the ring. beta is seconds a byte, and nbytes are bytes: perhaps the 8 "
        "bits of a byte or the 4 bytes of a float32 got into the formula.",
    ),
    "microseconds": (
        MESSAGE,
        "All is a power of 1,000 too large. Perhaps the result is in a different unit: alpha is seconds a message, so the sum "
        "is in seconds as it is.",
    ),
    "names_swapped": (
        NAIVE,
        "The ring costs what naive should, and naive what the ring should. Perhaps the formulas have changed places. It is "
        "the ring that sends chunks of nbytes / world.",
    ),
    "alpha_for_each_byte": (
        MESSAGE,
        "The messages cost more the longer they are. Perhaps alpha was paid for each byte. It is the price of starting a "
        "message, the same for 1 byte and for 64 MB.",
    ),
    "alpha_once": (
        MESSAGE,
        "The messages cost the same for any number of ranks. Perhaps alpha was paid once for the whole call, or once a phase. "
        "Each step waits for the message of the step before, so each message pays it.",
    ),
    "adds_in_both_phases": (
        AT_ONCE,
        "Twice as much is added as should be. Perhaps additions were counted in both phases. The second phase only copies: "
        "what comes back is the sum already.",
    ),
    "adds_whole_vectors": (
        RING,
        "The ring adds `world` times as much as it should. Perhaps whole vectors are added. In a step only the chunk that came "
        "is added, nbytes / world; the rest of the vector is not touched.",
    ),
    "gamma_ignored": (
        ADDING,
        "Adding costs nothing here. Perhaps gamma was left out. It is small beside a slow network, and not beside a fast one.",
    ),
    "both_ways_in_turn": (
        PORT,
        "What the ring sends costs twice as much as it should. Perhaps sending and receiving were added up. A rank does both "
        "at once: while its chunk goes out, the next one comes in.",
    ),
    "gamma_for_each_element": (
        ADDING,
        "An addition costs a fixed part of what it should, a quarter or an eighth. Perhaps gamma was paid for each element. "
        "It is seconds a byte.",
    ),
    "added_once": (
        ADDING,
        "As much is added as one vector or one chunk has, for any number of ranks. Perhaps one addition is counted. "
        "world - 1 vectors, or chunks, come in one after the other, and each is added.",
    ),
    "root_at_once": (
        PORT,
        "Naive costs the same for any number of ranks. Perhaps the root was given a port for every rank. It has one: world - 1 "
        "messages come in through it one after the other, and world - 1 go out. That is why naive does not scale.",
    ),
    "only_sending_is_limited": (
        PORT,
        "Naive pays for `world` messages, not for 2 * (world - 1). Perhaps one direction was taken as free: as if the root "
        "could take in all messages at once, or send them all at once. Both ways it has one message after the other.",
    ),
    "naive_in_chunks": (
        NAIVE,
        "Naive sends an nth of the bytes, with as many messages. Perhaps it was counted in chunks. The naive way knows none: "
        "each message holds the whole vector.",
    ),
}

for name, (words, why) in WHY.items():
    first, *others = WAYS[name]
    cost.add_mistake(name, with_wrong_parts(first), why=why, breaks=words)
    for wrong in others:
        cost.add_variant(name, with_wrong_parts(wrong))
# What often comes beside another mistake: the additions, or the root's port.
BESIDE = ("adds_in_both_phases", "gamma_ignored", "added_once", "root_at_once", "only_sending_is_limited")
for one, other in combinations(WHY, 2):
    if other in BESIDE and not WAYS[one][0].keys() & WAYS[other][0].keys():
        cost.add_variant(one, with_wrong_parts(WAYS[one][0] | WAYS[other][0]))


@cost.mistake(breaks=MESSAGE)
def counted_in_32_bits(
    algorithm: str, world: int, nbytes: float, alpha: float, beta: float, gamma: float
) -> float:
    """At a terabyte the answer stops: the number of bytes is too large for 32 bits. Perhaps it was put into an int32 of
    numpy or torch. Python's own numbers have no such end.
    """
    np.int32(int(nbytes))
    known(algorithm, world, nbytes)
    return seconds(algorithm, world, nbytes, alpha, beta, gamma)
