"""What torch's C++ part asks a device for when it goes to it and back, and where backward passes run.

Autograd runs the backward pass of a device on a thread of its own, and starts the threads of all devices at the
first backward pass of the process, be it on the CPU. A process that has them cannot be forked and go on with
autograd; one that had its first backward pass before it knew of this device has no thread for it. So here none is
started, and backward passes run on the thread that calls for them.
"""

from __future__ import annotations

import ctypes
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

_MESSAGE = """A hook or a backward of your own raised this in a backward pass on the simulated device. torch.autograd
cannot carry it further: it raises a SystemError without it. (`x.backward()` carries it.)"""

_KINDS = torch._C._autograd.DeviceType


class Guard:
    """Says which device it guards, and outlives a hook's error."""

    def __init__(self) -> None:
        self.kind = _KINDS.CPU  # the CPU needs no thread
        self.carried = 0  # backward passes under way that raise the error themselves
        self.error: BaseException | None = None

    def made(self) -> Any:
        """It, as torch wants it.

        Autograd leaves a backward pass through the guard. Were a hook's error still pending then, the answer of
        `type_` would become an error of its own, in a place where C++ ends the process. So the error is taken.
        """
        # Any function of Python's C API, called through ctypes, raises the error that is pending.
        raise_what_is_pending = ctypes.pythonapi.Py_IsInitialized

        class _Guard(torch._C._acc.DeviceGuard):
            def type_(_) -> Any:
                try:
                    raise_what_is_pending()
                except BaseException as error:
                    self._take(error)
                return self.kind

        return _Guard()

    def _take(self, error: BaseException) -> None:
        if self.carried:
            self.error = self.error or error
        else:
            print(f"{_MESSAGE}\n{''.join(traceback.format_exception(error))}", file=sys.stderr)

    @contextmanager
    def carrying(self) -> Iterator[None]:
        """A backward pass. The error that was taken from it is raised at its end."""
        self.carried += 1
        try:
            yield
        except SystemError:
            error, self.error = self.error, None
            if error is None:
                raise
            raise error from None
        finally:
            self.carried -= 1

    def start(self) -> None:
        """Has autograd start its threads now, while no device asks for one."""
        with torch.inference_mode(False), torch.enable_grad():
            torch.zeros((), requires_grad=True, device="cpu").backward()
        self.kind = _KINDS.PrivateUse1


guard = Guard()


def run_backward_here() -> None:
    """Has backward passes that this thread calls for run on it."""
    torch._C._set_multithreading_enabled(False)
