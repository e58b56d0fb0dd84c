"""Ranks as threads of one process, of which exactly one runs at a time.

What a check asks of an answer for several ranks must come out the same each time and cost milliseconds. Here no time
passes: a rank runs until it waits for another one, then the next one runs. When all wait, that is a deadlock, and it
is known at once. Messages go over `helpers.ranks.thread_group`.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
import torch


class Deadlock(RuntimeError):
    """Every rank that has not returned waits. waits: (rank, kind of call, the other rank or None) of each.

    log: what happened until then, in order.
    """

    log: list[Event] = []

    def __init__(self, text: str, waits: list[tuple[int, str, int | None]]) -> None:
        super().__init__(text)
        self.waits = waits


class Disagreement(RuntimeError):
    """Ranks that meet in a call differ in it. what: "operation", "shape", "dtype", "size", "root" or "reduction".

    log: what happened until then, in order.
    """

    log: list[Event] = []

    def __init__(self, text: str, what: str) -> None:
        super().__init__(text)
        self.what = what


class Left(BaseException):
    """Ends the other ranks when one has failed. No Exception: code of a rank shall not catch it by chance."""


@dataclass(frozen=True)
class Event:
    """One thing that happened. peer: the other rank; None where all are meant. nbytes: of the tensor, 0 if none."""

    rank: int
    kind: str
    peer: int | None = None
    nbytes: int = 0
    what: str = ""


@dataclass
class _Rank:
    number: int
    go: threading.Event = field(default_factory=threading.Event)
    ready: Callable[[], bool] | None = None  # what it waits for; None: it can run
    wait: tuple[str, int | None, str] = ("", None, "")  # kind, peer, place
    over: bool = False
    environment: Any = None


class Scheduler:
    """Lets one rank run at a time, and hands over when it waits."""

    def __init__(self, ranks: int, order: random.Random | None = None) -> None:
        self.ranks = [_Rank(number) for number in range(ranks)]
        self.order = order
        self.log: list[Event] = []
        self.failure: BaseException | None = None
        self.results: list[Any] = [None] * ranks
        self.now: _Rank | None = None
        self._finished = threading.Event()

    def run(self, play: Callable[[int], Any]) -> None:
        """Runs play(rank) on every rank to its end. Raises what the first rank that fails raises, or Deadlock."""
        start = _Environment.here()
        for rank in self.ranks:
            rank.environment = start.of_rank(rank.number, len(self.ranks))
        threads = [
            threading.Thread(target=self._play, args=(rank, play), name=f"rank {rank.number}", daemon=True)
            for rank in self.ranks
        ]
        _schedulers.append(self)
        try:
            for thread in threads:
                thread.start()
            self._hand_over()
            self._finished.wait()
            for thread in threads:
                thread.join()
        finally:
            _schedulers.remove(self)
            start.put_back()
        if self.failure is not None:
            raise self.failure

    def tell(self, kind: str, peer: int | None = None, nbytes: int = 0, what: str = "") -> None:
        """Puts an event of the running rank into the log."""
        if self.now is not None:
            self.log.append(Event(self.now.number, kind, peer, nbytes, what))

    def wait_until(self, ready: Callable[[], bool], kind: str, peer: int | None, place: str) -> None:
        """The running rank waits; others run meanwhile. Raises Left when a rank has failed."""
        me = self._me()
        if not ready():
            me.ready, me.wait = ready, (kind, peer, place)
            self._step_aside(me)
            me.ready = None

    def pause(self) -> None:
        """A place at which another rank may come first, if a random order is wanted."""
        if self.order is not None:
            self._step_aside(self._me())

    def let_others(self) -> bool:
        """Lets another rank run, if one can. False: none can."""
        me = self._me()
        others = [rank for rank in self.ranks if rank is not me and self._can_run(rank)]
        if others:
            self._step_aside(me, others)
        return bool(others)

    def fail_by_deadlock(self, kind: str, peer: int | None, place: str) -> NoReturn:
        """The running rank asks again and again for what cannot come."""
        self._me().wait = (kind, peer, place)
        self.failure = self._deadlock()
        raise Left

    def _me(self) -> _Rank:
        if self.failure is not None:
            raise Left
        assert self.now is not None
        return self.now

    def _play(self, rank: _Rank, play: Callable[[int], Any]) -> None:
        rank.go.wait()
        try:
            if self.failure is None:
                self.results[rank.number] = play(rank.number)
        except Left:
            pass
        except BaseException as error:
            if self.failure is None:
                self.failure = error
                error.rank = rank.number
        rank.over = True
        self._hand_over()

    def _step_aside(self, me: _Rank, among: list[_Rank] | None = None) -> None:
        me.environment = now = _Environment.here()
        me.go.clear()
        self._hand_over(among, now)
        me.go.wait()
        if self.failure is not None:
            raise Left

    def _hand_over(self, among: list[_Rank] | None = None, now: _Environment | None = None) -> None:
        """Chooses who runs next and wakes that rank; the caller waits or ends. now: see _Environment.put_back."""
        nobody = all(rank.over for rank in self.ranks)
        if nobody:
            self._finished.set()
            return
        if self.failure is None:
            able = among or [rank for rank in self._from_the_next() if self._can_run(rank)]
            if able:
                self._wake(self.order.choice(able) if self.order else able[0], now)
                return
            self.failure = self._deadlock()
        self._wake(next(rank for rank in self.ranks if not rank.over), now)  # to leave

    def _wake(self, rank: _Rank, now: _Environment | None) -> None:
        self.now = rank
        rank.environment.put_back(now)
        rank.go.set()

    def _from_the_next(self) -> Iterator[_Rank]:
        start = 0 if self.now is None else self.now.number + 1
        return (self.ranks[(start + i) % len(self.ranks)] for i in range(len(self.ranks)))

    def _can_run(self, rank: _Rank) -> bool:
        return not rank.over and (rank.ready is None or rank.ready())

    def _deadlock(self) -> Deadlock:
        lines, waits = [], []
        for rank in self.ranks:
            if rank.over:
                lines.append(f"rank {rank.number} has returned already")
                continue
            kind, peer, place = rank.wait
            direction = {"send": " to", "isend": " to", "recv": " from", "irecv": " from"}.get(kind, "")
            other = "" if peer is None else f"{direction} rank {peer}"
            lines.append(f"rank {rank.number} waits in {kind}{other}" + (f", at `{place}`" if place else ""))
            waits.append((rank.number, kind, peer))
        return Deadlock("No rank can go on: " + "; ".join(lines) + ".", waits)


@dataclass
class _Environment:
    """What each process has of its own: the global generators, and the variables that say which rank it is."""

    torch: torch.Tensor
    numpy: Any
    random: Any
    variables: dict[str, str | None]

    NAMES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")

    @classmethod
    def here(cls) -> _Environment:
        variables = {name: os.environ.get(name) for name in cls.NAMES}
        # numpy's as a dict: the tuple is only for the generator that it has by default.
        return cls(torch.get_rng_state(), np.random.get_state(legacy=False), random.getstate(), variables)

    def of_rank(self, rank: int, world: int) -> _Environment:
        variables: dict[str, str | None] = dict(
            zip(self.NAMES, map(str, (rank, rank, world, world)), strict=True)
        )
        return _Environment(self.torch, self.numpy, self.random, variables)

    def put_back(self, now: _Environment | None = None) -> None:
        """now: what is there, where somebody has just looked. numpy's generator, slow to write, is then left if it fits."""
        torch.set_rng_state(self.torch)
        if now is None or not _are_alike(now.numpy, self.numpy):
            np.random.set_state(self.numpy)
        random.setstate(self.random)
        for name, value in self.variables.items():
            if now is not None and value == now.variables[name]:
                continue
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _are_alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two states of numpy's generator are known to be the same."""
    if not one["bit_generator"] == other["bit_generator"] == "MT19937":  # somebody has put another one there
        return False
    (key, at), (its_key, its_at) = ((each["state"]["key"], each["state"]["pos"]) for each in (one, other))
    rest, its_rest = ((each["has_gauss"], each["gauss"]) for each in (one, other))
    return at == its_at and rest == its_rest and key.tobytes() == its_key.tobytes()


_schedulers: list[Scheduler] = []


def scheduler() -> Scheduler | None:
    """The scheduler that runs now, None outside of one."""
    return _schedulers[-1] if _schedulers else None
