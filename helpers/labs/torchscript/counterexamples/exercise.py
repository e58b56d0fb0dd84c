"""Exercise 09.counterexamples: inputs on which a trace and its model differ."""

from __future__ import annotations

import copy
import functools
import random
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.torchscript.counterexamples.edges import edges
from helpers.labs.torchscript.shared.quiet import quiet
from helpers.labs.torchscript.shown.cases import Case, branch_of, case, generators_kept

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

SAYS = "Calls, in order, of which the last one tells `case.eager` and its trace `case.traced` apart."
LIST = "Returns a list of calls."
CALL = 'A call is the tuple of the arguments of forward, `(x,)`, or `(x, k)` in case of "item".'
MADE = (
    "The check makes them in their order on a fresh copy of the model and on the trace, each time with the random "
    "generators in the same state."
)
RUN = "Both run at each call: an error is no difference."
FIRST = "The first call is not `case.example`."
LAST = "At the last call the two results differ by more than rounding, and at no call before it."
SHORTEST = "The list is as short as it can be."
MODE = "The mode (`train`, `eval`) of both is left as it is: a mode is no input."

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
            f"A list of calls is asked for, each of them the tuple of forward's arguments, `(x,)` even for one. In the "
            f"{type(calls).__name__} stands a {type(call).__name__} in the place of such a tuple.",
            expected="a list of tuples",
            got=f"a {type(calls).__name__} of {type(call).__name__}",
            observed=("no tuple", type(calls).__name__, type(call).__name__),
        )
    modes = [module.training for top in (tried.eager, tried.traced) for module in top.modules()]
    trial.true(
        not any(modes),
        "The answer left the model or its trace in training mode. A mode is no input: what is asked for are calls "
        "after which the two differ as they were handed over, both in eval mode.",
        expected="eval mode, both",
        got=", ".join(
            f"the {who} in {'training' if any(part.training for part in top.modules()) else 'eval'} mode"
            for who, top in (("model", tried.eager), ("trace", tried.traced))
        ),
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
                    expected=f"two results for {shown_call(call)}",
                    got=line[:150],
                    observed=("raised", who, len(calls) == 1, compared(tried, call)),
                )
        if not is_same(*results):
            return place
    return None


def shown_call(call: tuple) -> str:
    """The shapes of a call, or its value where it is a single number."""
    parts = [
        (f"tensor({number(part)})" if part.dim() == 0 else f"shape {tuple(part.shape)}")
        + (", all zeros" if part.dim() and not part.any() else "")
        if isinstance(part, Tensor)
        else type(part).__name__
        for part in call
    ]
    return f"({', '.join(parts)})"


def number(part: Tensor) -> str:
    """The number in a tensor; a float with its dtype, since 4.0 is no 4 for a slice."""
    dtype = str(part.dtype).removeprefix("torch.")
    return f"{part.item():.4g}" + ("" if part.dtype == torch.int64 else f", {dtype}")


def compared(tried: Case, call: tuple) -> str:
    """What a call has of that in which it may differ from the example, as far as it matters in this case."""
    if len(call) == len(tried.example) and not all(isinstance(part, Tensor) for part in call):
        return "no tensor"
    if not call or len(call) != len(tried.example):
        return "other arguments"
    x, example = call[0], tried.example[0]
    if tried.name == "branch" and x.double().mean().isnan():
        return "NaN"
    if tried.name == "branch":
        above = [bool(part.double().mean() > tried.eager.threshold) for part in (x, example)]
        side = "same side" if above[0] == above[1] else "other side"
        return side if x.shape == example.shape else f"{side}, another shape"
    if not x.any():
        return "zeros"
    if tried.name in ("loop", "len"):
        rows, traced = (len(part) if part.dim() else 0 for part in (x, example))
        if rows > traced and not x[traced:].any():
            return "zeros added"
        return "more rows" if rows > traced else "fewer rows" if rows < traced else "as many rows"
    if tried.name == "item":
        return "same k" if torch.equal(call[1], tried.example[1]) else "other k"
    return ""


def means(tried: Case, call: tuple) -> str:
    """The three numbers that decide about the way of the `if`."""
    mean, traced = (
        f"{float(x.double().mean()):.5g}" if isinstance(x, Tensor) else "none"
        for x in (*call[:1], *tried.example[:1])
    )
    return f"mean {mean}, of the example {traced}, threshold {float(tried.eager.threshold):.5g}"


def least(tried: Case) -> int:
    """How many calls are needed."""
    return tried.eager.free + 1 if tried.name == "state" else 1


def drawn_by(tried: Case) -> Any:
    """What differs between the two cases of a name, so that no constant is right for both."""
    x, *rest = tried.example
    return {
        "loop": lambda: len(x),
        "len": lambda: len(x),
        "state": lambda: tried.eager.free,
        "item": lambda: int(rest[0]),
    }.get(tried.name, lambda: float(x.flatten()[0]))()


@functools.lru_cache(64)
def _made(name: str, seed: int) -> Case:
    return case(name, seed)


def kept_case(name: str, seed: int) -> Case:
    """lab.case(name, seed), traced once: the same inputs are given to each answer that is compared."""
    made = _made(name, seed)
    for module in (made.eager, made.traced):
        module.eval()  # an answer may have switched them
    return made


def is_harder(threshold: float, above: int, other: float, other_above: int) -> bool:
    """Whether no constant mean is on the other side in both cases, and in the second one minus the example is not.

    above: how far the mean of the example is above the threshold: 3 or -3.
    """
    sign = 1 if above > 0 else -1
    return above * other_above < 0 and sign * other >= max(sign * threshold, 1.6)


def both_cases(name: str, trial: Trial) -> tuple[Case, Case]:
    """Two cases of this name that differ in what matters: the side of the threshold, the rows, the count, k."""
    first, seed = kept_case(name, trial.seed), trial.seed + 1
    if name == "branch":
        threshold, above = branch_of(trial.seed)
        return first, kept_case(
            name, next(s for s in count(seed) if is_harder(threshold, above, *branch_of(s)))
        )
    while drawn_by(second := kept_case(name, seed)) == drawn_by(first):
        seed += 1
    return first, second


def asked(answer: Answer, trial: Trial, tried: Case, of: str = "lab.case") -> list[tuple]:
    """The calls, from a case of the answer's own: it may use up the state of the model, and edit the example."""
    trial.given(f'{of}("{tried.name}"), traced with {shown_call(tried.example)}')
    example = tuple(part.clone() for part in tried.example)
    own = replace(tried, eager=copy.deepcopy(tried.eager), example=example)
    return calls_of(answer, trial, own)


@counterexamples.property(
    "a list of tuples, which does not begin with the example; the modes are left",
    asks=(LIST, CALL, FIRST, MODE),
    changes=RNG,
)
def form(answer: Answer, trial: Trial) -> None:
    for name in SAID:
        for tried in both_cases(name, trial):
            calls = asked(answer, trial, tried)
            trial.true(
                not is_example(calls[0], tried.example),
                "The first call is the example itself, with which the trace was made.",
                expected="a call with other arguments",
                got=f"{shown_call(calls[0])}, with the example's values, and {len(calls) - 1} calls after it",
                observed=(
                    "example",
                    *kind_of_case(name),
                    name == "branch" and len(calls) > 1 and not is_example(calls[1], tried.example),
                ),
            )


def kind_of_case(name: str) -> list[str]:
    """What is said of the example depends on the case: most of them give the same for it, some do not."""
    return [name] if name == "state" else ["drawn"] if name in ("training", "random") else []


def same_number(answer: Answer, trial: Trial) -> bool:
    """Whether both cases get as many calls, though they need different numbers of them; not one, and not very many."""
    cases = both_cases("state", trial)
    many = [len(asked(answer, trial, tried)) for tried in cases]
    too_many = [calls - least(tried) for calls, tried in zip(many, cases, strict=True)]
    return many[0] == many[1] > 1 and min(too_many) < 3


def holds(name: str, answer: Answer, trial: Trial) -> None:
    """The answer's calls for two cases of this name, and for those at the edges."""
    is_fixed = name == "state" and same_number(answer, trial)
    drawn = [(tried, "lab.case") for tried in both_cases(name, trial)]
    for tried, of in (*drawn, *((tried, "lab.Case") for tried in edges(name, trial.seed))):
        calls = asked(answer, trial, tried, of)
        place, needed = differs_at(trial, tried, calls), least(tried)
        description = ", ".join(map(shown_call, calls[:4])) + (", ..." if len(calls) > 4 else "")
        if name == "branch":
            description += f"; {means(tried, calls[-1])}"
        off = max(-3, min(3, len(calls) - needed))
        trial.true(
            place is not None,
            "Model and trace give the same."
            if len(calls) == 1
            else "Model and trace give the same at each of the calls.",
            expected="calls after which the two differ",
            got=description,
            observed="same number"
            if is_fixed
            else ("same", len(calls) > 1, off if name == "state" else 0, compared(tried, calls[-1])),
        )
        trial.true(
            off == 0,
            f"{len(calls)} calls, and they differ at call {place + 1}. {needed} would be enough.",
            expected="the shortest list",
            got=description,
            observed="same number" if is_fixed else ("longer", off),
        )


for _name, _said in SAID.items():
    counterexamples.property(_said, asks=(SAYS, MADE, RUN, LAST, SHORTEST), changes=RNG)(
        lambda answer, trial, name=_name: holds(name, answer, trial)
    )
