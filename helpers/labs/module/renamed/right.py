"""A right module in steps, of which each mistake of 05.renamed replaces one."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

MOVED = {"gamma": "weight", "conv_offset.weight": "conv.offset.weight"}
UNTIL = {"gamma": 2, "conv_offset.weight": 4}  # from this version on a file has the new name


class Base(nn.Module):
    """All but the load."""

    _version = 4

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.register_buffer("count", torch.tensor(0))
        self.conv = self.parts(width)

    def parts(self, width: int) -> nn.Module:
        return nn.ModuleDict({name: nn.Linear(width, width, bias=False) for name in ("mix", "offset")})


class Right(Base):
    """The right answer; the wrong ones change one method."""

    def _load_from_state_dict(self, state_dict: dict, prefix: str, local_metadata: dict, *args: Any) -> None:
        self.migrate(state_dict, prefix, self.version(state_dict, local_metadata))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)

    def version(self, state_dict: dict, local_metadata: dict) -> int:
        version = local_metadata.get("version")
        return 1 if version is None else version

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        self.move(state_dict, prefix, version)
        if version < 3:
            state_dict.setdefault(prefix + "count", torch.zeros_like(self.count))

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        for old, new in MOVED.items():
            if version < UNTIL[old] and prefix + old in state_dict:
                state_dict[prefix + new] = state_dict.pop(prefix + old)


class Conv(nn.ModuleDict):
    """The old trick: from the prefix `conv.` to the key beside it."""

    def _load_from_state_dict(self, state_dict: dict, prefix: str, *args: Any) -> None:
        if (old := prefix[:-1] + "_offset.weight") in state_dict:
            state_dict[prefix + "offset.weight"] = state_dict.pop(old)
        super()._load_from_state_dict(state_dict, prefix, *args)
