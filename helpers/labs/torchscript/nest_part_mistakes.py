"""What people write for 09.nest: parts at the wrong place, parts that are no submodules, parts made of something else.

Without `from __future__ import annotations`: the compiler reads the annotations of these classes as objects.
"""

import torch
from torch import Tensor, nn

from helpers.exercise import returned
from helpers.labs.torchscript.nest import nest
from helpers.labs.torchscript.nest_mistakes import SEQUENCE, Loop, around, scripted_cell, trace
from helpers.labs.torchscript.nest_parts import HIDDEN, INPUTS, Gate, Readout

built = nest.bank(returned)


@nest.mistake()
def same_for_both(kind: str) -> torch.jit.ScriptModule:
    """The scripted loop was returned for both kinds. In the second a traced Readout stands around it."""
    return torch.jit.script(Loop(scripted_cell()))


class Scripted(nn.Module):
    """The cell, written so that the compiler takes it."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = Gate()
        self.layers = nn.ModuleList([nn.Linear(INPUTS, HIDDEN), nn.Linear(HIDDEN, HIDDEN)])

    def forward(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        h = torch.tanh(self.gate(self.layers[0](x) + self.layers[1](h)))
        return h * h, h


@built.mistake()
def cell_rewritten():
    """The cell was written anew so that the compiler takes it: right, where the code is yours. Here a part of
    somebody else's goes in as it is, and only a trace takes it.
    """
    return around(lambda: torch.jit.script(Loop(Scripted())))


class Hidden(Readout):
    """Keeps the loop where no module looks."""

    def __init__(self, loop: nn.Module) -> None:
        nn.Module.__init__(self)
        self.activation = "sin"
        self.kept = [loop]

    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys, h = self.kept[0](xs, h)
        return torch.sin(ys), h


class HiddenStep(nn.Module):
    """Calls the traced cell through Python."""

    def __init__(self, cell: nn.Module) -> None:
        super().__init__()
        self.cells = (cell,)

    @torch.jit.ignore
    def step(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        return self.cells[0](x, h)

    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys = []
        for place in range(xs.shape[0]):
            y, h = self.step(xs[place], h)
            ys.append(y)
        return torch.stack(ys), h


@built.mistake()
def called_through_a_python_attribute():
    """A part that stands in a list or a tuple is no submodule. A script can reach it only by a call of
    Python, its weights are in no state_dict, and a trace refuses it: not part of the active trace.
    """
    return around(lambda: torch.jit.script(HiddenStep(scripted_cell())))


@nest.variant(called_through_a_python_attribute)
def _(kind: str) -> torch.jit.ScriptModule:
    loop = torch.jit.script(Loop(scripted_cell()))
    return loop if kind == "trace_in_script" else trace(Hidden(loop), SEQUENCE)


@nest.mistake()
def python_returned(kind: str) -> nn.Module:
    """The parts are a trace and a script, and the whole is still a module of Python: it cannot be saved. The
    outermost part has to be scripted or traced, too.
    """
    loop = Loop(scripted_cell())
    return loop if kind == "trace_in_script" else Readout(torch.jit.script(loop))


@nest.mistake()
def frozen(kind: str) -> torch.jit.ScriptModule:
    """torch.jit.freeze makes constants of the weights: a graph for one set of them, with no parameter left to
    load.
    """
    loop = torch.jit.script(Loop(scripted_cell()))
    return torch.jit.freeze((loop if kind == "trace_in_script" else trace(Readout(loop), SEQUENCE)).eval())


@nest.mistake()
def readout_forgotten(kind: str) -> torch.jit.ScriptModule:
    """The loop was traced without lab.Readout around it: the activation is missing."""
    loop = torch.jit.script(Loop(scripted_cell()))

    class Through(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.loop = loop

        def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
            return self.loop(xs, h)

    return loop if kind == "trace_in_script" else trace(Through(), SEQUENCE)
