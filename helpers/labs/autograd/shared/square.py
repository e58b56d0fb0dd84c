"""Properties that both styles of Square have."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from helpers.check.trial import Trial
from helpers.labs.autograd.shared.functions import (
    Answer,
    called,
    counted_memory,
    gradients,
    gradients_unless_edited,
    is_tensor,
    kind_of,
    memory_of,
    no_collection,
    require_function,
    require_own_node,
)


def drawn(trial: Trial, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Normal numbers of both signs, none of them near 0."""
    x = torch.randn(shape, generator=trial.generator, dtype=dtype)
    return x + x.sign() / 4


def values(answer: Answer, trial: Trial) -> None:
    for shape, dtype in [
        ((3, 5), torch.float32),
        ((4, 2, 3), torch.float64),
        ((), torch.float64),
        ((0, 3), torch.float32),
        ((1,), torch.float64),
    ]:
        x = drawn(trial, *shape, dtype=dtype)
        x = x.mT if len(shape) > 1 else x
        for needs_grad in (False, True):
            x = x.detach().requires_grad_(needs_grad)
            trial.given(f"x of shape {tuple(x.shape)}, {dtype}, requires_grad={needs_grad}")
            got = called(answer, trial, x)
            is_tensor(trial, got)
            want = (x.detach() * x.detach()).requires_grad_(needs_grad)
            kind = kind_of(got.detach(), x=x.detach(), twice=2 * x.detach())
            trial.equal(got, want, observed=(kind, got.requires_grad))


def own_node(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 2, 3).requires_grad_()
    trial.given("x of shape (2, 3), a leaf that requires grad")
    got = called(answer, trial, x)
    is_tensor(trial, got)
    require_own_node(trial, got, [x])


def gradient(answer: Answer, trial: Trial) -> None:
    for shape, dtype in [((3, 5), torch.float64), ((2, 7), torch.float32), ((), torch.float64)]:
        x = drawn(trial, *shape, dtype=dtype).requires_grad_()
        c = drawn(trial, *shape[::-1], dtype=dtype).T if len(shape) > 1 else drawn(trial, dtype=dtype)
        trial.given(
            f"x of shape {shape}, {dtype}, and random numbers of that shape as the gradient that comes in"
        )
        (got,) = gradients(answer, trial, called(answer, trial, x), [x], c.clone())
        with torch.no_grad():
            kind = kind_of(got, without_grad_out=2 * x, half=c * x, sign_lost=2 * c * x.abs(), upstream=c)
            want = 2 * c * x
        trial.equal(got, want, "The gradient of x", observed=kind)


def expanded_gradient(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 3, 4).requires_grad_()
    trial.given("y.sum().backward(): the gradient that comes in is one 1, expanded")
    (got,) = gradients(answer, trial, called(answer, trial, x).sum(), [x])
    trial.equal(got, 2 * x.detach(), "The gradient of x", observed=kind_of(got, half=x, other_sign=-2 * x))


def grad_out_left_alone(answer: Answer, trial: Trial) -> None:
    x, c = drawn(trial, 3, 4).requires_grad_(), drawn(trial, 3, 4)
    before = c.clone()
    trial.given("a gradient c of shape (3, 4) that comes in")
    gradients(answer, trial, called(answer, trial, x), [x], c)
    trial.true(
        torch.equal(c, before),
        "After backward, the gradient that came in is another one: backward edited it in place. Other nodes may be "
        "given the same tensor.",
        expected="grad_out as it was",
        got="edited",
        observed="grad_out edited",
    )


def second_derivatives(answer: Answer, trial: Trial) -> None:
    x, c, d = (drawn(trial, 3, 4) for _ in range(3))
    x.requires_grad_(), c.requires_grad_()
    trial.given(
        "x and the gradient c that comes in, both of shape (3, 4) and requiring grad; create_graph=True"
    )
    (plain,) = gradients(answer, trial, called(answer, trial, x), [x], c.detach().clone())
    if kind_of(plain, right=2 * c * x) != "right":
        return  # another property says so
    (first,) = gradients(answer, trial, called(answer, trial, x), [x], c, create_graph=True)
    is_tensor(trial, first, "The gradient of x")
    trial.true(
        first.requires_grad,
        "With create_graph=True the gradient of x has no graph of its own: it cannot be differentiated again.",
        expected="2 * c * x with a grad_fn",
        got="a gradient that does not require grad",
        observed="no graph",
    )
    try:
        first.backward(d)
    except RuntimeError as error:
        if "once_differentiable" not in str(error):
            raise
        trial.fail(
            "The gradient of x cannot be differentiated again: backward is marked once_differentiable.",
            expected="second derivatives",
            got=str(error),
            observed="once",
        )
    with torch.no_grad():
        for name, got, want in (("x", x.grad, 2 * c * d), ("the gradient that came in", c.grad, 2 * x * d)):
            trial.true(
                got is not None,
                f"The gradient of x, differentiated again, does not depend on {name}: backward used a tensor that "
                "autograd does not follow.",
                expected=f"the derivative of 2 * c * x by {name}",
                got="no connection (None): counts as 0",
                observed=("cut", name),
            )
            trial.equal(got, want, f"The derivative of the gradient by {name}", observed=("other", name))


def checked_by_torch(answer: Answer, trial: Trial) -> None:
    require_function(answer, trial)
    x = drawn(trial, 3, 2).T.requires_grad_()
    for check in (gradcheck, gradgradcheck):
        trial.given(f"torch.autograd.{check.__name__}, x of shape (2, 3), transposed, float64")
        raised = None
        with torch.random.fork_rng(devices=[]):  # gradgradcheck draws from the global generator
            try:
                accepted = check(answer.apply, (x,), raise_exception=False)
            except NotImplementedError:
                raise
            except Exception as error:
                accepted, raised = False, error
        trial.true(
            accepted,
            f"{check.__name__} says no: "
            + (f"it raised {raised}" if raised else "the derivative differs from finite differences."),
            expected="True",
            got="False",
            observed=(check.__name__, type(raised).__name__),
        )


def edited_before_backward(answer: Answer, trial: Trial) -> None:
    leaf = drawn(trial, 3, 4).requires_grad_()
    x = leaf.clone()
    trial.given("x is edited in place (x.add_(1)) between apply and backward")
    output = called(answer, trial, x)
    c = drawn(trial, 3, 4)
    x.add_(1)
    slopes = gradients_unless_edited(answer, trial, output, [leaf], c)
    if slopes is None:
        return
    (got,) = slopes
    with torch.no_grad():
        used = kind_of(got, old=2 * c * leaf, edited=2 * c * (leaf + 1))
    descriptions = {
        "edited": "and the gradient is that of the edited x, silently wrong",
        "old": "because a copy of x was kept, at the price of its memory",
    }
    trial.fail(
        "Backward went through although x was edited after the forward, "
        + descriptions.get(used, "and the gradient is wrong")
        + ".",
        expected="RuntimeError: ... has been modified by an inplace operation",
        got="a gradient",
        observed=used,
    )


def two_calls(answer: Answer, trial: Trial) -> None:
    one, other, c = (drawn(trial, 2, 3) for _ in range(3))
    one.requires_grad_(), other.requires_grad_()
    trial.given("two calls, then the backward of the first, then of the second")
    outputs = [called(answer, trial, x) for x in (one, other)]
    for x, wrong, output in ((one, other, outputs[0]), (other, one, outputs[1])):
        (got,) = gradients(answer, trial, output, [x], c)
        with torch.no_grad():
            used = kind_of(got, other_call=2 * c * wrong)
            description = (
                "uses the x of the other call"
                if used == "other_call"
                else "is wrong when two calls are pending"
            )
            trial.true(
                kind_of(got, right=2 * c * x) == "right",
                f"The gradient of one call {description}.",
                expected=2 * c * x,
                got=got,
                observed=used,
            )


def nothing_else_kept(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 6, 50).requires_grad_()
    trial.given("x of 2400 bytes; what lives on between forward and backward")
    with counted_memory() as kept:
        output = called(answer, trial, x)
        is_tensor(trial, output)
        extra = kept(x, output)
    trial.true(
        extra < 100,
        f"Between forward and backward, {extra:,} bytes live on beside x and the result: an intermediate was saved.",
        expected="x itself is kept, nothing more",
        got=f"{extra:,} bytes more",
        observed="intermediate",
    )


def freed_with_the_output(answer: Answer, trial: Trial) -> None:
    leaf = drawn(trial, 3, 4).requires_grad_()
    trial.given("the result and x are dropped without a backward; the cycle collector is off")
    with no_collection():
        x = leaf * 1
        output = called(answer, trial, x)
        is_tensor(trial, output)
        refs = {"x": memory_of(x), "the result": memory_of(output)}
        del x, output
        alive = [name for name, ref in refs.items() if not ref.expired()]
    trial.true(
        not alive,
        f"x and the result are dropped, and the memory of {' and '.join(alive)} is still held.",
        expected="both free",
        got=f"alive: {', '.join(alive)}",
        observed=("alive", alive),
    )


def freed_by_backward(answer: Answer, trial: Trial) -> None:
    leaf = drawn(trial, 3, 4).requires_grad_()
    trial.given("backward has run, the result is still there, x is dropped; the cycle collector is off")
    with no_collection():
        x = leaf * 1
        output = called(answer, trial, x)
        gradients(answer, trial, output, [leaf], drawn(trial, 3, 4))
        ref = memory_of(x)
        del x
        alive = not ref.expired()
    trial.true(
        not alive,
        "Backward has run, and x is still held: what backward has used is not freed.",
        expected="x's memory is free once backward has run",
        got="held",
        observed="held after backward",
    )
