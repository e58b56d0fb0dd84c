"""Training steps for 03.ask_the_graph: healthy ones, and ones with a fault that is made in one of several ways."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
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
    UNSEEN: (
        "after the forward pass",
        "before the forward pass",
        "a later parameter",
        "the first entry",
        "the last entry",
        "turned round",
        "the other sign",
        "by very little",
    ),
}
# Edits that no version counts. Sums and norms of numbers that are turned round stay as they were, to the last bit.
UNCOUNTED = {
    "after the forward pass": "first.data.add_(1)",
    "before the forward pass": "first.data.add_(1)",
    "a later parameter": "critic.data.add_(1)",
    "the first entry": "critic.data[0] -= 1",
    "the last entry": "critic.data[-1] -= 1",
    "turned round": "last.data.copy_(last.data.flip(0))",
    "the other sign": "last.data.neg_()",
    "by very little": "critic.data[0] += 2**-40",
}
COUNTED = {
    "a result": "grown.add_(1)",  # exp saved it, and so did the product
    "a parameter": "late.mul_(2)",
    "for a Function": "squashed.detach().mul_(2)",  # exp saved its result, not this
    "a view": "grown[:1].zero_()",
    "a plain factor": "swing.add_(1)",
}
# What nodes saved under names of their own kind: what is used, where it is saved, and how it is edited.
OTHER_NAMES = {
    "what went into a linear layer": ("fit = F.linear(h, w, b).sum()", "h.add_(1)"),
    "the second factor of a matrix product": ("fit = (w @ h.t()).sum()", "h.add_(1)"),
    "a mask": ("fit = torch.where(mask, b, 0.0).sum()", "mask.zero_()"),
    "targets": ("fit = F.cross_entropy(h @ w + b, target)", "target.zero_()"),
    "an index": ("fit = w[rows].sum()", "rows.zero_()"),
    "what went into a convolution": ("fit = F.conv1d(h[None].mT, w[:, :, None]).sum()", "h.add_(1)"),
}
FUNCTIONS = {
    "Saved": "Saved.apply(x): x.tanh(), saved with save_for_backward; ctx.times, ctx.shape and ctx.word are no tensors.",
    "Kept": "Kept.apply(x, what): x.tanh(); ctx.tensor is what is named, the intermediate a clone of the result.",
    "Once": "Once.apply(x): x * x, with a backward under @once_differentiable.",
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
    others: dict[str, Tensor] = field(default_factory=dict)
    source: str = ""  # how a learner builds the step
    kind: str = ""  # what steps have in common of which one mistake falls at the first that it gets wrong

    def note(self) -> None:
        """Notes numbers and versions, as a training loop would before its forward pass."""
        self.noted = {name: (each.detach().clone(), each._version) for name, each in self.params.items()}

    def shown(self) -> str:
        """The step as a report shows it."""
        used = [text for name, text in FUNCTIONS.items() if f"{name}.apply" in self.source]
        return "\n".join([f"{self.text}:", self.source, *used])

    def tensors(self) -> dict[str, Tensor]:
        """All that no answer may change, by name."""
        return (
            self.parts
            | self.params
            | {f"the copy of {name}": copy for name, (copy, _) in self.noted.items()}
            | self.others
        )


def forward(faults: dict[str, str]) -> list[str]:
    """The lines of a step, from the parameters to the parts; behind a line that makes a fault stands its word."""
    cut, constant, kept, edited, unseen = (
        faults.get(word, "") for word in (CUT, CONSTANT, KEPT, EDITED, UNSEEN)
    )

    def line(text: str, *words: str) -> str:
        return text + ("  # " + ", ".join(words) if words else "")

    early = unseen == "before the forward pass"
    one = "first.detach()" if cut == "first.detach()" else "first"
    factor = "scale.item()" if cut == "scale.item()" else "scale"
    other = {"last.data": "last.data", "a copy of last": "nn.Parameter(last.detach())"}.get(cut, "last")
    lines = ["with torch.no_grad():", "    bias.add_(1)", "    scale.add_(0)"]
    if early:
        lines.append(line(UNCOUNTED[unseen], UNSEEN))
    if cut == "no_grad":
        lines += ["with torch.no_grad():", line("    hidden = x @ first + bias", CUT)]
    else:
        lines.append(line(f"hidden = x @ {one} + bias", *[CUT] * (one != "first")))
    lines.append(line(f"pressed = hidden * {factor}", *[CUT] * (factor != "scale")))
    if kept in ("the result", "the input", "an intermediate"):
        lines.append(line(f'pressed = Kept.apply(pressed, "{kept}")', KEPT))
    lines += [
        "squashed = Saved.apply(pressed)",
        "grown = squashed.exp()",
        "moved = grown * late + 1",
        "moved.add_(1)",
    ]
    lines.append(line(f"score = moved @ {other}", *[CUT] * (other != "last")))
    if kept == "near the loss":
        lines.append(line('score = Kept.apply(score, "the result")', KEPT))
    judge = line('Kept.apply(critic, "the input")', KEPT) if kept == "a parameter" else "critic"
    lines += [f"judge = {judge}", "fit = (score - aim).square().mean() + (swing * judge).sum()"]
    lines += slope(constant)
    penalty = {
        "item": line("torch.tensor(slope.square().sum().item())", CONSTANT),
        "a new leaf": line("torch.tensor(slope.square().sum().item(), requires_grad=True) * 1", CONSTANT),
    }
    lines.append(f"penalty = {penalty.get(constant, 'slope.square().sum()')}")
    if edited:
        lines += ["with torch.no_grad():", line(f"    {COUNTED[edited]}", EDITED)]
    if unseen and not early:
        lines.append(line(UNCOUNTED[unseen], UNSEEN))
    return lines


def slope(constant: str) -> list[str]:
    """The lines that compute the gradient whose square is the penalty."""
    if constant == "once_differentiable":
        # The gradient by the input of the product would reach critic: that by what went into the Function does not.
        return [
            "inside = (x @ critic).detach().requires_grad_()",
            "judged = Once.apply(inside).square().sum()",
            f"(slope,) = torch.autograd.grad(judged, inside, create_graph=True)  # {CONSTANT}",
        ]
    made = f"False)  # {CONSTANT}" if constant == "no create_graph" else "True)"
    return [
        "judged = (x @ critic).square().sum()",
        f"(slope,) = torch.autograd.grad(judged, x, create_graph={made}",
    ]


def drawn(trial: Trial, faults: dict[str, str] | None = None, *, order: int = 0) -> Step:
    """A step of a small net with a gradient penalty.

    faults: word -> the way in which it is made. order: in which order the parts stand.
    """
    faults = faults or {}
    text = ", ".join(f"{word} ({way})" for word, way in faults.items()) or "a step without a fault"

    def made(*shape: int) -> Tensor:
        # Multiples of 1/1024: sums and squares of them are exact in each order.
        return (torch.randn(shape, generator=trial.generator, dtype=torch.float64) * 1024).round() / 1024

    shapes = {"first": (3, 4), "bias": (4,), "scale": (), "last": (4, 1), "critic": (3,), "late": (4,)}
    if faults.get(CUT) == "one more parameter":
        shapes["spare"] = (2,)
    params: dict[str, Tensor] = {name: nn.Parameter(made(*shape)) for name, shape in shapes.items()}
    step = Step(text, set(faults), params=params)
    trained = list(params)[::2]
    with torch.no_grad():
        for name in trained:
            params[name].add_(1).mul_(2)  # earlier steps of training: a version need not begin at 0
    step.note()
    names = {"torch": torch, "nn": nn, "Saved": Saved, "Kept": Kept, "Once": Once, **params}
    names |= {"x": made(5, 3).requires_grad_(), "swing": made(3), "aim": made(5, 1)}
    lines = forward(faults)
    exec(compile("\n".join(lines), "<step>", "exec"), names)  # what is shown is what ran
    step.others = {name: names[name] for name in ("x", "inside") if name in names}
    names["decay"] = names["critic"].square().sum()
    parts = ["fit", "penalty", "decay"]
    parts = parts[order:] + parts[:order]
    step.parts = {name: names[name] for name in parts}
    step.source = "\n".join(
        [
            "params: " + ", ".join(f"{name} {shape}" for name, shape in shapes.items()) + "; float64, drawn",
            f"{', '.join(trained)} have been edited before (_version 2); then `noted` is made.",
            "x (5, 3) requires grad; swing (3,) and aim (5, 1) do not.",
            *lines,
            "decay = critic.square().sum()",
            "parts: " + ", ".join(parts),
        ]
    )
    return step


def apart(trial: Trial) -> Step:
    """Two parts, each with a parameter of its own."""
    a, b = (nn.Parameter(torch.randn(3, generator=trial.generator, dtype=torch.float64)) for _ in range(2))
    step = Step("two parts, each with a parameter of its own", set(), params={"a": a, "b": b})
    step.note()
    step.parts = {"one": a.square().sum(), "two": b.exp().sum()}
    step.source = "\n".join(
        [
            "params: a (3,), b (3,); float64, drawn; then `noted` is made.",
            "one = a.square().sum()",
            "two = b.exp().sum()",
            "parts: one, two",
        ]
    )
    return step


def saved_elsewhere(trial: Trial, way: str) -> Step:
    """A step of two lines whose node saved something under a name of its own, which is edited then."""
    params = {
        name: nn.Parameter(torch.randn(shape, generator=trial.generator, dtype=torch.float64))
        for name, shape in (("w", (3, 3)), ("b", (3,)))
    }
    step = Step(f"{EDITED} ({way})", {EDITED}, params=params, kind=f"{EDITED} (saved under an own name)")
    step.note()
    given = {
        "h": torch.randn(5, 3, generator=trial.generator, dtype=torch.float64),
        "mask": torch.tensor([True, False, True]),
        "target": torch.tensor([0, 1, 2, 1, 0]),
        "rows": torch.tensor([0, 2]),
    }
    line, edit = OTHER_NAMES[way]
    names = {"torch": torch, "F": F, **params, **given}
    exec(compile(f"{line}\n{edit}", "<step>", "exec"), names)  # what is shown is what ran
    step.parts = {"fit": names["fit"], "decay": params["w"].square().sum() + params["b"].square().sum()}
    step.source = "\n".join(
        [
            "params: w (3, 3), b (3,); float64, drawn; then `noted` is made.",
            "h (5, 3), mask (3,), target (5,) and rows (2,) do not require grad.",
            line,
            f"{edit}  # {EDITED}",
            "decay = w.square().sum() + b.square().sum()",
            "parts: fit, decay",
        ]
    )
    return step


def large(trial: Trial, *, in_a_row: int = 0, diamonds: int = 0) -> Step:
    """Nodes in a row, or diamonds; the fault is at the bottom."""
    weight = nn.Parameter(torch.randn(3, generator=trial.generator, dtype=torch.float64))
    many = f"{in_a_row:,} nodes in a row" if in_a_row else f"{diamonds} diamonds, one on top of the other"
    step = Step(f"{many}, with a kept tensor at the bottom", {KEPT}, params={"weight": weight})
    step.note()
    y = Kept.apply(weight, "the result")
    for _ in range(diamonds):
        y = y / 2 + y / 2
    for _ in range(in_a_row):
        y = y + 1
    step.parts = {"fit": y.sum()}
    step.source = "\n".join(
        [
            "params: weight (3,); float64, drawn; then `noted` is made.",
            f'y = Kept.apply(weight, "the result")  # {KEPT}',
            f"for _ in range({in_a_row or diamonds}):",
            f"    y = {'y + 1' if in_a_row else 'y / 2 + y / 2'}",
            "fit = y.sum()",
            "parts: fit",
        ]
    )
    return step
