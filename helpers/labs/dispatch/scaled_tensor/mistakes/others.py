"""What people write for 12.scaled_tensor, and why it is wrong: operations that have a way of their own, and get no `inner * scale`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from helpers.labs.dispatch.scaled_tensor.exercise import EVERY_OTHER, scaled_tensor
from helpers.labs.dispatch.scaled_tensor.mistakes.values import WrapsOthers
from helpers.labs.dispatch.scaled_tensor.right import Steps, aten

# A ScaledTensor as the result.


def _stays_scaled(*packets: Any, scale: Callable[[float], float] = lambda scale: scale) -> type:
    """A class that takes inner for these operations, and makes a ScaledTensor of the result."""

    class StaysScaled(Steps):
        @classmethod
        def others(cls, func: Any, args: Any, kwargs: Any) -> Any:
            if func.overloadpacket not in packets or not isinstance(args[0], cls):
                return super().others(func, args, kwargs)
            return cls(func(args[0].inner, *args[1:], **kwargs), scale(args[0].scale))

    return StaysScaled


for _packets in (
    (aten.clone,),
    (aten._to_copy,),
    (aten.clone, aten._to_copy),
    (aten.sum,),
    (aten.sum, aten.mean),
    (aten.index, aten.index_select, aten.embedding),
    (aten.index,),
    (aten.zeros_like, aten.empty_like),
    (aten.flip,),
):
    scaled_tensor.variant(WrapsOthers)(_stays_scaled(*_packets))
scaled_tensor.variant(WrapsOthers)(_stays_scaled(aten.abs, scale=abs))


@scaled_tensor.variant(WrapsOthers)
class ProductsStayScaled(Steps):
    @classmethod
    def others(cls, func: Any, args: Any, kwargs: Any) -> Any:
        if func is aten.mul.Tensor and all(isinstance(each, cls) for each in args):
            return cls(args[0].inner * args[1].inner, args[0].scale * args[1].scale)
        return super().others(func, args, kwargs)


def _stay_scaled(*packets: Any) -> type:
    """A class that takes the inners of two, or of a list, for these operations where all have one scale, and keeps that scale."""

    class StayScaled(Steps):
        @classmethod
        def others(cls, func: Any, args: Any, kwargs: Any) -> Any:
            parts = args[0] if isinstance(args[0], list | tuple) else args
            scales = {each.scale for each in parts if isinstance(each, cls)}
            if (
                func.overloadpacket not in packets
                or len(scales) != 1
                or not all(isinstance(each, cls) for each in parts)
            ):
                return super().others(func, args, kwargs)
            inner = [each.inner for each in parts]
            more = ([inner], args[1:]) if isinstance(args[0], list | tuple) else (inner, ())
            return cls(func(*more[0], *more[1], **kwargs), scales.pop())

    return StayScaled


for _packets in ((aten.add,), (aten.sub,), (aten.add, aten.sub), (aten.cat, aten.stack), (aten.stack,)):
    scaled_tensor.variant(WrapsOthers)(_stay_scaled(*_packets))


@scaled_tensor.variant(WrapsOthers)
class StaysScaledIfPositive(Steps):
    @classmethod
    def others(cls, func: Any, args: Any, kwargs: Any) -> Any:
        if func is aten.relu.default and args[0].scale > 0:
            return cls(func(args[0].inner), args[0].scale)
        return super().others(func, args, kwargs)


# Plain tensors, numbers and truths, computed in a different way.


@scaled_tensor.mistake(breaks=EVERY_OTHER)
class ScaleAfterwards(Steps):
    """An operation gave other numbers than it gives for `inner * scale`. Perhaps it was computed from inner, and the scale came in
    afterwards: this rounds differently, and goes wrong with a scale of 0, with inf or with nan.
    """

    @classmethod
    def others(cls, func: Any, args: Any, kwargs: Any) -> Any:
        if func is aten.div.Tensor and all(isinstance(each, cls) for each in args):
            return func(args[0].inner, args[1].inner) * (args[0].scale / args[1].scale)
        return super().others(func, args, kwargs)


@scaled_tensor.variant(ScaleAfterwards)
class OneScaleAfterwards(Steps):
    @classmethod
    def others(cls, func: Any, args: Any, kwargs: Any) -> Any:
        if func in (aten.add.Tensor, aten.sub.Tensor) and all(isinstance(each, cls) for each in args):
            if args[0].scale == args[1].scale:
                return func(args[0].inner, args[1].inner, **kwargs) * args[0].scale
        return super().others(func, args, kwargs)


@scaled_tensor.variant(ScaleAfterwards)
class PowersAfterwards(Steps):
    @classmethod
    def others(cls, func: Any, args: Any, kwargs: Any) -> Any:
        if func is aten.pow.Tensor_Scalar and args[1] == 3:
            return func(args[0].inner, 3) * args[0].scale ** 3
        return super().others(func, args, kwargs)


@scaled_tensor.mistake(breaks=EVERY_OTHER)
class NumberInPython(Steps):
    """t[1, 2].item() gave a different number than for `inner * scale`. Perhaps Python multiplied, with the digits of float64: the plain
    tensor's product is rounded to its dtype.
    """

    @classmethod
    def others(cls, func: Any, args: Any, kwargs: Any) -> Any:
        if func is aten._local_scalar_dense.default:
            return args[0].inner.item() * args[0].scale
        return super().others(func, args, kwargs)


@scaled_tensor.mistake(breaks=EVERY_OTHER)
class EqualByParts(Steps):
    """torch.equal told of two ScaledTensors what is not true of the plain tensors. Perhaps it compares inner and scale: nan is not equal to
    itself, and by a scale of 0 all are equal.
    """

    @classmethod
    def others(cls, func: Any, args: Any, kwargs: Any) -> Any:
        if func is aten.equal.default and all(isinstance(each, cls) for each in args):
            if args[0].inner is args[1].inner and args[0].scale == args[1].scale:
                return True
        return super().others(func, args, kwargs)


@scaled_tensor.variant(EqualByParts)
class EqualInBoth(Steps):
    @classmethod
    def others(cls, func: Any, args: Any, kwargs: Any) -> Any:
        if func is aten.equal.default and all(isinstance(each, cls) for each in args):
            return func(args[0].inner, args[1].inner) and args[0].scale == args[1].scale
        return super().others(func, args, kwargs)
