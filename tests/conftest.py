"""What belongs together in a run on several cores, what is left out, and which tests may be skipped.

`make test` gives the tests to workers of pytest-xdist, one more than there are cores: a file is one piece of work, so that
what is made once for its tests is made once. The wrong and right answers are a piece an exercise: its reports are read by
two files. They come last: they compute all the time and are short, so that all workers end together. In the browser a lab
is a piece. `--lab 03` leaves only the tests of lab 03, `--until` those that begin in time; the slow tests that a run leaves
out are counted at its end.
In CI, the reasons for which tests are skipped must be those of allowed_skips.yaml, no more and no fewer.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

import ci  # noqa: F401  before any test imports nbformat: it says what need not be imported with that

ALLOWED = Path(__file__).with_name("allowed_skips.yaml")
SPENT = "the minutes of this run are spent"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--lab NN`, which may be given several times, and `--until SECONDS`."""
    parser.addoption("--lab", action="append", default=[], metavar="NN", help="only the tests of this lab")
    late = "skip what would begin later than this, in seconds since 1970"
    parser.addoption("--until", type=float, metavar="SECONDS", help=late)


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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the tests of the labs that were asked for, puts the answers last, and counts the slow tests."""
    if labs := config.option.lab:
        others = [item for item in items if not is_of_a_lab(item.nodeid, labs)]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]
    items.sort(key=lambda item: piece(item.nodeid).startswith("answers-"))
    if config.option.markexpr == "not slow":
        slow = [item.nodeid for item in items if item.get_closest_marker("slow")]
        config.stash[LEFT_OUT] = Counter(re.sub(r"\[.*", "", nodeid) for nodeid in slow)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips what begins too late."""
    if (end := item.config.option.until) is not None and time.time() > end:
        pytest.skip(SPENT)


TOPICS = {
    stem[:2]: stem[3:].partition("_")[0]
    for stem in (
        path.stem for path in Path(__file__).parent.with_name("solutions").glob("[0-9][0-9]_*.ipynb")
    )
}


def is_of_a_lab(nodeid: str, labs: Sequence[str]) -> bool:
    """Whether a test is about one of these labs: `test_x[03.conv2d]`, `test_x[03_autograd]`, `labs/test_autograd_x.py`.

    labs: their numbers, such as 03.
    """
    if about := re.search(r"\[(\d\d)[._\]]", nodeid):
        return about[1] in labs
    named = re.match(r".*\b(?:labs|figures)/test_([a-z]+)", nodeid)
    return bool(named) and named[1] in (TOPICS.get(lab) for lab in labs)


def piece(nodeid: str) -> str:
    """The exercise or lab that a test is about, in files that go from one to the next; else the test's file."""
    if about := re.search(r"check/test_(?:exercises|messages)\.py::\w+\[(\d\d\.\w+)", nodeid):
        return f"answers-{about[1]}"
    if about := re.search(r"test_journey\.py::\w+\[(\d\d)", nodeid):
        return f"journey-{about[1]}"
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
    narrowed = config.option.keyword or config.option.lab or config.option.markexpr != "not slow"
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not narrowed


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails the run in CI if the skipped tests are not those that the list expects."""
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = dict(config.stash.get(LEFT_OUT, {}))
    if os.environ.get("CI", "").lower() not in ("true", "1") or hasattr(config, "workerinput"):
        return  # a worker of pytest-xdist has seen some of the tests only
    kind = machine_kind()
    lists, whole = yaml.safe_load(ALLOWED.read_text(encoding="utf-8")), is_whole(config)
    allowed = lists[kind] if whole else [*lists[kind], *lists.get("slow", [])]
    config.stash[ERRORS] = skip_errors(skip_reasons(config), allowed, whole=whole)
    if config.stash[ERRORS] and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Takes over what a worker of pytest-xdist has left out: each has seen all tests."""
    node.config.stash[LEFT_OUT] = Counter(getattr(node, "workeroutput", {}).get("left_out", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Says what was left out, and which skips were not expected, after the list of all skips."""
    if left_out := config.stash.get(LEFT_OUT, Counter()):
        terminalreporter.write_line(f"left out: {left_out.total()} slow tests")
        for test, count in sorted(left_out.items()):
            terminalreporter.write_line(f"{count:6d}  {test}")
    skipped = terminalreporter.stats.get("skipped", [])
    if late := sum(SPENT in str(report.longrepr) for report in skipped):
        terminalreporter.write_line(f"left out: {late} tests, since {SPENT}")
    errors = config.stash.get(ERRORS, [])
    if errors:
        terminalreporter.section("skips that tests/allowed_skips.yaml does not expect")
        for error in errors:
            terminalreporter.write_line(error)


ERRORS = pytest.StashKey[list[str]]()
LEFT_OUT = pytest.StashKey[Counter[str]]()
