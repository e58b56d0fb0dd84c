"""What people write for 09.save_and_run_elsewhere, and why it is wrong."""

from __future__ import annotations

import copy
import inspect
import json
import re
import tempfile
from pathlib import Path

import torch
from torch import Tensor, nn

from helpers.labs.torchscript.save_and_run_elsewhere.exercise import (
    AT_PATH,
    BESIDE,
    EVALUATION,
    LEFT,
    RETURNS,
    WRITES,
)
from helpers.labs.torchscript.save_and_run_elsewhere.exercise import save_and_run_elsewhere as exercise
from helpers.labs.torchscript.shared.elsewhere import elsewhere

Example = tuple[Tensor, ...]

START = "import sys, torch\n"
LOAD = START + "module = torch.jit.load(sys.argv[1])\n"
RUN = "torch.save(module(*torch.load(sys.argv[2])), sys.argv[3])\n"


def run(program: str, path: Path, example: Example, *words: object) -> Tensor:
    """What a program makes of the file and the inputs, by files."""
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / "given.pt", Path(folder) / "made.pt"
        torch.save(list(example), given)
        elsewhere(program, path, given, made, *words)
        return torch.load(made)


@exercise.mistake(breaks=AT_PATH)
def whole_module_pickled(module: nn.Module, example: Example, path: Path) -> Tensor:
    """At path there is a pickle with the name of the class, not its code: who loads it must import the class, and the
    other process could not. Perhaps by torch.save(module).
    """
    torch.save(module, path)
    return run(START + "module = torch.load(sys.argv[1], weights_only=False).eval()\n" + RUN, path, example)


@exercise.variant(whole_module_pickled)
def _(module: nn.Module, example: Example, path: Path) -> Tensor:
    torch.save(module, path)
    return run(LOAD + RUN, path, example)


@exercise.mistake(breaks=AT_PATH)
def class_made_importable(module: nn.Module, example: Example, path: Path) -> Tensor:
    """At path there is a pickle with the name of the class, and a result came back all the same. Perhaps the folder of
    the class was put on sys.path, or it was the module of this process that computed: the file is half of what must be
    shipped.
    """
    torch.save(module, path)
    folder = Path(inspect.getfile(type(module))).parent
    load = "sys.path.insert(0, sys.argv[4])\nmodule = torch.load(sys.argv[1], weights_only=False).eval()\n"
    return run(START + load + RUN, path, example, folder)


@exercise.mistake(breaks=AT_PATH)
def state_dict_saved(module: nn.Module, example: Example, path: Path) -> Tensor:
    """At path there are tensors and no program. Perhaps a state_dict, which is the right thing for a checkpoint: the code
    travels beside it, by hand.
    """
    torch.save(module.state_dict(), path)
    source = inspect.getsource(type(module))
    make = f"from torch import Tensor, nn\n{source}\nmodule = {type(module).__name__}()\n"
    return run(
        START + make + "module.load_state_dict(torch.load(sys.argv[1]))\nmodule.eval()\n" + RUN, path, example
    )


@exercise.variant(state_dict_saved)
def _(module: nn.Module, example: Example, path: Path) -> Tensor:
    torch.save(module.state_dict(), path)
    return run(LOAD + RUN, path, example)


@exercise.variant(state_dict_saved)
def _(module: nn.Module, example: Example, path: Path) -> Tensor:
    torch.save(module.state_dict(), path)
    return copy.deepcopy(module).eval()(*example)


@exercise.mistake(breaks=EVALUATION)
def traced(module: nn.Module, example: Example, path: Path) -> Tensor:
    """For an h with a negative sum the file is wrong, and for the example right. Perhaps it is a trace: that is one run, with the branch that the
    example took, and as many rows as it had. This module needs script.
    """
    modes = {part: part.training for part in module.modules()}
    torch.jit.trace(module.eval(), example, check_trace=False).save(path)
    for part, mode in modes.items():
        part.training = mode
    return run(LOAD + RUN, path, example)


@exercise.variant(traced)
def _(module: nn.Module, example: Example, path: Path) -> Tensor:
    torch.jit.trace(module.eval(), example).save(path)
    return run(LOAD + RUN, path, example)


@exercise.mistake(breaks=RETURNS)
def traced_in_training_mode(module: nn.Module, example: Example, path: Path) -> Tensor:
    """The values are wrong, and the file gives wrong ones after eval(), too. Perhaps a trace recorded the dropout as it
    ran: switched on, for good.
    """
    torch.jit.trace(module, example, check_trace=False).save(path)
    return run(LOAD + RUN, path, example)


@exercise.variant(traced_in_training_mode)
def _(module: nn.Module, example: Example, path: Path) -> Tensor:
    torch.jit.trace(module, example, check_trace=False).save(path)
    return run(LOAD + "module.eval()\n" + RUN, path, example)


@exercise.mistake(breaks=RETURNS)
def saved_in_training_mode(module: nn.Module, example: Example, path: Path) -> Tensor:
    """The values are wrong, and the file is right after eval(). Perhaps it was saved in training mode: a scripted module
    is saved in the mode that it is in, and C++ or a server will not think of eval().
    """
    torch.jit.script(module).save(path)
    return run(LOAD + RUN, path, example)


@exercise.mistake(breaks=EVALUATION)
def eval_by_the_reader(module: nn.Module, example: Example, path: Path) -> Tensor:
    """The result is right, and who loads the file and runs it gets different values. Perhaps eval() stands in the other
    program: the next reader of the file does not have it.
    """
    torch.jit.script(module).save(path)
    return run(LOAD + "module.eval()\n" + RUN, path, example)


@exercise.mistake(breaks=LEFT)
def left_in_evaluation(module: nn.Module, example: Example, path: Path) -> Tensor:
    """The caller's module is in evaluation mode afterwards: the training that goes on has no dropout from here on.
    Perhaps module.eval() was called on it.
    """
    module.eval()
    torch.jit.script(module).save(path)
    return run(LOAD + RUN, path, example)


@exercise.mistake(breaks=LEFT)
def all_put_into_training(module: nn.Module, example: Example, path: Path) -> Tensor:
    """A part that was kept in evaluation mode on purpose is in training mode afterwards. Perhaps by train() on the whole
    module, which puts every part there.
    """
    module.eval()
    torch.jit.script(module).save(path)
    module.train()
    return run(LOAD + RUN, path, example)


@exercise.mistake(breaks=WRITES)
def loaded_here(module: nn.Module, example: Example, path: Path) -> Tensor:
    """No other process has run. Perhaps the file was loaded here: this process has the class, the weights and everything
    else, so this shows only that the file is readable.
    """
    torch.jit.script(module).eval().save(path)
    return torch.jit.load(path)(*example)


@exercise.mistake(breaks=AT_PATH)
def path_ignored(module: nn.Module, example: Example, path: Path) -> Tensor:
    """At path is still the older file, though a result came back. Perhaps the program was written under a different name."""
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "model.pt"
        torch.jit.script(module).eval().save(other)
        return run(LOAD + RUN, other, example)


@exercise.mistake(breaks=RETURNS)
def printed_with_four_digits(module: nn.Module, example: Example, path: Path) -> Tensor:
    """All but a few digits are lost. Perhaps the result was rounded or printed: print shows four digits of a tensor.
    Send the tensor in a file: torch.save there, torch.load here.
    """
    torch.jit.script(module).eval().save(path)
    with tempfile.TemporaryDirectory() as folder:
        torch.save(list(example), given := Path(folder) / "given.pt")
        message = elsewhere(LOAD + "print(module(*torch.load(sys.argv[2])))\n", path, given)
    numbers = re.findall(r"-?\d+\.\d*(?:e[+-]?\d+)?", message.partition("]]")[0])
    return torch.tensor([float(number) for number in numbers], dtype=example[0].dtype).view_as(example[1])


@exercise.mistake(breaks=RETURNS)
def dtype_lost_in_a_list(module: nn.Module, example: Example, path: Path) -> Tensor:
    """The result is float32 and not float64. Perhaps it went through a list: tolist() keeps the numbers and forgets the
    dtype, and torch.tensor makes float32 of a list of floats.
    """
    torch.jit.script(module).eval().save(path)
    with tempfile.TemporaryDirectory() as folder:
        torch.save(list(example), given := Path(folder) / "given.pt")
        message = elsewhere(LOAD + "print(module(*torch.load(sys.argv[2])).tolist())\n", path, given)
    return torch.tensor(json.loads(message))


@exercise.mistake(breaks=BESIDE)
def files_left_beside(module: nn.Module, example: Example, path: Path) -> Tensor:
    """Something lies beside the program: who ships the folder ships that, too. Perhaps the inputs, the result or a file
    on the way are written there: tempfile.TemporaryDirectory has a place for them, and clears it.
    """
    torch.jit.script(module).eval().save(path)
    given, made = path.with_name("given.pt"), path.with_name("made.pt")
    torch.save(list(example), given)
    elsewhere(LOAD + RUN, path, given, made)
    return torch.load(made)


@exercise.mistake(breaks=LEFT)
def example_edited(module: nn.Module, example: Example, path: Path) -> Tensor:
    """The tensors of the example are different ones afterwards: they are the caller's. Perhaps something is written
    into them on the way.
    """
    torch.jit.script(module).eval().save(path)
    made = run(LOAD + RUN, path, example)
    for part in example:
        part.zero_()
    return made


@exercise.mistake(breaks=RETURNS)
def result_in_training_mode(module: nn.Module, example: Example, path: Path) -> Tensor:
    """The values are wrong, and the file at path gives the right ones. Perhaps the result was computed with the module
    as it was given, in training mode, or the other program calls train().
    """
    torch.jit.script(module).eval().save(path)
    run(LOAD + RUN, path, example)
    return module(*example)


@exercise.variant(result_in_training_mode)
def _(module: nn.Module, example: Example, path: Path) -> Tensor:
    torch.jit.script(module).eval().save(path)
    return run(LOAD + "module.train()\n" + RUN, path, example)


@exercise.mistake(breaks=RETURNS)
def computed_in_float32(module: nn.Module, example: Example, path: Path) -> Tensor:
    """The result is float64 and exact to about six digits, as float32 is. Perhaps it went through float32 on the way."""
    torch.jit.script(module).eval().save(path)
    return run(LOAD + RUN, path, example).float().double()


@exercise.variant(computed_in_float32)
def _(module: nn.Module, example: Example, path: Path) -> Tensor:
    torch.jit.script(module).eval().save(path)
    return run(
        LOAD + "torch.save(module(*torch.load(sys.argv[2])).float(), sys.argv[3])\n", path, example
    ).double()


@exercise.variant(files_left_beside)
def _(module: nn.Module, example: Example, path: Path) -> Tensor:
    new = path.with_suffix(".tmp")
    torch.jit.script(module).eval().save(new)
    path.write_bytes(new.read_bytes())
    return run(LOAD + RUN, path, example)


@exercise.mistake(breaks=RETURNS)
def flat(module: nn.Module, example: Example, path: Path) -> Tensor:
    """The numbers come back in one row, and the shape is lost. Perhaps they were flattened to be printed or written as
    text: torch.save there and torch.load here keep a tensor whole.
    """
    torch.jit.script(module).eval().save(path)
    return run(LOAD + RUN, path, example).flatten()


@exercise.mistake(breaks=RETURNS)
def array_returned(module: nn.Module, example: Example, path: Path) -> object:
    """A NumPy array came back, and a tensor was asked for. Perhaps numpy() stands at the end, or numpy.load."""
    torch.jit.script(module).eval().save(path)
    return run(LOAD + RUN, path, example).detach().numpy()


@exercise.mistake(breaks=AT_PATH)
def not_replaced(module: nn.Module, example: Example, path: Path) -> Tensor:
    """At path is still the older file, and it ended the call with an error. Perhaps the program is written only where no
    file is yet, or under a different name than the one that is read.
    """
    if not path.exists():
        torch.jit.script(module).eval().save(path)
    return run(LOAD + RUN, path, example)


@exercise.mistake(breaks=AT_PATH)
def taken_away(module: nn.Module, example: Example, path: Path) -> Tensor:
    """A result came back, and at path there is no file afterwards. Perhaps it was cleared away at the end, or moved: it
    is what the caller wants to ship.
    """
    torch.jit.script(module).eval().save(path)
    try:
        return run(LOAD + RUN, path, example)
    finally:
        path.unlink()


@exercise.mistake(breaks=EVALUATION)
def weights_in_another_file(module: nn.Module, example: Example, path: Path) -> Tensor:
    """What came back is right, and the file by itself is wrong, for the example, too. Perhaps the other process got the
    weights from a second file, or ran something other than the file at path.
    """
    empty = copy.deepcopy(module).eval()
    for value in empty.parameters():
        value.data.zero_()
    torch.jit.script(empty).save(path)
    with tempfile.TemporaryDirectory() as folder:
        torch.save(module.state_dict(), weights := Path(folder) / "weights.pt")
        fill = "module.load_state_dict(torch.load(sys.argv[4]))\n"
        return run(LOAD + fill + RUN, path, example, weights)


@exercise.mistake(breaks=LEFT)
def gradients_switched_off(module: nn.Module, example: Example, path: Path) -> Tensor:
    """Parameters of the caller's module no longer require grad: they cannot be trained further. Perhaps by
    requires_grad_(False) before the file is written.
    """
    module.requires_grad_(False)
    torch.jit.script(module).eval().save(path)
    return run(LOAD + RUN, path, example)
