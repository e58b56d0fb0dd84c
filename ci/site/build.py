"""Runs the site's tool on the prepared pages, and puts the new site in the place of the old one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from filelock import FileLock

from ci.notebooks.files import Problem, shown
from ci.site.environment import site_python
from ci.site.pages import write_sources

SITE = Path(".labbook", "site")
# A number that does not change stands for the time, so that the same notebooks give the same bytes.
SETTINGS = {"SOURCE_DATE_EPOCH": "1", "PYTHONHASHSEED": "0", "PYTHONPATH": "", "NO_COLOR": "1"}
COMPLAINT = re.compile(r"(?P<file>\S*?)(?::(?P<line>\d+))?:? ?(?:WARNING|ERROR|CRITICAL): (?P<said>.*)")


def site(root: Path) -> int:
    """Builds the pages and says where they are. Returns the exit code; a failure is one line."""
    kept = "the pages of before are as they were" if (root / SITE).exists() else "no pages were written"
    try:
        start = time.monotonic()
        build(root)
    except (Problem, OSError) as error:
        print(f"site: {error}; {kept}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"site: stopped; {kept}", file=sys.stderr)
        return 130
    print(f"the pages are in {SITE}/ after {time.monotonic() - start:.0f} s. To look at them:")
    print(f"  .venv/bin/python -m http.server 8000 --bind 127.0.0.1 --directory {SITE}")
    print("  and open 127.0.0.1:8000 in a browser")
    return 0


def build(root: Path) -> None:
    """Builds beside the old site and changes the two.

    Raises:
        Problem: the environment could not be made, or the tool complained; the old site is as it was.
    """
    state = (root / SITE).parent
    state.mkdir(exist_ok=True)
    with FileLock(state / "site.lock"):
        python = site_python(root)
        with tempfile.TemporaryDirectory(dir=state, prefix="site-") as folder:
            sources, pages = Path(folder, "sources"), Path(folder, "pages")
            sources.mkdir()
            write_sources(root, sources)
            print("building the pages", flush=True)
            run_sphinx(python, sources, pages)
            exchange(pages, root / SITE, Path(folder, "old"))


def run_sphinx(python: Path, sources: Path, pages: Path) -> None:
    """Sphinx, with every warning an error: a link that leads nowhere is one.

    Raises:
        Problem: its first complaint, with the notebook that it is about.
    """
    command = [python, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-j", "auto"]
    command += ["-d", sources.parent / "doctrees", sources, pages]
    done = subprocess.run(command, env={**os.environ, **SETTINGS}, capture_output=True, text=True)
    if done.returncode != 0:
        raise complaint(done.stderr, sources)
    for name in ("objects.inv", ".buildinfo"):
        (pages / name).unlink(missing_ok=True)


def complaint(description: str, sources: Path) -> Problem:
    """The first thing that Sphinx complained about, as one line."""
    found = next(filter(None, map(COMPLAINT.search, description.splitlines())), None)
    if found is None:
        return Problem(f"Sphinx failed: {(description.strip().splitlines() or ['no message'])[-1]}")
    path = Path(found["file"])
    place = f"solutions/{path.name}" if path.suffix == ".ipynb" else shown(path, sources)
    return Problem(f"{found['said']}. Fix: mend that and run make site again", path=place)


def exchange(new: Path, place: Path, old: Path) -> None:
    """Puts a folder in the place of another, which is moved away."""
    if place.exists():
        os.replace(place, old)
    try:
        os.replace(new, place)
    except OSError:
        if old.exists():
            os.replace(old, place)
        raise
