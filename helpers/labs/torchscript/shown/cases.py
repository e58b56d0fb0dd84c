"""Models with their traces: what 09.counterexamples is about. Each trace is silent about one thing that it lost."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.torchscript.shared.quiet import quiet


class Branch(nn.Module):
    """Doubles x if the mean of all of it is above a threshold, and takes 1 off otherwise."""

    def __init__(self, threshold: float) -> None:
        super().__init__()
        self.threshold = threshold

    def forward(self, x: Tensor) -> Tensor:
        if x.mean() > self.threshold:
            return 2 * x
        return x - 1


class Rows(nn.Module):
    """Adds up the rows, each divided by its place: 1, 2, 3, ..."""

    def forward(self, x: Tensor) -> Tensor:
        total = torch.zeros_like(x[0])
        for place in range(x.shape[0]):
            total = total + x[place] / (place + 1)
        return total


class Mean(nn.Module):
    """The mean of the rows."""

    def forward(self, x: Tensor) -> Tensor:
        return x.sum(0) / len(x)


class WarmUp(nn.Module):
    """Lets its first calls pass, and halves from then on."""

    def __init__(self, free: int) -> None:
        super().__init__()
        self.free = free
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x if self.calls <= self.free else x / 2


class FirstRows(nn.Module):
    """The sum of the first k rows; k is a tensor of one integer."""

    def forward(self, x: Tensor, k: Tensor) -> Tensor:
        return x[: k.item()].sum(0)


class Dropped(nn.Module):
    """Dropout. The trace was recorded in training mode; both stand in eval mode now."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(p)

    def forward(self, x: Tensor) -> Tensor:
        return 3 * self.dropout(x)


class Jitter(nn.Module):
    """Scales by a random factor, drawn by Python's own generator."""

    def forward(self, x: Tensor) -> Tensor:
        return x * (1 + random.random())


@dataclass(frozen=True)
class Case:
    """A model and its trace.

    name: what the trace lost. eager: the model, in eval mode. traced: torch.jit.trace of a copy of it.
    example: the arguments that it was traced with, a tuple of tensors.
    """

    name: str
    eager: nn.Module
    traced: torch.jit.ScriptModule
    example: tuple[Tensor, ...]


Drawn = tuple[nn.Module, tuple[Tensor, ...]]


def _drawn_branch(draw: random.Random) -> tuple[float, int]:
    return round(draw.uniform(-2, 2), 2), draw.choice([-3, 3])


def branch_of(seed: int) -> tuple[float, int]:
    """Of the case "branch" with this seed: the threshold, and how far above it the mean of the example is."""
    return _drawn_branch(random.Random(f"branch {seed}"))


def _branch(draw: random.Random, rows: Callable[[int], Tensor]) -> Drawn:
    threshold, above = _drawn_branch(draw)
    x = rows(3)
    return Branch(threshold), (x - x.mean() + threshold + above,)


def _warm_up(draw: random.Random, rows: Callable[[int], Tensor]) -> Drawn:
    return WarmUp(draw.randint(2, 4)), (rows(3),)


def _first_rows(draw: random.Random, rows: Callable[[int], Tensor]) -> Drawn:
    return FirstRows(), (rows(6), torch.tensor(draw.randint(2, 4)))


_MAKERS: dict[str, Callable[[random.Random, Callable[[int], Tensor]], Drawn]] = {
    "branch": _branch,
    "loop": lambda draw, rows: (Rows(), (rows(draw.randint(2, 5)),)),
    "len": lambda draw, rows: (Mean(), (rows(draw.randint(2, 5)),)),
    "state": _warm_up,
    "item": _first_rows,
    "training": lambda draw, rows: (Dropped(draw.choice([0.3, 0.5, 0.6])), (rows(3),)),
    "random": lambda draw, rows: (Jitter(), (rows(3),)),
}

CASES = tuple(_MAKERS)


def case(name: str, seed: int = 0) -> Case:
    """A case by its name (one of CASES). seed: sizes, thresholds and values differ by it."""
    draw, generator = random.Random(f"{name} {seed}"), torch.Generator().manual_seed(seed)

    def rows(count: int) -> Tensor:
        return torch.randn(count, 4, generator=generator)

    return case_of(name, *_MAKERS[name](draw, rows), f"traced {name} {seed}")


def case_of(name: str, eager: nn.Module, example: tuple[Tensor, ...], seed: str) -> Case:
    """The case of a model. seed: of Python's generator while it is traced."""
    with quiet(), generators_kept():
        random.seed(seed)  # not where the caller's generator stands: the model would draw the same
        recorded = copy.deepcopy(eager).train(name == "training")
        traced = torch.jit.trace(recorded, example, check_trace=False).eval()
    return Case(name, eager.eval(), traced, example)


class generators_kept:
    """A block after which the global generators of torch and Python stand where they stood before."""

    def __enter__(self) -> None:
        self._states = torch.get_rng_state(), random.getstate()

    def __exit__(self, *error: Any) -> None:
        torch.set_rng_state(self._states[0])
        random.setstate(self._states[1])
