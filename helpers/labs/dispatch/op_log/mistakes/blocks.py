"""What becomes of an operation in 12.op_log, where a block ends, more than one block, and what is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_map_only

from helpers.labs.dispatch.op_log.exercise import (
    AFTER,
    KEPT,
    NESTED,
    SAME,
    SEVERAL,
    TWO,
    op_log,
)
from helpers.labs.dispatch.op_log.right import Mode, Steps

ENDS = "After the block nothing more is listed"
ALSO_BY_AN_ERROR = "After the block nothing more is listed, also if it ended by an error"


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


class _GivesBack(Steps):
    """What comes back is not what the operation returns where it writes."""

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        return self.back(func, args, kwargs, super().seen(func, args, kwargs))

    def back(self, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        return result


def _written(func: Any, args: Any, kwargs: Any) -> list[Any]:
    by_name = dict(zip((each.name for each in func._schema.arguments), args, strict=False)) | kwargs
    return [by_name.get(each.name) for each in func._schema.arguments if each.is_write]


@op_log.mistake(breaks=SAME)
class FirstArgumentBack(_GivesBack):
    """An operation that writes to an argument and gives something new gives its first argument in the block. Perhaps what writes was taken to
    return that, as `add_` does. What the operation returns is returned as it is.
    """

    def back(self, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        return args[0] if func._schema.is_mutable and len(func._schema.returns) == 1 else result


@op_log.variant(FirstArgumentBack)
class _(_GivesBack):
    def back(self, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        return args[0] if func._schema.is_mutable else result


@op_log.variant(FirstArgumentBack)
class _(_GivesBack):
    def back(self, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        return args[0] if func._schema.is_mutable and isinstance(result, Tensor) else result


@op_log.variant(FirstArgumentBack)
class _(_GivesBack):
    def back(self, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        return kwargs.get("out", args[0] if args else None) if func._schema.is_mutable else result


@op_log.variant(FirstArgumentBack)
class _(_GivesBack):
    def back(self, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        first, one = func._schema.arguments[:1], isinstance(result, Tensor)
        return args[0] if one and first and first[0].is_write else result


@op_log.mistake(breaks=SAME)
class WrittenBack(_GivesBack):
    """An operation that writes to an argument and gives something new gives this argument in the block: `rrelu` in training its noise. Perhaps
    what the schema says is written was taken for what is returned. What the operation returns is returned as it is.
    """

    def back(self, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        return _written(func, args, kwargs)[0] if func._schema.is_mutable else result


@op_log.variant(WrittenBack)
class _(_GivesBack):
    def back(self, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        return (
            _written(func, args, kwargs)[0] if _written(func, args, kwargs) and result is not None else result
        )


@op_log.mistake(breaks=SAME)
class ListsWrittenBack(_GivesBack):
    """An operation that writes to the tensors of a list raises in the block, and those that write to one tensor do not. Perhaps the list is
    returned for it: by its schema it gives nothing. What the operation returns is returned as it is, None, too.
    """

    def back(self, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        return args[0] if func._schema.name.endswith("_") else result


@op_log.variant(ListsWrittenBack)
class _(_GivesBack):
    def back(self, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        return kwargs.get("out", result)


@op_log.mistake(breaks=SAME)
class ErrorsRenamed(Steps):
    """The error of an operation comes out as a different one, or with a different text. It goes on as it is if nobody catches it."""

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        try:
            return super().seen(func, args, kwargs)
        except Exception as error:
            raise RuntimeError(f"{func} failed: {error}") from error


@op_log.variant(ErrorsRenamed)
class _(Steps):
    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        try:
            return super().seen(func, args, kwargs)
        except Exception as error:
            raise RuntimeError(f"{func} failed") from error


@op_log.variant(ErrorsRenamed)
class _(Steps):
    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        try:
            return super().seen(func, args, kwargs)
        except Exception as error:
            raise ValueError(f"{func}: {error}") from error


@op_log.mistake(breaks=SAME)
class UnderInference(Steps):
    """In the block `item` is listed in place of `_local_scalar_dense`. Perhaps operations run under inference_mode: what they make
    is then a different kind of tensor, and what is called on it comes whole.
    """

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        with torch.inference_mode():
            return super().seen(func, args, kwargs)


@op_log.mistake(breaks=SAME)
class GradientsOn(Steps):
    """In a block under no_grad gradients are recorded. Perhaps `__enter__` switches them on: what is set around the block stays set."""

    def __enter__(self) -> Any:
        self.before = torch.is_grad_enabled()
        torch.set_grad_enabled(True)
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        torch.set_grad_enabled(self.before)
        super().__exit__(*error)


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


@op_log.mistake(breaks=AFTER)
class LostByAnError(Steps):
    """What ran in a block that an error ended is missing. Perhaps the names come into the list at the end of a block, and an error skips
    this line.
    """

    def __enter__(self) -> Any:
        self.new: list[str] = []
        return super().__enter__()

    def note(self, func: Any, args: Any) -> None:
        self.new.append(self.name(func) + (self.mark if self.is_view(func) else ""))

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        if error[0] is None:
            self.ops.extend(self.new)


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


@op_log.mistake(breaks=SEVERAL)
class CanBeEnteredOnce(Steps):
    """The second block of a log raised an error. Perhaps a generator with `contextmanager` was begun in `__init__`: it serves one block."""

    def __init__(self) -> None:
        super().__init__()
        self.block = self.one_block()

    @contextmanager
    def one_block(self) -> Iterator[None]:
        with self.mode():
            yield

    def __enter__(self) -> Any:
        self.block.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        return self.block.__exit__(*error)


@op_log.mistake(breaks=NESTED)
class InnerHides(Steps):
    """What runs in the block of the inner log is missing in the outer one. Perhaps the operation is not handed on to
    the modes that stand around this one, or the log that began last is the only one that notes.
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
class ListensTooEarly(Steps):
    """The inner log lists what ran before its block. Perhaps its mode is entered in `__init__`: a block begins at `__enter__`."""

    def __init__(self) -> None:
        super().__init__()
        self.on = True
        super().__enter__()

    def __enter__(self) -> Any:
        return self if self.on else super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.on = False


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
class KeepsErrorsOfOperations(Steps):
    """Tensors of an operation that raised stay alive, and no garbage collector frees them. Perhaps the log keeps the error: its traceback
    holds all that the functions had when it came.
    """

    def __init__(self) -> None:
        super().__init__()
        self.errors: list[Exception] = []

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        try:
            return super().seen(func, args, kwargs)
        except Exception as error:
            self.errors.append(error)
            raise


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
