"""The same function past one machine: written into a folder, started by torchrun, its results read back.

export(fn, *args, folder=...) shows the command for each node. A function that resumes from a checkpoint may ask
for restarts: when a rank dies, torchrun starts all of them anew.
"""

from __future__ import annotations

import os
import pickle
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from helpers import paths
from helpers.processes.process_tree import end_tree
from helpers.ranks.exported_errors import ERRORS, errors, log_of, what_is_known
from helpers.ranks.payload import not_copied

PAYLOAD, RESULTS = "payload.pkl", "results.pkl"
# Without it the ranks of a second attempt find the addresses of the first in the store that torchrun keeps, and
# gloo cannot connect.
OWN_STORE = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"
PLACE = "HOST0"  # stands in the commands until somebody says which machine is node 0


@dataclass(frozen=True)
class Exported:
    """A function in a folder, and how torchrun starts it. Printing it shows a command for each node."""

    folder: Path
    nodes: int
    per_node: int
    max_restarts: int
    address: str
    port: int
    interface: str | None

    @property
    def ranks(self) -> int:
        return self.nodes * self.per_node

    def environment(self) -> dict[str, str]:
        """The variables that torchrun needs beside those that are there."""
        variables = {}
        if self.interface:
            variables["GLOO_SOCKET_IFNAME"] = self.interface
        if self.max_restarts:
            variables[OWN_STORE] = "1"
        return variables

    def arguments(self, node: int = 0) -> list[str]:
        """What follows `torchrun` on this node."""
        payload = ["-m", "helpers.ranks.exported_main", str(self.folder)]
        size = ["--nnodes", str(self.nodes), "--nproc-per-node", str(self.per_node)]
        restarts = ["--max-restarts", str(self.max_restarts)] if self.max_restarts else []
        return [*size, *restarts, *self._meeting(node), *payload]

    def command(self, node: int = 0) -> str:
        """The line for this node's shell."""
        variables = [f"{name}={shlex.quote(value)}" for name, value in self.environment().items()]
        return " ".join([*variables, "torchrun", shlex.join(self.arguments(node))])

    def results(self) -> list[Any]:
        """What the ranks returned; see `gathered`."""
        return gathered(self.folder)

    def run_here(self, timeout: float = 60.0, share_store: bool = False) -> list[Any]:
        """Runs all nodes' commands on this machine and returns the results, or raises RankError.

        After `timeout` seconds, and when this process ends, nothing of it is left. What the ranks print goes to
        torchrun-node0.txt ... in the folder. share_store: leave out the variable that restarts on gloo need, to
        see what happens then.
        """
        from helpers.ranks.failures import RankError

        _clear(self.folder)
        path = os.pathsep.join(filter(None, [str(paths.ROOT), os.environ.get("PYTHONPATH")]))
        environ = {"OMP_NUM_THREADS": "1"} | os.environ | {"PYTHONPATH": path}
        if share_store:
            environ.pop(OWN_STORE, None)
        elif self.max_restarts:
            environ[OWN_STORE] = "1"
        agents = self._started_here(environ)
        try:
            codes = _exit_codes(agents, time.monotonic() + timeout)
        finally:
            for agent in agents:
                if agent.poll() is None:
                    end_tree(agent.pid)
                agent.stdin.close()
                agent.wait()
        if any(code != 0 for code in codes):
            late = None in codes and not any(codes)
            message = (
                f"torchrun was not done after {timeout:g} s and was ended." if late else "torchrun failed."
            )
            text = "\n".join([message, *what_is_known(self.folder, self.nodes)])
            raise RankError(text, kind="timed out" if late else "raised")
        return self.results()

    def _started_here(self, environ: dict[str, str]) -> list[subprocess.Popen[bytes]]:
        """One agent for each node, each with its lines in a file of its own."""
        here = replace(
            self, folder=self.folder.resolve(), address="127.0.0.1", port=_free_port(), interface=None
        )
        agents = []
        for node in range(self.nodes):
            with log_of(self.folder, node).open("wb") as log:
                agents.append(
                    subprocess.Popen(
                        [sys.executable, "-m", "helpers.ranks.agent", *here.arguments(node)],
                        stdin=subprocess.PIPE,  # the agent ends when this is closed
                        stdout=log,
                        stderr=subprocess.STDOUT,
                        env=environ,
                        start_new_session=True,
                    )
                )
        return agents

    def _meeting(self, node: int) -> list[str]:
        """How the nodes find one another."""
        if self.nodes == 1:
            return ["--standalone"]
        if not self.max_restarts:
            return ["--node-rank", str(node), "--master-addr", self.address, "--master-port", str(self.port)]
        # A restart needs nodes that can meet again. Which of them keeps the list of those who came is said
        # here, since a machine does not always recognise its own address.
        meet = ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"{self.address}:{self.port}"]
        return [*meet, "--rdzv-id", self.folder.name, "--rdzv-conf", f"is_host={int(node == 0)}"]

    def __str__(self) -> str:
        lines = [f"{self.ranks} ranks on {_number(self.nodes, 'node')}, {self.per_node} on each."]
        if self.nodes > 1:
            lines.append(f"All see the folder {self.folder}, and have the same Python environment.")
        if self.nodes > 1 and self.address == PLACE:
            lines.append(f"{PLACE}: the name or the address of node 0.")
        for node in range(self.nodes):
            lines += [f"On node {node}:", f"    {self.command(node)}"]
        return "\n".join([*lines, f"Then: ranks.gathered({str(self.folder)!r})"])

    __repr__ = __str__


def export(
    fn: Callable[..., Any],
    *args: Any,
    folder: str | os.PathLike[str],
    nodes: int = 2,
    per_node: int = 2,
    max_restarts: int = 0,
    address: str = PLACE,
    port: int = 29500,
    interface: str | None = None,
    group_timeout: float | None = None,
    **kwargs: Any,
) -> Exported:
    """Writes fn(*args, **kwargs) into a folder; returns what torchrun must be told on each node.

    fn and what it refers to travel by value, so it may stand in a notebook. It uses torch.distributed as under
    `ranks.run`: the process group is there. address, port: where node 0 can be reached. interface: the network
    card that gloo should take where a machine has several. max_restarts: how often torchrun may start all ranks
    anew after one has died. group_timeout: seconds after which a collective gives up.
    """
    if nodes < 1 or per_node < 1 or max_restarts < 0:
        raise ValueError("nodes and per_node are at least 1, max_restarts at least 0.")
    if not callable(fn):
        raise TypeError(
            f"ranks.export takes a function, got {type(fn).__name__}. Pass fn itself, without calling it."
        )
    try:
        call = _pickled((fn, args, kwargs))
    except Exception as error:
        raise not_copied(fn, (*args, *kwargs.values()), error) from None
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    _clear(folder)
    data = {"call": call, "group_timeout": group_timeout}
    (folder / PAYLOAD).write_bytes(pickle.dumps(data))
    return Exported(folder, nodes, per_node, max_restarts, address, port, interface)


def gathered(folder: str | os.PathLike[str]) -> list[Any]:
    """What the ranks of an exported function returned, by rank. Raises RankError where one raised."""
    from helpers.ranks.failures import RankError

    folder = Path(folder)
    if (folder / RESULTS).exists():
        return [pickle.loads(result) for result in pickle.loads((folder / RESULTS).read_bytes())]
    if known := errors(folder):
        raise RankError(known[0])
    raise RankError(f"There are no results in {folder} yet: run the command of every node first.")


def _pickled(call: Any) -> bytes:
    """By value also where fn stands in a module of the learner's, which other machines may not have."""
    import cloudpickle

    from helpers.processes.by_value import by_value

    module = sys.modules.get(getattr(call[0], "__module__", ""))
    if module is None or not _is_own(module):
        return by_value(call)
    cloudpickle.register_pickle_by_value(module)
    try:
        return by_value(call)
    finally:
        cloudpickle.unregister_pickle_by_value(module)


def _is_own(module: Any) -> bool:
    """Neither __main__, which travels by value anyway, nor installed, nor the course's."""
    file = getattr(module, "__file__", None)
    if file is None or module.__name__ == "__main__" or module.__name__.partition(".")[0] == "helpers":
        return False
    return "site-packages" not in file and not file.startswith((sys.base_prefix, sys.prefix))


def _clear(folder: Path) -> None:
    """No results or errors of an earlier run."""
    (folder / RESULTS).unlink(missing_ok=True)
    shutil.rmtree(folder / ERRORS, ignore_errors=True)


def _exit_codes(agents: list[subprocess.Popen[bytes]], end: float) -> list[int | None]:
    """None for those that are not done in time. When one fails, the others are not waited for long."""
    while None in (codes := [agent.poll() for agent in agents]) and time.monotonic() < end:
        if any(code for code in codes):
            end = min(end, time.monotonic() + 5)
        time.sleep(0.05)
    return codes


def _free_port() -> int:
    """Free now; somebody else may take it before torchrun does, which then says so."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
