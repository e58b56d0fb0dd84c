"""What people write for 04.param_groups, and why it is wrong."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from torch import Tensor, nn

from helpers.check.spec import returned
from helpers.labs.optim.param_groups.exercise import param_groups

built = param_groups.bank(returned)

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


@param_groups.mistake()
def by_the_ending_bias(model: nn.Module, weight_decay: float) -> list[dict]:
    """`name.endswith('bias')` misses an LSTM's bias_ih_l0, and lets norm and PReLU weights decay."""
    return _grouped(_trained(model), weight_decay, lambda name, param: not name.endswith("bias"))


@param_groups.mistake()
def by_the_word_bias(model: nn.Module, weight_decay: float) -> list[dict]:
    """`'bias' in name` finds an LSTM's biases, and still lets norm and PReLU weights decay."""
    return _grouped(_trained(model), weight_decay, lambda name, param: "bias" not in name)


@param_groups.mistake()
def by_bias_and_norm(model: nn.Module, weight_decay: float) -> list[dict]:
    """'bias' or 'norm' in the name: in a Sequential a norm is called '1', and PReLU's weight is called
    weight.
    """
    return _grouped(
        _trained(model),
        weight_decay,
        lambda name, p: not name.endswith("bias") and "norm" not in name.lower(),
    )


@param_groups.mistake()
def by_the_ending_weight(model: nn.Module, weight_decay: float) -> list[dict]:
    """Only what is called weight decays. A bare parameter and an LSTM's weight_ih_l0 have other names, and a
    norm's weight has that name, too.
    """
    return _grouped(_trained(model), weight_decay, lambda name, param: name.endswith("weight"))


_WEIGHTED = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.ConvTranspose3d, nn.Embedding, nn.Bilinear)
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.GroupNorm, nn.LayerNorm, nn.InstanceNorm1d, nn.PReLU)


@param_groups.mistake()
def by_module_type(model: nn.Module, weight_decay: float) -> list[dict]:
    """Only known module types are asked for their weight and bias: a parameter of an own module, an LSTM's,
    one in a ParameterList is in no group, and no optimizer ever moves it.
    """
    pairs = [
        (name, param)
        for module in model.modules()
        if isinstance(module, _WEIGHTED + _NORMS)
        for name, param in module.named_parameters(recurse=False)
        if param.requires_grad
    ]
    unique = list({id(param): (name, param) for name, param in pairs}.values())
    return _grouped(unique, weight_decay, _by_ndim)


@param_groups.variant(by_module_type)
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


@param_groups.mistake()
def tied_twice(model: nn.Module, weight_decay: float) -> list[dict]:
    """Each module is asked for its own parameters, and a tied weight has two modules: it comes twice.
    model.parameters() gives it once.
    """
    pairs = [
        (name, param)
        for module in model.modules()
        for name, param in module.named_parameters(recurse=False)
        if param.requires_grad
    ]
    return _grouped(pairs, weight_decay, _by_ndim)


@param_groups.variant(tied_twice)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    pairs = [(n, p) for n, p in model.named_parameters(remove_duplicate=False) if p.requires_grad]
    return _grouped(pairs, weight_decay, _by_ndim)


@param_groups.mistake()
def every_level_again(model: nn.Module, weight_decay: float) -> list[dict]:
    """model.modules() gives every level, and module.parameters() everything below it: a nested parameter
    comes once for each level.
    """
    pairs = [pair for module in model.modules() for pair in _trained(module)]
    return _grouped(pairs, weight_decay, _by_ndim)


@param_groups.mistake()
def top_level_only(model: nn.Module, weight_decay: float) -> list[dict]:
    """recurse=False looks at the model's own parameters only; those of its layers are in no group."""
    pairs = [(n, p) for n, p in model.named_parameters(recurse=False) if p.requires_grad]
    return _grouped(pairs, weight_decay, _by_ndim)


@param_groups.mistake()
def frozen_kept(model: nn.Module, weight_decay: float) -> list[dict]:
    """Frozen parameters are in the groups: the optimizer carries them along, and what is unfrozen later and
    was meant for another group is there already.
    """
    return _grouped(model.named_parameters(), weight_decay, _by_ndim)


@param_groups.mistake()
def generator_used_up(model: nn.Module, weight_decay: float) -> list[dict]:
    """Two comprehensions read one generator: the first one empties it, and the second group stays empty. Make
    a list first.
    """
    params = (param for param in model.parameters() if param.requires_grad)
    return [
        {"params": [param for param in params if param.ndim >= 2], "weight_decay": weight_decay},
        {"params": [param for param in params if param.ndim < 2], "weight_decay": 0.0},
    ]


@param_groups.mistake()
def generators_in_the_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """The groups hold generator expressions (or filter objects). The first reader, who prints or counts them,
    leaves nothing for the optimizer.
    """
    return [
        {"params": (p for _, p in _trained(model) if p.ndim >= 2), "weight_decay": weight_decay},
        {"params": (p for _, p in _trained(model) if p.ndim < 2), "weight_decay": 0.0},
    ]


@param_groups.variant(generators_in_the_groups)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    params = [p for _, p in _trained(model)]
    return [
        {"params": filter(lambda p: p.ndim >= 2, params), "weight_decay": weight_decay},
        {"params": filter(lambda p: p.ndim < 2, params), "weight_decay": 0.0},
    ]


@param_groups.mistake()
def zero_left_out(model: nn.Module, weight_decay: float) -> list[dict]:
    """The second group has no weight_decay of its own, and gets the optimizer's default: with AdamW that is
    0.01, not 0.
    """
    decay, rest = _grouped(_trained(model), weight_decay, _by_ndim)
    return [decay, {"params": rest["params"]}]


@param_groups.mistake()
def key_misspelt(model: nn.Module, weight_decay: float) -> list[dict]:
    """A misspelt key (`decay`, `weight_dacay`) is taken by every optimizer without a word, and does nothing."""
    decay, rest = _grouped(_trained(model), weight_decay, _by_ndim)
    return [{"params": decay["params"], "decay": weight_decay}, {"params": rest["params"], "decay": 0.0}]


@param_groups.mistake()
def groups_exchanged(model: nn.Module, weight_decay: float) -> list[dict]:
    """The group that does not decay comes first. The order is part of the contract: decay first."""
    return _grouped(_trained(model), weight_decay, _by_ndim)[::-1]


@param_groups.mistake()
def empty_group_left_out(model: nn.Module, weight_decay: float) -> list[dict]:
    """An empty group is left out, so that the number of groups depends on the model, and `param_groups[1]` is
    there or not. torch takes an empty group.
    """
    return [group for group in _grouped(_trained(model), weight_decay, _by_ndim) if group["params"]]


@param_groups.mistake()
def order_of_a_set(model: nn.Module, weight_decay: float) -> list[dict]:
    """A set (or sorting by name) loses the order of the model, by which a checkpoint finds each state again."""
    return _grouped(sorted(_trained(model), key=lambda pair: pair[0]), weight_decay, _by_ndim)


@param_groups.mistake()
def names_returned(model: nn.Module, weight_decay: float) -> list[dict]:
    """The groups hold names. An optimizer takes the parameters themselves (or pairs of name and parameter)."""
    found = _grouped(_trained(model), weight_decay, _by_ndim)
    names = {id(param): name for name, param in _trained(model)}
    return [{**group, "params": [names[id(param)] for param in group["params"]]} for group in found]


@param_groups.mistake()
def from_the_state_dict(model: nn.Module, weight_decay: float) -> list[dict]:
    """state_dict() gives detached tensors, and buffers among them: other objects than the parameters, which
    never have a gradient.
    """
    return _grouped(model.state_dict().items(), weight_decay, _by_ndim)


@param_groups.mistake()
def copies_of_the_parameters(model: nn.Module, weight_decay: float) -> list[dict]:
    """The groups hold copies (deepcopy, clone, .data). The optimizer would train those, and the model would
    stay as it is.
    """
    return _grouped(_trained(copy.deepcopy(model)), weight_decay, _by_ndim)


@param_groups.variant(copies_of_the_parameters)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    return _grouped([(n, p.data) for n, p in _trained(model)], weight_decay, _by_ndim)


@param_groups.mistake()
def same_if_equal(model: nn.Module, weight_decay: float) -> list[dict]:
    """Tied weights are looked for by value. Two layers that were initialised alike are then taken for one:
    identity (`is`, id) tells tied weights.
    """
    unique: list[Pair] = []
    for name, param in _trained(model):
        if not any(param.shape == q.shape and bool((param == q).all()) for _, q in unique):
            unique.append((name, param))
    return _grouped(unique, weight_decay, _by_ndim)


@param_groups.mistake()
def one_dimension_decays(model: nn.Module, weight_decay: float) -> list[dict]:
    """`ndim > 0`, or `>= 1`: only scalars are spared. Biases and norm weights have one dimension."""
    return _grouped(_trained(model), weight_decay, lambda name, param: param.ndim >= 1)


@param_groups.mistake()
def scalars_decay(model: nn.Module, weight_decay: float) -> list[dict]:
    """`ndim != 1` spares vectors only; a scalar parameter (a temperature, a gate) would decay."""
    return _grouped(_trained(model), weight_decay, lambda name, param: param.ndim != 1)


@param_groups.mistake()
def only_matrices_decay(model: nn.Module, weight_decay: float) -> list[dict]:
    """`ndim == 2` spares convolutions as well, whose weights have three to five dimensions."""
    return _grouped(_trained(model), weight_decay, lambda name, param: param.ndim == 2)


@param_groups.mistake()
def one_group(model: nn.Module, weight_decay: float) -> list[dict]:
    """All parameters are in one group, so that biases and norm weights decay as the others do."""
    return [{"params": [param for _, param in _trained(model)], "weight_decay": weight_decay}]


def _lazily(model: nn.Module, weight_decay: float) -> Iterator[dict[str, Any]]:
    yield from _grouped(_trained(model), weight_decay, _by_ndim)


@built.mistake()
def a_generator_of_groups():
    """The groups are yielded one by one: whoever looks at them first leaves the optimizer an empty list."""
    return _lazily
