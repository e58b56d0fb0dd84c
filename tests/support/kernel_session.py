"""A kernel in a test, stock or forked, and what it answers."""

from __future__ import annotations

import os
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import Empty
from typing import Any

from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import KernelManager
from jupyter_client.provisioning.factory import KernelProvisionerFactory
from traitlets import default

from ci.headless.kernels import environment
from ci.headless.warm.client import ForkedProcess
from helpers import paths

PATIENCE = 120.0  # seconds, on a busy machine


class ThisPython(KernelSpecManager):
    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return KernelSpec(**get_kernel_dict())


class Manager(KernelManager):
    """Kernels of this Python. They are reached over sockets of their own: a port can be lost before the kernel has it."""

    @default("kernel_spec_manager")
    def _this_python(self) -> KernelSpecManager:
        return ThisPython(parent=self)

    @default("transport")
    def _never_lost(self) -> str:
        return "ipc"

    @default("ip")
    def _where(self) -> str:
        """A place that the kernel finds from its own folder. Short: a socket's path holds a hundred letters."""
        return f"{tempfile.gettempdir()}/kernel-{uuid.uuid4().hex}"


def started_kernel() -> tuple[Manager, BlockingKernelClient]:
    """A kernel that finds the project and knows nothing of pytest, and a client of it."""
    env = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    env["PYTHONPATH"] = os.pathsep.join([str(paths.ROOT), os.environ.get("PYTHONPATH", "")])
    manager = Manager()
    manager.start_kernel(env=env)
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=PATIENCE)
    return manager, client


class Session:
    """A kernel that was started, with a client. Its environment is that of a headless run.

    more: Variables added to it.
    """

    def __init__(self, folder: Path, more: Mapping[str, str] | None = None, **options: Any) -> None:
        KernelProvisionerFactory.clear_instance()  # it has read once which provisioner to use
        self.manager = Manager()
        self.env = environment(paths.ROOT, folder, strict=False) | (more or {})
        self.manager.start_kernel(env=self.env, cwd=str(folder), **options)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=PATIENCE)

    @property
    def forked(self) -> bool:
        return isinstance(self.manager.provisioner.process, ForkedProcess)

    @property
    def pid(self) -> int:
        return self.manager.provisioner.pid

    def shown(self, source: str, typed: str | None = None) -> str:
        """What a cell writes and raises, as one text. `typed` answers its input()."""
        text: list[str] = []

        def hear(message: dict[str, Any]) -> None:
            content = message["content"]
            text.append(
                {
                    "stream": lambda: content["text"],
                    "error": lambda: f"{content['ename']}: {content['evalue']}",
                    "execute_result": lambda: content["data"]["text/plain"],
                    "display_data": lambda: " ".join(sorted(content["data"])),
                }.get(message["msg_type"], str)()
            )

        self.client.execute_interactive(
            source,
            allow_stdin=typed is not None,
            output_hook=hear,
            stdin_hook=lambda message: self.client.input(typed),
            timeout=PATIENCE,
        )
        return "".join(text).strip()

    def begin(self, source: str) -> None:
        """Start a cell that prints `begun`, and come back when it has."""
        # Without stop_on_error: with it the kernel would drop what is sent next.
        self.client.execute(f"print('begun', flush=True)\n{source}", stop_on_error=False)
        self.heard(lambda message: message["content"].get("text", "").startswith("begun"))

    def heard(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The next message on iopub that is wanted."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                message = self.client.get_iopub_msg(timeout=1)
            except Empty:
                continue
            if wanted(message):
                return message
        raise AssertionError("the kernel did not say what was waited for")

    def exit_code(self) -> int:
        """The code with which it ended."""
        wait_until(lambda: not self.manager.is_alive())
        return self.manager.provisioner.process.returncode

    def end(self, patience: float = 5.0) -> None:
        """Shut it down as a client does; after half of `patience` seconds by a signal."""
        self.client.stop_channels()
        if self.manager.has_kernel:
            self.manager.shutdown_wait_time = patience
            self.manager.shutdown_kernel()


def wait_until(condition: Callable[[], object]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited for {PATIENCE:.0f} s"
        time.sleep(0.05)
