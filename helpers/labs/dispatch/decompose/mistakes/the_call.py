"""What people write for 12.decompose, and why it is wrong: what it hands on and leaves behind, and which table."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack
from torch.utils._pytree import tree_map_only

from helpers.labs.dispatch.decompose.exercise import (
    ANEW,
    IN_PLACE,
    OTHERS,
    OUTSIDE,
    RETURNS,
    decompose,
)
from helpers.labs.dispatch.decompose.mistakes.replacing import bank
from helpers.labs.dispatch.decompose.right import Function, Replace
from helpers.labs.dispatch.decompose.right import decompose as right

# What it hands on.


@bank.mistake(breaks=IN_PLACE)
class KeywordsLostForFunctions(Replace):
    """A function of the table did not get the arguments by keyword, `alpha` for example."""

    def replaced(self, func: Any, function: Function, args: Any, kwargs: Any) -> Any:
        return super().replaced(func, function, args, {})


@bank.mistake(breaks=IN_PLACE)
class PlacesByName(Replace):
    """A function of the table got an argument by keyword that the operation gets by place. Perhaps it was called by the names in
    `func._schema`: the function has the same arguments, and its own names for them.
    """

    def replaced(self, func: Any, function: Function, args: Any, kwargs: Any) -> Any:
        named = {each.name: value for each, value in zip(func._schema.arguments, args, strict=False)}
        return super().replaced(func, function, (), {**named, **kwargs})


@bank.mistake(breaks=OTHERS)
class KeywordsLostForOthers(Replace):
    """An operation that is not in the table did not get its arguments by keyword, a dtype for example."""

    def as_it_is(self, func: Any, args: Any, kwargs: Any) -> Any:
        return func(*args)


@bank.mistake(breaks=IN_PLACE)
class GivenCopies(Replace):
    """A function of the table got copies of the tensors. One that edits its argument then edits a copy, and copies are operations
    of their own.
    """

    def replaced(self, func: Any, function: Function, args: Any, kwargs: Any) -> Any:
        args, kwargs = tree_map_only(Tensor, lambda t: t.clone(), (args, kwargs))
        return super().replaced(func, function, args, kwargs)


@bank.mistake(breaks=OTHERS)
class MadeContiguous(Replace):
    """Calls of `contiguous` ran that are not in `fn`. A function of the table gets the very arguments of the operation, also a tensor
    that is not contiguous.
    """

    def replaced(self, func: Any, function: Function, args: Any, kwargs: Any) -> Any:
        with self:
            args, kwargs = tree_map_only(Tensor, lambda t: t.contiguous(), (args, kwargs))
            return function(*args, **kwargs)


@bank.variant(MadeContiguous)
class MadeContiguousOutside(Replace):
    def replaced(self, func: Any, function: Function, args: Any, kwargs: Any) -> Any:
        args, kwargs = tree_map_only(Tensor, lambda t: t.contiguous(), (args, kwargs))
        return super().replaced(func, function, args, kwargs)


@bank.mistake(breaks=IN_PLACE)
class CopiedIfNotContiguous(Replace):
    """A `clone` ran that is not in `fn`, of one tensor that a function of the table got, and not of the others. Perhaps those that are
    not contiguous were copied: the function gets the very arguments of the operation.
    """

    def replaced(self, func: Any, function: Function, args: Any, kwargs: Any) -> Any:
        def copied(t: Tensor) -> Tensor:
            return t if t.is_contiguous() else t.clone(memory_format=torch.contiguous_format)

        args, kwargs = tree_map_only(Tensor, copied, (args, kwargs))
        return super().replaced(func, function, args, kwargs)


class _GivesBack(Replace):
    """What comes back is not what an operation returns where it writes."""

    def as_it_is(self, func: Any, args: Any, kwargs: Any) -> Any:
        return self.back(func, args, kwargs, super().as_it_is(func, args, kwargs))

    def back(self, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        return args[0] if func._schema.is_mutable and len(func._schema.returns) == 1 else result


@bank.mistake(breaks=OTHERS)
class FirstArgumentBack(_GivesBack):
    """An operation that is not in the table, writes to an argument and gives something new, gave its first argument. Perhaps what writes was
    taken to return that, as `add_` does. What the operation returns is its result.
    """


@bank.variant(FirstArgumentBack)
class FirstTensorBack(_GivesBack):
    def back(self, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        return args[0] if func._schema.is_mutable and isinstance(result, Tensor) else result


@bank.variant(FirstArgumentBack)
class FirstIfWrittenBack(_GivesBack):
    def back(self, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        first, one = func._schema.arguments[:1], isinstance(result, Tensor)
        return args[0] if one and first and first[0].is_write else result


@bank.mistake(breaks=OTHERS)
class WrittenBack(_GivesBack):
    """An operation that is not in the table, writes to an argument and gives something new, gave this argument. Perhaps what the schema says
    is written was taken for what is returned. What the operation returns is its result.
    """

    def back(self, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        by_name = dict(zip((each.name for each in func._schema.arguments), args, strict=False)) | kwargs
        written = [by_name.get(each.name) for each in func._schema.arguments if each.is_write]
        return written[0] if written and isinstance(result, Tensor) else result


@bank.mistake(breaks=OTHERS)
class ListsBack(_GivesBack):
    """An operation with a list that it takes or writes to raised in the call, and it is not in the table. Perhaps this list came back: `cat` with
    `out=` gives that, and `_foreach_add_` gives nothing. What the operation returns is its result.
    """

    def back(self, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        return args[0] if func._schema.name.endswith("_") else result


@bank.variant(ListsBack)
class OutBack(_GivesBack):
    def back(self, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        return kwargs.get("out", result)


@bank.variant(ListsBack)
class FirstBackForOut(_GivesBack):
    def back(self, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        return args[0] if "out" in kwargs else result


@bank.mistake(breaks=IN_PLACE)
class FirstBackFromFunctions(Replace):
    """A function of the table gave something new for an operation that writes to an argument, and the first argument came back. Perhaps what
    writes was taken to return that, as `add_` does. What the function of the table returns is the result.
    """

    def replaced(self, func: Any, function: Function, args: Any, kwargs: Any) -> Any:
        result = super().replaced(func, function, args, kwargs)
        return args[0] if func._schema.is_mutable and isinstance(result, Tensor) else result


@bank.mistake(breaks=IN_PLACE)
class NoneFallsBack(Replace):
    """A function of the table returned None, and the operation itself ran as well. Perhaps None is taken for "not in the table": some
    operations return nothing else.
    """

    def replaced(self, func: Any, function: Function, args: Any, kwargs: Any) -> Any:
        result = super().replaced(func, function, args, kwargs)
        return func(*args, **kwargs) if result is None else result


@bank.mistake(breaks=IN_PLACE)
class NothingFallsBack(Replace):
    """A function of the table returned 0, and the operation itself ran as well. Perhaps `or` stands between the two, and 0 counts as
    false.
    """

    def replaced(self, func: Any, function: Function, args: Any, kwargs: Any) -> Any:
        result = super().replaced(func, function, args, kwargs)
        return func(*args, **kwargs) if isinstance(result, int | float) and not result else result


@decompose.mistake(breaks=RETURNS)
def named_in_the_way(fn: Function, table: dict[Any, Function]) -> Function:
    """An argument by keyword named `fn` did not get through. Perhaps functools.partial made the function, and its own arguments have
    names: the caller may use any name.
    """

    def called(fn: Function, table: dict[Any, Function], *args: Any, **kwargs: Any) -> Any:
        with Replace(table):
            return fn(*args, **kwargs)

    return partial(called, fn, table)


@decompose.mistake(breaks=RETURNS)
def needs_a_name(fn: Function, table: dict[Any, Function]) -> Function:
    """`fn` is a module, and decompose failed. Perhaps it asks for `fn.__name__`: functions have it, and not all that can be called."""
    decomposed = partial(right(fn, table))
    decomposed.__name__ = fn.__name__  # type: ignore[attr-defined]
    return decomposed


@decompose.mistake(breaks="A function that does what `fn` does")
def forward_of_modules(fn: Function, table: dict[Any, Function]) -> Function:
    """`fn` is a module with a hook, and the hook did not run. Perhaps its `forward` was called, and not the module."""
    return right(fn.forward if isinstance(fn, torch.nn.Module) else fn, table)


@decompose.mistake(breaks=RETURNS)
def containers_rebuilt(fn: Function, table: dict[Any, Function]) -> Function:
    """`fn` got copies of the lists or dicts that the call was given: what it appends to one, the caller does not see."""

    def decomposed(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree_map_only(Tensor, lambda t: t, (args, kwargs))
        return right(fn, table)(*args, **kwargs)

    return decomposed


@decompose.mistake(breaks=RETURNS)
def by_place_only(fn: Function, table: dict[Any, Function]) -> Function:
    """The function takes no arguments by keyword. `fn` may be called with any: `*args, **kwargs`."""

    def decomposed(*args: Any) -> Any:
        with Replace(table):
            return fn(*args)

    return decomposed


@decompose.mistake(breaks=RETURNS)
def nothing_returned(fn: Function, table: dict[Any, Function]) -> Function:
    """What `fn` returned did not come back: the result is None. Perhaps a `return` is missing."""

    def decomposed(*args: Any, **kwargs: Any) -> Any:
        right(fn, table)(*args, **kwargs)

    return decomposed


@decompose.mistake(breaks=RETURNS)
def result_rebuilt(fn: Function, table: dict[Any, Function]) -> Function:
    """The result is not the very object that `fn` returned. Perhaps it was put together again, tensor by tensor."""

    def decomposed(*args: Any, **kwargs: Any) -> Any:
        return tree_map_only(Tensor, lambda t: t, right(fn, table)(*args, **kwargs))

    return decomposed


@decompose.mistake(breaks=RETURNS)
def without_gradients(fn: Function, table: dict[Any, Function]) -> Function:
    """The result has no graph: nothing was recorded in the call. Perhaps it runs under no_grad. What is replaced lies below autograd, and
    disturbs no graph.
    """
    return torch.no_grad()(right(fn, table))


@decompose.mistake(breaks=RETURNS)
def always_records(fn: Function, table: dict[Any, Function]) -> Function:
    """A call under no_grad gave a result that requires grad. Perhaps recording is switched on in it: whether autograd records is up
    to the caller and to `fn`.
    """
    return torch.enable_grad()(right(fn, table))


# What it leaves behind.


@decompose.mistake(breaks=OUTSIDE)
def on_for_good(fn: Function, table: dict[Any, Function]) -> Function:
    """decompose turned its mode on, and it was still on when it returned. The mode belongs into the call."""
    Replace(table).__enter__()
    return fn


@decompose.mistake(breaks=OUTSIDE)
def on_after_the_call(fn: Function, table: dict[Any, Function]) -> Function:
    """After a call the mode was still on. Perhaps the line that ends it is missing."""

    def decomposed(*args: Any, **kwargs: Any) -> Any:
        Replace(table).__enter__()
        return fn(*args, **kwargs)

    return decomposed


@decompose.mistake(breaks=OUTSIDE)
def on_after_an_error(fn: Function, table: dict[Any, Function]) -> Function:
    """A call raised, and operations were replaced after it. Perhaps the line that ends the mode did not run: it belongs into a `with` or
    a `finally`.
    """

    def decomposed(*args: Any, **kwargs: Any) -> Any:
        mode = Replace(table)
        mode.__enter__()
        result = fn(*args, **kwargs)
        mode.__exit__(None, None, None)
        return result

    return decomposed


@decompose.mistake(breaks=RETURNS)
def errors_kept(fn: Function, table: dict[Any, Function]) -> Function:
    """`fn` raised, and no error came out. Perhaps an `except` or `__exit__` keeps it."""

    def decomposed(*args: Any, **kwargs: Any) -> Any:
        with contextlib.suppress(Exception):
            return right(fn, table)(*args, **kwargs)

    return decomposed


@decompose.mistake(breaks=RETURNS)
def errors_renamed(fn: Function, table: dict[Any, Function]) -> Function:
    """`fn` raised, and a different error came out: perhaps one of the same class. Who calls the function waits for the one that `fn` raises."""

    def decomposed(*args: Any, **kwargs: Any) -> Any:
        try:
            return right(fn, table)(*args, **kwargs)
        except Exception as error:
            raise RuntimeError(f"in a decomposed function: {error}") from error

    return decomposed


@decompose.variant(errors_renamed)
def _(fn: Function, table: dict[Any, Function]) -> Function:
    def decomposed(*args: Any, **kwargs: Any) -> Any:
        try:
            return right(fn, table)(*args, **kwargs)
        except Exception as error:
            raise type(error)(*error.args) from None

    return decomposed


@bank.mistake(breaks=RETURNS)
class RenamedInFunctions(Replace):
    """A function of the table raised, and a different error came out, though one of `fn` comes out as it is. Who calls the function
    waits for the one that was raised.
    """

    def replaced(self, func: Any, function: Function, args: Any, kwargs: Any) -> Any:
        try:
            return super().replaced(func, function, args, kwargs)
        except Exception as error:
            raise RuntimeError(f"in {func}: {error}") from error


@decompose.mistake(breaks=RETURNS)
def in_a_generator(fn: Function, table: dict[Any, Function]) -> Function:
    """`fn` raised a StopIteration, and a RuntimeError came out. Perhaps `fn` runs in a generator, where Python turns the one into
    the other.
    """

    def steps(args: Any, kwargs: Any) -> Any:
        with Replace(table):
            yield fn(*args, **kwargs)

    return lambda *args, **kwargs: next(steps(args, kwargs))


@bank.mistake(breaks=IN_PLACE)
class BusyForGood(Replace):
    """A function of the table raised, `fn` went on, and its operation was not replaced again. Perhaps a note that the function runs
    was not taken back: that belongs into a `finally`.
    """

    def __init__(self, table: dict[Any, Function]) -> None:
        super().__init__(table)
        self.busy: set[Any] = set()

    def found(self, func: Any) -> Function | None:
        return None if func in self.busy else super().found(func)

    def replaced(self, func: Any, function: Function, args: Any, kwargs: Any) -> Any:
        self.busy.add(func)
        result = super().replaced(func, function, args, kwargs)
        self.busy.discard(func)
        return result


@decompose.mistake(breaks=IN_PLACE)
def off_after_an_error(fn: Function, table: dict[Any, Function]) -> Function:
    """A function of the table raised, and in the next call its operation was not replaced. Perhaps a note that the function runs was not
    taken back, and serves all calls: that belongs into a `finally`.
    """

    class Noting(Replace):
        busy = False

        def found(self, func: Any) -> Function | None:
            return None if self.busy else super().found(func)

        def replaced(self, func: Any, function: Function, args: Any, kwargs: Any) -> Any:
            self.busy = True
            with Replace(table):
                result = function(*args, **kwargs)
            self.busy = False
            return result

    mode = Noting(table)

    def decomposed(*args: Any, **kwargs: Any) -> Any:
        with mode:
            return fn(*args, **kwargs)

    return decomposed


@bank.mistake(breaks=RETURNS)
class FallsBack(Replace):
    """A function of the table raised, and no error came out, though one of `fn` does. Perhaps the operation itself runs where the
    function raises.
    """

    def replaced(self, func: Any, function: Function, args: Any, kwargs: Any) -> Any:
        try:
            return super().replaced(func, function, args, kwargs)
        except Exception:
            return func(*args, **kwargs)


@bank.variant(FallsBack)
class FallsBackWhereNotMade(Replace):
    def replaced(self, func: Any, function: Function, args: Any, kwargs: Any) -> Any:
        try:
            return super().replaced(func, function, args, kwargs)
        except (NotImplementedError, RuntimeError, ValueError, TypeError):
            return func(*args, **kwargs)


@decompose.variant(FallsBack)
def _(fn: Function, table: dict[Any, Function]) -> Function:
    def decomposed(*args: Any, **kwargs: Any) -> Any:
        try:
            return right(fn, table)(*args, **kwargs)
        except NotImplementedError:
            return fn(*args, **kwargs)

    return decomposed


@bank.mistake(breaks=RETURNS)
class MissingInTheTable(Replace):
    """A function of the table raised a KeyError, and no error came out. Perhaps the look into the table and the call of what is found
    there stand in one `try`, and the KeyError is taken for "not in the table".
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            return self.replaced(func, self.table[func], args, kwargs or {})
        except KeyError:
            return self.as_it_is(func, args, kwargs or {})


# Which table.


@decompose.mistake(breaks=ANEW)
def copied_at_once(fn: Function, table: dict[Any, Function]) -> Function:
    """The table changed after decompose had returned, and the first call went by what was in it before. Perhaps it was copied, or
    asked once whether it is empty.
    """
    return right(fn, dict(table))


@decompose.variant(copied_at_once)
def _(fn: Function, table: dict[Any, Function]) -> Function:
    return right(fn, table) if table else fn


@decompose.mistake(breaks=ANEW)
def copied_at_the_first_call(fn: Function, table: dict[Any, Function]) -> Function:
    """The table changed between two calls, and the second went by what was in it at the first. Perhaps it was kept from there."""
    kept: dict[Any, Function] = {}
    called = []

    def decomposed(*args: Any, **kwargs: Any) -> Any:
        if not called:
            called.append(1)
            kept.update(table)
        return right(fn, kept)(*args, **kwargs)

    return decomposed


class _OneTable(Replace):
    """Looks into the table that was set last."""

    now: dict[Any, Function]

    def found(self, func: Any) -> Function | None:
        return _OneTable.now.get(func)


@decompose.mistake(breaks=IN_PLACE)
def the_last_table(fn: Function, table: dict[Any, Function]) -> Function:
    """Where one decomposed function calls a different one, the table of the outer one did not count any more. Perhaps the table
    stands in the module or in a class, where the inner one puts its own.
    """

    def decomposed(*args: Any, **kwargs: Any) -> Any:
        _OneTable.now = table
        with _OneTable(table):
            return fn(*args, **kwargs)

    return decomposed


@decompose.mistake(breaks=IN_PLACE)
def outermost_only(fn: Function, table: dict[Any, Function]) -> Function:
    """A decomposed function that a different one calls replaced nothing. Perhaps it looks whether a mode is on already."""

    def decomposed(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(mode, Replace) for mode in _get_current_dispatch_mode_stack()):
            return fn(*args, **kwargs)
        return right(fn, table)(*args, **kwargs)

    return decomposed


@decompose.mistake(breaks=IN_PLACE)
def emptied_at_the_end(fn: Function, table: dict[Any, Function]) -> Function:
    """In a function that calls itself, nothing was replaced any more once the inner call had ended. Perhaps all calls share one mode, and
    the end of a call takes the table out of it, or switches it off: the outer call still goes on.
    """
    mode = Replace({})

    def decomposed(*args: Any, **kwargs: Any) -> Any:
        mode.table = table
        try:
            with mode:
                return fn(*args, **kwargs)
        finally:
            mode.table = {}

    return decomposed
