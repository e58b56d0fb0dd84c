"""Which line of the user's program launched a kernel."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import NamedTuple

import torch

_OWN = (os.path.dirname(__file__) + os.sep, os.path.dirname(torch.__file__) + os.sep, "<frozen ")


class Site(NamedTuple):
    file: str
    line: int

    def __str__(self) -> str:
        if (cell := _cell_number(self.file)) is not None:
            return f"Cell In[{cell}], line {self.line}"
        return f"{os.path.basename(self.file)}, line {self.line}" if self.file else "the backward pass"


@cache
def _is_own(file: str) -> bool:
    return file.startswith(_OWN)


def launch_site() -> Site:
    """The innermost line outside torch and this package; none in autograd's own thread."""
    frame = sys._getframe(1)
    while frame is not None and _is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return Site("", 0) if frame is None else Site(frame.f_code.co_filename, frame.f_lineno)


def _cell_number(file: str) -> int | None:
    """The execution count of the notebook cell that is compiled under this name."""
    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    names = getattr(getattr(shell, "compile", None), "_filename_map", {})
    return names.get(file)
