"""Holds an answer beside the model, request by request, and says where they part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from helpers.check.trial import Trial
from helpers.labs.memory.caching_allocator.model import Device, Model, plain, sizes
from helpers.labs.memory.caching_allocator.traces import Op, Player, Trace, modelled, renamed
from helpers.labs.memory.shown import Rules

OF_A_SEGMENT = ("address", "total_size", "stream", "segment_type")
OF_A_BLOCK = ("address", "size", "requested_size", "state")
TRIES = 250  # traces that are tried while a long one is made short


@dataclass
class Fall:
    """Where an answer does something else than the model. count: the requests up to there.

    kind: what differs: "error", "device", "address", "snapshot", "other"; or the type of what the answer raised.
    """

    count: int
    kind: str
    message: str = ""
    expected: str = ""
    got: str = ""
    observed: Any = None
    raised: Exception | None = None


def holds(answer: Any, trial: Trial, *traces: Trace, shows: bool = True) -> None:
    """Wrong at the first request of a trace at which the answer does something else than the model.

    shows: whether snapshots are compared.
    """
    for place, trace in enumerate(traces):
        trial.given(str(trace))
        if fall := fallen(answer, trace, shows):
            _tell(trial, trace, fall, (place, fall.count, fall.observed))


def holds_in_short(answer: Any, trial: Trial, trace: Trace) -> None:
    """The same for a long trace: what is shown is made short. Observed is only what differs, and at which kind of request."""
    trial.given(str(trace.first(3)) + " ...")
    if fall := fallen(answer, trace, True):
        does = trace.ops[fall.count - 1].does if fall.count else "__init__"
        seen = (fall.kind, does, fall.observed[1] if fall.kind == "device" else None)
        short, its = shortened(answer, trace, fall)
        again = fallen(answer, renamed(short), True)
        _tell(trial, renamed(short) if again else short, again or its, seen)


def _tell(trial: Trial, trace: Trace, fall: Fall, observed: Any) -> None:
    trial.given(str(trace.first(fall.count)))
    if fall.raised is not None:
        raise fall.raised
    lesson = trace.lesson if fall.kind in (trace.about or ("error", "device", "address", "snapshot")) else ""
    message = f"{fall.message} {lesson}".strip()
    trial.fail(message, expected=fall.expected, got=fall.got, observed=observed)


def shortened(answer: Any, trace: Trace, fall: Fall) -> tuple[Trace, Fall]:
    """A trace, made short by leaving out requests, at whose end the answer still falls in the same way."""
    best, its = trace.first(fall.count), fall
    tries, size = 0, max(1, len(best.ops) // 2)
    while size and tries < TRIES:
        place, left_out = 0, False
        while place < len(best.ops) and tries < TRIES:
            ops = _meant((*best.ops[:place], *best.ops[place + size :]))
            shorter = replace(best, ops=ops)
            tries += 1
            found = fallen(answer, shorter, True) if len(ops) < len(best.ops) else None
            if found and found.kind == fall.kind:
                best, its, left_out = shorter.first(found.count), found, True
            else:
                place += size
        size = size if left_out and size == 1 else size // 2
    return best, its


def _meant(ops: tuple[Op, ...]) -> tuple[Op, ...]:
    """Without the frees of what no request gave."""
    there: set[str] = set()
    kept = []
    for op in ops:
        if op.does != "free" or not op.name or op.name in there:
            kept.append(op)
        if op.does == "malloc" and op.name:
            there.add(op.name)
    return tuple(kept)


def fallen(answer: Any, trace: Trace, shows: bool) -> Fall | None:
    """Where the answer parts from the model, None if it does not."""
    try:
        own, model = Player(answer, trace), Player(Model, trace)
        if own.device.calls:
            return Fall(
                0,
                "device",
                "When the allocator was made, the device was called.",
                _calls_in_words([]),
                _calls_in_words(own.device.calls),
                ("called at the start", []),
            )
        if shows and (fall := _of_snapshots(own, model, 0)):
            return fall
    except NotImplementedError:
        raise
    except Exception as error:
        return Fall(0, type(error).__name__, raised=error)
    for count, op in enumerate(trace.ops, 1):
        try:
            fall = _at(op, trace, own, model, count)
            if fall is None and shows and (count == len(trace.ops) or not trace.at_the_end):
                fall = _of_snapshots(own, model, count)
        except NotImplementedError:
            raise
        except Exception as error:
            fall = Fall(count, type(error).__name__, raised=error)
        if fall:
            return fall
    return None


def _at(op: Op, trace: Trace, own: Player, model: Player, count: int) -> Fall | None:
    want, error = _played(model, op)
    got, raised = _played(own, op)
    if own.device.others:
        name = own.device.others[0]
        return Fall(
            count,
            "other",
            f"At {op}, `device.{name}` was used. The allocator knows two things of a device: `malloc` and `free`.",
            "device.malloc and device.free, and nothing else",
            f"device.{name}",
            "used something else of the device",
        )
    if type(raised) is NotImplementedError:
        raise raised
    expected = isinstance(raised, ValueError) if op.does == "free" else raised is own.device.error
    if raised is not None and error is None and not expected:
        raise raised
    of_calls = _of_calls(op, trace, own, model, got, count)
    if op.does == "malloc" and raised is None and of_calls:
        return of_calls
    return (
        _of_errors(op, error, raised, own, count)
        or of_calls
        or (_of_address(op, trace, got, want, count) if op.does == "malloc" and error is None else None)
    )


def _played(player: Player, op: Op) -> tuple[Any, Exception | None]:
    try:
        return player.play(op), None
    except Exception as error:
        return None, error


def _of_errors(
    op: Op, error: Exception | None, raised: Exception | None, own: Player, count: int
) -> Fall | None:
    """error: what the model raised; raised: the answer."""
    what = f"{type(raised).__name__}: {raised}" if raised is not None else "nothing was raised"
    if error is None and raised is None:
        return None
    if error is None:
        return Fall(
            count,
            "error",
            f"At {op}, {type(raised).__name__} was raised. "
            + (
                f"A block is out at this address, {own.out.get(op.name, 0) + op.number}."
                if op.does == "free"
                else "An idle block fits."
            ),
            "no error",
            what,
            ("raised", type(raised).__name__),
        )
    if isinstance(error, ValueError):
        if isinstance(raised, ValueError):
            return None
        return Fall(
            count,
            "error",
            f"No block is out at the address of {op}, and "
            + ("nothing was raised." if raised is None else f"{type(raised).__name__} was raised."),
            "ValueError",
            what,
            ("instead of ValueError", type(raised).__name__),
        )
    if raised is own.device.error:
        return None
    return Fall(
        count,
        "error",
        f"At {op}, "
        + (
            "malloc returned."
            if raised is None
            else f"{type(raised).__name__} was raised instead of the device's error."
            if type(raised) is not type(error)
            else "a new error was raised, and not the device's own."
        ),
        "the error of the device passes through",
        what,
        ("instead of the device's error", type(raised).__name__),
    )


def _of_calls(op: Op, trace: Trace, own: Player, model: Player, got: Any, count: int) -> Fall | None:
    """The device was called in a different way. The order in which `empty_cache` gives back is free."""
    called, wanted = list(own.device.calls), list(model.device.calls)
    if op.does == "empty_cache":
        called.sort(key=str)
        wanted.sort(key=str)
    if called == wanted:
        return None
    words, kind = _in_words(op, trace, called, wanted, got, count)
    return Fall(
        count,
        "device",
        f"At {op}, {words}",
        _calls_in_words(wanted),
        _calls_in_words(called),
        (kind, [name for name, _ in called], [number for _, number in called]),
    )


def _in_words(
    op: Op, trace: Trace, called: list[Any], wanted: list[Any], got: Any, count: int
) -> tuple[str, str]:
    names, should = [name for name, _ in called], [name for name, _ in wanted]
    if op.does == "empty_cache":
        if "malloc" in names:
            return "the device was asked for a segment.", "asked"
        gone, idle = [at for _, at in called], [at for _, at in wanted]
        if len(set(gone)) < len(gone):
            return "a segment was given back twice.", "twice"
        if extra := [at for at in gone if at not in idle]:
            starts = {each["address"] for each in modelled(trace.first(count - 1)).allocator.snapshot()}
            return (
                (
                    f"the segment at {extra[0]} was given back, and a block of it is out.",
                    "not idle throughout",
                )
                if extra[0] in starts
                else (f"device.free({extra[0]}) was called, and no segment begins there.", "no segment")
            )
        return f"{len(idle) - len(gone)} of {len(idle)} idle segments were not given back.", "kept"
    if op.does == "free":
        return "the device was called. A block that comes back is kept, for the next request.", "called"
    if "free" in names:
        return "a segment was given back to the device. Only empty_cache does that.", "given back"
    if not names:
        lies, kind = lying(op, trace, count, got)
        return f"the device was not asked, and no idle block fits. {lies}", f"not asked: {kind}"
    if not should:
        return "the device was asked for a segment, and an idle block fits.", "asked though one fits"
    if len(names) > 1:
        return f"the device was asked {len(names)} times, and not once.", "asked again"
    return (
        f"the device was asked for {called[0][1]} bytes. The segment for this request has {wanted[0][1]}.",
        "a different size",
    )


def _calls_in_words(calls: list[tuple[str, Any]]) -> str:
    return ", ".join(f"device.{name}({number})" for name, number in calls) or "the device is not called"


def _of_address(op: Op, trace: Trace, got: Any, want: int, count: int) -> Fall | None:
    if isinstance(got, int) and not isinstance(got, bool) and got == want:
        return None
    lies, kind = lying(op, trace, count, got)
    return Fall(
        count,
        "address",
        f"{op} returned {plain(got)}, and should have returned {want}. {lies}",
        str(want),
        str(plain(got)),
        (kind, got if isinstance(got, int) else type(got).__name__),
    )


def lying(op: Op, trace: Trace, count: int, address: Any) -> tuple[str, str]:
    """What lies at an address before a request, the op number `count` of the trace: a sentence, and a few words for it."""
    if not isinstance(address, int) or isinstance(address, bool):
        return f"That is no address: it is of the type {type(address).__name__}.", "no address"
    model = modelled(trace.first(count - 1)).allocator
    size, _ = sizes(op.number, trace.rules)
    kind = "small" if size <= trace.rules.small_size else "large"
    for at, block in model.blocks.items():
        if not at <= address < at + block.size:
            continue
        its = block.segment
        if block.requested:
            return (
                ("A block is out at this address.", "out")
                if address == at
                else ("This address lies inside a block that is out.", "inside a block that is out")
            )
        if address != at:
            return (
                f"This address lies inside an idle block of {block.size} bytes, and not at its front.",
                "not the front",
            )
        if its.stream != (op.stream or 0):
            return f"An idle block of stream {its.stream} lies there.", "a different stream"
        if its.kind != kind:
            return (
                f"An idle block of a {its.kind} segment lies there, and the request is {kind}.",
                "a different kind",
            )
        if block.size < size:
            return (
                f"An idle block of {block.size} bytes lies there, and {size} are needed.",
                "too small",
            )
        return f"An idle block of {block.size} bytes lies there.", "an idle block that fits"
    for segment in modelled(trace.first(count)).allocator.snapshot():
        if segment["address"] < address < segment["address"] + segment["total_size"]:
            return "This address lies inside the new segment, and not at its front.", "not the front"
    if address in modelled(trace.first(count - 1)).device.back:
        return "A segment began there that the device has back.", "given back"
    return "No block of the allocator lies there.", "nowhere"


def _of_snapshots(own: Player, model: Player, count: int) -> Fall | None:
    got, want = own.allocator.snapshot(), model.allocator.snapshot()
    if same(got, want):
        return None
    (message, expected, shown), observed = told_apart(got, want)
    return Fall(count, "snapshot", message, expected, shown, observed)


def same(got: Any, want: list[dict[str, Any]]) -> bool:
    return _form_of(got) is None and _plainly(got) == want


def _plainly(segments: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A snapshot without what is in it beside."""
    return [
        {
            **{key: each[key] for key in OF_A_SEGMENT},
            "blocks": [{key: block[key] for key in OF_A_BLOCK} for block in each["blocks"]],
        }
        for each in segments
    ]


def _form_of(got: Any) -> tuple[str, Any] | None:
    """What is wrong with the form of a snapshot, None if nothing is."""
    if not isinstance(got, list):
        return f"snapshot() returned a {type(got).__name__}, and no list.", ("no list", type(got).__name__)
    for each, keys, what in _dicts(got):
        if not isinstance(each, dict):
            return f"{what} in the snapshot is a {type(each).__name__}, and no dict.", ("no dict", what)
        if lacking := [key for key in keys if key not in each]:
            return f"{what} in the snapshot has no `{lacking[0]}`.", ("lacks", what, lacking)
        if "blocks" in keys and not isinstance(each["blocks"], list):
            return f"`blocks` is a {type(each['blocks']).__name__}, and no list.", ("blocks are no list",)
        wrong = [
            key
            for key in keys
            if key in ("address", "total_size", "size", "requested_size")
            and (isinstance(each[key], bool) or not isinstance(each[key], int))
        ]
        if wrong:
            return (
                f"`{wrong[0]}` in the snapshot is {each[wrong[0]]!r}, and no int.",
                ("no int", what, wrong, type(each[wrong[0]]).__name__),
            )
    return None


def _dicts(got: list[Any]) -> Iterator[tuple[Any, tuple[str, ...], str]]:
    for segment in got:
        yield segment, (*OF_A_SEGMENT, "blocks"), "A segment"
        for block in segment["blocks"]:
            yield block, OF_A_BLOCK, "A block"


def told_apart(got: Any, want: list[dict[str, Any]]) -> tuple[tuple[str, str, str], Any]:
    """Sentence, expected and got, and what is observed, of a snapshot that is not what it should be."""
    if form := _form_of(got):
        message, observed = form
        return (message, in_short(want), repr(got)[:200]), observed
    found = _plainly(got)
    if by_address(found) == want:
        return ("The snapshot is not sorted by address.", in_short(want), in_short(found)), "not by address"
    if sorted(found, key=str) == sorted(want, key=str):
        return ("Its segments are not sorted by address.", in_short(want), in_short(found)), "not by address"
    starts, should = [each["address"] for each in found], [each["address"] for each in want]
    if starts != should:
        gone = [at for at in should if at not in starts]
        extra = [at for at in starts if at not in should]
        words = (
            f"the segment at {gone[0]} is missing"
            if gone
            else f"there is a segment at {extra[0]} that should not be there"
            if extra
            else "a segment stands in it twice, or at the wrong place"
        )
        return (f"In the snapshot, {words}.", in_short(want), in_short(found)), ("segments", starts)
    one, other = next((a, b) for a, b in zip(found, want, strict=True) if a != b)
    for key in OF_A_SEGMENT:
        if one[key] != other[key]:
            return (
                f"In the snapshot, `{key}` of the segment at {other['address']} is {one[key]!r}, and should be {other[key]!r}."
                + (
                    " It came for a request whose block has "
                    + ("at most" if other[key] == "small" else "more than")
                    + " `small_size`."
                    if key == "segment_type"
                    else ""
                ),
                in_short([other]),
                in_short([one]),
            ), (key, one[key])
    seen = [[block[key] for key in OF_A_BLOCK] for block in one["blocks"]]
    cuts, right = ([block["size"] for block in each["blocks"]] for each in (one, other))
    places, meant = ([block["address"] for block in each["blocks"]] for each in (one, other))
    if (cuts, places) != (right, meant):
        words = f"the segment at {other['address']} is cut into blocks of {_listed(cuts)} bytes, and should be {_listed(right)}"
        if cuts == right:
            words = (
                f"the blocks of the segment at {other['address']} have other addresses than they should have"
            )
    else:
        block, its = next((a, b) for a, b in zip(one["blocks"], other["blocks"], strict=True) if a != b)
        key = next(key for key in OF_A_BLOCK if block[key] != its[key])
        words = f"`{key}` of the block at {its['address']} is {block[key]!r}, and should be {its[key]!r}"
    return (f"In the snapshot, {words}.", in_short([other]), in_short([one])), ("blocks", seen)


def shown(got: Any) -> str:
    """A snapshot in short, or what stands in its place."""
    try:
        return in_short(got)
    except Exception:
        return repr(got)[:200]


def takes(allocator: Any, address: int) -> bool:
    """Whether it takes back a block at the address. Errors other than ValueError are for other properties to tell."""
    try:
        allocator.free(address)
    except ValueError:
        return False
    return True


def holds_many(answer: Any, trial: Trial, rules: Rules) -> None:
    """A small segment full of the smallest blocks, and then idle again."""
    each, count = rules.min_block_size, rules.small_buffer // rules.min_block_size
    trial.given(f"malloc(4) {count:,} times, in one segment; then snapshot()")
    allocator = answer(Device([5000]), rules)
    addresses = [allocator.malloc(4) for _ in range(count)]
    blocks = [
        {"address": at, "size": each, "requested_size": 4, "state": "active_allocated"}
        for at in range(5000, 5000 + rules.small_buffer, each)
    ]
    segment = {"address": 5000, "total_size": rules.small_buffer, "stream": 0, "segment_type": "small"}
    _same_many(trial, allocator.snapshot(), {**segment, "blocks": blocks}, "out")
    trial.given(
        f"malloc(4) {count:,} times, in one segment; free of all, the last one first; then snapshot()"
    )
    for address in (addresses[-1], *addresses[:-1]):
        allocator.free(address)
    idle = {"address": 5000, "size": rules.small_buffer, "requested_size": 0, "state": "inactive"}
    _same_many(trial, allocator.snapshot(), {**segment, "blocks": [idle]}, "idle")


def _same_many(trial: Trial, got: Any, want: dict[str, Any], observed: str) -> None:
    trial.true(
        same(got, [want]),
        "The snapshot of a segment with many blocks is not what it should be.",
        expected=in_short([want])[:200],
        got=shown(got)[:200],
        observed=("many blocks", observed),
    )


def by_address(segments: list[dict[str, Any]]) -> list[dict[str, Any]]:
    ordered = [{**each, "blocks": sorted(each["blocks"], key=_address)} for each in segments]
    return sorted(ordered, key=_address)


def _address(each: dict[str, Any]) -> int:
    return each["address"]


def in_short(segments: list[dict[str, Any]]) -> str:
    """The segments in a line: "5000, small, stream 0: 30 out (for 25), 170 idle"."""
    return "; ".join(map(_segment_in_short, segments)) or "no segment"


def _segment_in_short(segment: dict[str, Any]) -> str:
    blocks = ", ".join(f"{each['size']} {_state_in_short(each)}" for each in segment["blocks"])
    return (
        f"{segment['address']}, {segment['segment_type']}, stream {segment['stream']}: {blocks or 'no block'}"
    )


def _state_in_short(block: dict[str, Any]) -> str:
    if block["state"] == "active_allocated":
        return f"out (for {block['requested_size']})"
    idle = "idle" if block["state"] == "inactive" else repr(block["state"])
    return idle + (f" (for {block['requested_size']})" if block["requested_size"] else "")


def _listed(numbers: list[Any]) -> str:
    *others, last = map(str, numbers or ["no"])
    return f"{', '.join(others)} and {last}" if others else last
