"""Right answers to three exercises of lab 03, in different shapes: an engine, a gradient penalty, checkpointing."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import weakref
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import Node, get_gradient_edge, saved_tensors_hooks

from helpers.labs.autograd.nodes import call_node


def engine_with_a_stack(root: Tensor, grad_out: Tensor) -> dict[Tensor, Tensor]:
    """The plain answer: count, then call what is ready."""
    edge = get_gradient_edge(root)
    missing: Counter[Node] = Counter()
    buffers: dict[Node, list] = {edge.node: [None] * len(edge.node._input_metadata)}
    stack = [edge.node]
    while stack:
        for node, _ in stack.pop().next_functions:
            if node is None:
                continue
            missing[node] += 1
            if node not in buffers:
                buffers[node] = [None] * len(node._input_metadata)
                stack.append(node)
    buffers[edge.node][edge.output_nr] = grad_out

    ready, gradients = [edge.node], {}
    with torch.no_grad():
        while ready:
            node = ready.pop()
            arrived = buffers.pop(node)
            if hasattr(node, "variable"):
                if arrived[0] is not None:
                    gradients[node.variable] = arrived[0]
                continue
            for (after, slot), grad in zip(node.next_functions, call_node(node, arrived), strict=True):
                if after is None:
                    continue
                if grad is not None:
                    wanted = after._input_metadata[slot]
                    grad = grad.sum_to_size(wanted.shape).to(wanted.dtype)
                    before = buffers[after][slot]
                    buffers[after][slot] = grad if before is None else before + grad
                missing[after] -= 1
                if missing[after] == 0:
                    ready.append(after)
    return gradients


@torch.no_grad()
def engine_in_topological_order(root: Tensor, grad_out: Tensor) -> dict[Tensor, Tensor]:
    """Sorts the whole graph first, with a stack of its own, and adds up lists of gradients when a node's turn comes."""
    if root.grad_fn is None:
        return {root: grad_out}
    order: list[Node] = []
    entered: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(root.grad_fn, False)]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            order.append(node)
        elif node not in entered:
            entered.add(node)
            stack.append((node, True))
            stack.extend((after, False) for after, _ in node.next_functions if after is not None)
    came: dict[tuple[Node, int], list[Tensor]] = defaultdict(list)
    came[root.grad_fn, root.output_nr].append(grad_out)
    found = {}
    for node in reversed(order):
        grads = [_total(came.pop((node, slot), [])) for slot in range(len(node._input_metadata))]
        if type(node).__name__ == "AccumulateGrad":
            if grads[0] is not None:
                found[node.variable] = grads[0]
            continue
        for (after, slot), grad in zip(node.next_functions, call_node(node, grads), strict=True):
            if after is not None and grad is not None:
                came[after, slot].append(_fitted(grad, after._input_metadata[slot]))
    return found


def _total(grads: list[Tensor]) -> Tensor | None:
    """Adds in place, into a copy of its own."""
    if not grads:
        return None
    total = grads[0]
    for place, grad in enumerate(grads[1:]):
        total = total + grad if place == 0 else total.add_(grad)
    return total


def _fitted(grad: Tensor, wanted: Any) -> Tensor:
    """sum_to_size by hand."""
    extra = grad.ndim - len(wanted.shape)
    grad = grad.sum(tuple(range(extra))) if extra else grad
    ones = [dim for dim, size in enumerate(wanted.shape) if size == 1 and grad.shape[dim] != 1]
    grad = grad.sum(ones, keepdim=True) if ones else grad
    return grad if grad.dtype == wanted.dtype else grad.to(wanted.dtype)


class EngineLikeTorchs:
    """A heap of ready nodes, the latest made first; leaves at once, as torch does it. A class with its own state."""

    def __init__(self, root: Tensor) -> None:
        self.edge = get_gradient_edge(root)
        self.missing: dict[Node, int] = {}
        self.slots: dict[Node, list[Tensor | None]] = {}
        self.ready: list[tuple[int, int, Node]] = []
        self.pushed = 0
        waiting = deque([self.edge.node])
        self._meet(self.edge.node)
        while waiting:
            for node, _ in waiting.popleft().next_functions:
                if node is not None:
                    if self._meet(node):
                        waiting.append(node)
                    self.missing[node] += 1

    def _meet(self, node: Node) -> bool:
        if node in self.slots:
            return False
        self.missing[node], self.slots[node] = 0, [None for _ in node._input_metadata]
        return True

    def _push(self, node: Node) -> None:
        self.pushed += 1
        heapq.heappush(self.ready, (-node._sequence_nr(), self.pushed, node))

    def _send(self, node: Node, slot: int, grad: Tensor | None) -> None:
        if grad is not None:
            meta, here = node._input_metadata[slot], self.slots[node]
            grad = grad.sum_to_size(tuple(meta.shape)).to(meta.dtype)
            here[slot] = torch.add(here[slot], grad) if here[slot] is not None else grad
        self.missing[node] -= 1
        if not self.missing[node]:
            self._push(node)

    def run(self, grad_out: Tensor) -> dict[Tensor, Tensor]:
        found: dict[Tensor, Tensor] = {}
        self.missing[self.edge.node] += 1
        self._send(self.edge.node, self.edge.output_nr, grad_out)
        while self.ready:
            *_, node = heapq.heappop(self.ready)
            grads = self.slots.pop(node)
            if hasattr(node, "variable"):
                found |= {node.variable: grads[0]} if grads[0] is not None else {}
                continue
            for (after, slot), grad in zip(node.next_functions, call_node(node, grads), strict=True):
                if after is not None:
                    self._send(after, slot, grad)
        return found


def engine_like_torchs(root: Tensor, grad_out: Tensor) -> dict[Tensor, Tensor]:
    was_enabled = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    try:
        return EngineLikeTorchs(root).run(grad_out)
    finally:
        torch.set_grad_enabled(was_enabled)


def penalty_by_grad(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The plain answer."""
    grads = torch.autograd.grad(loss, params, create_graph=True, allow_unused=True)
    return sum((grad.square().sum() for grad in grads if grad is not None), loss.new_zeros(()))


def penalty_with_zeros(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """Zeros where there is no gradient, all in one vector, its product with itself."""
    grads = torch.autograd.grad(loss, tuple(params), create_graph=True, materialize_grads=True)
    flat = torch.cat([grad.reshape(-1) for grad in grads])
    return flat @ flat


def penalty_with_foreach(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """foreach functions, and a loop with the stop at nothing."""
    found = torch.autograd.grad([loss], list(params), create_graph=True, retain_graph=True, allow_unused=True)
    used = [grad for grad in found if grad is not None]
    if not used:
        return torch.zeros((), dtype=loss.dtype, device=loss.device)
    return torch.stack([square.sum() for square in torch._foreach_mul(used, used)]).sum()


def penalty_one_by_one(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """A call of grad for each parameter; also when the caller has turned gradients off."""
    penalty = torch.zeros_like(loss, requires_grad=False)
    with torch.enable_grad():
        for param in params:
            (grad,) = torch.autograd.grad(loss, param, create_graph=True, allow_unused=True)
            if grad is not None:
                penalty = penalty + torch.einsum("i,i->", grad.flatten(), grad.flatten())
    return penalty


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


RIGHT = {
    "03.run_backward": [engine_with_a_stack, engine_in_topological_order, engine_like_torchs],
    "03.gradient_penalty": [penalty_by_grad, penalty_with_zeros, penalty_with_foreach, penalty_one_by_one],
    "03.checkpointed": [
        checkpointed_with_a_function,
        checkpointed_in_a_closure,
        checkpointed_with_hooks,
        checkpointed_like_torch,
    ],
}
