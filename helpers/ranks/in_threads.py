"""One function on several ranks that are threads of this process: what the checks use.

The same function runs unchanged on processes, by `helpers.ranks.run`. Here nothing is left to chance: one rank runs at
a time, a deadlock is known at once, and a race comes out the same each time (see scheduler.py and thread_group.py).
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch.distributed as dist
import torch.distributed.distributed_c10d as c10d
from torch._C import _distributed_c10d as registry
from torch.testing._internal.distributed.multi_threaded_pg import ThreadLocalWorld

from helpers.ranks.scheduler import Deadlock, Disagreement, Event, Scheduler, scheduler
from helpers.ranks.thread_group import ThreadGroup, Wires
from helpers.ranks.traffic import Traffic

__all__ = ["Deadlock", "Disagreement", "Event", "Run", "in_threads", "note"]

BACKEND = "in_threads"
_POINT_TO_POINT = ("send", "recv", "isend", "irecv", "sent", "received")


@dataclass(frozen=True)
class Run:
    """What came out of a run.

    results: by rank. log: what happened, in order, over all ranks. traffic: by rank.
    unwaited: requests that no wait ever saw, in words.
    """

    results: list[Any]
    log: list[Event]
    traffic: list[Traffic]
    unwaited: list[str]


def in_threads(
    fn: Callable[..., Any],
    *args: Any,
    ranks: int,
    delivery: Literal["late", "early"] = "late",
    order: random.Random | None = None,
) -> Run:
    """fn(*args) on each of `ranks` ranks, each with a default process group.

    delivery: "late" copies a message's bytes when a wait forces it, "early" as soon as both sides have come.
    order: chooses which rank runs next when several can; without it they take turns, from rank 0.

    Raises what the first rank that fails raises, Deadlock when no rank can go on, Disagreement when ranks meet in a
    call and differ in it. Global generators of this process are as before afterwards.
    """
    if delivery not in ("late", "early"):
        raise ValueError(f"delivery is 'late' or 'early', not {delivery!r}")
    if scheduler() is not None:
        raise RuntimeError("in_threads was called on a rank of another run")
    play = Scheduler(ranks, order)
    wires = Wires(play, late=delivery == "late")
    store = dist.HashStore()

    def on_rank(rank: int) -> Any:
        _become(rank, ranks, wires, store)
        _here.wires = wires
        return fn(*args)

    world = c10d._world
    c10d._world = ThreadLocalWorld()
    registry._set_thread_isolation_mode(True)  # each thread has its own table of groups by name
    try:
        play.run(on_rank)
    except (Deadlock, Disagreement) as ended:
        ended.log = play.log
        raise
    finally:
        c10d._world = world
        registry._set_thread_isolation_mode(False)
    unwaited = [
        f"rank {work.rank}: {work.kind}" + ("" if work.peer is None else f", rank {work.peer}")
        for work in wires.works
        if not work.seen
    ]
    return Run(play.results, play.log, [_traffic(play.log, rank) for rank in range(ranks)], unwaited)


def note(what: str) -> None:
    """Puts an event of kind "note" into the log of the run around it; outside of a run it does nothing."""
    if now := scheduler():
        now.tell("note", what=what)


_here = threading.local()


def _become(rank: int, ranks: int, wires: Wires, store: dist.Store) -> None:
    """Gives this thread a default process group, as init_process_group does for a process."""
    group = ThreadGroup(wires, "world", rank, list(range(ranks)))
    world = c10d._world
    world.pg_map[group] = (BACKEND, dist.PrefixStore("world", store))
    world.pg_names[group] = "world"
    world.pg_group_ranks[group] = {r: r for r in range(ranks)}
    world.pg_backend_config[group] = f"cpu:{BACKEND}"
    world.default_pg = group
    world.group_count = 1
    registry._register_process_group("world", group)  # for the functional collectives; this thread's table


def _subgroup(options: Any, backend_options: Any) -> ThreadGroup:
    """What dist.new_group makes of some of the ranks."""
    members = list(options.global_ranks_in_group)
    return ThreadGroup(_here.wires, options.group_id, options.group_rank, members)


dist.Backend.register_backend(BACKEND, _subgroup, extended_api=True, devices=["cpu"])


def _traffic(log: list[Event], rank: int) -> Traffic:
    own = [event for event in log if event.rank == rank]
    out = [event for event in own if event.kind in ("send", "isend")]
    into = [event for event in own if event.kind in ("recv", "irecv")]
    met = tuple(e.kind for e in own if e.kind not in (*_POINT_TO_POINT, "waited", "note"))
    return Traffic(len(out), sum(e.nbytes for e in out), len(into), sum(e.nbytes for e in into), met)
