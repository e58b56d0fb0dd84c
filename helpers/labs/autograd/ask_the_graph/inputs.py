"""Training steps for 03.ask_the_graph: healthy ones, and ones with a fault that is made in one of several ways."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from helpers.check.trial import Trial

CUT, CONSTANT, KEPT = "cut", "constant", "kept on ctx"
EDITED, UNSEEN = "edited", "edited unseen"

# The ways to make each fault; each breaks the condition of its word and of no other.
WAYS = {
    CUT: ("last.data", "first.detach()", "scale.item()", "a copy of last", "no_grad", "one more parameter"),
    CONSTANT: ("no create_graph", "item", "a new leaf", "once_differentiable"),
    KEPT: ("the result", "the input", "an intermediate", "a parameter", "near the loss"),
    EDITED: ("a result", "a parameter", "for a Function", "a view", "a plain factor"),
    UNSEEN: ("after the forward pass", "before the forward pass", "the last of them"),
}


class Saved(Function):
    """tanh as torch asks for it: the tensor is saved; numbers and shapes are attributes."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.tanh()
        ctx.save_for_backward(y)
        ctx.times, ctx.shape, ctx.word = 2, x.shape, "tanh"  # not ctx.name, which would hide name()
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return grad * (1 - y * y)


class Kept(Function):
    """tanh with an attribute of ctx that holds a tensor."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, what: str) -> Tensor:
        y = x.tanh()
        ctx.tensor = {"the input": x, "an intermediate": y.clone()}.get(what, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad, None


class Once(Function):
    """x * x, whose backward cannot be differentiated."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad * 2 * ctx.saved_tensors[0]


@dataclass
class Step:
    """What an answer is given, and the words that hold."""

    text: str
    wanted: set[str]
    parts: dict[str, Tensor] = field(default_factory=dict)
    params: dict[str, Tensor] = field(default_factory=dict)
    noted: dict[str, tuple[Tensor, int]] = field(default_factory=dict)
    others: list[Tensor] = field(default_factory=list)

    def note(self) -> None:
        """Notes numbers and versions, as a training loop would before its forward pass."""
        self.noted = {name: (each.detach().clone(), each._version) for name, each in self.params.items()}

    def tensors(self) -> list[Tensor]:
        """All that no answer may change."""
        return [
            *self.parts.values(),
            *self.params.values(),
            *(copy for copy, _ in self.noted.values()),
            *self.others,
        ]


def drawn(trial: Trial, faults: dict[str, str] | None = None, *, order: int = 0) -> Step:
    """A step of a small net with a gradient penalty.

    faults: word -> the way in which it is made. order: in which order the parts stand.
    """
    faults = faults or {}
    text = ", ".join(f"{word} ({way})" for word, way in faults.items()) or "a step without a fault"

    def made(*shape: int) -> Tensor:
        return torch.randn(shape, generator=trial.generator, dtype=torch.float64)

    def ways(word: str) -> str:
        return faults.get(word, "")

    names = {"first": (3, 4), "bias": (4,), "scale": (), "last": (4, 1), "critic": (3,), "late": (4,)}
    params: dict[str, Tensor] = {name: nn.Parameter(made(*shape)) for name, shape in names.items()}
    if ways(CUT) == "one more parameter":
        params["spare"] = nn.Parameter(made(2))
    step = Step(text, set(faults), params=params)
    with torch.no_grad():
        for each in list(params.values())[::2]:
            each.add_(1).mul_(2)  # earlier steps of training: a version need not begin at 0
    step.note()
    first, bias, scale, last = (params[name] for name in ("first", "bias", "scale", "last"))
    critic, late = params["critic"], params["late"]
    with torch.no_grad():
        bias.add_(1)  # a counted edit that nobody has saved yet: no fault
        scale.add_(0)
    if ways(UNSEEN) == "before the forward pass":
        first.data.add_(1)
    x = made(5, 3).requires_grad_()
    step.others.append(x)

    one, factor, other = first, scale, last
    if ways(CUT) == "first.detach()":
        one = first.detach()
    if ways(CUT) == "scale.item()":
        factor = scale.item()
    if ways(CUT) == "last.data":
        other = last.data
    if ways(CUT) == "a copy of last":
        other = nn.Parameter(last.detach())  # a leaf with the same memory, and a different one
    with torch.set_grad_enabled(ways(CUT) != "no_grad"):
        hidden = x @ one + bias
    pressed = hidden * factor
    if ways(KEPT) in ("the result", "the input", "an intermediate"):
        pressed = Kept.apply(pressed, ways(KEPT))
    squashed = Saved.apply(pressed)
    grown = squashed.exp()
    turned = grown * late
    moved = turned + 1
    moved.add_(1)  # nobody saved it: no fault
    score = moved @ other
    if ways(KEPT) == "near the loss":
        score = Kept.apply(score, "the result")
    swing = made(3)
    judge = Kept.apply(critic, "the input") if ways(KEPT) == "a parameter" else critic
    fit = (score - made(5, 1)).square().mean() + (swing * judge).sum()

    judged = x @ critic
    judged = Once.apply(judged) if ways(CONSTANT) == "once_differentiable" else judged.square()
    total = judged.square().sum() if ways(CONSTANT) == "once_differentiable" else judged.sum()
    (slope,) = torch.autograd.grad(total, x, create_graph=ways(CONSTANT) != "no create_graph")
    if ways(CONSTANT) == "once_differentiable":
        # The gradient by the input of the product would reach critic: that by what went into the Function does not.
        inside = (x.detach() @ critic.detach()).requires_grad_()
        (slope,) = torch.autograd.grad(Once.apply(inside).square().sum(), inside, create_graph=True)
        step.others.append(inside)
    penalty = slope.square().sum()
    if ways(CONSTANT) == "item":
        penalty = torch.tensor(penalty.item(), dtype=torch.float64)
    if ways(CONSTANT) == "a new leaf":
        penalty = torch.tensor(penalty.item(), dtype=torch.float64, requires_grad=True) * 1

    with torch.no_grad():
        if ways(EDITED) == "a result":
            grown.add_(1)  # exp saved it, and so did the product
        if ways(EDITED) == "a parameter":
            late.mul_(2)
        if ways(EDITED) == "for a Function":
            squashed.detach().mul_(2)  # exp saved its result, not this
        if ways(EDITED) == "a view":
            grown[:1].zero_()
        if ways(EDITED) == "a plain factor":
            swing.add_(1)
    if ways(UNSEEN) == "after the forward pass":
        first.data.add_(1)
    if ways(UNSEEN) == "the last of them":
        critic.data[-1] -= 1

    parts = {"fit": fit, "penalty": penalty, "decay": critic.square().sum()}
    names_of_parts = list(parts)
    step.parts = {name: parts[name] for name in names_of_parts[order:] + names_of_parts[:order]}
    return step


def apart(trial: Trial) -> Step:
    """Two parts, each with a parameter of its own."""
    weights = [nn.Parameter(torch.randn(3, generator=trial.generator, dtype=torch.float64)) for _ in range(2)]
    step = Step(
        "two parts, each with a parameter of its own", set(), params=dict(zip("ab", weights, strict=True))
    )
    step.note()
    step.parts = {"one": weights[0].square().sum(), "two": weights[1].exp().sum()}
    return step


def large(trial: Trial) -> Step:
    """3,000 nodes in a row, and 40 diamonds; the fault is at the bottom."""
    weight = nn.Parameter(torch.randn(3, generator=trial.generator, dtype=torch.float64))
    step = Step(
        "3,000 nodes in a row, and 40 diamonds, with a kept tensor at the bottom",
        {KEPT},
        params={"weight": weight},
    )
    step.note()
    y = Kept.apply(weight, "the result")
    for _ in range(40):
        y = y / 2 + y / 2
    for _ in range(3000):
        y = y + 1
    step.parts = {"fit": y.sum()}
    return step
