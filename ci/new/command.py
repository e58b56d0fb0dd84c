"""`labbook new 19.double`: the folder, the cells and the file of right answers of an exercise, with TODO where words are missing.

The tests fail until all of it is filled: six mistakes, two right answers, no TODO left.
"""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from ci.notebooks.canonical import notebook_text
from ci.notebooks.files import Problem, WrongUse, number, read, shown
from helpers.check.spec import ID
from helpers.files import put

LAB = '''"""Lab {lab_number}: TODO: its question?"""

from helpers.labs import contents

globals().update(contents(__name__))
'''
EXERCISE = '''"""Exercise {id}: TODO: what it is about."""

from __future__ import annotations

from typing import Any

import torch

from helpers.check.trial import Trial
from helpers.exercise import Exercise

{name} = Exercise(
    "{id}",
    "TODO: its title",
    objective="TODO: what somebody can do who has solved it.",
    minutes=15,
    difficulty="medium",
    hints=["TODO: a nudge", "TODO: the idea", "TODO: nearly there"],
)


@{name}.property("TODO: what is true of every right answer", asks="TODO: the words of the docstring that it holds")
def _(answer: Any, trial: Trial) -> None:
    x = torch.randn(3, 5, generator=trial.generator)
    trial.given(f"x of shape {{tuple(x.shape)}}")
    trial.equal(trial.call(answer, x), 2 * x)
'''
MISTAKES = '''"""What people write for {id}, and why it is wrong."""

from __future__ import annotations

from torch import Tensor

from helpers.labs.{lab}.{name}.exercise import {name}


@{name}.mistake(breaks="TODO: the words of the docstring that it breaks")
def todo(x: Tensor) -> Tensor:
    """TODO: the sentence of a good teacher."""
    return x
'''
RIGHT = '''"""Right answers of {id}, of other shapes than the solution's."""

from __future__ import annotations

from typing import Any

RIGHT: list[Any] = []  # TODO: two or more
'''
BOX = """### Exercise: TODO: its title

> **Objective.** TODO: what somebody can do who has solved it.
>
> 15 minutes, medium, core. When you are stuck: `lab.{name}.hint()` gives a hint, one more each time."""
CELL = '''def {name}(x: torch.Tensor) -> torch.Tensor:
    """TODO: what it returns, with shapes, dtypes and errors. Each sentence is held by a property."""
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION'''


def new(root: Path, id: str, *, lab: str = "") -> int:
    """Writes the files of an exercise that is to be written. Nothing that is there is changed, but the notebook, which
    gets three cells at its end. Returns the exit code.

    Args:
        root: The project.
        id: Of the exercise: `19.double`.
        lab: The name of a lab that is not there yet: `allocators`. It is made.
    """
    if not ID.fullmatch(id):
        raise WrongUse(f"{id!r} is no exercise id: write the lab's number and a name, 19.double")
    notebook = _notebook(root, id[:2], lab)
    stem, exercise = notebook.stem, id[3:]
    words = {"id": id, "name": exercise, "lab": stem[3:], "lab_number": id[:2]}
    folder = root / "helpers" / "labs" / stem[3:]
    texts = {
        folder / exercise / "exercise.py": EXERCISE,
        folder / exercise / "mistakes.py": MISTAKES,
        root / "tests" / "labs" / stem / f"{exercise}.py": RIGHT,
    }
    for path in texts:
        if path.exists():
            raise Problem("this is there already, and nothing was written", path=shown(path, root))
    text = _with_cells(notebook, root, words)
    if not (folder / "__init__.py").exists():
        texts[folder / "__init__.py"] = LAB
    for path, template in texts.items():
        put(path, template.format(**words))
    put(notebook, text)
    for path in sorted([*texts, notebook]):
        print(shown(path, root))
    print(
        f"Fill each TODO. Then: labbook format, labbook derive, labbook run {id[:2]}, labbook messages {id[:2]}, and "
        f"pytest tests/check -k {id}"
    )
    return 0


def _notebook(root: Path, lab_number: str, lab: str) -> Path:
    """The notebook of the lab; of a new one, where it will stand."""
    found = [path for path in sorted((root / "solutions").glob("*.ipynb")) if number(path) == lab_number]
    if found and lab and found[0].stem[3:] != lab:
        raise WrongUse(f"lab {lab_number} is {found[0].stem[3:]}, not {lab}")
    if found:
        return found[0]
    if not re.fullmatch(r"[a-z][a-z0-9_]*", lab):
        raise WrongUse(
            f"there is no lab {lab_number} yet: name it, labbook new {lab_number}.double --lab allocators"
        )
    return root / "solutions" / f"{lab_number}_{lab}.ipynb"


def _with_cells(path: Path, root: Path, words: dict[str, str]) -> str:
    """The text of the notebook with the exercise's cells at its end."""
    if path.exists():
        notebook = read(path, root)
    else:
        title = words["lab"].replace("_", " ").capitalize()
        question = f"# {words['lab_number']} {title}\n\n**Question.** TODO: what does this lab answer?"
        imports = f"import torch\n\nfrom helpers.labs import {words['lab']} as lab"
        notebook = new_notebook(
            cells=[new_markdown_cell(question, id="question"), new_code_cell(imports, id="imports")]
        )
    cell = words["name"].replace("_", "-")
    if taken := {cell, f"{cell}-box", f"{cell}-check"} & {one.id for one in notebook.cells}:
        raise Problem(
            f"a cell has the id {min(taken)} already, and nothing was written", path=shown(path, root)
        )
    notebook.cells += [
        new_markdown_cell(BOX.format(**words), id=f"{cell}-box"),
        new_code_cell(CELL.format(**words), id=cell),
        new_code_cell("lab.{name}.check({name})".format(**words), id=f"{cell}-check"),
    ]
    nbformat.validate(notebook)
    return notebook_text(notebook)
