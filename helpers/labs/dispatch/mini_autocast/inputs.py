"""What the properties of 12.mini_autocast look with: functions that tell what they were given, casts that are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import handle_torch_function, has_torch_function
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from helpers.check.compare import difference
from helpers.check.trial import Trial

LOWER = ("linear", "mm", "matmul", "bmm", "addmm")
HIGHER = ("mse_loss", "smooth_l1_loss")


@dataclass(frozen=True)
class Given:
    """What a function got."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def telling(name: str) -> Callable[..., Given]:
    """A function of this name, which modes see like one of torch's, and which returns what it was given."""

    def tells(*args: Any, **kwargs: Any) -> Given:
        tensors = tuple(each for each in pytree.tree_leaves((args, kwargs)) if isinstance(each, Tensor))
        if has_torch_function(tensors):
            return handle_torch_function(tells, tensors, *args, **kwargs)
        return Given(args, kwargs)

    tells.__name__ = tells.__qualname__ = name
    return tells


def made(answer: Any, dtype: torch.dtype = torch.bfloat16, *more: str) -> Any:
    """An object with the table of torch's autocast, as far as it is used here, and more names of `lower`."""
    return answer(dtype, {*LOWER, *more}, set(HIGHER))


def drawn(trial: Trial, *shape: int) -> Tensor:
    """float32 numbers from 1 to 2, which bfloat16 and float16 round; half of them negative."""
    size = torch.rand(shape, generator=trial.generator) + 1
    sign = torch.randint(0, 2, shape, generator=trial.generator) * 2 - 1
    return size * sign


def leaf(trial: Trial, *shape: int) -> Tensor:
    """A leaf that requires grad, of such numbers."""
    return drawn(trial, *shape).requires_grad_()


@contextmanager
def casts(like: Tensor, dtype: torch.dtype = torch.bfloat16) -> Iterator[list[str]]:
    """Yields the list of the operations that make a tensor of `dtype` of a float32 one, both of the shape of `like`.

    Those that only make memory (`empty_like`, `new_zeros`) take no number of it, and do not count.
    """
    found: list[str] = []
    with _Casts(tuple(like.shape), dtype, found):
        yield found


class _Casts(TorchDispatchMode):
    def __init__(self, shape: tuple[int, ...], dtype: torch.dtype, found: list[str]) -> None:
        super().__init__()
        self.shape, self.dtype, self.found = shape, dtype, found

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = self._kinds((args, kwargs))
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        is_made = name.startswith(("empty", "new_")) or name.endswith("_like")
        if torch.float32 in given and self.dtype in self._kinds(result) and not is_made:
            self.found.append(name)
        return result

    def _kinds(self, values: Any) -> set[torch.dtype]:
        """The dtypes of the tensors of that shape."""
        return {
            each.dtype
            for each in pytree.tree_leaves(values)
            if isinstance(each, Tensor) and tuple(each.shape) == self.shape
        }


def other_than(given: list[Tensor], to: list[torch.dtype], got: Any) -> list[tuple[str, str, str]]:
    """Of each tensor that came otherwise than it is to: what it is, what it is to be, and what came."""
    found = []
    for each, dtype, one in zip(given, to, got, strict=True):
        is_right = one is each if dtype == each.dtype else alike(one, each.detach().to(dtype))
        if not is_right:
            kind = short(each.dtype) + (", a leaf that requires grad" if each.requires_grad else "")
            came = short(one.dtype) if isinstance(one, Tensor) else type(one).__name__
            found.append((kind, "the tensor itself" if dtype == each.dtype else short(dtype), came))
    return found


def short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def same(trial: Trial, got: Any, want: Tensor, what: str, why: str, key: Any) -> None:
    """Wrong unless `got` is `want`, bit for bit, its dtype first. why: what a teacher says. key: tells the place."""
    is_tensor = isinstance(got, Tensor)
    if is_tensor and got.dtype != want.dtype:
        trial.fail(
            f"{what} has the dtype {short(got.dtype)}. {why}",
            expected=short(want.dtype),
            got=short(got.dtype),
            observed=(key, short(got.dtype)),
        )
    if found := difference(got, want, rtol=0, atol=0):
        trial.fail(
            f"{what}: {found.sentence}{'' if found.sentence[-1] in '.?' else '.'} {why}",
            expected=want,
            got=got if is_tensor else type(got).__name__,
            observed=(key, found.kind),
        )


def once(trial: Trial, found: list[str], times: str, key: Any, wanted: int = 1) -> None:
    """Wrong if there were more casts than one."""
    trial.true(
        len(found) <= wanted,
        f"The leaf was cast {len(found)} times. {times}",
        expected="one cast" if wanted == 1 else f"{wanted} casts",
        got=f"{len(found)} casts",
        observed=("casts", key, len(found)),
    )


def backward(trial: Trial, result: Tensor, up: Tensor | None = None) -> None:
    """The backward of a result, outside the answer."""
    trial.true(
        isinstance(result, Tensor) and result.requires_grad,
        "The result does not require grad: no gradient can go back to the leaf. Perhaps the cast was made of a detached "
        "tensor, or under no_grad.",
        expected="a result with a way back to the leaf",
        got="requires_grad=False",
        observed="no way back",
    )
    result.backward(torch.ones_like(result) if up is None else up)


def compare_gradients(trial: Trial, names: Any, got: Any, want: Any, why: str, key: str) -> None:
    for name, one, other in zip(names, got, want, strict=True):
        trial.true(
            one is not None,
            f"{name} got no gradient. {why}",
            expected=other,
            got="None",
            observed=("no gradient", key, name),
        )
        same(trial, one, other, f"The gradient of {name}", why, ("gradient", key, name))


def alike(one: Any, other: Tensor) -> bool:
    return isinstance(one, Tensor) and one.dtype == other.dtype and torch.equal(one.detach(), other)


def used(block: Any, tells: Any, w: Tensor, grad: bool, error: bool | None) -> StorageWeakRef:
    """The memory of the cast that a function got in a block, as a weak reference."""
    memory: list[StorageWeakRef] = []
    try:
        with block:
            if error is None:
                with block:
                    tells(w)
            with torch.set_grad_enabled(grad):
                got = tells(w).args[0]
            memory.append(StorageWeakRef(got.untyped_storage()))
            del got
            if error:
                raise KeyError("on purpose")
    except KeyError:
        pass
    return memory[0]
