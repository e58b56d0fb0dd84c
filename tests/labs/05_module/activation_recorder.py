"""Right answers to 05.activation_recorder, in different shapes."""

from __future__ import annotations

import contextlib
import functools
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle


class PlainRecorder:
    """The plain answer: a hook on each module, removed in __exit__."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.activations: dict[str, list[Tensor]] = {}
        self.handles: list[RemovableHandle] = []

    def __enter__(self) -> PlainRecorder:
        if self.handles:
            raise RuntimeError("on already")
        for name, module in self.model.named_modules():
            self.handles.append(module.register_forward_hook(self.hook(name)))
        return self

    def hook(self, name: str) -> Callable[[nn.Module, Any, Any], None]:
        def record(module: nn.Module, args: Any, output: Any) -> None:
            if isinstance(output, Tensor):
                self.activations.setdefault(name, []).append(output.detach().clone())

        return record

    def __exit__(self, *error: object) -> None:
        for handle in self.handles:
            handle.remove()
        self.handles.clear()


class CallRecorder:
    """No hooks: nn.Module's call is replaced while the first of the recorders is on, and all that are on are told."""

    on: list[CallRecorder] = []
    real: Any = None

    def __init__(self, model: nn.Module) -> None:
        self.names = {id(module): name for name, module in model.named_modules()}
        self.activations: dict[str, list[Tensor]] = {}

    def __enter__(self) -> CallRecorder:
        if not CallRecorder.on:
            CallRecorder.real = nn.Module.__call__

            def told(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
                output = CallRecorder.real(module, *args, **kwargs)
                for recorder in set(CallRecorder.on):
                    recorder.note(module, output)
                return output

            nn.Module.__call__ = told
        CallRecorder.on.append(self)
        if CallRecorder.on.count(self) == 1:
            self.activations = {name: [] for name in self.names.values()}
        return self

    def note(self, module: nn.Module, output: Any) -> None:
        name = self.names.get(id(module))
        if name is not None and torch.is_tensor(output):
            self.activations[name].append(
                torch.empty_like(output, requires_grad=False).copy_(output.detach())
            )

    def __exit__(self, *error: object) -> bool:
        CallRecorder.on.remove(self)
        if not CallRecorder.on:
            nn.Module.__call__ = CallRecorder.real
        return False


class StackRecorder(contextlib.ExitStack):
    """The stack of clean-ups is the recorder itself."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model, self.is_on = model, False
        self.activations: dict[str, list[Tensor]] = defaultdict(list)

    def __enter__(self) -> StackRecorder:
        if self.is_on:
            raise RuntimeError("this recorder is on already")
        self.is_on = True
        self.callback(setattr, self, "is_on", False)
        for name, module in self.model.named_modules():
            self.callback(module.register_forward_hook(functools.partial(self.note, name)).remove)
        return self

    @torch.no_grad()
    def note(self, name: str, module: nn.Module, args: Any, output: Any) -> None:
        if isinstance(output, Tensor):
            self.activations[name].append(output.clone())


class GeneratorRecorder:
    """A generator does the work; default arguments bind the names; always_call, so that errors are seen, too."""

    def __init__(self, model: nn.Module) -> None:
        self.activations: dict[str, list[Tensor]] = {}
        self._model, self._depth = model, 0

    @contextlib.contextmanager
    def _hooked(self) -> Iterator[None]:
        handles = [
            module.register_forward_hook(
                lambda _, __, out, into=self.activations, name=name: (
                    into.setdefault(name, []).append(out.clone().detach())
                    if isinstance(out, Tensor)
                    else None
                ),
                always_call=True,
            )
            for name, module in self._model.named_modules()
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def __enter__(self) -> GeneratorRecorder:
        if self._depth == 0:
            self._context = self._hooked()
            self._context.__enter__()
        self._depth += 1
        return self

    def __exit__(self, *error: Any) -> Any:
        self._depth -= 1
        return self._context.__exit__(*error) if self._depth == 0 else None


RIGHT = [PlainRecorder, CallRecorder, StackRecorder, GeneratorRecorder]
