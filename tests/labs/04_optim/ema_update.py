"""Right answers to 04.ema_update, in different shapes."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


@torch.no_grad()
def follow_by_lerp(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """The solution of the notebook."""
    for mine, theirs in zip(ema.parameters(), model.parameters(), strict=True):
        mine.lerp_(theirs, 1 - decay)
    for mine, theirs in zip(ema.buffers(), model.buffers(), strict=True):
        if mine.is_floating_point():
            mine.lerp_(theirs, 1 - decay)
        else:
            mine.copy_(theirs)


def follow_by_data(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """By name, through .data; the natural formula, which rounds its second half in the model's dtype."""
    theirs = dict(model.named_parameters()) | dict(model.named_buffers())
    for name, mine in (dict(ema.named_parameters()) | dict(ema.named_buffers())).items():
        if torch.is_floating_point(mine):
            mine.data.copy_(decay * mine.data + (1 - decay) * theirs[name].data)
        else:
            mine.data[...] = theirs[name].data


def follow_in_one_pass(ema: nn.Module, model: nn.Module, decay: float) -> nn.Module:
    """foreach over all that has a point."""
    pairs = [
        (mine.detach(), theirs.detach())
        for kind in (nn.Module.parameters, nn.Module.buffers)
        for mine, theirs in zip(kind(ema), kind(model), strict=True)
    ]
    moving = [pair for pair in pairs if pair[0].dtype.is_floating_point]
    still = [pair for pair in pairs if not pair[0].dtype.is_floating_point]
    with torch.inference_mode():
        averages = torch._foreach_mul([mine for mine, _ in moving], decay)
        torch._foreach_add_(averages, [theirs for _, theirs in moving], alpha=1 - decay)
    torch._foreach_copy_([mine for mine, _ in moving], averages)
    for mine, theirs in still:
        mine.copy_(theirs)
    return ema


class Follower:
    """Walks over the modules, and remembers which tensors it has seen."""

    def __call__(self, ema: nn.Module, model: nn.Module, decay: float) -> None:
        seen: set[int] = set()
        with torch.set_grad_enabled(False):
            for mine, theirs in zip(ema.modules(), model.modules(), strict=True):
                for name in [*mine._parameters, *mine._buffers]:
                    self.one(getattr(mine, name), getattr(theirs, name), decay, seen)

    def one(self, mine: Any, theirs: Any, decay: float, seen: set[int]) -> None:
        if mine is None or id(mine) in seen:
            return
        seen.add(id(mine))
        if mine.dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            mine.sub_((1 - decay) * (mine - theirs))
        else:
            mine.copy_(theirs)


RIGHT = [follow_by_lerp, follow_by_data, follow_in_one_pass, Follower()]
