"""What people write for 02.ordered_loader, and why it is wrong."""

from __future__ import annotations

from helpers.labs.dataloader.ordered_loader.exercise import ordered_loader
from helpers.labs.dataloader.shared.loaders import add_mistakes
from helpers.labs.dataloader.shared.mistakes import order, processes, seeds

add_mistakes(
    ordered_loader,
    (
        *processes.PROCESSES,
        *order.ORDER,
        *order.PREFETCH,
        *seeds.INFO,
        *seeds.SEEDS,
        *seeds.ENDS,
    ),
)
