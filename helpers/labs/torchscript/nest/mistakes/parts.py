"""What people write for 09.nest, and why it is wrong.

Without `from __future__ import annotations`: the compiler reads the annotations of these classes as objects."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from helpers.check.spec import returned
from helpers.labs.torchscript.nest.exercise import (
    ANY,
    BOTH,
    HOLDS,
    INNER,
    LEFT,
    LOOP,
    MODEL,
    OUTER,
    PARAMETERS,
    RETURNS,
    nest,
)
from helpers.labs.torchscript.shown.recurrent import HIDDEN, INPUTS, Cell, Gate, Readout

built = nest.bank(returned)

STEP = torch.ones(2, INPUTS), torch.zeros(2, HIDDEN)
SEQUENCE = torch.ones(3, 2, INPUTS), torch.zeros(2, HIDDEN)


class Loop(nn.Module):
    """A right one."""

    def __init__(self, cell: nn.Module) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys = []
        for place in range(xs.shape[0]):
            y, h = self.cell(xs[place], h)
            ys.append(y)
        return torch.stack(ys), h


def trace(module: nn.Module, example: tuple) -> torch.jit.ScriptModule:
    return torch.jit.trace(module, example, check_trace=False)


def scripted_cell() -> torch.jit.ScriptModule:
    """A right cell: traced, with a scripted gate."""
    return trace(Cell(torch.jit.script(Gate())), STEP)


def around(loop: Callable[[], nn.Module]) -> Callable[[str], torch.jit.ScriptModule]:
    """The right answer with another loop."""

    def answer(kind: str) -> torch.jit.ScriptModule:
        inner = loop()
        return inner if kind == "trace_in_script" else trace(Readout(inner), SEQUENCE)

    return answer


@nest.mistake(breaks=ANY)
def everything_traced(kind: str) -> torch.jit.ScriptModule:
    """The number of steps is that of the example, and neither a loop nor a branch is in the graph. Perhaps the parts
    were traced as a whole, with nothing scripted in them.
    """
    model = Loop(Cell(Gate()))
    return trace(model if kind == "trace_in_script" else Readout(model), SEQUENCE)


class LoopOverUnbound(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys = []
        for x in xs.unbind(0):
            y, h = self.cell(x, h)
            ys.append(y)
        return torch.stack(ys), h


@nest.variant(everything_traced)
def _(kind: str) -> torch.jit.ScriptModule:
    model = LoopOverUnbound(Cell(Gate()))
    return trace(model if kind == "trace_in_script" else Readout(model), SEQUENCE)


@nest.mistake(breaks=MODEL)
def everything_scripted(kind: str) -> torch.jit.ScriptModule:
    """The compiler refuses lab.Cell, which holds Python that is not its. Perhaps the cell is scripted, or goes into a
    scripted loop as it is. A trace only watches what runs: the cell has to be traced.
    """
    model = Loop(Cell(Gate()))
    return torch.jit.script(model if kind == "trace_in_script" else Readout(model))


@nest.variant(everything_scripted)
def _(kind: str) -> torch.jit.ScriptModule:
    model = torch.jit.script(Loop(torch.jit.script(Cell(torch.jit.script(Gate())))))
    return model if kind == "trace_in_script" else trace(Readout(model), SEQUENCE)


@nest.mistake(breaks=OUTER)
def readout_scripted(kind: str) -> torch.jit.ScriptModule:
    """The compiler refuses an attribute that is looked up by name, as lab.Readout does with its activation: it wants to
    know it beforehand. This part has to be traced.
    """
    loop = torch.jit.script(Loop(scripted_cell()))
    return loop if kind == "trace_in_script" else torch.jit.script(Readout(loop))


@nest.mistake(breaks=ANY)
def loop_traced(kind: str) -> torch.jit.ScriptModule:
    """The number of steps is that of the example: a branch is in the graph, and no loop. Perhaps the gate was scripted,
    and the loop traced: it has to be scripted, too.
    """
    model = Loop(Cell(torch.jit.script(Gate())))
    return trace(model if kind == "trace_in_script" else Readout(model), SEQUENCE)


@built.mistake(breaks=BOTH)
def gate_traced():
    """The results are those of a gate that always goes one way. Perhaps the gate was traced, alone or
    as a part of the cell: the branch is then the one that the example took. Script it before the cell is traced.
    """
    return around(lambda: torch.jit.script(Loop(trace(Cell(Gate()), STEP))))


nest.variant(gate_traced)(
    around(lambda: torch.jit.script(Loop(trace(Cell(trace(Gate(), (STEP[1] + 1,))), STEP))))
)


class CarryDropped(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys = []
        for place in range(xs.shape[0]):
            y, _ = self.cell(xs[place], h)
            ys.append(y)
        return torch.stack(ys), h


class LastCarry(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys, last = [], h
        for place in range(xs.shape[0]):
            y, last = self.cell(xs[place], h)
            ys.append(y)
        return torch.stack(ys), last


class OutputCarried(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys = []
        for place in range(xs.shape[0]):
            h = self.cell(xs[place], h)[0]
            ys.append(h)
        return torch.stack(ys), h


class Swapped(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys = []
        for place in range(xs.shape[0]):
            h, y = self.cell(xs[place], h)
            ys.append(y)
        return torch.stack(ys), h


class LastOnly(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        y = h
        for place in range(xs.shape[0]):
            y, h = self.cell(xs[place], h)
        return y, h


class OneTensor(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> Tensor:
        ys = []
        for place in range(xs.shape[0]):
            y, h = self.cell(xs[place], h)
            ys.append(y)
        return torch.stack(ys)


class BatchFirst(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys = []
        for place in range(xs.shape[0]):
            y, h = self.cell(xs[place], h)
            ys.append(y)
        return torch.stack(ys, 1), h


class Joined(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys = []
        for place in range(xs.shape[0]):
            y, h = self.cell(xs[place], h)
            ys.append(y)
        return torch.cat(ys), h


class StartIgnored(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys = []
        state = torch.zeros_like(h)
        for place in range(xs.shape[0]):
            y, state = self.cell(xs[place], state)
            ys.append(y)
        return torch.stack(ys), state


class States(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys = []
        for place in range(xs.shape[0]):
            y, h = self.cell(xs[place], h)
            ys.append(h)
        return torch.stack(ys), h


class WithoutGradient(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            ys = []
            for place in range(xs.shape[0]):
                y, h = self.cell(xs[place], h)
                ys.append(y)
            return torch.stack(ys), h


class PairExchanged(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys = []
        for place in range(xs.shape[0]):
            y, h = self.cell(xs[place], h)
            ys.append(y)
        return h, torch.stack(ys)


class NotStacked(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> tuple[list[Tensor], Tensor]:
        ys = []
        for place in range(xs.shape[0]):
            y, h = self.cell(xs[place], h)
            ys.append(y)
        return ys, h


class OneStepLess(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        y, h = self.cell(xs[0], h)
        ys = [y]
        for place in range(1, xs.shape[0] - 1):
            y, h = self.cell(xs[place], h)
            ys.append(y)
        return torch.stack(ys), h


class FirstOutputMissing(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys = []
        for place in range(xs.shape[0]):
            y, h = self.cell(xs[place], h)
            ys.append(y)
        return torch.stack(ys[1:]), h


class FirstStateReturned(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys, start = [], h
        for place in range(xs.shape[0]):
            y, h = self.cell(xs[place], h)
            ys.append(y)
        return torch.stack(ys), start


class WhereGate(Gate):
    """Computes both ways and takes one."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.where(x.sum() > 0, x * self.scale, -x)


class Edited(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys = []
        for place in range(xs.shape[0]):
            y, new = self.cell(xs[place], h)
            h.copy_(new)
            ys.append(y)
        return torch.stack(ys), h


class Detached(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys = []
        for place in range(xs.shape[0]):
            y, h = self.cell(xs[place], h.detach())
            ys.append(y)
        return torch.stack(ys), h


def scripted(kind: type[Loop]) -> Callable[[str], torch.jit.ScriptModule]:
    """The right answer with another class of loop."""
    return around(lambda: torch.jit.script(kind(scripted_cell())))


@built.mistake(breaks=LOOP)
def second_output_dropped():
    """Each step starts from the first h again, and that h is returned. Perhaps `y, _ = self.cell(...)` drops the
    second result of the traced cell. For one step of ys nobody sees it.
    """
    return scripted(CarryDropped)


@built.mistake(breaks=LOOP)
def state_not_handed_on():
    """Each step begins with the h of the start, and the h that is returned is one step from there. Perhaps the new h
    is kept for the end, and not given to the next step.
    """
    return scripted(LastCarry)


@built.mistake(breaks=LOOP)
def output_carried_on():
    """y goes to the next step. It is h, the second result, that goes there."""
    return scripted(OutputCarried)


@built.mistake(breaks=LOOP)
def results_swapped():
    """y and h are exchanged: the cell gives (y, h), in this order. A trace holds no names that could tell."""
    return scripted(Swapped)


@built.mistake(breaks=LOOP)
def steps_miscounted():
    """The loop is in the graph, and the number of steps is not that of xs. Perhaps range begins or ends at the wrong
    place, or counts a dimension of xs that is not the first.
    """
    return scripted(OneStepLess)


@built.mistake(breaks=LOOP)
def outputs_left_out():
    """All steps run, since the last h is right, and ys does not hold each of them. Perhaps a part of ys is left out, as by
    `ys[1:]`.
    """
    return scripted(FirstOutputMissing)


@built.mistake(breaks=LOOP)
def first_state_returned():
    """ys is right, and the h beside it is not the last one. Perhaps it is that of the start, or that of the step before."""
    return scripted(FirstStateReturned)


@built.mistake(breaks=HOLDS)
def gate_without_branch():
    """The results are right for all data, and no branch is in the graph. Perhaps the gate was written anew with
    torch.where, which computes both ways: lab.Gate goes in as it is.
    """
    return around(lambda: torch.jit.script(Loop(trace(Cell(torch.jit.script(WhereGate())), STEP))))


@built.mistake(breaks=LOOP)
def start_ignored():
    """The results are those of an h of zeros. Perhaps the loop begins with zeros of its own, and not with the h that it
    is given.
    """
    return scripted(StartIgnored)


@built.mistake(breaks=LOOP)
def states_stacked():
    """ys holds the h of each step. It is y, the first result of the cell, that is stacked."""
    return scripted(States)


@built.mistake(breaks=LEFT)
def no_gradient_at_all():
    """No gradient reaches anything, neither xs nor h nor a parameter: this model cannot be trained. Perhaps the loop
    runs under torch.no_grad().
    """
    return scripted(WithoutGradient)


@nest.mistake(breaks=LOOP)
def pair_exchanged(kind: str) -> torch.jit.ScriptModule:
    """The loop gives h first and the steps second. It is (ys, h) that is asked for."""
    if kind == "trace_in_script":
        return torch.jit.script(PairExchanged(scripted_cell()))
    return trace(Readout(torch.jit.script(Loop(scripted_cell()))), SEQUENCE)


@nest.mistake(breaks=LOOP)
def not_stacked(kind: str) -> torch.jit.ScriptModule:
    """ys or h is no tensor. Perhaps ys is the list of the steps: torch.stack makes one tensor of it."""
    if kind == "trace_in_script":
        return torch.jit.script(NotStacked(scripted_cell()))
    return trace(Readout(torch.jit.script(Loop(scripted_cell()))), SEQUENCE)


@nest.mistake(breaks=INNER)
def kinds_exchanged(kind: str) -> torch.jit.ScriptModule:
    """ "trace_in_script" gives ys with an activation, which only lab.Readout has. Perhaps the two kinds were exchanged, or
    both have it.
    """
    loop = torch.jit.script(Loop(scripted_cell()))
    return loop if kind == "script_in_trace" else trace(Readout(loop), SEQUENCE)


@built.mistake(breaks=LOOP)
def last_step_only():
    """ys has two dimensions and not three. Perhaps it is the y of the last step: all of them were wanted, stacked
    along a new first dimension.
    """
    return scripted(LastOnly)


@built.mistake(breaks=LOOP)
def joined_along_the_batch():
    """ys has two dimensions, and as many rows as all steps together. Perhaps by torch.cat: it joins along the
    batch, and torch.stack makes a new first dimension.
    """
    return scripted(Joined)


@built.mistake(breaks=LEFT)
def state_edited_in_place():
    """The caller's h is a different one afterwards: the next sequence does not start where it should. Perhaps h is
    written into the argument, at each step or at the end.
    """
    return scripted(Edited)


@built.mistake(breaks=LEFT)
def state_detached():
    """No gradient reaches the h of the start. Perhaps h is detached on its way from step to step: the values are
    right, and what is learnt stops at one step.
    """
    return scripted(Detached)


@built.mistake(breaks=LOOP)
def stacked_at_one():
    """In ys the batch comes first and the steps after it. Perhaps by torch.stack(ys, 1): xs came with the length first,
    and so goes ys.
    """
    return scripted(BatchFirst)


@nest.mistake(breaks=LOOP)
def final_state_lost(kind: str) -> torch.jit.ScriptModule:
    """The loop does not give the pair (ys, h). Perhaps ys alone: without the last h nobody can go on from there."""
    if kind == "trace_in_script":
        return torch.jit.script(OneTensor(scripted_cell()))
    return trace(Readout(torch.jit.script(Loop(scripted_cell()))), SEQUENCE)


# Parts at the wrong place, parts that are no submodules, parts made of something else.


class Scripted(nn.Module):
    """The cell, written so that the compiler takes it."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = Gate()
        self.layers = nn.ModuleList([nn.Linear(INPUTS, HIDDEN), nn.Linear(HIDDEN, HIDDEN)])

    def forward(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        h = torch.tanh(self.gate(self.layers[0](x) + self.layers[1](h)))
        return h * h, h


@built.mistake(breaks=INNER)
def cell_rewritten():
    """torch.jit.trace is not called for "trace_in_script". Perhaps the cell was written anew so that the compiler takes
    it: right, where the code is yours. Here a part of somebody else's goes in as it is, and only a trace takes it.
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


@built.mistake(breaks=PARAMETERS)
def called_through_a_python_attribute():
    """A part is no submodule: script reaches it only by a call of Python, its weights are in no state_dict, and a trace
    refuses it. Perhaps it stands in a list, a tuple or a closure.
    """
    return around(lambda: torch.jit.script(HiddenStep(scripted_cell())))


@nest.variant(called_through_a_python_attribute)
def _(kind: str) -> torch.jit.ScriptModule:
    loop = torch.jit.script(Loop(scripted_cell()))
    return loop if kind == "trace_in_script" else trace(Hidden(loop), SEQUENCE)


@nest.mistake(breaks=RETURNS)
def python_returned(kind: str) -> nn.Module:
    """What is returned is a module of Python, whatever its parts are: it cannot be saved. The outermost part has to be
    scripted or traced, too.
    """
    loop = Loop(scripted_cell())
    return loop if kind == "trace_in_script" else Readout(torch.jit.script(loop))


@nest.mistake(breaks=PARAMETERS)
def frozen(kind: str) -> torch.jit.ScriptModule:
    """The model has no parameter left to load. Perhaps torch.jit.freeze made constants of the weights: a graph for one
    set of them.
    """
    loop = torch.jit.script(Loop(scripted_cell()))
    return torch.jit.freeze((loop if kind == "trace_in_script" else trace(Readout(loop), SEQUENCE)).eval())


@nest.mistake(breaks=OUTER)
def readout_forgotten(kind: str) -> torch.jit.ScriptModule:
    """ "script_in_trace" gives ys without the activation. Perhaps the loop itself was returned, or traced without
    lab.Readout around it.
    """
    loop = torch.jit.script(Loop(scripted_cell()))

    class Through(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.loop = loop

        def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
            return self.loop(xs, h)

    return loop if kind == "trace_in_script" else trace(Through(), SEQUENCE)


@nest.variant(readout_forgotten)
def _(kind: str) -> torch.jit.ScriptModule:
    return torch.jit.script(Loop(scripted_cell()))
