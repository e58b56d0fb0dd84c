"""The file of progress: what is noted, what survives damage, who may write."""

from __future__ import annotations

import json
import multiprocessing
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import helpers
from helpers import paths
from helpers.course import progress
from helpers.course.progress import NAME, NotWritten, Solved, forget, is_kept, note_solved, put_back, read
from helpers.exercise import Exercise
from tests.labs import right_answers
from tests.support.hostile_exercises import scale

TODAY = "2026-05-01"


@pytest.fixture(autouse=True)
def day(monkeypatch: pytest.MonkeyPatch) -> None:
    """One day, also for tests that begin before midnight and end after it."""
    monkeypatch.setattr(progress, "today", lambda: TODAY)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with two solved exercises."""
    (tmp_path / NAME).write_text(
        '{\n"01.one": {"solved": "2026-01-02", "version": 1},\n"02.two": {"solved": "2026-01-03", "version": 2}\n}\n'
    )
    return tmp_path


def ids(work: Path) -> list[str]:
    return sorted(read(work).solved)


def test_nothing_is_solved_where_there_is_no_file(tmp_path: Path) -> None:
    assert read(tmp_path / "nowhere") == progress.Progress()
    assert not (tmp_path / "nowhere").exists()


def test_what_is_noted_is_read_again_and_can_be_read_by_people(tmp_path: Path) -> None:
    note_solved("03.conv2d", 1, tmp_path / "work")
    note_solved("01.one", 2, tmp_path / "work")
    assert read(tmp_path / "work").solved == {"01.one": Solved(TODAY, 2), "03.conv2d": Solved(TODAY, 1)}
    lines = (tmp_path / "work" / NAME).read_text().splitlines()
    assert lines[1] == f'"01.one": {{"solved": "{TODAY}", "version": 2}},' and len(lines) == 4


def test_solved_again_keeps_its_day_and_writes_nothing(work: Path) -> None:
    before = (work / NAME).stat()
    note_solved("01.one", 1, work)
    assert read(work).solved["01.one"].solved == "2026-01-02"
    assert (work / NAME).stat().st_ino == before.st_ino and [path.name for path in work.iterdir()] == [NAME]


def test_a_raised_version_counts_only_when_it_is_solved_again(work: Path) -> None:
    assert read(work).has("02.two", 2) and not read(work).has("02.two", 3)
    note_solved("02.two", 3, work)
    assert read(work).has("02.two", 3) and read(work).solved["02.two"].solved == TODAY


def test_entries_that_no_lab_knows_are_kept(work: Path) -> None:
    (work / NAME).write_text('{"77.gone": {"solved": "2026-01-02", "version": 9}}')
    note_solved("01.one", 1, work)
    assert read(work).solved["77.gone"] == Solved("2026-01-02", 9)


@pytest.mark.parametrize(
    ("damage", "left"),
    [
        (lambda text: text[: len(text) // 2 + 20], ["01.one"]),  # cut off in the second line
        (lambda text: text.replace('"01.one"', "<<<<<<< mine"), ["02.two"]),
        (lambda text: text.replace(": 1}", ': "one"}'), ["02.two"]),
        (lambda text: text.replace('{"solved": "2026-01-02", "version": 1}', "7"), ["02.two"]),
        (lambda text: "", []),
        (lambda text: "[" * 100_000, []),
        (lambda text: "[1, 2]", []),
        (lambda text: "\0" * 300, []),
    ],
    ids=["cut", "edited", "wrong-kind", "no-entry", "empty", "nested", "list", "zeros"],
)
def test_of_a_damaged_file_all_that_can_be_read_is_kept(work: Path, damage, left: list[str]) -> None:
    damaged = damage((work / NAME).read_text())
    (work / NAME).write_text(damaged)
    assert ids(work) == left
    assert "damaged" in read(work).error and f"{len(left)} entr" in read(work).error
    note_solved("05.five", 1, work)
    assert ids(work) == [*left, "05.five"] and read(work).error == ""
    assert (work / f"{NAME}.damaged-1").read_text() == damaged, "the damaged file is lost"


def test_a_second_damaged_file_does_not_take_the_place_of_the_first(work: Path) -> None:
    for text in ("first", "second"):
        (work / NAME).write_text(text)
        note_solved("01.one", 1, work)
    assert [(work / f"{NAME}.damaged-{number}").read_text() for number in (1, 2)] == ["first", "second"]


def test_what_is_no_text_is_damaged_too(work: Path) -> None:
    (work / NAME).write_bytes((work / NAME).read_bytes().replace(b"01.one", b"01.\xff\xfe"))
    assert ids(work) == ["02.two"] and "1 entry could be read" in read(work).error


def test_forgotten_exercises_can_be_put_back(work: Path) -> None:
    noted = forget(["01.one", "09.nothing"], work)
    assert noted == {"01.one": Solved("2026-01-02", 1)} and ids(work) == ["02.two"]
    put_back(noted, work)
    assert read(work).solved["01.one"] == Solved("2026-01-02", 1)


def test_what_was_solved_since_is_not_put_back_over(work: Path) -> None:
    noted = forget(["01.one"], work)
    note_solved("01.one", 2, work)
    put_back(noted, work)
    assert read(work).solved["01.one"] == Solved(TODAY, 2)


def test_forgetting_nothing_writes_nothing(tmp_path: Path) -> None:
    assert forget(["01.one"], tmp_path / "work") == {}
    put_back({}, tmp_path / "work")
    assert not (tmp_path / "work").exists()


def write_many(work: Path, lab: int, gate: object) -> None:
    gate.wait()
    for number in range(20):
        note_solved(f"{lab:02}.exercise_{number}", 1, work)


def test_two_kernels_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    gate = context.Barrier(3)
    writers = [context.Process(target=write_many, args=(tmp_path, lab, gate)) for lab in (1, 2, 3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert len(ids(tmp_path)) == 60 and read(tmp_path).error == ""


def test_a_writer_that_does_not_end_is_told(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from filelock import FileLock

    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    with (
        FileLock(work / f".{NAME}.lock"),
        pytest.raises(NotWritten, match="another process .* Run the check"),
    ):
        note_solved("03.three", 1, work)
    assert ids(work) == ["01.one", "02.two"]


def test_a_disk_that_refuses_is_told_in_one_sentence_and_the_file_is_as_it_was(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, text: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(progress, "put", refuse)
    with pytest.raises(NotWritten, match=r"No space left.*answer itself is safe"):
        note_solved("03.three", 1, work)
    assert ids(work) == ["01.one", "02.two"]


def test_a_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "work").write_text("a file")
    with pytest.raises(NotWritten, match="cannot be written"):
        note_solved("01.one", 1, tmp_path / "work")
    assert "cannot be read" in read(tmp_path / "work").error


def test_a_file_that_cannot_be_read_is_never_written_over(work: Path) -> None:
    (work / NAME).unlink()
    (work / NAME).mkdir()
    assert "cannot be read" in read(work).error
    with pytest.raises(NotWritten):
        note_solved("01.one", 1, work)
    assert (work / NAME).is_dir()


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """This process looks like the kernel of a notebook in an ordinary folder, in which the labs were imported before."""
    helpers.exercises()
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(kernel=object()))
    monkeypatch.chdir(tmp_path)


def test_progress_is_kept_in_a_live_notebook(kernel: None) -> None:
    assert is_kept({})
    assert is_kept({"JPY_SESSION_NAME": str(paths.WORK / "01_reproducibility.ipynb")})
    assert is_kept({"JPY_SESSION_NAME": str(paths.LABS / "01_reproducibility.ipynb")})


@pytest.mark.parametrize("variable", ["LABBOOK_HEADLESS", "LABBOOK_STRICT"])
def test_progress_is_not_kept_headless(kernel: None, variable: str) -> None:
    assert not is_kept({variable: "1"})


def test_progress_is_not_kept_in_solutions(kernel: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_kept({"JPY_SESSION_NAME": str(paths.SOLUTIONS / "01_reproducibility.ipynb")})
    monkeypatch.chdir(paths.SOLUTIONS)  # as elsewhere than in JupyterLab
    assert not is_kept({})
    assert not is_kept({"JPY_SESSION_NAME": "solutions/01_reproducibility.ipynb"})
    assert is_kept({"JPY_SESSION_NAME": str(paths.WORK / "01_reproducibility.ipynb")}), (
        "a cell changed the folder"
    )


def test_progress_is_not_kept_outside_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_kept({})
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace())  # IPython in a terminal
    assert not is_kept({})
    monkeypatch.setitem(sys.modules, "IPython", None)
    assert not is_kept({})


def test_the_file_is_json(work: Path) -> None:
    note_solved("03.three", 1, work)
    assert set(json.loads((work / NAME).read_text())) == {"01.one", "02.two", "03.three"}


@pytest.fixture
def seeds(kernel: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Exercise:
    """An exercise of the course, in a live notebook that has no progress yet."""
    monkeypatch.setattr(paths, "WORK", tmp_path / "work")
    return helpers.exercises()["01.seed_everything"]


def test_a_passed_check_is_noted_and_says_no_word_of_it(seeds: Exercise) -> None:
    reports = [seeds.check(right_answers(seeds.id)[0]) for _ in range(2)]
    assert read().solved == {seeds.id: Solved(TODAY, seeds.version)}
    assert str(reports[0]) == str(reports[1]) and reports[0].note == ""


def test_a_check_that_does_not_pass_is_not_noted(seeds: Exercise) -> None:
    assert seeds.check(lambda seed: None).verdict == "wrong"
    assert not paths.WORK.exists()


def test_a_check_outside_a_notebook_is_not_noted(seeds: Exercise, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("IPython.get_ipython", lambda: None)
    assert seeds.check(right_answers(seeds.id)[0]).passed
    assert not paths.WORK.exists()


def test_an_exercise_of_no_lab_is_not_noted(seeds: Exercise) -> None:
    assert scale.check(lambda x, k: x * k + 1).passed
    assert not paths.WORK.exists()


def test_a_passed_check_passes_where_nothing_can_be_noted_and_says_so(seeds: Exercise) -> None:
    paths.WORK.write_text("a file")
    report = seeds.check(right_answers(seeds.id)[0])
    assert report.passed and report.note.startswith("Your progress was not noted")
    assert report.note in str(report) and "was not noted" in report._repr_html_()
