"""What the check of 09.save_and_run_elsewhere saves, and what it finds in a file."""

from __future__ import annotations

import importlib
import io
import linecache
import shutil
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

MODULE = "given_module"
TEXT = '''
import torch
from torch import Tensor, nn


class Mixer(nn.Module):
    """Mixes the rows of x into h, in a way that the sign of h decides: a branch, a loop, a dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 4, dtype=torch.float64)
        self.drop = nn.Sequential(nn.Tanh(), nn.Dropout(0.5))

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        for row in range(x.size(0)):
            mixed = self.linear(x[row]) + 0.5 * h
            if bool(h.sum() > 0):
                mixed = mixed * h
            h = self.drop(mixed) + 1.5
        return h
'''

Inputs = tuple[Tensor, Tensor]


@contextmanager
def given_module(generator: torch.Generator) -> Iterator[nn.Module]:
    """A Mixer with random weights. Its class stands in a file that is gone afterwards."""
    folder = tempfile.mkdtemp()
    (Path(folder) / f"{MODULE}.py").write_text(TEXT)
    sys.path.insert(0, folder)
    try:
        importlib.invalidate_caches()
        with torch.random.fork_rng(devices=[]):  # layers draw their first weights
            module = importlib.import_module(MODULE).Mixer()
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype))
        yield module
    finally:
        if folder in sys.path:
            sys.path.remove(folder)
        sys.modules.pop(MODULE, None)
        shutil.rmtree(folder)
        linecache.checkcache()


def inputs(generator: torch.Generator, rows: int, *, positive: bool) -> Inputs:
    """x of shape (rows, 3), and h of shape (2, 4) whose sum has this sign."""
    x = torch.randn(rows, 3, generator=generator, dtype=torch.float64)
    h = torch.rand(2, 4, generator=generator, dtype=torch.float64) + 0.2
    return x, h if positive else -h


def result(module: Any, given: Inputs) -> Tensor:
    """What a module gives, without a graph."""
    with torch.no_grad():
        return module(*(tensor.clone() for tensor in given)).detach()


def in_evaluation(module: nn.Module, given: Inputs) -> Tensor:
    """What a module gives in evaluation mode; its modes are put back."""
    modes = {part: part.training for part in module.modules()}
    try:
        return result(module.eval(), given)
    finally:
        for part, mode in modes.items():
            part.training = mode


def what_is_in(path: Path) -> str:
    """What kind of file this is, in words."""
    if not path.is_file():
        return "nothing: no file is there"
    if not zipfile.is_zipfile(path):
        return "no TorchScript, but some other format"
    with zipfile.ZipFile(path) as archive:
        names = {name.partition("/")[2] for name in archive.namelist()}
        if "constants.pkl" in names or any(name.startswith("code/") for name in names):
            return "TorchScript"
        if "data.pkl" not in names:
            return (
                "a package of torch.export" if any("models/" in name for name in names) else "another archive"
            )
        data = next(name for name in archive.namelist() if name.endswith("data.pkl"))
        pickled = archive.read(data)
    if MODULE.encode() in pickled:
        return "a pickle that names the class of the module, which must be imported to load it"
    return "tensors only, a state_dict: numbers without the program that uses them"


def loaded(file: bytes) -> torch.jit.ScriptModule:
    """The module in the bytes of a TorchScript file: nothing beside it, no folder, no name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.load(io.BytesIO(file))


for _kind in vars(nn).values():
    if isinstance(_kind, type):
        _kind.__annotations__  # noqa: B018  Python makes the dict when script first reads it, and classes are watched
