"""The check of 07.data_parallel, where the parts work together; the reference is the module on the whole batch.

torch's own pieces refuse tensors on a CPU, and nn.DataParallel hands the batch through there.
"""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.labs.ddp.data_parallel.exercise import data_parallel
from helpers.labs.ddp.data_parallel.inputs import (
    Answer,
    Losses,
    Net,
    drawn,
    gradients_of,
    quiet_threads,
)
from helpers.labs.ddp.data_parallel.properties.replicas import (
    buffer_is,
    changed,
    computes,
    replicas_apart,
)
from helpers.labs.ddp.data_parallel.properties.threads import order_of_outputs

# Threads that share modules, or whose results change places, would give another result in each run.
PARTS = (replicas_apart, order_of_outputs)
SHAPES = ((7, 3), (6, 5), (2, 4), (5, 1), (8, 4))  # rows of the batch, replicas


def of_whole(answer: Answer, trial: Trial, net: Net, x: Tensor, n: int, **kw: object) -> Tensor:
    """data_parallel(net, x, n, **kw); wrong if it gives no tensor."""
    with quiet_threads():
        got = trial.call(answer[4], net, x, n, **kw)
    trial.true(
        isinstance(got, Tensor),
        "data_parallel gives no tensor.",
        got=type(got).__name__,
        observed=type(got).__name__,
    )
    return got


@data_parallel.property(
    "the whole gives what the module gives on the whole batch, also with more replicas than samples",
    after=PARTS,
    asks="module(x, **kw), computed by at most n replicas at once, each on its piece of the batch.",
)
def values(answer: Answer, trial: Trial) -> None:
    for rows, n in SHAPES:
        net, x = Net(trial), drawn(trial, rows, 4)
        trial.given(f"data_parallel(net, x, {n}), x of shape ({rows}, 4)")
        trial.equal(of_whole(answer, trial, net, x, n).detach(), net.right(x).detach())


@data_parallel.property(
    "a second call sees what the module has become",
    after=PARTS,
    asks="module(x, **kw), computed by at most n replicas at once, each on its piece of the batch.",
)
def second_call(answer: Answer, trial: Trial) -> None:
    net, x = Net(trial), drawn(trial, 7, 4)
    trial.given(
        "data_parallel(net, x, 3), x of shape (7, 4), then net.eval() and new numbers in net's buffer `shift`, then the "
        "same call once more"
    )
    of_whole(answer, trial, net, x, 3)
    changed(trial, net)
    computes(trial, net, x, of_whole(answer, trial, net, x, 3), "The result of the second call")


@data_parallel.property(
    "each piece runs on a replica of its own",
    after=PARTS,
    asks=(
        "module(x, **kw), computed by at most n replicas at once, each on its piece of the batch.",
        "As many replicas run as x has pieces.",
    ),
)
def on_replicas(answer: Answer, trial: Trial) -> None:
    for rows, n in SHAPES[:3]:
        net, x = Net(trial), drawn(trial, rows, 4)
        trial.given(f"data_parallel(net, x, {n}), x of shape ({rows}, 4); how many samples each forward got")
        of_whole(answer, trial, net, x, n)
        right = sorted(len(piece) for piece in x.chunk(n))
        got = net.crowd.rows()
        trial.true(
            got == right,
            "The forwards did not get the pieces of the batch.",
            expected=f"forwards of {right} samples",
            got=f"forwards of {got} samples",
            observed=(got, right),
        )
        modules = len({id(module) for module in net.crowd.selves("net")})
        trial.true(
            modules == len(right) and net.calls == 0,
            "The pieces did not run each on a replica of its own.",
            expected=f"{len(right)} replicas",
            got=f"{modules}, and net.calls is {net.calls}",
            observed=(modules, len(right), net.calls),
        )


@data_parallel.property(
    "keyword arguments are scattered as x is",
    after=PARTS,
    asks=("As many replicas run as x has pieces.", "Keyword arguments are scattered as x is."),
)
def keywords(answer: Answer, trial: Trial) -> None:
    for rows, n in SHAPES:
        net, x, mask = Net(trial), drawn(trial, rows, 4), drawn(trial, rows, 1)
        trial.given(
            f"data_parallel(net, x, {n}, factor=0.5, mask=mask), x and mask with {rows} rows, x in {len(x.chunk(n))} pieces"
        )
        got = of_whole(answer, trial, net, x, n, factor=0.5, mask=mask)
        trial.equal(got.detach(), net.right(x, 0.5, mask).detach())


@data_parallel.property(
    "what the replicas write to their buffers does not come back to the module",
    after=PARTS,
    asks="What the replicas write to their buffers does not come back, or only what the first one wrote.",
)
def buffers(answer: Answer, trial: Trial) -> None:
    net, x = Net(trial), drawn(trial, 7, 4)
    trial.given("data_parallel(net, x, 3); every forward adds the sum of its piece to the buffer self.total")
    of_whole(answer, trial, net, x, 3)
    buffer_is(trial, net, [piece.sum() for piece in x.chunk(3)])


@data_parallel.property(
    "gradients reach the parameters of the module and x",
    after=PARTS,
    asks="Gradients reach module.parameters() and x.",
)
def gradients(answer: Answer, trial: Trial) -> None:
    for rows, n in SHAPES[:3]:
        net, x, upstream = Net(trial), drawn(trial, rows, 4).requires_grad_(), drawn(trial, rows, 3)
        trial.given(f"data_parallel(net, x, {n}), x of shape ({rows}, 4); random numbers come in")
        got = of_whole(answer, trial, net, x, n)
        trial.equal(tuple(got.shape), (rows, 3), "The shape of the result")
        slopes = [*gradients_of(net, [got], [upstream])]
        slopes += torch.autograd.grad(got, x, upstream, allow_unused=True) if got.requires_grad else [None]
        want = net.right(x)
        rights = torch.autograd.grad(want, [*net.parameters(), x], upstream)
        names = [f"net.{name}" for name, _ in net.named_parameters()] + ["x"]
        missing = [name for name, slope in zip(names, slopes, strict=True) if slope is None]
        trial.true(
            not missing,
            f"No gradient for {', '.join(missing)}"
            + ("." if got.requires_grad else ": the result has no graph."),
            expected=f"gradients for {', '.join(names)}",
            observed=missing,
        )
        for name, slope, right in zip(names, slopes, rights, strict=True):
            trial.equal(slope, right, f"The gradient of {name}", observed=(name, "value"))


@data_parallel.property(
    "a module that gives a loss: one number a replica",
    after=PARTS,
    asks="module(x, **kw), computed by at most n replicas at once, each on its piece of the batch.",
)
def losses(answer: Answer, trial: Trial) -> None:
    for rows, n in ((7, 3), (2, 4)):
        net, x = Losses(trial), drawn(trial, rows, 4)
        trial.given(
            f"data_parallel(net, x, {n}), x of shape ({rows}, 4); the forward gives the mean over its piece"
        )
        want = torch.stack([net.right(piece) for piece in x.chunk(n)])
        trial.equal(of_whole(answer, trial, net, x, n).detach(), want.detach())


@data_parallel.property(
    "an exception in one replica reaches the caller of data_parallel",
    once_right=True,
    asks="What a replica raises is raised here, too.",
)
def error_of_the_whole(answer: Answer, trial: Trial) -> None:
    trial.given("data_parallel(net, x, 3, mask=mask), mask with 2 columns, which fits no output")
    trial.raises(
        RuntimeError,
        lambda: of_whole(answer, trial, Net(trial), drawn(trial, 7, 4), 3, mask=drawn(trial, 7, 2)),
        "when the forward of a replica raises it",
    )
