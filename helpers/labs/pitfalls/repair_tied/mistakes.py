"""What people write for 10.repair_tied, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from helpers.labs.pitfalls.repair_tied.exercise import repair_tied
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
            "load_state_dict(assign=True) puts the tensors of the state into the model, one for each name. Two names, two "
            "Parameters: tie again after every load that assigns."
        ),
        "tied_by_data": (
            ".data shares the numbers of this moment between two Parameters. An optimizer keeps two states for them, and "
            "whatever replaces the data (.double(), .to(), deepcopy) ends it. Assign the Parameter itself."
        ),
        "listed_before_load": (
            "The Parameters in the list are those from before the load, which replaced them. The optimizer would step, "
            "the loss would not move."
        ),
        "listed_twice": (
            "embedding.parameters() and head.parameters() both name the shared weight; model.parameters() names it once. "
            "An optimizer that gets it twice warns, and steps it twice."
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


@repair_tied.mistake()
def copied(model: Any, state: State) -> list[nn.Parameter]:
    """Two weights with equal numbers are no tie: they get different gradients, and after the first step they
    differ.
    """
    loaded(model, state)
    model.head.weight = nn.Parameter(model.embedding.weight.detach().clone())
    return list(model.parameters())


@repair_tied.variant(copied)
def _(model: Any, state: State) -> list[nn.Parameter]:
    model.load_state_dict(state)
    return list(model.parameters())


@repair_tied.mistake()
def not_loaded(model: Any, state: State) -> list[nn.Parameter]:
    """The weights are tied, and the checkpoint was never read: training starts from noise, which a loss curve
    shows late.
    """
    model.head.weight = model.embedding.weight
    return list(model.parameters())


@repair_tied.mistake()
def weights_only(model: Any, state: State) -> list[nn.Parameter]:
    """Only the shared weight was taken from the state. The head has a bias, too."""
    model.embedding.weight = nn.Parameter(state["embedding.weight"])
    model.head.weight = model.embedding.weight
    return list(model.parameters())


@repair_tied.mistake()
def bias_left_out(model: Any, state: State) -> list[nn.Parameter]:
    """The head shares its weight and still has a bias of its own, which the optimizer has to know."""
    loaded(model, state)
    model.head.weight = model.embedding.weight
    return list(model.embedding.parameters())


@repair_tied.mistake()
def generator_returned(model: Any, state: State) -> Any:
    """model.parameters() is a generator: the first reader (a count of the parameters, say) leaves nothing for
    the second.
    """
    loaded(model, state)
    model.head.weight = model.embedding.weight
    return model.parameters()


@repair_tied.mistake()
def names_returned(model: Any, state: State) -> Any:
    """named_parameters() gives pairs of name and Parameter; what was asked for are the Parameters alone."""
    loaded(model, state)
    model.head.weight = model.embedding.weight
    return list(model.named_parameters())


@repair_tied.variant("listed_before_load")
def _(model: Any, state: State) -> list[nn.Parameter]:
    params = [model.embedding.weight, model.head.bias]
    loaded(model, state)
    model.head.weight = model.embedding.weight
    return params


@repair_tied.mistake()
def listed_before_tie(model: Any, state: State) -> list[nn.Parameter]:
    """The list was made while head.weight was a Parameter of its own. The tie puts that one aside, and the
    optimizer keeps it: list last.
    """
    params = list(model.parameters())
    model.load_state_dict(state)
    model.head.weight = model.embedding.weight
    return params
