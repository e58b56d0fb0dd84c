"""Exercise 04.swa_average: the equal average of several checkpoints."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.optim import swa_utils

from helpers.check.calls import calls_to
from helpers.check.compare import difference, shown
from helpers.check.trial import Trial
from helpers.exercise import Exercise

swa_average = Exercise(
    "04.swa_average",
    "The average of several checkpoints",
    objective="Average checkpoints as stochastic weight averaging does, tensor by tensor.",
    minutes=15,
    difficulty="easy",
    core=False,
    hints=[
        "What is in a state besides numbers with a point? Look at the state of a BatchNorm layer: which of its entries has "
        "a mean that makes sense?",
        "A sum for each tensor with a point, divided once at the end; for integers and bools the value of one state. The "
        "states stay as they are, so start from copies.",
        "torch.stack([state[name] for state in states]).mean(0) for a tensor with is_floating_point(), and "
        "states[-1][name].clone() for the others. Let the result have the dtype of the states.",
    ],
)

TORCHS = [
    swa_utils.AveragedModel,
    swa_utils.get_swa_avg_fn,
    swa_utils.get_swa_multi_avg_fn,
    swa_utils.get_swa_avg_fn(),  # what it returns has one code, so a function that was made earlier is seen, too
    swa_utils.get_swa_multi_avg_fn(),
]
SHAPES = {"layer.weight": (3, 2), "layer.bias": (3,), "scale": (), "norm.running_mean": (3,)}
SWAPPED = ("layer.weight", "norm.running_mean", "scale", "layer.bias")  # the same shapes in each place
MIXED = {"layer.weight": torch.bfloat16, "layer.bias": torch.float32, "scale": torch.float64}
INTEGERS = ("norm.num_batches_tracked", "mask", "seed")

State = dict[str, Tensor]
STAY = "New tensors; the states are left as they are, and share no memory with the result."


def some_states(trial: Trial, count: int, dtype: torch.dtype = torch.float32) -> list[State]:
    """States with numbers with a point only."""
    return [
        {name: torch.randn(shape, generator=trial.generator).to(dtype) for name, shape in SHAPES.items()}
        for _ in range(count)
    ]


def with_integers(trial: Trial, states: list[State]) -> list[State]:
    """The same states with a counter, a mask and a number of 63 bits in each.

    No mask is another one's opposite, nor what most masks, any or all of them say.
    """
    # The largest, the smallest and the median of each entry together are no state's.
    draws = sorted(trial.random.randrange(2**62) for _ in states)
    for place, state in enumerate(states):
        state["norm.num_batches_tracked"] = torch.tensor(10 * place + trial.random.randrange(10))
        state["mask"] = torch.tensor([place == other for other in range(len(states))] + [False, True, True])
        state["seed"] = torch.tensor([2**62 + place, draws[(place + 1) % len(states)]])
    return states


def averaged(answer: Any, trial: Trial, states: Any, names: set[str]) -> State:
    """What the answer gives, if it is a dict of tensors under these names."""
    trial.arguments_stay(STAY)
    got = trial.call(answer, states)
    trial.true(
        isinstance(got, dict),
        f"swa_average gave {'None' if got is None else f'an object of type {type(got).__name__}'}.",
        expected="a dict of tensors",
        observed=("kind", type(got).__name__),
    )
    trial.true(
        set(got) == names,
        "The result has other keys than the states.",
        expected=str(sorted(names)),
        got=sorted(map(str, got)),
        observed=("keys", _missing(set(got), names), "more" if set(got) - names else "no others"),
    )
    kinds = sorted({type(value).__name__ for value in got.values()} - {"Tensor", "Parameter"})
    trial.true(
        not kinds, "The result holds other things than tensors.", got=kinds, observed=("values", kinds)
    )
    return got


def _missing(got: set[Any], names: set[str]) -> list[str]:
    """What is missing in a result: integers (and bools), numbers with a point, or all of them."""
    of = {"integers": names & set(INTEGERS), "numbers with a point": names - set(INTEGERS)}
    return [f"{'all' if not keys & got else 'some'} {kind}" for kind, keys in of.items() if keys - got]


def _states(count: int) -> str:
    return "one state" if count == 1 else f"{count} states"


def mean_of(states: list[State], name: str) -> Tensor:
    return torch.stack([state[name].detach().double() for state in states]).mean(0)


def exponential(values: Tensor) -> list[Tensor]:
    """Averages in which each state gets one and the same weight, of those that people take, against all before it."""
    found = []
    for weight in (
        0.0001,
        0.001,
        0.01,
        0.05,
        0.1,
        0.2,
        0.25,
        0.3,
        0.4,
        0.6,
        0.7,
        0.75,
        0.8,
        0.9,
        0.95,
        0.99,
        0.999,
    ):
        for begin in (values[0], torch.zeros_like(values[0])):
            mean = begin
            for value in values if begin is not values[0] else values[1:]:
                mean = mean + weight * (value - mean)
            found.append(mean)
    return found


def which(got: Tensor, states: list[State], name: str) -> Any:
    """In words, what else than the mean a tensor is."""
    values = torch.stack([state[name].detach().double() for state in states])
    halved = values[0]
    for value in values[1:]:
        halved = (halved + value) / 2
    count = len(values)
    places = torch.arange(1, count + 1).reshape(count, *[1] * (values.ndim - 1))
    words = {
        "the mean": values.mean(0),
        "the mean with the weights 1, 2, 3, ...": (values * places).sum(0) / places.sum(),
        "the sum of the states": values.sum(0),
        "the first state's": values[0],
        "the last state's": values[-1],
        "the mean of all states but the first": values[1:].mean(0),
        "the mean of all states but the last": values[:-1].mean(0),
        "the sum divided by one less than their number": values.sum(0) / max(count - 1, 1),
        "the sum divided by one more than their number": values.sum(0) / (count + 1),
        "halved at each state": halved,
        "the sum with the first state twice, divided by one more than their number": (
            values.sum(0) + values[0]
        )
        / (count + 1),
        "the mean of all numbers of that tensor": values.mean().expand_as(values[0]),
        "the median": values.median(0).values,
        "the largest": values.amax(0),
        "the mean of the first and the last": (values[0] + values[-1]) / 2,
    }
    middle = values.quantile(0.5, dim=0)  # of an even number of states: between the two in the middle
    words = [
        *words.items(),
        ("the median", middle),
        *(("an exponential average", each) for each in exponential(values)),
    ]
    for word, value in words:
        if got.shape == value.shape and torch.allclose(got.detach().double(), value, rtol=1e-4, atol=1e-5):
            return word
    return "other numbers", [round(number, 6) for number in got.flatten().tolist()]


@swa_average.property(
    "each tensor is the mean of all states, which count the same",
    asks="The equal average of several state dicts, tensor by tensor.",
)
def _(answer: Any, trial: Trial) -> None:
    for count in (trial.random.randrange(4, 7), 2, 1):
        states = some_states(trial, count)
        trial.given(f"a list of {_states(count)} of float32 tensors")
        want = {name: mean_of(states, name).float() for name in SHAPES}
        given = [{name: value.clone() for name, value in state.items()} for state in states]
        got = averaged(answer, trial, given, set(SHAPES))
        off = [name for name in SHAPES if difference(got[name].detach(), want[name])]
        found = [(name, which(got[name], states, name)) for name in off]
        dtypes = sorted({str(got[name].dtype) for name in off})
        for name, word in found[:1]:
            trial.equal(
                got[name].detach(),
                want[name],
                f"{name} is {word}" if isinstance(word, str) else name,
                observed=(min(count, 3), len(off) == len(SHAPES), dtypes, sorted({str(w) for _, w in found})),
            )


@swa_average.property(
    "integers and bools are those of a state, and no mean",
    asks="Integers and bools (counters, masks) have no mean: take all of them from one state, as the last.",
)
def _(answer: Any, trial: Trial) -> None:
    for count in (trial.random.randrange(4, 7), 1):
        states = with_integers(trial, some_states(trial, count))
        trial.given(f"{_states(count)} with num_batches_tracked and seed (int64), and mask (bool)")
        got = averaged(answer, trial, states, {*SHAPES, *INTEGERS})
        found = [(name, got[name].dtype, _word(got[name], states, name)) for name in INTEGERS]
        off = [
            (name, dtype, word)
            for name, dtype, word in found
            if word != "a state's" or dtype != states[0][name].dtype
        ]
        name = off[0][0] if off else "mask"
        trial.true(
            not off,
            "; ".join(f"{name} is {word}, in {dtype}" for name, dtype, word in off) + ".",
            expected=f"{name} of one of the states, as the last one: {states[-1][name].tolist()}, "
            f"in {states[-1][name].dtype}",
            got=f"{got[name].tolist()}, in {got[name].dtype}",
            observed=sorted(
                {
                    (
                        "a mask" if name == "mask" else "an integer",
                        word,
                        "its own dtype" if dtype == states[0][name].dtype else str(dtype),
                    )
                    for name, dtype, word in off
                }
            ),
        )
        places = {name: _equal_places(got[name], states, name) for name in INTEGERS}
        trial.true(
            bool(set.intersection(*places.values())),
            "Integers and bools are those of different states: "
            + ", ".join(f"{name} of state {min(where)}" for name, where in places.items())
            + ".",
            expected="all of them from one state, as the last one",
            observed="of different states",
        )


def _equal_places(got: Tensor, states: list[State], name: str) -> set[int]:
    """The states whose value this is, its dtype aside."""
    values = [state[name] for state in states]
    return {place for place, value in enumerate(values) if torch.equal(got.to(value.dtype), value)}


def _word(got: Tensor, states: list[State], name: str) -> str:
    """In words, what an integer or bool of the result is, its dtype aside."""
    if _equal_places(got, states, name):
        return "a state's"
    values = torch.stack([state[name] for state in states])
    now, mean = got.double(), values.double().mean(0)
    bools = values.dtype is torch.bool
    near = [value for value in values if torch.allclose(now, value.double(), rtol=1e-6, atol=0)]
    if torch.allclose(now, mean, rtol=1e-6, atol=1e-6 if bools else 1.0):  # a mean may be cut to an integer
        return "a mean"
    if not now.any():
        return "zeros"
    if torch.equal(got.to(values.dtype), values.amax(0) if not bools else values.any(0)):
        return "the largest of all states'"
    if torch.equal(got.to(values.dtype), values.amin(0) if not bools else values.all(0)):
        return "the smallest of all states'"
    if torch.equal(got.to(values.dtype), mean > 0.5 if bools else values.median(0).values):
        return "what most states say, or the median"
    if bools and torch.equal(got.to(values.dtype), ~values[-1]):
        return "the opposite of the last state's"
    if torch.equal(got.to(values.dtype), values.sum(0).to(values.dtype)):
        return "the sum"
    return "a state's, rounded" if near else "other"


@swa_average.property(
    "the states are left as they are, and the result shares no memory with them",
    asks=STAY,
)
def _(answer: Any, trial: Trial) -> None:
    for count, dtype in ((3, torch.float32), (1, torch.float32), (1, torch.float64)):
        states = with_integers(trial, some_states(trial, count, dtype))
        trial.given(f"a list of {_states(count)} in {dtype}")
        before = [{name: value.clone() for name, value in state.items()} for state in states]
        objects = [dict(state) for state in states]
        got = averaged(answer, trial, states, set(states[0]))
        edited = [
            place
            for place, state in enumerate(states)
            if state.keys() != before[place].keys()
            or any(
                state[name] is not objects[place][name] or not torch.equal(state[name], before[place][name])
                for name in state
            )
        ]
        trial.true(
            not edited,
            f"State {edited[0] if edited else 0} was changed: it cannot be used, or averaged again.",
            expected="states as they were",
            got=f"state {edited[0] if edited else 0} with {_how(states, objects, before, edited)}",
            observed=(
                "edited",
                [
                    "first" if place == 0 and count > 1 else "last" if place == count - 1 else "another"
                    for place in edited
                ],
                _how(states, objects, before, edited),
            ),
        )
        places = {value.data_ptr() for state in states for value in state.values()}
        shared = sorted(name for name, value in got.items() if value.data_ptr() in places)
        trial.true(
            not shared,
            f"In the memory of a state lie, of the result: {', '.join(shared)}. When that model trains on, the average moves.",
            expected="new tensors",
            got=f"the memory of a state in {len(shared)} of {len(got)} tensors",
            observed=(
                "shared",
                "several states" if count > 1 else "one state",
                sorted({"integers" if name in INTEGERS else "numbers with a point" for name in shared}),
            ),
        )


def _how(states: list[State], objects: list[State], before: list[State], edited: list[int]) -> str:
    """In words, what happened to states that were changed: entries of the dict, numbers in the tensors it held."""
    entries = any(
        state.keys() != was.keys() or any(state[name] is not was[name] for name in was)
        for state, was in ((states[place], objects[place]) for place in edited)
    )
    numbers = any(
        not torch.equal(objects[place][name], value)
        for place in edited
        for name, value in before[place].items()
    )
    told = ["other entries in its dict"] * entries + ["other numbers in the tensors that it held"] * numbers
    return " and ".join(told)


@swa_average.property(
    "tied weights, and keys in a different order",
    asks="The equal average of several state dicts, tensor by tensor.",
)
def _(answer: Any, trial: Trial) -> None:
    for tied in (True, False):
        states = some_states(trial, 3)
        if tied:
            for state in states:
                state["head.weight"] = state["layer.weight"].detach()
            trial.given(
                "3 states in which head.weight and layer.weight are tied: one memory, as state_dict() gives it"
            )
        else:
            states[1] = {name: states[1][name] for name in SWAPPED}
            trial.given("3 states with the same keys; those of state 1 are in a different order")
        got = averaged(answer, trial, states, set(states[0]))
        off = [name for name in got if difference(got[name].detach(), mean_of(states, name).float())]
        name = off[0] if off else "scale"
        trial.true(
            not off,
            f"Not the mean of the states: {', '.join(sorted(off))}.",
            expected=mean_of(states, name).float(),
            got=got[name],
            observed="tied" if tied else "a different order",
        )


@swa_average.property(
    "the result has the dtype of the states, and its precision",
    asks=(
        "Tensors of a floating dtype are averaged.",
        "The mean has that dtype, and is as exact as it: a sum of many in float16 or bfloat16 is not.",
    ),
)
def _(answer: Any, trial: Trial) -> None:
    found, wrong = [], []
    for dtype, count, scale, near in (
        (torch.bfloat16, 3, 1.0, 2**-6),
        (torch.bfloat16, 200, 1.0, 2**-6),  # 8 bits: what is added to a long sum, or mean, gets lost
        (torch.float16, 4, 3e4, 2**-9),  # the sum of two is more than float16 holds
        (torch.float64, 3, 1.0, 1e-12),
    ):
        low, high = (
            {name: ((value.tanh() / 9 + start) * scale).to(dtype) for name, value in state.items()}
            for start, state in zip(
                (1.0, 3.0 if dtype is torch.bfloat16 else 1.1), some_states(trial, 2), strict=True
            )
        )
        states = [dict(low) for _ in range(2)] + [dict(high) for _ in range(count - 2)]
        got = averaged(answer, trial, states, set(SHAPES))
        each = [_exact(got[name].detach(), states, name, near) for name in SHAPES]
        first = next((place for place, one in enumerate(each) if one[:2] != ("right", dtype)), None)
        found.append((dtype, *each[first or 0], count))
        if first is not None and not wrong:
            name = [*SHAPES][first]
            wrong = [got[name], mean_of(states, name).to(dtype)]
    trial.given("3 and 200 states of bfloat16, 4 of float16 with large numbers, 3 of float64")
    off = [
        f"{count} states of {own}: "
        + (
            f"the result is {word}, with an error of {worst:.1g} of the mean"
            if word != "right"
            else "the mean is right"
        )
        + (f", and comes in {have}" if have != own else "")
        for own, word, have, worst, count in found
        if word != "right" or have != own
    ]
    trial.true(
        not off,
        "; ".join(off).capitalize() + ".",
        expected="the mean, in the dtype of the states, and as exact as that dtype",
        got=f"{shown(wrong[0])} in the first case that is off, where the mean is {shown(wrong[1])}"
        if off
        else "",
        observed=[(str(own), word, str(have)) for own, word, have, _, _ in found],
    )
    states = some_states(trial, 3)
    for state in states:
        for name, dtype in MIXED.items():
            state[name] = state[name].to(dtype)
    trial.given(
        "3 states whose tensors have different dtypes: " + ", ".join(f"{n} {d}" for n, d in MIXED.items())
    )
    got = averaged(answer, trial, states, set(SHAPES))
    off = [name for name, dtype in MIXED.items() if got[name].dtype != dtype]
    trial.true(
        not off,
        "In the dtype of a different tensor: "
        + ", ".join(f"{name} in {got[name].dtype}" for name in off)
        + ".",
        expected="each tensor in its own dtype",
        observed="one dtype for all",
    )


def _exact(got: Tensor, states: list[State], name: str, near: float) -> tuple[str, torch.dtype, float]:
    """In words, how near a tensor of the result is to the mean; its dtype; its error, as a share of the mean."""
    want = mean_of(states, name)
    worst = ((got.double() - want) / want).abs().max().item()
    close = torch.allclose(got.double(), want, rtol=near, atol=0)
    word = "right" if close else "off" if got.isfinite().all() else "not finite"
    if word == "off" and torch.equal(got.to(states[-1][name].dtype), states[-1][name]):
        word = "the last state's"
    if word == "off" and want.dtype is states[0][name].dtype and worst < 1e-6:
        word = "as exact as float32"
    return word, got.dtype, worst


@swa_average.property(
    "the averaging is done here, and not by torch.optim.swa_utils",
    asks="Nothing of torch.optim.swa_utils is called.",
)
def _(answer: Any, trial: Trial) -> None:
    states = some_states(trial, 3)
    trial.given("3 states")
    with calls_to(*TORCHS) as seen:
        averaged(answer, trial, states, set(SHAPES))
    trial.true(
        not seen,
        "The answer uses torch.optim.swa_utils, which the exercise builds again.",
        expected="arithmetic on the tensors",
        got=sorted({name.partition(".")[0] for name in seen}),
        observed="torch's own",
    )
