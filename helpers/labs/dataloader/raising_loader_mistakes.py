"""What people write for 02.raising_loader."""

from __future__ import annotations

from helpers.labs.dataloader import error_flaws, order_flaws
from helpers.labs.dataloader.raising_loader import ladder

_again = ("data_loader_inside", "threads", "arrival_order")  # more of the first cell's stand with the third
for flaw in (*order_flaws.PROCESSES, *order_flaws.ORDER, *error_flaws.RAISING, *error_flaws.DEAD):
    if flaw.name in _again or flaw in error_flaws.RAISING + error_flaws.DEAD:
        ladder.wrong_answer(flaw)
