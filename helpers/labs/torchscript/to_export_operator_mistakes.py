"""What people write for 09.to_export: the operator, its fake kernel, its gradient, the parameters."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.torchscript.export_models import Branching, Squared
from helpers.labs.torchscript.export_repairs import Choice, Square, but, exported, operator, square
from helpers.labs.torchscript.to_export import to_export
from helpers.labs.torchscript.to_export_mistakes import as_it_is


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


to_export.wrong_answer(
    "function_left",
    why="torch.export goes through a custom Function, and takes what its forward does. The Function is gone, with the "
    "backward that somebody wrote for it; for x * x that is no harm, for a straight-through estimator it is.",
    seen="for a straight-through estimator it is",
    answer=but(Squared, repair=as_it_is),
)


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


to_export.another_form("function_left")(but(Squared, repair=Plainly))
to_export.wrong_answer(
    "no_fake_kernel",
    why="While it is exported there are no values, so the kernel cannot run: register_fake says what shape and dtype the "
    "result would have.",
    seen="says what shape and dtype the result would have",
    answer=with_operator("no_fake", fake=None),
)
to_export.wrong_answer(
    "fake_of_the_examples_shape",
    why="The fake kernel knows one shape, that of the example. The program was right for it; the operator says the wrong "
    "shape for every other.",
    seen="knows one shape",
    answer=with_operator("fake_of_one_shape", fake=lambda x: torch.empty(4, 2)),
)
to_export.wrong_answer(
    "fake_of_another_dtype",
    why="The fake kernel makes float64 of float32: everything after it is planned for a tensor that does not come.",
    seen="everything after it is planned",
    answer=with_operator("fake_double", fake=lambda x: torch.empty_like(x, dtype=torch.float64)),
)
REAL = torch.zeros(4, 2)
to_export.wrong_answer(
    "fake_with_real_data",
    why="The fake kernel returned a tensor that exists. It may return only what it makes anew from its argument: "
    "torch.empty_like(x) is one without data.",
    seen="a tensor that exists",
    answer=with_operator("fake_with_data", fake=lambda x: REAL),
)
to_export.wrong_answer(
    "fake_reads_the_values",
    why="The fake kernel runs the computation through numpy, for which it needs the values. It is asked for the form of "
    "the result only.",
    seen="asked for the form of the result only",
    answer=with_operator("fake_reads", fake=lambda x: torch.tensor(x.detach().numpy() ** 2)),
)
to_export.wrong_answer(
    "no_formula",
    why="A custom operator has no gradient until register_autograd gives it one: to autograd its kernel is a black box.",
    seen="to autograd its kernel is a black box",
    answer=with_operator("no_autograd", backward=None),
)
to_export.wrong_answer(
    "grad_out_ignored",
    why="backward returns the derivative alone, and not the derivative times the gradient that comes in.",
    seen="returns the derivative alone",
    answer=with_operator("grad_out_ignored", backward=lambda ctx, grad_out: 2 * ctx.saved_tensors[0]),
)
to_export.wrong_answer(
    "factor_of_two_lost",
    why="The derivative of x * x is 2 * x.",
    seen="The derivative of x * x is 2 * x",
    answer=with_operator("half", backward=lambda ctx, grad_out: ctx.saved_tensors[0] * grad_out),
)


def squared_in_place(x: Tensor) -> Tensor:
    return x.mul_(x)


to_export.wrong_answer(
    "returns_its_input",
    why="The kernel squared x in place and returned x itself. What an operator returns must be new: torch refuses an "
    "alias of its input, and the caller's x was lost.",
    seen="What an operator returns must be new",
    answer=with_operator("in_place", kernel=squared_in_place),
)
to_export.wrong_answer(
    "weights_frozen",
    why="The parameters no longer require grad: the program gives the right values and cannot be trained further.",
    seen="cannot be trained further",
    answer=but(Branching, repair=Copied),
)


@to_export.another_form("weights_frozen")
def _(
    module: nn.Module, example: tuple[Tensor, ...], dynamic: tuple[int, ...]
) -> torch.export.ExportedProgram:
    frozen = copy.deepcopy(module).requires_grad_(False)
    return exported(frozen, example, dynamic)
