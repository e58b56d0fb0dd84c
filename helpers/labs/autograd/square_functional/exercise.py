"""Exercise 03.square_functional: the second style of a Function, which `torch.func` needs."""

from __future__ import annotations

import re
from collections.abc import Callable

import torch
from torch import Tensor
from torch.func import grad, jacrev, vjp, vmap

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.autograd.shared import square as parts
from helpers.labs.autograd.shared.functions import Answer, is_tensor, kind_of, require_function
from helpers.labs.autograd.square.exercise import square

square_functional = Exercise(
    "03.square_functional",
    "The same node for torch.func",
    objective="Take forward and context apart, so that `torch.func.grad` and `vmap` can go through your Function.",
    minutes=8,
    difficulty="easy",
    names=("SquareFunctional",),
    kind="class",
    hints=[
        "`torch.func.grad` and `vmap` run forward on wrapped tensors. Who may see a ctx, if forward may not?",
        "forward(x) computes and knows no ctx; `setup_context(ctx, inputs, output)` saves. `inputs` is a tuple, even "
        "for one input.",
        "setup_context: `ctx.save_for_backward(*inputs)`. backward as in Square. And `generate_vmap_rule = True` in the "
        "class: torch makes the batched version out of the three methods.",
    ],
)


SAME = "All else is as asked of `Square`: one node of the graph for x * x."
FUNC = "x * x in the style that `torch.func` needs: `grad`, `vjp`, `vmap` and `jacrev`, in any order."

# Words of torch's errors, and what they mean here.
REFUSALS = {
    "override the setup_context": "forward takes ctx itself: torch.func needs a forward without it, and setup_context",
    "vmap support": "there is no batched version: neither generate_vmap_rule = True nor a vmap method",
    "either the backward or vjp": "torch.func looks for a method of the name backward, and finds none",
    "vmap: inplace arithmetic": "an edit in place would write a batch into a tensor that has none",
    "does not require grad and does not have a grad_fn": "something is differentiated that has no graph, as by a torch.autograd.grad inside of a method",
    "vmap: It looks like": "forward or backward turns a tensor into a Python number, as `if`, `.item()` and `float` do",
}


def transformed(answer: Answer, trial: Trial, transform: Callable[[], Tensor], name: str) -> Tensor:
    """What a transform of torch.func gives; what it refuses is told without the class's name."""
    require_function(answer, trial)
    try:
        got = transform()
    except RuntimeError as error:
        text = str(error).strip().partition("\n")[0]
        for sign, description in REFUSALS.items():
            if sign in text:
                trial.fail(
                    f"{name} refused the Function: {description}.", got=text, observed=("refused", sign)
                )
        if isinstance(error, NotImplementedError):
            raise
        plain = re.sub(rf"(?<!\w){re.escape(answer.__name__)}(Backward)?(?!\w)", "Function", text)
        trial.fail(
            f"{name} raised {type(error).__name__}: {text}",
            observed=("raised", re.sub(r"\d+", "#", plain)),
        )
    is_tensor(trial, got, f"What {name} gives")
    return got


for asked_of_square in square.properties:
    of_the_node = any("as one node" in words for words in asked_of_square.asks)
    square_functional.property(
        asked_of_square.description, asks=SAME if of_the_node else asked_of_square.asks, once_right=True
    )(asked_of_square.check)


@square_functional.property(
    "torch.func.grad goes through it",
    asks=(FUNC, "forward takes no ctx; setup_context(ctx, inputs, output) saves."),
    once_right=True,
)
def func_grad(answer: Answer, trial: Trial) -> None:
    x, c = parts.drawn(trial, 3, 4), parts.drawn(trial, 3, 4)
    trial.given(
        "torch.func.grad(lambda x: (c * SquareFunctional.apply(x)).sum())(x), x and c of shape (3, 4)"
    )
    got = transformed(
        answer, trial, lambda: grad(lambda x: (c * answer.apply(x)).sum())(x), "torch.func.grad"
    )
    kind = kind_of(got, without_grad_out=2 * x, half=c * x, sign_lost=2 * c * x.abs(), upstream=c)
    trial.equal(got, 2 * c * x, "The gradient", observed=kind)


@square_functional.property(
    "vmap goes through it, over any dimension",
    asks=(FUNC, "No method turns a tensor into a Python number."),
    once_right=True,
)
def vmapped(answer: Answer, trial: Trial) -> None:
    x = parts.drawn(trial, 4, 3, 2)
    for at in (0, 1, -1):
        trial.given(f"torch.vmap(SquareFunctional.apply, in_dims={at})(x), x of shape (4, 3, 2)")
        got = transformed(answer, trial, lambda at=at: vmap(answer.apply, in_dims=at)(x), "torch.vmap")
        want = (x * x).movedim(at, 0)
        trial.equal(
            got, want, "The batched result", observed=(at, tuple(got.shape), kind_of(got, as_it_lay=x * x))
        )
    for shape in ((3,), (3, 1), (3, 0)):
        x = parts.drawn(trial, *shape)
        trial.given(f"torch.vmap(SquareFunctional.apply)(x), x of shape {shape}: each sample is {shape[1:]}")
        got = transformed(answer, trial, lambda x=x: vmap(answer.apply)(x), "torch.vmap")
        trial.equal(got, x * x, "The batched result", observed=(shape, tuple(got.shape)))


@square_functional.property(
    "vmap over grad: one gradient per sample",
    asks=(FUNC, "No method turns a tensor into a Python number."),
    once_right=True,
)
def per_sample(answer: Answer, trial: Trial) -> None:
    xs, cs = parts.drawn(trial, 5, 3), parts.drawn(trial, 5, 3)
    trial.given(
        "torch.vmap(torch.func.grad(lambda x, c: (c * SquareFunctional.apply(x)).sum()))(xs, cs), 5 samples"
    )

    def loss(x: Tensor, c: Tensor) -> Tensor:
        return (c * answer.apply(x)).sum()

    got = transformed(answer, trial, lambda: vmap(grad(loss))(xs, cs), "torch.vmap over torch.func.grad")
    kind = kind_of(got, without_grad_out=2 * xs, half=cs * xs, sign_lost=2 * cs * xs.abs())
    trial.equal(got, 2 * cs * xs, "The gradients, one a sample", observed=kind)
    x = parts.drawn(trial, 4)
    trial.given("torch.vmap(torch.func.grad(SquareFunctional.apply))(x), 4 samples, each of shape ()")
    got = transformed(answer, trial, lambda: vmap(grad(answer.apply))(x), "torch.vmap over torch.func.grad")
    trial.equal(got, 2 * x, "The gradients, one a sample", observed=("0-d", kind_of(got, half=x)))


@square_functional.property(
    "vmap over vjp, where one gradient comes in for all samples", asks=FUNC, once_right=True
)
def one_gradient_for_all(answer: Answer, trial: Trial) -> None:
    for shape in ((), (3,)):
        xs, c = parts.drawn(trial, 4, *shape), parts.drawn(trial, *shape)
        trial.given(
            f"torch.vmap(lambda x: torch.func.vjp(SquareFunctional.apply, x)[1](c)[0])(xs), 4 samples of shape {shape}"
        )
        got = transformed(
            answer,
            trial,
            lambda xs=xs, c=c: vmap(lambda x: vjp(answer.apply, x)[1](c)[0])(xs),
            "torch.vmap over torch.func.vjp",
        )
        trial.equal(got, 2 * c * xs, "The gradients, one a sample", observed=kind_of(got, half=c * xs))


@square_functional.property("grad over vmap", asks=FUNC, once_right=True)
def grad_of_vmap(answer: Answer, trial: Trial) -> None:
    x, c = parts.drawn(trial, 4, 3), parts.drawn(trial, 3, 4)
    trial.given("torch.func.grad(lambda x: (c * torch.vmap(SquareFunctional.apply, in_dims=1)(x)).sum())(x)")

    def loss(x: Tensor) -> Tensor:
        return (c * vmap(answer.apply, in_dims=1)(x)).sum()

    got = transformed(answer, trial, lambda: grad(loss)(x), "torch.func.grad over torch.vmap")
    kind = kind_of(got, zero=0 * x, without_grad_out=2 * x, half=c.T * x, sign_lost=2 * c.T * x.abs())
    trial.equal(got, 2 * c.T * x, "The gradient", observed=kind)


@square_functional.property("grad over grad: second derivatives", asks=FUNC, once_right=True)
def nested(answer: Answer, trial: Trial) -> None:
    x = parts.drawn(trial, dtype=torch.float64)
    trial.given("torch.func.grad(torch.func.grad(f))(x), f two of them in a row: x**4")

    def fourth_power(x: Tensor) -> Tensor:
        return answer.apply(answer.apply(x))

    got = transformed(
        answer, trial, lambda: grad(grad(fourth_power))(x), "torch.func.grad over torch.func.grad"
    )
    kind = kind_of(got, zero=0 * x, only_the_outer=8 * x**2, only_the_inner=4 * x**2)
    trial.equal(got, 12 * x**2, "The second derivative, 12 * x**2", observed=kind)


@square_functional.property(
    "jacrev over jacrev: the matrix of second derivatives", asks=FUNC, once_right=True
)
def hessian(answer: Answer, trial: Trial) -> None:
    x, c = parts.drawn(trial, 3), parts.drawn(trial, 3)
    trial.given("torch.func.jacrev(torch.func.jacrev(lambda x: (c * SquareFunctional.apply(x)).sum()))(x)")

    def loss(x: Tensor) -> Tensor:
        return (c * answer.apply(x)).sum()

    got = transformed(
        answer, trial, lambda: jacrev(jacrev(loss))(x), "torch.func.jacrev over torch.func.jacrev"
    )
    kind = kind_of(got, zero=torch.zeros(3, 3), half=torch.diag(c))
    trial.equal(got, torch.diag(2 * c), "The diagonal matrix of second derivatives", observed=kind)
