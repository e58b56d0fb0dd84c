"""What each collective does, on the tensors of all ranks at once: for groups in memory.

A Call is what one rank brings: its name, inputs, outputs. `outcome` takes the calls of all ranks, in order, and gives
the values for each rank's outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.distributed.distributed_c10d import ReduceOp

Values = list[list[Tensor]]  # for each rank, what goes into its outputs


@dataclass
class Call:
    """One rank's part in a collective.

    work: from the calls of all ranks to the values of each. root, reduction: None where there is none.
    same_shapes: inputs must have the same shapes on all ranks.
    """

    name: str
    inputs: list[Tensor]
    outputs: list[Tensor]
    work: Callable[[list[Call]], Values] = field(repr=False, default=lambda calls: [[] for _ in calls])
    root: int | None = None
    reduction: str | None = None
    same_shapes: bool = True

    def differs_from(self, other: Call) -> tuple[str, str, str] | None:
        """In what, how this one is told and how the other; None if they fit together."""
        if self.name != other.name:
            return "operation", self.described(), other.described()
        if self.root != other.root:
            return "root", f"{self.name} with rank {self.root}", f"{self.name} with rank {other.root}"
        if self.reduction != other.reduction:
            return "reduction", f"{self.name} by {self.reduction}", f"{self.name} by {other.reduction}"
        if not self.same_shapes:
            return None
        for mine, its in zip(self._own(), other._own(), strict=False):
            if mine.dtype != its.dtype:
                return "dtype", self.described(), other.described()
            if mine.numel() != its.numel():
                return "shape", self.described(), other.described()
        if len(self._own()) != len(other._own()):
            return "shape", self.described(), other.described()
        return None

    def _own(self) -> list[Tensor]:
        return self.inputs or self.outputs

    def described(self) -> str:
        shapes = ", ".join(f"{tuple(t.shape)} {str(t.dtype).removeprefix('torch.')}" for t in self._own())
        return f"{self.name}({shapes})"

    def outcome(self, calls: list[Call]) -> Values:
        with torch.no_grad():
            return self.work(calls)

    def fill(self, values: list[Tensor]) -> None:
        for output, value in zip(self.outputs, values, strict=True):
            output.detach().copy_(value.reshape(output.shape))


def reduced(tensors: list[Tensor], op: Any) -> Tensor:
    """The reduction of tensors of one shape, in the order of the ranks."""
    kind = _kind(op)
    total = tensors[0].detach().clone()
    for tensor in tensors[1:]:
        tensor = tensor.reshape(total.shape)
        if kind in (ReduceOp.SUM, ReduceOp.AVG):
            total += tensor
        elif kind == ReduceOp.PRODUCT:
            total *= tensor
        elif kind == ReduceOp.MIN:
            total = torch.minimum(total, tensor)
        elif kind == ReduceOp.MAX:
            total = torch.maximum(total, tensor)
        elif kind in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR):
            total = {ReduceOp.BAND: torch.bitwise_and, ReduceOp.BOR: torch.bitwise_or}.get(
                kind, torch.bitwise_xor
            )(total, tensor)
        else:
            raise RuntimeError(f"{op} is not supported here")
    return total / len(tensors) if kind == ReduceOp.AVG else total


def _name(op: Any) -> str:
    return str(_kind(op)).rpartition(".")[2]


def _kind(op: Any) -> Any:
    """Options carry a ReduceOp, which holds its kind; people write the kind itself."""
    return op.op if isinstance(op, ReduceOp) else op


def in_memory(tensors: list[Tensor]) -> list[Tensor]:
    """What gloo edits: as many numbers as a tensor has, from its first one on in memory, whatever its strides say."""
    return [
        t if t.is_contiguous() else t.detach().as_strided((t.numel(),), (1,), t.storage_offset())
        for t in tensors
    ]


def all_reduce(tensors: list[Tensor], op: Any) -> Call:
    tensors = in_memory(tensors)

    def work(calls: list[Call]) -> Values:
        totals = [reduced([call.inputs[i] for call in calls], op) for i in range(len(tensors))]
        return [totals for _ in calls]

    return Call("all_reduce", tensors, tensors, work, reduction=_name(op))


def broadcast(tensors: list[Tensor], root: int) -> Call:
    tensors = in_memory(tensors)

    def work(calls: list[Call]) -> Values:
        values = [tensor.detach().clone() for tensor in calls[root].inputs]
        return [values for _ in calls]

    return Call("broadcast", tensors, tensors, work, root=root)


def reduce(tensors: list[Tensor], op: Any, root: int, rank: int) -> Call:
    tensors = in_memory(tensors)

    def work(calls: list[Call]) -> Values:
        total = reduced([call.inputs[0] for call in calls], op)
        return [[total] if r == root else [] for r in range(len(calls))]

    return Call("reduce", tensors, tensors if rank == root else [], work, root=root, reduction=_name(op))


def all_gather(outputs: list[Tensor], tensor: Tensor) -> Call:
    def work(calls: list[Call]) -> Values:
        values = [call.inputs[0].detach().clone() for call in calls]
        return [values for _ in calls]

    return Call("all_gather", [tensor], outputs, work)


def all_gather_into_tensor(output: Tensor, tensor: Tensor, world: int) -> Call:
    part = output.chunk(world)[0].shape
    if part != tensor.shape:  # as gloo does, which takes a joined output only, no stacked one
        raise RuntimeError(f"invalid tensor size (expected {tuple(tensor.shape)}, got {tuple(part)})")

    def work(calls: list[Call]) -> Values:
        values = [torch.cat([call.inputs[0].reshape(-1) for call in calls])]
        return [values for _ in calls]

    return Call("all_gather_into_tensor", [tensor], [output], work)


def gather(outputs: list[Tensor], tensor: Tensor, root: int, rank: int) -> Call:
    def work(calls: list[Call]) -> Values:
        values = [call.inputs[0].detach().clone() for call in calls]
        return [values if r == root else [] for r in range(len(calls))]

    return Call("gather", [tensor], outputs if rank == root else [], work, root=root)


def scatter(output: Tensor, inputs: list[Tensor], root: int, rank: int) -> Call:
    def work(calls: list[Call]) -> Values:
        return [[part.detach().clone()] for part in calls[root].inputs]

    return Call("scatter", inputs if rank == root else [], [output], work, root=root, same_shapes=False)


def reduce_scatter(output: Tensor, inputs: list[Tensor], op: Any) -> Call:
    def work(calls: list[Call]) -> Values:
        return [[reduced([call.inputs[r] for call in calls], op)] for r in range(len(calls))]

    return Call("reduce_scatter", inputs, [output], work, reduction=_name(op))


def all_to_all(outputs: list[Tensor], inputs: list[Tensor]) -> Call:
    def work(calls: list[Call]) -> Values:
        return [[call.inputs[r].detach().clone() for call in calls] for r in range(len(calls))]

    return Call("all_to_all", inputs, outputs, work, same_shapes=False)


def barrier() -> Call:
    return Call("barrier", [], [])
