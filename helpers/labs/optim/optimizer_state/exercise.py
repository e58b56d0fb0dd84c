"""Exercise 04.optimizer_state: what an optimizer knows, brought into another process."""

from __future__ import annotations

import io
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from helpers.check.calls import calls_to
from helpers.check.compare import shown
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.optim.optimizer_state.inputs import (
    KINDS,
    PLACES,
    WITHOUT_STATE,
    copied,
    file_in_mid_run,
    file_of,
    get_ready,
    in_mid_run,
    moved_names,
    newly_built,
    off_places,
    params_of,
    same,
    shared_with,
    standing,
    step,
    train_on,
)

optimizer_state = Exercise(
    "04.optimizer_state",
    "The state of an optimizer, in a file and back",
    objective="Save what an optimizer knows so that another process, with other tensors, goes on where this one stood.",
    minutes=30,
    difficulty="medium",
    core=False,
    prepare=get_ready,
    names=("optimizer_state_dict", "load_optimizer_state"),
    hints=[
        "opt.state has the parameters themselves as keys. In another process there are other tensors: what do the old "
        "and the new ones have in common?",
        "Count the parameters through all groups: 0, 1, 2, ... A dict from parameter to number (a tensor is its own "
        "key) translates on the way out, one from number to parameter on the way in.",
        "copy.deepcopy on the way out and on the way in. Going in: check the sizes before you touch anything, "
        "clear opt.state and fill it again (it makes a missing entry by itself), and keep group['params'].",
        "value.to(param) takes over dtype and device of the parameter; leave 'step' as it is, and what is no tensor.",
    ],
)

RNG = ("torch RNG",)


def written(answer: Any, trial: Trial, opt: Optimizer) -> dict[str, Any]:
    """What optimizer_state_dict gives, if it has the two parts, each of its kind."""
    got = trial.call(answer[0], opt)
    trial.true(
        isinstance(got, dict),
        f"optimizer_state_dict gave {'None' if got is None else f'an object of type {type(got).__name__}'}.",
        expected="a dict",
        observed=("kind", type(got).__name__),
    )
    missing = [key for key in ("state", "param_groups") if key not in got]
    trial.true(not missing, f"The dict has no key {missing}.", got=sorted(map(str, got)), observed=missing)
    groups = got["param_groups"]
    trial.true(
        isinstance(got["state"], dict)
        and isinstance(groups, list)
        and all(isinstance(g, dict) for g in groups),
        "The parts are of another kind than torch's.",
        expected='a dict under "state", a list of dicts under "param_groups"',
        got=shown(groups),
        observed=("parts", type(got["state"]).__name__, type(groups).__name__),
    )
    return got


def _some(options: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Three of these options, those that are there."""
    return {name: options[name] for name in names[:3] if name in options}


def _kind_of_key(key: Any, params: list[Tensor]) -> Any:
    """A key in words that hold for any run: an index, or what was written for it."""
    if isinstance(key, Tensor):
        return "a parameter"
    if isinstance(key, int) and key in [id(param) for param in params]:
        return "an address"
    return key if isinstance(key, int) else f"a {type(key).__name__}"


@optimizer_state.property(
    "parameters are named by their place: 0, 1, 2, ... through all groups",
    asks='"state": {index: {name: value}} for each parameter that has a state; an index counts the parameters through all groups in the order of `opt.param_groups`: 0, 1, 2, ...',
)
def _(answer: Any, trial: Trial) -> None:
    opt = in_mid_run(trial.generator, "AdamW")
    params = params_of(opt)
    trial.given("AdamW with groups of 2, 1 and 2 parameters; the last one has had no gradient yet")
    got = written(answer, trial, opt)
    places = [[_kind_of_key(key, params) for key in group.get("params", ())] for group in got["param_groups"]]
    trial.true(
        places == PLACES,
        'The lists under "params" do not count the parameters through the groups.',
        expected=str(PLACES),
        got=places,
        observed=("params", places),
    )
    keys = [_kind_of_key(key, params) for key in got["state"]]
    trial.true(
        all(isinstance(key, int) for key in keys) and sorted(keys) == [0, 1, 2, 3],
        'The keys of "state" are not the places of the parameters that have a state.',
        expected="0, 1, 2, 3",
        got=keys,
        observed=("keys", keys),
    )


@optimizer_state.property("saving leaves the optimizer as it is", asks="`opt` is left as it is.")
def _(answer: Any, trial: Trial) -> None:
    for kind in KINDS:
        opt = in_mid_run(trial.generator, kind)
        trial.given(f"{kind} in mid-run, saved twice")
        before, groups = standing(opt), [list(group["params"]) for group in opt.param_groups]
        first = copied(written(answer, trial, opt))
        now = [list(group["params"]) for group in opt.param_groups]
        kept = [len(group) for group in now] == [len(group) for group in groups] and all(
            map(is_same_object, sum(now, []), sum(groups, []))
        )
        trial.true(
            kept,
            "After optimizer_state_dict the groups of the optimizer itself no longer hold its parameters.",
            expected="the Parameter objects, as before",
            got=[[type(item).__name__ for item in group] for group in now],
            observed="other parameters",
        )
        changed = [part for part, value in standing(opt).items() if not same(value, before[part])]
        trial.true(
            not changed,
            f"optimizer_state_dict changed the optimizer itself: its {' and '.join(changed)}.",
            expected="the same values in opt.param_groups and opt.state, and no new entries",
            observed=("changed", changed),
        )
        foreign = [type(key).__name__ for key in opt.state if not any(key is p for p in sum(groups, []))]
        trial.true(not foreign, "opt.state has gained a key.", got=foreign, observed=("keys", foreign))
        trial.true(
            same(written(answer, trial, opt), first),
            "A second call gives a different dict.",
            expected=shown(first),
            observed="different at the second call",
        )


@optimizer_state.property(
    "the file holds each parameter's whole state",
    asks=(
        "What a new process needs to go on where `opt` stands; the same layout as torch's `opt.state_dict()`.",
        '"state": {index: {name: value}} for each parameter that has a state; an index counts the parameters through all groups in the order of `opt.param_groups`: 0, 1, 2, ...',
    ),
)
def _(answer: Any, trial: Trial) -> None:
    for kind in KINDS:
        opt = in_mid_run(trial.generator, kind)
        trial.given(f"{kind} after three steps; a parameter joined at the second, a group before the third")
        want = file_of(opt)["state"]
        got = written(answer, trial, opt)["state"]
        off = off_places(got, want)
        place = off[0][0] if off else 0
        trial.true(
            not off,
            'The values under "state" are not those of the parameters at these places: '
            + "; ".join(f"{place}: {description}" for place, description in off[:3])
            + ".",
            expected=f"at place {place}: {shown(want.get(place))}",
            got=f"at place {place}: {shown(got.get(place))}",
            observed=(kind, off),
        )


@optimizer_state.property(
    "the file holds all options of every group",
    asks='"param_groups": a list of dicts, each with all options of its group, and under "params" the indices.',
)
def _(answer: Any, trial: Trial) -> None:
    for kind in KINDS:
        opt = in_mid_run(trial.generator, kind)
        trial.given(
            f"{kind} with three groups of different lr and weight_decay, and a scheduler's initial_lr"
        )
        want = file_of(opt)["param_groups"]
        got = written(answer, trial, opt)["param_groups"]
        trial.true(len(got) == len(want), "The number of groups differs.", expected="3", got=len(got))
        off = [
            sorted(
                key
                for key in theirs
                if key != "params" and not (key in mine and same(mine[key], theirs[key]))
            )
            for mine, theirs in zip(got, want, strict=True)
        ]
        trial.true(
            not any(off),
            f"Options are missing, or differ: {', '.join(sorted({name for names in off for name in names})[:6])}.",
            expected=shown([_some(theirs, names) for theirs, names in zip(want, off, strict=True)]),
            got=shown([_some(mine, names) for mine, names in zip(got, off, strict=True)]),
            observed=(kind, off),
        )


@optimizer_state.property(
    "a snapshot: what the optimizer does later is not in it",
    asks="A snapshot: copies of all values (tensors, numbers, None), so that training on changes nothing in it.",
)
def _(answer: Any, trial: Trial) -> None:
    for kind in KINDS:
        opt = in_mid_run(trial.generator, kind)
        trial.given(f"{kind}: saved, then trained one step on, with another lr, and with one more group")
        got = written(answer, trial, opt)
        before = copied(got)
        train_on(opt, trial.generator)
        for group in opt.param_groups:
            group["params"].reverse()
        opt.add_param_group({"params": [torch.nn.Parameter(torch.zeros(1))]})
        moved = [part for part in ("state", "param_groups") if not same(got[part], before[part])]
        trial.true(
            not moved,
            f"Training on changed what had been saved, under {' and '.join(map(repr, moved))}.",
            expected="a dict that shares no tensor, no list and no dict with the optimizer",
            observed=("shared", moved, moved_names(got, before)),
        )
        both = shared_with(got["state"], [*opt.state.values()]) + shared_with(
            got["param_groups"], opt.param_groups
        )
        trial.true(
            not both,
            f"What was saved shares memory with the optimizer: {', '.join(both[:3])}.",
            expected="copies of all values",
            observed=("one memory", both),
        )


def is_same_object(one: Any, other: Any) -> bool:
    return one is other


@optimizer_state.property(
    "saved to a file and loaded in a new optimizer, the run goes on as if nothing had happened",
    asks=(
        "Puts `opt` where the optimizer stood from which `sd` came; in place.",
        "It is plain data: torch.load with weights_only=True takes it.",
    ),
)
def _(answer: Any, trial: Trial) -> None:
    for kind in KINDS:
        trial.given(f"{kind}: saved, torch.save, torch.load, loaded for new parameters; three steps on")
        opt = in_mid_run(trial.generator, kind)
        memory = io.BytesIO()
        try:
            torch.save(written(answer, trial, opt), memory)
            memory.seek(0)
            sd = torch.load(memory, weights_only=True)
        except Exception as error:
            if "pickle" in str(error).lower() or "weights" in str(error).lower():
                trial.fail(
                    "The dict does not come through torch.save and torch.load(weights_only=True).",
                    observed="no plain data",
                )
            raise
        new = newly_built(trial, kind)
        with torch.no_grad():
            for mine, theirs in zip(params_of(new), params_of(opt), strict=True):
                mine.copy_(theirs)
        trial.call(answer[1], new, sd)
        steps = trial.random.randrange(2**31)
        _go_on(trial, opt, steps, "the run that was not interrupted")
        stands = _stands(new, sd)
        _go_on(
            trial,
            new,
            steps,
            f"the resumed run, after the load ({stands or 'options and states are those of the file'})",
        )
        trial.true(
            same(copied(params_of(new)), copied(params_of(opt))),
            "Three steps later the weights differ from those of the run that was not interrupted. After the load: "
            + (stands or "options and states are those of the file, to the bit")
            + ".",
            expected=shown(params_of(opt)[0]),
            got=shown(params_of(new)[0]) if params_of(new) else "no parameters",
            observed=("different weights", kind, stands),
        )


def _go_on(trial: Trial, run: Optimizer, steps: int, whose: str) -> None:
    """Three steps; an error tells whose steps they were."""
    generator = torch.Generator().manual_seed(steps)
    for _ in range(3):
        try:
            step(run, generator)
        except Exception as error:
            trial.fail(
                f"opt.step() raised {type(error).__name__} in {whose}.",
                expected="an optimizer that can go on",
                got=f"{type(error).__name__}: {error}"
                if isinstance(error, AttributeError)
                else type(error).__name__,
                observed=("step raised", type(error).__name__, whose),
            )


def _stands(opt: Optimizer, sd: dict[str, Any]) -> str:
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
    if states.get(WITHOUT_STATE):
        found.append(f"parameter {WITHOUT_STATE}: a state that the file does not have")
    if len(opt.state) > len(states):
        found.append("opt.state has keys that are no parameters of opt")
    return "; ".join(found[:3] + [f"and {len(found) - 3} more"] * (len(found) > 3))


@optimizer_state.property(
    "the work is done here, and not by the optimizer's own state_dict",
    asks=(
        "Torch's own `opt.state_dict()` is not called.",
        "Torch's own `opt.load_state_dict` is not called.",
    ),
)
def _(answer: Any, trial: Trial) -> None:
    opt, sd = newly_built(trial, "AdamW"), file_in_mid_run(trial, "AdamW")
    trial.given("AdamW in mid-run")
    with calls_to(Optimizer.state_dict, Optimizer.load_state_dict) as seen:
        written(answer, trial, opt)
        trial.call(answer[1], opt, sd)
    trial.true(
        not seen,
        f"The answer calls {' and '.join(sorted(set(seen)))}, which the exercise builds again.",
        expected="opt.state and opt.param_groups, read and written by the answer",
        observed="torch's own",
    )


# Of load_optimizer_state; its files are torch's own.


@optimizer_state.property(
    "the options, the learning rate too, are those of the file",
    asks="All other options, the learning rate too, are those of `sd`.",
)
def _(answer: Any, trial: Trial) -> None:
    for kind in KINDS:
        trial.given(
            f"{kind}: a file with lr 0.1 and others, loaded into an optimizer that was built with lr 0.7"
        )
        opt, sd = newly_built(trial, kind), file_in_mid_run(trial, kind)
        trial.call(answer[1], opt, sd)
        off = [
            sorted(
                key
                for key in theirs
                if key != "params" and not (key in mine and same(mine[key], theirs[key]))
            )
            for mine, theirs in zip(opt.param_groups, sd["param_groups"], strict=False)
        ]
        trial.true(
            len(opt.param_groups) == len(sd["param_groups"]) and not any(off),
            f"After loading, these options are not the file's: "
            f"{', '.join(sorted({name for names in off for name in names})[:6])}.",
            expected=f"lr {[group['lr'] for group in sd['param_groups']]} for the three groups, and so on",
            got=f"lr {[group.get('lr') for group in opt.param_groups]}",
            observed=(kind, off),
        )


@optimizer_state.property(
    "loading moves no parameter: the groups hold the optimizer's own",
    asks="The parameters stay those of `opt`: groups and parameters are matched by their place.",
)
def _(answer: Any, trial: Trial) -> None:
    opt, sd = newly_built(trial, "SGD with momentum"), file_in_mid_run(trial, "SGD with momentum")
    trial.given("SGD with momentum, groups of 2, 1 and 2 parameters")
    params, weights = params_of(opt), copied(params_of(opt))
    trial.call(answer[1], opt, sd)
    now = params_of(opt)
    trial.true(
        len(now) == len(params) and all(map(is_same_object, now, params)),
        "After loading, the groups no longer hold the optimizer's parameters, so step() moves nothing of the model.",
        expected="the same Parameter objects in the same groups",
        got=[type(item).__name__ for item in now],
        observed=[type(item).__name__ for item in now],
    )
    trial.true(same(copied(now), weights), "Loading changed the values of the parameters.")


@optimizer_state.property(
    "each parameter has the state that the file holds for its place, and nothing else",
    asks="A parameter without a state in `sd` has none afterwards, and can gain one: `opt.state` stays a dict that makes missing entries.",
)
def _(answer: Any, trial: Trial) -> None:
    for kind in KINDS:
        opt, sd = newly_built(trial, kind), file_in_mid_run(trial, kind)
        trial.given(f"{kind}: an optimizer that has taken a step, and a file without a state for parameter 4")
        params = params_of(opt)
        trial.call(answer[1], opt, sd)
        foreign = [type(key).__name__ for key in opt.state if not any(key is param for param in params)]
        trial.true(
            not foreign,
            "opt.state has keys that are none of the optimizer's parameters: step() will not find them.",
            expected="the parameters of opt as keys",
            got=foreign,
            observed=("keys", foreign),
        )
        off = off_places(
            {place: opt.state[param] for place, param in enumerate(params) if param in opt.state}, sd["state"]
        )
        trial.true(
            not off,
            "The states do not stand where they belong: "
            + "; ".join(f"{n}: {description}" for n, description in off[:3])
            + ".",
            observed=(kind, off),
        )
        last = params[WITHOUT_STATE]
        trial.true(
            last not in opt.state or not opt.state[last],
            f"Parameter {WITHOUT_STATE} has no state in the file, and still has one: that of an older run.",
            expected="no state",
            got=sorted(opt.state[last]) if last in opt.state else None,
            observed="stale",
        )


@optimizer_state.property(
    "states take the dtype of their parameter; step, which counts, keeps its own",
    asks='Tensors of the state get the dtype of their parameter; "step", which counts, stays as it is.',
)
def _(answer: Any, trial: Trial) -> None:
    for kind in reversed(KINDS):
        sd = file_in_mid_run(trial, kind)
        for dtype in (torch.float64, torch.bfloat16):
            trial.given(f"{kind}: a file of float32 parameters, loaded for parameters of {dtype}")
            opt = newly_built(trial, kind, dtype)
            trial.call(answer[1], opt, copied(sd))
            for place, param in enumerate(params_of(opt)[:WITHOUT_STATE]):
                found = {
                    key: value.dtype for key, value in opt.state[param].items() if isinstance(value, Tensor)
                }
                off = sorted(key for key, have in found.items() if (key != "step") and have != dtype)
                trial.true(
                    not off,
                    f"{', '.join(off)} of parameter {place}, of {dtype}, has {found[off[0]] if off else ''} after the load.",
                    expected=str(dtype),
                    got=", ".join(f"{key}: {have}" for key, have in found.items()),
                    observed=("kept", kind, place, off, str(found[off[0]]) if off else ""),
                )
                trial.true(
                    found.get("step", torch.float32) == torch.float32,
                    f'"step" of a parameter of {dtype} has become {found.get("step")}; in bfloat16 a count goes no '
                    "further than 256.",
                    expected="torch.float32, as in the file",
                    got=str(found.get("step")),
                    observed=("step", str(dtype)),
                )


@optimizer_state.property(
    "loading leaves the file as it is, and shares nothing with it",
    asks="`sd` is left as it is, and shares no memory with `opt` afterwards.",
)
def _(answer: Any, trial: Trial) -> None:
    for kind in KINDS:
        opt, sd = newly_built(trial, kind), file_in_mid_run(trial, kind)
        before = copied(sd)
        trial.given(f"{kind}: one dict, loaded into an optimizer, which then trains on")
        trial.call(answer[1], opt, sd)
        trial.true(
            same(sd, before),
            "load_optimizer_state changed the dict that it was given.",
            expected="a dict that can be loaded once more",
            observed="the file changed",
        )
        both = shared_with(sd["state"], [*opt.state.values()]) + shared_with(
            sd["param_groups"], opt.param_groups
        )
        if all(isinstance(param, Tensor) for param in params_of(opt)):
            train_on(opt, trial.generator)
        moved = [part for part in ("state", "param_groups") if not same(sd[part], before[part])]
        trial.true(
            not moved,
            f"Training on changed the dict that was loaded: {', '.join(moved_names(sd, before)[:4])}. So "
            "two optimizers that load it would move one and the same momentum.",
            expected="copies",
            observed=("shared", kind, moved, moved_names(sd, before)),
        )
        trial.true(
            not both,
            f"The optimizer shares memory with the dict that was loaded: {', '.join(both[:3])}.",
            expected="copies of all values",
            observed=("one memory", both),
        )


@optimizer_state.property(
    "a parameter that the file knows nothing of can still be trained",
    asks="A parameter without a state in `sd` has none afterwards, and can gain one: `opt.state` stays a dict that makes missing entries.",
)
def _(answer: Any, trial: Trial) -> None:
    for kind in KINDS:
        opt, sd = newly_built(trial, kind), file_in_mid_run(trial, kind)
        trial.given(
            f"{kind}: loaded, then one step in which parameter {WITHOUT_STATE} has its first gradient"
        )
        trial.call(answer[1], opt, sd)
        try:
            step(opt, trial.generator)
        except Exception as error:
            trial.fail(
                f"opt.step() raised {type(error).__name__} after the load.",
                expected="opt.state that makes a missing entry: a defaultdict(dict), as torch's",
                observed=type(error).__name__,
            )


@optimizer_state.property(
    "a file of other groups is refused with ValueError, and nothing has changed",
    asks="ValueError: the groups of `sd`, or how many parameters are in each, are not those of `opt`; nothing has changed then.",
    once_right=True,
)
def _(answer: Any, trial: Trial) -> None:
    for description, sizes in (
        ("of two groups", (2, 1)),
        ("of four groups", (2, 1, 1, 1)),
        ("of groups of 2, 1 and 1 parameters", (2, 1, 1)),
        ("of groups of 2, 2 and 1 parameters", (2, 2, 1)),
        ("of groups of 1, 2 and 2 parameters", (1, 2, 2)),
        ("without groups", ()),
    ):
        opt, sd = newly_built(trial, "AdamW"), file_in_mid_run(trial, "AdamW")
        numbers = iter(range(sum(sizes)))
        sd["param_groups"] = [
            sd["param_groups"][0] | {"params": [next(numbers) for _ in range(size)]} for size in sizes
        ]
        sd["state"] = {place: values for place, values in sd["state"].items() if place < sum(sizes)}
        before, given = standing(opt), copied(sd)
        trial.given(f"AdamW: a file {description}, for an optimizer with groups of 2, 1 and 2")
        trial.raises(ValueError, lambda opt=opt, sd=sd: answer[1](opt, sd), f"for a file {description}")
        trial.true(
            same(standing(opt), before),
            "The file was refused, and the optimizer is not what it was. Compare the sizes before you touch anything.",
            expected="an optimizer as before",
            got="different "
            + " and ".join(part for part, now in standing(opt).items() if not same(now, before[part])),
            observed="changed, then refused",
        )
        trial.true(
            same(sd, given), "The file was refused, and has been changed.", observed="the file changed"
        )
