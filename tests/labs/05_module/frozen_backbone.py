"""Right answers to 05.frozen_backbone, in different shapes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class Parts(nn.Module):
    """All but train()."""

    def __init__(self, backbone: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.backbone, self.head = backbone, head
        backbone.requires_grad_(False)
        backbone.eval()

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.backbone(x))


class PlainFrozen(Parts):
    """The plain answer."""

    def train(self, mode: bool = True) -> PlainFrozen:
        super().train(mode)
        self.backbone.eval()
        return self


class HeadOnly(nn.Module):
    """Only the head and the own flag follow the mode; the backbone runs without a graph."""

    def __init__(self, backbone: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.backbone = backbone.eval()
        for param in self.backbone.parameters():
            param.requires_grad = False
        self.head = head

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            features = self.backbone(x)
        return self.head(features)

    def train(self, mode: bool = True) -> HeadOnly:
        self.training = mode
        self.head.train(mode)
        return self


class ByChild(nn.Module):
    """Each child is told its mode."""

    def __init__(self, backbone: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.head = head
        self.add_module("backbone", backbone)
        for param in backbone.parameters():
            param.requires_grad_(False)
        self.train(self.training)

    def train(self, mode: bool = True) -> ByChild:
        super().train(mode)
        for name, child in self.named_children():
            child.train(mode and name != "backbone")
        return self

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.head(self.backbone(*args, **kwargs).detach())


class FlagByFlag(Parts):
    """The flags of the backbone are written one by one."""

    def train(self, mode: bool = True) -> FlagByFlag:
        nn.Module.train(self, mode)
        for module in self.backbone.modules():
            module.training = False
        return self


RIGHT = [PlainFrozen, HeadOnly, ByChild, FlagByFlag]
