"""A right answer to 11.reshape in steps, of which each mistake replaces one."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

Shape = tuple[int, ...]
Answer = Callable[[Tensor, Shape], Tensor]


def has_view(t: Tensor, shape: Shape) -> bool:
    try:
        t.detach().view(shape)
    except RuntimeError:
        return False
    return True


def viewed(t: Tensor, shape: Shape) -> Tensor:
    return t.view(shape)


def copied(t: Tensor, shape: Shape) -> Tensor:
    """A copy; RuntimeError where the shape is wrong."""
    return t.contiguous().view(shape)


def answer(
    *,
    possible: Callable[[Tensor, Shape], bool] = has_view,
    view: Callable[[Tensor, Shape], Tensor] = viewed,
    copy: Callable[[Tensor, Shape], Tensor] = copied,
) -> Answer:
    """Right as it stands; a mistake replaces one step."""

    def reshape(t: Tensor, shape: Shape) -> Tensor:
        return view(t, shape) if possible(t, shape) else copy(t, shape)

    return reshape


def by_possible(possible: Callable[[Tensor, Shape], bool]) -> Answer:
    return answer(possible=possible)


def by_view(view: Callable[[Tensor, Shape], Tensor]) -> Answer:
    return answer(view=view)


def by_copy(copy: Callable[[Tensor, Shape], Tensor]) -> Answer:
    return answer(copy=copy)
