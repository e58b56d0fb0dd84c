"""What happens when the host calls an operation on a tensor of the simulated device.

A view launches nothing. An operation that the host cannot go on without (`nonzero`, `equal`) waits for the
current stream. All others are issued as one kernel on the current stream.
"""

from __future__ import annotations

from typing import Any

import torch

from helpers.streams.copies import SPECIAL, check_number
from helpers.streams.device_guard import run_backward_here
from helpers.streams.kernels import awaited, issued
from helpers.streams.kinds import aten, kind_of, replaced
from helpers.streams.machine import machine
from helpers.streams.queues import current_stream
from helpers.streams.tensor import DEVICE, SimTensor

# torch keeps these as a view with a flag, to be computed by whoever reads it; the device's memory has no such flag.
_MADE_AT_ONCE = {aten._conj.default: aten._conj_physical.default, aten._neg_view.default: aten.neg.default}


def dispatch(func: Any, args: Any, kwargs: Any) -> Any:
    """The result of an operation as the host gets it: at once, whatever the device still has to do."""
    run_backward_here()
    with machine.lock, _flags_respected():
        if func in SPECIAL:
            return SPECIAL[func](func, args, kwargs)
        func = _MADE_AT_ONCE.get(func, func)
        args, kwargs = _for_the_device(func, args, kwargs)
        masked = func in (aten.index.Tensor, aten.index_put_.default) and _has_mask(args[1])
        if kind_of(func).host_needs_it or (masked and func is aten.index.Tensor):
            return awaited(func, args, kwargs)
        if masked and args[2].numel() > 1:
            machine.wait_for_stream(current_stream())
        return issued(func, args, kwargs)


SimTensor.dispatch = staticmethod(dispatch)


def _flags_respected() -> Any:
    """In `__torch_dispatch__` torch overlooks the flags of CPU tensors that are still to be conjugated or negated."""
    included, excluded = (
        torch._C._dispatch_tls_local_include_set(),
        torch._C._dispatch_tls_local_exclude_set(),
    )
    excluded = excluded.remove(torch._C.DispatchKey.Conjugate).remove(torch._C.DispatchKey.Negative)
    return torch._C._ForceDispatchKeyGuard(included, excluded)


def _has_mask(indices: Any) -> bool:
    return any(index is not None and index.dtype in (torch.bool, torch.uint8) for index in indices)


def _for_the_device(func: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments, with numbers of the host taken as they are now; its tensors raise, as with CUDA."""
    if func in (aten.index.Tensor, aten.index_put_.default):  # their indices may lie on the host
        moved = [index.to(DEVICE) if _on_host(index) else index for index in args[1]]
        args = (args[0], moved, *args[2:])

    def taken(tensor: torch.Tensor) -> torch.Tensor:
        if isinstance(tensor, SimTensor):
            return tensor
        if tensor.dim() > 0:
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                f"{DEVICE}:0 and {tensor.device}! (when calling {func})"
            )
        return tensor.detach().clone()

    if kwargs.get("device") is not None:
        check_number(torch.device(kwargs["device"]))
    kwargs = {name: torch.device("cpu") if name == "device" else value for name, value in kwargs.items()}
    kwargs.pop("pin_memory", None)
    return replaced(args, taken), replaced(kwargs, taken)


def _on_host(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and not isinstance(value, SimTensor)
