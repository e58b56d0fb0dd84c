"""Requests in a row, written by hand or drawn, and how they read on a card."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from helpers.labs.memory.caching_allocator.model import Device, Model, refusal
from helpers.labs.memory.shown import Rules

# Sizes that one can reckon with in one's head, none of them torch's.
EVEN = Rules(
    min_block_size=10,
    small_size=50,
    small_buffer=200,
    min_large_alloc=300,
    large_segment_size=600,
    round_large=100,
)
# The same, and no size is a multiple of another one.
ODD = Rules(
    min_block_size=10,
    small_size=65,
    small_buffer=125,
    min_large_alloc=305,
    large_segment_size=605,
    round_large=70,
)
THIRDS = Rules(
    min_block_size=3, small_size=10, small_buffer=31, min_large_alloc=40, large_segment_size=53, round_large=7
)
# A block of 160 is large, and its segment is as large as a small one.
ALIKE = replace(EVEN, min_large_alloc=100)
ALIKE_LESSON = "A request of 155 or 160 bytes is large, and its segment has 200, as a small one has."
PLACES = (5000, 3000, 7000, 1000, 9000, 2000, 8000, 4000, 6000)  # in no order, and far apart


@dataclass(frozen=True)
class Op:
    """One request.

    does: "malloc", "free" or "empty_cache". name: what the address is called in the trace, "" for an address that no
    request gave. number: bytes of a malloc; of a free what is added to the address.
    stream: None leaves it out. by_name: as keyword. full: the device has no room now.
    """

    does: str
    name: str = ""
    number: int = 0
    stream: int | None = None
    by_name: bool = True
    full: bool = False

    def __str__(self) -> str:
        if self.does == "empty_cache":
            return "empty_cache()"
        if self.does == "free":
            words = [self.name] if self.name else []
            return f"free({' + '.join([*words, *([str(self.number)] if self.number or not words else [])])})"
        stream = "" if self.stream is None else f", {'stream=' if self.by_name else ''}{self.stream}"
        call = f"malloc({self.number}{stream})"
        return f"{call} while the device has no room" if self.full else f"{self.name} = {call}"


def take(name: str, nbytes: int, stream: int | None = None, *, by_name: bool = True) -> Op:
    return Op("malloc", name, nbytes, stream, by_name)


def refused(nbytes: int, stream: int | None = None) -> Op:
    """A malloc while the device has no room; its address is not used further."""
    return Op("malloc", "", nbytes, stream, full=True)


def give(*names: str) -> list[Op]:
    return [Op("free", name) for name in names]


def give_at(name: str, more: int = 0) -> Op:
    return Op("free", name, more)


EMPTY = Op("empty_cache")


@dataclass(frozen=True)
class Trace:
    """Requests in a row.

    addresses: of the segments, see `Device`. at_the_end: snapshots are compared after the last request only.
    lesson: what a teacher says where an answer does something else, true of whatever it does; about: at which kinds of
    difference (see `Fall`), none: at all of them.
    """

    ops: tuple[Op, ...]
    rules: Rules = EVEN
    addresses: Sequence[int] | int = PLACES
    lesson: str = ""
    about: tuple[str, ...] = ()
    at_the_end: bool = False

    def __str__(self) -> str:
        return f"{'; '.join(map(str, self.ops)) or 'no request'}. {in_words(self.rules)}"

    def first(self, count: int) -> Trace:
        return replace(self, ops=self.ops[:count])


def trace(*ops: Op | list[Op], rules: Rules = EVEN, at: Sequence[int] = PLACES, **more: Any) -> Trace:
    flat = [op for each in ops for op in (each if isinstance(each, list) else [each])]
    return Trace(tuple(flat), rules, at, **more)


def in_words(rules: Rules) -> str:
    return f"Rules: {', '.join(f'{each.name}={getattr(rules, each.name)}' for each in fields(rules))}"


def filled(prefix: str, *sizes: int) -> list[Op]:
    """A request of each size: a0, a1, a2, ..."""
    return [take(f"{prefix}{place}", size) for place, size in enumerate(sizes)]


def renamed(long: Trace) -> Trace:
    """With the names a, b, c and so on."""
    names = list(dict.fromkeys(op.name for op in long.ops if op.name))
    letters = {name: chr(ord("a") + place % 26) * (1 + place // 26) for place, name in enumerate(names)}
    return replace(long, ops=tuple(replace(op, name=letters.get(op.name, "")) for op in long.ops))


class Player:
    """Hands a trace to an allocator, op by op. The model and the answer each have one."""

    def __init__(self, make: Any, trace: Trace) -> None:
        self.device = Device(trace.addresses)
        self.allocator = make(self.device, trace.rules)
        self.out: dict[str, int] = {}

    def play(self, op: Op) -> Any:
        """Returns what the allocator returns."""
        self.device.error = refusal() if op.full else None
        self.device.calls.clear()
        if op.does == "empty_cache":
            return self.allocator.empty_cache()
        if op.does == "free":
            return self.allocator.free(int(str(self.out.get(op.name, 0) + op.number)))
        if op.stream is None:
            address = self.allocator.malloc(op.number)
        else:
            stream = int(str(op.stream))  # a number of its own
            address = (
                self.allocator.malloc(op.number, stream=stream)
                if op.by_name
                else self.allocator.malloc(op.number, stream)
            )
        if op.name:
            self.out[op.name] = address
        return address


def modelled(trace: Trace) -> Player:
    """The model after the trace."""
    player = Player(Model, trace)
    for op in trace.ops:
        try:
            player.play(op)
        except (ValueError, RuntimeError):
            pass
    return player


def drawn_rules(draw: random.Random) -> Rules:
    """Sizes in the right order, with no other relation."""
    least = draw.choice((8, 10, 24, 512))
    small = least * draw.randrange(2, 6) + draw.choice((0, draw.randrange(least)))
    own = small + least * draw.randrange(3, 9) + draw.choice((0, draw.randrange(least)))
    return Rules(
        min_block_size=least,
        small_size=small,
        small_buffer=small * draw.randrange(3, 8) + draw.choice((0, draw.randrange(least))),
        min_large_alloc=own,
        large_segment_size=own * draw.randrange(1, 6) + draw.choice((0, draw.randrange(1, least))),
        round_large=least * draw.randrange(2, 7) + draw.choice((0, draw.randrange(least))),
    )


def drawn(draw: random.Random, count: int, *, many: bool = False) -> Trace:
    """Requests of sizes near every limit, on three streams. At the end all is freed.

    many: a dozen segments more are idle then.
    """
    rules, addresses = drawn_rules(draw), draw.randrange(1 << 30)
    player = Player(Model, Trace((), rules, addresses))
    ops: list[Op] = []
    out: list[str] = []
    gone: list[str] = []
    for place in range(count):
        op = _drawn_op(draw, rules, player, out, gone, f"p{place}")
        ops.append(op)
        try:
            player.play(op)
        except (ValueError, RuntimeError):
            continue
        if op.does == "malloc" and op.name:
            out.append(op.name)
        elif op.does == "free" and op.name in out and not op.number:
            out.remove(op.name)
            gone.append(op.name)
    draw.shuffle(out)
    more = _many(draw, rules, "q") if many else []
    return Trace((*ops, *give(*out), *more, EMPTY), rules, addresses)


def _many(draw: random.Random, rules: Rules, prefix: str) -> list[Op]:
    """A dozen segments of their own, all of which are idle at the end."""
    names = [f"{prefix}{place}" for place in range(12)]
    taken = [take(name, rules.min_large_alloc + 3 * rules.round_large, draw.randrange(3)) for name in names]
    draw.shuffle(names)
    return [*taken, *give(*names)]


def _drawn_op(
    draw: random.Random, rules: Rules, player: Player, out: list[str], gone: list[str], name: str
) -> Op:
    chance = draw.random()
    if chance < 0.04:
        return EMPTY
    if chance < 0.08 and (out or gone):
        known = draw.choice(gone or out)
        return give_at(known, 0 if known in gone else rules.min_block_size)
    if chance < 0.46 and out:
        return give_at(draw.choice(out))
    stream = draw.choice((None, None, 0, 1, 700))
    if chance < 0.50:
        return replace(refused(_drawn_size(draw, rules, player), stream), by_name=draw.random() < 0.5)
    return take(name, _drawn_size(draw, rules, player), stream, by_name=draw.random() < 0.5)


def _drawn_size(draw: random.Random, rules: Rules, player: Player) -> int:
    """Near a limit of the rules, or such that an idle block fits exactly, nearly, or leaves a rest near a limit."""
    idle = [block.size for block in player.allocator.blocks.values() if not block.requested]
    limits = [rules.min_block_size, rules.small_size, rules.min_large_alloc, 2 * rules.min_block_size]
    if idle and draw.random() < 0.5:
        size = draw.choice(idle) - draw.choice((0, 0, rules.min_block_size, rules.small_size))
    else:
        size = draw.choice((*limits, draw.randrange(1, 2 * rules.min_large_alloc)))
    return max(1, size + draw.choice((-1, 0, 0, 1)))
