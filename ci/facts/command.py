"""`labbook facts`: the facts of the labs with their cells, each checked on the installed torch."""

from __future__ import annotations

import ast
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from ci.facts.ledger import REASONS, print_gaps
from ci.headless.jobs import Job
from ci.headless.kernels import has_gpu
from ci.headless.pool import cores, outcomes
from ci.headless.run import guarded
from ci.headless.warm.owner import choice
from ci.headless.words import indented
from ci.notebooks.files import Problem, WrongUse, read
from helpers.facts import Fact, FactsError, FactsFile, facts_file

LIMIT = 60.0  # seconds for one check; most take a hundredth
# What the first optimizer, the first DDP and much else makes torch load: two seconds for each check that does.
# Not where stock kernels are asked for: there nothing is loaded that a check may have forgotten to import.
AHEAD = ["torch._inductor.config"]
MANY = 10  # checks, from which on that is worth its time


@dataclass(frozen=True)
class Checked:
    """A fact with what came of its check: `word` is ok, FAILED, skipped or no check, `why` the rest."""

    fact: Fact
    word: str
    why: str = ""


def facts(root: Path, labs: list[str], *, ledger: Path | None = None) -> int:
    """Print the facts of labs and the results of their checks; returns the exit code.

    Args:
        root: The project.
        labs: Numbers of labs, none for all.
        ledger: A folder of ledgers; what they claim on the labs' topics and no fact covers is listed.
    """
    return guarded("facts", lambda: _facts(root, labs, ledger))


def _facts(root: Path, labs: list[str], ledger: Path | None) -> int:
    files = facts_files(root)
    chosen = _chosen(files, labs)
    failed = 0
    for file, results in checked(chosen, root).items():
        print(f"\n{file.stem}")
        for result in results:
            fact = result.fact
            message = f" ({result.why})" if result.why and result.word != "FAILED" else ""
            print(
                f"  {result.word:8} {fact.id}  [cell {fact.cell}] {fact.status}{message}\n           {fact.fact}"
            )
            if result.word == "FAILED":
                failed += 1
                print(indented(result.why))
    count = sum(len(file.facts) for file in chosen)
    print(f"\nfacts: {count - failed} of {count} stand")
    gaps = print_gaps(ledger, files, chosen, root) if ledger else 0
    return int(bool(failed or gaps))


def facts_files(root: Path) -> list[FactsFile]:
    """The facts of all labs, in order.

    Raises:
        Problem: a file is not as it must be, names no lab or no cell of its lab, or two labs share an id.
    """
    found: dict[str, str] = {}
    files = []
    for path in sorted((root / "data" / "facts").glob("*.yaml")):
        if path.name == REASONS:
            continue
        try:
            file = facts_file(path)
        except FactsError as error:
            raise Problem(str(error)) from None
        _require_cells(file, root)
        for fact in file.facts:
            where = f"data/facts/{path.name}"
            if fact.id in found:
                raise Problem(f"the id {fact.id} stands in {found[fact.id]} too", path=where)
            found[fact.id] = where
            if fact.check and (error := check_error(fact.check)):
                raise Problem(f"{fact.id}: {error}", path=where)
        files.append(file)
    return files


def _require_cells(file: FactsFile, root: Path) -> None:
    cells = {cell.id for cell in read(root / "solutions" / f"{file.stem}.ipynb", root).cells}
    for fact in file.facts:
        if fact.cell not in cells:
            what = f"{fact.id}: solutions/{file.stem}.ipynb has no cell {fact.cell}"
            raise Problem(what, path=f"data/facts/{file.stem}.yaml")


def check_error(source: str) -> str:
    """Why a check could pass whatever torch does; "" if nothing speaks for that."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError as error:
        return f"the check is not valid Python: {error.msg}, line {error.lineno}"
    tests = [node.test for node in nodes if isinstance(node, ast.Assert)]
    if not tests:
        return "the check asserts nothing, so it passes whatever torch does"
    if all(not any(isinstance(part, ast.Name) for part in ast.walk(test)) for test in tests):
        return "the check asserts constants only, so it passes whatever torch does"
    modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    if not {name.split(".")[0] for name in modules} & {"torch", "torchvision"}:
        return "the check imports neither torch nor torchvision, so it passes whatever torch does"
    return ""


def checked(files: Sequence[FactsFile], root: Path) -> dict[FactsFile, list[Checked]]:
    """Every fact of the files with what came of its check, in order.

    Raises:
        Problem: the checks could not be run.
    """
    gpu = any(fact.gpu for file in files for fact in file.facts) and has_gpu()
    version = Version(_torch_version())
    skipped = {fact.id: why for file in files for fact in file.facts if (why := _skip(fact, version, gpu))}
    checks = {f.id: f.check for file in files for f in file.facts if f.check and f.id not in skipped}
    last_words = _last_words(checks, root) if checks else {}

    def result(fact: Fact) -> Checked:
        if fact.check is None:
            return Checked(fact, "no check", fact.reason)
        if fact.id in skipped:
            return Checked(fact, "skipped", skipped[fact.id])
        return Checked(fact, "FAILED" if last_words[fact.id] else "ok", last_words[fact.id])

    return {file: [result(fact) for fact in file.facts] for file in files}


def _torch_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("torch")
    except PackageNotFoundError:
        raise Problem("torch is not installed in this Python: run `make setup`") from None


def _skip(fact: Fact, version: Version, gpu: bool) -> str:
    if fact.torch is not None and not fact.torch.contains(version, prereleases=True):
        return f"for torch {fact.torch}, this is {version}"
    return "needs a GPU" if fact.gpu and not gpu else ""


def _last_words(checks: dict[str, str], root: Path) -> dict[str, str]:
    with tempfile.TemporaryDirectory(prefix="labbook-checks-") as folder:
        given = Path(folder) / "checks.json"
        ahead = AHEAD if len(checks) >= MANY and choice() != "stock" else []
        words = {"checks": checks, "limit": LIMIT, "jobs": cores(), "ahead": ahead}
        given.write_text(json.dumps(words), encoding="utf-8")
        argv = [sys.executable, "-m", "ci.facts.checks", str(given)]
        [done] = outcomes(
            [Job("checks", argv, cells=len(checks), env={"OMP_NUM_THREADS": "1"})], root, "facts"
        )
    if done.errors:
        raise Problem("\n".join(["the checks could not be run", *done.errors]))
    return done.result["last_words"]


def _chosen(files: list[FactsFile], labs: list[str]) -> list[FactsFile]:
    numbers = {file.stem[:2] for file in files}
    unknown = [lab for lab in labs if lab.zfill(2) not in numbers]
    if unknown:
        there = ", ".join(sorted(numbers)) or "none"
        raise WrongUse(f"no facts for lab {', '.join(unknown)} in data/facts/: there are {there}")
    wanted = {lab.zfill(2) for lab in labs} or numbers
    return [file for file in files if file.stem[:2] in wanted]
