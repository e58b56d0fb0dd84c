"""What people write for 05.call: arguments, results and keyword arguments."""

from __future__ import annotations

from typing import Any

import torch.nn.modules.module as hooks
from torch import nn

from helpers.labs.module.call import call
from helpers.labs.module.call_steps import Call


@call.wrong_answer(
    "forward_only",
    why="module.forward(x) runs forward and nothing else. All that is built on hooks (DDP, parametrizations, profilers, "
    "recorders) is passed by.",
    seen="is passed by",
)
def _(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    return module.forward(*args, **kwargs)


@call.wrong_answer(
    "calls_the_module",
    why="module(...) was called. It does all of it, and this exercise is to write what it does.",
    seen="is to write what it does",
)
def _(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    return module(*args, **kwargs)


@call.another_form("calls_the_module")
def _(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    return nn.Module._call_impl(module, *args, **kwargs)


@call.wrong_answer(
    "pre_hooks_only_look",
    why="What the pre-hooks return was dropped. A value becomes the new arguments.",
    seen="What the pre-hooks return was dropped",
)
class _(Call):
    def is_value(self, got: Any) -> bool:
        return False


@call.wrong_answer(
    "hooks_only_look",
    why="What the hooks return was dropped. A value becomes the new result of the call.",
    seen="What the hooks return was dropped",
)
class _(Call):
    def is_result(self, got: Any) -> bool:
        return False


@call.wrong_answer(
    "bare_value_unpacked",
    why="A pre-hook may return one bare value. It must be put into a tuple; *args takes a list or a tensor apart, and a "
    "number not at all.",
    seen="one bare value",
)
class _(Call):
    def as_args(self, got: Any) -> Any:
        return got


@call.another_form("bare_value_unpacked")
class _(Call):
    def as_args(self, got: Any) -> Any:
        return tuple(got)


@call.another_form("bare_value_unpacked")
class _(Call):
    def as_args(self, got: Any) -> Any:
        return tuple(got) if isinstance(got, (list, tuple)) else (got,)


@call.wrong_answer(
    "tuple_put_into_a_tuple",
    why="Whatever a pre-hook returned was put into a tuple, a tuple as well: forward gets one argument, a tuple.",
    seen="a tuple as well",
)
class _(Call):
    def as_args(self, got: Any) -> Any:
        return (got,)


@call.wrong_answer(
    "falsy_value_dropped",
    why="`if got:` and `got or result` take 0, False and an empty list for None (and a tensor of several elements "
    "raises). Ask `is not None`.",
    seen="take 0, False and an empty list for None",
)
class _(Call):
    def is_value(self, got: Any) -> bool:
        return bool(got)

    def is_result(self, got: Any) -> bool:
        return bool(got)


@call.another_form("falsy_value_dropped")
class _(Call):
    def is_value(self, got: Any) -> bool:
        return bool(got)


@call.another_form("falsy_value_dropped")
class _(Call):
    def is_result(self, got: Any) -> bool:
        return bool(got)


@call.wrong_answer(
    "none_is_a_result",
    why="The result was set to what a hook returned, None included. Most hooks only look, and return None.",
    seen="Most hooks only look",
)
class _(Call):
    def is_result(self, got: Any) -> bool:
        return True


@call.wrong_answer(
    "first_arguments_for_the_hooks",
    why="The hooks after forward were given the arguments of the call. They get what forward got, with what pre-hooks "
    "changed.",
    seen="They get what forward got",
)
class _(Call):
    def whole(self) -> Any:
        self.first = self.args, self.kwargs
        return super().whole()

    def after(self) -> None:
        self.args, self.kwargs = self.first
        super().after()


@call.another_form("first_arguments_for_the_hooks")
class _(Call):
    def whole(self) -> Any:
        self.first = self.args
        return super().whole()

    def after(self) -> None:
        self.args = self.first
        super().after()


@call.wrong_answer(
    "each_hook_sees_the_first_result",
    why="Every hook was given the result of forward. The hooks are a chain: what one returns, the next is given.",
    seen="The hooks are a chain",
)
class _(Call):
    def after(self) -> None:
        first, last = self.result, self.result
        for id, hook in self.post_hooks():
            self.result = first
            self.post(id, hook)
            last = last if self.result is first else self.result
        self.result = last


@call.wrong_answer(
    "kwargs_of_the_pre_hook_lost",
    why="A pre-hook with with_kwargs returned (args, kwargs), and only the arguments were taken: forward gets the old "
    "keyword arguments.",
    seen="only the arguments were taken",
)
class _(Call):
    def replace_both(self, got: Any) -> None:
        kwargs = self.kwargs
        super().replace_both(got)
        self.kwargs = kwargs


@call.wrong_answer(
    "kwargs_merged",
    why="The keyword arguments of a pre-hook were merged into the old ones. They replace them, so that a hook can take "
    "one away.",
    seen="merged into the old ones",
)
class _(Call):
    def replace_both(self, got: Any) -> None:
        kwargs = self.kwargs
        super().replace_both(got)
        self.kwargs = {**kwargs, **self.kwargs}


@call.wrong_answer(
    "kwargs_lost_for_forward",
    why="forward was called without the keyword arguments.",
    seen="forward was called without",
)
class _(Call):
    def forward(self) -> None:
        self.result = self.module.forward(*self.args)


@call.wrong_answer(
    "with_kwargs_ignored",
    why="Hooks that were registered with with_kwargs=True take the keyword arguments as well, after args. Their ids "
    "stand in dicts whose names end in _with_kwargs.",
    seen="end in _with_kwargs",
)
class _(Call):
    def takes_kwargs(self, id: int) -> bool:
        return False

    def pre(self, id: int, hook: Any) -> None:
        if self.is_value(got := hook(self.module, self.args)):
            self.args = self.as_args(got)


@call.another_form("with_kwargs_ignored")
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


@call.wrong_answer(
    "with_kwargs_of_global_hooks_ignored",
    why="The module's own dict was asked for with_kwargs, and the global one was forgotten.",
    seen="the global one was forgotten",
)
class _(Call):
    def takes_kwargs(self, id: int) -> bool:
        return id in self.module._forward_hooks_with_kwargs


@call.wrong_answer(
    "bare_value_from_a_kwargs_hook",
    why="What a pre-hook with with_kwargs returned was taken as args where it was no pair. Such a hook returns both, as "
    "(args, kwargs), or None; all else is an error.",
    seen="taken as args where it was no pair",
)
class _(Call):
    def replace_both(self, got: Any) -> None:
        if isinstance(got, tuple) and len(got) == 2:
            self.args, self.kwargs = got
        else:
            self.args = self.as_args(got)
