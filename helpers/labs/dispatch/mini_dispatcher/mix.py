"""Dispatchers drawn at random for 12.mini_dispatcher: each does what the same steps do with a right answer."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from helpers.check.trial import Trial
from helpers.labs.dispatch.mini_dispatcher.inputs import Bench, InACircle, Thing, listed, name_of
from helpers.labs.dispatch.mini_dispatcher.right import Steps
from helpers.notebook.stubs import missing_exercise

NAMES = ["meta", "tracing", "autocast", "view", "dense", "cuda", "nested", "quantized"]
OPS = ["add", "mul", "sub"]
DEEPEST = 4


@dataclass(frozen=True)
class Step:
    """One thing that is done with a dispatcher.

    what: "kernel", "fallback", "call", "redispatch", "open" or "close". then: what a kernel does: "return", "hand on"
    or "call anew".
    """

    what: str
    op: str = ""
    key: str = ""
    keys: tuple[str, ...] = ()
    then: str = ""


def drawn_table(answer: Any, trial: Trial) -> None:
    """Wrong unless a row of steps, drawn at random, does with the answer what it does with a right one."""
    r = trial.random
    names = r.sample(NAMES, r.randrange(2, 7))
    steps, open_blocks = [], 0
    for _ in range(r.randrange(20, 45)):
        what = r.choice(
            ["kernel"] * 4 + ["fallback"] * 2 + ["call"] * 5 + ["redispatch"] * 2 + ["open", "close"]
        )
        keys = (
            tuple(r.sample(NAMES, r.randrange(1, 6)))
            if what != "open"
            else tuple(r.sample(names, r.randrange(2)))
        )
        if what == "close" and not open_blocks:
            continue
        open_blocks += (what == "open") - (what == "close")
        then = r.choice(["return", "return", "hand on", "hand on", "call anew", "PASS"])
        steps.append(Step(what, r.choice(OPS), r.choice(names), keys, then))
    want = _run(Bench(Steps, trial, names), steps)
    got = _run(Bench(answer, trial, names), steps)
    for place, (step, one, other) in enumerate(
        zip((s for s in steps if s.what in ("call", "redispatch")), want, got, strict=True)
    ):
        if one == other:
            continue
        below = f', "{step.key}"' if step.what == "redispatch" else ""
        table = _table(steps, place, step.op)
        trial.given(f"drawn at random: priority {names}; x has the keys {', '.join(step.keys)}; {table}")
        words = f'`{step.what}("{step.op}"{below}, x)`, call {place + 1} of the table,'
        trial.fail(
            f"{words} does not run the kernels that it should."
            if one[1] != other[1]
            else f"{words} ends as it should not; the kernels that ran are the right ones."
            if one[1]
            else f"{words} runs no kernel, and so it should, but does not end as it should.",
            expected=_in_words(one),
            got=_in_words(other),
            observed=("drawn", place, one, other),
        )


def _table(steps: list[Step], calls: int, op: str) -> str:
    """What is registered and excluded at a call, in words. calls: how many calls come before it."""
    own: dict[str, str] = {}
    fallbacks: dict[str, str] = {}
    blocks: list[tuple[str, ...]] = []
    for number, step in enumerate(steps):
        if step.what in ("call", "redispatch"):
            if not calls:
                break
            calls -= 1
        elif step.what == "open":
            blocks.append(step.keys)
        elif step.what == "close":
            blocks.pop()
        elif step.what == "fallback" or step.op == op:
            name = "PASS" if step.then == "PASS" else f"{step.what} {number}"
            (own if step.what == "kernel" else fallbacks)[step.key] = name
    parts = (
        f"{op}: {', '.join(f'{key}: {name}' for key, name in own.items()) or 'no kernel'}",
        f"fallbacks: {', '.join(f'{key}: {name}' for key, name in fallbacks.items()) or 'none'}",
        f"excluded: {', '.join(sorted({key for keys in blocks for key in keys})) or 'none'}",
    )
    return "; ".join(parts)


def _run(bench: Bench, steps: list[Step]) -> list[tuple[str, list[str]]]:
    """Of each call the error, or "", and the kernels that ran."""
    seen = []
    with ExitStack() as blocks:
        opened: list[ExitStack] = []
        for number, step in enumerate(steps):
            if step.what in ("kernel", "fallback"):
                _register(bench, step, number)
            elif step.what == "open":
                opened.append(blocks.enter_context(ExitStack()))
                opened[-1].enter_context(bench.dispatcher.excluding(*step.keys))
            elif step.what == "close":
                opened.pop().close()
            else:
                seen.append(_called(bench, step))
    return seen


def _register(bench: Bench, step: Step, number: int) -> None:
    d = bench.dispatcher
    if step.then == "PASS":
        kernel: Any = bench.passing
    else:

        def then(*args: Any) -> Any:
            args = args if step.what == "kernel" else args[1:]  # a fallback gets the operator, too
            if step.then == "return" or len(bench.ran) > DEEPEST:
                return number
            if step.then == "hand on":
                return d.redispatch(step.op, step.key, *args)
            with d.excluding(step.key):
                return d.call(OPS[number % len(OPS)], *args)

        kernel = bench.kernel(f"{step.what} {number} ({step.key})", then)
    if step.what == "kernel":
        d.register(step.op, step.key, kernel)
    else:
        d.register_fallback(step.key, kernel)


def _called(bench: Bench, step: Step) -> tuple[str, list[str]]:
    d, one, raised = bench.dispatcher, Thing("x", *step.keys), ""
    bench.ran.clear()
    try:
        if step.what == "call":
            raised = f"returned {d.call(step.op, one)}"
        else:
            raised = f"returned {d.redispatch(step.op, step.key, one)}"
    except (NotImplementedError, LookupError, ValueError) as error:
        if missing_exercise(error):
            raise
        raised = name_of(error)
    except InACircle:
        raised = "no end"
    return raised, [name for name, _ in bench.ran]


def _in_words(seen: tuple[str, list[str]]) -> str:
    return f"{listed(seen[1])}; {seen[0]}"
