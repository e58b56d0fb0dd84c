"""Models that TorchScript refuses, or compiles into less than they are: what 09.scriptable repairs.

Without `from __future__ import annotations`: the compiler reads the annotations of these classes as objects.
"""

import random

import torch
from torch import Tensor, nn

WIDTH = 4


class Masked(nn.Module):
    """A linear layer; where a mask is given, its result is multiplied by it."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(WIDTH, WIDTH)

    def forward(self, x, mask=None):
        y = self.fc(x)
        if mask is not None:
            y = y * mask
        return y


class Strided(nn.Module):
    """Every step-th row, each divided by the row's number counted from 1."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(WIDTH, WIDTH)

    def forward(self, x, step):
        places = []
        for place in range(0, x.shape[0], step):
            places.append(place)
        return torch.stack([self.fc(x[place]) / (place + 1) for place in places])


class Counted(nn.Module):
    """Scales each named tensor by how many rows it has, and gives the sums by name."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(WIDTH))

    def forward(self, named):
        rows = {}
        for name, x in named.items():
            rows[name] = x.shape[0]
        sums = {}
        for name, x in named.items():
            sums[name] = (x * self.scale).sum(0) / rows[name] if rows[name] > 0 else self.scale
        return sums


class Gated(nn.Module):
    """A linear layer, gated if asked for. This one is not: it has no layer `gate`."""

    def __init__(self, gated=False) -> None:
        super().__init__()
        self.fc = nn.Linear(WIDTH, WIDTH)
        self.gated = gated
        if gated:
            self.gate = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        y = self.fc(x)
        if self.gated:
            y = y * torch.sigmoid(self.gate(x))
        return torch.relu(y)


class Encoder(nn.Module):
    """An encoder that is called by itself, too: `encode` must survive."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Linear(WIDTH, 2)
        self.up = nn.Linear(2, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        code = torch.tanh(self.down(x))
        return self.up(code)

    def encode(self, x: Tensor, scale: float) -> Tensor:
        code = torch.tanh(self.down(x))
        if scale > 1:
            return code / scale
        return code


class Logged(nn.Module):
    """In training, notes down what it sees, in a way that only Python knows."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(WIDTH, WIDTH)
        self.notes = []

    def note(self, x: Tensor) -> None:
        self.notes.append({"mean": x.mean().item(), "tag": f"{random.random():.3f}"})

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.note(x)
        y = self.fc(x)
        return y if y.sum() > 0 else -y


class Stack(nn.Module):
    """The first `depth` of three layers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(3)])

    def forward(self, x: Tensor, depth: int) -> Tensor:
        for place in range(depth):
            x = torch.tanh(self.layers[place](x))
        return x


BROKEN: dict[str, type[nn.Module]] = {
    "optional": Masked,
    "list": Strided,
    "dict": Counted,
    "final": Gated,
    "export": Encoder,
    "ignored": Logged,
    "layers": Stack,
}
