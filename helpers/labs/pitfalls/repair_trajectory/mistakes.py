"""What people write for 10.repair_trajectory, and why it is wrong."""

from __future__ import annotations

import functools
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
            "one tensor, or one memory, that the list holds many times. Append a clone, or `position = position + velocity`.",
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
    Perhaps start was cloned and not detached, or neither: clone() stays in the graph, detach() shares the data.
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


@repair_trajectory.mistake(breaks="of any strides")
def view_of_any_start(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    """A start that is a transpose is an error, and vectors are right. Perhaps view(-1) flattens it, which needs
    neighbours in memory: reshape copies where it must.
    """
    position, path = start.detach().view(-1).clone(), []
    for _ in range(steps):
        position = position + velocity.detach().reshape(-1)
        path.append(position.view(start.shape))
    return path


@repair_trajectory.mistake(breaks="of any strides")
def written_through_expand(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    """An expanded start is an error. Perhaps a tensor with its strides is written to in place: with stride 0 several
    elements have one place in memory. clone() gives each its own.
    """
    position = torch.empty_strided(start.shape, start.stride(), dtype=start.dtype)
    position.copy_(start.detach())
    return [position + step * velocity.detach() for step in range(1, steps + 1)]


@repair_trajectory.mistake(breaks=LEFT)
def requires_grad_turned_off(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    """After the call the caller's tensors do not require grad any more: nothing trains them from then on. Perhaps
    requires_grad_(False) is to leave the graph out: detach() gives a tensor without it, and leaves the old one.
    """
    start.requires_grad_(False)
    velocity.requires_grad_(False)
    return [start + step * velocity for step in range(1, steps + 1)]


@repair_trajectory.variant(requires_grad_turned_off)
def _(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    start.requires_grad_(False)
    return [(start + step * velocity).detach() for step in range(1, steps + 1)]


@repair_trajectory.mistake(breaks="Returns a list of `steps` tensors")
def one_entry_at_least(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    """For 0 steps there is an entry in the list. Perhaps the loop asks whether it is done only behind the first step."""
    return [(start + step * velocity).detach() for step in range(1, max(steps, 1) + 1)]


_last: list[Tensor] = []


@repair_trajectory.mistake(breaks=LIST)
def one_list_emptied(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    """The second call gives the very list of the first, and what the first gave is lost. Perhaps one list is kept, and
    cleared in each call: make it inside.
    """
    _last.clear()
    _last.extend((start + step * velocity).detach() for step in range(1, steps + 1))
    return _last


@repair_trajectory.mistake(breaks="of the dtype of start")
def float32_comes_out(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    """From float64 a float32 comes out, and half of the digits are lost. Perhaps start is converted by .float()."""
    return [(start + step * velocity).detach().float() for step in range(1, steps + 1)]


@repair_trajectory.mistake(breaks=POSITIONS)
def backwards(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    """The positions are in the wrong order: the last one comes first. Perhaps insert(0, ...) puts each in front."""
    return [(start + step * velocity).detach() for step in range(steps, 0, -1)]


@repair_trajectory.mistake(breaks=LIST)
@functools.lru_cache(maxsize=8)
def list_kept_for_its_arguments(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    """Two calls with the same tensors give one list: who appends to one changes both. Perhaps lru_cache, or a dict, keeps
    the results. A tensor is looked up by which object it is, whatever numbers it holds now.
    """
    return [(start + step * velocity).detach() for step in range(1, steps + 1)]


@functools.lru_cache(maxsize=8)
def _kept(start: Tensor, velocity: Tensor, steps: int) -> tuple[Tensor, ...]:
    return tuple((start + step * velocity).detach() for step in range(1, steps + 1))


@repair_trajectory.mistake(breaks=POSITIONS)
def positions_of_before(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    """After start was moved in place the positions are still those of before. Perhaps lru_cache, or a dict, keeps them:
    a tensor is looked up by which object it is, whatever numbers it holds now.
    """
    return list(_kept(start, velocity, steps))


@repair_trajectory.variant(positions_of_before)
def _(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    return [position.clone() for position in _kept(start, velocity, steps)]


@repair_trajectory.mistake(breaks=LEFT)
@torch.no_grad()
def edited_and_put_back(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    """After the call start differs from before in its last digits. Perhaps it was moved in place, and moved back at the
    end: rounding does not give the old numbers back. Compute new tensors.
    """
    path = []
    for _ in range(steps):
        start += velocity
        path.append(start.clone())
    for _ in range(steps):
        start -= velocity
    return path
