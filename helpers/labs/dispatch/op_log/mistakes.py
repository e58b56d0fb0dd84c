"""What people write for 12.op_log, and why it is wrong."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map_only

from helpers.labs.dispatch.op_log.exercise import (
    AFTER,
    ASKED,
    KEPT,
    LISTS,
    NESTED,
    RAISES,
    SAME,
    SEVERAL,
    TWO,
    op_log,
)
from helpers.labs.dispatch.op_log.right import Looking, Mode, Steps

FULL = 'each by its full name, as `str(func)` gives it ("aten.addmm.default")'
ORDER = "`ops` is a list of str, in the order in which the operations run"
VIEW = 'with " (view)" behind it if torch says that its result is a view (`func.is_view`).'
ENDS = "After the block nothing more is listed"
ALSO_BY_AN_ERROR = "After the block nothing more is listed, also if it ended by an error"


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
class NoListsOfViews(Looking):
    """Operations that give a list of views, as `split` and `unbind`, are not marked. `func.is_view` is True of them, too."""

    def looks_like_a_view(self, func: Any, args: Any, result: Any) -> bool:
        return isinstance(result, Tensor) and func.is_view


@op_log.variant(NoListsOfViews)
class _(Looking):
    def looks_like_a_view(self, func: Any, args: Any, result: Any) -> bool:
        return isinstance(result, Tensor) and bool(_memories(args) & _memories(result))


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


# What becomes of the operation.


@op_log.mistake(breaks=SAME)
class NamedArgumentsLost(Steps):
    """Arguments that an operation gets by name, such as alpha and dtype, do not reach it: `kwargs` has to be handed on."""

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.note(func, args)
        return func(*args)


@op_log.mistake(breaks=SAME)
class ResultLost(Steps):
    """Operations give None in the block. Whoever is called in place of an operation has to return its result."""

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        super().seen(func, args, kwargs)


@op_log.mistake(breaks=SAME)
class RunsTwice(Steps):
    """In the block an edit in place is made twice. Perhaps the operation is called twice, once to look at its result."""

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.note(func, args)
        func(*args, **kwargs)
        return func(*args, **kwargs)


@op_log.mistake(breaks=SAME)
class CopiesComeBack(Steps):
    """What an operation gives in the block is a copy: a row of x is no view of x, and what is written to it does not reach x. The
    result is returned as it is.
    """

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        return tree_map_only(Tensor, torch.clone, super().seen(func, args, kwargs))


@op_log.mistake(breaks=SAME)
class ErrorsRenamed(Steps):
    """The error of an operation comes out as a different one. It goes on as it is if nobody catches it."""

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        try:
            return super().seen(func, args, kwargs)
        except Exception as error:
            raise RuntimeError(f"{func} failed: {error}") from error


# Where a block ends.


@op_log.mistake(breaks=ENDS)
class NeverEnds(Steps):
    """What runs behind the block is listed, too. What `__enter__` entered, `__exit__` has to leave."""

    def __exit__(self, *error: Any) -> None:
        pass


@op_log.mistake(breaks=AFTER)
class SwallowsErrors(Steps):
    """An error does not come out of the block. What `__exit__` returns says whether the error ends there: it must not be true."""

    def __exit__(self, *error: Any) -> bool:
        super().__exit__(*error)
        return True


@op_log.mistake(breaks=ALSO_BY_AN_ERROR)
class GoesOnAfterAnError(Steps):
    """After a block that an error ended, operations are still listed. `__exit__` has to leave the mode in this case, too."""

    def __exit__(self, *error: Any) -> None:
        if error[0] is None:
            super().__exit__(*error)


@op_log.variant(GoesOnAfterAnError)
class _(Steps):
    def __exit__(self, *error: Any) -> None:
        if error[1] is not None:
            raise error[1]
        super().__exit__(*error)


# More than one block.


@op_log.mistake(breaks=TWO)
class OneListForAll(Steps):
    """A new log has the list of an earlier one: both are the same list. Perhaps it belongs to the class, or is a default argument."""

    all_ops: ClassVar[list[str]] = []

    def __init__(self) -> None:
        super().__init__()
        self.ops = self.all_ops


@op_log.mistake(breaks=SEVERAL)
class EachBlockAnew(Steps):
    """In its second block a log forgets the first. Perhaps `__enter__` makes a new list: it belongs into `__init__`."""

    def __enter__(self) -> Any:
        self.ops = []
        return super().__enter__()


@op_log.mistake(breaks=SEVERAL)
class OneBlockOnly(Steps):
    """In the second block of a log nothing is listed. Perhaps something that says that the block has ended is never taken back."""

    closed = False

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.closed = True

    def note(self, func: Any, args: Any) -> None:
        if not self.closed:
            super().note(func, args)


@op_log.mistake(breaks=NESTED)
class InnerHides(Steps):
    """What runs in the block of the inner log is missing in the outer one. The operation has to go on through all modes that
    stand around this one.
    """

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.note(func, args)
        with _disable_current_modes():
            return func(*args, **kwargs)


@op_log.mistake(breaks=NESTED)
class TwiceInTheOuter(Steps):
    """What runs in the block of the inner log stands twice in the outer one. It sees these operations by itself, so that the
    inner one need not hand them on.
    """

    open: ClassVar[list[Any]] = []

    def __enter__(self) -> Any:
        self.start = len(self.ops)
        self.open.append(self)
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.open.remove(self)
        for outer in self.open:
            outer.ops.extend(self.ops[self.start :])


@op_log.mistake(breaks=NESTED)
class WorksInTheBlock(Steps):
    """The outer log lists operations that do not run in its block without the inner one. Perhaps the inner log itself calls some
    on what it sees: they run in the block of the outer one.
    """

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        return tree_map_only(Tensor, torch.Tensor.detach, super().seen(func, args, kwargs))


class _Newest(Mode):
    open: ClassVar[list[Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.open[-1].note(func, args)
        return func(*args, **(kwargs or {}))


@op_log.mistake(breaks=NESTED)
class NewestGetsAll(Steps):
    """In a block within a block the outer log misses what runs, and the inner one has it more than once. Perhaps each mode notes
    for the log that was begun last, and not for its own.
    """

    def mode(self) -> Any:
        return _Newest(self)

    def __enter__(self) -> Any:
        _Newest.open.append(self)
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        _Newest.open.remove(self)


@op_log.mistake(breaks=SAME)
class HidesFromOthers(Steps):
    """A mode that is no log, around the block or in it, does not see what runs there. The log hands an operation on to all modes,
    when it calls it as if nothing stood around it.
    """

    open: ClassVar[list[Any]] = []

    def __enter__(self) -> Any:
        self.open.append(self)
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.open.remove(self)

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        for log in self.open:
            log.note(func, args)
        with _disable_current_modes():
            return func(*args, **kwargs)


@op_log.mistake(breaks=TWO)
class OneModeForAll(Steps):
    """Two logs in two threads disturb each other. Perhaps all logs share a mode, or a list of those that are open: a block of the one
    need not begin or end where that of the other does.
    """

    open: ClassVar[list[Any]] = []
    shared: ClassVar[list[Any]] = []

    def __enter__(self) -> Any:
        self.open.append(self)
        if len(self.open) == 1:
            self.shared.append(self.mode())
            self.shared[0].__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.open.remove(self)
        if not self.open:
            self.shared.pop().__exit__(*error)

    def note(self, func: Any, args: Any) -> None:
        for log in self.open:
            Steps.note(log, func, args)


# What is kept.


@op_log.mistake(breaks=KEPT)
class KeepsArguments(Steps):
    """Tensors that were made in the block stay alive behind it. Perhaps the log keeps arguments or results; it needs the names alone."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Any] = []

    def note(self, func: Any, args: Any) -> None:
        super().note(func, args)
        self.calls.append((func, args))


@op_log.variant(KeepsArguments)
class _(Steps):
    def __init__(self) -> None:
        super().__init__()
        self.results: list[Any] = []

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.results.append(super().seen(func, args, kwargs))
        return self.results[-1]


@op_log.mistake(breaks=KEPT)
class KeepsTheLast(Steps):
    """The tensors of the last operation stay alive until the next one runs. Perhaps the log keeps the arguments or the result of
    one call.
    """

    last: Any = None

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.last = super().seen(func, args, kwargs)
        return self.last


@op_log.variant(KeepsTheLast)
class _(Steps):
    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.last = args
        return super().seen(func, args, kwargs)


@op_log.mistake(breaks=KEPT)
class KeepsTheError(Steps):
    """After a block that an error ended, tensors stay alive. Perhaps the log keeps the error: its traceback holds all that the
    functions had when it came.
    """

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.error = error


@op_log.mistake(breaks=KEPT)
class KeptByACycle(Steps):
    """Tensors of an operation that raised stay alive until the garbage collector runs. Perhaps the error was put under a name: its
    traceback holds the frame, and the frame the error.
    """

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.note(func, args)
        failed = None
        try:
            return func(*args, **kwargs)
        except Exception as error:
            failed = error
        raise failed
