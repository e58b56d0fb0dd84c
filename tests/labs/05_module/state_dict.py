"""Right answers to 05.state_dict, in different shapes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

EXTRA = "_extra_state"


def has_own(module: nn.Module, method: str) -> bool:
    return getattr(type(module), method) is not getattr(nn.Module, method)


def own_state(module: nn.Module) -> dict[str, Tensor]:
    entries: dict[str, Any] = dict(module._parameters)
    for name, value in module._buffers.items():
        if name not in module._non_persistent_buffers_set:
            entries[name] = value
    return {name: value for name, value in entries.items() if value is not None}


def state_dict(module: nn.Module) -> OrderedDict[str, Any]:
    """The solution of the notebook."""
    sd: Any = OrderedDict()
    sd._metadata = OrderedDict()

    def save(module: nn.Module, prefix: str) -> None:
        sd._metadata[prefix[:-1]] = {"version": module._version}
        for name, value in own_state(module).items():
            sd[prefix + name] = value.detach()
        if has_own(module, "get_extra_state"):
            sd[prefix + EXTRA] = module.get_extra_state()
        for name, child in module._modules.items():
            if child is not None:
                save(child, prefix + name + ".")

    save(module, "")
    return sd


def load_state_dict(
    module: nn.Module, sd: Mapping[str, Any], strict: bool = True, assign: bool = False
) -> tuple[list[str], list[str]]:
    """Two walks by one recursion each; the notebook goes by named_modules on the way in."""
    missing: list[str] = []
    faults: list[str] = []
    known: set[str] = set()

    def load_tensor(module: nn.Module, name: str, old: Tensor, new: Tensor) -> None:
        if not assign:
            with torch.no_grad():
                old.copy_(new)
        elif isinstance(old, nn.Parameter):
            setattr(module, name, nn.Parameter(new, requires_grad=old.requires_grad))
        else:
            setattr(module, name, new)

    def load(module: nn.Module, prefix: str) -> None:
        for name, old in own_state(module).items():
            key = prefix + name
            known.add(key)
            if key not in sd:
                missing.append(key)
            elif not isinstance(sd[key], Tensor):
                faults.append(f"no tensor for {key}")
            elif sd[key].shape != old.shape:
                faults.append(f"size mismatch for {key}: {tuple(sd[key].shape)} for {tuple(old.shape)}")
            else:
                load_tensor(module, name, old, sd[key])
        if has_own(module, "set_extra_state"):
            known.add(prefix + EXTRA)
            if prefix + EXTRA in sd:
                module.set_extra_state(sd[prefix + EXTRA])
            else:
                missing.append(prefix + EXTRA)
        for name, child in module._modules.items():
            if child is not None:
                load(child, prefix + name + ".")

    load(module, "")
    unexpected = [key for key in sd if key not in known]
    if strict:
        faults += [f"missing: {key}" for key in missing] + [f"unexpected: {key}" for key in unexpected]
    if faults:
        raise RuntimeError(f"cannot load into {type(module).__name__}:\n  " + "\n  ".join(faults))
    return missing, unexpected


class Incompatible(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class Saved(OrderedDict):
    """An OrderedDict of a class of its own."""

    _metadata: dict[str, Any]


def save_by_modules(module: nn.Module) -> Saved:
    """named_modules of torch with all names, then one comprehension a module."""
    sd = Saved()
    sd._metadata = {}
    for name, part in module.named_modules(remove_duplicate=False):
        dot = name + "." if name else ""
        sd._metadata[name] = dict(version=part._version)
        sd.update({dot + key: value.data for key, value in part._parameters.items() if value is not None})
        saved = [key for key in part._buffers if key not in part._non_persistent_buffers_set]
        sd.update({dot + key: part._buffers[key].detach() for key in saved if part._buffers[key] is not None})
        try:
            sd[dot + "_extra_state"] = part.get_extra_state()
        except RuntimeError:  # the one of nn.Module
            pass
    return sd


def load_by_plan(module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Incompatible:
    """First where each key belongs, then the sets, then what fits, then one error."""
    plan: dict[str, tuple[nn.Module, str]] = {}
    for name, part in module.named_modules(remove_duplicate=False):
        keys = list(save_by_modules(part))
        own = [key for key in keys if key in part._parameters or key in part._buffers]
        if type(part).set_extra_state is not torch.nn.Module.set_extra_state:
            own.append("_extra_state")
        plan |= {f"{name}.{key}".lstrip("."): (part, key) for key in own}
    missing, unexpected = sorted(plan.keys() - sd.keys()), sorted(sd.keys() - plan.keys())
    bad = []
    for key in plan.keys() & sd.keys():
        part, name = plan[key]
        if name == "_extra_state":
            part.set_extra_state(sd[key])
        elif not torch.is_tensor(sd[key]) or sd[key].size() != getattr(part, name).size():
            bad.append(key)
        elif not assign:
            getattr(part, name).data.copy_(sd[key])
        elif name in part._buffers:
            part._buffers[name] = sd[key]
        else:
            made = torch.nn.Parameter(sd[key], part._parameters[name].requires_grad)
            part._parameters[name] = made
    if bad or (strict and (missing or unexpected)):
        raise RuntimeError(str({"bad": bad, "missing": missing, "unexpected": unexpected}))
    return Incompatible(missing, unexpected)


class Walker:
    """One visitor for both ways."""

    def __init__(self, visit: Callable[[str, nn.Module, str, Any], None]) -> None:
        self.visit = visit

    def go(self, module: nn.Module, path: tuple[str, ...] = ()) -> None:
        for entries in (module._parameters, module._buffers):
            for name in list(entries):
                if entries[name] is None or name in module._non_persistent_buffers_set:
                    continue
                self.visit(".".join((*path, name)), module, name, entries)
        self.visit(".".join((*path, "_extra_state")), module, "_extra_state", None)
        for name in module._modules:
            if module._modules[name] is not None:
                self.go(module._modules[name], (*path, name))


def save_by_visits(module: nn.Module) -> OrderedDict[str, Any]:
    found: Any = OrderedDict()
    found._metadata = OrderedDict()

    def visit(key: str, part: nn.Module, name: str, entries: Any) -> None:
        found._metadata[key.rpartition(".")[0]] = {"version": part._version}
        if entries is not None:
            found[key] = entries[name].detach()
        elif "get_extra_state" in {word for kind in type(part).__mro__[:-2] for word in vars(kind)}:
            found[key] = part.get_extra_state()

    Walker(visit).go(module)
    found._metadata = OrderedDict((name, found._metadata[name]) for name in found._metadata)
    return found


def load_by_visits(
    module: nn.Module, sd: Any, strict: bool = True, assign: bool = False
) -> tuple[list, list]:
    left, missing, wrong = dict(sd), [], []

    def visit(key: str, part: nn.Module, name: str, entries: Any) -> None:
        if entries is None:
            if type(part).set_extra_state is not nn.Module.set_extra_state:
                if key in left:
                    part.set_extra_state(left.pop(key))
                else:
                    missing.append(key)
            return
        try:
            new, old = left.pop(key), entries[name]
        except KeyError:
            missing.append(key)
            return
        if not isinstance(new, Tensor) or tuple(new.shape) != tuple(old.shape):
            wrong.append(key)
        elif assign:
            entries[name] = (
                nn.Parameter(new).requires_grad_(old.requires_grad) if entries is part._parameters else new
            )
        else:
            with torch.no_grad():
                old[...] = new.to(old.dtype)

    Walker(visit).go(module)
    complaints = wrong + (missing + list(left) if strict else [])
    if complaints:
        raise RuntimeError(", ".join(complaints))
    return missing, list(left)


def save_parameters_first(module: nn.Module) -> OrderedDict[str, Any]:
    """No versions, and in another order than torch's."""
    sd: OrderedDict[str, Any] = OrderedDict()
    sd.update((name, param.data) for name, param in module.named_parameters(remove_duplicate=False))
    for path, part in module.named_modules(remove_duplicate=False):
        dot = path + "." if path else ""
        for name, value in part._buffers.items():
            if value is not None and name not in part._non_persistent_buffers_set:
                sd[dot + name] = value.data
        if has_own(part, "get_extra_state"):
            sd[dot + EXTRA] = part.get_extra_state()
    return sd


def load_into_own_state(
    module: nn.Module, sd: Any, strict: bool = True, assign: bool = False
) -> tuple[list[str], list[str]]:
    """Copies into what its own way out gives; sets of names until the end."""
    own, misfits = save_parameters_first(module), []
    for path, part in module.named_modules(remove_duplicate=False):
        key = f"{path}.{EXTRA}" if path else EXTRA
        own.pop(key, None)
        if has_own(part, "set_extra_state"):
            own[key] = part
    missing, unexpected = own.keys() - sd.keys(), sd.keys() - own.keys()
    for key in own.keys() & sd.keys():
        path, _, name = key.rpartition(".")
        part = module.get_submodule(path)
        if name == EXTRA:
            part.set_extra_state(sd[key])
        elif getattr(sd[key], "shape", None) != own[key].shape:
            misfits.append(key)
        elif not assign:
            own[key].copy_(sd[key])
        elif name in part._parameters:
            part._parameters[name] = nn.Parameter(sd[key], part._parameters[name].requires_grad)
        else:
            part._buffers[name] = sd[key]
    if misfits or (strict and (missing or unexpected)):
        raise RuntimeError(f"shapes of {misfits}, missing {missing}, unexpected {unexpected}")
    return list(missing), list(unexpected)


RIGHT = [
    (state_dict, load_state_dict),
    (save_by_modules, load_by_plan),
    (save_by_visits, load_by_visits),
    (save_parameters_first, load_into_own_state),
]
