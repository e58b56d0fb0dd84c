"""The check of 07.data_parallel: threads that run at once, keep their places and hand on their exceptions."""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.check.compare import difference
from helpers.check.trial import Trial
from helpers.labs.ddp.data_parallel.exercise import data_parallel
from helpers.labs.ddp.data_parallel.inputs import (
    Answer,
    Broken,
    Crowd,
    Doubled,
    Member,
    drawn,
    listed,
    quiet_threads,
)
from helpers.labs.ddp.data_parallel.properties.replicas import (
    buffers_apart,
    gradients_of_replicas,
    replicas_apart,
)


@data_parallel.property(
    "parallel_apply gives the output of module i on input i with kwargs i, at place i",
    asks="[mods[0](inputs[0], **kwargs[0]), ...]",
)
def outputs(answer: Answer, trial: Trial) -> None:
    for n in (1, 3):
        mods, inputs = (
            [Doubled(place) for place in range(n)],
            [drawn(trial, 2 + place, 3) for place in range(n)],
        )
        kwargs = [{"shift": 5.0 + 10.0 * place} for place in range(n)]  # none is the default
        trial.given(
            f"parallel_apply(mods, inputs, kwargs), {n} module{'s' if n > 1 else ''}, kwargs {kwargs}"
        )
        with quiet_threads():
            got = listed(trial, trial.call(answer[2], mods, inputs, kwargs), "parallel_apply")
        wants = [mod.right(x, **kw) for mod, x, kw in zip(mods, inputs, kwargs, strict=True)]
        if _are_in_another_order(got, wants):
            continue  # told below, where the last one is ready first
        trial.true(
            len(got) == n,
            f"Expected {n} outputs, one of each module.",
            expected=n,
            got=len(got),
            observed=("length", n, len(got)),
        )
        empty = [place for place, out in enumerate(got) if out is None]
        trial.true(
            not empty,
            f"At the places {empty} of the {n} results stands None: no thread has put the output of its module there.",
            expected=f"{n} outputs",
            got=f"None at {empty}",
            observed=("None at", empty, n),
        )
        taken = _keywords_taken(mods, inputs, kwargs, got)
        for place, (out, want) in enumerate(zip(got, wants, strict=True)):
            trial.equal(
                out, want, f"The output of module {place}", observed=("keywords of", taken) if taken else None
            )


def _keywords_taken(mods: list[Doubled], inputs: list[Tensor], kwargs: list[dict], got: list) -> str:
    """With whose keywords all outputs are computed, where it is one for all; "" else."""
    for name, one in (("nobody", {}), ("the first", kwargs[0])):
        wants = [mod.right(x, **one) for mod, x in zip(mods, inputs, strict=True)]
        if all(difference(out, want) is None for out, want in zip(got, wants, strict=True)):
            return name
    return ""


def _are_in_another_order(got: list, wants: list[Tensor]) -> bool:
    """By shape: no two outputs have the same."""
    shapes = [tuple(out.shape) if isinstance(out, Tensor) else () for out in got]
    return shapes != sorted(shapes) and sorted(shapes) == [tuple(want.shape) for want in wants]


@data_parallel.property(
    "parallel_apply runs all modules at the same time, each in its own thread",
    asks="[mods[0](inputs[0], **kwargs[0]), ...], all at the same time, each in a thread of its own.",
)
def at_once(answer: Answer, trial: Trial) -> None:
    trial.given("three modules that wait in forward until all three are there")
    crowd = Crowd(3)
    mods = [Member(crowd, place) for place in range(3)]
    with quiet_threads():
        listed(trial, answer[2](mods, [drawn(trial, 1, 2) for _ in range(3)], [{}, {}, {}]), "parallel_apply")
    trial.true(
        crowd.met,
        "The forwards did not run at the same time: one waited for the others, and they did not come.",
        expected="3 forwards under way",
        got=f"{crowd.most} at one time",
        observed=("at one time", crowd.most),
    )


@data_parallel.property(
    "the outputs stand in the order of the modules, also when the last one is ready first",
    asks="The results stand in the order of mods, whichever is ready first.",
)
def order_of_outputs(answer: Answer, trial: Trial) -> None:
    trial.given("parallel_apply(mods, inputs, [{}, {}, {}]), three modules; the first one is ready last")
    crowd = Crowd(3)
    mods = [Member(crowd, place, last_first=True) for place in range(3)]
    inputs = [drawn(trial, 2, 3) for _ in range(3)]
    with quiet_threads():
        got = listed(trial, answer[2](mods, inputs, [{}, {}, {}]), "parallel_apply")
    is_of = [
        next(
            (place for place, x in enumerate(inputs) if isinstance(out, Tensor) and torch.equal(out, 2 * x)),
            None,
        )
        for out in got
    ]
    trial.true(
        is_of == [0, 1, 2],
        "Output i is not that of module i: the samples of the batch change places.",
        expected="outputs of modules [0, 1, 2]",
        got=f"outputs of modules {is_of}",
        observed="by finishing" if sorted(map(str, is_of)) == ["0", "1", "2"] else is_of,
    )


@data_parallel.property(
    "an exception in one replica reaches the caller",
    after=(gradients_of_replicas, replicas_apart, buffers_apart, at_once, order_of_outputs),
    asks="If a replica raises, an exception of the same type and text is raised here.",
)
def error_of_a_replica(answer: Answer, trial: Trial) -> None:
    mods = [Doubled(0), Broken(), Doubled(2)]
    trial.given("three modules, of which the second raises ValueError('no such label: 7')")

    def call() -> object:
        with quiet_threads():
            return answer[2](mods, [drawn(trial, 2, 3) for _ in range(3)], [{}, {}, {}])

    try:
        found = call()
    except ValueError as raised:
        error = raised
    except Exception as other:
        trial.fail(
            f"A replica raises ValueError, and {type(other).__name__} reaches the caller.",
            expected="ValueError: no such label: 7",
            got=f"{type(other).__name__}: {str(other)[:100]}",
            observed=("raised", type(other).__name__),
        )
    else:
        kinds = [type(each).__name__ for each in found] if isinstance(found, (list, tuple)) else None
        trial.fail(
            "A replica raises ValueError, and nothing reaches the caller.",
            expected="ValueError: no such label: 7",
            got="a result of type " + (type(found).__name__ if kinds is None else f"[{', '.join(kinds)}]"),
            observed=("nothing raised", kinds is not None and "ValueError" in kinds),
        )
    trial.true(
        "no such label: 7" in str(error),
        "A ValueError is raised, but its text is lost.",
        expected="no such label: 7",
        got=str(error)[:100],
        observed="text lost",
    )
