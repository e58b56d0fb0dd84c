"""Exercise 04.recalibrate_bn: the statistics of BatchNorm for weights that no batch has ever seen."""

from __future__ import annotations

from collections.abc import Iterator
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
    modes,
    momenta,
    norms,
    one_pass,
    some_batches,
    statistics,
    watched,
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

OTHERS = "the statistics are others"


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
    want, before = one_pass(model, batches), statistics(model)
    got = trial.call(answer, batches, model)
    trial.true(
        got is None or got is model,
        f"recalibrate_bn gave an object of type {type(got).__name__}; it works in place and returns None.",
        observed=("kind", type(got).__name__),
    )
    off = _off(statistics(model), want, before)
    if not off:
        return
    name, word = off[0]
    mean, var, count = statistics(model)[name]
    trial.fail(
        f"{name}, the first BatchNorm layer that is off: {word}.",
        expected=f"running_mean {_numbers(want[name][0])}, running_var {_numbers(want[name][1])}, "
        f"num_batches_tracked {want[name][2].item()}",
        got=f"{_numbers(mean)}, {_numbers(var)}, {count.item()}",
        observed=[off, count.item(), *([mean.tolist(), var.tolist()] if word == OTHERS else [])],
    )


def _numbers(tensor: Tensor) -> str:
    return "[" + ", ".join(f"{number:.3g}" for number in tensor.tolist()) + "]"


Statistics = dict[str, list[Tensor]]


def _off(got: Statistics, want: Statistics, before: Statistics) -> list[tuple[str, str]]:
    """The layers whose statistics are not as they should be, and what they are instead."""
    found = []
    for name, (mean, var, count) in got.items():
        near = torch.allclose(mean, want[name][0], atol=1e-4) and torch.allclose(
            var, want[name][1], rtol=1e-4, atol=1e-4
        )
        if near and count == want[name][2]:
            continue
        word = OTHERS
        if near:
            word = "num_batches_tracked is wrong"
        elif torch.equal(mean, before[name][0]):
            word = "the statistics are the old ones"
        elif not mean.any() and bool((var == 1).all()):
            word = "the statistics are those of a new layer, 0 and 1"
        found.append((name, word))
    return found


@recalibrate_bn.property(
    "BatchNorm of every kind is found, at every depth",
    asks="The layers are those of `nn.modules.batchnorm._BatchNorm` (BatchNorm1d, 2d, 3d, SyncBatchNorm), at every depth; all of them keep statistics.",
)
def _(answer: Any, trial: Trial) -> None:
    model = Model(trial.generator).train()
    batches = some_batches(trial, 3)
    trial.given("a model in training mode; BatchNorm1d, 2d, 3d and SyncBatchNorm, inside other modules")
    want, before = one_pass(model, batches), statistics(model)
    trial.call(answer, batches, model)
    off = [name for name, _ in _off(statistics(model), want, before)]
    trial.true(
        not off,
        f"{', '.join(off)}: not the statistics of the pass.",
        expected=f"all of {', '.join(want)} measured anew",
        observed=off,
    )


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
        want, before = one_pass(model, batches), statistics(model)
        trial.given(f"a generator of batches, each a {kind.__name__} of input and labels")

        def loader(batches: list[Tensor] = batches, kind: type = kind) -> Iterator[Any]:
            for batch in batches:
                yield kind([batch, torch.zeros(len(batch))])

        trial.call(answer, loader(), model)
        off = [word for _, word in _off(statistics(model), want, before)]
        trial.true(not off, f"Not the statistics of the pass: {off[0] if off else ''}.", observed=off)


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
        want, before = one_pass(model, batches), statistics(model)
        trial.given(f"batches that are {words}")
        trial.call(answer, [made(batch) for batch in batches], model)
        off = [word for _, word in _off(statistics(model), want, before)]
        trial.true(
            not off, f"Not the statistics of the pass: {off[0] if off else ''}.", observed=(words, off)
        )


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
    _kept(trial, found, "After the pass")


def _partly_frozen(trial: Trial, training: bool) -> Model:
    model = Model(trial.generator).train(training)
    for part in (model.first, model.moving, model.last[1]):
        part.train(not training)
    return model


def _changed(model: nn.Module, flags: dict[str, bool], rates: dict[str, Any]) -> list[str]:
    """In words, what is not as it was."""
    now, own = modes(model), momenta(model)
    return [
        f"training of {name or 'the model'} is {now[name]}" for name in flags if now[name] != flags[name]
    ] + [f"momentum of {name} is {own[name]}" for name in rates if own[name] != rates[name]]


def _kept(trial: Trial, found: list[list[str]], when: str, observed: Any = None) -> None:
    messages = [words for changed in found for words in changed]
    trial.true(
        not messages,
        f"{when}, {len(messages)} settings are not what they were: {'; '.join(messages[:3])}{'; ...' if len(messages) > 3 else ''}.",
        expected="training and momentum of each sub-module as before the call",
        observed=observed or found,
    )


@recalibrate_bn.property(
    "they are so, too, if the model or the loader raises, and the error comes through",
    asks="Afterwards, also when the model or the loader raises, `momentum` and `training` of every sub-module are what they were, and the error comes through.",
)
def _(answer: Any, trial: Trial) -> None:
    found = []
    for where in ("model", "loader"):
        model = _partly_frozen(trial, True)
        before = modes(model), momenta(model)
        batches: list[Any] = some_batches(trial, 2)
        if where == "model":
            batches.insert(1, torch.zeros(2, FEATURES + 1))
        trial.given(f"the {where} raises at its second batch")
        error: BaseException | None = None
        try:
            answer(batches if where == "model" else _breaking(batches), model)
        except NotImplementedError:
            raise
        except (RuntimeError, ValueError) as raised:
            error = raised
        trial.true(
            error is not None,
            f"The {where} raised, and the answer did not: half a pass looks like a whole one.",
            expected="the error of the model or of the loader",
            observed="swallowed",
        )
        found.append(_changed(model, *before))
    kinds = [sorted({words.partition(" ")[0] for words in changed}) for changed in found]
    _kept(trial, found, "After the error", observed=kinds)


def _breaking(batches: list[Tensor]) -> Iterator[Tensor]:
    yield batches[0]
    raise ValueError("a broken file")


@recalibrate_bn.property(
    "weights, gradients and all other buffers stay",
    asks="Weights, gradients and all other buffers stay as they are (but for what another layer, in training mode, writes into its own), and no graph is recorded.",
    changes=("torch RNG",),
)
def _(answer: Any, trial: Trial) -> None:
    model = Model(trial.generator)
    for param in model.parameters():
        param.grad = torch.randn(param.shape, generator=trial.generator)
    params = {
        name: (param, param.detach().clone(), param.grad.clone()) for name, param in model.named_parameters()
    }
    buffers = _other_buffers(model)
    needs = [param.requires_grad for param in model.parameters()]
    trial.given("a model with gradients, an InstanceNorm and a buffer of its own")
    trial.call(answer, some_batches(trial, 2), model)
    now = dict(model.named_parameters())
    off = sorted(
        name
        for name, (param, value, _) in params.items()
        if now.get(name) is not param or not torch.equal(param.detach(), value)
    )
    trial.true(
        not off, f"{', '.join(off)}: changed.", expected="weights as they were", observed=("weights", off)
    )
    off = sorted(
        name
        for name, (param, _, grad) in params.items()
        if param.grad is None or not torch.equal(param.grad, grad)
    )
    trial.true(not off, f".grad of {', '.join(off)}: changed.", observed=("grad", off))
    trial.true([param.requires_grad for param in model.parameters()] == needs, "requires_grad was changed.")
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
    "the pass is made here, and not by torch.optim.swa_utils.update_bn",
    asks="Torch's own `update_bn` is not called.",
)
def _(answer: Any, trial: Trial) -> None:
    model = Model(trial.generator)
    trial.given("any model")
    with calls_to(swa_utils.update_bn) as seen:
        trial.call(answer, some_batches(trial, 2), model)
    trial.true(
        not seen,
        "The answer calls torch's update_bn, which the exercise builds again, and better.",
        observed="torch's own",
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
    before = statistics(model)
    trial.given("a model whose statistics are NaN and inf, as after a step that was too long")
    trial.call(answer, batches, model)
    off = [name for name, _ in _off(statistics(model), want, before)]
    trial.true(
        not off,
        f"{', '.join(off[:3])}: something of the old statistics is left, and 0 times NaN is NaN. Reset them first.",
        expected="the statistics of the pass",
        observed=("NaN", off),
    )
