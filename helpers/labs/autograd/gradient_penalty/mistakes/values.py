"""What people write for 03.gradient_penalty, and why it is wrong."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from helpers.labs.autograd.gradient_penalty.exercise import Penalty, gradient_penalty


def gradients(loss: Tensor, params: Iterable[Tensor], *, create_graph: bool = True) -> list[Tensor]:
    """The gradients of those parameters that the loss uses."""
    found = torch.autograd.grad(loss, params, create_graph=create_graph, retain_graph=True, allow_unused=True)
    return [grad for grad in found if grad is not None]


def total(loss: Tensor, parts: Iterable[Tensor]) -> Tensor:
    return sum(parts, loss.new_zeros(()))


@gradient_penalty.mistake()
def backward_create_graph(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The .grad of a leaf was written. Perhaps by loss.backward(create_graph=True), whose result stands in .grad.
    torch.autograd.grad returns the gradients, and touches none.
    """
    params = list(params)
    loss.backward(create_graph=True)
    return total(loss, (param.grad.square().sum() for param in params if param.grad is not None))


@gradient_penalty.variant(backward_create_graph)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    params = list(params)
    for param in params:
        param.grad = None
    loss.backward(create_graph=True)
    return total(loss, (param.grad.square().sum() for param in params if param.grad is not None))


@gradient_penalty.variant(backward_create_graph)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    params = list(params)
    loss.backward(create_graph=True)
    grads = [param.grad for param in params if param.grad is not None]
    for param in params:
        param.grad = None
    return total(loss, (grad.square().sum() for grad in grads))


@gradient_penalty.variant(backward_create_graph)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """For the params alone, and put back."""
    params = list(params)
    before = [param.grad for param in params]
    for param in params:
        param.grad = None
    loss.backward(create_graph=True, inputs=params)
    grads = [param.grad for param in params if param.grad is not None]
    for param, old in zip(params, before, strict=True):
        param.grad = old
    return total(loss, (grad.square().sum() for grad in grads))


@gradient_penalty.variant(backward_create_graph)
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


@gradient_penalty.variant(backward_create_graph)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    params = list(params)
    torch.autograd.backward(loss, create_graph=True, inputs=params)
    return total(loss, (param.grad.square().sum() for param in params if param.grad is not None))


@gradient_penalty.variant(backward_create_graph)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    params = list(params)
    for param in params:
        param.grad = None
    torch.autograd.backward(loss, create_graph=True, inputs=params)
    return total(loss, (param.grad.square().sum() for param in params if param.grad is not None))


@gradient_penalty.mistake(
    breaks="The sum of the squares of all entries of the gradients of `loss` by `params`; differentiable."
)
def counted_twice(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """Gradients were doubled, or added to .grad. Perhaps loss.backward() was called beside
    torch.autograd.grad: the one fills .grad of every leaf, the other computes the same once more.
    """
    params = list(params)
    loss.backward(retain_graph=True)
    found = torch.autograd.grad(loss, params, create_graph=True, allow_unused=True)
    both = [param.grad + grad for param, grad in zip(params, found, strict=True) if grad is not None]
    return total(loss, (grad.square().sum() for grad in both))


@gradient_penalty.variant(counted_twice)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    loss.backward(retain_graph=True)
    return total(loss, (grad.square().sum() for grad in gradients(loss, params)))


@gradient_penalty.mistake(breaks="differentiable.")
def no_create_graph(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The penalty has no grad_fn. Perhaps its gradients were computed without a history: create_graph=True
    records how they are computed, and keeps the graph of the loss, too; retain_graph=True alone only keeps
    the graph.
    """
    return total(loss, (grad.square().sum() for grad in gradients(loss, params, create_graph=False)))


@gradient_penalty.variant(no_create_graph)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    grads = torch.autograd.grad(loss, params, allow_unused=True)  # the loss's graph is gone, too
    return total(loss, (grad.square().sum() for grad in grads if grad is not None))


@gradient_penalty.mistake(breaks="differentiable.")
def requires_grad_to_silence(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The penalty requires grad, and no way leads from it to a parameter. Perhaps requires_grad_() was called
    on the result, or it was made anew with requires_grad=True: a new leaf. Find where the history was cut instead.
    """
    squares = (grad.square().sum() for grad in gradients(loss, params, create_graph=False))
    return total(loss, squares).requires_grad_()


@gradient_penalty.variant(requires_grad_to_silence)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    number = sum(grad.square().sum().item() for grad in gradients(loss, params))
    return torch.tensor(number, dtype=loss.dtype, requires_grad=True)


@gradient_penalty.variant(requires_grad_to_silence)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    grads = gradients(loss, params, create_graph=False)
    return total(loss, (grad.requires_grad_().square().sum() for grad in grads))


@gradient_penalty.mistake(
    breaks="The sum of the squares of all entries of the gradients of `loss` by `params`; differentiable."
)
def one_factor_detached(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The value is right, and its gradient is half of what it should be: perhaps one of the two factors of a square is
    a constant, as in grad.detach() * grad.
    """
    return total(loss, ((grad.detach() * grad).sum() for grad in gradients(loss, params)))


@gradient_penalty.mistake(
    breaks="The sum of the squares of all entries of the gradients of `loss` by `params`; differentiable."
)
def mean_for_sum(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The mean of the squares depends on how many parameters there are: the same penalty is weaker for a
    larger net. The exercise asks for the sum.
    """
    grads = gradients(loss, params)
    return torch.cat([grad.flatten() for grad in grads]).square().mean() if grads else loss.new_zeros(())


@gradient_penalty.variant(mean_for_sum)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    return total(loss, (grad.square().mean() for grad in gradients(loss, params)))


@gradient_penalty.mistake(
    breaks="The sum of the squares of all entries of the gradients of `loss` by `params`; differentiable."
)
def norm_not_squared(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The norm is the root of the sum of squares. Besides a different value it has no second derivative where the
    gradient is 0: written out as sum().sqrt() it gives NaN there.
    """
    return total(loss, (grad.square().sum() for grad in gradients(loss, params))).sqrt()


@gradient_penalty.variant(norm_not_squared)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    grads = gradients(loss, params)
    return torch.cat([grad.flatten() for grad in grads]).norm() if grads else loss.new_zeros(())


@gradient_penalty.variant(norm_not_squared)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    return total(loss, (grad.norm() for grad in gradients(loss, params)))


@gradient_penalty.variant(norm_not_squared)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    return total(loss, (grad.square().sum().sqrt() for grad in gradients(loss, params)))


@gradient_penalty.mistake(breaks="The penalty's own gradient is finite, also where the gradient is 0.")
def root_then_square(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """Where a gradient is 0, the penalty's own gradient is NaN, or backward raised. Perhaps a root was
    squared again: the root of 0 has an infinite derivative, and infinity times 0 is NaN. Squaring repairs the
    value only.
    """
    return total(loss, (grad.square().sum() for grad in gradients(loss, params))).sqrt() ** 2


@gradient_penalty.variant(root_then_square)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    return total(loss, (grad.square().sum().sqrt() ** 2 for grad in gradients(loss, params)))


@gradient_penalty.mistake()
def unused_raises(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The call raised where the loss does not use a parameter. Perhaps allow_unused=True is missing in
    torch.autograd.grad: with it the gradient is None, which counts as 0 here.
    """
    grads = torch.autograd.grad(loss, params, create_graph=True)
    return total(loss, (grad.square().sum() for grad in grads))


@gradient_penalty.variant(unused_raises)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    grads = torch.autograd.grad(loss, params, create_graph=True, allow_unused=True)
    return total(loss, (grad.square().sum() for grad in grads))


@gradient_penalty.mistake()
def walked_twice(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """With params that can be walked only once the penalty is wrong, or the call raised. Perhaps they are
    walked twice: model.parameters() is a generator, and the second walk finds nothing, without an error. Make
    a list of it first.
    """
    found = torch.autograd.grad(loss, params, create_graph=True, allow_unused=True)
    return total(
        loss, (grad.square().sum() for grad, _ in zip(found, params, strict=False) if grad is not None)
    )


@gradient_penalty.variant(walked_twice)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    count = sum(1 for _ in params)
    return (
        total(loss, (grad.square().sum() for grad in gradients(loss, params)))
        if count
        else loss.new_zeros(())
    )


@gradient_penalty.variant(walked_twice)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    if not any(param.requires_grad for param in params):
        return loss.new_zeros(())
    return total(loss, (grad.square().sum() for grad in gradients(loss, params)))


@gradient_penalty.variant(walked_twice)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    found = torch.autograd.grad(loss, params, create_graph=True, allow_unused=True)
    filled = zip(found, params, strict=False)
    return sum((torch.zeros_like(param) if grad is None else grad).square().sum() for grad, param in filled)


@gradient_penalty.variant(walked_twice)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    found = torch.autograd.grad(loss, params, create_graph=True)
    return total(loss, (grad.square().sum() for grad, _ in zip(found, params, strict=False)))


@gradient_penalty.variant(walked_twice)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    found = torch.autograd.grad(loss, params, create_graph=True)
    return sum(grad.square().sum() for grad, _ in zip(found, params, strict=False))


@gradient_penalty.mistake(
    breaks="The sum of the squares of all entries of the gradients of `loss` by `params`; differentiable."
)
def first_only(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """Only the first gradient counts. Perhaps [0] was taken of what torch.autograd.grad returns, a tuple with one
    gradient for each parameter, or only the first parameter was handed in.
    """
    grads = gradients(loss, params)
    return grads[0].square().sum() if grads else loss.new_zeros(())


@gradient_penalty.mistake(
    breaks="The sum of the squares of all entries of the gradients of `loss` by `params`; differentiable."
)
def sum_then_square(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """Squaring after the sum lets entries of different signs cancel. Each entry is squared, then all are
    added.
    """
    return total(loss, (grad.sum().square() for grad in gradients(loss, params)))


@gradient_penalty.variant(sum_then_square)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    return total(loss, (grad.sum() for grad in gradients(loss, params))).square()


def without_allow_unused(answer: Penalty) -> Penalty:
    """The same mistake by somebody who forgot about unused parameters as well."""

    def both(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
        params = list(params)
        torch.autograd.grad(loss, params, retain_graph=True)  # raises if one of them is not used
        return answer(loss, params)

    return both


for known in ("no_create_graph", "mean_for_sum", "root_then_square"):
    gradient_penalty.add_variant(known, without_allow_unused(gradient_penalty.mistakes[known].answer))
for form in gradient_penalty.mistakes["root_then_square"].variants[:1]:
    gradient_penalty.add_variant("root_then_square", without_allow_unused(form))


def parts_of(loss: Tensor, params: Iterable[Tensor]) -> list[Tensor]:
    """The squared length of each gradient."""
    return [grad.square().sum() for grad in gradients(loss, params)]


@gradient_penalty.mistake(breaks="; differentiable.")
def history_cut_off(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The gradients were computed with create_graph=True, and their history was lost on the way to the penalty:
    perhaps by detach, .data, .item() or a torch.no_grad() around the squares.
    """
    return total(loss, (grad.detach().square().sum() for grad in gradients(loss, params)))


@gradient_penalty.variant(history_cut_off)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    grads = torch.autograd.grad(loss, params, create_graph=True)
    return total(loss, (grad.detach().square().sum() for grad in grads))


@gradient_penalty.variant(history_cut_off)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    with torch.no_grad():
        return sum(parts_of(loss, params))


@gradient_penalty.mistake(breaks="A tensor of 0 dimensions")
def a_python_number(loss: Tensor, params: Iterable[Tensor]) -> Any:
    """The penalty is a Python number. It has no history: nothing can be trained on it."""
    return total(loss, parts_of(loss, params)).item()


@gradient_penalty.mistake(
    breaks="A tensor of 0 dimensions and of loss's dtype, also where no parameter is used."
)
def python_zero_for_nothing(loss: Tensor, params: Iterable[Tensor]) -> Any:
    """A Python number came back where no gradient counts. Perhaps a sum of nothing, which is the number 0.
    Begin with loss.new_zeros(()), which has the dtype and the device of the loss.
    """
    return sum(parts_of(loss, params))


@gradient_penalty.variant(python_zero_for_nothing)
def _(loss: Tensor, params: Iterable[Tensor]) -> Any:
    return sum(parts_of(loss, params)) or 0.0


@gradient_penalty.mistake(
    breaks="A tensor of 0 dimensions and of loss's dtype, also where no parameter is used."
)
def float32_for_nothing(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """When the loss uses none of the parameters, the zero is float32 whatever the loss is: torch.zeros(()) does
    not know the loss. loss.new_zeros(()) does.
    """
    return sum(parts_of(loss, params), torch.zeros(()))


@gradient_penalty.mistake(
    breaks="A tensor of 0 dimensions and of loss's dtype, also where no parameter is used."
)
def raises_for_nothing(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """When the loss uses none of the parameters, the call raises. Perhaps there is nothing to put together:
    torch.cat and torch.stack take no empty list.
    """
    return torch.cat([grad.flatten() for grad in gradients(loss, params)]).square().sum()


@gradient_penalty.variant(raises_for_nothing)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    first, *others = parts_of(loss, params)
    return sum(others, first)


@gradient_penalty.variant(raises_for_nothing)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    return torch.stack(parts_of(loss, params)).sum()


@gradient_penalty.mistake(
    breaks="The sum of the squares of all entries of the gradients of `loss` by `params`"
)
def constants_left_out(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The penalty is wrong where a gradient is a constant. Perhaps that was left out, since it does not
    require grad. It is a part of the length as every other; only None is nothing.
    """
    return total(loss, (grad.square().sum() for grad in gradients(loss, params) if grad.requires_grad))


@gradient_penalty.mistake(breaks="No `.grad` is touched")
def backward_without_history(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The penalty has no history. Perhaps it was made of .grad, where loss.backward() writes plain numbers.
    torch.autograd.grad(..., create_graph=True) returns gradients that can be trained on.
    """
    params = list(params)
    loss.backward(retain_graph=True)
    return total(loss, (param.grad.square().sum() for param in params if param.grad is not None))


@gradient_penalty.variant(backward_without_history)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    params = list(params)
    loss.backward()
    return total(loss, (param.grad.square().sum() for param in params if param.grad is not None))


@gradient_penalty.variant(backward_without_history)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    params = list(params)
    for param in params:
        param.grad = None
    loss.backward(retain_graph=True)
    return total(loss, (param.grad.square().sum() for param in params if param.grad is not None))


@gradient_penalty.mistake(breaks="The graph of the loss stays")
def graph_freed(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The first backward after the penalty raised. Perhaps computing the penalty freed what the graph of the
    loss had saved: create_graph=True keeps it, unless retain_graph=False is said as well.
    """
    found = torch.autograd.grad(loss, params, create_graph=True, retain_graph=False, allow_unused=True)
    return total(loss, (grad.square().sum() for grad in found if grad is not None))


@gradient_penalty.mistake(
    breaks="The sum of the squares of all entries of the gradients of `loss` by `params`"
)
def loss_included(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The result is loss + penalty. Who calls this adds the loss: it would count twice."""
    return total(loss, parts_of(loss, params)) + loss


@gradient_penalty.mistake(breaks="of the gradients of `loss` by `params`")
def parameters_squared(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """That is the squared length of the parameters, as in weight decay. The gradients' is asked for."""
    return total(loss, (param.square().sum() for param in params))


@gradient_penalty.mistake(breaks="The sum of the squares of all entries")
def halved(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """A half stands before the sum. Some papers write it so; here it is the sum itself."""
    return total(loss, parts_of(loss, params)) / 2


@gradient_penalty.mistake(breaks="The sum of the squares of all entries")
def absolute_values(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The absolute values were added up, not the squares."""
    return total(loss, (grad.abs().sum() for grad in gradients(loss, params)))


@gradient_penalty.mistake(breaks="The sum of the squares of all entries of the gradients")
def not_squared(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The entries were added up as they are: entries of different signs cancel."""
    return total(loss, (grad.sum() for grad in gradients(loss, params)))


@gradient_penalty.mistake(breaks="The sum of the squares of all entries")
def distance_from_one(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """(length - 1)² is the penalty of WGAN-GP, which holds the gradient's length at 1. Here it is length²."""
    return (total(loss, parts_of(loss, params)).sqrt() - 1).square()


@gradient_penalty.mistake(breaks="of all entries of the gradients")
def last_only(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """Only the last gradient counts: perhaps each turn of a loop replaced what was there before."""
    penalty = loss.new_zeros(())
    for part in parts_of(loss, params):
        penalty = part
    return penalty


@gradient_penalty.mistake(breaks="A tensor of 0 dimensions")
def one_dimension(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The result has one dimension, of size 1. A loss has none: sum() without a dimension gives that."""
    return total(loss, parts_of(loss, params)).reshape(1)


@gradient_penalty.mistake(breaks="A tensor of 0 dimensions")
def one_number_each(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """There is one number for each parameter. Add them up."""
    return torch.stack(parts_of(loss, params))


@gradient_penalty.mistake(breaks="and of loss's dtype")
def few_digits(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The penalty of a float64 loss is right in its first digits only: perhaps a part of it went through float32, or a
    small number was added on the way.
    """
    return total(loss.float(), (grad.float().square().sum() for grad in gradients(loss, params))).to(
        loss.dtype
    )


@gradient_penalty.variant(few_digits)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    return (total(loss, (grad.square().sum() for grad in gradients(loss, params))).sqrt() + 1e-6) ** 2


@gradient_penalty.variant(few_digits)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    return total(loss, (grad.square().sum() for grad in gradients(loss, params))) + 1e-6


@gradient_penalty.mistake(breaks="The sum of the squares of all entries of the gradients")
def not_zero_at_zero(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """Where the gradient is 0 the penalty is not: perhaps a small number was added, to keep a root away from 0. The sum
    of squares needs no root.
    """
    return (total(loss, (grad.square().sum() for grad in gradients(loss, params))) + 1e-12).sqrt() ** 2


@gradient_penalty.variant(not_zero_at_zero)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    return total(loss, (grad.square().sum() for grad in gradients(loss, params))) + 1e-12


@gradient_penalty.mistake(breaks="One that the loss does not use counts as 0")
def ends_at_unused(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The sum ends at the first parameter that the loss does not use, and those that come after it are missing: perhaps
    `break` or `return` where None was found. Leave out that one, and go on.
    """
    found = torch.autograd.grad(loss, list(params), create_graph=True, allow_unused=True)
    return total(
        loss, (grad.square().sum() for grad in itertools.takewhile(lambda grad: grad is not None, found))
    )


@gradient_penalty.mistake(breaks="; differentiable.")
def only_first_has_a_history(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The value is right, and the penalty's gradient is that of the first gradient's squares: all other gradients are
    constants for it. Perhaps they were detached on the way.
    """
    first, *others = gradients(loss, params) or [loss.new_zeros(())]
    return total(loss, [first.square().sum(), *(grad.detach().square().sum() for grad in others)])


@gradient_penalty.mistake(breaks="params: tensors of loss's dtype that require grad, leaves or not")
def leaves_only(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """A tensor among the params that is no leaf does not count: perhaps it was left out by `is_leaf`, or looked for in .grad,
    which only leaves have. The penalty of WGAN-GP is on such a tensor.
    """
    return total(loss, parts_of(loss, [each for each in params if each.is_leaf]))


@gradient_penalty.mistake(breaks="and of loss's dtype")
def other_dtype(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The penalty has not the dtype of the loss. Perhaps a part was cast on the way and not back, or the
    sum begins with a number of a fixed dtype.
    """
    return total(loss, parts_of(loss, params)).float()
