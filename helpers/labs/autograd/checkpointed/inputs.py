"""What the properties of 03.checkpointed share: a function worth checkpointing, and a look at what is kept of it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from helpers.check.garbage import only_new_garbage
from helpers.check.trial import Trial

Checkpointed = Callable[..., Tensor]

RNG = ("torch RNG",)

LAYERS = 6
DROPOUT = 0.2


def made(trial: Trial, *shape: int, requires_grad: bool = True) -> Tensor:
    values = torch.randn(shape, generator=trial.generator, dtype=torch.float64)
    return values.requires_grad_(requires_grad)


class Layers:
    """fn: six layers x -> dropout(leaky_relu(x * w + b)). It notes each call, and what became of its intermediates."""

    def __init__(self, trial: Trial, dropout: float = 0.0, width: int = 4) -> None:
        self.weights = [
            made(trial, width) for _ in range(LAYERS)
        ]  # no matmul, no tanh: threads would cost more than they do
        self.dropout = dropout
        self.calls = 0
        self.states: list[Tensor] = []  # torch's generator at the beginning of each call
        self.fails_at, self.error = 0, Boom
        self.storages: list[list[StorageWeakRef]] = []  # of the intermediates, for each call
        self.results: list[StorageWeakRef] = []

    def __call__(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        self.calls += 1
        self.states.append(torch.get_rng_state())
        storages: list[StorageWeakRef] = []
        self.storages.append(storages)
        for weight in self.weights:
            x = torch.nn.functional.leaky_relu(x * weight if bias is None else x * weight + bias, 0.3)
            storages.append(StorageWeakRef(x.untyped_storage()))
            if self.dropout:
                x = torch.nn.functional.dropout(x, self.dropout)
                storages.append(StorageWeakRef(x.untyped_storage()))
            if self.calls == self.fails_at:
                raise self.error("from the second run of fn")
        x = x * 2
        self.results.append(StorageWeakRef(x.untyped_storage()))
        return x

    def results_living(self) -> list[bool]:
        """For each call so far whether its result still has its memory."""
        if not all(result.expired() for result in self.results):
            gc.collect()
        return [not result.expired() for result in self.results]

    def living(self) -> int:
        """How many intermediates of all calls so far still have their memory; what only a cycle holds is let go."""
        if self._count():
            gc.collect()
        return self._count()

    def _count(self) -> int:
        return sum(not storage.expired() for storages in self.storages for storage in storages)


class Boom(Exception):
    """What fn raises in the check."""


class Setting:
    """fn with its inputs, the same numbers each time: two of them make the run with and the one without."""

    def __init__(self, seed: int, dropout: float = 0.0, rows: int = 8, width: int = 4) -> None:
        trial = Trial(seed)
        self.fn = Layers(trial, dropout, width)
        self.leaf = made(trial, rows, width)
        self.bias = torch.nn.Parameter(
            made(trial, width, requires_grad=False)
        )  # a tensor of a class of its own
        self.x = self.leaf * 1.5  # no leaf: what comes from a layer before
        self.grad_out = made(trial, rows, width, requires_grad=False)

    def backward(self, out: Tensor, grad_out: Tensor | None = None) -> None:
        """As out.backward(grad_out), which imports sympy, 0.3 s in each fresh process."""
        (out * (self.grad_out if grad_out is None else grad_out)).sum().backward()

    def grads(self) -> dict[str, Tensor | None]:
        """The gradients after a backward, by the name of the tensor."""
        named = {"x": self.leaf, "bias": self.bias}
        named |= {f"weight {at}": weight for at, weight in enumerate(self.fn.weights)}
        return {name: each.grad for name, each in named.items()}


def forward(answer: Checkpointed, trial: Trial, setting: Setting) -> Tensor:
    """The answer's result; wrong if it is no tensor that needs a gradient."""
    out = trial.call(answer, setting.fn, setting.x, setting.bias)
    what = "None" if out is None else f"an object of type {type(out).__name__}"
    trial.true(
        isinstance(out, Tensor),
        f"checkpointed(fn, x, bias) returned {what}; fn returned a tensor.",
        expected="what fn returned",
        observed=("type", type(out).__name__),
    )
    trial.true(
        out.requires_grad,
        "The result does not require grad: the way back to the inputs is cut off.",
        expected="a result with a grad_fn",
        observed="no grad",
    )
    return out


def kind_of_grad(got: Tensor | None, want: Tensor, with_ones: Tensor) -> str:
    """What a gradient is, in a word. with_ones: what it would be if grad_out were all ones."""
    if not isinstance(got, Tensor):
        return "missing"
    if got.shape != want.shape or got.dtype != want.dtype:
        return "of a different form"
    for name, each in (("right", want), ("doubled", 2 * want), ("for a grad_out of ones", with_ones)):
        if torch.allclose(got, each, rtol=1e-9, atol=1e-12):
            return name
    return "zero" if not got.any() else "another one"


@contextmanager
def young_garbage() -> Iterator[None]:
    """In the block gc.collect() looks at the objects that are made there, and at no others, as often as it is called.

    A collection of everything would take some 100 ms with torch loaded.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        with only_new_garbage():
            yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def saved_bytes(*known: Tensor) -> Iterator[dict[int, int]]:
    """Yields the bytes by storage of all tensors that autograd saves meanwhile, without those of `known`."""
    ours = {each.untyped_storage().data_ptr() for each in known}
    saved: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in ours and tensor.dtype != torch.uint8:  # uint8: the generator's state
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield saved


def reference(
    seed: int, grad_out: Tensor | None = None, dropout: float = 0.0
) -> tuple[Tensor, dict[str, Tensor]]:
    """Result and gradients without checkpointing. grad_out: all ones, unless the setting's own is wanted."""
    setting = Setting(seed, dropout)
    out = setting.fn(setting.x, setting.bias)
    setting.backward(out, grad_out)
    return out.detach(), setting.grads()


def judged_grads(trial: Trial, setting: Setting, want: dict, ones: dict) -> dict[str, str]:
    """What is wrong with the gradients: by the name of the tensor; the weights count as one."""
    kinds = {name: kind_of_grad(got, want[name], ones[name]) for name, got in setting.grads().items()}
    weights = sorted({kind for name, kind in kinds.items() if name.startswith("weight")})
    found = {"x": kinds["x"], "bias": kinds["bias"], "fn's own parameters": " or ".join(weights)}
    return {name: kind for name, kind in found.items() if kind != "right"}
