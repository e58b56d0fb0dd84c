"""What people write for 06.fix_race, and why it is wrong."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from helpers.labs.streams.fix_race.exercise import HOST, MEMORY, RACES, RESULT, SIDES, WHERE, fix_race
from helpers.labs.streams.fix_race.right import join_both, nothing, program, wait_both


@fix_race.mistake(breaks=MEMORY)
def no_record_stream(api: Any) -> Tensor:
    """`del a` frees the block in the allocator's books while left and right still read it. Tell the allocator
    with a.record_stream, or hold a until the current stream has waited for both.
    """
    return program(api, keep=nothing)


@fix_race.mistake(breaks=MEMORY)
def record_stream_for_one(api: Any) -> Tensor:
    """Two streams read a, and only one of them was seen to, by record_stream or by a wait before a dies.
    While the other is still at it, the block is given away.
    """
    return program(api, keep=lambda s: s.a.record_stream(s.left))


@fix_race.variant(record_stream_for_one)
def _(api: Any) -> Tensor:
    return program(api, keep=lambda s: s.a.record_stream(s.right))


def powers(api: Any, told: int) -> Tensor:
    """One kernel for b and one for c; the allocator is told of one of the two streams that read a."""
    main, sides = api.current_stream(), [api.Stream(), api.Stream()]
    a = api.empty(1000).fill_(2.0)
    for side in sides:
        side.wait_stream(main)
    with api.stream(sides[0]):
        b = a**5
    with api.stream(sides[1]):
        c = a * 5
    a.record_stream(sides[told])
    del a
    d = api.empty(1000).fill_(100.0)
    for side in sides:
        main.wait_stream(side)
    return (b + c + d).sum()


for _told in (0, 1):
    fix_race.variant(record_stream_for_one)(lambda api, told=_told: powers(api, told))


@fix_race.mistake(breaks=MEMORY)
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


@fix_race.mistake(breaks=MEMORY)
def record_stream_on_the_results(api: Any) -> Tensor:
    """record_stream was called, and not for the block of a. Perhaps b and c were recorded, or a copy of a: it is a itself
    whose name goes while others still read it.
    """

    def keep(s: SimpleNamespace) -> None:
        s.b.record_stream(s.main)
        s.c.record_stream(s.main)

    return program(api, keep=keep)


@fix_race.mistake(breaks=HOST)
def host_synchronises(api: Any) -> Tensor:
    """The host waits for the device, and with it every queue. The values are right, and the time that streams were meant
    to save is lost. Perhaps by synchronize(), a loop over query(), or a tensor made text, compared in an `if` or
    asserted: let streams wait for streams.
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


@fix_race.mistake(breaks=RESULT)
def number_on_the_host(api: Any) -> float:
    """A number of Python came back. Perhaps by item(): for that the host waits for the stream. Return the tensor: who needs
    the number can wait for it.
    """
    return program(api).item()


@fix_race.mistake(breaks=RESULT)
def tensor_on_the_host(api: Any) -> Tensor:
    """The result is a tensor on the CPU. Perhaps by cpu(): for the copy the host waits for the stream. Return the tensor
    of the device.
    """
    return program(api).cpu()


@fix_race.mistake(breaks=HOST)
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


@fix_race.mistake(breaks=SIDES)
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


@fix_race.mistake(breaks=SIDES)
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


@fix_race.mistake(breaks=SIDES)
def one_side_stream(api: Any) -> Tensor:
    """b and c share one side stream, so c begins when b is finished. They have nothing to do with each other."""

    def begin(s: SimpleNamespace) -> None:
        s.right = s.left

    return program(api, begin=begin)


@fix_race.mistake(breaks=SIDES)
def one_on_the_current_stream(api: Any) -> Tensor:
    """b or c is computed on the current stream, beside one side stream. Perhaps to save a stream: the current one is then not
    free for what the caller queues there. Two side streams were asked for.
    """
    return beside_one(api, lambda a: a * 5, lambda a: a**5)


def beside_one(api: Any, side: Callable[[Tensor], Tensor], current: Callable[[Tensor], Tensor]) -> Tensor:
    main, other = api.current_stream(), api.Stream()
    a, d = api.empty(1000).fill_(2.0), api.empty(1000).fill_(100.0)
    other.wait_stream(main)
    with api.stream(other):
        one = side(a)
    two = current(a)
    a.record_stream(other)
    main.wait_stream(other)
    return (one + two + d).sum()


def fifth(a: Tensor) -> Tensor:
    return a * a * a * a * a


def five_times(a: Tensor) -> Tensor:
    return a + a + a + a + a


for _pair in ((lambda a: a**5, lambda a: a * 5), (five_times, fifth), (five_times, lambda a: a**5)):
    fix_race.variant(one_on_the_current_stream)(lambda api, pair=_pair: beside_one(api, *pair))


@fix_race.mistake(breaks=SIDES)
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


@fix_race.mistake(breaks=WHERE)
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


@fix_race.mistake(breaks=WHERE)
def added_on_a_side_stream(api: Any) -> Tensor:
    """b, c and d are added, but not on the stream that was current. Perhaps on one of the sides, to save a wait: the
    caller goes on with the result, and knows of no stream of yours.
    """
    return added_on_left(api, lambda s: (s.left.wait_stream(s.main), s.left.wait_stream(s.right)))


@fix_race.variant(added_on_a_side_stream)
def _(api: Any) -> Tensor:
    """And in no order."""
    return added_on_left(api, lambda s: None)


@fix_race.mistake(breaks=RACES)
def no_synchronisation(api: Any) -> Tensor:
    """Streams are queues that know nothing of each other. The order of the lines in Python is the order in
    which work is queued, not the order in which it runs.
    """
    return program(api, start=nothing, keep=nothing, join=nothing)


@fix_race.mistake(breaks=RACES)
def only_record_stream(api: Any) -> Tensor:
    """record_stream speaks to the allocator: do not give this block away too early. It orders no kernels."""
    return program(api, start=nothing, join=nothing)


@fix_race.mistake(breaks=RACES)
def sides_do_not_wait(api: Any) -> Tensor:
    """Only one direction is ordered: the current stream waits for the side streams, but they do not wait
    until a is written.
    """
    return program(api, start=nothing)


@fix_race.variant(sides_do_not_wait)
def _(api: Any) -> Tensor:
    return program(api, start=nothing, keep=nothing)


@fix_race.mistake(breaks=RACES)
def one_side_does_not_wait(api: Any) -> Tensor:
    """One of the two side streams waits for a, and the other does not. An edge is needed for each of them."""
    return program(api, start=lambda s: s.left.wait_stream(s.main))


@fix_race.variant(one_side_does_not_wait)
def _(api: Any) -> Tensor:
    return program(api, start=lambda s: s.main.record_event().wait(s.right))


@fix_race.mistake(breaks=RACES)
def current_does_not_wait(api: Any) -> Tensor:
    """Only one direction is ordered: the side streams wait for a, but nobody waits for b and c before they
    are added.
    """
    return program(api, join=nothing)


@fix_race.variant(current_does_not_wait)
def _(api: Any) -> Tensor:
    return program(api, join=nothing, keep=nothing)


@fix_race.variant(current_does_not_wait)
def _(api: Any) -> Tensor:
    """The side streams wait a second time, in place of the current one."""
    return program(api, join=wait_both)


@fix_race.mistake(breaks=RACES)
def one_side_not_waited_for(api: Any) -> Tensor:
    """The current stream waits for one of the side streams. It reads what both of them write."""
    return program(api, join=lambda s: s.main.wait_stream(s.right))


@fix_race.variant(one_side_not_waited_for)
def _(api: Any) -> Tensor:
    return program(api, join=lambda s: s.main.wait_event(s.left.record_event()))


@fix_race.variant(one_side_not_waited_for)
def _(api: Any) -> Tensor:
    """One event for both: the second record moves it."""

    def join(s: SimpleNamespace) -> None:
        done = s.api.Event()
        s.left.record_event(done)
        s.right.record_event(done)
        s.main.wait_event(done)

    return program(api, join=join)


@fix_race.mistake(breaks=RACES)
def wait_on_the_wrong_side(api: Any) -> Tensor:
    """x.wait_stream(y) makes x wait for y. Here it stands the wrong way round: who reads has to wait for who
    writes.
    """
    return program(api, start=join_both)


@fix_race.variant(wait_on_the_wrong_side)
def _(api: Any) -> Tensor:
    """Both edges the wrong way round."""
    return program(api, start=join_both, join=wait_both)


@fix_race.variant(wait_on_the_wrong_side)
def _(api: Any) -> Tensor:
    """Before each block."""
    return program(
        api,
        start=lambda s: s.main.wait_stream(s.left),
        between=lambda s: s.main.wait_stream(s.right),
    )


@fix_race.mistake(breaks=RACES)
def event_recorded_too_early(api: Any) -> Tensor:
    """An event marks a place in the queue: what is queued there later is not waited for. Record it behind the
    work.
    """

    def begin(s: SimpleNamespace) -> None:
        s.ready = s.main.record_event()

    def start(s: SimpleNamespace) -> None:
        s.left.wait_event(s.ready)
        s.right.wait_event(s.ready)

    return program(api, begin=begin, start=start)


@fix_race.variant(event_recorded_too_early)
def _(api: Any) -> Tensor:
    """wait_stream before a.fill_: it records its event there."""
    return program(api, begin=wait_both, start=nothing)


@fix_race.variant(event_recorded_too_early)
def _(api: Any) -> Tensor:
    """On the side streams."""

    def start(s: SimpleNamespace) -> None:
        wait_both(s)
        s.done = [s.left.record_event(), s.right.record_event()]

    def join(s: SimpleNamespace) -> None:
        for event in s.done:
            s.main.wait_event(event)

    return program(api, start=start, join=join)


@fix_race.variant(event_recorded_too_early)
def _(api: Any) -> Tensor:
    """The current stream waits for the side streams before their work is queued."""

    def start(s: SimpleNamespace) -> None:
        wait_both(s)
        join_both(s)

    return program(api, start=start, join=nothing)


@fix_race.mistake(breaks=RACES)
def event_never_recorded(api: Any) -> Tensor:
    """An event that was never recorded is no obstacle: a wait for it lets everything pass, and says nothing."""

    def start(s: SimpleNamespace) -> None:
        ready = s.api.Event()
        s.left.wait_event(ready)
        s.right.wait_event(ready)

    return program(api, start=start)


@fix_race.variant(event_never_recorded)
def _(api: Any) -> Tensor:
    """Recorded behind the waits."""

    def start(s: SimpleNamespace) -> None:
        ready = s.api.Event()
        s.left.wait_event(ready)
        s.right.wait_event(ready)
        ready.record(s.main)

    return program(api, start=start)


@fix_race.mistake(breaks=RACES)
def waits_for_itself(api: Any) -> Tensor:
    """Inside `with api.stream(left):` the current stream is left. left.wait_stream(api.current_stream())
    makes it wait for itself, which it does anyway.
    """
    return program(api, start=nothing, inside=lambda s: s.side.wait_stream(s.api.current_stream()))


@fix_race.variant(waits_for_itself)
def _(api: Any) -> Tensor:
    """An event without a stream is recorded on the current one, and that is the side stream here."""

    def inside(s: SimpleNamespace) -> None:
        ready = s.api.Event()
        ready.record()
        ready.wait(s.side)

    return program(api, start=nothing, inside=inside)


@fix_race.mistake(breaks=RACES)
def wait_behind_the_work(api: Any) -> Tensor:
    """A wait holds back what is queued behind it. It stands behind the kernels that it was meant for."""
    return program(api, start=nothing, behind=wait_both)


@fix_race.variant(wait_behind_the_work)
def _(api: Any) -> Tensor:
    return program(api, join=nothing, end=join_both)


@fix_race.mistake(breaks=WHERE)
def default_stream(api: Any) -> Tensor:
    """The default stream is only one of the streams that may be current. Ask for api.current_stream() before
    the first `with`.
    """

    def start(s: SimpleNamespace) -> None:
        s.main = s.api.default_stream()
        wait_both(s)

    return program(api, start=start)


@fix_race.mistake(breaks=WHERE)
def default_stream_set_again(api: Any) -> Tensor:
    """The stream that was current is not so again. Perhaps set_stream gave back the default one: `with api.stream(s):` puts
    back the one that was.
    """
    result = program(api)
    api.set_stream(api.default_stream())
    return result


def with_fills(api: Any, sides: bool) -> Tensor:
    """The right program, but for the fills: that of a is on the left stream, and with `sides` that of d on the right one."""
    main, left, right = api.current_stream(), api.Stream(), api.Stream()
    a = api.empty(1000)
    with api.stream(left):
        a.fill_(2.0)
    right.wait_stream(left)
    with api.stream(left):
        b = a * a
        for _ in range(3):
            b *= a
    with api.stream(right):
        c = a + a
        for _ in range(3):
            c += a
    d = api.empty(1000)
    with api.stream(right if sides else main):
        d.fill_(100.0)
    main.wait_stream(left)
    main.wait_stream(right)
    return (b + c + d).sum()


@fix_race.mistake(breaks=WHERE)
def filled_on_a_side_stream(api: Any) -> Tensor:
    """A fill runs on a side stream. Perhaps it was moved into a block, to have it in order or to save a wait: lines may
    move, and what fills a and d stays on the current stream.
    """
    return with_fills(api, sides=False)


@fix_race.variant(filled_on_a_side_stream)
def _(api: Any) -> Tensor:
    return with_fills(api, sides=True)
