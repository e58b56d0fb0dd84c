"""Calls an answer, and tells by its name which argument was changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial


def call_with(trial: Trial, answer: Callable[..., Any], **named: Any) -> Any:
    """`answer(*named.values())`; wrong if it edits a tensor or a list among them. The name and the first place are told."""
    before = {
        name: (value, value.requires_grad, value.detach().clone())
        for name, value in named.items()
        if isinstance(value, Tensor)
    }
    lists = {name: (value, list(value)) for name, value in named.items() if isinstance(value, list)}
    result = trial.call(lambda: answer(*named.values()))
    for name, (value, items) in lists.items():
        if len(value) != len(items) or any(a is not b for a, b in zip(value, items, strict=True)):
            trial.fail(
                f"The answer changed the list `{name}`.",
                expected=f"left as it was, with {len(items)} entries",
                got=f"{len(value)} entries, or others",
                observed=("changed", name),
                about="arguments",
            )
    for name, (value, needs, copy) in before.items():
        now = value.detach()
        if now.shape != copy.shape or now.dtype != copy.dtype:
            trial.fail(
                f"The answer changed the shape or the dtype of `{name}`.",
                expected="left as it was: " + _about(copy),
                got=_about(now),
                observed=("changed", name, "shape or dtype"),
                about="arguments",
            )
        off = ~torch.isclose(now, copy, rtol=0, atol=0, equal_nan=True)
        if bool(off.any()):
            place = tuple(int(at) for at in off.nonzero()[0])
            more = ", and with its new numbers it requires grad" if value.requires_grad and not needs else ""
            trial.fail(
                f"The answer edited `{name}` in place: {int(off.sum())} of {off.numel()} entries, first that at "
                f"{list(place)}{more}.",
                expected=f"left as it was: {_number(copy[place])} there",
                got=_number(now[place]),
                observed=("changed", name),
                about="arguments",
            )
        if needs != value.requires_grad:
            trial.fail(
                f"The answer changed requires_grad of `{name}`: it is {value.requires_grad}, and was {needs}.",
                expected=f"left as it was: {needs}",
                got=f"{value.requires_grad}",
                observed=("changed", name, "requires_grad"),
                about="arguments",
            )
    return result


def _about(tensor: Tensor) -> str:
    return f"shape {tuple(tensor.shape)}, {str(tensor.dtype).removeprefix('torch.')}"


def _number(entry: Tensor) -> str:
    return f"{entry.item():.6g}" if entry.is_floating_point() else str(entry.item())
