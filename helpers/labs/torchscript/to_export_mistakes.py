"""What people write for 09.to_export: sizes and branches."""

from __future__ import annotations

import types
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from helpers.exercise import returned
from helpers.labs.torchscript.export_models import Averaged, Branching, Squared
from helpers.labs.torchscript.export_repairs import (
    REPAIRS,
    Average,
    Choice,
    but,
    exported,
    right,
    right_sizes,
)
from helpers.labs.torchscript.to_export import to_export

built = to_export.bank(returned)

Example = tuple[Tensor, ...]


def as_it_is(module: nn.Module) -> nn.Module:
    return module


@to_export.mistake()
def no_dynamic_shapes(module: nn.Module, example: Example, dynamic: tuple[int, ...]) -> ExportedProgram:
    """Without dynamic_shapes every size of the example is a constant of the program. Only what is declared
    may change.
    """
    return exported(module, example, dynamic, sizes=lambda module, dynamic: None)


@to_export.variant(no_dynamic_shapes)
def _(module: nn.Module, example: Example, dynamic: tuple[int, ...]) -> ExportedProgram:
    return torch.export.export(module, example)


@built.mistake()
def auto_that_specialises():
    """Dim.AUTO lets the code decide, and raises nothing where it decides for a constant: len(x) made a number
    of the batch, silently. Dim and Dim.DYNAMIC would have told.
    """
    return but(Averaged, repair=as_it_is, sizes=lambda module, dynamic: (dict.fromkeys(dynamic, Dim.AUTO),))


to_export.variant(auto_that_specialises)(
    but(nn.Module, repair=as_it_is, sizes=lambda module, dynamic: (dict.fromkeys(dynamic, Dim.AUTO),))
)


@built.mistake()
def suggested_fix_taken():
    """The error suggests to declare the batch as the number that the code made of it. Then it exports, and
    takes that batch only. The code is to be mended, not the Dim.
    """
    return but(
        Averaged,
        repair=as_it_is,
        sizes=lambda module, dynamic: ({0: None, 1: Dim("length", max=len(module.table))},),
    )


@built.mistake()
def code_left_as_it_is():
    """len(x) gives Python a number, and a number is no symbol: the Dim asks for any batch, the code for this
    one. x.shape[0] stays a symbol.
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


@built.mistake()
def no_end_of_the_table():
    """Slicing a table of eight rows gives eight rows at most: longer inputs do not fit, and the Dim says that
    any length does. max=len(module.table) tells the range.
    """
    return but(Averaged, sizes=lambda module, dynamic: ({dim: Dim(f"size{dim}") for dim in dynamic},))


@built.mistake()
def length_fixed():
    """Only the batch was declared. `dynamic` names the second dimension, too: the length of the example
    became a constant.
    """
    return but(Averaged, sizes=lambda module, dynamic: ({0: Dim("batch")},))


@to_export.mistake()
def table_too_short(module: nn.Module, example: Example, dynamic: tuple[int, ...]) -> ExportedProgram:
    """The range ends before the table does, so that lengths are refused that the module takes. The end is
    len(module.table).
    """
    if not isinstance(module, Averaged):
        return right(module, example, dynamic)
    sizes = {0: Dim("batch"), 1: Dim("length", max=len(module.table) - 1)}
    return exported(module, example, dynamic, sizes=lambda *_: (sizes,))


@to_export.mistake()
def end_of_the_batch_invented(
    module: nn.Module, example: Example, dynamic: tuple[int, ...]
) -> ExportedProgram:
    """The batch was given an end, which neither the module nor the task has."""

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


@to_export.mistake()
def batch_hard_wired(module: nn.Module, example: Example, dynamic: tuple[int, ...]) -> ExportedProgram:
    """The batch of the example was written into the module: every size is accepted, and the sum is divided by
    the wrong number. That is what the trace did.
    """
    if not isinstance(module, Averaged):
        return right(module, example, dynamic)
    batch = len(example[0])
    return exported(module, example, dynamic, repair=lambda given: SizeOfExample(given, batch))


@built.mistake()
def if_left():
    """While it is exported, x holds no values, and `if` asks for one. torch.cond takes both branches into the
    graph and lets the data decide when it runs.
    """
    return but(Branching, repair=as_it_is)


class ByItem(Choice):
    def forward(self, x: Tensor) -> Tensor:
        return self.up(x) if x.sum().item() > 0 else self.lower(x)


class ByWhere(Choice):
    def forward(self, x: Tensor) -> Tensor:
        return torch.where(x.sum() > 0, self.up(x), self.lower(x))


class ByMask(Choice):
    def forward(self, x: Tensor) -> Tensor:
        is_up = (x.sum() > 0).to(x.dtype)
        return is_up * self.up(x) + (1 - is_up) * self.lower(x)


class Swapped(Choice):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, self.lower, self.up, (x,))


class OfAnotherShape(Choice):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, self.up, lambda x: self.lower(x).mean(0), (x,))


class RowByRow(Choice):
    def forward(self, x: Tensor) -> Tensor:
        return torch.where(x.sum(1, keepdim=True) > 0, self.up(x), self.lower(x))


class Taken(Choice):
    """The branch of the example."""

    def __init__(self, given: nn.Module, is_up: bool) -> None:
        super().__init__(given)
        self.is_up = is_up

    def forward(self, x: Tensor) -> Tensor:
        return self.up(x) if self.is_up else self.lower(x)


to_export.variant(if_left)(but(Branching, repair=ByItem))
to_export.variant(if_left)(but((Branching, Squared), repair=as_it_is))


@built.mistake()
def both_branches_computed():
    """torch.where is right in value and computes both branches each time. torch.cond runs one; here the
    branch was the point.
    """
    return but(Branching, repair=ByWhere)


to_export.variant(both_branches_computed)(but(Branching, repair=ByMask))


@built.mistake()
def branches_swapped():
    """torch.cond takes the branch for True first."""
    return but(Branching, repair=Swapped)


@built.mistake()
def branches_of_different_shapes():
    """The two branches of torch.cond must give results of one shape and one dtype: what comes after them is
    one graph.
    """
    return but(Branching, repair=OfAnotherShape)


@built.mistake()
def row_by_row():
    """The sum of each row was asked about. The module asks once, about the sum of all of x."""
    return but(Branching, repair=RowByRow)


@to_export.mistake()
def branch_of_the_example(module: nn.Module, example: Example, dynamic: tuple[int, ...]) -> ExportedProgram:
    """The branch was chosen in Python, when the example was there, and only that one was exported."""
    if not isinstance(module, Branching):
        return right(module, example, dynamic)
    is_up = bool(example[0].sum() > 0)
    return exported(module, example, dynamic, repair=lambda given: Taken(given, is_up))


@to_export.mistake()
def forward_patched(module: nn.Module, example: Example, dynamic: tuple[int, ...]) -> ExportedProgram:
    """forward was replaced on the module that was given. It is somebody else's, who now has another one:
    write a module of your own around its parameters.
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


@to_export.mistake()
def module_of_the_program(module: nn.Module, example: Example, dynamic: tuple[int, ...]) -> Any:
    """program.module() is what can be called. What is asked for is the program itself, which knows ranges and
    can be saved.
    """
    return right(module, example, dynamic).module()


@to_export.mistake()
def traced(module: nn.Module, example: Example, dynamic: tuple[int, ...]) -> Any:
    """torch.jit.trace is the old way: it has one branch, a batch of one size, and no ranges."""
    return torch.jit.trace(module, example, check_trace=False)
