"""Right answers of 12.op_log, of other shapes than the solution's."""

from __future__ import annotations

from typing import Any

RIGHT: list[Any] = []  # TODO: two or more
