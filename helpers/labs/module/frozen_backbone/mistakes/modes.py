"""What people write for 05.frozen_backbone, and why it is wrong."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.module.frozen_backbone.exercise import frozen_backbone

NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


class Base(nn.Module):
    """Without a train of its own."""

    def __init__(self, backbone: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.backbone, self.head = backbone, head
        self.freeze()

    def freeze(self) -> None:
        self.backbone.requires_grad_(False)
        self.backbone.eval()

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.backbone(x))


class Right(Base):
    """The right answer; the wrong ones change one method."""

    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        self.backbone.eval()
        return self


@frozen_backbone.mistake(
    breaks="Every module of the backbone is in eval mode, from the start and whoever calls train() or eval(), the model or a parent."
)
class ParametersOnly(Base):
    """The weights are frozen, and the backbone is in training mode from the start. Running statistics are buffers that
    forward writes: a batch norm in training mode moves them without any gradient.
    """

    def freeze(self) -> None:
        self.backbone.requires_grad_(False)


@frozen_backbone.mistake(
    breaks="Every module of the backbone is in eval mode, from the start and whoever calls train() or eval(), the model or a parent."
)
class EvalOnce(Base):
    """After train() of the model the backbone is in training mode again. Perhaps backbone.eval() was called once, or in
    forward: train() goes down to every child and undoes it, so train() is the method to change.
    """


@frozen_backbone.variant(EvalOnce)
class _(Base):
    """The other method was changed: nobody calls a child's eval."""

    def eval(self) -> Any:
        super().eval()
        self.backbone.eval()
        return self


@frozen_backbone.variant(EvalOnce)
class _(Base):
    """In forward."""

    def forward(self, x: Tensor) -> Tensor:
        self.backbone.eval()
        return super().forward(x)


@frozen_backbone.mistake(
    breaks="Every module of the backbone is in eval mode, from the start and whoever calls train() or eval(), the model or a parent."
)
class UndoneBySuper(Base):
    """This train() leaves the backbone in training mode. Perhaps backbone.eval() comes first, and super().train(mode) then
    puts every child into the mode again, the backbone too; or nothing in it is about the backbone.
    """

    def train(self, mode: bool = True) -> Any:
        self.backbone.eval()
        return super().train(mode)


@frozen_backbone.mistake(breaks="from the start")
class FrozenByTheFirstTrain(Right):
    """Before the first train() the backbone is not frozen in all: it is in training mode, or its weights require grad. Perhaps
    that happens in train() only, and an optimizer is often built before it; or the backbone is never put into eval mode, and
    momentum or p is set to 0 instead.
    """

    def freeze(self) -> None:
        pass

    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        self.backbone.requires_grad_(False)
        return self


@frozen_backbone.variant(FrozenByTheFirstTrain)
class _(Right):
    def freeze(self) -> None:
        self.backbone.requires_grad_(False)


@frozen_backbone.mistake()
class ReturnsNothing(Right):
    """train() ends without `return self`. eval() returns what train() returns, so `model.eval()(x)` fails as
    well.
    """

    def train(self, mode: bool = True) -> None:
        super().train(mode)


@frozen_backbone.mistake(breaks="Sets the mode of everything but the backbone.")
class SuperForgotten(Base):
    """After train() the head is in the mode that it was in before: perhaps train() sees to the backbone and does nothing else,
    so that model.eval() does not reach the head either. Call super().train(mode) first.
    """

    def train(self, mode: bool = True) -> Any:
        self.backbone.eval()
        return self


@frozen_backbone.variant(SuperForgotten)
class _(Base):
    def train(self, mode: bool = True) -> Any:
        self.training = mode
        self.backbone.eval()
        return self


@frozen_backbone.mistake(breaks="Sets the mode of everything but the backbone.")
class OwnFlagForgotten(Base):
    """After eval() of the model `model.training` is still True: perhaps the head was switched by hand, and self.training was
    not. super().train(mode) sets both.
    """

    def train(self, mode: bool = True) -> Any:
        self.head.train(mode)
        self.backbone.eval()
        return self


@frozen_backbone.mistake(breaks="Sets the mode of everything but the backbone.")
class OwnFlagFalse(Right):
    """In training mode `model.training` is False: only the backbone stays in eval mode. Perhaps it was set beside the
    backbone's, or train() switches the head and not the model itself. Who asks it takes the whole model for frozen.
    """

    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        self.training = False
        return self


@frozen_backbone.variant(OwnFlagFalse)
class _(Right):
    """The flags of all that is no head."""

    def train(self, mode: bool = True) -> Any:
        for module in self.modules():
            module.training = False
        self.head.train(mode)
        return self


@frozen_backbone.variant(OwnFlagFalse)
class _(Right):
    """The head only, and a return."""

    def train(self, mode: bool = True) -> Any:
        if mode:
            self.head.train()
            return self
        return super().train(mode)


@frozen_backbone.mistake(
    breaks="Every module of the backbone is in eval mode, from the start and whoever calls train() or eval(), the model or a parent."
)
class InnerModulesTrain(Base):
    """The modules inside the backbone are in training mode, and only the backbone itself is not: perhaps its flag was set, and
    nothing goes down from there. eval() does.
    """

    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        self.backbone.training = False
        return self


@frozen_backbone.mistake(
    breaks="Every module of the backbone is in eval mode, from the start and whoever calls train() or eval(), the model or a parent."
)
class TopOfTheBackboneTrains(Base):
    """After train() the backbone itself is in training mode, and what is in it is not: perhaps a loop over its children, which
    leaves out the module that it begins with. What the forward of the backbone does by its own flag is still on.
    """

    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        for child in self.backbone.children():
            child.eval()
        return self


@frozen_backbone.mistake()
class ReturnsAPart(Right):
    """train() returns something that is not the model: perhaps what train() or eval() of a part returned. With
    `model = model.train()` the rest is gone.
    """

    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        return self.backbone.eval()


@frozen_backbone.variant(ReturnsAPart)
class _(Right):
    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        return self.head


@frozen_backbone.variant(ReturnsAPart)
class _(Right):
    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        return mode


@frozen_backbone.mistake()
class UnderInferenceMode(Right):
    """RuntimeError: the head cannot keep the features for its backward. Perhaps the backbone runs under inference_mode, whose
    tensors autograd refuses; no_grad gives ordinary ones.
    """

    def forward(self, x: Tensor) -> Tensor:
        with torch.inference_mode():
            features = self.backbone(x)
        return self.head(features)


@frozen_backbone.mistake()
class NewModelInEvalMode(Right):
    """A new model, or its head, is in eval mode before anybody has called eval(): perhaps __init__ calls self.eval(), or sets
    self.training. Only the backbone begins there.
    """

    def freeze(self) -> None:
        super().freeze()
        self.eval()


@frozen_backbone.variant(NewModelInEvalMode)
class _(Right):
    def freeze(self) -> None:
        super().freeze()
        self.training = False


@frozen_backbone.variant(NewModelInEvalMode)
class _(Right):
    def freeze(self) -> None:
        super().freeze()
        self.head.eval()


@frozen_backbone.mistake(breaks="Sets the mode of everything but the backbone.")
class SameModeSkipped(Right):
    """The head was in eval mode, the model was not, and train() left it so: perhaps train() returns early where self.training
    is right already. A part can be switched by itself, so the call must go down each time.
    """

    def train(self, mode: bool = True) -> Any:
        return self if mode == self.training else super().train(mode)


@frozen_backbone.variant(SameModeSkipped)
class _(Right):
    def train(self, mode: bool = True) -> Any:
        return self if mode and self.training else super().train(mode)


@frozen_backbone.mistake(breaks="Sets the mode of everything but the backbone.")
class ModeIgnored(Right):
    """After eval() the head is in training mode. Perhaps super().train() was called without mode, and its default is True; or
    train() does nothing where mode is False.
    """

    def train(self, mode: bool = True) -> Any:
        return super().train()


@frozen_backbone.variant(ModeIgnored)
class _(Base):
    def train(self, mode: bool = True) -> Any:
        self.training = True
        self.head.train()
        self.backbone.eval()
        return self


@frozen_backbone.variant(ModeIgnored)
class _(Right):
    """Nothing for False."""

    def train(self, mode: bool = True) -> Any:
        return super().train(mode) if mode else self


@frozen_backbone.mistake(breaks="Sets the mode of everything but the backbone.")
class AllInEval(Right):
    """After train() the head is in eval mode, too. Only the backbone stays there."""

    def train(self, mode: bool = True) -> Any:
        return nn.Module.train(self, False)


@frozen_backbone.variant(AllInEval)
class _(Right):
    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        self.head.eval()
        return self


@frozen_backbone.mistake()
class EvalOfItself(Base):
    """train() or eval() calls itself without end. Perhaps train() calls self.eval(), and eval() is
    train(False).
    """

    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        self.eval()
        return self


@frozen_backbone.mistake(breaks="Sets the mode of everything but the backbone.")
class NormsOfTheHeadToo(Right):
    """A batch norm of the head is in eval mode, and must learn its statistics. Perhaps each one of the whole
    model was put there: go through backbone.modules().
    """

    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        for module in self.modules():
            if isinstance(module, NORMS):
                module.eval()
        return self


@frozen_backbone.variant(NormsOfTheHeadToo)
class _(Base):
    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        for module in self.modules():
            if isinstance(module, NORMS):
                module.eval()
        return self


@frozen_backbone.mistake(
    breaks="Every module of the backbone is in eval mode, from the start and whoever calls train() or eval(), the model or a parent."
)
class NormsOnly(Base):
    """Only the batch norms of the backbone are in eval mode. Its dropout is still on: the features of one picture change from
    call to call.
    """

    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        for module in self.backbone.modules():
            if isinstance(module, NORMS):
                module.eval()
        return self


@frozen_backbone.mistake(
    breaks="Every module of the backbone is in eval mode, from the start and whoever calls train() or eval(), the model or a parent."
)
class OuterNormsOnly(Base):
    """After train() some modules of the backbone are in training mode, the deeper ones too: perhaps direct children were put
    into eval mode one by one. modules() goes all the way down, and so does eval().
    """

    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        for module in self.backbone.children():
            if isinstance(module, NORMS):
                module.eval()
        return self


@frozen_backbone.mistake(
    breaks="Every module of the backbone is in eval mode, from the start and whoever calls train() or eval(), the model or a parent."
)
class MomentumZero(Base):
    """After train() of the model the backbone is in training mode. Perhaps momentum = 0 was to keep the
    running statistics where they are: in training mode a batch norm still normalises by the batch, and the
    features of a sample depend on its neighbours.
    """

    def freeze(self) -> None:
        self.backbone.requires_grad_(False)
        self.backbone.eval()
        for module in self.backbone.modules():
            if isinstance(module, NORMS):
                module.momentum = 0.0


# The weights and their gradients.


@frozen_backbone.mistake(breaks="its parameters keep the requires_grad that they had.")
class RequiresGradByMode(Right):
    """train() or eval() changed requires_grad of parameters of the head. The mode has nothing to do with it: perhaps
    requires_grad_(mode) was called.
    """

    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        return self.requires_grad_(mode)


@frozen_backbone.mistake(breaks="No parameter of the backbone requires grad, from the start and in any mode.")
class BackboneLearnsByMode(Right):
    """train() or eval() changed requires_grad of parameters of the backbone, which learns again. The mode has nothing to do with
    it: perhaps requires_grad_(mode) was called.
    """

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
    """The parameters of the head were frozen, too. Freeze backbone.parameters(); the head is what learns."""

    def freeze(self) -> None:
        self.backbone.eval()
        self.requires_grad_(False)


@frozen_backbone.mistake()
class HeadUnfrozen(Right):
    """A parameter of the head that the user had frozen requires grad. The head is none of this module's
    business.
    """

    def freeze(self) -> None:
        super().freeze()
        self.head.requires_grad_(True)


@frozen_backbone.mistake()
class NoChildOfThatName(Base):
    """The backbone or the head is no child of the model under its name: perhaps hidden in a list or by __dict__, or under a
    different name. Where it is hidden, neither train() nor state_dict() nor to() finds it.
    """

    def __init__(self, backbone: nn.Module, head: nn.Module) -> None:
        nn.Module.__init__(self)
        self.hidden, self.head = [backbone.eval().requires_grad_(False)], head

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.hidden[0](x))


@frozen_backbone.variant(NoChildOfThatName)
class _(Base):
    def __init__(self, backbone: nn.Module, head: nn.Module) -> None:
        nn.Module.__init__(self)
        self.net = nn.Sequential(backbone.eval().requires_grad_(False), head)

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x)


@frozen_backbone.variant(NoChildOfThatName)
class _(Base):
    def __init__(self, backbone: nn.Module, head: nn.Module) -> None:
        nn.Module.__init__(self)
        self.backbone, self.classifier = backbone.eval().requires_grad_(False), head

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.backbone(x))


@frozen_backbone.mistake()
class DifferentModule(Right):
    """model.backbone or model.head is not the module that was given: perhaps a copy. Whoever holds the one that was given, an
    optimizer or a second model, works on something else then.
    """

    def __init__(self, backbone: nn.Module, head: nn.Module) -> None:
        super().__init__(copy.deepcopy(backbone), head)


@frozen_backbone.variant(DifferentModule)
class _(Right):
    def __init__(self, backbone: nn.Module, head: nn.Module) -> None:
        super().__init__(copy.deepcopy(backbone), copy.deepcopy(head))


@frozen_backbone.variant(DifferentModule)
class _(Right):
    def __init__(self, backbone: nn.Module, head: nn.Module) -> None:
        super().__init__(backbone, nn.Sequential(head))


@frozen_backbone.mistake()
class FeaturesKept(Right):
    """A second batch of the same size got a wrong output: perhaps the features of the first one were kept. A backbone that
    does not change still gives different features for different inputs.
    """

    def forward(self, x: Tensor) -> Tensor:
        self.kept = getattr(self, "kept", {})
        if x.shape not in self.kept:
            self.kept[x.shape] = self.backbone(x)
        return self.head(self.kept[x.shape])


@frozen_backbone.variant(FeaturesKept)
class _(Right):
    def forward(self, x: Tensor) -> Tensor:
        if not hasattr(self, "kept"):
            self.kept = self.backbone(x).detach()
        return self.head(self.kept)


@frozen_backbone.mistake()
class PartLeftOut(Right):
    """The output is not head(backbone(x)): one of the two is left out, or they come the other way round."""

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x)


@frozen_backbone.variant(PartLeftOut)
class _(Right):
    def forward(self, x: Tensor) -> Tensor:
        return self.backbone(x)


@frozen_backbone.variant(PartLeftOut)
class _(Right):
    def forward(self, x: Tensor) -> Tensor:
        return self.backbone(self.head(x))


@frozen_backbone.mistake(breaks="it learns, it follows the mode")
class NoGradientAtAll(Right):
    """The output requires no grad, so the head gets no gradient either: perhaps no_grad stands around the whole of forward, or
    the output is detached. For the backbone alone that is fine.
    """

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            return super().forward(x)


@frozen_backbone.variant(NoGradientAtAll)
class _(Right):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).detach()
