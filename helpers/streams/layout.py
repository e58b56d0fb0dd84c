"""Operations that change the shape of a tensor in place: the device's tensor follows its shadow."""

from __future__ import annotations

import torch
from torch.utils._mode_utils import no_dispatch

from helpers.streams.memory import Allocation, view_of
from helpers.streams.tensor import SimTensor


def follow_shadow(tensor: SimTensor, inputs: list[SimTensor]) -> bool:
    """Gives a tensor the layout and memory that an operation on `inputs` gave its shadow.

    Says whether they are other ones. Memory: `set_` gives one tensor that of another.
    """
    shadow = tensor.shadow
    memory = shadow.untyped_storage()._cdata
    for other in inputs:
        if other.allocation is not tensor.allocation and other.shadow.untyped_storage()._cdata == memory:
            tensor.allocation = other.allocation
            tensor.raw = view_of(tensor.allocation.block, shadow)
            _set_layout(tensor, shadow)
            return True
    if tensor.shape == shadow.shape and tensor.stride() == shadow.stride():
        if tensor.storage_offset() == shadow.storage_offset():
            return False
    if shadow.untyped_storage().nbytes() > tensor.allocation.block.bytes.numel():
        tensor.allocation = Allocation(shadow.untyped_storage().nbytes())
    tensor.raw = view_of(tensor.allocation.block, shadow)
    _set_layout(tensor, shadow)
    return True


def _set_layout(tensor: SimTensor, like: torch.Tensor) -> None:
    """Changes what the tensor says of itself. Its own storage holds nothing, so meta's `set_` serves."""
    included = torch._C._meta_in_tls_dispatch_include()
    with no_dispatch():
        torch._C._set_meta_in_tls_dispatch_include(True)
        try:
            tensor.set_(tensor.untyped_storage(), like.storage_offset(), like.shape, like.stride())
        finally:
            torch._C._set_meta_in_tls_dispatch_include(included)
