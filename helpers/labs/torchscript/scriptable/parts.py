"""The classes of the mistakes of 09.scriptable, but those of the "ignored" model.

Without `from __future__ import annotations`: the compiler reads the annotations of these classes as objects.
"""

import torch
from torch import Tensor, nn

from helpers.labs.torchscript.shown import broken
from helpers.labs.torchscript.shown.broken import WIDTH


class MaskOfOnes(broken.Masked):
    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.fc(x) * mask


class NotRefined(broken.Masked):
    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        has_mask = mask is not None
        y = self.fc(x)
        if has_mask:
            y = y * mask
        return y


class MaskAttribute(broken.Masked):
    def __init__(self) -> None:
        super().__init__()
        self.mask: Tensor | None = None

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        self.mask = mask
        y = self.fc(x)
        if self.mask is not None:
            y = y * self.mask
        return y


class MaskByTruth(broken.Masked):
    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        y = self.fc(x)
        if mask:
            y = y * mask
        return y


class MaskWithoutDefault(broken.Masked):
    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        y = self.fc(x)
        if mask is not None:
            y = y * mask
        return y


class MaskOfNothing(broken.Masked):
    def forward(self, x: Tensor, mask: Tensor = torch.zeros(0)) -> Tensor:  # noqa: B008  as people write it
        y = self.fc(x)
        if mask.numel() > 0:
            y = y * mask
        return y


class InputMasked(broken.Masked):
    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        if mask is not None:
            x = x * mask
        return self.fc(x)


class EveryRow(broken.Strided):
    def forward(self, x: Tensor, step: int) -> Tensor:
        places: list[int] = []
        for place in range(x.shape[0]):
            places.append(place)
        return torch.stack([self.fc(x[place]) / (place + 1) for place in places])


class RowsUnstacked(broken.Strided):
    def forward(self, x: Tensor, step: int) -> list[Tensor]:
        places: list[int] = []
        for place in range(0, x.shape[0], step):
            places.append(place)
        return [self.fc(x[place]) / (place + 1) for place in places]


class OnlyLinear(broken.Gated):
    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x)


class ScaleOfInt(broken.Encoder):
    @torch.jit.export
    def encode(self, x: Tensor, scale: int) -> Tensor:
        code = torch.tanh(self.down(x))
        if scale > 1:
            return code / scale
        return code


class Untyped(broken.Strided):
    def forward(self, x: Tensor, step: int) -> Tensor:
        places = []
        for place in range(0, x.shape[0], step):
            places.append(place)
        return torch.stack([self.fc(x[place]) / (place + 1) for place in places])


class StepUntyped(broken.Strided):
    def forward(self, x, step):
        places: list[int] = []
        for place in range(0, x.shape[0], step):
            places.append(place)
        return torch.stack([self.fc(x[place]) / (place + 1) for place in places])


class FromZero(broken.Strided):
    def forward(self, x: Tensor, step: int) -> Tensor:
        return torch.stack([self.fc(row) / (place + 1) for place, row in enumerate(x[::step])])


class RowsUntyped(broken.Counted):
    def forward(self, named: dict[str, Tensor]) -> dict[str, Tensor]:
        rows = {}
        for name, x in named.items():
            rows[name] = x.shape[0]
        sums = {}
        for name, x in named.items():
            sums[name] = (x * self.scale).sum(0) / rows[name] if rows[name] > 0 else self.scale
        return sums


class NamedUntyped(broken.Counted):
    def forward(self, named) -> dict[str, Tensor]:
        sums: dict[str, Tensor] = {}
        for name, x in named.items():
            sums[name] = x.mean(0) * self.scale if len(x) > 0 else self.scale
        return sums


class NoEmptyRows(broken.Counted):
    def forward(self, named: dict[str, Tensor]) -> dict[str, Tensor]:
        return {name: x.mean(0) * self.scale for name, x in named.items()}


class AtLeastOneRow(broken.Counted):
    def forward(self, named: dict[str, Tensor]) -> dict[str, Tensor]:
        return {name: (x * self.scale).sum(0) / max(len(x), 1) for name, x in named.items()}


class OneRowLost(broken.Counted):
    def forward(self, named: dict[str, Tensor]) -> dict[str, Tensor]:
        return {name: x.mean(0) * self.scale if len(x) > 1 else self.scale for name, x in named.items()}


class Unannotated(broken.Gated):
    def forward(self, x: Tensor) -> Tensor:
        y = self.fc(x)
        if self.gated is True:
            y = y * torch.sigmoid(self.gate(x))
        return torch.relu(y)


class LayersByName(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.two, self.three = (nn.Linear(WIDTH, WIDTH) for _ in range(3))

    def forward(self, x: Tensor, depth: int) -> Tensor:
        if depth > 0:
            x = torch.tanh(self.one(x))
        if depth > 1:
            x = torch.tanh(self.two(x))
        if depth > 2:
            x = torch.tanh(self.three(x))
        return x


class ScaleBuffer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.ones(WIDTH))

    def forward(self, named: dict[str, Tensor]) -> dict[str, Tensor]:
        return {name: x.mean(0) * self.scale if len(x) > 0 else self.scale for name, x in named.items()}


class EncodeUnused(broken.Encoder):
    @torch.jit.unused
    def encode(self, x: Tensor, scale: float) -> Tensor:
        return broken.Encoder.encode(self, x, scale)


class EncodeIgnored(broken.Encoder):
    @torch.jit.ignore
    def encode(self, x: Tensor, scale: float) -> Tensor:
        return broken.Encoder.encode(self, x, scale)


class AlwaysDivided(broken.Encoder):
    @torch.jit.export
    def encode(self, x: Tensor, scale: float) -> Tensor:
        return torch.tanh(self.down(x)) / scale


class DividedAboveTwo(broken.Encoder):
    @torch.jit.export
    def encode(self, x: Tensor, scale: float) -> Tensor:
        code = torch.tanh(self.down(x))
        return code / scale if scale > 2 else code


class Uncalled(nn.Module):
    """Ignored where the work is done."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(3)])

    def forward(self, x: Tensor, depth: int) -> Tensor:
        return self.run(x, depth)

    @torch.jit.ignore
    def run(self, x: Tensor, depth: int) -> Tensor:
        for place in range(depth):
            x = torch.tanh(self.layers[place](x))
        return x


class IgnoredRows(broken.Strided):
    def forward(self, x: Tensor, step: int) -> Tensor:
        return self.rows(x, step)

    @torch.jit.ignore
    def rows(self, x: Tensor, step: int) -> Tensor:
        return broken.Strided.forward(self, x, step)


class UnusedRun(Uncalled):
    @torch.jit.unused
    def run(self, x: Tensor, depth: int) -> Tensor:
        for place in range(depth):
            x = torch.tanh(self.layers[place](x))
        return x


class MaskWithoutZeros(broken.Masked):
    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        y = self.fc(x)
        if mask is not None and bool(mask.all()):
            y = y * mask
        return y


class OneLayerMore(broken.Stack):
    def forward(self, x: Tensor, depth: int) -> Tensor:
        for place, layer in enumerate(self.layers):
            if place <= depth:
                x = torch.tanh(layer(x))
        return x


class MaskAsSwitch(broken.Masked):
    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        y = self.fc(x)
        return y if mask is None else y.masked_fill(mask == 0, 0.0)


class AllLayers(broken.Stack):
    def forward(self, x: Tensor, depth: int) -> Tensor:
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x


class DepthFixed(broken.Stack):
    def forward(self, x: Tensor, depth: int) -> Tensor:
        for place, layer in enumerate(self.layers):
            if place < 2:
                x = torch.tanh(layer(x))
        return x


class DepthUntyped(broken.Stack):
    def forward(self, x, depth):
        for place, layer in enumerate(self.layers):
            if place < depth:
                x = torch.tanh(layer(x))
        return x


class ListOfLayers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = [nn.Linear(WIDTH, WIDTH) for _ in range(3)]

    def forward(self, x: Tensor, depth: int) -> Tensor:
        for place in range(depth):
            x = torch.tanh(self.layers[place](x))
        return x


class SameLayer(broken.Stack):
    def forward(self, x: Tensor, depth: int) -> Tensor:
        for _ in range(depth):
            x = torch.tanh(self.layers[0](x))
        return x


class Wrapped(nn.Module):
    """A model in a model."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *args):
        return self.inner(*args)


class IgnoredSums(broken.Counted):
    def forward(self, named: dict[str, Tensor]) -> dict[str, Tensor]:
        return self.sums(named)

    @torch.jit.ignore
    def sums(self, named: dict[str, Tensor]) -> dict[str, Tensor]:
        return broken.Counted.forward(self, named)
