"""Which kernel is found in 12.mini_dispatcher, and what is said where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from helpers.labs.dispatch.mini_dispatcher.exercise import (
    CALL,
    CALLED_AS,
    KEYS_OF,
    LISTS,
    MESSAGE,
    NO_KERNEL,
    OTHERS,
    RAISED,
    mini_dispatcher,
)
from helpers.labs.dispatch.mini_dispatcher.right import Steps


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
class NoErrorAtAll(Steps):
    """The highest key had no kernel, and no error was raised. The caller takes what came back for a result."""

    def among(self, op: str, keys: list[str], args: tuple[Any, ...]) -> Any:
        active = self.active(args)
        first = next((key for key in keys if key in active and not self.passed_over(op, key)), None)
        has_one = first is not None and ((op, first) in self.kernels or first in self.fallbacks)
        return self.run(op, first, args) if first is not None and has_one else None


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


@mini_dispatcher.mistake(breaks=MESSAGE)
class NamesAPassedKey(Steps):
    """Where a higher key is passed over, the message does not name the key that has no kernel. Perhaps it names the highest key of the
    arguments, and sends its reader to the wrong row of the table.
    """

    def among(self, op: str, keys: list[str], args: tuple[Any, ...]) -> Any:
        active = self.active(args)
        self.first = next((key for key in keys if key in active), "")
        return super().among(op, keys, args)

    def no_kernel(self, op: str, key: str) -> Exception:
        return NotImplementedError(f"{op} has no kernel for {self.first}")


@mini_dispatcher.mistake(breaks=MESSAGE)
class NamesAnExcludedKey(NamesAPassedKey):
    """Where a higher key is excluded, the message does not name the key that has no kernel. Perhaps it names the highest key of the
    arguments.
    """

    def among(self, op: str, keys: list[str], args: tuple[Any, ...]) -> Any:
        has = set(self.keys_of(*args))
        self.first = next((key for key in keys if key in has and not self.passed_over(op, key)), "")
        return Steps.among(self, op, keys, args)


@mini_dispatcher.mistake(breaks=CALL)
class KeysAskedOnce(Steps):
    """Later arguments were taken to have the keys of earlier ones. Perhaps what `keys_of` gave is kept by the types of the arguments:
    two of one type may differ in their keys.
    """

    def __init__(self, priority: list[str], keys_of: Callable[..., Iterable[str]]) -> None:
        found: dict[Any, list[str]] = {}

        def kept(*args: Any) -> list[str]:
            types = tuple(map(type, args))
            if types not in found:
                found[types] = list(keys_of(*args))
            return found[types]

        super().__init__(priority, kept)


@mini_dispatcher.mistake(breaks=CALLED_AS)
class ArgumentsInATable(Steps):
    """A call with a list among its arguments raised "unhashable type". Perhaps what `keys_of` gave is kept in a dict by the arguments, or by
    `lru_cache`: arguments may be anything.
    """

    def __init__(self, priority: list[str], keys_of: Callable[..., Iterable[str]]) -> None:
        super().__init__(priority, lru_cache(lambda *args: frozenset(keys_of(*args))))


@mini_dispatcher.mistake(breaks=KEYS_OF)
class EachArgumentAlone(Steps):
    """The keys were not those that `keys_of` gives for all arguments of the call. Perhaps it is asked for each argument alone: call it
    once, as `keys_of(*args)`, also without arguments.
    """

    def __init__(self, priority: list[str], keys_of: Callable[..., Iterable[str]]) -> None:
        super().__init__(priority, lambda *args: [key for each in args for key in keys_of(each)])


@mini_dispatcher.mistake(breaks=CALL)
class OneArgumentCounts(Steps):
    """Of three arguments, a key of one alone counted, and a higher key of a different one did not. `keys_of(*args)` gives the keys of all of them."""

    def __init__(self, priority: list[str], keys_of: Callable[..., Iterable[str]]) -> None:
        super().__init__(priority, lambda *args: keys_of(*args[:1]))


@mini_dispatcher.variant(OneArgumentCounts)
class _(Steps):
    def __init__(self, priority: list[str], keys_of: Callable[..., Iterable[str]]) -> None:
        super().__init__(priority, lambda *args: keys_of(*args[-1:]))


@mini_dispatcher.mistake(breaks=OTHERS)
class PartOfAName(Steps):
    """The arguments have a key whose name holds that of a key in `priority`, and this one counted. Perhaps `in` looked into a text: make a set of
    the keys.
    """

    def active(self, args: tuple[Any, ...]) -> set[str]:
        names = " ".join(self.keys_of(*args))
        return {key for key in self.priority if key in names} - self.excluded()


@mini_dispatcher.mistake(breaks=LISTS)
class ListTurnedAround(Steps):
    """The caller's list was changed. Perhaps `reverse` or `sort` works on `priority` itself: make a list of your own first."""

    def __init__(self, priority: list[str], keys_of: Callable[..., Iterable[str]]) -> None:
        super().__init__(priority, keys_of)
        priority.reverse()


@mini_dispatcher.mistake(breaks=NO_KERNEL)
class UnknownOperator(Steps):
    """KeyError was raised for an operator for which nothing is registered, and NotImplementedError for one that lacks a kernel. Perhaps
    there is a row for each operator, which was asked for with square brackets.
    """

    def among(self, op: str, keys: list[str], args: tuple[Any, ...]) -> Any:
        if not any(known == op for known, _ in self.kernels):
            raise KeyError(op)
        return super().among(op, keys, args)


@mini_dispatcher.mistake(breaks=NO_KERNEL)
class OtherErrorForIt(Steps):
    """The highest key had no kernel, and an error came that is no NotImplementedError."""

    def no_kernel(self, op: str, key: str) -> Exception:
        return RuntimeError(f"{op} has no kernel for {key}")

    def none_left(self, op: str) -> Exception:
        return RuntimeError(f"{op}: no key is left")


@mini_dispatcher.variant(OtherErrorForIt)
class _(Steps):
    def no_kernel(self, op: str, key: str) -> Exception:
        return TypeError("'NoneType' object is not callable")


@mini_dispatcher.variant(OtherErrorForIt)
class _(Steps):
    def no_kernel(self, op: str, key: str) -> Exception:
        return ValueError(f"{op} has no kernel for {key}")


@mini_dispatcher.variant(OtherErrorForIt)
class _(Steps):
    def no_kernel(self, op: str, key: str) -> Exception:
        return LookupError(f"{op} has no kernel for {key}")


@mini_dispatcher.mistake(breaks=RAISED)
class KeysOfFailsSilently(Steps):
    """`keys_of` raised an error, and a different one came out, or none. Perhaps it is called within a `try`, and its error is taken for "no key"."""

    def active(self, args: tuple[Any, ...]) -> set[str]:
        try:
            return super().active(args)
        except Exception:
            return set()
