"""What people write for 05.call, and why it is wrong."""

from __future__ import annotations

from typing import Any

import torch.nn.modules.module as hooks
from torch import nn

from helpers.labs.module.call.exercise import call
from helpers.labs.module.call.right import Call, Listed


@call.mistake()
class NoAlwaysCall(Call):
    """An error ends the call at once. Hooks with always_call=True must see it: they stop timers and close
    what was opened.
    """

    def failed(self, error: Exception) -> None:
        pass


@call.mistake()
class AllHooksOnError(Call):
    """On an error every hook ran. Only those that asked for it do: most hooks cannot use an output of None."""

    def is_always(self, id: int) -> bool:
        return True


@call.mistake()
class AlwaysHooksOfTheModuleOnly(Call):
    """On an error only the module's own always_call hooks ran. Global ones exist as well, and come first."""

    def is_always(self, id: int) -> bool:
        return id in self.module._forward_hooks_always_called


@call.mistake()
class OwnBeforeGlobalOnError(Call):
    """On an error the module's own always_call hooks ran before the global ones; the order is the usual one."""

    def failed(self, error: Exception) -> None:
        for id, hook in reversed_places(self):
            if self.is_always(id) and id not in self.ran:
                self.last_call(id, hook)


def reversed_places(self: Call) -> Listed:
    return [*self.module._forward_hooks.items(), *hooks._global_forward_hooks.items()]


@call.mistake()
class PreHooksOutsideTheTry(Call):
    """The try begins at forward. When a pre-hook raises, the always_call hooks must run as well."""

    def whole(self) -> Any:
        self.before()
        self.before = lambda: None
        return super().whole()


@call.mistake()
class OnlyForwardInTheTry(Call):
    """Only forward stands in the try. When a pre-hook or a hook raises, the always_call hooks that have not
    run yet must run as well.
    """

    def whole(self) -> Any:
        self.before()
        try:
            self.forward()
        except Exception as error:
            self.failed(error)
            raise
        self.after()
        return self.result


@call.variant(OnlyForwardInTheTry)
class _(Call):
    def whole(self) -> Any:
        try:
            self.before()
            self.forward()
        except Exception as error:
            self.failed(error)
            raise
        self.after()
        return self.result


@call.mistake()
class AlwaysHooksRunTwice(Call):
    """After an error in a hook all always_call hooks ran, also those that had run before it. Keep the ids of
    those that have begun.
    """

    def mark(self, id: int) -> None:
        pass


@call.mistake()
class MarkedAfterTheHook(Call):
    """An always_call hook was noted as run only after it had returned. If it is the one that raises, it runs
    a second time: note its id before you call it.
    """

    def post(self, id: int, hook: Any) -> None:
        got = self.called(id, hook)
        self.mark(id)
        if self.is_result(got):
            self.result = got


@call.mistake()
class SecondErrorReplacesTheFirst(Call):
    """An always_call hook raised, and its error came out in place of the first one. The first error is the
    cause: the later ones become warnings.
    """

    def last_call(self, id: int, hook: Any) -> None:
        self.called(id, hook)


@call.mistake()
class SecondErrorEndsTheLoop(Call):
    """The try stands around the whole loop: after the error of one always_call hook the others do not run.
    Each hook needs a try of its own.
    """

    def last_call(self, id: int, hook: Any) -> None:
        self.called(id, hook)

    def failed(self, error: Exception) -> None:
        try:
            super().failed(error)
        except Exception as other:
            self.warn(other)


@call.mistake()
class SecondErrorWithoutAWord(Call):
    """The errors of the always_call hooks were dropped without a warning. A hook that always fails would
    never be found.
    """

    def warn(self, error: Exception) -> None:
        pass


@call.mistake()
class ErrorSwallowed(Call):
    """The error was caught and not raised again. Hooks may look on, but whoever called the module must hear
    of it.
    """

    def whole(self) -> Any:
        try:
            return super().whole()
        except Exception:
            return self.result


@call.variant(ErrorSwallowed)
class _(Call):
    def last_call(self, id: int, hook: Any) -> None:
        try:
            got = self.called(id, hook)
            self.result = self.result if got is None else got
        except Exception as error:
            self.warn(error)

    def whole(self) -> Any:
        try:
            return super().whole()
        except Exception:
            return self.result


@call.mistake()
class AnotherErrorRaised(Call):
    """A new error was raised in place of the one that came. The caller waits for the type that forward
    raises: a bare `raise` passes it on.
    """

    def whole(self) -> Any:
        try:
            return super().whole()
        except Exception as error:
            raise RuntimeError(f"forward failed: {error}") from error


@call.variant(AnotherErrorRaised)
class _(Call):
    def whole(self) -> Any:
        try:
            return super().whole()
        except Exception as error:
            raise type(error)(*error.args) from None


@call.mistake()
class HooksOnInterrupt(Call):
    """KeyboardInterrupt ran the always_call hooks (finally, a bare except, or except BaseException). Who
    presses stop wants to stop: only an Exception runs them.
    """

    def whole(self) -> Any:
        try:
            self.before()
            self.forward()
            self.after()
        except BaseException as error:
            self.failed(error)
            raise
        return self.result


@call.mistake()
class OldArgumentsOnError(Call):
    """On an error the always_call hooks were given the arguments of the call. They get those that pre-hooks
    have made of them so far.
    """

    def whole(self) -> Any:
        self.first = self.args, self.kwargs
        return super().whole()

    def failed(self, error: Exception) -> None:
        self.args, self.kwargs = self.first
        super().failed(error)


@call.variant(OldArgumentsOnError)
class _(Call):
    def whole(self) -> Any:
        self.first = self.args
        return super().whole()

    def failed(self, error: Exception) -> None:
        self.args = self.first
        super().failed(error)


@call.mistake()
class KwargsLostOnError(Call):
    """On an error with_kwargs was forgotten: the hook is called with one argument too few, and its TypeError
    is turned into a warning that hardly anybody reads.
    """

    def last_call(self, id: int, hook: Any) -> None:
        try:
            hook(self.module, self.args, self.result)
        except Exception as error:
            self.warn(error)


@call.mistake()
class ErrorAsOutput(Call):
    """The always_call hooks were given the error in place of the output. Without a result they get None."""

    def failed(self, error: Exception) -> None:
        self.result = error if self.result is None else self.result
        super().failed(error)


# Arguments, results and keyword arguments.


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


# Which hooks run, and in what order.


@call.mistake()
class OwnBeforeGlobal(Call):
    """The module's own hooks ran before the global ones. It is the other way round, before forward and after
    it: the global hooks wrap all modules.
    """

    def pre_hooks(self) -> Listed:
        return [*self.module._forward_pre_hooks.items(), *hooks._global_forward_pre_hooks.items()]

    def post_hooks(self) -> Listed:
        return [*self.module._forward_hooks.items(), *hooks._global_forward_hooks.items()]


@call.variant(OwnBeforeGlobal)
class _(Call):
    def post_hooks(self) -> Listed:  # as an onion: the outermost is the last
        return [*self.module._forward_hooks.items(), *hooks._global_forward_hooks.items()]


@call.variant(OwnBeforeGlobal)
class _(Call):
    def pre_hooks(self) -> Listed:
        return [*self.module._forward_pre_hooks.items(), *hooks._global_forward_pre_hooks.items()]


@call.mistake()
class NoGlobalHooks(Call):
    """Only the module's own hooks ran. Hooks that were registered for all modules stand in dicts of
    torch.nn.modules.module.
    """

    def pre_hooks(self) -> Listed:
        return list(self.module._forward_pre_hooks.items())

    def post_hooks(self) -> Listed:
        return list(self.module._forward_hooks.items())


@call.mistake()
class SortedById(Call):
    """The hooks ran in the order of their ids, the order of registration. The order of the dict is what
    counts: prepend=True puts a hook first.
    """

    def pre_hooks(self) -> Listed:
        return [*hooks._global_forward_pre_hooks.items(), *sorted(self.module._forward_pre_hooks.items())]

    def post_hooks(self) -> Listed:
        return [*hooks._global_forward_hooks.items(), *sorted(self.module._forward_hooks.items())]


@call.mistake()
class DictChangedInTheLoop(Call):
    """The loop runs over the dict itself, and a hook that removes itself changes its size: RuntimeError.
    Hooks that run once are common; make a list first.
    """

    def before(self) -> None:
        for listed in (hooks._global_forward_pre_hooks, self.module._forward_pre_hooks):
            for id, hook in listed.items():
                self.pre(id, hook)

    def after(self) -> None:
        for listed in (hooks._global_forward_hooks, self.module._forward_hooks):
            for id, hook in listed.items():
                self.post(id, hook)


@call.variant(DictChangedInTheLoop)
class _(Call):
    def after(self) -> None:
        for listed in (hooks._global_forward_hooks, self.module._forward_hooks):
            for id, hook in listed.items():
                self.post(id, hook)


@call.mistake()
class HooksListedTooEarly(Call):
    """The hooks were listed at the start of the call. A pre-hook may remove one or add one, so the list is
    made when forward has run.
    """

    def whole(self) -> Any:
        self.listed = super().post_hooks()
        return super().whole()

    def post_hooks(self) -> Listed:
        return self.listed


@call.mistake()
class RemovedHookSkipped(Call):
    """A hook that an earlier one had removed in the same loop was skipped. torch goes through the list that
    it made when the loop began.
    """

    def post(self, id: int, hook: Any) -> None:
        if id in self.module._forward_hooks or id in hooks._global_forward_hooks:
            super().post(id, hook)


@call.mistake()
class AlwaysHooksAtTheEnd(Call):
    """The always_call hooks were kept for the end, after all others. While nothing raises they are hooks like
    others, and run in their place.
    """

    def post_hooks(self) -> Listed:
        return sorted(super().post_hooks(), key=lambda item: self.is_always(item[0]))
