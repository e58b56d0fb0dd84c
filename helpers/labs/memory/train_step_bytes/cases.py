"""What else 14.train_step_bytes is tried on: what model and loss share, edits in place, addresses used again, a deque."""

from __future__ import annotations

from collections import deque
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.labs.memory.train_step_bytes.inputs import (
    Step,
    classified,
    drawn,
    given_numbers,
    layers,
    small,
)


def kept_by_both(g: torch.Generator) -> Step:
    """Sigmoid saves its result, and the loss saves it, too, through a view."""
    model = given_numbers(layers(lambda: nn.Linear(6, 1), nn.Sigmoid, lambda: nn.Flatten(0)), g)
    x, y = drawn(g, 7, 6), torch.randint(2, (7,), generator=g).float()
    return Step(model, torch.optim.SGD(model.parameters(), lr=0.1), F.binary_cross_entropy, x, y)


def kept_by_the_model(g: torch.Generator) -> Step:
    """Tanh saves its result, and the loss the difference to y alone."""
    model = given_numbers(layers(lambda: nn.Linear(6, 5), nn.Tanh), g)
    x, y = drawn(g, 7, 6), drawn(g, 7, 5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return Step(model, optimizer, lambda out, y: (out - y).square().mean(), x, y)


def _with_sgd(g: torch.Generator, model: nn.Module) -> Step:
    given_numbers(model, g)
    return Step(model, torch.optim.SGD(model.parameters(), lr=0.1), F.cross_entropy, *classified(g))


class Rewriting(nn.Module):
    """Edits parts of a result in place."""

    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = self.out(x)
        h[:, :2].mul_(self.out.weight[:2, 0].sin())
        h[2:].masked_fill_(x[2:, :3] > 0.5, 0.0)
        return h


def rewriting(g: torch.Generator) -> Step:
    (model,) = layers(Rewriting)
    return _with_sgd(g, model)


class Larger(nn.Module):
    """Throws away what is larger than what it keeps."""

    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = self.out(x)
        larger = h.repeat(1, 3)
        for _ in range(16):
            larger = larger.sigmoid().tanh()
        del larger  # nobody looks at it
        for _ in range(8):
            h = h.sigmoid().tanh()
        return h


def larger_before(g: torch.Generator) -> Step:
    (model,) = layers(Larger)
    return _with_sgd(g, model)


class Aged(nn.Module):
    """Puts new tensors in the place of its buffers; nothing saves the old ones, and they are freed."""

    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Linear(6, 6)
        for number in range(16):
            self.register_buffer(f"seen{number}", torch.ones(7, 6))

    def forward(self, x: Tensor) -> Tensor:
        h = self.out(x)
        for number in range(16):
            setattr(self, f"seen{number}", getattr(self, f"seen{number}") * 0.9)
            h = h.sigmoid().tanh()
        return h


def aged(g: torch.Generator) -> Step:
    (model,) = layers(Aged)
    return _with_sgd(g, model)


class Queued(torch.optim.SGD):
    """Has the last gradients of each parameter in a deque."""

    def step(self, closure: Any = None) -> Any:
        loss = super().step(closure)
        for each in self.param_groups[0]["params"]:
            self.state[each].setdefault("last", deque(maxlen=3)).append(each.grad.clone())
        return loss


def queued(g: torch.Generator) -> Step:
    model = small(g)
    optimizer = Queued(model.parameters(), lr=0.1, momentum=0.9)
    return Step(model, optimizer, F.cross_entropy, *classified(g))
