"""What people write for 04.optimizer_state, and why it is wrong."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import chain, count
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from helpers.check.spec import returned
from helpers.labs.optim.optimizer_state.exercise import optimizer_state

built = optimizer_state.bank(returned)

State = dict[str, Any]


def options(group: State) -> State:
    """All of a group but its parameters, copied."""
    return {key: copy.deepcopy(value) for key, value in group.items() if key != "params"}


def places(opt: Optimizer) -> dict[Tensor, int]:
    """Each parameter's place."""
    return {
        param: place for place, param in enumerate(chain.from_iterable(g["params"] for g in opt.param_groups))
    }


def save(opt: Optimizer) -> State:
    """Right, so that a mistake in loading stands alone."""
    place = places(opt)
    return {
        "state": {place[param]: copy.deepcopy(values) for param, values in opt.state.items()},
        "param_groups": [options(g) | {"params": [place[p] for p in g["params"]]} for g in opt.param_groups],
    }


def cast(key: str, value: Any, param: Tensor) -> Any:
    """A copy in the parameter's dtype."""
    if not isinstance(value, Tensor):
        return copy.deepcopy(value)
    return value.clone() if key == "step" else value.to(param, copy=True)


def refuse(opt: Optimizer, sd: State) -> None:
    """Raises ValueError if the groups do not fit."""
    if [len(g["params"]) for g in opt.param_groups] != [len(g["params"]) for g in sd["param_groups"]]:
        raise ValueError("groups of other sizes")


def load(opt: Optimizer, sd: State, value_of: Callable[[str, Any, Tensor], Any] = cast) -> None:
    """Right, so that a mistake in saving stands alone."""
    refuse(opt, sd)
    params = list(places(opt))
    for group, saved in zip(opt.param_groups, sd["param_groups"], strict=True):
        group.update(options(saved))
    opt.state.clear()
    for place, values in sd["state"].items():
        opt.state[params[place]].update(
            {key: value_of(key, value, params[place]) for key, value in values.items()}
        )


saves = optimizer_state.bank(lambda function: (function, load))


def save_by_address(opt: Optimizer) -> State:
    return {
        "state": {id(param): copy.deepcopy(values) for param, values in opt.state.items()},
        "param_groups": [options(g) | {"params": [id(p) for p in g["params"]]} for g in opt.param_groups],
    }


def load_by_address(opt: Optimizer, sd: State) -> None:
    for group, saved in zip(opt.param_groups, sd["param_groups"], strict=True):
        group.update(options(saved))
    known = {id(param): param for param in places(opt)}
    opt.state.clear()
    for address, values in sd["state"].items():
        if address in known:
            opt.state[known[address]].update(copy.deepcopy(values))


def load_in_turn(opt: Optimizer, sd: State) -> None:
    """Matches whatever the keys are with the parameters, in turn."""
    own = {}
    for group, saved in zip(opt.param_groups, sd["param_groups"], strict=True):
        own.update(zip(saved["params"], group["params"], strict=True))
        group.update(options(saved))
    opt.state.clear()
    for key, values in sd["state"].items():
        opt.state[own[key]].update({name: cast(name, value, own[key]) for name, value in values.items()})


@built.mistake()
def keyed_by_address():
    """id(param) is an address in this process. In the next one the parameters lie elsewhere, and a file of
    addresses says nothing of who is who.
    """
    return (save_by_address, load_by_address)


optimizer_state.variant(keyed_by_address)((save_by_address, load_in_turn))
optimizer_state.variant(keyed_by_address)((save_by_address, load))


@saves.mistake()
def keyed_by_parameter(opt: Optimizer) -> State:
    """The parameters themselves stand as keys in the file. torch.save writes all weights with them, and after
    loading they are other objects, equal to none of the new model's.
    """
    return {"state": {param: copy.deepcopy(values) for param, values in opt.state.items()}} | {
        "param_groups": save(opt)["param_groups"]
    }


@saves.variant(keyed_by_parameter)
def _(opt: Optimizer) -> State:
    return {"state": dict(opt.state), "param_groups": save(opt)["param_groups"]}


@saves.mistake()
def parameters_in_the_groups(opt: Optimizer) -> State:
    """The groups were copied with their parameters: "params" holds weights in place of numbers, and whoever
    loads the file trains copies that belong to no model.
    """
    return {"state": save(opt)["state"], "param_groups": copy.deepcopy(opt.param_groups)}


@saves.variant(parameters_in_the_groups)
def _(opt: Optimizer) -> State:
    return {"state": save(opt)["state"], "param_groups": [dict(group) for group in opt.param_groups]}


@saves.mistake()
def numbers_restart_in_each_group(opt: Optimizer) -> State:
    """The count starts at 0 again in each group, so that the first parameters of all groups share one number,
    and the last one's state overwrites the others.
    """
    state, groups = {}, []
    for group in opt.param_groups:
        groups.append(options(group) | {"params": list(range(len(group["params"])))})
        for place, param in enumerate(group["params"]):
            if param in opt.state:
                state[place] = copy.deepcopy(opt.state[param])
    return {"state": state, "param_groups": groups}


@saves.mistake()
def order_of_the_first_steps(opt: Optimizer) -> State:
    """opt.state lists the parameters in the order in which they had their first gradient. That is the groups'
    order only if all of them had one in the first step.
    """
    state = {place: copy.deepcopy(values) for place, values in enumerate(opt.state.values())}
    return {"state": state, "param_groups": save(opt)["param_groups"]}


@saves.mistake()
def one_name_only(opt: Optimizer) -> State:
    """Only momentum_buffer was saved: SGD has that, Adam has step, exp_avg and exp_avg_sq. The names are the
    optimizer's business; take what is there.
    """
    whole = save(opt)
    for values in whole["state"].values():
        for key in [key for key in values if key != "momentum_buffer"]:
            del values[key]
    return whole


@saves.mistake()
def tensors_only(opt: Optimizer) -> State:
    """Only the averages were saved and not how many steps they are made of: Adam's bias correction starts at
    step 1 again, and the first steps are far too long.
    """
    whole = save(opt)
    for values in whole["state"].values():
        values.pop("step", None)
    return whole


@saves.mistake()
def only_lr_of_the_groups(opt: Optimizer) -> State:
    """Of each group only lr was saved. Momentum, betas, weight_decay, and a scheduler's initial_lr are state,
    too: they may have been changed in the run.
    """
    whole = save(opt)
    whole["param_groups"] = [{"lr": g["lr"], "params": g["params"]} for g in whole["param_groups"]]
    return whole


@saves.mistake()
def defaults_for_the_groups(opt: Optimizer) -> State:
    """opt.defaults is what the constructor was told. What holds now stands in the groups: each has its own
    options, and schedulers write there.
    """
    whole = save(opt)
    whole["param_groups"] = [dict(opt.defaults) | {"params": g["params"]} for g in whole["param_groups"]]
    return whole


@saves.mistake()
def state_aliased(opt: Optimizer) -> State:
    """The dict holds the optimizer's own tensors: a snapshot that moves with every step. torch's state_dict
    does that, too; only the trip through a file makes it one.
    """
    place = places(opt)
    return {
        "state": {place[param]: values for param, values in opt.state.items()},
        "param_groups": save(opt)["param_groups"],
    }


@saves.variant(state_aliased)
def _(opt: Optimizer) -> State:
    place = places(opt)
    return {
        "state": {place[param]: dict(values) for param, values in opt.state.items()},
        "param_groups": save(opt)["param_groups"],
    }


@saves.mistake()
def values_cloned(opt: Optimizer) -> State:
    """Every value of a state was cloned, as if all of them were tensors. Some optimizers keep numbers, and None:
    copy.deepcopy copies whatever comes.
    """
    whole = save(opt)
    place = places(opt)
    whole["state"] = {
        place[param]: {key: value.clone() for key, value in values.items()}
        for param, values in opt.state.items()
    }
    return whole


@saves.mistake()
def options_aliased(opt: Optimizer) -> State:
    """The dict holds the optimizer's own options. A number cannot change where it stands; a tensor lr, into which a
    scheduler writes, and a list can.
    """
    whole = save(opt)
    for saved, group in zip(whole["param_groups"], opt.param_groups, strict=True):
        saved.update({key: value for key, value in group.items() if key != "params"})
    return whole


@saves.mistake()
def saving_changes_the_groups(opt: Optimizer) -> State:
    """The groups were not copied: the numbers were written over the optimizer's own list of parameters, and
    its next step fails.
    """
    whole, numbers = save(opt), count()
    for group, saved in zip(opt.param_groups, whole["param_groups"], strict=True):
        group["params"] = saved["params"] = [next(numbers) for _ in group["params"]]
    return whole


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
def old_names_stay(opt: Optimizer, sd: State) -> None:
    """The states were updated name by name. A name that the file does not have stays, with what it held before:
    amsgrad's max_exp_avg_sq of an older run, say.
    """
    old = {param: dict(values) for param, values in opt.state.items()}
    load(opt, sd)
    for param, values in opt.state.items():
        opt.state[param] = old.get(param, {}) | values


@loads.mistake()
def options_shared(opt: Optimizer, sd: State) -> None:
    """The groups took the options of the dict, and no copies: a scheduler that writes into a tensor lr changes the
    dict, and every optimizer that loads it.
    """
    load(opt, sd)
    for group, saved in zip(opt.param_groups, sd["param_groups"], strict=True):
        group.update({key: value for key, value in saved.items() if key != "params"})


@loads.mistake()
def sizes_not_compared(opt: Optimizer, sd: State) -> None:
    """Whatever file comes is taken, as far as it fits: with one layer more or less, averages go to the wrong
    parameters, without a word. Compare the sizes of the groups first.
    """
    params = list(places(opt))
    for group, saved in zip(opt.param_groups, sd["param_groups"], strict=False):
        group.update(options(saved))
    opt.state.clear()
    for place, values in sd["state"].items():
        opt.state[params[place]] = {key: cast(key, value, params[place]) for key, value in values.items()}


@loads.mistake()
def refused_half_way(opt: Optimizer, sd: State) -> None:
    """zip(..., strict=True) raises when it comes to the end of the shorter list. By then the first groups have the
    options of the file: whoever catches the error goes on with a mixture.
    """
    params = {}
    for group, saved in zip(opt.param_groups, sd["param_groups"], strict=True):
        params |= dict(zip(saved["params"], group["params"], strict=True))
        group.update(options(saved))
    opt.state.clear()
    for place, values in sd["state"].items():
        opt.state[params[place]].update(
            {key: cast(key, value, params[place]) for key, value in values.items()}
        )


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
