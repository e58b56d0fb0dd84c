"""What the ranks print, put out in the running cell: in the order of ranks, each line with its rank."""

from __future__ import annotations

import re
import sys

from helpers.notebook.cells import with_cell_numbers
from helpers.ranks.wires import CUT, ERR, KEPT, OUT

# Log lines of torch's C++: times, process ids and addresses. Kept for failures only.
_LOG = re.compile(r"^\s*\[?(rank\d+\]:\[)?[IWEF]\d{4} |^\[[^\]]*\]:\[[IWEF]")
LAST_WORDS = 600  # characters of C++ that a failure tells


class Printed:
    """Lines by rank. Those of the first rank that still runs are put out at once, the others' when it is their turn."""

    def __init__(self, count: int) -> None:
        self._waiting: list[list[tuple[int, str]]] = [[] for _ in range(count)]
        self._partial: list[dict[int, str]] = [{} for _ in range(count)]
        self._raw = [b""] * count
        self._raw_size = [0] * count
        self._ended = [False] * count
        self._last = None
        self.logged: list[list[str]] = [[] for _ in range(count)]

    def take(self, rank: int, kind: int, text: str) -> None:
        """A piece that a rank printed."""
        if kind == CUT:
            self._end_lines(rank)
            self._put(rank, ERR, "(more was printed; it is left out)")
            return
        *lines, rest = (self._partial[rank].pop(kind, "") + text).split("\n")
        for line in lines:
            self._put(rank, kind, line)
        if rest:
            self._partial[rank][kind] = rest

    def take_raw(self, rank: int, chunk: bytes) -> None:
        """What reached the file descriptors 1 and 2: of C++, and of programs that a rank started."""
        self._raw_size[rank] += len(chunk)
        if self._raw_size[rank] > KEPT:
            return
        *lines, self._raw[rank] = (self._raw[rank] + chunk).split(b"\n")
        for line in lines:
            self._put_raw(rank, line)

    def ended(self, rank: int) -> None:
        """A rank prints no more; those after it get their turn."""
        self._end_lines(rank)
        self._ended[rank] = True
        self._put_out()

    def finish(self) -> None:
        """Puts out all that is left, whichever rank still runs."""
        for rank in range(len(self._waiting)):
            self.ended(rank)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()

    def last_words(self, rank: int) -> str:
        """What C++ logged last in a rank."""
        return "\n".join(self.logged[rank])[-LAST_WORDS:].strip()

    def _end_lines(self, rank: int) -> None:
        for kind, rest in self._partial[rank].items():
            self._put(rank, kind, rest)
        self._partial[rank] = {}
        if self._raw[rank]:
            self._put_raw(rank, self._raw[rank])
            self._raw[rank] = b""

    def _put_raw(self, rank: int, line: bytes) -> None:
        text = line.decode("utf-8", "replace")
        if _LOG.match(text) or self._is_abort(text):
            self.logged[rank].append(text)
        else:
            self._put(rank, OUT, text)

    def _is_abort(self, text: str) -> bool:
        return text.startswith(("terminate called", "  what():", "libc++abi"))

    def _put(self, rank: int, kind: int, line: str) -> None:
        self._waiting[rank].append((kind, with_cell_numbers(line)))
        self._put_out()

    def _put_out(self) -> None:
        for rank, lines in enumerate(self._waiting):
            for kind, line in lines:
                stream, other = (sys.stderr, sys.stdout) if kind == ERR else (sys.stdout, sys.stderr)
                if stream is not self._last:
                    other.flush()  # a notebook sends each on its own: what comes first stays first
                    self._last = stream
                stream.write(f"[rank {rank}] {line}\n")
            lines.clear()
            if not self._ended[rank]:
                return
