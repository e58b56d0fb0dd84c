"""What people write for 09.scriptable, and why it is wrong.

Without `from __future__ import annotations`: the compiler reads the annotations of these classes as objects.
"""

from collections.abc import Callable

import torch
from torch import nn

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
from helpers.labs.torchscript.scriptable.logged import (
    AboveOne,
    Always,
    AtZero,
    Ignored,
    NoNotes,
    NotesAlways,
    NotesInEval,
    NotesOfAll,
    NotesOfFloats,
    NotesOfScript,
    OneSign,
)
from helpers.labs.torchscript.scriptable.parts import (
    AllLayers,
    AlwaysDivided,
    AtLeastOneRow,
    DepthFixed,
    DepthUntyped,
    DividedAboveTwo,
    EncodeIgnored,
    EncodeUnused,
    EveryRow,
    FromZero,
    IgnoredRows,
    IgnoredSums,
    InputMasked,
    LayersByName,
    ListOfLayers,
    MaskAsSwitch,
    MaskAttribute,
    MaskByTruth,
    MaskOfNothing,
    MaskOfOnes,
    MaskWithoutDefault,
    MaskWithoutZeros,
    NamedUntyped,
    NoEmptyRows,
    NotRefined,
    OneLayerMore,
    OneRowLost,
    OnlyLinear,
    RowsUnstacked,
    RowsUntyped,
    SameLayer,
    ScaleBuffer,
    ScaleOfInt,
    StepUntyped,
    Unannotated,
    Uncalled,
    Untyped,
    UnusedRun,
    Wrapped,
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
    """What is returned is a trace. It compiles anything, since it never reads the code, and it holds the one way that
    its example went.
    """
    return torch.jit.trace(BROKEN[name]().eval(), EXAMPLES.get(name, (X,)), check_trace=False, strict=False)


@scriptable.variant(traced_instead)
def _(name: str) -> nn.Module:
    if name in ("final", "ignored"):
        return torch.jit.trace(BROKEN[name]().eval(), EXAMPLES.get(name, (X,)), check_trace=False)
    return REPAIRED[name]()


@scriptable.mistake(breaks=RETURNS)
def scripted_already(name: str) -> nn.Module:
    """What is returned is scripted already. The check scripts the module itself, and calls it from Python before that:
    what only Python does (the notes of training) is gone from a scripted one.
    """
    return torch.jit.script(REPAIRED[name]())


@scriptable.mistake(breaks=SCRIPTED)
def left_as_it_was(name):
    """ "optional" compiles, and then cannot be called without a mask. Perhaps `mask` has no annotation, or that of a
    Tensor: it is one then, and `mask is not None` is decided when it is compiled. That a module compiles does not mean that it is
    right.
    """
    return BROKEN[name]()


scriptable.variant(left_as_it_was)(but(optional=broken.Masked))


@built.mistake(breaks=OWN["optional"])
def mask_required():
    """Without a mask it raises, also in Python. Perhaps `mask` has no default, or is a Tensor by its annotation: it compiles
    so, and whoever has no mask can no longer call it. `Optional[Tensor] = None` says what the model takes.
    """
    return but(optional=MaskOfOnes)


scriptable.variant(mask_required)(but(optional=MaskWithoutDefault))


@built.mistake(breaks=WHAT)
def optional_not_refined():
    """The compiler meets an Optional[Tensor] where a different type is needed. It is a Tensor only inside an
    `if mask is not None:` on the local variable itself. Perhaps a flag computed before is asked, or an attribute,
    which could change meanwhile.
    """
    return but(optional=NotRefined)


scriptable.variant(optional_not_refined)(but(optional=MaskAttribute))


@built.mistake(breaks=WHAT)
def truth_of_the_mask():
    """With a mask it raises. Perhaps by `if mask:`, which asks for the truth of a tensor of many elements. Ask
    `mask is not None`.
    """
    return but(optional=MaskByTruth)


@built.mistake(breaks=WHAT)
def list_untyped():
    """The compiler refuses what is appended to a list. Perhaps the list has no type: an empty one is a list of Tensors
    until it is told otherwise, `places: list[int] = []`.
    """
    return but(list=Untyped)


@built.mistake(breaks=WHAT)
def step_untyped():
    """The range gets a Tensor. An argument without an annotation is one, whatever the caller gives: `step: int`."""
    return but(list=StepUntyped)


@built.mistake(breaks=SAME)
def rows_renumbered():
    """For a step of 2 or 3 the result differs. Perhaps by enumerate after `x[::step]`: it counts what is left, 0, 1, 2.
    The row's own number was wanted.
    """
    return but(list=FromZero)


@built.mistake(breaks=WHAT)
def dict_untyped():
    """The compiler has a dict of Tensors where a different type is needed. Perhaps a dict has no type: an empty one has
    str keys and Tensor values until it is told otherwise, `rows: dict[str, int] = {}`.
    """
    return but(dict=RowsUntyped)


@built.mistake(breaks=WHAT)
def argument_dict_untyped():
    """The compiler takes something for a Tensor, which has no items(). Perhaps `named` has no annotation:
    `named: dict[str, Tensor]`.
    """
    return but(dict=NamedUntyped)


@built.mistake(breaks=SAME)
def empty_rows_lost():
    """For a name without rows the result differs. Perhaps its way was left out to please the compiler, or gives zeros: the
    broken one gives `scale` for it.
    """
    return but(dict=NoEmptyRows)


scriptable.variant(empty_rows_lost)(but(dict=AtLeastOneRow))


@built.mistake(breaks=SAME)
def one_row_lost():
    """For a name with one row the result differs, and for more rows or none it is right. Perhaps a single row goes the way
    of none: the broken one gives `scale` for no rows only.
    """
    return but(dict=OneRowLost)


def with_gate() -> nn.Module:
    return broken.Gated(gated=True)


@built.mistake(breaks=WHAT)
def not_final():
    """The compiler asks for the layer `gate`, which is not there. Perhaps `gated` is not Final: an attribute could change,
    so both ways are compiled. `gated: Final[bool]` in the body of the class makes it a constant; the other way is left
    out.
    """
    return but(final=broken.Gated)


scriptable.variant(not_final)(but(final=Unannotated))


@built.mistake(breaks=RETURNS)
def parameters_renamed():
    """The parameters have other names, and the old shapes: files of the old model no longer load. Perhaps the layers stand
    in attributes of their own, and not in the ModuleList any more.
    """
    return but(layers=LayersByName)


@built.mistake(breaks=RETURNS)
def buffer_for_parameter():
    """`scale` is in state_dict and is no parameter: no optimizer finds it. Perhaps it is a buffer, or a plain tensor was
    registered.
    """
    return but(dict=ScaleBuffer)


@built.mistake(breaks=RETURNS)
def gate_added():
    """The model has a layer `gate` more. So it compiles, and is a different model: its parameters do not fit the file of
    the old one.
    """
    return but(final=with_gate)


@built.mistake(breaks=OWN["export"])
def export_forgotten():
    """The scripted module has no `encode`. script compiles forward and what forward calls; a method that only others
    call needs @torch.jit.export.
    """
    return but(export=broken.Encoder)


@built.mistake(breaks=OWN["export"])
def encode_not_compiled():
    """`encode` is there after scripting, and gone once the module is saved: it is a method of Python still. Perhaps it is
    marked as unused or ignored: @torch.jit.export has it compiled.
    """
    return but(export=EncodeUnused)


scriptable.variant(encode_not_compiled)(but(export=EncodeIgnored))


@built.mistake(breaks=SAME)
def branch_of_encode_left_out():
    """encode is right for a scale of 3, and for 0.5 the result differs. Perhaps it is divided by any scale: only by one
    above 1.
    """
    return but(export=AlwaysDivided)


@built.mistake(breaks=SAME)
def divided_too_late():
    """encode is right for scales of 0.5 and 3, and for 1.5 the result differs. Perhaps a number other than 1 is asked about."""
    return but(export=DividedAboveTwo)


@built.mistake(breaks=SAVED)
def ignored_on_the_hot_path():
    """A call of Python is left in the scripted module: it can neither be saved nor run without Python. Perhaps by
    @torch.jit.ignore: it lets the compiler go on, and the work of that method is not compiled.
    """
    return but(list=IgnoredRows)


scriptable.variant(ignored_on_the_hot_path)(but(layers=Uncalled))


@built.mistake(breaks=SCRIPTED)
def unused_on_the_hot_path():
    """The scripted module raises at each call. Perhaps by @torch.jit.unused: it puts an error in the place of the method,
    and is for what the scripted model never calls.
    """
    return but(layers=UnusedRun)


@built.mistake(breaks=SAVED)
def ignored_instead_of_unused():
    """The scripted module cannot be saved. Perhaps `note` is ignored: it stays a call of Python then, even where it is
    never reached. @torch.jit.unused, or `if not torch.jit.is_scripting():`, leaves none.
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


scriptable.variant(noted_in_eval_mode)(but(ignored=NotesAlways))


@built.mistake(breaks=SAME)
def sign_at_zero():
    """Where the sum is 0 the result differs. Perhaps the question is `>= 0`: that of the broken one is `> 0`, so that 0
    goes the other way.
    """
    return but(ignored=AtZero)


@built.mistake(breaks=SAME)
def sign_turned_above_zero():
    """Where the sum of the layer's output is a little above 0, and only there, the sign is the wrong one. Perhaps a number
    other than 0 is asked about.
    """
    return but(ignored=AboveOne)


@built.mistake(breaks=SAME)
def mask_with_zeros_ignored():
    """Where the mask holds zeros the result differs. Perhaps the truth of the mask is asked, by all(), and it is not
    used then. Ask `mask is not None`.
    """
    return but(optional=MaskWithoutZeros)


@built.mistake(breaks=SAME)
def mask_as_a_switch():
    """With a mask of 0 and 1 the result is right, and with other numbers it differs. Perhaps by masked_fill or where: the
    broken one multiplies by the mask.
    """
    return but(optional=MaskAsSwitch)


@built.mistake(breaks=SAME)
def one_layer_more():
    """One layer more runs than the depth says. Perhaps the question is `place <= depth`: places begin at 0."""
    return but(layers=OneLayerMore)


@built.mistake(breaks=SAME)
def noted_in_eval_mode_only():
    """In eval mode notes are taken, and in training none. Perhaps the question whether the model trains is turned
    around.
    """
    return but(ignored=NotesInEval)


@built.mistake(breaks=NEW)
def notes_shared():
    """What one model notes, a different one has in its notes, too. Perhaps the list is one of the class or of the file:
    make it in `__init__`.
    """
    return but(ignored=NotesOfAll)


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


@built.mistake(breaks=SCRIPTED)
def depth_untyped():
    """The scripted module refuses an int for the depth. An argument without an annotation is a Tensor: `depth: int`."""
    return but(layers=DepthUntyped)


@built.mistake(breaks=SAME)
def first_layer_repeated():
    """From depth 2 on the result is that of no depth. Perhaps each step takes `self.layers[0]`, or tanh comes only after
    the last one: each place has its own layer, and a tanh behind it.
    """
    return but(layers=SameLayer)


@built.mistake(breaks=RETURNS)
def plain_list_of_layers():
    """The model has no parameters. Perhaps the layers stand in a plain list: there they are no submodules, and the
    compiler does not see them.
    """
    return but(layers=ListOfLayers)


@built.mistake(breaks=WHAT)
def index_left():
    """The compiler refuses a ModuleList whose index is a variable: it holds modules of different types, and what such an
    index gives has no type. It unrolls `enumerate(self.layers)`.
    """
    return but(layers=broken.Stack)


@scriptable.mistake(breaks=RETURNS)
def wrapped(name):
    """Every parameter has something in front of its name, so old files no longer load. Perhaps by a wrapper, which puts
    its own name there.
    """
    return Wrapped(BROKEN[name]())


scriptable.variant(wrapped)(lambda name: Wrapped(REPAIRED[name]()))


@scriptable.mistake(breaks=RETURNS)
def class_returned(name):
    """A class was returned. A model is an instance: call it."""
    return REPAIRED[name]


scriptable.variant(ignored_on_the_hot_path)(but(dict=IgnoredSums))


@scriptable.variant(traced_instead)
def _(name: str) -> nn.Module:
    if name in ("optional", "final", "export", "ignored"):  # those that tensors alone are given to
        return torch.jit.trace(BROKEN[name]().eval(), (torch.ones(2, WIDTH),), check_trace=False)
    return REPAIRED[name]()


@built.mistake(breaks=OWN["ignored"])
def notes_when_scripted():
    """The scripted module takes notes, too. Perhaps `notes` is a list of numbers by its annotation, so that the compiler
    takes what fills it: the notes are Python's, and a scripted module has none.
    """
    return but(ignored=NotesOfFloats)


@built.mistake(breaks=OWN["optional"])
def none_refused():
    """Without a mask it works, and with None it raises, also in Python. Perhaps an empty tensor stands for no mask:
    callers hand None on. `Optional[Tensor] = None` takes both.
    """
    return but(optional=MaskOfNothing)


@built.mistake(breaks=SAME)
def input_masked():
    """With a mask the result differs, and without one it is right. Perhaps the input is multiplied by the mask: the broken
    one multiplies what comes out of the layer.
    """
    return but(optional=InputMasked)


@built.mistake(breaks=SAME)
def step_not_used():
    """For a step of 1 all is right, and for a larger one the result has a different shape. Perhaps `step` is not used:
    `range(0, x.shape[0], step)`.
    """
    return but(list=EveryRow)


@built.mistake(breaks=SAME)
def rows_not_stacked():
    """No tensor comes back for "list". Perhaps the rows come in a list: torch.stack makes one tensor of them."""
    return but(list=RowsUnstacked)


@built.mistake(breaks=SAME)
def relu_lost():
    """For "final" the result differs. Perhaps relu went with the branch that was taken out: it comes after both."""
    return but(final=OnlyLinear)


@built.mistake(breaks=SCRIPTED)
def scale_of_int():
    """Scripted, `encode` refuses the type of its arguments, which Python takes. Perhaps `scale` is annotated as an int:
    in Python an annotation changes nothing, and the compiler keeps to it. It is a float.
    """
    return but(export=ScaleOfInt)
