"""labs/ from solutions/: stubs, guards, and messages that say what and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from ci.notebooks.derive import derive, lab
from ci.notebooks.files import Problem
from ci.notebooks.markers import looks_like_marker
from ci.notebooks.rules import is_trivial
from tests.support.project import (
    ADD,
    ADD_CHECK,
    code,
    exercise_project,
    notebook,
    output_of,
    sources,
    store,
    text,
)


def derived(*cells) -> dict[str, str]:
    """The sources of the lab that these cells of lab 01 give, by cell id."""
    return {cell.id: cell.source for cell in lab(notebook(*cells), "01").cells}


def marked(*lines: str, begin: str = "### BEGIN SOLUTION", end: str = "### END SOLUTION") -> str:
    return "\n".join([begin, *lines, end])


def inside(body: str, head: str = "def seed_all(seed):") -> str:
    """A function whose body is a solution."""
    return f"{head}\n    ### BEGIN SOLUTION\n    {body}\n    ### END SOLUTION"


def test_a_function_raises_with_the_exercises_id():
    lab = derived(
        code("seed-all", inside("return seed + 41 * 3")),
        code("seed-all-check", "lab.seed_all.check(seed_all)"),
    )
    assert lab["seed-all"] == 'def seed_all(seed):\n    raise NotImplementedError("01.seed_all")'


def test_the_docstring_and_the_rest_of_the_cell_stay():
    lab = derived(code("add", f"import math\n\n\n{ADD}\n\n\nprint('after')"), code("add-check", ADD_CHECK))
    assert '"""The sum of two numbers."""' in lab["add"] and lab["add"].endswith("print('after')")


def test_every_function_of_a_cell_carries_the_cells_id():
    both = (
        inside("return 1 + 2 * 3", "def save(path):")
        + "\n\n\n"
        + inside("return 4 + 5 * 6", "def load(path):")
    )
    lab = derived(code("save-run", both), code("save-run-check", "lab.save_run.check((save, load))"))
    assert lab["save-run"].count('raise NotImplementedError("01.save_run")') == 2


def test_a_method_raises():
    source = "class Net:\n    size = 3\n\n    def forward(self, x):\n        ### BEGIN SOLUTION\n        return x * self.size\n        ### END SOLUTION"
    lab = derived(code("net", source), code("net-check", "lab.net.check(Net)"))
    assert lab["net"].endswith('    def forward(self, x):\n        raise NotImplementedError("01.net")')


def test_a_name_at_the_top_level_becomes_an_ellipsis():
    lab = derived(
        code("guess", marked("answer, (why, _) = 'B', ('because', 0)") + "\nlab.guess.check(answer)")
    )
    assert lab["guess"] == "answer = ...\nwhy = ...\n_ = ...\nlab.guess.check(answer)"


def test_a_function_inside_a_region_becomes_an_ellipsis():
    lab = derived(
        code(
            "add",
            marked(
                *ADD.replace("    ### BEGIN SOLUTION\n", "").replace("\n    ### END SOLUTION", "").split("\n")
            ),
        ),
        code("add-check", ADD_CHECK),
    )
    assert lab["add"] == "add = ..."


def test_a_region_in_a_block_keeps_its_indent():
    source = "with waits():\n    ### BEGIN SOLUTION\n    guess = 'B'\n    ### END SOLUTION\n    lab.guess.check(guess)"
    assert (
        derived(code("guess", source))["guess"]
        == "with waits():\n    guess = ...\n    lab.guess.check(guess)"
    )


def test_prose_becomes_a_place_for_an_answer():
    lab = derived(text("why", "Why?\n\n" + marked("Because three generators draw.") + "\n\nGo on."))
    assert lab["why"] == "Why?\n\n*Your answer here.*\n\nGo on."


def test_a_cell_for_teachers_is_dropped():
    assert list(derived(text("intro", "Hello."), text("note", "For teachers.", "solution-only"))) == ["intro"]


def test_magics_are_no_obstacle():
    source = f"%matplotlib inline\n!ls\n{ADD}"
    assert "raise NotImplementedError" in derived(code("add", source), code("add-check", ADD_CHECK))["add"]


@pytest.mark.parametrize(
    "line",
    [
        "# BEGIN SOLUTION", "### BEGIN SOLUTON", "### begin solution", "###BEGIN SOLUTION", "#### END SOLUTION",
        "### BEGIN  SOLUTION", "### BEGIN SOLUTION (easy)", "x = 1  ### END SOLUTION", "### BEGN SOLUTION",
        "### END SOLUTIONS", "### BEGIN_SOLUTION", "### BEGINSOLUTION", "### SOLUTION BEGIN", "## End Solution",
    ],
)  # fmt: skip
@pytest.mark.parametrize("make", [code, text])
def test_a_misspelt_marker_is_refused(line, make):
    with pytest.raises(Problem, match=r"cell add, line 2: misspelt marker"):
        derived(make("add", f"# a title\n{line}"))


@pytest.mark.parametrize(
    "line",
    [
        "# the solution",
        "# Solution",
        "# and a solution",
        "In the end solution two wins.",
        "# Begin here",
        "x = 1",
    ],
)
def test_prose_is_no_marker(line):
    assert not looks_like_marker(line)


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("### BEGIN SOLUTION\nx = 1", "line 1: BEGIN SOLUTION without an END"),
        ("x = 1\n### END SOLUTION", "line 2: END SOLUTION without a BEGIN"),
        (marked("### BEGIN SOLUTION", "x = 1"), "line 2: BEGIN SOLUTION inside the region that began in line 1"),
        (marked("# nothing"), "line 1: there is no code between the markers"),
        (marked("print(1)"), "line 1: at the top level of a cell a solution must assign a name"),
        ("class Net:\n    ### BEGIN SOLUTION\n    size = 3\n    ### END SOLUTION", "line 2: the markers stand directly in class Net"),
        ("def f():\n  x = 1\n### BEGIN SOLUTION\n  return x\n### END SOLUTION\n  y = 2", "with its stub the cell does not parse"),
        ("def f(:\n    pass\n" + marked("x = 1"), "line 1: this is not valid Python"),
    ],
)  # fmt: skip
def test_a_fault_names_cell_and_line(source, what):
    with pytest.raises(Problem) as raised:
        derived(code("add", source))
    assert str(raised.value).startswith("cell add") and what in str(raised.value)


def test_a_solution_in_a_raw_cell_is_refused():
    from nbformat.v4 import new_raw_cell

    with pytest.raises(Problem, match="cell raw, line 1: a raw cell cannot hold a solution"):
        derived(new_raw_cell(marked("x"), id="raw"))


@pytest.mark.parametrize("place", [code, text])
def test_a_solution_line_that_survives_is_refused(place):
    with pytest.raises(Problem) as raised:
        derived(
            code("add", ADD),
            code("add-check", ADD_CHECK),
            place("demo", "x\n  total_of_both = a + b + 0  # look"),
        )
    assert str(raised.value).startswith(
        "cell add, line 4: the solution line 'total_of_both = a + b + 0' survives"
    )
    assert "cell demo, line 2" in str(raised.value)


@pytest.mark.parametrize(
    "line",
    ["return result", "import random as r", "for x, y in loader:", "loss.backward()", "super().__init__()", "else:",
     "with torch.no_grad():", "# a comment here", "x = y[0]", "optimizer.zero_grad()", "return None", "losses = []"],
)  # fmt: skip
def test_common_lines_may_stand_elsewhere(line):
    assert is_trivial(line)


@pytest.mark.parametrize(
    "line",
    ["torch.manual_seed(seed)", "return sorted(values, key=abs)", "for i in range(len(x) // 2):", "answer = 6 * 7 + 1",
     "with torch.random.fork_rng(devices=[]):", "state['step'] += 1"],
)  # fmt: skip
def test_telling_lines_may_not(line):
    assert not is_trivial(line)


@pytest.mark.parametrize(
    "name", ["c1", "3a5f9b12", "deadbee1", "Add", "add_one", "e91a22d4-9c8f-4b8e-a5b1-0123456789ab"]
)
def test_an_id_that_is_not_human_is_refused(name):
    with pytest.raises(Problem, match=f"cell {name}:"):
        derived(code(name, "x = 1"))


def test_an_exercise_without_a_check_is_refused():
    with pytest.raises(Problem, match="cell add: no code cell add-check comes after"):
        derived(code("add", ADD), code("other", ADD_CHECK))


def test_a_check_cell_that_checks_nothing_is_refused():
    with pytest.raises(Problem, match="cell add-check: nothing is checked"):
        derived(code("add", ADD), code("add-check", "print('passed')"))


def test_a_prediction_without_a_check_is_refused():
    with pytest.raises(Problem, match="cell guess: neither this cell nor the next"):
        derived(
            code("guess", marked("answer = 'B'")), code("other", "1"), code("late", "lab.guess.check(answer)")
        )


def test_labs_are_written_without_outputs_and_then_hold(tmp_path: Path):
    root = exercise_project(tmp_path)
    assert output_of(lambda: derive(root, check=False))[0] == 0
    assert sources(root / "labs/01_add.ipynb")["add-check"] == ADD_CHECK
    assert output_of(lambda: derive(root, check=True)) == (0, "derive: 1 labs are as solutions/ says\n")


def test_a_lab_edited_by_hand_is_shown_as_a_difference(tmp_path: Path):
    root = exercise_project(tmp_path)
    output_of(lambda: derive(root, check=False))
    lab = root / "labs/01_add.ipynb"
    lab.write_text(lab.read_text().replace("The sum", "The SUM"))
    code, heard = output_of(lambda: derive(root, check=True))
    assert code == 1 and "labs/01_add.ipynb is not what solutions/ gives" in heard
    assert (
        '-[add]     """The SUM of two numbers."""' in heard
        and '+[add]     """The sum of two numbers."""' in heard
    )


def test_an_edited_solution_makes_its_lab_stale(tmp_path: Path):
    root = exercise_project(tmp_path)
    output_of(lambda: derive(root, check=False))
    exercise_project(root, text("end", "A new line."))
    code, heard = output_of(lambda: derive(root, check=True))
    assert code == 1 and "+[end] A new line." in heard


def test_outputs_in_a_lab_are_a_difference(tmp_path: Path):
    root = exercise_project(tmp_path)
    output_of(lambda: derive(root, check=False))
    lab = root / "labs/01_add.ipynb"
    lab.write_text(lab.read_text().replace('"execution_count": null', '"execution_count": 1'))
    code, heard = output_of(lambda: derive(root, check=True))
    assert code == 1 and "differs in outputs, tags or form" in heard


def test_a_missing_lab_and_a_lab_without_solution_are_named(tmp_path: Path):
    root = exercise_project(tmp_path)
    store(root / "labs/09_old.ipynb", text("intro", "Hello."))
    code, heard = output_of(lambda: derive(root, check=True))
    assert code == 1 and "labs/01_add.ipynb is missing" in heard
    assert (
        "labs/09_old.ipynb has no notebook in solutions/" in heard and (root / "labs/09_old.ipynb").exists()
    )


def test_a_faulty_solution_leaves_its_lab_as_it_was(tmp_path: Path):
    root = exercise_project(tmp_path)
    output_of(lambda: derive(root, check=False))
    before = (root / "labs/01_add.ipynb").read_text()
    solution = root / "solutions/01_add.ipynb"
    solution.write_text(solution.read_text().replace("### BEGIN SOLUTION", "### BEGIN SOLUTON"))
    code, heard = output_of(lambda: derive(root, check=False))
    assert code == 1 and "solutions/01_add.ipynb, cell add, line 3: misspelt marker" in heard
    assert (root / "labs/01_add.ipynb").read_text() == before


def test_a_notebook_that_is_no_json_is_named_with_its_line(tmp_path: Path):
    root = exercise_project(tmp_path)
    solution = root / "solutions/01_add.ipynb"
    solution.write_text("<<<<<<< HEAD\n" + solution.read_text())
    code, heard = output_of(lambda: derive(root, check=True))
    assert (
        code == 1
        and "solutions/01_add.ipynb, line 1: this is not valid JSON" in heard
        and "git's conflict marks" in heard
    )


def test_an_empty_project_is_a_fault(tmp_path: Path):
    assert output_of(lambda: derive(tmp_path, check=True)) == (
        1,
        "derive: solutions/: there is no notebook here\n",
    )
