"""`run`: one function on several processes, each a rank of a process group."""

from __future__ import annotations

import math
import multiprocessing
import os
import pickle
import socket
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from helpers.notebook.cells import cell_sources
from helpers.ranks.failures import RankError, failure, whereabouts
from helpers.ranks.payload import packed
from helpers.ranks.rank import Order, generators, this_rank
from helpers.ranks.rank_processes import RankProcesses, uninterrupted

if TYPE_CHECKING:
    from helpers.ranks.link import Link
    from helpers.ranks.traffic import Traffic

MOST = 32  # ranks on one machine
STARTED = 120.0  # seconds in which all processes must have started
JOINED = 20.0  # seconds, beyond the limit, in which they must have the function and a process group
SETTLED = 0.3  # seconds after the first failure in which others may fail, too, or come to where they wait
BURIED = (
    1.0  # the same where a rank lost its connection: another one's process has ended, and that is the cause
)


class Results(list):
    """What the ranks returned, by rank. traffic: of each rank, if it was asked for."""

    def __init__(self, values: list[Any], traffic: list[Traffic] | None) -> None:
        super().__init__(values)
        self.traffic = traffic


def run(
    fn: Callable[..., Any],
    *args: Any,
    ranks: int = 4,
    timeout: float = 30,
    backend: str | None = None,
    traffic: bool = False,
    link: Link | None = None,
    group_timeout: float | None = None,
    detail: bool = False,
    forbid_collectives: bool = False,
    start_method: str | None = None,
) -> Results:
    """Calls fn(*args) in `ranks` processes, each with a default process group; returns the results by rank.

    The function, its arguments and the results are copied: a change in a rank is not seen here, and a tensor
    comes back without its graph (as a leaf, if it requires a gradient). Every rank starts with the global
    generators as they are here, but with torch's own default dtype and gradient mode. What ranks print comes out
    here, rank by rank, as `[rank 1] ...`.

    Args:
        timeout: Seconds after which all is ended; they count from when every rank has joined the group.
        backend: None is gloo, with NCCL for CUDA tensors where every rank can have a GPU of its own.
        traffic: Count messages and bytes: `.traffic` of what is returned.
        link: A slow link between the ranks, in software.
        group_timeout: Seconds that one message or collective may take; torch's own 30 minutes if None.
        detail: torch compares what the ranks call, and names both sides where they differ. Slower.
        forbid_collectives: Only messages from rank to rank are allowed.
        start_method: "forkserver" (None, where there is one), "spawn" or "fork".

    Raises:
        RankError: a rank raised, died or did not end; the text says where, and where the others were.
        TypeError, ValueError: the call itself makes no sense, or something cannot be copied.
    """
    _refuse(fn, ranks, timeout, group_timeout, link)
    method = start_method or _best_method()
    if method not in multiprocessing.get_all_start_methods():
        known = ", ".join(multiprocessing.get_all_start_methods())
        raise ValueError(f"start_method={start_method!r}: this system has {known}.")
    call = packed(fn, args)
    place = socket.create_server(("127.0.0.1", 0))
    order = Order(
        call=call,
        ranks=ranks,
        port=place.getsockname()[1],
        backend=backend or _best_backend(ranks, method),
        seconds=timeout,
        seconds_to_join=STARTED + JOINED + timeout,
        forked=method == "fork",
        start_method=multiprocessing.get_start_method(allow_none=True),
        threads=1 if method == "fork" else max(1, torch.get_num_threads() // ranks),
        group_timeout=group_timeout,
        detail=detail,
        traffic=traffic,
        forbid_collectives=forbid_collectives,
        link=link,
        sources=cell_sources(),
        folder=os.getcwd(),
        path=list(sys.path),
        environ=dict(os.environ),
        generators=generators(),
    )
    processes = None
    try:
        with uninterrupted():
            processes = RankProcesses(order, method)
        processes.store = _store(place)
        _follow(processes, timeout)
        if processes.failed() or processes.busy():
            raise failure(processes, timeout, order)
        return _results(processes, traffic)
    except KeyboardInterrupt:
        if processes:
            with uninterrupted():
                _tell_where(processes)
        raise
    finally:
        place.close()
        with uninterrupted():
            if processes:
                processes.end()
                processes.printed.finish()


def _store(place: socket.socket) -> dist.TCPStore:
    """The store in which the ranks find each other, at a place to which they may already be connecting.

    Made after they have started: it has a thread, and a rank that is forked beside a thread keeps for ever what that
    thread had locked: now and then one never got past its own end of the store.
    """
    port = place.getsockname()[1]
    return dist.TCPStore(
        "127.0.0.1", port, is_master=True, wait_for_workers=False, master_listen_fd=place.detach()
    )


def _follow(processes: RankProcesses, timeout: float) -> None:
    """Listens until all have ended, the time is up, or a failure has settled."""
    until = time.monotonic() + STARTED
    while not processes.is_ready() and not processes.failed() and processes.listen(until):
        pass
    if not processes.is_ready():
        return
    until = time.monotonic() + JOINED + timeout
    while not processes.has_joined() and not processes.failed() and processes.listen(until):
        pass
    if not processes.has_joined() and not processes.failed():
        return
    until = time.monotonic() + timeout
    while processes.busy() and not processes.failed() and processes.listen(until):
        pass
    if processes.failed():
        until = time.monotonic() + SETTLED
        while processes.busy() and processes.listen(until):
            pass
        until = time.monotonic() + BURIED
        while all(member.lost_another() for member in processes.failed()) and processes.listen(until):
            pass


def _results(processes: RankProcesses, traffic: bool) -> Results:
    values = []
    for member in processes.members:
        try:
            values.append(pickle.loads(member.ended["result"]))
        except Exception as error:
            message = (
                f"rank {member.rank} returned what cannot be rebuilt here: {type(error).__name__}: {error}"
            )
            if "process group" in message:
                message += (
                    "\nA DistributedDataParallel is of no use without its process group: return its .module."
                )
            raise RankError(message, "not sent", member.rank) from None
    return Results(values, [member.ended["traffic"] for member in processes.members] if traffic else None)


def _tell_where(processes: RankProcesses) -> None:
    """After the stop button: where the ranks were."""
    where = whereabouts(processes, processes.members)
    processes.printed.finish()
    print(
        "Stopped.",
        *(f"rank {rank} {description}" for rank, description in where.items()),
        sep="\n",
        file=sys.stderr,
    )


def _refuse(fn: Any, ranks: Any, timeout: Any, group_timeout: Any, link: Any) -> None:
    if this_rank() is not None:
        raise RuntimeError("ranks.run was called inside of a rank: call it in the notebook.")
    if not callable(fn):
        raise TypeError(
            f"ranks.run takes a function, got {type(fn).__name__}. Pass fn itself, without calling it."
        )
    if not isinstance(ranks, int) or isinstance(ranks, bool):
        raise TypeError(f"ranks={ranks!r}: a whole number is needed.")
    if not 1 <= ranks <= MOST:
        raise ValueError(f"ranks={ranks}: from 1 to {MOST} are possible on one machine.")
    if link is not None and not hasattr(link, "installed"):
        raise TypeError(f"link={link!r}: a ranks.Link is needed, such as ranks.Link(alpha=1e-3, beta=1e-8).")
    for name, value in [
        ("timeout", timeout),
        *([("group_timeout", group_timeout)] if group_timeout is not None else []),
    ]:
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise TypeError(f"{name}={value!r}: a number of seconds is needed.")
        if not (value > 0 and math.isfinite(value)):
            raise ValueError(f"{name}={value!r}: a number of seconds above 0 is needed.")


def _best_method() -> str:
    methods = multiprocessing.get_all_start_methods()
    return "forkserver" if "forkserver" in methods else "spawn"


def _best_backend(ranks: int, method: str) -> str:
    """NCCL beside gloo where each rank has a GPU; a forked process cannot use CUDA."""
    if method != "fork" and dist.is_nccl_available() and torch.cuda.device_count() >= ranks:
        return "cpu:gloo,cuda:nccl"
    return "gloo"
