"""What ranks do wrong in the tests, each with what must be said about it. Light to import: every rank does."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from helpers import ranks

LIMIT = 2.0


def rank() -> int:
    return dist.get_rank()


@dataclass
class Failure:
    """body: what each of three ranks does. says: patterns that the error holds, line by line. kind, rank: of the error.

    rank: a tuple where chance decides which of them is the first. alike: every rank fails in the same way.
    """

    body: Callable[[], Any]
    kind: str
    rank: int | None | tuple[int, ...]
    says: list[str]
    alike: bool = False
    given: dict[str, Any] = field(default_factory=dict)


FAILURES: dict[str, Failure] = {}


def fails(
    kind: str, rank: int | None | tuple[int, ...], *says: str, alike: bool = False, **given: Any
) -> Callable[[Callable[[], Any]], Any]:
    def added(body: Callable[[], Any]) -> Callable[[], Any]:
        FAILURES[body.__name__] = Failure(body, kind, rank, list(says), alike, given)
        return body

    return added


HERE = r"failing_ranks.py, line \d+, in \w+"


@fails(
    "raised", 1,
    rf"^rank 1 raised ValueError: no such thing\n  {HERE}: raise ValueError\(",
    rf"^rank 0 waits in barrier: {HERE}: dist.barrier\(\)$",
    rf"^rank 2 waits in barrier: {HERE}: dist.barrier\(\)$",
)  # fmt: skip
def raises() -> None:
    if rank() == 1:
        raise ValueError("no such thing")
    dist.barrier()


@fails("raised", 0, r"^rank 0 raised KeyError: 'all'\n", r"^The same on ranks 1 and 2\.$", alike=True)
def all_raise() -> None:
    raise KeyError("all")


@fails(
    "timed out", None,
    r"^No result within 2 s: ranks 0 and 2 are still at work\. Each waits for another rank: this looks like a deadlock\.$",
    rf"^rank 0 waits in all_reduce: {HERE}: dist.all_reduce",
    r"^rank 1 had returned\.$",
    r"^If the ranks disagree on a shape or an operation, detail=True makes torch name both sides\.$",
)  # fmt: skip
def returns_early() -> None:
    if rank() != 1:
        dist.all_reduce(torch.ones(3))


@fails(
    "raised", (0, 1, 2),
    r"^rank \d raised RuntimeError: .*ALLREDUCE of shape \[[34]\], Float, but Rank \d .*ALLREDUCE of shape \[[34]\], Float",
    r"differ in: Tensor shapes: (3 vs 4|4 vs 3)\n",
    detail=True,
)  # fmt: skip
def disagree_on_shape() -> None:
    dist.all_reduce(torch.ones(3 + min(rank(), 1)))


@fails(
    "raised", (0, 1, 2), r"Rank \d .*Op type: (ALLREDUCE vs BROADCAST|BROADCAST vs ALLREDUCE)", detail=True
)
def disagree_on_operation() -> None:
    dist.broadcast(torch.ones(3), 1) if rank() else dist.all_reduce(torch.ones(3))


@fails("timed out", None, r"waits in all_reduce", r"waits in broadcast", r"detail=True makes torch name both")
def disagree_without_detail() -> None:
    dist.broadcast(torch.ones(3), 1) if rank() else dist.all_reduce(torch.ones(3))


@fails(
    "died", 1,
    r"^rank 1: its process aborted \(SIGABRT\)\.\n  " + HERE,
    r"A message of 16 bytes came for 12 bytes: the ranks disagree on a shape, a dtype or an operation\.",
)  # fmt: skip
def message_too_long() -> None:
    if rank() == 0:
        dist.send(torch.ones(4), 1)
    elif rank() == 1:
        dist.recv(torch.ones(3), 0)


@fails(
    "timed out", None,
    rf"^rank 0 waits in send: {HERE}: dist\.send",
    r"this looks like a deadlock\.$",
    r"^rank 2 waits in send",
)  # fmt: skip
def all_send_first() -> None:
    dist.send(torch.ones(3), (rank() + 1) % 3)
    dist.recv(torch.ones(3), (rank() - 1) % 3)


@fails(
    "raised",
    2,
    r"^rank 2 raised ValueError: Rank 3 is none of the 3 ranks of the group\n",
    r"^rank 0 waits in send",
)
def sends_to_nobody() -> None:
    dist.send(torch.ones(3), rank() + 1)


@fails("raised", 2, r"^rank 2 raised ValueError: Rank 3 is none", link=ranks.Link(alpha=1e-3, beta=1e-8))
def sends_to_nobody_on_a_link() -> None:
    dist.isend(torch.ones(3), rank() + 1)


@fails("timed out", None, rf"^rank 1 waits at {HERE}: request\.wait\(\)$", r"looks like a deadlock")
def waits_for_a_request() -> None:
    request = dist.irecv(torch.ones(3), (rank() + 1) % 3)
    request.wait()


@fails(
    "timed out",
    None,
    r"^No result within 2 s: ranks 0, 1 and 2 are still at work\.$",
    rf"^rank 2 is at {HERE}: \w",
)
def hangs_in_python() -> None:
    if rank() == 2:
        while True:
            pass
    dist.barrier()


@fails("timed out", None, r"^No result within 2 s: rank 1 is still at work\.$", r"rank 1 is at .*re\.match")
def hangs_and_holds_the_gil() -> None:
    if rank() == 1:
        re.match(r"(a+)+$", "a" * 60 + "b")


@fails("timed out", None, r"^rank 0 waits in recv", r"^rank 2 waits in recv")
def blocks_all_signals_in_gloo() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
    dist.recv(torch.ones(1), (rank() + 1) % 3)


@fails("timed out", None, r"^rank 1 is at .*time\.sleep")
def swallows_everything() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass


@fails("timed out", None, r"^rank 0 is at .*os\.write")
def prints_for_ever() -> None:
    while True:
        os.write(1, b"yes\n" * 1000)


@fails("timed out", None, r"^rank 1 does not answer\.$")
def stops_itself() -> None:
    if rank() == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    dist.barrier()


@fails(
    "died",
    1,
    r"^rank 1: its process was killed \(SIGKILL\): by hand, or because memory ran out\.$",
    r"^rank 0 ",
)
def is_killed() -> None:
    if rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.all_reduce(torch.ones(3))


@fails("died", 1, r"^rank 1: its process died of a segmentation fault \(SIGSEGV\)\.\n  " + HERE + ": ctypes")
def segmentation_fault() -> None:
    if rank() == 1:
        ctypes.string_at(0)
    dist.all_reduce(torch.ones(3))


@fails("raised", 1, r"^rank 1 called sys\.exit\(3\)\n", r"^rank 0 waits in barrier")
def exits() -> None:
    if rank() == 1:
        sys.exit(3)
    dist.barrier()


@fails("died", 1, r"^rank 1: its process ended without a result \(exit code 3\)\.$")
def exits_at_once() -> None:
    if rank() == 1:
        os._exit(3)
    dist.barrier()


@fails("raised", 0, r"^rank 0 raised KeyboardInterrupt\n")
def interrupts_itself() -> None:
    if rank() == 0:
        raise KeyboardInterrupt
    dist.barrier()


@fails("raised", 0, r"^rank 0 raised Odd: odd text\n", r"^The same on", alike=True)
def raises_what_cannot_be_copied() -> None:
    class Odd(Exception):
        def __init__(self, text: str, lock: Any) -> None:
            super().__init__(text)
            self.lock = lock

    raise Odd("odd text", threading.Lock())


@fails("raised", 2, r"^rank 2 raised Mute: <its text raised ZeroDivisionError>\n")
def raises_what_cannot_be_told() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            return str(1 / 0)

    if rank() == 2:
        raise Mute


@fails(
    "not sent",
    0,
    r"^rank 0 returned a lock that cannot be copied to here: TypeError: cannot pickle",
    alike=True,
)
def returns_what_cannot_be_copied() -> Any:
    return threading.Lock()


class OnlyThere:
    def __reduce__(self) -> Any:
        return _built, (os.getpid(),)


def _built(pid: int) -> int:
    if os.getpid() != pid:
        raise LookupError("made for another process")
    return pid


@fails("not sent", 0, r"^rank 0 returned what cannot be rebuilt here: LookupError: made for another process$")
def returns_what_cannot_be_rebuilt() -> Any:
    return OnlyThere()


@fails("raised", 0, r"^rank 0 raised RecursionError", r"   \(again and again\)$", alike=True)
def recurses() -> None:
    def again(n: int) -> int:
        return again(n + 1)

    again(0)


@fails(
    "raised",
    (0, 2),
    r"^rank [02] raised RuntimeError: Timed out waiting 1000ms for recv",
    r"^rank 1 had returned",
    group_timeout=1,
)
def one_is_absent() -> None:
    if rank() != 1:
        dist.all_reduce(torch.ones(3))


@fails("raised", 0, r"Ranks 1 failed to pass monitoredBarrier in 1000 ms", group_timeout=1, detail=True)
def one_is_absent_in_detail() -> None:
    if rank() != 1:
        dist.all_reduce(torch.ones(3))


@fails("raised", 0, r"^rank 0 raised RuntimeError: ranks\.run was called inside of a rank", alike=True)
def calls_run_in_a_rank() -> None:
    ranks.run(rank)


@fails(
    "raised",
    0,
    r"^rank 0 raised ValueError: Default process group has not been initialized",
    r"\n  .* in rank: ",
    alike=True,
)
def closes_the_group() -> None:
    dist.destroy_process_group()
    rank()


@fails("died", 0, r"^rank 0 wrote into the channel to the launcher\.$")
def writes_everywhere() -> None:
    if rank() == 0:
        for fd in range(3, 60):
            try:
                os.write(fd, b"\xff" * 64)
            except OSError:
                pass
    time.sleep(60)


def noted(folder: str, body: Callable[[], Any]) -> Any:
    """The body, with a program that would outlive it; the folder keeps the rank's id, the program has the folder's name."""
    Path(folder, str(os.getpid())).touch()
    subprocess.Popen(["bash", "-c", 'exec -a "$0" sleep 600', f"{folder}/program"])
    return body()


def stub() -> None:
    raise NotImplementedError("08.ring_allreduce")


def prints_and_hangs() -> None:
    print("before")
    print("half a line", end="")
    while rank():
        pass
