"""The end of a kernel in which answers were checked: it waits for none of the processes that checks need."""

from __future__ import annotations

from pathlib import Path

from tests.support.kernel_session import PATIENCE, Session

# What Jupyter's request to end sets off first. After it the kernel signals its children, and waits until all are gone.
AT_THE_END = f"""
import psutil
from helpers.labs import autograd as lab
lab.square.check(lambda x: x)
children = psutil.Process().children()
get_ipython().exit_now = True
gone, left = psutil.wait_procs(children, timeout={PATIENCE})
open("ended", "w").write(f"{{len(gone) > 0}}, {{len(left)}}")
"""


def test_a_kernel_told_to_end_waits_for_no_process_of_the_checks(tmp_path: Path) -> None:
    """One of them ignores the kernel's signal: Jupyter would end the kernel by force, and what is done at its end is lost."""
    session = Session(tmp_path)
    try:
        session.client.execute(AT_THE_END)
        assert session.exit_code() == 0
    finally:
        session.end()
    assert (tmp_path / "ended").read_text() == "True, 0"
