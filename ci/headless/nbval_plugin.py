"""nbval with the same kernel as `labbook run`, a watch on the kernel's life, and words for people.

Loaded with `-p ci.nbval_plugin`. It patches nbval 0.11.0 in five places; `require_known_nbval` is the tripwire.
"""

from __future__ import annotations

import difflib
import inspect
import os
import time
from collections.abc import Iterator
from queue import Empty
from typing import Any

import nbval
import nbval.kernel
import nbval.plugin
import pytest

from ci.headless import child
from ci.headless.kernels import cell_seconds, has_gpu
from ci.headless.words import DIED, hung, indented
from ci.notebooks.files import is_run, tags
from ci.notebooks.verdicts import counts

OUTPUT_SECONDS = 30  # for a message that follows a cell's end; nbval's own 5 are too few on a busy machine


SUMMARY: dict[str, Any] = {}  # the result of this process's one notebook


class KernelDied(Exception):
    """The kernel ended while it ran a cell."""


class CellHung(Exception):
    """A cell was not done in time."""


def require_known_nbval() -> None:
    """Refuse an nbval whose inside is not the one that is patched here.

    Raises:
        pytest.UsageError: it differs, with what differs.
    """
    wanted = {
        nbval.kernel.start_new_kernel: ["startup_timeout", "kernel_name", "kwargs"],
        nbval.kernel.RunningKernel.execute_cell_input: ["self", "cell_input", "allow_stdin"],
        nbval.kernel.RunningKernel.await_reply: ["self", "msg_id", "timeout"],
        nbval.plugin.IPyNbCell.format_output_compare: ["self", "key", "left", "right"],
        nbval.plugin.IPyNbCell.raise_cell_error: ["self", "message", "args", "kwargs"],
    }
    errors = [
        f"{f.__qualname__}{inspect.signature(f)}" for f, names in wanted.items() if _parameters(f) != names
    ]
    used = {
        nbval.kernel.RunningKernel.__init__: {"start_new_kernel", "_ensure_iopub_up"},
        nbval.plugin.IPyNbCell.runtest: {
            "execute_cell_input",
            "await_reply",
            "compare_outputs",
            "output_timeout",
        },
        nbval.plugin.IPyNbCell.compare_outputs: {"format_output_compare", "comparison_traceback"},
    }
    errors += [
        f"{f.__qualname__} does not use {names}" for f, names in used.items() if not names <= _names(f)
    ]
    if nbval.__version__ != "0.11.0":
        errors.insert(0, f"it is version {nbval.__version__}")
    if errors:
        raise pytest.UsageError(
            f"ci/headless/nbval_plugin.py patches nbval 0.11.0, this one differs: {'; '.join(errors)}"
        )


def _parameters(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)


def _names(function: Any) -> set[str]:
    return set(function.__code__.co_names)


_start_new_kernel = nbval.kernel.start_new_kernel


def start_new_kernel(*args: Any, **kwargs: Any) -> Any:
    """Start a kernel that does not know of pytest: with PYTEST_CURRENT_TEST it loses output on file descriptors."""
    kwargs["env"] = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return _start_new_kernel(*args, **kwargs | {"stderr": None})  # into the job's log


def execute_cell_input(self: Any, cell_input: str, allow_stdin: bool | None = None) -> str:
    """Execute as JupyterLab does: counted, and with a trailing `;` hiding the result."""
    return self.kc.execute(cell_input, store_history=True, allow_stdin=allow_stdin, stop_on_error=False)


def await_reply(self: Any, msg_id: str, timeout: float | None = None) -> None:
    """Wait for the end of a cell, and look twice a second whether the kernel lives.

    nbval itself interrupts a cell that hangs, and lets it pass if it swallows the interrupt.

    Raises:
        CellHung: the time is up; the kernel is stopped.
        KernelDied: the kernel ended.
    """
    end = time.monotonic() + (cell_seconds() if timeout is None else timeout)
    while (left := end - time.monotonic()) > 0:
        try:
            message = self.get_message(stream="shell", timeout=min(left, 0.5))
        except Empty:
            if not self.is_alive():
                raise KernelDied from None
            continue
        if message["parent_header"].get("msg_id") == msg_id:
            return
    self.stop()
    raise CellHung


def format_output_compare(self: Any, key: str, left: Any, right: Any) -> None:
    """Keep the difference between stored (`left`) and fresh (`right`) output, for the report."""
    old, new = (str(side).splitlines() for side in (left, right))
    lines = difflib.unified_diff(old, new, f"stored {key}", f"{key} now", lineterm="", n=1)
    self.comparison_traceback += lines


def patch() -> None:
    """Put the patches in place."""
    require_known_nbval()
    nbval.kernel.start_new_kernel = start_new_kernel
    nbval.kernel.RunningKernel.execute_cell_input = execute_cell_input
    nbval.kernel.RunningKernel.await_reply = await_reply
    nbval.plugin.IPyNbCell.format_output_compare = format_output_compare


def pytest_configure(config: pytest.Config) -> None:
    child.begin()
    patch()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Turn comparison off where a tag says so, and note what is compared."""
    cells = [item for item in items if isinstance(item, nbval.plugin.IPyNbCell)]
    for item in cells:
        item.output_timeout = OUTPUT_SECONDS
        if _reason(item.cell):
            item.options["check"] = False
    showing = [item for item in cells if item.cell.outputs]
    left_out = {
        item.cell.id: _reason(item.cell) or "nbval is told not to"
        for item in showing
        if not item.options["check"] or item.options["skip"]
    }
    if cells:
        notebook = cells[0].parent.nb
        SUMMARY.update(cells=sum(map(is_run, notebook.cells)), of=len(showing), left_out=left_out)
        SUMMARY.update(verdicts=counts(notebook))


def _reason(cell: Any) -> str:
    if "volatile" in tags(cell):
        return "volatile"
    return "" if "gpu" not in tags(cell) or has_gpu() else "needs a GPU"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    if isinstance(item, nbval.plugin.IPyNbCell):
        child.announce("cell", cell=item.cell.id, index=item.cell_num + 1)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[pytest.TestReport]:
    report = yield
    if report.failed and isinstance(item, nbval.plugin.IPyNbCell):
        where = os.environ.get(child.NOTEBOOK, item.path.name)
        error = call.excinfo.value
        if call.when == "setup":
            what = f"{where}: the Jupyter kernel did not start: {error or type(error).__name__}"
            child.announce("error", what=what, log=True)
            item.session.shouldstop = "no kernel"
            return report
        what, last = problem(error, item)
        child.announce("error", what=f"{where}, cell {item.cell.id}: {what}")
        if last:
            item.session.shouldstop = what
    return report


def problem(error: BaseException, item: Any) -> tuple[str, bool]:
    """What happened, in words, and whether the cells after it cannot be judged."""
    if isinstance(error, KernelDied):
        return DIED, True
    if isinstance(error, CellHung):
        return hung(cell_seconds()), True
    if not isinstance(error, nbval.plugin.NbCellError):
        return f"the kernel was lost: {error}", True
    text = indented(error.inner_traceback or "")
    if str(error) == "Cell outputs differ":
        return f"the output is not the stored one (-): now (+)\n{text}", False
    return f"{error}\n{text}".rstrip(), item.parent.timed_out


def pytest_sessionfinish() -> None:
    if SUMMARY:
        child.announce("result", **SUMMARY)


def pytest_unconfigure() -> None:
    if child.MARK in os.environ:
        child.kill_marked(os.environ[child.MARK])
