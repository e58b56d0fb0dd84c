"""How long an answer may take. A busy machine makes nothing late: what counts is what the answer's own processes did.

Three limits: the processor time of the child and of all that it started, together; the time in which every thread of
them waited; and, for what neither sees, the time by the clock.
"""

from __future__ import annotations

import sys
import time

from helpers.processes.process_tree import cpu_seconds, is_asleep

BY_THE_CLOCK = 10  # times the limit of processor time
TICK = (
    0.05 if sys.platform == "linux" else 0.5
)  # seconds between two looks; elsewhere each lists all processes
LONGEST = 5 * TICK  # seconds of waiting that two looks may vouch for: between them more may have happened


class Limits:
    """The limits of one piece of work of a process. seconds: of processor time, and of waiting.

    The work begins now; what the process did before does not count.
    """

    def __init__(self, pid: int, seconds: float) -> None:
        self.pid, self.seconds = pid, seconds
        self._began = self._looked = time.monotonic()
        self._cpu_before = self._cpu = cpu_seconds(pid)
        self._was_asleep, self._waited = False, 0.0

    def over(self) -> str:
        """The limit that is passed, as a sentence; "" while none is. Looks at most once a tick."""
        now = time.monotonic()
        if now - self._looked < TICK:
            return ""
        cpu, asleep = cpu_seconds(self.pid), is_asleep(self.pid)
        if asleep and self._was_asleep and cpu == self._cpu:
            self._waited += min(now - self._looked, LONGEST)
        self._looked, self._cpu, self._was_asleep = now, cpu, asleep
        if cpu - self._cpu_before > self.seconds:
            return of_processor_time(self.seconds)
        if self._waited > self.seconds:
            return of_waiting(self.seconds)
        if now - self._began > self.seconds * BY_THE_CLOCK:
            return by_the_clock(self.seconds)
        return ""


def of_processor_time(seconds: float) -> str:
    return f"No result after {_in_words(seconds)} of processor time."


def of_waiting(seconds: float) -> str:
    return f"No result, and nothing ran for {_in_words(seconds)}: the answer waits for something."


def by_the_clock(seconds: float) -> str:
    return f"No result after {_in_words(seconds * BY_THE_CLOCK)} by the clock."


def _in_words(seconds: float) -> str:
    return f"{seconds:g} second{'' if seconds == 1 else 's'}"
