"""Right answers of 14.train_step_bytes, of other shapes than the solution's."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._pytree import tree_flatten


def _memories(tensors: Any) -> dict[int, int]:
    found = {}
    for each in tensors:
        storage = each.untyped_storage()
        found.setdefault(storage._cdata, storage.nbytes())
    return found


def _all_in(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple | deque):
        yield from chain.from_iterable(map(_all_in, value))
    else:
        yield value


def by_closure(model: Any, optimizer: Any, loss_fn: Any, x: Tensor, y: Tensor) -> dict[str, int]:
    """The optimizer calls the step's other parts."""
    found: dict[str, int] = {}
    kept: weakref.WeakSet[Any] = weakref.WeakSet()

    class Packed:
        def __init__(self, tensor: Tensor) -> None:
            self.tensor = tensor.detach()
            kept.add(self)

    def closure() -> Tensor:
        for each in model.parameters():
            each.grad = None
        before = [*model.parameters(), *model.buffers(), x, y]
        there = _memories(before)
        with torch.enable_grad():
            with saved_tensors_hooks(Packed, lambda packed: packed.tensor):
                loss = loss_fn(model(x), y)
            saved = _memories(packed.tensor for packed in kept)
            found["saved"] = sum(size for memory, size in saved.items() if memory not in there)
            loss.backward()
        found["gradients"] = sum(
            _memories(each.grad for each in model.parameters() if each.grad is not None).values()
        )
        return loss

    optimizer.step(closure)
    states = _all_in(optimizer.state)
    found["optimizer"] = sum(_memories(each for each in states if torch.is_tensor(each)).values())
    found["parameters"] = sum(_memories(model.parameters()).values())
    found["buffers"] = sum(_memories(model.buffers()).values())
    found["batch"] = sum(_memories([x, y]).values())
    return found


def by_grad(model: Any, optimizer: Any, loss_fn: Any, x: Tensor, y: Tensor) -> dict[str, int]:
    """What is packed is a function that gives it back; gradients by torch.autograd.grad."""
    model.zero_grad(set_to_none=True)
    parameters, buffers = list(model.parameters()), list(model.buffers())
    known = _memories([*parameters, *buffers, x, y])
    packed: weakref.WeakSet[Any] = weakref.WeakSet()

    def pack(tensor: Tensor) -> Any:
        unpack = partial(torch.Tensor.detach, tensor.detach())
        packed.add(unpack)
        return unpack

    with saved_tensors_hooks(pack, lambda unpack: unpack()):
        loss = loss_fn(model(x), y)
    saved = _memories(unpack() for unpack in packed)
    saved = {memory: size for memory, size in saved.items() if memory not in known}
    trained = [each for each in parameters if each.requires_grad]
    gradients = torch.autograd.grad(loss, trained, allow_unused=True)
    for each, gradient in zip(trained, gradients, strict=True):
        each.grad = gradient
    total = {
        "gradients": sum(_memories(each for each in gradients if each is not None).values()),
        "saved": sum(saved.values()),
        "parameters": sum(_memories(parameters).values()),
        "buffers": sum(_memories(buffers).values()),
        "batch": sum(_memories((x, y)).values()),
    }
    optimizer.step()
    states, _ = tree_flatten(optimizer.state_dict()["state"])
    tensors = [each for each in states if isinstance(each, Tensor)]
    return total | {"optimizer": sum(_memories(tensors).values())}


def by_lists(model: Any, optimizer: Any, loss_fn: Any, x: Tensor, y: Tensor) -> dict[str, int]:
    """Storages in lists, compared by their address, while all of them are alive."""

    def total(tensors: Any) -> int:
        seen: list[int] = []
        count = 0
        for each in tensors:
            storage = each.untyped_storage()
            if storage.data_ptr() not in seen:
                seen.append(storage.data_ptr())
                count += storage.size()
        return count

    packed: list[weakref.ref[Tensor]] = []

    def pack(tensor: Tensor) -> Tensor:
        plain = tensor.detach()
        packed.append(weakref.ref(plain))
        return plain

    for each in model.parameters():
        each.grad = None
    here = [*model.parameters(), *model.buffers(), x, y]
    before = {each.untyped_storage().data_ptr() for each in here}
    hooks = saved_tensors_hooks(pack, lambda plain: plain)
    with hooks:
        out = model(x)
        loss = loss_fn(out, y)
    del out
    alive = [tensor for one in packed if (tensor := one()) is not None]
    saved = total(each for each in alive if each.untyped_storage().data_ptr() not in before)
    del alive
    loss.backward()
    gradients = total(each.grad for each in model.parameters() if each.grad is not None)
    optimizer.step()
    tensors: list[Tensor] = []
    todo: list[Any] = list(optimizer.state.values())
    while todo:
        value = todo.pop()
        if isinstance(value, Tensor):
            tensors.append(value)
        elif isinstance(value, dict):
            todo += value.values()
        elif isinstance(value, list | tuple | deque):
            todo += value
    return dict(
        saved=saved,
        gradients=gradients,
        optimizer=total(tensors),
        parameters=total(model.parameters()),
        buffers=total(model.buffers()),
        batch=total([x, y]),
    )


RIGHT: list[Any] = [by_closure, by_grad, by_lists]
