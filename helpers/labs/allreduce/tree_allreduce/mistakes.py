"""What people write for 08.tree_allreduce, and why it is wrong."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.labs.allreduce.shared import contract
from helpers.labs.allreduce.shared.pieces import wrong
from helpers.labs.allreduce.shared.pieces.right import first_half, second_half, through_chunks
from helpers.labs.allreduce.tree_allreduce.exercise import PORT, ROUNDS, tree_allreduce


def up(x: Tensor, rank: int, world: int) -> int:
    """Collects in rank 0, as a tree; returns the gap to the rank that this one has sent to."""
    received, gap = torch.empty_like(x), 1
    while gap < world and rank % (2 * gap) == 0:
        if rank + gap < world:
            dist.recv(received, rank + gap)
            x += received
        gap *= 2
    if rank:
        dist.send(x, rank - gap)
    return gap


def down(x: Tensor, rank: int, world: int, gap: int) -> None:
    """From rank 0 to all, by the same tree."""
    if rank:
        dist.recv(x, rank - gap)
    while gap > 1:
        gap //= 2
        if rank + gap < world:
            dist.send(x, rank + gap)


def children_of(rank: int, world: int) -> list[int]:
    """Whom this rank receives from in the tree of `up`, in order."""
    gaps = (1 << bit for bit in range(world.bit_length()))
    return [rank + gap for gap in gaps if rank % (2 * gap) == 0 and rank + gap < world]


def exchanged(x: Tensor, other: int) -> Tensor:
    received = torch.empty_like(x)
    arrives = dist.irecv(received, other)
    dist.send(x, other)
    arrives.wait()
    return received


@tree_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def right_on_rank_0_only(x: Tensor, rank: int, world: int) -> None:
    """Rank 0 has the sum, and the others what they had collected when they sent it. Perhaps the tree is
    walked up and not down.
    """
    up(x, rank, world)


@tree_allreduce.variant(right_on_rank_0_only)
def _(x: Tensor, rank: int, world: int) -> None:
    for child in (2 * rank + 1, 2 * rank + 2):  # a tree as in a heap
        if child < world:
            received = torch.empty_like(x)
            dist.recv(received, child)
            x += received
    if rank:
        dist.send(x, (rank - 1) // 2)


@tree_allreduce.mistake(breaks=contract.MESSAGES_ONLY)
def both_sides_send_first(x: Tensor, rank: int, world: int) -> None:
    """All ranks stand in a send, and nobody receives. A send returns only when the other side receives.
    Perhaps partners exchange their sums, and both send first: one posts an irecv before it sends, or the
    lower rank sends first and the higher receives first.
    """
    received, gap = torch.empty_like(x), 1
    while gap < world:
        dist.send(x, rank ^ gap)
        dist.recv(received, rank ^ gap)
        x += received
        gap *= 2


@tree_allreduce.mistake(breaks=contract.ANY_WORLD)
def power_of_two_only(x: Tensor, rank: int, world: int) -> None:
    """With 3 ranks the answer stops: it asks for a rank that is not there, or refuses such a world.
    Perhaps the partner, rank ^ gap or rank + gap, is taken without a look at world. Let the ranks beyond
    the largest power of two hand their numbers to a partner first, and get the result back last; or use a
    tree.
    """
    flat, gap = x.contiguous(), 1
    while gap < world:
        flat += exchanged(flat, rank ^ gap)
        gap *= 2
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.variant(power_of_two_only)
def _(x: Tensor, rank: int, world: int) -> None:
    assert world & (world - 1) == 0, "world must be a power of two"
    flat, gap = x.contiguous(), 1
    while gap < world:
        flat += exchanged(flat, rank ^ gap)
        gap *= 2
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.mistake(breaks=contract.ANY_WORLD)
def missing_partners_skipped(x: Tensor, rank: int, world: int) -> None:
    """With three ranks one of them lacks another one's numbers. Perhaps where rank ^ gap does not exist
    the exchange is left out, and with it all that this partner would have brought: rank 1 never hears of
    rank 2.
    """
    flat, gap = x.contiguous(), 1
    while gap < world:
        if rank ^ gap < world:
            flat += exchanged(flat, rank ^ gap)
        gap *= 2
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.mistake(breaks=contract.ANY_WORLD)
def extra_ranks_not_counted(x: Tensor, rank: int, world: int) -> None:
    """With three ranks all agree, and the last one's numbers are in no sum. Perhaps the ranks beyond the
    largest power of two get the result, and nobody asks for their numbers.
    """
    flat, power, gap = x.contiguous(), 1 << (world.bit_length() - 1), 1
    if rank >= power:
        dist.recv(flat, rank - power)
    else:
        while gap < power:
            flat += exchanged(flat, rank ^ gap)
            gap *= 2
        if rank + power < world:
            dist.send(flat, rank + power)
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.mistake(breaks=contract.ANY_WORLD)
def extra_ranks_get_no_result(x: Tensor, rank: int, world: int) -> None:
    """With three ranks the sum is complete on two, and the last one has its own numbers. Perhaps the
    ranks beyond the largest power of two give theirs away, and nobody sends them the result.
    """
    flat, power, gap = x.contiguous(), 1 << (world.bit_length() - 1), 1
    if rank >= power:
        dist.send(flat, rank - power)
        return
    if rank + power < world:
        received = torch.empty_like(flat)
        dist.recv(received, rank + power)
        flat += received
    while gap < power:
        flat += exchanged(flat, rank ^ gap)
        gap *= 2
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.mistake(breaks=contract.ANY_WORLD)
def depth_rounded_down(x: Tensor, rank: int, world: int) -> None:
    """With three ranks two have the sum of two, and the last one is never reached. Perhaps the tree has
    int(log2(N)) levels: for 3, 5 or 9 ranks one too few. It takes ceil(log2(N)).
    """
    inside = 1 << (world.bit_length() - 1)
    flat = x.contiguous()
    if rank < inside:
        down(flat, rank, inside, up(flat, rank, inside))
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def adds_on_the_way_down(x: Tensor, rank: int, world: int) -> None:
    """Rank 0 has the sum, and on the others some numbers are counted twice. Perhaps on the way down the
    result is added to the partial sum that stands there. It is complete: copy it.
    """
    gap = up(x, rank, world)
    if rank:
        received = torch.empty_like(x)
        dist.recv(received, rank - gap)
        x += received
    while gap > 1:
        gap //= 2
        if rank + gap < world:
            dist.send(x, rank + gap)


@tree_allreduce.variant(adds_on_the_way_down)
def _(x: Tensor, rank: int, world: int) -> None:
    received = torch.empty_like(x)
    children = [child for child in (2 * rank + 1, 2 * rank + 2) if child < world]
    for child in children:
        dist.recv(received, child)
        x += received
    if rank:
        dist.send(x, (rank - 1) // 2)
        dist.recv(received, (rank - 1) // 2)
        x += received
    for child in children:
        dist.send(x, child)


@tree_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def forwards_running_sum(x: Tensor, rank: int, world: int) -> None:
    """Some ranks have the sum, and others a sum that is not complete. Perhaps each rank answers its child
    as soon as it has added that child's numbers. The way down starts when rank 0 has all.
    """
    received, gap = torch.empty_like(x), 1
    while gap < world and rank % (2 * gap) == 0:
        if rank + gap < world:
            dist.recv(received, rank + gap)
            x += received
            dist.send(x, rank + gap)
        gap *= 2
    if rank:
        dist.send(x, rank - gap)
        dist.recv(x, rank - gap)


@tree_allreduce.mistake(breaks="each x becomes the sum over all ranks")
def mean(x: Tensor, rank: int, world: int) -> None:
    """The result is divided by the number of ranks. What is asked is the sum. Perhaps rank 0 divides
    before the way down, or each rank at the end.
    """
    gap = up(x, rank, world)
    if rank == 0:
        x /= world
    down(x, rank, world, gap)


@tree_allreduce.mistake(breaks=contract.ANY_WORLD)
def counted_twice_around_the_ring(x: Tensor, rank: int, world: int) -> None:
    """With three ranks one rank's numbers are counted twice. Perhaps each rank sends its running sum to rank + 1, then to
    rank + 2, + 4, ..., around the ring: where the world is no power of two, the last of these sums overlap.
    """
    flat, gap = x.contiguous(), 1
    while gap < world:
        received = torch.empty_like(flat)
        arrives = dist.irecv(received, (rank - gap) % world)
        sent = dist.isend(flat.clone(), (rank + gap) % world)
        arrives.wait()
        sent.wait()
        flat += received
        gap *= 2
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.mistake(breaks=ROUNDS)
def a_size_before_each_message(x: Tensor, rank: int, world: int) -> None:
    """The sums are right, and on 4 ranks they take 8 rounds, where the tree takes 4. Perhaps each message is announced by
    one with its size: x has the same shape on each rank, so nobody has to ask.
    """
    flat, size = x.contiguous(), torch.tensor([x.numel()])
    received, children = torch.empty_like(flat), children_of(rank, world)
    for child in children:
        dist.recv(size, child)
        dist.recv(received, child)
        flat += received
    for step in (dist.send, dist.recv) if rank else ():
        for message in (size, flat):
            step(message, rank & (rank - 1))
    for child in reversed(children):
        for message in (size, flat):
            dist.send(message, child)
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.mistake(breaks=PORT)
def sent_as_float64(x: Tensor, rank: int, world: int) -> None:
    """The sums are right, and on each rank twice as many bytes go out and come in as in a tree. Perhaps a float32 x is sent
    as float64: a message has the dtype of x.
    """
    flat = x.double()
    down(flat, rank, world, up(flat, rank, world))
    x.copy_(flat)


@tree_allreduce.mistake(breaks=contract.IN_PLACE)
def returns_a_new_tensor(x: Tensor, rank: int, world: int) -> Tensor:
    """Messages travel, a tensor is returned, and x is as before. All-reduce edits x. Perhaps the sum was
    made in a copy.
    """
    result = x.clone()
    down(result, rank, world, up(result, rank, world))
    return result


@tree_allreduce.mistake(breaks=contract.IN_PLACE)
def works_on_a_copy(x: Tensor, rank: int, world: int) -> None:
    """Messages travel, and x is as before on every rank. Perhaps the tree runs on a copy, and nobody
    copies the result back into x.
    """
    result = x.clone()
    down(result, rank, world, up(result, rank, world))


@tree_allreduce.mistake(breaks=contract.WAITED)
def irecv_without_wait(x: Tensor, rank: int, world: int) -> None:
    """No irecv was waited for, and what was added is what stood in the buffer before. Only wait() says
    that a message has arrived.
    """
    received, gap = torch.empty_like(x), 1
    while gap < world and rank % (2 * gap) == 0:
        if rank + gap < world:
            dist.irecv(received, rank + gap)
            x += received
        gap *= 2
    if rank:
        dist.send(x, rank - gap)
    down(x, rank, world, gap)


@tree_allreduce.mistake(breaks=contract.WAITED)
def isend_without_wait(x: Tensor, rank: int, world: int) -> None:
    """The sum is right, and an isend was not waited for: a message may still be reading x when the
    function returns. Keep the request, and wait for it.
    """
    flat = x.contiguous()
    gap = up(flat, rank, world)
    if rank:
        dist.recv(flat, rank - gap)
    while gap > 1:
        gap //= 2
        if rank + gap < world:
            dist.isend(flat, rank + gap)
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.mistake(breaks=contract.MESSAGES_ONLY)
def calls_a_collective(x: Tensor, rank: int, world: int) -> None:
    """A collective of torch was called. dist.all_reduce does all of it. Build it from messages of one
    rank to one other.
    """
    dist.all_reduce(x)


@tree_allreduce.mistake(breaks=PORT)
def a_star(x: Tensor, rank: int, world: int) -> None:
    """The sums are right, but rank 0 moves N - 1 times x both ways, one after the other. Perhaps all send
    to rank 0, and rank 0 to all. In a tree others add and hand out, too.
    """
    flat = x.contiguous()
    if rank:
        dist.send(flat, 0)
        dist.recv(flat, 0)
    else:
        received = torch.empty_like(flat)
        for source in range(1, world):
            dist.recv(received, source)
            flat += received
        for target in range(1, world):
            dist.send(flat, target)
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.mistake(breaks=PORT)
def tree_up_star_down(x: Tensor, rank: int, world: int) -> None:
    """The sums are right, but rank 0 sends N - 1 times x. Perhaps the way up is a tree, and rank 0 hands
    the result to every rank itself. On the way down each rank that has the result can pass it on.
    """
    flat = x.contiguous()
    up(flat, rank, world)
    if rank:
        dist.recv(flat, 0)
    else:
        for target in range(1, world):
            dist.send(flat, target)
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.mistake(breaks=ROUNDS)
def a_chain(x: Tensor, rank: int, world: int) -> None:
    """The sums are right, but whole vectors wait for one another in a chain of 2 (N - 1): the last rank
    waits for all the others. A tree has 2 log2(N) rounds. Perhaps the sum goes from rank to rank and
    back.
    """
    flat = x.contiguous()
    if rank + 1 < world:
        received = torch.empty_like(flat)
        dist.recv(received, rank + 1)
        flat += received
    if rank:
        dist.send(flat, rank - 1)
        dist.recv(flat, rank - 1)
    if rank + 1 < world:
        dist.send(flat, rank + 1)
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.mistake(breaks=ROUNDS)
def a_ring(x: Tensor, rank: int, world: int) -> None:
    """The sums are right, but they take 2 (N - 1) rounds with few bytes each: that is the ring. For small
    x the rounds are what counts, and a tree has 2 log2(N) of them.
    """

    def work(chunks: tuple[Tensor, ...]) -> None:
        first_half(chunks, rank, world)
        second_half(chunks, rank, world)

    through_chunks(x, world, work)


@tree_allreduce.mistake(breaks=contract.GAPS)
def contiguous_copy_reduced(x: Tensor, rank: int, world: int) -> None:
    """A contiguous x gets the sum, and an x with gaps stays as it was, though messages travel. Perhaps
    `x.contiguous()` was reduced, which is a copy of a column. Copy the result back.
    """
    flat = x.contiguous()
    down(flat, rank, world, up(flat, rank, world))


@tree_allreduce.mistake(breaks=contract.GAPS)
def sends_a_strided_view(x: Tensor, rank: int, world: int) -> None:
    """A message is refused: send and recv take contiguous tensors only. Work on `x.contiguous()` and copy
    the result back into x.
    """
    down(x, rank, world, up(x, rank, world))


@tree_allreduce.mistake(breaks=contract.ANY_DTYPE)
def buffer_of_the_default_dtype(x: Tensor, rank: int, world: int) -> None:
    """A message in int64 comes into a buffer of a different size: the buffer's dtype is not x's. Perhaps
    it is float32, or kept from an earlier call. A message carries bytes, no types.
    """
    flat = x.contiguous()
    received, gap = torch.empty(flat.shape), 1
    while gap < world and rank % (2 * gap) == 0:
        if rank + gap < world:
            dist.recv(received, rank + gap)
            flat += received
        gap *= 2
    if rank:
        dist.send(flat, rank - gap)
    down(flat, rank, world, gap)
    if flat is not x:
        x.copy_(flat)


def right(x: Tensor, rank: int, world: int) -> None:
    """All of it."""
    flat = x.contiguous()
    down(flat, rank, world, up(flat, rank, world))
    if flat is not x:
        x.copy_(flat)


wrong.around(tree_allreduce, right)


@tree_allreduce.mistake(breaks=contract.IN_A_ROW)
def next_receive_too_early(x: Tensor, rank: int, world: int) -> None:
    """Right while messages come as late as they can, wrong when they come early: a buffer is written before its
    numbers were used. Perhaps the next irecv is posted into the buffer that is still to be added. Use it first, or
    take two buffers in turn.
    """
    flat = x.contiguous()
    children = children_of(rank, world)
    received = torch.empty_like(flat)
    arrives = dist.irecv(received, children[0]) if children else None
    for child in children:
        arrives.wait()
        following = children[children.index(child) + 1 :]
        arrives = dist.irecv(received, following[0]) if following else None
        flat += received
    if rank:
        parent = rank & (rank - 1)
        total, leaves = torch.empty_like(flat), dist.isend(flat, parent)
        dist.recv(total, parent)
        leaves.wait()
        flat.copy_(total)
    for child in reversed(children):
        dist.send(flat, child)
    if flat is not x:
        x.copy_(flat)


def by_a_heap(x: Tensor, rank: int, world: int, at_once: bool, width: int = 2) -> None:
    """The children of r are 2r + 1 and 2r + 2. at_once: whether both receives are posted before one is waited for."""
    total = x.contiguous()
    children = [width * rank + more + 1 for more in range(width) if width * rank + more + 1 < world]
    buffers = [torch.empty_like(total) for _ in children]
    if at_once:
        for request in [dist.irecv(b, child) for b, child in zip(buffers, children, strict=True)]:
            request.wait()
    else:
        for buffer, child in zip(buffers, children, strict=True):
            dist.recv(buffer, child)
    for buffer in buffers:
        total += buffer
    if rank:
        dist.send(total, (rank - 1) // width)
        dist.recv(total, (rank - 1) // width)
    for child in children:
        dist.send(total, child)
    if total is not x:
        x.copy_(total)


@tree_allreduce.mistake(breaks="In a round a rank sends one message at most, and receives one at most.")
def two_children_at_once(x: Tensor, rank: int, world: int) -> None:
    """The sums are right, but there are more rounds than allowed: a rank takes one message at a time, and hands out
    one at a time. Perhaps each rank has two children or more, as in a heap, so that a level takes as many rounds; or the way down
    begins with the nearest child, not with the one that has most ranks below it.
    """
    by_a_heap(x, rank, world, at_once=True)


for _width in (2, 4):
    tree_allreduce.variant(two_children_at_once)(
        lambda x, rank, world, width=_width: by_a_heap(x, rank, world, False, width)
    )


@tree_allreduce.mistake(breaks=contract.SAME_BITS)
def each_adds_from_its_own_start(x: Tensor, rank: int, world: int) -> None:
    """All sums are right, and the ranks differ in last bits: each has added in an order of its own. Perhaps every
    rank takes the sums of those before it, at distance 1, 2, 4. Exchange with rank ^ gap, where both add the same
    two numbers, or make each sum once.
    """
    flat, power, gap = x.contiguous(), 1 << (world.bit_length() - 1), 1
    if rank >= power:
        dist.send(flat, rank - power)
        dist.recv(flat, rank - power)
    else:
        received = torch.empty_like(flat)
        if rank + power < world:
            dist.recv(received, rank + power)
            flat += received
        while gap < power:
            arrives = dist.irecv(received, (rank - gap) % power)
            dist.send(flat, (rank + gap) % power)
            arrives.wait()
            flat += received
            gap *= 2
        if rank + power < world:
            dist.send(flat, rank + power)
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.mistake(breaks=contract.ANY_DTYPE)
def integers_through_float64(x: Tensor, rank: int, world: int) -> None:
    """Very large int64 come back rounded, as float64 holds them: whole numbers above 2 ** 53 have no place in it.
    Perhaps integers were converted with `x.double()`. Send and add in the dtype of x.
    """
    wrong.integers_in_float64(right, x, rank, world)


@tree_allreduce.variant(two_children_at_once)
def _(x: Tensor, rank: int, world: int) -> None:
    flat, gap = x.contiguous(), 1
    received, children = torch.empty_like(flat), []
    while gap < world and rank % (3 * gap) == 0:  # three ranks become one
        for child in (rank + gap, rank + 2 * gap):
            if child < world:
                dist.recv(received, child)
                flat += received
                children.append(child)
        gap *= 3
    if rank:
        parent = rank - rank % (3 * gap)
        dist.send(flat, parent)
        dist.recv(flat, parent)
    for child in reversed(children):
        dist.send(flat, child)
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.variant(two_children_at_once)
def _(x: Tensor, rank: int, world: int) -> None:
    flat = x.contiguous()
    gap = up(flat, rank, world)
    if rank:
        dist.recv(flat, rank - gap)
    near = 1
    while near < gap:
        if rank + near < world:
            dist.send(flat, rank + near)
        near *= 2
    if flat is not x:
        x.copy_(flat)


@tree_allreduce.variant(power_of_two_only)
def _(x: Tensor, rank: int, world: int) -> None:
    if world & (world - 1):
        raise ValueError("world must be a power of two")
    right(x, rank, world)
