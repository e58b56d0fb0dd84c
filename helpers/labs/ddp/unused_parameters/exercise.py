"""Exercise 07.unused_parameters: a MiniDDP for modules of which a rank uses only a part."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from helpers.check.trial import Mismatch, Trial
from helpers.exercise import Exercise
from helpers.labs.ddp.mini_ddp.exercise import SIZES, TWO, own
from helpers.labs.ddp.mini_ddp.properties.steps import Buffered, only_trainable
from helpers.labs.ddp.shared.models import (
    SIX,
    UNIT,
    Inputs,
    Kinds,
    Layers,
    after_last_gradient,
    all_reduces,
    between,
    gradients,
    of_rank,
    on_each,
    one_frozen,
)
from helpers.ranks.checking import over_gloo
from helpers.ranks.in_threads import Deadlock, Disagreement, Event, note

USERS = "the mean over the ranks that used it: zeros of the others count, too"

unused_parameters = Exercise(
    "07.unused_parameters",
    "A branch that some ranks do not take",
    objective="Let a rank that does not use a parameter take part in its all-reduce all the same.",
    minutes=25,
    difficulty="medium",
    names=("UnusedDDP",),
    kind="class",
    seconds=30,
    hints=[
        "A rank cannot know what the others use. So every rank has to send every bucket in every backward: what has no "
        "gradient here adds zeros to the sum.",
        "When is it certain that a gradient will not come? When backward is over. Your MiniDDP has a function that runs "
        "just then; before it waits, it can make the rest ready.",
        "At the end of backward, for each trainable parameter that is not ready: if param.grad is None it gets "
        "torch.zeros_like(param); then do what the hook does. The buckets follow in their order by themselves.",
    ],
)
unused_parameters.property(
    "the exchange is your own: torch's DistributedDataParallel is not called",
    asks="torch's DistributedDataParallel is not called.",
)(own)


def one_backward(answer: type, trial: Trial, inputs: Inputs, bucket_bytes: int) -> None:
    """Wrong unless one backward gives the mean, with as many all-reduces on each rank."""

    def step(answer: type) -> list[Tensor | None]:
        module = inputs.module()
        inputs.backward(answer(module, bucket_bytes), 0)
        return gradients(module)

    run = on_each(trial, answer, step, ranks=inputs.ranks)
    inputs.same(
        trial,
        run.results,
        0,
        when="After one backward",
        more=lambda rank: users_only(inputs),
        none_is_zero=True,
    )
    sent = [all_reduces(of_rank(run, rank)) for rank in range(inputs.ranks)]
    trial.true(
        all(other == sent[0] for other in sent),
        f"The ranks send different all-reduces: by rank, {sent} bytes. On gloo this hangs, or mixes up what does not belong together.",
        expected="the same all-reduces on every rank",
        observed="other messages",
    )


def users_only(inputs: Inputs) -> Kinds:
    """The gradients if each is divided by the number of ranks that used the weight."""
    own_grads = [inputs.own(0, rank) for rank in range(inputs.ranks)]
    return [
        (USERS, [sum(g) / max(1, sum(bool(one.any()) for one in g)) for g in zip(*own_grads, strict=True)])
    ]


def taking(*orders: Sequence[int]) -> dict:
    """Arguments of a Inputs in which rank r computes the layers orders[r], side by side."""
    return {"how": lambda rank, step: {"order": orders[rank], "side_by_side": True}}


@unused_parameters.property(
    "rank 0 alone does not use a parameter",
    after=(own,),
    asks=(
        "After backward each `param.grad` is the mean over ALL ranks, also where this rank did not use it",
        "A trainable parameter without a gradient in this backward counts as ready, with the gradient zero.",
    ),
)
def rank_0_alone(answer: type, trial: Trial) -> None:
    for unused in (2, 0, 3):  # in between, in the last bucket, in the first
        trial.given(
            "weights of (3, 5, 2, 6) numbers, each a bucket of its own; 3 ranks, of which rank 0 does not use weight "
            f"{unused}"
        )
        used = tuple(i for i in range(4) if i != unused)
        one_backward(answer, trial, Inputs(trial, (3, 5, 2, 6), **taking(used, range(4), range(4))), 1)


@unused_parameters.property(
    "one rank does not use a parameter: it counts as zero there",
    after=(own,),
    asks=(
        "MiniDDP for modules of which a rank uses a part (one parameter or more), a different one in each step.",
        "A trainable parameter without a gradient in this backward counts as ready, with the gradient zero.",
        "Every rank sends every bucket, in the order of the buckets.",
    ),
)
def one_rank(answer: type, trial: Trial) -> None:
    for bucket_bytes, description in (
        (1, "each a bucket of its own"),
        (8 * UNIT, f"bucket_bytes={8 * UNIT}"),
    ):
        trial.given(
            f"weights of (3, 5, 2, 6) numbers, {description}; 3 ranks, of which rank 1 does not use weight 2"
        )
        inputs = Inputs(trial, (3, 5, 2, 6), **taking((0, 1, 2, 3), (0, 1, 3), (0, 1, 2, 3)))
        one_backward(answer, trial, inputs, bucket_bytes)


@unused_parameters.property(
    "every rank leaves out two, and all have the same shape",
    after=(own,),
    asks="After backward each `param.grad` is the mean over ALL ranks, also where this rank did not use it; for a parameter that no rank used it may be zero or None.",
)
def another_each(answer: type, trial: Trial) -> None:
    trial.given(
        "5 weights of 4 numbers, each a bucket of its own; weight 4 is used by nobody, and the ranks leave out weight 1, "
        "weight 2 and weight 1"
    )
    inputs = Inputs(trial, (4, 4, 4, 4, 4), **taking((0, 2, 3), (0, 1, 3), (0, 2, 3)))
    one_backward(answer, trial, inputs, 1)


@unused_parameters.property(
    "what is used may change from step to step",
    after=(one_rank, another_each),
    asks="MiniDDP for modules of which a rank uses a part (one parameter or more), a different one in each step.",
)
def changing(answer: type, trial: Trial) -> None:
    trial.given(
        "4 steps on 3 ranks; each rank takes a different branch in each step, all of them in the third"
    )
    taken = (
        ((0, 1), (0, 1), (0, 2)),
        ((0, 2), (1, 2), (0, 1)),
        ((0, 1, 2), (2, 1, 0), (0, 1, 2)),
        ((2,), (0,), (1,)),
    )
    inputs = Inputs(
        trial, SIZES, steps=4, how=lambda rank, step: {"order": taken[step][rank], "side_by_side": True}
    )

    def steps(answer: type) -> list[list[Tensor | None]]:
        module = inputs.module()
        ddp, found = answer(module, TWO), []
        for step in range(4):
            module.zero_grad(set_to_none=step < 3)
            inputs.backward(ddp, step)
            found.append(gradients(module))
        return found

    run = on_each(trial, answer, steps, ranks=3)
    for step in range(4):
        found = [by_step[step] for by_step in run.results]
        inputs.same(
            trial,
            found,
            step,
            when=f"After the backward of step {step + 1} of 4",
            more=lambda rank, step=step: left_in_buckets(inputs, step),
            none_is_zero=True,
        )


STALE = "not the mean: where a rank did not use it, what the step before left in the bucket was added, and not zero"


def left_in_buckets(inputs: Inputs, step: int) -> Kinds:
    """The gradients if a rank sends the last mean for what it does not use, or its own gradient of the last step."""
    if step == 0:
        return []
    found, ranks = inputs.mean(0), range(inputs.ranks)
    before = [inputs.own(step - 1, rank) for rank in ranks]
    for at in range(1, step + 1):
        own = [inputs.own(at, rank) for rank in ranks]
        found = [
            sum(own[r][i] if own[r][i].any() else found[i] for r in ranks) / inputs.ranks
            for i in range(len(found))
        ]
    own = [inputs.own(step, rank) for rank in ranks]
    single = [
        sum(own[r][i] if own[r][i].any() else before[r][i] for r in ranks) / inputs.ranks
        for i in range(len(found))
    ]
    return [(STALE, found), (STALE, single)]


@unused_parameters.property(
    "where all parameters are used, buckets still leave before the last gradient is there",
    after=(own,),
    asks="Where everything is used, buckets leave as early as in MiniDDP.",
)
def still_overlapped(answer: type, trial: Trial) -> None:
    trial.given("2 ranks, a chain of 6 weights, all used; each weight is a bucket")
    inputs = Inputs(trial, (3, 5, 2, 6, 4, 7), ranks=2)

    def step(answer: type) -> None:
        ddp = answer(inputs.module(), 1)
        note("starts")
        inputs.backward(ddp, 0)
        note("ends")

    run = on_each(trial, answer, step, ranks=2)
    events = between(of_rank(run, 0), "starts", "ends")
    early = len(all_reduces(events[: after_last_gradient(events) - 1]))
    trial.true(
        early >= 3,
        f"Of {len(all_reduces(events))} all-reduces, {early} were issued before the last gradient was there. For modules "
        "that use everything, this is a step back behind MiniDDP.",
        expected="3 or more of 6: what is complete, and whose turn it is, leaves at once",
        got=early,
        observed="late",
    )


IN_EVALUATION = (3, 5, 2), taking((0, 1), (0, 2), (0, 1, 2))


def set_mode(ddp: object, module: Layers, training: bool) -> None:
    (ddp if isinstance(ddp, nn.Module) else module).train(training)


@unused_parameters.property(
    "an evaluation without gradients, on one rank, sends nothing",
    after=(one_rank, another_each),
    asks="A call under no_grad sends nothing: rank 0 may evaluate alone.",
)
def evaluation(answer: type, trial: Trial) -> None:
    for training in (False, True):
        mode = "train()" if training else "eval()"
        trial.given(
            f"rank 0 ALONE calls the module, which has a buffer, twice under {mode} and torch.no_grad(); then all ranks "
            "train a step"
        )
        inputs = Inputs(trial, IN_EVALUATION[0], kind=Buffered, **IN_EVALUATION[1])

        def validated_on_rank_0(
            answer: type, inputs: Inputs = inputs, training: bool = training
        ) -> list[Tensor | None]:
            module = inputs.module()
            ddp = answer(module, TWO)
            if dist.get_rank() == 0:
                set_mode(ddp, module, training)
                note("evaluation starts")
                with torch.no_grad():
                    for order in ((0, 1), (0, 1, 2)):
                        ddp(inputs.batches[0][0][0], order=order, side_by_side=True)
                note("evaluation ends")
                set_mode(ddp, module, True)
            inputs.backward(ddp, 0)
            return gradients(module)

        try:
            run = on_each(trial, answer, validated_on_rank_0, ranks=3)
        except Mismatch as found:
            ended = found.__context__
            alone = [] if not isinstance(ended, (Deadlock, Disagreement)) else in_evaluation(ended.log)
            if not alone:
                raise
        else:
            alone = in_evaluation(run.log)
        trial.true(
            not alone,
            f"Rank 0, which evaluates ALONE, calls {', '.join(alone[:3])}: nobody answers, or what the others send for "
            "their next step answers.",
            expected="no message in the evaluation",
            observed="sends in the evaluation",
        )
        inputs.same(
            trial,
            run.results,
            0,
            when=f"In the step after rank 0 evaluated alone under {mode}",
            none_is_zero=True,
        )


@unused_parameters.property(
    "a frozen parameter has no part in the exchange",
    after=(own, one_rank),
    asks=(
        "A trainable parameter without a gradient in this backward counts as ready, with the gradient zero.",
        "Every rank sends every bucket, in the order of the buckets.",
    ),
)
def frozen(answer: type, trial: Trial) -> None:
    inputs = one_frozen(trial, "; rank 1 does not use weight 1", **taking((0, 1, 2, 3), (0, 2, 3)))

    def step(answer: type) -> list[Tensor | None]:
        module = inputs.module()
        ddp = answer(module, SIX)
        note("starts")
        inputs.backward(ddp, 0)
        note("ends")
        return gradients(module)

    run = on_each(trial, answer, step, ranks=2)
    inputs.same(trial, run.results, 0, when="After one backward", none_is_zero=True)
    only_trainable(trial, between(of_rank(run, 0), "starts", "ends"))


def in_evaluation(log: list[Event]) -> list[str]:
    """What rank 0 calls between the two notes; to the end, if it did not come to the second."""
    events = [event for event in log if event.rank == 0]
    names = [event.what if event.kind == "note" else "" for event in events]
    start = names.index("evaluation starts") if "evaluation starts" in names else len(events)
    end = names.index("evaluation ends") if "evaluation ends" in names else len(events)
    return [event.kind for event in events[start:end] if event.kind not in ("note", "waited")]


LOST = "without what no_sync had left on the ranks that do not use it now"
KEPT = (
    "without what no_sync had left on the other ranks that do not use it now, and with all that it left here"
)


def without_the_rest(inputs: Inputs, rank: int) -> Kinds:
    """What a rank gets if what step 0 left is lost where step 1 does not use it; or if it stays on its rank."""
    ranks, want = range(inputs.ranks), inputs.mean(1)
    used = [[grad.any() for grad in inputs.own(1, r)] for r in ranks]
    before = [inputs.own(0, r) for r in ranks]
    lost = [now + sum(before[r][i] for r in ranks if used[r][i]) / inputs.ranks for i, now in enumerate(want)]
    kept = [one if used[rank][i] else one + before[rank][i] for i, one in enumerate(lost)]
    return [(LOST, lost), (KEPT, kept)]


@unused_parameters.property(
    "what no_sync left in a parameter is exchanged, also if nobody uses it now",
    after=(one_rank, another_each),
    asks="What an earlier batch left in `param.grad` (in no_sync, say) is exchanged all the same.",
)
def left_over(answer: type, trial: Trial) -> None:
    taken = (((0, 1, 2, 3),) * 3, ((0, 2), (0, 3), (2, 3)))
    trial.given(
        "3 ranks, weights of (3, 5, 2, 6) numbers; a batch in no_sync through all of them, then one outside in which "
        "weight 1 is used by no rank and each of the others by two"
    )
    inputs = Inputs(
        trial,
        (3, 5, 2, 6),
        steps=2,
        how=lambda rank, step: {"order": taken[step][rank], "side_by_side": True},
    )

    def steps(answer: type) -> list[Tensor | None]:
        module = inputs.module()
        ddp = answer(module, TWO)
        with ddp.no_sync():
            inputs.backward(ddp, 0)
        inputs.backward(ddp, 1)
        return gradients(module)

    run = on_each(trial, answer, steps, ranks=3)
    inputs.same(
        trial,
        run.results,
        0,
        1,
        when="After a batch in no_sync and one outside",
        more=lambda rank: without_the_rest(inputs, rank),
    )


@unused_parameters.property(
    "a backward in eval() is as right as any other",
    after=(one_rank, another_each),
    asks="train() and eval() make no difference.",
)
def backward_in_eval(answer: type, trial: Trial) -> None:
    trial.given("a step in eval() on all ranks, as for a model with frozen statistics")
    inputs = Inputs(trial, IN_EVALUATION[0], **IN_EVALUATION[1])

    def step(answer: type) -> list[Tensor | None]:
        module = inputs.module()
        ddp = answer(module, TWO)
        set_mode(ddp, module, False)
        inputs.backward(ddp, 0)
        return gradients(module)

    run = on_each(trial, answer, step, ranks=3)
    inputs.same(trial, run.results, 0, when="After a backward in eval()", none_is_zero=True)


@unused_parameters.property(
    "weights that are zero have gradients as others have",
    once_right=True,
    asks="After backward each `param.grad` is the mean over ALL ranks, also where this rank did not use it",
)
def zeros(answer: type, trial: Trial) -> None:
    trial.given(
        "weights of (3, 5, 2, 6) numbers, each a bucket of its own; rank 1 does not use weight 2; weights 1 and 2 start with zeros, "
        "as biases do"
    )
    inputs = Inputs(trial, (3, 5, 2, 6), **taking((0, 1, 2, 3), (0, 1, 3), (0, 1, 2, 3)))
    for own_starts in inputs.starts:
        own_starts[1].zero_()
        own_starts[2].zero_()
    one_backward(answer, trial, inputs, 1)


class TooMuch(BaseException):
    """Ends a rank that has run more lines of Python than it may."""


@contextmanager
def at_most(lines: int) -> Iterator[None]:
    """Raises TooMuch in the block when this thread has run so many lines of the functions that are called there."""
    ran, before = 0, sys.gettrace()

    def count(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal ran
        ran += 1
        if ran > lines:
            raise TooMuch
        return count

    sys.settrace(count)
    try:
        yield
    finally:
        sys.settrace(before)


DEEP = 30
LINES = 300_000  # right answers run some thousands


@unused_parameters.property(
    "in a deep module, too: the work of a step grows with the layers, not with the paths through them",
    once_right=True,
    asks=(
        "MiniDDP for modules of which a rank uses a part (one parameter or more), a different one in each step.",
    ),
)
def deep(answer: type, trial: Trial) -> None:
    trial.given(
        f"a chain of {DEEP} weights of 1 number, each with a way around it, as in a residual network; 2 ranks, of which rank 1 does "
        "not use weight 3"
    )
    orders = tuple(range(DEEP)), tuple(i for i in range(DEEP) if i != 3)
    inputs = Inputs(trial, (1,) * DEEP, ranks=2, how=lambda rank, step: {"order": orders[rank]})

    def step(answer: type) -> list[Tensor | None]:
        module = inputs.module()
        ddp = answer(module, 8 * UNIT)
        with at_most(LINES):
            inputs.backward(ddp, 0)
        return gradients(module)

    try:
        run = on_each(trial, answer, step, ranks=2)
    except TooMuch:
        trial.fail(
            f"A forward and a backward ran more than {LINES:,} lines of Python. Through {DEEP} layers lead 2 ** {DEEP - 1} paths and "
            "more: perhaps each of them is walked.",
            expected="each node of the graph looked at once",
            got=f"more than {LINES:,} lines",
            observed="too many lines",
        )
    inputs.same(trial, run.results, 0, when="After one backward", none_is_zero=True)


@unused_parameters.property(
    "and on three processes over gloo, the same",
    once_right=True,
    asks=(
        "MiniDDP for modules of which a rank uses a part (one parameter or more), a different one in each step.",
    ),
)
def over_processes(answer: type, trial: Trial) -> None:
    trial.given("3 processes over gloo, of which rank 1 does not use weight 1")
    inputs = Inputs(trial, SIZES, **taking((0, 1, 2), (0, 2), (0, 1, 2)))

    def step() -> list[Tensor | None]:
        module = inputs.module()
        inputs.backward(answer(module, TWO), 0)
        return gradients(module)

    inputs.same(trial, over_gloo(trial, step, ranks=3), 0, when="After one backward")
