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
    """The weights of norms and of PReLU are in the group that decays. Perhaps the names decide (`endswith('bias')`), which
    also misses an LSTM's bias_ih_l0.
    """
    return _grouped(_trained(model), weight_decay, lambda name, param: not name.endswith("bias"))


@param_groups.mistake()
def by_the_word_bias(model: nn.Module, weight_decay: float) -> list[dict]:
    """The weights of norms and of PReLU are in the group that decays. Perhaps words in the name decide, such as bias: they
    find an LSTM's biases, and not these.
    """
    return _grouped(_trained(model), weight_decay, lambda name, param: "bias" not in name)


@param_groups.mistake()
def by_bias_and_norm(model: nn.Module, weight_decay: float) -> list[dict]:
    """The weights of norms and of PReLU are in the group that decays. Perhaps 'bias' or 'norm' in the name decides: in a
    Sequential a norm is called '1'.
    """
    return _grouped(
        _trained(model),
        weight_decay,
        lambda name, p: not name.endswith("bias") and "norm" not in name.lower(),
    )


@param_groups.mistake()
def by_the_ending_weight(model: nn.Module, weight_decay: float) -> list[dict]:
    """The weights of norms and of PReLU are in the group that decays. Perhaps all that is called weight does; an LSTM's
    weight_ih_l0 has a different name.
    """
    return _grouped(_trained(model), weight_decay, lambda name, param: name.endswith("weight"))


_WEIGHTED = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.ConvTranspose3d, nn.Embedding, nn.Bilinear)
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.GroupNorm, nn.LayerNorm, nn.InstanceNorm1d, nn.PReLU)


@param_groups.mistake()
def by_module_type(model: nn.Module, weight_decay: float) -> list[dict]:
    """Parameters of some layers are in no group, or in the wrong one. Perhaps only some types of modules are asked, or only
    for `weight` and `bias`. What is in no group no optimizer ever moves.
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


@param_groups.variant(by_module_type)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    """As minGPT: all biases, the weights of some norms, the weights of some layers, and nothing else."""
    norms = (nn.LayerNorm, nn.GroupNorm, nn.BatchNorm1d, nn.BatchNorm2d)
    decay, rest = {}, {}
    for module in model.modules():
        for name, param in module.named_parameters(recurse=False):
            if name.endswith("bias") or isinstance(module, norms):
                _put(rest, param)
            elif name == "weight" and isinstance(module, _WEIGHTED):
                _put(decay, param)
    return [
        {"params": list(decay.values()), "weight_decay": weight_decay},
        {"params": list(rest.values()), "weight_decay": 0.0},
    ]


def _put(into: dict[int, Tensor], param: Tensor | None) -> None:
    if param is not None and param.requires_grad:
        into[id(param)] = param


@param_groups.mistake()
def tied_twice(model: nn.Module, weight_decay: float) -> list[dict]:
    """A tied weight comes twice. Perhaps each module was asked for its own parameters, and it has two modules; or
    remove_duplicate=False was given. model.parameters() gives it once.
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
    """A parameter in a layer comes more than once. Perhaps every module of model.modules() was asked for everything below
    it: then it comes once for each level.
    """
    pairs = [pair for module in model.modules() for pair in _trained(module)]
    return _grouped(pairs, weight_decay, _by_ndim)


@param_groups.mistake()
def top_level_only(model: nn.Module, weight_decay: float) -> list[dict]:
    """Both groups are empty. Perhaps only the model's own parameters were asked (recurse=False); those of its layers are in
    no group.
    """
    pairs = [(n, p) for n, p in model.named_parameters(recurse=False) if p.requires_grad]
    return _grouped(pairs, weight_decay, _by_ndim)


@param_groups.mistake()
def frozen_kept(model: nn.Module, weight_decay: float) -> list[dict]:
    """Frozen parameters are in the groups: only those that require grad belong there."""
    return _grouped(model.named_parameters(), weight_decay, _by_ndim)


@param_groups.variant(frozen_kept)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    """As those that do not decay."""
    return _grouped(
        model.named_parameters(), weight_decay, lambda name, param: param.requires_grad and param.ndim >= 2
    )


@param_groups.mistake()
def generator_used_up(model: nn.Module, weight_decay: float) -> list[dict]:
    """The second group is empty: the biases are in none. Perhaps two comprehensions read one generator, and the first one
    emptied it: make a list first.
    """
    params = (param for param in model.parameters() if param.requires_grad)
    return [
        {"params": [param for param in params if param.ndim >= 2], "weight_decay": weight_decay},
        {"params": [param for param in params if param.ndim < 2], "weight_decay": 0.0},
    ]


@param_groups.mistake()
def generators_in_the_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """The groups hold generator expressions or filter objects. The first reader, who prints or counts them, leaves
    nothing for the optimizer.
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
    """No group has the key weight_decay. Perhaps it is misspelt (`decay`, `weight_dacay`): every optimizer takes such a key
    without a word, and it does nothing.
    """
    decay, rest = _grouped(_trained(model), weight_decay, _by_ndim)
    return [{"params": decay["params"], "decay": weight_decay}, {"params": rest["params"], "decay": 0.0}]


@param_groups.mistake()
def groups_exchanged(model: nn.Module, weight_decay: float) -> list[dict]:
    """The weights are in the second group and the biases in the first one: those that decay come first."""
    return _grouped(_trained(model), weight_decay, _by_ndim)[::-1]


@param_groups.mistake(breaks="There are always two groups, also when one of them is empty.")
def empty_group_left_out(model: nn.Module, weight_decay: float) -> list[dict]:
    """Where the second group is empty, it is missing. Perhaps a group without parameters is left out, the first one, too:
    torch takes an empty group.
    """
    return [group for group in _grouped(_trained(model), weight_decay, _by_ndim) if group["params"]]


@param_groups.mistake()
def order_of_a_set(model: nn.Module, weight_decay: float) -> list[dict]:
    """The parameters stand in a different order than the model's, perhaps that of their names, or of a set. By the
    model's order a checkpoint finds each state again.
    """
    return _grouped(sorted(_trained(model), key=lambda pair: pair[0]), weight_decay, _by_ndim)


@param_groups.mistake()
def names_returned(model: nn.Module, weight_decay: float) -> list[dict]:
    """The groups hold texts, perhaps names. The parameters themselves were asked for."""
    found = _grouped(_trained(model), weight_decay, _by_ndim)
    names = {id(param): name for name, param in _trained(model)}
    return [{**group, "params": [names[id(param)] for param in group["params"]]} for group in found]


@param_groups.mistake()
def from_the_state_dict(model: nn.Module, weight_decay: float) -> list[dict]:
    """The groups hold tensors that are no parameters of the model, perhaps from state_dict(): detached, and with buffers
    among them. They never have a gradient.
    """
    return _grouped(model.state_dict().items(), weight_decay, _by_ndim)


@param_groups.mistake()
def copies_of_the_parameters(model: nn.Module, weight_decay: float) -> list[dict]:
    """The groups hold tensors that are no parameters of the model, perhaps copies (deepcopy, clone, .data). The optimizer
    would train those, and the model would stay as it is.
    """
    return _grouped(_trained(copy.deepcopy(model)), weight_decay, _by_ndim)


@param_groups.variant(copies_of_the_parameters)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    return _grouped([(n, p.data) for n, p in _trained(model)], weight_decay, _by_ndim)


@param_groups.mistake()
def same_if_equal(model: nn.Module, weight_decay: float) -> list[dict]:
    """Some parameters are in no group, and each of them equals one that is in a group. Perhaps tied weights are looked for by value: identity (`is`,
    id) tells them.
    """
    unique: list[Pair] = []
    for name, param in _trained(model):
        if not any(param.shape == q.shape and bool((param == q).all()) for _, q in unique):
            unique.append((name, param))
    return _grouped(unique, weight_decay, _by_ndim)


@param_groups.mistake()
def one_dimension_decays(model: nn.Module, weight_decay: float) -> list[dict]:
    """The biases are in the group that decays. Perhaps `ndim >= 1` was asked: a bias has one dimension."""
    return _grouped(_trained(model), weight_decay, lambda name, param: param.ndim >= 1)


@param_groups.mistake()
def scalars_decay(model: nn.Module, weight_decay: float) -> list[dict]:
    """A scalar parameter is in the group that decays. Perhaps `ndim != 1` was asked: it has no dimension, fewer than two."""
    return _grouped(_trained(model), weight_decay, lambda name, param: param.ndim != 1)


@param_groups.mistake()
def only_matrices_decay(model: nn.Module, weight_decay: float) -> list[dict]:
    """The weights of convolutions do not decay. Perhaps `ndim == 2` was asked: theirs have three to five dimensions."""
    return _grouped(_trained(model), weight_decay, lambda name, param: param.ndim == 2)


@param_groups.mistake()
def one_group(model: nn.Module, weight_decay: float) -> list[dict]:
    """There is one group with all parameters. Two were asked for, so that biases and norm weights do not decay."""
    return [{"params": [param for _, param in _trained(model)], "weight_decay": weight_decay}]


def _lazily(model: nn.Module, weight_decay: float) -> Iterator[dict[str, Any]]:
    yield from _grouped(_trained(model), weight_decay, _by_ndim)


@built.mistake()
def a_generator_of_groups():
    """The groups came in a generator: whoever looks at them first leaves the optimizer an empty list."""
    return _lazily


SPLIT = "Parameters of two dimensions or more are in the first group"
ZERO = "with this weight_decay; the others are in the second, with 0.0."


def _plain(model: nn.Module, weight_decay: float) -> list[dict]:
    return _grouped(_trained(model), weight_decay, _by_ndim)


@param_groups.mistake(breaks=SPLIT)
def sides_of_one_dropped(model: nn.Module, weight_decay: float) -> list[dict]:
    """A matrix with one row does not decay. Perhaps the entries were counted, or squeeze() came first: such
    a matrix has two dimensions.
    """
    return _grouped(_trained(model), weight_decay, lambda name, param: param.squeeze().ndim >= 2)


@param_groups.variant(sides_of_one_dropped)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    return _grouped(
        _trained(model), weight_decay, lambda name, param: param.numel() > max(param.shape, default=1)
    )


@param_groups.mistake(breaks=ZERO)
def zero_taken_for_not_given(model: nn.Module, weight_decay: float) -> list[dict]:
    """A weight_decay of 0 was replaced by a different one. Perhaps by `weight_decay or ...`: 0 is a value as well."""
    return _plain(model, weight_decay or 0.01)


@param_groups.mistake(breaks=ZERO)
def decay_written_out(model: nn.Module, weight_decay: float) -> list[dict]:
    """The first group has the weight decay 0.01, and a different one was asked for. Perhaps the number stands in the code, and
    the argument is not read.
    """
    return _plain(model, 0.01)


@param_groups.mistake(breaks=ZERO)
def decays_exchanged(model: nn.Module, weight_decay: float) -> list[dict]:
    """The first group has 0 and the second one the weight decay: it is the other way round."""
    first, second = _plain(model, weight_decay)
    return [first | {"weight_decay": 0.0}, second | {"weight_decay": weight_decay}]


@param_groups.mistake(breaks=ZERO)
def both_decay(model: nn.Module, weight_decay: float) -> list[dict]:
    """Both groups have the weight decay: biases and norms decay as well."""
    return [group | {"weight_decay": weight_decay} for group in _plain(model, weight_decay)]


@param_groups.mistake(breaks=ZERO)
def none_for_zero(model: nn.Module, weight_decay: float) -> list[dict]:
    """The second group has None for its weight decay. An optimizer computes with it: write 0.0."""
    first, second = _plain(model, weight_decay)
    return [first, second | {"weight_decay": None}]


@param_groups.mistake(breaks='Each group is a dict with the keys "params"')
def further_options(model: nn.Module, weight_decay: float) -> list[dict]:
    """The groups set an option that was not asked for: the one that the optimizer is given for all is lost there."""
    return [group | {"lr": 1e-3} for group in _plain(model, weight_decay)]


@param_groups.mistake(breaks="Two groups for an optimizer, those that decay first.")
def tuple_of_groups(model: nn.Module, weight_decay: float) -> tuple[dict, ...]:
    """The groups came in a tuple, and a list was asked for."""
    return tuple(_plain(model, weight_decay))


@param_groups.mistake(breaks="Two groups for an optimizer, those that decay first.")
def named_groups(model: nn.Module, weight_decay: float) -> dict[str, Any]:
    """The groups came in a dict, under names. An optimizer wants a list: it would take the names for parameters."""
    first, second = _plain(model, weight_decay)
    return {"decay": first, "no_decay": second}


@param_groups.mistake(breaks="There are always two groups")
def a_group_for_scalars(model: nn.Module, weight_decay: float) -> list[dict]:
    """There are three groups, one of them empty: there are always two."""
    return [*_plain(model, weight_decay), {"params": [], "weight_decay": 0.0}]


@param_groups.mistake(breaks="a list of the model's own Parameter objects")
def pairs_in_the_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """The groups hold tuples, perhaps pairs of name and parameter, as named_parameters() gives them. Take the parameter
    alone.
    """
    found = _plain(model, weight_decay)
    names = {id(param): name for name, param in _trained(model)}
    return [group | {"params": [(names[id(param)], param) for param in group["params"]]} for group in found]


@param_groups.mistake(breaks=SPLIT)
def from_three_dimensions_on(model: nn.Module, weight_decay: float) -> list[dict]:
    """The matrices of the Linear layers are in the second group. Perhaps > 2 was written for >= 2."""
    return _grouped(_trained(model), weight_decay, lambda name, param: param.ndim > 2)


@param_groups.mistake(breaks="Only those that require grad")
def only_those_with_a_gradient(model: nn.Module, weight_decay: float) -> list[dict]:
    """In a model that has had no backward both groups are empty. Perhaps .grad was asked, and not requires_grad."""
    pairs = [pair for pair in _trained(model) if pair[1].grad is not None]
    return _grouped(pairs, weight_decay, _by_ndim)


@param_groups.mistake(breaks="Only those that require grad")
def children_only(model: nn.Module, weight_decay: float) -> list[dict]:
    """A model without layers in it, such as an LSTM, gives empty groups. Perhaps only children() were asked: the model has
    parameters of its own.
    """
    pairs = [pair for child in model.children() for pair in _trained(child)]
    return _grouped(pairs, weight_decay, _by_ndim)


@param_groups.variant(children_only)
def _(model: nn.Module, weight_decay: float) -> list[dict]:
    """Each once."""
    unique = {id(param): (name, param) for child in model.children() for name, param in _trained(child)}
    return _grouped(unique.values(), weight_decay, _by_ndim)


@param_groups.mistake(breaks=SPLIT)
def embeddings_spared(model: nn.Module, weight_decay: float) -> list[dict]:
    """The Embedding's weight does not decay. It has two dimensions, and they decide."""
    spared = {id(layer.weight) for layer in model.modules() if isinstance(layer, nn.Embedding)}
    return _grouped(
        _trained(model), weight_decay, lambda name, param: param.ndim >= 2 and id(param) not in spared
    )


@param_groups.mistake(breaks="The model is left as it is")
def vectors_frozen(model: nn.Module, weight_decay: float) -> list[dict]:
    """Making the groups changed parameters of the model, or whether they require grad. What does not decay is trained all the same."""
    groups = _plain(model, weight_decay)
    for param in groups[1]["params"]:
        param.requires_grad_(False)
    return groups


@param_groups.mistake(breaks="The model is left as it is")
def gradients_cleared(model: nn.Module, weight_decay: float) -> list[dict]:
    """The gradients of the model are gone, perhaps by zero_grad(): to make groups is not to begin a step."""
    model.zero_grad()
    return _grouped(_trained(model), weight_decay, _by_ndim)


@param_groups.mistake(breaks="The model is left as it is")
def mode_changed(model: nn.Module, weight_decay: float) -> list[dict]:
    """The model is in a different mode than before, perhaps by eval(): groups are made from its parameters, in any mode."""
    model.eval()
    return _grouped(_trained(model), weight_decay, _by_ndim)


@param_groups.mistake(breaks="a second call gives the same groups.")
def groups_kept_for_the_model(model: nn.Module, weight_decay: float) -> list[dict]:
    """A second call for the same model, with a different weight_decay, gave the decays of the first. Perhaps the groups are kept in a
    table by model, or on it.
    """
    if not hasattr(model, "_groups_of"):
        object.__setattr__(model, "_groups_of", _grouped(_trained(model), weight_decay, _by_ndim))
    return model._groups_of


@param_groups.mistake(breaks="a second call gives the same groups.")
def noted_on_the_parameters(model: nn.Module, weight_decay: float) -> list[dict]:
    """A second call for the same model gives empty groups. Perhaps what was seen is noted on the parameters, or in a set that
    outlives the call.
    """
    new = [(name, param) for name, param in _trained(model) if not hasattr(param, "_grouped")]
    for _, param in new:
        param._grouped = True
    return _grouped(new, weight_decay, _by_ndim)
