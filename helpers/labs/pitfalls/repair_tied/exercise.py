"""Exercise 10.repair_tied: a tie is one Parameter with two names, and three habits that undo it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from helpers.check.compare import shown
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.pitfalls.shared.repairs import drawn

repair_tied = Exercise(
    "10.repair_tied",
    "Repair: tied weights from a checkpoint",
    objective="Repair a tie that is made through .data and undone by a load, and a list of parameters that is stale.",
    minutes=10,
    difficulty="medium",
    core=False,
    hints=[
        "Ask `model.head.weight is model.embedding.weight` after each line. And where do the parameters in the list come "
        "from?",
        "load_state_dict(assign=True) puts a new Parameter under each name, so the two names part. What was listed before "
        "is no part of the model any more.",
        "First load, then tie the objects themselves (`model.head.weight = model.embedding.weight`), and list last: "
        "`list(model.parameters())` names a shared Parameter once.",
    ],
)

VOCAB, WIDTH = 5, 3
GIVEN = f"a model with Embedding({VOCAB}, {WIDTH}) and Linear({WIDTH}, {VOCAB}); the state of a tied one"
NAMES = ("embedding.weight", "head.weight", "head.bias")


LOADS = "Loads `state` into a model whose head shall use the embedding's matrix."
LIST = "Returns a list of what an optimizer shall train: the parameters of the loaded model, each once."
TIED = "`model.head.weight is model.embedding.weight` holds afterwards."
LEFT = "The call leaves the state as it is."


class Language(nn.Module):
    """An embedding and a head, not tied yet."""

    def __init__(self, trial: Trial) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, WIDTH, _weight=drawn(trial, VOCAB, WIDTH, dtype=torch.float32))
        self.head = nn.Linear(WIDTH, VOCAB)
        with torch.no_grad():
            self.head.weight.copy_(drawn(trial, VOCAB, WIDTH))
            self.head.bias.copy_(drawn(trial, VOCAB))

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.embedding(tokens))


def _stage(trial: Trial) -> tuple[Language, dict[str, Tensor]]:
    """A model, and a state as a file holds it: the tied weight under both of its names, as two tensors."""
    weight = drawn(trial, VOCAB, WIDTH, dtype=torch.float32)
    values = (weight, weight.clone(), drawn(trial, VOCAB, dtype=torch.float32))
    return Language(trial), dict(zip(NAMES, values, strict=True))


def _done(answer: Any, trial: Trial) -> tuple[Language, dict[str, Tensor], Any]:
    model, state = _stage(trial)
    trial.given(GIVEN)
    before = {name: value.clone() for name, value in state.items()}
    return model, before, trial.call(lambda: answer(model, state))


@repair_tied.property("the model holds the numbers of the state", asks=LOADS, changes=("torch RNG",))
def loaded(answer: Any, trial: Trial) -> None:
    model, state, got = _done(answer, trial)
    held = [name for name, _ in model.named_parameters(remove_duplicate=False)]
    gone = [name for name in NAMES if name not in held]
    trial.true(
        not gone,
        f"The model has no Parameter {' and '.join(gone)} any more.",
        expected=f"a model with the Parameters {', '.join(NAMES)}",
        got=", ".join(held),
        observed=("gone", gone),
    )
    off = [name for name in NAMES if not torch.equal(model.get_parameter(name), state[name])]
    trial.true(
        not off,
        f"{', '.join(off)} of the model {'is' if len(off) == 1 else 'are'} not what the state holds.",
        expected=f"{off[0]} begins with {shown(state[off[0]].flatten()[:3])}" if off else "",
        got=shown(model.get_parameter(off[0]).detach().flatten()[:3]) if off else "",
        observed=("off", off, type(got).__name__),
    )


@repair_tied.property(
    "head and embedding hold one and the same Parameter", asks=(TIED, LOADS), changes=("torch RNG",)
)
def tied(answer: Any, trial: Trial) -> None:
    model, state = _stage(trial)
    trial.given(GIVEN)
    trial.call(lambda: answer(model, state))
    head, embedding = model.head.weight, model.embedding.weight
    shared = head.data_ptr() == embedding.data_ptr()
    message = (
        "They share memory for now, and are two Parameters: .double(), .to(device) or a copy parts them."
        if shared
        else "They are two Parameters with memory of their own: the first step of an optimizer parts them."
    )
    trial.true(
        head is embedding,
        f"model.head.weight is not model.embedding.weight. {message}",
        expected="one Parameter",
        got="two",
        observed=("shared", shared, not shared and head.data_ptr() == state["head.weight"].data_ptr()),
    )


@repair_tied.property("the list holds each Parameter of the model once", asks=LIST, changes=("torch RNG",))
def listed(answer: Any, trial: Trial) -> None:
    model, _, got = _done(answer, trial)
    trial.true(
        isinstance(got, list),
        f"The answer gave {'None. Is a `return` missing?' if got is None else f'a {type(got).__name__}.'}",
        expected="a list of Parameters",
        got=type(got).__name__,
        observed=("kind", type(got).__name__),
    )
    kinds = sorted({type(item).__name__ for item in got} - {"Parameter"})
    trial.true(
        not kinds,
        f"The list holds {' and '.join(kinds)}.",
        expected="Parameters",
        got=kinds,
        observed=("kinds", kinds),
    )
    own = {id(param): name for name, param in model.named_parameters()}
    names = sorted(own.get(id(param), "not in the model") for param in got)
    trial.true(
        names == sorted(own.values()),
        _about(names, sorted(own.values())),
        expected=sorted(own.values()),
        got=names,
        observed="old ones only" if set(names) == {"not in the model"} else names,
    )


def _about(names: list[str], want: list[str]) -> str:
    if "not in the model" in names:
        return (
            "The list holds Parameters that the model does not hold any more: an optimizer would move those."
        )
    if len(names) > len(set(names)):
        return f"{next(name for name in names if names.count(name) > 1)} stands in the list twice."
    return f"The list lacks {', '.join(name for name in want if name not in names)}."


@repair_tied.property(
    "a step of an optimizer on that list moves what the model uses",
    asks=LIST,
    changes=("torch RNG",),
    after=(
        loaded,
        tied,
        listed,
    ),
)
def moved(answer: Any, trial: Trial) -> None:
    model, _, params = _done(answer, trial)
    old = {name: param.detach().clone() for name, param in model.named_parameters(remove_duplicate=False)}
    trial.given("a backward and a step of SGD on the list that came back")
    model(torch.tensor([0, 2, 2])).square().sum().backward()
    torch.optim.SGD(params, lr=0.1).step()
    still = [name for name in NAMES if torch.equal(model.get_parameter(name), old[name])]
    trial.true(
        not still,
        f"{', '.join(still)} did not move.",
        expected="a step that moves all of the model",
        got="standing still",
        observed=still,
    )


@repair_tied.property("the call leaves the state as it is", asks=LEFT, changes=("torch RNG",))
def state_left(answer: Any, trial: Trial) -> None:
    model, state = _stage(trial)
    trial.given(GIVEN)
    before = {name: value.clone() for name, value in state.items()}
    entries = dict(state)
    answer(model, state)
    trial.equal(sorted(state), sorted(before), "The names of the state after the call", observed="names")
    off = [
        name
        for name in NAMES
        if state[name].shape != before[name].shape or not torch.equal(state[name], before[name])
    ]
    trial.true(
        not off,
        f"The numbers of {', '.join(off)} in the state have changed.",
        expected="the state as it was",
        got="edited",
        observed=("numbers", off),
    )
    others = [name for name in NAMES if state[name] is not entries[name]]
    trial.true(
        not others,
        f"{' and '.join(others)} of the state is a different tensor now.",
        expected="the state as it was, with the tensors that it held",
        got=f"a new tensor under {len(others)} of {len(NAMES)} names",
        observed=("tensors", others),
    )
    learned = [name for name in NAMES if state[name].requires_grad]
    trial.true(
        not learned,
        f"{' and '.join(learned)} of the state {'requires' if len(learned) == 1 else 'require'} grad now.",
        expected="requires_grad=False, as it was",
        got="requires_grad=True",
        observed=("requires grad", learned),
    )
