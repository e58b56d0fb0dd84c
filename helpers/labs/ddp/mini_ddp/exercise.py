"""Exercise 07.mini_ddp: gradients averaged over the ranks while backward still runs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from helpers.check.calls import calls_to
from helpers.check.compare import difference
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.ddp.mini_ddp.buckets import kind_of_messages, launches
from helpers.labs.ddp.shared.models import (
    SIX,
    UNIT,
    Inputs,
    Kinds,
    after_last_gradient,
    all_reduces,
    between,
    gradients,
    is_gradient,
    normal,
    of_rank,
    on_each,
)
from helpers.ranks.in_threads import Event, note

SIZES = (3, 5, 2)  # numbers in each weight
TWO = 5 * UNIT  # bucket_bytes for two buckets of these sizes
SHARED = (
    2,
    3,
    4,
    1,
)  # with SIX there are two weights or more in a bucket, also if it is closed before it would hold more

mini_ddp = Exercise(
    "07.mini_ddp",
    "A DDP of your own",
    objective="Average gradients over the ranks in buckets, and send the first bucket while backward still runs.",
    minutes=50,
    difficulty="hard",
    names=("MiniDDP",),
    kind="class",
    seconds=30,
    hints=[
        "Who tells you that a gradient is complete? param.register_post_accumulate_grad_hook(hook) calls hook(param) "
        "each time when the engine has added to param.grad. All else depends on this hook.",
        "Keep a counter: how many buckets are launched. In the hook: note that this parameter is ready, then launch "
        "while the bucket whose turn it is has all its gradients. A later bucket that is complete has to wait.",
        "dist.all_reduce(flat, async_op=True) returns a request at once. Keep it with its bucket; request.wait() "
        "belongs to the end of backward: torch.autograd.Variable._execution_engine.queue_callback(finish), called in a "
        "hook, lets the engine call finish() after the last gradient. Queue it once for each backward.",
        "In finish: wait for every request, bring the results back into param.grad (or let param.grad be views of the "
        "bucket from the start), and reset ALL that counts: the next backward starts anew. no_sync: a flag that "
        "the hook reads; param.grad adds up by itself, and the next exchange carries the sum.",
    ],
)


@mini_ddp.property(
    "the exchange is your own: torch's DistributedDataParallel is not called",
    asks="torch's DistributedDataParallel is not called.",
)
def own(answer: type, trial: Trial) -> None:
    trial.given("a module on two ranks, wrapped and called")
    inputs = Inputs(trial, SIZES, ranks=2)

    def wrapped(answer: type) -> None:
        ddp = answer(inputs.module(), TWO)
        ddp(inputs.batches[0][dist.get_rank()][0])

    with calls_to(nn.parallel.DistributedDataParallel.__init__) as seen:
        on_each(trial, answer, wrapped, ranks=2)
    trial.true(
        not seen,
        "The answer hands the work to torch's DistributedDataParallel: then nothing of it is yours.",
        expected="hooks, buckets and all-reduces of your own",
        observed="calls DistributedDataParallel",
    )


class Stocked(nn.Module):
    """One of each kind of what a module holds; `rank` decides on the values."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        self.trainable = nn.Parameter(torch.arange(6.0).reshape(2, 3) + 10 * rank)
        self.inner = nn.Module()
        self.inner.register_buffer("mean", torch.tensor([0.5, 1.5, 2.5]) * (rank + 1))
        self.inner.register_buffer("count", torch.tensor(7 + rank))

    def parts(self) -> dict[str, Tensor]:
        return dict(self.named_parameters()) | dict(self.named_buffers())


@mini_ddp.property(
    "after construction every rank holds rank 0's parameters and buffers",
    after=(own,),
    asks="At construction the parameters (frozen ones, too) and the buffers get rank 0's values, in place: the Parameter objects stay.",
)
def broadcast(answer: type, trial: Trial) -> None:
    trial.given(
        "a module with the parameter `trainable` and the buffers `inner.mean` and `inner.count`, different on each of 3 ranks"
    )

    def construct(answer: type) -> tuple[dict[str, Tensor], list[str]]:
        module = Stocked(dist.get_rank())
        before = module.parts()
        answer(module, TWO)
        now = module.parts()
        replaced = [
            name
            for name, param in before.items()
            if isinstance(param, nn.Parameter) and now[name] is not param
        ]
        return {name: part.detach().clone() for name, part in now.items()}, replaced

    run = on_each(trial, answer, construct, ranks=3)
    first = {name: part.detach() for name, part in Stocked(0).parts().items()}
    differing = {
        name: rank
        for rank in (2, 1, 0)
        for name in first
        if not same(run.results[rank][0].get(name), first[name])
    }
    if differing:
        name, rank = next(iter(differing.items()))
        alike = all(
            same(run.results[r][0].get(each), run.results[0][0][each]) for r in (1, 2) for each in differing
        )
        trial.fail(
            f"After construction no rank holds the `{name}` that rank 0 had: all hold the same, and what rank 0 has "
            "loaded, a checkpoint say, is lost."
            if alike
            else f"After construction rank {rank} does not hold the `{name}` that rank 0 had. The ranks then compute with "
            "different numbers, and mean gradients do not bring them together again.",
            expected=first[name],
            got=run.results[rank][0].get(name),
            observed=(sorted(differing.items()), alike),
        )
    replaced = sorted({name for _, names in run.results for name in names})
    trial.true(
        not replaced,
        f"MiniDDP put a new object in the place of the parameter `{'`, `'.join(replaced)}`. An optimizer that was made before holds "
        "the old one, and would train what nobody uses.",
        expected="the same parameters and buffers, with rank 0's numbers in them",
        observed=("replaced", replaced),
    )


def same(got: object, want: Tensor) -> bool:
    return isinstance(got, Tensor) and got.dtype == want.dtype and torch.equal(got, want)


@mini_ddp.property(
    "a call hands all arguments to the module and returns what it returns",
    after=(own,),
    asks="Hands all arguments to the module, and returns what it returns.",
)
def arguments(answer: type, trial: Trial) -> None:
    x, shift = normal(trial, 3, 2), normal(trial, 3)
    for what, wrap in RETURNS.items():
        trial.given(f"ddp(x, shift, scale=0.5) of a module that returns {what}")
        module = Giving(wrap)
        run = on_each(
            trial,
            answer,
            lambda answer, module=module: answer(copy.deepcopy(module), TWO)(x, shift, scale=0.5),
            ranks=1,
        )
        got, want = run.results[0], module(x, shift, scale=0.5)
        trial.true(
            difference(got, module(x, shift)) is not None,
            "The result is that of ddp(x, shift): the keyword does not reach the module.",
            expected="module(x, shift, scale=0.5)",
            got="module(x, shift)",
            observed="keyword lost",
        )
        alone = what != "a tensor" and difference(got, first_of(want)) is None
        kind = "the first part alone" if alone else type(got).__name__
        trial.equal(got, want, "The result of the call", observed=("result", what, kind))


class Giving(nn.Module):
    """Returns what `wrap` makes of a tensor and a text."""

    def __init__(self, wrap: Callable[[Tensor, str], Any]) -> None:
        super().__init__()
        self.weight, self.wrap = nn.Parameter(torch.tensor([0.5, -1.5], dtype=torch.float64)), wrap

    def forward(self, x: Tensor, shift: Tensor, *, scale: float = 1.0) -> Any:
        return self.wrap(x @ self.weight * scale + shift, "second")


RETURNS: dict[str, Callable[[Tensor, str], Any]] = {
    "a tensor": lambda out, text: out,
    "a tuple": lambda out, text: (out, text),
    "a list": lambda out, text: [out, text],
    "a dict": lambda out, text: {"out": out, "text": text},
}


def first_of(several: Any) -> Any:
    return next(iter(several.values() if isinstance(several, dict) else several))


@mini_ddp.property(
    "after backward every gradient is the mean over the ranks",
    after=(own,),
    asks="When `backward()` returns, each `param.grad` is the mean over the ranks",
)
def mean(answer: type, trial: Trial) -> None:
    for sizes, size, delivery in ((SIZES, TWO, "late"), (SIZES, TWO, "early"), (SHARED, SIX, "early")):
        trial.given(f"3 ranks with a batch of 4 each, weights of {sizes} numbers, bucket_bytes={size}")
        inputs = Inputs(trial, sizes)

        def step(answer: type, inputs: Inputs = inputs, size: int = size) -> list[Tensor | None]:
            module = inputs.module()
            inputs.backward(answer(module, size), 0)
            return gradients(module)

        run = on_each(trial, answer, step, ranks=3, delivery=delivery)
        inputs.same(trial, run.results, 0, when="After one backward")


MANY = (7, 30, 4, 9, 25, 3, 40, 5, 8)
THIRTEEN = 13 * UNIT


def of_many(answer: type, trial: Trial) -> list[list[Event]]:
    """The log of one backward through a chain of layers, in which gradients come last weight first."""
    trial.given(
        f"2 ranks, a chain of weights of {MANY} numbers of {UNIT} bytes each, bucket_bytes={THIRTEEN}"
    )
    inputs = Inputs(trial, MANY, ranks=2)

    def step(answer: type) -> None:
        ddp = answer(inputs.module(), THIRTEEN)
        note("step starts")
        inputs.backward(ddp, 0)
        note("step ends")

    run = on_each(trial, answer, step, ranks=2)
    return [between(of_rank(run, rank), "step starts", "step ends") for rank in range(2)]


@mini_ddp.property(
    "one all-reduce a bucket; buckets are filled and sent from the last parameter to the first",
    after=(own,),
    asks=(
        "The trainable parameters are put into buckets, the last one of `module.parameters()` first.",
        "Backward calls one asynchronous all-reduce a bucket.",
        "it is full when it holds so much or more (or is closed just before it would hold more).",
    ),
)
def messages(answer: type, trial: Trial) -> None:
    for rank, events in enumerate(of_many(answer, trial)):
        sent = all_reduces(events)
        kind = kind_of_messages(sent, MANY, UNIT, THIRTEEN)
        trial.true(
            not kind,
            f"On rank {rank} the all-reduces of one backward are not those of the buckets: {kind}.",
            expected="[8 + 5, 40, 3 + 25, 9 + 4, 30, 7] numbers: a bucket is full with 13 or more",
            got=f"all-reduces of {[n // UNIT for n in sent]} numbers",
            observed=kind or sent,
        )


@mini_ddp.property(
    "buckets are on their way before the last gradient is there",
    after=(own,),
    asks=(
        "A module on every rank, whose gradients are averaged over the ranks while backward still runs.",
        "A bucket is launched in the hook of its last gradient, once all buckets before it are launched",
    ),
)
def overlapped(answer: type, trial: Trial) -> None:
    events = of_many(answer, trial)[0]
    sent, early = len(all_reduces(events)), len(all_reduces(events[: after_last_gradient(events) - 1]))
    trial.true(
        early and early >= sent // 2,
        f"Of {sent} all-reduces, {early} were issued before the last gradient of the backward was there. What is sent "
        "after it overlaps with nothing: the network sleeps while backward computes, and then backward waits.",
        expected=f"{max(sent // 2, 1)} or more, the first one early in backward",
        got=early,
        observed="none" if not early else "some",
    )
    none_is_early(trial, events, MANY, "In one backward")
    none_is_late(trial, events, MANY)


def none_is_early(trial: Trial, events: list[Event], sizes: Sequence[int], when: str) -> None:
    """Wrong if in this backward a bucket is sent before its last gradient is computed."""
    sent = launches(events, sizes)
    early = next((k for k, each in enumerate(sent) if each.computed < each.complete), None)
    trial.true(
        early is None,
        f"{when} bucket {early} is sent before all its gradients are there.",
        expected=f"sent in the hook of gradient {sent[early or 0].complete} of {len(sizes)}" if sent else "",
        got=f"sent when {sent[early or 0].computed} of {len(sizes)} gradients are computed" if sent else "",
        observed="sent early",
    )


def none_is_late(trial: Trial, events: list[Event], sizes: Sequence[int]) -> None:
    """Wrong if a bucket whose turn it is, and that has all its gradients, waits for a later one."""
    sent = launches(events, sizes)
    late = next((k for k, each in enumerate(sent) if each.written > each.complete), None)
    trial.true(
        late is None,
        f"Bucket {late} has all its gradients, and those before it are gone, but it is not sent in the hook of its last one.",
        expected=f"sent after gradient {sent[late or 0].complete} of {len(sizes)}" if sent else "",
        got=f"sent after gradient {sent[late or 0].written}" if sent else "",
        observed=("late", [each.written - each.complete for each in sent]),
    )


@mini_ddp.property(
    "nobody waits for an all-reduce before the last gradient is there",
    after=(own,),
    asks="Nobody waits before the last gradient is there.",
)
def no_early_wait(answer: type, trial: Trial) -> None:
    events = of_many(answer, trial)[0]
    before = events[: after_last_gradient(events)]
    waits = [event for event in before if event.kind == "waited" and event.what.startswith("all_reduce")]
    left = len([event for event in events if is_gradient(event)]) - len(
        [event for event in before[: before.index(waits[0])] if is_gradient(event)] if waits else []
    )
    trial.true(
        not waits,
        f"An all-reduce was waited for in the middle of backward: {left} gradients were still missing. While a hook "
        "waits, the engine computes nothing.",
        expected="dist.all_reduce(..., async_op=True) in the hooks, every wait after the last gradient",
        observed="waits",
    )


ORDERS = ((0, 1, 2, 3), (2, 0, 3, 1), (3, 2, 1, 0))  # by rank, in which the layers are computed
MIXED = (
    "the mean of gradients of DIFFERENT weights: the k-th all-reduce of one rank meets the k-th of another"
)


@mini_ddp.property(
    "all ranks send their buckets in the same order, also where gradients come in different orders",
    after=(own,),
    asks="in the order of the buckets on every rank, whatever order the gradients come in.",
)
def same_order(answer: type, trial: Trial) -> None:
    for sizes in ((4, 4, 4, 4), (3, 5, 2, 6)):
        trial.given(
            f"4 layers side by side, weights of {sizes} numbers, each a bucket; the ranks compute them in the orders "
            + ", ".join(map(str, ORDERS))
        )
        inputs = Inputs(trial, sizes, how=lambda rank, step: {"order": ORDERS[rank], "side_by_side": True})

        def step(answer: type, inputs: Inputs = inputs) -> list[Tensor | None]:
            module = inputs.module()
            inputs.backward(answer(module, 1), 0)
            return gradients(module)

        def mixed(rank: int, inputs: Inputs = inputs) -> Kinds:
            return [(MIXED, mixture(inputs, rank))]

        run = on_each(trial, answer, step, ranks=3)
        inputs.same(trial, run.results, 0, when="After one backward", more=mixed)


def mixture(inputs: Inputs, rank: int) -> list[Tensor]:
    """What rank `rank` gets for each weight if the k-th gradient of each rank meets the k-th of the others."""
    own = [inputs.own(0, r) for r in range(inputs.ranks)]
    if len({len(grad) for grad in own[0]}) > 1:
        return own[rank]
    arriving = [order[::-1] for order in ORDERS]
    places = [arriving[rank].index(i) for i in range(len(own[rank]))]
    return [sum(own[r][arriving[r][k]] for r in range(inputs.ranks)) / inputs.ranks for k in places]
