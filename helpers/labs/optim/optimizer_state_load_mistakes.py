"""What people write for load_optimizer_state of 04.optimizer_state, and why it is wrong."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from helpers.labs.optim.optimizer_state import optimizer_state
from helpers.labs.optim.optimizer_state_mistakes import State, cast, load, options, places, save


def mistaken_load(name: str, why: str, seen: str) -> Callable[[Any], Any]:
    """A wrong answer whose way in is wrong."""

    def add(function: Callable[[Optimizer, State], None]) -> Any:
        return optimizer_state.wrong_answer(name, why=why, seen=seen, answer=(save, function))

    return add


def form_of_load(name: str) -> Callable[[Any], Any]:
    return lambda function: optimizer_state.another_form(name)((save, function))


@mistaken_load(
    "lr_of_the_file_lost",
    "The options of the new optimizer were kept, and those of the file dropped: the run goes on with another learning "
    "rate than the one it had, which a schedule may have lowered long ago.",
    "which a schedule may have lowered long ago",
)
def _(opt: Optimizer, sd: State) -> None:
    params = list(places(opt))
    opt.state.clear()
    for place, values in sd["state"].items():
        opt.state[params[place]].update(
            {key: cast(key, value, params[place]) for key, value in values.items()}
        )


@mistaken_load(
    "lr_kept_on_purpose",
    "All options but lr were taken. That helps who wants a new learning rate, and breaks every resumed schedule; the "
    "text says that the file's holds. Who wants another one sets it after loading.",
    "sets it after loading",
)
def _(opt: Optimizer, sd: State) -> None:
    kept = [group["lr"] for group in opt.param_groups]
    load(opt, sd)
    for group, lr in zip(opt.param_groups, kept, strict=True):
        group["lr"] = lr


@mistaken_load(
    "numbers_for_parameters",
    "The groups of the file replaced the optimizer's, with numbers where the parameters were. Nothing of the model is "
    "left in the optimizer.",
    "with numbers where the parameters were",
)
def _(opt: Optimizer, sd: State) -> None:
    load(opt, sd)
    opt.param_groups = copy.deepcopy(sd["param_groups"])


@form_of_load("numbers_for_parameters")
def _(opt: Optimizer, sd: State) -> None:
    load(opt, sd)
    for group, saved in zip(opt.param_groups, sd["param_groups"], strict=True):
        group.update(copy.deepcopy(saved))


@mistaken_load(
    "numbers_stay_keys",
    "The state of the file was taken as it is, with numbers as keys. step() looks for parameters, finds none, and starts "
    "every average from zero, without a word.",
    "starts every average from zero",
)
def _(opt: Optimizer, sd: State) -> None:
    load(opt, sd)
    opt.state.clear()
    opt.state.update(copy.deepcopy(sd["state"]))


@mistaken_load(
    "old_state_stays",
    "opt.state was updated and not replaced: a parameter that has no state in the file keeps the one from before.",
    "keeps the one from before",
)
def _(opt: Optimizer, sd: State) -> None:
    params = list(places(opt))
    for group, saved in zip(opt.param_groups, sd["param_groups"], strict=True):
        group.update(options(saved))
    for place, values in sd["state"].items():
        opt.state[params[place]] = {key: cast(key, value, params[place]) for key, value in values.items()}


@mistaken_load(
    "plain_dict",
    "opt.state became a plain dict. step() asks it for the state of a parameter that has none yet, and expects an empty "
    "one: a layer that is unfrozen later ends in a KeyError.",
    "a layer that is unfrozen later",
)
def _(opt: Optimizer, sd: State) -> None:
    load(opt, sd)
    opt.state = dict(opt.state)


@mistaken_load(
    "dtype_not_matched",
    "The states keep the dtype of the file. For a model in another dtype the averages stay wider or narrower than the "
    "weights: other memory, other rounding, and fused kernels refuse the mix.",
    "fused kernels refuse the mix",
)
def _(opt: Optimizer, sd: State) -> None:
    load(opt, sd, lambda key, value, param: copy.deepcopy(value))


@mistaken_load(
    "step_cast_too",
    "step was cast with the other tensors. It counts, and bfloat16 counts to 256: from then on the bias correction stands "
    "still.",
    "bfloat16 counts to 256",
)
def _(opt: Optimizer, sd: State) -> None:
    load(
        opt, sd, lambda key, value, param: value.to(param, copy=True) if isinstance(value, Tensor) else value
    )


@mistaken_load(
    "file_aliased",
    "The optimizer took the tensors of the dict and no copies: its steps change the dict, and a second optimizer that "
    "loads it shares one momentum with the first. torch's load_state_dict does that, too, when the dtype fits.",
    "shares one momentum with the first",
)
def _(opt: Optimizer, sd: State) -> None:
    load(
        opt,
        sd,
        lambda key, value, param: value.to(param) if isinstance(value, Tensor) and key != "step" else value,
    )


@mistaken_load(
    "file_edited",
    "The parameters were written into the groups of the dict that was given: it is no file any more, and whoever loads "
    "it next gets this optimizer's parameters.",
    "it is no file any more",
)
def _(opt: Optimizer, sd: State) -> None:
    own = [group["params"] for group in opt.param_groups]
    load(opt, sd)
    for group, params in zip(sd["param_groups"], own, strict=True):
        group["params"] = params
    opt.param_groups = sd["param_groups"]


def torchs_save(opt: Optimizer) -> State:
    return copy.deepcopy(opt.state_dict())


def torchs_load(opt: Optimizer, sd: State) -> None:
    opt.load_state_dict(copy.deepcopy(sd))


optimizer_state.wrong_answer(
    "torchs_own",
    why="opt.state_dict() and opt.load_state_dict() are what the exercise builds again.",
    seen="are what the exercise builds again",
    answer=(torchs_save, torchs_load),
)
optimizer_state.another_form("torchs_own")((torchs_save, load))
optimizer_state.another_form("torchs_own")((save, torchs_load))


def bare_save(opt: Optimizer) -> State:
    return torch.optim.Optimizer.state_dict(opt)


def bare_load(opt: Optimizer, sd: State) -> None:
    torch.optim.Optimizer.load_state_dict(opt, sd)


optimizer_state.another_form("torchs_own")((bare_save, bare_load))
