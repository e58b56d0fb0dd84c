"""What people write for 12.scaled_tensor, and why it is wrong: views, products, what writes, gradients."""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

from helpers.labs.dispatch.scaled_tensor.exercise import (
    LEAF,
    NO_MEMORY,
    ONLY_THESE,
    PRODUCTS,
    VIEWS,
    WRITES,
    scaled_tensor,
)
from helpers.labs.dispatch.scaled_tensor.right import Steps, aten

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


@scaled_tensor.mistake(breaks=VIEWS)
class KnownViewsOnly(Steps):
    """Some views came as plain tensors, and others are ScaledTensors. Perhaps operations were looked up in a list of names:
    `func.is_view` knows all those whose results are views.
    """

    @classmethod
    def is_view(cls, func: Any) -> bool:
        return func.overloadpacket.__name__ in ("t", "transpose", "view", "slice", "select")


@scaled_tensor.variant(KnownViewsOnly)
class AllButDiagonals(Steps):
    @classmethod
    def is_view(cls, func: Any) -> bool:
        return func.is_view and func is not aten.diagonal.default


@scaled_tensor.variant(KnownViewsOnly)
class AllButDetach(Steps):
    @classmethod
    def is_view(cls, func: Any) -> bool:
        return func.is_view and func is not aten.detach.default


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


@scaled_tensor.mistake(breaks=VIEWS)
class DetachIsItself(Steps):
    """t.detach() gave t itself. It is to be a new ScaledTensor: `requires_grad_()` on the result is then no matter of t."""

    @classmethod
    def views(cls, func: Any, args: Any, kwargs: Any) -> Any:
        return args[0] if func is aten.detach.default else super().views(func, args, kwargs)


@scaled_tensor.mistake(breaks=VIEWS)
class SameViewIsItself(Steps):
    """t.view(4, 6) did not get through: 4 and 6 are the sizes of t, and the result is t itself. Torch refuses this: a view is a new tensor."""

    @classmethod
    def views(cls, func: Any, args: Any, kwargs: Any) -> Any:
        if func is aten.view.default and list(args[0].shape) == list(args[1]):
            return args[0]
        return super().views(func, args, kwargs)


@scaled_tensor.mistake(breaks=VIEWS)
class ViewsNeedAnElement(Steps):
    """A view came as a plain tensor where inner has no elements, and as a ScaledTensor elsewhere. The size of inner does not matter."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.is_view and args[0].numel() == 0:
            return cls.others(func, args, kwargs or {})
        return super().__torch_dispatch__(func, types, args, kwargs)


@scaled_tensor.mistake(breaks=VIEWS)
class ViewsNeedADimension(Steps):
    """A view came as a plain tensor where inner has no dimension, and as a ScaledTensor elsewhere. The size of inner does not matter."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.is_view and args[0].dim() == 0:
            return cls.others(func, args, kwargs or {})
        return super().__torch_dispatch__(func, types, args, kwargs)


# Products.


@scaled_tensor.mistake(breaks=PRODUCTS)
class ProductOfTheDense(Steps):
    """In a product of matrices one of the factors was multiplied by a scale before, which makes memory of the factor's size. The result is
    smaller here, and is multiplied at the end.
    """

    @classmethod
    def is_product(cls, func: Any) -> bool:
        return False


@scaled_tensor.variant(ProductOfTheDense)
class OnlyTheFirstByInner(Steps):
    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is aten.mm.default and not isinstance(args[0], cls):
            return cls.others(func, args, {})
        return super().__torch_dispatch__(func, types, args, kwargs)


@scaled_tensor.mistake(breaks=PRODUCTS)
class PlainHaveInner(Steps):
    """An error was raised where a plain tensor stands beside a ScaledTensor. Perhaps getattr or hasattr asks for `inner`: every tensor
    has a method of this name, the one for `torch.inner`. `isinstance` tells the two apart.
    """

    @classmethod
    def product(cls, func: Any, args: Any) -> Any:
        result = torch.mm(*(getattr(each, "inner", each) for each in args))
        return cls.multiplied(result, [getattr(each, "scale", 1.0) for each in args])


@scaled_tensor.variant(PlainHaveInner)
class ScaledIfInner(Steps):
    @classmethod
    def product(cls, func: Any, args: Any) -> Any:
        scales = [each.scale for each in args if hasattr(each, "inner")]
        return cls.multiplied(
            func(*(each.inner if hasattr(each, "inner") else each for each in args)), scales
        )


@scaled_tensor.variant(PlainHaveInner)
class PlainHaveInnerForFunc(Steps):
    @classmethod
    def product(cls, func: Any, args: Any) -> Any:
        result = func(*(getattr(each, "inner", each) for each in args))
        return cls.multiplied(result, [getattr(each, "scale", 1.0) for each in args])


@scaled_tensor.variant(PlainHaveInner)
class DenseIfInner(Steps):
    @classmethod
    def others(cls, func: Any, args: Any, kwargs: Any) -> Any:
        args, kwargs = tree_map_only(
            Tensor, lambda t: t.inner * t.scale if hasattr(t, "inner") else t, (args, kwargs)
        )
        return func(*args, **kwargs)


@scaled_tensor.variant(PlainHaveInner)
class DenseOrOne(Steps):
    @classmethod
    def others(cls, func: Any, args: Any, kwargs: Any) -> Any:
        args, kwargs = tree_map_only(
            Tensor, lambda t: getattr(t, "inner", t) * getattr(t, "scale", 1.0), (args, kwargs)
        )
        return func(*args, **kwargs)


@scaled_tensor.mistake(breaks="multiplied once, by the product of the scales")
class ScaledTwice(Steps):
    """The product of two ScaledTensors was multiplied by one scale, and the result by the other. The scales are multiplied first: they are
    two Python numbers, and cost nothing.
    """

    @classmethod
    def multiplied(cls, result: Tensor, scales: list[float]) -> Any:
        for each in scales:
            result = result * each
        return result


@scaled_tensor.variant(ScaledTwice)
class ScaledTwiceInPlace(Steps):
    @classmethod
    def multiplied(cls, result: Tensor, scales: list[float]) -> Any:
        for each in scales:
            result = result.mul_(each)
        return result


@scaled_tensor.mistake(breaks=PRODUCTS)
class ProductNotMultiplied(Steps):
    """A product of matrices is that of the inner tensors, without the scale."""

    @classmethod
    def multiplied(cls, result: Tensor, scales: list[float]) -> Any:
        return result


@scaled_tensor.mistake(breaks="multiplied once, by the product of the scales")
class OneOfTwoScales(Steps):
    """Of two ScaledTensors in one product of matrices, the scale of only one counted. Both are multiplied in."""

    @classmethod
    def multiplied(cls, result: Tensor, scales: list[float]) -> Any:
        return result.mul_(scales[0])


@scaled_tensor.mistake(breaks="multiplied once, by the product of the scales")
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


@scaled_tensor.mistake(breaks=PRODUCTS)
class ProductInFloat32(Steps):
    """Of float64 matrices the product came with the digits of float32 only. Perhaps the product of the scales was made a tensor, which is
    float32: a Python float has the digits of float64.
    """

    @classmethod
    def multiplied(cls, result: Tensor, scales: list[float]) -> Any:
        return result * torch.tensor(prod(scales), dtype=torch.float32)


@scaled_tensor.mistake(breaks=ONLY_THESE)
class FactorsAreCopied(Steps):
    """In a product of matrices `contiguous` copied the inner, which was turned. `mm` takes a transposed matrix as it lies."""

    @classmethod
    def product(cls, func: Any, args: Any) -> Any:
        result = func(*(each.inner.contiguous() if isinstance(each, cls) else each for each in args))
        return cls.multiplied(result, [each.scale for each in args if isinstance(each, cls)])


@scaled_tensor.variant(FactorsAreCopied)
class FactorsAreCopiedOnce(FactorsAreCopied):
    @classmethod
    def multiplied(cls, result: Tensor, scales: list[float]) -> Any:
        return result * prod(scales)


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


@scaled_tensor.variant(RaisesAfterwards)
class RaisesAfterTheDense(Steps):
    @classmethod
    def written(cls, func: Any, args: Any, kwargs: Any) -> Any:
        cls.others(func, args, kwargs)
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
