"""A right answer to 14.checkpoints in steps, of which each mistake replaces one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

Kept = tuple[int, ...]


class Right:
    """Tries all lists: right for few layers. It ends for thirty, too, when the properties before have shown a mistake."""

    def __init__(self, sizes: list[int], budget: int) -> None:
        self.sizes, self.budget = sizes, budget

    def __call__(self) -> Any:
        fitting = [kept for kept in self.lists() if self.fits(kept)]
        return self.result(max(fitting, key=self.value)) if fitting else self.nothing()

    def lists(self) -> Iterator[Kept]:
        layers = range(len(self.sizes))
        for count in layers:
            yield from combinations(layers, count)
        yield tuple(layers)

    def fits(self, kept: Kept) -> bool:
        return self.peak(kept) <= self.budget

    def peak(self, kept: Kept) -> int:
        return max(
            [self.all_kept(kept), *(self.before(kept, gap) + self.bytes(gap) for gap in self.gaps(kept))]
        )

    def all_kept(self, kept: Kept) -> int:
        return self.bytes(kept)

    def gaps(self, kept: Kept) -> list[Kept]:
        bounds = (-1, *kept, len(self.sizes))
        gaps = (tuple(range(one + 1, other)) for one, other in zip(bounds, bounds[1:], strict=False))
        return [gap for gap in gaps if gap]

    def before(self, kept: Kept, gap: Kept) -> int:
        return self.bytes(tuple(at for at in kept if at < gap[0]))

    def bytes(self, layers: Kept) -> int:
        return sum(self.sizes[at] for at in layers)

    def value(self, kept: Kept) -> Any:
        return len(kept)

    def result(self, kept: Kept) -> Any:
        return list(kept)

    def nothing(self) -> Any:
        raise ValueError(f"no choice of layers stays within {self.budget} bytes")
