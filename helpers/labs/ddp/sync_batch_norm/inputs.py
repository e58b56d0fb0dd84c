"""What the check of 07.sync_batch_norm runs: shards on ranks, and BatchNorm on the joined batch as the reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.functional import batch_norm

from helpers.check.trial import Trial, plain
from helpers.ranks.checking import on_ranks
from helpers.ranks.in_threads import Event, Run, note

Answer = Callable[..., tuple[Tensor, Tensor, Tensor, Any]]
BYTES = 8  # of a number: everything here is float64
PROGRESS = {"sent", "received", "waited"}  # ends of requests, which are in the log already


@dataclass
class Seen:
    """What one rank got. problem: what is wrong with its kind, "" if nothing."""

    problem: str
    y: Tensor | None = None
    mean: Tensor | None = None
    var: Tensor | None = None
    count: float | None = None
    grad_x: Tensor | None = None
    grad_weight: Tensor | None = None
    grad_bias: Tensor | None = None


class Joined:
    """A batch in shards, and what BatchNorm gives on all of it; y, grad_x, grad_weight and grad_bias by rank.

    shards: samples of each rank. rest: the shape of a sample after its channels.
    """

    EPS = 0.1  # large, so that it shows where it is put

    def __init__(
        self,
        trial: Trial,
        shards: Sequence[int],
        rest: Sequence[int] = (),
        channels: int = 3,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        def drawn(*shape: int) -> Tensor:
            return torch.randn(shape, generator=trial.generator, dtype=torch.float64).to(dtype)

        self.shards, self.rest, self.channels, self.dtype = tuple(shards), tuple(rest), channels, dtype
        # Each rank has its own mean: merging variances then needs the means, too.
        self.xs = [drawn(size, channels, *rest) * (1 + rank) + 2 * rank for rank, size in enumerate(shards)]
        self.weight, self.bias = drawn(channels), drawn(channels)
        self.upstream = [drawn(size, channels, *rest) + 1 for size in shards]
        x = torch.cat(self.xs).requires_grad_()
        mean, var = torch.zeros(channels, dtype=x.dtype), torch.zeros(channels, dtype=x.dtype)
        y = batch_norm(x, mean, var, self.weight, self.bias, True, 1.0, self.EPS)
        self.mean, self.var, self.count = mean, var, x.numel() // channels
        (slope,) = torch.autograd.grad(y, x, torch.cat(self.upstream))
        self.y, self.grad_x = list(y.detach().split(shards)), list(slope.split(shards))
        others = [0, *range(2, x.dim())]
        shape = [1, channels, *[1] * len(rest)]
        normal = [(part - self.bias.view(shape)) / self.weight.view(shape) for part in self.y]
        self.grad_weight = [(up * part).sum(others) for up, part in zip(self.upstream, normal, strict=True)]
        self.grad_bias = [up.sum(others) for up in self.upstream]

    def described(self) -> str:
        shapes = ", ".join(str((size, self.channels, *self.rest)) for size in self.shards)
        return (
            f"sync_batch_norm(x, weight, bias, {self.EPS}, group), x by rank of shapes {shapes}, {self.dtype}"
        )

    def seen(self, answer: Answer, group: Any, place: int | None = None) -> Seen:
        """Forward and backward on this rank. place: of its shard; its rank unless given."""
        place = dist.get_rank() if place is None else place
        x = self.xs[place].clone().requires_grad_()
        weight, bias = self.weight.clone().requires_grad_(), self.bias.clone().requires_grad_()
        got = answer(x, weight, bias, self.EPS, group)
        note("backward")
        problem = _problem(got)
        if problem:
            return Seen(problem)
        y, mean, var, count = got
        y.backward(self.upstream[place].clone())
        found = Seen("", y.detach().clone(), mean.detach().clone(), var.detach().clone(), _number(count))
        if not torch.equal(x.detach(), self.xs[place]):
            return Seen("right but for x, which was changed")
        found.grad_x, found.grad_weight, found.grad_bias = x.grad, weight.grad, bias.grad
        return found


def _problem(got: Any) -> str:
    """What is wrong with the kind of a result."""
    if got is None:
        return "None; a `return` is missing"
    if not isinstance(got, (tuple, list)) or len(got) != 4:
        return f"no (y, mean, var, count), but of type {type(got).__name__}"
    for name, part in zip(("y", "mean", "var"), got[:3], strict=True):
        if not isinstance(part, Tensor):
            return f"a tuple whose {name} is no tensor, but of type {type(part).__name__}"
    if _number(got[3]) is None:
        return f"a tuple whose count is no number, but of type {type(got[3]).__name__}"
    if not got[0].requires_grad:
        return "a tuple whose y has no graph"
    return ""


def _number(value: Any) -> float | None:
    """An int, a float or a tensor of one number, as a float."""
    if isinstance(value, Tensor):
        return float(value.detach().reshape(())) if value.numel() == 1 else None
    return float(value) if isinstance(value, (int, float)) else None


def rounded(value: Any) -> Any:
    """Plain data for a value; noise of rounding is left out, so that one mistake in two ways looks the same."""
    if not isinstance(value, Tensor):
        return plain(value)
    return tuple(value.shape), [
        round(number, 5) + 0.0 for number in value.detach().double().flatten().tolist()
    ]


def on_shards(
    answer: Answer, trial: Trial, joined: Any, teams: Sequence[Sequence[int]] | None = None
) -> list[Any]:
    """What each rank got, by rank. With teams (and a Joined for each): for each team what its ranks got."""
    if teams is None:
        trial.given(joined.described())
        run = on_ranks(trial, lambda: joined.seen(answer, None), ranks=len(joined.shards))
        _right_kind(trial, run)
        return run.results

    def on_rank() -> Seen:
        groups = [dist.new_group(list(team)) for team in teams]
        mine = next(place for place, team in enumerate(teams) if dist.get_rank() in team)
        return joined[mine].seen(answer, groups[mine], teams[mine].index(dist.get_rank()))

    trial.given("five ranks in two groups, each with a batch of its own")
    run = on_ranks(trial, on_rank, ranks=sum(map(len, teams)))
    _right_kind(trial, run)
    return [[run.results[rank] for rank in team] for team in teams]


def _right_kind(trial: Trial, run: Run) -> None:
    for rank, seen in enumerate(run.results):
        trial.true(
            not seen.problem,
            f"What rank {rank} gets is {seen.problem}.",
            expected="(y, mean, var, count)",
            got=seen.problem,
            observed=[each.problem for each in run.results],
        )


def communication(answer: Answer, trial: Trial, joined: Joined, phase: str, numbers: int) -> None:
    """Wrong unless in this phase ("forward" or "backward") each rank calls one collective of so many numbers."""
    trial.given(f"{joined.described()}; what each rank sends in the {phase}")
    run = on_ranks(trial, lambda: joined.seen(answer, None), ranks=len(joined.shards))
    _right_kind(trial, run)
    for rank in range(len(joined.shards)):
        events = [event for event in run.log if event.rank == rank and event.kind not in PROGRESS]
        border = next(
            place for place, event in enumerate(events) if (event.kind, event.what) == ("note", "backward")
        )
        called = events[:border] if phase == "forward" else events[border + 1 :]
        sizes = [event.nbytes // BYTES for event in called]
        trial.true(
            sizes == [numbers] and called[0].kind not in ("send", "recv", "isend", "irecv"),
            f"In the {phase}, rank {rank} does not call one collective of {numbers} numbers (C is {joined.channels}). Each "
            "collective costs a round trip through all ranks, in every layer.",
            expected=f"one collective, {numbers} numbers",
            got=_described(called) or "none",
            observed=sorted(size - numbers for size in sizes),
        )


def _described(called: Sequence[Event]) -> str:
    return ", ".join(f"{event.kind} of {_amount(event.nbytes)}" for event in called)


def _amount(nbytes: int) -> str:
    return f"{nbytes} bytes" if nbytes % BYTES else f"{nbytes // BYTES} numbers"
