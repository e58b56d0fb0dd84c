"""What 12.bytes_moved runs, and what is left of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes

from helpers.labs.dispatch.bytes_moved.exercise import (
    BYTES,
    ERRORS,
    KEPT,
    META,
    ONCE,
    SUM,
    bytes_moved,
)
from helpers.labs.dispatch.bytes_moved.right import Mode, Steps, by_steps, tensors

bank = bytes_moved.bank(by_steps)


# What is called, and when.


class _Functions(TorchFunctionMode):
    def __init__(self, steps: Any) -> None:
        super().__init__()
        self.steps = steps

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if tensors((args, kwargs, result)):
            moved = sum(map(self.steps.size, tensors((args, kwargs, result))))
            name = f"aten.{getattr(func, '__name__', func)}.default"
            self.steps.moved[name] = self.steps.moved.get(name, 0) + moved
        return result


@bank.mistake(breaks=BYTES)
class AboveAutograd(Steps):
    """The names are those of functions of Python, as "add", and no operations of torch. That is what a `TorchFunctionMode` sees."""

    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        with _Functions(self):
            fn(*args)
        return self.moved


@bank.mistake(breaks=BYTES)
class ForwardOnly(Steps):
    """What a backward moves is missing. Its operations are operations of `fn`, too."""

    def add(self, func: Any, size: int) -> None:
        if torch._C._current_autograd_node() is None:
            super().add(func, size)


@bank.mistake(breaks=BYTES)
class WithoutGrad(Steps):
    """An `fn` that runs a backward raises: nothing was recorded. Perhaps it runs under no_grad."""

    @torch.no_grad()
    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        return super().count(fn, args)


@bank.mistake(breaks=ONCE)
class RunsTwice(Steps):
    """fn is called twice. Perhaps once to warm up, or to get its result."""

    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        fn(*args)
        return super().count(fn, args)


@bank.mistake(breaks=BYTES)
class CopiesOfArguments(Steps):
    """fn gets other tensors than bytes_moved got: perhaps copies. What fn does to its arguments is then lost."""

    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        return super().count(
            fn, tuple(each.detach().clone().requires_grad_(each.requires_grad) for each in args)
        )


@bank.mistake(breaks=BYTES)
class RunsABackward(Steps):
    """Operations count that do not run in fn, where fn returns a loss. Perhaps a backward is run from it: if there is to be one, fn runs it."""

    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        with Mode(self):
            result = fn(*args)
            if isinstance(result, Tensor) and result.requires_grad and result.numel() == 1:
                result.backward()
        return self.moved


@bank.mistake(breaks=BYTES)
class GradientsOn(Steps):
    """Under no_grad around the call, gradients are recorded in fn. Perhaps they are switched on for it: fn is called as it would be without bytes_moved."""

    @torch.enable_grad()
    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        return super().count(fn, args)


@bank.mistake(breaks=ONCE)
class HidesFromOthers(Steps):
    """A mode around the call of bytes_moved does not see what runs in fn. Perhaps the modes that are there are switched off for it."""

    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        with _disable_current_modes():
            return super().count(fn, args)


@bank.variant(HidesFromOthers)
class _(Steps):
    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        with _disable_current_modes():
            return super().seen(func, args, kwargs)


@bank.mistake(breaks=ERRORS)
class ErrorsWrapped(Steps):
    """When fn raises, a different error comes out. Perhaps it is caught, and put into a new one: it is to pass through as it is."""

    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        try:
            return super().count(fn, args)
        except Exception as error:
            raise RuntimeError(f"fn raised {error!r}") from error


@bank.mistake(breaks=ERRORS)
class SwallowsErrors(Steps):
    """What fn raises does not come out. It has to pass through."""

    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        try:
            return super().count(fn, args)
        except Exception:
            return self.moved


@bank.mistake(breaks=ERRORS)
class StaysOnAfterAnError(Steps):
    """When fn raises, the mode stays on: operations behind the call still go through it. `with` ends it in each case."""

    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        mode = Mode(self)
        mode.__enter__()
        fn(*args)
        mode.__exit__(None, None, None)
        return self.moved


_everything: dict[Any, Any] = {}


@bank.mistake(breaks=SUM)
class AllCallsTogether(Steps):
    """What earlier calls of bytes_moved counted is still there. Perhaps the dict is a default argument, or a global: each call
    begins with an empty one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.moved = _everything


_until_the_end: dict[Any, Any] = {}


@bank.mistake(breaks=BYTES)
class LeftByAnError(Steps):
    """What a call counted in which fn raised is in the result of the next one, and after others nothing is left. Perhaps all calls share
    a dict that is emptied at the end of each: an error skips this line.
    """

    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        self.moved = _until_the_end
        found = dict(super().count(fn, args))
        self.moved.clear()
        return found


class _GivesBack(Steps):
    """What comes back in fn is not what the operation returns where it writes."""

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        return self.back(func, args, kwargs, super().seen(func, args, kwargs))

    def back(self, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        one = isinstance(result, Tensor) and bool(args) and isinstance(args[0], Tensor)
        return args[0] if one and func._schema.is_mutable else result


@bank.mistake(breaks=BYTES)
class FirstArgumentBack(_GivesBack):
    """An operation that writes to an argument and gives something new gives its first argument in fn. Perhaps what writes was taken to return
    that, as `add_` does. What the operation returns is returned as it is.
    """


@bank.variant(FirstArgumentBack)
class _(_GivesBack):
    def back(self, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        first, one = func._schema.arguments[:1], isinstance(result, Tensor)
        return args[0] if one and first and first[0].is_write else result


@bank.mistake(breaks=BYTES)
class ListForOut(_GivesBack):
    """`cat` with `out=` raises in fn, and without bytes_moved it does not. Perhaps the first argument comes back for what writes, and that of `cat`
    is a list. What the operation returns is returned as it is.
    """

    def back(self, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        return args[0] if func._schema.is_mutable and len(func._schema.returns) == 1 else result


@bank.mistake(breaks=BYTES)
class ListsWrittenBack(_GivesBack):
    """An operation that writes to the tensors of a list raises in fn, and those that write to one tensor do not. Perhaps the list is returned
    for it: by its schema it gives nothing. What the operation returns is returned as it is, None, too.
    """

    def back(self, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        return args[0] if func._schema.name.endswith("_") else result


@bank.variant(ListsWrittenBack)
class _(_GivesBack):
    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        return kwargs.get("out", Steps.seen(self, func, args, kwargs))


@bank.mistake(breaks=BYTES)
class WrittenBack(_GivesBack):
    """An operation that writes to an argument and gives something new gives this argument in fn. Perhaps what the schema says is written was
    taken for what is returned. What the operation returns is returned as it is.
    """

    def back(self, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        written = self.written(func, args, kwargs)
        return written[0] if written and isinstance(result, Tensor) else result

    def written(self, func: Any, args: Any, kwargs: Any) -> list[Tensor]:
        return self.changed(func, args, kwargs)


@bank.mistake(breaks=BYTES)
class OneDictForAll(Steps):
    """Where fn calls bytes_moved itself, the two mix. Perhaps they share a dict that is emptied at the beginning of each call."""

    shared: dict[Any, Any] = {}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.moved = self.shared
        self.moved.clear()

    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        return dict(super().count(fn, args))


@bank.mistake(breaks=META)
class RunsOnTheProcessor(Steps):
    """On the meta device real memory is made. Perhaps real tensors were put in place of those that have none."""

    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        real = tuple(
            torch.zeros_like(each, device="cpu").requires_grad_(each.requires_grad) if each.is_meta else each
            for each in args
        )
        return super().count(fn, real)


@bank.variant(SwallowsErrors)
class _(Steps):
    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        try:
            return super().count(fn, args)
        except RuntimeError:
            return self.moved


@bank.mistake(breaks=BYTES)
class UnderInference(Steps):
    """Where fn runs `mm`, it is not there. Perhaps fn runs under inference_mode: then a product comes whole, as `matmul`."""

    @torch.inference_mode()
    def count(self, fn: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
        return super().count(fn, args)


@bank.variant(UnderInference)
class _(UnderInference):
    def only_memory(self, func: Any) -> bool:
        return func.is_view or super().only_memory(func)


@bank.mistake(breaks=KEPT)
class KeepsResults(Steps):
    """What the operations of fn make stays alive while fn runs. Perhaps their results are kept, so that no address comes twice."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Any] = []

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.kept.append(super().seen(func, args, kwargs))
        return self.kept[-1]


@bank.mistake(breaks=KEPT)
class KeepsArguments(Steps):
    """Tensors that operations of fn were given stay alive while fn runs. Perhaps arguments are kept, to be counted at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Any] = []

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.kept.append(args)
        return super().seen(func, args, kwargs)


@bank.variant(KeepsResults)
class _(KeepsArguments):
    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.kept.append(super().seen(func, args, kwargs))
        return self.kept[-1]


@bank.mistake(breaks=KEPT)
class KeepsTheLast(Steps):
    """What the last operation was given, or has made, stays alive until the next one. Perhaps one of both is put under a name that stays."""

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.last = super().seen(func, args, kwargs)
        return self.last


@bank.variant(KeepsTheLast)
class _(Steps):
    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.last = args
        return super().seen(func, args, kwargs)
