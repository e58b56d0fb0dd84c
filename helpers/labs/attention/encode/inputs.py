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


def called(
    answer: Answer,
    trial: Trial,
    x: Tensor,
    layers: Sequence[Layer],
    padding: Tensor | None = None,
    *,
    given: Any = None,
    gradients: bool = True,
) -> Any:
    """The answer's result; the layers are in the modes in which they were. given: as for `compared`."""
    trial.arguments_stay("The arguments stay as they were, also the modes of the layers.")
    modes = [(module, module.training) for each in layers for module in each.modules()]
    named = {"x": x, "layers": list(layers) if given is None else given}
    with torch.set_grad_enabled(gradients):
        got = call_with(trial, answer, **named, **({} if padding is None else {"padding": padding}))
    for module, training in modes:
        module.training = training
    return got


def at_padding(
    answer: Answer, trial: Trial, x: Tensor, layers: Sequence[Layer], padding: Tensor, gradients: bool
) -> str:
    """What stands at padding: "0", "numbers", "0 and numbers", or "NaN". Wrong if the real positions are not right.

    Where a sample is padding throughout, only that is looked at.
    Layers that are frozen come with gradients off or on; what they give has no graph either way.
    """
    frozen = not any(weight.requires_grad for each in layers for weight in each.parameters())
    for each in layers:
        each.requires_grad_()  # torch's way with gradients, which is not the fast one
    want = torchs_own(x, layers, padding)
    for each in layers:
        each.requires_grad_(not frozen)
    want = want.detach() if frozen or not gradients else want
    got = called(answer, trial, x, layers, padding, gradients=gradients)
    if type(got) is not Tensor or described(got) != described(want):
        trial.equal(got, want)
    trial.equal(torch.where(padding[:, :, None], want, got), want)
    empty = padding.all(1, keepdim=True)
    there = got.detach()[padding & empty if bool(empty.any()) else padding]
    if bool(there.isnan().any()):
        return "NaN"
    zeros = (there == 0).all(-1)
    return "0" if bool(zeros.all()) else "0 and numbers" if bool(zeros.any()) else "numbers"


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
    # Before the call, which may change a mode: a property of its own says so.
    want = torchs_own(x, layers, padding)
    want = want if gradients else want.detach()
    got = called(answer, trial, x, layers, padding, given=given, gradients=gradients)
    if type(got) is Tensor and got.shape == x.shape and torch.equal(got.detach(), x):
        trial.fail(
            "The result is x as it came: no layer had an effect.",
            expected=want,
            got=got,
            observed="x as it came",
        )
    if only_real and type(got) is Tensor and described(got) == described(want):
        got = torch.where(padding[:, :, None], want, got)
    near = None if x.dtype == torch.float64 else 1e-4
    trial.equal(got, want, rtol=near, atol=near)
