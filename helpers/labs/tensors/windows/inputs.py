"""What 11.windows is tried on, and how its windows are compared with those that are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial

Pair = tuple[int, int]
Answer = Callable[[Tensor, Pair, Pair], Tensor]


ROOM = 2000


def numbers(shape: tuple[int, ...]) -> Tensor:
    """0, 1, 2, ...: each element has a number of its own, so that one out of place is seen.

    Its memory goes on behind it: windows that reach beyond it show wrong numbers, and raise
    nothing.
    """
    return torch.arange(float(prod(shape) + ROOM))[: prod(shape)].view(shape)


def views(made: Callable[[tuple[int, ...]], Tensor], only: str = "") -> dict[str, Tensor]:
    """Views with rows that do not lie one behind the other, each with room for a window of 2 x 3
    at (1, 4).

    made: gives the tensor of this shape that they are views of. only: the one that is wanted.
    """
    ways: dict[str, Callable[[], Tensor]] = {
        "sliced: every second column, from the second": lambda: made((2, 6, 15))[..., 1::2],
        "sliced: rows 1 to 6 of 8, columns 2 to 8 of 12": lambda: made((8, 12))[1:7, 2:9],
        "sliced: every second row": lambda: made((2, 12, 8))[:, ::2],
        "transposed": lambda: made((2, 8, 6)).transpose(-1, -2),
        "permuted: the channels were last": lambda: made((6, 8, 3)).permute(2, 0, 1),
        "every second picture, from the second": lambda: made((5, 6, 8))[1::2],
        "expanded: one picture shown three times": lambda: made((6, 8)).expand(3, 6, 8),
        "expanded: one row shown six times": lambda: made((2, 1, 8)).expand(2, 6, 8),
        "a row of a table, cut into lines": lambda: made((3, 48))[1].view(6, 8),
    }
    return {about: way() for about, way in ways.items() if only in ("", about)}


def by_hand(x: Tensor, size: Pair, step: Pair) -> Tensor:
    """What is asked for, by torch's own operation."""
    return x.unfold(-2, size[0], step[0]).unfold(-2, size[1], step[1])


def given(x: Tensor, size: Pair, step: Pair, about: str = "") -> str:
    return f"x of shape {tuple(x.shape)}{f' ({about})' if about else ''}, size={size}, step={step}"


def called(trial: Trial, answer: Answer, x: Tensor, size: Pair, step: Pair, about: str = "") -> Any:
    """What the answer returns. x is not handed to `trial`: what that does with it would be logged
    as the answer's work.
    """
    text = given(x, size, step, about)
    trial.given(text)
    try:
        return trial.call(lambda: answer(x, size, step))
    except ValueError as error:
        rows, columns = by_hand(x, size, step).shape[-4:-2]
        trial.fail(
            f"ValueError was raised, and such windows fit: {rows} x {columns} of them.",
            expected=f"{rows} x {columns} windows",
            got=f"ValueError: {str(error)[:120]}",
            observed=("refused", text),
        )


def refused(answer: Answer, trial: Trial, cases: Sequence[tuple[tuple[int, ...], Pair, Pair]]) -> None:
    """Wrong if ValueError is raised for one. All are tried before the first is told: which are
    refused says why.
    """
    errors = []
    for of_x, size, step in cases:
        x = numbers(of_x)
        trial.given(given(x, size, step))
        try:
            trial.call(lambda x=x, size=size, step=step: answer(x, size, step))
        except NotImplementedError:
            raise
        except ValueError as error:
            errors.append((x, size, step, str(error)))
        except Exception:
            continue  # it is told where the case's turn comes
    if errors:
        x, size, step, text = errors[0]
        trial.given(given(x, size, step))
        rows, columns = by_hand(x, size, step).shape[-4:-2]
        trial.fail(
            f"ValueError was raised, and such windows fit: {rows} x {columns} of them.",
            expected=f"{rows} x {columns} windows",
            got=f"ValueError: {text[:120]}",
            observed=("refused", [given(*each[:3]) for each in errors]),
        )


def require_shape(trial: Trial, got: Any, x: Tensor, size: Pair, step: Pair, about: str = "") -> None:
    """Wrong if this is no tensor of the shape that is asked for, with the dtype of x."""
    want = by_hand(x, size, step)
    if type(got) is not Tensor:
        trial.equal(got, want)
    have, need = tuple(got.shape), tuple(want.shape)
    if have != need:
        leading = f"{need[:-4]}, then " if need[:-4] else ""
        trial.fail(
            f"The shape is {have}. In x there is room for {need[-4]} x {need[-3]} windows of {size[0]} x "
            f"{size[1]}.",
            expected=f"{need}: {leading}{need[-4]} rows and {need[-3]} columns of windows, "
            f"each {size[0]} x {size[1]}",
            got=str(have),
            observed=("shape", have, need),
        )
    trial.true(
        got.dtype == x.dtype,
        f"The result is {_short(got)}, and x is {_short(x)}.",
        expected=_short(x),
        got=_short(got),
        observed=("dtype", _short(got), _short(x)),
    )


def require(answer: Answer, trial: Trial, x: Tensor, size: Pair, step: Pair, about: str = "") -> None:
    """Wrong if the windows are not those that are asked for."""
    got = called(trial, answer, x, size, step, about)
    require_shape(trial, got, x, size, step, about)
    want = by_hand(x, size, step)
    off = (got != want).nonzero()
    if len(off):
        at = tuple(int(n) for n in off[0])
        *leading, i, j, a, b = at
        row, column = i * step[0] + a, j * step[1] + b
        which = f"Of the window at [i, j] = [{i}, {j}]" + (f" (leading: {leading})" if leading else "")
        trial.fail(
            f"{len(off)} of {want.numel()} elements are wrong. {which}, element [{a}, {b}] is to be "
            f"x[{'..., ' if leading else ''}{row}, {column}].",
            expected=f"{want[at].item()}",
            got=f"{got[at].item()}",
            observed=("values", about, tuple(x.shape), size, step, len(off), at, str(got[at].item())),
        )


def _short(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
