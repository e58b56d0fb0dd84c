"""What answers to 13.flash_attention are tried on, and how they are called."""

from __future__ import annotations

from typing import Any, NoReturn

import torch
from torch import Tensor
from torch.autograd import Function

from helpers.check.trial import Trial
from helpers.labs.attention.shared.blocks import randn, strided

Answer = type[Function]
Sizes = tuple[int, int, int, int, int, int]  # B, H, Lq, Lk, D, block

SIZES: tuple[Sizes, ...] = (
    (2, 3, 5, 6, 4, 6),  # one block
    (2, 3, 5, 6, 4, 2),
    (3, 2, 4, 11, 6, 4),  # the last block is smaller
    (2, 1, 3, 5, 2, 9),  # block larger than Lk
    (1, 3, 7, 4, 3, 1),
    (2, 4, 1, 10, 3, 4),  # one query
    (2, 3, 4, 1, 5, 2),  # one key
)
# Of q, k, and the scores of a block, each is the largest once.
SMALL: tuple[Sizes, ...] = ((2, 3, 9, 8, 5, 3), (2, 3, 4, 10, 7, 3), (3, 2, 11, 9, 2, 4))
EDITED = "modified by an inplace operation"


def drawn(
    trial: Trial, sizes: Sizes, dtype: torch.dtype = torch.float64, needing: str = "qkv"
) -> tuple[Tensor, ...]:
    """Normal q, k and v with gaps in their memory, leaves; those named in `needing` require grad."""
    batch, heads, queries, keys, width, _ = sizes
    lengths = {"q": queries, "k": keys, "v": keys}
    return tuple(
        strided(randn(trial, batch, heads, length, width, dtype=dtype)).requires_grad_(name in needing)
        for name, length in lengths.items()
    )


def told(sizes: Sizes, dtype: torch.dtype = torch.float64, more: str = "") -> str:
    batch, heads, queries, keys, width, block = sizes
    return (
        f"FlashAttention.apply(q, k, v, {block}), q of shape {(batch, heads, queries, width)}, k and v of shape "
        f"{(batch, heads, keys, width)}, {str(dtype).removeprefix('torch.')}{more}"
    )


def reference(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The formula, with torch's graph behind it."""
    return (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1) @ v


def applied(answer: Answer, trial: Trial, *args: Any) -> Any:
    """`answer.apply(*args)`; arguments are not watched."""
    if not (isinstance(answer, type) and issubclass(answer, Function)):
        answer()  # an untouched stub of a different shape says so here
        trial.fail(
            "This is no autograd Function.", expected="class FlashAttention(Function)", observed="no Function"
        )
    try:
        return trial.call(lambda: answer.apply(*args))
    except (RuntimeError, TypeError) as error:
        _tell(answer, trial, error, "forward")


def gradients(
    answer: Answer,
    trial: Trial,
    output: Any,
    inputs: list[Tensor],
    grad_out: Tensor | None,
    *,
    again: bool = False,
) -> tuple[Tensor | None, ...]:
    """`torch.autograd.grad`; None for an input that was not reached. again: the graph stays."""
    trial.true(
        type(output) is Tensor and output.requires_grad,
        "q, k or v requires grad, and the result does not.",
        expected="a result with the Function's node behind it",
        got=output,
        observed="off the graph",
    )
    try:
        return torch.autograd.grad(output, inputs, grad_out, retain_graph=again, allow_unused=True)
    except (RuntimeError, TypeError) as error:
        _tell(answer, trial, error, "backward")


def _tell(answer: Answer, trial: Trial, error: Exception, where: str) -> NoReturn:
    """Says what torch refused without the name of the class, by which no mistake is known; other errors go on."""
    text = str(error).strip().partition("\n")[0]
    if isinstance(error, NotImplementedError) or answer.__name__ not in text:
        raise error
    text = text.replace(f"{answer.__name__}Backward", "the Function's node").replace(
        answer.__name__, "the Function"
    )
    trial.fail(f"torch refused what {where} did: {text}", observed=("refused", where, text))
