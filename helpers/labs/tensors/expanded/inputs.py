"""Layouts that 11.expanded is tried on, what torch makes of them, and how an answer is compared with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from numbers import Integral
from typing import Any

import torch

from helpers.check.trial import Trial

Ints = tuple[int, ...]
Answer = Callable[[Ints, Ints, Ints], Ints | None]
Layout = tuple[Ints, Ints, Ints]


def by_torch(size: Ints, stride: Ints, to: Ints) -> tuple[Ints, Ints] | None:
    """Size and stride of the expanded tensor, or None where expand raises."""
    reach = 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True) if n)
    t = torch.empty(max(reach, 1), dtype=torch.uint8).as_strided(size, stride)
    try:
        made = t.expand(to)
    except RuntimeError:
        return None
    return tuple(made.shape), made.stride()


def require(
    trial: Trial, answer: Answer, layout: Layout, why: str, call: Callable[..., Any] | None = None
) -> None:
    """The answer is what torch gives. why: the rule that this layout is about, as a sentence."""
    size, stride, to = layout
    trial.given(f"size {size}, stride {stride}, to {to}")
    want = by_torch(*layout)
    got = asked(trial, answer, layout, why, raises=want is None, call=call)
    if want is None:
        trial.true(
            got is None,
            f"Strides came back, and t.expand({to}) raises. {why}",
            expected="None",
            got=got,
            observed=("strides", _plain(got), layout),
        )
        return
    right_size, strides = want
    trial.true(
        got is not None,
        f"None came back, and t.expand({to}) gives a tensor. {why}",
        expected=strides,
        got="None",
        observed=("none", layout),
    )
    is_plain = isinstance(got, tuple) and all(isinstance(step, Integral) for step in got)
    trial.true(
        is_plain,
        f"The result is {_kind(got)}, and no tuple of ints.",
        expected=strides,
        got=got,
        observed=("no tuple", _kind(got)),
    )
    trial.true(
        len(got) == len(strides),
        f"{_count(len(got), 'stride')} came back for {_count(len(strides), 'dimension')}. {why}",
        expected=strides,
        got=got,
        observed=("strides", _plain(got), layout),
    )
    off = [at for at, n in enumerate(right_size) if n != 1 and got[at] != strides[at]]
    trial.true(
        not off,
        f"The stride of dimension {off[0] if off else ''} is {got[off[0]] if off else ''}. {why}",
        expected=strides,
        got=got,
        observed=("strides", _plain(got), layout),
    )


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
    except (RuntimeError, ValueError, AssertionError) as error:
        if not raises:
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
    choose = trial.random.choice
    size = tuple(choose((0, 1, 1, 1, 2, 3, 5)) for _ in range(choose((1, 1, 2, 2, 3, 4))))
    stride = tuple(choose((0, 1, 2, 3, 4, 7, 12)) for _ in size)
    kept = [choose((n, n, n, -1)) if n != 1 else choose((-1, 0, 1, 2, 4)) for n in size]
    new = [choose((0, 1, 2, 3, 6)) for _ in range(choose((0, 0, 1, 2)))]
    to = new + kept
    if choose((True, False, False)):  # an edit, by which most cannot be expanded
        at = trial.random.randrange(len(to))
        to[at] = choose((-1, 0, 1, 2, 3, 4, 6))
    if choose((True, *[False] * 7)):
        to = to[1:]
    return size, stride, tuple(to)


def _kind(got: Any) -> str:
    if isinstance(got, (tuple, list)):
        inside = next((item for item in got if not isinstance(item, Integral)), None)
        whole = type(got).__name__
        return f"a {whole}" if inside is None else f"a {whole} with a {type(inside).__name__} in it"
    return f"a {type(got).__name__}"


def _plain(got: Any) -> Any:
    return (
        [int(step) if isinstance(step, Integral) else str(type(step)) for step in got]
        if isinstance(got, Sequence)
        else _kind(got)
    )


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
