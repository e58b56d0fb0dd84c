"""Two exercises that the hostile answers are given to."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks

from helpers.check.trial import Trial
from helpers.exercise import Exercise

_HINTS = ["Multiply.", "Then add.", "x * k + 1"]

scale = Exercise(
    "99.scale", "Scale and add one", objective="A small one.", minutes=1, difficulty="easy", hints=_HINTS
)
cube = Exercise(
    "99.cube",
    "Cube",
    objective="One with a graph.",
    minutes=1,
    difficulty="easy",
    hints=_HINTS,
    kind="class",
)


@scale.property("x * k + 1, for every shape and both float types")
def scaled(answer: Any, trial: Trial) -> None:
    for shape in [(3, 5), (1, 4), (0, 3), (7,), ()]:
        for dtype in (torch.float32, torch.float64):
            x = torch.randn(shape, generator=trial.generator, dtype=dtype)
            k = float(torch.rand((), generator=trial.generator)) + 0.5
            trial.given(f"x of shape {shape}, {dtype}, k={k:.3f}")
            got = trial.call(answer, x, k)
            trial.true(got is not x, "The answer returned its input.")
            trial.equal(got, x * k + 1)


@scale.mistake()
def one_forgotten(x: torch.Tensor, k: float) -> torch.Tensor:
    """The 1 is part of it."""
    return x * k


@cube.property("values, gradients and an own node in the graph")
def cubed(answer: Any, trial: Trial) -> None:
    for shape in [(3, 5), (1, 4), (7,)]:
        trial.given(f"x of shape {shape}")
        saved: list[torch.Tensor] = []
        x = torch.randn(shape, generator=trial.generator, dtype=torch.float64, requires_grad=True)
        with saved_tensors_hooks(
            lambda tensor, kept=saved: kept.append(tensor) or tensor, lambda tensor: tensor
        ):
            y = answer.apply(x)
        trial.equal(y.detach(), x.detach() ** 3)
        node = y.grad_fn
        name = type(node).__name__
        trial.true(name == f"{answer.__name__}Backward", f"The node is {name}.")
        grad_out = torch.randn(shape, generator=trial.generator, dtype=torch.float64)
        y.backward(grad_out)
        trial.equal(x.grad, 3 * x.detach() ** 2 * grad_out, "The gradient")
        alive = weakref.ref(node)
        del node, y
        gc.collect(0)
        trial.true(alive() is None, "The graph is still alive.")
        trial.true(len(saved) <= 1, f"{len(saved)} tensors were saved, one is enough.")
        trial.true(torch.autograd.gradcheck(answer.apply, (x.detach().requires_grad_(),)), "gradcheck fails.")
