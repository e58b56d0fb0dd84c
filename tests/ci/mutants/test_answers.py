"""What is edited of an exercise: the solution between its markers, and what each right answer uses."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import helpers
from ci.mutants.answers import SOLUTION, _executed, _used, mutants
from helpers import paths

LISTS = [
    path for path in sorted((paths.ROOT / "tests" / "labs").glob("[0-9]*/*.py")) if path.stem != "shared"
]


def test_an_exercise_has_mutants_of_its_solution_and_of_its_right_answers() -> None:
    found = list(mutants(helpers.exercises()["04.sgd_step"]))
    where = {mutant.where for mutant in found}
    assert SOLUTION in where and len(where) > 2
    assert all(callable(mutant.answer) for mutant in found)
    again = list(mutants(helpers.exercises()["04.sgd_step"]))
    assert [(one.where, one.line, one.edit) for one in found] == [
        (one.where, one.line, one.edit) for one in again
    ]


def test_the_given_part_of_a_cell_is_not_edited() -> None:
    of_the_solution = [one for one in mutants(helpers.exercises()["04.adamw_step"]) if one.where == SOLUTION]
    assert not [one for one in of_the_solution if one.line.startswith("def ")], (
        "defaults of the given signature"
    )


def test_an_answer_uses_what_its_functions_use() -> None:
    tree = ast.parse("def a(): pass\ndef b(): a()\ndef c(): pass\nRIGHT: list = [b, (c, partial(a, 1))]")
    assert _used(tree) == [{"a", "b"}, {"a", "c"}]


def test_an_answer_uses_what_a_constant_of_its_module_holds_and_not_what_it_defines_anew() -> None:
    tree = ast.parse(
        "def a(): pass\nPARTS = {1: a}\ndef b(): PARTS[1]()\n"
        "def c():\n    def a(): pass\n    a()\nRIGHT = [b, c]"
    )
    assert _used(tree) == [{"a", "b", "PARTS"}, {"c"}]


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_every_list_of_right_answers_can_be_edited(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert len(_used(tree)) == len(_executed(tree, path).RIGHT)
