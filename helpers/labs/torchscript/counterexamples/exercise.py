"""Exercise 09.counterexamples: inputs on which a trace and its model differ."""

from __future__ import annotations

import copy
import functools
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.torchscript.shared.quiet import quiet
from helpers.labs.torchscript.shown.cases import Case, case, generators_kept

Answer = Callable[[Case], list[tuple]]

RNG = (
    "torch RNG",
    "numpy RNG",
    "random RNG",
)  # an answer may draw its inputs, and a model with dropout draws

counterexamples = Exercise(
    "09.counterexamples",
    "What the trace threw away",
    objective="Find the calls that show where a trace is not the model, for seven ways in which that happens.",
    minutes=20,
    difficulty="easy",
    hints=[
        "A trace is the list of the tensor operations that ran for the example. What did Python decide on the way: an "
        "`if`, the end of a loop, a number? Give an input for which Python would decide otherwise.",
        "Read `case.traced.code` beside the source of the model: what of the source is a constant there, or gone? "
        "`case.eager` has the threshold and the counts.",
        "Fewer rows make the trace of a loop fail, and an error is no difference: give more. The state needs several "
        "calls before the two differ. For dropout and for the random factor any call will do that is not all zeros.",
    ],
)

SAID = {
    "branch": 'the calls for "branch": an `if` on the data',
    "loop": 'the calls for "loop": a `for` over the rows',
    "len": 'the calls for "len": a size that became a number',
    "state": 'the calls for "state": an attribute that each call changes',
    "item": 'the calls for "item": a number taken out of a tensor',
    "training": 'the calls for "training": dropout, recorded in training mode',
    "random": 'the calls for "random": a number drawn by Python',
}


def calls_of(answer: Answer, trial: Trial, tried: Case) -> list[tuple]:
    """What the answer gives, if it is a list of tuples of tensors and left both modes alone."""
    with quiet(), generators_kept():
        calls = trial.call(answer, tried)
    trial.true(
        isinstance(calls, list | tuple),
        f"Expected a list of calls, got {type(calls).__name__}.",
        expected="a list of tuples, such as [(x,)]",
        observed=("no list", type(calls).__name__),
    )
    trial.true(len(calls) > 0, "The list of calls is empty.", expected="one call or more", observed="empty")
    for call in calls:
        trial.true(
            isinstance(call, tuple | list),
            f"A call is the tuple of forward's arguments, `(x,)` even for one. Got {type(call).__name__}.",
            expected="a list of tuples",
            observed=("no tuple", type(call).__name__),
        )
    modes = [module.training for top in (tried.eager, tried.traced) for module in top.modules()]
    trial.true(
        not any(modes),
        "The answer left the model or its trace in training mode. A mode is no input: what is asked for are calls "
        "after which the two differ as they were handed over, both in eval mode.",
        observed="mode changed",
    )
    return [tuple(call) for call in calls]


def result_of(model: Any, call: tuple, seed: int) -> Any:
    """model(*call) with the generators from `seed`, or the error that it raised."""
    torch.default_generator.manual_seed(seed)  # torch.manual_seed also tells the devices, which takes 4 ms
    random.seed(seed)
    try:
        with torch.no_grad():
            return model(*call)
    except Exception as error:  # whatever the model says to such arguments
        return error


def is_same(one: Tensor, other: Tensor) -> bool:
    """Whether two results are equal but for rounding."""
    return one.shape == other.shape and torch.allclose(
        one.double(), other.double(), 1e-4, 1e-5, equal_nan=True
    )


def is_example(call: tuple, example: tuple[Tensor, ...]) -> bool:
    """Whether a call has the very values of the example."""
    return len(call) == len(example) and all(
        isinstance(a, Tensor) and a.shape == b.shape and bool((a == b).all())
        for a, b in zip(call, example, strict=True)
    )


def differs_at(trial: Trial, tried: Case, calls: list[tuple]) -> int | None:
    """The first place at which model and trace differ; ends the property where one of them raises."""
    eager = copy.deepcopy(tried.eager)
    for place, call in enumerate(calls):
        with quiet(), generators_kept():
            results = [result_of(model, call, trial.seed + place) for model in (eager, tried.traced)]
        for who, result in zip(("model", "trace"), results, strict=True):
            if isinstance(result, Exception):
                line = next(iter(reversed(str(result).strip().splitlines())), "")
                trial.fail(
                    f"Call {place + 1} makes the {who} raise {type(result).__name__}. Both must run: an error would be "
                    "noticed, the silent difference is what to find.",
                    got=line[:150],
                    observed=("raised", who, len(calls) == 1),
                )
        if not is_same(*results):
            return place
    return None


def shown_call(call: tuple) -> str:
    """The shapes of a call, or its value where it is a single number."""
    parts = [
        (f"tensor({part.item():.4g})" if part.dim() == 0 else f"shape {tuple(part.shape)}")
        if isinstance(part, Tensor)
        else type(part).__name__
        for part in call
    ]
    return f"({', '.join(parts)})"


def least(tried: Case) -> int:
    """How many calls are needed."""
    return tried.eager.free + 1 if tried.name == "state" else 1


@functools.lru_cache(64)
def _made(name: str, seed: int) -> Case:
    return case(name, seed)


def kept_case(name: str, seed: int) -> Case:
    """lab.case(name, seed), traced once: the same inputs are given to each answer that is compared."""
    made = _made(name, seed)
    for module in (made.eager, made.traced):
        module.eval()  # an answer may have switched them
    return made


def holds(name: str, answer: Answer, trial: Trial) -> None:
    """The answer's calls for two cases of this name."""
    for seed in (trial.seed, trial.seed + 1):
        tried = kept_case(name, seed)
        asked = replace(tried, eager=copy.deepcopy(tried.eager))  # the answer may use up the state of its own
        trial.given(f'lab.case("{name}"), traced with {shown_call(tried.example)}')
        calls = calls_of(answer, trial, asked)
        trial.true(
            not is_example(calls[0], tried.example),
            "The first call is the example itself, with which the trace was made.",
            expected="a call with other arguments",
            observed="example",
        )
        place, needed = differs_at(trial, tried, calls), least(tried)
        description = ", ".join(map(shown_call, calls[:4])) + (", ..." if len(calls) > 4 else "")
        off = max(-3, min(3, len(calls) - needed))
        trial.true(
            place is not None,
            "Model and trace give the same."
            if len(calls) == 1
            else "Model and trace give the same at each of the calls.",
            expected="calls after which the two differ",
            got=description,
            observed=("same", off, any(isinstance(x, Tensor) and x.any() for x in calls[-1])),
        )
        trial.true(
            off == 0,
            f"{len(calls)} calls, and they differ at call {place + 1}. {needed} would be enough.",
            expected="the shortest list",
            got=description,
            observed=("longer", off),
        )


for _name, _said in SAID.items():
    counterexamples.property(_said, changes=RNG)(lambda answer, trial, name=_name: holds(name, answer, trial))
