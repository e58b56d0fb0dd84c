"""Right answers to 02.raising_loader, in different shapes."""

from __future__ import annotations

from .shared import Piped, whole

RIGHT = [whole, Piped]
