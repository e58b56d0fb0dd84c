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
        if needs != value.requires_grad or now.shape != copy.shape or now.dtype != copy.dtype:
            trial.fail(
                f"The answer changed `{name}`: its shape, its dtype or its requires_grad.",
                expected="left as it was: " + _about(copy, needs),
                got=_about(now, value.requires_grad),
                observed=("changed", name, "more than numbers"),
                about="arguments",
            )
        off = ~torch.isclose(now, copy, rtol=0, atol=0, equal_nan=True)
        if bool(off.any()):
            place = tuple(int(at) for at in off.nonzero()[0])
            trial.fail(
                f"The answer changed `{name}`: {int(off.sum())} of {off.numel()} entries, first that at {list(place)}.",
                expected=f"left as it was: {_number(copy[place])} there",
                got=_number(now[place]),
                observed=("changed", name),
                about="arguments",
            )
    return result


def _about(tensor: Tensor, needs: bool) -> str:
    return f"shape {tuple(tensor.shape)}, {str(tensor.dtype).removeprefix('torch.')}, requires_grad {needs}"


def _number(entry: Tensor) -> str:
    return f"{entry.item():.6g}" if entry.is_floating_point() else str(entry.item())
