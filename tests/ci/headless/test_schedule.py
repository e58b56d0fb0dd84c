"""Which notebooks run beside which: the longest first, one at a time with ranks, no more than the memory holds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from ci.headless import free_memory, pool
from ci.headless.jobs import Job
from ci.headless.pool import outcomes
from ci.headless.schedule import MEGABYTES, History, Schedule, starts_ranks
from ci.notebooks.files import read
from helpers import paths
from tests.support.project import code, notebook, output_of, text


def schedule(root: Path, known: dict[str, dict], at_once: int, megabytes: float, *ranks: str) -> Schedule:
    """A schedule for the jobs that are known, and those named in `ranks` start ranks."""
    (root / ".labbook").mkdir()
    (root / ".labbook" / "jobs.json").write_text(json.dumps({"run": known}))
    jobs = [Job(name, [], cells=1, ranks=name in ranks) for name in known]
    return Schedule(jobs, History(root, "run"), at_once, megabytes)


def begun(plan: Schedule) -> list[list[str]]:
    """Who runs beside whom, if the first to begin is always the first to end."""
    running: list[Job] = []
    together = []
    while plan.waiting or running:
        while job := plan.next(running):
            running.append(job)
        together.append([job.name for job in running])
        running.pop(0)
    return together


def test_the_longest_begins_first_and_the_unknown_before_it(tmp_path: Path):
    known = {"short": {"seconds": 1}, "long": {"seconds": 9}, "middle": {"seconds": 5}, "unknown": {}}
    assert begun(schedule(tmp_path, known, 1, 1e6)) == [["unknown"], ["long"], ["middle"], ["short"]]


def test_no_two_with_ranks_run_together_and_they_begin_early(tmp_path: Path):
    known = {name: {"seconds": seconds} for name, seconds in zip("abcde", (6, 5, 4, 3, 2), strict=True)}
    plan = schedule(tmp_path, known, 3, 1e6, "c", "d", "e")
    assert begun(plan) == [["c", "a", "b"], ["a", "b", "d"], ["b", "d"], ["d"], ["e"]]


def test_the_memory_bounds_how_many_run_and_one_always_does(tmp_path: Path):
    peaks = {"huge": 9000, "big": 3000, "small": 1000, "tiny": 500}
    known = {name: {"seconds": 9, "megabytes": peak} for name, peak in peaks.items()}
    assert begun(schedule(tmp_path, known, 4, 4000)) == [
        ["huge"],
        ["big", "small"],
        ["small", "tiny"],
        ["tiny"],
    ]


def test_a_job_that_was_never_measured_counts_as_a_big_one(tmp_path: Path):
    known: dict[str, dict] = {name: {} for name in "abc"}
    assert begun(schedule(tmp_path, known, 3, 2.5 * MEGABYTES))[0] == ["a", "b"]


@pytest.mark.parametrize(
    "content",
    [
        *("", "[1]", "[" * 100_000, '{"run": {"a": {"seconds": "long"}}}', '{"run": {"a": 3}}'),
        '{"run": {"a": {"seconds": 1' + "0" * 400 + "}}}",
    ],
    ids=("empty", "a list", "deep", "a word", "a number", "too large"),
)
def test_a_damaged_history_costs_nothing(tmp_path: Path, content: str):
    (tmp_path / ".labbook").mkdir()
    (tmp_path / ".labbook" / "jobs.json").write_text(content)
    history = History(tmp_path, "run")
    assert history.seconds(Job("a", [])) == 1000
    history.learn("a", 3.21, None)
    assert History(tmp_path, "run").seconds(Job("a", [])) == 3.2


def test_two_commands_keep_both_what_they_learned(tmp_path: Path):
    first, second = History(tmp_path, "run"), History(tmp_path, "labs")
    first.learn("a", 1, 100e0)
    second.learn("a", 2, 200e0)
    assert [History(tmp_path, what).megabytes(Job("a", [])) for what in ("run", "labs")] == [100, 200]


def test_ranks_are_seen_in_the_code_alone():
    assert starts_ranks(notebook(code("a", "import torch\nfrom helpers import figures, ranks")))
    assert starts_ranks(notebook(code("a", "from helpers.ranks.link import Link")))
    assert not starts_ranks(notebook(text("a", "from helpers import ranks"), code("b", "ranks = 4")))


@pytest.mark.parametrize("folder", ["solutions", "labs"])
def test_the_labs_that_start_ranks_are_those_of_two_modules(folder: str):
    found = [
        path.stem for path in sorted((paths.ROOT / folder).glob("*.ipynb")) if starts_ranks(read(path, path))
    ]
    assert found == ["07_ddp", "08_allreduce"]


# Announces whether another job ran beside it. Each waits for the other's mark, a while at most.
MEETS = """
import json, os, sys, time
from pathlib import Path
me, other, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
(folder / me).touch()
end = time.monotonic() + float(sys.argv[4])
while not (met := (folder / other).exists()) and time.monotonic() < end:
    time.sleep(0.01)
if met:
    (folder / f"{me} met").touch()
    while not (folder / f"{other} met").exists() and time.monotonic() < end:
        time.sleep(0.01)
(folder / me).unlink()
with open(os.environ["LABBOOK_EVENTS"], "a") as events:
    events.write(json.dumps({"event": "result", "met": met}) + "\\n")
"""


@pytest.mark.parametrize(("ranks", "seconds"), [(False, 60), (True, 1)])
def test_jobs_meet_unless_they_start_ranks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ranks: bool, seconds: int
):
    monkeypatch.setenv("LABBOOK_JOBS", "2")
    jobs = [
        Job(me, [sys.executable, "-c", MEETS, me, other, str(tmp_path), str(seconds)], ranks=ranks)
        for me, other in ("ab", "ba")
    ]
    done = []
    output_of(lambda: done.extend(outcomes(jobs, tmp_path, "run")) or 0)
    assert [outcome.name for outcome in done] == ["a", "b"] and [o.errors for o in done] == [[], []]
    assert [outcome.result["met"] for outcome in done] == [not ranks, not ranks]


# The child of a fork shares what its parent holds. Both wait until the test is done.
HOLDS = """
import os, sys
held = bytearray(os.urandom(1) * 2**27)
child = os.fork()
if child:
    print(child, flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what processes share")
def test_memory_that_processes_share_is_counted_once():
    command = [sys.executable, "-c", HOLDS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        try:
            both = [psutil.Process(parent.pid), psutil.Process(int(parent.stdout.readline()))]
            assert 2**27 < free_memory.held(both) < 2**28 < sum(process.memory_info().rss for process in both)
        finally:
            parent.stdin.close()
    psutil.wait_procs(both, timeout=30)
    assert free_memory.held(both) == 0


def test_the_peak_of_a_job_is_learned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pool, "LOOK", 0.0)
    monkeypatch.setattr(pool, "LOOK_SHARE", 1.0)
    waits = (
        "import json, os, time\nheld = bytearray(b'x' * 2**27)\nend = time.monotonic() + 60\n"
        "seen = open(os.environ['LABBOOK_EVENTS'] + '-looked', 'w').name\n"
        "while os.path.exists(seen) and time.monotonic() < end:\n    time.sleep(0.01)\n"
        "open(os.environ['LABBOOK_EVENTS'], 'a').write('{\"event\": \"result\"}\\n')\n"
    )
    look = pool.free_memory.held

    def looked(processes: list[psutil.Process]) -> int:
        """Lets the job go on once it was seen with all that it holds."""
        seen = look(processes)
        if seen > 2**27:
            for process in processes:
                Path(process.environ()["LABBOOK_EVENTS"] + "-looked").unlink(missing_ok=True)
        return seen

    monkeypatch.setattr(pool.free_memory, "held", looked)
    output_of(lambda: len(outcomes([Job("a", [sys.executable, "-c", waits])], tmp_path, "run")))
    assert 128 < History(tmp_path, "run").megabytes(Job("a", [])) < 1000


def control_group(folder: Path, limit: str, usage: int, cache: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{usage}\n")
    (folder / "memory.stat").write_text(f"anon 1\ninactive_file {cache}\n")


@pytest.mark.parametrize("inside", ["/docker/one", "/"])
def test_a_container_limits_the_memory(tmp_path: Path, inside: str):
    own = tmp_path / "own"
    own.write_text(f"0::{inside}\n")
    free = free_memory.available(tmp_path, own)
    assert free > 2**27  # no limit is set yet: the machine's
    control_group(tmp_path, "max", 2**40, 0)
    assert free_memory.available(tmp_path, own) > 2**27
    control_group(tmp_path, str(2**27), 2**26, 2**20)  # also the limit of a group further out
    assert free_memory.available(tmp_path, own) == 2**27 - 2**26 + 2**20
    control_group(tmp_path / "docker" / "one", str(2**20), 2**21, 0)
    assert free_memory.available(tmp_path, own) == (0 if inside != "/" else 2**26 + 2**20)


def test_the_older_control_groups_limit_the_memory_too(tmp_path: Path):
    own, group = tmp_path / "own", tmp_path / "memory" / "job"
    own.write_text("9:cpu:/job\n4:memory:/job\n0::/\n")
    group.mkdir(parents=True)
    (group / "memory.limit_in_bytes").write_text(f"{2**27}\n")
    (group / "memory.usage_in_bytes").write_text(f"{2**26}\n")
    (group / "memory.stat").write_text("total_inactive_file 5\n")
    assert free_memory.available(tmp_path, own) == 2**26 + 5


def test_without_control_groups_the_machine_counts(tmp_path: Path):
    assert free_memory.available(tmp_path, tmp_path / "none") > 2**27


# A job whose kernel finds its port taken, as many times as there are names in a list; then one that does its work.
LOSES_ITS_PORT = """
import sys
from pathlib import Path
from ci.headless import child
child.begin()
left = Path(sys.argv[1])
names = left.read_text().split()
if names:
    left.write_text(" ".join(names[1:]))
    print("zmq.error.ZMQError: Address already in use (addr='tcp://127.0.0.1:36855')", flush=True)
    child.announce("error", what="the Jupyter kernel did not start", log=True)
    sys.exit(1)
child.announce("result", cells=1)
"""


@pytest.mark.parametrize(("times", "errors"), [(2, 0), (3, 1)])
def test_a_job_whose_kernel_lost_its_port_is_started_again(tmp_path: Path, times: int, errors: int):
    """Jupyter looks for a free port, and the kernel takes it a moment later: another process may be first."""
    left = tmp_path / "left"
    left.write_text("again " * times)
    work = Job("01_one", [sys.executable, "-c", LOSES_ITS_PORT, str(left)])
    done = []
    output_of(lambda: done.extend(outcomes([work], paths.ROOT, "ports")) or 0)
    [outcome] = done
    assert len(outcome.errors) == errors and bool(outcome.result) == (not errors), outcome.errors
    assert all("Address already in use" in error for error in outcome.errors)
