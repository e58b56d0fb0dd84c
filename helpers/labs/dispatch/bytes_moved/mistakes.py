"""What people write for 12.bytes_moved, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from helpers.labs.dispatch.bytes_moved.exercise import (
    BYTES,
    ERRORS,
    LEFT_OUT,
    META,
    NOT_MADE,
    ONCE,
    SUM,
    bytes_moved,
)
from helpers.labs.dispatch.bytes_moved.right import Mode, Steps, by_steps, tensors

bank = bytes_moved.bank(by_steps)
NAMES = "The keys are full names, as `str(func)` gives them"
ORDER = "in the order of their first call."
READS = "A call reads each tensor that it is given"
MAKES = "and each that it makes."
ALSO = "by keyword and in lists, too"
IN_PLACE = "It writes each tensor that it changes in place (by its schema)"
SIZE = "Each has `numel() * element_size()` bytes"
PLACES = "and counts in each place where it stands."
EMPTY = "operations that only make memory (those whose name begins with `empty` or `new_empty`)"
VIEWS = "So views move nothing"


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


# What is changed.


@bank.mistake(breaks=IN_PLACE)
class NothingIsChanged(Steps):
    """What is changed in place is read, and not written. Perhaps only what is made counts as written."""

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        given = self.given(args, kwargs)
        changed, made = self.changed(func, args, kwargs), self.made(func, given, result)
        if not self.is_view(changed, made, result) and not self.only_memory(func):
            self.add(func, sum(map(self.size, [*given, *made])))
        return result


@bank.mistake(breaks=IN_PLACE)
class EditsAreLeftOut(Steps):
    """What edits its argument in place is missing. Perhaps it was taken for a view: its result lies in the memory of an
    argument, too, and it is written.
    """

    def changed(self, func: Any, args: Any, kwargs: Any) -> list[Tensor]:
        return []


@bank.mistake(breaks=NOT_MADE)
class ChangedAndMade(Steps):
    """What is changed in place counts as written twice: once as changed, once as made. It lies in the memory of an argument."""

    def made(self, func: Any, given: list[Tensor], result: Any) -> list[Tensor]:
        return tensors(result) if func._schema.is_mutable else super().made(func, given, result)


@bank.mistake(breaks=IN_PLACE)
class ByItsUnderscore(Steps):
    """With `out=` nothing counts as written, or the call is missing. Perhaps the underscore at the end of a name was taken for what
    says that something is changed: the schema says it of `out`, too.
    """

    def changed(self, func: Any, args: Any, kwargs: Any) -> list[Tensor]:
        return tensors(args[0]) if func.overloadpacket.__name__.endswith("_") else []


@bank.mistake(breaks=IN_PLACE)
class NoListsAreChanged(Steps):
    """The tensors of a list that an operation changes do not count as written. A list may be changed as well, as in
    `_foreach_add_`.
    """

    def changed(self, func: Any, args: Any, kwargs: Any) -> list[Tensor]:
        arguments = func._schema.arguments
        by_name = dict(zip((each.name for each in arguments), args, strict=False)) | kwargs
        found = [by_name.get(each.name) for each in arguments if each.is_write]
        return [each for each in found if isinstance(each, Tensor)]


@bank.mistake(breaks=IN_PLACE)
class TheFirstIsChanged(Steps):
    """Of several arguments that an operation changes only the first counts as written."""

    def changed(self, func: Any, args: Any, kwargs: Any) -> list[Tensor]:
        arguments = func._schema.arguments
        by_name = dict(zip((each.name for each in arguments), args, strict=False)) | kwargs
        return tensors([by_name.get(each.name) for each in arguments if each.is_write][:1])


# Views, and what is left out.


@bank.mistake(breaks=VIEWS)
class ViewsRead(Steps):
    """Views move bytes: their argument counts as read. A view looks at nothing, and is left out."""

    def is_view(self, changed: list[Tensor], made: list[Tensor], result: Any) -> bool:
        return False


@bank.mistake(breaks=VIEWS)
class ViewsMade(ViewsRead):
    """Views move bytes: they count as made. They lie in the memory of their argument."""

    def made(self, func: Any, given: list[Tensor], result: Any) -> list[Tensor]:
        return [] if func._schema.is_mutable else tensors(result)


@bank.mistake(breaks=LEFT_OUT)
class ViewsOfNoBytes(Steps):
    """Views stand there with 0 bytes. They are to be left out."""

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        result = super().seen(func, args, kwargs)
        if self.key(func) not in self.moved and func.is_view:
            self.moved[self.key(func)] = 0
        return result


@bank.mistake(breaks=VIEWS)
class ListsOfViewsRead(Steps):
    """Views that come in a list, as those of `split` and `unbind`, move bytes. They are left out as well as a single one."""

    def is_view(self, changed: list[Tensor], made: list[Tensor], result: Any) -> bool:
        return not made and not changed and isinstance(result, Tensor)


@bank.mistake(breaks=NOT_MADE)
class ByIsView(Steps):
    """What lies in the memory of an argument counts as made where `is_view` is False, as of `_unsafe_view`."""

    def made(self, func: Any, given: list[Tensor], result: Any) -> list[Tensor]:
        return [] if func.is_view or func._schema.is_mutable else tensors(result)


@bank.mistake(breaks=NOT_MADE)
class ByTheFirstNumber(Steps):
    """A view that begins elsewhere than its argument, as x[1:], counts as made. Perhaps `data_ptr()` of the tensors was compared: that
    is where each begins, and not where its memory does.
    """

    def made(self, func: Any, given: list[Tensor], result: Any) -> list[Tensor]:
        there = {each.data_ptr() for each in given}
        return [each for each in tensors(result) if each.data_ptr() not in there]


@bank.mistake(breaks=META)
class ByAddress(Steps):
    """What is made from other tensors counts as not made where there are no addresses: on the meta device, and where a tensor has
    no numbers. Perhaps `data_ptr()` of the memory was compared, which is 0 there.
    """

    def made(self, func: Any, given: list[Tensor], result: Any) -> list[Tensor]:
        there = {each.untyped_storage().data_ptr() for each in given}
        return [each for each in tensors(result) if each.untyped_storage().data_ptr() not in there]


@bank.mistake(breaks=META)
class ByAddressWithNumbers(Steps):
    """On the meta device what is made is missing. Perhaps `data_ptr()` of the memory was compared, which is 0 for all there."""

    def made(self, func: Any, given: list[Tensor], result: Any) -> list[Tensor]:
        there = {each.untyped_storage().data_ptr() for each in given if each.numel()}
        return [
            each
            for each in tensors(result)
            if not each.numel() or each.untyped_storage().data_ptr() not in there
        ]


@bank.mistake(breaks=EMPTY)
class EmptyWrites(Steps):
    """`empty` counts as written. It only makes memory."""

    def only_memory(self, func: Any) -> bool:
        return False


@bank.mistake(breaks=EMPTY)
class EmptyAlone(Steps):
    """`empty_like` and its relatives count as written. They only make memory, as `empty` does."""

    def only_memory(self, func: Any) -> bool:
        return func.overloadpacket.__name__ == "empty"


@bank.mistake(breaks=EMPTY)
class NoNewEmpty(Steps):
    """`new_empty` counts as written. It only makes memory, as `empty` does."""

    def only_memory(self, func: Any) -> bool:
        return func.overloadpacket.__name__.startswith("empty")


@bank.mistake(breaks=MAKES)
class WithoutInputsLeftOut(Steps):
    """Operations that are given no tensor, as `zeros`, are missing. What they make is written."""

    def add(self, func: Any, size: int) -> None:
        if self.last:
            super().add(func, size)

    def given(self, args: Any, kwargs: Any) -> list[Tensor]:
        self.last = super().given(args, kwargs)
        return self.last


@bank.mistake(breaks=MAKES)
class TheFirstResult(Steps):
    """Of several results only the first counts as made."""

    def made(self, func: Any, given: list[Tensor], result: Any) -> list[Tensor]:
        return super().made(func, given, result)[:1]


@bank.mistake(breaks=MAKES)
class SingleResults(Steps):
    """Operations that give several tensors are missing, or what they make is. Perhaps only a result that is a tensor itself
    was looked at.
    """

    def made(self, func: Any, given: list[Tensor], result: Any) -> list[Tensor]:
        return super().made(func, given, result) if isinstance(result, Tensor) else []


@bank.mistake(breaks=READS)
class NoTensorsLeftOut(Steps):
    """Operations that give no tensor, as `equal` and `item`, are missing. They read what they are given."""

    def is_view(self, changed: list[Tensor], made: list[Tensor], result: Any) -> bool:
        return not made and not changed


@bank.mistake(breaks=LEFT_OUT)
class NothingMovedLeftOut(Steps):
    """Operations that move 0 bytes are missing. Left out are views and `empty`, and no others."""

    def add(self, func: Any, size: int) -> None:
        if size:
            super().add(func, size)


# What is called, and when.


class _Functions(TorchFunctionMode):
    def __init__(self, steps: Any) -> None:
        super().__init__()
        self.steps = steps

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if tensors((args, kwargs, result)):
            moved = sum(map(self.steps.size, tensors((args, kwargs, result))))
            name = f"aten.{getattr(func, '__name__', func)}.default"
            self.steps.moved[name] = self.steps.moved.get(name, 0) + moved
        return result


@bank.mistake(breaks=BYTES)
class AboveAutograd(Steps):
    """The names are those of functions of Python, as "add", and no operations of torch. That is what a `TorchFunctionMode` sees."""

    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        with _Functions(self):
            fn(*args)
        return self.moved


@bank.mistake(breaks=BYTES)
class ForwardOnly(Steps):
    """What a backward moves is missing. Its operations are operations of `fn`, too."""

    def add(self, func: Any, size: int) -> None:
        if torch._C._current_autograd_node() is None:
            super().add(func, size)


@bank.mistake(breaks=BYTES)
class WithoutGrad(Steps):
    """An `fn` that runs a backward raises: nothing was recorded. Perhaps it runs under no_grad."""

    @torch.no_grad()
    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        return super().count(fn, args)


@bank.mistake(breaks=ONCE)
class RunsTwice(Steps):
    """fn is called twice. Perhaps once to warm up, or to get its result."""

    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        fn(*args)
        return super().count(fn, args)


@bank.mistake(breaks=BYTES)
class CopiesOfArguments(Steps):
    """fn gets other tensors than bytes_moved got: perhaps copies. What fn does to its arguments is then lost."""

    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        return super().count(
            fn, tuple(each.detach().clone().requires_grad_(each.requires_grad) for each in args)
        )


@bank.mistake(breaks=ERRORS)
class SwallowsErrors(Steps):
    """What fn raises does not come out. It has to pass through."""

    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        try:
            return super().count(fn, args)
        except Exception:
            return self.moved


@bank.mistake(breaks=ERRORS)
class StaysOnAfterAnError(Steps):
    """When fn raises, the mode stays on: operations behind the call still go through it. `with` ends it in each case."""

    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        mode = Mode(self)
        mode.__enter__()
        fn(*args)
        mode.__exit__(None, None, None)
        return self.moved


_everything: dict[Any, Any] = {}


@bank.mistake(breaks=SUM)
class AllCallsTogether(Steps):
    """What earlier calls of bytes_moved counted is still there. Perhaps the dict is a default argument, or a global: each call
    begins with an empty one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.moved = _everything


@bank.mistake(breaks=BYTES)
class OneDictForAll(Steps):
    """Where fn calls bytes_moved itself, the two mix. Perhaps they share a dict that is emptied at the beginning of each call."""

    shared: dict[Any, Any] = {}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.moved = self.shared
        self.moved.clear()

    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        return dict(super().count(fn, args))


@bank.mistake(breaks=META)
class RunsOnTheProcessor(Steps):
    """On the meta device real memory is made, or the result is a different one. Perhaps real tensors were put in place of those
    without memory.
    """

    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        real = tuple(
            torch.zeros_like(each, device="cpu").requires_grad_(each.requires_grad) if each.is_meta else each
            for each in args
        )
        return super().count(fn, real)
