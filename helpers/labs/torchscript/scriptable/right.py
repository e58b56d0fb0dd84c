"""The models of 09.scriptable, mended: what its mistakes change one part of.

Without `from __future__ import annotations`: the compiler reads the annotations of these classes as objects.
"""

from typing import Final

import torch
from torch import Tensor, nn

from helpers.labs.torchscript.shown import broken


class Masked(broken.Masked):
    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        y = self.fc(x)
        return y if mask is None else y * mask


class Strided(broken.Strided):
    def forward(self, x: Tensor, step: int) -> Tensor:
        rows: list[Tensor] = []
        for place in range(0, x.shape[0], step):
            rows.append(self.fc(x[place]) / (place + 1))
        return torch.stack(rows)


class Counted(broken.Counted):
    def forward(self, named: dict[str, Tensor]) -> dict[str, Tensor]:
        sums: dict[str, Tensor] = {}
        for name, x in named.items():
            sums[name] = (x * self.scale).sum(0) / len(x) if len(x) > 0 else self.scale
        return sums


class Gated(broken.Gated):
    gated: Final[bool]


class Encoder(broken.Encoder):
    @torch.jit.export
    def encode(self, x: Tensor, scale: float) -> Tensor:
        code = torch.tanh(self.down(x))
        return code / max(scale, 1.0)


class Logged(broken.Logged):
    @torch.jit.unused
    def note(self, x: Tensor) -> None:
        broken.Logged.note(self, x)


class Stack(broken.Stack):
    def forward(self, x: Tensor, depth: int) -> Tensor:
        for place, layer in enumerate(self.layers):
            if place < depth:
                x = torch.tanh(layer(x))
        return x


REPAIRED: dict[str, type[nn.Module]] = {
    "optional": Masked,
    "list": Strided,
    "dict": Counted,
    "final": Gated,
    "export": Encoder,
    "ignored": Logged,
    "layers": Stack,
}
