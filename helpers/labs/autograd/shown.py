"""The one thing about torch's graph that cannot be done in the same way for every node: calling it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction
from torch.autograd.graph import Node

__all__ = ["call_node"]


def call_node(node: Node, grads: Sequence[Tensor | None]) -> tuple[Tensor | None, ...]:
    """What `node` makes of the gradients of its outputs: one gradient, or None, for each of its `next_functions`.

    grads: one for each output of the forward operation, None where nothing arrived; they are not changed.
    A C++ node is called. The node of a custom Function cannot be; its `apply` runs the Function's `backward`,
    which expects zeros for what is missing and returns one value for each argument of `forward`. It gets zeros
    also where `forward` has called set_materialize_grads(False): torch lets nobody read that flag from the node.
    What the node returns is neither summed to the shape of its receiver nor cast to its dtype. No hook runs,
    saved tensors are not freed, and with grad mode on the call itself is recorded in a new graph.
    """
    if not isinstance(node, BackwardCFunction):
        found = node(*grads)
        return found if isinstance(found, tuple) else (found,)
    outputs = zip(grads, node._input_metadata, strict=True)
    found = node.apply(
        *(
            torch.zeros(output.shape, dtype=output.dtype, device=output.device) if grad is None else grad
            for grad, output in outputs
        )
    )
    found = found if isinstance(found, tuple) else (found,)
    # next_functions leaves out what is no tensor; what needs a gradient stands in the same order in both.
    needed = iter([grad for grad, needs in zip(found, node.needs_input_grad, strict=False) if needs])
    return tuple(None if receiver is None else next(needed) for receiver, _ in node.next_functions)
