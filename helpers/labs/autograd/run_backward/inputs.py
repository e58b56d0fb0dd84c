"""Graphs on which an engine of one's own is tried: random ones, and Functions that note when they are called."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

Choose = Callable[[int], int]

ROWS, COLUMNS = 3, 4
SHAPES = (
    (ROWS, COLUMNS),
    (1, COLUMNS),
    (ROWS, 1),
    (COLUMNS,),
    (1,),
    (),
)  # all of them broadcast to the first


class Blend(Function):
    """Two outputs; arguments that are no tensors between those that are; gradients that are not reduced."""

    @staticmethod
    def forward(ctx: Any, name: str, a: Tensor, weight: float, b: Tensor) -> tuple[Tensor, Tensor]:
        ctx.weight = weight
        ctx.save_for_backward(a, b)
        return a * weight + b, (a * b).sin()

    @staticmethod
    def backward(ctx: Any, grad: Tensor, grad_sine: Tensor) -> tuple:
        a, b = ctx.saved_tensors
        inner = grad_sine * (a * b).cos()
        return None, grad * ctx.weight + inner * b, None, grad + inner * a


class Halves(Function):
    """The other style of a Function: forward without ctx, and setup_context. No gradient for `other`."""

    @staticmethod
    def forward(x: Tensor, other: Tensor, scale: float) -> Tensor:
        return x.tanh() * scale + other

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Tensor) -> None:
        x, _, ctx.scale = inputs
        ctx.save_for_backward(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple:
        (x,) = ctx.saved_tensors
        return grad * ctx.scale * (1 - x.tanh() ** 2), None, None


class TwoDtypes(Function):
    """Two results, of float32 and float64: the input times 2 and times 3."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        return x.float() * 2, x.double() * 3

    @staticmethod
    def backward(ctx: Any, short: Tensor, long: Tensor) -> Tensor:
        if (short.dtype, long.dtype) != (torch.float32, torch.float64):
            raise RuntimeError(
                f"gradients of float32 and float64 belong here, not {short.dtype} and {long.dtype}"
            )
        return short * 2 + long.float() * 3


class Blocked(Function):
    """The identity, without a gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 1

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> None:
        return None


@dataclass
class Log:
    """What the Logged nodes of a graph noted: their labels in the order of their calls, and what they returned."""

    labels: list[str] = field(default_factory=list)
    grad_mode: list[bool] = field(default_factory=list)
    returned: list[tuple[Tensor, Tensor]] = field(
        default_factory=list
    )  # the tensor, and a copy from that time

    def note(self, label: str, *returned: Tensor) -> None:
        self.labels.append(label)
        self.grad_mode.append(torch.is_grad_enabled())
        self.returned += [(grad, grad.detach().clone()) for grad in returned]

    def was_edited(self) -> bool:
        """Whether a gradient that a node returned was changed afterwards."""
        return not all(torch.equal(grad.detach(), copy) for grad, copy in self.returned)


class Logged(Function):
    """Multiplies by a factor."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float, label: str, log: Log) -> Tensor:
        ctx.factor, ctx.label, ctx.log = factor, label, log
        return x * factor

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple:
        found = grad * ctx.factor
        ctx.log.note(ctx.label, found)
        return found, None, None, None


class LoggedPair(Function):
    """Two outputs: the input times 2 and times 3."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, label: str, log: Log) -> tuple[Tensor, Tensor]:
        ctx.label, ctx.log = label, log
        return x * 2, x * 3

    @staticmethod
    def backward(ctx: Any, first: Tensor, second: Tensor) -> tuple:
        found = first * 2 + second * 3
        ctx.log.note(ctx.label, found)
        return found, None, None


def ladder(x: Tensor, rungs: int, log: Log) -> Tensor:
    """A graph in which every rung doubles the number of paths; its nodes are noted in `log`.

    Labels: `pair k` has two outputs, which `left k` and `right k` use.
    """
    for rung in range(rungs):
        left, right = LoggedPair.apply(x, f"pair {rung}", log)
        left = Logged.apply(left, 0.25, f"left {rung}", log)
        right = Logged.apply(right, 0.25, f"right {rung}", log).sin()
        x = left + right
    return x


def wide(x: Tensor) -> Tensor:
    """The value in the full shape."""
    return x.expand(ROWS, COLUMNS)


def _edited(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    """A base that is edited through a view, and a view of it that was made before."""
    base = wide(x).clone()
    row = base[1]
    base[:, ::2].mul_(wide(y)[:, 1::2])
    return base, row


def _filled(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    base = torch.zeros(ROWS, COLUMNS, dtype=x.dtype)
    base[1:] = wide(y)[1:]
    base.t()[0].add_(wide(x)[:, 0])
    return (base,)


# Every operation takes two values and gives one or more; all shapes broadcast to (ROWS, COLUMNS).
OPERATIONS: dict[str, Callable[[Tensor, Tensor], tuple[Tensor, ...]]] = {
    "add": lambda x, y: (x + y,),
    "subtract": lambda x, y: (x - y,),
    "multiply": lambda x, y: ((x * y).tanh(),),
    "double": lambda x, y: (x + x,),
    "constant": lambda x, y: (x.detach() * y,),
    "sin": lambda x, y: (x.sin(),),
    "larger": lambda x, y: (torch.maximum(x, y),),
    "choose": lambda x, y: (torch.where(x > y, x.sin(), y),),
    "other dtype": lambda x, y: (x.to(torch.float32 if x.dtype == torch.float64 else torch.float64),),
    "sum": lambda x, y: ((x.sum() / 4).tanh(),),
    "mean of columns": lambda x, y: (wide(x).mean(0), y * 1),
    "sum of rows": lambda x, y: (wide(x).sum(1, keepdim=True).sin(),),
    "matmul": lambda x, y: ((wide(x) @ wide(y).t().to(x.dtype)).tanh() @ wide(x),),
    "unbind": lambda x, y: tuple(wide(x).unbind()),
    "split": lambda x, y: torch.cat([wide(x), wide(y).to(x.dtype), wide(x)]).split(ROWS),
    "row maximum": lambda x, y: tuple(wide(x).max(1, keepdim=True))[:1],
    "top": lambda x, y: (wide(x).topk(2, dim=1).values[:, 1:],),
    "sort": lambda x, y: (wide(x).sort(1).values,),
    "mean and deviation": lambda x, y: tuple(reversed(torch.std_mean(wide(x) * 2 + 0.1, 1, keepdim=True))),
    "edited view": _edited,
    "filled": _filled,
    "Function": lambda x, y: Blend.apply("blend", x, 0.5, y),
    "Function, new style": lambda x, y: (Halves.apply(x, y, 0.5),),
    "Function without gradient": lambda x, y: (Blocked.apply(x) + y,),
}


@dataclass
class Graph:
    """A grown graph. steps: what was done, for a report."""

    leaves: list[Tensor]
    values: list[Tensor]
    steps: list[str]

    def roots(self) -> list[Tensor]:
        """The values that require a gradient."""
        return [value for value in self.values if value.requires_grad]


def grown(choose: Choose, steps: int, generator: torch.Generator, leaves: int = 4) -> Graph:
    """A random graph. choose: `choose(n)` is a number in 0 ... n - 1; later values are taken more often."""
    made = []
    for _ in range(leaves):
        dtype = (torch.float64, torch.float64, torch.float32)[choose(3)]
        values = torch.randn(SHAPES[choose(len(SHAPES))], dtype=torch.float64, generator=generator).to(dtype)
        made.append(values.requires_grad_())
    graph = Graph(made, list(made), [])
    names = list(OPERATIONS)
    for _ in range(steps):
        name = names[choose(len(names))]
        first, second = (max(choose(len(graph.values)), choose(len(graph.values))) for _ in range(2))
        graph.values += OPERATIONS[name](graph.values[first], graph.values[second])
        graph.steps.append(f"{name} ({first}, {second})")
    return graph


@functools.lru_cache(1)
def long_chain(seed: int) -> tuple[Tensor, Tensor, Tensor, dict[str, Tensor]]:
    """The long chain; kept, as each known mistake is tried on it when a name is looked for.

    Its nodes save nothing, so that no backward can use it up. Each of the two paths turns the sign an odd number of
    times, so torch's gradient is -2 * grad_out to the bit; to ask torch takes as long as to build the chain.
    """
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(3, generator=generator, dtype=torch.float64, requires_grad=True)
    h = x
    for _ in range(1_500):
        h = -h + 0.1
    root, grad_out = -h + (-x), torch.randn(3, generator=generator, dtype=torch.float64)
    return x, root, grad_out, {"x": -2 * grad_out}
