"""The process that works on one notebook: `python -m ci.headless.worker run|compare|labs|edges ...`, started by pool.py."""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from ci.headless import child
from ci.headless.client import NoKernel, Watch, client_for
from ci.headless.kernels import START_SECONDS, cell_seconds, kernel_error, kernel_manager_class
from ci.notebooks.files import Problem, is_run, read, reason, shown, without_outputs, write


def run_with_papermill(path: Path, root: Path, folder: Path) -> NotebookNode:
    """Execute a solution into a temporary file and return what came; the notebook itself is not written."""
    import papermill

    notebook = read(path, root)
    watch = Watch(notebook, shown(path, root))
    copy = folder / path.name
    # The copy goes in without outputs, so that nothing old can be taken for a result.
    write(copy, _text(without_outputs(notebook)))
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


def run_with_nbclient(path: Path, root: Path) -> tuple[NotebookNode, dict[str, list[str]]]:
    """Execute an unsolved lab to its end; no error is allowed. Nothing is written.

    Returns:
        The notebook with its outputs, and the ids of the lab's exercises and predictions, as its kernel knows them.
    """
    notebook = read(path, root)
    watch = Watch(notebook, shown(path, root))
    client = client_for(notebook, path, watch)
    with watch.explained(), client.setup_kernel():
        for index, cell in enumerate(notebook.cells):
            client.execute_cell(cell, index)
            for output in cell.get("outputs", []):
                if output.output_type == "error":
                    raise watch.problem(
                        f"shows {output.ename}: {output.evalue}; no cell of an unsolved lab may raise"
                    )
        return notebook, _known(client, path)


def _known(client: Any, path: Path) -> dict[str, list[str]]:
    """Asked in the lab's kernel, which has imported the lab; importing all labs would take seconds."""
    stem = path.stem.partition("_")[2]
    question = f"import json\nfrom helpers.course.registry import ids\nprint(json.dumps(ids({stem!r})))"
    client.nb.cells.append(new_code_cell(question))
    cell = client.execute_cell(client.nb.cells[-1], len(client.nb.cells) - 1)
    client.nb.cells.pop()
    return json.loads("".join(output.text for output in cell.outputs if output.output_type == "stream"))


def _text(notebook: NotebookNode) -> str:
    import nbformat

    return nbformat.writes(notebook, version=4)


def run(path: Path, root: Path) -> dict[str, Any]:
    """Regenerate one solution in place, at once or not at all."""
    from ci.notebooks.verdicts import counts

    text, kept, _ = regenerated(path, root)
    changed = write(path, text)
    written = hashlib.sha256(text.encode()).hexdigest()
    cells = sum(map(is_run, kept.cells))
    return {"cells": cells, "changed": changed, "written": written, "verdicts": counts(kept)}


def compare(path: Path, root: Path) -> dict[str, Any]:
    """Run one solution as `run` does, and tell in which cells it would store something else; nothing is written."""
    from ci.headless.stored import changes

    _, kept, stored = regenerated(path, root)
    return {"cells": sum(map(is_run, kept.cells)), "changes": changes(kept, stored)}


def regenerated(path: Path, root: Path) -> tuple[str, NotebookNode, NotebookNode]:
    """A fresh run of a solution: the text to store, the notebook in it, and the notebook that is stored now.

    Raises:
        Problem: it was edited meanwhile, or what came cannot be stored.
    """
    from ci.headless.stored import as_stored

    before = _text(without_outputs(read(path, root)))
    with tempfile.TemporaryDirectory(prefix="run-", dir=child.folder()) as folder:
        fresh = run_with_papermill(path, root, Path(folder))
    stored = read(path, root)
    if _text(without_outputs(read(path, root))) != before:
        raise Problem(
            "it was edited while it ran, and is left as it is now: run it again", path=shown(path, root)
        )
    try:
        return *as_stored(fresh, stored, root), stored
    except Problem as problem:
        raise problem.placed(path=shown(path, root)) from None


def labs(path: Path, root: Path) -> dict[str, Any]:
    """Run one unsolved lab; tell which verdict each of its reports gives, and which there should be."""
    from ci.notebooks.verdicts import verdicts

    notebook, known = run_with_nbclient(path, root)
    return {"cells": sum(map(is_run, notebook.cells)), "verdicts": verdicts(notebook), "known": known}


def edges(path: Path, root: Path) -> dict[str, Any]:
    """Run one solution with a probe around all that it prints; tell which numbers stand near an edge."""
    from ci.headless.edges.run import edges

    return edges(path, root)


TASKS: dict[str, Callable[[Path, Path], dict[str, Any]]] = {
    "run": run,
    "compare": compare,
    "labs": labs,
    "edges": edges,
}


def main(argv: list[str]) -> int:
    """Do one task, announce its result or its error."""
    child.begin()
    task = TASKS[argv[0]]
    path, root = Path(argv[1]), Path(argv[2])
    try:
        if message := kernel_error():
            raise Problem(message, path=shown(path, root))
        result = task(path, root)
        json.dumps(result)
        child.announce("result", **result)
        return 0
    except Problem as problem:
        child.announce("error", what=str(problem), log=isinstance(problem, NoKernel))
    except OSError as error:
        child.announce("error", what=f"{shown(path, root)}: {reason(error)}")
    finally:
        # The kernel is gone; what its cells started must be gone too, before the result counts.
        import os

        if child.MARK in os.environ:
            child.kill_marked(os.environ[child.MARK])
    return 1


if __name__ == "__main__":
    child.leave(main(sys.argv[1:]))
