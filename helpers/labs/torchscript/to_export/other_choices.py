"""Wrong ways to write the branch of 09.to_export."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from helpers.labs.torchscript.to_export.right import Choice


class ByItem(Choice):
    def forward(self, x: Tensor) -> Tensor:
        return self.up(x) if x.sum().item() > 0 else self.lower(x)


class ByWhere(Choice):
    def forward(self, x: Tensor) -> Tensor:
        return torch.where(x.sum() > 0, self.up(x), self.lower(x))


class ByMask(Choice):
    def forward(self, x: Tensor) -> Tensor:
        is_up = (x.sum() > 0).to(x.dtype)
        return is_up * self.up(x) + (1 - is_up) * self.lower(x)


class Swapped(Choice):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, self.lower, self.up, (x,))


class LowerPlain(Choice):
    def lower(self, x: Tensor) -> Tensor:
        return self.down(x)


class OfAnotherShape(Choice):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, self.up, lambda x: self.lower(x).mean(0), (x,))


class RowByRow(Choice):
    def forward(self, x: Tensor) -> Tensor:
        return torch.where(x.sum(1, keepdim=True) > 0, self.up(x), self.lower(x))


class Taken(Choice):
    """The branch of the example."""

    def __init__(self, given: nn.Module, is_up: bool) -> None:
        super().__init__(given)
        self.is_up = is_up

    def forward(self, x: Tensor) -> Tensor:
        return self.up(x) if self.is_up else self.lower(x)


class AtZero(Choice):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() >= 0, self.up, self.lower, (x,))


class AboveOne(Choice):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 1, self.up, self.lower, (x,))


class ByFirstRow(Choice):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x[0].sum() > 0, self.up, self.lower, (x,))


class OneDetached(Choice):
    def forward(self, x: Tensor) -> Tensor:
        def upper(x: Tensor) -> Tensor:
            return nn.functional.linear(x, self.up.weight.detach(), self.up.bias.detach())

        return torch.cond(x.sum() > 0, upper, self.lower, (x,))
