"""The optimizers on which 04.optimizer_state is tried: three groups, one of them added in mid-run, and a latecomer."""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import torch
from torch import Tensor
from torch.nn import Parameter
from torch.optim import SGD, AdamW, Optimizer

from helpers.check.compare import shown
from helpers.check.trial import Trial

SHAPES = ((3, 2), (4,), (2, 2), (), (5,))
# Have their first gradient after the file was written: one in the middle, which is frozen until then, and the last.
WITHOUT_STATE = (1, 4)
FROZEN = 1
WITH_STATE = [0, 2, 3]
PLACES = [[0, 1], [2], [3, 4]]  # the parameters of each group


class Mixed(Optimizer):
    """An optimizer whose state holds what states may hold: a count, None or a number, tensors of two classes.

    Its options are a tensor for lr, and a list. keep: whether it remembers the largest gradient, too.
    """

    def __init__(self, groups: Any, lr: float = 0.1, keep: bool = False, weight_decay: float = 0.0) -> None:
        super().__init__(groups, {"lr": lr, "keep": keep, "weight_decay": weight_decay})
        for group in self.param_groups:
            group["lr"], group["milestones"] = torch.tensor(float(group["lr"])), [3, 7]

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    self._move(param, self.state[param], group)

    def _move(self, param: Tensor, own: dict[str, Any], group: dict[str, Any]) -> None:
        own["step"] = own.get("step", 0) + 1
        own["norm"] = float(param.grad.norm()) if own["step"] > 1 else None
        own.setdefault("mean", torch.zeros_like(param)).lerp_(param.grad, 1 / own["step"])
        own.setdefault("start", Parameter(param.detach().clone(), requires_grad=False))
        if group["keep"]:
            own["largest"] = param.grad.abs()
        param.add_(own["mean"] - 0.1 * (param - own["start"]), alpha=-float(group["lr"]))


KINDS: dict[str, Callable[..., Optimizer]] = {
    "SGD with momentum": lambda groups, **more: SGD(groups, **{"lr": 0.1, "momentum": 0.9} | more),
    "AdamW": lambda groups, **more: AdamW(groups, **{"lr": 0.01, "amsgrad": True} | more),
    "an optimizer of one's own": Mixed,
}
OTHER = {
    "SGD with momentum": {"lr": 0.7, "momentum": 0.5, "weight_decay": 0.2},
    "AdamW": {"lr": 0.7, "betas": (0.5, 0.6), "weight_decay": 0.2},
    "an optimizer of one's own": {"lr": 0.7, "keep": True},
}


@functools.cache
def get_ready() -> None:
    """Make the first optimizer of each class, which wraps the step of the class: no check sees that change.

    Not when the lab is imported: the very first one takes a second, for imports. And make the first file: torch.load
    takes its time to get ready, too.
    """
    for build in KINDS.values():
        build([{"params": [Parameter(torch.zeros(()))]}])
    memory = io.BytesIO()
    torch.save({"a parameter": torch.zeros(2)}, memory)
    memory.seek(0)
    torch.load(memory, weights_only=True)


def params_of(opt: Optimizer) -> list[Any]:
    """All parameters, in the order of the groups."""
    return [param for group in opt.param_groups for param in group["params"]]


def in_mid_run(generator: torch.Generator, kind: str, dtype: torch.dtype = torch.float32) -> Optimizer:
    """After three steps: parameter 0 joined at the second one, a group was added before the third."""
    params = [Parameter(torch.randn(shape, generator=generator).to(dtype)) for shape in SHAPES]
    params[FROZEN].requires_grad_(False)
    groups = [{"params": params[:2]}, {"params": params[2:3], "lr": 0.05, "weight_decay": 0.1}]
    opt = KINDS[kind](groups)
    for moving in ((2,), (0, 2), (0, 3)):
        if 3 in moving:
            opt.add_param_group({"params": params[3:], "lr": 0.02})
        step(opt, generator, moving)
    for group in opt.param_groups:
        group["initial_lr"] = 2 * group["lr"]  # what a scheduler leaves there
    return opt


def step(opt: Optimizer, generator: torch.Generator, moving: tuple[int, ...] = (0, 1, 2, 3, 4)) -> None:
    """One step with random gradients, the same numbers for any dtype, for these parameters."""
    _forget_gradients(opt)
    for place, param in enumerate(params_of(opt)):
        if place in moving:
            param.grad = torch.randn(param.shape, generator=generator).to(param.dtype)
    opt.step()
    _forget_gradients(opt)


def _forget_gradients(opt: Optimizer) -> None:
    """As opt.zero_grad() does, which takes as long as a step."""
    for param in params_of(opt):
        if param.grad is not None:
            param.grad = None


def newly_built(
    trial: Trial, kind: str, dtype: torch.dtype = torch.float32, *, stepped: bool = True
) -> Optimizer:
    """Another optimizer for as many parameters: other numbers, other options, and a step that is to be forgotten.

    stepped: False for one that has never taken a step, as in a process that has just begun.
    """
    params = [Parameter(torch.randn(shape, generator=trial.generator).to(dtype)) for shape in SHAPES]
    groups = [{"params": [params[place] for place in places]} for places in PLACES]
    opt = KINDS[kind](groups, **OTHER[kind])
    if stepped:
        step(opt, trial.generator)
    params[FROZEN].requires_grad_(False)
    return opt


def train_on(opt: Optimizer, generator: torch.Generator) -> None:
    """One step, and options changed where they lie, as schedulers change a tensor lr."""
    step(opt, generator)
    for group in opt.param_groups:
        group["lr"] *= 0.5
        group.get("milestones", []).append(9)


def file_of(opt: Optimizer) -> dict[str, Any]:
    """What torch's state_dict holds, in memory of its own."""
    return copied(Optimizer.state_dict(opt))


def file_in_mid_run(trial: Trial, kind: str) -> dict[str, Any]:
    """What torch's state_dict holds of an optimizer in mid-run. Made once for all properties; each gets a copy."""
    return copied(_file(trial.seed, kind))


@functools.lru_cache(maxsize=len(KINDS))
def _file(seed: int, kind: str) -> dict[str, Any]:
    # Of a seed of its own: else the optimizer that is to load it would begin with the same weights.
    return file_of(in_mid_run(torch.Generator().manual_seed(seed + 1), kind))


def copied(value: Any) -> Any:
    """A copy that shares no tensor, list or dict."""
    if isinstance(value, Tensor):
        plain = value.detach().clone()
        return Parameter(plain, value.requires_grad) if isinstance(value, Parameter) else plain
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(copied(item) for item in value)
    return value


def shared_with(one: Any, other: Any) -> list[str]:
    """By which names tensors, lists and dicts in `one` are, or lie in, those in `other`."""
    theirs = {key for _, key in _memories(other)}
    return sorted({name for name, key in _memories(one) if key in theirs})


def _memories(value: Any, name: str = "") -> Iterator[tuple[str, tuple[str, int]]]:
    """Names, with the address of the memory of a tensor or with the identity of a container."""
    if isinstance(value, Tensor):
        if value.numel():
            yield name, ("memory", value.untyped_storage().data_ptr())
        return
    if isinstance(value, dict | list):
        if name:
            yield name, ("object", id(value))
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if key != "params":
                yield from _memories(item, str(key) if isinstance(key, str) else name)


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same, to the bit and to the dtype."""
    if isinstance(one, Tensor) or isinstance(other, Tensor):
        both = isinstance(one, Tensor) and isinstance(other, Tensor)
        return both and one.dtype == other.dtype and torch.equal(one.detach(), other.detach())
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and bool(numpy.all(one == other))


def standing(opt: Optimizer) -> dict[str, Any]:
    """All that a load may change, copied: weights, options, states by the parameter's place."""
    params = params_of(opt)
    return {
        "weights": copied(params),
        "options": [
            {key: copied(value) for key, value in group.items() if key != "params"}
            for group in opt.param_groups
        ],
        "states": [copied(opt.state[param]) if param in opt.state else None for param in params],
    }


def off_places(got: dict[Any, Any], want: dict[int, dict[str, Any]]) -> list[tuple[int, str]]:
    """At which places what differs."""
    found = []
    for place, values in sorted(want.items(), key=lambda item: item[0] if isinstance(item[0], int) else -1):
        have = got.get(place)
        if not isinstance(have, dict):
            found.append((place, "no state"))
        elif description := _off(have, values):
            whose = [other for other in want if other != place and same(have, want[other])]
            found.append((place, f"the state of parameter {whose[0]}" if whose else description))
    return found


def _off(have: dict[str, Any], values: dict[str, Any]) -> str:
    """In words, what of one state is not as it should be."""
    if missing := [key for key in values if key not in have]:
        return f"{', '.join(missing)} missing"
    others = [key for key in values if not same(have[key], values[key])]
    if kinds := [key for key in others if isinstance(have[key], Tensor) != isinstance(values[key], Tensor)]:
        return ", ".join(f"{key} is of type {type(have[key]).__name__}" for key in kinds)
    if dtypes := [
        key for key in others if isinstance(have[key], Tensor) and have[key].dtype != values[key].dtype
    ]:
        return f"{', '.join(dtypes)} of {', '.join(sorted({str(have[key].dtype) for key in dtypes}))}"
    if others:
        return f"{', '.join(others)} differs"
    extra = [key for key in have if key not in values]
    return f"{', '.join(extra)} left over" if extra else ""


def off_values(have: Any, values: dict[str, Any]) -> str:
    """Of one state the values that are not those of `values`; all where these are not what is wrong."""
    if not isinstance(have, dict):
        return shown(have)
    off = [
        key
        for key in {**values, **have}
        if not (key in have and key in values and same(have[key], values[key]))
    ]
    told = [
        f"{shown(key)}: {shown(value.detach() if isinstance(value, Tensor) else value)}"
        for key, value in have.items()
        if key in off or not off
    ]
    return "{" + ", ".join(told) + "}" + (" (those that differ)" if len(told) < len(have) else "")


def why_no_file(error: Exception) -> str:
    """What torch.save or torch.load says of a value that is no plain data, without its advice."""
    if found := re.search(r"GLOBAL (\S+)", str(error)):
        return f"torch.load with weights_only=True does not know {found[1]}"
    return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def not_plain(value: Any) -> list[str]:
    """The classes of what is no plain data in it."""
    if isinstance(value, dict):
        inner = [name for item in [*value.keys(), *value.values()] for name in not_plain(item)]
    elif isinstance(value, list | tuple):
        inner = [name for item in value for name in not_plain(item)]
    else:
        inner = []
    known = (dict, list, tuple, int, float, bool, str, type(None), Tensor, Parameter)
    return sorted({*inner, *([] if type(value) in known else [type(value).__name__])})


def moved_names(now: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """The names of values that are different ones now, in states and in groups."""
    states = [(now["state"].get(place, {}), values) for place, values in before["state"].items()]
    groups = zip(now["param_groups"], before["param_groups"], strict=False)
    return sorted(
        {
            key
            for mine, theirs in (*states, *groups)
            for key, value in theirs.items()
            if not same(mine.get(key), value)
        }
    )


def kind_of_key(key: Any, params: list[Tensor]) -> Any:
    """A key in words that hold for any run: an index, or what was written for it."""
    if isinstance(key, Tensor):
        return "a tensor"
    if isinstance(key, int) and key in [id(param) for param in params]:
        return "an address"
    return key if isinstance(key, int) else f"a {type(key).__name__}"


def differs_from_the_file(opt: Optimizer, sd: dict[str, Any]) -> str:
    """What of an optimizer that was loaded is not the file's, in words; it reads and makes no entry."""
    if [len(group["params"]) for group in opt.param_groups] != [len(places) for places in PLACES]:
        return "the groups are different ones"
    params = params_of(opt)
    if not all(isinstance(param, Tensor) for param in params):
        return "the groups hold no parameters"
    found = [
        f"{key} of group {place} is not the file's"
        for place, (mine, theirs) in enumerate(zip(opt.param_groups, sd["param_groups"], strict=True))
        for key in theirs
        if key != "params" and not (key in mine and same(mine[key], theirs[key]))
    ]
    states = {place: opt.state[param] for place, param in enumerate(params) if param in opt.state}
    # A key that is no place may be an address, which no two runs have in common.
    found += [
        f"parameter {place if place in range(len(params)) else 'under a key that is no place'}: {description}"
        for place, description in off_places(states, sd["state"])
    ]
    found += [
        f"parameter {place}: a state that the file does not have"
        for place in WITHOUT_STATE
        if states.get(place)
    ]
    if len(opt.state) > len(states):
        found.append("opt.state has keys that are no parameters of opt")
    return "; ".join(found[:4] + [f"and {len(found) - 4} more"] * (len(found) > 4))


def off_options(mine: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """The options of a group that are missing, or differ."""
    missing = [f"{key} (missing)" for key in theirs if key != "params" and key not in mine]
    others = [key for key in theirs if key != "params" and key in mine and not same(mine[key], theirs[key])]
    return sorted(missing + others)


def some_options(options: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Three of these options, those that are there."""
    names = [name.removesuffix(" (missing)") for name in names[:3]]
    return {name: options[name] for name in names if name in options}
