"""What belongs together in a run on several cores, and which tests may be skipped.

`make test` gives the tests to workers of pytest-xdist, one a core: a file is one piece of work, so that what is made
once for its tests is made once. The wrong and right answers are a piece a lab: their reports are read by two files.
In the browser, too, a lab is a piece.
In CI, the reasons for which tests are skipped must be those of allowed_skips.yaml, no more and no fewer.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
import yaml

ALLOWED = Path(__file__).with_name("allowed_skips.yaml")


def pytest_configure(config: pytest.Config) -> None:
    """Hears the interrupt, whatever those who started this have set: `pytest &` in a shell's script ignores it.

    Programs that the tests start would inherit that, and never end where a test interrupts them.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Gives whole pieces of work to the workers."""
    from xdist.scheduler import LoadScopeScheduling

    class Pieces(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return piece(nodeid)

    return Pieces(config, log)


BY_LAB = re.compile(r"test_(\w+)\.py::\w+\[(\d\d)")
OF_A_LAB = {"exercises": "answers", "messages": "answers", "journey": "journey"}


def piece(nodeid: str) -> str:
    """The lab that a test is about, in files that go from lab to lab; else the test's file."""
    about = BY_LAB.search(nodeid)
    if about and about[1] in OF_A_LAB:
        return f"{OF_A_LAB[about[1]]}-{about[2]}"
    return nodeid.partition("::")[0]


def machine_kind() -> str:
    """`gpu` where torch sees a CUDA device, else `cpu`. LABBOOK_MACHINE overrides it."""
    if named := os.environ.get("LABBOOK_MACHINE"):
        return named
    import torch

    return "gpu" if torch.cuda.is_available() else "cpu"


def skip_errors(reasons: Collection[str], allowed: Collection[str], *, whole: bool) -> list[str]:
    """What is wrong with the reasons that occurred, one line each.

    whole: every test ran, so a reason that did not occur is an error, too.
    """
    errors = [f"skipped, and not allowed here: {reason}" for reason in sorted(set(reasons) - set(allowed))]
    if whole:
        unmet = sorted(set(allowed) - set(reasons))
        errors += [f"allowed here, but nothing was skipped for it: {reason}" for reason in unmet]
    return errors


def skip_reasons(config: pytest.Config) -> set[str]:
    """The reasons of all skipped tests of this run."""
    reports = config.pluginmanager.get_plugin("terminalreporter").stats.get("skipped", [])
    return {str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports}


def is_whole(config: pytest.Config) -> bool:
    """Whether this run was asked for everything that `make test` asks for."""
    narrowed = config.option.keyword or config.option.markexpr != "not slow"
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not narrowed


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails the run in CI if the skipped tests are not those that the list expects."""
    config = session.config
    if os.environ.get("CI", "").lower() not in ("true", "1") or hasattr(config, "workerinput"):
        return  # a worker of pytest-xdist has seen some of the tests only
    kind = machine_kind()
    lists, whole = yaml.safe_load(ALLOWED.read_text(encoding="utf-8")), is_whole(config)
    allowed = lists[kind] if whole else [*lists[kind], *lists.get("slow", [])]
    config.stash[ERRORS] = skip_errors(skip_reasons(config), allowed, whole=whole)
    if config.stash[ERRORS] and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Says which skips were not expected, after the list of all skips."""
    errors = config.stash.get(ERRORS, [])
    if errors:
        terminalreporter.section("skips that tests/allowed_skips.yaml does not expect")
        for error in errors:
            terminalreporter.write_line(error)


ERRORS = pytest.StashKey[list[str]]()
