"""What the notebook of lab 13 uses beside the answers: counted numbers and bytes, and the weights of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from helpers.check.operations import operations

__all__ = ["in_heads", "largest_made", "looks", "saved_bytes"]


def saved_bytes(fn: Callable[..., Tensor], *inputs: Tensor) -> int:
    """The bytes of all that autograd saves while `fn(*inputs)` runs, without those of the inputs.

    A memory that several nodes save counts once.
    """
    known = {each.untyped_storage().data_ptr() for each in inputs}
    saved: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        memory = tensor.untyped_storage()
        if memory.data_ptr() not in known:
            saved[memory.data_ptr()] = memory.nbytes()
        return tensor.detach()  # the tensor itself would hold its node, and the node hold it

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = fn(*inputs)
    del result  # until here, so that no memory is given out twice
    return sum(saved.values())


def largest_made(fn: Callable[..., Any], *args: Any) -> int:
    """How many numbers the largest tensor has that is made while `fn(*args)` runs; views are not made."""
    with torch.no_grad(), operations() as ran:
        fn(*args)
    return max(each.made for each in ran)


def in_heads(x: Tensor, module: nn.MultiheadAttention) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of x, (B, T, E), by the weights of a module: three of shape (B, H, T, D)."""
    projected = linear(x, module.in_proj_weight, module.in_proj_bias)
    q, k, v = (part.unflatten(-1, (module.num_heads, -1)).transpose(1, 2) for part in projected.chunk(3, -1))
    return q, k, v


@torch.no_grad()
def looks(layers: Iterable[nn.Module], x: Tensor) -> list[Tensor]:
    """The weights of causal attention in layers with `norms` and `attention`, that x goes through one after the other.

    x: shape (1, T, E). Returns for each layer a tensor of shape (H, T, T).
    """
    found = []
    later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
    for layer in layers:
        q, k, _ = in_heads(layer.norms[0](x), layer.attention)
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        found.append(scores.masked_fill(later, float("-inf")).softmax(-1)[0])
        x = layer(x)
    return found
