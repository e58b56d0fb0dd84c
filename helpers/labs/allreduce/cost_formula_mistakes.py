"""What else people write for 08.cost: each count is right, and the formula around it is not."""

from __future__ import annotations

import math
from collections.abc import Callable

from helpers.exercise import returned
from helpers.labs.allreduce.cost import cost
from helpers.labs.allreduce.cost_model import seconds, terms

built = cost.bank(returned)


@cost.mistake()
def beta_is_bandwidth(
    algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float
) -> float:
    """beta is the inverse of the bandwidth, seconds a byte: multiply by it. Divided by it, a faster network
    takes longer.
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


@cost.mistake()
def chunks_rounded(algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float) -> float:
    """nbytes // world cuts the rest off, which is sent all the same, and a vector shorter than the world
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


@cost.mistake()
def only_the_larger_part(
    algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float
) -> float:
    """max() of two parts lets the smaller one vanish, as if both ran at the same time. A message first
    starts, then its bytes flow, then they are added: the parts add up.
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


@cost.mistake()
def one_rank_pays(algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float) -> float:
    """A world of one was priced like a world of two. It has no other rank, so no step at all: world - 1 is 0,
    and no max() is needed around it.
    """
    known(algorithm, world, nbytes)
    steps = max(1, world - 1)
    chunk = nbytes / world if algorithm == "ring" else nbytes
    return 2 * steps * (alpha + chunk * beta) + steps * chunk * gamma


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


@cost.mistake()
def nothing_is_free(
    algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float
) -> float:
    """An empty vector was said to cost nothing. The steps are made all the same, and each message costs
    alpha.
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


@built.mistake()
def tree_rounds_cut():
    """log2(world) must be rounded up: a tree over 3 ranks needs 2 rounds, as one over 4 does."""
    return with_tree(lambda world: int(math.log2(world)))


cost.variant(tree_rounds_cut)(with_tree(math.log2))
cost.variant(tree_rounds_cut)(with_tree(lambda world: round(math.log2(world))))


@built.mistake()
def tree_one_way():
    """The tree goes up only. Then the root alone has the sum; it must come down again."""
    return with_tree(rounded_up, up_and_down=1)


@built.mistake()
def tree_adds_going_down():
    """The tree adds on its way down as well. There the ready sum is copied."""
    return with_tree(rounded_up, adding=2)
