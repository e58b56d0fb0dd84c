"""Cells tagged `gpu` run on every machine and are compared only where there is a GPU."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_output

from ci.headless import nbval_plugin
from ci.headless.kernels import has_gpu
from ci.headless.validate import validate
from tests.support.project import code, output_of, store, text


@pytest.mark.parametrize(("gpu", "reason"), [(True, ""), (False, "needs a GPU")])
def test_the_tag_counts_only_without_a_gpu(monkeypatch: pytest.MonkeyPatch, gpu: bool, reason: str) -> None:
    monkeypatch.setattr(nbval_plugin, "has_gpu", lambda: gpu)
    tagged = SimpleNamespace(metadata=SimpleNamespace(get=lambda key, other: ["gpu"]))
    assert nbval_plugin._reason(tagged) == reason


def ran(number: int, cell: NotebookNode, *outputs: NotebookNode) -> NotebookNode:
    """A cell that ran as number `number`, with the outputs that are stored for it."""
    cell.execution_count, cell.outputs = number, list(outputs)
    return cell


def printed(words: str) -> NotebookNode:
    return new_output("stream", name="stdout", text=f"{words}\n")


def result(number: int) -> NotebookNode:
    return new_output("execute_result", {"text/plain": str(number)}, execution_count=number)


def test_such_a_cell_runs_and_its_other_output_is_no_fault_without_a_gpu(tmp_path: Path) -> None:
    store(
        tmp_path / "solutions" / "01_gpu.ipynb",
        text("title", "# GPU"),
        ran(1, code("counts", "runs = 1")),
        ran(2, code("device", "runs += 1\nprint('on this machine')", "gpu"), printed("on another machine")),
        ran(3, code("ran", "print('runs', runs)"), printed("runs 2")),
        *[ran(n, code(f"number-{n}", f"{n}"), result(n)) for n in (4, 5, 6)],
    )
    failed, heard = output_of(lambda: validate(tmp_path, []))
    assert bool(failed) == has_gpu(), heard
