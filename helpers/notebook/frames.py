"""Frames of a learner's code: found in a traceback or in a dump, told in words: `Cell In[3], line 2, in f: return x`."""

from __future__ import annotations

import linecache
import os
import re
import sysconfig
from collections.abc import Iterable
from types import CodeType

from helpers import paths
from helpers.notebook.cells import cell_numbers

Frame = tuple[str, int, str]  # file, line, function

_HERE = str(paths.ROOT / "helpers") + os.sep
_BANK = re.compile(r"[/\\]labs[/\\]\w+[/\\]\w+[/\\](right\.py|mistakes\.py|mistakes[/\\]\w+\.py)$")
_LIBRARY = tuple(
    sysconfig.get_paths()[name] + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")
)


def frames_of(error: BaseException, but: CodeType | None = None) -> list[Frame]:
    """Frames of the learner's code that an error came through, outermost first; those of `but` are left out.

    The traceback is walked by hand: a RecursionError has thousands of frames, of which a few are kept.
    """
    frames: list[Frame] = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if is_learners(code.co_filename) and code is not but:
            frames.append((code.co_filename, trace.tb_lineno, code.co_name))
        trace = trace.tb_next
    return frames if len(frames) <= 8 else frames[:4] + frames[-4:]


def is_learners(file: str) -> bool:
    """Whether a file is neither ours nor a library's: a cell of a notebook, a test, an own module.

    The files in which an exercise's mistakes are written count as a learner's, so that a mistake of the bank is
    told as a learner's answer is.
    """
    if file.startswith("<frozen") or file.startswith("<attrs") or file.startswith("<__array_function__"):
        return False
    return bool(_BANK.search(file)) if file.startswith(_HERE) else not file.startswith(_LIBRARY)


_DUMPED = re.compile(r'^  File "(.+)", line (\d+) in (.+)$', re.M)
_ESCAPED = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")


def dumped(text: str) -> list[Frame]:
    """The frames in a text by faulthandler, innermost first. What is beyond ASCII it writes as `\\xf6` or `\\u0151`."""
    plain = _ESCAPED.sub(lambda found: chr(int(found[1] or found[2] or found[3], 16)), text)
    return [(found[1], int(found[2]), found[3]) for found in _DUMPED.finditer(plain)]


def places(frames: Iterable[Frame]) -> list[str]:
    """Frames of the learner's code in words; others are left out."""
    numbers = cell_numbers()
    found = []
    for file, line, function in frames:
        if file == "<string>" or not is_learners(file):
            continue
        number = numbers.get(file)
        cell = f"Cell In[{number}]" if number else os.path.basename(file)
        code = linecache.getline(file, line).strip()
        found.append(f"{cell}, line {line}, in {function}" + (f": {code}" if code else ""))
    return found
