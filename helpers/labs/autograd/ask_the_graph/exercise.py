"""Exercise 03.ask_the_graph: what is wrong with a training step, found from the objects that it made."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch import Tensor

from helpers.check.calls import calls_to
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.autograd.ask_the_graph.inputs import (
    CONSTANT,
    CUT,
    EDITED,
    KEPT,
    OTHER_NAMES,
    UNSEEN,
    WAYS,
    Step,
    apart,
    drawn,
    large,
    saved_elsewhere,
)
from helpers.labs.autograd.ask_the_graph.right import Diagnosis

# Of 40 diamonds each node visited once takes a few thousand; each way walked would take 2**40.
LINES = 300_000

Asked = Callable[[dict[str, Tensor], dict[str, Tensor], dict[str, tuple[Tensor, int]]], set[str]]

ask_the_graph = Exercise(
    "03.ask_the_graph",
    "Ask the graph",
    objective="Find silent faults of a training step from grad_fn, next_functions, what nodes saved, and versions alone.",
    minutes=25,
    difficulty="medium",
    core=False,
    hints=[
        "Four of the five words need the same thing first: all nodes behind a part, each once. nodes_behind, from the "
        "beginning of the lab, is nearly that. What does it do with a part that has no grad_fn, and how long does it "
        "take for thousands of nodes?",
        "A leaf's node has an attribute `variable`, the leaf itself: compare with `is`. The node of a Function is a "
        "Python object: vars(node) is a dict of its attributes; a node that is written in C++ has none.",
        'Reading is the test for "edited": getattr(node, name) for each name in dir(node) that begins with _saved_, '
        "and node.saved_tensors of a Function, raise RuntimeError if the tensor was edited since.",
        'For "edited unseen" no graph is needed: torch.equal(param, copy) tells whether the numbers are the same, '
        "param._version == version whether an edit was counted. The fault is: other numbers, and no edit counted.",
    ],
)


def told(answer: Asked, trial: Trial, step: Step, *, first: bool = False) -> None:
    """Wrong unless the answer gives the words that hold for this step.

    first: whether it has not been seen yet that an answer is right about a step without a fault.
    """
    trial.given(step.shown())
    got = diagnosis(answer, trial, step)
    trial.true(
        isinstance(got, set | frozenset),
        f"ask_the_graph returned {'None' if got is None else f'an object of type {type(got).__name__}'}, no set.",
        expected="a set of words",
        observed=("type", type(got).__name__),
    )
    words = sorted(map(str, got))
    missing, extra = sorted(step.wanted - set(words)), sorted(set(words) - step.wanted)
    sentences = [f"Missing: {', '.join(missing)}."] * bool(missing) + [
        f"Too much: {', '.join(extra)}."
    ] * bool(extra)
    if {CUT, CONSTANT} & {*missing, *extra}:
        sentences.append(who_stands_where(step))
    if not first and extra and diagnosis(answer, trial, apart(trial)):
        sentences.append(
            "And the answer says something of a step without a fault now: words of an earlier call come again."
        )
    trial.true(
        not missing and not extra,
        " ".join(sentences),
        expected=braced(step.wanted),
        got=braced(words),
        observed=(step.kind or step.text, missing, extra),
    )


def who_stands_where(step: Step) -> str:
    """Which parameters stand behind which part, in a sentence."""
    right = Diagnosis(step.parts, step.params, step.noted)
    behind = {
        part: [name for name, param in step.params.items() if right.stands(param, nodes)]
        for part, nodes in zip(step.parts, right.behind, strict=True)
    }
    return (
        "Behind "
        + "; behind ".join(f"{part} stand {', '.join(names) or 'none'}" for part, names in behind.items())
        + "."
    )


def diagnosis(answer: Asked, trial: Trial, step: Step) -> Any:
    """What the answer gives; wrong if it raises what reading a graph of this kind is known to raise."""
    try:
        return trial.call(answer, dict(step.parts), dict(step.params), dict(step.noted))
    except RecursionError:
        trial.fail(
            "The answer recursed until Python stopped it (RecursionError): one call inside the other for each node.",
            expected=braced(step.wanted),
            got="RecursionError",
            observed="recursion",
        )
    except RuntimeError as error:
        if "inplace" not in str(error):
            raise
        trial.fail(
            "A node was asked for a tensor that was edited since, which raises RuntimeError, and the error came out of the answer.",
            expected=f"{braced(step.wanted)}: the error is the sign that is looked for",
            got="RuntimeError",
            observed="let out",
        )
    except AttributeError as error:
        if "NoneType" not in str(error):
            raise
        if all(part.grad_fn for part in step.parts.values()):
            trial.fail(
                f"The answer asked None for an attribute ({error}). Each part here has a grad_fn; in next_functions stands "
                "(None, 0) for an input that needs no gradient.",
                expected=braced(step.wanted),
                got="AttributeError",
                observed="None, and each part has a node",
            )
        trial.fail(
            f"A part that no operation made has no grad_fn: it is None, and the answer asked it for more ({error}).",
            expected=braced(step.wanted),
            got="AttributeError",
            observed="None for a node",
        )


def braced(words: Iterable[str]) -> str:
    """A set of words as Python shows it, in one order."""
    return "{" + ", ".join(map(repr, sorted(words))) + "}" if words else "set()"


def each_way(answer: Asked, trial: Trial, word: str) -> None:
    for order, way in enumerate(WAYS[word]):
        told(answer, trial, drawn(trial, {word: way}, order=order % 3))


@ask_the_graph.property(
    "a step without a fault gives the empty set",
    asks=(
        "What is wrong with a training step before its backward, as a set of words.",
        "it is empty if none does",
    ),
)
def healthy(answer: Asked, trial: Trial) -> None:
    told(answer, trial, apart(trial), first=True)
    for order in range(3):
        told(answer, trial, drawn(trial, order=order), first=True)


@ask_the_graph.property(
    "the graph is only read",
    asks=("The graph is only read: no gradient is computed, and no tensor and no `.grad` is changed.",),
)
def reads_only(answer: Asked, trial: Trial) -> None:
    for faults in ({}, {EDITED: WAYS[EDITED][0]}):
        step = drawn(trial, faults)
        for name in list(step.params)[::2]:
            step.params[name].grad = torch.full_like(step.params[name], 7)
        filled = ", ".join(list(step.params)[::2])
        trial.given(f"{step.shown()}\n{filled} have a .grad from an earlier backward(): each entry is 7.")
        tensors = step.tensors()
        before = {name: Before(each) for name, each in tensors.items()}
        # Whether the error of an edit may come out is asked below.
        with calls_to(torch.autograd.backward, torch.autograd.grad) as seen, suppress(RuntimeError):
            trial.call(answer, dict(step.parts), dict(step.params), dict(step.noted))
        trial.true(
            not seen,
            f"torch.autograd.{seen[0] if seen else ''} was called.",
            expected="the graph is read, and no gradient is computed",
            observed=("called", sorted(set(seen))),
        )
        changed = {name: how for name, each in tensors.items() if (how := before[name].changed())}
        trial.true(
            not changed,
            f"Left changed: {'; '.join(f'{name}, {how}' for name, how in changed.items())}.",
            expected="tensors as they were",
            observed=("changed", sorted({how.partition(":")[0] for how in changed.values()})),
        )
        if not faults:
            try:
                sum(step.parts.values()).backward()
            except RuntimeError as error:
                trial.fail(
                    "After the diagnosis backward() raised: " + str(error)[:80],
                    expected="a graph on which backward() can run",
                    observed="backward raised",
                )


class Before:
    """A tensor as it was before the call."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor, self.copy = tensor, tensor.detach().clone()
        self.version, self.needs, self.retains = tensor._version, tensor.requires_grad, tensor.retains_grad
        self.grad = tensor.grad if tensor.is_leaf else None
        self.grad_copy = None if self.grad is None else self.grad.clone()

    def changed(self) -> str:
        """What is not as it was; "" if nothing is."""
        tensor = self.tensor
        if not torch.equal(tensor.detach(), self.copy):
            return "which holds other numbers"
        if tensor._version != self.version:
            return (
                f"which was edited and holds the numbers of before: _version was {self.version} "
                f"and is {tensor._version}"
            )
        if tensor.requires_grad != self.needs:
            return f"whose requires_grad is {tensor.requires_grad}"
        if tensor.retains_grad != self.retains:
            return "which now retains its .grad"
        now = tensor.grad if tensor.is_leaf else None
        if self.grad is None:
            return "" if now is None else "whose .grad is filled"
        if now is None:
            return "whose .grad is gone"
        if not torch.equal(now, self.grad_copy):
            return "whose .grad holds other numbers"
        return "" if now is self.grad else "whose .grad is a new tensor"


@ask_the_graph.property(
    "cut: a parameter that stands behind no part",
    asks=(
        "A leaf *stands behind* a part if its AccumulateGrad can be reached from the part's `grad_fn`.",
        '"cut": a parameter stands behind no part.',
    ),
)
def cut(answer: Asked, trial: Trial) -> None:
    each_way(answer, trial, CUT)


@ask_the_graph.property(
    "constant: a part with no parameter behind it",
    asks=('"constant": behind one of the parts stands no parameter.',),
)
def constant(answer: Asked, trial: Trial) -> None:
    each_way(answer, trial, CONSTANT)


@ask_the_graph.property(
    "kept on ctx: the node of a Function with a tensor among its attributes",
    asks=('"kept on ctx": the node of a Function has a tensor among its attributes, `vars(node)`.',),
)
def kept(answer: Asked, trial: Trial) -> None:
    each_way(answer, trial, KEPT)


@ask_the_graph.property(
    "edited: a saved tensor that can no longer be read",
    asks=(
        '"edited": a tensor that a node saved (`_saved_*`, or `saved_tensors` of a Function) was edited since: '
        "reading it raises RuntimeError.",
    ),
)
def edited(answer: Asked, trial: Trial) -> None:
    each_way(answer, trial, EDITED)
    for way in OTHER_NAMES:
        told(answer, trial, saved_elsewhere(trial, way))


@ask_the_graph.property(
    "edited unseen: other numbers, and no edit counted",
    asks=(
        '"edited unseen": a parameter holds other numbers than its copy, and its `_version` is the one that was noted.',
    ),
)
def unseen(answer: Asked, trial: Trial) -> None:
    each_way(answer, trial, UNSEEN)
    told(answer, trial, drawn(trial, {CUT: "last.data", UNSEEN: "the other sign"}))  # both of one parameter


@ask_the_graph.property(
    "several faults at once: each of their words, and no other",
    asks=("The set holds each word whose condition holds for the nodes behind the parts, and no other;",),
)
def several(answer: Asked, trial: Trial) -> None:
    told(answer, trial, drawn(trial, {word: ways[0] for word, ways in WAYS.items()}))
    for left_out in WAYS:
        faults = {word: ways[-1] for word, ways in WAYS.items() if word != left_out}
        told(answer, trial, drawn(trial, faults, order=1))


@ask_the_graph.property(
    "any mixture of the faults, drawn at random",
    asks=("The set holds each word whose condition holds for the nodes behind the parts, and no other;",),
    once_right=True,
)
def mixed(answer: Asked, trial: Trial) -> None:
    for _ in range(20):
        faults = {
            word: trial.random.choice(ways) for word, ways in WAYS.items() if trial.random.random() < 0.5
        }
        told(answer, trial, drawn(trial, faults, order=trial.random.randrange(3)))


@ask_the_graph.property(
    "nodes that are reached on many ways are visited once",
    asks=("Thousands of nodes may stand in a row, and a node may be reached on many ways.",),
    after=(kept,),
)
def many_ways(answer: Asked, trial: Trial) -> None:
    step = large(trial, diamonds=40)
    trial.given(step.shown())

    def stop() -> None:
        trial.fail(
            f"A graph of 123 nodes took more than {LINES:,} lines of Python.",
            expected="each node visited once, on however many ways it is reached",
            got="a walk that was stopped",
            observed="many visits",
        )

    def counted(*args: Any) -> Any:
        with lines_counted(LINES, stop):
            return answer(*args)

    told(counted, trial, step)


@contextmanager
def lines_counted(most: int, stop: Callable[[], None]) -> Iterator[None]:
    """Calls `stop`, once, when more lines of Python than `most` have run in the block."""
    left, before = most, sys.gettrace()

    def watch(frame: Any, event: str, arg: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            sys.settrace(before)
            stop()
        return watch

    sys.settrace(watch)
    try:
        yield
    finally:
        sys.settrace(before)


@ask_the_graph.property(
    "a graph with thousands of nodes in a row",
    asks=("Thousands of nodes may stand in a row, and a node may be reached on many ways.",),
    after=(kept,),
)
def deep(answer: Asked, trial: Trial) -> None:
    told(answer, trial, large(trial, in_a_row=3000))
