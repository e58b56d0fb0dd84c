"""What people write for 07.shard_indices, and why it is wrong."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import torch
from torch.utils.data.distributed import DistributedSampler

from helpers.labs.ddp.shard_indices.exercise import shard_indices


def permutation(n: int, seed: int) -> list[int]:
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed)).tolist()


def order_of(n: int, epoch: int, shuffle: bool, seed: int) -> list[int]:
    return permutation(n, seed + epoch) if shuffle else list(range(n))


def fitted(order: list[int], world: int, drop_last: bool) -> list[int]:
    """The order, cut or begun again so that world divides its length."""
    n = len(order)
    total = (n // world if drop_last else math.ceil(n / world)) * world
    return (order * math.ceil(total / n))[:total] if n else []


@shard_indices.mistake(breaks="Rank r takes the places r, r + world, r + 2 * world, ... of that order.")
def contiguous_blocks(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """Each rank takes a block of neighbours. torch deals one by one, from place rank on in steps of world:
    with a block each, data that is sorted by class or by date gives every rank a different distribution.
    """
    order = fitted(order_of(n, epoch, shuffle, seed), world, drop_last)
    each = len(order) // world
    return order[rank * each : (rank + 1) * each]


@shard_indices.variant(contiguous_blocks)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    each = n // world if drop_last else math.ceil(n / world)
    return order_of(n, epoch, shuffle, seed)[rank * each : (rank + 1) * each]


@shard_indices.variant(contiguous_blocks)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    order = torch.tensor(order_of(n, epoch, shuffle, seed))
    return torch.tensor_split(order, world)[rank].tolist()


@shard_indices.variant(contiguous_blocks)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    each = math.ceil(n / world)
    return order_of(n, epoch, shuffle, seed)[rank * each : (rank + 1) * each]


@shard_indices.variant(contiguous_blocks)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    each = n // world
    return order_of(n, epoch, shuffle, seed)[rank * each : (rank + 1) * each]


@shard_indices.mistake(breaks="Rank r takes the places r, r + world, r + 2 * world, ... of that order.")
def every_rank_has_all(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """Every rank goes through the whole dataset: world times the work for the result of one process. DDP
    averages gradients, it does not split data.
    """
    return order_of(n, epoch, shuffle, seed)


@shard_indices.variant(every_rank_has_all)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    return fitted(order_of(n, epoch, shuffle, seed), world, drop_last)


@shard_indices.mistake(breaks="All ranks get equally many samples.")
def uneven_lengths(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """The first ranks get one sample more than the others. Perhaps `order[rank::world]` is taken of an order
    as it is: before it is dealt, it must get a length that world divides.
    """
    return order_of(n, epoch, shuffle, seed)[rank::world]


@shard_indices.variant(uneven_lengths)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    order = order_of(n, epoch, shuffle, seed)
    return order[rank : n - n % world if drop_last else n : world]


@shard_indices.mistake(breaks="as often as needed (n may be smaller than world)")
def padded_once(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """With few samples some ranks stay without one. Perhaps the order is filled up once, and `order +
    order[:missing]` can at most double it: begin it again as often as needed.
    """
    order = order_of(n, epoch, shuffle, seed)
    total = (n // world if drop_last else math.ceil(n / world)) * world
    return (order + order[: max(0, total - n)])[rank:total:world]


@shard_indices.mistake(breaks="with drop_last the end of the order is dropped")
def drop_last_ignored(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """With drop_last the order is filled up instead of cut. Perhaps drop_last is not looked at."""
    return fitted(order_of(n, epoch, shuffle, seed), world, False)[rank::world]


@shard_indices.variant(drop_last_ignored)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    order = order_of(n, epoch, shuffle, seed)
    return (order + order[: -n % world])[rank::world]


@shard_indices.mistake(breaks="with drop_last the end of the order is dropped")
def one_sample_at_least(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """With drop_last and fewer samples than ranks each rank gets a sample. Perhaps `max(1, n // world)` asks for one: where no
    round is full, all samples are dropped.
    """
    each = max(1, n // world) if drop_last else math.ceil(n / world)
    order = order_of(n, epoch, shuffle, seed)
    return [order[(rank + k * world) % n] for k in range(each)]


@shard_indices.mistake(breaks="If world does not divide n, with drop_last the end of the order is dropped")
def full_round_dropped(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """With drop_last the last round is dropped also where it is full: world divides n there, and nothing is to be dropped.
    Perhaps each rank gets ceil((n - world) / world) samples, or ceil(n / world) - 1: it is n // world.
    """
    each = max(math.ceil((n - world) / world), 0) if drop_last else math.ceil(n / world)
    order = order_of(n, epoch, shuffle, seed)
    return [order[(rank + k * world) % n] for k in range(each)]


@shard_indices.mistake(breaks="Rank r takes the places r, r + world, r + 2 * world, ... of that order.")
def ranks_counted_from_1(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """Each rank takes the places of the rank after it: rank r begins at place r + 1. Perhaps ranks are counted from 1: the
    first is rank 0.
    """
    order = fitted(order_of(n, epoch, shuffle, seed), world, drop_last)
    return [order[(place + 1) % len(order)] for place in range(rank, len(order), world)]


@shard_indices.mistake(breaks="without it the order is repeated from its start")
def always_dropped(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """Without drop_last the end of the order is dropped all the same, and no sample may be lost. Perhaps
    drop_last is not looked at.
    """
    return fitted(order_of(n, epoch, shuffle, seed), world, True)[rank::world]


@shard_indices.mistake(breaks="with drop_last the end of the order is dropped")
def start_dropped(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """With drop_last the start of the order is dropped; torch drops its end."""
    order = order_of(n, epoch, shuffle, seed)
    return order[n % world :][rank::world] if drop_last else fitted(order, world, False)[rank::world]


@shard_indices.mistake(breaks="All ranks get equally many samples.")
def one_round_too_many(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """Where world divides n each rank gets one sample too many: all samples of the last round are dealt
    twice. Perhaps the number is `n // world + 1`; use ceil(n / world).
    """
    order = order_of(n, epoch, shuffle, seed)
    total = (n // world + (not drop_last)) * world
    return (order * (total // n + 1))[rank:total:world]


@shard_indices.mistake(breaks="without it the order is repeated from its start")
def last_sample_repeated(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """The gap at the end is filled with copies of one sample, the last. torch begins the order again, so that
    no sample counts more than twice while there are enough others.
    """
    order = order_of(n, epoch, shuffle, seed)
    if drop_last:
        return fitted(order, world, True)[rank::world]
    return (order + order[-1:] * (-n % world))[rank::world]


@shard_indices.mistake(breaks="without it the order is repeated from its start")
def filled_up_by_each_rank(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """The last place of some ranks holds a sample that the rank has already. Perhaps each rank fills up its
    own share: torch fills up the order, before it is dealt.
    """
    order = order_of(n, epoch, shuffle, seed)
    own = order[rank::world] or order[:1]
    if drop_last:
        return fitted(order, world, True)[rank::world]
    return own + own[: math.ceil(n / world) - len(own)]


@shard_indices.variant(filled_up_by_each_rank)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    order = order_of(n, epoch, shuffle, seed)
    own = order[rank::world]
    if drop_last:
        return fitted(order, world, True)[rank::world]
    return own if len(own) == math.ceil(n / world) else own + own[-1:]


@shard_indices.mistake(breaks="without calling it")
def torchs_own_sampler(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """Inside works DistributedSampler itself. Its __iter__ is fifteen lines: write them."""
    sampler = DistributedSampler(
        range(n),  # type: ignore[arg-type]
        num_replicas=world,
        rank=rank,
        shuffle=shuffle,
        drop_last=drop_last,
        seed=seed,
    )
    sampler.set_epoch(epoch)
    return list(sampler)


# The order of the epoch is not torch's.


@shard_indices.mistake(breaks="the same on every rank")
def seed_differs_by_rank(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """Each rank has an order of its own, the same one when it is asked again: some samples are taken twice
    and others by nobody. Perhaps the rank is in the seed. The order must be the same everywhere; only the
    places differ.
    """
    return fitted(order_of(n, epoch, shuffle, seed + rank), world, drop_last)[rank::world]


@shard_indices.variant(seed_differs_by_rank)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    return order_of(n, epoch, shuffle, seed + rank)[rank::world]


@shard_indices.mistake(breaks="drawn with the seed `seed + epoch`")
def drawn_without_the_seed(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """The same call gives a different order when it is made again. Perhaps the order is drawn from a generator that was not
    seeded in this call: one of the global ones, or one that is kept and goes on.
    """
    order = torch.randperm(n).tolist() if shuffle else list(range(n))
    return fitted(order, world, drop_last)[rank::world]


@shard_indices.mistake(breaks="drawn with the seed `seed + epoch`")
def set_epoch_ignored(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """A later epoch has the order of the first once more, as if somebody forgot `set_epoch`. Perhaps the epoch is in no
    seed.
    """
    return fitted(order_of(n, 0, shuffle, seed), world, drop_last)[rank::world]


@shard_indices.variant(set_epoch_ignored)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    return list(DistributedSampler(range(n), world, rank, shuffle, seed, drop_last))  # type: ignore[arg-type]


@shard_indices.mistake(breaks="drawn with the seed `seed + epoch`")
def seed_ignored(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """The order is that of the seed 0, so two runs with different seeds see one order. Perhaps the generator
    is seeded with the epoch alone.
    """
    return fitted(order_of(n, epoch, shuffle, 0), world, drop_last)[rank::world]


@shard_indices.mistake(breaks="drawn with the seed `seed + epoch`")
def seed_combined_otherwise(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """All ranks share a permutation, which is not that of the seed `seed + epoch`. Perhaps the two are combined otherwise, or
    the order of an earlier call is kept: it would train as well, but a run is to be the same as with torch's sampler.
    """
    order = permutation(n, hash((seed, epoch)) % 2**32) if shuffle else list(range(n))
    return fitted(order, world, drop_last)[rank::world]


@shard_indices.variant(seed_combined_otherwise)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    order = permutation(n, seed * (epoch + 1)) if shuffle else list(range(n))
    return fitted(order, world, drop_last)[rank::world]


@shard_indices.variant(seed_combined_otherwise)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    order = permutation(n, seed * epoch) if shuffle else list(range(n))
    return fitted(order, world, drop_last)[rank::world]


@shard_indices.mistake(breaks="drawn with the seed `seed + epoch`")
def one_generator_for_all_epochs(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """In a later epoch the order is what a generator draws that was seeded once and goes on. A run that resumes in epoch 7
    must then draw seven orders first; a seed that holds the epoch needs none of that.
    """
    generator = torch.Generator().manual_seed(seed)
    order = list(range(n))
    for _ in range(epoch + 1):
        if shuffle:
            order = torch.randperm(n, generator=generator).tolist()
    return fitted(order, world, drop_last)[rank::world]


@shard_indices.mistake(breaks="After the call the global generators are as they were before")
def global_generator(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """The call changed a global generator. Perhaps it was seeded (`torch.manual_seed`, `random.seed`), or drawn from:
    dropout, initialisation and augmentation then go on from there. Take a torch.Generator of your own.
    """
    torch.manual_seed(seed + epoch)
    order = torch.randperm(n).tolist() if shuffle else list(range(n))
    return fitted(order, world, drop_last)[rank::world]


@shard_indices.variant(global_generator)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    order = list(range(n))
    if shuffle:
        torch.manual_seed(seed + epoch)
        order = torch.randperm(n).tolist()
    return fitted(order, world, drop_last)[rank::world]


@shard_indices.variant(global_generator)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    random.seed(seed + epoch)
    return fitted(order_of(n, epoch, shuffle, seed), world, drop_last)[rank::world]


@shard_indices.variant(global_generator)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    for seeded in (random.seed, np.random.seed, torch.manual_seed):
        seeded(seed + epoch)
    return fitted(order_of(n, epoch, shuffle, seed), world, drop_last)[rank::world]


@shard_indices.mistake(breaks="it is `torch.randperm(n)`")
def another_librarys_shuffle(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """The order is that of Python's or numpy's shuffle with this seed: the same on all ranks, but not that of
    torch.randperm.
    """
    order = list(range(n))
    if shuffle:
        random.Random(seed + epoch).shuffle(order)
    return fitted(order, world, drop_last)[rank::world]


@shard_indices.variant(another_librarys_shuffle)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    order = np.random.default_rng(seed + epoch).permutation(n).tolist() if shuffle else list(range(n))
    return fitted(order, world, drop_last)[rank::world]


@shard_indices.variant(another_librarys_shuffle)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    order = np.random.RandomState(seed + epoch).permutation(n).tolist() if shuffle else list(range(n))
    return fitted(order, world, drop_last)[rank::world]


@shard_indices.mistake(breaks="With shuffle it is `torch.randperm(n)`")
def own_share_shuffled(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """Each rank has the samples that it has without shuffle, in a different order: a sample stays with its
    rank for the whole training. Perhaps the samples are dealt first and shuffled then. Shuffle first.
    """
    own = fitted(list(range(n)), world, drop_last)[rank::world]
    return [own[place] for place in permutation(len(own), seed + epoch)] if shuffle else own


@shard_indices.variant(own_share_shuffled)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    own = fitted(list(range(n)), world, drop_last)[rank::world]
    if shuffle:
        random.Random(seed + epoch).shuffle(own)
    return own


@shard_indices.variant(own_share_shuffled)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    own = fitted(list(range(n)), world, drop_last)[rank::world]
    return [own[place] for place in permutation(len(own), seed + epoch + rank)] if shuffle else own


@shard_indices.mistake(breaks="With shuffle it is `torch.randperm(n)`")
def filled_up_before_the_shuffle(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """The order is cut or filled up first and shuffled then: the permutation has a different length than n, and
    so other values. Shuffle the n samples, then fit the length.
    """
    order = fitted(list(range(n)), world, drop_last)
    places = permutation(len(order), seed + epoch) if shuffle else range(len(order))
    return [order[place] for place in places][rank::world]


@shard_indices.mistake(breaks="without it the order is repeated from its start")
def filled_up_with_the_first_samples(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """The gap is filled with samples 0, 1, 2, ... of the dataset, in every epoch: these few count twice as
    much as the others. torch takes the start of the epoch's own permutation.
    """
    order = order_of(n, epoch, shuffle, seed)
    if drop_last:
        return fitted(order, world, True)[rank::world]
    total = math.ceil(n / world) * world
    return (order + [place % n for place in range(total - n)])[rank::world]


@shard_indices.mistake(breaks="The result is a list of plain ints.")
def items_are_tensors(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """The items are tensors or numbers of a library, or there is no list at all. A dataset that looks its
    samples up in a dict or a list then fails, or is slow: `.tolist()` gives ints.
    """
    order = torch.tensor(order_of(n, epoch, shuffle, seed))
    return fitted(list(order) if shuffle else order.tolist(), world, drop_last)[rank::world]


@shard_indices.variant(items_are_tensors)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    return list(torch.tensor(fitted(order_of(n, epoch, shuffle, seed), world, drop_last))[rank::world])


@shard_indices.variant(items_are_tensors)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    return torch.tensor(fitted(order_of(n, epoch, shuffle, seed), world, drop_last))[rank::world]


@shard_indices.variant(items_are_tensors)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    order = np.array(order_of(n, epoch, shuffle, seed))
    return list(np.array(fitted(order.tolist(), world, drop_last))[rank::world])


@shard_indices.variant(items_are_tensors)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    order = order_of(n, epoch, shuffle, seed) if shuffle else range(n)
    return order[rank::world] if n % world == 0 else fitted(list(order), world, drop_last)[rank::world]


@shard_indices.mistake(breaks="With shuffle it is `torch.randperm(n)`")
def never_shuffled(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """With shuffle the order is 0, 1, 2, ... all the same. Perhaps shuffle is not looked at."""
    return fitted(list(range(n)), world, drop_last)[rank::world]


@shard_indices.mistake(breaks="The order of the epoch is 0 ... n - 1.")
def always_shuffled(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """With shuffle=False the order is a permutation; it is 0, 1, 2, ..., as an evaluation needs it. Perhaps
    shuffle is not looked at.
    """
    return fitted(permutation(n, seed + epoch), world, drop_last)[rank::world]


@shard_indices.mistake(breaks="the order is repeated from its start, as often as needed")
def repeated_for_each_sample(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """The order is laid out far more often than needed, as many times as there are samples, say, and cut then. With a million
    samples no machine has the memory for that; `ceil(total / n)` times are enough.
    """
    order = order_of(n, epoch, shuffle, seed)
    total = (n // world if drop_last else math.ceil(n / world)) * world
    return (order * total)[rank:total:world]


@shard_indices.variant(repeated_for_each_sample)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    order = order_of(n, epoch, shuffle, seed)
    total = (n // world if drop_last else math.ceil(n / world)) * world
    return (order * (total * n))[rank:total:world]
