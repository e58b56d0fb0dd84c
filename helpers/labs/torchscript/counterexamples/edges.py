"""Cases at the edges: an answer that is right in other cases by chance falls at one of them.

`lab.case` draws thresholds between -2 and 2, and sizes in a narrow range. There a factor, a constant or the wrong size
can be right for all cases: these lie where it is not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from helpers.labs.torchscript.shown.cases import Branch, Case, FirstRows, Mean, Rows, WarmUp, case_of

# Thresholds, and how far above them the mean of the example is.
BRANCHES = (
    (5.0, 3),  # three times the threshold less x is on the same side
    (5.0, -3),  # x times any number below 0, too
    (-5.0, 3),
    (0.25, 3),  # 2 / threshold less x, too
    (-1.0, 3),  # 2 * -1 and -1 - 1 are the same
)


def edges(name: str, seed: int) -> tuple[Case, ...]:
    """The cases at the edges for a name, with values by the seed."""
    for case in (cases := _traced(name, seed)):
        for module in (case.eager, case.traced):
            module.eval()  # an answer may have switched them
    return cases


@functools.lru_cache(16)
def _traced(name: str, seed: int) -> tuple[Case, ...]:
    generator = torch.Generator().manual_seed(seed)
    made = _made(name, lambda count: torch.randn(count, 4, generator=generator))
    return tuple(case_of(name, eager, example, f"edge {seed}") for eager, example in made)


def _made(name: str, rows: Callable[[int], Tensor]) -> Iterator[tuple[nn.Module, tuple[Tensor, ...]]]:
    if name == "branch":
        for threshold, above in BRANCHES:
            x = rows(3)
            yield Branch(threshold), (x - x.mean() + threshold + above,)
    if name == "loop":
        yield Rows(), (rows(9),)  # more rows than columns, and than most constants
    if name == "len":
        for count in range(2, 8):  # each constant of this range is the number of rows in one of them
            yield Mean(), (rows(count),)
    if name == "state":
        yield WarmUp(1), (rows(3),)
    if name == "item":
        yield FirstRows(), (rows(3), torch.tensor(3))  # there are no more rows
        yield FirstRows(), (rows(2), torch.tensor(1))  # k = -1 takes the same row
