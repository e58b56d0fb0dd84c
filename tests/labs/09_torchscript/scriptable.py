"""Right answers to 09.scriptable, in different shapes."""

from typing import Dict, Final, List, Optional  # noqa: UP035  what the notes and most code in the field write

import torch
from torch import Tensor, nn

from helpers.labs.torchscript.shown import broken
from helpers.labs.torchscript.shown.broken import BROKEN, WIDTH


# As in the notebook: each class inherits, and changes what the compiler asked for.
class Masked(broken.Masked):
    def forward(self, x: Tensor, mask: Optional[Tensor] = None) -> Tensor:  # noqa: UP045
        y = self.fc(x)
        if mask is not None:
            y = y * mask
        return y


class Strided(broken.Strided):
    def forward(self, x: Tensor, step: int) -> Tensor:
        places: List[int] = []  # noqa: UP006
        for place in range(0, x.shape[0], step):
            places.append(place)
        return torch.stack([self.fc(x[place]) / (place + 1) for place in places])


class Counted(broken.Counted):
    def forward(self, named: Dict[str, Tensor]) -> Dict[str, Tensor]:  # noqa: UP006
        rows: Dict[str, int] = {}  # noqa: UP006
        for name, x in named.items():
            rows[name] = x.shape[0]
        sums: Dict[str, Tensor] = {}  # noqa: UP006
        for name, x in named.items():
            sums[name] = (x * self.scale).sum(0) / rows[name] if rows[name] > 0 else self.scale
        return sums


class Gated(broken.Gated):
    gated: Final[bool]


class Encoder(broken.Encoder):
    @torch.jit.export
    def encode(self, x: Tensor, scale: float) -> Tensor:
        code = torch.tanh(self.down(x))
        if scale > 1:
            return code / scale
        return code


class Logged(broken.Logged):
    @torch.jit.unused
    def note(self, x: Tensor) -> None:
        super().note(x)


class Stack(broken.Stack):
    def forward(self, x: Tensor, depth: int) -> Tensor:
        for place, layer in enumerate(self.layers):
            if place < depth:
                x = torch.tanh(layer(x))
        return x


REPAIRED = dict(
    zip(BROKEN, (Masked, Strided, Counted, Gated, Encoder, Logged, Stack), strict=True),
)


def inherited(name: str) -> nn.Module:
    """The broken class with the part changed that the compiler refuses."""
    return REPAIRED[name]()


def written_anew(name: str) -> nn.Module:
    """Classes inside the function, made of other means."""

    class Fc(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(WIDTH, WIDTH)

    class Masked(Fc):
        def forward(self, x: Tensor, mask: Tensor | None = None):
            if mask is None:
                mask = torch.ones_like(x)
            return self.fc(x) * mask

    class Strided(Fc):
        def forward(self, x: Tensor, step: int):
            places = torch.arange(0, x.shape[0], step)
            return self.fc(x[::step]) / (places + 1).unsqueeze(1)

    class Counted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(WIDTH))

        def forward(self, named: dict[str, Tensor]) -> dict[str, Tensor]:
            return {name: self.one(x) for name, x in named.items()}

        def one(self, x: Tensor) -> Tensor:
            return x.mean(0) * self.scale if x.numel() > 0 else self.scale

    class Gated(Fc):
        __constants__ = ["gated"]

        def __init__(self) -> None:
            super().__init__()
            self.gated = False

        def forward(self, x: Tensor) -> Tensor:
            return torch.relu(self.fc(x))

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down, self.up = nn.Linear(WIDTH, 2), nn.Linear(2, WIDTH)

        def forward(self, x: Tensor) -> Tensor:
            return self.up(self.encode(x, 1.0))

        @torch.jit.export
        def encode(self, x: Tensor, scale: float) -> Tensor:
            return torch.tanh(self.down(x)) / (scale if scale > 1 else 1.0)

    class Logged(broken.Logged):
        def forward(self, x: Tensor) -> Tensor:
            if not torch.jit.is_scripting():
                if self.training:
                    self.note(x)
            y = self.fc(x)
            return y if bool(y.sum() > 0) else -y

    class Stack(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(3))

        def forward(self, x: Tensor, depth: int) -> Tensor:
            if depth > 0:
                x = torch.tanh(self.layers[0](x))
            if depth > 1:
                x = torch.tanh(self.layers[1](x))
            if depth > 2:
                x = torch.tanh(self.layers[2](x))
            return x

    return dict(zip(BROKEN, (Masked, Strided, Counted, Gated, Encoder, Logged, Stack), strict=True))[name]()


class Twice(nn.Module):
    """The mask by a helper function, the rows by a while loop."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor, mask: Optional[Tensor] = None) -> Tensor:  # noqa: UP045
        return masked(self.fc(x), mask)


def masked(y: Tensor, mask: Tensor | None) -> Tensor:
    """y, times the mask if there is one."""
    if mask is not None:
        return y * mask
    return y


class While(broken.Strided):
    def forward(self, x: Tensor, step: int) -> Tensor:
        place, rows = 0, torch.jit.annotate(list[Tensor], [])
        while place < len(x):
            rows += [self.fc(x[place]) / (place + 1)]
            place += step
        return torch.stack(rows)


class Silent(broken.Logged):
    @torch.jit.unused
    def note(self, x: Tensor) -> None:
        self.notes.append(x.mean().item())


class Leaving(broken.Stack):
    def forward(self, x: Tensor, depth: int) -> Tensor:
        left = depth
        for layer in self.layers:
            if left <= 0:
                return x
            x = layer(x).tanh()
            left -= 1
        return x


class Asked(broken.Gated):
    def forward(self, x: Tensor) -> Tensor:
        y = self.fc(x)
        if hasattr(self, "gate"):
            y = y * torch.sigmoid(self.gate(x))
        return torch.relu(y)


def of_both(name: str) -> nn.Module:
    """Some anew, some inherited."""
    own = (Twice, While, Counted, Asked, Encoder, Silent, Leaving)
    return dict(zip(BROKEN, own, strict=True))[name]()


RIGHT = [inherited, written_anew, of_both]
