"""What people write for 03.gradient_penalty."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from helpers.labs.autograd.gradient_penalty import gradient_penalty


def gradients(loss: Tensor, params: Iterable[Tensor], *, create_graph: bool = True) -> list[Tensor]:
    """The gradients of those parameters that the loss uses."""
    found = torch.autograd.grad(loss, params, create_graph=create_graph, retain_graph=True, allow_unused=True)
    return [grad for grad in found if grad is not None]


def total(loss: Tensor, parts: Iterable[Tensor]) -> Tensor:
    return sum(parts, loss.new_zeros(()))


@gradient_penalty.wrong_answer(
    "no_create_graph",
    why="retain_graph=True keeps the graph of the loss; it does not record how the gradients were computed. "
    "create_graph=True does, and keeps the graph, too.",
    seen="it does not record how the gradients were computed",
)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    return total(loss, (grad.square().sum() for grad in gradients(loss, params, create_graph=False)))


@gradient_penalty.another_form("no_create_graph")
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    return total(loss, (grad.detach().square().sum() for grad in gradients(loss, params)))


@gradient_penalty.another_form("no_create_graph")
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    return total(loss, (grad.square().sum() for grad in gradients(loss, params))).detach()


@gradient_penalty.wrong_answer(
    "requires_grad_to_silence",
    why="requires_grad_() on the result makes it a new leaf: the error goes away, and so does every way to the "
    "parameters. Find where the history was cut instead.",
    seen="makes it a new leaf",
)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    squares = (grad.square().sum() for grad in gradients(loss, params, create_graph=False))
    return total(loss, squares).requires_grad_()


@gradient_penalty.another_form("requires_grad_to_silence")
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    number = sum(grad.square().sum().item() for grad in gradients(loss, params))
    return torch.tensor(number, dtype=loss.dtype, requires_grad=True)


@gradient_penalty.wrong_answer(
    "one_factor_detached",
    why="In grad.detach() * grad one of the two factors is a constant for the second derivative: the value is right, "
    "and its gradient is half of what it should be.",
    seen="half of what it should be",
)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    return total(loss, ((grad.detach() * grad).sum() for grad in gradients(loss, params)))


@gradient_penalty.wrong_answer(
    "backward_create_graph",
    why="loss.backward(create_graph=True) adds to the .grad of every leaf, also of those that you did not ask for, and "
    "leaves a cycle between a parameter and its .grad that holds the graph. torch.autograd.grad returns the gradients.",
    seen="leaves a cycle between a parameter and its .grad",
)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    params = list(params)
    loss.backward(create_graph=True)
    return total(loss, (param.grad.square().sum() for param in params if param.grad is not None))


@gradient_penalty.another_form("backward_create_graph")
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    params = list(params)
    for param in params:
        param.grad = None
    loss.backward(create_graph=True)
    return total(loss, (param.grad.square().sum() for param in params if param.grad is not None))


@gradient_penalty.another_form("backward_create_graph")
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    params = list(params)
    loss.backward(create_graph=True)
    grads = [param.grad for param in params if param.grad is not None]
    for param in params:
        param.grad = None
    return total(loss, (grad.square().sum() for grad in grads))


@gradient_penalty.another_form("backward_create_graph")
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    params = list(params)
    before = [param.grad for param in params]
    for param in params:
        param.grad = None
    loss.backward(create_graph=True)
    grads = [param.grad for param in params if param.grad is not None]
    for param, old in zip(params, before, strict=True):
        param.grad = old
    return total(loss, (grad.square().sum() for grad in grads))


@gradient_penalty.wrong_answer(
    "counted_twice",
    why="loss.backward() fills .grad of every leaf, and torch.autograd.grad computes the same once more: used together, "
    "the gradients are counted twice, here or in the optimizer's step.",
    seen="computes the same once more",
)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    params = list(params)
    loss.backward(retain_graph=True)
    found = torch.autograd.grad(loss, params, create_graph=True, allow_unused=True)
    both = [param.grad + grad for param, grad in zip(params, found, strict=True) if grad is not None]
    return total(loss, (grad.square().sum() for grad in both))


@gradient_penalty.another_form("counted_twice")
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    loss.backward(retain_graph=True)
    return total(loss, (grad.square().sum() for grad in gradients(loss, params)))


@gradient_penalty.wrong_answer(
    "mean_for_sum",
    why="The mean of the squares depends on how many parameters there are: the same penalty is weaker for a larger "
    "net. The exercise asks for the sum.",
    seen="the same penalty is weaker for a larger net",
)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    grads = gradients(loss, params)
    return torch.cat([grad.flatten() for grad in grads]).square().mean() if grads else loss.new_zeros(())


@gradient_penalty.another_form("mean_for_sum")
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    return total(loss, (grad.square().mean() for grad in gradients(loss, params)))


@gradient_penalty.wrong_answer(
    "norm_not_squared",
    why="The norm is the root of the sum of squares. Besides another value it has no second derivative where the "
    "gradient is 0.",
    seen="Besides another value it has no second derivative",
)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    return total(loss, (grad.square().sum() for grad in gradients(loss, params))).sqrt()


@gradient_penalty.another_form("norm_not_squared")
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    grads = gradients(loss, params)
    return torch.cat([grad.flatten() for grad in grads]).norm() if grads else loss.new_zeros(())


@gradient_penalty.another_form("norm_not_squared")
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    return total(loss, (grad.norm() for grad in gradients(loss, params)))


@gradient_penalty.wrong_answer(
    "root_then_square",
    why="The root of 0 has an infinite derivative, and infinity times 0 is NaN: squaring it again repairs the value, "
    "not the gradient.",
    seen="infinity times 0 is NaN",
)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    return total(loss, (grad.square().sum() for grad in gradients(loss, params))).sqrt() ** 2


@gradient_penalty.another_form("root_then_square")
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    return total(loss, (grad.square().sum().sqrt() ** 2 for grad in gradients(loss, params)))


@gradient_penalty.wrong_answer(
    "unused_raises",
    why="torch.autograd.grad raises for a parameter that the loss does not use, unless allow_unused=True; then its "
    "gradient is None, which counts as 0 here.",
    seen="unless allow_unused=True",
)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    grads = torch.autograd.grad(loss, params, create_graph=True)
    return total(loss, (grad.square().sum() for grad in grads))


@gradient_penalty.another_form("unused_raises")
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    grads = torch.autograd.grad(loss, params, create_graph=True, allow_unused=True)
    return total(loss, (grad.square().sum() for grad in grads))


@gradient_penalty.wrong_answer(
    "none_used_raises",
    why="Where the loss uses none of the parameters, there is no gradient left to join: torch.cat and torch.stack of an "
    "empty list raise, and sum([]) is the int 0.",
    seen="there is no gradient left to join",
)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    return torch.cat([grad.flatten() for grad in gradients(loss, params)]).square().sum()


@gradient_penalty.another_form("none_used_raises")
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    return sum(grad.square().sum() for grad in gradients(loss, params))


@gradient_penalty.wrong_answer(
    "walked_twice",
    why="model.parameters() is a generator: the second walk over it finds nothing, without an error. Make a list of "
    "it first, or walk once.",
    seen="the second walk over it finds nothing",
)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    found = torch.autograd.grad(loss, params, create_graph=True, allow_unused=True)
    return total(
        loss, (grad.square().sum() for grad, _ in zip(found, params, strict=False) if grad is not None)
    )


@gradient_penalty.another_form("walked_twice")
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    count = sum(1 for _ in params)
    return (
        total(loss, (grad.square().sum() for grad in gradients(loss, params)))
        if count
        else loss.new_zeros(())
    )


@gradient_penalty.wrong_answer(
    "first_only",
    why="torch.autograd.grad returns a tuple with one gradient for each parameter, [0] is only the first one.",
    seen="[0] is only the first one",
)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    grads = gradients(loss, params)
    return grads[0].square().sum() if grads else loss.new_zeros(())


@gradient_penalty.wrong_answer(
    "sum_then_square",
    why="Squaring after the sum lets entries of different signs cancel. Each entry is squared, then all are added.",
    seen="lets entries of different signs cancel",
)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    return total(loss, (grad.sum().square() for grad in gradients(loss, params)))


@gradient_penalty.another_form("sum_then_square")
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    return total(loss, (grad.sum() for grad in gradients(loss, params))).square()
