"""What people write for 12.mini_autocast, and why it is wrong."""

from __future__ import annotations

import functools
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map_only

from helpers.labs.dispatch.mini_autocast.exercise import (
    AUTOCAST,
    ENDED,
    FORGOTTEN,
    GRADIENTS,
    LOWERED,
    ONCE,
    OTHERS,
    PASSES,
    RAISED,
    UNCHANGED,
    WHEREVER,
    mini_autocast,
)
from helpers.labs.dispatch.mini_autocast.right import Steps

# What is cast.


@mini_autocast.mistake(breaks=LOWERED)
class NothingLowered(Steps):
    """A function of `lower` worked in float32: its float32 tensors came to it as they were."""

    def lowered(self, t: Tensor) -> Tensor:
        return t


@mini_autocast.mistake(breaks=AUTOCAST)
class BackToFloat32(Steps):
    """The result of a function of `lower` came in float32. Under torch.autocast it stays in `dtype`, for the next function."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = super().__torch_function__(func, types, args, kwargs)
        if func.__name__ in self.lower:
            return tree_map_only(Tensor, lambda t: t.to(torch.float64).float(), result)
        return result


@mini_autocast.mistake(breaks=RAISED)
class OnlyItsOwnDtype(Steps):
    """A function of `higher` got a float16 tensor as it is in a block for bfloat16, or a bfloat16 one in a block for float16. Both are
    to be float32, whatever the block's own dtype is.
    """

    def raised(self, t: Tensor) -> Tensor:
        return t.float() if t.dtype == self.dtype else t


@mini_autocast.mistake(breaks=LOWERED)
class EveryFloatLowered(Steps):
    """A function of `lower` got its bfloat16, float16 or float64 tensor in a different dtype. Only float32 tensors are cast."""

    def lowered(self, t: Tensor) -> Tensor:
        return super().lowered(t) if t.dtype == torch.float32 or not t.is_floating_point() else self.cast(t)


@mini_autocast.mistake(breaks=OTHERS)
class HalfLowered(Steps):
    """In a block for float16, a function of `lower` got its bfloat16 tensor in a different dtype, or the other way round. What is
    not float32 stays as it is.
    """

    def lowered(self, t: Tensor) -> Tensor:
        return self.cast(t) if t.dtype in (torch.float16, torch.bfloat16) else super().lowered(t)


@mini_autocast.mistake(breaks=OTHERS)
class Float64Lowered(Steps):
    """A function of `lower` got a float64 tensor in a different dtype. Whoever takes float64 wants its digits: it stays."""

    def lowered(self, t: Tensor) -> Tensor:
        return self.cast(t) if t.dtype == torch.float64 else super().lowered(t)


@mini_autocast.mistake(breaks=OTHERS)
class Float64Halved(Steps):
    """A function of `higher` got a float64 tensor as float32, which is lower. Only float16 and bfloat16 are raised."""

    def raised(self, t: Tensor) -> Tensor:
        return t.float() if t.is_floating_point() else t


@mini_autocast.mistake(breaks=OTHERS)
class IntegersToo(Steps):
    """A function of `lower` got an integer tensor as a floating one: indices and classes are integers, and stay so."""

    def lowered(self, t: Tensor) -> Tensor:
        return self.cast(t) if t.dtype == torch.int64 else super().lowered(t)


@mini_autocast.mistake(breaks="sets of names of functions, as in `func.__name__`")
class PartsOfNames(Steps):
    """A function was cast for whose name no set asks: a name of a set is a part of its name, perhaps all but an
    underscore, or its name a part of one.
    """

    def among(self, name: str, names: set[str]) -> bool:
        return any(each in name for each in names)


@mini_autocast.variant(PartsOfNames)
class BeginningsOfNames(Steps):
    def among(self, name: str, names: set[str]) -> bool:
        return name.startswith(tuple(names))


@mini_autocast.variant(PartsOfNames)
class WithoutUnderscore(Steps):
    def among(self, name: str, names: set[str]) -> bool:
        return name.strip("_") in names


@mini_autocast.mistake(breaks=OTHERS)
class AllOthersRaised(Steps):
    """A function in neither set got its bfloat16 or float16 tensor in a different dtype. What stands in neither set is left alone."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.__name__ in self.lower:
            return super().__torch_function__(func, types, args, kwargs)
        args, kwargs = self.mapped(self.raised, args, kwargs or {})
        return func(*args, **kwargs)


@mini_autocast.mistake(breaks=WHEREVER)
class NoKeywords(Steps):
    """A tensor that is given by keyword was not cast: F.linear(x, weight=w) has one."""

    def mapped(self, cast: Any, args: Any, kwargs: Any) -> Any:
        return tree_map_only(Tensor, cast, args), kwargs


@mini_autocast.mistake(breaks=WHEREVER)
class NoLists(Steps):
    """A tensor in a list was not cast: torch.cat([x, y]) has its tensors there."""

    def mapped(self, cast: Any, args: Any, kwargs: Any) -> Any:
        def one(value: Any) -> Any:
            return cast(value) if isinstance(value, Tensor) else value

        return tuple(map(one, args)), {name: one(value) for name, value in kwargs.items()}


@mini_autocast.mistake(breaks=WHEREVER)
class NoTuples(Steps):
    """A tensor in a tuple was not cast, one in a list was: torch.cat((x, y)) has a tuple."""

    def mapped(self, cast: Any, args: Any, kwargs: Any) -> Any:
        def one(value: Any) -> Any:
            if isinstance(value, list):
                return [one(each) for each in value]
            return cast(value) if isinstance(value, Tensor) else value

        return tuple(map(one, args)), {name: one(value) for name, value in kwargs.items()}


@mini_autocast.mistake(breaks=WHEREVER)
class NoListsByKeyword(Steps):
    """A tensor in a list that is given by keyword was not cast. Keywords hold lists as places do."""

    def mapped(self, cast: Any, args: Any, kwargs: Any) -> Any:
        plain = {name: cast(v) if isinstance(v, Tensor) else v for name, v in kwargs.items()}
        return tree_map_only(Tensor, cast, args), plain


@mini_autocast.mistake(breaks=UNCHANGED)
class ListInPlace(Steps):
    """The caller's own list was written to: it holds the casts now. The function is to get a new list."""

    def mapped(self, cast: Any, args: Any, kwargs: Any) -> Any:
        def one(value: Any) -> Any:
            if isinstance(value, list):
                value[:] = [one(each) for each in value]
                return value
            return cast(value) if isinstance(value, Tensor) else value

        return tuple(map(one, args)), {name: one(value) for name, value in kwargs.items()}


@mini_autocast.mistake(breaks=UNCHANGED)
class TheLeafItself(Steps):
    """The argument was changed itself: a leaf has a different dtype or a different memory now. The optimizer loses its float32 digits."""

    def kept(self, t: Tensor) -> Tensor:
        t.data = t.data.to(self.dtype)
        return t


# Once.


@mini_autocast.mistake(breaks=ONCE)
class EachTime(Steps):
    """A leaf was cast each time it was used. A weight that is used three times needs one cast."""

    def is_kept(self, t: Tensor) -> bool:
        return False


@mini_autocast.mistake(breaks=ONCE)
class ParametersOnly(Steps):
    """A plain leaf that requires grad was cast more often than once, an nn.Parameter only once. A leaf need not be a Parameter."""

    def is_kept(self, t: Tensor) -> bool:
        return isinstance(t, nn.Parameter) and t.requires_grad


@mini_autocast.mistake(breaks=ONCE)
class OnlyWithoutGradient(Steps):
    """A leaf that has a gradient was cast more often than once. With two small batches in one step, each weight has one in the second."""

    def is_kept(self, t: Tensor) -> bool:
        return t.is_leaf and t.requires_grad and t.grad is None


@mini_autocast.mistake(breaks=ONCE)
class OnlySoMany(Steps):
    """Few leaves were cast once each, and many were cast again: the casts have room for a limited number, perhaps."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.cast_of = functools.lru_cache(128)(super().cast)

    def kept(self, t: Tensor) -> Tensor:
        with torch.enable_grad():
            return self.cast_of(t)

    def forget(self) -> None:
        self.cast_of.cache_clear()


@mini_autocast.mistake(breaks=ONCE)
class OnlyWithGrad(Steps):
    """Under no_grad the leaf was cast more often than once. An evaluation uses a weight often, too."""

    def kept(self, t: Tensor) -> Tensor:
        return super().kept(t) if torch.is_grad_enabled() else self.cast(t)


@mini_autocast.mistake(breaks=ONCE)
class OneForEachMode(Steps):
    """In a block with uses under no_grad and with grad the leaf was cast twice: a cast with a way back serves both."""

    def kept(self, t: Tensor) -> Tensor:
        key = id(t), torch.is_grad_enabled()
        if key not in self.casts:
            self.casts[key] = (t, self.cast(t))
        return self.casts[key][1]


@mini_autocast.mistake(breaks=AUTOCAST)
class FunctionWithGrad(Steps):
    """Under no_grad a function gave a result that requires grad. It is only the cast that needs grad enabled."""

    def called(self, func: Any, args: Any, kwargs: Any) -> Any:
        with (
            torch.set_grad_enabled(True)
            if func.__name__ in self.lower
            else torch.autograd.profiler.record_function("x")
        ):
            return func(*args, **kwargs)


# Gradients.


@mini_autocast.mistake(breaks=GRADIENTS)
class Detached(Steps):
    """No gradient came to a leaf, or the result had no way back at all. Perhaps the cast was made of a detached tensor."""

    def cast(self, t: Tensor) -> Tensor:
        return t.detach().to(self.dtype)


@mini_autocast.variant(Detached)
class OfItsData(Steps):
    def cast(self, t: Tensor) -> Tensor:
        with torch.no_grad():
            return t.to(self.dtype)


@mini_autocast.mistake(breaks=GRADIENTS)
class ALeafAgain(Steps):
    """The leaf got no gradient, though the result requires grad: perhaps the cast is a leaf of its own, and got it instead."""

    def kept(self, t: Tensor) -> Tensor:
        if id(t) not in self.casts:
            self.casts[id(t)] = (t, t.detach().to(self.dtype).requires_grad_())
        return self.casts[id(t)][1]


@mini_autocast.mistake(breaks=GRADIENTS)
class MadeUnderNoGrad(Steps):
    """After a first use under no_grad the leaf got no gradient in the rest of the block: the cast that no_grad made has no way back."""

    def kept(self, t: Tensor) -> Tensor:
        if id(t) not in self.casts:
            self.casts[id(t)] = (t, self.cast(t))
        return self.casts[id(t)][1]


class _Cast(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, leaf: Tensor, cast: Tensor) -> Tensor:
        return cast.view_as(cast)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad.float(), None


@mini_autocast.mistake(breaks=AUTOCAST)
class AddedInFloat32(Steps):
    """The gradient of a leaf that is used several times is not that of torch.autocast, bit for bit. There the uses share one cast, and
    their gradients are added in `dtype` before they go back through it.
    """

    def kept(self, t: Tensor) -> Tensor:
        if id(t) not in self.casts:
            self.casts[id(t)] = (t, t.detach().to(self.dtype))
        return _Cast.apply(t, self.casts[id(t)][1])


@mini_autocast.mistake(breaks=GRADIENTS)
class RaisedWithoutGrad(Steps):
    """No gradient went back through a function of `higher`. Perhaps its tensors were cast under no_grad, or detached."""

    def raised(self, t: Tensor) -> Tensor:
        with torch.no_grad():
            return super().raised(t)


# What stays.


@mini_autocast.mistake(breaks=LOWERED)
class KeyedByMemory(Steps):
    """A leaf got the cast of a different one: two without numbers, or two on one memory. Perhaps casts are looked up by `data_ptr()`, which is
    the same for both.
    """

    def key(self, t: Tensor) -> Any:
        return t.data_ptr()


@mini_autocast.variant(KeyedByMemory)
class KeyedByMemoryAndShape(Steps):
    def key(self, t: Tensor) -> Any:
        return t.data_ptr(), t.shape


@mini_autocast.mistake(breaks=LOWERED)
class KeepsAllCasts(Steps):
    """A tensor that is no leaf was changed in the block, and its old cast was used again. Only leaves that require grad keep a cast."""

    def is_kept(self, t: Tensor) -> bool:
        return True


@mini_autocast.variant(KeepsAllCasts)
class KeepsWhatRequiresGrad(Steps):
    def is_kept(self, t: Tensor) -> bool:
        return t.requires_grad


@mini_autocast.mistake(breaks=LOWERED)
class IdsOfTheFreed(Steps):
    """A function got the cast of a tensor that was freed before: a new one has its id or its memory. Whoever looks up by id keeps the
    tensor too, or asks whether it is still the same.
    """

    def is_kept(self, t: Tensor) -> bool:
        return t.is_leaf

    def kept(self, t: Tensor) -> Tensor:
        if id(t) not in self.casts:
            with torch.enable_grad():
                self.casts[id(t)] = (None, self.cast(t))
        return self.casts[id(t)][1]


@mini_autocast.mistake(breaks=LOWERED)
class IdsOfFreedLeaves(Steps):
    """A function got the cast of a leaf that was freed before: a new leaf has its id or its memory. Whoever looks up by id keeps the
    leaf too, or asks whether it is still the same.
    """

    def kept(self, t: Tensor) -> Tensor:
        if id(t) not in self.casts:
            self.casts[id(t)] = [t.detach().to(self.dtype), None]
        pair = self.casts[id(t)]
        if not torch.is_grad_enabled():
            return pair[0]
        if pair[1] is None:
            pair[1] = _Cast.apply(t, pair[0])
        return pair[1]


@mini_autocast.mistake(breaks="until the outermost block of this object ends")
class ForgetsInside(Steps):
    """After an inner block of the same object the leaf was cast once more. Casts are forgotten when the outermost block ends."""

    def end(self, *error: Any) -> None:
        self.depth -= 1
        self.forget()


@mini_autocast.mistake(breaks="until the outermost block of this object ends")
class EachBlockItsOwn(Steps):
    """An inner block of the same object cast the leaf once more, and so did the next inside it. The cast of the outermost block serves
    them all.
    """

    def begin(self) -> None:
        super().begin()
        self.outer = [*getattr(self, "outer", []), self.casts]
        self.casts = {}

    def end(self, *error: Any) -> None:
        self.depth -= 1
        self.casts = self.outer.pop()


@mini_autocast.mistake(breaks="until the outermost block of this object ends")
class OffInside(Steps):
    """After an inner block of the same object the outer one cast nothing any more. It has not ended."""

    def end(self, *error: Any) -> None:
        super().end(*error)
        self.is_on = False

    def begin(self) -> None:
        super().begin()
        self.is_on = True

    def lowered(self, t: Tensor) -> Tensor:
        return super().lowered(t) if self.is_on else t


@mini_autocast.mistake(breaks=ONCE)
class OneForAllObjects(Steps):
    """Two objects shared their casts: one gave the other's dtype, or ended its casts. Perhaps the dict is the class's own."""

    shared: ClassVar[dict[int, Any]] = {}

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.casts = self.shared


@mini_autocast.mistake(breaks="until the outermost block of this object ends")
class OneDepthForAll(Steps):
    """A block in one of a different object ended, and its cast was still alive. Perhaps the open blocks of all objects are counted together."""

    open: ClassVar[list[int]] = []

    def begin(self) -> None:
        self.open.append(1)

    def end(self, *error: Any) -> None:
        self.open.pop()
        if not self.open:
            self.forget()


@mini_autocast.mistake(breaks=FORGOTTEN)
class NeverForgets(Steps):
    """A second block used the cast of the first, though the weight had changed: that is the step of the optimizer, forgotten."""

    def forget(self) -> None:
        pass


@mini_autocast.mistake(breaks=FORGOTTEN)
class ForgetsAtTheStart(Steps):
    """After the block the cast was still alive: nothing was forgotten yet. It takes half the memory of the weights, until perhaps the
    next block begins.
    """

    def begin(self) -> None:
        if self.depth == 0:
            self.casts.clear()
        super().begin()

    def forget(self) -> None:
        pass


@mini_autocast.mistake(breaks=FORGOTTEN)
class KeepsTheLeaf(Steps):
    """The cast was freed, and the leaf was not: something of the block still holds it."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.seen: dict[int, Tensor] = {}

    def kept(self, t: Tensor) -> Tensor:
        self.seen[id(t)] = t
        return super().kept(t)


@mini_autocast.mistake(breaks=FORGOTTEN)
class NotAfterAnError(Steps):
    """After a block that an error ended, the cast was still alive. `__exit__` runs for an error, too, and has to clean up as always."""

    def end(self, *error: Any) -> None:
        self.depth -= 1
        if self.depth == 0 and error[0] is None:
            self.forget()


@mini_autocast.mistake(breaks="until the outermost block of this object ends")
class ForgetsAtAnError(Steps):
    """After an error in an inner block the leaf was cast once more. The outermost block goes on, and its casts with it."""

    def end(self, *error: Any) -> None:
        if error[0] is not None:
            self.forget()
        super().end(*error)


@mini_autocast.mistake(breaks=PASSES)
class SwallowsInside(Steps):
    """An error of an inner block did not come out of it. `__exit__` swallows the error when it returns something that is true."""

    def __exit__(self, *error: Any) -> Any:
        super().__exit__(*error)
        return self.depth > 0


@mini_autocast.mistake(breaks=PASSES)
class Swallows(Steps):
    """An error of the block did not come out of it. `__exit__` swallows the error when it returns something that is true."""

    def __exit__(self, *error: Any) -> Any:
        super().__exit__(*error)
        return True


@mini_autocast.mistake(breaks=ENDED)
class NeverLeaves(Steps):
    """After the block the mode was still on. TorchFunctionMode's own `__exit__` takes it off: it is to be called, too."""

    def __exit__(self, *error: Any) -> Any:
        self.end(*error)
