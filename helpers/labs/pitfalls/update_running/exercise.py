"""Exercise 10.update_running: the running statistics of a batch norm, moved in place by one more batch."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from helpers.check.trial import Trial, plain
from helpers.exercise import Exercise
from helpers.labs.pitfalls.shared.own_work import Forbidden, property_by_hand, run_for_its_calls

update_running = Exercise(
    "10.update_running",
    "Running statistics",
    objective="Move a batch norm's running mean and variance by one batch: which variance, which weight, and in place.",
    minutes=15,
    difficulty="medium",
    core=False,
    hints=[
        "All values of one channel, from all samples and all places, are one sample. Which variance is stored for "
        "evaluation, that with n or that with n - 1? And whose weight is momentum?",
        "`dims = (0, *range(2, x.ndim))`. New value: (1 - momentum) * old + momentum * batch, which is what "
        "`old.lerp_(batch, momentum)` does in place. Without a graph: torch.no_grad().",
        "For momentum None, keep a count on the tensor: `mean.num_batches = getattr(mean, 'num_batches', 0) + 1`, and go on "
        "with `momentum = 1 / mean.num_batches`. The variance is `x.var(dims, correction=1)`.",
    ],
)

TORCHS_OWN = Forbidden(
    *("batch_norm", "native_batch_norm", "_native_batch_norm_legit", "batch_norm_update_stats"),
    *("instance_norm", "_batch_norm_impl_index", "batch_norm_stats"),
    description="which keeps the running statistics itself.",
)
property_of_update_running = partial(property_by_hand, update_running, TORCHS_OWN, once_right=True)

MOVES = "Moves the running statistics of a batch norm towards those of one more batch, in place."
SAMPLE = "All values of a channel are one sample; its unbiased variance goes into `var`."
WEIGHT = "New is (1 - momentum) * old + momentum * batch: 1 forgets all that was."
NONE = "None: mean and var become the plain averages over all batches so far; the first batch replaces what they held."
COUNT = "For None the number of batches is an attribute of `mean` or `var`, under any name:"
APART, COPIED = "two layers do not share it", "and a deepcopy of a layer takes it along."
MEMORY, LEFT = "mean and var keep their memory and dtype", "x is left as it is."
GRAPH = "No graph is recorded."
OWN = "No batch norm function of torch is called; `torch.var` may be."
Answer = Callable[..., Any]
_kept: list[Tensor] = []  # none is freed during a check: an answer may know its tensors by id


class Work(TorchDispatchMode):
    """Counts operations."""

    count = 0

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return op(*args, **(kwargs or {}))


def drawn(trial: Trial, *shape: int) -> Tensor:
    """A batch whose channels, samples and places differ in mean and spread."""
    spread = 0.5 + torch.rand(shape[:2] + (1,) * (len(shape) - 2), generator=trial.generator).double()
    x = torch.randn(shape, generator=trial.generator, dtype=torch.float64) * spread
    return x + torch.randn(spread.shape, generator=trial.generator, dtype=torch.float64)


def statistics(trial: Trial, channels: int, fresh: bool = False) -> tuple[Tensor, Tensor]:
    """A running mean and variance: some values, or those that a new layer has."""
    mean, var = torch.zeros(channels, dtype=torch.float64), torch.ones(channels, dtype=torch.float64)
    if not fresh:
        mean += torch.randn(channels, generator=trial.generator, dtype=torch.float64)
        var += torch.rand(channels, generator=trial.generator, dtype=torch.float64)
    _kept.extend((mean, var))
    return mean, var


def of_batch(x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and unbiased variance of each channel."""
    values = x.detach().transpose(0, 1).flatten(1)
    mean = values.mean(1)
    return mean, (values - mean[:, None]).square().sum(1) / (values.shape[1] - 1)


def described(x: Tensor, momentum: float | None) -> str:
    return f"update_running(x, mean, var, {momentum}), x of shape {tuple(x.shape)}"


def updated(
    answer: Answer, trial: Trial, x: Tensor, mean: Tensor, var: Tensor, momentum: float | None
) -> Any:
    """One call, which may edit mean and var, but not x."""
    before = x.detach().clone()
    result = trial.call(lambda: answer(x, mean, var, momentum))
    trial.true(
        torch.equal(before, x.detach()),
        "The batch x was edited. Only mean and var are to change.",
        expected=f"x as it was: its first value was {before.flatten()[0]:.6g}",
        got=f"{x.detach().flatten()[0]:.6g}",
        observed="x edited",
    )
    return result


def moved(old: Tensor, batch: Tensor, momentum: float) -> Tensor:
    return (1 - momentum) * old + momentum * batch


def require(
    answer: Answer, trial: Trial, x: Tensor, momentum: float, which: int, shape: tuple[int, ...] | None = None
) -> None:
    """Compares the mean (which = 0) or the variance (1) after one call."""
    now = statistics(trial, x.shape[1])
    old = now[which].clone()
    trial.given(described(x, momentum))
    work = Work()

    def counted(*args: Any) -> Any:
        with work:
            return answer(*args)

    result = updated(counted, trial, x, *now, momentum)
    name = ("mean", "var")[which]
    want = moved(old, of_batch(x)[which], momentum)
    trial.true(
        momentum == 0 or not torch.equal(now[which], old),
        f"{name} is as it was before the call. It is to be edited in place: a new tensor under the same name is seen by "
        "nobody outside.",
        expected=want,
        got=now[which],
        observed=("unchanged", name, type(result).__name__, work.count > 0),
    )
    trial.equal(
        now[which].detach().clone(),
        want,
        f"The running {('mean', 'variance')[which]}",
        observed=(name, tuple(x.shape), momentum, plain(now[which])),
    )


@property_of_update_running("the statistics are its own work", asks=OWN)
def own_work(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 6, 3)
    trial.given(described(x, 0.1) + "; calls are watched")
    run_for_its_calls(answer, x, *statistics(trial, 3), 0.1)


@property_of_update_running("the batch is left as it is", asks=LEFT)
def batch_left(answer: Answer, trial: Trial) -> None:
    for shape in ((6, 3), (4, 3, 5)):
        x = drawn(trial, *shape)
        trial.given(described(x, 0.1))
        updated(answer, trial, x, *statistics(trial, 3), 0.1)


@property_of_update_running("mean moves towards the batch's mean, by momentum", asks=(MOVES, WEIGHT))
def running_mean(answer: Answer, trial: Trial) -> None:
    for momentum in (0.1, 0.7, 1.0):
        require(answer, trial, drawn(trial, 6, 3), momentum, 0)


@property_of_update_running(
    "var moves towards the batch's unbiased variance, by momentum", asks=(MOVES, WEIGHT, SAMPLE)
)
def running_var(answer: Answer, trial: Trial) -> None:
    for momentum in (0.1, 0.7, 1.0):
        require(answer, trial, drawn(trial, 5, 3), momentum, 1)


@property_of_update_running("all values of a channel are one sample, whatever dims come behind", asks=SAMPLE)
def over_all_places(answer: Answer, trial: Trial) -> None:
    for shape in ((4, 3, 5), (2, 3, 4, 5), (1, 3, 2)):
        for which in (0, 1):
            require(answer, trial, drawn(trial, *shape), 0.3, which)


@property_of_update_running("momentum 0 leaves both as they are", asks=WEIGHT)
def momentum_of_0(answer: Answer, trial: Trial) -> None:
    for which in (0, 1):
        require(answer, trial, drawn(trial, 5, 3), 0.0, which)


def weight_of(old: Tensor, batch: Tensor, new: Tensor) -> float | None:
    """The momentum that leads from old to new, if one does."""
    weights = (new - old) / (batch - old)
    return float(weights[0]) if torch.allclose(weights, weights[0]) else None


def told_weights(weights: list[float | None]) -> Any:
    """What the weights of three batches of 6, 4 and 9 samples are, in words, if people get them."""
    if None in weights:
        return "no weights"
    if max(weights) - min(weights) < 1e-9:
        return ("always", round(weights[0], 6))
    counts = [1 / weight if weight else 0.0 for weight in weights]
    if all(abs(later - first - 1) < 1e-6 for first, later in zip(counts, counts[1:], strict=False)):
        return ("counts from", 2 if abs(counts[0] - 2) < 1e-6 else "a different layer's count")
    return [round(weight, 6) for weight in weights]


@property_of_update_running(
    "momentum None: plain averages over all batches that these tensors have seen", asks=(NONE, COUNT, APART)
)
def cumulative(answer: Answer, trial: Trial) -> None:
    other = statistics(trial, 3, fresh=True)
    for _ in range(2):
        trial.given("a new mean (0) and var (1), momentum None, x of shape (5, 3)")
        updated(answer, trial, drawn(trial, 5, 3), *other, None)
    mean, var = statistics(trial, 3, fresh=True)
    sums = torch.zeros(2, 3, dtype=torch.float64)
    weights, wrong = [], None
    for count, size in enumerate((6, 4, 9), start=1):
        x, old = drawn(trial, size, 3), mean.clone()
        batch = of_batch(x)
        sums += torch.stack(batch)
        updated(answer, trial, x, mean, var, None)
        weights.append(weight_of(old, batch[0], mean.detach()))
        wrong = wrong or (count if not torch.allclose(mean.detach(), sums[0] / count) else None)
    trial.given(
        "after two calls for a different layer: a new mean (0) and var (1), momentum None, "
        "x of shape (6, 3), then (4, 3), then (9, 3)"
    )
    trial.true(
        wrong is None,
        f"After call {wrong} the running mean is not the average of the means of the batches so far. The weights of the "
        f"batches were {', '.join('unclear' if w is None else f'{w:.4g}' for w in weights)}.",
        expected="the weights 1, 1/2 and 1/3",
        got=", ".join("unclear" if w is None else f"{w:.4g}" for w in weights),
        observed=told_weights(weights),
    )
    trial.equal(var.detach().clone(), sums[1] / 3, "The running variance after three calls")


@property_of_update_running("momentum None: a copy of mean and var goes on as they do", asks=(COUNT, COPIED))
def counted_on_the_tensors(answer: Answer, trial: Trial) -> None:
    now = statistics(trial, 3, fresh=True)
    for size in (6, 4):
        updated(answer, trial, drawn(trial, size, 3), *now, None)
    other = copy.deepcopy(now)
    _kept.extend(other)
    x = drawn(trial, 9, 3)
    trial.given(
        "a new mean and var, momentum None: two batches, then copy.deepcopy((mean, var)), then a third batch for each"
    )
    old, batch = other[0].clone(), of_batch(x)[0]
    updated(answer, trial, x, *now, None)
    updated(answer, trial, x, *other, None)
    weight = weight_of(old, batch, other[0].detach())
    for name, value, copied in zip(("mean", "var"), now, other, strict=True):
        trial.equal(
            copied.detach().clone(),
            value.detach().clone(),
            f"The {name} of the copy, after its third batch",
            observed=("weight in the copy", None if weight is None else round(weight, 4)),
        )


@property_of_update_running(
    "the tensors are edited where they are: memory and dtype stay", asks=(MOVES, MEMORY)
)
def in_place(answer: Answer, trial: Trial) -> None:
    for momentum in (0.2, None):
        x = drawn(trial, 5, 3).float()
        now = tuple(value.float() for value in statistics(trial, 3))
        _kept.extend(now)
        views = [value[:] for value in now]
        trial.given(described(x, momentum) + ", all float32; views of mean and var are held")
        updated(answer, trial, x, *now, momentum)
        same = all(torch.equal(view, value) for view, value in zip(views, now, strict=True))
        trial.true(
            same and all(value.dtype == torch.float32 for value in now),
            "mean or var lies in other memory now, or has a different dtype. Whoever held the old one (a state_dict, the other "
            "layer that shares it) sees nothing of the update.",
            expected="the same memory, edited",
            got=f"{'the same' if same else 'other'} memory, {now[0].dtype} and {now[1].dtype}",
            observed=("other memory", same, [str(value.dtype) for value in now]),
        )


@property_of_update_running("nothing is recorded, though x requires grad", asks=GRAPH)
def records_nothing(answer: Answer, trial: Trial) -> None:
    for momentum in (0.2, None):
        x = drawn(trial, 5, 3).requires_grad_()
        mean, var = statistics(trial, 3)
        trial.given(described(x, momentum) + ", x requires grad")
        updated(answer, trial, x * 2, mean, var, momentum)
        trial.true(
            not (mean.requires_grad or var.requires_grad),
            "mean or var requires grad after the call: it keeps the graph of this batch alive, then that of the next, and "
            "so on through the whole epoch.",
            expected="tensors that do not require grad",
            got=f"mean.requires_grad={mean.requires_grad}, var.requires_grad={var.requires_grad}",
            observed="records",
        )
