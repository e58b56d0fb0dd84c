"""The process that works on one notebook: `python -m ci.worker run|labs|catalogue ...`, started by ci/pool.py."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from ci import job
from ci.kernels import START_SECONDS, cell_seconds, kernel_fault, kernel_manager_class
from ci.notebooks import Problem, is_run, read, shown, trouble, write
from ci.words import indented


class NoKernel(Problem):
    """The kernel did not start; why stands in the job's log."""


class Watch:
    """Knows the cell that is being run, and announces each."""

    def __init__(self, notebook: NotebookNode, where: str) -> None:
        self.notebook, self.where, self.cell = notebook, where, ""

    def on_cell_execute(self, cell: NotebookNode, cell_index: int) -> None:
        self.cell = cell.id
        job.announce(
            "cell", cell=cell.id, index=sum(is_run(one) for one in self.notebook.cells[: cell_index + 1])
        )

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn what an executor raises into a Problem that names the cell."""
        from jupyter_client.kernelspec import NoSuchKernel
        from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
        from papermill.exceptions import PapermillExecutionError

        try:
            yield
        except CellTimeoutError:
            raise self.problem(f"hung: not done after {cell_seconds():g} s; the kernel was stopped") from None
        except DeadKernelError:
            if not self.cell:
                raise Problem("the kernel died before its first cell", path=self.where) from None
            raise self.problem("the kernel died here: out of memory, or a crash in C++?") from None
        except (PapermillExecutionError, CellExecutionError) as error:
            said = f"{error.ename}: {error.evalue}".strip().rstrip(":")
            trace = "\n".join(getattr(error, "traceback", "") or []) or str(error)
            raise self.problem(f"raises {said}\n{indented(trace)}") from None
        except NoSuchKernel as error:
            raise Problem(
                f"the Jupyter kernel is missing: {error}; run `make setup`", path=self.where
            ) from None
        except RuntimeError as error:
            if self.cell or "Kernel" not in str(error):
                raise
            what = f"the Jupyter kernel did not start: {error}; `make setup` puts it right where a package is missing"
            raise NoKernel(what, path=self.where) from None

    def problem(self, what: str) -> Problem:
        return Problem(what, path=self.where, cell=self.cell)


def run_with_papermill(path: Path, root: Path, folder: Path) -> NotebookNode:
    """Execute a solution into a temporary file and return what came; the notebook itself is not written."""
    import papermill

    notebook = read(path, root)
    watch = Watch(notebook, shown(path, root))
    copy = folder / path.name
    # The copy goes in without outputs, so that nothing old can be taken for a result.
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    write(copy, _text(notebook))
    with watch.explained():
        return papermill.execute_notebook(
            copy,
            folder / f"run-{path.name}",
            kernel_name="python3",
            cwd=path.parent,
            progress_bar=False,
            request_save_on_cell_execute=False,
            start_timeout=START_SECONDS,
            execution_timeout=cell_seconds(),
            record_timing=False,
            kernel_manager_class=kernel_manager_class(),
            on_cell_execute=watch.on_cell_execute,
        )


def run_with_nbclient(path: Path, root: Path) -> NotebookNode:
    """Execute an unsolved lab to its end; no error is allowed. Nothing is written."""
    from nbclient import NotebookClient

    notebook = read(path, root)
    watch = Watch(notebook, shown(path, root))
    client = NotebookClient(
        notebook,
        timeout=cell_seconds(),
        startup_timeout=START_SECONDS,
        kernel_name="python3",
        kernel_manager_class=kernel_manager_class(),
        resources={"metadata": {"path": str(path.parent)}},
        record_timing=False,
        on_cell_execute=watch.on_cell_execute,
    )
    with watch.explained(), client.setup_kernel():
        for index, cell in enumerate(notebook.cells):
            client.execute_cell(cell, index)
            for output in cell.get("outputs", []):
                if output.output_type == "error":
                    raise watch.problem(
                        f"shows {output.ename}: {output.evalue}; no cell of an unsolved lab may raise"
                    )
    return notebook


def _text(notebook: NotebookNode) -> str:
    import nbformat

    return nbformat.writes(notebook, version=4)


def run(path: Path, root: Path) -> dict[str, Any]:
    """Regenerate one solution in place, at once or not at all."""
    from ci.stored import as_stored
    from ci.verdicts import counts

    with tempfile.TemporaryDirectory(prefix="run-", dir=job.folder()) as folder:
        fresh = run_with_papermill(path, root, Path(folder))
    stored = read(path, root)
    try:
        text, kept = as_stored(fresh, stored, root)
    except Problem as problem:
        raise problem.placed(path=shown(path, root)) from None
    return {"cells": sum(map(is_run, kept.cells)), "changed": write(path, text), "verdicts": counts(kept)}


def labs(path: Path, root: Path) -> dict[str, Any]:
    """Run one unsolved lab and tell which verdict each of its reports gives."""
    from ci.verdicts import verdicts

    notebook = run_with_nbclient(path, root)
    return {"cells": sum(map(is_run, notebook.cells)), "verdicts": verdicts(notebook)}


def catalogue() -> dict[str, Any]:
    """The ids of all exercises and predictions of the project on the import path."""
    import helpers

    return {"exercises": list(helpers.exercises()), "predictions": list(helpers.predictions())}


def main(argv: list[str]) -> int:
    """Do one task, announce its result or its fault."""
    job.begin()
    if argv[0] == "catalogue":
        job.announce("result", **catalogue())
        return 0
    task: Callable[[Path, Path], dict[str, Any]] = {"run": run, "labs": labs}[argv[0]]
    path, root = Path(argv[1]), Path(argv[2])
    try:
        if fault := kernel_fault():
            raise Problem(fault, path=shown(path, root))
        result = task(path, root)
        json.dumps(result)
        job.announce("result", **result)
        return 0
    except Problem as problem:
        job.announce("fault", what=str(problem), log=isinstance(problem, NoKernel))
    except OSError as error:
        job.announce("fault", what=f"{shown(path, root)}: {trouble(error)}")
    finally:
        # The kernel is gone; what its cells started must be gone too, before the result counts.
        import os

        if job.MARK in os.environ:
            job.kill_marked(os.environ[job.MARK])
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
