"""What a learner wrote travels to another process with all that it refers to."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import torch
from torch.autograd.function import once_differentiable

from helpers.processes.by_value import by_value


def test_a_function_with_once_differentiable_travels() -> None:
    """Its decorator hands on torch.autograd.function's globals, among them a module that cannot be imported."""
    names: dict[str, object] = {
        "torch": torch,
        "once_differentiable": once_differentiable,
        "__name__": "__main__",
    }
    code = """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        return 2 * grad

def gradient():
    x = torch.ones(1, requires_grad=True)
    Double.apply(x).sum().backward()
    return x.grad.item()
"""
    exec(code, names)
    assert pickle.loads(by_value(names["gradient"]))() == 2.0


ANNOTATED = """
class Base:
    deep: int

class Gated(Base):
    gated: bool
    unknown: NoSuchName
    wide: "int"
"""
SHOWS = """
import pickle, sys
from pathlib import Path
gated = pickle.loads(Path(sys.argv[1]).read_bytes())
print({name: of for kind in (gated, gated.__base__) for name, of in kind.__annotations__.items()})
"""


def test_the_annotations_of_a_class_travel(tmp_path: Path) -> None:
    """TorchScript asks for `Final`, a dataclass for its fields. Python 3.14 makes annotations when they are asked for."""
    names: dict[str, object] = {"__name__": "__main__", "NoSuchName": float}
    exec(compile(ANNOTATED, "a cell", "exec", dont_inherit=True), names)
    (tmp_path / "gated").write_bytes(by_value(names["Gated"]))
    there = subprocess.check_output([sys.executable, "-c", SHOWS, str(tmp_path / "gated")], text=True)
    expected = {"gated": bool, "unknown": float, "wide": "int", "deep": int}
    assert there == f"{expected}\n"
