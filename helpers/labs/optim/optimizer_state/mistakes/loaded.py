"""What people write for load_optimizer_state, and why it is wrong."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from helpers.check.spec import returned
from helpers.labs.optim.optimizer_state.exercise import optimizer_state
from helpers.labs.optim.optimizer_state.right import State, cast, load, options, places, refuse, save

OPTIONS_OF = "All other options, the learning rate too, are those of `sd`."
KINDS_OF = 'Tensors of the state get the dtype of their parameter; "step", which counts, stays as it is.'

STATE_OF = (
    "A parameter without a state in `sd` has none afterwards, and can gain one: "
    "`opt.state` stays a dict that makes missing entries."
)

loads = optimizer_state.bank(lambda function: (save, function))


@loads.mistake(breaks=OPTIONS_OF)
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


@loads.mistake(breaks=OPTIONS_OF)
def lr_kept_on_purpose(opt: Optimizer, sd: State) -> None:
    """After the load lr is not the file's, and all else is. Who wants a different rate sets it after loading."""
    kept = [group["lr"] for group in opt.param_groups]
    load(opt, sd)
    for group, lr in zip(opt.param_groups, kept, strict=True):
        group["lr"] = lr


@loads.mistake(breaks="The parameters stay those of `opt`")
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


@loads.mistake(breaks="groups and parameters are matched by their place.")
def numbers_stay_keys(opt: Optimizer, sd: State) -> None:
    """After the load no parameter has a state, and opt.state has keys that are no parameters: every average
    starts from zero, without a word. Perhaps the file's numbers stayed keys.
    """
    load(opt, sd)
    opt.state.clear()
    opt.state.update(copy.deepcopy(sd["state"]))


@loads.mistake(breaks="groups and parameters are matched by their place.")
def matched_by_names(opt: Optimizer, sd: State) -> None:
    """Where the groups have names of their parameters in different orders, the states are not those of the same places.
    Perhaps parameters were matched by "param_names": names are options like all others, and the place decides.
    """
    named = copy.deepcopy(sd)
    params = list(places(opt))
    for group, saved in zip(opt.param_groups, named["param_groups"], strict=True):
        if "param_names" in group and "param_names" in saved:
            by_name = dict(zip(saved["param_names"], saved["params"], strict=True))
            saved["params"] = [by_name[name] for name in group["param_names"]]
    moved = [place for group in named["param_groups"] for place in group["params"]]
    load(opt, sd)
    opt.state.clear()
    for place, values in ((moved.index(n), values) for n, values in sd["state"].items()):
        opt.state[params[place]].update(
            {key: cast(key, value, params[place]) for key, value in values.items()}
        )


@loads.mistake(breaks=STATE_OF)
def old_state_stays(opt: Optimizer, sd: State) -> None:
    """Parameters that have no state in the file have one after the load. Perhaps it is the one from before:
    opt.state was updated and not replaced.
    """
    params = list(places(opt))
    for group, saved in zip(opt.param_groups, sd["param_groups"], strict=True):
        group.update(options(saved))
    for place, values in sd["state"].items():
        opt.state[params[place]] = {key: cast(key, value, params[place]) for key, value in values.items()}


@loads.mistake(breaks="Puts `opt` where the optimizer stood from which `sd` came; in place.")
def old_names_stay(opt: Optimizer, sd: State) -> None:
    """After the load the states have a name that the file's do not have. Perhaps it is from before the load, since
    they were updated name by name: amsgrad's max_exp_avg_sq of an older run would stay.
    """
    old = {param: dict(values) for param, values in opt.state.items()}
    load(opt, sd)
    for param, values in opt.state.items():
        opt.state[param] = old.get(param, {}) | values


@loads.mistake()
def options_shared(opt: Optimizer, sd: State) -> None:
    """After the load, training changed the options in the dict, a tensor lr and a list. Perhaps the groups took
    them without a copy: every optimizer that loads the dict shares them.
    """
    load(opt, sd)
    for group, saved in zip(opt.param_groups, sd["param_groups"], strict=True):
        group.update({key: value for key, value in saved.items() if key != "params"})


@loads.mistake()
def sizes_not_compared(opt: Optimizer, sd: State) -> None:
    """A file whose groups do not fit was taken, with no error. Compare the number of groups and the size of each:
    else averages may go to the wrong parameters, without a word.
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


@loads.mistake(breaks=STATE_OF)
def plain_dict(opt: Optimizer, sd: State) -> None:
    """After the load, step() ends in a KeyError when a parameter has its first gradient. Perhaps opt.state became a
    plain dict: step() expects one that makes missing entries.
    """
    load(opt, sd)
    opt.state = dict(opt.state)


@loads.mistake()
def dtype_not_matched(opt: Optimizer, sd: State) -> None:
    """After a load for parameters of float64 the tensors of all states are of float32. Perhaps they kept the dtype of the
    file: for parameters of a different dtype the averages stay wider or narrower than the weights.
    """
    load(opt, sd, lambda key, value, param: copy.deepcopy(value))


def cast_these(*names: str) -> Callable[[Optimizer, State], None]:
    """Casts the tensors of these names, and copies the others."""
    return lambda opt, sd: load(
        opt,
        sd,
        lambda key, value, param: cast(key, value, param) if key in names else copy.deepcopy(value),
    )


@loads.mistake(breaks=KINDS_OF)
def some_names_cast(opt: Optimizer, sd: State) -> None:
    """Tensors of some names get the dtype of their parameter, and others do not. Perhaps the names were
    listed: every optimizer has names of its own, and only "step" is left as it is.
    """
    cast_these("exp_avg", "exp_avg_sq")(opt, sd)


loads.variant(some_names_cast)(cast_these("exp_avg", "exp_avg_sq", "max_exp_avg_sq"))
loads.variant(some_names_cast)(cast_these("momentum_buffer"))
loads.variant(some_names_cast)(cast_these("exp_avg", "exp_avg_sq", "momentum_buffer"))
loads.variant(some_names_cast)(cast_these("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "momentum_buffer"))


@loads.mistake(breaks="Puts `opt` where the optimizer stood from which `sd` came; in place.")
def values_cast_as_tensors(opt: Optimizer, sd: State) -> None:
    """Loading ends in an AttributeError where a state holds a number. Perhaps every value was taken for a tensor: ask
    isinstance(value, torch.Tensor), and copy the others.
    """
    load(opt, sd, lambda key, value, param: value.clone() if key == "step" else value.to(param, copy=True))


loads.variant(values_cast_as_tensors)(
    lambda opt, sd: load(opt, sd, lambda key, value, param: value.to(param, copy=True))
)
loads.variant(values_cast_as_tensors)(
    lambda opt, sd: load(opt, sd, lambda key, value, param: value.detach().clone().to(param.dtype))
)


@loads.mistake()
def step_cast_too(opt: Optimizer, sd: State) -> None:
    """After the load step has the dtype of the parameter. Perhaps it was cast with the other tensors: it counts, and
    bfloat16 counts to 256.
    """
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


@loads.variant(file_edited)
def _(opt: Optimizer, sd: State) -> None:
    refuse(opt, sd)
    load(opt, sd)
    for group in sd["param_groups"]:
        group.pop("params")


@loads.variant(file_edited)
def _(opt: Optimizer, sd: State) -> None:
    """The states are taken out of it."""
    refuse(opt, sd)
    load(opt, sd)
    for place in list(sd["state"]):
        sd["state"].pop(place)


@loads.mistake(breaks="`sd` is left as it is, and shares no memory with `opt` afterwards.")
def cast_in_the_file(opt: Optimizer, sd: State) -> None:
    """A load for parameters of float64 changed the states in the dict; one for parameters of float32 left them. Perhaps what
    was cast was written back into `sd`: with equal dtypes `.to` gives the same tensor, and nothing shows.
    """
    load(opt, sd)
    params = list(places(opt))
    for place, values in sd["state"].items():
        for key, value in values.items():
            if isinstance(value, Tensor) and key != "step":
                values[key] = value.to(params[place].dtype)


@loads.mistake(breaks=KINDS_OF)
def scalars_keep_their_dtype(opt: Optimizer, sd: State) -> None:
    """The state of a scalar parameter has a different dtype than the parameter. Perhaps tensors without dimensions were taken for counts:
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
    """A parameter has the state of a different one. Perhaps the states were dealt out in the order in which they stand in the
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


@loads.mistake(breaks="Puts `opt` where the optimizer stood from which `sd` came")
def numbers_made_tensors(opt: Optimizer, sd: State) -> None:
    """In the states there are tensors where the file has numbers. Perhaps every value was made a tensor: an optimizer may
    keep a plain number, as its count of steps, or None.
    """
    load(opt, sd, lambda key, value, param: cast(key, as_tensor(value), param))


def as_tensor(value: Any) -> Any:
    """A tensor of each number."""
    return torch.tensor(float(value)) if isinstance(value, int | float) else value


@loads.variant(numbers_made_tensors)
def _(opt: Optimizer, sd: State) -> None:
    """Numbers with a point only."""
    load(opt, sd, lambda key, v, param: cast(key, as_tensor(v) if isinstance(v, float) else v, param))


@loads.variant(numbers_made_tensors)
def _(opt: Optimizer, sd: State) -> None:
    """Integers only."""
    load(opt, sd, lambda key, v, param: cast(key, as_tensor(v) if isinstance(v, int) else v, param))


@optimizer_state.variant(states_in_turn)
@returned
def _():
    def in_order(opt: Optimizer) -> State:
        whole = save(opt)
        return whole | {"state": dict(sorted(whole["state"].items()))}

    return (in_order, states_in_turn)


@loads.mistake(breaks=OPTIONS_OF)
def new_options_left_out(opt: Optimizer, sd: State) -> None:
    """After the load initial_lr is missing in the groups, and all other options are right. Perhaps only options that the
    groups had before were taken, or those of opt.defaults: a scheduler's stand in the file and are new to both.
    """
    known = [set(group) for group in opt.param_groups]
    load(opt, sd)
    for group, names in zip(opt.param_groups, known, strict=True):
        for name in set(group) - names:
            del group[name]


@loads.variant(only_lr_taken)
def _(opt: Optimizer, sd: State) -> None:
    refuse(opt, sd)
    own = [dict(group) for group in opt.param_groups]
    load(opt, sd)
    for group, before, saved in zip(opt.param_groups, own, sd["param_groups"], strict=True):
        group.clear()
        group.update(before | {"lr": copy.deepcopy(saved["lr"])})


@loads.mistake(breaks="Puts `opt` where the optimizer stood from which `sd` came; in place.")
def only_states_that_are_there(opt: Optimizer, sd: State) -> None:
    """An optimizer that has taken no step gets no states from the file. Perhaps the loop fills only the states that are
    there, or goes over opt.state, which is empty until the first step: a run that resumes begins like this.
    """
    old = {id(param) for param in opt.state}
    load(opt, sd)
    for param in list(opt.state):
        if id(param) not in old:
            del opt.state[param]


@loads.mistake(breaks="groups and parameters are matched by their place.")
def frozen_passed_over(opt: Optimizer, sd: State) -> None:
    """The parameters behind a frozen one have no state, or that of a different one. Perhaps only those that require a
    gradient were matched with the file: a frozen one has a place, too.
    """
    indices = [place for group in sd["param_groups"] for place in group["params"]]
    load(opt, sd)
    opt.state.clear()
    for place, param in zip(indices, [param for param in places(opt) if param.requires_grad], strict=False):
        if place in sd["state"]:
            opt.state[param] = {key: cast(key, value, param) for key, value in sd["state"][place].items()}


@loads.mistake(breaks='"step", which counts, stays as it is.')
def step_made_a_number(opt: Optimizer, sd: State) -> None:
    """After the load "step" is a number of Python, and opt.step() ends in an error. Perhaps `.item()` was called on it:
    in the file it is a tensor.
    """
    load(
        opt,
        sd,
        lambda key, value, param: (
            value.item() if key == "step" and isinstance(value, Tensor) else cast(key, value, param)
        ),
    )


@loads.variant(step_made_a_number)
def _(opt: Optimizer, sd: State) -> None:
    load(opt, sd, lambda key, value, param: int(value) if key == "step" else cast(key, value, param))


@loads.mistake(breaks="groups and parameters are matched by their place.")
def counted_in_each_group(opt: Optimizer, sd: State) -> None:
    """The first parameter of each group has the state of parameter 0. Perhaps the place in a group was taken for the index in
    the file: that one counts on through all groups.
    """
    load(opt, sd)
    opt.state.clear()
    for group in opt.param_groups:
        for place, param in enumerate(group["params"]):
            if place in sd["state"]:
                opt.state[param] = {key: cast(key, value, param) for key, value in sd["state"][place].items()}


@loads.mistake(breaks="Puts `opt` where the optimizer stood from which `sd` came")
def only_tensors_loaded(opt: Optimizer, sd: State) -> None:
    """After the load numbers and None are missing in the states. Perhaps only tensors were taken: an optimizer may keep
    more.
    """
    load(opt, sd)
    for values in opt.state.values():
        for key in [key for key, value in values.items() if not isinstance(value, Tensor)]:
            del values[key]


@loads.mistake(breaks="A parameter without a state in `sd` has none afterwards")
def a_state_for_all_expected(opt: Optimizer, sd: State) -> None:
    """Loading ended in a KeyError whose key is the number of a parameter without a state in the file. Perhaps sd["state"] was
    asked for every parameter: those that have had no gradient yet do not stand there.
    """
    for place in range(len(places(opt))):
        sd["state"][place]
    load(opt, sd)
