"""A layer that 05.activation_recorder and 05.frozen_backbone are tried on."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from helpers.check.trial import Trial


class Scale(nn.Module):
    """x * weight + shift; nothing is drawn from the global generators."""

    def __init__(self, trial: Trial, width: int) -> None:
        super().__init__()
        self.weight, self.shift = (
            nn.Parameter(torch.randn(width, generator=trial.generator, dtype=torch.float64)) for _ in range(2)
        )

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight + self.shift
