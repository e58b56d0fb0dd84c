"""A right answer of 14.train_step_bytes in steps, of which each mistake replaces one."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._pytree import tree_leaves

Given = tuple[nn.Module, Any, Any, Tensor, Tensor]


def memory_of(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata


def whole(tensor: Tensor) -> int:
    return tensor.untyped_storage().nbytes()


def total(tensors: Iterable[Tensor]) -> int:
    return sum({memory_of(each): whole(each) for each in tensors}.values())


def none_of_them(model: nn.Module, optimizer: Any) -> None:
    model.zero_grad()


def all_before(model: nn.Module, x: Tensor, y: Tensor) -> Iterable[Tensor]:
    return [*model.parameters(), *model.buffers(), x, y]


def gradients_of(model: nn.Module, optimizer: Any) -> Iterable[Tensor]:
    return [each.grad for each in model.parameters() if each.grad is not None]


def states_of(optimizer: Any) -> Iterable[Tensor]:
    return [each for each in tree_leaves(list(optimizer.state.values())) if isinstance(each, Tensor)]


def forward(model: nn.Module, loss_fn: Any, x: Tensor, y: Tensor) -> Tensor:
    return loss_fn(model(x), y)


def still_saved(alias: weakref.ref[Tensor], memory: StorageWeakRef) -> bool:
    """Whether autograd still has what `pack` returned."""
    return alias() is not None


class Counted:
    """Counts what is saved while it is entered."""

    def __init__(
        self,
        before: Iterable[Tensor],
        *,
        known_by: Callable[[Tensor], Any] = memory_of,
        once_by: Callable[[Tensor], Any] | None = memory_of,
        size: Callable[[Tensor], int] = whole,
        packed: Callable[[Tensor], Tensor] = Tensor.detach,
        counts: Callable[[weakref.ref[Tensor], StorageWeakRef], bool] = still_saved,
    ) -> None:
        self.known = [*before]  # kept, so that no memory of theirs is given out again
        there = [known_by(each) for each in self.known]
        noted: list[tuple[Any, int, weakref.ref[Tensor], StorageWeakRef]] = []
        self.noted, self.counts = noted, counts

        def pack(tensor: Tensor) -> Tensor:
            alias = packed(tensor)
            if known_by(tensor) not in there:
                key, memory = once_by(tensor) if once_by else len(noted), tensor.untyped_storage()
                noted.append((key, size(tensor), weakref.ref(alias), StorageWeakRef(memory)))
            return alias

        self.hooks = saved_tensors_hooks(pack, lambda tensor: tensor)

    def nbytes(self) -> int:
        return sum({key: size for key, size, *kept in self.noted if self.counts(*kept)}.values())


def stepped(
    model: nn.Module,
    optimizer: Any,
    loss_fn: Any,
    x: Tensor,
    y: Tensor,
    *,
    clear: Callable[[nn.Module, Any], Any] = none_of_them,
    parameters: Callable[[nn.Module], int] = lambda model: total(model.parameters()),
    buffers: Callable[[nn.Module], int] = lambda model: total(model.buffers()),
    batch: Callable[[Tensor, Tensor], int] = lambda x, y: total((x, y)),
    before: Callable[[nn.Module, Tensor, Tensor], Iterable[Tensor]] = all_before,
    saved: dict[str, Any] | None = None,
    run: Callable[[nn.Module, Any, Tensor, Tensor], Tensor] = forward,
    backward: Callable[[Tensor], Any] = Tensor.backward,
    gradients: Callable[[nn.Module, Any], int] = lambda model, optimizer: total(
        gradients_of(model, optimizer)
    ),
    step: Callable[[Any], Any] = lambda optimizer: optimizer.step(),
    states: Callable[[Any], int] = lambda optimizer: total(states_of(optimizer)),
    at_the_end: Callable[[nn.Module, Any], Any] = lambda model, optimizer: None,
) -> dict[str, int]:
    """saved: words for Counted."""
    found = {"parameters": parameters(model), "buffers": buffers(model), "batch": batch(x, y)}
    clear(model, optimizer)
    counted = Counted(before(model, x, y), **(saved or {}))
    with counted.hooks:
        loss = run(model, loss_fn, x, y)
    found["saved"] = counted.nbytes()
    backward(loss)
    found["gradients"] = gradients(model, optimizer)
    step(optimizer)
    found["optimizer"] = states(optimizer)
    at_the_end(model, optimizer)
    return found


def shown(tensors: Iterable[Tensor]) -> int:
    """The bytes that the tensors show."""
    return sum(each.numel() * each.element_size() for each in tensors)
