"""Properties that both styles of Square have.

Each property after the first is asked only of answers that have those before it, so that a mistake is known by the
first thing that it breaks, whatever else comes of it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import gradcheck, gradgradcheck

from helpers.check.compare import difference
from helpers.check.trial import Mismatch, Trial, plain
from helpers.labs.autograd.shared.functions import (
    Answer,
    called,
    counted_memory,
    gradients,
    gradients_unless_edited,
    is_tensor,
    kind_of,
    left_alone,
    memory_of,
    no_collection,
    require_function,
    require_own_node,
    run_backward,
)


def drawn(trial: Trial, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Normal numbers of both signs, none of them near 0."""
    x = torch.randn(shape, generator=trial.generator, dtype=torch.float64)
    return (x + x.sign() / 4).to(dtype)


def _of(trial: Trial, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """As `drawn`; more than one dimension, and it is not contiguous."""
    x = drawn(trial, *shape, dtype=dtype)
    return x.mT if len(shape) > 1 else x


SHAPES = (
    ((3, 5), torch.float32),
    ((4, 2, 3), torch.float64),
    ((), torch.float64),
    ((0, 3), torch.float32),
    ((1,), torch.float16),
    ((4,), torch.bfloat16),
    ((3, 3), torch.float64),  # where a product of matrices has the right shape
    ((2, 4, 4), torch.float32),
)


def values(answer: Answer, trial: Trial) -> None:
    xs = [
        (_of(trial, shape, dtype), ", transposed: not contiguous" if len(shape) > 1 else "")
        for shape, dtype in SHAPES
    ]
    xs.append((drawn(trial, 3, 1).expand(3, 4), ", expanded from (3, 1)"))
    xs.append(
        (
            torch.tensor([0.0, -0.0, 300.0, -torch.inf, torch.nan], dtype=torch.float16),
            ", 0, inf and nan in it",
        )
    )
    for x, kind_of_x in xs:
        for needs_grad in (False, True):
            x = x.detach().requires_grad_(needs_grad)
            trial.given(f"x of shape {tuple(x.shape)}, {x.dtype}{kind_of_x}, requires_grad={needs_grad}")
            got = called(answer, trial, x)
            _is_square(trial, got, x)
    weight = nn.Parameter(drawn(trial, 2, 3))
    trial.given("x a nn.Parameter of shape (2, 3), float64")
    _is_square(trial, called(answer, trial, weight), weight)


def _is_square(trial: Trial, got: Any, x: Tensor) -> None:
    is_tensor(trial, got)
    now, old = got.detach(), x.detach()
    want = (old * old).requires_grad_(x.requires_grad)
    if found := difference(got, want):
        kind = kind_of(
            now,
            right=want.detach(),
            x=old,
            twice=2 * old,
            cube=old**3,
            sum=(old * old).sum(),
            mean=(old * old).mean(),
            matrix=old @ old if old.dim() > 1 and old.shape[-1] == old.shape[-2] else old[..., :0],
        )
        trial.equal(got, want, observed=(found.kind, kind))
    trial.true(
        got.untyped_storage()._cdata != x.untyped_storage()._cdata,
        "The result has the memory of x: it is x itself, or a view of it.",
        expected="a new tensor",
        got="a view of x",
        observed="memory of x",
    )


def own_node(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 2, 3).requires_grad_()
    trial.given("x of shape (2, 3), a leaf that requires grad")
    got = called(answer, trial, x)
    is_tensor(trial, got)
    require_own_node(trial, got, [x])


def _gradient_is_right(trial: Trial, got: Tensor | None, x: Tensor, c: Tensor) -> None:
    """Wrong unless `got` is 2 * c * x. Two answers that give the same wrong formula are known as one."""
    x, c = x.detach(), c.detach()
    want = 2 * c * x
    trial.true(
        got is not None,
        "x requires grad and gets none: backward returned None for it.",
        expected="2 * x * grad_out",
        got="None",
        observed="None",
    )
    now = got.detach()
    if found := difference(now, want):
        kind = kind_of(
            now,
            nearly=want,
            without_grad_out=2 * x,
            half=c * x,
            sign_lost=2 * c * x.abs(),
            upstream=c,
            without_x=2 * c,
            value=c * x * x,
            twice_the_value=2 * c * x * x,
            twice=4 * c * x,
            negative=-want,
            added=c + 2 * x,
            zero=0 * x,
            summed=2 * x * c.sum(),
            averaged=2 * x * c.mean(),
        )
        observed = (found.kind, kind, plain(now)) if kind == "other" else (found.kind, kind)
        trial.equal(now, want, "The gradient of x", observed=observed)


def gradient(answer: Answer, trial: Trial) -> None:
    for shape, dtype in (
        ((3, 5), torch.float64),
        ((2, 7), torch.float32),
        ((), torch.float64),
        ((0, 2), torch.float64),
        ((4,), torch.float16),
        ((2, 3, 2), torch.float64),
        ((3, 3), torch.float64),
        ((2, 4, 4), torch.float32),
    ):
        x, c = _of(trial, shape, dtype).requires_grad_(), _of(trial, shape, dtype)
        trial.given(
            f"x of shape {tuple(x.shape)}, {dtype}, and random numbers of that shape as the gradient that comes in"
        )
        before = x.detach().clone()
        (got,) = gradients(answer, trial, called(answer, trial, x), [x], c.clone())
        _gradient_is_right(trial, got, before, c)


def gradient_anywhere(answer: Answer, trial: Trial) -> None:
    """x * x does not know x where it is 0, or too large or too small for the dtype."""
    x = torch.tensor([0.0, 1e30, -1e30, 1e-30, -3.0], requires_grad=True)
    c = torch.tensor([2.0, 0.5, 0.5, 2.0, 0.0])
    trial.given(f"x = {x.tolist()}, float32, the gradient that comes in is {c.tolist()}")
    (got,) = gradients(answer, trial, called(answer, trial, x), [x], c.clone())
    want = 2 * x.detach() * c
    rights = [] if got is None or got.shape != want.shape else torch.isclose(got, want, atol=0).tolist()
    trial.equal(got if got is None else got.detach(), want, "The gradient of x", atol=0, observed=rights)
    x = torch.tensor([1.0, 2.0, -3.0, 2.0, -1.0, torch.inf, torch.nan, 0.0], requires_grad=True)
    c = torch.tensor([torch.inf, torch.nan, 1e-20, 1e20, 0.0, 0.0, 0.0, torch.inf])
    trial.given(f"x = {x.tolist()}, float32, the gradient that comes in is {c.tolist()}")
    (got,) = gradients(answer, trial, called(answer, trial, x), [x], c.clone())
    want = 2 * x.detach() * c
    same_shape = got is not None and got.shape == want.shape
    rights = torch.isclose(got, want, atol=0, equal_nan=True).tolist() if same_shape else []
    trial.equal(
        got if got is None else got.detach(),
        want,
        "The gradient of x",
        atol=0,
        observed=("grad_out", rights),
    )


def expanded_gradient(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 3, 4).requires_grad_()
    trial.given("y.sum().backward(): the gradient that comes in is one 1, expanded")
    (got,) = gradients(answer, trial, called(answer, trial, x).sum(), [x])
    _gradient_is_right(trial, got, x, torch.ones_like(x))


def two_calls(answer: Answer, trial: Trial) -> None:
    for first in (0, 1):
        xs, c = [drawn(trial, 2, 3).requires_grad_() for _ in range(2)], drawn(trial, 2, 3)
        trial.given(
            "two calls, then the backward of the "
            + ("first, then of the second" if first == 0 else "second, then of the first")
        )
        outputs = [called(answer, trial, x) for x in xs]
        trial.equal(
            outputs[0].detach(),
            xs[0].detach() ** 2,
            "The first result, read after the second call",
            observed="result overwritten",
        )
        for at in (first, 1 - first):
            (got,) = gradients(answer, trial, outputs[at], [xs[at]], c)
            x, wrong = xs[at].detach(), xs[1 - at].detach()
            used = kind_of(got, right=2 * c * x, other_call=2 * c * wrong)
            trial.true(
                used == "right",
                f"The gradient of one call {OF_TWO.get(used, 'is wrong when two calls are pending')}.",
                expected=2 * c * x,
                got=got,
                observed=used,
            )


OF_TWO = {"other_call": "uses the x of the other call"}


def backward_edits_nothing(answer: Answer, trial: Trial) -> None:
    x, c = drawn(trial, 2, 3).requires_grad_(), drawn(trial, 2, 3)
    before = {"x": x.detach().clone(), "grad_out": c.clone()}
    trial.given("x and the gradient c that comes in, both of shape (2, 3)")
    run_backward(answer, trial, called(answer, trial, x), [x], c)
    left_alone(trial, c, before["grad_out"], "grad_out")
    left_alone(trial, x, before["x"], "x")


def backward_again(answer: Answer, trial: Trial) -> None:
    x, c, d = drawn(trial, 2, 3).requires_grad_(), drawn(trial, 2, 3), drawn(trial, 2, 3)
    trial.given(
        "backward runs twice, first with retain_graph=True, each time with a different gradient coming in"
    )
    output = called(answer, trial, x)
    gradients(answer, trial, output, [x], c, retain_graph=True)
    try:
        (got,) = gradients(answer, trial, output, [x], d)
    except NotImplementedError:
        raise
    except Exception as error:
        # What torch refuses was told in words; the answer's own error stands behind them.
        raised = type((isinstance(error, Mismatch) and error.__context__) or error).__name__
        trial.fail(
            f"The second backward raised {raised}: {error}",
            expected="2 * x * grad_out, as in the first",
            got=raised,
            observed="raised",
        )
    want = 2 * d * x.detach()
    trial.equal(
        got if got is None else got.detach(),
        want,
        "The second gradient of x",
        observed=kind_of(got, first=2 * c * x.detach()),
    )


# Who works with x.double() or x.float() keeps x itself where x has that dtype already.
KEPT_IN = (torch.float64, torch.float32, torch.float16)


def second_derivatives(answer: Answer, trial: Trial) -> None:
    for dtype in KEPT_IN:
        _second_derivatives(answer, trial, dtype)


def _second_derivatives(answer: Answer, trial: Trial, dtype: torch.dtype) -> None:
    x, c, d = (drawn(trial, 3, 4, dtype=dtype) for _ in range(3))
    x.requires_grad_(), c.requires_grad_()
    trial.given(
        f"x and the gradient c that comes in, both of shape (3, 4), {dtype}, and requiring grad; create_graph=True"
    )
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
            trial.equal(got, want, f"The derivative of the gradient by {name}")


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
    for dtype in KEPT_IN:
        _edited_before_backward(answer, trial, dtype)


def _edited_before_backward(answer: Answer, trial: Trial, dtype: torch.dtype) -> None:
    leaf = drawn(trial, 3, 4, dtype=dtype).requires_grad_()
    x = leaf.clone()
    trial.given(f"x of {dtype} is edited in place (x.add_(1)) between apply and backward")
    output = called(answer, trial, x)
    c = drawn(trial, 3, 4, dtype=dtype)
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


def nothing_else_kept(answer: Answer, trial: Trial) -> None:
    for dtype in KEPT_IN:
        _nothing_else_kept(answer, trial, dtype)


def _nothing_else_kept(answer: Answer, trial: Trial, dtype: torch.dtype) -> None:
    x = drawn(trial, 6, 50, dtype=dtype).T.requires_grad_()
    trial.given(f"x of {dtype}, {x.nbytes} bytes, transposed; what lives on between forward and backward")
    with counted_memory() as kept:
        output = called(answer, trial, x)
        is_tensor(trial, output)
        extra = kept(x, output)
    trial.true(
        extra < 100,
        f"Between forward and backward, {extra:,} bytes live on beside x and the result: a tensor is kept that is neither.",
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
