"""What people write for load_state_dict of 05.state_dict, and why it is wrong: what becomes of the module."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.module.state_dict.right import Keys, Load, load, loads, modules, own


@loads.mistake()
class ParametersReplaced(Load):
    """The load puts different Parameters into the module. The optimizer goes on with the old ones, and the
    model it should train never moves again. copy_ puts the numbers into those that are there.
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
    """The Parameters stayed, but after the load different buffers stand in the module: whoever held the old ones is left
    with them. copy_ serves buffers as well.
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
    """The Parameters are the old objects, with different memory in them: perhaps by old.data = new. Views of the old memory
    hold old numbers from now on; and if it is the file's memory, training writes into the file. copy_ keeps what is there.
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


@loads.variant(DataSwapped)
class _(Load):
    """Buffers are copied into."""

    def copy(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        if isinstance(old, nn.Parameter):
            old.data = new.to(old.dtype)
        else:
            old.copy_(new)


@loads.mistake()
class LoadFreezes(Load):
    """After a plain load parameters that learned no longer require grad. Perhaps requires_grad_(False) was to let copy_ write
    into them: torch.no_grad() around the copy does that, and leaves them as they were.
    """

    def copy(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        old.requires_grad_(False).copy_(new)


@loads.mistake(breaks="with their dtype, requires_grad and grad.")
class LoadThaws(Load):
    """After a plain load a frozen parameter requires grad. Perhaps requires_grad_(True) was to take back a
    requires_grad_(False), or Parameters are taken for what learns: torch.no_grad() leaves them as they were.
    """

    def copy(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        Load.copy(self, module, name, old, new)
        if isinstance(old, nn.Parameter):
            old.requires_grad_(True)


@loads.mistake()
class GradientsTouched(Load):
    """The load changed the gradient of a parameter: perhaps by zero_grad, by grad = None, or a new Parameter's data. A load
    brings values, and between backward() and step() a gradient is still needed.
    """

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        found = Load.__call__(self, module, sd, strict, assign)
        module.zero_grad()
        return found


@loads.mistake()
class DtypesCompared(Load):
    """A file of float64 values was refused by a float32 model. Perhaps the dtypes were compared with the shapes: a plain load
    casts to the dtype that is there.
    """

    def fits(self, old: Tensor, new: Any) -> bool:
        return Load.fits(self, old, new) and old.dtype == new.dtype


@loads.mistake(
    breaks="Brings the values of `sd` into the module by their names, as Module.load_state_dict does."
)
def metadata_expected(module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
    """AttributeError: the file has no attribute _metadata. A plain dict has none, nor has an OrderedDict that was not made by a
    state_dict: getattr(sd, "_metadata", None) asks for it.
    """
    made = OrderedDict(sd)
    made._metadata = sd._metadata
    return load(module, made, strict, assign)


@loads.mistake()
class RecordedByAutograd(Load):
    """Writing into a Parameter outside of torch.no_grad() is an operation that autograd would have to record, and a leaf
    refuses it.
    """

    def copy(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        old.copy_(new)


@loads.mistake()
class PlainTensorSet(Load):
    """A plain tensor was assigned where a Parameter stands, and nn.Module refuses that. Write the numbers into the
    Parameter that is there: copy_ under torch.no_grad().
    """

    def copy(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        setattr(module, name, new)


@loads.mistake()
def by_place(module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
    """A file in the reverse order was not loaded by its names: perhaps the values were taken in the order of
    the file. One key more, and each tensor is in the wrong layer.
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
    """Of a file that fits, not every value arrived: only those of the root's own entries, or of some more modules, or of
    some kind of entry. The walk must go on in each child, for parameters and buffers.
    """
    with torch.no_grad():
        for name, old in own(module):
            if name in sd:
                old.copy_(sd[name])
    return [], []


@loads.variant(only_own_entries)
class _(Load):
    """And the children's."""

    def modules(self, module: nn.Module) -> Any:
        yield "", module
        yield from ((f"{name}.", child) for name, child in module.named_children())

    def unexpected(self, module: nn.Module, sd: Any) -> list[str]:
        return []


@loads.variant(only_own_entries)
class _(Load):
    """Parameters, and no buffers."""

    def copy(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        if isinstance(old, nn.Parameter):
            Load.copy(self, module, name, old, new)


@loads.mistake()
class EntriesNotExpected(Load):
    """A file that fits was refused, or its names reported: the load does not go to all the entries that the file rightly
    holds, those of deeper modules or the buffers.
    """

    def modules(self, module: nn.Module) -> Any:
        yield "", module


@loads.variant(EntriesNotExpected)
class _(Load):
    """The children's, and no deeper."""

    def modules(self, module: nn.Module) -> Any:
        yield "", module
        yield from ((f"{name}.", child) for name, child in module.named_children())


@loads.variant(EntriesNotExpected)
class _(Load):
    """No buffers."""

    def own(self, module: nn.Module) -> Any:
        return ((name, value) for name, value in module._parameters.items() if value is not None)


@loads.mistake()
def file_emptied(module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
    """The load took keys out of the dict that it was given, or put different ones there: perhaps pop on the caller's own
    dict. The next model that loads it finds a different file.
    """
    copied = OrderedDict(sd)
    for prefix, part in modules(module):
        for name, _ in own(part):
            sd.pop(prefix + name, None)
    return load(module, copied, strict, assign)


@loads.mistake()
class TiedTakenForUnexpected(Load):
    """The second name of a tied weight, or of a shared module, was taken for unexpected, though torch's files have both
    names. Perhaps named_parameters() or named_modules() gave the names, or a set tells what was met: the second name is
    left out.
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


@loads.variant(TiedTakenForUnexpected)
class _(Load):
    """A shared module once."""

    def modules(self, module: nn.Module) -> Any:
        for name, part in module.named_modules():
            yield (f"{name}." if name else ""), part


@loads.variant(TiedTakenForUnexpected)
class _(Load):
    """A module that stands twice beside itself once."""

    def modules(self, module: nn.Module, prefix: str = "") -> Any:
        yield prefix, module
        for name, child in module.named_children():
            yield from self.modules(child, f"{prefix}{name}.")


@loads.mistake()
class FalsyChildPassedOver(Load):
    """A list of modules without a module in it was passed over, with the weight of its own: perhaps by `if child:`, which
    asks for its length. Ask `is not None`.
    """

    def modules(self, module: nn.Module, prefix: str = "") -> Any:
        yield prefix, module
        for name, child in module._modules.items():
            if child:
                yield from self.modules(child, f"{prefix}{name}.")


def every_name(module: nn.Module) -> set[str]:
    """The names of all entries, of those that are None or not saved, too."""
    return {prefix + name for prefix, part in modules(module) for name in (*part._parameters, *part._buffers)}


@loads.mistake()
class UnsavedLoaded(Load):
    """A value that the file has for a buffer with persistent=False was put into it. No state dict holds such a buffer, so
    the key is unexpected, and the buffer stays.
    """

    def own(self, module: nn.Module) -> Any:
        for name, value in (*module._parameters.items(), *module._buffers.items()):
            if value is not None:
                yield name, value

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        self.saved = {prefix + name for prefix, part in modules(module) for name, _ in own(part)}
        return Load.__call__(self, module, sd, strict, assign)

    def lacks(self, key: str) -> None:
        if key in self.saved or key.endswith("_extra_state"):
            Load.lacks(self, key)


@loads.variant(UnsavedLoaded)
class _(UnsavedLoaded):
    """Loaded, and called unexpected."""

    def unexpected(self, module: nn.Module, sd: Any) -> list[str]:
        return [key for key in sd if key not in self.known or key in every_name(module) - self.saved]


@loads.mistake()
class NoneFilled(Load):
    """An entry that is None was filled from the file: a layer with bias=False has a bias from now on. A key for it is
    unexpected.
    """

    def own(self, module: nn.Module) -> Any:
        for name, value in (*module._parameters.items(), *module._buffers.items()):
            if name not in module._non_persistent_buffers_set:
                yield name, value

    def fits(self, old: Any, new: Any) -> bool:
        return old is None or Load.fits(self, old, new)

    def copy(self, module: nn.Module, name: str, old: Any, new: Any) -> None:
        if old is not None:
            Load.copy(self, module, name, old, new)
        elif name in module._parameters:
            setattr(module, name, nn.Parameter(new))
        else:
            setattr(module, name, new)

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        self.saved = {prefix + name for prefix, part in modules(module) for name, _ in own(part)}
        return Load.__call__(self, module, sd, strict, assign)

    def lacks(self, key: str) -> None:
        if key in self.saved or key.endswith("_extra_state"):
            Load.lacks(self, key)


@loads.variant(NoneFilled)
class _(NoneFilled):
    """Parameters only."""

    def own(self, module: nn.Module) -> Any:
        yield from module._parameters.items()
        for name, value in module._buffers.items():
            if value is not None and name not in module._non_persistent_buffers_set:
                yield name, value


@loads.variant(NoneFilled)
class _(NoneFilled):
    """And called unexpected."""

    def unexpected(self, module: nn.Module, sd: Any) -> list[str]:
        return [key for key in sd if key not in self.saved and not key.endswith("_extra_state")]


@loads.mistake()
class EntryNamesTakenForExpected(Load):
    """A key was passed over in silence that names an entry which is None, a buffer that is not persistent, or
    something below a child that is None. Expected is what a state dict holds, so these keys are unexpected.
    """

    def unexpected(self, module: nn.Module, sd: Any) -> list[str]:
        return [key for key in Load.unexpected(self, module, sd) if key not in every_name(module)]


@loads.variant(EntryNamesTakenForExpected)
class _(Load):
    """None only."""

    def unexpected(self, module: nn.Module, sd: Any) -> list[str]:
        there = {name for name, _ in module.named_buffers(remove_duplicate=False)}
        return [
            key for key in Load.unexpected(self, module, sd) if key not in every_name(module) or key in there
        ]


@loads.variant(EntryNamesTakenForExpected)
class _(Load):
    """Buffers only."""

    def unexpected(self, module: nn.Module, sd: Any) -> list[str]:
        there = {name for name, _ in module.named_buffers(remove_duplicate=False)}
        return [key for key in Load.unexpected(self, module, sd) if key not in there]


@loads.variant(EntryNamesTakenForExpected)
class _(Load):
    """A key below a child that is None."""

    def unexpected(self, module: nn.Module, sd: Any) -> list[str]:
        return [key for key in Load.unexpected(self, module, sd) if key != "down.w"]


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
    """The answer calls module.load_state_dict(), or the method on which it is built: that is what is to be
    built.
    """
    found = module.load_state_dict(sd, strict=strict, assign=assign)
    return found.missing_keys, found.unexpected_keys
