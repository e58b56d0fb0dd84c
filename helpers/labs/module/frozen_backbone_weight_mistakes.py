"""What people write for 05.frozen_backbone: the weights and their gradients."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.module.frozen_backbone import frozen_backbone
from helpers.labs.module.frozen_backbone_mistakes import NORMS, Base, Right


@frozen_backbone.mistake()
class RequiresGradByMode(Right):
    """requires_grad followed the mode. The two have nothing to do with each other: after the first train()
    the backbone learns again.
    """

    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        return self.requires_grad_(mode)


@frozen_backbone.variant(RequiresGradByMode)
class _(Right):
    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        self.backbone.requires_grad_(mode)
        return self


@frozen_backbone.variant(RequiresGradByMode)
class _(Right):
    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        self.head.requires_grad_(mode)
        return self


@frozen_backbone.mistake()
class HeadFrozen(Right):
    """The parameters of the whole model were frozen. Freeze backbone.parameters(); the head is what learns."""

    def freeze(self) -> None:
        self.backbone.eval()
        self.requires_grad_(False)


@frozen_backbone.mistake()
class HeadUnfrozen(Right):
    """All parameters of the head were set to require grad, also the one that the user had frozen. The head is
    none of this module's business.
    """

    def freeze(self) -> None:
        super().freeze()
        self.head.requires_grad_(True)


@frozen_backbone.mistake()
class HiddenInAList(Base):
    """The backbone was hidden in a list, where train() does not find it. Nor do state_dict() and to(): it is
    neither saved nor moved.
    """

    def __init__(self, backbone: nn.Module, head: nn.Module) -> None:
        nn.Module.__init__(self)
        self.hidden, self.head = [backbone.eval().requires_grad_(False)], head

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.hidden[0](x))


@frozen_backbone.mistake()
class NoGradientAtAll(Right):
    """no_grad stands around the whole of forward, so the head gets no gradient either. Around the backbone
    alone it is fine.
    """

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            return super().forward(x)


@frozen_backbone.variant(NoGradientAtAll)
class _(Right):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).detach()


@frozen_backbone.mistake()
class WeightsLeftTrainable(Right):
    """The backbone is in eval mode, and its weights still require grad. eval() does not stop a single
    gradient.
    """

    def freeze(self) -> None:
        self.backbone.eval()


@frozen_backbone.mistake()
class WeightsOfNormsOnly(Right):
    """Only the weights of the batch norms were frozen; the other layers of the backbone go on learning."""

    def freeze(self) -> None:
        self.backbone.eval()
        for module in self.backbone.modules():
            if isinstance(module, NORMS):
                module.requires_grad_(False)
