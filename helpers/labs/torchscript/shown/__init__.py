"""What the notebook of lab 09 shows and uses, beside its exercises."""

from helpers.labs.torchscript.shared.elsewhere import elsewhere
from helpers.labs.torchscript.shared.quiet import quiet
from helpers.labs.torchscript.shown import in_cpp
from helpers.labs.torchscript.shown.broken import BROKEN
from helpers.labs.torchscript.shown.cases import CASES, Case, case
from helpers.labs.torchscript.shown.export_models import Averaged, Branching, Squared, SquareFunction
from helpers.labs.torchscript.shown.programs import random_graph
from helpers.labs.torchscript.shown.recurrent import HIDDEN, INPUTS, Cell, Gate, Readout

__all__ = [
    "Averaged",
    "BROKEN",
    "Branching",
    "CASES",
    "Case",
    "Cell",
    "Gate",
    "HIDDEN",
    "INPUTS",
    "Readout",
    "SquareFunction",
    "Squared",
    "case",
    "elsewhere",
    "in_cpp",
    "quiet",
    "random_graph",
]
