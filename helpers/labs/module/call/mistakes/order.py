"""What people write for 05.call: which hooks run, and in what order."""

from __future__ import annotations

from typing import Any

import torch.nn.modules.module as hooks

from helpers.labs.module.call.exercise import call
from helpers.labs.module.call.right import Call, Listed


@call.mistake(
    breaks="First come the pre-hooks: those of `module_py._global_forward_pre_hooks`, then those of `module._forward_pre_hooks`, each in the order of its dict (id -> hook)."
)
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


@call.mistake(
    breaks="First come the pre-hooks: those of `module_py._global_forward_pre_hooks`, then those of `module._forward_pre_hooks`, each in the order of its dict (id -> hook)."
)
class NoGlobalHooks(Call):
    """Only the module's own hooks ran. Hooks that were registered for all modules stand in dicts of
    torch.nn.modules.module.
    """

    def pre_hooks(self) -> Listed:
        return list(self.module._forward_pre_hooks.items())

    def post_hooks(self) -> Listed:
        return list(self.module._forward_hooks.items())


@call.mistake(breaks="each in the order of its dict (id -> hook).")
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
    """A hook ran that a pre-hook had removed. The list of the hooks is made when forward has run: perhaps it
    was made at the start of the call.
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
    """always_call hooks were kept for the end, after others that come later. While nothing raises they are hooks like others, and
    run in their place.
    """

    def post_hooks(self) -> Listed:
        return sorted(super().post_hooks(), key=lambda item: self.is_always(item[0]))


@call.variant(AlwaysHooksAtTheEnd)
class _(Call):
    """In each dict."""

    def post_hooks(self) -> Listed:
        last = lambda item: self.is_always(item[0])  # noqa: E731
        return [
            *sorted(hooks._global_forward_hooks.items(), key=last),
            *sorted(self.module._forward_hooks.items(), key=last),
        ]


@call.variant(AlwaysHooksAtTheEnd)
class _(Call):
    """Own ones only."""

    def post_hooks(self) -> Listed:
        last = lambda item: self.is_always(item[0])  # noqa: E731
        return [*hooks._global_forward_hooks.items(), *sorted(self.module._forward_hooks.items(), key=last)]


@call.variant(AlwaysHooksAtTheEnd)
class _(AlwaysHooksAtTheEnd):
    """And what they return is dropped."""

    def post(self, id: int, hook: Any) -> None:
        result = self.result
        super().post(id, hook)
        if self.is_always(id):
            self.result = result


@call.mistake(
    breaks="Then the hooks: those of `module_py._global_forward_hooks`, then those of `module._forward_hooks`."
)
class ShortCutWithoutGlobalHooks(Call):
    """Global hooks did not run where the module has none of its own: perhaps a short cut to forward asks for own hooks only."""

    def whole(self) -> Any:
        own = self.module._forward_pre_hooks or self.module._forward_hooks
        if not own:
            return self.module.forward(*self.args, **self.kwargs)
        return super().whole()


@call.variant(DictChangedInTheLoop)
class _(Call):
    """The global dicts only."""

    def before(self) -> None:
        for id, hook in hooks._global_forward_pre_hooks.items():
            self.pre(id, hook)
        for id, hook in list(self.module._forward_pre_hooks.items()):
            self.pre(id, hook)

    def after(self) -> None:
        for id, hook in hooks._global_forward_hooks.items():
            self.post(id, hook)
        for id, hook in list(self.module._forward_hooks.items()):
            self.post(id, hook)


@call.mistake(breaks="First come the pre-hooks: those of `module_py._global_forward_pre_hooks`")
class NoGlobalPreHooks(Call):
    """The global pre-hooks were not called: only those of the module. register_module_forward_pre_hook is for all modules."""

    def pre_hooks(self) -> Listed:
        return list(self.module._forward_pre_hooks.items())


@call.mistake(breaks="A pre-hook is called as hook(module, args).")
class KwargsForEachPreHook(Call):
    """A pre-hook without with_kwargs was called with the keyword arguments as well: perhaps each one is
    whenever there are some. Its id decides, and not what the call was given.
    """

    def pre(self, id: int, hook: Any) -> None:
        if self.kwargs or id in self.module._forward_pre_hooks_with_kwargs:
            got = hook(self.module, self.args, self.kwargs)
            if self.is_value(got):
                self.replace_both(got)
        else:
            Call.pre(self, id, hook)


@call.variant(KwargsForEachPreHook)
class _(Call):
    """In each call."""

    def pre(self, id: int, hook: Any) -> None:
        got = hook(self.module, self.args, self.kwargs)
        if self.is_value(got):
            self.replace_both(got)


@call.mistake(breaks="Then the hooks: those of `module_py._global_forward_hooks`,")
class NoGlobalHooksBehindForward(Call):
    """The global hooks behind forward were not called: only those of the module. register_module_forward_hook is for all
    modules.
    """

    def post_hooks(self) -> Listed:
        return list(self.module._forward_hooks.items())


@call.mistake(breaks="A pre-hook is called as hook(module, args).")
class ArgsOneByOne(Call):
    """A hook was called with the arguments one by one. It takes them as one tuple, args, whatever their number: perhaps a star
    stands before args in the call of the hook.
    """

    def pre(self, id: int, hook: Any) -> None:
        if id in self.module._forward_pre_hooks_with_kwargs:
            Call.pre(self, id, hook)
        elif self.is_value(got := hook(self.module, *self.args)):
            self.args = self.as_args(got)


@call.variant(ArgsOneByOne)
class _(Call):
    """And the keyword arguments."""

    def pre(self, id: int, hook: Any) -> None:
        if id in self.module._forward_pre_hooks_with_kwargs:
            Call.pre(self, id, hook)
        elif self.is_value(got := hook(self.module, *self.args, **self.kwargs)):
            self.args = self.as_args(got)


@call.variant(ArgsOneByOne)
class _(Call):
    """Behind forward."""

    def called(self, id: int, hook: Any) -> Any:
        if self.takes_kwargs(id):
            return hook(self.module, self.args, self.kwargs, self.result)
        return hook(self.module, *self.args, self.result)


@call.mistake(breaks="Then the hooks: those of `module_py._global_forward_hooks`,")
class HooksInReverse(Call):
    """The hooks behind forward ran in reverse: the last of a dict first. Perhaps as the ways out of an onion; torch goes through
    each dict from its front, before forward and behind it.
    """

    def after(self) -> None:
        for listed in (hooks._global_forward_hooks, self.module._forward_hooks):
            for id, hook in reversed(list(listed.items())):
                self.post(id, hook)


@call.variant(HooksInReverse)
class _(Call):
    """Own ones first."""

    def after(self) -> None:
        for id, hook in reversed(self.post_hooks()):
            self.post(id, hook)


@call.mistake(breaks="and that have not begun yet, are called once,")
class AlwaysHooksOnceMore(Call):
    """Nothing raised, and always_call hooks were called a second time at the end. They have run in their place: only an error
    calls those that have not begun. Perhaps they stand in a finally, or behind the loop.
    """

    def after(self) -> None:
        super().after()
        for id, hook in self.post_hooks():
            if self.is_always(id) and id in self.again():
                self.called(id, hook)

    def again(self) -> Any:
        return dict(self.post_hooks())


@call.variant(AlwaysHooksOnceMore)
class _(AlwaysHooksOnceMore):
    """Own ones."""

    def again(self) -> Any:
        return self.module._forward_hooks
