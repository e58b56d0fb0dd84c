"""Exercise 04.recalibrate_bn: the statistics of BatchNorm for weights that no batch has ever seen."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim import swa_utils

from helpers.check.calls import calls_to
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.optim.recalibrate_bn.inputs import (
    FEATURES,
    Model,
    Statistics,
    modes,
    momenta,
    norms,
    one_pass,
    some_batches,
    statistics,
    watched,
    wrong_ways,
)

recalibrate_bn = Exercise(
    "04.recalibrate_bn",
    "Statistics for averaged weights",
    objective="Measure the BatchNorm statistics of a model anew in one pass, and leave everything else as it was.",
    minutes=20,
    difficulty="medium",
    core=False,
    hints=[
        "Averaged weights give other activations than any of the models that were averaged, so the statistics have to be "
        "measured. What does a BatchNorm layer do with momentum=None?",
        "Three things happen to each BatchNorm layer before the pass: reset_running_stats(), momentum = None, train(). "
        "Write down first what you are going to change.",
        "model.train(flag) sets one flag for all sub-modules, and so cannot bring back a model in which one part was frozen: "
        "keep a list of (module, module.training). try and finally bring it back after an error, too.",
    ],
)

OTHERS = "the statistics are different ones"


@recalibrate_bn.property(
    "the pass is made here, and not by torch.optim.swa_utils.update_bn",
    asks="Torch's own `update_bn` is not called.",
)
def _(answer: Any, trial: Trial) -> None:
    model = Model(trial.generator)
    trial.given("any model; calls are watched")
    with calls_to(swa_utils.update_bn) as seen, contextlib.suppress(Exception):
        answer(some_batches(trial), model)  # what an answer raises is for other properties to tell
    trial.true(
        not seen,
        "The answer calls torch's update_bn, which the exercise builds again, and better.",
        expected="a pass that is written out",
        got="a call of update_bn",
        observed="torch's own",
    )


@recalibrate_bn.property(
    "the statistics are the mean of those of the batches, which count the same",
    asks=(
        "Replaces the running statistics of all BatchNorm layers of `model`, in place, by those of one pass over `loader`.",
        "Each batch counts the same: `running_mean` and `running_var` become the averages of the batches' own statistics (momentum None does that), `num_batches_tracked` the number of batches.",
        "During the pass they are in training mode.",
    ),
)
def _(answer: Any, trial: Trial) -> None:
    model = Model(trial.generator).eval()
    batches = some_batches(trial)
    trial.given(
        f"a model in eval mode with stale statistics, a list of batches of {[len(b) for b in batches]} samples"
    )
    want, ways = one_pass(model, batches), wrong_ways(model, batches)
    called: list[bool] = []
    handle = model.register_forward_pre_hook(lambda *_: called.append(True))
    got = trial.call(answer, batches, model)
    handle.remove()
    trial.true(
        got is None or got is model,
        f"recalibrate_bn gave an object of type {type(got).__name__}; it works in place and returns None.",
        expected="None",
        got=type(got).__name__,
        observed=("kind", type(got).__name__),
    )
    _measured(trial, model, want, ways, "called" if called else "not called")


def _numbers(tensor: Tensor) -> str:
    return "[" + ", ".join(f"{number:.3g}" for number in tensor.tolist()) + "]"


def _measured(
    trial: Trial,
    model: Model,
    want: Statistics,
    ways: Callable[[], dict[str, Statistics]],
    *more: Any,
    why: str = "",
) -> None:
    """Wrong unless all statistics are as wanted. more: what else tells mistakes apart."""
    if not _off(model, want, {}):
        return
    off = _off(model, want, ways())
    (name, word), now = off[0], statistics(model)
    mean, var, count = now[name]
    same = sorted({each for _, each in off})
    stale = [name for name, each in off if each == "the statistics are the old ones"]
    counted = (
        f"; batches counted: {count.item()} of {want[name][2].item()}"
        if word == OTHERS and count != want[name][2]
        else ""
    )
    trial.fail(
        f"Layer {name!r} ({len(off)} of {len(want)} BatchNorm layers {'is' if len(off) == 1 else 'are'} off): "
        f"{word}{counted}.{why}",
        expected=f"running_mean {_numbers(want[name][0])}, running_var {_numbers(want[name][1])}, "
        f"num_batches_tracked {want[name][2].item()}",
        got=f"{_numbers(mean)}, {_numbers(var)}, {count.item()}",
        observed=[
            _classes(model, stale),
            _classes(model, [name for name in want if name not in stale]),
            len(stale),
            len(off),
            same,
            sorted({now[name][2].item() for name, _ in off}),
            *([mean.tolist(), var.tolist()] if word == OTHERS else []),
            *more,
        ],
    )


def _classes(model: Model, names: list[str]) -> list[str]:
    return sorted({type(norms(model)[name]).__name__ for name in names})


def _off(model: Model, want: Statistics, ways: dict[str, Statistics]) -> list[tuple[str, str]]:
    """The layers whose statistics are not as they should be, and what they are instead."""
    return [
        (name, word)
        for name, norm in norms(model).items()
        if (word := _word(norm, want[name], {word: each[name] for word, each in ways.items()}))
    ]


def _word(norm: nn.Module, want: list[Tensor], ways: dict[str, list[Tensor]]) -> str:
    """What a layer's statistics are instead; "" where they are right."""
    now = norm.running_mean, norm.running_var
    if not all(tensor.isfinite().all() for tensor in now):
        return "there is NaN or inf in the statistics"
    if near(now, want):
        return "" if norm.num_batches_tracked == want[2] else "only num_batches_tracked is wrong"
    for word, each in ways.items():
        if near(now, each):
            return word
    if near((now[0], want[1]), want):
        low = bool((norm.running_var < want[1]).all())
        return f"running_mean is right, and running_var is {'too small' if low else 'wrong'}"
    return "running_var is right, and running_mean is not" if near((want[0], now[1]), want) else OTHERS


def near(now: Sequence[Tensor], want: Sequence[Tensor]) -> bool:
    mean = torch.allclose(now[0], want[0], atol=1e-4)
    return mean and torch.allclose(now[1], want[1], rtol=1e-4, atol=1e-4)


@recalibrate_bn.property(
    "the statistics lie where they lay before",
    asks="Replaces the running statistics of all BatchNorm layers of `model`, in place, by those of one pass over `loader`.",
)
def _(answer: Any, trial: Trial) -> None:
    model = Model(trial.generator)
    trial.given("a model to whose statistics others hold references")
    before = {
        f"{name}.{key}": buffer for name, norm in norms(model).items() for key, buffer in norm.named_buffers()
    }
    lay = {
        name: buffer.detach() for name, buffer in before.items()
    }  # kept: freed memory may be given out again
    trial.call(answer, some_batches(trial, 2), model)
    now = dict(model.named_buffers())
    off = [
        name
        for name, buffer in before.items()
        if now.get(name) is not buffer or buffer.data_ptr() != lay[name].data_ptr()
    ]
    trial.true(
        not off,
        f"{', '.join(off[:3])}: a different tensor, or other memory, than before. Whoever holds the old one sees no change.",
        expected="the same tensors with new numbers",
        got=f"{len(off)} of {len(before)} tensors replaced",
        observed="replaced",
    )


@recalibrate_bn.property(
    "BatchNorm of every kind is found, at every depth",
    asks="The layers are those of `nn.modules.batchnorm._BatchNorm` (BatchNorm1d, 2d, 3d, SyncBatchNorm), at every depth; all of them keep statistics.",
)
def _(answer: Any, trial: Trial) -> None:
    model = Model(trial.generator).train()
    batches = some_batches(trial, 3)
    trial.given("a model in training mode; BatchNorm1d, 2d, 3d and SyncBatchNorm, inside other modules")
    want, ways = one_pass(model, batches), wrong_ways(model, batches)
    trial.call(answer, batches, model)
    _measured(trial, model, want, ways)


@recalibrate_bn.property(
    "a layer is measured whatever mode it was in, also one that was frozen in eval mode",
    asks=(
        "Replaces the running statistics of all BatchNorm layers of `model`, in place, by those of one pass over `loader`.",
        "During the pass they are in training mode.",
    ),
)
def _(answer: Any, trial: Trial) -> None:
    for training in (True, False):
        model, batches = _partly_frozen(trial, training), some_batches(trial, 3)
        trial.given(
            f"a model in {'training' if training else 'eval'} mode, with first, moving and last.1 in "
            f"{'eval' if training else 'training'} mode"
        )
        want, ways = one_pass(model, batches), wrong_ways(model, batches)
        apart = [name for name, norm in norms(model).items() if norm.training != training]
        old = statistics(model)
        trial.call(answer, batches, model)
        now = statistics(model)
        kept = [name for name in now if near(now[name], old[name])]
        _measured(trial, model, want, ways, training, "those apart" if kept == apart else sorted(kept))


@recalibrate_bn.property(
    "a batch may be a tensor, or a tuple or list that starts with it; the loader is read once",
    asks=(
        "loader: a batch is a tensor, or a tuple or list whose first item is the model's input.",
        "The loader is read once.",
    ),
)
def kinds_of_batches(answer: Any, trial: Trial) -> None:
    for kind in (tuple, list):
        model = Model(trial.generator)
        batches = some_batches(trial, 3)
        want, ways = one_pass(model, batches), wrong_ways(model, batches)
        trial.given(f"a generator of batches, each a {kind.__name__} of input and labels")

        def loader(batches: list[Tensor] = batches, kind: type = kind) -> Iterator[Any]:
            for batch in batches:
                yield kind([batch, torch.zeros(len(batch))])

        trial.call(answer, loader(), model)
        _measured(trial, model, want, ways, kind.__name__)
    model = Model(trial.generator)
    batches = [torch.randn(3, FEATURES, generator=trial.generator) + place / 20 for place in range(120)]
    trial.given("a list of 120 batches")
    want, ways = one_pass(model, batches), wrong_ways(model, batches)
    trial.call(answer, batches, model)
    _measured(trial, model, want, ways, "120 batches")


class Pair(NamedTuple):
    """A batch with names."""

    x: Tensor
    label: Tensor


class Tagged(Tensor):
    """A tensor of a class of its own, as torchvision's images are."""


@recalibrate_bn.property(
    "a batch may also be of a class that is derived from these",
    asks="loader: a batch is a tensor, or a tuple or list whose first item is the model's input.",
    after=(kinds_of_batches,),
)
def _(answer: Any, trial: Trial) -> None:
    for words, made in (
        ("named tuples", lambda batch: Pair(batch, torch.zeros(len(batch)))),
        ("tensors of a class derived from Tensor", lambda batch: batch.as_subclass(Tagged)),
    ):
        model, batches = Model(trial.generator), some_batches(trial, 3)
        want, ways = one_pass(model, batches), wrong_ways(model, batches)
        trial.given(f"batches that are {words}")
        trial.call(answer, [made(batch) for batch in batches], model)
        _measured(trial, model, want, ways, words)


@recalibrate_bn.property(
    "momentum and mode of every sub-module are what they were",
    asks="Afterwards, also when the model or the loader raises, `momentum` and `training` of every sub-module are what they were, and the error comes through.",
)
def _(answer: Any, trial: Trial) -> None:
    found = []
    for training in (True, False):
        model = _partly_frozen(trial, training)
        before = modes(model), momenta(model)
        trial.call(answer, some_batches(trial, 2), model)
        found.append(_changed(model, *before))
    trial.given(
        "a model in training mode with parts in eval mode, then one in eval mode with parts in training mode"
    )
    _kept(trial, found, ("the first model", "the second"), "After the pass")


def _partly_frozen(trial: Trial, training: bool) -> Model:
    model = Model(trial.generator).train(training)
    for part in (model.first, model.moving, model.last[1]):
        part.train(not training)
    return model


class Changed(NamedTuple):
    """A setting that is not as it was: "training" or "momentum" of a module."""

    what: str
    name: str
    was: Any
    now: Any


def _changed(model: nn.Module, flags: dict[str, bool], rates: dict[str, Any]) -> list[Changed]:
    return [
        Changed(what, name or "the model", before[name], now[name])
        for what, before, now in (("training", flags, modes(model)), ("momentum", rates, momenta(model)))
        for name in before
        if now[name] != before[name]
    ]


def _kinds(changed: list[Changed]) -> list[str]:
    """What changed: modes by name, momentum by what it is now."""
    return sorted(
        {
            f"training of {each.name} is {each.now}" if each.what == "training" else f"momentum {each.now}"
            for each in changed
        }
    )


def _kept(
    trial: Trial, found: list[list[Changed]], cases: Sequence[str], when: str, observed: Any = None
) -> None:
    """Wrong unless nothing has changed. cases: which call each list of `found` comes from."""
    told = [(case, changed) for case, changed in zip(cases, found, strict=True) if changed]
    trial.true(
        not told,
        f"{when}, {sum(map(len, found))} settings are not what they were.",
        expected="; ".join(
            f"{case}: {', '.join(f'{each.what} of {each.name} {each.was}' for each in changed[:3])}"
            for case, changed in told
        ),
        got="; ".join(
            f"{case}: {', '.join(f'{each.what} of {each.name} {each.now}' for each in changed[:3])}"
            + (", and so on" if len(changed) > 3 else "")
            for case, changed in told
        ),
        observed=observed or [_kinds(changed) for changed in found],
    )


@recalibrate_bn.property(
    "they are so, too, if the model or the loader raises, and the error comes through",
    asks="Afterwards, also when the model or the loader raises, `momentum` and `training` of every sub-module are what they were, and the error comes through.",
)
def _(answer: Any, trial: Trial) -> None:
    found = []
    for where in ("model", "loader", "iter(loader)"):
        model = _partly_frozen(trial, True)
        before = modes(model), momenta(model)
        batches: list[Any] = some_batches(trial, 2)
        if where == "model":
            batches.insert(1, torch.zeros(2, FEATURES + 1))
        want = _error_of(model, batches) if where == "model" else BROKEN
        trial.given(
            "iter(loader) raises, before any batch, as where a DataLoader cannot start its workers"
            if where == "iter(loader)"
            else f"the {where} raises at its second batch"
        )
        loader: Any = {"model": batches, "loader": _breaking(batches)}.get(where) or Unopened()
        whose = where if where == "iter(loader)" else f"The {where}"
        error: BaseException | None = None
        try:
            answer(loader, model)
        except NotImplementedError:
            raise
        except Exception as raised:
            error = raised
        trial.true(
            error is not None,
            f"{whose} raised, and the answer did not: half a pass looks like a whole one.",
            expected=f"{type(want).__name__}: {want}",
            got="no error",
            observed="swallowed",
        )
        trial.true(
            type(error) is type(want) and str(error) == str(want),
            f"{whose} raised, and a different error came out of the answer.",
            expected=f"{type(want).__name__}: {want}",
            got=f"{type(error).__name__}: {error}",
            observed="a different error",
        )
        found.append(_changed(model, *before))
    kinds = [sorted({each.what for each in changed}) for changed in found]
    trial.given("a model in training mode, with parts in eval mode; the model or the loader raises")
    cases = ("where the model raised", "where the loader raised", "where iter(loader) raised")
    _kept(trial, found, cases, "After the error", observed=kinds)


BROKEN = ValueError("a broken file")


class Unopened:
    """A loader that cannot be read at all."""

    def __iter__(self) -> Iterator[Tensor]:
        raise BROKEN


def _breaking(batches: list[Tensor]) -> Iterator[Tensor]:
    yield batches[0]
    raise BROKEN


def _error_of(model: Model, batches: list[Tensor]) -> Exception:
    """What a copy of the model raises."""
    try:
        one_pass(model, batches)
    except Exception as error:
        return error
    raise AssertionError("the model takes these batches")


@recalibrate_bn.property(
    "weights, gradients and all other buffers stay",
    asks="Weights, gradients and all other buffers stay as they are (but for what another layer, in training mode, writes into its own), and no graph is recorded.",
    changes=("torch RNG",),
)
def _(answer: Any, trial: Trial) -> None:
    model = Model(trial.generator)
    for param in model.parameters():
        param.grad = torch.randn(param.shape, generator=trial.generator)
    for frozen in (model.first, model.middle["picture"]):
        frozen.requires_grad_(False)
    params = {
        name: (param, param.detach().clone(), param.grad.clone()) for name, param in model.named_parameters()
    }
    buffers = _other_buffers(model)
    needs = [param.requires_grad for param in model.parameters()]
    trial.given(
        "a model with gradients, an InstanceNorm and a buffer of its own; first and middle.picture need no gradient"
    )
    trial.call(answer, some_batches(trial, 2), model)
    now = dict(model.named_parameters())
    off = sorted(
        name
        for name, (param, value, _) in params.items()
        if now.get(name) is not param or not torch.equal(param.detach(), value)
    )
    trial.true(
        not off,
        f"{', '.join(off)}: changed.",
        expected="weights as they were",
        got=now[off[0]] if off and off[0] in now else None,
        observed=("weights", sorted({name.rpartition(".")[2] for name in off})),
    )
    off = sorted(
        name
        for name, (param, _, grad) in params.items()
        if param.grad is None or not torch.equal(param.grad, grad)
    )
    trial.true(
        not off,
        f".grad of {', '.join(off[:4])}: changed.",
        expected="gradients as they were",
        got="None" if off and params[off[0]][0].grad is None else "other numbers",
        observed="grad",
    )
    flags = [param.requires_grad for param in model.parameters()]
    ways = sorted({(old, new) for old, new in zip(needs, flags, strict=True) if old != new})
    trial.true(
        not ways,
        "requires_grad of parameters was changed.",
        expected="requires_grad as it was",
        got=" and ".join(
            f"{new} for {list(zip(needs, flags, strict=True)).count((old, new))} parameters that had {old}"
            for old, new in ways
        ),
        observed=("requires_grad", [new for _, new in ways]),
    )
    now = _other_buffers(model)
    off = sorted(name for name, buffer in buffers.items() if not torch.equal(now[name], buffer))
    trial.true(
        not off,
        f"{', '.join(off)}: changed. Other layers than BatchNorm have statistics, too; they are not asked for.",
        expected="buffers as they were",
        observed=("buffers", off),
    )


def _other_buffers(model: Model) -> dict[str, Tensor]:
    """The buffers that no layer writes in this model, whatever its mode, BatchNorm's aside."""
    written = {buffer for norm in norms(model).values() for buffer in norm.buffers()} | {model.moving.largest}
    return {name: buffer.clone() for name, buffer in model.named_buffers() if buffer not in written}


@recalibrate_bn.property(
    "the model runs without a graph",
    asks="Weights, gradients and all other buffers stay as they are (but for what another layer, in training mode, writes into its own), and no graph is recorded.",
)
def _(answer: Any, trial: Trial) -> None:
    model = Model(trial.generator)
    trial.given("a model whose parameters need gradients")
    with watched(model) as seen:
        trial.call(answer, some_batches(trial, 2), model)
    trial.true(
        True not in seen["graph"],
        "The result of the model had requires_grad=True: each batch kept all its activations for a backward that never comes.",
        expected="torch.no_grad()",
        observed="graph",
    )


@recalibrate_bn.property(
    "statistics that have become NaN are replaced, too",
    asks="Replaces the running statistics of all BatchNorm layers of `model`, in place, by those of one pass over `loader`.",
    once_right=True,
)
def _(answer: Any, trial: Trial) -> None:
    model, batches = Model(trial.generator), some_batches(trial, 3)
    want = one_pass(model, batches)
    for norm in norms(model).values():
        norm.running_mean.fill_(torch.nan)
        norm.running_var.fill_(torch.inf)
    trial.given("a model whose statistics are NaN and inf, as after a step that was too long")
    trial.call(answer, batches, model)
    _measured(
        trial, model, want, dict, why=" Something of the old statistics is left, and 0 times NaN is NaN."
    )
