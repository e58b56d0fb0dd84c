"""Exercise 12.scaled_tensor: a class of tensors behind each of which a number and a different tensor stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.dispatch.scaled_tensor.inputs import (
    behind,
    drawn,
    hides,
    is_new,
    is_plain,
    is_scaled,
    lies_in,
    not_scaled,
    nothing_made,
    plain,
    same_values,
    shape_of,
)

scaled_tensor = Exercise(
    "12.scaled_tensor",
    "A tensor that is two things",
    objective="Make a class of tensors that torch takes for one tensor, while a number and a different tensor stand behind it.",
    minutes=35,
    difficulty="hard",
    core=False,
    names=("ScaledTensor",),
    kind="class",
    hints=[
        "`Tensor._make_wrapper_subclass(cls, size, ...)` makes a tensor without memory; strides, storage_offset, dtype and device "
        "are given by keyword. All that torch then does with it comes to `__torch_dispatch__`, below autograd.",
        "Print `func` and `args` of a few lines: `2 * t` and `t * 2` both come as aten.mul.Tensor, `t @ w` as aten.mm.default, "
        "`t.T` as an operation whose `is_view` is True. Ask first whether the operation writes.",
        "The results of a view may be one tensor or several: `tree_map_only` makes a ScaledTensor of each. It also finds the "
        "ScaledTensors in lists and by keyword, for the last case: `inner * scale` in place of each, then `func`.",
        "In mul, one of the two is a ScaledTensor and the other an int or a float; in div, it is the first one. In mm, replace "
        "each by its `inner`, call `mm`, and `mul_` the result by the product of the scales: if both are scaled, by both. Ask with "
        "`isinstance` which are: every plain tensor has an `inner`, too, the method for `torch.inner`.",
    ],
)

MULTIPLY = ("mul", "mul_", "div", "div_")
# Near to a multiple: which of them came as a ScaledTensor tells why. Of all others it is one mistake.
NEAR = (
    "t * torch.tensor(2.0)",
    "t / torch.tensor(2.0)",
    "1 / t",
    "torch.div(t, 2, rounding_mode='floor')",
    "t / 0",
    "t / 0.0",
    "t / -0.0",
    "t * 2j",
    "t / 2j",
)

STANDS = "Stands for `inner * scale`, and computes it only where it must."
KEPT = (
    "`ScaledTensor(inner, scale)`: `inner` is a plain float tensor, `scale` a float.",
    "They are kept as attributes of these names.",
)
LOOKS = "Size, strides, offset, dtype and device are those of `inner`."
NUMBERS = (
    "Multiplied by a Python int or float, divided by one that is not 0, and negated, it gives a new ScaledTensor with the same "
    "`inner`, the same object or an alias of it, and a new `scale`."
)
NO_MEMORY = "No memory is made."
VIEWS = (
    "An operation whose results are views (`func.is_view`) gives new ScaledTensors, of these views of `inner`, with the same "
    "`scale`."
)
PRODUCTS = (
    "In a product of two matrices (`mm`, and what comes down to it, such as `@` and F.linear without bias) each ScaledTensor "
    "takes part with its `inner`, and the result, a plain tensor, is multiplied once, by the product of the scales."
)
ONLY_THESE = "No other memory is made than for these two."
EVERY_OTHER = "Every other operation gets `inner * scale`, a plain tensor, and gives what it gives for it."
WRITES = (
    "An operation that writes to one of its arguments (`func._schema.is_mutable`) raises NotImplementedError, and writes "
    "nothing."
)
LEAF = "With `requires_grad_()` it is a leaf, and gets the gradient that the plain tensor would get."


@scaled_tensor.property("it is kept as it was given, and looks like inner", asks=(*KEPT, LOOKS, STANDS))
def as_given(answer: Any, trial: Trial) -> None:
    trial.given("the class itself")
    hidden = hides(answer)
    trial.true(
        not hidden,
        f"The class has a method `{'`, `'.join(hidden)}`, which hides Tensor's own: it needs a different name.",
        expected=f"t.{hidden[0] if hidden else ''}, as every tensor has it",
        got="a class method or static method of this name",
        observed="hides a method",
    )
    base = drawn(trial, 4, 6, 2)
    for words, inner in {
        "a tensor of shape (4, 6, 2)": base,
        "a transposed one": base.transpose(0, 1),
        "a slice of one, with an offset and steps": base[1:, ::2],
        "an expanded one, with a stride of 0": base[:1].expand(3, 6, 2),
        "an empty one": base[:0],
        "one number, of no dimension": base[1, 2, 1],
        "a bfloat16 tensor": base.to(torch.bfloat16),
        "a float64 tensor, transposed": base.double().mT,
        "a tensor on meta, with an offset": torch.empty(4, 5, device="meta")[1:],
    }.items():
        trial.given(f"ScaledTensor(inner, 2.5); inner is {words}")
        with behind() as ran:
            t = answer(inner, 2.5)
        trial.true(
            getattr(t, "inner", None) is inner,
            "`inner` is not the tensor that was given.",
            expected="the same object",
            got=type(getattr(t, "inner", None)).__name__,
            observed=("inner", words),
        )
        trial.true(
            type(getattr(t, "scale", None)) is float and t.scale == 2.5,
            "`scale` is not the number that was given.",
            expected=2.5,
            got=str(getattr(t, "scale", None)),
            observed=("scale", words),
        )
        trial.true(
            not t.requires_grad,
            "It requires grad, and `requires_grad_()` was not called.",
            expected="requires_grad=False",
            got="requires_grad=True",
            observed=("requires grad", words),
        )
        is_scaled(trial, t, answer, ("given", words))
        nothing_made(trial, ran, ("given", words))


@scaled_tensor.property("each has its own inner and scale", asks=(STANDS, *KEPT))
def several(answer: Any, trial: Trial) -> None:
    a, b = drawn(trial, 3, 4), drawn(trial, 2, 5)
    t, u = answer(a, 2.0), answer(b, -0.5)
    trial.given("t = ScaledTensor(a, 2.0), then u = ScaledTensor(b, -0.5)")
    trial.true(
        t.inner is a and u.inner is b and (t.scale, u.scale) == (2.0, -0.5),
        "After the second one was made, inner or scale of the first one is a different one.",
        expected="2.0 and -0.5, each with its own inner",
        got=f"{t.scale} and {u.scale}",
        observed=("mixed", t.inner is a, t.scale),
    )


@scaled_tensor.property("times a number, by a number, negated: a new scale", asks=(NUMBERS, NO_MEMORY))
def by_numbers(answer: Any, trial: Trial) -> None:
    inner = drawn(trial, 6, 4).mT[1:]
    runs = (
        ("t * 3", lambda t: t * 3, 3.0),
        ("3 * t", lambda t: 3 * t, 3.0),
        ("t * 2.5", lambda t: t * 2.5, 2.5),
        ("-0.25 * t", lambda t: -0.25 * t, -0.25),
        ("t * 0", lambda t: t * 0, 0.0),
        ("t / 4", lambda t: t / 4, 0.25),
        ("t / -0.5", lambda t: t / -0.5, -2.0),
        ("-t", lambda t: -t, -1.0),
        ("t.neg().neg()", lambda t: t.neg().neg(), 1.0),
        ("torch.mul(t, 2)", lambda t: torch.mul(t, 2), 2.0),
        ("torch.div(t, 2)", lambda t: torch.div(t, 2), 0.5),
        ("t.neg()", lambda t: t.neg(), -1.0),
        ("2 * t / 3 * -1.5", lambda t: 2 * t / 3 * -1.5, -1.0),
        ("t * 1", lambda t: t * 1, 1.0),
        ("1.0 * t", lambda t: 1.0 * t, 1.0),
        ("t / 1", lambda t: t / 1, 1.0),
    )
    computed = not_scaled(answer, inner, {words: run for words, run, _ in runs})
    kinds = {
        "inner not contiguous": (inner, 0.5),
        "inner not contiguous, of bfloat16": (inner.to(torch.bfloat16), 0.5),
        "inner of float64": (inner.double(), 0.1),
        "inner of no dimension": (drawn(trial), 0.5),
        "inner of shape (0, 4)": (drawn(trial, 0, 4), 0.5),
    }
    for words, run, factor in runs:
        for of, (one, scale) in kinds.items():
            t = answer(one, scale)
            trial.given(f"{words}; t = ScaledTensor(inner, {scale}), {of}")
            with behind() as ran:
                got = run(t)
            is_scaled(trial, got, answer, words, kinds=computed or of)
            trial.true(
                abs(got.scale - scale * factor) < 1e-9,
                f"The new scale is {got.scale:.12g}.",
                expected=f"{scale * factor:.12g}",
                got=f"{got.scale:.12g}",
                observed=("scale", words, got.scale),
            )
            trial.true(
                t.scale == scale and t.inner is one,
                "The ScaledTensor itself was changed, in place of a new one.",
                expected="a new ScaledTensor",
                observed=("changed itself", words),
            )
            is_new(trial, got, t, words)
            lies_in(trial, got, t.inner, answer, ran, words)
            trial.true(
                shape_of(got.inner) == shape_of(t.inner),
                "The inner of the result has a different shape or dtype, or lies differently.",
                expected=shape_of(t.inner),
                got=shape_of(got.inner),
                observed=("inner", words, shape_of(got.inner)),
            )


@scaled_tensor.property("views are views of inner, with the same scale", asks=(VIEWS, NO_MEMORY, LOOKS))
def views(answer: Any, trial: Trial) -> None:
    inner = drawn(trial, 4, 6)
    runs: dict[str, Any] = {
        "t.T": lambda t: t.T,
        "t[1:, ::2]": lambda t: t[1:, ::2],
        "t[2]": lambda t: t[2],
        "t[:, None]": lambda t: t[:, None],
        "t.view(3, 8)": lambda t: t.view(3, 8),
        "t.reshape(-1)": lambda t: t.reshape(-1),
        "t.expand(2, 4, 6)": lambda t: t.expand(2, 4, 6),
        "t.diagonal()": lambda t: t.diagonal(),
        "t.detach()": lambda t: t.detach(),
        "t.unfold(1, 2, 2)": lambda t: t.unfold(1, 2, 2),
        "t.T[1:].T": lambda t: t.T[1:].T,
        "t.unbind(1)": lambda t: t.unbind(1),
        "t.split([1, 3])": lambda t: t.split([1, 3]),
        "t.chunk(2, dim=1)": lambda t: t.chunk(2, dim=1),
        "t.view(4, 6)": lambda t: t.view(4, 6),
    }
    small: dict[str, Any] = {
        "t.T": lambda t: t.T if t.dim() == 2 else t[None, None].T,
        "t.detach()": lambda t: t.detach(),
        "t[None]": lambda t: t[None],
        "t.reshape(-1, 1)": lambda t: t.reshape(-1, 1),
        "t[None].unbind()": lambda t: t[None].unbind(),
    }
    computed = set(not_scaled(answer, inner, runs))
    parts = {words for words, run in runs.items() if not isinstance(run(inner), Tensor)}
    which = "all" if computed == set(runs) else "those with several results" if computed == parts else "some"
    empty, number = drawn(trial, 0, 6), drawn(trial)
    for words, run, inner, of in (
        *((words, run, inner, "of shape (4, 6)") for words, run in runs.items()),
        *((words, run, empty, "of shape (0, 6)") for words, run in small.items()),
        *((words, run, number, "of no dimension") for words, run in small.items()),
    ):
        t = answer(inner, -1.5)
        trial.given(f"{words}; t = ScaledTensor(inner {of}, -1.5)")
        with behind() as ran:
            got = run(t)
        want = run(inner)
        several = isinstance(want, tuple | list)
        trial.true(
            isinstance(got, tuple | list) == several and (not several or len(got) == len(want)),
            "The result is not as many tensors as there are for a plain one.",
            expected=f"{len(want)} tensors" if several else "one tensor",
            got=type(got).__name__,
            observed=("count", words, type(got).__name__),
        )
        for one, other in zip(got if several else [got], want if several else [want], strict=True):
            is_scaled(trial, one, answer, words, kinds=which if computed else of)
            is_new(trial, one, t, words)
            trial.true(
                one.scale == -1.5,
                f"The scale of the view is {one.scale:g}.",
                expected="-1.5, the same",
                got=f"{one.scale:g}",
                observed=("scale", words, one.scale),
            )
            lies_in(trial, one, inner, answer, ran, words)
            trial.true(
                shape_of(one.inner) == shape_of(other),
                "The inner of the result is not the same view of inner: its size, strides or offset differ.",
                expected=shape_of(other),
                got=shape_of(one.inner),
                observed=("view", words, shape_of(one.inner)),
            )


@scaled_tensor.property("every other operation gets inner * scale", asks=(EVERY_OTHER, STANDS))
def every_other(answer: Any, trial: Trial) -> None:
    inner, other = drawn(trial, 3, 4), drawn(trial, 3, 4)
    index, bins = torch.tensor([2, 0]), torch.tensor([-4.0, -1.0, 1.0, 4.0])
    _each(
        answer,
        trial,
        inner,
        -2.5,
        {
            "t.exp()": lambda t: t.exp(),
            "t.sum(dtype=torch.float64)": lambda t: t.sum(dtype=torch.float64),
            "t + 1": lambda t: t + 1,
            # A function: of an operator's TypeError Python would say that there is no such operator.
            "torch.sub(y, t)": lambda t: torch.sub(other, t),
            "y - t": lambda t: other - t,
            "t * y, with a tensor y": lambda t: t * other,
            "y * t, with a tensor y": lambda t: other * t,
            "t / y, with a tensor y": lambda t: t / other,
            "t * t": lambda t: t * t,
            "t / t": lambda t: t / t,
            "1 / t": lambda t: 1 / t,
            "t * torch.tensor(2.0)": lambda t: t * torch.tensor(2.0),
            "t / torch.tensor(2.0)": lambda t: t / torch.tensor(2.0),
            "torch.div(t, 2, rounding_mode='floor')": lambda t: torch.div(t, 2, rounding_mode="floor"),
            "torch.cat([t, y])": lambda t: torch.cat([t, other]),
            "torch.stack([y, t])": lambda t: torch.stack([other, t]),
            "t.mean(dim=1, keepdim=True)": lambda t: t.mean(dim=1, keepdim=True),
            "t.max(dim=1)": lambda t: tuple(t.max(dim=1)),
            "t > 0": lambda t: t > 0,
            "t[index]": lambda t: t[index],
            "torch.where(y > 0, t, y)": lambda t: torch.where(other > 0, t, other),
            "t.clone()": lambda t: t.clone(),
            "t.to(torch.float64)": lambda t: t.to(torch.float64),
            "t.softmax(1)": lambda t: t.softmax(1),
            "F.linear(y, t, bias)": lambda t: F.linear(other, t, other[0, :3]),
            "torch.addmm(t, y, y2)": lambda t: torch.addmm(t, other, other.mT @ other),
            "torch.bmm of t and y, with a batch of one": lambda t: torch.bmm(t[None], other.mT[None]),
            "t @ v, with a vector v": lambda t: t @ other[0],
            "torch.mv(y, v), v a row of t": lambda t: torch.mv(other, t[0]),
            "F.mse_loss(t, y)": lambda t: F.mse_loss(t, other),
            "t.sum().item()": lambda t: t.sum().item(),
            "torch.histogram(y, bins, weight=t)": lambda t: tuple(torch.histogram(other, bins, weight=t)),
            "t.abs()": lambda t: t.abs(),
            "torch.zeros_like(t, dtype=torch.float64)": lambda t: torch.zeros_like(t, dtype=torch.float64),
            "t / 0": lambda t: t / 0,
            "t / 0.0": lambda t: t / 0.0,
            "t / -0.0": lambda t: t / -0.0,
        },
    )
    t, u = answer(inner, 2.0), answer(other, -0.5)
    a, b = inner * 2.0, other * -0.5
    for words, run in {
        "t + u": lambda x, y: x + y,
        "u - t": lambda x, y: y - x,
        "t * u": lambda x, y: x * y,
        "t / u": lambda x, y: x / y,
        "torch.cat([u, t])": lambda x, y: torch.cat([y, x]),
    }.items():
        trial.given(f"{words}; t = ScaledTensor(inner, 2.0), u = ScaledTensor(y, -0.5)")
        got = run(t, u)
        is_plain(trial, got, answer, "others")
        same_values(trial, got, run(a, b), "The result", words)
    trial.given("t.exp(), then inner.mul_(2), then t.exp() again")
    t = answer(inner, 0.5)
    t.exp()
    inner.mul_(2)
    same_values(
        trial,
        plain(t.exp(), answer),
        (inner * 0.5).exp(),
        "The second result",
        "inner has changed",
        {"that of inner as it was before": (inner / 2 * 0.5).exp()},
    )


def _each(
    answer: Any,
    trial: Trial,
    inner: Tensor,
    scale: float,
    runs: dict[str, Callable[[Any], Any]],
    of: str = "",
) -> None:
    """Each run gives for a ScaledTensor what it gives for the plain tensor, and plain tensors."""
    for words, run in runs.items():
        trial.given(f"{words}; t = ScaledTensor({of or f'inner of shape {tuple(inner.shape)}'}, {scale})")
        t, dense = answer(inner, scale), inner * scale
        want, without = run(dense), run(inner)
        got = run(t)
        key = (words, of) if of else words
        is_plain(trial, got, answer, words if words in NEAR else "others")
        known = {"what inner gives, without the scale": _listed(without)}
        if isinstance(without, Tensor) and without.is_floating_point():
            known["what inner gives, multiplied by the scale afterwards"] = without * scale
        same_values(trial, _listed(got), _listed(want), "The result", key, known)


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple | list) else value


@scaled_tensor.property("also in every dtype, of every size, and for every number", asks=EVERY_OTHER)
def of_every_dtype(answer: Any, trial: Trial) -> None:
    runs: dict[str, Callable[[Any], Any]] = {
        "t.exp()": lambda t: t.exp(),
        "t + 1": lambda t: t + 1,
        "t.sum()": lambda t: t.sum(),
        "t.clone()": lambda t: t.clone(),
        "torch.stack([t, t])": lambda t: torch.stack([t, t]),
        "t * t": lambda t: t * t,
    }
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        for words, size in (("(3, 4)", (3, 4)), ("no dimension", ()), ("(0, 4)", (0, 4))):
            _each(answer, trial, drawn(trial, *size, dtype=dtype), 0.1, runs, f"inner of {words}, {dtype}")
    row = drawn(trial, 4)
    runs["t * y, y of float32 and shape (4,)"] = lambda t: t * row
    for dtype in (torch.float32, torch.float64):
        _each(answer, trial, drawn(trial, dtype=dtype), -0.7, runs, f"inner of no dimension, {dtype}")
    _each(
        answer,
        trial,
        row,
        0.7,
        {"t * 2j": lambda t: t * 2j, "t / 2j": lambda t: t / 2j, "t[1].exp()": lambda t: t[1].exp()},
        "inner of (4,)",
    )
    # inner times y is too large for float32, inner * scale times y is not.
    inner, y = drawn(trial, 3, 4) * 1e30, drawn(trial, 3, 4) * 1e10
    _each(
        answer,
        trial,
        inner,
        1e-30,
        {
            "torch.bmm of t and y, with a batch of one": lambda t: torch.bmm(t[None], y.mT[None]),
            "t @ v, with a vector v": lambda t: t @ y[0],
            "torch.mv(y, v), v a row of t": lambda t: torch.mv(y, t[0]),
            "torch.dot(v, w), v a row of t": lambda t: torch.dot(t[0], y[0]),
            "F.linear(y, t, bias)": lambda t: F.linear(y, t, y[0, :3]),
            "torch.addmm(y, y2, t)": lambda t: torch.addmm(y, y[:, :3], t),
            "t * y, with a tensor y": lambda t: t * y,
            "t.pow(2)": lambda t: t.pow(2),
        },
        "inner about 1e30, y about 1e10",
    )


@scaled_tensor.property("in a product of matrices inner takes part", asks=(PRODUCTS, ONLY_THESE))
def products(answer: Any, trial: Trial) -> None:
    for dtype in (torch.float32, torch.bfloat16):
        a, b = drawn(trial, 40, 300, dtype=dtype), drawn(trial, 3, 300, dtype=dtype)
        t, u = answer(a, 0.5), answer(b, -3.0)
        of = "" if dtype == torch.float32 else ", of bfloat16"
        square = answer(drawn(trial, 3, 3, dtype=dtype), 4.0)
        for words, run, parts, factor in (
            ("torch.mm(t, y.T)", lambda t=t, b=b: torch.mm(t, b.T), (a, b.T), 0.5),
            ("t @ y.T", lambda t=t, b=b: t @ b.T, (a, b.T), 0.5),
            ("torch.mm(y, t.T)", lambda t=t, b=b: torch.mm(b, t.T), (b, a.T), 0.5),
            ("F.linear(y, t)", lambda t=t, b=b: F.linear(b, t), (b, a.T), 0.5),
            ("F.linear(u, y), u scaled", lambda u=u, a=a: F.linear(u, a), (b, a.T), -3.0),
            ("F.linear(y, t) of shape (1, 3, 300)", lambda t=t, b=b: F.linear(b[None], t)[0], (b, a.T), 0.5),
            ("t @ u.T, both scaled", lambda t=t, u=u: t @ u.T, (a, b.T), -1.5),
            ("s @ s, twice the same", lambda s=square: s @ s, (square.inner, square.inner), 16.0),
            ("(2 * t) @ (-u).T", lambda t=t, u=u: (2 * t) @ (-u).T, (a, b.T), 3.0),
            ("t[:0] @ y.T, no rows", lambda t=t, b=b: t[:0] @ b.T, (a[:0], b.T), 0.5),
        ):
            trial.given(
                f"{words}; t = ScaledTensor(inner of shape (40, 300), 0.5), y of shape (3, 300), u = ScaledTensor(y, -3.0){of}"
            )
            product = torch.mm(*(each.float() for each in parts))
            with behind() as ran:
                got = run()
            is_plain(trial, got, answer, words)
            one = {0.5: 0.5, -3.0: -3.0}.get(factor, None)
            known = {"the product of the inner tensors, not multiplied": product.to(dtype)}
            if one is None:
                for number in (0.5, -3.0, 1.0, 4.0):
                    known[f"the product of the inner tensors times {number:g}, one of the scales"] = (
                        product * number
                    ).to(dtype)
            else:
                known["the product times the scale twice"] = (product * factor * factor).to(dtype)
            want = (product * factor).to(dtype)
            same_values(trial, got, want, "The product", words, known, atol=1e-3)
            times = [each.name for each in ran if each.size == got.numel() > 0 and each.name in MULTIPLY]
            trial.true(
                len(times) < 2,
                f"The product was multiplied {len(times)} times, by {' and '.join(times)}.",
                expected="once, by the product of the scales",
                got=f"{len(times)} times",
                observed=("times", words, len(times)),
            )
            nothing_made(trial, ran, words, 2 * got.numel() * got.element_size() + 16)
    a, b = drawn(trial, 4, 30, dtype=torch.float64), drawn(trial, 3, 30, dtype=torch.float64)
    t, u = answer(a, 0.1), answer(b, 0.7)
    for words, run, want in (
        ("t @ y.T", lambda: t @ b.T, a @ b.T * 0.1),
        ("torch.mm(y, t.T)", lambda: torch.mm(b, t.T), b @ a.T * 0.1),
        ("t @ u.T, both scaled", lambda: t @ u.T, a @ b.T * (0.1 * 0.7)),
    ):
        trial.given(f"{words}; t = ScaledTensor(inner, 0.1), u = ScaledTensor(y, 0.7), of float64")
        same_values(trial, run(), want, "The product", (words, "float64"))
