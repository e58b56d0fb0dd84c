"""Exercise 04.accumulate: the gradient of a large batch, in pieces that fit into memory."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable
from operator import is_
from typing import Any

import torch
from torch import Tensor, nn

from helpers.check.compare import TOLERANCE
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.optim.accumulate.inputs import (
    FEATURES,
    Batch,
    batch_of,
    bytes_kept,
    described,
    hooks_on,
    large_batch,
    new_model,
    ragged,
    settings_of,
    with_empty_ones,
)

accumulate = Exercise(
    "04.accumulate",
    "The large batch in pieces",
    objective="Accumulate gradients so that they are exactly those of one large batch, with one graph in memory at a time.",
    minutes=25,
    difficulty="medium",
    hints=[
        "A mean of means is the mean only if all parts have the same size. Size of what? Look at what loss_fn divides by.",
        "The large batch's loss is a sum over the targets that count, divided by how many they are in all batches together. "
        "So a batch's mean loss has to be multiplied by its share: its own count divided by the whole count.",
        "The whole count must be known before the first backward: count (target != loss_fn.ignore_index) in each batch, "
        "then forward and backward, batch by batch.",
        "Where nothing counts the mean is 0 / 0, and NaN times 0 is NaN: leave such a batch out. Sum the detached losses "
        "for the result.",
    ],
)

Gradients = dict[str, Tensor | None]

BATCHES_STAY = "loss_fn and the batches are left as they are"


def loss_with(index: int = -100, smoothing: float = 0.0) -> nn.CrossEntropyLoss:
    return nn.CrossEntropyLoss(ignore_index=index, label_smoothing=smoothing)


def adds(
    answer: Callable[..., Any],
    trial: Trial,
    loss_fn: nn.CrossEntropyLoss,
    batches: list[Batch],
    given: Any = None,
) -> Any:
    """Wrong unless the gradients are those of the large batch. Returns what the answer gave."""
    model = new_model(trial)
    _, want = large_batch(model, loss_fn, batches)
    trial.arguments_stay(BATCHES_STAY)
    trial.call(answer, model, loss_fn, batches if given is None else given)
    grads_equal(trial, model.grads(), want, ran=bool(model.log))


def grads_equal(trial: Trial, got: Gradients, want: Gradients, *, ran: bool = True) -> None:
    for name in ("hidden", "out", "shift"):
        have, need = got[name], want[name]
        trial.true(
            have is not None,
            f"{name}.grad is None: no gradient arrived" + ("." if ran else ", and the model was not called."),
            expected="the gradient of the large batch",
            observed="no gradient" if ran else "no gradient, and no call of the model",
        )
        if not torch.allclose(have, need, rtol=1e-5, atol=1e-7):
            ratio = (have / need).flatten()
            even = torch.allclose(ratio, ratio[0].expand_as(ratio), rtol=1e-6)
            trial.fail(
                f"{name}.grad is not that of the large batch"
                + (f", but {ratio[0].item():.4g} times it." if even else ".")
                + (" It holds NaN." if have.isnan().any() else ""),
                expected=_first(need),
                got=_first(have),
                observed="NaN" if have.isnan().all() else _rounded(have),
            )


def _rounded(tensor: Tensor) -> list[float]:
    """All numbers; a rounding error is 0, as another way to compute the same has another one."""
    return [round(number, 9) for number in tensor.flatten().tolist()]


def _first(tensor: Tensor) -> str:
    return "[" + ", ".join(f"{number:.5g}" for number in tensor.flatten()[:4].tolist()) + ", ...]"


@accumulate.property(
    "each gradient is memory of its own",
    asks="Each gradient has memory of its own.",
)
def _(answer: Any, trial: Trial) -> None:
    model = new_model(trial)
    trial.given("one batch; forward uses out + shift, so that backward finds one gradient for both")
    with contextlib.suppress(Exception):  # what an answer raises is for other properties to tell
        answer(model, loss_with(), [batch_of(trial, 3, 4)])
    shared = model.out.grad is not None and model.shift.grad is not None
    trial.true(
        not shared or model.out.grad.data_ptr() != model.shift.grad.data_ptr(),
        "out.grad and shift.grad are one and the same memory: what clips or scales one of them in place does it to both.",
        expected="a tensor for each parameter, as backward makes it",
        observed="shared",
    )


@accumulate.property(
    "for batches that are all alike, the gradients are those of the large batch",
    asks="Adds to `.grad` the gradients of one large batch that is given in pieces; returns its loss.",
)
def alike(answer: Any, trial: Trial) -> None:
    batches = [batch_of(trial, 3, 4) for _ in range(3)]
    # With as many 0 in each, an answer that leaves the targets of 0 out would be right here, and fall further below.
    while len({int((target == 0).sum()) for _, target in batches}) == 1:
        batches = [batch_of(trial, 3, 4) for _ in range(3)]
    trial.given(f"3 batches of the same shape in which everything counts: {described(batches, -100)}")
    adds(answer, trial, loss_with(), batches)


@accumulate.property(
    "for ragged batches with ignored targets, too",
    asks="The large batch's loss is the mean over ALL targets that count.",
)
def ragged_ones(answer: Any, trial: Trial) -> None:
    batches = ragged(trial)
    trial.given(described(batches, -100))
    adds(answer, trial, loss_with(), batches)


@accumulate.property(
    "the loss is asked what it ignores, and is used as it is",
    asks="`loss_fn(model(x), target)` is the MEAN over those targets of the batch that are not `loss_fn.ignore_index`, which may be any number; label smoothing is possible, class weights are not used.",
)
def asks_the_loss(answer: Any, trial: Trial) -> None:
    for index, smoothing in ((0, 0.0), (3, 0.1), (-1, 0.2)):
        batches = ragged(trial, index)
        trial.given(f"{described(batches, index)}, label_smoothing = {smoothing}")
        adds(answer, trial, loss_with(index, smoothing), batches)


@accumulate.property(
    "the result is the loss of the large batch, a tensor without a graph",
    asks="The result is that loss: a 0-d tensor in the dtype of the loss, without a graph.",
    after=(ragged_ones, asks_the_loss),
)
def _(answer: Any, trial: Trial) -> None:
    for dtype, index, smoothing, upcast in (
        (torch.float64, -100, 0.0, False),
        (torch.float32, -100, 0.0, False),
        (torch.bfloat16, -100, 0.0, False),
        (torch.float64, 3, 0.2, False),
        (torch.bfloat16, -100, 0.0, True),
    ):
        model, loss_fn = new_model(trial, dtype, upcast), loss_with(index, smoothing)
        batches = ragged(trial, index, dtype)
        trial.given(
            f"a model in {dtype}{', whose logits are float32' if upcast else ''}; {described(batches, index)}"
            + (f", label_smoothing = {smoothing}" if smoothing else "")
        )
        want, _ = large_batch(model, loss_fn, batches)
        same = [(x.clone(), target.clone()) for x, target in batches]
        got = trial.call(answer, model, loss_fn, batches)
        trial.true(
            isinstance(got, Tensor),
            f"accumulate gave {'None' if got is None else f'an object of type {type(got).__name__}'}.",
            expected="a 0-d tensor",
            got=type(got).__name__,
            observed=("kind", type(got).__name__),
        )
        trial.true(
            not got.requires_grad,
            "The result requires grad: whoever keeps it for a log keeps the graph.",
            expected="a detached tensor",
            got=f"a tensor with grad_fn {got.grad_fn.name() if got.grad_fn else None}",
            observed="graph" if got.grad_fn else "a leaf",
        )
        near = (1e-5, 1e-6) if dtype is torch.float64 else TOLERANCE[dtype]
        word = loss_in_words(got, model, loss_with(index, smoothing), same)
        kind = "shape" if got.shape != () else "dtype" if got.dtype is not want.dtype else word
        trial.equal(
            got,
            want,
            "The loss" + (f", which is {word}" if word else ""),
            rtol=near[0],
            atol=near[1],
            observed=(
                (str(dtype) if kind == "dtype" else "")
                + (", logits in float32" if upcast else "")
                + (", smoothing" if smoothing else ""),
                kind or round(got.item(), 6),
                tuple(got.shape) if kind == "shape" else str(got.dtype),
            ),
        )


def loss_in_words(got: Tensor, model: Any, loss_fn: nn.CrossEntropyLoss, batches: list[Batch]) -> str:
    """What a loss is that is not that of the large batch; "" if nothing that is known."""
    if got.numel() != 1:
        return ""
    with torch.no_grad():
        means = torch.stack([loss_fn(model(x), target) for x, target in batches]).double()
    counts = torch.tensor([int((target != loss_fn.ignore_index).sum()) for _, target in batches])
    sums = means * counts
    words = {
        "the last batch's": means[-1],
        "the first batch's": means[0],
        "the mean of the batches' means": means.mean(),
        "the sum of the batches' means": means.sum(),
        "the last batch's part of it": sums[-1] / counts.sum(),
        "the sum over all targets": sums.sum(),
        "it, divided by the number of batches once more": sums.sum() / counts.sum() / len(batches),
    }
    if loss_fn.label_smoothing:
        plain, _ = large_batch(model, loss_with(loss_fn.ignore_index), batches)
        words["that without label smoothing"] = plain.double()
    near = {torch.float64: 1e-5, torch.float32: 1e-4}.get(got.dtype, 2e-2)
    return next(
        (word for word, value in words.items() if torch.allclose(got.double(), value, rtol=near, atol=0)), ""
    )


@accumulate.property(
    "a batch in which nothing counts adds no gradient",
    asks="Where nothing counts in a batch its mean is NaN; such a batch adds no gradient.",
    after=(ragged_ones, asks_the_loss),
)
def _(answer: Any, trial: Trial) -> None:
    for index, smoothing in ((-100, 0.0), (3, 0.1)):
        batches = with_empty_ones(trial, index)
        trial.given(f"{described(batches, index)}, label_smoothing = {smoothing}")
        model, loss_fn = new_model(trial), loss_with(index, smoothing)
        _, want = large_batch(model, loss_fn, batches)
        # The loss may be NaN: cross entropy's is, where nothing counts.
        trial.call(answer, model, loss_fn, batches)
        grads_equal(trial, model.grads(), want)


@accumulate.property(
    "a NaN that the model makes arrives in the gradients",
    asks="A NaN that the model makes is added like any number.",
    once_right=True,
)
def _(answer: Any, trial: Trial) -> None:
    model, loss_fn, batches = new_model(trial), loss_with(), ragged(trial)
    batches[1][0].fill_(torch.nan)
    trial.given(f"{described(batches, -100)}; the inputs of batch 1 are NaN")
    got = trial.call(answer, model, loss_fn, batches)
    off = [name for name in ("hidden", "out", "shift") if not found(model, name).isnan().all()]
    trial.true(
        not off,
        f"A batch with targets that count gives NaN, and {', '.join(off)} got a gradient as if it were not there.",
        expected="NaN, as in the gradient of the large batch: whoever trains has to see it",
        got=_first(found(model, off[0])) if off else None,
        observed="no NaN",
    )
    trial.true(
        bool(got.isnan()),
        "A batch with targets that count gives NaN, and the loss that is returned is none.",
        expected="NaN, as in the loss of the large batch",
        got=f"{got.item():.5g}",
        observed="no NaN in the loss",
    )


def found(model: Any, name: str) -> Tensor:
    """The gradient of a parameter, or zeros."""
    param = model.get_parameter(name)
    return torch.zeros_like(param) if param.grad is None else param.grad


@accumulate.property(
    "what was in .grad before stays, and is added to",
    asks="Its gradient is added to `.grad`, as by `backward`: what was there stays, and a parameter that is frozen or not used keeps None.",
)
def _(answer: Any, trial: Trial) -> None:
    model, loss_fn, batches = new_model(trial), loss_with(), ragged(trial)
    trial.given("a model that holds gradients of an earlier backward; " + described(batches, -100))
    _, own = large_batch(model, loss_fn, batches)
    before: dict[str, Tensor] = {}
    for name, param in model.named_parameters():
        before[name] = torch.randn(param.shape, generator=trial.generator, dtype=param.dtype)
        param.grad = before[name].clone()
    trial.call(answer, model, loss_fn, batches)
    for name, got in model.grads().items():
        added = own[name] if own[name] is not None else torch.zeros_like(before[name])
        kept = got is not None and torch.allclose(got, before[name] + added, rtol=1e-5, atol=1e-7)
        if not kept:
            word = what_of_the_old(got, before[name], added)
            trial.fail(
                f"After the call {name}.grad is not the old gradient"
                + ("" if own[name] is None else " plus that of the large batch")
                + (f": {word}." if word else "."),
                expected=_first(before[name] + added),
                got="None" if got is None else _first(got),
                observed=(
                    "one that takes part" if own[name] is not None else name,
                    word or ("None" if got is None else _rounded(got)),
                ),
            )


def what_of_the_old(got: Tensor | None, before: Tensor, added: Tensor) -> str:
    """What became of an old gradient that was not simply added to; "" if nothing that is known."""
    if got is None:
        return "there is none"
    if torch.allclose(got, added, rtol=1e-5, atol=1e-7):
        return "the old one is lost"
    if torch.allclose(got, before, rtol=1e-5, atol=1e-7):
        return "the new one is missing"
    share = ((got - added) / before).flatten()
    if torch.allclose(share, share[0].expand_as(share), rtol=1e-4):
        return "the old one was multiplied by a number"
    return "" if added.any() else "something was added to it"


@accumulate.property(
    "a parameter that is frozen or not used has no gradient afterwards",
    asks="Its gradient is added to `.grad`, as by `backward`: what was there stays, and a parameter that is frozen or not used keeps None.",
)
def _(answer: Any, trial: Trial) -> None:
    model = new_model(trial)
    trial.given("a model with a frozen parameter, and one that forward does not use")
    trial.call(answer, model, loss_with(), ragged(trial))
    off = [name for name in ("frozen", "unused") if model.get_parameter(name).grad is not None]
    trial.true(
        not off,
        f".grad of {' and '.join(off)} is not None: an optimizer with momentum or weight decay moves it.",
        expected="None, as after backward of the large batch",
        observed=off,
    )


@accumulate.property(
    "the model runs once a batch, each with its backward at once: one graph at a time",
    asks="The model runs once a batch, and each batch's backward follows at once: what is held for backward is never more than one batch's.",
)
def _(answer: Any, trial: Trial) -> None:
    model, loss_fn, count = new_model(trial), loss_with(), 4
    batches = [batch_of(trial, 3, 6) for _ in range(count)]
    trial.given(f"{count} batches of the same shape")
    with bytes_kept() as kept:
        large_batch(model, loss_fn, batches[:1])
    one, model.log = kept["most"], ""
    with bytes_kept() as kept:
        trial.call(answer, model, loss_fn, batches)
    graphs, runs = round(kept["most"] / one, 1), len(model.log.replace("B", ""))
    trial.true(
        model.calls >= runs,
        "The model's forward ran, and its hooks did not.",
        expected="model(x)",
        got=f"forward ran {runs} times; the model was called {model.calls} times",
        observed="past the hooks",
    )
    trial.true(
        model.log == "FB" * count and kept["most"] <= 1.3 * one,
        f"In order, F for a forward, f for one without a graph, B for a backward: {model.log}. At the most, "
        f"{kept['most']:,} bytes were held for backward; one batch needs {one:,}.",
        expected=f"{'FB' * count}, and {one:,} bytes",
        got=f"{model.log}, and {kept['most']:,} bytes",
        observed=(
            {-1: "fewer runs", 0: "each runs once", 1: "more runs"}[(runs > count) - (runs < count)],
            "backward at once"
            if model.log == "FB" * count
            else "two batches without a backward between them"
            if "FF" in model.log
            else "a different order",
            "one graph" if graphs <= 1.3 else "two graphs" if graphs <= 2.3 else "all graphs",
        ),
    )


@accumulate.property(
    "model, loss and batches are left as they are",
    asks="model (mode, weights), loss_fn and the batches are left as they are, also when the model raises.",
)
def _(answer: Any, trial: Trial) -> None:
    for training, index in ((False, -100), (True, -100), (False, 3), (True, -1), (True, 0)):
        model, loss_fn = new_model(trial).train(training), loss_with(index, smoothing=0.1)
        batches = with_empty_ones(trial, index) if training else ragged(trial, index)
        model.part.train(not training)
        modes = ("training", "eval") if training else ("eval", "training")
        trial.given(
            f"a model in {modes[0]} mode, with a part in {modes[1]} mode; {described(batches, index)}"
        )
        needs = {name: param.requires_grad for name, param in model.named_parameters()}
        weights = copy.deepcopy(model.state_dict())
        settings = settings_of(loss_fn)
        pairs = copied(batches)
        trial.call(answer, model, loss_fn, batches)
        off = [name for name, value in model.state_dict().items() if not torch.equal(value, weights[name])]
        trial.true(
            not off,
            f"{', '.join(off)} of the model changed: a step is the caller's.",
            expected="weights as they were",
            got=_first(model.state_dict()[off[0]]) if off else None,
            observed="weights",
        )
        trial.true(
            model.modes() == (training, not training),
            "The mode of the model or of its part was changed.",
            expected=_modes(training, not training),
            got=_modes(*model.modes()),
            observed="mode" if model.training != training else "mode of the part",
        )
        off = [name for name, param in model.named_parameters() if param.requires_grad != needs[name]]
        trial.true(
            not off,
            f"requires_grad of {', '.join(off)} was changed.",
            expected="parameters that are frozen or not, as they were",
            got=", ".join(f"{name}.requires_grad={not needs[name]}" for name in off),
            observed="requires_grad",
        )
        left = hooks_on(model, loss_fn)
        trial.true(
            not left,
            f"Hooks are left on {', '.join(left)}.",
            expected="no hooks, as before",
            observed="hooks",
        )
        now = settings_of(loss_fn)
        trial.true(
            now == settings,
            "The loss was left with other settings.",
            expected=_settings(settings, now),
            got=_settings(now, settings),
            observed="loss_fn",
        )
        off, only_empty = edited(pairs, index)
        trial.true(
            not off,
            f"A batch was changed: {', '.join(off)}. The next epoch reads it again.",
            expected="batches as they were",
            got=f"other numbers in {len(off)} tensor{'s' * (len(off) > 1)}",
            observed=("batches in which nothing counted" if only_empty else "batches")
            + ("" if index == -100 else ", with a different index"),
        )
        trial.true(
            not any(x.requires_grad for x, *_ in pairs),
            "An input of a batch requires grad now.",
            expected="inputs as they were",
            observed="inputs require grad",
        )


def copied(batches: list[Batch]) -> list[tuple[Tensor, Tensor, Tensor, Tensor]]:
    return [(x, x.clone(), target, target.clone()) for x, target in batches]


def edited(pairs: list[tuple[Tensor, Tensor, Tensor, Tensor]], index: int) -> tuple[list[str], bool]:
    """The tensors that are not as they were, in words, and whether nothing counted in any of their batches."""
    off, empty = [], []
    for place, (x, old, y, was) in enumerate(pairs):
        for what, same in (("x", torch.equal(x, old)), ("target", torch.equal(y, was))):
            if not same:
                off.append(f"{what} of batch {place}")
                empty.append(bool((was == index).all()))
    return off, bool(off) and all(empty)


def _modes(model: bool, part: bool) -> str:
    return f"training={model}, part.training={part}"


def _settings(these: dict[str, Any], others: dict[str, Any]) -> str:
    """The settings that differ."""
    return ", ".join(f"{name}={value}" for name, value in these.items() if others.get(name) != value)


@accumulate.property(
    "a second call with the same model and loss does as much as the first",
    asks="model (mode, weights), loss_fn and the batches are left as they are, also when the model raises.",
)
def _(answer: Any, trial: Trial) -> None:
    model, loss_fn, batches, more = new_model(trial), loss_with(), ragged(trial), ragged(trial)
    more.append(more[0])
    trial.given(
        f"two calls with one model and one loss; in the second the first batch comes again as the last: {described(more, -100)}"
    )
    trial.call(answer, model, loss_fn, batches)
    before = model.grads()
    _, own = large_batch(model, loss_with(), more)
    trial.call(answer, model, loss_fn, more)
    for name in ("hidden", "out", "shift"):
        want, got = before[name] + own[name], model.grads()[name]
        trial.true(
            got is not None and torch.allclose(got, want, rtol=1e-5, atol=1e-7),
            f"The second call did not add the gradient of its large batch to {name}.grad, as the first did.",
            expected=_first(want),
            got="None" if got is None else _first(got),
            observed="the second call",
        )


@accumulate.property(
    "model, loss and batches are left as they are, too, if the model raises",
    asks="model (mode, weights), loss_fn and the batches are left as they are, also when the model raises.",
    once_right=True,
)
def _(answer: Any, trial: Trial) -> None:
    for index, error in ((-100, RuntimeError), (3, RuntimeError), (0, KeyboardInterrupt)):
        left_after(answer, trial, index, error)


def left_after(answer: Any, trial: Trial, index: int, error: type[BaseException]) -> None:
    """Wrong unless all is left as it was, if the model raises this error at its second batch."""
    model, loss_fn = new_model(trial), loss_with(index, smoothing=0.1)
    stops = error is KeyboardInterrupt
    wide = torch.zeros(2, 3, FEATURES + 1, dtype=torch.float64)
    batches = [batch_of(trial, 2, 3, 2, index) for _ in range(3)]
    batches[1] = batches[1] if stops else (wide, batches[1][1])
    settings = settings_of(loss_fn)
    model.part.eval()
    entries, pairs = list(batches), copied(batches)
    weights = copy.deepcopy(model.state_dict())
    needs = [param.requires_grad for param in model.parameters()]
    trial.given(
        "the model, in training mode with a part in eval mode, raises at the second batch"
        + (
            ", as when somebody stops the cell: KeyboardInterrupt"
            if stops
            else ", which has a feature too many"
        )
        + f"; ignore_index = {index}"
    )
    model.stops_at = 2 if stops else None
    trial.raises(error, lambda: answer(model, loss_fn, batches), "from the model")
    model.stops_at = None
    when = (
        "KeyboardInterrupt" if stops else "an error" if index == -100 else "an error, with a different index"
    )
    trial.true(
        model.modes() == (True, False),
        "The model raised, and was left in a different mode.",
        expected=_modes(True, False),
        got=_modes(*model.modes()),
        observed=f"mode after {when}",
    )
    trial.true(
        [param.requires_grad for param in model.parameters()] == needs,
        "The model raised, and requires_grad of a parameter was left changed.",
        expected="parameters that are frozen or not, as they were",
        observed=f"requires_grad after {when}",
    )
    left = hooks_on(model, loss_fn)
    trial.true(
        not left,
        f"The model raised, and hooks are left on {', '.join(left)}.",
        expected="no hooks, as before",
        observed=f"hooks after {when}",
    )
    now = settings_of(loss_fn)
    trial.true(
        now == settings,
        "The model raised, and the loss was left with other settings.",
        expected=_settings(settings, now),
        got=_settings(now, settings),
        observed=f"loss_fn after {when}",
    )
    trial.true(
        all(torch.equal(value, weights[name]) for name, value in model.state_dict().items()),
        "The model raised, and its weights were left with other numbers.",
        expected="weights as they were",
        observed=f"weights after {when}",
    )
    off, _ = edited(pairs, index)
    trial.true(
        not off and len(batches) == len(entries) and all(map(is_, batches, entries)),
        f"The model raised, and {', '.join(off) or 'the list of batches'} was left changed.",
        expected="batches as they were",
        observed=f"batches after {when}",
    )
    trial.given(
        f"the model raised {error.__name__} in one call; the next call, with .grad None, has the first batch alone"
    )
    model.zero_grad()
    _, want = large_batch(model, loss_fn, batches[:1])
    trial.call(answer, model, loss_fn, batches[:1])
    off = [name for name in ("hidden", "out", "shift") if not torch.allclose(found(model, name), want[name])]
    trial.true(
        not off,
        f"After a call in which the model raised, the next one gave {', '.join(off)} a wrong gradient.",
        expected=_first(want[off[0]]) if off else "",
        got=_first(found(model, off[0])) if off else None,
        observed=f"gradients after {when}",
    )
