"""What people write for 09.scriptable where Python is to stay Python: notes, branches, parameters, loops.

Without `from __future__ import annotations`: the compiler reads the annotations of these classes as objects.
"""

import torch
from torch import Tensor, nn

from helpers.exercise import returned
from helpers.labs.torchscript import broken
from helpers.labs.torchscript.broken import BROKEN, WIDTH
from helpers.labs.torchscript.scriptable import scriptable
from helpers.labs.torchscript.scriptable_mistakes import but, ignored_on_the_hot_path, traced_instead
from helpers.labs.torchscript.scriptable_repairs import REPAIRED

built = scriptable.bank(returned)


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


@built.mistake()
def ignored_instead_of_unused():
    """An ignored method stays a call of Python, even where it is never reached, and torch.jit.save refuses
    the whole module. @torch.jit.unused, or `if not torch.jit.is_scripting():`, leaves none.
    """
    return but(ignored=Ignored)


@built.mistake()
def notes_thrown_out():
    """What the compiler could not take was deleted. It compiles, and training no longer notes anything."""
    return but(ignored=NoNotes)


scriptable.variant(notes_thrown_out)(but(ignored=NotesOfScript))


@built.mistake()
def noted_in_eval_mode():
    """The question whether the model trains was dropped: the unused method is reached in eval mode, and there
    stands an error.
    """
    return but(ignored=Always)


@built.mistake()
def branch_by_abs():
    """`y if y.sum() > 0 else -y` turns the sign of all entries together; abs() turns each by itself. A branch
    that the compiler takes need not be replaced.
    """
    return but(ignored=OneSign)


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


@built.mistake()
def depth_ignored():
    """The loop over the ModuleList is unrolled, and `depth` went with it: all three layers always run. Keep
    the question `place < depth` in the loop.
    """
    return but(layers=AllLayers)


@built.mistake()
def depth_a_constant():
    """The depth of one call was written into the code: that is what a trace does."""
    return but(layers=DepthFixed)


@built.mistake()
def first_layer_repeated():
    """`self.layers[0]` compiles, a literal being allowed, and runs the first layer again and again."""
    return but(layers=SameLayer)


@built.mistake()
def plain_list_of_layers():
    """In a plain list the layers are no submodules: their parameters are not in the state_dict, and the
    compiler does not see them.
    """
    return but(layers=ListOfLayers)


@built.mistake()
def index_left():
    """A ModuleList holds modules of different types, and what a variable index gives has no type: the
    compiler refuses `self.layers[place]`. It unrolls `enumerate(self.layers)`.
    """
    return but(layers=broken.Stack)


class Wrapped(nn.Module):
    """A model in a model."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *args):
        return self.inner(*args)


@scriptable.mistake()
def wrapped(name):
    """A wrapper puts its own name in front of every parameter, so old files no longer load, and a wrapper
    with *args is one more thing that the compiler refuses.
    """
    return Wrapped(BROKEN[name]())


scriptable.variant(wrapped)(lambda name: Wrapped(REPAIRED[name]()))


@scriptable.mistake()
def class_returned(name):
    """The class itself was returned. A model is an instance: call it."""
    return REPAIRED[name]


class IgnoredSums(broken.Counted):
    def forward(self, named: dict[str, Tensor]) -> dict[str, Tensor]:
        return self.sums(named)

    @torch.jit.ignore
    def sums(self, named: dict[str, Tensor]) -> dict[str, Tensor]:
        return broken.Counted.forward(self, named)


scriptable.variant(ignored_on_the_hot_path)(but(dict=IgnoredSums))


@scriptable.variant(traced_instead)
def _(name: str) -> nn.Module:
    if name in ("optional", "final", "export", "ignored"):  # those that tensors alone are given to
        return torch.jit.trace(BROKEN[name]().eval(), (torch.ones(2, WIDTH),), check_trace=False)
    return REPAIRED[name]()
