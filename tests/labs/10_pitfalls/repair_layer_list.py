"""Right answers to 10.repair_layer_list, in different shapes."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Stack(nn.Module):
    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.scale = nn.Parameter(torch.full((width,), 0.1))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x).relu()
        return x * self.scale


class Scaled(nn.Sequential):
    def __init__(self, width, depth):
        super().__init__(*(part for _ in range(depth) for part in (nn.Linear(width, width), nn.ReLU())))
        self.register_parameter("gain", nn.Parameter(torch.ones(width) * 0.1))

    def forward(self, x):
        for part in list(self):
            x = part(x)
        return self.gain * x


def by_names(width, depth):
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            for place in range(depth):
                self.add_module(f"layer{place}", nn.Linear(width, width))
            self.scale = nn.Parameter(torch.tensor([0.1] * width))

        def forward(self, x):
            for place in range(depth):
                x = torch.clamp(getattr(self, f"layer{place}")(x), min=0)
            return torch.mul(x, self.scale)

    return Named()


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)

    def forward(self, x):
        return F.relu(self.inner(x))


def in_blocks(width, depth):
    stack = Stack(width, 0)
    stack.layers.extend(Block(width) for _ in range(depth))
    return stack


RIGHT = [Stack, Scaled, by_names, in_blocks]
