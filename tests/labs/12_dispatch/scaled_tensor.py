"""Right answers of 12.scaled_tensor, of other shapes than the solution's."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import return_and_correct_aliasing
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from helpers.labs.dispatch.scaled_tensor.right import Steps

aten = torch.ops.aten
HANDLERS: dict[Any, Any] = {}


def handles(*funcs: Any) -> Any:
    """Puts a function into the table."""

    def put(function: Any) -> Any:
        HANDLERS.update(dict.fromkeys(funcs, function))
        return function

    return put


class ByATable(Tensor):
    """A table of handlers, one for each overload; what none takes is flattened and made plain."""

    __slots__ = ("inner", "scale")

    @staticmethod
    def __new__(cls, inner, scale):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.size(), inner.stride(), inner.storage_offset(), dtype=inner.dtype, device=inner.device
        )

    def __init__(self, inner, scale):
        self.inner, self.scale = inner, scale

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func._schema.is_mutable:
            raise NotImplementedError(str(func))
        if func in HANDLERS and (result := HANDLERS[func](cls, *args, **kwargs)) is not NotImplemented:
            return result
        if func.is_view:
            first, rest = args[0], args[1:]
            result = func(first.inner, *rest, **kwargs)
            if isinstance(result, (tuple, list)):
                return [cls(each, first.scale) for each in result]
            return cls(result, first.scale)
        leaves, spec = tree_flatten((args, kwargs))
        leaves = [each.inner.mul(each.scale) if isinstance(each, cls) else each for each in leaves]
        args, kwargs = tree_unflatten(leaves, spec)
        return func(*args, **kwargs)


@handles(aten.mul.Tensor, aten.mul.Scalar)
def _mul(cls: Any, a: Any, b: Any) -> Any:
    if isinstance(b, cls):
        a, b = b, a
    return cls(a.inner, float(a.scale * b)) if type(b) in (int, float) else NotImplemented


@handles(aten.div.Tensor, aten.div.Scalar)
def _div(cls: Any, a: Any, b: Any) -> Any:
    return (
        NotImplemented
        if isinstance(b, (Tensor, complex)) or not b
        else cls(a.inner.detach(), a.scale * (1 / b))
    )


@handles(aten.neg.default)
def _neg(cls: Any, a: Any) -> Any:
    return cls(a.inner.view_as(a.inner), -a.scale)


@handles(aten.mm.default)
def _mm(cls: Any, a: Any, b: Any) -> Any:
    scale = 1.0
    if isinstance(a, cls):
        a, scale = a.inner, scale * a.scale
    if isinstance(b, cls):
        b, scale = b.inner, scale * b.scale
    return torch.mm(a, b) * scale


class Alpha(Tensor):
    """mm by addmm with alpha; the names of the operations in place of the overloads; match."""

    @staticmethod
    def __new__(cls, inner: Tensor, scale: float) -> Any:
        kind = {"dtype": inner.dtype, "device": inner.device, "layout": inner.layout}
        place = {"strides": inner.stride(), "storage_offset": inner.storage_offset()}
        return Tensor._make_wrapper_subclass(cls, inner.shape, requires_grad=False, **place, **kind)

    def __init__(self, inner: Tensor, scale: float) -> None:
        self.inner, self.scale = inner, scale

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(each.alias_info is not None and each.alias_info.is_write for each in func._schema.arguments):
            raise NotImplementedError
        match func.overloadpacket.__name__, args:
            case "neg", (cls() as t,):
                return cls(t.inner, -t.scale)
            case "mul", (cls() as t, int() | float() as number) | (int() | float() as number, cls() as t):
                return cls(t.inner, t.scale * number)
            case "div", (cls() as t, int() | float() as number) if number and not kwargs:
                return cls(t.inner, t.scale / number)
            case "mm", (a, b):
                factors = [each.scale if isinstance(each, cls) else 1.0 for each in args]
                a, b = (each.inner if isinstance(each, cls) else each for each in args)
                into = a.new_empty(a.shape[0], b.shape[1])
                return torch.addmm(into, a, b, beta=0, alpha=factors[0] * factors[1])
        if func.is_view:
            result = func(*tree_map(lambda t: t.inner if isinstance(t, cls) else t, args), **(kwargs or {}))
            scale = args[0].scale
            return tree_map(lambda t: cls(t, scale) if isinstance(t, Tensor) else t, result)
        args, kwargs = tree_map(
            lambda t: torch.mul(t.inner, t.scale) if isinstance(t, cls) else t, (args, kwargs or {})
        )
        return func(*args, **kwargs)


class OnItsMemory(Steps):
    """A tensor on the memory of inner itself, in place of a wrapper without memory."""

    @classmethod
    def wrapper(cls, inner: Tensor) -> Any:
        return Tensor._make_subclass(cls, inner)


class ANewProduct(Steps):
    """The product is multiplied into a memory of its own; views by torch's helper."""

    @classmethod
    def multiplied(cls, result: Tensor, scales: list[float]) -> Any:
        scale = scales[0] if len(scales) == 1 else scales[0] * scales[1]
        return result * scale

    @classmethod
    def views(cls, func: Any, args: Any, kwargs: Any) -> Any:
        return return_and_correct_aliasing(func, args, kwargs, super().views(func, args, kwargs))


RIGHT: list[Any] = [ByATable, Alpha, Steps, OnItsMemory, ANewProduct]
