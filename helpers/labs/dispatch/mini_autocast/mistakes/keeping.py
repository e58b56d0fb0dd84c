"""Casts of 12.mini_autocast that are kept, and their gradients."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map_only

from helpers.labs.dispatch.mini_autocast.exercise import (
    AUTOCAST,
    GRADIENTS,
    ONCE,
    RAISED,
    mini_autocast,
)
from helpers.labs.dispatch.mini_autocast.right import Steps

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
class OneForEachFunction(Steps):
    """A leaf that three functions use was cast more often than once, and only once for one function. One cast serves all functions."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.name = func.__name__
        return super().__torch_function__(func, types, args, kwargs)

    def key(self, t: Tensor) -> Any:
        return self.name, id(t)


@mini_autocast.mistake(breaks="A float32 leaf that requires grad")
class StillKeptWhenFrozen(Steps):
    """A leaf was frozen in the block, by `requires_grad_(False)`, and the result still requires grad. Perhaps its cast is looked up before
    it is asked whether the leaf requires grad.
    """

    def is_kept(self, t: Tensor) -> bool:
        return super().is_kept(t) or id(t) in self.casts


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


class WayBack(torch.autograd.Function):
    """Gives a cast that was made of a leaf, with a way back to it."""

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
        return WayBack.apply(t, self.casts[id(t)][1])


@mini_autocast.mistake(breaks=GRADIENTS)
class RaisedWithoutGrad(Steps):
    """No gradient went back through a function of `higher`. Perhaps its tensors were cast under no_grad, or detached."""

    def raised(self, t: Tensor) -> Tensor:
        with torch.no_grad():
            return super().raised(t)


@mini_autocast.mistake(breaks=GRADIENTS)
class ActivationsWithoutGrad(Steps):
    """No gradient went back through the cast of a tensor that is no leaf, as the result of a layer is none. The casts of the leaves have
    their way back, the others need one, too.
    """

    def lowered(self, t: Tensor) -> Tensor:
        if t.is_leaf or t.dtype != torch.float32:
            return super().lowered(t)
        with torch.no_grad():
            return self.cast(t)


@mini_autocast.variant(RaisedWithoutGrad)
class RaisedActivationsWithoutGrad(Steps):
    def raised(self, t: Tensor) -> Tensor:
        with torch.set_grad_enabled(t.is_leaf and torch.is_grad_enabled()):
            return super().raised(t) if t.dtype in (torch.float16, torch.bfloat16) else t


# Once, wherever the leaf stands.


@mini_autocast.mistake(breaks=ONCE)
class KeywordsEachTime(Steps):
    """A leaf that was given by keyword was cast once more, though it had its cast: F.linear(x, weight=w) uses the same one."""

    def mapped(self, cast: Any, args: Any, kwargs: Any) -> Any:
        fresh = self.fresh if cast == self.lowered else cast
        return tree_map_only(Tensor, cast, args), tree_map_only(Tensor, fresh, kwargs)

    def fresh(self, t: Tensor) -> Tensor:
        return self.cast(t) if t.dtype == torch.float32 else t


@mini_autocast.mistake(breaks=ONCE)
class ListsEachTime(KeywordsEachTime):
    """A leaf in a list or in a tuple was cast once more, though it had its cast: torch.cat([w, w]) uses the same one."""

    def mapped(self, cast: Any, args: Any, kwargs: Any) -> Any:
        fresh = self.fresh if cast == self.lowered else cast

        def one(value: Any) -> Any:
            return cast(value) if isinstance(value, Tensor) else tree_map_only(Tensor, fresh, value)

        return tuple(map(one, args)), {name: one(value) for name, value in kwargs.items()}


@mini_autocast.variant(ListsEachTime)
class TuplesEachTime(KeywordsEachTime):
    def mapped(self, cast: Any, args: Any, kwargs: Any) -> Any:
        fresh = self.fresh if cast == self.lowered else cast

        def one(value: Any) -> Any:
            return tree_map_only(Tensor, fresh if isinstance(value, tuple) else cast, value)

        return tuple(map(one, args)), {name: one(value) for name, value in kwargs.items()}


@mini_autocast.mistake(breaks=ONCE)
class NumbersEachTime(Steps):
    """A leaf without dimensions was cast each time it was used. A temperature that is trained is such a leaf."""

    def is_kept(self, t: Tensor) -> bool:
        return super().is_kept(t) and t.dim() > 0


# Casts of `higher`.


class _Higher(Steps):
    """Keeps what it casts to float32."""

    def raised(self, t: Tensor) -> Tensor:
        if t.dtype not in (torch.float16, torch.bfloat16) or not self.is_raised_once(t):
            return super().raised(t)
        if id(t) not in self.casts:
            with torch.set_grad_enabled(self.with_grad()):
                self.casts[id(t)] = (t, t.float())
        return self.casts[id(t)][1]

    def is_raised_once(self, t: Tensor) -> bool:
        return True

    def with_grad(self) -> bool:
        return True


@mini_autocast.mistake(breaks=RAISED)
class HigherKeepsCasts(_Higher):
    """A tensor for `higher` was changed in the block, and its old float32 cast was used again. Only the casts of float32 leaves are
    kept.
    """


@mini_autocast.variant(HigherKeepsCasts)
class HigherKeepsCastsInItsMode(_Higher):
    def with_grad(self) -> bool:
        return torch.is_grad_enabled()


@mini_autocast.variant(HigherKeepsCasts)
class HigherKeepsWhatRequiresGrad(_Higher):
    def is_raised_once(self, t: Tensor) -> bool:
        return t.requires_grad


@mini_autocast.variant(HigherKeepsCasts)
class HigherKeepsAllLeaves(_Higher):
    def is_raised_once(self, t: Tensor) -> bool:
        return t.is_leaf


@mini_autocast.mistake(breaks=GRADIENTS)
class HigherUnderNoGrad(_Higher):
    """After a first use under no_grad, no gradient went back through a function of `higher`. Perhaps its cast is kept, and was made
    under no_grad.
    """

    def is_raised_once(self, t: Tensor) -> bool:
        return self.is_kept(t)

    def with_grad(self) -> bool:
        return torch.is_grad_enabled()


@mini_autocast.mistake(breaks=AUTOCAST)
class HigherOneForAll(_Higher):
    """The gradient of a leaf that two functions of `higher` use is not that of torch.autocast, bit for bit. There each use has a cast of
    its own. Perhaps one is kept for both, and their gradients are added in float32.
    """

    def is_raised_once(self, t: Tensor) -> bool:
        return self.is_kept(t)
