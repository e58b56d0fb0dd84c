"""What people write for state_dict of 05.state_dict, and why it is wrong."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from helpers.labs.module.state_dict.right import Save, modules, save, saves


@saves.mistake()
class PathLost(Save):
    """The keys lack the way to the module: `conv.w` and `conv2.w` are both `w`, and one overwrites the other."""

    def key(self, prefix: str, name: str) -> str:
        return name


@saves.variant(PathLost)
class _(Save):
    """Only the last module's name."""

    def key(self, prefix: str, name: str) -> str:
        return ".".join([*prefix.split(".")[-2:-1], name])


@saves.mistake()
class ChildrenLeftOut(Save):
    """Only the root's own entries are saved. The walk must go on in each child."""

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
    """Only parameters are saved. BatchNorm's running statistics are buffers: without them the loaded model
    evaluates with those of a new one.
    """

    def own(self, module: nn.Module) -> Iterator[tuple[str, Any]]:
        return ((name, value) for name, value in module._parameters.items() if value is not None)


@saves.mistake()
class UnsavedBuffersSaved(Save):
    """Buffers that were registered with persistent=False are in the file. They are what can be computed anew,
    and the next version of the code that has none of them calls the key unexpected.
    """

    def own(self, module: nn.Module) -> Iterator[tuple[str, Any]]:
        for name, value in (*module._parameters.items(), *module._buffers.items()):
            if value is not None:
                yield name, value


@saves.mistake()
class NoneSaved(Save):
    """Entries that are None are in the file. The bias that is switched off has no value; a model without the
    key would call it unexpected.
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


@saves.mistake()
class TiedOnce(Save):
    """A tied weight stands in the file once: named_parameters() leaves out the second name. Whoever loads the
    file into a model whose weights are not tied misses it.
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


@saves.mistake()
class GraphKept(Save):
    """The values are the Parameters themselves. A file of them holds requires_grad, and an in-place edit of
    the dict's value is refused or recorded by autograd. detach() gives the bare numbers, in the same memory.
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
    """The values are copies. torch's are the module's own memory: a state dict of a large model costs
    nothing, and is no snapshot of it. Whoever keeps `best = model.state_dict()` must copy it.
    """

    def value(self, value: Any) -> Any:
        return value.detach().clone()


@saves.variant(Copied)
def _(module: nn.Module) -> Any:
    return copy.deepcopy(save(module))


@saves.mistake()
def torchs_state_dict(module: nn.Module) -> Any:
    """The answer calls module.state_dict(): that is the method which is to be built."""
    return module.state_dict()


@saves.variant(torchs_state_dict)
def _(module: nn.Module) -> Any:
    sd: Any = OrderedDict()
    sd._metadata = OrderedDict()
    for prefix, part in modules(module):
        sd._metadata[prefix[:-1]] = {"version": part._version}
        part._save_to_state_dict(sd, prefix, False)
    return sd
