"""Facts files, their checks in processes of their own, and a ledger's gaps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
import yaml

from ci.facts import command
from ci.facts.checks import run_checks
from ci.facts.command import check_error, facts, facts_files
from helpers.facts import FactsError, facts_file, then_and_now
from tests.support.project import exercise_project, output_of

GOOD = "import torch\nassert torch.tensor([1, 2]).sum() == 3"


def entry(**changes: object) -> dict:
    fact = {"id": "sum", "fact": "`sum` adds.", "status": "holds", "check": GOOD, "cell": "add"} | changes
    return {key: value for key, value in fact.items() if value != "gone"}


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., Path]:
    """Writes the facts of lab 01 into a project and returns its root."""
    exercise_project(tmp_path)

    def make(*entries: dict, topics: tuple[str, ...] = ("sums",), **more: object) -> Path:
        folder = tmp_path / "data" / "facts"
        folder.mkdir(parents=True, exist_ok=True)
        whole = {"topics": list(topics), "facts": list(entries), **more}
        (folder / "01_add.yaml").write_text(yaml.safe_dump(whole))
        return tmp_path

    return make


def ledger(root: Path, *claims: tuple[str, str]) -> Path:
    folder = root / "ledger"
    folder.mkdir(exist_ok=True)
    listed = [{"id": name, "topic": topic, "claim": "..."} for name, topic in claims]
    (folder / "notes.yaml").write_text(yaml.safe_dump({"claims": listed}))
    return folder


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"colour": "red"}, "entry 1 (sum): unknown key colour"),
        ({"cell": "gone"}, "entry 1 (sum): cell is missing"),
        ({"fact": 3}, "entry 1 (sum): fact must be text, not 3"),
        ({"id": "Sum up"}, "an id is small letters"),
        ({"status": "true"}, "status 'true' is none of holds, changed"),
        ({"status": "changed"}, "it is changed, so `changed` says what"),
        ({"check": None}, "either a check, or null and the reason"),
        ({"reason": "no need"}, "either a check, or null and the reason"),
        ({"covers": "sum"}, "covers is a list of ids"),
        ({"gpu": "yes"}, "gpu is true or false"),
        ({"torch": "newest"}, "torch is a range of versions"),
    ],
)
def test_a_faulty_entry_is_told_with_its_place(project, change: dict, what: str):
    with pytest.raises(FactsError) as raised:
        facts_file(project(entry(**change)) / "data/facts/01_add.yaml")
    assert str(raised.value).startswith("data/facts/01_add.yaml, entry 1") and what in str(raised.value)


def test_an_unknown_list_and_a_double_id_are_refused(project):
    with pytest.raises(FactsError, match="two lists and nothing else"):
        facts_file(project(entry(), extra=[]) / "data/facts/01_add.yaml")
    with pytest.raises(FactsError, match="the id sum stands twice"):
        facts_file(project(entry(), entry()) / "data/facts/01_add.yaml")


def test_a_cell_that_the_solution_has_not_is_refused(project):
    root = project(entry(cell="sub"))
    code, heard = output_of(lambda: facts(root, []))
    assert code == 1 and "data/facts/01_add.yaml: sum: solutions/01_add.ipynb has no cell sub" in heard


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("import torch\ntorch.ones(3)", "asserts nothing"),
        ("import torch\nassert True", "asserts constants only"),
        ("x = 1\nassert x == 1", "imports neither torch nor torchvision"),
        ("import torch\nassert (", "not valid Python"),
    ],
)
def test_a_check_that_cannot_fail_is_refused(source: str, what: str):
    assert what in check_error(source)


def test_a_real_check_is_accepted():
    assert check_error(GOOD) == "" and check_error("from torchvision import ops\nassert ops.nms") == ""


def test_checks_run_apart_and_say_what_failed():
    checks = {
        "good": GOOD,
        "first": "import torch\ntorch.set_default_dtype(torch.float64)\nassert torch.ones(1).dtype == torch.float64",
        "second": "import torch\nassert torch.ones(1).dtype == torch.float32",
        "wrong": "import torch\nassert torch.ones(2).sum() == 3, 'two ones are two'",
        "leaves": "import sys, torch\nsys.exit(0)\nassert torch",
        "skips": "import torch\nif torch is None:\n    assert torch",
        "crashes": "import os, torch\nos.kill(os.getpid(), 11)\nassert torch",
        "source": "import inspect, torch\ndef f():\n    return 1\nassert 'return 1' in inspect.getsource(f) and torch",
        "workers": "import torch\nfrom torch.utils.data import DataLoader\nassert len(list(DataLoader([1, 2], num_workers=1, multiprocessing_context='fork'))) == 2 and torch",
    }
    message = run_checks(checks, limit=20, jobs=2)
    assert {name for name, words in message.items() if not words} == {
        "good",
        "first",
        "second",
        "source",
        "workers",
    }
    assert "two ones are two" in message["wrong"] and "SystemExit" in message["leaves"]
    assert "no assert was reached" in message["skips"] and "SIGSEGV" in message["crashes"]


def test_a_check_that_hangs_is_ended_with_what_it_started():
    source = "import subprocess, torch\nsubprocess.run(['sleep', '98761'])\nassert torch"
    assert run_checks({"hangs": source}, limit=1, jobs=1) == {"hangs": "timed out after 1 s"}
    assert not [p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == ["sleep", "98761"]]


def test_facts_prints_each_fact_with_cell_and_result(project):
    root = project(
        entry(covers=["sum-adds"]),
        entry(id="lie", fact="Two is three.", check="import torch\nassert torch.tensor(2) == 3, 'no'"),
        entry(id="old", torch="<2.0"),
        entry(id="told", check=None, reason="it is about documentation"),
    )
    code, heard = output_of(lambda: facts(root, ["01"]))
    assert code == 1 and "facts: 3 of 4 stand" in heard
    assert "ok       sum  [cell add] holds" in heard and "AssertionError: no" in heard
    assert "skipped  old" in heard and "for torch <2.0, this is" in heard
    assert "no check told  [cell add] holds (it is about documentation)" in heard


def test_a_ledgers_gaps_are_listed_with_their_reasons(project, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(command, "_last_words", lambda checks, root: dict.fromkeys(checks, ""))
    root = project(entry(covers=["sum-adds"]))
    folder = ledger(root, ("sum-adds", "sums"), ("sum-of-none", "sums"), ("far", "other"))
    code, heard = output_of(lambda: facts(root, [], ledger=folder))
    assert code == 1 and "01_add: 1 of 2 claims are covered (sums)" in heard
    assert "sum-of-none (sums): NO REASON" in heard and "far" not in heard
    (root / "data/facts/not_covered.yaml").write_text("sum-of-none: It is in lab 03.")
    code, heard = output_of(lambda: facts(root, [], ledger=folder))
    assert code == 0 and "sum-of-none (sums): It is in lab 03." in heard


def test_what_the_ledger_does_not_hold_is_a_fault(project, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(command, "_last_words", lambda checks, root: dict.fromkeys(checks, ""))
    root = project(entry(covers=["sum-ads"]), topics=("sums", "odd"))
    code, heard = output_of(lambda: facts(root, [], ledger=ledger(root, ("sum-adds", "sums"))))
    assert code == 1 and "sum covers sum-ads, which the ledger does not hold" in heard
    assert "the ledger has no topic odd" in heard


def test_wrong_usage_is_exit_code_2(project):
    root = project(entry())
    code, heard = output_of(lambda: facts(root, ["07"]))
    assert code == 2 and "no facts for lab 07 in data/facts/: there are 01" in heard


def test_a_ledger_that_is_not_there_is_wrong_usage(project, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(command, "_last_words", lambda checks, root: dict.fromkeys(checks, ""))
    root = project(entry())
    assert output_of(lambda: facts(root, [], ledger=root / "nowhere"))[0] == 2


def test_then_and_now_shows_what_is_not_as_it_is_told(project):
    root = project(entry(), entry(id="seed", fact="A `seed` < two.", status="changed", changed="Since 1.9."))
    box = then_and_now("01", root / "data")._repr_mimebundle_()
    assert box["text/plain"] == "A `seed` < two.\n  changed: Since 1.9."
    assert ">seed</code> &lt; two." in box["text/html"] and "adds" not in box["text/html"]
    assert not {"<script", "<style", "class="} & {
        part for part in ("<script", "<style", "class=") if part in box["text/html"]
    }


def test_a_lab_without_facts_is_told(tmp_path: Path):
    with pytest.raises(FactsError, match="holds 0 files for lab 01"):
        then_and_now("01", tmp_path)


def test_a_project_without_facts_has_none(tmp_path: Path):
    assert facts_files(tmp_path) == []
