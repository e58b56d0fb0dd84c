"""What learners do to their notebooks, and an update after it: more rows of the fault table, one test each."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import nbformat
import pytest

from helpers.work import lost_lines, merge, update
from helpers.work.notebook import parsed, woven
from tests.support import work_projects as tiny
from tests.support.work_projects import ANSWER, OUTPUT, SEED, Project

Cells = list[dict[str, Any]]


@pytest.fixture
def project(tmp_path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A learner at work in lab 01."""
    tiny.alone(monkeypatch)
    return Project(tmp_path).begin().learn()


def moved_up(cells: Cells) -> None:
    cells.insert(1, cells.pop(3))


def duplicated(cells: Cells) -> None:
    cells.insert(4, tiny.find(cells, "seed") | {"id": "a-copy"})


def duplicated_with_its_id(cells: Cells) -> None:
    twin = json.loads(json.dumps(tiny.find(cells, "seed")))
    cells.insert(4, twin | {"source": twin["source"] + "\n# the twin"})


def split(cells: Cells) -> None:
    head, tail = tiny.find(cells, "seed")["source"].split('    """\n')
    tiny.find(cells, "seed")["source"] = head + '    """\n'
    cells.insert(4, tiny.cell("tail", tail))


def joined(cells: Cells) -> None:
    tiny.find(cells, "seed")["source"] += "\n\n" + cells.pop(4)["source"]


def with_another_id(cells: Cells) -> None:
    tiny.find(cells, "seed")["id"] = "f00dcafe"


def as_text(cells: Cells) -> None:
    one = tiny.find(cells, "seed")
    one["cell_type"] = "markdown"
    del one["outputs"], one["execution_count"]


def deleted(cells: Cells) -> None:
    cells.remove(tiny.find(cells, "seed-use"))


def own_cells(cells: Cells) -> None:
    cells.insert(0, tiny.cell("first", "on_top = 1"))
    cells.append(tiny.text("last", "At the end."))
    cells.insert(7, tiny.cell("between", "in_between = 1"))


def written_anew(cells: Cells) -> None:
    tiny.find(cells, "seed")["source"] = "seed = lambda number: hash(number)"


def same_lines(cells: Cells) -> None:
    tiny.replace(cells, "seed", "number: any.", "number: the learner's own words.")


def not_python(cells: Cells) -> None:
    tiny.replace(cells, "imports", "from", "%load_ext autoreload\nfrom")


def run(cells: Cells) -> None:
    widget = {"application/vnd.jupyter.widget-view+json": {"model_id": "a1"}, "text/plain": ["IntSlider()"]}
    output = {"output_type": "display_data", "data": widget, "metadata": {}}
    for one in cells:
        one["metadata"]["collapsed"] = True
        if one["cell_type"] == "code":
            one["execution_count"], one["outputs"] = 7, [OUTPUT, output]
            one["metadata"]["execution"] = {"iopub.execute_input": "2026-11-22T08:00:00Z"}


def nothing_more(cells: Cells) -> None:
    pass


EDITS = [
    moved_up,
    duplicated,
    duplicated_with_its_id,
    split,
    joined,
    with_another_id,
    as_text,
    deleted,
    own_cells,
    written_anew,
    same_lines,
    not_python,
    run,
    nothing_more,
]


def lines_of(cells: Cells) -> list[str]:
    return [line.rstrip() for one in cells for line in "".join(one["source"]).splitlines() if line.strip()]


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["", "windows"])
@pytest.mark.parametrize("edit", EDITS)
def test_what_the_learner_did_is_kept(
    project: Project, capsys: pytest.CaptureFixture[str], edit: Callable[[Cells], None], newline: str
) -> None:
    project.change("work", edit)
    path = project.work / SEED
    if newline == "\r\n":
        text = path.read_text(encoding="utf-8")
        path.write_bytes(text.replace("\\n", "\\r\\n").replace("\n", newline).encode())
    before = project.read("work")["cells"]
    stock = lines_of(tiny.SEEDS)
    written = [line for line in lines_of(before) if line not in stock]
    project.go_on()

    assert update.update(project.root) == 0
    after = project.read("work")["cells"]
    for line in written:
        assert lines_of(after).count(line) >= written.count(line), line
    ids = [one["id"] for one in after]
    assert len(set(ids)) == len(ids)
    nbformat.validate(nbformat.read(path, 4))
    outputs = [one["outputs"] for one in before if one.get("outputs") and one["id"] != "summary"]
    assert [one["outputs"] for one in after if one.get("outputs")] == outputs
    assert "seed-read" in ids and "summary" not in ids
    whole = path.read_bytes()
    capsys.readouterr()
    assert update.update(project.root) == 0 and path.read_bytes() == whole
    assert capsys.readouterr().out.startswith("Your copies are up to date: there was nothing to do")


def test_windows_line_ends_are_no_change_by_the_learner(project: Project) -> None:
    path = project.work / SEED
    path.write_bytes(path.read_bytes().replace(b"\\n", b"\\r\\n").replace(b"\n", b"\r\n"))
    project.go_on()
    assert update.update(project.root) == 0
    assert project.source("seed-use") == "seed(1)\nseed(-2)"
    assert "also a negative one" in project.source("seed") and "summary" not in project.ids()


def test_answer_and_newer_docstring_stand_together(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.go_on()
    update.update(project.root)
    assert project.source("seed") == (
        f'def seed(number):\n    """Seeds.\n\n    number: any, also a negative one.\n    """\n{ANSWER}'
    )
    assert project.source("guess") == 'guess = "B"'
    assert project.source("seed-use") == "seed(1)\nseed(-2)"
    assert project.ids() == [
        *("question", "imports", "seed-box", "seed", "seed-check", "own", "seed-use", "seed-read"),
        *("seed-twice-box", "seed-twice", "seed-twice-check", "guess-question", "guess", "guess-check"),
    ]
    output = capsys.readouterr().out
    assert (
        f"{SEED}: merged (cells of the course: 1 new, 3 changed, 1 removed). What you wrote is kept."
        in output
    )
    assert "Before: work/.backups/0001-update" in output and "`labbook undo` takes this update back" in output


def test_where_both_changed_a_line_the_learners_stands_and_it_is_said(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.change("work", same_lines)
    project.go_on()
    update.update(project.root)
    assert "the learner's own words" in project.source("seed")
    assert f"changed the same lines: 01.seed. Yours stand; the course's are in labs/{SEED}." in (
        capsys.readouterr().out
    )


def test_no_piece_of_the_course_gets_into_an_answer_that_was_written_anew(project: Project) -> None:
    project.change("work", written_anew)
    project.go_on()
    update.update(project.root)
    assert project.source("seed") == "seed = lambda number: hash(number)"


def test_order_of_the_course_unless_the_learner_moved_cells(project: Project) -> None:
    project.change("labs", lambda cells: cells.insert(1, cells.pop(9)))
    update.update(project.root)
    assert project.ids()[:3] == ["question", "guess-question", "imports"]
    project.change("work", moved_up)
    moved = project.ids()
    project.change("labs", lambda cells: cells.insert(1, cells.pop(9)))
    update.update(project.root)
    assert project.ids() == moved


def test_deleted_cells_stay_deleted(project: Project) -> None:
    project.change("work", deleted)
    project.go_on()
    update.update(project.root)
    assert "seed-use" not in project.ids()


def test_metadata_of_both_sides(project: Project) -> None:
    mine, new = project.read("work"), project.read("labs")
    mine["metadata"]["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": {}}}
    mine["cells"][3]["metadata"]["collapsed"] = True
    new["metadata"]["toc"] = 1
    new["cells"][3]["metadata"]["tags"] = ["gpu"]
    project.write("work", SEED, mine)
    project.write("labs", SEED, new)
    assert update.update(project.root) == 0
    after = project.read("work")
    assert after["metadata"].keys() >= {"widgets", "toc", "labbook", "kernelspec"}
    assert after["cells"][3]["metadata"] == {"collapsed": True, "tags": ["gpu"]}


@pytest.mark.parametrize("fault", ["a line", "a cell", "outputs", "ids", "form"])
def test_merge_that_would_lose_something_is_not_taken(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fault: str
) -> None:
    real = merge.merge

    def broken(*parts: Any) -> merge.Merged:
        merged = real(*parts)
        cells = merged.notebook["cells"]
        if not any(one["id"] == "seed" for one in cells):
            return merged  # the other lab
        if fault == "a line":
            tiny.replace(cells, "seed", ANSWER, "    pass")
        elif fault == "a cell":
            cells.remove(tiny.find(cells, "own"))
        elif fault == "outputs":
            tiny.find(cells, "seed-check")["outputs"] = []
        elif fault == "ids":
            tiny.find(cells, "seed-read")["id"] = "seed-use"
        else:
            tiny.find(cells, "seed-read")["cell_type"] = "none"
        return merged

    monkeypatch.setattr(update, "merge", broken)
    project.go_on()
    kept = project.notebooks()[SEED]
    assert update.update(project.root) == 1
    assert project.notebooks()[SEED] == kept
    output = capsys.readouterr().out
    assert f"{SEED}: your copy was left alone, since " in output and "beside it: new-01_seeds.ipynb" in output


def test_nothing_is_found_wrong_with_the_copy_itself(project: Project) -> None:
    base, copy = (parsed((project.root / folder / SEED).read_bytes()) for folder in ("labs", "work"))
    assert lost_lines.faults(base, copy, copy) == []
    assert lost_lines.faults(base, copy, base) != []


@pytest.mark.parametrize(
    ("order", "other", "whole"),
    [("ace", "abcd", "abcde"), ("bc", "abc", "abc"), ("", "ab", "ab"), ("cab", "abxc", "cabx")],
)
def test_woven(order: str, other: str, whole: str) -> None:
    assert "".join(woven(order, other)) == whole
