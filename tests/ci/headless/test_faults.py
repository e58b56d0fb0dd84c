"""What goes wrong while notebooks run headless, one row each: what is said, what is left, and that the next run works."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from ci.headless.jobs import Job, Outcome
from ci.headless.pool import outcomes
from helpers import paths
from tests.support.failing_notebooks import COMMANDS, FOLDER, Running, contents, project, without_root_rights
from tests.support.project import output_of, without_outputs

SECONDS = "6"  # a cell may take here; one that hangs takes all of them
DIES = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
HANGS = (
    "import time\nwhile True:\n    try:\n        time.sleep(60)\n    except KeyboardInterrupt:\n        break"
)
OUT_OF_MEMORY = (
    "import resource\nresource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33))\nmany = bytearray(2**34)"
)
JOB_DIES = (
    "import os\nfrom ci.headless import child\n"
    "for process in child.marked(os.environ[child.MARK]):\n    if process.pid != os.getpid():\n        process.kill()\n"
    "import time\ntime.sleep(60)"
)
GOOD = "pass"


@dataclass(frozen=True)
class Row:
    """A notebook that goes wrong and what must be said of it, after its place; for these commands.

    file: how it is named; a job that says nothing more is only known by its notebook's name.
    """

    cell: str
    place: str
    description: tuple[str, ...]
    commands: tuple[str, ...] = COMMANDS
    file: str = "{folder}/{name}.ipynb"


ROWS = {
    "01_dies": Row(DIES, ", cell trouble", ("the kernel died here: out of memory (LABBOOK_JOBS=1",)),
    "02_hangs": Row(
        HANGS, ", cell trouble", (f"hung: not done after {SECONDS} s", "set LABBOOK_CELL_SECONDS")
    ),
    "03_memory": Row(OUT_OF_MEMORY, ", cell trouble", ("MemoryError",), ("run", "validate")),
    "05_job_dies": Row(
        JOB_DIES, ", cell trouble", ("the job was killed: out of memory (LABBOOK_JOBS=1",), file="{name}"
    ),
    "04_no_json": Row("", ", line 1", ("this is not valid JSON",)),
}


@dataclass(frozen=True)
class Seen:
    """A command on all the rows at once, and once more when they are mended."""

    code: int
    heard: str
    changed: list[str]
    left: list[str]
    mended: tuple[int, str]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Seen]:
    """What came of a command; each works once, whoever asks."""
    return cache(lambda command: worked(tmp_path_factory.mktemp("faults") / command, command))


def worked(root: Path, command: str) -> Seen:
    """A command on its rows, then on two of them that are mended."""
    made = project(root, command, {name: row.cell for name, row in ROWS.items() if command in row.commands})
    made["04_no_json"].write_text('{"cells": [')
    before = contents(root)
    running = Running(root, command, {"LABBOOK_CELL_SECONDS": SECONDS})
    failed, heard = running.ended()
    changed = [name for name, content in contents(root).items() if before.get(name) != content]
    left = running.left()
    for path in made.values():
        path.unlink()
    project(root, command, {"01_dies": GOOD, "04_no_json": GOOD})
    return Seen(failed, heard, changed, left, Running(root, command).ended())


@pytest.mark.parametrize(
    ("command", "name"),
    [(command, name) for command in COMMANDS for name in ROWS if command in ROWS[name].commands],
)
def test_what_goes_wrong_is_told_with_its_place(seen: Callable[[str], Seen], command: str, name: str):
    heard = seen(command).heard
    file = ROWS[name].file.format(folder=FOLDER[command], name=name)
    place = f"{command}: {file}{ROWS[name].place}: "
    description = heard.partition(place)[2].partition(f"\n{command}: ")[0]
    assert [part for part in ROWS[name].description if part not in description] == [], heard
    assert "encryption" not in description  # ipykernel's words about every kernel


@pytest.mark.parametrize("command", COMMANDS)
def test_what_goes_wrong_fails_the_command_and_leaves_nothing(seen: Callable[[str], Seen], command: str):
    done = seen(command)
    assert done.code == 1 and f"{command}: 0 of " in done.heard
    assert done.changed == [] and done.left == []


@pytest.mark.parametrize("command", COMMANDS)
def test_when_it_is_mended_the_next_run_works(seen: Callable[[str], Seen], command: str):
    failed, heard = seen(command).mended
    assert failed == 0 and f"{command}: 2 of 2 notebooks well" in heard, heard


def test_a_notebook_that_is_edited_while_it_runs_is_left_as_it_is(tmp_path: Path):
    root = tmp_path / "project"
    edit = "from pathlib import Path\nme = Path('01_one.ipynb')\nme.write_text(me.read_text().replace('last', 'later'))"
    path = project(root, "run", {"01_one": edit})["01_one"]
    running = Running(root, "run")
    failed, heard = running.ended()
    assert failed == 1 and "solutions/01_one.ipynb: it was edited while it ran" in heard
    assert "'later'" in path.read_text() and len(contents(root)) == 1 and running.left() == []


# In each row the next run finds the folder as it should be.
REFUSED = {
    "a folder that may not be written": "Permission denied",
    "a full disk": "the disk is full: make room and run again",
}
# What a process of the project imports first: writing into solutions/ finds the disk full.
FULL = """import errno, os
fsync = os.fsync
def full(number):
    if os.path.basename(os.path.dirname(os.readlink(f"/proc/self/fd/{number}"))) == "solutions":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    fsync(number)
os.fsync = full
"""


@pytest.mark.parametrize("why", REFUSED)
def test_a_result_that_cannot_be_stored_changes_nothing(tmp_path: Path, why: str):
    root = tmp_path / "project"
    path = project(root, "run", {"01_one": GOOD})["01_one"]
    without_outputs(path)  # so that there is something to store
    before = contents(root)
    if why == "a full disk":
        (root / "sitecustomize.py").write_text(FULL)
    else:
        path.parent.chmod(0o555)
        root.chmod(0o555)  # nothing can be remembered either
    running = Running(root, "run", in_child=without_root_rights)
    failed, heard = running.ended()
    root.chmod(0o755)
    path.parent.chmod(0o755)
    (root / "sitecustomize.py").unlink(missing_ok=True)
    description = f"solutions/01_one.ipynb: could not be written, and is as it was: {REFUSED[why]}"
    assert failed == 1 and description in heard, heard
    assert contents(root) == before and running.left() == []
    assert Running(root, "run").ended()[0] == 0 and contents(root) != before


ENDINGS = [signal.SIGINT, signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.name)
def test_a_command_that_is_ended_leaves_no_process_and_no_change(tmp_path: Path, ending: signal.Signals):
    root, reached = tmp_path / "project", tmp_path / "reached"
    hang = f"import time\nfrom pathlib import Path\nPath({str(reached)!r}).touch()\ntime.sleep(600)"
    project(root, "run", {"01_slow": hang})
    before = contents(root)
    running = Running(root, "run")
    wait_until(lambda: reached.exists() or running.process.poll() is not None)
    assert reached.exists(), running.ended()[1]
    running.process.send_signal(ending)
    failed, heard = running.ended()
    assert running.left() == [] and contents(root) == before
    if ending == signal.SIGINT:
        assert failed == 130 and "run: interrupted; no notebook was changed half-way" in heard, heard
    project(root, "run", {"01_slow": GOOD})
    again, heard = Running(root, "run").ended()
    assert again == 0, heard


def wait_until(condition: Callable[[], object]) -> None:
    """Waits until something holds, two minutes at most."""
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, "waited for two minutes"
        time.sleep(0.05)


def test_two_runs_at_once_do_not_harm_each_other(tmp_path: Path):
    """No lock: a notebook is put in place whole, and both put the same bytes there."""
    root, met, temporary = tmp_path / "project", tmp_path / "met", tmp_path / "temporary"
    met.mkdir()
    meet = (
        "import os, time\nfrom pathlib import Path\n"
        f"met, end = Path({str(met)!r}), time.monotonic() + 120\n(met / str(os.getpid())).touch()\n"
        "while len(list(met.iterdir())) < 2 and time.monotonic() < end:\n    time.sleep(0.01)\n"
        "assert len(list(met.iterdir())) >= 2\nprint('both are here')"
    )
    path = project(root, "run", {"01_one": meet})["01_one"]
    limit = {"LABBOOK_CELL_SECONDS": "150"}
    both = [Running(root, "run", limit, temporary=temporary) for _ in range(2)]
    for running in both:
        failed, heard = running.ended()
        assert failed == 0, heard
    assert "both are here\\n" in path.read_text() and len(contents(root)) == 1
    assert [running.left() for running in both] == [[], []]
    before = contents(root)
    failed, heard = Running(root, "run", limit, temporary=temporary).ended()
    assert failed == 0 and contents(root) == before, heard


SILENT = "import time\nfrom ci.headless import child\nchild.begin()\nchild.announce('cell', cell='last', index=1)\ntime.sleep(600)"


def test_a_job_that_falls_silent_between_cells_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ci.headless.pool.START_SECONDS", 0)
    monkeypatch.setenv("LABBOOK_CELL_SECONDS", "5")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    done: list[Outcome] = []
    work = Job("01_one", [sys.executable, "-c", SILENT])
    output_of(lambda: done.extend(outcomes([work], paths.ROOT, "faults")) or 0)
    assert [error for outcome in done for error in outcome.errors] == [
        "01_one, cell last: nothing for 5 s; ended. If it only needs longer, set LABBOOK_CELL_SECONDS"
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_very_long_line_does_not_take_for_ever():
    long = "from ci.headless.stored import sanitized\nline = 'x' * 1_000_000\nassert sanitized(line) == line"
    root = paths.ROOT
    assert subprocess.run([sys.executable, "-c", long], cwd=root, timeout=120).returncode == 0


RANKS = (
    "from helpers import ranks\n\ndef hangs():\n    import pathlib, time\n"
    "    pathlib.Path({reached!r}).touch()\n    time.sleep(600)\n\n\n"
    "ranks.run(hangs, ranks=2, timeout=500)"
)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run", "validate"])
def test_ranks_that_hang_end_with_their_notebook(tmp_path: Path, command: str):
    root, reached = tmp_path / "project", tmp_path / "reached"
    project(root, command, {"01_ranks": RANKS.format(reached=str(reached))})
    before = contents(root)
    # Not below tmp_path: the path of a socket may have 107 letters.
    with tempfile.TemporaryDirectory() as temporary:
        running = Running(root, command, {"LABBOOK_CELL_SECONDS": "40"}, temporary=Path(temporary))
        failed, heard = running.ended()
        assert failed == 1 and "solutions/01_ranks.ipynb, cell trouble: hung: not done after 40 s" in heard, (
            heard
        )
        assert reached.exists() and contents(root) == before
        # torch keeps a cache there, and a kernel that is killed does not clear its fork server's folder away.
        kept = ("torchinductor_", "pymp-")
        assert [
            left for left in running.left() if not any(f"{temporary}/{name}" in left for name in kept)
        ] == []


def small_disk_here() -> bool:
    """Whether a process may have a small disk of its own."""
    if not shutil.which("unshare"):
        return False
    command = [*OWN_MOUNTS, "mount -t tmpfs none /mnt"]
    return subprocess.run(command, capture_output=True).returncode == 0


OWN_MOUNTS = ("unshare", "--map-root-user", "--mount", "sh", "-c")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("full", "description"), [("temporary", "is full: make room"), ("solutions", REFUSED["a full disk"])]
)
def test_a_disk_that_is_really_full(tmp_path: Path, full: str, description: str):
    if not small_disk_here():
        pytest.skip("a small disk needs the right to mount")
    root, temporary = tmp_path / "project", tmp_path / "temporary"
    path = project(root, "run", {"01_one": "print('a long line ' * 30_000)"})["01_one"]
    temporary.mkdir()
    place, size = (temporary, "64k") if full == "temporary" else (path.parent, "128k")
    kept = tmp_path / "kept.ipynb"
    shutil.copy(path, kept)
    # The disk is gone with the shell, so it looks at the end what lies there.
    script = (
        f"mount -t tmpfs -o size={size} none {place} && "
        f"{{ [ -e {path} ] || cp {kept} {path}; }} && "
        f'"$@"; code=$?; cmp {kept} {path} && ls -A {path.parent} {temporary}; exit $code'
    )
    running = Running(root, "run", before=(*OWN_MOUNTS, script, "sh"), temporary=temporary)
    failed, heard = running.ended()
    assert failed == 1 and description in heard, heard
    assert heard.endswith(f"{path.parent}:\n01_one.ipynb\n\n{temporary}:\n"), heard
    assert running.left() == []
    again, heard = Running(root, "run").ended()
    assert again == 0, heard
