"""Tensors that 11.output_strides is tried on, and how an answer is compared with what torch makes
of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from numbers import Integral
from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.labs.tensors.output_strides.right import broadcast, ordered

Ints = tuple[int, ...]
Answer = Callable[..., Ints]


@dataclass(frozen=True)
class Layout:
    """Size and stride of a tensor. The numbers in it do not matter."""

    size: Ints
    stride: Ints

    def made(self) -> Tensor:
        reach = 1 + sum((n - 1) * step for n, step in zip(self.size, self.stride, strict=True))
        # An offset, so that a memory is larger than what it shows.
        return torch.zeros(reach + 3).as_strided(self.size, self.stride, 3)

    def __str__(self) -> str:
        return f"size {self.size}, stride {self.stride}"


def layout(t: Tensor) -> Layout:
    return Layout(tuple(t.shape), t.stride())


def dense(*size: int, order: Sequence[int] | None = None) -> Layout:
    """Without gaps. order: the dimensions from the outermost."""
    strides, step = [0] * len(size), 1
    for d in reversed(order if order is not None else range(len(size))):
        strides[d] = step
        step *= size[d]
    return Layout(size, tuple(strides))


def by_torch(layouts: Sequence[Layout]) -> tuple[Ints, Ints]:
    """Size and stride of what torch makes of them."""
    kernels = {1: torch.neg, 2: torch.add, 3: torch.addcmul}
    out = kernels[len(layouts)](*(each.made() for each in layouts))
    return tuple(out.shape), out.stride()


def agrees(size: Ints, got: Any, want: Ints) -> bool:
    return all(n == 1 or a == b for n, a, b in zip(size, got, want, strict=True))


def require(answer: Answer, trial: Trial, cases: Sequence[tuple[Sequence[Layout], str]]) -> None:
    """Wrong if one answer is not torch's strides where the size is above 1. All are tried before
    the first is told.

    cases: layouts, each with the rule that they are about, as a sentence.
    """
    outcomes = [(layouts, why, attempted(answer, trial, layouts)) for layouts, why in cases]
    wrong = [(layouts, why, got) for layouts, why, got in outcomes if not _is_right(layouts, got)]
    if not wrong:
        return
    layouts, why, got = wrong[0]
    trial.given(in_words(layouts))
    observed = [(str(each), _plain(found)) for each, _, found in wrong]
    size, strides = by_torch(layouts)
    # Where the size is 1, torch's is one of many right answers.
    expected = tuple("any" if n == 1 else step for n, step in zip(size, strides, strict=True))
    shown = f"({', '.join(map(str, expected))}{',' if len(expected) == 1 else ''})"
    if isinstance(got, Exception):
        trial.fail(
            f"{type(got).__name__} was raised, and these tensors broadcast, to size {size}.",
            expected=shown,
            got=f"{type(got).__name__}: {str(got)[:120]}",
            observed=observed,
        )
    trial.true(
        _is_tuple_of_ints(got),
        f"The result is {_kind(got)}, and no tuple of ints.",
        expected=shown,
        got=got,
        observed=("no tuple", _kind(got)),
    )
    trial.true(
        len(got) == len(size),
        f"{len(got)} strides came back, and the result has {len(size)} dimensions, of size {size}.",
        expected=shown,
        got=got,
        observed=observed,
    )
    at = next(at for at, n in enumerate(size) if n != 1 and got[at] != strides[at])
    trial.fail(
        f"The stride of dimension {at} is {got[at]}, and of a result of size {size} torch makes it "
        f"{strides[at]}. {why}",
        expected=shown,
        got=got,
        observed=observed,
    )


def attempted(answer: Answer, trial: Trial, layouts: Sequence[Layout]) -> Any:
    """What came back, or the error of torch or Python that says that shapes do not fit."""
    tensors = [each.made() for each in layouts]
    trial.given(in_words(layouts))
    try:
        return trial.call(lambda: answer(*tensors))
    except (NotImplementedError, RecursionError):
        raise
    except (RuntimeError, ValueError, IndexError) as error:
        return error


def _is_right(layouts: Sequence[Layout], got: Any) -> bool:
    size, strides = by_torch(layouts)
    return _is_tuple_of_ints(got) and len(got) == len(size) and agrees(size, got, strides)


def _is_tuple_of_ints(got: Any) -> bool:
    return isinstance(got, tuple) and all(
        isinstance(step, Integral) and not isinstance(step, bool) for step in got
    )


def in_words(layouts: Sequence[Layout]) -> str:
    return "; ".join(map(str, layouts))


def _plain(got: Any) -> Any:
    return [int(step) for step in got] if _is_tuple_of_ints(got) else _kind(got)


def _kind(got: Any) -> str:
    if isinstance(got, (tuple, list)):
        inside = next((item for item in got if not isinstance(item, Integral)), None)
        name = type(got).__name__
        return f"a {name}" if inside is None else f"a {name} with a {type(inside).__name__} in it"
    return f"a {type(got).__name__}" if got is not None else "None"


def spread(layouts: Sequence[Layout]) -> tuple[Ints, list[Ints], list[Ints]]:
    """The size of the result, and the strides of each tensor after broadcasting: as `expand` gives
    them, and with 0 in new dimensions, as torch computes. They are two where the size is 1.
    """
    size, expanded = broadcast(tuple(each.made() for each in layouts))
    new = [len(size) - len(each.size) for each in layouts]
    return size, expanded, [(0,) * n + each[n:] for n, each in zip(new, expanded, strict=True)]


def in_a_circle(layouts: Sequence[Layout]) -> bool:
    """Whether a is outside b, b outside c, and c outside a, for three dimensions."""
    size, *both = spread(layouts)
    return any(
        ordered(strides, a, b) > 0 and ordered(strides, b, c) > 0 and ordered(strides, c, a) > 0
        for strides in both
        for a, b, c in permutations(range(len(size)), 3)
    )


def alike(layouts: Sequence[Layout]) -> bool:
    """Whether two dimensions have equal strides other than 0, and the first of them is shorter:
    torch looks at the sizes then, and the docstring leaves it out.
    """
    size, _, strides = spread(layouts)
    return any(
        each[a] == each[b] != 0 and size[a] < size[b]
        for each in strides
        for a, b in combinations(range(len(size)), 2)
    )


def some(trial: Trial, count: int) -> list[list[Layout]]:
    """One to three tensors each, drawn at random, with the simplest first; only such of which the
    rules say what torch does.
    """
    found = []
    while len(found) < count:
        size = [trial.random.choice((1, 2, 3, 4, 5)) for _ in range(trial.random.randint(1, 4))]
        layouts = [_one(trial, size) for _ in range(trial.random.choice((1, 2, 2, 3)))]
        if not in_a_circle(layouts) and not alike(layouts):
            found.append(layouts)
    return sorted(found, key=lambda each: (sum(len(one.size) for one in each), str(each)))


def _one(trial: Trial, size: list[int]) -> Layout:
    """A layout that broadcasts to this size: permuted, sliced, expanded."""
    choose = trial.random.choice
    size = [1 if choose((True, False, False, False)) else n for n in size]
    if choose((True, False, False, False)):
        size = size[trial.random.randrange(len(size)) :]
    order = list(range(len(size)))
    trial.random.shuffle(order)
    strides, step = [0] * len(size), choose((1, 1, 1, 2))
    for d in order:
        strides[d] = 0 if choose((True, *[False] * 7)) else step
        step *= size[d] + choose((0, 0, 0, 1))
    return Layout(tuple(size), tuple(strides))
