"""What people write for 02.ordered_loader."""

from __future__ import annotations

from helpers.labs.dataloader import order_flaws, process_flaws, seed_flaws
from helpers.labs.dataloader.loader_steps import add_flaws
from helpers.labs.dataloader.ordered_loader import ordered_loader

add_flaws(
    ordered_loader,
    (
        *process_flaws.PROCESSES,
        *order_flaws.ORDER,
        *order_flaws.PREFETCH,
        *seed_flaws.INFO,
        *seed_flaws.SEEDS,
        *seed_flaws.ENDS,
    ),
)
