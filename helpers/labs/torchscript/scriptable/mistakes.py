"""What people write for 09.scriptable, and why it is wrong.

Without `from __future__ import annotations`: the compiler reads the annotations of these classes as objects.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from helpers.check.spec import returned
from helpers.labs.torchscript.scriptable.exercise import (
    NEW,
    OWN,
    RETURNS,
    SAME,
    SAVED,
    SCRIPTED,
    WHAT,
    scriptable,
)
from helpers.labs.torchscript.scriptable.right import REPAIRED
from helpers.labs.torchscript.shown import broken
from helpers.labs.torchscript.shown.broken import BROKEN, WIDTH

built = scriptable.bank(returned)

Answer = Callable[[str], nn.Module]


def but(**classes: Callable[[], nn.Module]) -> Answer:
    """The right answer with other classes for some names."""
    return lambda name: classes.get(name, REPAIRED[name])()


X, ROWS = torch.ones(2, WIDTH), torch.ones(5, WIDTH)
EXAMPLES = {
    "optional": (X, X),
    "list": (ROWS, torch.tensor(2)),
    "dict": ({"a": X},),
    "layers": (X, torch.tensor(2)),
}


@scriptable.mistake(breaks=RETURNS)
def traced_instead(name: str) -> nn.Module:
    """A trace compiles anything, since it never reads the code: it holds the one way that the example went,
    with the mask there, the sign fixed and the step a constant.
    """
    return torch.jit.trace(BROKEN[name]().eval(), EXAMPLES.get(name, (X,)), check_trace=False, strict=False)


@scriptable.variant(traced_instead)
def _(name: str) -> nn.Module:
    if name in ("final", "ignored"):
        return torch.jit.trace(BROKEN[name]().eval(), EXAMPLES.get(name, (X,)), check_trace=False)
    return REPAIRED[name]()


@scriptable.mistake(breaks=RETURNS)
def scripted_already(name: str) -> nn.Module:
    """The check scripts the module itself, and calls it from Python before that: what only Python does (the
    notes of training) is gone from a scripted one.
    """
    return torch.jit.script(REPAIRED[name]())


@scriptable.mistake(breaks=SCRIPTED)
def left_as_it_was(name):
    """ "optional" compiles as it stands, with a mask that must be there: without an annotation `mask` is a
    Tensor, and `mask is not None` is decided when it is compiled. That a module compiles does not mean that
    it is right.
    """
    return BROKEN[name]()


scriptable.variant(left_as_it_was)(but(optional=broken.Masked))


class MaskOfOnes(broken.Masked):
    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.fc(x) * mask


class NotRefined(broken.Masked):
    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        has_mask = mask is not None
        y = self.fc(x)
        if has_mask:
            y = y * mask
        return y


class MaskAttribute(broken.Masked):
    def __init__(self) -> None:
        super().__init__()
        self.mask: Tensor | None = None

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        self.mask = mask
        y = self.fc(x)
        if self.mask is not None:
            y = y * self.mask
        return y


class MaskByTruth(broken.Masked):
    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        y = self.fc(x)
        if mask:
            y = y * mask
        return y


@built.mistake(breaks=OWN["optional"])
def mask_required():
    """With `mask: Tensor` it compiles, and whoever has no mask can no longer call it. Optional[Tensor] = None
    says what the model takes.
    """
    return but(optional=MaskOfOnes)


@built.mistake(breaks=WHAT)
def optional_not_refined():
    """The compiler knows that an Optional is a Tensor only inside an `if mask is not None:` on a local
    variable itself. A flag computed before does not tell it, nor does a test of an attribute, which could
    change meanwhile.
    """
    return but(optional=NotRefined)


scriptable.variant(optional_not_refined)(but(optional=MaskAttribute))


@built.mistake(breaks=WHAT)
def truth_of_the_mask():
    """`if mask:` asks for the truth of a tensor of many elements, or of an Optional, which has none. Ask
    `mask is not None`.
    """
    return but(optional=MaskByTruth)


class Untyped(broken.Strided):
    def forward(self, x: Tensor, step: int) -> Tensor:
        places = []
        for place in range(0, x.shape[0], step):
            places.append(place)
        return torch.stack([self.fc(x[place]) / (place + 1) for place in places])


class StepUntyped(broken.Strided):
    def forward(self, x, step):
        places: list[int] = []
        for place in range(0, x.shape[0], step):
            places.append(place)
        return torch.stack([self.fc(x[place]) / (place + 1) for place in places])


class FromZero(broken.Strided):
    def forward(self, x: Tensor, step: int) -> Tensor:
        return torch.stack([self.fc(row) / (place + 1) for place, row in enumerate(x[::step])])


class RowsUntyped(broken.Counted):
    def forward(self, named: dict[str, Tensor]) -> dict[str, Tensor]:
        rows = {}
        for name, x in named.items():
            rows[name] = x.shape[0]
        sums = {}
        for name, x in named.items():
            sums[name] = (x * self.scale).sum(0) / rows[name] if rows[name] > 0 else self.scale
        return sums


class NamedUntyped(broken.Counted):
    def forward(self, named) -> dict[str, Tensor]:
        sums: dict[str, Tensor] = {}
        for name, x in named.items():
            sums[name] = x.mean(0) * self.scale if len(x) > 0 else self.scale
        return sums


class NoEmptyRows(broken.Counted):
    def forward(self, named: dict[str, Tensor]) -> dict[str, Tensor]:
        return {name: x.mean(0) * self.scale for name, x in named.items()}


@built.mistake(breaks=WHAT)
def list_untyped():
    """An empty list is a list of Tensors until it is told otherwise: `places: list[int] = []`."""
    return but(list=Untyped)


@built.mistake(breaks=WHAT)
def step_untyped():
    """An argument without an annotation is a Tensor, whatever the caller gives: `step: int`."""
    return but(list=StepUntyped)


@built.mistake(breaks=SAME)
def rows_renumbered():
    """After `x[::step]` enumerate counts what is left: 0, 1, 2. The row's own number was wanted."""
    return but(list=FromZero)


@built.mistake(breaks=WHAT)
def dict_untyped():
    """An empty dict has str keys and Tensor values until it is told otherwise: `rows: dict[str, int] = {}`."""
    return but(dict=RowsUntyped)


@built.mistake(breaks=WHAT)
def argument_dict_untyped():
    """`named` without an annotation is a Tensor, and a Tensor has no items(): `named: dict[str, Tensor]`."""
    return but(dict=NamedUntyped)


@built.mistake(breaks=SAME)
def empty_rows_lost():
    """For a name without rows the result differs. Perhaps its way was left out to please the compiler: the mean of
    nothing is NaN.
    """
    return but(dict=NoEmptyRows)


def with_gate() -> nn.Module:
    return broken.Gated(gated=True)


class Unannotated(broken.Gated):
    def forward(self, x: Tensor) -> Tensor:
        y = self.fc(x)
        if self.gated is True:
            y = y * torch.sigmoid(self.gate(x))
        return torch.relu(y)


@built.mistake(breaks=WHAT)
def not_final():
    """`self.gated` is an attribute that could change, so both ways are compiled, and one of them asks for a
    layer that is not there. `gated: Final[bool]` in the body of the class makes it a constant; the other way
    is left out.
    """
    return but(final=broken.Gated)


scriptable.variant(not_final)(but(final=Unannotated))


@built.mistake(breaks=RETURNS)
def gate_added():
    """With a gate it compiles, and is another model: its parameters do not fit the file of the old one."""
    return but(final=with_gate)


@built.mistake(breaks=OWN["export"])
def export_forgotten():
    """script compiles forward and what forward calls. A method that only others call needs @torch.jit.export;
    without it, it is not in the scripted module.
    """
    return but(export=broken.Encoder)


class Uncalled(nn.Module):
    """Ignored where the work is done."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(3)])

    def forward(self, x: Tensor, depth: int) -> Tensor:
        return self.run(x, depth)

    @torch.jit.ignore
    def run(self, x: Tensor, depth: int) -> Tensor:
        for place in range(depth):
            x = torch.tanh(self.layers[place](x))
        return x


class IgnoredRows(broken.Strided):
    def forward(self, x: Tensor, step: int) -> Tensor:
        return self.rows(x, step)

    @torch.jit.ignore
    def rows(self, x: Tensor, step: int) -> Tensor:
        return broken.Strided.forward(self, x, step)


class UnusedRun(Uncalled):
    @torch.jit.unused
    def run(self, x: Tensor, depth: int) -> Tensor:
        for place in range(depth):
            x = torch.tanh(self.layers[place](x))
        return x


@built.mistake(breaks=SAVED)
def ignored_on_the_hot_path():
    """@torch.jit.ignore lets the compiler go on by leaving a call of Python in place: nothing of the work is
    compiled, and the module can neither be saved nor run without Python.
    """
    return but(list=IgnoredRows)


scriptable.variant(ignored_on_the_hot_path)(but(layers=Uncalled))


@built.mistake(breaks=SCRIPTED)
def unused_on_the_hot_path():
    """@torch.jit.unused puts an error in the place of the method: it is for what the scripted model never
    calls, and here it calls it each time.
    """
    return but(layers=UnusedRun)


# Notes, branches, parameters, loops.


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


@built.mistake(breaks=SAVED)
def ignored_instead_of_unused():
    """An ignored method stays a call of Python, even where it is never reached, and torch.jit.save refuses
    the whole module. @torch.jit.unused, or `if not torch.jit.is_scripting():`, leaves none.
    """
    return but(ignored=Ignored)


@built.mistake(breaks=SAME)
def notes_thrown_out():
    """Training notes nothing any more. Perhaps what the compiler could not take was deleted."""
    return but(ignored=NoNotes)


scriptable.variant(notes_thrown_out)(but(ignored=NotesOfScript))


@built.mistake(breaks=SAME)
def noted_in_eval_mode():
    """In eval mode, too, notes are taken. Perhaps the question whether the model trains was dropped, or only asked
    whether it is scripted: both may be asked.
    """
    return but(ignored=Always)


class NotesAlways(REPAIRED["ignored"]):
    def forward(self, x: Tensor) -> Tensor:
        if not torch.jit.is_scripting():
            self.note(x)
        y = self.fc(x)
        return y if y.sum() > 0 else -y


scriptable.variant(noted_in_eval_mode)(but(ignored=NotesAlways))


class AtZero(REPAIRED["ignored"]):
    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.note(x)
        y = self.fc(x)
        return y if y.sum() >= 0 else -y


class MaskWithoutZeros(broken.Masked):
    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        y = self.fc(x)
        if mask is not None and bool(mask.all()):
            y = y * mask
        return y


class OneLayerMore(broken.Stack):
    def forward(self, x: Tensor, depth: int) -> Tensor:
        for place, layer in enumerate(self.layers):
            if place <= depth:
                x = torch.tanh(layer(x))
        return x


@built.mistake(breaks=SAME)
def sign_at_zero():
    """Where the sum is 0 the sign is not turned. The question of the broken one is `> 0`, so that 0 goes the other
    way.
    """
    return but(ignored=AtZero)


@built.mistake(breaks=SAME)
def mask_with_zeros_ignored():
    """A mask that holds zeros is not used. Perhaps the truth of the mask is asked, by all(). Ask
    `mask is not None`.
    """
    return but(optional=MaskWithoutZeros)


@built.mistake(breaks=SAME)
def one_layer_more():
    """One layer more runs than the depth says. Perhaps the question is `place <= depth`: places begin at 0."""
    return but(layers=OneLayerMore)


_instances: dict[str, nn.Module] = {}


@built.mistake(breaks=NEW)
def one_instance_a_name():
    """The second call gives the module of the first, with its weights and its notes. Perhaps the modules stand in a
    dict: keep the classes there, and call them.
    """

    def answer(name: str) -> nn.Module:
        return _instances.setdefault(name, REPAIRED[name]())

    return answer


@built.mistake(breaks=SAME)
def branch_by_abs():
    """The results differ, where the sum is above 0 and where it is not. Perhaps abs() stands for the branch: it turns
    the sign of each entry by itself, and `y if y.sum() > 0 else -y` turns all of them together.
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


@built.mistake(breaks=SAME)
def depth_ignored():
    """All three layers run, whatever the depth. Perhaps the loop goes over the ModuleList, and `depth` went with it:
    keep the question `place < depth` in the loop.
    """
    return but(layers=AllLayers)


@built.mistake(breaks=SAME)
def depth_a_constant():
    """Two layers run, whatever the depth. Perhaps the depth of one call was written into the code: that is what a
    trace does.
    """
    return but(layers=DepthFixed)


@built.mistake(breaks=SAME)
def first_layer_repeated():
    """From depth 2 on the result is that of no depth. Perhaps it is `self.layers[0]`, again and again: a literal is
    allowed, and each place has its own layer.
    """
    return but(layers=SameLayer)


@built.mistake(breaks=RETURNS)
def plain_list_of_layers():
    """In a plain list the layers are no submodules: their parameters are not in the state_dict, and the
    compiler does not see them.
    """
    return but(layers=ListOfLayers)


@built.mistake(breaks=WHAT)
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


@scriptable.mistake(breaks=RETURNS)
def wrapped(name):
    """A wrapper puts its own name in front of every parameter, so old files no longer load, and a wrapper
    with *args is one more thing that the compiler refuses.
    """
    return Wrapped(BROKEN[name]())


scriptable.variant(wrapped)(lambda name: Wrapped(REPAIRED[name]()))


@scriptable.mistake(breaks=RETURNS)
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
