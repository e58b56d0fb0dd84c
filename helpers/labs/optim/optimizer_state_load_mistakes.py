"""What people write for load_optimizer_state of 04.optimizer_state, and why it is wrong."""

from __future__ import annotations

import copy

import torch
from torch import Tensor
from torch.optim import Optimizer

from helpers.exercise import returned
from helpers.labs.optim.optimizer_state import optimizer_state
from helpers.labs.optim.optimizer_state_mistakes import State, cast, load, options, places, save

built = optimizer_state.bank(returned)


loads = optimizer_state.bank(lambda function: (save, function))


@loads.mistake()
def lr_of_the_file_lost(opt: Optimizer, sd: State) -> None:
    """The options of the new optimizer were kept, and those of the file dropped: the run goes on with another
    learning rate than the one it had, which a schedule may have lowered long ago.
    """
    params = list(places(opt))
    opt.state.clear()
    for place, values in sd["state"].items():
        opt.state[params[place]].update(
            {key: cast(key, value, params[place]) for key, value in values.items()}
        )


@loads.mistake()
def lr_kept_on_purpose(opt: Optimizer, sd: State) -> None:
    """All options but lr were taken. That helps who wants a new learning rate, and breaks every resumed
    schedule; the text says that the file's holds. Who wants another one sets it after loading.
    """
    kept = [group["lr"] for group in opt.param_groups]
    load(opt, sd)
    for group, lr in zip(opt.param_groups, kept, strict=True):
        group["lr"] = lr


@loads.mistake()
def numbers_for_parameters(opt: Optimizer, sd: State) -> None:
    """The groups of the file replaced the optimizer's, with numbers where the parameters were. Nothing of the
    model is left in the optimizer.
    """
    load(opt, sd)
    opt.param_groups = copy.deepcopy(sd["param_groups"])


@loads.variant(numbers_for_parameters)
def _(opt: Optimizer, sd: State) -> None:
    load(opt, sd)
    for group, saved in zip(opt.param_groups, sd["param_groups"], strict=True):
        group.update(copy.deepcopy(saved))


@loads.mistake()
def numbers_stay_keys(opt: Optimizer, sd: State) -> None:
    """The state of the file was taken as it is, with numbers as keys. step() looks for parameters, finds
    none, and starts every average from zero, without a word.
    """
    load(opt, sd)
    opt.state.clear()
    opt.state.update(copy.deepcopy(sd["state"]))


@loads.mistake()
def old_state_stays(opt: Optimizer, sd: State) -> None:
    """opt.state was updated and not replaced: a parameter that has no state in the file keeps the one from
    before.
    """
    params = list(places(opt))
    for group, saved in zip(opt.param_groups, sd["param_groups"], strict=True):
        group.update(options(saved))
    for place, values in sd["state"].items():
        opt.state[params[place]] = {key: cast(key, value, params[place]) for key, value in values.items()}


@loads.mistake()
def plain_dict(opt: Optimizer, sd: State) -> None:
    """opt.state became a plain dict. step() asks it for the state of a parameter that has none yet, and
    expects an empty one: a layer that is unfrozen later ends in a KeyError.
    """
    load(opt, sd)
    opt.state = dict(opt.state)


@loads.mistake()
def dtype_not_matched(opt: Optimizer, sd: State) -> None:
    """The states keep the dtype of the file. For a model in another dtype the averages stay wider or narrower
    than the weights: other memory, other rounding, and fused kernels refuse the mix.
    """
    load(opt, sd, lambda key, value, param: copy.deepcopy(value))


@loads.mistake()
def step_cast_too(opt: Optimizer, sd: State) -> None:
    """step was cast with the other tensors. It counts, and bfloat16 counts to 256: from then on the bias
    correction stands still.
    """
    load(
        opt, sd, lambda key, value, param: value.to(param, copy=True) if isinstance(value, Tensor) else value
    )


@loads.mistake()
def file_aliased(opt: Optimizer, sd: State) -> None:
    """The optimizer took the tensors of the dict and no copies: its steps change the dict, and a second
    optimizer that loads it shares one momentum with the first. torch's load_state_dict does that, too, when
    the dtype fits.
    """
    load(
        opt,
        sd,
        lambda key, value, param: value.to(param) if isinstance(value, Tensor) and key != "step" else value,
    )


@loads.mistake()
def file_edited(opt: Optimizer, sd: State) -> None:
    """The parameters were written into the groups of the dict that was given: it is no file any more, and
    whoever loads it next gets this optimizer's parameters.
    """
    own = [group["params"] for group in opt.param_groups]
    load(opt, sd)
    for group, params in zip(sd["param_groups"], own, strict=True):
        group["params"] = params
    opt.param_groups = sd["param_groups"]


def torchs_save(opt: Optimizer) -> State:
    return copy.deepcopy(opt.state_dict())


def torchs_load(opt: Optimizer, sd: State) -> None:
    opt.load_state_dict(copy.deepcopy(sd))


@built.mistake()
def torchs_own():
    """opt.state_dict() and opt.load_state_dict() are what the exercise builds again."""
    return (torchs_save, torchs_load)


optimizer_state.variant(torchs_own)((torchs_save, load))
optimizer_state.variant(torchs_own)((save, torchs_load))


def bare_save(opt: Optimizer) -> State:
    return torch.optim.Optimizer.state_dict(opt)


def bare_load(opt: Optimizer, sd: State) -> None:
    torch.optim.Optimizer.load_state_dict(opt, sd)


optimizer_state.variant(torchs_own)((bare_save, bare_load))
