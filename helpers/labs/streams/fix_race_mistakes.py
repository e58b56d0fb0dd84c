"""What people get wrong in 06.fix_race about who waits for whom."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from torch import Tensor

from helpers.labs.streams.fix_race import fix_race
from helpers.labs.streams.fix_race_program import join_both, nothing, program, wait_both


@fix_race.mistake()
def no_synchronisation(api: Any) -> Tensor:
    """Streams are queues that know nothing of each other. The order of the lines in Python is the order in
    which work is queued, not the order in which it runs.
    """
    return program(api, start=nothing, keep=nothing, join=nothing)


@fix_race.mistake()
def only_record_stream(api: Any) -> Tensor:
    """record_stream speaks to the allocator: do not give this block away too early. It orders no kernels."""
    return program(api, start=nothing, join=nothing)


@fix_race.mistake()
def sides_do_not_wait(api: Any) -> Tensor:
    """Only one direction is ordered: the current stream waits for the side streams, but they do not wait
    until a is written.
    """
    return program(api, start=nothing)


@fix_race.variant(sides_do_not_wait)
def _(api: Any) -> Tensor:
    return program(api, start=nothing, keep=nothing)


@fix_race.mistake()
def one_side_does_not_wait(api: Any) -> Tensor:
    """One of the two side streams waits for a, and the other does not. An edge is needed for each of them."""
    return program(api, start=lambda s: s.left.wait_stream(s.main))


@fix_race.variant(one_side_does_not_wait)
def _(api: Any) -> Tensor:
    return program(api, start=lambda s: s.main.record_event().wait(s.right))


@fix_race.mistake()
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


@fix_race.mistake()
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


@fix_race.mistake()
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


@fix_race.mistake()
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


@fix_race.mistake()
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


@fix_race.mistake()
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


@fix_race.mistake()
def wait_behind_the_work(api: Any) -> Tensor:
    """A wait holds back what is queued behind it. It stands behind the kernels that it was meant for."""
    return program(api, start=nothing, behind=wait_both)


@fix_race.variant(wait_behind_the_work)
def _(api: Any) -> Tensor:
    return program(api, join=nothing, end=join_both)


@fix_race.mistake()
def default_stream(api: Any) -> Tensor:
    """The default stream is only one of the streams that may be current. Ask for api.current_stream() before
    the first `with`.
    """

    def start(s: SimpleNamespace) -> None:
        s.main = s.api.default_stream()
        wait_both(s)

    return program(api, start=start)
