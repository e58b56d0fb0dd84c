"""What people write for optimizer_state_dict of 04.optimizer_state, and why it is wrong."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import chain, count
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from helpers.labs.optim import optimizer_state_load  # noqa: F401  the properties of the way in
from helpers.labs.optim.optimizer_state import optimizer_state

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


def load(opt: Optimizer, sd: State, value_of: Callable[[str, Any, Tensor], Any] = cast) -> None:
    """Right, so that a mistake in saving stands alone."""
    params = list(places(opt))
    for group, saved in zip(opt.param_groups, sd["param_groups"], strict=True):
        group.update(options(saved))
    opt.state.clear()
    for place, values in sd["state"].items():
        opt.state[params[place]].update(
            {key: value_of(key, value, params[place]) for key, value in values.items()}
        )


def mistaken_save(name: str, why: str, seen: str) -> Callable[[Any], Any]:
    """A wrong answer whose way out is wrong."""

    def add(function: Callable[[Optimizer], State]) -> Any:
        return optimizer_state.wrong_answer(name, why=why, seen=seen, answer=(function, load))

    return add


def form_of_save(name: str) -> Callable[[Any], Any]:
    return lambda function: optimizer_state.another_form(name)((function, load))


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


optimizer_state.wrong_answer(
    "keyed_by_address",
    why="id(param) is an address in this process. In the next one the parameters lie elsewhere, and a file of addresses "
    "says nothing of who is who.",
    seen="an address in this process",
    answer=(save_by_address, load_by_address),
)
optimizer_state.another_form("keyed_by_address")((save_by_address, load_in_turn))
optimizer_state.another_form("keyed_by_address")((save_by_address, load))


@mistaken_save(
    "keyed_by_parameter",
    "The parameters themselves stand as keys in the file. torch.save writes all weights with them, and after loading "
    "they are other objects, equal to none of the new model's.",
    "torch.save writes all weights with them",
)
def _(opt: Optimizer) -> State:
    return {"state": {param: copy.deepcopy(values) for param, values in opt.state.items()}} | {
        "param_groups": save(opt)["param_groups"]
    }


@form_of_save("keyed_by_parameter")
def _(opt: Optimizer) -> State:
    return {"state": dict(opt.state), "param_groups": save(opt)["param_groups"]}


@mistaken_save(
    "parameters_in_the_groups",
    'The groups were copied with their parameters: "params" holds weights in place of numbers, and whoever loads the '
    "file trains copies that belong to no model.",
    "holds weights in place of numbers",
)
def _(opt: Optimizer) -> State:
    return {"state": save(opt)["state"], "param_groups": copy.deepcopy(opt.param_groups)}


@form_of_save("parameters_in_the_groups")
def _(opt: Optimizer) -> State:
    return {"state": save(opt)["state"], "param_groups": [dict(group) for group in opt.param_groups]}


@mistaken_save(
    "numbers_restart_in_each_group",
    "The count starts at 0 again in each group, so that the first parameters of all groups share one number, and the "
    "last one's state overwrites the others.",
    "starts at 0 again in each group",
)
def _(opt: Optimizer) -> State:
    state, groups = {}, []
    for group in opt.param_groups:
        groups.append(options(group) | {"params": list(range(len(group["params"])))})
        for place, param in enumerate(group["params"]):
            if param in opt.state:
                state[place] = copy.deepcopy(opt.state[param])
    return {"state": state, "param_groups": groups}


@mistaken_save(
    "order_of_the_first_steps",
    "opt.state lists the parameters in the order in which they had their first gradient. That is the groups' order only "
    "if all of them had one in the first step.",
    "in the order in which they had their first gradient",
)
def _(opt: Optimizer) -> State:
    state = {place: copy.deepcopy(values) for place, values in enumerate(opt.state.values())}
    return {"state": state, "param_groups": save(opt)["param_groups"]}


@mistaken_save(
    "one_name_only",
    "Only momentum_buffer was saved: SGD has that, Adam has step, exp_avg and exp_avg_sq. The names are the optimizer's "
    "business; take what is there.",
    "The names are the optimizer's business",
)
def _(opt: Optimizer) -> State:
    whole = save(opt)
    for values in whole["state"].values():
        for key in [key for key in values if key != "momentum_buffer"]:
            del values[key]
    return whole


@mistaken_save(
    "tensors_only",
    "Only the averages were saved and not how many steps they are made of: Adam's bias correction starts at step 1 again, "
    "and the first steps are far too long.",
    "bias correction starts at step 1 again",
)
def _(opt: Optimizer) -> State:
    whole = save(opt)
    for values in whole["state"].values():
        values.pop("step", None)
    return whole


@mistaken_save(
    "only_lr_of_the_groups",
    "Of each group only lr was saved. Momentum, betas, weight_decay, and a scheduler's initial_lr are state, too: they "
    "may have been changed in the run.",
    "Of each group only lr was saved",
)
def _(opt: Optimizer) -> State:
    whole = save(opt)
    whole["param_groups"] = [{"lr": g["lr"], "params": g["params"]} for g in whole["param_groups"]]
    return whole


@mistaken_save(
    "defaults_for_the_groups",
    "opt.defaults is what the constructor was told. What holds now stands in the groups: each has its own options, and "
    "schedulers write there.",
    "what the constructor was told",
)
def _(opt: Optimizer) -> State:
    whole = save(opt)
    whole["param_groups"] = [dict(opt.defaults) | {"params": g["params"]} for g in whole["param_groups"]]
    return whole


@mistaken_save(
    "state_aliased",
    "The dict holds the optimizer's own tensors: a snapshot that moves with every step. torch's state_dict does that, "
    "too; only the trip through a file makes it one.",
    "a snapshot that moves with every step",
)
def _(opt: Optimizer) -> State:
    place = places(opt)
    return {
        "state": {place[param]: values for param, values in opt.state.items()},
        "param_groups": save(opt)["param_groups"],
    }


@form_of_save("state_aliased")
def _(opt: Optimizer) -> State:
    place = places(opt)
    return {
        "state": {place[param]: dict(values) for param, values in opt.state.items()},
        "param_groups": save(opt)["param_groups"],
    }


@mistaken_save(
    "saving_changes_the_groups",
    "The groups were not copied: the numbers were written over the optimizer's own list of parameters, and its next "
    "step fails.",
    "written over the optimizer's own list",
)
def _(opt: Optimizer) -> State:
    whole, numbers = save(opt), count()
    for group, saved in zip(opt.param_groups, whole["param_groups"], strict=True):
        group["params"] = saved["params"] = [next(numbers) for _ in group["params"]]
    return whole
