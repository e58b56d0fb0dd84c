"""Asks an answer to 09.to_export for its program, and says in few words why torch.export refused."""

from __future__ import annotations

import contextlib
import functools
import io
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from helpers.check.trial import Mismatch, Trial
from helpers.labs.torchscript.shared.quiet import quiet
from helpers.labs.torchscript.shown.export_models import WIDTH, Averaged, Branching, Squared
from helpers.notebook.stubs import missing_exercise

Answer = Callable[[nn.Module, tuple[Tensor, ...], tuple[int, ...]], "torch.export.ExportedProgram"]

MODELS: dict[str, type[nn.Module]] = {"Averaged": Averaged, "Branching": Branching, "Squared": Squared}

# Words of the errors of torch.export, a name for what they mean, and what they mean.
REFUSALS = {
    "Could not guard on data-dependent": (
        "data-dependent",
        "the code asks for a value of a tensor (an `if`, float(), .item()), and while it is exported there is none",
    ),
    "Data-dependent branching": (
        "data-dependent",
        "the code asks for a value of a tensor (an `if`, float(), .item()), and while it is exported there is none",
    ),
    "your code specialized it": (
        "specialised",
        "the code turned a size into a number of Python (len(), int(), a loop), so that this dimension is no longer dynamic",
    ),
    "Not all values of": ("range", "the Dim allows sizes that the code cannot take; its range has to say so"),
    "merging two branches": (
        "branches differ",
        "the branches of torch.cond give results of different shapes or kinds",
    ),
    "aliasing": ("alias", "a branch of torch.cond returns its input itself"),
    ".numpy() is not supported": (
        "numpy",
        "something asks for the values through numpy (a fake kernel?), and while it is exported there are none",
    ),
    "no fake impl": ("no fake", "the operator has no fake kernel, so its result's shape is not known"),
    "no autograd formula": ("no formula", "the operator has no autograd formula"),
}


REGISTERED_HERE = (
    "The check runs your answer in another process, to which an operator of the notebook goes by its Python name only. "
    "Make it with torch.library.custom_op and call it as `square(x)`, not as torch.ops.NAME.square(x)"
)


class OutOfReach(MemoryError):
    """The check cannot run this answer where it is. A MemoryError, so that nobody takes the answer for wrong."""


@dataclass
class Program:
    """An answer's program for one model. module, x: what it was made of."""

    name: str
    module: nn.Module
    x: Tensor
    program: torch.export.ExportedProgram

    @functools.cached_property
    def model(self) -> nn.Module:
        """The program as something to call."""
        return self.program.module()

    def inputs(self) -> list[Tensor]:
        """x of other sizes, both signs of its sum, rows of both signs in each."""
        generator = torch.Generator().manual_seed(17)
        last = [(2, 8), (7, 2), (3, 5)] if self.name == "Averaged" else [(2,), (7,), (5,)]
        shapes = [(*sizes, WIDTH) for sizes in last]
        drawn = [torch.randn(shape, generator=generator) for shape in shapes]
        for x in drawn:
            x[0], x[1] = x[0].abs() + 1, -x[1].abs() - 1
        moved = [x - x.mean() + sign / 5 for x, sign in zip(drawn, (1, -1, -1), strict=True)]
        if self.name != "Branching":
            return moved
        moved[2][:2] = moved[2][:2].flip(0)  # its first row has the sign of its sum, that of moved[1] has not
        x = torch.ones(3, WIDTH)
        x[1] = -2  # 1, -2 and 1 again: the sum is exactly 0
        near = [x.clone(), x.clone()]  # and between 0 and 1, and -1 and 0
        near[0][0, 0] += 0.25
        near[1][0, 0] -= 0.25
        return [*moved, x, *near]


_programs: dict[
    tuple[int, str, int], tuple[Answer, Any]
] = {}  # the answer is kept, so that its id stays its own


def program_of(answer: Answer, name: str, trial: Trial) -> Program:
    """The answer's program for the model of this name: asked for once a run, since an export is slow."""
    generator = torch.Generator().manual_seed(trial.seed)
    module = MODELS[name]()
    with torch.no_grad():
        for value in module.parameters():
            value.copy_(torch.randn(value.shape, generator=generator))
    batch, length = (int(n) for n in torch.randint(3, 6, (2,), generator=generator))
    shape, dynamic = ((batch, length, WIDTH), (0, 1)) if name == "Averaged" else ((batch, WIDTH), (0,))
    x = torch.randn(shape, generator=generator)
    trial.given(f"to_export(lab.{name}(), (x,), dynamic={dynamic}), x of shape {shape}")
    key = id(answer), name, trial.seed
    if any(
        known[2] != trial.seed for known in _programs
    ):  # another draw: nothing of the old one is asked for again
        _programs.clear()
        _held.clear()
    if key not in _programs:
        _programs[key] = answer, _outcome(answer, module, x, dynamic, trial)
    program = _programs[key][1]
    if isinstance(program, Exception):
        raise program
    trial.true(
        isinstance(program, torch.export.ExportedProgram),
        f"Expected an ExportedProgram, got {type(program).__name__}.",
        expected="what torch.export.export returns",
        observed=("type", type(program).__name__),
    )
    return Program(name, module, x, program)


def _outcome(answer: Answer, module: nn.Module, x: Tensor, dynamic: tuple[int, ...], trial: Trial) -> Any:
    """The program, or the error: that, too, takes long to come again."""
    if (
        "torch._dynamo" in sys.modules
    ):  # torch.cond compiles: after some other models it takes sizes for constants
        torch._dynamo.reset()
    try:
        return _asked(answer, module, x, dynamic, trial)
    except Exception as error:
        return error


def _asked(answer: Answer, module: nn.Module, x: Tensor, dynamic: tuple[int, ...], trial: Trial) -> Any:
    before = state_of(module)
    try:
        with (
            quiet(),
            contextlib.redirect_stderr(io.StringIO()),
        ):  # torch prints the graph so far before it raises
            program = trial.call(answer, module, (x,), dynamic)
    except Exception as error:
        if missing_exercise(error):
            raise
        if isinstance(error, AttributeError) and "_OpNamespace" in str(error):
            error.args = (f"{error}. {REGISTERED_HERE}.",)
            raise
        tell_refusal(error, trial)
        raise
    after = state_of(module)
    changed = [what for what in before if before[what] != after[what]]
    trial.true(
        not changed,
        f"The module that was given was changed, and somebody else goes on using it: its {', '.join(changed)}.",
        expected="a module that is left as it is; what differs stands in a module of yours",
        observed=("module changed", changed, type(program).__name__),
    )
    return program


def state_of(module: nn.Module) -> dict[str, Any]:
    """What must stay of a module and its parts."""
    parts, parameters = dict(module.named_modules()), dict(module.named_parameters())
    return {
        "attributes": {name: (type(part), set(vars(part))) for name, part in parts.items()},
        "modes": {name: part.training for name, part in parts.items()},
        "parameters": {name: id(value) for name, value in parameters.items()},
        "requires_grad": {name: value.requires_grad for name, value in parameters.items()},
        "values": {name: value.tolist() for name, value in module.state_dict().items()},
    }


_held: dict[tuple[str, int], Mismatch | None] = {}


def held(check: Callable[[Program, Trial], None], one: Program, trial: Trial) -> None:
    """Runs a check on a program, once: many mistakes share the program of a part that is right."""
    key = f"{check.__name__} {one.name} {trial.seed}", id(one.program)
    if key not in _held:
        try:
            check(one, trial)
            _held[key] = None
        except Mismatch as wrong:
            _held[key] = wrong
    if found := _held[key]:
        raise found


def tell_refusal(error: BaseException, trial: Trial) -> None:
    """Ends the property if the error is one of those that torch.export is known for."""
    text = str(error)
    found = [(name, words) for sign, (name, words) in REFUSALS.items() if sign in text]
    if found:
        trial.fail(
            "torch.export refused: " + "; ".join(words for _, words in found) + ".",
            got=first_sentence(text),
            observed=("refused", [name for name, _ in found]),
        )


def first_sentence(text: str) -> str:
    """The first line of an error, without what differs from run to run."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith("- ")] or lines
    return re.sub(r"0x[0-9a-f]+", "...", telling[0])[:200] if telling else ""


class Calls(TorchDispatchMode):
    """Notes with which arguments these operators are called in the block."""

    def __init__(self, operators: list[torch._ops.OpOverload]) -> None:
        super().__init__()
        self.operators = operators
        self.seen: list[tuple[torch._ops.OpOverload, Any, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in self.operators:
            fresh = tree_map_only(Tensor, leaf_like, (args, kwargs or {}))
            self.seen.append((func, *fresh))
        return func(*args, **(kwargs or {}))


def leaf_like(x: Tensor) -> Tensor:
    """A copy that autograd may ask the gradient of."""
    return x.detach().clone().requires_grad_(x.is_floating_point())
