"""Right answers to 09.nest, in different shapes."""

import torch
from torch import Tensor, nn

from helpers.labs import torchscript as lab
from helpers.labs.torchscript.shared.quiet import quiet


class Loop(nn.Module):
    """As in the notebook."""

    def __init__(self, cell: nn.Module) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys = []
        for place in range(xs.shape[0]):
            y, h = self.cell(xs[place], h)
            ys.append(y)
        return torch.stack(ys), h


def inside_out(kind: str) -> torch.jit.ScriptModule:
    """As in the notebook."""
    with quiet():
        gate = torch.jit.script(lab.Gate())
        cell = torch.jit.trace(lab.Cell(gate), (torch.randn(4, lab.INPUTS), torch.randn(4, lab.HIDDEN)))
        loop = torch.jit.script(Loop(cell))
        if kind == "trace_in_script":
            return loop
        return torch.jit.trace(lab.Readout(loop), (torch.randn(2, 4, lab.INPUTS), torch.randn(4, lab.HIDDEN)))


class Filled(nn.Module):
    """Fills a tensor, goes through xs by a while loop, traces and scripts its own parts."""

    def __init__(self) -> None:
        super().__init__()
        example = torch.ones(1, lab.INPUTS), torch.zeros(1, lab.HIDDEN)
        self.step = torch.jit.trace(lab.Cell(torch.jit.script(lab.Gate())), example, check_trace=False)

    def forward(self, xs: Tensor, h: Tensor):
        ys = torch.zeros(xs.size(0), xs.size(1), h.size(1))
        at = 0
        while at < len(xs):
            out = self.step(xs[at], h)
            ys[at] = out[0]
            h = out[1]
            at += 1
        return ys, h


def in_one_class(kind: str) -> torch.jit.ScriptModule:
    """One class that makes its own parts."""
    scripted = torch.jit.script(Filled())
    example = torch.ones(3, 1, lab.INPUTS), torch.zeros(1, lab.HIDDEN)
    return {
        "trace_in_script": lambda: scripted,
        "script_in_trace": lambda: torch.jit.trace_module(lab.Readout(scripted), {"forward": example}),
    }[kind]()


class OverRows(nn.Module):
    """`for x in xs`, and a cell in a wrapper of its own."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = nn.ModuleDict({"recurrent": inner})

    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys: list[Tensor] = []
        for x in xs:
            y, h = self.inner["recurrent"](x, h)
            ys += [y[None]]
        return torch.cat(ys), h


def optimised(kind: str) -> torch.jit.ScriptModule:
    """Longer examples, positive ones."""
    example = torch.rand(6, 5, lab.INPUTS), torch.rand(5, lab.HIDDEN)
    cell = torch.jit.trace(lab.Cell(gate=torch.jit.script(lab.Gate())), (example[0][0], example[1]))
    model = torch.jit.script(OverRows(cell))
    return model if kind != "script_in_trace" else torch.jit.trace(lab.Readout(model), example_inputs=example)


RIGHT = [inside_out, in_one_class, optimised]
