"""What people write for 05.frozen_backbone: weights of the backbone that go on learning."""

from __future__ import annotations

from helpers.labs.module.frozen_backbone.exercise import frozen_backbone
from helpers.labs.module.frozen_backbone.mistakes.modes import NORMS, Right


@frozen_backbone.mistake(breaks="No parameter of the backbone requires grad, from the start and in any mode.")
class WeightsLeftTrainable(Right):
    """Parameters of the backbone still require grad. Perhaps only eval() was called, which does not stop a single gradient; or
    requires_grad_(False) did not reach them all, or comes too late.
    """

    def freeze(self) -> None:
        self.backbone.eval()


@frozen_backbone.variant(WeightsLeftTrainable)
class _(Right):
    """The backbone's own parameters and those of its children, and none below them."""

    def freeze(self) -> None:
        self.backbone.eval()
        for module in (self.backbone, *self.backbone.children()):
            for param in module.parameters(recurse=False):
                param.requires_grad_(False)


@frozen_backbone.variant(WeightsLeftTrainable)
class _(Right):
    """Those of the body."""

    def freeze(self) -> None:
        self.backbone.eval()
        self.backbone.body.requires_grad_(False)


@frozen_backbone.variant(WeightsLeftTrainable)
class _(Right):
    """Only what is called weight is frozen."""

    def freeze(self) -> None:
        self.backbone.eval()
        for name, param in self.backbone.named_parameters():
            if name.endswith("weight"):
                param.requires_grad_(False)


@frozen_backbone.mistake(breaks="No parameter of the backbone requires grad, from the start and in any mode.")
class WeightsOfNormsOnly(Right):
    """Only the weights of the batch norms were frozen; the other layers of the backbone go on learning."""

    def freeze(self) -> None:
        self.backbone.eval()
        for module in self.backbone.modules():
            if isinstance(module, NORMS):
                module.requires_grad_(False)
