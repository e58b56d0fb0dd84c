"""Properties of 12.mini_autocast about each place, each shape and each default, and about what `higher` does not keep."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from helpers.check.trial import Trial
from helpers.labs.dispatch.mini_autocast.exercise import (
    AUTOCAST,
    GRADIENTS,
    LOWERED,
    ONCE,
    OTHERS,
    RAISED,
    WHEREVER,
    mini_autocast,
)
from helpers.labs.dispatch.mini_autocast.inputs import (
    alike,
    backward,
    casts,
    compare_gradients,
    drawn,
    leaf,
    made,
    once,
    same,
    short,
    telling,
)

HALF = (torch.bfloat16, torch.float16)


@mini_autocast.property("a leaf is cast once, wherever it stands", asks=(ONCE, WHEREVER))
def places(answer: Any, trial: Trial) -> None:
    tells = telling("one")
    for place, key, use in (
        ("by keyword", "keyword", lambda w: tells(2, more=w)),
        ("in a list", "list", lambda w: tells([w, 3])),
        ("in a tuple", "list", lambda w: tells((w, 3))),
        ("in a list that is given by keyword", "list", lambda w: tells(2, more=[w])),
        ("in a tuple that is given by keyword", "list", lambda w: tells(2, more=(w,))),
    ):
        w = leaf(trial, 3, 5)
        trial.given(f"a function of `lower` gets a leaf by its place, then twice {place}, in one block")
        with casts(w) as found, answer(torch.bfloat16, {"one"}, set()):
            tells(w)
            for _ in range(2):
                use(w)
        once(trial, found, f"It had its cast before it was given {place}.", key)


@mini_autocast.property("tensors of every shape are cast", asks=(LOWERED, RAISED, ONCE))
def shapes(answer: Any, trial: Trial) -> None:
    every = {
        "without dimensions": (),
        "without elements": (0, 3),
        "of one element": (1,),
        "of four dimensions": (2, 3, 1, 2),
    }
    for words, shape in every.items():
        for name, of, to in (
            ("one", torch.float32, torch.bfloat16),
            ("two", torch.bfloat16, torch.float32),
            ("two", torch.float16, torch.float32),
        ):
            for grad in (False, True):
                x = drawn(trial, *shape).to(of).requires_grad_(grad)
                trial.given(
                    f"a function of `{'lower' if name == 'one' else 'higher'}` gets a {short(of)} tensor {words}"
                    + (", a leaf that requires grad" if grad else "")
                )
                with answer(torch.bfloat16, {"one"}, {"two"}):
                    (got,) = telling(name)(x).args
                trial.true(
                    alike(got, x.detach().to(to)),
                    f"A {short(of)} tensor {words} did not come as {short(to)}, with its values.",
                    expected=short(to),
                    got=short(got.dtype),
                    observed=("shape", words, got is x),
                )
        w = leaf(trial, *shape)
        trial.given(f"a leaf {words} goes to a function of `lower` three times, in one block")
        with casts(w) as found, answer(torch.bfloat16, {"one"}, {"two"}):
            for _ in range(3):
                telling("one")(w)
        once(trial, found, "It is used three times, and need not be cast again.", words)


@mini_autocast.property("float32 is meant, whatever the default is", asks=(LOWERED, RAISED, OTHERS))
def default(answer: Any, trial: Trial) -> None:
    given = [drawn(trial, 3).to(kind) for kind in (torch.float32, torch.float64, *HALF)]
    old = torch.get_default_dtype()
    for name, wanted in (
        ("one", [torch.bfloat16, torch.float64, *HALF]),
        ("two", [torch.float32, torch.float64, torch.float32, torch.float32]),
    ):
        trial.given(
            f"after torch.set_default_dtype(torch.float64): a function of `{'lower' if name == 'one' else 'higher'}` gets "
            "tensors of float32, float64, bfloat16 and float16; MiniAutocast(torch.bfloat16, ...)"
        )
        torch.set_default_dtype(torch.float64)
        try:
            with answer(torch.bfloat16, {"one"}, {"two"}):
                got = [each.dtype for each in telling(name)(*given).args]
        finally:
            torch.set_default_dtype(old)
        trial.true(
            got == wanted,
            "Where the default dtype is float64, the tensors came in other dtypes.",
            expected=[short(each) for each in wanted],
            got=[short(each) for each in got],
            observed=("default", name, [short(each) for each in got]),
        )


@mini_autocast.property("functions of higher cast anew each time", asks=(RAISED, GRADIENTS, AUTOCAST))
def higher_keeps_none(answer: Any, trial: Trial) -> None:
    y = drawn(trial, 4, 5)
    tells = telling("two")
    for of in HALF:
        for grad in (True, False):
            h = drawn(trial, 4, 5).to(of).requires_grad_(grad) * 1
            trial.given(
                f"a function of `higher` gets h, then h.mul_(2), then the function gets h again; h is {short(of)}"
                + (", and no leaf" if grad else ", and does not require grad")
            )
            with answer(torch.bfloat16, set(), {"two"}):
                tells(h)
                h.mul_(2)
                (got,) = tells(h).args
            same(trial, got, h.float(), "What the function got", "It is to be h as it is then.", "changed")
    for of in HALF:
        v = drawn(trial, 4, 5).to(of).requires_grad_()
        trial.given(
            f"in one block: F.mse_loss(v, y) under no_grad, then with grad, and a backward of this; v is a {short(of)} leaf"
        )
        with made(answer):
            with torch.no_grad():
                F.mse_loss(v, y)
            got = F.mse_loss(v, y)
        backward(trial, got)
        other = v.detach().clone().requires_grad_()
        F.mse_loss(other.float(), y).backward()
        why = "The leaf was first used under no_grad."
        compare_gradients(trial, ("v",), [v.grad], [other.grad], why, "higher after no_grad")
    for of in HALF:
        trial.given(
            f"F.mse_loss(v, 1.37 * y) + F.mse_loss(v, 2.71 * y) in one block, then a backward; v is a {short(of)} leaf"
        )
        grads = []
        for block in (made(answer), torch.autocast("cpu", torch.bfloat16)):
            v = y.to(of).requires_grad_()
            with block:
                loss = F.mse_loss(v, y * 1.37) + F.mse_loss(v, y * 2.71)
            backward(trial, loss)
            grads.append([v.grad])
        why = "torch.autocast makes a cast for each use here, so that their gradients are added in the leaf's dtype."
        compare_gradients(trial, ("v",), *grads, why, "higher twice")


@mini_autocast.property("it counts whether a leaf requires grad now", asks=(ONCE, AUTOCAST))
def frozen(answer: Any, trial: Trial) -> None:
    x, start = drawn(trial, 4, 5), drawn(trial, 3, 5)
    for words, order in (
        ("with grad, then frozen by w.requires_grad_(False), then with grad again", (True, False, True)),
        ("frozen, then with grad, twice, then frozen", (False, True, True, False)),
    ):
        trial.given(f"F.linear(x, w), each in one block: {words}; then a backward of those with grad")
        results: list[list[Any]] = []
        for block in (made(answer), torch.autocast("cpu", torch.bfloat16)):
            w = start.clone()
            with block:
                results.append([F.linear(x, w.requires_grad_(grad)) for grad in order])
            result = sum(each.float() for each in results[-1] if each.requires_grad)
            w.requires_grad_()
            if isinstance(result, torch.Tensor):
                result.sum().backward()
            results[-1].append(w.grad)
        (*got, grad), (*want, its) = results
        for one, other, is_on in zip(got, want, order, strict=True):
            trial.true(
                one.requires_grad == is_on,
                f"w {'requires' if is_on else 'does not require'} grad in this call, and the result "
                f"{'does not' if is_on else 'does'}.",
                expected=f"requires_grad={is_on}",
                got=f"requires_grad={one.requires_grad}",
                observed=("frozen", words, is_on),
            )
            same(trial, one, other, "The result", "torch.autocast gives it so.", ("frozen", words))
        compare_gradients(trial, ("w",), [grad], [its], "torch.autocast gives this gradient.", words)
