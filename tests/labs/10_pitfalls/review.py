"""Right answers to 10.review, in different shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.labs.pitfalls.review.right import Review, asked
from helpers.labs.pitfalls.shown import Script


def close(got: Any, want: Tensor, bound: float = 1e-3) -> bool:
    return got.shape == want.shape and torch.allclose(got.double(), want.double(), rtol=0, atol=bound)


def in_one_function(script: Script) -> set[str]:
    found: set[str] = set()
    for x in (torch.randn(4, 3) / 1000, torch.randn(4, 3) * 2 + 1e4):
        wanted = F.batch_norm(x.double(), None, None, training=True)
        if not close(script.scaled(x), wanted, 0.01):
            found.add("scaled")
    for n, m in ((4, 3), (1, 3), (4, 1)):
        a, b = torch.rand(n, 7), torch.rand(m, 7)
        wanted = torch.tensor([[torch.dist(p, q) for q in b] for p in a])
        if not close(script.distances(a, b), wanted):
            found.add("distances")
    rows = torch.arange(60.0).view(30, 2)
    parts = script.batches(rows, 7)
    one = [part.clone() for part in parts]
    two = script.batches(rows, 7)
    if (
        not torch.equal(rows, torch.arange(60.0).view(30, 2))
        or [len(part) for part in one] != [7, 7, 7, 7, 2]
        or not torch.equal(torch.cat(one)[torch.cat(one)[:, 0].argsort()], rows)
        or torch.equal(torch.cat(one), torch.cat(two))
        or not all(torch.equal(*pair) for pair in zip(one, parts, strict=True))
    ):
        found.add("batches")
    for part in two:
        part.zero_()
    if not rows.any():
        found.add("batches")
    for away in (0.0, 2.0):
        weight = torch.full((4,), 1 + away, requires_grad=True)
        value = script.penalty(weight, torch.ones(4))
        if value.grad_fn is None:
            found.add("penalty")
            continue
        value.backward()
        if not (weight.grad.isfinite().all() and close(value, torch.tensor(2 * away))):
            found.add("penalty")
        if away and not close(weight.grad, torch.full((4,), 0.5)):
            found.add("penalty")
    x = torch.full((100, 400), 3.0)
    first, second = script.dropped(x, True), script.dropped(x, True)
    shares = (first == 0).float().mean(1)
    if (
        set(first.unique().tolist()) != {0.0, 4.0}
        or not 0.2 < shares.mean() < 0.3
        or shares.max() > 0.5
        or (first == second).all()
        or (script.dropped(x, False) != x).any()
    ):
        found.add("dropped")
    logits = torch.randn(2, 3, 4) * 5
    target = torch.tensor([[1, 2, 3], [0, -100, -100]])
    wanted = F.cross_entropy(torch.cat([logits[0], logits[1, :1]]), torch.tensor([1, 2, 3, 0]))
    if not close(script.loss(logits, target), wanted):
        found.add("loss")
    if not close(script.loss(logits, torch.full((2, 3), -100)), torch.tensor(0.0)):
        found.add("loss")
    return found


def with_errors_as_faults(script):
    """Whatever a question raises counts as a no."""

    def scaled(piece: Callable) -> bool:
        x = np.float32([[0.001, 5], [0.002, 5.002], [0.004, 4.99], [0.003, 5]])
        right = []
        for moved in (x, x * np.float32(1000) + np.float32(10_000)):
            wide = moved.astype(np.float64)
            want = (wide - wide.mean(0)) / np.sqrt(wide.var(0) + 1e-5)
            right.append(np.abs(piece(torch.from_numpy(moved)).numpy() - want).max() < 0.01)
        return all(right)

    def all_else(name: str) -> Callable[[Callable], bool]:
        return getattr(Review(script), name)

    questions = {name: all_else(name) for name in script._fields} | {"scaled": scaled}
    found = []
    for name, question in questions.items():
        try:
            kept = question(getattr(script, name))
        except (RuntimeError, ValueError):
            kept = False
        if not kept:
            found.append(name)
    return frozenset(found)


RIGHT = [asked(Review), in_one_function, with_errors_as_faults]
