"""Models, optimizers that note what is done, and gradients that are watched: what the properties of 14.step_in_backward have in common."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils.hooks import RemovableHandle

from helpers.check.trial import Trial

Make = Callable[[list[nn.Parameter]], torch.optim.Optimizer]


def sgd(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=0.1)


def momentum(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9, weight_decay=0.01)


def adam(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.Adam(parameters, lr=0.02)


class Chain(nn.Module):
    """Three layers, one behind the other."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 4), nn.Tanh(), nn.Linear(4, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class Twice(nn.Module):
    """A layer that runs twice, a weight that two layers share, and a parameter of the model itself that is used in two places."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.empty(5))
        self.inner = nn.Linear(5, 5)
        self.first, self.second = nn.Linear(5, 5), nn.Linear(5, 5, bias=False)
        self.second.weight = self.first.weight

    def forward(self, x: Tensor) -> Tensor:
        x = torch.tanh(self.inner(x * self.scale))
        x = torch.tanh(self.inner(x)) * self.scale
        return self.second(torch.tanh(self.first(x)))


class Own(nn.Module):
    """A layer, and parameters that the model itself holds."""

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.empty(5)), nn.Parameter(torch.empty(4))
        self.inner = nn.Linear(5, 4, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.inner(x * self.scale)) + self.shift


class Parts(nn.Module):
    """Three parameters that are parts of one memory."""

    def __init__(self) -> None:
        super().__init__()
        flat = torch.zeros(39)
        # Each has a version of its own: a step of one does not count as an edit of the others.
        self.first, self.bias, self.second = (
            nn.Parameter(flat[start:end].view(shape).data)
            for start, end, shape in ((0, 20, (5, 4)), (20, 24, (4,)), (24, 36, (4, 3)))
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(x @ self.first + self.bias) @ self.second


class Branches(nn.Module):
    """Two branches behind a common layer. One runs at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.common, self.left, self.right = nn.Linear(5, 6), nn.Linear(6, 3), nn.Linear(6, 2)

    def forward(self, x: Tensor, branch: str = "left") -> Tensor:
        return (self.left if branch == "left" else self.right)(torch.tanh(self.common(x)))


def filled(model: nn.Module, trial: Trial) -> nn.Module:
    """The model with weights from the trial's generator."""
    with torch.no_grad():
        for each in model.parameters():
            each.copy_(torch.randn(each.shape, generator=trial.generator) * 0.5)
    return model


class Frozen(Chain):
    """The layer in the middle is frozen, and the last bias, too."""

    def __init__(self) -> None:
        super().__init__()
        self.layers[2].requires_grad_(False)
        self.layers[4].bias.requires_grad_(False)


def make_model(kind: type[nn.Module], trial: Trial) -> nn.Module:
    # The weights that __init__ draws come from the global generator: what they are is overwritten, and its state put back.
    state = torch.default_generator.get_state()
    model = kind()
    torch.default_generator.set_state(state)
    return filled(model, trial)


def some(trial: Trial, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=trial.generator)


def loss_of(model: nn.Module, x: Tensor, times: float = 1.0, **how: Any) -> Tensor:
    return F.softplus(model(x, **how)).square().sum() * times


class Made:
    """`make`, with a note of all that it was asked for, and of each step of what it made."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self.asked: list[list[Any]] = []
        self.types: list[str] = []  # in what the parameters came
        self.steps: list[int] = []  # of each optimizer, in the order in which they were made

    def __call__(self, parameters: Any) -> torch.optim.Optimizer:
        kept = list(parameters)
        self.types.append(type(parameters).__name__)
        self.asked.append(kept)
        place = len(self.steps)
        self.steps.append(0)
        optimizer = self._make(kept)

        def note(*_: Any) -> None:
            self.steps[place] += 1

        optimizer.register_step_pre_hook(note)
        return optimizer


class Plain:
    """The same model, trained in the plain way: the step after the backward."""

    def __init__(self, model: nn.Module, make: Make) -> None:
        self.model = copy.deepcopy(model)
        for each, other in zip(self.model.parameters(), model.parameters(), strict=True):
            each.grad = None if other.grad is None else other.grad.clone()
        self.optimizer = make([each for each in self.model.parameters() if each.requires_grad])

    def step(self, x: Tensor, **how: Any) -> None:
        loss_of(self.model, x, **how).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


class Watched:
    """Looks at each gradient when it is complete, before hooks that are set later: which earlier ones are alive, or in `.grad`.

    alive, held: of each look, the names of parameters.
    """

    def __init__(self, model: nn.Module) -> None:
        self.named = {name: each for name, each in model.named_parameters() if each.requires_grad}
        self.memories: dict[str, StorageWeakRef] = {}
        self.alive: list[list[str]] = []
        self.held: list[list[str]] = []
        self.handles = [
            each.register_post_accumulate_grad_hook(self._look(name)) for name, each in self.named.items()
        ]

    def _look(self, name: str) -> Callable[[Tensor], None]:
        def look(parameter: Tensor) -> None:
            self.alive.append(self.living())
            self.held.append(self.with_gradient(name))
            if parameter.grad is not None:
                self.memories[name] = StorageWeakRef(parameter.grad.untyped_storage())

        return look

    def living(self) -> list[str]:
        return [name for name, memory in self.memories.items() if not memory.expired()]

    def with_gradient(self, but: str = "") -> list[str]:
        return [name for name, each in self.named.items() if name != but and each.grad is not None]


def setup(answer: Any, trial: Trial, model: nn.Module, make: Any) -> list[RemovableHandle]:
    """What the answer returns; wrong if it is no list of handles, or if anything of the model changed by now."""
    before = {name: each.detach().clone() for name, each in model.named_parameters()}
    gradients = {
        name: None if each.grad is None else each.grad.clone() for name, each in model.named_parameters()
    }
    identities = [id(each) for each in model.parameters()]
    handles = trial.call(answer, model, make)
    same_weights(
        trial, model, before, "Before any backward", "The hooks are set, and no backward has run.", "setup"
    )
    for name, each in model.named_parameters():
        was = gradients[name]
        same = each.grad is None if was is None else each.grad is not None and torch.equal(each.grad, was)
        trial.true(
            same,
            f"step_in_backward changed the gradient of {name} before any backward has run.",
            expected="gradients that are there already stay: the first backward adds to them, as always",
            got="None" if each.grad is None else each.grad,
            observed=("setup", "gradient", each.grad is None),
        )
    trial.true(
        [id(each) for each in model.parameters()] == identities,
        "The model has other parameters than before: they were replaced.",
        expected="the same parameters, which others hold, too",
        observed=("setup", "replaced"),
    )
    return handles


def same_weights(
    trial: Trial, model: nn.Module, wanted: dict[str, Tensor], when: str, why: str, kind: Any
) -> None:
    """Bit for bit. wanted: by name."""
    off = [name for name, each in model.named_parameters() if not torch.equal(each.detach(), wanted[name])]
    if not off:
        return
    name = off[0]
    got = dict(model.named_parameters())[name].detach()
    gap = float((got.double() - wanted[name].double()).abs().max())
    trial.fail(
        f"{when}: {listed(off)} {'is' if len(off) == 1 else 'are'} not what {'it' if len(off) == 1 else 'they'} should be, "
        f"{name} by up to {gap:.3g}. {why}",
        expected=wanted[name].flatten()[:4],
        got=got.flatten()[:4],
        observed=("weights", kind, off),
    )


def no_gradient(trial: Trial, model: nn.Module) -> None:
    left = [name for name, each in model.named_parameters() if each.grad is not None]
    zero = left and all(bool((each.grad == 0).all()) for each in model.parameters() if each.grad is not None)
    trial.true(
        not left,
        f"The backward has ended, and .grad of {listed(left)} is {'a tensor of zeros' if zero else 'there'}. "
        + ("Zeros take as much memory as a gradient." if zero else "The next backward would add to it."),
        expected="None",
        got="zeros" if zero else "a gradient",
        observed=("gradient left", bool(zero), left),
    )


def moved_how(before: torch.Tensor, after: torch.Tensor, wanted: torch.Tensor) -> str:
    """How a parameter moved, compared with how it should."""
    got, right = (after - before).double().flatten(), (wanted - before).double().flatten()
    if not got.any():
        return "not at all"
    ratio = float(got @ right / (right @ right)) if right.any() else 0.0
    if ratio <= 0 or not torch.allclose(got, ratio * right, rtol=1e-3, atol=1e-4):
        return "elsewhere"
    return "twice" if abs(ratio - 2) < 1e-3 else "too far" if ratio > 1 else "not far enough"


def weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: each.detach().clone() for name, each in model.named_parameters()}


def listed(names: Iterable[str]) -> str:
    *others, last = list(names) or ["nothing"]
    return f"{', '.join(others)} and {last}" if others else last
