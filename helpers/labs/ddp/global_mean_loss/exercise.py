"""Exercise 07.global_mean_loss: the mean over all samples, where DDP takes the mean over ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.ranks.checking import on_ranks, over_gloo

Answer = Callable[..., Tensor]

global_mean_loss = Exercise(
    "07.global_mean_loss",
    "A mean over all samples, not over ranks",
    objective="Scale a loss so that DDP, which averages over ranks, gives the gradient of the mean over all samples, however "
    "many of them each rank has.",
    minutes=20,
    difficulty="medium",
    hints=[
        "Write down what DDP does to the gradients g_0, g_1, ... of the ranks, and what you want: the gradient of all losses "
        "together, divided by the number of all samples. By which factor do the two differ, and who knows its parts?",
        "DDP gives (g_0 + g_1 + ...) / world. Wanted is (s_0 + s_1 + ...) / total, where s_r is the gradient of rank r's "
        "loss_sum. So g_r = s_r * world / total. Only total needs the other ranks, and it needs no gradient.",
        "`total = torch.tensor(count)`, `dist.all_reduce(total, group=group)`, and the result is "
        "`loss_sum * (dist.get_world_size(group) / total.item())`, on each rank, also where count is 0.",
    ],
)


@dataclass(frozen=True)
class Outcome:
    """What one rank saw: plain data, so that a process can send it.

    problem: what is wrong with the kind of the result, "" if nothing. factor: the gradient of the result by loss_sum.
    before, after: loss_sum before the call and after it.
    """

    problem: str
    value: float = 0.0
    factor: float | None = None
    grad: tuple[float, ...] = ()
    before: float = 0.0
    after: float = 0.0


class Batch:
    """Samples of each rank, and one parameter. counts: by rank. dtype: of the loss_sum that an answer gets."""

    def __init__(self, trial: Trial, counts: Sequence[int], dtype: torch.dtype = torch.float64) -> None:
        self.counts, self.dtype = tuple(counts), dtype
        self.start = torch.randn(3, generator=trial.generator, dtype=torch.float64)
        self.xs = [
            torch.randn(count, 3, generator=trial.generator, dtype=torch.float64) + rank
            for rank, count in enumerate(counts)
        ]

    def loss_sum(self, param: Tensor, rank: int) -> Tensor:
        return (self.xs[rank] @ param - 1).square().sum()

    def joined(self, ranks: Sequence[int]) -> tuple[Tensor, float]:
        """Gradient and value of the mean over the samples of some ranks."""
        param = self.start.clone().requires_grad_()
        mean = sum(self.loss_sum(param, rank) for rank in ranks) / sum(self.counts[rank] for rank in ranks)
        (grad,) = torch.autograd.grad(mean, param)
        return grad, mean.item()

    def outcome(self, answer: Answer, group: Any = None) -> Outcome:
        """Calls the answer on this rank, and backward() on what it gives."""
        rank = dist.get_rank()
        param = self.start.clone().requires_grad_()
        loss_sum = self.loss_sum(param, rank).to(self.dtype)
        loss_sum.retain_grad()
        before = loss_sum.item()
        got = answer(loss_sum, self.counts[rank], group)
        if type(got) is not Tensor:
            return Outcome(f"no tensor, but {'None' if got is None else 'of type ' + type(got).__name__}")
        if got.dim() or not got.is_floating_point():
            return Outcome(f"of shape {tuple(got.shape)} and {got.dtype}")
        if not got.requires_grad:
            return Outcome("without a graph")
        value = got.item()
        got.backward()
        factor = None if loss_sum.grad is None else loss_sum.grad.item()
        grad = () if param.grad is None else tuple(param.grad.tolist())
        return Outcome("", value, factor, grad, before, loss_sum.item())


def described(counts: Sequence[int]) -> str:
    return f"count by rank: {list(counts)}; each rank calls global_mean_loss(loss_sum, count, group) and backward()"


def judged(trial: Trial, batch: Batch, found: Sequence[Outcome], ranks: Sequence[int]) -> None:
    """Wrong unless the mean of the ranks' gradients is that of the joined batch. found: in the order of ranks."""
    for rank, outcome in zip(ranks, found, strict=True):
        if outcome.problem == "without a graph":
            others = any(each.problem != outcome.problem for each in found)
            trial.fail(
                f"What rank {rank} gets has no graph: no gradient can come from it, and backward() raises there"
                + (
                    ", while the other ranks wait for ever for its part in DDP's all-reduce."
                    if others
                    else "."
                ),
                expected="requires_grad=True",
                got="requires_grad=False",
                observed=[each.problem for each in found],
            )
        trial.true(
            not outcome.problem,
            f"What rank {rank} gets is {outcome.problem}.",
            expected="a floating point tensor without dimensions",
            got=outcome.problem,
            observed=[each.problem for each in found],
        )
    grads = [torch.tensor(each.grad or (0.0, 0.0, 0.0), dtype=torch.float64) for each in found]
    want, _ = batch.joined(ranks)
    total, world = sum(batch.counts[rank] for rank in ranks), len(ranks)
    trial.true(
        torch.allclose(torch.stack(grads).mean(0), want, rtol=1e-5),
        "The mean over the ranks of the gradients is not the gradient of the mean over all samples. What arrived at "
        f"loss_sum should be, on every rank, {world} ranks / {total} samples.",
        expected=f"{world / total:.4g} on every rank",
        got=_by_rank(ranks, [each.factor for each in found]),
        observed=[(_rounded(each.factor), _value_of(each, found)) for each in found],
    )
    unreached = [rank for rank, each in zip(ranks, found, strict=True) if each.factor is None]
    trial.true(
        not unreached,
        f"On rank {unreached[0] if unreached else 0} backward() does not come to loss_sum: no hook of DDP runs there, and the other ranks wait "
        "for ever for its part in the all-reduce.",
        expected="a way from the result back to loss_sum on every rank",
        got=_by_rank(ranks, [each.factor for each in found]),
        observed=("unreached", len(unreached)),
    )


def _by_rank(ranks: Sequence[int], values: Sequence[float | None]) -> str:
    description = ("no gradient" if value is None else f"{value:.4g}" for value in values)
    return ", ".join(f"rank {rank}: {value}" for rank, value in zip(ranks, description, strict=True))


def _value_of(one: Outcome, found: Sequence[Outcome]) -> str:
    """Of which losses the returned value is, if its factor is that of its gradient."""
    if one.factor is None:
        return "of none"
    own, joined = one.factor * one.before, one.factor * sum(each.before for each in found)
    near = [abs(one.value - want) <= 1e-5 * abs(want) for want in (own, joined)]
    return "of its own" if near[0] else "of all ranks" if near[1] else "other"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6) + 0.0


def run_on(
    answer: Answer,
    trial: Trial,
    counts: Sequence[int],
    *,
    how: str = "late",
    dtype: torch.dtype = torch.float64,
) -> tuple[Batch, list[Outcome]]:
    batch = Batch(trial, counts, dtype)
    trial.given(described(counts) + ("; loss_sum is float32" if dtype is torch.float32 else ""))
    return batch, on_ranks(trial, lambda: batch.outcome(answer), ranks=len(counts), delivery=how).results


@global_mean_loss.property(
    "however many samples each rank has, the gradients' mean is that of the joined batch",
    asks=(
        "A loss whose gradients, averaged over the ranks as DDP does, are those of the mean over all samples.",
        "The result is a tensor without dimensions.",
    ),
)
def any_counts(answer: Answer, trial: Trial) -> None:
    for counts in ((2, 5, 3), (4, 4, 4), (8, 1), (5,)):
        batch, found = run_on(answer, trial, counts, how="early")
        judged(trial, batch, found, range(len(counts)))


@global_mean_loss.property(
    "also when the ranks' numbers arrive at the last moment",
    asks="A loss whose gradients, averaged over the ranks as DDP does, are those of the mean over all samples.",
)
def late(answer: Answer, trial: Trial) -> None:
    batch, found = run_on(answer, trial, (4, 1, 3))
    judged(trial, batch, found, range(3))


@global_mean_loss.property(
    "a rank without samples takes part, and adds nothing",
    asks="A rank without samples takes part: its backward() comes to its loss_sum, too.",
)
def without_samples(answer: Answer, trial: Trial) -> None:
    for counts in ((3, 0, 4), (0, 6)):
        batch, found = run_on(answer, trial, counts)
        judged(trial, batch, found, range(len(counts)))


@global_mean_loss.property(
    "large counts are added without rounding", asks="Counts of many thousands are added exactly."
)
def thousands(answer: Answer, trial: Trial) -> None:
    counts = (2049, 7, 40_001)  # not one of the larger two is a number of float16, and 40,001 none of int16
    batch, found = run_on(answer, trial, counts, dtype=torch.float32)
    judged(trial, batch, found, range(3))


@global_mean_loss.property(
    "the mean over the ranks of what is returned is the mean loss of the joined batch",
    asks="The mean over the ranks of the results is the mean loss of the joined batch.",
)
def values(answer: Answer, trial: Trial) -> None:
    for counts in ((5, 2, 3), (3, 0, 4)):
        batch, found = run_on(answer, trial, counts)
        trial.true(
            not any(each.problem for each in found),
            "Not every rank gets a tensor with a graph.",
            observed=[each.problem for each in found],
        )
        _, want = batch.joined(range(len(counts)))
        got = sum(each.value for each in found) / len(found)
        trial.true(
            abs(got - want) <= 1e-5 * abs(want),
            "The mean over the ranks of the returned values is not the mean loss of the joined batch: what is logged is not "
            "what is trained.",
            expected=f"{want:.4g}",
            got=f"{got:.4g} ({_by_rank(range(len(counts)), [each.value for each in found])})",
            observed=[_rounded(each.value / want) for each in found],
        )


@global_mean_loss.property("loss_sum is left as it was", asks="loss_sum is left as it is.")
def untouched(answer: Answer, trial: Trial) -> None:
    _, found = run_on(answer, trial, (5, 2, 3))
    changed = [rank for rank, each in enumerate(found) if each.before != each.after]
    trial.true(
        not changed,
        f"The answer changed its input: on the ranks {changed} loss_sum has a different value after the call.",
        expected=_by_rank(range(3), [each.before for each in found]),
        got=_by_rank(range(3), [each.after for each in found]),
        observed=("mutated", changed),
    )


@global_mean_loss.property(
    "only the ranks of the group count", asks="Only the samples of the group's ranks count."
)
def in_groups(answer: Answer, trial: Trial) -> None:
    batch = Batch(trial, (4, 2, 1, 3, 2))
    teams = [(0, 3), (1, 2, 4)]
    trial.given(f"{described(batch.counts)}; ranks 0 and 3 are a group, ranks 1, 2 and 4 a different one")

    def on_rank() -> Outcome:
        groups = [dist.new_group(list(team)) for team in teams]
        return batch.outcome(answer, groups[dist.get_rank() not in teams[0]])

    found = on_ranks(trial, on_rank, ranks=5).results
    for team in teams:
        judged(trial, batch, [found[rank] for rank in team], team)


@global_mean_loss.property(
    "the gradients of a float64 loss are right to the digits of float64",
    once_right=True,
    asks="A loss whose gradients, averaged over the ranks as DDP does, are those of the mean over all samples.",
)
def digits(answer: Answer, trial: Trial) -> None:
    counts = (2, 5, 3, 1)  # 4 / 11 is no number of float32
    batch, found = run_on(answer, trial, counts)
    grads = torch.tensor([each.grad for each in found], dtype=torch.float64)
    want, _ = batch.joined(range(len(counts)))
    off = float((grads.mean(0) - want).norm() / want.norm())
    trial.true(
        off <= 1e-10,
        "The gradients' mean is that of the joined batch to some seven digits only, and loss_sum is float64. Perhaps the "
        "factor is a tensor of float32.",
        expected="not more than 1e-10 of it away",
        got=f"{off:.0e} of it away",
        observed="digits",
    )


@global_mean_loss.property(
    "and two batches on three processes over gloo, the same",
    once_right=True,
    asks="A loss whose gradients, averaged over the ranks as DDP does, are those of the mean over all samples.",
)
def over_processes(answer: Answer, trial: Trial) -> None:
    batches = [Batch(trial, counts) for counts in ((2, 5, 1), (4, 0, 3))]
    trial.given("three processes over gloo; count by rank: [2, 5, 1], then [4, 0, 3]")
    found = over_gloo(trial, lambda: [batch.outcome(answer) for batch in batches], ranks=3)
    for place, batch in enumerate(batches):
        judged(trial, batch, [each[place] for each in found], range(3))
