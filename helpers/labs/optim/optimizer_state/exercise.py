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
    WITH_STATE,
    WITHOUT_STATE,
    copied,
    differs_from_the_file,
    file_in_mid_run,
    file_of,
    get_ready,
    in_mid_run,
    kind_of_key,
    moved_names,
    newly_built,
    not_plain,
    off_options,
    off_places,
    off_values,
    params_of,
    same,
    shared_with,
    some_options,
    standing,
    step,
    train_on,
    why_no_file,
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
        "The parts are of a different kind than torch's.",
        expected='a dict under "state", a list of dicts under "param_groups"',
        got=shown(groups),
        observed=("parts", type(got["state"]).__name__, type(groups).__name__),
    )
    return got


@optimizer_state.property(
    "parameters are named by their place: 0, 1, 2, ... through all groups",
    asks='"state": {index: {name: value}} for each parameter that has a state; an index counts the parameters through all groups in the order of `opt.param_groups`: 0, 1, 2, ...',
)
def _(answer: Any, trial: Trial) -> None:
    opt = in_mid_run(trial.generator, "AdamW")
    params = params_of(opt)
    trial.given(
        "AdamW with groups of 2, 1 and 2 parameters; parameters 1, which is frozen, and 4 have had no gradient yet"
    )
    got = written(answer, trial, opt)
    places = [[kind_of_key(key, params) for key in group.get("params", ())] for group in got["param_groups"]]
    trial.true(
        places == PLACES,
        'The lists under "params" do not count the parameters through the groups.',
        expected=str(PLACES),
        got=places,
        observed=("params", places),
    )
    keys = sorted((kind_of_key(key, params) for key in got["state"]), key=str)
    trial.true(
        all(isinstance(key, int) for key in keys) and sorted(keys) == WITH_STATE,
        'The keys of "state" are not the places of the parameters that have a state.',
        expected=f"{WITH_STATE}: parameters 1 and 4 have none",
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
        now = [list(group.get("params", ["no key"])) for group in opt.param_groups]
        kept = [len(group) for group in now] == [len(group) for group in groups] and all(
            map(is_same_object, sum(now, []), sum(groups, []))
        )
        trial.true(
            kept,
            "After optimizer_state_dict the groups of the optimizer itself no longer hold its parameters as before.",
            expected="the Parameter objects, as before",
            got=[_types(group) for group in now],
            observed=("other parameters", [_types(group) for group in now]),
        )
        after = standing(opt)
        changed = [part for part, value in after.items() if not same(value, before[part])]
        pairs = enumerate(zip(before["states"], after["states"], strict=True))
        gained = [place for place, (was, is_now) in pairs if was is None and is_now is not None]
        trial.true(
            not changed,
            f"optimizer_state_dict changed the optimizer itself: its {' and '.join(changed)}."
            + (f" Parameters {gained} have an entry in opt.state now." if gained else ""),
            expected="the same values in opt.param_groups and opt.state, and no new entries",
            observed=("changed", changed, gained),
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
    for kind, dtype in (
        *((kind, torch.float32) for kind in KINDS),
        ("AdamW", torch.float64),
        ("SGD with momentum", torch.bfloat16),
    ):
        opt = in_mid_run(trial.generator, kind, dtype)
        trial.given(
            f"{kind} after three steps; a parameter joined at the second, a group before the third; "
            f"parameters of {dtype}"
        )
        want = file_of(opt)["state"]
        got = written(answer, trial, opt)["state"]
        off = off_places(got, want)
        place = off[0][0] if off else 0
        trial.true(
            not off,
            'The values under "state" are not those of the parameters at these places: '
            + "; ".join(f"{place}: {description}" for place, description in off[:3])
            + ".",
            expected=f"at place {place}: {off_values(want.get(place), got.get(place) or {})}",
            got=f"at place {place}: {off_values(got.get(place), want.get(place) or {})}",
            observed=(kind, off) if dtype == torch.float32 else (kind, str(dtype), off),
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
        off = [off_options(mine, theirs) for mine, theirs in zip(got, want, strict=True)]
        trial.true(
            not any(off),
            f"Options are missing, or differ: {', '.join(sorted({name for names in off for name in names})[:6])}.",
            expected=shown([some_options(theirs, names) for theirs, names in zip(want, off, strict=True)]),
            got=shown([some_options(mine, names) for mine, names in zip(got, off, strict=True)]),
            observed=(kind, off),
        )


@optimizer_state.property(
    "a snapshot: what the optimizer does later is not in it",
    asks="A snapshot: copies of all values (tensors, numbers, None), so that training on changes nothing in it.",
)
def _(answer: Any, trial: Trial) -> None:
    for kind in KINDS:
        opt = in_mid_run(trial.generator, kind)
        trial.given(f"{kind}: saved, then trained one step on, with a different lr, and with one more group")
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


def _types(group: list[Any]) -> Any:
    return 'no key "params"' if group == ["no key"] else [type(item).__name__ for item in group]


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
                    expected="plain data: dicts, lists, numbers, texts, None and tensors",
                    got=why_no_file(error),
                    observed=("no plain data", not_plain(written(answer, trial, opt))),
                )
            raise
        new = newly_built(trial, kind)
        with torch.no_grad():
            for mine, theirs in zip(params_of(new), params_of(opt), strict=True):
                mine.copy_(theirs)
        trial.call(answer[1], new, sd)
        steps = trial.random.randrange(2**31)
        _go_on(trial, opt, steps, "the run that was not interrupted")
        stands = differs_from_the_file(new, sd)
        _go_on(
            trial,
            new,
            steps,
            f"the resumed run, after the load ({stands or 'options and states are those of the file'})",
        )
        pairs = list(zip(copied(params_of(new)), copied(params_of(opt)), strict=False))
        off = [place for place, (mine, theirs) in enumerate(pairs) if not same(mine, theirs)]
        trial.true(
            not off and len(params_of(new)) == len(params_of(opt)),
            "Three steps later the weights differ from those of the run that was not interrupted. After the load: "
            + (stands or "options and states are those of the file, to the bit")
            + ".",
            expected=f"parameter {off[0]}: {shown(pairs[off[0]][1])}"
            if off
            else "as many parameters as before",
            got=f"parameter {off[0]}: {shown(pairs[off[0]][0])}" if off else len(params_of(new)),
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
                got=f"{type(error).__name__}: {shown(str(error))}",
                observed=("step raised", type(error).__name__, whose),
            )


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
            off_options(mine, theirs)
            for mine, theirs in zip(opt.param_groups, sd["param_groups"], strict=False)
        ]
        trial.true(
            len(opt.param_groups) == len(sd["param_groups"]) and not any(off),
            f"After loading, these options are not the file's: "
            f"{', '.join(sorted({name for names in off for name in names})[:6])}.",
            expected=shown([some_options(g, n) for g, n in zip(sd["param_groups"], off, strict=False)]),
            got=shown([some_options(g, n) for g, n in zip(opt.param_groups, off, strict=False)]),
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
    asks=(
        "The parameters stay those of `opt`: groups and parameters are matched by their place.",
        "A parameter without a state in `sd` has none afterwards, and can gain one: `opt.state` stays a dict that makes missing entries.",
    ),
)
def _(answer: Any, trial: Trial) -> None:
    for kind in (*KINDS, "AdamW with names", "AdamW before its first step"):
        plain, fresh = kind.partition(" with names")[0].partition(" before")[0], kind.endswith("first step")
        opt, sd = newly_built(trial, plain, stepped=not fresh), file_in_mid_run(trial, plain)
        trial.given(
            f"{plain}: an optimizer that has taken {'no' if fresh else 'a'} step, and a file without a state for "
            "parameters 1 and 4, of which 1 is frozen"
        )
        if kind.endswith("names"):  # as torch keeps them where named parameters are given
            opt.param_groups[0]["param_names"], sd["param_groups"][0]["param_names"] = ["w", "b"], ["b", "w"]
            trial.given(f'{kind}: "param_names" of group 0 is ["w", "b"] in opt, ["b", "w"] in the file')
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
        own = {place: opt.state[param] for place, param in enumerate(params) if param in opt.state}
        off = off_places(own, sd["state"])
        place = off[0][0] if off else 0
        trial.true(
            not off,
            "The states are not those that the file holds: "
            + "; ".join(f"parameter {n}: {description}" for n, description in off[:3])
            + ".",
            expected=f"parameter {place}: {off_values(sd['state'].get(place), own.get(place) or {})}",
            got=f"parameter {place}: {off_values(own.get(place), sd['state'].get(place) or {})}",
            observed=(kind, off),
        )
        stale = [place for place in WITHOUT_STATE if params[place] in opt.state and opt.state[params[place]]]
        trial.true(
            not stale,
            f"Parameters without a state in the file have one after the load: {stale}.",
            expected="no state",
            got=[sorted(opt.state[params[place]]) for place in stale],
            observed=("stale", stale),
        )


@optimizer_state.property(
    "states take the dtype of their parameter; step, which counts, keeps its own",
    asks='Tensors of the state get the dtype of their parameter; "step", which counts, stays as it is.',
)
def _(answer: Any, trial: Trial) -> None:
    kept: dict[str, tuple[list[str], list[int]]] = {}
    for kind in reversed(KINDS):
        found = _dtypes(answer, trial, kind, torch.float64)
        off = [(place, key, have) for place, key, have in found if key != "step" and have != torch.float64]
        if off:
            kept[kind] = sorted({f"{key}: {have}" for _, key, have in off}), sorted({n for n, _, _ in off})
    trial.given("files of float32 parameters, each loaded for parameters of float64")
    trial.true(
        not kept,
        "After the load these states have a different dtype than their parameter: "
        + "; ".join(f"{kind}, parameters {places}" for kind, (_, places) in kept.items())
        + ".",
        expected="torch.float64",
        got="; ".join(f"{kind}: {', '.join(names)}" for kind, (names, _) in kept.items()),
        observed=("kept", sorted(kept.items())),
    )
    for kind in reversed(KINDS):
        for dtype in (torch.float64, torch.bfloat16):
            found = _dtypes(answer, trial, kind, dtype)
            for place, key, have in found:
                trial.true(
                    have == (torch.float32 if key == "step" else dtype),
                    f"{key} of parameter {place}, of {dtype}, is of {have} after the load."
                    + (" In bfloat16 a count goes no further than 256." if key == "step" else ""),
                    expected="torch.float32, as in the file" if key == "step" else str(dtype),
                    got=str(have),
                    observed=("step" if key == "step" else key, str(dtype), str(have)),
                )


def _dtypes(answer: Any, trial: Trial, kind: str, dtype: torch.dtype) -> list[tuple[int, str, torch.dtype]]:
    """Place, name and dtype of each tensor in the states of an optimizer after a load."""
    trial.given(f"{kind}: a file of float32 parameters, loaded for parameters of {dtype}")
    opt = newly_built(trial, kind, dtype)
    trial.call(answer[1], opt, file_in_mid_run(trial, kind))
    params = params_of(opt)
    return [
        (place, key, value.dtype)
        for place in WITH_STATE
        for key, value in opt.state[params[place]].items()
        if isinstance(value, Tensor)
    ]


@optimizer_state.property(
    "loading leaves the file as it is, and shares nothing with it",
    asks="`sd` is left as it is, and shares no memory with `opt` afterwards.",
)
def _(answer: Any, trial: Trial) -> None:
    for kind, dtype in ((kind, dtype) for dtype in (torch.float32, torch.float64) for kind in KINDS):
        opt, sd = newly_built(trial, kind, dtype), file_in_mid_run(trial, kind)
        before = copied(sd)
        trial.given(
            f"{kind}: one dict of float32 parameters, loaded for parameters of {dtype}; then training goes on"
        )
        trial.call(answer[1], opt, sd)
        parts = [part for part in before if part not in sd or not same(sd[part], before[part])]
        trial.true(
            same(sd, before),
            f"load_optimizer_state changed the dict that it was given, under {' and '.join(map(repr, parts))}.",
            expected="a dict that can be loaded once more",
            observed=("the file changed", parts, str(dtype)),
        )
        both = shared_with(sd["state"], [*opt.state.values()]) + shared_with(
            sd["param_groups"], opt.param_groups
        )
        if all(isinstance(param, Tensor) for param in params_of(opt)):
            train_on(opt, trial.generator)
        moved = [part for part in ("state", "param_groups") if not same(sd[part], before[part])]
        trial.true(
            not moved,
            f"Training on changed the dict that was loaded: {', '.join(moved_names(sd, before)[:4])}. Two "
            "optimizers that load it would share these.",
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
        trial.given(f"{kind}: loaded, then one step in which parameters 1 and 4 have their first gradient")
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
