"""Right answers to 03.numerical_grad, in different shapes."""

from __future__ import annotations

import itertools

import numpy as np
import torch


def flat_view(fn, x, eps=1e-6):
    if x.dtype != torch.float64:
        raise ValueError(f"x must be float64, not {x.dtype}")
    moved = x.detach().clone(memory_format=torch.contiguous_format)
    flat, grad = moved.view(-1), torch.zeros(x.numel(), dtype=torch.float64)
    for i in range(flat.numel()):
        here = flat[i].item()
        flat[i] = here + eps
        above = fn(moved).item()
        flat[i] = here - eps
        below = fn(moved).item()
        flat[i] = here
        grad[i] = (above - below) / (2 * eps)
    return grad.view(x.shape)


@torch.no_grad()
def rows_of_the_identity(fn, x, eps=1e-6):
    if x.dtype is not torch.float64:
        raise ValueError(x.dtype)
    steps = (
        (eps * torch.eye(x.numel(), dtype=x.dtype)).unflatten(1, x.shape)
        if x.dim()
        else torch.full((1,), eps)
    )
    pairs = [(fn(x + step), fn(x - step)) for step in steps.to(x.dtype)]
    return x.new_tensor([(up - down) / (2 * eps) for up, down in pairs]).reshape(x.shape)


def by_index(fn, x, eps=1e-6):
    """Copies for every call."""
    x = x.detach()
    grad = torch.empty(x.shape, dtype=x.dtype)
    for at in itertools.product(*(range(n) for n in x.shape)):
        values = []
        for sign in (1, -1):
            copy = torch.empty(x.shape, dtype=x.dtype).copy_(x)
            copy[at] = copy[at] + sign * eps
            values.append(float(fn(copy)))
        grad[at] = (values[0] - values[1]) / eps / 2
    return grad


def with_numpy(fn, x, eps=1e-6):
    if x.dtype != torch.float64:
        raise ValueError
    start = np.array(x.detach().tolist(), dtype=np.float64).reshape(x.shape)
    grad = np.zeros_like(start)
    for at in np.ndindex(*start.shape):
        up, down = start.copy(), start.copy()
        up[at] += eps
        down[at] -= eps
        grad[at] = (fn(torch.from_numpy(up)) - fn(torch.from_numpy(down))) / (2 * eps)
    return torch.from_numpy(grad)


def in_x_itself(fn, x, eps=1e-6):
    """As torch's gradcheck: x itself is moved for a while, and put back to the last bit whatever fn does."""
    x = x.detach()
    data = x.clone() if 0 in x.stride() else x
    grad = torch.zeros(x.shape, dtype=torch.float64)
    for at in np.ndindex(*x.shape):
        here, values = data[at].item(), []
        try:
            for step in (eps, -eps):
                data[at] = here + step
                values.append(float(fn(data)))
        finally:
            data[at] = here
        grad[at] = (values[0] - values[1]) / (2 * eps)
    return grad


RIGHT = [flat_view, rows_of_the_identity, by_index, with_numpy, in_x_itself]
