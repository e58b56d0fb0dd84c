"""What people write for the steps of 09.nest's loop, and around it.

Without `from __future__ import annotations`: the compiler reads the annotations of these classes as objects."""

import torch
from torch import Tensor

from helpers.check.spec import returned
from helpers.labs.torchscript.nest.exercise import ANY, LEFT, LOOP, OUTER, nest
from helpers.labs.torchscript.nest.mistakes.parts import SEQUENCE, Loop, scripted, scripted_cell, trace
from helpers.labs.torchscript.shown.recurrent import Readout

built = nest.bank(returned)


class Backwards(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys = []
        for place in range(xs.shape[0] - 1, -1, -1):
            y, h = self.cell(xs[place], h)
            ys.append(y)
        return torch.stack(ys), h


class FirstRowTwice(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        y, h = self.cell(xs[0], h)
        ys = [y]
        for place in range(xs.shape[0] - 1):
            y, h = self.cell(xs[place], h)
            ys.append(y)
        return torch.stack(ys), h


class BatchOfOne(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        xs, h = xs[:, :1], h[:1]
        ys = []
        for place in range(xs.shape[0]):
            y, h = self.cell(xs[place], h)
            ys.append(y)
        return torch.stack(ys), h


class BatchOfTwo(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys = torch.zeros(xs.shape[0], 2, h.shape[1])
        for place in range(xs.shape[0]):
            y, h = self.cell(xs[place], h)
            ys[place] = y
        return ys, h


class OutputsDetached(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys = []
        for place in range(xs.shape[0]):
            y, h = self.cell(xs[place], h)
            ys.append(y.detach())
        return torch.stack(ys), h


@built.mistake(breaks=LOOP)
def runs_backwards():
    """The results are those of xs from its last row to its first. Perhaps the range counts down: the first row comes
    first.
    """
    return scripted(Backwards)


@built.mistake(breaks=LOOP)
def first_row_twice():
    """Row 0 of xs goes into the cell twice, and the last row never. Perhaps the first step stands in front of the loop,
    and the loop begins at 0 again.
    """
    return scripted(FirstRowTwice)


@built.mistake(breaks=ANY)
def batch_of_one():
    """ys holds one sequence, however many the batch has. Perhaps `[:1]` cut the batch, to fit an example of one."""
    return scripted(BatchOfOne)


@built.mistake(breaks=ANY)
def batch_of_two():
    """The model raises for some batches, and is not right for others. Perhaps the size of the batch stands in it as a number, in
    torch.zeros(length, 2, HIDDEN), say: h.shape[0] tells it.
    """
    return scripted(BatchOfTwo)


@built.mistake(breaks=LEFT)
def outputs_detached():
    """The values are right, and the gradient of h lacks a part. Perhaps ys is detached, or filled into a buffer by
    `.detach()` or `.data`: then only the last h hands gradients back. Or h is detached between the steps.
    """
    return scripted(OutputsDetached)


@nest.mistake(breaks=OUTER)
def readout_around_python(kind: str) -> torch.jit.ScriptModule:
    """ "trace_in_script" is right, and "script_in_trace" has the number of steps of its example: no loop is in its graph.
    Perhaps lab.Readout was traced around the loop of Python, and not around the scripted one.
    """
    loop = Loop(scripted_cell())
    return torch.jit.script(loop) if kind == "trace_in_script" else trace(Readout(loop), SEQUENCE)
