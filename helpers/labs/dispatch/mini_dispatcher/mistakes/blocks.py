"""What is excluded in 12.mini_dispatcher, and the keys that are refused."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from helpers.labs.dispatch.mini_dispatcher.exercise import (
    EXCLUDING,
    NESTED,
    NOTHING,
    THREADS,
    TWO,
    UNKNOWN,
    mini_dispatcher,
)
from helpers.labs.dispatch.mini_dispatcher.right import Steps


@mini_dispatcher.mistake(breaks=THREADS)
class ForAllThreads(Steps):
    """A block of the first thread excluded a key in a second thread, too. What is excluded belongs to a thread: `threading.local`."""

    def __init__(self, priority: list[str], keys_of: Callable[..., Iterable[str]]) -> None:
        super().__init__(priority, keys_of)
        self.local = type("Shared", (), {})()


@mini_dispatcher.mistake(breaks=THREADS)
class MadeInOneThread(Steps):
    """A second thread found nothing where the first had put what is excluded. Perhaps `__init__` sets it in a `threading.local`,
    and so in its own thread only.
    """

    def __init__(self, priority: list[str], keys_of: Callable[..., Iterable[str]]) -> None:
        super().__init__(priority, keys_of)
        self.local.excluded = frozenset()

    def excluded(self) -> frozenset[str]:
        return self.local.excluded


@mini_dispatcher.mistake(breaks=THREADS)
class OneThreadAtATime(Steps):
    """Two threads had a block open at the same time, and what one excludes was lost or seen by the other. Perhaps there is one place
    for it, with the thread that was the last to fill it.
    """

    owner: int | None = None
    keys_out: frozenset[str] = frozenset()

    def excluded(self) -> frozenset[str]:
        return self.keys_out if self.owner == threading.get_ident() else frozenset()

    @contextmanager
    def excluding(self, *keys: str) -> Iterator[None]:
        before = self.owner, self.keys_out
        self.owner, self.keys_out = threading.get_ident(), self.excluded() | {self.known(key) for key in keys}
        try:
            yield
        finally:
            self.owner, self.keys_out = before


class _ByName:
    """A place for each name of a thread."""

    def __init__(self) -> None:
        object.__setattr__(self, "names", {})

    def __getattr__(self, name: str) -> Any:
        try:
            return self.names[threading.current_thread().name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self.names[threading.current_thread().name] = value


@mini_dispatcher.variant(ForAllThreads)
class ForAllOfAName(Steps):
    def __init__(self, priority: list[str], keys_of: Callable[..., Iterable[str]]) -> None:
        super().__init__(priority, keys_of)
        self.local = _ByName()


@mini_dispatcher.mistake(breaks=TWO)
class ForAllDispatchers(Steps):
    """A block of one dispatcher excluded keys of a different one, too. Perhaps what is excluded stands in the class or in the module."""

    local = threading.local()

    def __init__(self, priority: list[str], keys_of: Callable[..., Iterable[str]]) -> None:
        super().__init__(priority, keys_of)
        del self.local


@mini_dispatcher.mistake(breaks=TWO)
class LeftInTheClass(Steps):
    """A new dispatcher excluded keys of a block of a different one, and that block was over. Perhaps a set in the class is changed in place,
    as by `|=` or `update`.
    """

    def __init__(self, priority: list[str], keys_of: Callable[..., Iterable[str]]) -> None:
        super().__init__(priority, keys_of)
        self.local = _Default()

    @contextmanager
    def excluding(self, *keys: str) -> Iterator[None]:
        new = {self.known(key) for key in keys}
        before = set(self.local.excluded)
        self.local.excluded |= new
        try:
            yield
        finally:
            self.local.excluded = before


class _Default(threading.local):
    excluded: set[str] = set()  # noqa: RUF012


class Changing(Steps):
    """A right answer whose block is a beginning and an end."""

    @contextmanager
    def excluding(self, *keys: str) -> Iterator[None]:
        before = self.excluded()
        self.local.excluded = self.begin(before, frozenset(map(self.known, keys)))
        try:
            yield
        finally:
            self.local.excluded = self.end(before, self.excluded(), frozenset(keys))

    def begin(self, before: frozenset[str], keys: frozenset[str]) -> frozenset[str]:
        return before | keys

    def end(self, before: frozenset[str], now: frozenset[str], keys: frozenset[str]) -> frozenset[str]:
        return before


@mini_dispatcher.mistake(breaks=NESTED)
class EndsAll(Changing):
    """After an inner block, a key of the outer one counted again, which the inner one did not exclude. The outer block is still open."""

    def end(self, before: frozenset[str], now: frozenset[str], keys: frozenset[str]) -> frozenset[str]:
        return frozenset()


@mini_dispatcher.mistake(breaks=NESTED)
class TakesItsKeysOut(Changing):
    """After an inner block, a key counted again that the outer one excludes, too. Perhaps the inner one takes its keys out of the set. Put back
    what was there before it.
    """

    def end(self, before: frozenset[str], now: frozenset[str], keys: frozenset[str]) -> frozenset[str]:
        return now - keys


@mini_dispatcher.mistake(breaks=NESTED)
class InnerReplacesOuter(Changing):
    """In an inner block, a key of the outer one counted. Both are open, and what both exclude is left out."""

    def begin(self, before: frozenset[str], keys: frozenset[str]) -> frozenset[str]:
        return keys


@mini_dispatcher.mistake(breaks=NESTED)
class OnePlaceForBefore(Steps):
    """After a block in which a kernel had opened one of its own, a key of the outer block did not count. Perhaps what was before is kept
    in one place for all blocks, and the inner one writes over it.
    """

    @contextmanager
    def excluding(self, *keys: str) -> Iterator[None]:
        new = {self.known(key) for key in keys}
        self.local.before = self.excluded()
        self.local.excluded = self.local.before | new
        try:
            yield
        finally:
            self.local.excluded = self.local.before


@mini_dispatcher.mistake(breaks=NESTED)
class NoKeysAreAll(Changing):
    """A block that excludes nothing excluded a key. Perhaps no keys are taken for all keys."""

    @contextmanager
    def excluding(self, *keys: str) -> Iterator[None]:
        with super().excluding(*(keys or self.priority)):
            yield


@mini_dispatcher.mistake(breaks=NESTED)
class LeftByAnError(Steps):
    """After a block that an error ended, a key of it did not count. Perhaps the line behind `yield` did not run: it belongs in a `finally`."""

    @contextmanager
    def excluding(self, *keys: str) -> Iterator[None]:
        before = self.excluded()
        self.local.excluded = before | {self.known(key) for key in keys}
        yield
        self.local.excluded = before


@mini_dispatcher.mistake(breaks=NESTED)
class LeftByAStop(Steps):
    """After a block that an error ended which is no Exception, a key of it did not count. The stop button of a notebook raises such an
    error. Perhaps there is an `except Exception` in place of `finally`.
    """

    @contextmanager
    def excluding(self, *keys: str) -> Iterator[None]:
        before = self.excluded()
        self.local.excluded = before | {self.known(key) for key in keys}
        try:
            yield
        except Exception:
            self.local.excluded = before
            raise
        self.local.excluded = before


class Block:
    """A block as a class of its own."""

    def __init__(self, of: Steps, keys: tuple[str, ...]) -> None:
        self.of, self.keys = of, frozenset(map(of.known, keys))

    def __enter__(self) -> Self:
        self.before = self.of.excluded()
        self.of.local.excluded = self.before | self.keys
        return self

    def __exit__(self, *error: Any) -> bool:
        self.of.local.excluded = self.before
        return True


@mini_dispatcher.mistake(breaks=NESTED)
class ErrorIsSwallowed(Steps):
    """An error of the block did not come out of it. Perhaps `__exit__` returns True, or an `except` catches it."""

    def excluding(self, *keys: str) -> Any:
        return Block(self, keys)


@mini_dispatcher.variant(ErrorIsSwallowed)
class _(Steps):
    @contextmanager
    def excluding(self, *keys: str) -> Iterator[None]:
        before = self.excluded()
        self.local.excluded = before | {self.known(key) for key in keys}
        try:
            yield
        except Exception:
            pass
        finally:
            self.local.excluded = before


@mini_dispatcher.mistake(breaks=EXCLUDING)
class NotInKernels(Steps):
    """In a block, a call that a kernel made ran the kernel of an excluded key. Perhaps what is excluded is put aside while a kernel runs."""

    def run(self, op: str, key: str, args: tuple[Any, ...]) -> Any:
        before = self.excluded()
        self.local.excluded = frozenset()
        try:
            return super().run(op, key, args)
        finally:
            self.local.excluded = before


@mini_dispatcher.mistake(breaks=EXCLUDING)
class ReadOnceInACall(Steps):
    """A kernel handed the call on in a block, and a key of the block counted. Perhaps `call` reads what is excluded once, and `redispatch`
    goes by that: it may have changed.
    """

    read: Any = None

    def call(self, op: str, *args: Any) -> Any:
        before, self.read = self.read, self.excluded()
        try:
            return super().call(op, *args)
        finally:
            self.read = before

    def active(self, args: tuple[Any, ...]) -> set[str]:
        return super().active(args) if self.read is None else set(self.keys_of(*args)) - self.read


@mini_dispatcher.mistake(breaks=NESTED)
class ReadWhereMade(Steps):
    """A block that was made before a different one, and begins in it, lost the keys of the outer one. Perhaps what is excluded is read where
    `excluding` is called: it is to be read where the block begins.
    """

    def excluding(self, *keys: str) -> Any:
        before = self.excluded()
        return self.block(before, before | {self.known(key) for key in keys})

    @contextmanager
    def block(self, before: frozenset[str], now: frozenset[str]) -> Iterator[None]:
        self.local.excluded = now
        try:
            yield
        finally:
            self.local.excluded = before


@mini_dispatcher.variant(ReadWhereMade)
class UnionWhereMade(Steps):
    def excluding(self, *keys: str) -> Any:
        return self.block(self.excluded() | {self.known(key) for key in keys})

    @contextmanager
    def block(self, now: frozenset[str]) -> Iterator[None]:
        before, self.local.excluded = self.excluded(), now
        try:
            yield
        finally:
            self.local.excluded = before


@mini_dispatcher.mistake(breaks=EXCLUDING)
class BeginsWhereMade(Steps):
    """`excluding` was called, and its keys did not count before the `with`. Only in the block they are kept out: what has an end begins in
    `__enter__`, or in a function with `@contextmanager`.
    """

    def excluding(self, *keys: str) -> Any:
        before = self.excluded()
        self.local.excluded = before | {self.known(key) for key in keys}
        return self.block(before)

    @contextmanager
    def block(self, before: frozenset[str]) -> Iterator[None]:
        try:
            yield
        finally:
            self.local.excluded = before


@mini_dispatcher.mistake(breaks=UNKNOWN)
class AnyKeyRegistered(Steps):
    """A kernel was registered for a key that is not in `priority`, and no ValueError came. It would never run."""

    def register(self, op: str, key: str, kernel: Any) -> None:
        self.kernels[op, key] = kernel


@mini_dispatcher.mistake(breaks=UNKNOWN)
class AnyFallbackRegistered(Steps):
    """A fallback was registered for a key that is not in `priority`, and no ValueError came. With `register` it came."""

    def register_fallback(self, key: str, kernel: Any) -> None:
        self.fallbacks[key] = kernel


@mini_dispatcher.mistake(breaks=UNKNOWN)
class AnyKeyExcluded(Changing):
    """A key that is not in `priority` was excluded, and no ValueError came. Where a caller mistypes a key, nobody tells him."""

    @contextmanager
    def excluding(self, *keys: str) -> Iterator[None]:
        with super().excluding(*(key for key in keys if key in self.priority)):
            yield


@mini_dispatcher.mistake(breaks=UNKNOWN)
class UnknownIsTheTop(Steps):
    """`redispatch` below a key that is not in `priority` raised no ValueError. Nothing is below it."""

    def below(self, key: str) -> list[str]:
        return super().below(key) if key in self.priority else self.priority


@mini_dispatcher.mistake(breaks=NOTHING)
class HalfExcluded(Steps):
    """`excluding` raised ValueError, and a key that it was given stayed excluded. Perhaps keys are put in one by one, and looked at on the way."""

    @contextmanager
    def excluding(self, *keys: str) -> Iterator[None]:
        before = self.excluded()
        for key in keys:
            self.local.excluded = self.excluded() | {self.known(key)}
        try:
            yield
        finally:
            self.local.excluded = before


@mini_dispatcher.mistake(breaks=UNKNOWN)
class KeyErrorForUnknown(Steps):
    """KeyError was raised for a key that is not in `priority`. ValueError is asked for."""

    def known(self, key: str) -> str:
        if key not in self.priority:
            raise KeyError(key)
        return key
