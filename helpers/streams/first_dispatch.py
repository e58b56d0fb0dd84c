"""Makes the first operation of a process on tensors of a Python class quick.

When torch first hands an operation to the `__torch_dispatch__` of any class, its C++ part asks once for the class
`torch.distributed.tensor.DTensor` and keeps it, to treat DTensors in a way of their own. That import loads sympy
and hundreds of other modules: half a second and more, in each process that runs a check. So, if the module is
not loaded, C++ is shown a stand-in that becomes DTensor when DTensor is really imported: `isinstance` and every
attribute are passed on. DTensors work as before.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import torch

_MODULE = "torch.distributed.tensor"


def _dtensor() -> Any:
    """The real class, or None as long as nobody has imported it."""
    return getattr(sys.modules.get(_MODULE), "DTensor", None)


class _StandsIn(type):
    def __instancecheck__(cls, value: object) -> bool:
        real = _dtensor()
        return real is not None and real is not cls and isinstance(value, real)

    def __getattr__(cls, name: str) -> Any:
        return getattr(_dtensor(), name)


class _DTensor(metaclass=_StandsIn):
    """What torch's C++ part keeps as DTensor."""


class _Probe(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return args[0]


def make_first_dispatch_quick() -> None:
    """Has torch ask for DTensor now, and shows it the stand-in if the real one is not loaded."""
    if _MODULE in sys.modules:
        return
    stand_in = ModuleType(_MODULE)
    stand_in.DTensor = _DTensor
    sys.modules[_MODULE] = stand_in
    try:
        torch.ops.aten.sin.default(torch.Tensor._make_wrapper_subclass(_Probe, (1,), device="cpu"))
    finally:
        del sys.modules[_MODULE]
