"""Which operation runs in which type under autocast on this machine's CPU: seen by running it, not looked up."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Call = Callable[[Tensor], Any]

# Each takes a matrix of 4 x 4.
OPERATIONS: dict[str, Call] = {
    "mm": lambda x: torch.mm(x, x),
    "bmm": lambda x: torch.bmm(x[None], x[None]),
    "addmm": lambda x: torch.addmm(x, x, x),
    "linear": lambda x: F.linear(x, x),
    "einsum": lambda x: torch.einsum("ij,jk->ik", x, x),
    "conv2d": lambda x: F.conv2d(x[None, None], x[None, None, :2, :2]),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "relu": torch.relu,
    "add": lambda x: x + x,
    "exp": torch.exp,
    "sum": torch.sum,
    "softmax": lambda x: torch.softmax(x, 1),
    "layer_norm": lambda x: F.layer_norm(x, (4,)),
    "mse_loss": lambda x: F.mse_loss(x, x),
    "cross_entropy": lambda x: F.cross_entropy(x, torch.zeros(4, dtype=torch.long)),
    "lstm": lambda x: nn.LSTM(4, 4)(x[None])[0],
    "gru": lambda x: nn.GRU(4, 4)(x[None])[0],
}


def result_dtype(call: Call, given: torch.dtype, autocast: torch.dtype) -> str:
    """The dtype of `call`'s result inside CPU autocast, for an input of `given`; of an error its type's name.

    The global generator is left as it was: the recurrent layers draw their weights from it.
    """
    x = torch.linspace(-1, 1, 16).reshape(4, 4).to(given)
    with torch.random.fork_rng(devices=[]), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with torch.autocast("cpu", dtype=autocast):
                return str(call(x).dtype).removeprefix("torch.")
        except (RuntimeError, ValueError, TypeError) as error:
            return type(error).__name__


def autocast_table(
    autocast: torch.dtype = torch.bfloat16, operations: dict[str, Call] = OPERATIONS
) -> list[tuple[str, str, str]]:
    """A row for each operation: its name, the type of its result for float32, and for an input of the low type."""
    return [
        (name, result_dtype(call, torch.float32, autocast), result_dtype(call, autocast, autocast))
        for name, call in operations.items()
    ]
