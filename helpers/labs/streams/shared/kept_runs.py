"""One run of an answer for several properties: they all look at the same trace."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

LIMIT = 100  # answers whose runs are kept; naming a mistake looks at a whole bank

_runs: dict[int, tuple[Any, dict[Hashable, Any]]] = {}


def kept_run(answer: Any, key: Hashable, run: Callable[[], Any]) -> Any:
    """What `run()` gives, or gave before for this very answer and key. An error is not kept."""
    if id(answer) not in _runs and len(_runs) >= LIMIT:
        del _runs[next(iter(_runs))]
    _, known = _runs.setdefault(id(answer), (answer, {}))  # held, so that no other object gets its id
    if key not in known:
        known[key] = run()
    return known[key]
