"""What people write for 04.warmup_cosine, and why it is wrong."""

from __future__ import annotations

import math
import warnings

import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

from helpers.labs.optim.warmup_cosine.exercise import warmup_cosine


def cosine(progress: float, floor: float) -> float:
    """Half a cosine from 1 to the floor."""
    return floor + (1 - floor) * (1 + math.cos(math.pi * progress)) / 2


def decayed(step: int, warmup: int, total: int, floor: float) -> float:
    """What comes after the warm-up."""
    return floor if step >= total else cosine((step - warmup) / (total - warmup), floor)


@warmup_cosine.mistake()
def returns_lr(step: int, warmup: int, total: int, floor: float) -> float:
    """LambdaLR multiplies by what you return: a learning rate of 0.01 times a learning rate of 0.01 is
    0.0001. Return a factor, 1 at the peak.
    """
    peak = 3e-4
    if step < warmup:
        return peak * (step + 1) / (warmup + 1)
    return peak * decayed(step, warmup, total, floor)


@warmup_cosine.variant(returns_lr)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    lowest, peak = 0.1 * floor, 0.1
    if step < warmup:
        return peak * (step + 1) / (warmup + 1)
    progress = min(1.0, (step - warmup) / max(1, total - warmup))
    return lowest + (peak - lowest) * 0.5 * (1 + math.cos(math.pi * progress))


@warmup_cosine.mistake()
def zero_all_through_warmup(step: int, warmup: int, total: int, floor: float) -> float:
    """// divides and cuts off what is behind the point: the factor is 0 until the warm-up is over, and
    nothing is learned in it.
    """
    if step < warmup:
        return step // warmup
    return decayed(step, warmup, total, floor)


@warmup_cosine.variant(zero_all_through_warmup)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return (step + 1) // (warmup + 1)
    return decayed(step, warmup, total, floor)


@warmup_cosine.mistake()
def warms_up_from_the_floor(step: int, warmup: int, total: int, floor: float) -> float:
    """The warm-up was lifted on the floor as the cosine is. The floor is where the schedule ends; the line
    starts near 0.
    """
    if step < warmup:
        return floor + (1 - floor) * (step + 1) / (warmup + 1)
    return decayed(step, warmup, total, floor)


@warmup_cosine.variant(warms_up_from_the_floor)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return max(floor, (step + 1) / (warmup + 1))
    return decayed(step, warmup, total, floor)


@warmup_cosine.mistake()
def no_warmup(step: int, warmup: int, total: int, floor: float) -> float:
    """The cosine alone, from step 0 on: the first steps, in which Adam's averages are still made of a few
    gradients, are taken at full length.
    """
    return cosine(min(1.0, step / total), floor)


@warmup_cosine.mistake()
def progress_from_step_zero(step: int, warmup: int, total: int, floor: float) -> float:
    """The way of the cosine was measured from step 0. At warmup it has come some way already, so the curve
    falls with a jump. It starts at warmup.
    """
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return cosine(min(1.0, step / total), floor)


@warmup_cosine.mistake()
def divided_by_total(step: int, warmup: int, total: int, floor: float) -> float:
    """The cosine has total - warmup steps, not total: divided by total it is not down when the training ends,
    and falls to the floor with a jump.
    """
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return floor if step >= total else cosine((step - warmup) / total, floor)


@warmup_cosine.variant(divided_by_total)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return cosine(min(1.0, (step - warmup) / total), floor)


@warmup_cosine.mistake()
def both_at_once(step: int, warmup: int, total: int, floor: float) -> float:
    """The warm-up was multiplied with a cosine that runs from step 0. The two follow each other: at warmup
    the factor is 1.
    """
    return min(1.0, (step + 1) / (warmup + 1)) * cosine(min(1.0, step / total), floor)


@warmup_cosine.mistake()
def rises_again(step: int, warmup: int, total: int, floor: float) -> float:
    """A cosine is a wave: after total it goes up again, and a run that is trained a little longer ends at a
    high learning rate. torch's CosineAnnealingLR does the same beyond T_max.
    """
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return cosine((step - warmup) / max(1, total - warmup), floor)


@warmup_cosine.variant(rises_again)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return cosine((step - warmup) / (total - warmup), floor)


@warmup_cosine.mistake()
def zero_after_total(step: int, warmup: int, total: int, floor: float) -> float:
    """After total the factor is 0 and not the floor: a run that is trained a little longer stands still."""
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return cosine((step - warmup) / (total - warmup), floor) if step <= total and total > warmup else 0.0


@warmup_cosine.variant(zero_after_total)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return cosine((step - warmup) / (total - warmup), floor) if step < total else 0.0


@warmup_cosine.mistake()
def floor_added(step: int, warmup: int, total: int, floor: float) -> float:
    """The floor was added to a curve that goes from 1 to 0. So it starts at 1 + floor: above the learning
    rate that was asked for.
    """
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return floor if step >= total else floor + cosine((step - warmup) / (total - warmup), 0.0)


@warmup_cosine.mistake()
def cut_at_the_floor(step: int, warmup: int, total: int, floor: float) -> float:
    """max(floor, ...) cuts the cosine off, and lays it flat before total. The curve is to be pressed
    together, so that it arrives at the floor at total.
    """
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return floor if step >= total else max(floor, cosine((step - warmup) / (total - warmup), 0.0))


@warmup_cosine.mistake()
def floor_forgotten(step: int, warmup: int, total: int, floor: float) -> float:
    """The curve goes down to 0: the floor is not used."""
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return 0.0 if step >= total else cosine((step - warmup) / (total - warmup), 0.0)


@warmup_cosine.mistake()
def straight_line(step: int, warmup: int, total: int, floor: float) -> float:
    """A straight line agrees with half a cosine at its start, its middle and its end, and nowhere else."""
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return floor if step >= total else 1 - (1 - floor) * (step - warmup) / (total - warmup)


@warmup_cosine.mistake()
def quarter_wave(step: int, warmup: int, total: int, floor: float) -> float:
    """cos(pi / 2 * progress) is a quarter of a wave: it arrives at the floor at full speed. Half a wave is
    flat at both ends.
    """
    if step < warmup:
        return (step + 1) / (warmup + 1)
    progress = (step - warmup) / max(1, total - warmup)
    return floor if step >= total else floor + (1 - floor) * math.cos(math.pi / 2 * progress)


@warmup_cosine.mistake()
def pi_forgotten(step: int, warmup: int, total: int, floor: float) -> float:
    """math.cos takes radians, and half a wave is pi of them: cos(1) is 0.54."""
    if step < warmup:
        return (step + 1) / (warmup + 1)
    progress = (step - warmup) / max(1, total - warmup)
    return floor if step >= total else floor + (1 - floor) * (1 + math.cos(progress)) / 2


@warmup_cosine.variant(pi_forgotten)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return (step + 1) / (warmup + 1)
    progress = min(1.0, (step - warmup) / max(1, total - warmup))
    return floor + (1 - floor) * (1 + math.cos(progress)) / 2


@warmup_cosine.mistake()
def floor_one_step_early(step: int, warmup: int, total: int, floor: float) -> float:
    """The cosine arrives at the last step, total - 1. Here it arrives at total, the first step after the
    training.
    """
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return cosine(min(1.0, (step - warmup) / max(1, total - 1 - warmup)), floor)


@warmup_cosine.mistake()
def tensor_returned(step: int, warmup: int, total: int, floor: float) -> torch.Tensor:
    """torch.cos gives a tensor. LambdaLR writes it into the group, where a scheduler's file then holds
    tensors for numbers. math.cos is for one number.
    """
    now = torch.tensor(float(step))
    progress = ((now - warmup) / max(1, total - warmup)).clamp(0, 1)
    fall = floor + (1 - floor) * (1 + torch.cos(math.pi * progress)) / 2
    return torch.where(now < warmup, (now + 1) / (warmup + 1), fall)


@warmup_cosine.mistake()
def torch_scheduler(step: int, warmup: int, total: int, floor: float) -> float:
    """A whole optimizer with torch's schedulers is built and stepped from 0 for one number. The formula is
    two lines.
    """
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
