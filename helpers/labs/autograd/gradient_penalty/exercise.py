"""Exercise 03.gradient_penalty: the squared length of a gradient, as a part of a loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from helpers.check.trial import Trial
from helpers.exercise import Exercise

Penalty = Callable[[Tensor, Iterable[Tensor]], Tensor]

RIGHT = "the sum of the squares of all entries"
FEW_DIGITS = "right in its first digits only"

# How far apart two right ways to add up may be, relative.
EXACT = {torch.float64: 1e-11, torch.float32: 1e-5}

gradient_penalty = Exercise(
    "03.gradient_penalty",
    "A loss that looks at gradients",
    objective="Compute the squared length of a loss's gradient so that the result can be trained on.",
    minutes=15,
    difficulty="medium",
    hints=[
        "The penalty is a number made from gradients. To train on it, torch must be able to differentiate the "
        "gradients themselves. Which argument of torch.autograd.grad records that computation?",
        "Three arguments: create_graph for the second derivative, allow_unused for a parameter that the loss does "
        "not use (its gradient is None), and the parameters. `.grad` plays no part in it.",
        "grads = torch.autograd.grad(loss, params, create_graph=True, allow_unused=True); then add up "
        "grad.square().sum() of those that are not None, from torch.zeros_like(loss) on.",
    ],
)


class Noted(Function):
    """x, with a note of whether its backward was recorded, as create_graph=True does it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, recorded: list[bool]) -> Tensor:
        ctx.recorded = recorded
        return x * 1

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        ctx.recorded.append(torch.is_grad_enabled())
        return grad * 1, None


class Net:
    """Two layers with tanh, an input that needs a gradient, and parameters that are not used or only added.

    recorded: for each backward through the loss, whether it was recorded.
    """

    def __init__(self, trial: Trial, dtype: torch.dtype = torch.float64) -> None:
        def made(*shape: int) -> Tensor:
            values = torch.randn(shape, generator=trial.generator, dtype=torch.float64)
            return values.to(dtype)

        self.first, self.bias = made(3, 4).requires_grad_(), made(4).requires_grad_()
        self.last, self.unused = made(4, 1).requires_grad_(), made(2).requires_grad_()
        self.x, self.target = made(5, 3).requires_grad_(), made(5, 1)
        self.params = [self.first, self.bias, self.last]
        self.recorded: list[bool] = []

    def loss(self) -> Tensor:
        out = (self.x @ self.first + self.bias).tanh() @ self.last
        return Noted.apply((out - self.target).square().mean(), self.recorded)

    def leaves(self) -> dict[str, Tensor]:
        return {
            name: each for name, each in vars(self).items() if isinstance(each, Tensor) and each.requires_grad
        }


def penalty_of(loss: Tensor, params: list[Tensor]) -> Tensor:
    """The right penalty. The loss's graph is kept."""
    grads = torch.autograd.grad(loss, params, create_graph=True, allow_unused=True)
    return sum((grad.pow(2).sum() for grad in grads if grad is not None), torch.zeros((), dtype=loss.dtype))


def given_penalty(answer: Penalty, trial: Trial, loss: Tensor, params: Any) -> Tensor:
    """What the answer gives; wrong if it is no 0-d tensor of the loss's dtype."""
    got = trial.call(answer, loss, params)
    what = "None" if got is None else f"an object of type {type(got).__name__}"
    trial.true(
        isinstance(got, Tensor),
        f"gradient_penalty returned {what}, no tensor.",
        expected="a 0-d tensor",
        observed=("type", type(got).__name__),
    )
    trial.true(
        got.shape == () and got.dtype == loss.dtype,
        f"The penalty has shape {tuple(got.shape)} and dtype {got.dtype}.",
        expected=f"a 0-d tensor of {loss.dtype}",
        got=got,
        observed=("form", tuple(got.shape), str(got.dtype)),
    )
    return got


def kind_of_value(got: Tensor, loss: Tensor, params: list[Tensor]) -> str:
    """What a wrong value is instead."""
    grads = [
        grad
        for grad in torch.autograd.grad(loss, params, retain_graph=True, allow_unused=True)
        if grad is not None
    ]
    flat = torch.cat([grad.flatten() for grad in grads])
    known = {
        RIGHT: flat.square().sum(),
        "the length, not squared": flat.norm(),
        "the sum of the lengths of the gradients": sum(grad.norm() for grad in grads),
        "the mean of the squares": flat.square().mean(),
        "the sum of each gradient's mean of squares": sum(grad.square().mean() for grad in grads),
        "the sum of the absolute values": flat.abs().sum(),
        "the sum of the entries, not squared": flat.sum(),
        "the sum of the entries, squared as a whole": flat.sum().square(),
        "the sum over the gradients of their squared sums": sum(grad.sum().square() for grad in grads),
        "the sum, divided by the number of parameters": flat.square().sum() / len(grads),
        "that of the first gradient only": grads[0].square().sum(),
        "that of the last gradient only": grads[-1].square().sum(),
        "4 times too large: each gradient was doubled": 4 * flat.square().sum(),
        "twice the squared length": 2 * flat.square().sum(),
        "half the squared length": flat.square().sum() / 2,
        "(length - 1) squared": (flat.norm() - 1).square(),
        "the loss and the squared length": loss.detach() + flat.square().sum(),
        "the squared length of the parameters themselves": sum(
            param.detach().square().sum() for param in params
        ),
        "zero": flat.sum() * 0,
    }
    value, right = got.detach(), known.pop(RIGHT)
    if torch.isclose(value, right, rtol=EXACT[loss.dtype], atol=0):
        return RIGHT
    if torch.isclose(value, right, rtol=1e-4, atol=0):
        return FEW_DIGITS
    return next(
        (name for name, each in known.items() if torch.isclose(value, each, rtol=1e-5, atol=0)),
        "another number",
    )


@gradient_penalty.property(
    "the sum of the squares of all gradient entries",
    asks=(
        "The sum of the squares of all entries of the gradients of `loss` by `params`; differentiable.",
        "A tensor of 0 dimensions and of loss's dtype",
    ),
)
def value(answer: Penalty, trial: Trial) -> None:
    for dtype in (torch.float64, torch.float32):
        trial.given(f"the loss of a net with parameters of shape (3, 4), (4,) and (4, 1), {dtype}")
        net = Net(trial, dtype)
        loss = net.loss()
        want = penalty_of(loss, net.params).detach()
        got = given_penalty(answer, trial, loss, net.params)
        kind = kind_of_value(got, net.loss(), net.params)
        trial.true(
            kind == RIGHT,
            "The penalty is 0, and the gradients are not: none of them arrived in it."
            if kind == "zero"
            else f"The penalty is {got.item():.12g}, which is {kind}."
            if kind != "another number"
            else f"The penalty is {got.item():.6g} and should be {want.item():.6g}.",
            expected=f"{RIGHT}: {want.item():.12g}",
            got=f"{got.item():.12g}",
            observed=kind,
        )
    w, c = (torch.randn(shape, generator=trial.generator, dtype=torch.float64) for shape in ((3, 4), (4, 3)))
    w.requires_grad_()
    trial.given(
        "loss = (w.t().contiguous().square() * c).sum(), w of shape (3, 4): its gradient is transposed in memory"
    )
    loss = (w.t().contiguous().square() * c).sum()
    want = penalty_of(loss, [w]).detach()
    got = given_penalty(answer, trial, loss, [w])
    trial.equal(got.detach(), want, "The penalty", observed="transposed")


def same_slope(one: Tensor | None, other: Tensor | None) -> bool:
    if one is None or other is None:
        return one is other
    return bool(torch.allclose(one.detach(), other, rtol=1e-6, atol=1e-12))


@gradient_penalty.property(
    "the penalty can be differentiated: it changes the gradients of the parameters",
    asks=(
        "The sum of the squares of all entries of the gradients of `loss` by `params`; differentiable.",
        "The graph of the loss stays",
    ),
)
def differentiable(answer: Penalty, trial: Trial) -> None:
    trial.given("the penalty of a loss, differentiated by torch.autograd.grad with respect to all parameters")
    net = Net(trial)
    got = given_penalty(answer, trial, net.loss(), net.params)
    trial.true(
        got.grad_fn is not None,
        "The penalty has no grad_fn: it is a number without a history, and training cannot change it. The gradients "
        + (
            "were computed with a history (create_graph=True), and it was lost after that."
            if any(net.recorded)
            else "were computed without a history."
        ),
        expected="a penalty with a grad_fn that leads to the parameters",
        got=got,
        observed=("no grad_fn", got.requires_grad, any(net.recorded)),
    )
    leaves = {name: each for name, each in net.leaves().items() if name != "unused"}
    factor = torch.randn((), generator=trial.generator, dtype=torch.float64)
    try:
        found = torch.autograd.grad(got * factor, [*leaves.values()], allow_unused=True, retain_graph=True)
    except RuntimeError as error:
        trial.fail(
            f"Differentiating the penalty raised: {error}",
            expected="a gradient of the penalty; for it the graph of the loss must still be there, too",
            observed="second derivative raised",
        )
    want = torch.autograd.grad(penalty_of(net.loss(), net.params) * factor, [*leaves.values()])
    of_one = [
        torch.autograd.grad(penalty_of(net.loss(), [each]) * factor, [*leaves.values()], allow_unused=True)
        for each in net.params
    ]
    ways = {"half": [each / 2 for each in want]}
    ways |= {
        f"as if {name} alone had a history": way
        for name, way in zip(("first", "bias", "last"), of_one, strict=True)
    }
    kind = next(
        (name for name, way in ways.items() if all(map(same_slope, found, way))),
        "",
    )
    for name, have, need in zip(leaves, found, want, strict=True):
        trial.true(
            have is not None,
            f"The penalty does not depend on {name}: its history leads elsewhere.",
            expected="a gradient of the penalty for every parameter",
            observed=("no path", name),
        )
        trial.equal(
            have.detach(),
            need,
            f"The gradient of the penalty with respect to {name}",
            rtol=1e-9,
            observed=(f"second {name}", kind),
        )


def _named(states: dict[str, str], state: str) -> str:
    """The leaves whose .grad is in this state, with a verb: "that of bias, last was"."""
    return f"that of {', '.join(sorted(name for name in states if states[name] == state))} was"


@gradient_penalty.property(
    "no .grad is touched, neither the parameters' nor another leaf's",
    asks=("No `.grad` is touched, of params or of any other leaf.",),
)
def grad_untouched(answer: Penalty, trial: Trial) -> None:
    trial.given(
        "first.grad holds the gradient of an earlier step, all others are None; the input x needs a gradient"
    )
    net = Net(trial)
    kept = torch.randn(3, 4, generator=trial.generator, dtype=torch.float64)
    net.first.grad, copy = kept, kept.clone()
    loss, want = net.loss(), penalty_of(net.loss(), net.params)
    written: set[str] = set()
    handles = [
        each.register_post_accumulate_grad_hook(lambda _, name=name: written.add(name))
        for name, each in net.leaves().items()
    ]
    got = given_penalty(answer, trial, loss, net.params)
    for handle in handles:
        handle.remove()
    states = {}
    for name, each in net.leaves().items():
        before, now = (kept if each is net.first else None), each.grad
        each.grad = None
        if now is not before:
            states[name] = "removed" if now is None else "replaced" if before is not None else "filled"
    if not torch.equal(kept, copy):
        states["first"] = "edited"
    states |= {name: "written, and put back" for name in written - set(states)}
    kinds = sorted(set(states.values()))
    trial.true(
        not states,
        "The answer touched .grad: " + "; ".join(f"{_named(states, state)} {state}" for state in kinds) + ".",
        expected="every .grad as it was: the optimizer adds up what stands there",
        observed=sorted(states.items()),
    )
    trial.equal(
        got.detach(), want.detach(), "The penalty, with an old .grad in place", observed="old grad counted"
    )


@gradient_penalty.property(
    "loss and penalty can be trained on together",
    asks=("The graph of the loss stays: `(loss + c * penalty).backward()` works afterwards.",),
)
def together(answer: Penalty, trial: Trial) -> None:
    trial.given("total = loss + c * penalty; total.backward()")
    net = Net(trial)
    loss = net.loss()
    factor = torch.rand((), generator=trial.generator, dtype=torch.float64) + 0.5
    again = net.loss()
    params = [*net.params, net.x]
    want = torch.autograd.grad(again + factor * penalty_of(again, net.params), params)
    total = loss + factor * given_penalty(answer, trial, loss, net.params)
    try:
        total.backward()
    except RuntimeError as error:
        trial.fail(
            f"total.backward() raised: {error}",
            expected="the graph of the loss is still there",
            observed="total raised",
        )
    for name, each, need in zip(("first", "bias", "last", "x"), params, want, strict=True):
        have = each.grad
        trial.true(
            have is not None, f"{name} has no gradient after total.backward().", observed=("none", name)
        )
        trial.equal(
            have.detach(), need, f"The gradient of loss + c * penalty for {name}", observed=f"total {name}"
        )
    for each in net.leaves().values():
        each.grad = None  # some answers leave a cycle there


def is_right_if_all_are_used(answer: Penalty, trial: Trial) -> bool:
    """If not, other properties say so, and name the mistake whether or not unused parameters were thought of."""
    net = Net(trial)
    params = [net.first, net.bias]
    got, want = trial.call(answer, net.loss(), params), penalty_of(net.loss(), params)
    if not isinstance(got, Tensor) or got.grad_fn is None or not got.isclose(want).all():
        return False
    if any(each.grad is not None for each in net.leaves().values()):
        return False
    (found,) = torch.autograd.grad(got, net.first, allow_unused=True)
    return found is not None and found.allclose(torch.autograd.grad(want, net.first)[0])


@gradient_penalty.property(
    "a parameter that the loss does not use counts as 0", asks=("One that the loss does not use counts as 0",)
)
def unused(answer: Penalty, trial: Trial) -> None:
    trial.given("the loss of a net, float64; params = [first, bias]")
    if not is_right_if_all_are_used(answer, trial):
        return
    trial.given("the loss of a net, float64, that does not use `unused`; params = [first, unused, bias]")
    net = Net(trial)
    params = [net.first, net.unused, net.bias]
    loss, want = net.loss(), penalty_of(net.loss(), params).detach()
    try:
        got = given_penalty(answer, trial, loss, params)
    except (RuntimeError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, NotImplementedError):
            raise
        trial.fail(
            f"The answer raised {type(error).__name__}: {error}",
            expected=f"the penalty without it: {want.item():.6g}",
            observed=("raised", "unused" if "allow_unused" in str(error) else type(error).__name__),
        )
    until = penalty_of(net.loss(), [net.first]).detach()
    trial.true(
        not torch.isclose(got.detach(), until),
        f"The penalty is {got.item():.6g}, the squares of first alone: bias, which comes after unused, is missing.",
        expected=f"{want.item():.6g}, the squares of first and of bias",
        got=f"{got.item():.6g}",
        observed="ends at unused",
    )
    trial.equal(got.detach(), want, "The penalty", observed="value" if got.detach() else "zero")


@gradient_penalty.property(
    "params may be any iterable, also one that can be walked only once",
    asks=("The params may be any iterable, also one that can be walked only once, as `model.parameters()`.",),
)
def iterables(answer: Penalty, trial: Trial) -> None:
    net = Net(trial)
    for kind in (tuple, iter):
        trial.given(
            "params is a tuple" if kind is tuple else "params is a generator, as model.parameters() gives it"
        )
        loss, want = net.loss(), penalty_of(net.loss(), net.params).detach()
        params = tuple(net.params) if kind is tuple else (each for each in net.params)
        got = given_penalty(answer, trial, loss, params)
        trial.equal(
            got.detach(),
            want,
            "The penalty",
            observed=(kind.__name__, "zero" if not got.detach() else "other"),
        )


@gradient_penalty.property(
    "where the gradient is zero, the penalty is 0, and its own gradient is 0, not NaN",
    asks=(
        "The sum of the squares of all entries of the gradients",
        "The penalty's own gradient is finite, also where the gradient is 0.",
    ),
)
def at_zero(answer: Penalty, trial: Trial) -> None:
    trial.given("loss = ((x @ w) ** 2).sum() with w = 0: the gradient is 0 in every entry")
    x = torch.randn(5, 3, generator=trial.generator, dtype=torch.float64)
    w = torch.zeros(3, 1, dtype=torch.float64, requires_grad=True)
    got = given_penalty(answer, trial, (x @ w).square().sum(), [w])
    trial.true(
        got.item() == 0,
        f"The gradient is 0, and the penalty is {got.item():.3g}.",
        expected="0",
        got=f"{got.item():.3g}",
        observed=("not zero", "nan" if got.isnan() else "a number"),
    )
    trial.true(got.grad_fn is not None, "The penalty has no grad_fn.", observed="no grad_fn")
    (found,) = torch.autograd.grad(got, [w], allow_unused=True)
    found = torch.zeros_like(w) if found is None else found.detach()
    trial.equal(
        found,
        torch.zeros(3, 1, dtype=torch.float64),
        "The gradient of the penalty",
        observed="nan" if found.isnan().any() else "other",
    )


@gradient_penalty.property(
    "a parameter without dimensions counts, too",
    asks="The sum of the squares of all entries of the gradients of `loss` by `params`",
    once_right=True,
)
def without_dimensions(answer: Penalty, trial: Trial) -> None:
    net = Net(trial)
    factor = (torch.rand((), generator=trial.generator, dtype=torch.float64) + 0.5).requires_grad_()
    trial.given(
        "loss = factor**2 * the loss of a net, float64; params = [first, factor, bias], factor of shape ()"
    )
    params = [net.first, factor, net.bias]
    loss = factor.square() * net.loss()
    want = penalty_of(loss, params)
    without = penalty_of(factor.square() * net.loss(), [net.first, net.bias])
    got = given_penalty(answer, trial, loss, params)
    left_out = bool(torch.isclose(got.detach(), without.detach()))
    trial.equal(
        got.detach(),
        want.detach(),
        "The penalty" + (" is that without factor" if left_out else ""),
        observed="left out" if left_out else "value",
    )


@gradient_penalty.property(
    "a gradient that is a constant counts, too",
    asks="The sum of the squares of all entries of the gradients of `loss` by `params`",
    once_right=True,
)
def constants(answer: Penalty, trial: Trial) -> None:
    net = Net(trial)
    added = (
        torch.randn(2, 3, 2, generator=trial.generator, dtype=torch.float64).transpose(0, 2).requires_grad_()
    )
    scale = torch.randn((), generator=trial.generator, dtype=torch.float64).requires_grad_()
    trial.given("loss = net's loss + 3 * added.sum() + scale; the gradients of added and scale are constants")
    params = [net.first, added, net.bias, scale]
    loss = net.loss() + 3 * added.sum() + scale
    want = penalty_of(loss, params)
    got = given_penalty(answer, trial, loss, params)
    trial.equal(got.detach(), want.detach(), "The penalty", observed="value")


@gradient_penalty.property(
    "when no parameter is used, the penalty is a tensor all the same",
    asks=(
        "One that the loss does not use counts as 0.",
        "A tensor of 0 dimensions and of loss's dtype, also where no parameter is used.",
    ),
    once_right=True,
)
def nothing_used(answer: Penalty, trial: Trial) -> None:
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        trial.given(f"params = [unused], {dtype}: the loss uses none of them")
        net = Net(trial, dtype)
        try:
            got = given_penalty(answer, trial, net.loss(), [net.unused])
        except (RuntimeError, TypeError, AttributeError, ValueError, IndexError, UnboundLocalError) as error:
            if isinstance(error, NotImplementedError):
                raise
            trial.fail(
                f"The answer raised {type(error).__name__}: {error}",
                expected=f"a 0 of {dtype}",
                observed="raised",
            )
        trial.equal(got.detach(), torch.zeros((), dtype=dtype), "The penalty", observed="value")


@gradient_penalty.property(
    "params that are no leaves count, too",
    asks="params: tensors of loss's dtype that require grad, leaves or not, one at least, each once.",
    once_right=True,
)
def no_leaves(answer: Penalty, trial: Trial) -> None:
    for which in ("one", "all"):
        net = Net(trial)
        leaf = net.x
        net.x = leaf * 0.5 + 0.25
        params = [net.x] if which == "all" else [net.first, net.x, net.bias]
        trial.given(
            "loss of the net at x_hat = leaf * 0.5 + 0.25, which has a grad_fn; params = "
            + ("[x_hat]" if which == "all" else "[first, x_hat, bias]")
        )
        loss = net.loss()
        got = given_penalty(answer, trial, loss, params)
        want = penalty_of(net.loss(), params)
        without = penalty_of(net.loss(), [each for each in params if each.is_leaf] or [net.unused])
        trial.equal(
            got.detach(),
            want.detach(),
            "The penalty",
            observed="left out" if torch.allclose(got.detach(), without.detach()) else "value",
        )
        leaves = [leaf, net.first, net.bias, net.last]
        for name, slope, right in zip(
            ("leaf", "first", "bias", "last"),
            torch.autograd.grad(got, leaves, allow_unused=True, retain_graph=True),
            torch.autograd.grad(want, leaves),
            strict=True,
        ):
            trial.true(
                same_slope(slope, right),
                f"The gradient of the penalty with respect to {name} is not that of the squared length.",
                expected=right,
                got=slope,
                observed="second",
            )
