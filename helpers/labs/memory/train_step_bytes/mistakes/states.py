"""What people write for 14.train_step_bytes, and why it is wrong: gradients and the state of the optimizer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from helpers.labs.memory.train_step_bytes.exercise import train_step_bytes
from helpers.labs.memory.train_step_bytes.right import (
    gradients_of,
    memory_of,
    shown,
    states_of,
    stepped,
    total,
    whole,
)
from helpers.labs.memory.train_step_bytes.words import ENDS, GRADIENTS, OPTIMIZER, WHOLE, WITHIN

# Gradients and states.


@train_step_bytes.mistake(breaks=GRADIENTS)
def gradients_like_parameters(*args: Any) -> Any:
    """ "gradients" has the bytes of parameters that got no gradient in this backward. Frozen ones, and those that the loss does
    not reach, have none.
    """
    return stepped(*args, gradients=lambda model, optimizer: total(model.parameters()))


@train_step_bytes.variant(gradients_like_parameters)
def _(*args: Any) -> Any:
    return stepped(
        *args,
        gradients=lambda model, optimizer: shown(each for each in model.parameters() if each.requires_grad),
    )


@train_step_bytes.mistake(breaks=GRADIENTS)
def gradients_of_the_optimizer(model: nn.Module, optimizer: Any, *args: Any) -> Any:
    """Gradients of parameters that the optimizer does not have are left out of "gradients". The backward makes them all the
    same.
    """
    own = [each for group in optimizer.param_groups for each in group["params"]]
    return stepped(
        model,
        optimizer,
        *args,
        gradients=lambda model, optimizer: total(each.grad for each in own if each.grad is not None),
    )


@train_step_bytes.mistake(breaks=WITHIN)
def gradients_as_they_show(*args: Any) -> Any:
    """ "gradients" holds the bytes that the gradients show. Some are parts of one memory, which counts once, whole."""
    return stepped(*args, gradients=lambda model, optimizer: shown(gradients_of(model, optimizer)))


@train_step_bytes.mistake(breaks=GRADIENTS)
def gradients_not_there(*args: Any) -> Any:
    """ "gradients" is 0. They are there from the backward on, until they are set to None: perhaps they were counted before or
    after that.
    """
    return stepped(*args, gradients=lambda model, optimizer: 0)


@train_step_bytes.mistake(breaks=GRADIENTS)
def gradients_after_the_step(*args: Any) -> Any:
    """ "gradients" holds what the parameters have after the optimizer's step. That may have put others in their place, or let
    them go: perhaps they were counted when the step had been made.
    """
    late: list[int] = []
    found = stepped(
        *args,
        at_the_end=lambda model, optimizer: late.append(total(gradients_of(model, optimizer))),
    )
    return found | {"gradients": late[0]}


@train_step_bytes.mistake(breaks=OPTIMIZER)
def state_before_the_step(model: nn.Module, optimizer: Any, *args: Any) -> Any:
    """The optimizer's state is counted as 0 at its first step. An optimizer makes it in its first step, not before: perhaps it
    was counted too early, or never.
    """
    now = total(states_of(optimizer))
    return stepped(model, optimizer, *args, states=lambda optimizer: now)


@train_step_bytes.mistake(breaks=OPTIMIZER)
def state_at_the_top(*args: Any) -> Any:
    """Tensors in lists, dicts or tuples of the optimizer's state are left out. LBFGS, for one, has its history in lists: what
    lies deeper takes memory, too.
    """

    def top(optimizer: Any) -> Iterable[Tensor]:
        entries = [each for each in optimizer.state.values() if isinstance(each, dict)]
        return [each for entry in entries for each in entry.values() if isinstance(each, Tensor)]

    return stepped(*args, states=lambda optimizer: total(top(optimizer)))


@train_step_bytes.variant(state_at_the_top)
def _(*args: Any) -> Any:
    def top(optimizer: Any) -> Iterable[Tensor]:
        entries = [each if isinstance(each, dict) else {"": each} for each in optimizer.state.values()]
        return [each for entry in entries for each in entry.values() if isinstance(each, Tensor)]

    return stepped(*args, states=lambda optimizer: total(top(optimizer)))


@train_step_bytes.mistake(breaks=OPTIMIZER)
def plain_dicts_only(*args: Any) -> Any:
    """Tensors are left out that lie in an OrderedDict or in a defaultdict. These are dicts, too: perhaps it was asked whether
    `type(value) is dict`, and `isinstance(value, dict)` says yes to them.
    """
    return stepped(
        *args, states=lambda optimizer: total(_in_plain(list(optimizer.state.values()), (list, tuple)))
    )


@train_step_bytes.variant(plain_dicts_only)
def _(*args: Any) -> Any:
    return stepped(*args, states=lambda optimizer: total(_in_plain(list(optimizer.state.values()), ())))


@train_step_bytes.mistake(breaks=OPTIMIZER)
def deques_passed_over(*args: Any) -> Any:
    """Tensors are left out that lie in a deque. It is no list: perhaps the state was searched with
    `isinstance(value, (list, tuple))`.
    """
    return stepped(
        *args, states=lambda optimizer: total(_in_plain(list(optimizer.state.values()), (dict, list, tuple)))
    )


def _in_plain(value: Any, kinds: tuple[type, ...]) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif type(value) in (dict, list, tuple) or isinstance(value, kinds):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _in_plain(each, kinds)


@train_step_bytes.mistake(breaks=OPTIMIZER)
def every_entry_a_dict(*args: Any) -> Any:
    """An entry of the optimizer's state is taken for a dict, and it is a tensor. (`values()` of a tensor is for sparse ones:
    hence torch's words.) An optimizer may keep a tensor there under a text, for all parameters.
    """
    return stepped(
        *args,
        states=lambda optimizer: total(
            each for entry in optimizer.state.values() for each in entry.values() if isinstance(each, Tensor)
        ),
    )


@train_step_bytes.variant(every_entry_a_dict)
def _(*args: Any) -> Any:
    return stepped(
        *args,
        states=lambda optimizer: total(
            each for entry in optimizer.state.values() for _, each in entry.items() if torch.is_tensor(each)
        ),
    )


@train_step_bytes.mistake(breaks=OPTIMIZER)
def state_of_parameters_only(*args: Any) -> Any:
    """What the optimizer's state holds under a key that is no parameter is left out. An optimizer may keep there what all
    parameters share: perhaps the state was asked for each parameter.
    """

    def states(optimizer: Any) -> int:
        own = [optimizer.state.get(each) for group in optimizer.param_groups for each in group["params"]]
        return total(each for each in tree_leaves(own) if isinstance(each, Tensor))

    return stepped(*args, states=states)


@train_step_bytes.mistake(breaks=ENDS)
def empty_entries(model: nn.Module, *args: Any) -> Any:
    """The optimizer's state has more entries than after the plain step: `optimizer.state[parameter]` makes an empty one where
    there is none. With an entry of a parameter that it does not have, `optimizer.state_dict()` raises.
    """

    def states(optimizer: Any) -> int:
        for each in model.parameters():
            optimizer.state[each]
        return total(states_of(optimizer))

    return stepped(model, *args, states=states)


@train_step_bytes.variant(empty_entries)
def _(model: nn.Module, *args: Any) -> Any:
    def states(optimizer: Any) -> int:
        own = [optimizer.state[each] for each in model.parameters()]
        return total(each for each in tree_leaves(own) if isinstance(each, Tensor))

    return stepped(model, *args, states=states)


@train_step_bytes.mistake(breaks=OPTIMIZER)
def state_without_steps(*args: Any) -> Any:
    """Adam's `step` is left out: a tensor with one number for each parameter. Little, and asked for, with all tensors of the
    state.
    """
    return stepped(*args, states=lambda optimizer: total(each for each in states_of(optimizer) if each.dim()))


@train_step_bytes.mistake(breaks=OPTIMIZER)
def all_of_the_state_dict(*args: Any) -> Any:
    """A learning rate that is a tensor is counted in "optimizer". It lies in the param groups, and not in
    `optimizer.state`: perhaps all of `state_dict()` was added up, which has both.
    """
    return stepped(
        *args,
        states=lambda optimizer: total(
            each for each in tree_leaves(optimizer.state_dict()) if isinstance(each, Tensor)
        ),
    )


@train_step_bytes.mistake(breaks=OPTIMIZER)
def twice_the_parameters(*args: Any) -> Any:
    """ "optimizer" is twice the parameters, whatever the optimizer has. That is Adam without its steps; the state itself says
    what is there.
    """
    return stepped(
        *args, states=lambda optimizer: 2 * total(p for g in optimizer.param_groups for p in g["params"])
    )


@train_step_bytes.mistake(breaks=OPTIMIZER)
def first_group_only(*args: Any) -> Any:
    """ "optimizer" holds the states of one group of parameters alone. An optimizer may have several groups."""
    return stepped(
        *args,
        states=lambda optimizer: total(
            value
            for each in optimizer.param_groups[0]["params"]
            for value in optimizer.state.get(each, {}).values()
            if isinstance(value, Tensor)
        ),
    )


@train_step_bytes.mistake(breaks=WHOLE)
def states_as_they_show(*args: Any) -> Any:
    """ "optimizer" holds the bytes that the states show. Some are parts of one memory, which counts once, whole."""
    return stepped(*args, states=lambda optimizer: shown(states_of(optimizer)))


@train_step_bytes.mistake(breaks="returns the bytes that each kind of memory takes.")
def four_bytes_each(*args: Any) -> Any:
    """Each number is taken for 4 bytes. That is float32: bfloat16 has 2, float64 and int64 have 8."""

    def fours(tensors: Iterable[Tensor]) -> int:
        return sum({memory_of(each): whole(each) // each.element_size() * 4 for each in tensors}.values())

    return stepped(
        *args,
        parameters=lambda model: fours(model.parameters()),
        gradients=lambda model, optimizer: fours(gradients_of(model, optimizer)),
        states=lambda optimizer: fours(states_of(optimizer)),
    )
