"""A job, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Job:
    """One notebook to be worked on: a command that announces its events and then its result."""

    name: str
    argv: Sequence[str]
    strict: bool = True
    env: Mapping[str, str] = field(default_factory=dict)
    cells: int = 0  # how many cells will be announced
    ranks: bool = False  # it starts ranks: no other such job runs beside it
    kernel: bool = False  # it starts one


@dataclass
class Outcome:
    """What came of a job: `result` is what it announced at its end, `errors` what a person must mend."""

    name: str
    seconds: float = 0.0
    result: dict[str, Any] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    unchanged: bool = False  # it was not run: the result is that of an earlier run
    kernels: list[str] = field(default_factory=list)  # for each of its kernels why it was stock, or ""
