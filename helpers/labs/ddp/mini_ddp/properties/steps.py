"""The check of 07.mini_ddp: more than one backward, no_sync, and small things that are asked of right answers."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor, nn

from helpers.check.trial import Trial
from helpers.labs.ddp.mini_ddp.buckets import kind_of_messages
from helpers.labs.ddp.mini_ddp.exercise import (
    SIZES,
    TWO,
    mean,
    mini_ddp,
    none_is_early,
    none_is_late,
    own,
)
from helpers.labs.ddp.shared.models import (
    FROZEN,
    SIX,
    TRAINABLE,
    UNIT,
    Inputs,
    Kinds,
    Layers,
    after_last_gradient,
    all_reduces,
    between,
    gradients,
    kind_of,
    of_rank,
    on_each,
    one_frozen,
)
from helpers.ranks.checking import over_gloo
from helpers.ranks.in_threads import Event, Run, note

LEFT_OVER = "this step's mean and, added to it, what the step before had left in the bucket"


@mini_ddp.property(
    "the next backward starts anew, with gradients set to None or to zero before it",
    after=(own,),
    asks="The next backward starts anew.",
)
def again(answer: type, trial: Trial) -> None:
    for to_none, delivery in ((False, "late"), (True, "early")):
        trial.given(f"2 steps on 3 ranks, before each module.zero_grad(set_to_none={to_none})")
        inputs = Inputs(trial, SIZES, steps=2)

        def steps(
            answer: type, inputs: Inputs = inputs, to_none: bool = to_none
        ) -> list[list[Tensor | None]]:
            module = inputs.module()
            ddp, found = answer(module, TWO), []
            for step in range(2):
                module.zero_grad(set_to_none=to_none)
                note(f"step {step + 1}")
                inputs.backward(ddp, step)
                note(f"end of step {step + 1}")
                found.append(gradients(module))
            return found

        run = on_each(trial, answer, steps, ranks=3, delivery=delivery)
        for step in range(2):
            events = between(of_rank(run, 0), f"step {step + 1}", f"end of step {step + 1}")
            none_is_early(trial, events, SIZES, f"In the backward of step {step + 1}")
            found = [by_step[step] for by_step in run.results]
            more = leftovers(inputs) if step else []
            inputs.same(
                trial,
                found,
                step,
                when=f"After the backward of step {step + 1}",
                more=lambda _, more=more: more,
                beside="sent" if all_reduces(events) else "nothing sent",
            )


def leftovers(inputs: Inputs) -> Kinds:
    """What step 2 gives if the bucket still holds the result of step 1: once, or once from each rank."""
    before, now = inputs.mean(0), inputs.mean(1)
    return [
        (LEFT_OVER, [count * b + n for b, n in zip(before, now, strict=True)]) for count in (inputs.ranks, 1)
    ]


@mini_ddp.property(
    "in no_sync nothing is sent; the next backward outside exchanges the whole sum, once",
    after=(own,),
    asks=(
        "Around forward and backward: nothing is sent, gradients add up on this rank.",
        "The next backward outside exchanges the whole sum, once.",
    ),
)
def no_sync(answer: type, trial: Trial) -> None:
    trial.given("two batches inside `with ddp.no_sync():` (forward and backward), a third outside; 3 ranks")
    inputs = Inputs(trial, SIZES, steps=3)

    def steps(answer: type) -> list[list[Tensor | None]]:
        module = inputs.module()
        ddp, found = answer(module, TWO), []
        note("starts")
        with ddp.no_sync():
            for step in range(2):
                inputs.backward(ddp, step)
                found.append(gradients(module))
        note("inside")
        inputs.backward(ddp, 2)
        note("ends")
        return [*found, gradients(module)]

    run = on_each(trial, answer, steps, ranks=3)
    events = of_rank(run, 0)
    inside = all_reduces(between(events, "starts", "inside"))
    trial.true(
        not inside,
        f"Inside no_sync {len(inside)} all-reduces were sent: that is what no_sync is there to save.",
        expected="no message inside, one exchange at the next backward outside",
        got=f"{len(inside)} all-reduces in two backward passes inside",
        observed=("sends inside", sends_in_backward(between(events, "starts", "inside"))),
    )
    local = [[inputs.own(step, rank) for step in range(3)] for rank in range(3)]
    for step in range(2):
        for rank, grads in enumerate(run.results):
            want = [sum(g) for g in zip(*local[rank][: step + 1], strict=True)]
            for i, want_i in enumerate(want):
                got = grads[step][i]
                kind = kind_of(got, want_i, [("part", want_i / 3)])
                trial.equal(
                    got,
                    want_i,
                    f"Inside no_sync, after batch {step + 1}, on rank {rank}: the gradient of weight {i}, which is "
                    "the plain sum of this rank's own gradients",
                    observed=("inside", step, kind if kind != "other" else None),
                )
    outside = between(events, "inside", "ends")
    none_is_early(trial, outside, SIZES, "In the backward after no_sync")
    inputs.same(
        trial,
        [grads[2] for grads in run.results],
        0,
        1,
        2,
        when="After two batches in no_sync and one outside",
        more=lambda rank: [
            ("the mean of the LAST batch alone: what had added up before is lost", inputs.mean(2)),
            (
                "this rank's own sum of no_sync, and of the last batch the mean: the sum itself was not exchanged",
                [a + b + c for a, b, c in zip(*local[rank][:2], inputs.mean(2), strict=True)],
            ),
        ],
    )
    wrong = kind_of_messages(all_reduces(outside), SIZES, UNIT, TWO)
    trial.true(
        not wrong,
        f"The all-reduces of the backward after no_sync are not those of one exchange: {wrong}.",
        expected="one all-reduce a bucket, as ever",
        observed=("after no_sync", wrong),
    )


def sends_in_backward(events: list[Event]) -> bool:
    """Whether an all-reduce is sent before the last of several backward passes is over, or only after that."""
    return bool(all_reduces(events[: after_last_gradient(events) - len(SIZES)]))


class Stopped(Exception):
    """What leaves a no_sync before its end."""


@mini_ddp.property(
    "after a no_sync that an exception has left, the next backward is exchanged",
    after=(own, no_sync),
    asks="It ends as well when an exception leaves it.",
)
def no_sync_left(answer: type, trial: Trial) -> None:
    trial.given(
        "3 ranks; an exception in `with ddp.no_sync():` after its backward, caught outside; then a batch outside"
    )
    inputs = Inputs(trial, SIZES, steps=2)

    def steps(answer: type) -> list[Tensor | None]:
        module = inputs.module()
        ddp = answer(module, TWO)
        try:
            with ddp.no_sync():
                inputs.backward(ddp, 0)
                raise Stopped
        except Stopped:
            pass
        inputs.backward(ddp, 1)
        return gradients(module)

    found = on_each(trial, answer, steps, ranks=3).results
    inputs.same(trial, found, 0, 1, when="After a no_sync that an exception left, and a batch outside")


@mini_ddp.property(
    "in a no_sync nothing is sent either when one inside of it has ended",
    after=(own, no_sync),
    asks="One inside a different one changes nothing: only the end of the outer one ends it.",
)
def no_sync_nested(answer: type, trial: Trial) -> None:
    trial.given(
        "3 ranks; `with ddp.no_sync():` around a second one and a batch after it; then a batch outside of both"
    )
    inputs = Inputs(trial, SIZES, steps=3)

    def steps(answer: type) -> list[Tensor | None]:
        module = inputs.module()
        ddp = answer(module, TWO)
        with ddp.no_sync():
            with ddp.no_sync():
                inputs.backward(ddp, 0)
            note("the inner one has ended")
            inputs.backward(ddp, 1)
            note("the outer one ends")
        inputs.backward(ddp, 2)
        return gradients(module)

    run = on_each(trial, answer, steps, ranks=3)
    sent = all_reduces(between(of_rank(run, 0), "the inner one has ended", "the outer one ends"))
    trial.true(
        not sent,
        f"{len(sent)} all-reduces were sent inside the outer no_sync, after the inner one had ended.",
        expected="no message before the outer one has ended",
        got=f"all-reduces of {[n // UNIT for n in sent]} numbers",
        observed="sends inside the outer one",
    )
    inputs.same(trial, run.results, 0, 1, 2, when="After a no_sync in a no_sync, and a batch outside")


class Buffered(Layers):
    """Has a buffer that forward does not write."""

    def __init__(self, starts: list[Tensor]) -> None:
        super().__init__(starts)
        self.register_buffer("seen", torch.zeros(3, dtype=torch.float64))


@mini_ddp.property(
    "after construction a rank's buffers are its own", after=(own, mean), asks="Buffers are not sent again."
)
def buffers_stay(answer: type, trial: Trial) -> None:
    trial.given("2 ranks; after construction each writes 1 + its number into a buffer; then two steps")
    inputs = Inputs(trial, SIZES, ranks=2, steps=2, kind=Buffered)

    def steps(answer: type) -> list[list[float]]:
        module, found = inputs.module(), []
        ddp = answer(module, TWO)
        module.seen.fill_(1 + dist.get_rank())
        for step in range(2):
            inputs.backward(ddp, step)
            found.append(module.seen.tolist())
        return found

    run = on_each(trial, answer, steps, ranks=2)
    for rank, by_step in enumerate(run.results):
        for step, got in enumerate(by_step):
            want = [1.0 + rank] * 3
            trial.true(
                got == want,
                f"After step {step + 1} the buffer on rank {rank} is not what this rank has written: it was sent again.",
                expected=str(want),
                got=str(got),
                observed=("buffer", run.results),
            )
    again = sorted({event.kind for event in run.log if event.kind.startswith("broadcast")})
    after = [event for event in run.log[_first_gradient(run.log) :] if event.kind in again]
    trial.true(
        not after,
        f"{len(after)} broadcasts are called after the first gradient: only the construction sends parameters and buffers.",
        expected="no broadcast after construction",
        got=f"{len(after)} broadcasts",
        observed="broadcasts",
    )


def _first_gradient(log: list[Event]) -> int:
    return next(place for place, event in enumerate(log) if event.kind == "note")


class Mixed(Layers):
    """Every second weight is float32; the forward computes in float64."""

    def __init__(self, starts: list[Tensor]) -> None:
        super().__init__(starts)
        for i in range(1, len(self.weights), 2):
            self.weights[i] = nn.Parameter(self.weights[i].detach().float())


@mini_ddp.property(
    "float32 and float64 do not travel in one message", after=(own, mean), asks="One bucket, one dtype."
)
def dtypes(answer: type, trial: Trial) -> None:
    sizes = (3, 5, 2, 7)
    trial.given(
        f"2 ranks, one step; weights of {sizes} numbers, float64, float32, float64, float32; bucket_bytes=1000"
    )
    inputs = Inputs(trial, sizes, ranks=2, kind=Mixed)

    def step(answer: type) -> list[Tensor | None]:
        module = inputs.module()
        ddp = answer(module, 1000)
        note("starts")
        inputs.backward(ddp, 0)
        note("ends")
        return gradients(module)

    run = on_each(trial, answer, step, ranks=2)
    sent = all_reduces(between(of_rank(run, 0), "starts", "ends"))
    right = {(3 + 2) * 8: "float64", (5 + 7) * 4: "float32"}
    trial.true(
        sum(sent) == sum(right),
        "The all-reduces do not carry each gradient in its own dtype: 5 numbers of float64 and 12 of float32.",
        expected=f"{sum(right)} bytes together",
        got=f"{sum(sent)} bytes, in all-reduces of {sent} bytes",
        observed=("bytes", sum(sent)),
    )
    want = inputs.mean(0)
    for rank, grads in enumerate(run.results):
        for i, grad in enumerate(grads):
            near = 1e-5 if i % 2 else None
            trial.equal(
                grad,
                want[i],
                f"The gradient of weight {i} on rank {rank}",
                rtol=near,
                atol=near,
                observed=("dtype", i % 2),
            )


class Tied(Layers):
    """Weight 0 is used twice, under two names."""

    def __init__(self, starts: list[Tensor]) -> None:
        super().__init__(starts)
        self.again = self.weights[0]

    def forward(self, x: Tensor, **how: object) -> Tensor:
        return super().forward(super().forward(x), order=(0,))


@mini_ddp.property(
    "a parameter under two names is exchanged once",
    once_right=True,
    asks="A parameter under two names is one.",
)
def tied(answer: type, trial: Trial) -> None:
    trial.given(f"one step on 2 ranks, weights of {SIZES} numbers; weight 0 has two names and is used twice")
    inputs = Inputs(trial, SIZES, ranks=2, kind=Tied)

    def step(answer: type) -> list[Tensor | None]:
        module = inputs.module()
        ddp = answer(module, TWO)
        note("starts")
        inputs.backward(ddp, 0)
        note("ends")
        return gradients(module)

    run = on_each(trial, answer, step, ranks=2)
    inputs.same(trial, run.results, 0, when="After one backward")
    sent = [n // UNIT for n in all_reduces(between(of_rank(run, 0), "starts", "ends"))]
    trial.true(
        sum(sent) == sum(SIZES),
        f"The all-reduces carry {sum(sent)} numbers, and the parameters have {sum(SIZES)}.",
        expected=f"{sum(SIZES)} numbers together",
        got=f"all-reduces of {sent} numbers",
        observed=("numbers", sum(sent)),
    )


@mini_ddp.property(
    "frozen parameters get rank 0's values, and no bucket waits for them",
    once_right=True,
    asks=(
        "At construction the parameters (frozen ones, too) and the buffers get rank 0's values, in place: the Parameter objects stay.",
        "The trainable parameters are put into buckets, the last one of `module.parameters()` first.",
    ),
)
def frozen(answer: type, trial: Trial) -> None:
    inputs = one_frozen(trial)
    run = one_step(answer, trial, inputs, SIX)
    for rank, (values, _) in enumerate(run.results):
        trial.equal(
            values[FROZEN],
            inputs.starts[0][FROZEN],
            f"The frozen weight on rank {rank}",
            observed="not broadcast",
        )
    found = [grads for _, grads in run.results]
    inputs.same(trial, found, 0, when="After one backward", none_is_zero=True)
    events = between(of_rank(run, 0), "starts", "ends")
    only_trainable(trial, events)
    none_is_late(trial, events, TRAINABLE)


def only_trainable(trial: Trial, events: list[Event]) -> None:
    """Wrong unless the all-reduces of one backward are those of the trainable parameters' buckets."""
    sent = all_reduces(events)
    kind = kind_of_messages(sent, TRAINABLE, UNIT, SIX)
    trial.true(
        not kind,
        "The all-reduces of one backward are not those of the buckets of the trainable parameters, which have "
        f"{TRAINABLE} numbers: {kind}.",
        expected=f"{sum(TRAINABLE)} numbers together",
        got=f"all-reduces of {[n // UNIT for n in sent]} numbers",
        observed=("messages", kind),
    )


def one_step(answer: type, trial: Trial, inputs: Inputs, bucket_bytes: int) -> Run:
    """By rank: the numbers in the weights after construction, the gradients after one backward."""

    def step(answer: type) -> tuple[list[Tensor], list[Tensor | None]]:
        module = inputs.module()
        ddp = answer(module, bucket_bytes)
        values = [weight.detach().clone() for weight in module.weights]
        note("starts")
        inputs.backward(ddp, 0)
        note("ends")
        return values, gradients(module)

    return on_each(trial, answer, step, ranks=inputs.ranks)


@mini_ddp.property(
    "without zero_grad, the mean gradient of the next backward is added",
    once_right=True,
    asks="without zero_grad it adds to what was there.",
)
def adds(answer: type, trial: Trial) -> None:
    trial.given("two backward passes on 3 ranks with no zero_grad between them")
    inputs = Inputs(trial, SIZES, steps=2)

    def steps(answer: type) -> list[Tensor | None]:
        module = inputs.module()
        ddp = answer(module, TWO)
        for step in range(2):
            inputs.backward(ddp, step)
        return gradients(module)

    inputs.same(trial, on_each(trial, answer, steps, ranks=3).results, 0, 1, when="After two backward passes")


@mini_ddp.property(
    "one rank alone gets its own gradients", once_right=True, asks="Any number of ranks will do, also one."
)
def alone(answer: type, trial: Trial) -> None:
    trial.given("1 rank, one step")
    inputs = Inputs(trial, SIZES, ranks=1)
    found = [grads for _, grads in one_step(answer, trial, inputs, TWO).results]
    inputs.same(trial, found, 0, when="After one backward")


@mini_ddp.property(
    "and on three processes over gloo, the same",
    once_right=True,
    asks="A module on every rank, whose gradients are averaged over the ranks while backward still runs.",
)
def over_processes(answer: type, trial: Trial) -> None:
    trial.given("two steps on 3 processes over gloo")
    inputs = Inputs(trial, SIZES, steps=2)

    def steps() -> list[list[Tensor | None]]:
        module = inputs.module()
        ddp, found = answer(module, TWO), []
        for step in range(2):
            module.zero_grad()
            inputs.backward(ddp, step)
            found.append(gradients(module))
        return found

    results = over_gloo(trial, steps, ranks=3)
    for step in range(2):
        found = [by_step[step] for by_step in results]
        inputs.same(trial, found, step, when=f"After the backward of step {step + 1} of 2")
