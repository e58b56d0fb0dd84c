"""What people write for load_state_dict of 05.state_dict, and why it is wrong: what becomes of the module."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.module.state_dict.right import Keys, Load, load, loads, modules, own


@loads.mistake()
class ParametersReplaced(Load):
    """New Parameters were put into the module. The optimizer goes on with the old ones, and the model it
    should train never moves again. copy_ puts the numbers into those that are there.
    """

    def copy(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        new = new.to(old.dtype, copy=True)
        setattr(module, name, nn.Parameter(new, old.requires_grad) if isinstance(old, nn.Parameter) else new)


@loads.variant(ParametersReplaced)
class _(Load):
    """As with assign=True."""

    def copy(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        self.assign(module, name, old, new)


@loads.variant(ParametersReplaced)
class _(Load):
    def copy(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        setattr(module, name, nn.Parameter(new.clone()) if isinstance(old, nn.Parameter) else new.clone())


@loads.variant(ParametersReplaced)
class _(Load):
    def copy(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        (module._parameters if isinstance(old, nn.Parameter) else module._buffers)[name] = new


@loads.variant(ParametersReplaced)
class _(Load):
    """Buffers are copied into."""

    def copy(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        if isinstance(old, nn.Parameter):
            setattr(module, name, nn.Parameter(new.to(old.dtype, copy=True), requires_grad=old.requires_grad))
        else:
            old.copy_(new)


@loads.mistake()
class BuffersReplaced(Load):
    """Parameters were copied into, but buffers were replaced by the file's tensors: another dtype, and memory
    that the file and the module share.
    """

    def copy(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        if isinstance(old, nn.Parameter):
            Load.copy(self, module, name, old, new)
        else:
            module._buffers[name] = new


@loads.variant(BuffersReplaced)
class _(Load):
    def copy(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        if isinstance(old, nn.Parameter):
            Load.copy(self, module, name, old, new)
        else:
            setattr(module, name, new.clone())


@loads.mistake()
class DataSwapped(Load):
    """old.data = new puts the file's own memory, with its dtype, under the old Parameter: training then
    writes into the file's tensors, and two models that load one dict train each other.
    """

    def copy(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        old.data = new


@loads.variant(DataSwapped)
class _(Load):
    def copy(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        old.data = new.to(old.dtype)


@loads.variant(DataSwapped)
class _(Load):
    def copy(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        old.data = new.clone()


@loads.mistake()
class RecordedByAutograd(Load):
    """copy_ into a Parameter outside of torch.no_grad() is an operation that autograd would have to record,
    and a leaf refuses it.
    """

    def copy(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        old.copy_(new)


@loads.mistake()
def by_place(module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
    """The values were taken in the order of the file, and not by their names. A file in another order, or
    with one key more, puts each tensor in the wrong layer.
    """
    entries = {prefix + name: value for prefix, part in modules(module) for name, value in own(part)}
    if assign or entries.keys() != sd.keys() or any(sd[key].shape != entries[key].shape for key in sd):
        return load(module, sd, strict, assign)
    with torch.no_grad():
        for old, new in zip(entries.values(), sd.values(), strict=True):
            if old.shape == new.shape:
                old.copy_(new)
    return [], []


@loads.variant(by_place)
def _(module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
    with torch.no_grad():
        entries = [value for _, part in modules(module) for _, value in own(part)]
        for old, new in zip(entries, sd.values(), strict=False):
            old.copy_(new)
    return [], []


@loads.mistake()
def only_own_entries(module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
    """Only the root's own entries were loaded; the walk must go on in each child."""
    with torch.no_grad():
        for name, old in own(module):
            if name in sd:
                old.copy_(sd[name])
    return [], []


@loads.mistake()
def file_emptied(module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
    """Keys were taken out of the caller's dict with pop. The next model that loads it finds it empty."""
    copied = OrderedDict(sd)
    for prefix, part in modules(module):
        for name, _ in own(part):
            sd.pop(prefix + name, None)
    return load(module, copied, strict, assign)


@loads.mistake()
class TiedTakenForUnexpected(Load):
    """The names were asked of named_parameters(), which leaves out the second name of a tied weight: the
    file, which has both, is then full of unexpected keys.
    """

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        entries = (*module.named_parameters(), *module.named_buffers())
        once = {name for name, _ in entries}
        for prefix, part in modules(module):
            for name, _ in own(part):
                if prefix + name not in once:
                    self.errors.append(f"unexpected {prefix}{name}")
        seconds = [text.removeprefix("unexpected ") for text in self.errors]
        self.errors = self.errors if strict else []
        missing, unexpected = Load.__call__(self, module, sd, strict, assign)
        return missing, unexpected + seconds


@loads.variant(TiedTakenForUnexpected)
class _(Load):
    """And a shared module is walked through once."""

    def unexpected(self, module: nn.Module, sd: Any) -> list[str]:
        entries = (*module.named_parameters(), *module.named_buffers())
        extra = {key for key in self.known if key.endswith("_extra_state")}
        return [key for key in sd if key not in extra and key not in dict(entries)]


@loads.mistake()
class UnsavedExpected(Load):
    """Buffers with persistent=False were looked for in the file. They are not saved, so they are missing in
    every file.
    """

    def own(self, module: nn.Module) -> Any:
        for name, value in (*module._parameters.items(), *module._buffers.items()):
            if value is not None:
                yield name, value


@loads.mistake()
class NoneExpected(Load):
    """Entries that are None were looked for in the file. They are not saved, and are not missing."""

    def own(self, module: nn.Module) -> Any:
        for name, value in (*module._parameters.items(), *module._buffers.items()):
            if name not in module._non_persistent_buffers_set:
                yield name, value


@loads.mistake()
def torchs_load(module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
    """The answer calls module.load_state_dict(): that is the method which is to be built."""
    found = module.load_state_dict(sd, strict=strict, assign=assign)
    return found.missing_keys, found.unexpected_keys
