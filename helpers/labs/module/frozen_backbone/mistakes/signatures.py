"""What people write for 05.frozen_backbone: a train() that cannot be called, and flags that are set by hand."""

from __future__ import annotations

from typing import Any

from helpers.labs.module.frozen_backbone.exercise import frozen_backbone
from helpers.labs.module.frozen_backbone.mistakes.modes import Base, OuterNormsOnly, Right


@frozen_backbone.mistake(breaks="Sets the mode of everything but the backbone.")
class ModeHasNoDefault(Right):
    """train() without an argument is a TypeError. Everybody calls it so: its mode is True unless said otherwise."""

    def train(self, mode: bool) -> Any:
        return super().train(mode)


@frozen_backbone.mistake(breaks="The head is an ordinary part: it learns, it follows the mode,")
class HeadFollowsAtItsTopOnly(Base):
    """After train() the head itself is in training mode, and what is in it is not: perhaps its flag was set by hand, and
    nothing goes down from there. Its train(mode) does.
    """

    def train(self, mode: bool = True) -> Any:
        self.training = self.head.training = mode
        return self


@frozen_backbone.mistake(breaks="whoever calls train() or eval(), the model or a parent.")
class EvalOverridden(Right):
    """After model.eval() the head or the model itself is in training mode, and the class has an eval() of its own. Perhaps that
    does less than train(False): eval() needs no change, as nn.Module.eval() calls train(False).
    """

    def eval(self) -> Any:
        self.training = False
        self.backbone.eval()
        return self


@frozen_backbone.variant(EvalOverridden)
class _(Right):
    """Nothing but the backbone."""

    def eval(self) -> Any:
        self.backbone.eval()
        return self


@frozen_backbone.variant(EvalOverridden)
class _(Right):
    """The children, and not the flag of the model."""

    def eval(self) -> Any:
        self.backbone.eval()
        self.head.eval()
        return self


@frozen_backbone.variant(EvalOverridden)
class _(Right):
    """The flags of the two at the top."""

    def eval(self) -> Any:
        self.training = self.head.training = False
        self.backbone.eval()
        return self


@frozen_backbone.variant(OuterNormsOnly)
class _(Base):
    """The flags of the backbone and of its children, and of nothing below them."""

    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        for module in (self.backbone, *self.backbone.children()):
            module.training = False
        return self


@frozen_backbone.mistake(breaks="head(backbone(x))")
class FlattenedBetween(Right):
    """With x of three dimensions head(backbone(x)) was not computed, with one of two it was. Perhaps something stands between
    the two, such as a flatten or a mean: the head gets what the backbone gives, as it is.
    """

    def forward(self, x: Any) -> Any:
        return self.head(self.backbone(x).flatten(1))


@frozen_backbone.variant(FlattenedBetween)
class _(Right):
    """A mean over what follows the channels."""

    def forward(self, x: Any) -> Any:
        features = self.backbone(x)
        return self.head(features if features.dim() == 2 else features.mean(-1))


@frozen_backbone.mistake(breaks="head(backbone(x)) with a backbone that stays as it is.")
class ModePutBackByForward(Right):
    """model(x) put modules of the backbone into training mode. Perhaps forward switches the backbone to eval mode for its own
    time, and then back to the mode of the model: the backbone is in eval mode already, and stays there.
    """

    def forward(self, x: Any) -> Any:
        self.backbone.eval()
        out = super().forward(x)
        self.backbone.train(self.training)
        return out
