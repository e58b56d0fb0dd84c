"""A right way to export the models of 09.to_export, of which mistakes exchange one part."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from helpers.labs.torchscript.shown.export_models import Averaged, Branching, Squared

Sizes = Callable[[nn.Module, tuple[int, ...]], Any]


class Average(nn.Module):
    """Averaged without len()."""

    def __init__(self, given: nn.Module) -> None:
        super().__init__()
        self.table = given.table

    def forward(self, x: Tensor) -> Tensor:
        return (x + self.table[: x.shape[1]]).mean(0)


class Choice(nn.Module):
    """Branching with torch.cond."""

    def __init__(self, given: nn.Module) -> None:
        super().__init__()
        self.up, self.down = given.up, given.down

    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, self.up, self.lower, (x,))

    def lower(self, x: Tensor) -> Tensor:
        return torch.tanh(self.down(x))


class Square(nn.Module):
    """Squared with an operator. op: makes it when it is needed."""

    def __init__(self, given: nn.Module, op: Callable[[], Any] | None = None) -> None:
        super().__init__()
        self.fc = given.fc
        self.op = (op or right_operator)()

    def forward(self, x: Tensor) -> Tensor:
        return self.op(self.fc(x))


def square(x: Tensor) -> Tensor:
    return x * x


def fake(x: Tensor) -> Tensor:
    return torch.empty_like(x)


def keep(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def formula(ctx: Any, grad_out: Tensor) -> Tensor:
    (x,) = ctx.saved_tensors
    return 2 * x * grad_out


def operator(
    name: str,
    kernel: Callable[[Tensor], Tensor] = square,
    fake: Callable[[Tensor], Tensor] | None = fake,
    backward: Callable[[Any, Tensor], Any] | None = formula,
) -> Any:
    """A custom operator of this name; what is None is left out."""
    op = torch.library.custom_op(f"lab09_mistakes::{name}", mutates_args=())(kernel)
    if fake is not None:
        op.register_fake(fake)
    if backward is not None:
        op.register_autograd(backward, setup_context=keep)
    return op


@functools.cache
def right_operator() -> Any:
    """The right one."""
    return operator("square")


def right_sizes(module: nn.Module, dynamic: tuple[int, ...]) -> Any:
    """A Dim for each dynamic dimension, with the end of the table."""
    sizes = {dim: Dim(f"size{dim}") for dim in dynamic}
    if isinstance(module, Averaged):
        sizes[1] = Dim("length", max=len(module.table))
    return (sizes,)


REPAIRS: dict[type[nn.Module], Callable[[nn.Module], nn.Module]] = {
    Averaged: Average,
    Branching: Choice,
    Squared: Square,
}
_made: dict[Any, ExportedProgram] = {}


def right(module: nn.Module, example: tuple[Tensor, ...], dynamic: tuple[int, ...]) -> ExportedProgram:
    """The right answer. Asked for again with the same weights and the same x, it gives the same program."""
    weight = next(module.parameters())
    key = type(module), tuple(example[0].shape), float(weight.detach().flatten()[0])
    if key not in _made:
        _made[key] = exported(module, example, dynamic)
    return _made[key]


def exported(
    module: nn.Module,
    example: tuple[Tensor, ...],
    dynamic: tuple[int, ...],
    repair: Callable[[nn.Module], nn.Module] | None = None,
    sizes: Sizes = right_sizes,
) -> ExportedProgram:
    """The right way, with another repair or other sizes."""
    repaired = (repair or REPAIRS[type(module)])(module)
    return torch.export.export(repaired, example, dynamic_shapes=sizes(module, dynamic))


def but(kind: type[nn.Module] | tuple[type[nn.Module], ...], **how: Any) -> Callable[..., ExportedProgram]:
    """The right answer with another repair or other sizes for some of the models."""

    def answer(module: nn.Module, example: tuple[Tensor, ...], dynamic: tuple[int, ...]) -> ExportedProgram:
        if not isinstance(module, kind):
            return right(module, example, dynamic)
        return exported(module, example, dynamic, **how)

    return answer
