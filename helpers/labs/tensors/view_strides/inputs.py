"""Layouts that 11.view_strides is tried on, what torch makes of them, and how an answer is compared with it."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from numbers import Integral
from typing import Any

import torch

from helpers.check.trial import Trial
from helpers.labs.tensors.view_strides.right import Ints, view_strides

Answer = Callable[[Ints, Ints, Ints], Ints | None]
Layout = tuple[Ints, Ints, Ints]


def by_torch(size: Ints, stride: Ints, new_size: Ints) -> tuple[Ints, Ints] | None:
    """Size and stride of the view, or None where `view` raises."""
    reach = 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True) if n)
    t = torch.empty(max(reach, 1), dtype=torch.uint8).as_strided(size, stride)
    try:
        made = t.view(new_size)
    except RuntimeError:
        return None
    return tuple(made.shape), made.stride()


def agrees(got: Any, want: tuple[Ints, Ints] | None) -> bool:
    """Whether this is what torch gives, where any stride is right, too."""
    if want is None or got is None:
        return want is got
    size, strides = want
    return (
        isinstance(got, tuple)
        and len(got) == len(size)
        and all(isinstance(step, Integral) for step in got)
        and (0 in size or all(n == 1 or a == b for n, a, b in zip(size, got, strides, strict=True)))
    )


def require(
    trial: Trial, answer: Answer, layout: Layout, why: str, call: Callable[..., Any] | None = None
) -> None:
    """The answer is what torch gives. why: the rule that this layout is about, as a sentence."""
    size, stride, new_size = layout
    trial.given(f"size {size}, stride {stride}, new_size {new_size}")
    want = by_torch(*layout)
    got = asked(trial, answer, layout, why, raises=want is None, call=call)
    if agrees(got, want):
        return
    if want is None:
        trial.fail(
            f"A result came back, and t.view({new_size}) raises. {why}",
            expected="None",
            got=got,
            observed=("no None", _free(got, layout), layout),
        )
    made, strides = want
    free = [at for at, n in enumerate(made) if n == 1] if 0 not in made else list(range(len(made)))
    # What torch gives is one of many right answers where strides are free.
    expected = tuple("any" if at in free else step for at, step in enumerate(strides))
    shown = f"({', '.join(map(str, expected))}{',' if len(expected) == 1 else ''})"
    if got is None:
        trial.fail(
            f"None came back, and t.view({new_size}) gives a tensor. {why}",
            expected=shown,
            got="None",
            observed=("None", _nothing(layout) if 0 in made else layout),
        )
    if not isinstance(got, tuple) or not all(isinstance(step, Integral) for step in got):
        kind = _kind(got)
        trial.fail(
            f"The result is {kind}, and no tuple of ints.",
            expected=shown,
            got=got,
            observed=("no tuple", kind, layout),
        )
    if len(got) != len(strides):
        sentence = f"{_count(len(got), 'stride')} came back for {_count(len(strides), 'dimension')}."
    else:
        at = next(at for at in range(len(got)) if at not in free and got[at] != strides[at])
        sentence = f"The stride of dimension {at} is {got[at]}, and t.view({new_size}) has {strides[at]}."
    trial.fail(f"{sentence} {why}", expected=shown, got=got, observed=("strides", plain(got), layout))


def asked(
    trial: Trial,
    answer: Answer,
    layout: Layout,
    why: str,
    *,
    raises: bool,
    call: Callable[..., Any] | None = None,
) -> Any:
    """What the answer returns. An error that it raises on purpose, where None is asked, is told as that."""
    try:
        return answer(*layout) if call is None else call(answer, *layout)
    except NotImplementedError:
        raise
    except ZeroDivisionError as error:
        trial.fail(
            f"ZeroDivisionError was raised: a number was divided by a size of 0. {why}",
            expected="None" if raises else "strides",
            got=f"ZeroDivisionError: {error}",
            observed=("raised", "ZeroDivisionError", layout),
        )
    except (RuntimeError, ValueError, AssertionError) as error:
        if not raises or isinstance(error, RecursionError):
            raise
        trial.fail(
            f"{type(error).__name__} was raised, where None is to be returned. {why}",
            expected="None",
            got=f"{type(error).__name__}: {str(error)[:120]}",
            observed=("raised", type(error).__name__, layout),
        )


def some(trial: Trial, count: int) -> list[Layout]:
    """Layouts drawn at random, with the shortest first, so that a message names a short one."""
    drawn = [_one(trial) for _ in range(count)]
    return sorted(drawn, key=lambda each: (len(each[0]) + len(each[2]), prod(each[0]), each))


def _one(trial: Trial) -> Layout:
    """Blocks of memory in any order, with gaps, repeated, cut and joined; half of the new sizes can be had."""
    choose = trial.random.choice
    blocks = [choose((1, 2, 2, 3, 4, 6)) for _ in range(choose((1, 2, 2, 3)))]
    dims: list[tuple[int, int]] = []
    step = choose((1, 1, 2, 3))
    for block in blocks:
        parts = _cut(trial, block, step)
        if choose((True, False)):
            trial.random.shuffle(parts)
        dims = parts + dims
        step *= block * choose((1, 1, 1, 2))
    if choose((True, False, False)):
        dims.insert(trial.random.randrange(len(dims) + 1), (1, choose((0, 1, 5, 24))))
    if choose((True, False, False, False)):
        dims.insert(trial.random.randrange(len(dims) + 1), (choose((2, 3)), 0))
    if choose((True, False, False)):
        trial.random.shuffle(dims)
    if choose((True, *[False] * 19)):
        dims[trial.random.randrange(len(dims))] = (0, 1)
    size, stride = tuple(n for n, _ in dims), tuple(each for _, each in dims)
    return size, stride, _new(trial, size)


def _cut(trial: Trial, block: int, step: int) -> list[tuple[int, int]]:
    """A block as one dimension, or as two: (size, stride) of each, from the outer one."""
    divisors = [n for n in range(1, block + 1) if block % n == 0]
    inner = trial.random.choice(divisors)
    return [(block // inner, step * inner), (inner, step)] if trial.random.random() < 0.5 else [(block, step)]


def _new(trial: Trial, size: Ints) -> Ints:
    """A new size: neighbours joined, dimensions cut, ones put in, one number replaced."""
    choose, new = trial.random.choice, list(size)
    for _ in range(choose((0, 1, 1, 2, 3))):
        at = trial.random.randrange(len(new)) if new else 0
        if len(new) > at + 1 and choose((True, False)):
            new[at : at + 2] = [new[at] * new[at + 1]]
        elif new and new[at] > 1:
            inner = choose([n for n in range(1, new[at] + 1) if new[at] % n == 0])
            new[at : at + 1] = [new[at] // inner, inner]
    if choose((True, False, False)):
        new.insert(trial.random.randrange(len(new) + 1), 1)
    if choose((True, *[False] * 9)):
        trial.random.shuffle(new)
    for change, often in ((-1, 4), (-1, 8), (0, 24), (2, 12), (5, 24)):
        if trial.random.randrange(often) == 0:
            new[trial.random.randrange(len(new))] = change
    return tuple(new)


def differs(answer: Answer, layouts: list[Layout]) -> Layout | None:
    """The first layout at which the answer is not what it is to be. torch is asked only where the two differ."""
    for layout in layouts:
        want = view_strides(*layout)
        try:
            got = answer(*layout)
        except NotImplementedError:
            raise
        except Exception:
            return layout
        # The same, or torch says that it is right, too.
        if got != want and not agrees(got, by_torch(*layout)):
            return layout
    return None


def plain(got: Any) -> Any:
    if isinstance(got, (tuple, list)):
        return [int(step) if isinstance(step, Integral) else type(step).__name__ for step in got]
    return _kind(got)


def _free(got: Any, layout: Layout) -> Any:
    """What came back where None is asked. Of a size that does not exist, the strides tell nothing: one has 0 there, one 1."""
    size, _, new_size = layout
    exists = -1 not in new_size and prod(new_size) == prod(size)
    return plain(got) if exists or not isinstance(got, (tuple, list)) else f"{_kind(got)} of {len(got)}"


def _nothing(layout: Layout) -> str:
    """Which size was refused to a tensor without elements."""
    size, _, new_size = layout
    return "its own size" if size == new_size else "-1" if -1 in new_size else "a new size"


def _kind(got: Any) -> str:
    if isinstance(got, (tuple, list)):
        inside = next((item for item in got if not isinstance(item, Integral)), None)
        whole = type(got).__name__
        return f"a {whole}" if inside is None else f"a {whole} with a {type(inside).__name__} in it"
    return f"a {type(got).__name__}"


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
