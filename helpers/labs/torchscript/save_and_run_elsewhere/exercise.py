"""Exercise 09.save_and_run_elsewhere: a file that a process without the class can load and run."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.torchscript.save_and_run_elsewhere.inputs import (
    Inputs,
    given_module,
    in_evaluation,
    inputs,
    loaded,
    result,
    what_is_in,
)
from helpers.labs.torchscript.shared.elsewhere import forks

try:
    from resource import RUSAGE_CHILDREN, getrusage
except ImportError:  # Windows
    getrusage = None

save_and_run_elsewhere = Exercise(
    "09.save_and_run_elsewhere",
    "Save a module, and run it where its class is not",
    objective="Write a file that is the whole program, and run it in a process that cannot import your class.",
    minutes=20,
    difficulty="medium",
    core=False,
    seconds=20,
    hints=[
        "Which of the two, trace or script, keeps the branch and the loop? And in which mode shall the file be?",
        "torch.jit.script(module) is a new module with modes of its own: .eval() on it leaves yours as it was. "
        "Its .save(path) writes the file.",
        "The other program: read the names of its files from sys.argv, torch.jit.load one, torch.load the inputs, "
        "torch.save the result.",
        "elsewhere(PROGRAM, path, inputs_file, result_file) runs it. Write the inputs with "
        "torch.save(list(example), inputs_file), and read the result with torch.load(result_file): printed numbers "
        "lose digits and the dtype.",
    ],
)


WRITES = "Writes `module` as a program to `path`; gives what another process makes of file and example."
AT_PATH = "At `path` there is TorchScript afterwards; a file that was there is replaced."
EVALUATION = "It is in evaluation mode, right for all inputs that `module` takes, and needs no other file."
RETURNS = (
    "Returns what the other process computed for `example`: the values, shape and dtype that `module` gives in "
    "evaluation mode."
)
LEFT = "`module` and `example` are left as they were: modes, parameters, values."
BESIDE = "Nothing else is left in the folder of `path`."

GIVEN = (
    "a module in training mode, with a dropout; x of shape (3, 3), h of shape (2, 4), both float64; "
    "an older file at path"
)
OLDER = b"an older file"
UNWRITTEN = "still the older file: nothing was written there"
RNG = ("torch RNG",)  # a trace of a dropout draws


class Saved(NamedTuple):
    """One call of an answer: what it gave, what it was given, and what it left."""

    got: Any
    module: nn.Module
    example: Inputs
    kind: str
    file: bytes
    before: dict[str, Any]
    after: dict[str, Any]
    processes: int
    given: Inputs
    beside: list[str]
    error: Exception | None


_calls: dict[tuple[int, int], tuple[Any, Saved | Exception]] = {}


def saved(answer: Any, trial: Trial, *, failed: bool = False) -> Saved:
    """What one call of the answer came to. It is called once a check: each call starts a process.

    failed: an answer that raised after it wrote a file is looked at, too.
    """
    key = (id(answer), trial.seed)
    if key not in _calls:
        if any(seed != trial.seed for _, seed in _calls):
            _calls.clear()
        try:
            _calls[key] = answer, _saved(answer, trial)
        except Exception as error:
            _calls[key] = answer, error
    trial.given(GIVEN)
    came = _calls[key][1]
    error = came if isinstance(came, Exception) else None if failed else came.error
    if error:
        raise error
    return came


def _saved(answer: Any, trial: Trial) -> Saved:
    """Calls the answer on a module in training mode, one part of which is in evaluation mode."""
    with given_module(trial.generator) as module, tempfile.TemporaryDirectory() as folder:
        module.train()
        module.drop[0].eval()
        example = inputs(trial.generator, 3, positive=True)
        path = Path(folder) / "module.pt"
        path.write_bytes(OLDER)
        given = tuple(part.clone() for part in example)
        before, ended = state_of(module), ended_processes()
        trial.given(GIVEN)
        with warnings.catch_warnings(), forks():
            warnings.simplefilter("ignore")  # that TorchScript is deprecated is said in the lab
            got, error = None, None
            try:
                got = trial.call(answer, module, example, path)
            except NotImplementedError:
                raise
            except Exception as raised:
                error = raised
        ended = ended_processes() - ended
        file = path.read_bytes() if path.is_file() else b""
        kind = UNWRITTEN if file == OLDER else what_is_in(path)
        beside = sorted(other.name for other in Path(folder).iterdir() if other != path)
        return Saved(got, module, example, kind, file, before, state_of(module), ended, given, beside, error)


def state_of(module: nn.Module) -> dict[str, Any]:
    """What must stay: modes, and parameters with their values."""
    return {
        "training": {name: part.training for name, part in module.named_modules()},
        "parameters": {name: id(p) for name, p in module.named_parameters()},
        "requires_grad": {name: p.requires_grad for name, p in module.named_parameters()},
        "values": {name: p.tolist() for name, p in module.named_parameters()},
    }


def ended_processes() -> int:
    """A number that grows with every child process that has ended."""
    return getrusage(RUSAGE_CHILDREN).ru_minflt if getrusage else 0


@save_and_run_elsewhere.property(
    "the file at path is a program: TorchScript, whole, in one file", asks=AT_PATH, changes=RNG
)
def a_program(answer: Any, trial: Trial) -> None:
    run = saved(answer, trial, failed=True)
    is_of_the_file = "archive" in str(run.error) and run.kind == UNWRITTEN  # somebody read the older file
    if run.error and run.kind in ("TorchScript", UNWRITTEN) and not is_of_the_file:
        return  # what it raised is told by the next property
    kind = run.kind
    trial.true(
        kind == "TorchScript",
        f"At path there is {kind}." + (" Reading that ended the call." if is_of_the_file else ""),
        expected="a file that torch.jit.load reads, here and in C++",
        observed=(kind, "an error of it" if is_of_the_file else type(run.got).__name__),
    )


@save_and_run_elsewhere.property(
    "it returns what the other process computed, in evaluation mode", asks=RETURNS, changes=RNG
)
def values(answer: Any, trial: Trial) -> None:
    run = saved(answer, trial)
    want, got = in_evaluation(run.module, run.given), run.got
    trial.true(
        isinstance(got, Tensor),
        f"Expected a tensor, got {type(got).__name__}.",
        expected="the tensor that module(*example) gives",
        observed=("no tensor", type(got).__name__),
    )
    trial.true(
        got.dtype == want.dtype,
        f"The result is {got.dtype}, the module computes in {want.dtype}: the dtype was lost on the way back.",
        expected=str(want.dtype),
        got=str(got.dtype),
        observed=("dtype", str(got.dtype)),
    )
    trial.true(
        got.shape == want.shape,
        f"The result has shape {tuple(got.shape)}, and what the module gives has {tuple(want.shape)}.",
        expected=f"shape {tuple(want.shape)}",
        got=f"shape {tuple(got.shape)}",
        observed=("shape", tuple(got.shape)),
    )
    near = (got.detach() - want).abs().max().item()
    trial.true(
        near < 1e-9 or near > 2e-4,
        f"The result is not exact, it differs by up to {near:.1e}: digits were lost on the way.",
        expected=want,
        got=got,
        observed=("rounded", "as in float32" if near < 2e-6 else "more"),
    )
    trial.true(
        near < 1e-9,
        "The result is not what the module computes in evaluation mode. In which mode was the module that computed it?",
        expected=want,
        got=got,
        observed=("other values", state_of_the_file(run, want)),
    )


def state_of_the_file(run: Saved, want: Tensor) -> str:
    """Whether the program in the file gives what it should, perhaps after eval()."""
    if run.kind != "TorchScript":
        return "no TorchScript"
    module = loaded(run.file)
    for words in ("the file is right", "the file is right after eval()"):
        with torch.random.fork_rng(devices=[]):
            got = result(module, run.given)
        if got.shape == want.shape and torch.allclose(got, want, rtol=0, atol=1e-9):
            return words
        module.eval()
    return "the file is wrong, after eval(), too"


@save_and_run_elsewhere.property("another process ran it", asks=WRITES, changes=RNG)
def elsewhere_indeed(answer: Any, trial: Trial) -> None:
    trial.true(
        saved(answer, trial).processes > 0 or getrusage is None,
        "No other process has run: a file that is read where it was written proves little.",
        expected="a new process that loads the file",
        observed="no process",
    )


@save_and_run_elsewhere.property(
    "the saved program takes the other branch, and any number of rows", asks=EVALUATION, changes=RNG
)
def for_other_inputs(answer: Any, trial: Trial) -> None:
    run, module = loaded_by(answer, trial)
    trial.given("the loaded file, after eval(), with the inputs that it was saved with")
    module.eval()
    want, got = in_evaluation(run.module, run.given), result(module, run.given)
    is_random = not torch.equal(got, result(module, run.given))
    trial.true(
        is_random or (got.shape == want.shape and torch.allclose(got, want, rtol=0, atol=1e-9)),
        "The file by itself is wrong for the example, too, though what came back is right.",
        expected=want,
        got=got,
        observed="wrong for the example",
    )
    for rows, positive in [(3, False), (5, True), (0, True), (1, False)]:
        other = inputs(trial.generator, rows, positive=positive)
        sign = "positive" if positive else "negative"
        trial.given(
            f"the loaded file, with {rows} rows and an h whose sum is {sign}; saved with 3 rows, positive"
        )
        want, got = in_evaluation(run.module, other), result(module.eval(), other)
        trial.true(
            torch.equal(got, result(module, other)),
            "The file draws random numbers, though eval() was called on it: a trace has recorded the mode, too.",
            expected="no dropout in evaluation mode",
            observed="random",
        )
        trial.true(
            got.shape == want.shape and torch.allclose(got, want, rtol=0, atol=1e-9),
            "The file is right for the example, and gives something else than the module here.",
            expected=want,
            got=got,
            observed=("baked", rows, positive),
        )


def loaded_by(answer: Any, trial: Trial) -> tuple[Saved, torch.jit.ScriptModule]:
    """The call of an answer, and the module that is in its file."""
    run = saved(answer, trial)
    trial.true(run.kind == "TorchScript", "There is no TorchScript at path.", observed="none")
    return run, loaded(run.file)


@save_and_run_elsewhere.property(
    "the saved program is in evaluation mode, whoever loads it", asks=EVALUATION, changes=RNG
)
def in_evaluation_mode(answer: Any, trial: Trial) -> None:
    run, module = loaded_by(answer, trial)
    trial.given("the loaded file, run as it is on the inputs that it was saved with")
    want, got = in_evaluation(run.module, run.given), result(module, run.given)
    trial.true(
        torch.allclose(got, want, rtol=0, atol=1e-9),
        "Who loads the file and runs it gets dropout: it was saved in training mode.",
        expected=want,
        got=got,
        observed="training mode",
    )


@save_and_run_elsewhere.property(
    "the module is left as it was: modes of all its parts, parameters; and the example",
    asks=LEFT,
    changes=RNG,
    once_right=True,
)
def left_alone(answer: Any, trial: Trial) -> None:
    run = saved(answer, trial)
    changed = [name for name, value in run.before.items() if run.after[name] != value]
    wrong = [
        name or "the module"
        for name, mode in run.after["training"].items()
        if mode != run.before["training"][name]
    ]
    trial.true(
        not wrong,
        f"In a different mode than before: {', '.join(wrong)}.",
        expected="each part in the mode that it was in: the module trains on, a part that was frozen stays so",
        observed=("modes", wrong),
    )
    trial.true(
        not changed,
        f"Changed in the module: {', '.join(f'{what} of {of_which(run, what)}' for what in changed)}.",
        expected="the module as it was",
        got="requires_grad=False" if changed == ["requires_grad"] else None,
        observed=("changed", changed),
    )
    edited = [
        name
        for name, part, kept in zip(("x", "h"), run.example, run.given, strict=True)
        if part.dtype != kept.dtype or not torch.equal(part, kept)
    ]
    trial.true(
        not edited,
        f"Changed in the example: {', '.join(edited)}.",
        expected="the tensors as they were",
        got=[part for name, part in zip(("x", "h"), run.example, strict=True) if name in edited],
        observed=("edited", edited),
    )


def of_which(run: Saved, what: str) -> str:
    """Names of the parameters of which this is not as it was."""
    before, after = run.before[what], run.after[what]
    return (
        ", ".join(name for name in before if name not in after or before[name] != after[name]) or "new ones"
    )


@save_and_run_elsewhere.property("no other file is left beside it", asks=BESIDE, changes=RNG, once_right=True)
def nothing_beside(answer: Any, trial: Trial) -> None:
    beside = saved(answer, trial).beside
    trial.true(
        not beside,
        "The folder of path holds something beside the file at path.",
        expected="module.pt",
        got=", ".join(["module.pt", *beside]),
        observed="beside",
    )
