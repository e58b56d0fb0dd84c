"""What people write for 12.scaled_tensor, and why it is wrong: what it looks like, numbers, every other operation."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

from helpers.labs.dispatch.scaled_tensor.exercise import (
    EVERY_OTHER,
    KEPT,
    LOOKS,
    NO_MEMORY,
    NUMBERS,
    STANDS,
    scaled_tensor,
)
from helpers.labs.dispatch.scaled_tensor.right import Steps, aten

# What torch takes it for.


def _wrapper(cls: Any, inner: Tensor, *without: str) -> Any:
    """The wrapper that lacks one of its keywords."""
    given = {
        "strides": inner.stride(),
        "storage_offset": inner.storage_offset(),
        "dtype": inner.dtype,
        "device": inner.device,
    }
    return Tensor._make_wrapper_subclass(
        cls, inner.shape, **{key: value for key, value in given.items() if key not in without}
    )


@scaled_tensor.mistake(breaks=LOOKS)
class NoStrides(Steps):
    """A ScaledTensor of a transposed tensor has other strides than its inner. `_make_wrapper_subclass` is to be told."""

    @classmethod
    def wrapper(cls, inner: Tensor) -> Any:
        return _wrapper(cls, inner, "strides", "storage_offset")


@scaled_tensor.mistake(breaks=LOOKS)
class NoOffset(Steps):
    """A ScaledTensor of a slice has a different offset than its inner. `_make_wrapper_subclass` is to be told."""

    @classmethod
    def wrapper(cls, inner: Tensor) -> Any:
        return _wrapper(cls, inner, "storage_offset")


@scaled_tensor.mistake(breaks=LOOKS)
class NoDtype(Steps):
    """A ScaledTensor of a bfloat16 tensor has a different dtype than its inner: perhaps the default dtype of torch."""

    @classmethod
    def wrapper(cls, inner: Tensor) -> Any:
        return _wrapper(cls, inner, "dtype")


@scaled_tensor.mistake(breaks=LOOKS)
class NoDevice(Steps):
    """A ScaledTensor of a tensor on a different device stands on the CPU. `_make_wrapper_subclass` is to be told."""

    @classmethod
    def wrapper(cls, inner: Tensor) -> Any:
        return _wrapper(cls, inner, "device")


@scaled_tensor.mistake(breaks=STANDS)
class DenseAtOnce(Steps):
    """When a ScaledTensor was made, memory was made, too. Nothing is to be computed until an operation needs it."""

    def __init__(self, inner: Tensor, scale: float) -> None:
        super().__init__(inner, scale)
        self.value = inner * scale


@scaled_tensor.mistake(breaks=KEPT[1])
class OnTheClass(Steps):
    """A second ScaledTensor changed what the first one holds. Perhaps inner and scale are attributes of the class."""

    def __init__(self, inner: Tensor, scale: float) -> None:
        type(self).inner, type(self).scale = inner, scale


@scaled_tensor.mistake(breaks=STANDS)
class HidesAMethod(Steps):
    """The class has a helper by the name of a method of Tensor, `view` for example, and hides that one: `t.view(3, 8)` calls the helper."""

    @classmethod
    def view(cls, func: Any, args: Any, kwargs: Any) -> Any:  # type: ignore[override]
        return super().views(func, args, kwargs)


# Every other operation.


@scaled_tensor.mistake(breaks=EVERY_OTHER)
class WithoutScale(Steps):
    """An operation got `inner` without the scale."""

    @classmethod
    def dense(cls, t: Any) -> Tensor:
        return t.inner


@scaled_tensor.mistake(breaks=EVERY_OTHER)
class WrapsOthers(Steps):
    """The result of an operation that is neither a view nor a multiple is a ScaledTensor. It is to be what the plain tensor gives."""

    @classmethod
    def others(cls, func: Any, args: Any, kwargs: Any) -> Any:
        result = super().others(func, args, kwargs)
        return tree_map_only(Tensor, lambda t: cls(t, 1.0) if t.is_floating_point() else t, result)


@scaled_tensor.mistake(breaks=EVERY_OTHER)
class NotInLists(Steps):
    """torch.cat([t, y]) did not get through: a ScaledTensor in a list came back to `__torch_dispatch__` as it was, again and again."""

    @classmethod
    def others(cls, func: Any, args: Any, kwargs: Any) -> Any:
        return func(*(cls.dense(each) if isinstance(each, cls) else each for each in args), **kwargs)


@scaled_tensor.mistake(breaks=EVERY_OTHER)
class NoKeywords(Steps):
    """An argument by keyword was lost: `t.sum(dtype=torch.float64)` has one. What it says counts as for a plain tensor."""

    @classmethod
    def others(cls, func: Any, args: Any, kwargs: Any) -> Any:
        return super().others(func, args, {})


@scaled_tensor.mistake(breaks=EVERY_OTHER)
class KeywordsAsTheyAre(Steps):
    """torch.histogram(y, bins, weight=t) did not get through: a ScaledTensor by keyword came back to `__torch_dispatch__` as it was, again
    and again.
    """

    @classmethod
    def others(cls, func: Any, args: Any, kwargs: Any) -> Any:
        return func(*tree_map_only(cls, cls.dense, args), **kwargs)


@scaled_tensor.mistake(breaks="Multiplied by a Python int or float")
class TensorsAsNumbers(Steps):
    """The product with a tensor of one number came as a ScaledTensor. Only a Python number is a new scale: a tensor may change, and may
    want a gradient.
    """

    @classmethod
    def is_number(cls, value: Any) -> bool:
        return super().is_number(value) or (
            isinstance(value, Tensor) and not isinstance(value, cls) and value.dim() == 0
        )

    @classmethod
    def by_number(cls, func: Any, args: Any) -> Any:
        plain = [
            float(each) if isinstance(each, Tensor) and not isinstance(each, cls) else each for each in args
        ]
        return super().by_number(func, plain)


@scaled_tensor.mistake(breaks=EVERY_OTHER)
class NumberByIt(Steps):
    """1 / t came as a ScaledTensor. It is no multiple of inner: 1 / (inner * scale) is to be computed."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is aten.reciprocal.default:
            return cls(args[0].inner, 1 / args[0].scale)
        return super().__torch_dispatch__(func, types, args, kwargs)


@scaled_tensor.mistake(breaks=EVERY_OTHER)
class RoundingLost(Steps):
    """torch.div with a rounding_mode came as a ScaledTensor, and nothing was rounded. It is a different overload than `t / 2`."""

    @classmethod
    def is_by_number(cls, func: Any, args: Any) -> bool:
        return super().is_by_number(func, args) or (func is aten.div.Tensor_mode and cls.is_number(args[1]))

    @classmethod
    def by_number(cls, func: Any, args: Any) -> Any:
        return super().by_number(aten.div.Tensor if func is aten.div.Tensor_mode else func, args)


@scaled_tensor.mistake(breaks=STANDS)
class KeepsTheDense(Steps):
    """inner had changed, and an operation still got the values of before. Perhaps `inner * scale` was kept from an earlier one."""

    @classmethod
    def dense(cls, t: Any) -> Tensor:
        if not hasattr(t, "value"):
            t.value = super().dense(t)
        return t.value


@scaled_tensor.mistake(breaks=EVERY_OTHER)
class ScaleInFloat32(Steps):
    """Of a float64 inner the values came with the digits of float32 only. Perhaps the scale was made a tensor, which is float32: a Python
    float has the digits of float64.
    """

    @classmethod
    def dense(cls, t: Any) -> Tensor:
        return t.inner * torch.tensor(t.scale, device=t.inner.device)


@scaled_tensor.mistake(breaks=EVERY_OTHER)
class AlwaysFloat32(Steps):
    """The inner was float64 or bfloat16, and what an operation gave was float32. `inner * scale` has the dtype of inner."""

    @classmethod
    def dense(cls, t: Any) -> Tensor:
        return t.inner.float() * t.scale


@scaled_tensor.mistake(breaks=EVERY_OTHER)
class OneDimensionAtLeast(Steps):
    """The inner had no dimension, and an operation gave a tensor with one. `inner * scale` has the shape of inner."""

    @classmethod
    def dense(cls, t: Any) -> Tensor:
        return torch.atleast_1d(t.inner) * t.scale


@scaled_tensor.mistake(breaks="Multiplied by a Python int or float")
class ComplexScale(Steps):
    """t * 2j came as a ScaledTensor. Its scale would be complex, and its dtype float: only an int or a float is a new scale."""

    @classmethod
    def is_number(cls, value: Any) -> bool:
        return isinstance(value, int | float | complex)


@scaled_tensor.mistake(breaks=EVERY_OTHER)
class AllProductsByInner(Steps):
    """A product that is not `mm` overflowed: inner, which is large here, was multiplied, and the scale, which is small, came afterwards.
    Only `mm` gets inner. bmm, mv, dot and addmm get `inner * scale`, as every other operation does.
    """

    @classmethod
    def is_product(cls, func: Any) -> bool:
        return func in (aten.mm.default, aten.bmm.default, aten.mv.default, aten.dot.default)


@scaled_tensor.variant(AllProductsByInner)
class BatchesByInner(Steps):
    @classmethod
    def is_product(cls, func: Any) -> bool:
        return func in (aten.mm.default, aten.bmm.default)


@scaled_tensor.variant(AllProductsByInner)
class VectorsByInner(Steps):
    @classmethod
    def is_product(cls, func: Any) -> bool:
        return func in (aten.mm.default, aten.mv.default)


@scaled_tensor.variant(AllProductsByInner)
class BiasApart(Steps):
    @classmethod
    def is_product(cls, func: Any) -> bool:
        return func in (aten.mm.default, aten.addmm.default)

    @classmethod
    def product(cls, func: Any, args: Any) -> Any:
        if func is aten.mm.default:
            return super().product(func, args)
        bias, one, other = (
            cls.dense(each) if n == 0 and isinstance(each, cls) else each for n, each in enumerate(args)
        )
        return bias + super().product(aten.mm.default, (one, other))


@scaled_tensor.mistake(breaks=EVERY_OTHER)
class BiasScaled(Steps):
    """F.linear with a bias gave what inner gives, multiplied by the scale: so the bias was multiplied, too. It comes as addmm, which gets
    `inner * scale`, as every other operation does.
    """

    @classmethod
    def is_product(cls, func: Any) -> bool:
        return func in (aten.mm.default, aten.addmm.default)


@scaled_tensor.mistake(breaks=EVERY_OTHER)
class SumsByInner(Steps):
    """A sum is that of inner, multiplied by the scale afterwards. It rounds differently, and can overflow where the plain tensor's does not:
    only `mm` gets inner.
    """

    @classmethod
    def others(cls, func: Any, args: Any, kwargs: Any) -> Any:
        if func.overloadpacket in (aten.sum, aten.mean):
            return func(args[0].inner, *args[1:], **kwargs) * args[0].scale
        return super().others(func, args, kwargs)


@scaled_tensor.mistake(breaks="divided by one that is not 0")
class DividesByZero(Steps):
    """t / 0 raised ZeroDivisionError. Perhaps the scale was divided: Python refuses that, and torch gives inf or nan."""

    @classmethod
    def is_by_number(cls, func: Any, args: Any) -> bool:
        return super().is_by_number(func, args) or (func is aten.div.Tensor and cls.is_number(args[1]))


@scaled_tensor.mistake(breaks="divided by one that is not 0")
class DividesByZeroPoint(Steps):
    """t / 0.0 raised ZeroDivisionError, though t / 0 gets through. 0.0 is a 0 as well."""

    @classmethod
    def is_by_number(cls, func: Any, args: Any) -> bool:
        return super().is_by_number(func, args) or (func is aten.div.Tensor and isinstance(args[1], float))


@scaled_tensor.mistake(breaks="divided by one that is not 0")
class InfiniteScale(Steps):
    """t / 0 came as a ScaledTensor. Only a division by a number that is not 0 gives one: by 0 the plain tensor is divided."""

    @classmethod
    def others(cls, func: Any, args: Any, kwargs: Any) -> Any:
        if func is aten.div.Tensor and isinstance(args[0], cls) and cls.is_number(args[1]):
            return cls(args[0].inner, args[0].scale * float("inf"))
        return super().others(func, args, kwargs)


# By a number.


@scaled_tensor.mistake(breaks=NUMBERS)
class NoNumbers(Steps):
    """3 * t was computed, and is a plain tensor. It is the same inner with a new scale."""

    @classmethod
    def is_by_number(cls, func: Any, args: Any) -> bool:
        return False


@scaled_tensor.variant(NoNumbers)
class NoMultiplication(Steps):
    @classmethod
    def is_by_number(cls, func: Any, args: Any) -> bool:
        return func is not aten.mul.Tensor and super().is_by_number(func, args)


@scaled_tensor.mistake(breaks="Multiplied by a Python int or float")
class FloatsOnly(Steps):
    """3 * t was computed, and is a plain tensor, though 2.5 * t is a ScaledTensor. An int is a number as a float is."""

    @classmethod
    def is_number(cls, value: Any) -> bool:
        return isinstance(value, float)


@scaled_tensor.mistake(breaks=NUMBERS)
class NoDivision(Steps):
    """t / 4 was computed, and is a plain tensor. It is the same inner with a new scale."""

    @classmethod
    def is_by_number(cls, func: Any, args: Any) -> bool:
        return func is not aten.div.Tensor and super().is_by_number(func, args)


@scaled_tensor.mistake(breaks=NUMBERS)
class NoNegation(Steps):
    """-t was computed, and is a plain tensor. It is the same inner with a new scale."""

    @classmethod
    def is_by_number(cls, func: Any, args: Any) -> bool:
        return func is not aten.neg.default and super().is_by_number(func, args)


@scaled_tensor.mistake(breaks=NUMBERS)
class InnerNegated(Steps):
    """After -t the scale is the old one. Perhaps inner was negated in its place, which costs memory and time."""

    @classmethod
    def by_number(cls, func: Any, args: Any) -> Any:
        if func is aten.neg.default:
            return cls(-args[0].inner, args[0].scale)
        return super().by_number(func, args)


@scaled_tensor.mistake(breaks=NUMBERS)
class DividedAsMultiplied(Steps):
    """t / 4 has the scale times 4."""

    @classmethod
    def by_number(cls, func: Any, args: Any) -> Any:
        return super().by_number(aten.mul.Tensor, args)


@scaled_tensor.mistake(breaks=NUMBERS)
class ChangesItself(Steps):
    """t * 3 changed t itself. t is still there, and has its own scale: the result is a new ScaledTensor."""

    @classmethod
    def rescaled(cls, t: Any, scale: float) -> Any:
        t.scale = scale
        return t


@scaled_tensor.mistake(breaks=NO_MEMORY)
class CopiesInner(Steps):
    """t * 3 has an inner in a memory of its own. The inner is the same: nothing writes to it, so it needs no copy."""

    @classmethod
    def rescaled(cls, t: Any, scale: float) -> Any:
        return cls(t.inner.clone(), scale)


@scaled_tensor.mistake(breaks=NUMBERS)
class InnerMultiplied(Steps):
    """After t * 3 the scale is the old one. Perhaps inner was multiplied in its place, which costs memory and time."""

    @classmethod
    def by_number(cls, func: Any, args: Any) -> Any:
        t = next(each for each in args if isinstance(each, cls))
        return cls(func(*(each.inner if each is t else each for each in args)), t.scale)


@scaled_tensor.mistake(breaks="Multiplied by a Python int or float")
class ZeroIsPlain(Steps):
    """t * 0 was computed, and is a plain tensor, though t * 3 is a ScaledTensor. A scale can be 0: only a division by 0 is left out."""

    @classmethod
    def is_by_number(cls, func: Any, args: Any) -> bool:
        return super().is_by_number(func, args) and 0 not in [each for each in args if cls.is_number(each)]


@scaled_tensor.mistake(breaks=NUMBERS)
class OneIsPlain(Steps):
    """Where the new scale is 1, a plain tensor came. It is a ScaledTensor whatever its scale is."""

    @classmethod
    def rescaled(cls, t: Any, scale: float) -> Any:
        return t.inner if scale == 1.0 else cls(t.inner, scale)


@scaled_tensor.mistake(breaks=NUMBERS)
class OneIsItself(Steps):
    """t * 1 gave t itself, and t * 3 a new ScaledTensor. What is done to the result, `requires_grad_()` for example, is then done to t."""

    @classmethod
    def rescaled(cls, t: Any, scale: float) -> Any:
        return t if scale == t.scale else cls(t.inner, scale)


@scaled_tensor.mistake(breaks=KEPT[0])
class WholeScales(Steps):
    """The new scale is an int. It is a float, also where it is a whole number."""

    @classmethod
    def rescaled(cls, t: Any, scale: float) -> Any:
        return cls(t.inner, int(scale) if scale == int(scale) else scale)


@scaled_tensor.mistake(breaks=NUMBERS)
class NewScaleInFloat32(Steps):
    """The new scale is right to the digits of float32 only. Perhaps it was computed with a tensor, which is float32: a Python float has the
    digits of float64.
    """

    @classmethod
    def rescaled(cls, t: Any, scale: float) -> Any:
        return cls(t.inner, torch.tensor(scale, dtype=torch.float32).item())


@scaled_tensor.mistake(breaks=NUMBERS)
class NumbersNeedADimension(Steps):
    """3 * t is a plain tensor where inner has no dimension, and a ScaledTensor elsewhere. The size of inner does not matter."""

    @classmethod
    def by_number(cls, func: Any, args: Any) -> Any:
        if any(isinstance(each, cls) and each.dim() == 0 for each in args):
            return cls.others(func, args, {})
        return super().by_number(func, args)


@scaled_tensor.mistake(breaks=NUMBERS)
class NumbersNeedAnElement(Steps):
    """3 * t is a plain tensor where inner has no elements, and a ScaledTensor elsewhere. The size of inner does not matter."""

    @classmethod
    def by_number(cls, func: Any, args: Any) -> Any:
        if any(isinstance(each, cls) and each.numel() == 0 for each in args):
            return cls.others(func, args, {})
        return super().by_number(func, args)
