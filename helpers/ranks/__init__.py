"""One function on several processes, each a rank of torch.distributed.

    from helpers import ranks
    results = ranks.run(fn, *args, ranks=4, timeout=30)     # a list, by rank

run         runs it; RankError says what went wrong, on which rank, in which line, and where the others wait
Link        a slow link in software, for run(..., link=Link(alpha=1e-3, beta=1e-8))
Traffic     what a rank sent and received, by run(..., traffic=True).traffic
export      the same function under torchrun, on several machines; gathered collects its results
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from helpers.ranks.exported import export, gathered
    from helpers.ranks.failures import RankError
    from helpers.ranks.launch import run
    from helpers.ranks.link import Link
    from helpers.ranks.traffic import Traffic

__all__ = ["Link", "RankError", "Traffic", "export", "gathered", "run"]

_HOME = {
    "Link": "link",
    "RankError": "failures",
    "Traffic": "traffic",
    "export": "exported",
    "gathered": "exported",
    "run": "launch",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'helpers.ranks' has no attribute {name!r}")
    # Kept under its name: the module helpers.ranks.export would stand there otherwise.
    globals()[name] = found = getattr(import_module(f"helpers.ranks.{_HOME[name]}"), name)
    return found
