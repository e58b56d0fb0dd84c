"""What people write for 12.decompose, and why it is wrong."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch._decomp import core_aten_decompositions, decomposition_table
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes, _get_current_dispatch_mode_stack
from torch.utils._pytree import tree_map_only

from helpers.labs.dispatch.decompose.exercise import (
    ANEW,
    CHAINS,
    IN_PLACE,
    OTHERS,
    OUTSIDE,
    RETURNS,
    decompose,
)
from helpers.labs.dispatch.decompose.right import Function, Replace
from helpers.labs.dispatch.decompose.right import decompose as right


def by_mode(mode: type[Replace]) -> Function:
    return partial(right, mode=mode)


aten = torch.ops.aten
bank = decompose.bank(by_mode)

# Where it replaces.


@decompose.mistake(breaks=IN_PLACE)
def nothing_replaced(fn: Function, table: dict[Any, Function]) -> Function:
    """No function of the table ran. Perhaps the operations were looked for among the functions of torch: a call of F.linear becomes
    aten.addmm.default further down, where a TorchDispatchMode sees it.
    """

    class Functions(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return table.get(func, func)(*args, **(kwargs or {}))

    def decomposed(*args: Any, **kwargs: Any) -> Any:
        with Functions():
            return fn(*args, **kwargs)

    return decomposed


@decompose.variant(nothing_replaced)
def _(fn: Function, table: dict[Any, Function]) -> Function:
    return fn


@bank.mistake(breaks=IN_PLACE)
class ForwardOnly(Replace):
    """In a backward nothing was replaced. It runs operations like any others, below the same mode."""

    def found(self, func: Any) -> Function | None:
        return self.table.get(func) if torch._C._current_graph_task_id() == -1 else None


@bank.mistake(breaks=OTHERS)
class SeesItsOwnCalls(Replace):
    """It went on without an end. Perhaps `with self:` stands around operations that are not in the table, too: then each of them comes
    back to the mode.
    """

    def as_it_is(self, func: Any, args: Any, kwargs: Any) -> Any:
        with self:
            return func(*args, **kwargs)


@bank.mistake(breaks=IN_PLACE)
class OnceEach(Replace):
    """An operation of the table was replaced where it ran first, and not where it ran again."""

    def __init__(self, table: dict[Any, Function]) -> None:
        super().__init__(table)
        self.seen: set[Any] = set()

    def found(self, func: Any) -> Function | None:
        return None if func in self.seen else super().found(func)

    def replaced(self, func: Any, function: Function, args: Any, kwargs: Any) -> Any:
        self.seen.add(func)
        return super().replaced(func, function, args, kwargs)


@bank.mistake(breaks=CHAINS)
class NotInFunctions(Replace):
    """A function of the table ran an operation of the table, and that one was not replaced. While `__torch_dispatch__` runs, its own mode
    is off: enter it again around the function.
    """

    def replaced(self, func: Any, function: Function, args: Any, kwargs: Any) -> Any:
        return function(*args, **kwargs)


@bank.mistake(breaks=CHAINS)
class OnceMore(Replace):
    """What a table's function runs was replaced, and what that one's function runs was not. A chain can have any length."""

    deep = False

    def replaced(self, func: Any, function: Function, args: Any, kwargs: Any) -> Any:
        if self.deep:
            return function(*args, **kwargs)
        self.deep = True
        try:
            with self:
                return function(*args, **kwargs)
        finally:
            self.deep = False


@bank.mistake(breaks=CHAINS)
class LaterOnly(Replace):
    """What a table's function runs was replaced with the table in one order, and not in the other. The order does not matter."""

    def replaced(self, func: Any, function: Function, args: Any, kwargs: Any) -> Any:
        names = list(self.table)
        rest = {name: self.table[name] for name in names[names.index(func) + 1 :]}
        with type(self)(rest):
            return function(*args, **kwargs)


@bank.mistake(breaks=OTHERS)
class AnyOverload(Replace):
    """An operation was replaced of which the table has a different overload: sum.dim_IntList for sum.default, say. Perhaps names were compared without
    the part behind the dot.
    """

    def found(self, func: Any) -> Function | None:
        if func in self.table:
            return self.table[func]
        by_name = {each.overloadpacket: function for each, function in self.table.items()}
        return by_name.get(func.overloadpacket)


@bank.mistake(breaks=IN_PLACE)
class OfTensorsOnly(Replace):
    """An operation of the table that gets no tensor was not replaced: `torch.ones` is one, too."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not any(isinstance(each, Tensor) for each in torch.utils._pytree.tree_leaves((args, kwargs))):
            return func(*args, **(kwargs or {}))
        return super().__torch_dispatch__(func, types, args, kwargs)


@bank.mistake(breaks=OTHERS)
class BothRun(Replace):
    """An operation of the table ran as well. Perhaps it is called first in any case, and its result is thrown away."""

    def replaced(self, func: Any, function: Function, args: Any, kwargs: Any) -> Any:
        func(*args, **kwargs)
        return super().replaced(func, function, args, kwargs)


class _NotAgain(Replace):
    """What a function of the table runs is not replaced."""

    def replaced(self, func: Any, function: Function, args: Any, kwargs: Any) -> Any:
        return function(*args, **kwargs)


@bank.mistake(breaks=OTHERS)
class OthersTakenApart(Replace):
    """Operations that are not in the table did not run as they are: others ran in their place. Perhaps torch's own table of
    decompositions was used.
    """

    def as_it_is(self, func: Any, args: Any, kwargs: Any) -> Any:
        return decomposition_table.get(func, func)(*args, **kwargs)


@decompose.variant(OthersTakenApart)
def _(fn: Function, table: dict[Any, Function]) -> Function:
    return partial(right, mode=_NotAgain)(fn, {**decomposition_table, **table})


@decompose.variant(OthersTakenApart)
def _(fn: Function, table: dict[Any, Function]) -> Function:
    return right(fn, {**decomposition_table, **table})


@decompose.variant(OthersTakenApart)
def _(fn: Function, table: dict[Any, Function]) -> Function:
    return right(fn, {**core_aten_decompositions(), **table})


@decompose.mistake(breaks=OTHERS)
def traced(fn: Function, table: dict[Any, Function]) -> Function:
    """More ran in the call than `fn` has: operations of the table, too, and some that make memory. Perhaps make_fx traced `fn`: it runs
    it once as it is, and the graph that it gives runs after that.
    """

    def decomposed(*args: Any, **kwargs: Any) -> Any:
        return make_fx(lambda *each: fn(*each, **kwargs), decomposition_table=table)(*args)(*args)

    return decomposed


@bank.mistake(breaks=OTHERS)
class OpenedUp(Replace):
    """In a backward, an operation that is not in the table did not run as it is: others ran in its place. Perhaps `func.decompose()` took it apart, which it
    does with silu_backward, for example.
    """

    def as_it_is(self, func: Any, args: Any, kwargs: Any) -> Any:
        with self:
            result = func.decompose(*args, **kwargs)
        return func(*args, **kwargs) if result is NotImplemented else result


@bank.mistake(breaks=IN_PLACE)
class NotInPlace(Replace):
    """An operation of the table that edits a tensor was not replaced. The function of the table gets this tensor, and can edit it, too."""

    def found(self, func: Any) -> Function | None:
        return None if func._schema.is_mutable else super().found(func)


@bank.mistake(breaks=IN_PLACE)
class NotViews(Replace):
    """An operation of the table whose result is a view was not replaced: `aten.t`, which F.linear runs, is one, too."""

    def found(self, func: Any) -> Function | None:
        return None if func.is_view else super().found(func)


@bank.mistake(breaks=IN_PLACE)
class NotDetach(Replace):
    """`aten.detach` is in the table, and was not replaced. It is an operation like any other."""

    def found(self, func: Any) -> Function | None:
        return None if func is aten.detach.default else super().found(func)


@bank.mistake(breaks=IN_PLACE)
class NotOut(Replace):
    """An operation of the table that writes to a tensor given as `out` was not replaced. The function of the table gets `out`, too."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if "out" in (kwargs or {}):
            return self.as_it_is(func, args, kwargs)
        return super().__torch_dispatch__(func, types, args, kwargs)


@bank.mistake(breaks=OTHERS)
class HiddenFromOthers(Replace):
    """A mode outside saw less than what ran. Perhaps all modes were put aside while a function of the table ran: put on your own
    again, and leave the others.
    """

    def replaced(self, func: Any, function: Function, args: Any, kwargs: Any) -> Any:
        with _disable_current_modes(), self:
            return function(*args, **kwargs)


# What it hands on.


@bank.mistake(breaks=IN_PLACE)
class KeywordsLostForFunctions(Replace):
    """A function of the table did not get the arguments by keyword, `alpha` for example."""

    def replaced(self, func: Any, function: Function, args: Any, kwargs: Any) -> Any:
        return super().replaced(func, function, args, {})


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
    """`fn` raised, and a different error came out. Who calls the function waits for the one that `fn` raises."""

    def decomposed(*args: Any, **kwargs: Any) -> Any:
        try:
            return right(fn, table)(*args, **kwargs)
        except Exception as error:
            raise RuntimeError(f"in a decomposed function: {error}") from error

    return decomposed


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


# Which table.


@decompose.mistake(breaks=ANEW)
def copied_at_once(fn: Function, table: dict[Any, Function]) -> Function:
    """The table changed after decompose had returned, and the first call went by what was in it before. Perhaps it was copied."""
    return right(fn, dict(table))


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
