"""What is changed, made or left out in 12.bytes_moved."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from helpers.labs.dispatch.bytes_moved.exercise import (
    LEFT_OUT,
    LISTED,
    META,
    NOT_MADE,
    bytes_moved,
)
from helpers.labs.dispatch.bytes_moved.right import Steps, by_steps, tensors

bank = bytes_moved.bank(by_steps)
MAKES = "and each that it makes."
IN_PLACE = "It writes each tensor that it changes in place (by its schema)"
EMPTY = "and those that only make memory (behind the library, their names begin with `empty` or `new_empty`)."
VIEWS = "Left out are operations that change nothing and give tensors that all lie there"
OVERWRITTEN = "also one that it only overwrites."
OVERWRITTEN_AND_WRITTEN = f"{OVERWRITTEN} It writes each tensor that it changes in place"
EACH = "and counts in each place where it stands."


# What is changed.


@bank.mistake(breaks=IN_PLACE)
class NothingIsChanged(Steps):
    """What is changed in place counts once. It is both read and written."""

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
    """With `out=` the call is missing. Perhaps the underscore at the end of a name was taken for what says that something is changed:
    the schema says it of `out`, too.
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


@bank.mistake(breaks=OVERWRITTEN_AND_WRITTEN)
class OutCountsOnce(ByItsUnderscore):
    """What is given by `out=` counts once. It is both read and written. Perhaps what is only overwritten was not read; or the underscore
    at the end of a name was taken for what says that something is written.
    """

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.edits = func._schema.is_mutable
        return super().seen(func, args, kwargs)

    def is_view(self, changed: list[Tensor], made: list[Tensor], result: Any) -> bool:
        return not self.edits and super().is_view(changed, made, result)


@bank.variant(OutCountsOnce)
class _(OutCountsOnce):
    def changed(self, func: Any, args: Any, kwargs: Any) -> list[Tensor]:
        return [each for each in args[:1] if isinstance(each, Tensor) and func._schema.name.endswith("_")]


@bank.variant(OutCountsOnce)
class _(Steps):
    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        out = {each.name for each in func._schema.arguments if each.is_out}
        self.over = {id(each) for each in tensors([kwargs.get(name) for name in out])}
        return super().seen(func, args, kwargs)

    def read(self, given: list[Tensor]) -> list[Tensor]:
        return [each for each in given if id(each) not in self.over]


@bank.mistake(breaks=IN_PLACE)
class TheFirstArgument(Steps):
    """Of a batch norm that changes running mean and variance more counts than is changed. Perhaps the first argument was taken for
    what an operation changes: the schema says which it is.
    """

    def changed(self, func: Any, args: Any, kwargs: Any) -> list[Tensor]:
        return tensors(args[0]) if func._schema.is_mutable else []


@bank.mistake(breaks=EACH)
class WrittenOnce(Steps):
    """A tensor that stands twice in a list that is changed counts as written once. It counts in each place where it stands."""

    def changed(self, func: Any, args: Any, kwargs: Any) -> list[Tensor]:
        return list({id(each): each for each in super().changed(func, args, kwargs)}.values())


@bank.mistake(breaks=IN_PLACE)
class AllAreWritten(Steps):
    """Of an edit in place more counts as written than is changed. Perhaps all its arguments: of x.add_(y) only x is changed, and the schema says
    which.
    """

    def changed(self, func: Any, args: Any, kwargs: Any) -> list[Tensor]:
        return self.given(args, kwargs) if func._schema.is_mutable else []


@bank.mistake(breaks=OVERWRITTEN)
class OverwrittenNotRead(Steps):
    """What `fill_` and `copy_` overwrite does not count as read. So it may be in a machine, and here each tensor that is given counts."""

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        overwrites = (
            func.overloadpacket.__name__ in ("fill_", "zero_", "copy_") or "out" in func._overloadname
        )
        self.over = [id(each) for each in self.changed(func, args, kwargs)] if overwrites else []
        return super().seen(func, args, kwargs)

    def read(self, given: list[Tensor]) -> list[Tensor]:
        return [each for each in given if id(each) not in self.over]


@bank.mistake(breaks=NOT_MADE)
class ComparedWithTheFirst(Steps):
    """With `out=` a result counts as made that is only changed. Perhaps memory was compared with that of the first tensor alone, or not with
    that of tensors given by keyword.
    """

    def made(self, func: Any, given: list[Tensor], result: Any) -> list[Tensor]:
        return super().made(func, given[:1], result)


@bank.variant(ComparedWithTheFirst)
class _(Steps):
    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.by_place = tensors(args)
        return super().seen(func, args, kwargs)

    def made(self, func: Any, given: list[Tensor], result: Any) -> list[Tensor]:
        return super().made(func, self.by_place, result)


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


@bank.variant(ViewsOfNoBytes)
class _(Steps):
    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        if not func.is_view and not self.only_memory(func):
            self.moved.setdefault(self.key(func), 0)
        return super().seen(func, args, kwargs)


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


@bank.mistake(breaks=VIEWS)
class LeftOutByIsView(Steps):
    """`_unsafe_view` counts as read, since `is_view` is False of it. Its result lies in the memory of its argument, and nothing is changed:
    it is left out.
    """

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.left_out = func.is_view
        return super().seen(func, args, kwargs)

    def is_view(self, changed: list[Tensor], made: list[Tensor], result: Any) -> bool:
        return self.left_out


@bank.mistake(breaks=VIEWS)
class UnsafeSplitListed(Steps):
    """`unsafe_split` is listed, and `_unsafe_view` is not. What it gives lies in the memory of its argument, and nothing is changed. Perhaps
    `_unsafe_view` alone was named beside `is_view`, which is False of both.
    """

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.left_out = func.is_view or func.overloadpacket.__name__ == "_unsafe_view"
        return super().seen(func, args, kwargs)

    def is_view(self, changed: list[Tensor], made: list[Tensor], result: Any) -> bool:
        return self.left_out and not made


@bank.variant(UnsafeSplitListed)
class _(UnsafeSplitListed):
    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.edits = func._schema.is_mutable
        return super().seen(func, args, kwargs)

    def made(self, func: Any, given: list[Tensor], result: Any) -> list[Tensor]:
        return [] if self.edits or self.left_out else tensors(result)


@bank.variant(UnsafeSplitListed)
class _(UnsafeSplitListed):
    def made(self, func: Any, given: list[Tensor], result: Any) -> list[Tensor]:
        return [] if self.left_out else tensors(result)


@bank.mistake(breaks=VIEWS)
class CopiesLeftOut(Steps):
    """Under inference_mode what is copied by `to`, `reshape` and `contiguous` is missing. Perhaps `is_view` was believed: it is True of
    these, also where they make a tensor.
    """

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.left_out = func.is_view
        return super().seen(func, args, kwargs)

    def is_view(self, changed: list[Tensor], made: list[Tensor], result: Any) -> bool:
        return self.left_out or super().is_view(changed, made, result)


@bank.variant(CopiesLeftOut)
class _(CopiesLeftOut):
    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.by_name = func.is_view or "unsafe_" in func.overloadpacket.__name__
        return super().seen(func, args, kwargs)

    def is_view(self, changed: list[Tensor], made: list[Tensor], result: Any) -> bool:
        return self.by_name


@bank.mistake(breaks=NOT_MADE)
class SharedWithTheSecond(Steps):
    """`broadcast_tensors`, under inference_mode, counts as if it made something. What it gives lies in the memory of its arguments,
    and not of the first alone.
    """

    def made(self, func: Any, given: list[Tensor], result: Any) -> list[Tensor]:
        return super().made(func, given if func._schema.is_mutable else given[:1], result)


@bank.mistake(breaks=NOT_MADE)
class ByTheFirstNumber(Steps):
    """A view that begins elsewhere than its argument, as x[1:], counts as made. Perhaps `data_ptr()` of the tensors was compared: that
    is where each begins, and not where its memory does.
    """

    def made(self, func: Any, given: list[Tensor], result: Any) -> list[Tensor]:
        there = {each.data_ptr() for each in given}
        return [each for each in tensors(result) if each.data_ptr() not in there]


@bank.mistake(breaks=MAKES)
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
class EmptyAndLike(Steps):
    """`empty` and `empty_like` are left out, and others that only make memory are not: `empty_strided` and `new_empty` among them. Perhaps
    two were named: all are left out whose names begin so.
    """

    def only_memory(self, func: Any) -> bool:
        return func.overloadpacket.__name__ in ("empty", "empty_like")


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


@bank.mistake(breaks=LISTED)
class NoTensorsLeftOut(Steps):
    """Operations that give no tensor, as `equal` and `item`, are missing. They read what they are given, and are listed."""

    def is_view(self, changed: list[Tensor], made: list[Tensor], result: Any) -> bool:
        return not made and not changed


@bank.mistake(breaks=LISTED)
class NothingMovedLeftOut(Steps):
    """Operations that move 0 bytes are missing. Left out are views and `empty`, and no others."""

    def add(self, func: Any, size: int) -> None:
        if size:
            super().add(func, size)


@bank.mistake(breaks=LISTED)
class AtenOnly(Steps):
    """Operations of other libraries than aten are missing. All are listed."""

    def add(self, func: Any, size: int) -> None:
        if func.namespace == "aten":
            super().add(func, size)


@bank.mistake(breaks=LISTED)
class WithoutTensorsLeftOut(Steps):
    """Operations that have no tensor, among arguments and results, are missing. They are listed with 0 bytes."""

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        result = super().seen(func, args, kwargs)
        if not tensors((args, kwargs, result)):
            del self.moved[self.key(func)]
        return result


@bank.mistake(breaks=META)
class ByAddressAfterViews(Steps):
    """On the meta device what is made does not count as written. Perhaps `data_ptr()` was compared, which is 0 for all there: a result then
    seems to lie in the memory of its arguments.
    """

    def made(self, func: Any, given: list[Tensor], result: Any) -> list[Tensor]:
        by_memory = super().made(func, given, result)
        self.makes = bool(by_memory)
        there = {each.data_ptr() for each in given}
        return [each for each in by_memory if each.data_ptr() not in there]

    def is_view(self, changed: list[Tensor], made: list[Tensor], result: Any) -> bool:
        return not self.makes and super().is_view(changed, [], result)


@bank.mistake(breaks=META)
class AddressZeroIsNew(Steps):
    """On the meta device what is changed counts as made, too. Perhaps `data_ptr()` was compared, and each 0 was taken for new memory."""

    def made(self, func: Any, given: list[Tensor], result: Any) -> list[Tensor]:
        if func.is_view or not func._schema.is_mutable:
            return super().made(func, given, result)
        there = {each.untyped_storage().data_ptr() for each in given} - {0}
        return [each for each in tensors(result) if each.untyped_storage().data_ptr() not in there]


@bank.mistake(breaks=META)
class UnsafeViewsOnMeta(Steps):
    """On the meta device `_unsafe_view` is there, and on the CPU it is left out. Perhaps `data_ptr()` was compared where it is not 0:
    `untyped_storage()._cdata` is there on each device.
    """

    def made(self, func: Any, given: list[Tensor], result: Any) -> list[Tensor]:
        if func.is_view or func._schema.is_mutable:
            return super().made(func, given, result)
        there = {each.untyped_storage().data_ptr() for each in given} - {0}
        return [each for each in tensors(result) if each.untyped_storage().data_ptr() not in there]
