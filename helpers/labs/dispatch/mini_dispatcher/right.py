"""A right answer to 12.mini_dispatcher in steps, of which each mistake replaces one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any


class Steps:
    """Two tables, and what is excluded in each thread."""

    PASS = object()

    def __init__(self, priority: list[str], keys_of: Callable[..., Iterable[str]]) -> None:
        self.priority, self.keys_of = list(priority), keys_of
        self.kernels: dict[tuple[str, str], Any] = {}
        self.fallbacks: dict[str, Any] = {}
        self.local: Any = threading.local()

    def known(self, key: str) -> str:
        if key not in self.priority:
            raise ValueError(f"{key!r} is no key")
        return key

    def register(self, op: str, key: str, kernel: Any) -> None:
        self.kernels[op, self.known(key)] = kernel

    def register_fallback(self, key: str, kernel: Any) -> None:
        self.fallbacks[self.known(key)] = kernel

    def call(self, op: str, *args: Any) -> Any:
        return self.among(op, self.priority, args)

    def redispatch(self, op: str, below: str, *args: Any) -> Any:
        return self.among(op, self.below(below), args)

    def below(self, key: str) -> list[str]:
        return self.priority[self.priority.index(self.known(key)) + 1 :]

    def among(self, op: str, keys: list[str], args: tuple[Any, ...]) -> Any:
        """Runs the kernel of the first of these keys that counts."""
        active = self.active(args)
        for key in keys:
            if key in active and not self.passed_over(op, key):
                return self.run(op, key, args)
        raise self.none_left(op)

    def active(self, args: tuple[Any, ...]) -> set[str]:
        return set(self.keys_of(*args)) - self.excluded()

    def passed_over(self, op: str, key: str) -> bool:
        return self.kernels.get((op, key), self.fallbacks.get(key)) is self.PASS

    def run(self, op: str, key: str, args: tuple[Any, ...]) -> Any:
        if (op, key) in self.kernels:
            return self.kernels[op, key](*args)
        if key in self.fallbacks:
            return self.fallbacks[key](op, *args)
        raise self.no_kernel(op, key)

    def no_kernel(self, op: str, key: str) -> Exception:
        return NotImplementedError(f"{op} has no kernel for {key}")

    def none_left(self, op: str) -> Exception:
        return NotImplementedError(f"{op}: no key is left")

    def excluded(self) -> frozenset[str]:
        return getattr(self.local, "excluded", frozenset())

    @contextmanager
    def excluding(self, *keys: str) -> Iterator[None]:
        before = self.excluded()
        self.local.excluded = before | {self.known(key) for key in keys}
        try:
            yield
        finally:
            self.local.excluded = before
