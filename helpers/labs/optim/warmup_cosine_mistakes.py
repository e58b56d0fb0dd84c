"""What people write for 04.warmup_cosine, and why it is wrong."""

from __future__ import annotations

import math
import warnings

import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

from helpers.labs.optim.warmup_cosine import warmup_cosine


def cosine(progress: float, floor: float) -> float:
    """Half a cosine from 1 to the floor."""
    return floor + (1 - floor) * (1 + math.cos(math.pi * progress)) / 2


def decayed(step: int, warmup: int, total: int, floor: float) -> float:
    """What comes after the warm-up."""
    return floor if step >= total else cosine((step - warmup) / (total - warmup), floor)


@warmup_cosine.wrong_answer(
    "returns_lr",
    why="LambdaLR multiplies by what you return: a learning rate of 0.01 times a learning rate of 0.01 is 0.0001. "
    "Return a factor, 1 at the peak.",
    seen="a learning rate of 0.01 times",
)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    peak = 3e-4
    if step < warmup:
        return peak * (step + 1) / (warmup + 1)
    return peak * decayed(step, warmup, total, floor)


@warmup_cosine.another_form("returns_lr")
def _(step: int, warmup: int, total: int, floor: float) -> float:
    lowest, peak = 0.1 * floor, 0.1
    if step < warmup:
        return peak * (step + 1) / (warmup + 1)
    progress = min(1.0, (step - warmup) / max(1, total - warmup))
    return lowest + (peak - lowest) * 0.5 * (1 + math.cos(math.pi * progress))


@warmup_cosine.wrong_answer(
    "zero_all_through_warmup",
    why="// divides and cuts off what is behind the point: the factor is 0 until the warm-up is over, and nothing "
    "is learned in it.",
    seen="0 until the warm-up is over",
)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return step // warmup
    return decayed(step, warmup, total, floor)


@warmup_cosine.another_form("zero_all_through_warmup")
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return (step + 1) // (warmup + 1)
    return decayed(step, warmup, total, floor)


@warmup_cosine.wrong_answer(
    "warms_up_from_the_floor",
    why="The warm-up was lifted on the floor as the cosine is. The floor is where the schedule ends; the line starts "
    "near 0.",
    seen="was lifted on the floor",
)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return floor + (1 - floor) * (step + 1) / (warmup + 1)
    return decayed(step, warmup, total, floor)


@warmup_cosine.another_form("warms_up_from_the_floor")
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return max(floor, (step + 1) / (warmup + 1))
    return decayed(step, warmup, total, floor)


@warmup_cosine.wrong_answer(
    "no_warmup",
    why="The cosine alone, from step 0 on: the first steps, in which Adam's averages are still made of a few gradients, "
    "are taken at full length.",
    seen="The cosine alone, from step 0 on",
)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    return cosine(min(1.0, step / total), floor)


@warmup_cosine.wrong_answer(
    "progress_from_step_zero",
    why="The way of the cosine was measured from step 0. At warmup it has come some way already, so the curve falls with "
    "a jump. It starts at warmup.",
    seen="measured from step 0",
)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return cosine(min(1.0, step / total), floor)


@warmup_cosine.wrong_answer(
    "divided_by_total",
    why="The cosine has total - warmup steps, not total: divided by total it is not down when the training ends, and "
    "falls to the floor with a jump.",
    seen="it is not down when the training ends",
)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return floor if step >= total else cosine((step - warmup) / total, floor)


@warmup_cosine.another_form("divided_by_total")
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return cosine(min(1.0, (step - warmup) / total), floor)


@warmup_cosine.wrong_answer(
    "both_at_once",
    why="The warm-up was multiplied with a cosine that runs from step 0. The two follow each other: at warmup the factor "
    "is 1.",
    seen="multiplied with a cosine",
)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    return min(1.0, (step + 1) / (warmup + 1)) * cosine(min(1.0, step / total), floor)


@warmup_cosine.wrong_answer(
    "rises_again",
    why="A cosine is a wave: after total it goes up again, and a run that is trained a little longer ends at a high "
    "learning rate. torch's CosineAnnealingLR does the same beyond T_max.",
    seen="A cosine is a wave",
)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return cosine((step - warmup) / max(1, total - warmup), floor)


@warmup_cosine.another_form("rises_again")
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return cosine((step - warmup) / (total - warmup), floor)


@warmup_cosine.wrong_answer(
    "zero_after_total",
    why="After total the factor is 0 and not the floor: a run that is trained a little longer stands still.",
    seen="stands still",
)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return cosine((step - warmup) / (total - warmup), floor) if step <= total and total > warmup else 0.0


@warmup_cosine.another_form("zero_after_total")
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return cosine((step - warmup) / (total - warmup), floor) if step < total else 0.0


@warmup_cosine.wrong_answer(
    "floor_added",
    why="The floor was added to a curve that goes from 1 to 0. So it starts at 1 + floor: above the learning rate that "
    "was asked for.",
    seen="starts at 1 + floor",
)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return floor if step >= total else floor + cosine((step - warmup) / (total - warmup), 0.0)


@warmup_cosine.wrong_answer(
    "cut_at_the_floor",
    why="max(floor, ...) cuts the cosine off, and lays it flat before total. The curve is to be pressed together, so that "
    "it arrives at the floor at total.",
    seen="cuts the cosine off",
)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return floor if step >= total else max(floor, cosine((step - warmup) / (total - warmup), 0.0))


@warmup_cosine.wrong_answer(
    "floor_forgotten",
    why="The curve goes down to 0: the floor is not used.",
    seen="the floor is not used",
)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return 0.0 if step >= total else cosine((step - warmup) / (total - warmup), 0.0)


@warmup_cosine.wrong_answer(
    "straight_line",
    why="A straight line agrees with half a cosine at its start, its middle and its end, and nowhere else.",
    seen="at its start, its middle and its end",
)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return floor if step >= total else 1 - (1 - floor) * (step - warmup) / (total - warmup)


@warmup_cosine.wrong_answer(
    "quarter_wave",
    why="cos(pi / 2 * progress) is a quarter of a wave: it arrives at the floor at full speed. Half a wave is flat at both "
    "ends.",
    seen="a quarter of a wave",
)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return (step + 1) / (warmup + 1)
    progress = (step - warmup) / max(1, total - warmup)
    return floor if step >= total else floor + (1 - floor) * math.cos(math.pi / 2 * progress)


@warmup_cosine.wrong_answer(
    "pi_forgotten",
    why="math.cos takes radians, and half a wave is pi of them: cos(1) is 0.54.",
    seen="cos(1) is 0.54",
)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return (step + 1) / (warmup + 1)
    progress = (step - warmup) / max(1, total - warmup)
    return floor if step >= total else floor + (1 - floor) * (1 + math.cos(progress)) / 2


@warmup_cosine.another_form("pi_forgotten")
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return (step + 1) / (warmup + 1)
    progress = min(1.0, (step - warmup) / max(1, total - warmup))
    return floor + (1 - floor) * (1 + math.cos(progress)) / 2


@warmup_cosine.wrong_answer(
    "floor_one_step_early",
    why="The cosine arrives at the last step, total - 1. Here it arrives at total, the first step after the training.",
    seen="arrives at the last step",
)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return cosine(min(1.0, (step - warmup) / max(1, total - 1 - warmup)), floor)


@warmup_cosine.wrong_answer(
    "tensor_returned",
    why="torch.cos gives a tensor. LambdaLR writes it into the group, where a scheduler's file then holds tensors for "
    "numbers. math.cos is for one number.",
    seen="math.cos is for one number",
)
def _(step: int, warmup: int, total: int, floor: float) -> torch.Tensor:
    now = torch.tensor(float(step))
    progress = ((now - warmup) / max(1, total - warmup)).clamp(0, 1)
    fall = floor + (1 - floor) * (1 + torch.cos(math.pi * progress)) / 2
    return torch.where(now < warmup, (now + 1) / (warmup + 1), fall)


@warmup_cosine.wrong_answer(
    "torch_scheduler",
    why="A whole optimizer with torch's schedulers is built and stepped from 0 for one number. The formula is two lines.",
    seen="The formula is two lines",
)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = [CosineAnnealingLR(opt, max(1, total - warmup), eta_min=floor)]
        if warmup:
            opt.param_groups[0]["lr"] = 1.0
            rise = LinearLR(opt, start_factor=1 / (warmup + 1), total_iters=warmup)
            scheduler = SequentialLR(opt, [rise, *parts], milestones=[warmup])
        else:
            scheduler = parts[0]
        for _ in range(min(step, total)):
            scheduler.step()
    if step >= total:
        return floor
    return opt.param_groups[0]["lr"]
