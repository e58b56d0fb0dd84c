"""What the checks of 07.mini_ddp and 07.unused_parameters run: a small module on ranks that hold different values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from helpers.check.compare import difference
from helpers.check.trial import Mismatch, Trial
from helpers.ranks.checking import on_ranks, per_rank
from helpers.ranks.in_threads import Deadlock, Disagreement, Event, Run, note

UNIT = 8  # bytes of a number in these modules: float64

KINDS = {
    "none": "None",
    "zero": "zero",
    "sum": "the sum over the ranks, where the mean was expected",
    "own": "this rank's own gradient, as if there were no other rank",
    "part": "this rank's own gradient divided by the number of ranks: what the other ranks have is missing",
    "twice": "the mean, divided by the number of ranks once more",
    "too often": "the mean, divided by the number of ranks twice or more often besides",
}


Kinds = list[tuple[str, list[Tensor]]]  # kinds of wrong gradients, with the gradients of all weights


class Layers(nn.Module):
    """One weight vector a layer, in a chain or side by side.

    forward(x of shape (batch,), order, side_by_side): (batch,). order: which layers, and in which order; all of them
    unless given.
    """

    def __init__(self, starts: Iterable[Tensor]) -> None:
        super().__init__()
        self.weights = nn.ParameterList(nn.Parameter(start.clone()) for start in starts)

    def forward(self, x: Tensor, order: Sequence[int] | None = None, side_by_side: bool = False) -> Tensor:
        outs = x
        for i in range(len(self.weights)) if order is None else order:
            weight = self.weights[i]
            angles = torch.arange(1, len(weight) + 1, dtype=x.dtype) / len(weight)
            outs = outs + torch.sin((x if side_by_side else outs)[:, None] * angles + weight).mean(1)
        return outs

    def trainable(self) -> list[nn.Parameter]:
        return [weight for weight in self.weights if weight.requires_grad]


def watch(module: Layers) -> None:
    """Puts "coming i" into the log when the gradient of weight i is computed, "gradient i" when it is in `.grad`."""
    for i, weight in enumerate(module.weights):
        if weight.requires_grad:
            weight.register_hook(lambda _, i=i: note(f"coming {i}"))
            weight.register_post_accumulate_grad_hook(lambda _, i=i: note(f"gradient {i}"))


FROZEN = 2
SOME_FROZEN, TRAINABLE = (3, 5, 2, 4), [3, 5, 4]  # numbers in each weight, and in each that is not frozen
SIX = 6 * UNIT  # bucket_bytes for two buckets of these


class Frozen(Layers):
    """Weight FROZEN is frozen."""

    def __init__(self, starts: Iterable[Tensor]) -> None:
        super().__init__(starts)
        self.weights[FROZEN].requires_grad_(False)


class Inputs:
    """A module with other start values on each rank, and for each step and rank a batch and what comes back for it.

    sizes: of each weight. how: by rank and step, keyword arguments of forward.
    """

    def __init__(
        self,
        trial: Trial,
        sizes: Sequence[int],
        *,
        ranks: int = 3,
        steps: int = 1,
        kind: type[Layers] = Layers,
        how: Callable[[int, int], dict[str, Any]] = lambda rank, step: {},
    ) -> None:
        self.ranks, self.kind, self.how = ranks, kind, how
        self.starts = [[normal(trial, size) for size in sizes] for _ in range(ranks)]
        self.batches = [[(normal(trial, 4), normal(trial, 4)) for _ in range(ranks)] for _ in range(steps)]

    def module(self) -> Layers:
        """This rank's module, watched."""
        module = self.kind(self.starts[dist.get_rank()])
        watch(module)
        return module

    def backward(self, ddp: Callable[..., Any], step: int) -> None:
        """One forward and backward on this rank's batch."""
        x, grad_out = self.batches[step][rank := dist.get_rank()]
        ddp(x, **self.how(rank, step)).backward(grad_out)

    def own(self, step: int, rank: int) -> list[Tensor]:
        """The gradients of one rank's batch alone, from rank 0's start values; zeros for what it does not use."""
        module = self.kind(self.starts[0])
        x, grad_out = self.batches[step][rank]
        module(x, **self.how(rank, step)).backward(grad_out)
        return [torch.zeros_like(w) if w.grad is None else w.grad for w in module.weights]

    def mean(self, *steps: int) -> list[Tensor]:
        """The gradients of a single process: the mean over the ranks, added up over the steps."""
        every = [self.own(step, rank) for step in steps for rank in range(self.ranks)]
        return [sum(grads) / self.ranks for grads in zip(*every, strict=True)]

    def same(
        self,
        trial: Trial,
        found: list[list[Tensor | None]],
        *steps: int,
        when: str,
        more: Callable[[int], Kinds] = lambda rank: [],
        none_is_zero: bool = False,
        beside: Any = None,
    ) -> None:
        """Wrong unless on each rank the gradients are the mean over the ranks.

        found: gradients by rank. more: for a rank, further kinds of wrong gradients that have a name.
        beside: a fact that tells apart answers with the same wrong gradients; it is observed, too.
        """
        want, wrong = self.mean(*steps), {}
        for rank, grads in enumerate(found):
            own = [sum(g) for g in zip(*(self.own(step, rank) for step in steps), strict=True)]
            known = [
                ("sum", [g * self.ranks for g in want]),
                ("own", own),
                ("part", [g / self.ranks for g in own]),
                ("twice", [g / self.ranks for g in want]),
                *(("too often", [g / self.ranks**times for g in want]) for times in (2, 3, 4, 5)),
                *more(rank),
            ]
            for i, grad in enumerate(grads):
                expected = want[i]
                if grad is None and none_is_zero and not expected.any():
                    continue
                if kind := kind_of(grad, expected, [(name, g[i]) for name, g in known]):
                    wrong[rank, i] = kind
        if not wrong:
            return
        rank, i = next(iter(wrong))
        kind, got = wrong[rank, i], found[rank][i]
        if kind == "other":
            trial.equal(got, want[i], f"{when}, on rank {rank}: the gradient of weight {i}")
        trial.fail(
            f"{when}, the gradient of weight {i} on rank {rank} is {KINDS.get(kind, kind)}.",
            expected=want[i],
            got=got,
            observed=(*described(wrong, len(found), len(want)), *([] if beside is None else [beside])),
        )


def one_frozen(trial: Trial, more: str = "", **how: Any) -> Inputs:
    """Inputs with a frozen weight, for one step on 2 ranks. more: what else is to be said of them."""
    trial.given(
        f"one step on 2 ranks, weights of {SOME_FROZEN} numbers, of which weight {FROZEN} is frozen{more}; bucket_bytes={SIX}"
    )
    return Inputs(trial, SOME_FROZEN, ranks=2, kind=Frozen, **how)


def on_each(trial: Trial, answer: Any, fn: Callable[[Any], Any], *, ranks: int, **options: Any) -> Run:
    """fn(answer) on ranks that are threads; each gets a copy of the answer, as processes do.

    Where they wait for ever or disagree, what each rank has sent until then is observed, too.
    """
    copies = per_rank(answer, ranks)
    try:
        return on_ranks(trial, lambda: fn(copies[dist.get_rank()]), ranks=ranks, **options)
    except Mismatch as found:
        ended = found.__context__
        if isinstance(ended, (Deadlock, Disagreement)):
            sent = [all_reduces(event for event in ended.log if event.rank == rank) for rank in range(ranks)]
            found.observed = (*found.observed, sent)
        raise


def described(wrong: dict[tuple[int, int], str], ranks: int, weights: int) -> tuple[list[str], Any]:
    """Which kinds of wrong gradients, and where: plain data, the same for buckets cut otherwise."""
    where: Any = sorted({i for _, i in wrong})
    if len(wrong) == ranks * weights:
        where = "all"
    elif set(wrong) == {(rank, i) for rank in range(1, ranks) for i in range(weights)}:
        where = "all but rank 0's"
    return sorted(set(wrong.values())), where


def kind_of(got: Any, want: Tensor, known: list[tuple[str, Tensor]]) -> str:
    """What kind of wrong gradient this is; "" if it is right, "other" if its kind has no name."""
    if got is None:
        return "none"
    if not difference(got, want):
        return ""
    if isinstance(got, Tensor) and got.shape == want.shape and got.dtype == want.dtype:
        for kind, other in known:
            if not difference(got.detach(), other):
                return kind
        if not got.any():
            return "zero"
    return "other"


def normal(trial: Trial, *shape: int) -> Tensor:
    return torch.randn(shape, generator=trial.generator, dtype=torch.float64)


def gradients(module: Layers) -> list[Tensor | None]:
    """Copies, since what holds them may be written again."""
    return [None if w.grad is None else w.grad.clone() for w in module.weights]


def all_reduces(events: Iterable[Event]) -> list[int]:
    """Bytes of each all-reduce, in order."""
    return [event.nbytes for event in events if event.kind.startswith("all_reduce")]


def of_rank(run: Run, rank: int) -> list[Event]:
    return [event for event in run.log if event.rank == rank]


def between(events: list[Event], start: str, end: str) -> list[Event]:
    """What stands between two notes."""
    names = [event.what if event.kind == "note" else "" for event in events]
    return events[names.index(start) + 1 : names.index(end)]


def is_gradient(event: Event) -> bool:
    return event.kind == "note" and event.what.startswith("gradient")


def after_last_gradient(events: list[Event]) -> int:
    """Index of the event after the last gradient of a backward; the end where none was seen."""
    return max((i + 1 for i, event in enumerate(events) if is_gradient(event)), default=len(events))
