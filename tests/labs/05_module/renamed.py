"""Right answers to 05.renamed, in different shapes."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class OfToday(nn.Module):
    """All but the load."""

    _version = 4

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.register_buffer("count", torch.tensor(0))
        self.conv = nn.ModuleDict(
            {"mix": nn.Linear(width, width, bias=False), "offset": nn.Linear(width, width, bias=False)}
        )


class Plain(OfToday):
    """The plain answer: look for each old key, ask the version for what is new."""

    def _load_from_state_dict(self, state_dict: dict, prefix: str, local_metadata: dict, *args: Any) -> None:
        version = local_metadata.get("version")
        for until, old, new in ((2, "gamma", "weight"), (4, "conv_offset.weight", "conv.offset.weight")):
            if (version is None or version < until) and prefix + old in state_dict:
                state_dict[prefix + new] = state_dict.pop(prefix + old)
        if version is None or version < 3:
            state_dict.setdefault(prefix + "count", torch.zeros_like(self.count))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


class OffsetConv(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.mix, self.offset = (nn.Linear(width, width, bias=False) for _ in range(2))


class WithAHook(nn.Module):
    """A hook of its own instance, registered in __init__; children of a class of its own."""

    _version = 4

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = OffsetConv(width)
        self.weight = nn.Parameter(torch.ones(width))
        self.register_buffer("count", torch.zeros((), dtype=torch.long))
        self.register_load_state_dict_pre_hook(self.migrated)

    @staticmethod
    def migrated(module: nn.Module, state_dict: dict, prefix: str, metadata: dict, *args: Any) -> None:
        version = metadata.get("version") or 0
        names = {"gamma": "weight"} if version < 2 else {}
        names |= {"conv_offset.weight": "conv.offset.weight"} if version < 4 else {}
        for key in [key for key in state_dict if key.startswith(prefix)]:
            name = key[len(prefix) :]
            state_dict[prefix + names.get(name, name)] = state_dict.pop(key)
        if version < 3 and prefix + "count" not in state_dict:
            state_dict[prefix + "count"] = torch.tensor(0)


class StepByStep(OfToday):
    """One step a version, as a database is migrated; a lost version is told from the keys."""

    def _load_from_state_dict(self, state_dict: dict, prefix: str, local_metadata: dict, *args: Any) -> None:
        def has(name: str) -> bool:
            return prefix + name in state_dict

        def move(old: str, new: str) -> None:
            if has(old):
                state_dict[prefix + new] = state_dict.pop(prefix + old)

        def told_by_keys() -> int:
            if has("gamma"):
                return 1
            return 2 if not has("count") else 3 if has("conv_offset.weight") else 4

        steps = {
            1: lambda: move("gamma", "weight"),
            2: lambda: state_dict.update({prefix + "count": torch.tensor(0)}),
            3: lambda: move("conv_offset.weight", "conv.offset.weight"),
        }
        for version in range(local_metadata.get("version") or told_by_keys(), self._version):
            steps[version]()
        nn.Module._load_from_state_dict(self, state_dict, prefix, local_metadata, *args)


class OnACopy(OfToday):
    """The dict of torch is left alone as well: super() and the children get new keys by another way."""

    def _load_from_state_dict(
        self,
        state_dict: dict,
        prefix: str,
        local_metadata: dict,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        version = local_metadata.get("version", None)
        names = {}
        if version in (None, 1):
            names[f"{prefix}gamma"] = f"{prefix}weight"
        if version is None or version < self._version:
            names[f"{prefix}conv_offset.weight"] = f"{prefix}conv.offset.weight"
        file = {names.get(key, key): value for key, value in state_dict.items()}
        if version is None or version <= 2:
            file = {f"{prefix}count": self.count.new_zeros(())} | file
        state_dict.clear()
        state_dict.update(file)  # the children's dicts are made from this one
        nn.Module._load_from_state_dict(
            self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


RIGHT = [Plain, WithAHook, StepByStep, OnACopy]
