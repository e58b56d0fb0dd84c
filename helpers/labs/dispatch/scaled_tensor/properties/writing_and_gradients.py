"""Properties of 12.scaled_tensor: what writes, and the gradient of a leaf."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.check.trial import Trial
from helpers.labs.dispatch.scaled_tensor.exercise import LEAF, WRITES, scaled_tensor
from helpers.labs.dispatch.scaled_tensor.inputs import drawn, plain, same_values
from helpers.notebook.stubs import missing_exercise


@scaled_tensor.property("what writes raises NotImplementedError, and writes nothing", asks=WRITES)
def writes(answer: Any, trial: Trial) -> None:
    for words, run in {
        "t.add_(1)": lambda t, y: t.add_(1),
        "t *= 2": lambda t, y: t.mul_(2),
        "t.neg_()": lambda t, y: t.neg_(),
        "t.zero_()": lambda t, y: t.zero_(),
        "t.copy_(y)": lambda t, y: t.copy_(y),
        "t[0] = 1.0": lambda t, y: t.__setitem__(0, 1.0),
        "t[1:].mul_(2)": lambda t, y: t[1:].mul_(2),
        "y.add_(t)": lambda t, y: y.add_(t),
        "y.copy_(t)": lambda t, y: y.copy_(t),
        "torch.add(y, 1, out=t)": lambda t, y: torch.add(y, 1, out=t),
        "torch.add(t, 1, out=y)": lambda t, y: torch.add(t, 1, out=y),
        "torch.mm(t, y.T, out=z)": lambda t, y: torch.mm(t, y.T, out=torch.empty(3, 3)),
        "torch._foreach_add_([y, t], 1)": lambda t, y: torch._foreach_add_([y, t], 1),
        "torch.nn.init.normal_(t)": lambda t, y: t.normal_(generator=trial.generator),
    }.items():
        inner, y = drawn(trial, 3, 4), drawn(trial, 3, 4)
        t, before, y_before = answer(inner, 2.0), inner.clone(), y.clone()
        trial.given(f"{words}; t = ScaledTensor(inner, 2.0), y a plain tensor")
        raised = "nothing"
        try:
            run(t, y)
        except NotImplementedError as error:
            if missing_exercise(error):
                raise
            raised = "NotImplementedError"
        except Exception as error:
            raised = type(error).__name__
        changed = [
            name
            for name, now, was in (("inner", inner, before), ("y", y, y_before))
            if not torch.equal(now, was)
        ]
        if t.inner is not inner or t.scale != 2.0:
            changed.append("t's inner or scale")
        trial.true(
            raised == "NotImplementedError",
            f"{raised[0].upper()}{raised[1:]} was raised"
            + (f", and {' and '.join(changed)} changed." if changed else "."),
            expected="NotImplementedError, and nothing written",
            got=raised,
            observed=("raised", words, raised, changed),
        )
        trial.true(
            not changed,
            f"NotImplementedError was raised, and {' and '.join(changed)} changed before.",
            expected="nothing written",
            got=f"{' and '.join(changed)} changed",
            observed=("written", words, changed),
        )


@scaled_tensor.property("it is a leaf that gets the plain tensor's gradient", asks=LEAF)
def as_a_leaf(answer: Any, trial: Trial) -> None:
    inner, y, up = drawn(trial, 3, 4), drawn(trial, 5, 4), drawn(trial, 5, 3)
    trial.given("ScaledTensor(inner, 2.0).requires_grad_()")
    t = answer(inner, 2.0)
    trial.true(
        not t.requires_grad and t.is_leaf,
        "Without `requires_grad_()` it requires grad already, or is no leaf.",
        expected="a leaf that does not require grad",
        observed=("before", t.requires_grad, t.is_leaf),
    )
    t.requires_grad_()
    trial.true(
        t.requires_grad and t.is_leaf and t.grad is None,
        f"requires_grad is {t.requires_grad}, is_leaf {t.is_leaf}.",
        expected="a leaf that requires grad, with no gradient yet",
        observed=("after", t.requires_grad, t.is_leaf),
    )
    for words, run in {
        "(t.exp() * y).sum()": lambda t, y: (t.exp() * y[:3]).sum(),
        "(3 * t).pow(2).sum()": lambda t, y: (3 * t).pow(2).sum(),
        "(-t / 4).exp().sum()": lambda t, y: (-t / 4).exp().sum(),
        "(t.T[1:] * y).sum()": lambda t, y: (t.T[1:] * y[:3, :3]).sum(),
        "the second of t.unbind(), squared": lambda t, y: t.unbind()[1].pow(2).sum(),
        "F.linear(y, t)": lambda t, y: (F.linear(y, t) * up).sum(),
        "(2 * t) @ y.T, squared": lambda t, y: ((2 * t) @ y.T).pow(2).sum(),
        "t @ t.T": lambda t, y: (t @ t.T).pow(2).sum(),
        "t * t": lambda t, y: (t * t).sum(),
        "F.mse_loss(F.linear(y, t), up), twice": lambda t, y: F.mse_loss(F.linear(y, t), up) * 2,
    }.items():
        trial.given(f"backward of {words}; t = ScaledTensor(inner, 2.0), a leaf, and so is y")
        t, dense = answer(inner, 2.0).requires_grad_(), (inner * 2.0).requires_grad_()
        mine, other = y.clone().requires_grad_(), y.clone().requires_grad_()
        for number in range(2):
            got = run(t, mine)
            trial.true(
                isinstance(got, Tensor) and got.requires_grad,
                "The result does not require grad: nothing was recorded.",
                expected="a result with a way back to the leaf",
                got="requires_grad=False",
                observed=("no way back", words),
            )
            got.backward()
            run(dense, other).backward()
            trial.true(
                t.grad is not None,
                "The leaf got no gradient.",
                expected=dense.grad,
                got="None",
                observed=("no gradient", words),
            )
            known = {
                "the gradient with respect to inner": dense.grad * 2,
                "the gradient divided by the scale": dense.grad / 2,
            }
            what = "The gradient" if not number else "The gradient after a second backward"
            same_values(trial, plain(t.grad, answer), dense.grad, what, (words, number), known)
            if other.grad is not None:
                same_values(
                    trial, plain(mine.grad, answer), other.grad, "The gradient of y", ("y", words, number)
                )
