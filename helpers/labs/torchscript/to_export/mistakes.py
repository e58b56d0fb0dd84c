"""What people write for 09.to_export, and why it is wrong."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from helpers.check.spec import returned
from helpers.labs.torchscript.shown.export_models import Averaged, Branching, Squared
from helpers.labs.torchscript.to_export.exercise import (
    COND,
    GRADIENTS,
    KEEPS,
    LEFT,
    OPCHECK,
    OPERATOR,
    RANGES,
    SAME,
    to_export,
)
from helpers.labs.torchscript.to_export.other_choices import (
    AboveOne,
    AtZero,
    ByFirstRow,
    ByItem,
    ByMask,
    ByWhere,
    LowerPlain,
    OfAnotherShape,
    OneDetached,
    RowByRow,
    Swapped,
    Taken,
)
from helpers.labs.torchscript.to_export.right import (
    REPAIRS,
    Average,
    Choice,
    Square,
    but,
    exported,
    operator,
    right,
    right_sizes,
    square,
)

built = to_export.bank(returned)

Example = tuple[Tensor, ...]


def as_it_is(module: nn.Module) -> nn.Module:
    return module


@to_export.mistake(breaks=SAME)
def no_dynamic_shapes(module: nn.Module, example: Example, dynamic: tuple[int, ...]) -> ExportedProgram:
    """The program takes the sizes of its example only, batch and length. Perhaps dynamic_shapes is missing: without it
    every size of the example is a constant, and only what is declared may change.
    """
    return exported(module, example, dynamic, sizes=lambda module, dynamic: None)


@to_export.variant(no_dynamic_shapes)
def _(module: nn.Module, example: Example, dynamic: tuple[int, ...]) -> ExportedProgram:
    return torch.export.export(module, example)


@built.mistake(breaks=SAME)
def batch_fixed():
    """The program takes the batch of its example only. Perhaps Dim.AUTO let the code decide, which makes a number of it
    by len(x), silently; or the batch was declared as that number, as the error suggests. The code is to be mended, not
    the Dim.
    """
    return but(Averaged, repair=as_it_is, sizes=lambda module, dynamic: (dict.fromkeys(dynamic, Dim.AUTO),))


to_export.variant(batch_fixed)(
    but(nn.Module, repair=as_it_is, sizes=lambda module, dynamic: (dict.fromkeys(dynamic, Dim.AUTO),))
)


to_export.variant(batch_fixed)(
    but(
        Averaged,
        repair=as_it_is,
        sizes=lambda module, dynamic: ({0: None, 1: Dim("length", max=len(module.table))},),
    )
)


@built.mistake(breaks=KEEPS)
def code_left_as_it_is():
    """torch.export refuses: a size that was declared as free is a number in the code. Perhaps by len(x), or by a loop over
    the rows: a number of Python is no symbol. x.shape[0] stays one.
    """
    return but(Averaged, repair=as_it_is)


class LoopOverRows(Average):
    def forward(self, x: Tensor) -> Tensor:
        total = torch.zeros_like(x[0])
        for row in x:
            total = total + row + self.table[: x.shape[1]]
        return total / x.shape[0]


to_export.variant(code_left_as_it_is)(but(Averaged, repair=LoopOverRows))
to_export.variant(code_left_as_it_is)(but(nn.Module, repair=as_it_is))


@built.mistake(breaks=RANGES)
def no_end_of_the_table():
    """torch.export refuses: the Dim allows sizes that the code cannot take. Perhaps the length has no end: slicing a table
    of eight rows gives eight at most, and longer inputs do not fit. max=len(module.table) tells the range.
    """
    return but(Averaged, sizes=lambda module, dynamic: ({dim: Dim(f"size{dim}") for dim in dynamic},))


@built.mistake(breaks=SAME)
def length_fixed():
    """The program takes the length of its example only. Perhaps only the batch was declared: `dynamic` names the second
    dimension, too.
    """
    return but(Averaged, sizes=lambda module, dynamic: ({0: Dim("batch")},))


@to_export.mistake(breaks=SAME)
def table_too_short(module: nn.Module, example: Example, dynamic: tuple[int, ...]) -> ExportedProgram:
    """The range of the length ends before the table does, so that lengths are refused that the module takes. The end is
    len(module.table).
    """
    if not isinstance(module, Averaged):
        return right(module, example, dynamic)
    sizes = {0: Dim("batch"), 1: Dim("length", max=len(module.table) - 1)}
    return exported(module, example, dynamic, sizes=lambda *_: (sizes,))


@to_export.mistake(breaks=RANGES)
def end_of_the_batch_invented(
    module: nn.Module, example: Example, dynamic: tuple[int, ...]
) -> ExportedProgram:
    """The range of the batch has an end, which neither the module nor the task has."""

    def sizes(module: nn.Module, dynamic: tuple[int, ...]) -> Any:
        return ({**right_sizes(module, dynamic)[0], 0: Dim("batch", max=1024)},)

    return exported(module, example, dynamic, sizes=sizes)


class SizeOfExample(Average):
    """The batch of the example, written into the module."""

    def __init__(self, given: nn.Module, batch: int) -> None:
        super().__init__(given)
        self.batch = batch

    def forward(self, x: Tensor) -> Tensor:
        return (x + self.table[: x.shape[1]]).sum(0) / self.batch


@to_export.mistake(breaks=SAME)
def batch_hard_wired(module: nn.Module, example: Example, dynamic: tuple[int, ...]) -> ExportedProgram:
    """Every size is accepted, and the sum is divided by the batch of the example. Perhaps it was written into the module.
    That is what the trace did.
    """
    if not isinstance(module, Averaged):
        return right(module, example, dynamic)
    batch = len(example[0])
    return exported(module, example, dynamic, repair=lambda given: SizeOfExample(given, batch))


@built.mistake(breaks=SAME)
def begin_of_the_batch_invented():
    """A batch of 2 is refused by a guard on the size, and larger ones are taken. Perhaps the Dim has a min, as the size
    of the example: the range begins at 2 by itself.
    """
    return but(
        Averaged,
        sizes=lambda module, dynamic: ({**right_sizes(module, dynamic)[0], 0: Dim("batch", min=3)},),
    )


class Summed(Average):
    def forward(self, x: Tensor) -> Tensor:
        return (x + self.table[: x.shape[1]]).sum(0)


@built.mistake(breaks=SAME)
def sum_for_mean():
    """Averaged gives the sum over the batch. Perhaps the division went with len(x): divide by x.shape[0], or take mean(0)."""
    return but(Averaged, repair=Summed)


@built.mistake(breaks=KEEPS)
def if_left():
    """torch.export refuses: the code asks for a value, and while it is exported x holds none. Perhaps an `if` or an
    .item() is left. torch.cond takes both branches into the graph and lets the data decide when it runs.
    """
    return but(Branching, repair=as_it_is)


to_export.variant(if_left)(but(Branching, repair=ByItem))
to_export.variant(if_left)(but((Branching, Squared), repair=as_it_is))


@built.mistake(breaks=COND)
def both_branches_computed():
    """There is no torch.cond in the graph. Perhaps torch.where or a mask chooses: right in value, and both branches
    are computed each time. torch.cond runs one; here the branch was the point.
    """
    return but(Branching, repair=ByWhere)


to_export.variant(both_branches_computed)(but(Branching, repair=ByMask))


@built.mistake(breaks=SAME)
def branches_swapped():
    """The other branch is taken, whatever the sum is. Perhaps the two were exchanged: torch.cond takes the one for True
    first.
    """
    return but(Branching, repair=Swapped)


@built.mistake(breaks=SAME)
def lower_branch_changed():
    """Where the sum is above 0 the result is right, and else it is neither branch's. Perhaps the tanh behind `down` is
    left out.
    """
    return but(Branching, repair=LowerPlain)


@built.mistake(breaks=SAME)
def branches_of_different_shapes():
    """torch.export refuses: the two branches of torch.cond give results that do not fit together. They must be of one
    shape and one dtype, since what comes after them is one graph.
    """
    return but(Branching, repair=OfAnotherShape)


@built.mistake(breaks=SAME)
def branch_at_zero():
    """Where the sum of x is exactly 0, and only there, the other branch is taken. The module asks `> 0`, and not `>= 0`."""
    return but(Branching, repair=AtZero)


@built.mistake(breaks=SAME)
def branch_above_zero():
    """Where the sum of x is a little above 0, and only there, the other branch is taken. Perhaps a number other than 0 is
    asked about: the module asks `> 0`.
    """
    return but(Branching, repair=AboveOne)


@built.mistake(breaks=SAME)
def row_by_row():
    """The result is wrong, whatever the sum of x is, and it is not the other branch either. Perhaps `up` and `down` are
    new layers without the module's weights, or each row was asked about by itself: the module asks once, about all of x.
    """
    return but(Branching, repair=RowByRow)


@to_export.mistake(breaks=SAME)
def branch_of_the_example(module: nn.Module, example: Example, dynamic: tuple[int, ...]) -> ExportedProgram:
    """For every x that was tried the same branch is taken, whatever its sum is. Perhaps it was chosen in Python, when the
    example was there, and only that one was exported; or the question has one answer for nearly every x.
    """
    if not isinstance(module, Branching):
        return right(module, example, dynamic)
    is_up = bool(example[0].sum() > 0)
    return exported(module, example, dynamic, repair=lambda given: Taken(given, is_up))


@built.mistake(breaks=SAME)
def first_row_asked():
    """The other branch is taken for some x, and not for others whose sum has the same sign. Perhaps what is asked about is
    not the sum of all of x, but that of its first row or entry.
    """
    return but(Branching, repair=ByFirstRow)


@to_export.mistake(breaks=LEFT)
def forward_patched(module: nn.Module, example: Example, dynamic: tuple[int, ...]) -> ExportedProgram:
    """The module that was given has a different attribute afterwards. Perhaps its forward was replaced. It is somebody
    else's: write a module of your own around its parameters.
    """
    if isinstance(module, Averaged):
        module.forward = types.MethodType(lambda self, x: (x + self.table[: x.shape[1]]).mean(0), module)
        return exported(module, example, dynamic, repair=as_it_is)
    return right(module, example, dynamic)


@to_export.variant(forward_patched)
def _(module: nn.Module, example: Example, dynamic: tuple[int, ...]) -> ExportedProgram:
    if isinstance(module, Branching):
        module.forward = Choice(module).forward
        return exported(module, example, dynamic, repair=as_it_is)
    return right(module, example, dynamic)


@to_export.variant(forward_patched)
def _(module: nn.Module, example: Example, dynamic: tuple[int, ...]) -> ExportedProgram:
    module.forward = REPAIRS[type(module)](module).forward
    return exported(module, example, dynamic, repair=as_it_is)


@to_export.mistake(breaks=KEEPS)
def module_of_the_program(module: nn.Module, example: Example, dynamic: tuple[int, ...]) -> Any:
    """A GraphModule was returned. Perhaps by program.module(), which can be called. What is asked for is the program itself,
    which knows ranges and can be saved.
    """
    return right(module, example, dynamic).module()


@to_export.mistake(breaks=KEEPS)
def traced(module: nn.Module, example: Example, dynamic: tuple[int, ...]) -> Any:
    """A trace was returned. torch.jit.trace is the old way: it has one branch and no ranges."""
    return torch.jit.trace(module, example, check_trace=False)


# The operator, its fake kernel, its gradient, the parameters.


class Made:
    """Makes an operator when it is first needed, once a process."""

    known: dict[str, Any] = {}

    def __init__(self, name: str, **parts: Any) -> None:
        self.name, self.parts = name, parts

    def __call__(self) -> Any:
        if self.name not in Made.known:
            Made.known[self.name] = operator(self.name, **self.parts)
        return Made.known[self.name]


def with_operator(name: str, **parts: Any) -> Callable[..., Any]:
    """The right answer with another operator."""
    made = Made(name, **parts)
    return but(Squared, repair=lambda given: Square(given, made))


@built.mistake(breaks=OPERATOR)
def function_left():
    """There is no operator of your own in the graph. Perhaps the Function was left: torch.export goes through it, and its
    backward is gone; or x * x is written out. For a square that is no harm, for a straight-through estimator it is.
    """
    return but(Squared, repair=as_it_is)


class Plainly(Square):
    def __init__(self, given: nn.Module) -> None:
        super().__init__(given, lambda: square)


class Detached(nn.Module):
    """Weights as constants."""

    def __init__(self, given: nn.Module) -> None:
        super().__init__()
        self.inner = Choice(given)
        for part in (self.inner.up, self.inner.down):
            part.requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


class Copied(nn.Module):
    """Weights copied into buffers."""

    def __init__(self, given: nn.Module) -> None:
        super().__init__()
        for name, value in given.named_parameters():
            self.register_buffer(name.replace(".", "_"), value.detach().clone())

    def forward(self, x: Tensor) -> Tensor:
        def up(x: Tensor) -> Tensor:
            return nn.functional.linear(x, self.up_weight, self.up_bias)

        def down(x: Tensor) -> Tensor:
            return torch.tanh(nn.functional.linear(x, self.down_weight, self.down_bias))

        return torch.cond(x.sum() > 0, up, down, (x,))


class Beside(Square):
    """The operator runs, and its result is not used."""

    def forward(self, x: Tensor) -> Tensor:
        y = self.fc(x)
        self.op(y)
        return y * y


to_export.variant(function_left)(but(Squared, repair=Plainly))


@built.mistake(breaks=OPERATOR)
def operator_beside():
    """An operator of your own stands in the graph, and the result does not depend on it. It is to compute the square:
    only so does its backward count.
    """
    return but(Squared, repair=Beside)


@built.mistake(breaks=OPCHECK)
def no_fake_kernel():
    """The operator has no fake kernel. While it is exported there are no values, so the kernel cannot run: register_fake
    says what shape and dtype the result would have.
    """
    return with_operator("no_fake", fake=None)


@built.mistake(breaks=OPCHECK)
def fake_of_the_examples_shape():
    """The fake kernel tells one shape, whatever it is given. Perhaps that of the example: the program was right for it,
    and the operator says the wrong shape for every other.
    """
    return with_operator("fake_of_one_shape", fake=lambda x: torch.empty(4, 2))


@built.mistake(breaks=OPCHECK)
def fake_turned():
    """The fake kernel tells a shape whose dimensions are exchanged. The result has the shape of the argument:
    torch.empty_like(x).
    """
    return with_operator("fake_turned", fake=lambda x: x.new_empty(x.shape[1], x.shape[0]))


@built.mistake(breaks=OPCHECK)
def fake_of_another_dtype():
    """The fake kernel tells a different dtype than the kernel gives. Perhaps float64 for float32: everything after it is
    planned for a tensor that does not come.
    """
    return with_operator("fake_double", fake=lambda x: torch.empty_like(x, dtype=torch.float64))


REAL = torch.zeros(4, 2)


@built.mistake(breaks=OPCHECK)
def fake_with_real_data():
    """The fake kernel is refused, and tells one shape, whatever it is given. Perhaps it returns a tensor that exists. It
    may return only what it makes anew from its argument: torch.empty_like(x) is one without data.
    """
    return with_operator("fake_with_data", fake=lambda x: REAL)


@built.mistake(breaks=OPCHECK)
def fake_reads_the_values():
    """While it is exported, something asks for values through numpy, and there are none. Perhaps the fake kernel runs the
    computation: it is asked for the form of the result only.
    """
    return with_operator("fake_reads", fake=lambda x: torch.tensor(x.detach().numpy() ** 2))


@built.mistake(breaks=OPCHECK)
def no_formula():
    """opcheck's test with gradients fails, and its test of the fake kernel does not. Perhaps there is no formula: a custom
    operator has no gradient until register_autograd gives it one, since to autograd its kernel is a black box.
    """
    return with_operator("no_autograd", backward=None)


@built.mistake(breaks=GRADIENTS)
def grad_out_ignored():
    """The gradients are what they would be if the gradient of the result were 1 everywhere. Perhaps backward returns the
    derivative alone, and not the derivative times the gradient that comes in.
    """
    return with_operator("grad_out_ignored", backward=lambda ctx, grad_out: 2 * ctx.saved_tensors[0])


@built.mistake(breaks=GRADIENTS)
def factor_of_two_lost():
    """The gradients are half of what they should be. Perhaps a 2 is lost: the derivative of x * x is 2 * x."""
    return with_operator("half", backward=lambda ctx, grad_out: ctx.saved_tensors[0] * grad_out)


def squared_in_place(x: Tensor) -> Tensor:
    return x.mul_(x)


@built.mistake(breaks=OPCHECK)
def returns_its_input():
    """torch refuses the operator's result: it must be new, and this one is an input or shares its memory. Perhaps the
    kernel squared x in place and returned x itself: then the caller's x is lost, too.
    """
    return with_operator("in_place", kernel=squared_in_place)


@built.mistake(breaks=GRADIENTS)
def weights_frozen():
    """The gradients of parameters are missing: the program gives the right values and cannot be trained further.
    Perhaps they are constants of it, or no longer require grad.
    """
    return but(Branching, repair=Copied)


@to_export.variant(weights_frozen)
def _(
    module: nn.Module, example: tuple[Tensor, ...], dynamic: tuple[int, ...]
) -> torch.export.ExportedProgram:
    frozen = copy.deepcopy(module).requires_grad_(False)
    return exported(frozen, example, dynamic)


class WithoutGraph(Average):
    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            return super().forward(x)


@built.mistake(breaks=GRADIENTS)
def no_graph():
    """The program's result for Averaged does not require grad, though the table does. Perhaps forward stands under
    torch.no_grad(), or the result is detached.
    """
    return but(Averaged, repair=WithoutGraph)


@built.mistake(breaks=GRADIENTS)
def branch_detached():
    """The gradients of the parameters of `up` are zero where it is taken, and its values are right. Perhaps they go into
    the branch detached.
    """
    return but(Branching, repair=OneDetached)


@built.mistake(breaks=GRADIENTS)
def another_derivative():
    """For Squared all gradients are wrong, and they are not the half. Perhaps backward multiplies by something other than
    2 * x, as the output, which setup_context kept in place of the input.
    """
    return with_operator(
        "output_kept", backward=lambda ctx, grad_out: 2 * ctx.saved_tensors[0] ** 2 * grad_out
    )


@built.mistake(breaks=OPCHECK)
def input_written():
    """opcheck's test of the schema fails: it says that there are no writes, and the argument is a different one after the
    call. Perhaps the kernel works in place, on a tensor that is the caller's.
    """
    return with_operator("input_written", kernel=lambda x: x.mul_(x).clone())


@to_export.mistake(breaks=LEFT)
def mode_changed(module: nn.Module, example: Example, dynamic: tuple[int, ...]) -> ExportedProgram:
    """The module that was given, or a part of it, is in a different mode afterwards: who trains it goes on in
    evaluation mode. Perhaps by eval(), which goes down into parts that are shared with it.
    """
    return right(module.eval(), example, dynamic)


@to_export.variant(mode_changed)
def _(module: nn.Module, example: Example, dynamic: tuple[int, ...]) -> ExportedProgram:
    if isinstance(module, Averaged):
        return right(module.eval(), example, dynamic)
    return exported(module, example, dynamic, repair=lambda given: REPAIRS[type(given)](given).eval())


@to_export.mistake(breaks=LEFT)
def gradients_switched_off(module: nn.Module, example: Example, dynamic: tuple[int, ...]) -> ExportedProgram:
    """The parameters of the module that was given no longer require grad: it cannot be trained further. Perhaps by
    requires_grad_(False) before the export.
    """
    return exported(module.requires_grad_(False), example, dynamic)
