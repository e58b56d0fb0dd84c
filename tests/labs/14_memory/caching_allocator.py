"""Right answers of 14.caching_allocator, of other shapes than the solution's."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field
from typing import Any


def rounded(nbytes, rules):
    """As an answer to 14.rounded."""
    block = (nbytes + rules.min_block_size - 1) // rules.min_block_size * rules.min_block_size
    if block <= rules.small_size:
        return block, rules.small_buffer
    if block < rules.min_large_alloc:
        return block, rules.large_segment_size
    return block, (block + rules.round_large - 1) // rules.round_large * rules.round_large


@dataclass(eq=False)
class Piece:
    """A block, which knows its neighbours, as in torch."""

    at: int
    size: int
    pool: SortedPool
    stream: int
    asked: int = 0
    before: Piece | None = None
    behind: Piece | None = None

    @property
    def key(self) -> tuple[int, int, int]:
        return self.stream, self.size, self.at


@dataclass(eq=False)
class SortedPool:
    """The idle blocks of a kind, sorted by stream, size and address."""

    name: str
    idle: list[Piece] = field(default_factory=list)

    def put(self, piece: Piece) -> None:
        bisect.insort(self.idle, piece, key=lambda each: each.key)

    def fitting(self, stream: int, size: int) -> Piece | None:
        place = bisect.bisect_left(self.idle, (stream, size, -1), key=lambda each: each.key)
        if place < len(self.idle) and self.idle[place].stream == stream:
            return self.idle[place]
        return None


class Linked:
    """Linked blocks and sorted pools, as in torch."""

    def __init__(self, device, rules):
        self.device, self.rules = device, rules
        self.pools = SortedPool("small"), SortedPool("large")
        self.out: dict[int, Piece] = {}
        self.heads: list[Piece] = []

    def malloc(self, nbytes, stream=0):
        size, segment_size = rounded(nbytes, self.rules)
        small = size <= self.rules.small_size
        pool = self.pools[0 if small else 1]
        piece = pool.fitting(stream, size)
        if piece is None:
            piece = Piece(self.device.malloc(segment_size), segment_size, pool, stream)
            bisect.insort(self.heads, piece, key=lambda each: each.at)
        else:
            pool.idle.remove(piece)
        left = piece.size - size
        if left >= self.rules.min_block_size if small else left > self.rules.small_size:
            other = Piece(piece.at + size, left, pool, stream, 0, piece, piece.behind)
            if piece.behind:
                piece.behind.before = other
            piece.behind, piece.size = other, size
            pool.put(other)
        piece.asked = nbytes
        self.out[piece.at] = piece
        return piece.at

    def free(self, address):
        piece = self.out.pop(address, None)
        if piece is None:
            raise ValueError(address)
        piece.asked = 0
        for other in (piece.before, piece.behind):
            if other is not None and not other.asked:
                piece.pool.idle.remove(other)
                if other is piece.before:
                    other.size += piece.size
                    other.behind = piece.behind
                    if piece.behind:
                        piece.behind.before = other
                    piece = other
                else:
                    piece.size += other.size
                    piece.behind = other.behind
                    if other.behind:
                        other.behind.before = piece
        piece.pool.put(piece)

    def empty_cache(self):
        gone = [head for head in self.heads if not head.asked and head.behind is None]
        for head in gone:
            self.device.free(head.at)
            head.pool.idle.remove(head)
        self.heads = [head for head in self.heads if head not in gone]

    def snapshot(self):
        return [self._shown(head) for head in self.heads]

    def _shown(self, head):
        blocks, piece = [], head
        while piece is not None:
            state = "active_allocated" if piece.asked else "inactive"
            blocks.append(
                {"address": piece.at, "size": piece.size, "requested_size": piece.asked, "state": state}
            )
            piece = piece.behind
        return {
            "address": head.at,
            "total_size": sum(each["size"] for each in blocks),
            "stream": head.stream,
            "segment_type": head.pool.name,
            "blocks": blocks,
        }


class Gaps:
    """Only what is out is kept, by segment; what is idle is what lies between."""

    def __init__(self, device, rules):
        self.device, self.rules = device, rules
        self.segments = {}  # address -> (size, stream, small, {address: (size, bytes)})

    def _idle(self, address):
        total, _, _, out = self.segments[address]
        end = address
        for start in sorted(out):
            if start > end:
                yield end, start - end
            end = start + out[start][0]
        if end < address + total:
            yield end, address + total - end

    def malloc(self, nbytes, stream=0):
        size, segment_size = rounded(nbytes, self.rules)
        small = size <= self.rules.small_size
        found = sorted(
            (length, start, home)
            for home, (_, its, kind, _) in self.segments.items()
            if (its, kind) == (stream, small)
            for start, length in self._idle(home)
            if length >= size
        )
        if not found:
            home = self.device.malloc(segment_size)
            self.segments[home] = (segment_size, stream, small, {})
            found = [(segment_size, home, home)]
        length, start, home = found[0]
        least = self.rules.min_block_size if small else self.rules.small_size + 1
        self.segments[home][3][start] = (size if length - size >= least else length, nbytes)
        return start

    def free(self, address):
        for *_, out in self.segments.values():
            if address in out:
                del out[address]
                return
        raise ValueError("not out")

    def empty_cache(self):
        idle = [home for home, (*_, out) in self.segments.items() if not out]
        for home in reversed(idle):
            del self.segments[home]
            self.device.free(home)

    def snapshot(self):
        shown = []
        for home, (total, stream, small, out) in sorted(self.segments.items()):
            pieces = [(start, length, 0) for start, length in self._idle(home)]
            pieces += [(start, length, nbytes) for start, (length, nbytes) in out.items()]
            blocks = [
                dict(
                    address=start,
                    size=length,
                    requested_size=nbytes,
                    state="active_allocated" if nbytes else "inactive",
                    home=home,
                )
                for start, length, nbytes in sorted(pieces)
            ]
            kind = "small" if small else "large"
            shown.append(
                dict(address=home, total_size=total, stream=stream, segment_type=kind, blocks=blocks)
            )
        return shown


class Tuples:
    """One tuple of rows, replaced whole by each request: (segment, address, size, bytes)."""

    def __init__(self, device, rules):
        self._device, self._rules = device, rules
        self._segments: dict[int, tuple[int, Any, str]] = {}
        self._rows: tuple[tuple[int, int, int, int], ...] = ()

    def malloc(self, nbytes, stream=0):
        rules = self._rules
        need, total = rounded(nbytes, rules)
        kind, least = (
            ("small", rules.min_block_size) if need <= rules.small_size else ("large", rules.small_size + 1)
        )
        best = None
        for row in self._rows:
            home, _, size, asked = row
            if asked == 0 and size >= need and self._segments[home][1:] == (stream, kind):
                if best is None or size < best[2]:  # the rows are sorted by address
                    best = row
        rows = set(self._rows)
        if best is None:
            home = self._device.malloc(nbytes=total)
            self._segments[home] = (total, stream, kind)
            best = (home, home, total, 0)
        home, address, size, _ = best
        rows.discard(best)
        if size - need >= least:
            rows |= {(home, address, need, nbytes), (home, address + need, size - need, 0)}
        else:
            rows.add((home, address, size, nbytes))
        self._rows = tuple(sorted(rows))
        return address

    def free(self, address):
        if not any(row[1] == address and row[3] for row in self._rows):
            raise ValueError("double free?")
        merged: list[tuple[int, int, int, int]] = []
        for home, at, size, asked in self._rows:
            asked = 0 if at == address else asked
            if merged and not asked and not merged[-1][3] and merged[-1][0] == home:
                merged[-1] = (home, merged[-1][1], merged[-1][2] + size, 0)
            else:
                merged.append((home, at, size, asked))
        self._rows = tuple(merged)

    def empty_cache(self):
        for row in self._rows:
            home, _, size, asked = row
            if asked == 0 and size == self._segments[home][0]:
                self._device.free(address=home)
                del self._segments[home]
        self._rows = tuple(row for row in self._rows if row[0] in self._segments)

    def snapshot(self):
        state = ("inactive", "active_allocated")
        return [
            {
                "address": home,
                "total_size": total,
                "stream": stream,
                "segment_type": kind,
                "blocks": [
                    {"address": at, "size": size, "requested_size": asked, "state": state[asked > 0]}
                    for its, at, size, asked in self._rows
                    if its == home
                ],
            }
            for home, (total, stream, kind) in sorted(self._segments.items())
        ]


RIGHT: list[Any] = [Linked, Gaps, Tuples]
