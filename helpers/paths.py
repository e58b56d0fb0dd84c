"""The folders of the course. Paths come from here, never from the working directory."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LABS = ROOT / "labs"
SOLUTIONS = ROOT / "solutions"
DATA = ROOT / "data"
WORK = ROOT / "work"
STATE = ROOT / ".labbook"
