"""What 12.mini_autocast casts, and what it leaves."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map_only

from helpers.labs.dispatch.mini_autocast.exercise import (
    AUTOCAST,
    LOWERED,
    OTHERS,
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


@mini_autocast.mistake(breaks="sets of names of functions, as in `func.__name__`")
class FunctionsNotNames(Steps):
    """`x @ y` worked in float32, torch.mm did not. The operator comes as a method of Tensor, with a name of `lower`: perhaps the functions
    themselves were looked up, and not their names.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        known = {getattr(place, name, None) for place in (torch, F) for name in {*self.lower, *self.higher}}
        if func in known:
            return super().__torch_function__(func, types, args, kwargs)
        return func(*args, **kwargs or {})


@mini_autocast.mistake(breaks=LOWERED)
class OnlyIfAllFloat32(Steps):
    """A function of `lower` got its float32 tensor as it is, since a tensor of a different dtype stood beside it. Each float32
    tensor is cast, whatever the others are: in a second layer the input is bfloat16 already.
    """

    def mapped(self, cast: Any, args: Any, kwargs: Any) -> Any:
        tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, Tensor)]
        if cast == self.lowered and any(t.dtype != torch.float32 for t in tensors):
            return args, kwargs
        return super().mapped(cast, args, kwargs)


@mini_autocast.variant(OnlyIfAllFloat32)
class OnlyIfAllFloatsFloat32(Steps):
    def mapped(self, cast: Any, args: Any, kwargs: Any) -> Any:
        tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, Tensor)]
        if cast == self.lowered and any(t.is_floating_point() and t.dtype != torch.float32 for t in tensors):
            return args, kwargs
        return super().mapped(cast, args, kwargs)


@mini_autocast.mistake(breaks=OTHERS)
class ListsBecomeTuples(Steps):
    """A list of numbers came to the function as a tuple. It is no tensor, and stays as it is."""

    def mapped(self, cast: Any, args: Any, kwargs: Any) -> Any:
        def one(value: Any) -> Any:
            if isinstance(value, list | tuple):
                return tuple(one(each) for each in value)
            return cast(value) if isinstance(value, Tensor) else value

        return tuple(map(one, args)), {name: one(value) for name, value in kwargs.items()}


@mini_autocast.mistake(breaks=OTHERS)
class TuplesBecomeLists(Steps):
    """A tuple of numbers came to the function as a list. It is no tensor, and stays as it is."""

    def mapped(self, cast: Any, args: Any, kwargs: Any) -> Any:
        def one(value: Any) -> Any:
            if isinstance(value, list | tuple):
                return [one(each) for each in value]
            return cast(value) if isinstance(value, Tensor) else value

        return tuple(map(one, args)), {name: one(value) for name, value in kwargs.items()}


@mini_autocast.mistake(breaks=WHEREVER)
class HigherByPlaceOnly(Steps):
    """A function of `higher` got a tensor that was given by keyword or in a list as it is. One of `lower` got it cast: the two take
    their tensors from the same places.
    """

    def mapped(self, cast: Any, args: Any, kwargs: Any) -> Any:
        if cast == self.lowered:
            return super().mapped(cast, args, kwargs)
        return tuple(cast(each) if isinstance(each, Tensor) else each for each in args), kwargs


@mini_autocast.variant(HigherByPlaceOnly)
class HigherNotByKeyword(Steps):
    def mapped(self, cast: Any, args: Any, kwargs: Any) -> Any:
        if cast == self.lowered:
            return super().mapped(cast, args, kwargs)
        return tree_map_only(Tensor, cast, args), kwargs


@mini_autocast.variant(HigherByPlaceOnly)
class HigherNotInLists(Steps):
    def mapped(self, cast: Any, args: Any, kwargs: Any) -> Any:
        def one(value: Any) -> Any:
            return cast(value) if isinstance(value, Tensor) else value

        if cast == self.lowered:
            return super().mapped(cast, args, kwargs)
        return tuple(map(one, args)), {name: one(value) for name, value in kwargs.items()}


@mini_autocast.mistake(breaks=LOWERED)
class NumbersStay(Steps):
    """A tensor without dimensions was not cast. A loss and a temperature have none, and are tensors like all others."""

    def lowered(self, t: Tensor) -> Tensor:
        return super().lowered(t) if t.dim() else t


@mini_autocast.variant(NumbersStay)
class HigherNumbersStay(Steps):
    def raised(self, t: Tensor) -> Tensor:
        return super().raised(t) if t.dim() else t


@mini_autocast.mistake(breaks=LOWERED)
class EmptyStay(Steps):
    """A tensor without elements was not cast. A function checks the dtypes of its tensors before their sizes."""

    def lowered(self, t: Tensor) -> Tensor:
        return super().lowered(t) if t.numel() else t


@mini_autocast.variant(EmptyStay)
class HigherEmptyStay(Steps):
    def raised(self, t: Tensor) -> Tensor:
        return super().raised(t) if t.numel() else t


@mini_autocast.mistake(breaks=LOWERED)
class TheDefaultDtype(Steps):
    """Where the default dtype is float64, a function of `lower` got float32 tensors as they are. Perhaps the tensors' dtype was
    compared with the default one.
    """

    def lowered(self, t: Tensor) -> Tensor:
        if t.dtype != torch.get_default_dtype():
            return t
        return self.kept(t) if self.is_kept(t) else self.cast(t)
