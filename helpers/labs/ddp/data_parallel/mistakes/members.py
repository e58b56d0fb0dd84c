"""What people write for 07.data_parallel: replicate, walking through a module by hand."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from helpers.check.spec import returned
from helpers.labs.ddp.data_parallel.exercise import data_parallel
from helpers.labs.ddp.data_parallel.mistakes.parts import parts

built = data_parallel.bank(returned)
Members = dict[str, Any]


def _params(given: Members) -> Members:
    return dict(given)


def _buffers(given: Members) -> Members:
    return {name: None if buffer is None else buffer.clone() for name, buffer in given.items()}


def _children(given: Members, skeleton: Callable[[nn.Module], nn.Module]) -> Members:
    return {name: None if child is None else skeleton(child) for name, child in given.items()}


def by_hand(
    params: Callable[[Members], Members] = _params,
    buffers: Callable[[Members], Members] = _buffers,
    children: Callable[[Members, Any], Members] = _children,
) -> Callable[[nn.Module, int], list[nn.Module]]:
    """A replicate that is right but for the members given: what is made of a module's own dicts."""

    def skeleton(of: nn.Module) -> nn.Module:
        new = copy.copy(of)
        new._parameters, new._buffers = params(of._parameters), buffers(of._buffers)
        new._modules = children(of._modules, skeleton)
        return new

    return lambda module, n: [skeleton(module) for _ in range(n)]


def _without_none(given: Members, *_: Any) -> Members:
    return {name: member for name, member in given.items() if member is not None}


@built.mistake(breaks="n new modules that compute what `module` computes, one for each thread.")
def what_is_none_is_lost():
    """A parameter, a buffer or a sub-module of the module is None, as `bias` is in a layer without one, and a replica has no
    such attribute: a forward that asks for it raises. Perhaps only what is there is copied.
    """
    return parts(replicate=by_hand(params=_without_none))


data_parallel.variant(what_is_none_is_lost)(
    parts(replicate=by_hand(buffers=lambda given: _buffers(_without_none(given))))
)
data_parallel.variant(what_is_none_is_lost)(
    parts(replicate=by_hand(children=lambda given, skeleton: _children(_without_none(given), skeleton)))
)


@built.mistake(breaks="n new modules that compute what `module` computes, one for each thread.")
def what_is_none_is_copied():
    """replicate raises for a module with a buffer or a sub-module that is None. Perhaps each of them is cloned or walked
    through: None stays None.
    """
    return parts(
        replicate=by_hand(buffers=lambda given: {name: each.clone() for name, each in given.items()})
    )


data_parallel.variant(what_is_none_is_copied)(
    parts(
        replicate=by_hand(
            children=lambda given, skeleton: {name: skeleton(child) for name, child in given.items()}
        )
    )
)


@built.mistake(breaks="n new modules that compute what `module` computes, one for each thread.")
def empty_list_taken_for_none():
    """A replica has None where the module has an empty ModuleList, and a forward that goes through the list raises. Perhaps
    `if child` asks whether there is one: a container without members is False. Ask `if child is not None`.
    """

    def children(given: Members, skeleton: Any) -> Members:
        return {name: skeleton(child) if child else None for name, child in given.items()}

    return parts(replicate=by_hand(children=children))


def _each_once(module: nn.Module, n: int) -> list[nn.Module]:
    def skeleton(of: nn.Module, seen: set[int]) -> nn.Module:
        new = copy.copy(of)
        new._parameters, new._buffers, new._modules = (
            dict(of._parameters),
            _buffers(of._buffers),
            dict(of._modules),
        )
        for name, child in of._modules.items():
            if child is not None and id(child) not in seen:
                seen.add(id(child))
                new._modules[name] = skeleton(child, seen)
        return new

    return [skeleton(module, set()) for _ in range(n)]


def _first_name_only(module: nn.Module, n: int) -> list[nn.Module]:
    def one() -> nn.Module:
        new = by_hand()(module, 1)[0]
        for name in list(module._modules)[1:]:
            new._modules[name] = module._modules[name]
        return new

    return [one() for _ in range(n)]


@built.mistake(
    breaks="No two of them share a module object (sub-modules included), and none is module itself: what a forward writes on `self` stays in its replica."
)
def sub_module_left_behind():
    """A replica holds a sub-module of the module itself, in one place of several. Perhaps a sub-module that has two names is
    copied once, and under its second name the old one stays; or not all children are gone through.
    """
    return parts(replicate=_each_once)


data_parallel.variant(sub_module_left_behind)(parts(replicate=_first_name_only))


def _of_the_very_class(x: Any, n: int) -> list[Any]:
    return list(x.chunk(n)) if type(x) is Tensor else [x] * n


@built.mistake(
    breaks="A tensor (of one dimension or more) is cut along dim 0 as `torch.chunk(x, n)` cuts it, which may give fewer pieces than n."
)
def parameter_not_cut():
    """A Parameter goes to all replicas whole. Perhaps `type(x) is Tensor` asks for the very class: a Parameter is a tensor,
    too, which `isinstance(x, Tensor)` knows.
    """
    return parts(scatter=_of_the_very_class)
