"""What people write for state_dict of 05.state_dict, and why it is wrong."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from helpers.labs.module import state_dict_options  # noqa: F401  the properties of the way in
from helpers.labs.module.state_dict_right import (
    Save,
    form_of_save,
    mistaken_save,
    modules,
    save,
)


@mistaken_save(
    "path_lost",
    "The keys lack the way to the module: `conv.w` and `conv2.w` are both `w`, and one overwrites the other.",
    "one overwrites the other",
)
class _(Save):
    def key(self, prefix: str, name: str) -> str:
        return name


@form_of_save("path_lost")
class _(Save):
    """Only the last module's name."""

    def key(self, prefix: str, name: str) -> str:
        return ".".join([*prefix.split(".")[-2:-1], name])


@mistaken_save(
    "children_left_out",
    "Only the root's own entries are saved. The walk must go on in each child.",
    "own entries are saved",
)
class _(Save):
    def modules(self, module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
        yield "", module


@form_of_save("children_left_out")
class _(Save):
    """And its children's."""

    def modules(self, module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
        yield "", module
        for name, child in module._modules.items():
            if child is not None:
                yield f"{name}.", child


@mistaken_save(
    "buffers_forgotten",
    "Only parameters are saved. BatchNorm's running statistics are buffers: without them the loaded model evaluates with "
    "those of a new one.",
    "evaluates with those of a new one",
)
class _(Save):
    def own(self, module: nn.Module) -> Iterator[tuple[str, Any]]:
        return ((name, value) for name, value in module._parameters.items() if value is not None)


@mistaken_save(
    "unsaved_buffers_saved",
    "Buffers that were registered with persistent=False are in the file. They are what can be computed anew, and the next "
    "version of the code that has none of them calls the key unexpected.",
    "what can be computed anew",
)
class _(Save):
    def own(self, module: nn.Module) -> Iterator[tuple[str, Any]]:
        for name, value in (*module._parameters.items(), *module._buffers.items()):
            if value is not None:
                yield name, value


@mistaken_save(
    "none_saved",
    "Entries that are None are in the file. The bias that is switched off has no value; a model without the key would call "
    "it unexpected.",
    "has no value; a model without the key",
)
class _(Save):
    def own(self, module: nn.Module) -> Iterator[tuple[str, Any]]:
        yield from module._parameters.items()
        for name, value in module._buffers.items():
            if name not in module._non_persistent_buffers_set:
                yield name, value

    def value(self, value: Any) -> Any:
        return None if value is None else value.detach()


@form_of_save("none_saved")
class _(Save):
    """An error where there is a None."""

    def own(self, module: nn.Module) -> Iterator[tuple[str, Any]]:
        yield from module._parameters.items()
        for name, value in module._buffers.items():
            if name not in module._non_persistent_buffers_set:
                yield name, value


@mistaken_save(
    "tied_once",
    "A tied weight stands in the file once: named_parameters() leaves out the second name. Whoever loads the file into a "
    "model whose weights are not tied misses it.",
    "whose weights are not tied",
)
class _(Save):
    def __call__(self, module: nn.Module) -> Any:
        sd, seen = Save.__call__(self, module), set()
        for key, value in (*module.named_parameters(remove_duplicate=False), *module.named_buffers()):
            if value in seen:
                sd.pop(key, None)
            seen.add(value)
        return sd


@form_of_save("tied_once")
class _(Save):
    """Of the modules, too: named_modules() knows each once."""

    def modules(self, module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
        for name, part in module.named_modules():
            yield (f"{name}." if name else ""), part


@form_of_save("tied_once")
class _(Save):
    def __call__(self, module: nn.Module) -> Any:
        sd, whole = OrderedDict(), Save.__call__(self, module)
        names = {name for name, _ in (*module.named_parameters(), *module.named_buffers())}
        for key, value in whole.items():
            if key in names or not isinstance(value, Tensor):
                sd[key] = value
        sd._metadata = whole._metadata
        return sd


@mistaken_save(
    "graph_kept",
    "The values are the Parameters themselves. A file of them holds requires_grad, and an in-place edit of the dict's value "
    "is refused or recorded by autograd. detach() gives the bare numbers, in the same memory.",
    "detach() gives the bare numbers",
)
class _(Save):
    def value(self, value: Any) -> Any:
        return value


@form_of_save("graph_kept")
class _(Save):
    """Through an operation: a plain tensor with a graph behind it."""

    def value(self, value: Any) -> Any:
        return value.view_as(value)


@mistaken_save(
    "copied",
    "The values are copies. torch's are the module's own memory: a state dict of a large model costs nothing, and "
    "is no snapshot of it. Whoever keeps `best = model.state_dict()` must copy it.",
    "is no snapshot of it",
)
class _(Save):
    def value(self, value: Any) -> Any:
        return value.detach().clone()


@form_of_save("copied")
def _(module: nn.Module) -> Any:
    return copy.deepcopy(save(module))


@mistaken_save(
    "torchs_state_dict",
    "The answer calls module.state_dict(): that is the method which is to be built.",
    "calls module.state_dict()",
)
def _(module: nn.Module) -> Any:
    return module.state_dict()


@form_of_save("torchs_state_dict")
def _(module: nn.Module) -> Any:
    sd: Any = OrderedDict()
    sd._metadata = OrderedDict()
    for prefix, part in modules(module):
        sd._metadata[prefix[:-1]] = {"version": part._version}
        part._save_to_state_dict(sd, prefix, False)
    return sd
