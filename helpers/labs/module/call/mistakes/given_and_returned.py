"""What people write for 05.call: arguments, results and keyword arguments."""

from __future__ import annotations

import copy
from typing import Any

import torch.nn.modules.module as hooks
from torch import nn

from helpers.labs.module.call.exercise import call
from helpers.labs.module.call.right import Call


@call.mistake(breaks="every event in torch's order, the same result.")
def forward_only(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    """No hook ran, neither the module's own nor a global one. All that is built on hooks (DDP,
    parametrizations, profilers, recorders) is passed by. Perhaps module.forward(x) was all that was called.
    """
    return module.forward(*args, **kwargs)


@call.mistake()
def calls_the_module(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    """module(...) was called. It does all of it, and this exercise is to write what it does."""
    return module(*args, **kwargs)


@call.variant(calls_the_module)
def _(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    return nn.Module._call_impl(module, *args, **kwargs)


@call.mistake(breaks="What it returns becomes args, a bare value as a tuple of one;")
class PreHooksOnlyLook(Call):
    """What a pre-hook returned was dropped. A value becomes the new arguments."""

    def is_value(self, got: Any) -> bool:
        return False


@call.variant(PreHooksOnlyLook)
class _(Call):
    """Of global ones."""

    def pre(self, id: int, hook: Any) -> None:
        if id in hooks._global_forward_pre_hooks:
            hook(self.module, self.args)
        else:
            super().pre(id, hook)


@call.mistake(breaks="A value that is not None becomes the output.")
class HooksOnlyLook(Call):
    """What a hook returned was dropped. A value becomes the new result of the call."""

    def is_result(self, got: Any) -> bool:
        return False


@call.mistake(breaks="a bare value as a tuple of one;")
class BareValueUnpacked(Call):
    """A pre-hook returned one value that is no tuple, a number or a list, and forward did not get it as its one argument.
    It must be put into a tuple: *args takes a list apart, and a number not at all.
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


@call.mistake(breaks="What it returns becomes args, a bare value as a tuple of one;")
class TuplePutIntoATuple(Call):
    """Whatever a pre-hook returned was put into a tuple, a tuple as well: forward gets one argument, a tuple."""

    def as_args(self, got: Any) -> Any:
        return (got,)


@call.mistake(breaks="What it returns becomes args,")
class TupleMadeAnew(Call):
    """A pre-hook returned a tuple of a class of its own, a NamedTuple, and a plain tuple came of it. What it returns becomes
    args as it is: perhaps tuple(...) was called on it.
    """

    def as_args(self, got: Any) -> Any:
        return tuple(got) if isinstance(got, tuple) else (got,)


@call.mistake(breaks="Hooks get args, kwargs and output as those before them have left them.")
class KwargsCopied(Call):
    """A hook wrote into the kwargs that it was given, and forward, or the next hook, did not get that. Perhaps each hook is
    given a copy: it is one dict for all.
    """

    def pre(self, id: int, hook: Any) -> None:
        whole, self.kwargs = self.kwargs, dict(self.kwargs)
        given = self.kwargs
        super().pre(id, hook)
        if self.kwargs is given:
            self.kwargs = whole


@call.variant(KwargsCopied)
class _(Call):
    """Those after forward."""

    def called(self, id: int, hook: Any) -> Any:
        if self.takes_kwargs(id):
            return hook(self.module, self.args, dict(self.kwargs), self.result)
        return hook(self.module, self.args, self.result)


@call.mistake()
class FalsyValueDropped(Call):
    """A hook returned 0, and it was taken for None. Perhaps `if got:` or `got or result` was asked, which
    drop False and an empty list, too (and a tensor of several elements raises). Ask `is not None`.
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


@call.mistake(breaks="A value that is not None becomes the output.")
class NoneIsAResult(Call):
    """A hook returned None, and None became the result: most hooks only look, and return None."""

    def is_result(self, got: Any) -> bool:
        return True


@call.mistake(breaks="Hooks get args, kwargs and output as those before them have left them.")
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


@call.mistake(breaks="A value that is not None becomes the output.")
class EachHookSeesTheFirstResult(Call):
    """Every hook was given the result of forward. The hooks are a chain: what one returns, the next is given."""

    def after(self) -> None:
        first, last = self.result, self.result
        for id, hook in self.post_hooks():
            self.result = first
            self.post(id, hook)
            last = last if self.result is first else self.result
        self.result = last


@call.mistake(breaks="Hooks get args, kwargs and output as those before them have left them.")
class KwargsOfThePreHookLost(Call):
    """A pre-hook with with_kwargs returned (args, kwargs), and only the arguments were taken: forward gets
    the old keyword arguments.
    """

    def replace_both(self, got: Any) -> None:
        kwargs = self.kwargs
        super().replace_both(got)
        self.kwargs = kwargs


@call.mistake(
    breaks="If its id is in `module._forward_pre_hooks_with_kwargs`, it is called as hook(module, args, kwargs), and returns None or a tuple of two, args and kwargs"
)
class KwargsMerged(Call):
    """The keyword arguments of a pre-hook were merged into the old ones. They replace them, so that a hook
    can take one away.
    """

    def replace_both(self, got: Any) -> None:
        kwargs = self.kwargs
        super().replace_both(got)
        self.kwargs = {**kwargs, **self.kwargs}


@call.mistake(
    breaks="What module(*args, **kwargs) does with forward hooks: every event in torch's order, the same result."
)
class KwargsLostForForward(Call):
    """forward was called without the keyword arguments."""

    def forward(self) -> None:
        self.result = self.module.forward(*self.args)


@call.mistake(
    breaks="If its id is in `module._forward_pre_hooks_with_kwargs`, it is called as hook(module, args, kwargs)"
)
class WithKwargsIgnored(Call):
    """A pre-hook that was registered with with_kwargs=True was called without the keyword arguments, which
    come after args. The ids of these hooks stand in dicts whose names end in _with_kwargs.
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


@call.mistake(
    breaks="or as hook(module, args, kwargs, output) if its id is in `module_py._global_forward_hooks_with_kwargs` or `module._forward_hooks_with_kwargs`."
)
class WithKwargsOfHooksIgnored(Call):
    """A hook behind forward that was registered with with_kwargs=True was called without the keyword arguments. Perhaps
    one of the two dicts was not asked, the module's own or the global one, or neither was.
    """

    def takes_kwargs(self, id: int) -> bool:
        return id in self.module._forward_hooks_with_kwargs


@call.mistake(breaks="and returns None or a tuple of two, args and kwargs; anything else is a RuntimeError.")
class BareValueFromAKwargsHook(Call):
    """A pre-hook with with_kwargs returned neither None nor a tuple of two, and the call went on. Perhaps the value was taken
    as args, taken apart (a list of two is no tuple), cut, or ignored. Such a hook returns a tuple (args, kwargs), or None.
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


@call.mistake(breaks="anything else is a RuntimeError.")
class PairUnpackedUnasked(Call):
    """A pre-hook with with_kwargs that returns no pair got an error that is no RuntimeError. Perhaps that of taking it apart,
    or a TypeError or ValueError on purpose: torch raises RuntimeError, which names the rule.
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


@call.mistake(breaks="A value that is not None becomes the output.")
class ResultCopied(Call):
    """The call returned an equal object in place of the one that the last hook gave."""

    def whole(self) -> Any:
        return copy.copy(super().whole())


@call.variant(WithKwargsOfHooksIgnored)
class _(Call):
    """The module's own are forgotten."""

    def takes_kwargs(self, id: int) -> bool:
        return id in hooks._global_forward_hooks_with_kwargs


@call.variant(WithKwargsOfHooksIgnored)
class _(Call):
    """Both are."""

    def takes_kwargs(self, id: int) -> bool:
        return False


@call.variant(BareValueFromAKwargsHook)
class _(Call):
    def replace_both(self, got: Any) -> None:
        if got:
            if not (isinstance(got, tuple) and len(got) == 2):
                raise RuntimeError("no pair")
            self.args, self.kwargs = got


@call.variant(BareValueFromAKwargsHook)
class _(Call):
    """A list of two is taken for a pair."""

    def replace_both(self, got: Any) -> None:
        if not (isinstance(got, tuple | list) and len(got) == 2):
            raise RuntimeError("no pair")
        self.args, self.kwargs = got


@call.variant(BareValueFromAKwargsHook)
class _(Call):
    """Three are cut to two."""

    def replace_both(self, got: Any) -> None:
        if not (isinstance(got, tuple) and len(got) >= 2):
            raise RuntimeError("no pair")
        self.args, self.kwargs = got[:2]


@call.variant(BareValueUnpacked)
class _(Call):
    """Only a list is taken for args."""

    def as_args(self, got: Any) -> Any:
        return tuple(got) if isinstance(got, list) else got if isinstance(got, tuple) else (got,)


@call.mistake(breaks="What it returns becomes args,")
class PairOfAPlainPreHook(Call):
    """A pre-hook without with_kwargs returned a tuple and a dict, and they were taken for args and kwargs. What it returns
    becomes args, whatever is in it: only an id in _forward_pre_hooks_with_kwargs makes args and kwargs of a pair.
    """

    def pre(self, id: int, hook: Any) -> None:
        if id in self.module._forward_pre_hooks_with_kwargs:
            super().pre(id, hook)
        elif (
            isinstance(got := hook(self.module, self.args), tuple)
            and len(got) == 2
            and isinstance(got[1], dict)
        ):
            self.args, self.kwargs = got
        elif self.is_value(got):
            self.args = self.as_args(got)


@call.mistake()
class EmptyTupleDropped(Call):
    """A pre-hook returned (), no arguments at all, and the old ones stayed. Only None changes nothing."""

    def is_value(self, got: Any) -> bool:
        return got is not None and got != ()


@call.mistake(breaks="A pre-hook is called as hook(module, args).")
class ArgsAsAList(Call):
    """Hooks were given args as a list, or as something else than a tuple. torch gives them a tuple."""

    def as_args(self, got: Any) -> Any:
        return list(got) if isinstance(got, tuple) else [got]


@call.variant(ArgsAsAList)
class _(Call):
    def whole(self) -> Any:
        self.args = list(self.args)
        return super().whole()


@call.mistake(
    breaks="or as hook(module, args, kwargs, output) if its id is in `module_py._global_forward_hooks_with_kwargs` or `module._forward_hooks_with_kwargs`."
)
class OutputBeforeKwargs(Call):
    """A hook with with_kwargs was given output before kwargs: it is called as hook(module, args, kwargs, output)."""

    def called(self, id: int, hook: Any) -> Any:
        if self.takes_kwargs(id):
            return hook(self.module, self.args, self.result, self.kwargs)
        return hook(self.module, self.args, self.result)


@call.variant(ArgsAsAList)
class _(Call):
    """Only where no pre-hook has changed them, and for hooks only."""

    def called(self, id: int, hook: Any) -> Any:
        if self.takes_kwargs(id):
            return hook(self.module, list(self.args), self.kwargs, self.result)
        return hook(self.module, list(self.args), self.result)


@call.mistake(breaks="and returns None or a tuple of two, args and kwargs")
class PairOfTheVeryClass(Call):
    """A pre-hook with with_kwargs returned a tuple of two whose class is below tuple, as a NamedTuple is, and the call ended in an
    error. Perhaps type(value) is tuple was asked: isinstance(value, tuple) takes it, too.
    """

    def replace_both(self, got: Any) -> None:
        if type(got) is not tuple:
            raise RuntimeError("no pair")
        super().replace_both(got)
