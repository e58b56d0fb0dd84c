"""Exercise 05.state_dict: what a checkpoint of a model is, and how it comes back."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch
from torch import Tensor, nn

from helpers.check.calls import calls_to
from helpers.check.compare import shown
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.module.shared.states import (
    KEYS,
    PLAIN,
    model,
    same,
    state_of,
    with_gaps,
    with_ties,
)
from helpers.labs.module.shared.trees import forest, node, outline, parameter

state_dict = Exercise(
    "05.state_dict",
    "A model's state, out and in",
    objective="Write Module.state_dict and Module.load_state_dict: the names, what is shared, and every fault in one error.",
    minutes=35,
    difficulty="hard",
    names=("state_dict", "load_state_dict"),
    hints=[
        "Both walk the tree in the same way: own parameters, own persistent buffers, then each child that is not None, "
        "with its name and a dot put before the names below it.",
        "Walk over _parameters, _buffers and _modules: named_parameters leaves out the second name of a tied weight. "
        "module._non_persistent_buffers_set holds the names of the buffers to leave out.",
        "Loading: collect in three lists (missing, unexpected, size mismatches) while you copy what fits, and raise at the "
        "very end. Unexpected are the keys that the walk has not met.",
        "with torch.no_grad(): old.copy_(new) keeps object, memory, dtype and requires_grad; it broadcasts, so compare the "
        "shapes before. For assign: setattr(module, name, nn.Parameter(new, requires_grad=old.requires_grad)).",
    ],
)


AS_TORCH = "The module's state by name, as Module.state_dict() gives it."


def saved(answer: Any, trial: Trial, module: nn.Module) -> Any:
    """What state_dict gives, if it is a dict of the right type."""
    trial.given(f"state_dict(m) of m = Node({outline(module)})")
    got = trial.call(answer[0], module)
    trial.true(
        isinstance(got, OrderedDict),
        f"state_dict gave {'None' if got is None else f'an object of type {type(got).__name__}'}.",
        expected="an OrderedDict: it has room for the attribute _metadata, where torch keeps the versions",
        observed=("kind", type(got).__name__),
    )
    return got


def has_keys(trial: Trial, got: Any, want: Any) -> None:
    """Wrong unless the names are these, in any order."""
    missing, extra = [key for key in want if key not in got], [key for key in got if key not in want]
    messages = [
        f"{word} {', '.join(map(repr, keys))}"
        for word, keys in (("it lacks", missing), ("it holds", extra))
        if keys
    ]
    trial.true(
        not messages,
        f"The names in the state dict are not torch's: {'; '.join(messages)}.",
        expected=", ".join(map(repr, want)),
        observed=("keys", missing, [str(key) for key in extra]),
    )


@state_dict.property(
    "each parameter and each buffer stands under its whole name",
    asks=(
        AS_TORCH,
        "An OrderedDict: each parameter and each persistent buffer of the tree under its name, which is the names on the "
        "way, joined by dots.",
    ),
)
def names(answer: Any, trial: Trial) -> None:
    module = model(trial.generator)
    got = saved(answer, trial, module)
    trial.given(f"state_dict(m) of m = Node({outline(module)}); {PLAIN}")
    has_keys(trial, got, KEYS)


@state_dict.property(
    "the values are the module's: plain tensors that require no grad",
    asks="Values are plain tensors that require no grad; they share the memory of the module's.",
)
def values(answer: Any, trial: Trial) -> None:
    module = model(trial.generator)
    got, want = saved(answer, trial, module), state_of(module)
    for key, value in want.items():
        if key not in got:
            continue  # told above
        have = got[key]
        trial.true(
            type(have) is Tensor,
            f"The value of {key!r} is of type {type(have).__name__}.",
            expected="a plain Tensor: param.detach()",
            got=f"a {type(have).__name__}: {shown(have, 200)}",
            observed=("type", type(have).__name__),
        )
        trial.true(
            not have.requires_grad,
            f"The value of {key!r} requires grad.",
            expected="requires_grad False",
            got=shown(have, 200),
            observed="requires grad",
        )
        trial.true(
            same(have, value),
            f"The value of {key!r} is not the module's.",
            expected=shown(value, 200),
            got=shown(have, 200),
            observed=("value", key),
        )


@state_dict.property("each call gives a dict of its own", asks="Each call gives a dict of its own.")
def fresh(answer: Any, trial: Trial) -> None:
    first = saved(answer, trial, model(trial.generator))
    kept, other = list(first), node({"only": parameter(2, generator=trial.generator)})
    second = saved(answer, trial, other)
    trial.given("state_dict(m) of one model, then of a different one, Node(only)")
    trial.true(
        list(second) == ["only"] and list(first) == kept,
        f"The dict of the second model holds {shown(list(second), 200)}, that of the first now {shown(list(first), 200)}.",
        expected="['only'] in the second, and the first as it was",
        observed=("shared dict", second is first, len(second), len(first)),
    )
    second.clear()
    again = saved(answer, trial, other)
    trial.given("state_dict(m) of Node(only) a second time; the first dict was emptied meanwhile")
    trial.true(
        again is not second and list(again) == ["only"] and not second,
        "The second dict of one model is the first one again, or follows what is done to it.",
        expected="a new dict with 'only'",
        got=f"{'the same' if again is second else 'a new'} dict with {shown(list(again), 200)}",
        observed=("the same model twice", again is second, len(again)),
    )
    empty = saved(answer, trial, nn.Sequential(nn.ReLU()))
    trial.given("state_dict(nn.Sequential(nn.ReLU()))")
    trial.true(
        not empty,
        f"It holds {shown(list(empty), 200)}.",
        expected="an empty OrderedDict",
        observed="not empty",
    )


@state_dict.property(
    "what is None is left out",
    asks="What is None is left out, and so are buffers whose names are in _non_persistent_buffers_set.",
)
def none_left_out(answer: Any, trial: Trial) -> None:
    module = with_gaps(trial.generator)
    got = saved(answer, trial, module)
    none = [key for key in ("off", "block.bias", "block.mean", "down") if key in got]
    trial.true(
        not none,
        f"The state dict holds {', '.join(map(repr, none))}, which {'are' if len(none) > 1 else 'is'} None.",
        observed=("none", none),
    )


@state_dict.property(
    "buffers that are not persistent are left out",
    asks="What is None is left out, and so are buffers whose names are in _non_persistent_buffers_set.",
)
def unsaved_left_out(answer: Any, trial: Trial) -> None:
    module = with_gaps(trial.generator)
    got = saved(answer, trial, module)
    held = [key for key in ("mask", "block.cache") if key in got]
    trial.true(
        not held,
        f"The state dict holds {', '.join(map(repr, held))}, registered with persistent=False.",
        observed=("unsaved", held),
    )
    lost = [key for key in ("w", "block.w", "block.var", "empty.w") if key not in got]
    trial.true(
        not lost,
        f"The state dict lacks {', '.join(map(repr, lost))}.",
        expected="all entries but those that are None or not persistent; `empty` is a ModuleList without modules",
        observed=("lost", lost),
    )


@state_dict.property(
    "what has several names stands under each of them",
    asks="What has several names stands under each of them.",
)
def each_name(answer: Any, trial: Trial) -> None:
    module = with_ties(trial.generator)
    has_keys(trial, saved(answer, trial, module), tuple(state_of(module)))


@state_dict.property(
    "no copy is made: the values share memory with the module",
    asks="Values are plain tensors that require no grad; they share the memory of the module's.",
)
def shared(answer: Any, trial: Trial) -> None:
    module = model(trial.generator)
    got, want = saved(answer, trial, module), state_of(module)
    apart = [key for key in want if key in got and got[key].data_ptr() != want[key].data_ptr()]
    trial.true(
        not apart,
        f"{', '.join(map(repr, apart[:3]))}{' and more' if len(apart) > 3 else ''} in the state dict: other memory than "
        "the module's.",
        expected="the memory of the module, without a copy: whoever wants a snapshot copies it",
        observed="copies",
    )


SAVED = (names, values, fresh, none_left_out, unsaved_left_out, each_name, shared)


@state_dict.property(
    "_metadata, where there is one, tells each module's version, by the module's name",
    asks='You may add torch\'s attribute _metadata: a dict with {"version": module._version} for each module, by its '
    'name: "" is the root, and there is no dot at the end.',
    after=SAVED,
)
def metadata(answer: Any, trial: Trial) -> None:
    module = model(trial.generator)
    module.conv2._version = 3
    trial.given("a module with children conv and conv2 (of _version 3), and conv2.0")
    got = getattr(saved(answer, trial, module), "_metadata", None)
    if got is None:
        return  # nobody has to write one
    want = {name: {"version": 3 if name == "conv2" else 1} for name in ("", "conv", "conv2", "conv2.0")}
    plain = {name: dict(about) for name, about in got.items()} if isinstance(got, dict) else None
    trial.true(
        plain == want,
        "The attribute _metadata of the state dict is not torch's, so a module cannot tell a checkpoint of its older self.",
        expected=str(want),
        got=str(plain),
        observed=("metadata", sorted(map(str, plain.items())) if plain is not None else None),
    )


@state_dict.property(
    "the state dict is made here, and not by torch's own methods",
    asks="Module's own methods for state dicts are not called.",
)
def saved_here(answer: Any, trial: Trial) -> None:
    module = model(trial.generator)
    with calls_to(nn.Module.state_dict, nn.Module._save_to_state_dict) as seen:
        answer[0](module)
    trial.true(
        not seen,
        f"The answer calls {' and '.join(sorted(set(seen)))}, which the exercise builds again.",
        expected="a walk over _parameters, _buffers and _modules",
        observed="torch's own",
    )


@state_dict.property("on random trees, names and values are torch's", asks=AS_TORCH, after=SAVED)
def random_saved(answer: Any, trial: Trial) -> None:
    for (module,) in forest(trial.random, 3):
        got, want = saved(answer, trial, module), state_of(module)
        has_keys(trial, got, list(want))
        off = [
            key
            for key in want
            if not same(got[key], want[key]) or got[key].data_ptr() != want[key].data_ptr()
        ]
        trial.true(not off, f"The values of {off[:3]} are not the module's.", observed=off)


def seeded(trial: Trial) -> torch.Generator:
    """A generator for another model: other numbers than those of trial.generator's first one."""
    return torch.Generator().manual_seed(trial.random.randrange(2**31))
