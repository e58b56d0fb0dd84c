"""The pipes between the launcher and a rank, and what travels in them."""

from __future__ import annotations

import io
import os
import pickle
import select
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from typing import Any

KEPT = 1 << 15  # bytes that a rank may print
OUT, ERR, CUT = range(3)  # kinds of printed pieces; CUT: what follows is left out
_SIZE = struct.Struct("!Q")
_PIECE = struct.Struct("!BH")


@dataclass
class Ends:
    """One side of a rank's pipes.

    channel: messages of the rank, and its leash: the rank ends when the launcher's end is closed.
    output: what goes through sys.stdout and sys.stderr. raw: what goes to the file descriptors 1 and 2.
    dump: what faulthandler writes.
    """

    channel: Connection
    output: Connection
    raw: Connection
    dump: Connection

    def all(self) -> tuple[Connection, ...]:
        return self.channel, self.output, self.raw, self.dump

    def close(self) -> None:
        for end in self.all():
            end.close()


@dataclass
class Wires:
    """The pipes of all ranks. A forked rank finds the launcher's ends here, too; elsewhere they do not travel."""

    ours: list[Ends]
    theirs: list[Ends]

    def __getstate__(self) -> dict[str, Any]:
        return {"ours": [], "theirs": self.theirs}

    def only(self, rank: int) -> Ends:
        """In a rank: its own ends; all others are closed, so that an end that is closed elsewhere is noticed."""
        for ends in [*self.ours, *self.theirs[:rank], *self.theirs[rank + 1 :]]:
            ends.close()
        return self.theirs[rank]

    def close(self) -> None:
        for ends in [*self.ours, *self.theirs]:
            ends.close()


def wires(count: int, context: BaseContext) -> Wires:
    """Pipes for so many ranks."""
    made = Wires([], [])
    try:
        for _ in range(count):
            pairs = [context.Pipe(), *(context.Pipe(duplex=False) for _ in range(3))]
            made.ours.append(Ends(*(ours for ours, _ in pairs)))
            made.theirs.append(Ends(*(theirs for _, theirs in pairs)))
    except OSError:
        made.close()
        raise
    return made


def send(channel: Connection, message: dict[str, Any]) -> None:
    """Sends a message of plain data, in the rank."""
    text = pickle.dumps(message)
    _write(channel.fileno(), _SIZE.pack(len(text)) + text)


def _write(fd: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]


class Inbox:
    """Puts together what arrives in pieces. A message that is never whole keeps nobody waiting."""

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, chunk: bytes) -> None:
        self._data += chunk

    def messages(self) -> Iterator[dict[str, Any]]:
        """The whole messages so far. Raises ValueError where there is something else."""
        while len(self._data) >= _SIZE.size:
            (size,) = _SIZE.unpack_from(self._data)
            if size > 1 << 40:
                raise ValueError("no message")
            if len(self._data) < _SIZE.size + size:
                return
            text = bytes(self._data[_SIZE.size : _SIZE.size + size])
            del self._data[: _SIZE.size + size]
            try:
                yield pickle.loads(text)
            except Exception as error:
                raise ValueError("no message") from error

    def pieces(self) -> Iterator[tuple[int, str]]:
        """The whole pieces of output so far: kind and text."""
        while len(self._data) >= _PIECE.size:
            kind, size = _PIECE.unpack_from(self._data)
            if len(self._data) < _PIECE.size + size:
                return
            text = bytes(self._data[_PIECE.size : _PIECE.size + size])
            del self._data[: _PIECE.size + size]
            yield kind, text.decode("utf-8", "replace")


class Output(io.TextIOBase):
    """sys.stdout or sys.stderr of a rank: the first KEPT bytes of both together go out at once.

    At once, so that they are seen when the rank hangs or is killed. In pieces that a pipe takes whole, so that
    processes that the rank starts do not write into each other's.
    """

    encoding = "utf-8"
    sent = 0

    def __init__(self, fd: int, kind: int) -> None:
        self._fd, self._kind, self._os_write = fd, kind, os.write

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._kind + 1

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if Output.sent > KEPT:
            return len(text)
        data = text.encode("utf-8", "backslashreplace")[: KEPT + 4]
        most = min(select.PIPE_BUF, 4096) - _PIECE.size - 3
        start = 0
        while start < len(data):
            end = start + most
            while end < len(data) and data[end] & 0xC0 == 0x80:  # not inside of a character
                end += 1
            piece, start = data[start:end], end
            self._os_write(self._fd, _PIECE.pack(self._kind, len(piece)) + piece)
            Output.sent += len(piece)
            if Output.sent > KEPT:
                self._os_write(self._fd, _PIECE.pack(CUT, 0))
                break
        return len(text)

    def flush(self) -> None:
        pass
