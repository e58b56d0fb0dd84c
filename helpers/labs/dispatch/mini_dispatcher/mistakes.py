"""What people write for 12.mini_dispatcher, and why it is wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Self

from helpers.labs.dispatch.mini_dispatcher.exercise import (
    CALL,
    CALLED_AS,
    EXCLUDING,
    FALLBACK,
    KEYS_OF,
    MESSAGE,
    NESTED,
    NO_KERNEL,
    NOTHING,
    OTHERS,
    PASSED,
    REDISPATCH,
    REGISTER,
    THREADS,
    TWO,
    UNKNOWN,
    mini_dispatcher,
)
from helpers.labs.dispatch.mini_dispatcher.right import Steps

# The search.


@mini_dispatcher.mistake(breaks=CALL)
class LowestFirst(Steps):
    """The kernel of the lowest key ran. `priority` lists the highest key first."""

    def among(self, op: str, keys: list[str], args: tuple[Any, ...]) -> Any:
        return super().among(op, keys[::-1], args)


@mini_dispatcher.variant(LowestFirst)
class _(Steps):
    def among(self, op: str, keys: list[str], args: tuple[Any, ...]) -> Any:
        active = [key for key in self.active(args) if not self.passed_over(op, key) and key in keys]
        if not active:
            raise self.none_left(op)
        return self.run(op, max(active, key=self.priority.index), args)


@mini_dispatcher.mistake(breaks=KEYS_OF)
class InTheirOrder(Steps):
    """A kernel ran whose key comes early among the keys of the arguments, and not the one whose key comes first in `priority`."""

    def among(self, op: str, keys: list[str], args: tuple[Any, ...]) -> Any:
        excluded = self.excluded()
        for key in self.keys_of(*args):
            if key in keys and key not in excluded and not self.passed_over(op, key):
                return self.run(op, key, args)
        raise self.none_left(op)


@mini_dispatcher.mistake(breaks=KEYS_OF)
class ReadManyTimes(Steps):
    """A key that `keys_of` gives was not found where it gives a generator. Such a thing can be read once: perhaps it was asked
    for one key after the other. Make a set of it first.
    """

    def among(self, op: str, keys: list[str], args: tuple[Any, ...]) -> Any:
        given = self.keys_of(*args)
        for key in keys:
            if key in given and key not in self.excluded() and not self.passed_over(op, key):
                return self.run(op, key, args)
        raise self.none_left(op)


@mini_dispatcher.mistake(breaks=OTHERS)
class UnknownKeysCount(Steps):
    """ValueError was raised in a call, where the arguments have a key that is not in `priority`. Perhaps its place in `priority` was
    looked up. Such keys do not count.
    """

    def among(self, op: str, keys: list[str], args: tuple[Any, ...]) -> Any:
        for key in sorted(self.active(args), key=self.priority.index):
            if key in keys and not self.passed_over(op, key):
                return self.run(op, key, args)
        raise self.none_left(op)


@mini_dispatcher.mistake(breaks=NO_KERNEL)
class NextThatHasOne(Steps):
    """The highest key had no kernel, and a kernel of a lower key ran. Only PASS takes a call past a key: a missing kernel is
    an error, so that nobody gets a result without autograd by accident.
    """

    def passed_over(self, op: str, key: str) -> bool:
        return super().passed_over(op, key) or (op, key) not in self.kernels and key not in self.fallbacks


@mini_dispatcher.mistake(breaks=NO_KERNEL)
class KeyErrorForIt(Steps):
    """KeyError was raised where there is no kernel. Perhaps it comes from a table that was asked with square brackets."""

    def no_kernel(self, op: str, key: str) -> Exception:
        return KeyError(op)

    def none_left(self, op: str) -> Exception:
        return KeyError(op)


@mini_dispatcher.mistake(breaks=NO_KERNEL)
class NoneWithoutAKey(Steps):
    """No key was left, and no error was raised. The caller takes what came back for a result."""

    def among(self, op: str, keys: list[str], args: tuple[Any, ...]) -> Any:
        if not any(key in self.active(args) and not self.passed_over(op, key) for key in keys):
            return None
        return super().among(op, keys, args)


@mini_dispatcher.mistake(breaks=NO_KERNEL)
class OtherErrorWithoutAKey(Steps):
    """No key counted, and an error came that is no NotImplementedError. Perhaps it is that of `min` or `next`, which found nothing."""

    def among(self, op: str, keys: list[str], args: tuple[Any, ...]) -> Any:
        active = self.active(args)
        highest = min(self.priority.index(k) for k in keys if k in active and not self.passed_over(op, k))
        return self.run(op, self.priority[highest], args)


@mini_dispatcher.variant(OtherErrorWithoutAKey)
class _(Steps):
    def among(self, op: str, keys: list[str], args: tuple[Any, ...]) -> Any:
        active = self.active(args)
        return self.run(op, [k for k in keys if k in active and not self.passed_over(op, k)][0], args)


@mini_dispatcher.variant(OtherErrorWithoutAKey)
class _(Steps):
    def none_left(self, op: str) -> Exception:
        return RuntimeError(f"{op}: no key is left")


@mini_dispatcher.mistake(breaks=MESSAGE)
class NoNameOfTheKey(Steps):
    """The message does not name the key for which there is no kernel. It is the first thing that one wants to know."""

    def no_kernel(self, op: str, key: str) -> Exception:
        return NotImplementedError(f"no kernel for {op}")


@mini_dispatcher.mistake(breaks=MESSAGE)
class NoNameOfTheOperator(Steps):
    """Where no key is left, the message does not name the operator. With a key it does."""

    def none_left(self, op: str) -> Exception:
        return NotImplementedError("no key is left")


@mini_dispatcher.mistake(breaks=MESSAGE)
class NoMessage(Steps):
    """NotImplementedError came with a message that names neither the operator nor the key."""

    def no_kernel(self, op: str, key: str) -> Exception:
        return NotImplementedError("no kernel")

    def none_left(self, op: str) -> Exception:
        return NotImplementedError()


# The tables.


@mini_dispatcher.mistake(breaks=REGISTER)
class FirstStays(Steps):
    """A second kernel was registered for the same operator and key, and the first one ran. The later takes its place."""

    def register(self, op: str, key: str, kernel: Any) -> None:
        self.kernels.setdefault((op, self.known(key)), kernel)


@mini_dispatcher.mistake(breaks=REGISTER)
class FoundOnce(Steps):
    """A kernel that was registered after a call did not run in the next. Perhaps what the first call had found was kept: torch
    keeps it, too, and finds it anew after each registration.
    """

    def __init__(self, priority: list[str], keys_of: Callable[..., Iterable[str]]) -> None:
        super().__init__(priority, keys_of)
        self.kernel_of = cache(lambda op, key: self.kernels.get((op, key)))

    def run(self, op: str, key: str, args: tuple[Any, ...]) -> Any:
        kernel = self.kernel_of(op, key)
        return kernel(*args) if kernel is not None else super().run(op, key, args)


@mini_dispatcher.mistake(breaks=FALLBACK)
class FallbackFirst(Steps):
    """A fallback ran though the operator has a kernel of its own for that key."""

    def run(self, op: str, key: str, args: tuple[Any, ...]) -> Any:
        if key in self.fallbacks and self.fallbacks[key] is not self.PASS:
            return self.fallbacks[key](op, *args)
        return super().run(op, key, args)


@mini_dispatcher.mistake(breaks=FALLBACK)
class FallbackLast(Steps):
    """A kernel of a lower key ran before the fallback of the highest. A key that has a fallback has something to run, and
    the search ends there.
    """

    def among(self, op: str, keys: list[str], args: tuple[Any, ...]) -> Any:
        active = self.active(args)
        own = [
            key
            for key in keys
            if key in active and (op, key) in self.kernels and not self.passed_over(op, key)
        ]
        first = next((key for key in keys if key in active and not self.passed_over(op, key)), None)
        if own and first in self.fallbacks:
            return self.run(op, own[0], args)
        return super().among(op, keys, args)


@mini_dispatcher.mistake(breaks=CALLED_AS)
class FallbackWithoutItsName(Steps):
    """A fallback was not called as `kernel(op, *args)`: it serves all operators, and has to be told which one was called."""

    def run(self, op: str, key: str, args: tuple[Any, ...]) -> Any:
        if (op, key) not in self.kernels and key in self.fallbacks:
            return self.fallbacks[key](*args)
        return super().run(op, key, args)


@mini_dispatcher.mistake(breaks=PASSED)
class PassFallsBack(Steps):
    """An operator with PASS for a key went to the fallback of this key. PASS stands in the place of a kernel, so the key is passed over."""

    def passed_over(self, op: str, key: str) -> bool:
        if self.kernels.get((op, key)) is self.PASS:
            return self.fallbacks.get(key, self.PASS) is self.PASS
        return super().passed_over(op, key)

    def run(self, op: str, key: str, args: tuple[Any, ...]) -> Any:
        if self.kernels.get((op, key)) is self.PASS:
            return self.fallbacks[key](op, *args)
        return super().run(op, key, args)


@mini_dispatcher.mistake(breaks=PASSED)
class PassIsNoKernel(Steps):
    """With PASS for the highest key, NotImplementedError was raised. Perhaps PASS was taken for "no kernel". It is the opposite:
    nothing has to be done for this key, and the next one is tried.
    """

    def passed_over(self, op: str, key: str) -> bool:
        return False

    def run(self, op: str, key: str, args: tuple[Any, ...]) -> Any:
        if super().passed_over(op, key):
            raise self.no_kernel(op, key)
        return super().run(op, key, args)


@mini_dispatcher.mistake(breaks=PASSED)
class FallbackPassIsStronger(Steps):
    """With PASS as the fallback for a key, the operator's own kernel for this key did not run. A fallback counts only where the
    operator has none.
    """

    def passed_over(self, op: str, key: str) -> bool:
        return self.kernels.get((op, key)) is self.PASS or self.fallbacks.get(key) is self.PASS


@mini_dispatcher.mistake(breaks=PASSED)
class PassedForGood(Steps):
    """A kernel was registered where PASS had been, and the key was passed over all the same. Perhaps PASS is kept in a set, and not taken
    out of it again.
    """

    def __init__(self, priority: list[str], keys_of: Callable[..., Iterable[str]]) -> None:
        super().__init__(priority, keys_of)
        self.passing: set[tuple[str, str]] = set()

    def register(self, op: str, key: str, kernel: Any) -> None:
        super().register(op, key, kernel)
        if kernel is self.PASS:
            self.passing.add((op, key))

    def passed_over(self, op: str, key: str) -> bool:
        return (op, key) in self.passing or super().passed_over(op, key)


@mini_dispatcher.mistake(breaks=TWO)
class OneTable(Steps):
    """A kernel that was registered in one dispatcher ran in a different one, too. Perhaps the table is an attribute of the class."""

    everywhere: dict[tuple[str, str], Any] = {}  # noqa: RUF012

    def __init__(self, priority: list[str], keys_of: Callable[..., Iterable[str]]) -> None:
        super().__init__(priority, keys_of)
        self.own: set[tuple[str, str]] = set()  # so that it does not depend on what ran before the check

    def register(self, op: str, key: str, kernel: Any) -> None:
        super().register(op, key, kernel)
        self.own.add((op, key))
        self.everywhere[op, key] = kernel

    def run(self, op: str, key: str, args: tuple[Any, ...]) -> Any:
        if (op, key) not in self.own and (op, key) in self.everywhere and op == "all":
            return self.everywhere[op, key](*args)
        return super().run(op, key, args)


# How a call goes on.


@mini_dispatcher.mistake(breaks=REDISPATCH)
class ItselfAgain(Steps):
    """`redispatch` came back to the kernel that had handed the call on, and so without an end. The key `below` itself does not count."""

    def below(self, key: str) -> list[str]:
        return self.priority[self.priority.index(self.known(key)) :]


@mini_dispatcher.variant(ItselfAgain)
class _(Steps):
    def redispatch(self, op: str, below: str, *args: Any) -> Any:
        return self.call(op, *args)


@mini_dispatcher.mistake(breaks=REDISPATCH)
class OnlyTheNext(Steps):
    """`redispatch` asked the very next key of `priority` alone. All keys below count, and of these the highest that the arguments have."""

    def below(self, key: str) -> list[str]:
        return super().below(key)[:1]


@mini_dispatcher.mistake(breaks=REDISPATCH)
class SkipsBelow(Steps):
    """`redispatch` went past a key that has no kernel, and ran a lower one. It does the same as `call`: NotImplementedError."""

    def redispatch(self, op: str, below: str, *args: Any) -> Any:
        has = [key for key in self.below(below) if (op, key) in self.kernels or key in self.fallbacks]
        return self.among(op, has, args)


@mini_dispatcher.mistake(breaks=REDISPATCH)
class WithoutItOnly(Steps):
    """`redispatch` left out the key `below`, and a higher one counted again. Keys above do not count either."""

    def redispatch(self, op: str, below: str, *args: Any) -> Any:
        return self.among(op, [key for key in self.priority if key != self.known(below)], args)


@mini_dispatcher.mistake(breaks=CALL)
class ExcludedBelow(Steps):
    """In a call that a kernel made after a `redispatch`, higher keys did not count. Perhaps `redispatch` excludes them, and what is
    excluded stays so in all that the kernel calls. They are left out of this one search only.
    """

    def redispatch(self, op: str, below: str, *args: Any) -> Any:
        place = self.priority.index(self.known(below))
        with self.excluding(*self.priority[: place + 1]):
            return self.call(op, *args)


@mini_dispatcher.mistake(breaks=REDISPATCH)
class KeysOfTheFirstCall(Steps):
    """`redispatch` used the keys of the arguments of `call`. A kernel may hand on other arguments, and then their keys count."""

    keys: Any = None

    def among(self, op: str, keys: list[str], args: tuple[Any, ...]) -> Any:
        before = self.keys
        if len(keys) == len(self.priority) or before is None:
            self.keys = set(self.keys_of(*args))
        try:
            return super().among(op, keys, args)
        finally:
            self.keys = before

    def active(self, args: tuple[Any, ...]) -> set[str]:
        return self.keys - self.excluded()


@mini_dispatcher.mistake(breaks=REDISPATCH)
class ExcludedInCallOnly(Steps):
    """`redispatch` ran the kernel of an excluded key. What is excluded counts in each search, also in that of a kernel."""

    def redispatch(self, op: str, below: str, *args: Any) -> Any:
        active = set(self.keys_of(*args))
        for key in self.below(below):
            if key in active and not self.passed_over(op, key):
                return self.run(op, key, args)
        raise self.none_left(op)


@mini_dispatcher.mistake(breaks=CALL)
class NothingComesBack(Steps):
    """`call` gave None, and the kernel had returned something. Perhaps a `return` is missing."""

    def call(self, op: str, *args: Any) -> Any:
        super().call(op, *args)


@mini_dispatcher.mistake(breaks=REDISPATCH)
class NothingComesBackFromBelow(Steps):
    """What a kernel below returned did not come back from `redispatch`. Perhaps a `return` is missing there."""

    def redispatch(self, op: str, below: str, *args: Any) -> Any:
        super().redispatch(op, below, *args)


@mini_dispatcher.mistake(breaks=CALL)
class NoneGoesOn(Steps):
    """A second kernel ran after one that had returned None, or something else that is false. A call runs one kernel, whatever it returns."""

    def among(self, op: str, keys: list[str], args: tuple[Any, ...]) -> Any:
        active, result = self.active(args), None
        keys = [key for key in keys if key in active and not self.passed_over(op, key)]
        if not keys:
            raise self.none_left(op)
        for key in keys:
            result = self.run(op, key, args)
            if result is not None:
                break
        return result


@mini_dispatcher.mistake(breaks=CALL)
class ErrorsTakenForMissing(Steps):
    """An error of a kernel was taken for a missing kernel. Perhaps the kernel is called within the `try` that looks for it."""

    def run(self, op: str, key: str, args: tuple[Any, ...]) -> Any:
        try:
            return super().run(op, key, args)
        except (KeyError, AttributeError, TypeError):
            raise NotImplementedError(f"{op} has no kernel for {key}") from None


# What is excluded.


@mini_dispatcher.mistake(breaks=THREADS)
class ForAllThreads(Steps):
    """A second thread did not see a key that a block of the first excludes. What is excluded belongs to a thread: `threading.local`."""

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


@mini_dispatcher.mistake(breaks=TWO)
class ForAllDispatchers(Steps):
    """A block of one dispatcher excluded keys of a different one, too. Perhaps what is excluded stands in the class or in the module."""

    local = threading.local()

    def __init__(self, priority: list[str], keys_of: Callable[..., Iterable[str]]) -> None:
        super().__init__(priority, keys_of)
        del self.local


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
class LeftByAnError(Steps):
    """After a block that an error ended, a key of it did not count. Perhaps the line behind `yield` did not run: it belongs in a `finally`."""

    @contextmanager
    def excluding(self, *keys: str) -> Iterator[None]:
        before = self.excluded()
        self.local.excluded = before | {self.known(key) for key in keys}
        yield
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


# What is refused.


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
    """A key that is not in `priority` was excluded, and no ValueError came. Perhaps it is a slip of the pen, and the block excludes nothing."""

    @contextmanager
    def excluding(self, *keys: str) -> Iterator[None]:
        with super().excluding(*(key for key in keys if key in self.priority)):
            yield


@mini_dispatcher.mistake(breaks=UNKNOWN)
class UnknownIsTheTop(Steps):
    """`redispatch` below a key that is not in `priority` raised no ValueError. There is nothing that it could be below of."""

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
