"""`ranks.run` in a real notebook: cells and lines, output, the stop button, a kernel that is killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import psutil
import pytest

from helpers import paths
from tests.support.kernel import Cell, Kernel
from tests.support.living import all_gone, lives

SET_UP = """
import os, sys, time, torch, torch.distributed as dist
from helpers import ranks
"""


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    kernel = Kernel(SET_UP)
    yield kernel
    kernel.stop()


RAISES = """
def fails():
    if dist.get_rank() == 1:
        raise ValueError("no such thing")
    dist.barrier()

ranks.run(fails, ranks=2)
"""


def test_an_error_names_rank_cell_and_line(kernel: Kernel) -> None:
    cell = kernel.run(RAISES)
    number = kernel.run("print(len(In) - 2)").out.strip()
    assert cell.error == (
        "RankError: rank 1 raised ValueError: no such thing\n"
        f'  Cell In[{number}], line 3, in fails: raise ValueError("no such thing")\n'
        f"rank 0 waits in barrier: Cell In[{number}], line 4, in fails: dist.barrier()"
    )
    assert cell.shown == cell.error, "no line of the launcher is shown"


def test_a_hang_names_cell_and_line(kernel: Kernel) -> None:
    cell = kernel.run("def hangs():\n    while dist.get_rank(): pass\nranks.run(hangs, ranks=2, timeout=1)")
    assert "No result within 1 s: rank 1 is still at work." in cell.error
    assert "], line 2, in hangs: while dist.get_rank(): pass" in cell.error and "Cell In[" in cell.error
    assert kernel.run("print(ranks.run(dist.get_rank, ranks=2))").out == "[0, 1]\n"


PRINTS = """
def prints():
    print("one"); print("two", file=sys.stderr); print("three")
    import warnings; warnings.warn("old")
ranks.run(prints, ranks=2);
"""


def test_prints_stand_in_the_cell_in_order(kernel: Kernel) -> None:
    cell = kernel.run(PRINTS)
    assert cell.out == "[rank 0] one\n[rank 0] three\n[rank 1] one\n[rank 1] three\n"
    assert [name for name, _ in cell.streams][:3] == ["stdout", "stderr", "stdout"]
    assert "[rank 1] Cell In[" in cell.err and ":3: UserWarning: old" in cell.err


def test_the_notebooks_classes_stay_the_same(kernel: Kernel) -> None:
    cell = kernel.run(
        "class Kept:\n    pass\nfound = ranks.run(Kept, ranks=2)\nprint(all(type(k) is Kept for k in found))"
    )
    assert cell.out == "True\n"


NAMED = """
import dataclasses
from torch.utils.data import DataLoader, Dataset

@dataclasses.dataclass
class Place:
    rank: int

class Places(Dataset):
    def __len__(self): return 4
    def __getitem__(self, at): return torch.tensor(10 * dist.get_rank() + at)

def twice(x): return 2 * x

def works():
    import multiprocessing
    found = [None] * 2
    dist.all_gather_object(found, Place(dist.get_rank()))
    # Forked: from Python 3.14 on that is not the default on Linux, and other workers know nothing of a notebook.
    with multiprocessing.get_context("fork").Pool(1) as pool:
        doubled = pool.map(twice, [dist.get_rank()])
    loader = DataLoader(Places(), batch_size=2, num_workers=1, multiprocessing_context="fork")
    return found, doubled, [batch.tolist() for batch in loader]

print(ranks.run(works, ranks=2, start_method={how!r})[1])
"""


@pytest.mark.parametrize("how", [None, "fork"])
def test_the_notebooks_classes_travel_from_rank_to_rank_and_to_workers(
    kernel: Kernel, how: str | None
) -> None:
    cell = kernel.run(NAMED.format(how=how))
    assert cell.out == "([Place(rank=0), Place(rank=1)], [2], [[10, 11], [12, 13]])\n", cell.shown or cell.err


HANGS = """
def hangs():
    print(os.getpid(), flush=True)
    {how}
ranks.run(hangs, ranks=3)
"""
IN_GLOO = "dist.recv(torch.ones(1), (dist.get_rank() + 1) % 3)"
IN_PYTHON = "while True: pass"
HOLDS_THE_GIL = "import re; re.match('(a+)+$', 'a' * 60 + 'b')"


def ranks_of(kernel: Kernel, after: Cell) -> list[int]:
    """The ids of the ranks, when rank 0 has said its own."""
    if not after.out.startswith("[rank 0] "):
        return []
    first = psutil.Process(int(after.out.split()[2]))
    return [one.pid for one in first.parent().children() if lives(one)]


@pytest.mark.parametrize("how", [IN_GLOO, IN_PYTHON, HOLDS_THE_GIL], ids=["gloo", "python", "gil"])
def test_the_stop_button_ends_all_ranks(kernel: Kernel, how: str) -> None:
    pids: list[int] = []

    def stop(cell: Cell) -> None:
        if not pids and (found := ranks_of(kernel, cell)):
            pids.extend(found)
            kernel.manager.interrupt_kernel()

    cell = kernel.run(HANGS.format(how=how), stop)
    assert cell.error.startswith("KeyboardInterrupt") and len(pids) >= 3
    assert "Stopped.\nrank 0 " in cell.err and how in cell.err
    assert all_gone(pids)
    assert kernel.run("print(ranks.run(dist.get_rank, ranks=2))").out == "[0, 1]\n"


@pytest.mark.parametrize(
    "how", [IN_GLOO, pytest.param(HOLDS_THE_GIL, marks=pytest.mark.slow)], ids=["gloo", "gil"]
)
def test_no_process_is_left_when_the_kernel_is_killed(how: str) -> None:
    kernel = Kernel(SET_UP)
    family: list[int] = []

    def kill(cell: Cell) -> None:
        if not family and ranks_of(kernel, cell):
            family.extend(p.pid for p in kernel.process.children(recursive=True))
            kernel.process.kill()
            raise ConnectionAbortedError

    with pytest.raises(ConnectionAbortedError):
        kernel.run(HANGS.format(how=how).replace("ranks=3", "ranks=3, timeout=3"), kill)
    assert len(family) >= 4
    gone = all_gone(family)
    kernel.stop()
    assert gone


def notebook(folder: Path, name: str, *cells: str) -> Path:
    made = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source.strip()) for source in (SET_UP, *cells)],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    path = folder / name
    nbformat.write(made, path)
    return path


SUMS = """
def total():
    x = torch.full((3,), float(dist.get_rank()))
    print("before", x.tolist())
    dist.all_reduce(x)
    return x.tolist()
ranks.run(total, ranks=3)
"""


def papermill(path: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "papermill", str(path), str(path.with_suffix(".out.ipynb"))]
    return subprocess.Popen(
        command, cwd=paths.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


@pytest.mark.slow
def test_papermill_and_nbval(tmp_path: Path) -> None:
    path = notebook(tmp_path, "sums.ipynb", SUMS, SUMS)
    done = papermill(path)
    output, _ = done.communicate(timeout=120)
    assert done.returncode == 0, output
    command = [sys.executable, "-m", "pytest", "-q", "--nbval", "-p", "no:cacheprovider", str(path.with_suffix(".out.ipynb"))]  # fmt: skip
    again = subprocess.run(command, cwd=paths.ROOT, capture_output=True, text=True, timeout=120)
    assert again.returncode == 0, again.stdout
    assert "3 passed" in again.stdout


@pytest.mark.slow
def test_papermill_fails_where_a_rank_does(tmp_path: Path) -> None:
    done = papermill(notebook(tmp_path, "fails.ipynb", RAISES))
    output, _ = done.communicate(timeout=120)
    assert done.returncode and "rank 1 raised ValueError: no such thing" in output


@pytest.mark.slow
def test_three_notebooks_at_once(tmp_path: Path) -> None:
    started = [papermill(notebook(tmp_path, f"{n}.ipynb", *[SUMS] * 4)) for n in range(3)]
    for one in started:
        output, _ = one.communicate(timeout=300)
        assert one.returncode == 0, output
