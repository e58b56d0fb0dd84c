"""Keys and numbers of 12.bytes_moved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from helpers.labs.dispatch.bytes_moved.exercise import (
    SUM,
    bytes_moved,
)
from helpers.labs.dispatch.bytes_moved.right import Steps, by_steps, tensors

bank = bytes_moved.bank(by_steps)
NAMES = "The keys are full names, as `str(func)` gives them"
ORDER = "in the order of their first call."
READS = "A call reads each tensor that it is given"
MAKES = "and each that it makes."
ALSO = "by keyword and in lists, too"
SIZE = "Each has `numel() * element_size()` bytes"
PLACES = "and counts in each place where it stands."


# The keys and their numbers.


@bank.mistake(breaks=NAMES)
class WithoutOverload(Steps):
    """The keys lack their overload, so that several operations stand together: "aten.sum" is "aten.sum.default" and
    "aten.sum.dim_IntList".
    """

    def key(self, func: Any) -> Any:
        return str(func.overloadpacket)


@bank.mistake(breaks=NAMES)
class ShortNames(Steps):
    """The keys are short names: "exp". The full name has the library and the overload, too: "aten.exp.default"."""

    def key(self, func: Any) -> Any:
        return func.overloadpacket.__name__


@bank.mistake(breaks=NAMES)
class WithoutLibrary(Steps):
    """The keys lack their library: it is "exp.default", and "aten.exp.default" is the full name."""

    def key(self, func: Any) -> Any:
        return func.__name__


@bank.mistake(breaks=NAMES)
class NamesOfTheSchema(Steps):
    """The keys are names with two colons: "aten::exp". `str(func)` gives "aten.exp.default"."""

    def key(self, func: Any) -> Any:
        return func.name()


@bank.mistake(breaks=NAMES)
class FunctionsAsKeys(Steps):
    """The keys are the operations themselves, and no str. They look alike when they are printed."""

    def key(self, func: Any) -> Any:
        return func


@bank.mistake(breaks=SUM)
class TheLastCall(Steps):
    """Of an operation that is called several times only the last call counts."""

    def add(self, func: Any, size: int) -> None:
        self.moved[self.key(func)] = size


@bank.mistake(breaks=SUM)
class TheFirstCall(Steps):
    """Of an operation that is called several times only the first call counts."""

    def add(self, func: Any, size: int) -> None:
        self.moved.setdefault(self.key(func), size)


@bank.mistake(breaks=ORDER)
class Sorted(Steps):
    """The keys stand in a different order, here that of the alphabet. Theirs is that of the first call of each."""

    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        return dict(sorted(super().count(fn, args).items()))


@bank.mistake(breaks=ORDER)
class TheLargestFirst(Steps):
    """The keys stand in the order of their bytes. It is to be that of the first call of each."""

    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        return dict(sorted(super().count(fn, args).items(), key=lambda item: -item[1]))


@bank.mistake(breaks=ORDER)
class OrderOfTheLastCall(Steps):
    """An operation that is called again moves to the end. The order is that of the first calls."""

    def add(self, func: Any, size: int) -> None:
        self.moved[self.key(func)] = self.moved.pop(self.key(func), 0) + size


@bank.mistake(breaks=ORDER)
class NothingMovedLast(Steps):
    """Operations that move 0 bytes stand behind the others. The order is that of the first calls."""

    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        return dict(sorted(super().count(fn, args).items(), key=lambda item: not item[1]))


# What a call moves.


@bank.mistake(breaks=READS)
class WritesOnly(Steps):
    """What is read is missing: the numbers are those of what is made."""

    def read(self, given: list[Tensor]) -> list[Tensor]:
        return []


@bank.mistake(breaks=MAKES)
class ReadsOnly(Steps):
    """What is made is missing: the numbers are those of what is read."""

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        given = self.given(args, kwargs)
        changed, made = self.changed(func, args, kwargs), self.made(func, given, result)
        if not self.is_view(changed, made, result) and not self.only_memory(func):
            self.add(func, sum(map(self.size, [*given, *changed])))
        return result


@bank.mistake(breaks=SIZE)
class NumbersNotBytes(Steps):
    """Counted are numbers, and no bytes."""

    def size(self, tensor: Tensor) -> int:
        return tensor.numel()


@bank.mistake(breaks=SIZE)
class FourBytesEach(Steps):
    """Each number counts 4 bytes, as one of float32. `element_size()` knows how many it has."""

    def size(self, tensor: Tensor) -> int:
        return tensor.numel() * 4


@bank.mistake(breaks=READS)
class FloatsOnly(Steps):
    """What x > y makes does not count: a tensor of bool. Perhaps only tensors of floating point numbers are counted, and each is a tensor."""

    def size(self, tensor: Tensor) -> int:
        return super().size(tensor) if tensor.is_floating_point() else 0


@bank.variant(FloatsOnly)
class _(Steps):
    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        given = self.given(args, kwargs)
        changed, made = self.changed(func, args, kwargs), self.made(func, given, result)
        if not self.is_view(changed, made, result) and not self.only_memory(func):
            floats = [each for each in made if each.is_floating_point()]
            self.add(func, sum(map(self.size, [*given, *changed, *floats])))
        return result


@bank.mistake(breaks=SIZE)
class BytesOfTheMemory(Steps):
    """Of a view the whole memory counts in which it lies. Of a slice that is too much, of an expanded tensor too little."""

    def size(self, tensor: Tensor) -> int:
        return tensor.untyped_storage().nbytes()


@bank.mistake(breaks=SIZE)
class ExpandedOnce(Steps):
    """The numbers of an expanded tensor count once each. `numel()` counts them as often as they stand in it."""

    def size(self, tensor: Tensor) -> int:
        held = 1
        for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
            held *= size if stride or not size else 1
        return held * tensor.element_size()


@bank.mistake(breaks=ALSO)
class NotInLists(Steps):
    """Tensors that an operation is given in a list are not read."""

    def read(self, given: list[Tensor]) -> list[Tensor]:
        return self.flat

    def given(self, args: Any, kwargs: Any) -> list[Tensor]:
        self.flat = [each for each in (*args, *kwargs.values()) if isinstance(each, Tensor)]
        return super().given(args, kwargs)


@bank.mistake(breaks=ALSO)
class NotByKeyword(Steps):
    """Tensors that an operation is given by keyword are not read."""

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.named = {id(each) for each in tensors(kwargs)}
        return super().seen(func, args, kwargs)

    def read(self, given: list[Tensor]) -> list[Tensor]:
        return [each for each in given if id(each) not in self.named]


@bank.mistake(breaks=ALSO)
class NotInListsByKeyword(Steps):
    """The tensors of a list that an operation is given by keyword are not read: `out=[a, b]` of `split_copy`. Lists are looked into
    there, too.
    """

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        found = [value for value in kwargs.values() if not isinstance(value, Tensor)]
        self.hidden = {id(each) for each in tensors(found)}
        return super().seen(func, args, kwargs)

    def read(self, given: list[Tensor]) -> list[Tensor]:
        return [each for each in given if id(each) not in self.hidden]


@bank.mistake(breaks=PLACES)
class OnceEach(Steps):
    """A tensor that stands in two places counts once. It is read at each of them."""

    def read(self, given: list[Tensor]) -> list[Tensor]:
        return list({id(each): each for each in given}.values())


@bank.mistake(breaks=READS)
class NoParameters(Steps):
    """A Parameter does not count. It is a tensor: perhaps the type was compared, and `isinstance` sees a Parameter, too."""

    def size(self, tensor: Tensor) -> int:
        return super().size(tensor) if type(tensor) is Tensor else 0


@bank.mistake(breaks=READS)
class NoScalars(Steps):
    """A tensor without dimensions does not count, as the result of `sum`. It has one number."""

    def size(self, tensor: Tensor) -> int:
        return super().size(tensor) if tensor.dim() else 0


_factories = (
    "zeros ones full arange zeros_like ones_like full_like new_zeros new_ones new_full scalar_tensor".split()
)


@bank.mistake(breaks=MAKES)
class FactoriesLeftOut(Steps):
    """`new_ones` is missing. Perhaps all that makes a tensor was taken for `empty`: it writes each of its numbers."""

    def only_memory(self, func: Any) -> bool:
        return super().only_memory(func) or func.overloadpacket.__name__ in _factories
