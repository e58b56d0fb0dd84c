"""What people write for 05.call: arguments, results and keyword arguments."""

from __future__ import annotations

import copy
from typing import Any

import torch.nn.modules.module as hooks
from torch import nn

from helpers.labs.module.call.exercise import call
from helpers.labs.module.call.right import Call


@call.mistake()
def forward_only(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    """module.forward(x) runs forward and nothing else. All that is built on hooks (DDP, parametrizations,
    profilers, recorders) is passed by.
    """
    return module.forward(*args, **kwargs)


@call.mistake()
def calls_the_module(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    """module(...) was called. It does all of it, and this exercise is to write what it does."""
    return module(*args, **kwargs)


@call.variant(calls_the_module)
def _(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    return nn.Module._call_impl(module, *args, **kwargs)


@call.mistake()
class PreHooksOnlyLook(Call):
    """What the pre-hooks return was dropped. A value becomes the new arguments."""

    def is_value(self, got: Any) -> bool:
        return False


@call.mistake()
class HooksOnlyLook(Call):
    """What the hooks return was dropped. A value becomes the new result of the call."""

    def is_result(self, got: Any) -> bool:
        return False


@call.mistake()
class BareValueUnpacked(Call):
    """A pre-hook may return one bare value. It must be put into a tuple; *args takes a list or a tensor
    apart, and a number not at all.
    """

    def as_args(self, got: Any) -> Any:
        return got


@call.variant(BareValueUnpacked)
class _(Call):
    def as_args(self, got: Any) -> Any:
        return tuple(got)


@call.variant(BareValueUnpacked)
class _(Call):
    def as_args(self, got: Any) -> Any:
        return tuple(got) if isinstance(got, (list, tuple)) else (got,)


@call.mistake()
class TuplePutIntoATuple(Call):
    """Whatever a pre-hook returned was put into a tuple, a tuple as well: forward gets one argument, a tuple."""

    def as_args(self, got: Any) -> Any:
        return (got,)


@call.mistake()
class FalsyValueDropped(Call):
    """`if got:` and `got or result` take 0, False and an empty list for None (and a tensor of several
    elements raises). Ask `is not None`.
    """

    def is_value(self, got: Any) -> bool:
        return bool(got)

    def is_result(self, got: Any) -> bool:
        return bool(got)


@call.variant(FalsyValueDropped)
class _(Call):
    def is_value(self, got: Any) -> bool:
        return bool(got)


@call.variant(FalsyValueDropped)
class _(Call):
    def is_result(self, got: Any) -> bool:
        return bool(got)


@call.mistake()
class NoneIsAResult(Call):
    """The result was set to what a hook returned, None included. Most hooks only look, and return None."""

    def is_result(self, got: Any) -> bool:
        return True


@call.mistake()
class FirstArgumentsForTheHooks(Call):
    """The hooks after forward were given the arguments of the call. They get what forward got, with what
    pre-hooks changed.
    """

    def whole(self) -> Any:
        self.first = self.args, self.kwargs
        return super().whole()

    def after(self) -> None:
        self.args, self.kwargs = self.first
        super().after()


@call.variant(FirstArgumentsForTheHooks)
class _(Call):
    def whole(self) -> Any:
        self.first = self.args
        return super().whole()

    def after(self) -> None:
        self.args = self.first
        super().after()


@call.mistake()
class EachHookSeesTheFirstResult(Call):
    """Every hook was given the result of forward. The hooks are a chain: what one returns, the next is given."""

    def after(self) -> None:
        first, last = self.result, self.result
        for id, hook in self.post_hooks():
            self.result = first
            self.post(id, hook)
            last = last if self.result is first else self.result
        self.result = last


@call.mistake()
class KwargsOfThePreHookLost(Call):
    """A pre-hook with with_kwargs returned (args, kwargs), and only the arguments were taken: forward gets
    the old keyword arguments.
    """

    def replace_both(self, got: Any) -> None:
        kwargs = self.kwargs
        super().replace_both(got)
        self.kwargs = kwargs


@call.mistake()
class KwargsMerged(Call):
    """The keyword arguments of a pre-hook were merged into the old ones. They replace them, so that a hook
    can take one away.
    """

    def replace_both(self, got: Any) -> None:
        kwargs = self.kwargs
        super().replace_both(got)
        self.kwargs = {**kwargs, **self.kwargs}


@call.mistake()
class KwargsLostForForward(Call):
    """forward was called without the keyword arguments."""

    def forward(self) -> None:
        self.result = self.module.forward(*self.args)


@call.mistake()
class WithKwargsIgnored(Call):
    """Hooks that were registered with with_kwargs=True take the keyword arguments as well, after args. Their
    ids stand in dicts whose names end in _with_kwargs.
    """

    def takes_kwargs(self, id: int) -> bool:
        return False

    def pre(self, id: int, hook: Any) -> None:
        if self.is_value(got := hook(self.module, self.args)):
            self.args = self.as_args(got)


@call.variant(WithKwargsIgnored)
def _(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    """A first version: no options, no errors."""
    for hook in (*hooks._global_forward_pre_hooks.values(), *module._forward_pre_hooks.values()):
        got = hook(module, args)
        if got is not None:
            args = got if isinstance(got, tuple) else (got,)
    result = module.forward(*args, **kwargs)
    for hook in (*hooks._global_forward_hooks.values(), *module._forward_hooks.values()):
        got = hook(module, args, result)
        result = result if got is None else got
    return result


@call.mistake()
class WithKwargsOfGlobalHooksIgnored(Call):
    """The module's own dict was asked for with_kwargs, and the global one was forgotten."""

    def takes_kwargs(self, id: int) -> bool:
        return id in self.module._forward_hooks_with_kwargs


@call.mistake()
class BareValueFromAKwargsHook(Call):
    """What a pre-hook with with_kwargs returned was taken as args where it was no pair. Such a hook returns
    both, as (args, kwargs), or None; all else is an error.
    """

    def replace_both(self, got: Any) -> None:
        if isinstance(got, tuple) and len(got) == 2:
            self.args, self.kwargs = got
        else:
            self.args = self.as_args(got)


@call.mistake()
class ForwardOfTheClass(Call):
    """The forward of the class was called. An instance may have one of its own (a compiled one, a wrapped one):
    module.forward finds it.
    """

    def forward(self) -> None:
        self.result = type(self.module).forward(self.module, *self.args, **self.kwargs)


@call.mistake()
class PairUnpackedUnasked(Call):
    """A pre-hook with with_kwargs that returns no pair got an error of a different type, perhaps that of taking it apart.
    torch raises RuntimeError, which names the rule.
    """

    def replace_both(self, got: Any) -> None:
        self.args, self.kwargs = got


@call.variant(PairUnpackedUnasked)
class _(Call):
    def replace_both(self, got: Any) -> None:
        if not isinstance(got, tuple) or len(got) != 2:
            raise TypeError("no pair")
        self.args, self.kwargs = got


@call.variant(PairUnpackedUnasked)
class _(Call):
    def replace_both(self, got: Any) -> None:
        if not isinstance(got, tuple) or len(got) != 2:
            raise ValueError("no pair")
        self.args, self.kwargs = got


@call.mistake()
class ResultCopied(Call):
    """The call returned an equal object in place of the one that the last hook gave."""

    def whole(self) -> Any:
        return copy.copy(super().whole())
