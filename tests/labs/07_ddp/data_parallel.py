"""Right answers to 07.data_parallel, in different shapes."""

from __future__ import annotations

import contextvars
import copy
import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function


# The plain answer: a deep copy that keeps the parameters, threads, a dict of results.
def scatter(x: Any, n: int) -> list[Any]:
    return list(x.chunk(n)) if isinstance(x, Tensor) else [x] * n


def replicate(module: nn.Module, n: int) -> list[nn.Module]:
    keep = {id(param): param for param in module.parameters()}
    return [copy.deepcopy(module, dict(keep)) for _ in range(n)]


def parallel_apply(mods: list[nn.Module], inputs: list[Any], kwargs: list[dict[str, Any]]) -> list[Any]:
    results: dict[int, Any] = {}
    errors: dict[int, Exception] = {}
    grad_enabled = torch.is_grad_enabled()

    def run(place: int) -> None:
        try:
            with torch.set_grad_enabled(grad_enabled):
                results[place] = mods[place](inputs[place], **kwargs[place])
        except Exception as error:
            errors[place] = error

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(mods))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[min(errors)]
    return [results[place] for place in range(len(mods))]


def gather(outs: list[Tensor]) -> Tensor:
    return torch.stack(outs) if outs[0].dim() == 0 else torch.cat(outs)


def data_parallel(module: nn.Module, x: Tensor, n: int, **kw: Any) -> Tensor:
    pieces = scatter(x, n)
    parts = {name: scatter(value, len(pieces)) for name, value in kw.items()}
    kwargs = [{name: part[place] for name, part in parts.items()} for place in range(len(pieces))]
    return gather(parallel_apply(replicate(module, len(pieces)), pieces, kwargs))


# As torch does it: broadcast as an autograd Function, replicas whose parameters are no leaves, futures.
class Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, n: int, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.size = len(tensors)
        return tuple(tensor.clone() for _ in range(n) for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return None, *(sum(grads[place :: ctx.size]) for place in range(ctx.size))


def replicate_as_torch(module: nn.Module, n: int) -> list[nn.Module]:
    modules, params = list(module.modules()), list(module.parameters())
    place_of = {id(param): place for place, param in enumerate(params)}
    copies = Broadcast.apply(n, *params)
    replicas = []
    for rank in range(n):
        own = copies[rank * len(params) : (rank + 1) * len(params)]
        new = {id(each): each._replicate_for_data_parallel() for each in modules}
        for each in modules:
            twin = new[id(each)]
            for name, child in each._modules.items():
                twin._modules[name] = None if child is None else new[id(child)]
            for name, param in each._parameters.items():
                if param is None:
                    twin._parameters[name] = None
                else:
                    setattr(twin, name, own[place_of[id(param)]])
            for name, buffer in each._buffers.items():
                twin._buffers[name] = buffer if rank == 0 or buffer is None else buffer.clone()
        replicas.append(new[id(module)])
    return replicas


def apply_by_futures(mods: Any, inputs: Any, kwargs: Any) -> list[Any]:
    mode = torch.is_grad_enabled()

    def run(mod: Any, x: Any, kw: Any) -> Any:
        torch.set_grad_enabled(mode)
        return mod(x, **kw)

    with ThreadPoolExecutor(len(mods)) as pool:
        return list(pool.map(run, mods, inputs, kwargs))


def gather_of_at_least_one(outs: list[Tensor]) -> Tensor:
    return torch.cat([out.reshape(1) if out.dim() == 0 else out for out in outs], dim=0)


def scatter_as_tuple(x: Any, n: int) -> tuple[Any, ...]:
    if torch.is_tensor(x):
        return torch.chunk(x, n, dim=0)
    return tuple(x for _ in range(n))


def whole_as_torch(module: nn.Module, x: Tensor, n: int, **kw: Any) -> Tensor:
    xs = scatter_as_tuple(x, n)
    if len(xs) == 1:
        return gather_of_at_least_one([module(x, **kw)])
    split = [scatter_as_tuple(value, n) for value in kw.values()]
    kwargs = [dict(zip(kw, values, strict=True)) for values in zip(*split, strict=False)] or [{}] * len(xs)
    return gather_of_at_least_one(
        apply_by_futures(replicate_as_torch(module, len(xs)), xs, kwargs[: len(xs)])
    )


# functional_call on a skeleton of one's own; the last piece runs in the caller's thread.
class Replica(nn.Module):
    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.skeleton = copy.deepcopy(module)
        self.state = dict(module.named_parameters(remove_duplicate=False))

    def forward(self, *args: Any, **kw: Any) -> Any:
        return torch.func.functional_call(self.skeleton, self.state, args, kw)


def replicate_functional(module: nn.Module, n: int) -> list[nn.Module]:
    return [Replica(module) for _ in range(n)]


def scatter_by_rows(x: Any, n: int) -> list[Any]:
    if not isinstance(x, Tensor):
        return [x for _ in range(n)]
    rows = -(-len(x) // n)
    return [x[start : start + rows] for start in range(0, len(x), rows)]


def apply_with_the_last_one_here(mods: Any, inputs: Any, kwargs: Any) -> list[Any]:
    done: queue.Queue[Any] = queue.Queue()
    context, mode = contextvars.copy_context(), torch.is_grad_enabled()

    def run(place: int) -> None:
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(mode)
        try:
            done.put((place, True, mods[place](inputs[place], **kwargs[place])))
        except BaseException as error:
            done.put((place, False, error))
        finally:
            torch.set_grad_enabled(before)

    *first, last = range(len(mods))
    threads = [threading.Thread(target=context.copy().run, args=(run, place)) for place in first]
    [thread.start() for thread in threads]
    run(last)
    [thread.join() for thread in threads]
    results = sorted((done.get() for _ in mods), key=lambda each: each[0])
    for _, fine, result in results:
        if not fine:
            raise result
    return [result for _, _, result in results]


def gather_flat(outs: list[Tensor]) -> Tensor:
    return torch.cat(list(map(torch.atleast_1d, outs)))


def whole_functional(module: nn.Module, x: Tensor, n: int, **kw: Any) -> Tensor:
    xs = scatter_by_rows(x, n)
    kwargs = [
        {name: scatter_by_rows(value, n)[place] for name, value in kw.items()} for place in range(len(xs))
    ]
    return gather_flat(apply_with_the_last_one_here(replicate_functional(module, len(xs)), xs, kwargs))


# Copies of the skeleton by recursion; replicas beyond the pieces have nothing to do.
def skeleton(of: nn.Module) -> nn.Module:
    new = of.__new__(type(of))
    new.__dict__ = {**of.__dict__, "_parameters": dict(of._parameters)}
    new._buffers = {name: None if buffer is None else buffer.clone() for name, buffer in of._buffers.items()}
    new._modules = {name: None if child is None else skeleton(child) for name, child in of._modules.items()}
    return new


def replicate_skeletons(module: nn.Module, n: int) -> list[nn.Module]:
    return [skeleton(module) for _ in range(n)]


class Worker(threading.Thread):
    def __init__(self, mod: Any, x: Any, kw: Any) -> None:
        super().__init__()
        self.call, self.mode = (mod, x, kw), torch.is_grad_enabled()
        self.out = self.error = None

    def run(self) -> None:
        mod, x, kw = self.call
        try:
            with torch.set_grad_enabled(self.mode):
                self.out = mod(x, **kw)
        except Exception as error:
            self.error = error


def apply_by_workers(mods: Any, inputs: Any, kwargs: Any) -> list[Any]:
    workers = [Worker(*each) for each in zip(mods, inputs, kwargs, strict=False)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if error := next((worker.error for worker in workers if worker.error), None):
        raise error
    return [worker.out for worker in workers]


def whole_with_idle_replicas(module: nn.Module, x: Tensor, n: int, **kw: Any) -> Tensor:
    replicas, xs = replicate_skeletons(module, n), scatter(x, n)
    kws = [{} for _ in xs]
    for name, value in kw.items():
        for own, part in zip(kws, scatter(value, n), strict=False):
            own[name] = part
    return gather(apply_by_workers(replicas, xs, kws))


RIGHT = [
    (scatter, replicate, parallel_apply, gather, data_parallel),
    (scatter_as_tuple, replicate_as_torch, apply_by_futures, gather_of_at_least_one, whole_as_torch),
    (
        scatter_by_rows,
        replicate_functional,
        apply_with_the_last_one_here,
        gather_flat,
        whole_functional,
    ),
    (scatter, replicate_skeletons, apply_by_workers, gather, whole_with_idle_replicas),
]
