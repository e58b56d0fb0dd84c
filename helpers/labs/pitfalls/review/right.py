"""A right answer to 10.review, in steps: each mistake replaces one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.labs.pitfalls.shown import Script


class Review:
    """Which pieces of a script are at fault; a method for each piece says whether it keeps its promise."""

    def __init__(self, script: Script) -> None:
        self.script = script

    def named(self) -> Any:
        return {name for name in Script._fields if not getattr(self, name)(getattr(self.script, name))}

    def same(self, got: Tensor, want: Tensor, atol: float = 1e-3) -> bool:
        return got.shape == want.shape and bool(((got - want).abs() <= atol).all())

    # numbers
    def tables(self) -> list[Tensor]:
        return [1e-3 * torch.randn(4, 3), torch.randn(4, 3), torch.randn(4, 3) + 10_000]

    def scaled(self, scaled: Callable[[Tensor], Tensor]) -> bool:
        return all(self.same(scaled(x), self.scaled_by_hand(x).float(), atol=0.01) for x in self.tables())

    def scaled_by_hand(self, x: Tensor) -> Tensor:
        rest = x.double() - x.double().mean(0)
        return rest / (rest.square().mean(0) + 1e-5).sqrt()

    # shapes
    def points(self) -> list[tuple[Tensor, Tensor]]:
        return [(torch.randn(n, 5), torch.randn(m, 5)) for n, m in ((2, 3), (1, 3), (2, 1))]

    def distances(self, distances: Callable[[Tensor, Tensor], Tensor]) -> bool:
        return all(self.same(distances(a, b), (a[:, None] - b).norm(dim=-1)) for a, b in self.points())

    # memory
    def rows(self) -> Tensor:
        return torch.randn(50, 2)

    def batches(self, batches: Callable[[Tensor, int], list[Tensor]]) -> bool:
        rows = self.rows()
        before = rows.clone()
        first = batches(rows, 8)
        copies = torch.cat(first)
        second = batches(rows, 8)
        return (
            self.untouched(rows, before)
            and self.sizes(first)
            and self.each_once(copies, before)
            and self.drawn_anew(copies, torch.cat(second))
            and self.apart(rows, first, second)
        )

    def untouched(self, rows: Tensor, before: Tensor) -> bool:
        return torch.equal(rows, before)

    def sizes(self, parts: list[Tensor]) -> bool:
        return [len(part) for part in parts] == [8] * 6 + [2]

    def each_once(self, copies: Tensor, rows: Tensor) -> bool:
        return sorted(copies.tolist()) == sorted(rows.tolist())

    def drawn_anew(self, first: Tensor, second: Tensor) -> bool:
        return not torch.equal(first, second)

    def apart(self, rows: Tensor, first: list[Tensor], second: list[Tensor]) -> bool:
        places = [{part.untyped_storage().data_ptr() for part in parts} for parts in ([rows], first, second)]
        return len(set.union(*places)) == sum(map(len, places))

    # gradients
    def penalty(self, penalty: Callable[[Tensor, Tensor], Tensor]) -> bool:
        return self.where_equal(penalty) and self.away(penalty)

    def asked(
        self, penalty: Callable[[Tensor, Tensor], Tensor], moved: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """The penalty of a vector that was moved so far, and its gradient."""
        start = torch.randn(len(moved))
        weight = (start + moved).requires_grad_()
        value = penalty(weight, start)
        return value.detach(), torch.autograd.grad(value, weight)[0] if value.requires_grad else None

    def where_equal(self, penalty: Callable[[Tensor, Tensor], Tensor]) -> bool:
        value, grad = self.asked(penalty, torch.zeros(2))
        return self.same(value, torch.tensor(0.0)) and grad is not None and bool(grad.isfinite().all())

    def away(self, penalty: Callable[[Tensor, Tensor], Tensor]) -> bool:
        value, grad = self.asked(penalty, torch.tensor([3.0, 4.0]))
        right = self.same(value, torch.tensor(5.0))
        return right and grad is not None and self.same(grad, torch.tensor([0.6, 0.8]))

    # modes
    def dropped(self, dropped: Callable[[Tensor, bool], Tensor]) -> bool:
        x = torch.rand(200, 300) + 1
        first, second = dropped(x, True), dropped(x, True)
        return (
            self.evaluation(dropped, x)
            and self.survivors(first, x)
            and self.share(first == 0)
            and self.not_in_rows(first == 0)
            and not torch.equal(first, second)
        )

    def evaluation(self, dropped: Callable[[Tensor, bool], Tensor], x: Tensor) -> bool:
        return torch.equal(dropped(x, False), x)

    def survivors(self, got: Tensor, x: Tensor) -> bool:
        return self.same(got, torch.where(got == 0, 0.0, x / 0.75))

    def share(self, zeros: Tensor) -> bool:
        return bool((zeros.float().mean() - 0.25).abs() < 0.02)

    def not_in_rows(self, zeros: Tensor) -> bool:
        return bool(zeros.any(1).all() and zeros.any(0).all())

    # losses
    def targets(self) -> list[Tensor]:
        padding = -100
        uneven = torch.tensor([[1, 0, 2, 2], [4, padding, padding, padding], [padding, 3, 0, padding]])
        return [uneven, torch.full_like(uneven, padding)]

    def loss(self, loss: Callable[[Tensor, Tensor], Tensor]) -> bool:
        logits = 3 * torch.randn(3, 4, 5)
        return all(
            self.same(loss(logits, target), self.loss_by_hand(logits, target)) for target in self.targets()
        )

    def loss_by_hand(self, logits: Tensor, target: Tensor) -> Tensor:
        each = [
            -logits[b, t].log_softmax(0)[c]
            for b, row in enumerate(target.tolist())
            for t, c in enumerate(row)
            if c != -100
        ]
        return torch.stack(each).mean() if each else torch.tensor(0.0)


def asked(review: type[Review]) -> Any:
    """The answer that a class makes."""

    def answer(script: Script) -> Any:
        return review(script).named()

    return answer
