"""What people write for 10.repair_tied, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.pitfalls.repair_tied.exercise import LEFT, LIST, LOADS, TIED, repair_tied
from helpers.labs.pitfalls.shared.repairs import add_pitfalls

State = dict[str, Tensor]


def tie(model: Any, have: set[str]) -> None:
    if "tied_by_data" in have:
        model.head.weight.data = model.embedding.weight.data
    else:
        model.head.weight = model.embedding.weight


def params_of(model: Any, have: set[str]) -> list[nn.Parameter]:
    if "listed_twice" in have:
        return list(model.embedding.parameters()) + list(model.head.parameters())
    return list(model.parameters())


def broken(have: set[str]) -> Callable[[Any, State], list[nn.Parameter]]:
    """The text's code with some of its pitfalls."""

    def restored(model: Any, state: State) -> list[nn.Parameter]:
        params = params_of(model, have)
        if "tie_broken_by_load" in have:
            tie(model, have)
            params = params_of(model, have)
        model.load_state_dict(state, assign=True)
        if "tie_broken_by_load" not in have:
            tie(model, have)
        return params if "listed_before_load" in have else params_of(model, have)

    return restored


add_pitfalls(
    repair_tied,
    broken,
    {
        "tie_broken_by_load": (
            "Head and embedding hold two Parameters, each a tensor of the state. Perhaps they were tied before "
            "load_state_dict(assign=True), which puts one tensor under each name: tie after every load that assigns.",
            TIED,
        ),
        "tied_by_data": (
            "Head and embedding are two Parameters over one memory: each has a gradient of its own, and .double() or a copy "
            "parts them. Perhaps the tie goes through .data, a new nn.Parameter was made over the matrix, or a load assigned "
            "one tensor twice. Assign the Parameter itself.",
            TIED,
        ),
        "listed_before_load": (
            "The list holds only Parameters that the model no longer has: the optimizer would step, the loss would not "
            "move. Perhaps it was made before the load, which replaced them.",
            LIST,
        ),
        "listed_twice": (
            "The shared weight stands in the list twice: an optimizer warns, and steps it twice. Perhaps the lists of "
            "embedding and head were joined, or doubles were kept (remove_duplicate=False); model.parameters() names it once.",
            LIST,
        ),
    },
)


def loaded(model: Any, state: State) -> None:
    model.load_state_dict(state, assign=True)


@repair_tied.variant("tied_by_data")
def _(model: Any, state: State) -> list[nn.Parameter]:
    loaded(model, state)
    model.head.weight = nn.Parameter(model.embedding.weight)
    return list(model.parameters())


@repair_tied.variant("tied_by_data")
def _(model: Any, state: State) -> list[nn.Parameter]:
    model.load_state_dict(state)
    model.head.weight.data = model.embedding.weight.detach()
    return list(model.parameters())


@repair_tied.variant("tie_broken_by_load")
def _(model: Any, state: State) -> list[nn.Parameter]:
    model.load_state_dict(state, assign=True)
    return list(model.parameters())


@repair_tied.mistake(breaks=TIED)
def copied(model: Any, state: State) -> list[nn.Parameter]:
    """Head and embedding are two Parameters with memory of their own: after the first step they differ. Perhaps the
    numbers were copied, nothing was tied, or load_state_dict(assign=True) put two new Parameters in place of the tied one.
    """
    loaded(model, state)
    model.head.weight = nn.Parameter(model.embedding.weight.detach().clone())
    return list(model.parameters())


@repair_tied.variant(copied)
def _(model: Any, state: State) -> list[nn.Parameter]:
    model.load_state_dict(state)
    return list(model.parameters())


@repair_tied.mistake(breaks=LOADS)
def not_loaded(model: Any, state: State) -> list[nn.Parameter]:
    """Nothing in the model is what the state holds: training starts from noise, which a loss curve shows late.
    Perhaps the checkpoint is never read, or overwritten afterwards, or loaded into a copy of the model.
    """
    model.head.weight = model.embedding.weight
    return list(model.parameters())


@repair_tied.mistake(breaks=LOADS)
def weights_only(model: Any, state: State) -> list[nn.Parameter]:
    """The bias of the head is not what the state holds. Perhaps only the shared weight was taken from it,
    or the bias was set anew afterwards.
    """
    model.embedding.weight = nn.Parameter(state["embedding.weight"])
    model.head.weight = model.embedding.weight
    return list(model.parameters())


@repair_tied.mistake(breaks=LIST)
def bias_left_out(model: Any, state: State) -> list[nn.Parameter]:
    """The list lacks the bias of the head, so no optimizer moves it. Perhaps only the embedding's parameters are
    listed.
    """
    loaded(model, state)
    model.head.weight = model.embedding.weight
    return list(model.embedding.parameters())


@repair_tied.mistake(breaks=LIST)
def generator_returned(model: Any, state: State) -> Any:
    """A generator came back: the first reader (a count of the parameters, say) leaves nothing for the second. Perhaps
    model.parameters() without list().
    """
    loaded(model, state)
    model.head.weight = model.embedding.weight
    return model.parameters()


@repair_tied.mistake(breaks=LIST)
def names_returned(model: Any, state: State) -> Any:
    """The list holds pairs. Perhaps of named_parameters(), which gives names, too: the Parameters alone were asked
    for.
    """
    loaded(model, state)
    model.head.weight = model.embedding.weight
    return list(model.named_parameters())


@repair_tied.variant("listed_before_load")
def _(model: Any, state: State) -> list[nn.Parameter]:
    params = [model.embedding.weight, model.head.bias]
    loaded(model, state)
    model.head.weight = model.embedding.weight
    return params


@repair_tied.mistake(breaks=LIST)
def listed_before_tie(model: Any, state: State) -> list[nn.Parameter]:
    """The list holds a Parameter that the model no longer has, beside those that it has. Perhaps it was made while
    head.weight was a Parameter of its own, which the tie puts aside: list last.
    """
    params = list(model.parameters())
    model.load_state_dict(state)
    model.head.weight = model.embedding.weight
    return params


@repair_tied.mistake(breaks=LIST)
def weight_frozen(model: Any, state: State) -> list[nn.Parameter]:
    """A step of an optimizer leaves the shared weight where it is. Perhaps it does not require grad: nn.Parameter
    keeps what it is told.
    """
    loaded(model, state)
    model.head.weight = model.embedding.weight = nn.Parameter(state["head.weight"], requires_grad=False)
    return list(model.parameters())


@repair_tied.mistake(breaks=LEFT)
def name_taken_out(model: Any, state: State) -> list[nn.Parameter]:
    """A name is gone from the state, which the caller may load once more. Perhaps pop or del: take a copy of the dict
    first.
    """
    state.pop("head.weight")
    model.head.weight = model.embedding.weight
    model.load_state_dict(state, strict=False)
    return list(model.parameters())


@repair_tied.mistake(breaks=LEFT)
def state_initialised_again(model: Any, state: State) -> list[nn.Parameter]:
    """Numbers in the state have changed. Perhaps the state became the model's memory, and the model was edited
    afterwards.
    """
    loaded(model, state)
    kept = model.head.weight
    model.head.weight = model.embedding.weight
    with torch.no_grad():
        kept.zero_()
    return list(model.parameters())


@repair_tied.mistake(breaks=LEFT)
def entry_replaced(model: Any, state: State) -> list[nn.Parameter]:
    """A different tensor stands in the state: the caller's own is gone from it. Perhaps the two names were joined in
    the dict that was given, and not in the model: tie the model.
    """
    state["head.weight"] = state["embedding.weight"]
    loaded(model, state)
    model.head.weight = model.embedding.weight
    return list(model.parameters())


@repair_tied.mistake(breaks=LEFT)
def state_requires_grad(model: Any, state: State) -> list[nn.Parameter]:
    """Tensors of the state require grad after the call: an edit in place of them raises. Perhaps requires_grad_() was
    called on them: nn.Parameter makes a new tensor that requires grad, and leaves the given one.
    """
    for value in state.values():
        value.requires_grad_()
    loaded(model, state)
    model.head.weight = model.embedding.weight
    return list(model.parameters())


@repair_tied.mistake(breaks=LOADS)
def head_without_bias(model: Any, state: State) -> list[nn.Parameter]:
    """The head has no bias any more, and the one of the state is lost. Perhaps a new head stands in its place, with
    bias=False, as many tied models have.
    """
    model.load_state_dict(state)
    model.head = nn.Linear(model.embedding.embedding_dim, model.embedding.num_embeddings, bias=False)
    model.head.weight = model.embedding.weight
    return list(model.parameters())


@repair_tied.mistake(breaks=LIST)
def tensors_listed(model: Any, state: State) -> list[Any]:
    """The list holds tensors that are no Parameters: no step of an optimizer trains the model by them. Perhaps they
    come from a state_dict, which detaches what it gives.
    """
    loaded(model, state)
    model.head.weight = model.embedding.weight
    return list(model.state_dict().values())


@repair_tied.mistake(breaks=LIST)
def groups_listed(model: Any, state: State) -> list[Any]:
    """The list holds a dict. Perhaps it is a group for an optimizer, {"params": ...}: the Parameters alone were asked
    for.
    """
    loaded(model, state)
    model.head.weight = model.embedding.weight
    return [{"params": list(model.parameters())}]
