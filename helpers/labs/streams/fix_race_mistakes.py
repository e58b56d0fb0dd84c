"""What people get wrong in 06.fix_race about who waits for whom."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from torch import Tensor

from helpers.labs.streams.fix_race import fix_race
from helpers.labs.streams.fix_race_program import join_both, nothing, program, wait_both


@fix_race.wrong_answer(
    "no_synchronisation",
    why="Streams are queues that know nothing of each other. The order of the lines in Python is the order in which "
    "work is queued, not the order in which it runs.",
    seen="queues that know nothing of each other",
)
def _(api: Any) -> Tensor:
    return program(api, start=nothing, keep=nothing, join=nothing)


@fix_race.wrong_answer(
    "only_record_stream",
    why="record_stream speaks to the allocator: do not give this block away too early. It orders no kernels.",
    seen="speaks to the allocator",
)
def _(api: Any) -> Tensor:
    return program(api, start=nothing, join=nothing)


@fix_race.wrong_answer(
    "sides_do_not_wait",
    why="Only one direction is ordered: the current stream waits for the side streams, but they do not wait until a is "
    "written.",
    seen="they do not wait until a is",
)
def _(api: Any) -> Tensor:
    return program(api, start=nothing)


@fix_race.another_form("sides_do_not_wait")
def _(api: Any) -> Tensor:
    return program(api, start=nothing, keep=nothing)


@fix_race.wrong_answer(
    "one_side_does_not_wait",
    why="One of the two side streams waits for a, and the other does not. An edge is needed for each of them.",
    seen="An edge is needed for each of them",
)
def _(api: Any) -> Tensor:
    return program(api, start=lambda s: s.left.wait_stream(s.main))


@fix_race.another_form("one_side_does_not_wait")
def _(api: Any) -> Tensor:
    return program(api, start=lambda s: s.main.record_event().wait(s.right))


@fix_race.wrong_answer(
    "current_does_not_wait",
    why="Only one direction is ordered: the side streams wait for a, but nobody waits for b and c before they are added.",
    seen="nobody waits for b and c before",
)
def _(api: Any) -> Tensor:
    return program(api, join=nothing)


@fix_race.another_form("current_does_not_wait")
def _(api: Any) -> Tensor:
    return program(api, join=nothing, keep=nothing)


@fix_race.another_form("current_does_not_wait")
def _(api: Any) -> Tensor:
    """The side streams wait a second time, in place of the current one."""
    return program(api, join=wait_both)


@fix_race.wrong_answer(
    "one_side_not_waited_for",
    why="The current stream waits for one of the side streams. It reads what both of them write.",
    seen="reads what both of them write",
)
def _(api: Any) -> Tensor:
    return program(api, join=lambda s: s.main.wait_stream(s.right))


@fix_race.another_form("one_side_not_waited_for")
def _(api: Any) -> Tensor:
    return program(api, join=lambda s: s.main.wait_event(s.left.record_event()))


@fix_race.another_form("one_side_not_waited_for")
def _(api: Any) -> Tensor:
    """One event for both: the second record moves it."""

    def join(s: SimpleNamespace) -> None:
        done = s.api.Event()
        s.left.record_event(done)
        s.right.record_event(done)
        s.main.wait_event(done)

    return program(api, join=join)


@fix_race.wrong_answer(
    "wait_on_the_wrong_side",
    why="x.wait_stream(y) makes x wait for y. Here it stands the wrong way round: who reads has to wait for who writes.",
    seen="makes x wait for y",
)
def _(api: Any) -> Tensor:
    return program(api, start=join_both)


@fix_race.another_form("wait_on_the_wrong_side")
def _(api: Any) -> Tensor:
    """Both edges the wrong way round."""
    return program(api, start=join_both, join=wait_both)


@fix_race.another_form("wait_on_the_wrong_side")
def _(api: Any) -> Tensor:
    """Before each block."""
    return program(
        api,
        start=lambda s: s.main.wait_stream(s.left),
        between=lambda s: s.main.wait_stream(s.right),
    )


@fix_race.wrong_answer(
    "event_recorded_too_early",
    why="An event marks a place in the queue: what is queued there later is not waited for. Record it behind the work.",
    seen="Record it behind the work",
)
def _(api: Any) -> Tensor:
    def begin(s: SimpleNamespace) -> None:
        s.ready = s.main.record_event()

    def start(s: SimpleNamespace) -> None:
        s.left.wait_event(s.ready)
        s.right.wait_event(s.ready)

    return program(api, begin=begin, start=start)


@fix_race.another_form("event_recorded_too_early")
def _(api: Any) -> Tensor:
    """wait_stream before a.fill_: it records its event there."""
    return program(api, begin=wait_both, start=nothing)


@fix_race.another_form("event_recorded_too_early")
def _(api: Any) -> Tensor:
    """On the side streams."""

    def start(s: SimpleNamespace) -> None:
        wait_both(s)
        s.done = [s.left.record_event(), s.right.record_event()]

    def join(s: SimpleNamespace) -> None:
        for event in s.done:
            s.main.wait_event(event)

    return program(api, start=start, join=join)


@fix_race.another_form("event_recorded_too_early")
def _(api: Any) -> Tensor:
    """The current stream waits for the side streams before their work is queued."""

    def start(s: SimpleNamespace) -> None:
        wait_both(s)
        join_both(s)

    return program(api, start=start, join=nothing)


@fix_race.wrong_answer(
    "event_never_recorded",
    why="An event that was never recorded is no obstacle: a wait for it lets everything pass, and says nothing.",
    seen="a wait for it lets everything pass",
)
def _(api: Any) -> Tensor:
    def start(s: SimpleNamespace) -> None:
        ready = s.api.Event()
        s.left.wait_event(ready)
        s.right.wait_event(ready)

    return program(api, start=start)


@fix_race.another_form("event_never_recorded")
def _(api: Any) -> Tensor:
    """Recorded behind the waits."""

    def start(s: SimpleNamespace) -> None:
        ready = s.api.Event()
        s.left.wait_event(ready)
        s.right.wait_event(ready)
        ready.record(s.main)

    return program(api, start=start)


@fix_race.wrong_answer(
    "waits_for_itself",
    why="Inside `with api.stream(left):` the current stream is left. left.wait_stream(api.current_stream()) makes it "
    "wait for itself, which it does anyway.",
    seen="which it does anyway",
)
def _(api: Any) -> Tensor:
    return program(api, start=nothing, inside=lambda s: s.side.wait_stream(s.api.current_stream()))


@fix_race.another_form("waits_for_itself")
def _(api: Any) -> Tensor:
    """An event without a stream is recorded on the current one, and that is the side stream here."""

    def inside(s: SimpleNamespace) -> None:
        ready = s.api.Event()
        ready.record()
        ready.wait(s.side)

    return program(api, start=nothing, inside=inside)


@fix_race.wrong_answer(
    "wait_behind_the_work",
    why="A wait holds back what is queued behind it. It stands behind the kernels that it was meant for.",
    seen="holds back what is queued behind it",
)
def _(api: Any) -> Tensor:
    return program(api, start=nothing, behind=wait_both)


@fix_race.another_form("wait_behind_the_work")
def _(api: Any) -> Tensor:
    return program(api, join=nothing, end=join_both)


@fix_race.wrong_answer(
    "default_stream",
    why="The default stream is only one of the streams that may be current. Ask for api.current_stream() before the "
    "first `with`.",
    seen="only one of the streams that may be current",
)
def _(api: Any) -> Tensor:
    def start(s: SimpleNamespace) -> None:
        s.main = s.api.default_stream()
        wait_both(s)

    return program(api, start=start)
