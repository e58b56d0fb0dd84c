"""run, validate and labs on tiny projects: what they store, what they compare, and how they fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ci.headless import nbval_plugin
from ci.headless.labs import labs, silent
from ci.headless.run import run
from ci.headless.stored import CHANGES
from ci.headless.validate import validate
from helpers import paths
from tests.support.project import code, output_of, outputs, put_registry, store, text, without_outputs

PLOT = "import matplotlib.pyplot as plt\nplt.figure(figsize=(1, 1))\nplt.plot([1, 2]);"
RICH = (
    "from IPython.display import display, HTML\nprint('before')\ndisplay(HTML('<b>bold</b>'))\nprint('after')"
)
SURROUNDINGS = """import os, sys
print(os.environ.get("LABBOOK_HEADLESS"), os.environ.get("LABBOOK_STRICT"), os.environ.get("SOURCE_DATE_EPOCH"))
print(os.path.basename(os.getcwd()), [name for name in os.environ if name.startswith("PYTEST_")])"""


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one notebook that behaves, never run."""
    root = tmp_path_factory.mktemp("good")
    store(
        root / "solutions" / "01_good.ipynb",
        text("title", "# Good"),
        code("sum", "1 + 1"),
        code("hidden", "2 + 2;"),
        code("plot", PLOT),
        code("rich", RICH),
        code("surroundings", SURROUNDINGS),
        # The kernel hears a child in a thread of its own: a cell that ended at once might end before it is heard.
        code(
            "child",
            "import subprocess, time\nsubprocess.run(['echo', 'from a child'], check=True)\ntime.sleep(0.5)",
        ),
        code("object", "object()"),
        code("warning", "import warnings\nwarnings.warn('careful')"),
        code("report", "print('passed: 01.sum Add two numbers')"),
        code("empty", ""),
        code("clock", "import time\nprint(time.time())", "volatile"),
    )
    return root


@pytest.fixture(scope="module")
def notebook(good: Path) -> Path:
    """The good notebook after its first run."""
    failed, heard = output_of(lambda: run(good, [], force=True))
    assert failed == 0, heard
    return good / "solutions" / "01_good.ipynb"


def test_a_run_stores_what_every_cell_shows(notebook: Path):
    shown = outputs(notebook)
    assert shown["sum"][0].data["text/plain"] == "2" and shown["hidden"] == [] and shown["empty"] == []
    assert [o.output_type for o in shown["rich"]] == ["stream", "display_data", "stream"]
    assert "image/png" in shown["plot"][0].data
    assert shown["child"][0].text == "from a child\n"
    assert shown["object"][0].data["text/plain"] == "<object at 0x...>"
    assert "cell.py:2: UserWarning: careful" in shown["warning"][0].text
    assert shown["clock"][0].text == CHANGES


def test_a_run_has_the_surroundings_it_promises(notebook: Path):
    assert outputs(notebook)["surroundings"][0].text == "1 1 0\nsolutions []\n"


def test_a_second_run_from_nothing_gives_the_same_bytes(good: Path, notebook: Path):
    before = notebook.read_bytes()
    without_outputs(notebook)
    failed, heard = output_of(lambda: run(good, ["1"], force=True))
    assert failed == 0 and "new outputs" in heard and "1 passed" in heard
    assert notebook.read_bytes() == before
    assert sorted(path.name for path in notebook.parent.iterdir()) == ["01_good.ipynb"]


def test_validate_agrees_and_counts_what_it_compares(good: Path, notebook: Path):
    failed, heard = output_of(lambda: validate(good, []))
    assert failed == 0, heard
    assert "8 of 9" in heard and "89%" in heard and "1 passed" in heard


def test_validate_shows_a_difference_with_its_cell(good: Path, notebook: Path):
    before = notebook.read_text()
    notebook.write_text(before.replace('"after\\n"', '"later\\n"').replace('"2"', '"3"'))
    try:
        failed, heard = output_of(lambda: validate(good, []))
    finally:
        notebook.write_text(before)
    assert failed == 1 and "solutions/01_good.ipynb, cell sum: the output is not the stored one" in heard
    assert "solutions/01_good.ipynb, cell rich" in heard and "-later" in heard and "+after" in heard


@pytest.mark.parametrize("command", ["run", "validate"])
def test_a_kernel_that_does_not_start_is_told_with_its_last_words(
    tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LABBOOK_KERNELS", "stock")
    one = code("one", "1")
    one.execution_count = 1
    store(tmp_path / "solutions" / "01_one.ipynb", one)
    # The project's own folder comes first on the path of the kernel.
    (tmp_path / "ipykernel_launcher.py").write_text("raise SystemExit('no kernel here')")
    task = validate if command == "validate" else lambda *given: run(*given, force=False)
    failed, heard = output_of(lambda: task(tmp_path, []))
    assert failed == 1 and "solutions/01_one.ipynb: the Jupyter kernel did not start" in heard
    assert "no kernel here" in heard


def test_a_missing_kernel_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = store(tmp_path / "solutions" / "01_one.ipynb", code("one", "1"))
    monkeypatch.setattr(
        "ci.headless.validate.kernel_error", lambda: "the Jupyter kernel is missing: run `make setup`"
    )
    before = path.read_bytes()
    assert output_of(lambda: validate(tmp_path, [])) == (
        1,
        "validate: the Jupyter kernel is missing: run `make setup`\n",
    )
    assert path.read_bytes() == before


def test_a_notebook_that_was_never_run_is_not_valid(tmp_path: Path):
    store(tmp_path / "solutions" / "01_one.ipynb", code("one", "1"))
    failed, heard = output_of(lambda: validate(tmp_path, []))
    assert failed == 1 and "cell one: its execution count should be 1 and is none" in heard


REGISTRY = """
LABS = {"add": (["01.add"], ["01.guess"]), "sub": (["02.sub"], [])}


def ids(stem):
    return dict(zip(("exercises", "predictions"), LABS[stem]))
"""
STRICT = "import os\nassert 'LABBOOK_STRICT' not in os.environ and os.environ['LABBOOK_HEADLESS']"


def test_unsolved_labs_say_so_and_raise_nothing(tmp_path: Path):
    put_registry(tmp_path, REGISTRY)
    store(
        tmp_path / "labs" / "01_add.ipynb",
        code("add-check", "print('not attempted: 01.add Add two numbers')"),
        code("guess", "print('not attempted: 01.guess')"),
        code("strict", STRICT),
    )
    store(tmp_path / "labs" / "02_sub.ipynb", code("sub-check", "sub(1, 2)"))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.ipynb")}
    failed, heard = output_of(lambda: labs(tmp_path, []))
    assert failed == 1 and "1 of 2 notebooks well" in heard
    assert "2 not attempted" in heard and "1 + 1" in heard
    assert "labs/02_sub.ipynb, cell sub-check: raises NameError: name 'sub' is not defined\n" in heard
    assert "    NameError: name 'sub' is not defined\n" in heard, "the text below it stands in whole lines"
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.ipynb")} == before


def test_a_limit_that_is_no_number_is_wrong_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store(tmp_path / "solutions" / "01_one.ipynb", code("one", "1"))
    monkeypatch.setenv("LABBOOK_CELL_SECONDS", "soon")
    failed, heard = output_of(lambda: run(tmp_path, [], force=False))
    assert failed == 2 and "LABBOOK_CELL_SECONDS must be a number above 0, not 'soon'" in heard


def test_silent_exercises_and_early_verdicts_are_faults():
    known = {"exercises": ["01.add", "01.save_run"], "predictions": ["01.guess"]}
    reports = [("add-check", "01.add", "passed"), ("elsewhere", "01.save_run", "not attempted")]
    assert silent(known, reports) == [
        "cell add-check: 01.add says 'passed' though nothing was solved",
        "cell save-run-check: nothing says 'not attempted: 01.save_run'",
        "no cell says 'not attempted: 01.guess'",
    ]


def test_another_nbval_than_the_one_that_is_patched_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(nbval_plugin.nbval, "__version__", "0.12.0")
    monkeypatch.setattr(nbval_plugin.nbval.kernel.RunningKernel, "await_reply", lambda self, msg_id: None)
    with pytest.raises(
        pytest.UsageError,
        match=r"patches nbval 0.11.0, this one differs: it is version 0.12.0; .*await_reply|lambda",
    ):
        nbval_plugin.require_known_nbval()


def test_the_installed_nbval_is_the_one_that_is_patched():
    nbval_plugin.require_known_nbval()


def test_asking_a_page_for_its_exercises_starts_no_fork_server() -> None:
    asked = "import sys; sys.modules['ipykernel'] = sys; from helpers.course.registry import ids"
    asked += "; print(ids('start')); print('helpers.labs' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", asked], cwd=paths.ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["{'exercises': [], 'predictions': []}", "False"]


def test_a_folder_may_have_any_name(tmp_path: Path):
    root = tmp_path / "OneDrive - Bürő, [1] (100%)" / "lab book"
    store(root / "solutions" / "01_one.ipynb", code("one", "print('one')"))
    failed, heard = output_of(lambda: run(root, [], force=True))
    assert failed == 0, heard
    failed, heard = output_of(lambda: validate(root, [], force=True))
    assert failed == 0 and "1 of 1 " in heard, heard
