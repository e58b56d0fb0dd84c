"""What stays of 12.mini_autocast, in a block and after it."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from helpers.labs.dispatch.mini_autocast.exercise import (
    ENDED,
    FORGOTTEN,
    LOWERED,
    ONCE,
    PASSES,
    mini_autocast,
)
from helpers.labs.dispatch.mini_autocast.mistakes.keeping import WayBack
from helpers.labs.dispatch.mini_autocast.right import Steps

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
class KeepsAllLeaves(Steps):
    """A tensor that does not require grad was changed in the block, and its old cast was used again. Under no_grad every tensor is a
    leaf: only leaves that require grad keep a cast.
    """

    def is_kept(self, t: Tensor) -> bool:
        return t.is_leaf


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
            pair[1] = WayBack.apply(t, pair[0])
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
    """After the block the cast was still alive. It takes half the memory of the weights: perhaps nothing is forgotten before the next
    block begins.
    """

    def begin(self) -> None:
        if self.depth == 0:
            self.casts.clear()
        super().begin()

    def forget(self) -> None:
        pass


@mini_autocast.variant(ForgetsAtTheStart)
class KeepsTheLastCall(Steps):
    def called(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.last = func, args, kwargs
        return super().called(func, args, kwargs)


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


@mini_autocast.mistake(breaks=ENDED)
class OnAfterAnError(Steps):
    """After a block that an error ended, the mode was still on. TorchFunctionMode's own `__exit__` is to be called for an error, too."""

    def __exit__(self, *error: Any) -> Any:
        if error[0] is None:
            return super().__exit__(*error)
        return self.end(*error)


@mini_autocast.mistake(breaks=LOWERED)
class HidesOuterModes(Steps):
    """In an inner block of a different object, the outer one did not cast what stands in its own set only. Perhaps the function was
    called with all modes off: TorchFunctionMode has taken off this one already.
    """

    def called(self, func: Any, args: Any, kwargs: Any) -> Any:
        with torch._C.DisableTorchFunction():
            return func(*args, **kwargs)
