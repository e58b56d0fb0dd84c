"""A right answer to 05.call in small steps; each mistake changes one or two of them."""

from __future__ import annotations

import warnings
from typing import Any

import torch.nn.modules.module as hooks
from torch import nn

Listed = list[tuple[int, Any]]


class Call:
    """`Call(module, x)` is the result of the call: the class behaves as a function, so that subclasses do, too."""

    def __new__(cls, module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        self = object.__new__(cls)
        self.module, self.args, self.kwargs = module, args, kwargs
        self.result: Any = None
        self.ran: set[int] = set()
        return self.whole()

    def whole(self) -> Any:
        try:
            self.before()
            self.forward()
            self.after()
        except Exception as error:
            self.failed(error)
            raise
        return self.result

    def before(self) -> None:
        for id, hook in self.pre_hooks():
            self.pre(id, hook)

    def pre(self, id: int, hook: Any) -> None:
        if id in self.module._forward_pre_hooks_with_kwargs:
            got = hook(self.module, self.args, self.kwargs)
            if self.is_value(got):
                self.replace_both(got)
        elif self.is_value(got := hook(self.module, self.args)):
            self.args = self.as_args(got)

    def is_value(self, got: Any) -> bool:
        return got is not None

    def replace_both(self, got: Any) -> None:
        if not (isinstance(got, tuple) and len(got) == 2):
            raise RuntimeError(f"a pre-hook with kwargs returns None or (args, kwargs), not {got!r}")
        self.args, self.kwargs = got

    def as_args(self, got: Any) -> tuple:
        return got if isinstance(got, tuple) else (got,)

    def forward(self) -> None:
        self.result = self.module.forward(*self.args, **self.kwargs)

    def after(self) -> None:
        for id, hook in self.post_hooks():
            self.post(id, hook)

    def post(self, id: int, hook: Any) -> None:
        self.mark(id)
        got = self.called(id, hook)
        if self.is_result(got):
            self.result = got

    def mark(self, id: int) -> None:
        self.ran.add(id)

    def is_result(self, got: Any) -> bool:
        return got is not None

    def called(self, id: int, hook: Any) -> Any:
        if self.takes_kwargs(id):
            return hook(self.module, self.args, self.kwargs, self.result)
        return hook(self.module, self.args, self.result)

    def takes_kwargs(self, id: int) -> bool:
        return id in self.module._forward_hooks_with_kwargs or id in hooks._global_forward_hooks_with_kwargs

    def pre_hooks(self) -> Listed:
        return [*hooks._global_forward_pre_hooks.items(), *self.module._forward_pre_hooks.items()]

    def post_hooks(self) -> Listed:
        return [*hooks._global_forward_hooks.items(), *self.module._forward_hooks.items()]

    def failed(self, error: Exception) -> None:
        for id, hook in self.post_hooks():
            if self.is_always(id) and id not in self.ran:
                self.last_call(id, hook)

    def is_always(self, id: int) -> bool:
        return (
            id in self.module._forward_hooks_always_called or id in hooks._global_forward_hooks_always_called
        )

    def last_call(self, id: int, hook: Any) -> None:
        try:
            self.called(id, hook)
        except Exception as error:
            self.warn(error)

    def warn(self, error: Exception) -> None:
        warnings.warn(f"an always_call hook raised {error}", stacklevel=2)
