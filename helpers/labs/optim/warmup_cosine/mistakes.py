"""What people write for 04.warmup_cosine, and why it is wrong."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
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
    """The factors up to warmup are a fixed multiple of right ones. Perhaps a learning rate is returned: LambdaLR
    multiplies by it, and a rate of 0.01 times a rate of 0.01 is 0.0001. Return a factor, 1 at the peak.
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


@warmup_cosine.mistake(breaks="it falls as half a cosine wave, to `floor` at `total`")
def without_its_floor(step: int, warmup: int, total: int, floor: float) -> float:
    """At warmup the factor is 1 - floor, and it falls to 0. Perhaps the curve was pressed together to 1 - floor and not
    lifted: the floor is to be added.
    """
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return (1 - floor) * cosine(min(1.0, (step - warmup) / (total - warmup)), 0.0)


@warmup_cosine.mistake(breaks="it falls as half a cosine wave, to `floor` at `total`")
def whole_wave(step: int, warmup: int, total: int, floor: float) -> float:
    """The factor is down at the floor in the middle, and then rises again. Perhaps the cosine got 2 * pi, a whole wave:
    half of one ends at the floor.
    """
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return floor if step >= total else cosine(2 * (step - warmup) / (total - warmup), floor)


@warmup_cosine.variant(whole_wave)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return cosine(2 * min(1.0, (step - warmup) / (total - warmup)), floor)


@warmup_cosine.mistake(breaks="With warmup = 0 it starts at 1.")
def divided_by_a_warmup_of_zero(step: int, warmup: int, total: int, floor: float) -> float:
    """Without a warm-up it ends in a ZeroDivisionError. Perhaps step <= warmup still belongs to the line, and
    the line is divided by warmup: ask step < warmup.
    """
    return step / warmup if step <= warmup else decayed(step, warmup, total, floor)


@warmup_cosine.mistake(breaks="With warmup = 0 it starts at 1.")
def at_least_one_step_of_warmup(step: int, warmup: int, total: int, floor: float) -> float:
    """Without a warm-up the first factor is 0.5. Perhaps warmup is taken to be 1 at least: it may be 0."""
    warmup = max(1, warmup)
    return (step + 1) / (warmup + 1) if step < warmup else decayed(step, warmup, total, floor)


@warmup_cosine.mistake()
def zero_all_through_warmup(step: int, warmup: int, total: int, floor: float) -> float:
    """The factor is 0 until the warm-up is over, and nothing is learned in it. Perhaps // divides and cuts off
    what is behind the point.
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
    """The warm-up does not go below the floor. Perhaps it was lifted on it, or cut off at it: the floor is
    where the schedule ends, the line starts near 0.
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
    """The first steps have factors that fall from 1. Perhaps the cosine alone runs, from step 0 on: there is no
    warm-up.
    """
    return cosine(min(1.0, step / total), floor)


@warmup_cosine.mistake()
def progress_from_step_zero(step: int, warmup: int, total: int, floor: float) -> float:
    """At warmup the factor has come some way down already: the curve falls with a jump. Perhaps the way is
    measured from step 0; it starts at warmup.
    """
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return cosine(min(1.0, step / total), floor)


@warmup_cosine.mistake()
def divided_by_total(step: int, warmup: int, total: int, floor: float) -> float:
    """The factor falls too slowly, and is not down at total. Perhaps the way was divided by total: the cosine
    has total - warmup steps.
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
    """In the warm-up the factor lies below the line. Perhaps the line was multiplied with a cosine that runs
    from step 0: the two follow each other.
    """
    return min(1.0, (step + 1) / (warmup + 1)) * cosine(min(1.0, step / total), floor)


@warmup_cosine.mistake()
def rises_again(step: int, warmup: int, total: int, floor: float) -> float:
    """After total the factor goes up again. A cosine is a wave: hold it at the floor. torch's CosineAnnealingLR
    rises beyond T_max, too.
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
    """At total, or after it, the factor is 0 and not the floor: a run that is trained a little longer stands
    still.
    """
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
    """At warmup the factor is 1 + floor: above the learning rate that was asked for. Perhaps the floor was
    added to a curve that goes from 1 to 0.
    """
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return floor if step >= total else floor + cosine((step - warmup) / (total - warmup), 0.0)


@warmup_cosine.mistake()
def cut_at_the_floor(step: int, warmup: int, total: int, floor: float) -> float:
    """The factor lies flat at the floor before total. Perhaps max(floor, ...) cuts the cosine off: the curve is
    to be pressed together.
    """
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return floor if step >= total else max(floor, cosine((step - warmup) / (total - warmup), 0.0))


@warmup_cosine.mistake()
def floor_forgotten(step: int, warmup: int, total: int, floor: float) -> float:
    """Before total the curve is on its way down to 0, and not to the floor. Perhaps the floor is not used, or from total
    on only: the curve itself is to end there.
    """
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return 0.0 if step >= total else cosine((step - warmup) / (total - warmup), 0.0)


@warmup_cosine.variant(floor_forgotten)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return floor if step >= total else cosine((step - warmup) / (total - warmup), 0.0)


@warmup_cosine.mistake()
def straight_line(step: int, warmup: int, total: int, floor: float) -> float:
    """The factor falls in a straight line. It agrees with half a cosine at its start, its middle and its end,
    and nowhere else.
    """
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return floor if step >= total else 1 - (1 - floor) * (step - warmup) / (total - warmup)


@warmup_cosine.mistake()
def quarter_wave(step: int, warmup: int, total: int, floor: float) -> float:
    """The factor falls fastest at the end, where half a wave is flat. Perhaps cos(pi / 2 * progress) was taken,
    a quarter of a wave.
    """
    if step < warmup:
        return (step + 1) / (warmup + 1)
    progress = (step - warmup) / max(1, total - warmup)
    return floor if step >= total else floor + (1 - floor) * math.cos(math.pi / 2 * progress)


@warmup_cosine.mistake()
def pi_forgotten(step: int, warmup: int, total: int, floor: float) -> float:
    """The factor falls too slowly: at the last step it is still above 0.8. Perhaps pi is missing: math.cos
    takes radians, and cos(1) is 0.54.
    """
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
    """The factor is down one step early, at total - 1. It arrives at total, the first step after the training."""
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return cosine(min(1.0, (step - warmup) / max(1, total - 1 - warmup)), floor)


@warmup_cosine.mistake(breaks="the result is a Python number, no tensor.")
def tensor_returned(step: int, warmup: int, total: int, floor: float) -> torch.Tensor:
    """The result is a tensor. LambdaLR writes it into the group, where a scheduler's file then holds tensors
    for numbers: math.cos is for one number.
    """
    now = torch.tensor(float(step))
    progress = ((now - warmup) / max(1, total - warmup)).clamp(0, 1)
    fall = floor + (1 - floor) * (1 + torch.cos(math.pi * progress)) / 2
    return torch.where(now < warmup, (now + 1) / (warmup + 1), fall)


@warmup_cosine.mistake()
def torch_scheduler(step: int, warmup: int, total: int, floor: float) -> float:
    """A scheduler of torch ran inside, for one number. The formula is two lines."""
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


LINE = "Below `warmup` it rises in a straight line: (step + 1) / (warmup + 1)."
FALL = "from there it falls as half a cosine wave, to `floor` at `total`"
ALONE = "The arguments alone decide, and the result is a Python number, no tensor."


def risen(step: int, warmup: int) -> float:
    """The line up to 1."""
    return (step + 1) / (warmup + 1)


@warmup_cosine.mistake(breaks=FALL)
def one_step_too_long(step: int, warmup: int, total: int, floor: float) -> float:
    """The fall takes one step longer than from warmup to total: it is above the curve all the way. Perhaps 1 was added
    to the number of steps, as if total counted, too.
    """
    if step < warmup:
        return risen(step, warmup)
    return cosine(min(1.0, (step - warmup) / (total - warmup + 1)), floor)


@warmup_cosine.variant(one_step_too_long)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return risen(step, warmup)
    return floor if step >= total else cosine((step - warmup) / (total - warmup + 1), floor)


@warmup_cosine.mistake(breaks=FALL)
def one_step_ahead(step: int, warmup: int, total: int, floor: float) -> float:
    """The fall is one step ahead: at warmup the factor is that of the step after it. Perhaps the 1 of the line was added
    here, too.
    """
    if step < warmup:
        return risen(step, warmup)
    return cosine(min(1.0, (step + 1 - warmup) / (total - warmup)), floor)


@warmup_cosine.mistake(breaks=FALL)
def degrees_for_radians(step: int, warmup: int, total: int, floor: float) -> float:
    """The factor goes up and down many times on its way. Perhaps the cosine got degrees, 180 for half a wave: math.cos
    takes radians.
    """
    if step < warmup:
        return risen(step, warmup)
    return cosine(min(1.0, (step - warmup) / (total - warmup)) * 180 / math.pi, floor)


@warmup_cosine.variant(degrees_for_radians)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return risen(step, warmup)
    return floor if step >= total else cosine((step - warmup) / (total - warmup) * 180 / math.pi, floor)


@warmup_cosine.mistake(breaks=FALL)
def one_until_total(step: int, warmup: int, total: int, floor: float) -> float:
    """The factor stays at 1 until total, and falls to the floor in one step. Perhaps // cut off what is behind the point
    of the way.
    """
    if step < warmup:
        return risen(step, warmup)
    return cosine(min(1, (step - warmup) // (total - warmup)), floor)


@warmup_cosine.mistake(breaks=LINE)
def one_step_late(step: int, warmup: int, total: int, floor: float) -> float:
    """From step 1 on each factor of the warm-up is that of the step before. Perhaps the line is step / (warmup + 1): add 1
    to step, too, or to neither; or 1 was taken from step, which begins with 0.
    """
    return step / (warmup + 1) if step < warmup else decayed(step, warmup, total, floor)


@warmup_cosine.variant(one_step_late)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    """All of the schedule."""
    step = max(0, step - 1)
    return risen(step, warmup) if step < warmup else decayed(step, warmup, total, floor)


@warmup_cosine.mistake(breaks=LINE)
def from_zero_to_one_within_the_warmup(step: int, warmup: int, total: int, floor: float) -> float:
    """The line goes from 0 at the first step to 1 at the last step below warmup: too steep. Perhaps it was divided by
    warmup - 1, as linspace(0, 1, warmup) does: the top is at warmup.
    """
    return step / max(1, warmup - 1) if step < warmup else decayed(step, warmup, total, floor)


@warmup_cosine.mistake(breaks=LINE)
def cosine_up(step: int, warmup: int, total: int, floor: float) -> float:
    """The warm-up follows half a cosine wave, and a straight line was asked for."""
    if step < warmup:
        return (1 - math.cos(math.pi * risen(step, warmup))) / 2
    return decayed(step, warmup, total, floor)


@warmup_cosine.variant(cosine_up)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return (1 - math.cos(math.pi * step / warmup)) / 2
    return decayed(step, warmup, total, floor)


@warmup_cosine.mistake(breaks=LINE)
def line_from_the_floor_at_once(step: int, warmup: int, total: int, floor: float) -> float:
    """The first factor is the floor, and the line rises from there. Perhaps the floor was taken for the lowest rate of the
    whole schedule; it is where the schedule ends.
    """
    if step < warmup:
        return floor + (1 - floor) * step / warmup
    return decayed(step, warmup, total, floor)


@warmup_cosine.mistake(breaks="With warmup = 0 it starts at 1.")
def zero_at_the_very_first(step: int, warmup: int, total: int, floor: float) -> float:
    """Without a warm-up the first factor is 0, and not 1: the first step is lost. Perhaps step <= warmup still belongs to
    the line.
    """
    if step <= warmup:
        return step / max(1, warmup)
    return decayed(step, warmup, total, floor)


@warmup_cosine.mistake(breaks=ALONE)
def numpys_float32(step: int, warmup: int, total: int, floor: float) -> np.float32:
    """The result is a float32 of NumPy, which is no Python number: float(...) makes it one."""
    return np.float32(risen(step, warmup) if step < warmup else decayed(step, warmup, total, floor))


_FACTORS: dict[int, float] = {}
_CALLS = itertools.count()
AT = "a number that the arguments alone decide"


def _remembered_by_the_step(step: int, warmup: int, total: int, floor: float) -> float:
    return _FACTORS.setdefault(
        step, risen(step, warmup) if step < warmup else decayed(step, warmup, total, floor)
    )


def _counts_its_calls(step: int, warmup: int, total: int, floor: float) -> float:
    step = next(_CALLS) % (total + 3)  # so that it does the same wherever its count stands
    return risen(step, warmup) if step < warmup else decayed(step, warmup, total, floor)


# What these two do elsewhere depends on what ran before.
warmup_cosine.add_mistake(
    "remembered_by_the_step",
    _remembered_by_the_step,
    why="Two different schedules get the same factors. Perhaps they are kept under the step alone, or the arguments are "
    "not looked at: all four decide.",
    breaks=ALONE,
    at=AT,
)
warmup_cosine.add_mistake(
    "counts_its_calls",
    _counts_its_calls,
    why="Asked again for the same step, it gives a different factor. Perhaps it counts its calls: a run that is resumed "
    "begins in the middle.",
    breaks=ALONE,
    at=AT,
)


@warmup_cosine.mistake(breaks=FALL)
def rises_from_the_floor(step: int, warmup: int, total: int, floor: float) -> float:
    """At warmup the factor is the floor, and from there it rises to 1. Perhaps the cosine has the wrong sign: 1 + cos(...)
    begins at the top.
    """
    if step < warmup:
        return risen(step, warmup)
    if step >= total:
        return floor
    return 1 + floor - cosine((step - warmup) / (total - warmup), floor)


@warmup_cosine.mistake(breaks=LINE)
def no_warm_up(step: int, warmup: int, total: int, floor: float) -> float:
    """Below warmup the factor is 1 at each step: there is no warm-up."""
    return 1.0 if step < warmup else decayed(step, warmup, total, floor)


@warmup_cosine.variant(no_warm_up)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    return decayed(max(step, warmup), warmup, total, floor)


@warmup_cosine.mistake(breaks="to `floor` at `total`")
def begins_anew_at_total(step: int, warmup: int, total: int, floor: float) -> float:
    """At total the factor is 1 again. Perhaps the wave begins anew there, by a remainder."""
    if step < warmup:
        return risen(step, warmup)
    return cosine((step - warmup) % (total - warmup) / (total - warmup), floor)


@warmup_cosine.mistake(breaks="At `warmup` it is 1")
def above_one_at_warmup(step: int, warmup: int, total: int, floor: float) -> float:
    """At warmup the factor is above 1, and what comes after it is right. Perhaps that step still belongs to the line (step <=
    warmup), which is at 1 one step earlier: ask step < warmup.
    """
    return (step + 1) / warmup if warmup and step <= warmup else decayed(step, warmup, total, floor)


@warmup_cosine.mistake(breaks=FALL)
def lifted_and_cut_at_one(step: int, warmup: int, total: int, floor: float) -> float:
    """The factor stays at 1 for some steps after warmup. Perhaps the floor was added to a curve from 1 to 0, and what is above 1
    was cut off: the curve is to be pressed together to 1 - floor, and lifted by the floor.
    """
    if step < warmup:
        return risen(step, warmup)
    return min(1.0, floor + cosine(min(1.0, (step - warmup) / (total - warmup)), 0.0))


@warmup_cosine.mistake(breaks="From `total` on it stays at `floor`.")
def refuses_what_comes_after(step: int, warmup: int, total: int, floor: float) -> float:
    """Beyond total it raises a ValueError. A run that goes on a little longer goes on at the floor."""
    if step > total:
        raise ValueError("the schedule has ended")
    return risen(step, warmup) if step < warmup else decayed(step, warmup, total, floor)


@warmup_cosine.mistake(breaks=FALL)
def floor_multiplied(step: int, warmup: int, total: int, floor: float) -> float:
    """At warmup the factor is the floor, and from there it falls towards 0. Perhaps the curve was multiplied by the floor: it is to be
    pressed together to 1 - floor, and lifted by the floor.
    """
    if step < warmup:
        return risen(step, warmup)
    return floor if step >= total else floor * cosine((step - warmup) / (total - warmup), 0.0)


@warmup_cosine.variant(floor_multiplied)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return risen(step, warmup)
    return floor * cosine(min(1.0, (step - warmup) / (total - warmup)), 0.0)


@warmup_cosine.mistake(breaks="to `floor` at `total`")
def held_one_step_before_total(step: int, warmup: int, total: int, floor: float) -> float:
    """At total the factor is still that of the step before. Perhaps the step is held at total - 1, the last one of the training:
    the floor comes at total.
    """
    return risen(step, warmup) if step < warmup else decayed(min(step, total - 1), warmup, total, floor)


@warmup_cosine.mistake(breaks=LINE)
def rises_in_a_curve(step: int, warmup: int, total: int, floor: float) -> float:
    """The warm-up begins too low and bends upwards: its factors are the squares of a line's. A straight line was asked for."""
    return risen(step, warmup) ** 2 if step < warmup else decayed(step, warmup, total, floor)


@warmup_cosine.mistake(breaks=FALL)
def falls_by_a_power(step: int, warmup: int, total: int, floor: float) -> float:
    """The factor falls fastest at the start, where half a cosine wave is flat. Perhaps a power of the way that is left was taken, or
    a quarter of a sine: such a schedule is a different one.
    """
    if step < warmup:
        return risen(step, warmup)
    return floor + (1 - floor) * (1 - min(1.0, (step - warmup) / (total - warmup))) ** 2


@warmup_cosine.variant(falls_by_a_power)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    if step < warmup:
        return risen(step, warmup)
    return floor ** min(1.0, (step - warmup) / (total - warmup))


@warmup_cosine.variant(falls_by_a_power)
def _(step: int, warmup: int, total: int, floor: float) -> float:
    """A quarter of a sine."""
    if step < warmup:
        return risen(step, warmup)
    return 1 - (1 - floor) * math.sin(math.pi / 2 * min(1.0, (step - warmup) / (total - warmup)))
