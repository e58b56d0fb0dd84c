"""Right answers to 09.save_and_run_elsewhere, in different shapes."""

from __future__ import annotations

import copy
import io
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from torch import Tensor, nn

from helpers.labs.torchscript.shared.elsewhere import elsewhere

PROGRAM = """
import sys, torch
module = torch.jit.load(sys.argv[1])
torch.save(module(*torch.load(sys.argv[2])), sys.argv[3])
"""


def scripted(module: nn.Module, example: tuple[Tensor, ...], path: Path) -> Tensor:
    """The mode is that of the scripted module, which is another one."""
    torch.jit.script(module).eval().save(path)
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / "given.pt", Path(folder) / "made.pt"
        torch.save(list(example), given)
        elsewhere(PROGRAM, path, given, made)
        return torch.load(made)


def frozen(module: nn.Module, example: tuple[Tensor, ...], path: Path) -> Tensor:
    """A copy, frozen, whose weights are constants of the program; the tensors travel as exact numbers."""
    copied = copy.deepcopy(module).eval()
    torch.jit.save(torch.jit.freeze(torch.jit.script(copied)), str(path))
    program = """
import sys, torch
with torch.no_grad():
    result = torch.jit.load(sys.argv[1]).eval()(*map(torch.tensor, eval(sys.argv[2])))
print(*result.shape, *(float(number).hex() for number in result.flatten()))
"""
    torch.set_default_dtype(torch.float64)
    try:
        words = elsewhere(
            program.replace("with torch", "torch.set_default_dtype(torch.float64)\nwith torch"),
            path,
            [tensor.tolist() for tensor in example],
        )
        shape, numbers = words.split()[:2], words.split()[2:]
        return torch.tensor([float.fromhex(word) for word in numbers]).view(*map(int, shape))
    finally:
        torch.set_default_dtype(torch.float32)


def with_modes_put_back(module: nn.Module, example: tuple[Tensor, ...], path: Path) -> Tensor:
    """A process of one's own, through pipes."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        buffer = io.BytesIO()
        torch.jit.save(torch.jit.script(module), buffer)
    finally:
        for part, mode in modes:
            part.training = mode
    path.write_bytes(buffer.getvalue())
    sent = io.BytesIO()
    torch.save(tuple(example), sent)
    program = """
import io, sys, torch
result = torch.jit.load(sys.argv[1])(*torch.load(io.BytesIO(sys.stdin.buffer.read())))
torch.save(result.detach(), sys.stdout.buffer)
"""
    command = [sys.executable, "-I", "-c", program, str(path)]
    done = subprocess.run(command, input=sent.getvalue(), capture_output=True, check=True)
    return torch.load(io.BytesIO(done.stdout))


RIGHT = [scripted, frozen, with_modes_put_back]
