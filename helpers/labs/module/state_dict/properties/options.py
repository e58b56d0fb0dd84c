"""The last properties of 05.state_dict: assign, extra state out and in, and random trees with damaged files."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch
from torch import Tensor, nn

from helpers.check.compare import shown
from helpers.check.trial import Trial
from helpers.labs.module.shared.states import (
    KEYS,
    ONE_WAY,
    State,
    copied,
    file_of,
    holders,
    model,
    one_way,
    same,
    state_of,
    with_extra,
)
from helpers.labs.module.shared.trees import forest, node, outline
from helpers.labs.module.state_dict.exercise import SAVED, has_keys, metadata, saved, seeded, state_dict
from helpers.labs.module.state_dict.properties.loads import (
    LEFT,
    apart,
    arrives,
    first_off,
    loaded,
    names_of,
    names_told,
    no_fault,
    nothing_put,
    stay,
)
from helpers.labs.module.state_dict.properties.misfits import (
    ONE_ERROR,
    faulty,
    no_tensors,
    not_strict,
    raised,
    shapes,
    strict,
    together,
    told,
)

LOADED = (arrives, stay, apart, no_fault, nothing_put, not_strict, strict, shapes, no_tensors, together)
ASSIGNED = (
    "assign=True: the tensors of `sd` become the entries, with their dtype, device and memory; where a Parameter was, a "
    "Parameter with its requires_grad."
)
SAVED_EXTRA = (
    "Where a module's class has, or inherits, a get_extra_state that is not nn.Module's, what it gives stands under "
    '"_extra_state" after the module\'s name and a dot, for the root without the dot.'
)
SET_EXTRA = (
    "Where a module's class has, or inherits, a set_extra_state that is not nn.Module's, it is called once with what stands "
    "under that key, and not where the file lacks it; only there is the key expected."
)


@state_dict.property(
    "load with assign=True: the file's tensors become the entries, Parameters with the old requires_grad",
    asks=ASSIGNED,
    after=(
        *SAVED,
        *LOADED,
    ),
)
def assigned(answer: Any, trial: Trial) -> None:
    module, sd = model(trial.generator), file_of(model(seeded(trial)), torch.float64)
    trial.given(
        "a float32 model with the frozen parameter conv2.b, and a file of float64 values; assign=True"
    )
    before = holders(module)
    got = loaded(answer, trial, module, sd, assign=True)
    names_told(trial, got, ([], []), observed=got)
    now = holders(module)
    lost = [
        key
        for key in before
        if key not in now or isinstance(before[key], nn.Parameter) != isinstance(now[key], nn.Parameter)
    ]
    kinds = [f"{key}: {type(now[key]).__name__ if key in now else 'gone'}" for key in lost]
    trial.true(
        not lost,
        f"{names_of(lost)} {'are' if len(lost) > 1 else 'is'} no Parameter any more, or no buffer, or gone.",
        expected="; ".join(f"{key}: {type(before[key]).__name__}" for key in lost[:6]),
        got="; ".join(kinds[:6]),
        observed=("lost", kinds),
    )
    for word, off in (
        ("dtype and values", [key for key in sd if not same(now[key], sd[key])]),
        ("memory", [key for key in sd if now[key].data_ptr() != sd[key].data_ptr()]),
    ):
        trial.true(
            not off,
            f"{names_of(off)} {'have' if len(off) > 1 else 'has'} not the {word} of the file's tensors.",
            **(
                first_off(module, sd, off)
                if word != "memory"
                else {"expected": "the file's memory, without a copy"}
            ),
            observed=("assign", word),
        )
    off = [key for key in before if now[key].requires_grad != before[key].requires_grad]
    trial.true(
        not off,
        f"requires_grad of {names_of(off)} is not what it was in the module.",
        expected=str([before[key].requires_grad for key in off[:6]]),
        got=str([now[key].requires_grad for key in off[:6]]),
        observed=("requires_grad", sorted({"thawed" if now[key].requires_grad else "frozen" for key in off})),
    )
    sd["conv.w"] = torch.randn(5, generator=trial.generator)
    trial.given("a tensor of a different shape; assign=True")
    raised(answer, trial, model(trial.generator), sd, "for a different shape", assign=True)


@state_dict.property(
    "load with assign=True fills a model on the device meta", asks=ASSIGNED, after=(*SAVED, *LOADED, assigned)
)
def hollow(answer: Any, trial: Trial) -> None:
    module, sd = model(trial.generator).to("meta"), file_of(model(seeded(trial)))
    trial.given('a model that was moved to "meta"; assign=True')
    loaded(answer, trial, module, sd, assign=True)
    left = [key for key, value in holders(module).items() if value.device.type == "meta"]
    trial.true(
        not left,
        f"{names_of(left)} {'are' if len(left) > 1 else 'is'} still on meta, without numbers.",
        expected="device cpu, that of the file",
        got="device meta",
        observed=("meta", left),
    )


@state_dict.property(
    "load with assign=True: what is missing, unexpected or of a different shape is a fault as without it",
    asks=ONE_ERROR,
    after=(*SAVED, *LOADED, assigned),
)
def faults_assigned(answer: Any, trial: Trial) -> None:
    sd, missing, unexpected = faulty(trial)
    words = f"a file without {names_of(missing)}, but with {', '.join(map(repr, unexpected))}; assign=True, strict="
    trial.given(f"{words}False")
    got = loaded(answer, trial, model(trial.generator), sd, strict=False, assign=True)
    names_told(trial, got, (missing, unexpected), observed="returned")
    trial.given(f"{words}True")
    module, when = model(trial.generator), "for missing and unexpected keys, assign=True"
    text = raised(answer, trial, module, sd, when, assign=True)
    fitting = {key: sd[key] for key in KEYS if key not in missing}
    told(trial, text, {"missing": missing, "unexpected": unexpected}, module, fitting)


@state_dict.property(
    "load: Parameters in the file stay as they are, with their requires_grad and grad",
    asks=LEFT,
    after=(*SAVED, *LOADED, assigned),
)
def parameters_left(answer: Any, trial: Trial) -> None:
    """The file and the module disagree on what is frozen."""
    for assign in (False, True):
        module, other = model(trial.generator), model(seeded(trial))
        other.scale.requires_grad_(False)
        other.conv2.b.requires_grad_(True)
        for param in (other.conv.w, other.scale):
            param.grad = torch.randn(param.shape, generator=trial.generator)
        sd, was = holders(other), {key: param.requires_grad for key, param in module.named_parameters()}
        before = {key: (value.requires_grad, value.grad, value.dtype) for key, value in sd.items()}
        kept, values = dict(sd), copied(other)
        trial.given(
            "a file of Parameters, as dict(m.named_parameters()) has them: in the file scale is frozen, in the module "
            f"conv2.b; assign={assign}"
        )
        loaded(answer, trial, module, sd, assign=assign)
        off = [
            (key, word)
            for key, (requires_grad, grad, dtype) in before.items()
            for word, same_ in (
                ("object", sd.get(key) is kept[key]),
                ("requires_grad", kept[key].requires_grad == requires_grad),
                ("grad", kept[key].grad is grad),
                ("dtype", kept[key].dtype == dtype),
                ("values", same(kept[key], values[key])),
            )
            if not same_
        ]
        trial.true(
            not off,
            f"The load changed the file: {', '.join(f'{word} of {key!r}' for key, word in off)}.",
            expected="a file as it was: who has loaded it uses it further",
            observed=("file", sorted({word for _, word in off})),
        )
        now = {key: param.requires_grad for key, param in module.named_parameters()}
        off = sorted(key for key in was if now.get(key) != was[key])
        trial.true(
            not off,
            f"requires_grad of {names_of(off)} in the module is not what it was.",
            expected=str({key: was[key] for key in off}),
            got=str({key: now.get(key) for key in off}),
            observed=("module", assign, off),
        )


@state_dict.property(
    "load: the _metadata of the file stays as it is", asks=LEFT, after=(*SAVED, *LOADED, assigned)
)
def metadata_left(answer: Any, trial: Trial) -> None:
    for assign in (False, True):
        sd = file_of(model(seeded(trial)))
        sd._metadata = OrderedDict((name, {"version": 1}) for name in ("", "conv", "conv2", "conv2.0"))
        before = {name: dict(about) for name, about in sd._metadata.items()}
        trial.given(f"a file with _metadata; assign={assign}")
        loaded(answer, trial, model(trial.generator), sd, assign=assign)
        now = {name: dict(about) for name, about in getattr(sd, "_metadata", {}).items()}
        trial.true(
            now == before,
            "The load has changed sd._metadata: the next load of this dict reads what this one has written.",
            expected=str(before),
            got=str(now),
            observed=("metadata", assign),
        )


# What is small is asked last: it is often forgotten together with something larger, which then keeps its name.
BEFORE_EXTRA = (*SAVED, metadata, *LOADED, assigned)
LOGS = ({"steps": 7, "names": ["a", "b"]}, {}, 0, None, [9])  # what is falsy is there, too


@state_dict.property(
    "a module's extra state is saved under _extra_state", asks=SAVED_EXTRA, after=BEFORE_EXTRA
)
def extra_saved(answer: Any, trial: Trial) -> None:
    module = with_extra(trial.generator, *LOGS)
    got = saved(answer, trial, module)
    trial.given(
        f"modules counted0 to counted4 with the extra states {', '.join(map(repr, LOGS))}; counted4 inherits its own"
    )
    has_keys(trial, got, tuple(state_of(module)))
    have = [got[f"counted{place}._extra_state"] for place in range(len(LOGS))]
    trial.true(
        have == list(LOGS),
        "An extra state is not what get_extra_state() gave.",
        expected=str(list(LOGS)),
        got=shown(have),
        observed="a different state",
    )
    module = one_way(trial.generator)
    got = saved(answer, trial, module)
    trial.given(f"m with {ONE_WAY}")
    has_keys(trial, got, tuple(state_of(module)))
    module = with_extra(trial.generator, 3).counted0
    got = saved(answer, trial, module)
    trial.given("m.counted0 itself, so the root, with a parameter w and the extra state 3")
    has_keys(trial, got, tuple(state_of(module)))
    trial.true(
        got["_extra_state"] == 3,
        "The extra state of the root is not what get_extra_state() gave.",
        expected="3",
        got=shown(got["_extra_state"]),
        observed="a different state of the root",
    )


@state_dict.property(
    "load: a module's extra state is set, and is missing or unexpected as any other key",
    asks=(SET_EXTRA, ONE_ERROR[0]),
    after=BEFORE_EXTRA,
)
def extra_loaded(answer: Any, trial: Trial) -> None:
    module, other = with_extra(trial.generator, *"abcde"), with_extra(seeded(trial), *LOGS)
    trial.given(
        f"a file with the extra states {', '.join(map(repr, LOGS))} for modules counted0 to counted4; counted4 inherits "
        "its set_extra_state"
    )
    sd = file_of(other)
    got = loaded(answer, trial, module, sd, strict=False)
    have = [module.get_submodule(f"counted{place}").set_with for place in range(len(LOGS))]
    names_told(trial, got, ([], []), observed=("extra", got, [len(calls) for calls in have]))
    trial.true(
        have == [[log] for log in LOGS],
        "set_extra_state was not called once in each module, with the file's extra state.",
        expected=str([[log] for log in LOGS]),
        got=shown(have),
        observed=("set", [len(calls) for calls in have]),
    )
    trial.given(
        "a file without counted0._extra_state, and with plain._extra_state of a module that has no such state; strict=False"
    )
    sd["plain._extra_state"] = sd.pop("counted0._extra_state")
    want = (["counted0._extra_state"], ["plain._extra_state"])
    calls = len(module.counted0.set_with)
    got = loaded(answer, trial, module, sd, strict=False)
    names_told(trial, got, want, observed=("without it", got))
    given = module.counted0.set_with[calls:]
    trial.true(
        not given,
        f"set_extra_state of counted0 was called, with {shown(given[0]) if given else ''}, though the file has nothing for it.",
        expected="no call: the key is missing",
        observed="set without it",
    )
    trial.given("the same file; strict=True")
    parts = [module.get_submodule(f"counted{place}") for place in range(1, len(LOGS))]
    earlier = [len(part.set_with) for part in parts]
    text = raised(answer, trial, module, sd, "for a missing and an unexpected extra state")
    unnamed = [key for keys in want for key in keys if key not in text]
    trial.true(
        not unnamed,
        f"The error does not name {names_of(unnamed)}.",
        got=shown(text, 400),
        observed=("unnamed", unnamed),
    )
    calls = [len(part.set_with) - before for part, before in zip(parts, earlier, strict=True)]
    trial.true(
        calls == [1] * len(parts),
        "When the error came, set_extra_state had not been called once in each of counted1 to counted4, whose states fit.",
        expected=f"calls: {[1] * len(parts)}",
        got=f"calls: {calls}",
        observed=("set before the error", calls),
    )
    module = one_way(trial.generator)
    trial.given(f"m with {ONE_WAY}; a file with an extra state for each; strict=False")
    sd = {"w": torch.zeros(2), "giving._extra_state": 5, "taking._extra_state": 6}
    got = loaded(answer, trial, module, sd, strict=False)
    names_told(trial, got, ([], ["giving._extra_state"]), observed=("one way", got))
    trial.true(
        module.taking.set_with == [6],
        "set_extra_state of m.taking was not called once with the file's extra state.",
        expected="[6]",
        got=shown(module.taking.set_with),
        observed=("one way", len(module.taking.set_with)),
    )
    taking = module.taking
    taking.set_with.clear()
    trial.given("m.taking itself, the root; a file with '_extra_state', strict=False")
    got = loaded(answer, trial, taking, {"_extra_state": 7}, strict=False)
    names_told(trial, got, ([], []), observed=("root", got, len(taking.set_with)))
    trial.true(
        taking.set_with == [7],
        "set_extra_state of the root was not called once with the file's extra state.",
        expected="[7]",
        got=shown(taking.set_with),
        observed=("root", len(taking.set_with)),
    )
    for where, root, want in (
        ("m.taking itself, the root", taking, ["_extra_state"]),
        (
            "a module with m.taking under two names, a and b",
            node(children={"a": taking, "b": taking}),
            ["a._extra_state", "b._extra_state"],
        ),
    ):
        trial.given(f"{where}, which has only a set_extra_state; an empty file, strict=False")
        missing, _ = loaded(answer, trial, root, {}, strict=False)
        extra = sorted(key for key in missing if key.endswith("_extra_state"))
        trial.equal(extra, want, "The extra states that are missing", observed=("missing", where, extra))


def damaged(trial: Trial, sd: State) -> State:
    """The file with some names gone, some added, some tensors of a different shape."""
    made = OrderedDict()
    for key, value in sd.items():
        if (luck := trial.random.random()) < 0.85:
            made[key] = value if luck < 0.75 else torch.randn(7, 2, generator=trial.generator)
        if luck > 0.9:
            made[key + "_2"] = torch.randn(2, generator=trial.generator)
    return made


def outcome(load: Any, module: nn.Module, sd: State, strict: bool) -> Any:
    """What a load came to: the names, sorted, or that it raised."""
    try:
        missing, unexpected = load(module, sd, strict=strict)
    except RuntimeError:
        return "RuntimeError"
    return sorted(missing), sorted(unexpected)


@state_dict.property(
    "load: on random trees and damaged files all comes to the same as in torch", asks=ONE_ERROR, after=LOADED
)
def random_loaded(answer: Any, trial: Trial) -> None:
    for theirs, ours, other in forest(trial.random, 2, 3):
        with torch.no_grad():
            for value in holders(other).values():
                value.add_(1)
        for sd in (file_of(other), damaged(trial, file_of(other))):
            for option in (True, False):
                trial.given(f"strict={option}, m = Node({outline(ours)}), file with {names_of(list(sd))}...")
                want = outcome(nn.Module.load_state_dict, theirs, sd, option)
                got = outcome(answer[1], ours, sd, option)
                trial.equal(got, want, "What the load came to", observed=got)
                now = copied(ours)
                off = [key for key, value in copied(theirs).items() if not same(now[key], value)]
                trial.true(not off, f"{names_of(off)} hold other values than in torch.", observed=off)
                kept = all(isinstance(value, Tensor) for value in sd.values())
                trial.true(kept, "The file was changed.")
