"""What people write for 09.scriptable where Python is to stay Python: notes, branches, parameters, loops.

Without `from __future__ import annotations`: the compiler reads the annotations of these classes as objects.
"""

import torch
from torch import Tensor, nn

from helpers.labs.torchscript import broken
from helpers.labs.torchscript.broken import BROKEN, WIDTH
from helpers.labs.torchscript.scriptable import scriptable
from helpers.labs.torchscript.scriptable_mistakes import but
from helpers.labs.torchscript.scriptable_repairs import REPAIRED


class Ignored(broken.Logged):
    @torch.jit.ignore
    def note(self, x: Tensor) -> None:
        self.notes.append(x.mean().item())


class NoNotes(broken.Logged):
    def forward(self, x: Tensor) -> Tensor:
        y = self.fc(x)
        return y if y.sum() > 0 else -y


class NotesOfScript(broken.Logged):
    @torch.jit.unused
    def note(self, x: Tensor) -> None:
        pass


class OneSign(broken.Logged):
    def forward(self, x: Tensor) -> Tensor:
        if not torch.jit.is_scripting() and self.training:
            self.note(x)
        return self.fc(x).abs()


class Always(broken.Logged):
    @torch.jit.unused
    def note(self, x: Tensor) -> None:
        super().note(x)

    def forward(self, x: Tensor) -> Tensor:
        self.note(x)
        y = self.fc(x)
        return y if y.sum() > 0 else -y


scriptable.wrong_answer(
    "ignored_instead_of_unused",
    why="An ignored method stays a call of Python, even where it is never reached, and torch.jit.save refuses the whole "
    "module. @torch.jit.unused, or `if not torch.jit.is_scripting():`, leaves none.",
    seen="even where it is never reached",
    answer=but(ignored=Ignored),
)
scriptable.wrong_answer(
    "notes_thrown_out",
    why="What the compiler could not take was deleted. It compiles, and training no longer notes anything.",
    seen="What the compiler could not take was deleted",
    answer=but(ignored=NoNotes),
)
scriptable.another_form("notes_thrown_out")(but(ignored=NotesOfScript))
scriptable.wrong_answer(
    "noted_in_eval_mode",
    why="The question whether the model trains was dropped: the unused method is reached in eval mode, and there stands "
    "an error.",
    seen="the unused method is reached in eval mode",
    answer=but(ignored=Always),
)
scriptable.wrong_answer(
    "branch_by_abs",
    why="`y if y.sum() > 0 else -y` turns the sign of all entries together; abs() turns each by itself. A branch that the "
    "compiler takes need not be replaced.",
    seen="turns each by itself",
    answer=but(ignored=OneSign),
)


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


scriptable.wrong_answer(
    "depth_ignored",
    why="The loop over the ModuleList is unrolled, and `depth` went with it: all three layers always run. Keep the "
    "question `place < depth` in the loop.",
    seen="all three layers always run",
    answer=but(layers=AllLayers),
)
scriptable.wrong_answer(
    "depth_a_constant",
    why="The depth of one call was written into the code: that is what a trace does.",
    seen="that is what a trace does",
    answer=but(layers=DepthFixed),
)
scriptable.wrong_answer(
    "first_layer_repeated",
    why="`self.layers[0]` compiles, a literal being allowed, and runs the first layer again and again.",
    seen="a literal being allowed",
    answer=but(layers=SameLayer),
)
scriptable.wrong_answer(
    "plain_list_of_layers",
    why="In a plain list the layers are no submodules: their parameters are not in the state_dict, and the compiler does "
    "not see them.",
    seen="In a plain list the layers are no submodules",
    answer=but(layers=ListOfLayers),
)
scriptable.wrong_answer(
    "index_left",
    why="A ModuleList holds modules of different types, and what a variable index gives has no type: the compiler refuses "
    "`self.layers[place]`. It unrolls `enumerate(self.layers)`.",
    seen="what a variable index gives has no type",
    answer=but(layers=broken.Stack),
)


class Wrapped(nn.Module):
    """A model in a model."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *args):
        return self.inner(*args)


scriptable.wrong_answer(
    "wrapped",
    why="A wrapper puts its own name in front of every parameter, so old files no longer load, and a wrapper with *args "
    "is one more thing that the compiler refuses.",
    seen="puts its own name in front",
    answer=lambda name: Wrapped(BROKEN[name]()),
)
scriptable.another_form("wrapped")(lambda name: Wrapped(REPAIRED[name]()))
scriptable.wrong_answer(
    "class_returned",
    why="The class itself was returned. A model is an instance: call it.",
    seen="The class itself was returned",
    answer=lambda name: REPAIRED[name],
)


class IgnoredSums(broken.Counted):
    def forward(self, named: dict[str, Tensor]) -> dict[str, Tensor]:
        return self.sums(named)

    @torch.jit.ignore
    def sums(self, named: dict[str, Tensor]) -> dict[str, Tensor]:
        return broken.Counted.forward(self, named)


scriptable.another_form("ignored_on_the_hot_path")(but(dict=IgnoredSums))


@scriptable.another_form("traced_instead")
def _(name: str) -> nn.Module:
    if name in ("optional", "final", "export", "ignored"):  # those that tensors alone are given to
        return torch.jit.trace(BROKEN[name]().eval(), (torch.ones(2, WIDTH),), check_trace=False)
    return REPAIRED[name]()
