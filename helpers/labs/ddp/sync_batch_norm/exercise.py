"""Exercise 07.sync_batch_norm: batch normalisation over the joined batch of all ranks."""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.ddp.sync_batch_norm.inputs import (
    Answer,
    Joined,
    Seen,
    communication,
    on_shards,
    rounded,
)
from helpers.ranks.checking import over_gloo

sync_batch_norm = Exercise(
    "07.sync_batch_norm",
    "BatchNorm over all ranks",
    objective="Normalise with the statistics of the joined batch, and let the gradient flow through them: one collective "
    "forward, one backward.",
    minutes=50,
    difficulty="hard",
    core=False,
    hints=[
        "Which three things of its own shard must a rank tell the others, so that each of them can work out mean and variance "
        "of the joined batch? They fit into one tensor of 2C + 1 numbers. A shard of one sample has the variance 0, not NaN.",
        "Mean: weighted by the counts. Variance: the weighted mean of `var_r + (mean_r - mean) ** 2`. For the backward write "
        "down BatchNorm's: `dx = w * invstd * (g - mean(g) - normal * mean(g * normal))`. Both means are over the joined "
        "batch; their two sums are what has to travel.",
        "forward: `own = torch.cat([mean, var, x.new_tensor([count])])`, all_gather, merge; y with the variance divided by "
        "count, running_var takes it divided by count - 1. backward: `sums = torch.cat([grad_out.sum(others), "
        "(grad_out * normal).sum(others)])`; these two are also the gradients of bias and weight, as long as they are not "
        "reduced: copy, then all_reduce.",
    ],
)

SHARDS = ((2, 5, 3), (4, 1), (1, 6, 2))  # samples by rank


def compare(
    trial: Trial, joined: Joined, seen: list[Seen], what: str, field: str, wants: list[Tensor]
) -> None:
    """One field of what each rank got, against the joined batch."""
    gots = [getattr(each, field) for each in seen]
    for rank, (got, want) in enumerate(zip(gots, wants, strict=True)):
        near = None if joined.dtype == torch.float64 else 1e-4
        trial.equal(
            got,
            want,
            f"{what} of rank {rank}",
            rtol=near,
            atol=near,
            observed=[rounded(each) for each in gots],
        )


@sync_batch_norm.property(
    "y is this rank's part of BatchNorm on the joined batch: equal shards",
    asks=(
        "Batch normalisation of training, over the joined batch of all ranks of the group.",
        "Returns (y, mean, var, count):",
        "y is this rank's part of what `torch.nn.functional.batch_norm(training=True)` gives for the joined batch.",
        "(y is made with the one divided by count.)",
        "x is left as it is.",
    ),
)
def equal_shards(answer: Answer, trial: Trial) -> None:
    for shards in ((4, 4, 4), (5,)):
        joined = Joined(trial, shards)
        seen = on_shards(answer, trial, joined)
        compare(trial, joined, seen, "y", "y", joined.y)


@sync_batch_norm.property(
    "and with shards of different sizes, of one sample, too",
    asks="y is this rank's part of what `torch.nn.functional.batch_norm(training=True)` gives for the joined batch.",
)
def unequal_shards(answer: Answer, trial: Trial) -> None:
    for shards in SHARDS:
        joined = Joined(trial, shards)
        compare(trial, joined, on_shards(answer, trial, joined), "y", "y", joined.y)


@sync_batch_norm.property(
    "and of images, sequences and volumes: one mean and variance for each channel",
    asks="y is this rank's part of what `torch.nn.functional.batch_norm(training=True)` gives for the joined batch.",
)
def images(answer: Answer, trial: Trial) -> None:
    for dtype in (torch.float64, torch.float32):
        joined = Joined(trial, (2, 1, 3), rest=(2, 3), dtype=dtype)
        compare(trial, joined, on_shards(answer, trial, joined), "y", "y", joined.y)
    for rest in ((4,), (2, 1, 3)):
        joined = Joined(trial, (2, 1, 3), rest=rest)
        compare(trial, joined, on_shards(answer, trial, joined), "y", "y", joined.y)


@sync_batch_norm.property(
    "mean and var are what running_mean and running_var take",
    asks="mean and var, (C,), are those of the joined batch, as running_mean and running_var take them: var is divided by count - 1.",
)
def running(answer: Answer, trial: Trial) -> None:
    for shards in SHARDS[:2]:
        joined = Joined(trial, shards)
        seen = on_shards(answer, trial, joined)
        compare(trial, joined, seen, "mean", "mean", [joined.mean] * len(shards))
        _not_the_biased_one(trial, joined, seen)
        compare(trial, joined, seen, "var", "var", [joined.var] * len(shards))


def _not_the_biased_one(trial: Trial, joined: Joined, seen: list[Seen]) -> None:
    biased = joined.var * (joined.count - 1) / joined.count
    got = seen[0].var
    if all(isinstance(each.var, Tensor) and each.var.shape == biased.shape for each in seen):
        trial.true(
            not all(torch.allclose(each.var.double(), biased) for each in seen),
            "var is the biased variance, divided by count. It is the right one for y; what running_var takes is divided by "
            "count - 1.",
            expected=joined.var,
            got=got,
            observed="biased",
        )


@sync_batch_norm.property(
    "count is the number of values that a channel has in the joined batch",
    asks="count is how many numbers of the joined batch a channel has: a tensor of one number, or an int.",
)
def counts(answer: Answer, trial: Trial) -> None:
    for shards, rest in ((SHARDS[0], ()), ((2, 1, 3), (2, 3))):
        joined = Joined(trial, shards, rest)
        for rank, each in enumerate(on_shards(answer, trial, joined)):
            trial.true(
                each.count == joined.count,
                f"count on rank {rank} is not the number of values a channel has on all ranks together.",
                expected=joined.count,
                got=each.count,
                observed=each.count,
            )


@sync_batch_norm.property(
    "the gradient of x is that of the joined batch", asks="The gradient of x is that of the joined batch."
)
def gradient_of_x(answer: Answer, trial: Trial) -> None:
    for shards, rest in (((4, 4, 4), ()), *((shards, ()) for shards in SHARDS), ((2, 1, 3), (2, 3))):
        joined = Joined(trial, shards, rest)
        seen = on_shards(answer, trial, joined)
        _there(trial, seen, "x", [each.grad_x for each in seen])
        compare(trial, joined, seen, "The gradient of x", "grad_x", joined.grad_x)


def _there(trial: Trial, seen: list[Seen], name: str, slopes: list[Tensor | None]) -> None:
    missing = [rank for rank, slope in enumerate(slopes) if slope is None]
    trial.true(
        not missing,
        f"{name} gets no gradient on rank {missing[0] if missing else 0}: None.",
        expected="a gradient",
        got="None",
        observed=("None", missing),
    )


@sync_batch_norm.property(
    "the gradients of weight and bias are those of this rank's samples; DDP reduces them",
    asks="Those of weight and bias are the sums over this rank's own samples: DDP reduces them, as those of all parameters.",
)
def gradients_stay_local(answer: Answer, trial: Trial) -> None:
    joined = Joined(trial, SHARDS[0])
    seen = on_shards(answer, trial, joined)
    for name, field in (("weight", "grad_weight"), ("bias", "grad_bias")):
        gots, wants = [getattr(each, field) for each in seen], getattr(joined, field)
        _there(trial, seen, name, gots)
        total = sum(wants)
        for rank, (got, want) in enumerate(zip(gots, wants, strict=True)):
            if isinstance(got, Tensor) and got.shape == total.shape and torch.allclose(got, total):
                trial.fail(
                    f"The gradient of {name} on rank {rank} is the sum over all ranks. DDP reduces it as well: then it is "
                    "too large by the number of ranks.",
                    expected=want,
                    got=got,
                    observed=(name, "sum over the ranks"),
                )
            trial.equal(
                got, want, f"The gradient of {name} on rank {rank}", observed=[rounded(each) for each in gots]
            )


@sync_batch_norm.property(
    "the forward is one collective, of 2C + 1 numbers a rank",
    asks="In the forward each rank calls ONE collective, of 2C + 1 numbers",
)
def forward_communication(answer: Answer, trial: Trial) -> None:
    for channels in (3, 5):
        joined = Joined(trial, (2, 5, 3), channels=channels)
        communication(answer, trial, joined, "forward", 2 * channels + 1)


@sync_batch_norm.property(
    "the backward is one collective, of 2C numbers a rank", asks="in the backward ONE, of 2C."
)
def backward_communication(answer: Answer, trial: Trial) -> None:
    for channels in (3, 5):
        joined = Joined(trial, (2, 5, 3), channels=channels)
        communication(answer, trial, joined, "backward", 2 * channels)


@sync_batch_norm.property(
    "only the ranks of the group are joined",
    asks="Batch normalisation of training, over the joined batch of all ranks of the group.",
)
def in_groups(answer: Answer, trial: Trial) -> None:
    teams = [(0, 3), (1, 2, 4)]
    parts = [Joined(trial, (4, 2)), Joined(trial, (1, 3, 2))]
    for team, part, seen in zip(teams, parts, on_shards(answer, trial, parts, teams), strict=True):
        trial.given(
            f"five ranks, two groups; here the group of the ranks {list(team)}, shards of {part.shards} samples"
        )
        compare(trial, part, seen, "y", "y", part.y)
        compare(trial, part, seen, "var", "var", [part.var] * len(team))
        compare(trial, part, seen, "The gradient of x", "grad_x", part.grad_x)


@sync_batch_norm.property(
    "one channel is a channel, too",
    once_right=True,
    asks=(
        "Batch normalisation of training, over the joined batch of all ranks of the group.",
        "mean and var, (C,), are those of the joined batch, as running_mean and running_var take them: var is divided by count - 1.",
        "The gradient of x is that of the joined batch.",
    ),
)
def one_channel(answer: Answer, trial: Trial) -> None:
    for rest in ((), (2, 3)):
        joined = Joined(trial, (2, 1, 3), rest, channels=1)
        seen = on_shards(answer, trial, joined)
        compare(trial, joined, seen, "y", "y", joined.y)
        compare(trial, joined, seen, "mean", "mean", [joined.mean] * 3)
        compare(trial, joined, seen, "var", "var", [joined.var] * 3)
        compare(trial, joined, seen, "The gradient of x", "grad_x", joined.grad_x)


@sync_batch_norm.property(
    "and three processes over gloo, the same",
    once_right=True,
    asks="Batch normalisation of training, over the joined batch of all ranks of the group.",
)
def over_processes(answer: Answer, trial: Trial) -> None:
    joined = Joined(trial, (3, 1, 4), rest=(2,))
    trial.given("three processes over gloo; x of shapes (3, 3, 2), (1, 3, 2) and (4, 3, 2)")
    seen = over_gloo(trial, lambda: joined.seen(answer, None), ranks=3)
    compare(trial, joined, seen, "y", "y", joined.y)
    compare(trial, joined, seen, "The gradient of x", "grad_x", joined.grad_x)
