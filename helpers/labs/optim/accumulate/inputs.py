"""The model, the batches and the large batch of 04.accumulate; a log of what ran, and the bytes that graphs keep."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from helpers.check.trial import Trial

FEATURES, CLASSES = 4, 5
Batch = tuple[Tensor, Tensor]


class Tagger(nn.Module):
    """x of shape (B, T, 4) to logits of shape (B, 5, T); one layer is frozen, one is not used, two are added up.

    log: F for each forward that records a graph, f for one that does not, B for each backward through the result.
    calls: how often it was called as model(x), with its hooks. upcast: the logits are float32 in any case.
    stops_at: which of its forwards raises KeyboardInterrupt.
    """

    def __init__(self, generator: torch.Generator, dtype: torch.dtype, upcast: bool = False) -> None:
        super().__init__()
        self.upcast, self.calls, self.stops_at = upcast, 0, None
        self.register_forward_hook(self.was_called)
        self.hidden = Parameter(torch.randn(FEATURES, 6, generator=generator).to(dtype))
        self.frozen = Parameter(torch.randn(6, generator=generator).to(dtype), requires_grad=False)
        self.out = Parameter(torch.randn(6, CLASSES, generator=generator).to(dtype))
        self.shift = Parameter(torch.randn(6, CLASSES, generator=generator).to(dtype))
        self.unused = Parameter(torch.randn(2, generator=generator).to(dtype))
        self.part = nn.Identity()
        self.log = ""

    def forward(self, x: Tensor) -> Tensor:
        if self.stops_at == self.log.count("F") + 1:
            raise KeyboardInterrupt
        logits = (self.part(x @ self.hidden).tanh() * self.frozen @ (self.out + self.shift)).transpose(1, 2)
        logits = logits.float() if self.upcast else logits
        self.log += "F" if logits.requires_grad else "f"
        if logits.requires_grad:
            logits.register_hook(self.came_back)
        return logits

    def was_called(self, module: nn.Module, args: Any, output: Tensor) -> None:
        self.calls += 1

    def came_back(self, grad: Tensor) -> None:
        self.log += "B"

    def modes(self) -> tuple[bool, bool]:
        """Whether the model, and its one part, are in training mode."""
        return self.training, self.part.training

    def grads(self) -> dict[str, Tensor | None]:
        return {name: None if p.grad is None else p.grad.clone() for name, p in self.named_parameters()}


def new_model(trial: Trial, dtype: torch.dtype = torch.float64, upcast: bool = False) -> Tagger:
    return Tagger(trial.generator, dtype, upcast)


def batch_of(
    trial: Trial,
    samples: int,
    length: int,
    ignored: int = 0,
    index: int = -100,
    dtype: torch.dtype = torch.float64,
) -> Batch:
    """Inputs and targets, of which `ignored` (random ones) are set to `index`."""
    x = torch.randn(samples, length, FEATURES, generator=trial.generator).to(dtype)
    target = torch.randint(CLASSES, (samples, length), generator=trial.generator)
    target[target == index] = (index + 1) % CLASSES
    places = torch.randperm(samples * length, generator=trial.generator)[:ignored]
    target.view(-1)[places] = index
    return x, target


def ragged(trial: Trial, index: int = -100, dtype: torch.dtype = torch.float64) -> list[Batch]:
    """Batches that differ in samples, in length and in how much of them counts; in the last one a single target does.

    Two have the same shape, and not the same number of targets that count.
    """
    shapes = ((3, 7, 5), (4, 5, 14), (4, 8, 0), (3, 7, 12), (1, 3, 2))
    return [batch_of(trial, samples, length, ignored, index, dtype) for samples, length, ignored in shapes]


def with_empty_ones(trial: Trial, index: int = -100) -> list[Batch]:
    """Ragged batches, and two in which nothing counts."""
    first, *others = ragged(trial, index)
    empty = [
        batch_of(trial, samples, length, samples * length, index) for samples, length in ((1, 4), (2, 3))
    ]
    return [empty[0], first, empty[1], *others]


def described(batches: list[Batch], index: int) -> str:
    """The batches, for a report."""
    parts = [f"{tuple(target.shape)}, {int((target != index).sum())} count" for _, target in batches]
    return f"targets of shape {'; '.join(parts)}; ignore_index = {index}"


def large_batch(
    model: Tagger, loss_fn: nn.Module, batches: list[Batch]
) -> tuple[Tensor, dict[str, Tensor | None]]:
    """Loss and gradients of a copy of the model on everything at once."""
    twin = copy.deepcopy(model)
    twin.zero_grad()
    logits = torch.cat([twin(x).transpose(1, 2).reshape(-1, CLASSES) for x, _ in batches])
    loss = loss_fn(logits, torch.cat([target.flatten() for _, target in batches]))
    loss.backward()
    return loss.detach(), twin.grads()


def settings_of(loss_fn: nn.Module) -> dict[str, Any]:
    """The attributes of a loss that are its settings."""
    return {name: value for name, value in vars(loss_fn).items() if not name.startswith("_")}


def hooks_on(model: nn.Module, loss_fn: nn.Module) -> list[str]:
    """What holds hooks, in words: the model's own one is left out."""
    tables = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    found = [
        f"{name} ({type(module).__name__})"
        for name, module in (
            ("loss_fn", loss_fn),
            *(("a module of the model", each) for each in model.modules()),
        )
        if any(len(getattr(module, table)) > (module is model and table == tables[0]) for table in tables)
    ]
    params = dict(model.named_parameters())
    return found + [
        name
        for name, p in params.items()
        if p._backward_hooks or getattr(p, "_post_accumulate_grad_hooks", None)
    ]


class Kept:
    """A tensor that a graph keeps; without its own graph, or the two would keep each other alive."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


@contextmanager
def bytes_kept() -> Iterator[dict[str, int]]:
    """Yields {"now": ..., "most": ...}: bytes that the graphs recorded in the block hold, and held at the most."""
    held = {"now": 0, "most": 0}

    def let_go(count: int) -> None:
        held["now"] -= count

    def pack(tensor: Tensor) -> Kept:
        kept, count = Kept(tensor.detach()), tensor.numel() * tensor.element_size()
        held["now"] += count
        held["most"] = max(held["most"], held["now"])
        weakref.finalize(kept, let_go, count)
        return kept

    def unpack(kept: Any) -> Tensor:
        return kept.tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        yield held
