"""What people write for 10.repair_trajectory, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.labs.pitfalls.repair_trajectory.exercise import repair_trajectory
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
            "append stores a reference. `+=` then goes on writing into the one tensor that the list holds many times: "
            "append a clone, or make a new tensor with `position = position + velocity`."
        ),
        "start_overwritten": (
            "detach() gives a new tensor object over the same memory, and `+=` writes into that memory: into the "
            "caller's start. detach().clone() copies; so does an addition that is not in place."
        ),
        "default_list": (
            "A default value is made once, when `def` runs. `path=[]` is one list for all calls, and the second call "
            "goes on where the first one stopped; a default tensor that is edited does the same."
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


@repair_trajectory.mistake()
def contiguous_is_no_copy(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    """contiguous() copies only what is not contiguous. Otherwise it returns the tensor itself, and start is
    edited after all.
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


@repair_trajectory.mistake()
def velocity_overwritten(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    """`velocity.mul_(step)` and `velocity += ...` edit the other argument; the copy of start does not protect
    it.
    """
    once, path = velocity.clone(), []
    for _ in range(steps):
        path.append(start.detach() + velocity)
        velocity += once
    return path


@repair_trajectory.mistake()
def graph_kept(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    """clone() copies the data and stays in the graph; detach() leaves the graph and shares the data. A path
    that is kept for a plot needs both, or it keeps every graph alive.
    """
    path, position = [], start.clone()
    for _ in range(steps):
        position = position + velocity
        path.append(position)
    return path


@repair_trajectory.mistake()
def start_included(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    """The path starts behind the first step: start itself is none of the positions that were asked for."""
    return [start.detach() + step * velocity for step in range(steps + 1)]


@repair_trajectory.mistake()
def one_step_early(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    """The position is stored before it is moved: the list begins with start, and the last position is
    missing.
    """
    return [start.detach() + step * velocity for step in range(steps)]


@repair_trajectory.mistake()
def stacked(start: Tensor, velocity: Tensor, steps: int) -> Tensor:
    """A list of tensors was asked for. stack makes one tensor of them, which append and extend do not know."""
    return start.detach() + torch.arange(1, steps + 1).unsqueeze(1) * velocity
