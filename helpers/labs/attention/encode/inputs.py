"""What 13.encode is tried with: layers whose numbers come from the trial, and what torch's own layers give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from helpers.check.trial import Trial
from helpers.labs.attention.shared.arguments import call_with

Answer = Any
Layer = nn.TransformerEncoderLayer
E = 6


def layer(
    trial: Trial, heads: int = 2, width: int = 5, dtype: torch.dtype = torch.float64, **options: Any
) -> Layer:
    """In eval mode. Made on no device, so that no global generator is moved."""
    made = Layer(E, heads, width, batch_first=True, device="meta", dtype=dtype, **options).to_empty(
        device="cpu"
    )
    with torch.no_grad():
        for parameter in made.parameters():
            numbers = torch.randn(parameter.shape, generator=trial.generator, dtype=torch.float64)
            parameter.copy_(numbers / E**0.5 if parameter.ndim > 1 else 0.3 * numbers)
        for norm in (made.norm1, made.norm2):
            norm.weight += 1.0
    return made.eval()


def drawn(trial: Trial, batch: int, length: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return (2 * torch.randn(batch, length, E, generator=trial.generator, dtype=torch.float64) + 0.5).to(dtype)


def padding_of(length: int, *real: int) -> Tensor:
    """So many positions of each sample are real, the others padding."""
    return torch.arange(length) >= torch.tensor(real)[:, None]


def torchs_own(x: Tensor, layers: Iterable[Layer], padding: Tensor | None = None) -> Tensor:
    """What torch's layers give on the way with gradients, which is not the fast one; 0 at padding."""
    with torch.enable_grad():
        for each in layers:
            x = each(x, src_key_padding_mask=padding)
        return x if padding is None else x.masked_fill(padding[:, :, None], 0.0)


def described(tensor: Tensor) -> tuple[Any, ...]:
    return tensor.shape, tensor.dtype, tensor.requires_grad


def compared(
    answer: Answer,
    trial: Trial,
    x: Tensor,
    layers: Sequence[Layer],
    padding: Tensor | None = None,
    *,
    given: Any = None,
    gradients: bool = True,
    only_real: bool = False,
) -> None:
    """Wrong if the result is not that of torch's layers.

    given: what stands for the layers in the call, a generator; the list itself unless given.
    only_real: what stands at padding is taken as right.
    """
    trial.arguments_stay("The arguments stay as they were, also the modes of the layers.")
    want = torchs_own(
        x, layers, padding
    )  # before the call, which may change a mode: a property of its own says so
    modes = [(module, module.training) for each in layers for module in each.modules()]
    named = {"x": x, "layers": list(layers) if given is None else given}
    with torch.set_grad_enabled(gradients):
        got = call_with(trial, answer, **named, **({} if padding is None else {"padding": padding}))
    for module, training in modes:
        module.training = training
    want = want if gradients else want.detach()
    if only_real and type(got) is Tensor and described(got) == described(want):
        got = torch.where(padding[:, :, None], want, got)
    near = None if x.dtype == torch.float64 else 1e-4
    trial.equal(got, want, rtol=near, atol=near)
