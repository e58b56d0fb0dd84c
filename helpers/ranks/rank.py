"""What runs in a rank: it gets ready, joins the process group, calls the function, and sends what came of it.

A rank never ends by itself: it waits until the launcher has heard from all and ends them, so that no rank sees
another's connections close. It does end when the launcher is gone.
"""

from __future__ import annotations

import builtins
import faulthandler
import multiprocessing
import os
import pickle
import random
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from typing import Any

import cloudpickle
import numpy
import torch
import torch.distributed as dist

from helpers.notebook.cells import know_cells
from helpers.ranks.known_ranks import refuse_unknown_ranks
from helpers.ranks.payload import put_into_main
from helpers.ranks.wires import ERR, OUT, Ends, Output, Wires, send

# Makes a rank say where it is. Not one that a lesson on preemption would use.
ASK = getattr(signal, "SIGRTMAX", None) or getattr(signal, "SIGUSR2", None)
LAST = 5.0  # seconds after its limit in which a rank ends even if nobody does it

_here: int | None = None


def this_rank() -> int | None:
    """The rank that this process is in a call of `run`; None outside of one."""
    return _here


@dataclass
class Order:
    """What the ranks are asked to do.

    call: the pickled function and its arguments. seconds: for the function; seconds_to_join: for what comes before.
    forked: the ranks are forked from the launcher itself. start_method: how a process that a rank starts, a loader's
    worker for instance, is started; None: as the system does it.
    """

    call: bytes
    ranks: int
    port: int
    backend: str
    seconds: float
    seconds_to_join: float
    threads: int
    forked: bool = False
    start_method: str | None = None
    group_timeout: float | None = None
    detail: bool = False
    traffic: bool = False
    forbid_collectives: bool = False
    link: Any = None
    sources: dict[str, str] = field(default_factory=dict)
    folder: str = ""
    path: list[str] = field(default_factory=list)
    environ: dict[str, str] = field(default_factory=dict)
    generators: tuple[Any, Any, Any] = ()


def generators() -> tuple[Any, Any, Any]:
    """The state of the global generators; every rank starts from it."""
    return random.getstate(), numpy.random.get_state(), torch.get_rng_state()


def main(rank: int, order: Order, wires: Wires) -> None:
    """A rank, from its first line to its last. Does not return."""
    global _here
    _here = rank
    ends = wires.only(rank)
    _stay_apart(ends.channel)
    _take_over(ends)
    _end_after(order.seconds_to_join + LAST, order)
    tell, end = send, _wait_for_end  # taken now: the function may replace them
    tell(ends.channel, {"kind": "ready"})
    try:
        message = _outcome(rank, order, ends.channel)
    except BaseException as error:  # raised by what is ours, or by what the function left behind
        message = _raised("unready", error)
    tell(ends.channel, message)
    end()


def _outcome(rank: int, order: Order, channel: Connection) -> dict[str, Any]:
    _settle(rank, order)
    try:
        fn, args = pickle.loads(order.call)
        put_into_main(fn, *args)
    except BaseException as error:
        return _raised("unbuilt", error)
    _join(rank, order)
    send(channel, {"kind": "joined"})
    _end_after(order.seconds + LAST, order)
    counter = None
    with ExitStack() as stack:
        try:
            if order.link is not None:
                stack.enter_context(order.link.installed())
            if order.traffic or order.forbid_collectives:
                from helpers.ranks.traffic import counted

                counter = stack.enter_context(counted(forbid_collectives=order.forbid_collectives))
            result = called(fn, args)
        except BaseException as error:
            return _raised("raised", error)
    traffic = counter.traffic() if counter and order.traffic else None
    try:
        return {"kind": "returned", "result": cloudpickle.dumps(result), "traffic": traffic}
    except BaseException as error:
        return _raised("unsendable", error) | {"what": type(result).__name__}


def called(fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """fn(*args). The frames inside of this one are the learner's and those of what they call."""
    return fn(*args)


def _raised(kind: str, error: BaseException) -> dict[str, Any]:
    """An error as plain data; the error itself goes along where it can be copied."""
    from helpers.notebook.frames import frames_of

    at = time.monotonic()
    try:
        text = str(error)[:4000]
    except BaseException as other:
        text = f"<its text raised {type(other).__name__}>"
    original = None
    if kind == "raised":
        try:
            original = cloudpickle.dumps(error)
        except BaseException:
            pass
    return dict(
        kind=kind, error=type(error).__name__, text=text, frames=frames_of(error), at=at, original=original
    )


def _stay_apart(leash: Connection) -> None:
    """Own process group: the stop button does not reach it, and what it starts dies with it."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    threading.Thread(target=_end_with_launcher, args=(leash,), daemon=True, name="leash").start()


def _end_with_launcher(leash: Connection) -> None:
    wait([leash, parent_process().sentinel])
    os.killpg(0, signal.SIGKILL)


def _wait_for_end() -> None:
    while True:
        time.sleep(3600)


_dump_file: Any = None


def _end_after(seconds: float, order: Order) -> None:
    """For a launcher that is gone: the thread that waits for that needs Python, this needs nothing.

    Not after a fork: if the launcher has such a limit itself (the process of a check has), faulthandler would wait for
    its thread, which did not come along.
    """
    if not order.forked:
        faulthandler.dump_traceback_later(seconds, exit=True, file=_dump_file)


def _take_over(ends: Ends) -> None:
    """Prints and error dumps go into the pipes."""
    global _dump_file
    os.dup2(ends.raw.fileno(), 1)
    os.dup2(ends.raw.fileno(), 2)
    sys.stdout, sys.stderr = Output(ends.output.fileno(), OUT), Output(ends.output.fileno(), ERR)
    Output.sent = 0
    sys.stdin = open(os.devnull)
    builtins.display = print  # IPython's, which every notebook has
    _dump_file = os.fdopen(os.dup(ends.dump.fileno()), "w")
    faulthandler.enable(file=_dump_file)
    if ASK is not None:
        faulthandler.register(ASK, file=_dump_file, all_threads=True)
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except ImportError:  # Windows
        pass


def _settle(rank: int, order: Order) -> None:
    """Makes this process like the launcher's: environment, folder, modules, generators."""
    os.environ.clear()
    os.environ.update(order.environ)
    os.environ.update(
        RANK=str(rank),
        LOCAL_RANK=str(rank),
        WORLD_SIZE=str(order.ranks),
        LOCAL_WORLD_SIZE=str(order.ranks),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(order.port),
    )
    if order.detail:
        os.environ["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL"
    names = {name for _, name in socket.if_nameindex()}
    if loopback := {"lo", "lo0"} & names:  # gloo would ask the resolver for the host's name
        os.environ.setdefault("GLOO_SOCKET_IFNAME", min(loopback))
    dist.set_debug_level_from_env()  # torch read it when the fork server imported it
    sys.path[:] = order.path
    os.chdir(order.folder)
    # A process of the fork server would start its own from there as well, and those know no classes of the notebook.
    multiprocessing.set_start_method(order.start_method, force=True)
    know_cells(order.sources)
    torch.set_num_threads(order.threads)
    for put, state in zip(
        (random.setstate, numpy.random.set_state, torch.set_rng_state), order.generators, strict=True
    ):
        put(state)


def _join(rank: int, order: Order) -> None:
    """The default process group."""
    if "nccl" in order.backend:
        torch.cuda.set_device(
            rank % max(1, torch.cuda.device_count())
        )  # that ranks share a GPU is for NCCL to refuse
    store = dist.TCPStore("127.0.0.1", order.port, is_master=False)
    timeout = None if order.group_timeout is None else timedelta(seconds=order.group_timeout)
    refuse_unknown_ranks()
    dist.init_process_group(order.backend, store=store, rank=rank, world_size=order.ranks, timeout=timeout)
