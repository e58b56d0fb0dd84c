"""What one rank sent and received: messages and bytes, counted at torch.distributed's calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from helpers.ranks.group_calls import (
    COLLECTIVES,
    Method,
    exchanged,
    functional_exchanged,
    size_in_bytes,
)

ALLOWED = "send, recv, isend, irecv and batch_isend_irecv"


@dataclass(frozen=True)
class Traffic:
    """The messages of one rank; `collectives` are the names of those it called, in order."""

    messages_out: int
    bytes_out: int
    messages_in: int
    bytes_in: int
    collectives: tuple[str, ...]


class CollectiveForbidden(RuntimeError):
    """A collective was called where only messages from rank to rank are allowed."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"dist.{name} is a collective. Only messages from rank to rank are allowed here: {ALLOWED}."
        )


class Counter:
    """The calls so far. A message is counted when it is posted; gloo counts none of its own here."""

    def __init__(self) -> None:
        # One list a kind, appended to: appending is safe when a rank has threads.
        self.sent: list[int] = []
        self.received: list[int] = []
        self.collectives: list[str] = []

    def traffic(self) -> Traffic:
        return Traffic(
            messages_out=len(self.sent),
            bytes_out=sum(self.sent),
            messages_in=len(self.received),
            bytes_in=sum(self.received),
            collectives=tuple(self.collectives),
        )


@contextmanager
def counted(forbid_collectives: bool = False) -> Iterator[Counter]:
    """Counts what this process sends, receives and calls together, in every group, until it is closed."""
    counter = Counter()

    def collective(name: str, method: Method) -> Method:
        def call(*args: Any, **kwargs: Any) -> Any:
            if forbid_collectives:
                raise CollectiveForbidden(name)
            result = method(*args, **kwargs)
            counter.collectives.append(name)
            return result

        return call

    def message(sizes: list[int], method: Method) -> Method:
        def call(group: Any, tensors: Any, *args: Any, **kwargs: Any) -> Any:
            work = method(group, tensors, *args, **kwargs)  # first: a refused message is no message
            sizes.append(size_in_bytes(tensors))
            return work

        return call

    def wrap(name: str, method: Method) -> Method:
        if name in COLLECTIVES:
            return collective(COLLECTIVES[name], method)
        return message(counter.sent if name == "send" else counter.received, method)

    with ExitStack() as stack:
        stack.enter_context(exchanged(wrap))
        stack.enter_context(functional_exchanged(lambda name, method: collective(_plain(name), method)))
        yield counter


def _plain(name: str) -> str:
    """all_reduce_coalesced_ is all_reduce, to people."""
    return name.rstrip("_").removesuffix("_coalesced").removesuffix("_out")
