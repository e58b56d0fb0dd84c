"""How a check runs an answer on several ranks, and says what went wrong there."""

from __future__ import annotations

import pickle
import random
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

import torch

from helpers.check.trial import Trial
from helpers.processes.by_value import by_value
from helpers.ranks.in_threads import Deadlock, Disagreement, Run, in_threads

# What the parts of a message look like to somebody who never heard of the check.
_RENDEZVOUS = (
    "A blocking send returns only when the other side receives: when all send first, nobody receives."
)

_MESSAGES = {"send", "isend", "recv", "irecv"}


def on_ranks(
    trial: Trial,
    fn: Callable[..., Any],
    *args: Any,
    ranks: int,
    delivery: Literal["late", "early"] = "late",
    order: random.Random | None = None,
) -> Run:
    """fn(*args) on ranks that are threads (see in_threads); wrong when they wait for each other, or disagree.

    What the answer itself raises goes through, so that the report shows its line. Global switches that it leaves
    changed are told, as by trial.call.
    """
    try:
        return trial.call(lambda: in_threads(fn, *args, ranks=ranks, delivery=delivery, order=order))
    except Deadlock as dead:
        waits = sorted({kind for _, kind, _ in dead.waits})
        sends = {"send", "isend"} & set(waits) and not {"recv", "irecv"} & set(waits)
        unmet = _unmet(dead, "irecv" if sends else "isend") if set(waits) <= _MESSAGES else ""
        trial.fail(
            f"The ranks wait for each other for ever. {dead}"
            + (unmet or (f" {_RENDEZVOUS}" if sends else "")),
            expected="every rank comes to its end",
            got="a deadlock",
            observed=("deadlock", waits, len(dead.waits) == ranks, *(["unmet"] if unmet else [])),
        )
    except Disagreement as found:
        trial.fail(
            f"{found} On gloo, ranks that differ here hang, abort or mix their numbers.",
            expected="the same call, with tensors that fit, on all ranks",
            got="ranks that differ",
            observed=("disagreement", found.what),
        )


def _unmet(dead: Deadlock, kind: str) -> str:
    """A sentence on the irecvs, or the isends, that are posted and that no message of the other side meets; "" if none."""
    here, there = ("irecv", "recv"), ("isend", "send")
    if kind == "isend":
        here, there = there, here
    met = Counter((event.peer, event.rank) for event in dead.log if event.kind in there)
    for event in dead.log:
        if event.kind in here:
            met[event.rank, event.peer] -= 1
            if met[event.rank, event.peer] < 0 and event.kind == kind:
                return (
                    f" Rank {event.rank} has posted an irecv from rank {event.peer}, which has sent nothing to it."
                    if kind == "irecv"
                    else f" Rank {event.rank} has posted an isend to rank {event.peer}, which receives nothing from it."
                )
    return ""


def per_rank(answer: Any, ranks: int) -> list[Any]:
    """A copy of the answer for each rank, with its own global variables, as processes have.

    A learner's code may keep something in a global list; threads would share it.
    """
    try:
        packed = by_value(answer)
        return [pickle.loads(packed) for _ in range(ranks)]
    except Exception:  # it cannot be copied: then the ranks share it
        return [answer] * ranks


def over_gloo(trial: Trial, fn: Callable[..., Any], *args: Any, ranks: int, seconds: float = 10) -> list[Any]:
    """fn(*args) on processes that talk over gloo; returns the results by rank. Some tenths of a second."""
    from helpers.ranks import RankError, run

    how = "fork" if sys.platform == "linux" and not torch.cuda.is_initialized() else None
    try:
        return list(run(fn, *args, ranks=ranks, timeout=seconds, start_method=how))
    except RankError as error:
        trial.fail(
            f"On {ranks} processes over gloo: {error}",
            expected="the same as on ranks that are threads",
            observed=("gloo", type(error).__name__),
        )
