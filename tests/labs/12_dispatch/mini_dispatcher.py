"""Right answers of 12.mini_dispatcher, of other shapes than the solution's."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any


class Ranks:
    """Keys as numbers, a row of the table for each operator, and a ContextVar of its own."""

    PASS = object()

    def __init__(self, priority: list[str], keys_of: Callable[..., Iterable[str]]) -> None:
        self.rank = {key: rank for rank, key in enumerate(priority)}
        self.keys_of = keys_of
        self.rows: dict[str, dict[int, Any]] = defaultdict(dict)
        self.fallback: list[Any] = [None] * len(priority)
        self.excluded: ContextVar[tuple[int, ...]] = ContextVar("excluded", default=())

    def _rank(self, key: str) -> int:
        try:
            return self.rank[key]
        except KeyError:
            raise ValueError(key) from None

    def register(self, op: str, key: str, kernel: Any) -> None:
        rank = self._rank(key)
        self.rows[op][rank] = kernel

    def register_fallback(self, key: str, kernel: Any) -> None:
        self.fallback[self._rank(key)] = kernel

    def call(self, op: str, *args: Any) -> Any:
        return self._from(0, op, args)

    def redispatch(self, op: str, below: str, *args: Any) -> Any:
        return self._from(self._rank(below) + 1, op, args)

    def _from(self, start: int, op: str, args: tuple[Any, ...]) -> Any:
        ranks = {self.rank[key] for key in self.keys_of(*args) if key in self.rank}
        for rank in sorted(ranks.difference(self.excluded.get())):
            if rank < start:
                continue
            kernel = self.rows.get(op, {}).get(rank)
            if kernel is None and self.fallback[rank] is not None:
                kernel = (
                    self.fallback[rank]
                    if self.fallback[rank] is self.PASS
                    else partial(self.fallback[rank], op)
                )
            if kernel is None:
                name = next(key for key, place in self.rank.items() if place == rank)
                raise NotImplementedError(op, name)
            if kernel is not self.PASS:
                return kernel(*args)
        raise NotImplementedError(f"no key left for {op!r}")

    @contextmanager
    def excluding(self, *keys: str):
        token = self.excluded.set(self.excluded.get() + tuple(map(self._rank, keys)))
        try:
            yield
        finally:
            self.excluded.reset(token)


class _Missing(NotImplementedError):
    """A subclass is one, too."""


class Bits:
    """Sets of keys as bits of a number, as in torch; a block is a class; counts a thread in a dict."""

    PASS = "pass"

    class _Block:
        def __init__(self, owner: Bits, keys: tuple[str, ...]) -> None:
            self.owner, self.bits = owner, [owner._bit(key) for key in keys]

        def __enter__(self) -> None:
            self.owner._counts().update(self.bits)

        def __exit__(self, *error: Any) -> None:
            self.owner._counts().subtract(self.bits)

    def __init__(self, priority, keys_of):
        self.names, self.keys_of = tuple(priority), keys_of
        self.table, self.by_thread = {}, {}

    def _bit(self, key: str) -> int:
        if self.names.count(key) == 0:
            raise ValueError("unknown key " + key)
        return 1 << (len(self.names) - 1 - self.names.index(key))

    def _counts(self) -> Counter[int]:
        return self.by_thread.setdefault(threading.get_ident(), Counter())

    def register(self, op, key, kernel):
        self.table[self._bit(key), op] = kernel

    def register_fallback(self, key, kernel):
        self.table[self._bit(key),] = kernel

    def excluding(self, *keys):
        return Bits._Block(self, keys)

    def call(self, op, *args):
        return self._go(op, (1 << len(self.names)) - 1, args)

    def redispatch(self, op, below, *args):
        return self._go(op, self._bit(below) - 1, args)

    def _go(self, op, mask, args):
        bits = 0
        for key in self.keys_of(*args):
            if key in self.names:
                bits |= self._bit(key)
        for bit, count in self._counts().items():
            if count > 0:
                bits &= ~bit
        bits &= mask
        while bits:
            top = 1 << (bits.bit_length() - 1)
            bits ^= top
            if (top, op) in self.table:
                if self.table[top, op] == self.PASS:
                    continue
                return self.table[top, op](*args)
            if (top,) in self.table:
                if self.table[top,] == self.PASS:
                    continue
                return self.table[top,](op, *args)
            raise _Missing(
                f"{op}: nothing for {self.names[len(self.names) - top.bit_length()]} of {self.names}"
            )
        raise _Missing(f"{op} with {args}")


class Recursive:
    """Each search takes one key off the list; a stack of what is excluded."""

    PASS = object()

    def __init__(self, priority, keys_of):
        class Stack(threading.local):
            def __init__(self):
                self.frames = [set()]

        self.order, self.keys_of, self.stack = priority[:], keys_of, Stack()
        self.kernels = {key: {} for key in priority}
        self.defaults = {}

    def _check(self, *keys):
        if unknown := [key for key in keys if key not in self.kernels]:
            raise ValueError(f"unknown: {unknown}")

    def register(self, op, key, kernel):
        self._check(key)
        self.kernels[key] |= {op: kernel}

    def register_fallback(self, key, kernel):
        self._check(key)
        self.defaults[key] = kernel

    def call(self, op, *args):
        return self._search(op, self.order, args)

    def redispatch(self, op, below, *args):
        return self._search(op, self.order[self.order.index(below) + 1 :], args)

    def _search(self, op, order, args):
        keys = set(self.keys_of(*args)) & set(order) - self.stack.frames[-1]
        if not keys:
            raise NotImplementedError(f"nothing to run for {op}")
        key = min(keys, key=self.order.index)
        if op in self.kernels[key]:
            kernel, given = self.kernels[key][op], args
        elif key in self.defaults:
            kernel, given = self.defaults[key], (op, *args)
        else:
            raise NotImplementedError(f"no kernel of {op} for {key}")
        if kernel is self.PASS:
            return self._search(op, self.order[self.order.index(key) + 1 :], args)
        return kernel(*given)

    @contextmanager
    def excluding(self, *keys):
        self._check(*keys)
        frames = self.stack.frames
        frames.append(frames[-1].union(keys))
        try:
            yield self
        finally:
            frames.pop()


RIGHT: list[Any] = [Ranks, Bits, Recursive]
