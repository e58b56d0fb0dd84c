"""What people write for 02.raising_loader, and why it is wrong."""

from __future__ import annotations

from helpers.labs.dataloader.raising_loader.exercise import raising_loader
from helpers.labs.dataloader.shared.loaders import add_mistakes
from helpers.labs.dataloader.shared.mistakes import dead_workers, errors, order, processes

_AGAIN = ("data_loader_inside", "threads", "arrival_order")
_former = [mistake for mistake in (*processes.PROCESSES, *order.ORDER) if mistake.name in _AGAIN]
add_mistakes(raising_loader, (*_former, *errors.RAISING, *dead_workers.DEAD))
