"""The tables of the rows of `labbook bench` that start commands, made from given samples."""

from __future__ import annotations

import pytest

from ci.bench.rows import headless as headless
from ci.bench.rows.course import PLAIN, course_table
from ci.bench.rows.growth import Grown, growth_table
from ci.bench.rows.start import BARE, IMPORTS, fill, opened
from ci.bench.table import Table
from ci.bench.timing.machine import cores
from tests.support.project import code, notebook, text

WALL = {
    headless.SOLUTIONS: [1.0, 1.0, 2.0],
    headless.LABS: [0.5, 0.5, 0.5],
    headless.PAPERMILL: [11.0, 11.0, 12.0],
    headless.NBVAL: [9.0, 9.0, 10.0],
    headless.EXECUTE: [10.5, 10.5, 10.5],
    headless.RUN: [3.5, 3.5, 4.5],
    headless.VALIDATE: [3.0, 3.0, 4.0],
    headless.UNSOLVED: [4.5, 4.5, 4.5],
}


def lines(table: Table) -> dict[str, list]:
    """The lines of a table by their first word that differs."""
    at = 1 if table.columns[0] == "notebooks" else 0
    return {line[at]: line[at + 1 :] for line in table.lines}


def test_headless_compares_what_is_added_with_the_plain_counterpart():
    table = Table("", ["notebooks"])
    headless.show(table, "4 small", WALL)
    found = lines(table)
    assert found[headless.SOLUTIONS][-1].startswith(f"{1 / cores():.3f}"[:4])
    assert found[headless.PAPERMILL] == ["11.00 (11.00..12.00)", "10.00 (10.00..10.00)", 3, "", ""]
    assert found[headless.RUN][2:] == [3, headless.PAPERMILL, "0.250 (0.250..0.250)"]
    assert found[headless.VALIDATE][3:] == [headless.NBVAL, "0.250 (0.250..0.250)"]
    assert found[headless.UNSOLVED][3:] == [headless.EXECUTE, "0.400 (0.400..0.400)"]
    assert found[headless.ALL_OURS] == [
        "",
        "8.50 (8.50..8.50)",
        3,
        headless.ALL_PLAIN,
        "0.304 (0.304..0.304)",
    ]
    assert table.samples[f"4 small: {headless.RUN}, wall s"] == [3.5, 3.5, 4.5]
    assert len(table.samples) == len(WALL)


def test_headless_takes_the_lightest_the_middle_and_the_heaviest(monkeypatch: pytest.MonkeyPatch, tmp_path):
    seconds = {"00_start": 0.1, "01_a": 9.0, "02_b": 4.0, "03_c": 30.0, "04_d": 2.0, "05_e": 7.0}
    for stem in seconds:
        (tmp_path / "solutions").mkdir(exist_ok=True)
        (tmp_path / "solutions" / f"{stem}.ipynb").touch()
    monkeypatch.setattr(headless, "_recorded", lambda root: seconds)
    assert headless.three_labs(tmp_path, tmp_path) == ["04_d", "05_e", "03_c"]


def test_course_sets_the_sums_and_the_floor_against_the_plain_tools():
    ours = {"run": 50.0, "validate": 40.0, "labs": 30.0}
    measured = {tool: [100.0] for tool in PLAIN.values()}
    measured |= {f"labbook {command} --force": [seconds] for command, seconds in ours.items()}
    table = course_table(measured, {"solutions": 70.0, "unsolved": 10.0})
    found = lines(table)
    assert found["labbook validate --force"] == ["40.00", 1, "pytest --nbval", "0.400"]
    assert found["all plain tools"][0] == "300"
    assert found["all of labbook (aim: 0.6)"] == ["120", 1, "all plain tools", "0.400"]
    assert found["cells' own time"] == ["150", 1, "all plain tools", "0.500"]
    assert found["cells' own time over the cores: floor"][-1] == f"{0.5 / cores():.3f}"
    assert table.samples["cells of the solutions, s"] == [70.0] and len(table.samples) == 8


def grown(busy: float) -> dict[int, Grown]:
    """3 s and half a second a notebook, with so many cores busy all the time."""
    walls = {count: 3.0 + 0.5 * count for count in (1, 5, 10)}
    return {count: Grown([wall] * 3, [wall * busy] * 3, 100.0 + count) for count, wall in walls.items()}


def test_growth_tells_the_slope_the_fixed_part_and_what_bounds_it():
    places = {"1 job, 1 core": Grown([8.0], [8.0]), "2 jobs, 2 cores": Grown([4.0], [6.0])}
    table = growth_table(grown(0.95 * cores()), places)
    found = lines(table)
    assert found["10 notebooks"][1:4] == [3, "1 notebook", "2.29 (2.29..2.29)"]
    assert found["10 notebooks"][-1] == "110" and found["1 notebook"][2:4] == ["", ""]
    assert found["10 notebooks, 2 jobs, 2 cores"][2:] == ["1 job, 1 core", "0.500", "1.50", "-"]
    assert "3.00 s once and 0.500 s a notebook" in table.note
    assert (
        f"With 10 notebooks {0.95 * cores():.2f} of {cores()} cores are busy, so the processor bounds"
        in table.note
    )
    assert (
        table.samples["5 notebooks, peak MB"] == [105.0] and table.samples["5 notebooks, wall s"] == [5.5] * 3
    )
    assert "so waiting, not the processor, bounds the time" in growth_table(grown(0.5 * cores()), places).note


def test_start_compares_labs_with_a_bare_kernel_and_imports_with_python():
    imports = dict(zip(IMPORTS, ([0.1, 0.1], [0.2, 0.3], [2.0, 2.0], [2.5, 2.1]), strict=True))
    table = Table("", ["measured"])
    fill(table, {BARE: [2.0, 2.0], "01_a": [3.0, 4.0]}, imports)
    found = lines(table)
    assert found["01_a"] == ["3.50 (3.00..4.00)", 2, BARE, "1.75 (1.50..2.00)"]
    assert found["import helpers beyond import torch"][0] == "0.300 (0.100..0.500)"
    assert found["import helpers alone, beyond python"][0] == "0.150 (0.100..0.200)"
    assert table.samples["first result, 01_a, s"] == [3.0, 4.0]


def test_a_lab_is_opened_up_to_its_first_import_of_torch():
    cells = (
        code("std", "import os"),
        text("words", "import torch"),
        code("torch", "import os\nimport torch as t"),
    )
    found = opened(notebook(*cells, code("after", "raise SystemExit")))
    assert [cell.source for cell in found.cells[:-1]] == ["import os", "import os\nimport torch as t"]
    assert found.cells[-1].source.endswith("torch.ones(2).sum()")
