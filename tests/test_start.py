"""The map of the course: what is solved, what is next, and that it can be drawn whatever is damaged."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from helpers import paths, start
from helpers.course import catalogue, overview
from helpers.course.catalogue import Entry, Fall
from helpers.course.progress import NAME, note_solved
from helpers.work import status
from helpers.work.copies import put_copy

MISTAKE = Fall("One was forgotten.", "the sum is right", "Expected 3, got 4.", "x = [1, 2]")


def entry(id: str, minutes: int = 10, *, core: bool = True, version: int = 1, mistakes: int = 6) -> Entry:
    """An exercise as a file of the catalogue has it, with so many mistakes."""
    names = [f"mistake_{number}" for number in range(mistakes)]
    return Entry(id, id[3:].capitalize(), minutes, core, version, dict.fromkeys(names, MISTAKE))


def write_lab(
    project: Path, stem: str, *exercises: Entry, text: str = "# {number} {topic}\n\n**Question.** Why?"
) -> None:
    """A lab with its cells and, if it has exercises, its file of the catalogue."""
    number, _, topic = stem.partition("_")
    cells = [{"id": "title", "source": [text.format(number=number, topic=topic.capitalize())]}]
    cells += [{"id": exercise.id[3:].replace("_", "-"), "source": []} for exercise in exercises]
    (project / "labs").mkdir(exist_ok=True)
    (project / "labs" / f"{stem}.ipynb").write_text(json.dumps({"cells": cells}))
    if exercises:
        catalogue.folder().mkdir(parents=True, exist_ok=True)
        given = {exercise.id: exercise for exercise in exercises}
        (catalogue.folder() / f"{stem}.json").write_text(catalogue.as_text(given))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two labs: 01 with two core exercises and an optional one, 02 with one."""
    for name in ("labs", "data", "work"):
        monkeypatch.setattr(paths, name.upper(), tmp_path / name)
    monkeypatch.delenv("LABBOOK_HEADLESS", raising=False)
    write_lab(tmp_path, "00_start")
    write_lab(
        tmp_path,
        "01_seeds",
        entry("01.draw", 10),
        entry("01.draw_more", 15, core=False, mistakes=7),
        entry("01.keep", 20),
    )
    write_lab(tmp_path, "02_more", entry("02.load", 30, mistakes=9))
    return tmp_path


def page() -> str:
    return start.course()._repr_html_()


def printed(project: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert status.status(project) == 0
    return capsys.readouterr().out


def test_a_learner_who_begins_sees_every_lab_and_where_to_begin(project: Path) -> None:
    assert str(start.course()) == (
        "Nothing is solved yet. Begin here: lab 01 Seeds.\n"
        "01 Seeds (begin here)\n"
        "   Why?\n"
        "   0 of 2 solved, optional: 0 of 1\n"
        "   exercises: about 30 minutes (the optional ones 15 more); their checks reject 19 known wrong answers\n"
        "02 More\n"
        "   Why?\n"
        "   0 of 1 solved\n"
        "   exercises: about 30 minutes; their checks reject 9 known wrong answers"
    )


def test_what_is_solved_is_counted_and_the_next_core_exercise_is_named(project: Path) -> None:
    note_solved("01.draw", 1)
    assert (
        "Solved: 1 of 3 core exercises, and 0 of 1 optional ones. Go on here: lab 01 Seeds, exercise \u201cKeep\u201d."
        in str(start.course())
    )
    assert "1 of 2 solved, optional: 0 of 1" in str(start.course())


def test_a_lab_is_solved_when_its_core_exercises_are(project: Path) -> None:
    for id in ("01.draw", "01.keep"):
        note_solved(id, 1)
    message = str(start.course())
    assert "01 Seeds (\u2713 solved)" in message and "02 More (begin here)" in message
    assert "Go on here: lab 02 More." in message


def test_the_optional_ones_come_last_and_then_nothing(project: Path) -> None:
    for id in ("01.draw", "01.keep", "02.load"):
        note_solved(id, 1)
    assert (
        "All 3 core exercises, and 0 of 1 optional ones. What is left is optional: lab 01 Seeds, exercise \u201cDraw_more\u201d."
        in str(start.course())
    )
    note_solved("01.draw_more", 1)
    assert str(start.course()).startswith("Every exercise of the course is solved.\n01 Seeds (\u2713")
    assert "Every exercise of the course is solved.</p>" in page()


def test_an_exercise_of_another_version_has_changed_since(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    note_solved("01.draw", 1)
    write_lab(project, "01_seeds", entry("01.draw", version=2), entry("01.keep"))
    assert "changed since you solved it: Draw" in str(start.course()) and "0 of 2 solved" in str(
        start.course()
    )
    assert "lab 01 Seeds, exercise \u201cDraw\u201d" in str(start.course())
    assert "Changed since you solved it: 01.draw Draw" in printed(project, capsys)


def test_the_page_says_what_its_text_says(project: Path) -> None:
    note_solved("01.draw", 1)
    (project / "work" / NAME).write_text((project / "work" / NAME).read_text() + "damage")
    words = unescape(re.sub(r"<[^>]+>", " ", page())).split()
    assert [word.strip(".") for word in words if word != "."] == [
        word.strip(".") for word in str(start.course()).split()
    ]


def test_the_page_links_each_lab_and_that_of_the_next_exercise(project: Path) -> None:
    note_solved("01.draw", 1)
    assert re.findall(r'href="([^"]+)"', page()) == [
        "01_seeds.ipynb",
        "01_seeds.ipynb",
        "02_more.ipynb",
    ]


def test_the_page_is_a_list_that_needs_no_trust(project: Path) -> None:
    write_lab(project, "02_more", text="# {number} a<b\n\n**Question.** Why `x<y`\nand <b>?\n\nMore.")
    assert "a&lt;b" in page() and re.search("Why <code [^>]*>x&lt;y</code> and &lt;b&gt;[?]", page())
    assert page().count("<li ") == 2 and page().count("<ul ") == 1
    assert not re.search(r"<style|<script|class=| id=|role=|aria-", page())
    # Such a page drops each declaration with a variable: one with a literal value stands before it.
    assert page().count("var(") == len(re.findall(r"(?<=[;\"])([a-z-]+):[^;(]+;\1:var\(", page())) > 0


@pytest.mark.parametrize("text", ["", "# 02 Seeds", "No title."])
def test_a_lab_without_a_title_is_listed_by_its_file(project: Path, text: str) -> None:
    write_lab(project, "01_seeds", text=text)
    lab = overview.overview().labs[0]
    assert (lab.title, lab.question) == ("Seeds", "")


@pytest.mark.parametrize(
    "damaged",
    [
        "",
        "[]",
        "{",
        '{"02.load": 3}',
        '{"02.load": {"title": "Load"}}',
        '{"02.load": {"title": 1, "minutes": "x", "core": true, "version": 1, "wrong": {}}}',
        None,
    ],
)
def test_a_lab_whose_exercises_are_not_known_is_listed_all_the_same(
    project: Path, damaged: str | None
) -> None:
    path = catalogue.folder() / "02_more.json"
    path.unlink() if damaged is None else path.write_text(damaged)
    assert str(start.course()).endswith("02 More\n   Why?") and "01 Seeds (begin here)" in str(start.course())


@pytest.mark.parametrize("damaged", ["", "{}", "[]", '{"cells": 3}', '{"cells": [3]}'])
def test_a_damaged_notebook_is_listed_by_its_file(project: Path, damaged: str) -> None:
    (project / "labs" / "02_more.ipynb").write_text(damaged)
    assert "02 More\n   0 of 1 solved" in str(start.course())


def test_a_course_without_known_exercises_is_a_list_of_labs(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in catalogue.folder().iterdir():
        path.unlink()
    assert str(start.course()) == "01 Seeds\n   Why?\n02 More\n   Why?"
    assert page().startswith("<ul") and "No exercise is known." in printed(project, capsys)


def test_a_damaged_progress_is_told_in_one_sentence(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    note_solved("01.draw", 1)
    (project / "work" / NAME).write_text((project / "work" / NAME).read_text()[:-2])
    description = f"work/{NAME} is damaged; 1 entry could be read. Your notebooks are not touched by that."
    assert (
        description in str(start.course())
        and description in page()
        and description in printed(project, capsys)
    )
    assert "1 of 2 solved" in str(start.course())


def test_status_is_a_line_a_lab_and_what_is_next(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    note_solved("01.draw", 1)
    note_solved("77.gone", 1)
    assert printed(project, capsys).splitlines() == [
        "lab       core    optional  minutes  rejects",
        "01 Seeds  1 of 2  0 of 1         45       19  (go on here)",
        "02 More   0 of 1                 30        9",
        "core, optional: exercises solved. rejects: how many known wrong answers the checks reject.",
        "",
        "Solved: 1 of 3 core exercises, and 0 of 1 optional ones. Go on here: lab 01 Seeds, exercise \u201cKeep\u201d.",
        "Kept in your progress, but in no lab here: 77.gone",
    ]
    assert "77.gone" not in str(start.course())


def test_status_names_the_copies_that_are_older_than_the_course(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "work").mkdir()
    for name in ("01_seeds", "02_more"):
        put_copy(project / "work", project / "labs" / f"{name}.ipynb")
    assert "newer version" not in printed(project, capsys)
    write_lab(project, "01_seeds", entry("01.draw"), entry("01.new"))
    message = printed(project, capsys)
    assert (
        "01_seeds.ipynb: the course has a newer version than your copy. To bring it in: labbook update"
        in message
    )
    assert "02_more.ipynb" not in message


def test_the_stored_page_does_not_change_with_the_labs(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABBOOK_HEADLESS", "1")
    one = start.course()
    write_lab(project, "03_new")
    note_solved("01.draw", 1)
    two = start.course()
    assert [len(one.overview.labs), len(two.overview.labs)] == [2, 3]
    assert str(one) == str(two) and one._repr_html_() is two._repr_html_() is None


@pytest.mark.parametrize("lab", overview.lab_files(paths.SOLUTIONS), ids=lambda path: path.stem)
def test_first_cell_of_every_lab_has_a_title_and_a_question(lab: Path) -> None:
    text = "".join(overview.cells_of(lab)[0]["source"])
    title = overview.TITLE.search(text)
    assert title and title[1] == lab.name[:2], (
        f"{lab.name}: no line '# {lab.name[:2]} Title' in the first cell"
    )
    assert overview.QUESTION.search(text), f"{lab.name}: no paragraph '**Question.** ...' in the first cell"


@pytest.mark.parametrize(
    "use",
    [
        "from helpers.start import course; str(course()), course()._repr_html_()",
        "from pathlib import Path; from helpers.work.status import status; status(Path('.'))",
    ],
)
def test_neither_the_page_nor_status_loads_torch(use: str) -> None:
    code = f"import sys\nsys.modules['torch'] = None\n{use}\nassert 'helpers.exercise' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], cwd=paths.ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
