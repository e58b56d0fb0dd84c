"""What people write for 05.frozen_backbone: a part of the backbone only, from the start; the modes turned round."""

from __future__ import annotations

from typing import Any

from helpers.labs.module.frozen_backbone.exercise import frozen_backbone
from helpers.labs.module.frozen_backbone.mistakes.modes import (
    NORMS,
    Base,
    InnerModulesTrain,
    NormsOnly,
    Right,
)


@frozen_backbone.variant(NormsOnly)
class _(Base):
    """From the start."""

    def freeze(self) -> None:
        self.backbone.requires_grad_(False)
        self.norms()

    def norms(self) -> None:
        for module in self.backbone.modules():
            if isinstance(module, NORMS):
                module.eval()

    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        self.norms()
        return self


@frozen_backbone.variant(NormsOnly)
class _(Base):
    """From the start, without a train of its own."""

    def freeze(self) -> None:
        self.backbone.requires_grad_(False)
        for module in self.backbone.modules():
            if isinstance(module, NORMS):
                module.eval()


@frozen_backbone.variant(InnerModulesTrain)
class _(Base):
    """From the start."""

    def freeze(self) -> None:
        self.backbone.requires_grad_(False)
        self.backbone.training = False

    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        self.backbone.training = False
        return self


@frozen_backbone.variant(InnerModulesTrain)
class _(Base):
    """From the start, without a train of its own."""

    def freeze(self) -> None:
        self.backbone.requires_grad_(False)
        self.backbone.training = False


@frozen_backbone.mistake(
    breaks="Every module of the backbone is in eval mode, from the start and whoever calls train() or eval(), the model or a parent."
)
class TurnedRound(Right):
    """After eval() all of the backbone is in training mode. Perhaps it is put into the mode that the model is not in: it stays in
    eval mode in both.
    """

    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        self.backbone.train(not mode)
        return self


@frozen_backbone.mistake(breaks="head(backbone(x))")
class BackbonesPartsCalled(Right):
    """The output is not head(backbone(x)), nor one of the two alone. Perhaps the backbone's children were called one by one, and
    some left out, as batch norms and dropout; or something stands between the two. Call the backbone itself.
    """

    def forward(self, x: Any) -> Any:
        for part in self.backbone.children():
            x = x if isinstance(part, NORMS) else part(x)
        return self.head(x)
