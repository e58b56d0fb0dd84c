"""Files of all versions of Renamed, and what becomes of one that is loaded."""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import Any

import torch
from torch import Tensor, nn

from helpers.check.compare import shown
from helpers.check.trial import Trial

RNG = ("torch RNG",)  # nn.Linear draws its first weights

TODAY = 4
MOVED = {
    "weight": ("gamma", 2),
    "conv.offset.weight": ("conv_offset.weight", 4),
}  # name before, moved by version
COUNT_SINCE = 3

Numbers = dict[str, Tensor]


def shapes(width: int) -> dict[str, tuple[int, ...]]:
    """The keys of today with their shapes."""
    return {
        "weight": (width,),
        "count": (),
        "conv.mix.weight": (width, width),
        "conv.offset.weight": (width, width),
    }


def numbers(trial: Trial, width: int) -> Numbers:
    """Values for all keys of today; count is 100 or more."""
    drawn = {key: torch.randn(shape, generator=trial.generator) for key, shape in shapes(width).items()}
    return drawn | {"count": torch.tensor(trial.random.randint(100, 900))}


def in_file(version: int, key: str) -> str | None:
    """What a key of today is called in a file of this version; None if it was not there yet."""
    if key == "count" and version < COUNT_SINCE:
        return None
    before, since = MOVED.get(key, (key, 0))
    return before if version < since else key


def file_of(version: int, today: Numbers, prefix: str = "") -> OrderedDict:
    """The state_dict that a release of this version wrote, with _metadata. prefix: "a.b." for a nested module."""
    file = OrderedDict()
    for key, value in today.items():
        if name := in_file(version, key):
            file[prefix + name] = value.clone()
    file._metadata = OrderedDict({path: {"version": 1} for path in paths(file)})
    file._metadata[prefix[:-1]] = {"version": version}
    return file


def joined(*files: OrderedDict) -> OrderedDict:
    """One file of several modules that stand side by side."""
    whole, metadata = OrderedDict(), OrderedDict()
    for file in files:
        whole.update(file)
        metadata.update(file._metadata)
    whole._metadata = metadata
    return whole


def paths(keys: Any) -> list[str]:
    """The modules that the keys of a file tell of: "" and the path of each."""
    parts = [key.split(".") for key in keys]
    found = [".".join(part[:end]) for part in parts for end in range(len(part))]
    return list(dict.fromkeys(found))


def expected(version: int, today: Numbers) -> Numbers:
    """What a module holds after the load."""
    return today | ({"count": torch.tensor(0)} if version < COUNT_SINCE else {})


def filled(module: nn.Module, values: Numbers, prefix: str = "") -> None:
    """Writes these values into a module, without load_state_dict."""
    state = module.state_dict()
    with torch.no_grad():
        for key, value in values.items():
            state[prefix + key].copy_(value)


def built(answer: Any, trial: Trial, width: int) -> nn.Module:
    """Renamed(width); wrong if it is no module with the keys of today."""
    module = answer(width)
    trial.true(
        isinstance(module, nn.Module),
        f"Renamed({width}) is no nn.Module.",
        expected="an instance of a class that inherits nn.Module",
        got=type(module).__name__,
        observed=("no module", type(module).__name__),
    )
    have = {key: tuple(value.shape) for key, value in module.state_dict().items()}
    trial.true(
        have == shapes(width),
        "The state_dict of a new Renamed has not the keys and shapes of today.",
        expected=shapes(width),
        got=have,
        observed=("keys", sorted(have)),
    )
    return module


def refused(error: RuntimeError, prefix: str = "") -> dict[str, list[str]]:
    """The keys that load_state_dict complains of."""
    by_kind = {}
    for kind in ("Missing", "Unexpected"):
        for listed in re.findall(rf'{kind} key\(s\) in state_dict: ((?:"[^"]*"(?:, )?)+)', str(error)):
            by_kind[kind.lower()] = sorted(
                key.removeprefix(prefix) for key in re.findall(r'"([^"]*)"', listed)
            )
    return by_kind


def load(trial: Trial, module: nn.Module, file: Any, nested: bool = False) -> None:
    """module.load_state_dict(file); wrong if it raises RuntimeError, as torch does for keys that do not fit.

    nested: what tells mistakes apart is then whether keys are missing or unexpected, and whether one is missing whose name
    never changed; not which.
    """
    try:
        module.load_state_dict(file)
    except NotImplementedError:
        raise
    except RuntimeError as error:
        by_kind = refused(error)
        message = "; ".join(f"{kind} {', '.join(keys)}" for kind, keys in by_kind.items())
        trial.fail(
            "load_state_dict refuses the file: " + (message or str(error)[:200]) + ".",
            expected="the file is loaded, with strict=True",
            got=f"RuntimeError: {shown(str(error), 300)}",
            observed=("refused", how(by_kind) if nested else sorted(by_kind.items()), own_code(module)),
        )


def how(by_kind: dict[str, list[str]]) -> list[str]:
    """In what way a nested module's file was refused."""
    lost = any(key.endswith("conv.mix.weight") for key in by_kind.get("missing", []))
    return [*sorted(by_kind), *(["a name that never changed"] if lost else [])]


def own_code(module: nn.Module) -> list[str]:
    """Where code for the load was put, besides the module's own _load_from_state_dict."""
    found = set()
    for name, part in module.named_modules():
        if type(part).load_state_dict is not nn.Module.load_state_dict:
            found.add("load_state_dict")
        own = type(part)._load_from_state_dict is not nn.Module._load_from_state_dict
        if name.split(".")[-1] in ("conv", "mix", "offset") and (own or part._load_state_dict_pre_hooks):
            found.add("in the child")
    return sorted(found)


def require(trial: Trial, module: nn.Module, want: Numbers, before: Numbers, prefix: str = "") -> None:
    """Wrong if the module does not hold these values. before: what it held when the load began."""
    state = module.state_dict()
    off = {}
    for key, value in want.items():
        have = state.get(prefix + key)
        if not (isinstance(have, Tensor) and have.dtype == value.dtype and torch.equal(have, value)):
            off[key] = _kind(have, before[key])
    if off:
        first = next(iter(off))
        trial.fail(
            "After the load " + "; ".join(f"{prefix}{key} {kind}" for key, kind in off.items()) + ".",
            expected=f"{prefix}{first}: {shown(want[first])}",
            got=f"{prefix}{first}: {shown(state.get(prefix + first))}",
            observed=("values", sorted(off.items())),
        )


def _kind(have: Any, before: Tensor) -> str:
    if not isinstance(have, Tensor):
        return "is gone"
    if have.dtype != before.dtype or have.shape != before.shape:
        return f"has dtype {have.dtype} and shape {tuple(have.shape)}"
    if torch.equal(have, before):
        return "is what the module held before: nothing was loaded into it"
    return "has different numbers than the file" if have.any() else "is zero, and not so in the file"
