"""Exercise 05.frozen_backbone: a part of a model that stays as it is, whatever mode the model is put in."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.module.shared.models import Scale

RNG = ("torch RNG",)  # dropout that was left on draws

frozen_backbone = Exercise(
    "05.frozen_backbone",
    "Frozen means frozen",
    objective="Keep a pretrained part as it is: no gradient for its weights, no new running statistics, whichever way "
    "the model is put into training mode.",
    minutes=15,
    difficulty="easy",
    core=False,
    kind="class",
    names=("FrozenBackbone",),
    hints=[
        "Two switches have nothing to do with each other: requires_grad_(False) stops the gradients of the weights, "
        "eval() stops dropout and the running statistics. Which of them does model.train() turn back?",
        "model.train(mode) sets self.training and calls train(mode) of each child; model.eval() is train(False); and a "
        "parent calls your train. So train is the one method to change.",
        "In __init__: keep both, `backbone.requires_grad_(False)`, `backbone.eval()`. In train: `super().train(mode)`, "
        "then `self.backbone.eval()`, then `return self`.",
    ],
)


class Backbone(nn.Module):
    """Batch norm at the top and nested, dropout between."""

    def __init__(self, trial: Trial, width: int) -> None:
        super().__init__()
        self.first, self.norm = Scale(trial, width), nn.BatchNorm1d(width)
        self.body = nn.Sequential(nn.Dropout(0.5), nn.Sequential(Scale(trial, width), nn.BatchNorm1d(width)))
        for norm in (
            self.norm,
            self.body[1][1],
        ):  # as after a training: a norm that is left out is seen in the output
            for numbers in (norm.weight, norm.bias, norm.running_mean, norm.running_var):
                numbers.data.copy_(torch.rand(width, generator=trial.generator) + 0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.body(self.norm(self.first(x)))


CHILDREN = "The two modules are children, named backbone and head."
NO_GRAD = "No parameter of the backbone requires grad, from the start and in any mode."
EVAL = "Every module of the backbone is in eval mode, from the start and whoever calls train() or eval(), the model or a parent."
STILL = "So its running statistics do not move, and its dropout is off."
HEAD = "The head is an ordinary part: it learns, it follows the mode, its parameters keep the requires_grad that they had."
SETS = "Sets the mode of everything but the backbone."


def setting(answer: Any, trial: Trial) -> tuple[nn.Module, nn.Module, nn.Module, Tensor]:
    """FrozenBackbone(backbone, head), the backbone, the head (one parameter of it is frozen by the user), an input."""
    width = trial.random.randint(2, 5)
    backbone = Backbone(trial, width).double()
    head = nn.Sequential(Scale(trial, width), nn.BatchNorm1d(width), Scale(trial, width)).double()
    head[0].shift.requires_grad_(False)
    trial.given(
        "FrozenBackbone(backbone, head); both were in training mode, head[0].shift does not require grad"
    )
    model = answer(backbone, head)
    trial.true(
        isinstance(model, nn.Module),
        "FrozenBackbone(backbone, head) is no nn.Module.",
        expected="an instance of a class that inherits nn.Module",
        got=type(model).__name__,
        observed=("no module", type(model).__name__),
    )
    return model, backbone, head, torch.randn(6, width, generator=trial.generator, dtype=torch.float64)


def switched(trial: Trial, switch: Callable[[], Any]) -> Any:
    """The result of a train() or eval(); wrong if it calls itself without end, which is soon noticed."""
    depth, frame = 0, sys._getframe()
    while frame := frame.f_back:
        depth += 1
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(min(usual, depth + 80))
    try:
        return switch()
    except RecursionError:
        sys.setrecursionlimit(usual)
        trial.fail(
            "train() calls itself without end.",
            expected="a train() that returns",
            got="RecursionError",
            observed="recursion",
        )
    finally:
        sys.setrecursionlimit(usual)


def require_modes(
    trial: Trial,
    model: nn.Module,
    backbone: nn.Module,
    head: nn.Module,
    mode: bool,
    of: Callable[[str], bool] = lambda name: True,
) -> None:
    """Wrong unless the backbone is in eval mode and the rest in the mode that was asked for. of: which names count."""
    have = {name: training for name, training in modes_of(model, backbone, head).items() if of(name)}
    off = [name for name, training in have.items() if training != (mode and not name.startswith("backbone"))]
    own = [
        name
        for name in ("train", "eval")[: 1 if mode else 2]  # an eval() of its own counts where it was called
        if getattr(type(model), name) is not getattr(nn.Module, name)
    ]
    trial.true(
        not off,
        f"In the wrong mode: {', '.join(off)}.",
        expected=f"training is False in all of the backbone, {mode} in the head and in the FrozenBackbone itself",
        got=", ".join(f"{name}: {have[name]}" for name in off),
        observed=(off, f"{' and '.join(own)} of its own" if own else "torch's train"),
    )


def modes_of(model: nn.Module, backbone: nn.Module, head: nn.Module) -> dict[str, bool]:
    """The mode of each module, by its name."""
    named = {"backbone": backbone, "head": head}
    found = {
        f"{path}.{name}".rstrip("."): module.training
        for path, part in named.items()
        for name, module in part.named_modules()
    }
    return found | {"the FrozenBackbone itself": model.training}


def require_grads(
    trial: Trial, backbone: nn.Module, head: nn.Module, of: Callable[[str], bool] = lambda name: True
) -> None:
    """Wrong unless requires_grad is False in the backbone, and in the head as it was. of: which names count."""
    want = {f"backbone.{name}": False for name, _ in backbone.named_parameters()}
    want |= {f"head.{name}": name != "0.shift" for name, _ in head.named_parameters()}
    have = {f"backbone.{name}": param.requires_grad for name, param in backbone.named_parameters()}
    have |= {f"head.{name}": param.requires_grad for name, param in head.named_parameters()}
    off = [name for name in want if have[name] != want[name] and of(name)]
    trial.true(
        not off,
        "requires_grad is wrong: " + ", ".join(f"{name} has {have[name]}" for name in off) + ".",
        expected="False for each parameter of the backbone; those of the head keep what they had",
        observed=off,
    )


@frozen_backbone.property("backbone and head are parts of the model", asks=CHILDREN, changes=RNG)
def parts(answer: Any, trial: Trial) -> None:
    model, backbone, head, _ = setting(answer, trial)
    have, want = dict(model.named_children()), {"backbone": backbone, "head": head}
    trial.true(
        have.get("backbone") is backbone and have.get("head") is head,
        "model.backbone and model.head are not the two modules that were given, registered as children.",
        expected="children 'backbone' and 'head'",
        got=", ".join(
            f"{name}: {type(part).__name__}"
            + (", a different object" if name in want and part is not want[name] else "")
            for name, part in have.items()
        )
        or "no children",
        observed=[
            "gone" if name not in have else "given" if have[name] is part else "a different module"
            for name, part in (("backbone", backbone), ("head", head))
        ],
    )


def which(got: Tensor, x: Tensor, backbone: nn.Module, head: nn.Module) -> str:
    """In words, what an output is."""
    words = {
        "head(x)": lambda: head(x),
        "backbone(x)": lambda: backbone(x),
        "backbone(head(x))": lambda: backbone(head(x)),
    }
    return next((word for word, value in words.items() if torch.equal(got, value())), "none of these")


def called(trial: Trial, model: nn.Module, backbone: nn.Module, head: nn.Module, x: Tensor) -> Tensor:
    """The output; wrong if the call leaves the head in a different mode, or a module of the backbone in training mode."""
    before = modes_of(model, backbone, head)
    got = model(x).detach()
    now = modes_of(model, backbone, head)
    changed = [
        name for name in now if now[name] != before[name] and (now[name] or not name.startswith("backbone"))
    ]
    trial.true(
        not changed,
        f"model(x) has changed the mode of {', '.join(changed)}.",
        expected="training as it was: " + ", ".join(f"{name}: {before[name]}" for name in changed),
        got=", ".join(f"{name}: {now[name]}" for name in changed),
        observed=("modes", changed),
    )
    return got


@frozen_backbone.property(
    "forward is head(backbone(x))", asks="head(backbone(x)) with a backbone that stays as it is.", changes=RNG
)
def forward(answer: Any, trial: Trial) -> None:
    model, backbone, head, x = setting(answer, trial)
    switched(trial, model.eval)
    backbone.eval(), head.eval()
    draw = lambda count: torch.randn(count, x.shape[1], generator=trial.generator, dtype=x.dtype)  # noqa: E731
    batches = {
        "first": x,
        "second, of the same size,": draw(6),
        "third, of 3 samples,": draw(3),
        "first, again,": x,
        "last, of three dimensions,": torch.stack([draw(x.shape[1]) for _ in range(4)]),
    }
    for place, batch in batches.items():
        trial.given(f"model.eval(), then model(x) of several batches; the {place} is looked at")
        got = called(trial, model, backbone, head, batch)
        word = which(got, batch, backbone, head)
        trial.equal(
            got,
            head(backbone(batch)).detach(),
            "The output in eval mode" + (f", which is {word}" if word != "none of these" else ""),
            observed=(place, word),
        )
    trial.given("model.train(), then model(x) of two batches of one size")
    switched(trial, model.train)
    for batch in (x, draw(6)):
        backbone.eval()
        trial.equal(
            called(trial, model, backbone, head, batch),
            head(backbone(batch)).detach(),
            "The output in training mode",
            observed="in training mode",
        )


@frozen_backbone.property(
    "frozen from the start: before anybody calls train()", asks=(NO_GRAD, EVAL), changes=RNG
)
def at_once(answer: Any, trial: Trial) -> None:
    model, backbone, head, _ = setting(answer, trial)
    require_grads(trial, backbone, head, is_backbone)
    require_modes(trial, model, backbone, head, True, is_backbone)


def is_backbone(name: str) -> bool:
    return name.startswith("backbone")


@frozen_backbone.property(
    "the head is left as it was: its requires_grad, and its mode until anybody changes it",
    asks=HEAD,
    changes=RNG,
)
def head_left(answer: Any, trial: Trial) -> None:
    model, backbone, head, _ = setting(answer, trial)
    others = lambda name: not is_backbone(name)  # noqa: E731
    require_grads(trial, backbone, head, others)
    require_modes(trial, model, backbone, head, True, others)


def _after(description: str, shown: str, switches: Callable[[nn.Module], Any], mode: bool) -> None:
    """Adds the property that the modes are right after these calls."""

    def modes(answer: Any, trial: Trial) -> None:
        model, backbone, head, _ = setting(answer, trial)
        trial.given(shown)
        switched(trial, lambda: switches(model))
        require_modes(trial, model, backbone, head, mode)

    frozen_backbone.property(description, asks=(EVAL, SETS), changes=RNG)(modes)


_after(
    "train() trains the head only",
    "model.head.eval(), then model.train()",
    lambda model: (model.head.eval(), model.train()),
    True,
)
_after("eval() reaches all of it", "model.eval()", lambda model: model.eval(), False)
_after(
    "train(False) is eval(), and train(mode=True) turns the head on again",
    "model.train(False), then model.train(mode=True)",
    lambda model: (model.train(False), model.train(mode=True)),
    True,
)
_after(
    "as a part of a model: the train() of a parent",
    "nn.Sequential(nn.Sequential(model)).eval(), then .train() of the same",
    lambda model: nn.Sequential(nn.Sequential(model)).eval().train(),
    True,
)
_after(
    "as a part of a model: the eval() of a parent",
    "nn.Sequential(nn.Identity(), model).train(), then .eval() of the same",
    lambda model: nn.Sequential(nn.Identity(), model).train().eval(),
    False,
)


@frozen_backbone.property("train() and eval() leave requires_grad alone", asks=(NO_GRAD, HEAD), changes=RNG)
def switches_only(answer: Any, trial: Trial) -> None:
    model, backbone, head, _ = setting(answer, trial)
    for description, switch in (
        ("model.eval()", model.eval),
        ("model.eval(), then model.train()", model.train),
    ):
        trial.given(description)
        switched(trial, switch)
        require_grads(trial, backbone, head)


@frozen_backbone.property(
    "two training steps move the head, and nothing of the backbone", asks=(STILL, HEAD), changes=RNG
)
def steps(answer: Any, trial: Trial) -> None:
    model, backbone, head, x = setting(answer, trial)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    switched(trial, model.train)
    trial.given("two steps of gradient descent on model.parameters(), in training mode")
    for _ in range(2):
        out = model(x)
        trial.true(
            out.requires_grad,
            "The output of the model does not require grad: the head cannot learn.",
            expected="an output with a graph through the head",
            observed="no grad",
        )
        (out * x).sum().backward()
        with torch.no_grad():
            for param in model.parameters():
                if param.grad is not None:
                    param -= 0.1 * param.grad
                    param.grad = None
    moved = sorted(name for name, value in model.state_dict().items() if not torch.equal(value, before[name]))
    wrong = [name for name in moved if name.startswith("backbone")]
    trial.true(
        not wrong,
        f"The steps have changed {', '.join(wrong)}.",
        expected="a backbone without any change, buffers included",
        observed=wrong,
    )
    still = sorted({"head.0.weight", "head.1.running_mean", "head.2.weight"} - set(moved))
    trial.true(
        not still,
        f"The steps have not changed {', '.join(still)}.",
        expected="a head that learns, its running statistics included",
        observed=("still", still),
    )


@frozen_backbone.property(
    "train() and eval() return the model", asks="Returns self.", changes=RNG, once_right=True
)
def returns_self(answer: Any, trial: Trial) -> None:
    model, *_ = setting(answer, trial)
    for description, switch in (("model.train()", model.train), ("model.eval()", model.eval)):
        trial.given(description)
        got = switched(trial, switch)
        trial.true(
            got is model,
            f"{description} does not return the model: `model = Model().train()` is common.",
            expected="self",
            got=type(got).__name__,
            observed="None" if got is None else "a different object",
        )
