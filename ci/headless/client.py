"""What runs the cells of a notebook, and a watch that turns what it raises into words for people."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from ci.headless import child
from ci.headless.kernels import START_SECONDS, cell_seconds, kernel_manager_class
from ci.headless.words import DIED, hung, indented
from ci.notebooks.files import Problem, is_run


class NoKernel(Problem):
    """The kernel did not start; why stands in the job's log."""


class Watch:
    """Knows the cell that is being run, and announces each."""

    def __init__(self, notebook: NotebookNode, where: str) -> None:
        self.notebook, self.where, self.cell = notebook, where, ""

    def on_cell_execute(self, cell: NotebookNode, cell_index: int) -> None:
        self.cell = cell.id
        child.announce(
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
            raise self.problem(hung(cell_seconds())) from None
        except DeadKernelError:
            if not self.cell:
                raise Problem("the kernel died before its first cell", path=self.where) from None
            raise self.problem(DIED) from None
        except (PapermillExecutionError, CellExecutionError) as error:
            message = f"{error.ename}: {error.evalue}".strip().rstrip(":")
            trace = getattr(error, "traceback", "") or str(error)
            if not isinstance(trace, str):  # papermill gives lines, nbclient a text
                trace = "\n".join(trace)
            raise self.problem(f"raises {message}\n{indented(trace)}") from None
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


def client_for(notebook: NotebookNode, path: Path, watch: Watch) -> Any:
    """The nbclient that runs a notebook where it lies."""
    from nbclient import NotebookClient

    return NotebookClient(
        notebook,
        timeout=cell_seconds(),
        startup_timeout=START_SECONDS,
        kernel_name="python3",
        kernel_manager_class=kernel_manager_class(),
        resources={"metadata": {"path": str(path.parent)}},
        record_timing=False,
        on_cell_execute=watch.on_cell_execute,
    )
