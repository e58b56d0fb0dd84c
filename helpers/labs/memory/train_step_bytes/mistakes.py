"""What people write for 14.train_step_bytes, and why it is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from helpers.labs.memory.train_step_bytes.exercise import train_step_bytes
from helpers.labs.memory.train_step_bytes.right import (
    Counted,
    all_before,
    gradients_of,
    memory_of,
    states_of,
    stepped,
    total,
    whole,
)

NONE = "the gradients of all the model's parameters are set to None"
ONCE_EACH = "The model, the loss, the backward and the optimizer run once each."
ENDS = "The weights end where the plain step takes them."
MODEL = '"parameters" and "buffers": those of the model.'
BATCH = '"batch": x and y.'
SAVED = '"saved": what the forward of model and loss keeps for the backward'
NOTHING_OF = "nothing of the parameters, the buffers and the batch."
GRADIENTS = '"gradients": of the model\'s parameters, as they are when the backward has ended.'
OPTIMIZER = '"optimizer": the tensors in the optimizer\'s state after the step, wherever they lie in it.'
WITHIN = "Within a kind, a memory counts once"
WHOLE = "Within a kind, a memory counts once, whole, however many tensors look at it."
LEFT = "The gradients are left in the parameters."


def shown(tensors: Iterable[Tensor]) -> int:
    """The bytes that the tensors show."""
    return sum(each.numel() * each.element_size() for each in tensors)


# The step.


@train_step_bytes.mistake(breaks=NONE)
def added_to_the_last(*args: Any) -> Any:
    """The gradients are those of this batch and of an earlier one. backward adds to what is there: gradients are set to None
    before it.
    """
    return stepped(*args, clear=lambda model, optimizer: None)


@train_step_bytes.mistake(breaks=NONE)
def only_what_the_optimizer_has(*args: Any) -> Any:
    """Gradients of an earlier batch are left where the optimizer has no part: those of other parameters are still there.
    Perhaps `optimizer.zero_grad()` was called, which knows only its own.
    """
    return stepped(*args, clear=lambda model, optimizer: optimizer.zero_grad())


@train_step_bytes.mistake(breaks=NONE)
def set_to_zero(*args: Any) -> Any:
    """Gradients were filled with zeros, and not set to None. The old memory stays, and a parameter that is not used keeps a
    gradient.
    """
    return stepped(*args, clear=lambda model, optimizer: model.zero_grad(set_to_none=False))


@train_step_bytes.mistake(breaks=NONE)
def trained_ones_only(*args: Any) -> Any:
    """A frozen parameter still has the gradient of an earlier batch. It is memory: all gradients of the model are set to None."""

    def clear(model: nn.Module, optimizer: Any) -> None:
        for each in model.parameters():
            if each.requires_grad:
                each.grad = None

    return stepped(*args, clear=clear)


@train_step_bytes.mistake(breaks=ONCE_EACH)
def forward_once_more(*args: Any) -> Any:
    """The model and the loss ran twice. Perhaps once to count what is saved, and once for the step: the loss that was counted
    can go on to its backward.
    """

    def run(model: nn.Module, loss_fn: Any, x: Tensor, y: Tensor) -> Tensor:
        loss_fn(model(x), y)
        return loss_fn(model(x), y)

    return stepped(*args, run=run)


@train_step_bytes.mistake(breaks=ONCE_EACH)
def backward_once_more(*args: Any) -> Any:
    """The backward ran twice. The gradients are the double, unless they were cleared between."""

    def backward(loss: Tensor) -> None:
        loss.backward(retain_graph=True)
        loss.backward()

    return stepped(*args, backward=backward)


@train_step_bytes.mistake(breaks=ONCE_EACH)
def stepped_once_more(*args: Any) -> Any:
    """The optimizer made two steps. Perhaps one was to fill its state."""

    def step(optimizer: Any) -> None:
        optimizer.step()
        optimizer.step()

    return stepped(*args, step=step)


@train_step_bytes.mistake(breaks=ENDS)
def into_training_mode(model: nn.Module, *args: Any) -> Any:
    """The model was in eval mode, and runs as in training: batch norm and dropout do something else then. The mode is part of
    the model, and the caller's.
    """
    return stepped(model.train(), *args)


@train_step_bytes.mistake(breaks=LEFT)
def cleared_in_the_end(*args: Any) -> Any:
    """The gradients are None when the call has ended. They are asked for: whoever called may want to look at them."""
    return stepped(*args, at_the_end=lambda model, optimizer: optimizer.zero_grad())


@train_step_bytes.variant(cleared_in_the_end)
def _(*args: Any) -> Any:
    return stepped(*args, at_the_end=lambda model, optimizer: model.zero_grad())


# Parameters, buffers, batch.


@train_step_bytes.mistake(breaks=MODEL)
def trained_parameters(*args: Any) -> Any:
    """Frozen parameters are left out of "parameters". They take memory, too; what they do not have is a gradient and a state."""
    return stepped(
        *args, parameters=lambda model: total(each for each in model.parameters() if each.requires_grad)
    )


@train_step_bytes.mistake(breaks=MODEL)
def parameters_of_the_optimizer(model: nn.Module, optimizer: Any, *args: Any) -> Any:
    """Parameters that the optimizer does not have are left out of "parameters". Those of the model are asked for."""
    own = [each for group in optimizer.param_groups for each in group["params"]]
    return stepped(model, optimizer, *args, parameters=lambda model: total(own))


@train_step_bytes.mistake(breaks=WHOLE)
def parameters_as_they_show(*args: Any) -> Any:
    """ "parameters" holds the bytes that the parameters show, and not those of their memory, which they keep alive whole."""
    return stepped(*args, parameters=lambda model: shown(model.parameters()))


@train_step_bytes.variant(parameters_as_they_show)
def _(*args: Any) -> Any:
    return stepped(
        *args,
        parameters=lambda model: sum(each.nbytes for each in model.parameters()),
        buffers=lambda model: sum(each.nbytes for each in model.buffers()),
    )


@train_step_bytes.mistake(breaks=WHOLE)
def buffers_as_they_show(*args: Any) -> Any:
    """ "buffers" holds the bytes that the buffers show, and not those of their memory, which they keep alive whole."""
    return stepped(*args, buffers=lambda model: shown(model.buffers()))


@train_step_bytes.mistake(breaks=WITHIN)
def tied_twice(*args: Any) -> Any:
    """A weight with two names is counted twice. Perhaps `state_dict()` was added up, which has it under both."""
    return stepped(
        *args,
        parameters=lambda model: sum(
            whole(each) for _, each in model.named_parameters(remove_duplicate=False)
        ),
    )


@train_step_bytes.variant(tied_twice)
def _(*args: Any) -> Any:
    return stepped(
        *args,
        parameters=lambda model: shown(each for _, each in model.named_parameters(remove_duplicate=False)),
    )


@train_step_bytes.mistake(breaks=MODEL)
def buffers_by_the_state_dict(*args: Any) -> Any:
    """A buffer that is not persistent is left out of "buffers". It is no part of `state_dict()`, and takes memory all the
    same.
    """

    def buffers(model: nn.Module) -> int:
        names = {name for name, _ in model.named_parameters()}
        return total(each for name, each in model.state_dict().items() if name not in names)

    return stepped(*args, buffers=buffers)


@train_step_bytes.variant(buffers_by_the_state_dict)
def _(*args: Any) -> Any:
    def buffers(model: nn.Module) -> int:
        names = {name for name, _ in model.named_parameters(remove_duplicate=False)}
        return total(each for name, each in model.state_dict().items() if name not in names)

    return stepped(*args, buffers=buffers)


@train_step_bytes.mistake(breaks=WITHIN)
def once_in_all_kinds(*args: Any) -> Any:
    """A buffer that looks at the memory of a parameter is left out. Once within a kind: another kind counts it, too."""
    return stepped(
        *args,
        buffers=lambda model: total(
            each
            for each in model.buffers()
            if memory_of(each) not in {memory_of(one) for one in model.parameters()}
        ),
    )


@train_step_bytes.mistake(breaks=BATCH)
def batch_without_y(*args: Any) -> Any:
    """ "batch" holds x alone. y is a part of the batch."""
    return stepped(*args, batch=lambda x, y: total((x,)))


@train_step_bytes.mistake(breaks=WITHIN)
def batch_added_up(*args: Any) -> Any:
    """x and y look at one memory, and "batch" counts it twice. Perhaps the bytes of the two were added."""
    return stepped(*args, batch=lambda x, y: whole(x) + whole(y))


@train_step_bytes.mistake(breaks=WHOLE)
def batch_as_it_shows(*args: Any) -> Any:
    """ "batch" holds the bytes that x and y show, and not those of their memory. A slice keeps the whole alive, and two slices
    of one memory keep it once.
    """
    return stepped(*args, batch=lambda x, y: x.nbytes + y.nbytes)


# Saved.


@train_step_bytes.mistake(breaks=SAVED)
def saved_by_the_model_alone(*args: Any) -> Any:
    """What the loss keeps is left out of "saved". Cross entropy keeps the logarithms of all classes, as large as the model's
    output: for a language model that is often the most of all.
    """
    kept: list[int] = []

    def run(model: nn.Module, loss_fn: Any, x: Tensor, y: Tensor) -> Tensor:
        inner = Counted([*model.parameters(), *model.buffers(), x, y])
        with inner.hooks:
            out = model(x)
        kept.append(inner.nbytes())
        return loss_fn(out, y)

    found = stepped(*args, run=run)
    return found | {"saved": kept[0]}


@train_step_bytes.mistake(breaks=SAVED)
def saved_after_the_backward(*args: Any) -> Any:
    """ "saved" is 0. The backward has freed what was saved: perhaps it was counted too late, or when nobody held the loss."""
    return stepped(*args) | {"saved": 0}


@train_step_bytes.mistake(breaks=NOTHING_OF)
def parameters_in_saved(*args: Any) -> Any:
    """The weights are counted in "saved". A product saves them, and they are there anyway: in "parameters"."""
    return stepped(*args, before=lambda model, x, y: [*model.buffers(), x, y])


@train_step_bytes.variant(parameters_in_saved)
def _(model: nn.Module, optimizer: Any, loss_fn: Any, x: Tensor, y: Tensor) -> Any:
    found = stepped(model, optimizer, loss_fn, x, y, before=lambda model, x, y: [x, y])
    return found


@train_step_bytes.mistake(breaks=NOTHING_OF)
def batch_in_saved(*args: Any) -> Any:
    """x and y are counted in "saved": the first layer saves x, and cross entropy y. They are there anyway, in "batch"."""
    return stepped(*args, before=lambda model, x, y: [*model.parameters(), *model.buffers()])


@train_step_bytes.mistake(breaks=NOTHING_OF)
def all_in_saved(*args: Any) -> Any:
    """The weights and the batch are counted in "saved". Autograd saves them, and they are there anyway, each in its own kind."""
    return stepped(*args, before=lambda model, x, y: [])


@train_step_bytes.mistake(breaks=NOTHING_OF)
def x_in_saved(*args: Any) -> Any:
    """x is counted in "saved": the first layer saves it for the gradient of its weight. It is there anyway, in "batch"."""
    return stepped(*args, before=lambda model, x, y: [*model.parameters(), *model.buffers(), y])


@train_step_bytes.mistake(breaks=NOTHING_OF)
def y_in_saved(*args: Any) -> Any:
    """y is counted in "saved": cross entropy saves it. It is there anyway, in "batch"."""
    return stepped(*args, before=lambda model, x, y: [*model.parameters(), *model.buffers(), x])


@train_step_bytes.mistake(breaks=NOTHING_OF)
def buffers_in_saved(*args: Any) -> Any:
    """Buffers are counted in "saved": batch norm saves its running mean and variance. They are there anyway."""
    return stepped(*args, before=lambda model, x, y: [*model.parameters(), x, y])


@train_step_bytes.mistake(breaks=NOTHING_OF)
def looked_up_afterwards(model: nn.Module, optimizer: Any, loss_fn: Any, x: Tensor, y: Tensor) -> Any:
    """ "saved" holds a buffer that the forward has replaced by a new tensor. It was there before: perhaps what was there was
    looked up after the forward, and the buffer was a different one by then.
    """
    there: list[int] = []

    def run(model: nn.Module, loss_fn: Any, x: Tensor, y: Tensor) -> Tensor:
        loss = loss_fn(model(x), y)
        there.extend(memory_of(each) for each in all_before(model, x, y))
        return loss

    def size(tensor: Tensor) -> Any:
        sizes[memory_of(tensor)] = whole(tensor)
        return 0

    sizes: dict[int, int] = {}
    kept: list[Any] = []

    def counts(alias: Any, memory: Any) -> bool:
        if alias() is not None and memory_of(alias()) not in there:
            kept.append(memory_of(alias()))
        return False

    words = {"counts": counts, "size": size}
    found = stepped(model, optimizer, loss_fn, x, y, before=lambda *_: [], saved=words, run=run)
    return found | {"saved": sum(sizes[each] for each in set(kept))}


@train_step_bytes.mistake(breaks=NOTHING_OF)
def saved_by_the_first_byte(*args: Any) -> Any:
    """A part of a parameter or a buffer is counted in "saved" as new memory. It begins at a different address than the whole:
    perhaps `data_ptr()` of the tensors was compared.
    """
    return stepped(*args, saved={"known_by": Tensor.data_ptr})


@train_step_bytes.mistake(breaks=WITHIN)
def saved_each_time(*args: Any) -> Any:
    """In "saved" a memory that is saved several times counts as many times. tanh saves its result, and the next layer saves it
    as its input: it is one memory.
    """
    return stepped(*args, saved={"once_by": None})


@train_step_bytes.mistake(breaks=WHOLE)
def saved_as_it_shows(*args: Any) -> Any:
    """In "saved" only the part of a memory counts that a saved tensor shows. It keeps the whole alive."""
    return stepped(*args, saved={"size": lambda tensor: tensor.nbytes})


@train_step_bytes.mistake(breaks=SAVED)
def given_up_in_saved(*args: Any) -> Any:
    """ "saved" holds what was saved for a result that is thrown away. It is freed before the backward, unless somebody holds
    it: perhaps the count, or the tensors that `pack` returned.
    """
    return stepped(*args, saved={"counts": lambda alias, memory: True})


@train_step_bytes.mistake(breaks=SAVED)
def memory_that_lives(*args: Any) -> Any:
    """ "saved" holds a memory that autograd gave up, and that lives on since the model keeps it. Perhaps it was asked whether
    the memory lives, and not whether it is still saved.
    """
    return stepped(*args, saved={"counts": lambda alias, memory: not memory.expired()})


@train_step_bytes.mistake(breaks=SAVED)
def packed_itself(*args: Any) -> Any:
    """ "saved" holds the result of a sigmoid that was thrown away. Perhaps `pack` returned the tensor itself: where it is the
    result of the operation that saves it, it holds the node, and the node holds it. `tensor.detach()` holds no node.
    """
    return stepped(*args, saved={"packed": lambda tensor: tensor})


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
