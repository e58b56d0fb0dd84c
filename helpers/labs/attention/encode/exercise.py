"""Exercise 13.encode: the equations of nn.TransformerEncoderLayer, the same in every mode."""

from __future__ import annotations

import contextlib

import torch
from torch import Tensor, nn

from helpers.check.calls import calls_to
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.attention.encode.inputs import (
    Answer,
    Layer,
    at_padding,
    compared,
    drawn,
    layer,
    padding_of,
    torchs_own,
)

encode = Exercise(
    "13.encode",
    "A stack of layers",
    objective="Write the equations of `nn.TransformerEncoderLayer`, and a stack that gives the same in every mode.",
    minutes=20,
    difficulty="medium",
    core=False,
    hints=[
        "A layer has two sublayers, attention and forward, and each has its norm and its residual connection. Write the two "
        "as functions of z first, then the four lines that put them together, two for each `norm_first`.",
        "`self_attn` returns a pair: the result, and the weights, which nobody needs here. Its `key_padding_mask` has the "
        "meaning of `padding`, and keeps all from looking there; but what is computed AT padding stays in the result.",
        "attention(z): `layer.dropout1(layer.self_attn(z, z, z, key_padding_mask=padding, need_weights=False)[0])`; "
        "forward(z): `layer.dropout2(layer.linear2(layer.dropout(layer.activation(layer.linear1(z)))))`; at the end "
        "`x.masked_fill(padding[:, :, None], 0.0)`, if there is padding.",
    ],
)

STACK = "What the layers of an `nn.TransformerEncoder` make of x, one after the other, in every mode."
SHAPE = "Shape (B, T, E), dtype of x."
POST = "A layer is x = norm1(x + attention(x)), then x = norm2(x + forward(x))."
PRE = "With `norm_first` it is x = x + attention(norm1(x)), then x = x + forward(norm2(x))."
PARTS = (
    "attention(z) is dropout1 of what `self_attn` gives for z as query, key and value; forward(z) is "
    "dropout2(linear2(dropout(activation(linear1(z)))))."
)
CALLED = "These parts are called, with the layer's own `activation`."
STAY = "The arguments stay as they were, also the modes of the layers."
ANYWHERE = torch.tensor([[0, 1, 1, 1, 0], [1, 0, 1, 0, 1], [1, 1, 1, 1, 0]], dtype=torch.bool)
NAMES = ("self_attn", "linear1", "linear2", "norm1", "norm2", "dropout", "dropout1", "dropout2")


@encode.property(
    "the equations are written by hand: torch's layer works nowhere inside",
    asks="A layer itself is never called, nor its `forward`, nor `nn.TransformerEncoder`.",
)
def by_hand(answer: Answer, trial: Trial) -> None:
    x, one = drawn(trial, 2, 4), layer(trial)
    functions = (nn.TransformerEncoderLayer.forward, nn.TransformerEncoder.forward)
    for gradients in (True, False):
        trial.given(f"one layer, eval, {'with' if gradients else 'without'} gradients; calls are watched")
        with calls_to(*functions) as seen, torch.set_grad_enabled(gradients), contextlib.suppress(Exception):
            answer(x, [one])
        trial.true(
            not seen,
            f"The answer calls {seen and seen[0]}, which is what this exercise builds.",
            expected="calls of the layer's parts",
            got=", ".join(sorted(set(seen))),
            observed="a layer of torch",
        )


@encode.property("one layer: norm after each sublayer", asks=(POST, PARTS))
def one_layer(answer: Answer, trial: Trial) -> None:
    trial.given("one layer with norm_first=False, in eval; x of shape (2, 4, 6)")
    compared(answer, trial, drawn(trial, 2, 4), [layer(trial)])
    trial.given("one layer with norm_first=False, in eval; x of shape (1, 1, 6), float32")
    compared(answer, trial, drawn(trial, 1, 1, torch.float32), [layer(trial, dtype=torch.float32)])


@encode.property("one layer with norm_first: norm before each sublayer", asks=PRE)
def norm_first(answer: Answer, trial: Trial) -> None:
    trial.given("one layer with norm_first=True, in eval; x of shape (2, 4, 6)")
    compared(answer, trial, drawn(trial, 2, 4), [layer(trial, norm_first=True)])


@encode.property(
    "several layers, each with its own options and activation, from any iterable",
    asks=(STACK, CALLED, "None: none is."),
)
def several_layers(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 2, 4)
    trial.given("two layers with the same options and different weights, in eval")
    compared(answer, trial, x, [layer(trial), layer(trial)])
    trial.given("one layer with activation='gelu', in eval")
    compared(answer, trial, x, [layer(trial, activation="gelu")])
    mixed = [
        layer(trial, 3, 7, norm_first=True, activation=torch.cos),
        layer(trial, 1, 4, activation=nn.Softplus(), layer_norm_eps=0.5),
        layer(trial, 2, 5, norm_first=True, activation="gelu"),
        layer(trial, 6, 3, bias=False),
    ]
    trial.given("four layers with different norm_first, activation, heads, width, eps and bias, in eval")
    compared(answer, trial, x, mixed)
    trial.given("the same four layers in an nn.ModuleList")
    compared(answer, trial, x, mixed, given=nn.ModuleList(mixed))
    trial.given("the same four layers from a generator")
    compared(answer, trial, x, mixed, given=(each for each in mixed))


@encode.property(
    "nobody looks at padding", asks="In a sample that has a real position, nobody looks at padding."
)
def nobody_looks(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 3, 5)
    for count in (1, 2):
        layers = [layer(trial, norm_first=bool(each)) for each in range(count)]
        trial.given(
            f"{count} layer{'s' * (count > 1)}, in eval; x of shape (3, 5, 6); 5, 3 and 1 of 5 positions are real, and "
            "compared"
        )
        compared(answer, trial, x, layers, padding_of(5, 5, 3, 1), only_real=True)
    trial.given(
        "the same two layers; x of shape (3, 5, 6); real, and compared, are 0 and 4, 1 and 3, and the last of 5 positions"
    )
    compared(answer, trial, x, layers, ANYWHERE, only_real=True)


@encode.property(
    "0 at padding, in training and in eval, with gradients and without",
    asks="The result is 0 at padding, in training and in eval, with gradients and without.",
)
def zero_at_padding(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 3, 5)
    layers = [layer(trial, dropout=0.0), layer(trial, dropout=0.0, norm_first=True)]
    in_every_mode(answer, trial, x, layers, padding_of(5, 5, 3, 1), "5, 3 and 1 of 5 positions are real")
    trial.given("two layers in eval; real are 0 and 4, 1 and 3, and the last of 5 positions")
    compared(answer, trial, x, layers, ANYWHERE)


@encode.property(
    "0 where a sample is padding throughout, in every mode",
    asks="The result is 0 at padding, in training and in eval, with gradients and without.",
)
def zero_in_an_empty_sample(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 3, 5)
    for pre in (False, True):
        layers = [layer(trial, dropout=0.0, norm_first=pre) for _ in range(2)]
        words = f"norm_first={pre}; the second of 3 samples is padding throughout"
        in_every_mode(answer, trial, x, layers, padding_of(5, 5, 0, 2), words)


MODES = (
    ("in eval, with gradients", False, True, False),
    ("in eval, without gradients", False, False, False),
    ("in eval, with gradients, and no weight requires grad", False, True, True),
    ("in training, with gradients", True, True, False),
    ("in training, without gradients", True, False, False),
    ("in training, with gradients, and no weight requires grad", True, True, True),
)


def in_every_mode(
    answer: Answer, trial: Trial, x: Tensor, layers: list[Layer], padding: Tensor, words: str
) -> None:
    """Wrong unless 0 stands at padding in all modes; in which there is something else is what is observed."""
    found: dict[str, str] = {}
    for mode, training, gradients, frozen in MODES:
        for each in layers:
            each.train(training).requires_grad_(not frozen)
        trial.given(f"two layers without dropout, {mode}; {words}")
        found[mode] = at_padding(answer, trial, x, layers, padding, gradients)
    for each in layers:
        each.eval().requires_grad_()
    wrong = [mode for mode, there in found.items() if there != "0"]
    if wrong:
        trial.given(f"two layers without dropout, {wrong[0]}; {words}")
        right = [mode for mode in found if mode not in wrong]
        trial.fail(
            f"At padding the result is not 0, but {found[wrong[0]]}."
            + (f" It is 0 {'; '.join(right)}." if right else " So it is in every mode."),
            expected="0 at padding in every mode",
            got=f"{found[wrong[0]]} in {len(wrong)} of {len(found)} modes that are tried",
            observed=list(found.values()),
        )


@encode.property("the layers stay in the modes in which they were", asks=STAY)
def modes_stay(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 2, 4)
    for words, training in (("all of it in training", True), ("in eval, but dropout1 in training", False)):
        for gradients in (True, False):
            one = layer(trial, dropout=0.0).train(training)
            one.dropout1.train()
            before = [module.training for module in one.modules()]
            trial.given(f"one layer, {words}, {'with' if gradients else 'without'} gradients")
            with torch.set_grad_enabled(gradients):
                trial.call(answer, x, [one])
            after = [module.training for module in one.modules()]
            trial.true(
                before == after,
                f"Before the call {sum(before)} of the layer's {len(before)} modules were in training, and after it "
                f"{sum(after)}.",
                expected="each module in the mode in which it was",
                got="other modes",
                observed=("modes", sum(before), sum(after)),
            )


@encode.property("each part of a layer is called, also those that do nothing in eval", asks=CALLED)
def parts_are_called(answer: Answer, trial: Trial) -> None:
    x, one = drawn(trial, 2, 4), layer(trial, activation=nn.Tanh())
    called: set[str] = set()
    parts = {name: getattr(one, name) for name in (*NAMES, "activation")}
    hooks = [
        part.register_forward_hook(lambda *_, name=name: called.add(name)) for name, part in parts.items()
    ]
    trial.given("one layer in eval; calls of its parts are watched")
    trial.call(answer, x, [one])
    for hook in hooks:
        hook.remove()
    left_out = [name for name in parts if name not in called]
    trial.true(
        not left_out,
        f"Not called: {', '.join(left_out)}. What a part does besides its formula is lost: dropout in training, hooks, a "
        "part that somebody exchanged.",
        expected="each part of the layer called",
        got=f"called: {', '.join(name for name in parts if name in called)}",
        observed=("not called", left_out),
    )


@encode.property("in training each dropout works in its place", asks=(PARTS, STACK), changes=("torch RNG",))
def dropout_in_its_place(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 2, 4)
    for pre in (False, True):
        for name in ("dropout1", "dropout", "dropout2"):
            one = layer(trial, dropout=0.0, norm_first=pre, activation=torch.cos).train()
            getattr(one, name).p = 1.0
            trial.given(
                f"one layer in training, norm_first={pre}; {name}.p is 1, so that it gives 0, the others' is 0"
            )
            compared(answer, trial, x, [one])


@encode.property("x and the weights of all layers get their gradients", asks=(STACK, SHAPE))
def gradients(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 3, 5).requires_grad_()
    layers = [layer(trial, dropout=0.0), layer(trial, dropout=0.0, norm_first=True)]
    padding = padding_of(5, 5, 3, 1)
    weights = {
        f"{name} of layer {place}": weight
        for place, each in enumerate(layers)
        for name, weight in each.named_parameters()
    }
    leaves = {"x": x, **weights}
    above = torch.randn(x.shape, generator=trial.generator, dtype=x.dtype)
    trial.given("two layers in eval, 5, 3 and 1 of 5 positions are real; a random gradient comes in")
    got = trial.call(answer, x, layers, padding)
    trial.equal(got, torchs_own(x, layers, padding), observed="values with gradients")
    slopes = torch.autograd.grad(got, [*leaves.values()], above, allow_unused=True)
    rights = torch.autograd.grad(torchs_own(x, layers, padding), [*leaves.values()], above)
    wrong = [
        (name, state)
        for (name, slope, right) in zip(leaves, slopes, rights, strict=True)
        if (state := what_is_wrong(slope, right))
    ]
    trial.true(
        not wrong,
        f"Gradients are not torch's: {', '.join(f'{name} ({state})' for name, state in wrong[:3])}"
        f"{' and more' * (len(wrong) > 3)}.",
        expected="the gradients that come through torch's layers",
        got=f"{len(wrong)} of {len(leaves)} gradients wrong",
        observed=wrong,
    )


@encode.property(
    "no gradient becomes NaN where a sample is padding throughout",
    asks="No gradient becomes NaN, also where a sample is padding throughout.",
    once_right=True,
)
def no_nan(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 3, 5).requires_grad_()
    one = layer(trial, dropout=0.0).train()
    trial.given(
        "one layer in training; the second of 3 samples is padding throughout; the loss reads the first"
    )
    got = trial.call(answer, x, [one], padding_of(5, 5, 0, 2))
    leaves = {"x": x, **dict(one.named_parameters())}
    slopes = torch.autograd.grad(got[0].sum(), [*leaves.values()], allow_unused=True)
    bad = [
        name
        for name, slope in zip(leaves, slopes, strict=True)
        if slope is not None and not slope.isfinite().all()
    ]
    trial.true(
        not bad,
        f"NaN is in the gradients of {', '.join(bad[:3])}{' and more' * (len(bad) > 3)}, though the loss does not depend "
        "on the sample that is padding throughout.",
        expected="finite gradients: 0 for what the loss does not depend on",
        got=f"{len(bad)} of {len(leaves)} gradients with NaN",
        observed=("NaN in", sorted(bad)),
    )


def what_is_wrong(slope: Tensor | None, right: Tensor) -> str:
    if slope is None:
        return "None"
    return "" if torch.allclose(slope, right, rtol=1e-6, atol=1e-8) else "wrong numbers"
