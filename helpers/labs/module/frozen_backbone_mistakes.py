"""What people write for 05.frozen_backbone: the mode of the parts."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from helpers.labs.module.frozen_backbone import frozen_backbone

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


@frozen_backbone.wrong_answer(
    "parameters_only",
    why="The weights were frozen and nothing else. Running statistics are buffers that forward writes: a batch norm in "
    "training mode moves them without any gradient.",
    seen="without any gradient",
)
class _(Base):
    def freeze(self) -> None:
        self.backbone.requires_grad_(False)


@frozen_backbone.wrong_answer(
    "eval_once",
    why="backbone.eval() was called once. The next train() of the model, or of a parent, goes down to every child and "
    "undoes it.",
    seen="goes down to every child and undoes it",
)
class _(Base):
    pass


@frozen_backbone.another_form("eval_once")
class _(Base):
    """The other method was changed: nobody calls a child's eval."""

    def eval(self) -> Any:
        super().eval()
        self.backbone.eval()
        return self


@frozen_backbone.wrong_answer(
    "undone_by_super",
    why="backbone.eval() comes first, and then super().train(mode) puts every child into the mode again, the backbone "
    "too.",
    seen="puts every child into the mode again",
)
class _(Base):
    def train(self, mode: bool = True) -> Any:
        self.backbone.eval()
        return super().train(mode)


@frozen_backbone.wrong_answer(
    "frozen_by_the_first_train",
    why="All of it happens in train(). A new module is in training mode without a call of train(), and an optimizer is "
    "often built before it.",
    seen="without a call of train()",
)
class _(Right):
    def freeze(self) -> None:
        pass

    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        self.backbone.requires_grad_(False)
        return self


@frozen_backbone.another_form("frozen_by_the_first_train")
class _(Right):
    def freeze(self) -> None:
        self.backbone.requires_grad_(False)


@frozen_backbone.wrong_answer(
    "returns_nothing",
    why="train() ends without `return self`. eval() returns what train() returns, so `model.eval()(x)` fails as well.",
    seen="ends without `return self`",
)
class _(Right):
    def train(self, mode: bool = True) -> None:
        super().train(mode)


@frozen_backbone.wrong_answer(
    "super_forgotten",
    why="train() puts the backbone into eval mode and does nothing else: the head stays in the mode that it was in, and "
    "model.eval() does not reach it. Call super().train(mode) first.",
    seen="does nothing else: the head stays",
)
class _(Base):
    def train(self, mode: bool = True) -> Any:
        self.backbone.eval()
        return self


@frozen_backbone.another_form("super_forgotten")
class _(Base):
    def train(self, mode: bool = True) -> Any:
        self.training = mode
        self.backbone.eval()
        return self


@frozen_backbone.wrong_answer(
    "own_flag_forgotten",
    why="The head was switched by hand, and self.training was not. Code that asks `model.training` gets the answer of "
    "before; super().train(mode) sets both.",
    seen="self.training was not",
)
class _(Base):
    def train(self, mode: bool = True) -> Any:
        self.head.train(mode)
        self.backbone.eval()
        return self


@frozen_backbone.wrong_answer(
    "mode_ignored",
    why="super().train() was called without mode. Its default is True, so eval() puts the head into training mode.",
    seen="was called without mode",
)
class _(Right):
    def train(self, mode: bool = True) -> Any:
        return super().train()


@frozen_backbone.another_form("mode_ignored")
class _(Base):
    def train(self, mode: bool = True) -> Any:
        self.training = True
        self.head.train()
        self.backbone.eval()
        return self


@frozen_backbone.wrong_answer(
    "all_in_eval",
    why="All of the model was put into eval mode, the head too. Only the backbone stays there.",
    seen="Only the backbone stays there",
)
class _(Right):
    def train(self, mode: bool = True) -> Any:
        return nn.Module.train(self, False)


@frozen_backbone.another_form("all_in_eval")
class _(Right):
    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        self.head.eval()
        return self


@frozen_backbone.wrong_answer(
    "eval_of_itself",
    why="train() calls self.eval(), and eval() is train(False): the two call each other without end.",
    seen="the two call each other",
)
class _(Base):
    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        self.eval()
        return self


@frozen_backbone.wrong_answer(
    "norms_of_the_head_too",
    why="Each batch norm of the whole model was put into eval mode, those of the head too, which must learn their "
    "statistics. Go through backbone.modules().",
    seen="Go through backbone.modules()",
)
class _(Right):
    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        for module in self.modules():
            if isinstance(module, NORMS):
                module.eval()
        return self


@frozen_backbone.another_form("norms_of_the_head_too")
class _(Base):
    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        for module in self.modules():
            if isinstance(module, NORMS):
                module.eval()
        return self


@frozen_backbone.wrong_answer(
    "norms_only",
    why="Only the batch norms of the backbone were put into eval mode. Its dropout is still on: the features of one "
    "picture change from call to call.",
    seen="Its dropout is still on",
)
class _(Base):
    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        for module in self.backbone.modules():
            if isinstance(module, NORMS):
                module.eval()
        return self


@frozen_backbone.wrong_answer(
    "outer_norms_only",
    why="Only direct children of the backbone were put into eval mode one by one; what stands deeper goes on learning. "
    "modules() goes all the way down, and so does eval().",
    seen="what stands deeper",
)
class _(Base):
    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        for module in self.backbone.children():
            if isinstance(module, NORMS):
                module.eval()
        return self


@frozen_backbone.wrong_answer(
    "momentum_zero",
    why="momentum = 0 keeps the running statistics where they are, but a batch norm in training mode normalises by the "
    "batch: the features of a sample depend on its neighbours.",
    seen="depend on its neighbours",
)
class _(Base):
    def freeze(self) -> None:
        self.backbone.requires_grad_(False)
        self.backbone.eval()
        for module in self.backbone.modules():
            if isinstance(module, NORMS):
                module.momentum = 0.0
