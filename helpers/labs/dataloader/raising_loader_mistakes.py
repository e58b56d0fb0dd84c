"""What people write for 02.raising_loader: what falls in the second cell, and the worst of the first."""

from __future__ import annotations

from helpers.labs.dataloader import dead_flaws, error_flaws, order_flaws, process_flaws
from helpers.labs.dataloader.loader_steps import add_flaws
from helpers.labs.dataloader.raising_loader import raising_loader

_AGAIN = ("data_loader_inside", "threads", "arrival_order")
_former = [flaw for flaw in (*process_flaws.PROCESSES, *order_flaws.ORDER) if flaw.name in _AGAIN]
add_flaws(raising_loader, (*_former, *error_flaws.RAISING, *dead_flaws.DEAD))
