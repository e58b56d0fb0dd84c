"""What people write for 12.decompose, and why it is wrong: what it replaces."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch._decomp import core_aten_decompositions, decomposition_table
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves

from helpers.labs.dispatch.decompose.exercise import (
    CHAINS,
    IN_PLACE,
    OTHERS,
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
class ChainsOfTwoOnly(Replace):
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
        if not any(isinstance(each, Tensor) for each in tree_leaves((args, kwargs))):
            return func(*args, **(kwargs or {}))
        return super().__torch_dispatch__(func, types, args, kwargs)


def _where_a_tensor_is(among: Callable[..., Iterable[Any]]) -> Callable[..., Function]:
    """Replaces nothing in a call of whose arguments `among(*args, **kwargs)` gives no tensor."""

    def decompose_some(fn: Function, table: dict[Any, Function]) -> Function:
        def decomposed(*args: Any, **kwargs: Any) -> Any:
            if not any(isinstance(each, Tensor) for each in among(*args, **kwargs)):
                return fn(*args, **kwargs)
            return right(fn, table)(*args, **kwargs)

        return decomposed

    return decompose_some


@decompose.mistake(breaks=IN_PLACE)
def with_tensors_only(fn: Function, table: dict[Any, Function]) -> Function:
    """In a call that gets no tensor, nothing was replaced. Perhaps it is asked whether there is one among the arguments, before the mode
    is entered: `fn` may hold tensors, or make them.
    """
    return _where_a_tensor_is(lambda *args, **kwargs: args)(fn, table)


for _among in (
    lambda *args, **kwargs: tree_leaves((args, kwargs)),
    lambda *args, **kwargs: (*args, *kwargs.values()),
    lambda *args, **kwargs: args[:1],
):
    decompose.add_variant("with_tensors_only", _where_a_tensor_is(_among))


@bank.mistake(breaks=IN_PLACE)
class FirstIsATensor(Replace):
    """cat was not replaced, and max was, in the same call. Perhaps it was asked whether the first argument is a tensor: that of cat is
    a list. The operation alone tells whether it is in the table.
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if args and not isinstance(args[0], Tensor):
            return self.as_it_is(func, args, kwargs or {})
        return super().__torch_dispatch__(func, types, args, kwargs)


@bank.mistake(breaks=IN_PLACE)
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
class OthersHidden(Replace):
    """A mode outside saw nothing of what ran. Perhaps all modes were put aside while an operation ran that is not in the table: call it, and
    leave the modes as they are.
    """

    def as_it_is(self, func: Any, args: Any, kwargs: Any) -> Any:
        with _disable_current_modes():
            return func(*args, **kwargs)


@bank.mistake(breaks=OTHERS)
class HiddenFromOthers(Replace):
    """A mode outside saw less than what ran. Perhaps all modes were put aside while a function of the table ran: put on your own
    again, and leave the others.
    """

    def replaced(self, func: Any, function: Function, args: Any, kwargs: Any) -> Any:
        with _disable_current_modes(), self:
            return function(*args, **kwargs)
