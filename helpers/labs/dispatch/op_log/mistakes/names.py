"""What is listed in 12.op_log, and how: names, views, and what is missing."""

from __future__ import annotations

from collections import deque
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from helpers.labs.dispatch.op_log.exercise import (
    ASKED,
    LISTS,
    RAISES,
    op_log,
)
from helpers.labs.dispatch.op_log.right import Looking, Steps

FULL = 'each by its full name, as `str(func)` gives it ("aten.addmm.default")'
ORDER = "`ops` is a list of str, in the order in which the operations run"
VIEW = 'with " (view)" behind it if torch says that its result is a view (`func.is_view`).'


# What is listed, and how.


class _Functions(TorchFunctionMode):
    def __init__(self, log: Any) -> None:
        super().__init__()
        self.log = log

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.log.ops.append(self.log.called(func))
        return func(*args, **(kwargs or {}))


@op_log.mistake(breaks=ASKED)
class AboveAutograd(Steps):
    """Functions and methods of Python are listed, as they are called, and no operations. That is what a `TorchFunctionMode`
    sees: it stands above autograd, and a backward does not pass it.
    """

    def mode(self) -> Any:
        return _Functions(self)

    def called(self, func: Any) -> str:
        return str(func)


@op_log.variant(AboveAutograd)
class _(AboveAutograd):
    def called(self, func: Any) -> str:
        return func.__name__


@op_log.variant(AboveAutograd)
class _(AboveAutograd):
    def called(self, func: Any) -> str:
        return f"aten.{func.__name__}.default"


@op_log.mistake(breaks=FULL)
class WithoutOverload(Steps):
    """The names lack their overload: "aten.exp" is a family, "aten.exp.default" the operation that ran."""

    def name(self, func: Any) -> str:
        return str(func.overloadpacket)


@op_log.mistake(breaks=FULL)
class WithoutLibrary(Steps):
    """The names lack their library: it is "exp.default", and "aten.exp.default" is the full name."""

    def name(self, func: Any) -> str:
        return func.__name__


@op_log.mistake(breaks=FULL)
class ShortNames(Steps):
    """The names are short: "exp". The full name has the library and the overload, too: "aten.exp.default"."""

    def name(self, func: Any) -> str:
        return func.overloadpacket.__name__


@op_log.mistake(breaks=FULL)
class NamesOfTheSchema(Steps):
    """The names are those of the schema, with two colons: "aten::exp". `str(func)` gives "aten.exp.default"."""

    def name(self, func: Any) -> str:
        return func.name()


@op_log.variant(NamesOfTheSchema)
class _(Steps):
    def name(self, func: Any) -> str:
        return func._schema.name


@op_log.mistake(breaks=FULL)
class AllFromAten(Steps):
    """Operations of other libraries do not stand there by their names. Perhaps "aten." is written in front of all: `str(func)`
    knows the library.
    """

    def name(self, func: Any) -> str:
        return f"aten.{func.__name__}"


@op_log.mistake(breaks=ASKED)
class AtenOnly(Steps):
    """Operations of other libraries than aten are missing. All that a mode is asked for is listed."""

    def note(self, func: Any, args: Any) -> None:
        if func.namespace == "aten":
            super().note(func, args)


@op_log.mistake(breaks=ORDER)
class FunctionsInstead(Steps):
    """The list holds the operations themselves, and it is to hold their names, as str."""

    def note(self, func: Any, args: Any) -> None:
        self.ops.append(func)


@op_log.mistake(breaks=ASKED)
class WithoutTensorsMissing(Steps):
    """What is given no tensor is missing, such as the marks of `record_function`. All that a mode is asked for is listed."""

    def note(self, func: Any, args: Any) -> None:
        if any(isinstance(each, Tensor) for each in tree_leaves(args)):
            super().note(func, args)


@op_log.mistake(breaks=ASKED)
class NotOfSubclasses(Steps):
    """What is given a tensor of a subclass is missing. A mode is asked for it, too, and before the subclass is."""

    def note(self, func: Any, args: Any) -> None:
        if all(type(each) in (Tensor, Parameter) for each in tree_leaves(args) if isinstance(each, Tensor)):
            super().note(func, args)


@op_log.mistake(breaks=ORDER)
class OnceInARow(Steps):
    """An operation that runs twice, one call after the other, is listed once. Each stands there as often as it runs."""

    def note(self, func: Any, args: Any) -> None:
        super().note(func, args)
        if self.ops[-2:-1] == self.ops[-1:]:
            self.ops.pop()


@op_log.mistake(breaks=ORDER)
class EachOnce(Steps):
    """An operation that runs again is not listed again. Each stands there as often as it runs."""

    def note(self, func: Any, args: Any) -> None:
        if str(func) not in self.ops:
            super().note(func, args)


@op_log.mistake(breaks=ORDER)
class Counted(Steps):
    """ops is a dict, perhaps with a number for each name. It is to be a list, with an entry for each time an operation runs."""

    def __init__(self) -> None:
        super().__init__()
        self.ops = {}

    def note(self, func: Any, args: Any) -> None:
        self.ops[str(func)] = self.ops.get(str(func), 0) + 1


@op_log.mistake(breaks=ORDER)
class NewestFirst(Steps):
    """The newest operation stands first. The order is that in which they run."""

    def note(self, func: Any, args: Any) -> None:
        self.ops.insert(0, str(func) + (" (view)" if func.is_view else ""))


@op_log.mistake(breaks=LISTS)
class NothingBehindAs(Steps):
    """`with OpLog() as log` gives no log: what `__enter__` returns has no `ops`. Perhaps its `return self` is missing, or it
    returns the mode.
    """

    def __enter__(self) -> Any:
        super().__enter__()


@op_log.mistake(breaks=LISTS)
class SomethingElseBehindAs(Steps):
    """What stands behind `as` lists what runs, and the OpLog itself does not. Perhaps `__enter__` gives the mode, with a list of its own:
    it is to give `self`.
    """

    def __enter__(self) -> Any:
        log = Steps()
        self.inner = log
        return log.__enter__()

    def __exit__(self, *error: Any) -> None:
        self.inner.__exit__(*error)


@op_log.mistake(breaks=ORDER)
class NoList(Steps):
    """`ops` is no list, but something like one. A list is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.ops = deque()


# What is a view.


@op_log.mistake(breaks=VIEW)
class NoMark(Looking):
    """No view is marked as one: " (view)" is missing. Below autograd a result does not know that it is a view, so that
    `_is_view()` is False there; `func.is_view` is not.
    """

    def looks_like_a_view(self, func: Any, args: Any, result: Any) -> bool:
        return isinstance(result, Tensor) and result._is_view()


@op_log.variant(NoMark)
class _(Steps):
    def is_view(self, func: Any) -> bool:
        return False


@op_log.mistake(breaks=VIEW)
class MarkWithoutSpace(Steps):
    """The mark of a view stands there differently: it is " (view)", with a space before it."""

    mark = "(view)"


@op_log.mistake(breaks=VIEW)
class ViewsByName(Steps):
    """Of the views only those with "view" in their name are marked. `t`, `slice` and `expand` are views as well."""

    def is_view(self, func: Any) -> bool:
        return "view" in str(func)


def _memories(value: Any) -> set[int]:
    return {each.untyped_storage()._cdata for each in tree_leaves(value) if isinstance(each, Tensor)}


@op_log.mistake(breaks=VIEW)
class SharedMemory(Looking):
    """What edits its argument in place, or gives its memory back in another way, is marked as a view. Perhaps the memory of the
    result was compared with that of the arguments; `func.is_view` tells what torch says.
    """

    def looks_like_a_view(self, func: Any, args: Any, result: Any) -> bool:
        return bool(_memories(args) & _memories(result))


@op_log.mistake(breaks=VIEW)
class UnsafeViews(Steps):
    """`_unsafe_view` is marked as a view. It gives the memory of its argument, and torch does not call it a view: `func.is_view` is False."""

    def is_view(self, func: Any) -> bool:
        return func.is_view or func.overloadpacket.__name__ == "_unsafe_view"


@op_log.mistake(breaks=VIEW)
class SharedUnlessWritten(Looking):
    """`_unsafe_view` and `unsafe_split` are marked as views, and edits in place are not. Perhaps the memory of the result was compared with
    that of the arguments: here it is the same, and torch does not call it a view. `func.is_view` tells what torch says.
    """

    def looks_like_a_view(self, func: Any, args: Any, result: Any) -> bool:
        return not func._schema.is_mutable and bool(_memories(args) & _memories(result))


@op_log.variant(SharedUnlessWritten)
class _(Looking):
    def looks_like_a_view(self, func: Any, args: Any, result: Any) -> bool:
        def places(value: Any) -> set[int]:
            return {e.untyped_storage().data_ptr() for e in tree_leaves(value) if isinstance(e, Tensor)}

        return not func._schema.is_mutable and bool(places(args) & places(result))


@op_log.mistake(breaks=VIEW)
class CopiesUnmarked(Looking):
    """Under inference_mode `to` and `reshape` are not marked where they copy. Perhaps the memory of the result was compared: `func.is_view` is
    True of both, whatever they do.
    """

    def looks_like_a_view(self, func: Any, args: Any, result: Any) -> bool:
        return func.is_view and bool(_memories(args) & _memories(result))


@op_log.variant(CopiesUnmarked)
class _(Steps):
    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        place = len(self.ops)
        result = super().seen(func, args, kwargs)
        if func.is_view and tree_leaves(result) and not _memories(args) & _memories(result):
            self.ops[place] = self.name(func)
        return result


@op_log.mistake(breaks=VIEW)
class NoListsOfViews(Looking):
    """Operations that give a list of views, as `split` and `unbind`, are not marked. `func.is_view` is True of them, too."""

    def looks_like_a_view(self, func: Any, args: Any, result: Any) -> bool:
        return isinstance(result, Tensor) and func.is_view


@op_log.variant(NoListsOfViews)
class _(Looking):
    def looks_like_a_view(self, func: Any, args: Any, result: Any) -> bool:
        return isinstance(result, Tensor) and bool(_memories(args) & _memories(result))


@op_log.mistake(breaks=VIEW)
class AliasedResults(Steps):
    """What edits its argument in place is marked as a view. Perhaps the schema was asked whether a result lies in the memory of an
    argument: so it does after an edit, too.
    """

    def is_view(self, func: Any) -> bool:
        return any(each.alias_info is not None for each in func._schema.returns)


@op_log.mistake(breaks=VIEW)
class ViewsOfAList(Steps):
    """The usual views are marked, and `diagonal` is not. Perhaps a list of names was written: torch has more views than one thinks of,
    and `func.is_view` knows them.
    """

    usual = "view t transpose permute slice select expand squeeze unsqueeze as_strided".split()

    def is_view(self, func: Any) -> bool:
        return func.overloadpacket.__name__ in self.usual


# What is missing.


@op_log.mistake(breaks=ASKED)
class NoDetach(Steps):
    """Each `detach` is missing. Autograd calls it, and a mode is asked for it as for all others."""

    def note(self, func: Any, args: Any) -> None:
        if "detach" not in str(func):
            super().note(func, args)


@op_log.mistake(breaks=ASKED)
class ForwardOnly(Steps):
    """What a backward runs is missing. A mode is asked for its operations as for those of the forward."""

    def note(self, func: Any, args: Any) -> None:
        if torch._C._current_autograd_node() is None:
            super().note(func, args)


@op_log.mistake(breaks=ASKED)
class TakesApart(Steps):
    """Under inference_mode the parts of `linear` are listed, and `linear` is not. Perhaps the log takes it apart by itself: listed is what the mode is
    asked for.
    """

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"):
            with self:
                result = func.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        return super().seen(func, args, kwargs)


@op_log.mistake(breaks=ASKED)
class NoCasts(Steps):
    """The casts of autocast are missing: each `_to_copy`. A mode is asked for them as for all other operations."""

    def note(self, func: Any, args: Any) -> None:
        if "_to_copy" not in str(func):
            super().note(func, args)


@op_log.mistake(breaks=RAISES)
class ListedWhenItIsDone(Steps):
    """An operation that raises is missing. Perhaps its name is noted when it has run: then one that raises never comes to it."""

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        self.note(func, args)
        return result


@op_log.mistake(breaks=RAISES)
class RaisedIsMarked(Steps):
    """An operation that raises stands there by more than its name. Listed it is as all others are."""

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.note(func, args)
        try:
            return func(*args, **kwargs)
        except Exception:
            self.ops[-1] += " (raised)"
            raise
