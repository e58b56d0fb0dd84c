"""Where a learner's code was, read from the dumps of Python, whatever the folder is called."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from helpers.notebook.frames import dumped

MODULE = """
import faulthandler

def größe():
    faulthandler.dump_traceback()
"""
FOLDERS = ["my köurse/lab book", "OneDrive - Bürő, Δ [1] (100%)", "課程", "courses 🔥", "plain"]


@pytest.mark.parametrize("name", FOLDERS)
def test_the_file_of_a_dumped_frame_is_known(name: str, tmp_path: Path):
    folder = tmp_path / name
    folder.mkdir(parents=True)
    (folder / "shop.py").write_text(MODULE, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", "import shop; shop.größe()"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert dumped(done.stderr) == [(str(folder / "shop.py"), 5, "größe"), ("<string>", 1, "<module>")]
