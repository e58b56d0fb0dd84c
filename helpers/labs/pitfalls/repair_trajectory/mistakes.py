"""What people write for 10.repair_trajectory, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.labs.pitfalls.repair_trajectory.exercise import (
    GRAPH,
    LEFT,
    LIST,
    MEMORY,
    POSITIONS,
    repair_trajectory,
)
from helpers.labs.pitfalls.shared.repairs import add_pitfalls


def broken(have: set[str]) -> Callable[[Tensor, Tensor, int], list[Tensor]]:
    """The text's code with some of its pitfalls."""
    default: list[Tensor] = []

    def trajectory(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
        path = default if "default_list" in have else []
        position = start.detach() if "start_overwritten" in have else start.detach().clone()
        for _ in range(steps):
            position += velocity
            path.append(position if "one_tensor_many_times" in have else position.clone())
        return path

    return trajectory


add_pitfalls(
    repair_trajectory,
    broken,
    {
        "one_tensor_many_times": (
            "All entries of the list are the last position. append stores a reference: perhaps `+=` goes on writing into "
            "the one tensor that the list holds many times. Append a clone, or `position = position + velocity`.",
            MEMORY,
        ),
        "start_overwritten": (
            "After the call start holds the last position. Perhaps detach() was taken for a copy: it is a new tensor over "
            "the same memory, and `+=` writes into that. detach().clone() copies.",
            LEFT,
        ),
        "default_list": (
            "The second call goes on with the list of the first. Perhaps by `path=[]`: a default value is made once, when "
            "`def` runs, and is one list for all calls.",
            LIST,
        ),
    },
)


@repair_trajectory.variant("one_tensor_many_times")
def _(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    path = [start.detach().clone()] * steps
    for position in path:
        position += velocity
    return path


@repair_trajectory.variant("one_tensor_many_times")
def _(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    path, position = [], start.detach().contiguous()
    for _ in range(steps):
        position += velocity
        path.append(position)
    return path


@repair_trajectory.variant("start_overwritten")
def _(start: Tensor, velocity: Tensor, steps: int, path: list[Tensor] | None = None) -> list[Tensor]:
    path = [] if path is None else path
    for _ in range(steps):
        path.append(start.data.add_(velocity).clone())
    return path


@repair_trajectory.mistake(breaks=LEFT)
def contiguous_is_no_copy(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    """A start that is contiguous holds the last position after the call, and a column of a matrix does not. Perhaps
    contiguous() or reshape was taken for a copy: it copies only what it must.
    """
    path, position = [], start.detach().contiguous()
    for _ in range(steps):
        position += velocity
        path.append(position.clone())
    return path


@repair_trajectory.variant(contiguous_is_no_copy)
def _(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    path, position = [], start.detach().reshape(start.shape).contiguous()
    for _ in range(steps):
        path.append(position.add_(velocity).clone())
    return path


@repair_trajectory.mistake(breaks=LEFT)
def velocity_overwritten(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    """After the call velocity holds other numbers. Perhaps by `velocity.mul_(step)` or `velocity += ...`: the copy of
    start does not protect the other argument.
    """
    once, path = velocity.clone(), []
    for _ in range(steps):
        path.append(start.detach() + velocity)
        velocity += once
    return path


@repair_trajectory.mistake(breaks=GRAPH)
def graph_kept(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    """A position has a graph where start requires grad: a path that is kept for a plot keeps every graph alive.
    Perhaps start was cloned and not detached: clone() stays in the graph, detach() shares the data.
    """
    path, position = [], start.clone()
    for _ in range(steps):
        position = position + velocity
        path.append(position)
    return path


@repair_trajectory.mistake(breaks=POSITIONS)
def start_included(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    """The list has one entry too many: it begins with start. The path begins behind the first step."""
    return [start.detach() + step * velocity for step in range(steps + 1)]


@repair_trajectory.mistake(breaks=POSITIONS)
def one_step_early(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    """The list begins with start, and the last position is missing. Perhaps a position is stored before it is moved."""
    return [start.detach() + step * velocity for step in range(steps)]


@repair_trajectory.mistake(breaks="Returns a list of `steps` tensors")
def stacked(start: Tensor, velocity: Tensor, steps: int) -> Tensor:
    """One tensor came back, and a list of tensors was asked for: append and extend do not know it. Perhaps by stack,
    or by one product for all steps.
    """
    return start.detach() + torch.arange(1, steps + 1).unsqueeze(1) * velocity


@repair_trajectory.mistake(breaks=MEMORY)
def views_of_one_storage(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    """The positions are right, and views of one storage: a write into one is not seen in others, but whoever keeps
    one keeps all. Perhaps one tensor was computed for all steps, and cut by unbind, split or list().
    """
    counts = torch.arange(1, steps + 1, dtype=start.dtype).reshape(-1, *[1] * start.ndim)
    return list((start.detach() + counts * velocity.detach()).unbind())


@repair_trajectory.mistake(breaks=GRAPH)
def velocity_in_the_graph(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    """A position has a graph where velocity requires grad. Perhaps only start is detached."""
    return [start.detach() + step * velocity for step in range(1, steps + 1)]


@repair_trajectory.mistake(breaks=POSITIONS)
def vectors_only(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    """Points that are vectors are right, and those of a different shape are an error or others. Perhaps the steps are
    multiplied as a column, which lines up with vectors only.
    """
    counts = torch.arange(1, steps + 1, dtype=start.dtype)[:, None]
    return [position.clone() for position in (start + counts * velocity).detach()]


@repair_trajectory.mistake(breaks="of the dtype of start")
def float64_comes_out(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    """From float32 a float64 comes out. Perhaps the steps are a float64 tensor, or come from NumPy."""
    counts = [torch.full_like(start, step, dtype=torch.float64) for step in range(1, steps + 1)]
    return [(start + count * velocity).detach() for count in counts]
