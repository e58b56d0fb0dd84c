"""Right answers to 03.checkpointed, in different shapes."""

from __future__ import annotations

import contextlib
import itertools
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks


class Recompute(torch.autograd.Function):
    """The plain answer: a Function that runs fn twice."""

    @staticmethod
    def forward(ctx: Any, fn: Callable[..., Tensor], *args: Any) -> Tensor:
        ctx.fn = fn
        ctx.rng_state = torch.get_rng_state()
        ctx.autocast = torch.get_autocast_dtype("cpu"), torch.is_autocast_enabled("cpu")
        ctx.args = [None if isinstance(arg, Tensor) else arg for arg in args]
        ctx.is_tensor = [isinstance(arg, Tensor) for arg in args]
        ctx.save_for_backward(*(arg for arg in args if isinstance(arg, Tensor)))
        return fn(*args)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> tuple:
        tensors = iter(ctx.saved_tensors)
        args = [
            _copy(next(tensors)) if is_tensor else arg
            for arg, is_tensor in zip(ctx.args, ctx.is_tensor, strict=True)
        ]
        with torch.random.fork_rng(), torch.enable_grad(), torch.autocast("cpu", *ctx.autocast):
            torch.set_rng_state(ctx.rng_state)
            out = ctx.fn(*args)
        if out.requires_grad:
            torch.autograd.backward(out, grad_out)
        return None, *(arg.grad if isinstance(arg, Tensor) else None for arg in args)


def _copy(tensor: Tensor) -> Tensor:
    return tensor.detach().requires_grad_(tensor.requires_grad)


def checkpointed_with_a_function(fn: Callable[..., Tensor], *args: Any) -> Tensor:
    return Recompute.apply(fn, *args)


def checkpointed_in_a_closure(fn: Callable[..., Tensor], *args: Any) -> Tensor:
    """The Function sees the tensors that need a gradient only; all else stands in the closure. try and finally."""
    state, enabled, dtype = (
        torch.get_rng_state(),
        torch.is_autocast_enabled("cpu"),
        torch.get_autocast_dtype("cpu"),
    )
    places = [at for at, arg in enumerate(args) if isinstance(arg, Tensor) and arg.requires_grad]

    class Closed(torch.autograd.Function):
        @staticmethod
        def forward(*tensors: Tensor) -> Tensor:
            return fn(*args)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple, output: Tensor) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
            copies = list(args)
            for at, tensor in zip(places, ctx.saved_tensors, strict=True):
                copies[at] = tensor.detach().requires_grad_()
            now = torch.get_rng_state()
            torch.set_rng_state(state)
            try:
                with torch.enable_grad(), torch.amp.autocast("cpu", dtype=dtype, enabled=enabled):
                    out = fn(*copies)
            finally:
                torch.set_rng_state(now)
            if out.requires_grad:
                out.backward(grad_out)
            return tuple(copies[at].grad for at in places)

    return Closed.apply(*(args[at] for at in places))


def checkpointed_with_hooks(fn: Callable[..., Tensor], *args: Any) -> Tensor:
    """saved_tensors_hooks: what is saved becomes a number, and the first number asked for starts the second run."""
    state, autocast = (
        torch.get_rng_state(),
        (torch.get_autocast_dtype("cpu"), torch.is_autocast_enabled("cpu")),
    )
    numbers = itertools.count()
    again: dict[int, Tensor] = {}

    def unpack(number: int) -> Tensor:
        if not again:
            second = itertools.count()

            def keep(tensor: Tensor) -> Tensor:
                again[next(second)] = tensor.detach()
                return tensor.detach()

            with torch.random.fork_rng(devices=[]), torch.enable_grad(), torch.autocast("cpu", *autocast):
                torch.set_rng_state(state)
                with saved_tensors_hooks(keep, lambda tensor: tensor):
                    fn(*(_copy(arg) if isinstance(arg, Tensor) else arg for arg in args))
        return again[number]

    with saved_tensors_hooks(lambda tensor: next(numbers), unpack):
        return fn(*args)


class Done(Exception):
    """The second run has saved all that the first one had."""


class Holder:
    """Stands for one saved tensor."""

    tensor: Tensor | None = None


class Frame:
    """torch's non-reentrant idea: holders known by weak references, the second run stops early, each is used up."""

    def __init__(self, fn: Callable[..., Tensor], args: tuple) -> None:
        self.fn, self.args, self.holders = fn, args, []
        self.state = torch.get_rng_state()
        self.autocast = torch.get_autocast_dtype("cpu"), torch.is_autocast_enabled("cpu")

    def pack(self, tensor: Tensor) -> Holder:
        holder = Holder()
        self.holders.append(weakref.ref(holder))
        return holder

    def unpack(self, holder: Holder) -> Tensor:
        if holder.tensor is None:
            self.refill()
        tensor, holder.tensor = holder.tensor, None
        return tensor

    def refill(self) -> None:
        seen = 0

        def keep(tensor: Tensor) -> Tensor:
            nonlocal seen
            if (holder := self.holders[seen]()) is not None:
                holder.tensor = tensor.detach()
            seen += 1
            if seen == len(self.holders):
                raise Done
            return tensor.detach()

        copies = [_copy(arg) if isinstance(arg, Tensor) else arg for arg in self.args]
        hooks = saved_tensors_hooks(keep, lambda tensor: tensor)
        with torch.random.fork_rng(), torch.enable_grad(), torch.autocast("cpu", *self.autocast), hooks:
            torch.set_rng_state(self.state)
            with contextlib.suppress(Done):
                self.fn(*copies)


def checkpointed_like_torch(fn: Callable[..., Tensor], *args: Any) -> Tensor:
    frame = Frame(fn, args)
    with saved_tensors_hooks(frame.pack, frame.unpack):
        return fn(*args)


RIGHT = [
    checkpointed_with_a_function,
    checkpointed_in_a_closure,
    checkpointed_with_hooks,
    checkpointed_like_torch,
]
