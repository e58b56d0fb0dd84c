"""What right answers of this lab share."""

from __future__ import annotations

from torch import Tensor

Params, Grads, State = list[Tensor], list[Tensor | None], list[dict]
