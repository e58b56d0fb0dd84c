"""What things cost in virtual time. A model: the numbers are round, and not those of any real device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

Cost = float | Callable[[int], float]  # microseconds, or a function from bytes touched to microseconds


@dataclass(frozen=True)
class Costs:
    """kernel: of a kernel without a cost of its own; launch: what issuing one costs the host (microseconds).

    pinned, pageable: GB/s between the host and the device. query: what asking an event or a stream costs the
    host. kernels: costs by name ("mm", "normal_"; a name without its last "_" serves the in-place form too).
    """

    kernel: Cost = 20.0
    launch: float = 5.0
    pinned: float = 25.0
    pageable: float = 6.0
    query: float = 1.0
    kernels: Mapping[str, Cost] = field(default_factory=dict)

    def of_kernel(self, name: str, nbytes: int) -> float:
        """Microseconds that a kernel takes which touches so many bytes."""
        cost = self.kernels.get(name, self.kernels.get(name.rstrip("_"), self.kernel))
        return float(cost(nbytes) if callable(cost) else cost)

    def of_copy(self, nbytes: int, pinned: bool) -> float:
        """Microseconds that a copy between host and device takes."""
        return nbytes / (1e3 * (self.pinned if pinned else self.pageable))

    def changed(self, kernels: Mapping[str, Cost], **others: Cost | None) -> Costs:
        """These costs with others in their place; None leaves a cost as it is."""
        given = {name: value for name, value in others.items() if value is not None}
        return replace(self, kernels={**self.kernels, **kernels}, **given)
