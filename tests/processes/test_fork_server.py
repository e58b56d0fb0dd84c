"""The fork server and the process that tracks its resources end together."""

from __future__ import annotations

import subprocess
import sys

from helpers import paths

WAITED_FOR_BY_ANOTHER = """
import os, signal
from multiprocessing import forkserver, resource_tracker
import psutil
from helpers.processes.fork_server import end_fork_server, fork_server

process = fork_server().Process(target=print)
process.start()
process.join()
children = psutil.Process().children()
server = forkserver._forkserver._forkserver_pid
os.kill(server, signal.SIGKILL)
os.waitpid(server, 0)
end_fork_server()
print(len(children), [child.status() for child in children if child.is_running()])
"""


def test_it_ends_where_another_has_waited_for_the_server() -> None:
    """psutil does, and what looks after a learner's own processes may: the second process must still be ended."""
    done = subprocess.run(
        [sys.executable, "-c", WAITED_FOR_BY_ANOTHER],
        cwd=paths.ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.stdout.strip(), done.stderr) == ("2 []", "")
