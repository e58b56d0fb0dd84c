"""What the checks of attention by blocks share: what an answer calls, which products it makes, and what memory."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from helpers.check.calls import calls_to
from helpers.check.operations import Operation, operations
from helpers.check.trial import Trial

ATTENTION = (
    F.scaled_dot_product_attention,
    F.multi_head_attention_forward,
    nn.MultiheadAttention,
    torch._scaled_dot_product_attention_math,
)
# Operations that multiply matrices, with the place of the first of the two factors.
PRODUCTS = {"mm": 0, "bmm": 0, "mv": 0, "dot": 0, "addmm": 1, "baddbmm": 1, "addbmm": 1, "addmv": 1}


def randn(trial: Trial, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Normal numbers, contiguous."""
    return torch.randn(shape, generator=trial.generator, dtype=torch.float64).to(dtype)


def strided(tensor: Tensor) -> Tensor:
    """The same numbers, laid out as (B, L, H, D): what a projection and a transpose give; its last dimension has a gap."""
    batch, heads, length, width = tensor.shape
    memory = tensor.new_zeros(batch, length, heads, 2 * width)
    memory[..., ::2] = tensor.transpose(1, 2)
    return memory[..., ::2].transpose(1, 2)


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """softmax(q @ k.transpose(-2, -1) / sqrt(D)) @ v in float64."""
    q, k, v = (each.detach().double() for each in (q, k, v))
    return (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1) @ v


def require_own_work(trial: Trial, run: Callable[[], Any]) -> None:
    """Wrong if attention of torch's runs inside, by whatever name. What an answer raises is for other properties to tell."""
    with operations() as ran, calls_to(*ATTENTION) as seen, contextlib.suppress(Exception):
        run()
    kernels = [each.name for each in ran if "attention" in each.name]
    trial.true(
        not seen and not kernels,
        "The answer calls torch's own attention, which is what this exercise builds.",
        expected="products, exponents and sums of your own",
        got=", ".join(sorted({*seen, *kernels})),
        observed="attention of torch's",
    )


def multiplications(ran: list[Operation]) -> int:
    """How many pairs of numbers all products of matrices multiply."""
    return sum(prod(a) * (b[-1] if len(b) > 1 else 1) for a, b in factors(ran))


def factors(ran: list[Operation]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The shapes of the two factors of each product of matrices."""
    return [
        (each.shapes[at], each.shapes[at + 1])
        for each in ran
        if (at := PRODUCTS.get(each.name)) is not None and len(each.shapes) > at + 1
    ]


def other_than(ran: list[Operation], *sides: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The shapes of the factors of the products in which no side is one of these."""
    return [pair for pair in factors(ran) if not {*sides} & {side for shape in pair for side in shape[-2:]}]


@contextlib.contextmanager
def living_memory() -> Iterator[Living]:
    """Yields what tells of the memory that is made in the block and lives."""
    living = Living()
    with living:
        yield living


class Living(TorchDispatchMode):
    """Notes memory that operations make, without keeping it.

    most: how many bytes of it lived at one time, at most.
    """

    def __init__(self) -> None:
        super().__init__()
        self.made: list[tuple[int, StorageWeakRef, int, int]] = []  # its place, itself, its bytes and numbers
        self.most = 0

    def numbers(self, *known: Tensor) -> int:
        """How many numbers the memory holds that lives now, that of `known` tensors left out."""
        left_out = {_memory(each) for each in known}
        return sum(many for at, ref, _, many in self.made if at not in left_out and not ref.expired())

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = {_memory(each) for each in pytree.tree_leaves((args, kwargs)) if isinstance(each, Tensor)}
        result = func(*args, **(kwargs or {}))
        self.made = [each for each in self.made if not each[1].expired()]
        for each in pytree.tree_leaves(result):
            if isinstance(each, Tensor) and (at := _memory(each)) not in given:
                given.add(at)
                memory = each.untyped_storage()
                size = memory.nbytes()
                self.made.append((at, StorageWeakRef(memory), size, size // each.element_size()))
        self.most = max(self.most, sum(size for _, _, size, _ in self.made))
        return result


def _memory(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata
