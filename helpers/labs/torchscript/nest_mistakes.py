"""What people write for 09.nest.

Without `from __future__ import annotations`: the compiler reads the annotations of these classes as objects.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from helpers.labs.torchscript.nest import nest
from helpers.labs.torchscript.nest_parts import HIDDEN, INPUTS, Cell, Gate, Readout

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


@nest.wrong_answer(
    "everything_traced",
    why="Traced as a whole, the loop is unrolled to the length of the example, and the gate goes the example's way for "
    "ever.",
    seen="unrolled to the length of the example",
)
def _(kind: str) -> torch.jit.ScriptModule:
    model = Loop(Cell(Gate()))
    return trace(model if kind == "trace_in_script" else Readout(model), SEQUENCE)


class LoopOverUnbound(Loop):
    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys = []
        for x in xs.unbind(0):
            y, h = self.cell(x, h)
            ys.append(y)
        return torch.stack(ys), h


@nest.another_form("everything_traced")
def _(kind: str) -> torch.jit.ScriptModule:
    model = LoopOverUnbound(Cell(Gate()))
    return trace(model if kind == "trace_in_script" else Readout(model), SEQUENCE)


@nest.wrong_answer(
    "everything_scripted",
    why="The compiler reads all of the code, and the Cell holds Python that it refuses. A trace only watches what runs: "
    "the cell has to be traced.",
    seen="A trace only watches what runs",
)
def _(kind: str) -> torch.jit.ScriptModule:
    model = Loop(Cell(Gate()))
    return torch.jit.script(model if kind == "trace_in_script" else Readout(model))


@nest.another_form("everything_scripted")
def _(kind: str) -> torch.jit.ScriptModule:
    model = torch.jit.script(Loop(torch.jit.script(Cell(torch.jit.script(Gate())))))
    return model if kind == "trace_in_script" else trace(Readout(model), SEQUENCE)


@nest.wrong_answer(
    "readout_scripted",
    why="The loop is right. The Readout around it looks its activation up by name, and the compiler wants to know it "
    "beforehand: this part has to be traced.",
    seen="looks its activation up by name",
)
def _(kind: str) -> torch.jit.ScriptModule:
    loop = torch.jit.script(Loop(scripted_cell()))
    return loop if kind == "trace_in_script" else torch.jit.script(Readout(loop))


@nest.wrong_answer(
    "loop_traced",
    why="The gate was scripted and its branch survives. The loop was traced, so it has as many steps as the example.",
    seen="The loop was traced, so it has as many steps",
)
def _(kind: str) -> torch.jit.ScriptModule:
    model = Loop(Cell(torch.jit.script(Gate())))
    return trace(model if kind == "trace_in_script" else Readout(model), SEQUENCE)


nest.wrong_answer(
    "gate_traced",
    why="The cell was traced with a gate of Python in it: the loop survives, and the branch is the one that the example "
    "took. Script the gate before the cell is traced.",
    seen="Script the gate before the cell is traced",
    answer=around(lambda: torch.jit.script(Loop(trace(Cell(Gate()), STEP)))),
)
nest.another_form("gate_traced")(
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


def scripted(kind: type[Loop]) -> Callable[[str], torch.jit.ScriptModule]:
    """The right answer with another class of loop."""
    return around(lambda: torch.jit.script(kind(scripted_cell())))


nest.wrong_answer(
    "second_output_dropped",
    why="`y, _ = self.cell(...)` drops the second result of the traced cell: each step starts from the first h again. "
    "For one step nobody sees it.",
    seen="drops the second result",
    answer=scripted(CarryDropped),
)
nest.wrong_answer(
    "state_not_handed_on",
    why="The new h is kept for the end, and not given to the next step: each step begins with the h of the start.",
    seen="not given to the next step",
    answer=scripted(LastCarry),
)
nest.wrong_answer(
    "output_carried_on",
    why="What goes to the next step is h, the second result. Here y goes, which is another tensor.",
    seen="Here y goes",
    answer=scripted(OutputCarried),
)
nest.wrong_answer(
    "results_swapped",
    why="The cell gives (y, h), in this order; a trace holds no names that could tell.",
    seen="a trace holds no names",
    answer=scripted(Swapped),
)


nest.wrong_answer(
    "last_step_only",
    why="The loop gives the y of the last step. All of them were wanted, stacked along a new first dimension.",
    seen="The loop gives the y of the last step",
    answer=scripted(LastOnly),
)
nest.wrong_answer(
    "stacked_at_one",
    why="torch.stack(ys, 1) puts the steps after the batch: xs came with the length first, and so goes ys.",
    seen="puts the steps after the batch",
    answer=scripted(BatchFirst),
)


@nest.wrong_answer(
    "final_state_lost",
    why="The loop gives ys alone. The last h was to come with it: without it nobody can go on from there.",
    seen="without it nobody can go on",
)
def _(kind: str) -> torch.jit.ScriptModule:
    if kind == "trace_in_script":
        return torch.jit.script(OneTensor(scripted_cell()))
    return trace(Readout(torch.jit.script(Loop(scripted_cell()))), SEQUENCE)
