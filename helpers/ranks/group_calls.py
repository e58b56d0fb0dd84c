"""Every call of a process group from Python, put through a function of ours, for counting or for slowing.

torch.distributed's functions (send, batch_isend_irecv, all_reduce ...) end in a method of the group object.
Only these methods are exchanged, so it does not matter under which name a caller imported the functions.
What C++ asks of a group by itself does not come past here: the inner messages of gloo's own collectives, the
all-reduces of DistributedDataParallel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

# The group's method -> what people call it. Old and new names: torch has renamed some of them.
POINT_TO_POINT = {"send": "send", "recv": "recv", "recv_anysource": "recv"}
COLLECTIVES = {
    "allreduce": "all_reduce",
    "allreduce_coalesced": "all_reduce",
    "allreduce_sparse": "all_reduce",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "allgather": "all_gather",
    "allgather_coalesced": "all_gather",
    "_allgather_base": "all_gather_into_tensor",
    "all_gather_single": "all_gather_into_tensor",
    "allgather_into_tensor_coalesced": "all_gather_into_tensor",
    "all_gather_single_coalesced": "all_gather_into_tensor",
    "gather": "gather",
    "gather_single": "gather",
    "gather_into_tensor": "gather",
    "scatter": "scatter",
    "reduce_scatter": "reduce_scatter",
    "_reduce_scatter_base": "reduce_scatter_tensor",
    "reduce_scatter_single": "reduce_scatter_tensor",
    "reduce_scatter_tensor_coalesced": "reduce_scatter_tensor",
    "reduce_scatter_single_coalesced": "reduce_scatter_tensor",
    "alltoall": "all_to_all",
    "alltoall_base": "all_to_all_single",
    "all_to_all_single": "all_to_all_single",
    "barrier": "barrier",
    "monitored_barrier": "barrier",
}
# The functional forms of the collectives (torch.ops._c10d_functional): they find the group in C++.
FUNCTIONAL = (
    "all_reduce",
    "all_reduce_",
    "all_reduce_coalesced",
    "all_reduce_coalesced_",
    "broadcast",
    "broadcast_",
    "all_gather_into_tensor",
    "all_gather_into_tensor_out",
    "all_gather_into_tensor_coalesced",
    "reduce_scatter_tensor",
    "reduce_scatter_tensor_out",
    "reduce_scatter_tensor_coalesced",
    "all_to_all_single",
)

Method = Callable[..., Any]


@contextmanager
def exchanged(wrap: Callable[[str, Method], Method]) -> Iterator[None]:
    """While it is open, each method `m` of process groups named above is `wrap(name, m)`."""
    kept = {name: vars(dist.ProcessGroup)[name] for name in _present()}
    for name in kept:
        setattr(dist.ProcessGroup, name, wrap(name, getattr(dist.ProcessGroup, name)))
    try:
        yield
    finally:
        for name, method in kept.items():
            setattr(dist.ProcessGroup, name, method)


@contextmanager
def functional_exchanged(wrap: Callable[[str, Method], Method]) -> Iterator[None]:
    """The same for the functional collectives."""
    operations = torch.ops._c10d_functional
    kept = {name: getattr(operations, name) for name in FUNCTIONAL if hasattr(operations, name)}
    for name, operation in kept.items():
        setattr(operations, name, _Operation(operation, wrap(name, operation)))
    try:
        yield
    finally:
        for name, operation in kept.items():
            setattr(operations, name, operation)


class _Operation:
    """An operation of torch.ops that is called another way; all else about it (its overloads ...) stays."""

    def __init__(self, operation: Any, call: Method) -> None:
        self._operation, self._call = operation, call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._operation, name)


def size_in_bytes(value: Any) -> int:
    """The bytes of all tensors in lists of lists of them."""
    if isinstance(value, Tensor):
        return value.nbytes
    if isinstance(value, (list, tuple)):
        return sum(size_in_bytes(part) for part in value)
    return 0


def _present() -> list[str]:
    return [name for name in {**POINT_TO_POINT, **COLLECTIVES} if name in vars(dist.ProcessGroup)]
