"""What people write for state_dict of 05.state_dict, and why it is wrong."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from helpers.labs.module.state_dict.right import Load, Save, loads, modules, save, saves


@saves.mistake()
class PathLost(Save):
    """The keys are not the names on the way, joined by dots: the way to the module is missing in whole or in
    part, or a dot is missing or too many. `conv.w` and `conv2.w` would both be `w` without the way, and one
    overwrites the other.
    """

    def key(self, prefix: str, name: str) -> str:
        return name


@saves.variant(PathLost)
class _(Save):
    """Only the last module's name."""

    def key(self, prefix: str, name: str) -> str:
        return ".".join([*prefix.split(".")[-2:-1], name])


@saves.variant(PathLost)
class _(Save):
    """A dot before all."""

    def key(self, prefix: str, name: str) -> str:
        return f".{prefix}{name}"


@saves.variant(PathLost)
class _(Save):
    """A dot before the root's own."""

    def key(self, prefix: str, name: str) -> str:
        return prefix + name if prefix else f".{name}"


@saves.variant(PathLost)
class _(Save):
    """No dots."""

    def key(self, prefix: str, name: str) -> str:
        return prefix.replace(".", "") + name


@saves.variant(PathLost)
class _(Save):
    """No dot before the last name."""

    def key(self, prefix: str, name: str) -> str:
        return prefix[:-1] + name


@saves.mistake()
class KeptOnTheModule(Save):
    """A second call gave the dict of the first call again, with what its owner has done to it. Perhaps it is kept on the
    module, or in a cache: each call makes a new one.
    """

    def __call__(self, module: nn.Module) -> Any:
        if id(module) not in (kept := module.__dict__.setdefault("_kept_state", {})):
            kept[id(module)] = super().__call__(module)
        return kept[id(module)]


@saves.mistake()
class ChildrenLeftOut(Save):
    """Entries of deeper modules are not saved: only the root's own, perhaps its children's. The walk must go on in each child."""

    def modules(self, module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
        yield "", module


@saves.variant(ChildrenLeftOut)
class _(Save):
    """And its children's."""

    def modules(self, module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
        yield "", module
        for name, child in module._modules.items():
            if child is not None:
                yield f"{name}.", child


@saves.mistake()
class BuffersForgotten(Save):
    """Buffers are not saved. BatchNorm's running statistics are buffers: without them the loaded model evaluates with those
    of a new one.
    """

    def own(self, module: nn.Module) -> Iterator[tuple[str, Any]]:
        return ((name, value) for name, value in module._parameters.items() if value is not None)


@saves.mistake(breaks="each parameter and each persistent buffer of the tree under its name,")
class FrozenLeftOut(Save):
    """A frozen parameter is not saved. It is part of the model: without it the loaded model computes with other numbers."""

    def own(self, module: nn.Module) -> Iterator[tuple[str, Any]]:
        for name, value in Save.own(self, module):
            if value.requires_grad or name in module._buffers:
                yield name, value


@saves.mistake(breaks="each parameter and each persistent buffer of the tree under its name,")
class PlainTensorsSaved(Save):
    """A plain tensor that is an attribute of a module is in the dict. Only registered parameters and buffers are the module's
    state, and a load of this file finds a key that nobody expects. Perhaps vars() gave the names.
    """

    def own(self, module: nn.Module) -> Iterator[tuple[str, Any]]:
        yield from Save.own(self, module)
        yield from ((name, value) for name, value in vars(module).items() if isinstance(value, Tensor))


@saves.mistake()
class UnsavedBuffersSaved(Save):
    """Buffers that were registered with persistent=False are in the dict, of some modules or of all. They are what can be
    computed anew, and the next version of the code that has none of them calls the key unexpected.
    """

    def own(self, module: nn.Module) -> Iterator[tuple[str, Any]]:
        for name, value in (*module._parameters.items(), *module._buffers.items()):
            if value is not None:
                yield name, value


@saves.variant(UnsavedBuffersSaved)
class _(Save):
    """The root's set of names for all modules."""

    def __call__(self, module: nn.Module) -> Any:
        self.root = module
        return Save.__call__(self, module)

    def own(self, module: nn.Module) -> Iterator[tuple[str, Any]]:
        for name, value in (*module._parameters.items(), *module._buffers.items()):
            if value is not None and name not in self.root._non_persistent_buffers_set:
                yield name, value


@saves.variant(UnsavedBuffersSaved)
def _(module: nn.Module) -> Any:
    named = (
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(remove_duplicate=False),
    )
    return OrderedDict((name, value.detach()) for name, value in named)


@saves.variant(UnsavedBuffersSaved)
def _(module: nn.Module) -> Any:
    return OrderedDict(
        (name, value.detach()) for name, value in (*module.named_parameters(), *module.named_buffers())
    )


@saves.mistake()
class FalsyChildPassedOverInSave(Save):
    """The state dict lacks what stands in a list of modules without a module in it: perhaps because of `if child:`, which asks for
    its length. Ask `is not None`.
    """

    def modules(self, module: nn.Module, prefix: str = "") -> Iterator[tuple[str, nn.Module]]:
        yield prefix, module
        for name, child in module._modules.items():
            if child:
                yield from self.modules(child, f"{prefix}{name}.")


everything: Any = OrderedDict()


@saves.mistake()
class OneDictForAll(Save):
    """The dicts of two calls are one, or hold each other's entries: perhaps the dict is a default argument or a global one,
    which is made once. Make it in the call.
    """

    def __call__(self, module: nn.Module) -> Any:
        everything.update(Save.__call__(self, module))
        return everything


@saves.variant(OneDictForAll)
class _(Save):
    """Cleared, and the same all the same."""

    def __call__(self, module: nn.Module) -> Any:
        everything.clear()
        return OneDictForAll.__call__(self, module)


@saves.mistake()
class NoneSaved(Save):
    """Entries that are None are in the dict, or were taken for tensors. The bias that is switched off has no
    value; a model without the key would call it unexpected.
    """

    def own(self, module: nn.Module) -> Iterator[tuple[str, Any]]:
        yield from module._parameters.items()
        for name, value in module._buffers.items():
            if name not in module._non_persistent_buffers_set:
                yield name, value

    def value(self, value: Any) -> Any:
        return None if value is None else value.detach()


@saves.variant(NoneSaved)
class _(Save):
    """An error where there is a None."""

    def own(self, module: nn.Module) -> Iterator[tuple[str, Any]]:
        yield from module._parameters.items()
        for name, value in module._buffers.items():
            if name not in module._non_persistent_buffers_set:
                yield name, value


@saves.variant(NoneSaved)
class _(Save):
    """Parameters only."""

    def own(self, module: nn.Module) -> Iterator[tuple[str, Any]]:
        yield from Save.own(self, module)
        yield from ((name, None) for name, value in module._parameters.items() if value is None)

    def value(self, value: Any) -> Any:
        return None if value is None else value.detach()


@saves.variant(NoneSaved)
class _(Save):
    """Buffers only."""

    def own(self, module: nn.Module) -> Iterator[tuple[str, Any]]:
        yield from Save.own(self, module)
        yield from ((name, None) for name, value in module._buffers.items() if value is None)

    def value(self, value: Any) -> Any:
        return None if value is None else value.detach()


@saves.mistake()
class TiedOnce(Save):
    """A tied weight, or what a shared module holds, stands in the dict once. Perhaps named_parameters(), named_modules() or
    named_children() gave the names, or a set tells what was met: the second name is left out. Whoever loads it into a model
    without ties misses it.
    """

    def __call__(self, module: nn.Module) -> Any:
        sd, seen = Save.__call__(self, module), set()
        for key, value in (*module.named_parameters(remove_duplicate=False), *module.named_buffers()):
            if value in seen:
                sd.pop(key, None)
            seen.add(value)
        return sd


@saves.variant(TiedOnce)
class _(Save):
    """Of the modules, too: named_modules() knows each once."""

    def modules(self, module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
        for name, part in module.named_modules():
            yield (f"{name}." if name else ""), part


@saves.variant(TiedOnce)
class _(Save):
    def __call__(self, module: nn.Module) -> Any:
        sd, whole = OrderedDict(), Save.__call__(self, module)
        names = {name for name, _ in (*module.named_parameters(), *module.named_buffers())}
        for key, value in whole.items():
            if key in names or not isinstance(value, Tensor):
                sd[key] = value
        sd._metadata = whole._metadata
        return sd


@saves.variant(TiedOnce)
class _(Save):
    """Of one module's children."""

    def modules(self, module: nn.Module, prefix: str = "") -> Iterator[tuple[str, nn.Module]]:
        yield prefix, module
        for name, child in module.named_children():
            yield from self.modules(child, f"{prefix}{name}.")


@saves.variant(TiedOnce)
class _(Save):
    """Of the modules, and of the tensors."""

    def __call__(self, module: nn.Module) -> Any:
        sd, seen = OrderedDict(), set()
        for prefix, part in modules(module):
            for name, value in self.own(part):
                if value not in seen:
                    sd[prefix + name] = value.detach()
                seen.add(value)
        return sd


@saves.mistake()
class GraphKept(Save):
    """The values are the Parameters themselves, or belong to a graph. A file of them holds requires_grad, and an in-place
    edit of the dict's value is refused or recorded by autograd. detach() gives the bare numbers, in the same memory.
    """

    def value(self, value: Any) -> Any:
        return value


@saves.variant(GraphKept)
class _(Save):
    """Through an operation: a plain tensor with a graph behind it."""

    def value(self, value: Any) -> Any:
        return value.view_as(value)


@saves.mistake()
class Copied(Save):
    """Some or all values are copies. torch's are the module's own memory: a state dict of a large model costs nothing, and is
    no snapshot of it. Whoever keeps `best = model.state_dict()` must copy it.
    """

    def value(self, value: Any) -> Any:
        return value.detach().clone()


@saves.variant(Copied)
def _(module: nn.Module) -> Any:
    return copy.deepcopy(save(module))


@saves.variant(Copied)
class _(Save):
    """Of what is not contiguous."""

    def value(self, value: Any) -> Any:
        return value.detach().contiguous()


@saves.variant(Copied)
class _(Save):
    """Of buffers."""

    def value(self, value: Any) -> Any:
        return value.detach() if isinstance(value, nn.Parameter) else value.clone()


@saves.variant(Copied)
class _(Save):
    """Of parameters."""

    def value(self, value: Any) -> Any:
        return value.detach().clone() if isinstance(value, nn.Parameter) else value


@saves.mistake()
def torchs_state_dict(module: nn.Module) -> Any:
    """The answer calls module.state_dict(), or the method on which it is built: that is what is to be built."""
    return module.state_dict()


@saves.variant(torchs_state_dict)
def _(module: nn.Module) -> Any:
    sd: Any = OrderedDict()
    sd._metadata = OrderedDict()
    for prefix, part in modules(module):
        sd._metadata[prefix[:-1]] = {"version": part._version}
        part._save_to_state_dict(sd, prefix, False)
    return sd


def entered(module: nn.Module, looks: str, prefix: str = "") -> Iterator[tuple[str, nn.Module]]:
    """All modules, and a child that is None as one of them. looks: what is asked of it first."""
    getattr(module, looks)
    yield prefix, module
    for name, child in module._modules.items():
        yield from entered(child, looks, f"{prefix}{name}.")


@saves.mistake(breaks="What is None is left out")
class NoneChildEntered(Save):
    """A child that is None was taken for a module: AttributeError. register_module(name, None) and self.down = None over a
    module leave such an entry; skip it.
    """

    looks = "_parameters"

    def modules(self, module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
        return entered(module, self.looks)


class EnteredByTheLoad(Load):
    """The same on the way in."""

    looks = "_parameters"

    def modules(self, module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
        return entered(module, self.looks)


for _looks in ("_version", "_buffers", "_modules", "named_parameters", "named_buffers"):
    saves.variant(NoneChildEntered)(type("_", (NoneChildEntered,), {"looks": _looks}))
for _looks in ("_parameters", "_buffers", "_modules", "named_parameters", "named_buffers"):
    loads.variant(NoneChildEntered)(type("_", (EnteredByTheLoad,), {"looks": _looks}))
