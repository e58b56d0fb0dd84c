"""How a call of 12.mini_dispatcher goes on, and what comes back."""

from __future__ import annotations

from typing import Any

from helpers.labs.dispatch.mini_dispatcher.exercise import (
    CALL,
    CALLED_AS,
    EXCLUDING,
    NO_KERNEL,
    RAISED,
    REDISPATCH,
    mini_dispatcher,
)
from helpers.labs.dispatch.mini_dispatcher.right import Steps


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
    """`redispatch` did not leave out an excluded key. What is excluded counts in each search, also in that of a kernel."""

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


@mini_dispatcher.mistake(breaks=RAISED)
class ErrorsTakenForMissing(Steps):
    """An error of a kernel was taken for a missing kernel. Perhaps the kernel is called within the `try` that looks for it."""

    def run(self, op: str, key: str, args: tuple[Any, ...]) -> Any:
        try:
            return super().run(op, key, args)
        except (KeyError, AttributeError, TypeError):
            raise NotImplementedError(f"{op} has no kernel for {key}") from None


@mini_dispatcher.mistake(breaks=RAISED)
class FallbackAfterAnError(Steps):
    """A kernel raised KeyError, and the fallback ran after it. Perhaps the kernel is called within the `try` that looks for it."""

    def run(self, op: str, key: str, args: tuple[Any, ...]) -> Any:
        try:
            return self.kernels[op, key](*args)
        except KeyError:
            return self.fallback(op, key, args)

    def fallback(self, op: str, key: str, args: tuple[Any, ...]) -> Any:
        try:
            fallback = self.fallbacks[key]
        except KeyError:
            raise self.no_kernel(op, key) from None
        return fallback(op, *args)


@mini_dispatcher.mistake(breaks=RAISED)
class ErrorsRenamed(Steps):
    """The NotImplementedError of a kernel came out as a different one. Perhaps each one is caught, to give it a message: a kernel
    may raise it as well.
    """

    def call(self, op: str, *args: Any) -> Any:
        try:
            return super().call(op, *args)
        except NotImplementedError as error:
            raise NotImplementedError(f"{op}: {error}") from error


@mini_dispatcher.mistake(breaks=CALL)
class FalseIsLost(Steps):
    """A kernel returned something that is false, and None came back. Perhaps an `or` or an `if` looked at the result."""

    def call(self, op: str, *args: Any) -> Any:
        return super().call(op, *args) or None


@mini_dispatcher.mistake(breaks=REDISPATCH)
class BelowHasToBeThere(Steps):
    """`redispatch` below a key that the arguments do not have raised an error, though they have a key below it. `below` is a place in
    `priority`, and no key of the arguments.
    """

    def redispatch(self, op: str, below: str, *args: Any) -> Any:
        if self.known(below) not in self.active(args):
            raise self.no_kernel(op, below)
        return super().redispatch(op, below, *args)


@mini_dispatcher.variant(BelowHasToBeThere)
class _(Steps):
    def redispatch(self, op: str, below: str, *args: Any) -> Any:
        has = set(self.keys_of(*args))
        have = [key for key in self.priority if key in has]
        return self.among(op, have[have.index(self.known(below)) + 1 :], args)


@mini_dispatcher.mistake(breaks=REDISPATCH)
class BelowIsExcluded(Steps):
    """`redispatch` below an excluded key raised an error, though a key below it is left. Perhaps `below` is looked up among the keys that are
    not excluded: it is a place in `priority`.
    """

    def redispatch(self, op: str, below: str, *args: Any) -> Any:
        self.known(below)
        left = [key for key in self.priority if key not in self.excluded()]
        return self.among(op, left[left.index(below) + 1 :], args)


@mini_dispatcher.variant(BelowIsExcluded)
class _(Steps):
    def redispatch(self, op: str, below: str, *args: Any) -> Any:
        if self.known(below) in self.excluded():
            raise self.no_kernel(op, below)
        return super().redispatch(op, below, *args)


@mini_dispatcher.mistake(breaks=NO_KERNEL)
class ErrorBelowTheLowest(Steps):
    """`redispatch` below the lowest key raised an error that is no NotImplementedError. Perhaps the next place of `priority` was looked
    up, and there is none. No key is left there.
    """

    def below(self, key: str) -> list[str]:
        following = self.priority[self.priority.index(self.known(key)) + 1]
        return self.priority[self.priority.index(following) :]


@mini_dispatcher.mistake(breaks=EXCLUDING)
class MissingBeforeExcluded(Steps):
    """An excluded key has no kernel, and NotImplementedError was raised. Perhaps a missing kernel is looked for before what is excluded: such a
    key needs none.
    """

    def among(self, op: str, keys: list[str], args: tuple[Any, ...]) -> Any:
        has, excluded = set(self.keys_of(*args)), self.excluded()
        for key in keys:
            if key not in has or self.passed_over(op, key):
                continue
            if (op, key) not in self.kernels and key not in self.fallbacks:
                raise self.no_kernel(op, key)
            if key not in excluded:
                return self.run(op, key, args)
        raise self.none_left(op)


@mini_dispatcher.mistake(breaks=RAISED)
class NotImplementedGoesOn(Steps):
    """A kernel raised NotImplementedError, and the kernel of a lower key ran after it. Perhaps the error is taken for that of a missing
    kernel: it is the kernel's own, and comes out.
    """

    def among(self, op: str, keys: list[str], args: tuple[Any, ...]) -> Any:
        active = self.active(args)
        for place, key in enumerate(keys):
            if key not in active or self.passed_over(op, key):
                continue
            if (op, key) not in self.kernels and key not in self.fallbacks:
                raise self.no_kernel(op, key)
            try:
                return self.run(op, key, args)
            except NotImplementedError:
                return self.among(op, keys[place + 1 :], args)
        raise self.none_left(op)


@mini_dispatcher.mistake(breaks=CALLED_AS)
class OpLostOnTheWay(Steps):
    """A fallback that `redispatch` found did not get what it gets from `call`: the operator first, then the arguments. Perhaps the search is
    written twice. One for both is enough.
    """

    def redispatch(self, op: str, below: str, *args: Any) -> Any:
        active = self.active(args)
        for key in self.below(below):
            if key in active and not self.passed_over(op, key):
                kernel = self.kernels.get((op, key), self.fallbacks.get(key))
                if kernel is None:
                    raise self.no_kernel(op, key)
                return kernel(*args)
        raise self.none_left(op)
