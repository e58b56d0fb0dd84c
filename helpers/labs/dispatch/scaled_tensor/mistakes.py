"""What people write for 12.scaled_tensor, and why it is wrong."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.utils._pytree import tree_map_only

from helpers.labs.dispatch.scaled_tensor.exercise import (
    EVERY_OTHER,
    KEPT,
    LEAF,
    LOOKS,
    NO_MEMORY,
    NUMBERS,
    ONLY_THESE,
    PRODUCTS,
    STANDS,
    VIEWS,
    WRITES,
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


# Every other operation.


@scaled_tensor.mistake(breaks=EVERY_OTHER)
class WithoutScale(Steps):
    """An operation got `inner` without the scale."""

    @classmethod
    def dense(cls, t: Any) -> Tensor:
        return t.inner


@scaled_tensor.mistake(breaks=EVERY_OTHER)
class WrapsAll(Steps):
    """The result of an operation that is neither a view nor a multiple is a ScaledTensor. It is what the plain tensor gives."""

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


@scaled_tensor.mistake(breaks="Multiplied or divided by a Python number")
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


# By a number.


@scaled_tensor.mistake(breaks=NUMBERS)
class NoNumbers(Steps):
    """3 * t was computed, and is a plain tensor. It is the same inner with a new scale."""

    @classmethod
    def is_by_number(cls, func: Any, args: Any) -> bool:
        return False


@scaled_tensor.variant(NoNumbers)
class FloatsOnly(Steps):
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


# Views.


@scaled_tensor.mistake(breaks=VIEWS)
class ViewsArePlain(Steps):
    """A view came as a plain tensor: it was computed. A view of t is a view of inner, and costs nothing."""

    @classmethod
    def is_view(cls, func: Any) -> bool:
        return False


@scaled_tensor.mistake(breaks=VIEWS)
class SeveralArePlain(Steps):
    """t.unbind(1) gave plain tensors, though t.T is a ScaledTensor. Some views have several results, and each is one."""

    @classmethod
    def views(cls, func: Any, args: Any, kwargs: Any) -> Any:
        result = func(args[0].inner, *args[1:], **kwargs)
        return cls(result, args[0].scale) if isinstance(result, Tensor) else result


@scaled_tensor.mistake(breaks="with the same `scale`")
class ViewsLoseTheScale(Steps):
    """A view has a different scale than the ScaledTensor that it was made of."""

    @classmethod
    def views(cls, func: Any, args: Any, kwargs: Any) -> Any:
        return tree_map_only(Tensor, lambda t: cls(t, 1.0), func(args[0].inner, *args[1:], **kwargs))


@scaled_tensor.mistake(breaks=NO_MEMORY)
class ViewsAreCopied(Steps):
    """A view has an inner in a memory of its own. It is a view of inner itself."""

    @classmethod
    def views(cls, func: Any, args: Any, kwargs: Any) -> Any:
        views = func(args[0].inner, *args[1:], **kwargs)
        return tree_map_only(Tensor, lambda t: cls(t.contiguous(), args[0].scale), views)


# Products.


@scaled_tensor.mistake(breaks=PRODUCTS)
class ProductOfTheDense(Steps):
    """In a product of matrices a tensor as large as inner was made: inner was multiplied by the scale before. The result is smaller here,
    and is multiplied at the end.
    """

    @classmethod
    def is_product(cls, func: Any) -> bool:
        return False


@scaled_tensor.mistake(breaks=PRODUCTS)
class ProductNotMultiplied(Steps):
    """A product of matrices is that of the inner tensors, without the scale."""

    @classmethod
    def multiplied(cls, result: Tensor, scales: list[float]) -> Any:
        return result


@scaled_tensor.mistake(breaks="multiplied by the scales")
class OneOfTwoScales(Steps):
    """Of two ScaledTensors in one product of matrices, the scale of only one counted. Both are multiplied in."""

    @classmethod
    def multiplied(cls, result: Tensor, scales: list[float]) -> Any:
        return result.mul_(scales[0])


@scaled_tensor.mistake(breaks="multiplied by the scales")
class EachOnlyOnce(Steps):
    """s @ s was multiplied by the scale of s only once. It takes part twice."""

    @classmethod
    def multiplied(cls, result: Tensor, scales: list[float]) -> Any:
        return super().multiplied(result, list(set(scales)))


@scaled_tensor.mistake(breaks=PRODUCTS)
class ProductStaysScaled(Steps):
    """A product of matrices came as a ScaledTensor. It is to be a plain tensor, multiplied by the scales."""

    @classmethod
    def multiplied(cls, result: Tensor, scales: list[float]) -> Any:
        scale = 1.0
        for each in scales:
            scale *= each
        return cls(result, scale)


@scaled_tensor.mistake(breaks=ONLY_THESE)
class OneOfTheTwo(Steps):
    """In a product of two ScaledTensors a tensor as large as the inner of one was made: it was multiplied by its scale before. Each takes
    part with its inner.
    """

    @classmethod
    def product(cls, func: Any, args: Any) -> Any:
        one, other = args
        if isinstance(one, cls):
            other = cls.dense(other) if isinstance(other, cls) else other
        return super().product(func, (one, other))


# Writing.


@scaled_tensor.mistake(breaks=WRITES)
class NothingRaised(Steps):
    """An operation that writes raised nothing, and changed nothing of t either: perhaps it wrote to `inner * scale`, which nobody sees."""

    @classmethod
    def is_writing(cls, func: Any) -> bool:
        return False


@scaled_tensor.mistake(breaks=WRITES)
class WritesToInner(Steps):
    """An operation that writes raised nothing, and changed inner."""

    @classmethod
    def written(cls, func: Any, args: Any, kwargs: Any) -> Any:
        t = next((each for each in args if isinstance(each, cls)), None)
        args, kwargs = tree_map_only(cls, lambda each: each.inner, (args, kwargs))
        func(*args, **kwargs)
        return t


@scaled_tensor.mistake(breaks=WRITES)
class ScaleInPlace(Steps):
    """t *= 2 raised nothing, and changed the scale of t. It writes, too: views of t would not see it."""

    @classmethod
    def written(cls, func: Any, args: Any, kwargs: Any) -> Any:
        if func is aten.mul_.Tensor and isinstance(args[0], cls) and cls.is_number(args[1]):
            args[0].scale *= args[1]
            return args[0]
        return super().written(func, args, kwargs)


@scaled_tensor.mistake(breaks=WRITES)
class OnlyUnderscores(Steps):
    """torch.add(y, 1, out=t) raised nothing: its name has no underscore at the end. `func._schema.is_mutable` knows."""

    @classmethod
    def is_writing(cls, func: Any) -> bool:
        return func.overloadpacket.__name__.endswith("_")


@scaled_tensor.mistake(breaks=WRITES)
class OnlyToItself(Steps):
    """y.add_(t) raised nothing, and wrote to y, a plain tensor. Any operation that writes raises, whatever it writes to."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func._schema.is_mutable and args and isinstance(args[0], Tensor) and not isinstance(args[0], cls):
            return cls.others(func, args, kwargs or {})
        return super().__torch_dispatch__(func, types, args, kwargs)


@scaled_tensor.mistake(breaks="raises NotImplementedError")
class ReturnsNotImplemented(Steps):
    """TypeError was raised in place of NotImplementedError. Torch makes a TypeError of a returned `NotImplemented`."""

    @classmethod
    def written(cls, func: Any, args: Any, kwargs: Any) -> Any:
        return NotImplemented


@scaled_tensor.mistake(breaks="raises NotImplementedError")
class RaisesRuntimeError(Steps):
    """RuntimeError was raised in place of NotImplementedError."""

    @classmethod
    def written(cls, func: Any, args: Any, kwargs: Any) -> Any:
        raise RuntimeError("it writes")


@scaled_tensor.mistake(breaks="and writes nothing")
class RaisesAfterwards(Steps):
    """NotImplementedError was raised, and something had been written before. First it is asked whether an operation writes."""

    @classmethod
    def written(cls, func: Any, args: Any, kwargs: Any) -> Any:
        args, kwargs = tree_map_only(cls, lambda each: each.inner, (args, kwargs))
        func(*args, **kwargs)
        raise NotImplementedError(f"{func} writes")


# Gradients.


@scaled_tensor.mistake(breaks=LEAF)
class AlwaysRequiresGrad(Steps):
    """It required grad without `requires_grad_()`."""

    @classmethod
    def wrapper(cls, inner: Tensor) -> Any:
        return Steps.wrapper.__func__(cls, inner).requires_grad_()  # type: ignore[attr-defined]


@scaled_tensor.mistake(breaks=LEAF)
class InnerRequiresGrad(Steps):
    """After `requires_grad_()` it does not require grad. Perhaps its inner does: that is a different tensor, with a different gradient."""

    def requires_grad_(self, requires_grad: bool = True) -> Any:  # type: ignore[override]
        self.inner.requires_grad_(requires_grad)
        return self


@scaled_tensor.mistake(breaks="the gradient that the plain tensor would get")
class GradientOfInner(Steps):
    """The leaf got the gradient of inner, or one with the scale in it once too often. It stands for `inner * scale`, and gets the gradient
    of this.
    """

    @property
    def grad(self) -> Any:  # type: ignore[override]
        found = Tensor.grad.__get__(self)  # type: ignore[attr-defined]
        return None if found is None else found * self.scale
