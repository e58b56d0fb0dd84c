"""What people write for optimizer_state_dict, and for both halves, and why it is wrong."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable
from itertools import count
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from helpers.check.spec import returned
from helpers.labs.optim.optimizer_state.exercise import optimizer_state
from helpers.labs.optim.optimizer_state.right import State, cast, load, options, places, save

built = optimizer_state.bank(returned)

SNAPSHOT = "A snapshot: copies of all values (tensors, numbers, None)"

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
    """The lists under "params" hold addresses, id(param). In the next process the parameters lie elsewhere, and
    a file of addresses says nothing of who is who.
    """
    return (save_by_address, load_by_address)


optimizer_state.variant(keyed_by_address)((save_by_address, load_in_turn))
optimizer_state.variant(keyed_by_address)((save_by_address, load))


@saves.mistake()
def keyed_by_parameter(opt: Optimizer) -> State:
    """Parameters, or copies of them, stand as keys under "state". torch.save writes all weights with them, and after
    loading they are different objects.
    """
    return {"state": {param: copy.deepcopy(values) for param, values in opt.state.items()}} | {
        "param_groups": save(opt)["param_groups"]
    }


@saves.variant(keyed_by_parameter)
def _(opt: Optimizer) -> State:
    return {"state": dict(opt.state), "param_groups": save(opt)["param_groups"]}


@saves.mistake()
def parameters_in_the_groups(opt: Optimizer) -> State:
    """ "params" holds tensors in place of numbers. Perhaps the groups were copied whole, or the parameters were copied one
    by one: whoever loads the file trains copies that belong to no model.
    """
    return {"state": save(opt)["state"], "param_groups": copy.deepcopy(opt.param_groups)}


@saves.variant(parameters_in_the_groups)
def _(opt: Optimizer) -> State:
    return {"state": save(opt)["state"], "param_groups": [dict(group) for group in opt.param_groups]}


@saves.mistake()
def numbers_restart_in_each_group(opt: Optimizer) -> State:
    """The numbers under "params" start at 0 again in each group, so that parameters of several groups share one
    number.
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
    """States stand at the place of a different parameter. Perhaps they were taken in the order of opt.state,
    in which the parameters had their first gradient.
    """
    place = places(opt)
    taken = sorted(place[param] for param in opt.state)
    state = {number: copy.deepcopy(values) for number, values in zip(taken, opt.state.values(), strict=True)}
    return {"state": state, "param_groups": save(opt)["param_groups"]}


@saves.mistake(breaks="an index counts the parameters through all groups")
def counted_among_those_with_a_state(opt: Optimizer) -> State:
    """The keys of "state" are 0, 1 and 2, and the parameters that have a state are 0, 2 and 3. Perhaps only those with a
    state were counted: a frozen layer in the middle then moves all that follow it.
    """
    return save(opt) | {"state": dict(enumerate(copy.deepcopy(list(opt.state.values()))))}


@saves.variant(counted_among_those_with_a_state)
def _(opt: Optimizer) -> State:
    whole = save(opt)
    return whole | {"state": {n: whole["state"][place] for n, place in enumerate(sorted(whole["state"]))}}


@saves.mistake(breaks="It is plain data: torch.load with weights_only=True takes it.")
def tensors_made_arrays(opt: Optimizer) -> State:
    """Tensors of the states have become numpy arrays: torch.load with weights_only=True refuses those, and torch's
    load_state_dict does not know them.
    """
    whole = save(opt)
    whole["state"] = {
        place: {key: value.numpy() if isinstance(value, Tensor) else value for key, value in values.items()}
        for place, values in whole["state"].items()
    }
    return whole


@saves.variant(tensors_made_arrays)
def _(opt: Optimizer) -> State:
    whole = save(opt)
    whole["state"] = {
        place: {
            key: value.numpy().copy() if isinstance(value, Tensor) and key != "step" else value
            for key, value in values.items()
        }
        for place, values in whole["state"].items()
    }
    return whole


@saves.mistake(breaks="It is plain data: torch.load with weights_only=True takes it.")
def state_is_a_defaultdict(opt: Optimizer) -> State:
    """A dict in the file is a defaultdict, which torch.load with weights_only=True refuses. Perhaps it was taken over from
    opt.state, which is one: build an ordinary dict.
    """
    whole, state = save(opt), defaultdict(dict)
    state.update(whole["state"])
    return whole | {"state": state}


@saves.variant(state_is_a_defaultdict)
def _(opt: Optimizer) -> State:
    whole = save(opt)
    return whole | {"state": {place: defaultdict(int, values) for place, values in whole["state"].items()}}


@saves.variant(state_is_a_defaultdict)
def _(opt: Optimizer) -> State:
    whole, state = save(opt), defaultdict(lambda: {})
    state.update(whole["state"])
    return whole | {"state": state}


@saves.mistake()
def one_name_only(opt: Optimizer) -> State:
    """For SGD the file is whole, and of AdamW's states every name is missing. Perhaps only momentum_buffer is
    saved: take what is there.
    """
    whole = save(opt)
    for values in whole["state"].values():
        for key in [key for key in values if key != "momentum_buffer"]:
            del values[key]
    return whole


@saves.mistake()
def step_missing(opt: Optimizer) -> State:
    """Under "state" step is missing. Perhaps only the averages were saved: Adam's bias correction would start
    at step 1 again.
    """
    whole = save(opt)
    for values in whole["state"].values():
        values.pop("step", None)
    return whole


@saves.mistake()
def only_lr_of_the_groups(opt: Optimizer) -> State:
    """Of each group most options are missing. Perhaps only lr was saved: the others, and a scheduler's
    initial_lr, are state, too.
    """
    whole = save(opt)
    whole["param_groups"] = [{"lr": g["lr"], "params": g["params"]} for g in whole["param_groups"]]
    return whole


@saves.mistake()
def defaults_for_the_groups(opt: Optimizer) -> State:
    """The options of the groups are those of the constructor. Perhaps opt.defaults was taken: what holds now
    stands in the groups, and schedulers write there.
    """
    whole = save(opt)
    whole["param_groups"] = [dict(opt.defaults) | {"params": g["params"]} for g in whole["param_groups"]]
    return whole


@saves.mistake()
def state_aliased(opt: Optimizer) -> State:
    """Training on changed the states that had been saved. Perhaps the dict holds the optimizer's own tensors;
    torch's state_dict does that, too.
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
    """Saving ends in an AttributeError where a state holds a number. Perhaps every value was taken for a tensor:
    copy.deepcopy copies whatever comes.
    """
    return each_value(opt, lambda value: value.clone())


def each_value(opt: Optimizer, copied: Callable[[Any], Any]) -> State:
    """Copies all values in this way."""
    place = places(opt)
    state = {
        place[param]: {key: copied(value) for key, value in values.items()}
        for param, values in opt.state.items()
    }
    return save(opt) | {"state": state}


saves.variant(values_cloned)(lambda opt: each_value(opt, lambda value: value.detach().clone()))
saves.variant(values_cloned)(lambda opt: each_value(opt, lambda value: value.cpu().clone()))
saves.variant(values_cloned)(lambda opt: each_value(opt, lambda value: value.data.clone()))


@saves.mistake()
def options_aliased(opt: Optimizer) -> State:
    """Training on changed the options that had been saved: a tensor lr, into which a scheduler writes, and a
    list. Perhaps the dict holds the optimizer's own: copy them as well.
    """
    whole = save(opt)
    for saved, group in zip(whole["param_groups"], opt.param_groups, strict=True):
        saved.update({key: value for key, value in group.items() if key != "params"})
    return whole


@saves.mistake()
def saving_changes_the_groups(opt: Optimizer) -> State:
    """After saving, the optimizer's groups hold numbers where its parameters were. Perhaps the groups were not
    copied, and the numbers were written over its own list.
    """
    whole, numbers = save(opt), count()
    for group, saved in zip(opt.param_groups, whole["param_groups"], strict=True):
        group["params"] = saved["params"] = [next(numbers) for _ in group["params"]]
    return whole


@saves.mistake(breaks="`opt` is left as it is.")
def params_taken_out(opt: Optimizer) -> State:
    """After saving, the optimizer's groups have no key "params". Perhaps pop took it out of the groups themselves: copy a
    group first, or leave the key out while you copy.
    """
    whole = save(opt)
    for group in opt.param_groups:
        group.pop("params")
    return whole


@saves.mistake(breaks="`opt` is left as it is.")
def empty_states_made(opt: Optimizer) -> State:
    """After saving, opt.state has entries for parameters without a state. Perhaps it was asked with opt.state[param], which
    makes a missing entry: `param in opt.state` only looks.
    """
    state = {
        place: copy.deepcopy(opt.state[param]) for param, place in places(opt).items() if opt.state[param]
    }
    return {"state": state, "param_groups": save(opt)["param_groups"]}


def torchs_save(opt: Optimizer) -> State:
    return copy.deepcopy(opt.state_dict())


def torchs_load(opt: Optimizer, sd: State) -> None:
    opt.load_state_dict(copy.deepcopy(sd))


@built.mistake()
def torchs_own():
    """opt.state_dict() or opt.load_state_dict() was called: they are what the exercise builds again."""
    return (torchs_save, torchs_load)


optimizer_state.variant(torchs_own)((torchs_save, load))
optimizer_state.variant(torchs_own)((save, torchs_load))


def bare_save(opt: Optimizer) -> State:
    return torch.optim.Optimizer.state_dict(opt)


def bare_load(opt: Optimizer, sd: State) -> None:
    torch.optim.Optimizer.load_state_dict(opt, sd)


optimizer_state.variant(torchs_own)((bare_save, bare_load))


@saves.mistake(breaks="each with all options of its group")
def scheduler_key_dropped(opt: Optimizer) -> State:
    """initial_lr is missing in the groups. A scheduler left it there, and a resumed one computes with it: it is an option
    as any other.
    """
    whole = save(opt)
    for group in whole["param_groups"]:
        group.pop("initial_lr", None)
    return whole


@saves.mistake(breaks="for each parameter that has a state")
def a_state_for_all(opt: Optimizer) -> State:
    """ "state" has entries for parameters without a state. Perhaps opt.state[param] was asked for all of them, which
    makes missing entries, in the optimizer, too.
    """
    state = {place: copy.deepcopy(opt.state[param]) for param, place in places(opt).items()}
    return {"state": state, "param_groups": save(opt)["param_groups"]}


@saves.mistake(breaks=SNAPSHOT)
def only_tensors_copied(opt: Optimizer) -> State:
    """Numbers and None are missing in the states. Perhaps only tensors were copied: an optimizer may keep more."""
    whole = save(opt)
    whole["state"] = {
        place: {key: value for key, value in values.items() if isinstance(value, Tensor)}
        for place, values in whole["state"].items()
    }
    return whole


@saves.mistake(breaks=SNAPSHOT)
def scalars_made_numbers(opt: Optimizer) -> State:
    """A tensor without dimensions has become a number. Perhaps item() was called: the momentum of a scalar parameter is a
    tensor, too.
    """
    whole = save(opt)
    whole["state"] = {
        place: {
            key: value.item() if isinstance(value, Tensor) and value.ndim == 0 else value
            for key, value in values.items()
        }
        for place, values in whole["state"].items()
    }
    return whole


@saves.mistake(breaks="an index counts the parameters through all groups")
def places_as_texts(opt: Optimizer) -> State:
    """The keys of "state" are texts, and numbers were asked for. Perhaps the file was to be JSON."""
    whole = save(opt)
    return whole | {"state": {str(place): values for place, values in whole["state"].items()}}


@saves.mistake(breaks='"param_groups": a list of dicts')
def first_group_only(opt: Optimizer) -> State:
    """Only the first group is in the file. An optimizer may have many, and this one had a third added in mid-run."""
    whole = save(opt)
    return whole | {"param_groups": whole["param_groups"][:1]}


@built.mistake(breaks="the same layout as torch's `opt.state_dict()`")
def one_level_too_deep():
    """The dict lacks the keys "state" and "param_groups". Perhaps they stand a level deeper, or under different names."""
    return (lambda opt: {"optimizer": save(opt)}, lambda opt, sd: load(opt, sd["optimizer"]))


@saves.mistake(breaks="an index counts the parameters through all groups")
def frozen_not_counted(opt: Optimizer) -> State:
    """A frozen parameter has no index, and all behind it move up by one. Perhaps only those that require a gradient were
    counted: what is frozen in this process need not be so in the next one.
    """
    trained = [param for param in places(opt) if param.requires_grad]
    place = {param: number for number, param in enumerate(trained)}
    return {
        "state": {place[param]: copy.deepcopy(values) for param, values in opt.state.items()},
        "param_groups": [
            options(group) | {"params": [place[param] for param in group["params"] if param in place]}
            for group in opt.param_groups
        ],
    }


@saves.mistake(breaks='"state": {index: {name: value}} for each parameter that has a state')
def addresses_under_state(opt: Optimizer) -> State:
    """The lists under "params" count the parameters, and the keys of "state" are addresses, id(param): no list leads to a
    state.
    """
    return save(opt) | {"state": {id(param): copy.deepcopy(values) for param, values in opt.state.items()}}


@saves.mistake(breaks=SNAPSHOT)
def states_in_float32(opt: Optimizer) -> State:
    """What is saved of a parameter in float64 or bfloat16 is of float32. Perhaps `.float()` was called on all tensors: a
    copy has the dtype of what it copies.
    """
    return each_value(
        opt, lambda value: value.detach().float().clone() if isinstance(value, Tensor) else value
    )


saves.variant(states_in_float32)(
    lambda opt: each_value(
        opt, lambda value: torch.tensor(value.tolist()) if isinstance(value, Tensor) else value
    )
)


@saves.mistake(breaks="an index counts the parameters through all groups")
def states_of_the_first_group(opt: Optimizer) -> State:
    """Of the states only that of parameter 0 is in the file: those of the second and third group are missing. Perhaps the loop
    goes over the first group alone, or ends too early.
    """
    whole = save(opt)
    first = whole["param_groups"][0]["params"]
    return whole | {"state": {place: values for place, values in whole["state"].items() if place in first}}
