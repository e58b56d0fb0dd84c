"""What people get wrong in 06.fix_race about memory, about the host, and about streams as such."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from helpers.labs.streams.fix_race import fix_race
from helpers.labs.streams.fix_race_program import join_both, nothing, program, wait_both


@fix_race.mistake()
def no_record_stream(api: Any) -> Tensor:
    """`del a` frees the block in the allocator's books while left and right still read it. Tell the allocator
    with a.record_stream, or hold a until the current stream has waited for both.
    """
    return program(api, keep=nothing)


@fix_race.mistake()
def record_stream_for_one(api: Any) -> Tensor:
    """Two streams read a, and only one of them was seen to, by record_stream or by a wait before a dies.
    While the other is still at it, the block is given away.
    """
    return program(api, keep=lambda s: s.a.record_stream(s.left))


@fix_race.variant(record_stream_for_one)
def _(api: Any) -> Tensor:
    return program(api, keep=lambda s: s.a.record_stream(s.right))


@fix_race.mistake()
def record_stream_on_the_producer(api: Any) -> Tensor:
    """record_stream names a stream that uses the memory besides its own. The stream that made a is known
    already.
    """
    return program(api, keep=lambda s: s.a.record_stream(s.main))


@fix_race.variant(record_stream_on_the_producer)
def _(api: Any) -> Tensor:
    """And so are the streams that made b and c."""

    def keep(s: SimpleNamespace) -> None:
        s.b.record_stream(s.left)
        s.c.record_stream(s.right)

    return program(api, keep=keep)


@fix_race.mistake()
def record_stream_on_the_results(api: Any) -> Tensor:
    """b and c are held by their names until the sum is queued. It is a whose name goes while others still
    read it.
    """

    def keep(s: SimpleNamespace) -> None:
        s.b.record_stream(s.main)
        s.c.record_stream(s.main)

    return program(api, keep=keep)


@fix_race.mistake()
def host_synchronises(api: Any) -> Tensor:
    """synchronize() holds up the host, and with it every queue. The values are right, and the time that
    streams were meant to save is lost: let streams wait for streams, by wait_stream or an event.
    """
    return program(
        api,
        start=lambda s: s.api.synchronize(),
        behind=lambda s: s.api.synchronize(),
        keep=nothing,
        join=nothing,
    )


@fix_race.variant(host_synchronises)
def _(api: Any) -> Tensor:
    """Stream by stream."""

    def behind(s: SimpleNamespace) -> None:
        s.left.synchronize()
        s.right.synchronize()

    return program(api, start=lambda s: s.main.synchronize(), behind=behind, keep=nothing, join=nothing)


@fix_race.variant(host_synchronises)
def _(api: Any) -> Tensor:
    """Waits for an event, but the host does."""
    return program(api, start=lambda s: s.main.record_event().synchronize())


@fix_race.variant(host_synchronises)
def _(api: Any) -> Tensor:
    """Only at the end."""
    return program(api, end=lambda s: s.api.synchronize())


@fix_race.mistake()
def number_on_the_host(api: Any) -> float:
    """item() copies the number to the host, and for that the host waits for the stream. Return the tensor:
    who needs the number can wait for it.
    """
    return program(api).item()


@fix_race.variant(number_on_the_host)
def _(api: Any) -> Tensor:
    return program(api).cpu()


@fix_race.mistake()
def sleeps(api: Any) -> Tensor:
    """A pause makes a race rare, and hides it from tests. It gives no order: the next device, or a busy one,
    is slower.
    """
    return program(
        api, start=lambda s: time.sleep(0.001), behind=lambda s: time.sleep(0.001), keep=nothing, join=nothing
    )


@fix_race.variant(sleeps)
def _(api: Any) -> Tensor:
    """The host is busy, long enough: all values are right."""
    return program(
        api,
        start=lambda s: s.api.host_works(1),
        behind=lambda s: s.api.host_works(10),
        keep=nothing,
        join=nothing,
    )


@fix_race.variant(sleeps)
def _(api: Any) -> Tensor:
    """The device does nothing for a while, on each stream."""
    return program(
        api, start=nothing, inside=lambda s: s.api.sleep(1), keep=nothing, join=lambda s: s.api.sleep(5)
    )


@fix_race.mistake()
def streams_of_torch_cuda(api: Any) -> Tensor:
    """torch.cuda.stream knows the streams of CUDA only. Given a stream of the simulated device on a machine
    without a GPU it selects none, without a word.
    """
    main, left, right = api.current_stream(), api.Stream(), api.Stream()
    a = api.empty(1000)
    a.fill_(2.0)
    left.wait_stream(main)
    with torch.cuda.stream(left):
        b = a * a
        for _ in range(3):
            b *= a
    right.wait_stream(main)
    with torch.cuda.stream(right):
        c = a + a
        for _ in range(3):
            c += a
    a.record_stream(left)
    a.record_stream(right)
    del a
    d = api.empty(1000)
    d.fill_(100.0)
    main.wait_stream(left)
    main.wait_stream(right)
    return (b + c + d).sum()


@fix_race.mistake()
def all_on_the_current_stream(api: Any) -> Tensor:
    """One queue needs no order, and has no overlap. The race is gone because the side streams are."""
    a = api.empty(1000)
    a.fill_(2.0)
    b = a * a
    for _ in range(3):
        b *= a
    c = a + a
    for _ in range(3):
        c += a
    del a
    d = api.empty(1000)
    d.fill_(100.0)
    return (b + c + d).sum()


@fix_race.mistake()
def one_side_stream(api: Any) -> Tensor:
    """b and c share one side stream, so c begins when b is finished. They have nothing to do with each other."""

    def begin(s: SimpleNamespace) -> None:
        s.right = s.left

    return program(api, begin=begin)


@fix_race.mistake()
def sides_one_after_the_other(api: Any) -> Tensor:
    """One side stream waits for the other. That is one edge too many: both only need a."""
    return program(api, between=lambda s: s.right.wait_stream(s.left))


@fix_race.variant(sides_one_after_the_other)
def _(api: Any) -> Tensor:
    """By way of the current stream."""

    def between(s: SimpleNamespace) -> None:
        s.main.wait_stream(s.left)
        s.right.wait_stream(s.main)

    return program(api, between=between, keep=nothing)


@fix_race.mistake()
def stream_left_set(api: Any) -> Tensor:
    """set_stream changes the current stream for good. `with api.stream(s):` puts the old one back, also after
    an error.
    """
    main, left, right = api.current_stream(), api.Stream(), api.Stream()
    a = api.empty(1000)
    a.fill_(2.0)
    s = SimpleNamespace(main=main, left=left, right=right)
    wait_both(s)
    api.set_stream(left)
    b = a * a
    for _ in range(3):
        b *= a
    api.set_stream(right)
    c = a + a
    for _ in range(3):
        c += a
    join_both(s)
    return (b + c + api.empty(1000).fill_(100.0)).sum()


def added_on_left(api: Any, join: Callable[[SimpleNamespace], object]) -> Tensor:
    def begin_on_left(s: SimpleNamespace) -> None:
        join(s)
        api.set_stream(s.left)

    return program(api, join=begin_on_left, end=lambda s: api.set_stream(s.main))


@fix_race.mistake()
def added_on_a_side_stream(api: Any) -> Tensor:
    """The result belongs to the caller, who goes on with it on the stream that was current. There nothing
    waits for it.
    """
    return added_on_left(api, lambda s: (s.left.wait_stream(s.main), s.left.wait_stream(s.right)))


@fix_race.variant(added_on_a_side_stream)
def _(api: Any) -> Tensor:
    """And in no order."""
    return added_on_left(api, lambda s: None)
