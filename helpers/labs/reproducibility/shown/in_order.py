"""The training loop of lab 01 with every sum in one order, so that its bits are the same on every processor.

`torch.mm` leaves the order of its sums to MKL or oneDNN, which choose it by the processor's vector instructions. Where
training amplifies the last bit, a figure of two runs is then a different figure on another processor.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

MOMENTUM = 0.9


@torch.no_grad()
def train_in_order(
    pictures: Tensor,
    labels: Tensor,
    steps: int,
    lr: float,
    before: Callable[[int, nn.Module], None] = lambda step, model: None,
) -> Tensor:
    """Train as the lab's `train` does, but multiply, add and round in an order that is written here.

    Args:
        pictures: float32 of shape (pictures, 8, 8).
        labels: int64 of shape (pictures,), each 0 to 9.
        steps: How many batches of 40 to train for.
        lr: The learning rate.
        before: Called with the step and the model before each step.

    Returns:
        All parameters after each step, float32 of shape (steps, 2410).
    """
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))
    first, last = model[1], model[3]
    parameters = list(model.parameters())
    for parameter in parameters:
        # A power of two: other bounds are rounded once with a fused multiply-add, twice without.
        parameter.uniform_(-1 / 8, 1 / 8)
    momenta = [torch.zeros_like(parameter) for parameter in parameters]
    after = []
    for step in range(steps):
        before(step, model)
        pick = torch.randint(len(labels), (40,))
        batch, targets = pictures[pick].flatten(1), nn.functional.one_hot(labels[pick], 10)
        # exp and tanh differ from processor to processor in their last bit: of float64 here, and it is rounded away.
        hidden = (product(batch, first.weight.T) + first.bias).double().tanh().float()
        scores = product(hidden, last.weight.T) + last.bias
        of_scores = (scores.double().softmax(1).float() - targets) / len(pick)
        of_hidden = product(of_scores, last.weight) * (1 - hidden * hidden)
        gradients = (
            product(of_hidden.T, batch),
            total(of_hidden),
            product(of_scores.T, hidden),
            total(of_scores),
        )
        for parameter, momentum, gradient in zip(parameters, momenta, gradients, strict=True):
            momentum.mul_(MOMENTUM).add_(gradient)
            parameter.sub_(momentum * lr)  # not `alpha=lr`, which fuses the two where the processor can
        after.append(nn.utils.parameters_to_vector(parameters))
    return torch.stack(after)


def product(a: Tensor, b: Tensor) -> Tensor:
    """The matrix product of `a`, of shape (n, k), and `b`, of shape (k, m): its sums are those of `total`."""
    return total(a.T[:, :, None] * b[:, None, :])


def total(terms: Tensor) -> Tensor:
    """The sum over the first dimension: the first half is added to the second, until one is left."""
    while len(terms) > 1:
        half = len(terms) // 2
        terms = torch.cat([terms[:half] + terms[half : 2 * half], terms[2 * half :]])
    return terms[0]
