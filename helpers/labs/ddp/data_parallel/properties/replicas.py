"""The check of 07.data_parallel: what replicas share and what they do not."""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.labs.ddp.data_parallel.exercise import data_parallel
from helpers.labs.ddp.data_parallel.inputs import Answer, Net, drawn, gradients_of, listed, right_slopes


@data_parallel.property(
    "replicate gives n modules that compute what the module computes",
    asks=(
        "n new modules that compute what `module` computes, one for each thread.",
        "They are in the mode (train or eval) that module is in.",
    ),
)
def replicas_compute(answer: Answer, trial: Trial) -> None:
    for n, mode in ((1, True), (3, True), (2, False)):
        net = Net(trial).train(mode)
        trial.given(
            f"replicate(net, {n}), net with sub-modules, a tied one and a buffer, {'train' if mode else 'eval'} mode"
        )
        replicas = _replicas(answer, trial, net, n)
        for place, replica in enumerate(replicas):
            x = drawn(trial, 2, 4)
            computes(trial, net, x, replica(x), f"The output of replica {place}")


def computes(trial: Trial, net: Net, x: Tensor, got: object, what: str) -> None:
    """Wrong unless a replica, or the whole, gives what net gives in its mode."""
    if isinstance(got, Tensor):
        net.train(not net.training)
        other = net.right(x)
        net.train(not net.training)
        mine, is_in = ("train", "eval")[:: 1 if net.training else -1]
        trial.true(
            got.shape != other.shape or not torch.allclose(got.detach(), other.detach()),
            f"{what} is that of {is_in} mode, and the module is in {mine} mode.",
            expected=net.right(x).detach(),
            got=got.detach(),
            observed=("mode", is_in),
        )
    trial.equal(got.detach() if isinstance(got, Tensor) else got, net.right(x).detach(), what)


def changed(trial: Trial, net: Net) -> None:
    """Another mode, and other numbers in a buffer, in place."""
    net.eval()
    with torch.no_grad():
        net.shift.add_(1 + drawn(trial, 3).abs())


def _replicas(answer: Answer, trial: Trial, net: Net, n: int) -> list:
    replicas = listed(trial, trial.call(answer[1], net, n), "replicate")
    trial.true(
        len(replicas) == n and all(map(callable, replicas)),
        f"Expected {n} modules.",
        got=[type(replica).__name__ for replica in replicas],
        observed=len(replicas),
    )
    return replicas


@data_parallel.property(
    "gradients through each replica reach the module's own parameters",
    asks="They use the module's own parameters, so that gradients reach `module.parameters()`.",
)
def gradients_of_replicas(answer: Answer, trial: Trial) -> None:
    net = Net(trial)
    trial.given(
        "replicate(net, 3); three different batches and random upstream gradients; net.parameters() then"
    )
    xs, upstream = [drawn(trial, 2, 4) for _ in range(3)], [drawn(trial, 2, 3) for _ in range(3)]
    outs = [replica(x) for replica, x in zip(_replicas(answer, trial, net, 3), xs, strict=True)]
    gots = []
    for used in ([0], [1], [2], [0, 1, 2]):
        got = gradients_of(net, [outs[place] for place in used], [upstream[place] for place in used])
        want = right_slopes(net, [xs[place] for place in used], [upstream[place] for place in used])
        gots.append(
            "None"
            if not any(slope is not None for slope in got)
            else all(
                slope is not None and torch.allclose(slope, right)
                for slope, right in zip(got, want, strict=True)
            )
        )
    trial.true(
        gots == [True] * 4,
        "The module's own parameters do not get the gradients of its replicas: an optimizer, which has the module's "
        "parameters, would not learn from them.",
        expected="through each replica, the gradient that the module itself would have got",
        got="; ".join(
            f"{name}: {_described(got)}"
            for name, got in zip(("replica 0", "1", "2", "all"), gots, strict=True)
        ),
        observed=gots,
    )


def _described(outcome: bool | str) -> str:
    return {"None": "no gradient", False: "a wrong one", True: "right"}[outcome]


@data_parallel.property(
    "no module object is in two replicas, nor in a replica and the module; what a forward writes stays apart",
    asks="No two of them share a module object (sub-modules included), and none is module itself: what a forward writes on `self` stays in its replica.",
)
def replicas_apart(answer: Answer, trial: Trial) -> None:
    net = Net(trial)
    trial.given(
        "replicate(net, 3), a call of each; every forward says on which `self` it ran and writes self.calls += 1"
    )
    net.crowd.seen.clear()
    for replica in _replicas(answer, trial, net, 3):
        replica(drawn(trial, 2, 4))
    outer, inner = net.crowd.selves("net"), net.crowd.selves("inner")
    counts = len({id(each) for each in outer}), len({id(each) for each in inner})
    used = any(each is net for each in outer), any(each is net.inner for each in inner)
    trial.true(
        counts == (3, 3),
        "Replicas share module objects: in threads, what one forward writes on `self` another one reads.",
        expected="3 different modules, with 3 different sub-modules",
        got=f"{counts[0]} different, with {counts[1]} different sub-modules",
        observed=(counts, used, net.calls),
    )
    trial.true(
        not any(used) and net.calls == 0,
        "The module itself runs as one of the replicas: what that forward writes on `self` stays, what the others write is "
        "lost.",
        expected="three new modules",
        got=f"net.calls is {net.calls} afterwards",
        observed=(counts, used, net.calls),
    )
    parts = net.crowd.selves("part")
    of_net = sorted(name for name, own in net.named_modules() if any(each is own for each in parts))
    twice = len(parts) - len({id(each) for each in parts})
    trial.true(
        not of_net and not twice,
        "A replica holds a sub-module that is not its own"
        + (
            f": the module's own {', '.join(map(repr, of_net))}."
            if of_net
            else ": a different replica has it, too."
        ),
        expected="new modules all the way down, under each of their names",
        got=f"{len({id(each) for each in parts})} different modules in {len(parts)} places",
        observed=("sub-modules", of_net, twice > 0),
    )


@data_parallel.property(
    "the replicas' buffers are copies",
    asks="Buffers are copies: what a replica writes there is lost, or the module keeps what the first one wrote, as in torch.",
)
def buffers_apart(answer: Answer, trial: Trial) -> None:
    net = Net(trial)
    trial.given(
        "replicate(net, 3), a call of each; every forward adds the sum of its batch to the buffer self.total"
    )
    xs = [drawn(trial, 2, 4) for _ in range(3)]
    for replica, x in zip(_replicas(answer, trial, net, 3), xs, strict=True):
        replica(x)
    sums = [x.sum() for x in xs]
    buffer_is(trial, net, sums)


@data_parallel.property(
    "a second replicate of the same module gives new modules",
    asks=(
        "n new modules that compute what `module` computes, one for each thread.",
        "They are in the mode (train or eval) that module is in.",
        "Buffers are copies: what a replica writes there is lost, or the module keeps what the first one wrote, as in torch.",
    ),
)
def new_each_time(answer: Answer, trial: Trial) -> None:
    net = Net(trial)
    trial.given(
        "replicate(net, 3), then net.eval() and new numbers in net's buffer `shift`, then replicate(net, 3) once more"
    )
    before = _replicas(answer, trial, net, 3)
    changed(trial, net)
    replicas = _replicas(answer, trial, net, 3)
    kept = sum(any(replica is old for old in before) for replica in replicas)
    trial.true(
        not kept,
        f"{kept} of the 3 modules are those of the first call: what their forwards wrote there is still there, and what "
        "the module has become since is not.",
        expected="new modules at each call",
        got=f"{kept} that were given out before",
        observed="kept",
    )
    for place, replica in enumerate(replicas):
        x = drawn(trial, 2, 4)
        computes(trial, net, x, replica(x), f"The output of replica {place} of the second call")


def buffer_is(trial: Trial, net: Net, sums: list[Tensor]) -> None:
    """Wrong unless the module's buffer is as before, or as the first replica left it, which is what torch does."""
    kinds = {
        "as before": torch.zeros(()),
        "of the first": sums[0],
        "of the last": sums[-1],
        "of all": torch.stack(sums).sum(),
        "their mean": torch.stack(sums).mean(),
    }
    got = net.total.detach()
    kind = next(
        (name for name, value in kinds.items() if torch.allclose(got, value.to(got.dtype))), "another"
    )
    trial.true(
        kind in ("as before", "of the first"),
        "What the replicas write to their buffers comes back to the module. Each replica has seen one piece only.",
        expected="the module's buffer as it was (or as the first replica left it)",
        got={"of all": "the updates of all", "of the last": "that of the last"}.get(kind, kind),
        observed="another" if kind == "another" else "comes back",
    )
