"""What 09.nest's loop gives in Python when one thing in it is wrong: a wrong result is told by what it equals."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from helpers.check.compare import difference
from helpers.labs.torchscript.shown.recurrent import Cell

Pair = tuple[Tensor, Tensor]


class Forced(nn.Module):
    """A gate whose ways were fixed beforehand, one a step."""

    def __init__(self, scale: Tensor, ways: tuple[bool, ...]) -> None:
        super().__init__()
        self.scale, self.ways = scale, itertools.cycle(ways)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale if next(self.ways) else -x


def with_frozen_gate(cell: Cell, xs: Tensor, h: Tensor, ways: tuple[bool, ...]) -> Pair:
    """The loop with the gate's ways fixed."""
    gate = cell.gate
    cell.gate = Forced(gate.scale, ways)
    try:
        return looped(cell, xs, h, lambda y, new, old: new)
    finally:
        cell.gate = gate


def looped(cell: Cell, xs: Tensor, h: Tensor, carried: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Pair:
    """The loop; carried(y, new h, old h) goes to the next step."""
    ys = []
    for x in xs:
        y, new = cell(x, h)
        ys.append(y)
        h = carried(y, new, h)
    return torch.stack(ys), h


def variants(cell: Cell, xs: Tensor, h: Tensor) -> Iterator[tuple[str, Pair]]:
    """Names and results of loops with a mistake."""
    patterns = itertools.product((True, False), repeat=2) if len(xs) == 2 else ((True,), (False,))
    for ways in patterns:
        yield "gate frozen", with_frozen_gate(cell, xs, h, ways)
    dropped = looped(cell, xs, h, lambda y, new, old: old)
    yield "h dropped", dropped
    yield "h of zeros", looped(cell, xs, torch.zeros_like(h), lambda y, new, old: new)
    yield "h of the start", (dropped[0], cell(xs[-1], h)[1])
    yield "y handed on", looped(cell, xs, h, lambda y, new, old: y)
    ys, state = [], h
    for x in xs:
        state, y = cell(x, state)
        ys.append(y)
    yield "swapped", (torch.stack(ys), state)
    states, state = [], h
    for x in xs:
        _, state = cell(x, state)
        states.append(state)
    yield "h stacked", (torch.stack(states), state)
    back = looped(cell, xs.flip(0), h, lambda y, new, old: new)
    yield "backwards", back
    yield "backwards", (back[0].flip(0), back[1])
    if len(xs) > 1:
        yield "row 0 twice", looped(cell, torch.cat([xs[:1], xs[:-1]]), h, lambda y, new, old: new)


def kind_of_gap(
    got: Pair, want: Pair, cell: Cell, xs: Tensor, h: Tensor, readout: Callable[[Tensor], Tensor] | None
) -> str:
    """What a wrong result is: the name of the variant that it equals, or how its shape is wrong."""
    have, need = got[0], want[0]
    if not all(isinstance(part, Tensor) for part in got):
        return "no tensors"
    if have.dim() == 2 and got[1].dim() == 3:
        return "pair exchanged"
    if have.shape != need.shape:
        if have.shape[1:] == need.shape[1:] and have.dim() == need.dim():
            return "unrolled" if is_far(got[1], want[1]) else "steps missing in ys"
        is_turned = have.dim() == 3 and have.transpose(0, 1).shape == need.shape
        if have.dim() == 2 and len(have) == need.shape[0] * need.shape[1]:
            return "steps joined"
        if have.dim() == 3 and have.shape[1] == 1 and len(have) == len(need):
            return "a batch of one"
        return "turned" if is_turned else f"{have.dim()} dimensions"
    if not readout and not is_far(have, torch.sin(need)):
        return "an activation"
    if readout and not is_far(have, looped(cell, xs, h, lambda y, new, old: new)[0]):
        return "no activation"
    for name, (ys, state) in variants(cell, xs, h):
        if not (is_far(have, readout(ys) if readout else ys) or is_far(got[1], state)):
            return name
    return "other values" if is_far(have, need) else "other last h"


def is_far(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors differ by more than rounding."""
    return difference(one, other, rtol=1e-4, atol=1e-5) is not None


def ways_missed(cell: Cell, xs: Tensor, h: Tensor) -> set[bool]:
    """The ways of a frozen gate that give something else than the gate does."""
    with torch.no_grad():
        right = looped(cell, xs, h, lambda y, new, old: new)
        frozen = {way: with_frozen_gate(cell, xs, h, (way,)) for way in (True, False)}
    return {way for way, found in frozen.items() if any(map(is_far, found, right))}
