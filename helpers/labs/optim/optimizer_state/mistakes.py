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
    """The lists under "params" hold addresses, id(param). In the next process the parameters lie elsewhere, and
    a file of addresses says nothing of who is who.
    """
    return (save_by_address, load_by_address)


optimizer_state.variant(keyed_by_address)((save_by_address, load_in_turn))
optimizer_state.variant(keyed_by_address)((save_by_address, load))


@saves.mistake()
def keyed_by_parameter(opt: Optimizer) -> State:
    """The parameters themselves stand as keys under "state". torch.save writes all weights with them, and after
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
    """ "params" holds parameters in place of numbers. Perhaps the groups were copied whole: whoever loads the
    file trains copies that belong to no model.
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
    """States stand at the place of a different parameter. Perhaps they are counted in the order of opt.state,
    in which the parameters had their first gradient.
    """
    state = {place: copy.deepcopy(values) for place, values in enumerate(opt.state.values())}
    return {"state": state, "param_groups": save(opt)["param_groups"]}


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
def tensors_only(opt: Optimizer) -> State:
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
    """Saving ends in an AttributeError where a state holds a number or None. Perhaps every value was cloned, as
    if all were tensors: copy.deepcopy copies whatever comes.
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
    """Training on changed the options that had been saved: a tensor lr, into which a scheduler writes, or a
    list. Perhaps the dict holds the optimizer's own: copy them as well.
    """
    whole = save(opt)
    for saved, group in zip(whole["param_groups"], opt.param_groups, strict=True):
        saved.update({key: value for key, value in group.items() if key != "params"})
    return whole


@saves.mistake()
def saving_changes_the_groups(opt: Optimizer) -> State:
    """After saving, the optimizer's groups no longer hold its parameters. Perhaps the groups were not copied,
    and the numbers were written over its own list.
    """
    whole, numbers = save(opt), count()
    for group, saved in zip(opt.param_groups, whole["param_groups"], strict=True):
        group["params"] = saved["params"] = [next(numbers) for _ in group["params"]]
    return whole


loads = optimizer_state.bank(lambda function: (save, function))


@loads.mistake()
def lr_of_the_file_lost(opt: Optimizer, sd: State) -> None:
    """After the load the options are not the file's, lr among them. Perhaps only the states were taken: a
    schedule may have lowered the rate long ago.
    """
    params = list(places(opt))
    opt.state.clear()
    for place, values in sd["state"].items():
        opt.state[params[place]].update(
            {key: cast(key, value, params[place]) for key, value in values.items()}
        )


@loads.mistake()
def lr_kept_on_purpose(opt: Optimizer, sd: State) -> None:
    """After the load lr is not the file's, and all else is. Who wants a different rate sets it after loading."""
    kept = [group["lr"] for group in opt.param_groups]
    load(opt, sd)
    for group, lr in zip(opt.param_groups, kept, strict=True):
        group["lr"] = lr


@loads.mistake()
def numbers_for_parameters(opt: Optimizer, sd: State) -> None:
    """After the load the groups hold no parameters, and step() fails. Perhaps the file's groups replaced the
    optimizer's, with numbers where the parameters were.
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
    """After the load no parameter has a state, and opt.state has keys that are no parameters: every average
    starts from zero, without a word. Perhaps the file's numbers stayed keys.
    """
    load(opt, sd)
    opt.state.clear()
    opt.state.update(copy.deepcopy(sd["state"]))


@loads.mistake()
def old_state_stays(opt: Optimizer, sd: State) -> None:
    """A parameter that has no state in the file keeps the one from before the load. Perhaps opt.state was
    updated and not replaced.
    """
    params = list(places(opt))
    for group, saved in zip(opt.param_groups, sd["param_groups"], strict=True):
        group.update(options(saved))
    for place, values in sd["state"].items():
        opt.state[params[place]] = {key: cast(key, value, params[place]) for key, value in values.items()}


@loads.mistake()
def old_names_stay(opt: Optimizer, sd: State) -> None:
    """A name that the file's state does not have stays, with what it held before the load. Perhaps the states
    were updated name by name: amsgrad's max_exp_avg_sq of an older run would stay.
    """
    old = {param: dict(values) for param, values in opt.state.items()}
    load(opt, sd)
    for param, values in opt.state.items():
        opt.state[param] = old.get(param, {}) | values


@loads.mistake()
def options_shared(opt: Optimizer, sd: State) -> None:
    """After the load, training changed the options in the dict, a tensor lr or a list. Perhaps the groups took
    them without a copy: every optimizer that loads the dict shares them.
    """
    load(opt, sd)
    for group, saved in zip(opt.param_groups, sd["param_groups"], strict=True):
        group.update({key: value for key, value in saved.items() if key != "params"})


@loads.mistake()
def sizes_not_compared(opt: Optimizer, sd: State) -> None:
    """A file whose groups do not fit was taken: averages go to the wrong parameters, without a word. Compare
    the number of groups and the size of each.
    """
    params = list(places(opt))
    for group, saved in zip(opt.param_groups, sd["param_groups"], strict=False):
        group.update(options(saved))
    opt.state.clear()
    for place, values in sd["state"].items():
        opt.state[params[place]] = {key: cast(key, value, params[place]) for key, value in values.items()}


@loads.mistake()
def refused_half_way(opt: Optimizer, sd: State) -> None:
    """The file was refused, and the optimizer has changed. Perhaps something was written before all sizes were
    compared: whoever catches the error goes on with a mixture.
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
    """After the load, a parameter that has its first gradient ends in a KeyError. Perhaps opt.state became a
    plain dict: step() expects one that makes missing entries.
    """
    load(opt, sd)
    opt.state = dict(opt.state)


@loads.mistake()
def dtype_not_matched(opt: Optimizer, sd: State) -> None:
    """The states keep the dtype of the file. For parameters of a different dtype the averages stay wider or
    narrower than the weights.
    """
    load(opt, sd, lambda key, value, param: copy.deepcopy(value))


@loads.mistake()
def step_cast_too(opt: Optimizer, sd: State) -> None:
    """step was cast with the other tensors. It counts, and bfloat16 counts to 256."""
    load(
        opt, sd, lambda key, value, param: value.to(param, copy=True) if isinstance(value, Tensor) else value
    )


@loads.mistake()
def file_aliased(opt: Optimizer, sd: State) -> None:
    """After the load, training changed the states in the dict. Perhaps the optimizer took its tensors without a
    copy: a second one that loads it shares them. torch's load_state_dict does that, too, when the dtype
    fits.
    """
    load(
        opt,
        sd,
        lambda key, value, param: value.to(param) if isinstance(value, Tensor) and key != "step" else value,
    )


@loads.mistake()
def file_edited(opt: Optimizer, sd: State) -> None:
    """Loading changed the dict that it was given. Perhaps parameters were written into its groups, or a key was
    taken out: whoever loads it next gets something else.
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
    """opt.state_dict() or opt.load_state_dict() was called: they are what the exercise builds again."""
    return (torchs_save, torchs_load)


optimizer_state.variant(torchs_own)((torchs_save, load))
optimizer_state.variant(torchs_own)((save, torchs_load))


def bare_save(opt: Optimizer) -> State:
    return torch.optim.Optimizer.state_dict(opt)


def bare_load(opt: Optimizer, sd: State) -> None:
    torch.optim.Optimizer.load_state_dict(opt, sd)


optimizer_state.variant(torchs_own)((bare_save, bare_load))


SNAPSHOT = "A snapshot: copies of all values (tensors, numbers, None)"
OPTIONS_OF = "All other options, the learning rate too, are those of `sd`."
KINDS_OF = 'Tensors of the state get the dtype of their parameter; "step", which counts, stays as it is.'


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
    """ "state" has an entry for a parameter without a state. Perhaps opt.state[param] was asked for all of them, which
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


@loads.variant(file_edited)
def _(opt: Optimizer, sd: State) -> None:
    refuse(opt, sd)
    load(opt, sd)
    for group in sd["param_groups"]:
        group.pop("params")


@loads.mistake(breaks=KINDS_OF)
def scalars_keep_their_dtype(opt: Optimizer, sd: State) -> None:
    """The state of a scalar parameter keeps the dtype of the file. Perhaps tensors without dimensions were taken for counts:
    only "step" counts.
    """
    load(
        opt,
        sd,
        lambda key, value, param: (
            value.to(param, copy=True) if isinstance(value, Tensor) and value.ndim else copy.deepcopy(value)
        ),
    )


@loads.mistake(
    breaks="ValueError: the groups of `sd`, or how many parameters are in each, are not those of `opt`"
)
def refused_by_an_assertion(opt: Optimizer, sd: State) -> None:
    """An AssertionError came where ValueError was asked for: an assert is for what can never happen."""
    assert [len(g["params"]) for g in opt.param_groups] == [len(g["params"]) for g in sd["param_groups"]]
    load(opt, sd)


@loads.mistake(breaks=OPTIONS_OF)
def only_lr_taken(opt: Optimizer, sd: State) -> None:
    """After the load lr is the file's, and other options are not. Perhaps only lr was taken: momentum, betas and
    weight_decay belong to the run as well.
    """
    own = [dict(group) for group in opt.param_groups]
    load(opt, sd)
    for group, before in zip(opt.param_groups, own, strict=True):
        group.update(before | {"lr": group["lr"]})


@loads.mistake(breaks="A parameter without a state in `sd` has none afterwards")
def states_in_turn(opt: Optimizer, sd: State) -> None:
    """States went to parameters of different places. Perhaps they were dealt out in the order in which they stand in the
    file: the index says whose each is.
    """
    load(opt, sd)
    opt.state.clear()
    for param, values in zip(places(opt), sd["state"].values(), strict=False):
        opt.state[param].update({key: cast(key, value, param) for key, value in values.items()})


@loads.mistake(breaks="`sd` is left as it is, and shares no memory with `opt` afterwards.")
def step_shared(opt: Optimizer, sd: State) -> None:
    """After the load, training changed "step" in the dict. Perhaps it was taken as it is, without a copy."""
    load(opt, sd, lambda key, value, param: value if key == "step" else cast(key, value, param))
