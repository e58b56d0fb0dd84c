"""Right answers to 06.fix_race, in different shapes."""

from __future__ import annotations

from typing import Any

from torch import Tensor


def with_wait_stream(api: Any) -> Tensor:
    main = api.current_stream()
    left, right = api.Stream(), api.Stream()
    a = api.empty(1000)
    a.fill_(2.0)
    left.wait_stream(main)
    right.wait_stream(main)
    with api.stream(left):
        b = a * a
        for _ in range(3):
            b *= a
    with api.stream(right):
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


def with_events(api: Any) -> Tensor:
    """One event for the start, one for the end of each side; record_stream first, waits inside the blocks."""
    ready, left_done, right_done = api.Event(), api.Event(), api.Event()
    left, right = api.Stream(), api.Stream()
    a = api.empty(1000)
    a.fill_(2.0)
    ready.record()
    with api.stream(left):
        a.record_stream(left)
        ready.wait()
        b = a * a
        for _ in range(3):
            b *= a
        left_done.record()
    with api.stream(right):
        a.record_stream(right)
        ready.wait()
        c = a + a
        for _ in range(3):
            c += a
        right_done.record()
    del a
    d = api.empty(1000)
    d.fill_(100.0)
    left_done.wait()
    right_done.wait()
    total = (b + c + d).sum()
    b.record_stream(api.current_stream())
    c.record_stream(api.current_stream())
    return total


def with_a_kept(api: Any) -> Tensor:
    """a is held until the current stream has waited for both sides, so no record_stream is needed."""
    main = api.current_stream()
    sides = [api.Stream(), api.Stream()]
    a = api.empty(1000)
    a.fill_(2.0)
    results = []
    for side in sides:
        side.wait_stream(main)
        with side:
            out = a * a if side is sides[0] else a + a
            for _ in range(3):
                out = out * a if side is sides[0] else out + a
            results.append(out)
    d = api.empty(1000)
    d.fill_(100.0)
    for side in sides:
        main.wait_stream(side)
    del a
    b, c = results
    return (b + c + d).sum()


def with_an_early_join(api: Any) -> Tensor:
    """The current stream waits before a goes: what d writes is then behind the reads of a."""
    main, left, right = api.current_stream(), api.Stream(), api.Stream()
    a = api.empty(1000)
    a.fill_(2.0)
    written = main.record_event()
    left.wait_event(written)
    right.wait_event(written)
    with api.stream(right):
        c = a + a
        for _ in range(3):
            c += a
    with api.stream(left):
        b = a * a
        for _ in range(3):
            b *= a
    main.wait_event(left.record_event())
    main.wait_event(right.record_event())
    del a
    d = api.empty(1000)
    d.fill_(100.0)
    return (b + c + d).sum()


def with_a_chain_of_waits(api: Any) -> Tensor:
    """right starts behind what left waits for, left's end goes over right; b and c stand interleaved."""
    main, left, right = api.current_stream(), api.Stream(), api.Stream()
    a = api.empty(1000).fill_(2.0)
    left.wait_stream(main)
    right.wait_stream(left)
    with left:
        b = a * a
    with right:
        c = a + a
    for _ in range(3):
        with left:
            b *= a
        with right:
            c += a
    for side in (left, right):
        a.record_stream(side)
    del a
    right.wait_stream(left)
    d = api.empty(1000).fill_(100.0)
    main.wait_stream(right)
    return (b + c + d).sum()


def with_a_on_one_side_only(api: Any) -> Tensor:
    """The current stream waits for left before a goes, and the allocator is told of right."""
    main, left, right = api.current_stream(), api.Stream(), api.Stream()
    a = api.empty(1000)
    a.fill_(2.0)
    go = main.record_event()
    go.wait(left)
    go.wait(right)
    with api.stream(left):
        b = a**5
    with api.stream(right):
        c = 5 * a
    a.record_stream(right)
    main.wait_stream(left)
    del a
    d = api.empty(1000)
    d.fill_(100.0)
    main.wait_stream(right)
    return b.sum() + c.sum() + d.sum()


RIGHT = [
    with_wait_stream,
    with_events,
    with_a_kept,
    with_an_early_join,
    with_a_chain_of_waits,
    with_a_on_one_side_only,
]
