"""`labbook portable`: its probes see digits near an edge and change nothing, and its settings reach the kernel."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import math
import os
import subprocess
import sys
from collections import defaultdict, namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cloudpickle
import nbformat
import numpy as np
import pytest
import torch
from nbformat.v4 import new_output

from ci.headless import portable
from ci.headless.edges import probe
from ci.headless.edges.numbers import disturbed, holds, is_exact, moved
from ci.headless.edges.run import Cell, found, shown_text, unseen
from ci.headless.edges.wrapping import Wrapper, answers
from ci.headless.jobs import Outcome
from ci.headless.run import run
from helpers.paths import ROOT
from tests.support.project import code, output_of, outputs, store

NEAR = 2.5000001e-3
Ran = Callable[..., tuple[str, list[dict]]]


@dataclass
class Point:
    """A dataclass that shows its field."""

    x: float


class Own(list):
    """As what ranks.run returns."""


KINDS = {"Point": Point, "Own": Own, "defaultdict": defaultdict, "Pair": namedtuple("Pair", "first second")}


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ran:
    """Runs code as a cell with probes; gives what it prints, and the notes of what it formatted."""

    def ran(source: str, spared: tuple[str, ...] = (), **names: object) -> tuple[str, list[dict]]:
        notes = tmp_path / "notes"
        notes.write_text("")
        monkeypatch.setenv(probe.FILE, str(notes))
        probe.forget()
        tree = Wrapper("here", spared).cell(ast.parse(source))
        heard = io.StringIO()
        with contextlib.redirect_stdout(heard):
            exec(compile(tree, "cell", "exec"), names)
        return heard.getvalue(), [json.loads(line) for line in notes.read_text().splitlines()]

    return ran


@pytest.mark.parametrize(
    ("source", "text", "others"),
    [
        ('print(f"{v:.0e}")', "3e-03", ["2e-03"]),
        ('s = f"{v:{width}.0e}"', "   3e-03", ["   2e-03"]),
        ('print(f"{[v, 1]!r}")', "[0.0025000001, 1]", ["[0.0024999", "[0.0025000"]),
        ("print('v', v)", "0.0025000001", ["0.0024999", "0.0025000"]),
        ("print(*[v])", "0.0025000001", ["0.0024999", "0.0025000"]),
        ("print('{:.0e}'.format(v))", "3e-03", ["2e-03"]),
        ("print('{:.0e}'.format(*[v]))", "3e-03", ["2e-03"]),
        ("print('%.0e' % v)", "3e-03", ["2e-03"]),
        ("print('%d %.0e' % (1, v))", "1 3e-03", ["1 2e-03"]),
        ("print(format(v, '.0e'))", "3e-03", ["2e-03"]),
        ("shown = str([v])", "[0.0025000001]", ["[0.0024999", "[0.0025000"]),
        ("shown = round(v, 3)", "0.003", ["0.002"]),
        ("shown = round(1000 * v)", "3", ["2"]),
        ("shown = torch.tensor([v], dtype=float).round(decimals=3)", "tensor([0.0030]", ["tensor([0.0020]"]),
        ("shown = np.round(np.array([v]), 3)", "array([0.003])", ["array([0.002])"]),
        ("print(torch.tensor([0.5, 0.12345001]))", "tensor([0.5000, 0.1235])", ["tensor([0.5000, 0.1234])"]),
        ("print({'a': (1, [torch.tensor(0.12345001)])})", "{'a': (1, [tensor(0.1235)])}", ["{'a': (1, [t"]),
        ("print(np.array([0.5, 0.123456785001]))", "[0.5        0.12345679]", ["[0.5        0.1234566", ""]),
        ("print(Own([v]), Own())", "[0.0025000001]", ["[0.0024999", "[0.0025000"]),
        ("print(defaultdict(list, a=[v]))", "defaultdict(<class 'list'>", ["{'a': [0.0024", "{'a': [0.0025"]),
        ("print(Pair(v, 1))", "Pair(first=0.0025000001", ["Pair(first=0.00249", "Pair(first=0.0025"]),
        ("print(Point(v))", "Point(x=0.0025000001)", ["Point(x=0.0024999", "Point(x=0.0025000"]),
        ("v", "0.0025000001", ["0.0024999", "0.0025000"]),
        ("f'{2.6e-7 + 1e-15:.0e}'", "3e-07", ["2e-07"]),  # an error of rounding: more than a part in a million off
        ("torch.tensor(0.12345001)", "tensor(0.1235)", ["tensor(0.1234)"]),
    ],
)  # fmt: skip
def test_an_edge_is_found(ran: Ran, source: str, text: str, others: list[str]) -> None:
    _, notes = ran(source, v=NEAR, width=8, torch=torch, np=np, **KINDS)
    [note] = [note for note in notes if note["others"]]
    assert note["text"].startswith(text) and note["place"][:2] == ["here", 1]
    assert len(note["others"]) == len(others)
    assert all(other.startswith(begins) for other, begins in zip(note["others"], others, strict=True))


@pytest.mark.parametrize(
    "source",
    [
        "print(f'{0.25:.1f}', 2.5, [0.1, 3e-4, 1024.0], round(0.15, 1))",
        "print(torch.tensor([0.1, 0.25, 1e-3]), torch.tensor(0.15).item(), np.float32(0.1))",
        "print(f'{1 / 3:.3f} {[round(2 / 3, 3)]} {math.pi:.0f}')",
        "print(torch.tensor([1 / 3, 2 / 3]))",
        "print(math.nan, f'{math.inf:.1f}', torch.tensor([math.nan, -math.inf]))",
        "print(1, 'two', None, torch.tensor([1, 2]), range(3), [1, 'x'])",
        "[1, 0.5, torch.tensor(0.25)]",
    ],
)
def test_exact_numbers_and_numbers_away_from_an_edge_are_none(ran: Ran, source: str) -> None:
    _, notes = ran(source, torch=torch, np=np, math=math)
    assert [note for note in notes if note["others"]] == []


ANY = r"""
import dataclasses, math, sys
x = torch.tensor([1 / 3, 0.5], requires_grad=True)
y = x * 2
print(x, y, y.sum().item(), f"{y[0]:.3f}|{y!r:>60}|{x.tolist()!s}|{1 / 3:{9}.{2}f}", sep=" ; ")
print("{0} {1:>8.3f} {n.real:.2f} {d[0]}".format(1 / 3, 2 / 3, n=1 / 7, d=[1 / 3]), "%s %5.2f%%" % ("a", 1 / 3))
print(*(i / 3 for i in range(3)), *[], file=sys.stdout, end="\n\n")
print(f"{1 / 3=} {math.nan} {7 % 4} {-1 / 3:+.2%}", {1 / 3}, {"k": (1 / 3, [None])}, round(1 / 3, 2), round(2.5))
def told(value, *, digits=2):
    return f"{value:.{digits}f}"
print(told(1 / 3), told(1 / 3, digits=4), list(map(str, [1 / 3])), repr(1 / 3), str(), format(1 / 3))
class Named:
    def __format__(self, spec):
        return f"<{spec}>"
print(f"{Named():abc}", Named.__name__, isinstance(y, torch.Tensor), x.round(decimals=1), x.is_leaf, type(y.grad_fn))
"""


def test_what_is_printed_stays_the_same(ran: Ran) -> None:
    plain = io.StringIO()
    with contextlib.redirect_stdout(plain):
        exec(compile(ANY, "cell", "exec"), {"torch": torch})
    heard, notes = ran(ANY, torch=torch)
    assert heard == plain.getvalue() and len(notes) > 20


def test_a_value_that_is_shown_is_the_value_itself() -> None:
    given = [NEAR]
    assert probe.displayed(given, "here", 1, "given") is given


def test_answers_of_exercises_are_left_alone(ran: Ran) -> None:
    source = f"def told(v={NEAR}):\n    return f'{{v:.0e}}'\nprint(told())"
    assert answers(["lab.told.check((told, Other))\nprint(x)", "!ls"]) == ["Other", "told"]
    assert len(ran(source)[1]) == 1
    assert ran(source, spared=("told",)) == ("3e-03\n", [])


def test_a_function_that_travels_notes_what_it_formats_there(ran: Ran) -> None:
    source = (
        f"def told(v={NEAR}):\n    return f'{{v:.0e}}'\nblob = cloudpickle.dumps(told)\ngiven.append(blob)"
    )
    given: list[bytes] = []
    ran(source, cloudpickle=cloudpickle, given=given, __name__="__main__")
    there = "import pickle, sys; print(pickle.load(sys.stdin.buffer)())"
    done = subprocess.run(
        [sys.executable, "-c", there], cwd=ROOT, input=given[0], capture_output=True, check=True
    )
    notes = Path(os.environ[probe.FILE]).read_text()
    assert done.stdout == b"3e-03\n" and json.loads(notes)["others"] == ["2e-03"]


def test_a_tensor_of_many_elements_and_a_list_in_itself_are_left_alone() -> None:
    many, circle = torch.full((5000,), 1 / 3), [1.0]
    circle.append(circle)
    assert moved(many, 0.5) is many and not holds(many)
    assert holds(circle)


def test_a_copy_has_the_kind_of_what_it_copies() -> None:
    value = {
        "a": (np.float32(1 / 3), torch.tensor([1 / 3], dtype=torch.float64)),
        "b": [True, 2, Point(1 / 3)],
    }
    copy = disturbed(value, lambda number: number * 2)
    assert [type(one) for one in copy["a"]] == [np.float32, torch.Tensor]
    assert copy["a"][1].dtype == torch.float64 and copy["a"][1].item() == 2 / 3
    assert copy["b"] == [True, 2, Point(2 / 3)] and value["b"][2] == Point(1 / 3)


def test_which_numbers_are_exact() -> None:
    exact = [0.1, 2.5, 3e-4, 1024.0, 0.0, -7.0, 1e300, math.nan, math.inf, float(np.float32(0.15)), 2.0**-40]
    assert [number for number in exact if not is_exact(number)] == []
    assert [
        number for number in (1 / 3, 2.5000001e-3, 0.1 + 0.2, 1234567.0, 1e39 / 3) if is_exact(number)
    ] == []


def cell(name: str, text: str, *notes: tuple[str, list[str], str], compared: bool = True) -> Cell:
    made = [
        {"place": [name, 1, what], "text": description, "others": others}
        for description, others, what in notes
    ]
    return Cell(name, "x = 0.75", compared, text, made)


def test_only_what_is_shown_counts() -> None:
    near = ("3e-03", ["2e-03"], "v")
    assert [note["cell"] for note in found([cell("one", "it is 3e-03", near)])] == ["one"]
    assert [note["cell"] for note in found([cell("one", "", near), cell("two", "it is <b>3e-03</b>")])] == [
        "one"
    ]
    assert found([cell("one", "nothing", near)]) == []
    assert found([cell("one", "it is 3e-03", near, compared=False)]) == []
    assert len(found([cell("one", "30 %", ("0.3", ["0.2"], "round(v, 1)"))])) == 1


def test_numbers_that_no_probe_saw_are_named() -> None:
    cells = [
        cell("one", "<td>0.125</td> 1e-3 97 % 0.75 torch 2.11.0 and 12", ("0.125", [], "v")),
        cell("two", "0.125 or 0.5"),
        cell("three", "0.625", compared=False),
    ]
    assert unseen(cells) == {"one": ["1e-3", "97"], "two": ["0.5"]}
    assert unseen(cells, {"x =": {"97"}, "y =": {"0.5"}}) == {"one": ["1e-3"], "two": ["0.5"]}


def test_the_numbers_known_to_be_exact_are_still_shown() -> None:
    for (notebook, name), text in portable.EXACT.items():
        cells = nbformat.read(ROOT / "solutions" / f"{notebook}.ipynb", 4).cells
        assert [text in shown_text(cell) for cell in cells if cell.id == name] == [True]


def test_a_number_known_to_be_exact_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = [
        {"cell": "one", "place": ["one", 1, "v"], "text": text, "others": ["0.3"]} for text in ("0.4", "0.5")
    ]
    outcome = Outcome("01_one", result={"found": notes, "changed": []})
    monkeypatch.setattr(portable, "EXACT", {("01_one", "one"): "0.4"})
    [error] = portable.edge_errors(tmp_path / "01_one.ipynb", tmp_path, outcome)
    assert "'0.5' would be '0.3'" in error


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with an edge in a function that another cell calls, and one that is volatile, stored."""
    root = tmp_path_factory.mktemp("edges")
    store(
        root / "solutions" / "01_edge.ipynb",
        code("told", "def told(error):\n    return f'{error:.0e}'"),
        code("exact", "print(f'{0.25:.1f}', [0.1, 1e-3])"),
        code("edge", "# two lines\nprint('error', told(2.5000001e-3))"),
        code("another", "text = 1.4999999\nprint('left', f'{text:.0f}')"),
        code("changes", "print(told(3.5000001e-3))", "volatile"),
        code("no-names", "[name for name in dir() if 'probe' in name or 'edges' in name]"),
    )
    failed, heard = output_of(lambda: run(root, [], force=True))
    assert not failed, heard
    return root


def test_an_edge_fails_the_command_which_says_where_what_and_what_to_do(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portable, "settings", lambda here: ([], [f"avx2: {here} is all there is"]))
    before = (project / "solutions" / "01_edge.ipynb").read_bytes()
    failed, heard = output_of(lambda: portable.portable(project, [], unseen=True))
    assert failed == 1 and "2 errors" in heard and "not tried: avx2" in heard
    assert (
        "solutions/01_edge.ipynb, cell edge (line 2 of told): `error` is near an edge: '3e-03' would be '2e-03', "
        "were the number off by one part in a million: print one digit less, or a bound" in heard
    )
    assert "cell another, line 2: `text`" in heard and "text is not the stored one" not in heard
    assert outputs(project / "solutions" / "01_edge.ipynb")["no-names"][0].data["text/plain"] == "[]"
    assert (project / "solutions" / "01_edge.ipynb").read_bytes() == before


@pytest.mark.parametrize(
    ("here", "tried", "left_out"),
    [
        ("AVX512", ["", "default", "avx2"], []),
        ("AVX2", ["", "default"], ["avx2: the processor as it is gives AVX2"]),
        ("SVE256", ["", "default"], ["avx2: there is only SVE256 here"]),
        (
            "DEFAULT",
            [""],
            ["default: the processor as it is gives DEFAULT", "avx2: there is only DEFAULT here"],
        ),
    ],
)
def test_no_setting_asks_for_what_the_processor_lacks(
    here: str, tried: list[str], left_out: list[str]
) -> None:
    settings, reasons = portable.settings(here)
    wanted = [portable.Setting(threads, capability) for capability in tried for threads in (1, 4)]
    assert settings == wanted and reasons == [f"ATEN_CPU_CAPABILITY={reason}" for reason in left_out]


THREADS = "os.environ['OMP_NUM_THREADS']"
ARRIVED = """import os, torch
print(torch.get_num_threads(), torch.backends.cpu.get_cpu_capability(), os.environ.get("MKL_CBWR"))"""
PICTURE = """import os
from PIL import Image
Image.new("L", (64, 64), 60 * int(os.environ["OMP_NUM_THREADS"]))"""


@pytest.mark.parametrize("kernels", ["stock", "forked"])
def test_a_setting_reaches_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernels: str) -> None:
    monkeypatch.setenv("LABBOOK_KERNELS", kernels)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    arrived = code("arrived", ARRIVED)
    arrived.execution_count = 1
    arrived.outputs = [new_output("stream", name="stdout", text="stored\n")]
    path = store(tmp_path / "solutions" / "01_one.ipynb", arrived)
    done: list[Outcome] = []
    output_of(lambda: done.extend(portable.under(portable.Setting(3, "default"), [path], tmp_path)) or 0)
    [outcome] = done
    assert outcome.kernels == (["as chosen"] if kernels == "stock" else [""])
    assert any("shows '3 DEFAULT COMPATIBLE'" in error for error in outcome.errors)
    assert "OMP_NUM_THREADS" not in os.environ and not (tmp_path / ".labbook" / "passed").exists()


@pytest.mark.slow
def test_a_setting_that_changes_a_text_or_a_picture_fails_the_command(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The edges are taken to be none: only the settings are looked at."""
    cells = code("text", "import os\n" + THREADS), code("picture", PICTURE)
    path = store(project / "elsewhere" / "solutions" / "01_one.ipynb", *cells)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert not output_of(lambda: run(path.parent.parent, [], force=True))[0]
    monkeypatch.setattr(portable, "settings", lambda here: ([portable.Setting(1), portable.Setting(4)], []))
    failed, heard = output_of(lambda: portable.portable(path.parent.parent, []))
    assert failed == 1 and "2 errors" in heard
    changed = "with 4 threads, processor as it is: solutions/01_one.ipynb, cell"
    assert f"""{changed} text: shows "'4'" where "'1'" is stored""" in heard
    assert f"{changed} picture: its picture looks different" in heard
