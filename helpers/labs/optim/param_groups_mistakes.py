"""What people write for 04.param_groups."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from torch import Tensor, nn

from helpers.labs.optim.param_groups import param_groups

Pair = tuple[str, Tensor]


def _grouped(pairs: Iterable[Pair], weight_decay: float, decays: Callable[[str, Tensor], bool]) -> list[dict]:
    """The two groups under some rule."""
    kept = list(pairs)
    return [
        {"params": [param for name, param in kept if decays(name, param)], "weight_decay": weight_decay},
        {"params": [param for name, param in kept if not decays(name, param)], "weight_decay": 0.0},
    ]


def _trained(model: nn.Module) -> list[Pair]:
    return [(name, param) for name, param in model.named_parameters() if param.requires_grad]


def _by_ndim(name: str, param: Tensor) -> bool:
    return param.ndim >= 2


@param_groups.wrong_answer(
    "by_the_ending_bias",
    why="`name.endswith('bias')` misses an LSTM's bias_ih_l0, and lets norm and PReLU weights decay.",
    seen="misses an LSTM's bias_ih_l0",
)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    return _grouped(_trained(model), weight_decay, lambda name, param: not name.endswith("bias"))


@param_groups.wrong_answer(
    "by_the_word_bias",
    why="`'bias' in name` finds an LSTM's biases, and still lets norm and PReLU weights decay.",
    seen="finds an LSTM's biases",
)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    return _grouped(_trained(model), weight_decay, lambda name, param: "bias" not in name)


@param_groups.wrong_answer(
    "by_bias_and_norm",
    why="'bias' or 'norm' in the name: in a Sequential a norm is called '1', and PReLU's weight is called weight.",
    seen="in a Sequential a norm is called '1'",
)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    return _grouped(
        _trained(model),
        weight_decay,
        lambda name, p: not name.endswith("bias") and "norm" not in name.lower(),
    )


@param_groups.wrong_answer(
    "by_the_ending_weight",
    why="Only what is called weight decays. A bare parameter and an LSTM's weight_ih_l0 have other names, and a norm's "
    "weight has that name, too.",
    seen="an LSTM's weight_ih_l0 have other names",
)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    return _grouped(_trained(model), weight_decay, lambda name, param: name.endswith("weight"))


_WEIGHTED = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.ConvTranspose3d, nn.Embedding, nn.Bilinear)
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.GroupNorm, nn.LayerNorm, nn.InstanceNorm1d, nn.PReLU)


@param_groups.wrong_answer(
    "by_module_type",
    why="Only known module types are asked for their weight and bias: a parameter of an own module, an LSTM's, one in a "
    "ParameterList is in no group, and no optimizer ever moves it.",
    seen="Only known module types are asked",
)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    pairs = [
        (name, param)
        for module in model.modules()
        if isinstance(module, _WEIGHTED + _NORMS)
        for name, param in module.named_parameters(recurse=False)
        if param.requires_grad
    ]
    unique = list({id(param): (name, param) for name, param in pairs}.values())
    return _grouped(unique, weight_decay, _by_ndim)


@param_groups.another_form("by_module_type")
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    decay, rest = {}, {}
    for module in model.modules():
        if isinstance(module, _WEIGHTED):
            _put(decay, module.weight)
            _put(rest, module.bias if hasattr(module, "bias") else None)
        elif isinstance(module, _NORMS):
            _put(rest, module.weight)
            _put(rest, getattr(module, "bias", None))
    return [
        {"params": list(decay.values()), "weight_decay": weight_decay},
        {"params": list(rest.values()), "weight_decay": 0.0},
    ]


def _put(into: dict[int, Tensor], param: Tensor | None) -> None:
    if param is not None and param.requires_grad:
        into[id(param)] = param


@param_groups.wrong_answer(
    "tied_twice",
    why="Each module is asked for its own parameters, and a tied weight has two modules: it comes twice. "
    "model.parameters() gives it once.",
    seen="a tied weight has two modules",
)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    pairs = [
        (name, param)
        for module in model.modules()
        for name, param in module.named_parameters(recurse=False)
        if param.requires_grad
    ]
    return _grouped(pairs, weight_decay, _by_ndim)


@param_groups.another_form("tied_twice")
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    pairs = [(n, p) for n, p in model.named_parameters(remove_duplicate=False) if p.requires_grad]
    return _grouped(pairs, weight_decay, _by_ndim)


@param_groups.wrong_answer(
    "every_level_again",
    why="model.modules() gives every level, and module.parameters() everything below it: a nested parameter comes once "
    "for each level.",
    seen="once for each level",
)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    pairs = [pair for module in model.modules() for pair in _trained(module)]
    return _grouped(pairs, weight_decay, _by_ndim)


@param_groups.wrong_answer(
    "top_level_only",
    why="recurse=False looks at the model's own parameters only; those of its layers are in no group.",
    seen="looks at the model's own parameters only",
)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    pairs = [(n, p) for n, p in model.named_parameters(recurse=False) if p.requires_grad]
    return _grouped(pairs, weight_decay, _by_ndim)


@param_groups.wrong_answer(
    "frozen_kept",
    why="Frozen parameters are in the groups: the optimizer carries them along, and what is unfrozen later and was meant "
    "for another group is there already.",
    seen="the optimizer carries them along",
)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    return _grouped(model.named_parameters(), weight_decay, _by_ndim)


@param_groups.wrong_answer(
    "generator_used_up",
    why="Two comprehensions read one generator: the first one empties it, and the second group stays empty. "
    "Make a list first.",
    seen="the first one empties it",
)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    params = (param for param in model.parameters() if param.requires_grad)
    return [
        {"params": [param for param in params if param.ndim >= 2], "weight_decay": weight_decay},
        {"params": [param for param in params if param.ndim < 2], "weight_decay": 0.0},
    ]


@param_groups.wrong_answer(
    "generators_in_the_groups",
    why="The groups hold generator expressions (or filter objects). The first reader, who prints or counts them, leaves "
    "nothing for the optimizer.",
    seen="leaves nothing for the optimizer",
)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    return [
        {"params": (p for _, p in _trained(model) if p.ndim >= 2), "weight_decay": weight_decay},
        {"params": (p for _, p in _trained(model) if p.ndim < 2), "weight_decay": 0.0},
    ]


@param_groups.another_form("generators_in_the_groups")
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    params = [p for _, p in _trained(model)]
    return [
        {"params": filter(lambda p: p.ndim >= 2, params), "weight_decay": weight_decay},
        {"params": filter(lambda p: p.ndim < 2, params), "weight_decay": 0.0},
    ]


@param_groups.wrong_answer(
    "zero_left_out",
    why="The second group has no weight_decay of its own, and gets the optimizer's default: with AdamW that is 0.01, "
    "not 0.",
    seen="gets the optimizer's default",
)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    decay, rest = _grouped(_trained(model), weight_decay, _by_ndim)
    return [decay, {"params": rest["params"]}]


@param_groups.wrong_answer(
    "key_misspelt",
    why="A misspelt key (`decay`, `weight_dacay`) is taken by every optimizer without a word, and does nothing.",
    seen="is taken by every optimizer without a word",
)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    decay, rest = _grouped(_trained(model), weight_decay, _by_ndim)
    return [{"params": decay["params"], "decay": weight_decay}, {"params": rest["params"], "decay": 0.0}]


@param_groups.wrong_answer(
    "groups_exchanged",
    why="The group that does not decay comes first. The order is part of the contract: decay first.",
    seen="The order is part of the contract",
)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    return _grouped(_trained(model), weight_decay, _by_ndim)[::-1]


@param_groups.wrong_answer(
    "empty_group_left_out",
    why="An empty group is left out, so that the number of groups depends on the model, and `param_groups[1]` is there or "
    "not. torch takes an empty group.",
    seen="torch takes an empty group",
)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    return [group for group in _grouped(_trained(model), weight_decay, _by_ndim) if group["params"]]


@param_groups.wrong_answer(
    "order_of_a_set",
    why="A set (or sorting by name) loses the order of the model, by which a checkpoint finds each state again.",
    seen="by which a checkpoint finds each state again",
)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    return _grouped(sorted(_trained(model), key=lambda pair: pair[0]), weight_decay, _by_ndim)


@param_groups.wrong_answer(
    "names_returned",
    why="The groups hold names. An optimizer takes the parameters themselves (or pairs of name and parameter).",
    seen="The groups hold names",
)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    found = _grouped(_trained(model), weight_decay, _by_ndim)
    names = {id(param): name for name, param in _trained(model)}
    return [{**group, "params": [names[id(param)] for param in group["params"]]} for group in found]


@param_groups.wrong_answer(
    "from_the_state_dict",
    why="state_dict() gives detached tensors, and buffers among them: other objects than the parameters, which never "
    "have a gradient.",
    seen="which never have a gradient",
)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    return _grouped(model.state_dict().items(), weight_decay, _by_ndim)


@param_groups.wrong_answer(
    "copies_of_the_parameters",
    why="The groups hold copies (deepcopy, clone, .data). The optimizer would train those, and the model would stay as "
    "it is.",
    seen="The optimizer would train those",
)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    return _grouped(_trained(copy.deepcopy(model)), weight_decay, _by_ndim)


@param_groups.another_form("copies_of_the_parameters")
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    return _grouped([(n, p.data) for n, p in _trained(model)], weight_decay, _by_ndim)


@param_groups.wrong_answer(
    "same_if_equal",
    why="Tied weights are looked for by value. Two layers that were initialised alike are then taken for one: identity "
    "(`is`, id) tells tied weights.",
    seen="initialised alike",
)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    unique: list[Pair] = []
    for name, param in _trained(model):
        if not any(param.shape == q.shape and bool((param == q).all()) for _, q in unique):
            unique.append((name, param))
    return _grouped(unique, weight_decay, _by_ndim)


@param_groups.wrong_answer(
    "one_dimension_decays",
    why="`ndim > 0`, or `>= 1`: only scalars are spared. Biases and norm weights have one dimension.",
    seen="only scalars are spared",
)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    return _grouped(_trained(model), weight_decay, lambda name, param: param.ndim >= 1)


@param_groups.wrong_answer(
    "scalars_decay",
    why="`ndim != 1` spares vectors only; a scalar parameter (a temperature, a gate) would decay.",
    seen="spares vectors only",
)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    return _grouped(_trained(model), weight_decay, lambda name, param: param.ndim != 1)


@param_groups.wrong_answer(
    "only_matrices_decay",
    why="`ndim == 2` spares convolutions as well, whose weights have three to five dimensions.",
    seen="spares convolutions as well",
)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    return _grouped(_trained(model), weight_decay, lambda name, param: param.ndim == 2)


@param_groups.wrong_answer(
    "one_group",
    why="All parameters are in one group, so that biases and norm weights decay as the others do.",
    seen="All parameters are in one group",
)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    return [{"params": [param for _, param in _trained(model)], "weight_decay": weight_decay}]


def _lazily(model: nn.Module, weight_decay: float) -> Iterator[dict[str, Any]]:
    yield from _grouped(_trained(model), weight_decay, _by_ndim)


param_groups.wrong_answer(
    "a_generator_of_groups",
    why="The groups are yielded one by one: whoever looks at them first leaves the optimizer an empty list.",
    seen="The groups are yielded one by one",
    answer=_lazily,
)
