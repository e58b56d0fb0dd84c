"""Recorders that mistake which outputs are recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from helpers.labs.module.activation_recorder.exercise import activation_recorder
from helpers.labs.module.activation_recorder.right import Right


@activation_recorder.mistake()
class TensorsOnlyExpected(Right):
    """The hook raised an error where an output is no tensor: it took it for one, or refused it. An LSTM returns a tuple,
    many models a dict: the recorder stops a model that runs well without it.
    """

    def hook(self, name: str) -> Callable[..., Any]:
        return lambda module, args, output: self.keep(name, output.detach().clone())


@activation_recorder.mistake(breaks="Tensors of every dtype and shape are recorded")
class NumbersLeftOut(Right):
    """A tensor of no dimensions, one number as a loss is, was left out. It is a tensor like others. Perhaps dim() > 0 was asked,
    or something that such a tensor lacks.
    """

    def hook(self, name: str) -> Callable[..., Any]:
        record = super().hook(name)
        return lambda module, args, output: (
            record(module, args, output) if isinstance(output, Tensor) and output.dim() > 0 else None
        )


@activation_recorder.mistake()
class FirstOfATuple(Right):
    """Of a tuple the first tensor was recorded, as if it were the output. What is no tensor is left out."""

    def hook(self, name: str) -> Callable[..., Any]:
        def record(module: nn.Module, args: Any, output: Any) -> None:
            if isinstance(output, (tuple, list)):
                output = output[0]
            if isinstance(output, Tensor):
                self.keep(name, self.copy(output))

        return record


@activation_recorder.variant(FirstOfATuple)
class _(Right):
    def hook(self, name: str) -> Callable[..., Any]:
        def record(module: nn.Module, args: Any, output: Any) -> None:
            if isinstance(output, tuple):
                output = output[0]
            if isinstance(output, Tensor):
                self.keep(name, self.copy(output))

        return record


@activation_recorder.variant(FirstOfATuple)
class _(Right):
    def hook(self, name: str) -> Callable[..., Any]:
        def record(module: nn.Module, args: Any, output: Any) -> None:
            while isinstance(output, (tuple, list, dict)):
                output = next(iter(output.values() if isinstance(output, dict) else output))
            if isinstance(output, Tensor):
                self.keep(name, self.copy(output))

        return record


@activation_recorder.mistake()
class AllOfATuple(Right):
    """The tensors inside of a tuple were recorded one by one: the list has more entries than there were calls, and
    nobody can tell which belong together. What is no tensor is left out.
    """

    kinds: Any = (tuple, list)

    def hook(self, name: str) -> Callable[..., Any]:
        def record(module: nn.Module, args: Any, output: Any) -> None:
            for part in output if isinstance(output, self.kinds) else [output]:
                if isinstance(part, Tensor):
                    self.keep(name, self.copy(part))

        return record


@activation_recorder.variant(AllOfATuple)
class _(AllOfATuple):
    kinds = tuple


@activation_recorder.variant(AllOfATuple)
class _(Right):
    def hook(self, name: str) -> Callable[..., Any]:
        def record(module: nn.Module, args: Any, output: Any) -> None:
            for part in tree_leaves(output):
                if isinstance(part, Tensor):
                    self.keep(name, self.copy(part))

        return record


@activation_recorder.variant(AllOfATuple)
class _(Right):
    def hook(self, name: str) -> Callable[..., Any]:
        def record(module: nn.Module, args: Any, output: Any) -> None:
            several = isinstance(output, (tuple, list, dict))
            for part in (output.values() if isinstance(output, dict) else output) if several else [output]:
                if isinstance(part, Tensor):
                    self.keep(name, self.copy(part))

        return record


@activation_recorder.mistake()
class WhateverItIs(Right):
    """For an output that is no tensor the list got an entry all the same, which is no tensor. Such an output is left
    out.
    """

    def hook(self, name: str) -> Callable[..., Any]:
        def record(module: nn.Module, args: Any, output: Any) -> None:
            self.keep(name, self.copy(output) if isinstance(output, Tensor) else output)

        return record


@activation_recorder.variant(WhateverItIs)
class _(Right):
    def hook(self, name: str) -> Callable[..., Any]:
        def record(module: nn.Module, args: Any, output: Any) -> None:
            if isinstance(output, Tensor):
                self.keep(name, self.copy(output))
            elif isinstance(output, (tuple, list)):
                self.keep(name, type(output)(self.copy(p) if isinstance(p, Tensor) else p for p in output))

        return record


@activation_recorder.variant(WhateverItIs)
class _(Right):
    def hook(self, name: str) -> Callable[..., Any]:
        def record(module: nn.Module, args: Any, output: Any) -> None:
            self.keep(name, self.copy(output) if isinstance(output, Tensor) else None)  # type: ignore[arg-type]

        return record


@activation_recorder.variant(WhateverItIs)
class _(Right):
    def hook(self, name: str) -> Callable[..., Any]:
        def record(module: nn.Module, args: Any, output: Any) -> None:
            parts = output if isinstance(output, (tuple, list)) else [output]
            copies = [self.copy(part) if isinstance(part, Tensor) else part for part in parts]
            self.keep(name, copies if isinstance(output, (tuple, list)) else copies[0])  # type: ignore[arg-type]

        return record


@activation_recorder.variant(TensorsOnlyExpected)
class _(Right):
    """Refused on purpose."""

    def hook(self, name: str) -> Callable[..., Any]:
        def record(module: nn.Module, args: Any, output: Any) -> None:
            if not isinstance(output, Tensor):
                raise TypeError(f"{name} gives no tensor")
            self.keep(name, self.copy(output))

        return record


class Choosing(Right):
    """Asks more than that the output is a tensor."""

    def asks(self, output: Tensor) -> bool:
        raise NotImplementedError

    def hook(self, name: str) -> Callable[..., Any]:
        def record(module: nn.Module, args: Any, output: Any) -> None:
            if isinstance(output, Tensor) and self.asks(output):
                self.keep(name, self.copy(output))

        return record


@activation_recorder.mistake()
class FloatsOnly(Choosing):
    """Outputs of integers or bools (an argmax, a mask) were left out, though they are tensors."""

    def asks(self, output: Tensor) -> bool:
        return output.is_floating_point()


@activation_recorder.variant(FloatsOnly)
class _(Choosing):
    def asks(self, output: Tensor) -> bool:
        return output.is_floating_point() or output.is_complex()


@activation_recorder.mistake()
class SubclassesLeftOut(Choosing):
    """A Parameter was left out, which is a Tensor, too. Perhaps type(output) is compared: ask isinstance."""

    def asks(self, output: Tensor) -> bool:
        return type(output) is Tensor


@activation_recorder.mistake()
class EmptyLeftOut(Choosing):
    """A tensor without elements was left out. A batch of no rows is a result, too."""

    def asks(self, output: Tensor) -> bool:
        return output.numel() > 0


@activation_recorder.mistake()
class WithGradientsOnly(Choosing):
    """Under no_grad nothing was recorded. Perhaps an output that does not require grad is left out: a frozen
    model, too, seems never to be called.
    """

    def asks(self, output: Tensor) -> bool:
        return output.requires_grad


@activation_recorder.variant(WithGradientsOnly)
class _(Choosing):
    def asks(self, output: Tensor) -> bool:
        return torch.is_grad_enabled()


@activation_recorder.variant(WithGradientsOnly)
class _(Choosing):
    def asks(self, output: Tensor) -> bool:
        return output.grad_fn is not None


@activation_recorder.mistake(breaks="Tensors of every dtype and shape are recorded, Parameters too.")
class Squeezed(Right):
    """A tensor with one column lost this dimension, and tensors of other shapes are right. Perhaps squeeze() was applied: a copy has
    the shape of the output.
    """

    def copy(self, output: Tensor) -> Tensor:
        return output.detach().clone().squeeze()
