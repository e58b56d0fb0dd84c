"""What people write for 09.to_export: the operator, its fake kernel, its gradient, the parameters."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.exercise import returned
from helpers.labs.torchscript.export_models import Branching, Squared
from helpers.labs.torchscript.export_repairs import Choice, Square, but, exported, operator, square
from helpers.labs.torchscript.to_export import to_export
from helpers.labs.torchscript.to_export_mistakes import as_it_is

built = to_export.bank(returned)


class Made:
    """Makes an operator when it is first needed, once a process."""

    known: dict[str, Any] = {}

    def __init__(self, name: str, **parts: Any) -> None:
        self.name, self.parts = name, parts

    def __call__(self) -> Any:
        if self.name not in Made.known:
            Made.known[self.name] = operator(self.name, **self.parts)
        return Made.known[self.name]


def with_operator(name: str, **parts: Any) -> Callable[..., Any]:
    """The right answer with another operator."""
    made = Made(name, **parts)
    return but(Squared, repair=lambda given: Square(given, made))


@built.mistake()
def function_left():
    """torch.export goes through a custom Function, and takes what its forward does. The Function is gone,
    with the backward that somebody wrote for it; for x * x that is no harm, for a straight-through estimator
    it is.
    """
    return but(Squared, repair=as_it_is)


class Plainly(Square):
    def __init__(self, given: nn.Module) -> None:
        super().__init__(given, lambda: square)


class Detached(nn.Module):
    """Weights as constants."""

    def __init__(self, given: nn.Module) -> None:
        super().__init__()
        self.inner = Choice(given)
        for part in (self.inner.up, self.inner.down):
            part.requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


class Copied(nn.Module):
    """Weights copied into buffers."""

    def __init__(self, given: nn.Module) -> None:
        super().__init__()
        for name, value in given.named_parameters():
            self.register_buffer(name.replace(".", "_"), value.detach().clone())

    def forward(self, x: Tensor) -> Tensor:
        def up(x: Tensor) -> Tensor:
            return nn.functional.linear(x, self.up_weight, self.up_bias)

        def down(x: Tensor) -> Tensor:
            return torch.tanh(nn.functional.linear(x, self.down_weight, self.down_bias))

        return torch.cond(x.sum() > 0, up, down, (x,))


to_export.variant(function_left)(but(Squared, repair=Plainly))


@built.mistake()
def no_fake_kernel():
    """While it is exported there are no values, so the kernel cannot run: register_fake says what shape and
    dtype the result would have.
    """
    return with_operator("no_fake", fake=None)


@built.mistake()
def fake_of_the_examples_shape():
    """The fake kernel knows one shape, that of the example. The program was right for it; the operator says
    the wrong shape for every other.
    """
    return with_operator("fake_of_one_shape", fake=lambda x: torch.empty(4, 2))


@built.mistake()
def fake_of_another_dtype():
    """The fake kernel makes float64 of float32: everything after it is planned for a tensor that does not
    come.
    """
    return with_operator("fake_double", fake=lambda x: torch.empty_like(x, dtype=torch.float64))


REAL = torch.zeros(4, 2)


@built.mistake()
def fake_with_real_data():
    """The fake kernel returned a tensor that exists. It may return only what it makes anew from its argument:
    torch.empty_like(x) is one without data.
    """
    return with_operator("fake_with_data", fake=lambda x: REAL)


@built.mistake()
def fake_reads_the_values():
    """The fake kernel runs the computation through numpy, for which it needs the values. It is asked for the
    form of the result only.
    """
    return with_operator("fake_reads", fake=lambda x: torch.tensor(x.detach().numpy() ** 2))


@built.mistake()
def no_formula():
    """A custom operator has no gradient until register_autograd gives it one: to autograd its kernel is a
    black box.
    """
    return with_operator("no_autograd", backward=None)


@built.mistake()
def grad_out_ignored():
    """backward returns the derivative alone, and not the derivative times the gradient that comes in."""
    return with_operator("grad_out_ignored", backward=lambda ctx, grad_out: 2 * ctx.saved_tensors[0])


@built.mistake()
def factor_of_two_lost():
    """The derivative of x * x is 2 * x."""
    return with_operator("half", backward=lambda ctx, grad_out: ctx.saved_tensors[0] * grad_out)


def squared_in_place(x: Tensor) -> Tensor:
    return x.mul_(x)


@built.mistake()
def returns_its_input():
    """The kernel squared x in place and returned x itself. What an operator returns must be new: torch
    refuses an alias of its input, and the caller's x was lost.
    """
    return with_operator("in_place", kernel=squared_in_place)


@built.mistake()
def weights_frozen():
    """The parameters no longer require grad: the program gives the right values and cannot be trained
    further.
    """
    return but(Branching, repair=Copied)


@to_export.variant(weights_frozen)
def _(
    module: nn.Module, example: tuple[Tensor, ...], dynamic: tuple[int, ...]
) -> torch.export.ExportedProgram:
    frozen = copy.deepcopy(module).requires_grad_(False)
    return exported(frozen, example, dynamic)
