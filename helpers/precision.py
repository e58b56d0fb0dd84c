"""The switches that say with how many bits torch may multiply float32: read as they are, put back exactly.

There are two generations of them in `torch.backends`, over the same state (aten/src/ATen/Context.cpp). Where a new
one (`fp32_precision`) was set in a way that an old one (`allow_tf32`, `set_float32_matmul_precision`) cannot express,
*reading* the old one raises; so an old one is read with care, and written before the new ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.backends.cudnn

# Parents first: an operator whose own switch says "none" follows its back end's, and that follows the generic one.
SWITCHES = (
    ("generic", "all"),
    ("cuda", "all"),
    ("mkldnn", "all"),
    *((backend, op) for backend in ("cuda", "mkldnn") for op in ("matmul", "conv", "rnn")),
)

# Taken now: an answer may replace them.
_read_switch, _write_switch = torch._C._get_fp32_precision_getter, torch._C._set_fp32_precision_setter
_OLD: tuple[tuple[Callable[[], Any], Callable[[Any], None]], ...] = (
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (torch._C._get_cudnn_allow_tf32, torch._C._set_cudnn_allow_tf32),
)


def read() -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Every new switch as it takes effect, and each old one; None where it cannot be read."""
    return tuple(_read_switch(*switch) for switch in SWITCHES), tuple(_readable(get) for get, _ in _OLD)


def write(value: tuple[tuple[str, ...], tuple[Any, ...]]) -> None:
    """Puts back what `read` gave."""
    new, old = value
    for (_, put), wanted in zip(_OLD, old, strict=True):
        if wanted is not None:
            put(wanted)
    for switch, wanted in zip(SWITCHES, new, strict=True):
        if _read_switch(*switch) != wanted:
            _write_switch(*switch, wanted)


def _readable(get: Callable[[], Any]) -> Any:
    try:
        return get()
    except RuntimeError:  # torch: mixing the old and the new switches
        return None
