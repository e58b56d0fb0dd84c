"""What people write for 07.shard_indices: the ranks do not fit together."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.utils.data.distributed import DistributedSampler

from helpers.labs.ddp.shard_indices import shard_indices


def permutation(n: int, seed: int) -> list[int]:
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed)).tolist()


def order_of(n: int, epoch: int, shuffle: bool, seed: int) -> list[int]:
    return permutation(n, seed + epoch) if shuffle else list(range(n))


def fitted(order: list[int], world: int, drop_last: bool) -> list[int]:
    """The order, cut or begun again so that world divides its length."""
    n = len(order)
    total = (n // world if drop_last else math.ceil(n / world)) * world
    return (order * math.ceil(total / n))[:total] if n else []


@shard_indices.mistake()
def contiguous_blocks(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """Each rank takes a block of neighbours. torch deals one by one, from place rank on in steps of world:
    with a block each, data that is sorted by class or by date gives every rank another distribution.
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


@shard_indices.mistake()
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


@shard_indices.mistake()
def uneven_lengths(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """`order[rank::world]` alone gives the first ranks one sample more. Before it is dealt, the order must
    get a length that world divides.
    """
    return order_of(n, epoch, shuffle, seed)[rank::world]


@shard_indices.variant(uneven_lengths)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    order = order_of(n, epoch, shuffle, seed)
    return order[rank : n - n % world if drop_last else n : world]


@shard_indices.mistake()
def padded_once(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """`order + order[:missing]` can at most double the order. If there are fewer samples than half the ranks,
    some ranks stay without one: begin the order again as often as needed.
    """
    order = order_of(n, epoch, shuffle, seed)
    total = (n // world if drop_last else math.ceil(n / world)) * world
    return (order + order[: max(0, total - n)])[rank:total:world]


@shard_indices.mistake()
def drop_last_ignored(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """drop_last makes no difference here: the order is filled up in either case."""
    return fitted(order_of(n, epoch, shuffle, seed), world, False)[rank::world]


@shard_indices.variant(drop_last_ignored)
def _(n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0) -> Any:
    order = order_of(n, epoch, shuffle, seed)
    return (order + order[: -n % world])[rank::world]


@shard_indices.mistake()
def always_dropped(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """drop_last makes no difference here: the end is dropped in either case, and without drop_last no sample
    may be lost.
    """
    return fitted(order_of(n, epoch, shuffle, seed), world, True)[rank::world]


@shard_indices.mistake()
def start_dropped(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """With drop_last the start of the order is dropped; torch drops its end."""
    order = order_of(n, epoch, shuffle, seed)
    return order[n % world :][rank::world] if drop_last else fitted(order, world, False)[rank::world]


@shard_indices.mistake()
def one_round_too_many(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """`n // world + 1` is one too many where world divides n: use ceil(n / world). All samples of the last
    round are dealt twice.
    """
    order = order_of(n, epoch, shuffle, seed)
    total = (n // world + (not drop_last)) * world
    return (order * (total // n + 1))[rank:total:world]


@shard_indices.mistake()
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


@shard_indices.mistake()
def filled_up_by_each_rank(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """Each rank fills up its own share with a sample of its own. torch fills up the order, before it is
    dealt.
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


@shard_indices.mistake()
def torchs_own_sampler(
    n: int, rank: int, world: int, epoch: int, *, shuffle: bool, drop_last: bool, seed: int = 0
) -> Any:
    """This is DistributedSampler itself. Its __iter__ is fifteen lines: write them."""
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
