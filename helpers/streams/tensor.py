"""The tensor of the simulated device.

Each holds two CPU tensors of one layout. `raw` is a view of a block of the device's memory: it changes when a
kernel is executed, in the order of virtual time. `shadow` is computed at once when the host issues an operation,
so it is what the tensor would hold had everything run in program order; shapes come from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from helpers.streams.device_guard import guard, run_backward_here
from helpers.streams.memory import Allocation, view_of
from helpers.streams.queues import Stream, ours
from helpers.streams.saving import deep_copied, reduced

DEVICE = "sim"


class SimTensor(torch.Tensor):
    """A tensor whose memory is a block of the simulated device."""

    raw: torch.Tensor
    shadow: torch.Tensor
    allocation: Allocation
    dispatch: Callable[[Any, Any, Any], Any]  # put in by streams.dispatch, which is built on this module

    @staticmethod
    def __new__(cls, shadow: torch.Tensor, allocation: Allocation, requires_grad: bool = False) -> SimTensor:
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            shadow.shape,
            strides=shadow.stride(),
            storage_offset=shadow.storage_offset(),
            dtype=shadow.dtype,
            device=f"{DEVICE}:0",
            requires_grad=requires_grad,
        )
        made.shadow, made.allocation = shadow, allocation
        made.raw = view_of(allocation.block, shadow)
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return cls.dispatch(func, args, kwargs or {})

    def record_stream(self, stream: Stream) -> None:
        """The block, once freed, is not given away before `stream` has done what it has been given by then."""
        self.allocation.block.users.add(ours(stream, Stream))

    def backward(self, gradient: torch.Tensor | None = None, *args: Any, **kwargs: Any) -> None:
        """As for any tensor. What a hook raises comes out."""
        if gradient is not None and gradient.device != self.device:
            raise RuntimeError(
                f"invalid gradient at index 0 - expected device {self.device} but got {gradient.device}"
            )
        run_backward_here()
        with guard.carrying():
            super().backward(gradient, *args, **kwargs)

    def tolist(self) -> Any:
        return self.detach().cpu().tolist()

    @property
    def data(self) -> SimTensor:
        """The same memory, unknown to autograd; assigning gives this tensor another tensor's memory."""
        return self.detach()

    @data.setter
    def data(self, other: torch.Tensor) -> None:
        if not isinstance(other, SimTensor):
            raise RuntimeError(
                f"A tensor on {self.device} cannot be given the memory of one on {other.device}."
            )
        torch.Tensor.data.__set__(self, other)
        self.raw, self.shadow, self.allocation = other.raw, other.shadow, other.allocation

    def data_ptr(self) -> int:
        """The address in the device's memory: two tensors with one address share a block."""
        return self.raw.data_ptr()

    def numpy(self, *, force: bool = False) -> Any:
        if force:
            return self.detach().cpu().numpy()
        raise TypeError(
            f"can't convert {self.device} device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )

    def __array__(self, dtype: Any = None) -> Any:
        return self.numpy()

    def __deepcopy__(self, memo: dict[int, Any]) -> SimTensor:
        return deep_copied(self, memo)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return reduced(self)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        text = repr(self.detach().cpu()).removesuffix(")")
        if self.grad_fn is not None:
            grad = f", grad_fn=<{type(self.grad_fn).__name__}>"
        else:
            grad = ", requires_grad=True" if self.requires_grad else ""
        title = "Parameter containing:\n" if isinstance(self, torch.nn.Parameter) else ""
        return f"{title}{text}, device='{self.device}'{grad})"

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.dim() == 0 else object.__format__(self, spec)


def of_value(value: torch.Tensor) -> SimTensor:
    """A new tensor of the device that holds this CPU tensor's value at once (the host has waited for it)."""
    made = SimTensor(value, Allocation(value.untyped_storage().nbytes()))
    made.raw.copy_(value)
    return made
