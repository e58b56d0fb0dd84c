"""Right answers to 09.to_export, in different shapes."""

from __future__ import annotations

import functools

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from helpers.labs import torchscript as lab


@functools.cache
def square():
    """As in the notebook, but made when it is first called: while a check gets ready, no source can be looked up."""

    @torch.library.custom_op("lab09::square", mutates_args=())
    def op(x: Tensor) -> Tensor:
        return x * x

    @op.register_fake
    def _(x: Tensor) -> Tensor:
        return torch.empty_like(x)

    op.register_autograd(through_square, setup_context=keep)
    return op


def keep(ctx, inputs: tuple[Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def through_square(ctx, grad_out: Tensor) -> Tensor:
    (x,) = ctx.saved_tensors
    return 2 * x * grad_out


class Repaired(nn.Module):
    """A given module, with another forward around its parts."""

    def __init__(self, given: nn.Module) -> None:
        super().__init__()
        self.given = given


class Averaging(Repaired):
    def forward(self, x: Tensor) -> Tensor:
        return (x + self.given.table[: x.shape[1]]).mean(0)


class Choosing(Repaired):
    def forward(self, x: Tensor) -> Tensor:
        def down(x: Tensor) -> Tensor:
            return torch.tanh(self.given.down(x))

        return torch.cond(x.sum() > 0, self.given.up, down, (x,))


class Squaring(Repaired):
    def forward(self, x: Tensor) -> Tensor:
        return square()(self.given.fc(x))


REPAIRS = {lab.Averaged: Averaging, lab.Branching: Choosing, lab.Squared: Squaring}


def with_dims(module: nn.Module, example: tuple[Tensor, ...], dynamic: tuple[int, ...]) -> ExportedProgram:
    """As in the notebook."""
    sizes = {dim: Dim(f"size{dim}") for dim in dynamic}
    if isinstance(module, lab.Averaged):
        sizes[1] = Dim("length", max=len(module.table))
    return torch.export.export(REPAIRS[type(module)](module), example, dynamic_shapes=(sizes,))


@functools.cache
def operator():
    """Made on the first call, with a numpy kernel and an exponent."""

    @torch.library.custom_op("lab09::power_of_numpy", mutates_args=(), device_types="cpu")
    def op(x: Tensor, exponent: int) -> Tensor:
        return torch.from_numpy(x.detach().numpy() ** exponent)

    op.register_fake(lambda x, exponent: x.new_empty(x.shape))
    op.register_autograd(
        lambda ctx, grad_out: (grad_out * ctx.twice, None),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "twice", inputs[0] * 2),
    )
    return op


class Written(nn.Module):
    """One class for all three, with parameters of its own names."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.kind = type(module).__name__
        self.values = nn.ParameterList(module.parameters())

    def forward(self, x: Tensor) -> Tensor:
        if self.kind == "Averaged":
            y = x + self.values[0].narrow(0, 0, x.size(1))
            return y.sum(0) / x.size(0)
        if self.kind == "Squared":
            return operator()(nn.functional.linear(x, *self.values), 2)
        upper, lower = list(self.values)[:2], list(self.values)[2:]
        return torch.cond(
            torch.gt(x.sum(), 0),
            true_fn=lambda x: nn.functional.linear(x, *upper),
            false_fn=lambda x: nn.functional.linear(x, *lower).tanh(),
            operands=(x,),
        )


def inferred(module: nn.Module, example: tuple[Tensor, ...], dynamic: tuple[int, ...]) -> ExportedProgram:
    """Ranges that torch infers, raising where the code fixes a size."""
    (x,) = example
    shapes = [Dim.DYNAMIC if dim in dynamic else Dim.STATIC for dim in range(x.dim())]
    return torch.export.export(Written(module), example, dynamic_shapes={"x": shapes})


def automatic(module: nn.Module, example: tuple[Tensor, ...], dynamic: tuple[int, ...]) -> ExportedProgram:
    """Dim.AUTO, on code that fixes nothing."""
    with torch.no_grad():
        repaired = REPAIRS[type(module)](module)
        return torch.export.export(repaired, example, dynamic_shapes=[{dim: Dim.AUTO for dim in dynamic}])


RIGHT = [with_dims, inferred, automatic]
