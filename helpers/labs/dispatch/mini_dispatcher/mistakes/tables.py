"""What is registered in 12.mini_dispatcher: kernels, fallbacks and PASS."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from helpers.labs.dispatch.mini_dispatcher.exercise import (
    CALL,
    CALLED_AS,
    EXCLUDING,
    FALLBACK,
    PASSED,
    REGISTER,
    TWO,
    mini_dispatcher,
)
from helpers.labs.dispatch.mini_dispatcher.right import Steps


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
class FallbackFoundOnce(Steps):
    """A fallback was set anew, and nothing else was registered: what ran before ran again. Perhaps what a call has found is
    kept, and given up only when a kernel is registered.
    """

    def __init__(self, priority: list[str], keys_of: Callable[..., Iterable[str]]) -> None:
        super().__init__(priority, keys_of)
        self.seen: dict[str, Any] = {}

    def register(self, op: str, key: str, kernel: Any) -> None:
        super().register(op, key, kernel)
        self.seen.clear()

    def among(self, op: str, keys: list[str], args: tuple[Any, ...]) -> Any:
        now = self.fallbacks
        self.fallbacks = {key: self.seen.setdefault(key, kernel) for key, kernel in now.items()}
        try:
            return super().among(op, keys, args)
        finally:
            self.fallbacks = now


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
class FallbackPassIsCalled(Steps):
    """PASS was called as a fallback, as if it were a function. It can stand in place of either: of a kernel and of a fallback."""

    def passed_over(self, op: str, key: str) -> bool:
        return self.kernels.get((op, key)) is self.PASS


@mini_dispatcher.mistake(breaks=PASSED)
class PassIsCalled(Steps):
    """PASS was called as a kernel, as if it were a function. It says that the key is to be passed over."""

    def passed_over(self, op: str, key: str) -> bool:
        return False


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
        self.kernels = self.everywhere


@mini_dispatcher.mistake(breaks=TWO)
class OneTableOfFallbacks(Steps):
    """A fallback that was registered in one dispatcher ran in a different one, too. Perhaps their table is an attribute of the class."""

    everywhere: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, priority: list[str], keys_of: Callable[..., Iterable[str]]) -> None:
        super().__init__(priority, keys_of)
        self.fallbacks = self.everywhere


@mini_dispatcher.mistake(breaks=FALLBACK)
class FirstFallbackStays(Steps):
    """A second fallback was registered for the same key, and the first one ran. The later takes its place."""

    def register_fallback(self, key: str, kernel: Any) -> None:
        self.fallbacks.setdefault(self.known(key), kernel)


@mini_dispatcher.mistake(breaks=FALLBACK)
class FallbackForKnownOperators(Steps):
    """An operator for which nothing is registered did not get the fallback. Perhaps it was refused as unknown, or fallbacks are put into
    the rows of those operators that are there at that time.
    """

    def among(self, op: str, keys: list[str], args: tuple[Any, ...]) -> Any:
        if not any(known == op for known, _ in self.kernels):
            raise self.no_kernel(op, next((key for key in keys if key in self.active(args)), ""))
        return super().among(op, keys, args)


@mini_dispatcher.mistake(breaks=CALL)
class FalseIsMissing(Steps):
    """A kernel that is false, as an empty `nn.Sequential` is, did not run. Perhaps `if kernel` or an `or` asks whether there is one: `is not
    None` does not look into it.
    """

    def passed_over(self, op: str, key: str) -> bool:
        return (self.kernels.get((op, key)) or self.fallbacks.get(key)) is self.PASS

    def run(self, op: str, key: str, args: tuple[Any, ...]) -> Any:
        if self.kernels.get((op, key)):
            return self.kernels[op, key](*args)
        if self.fallbacks.get(key) is not None:
            return self.fallbacks[key](op, *args)
        raise self.no_kernel(op, key)


@mini_dispatcher.mistake(breaks=FALLBACK)
class FalseFallbackIsMissing(Steps):
    """A fallback that is false did not run, and a kernel that is false did. `is not None` is to be asked of both."""

    def run(self, op: str, key: str, args: tuple[Any, ...]) -> Any:
        if (op, key) not in self.kernels and not self.fallbacks.get(key):
            raise self.no_kernel(op, key)
        return super().run(op, key, args)


@mini_dispatcher.mistake(breaks=PASSED)
class PassOfItsOwn(Steps):
    """`MiniDispatcher.PASS` was registered, and the dispatcher did not know it. Perhaps `__init__` sets `self.PASS`, which is then a
    different object: callers take the one of the class.
    """

    def __init__(self, priority: list[str], keys_of: Callable[..., Iterable[str]]) -> None:
        super().__init__(priority, keys_of)
        self.PASS = object()


@mini_dispatcher.mistake(breaks=PASSED)
class OnePassOnly(Steps):
    """Two keys in a row have PASS, and the search did not go past the second. Perhaps PASS is looked for once, with an `if`: as many keys
    as have PASS are passed over.
    """

    def among(self, op: str, keys: list[str], args: tuple[Any, ...]) -> Any:
        active = self.active(args)
        left = [key for key in keys if key in active]
        if left and self.passed_over(op, left[0]):
            left = left[1:]
        if not left:
            raise self.none_left(op)
        if self.passed_over(op, left[0]):
            raise self.no_kernel(op, left[0])
        return self.run(op, left[0], args)


@mini_dispatcher.mistake(breaks=PASSED)
class FallbackPassedForGood(Steps):
    """A fallback was registered where PASS had been the fallback, and the key was passed over all the same. Perhaps PASS is kept in a
    set, and not taken out of it again.
    """

    def __init__(self, priority: list[str], keys_of: Callable[..., Iterable[str]]) -> None:
        super().__init__(priority, keys_of)
        self.passing: set[str] = set()

    def register_fallback(self, key: str, kernel: Any) -> None:
        super().register_fallback(key, kernel)
        if kernel is self.PASS:
            self.passing.add(key)

    def passed_over(self, op: str, key: str) -> bool:
        return (op, key) not in self.kernels and key in self.passing or super().passed_over(op, key)


@mini_dispatcher.mistake(breaks=FALLBACK)
class FallbackForOperatorsWithoutKernels(Steps):
    """An operator that has a kernel for a different key did not get the fallback. It serves all operators that have no kernel for this key."""

    def run(self, op: str, key: str, args: tuple[Any, ...]) -> Any:
        if (op, key) not in self.kernels and any(known == op for known, _ in self.kernels):
            raise self.no_kernel(op, key)
        return super().run(op, key, args)


@mini_dispatcher.mistake(breaks=CALLED_AS)
class FalseFallbackWithoutItsName(Steps):
    """A fallback that is false was not called as `kernel(op, *args)`, and others were. Perhaps an `and` or an `or` between kernels asks
    whether there is one: `is not None` does not look into it.
    """

    def run(self, op: str, key: str, args: tuple[Any, ...]) -> Any:
        fallback = self.fallbacks.get(key)
        if (op, key) not in self.kernels and fallback is not None and not fallback:
            return fallback(*args)
        return super().run(op, key, args)


@mini_dispatcher.mistake(breaks=EXCLUDING)
class NotRegisteredInABlock(Steps):
    """What was registered in a block for an excluded key did not run after the block. A block keeps keys out of calls, and not out of
    the table.
    """

    def register(self, op: str, key: str, kernel: Any) -> None:
        if self.known(key) not in self.excluded():
            super().register(op, key, kernel)


@mini_dispatcher.variant(NotRegisteredInABlock)
class _(NotRegisteredInABlock):
    def register_fallback(self, key: str, kernel: Any) -> None:
        if self.known(key) not in self.excluded():
            super().register_fallback(key, kernel)


@mini_dispatcher.variant(NotRegisteredInABlock)
class _(Steps):
    def register_fallback(self, key: str, kernel: Any) -> None:
        if self.known(key) not in self.excluded():
            super().register_fallback(key, kernel)
