"""Exercise 07.mini_ddp, after the first backward: more steps, no_sync, and small things asked of right answers."""

from __future__ import annotations

from torch import Tensor

from helpers.labs.ddp.buckets import kind_of_messages
from helpers.labs.ddp.ddp_parts import (
    UNIT,
    Kinds,
    Layers,
    Scene,
    after_last_gradient,
    all_reduces,
    between,
    gradients,
    kind_of,
    of_rank,
    on_each,
)
from helpers.labs.ddp.mini_ddp import SIZES, TWO, mini_ddp, own
from helpers.ranks.checking import over_gloo
from helpers.ranks.in_threads import Event, note
from helpers.trial import Trial

LEFT_OVER = "this step's mean and, added to it, what the step before had left in the bucket"


@mini_ddp.property(
    "the next backward starts anew, with gradients set to None or to zero before it", after=(own,)
)
def again(answer: type, trial: Trial) -> None:
    for to_none, delivery in ((False, "late"), (True, "early")):
        trial.given(f"2 steps on 3 ranks, before each module.zero_grad(set_to_none={to_none})")
        scene = Scene(trial, SIZES, steps=2)

        def steps(answer: type, scene: Scene = scene, to_none: bool = to_none) -> list[list[Tensor | None]]:
            module = scene.module()
            ddp, found = answer(module, TWO), []
            for step in range(2):
                module.zero_grad(set_to_none=to_none)
                scene.backward(ddp, step)
                found.append(gradients(module))
            return found

        run = on_each(trial, answer, steps, ranks=3, delivery=delivery)
        for step in range(2):
            found = [by_step[step] for by_step in run.results]
            more = leftovers(scene) if step else []
            scene.same(
                trial,
                found,
                step,
                when=f"After the backward of step {step + 1}",
                more=lambda _, more=more: more,
            )


def leftovers(scene: Scene) -> Kinds:
    """What step 2 gives if the bucket still holds the result of step 1: once, or once from each rank."""
    before, now = scene.mean(0), scene.mean(1)
    return [
        (LEFT_OVER, [count * b + n for b, n in zip(before, now, strict=True)]) for count in (scene.ranks, 1)
    ]


@mini_ddp.property(
    "in no_sync nothing is sent; the next backward outside exchanges the whole sum, once", after=(own,)
)
def no_sync(answer: type, trial: Trial) -> None:
    trial.given("two batches inside `with ddp.no_sync():` (forward and backward), a third outside; 3 ranks")
    scene = Scene(trial, SIZES, steps=3)

    def steps(answer: type) -> list[list[Tensor | None]]:
        module = scene.module()
        ddp, found = answer(module, TWO), []
        note("starts")
        with ddp.no_sync():
            for step in range(2):
                scene.backward(ddp, step)
                found.append(gradients(module))
        note("inside")
        scene.backward(ddp, 2)
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
    local = [[scene.own(step, rank) for step in range(3)] for rank in range(3)]
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
    scene.same(
        trial,
        [grads[2] for grads in run.results],
        0,
        1,
        2,
        when="After two batches in no_sync and one outside",
        more=lambda rank: [
            ("the mean of the LAST batch alone: what had added up before is lost", scene.mean(2)),
            (
                "this rank's own sum of no_sync, and of the last batch the mean: the sum itself was not exchanged",
                [a + b + c for a, b, c in zip(*local[rank][:2], scene.mean(2), strict=True)],
            ),
        ],
    )
    wrong = kind_of_messages(all_reduces(between(events, "inside", "ends")), SIZES, UNIT, TWO)
    trial.true(
        not wrong,
        f"The all-reduces of the backward after no_sync are not those of one exchange: {wrong}.",
        expected="one all-reduce a bucket, as ever",
        observed=("after no_sync", wrong),
    )


def sends_in_backward(events: list[Event]) -> bool:
    """Whether an all-reduce is sent before the last of several backward passes is over, or only after that."""
    return bool(all_reduces(events[: after_last_gradient(events) - len(SIZES)]))


class Tied(Layers):
    """Weight 0 is used twice, under two names."""

    def __init__(self, starts: list[Tensor]) -> None:
        super().__init__(starts)
        self.again = self.weights[0]

    def forward(self, x: Tensor, **how: object) -> Tensor:
        return super().forward(super().forward(x), order=(0,))


class Frozen(Layers):
    """Weight 1 is frozen."""

    def __init__(self, starts: list[Tensor]) -> None:
        super().__init__(starts)
        self.weights[1].requires_grad_(False)


@mini_ddp.property("a parameter under two names is exchanged once", once_right=True)
def tied(answer: type, trial: Trial) -> None:
    trial.given("2 ranks; weight 0 has two names and is used twice")
    scene = Scene(trial, SIZES, ranks=2, kind=Tied)
    found = [grads for _, grads in after_a_step(answer, trial, scene)]
    scene.same(trial, found, 0, when="After one backward")


@mini_ddp.property("frozen parameters get rank 0's values, and no bucket waits for them", once_right=True)
def frozen(answer: type, trial: Trial) -> None:
    trial.given("2 ranks; weight 1 of 3 is frozen")
    scene = Scene(trial, SIZES, ranks=2, kind=Frozen)
    steps = after_a_step(answer, trial, scene)
    for rank, (values, _) in enumerate(steps):
        trial.equal(values, scene.starts[0][1], f"The frozen weight on rank {rank}", observed="not broadcast")
    scene.same(trial, [grads for _, grads in steps], 0, when="After one backward", none_is_zero=True)


def after_a_step(answer: type, trial: Trial, scene: Scene) -> list[tuple[Tensor, list[Tensor | None]]]:
    """By rank: the numbers in weight 1 after construction, the gradients after one backward."""

    def step(answer: type) -> tuple[Tensor, list[Tensor | None]]:
        module = scene.module()
        ddp = answer(module, TWO)
        values = module.weights[1].detach().clone()
        scene.backward(ddp, 0)
        return values, gradients(module)

    return on_each(trial, answer, step, ranks=scene.ranks).results


@mini_ddp.property("without zero_grad, the mean gradient of the next backward is added", once_right=True)
def adds(answer: type, trial: Trial) -> None:
    trial.given("two backward passes on 3 ranks with no zero_grad between them")
    scene = Scene(trial, SIZES, steps=2)

    def steps(answer: type) -> list[Tensor | None]:
        module = scene.module()
        ddp = answer(module, TWO)
        for step in range(2):
            scene.backward(ddp, step)
        return gradients(module)

    scene.same(trial, on_each(trial, answer, steps, ranks=3).results, 0, 1, when="After two backward passes")


@mini_ddp.property("one rank alone gets its own gradients", once_right=True)
def alone(answer: type, trial: Trial) -> None:
    trial.given("1 rank, one step")
    scene = Scene(trial, SIZES, ranks=1)
    found = [grads for _, grads in after_a_step(answer, trial, scene)]
    scene.same(trial, found, 0, when="After one backward")


@mini_ddp.property("and on three processes over gloo, the same", once_right=True)
def over_processes(answer: type, trial: Trial) -> None:
    trial.given("two steps on 3 processes over gloo")
    scene = Scene(trial, SIZES, steps=2)

    def steps() -> list[list[Tensor | None]]:
        module = scene.module()
        ddp, found = answer(module, TWO), []
        for step in range(2):
            module.zero_grad()
            scene.backward(ddp, step)
            found.append(gradients(module))
        return found

    results = over_gloo(trial, steps, ranks=3)
    for step in range(2):
        found = [by_step[step] for by_step in results]
        scene.same(trial, found, step, when=f"After the backward of step {step + 1} of 2")
