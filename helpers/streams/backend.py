"""Makes the simulated device known to torch as "sim", with its module `torch.sim`."""

from __future__ import annotations

from typing import Any

import torch

from helpers.streams.device_guard import guard, run_backward_here
from helpers.streams.dispatch import dispatch
from helpers.streams.first_dispatch import make_first_dispatch_quick
from helpers.streams.kinds import aten
from helpers.streams.module import sim_module
from helpers.streams.tensor import DEVICE

_library: list[Any] = []  # the registration lives as long as this

# Factories whose general form resizes an empty tensor in C++, which this device's tensors cannot follow.
_FACTORIES = ["arange", "arange.start", "arange.start_step", "eye", "eye.m", "linspace", "logspace", "range"]
_FACTORIES += ["range.step", "randperm", "randperm.generator", "tril_indices", "triu_indices"]

# torch.tensor and torch.as_tensor call these where `__torch_dispatch__` is switched off; the fallback does not
# serve tensors of a Python class, a kernel of its own does.
_BELOW_PYTHON = ["copy_", "_local_scalar_dense"]


def install() -> None:
    """Registers the device "sim" and the module `torch.sim`, once in a process.

    Raises RuntimeError if this torch lacks the hook for back ends written in Python, or if another back end has
    taken the one place for it.
    """
    if _library:
        return
    try:
        from torch.utils.backend_registration import _setup_privateuseone_for_python_backend as setup
    except ImportError:
        raise RuntimeError(
            f"torch {torch.__version__} has no _setup_privateuseone_for_python_backend, the hook by which a "
            "device can be written in Python (torch 2.11 and 2.15 have it): the simulated device needs it."
        ) from None
    name = torch._C._get_privateuse1_backend_name()
    if name not in ("privateuseone", DEVICE):
        raise RuntimeError(f"This process has a back end {name!r} already, and torch has room for one.")
    make_first_dispatch_quick()
    setup(DEVICE, sim_module(), _hooks(), guard.made())
    guard.start()
    run_backward_here()
    library = torch.library.Library("_", "IMPL")
    library.fallback(lambda func, *args, **kwargs: dispatch(func, args, kwargs), "PrivateUse1")
    autocast = torch.library.Library("_", "IMPL", "AutocastPrivateUse1")
    autocast.fallback(torch.library.fallthrough_kernel)  # it has no rules for this device
    factories = torch.library.Library("aten", "IMPL")
    for overload in _FACTORIES + _BELOW_PYTHON:
        packet, _, variant = overload.partition(".")
        func = getattr(getattr(aten, packet), variant or "default")
        factories.impl(overload, _kernel(func), "PrivateUse1")
    _library.extend((library, autocast, factories))


def _kernel(func: Any) -> Any:
    return lambda *args, **kwargs: dispatch(func, args, kwargs)


def _hooks() -> Any:
    class Hooks(torch._C._acc.PrivateUse1Hooks):
        def is_available(self) -> bool:
            return False

        def has_primary_context(self, dev_id: int) -> bool:
            return True

        def is_built(self) -> bool:
            return True

    return Hooks()
