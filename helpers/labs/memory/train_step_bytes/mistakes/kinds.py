"""What people write for 14.train_step_bytes, and why it is wrong: the step, parameters, buffers, batch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.memory.train_step_bytes.exercise import train_step_bytes
from helpers.labs.memory.train_step_bytes.right import (
    memory_of,
    shown,
    stepped,
    total,
    whole,
)
from helpers.labs.memory.train_step_bytes.words import (
    BATCH,
    ENDS,
    LEFT,
    LOSS,
    MODEL,
    NONE,
    ONCE_EACH,
    WHOLE,
    WITHIN,
)

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


@train_step_bytes.mistake(breaks=LOSS)
def hooks_left_out(*args: Any) -> Any:
    """The model ran, and its own hooks did not. Perhaps `model.forward(x)` was called: `model(x)` runs the hooks around
    it, and one of them may change what goes in or comes out.
    """
    return stepped(*args, run=lambda model, loss_fn, x, y: loss_fn(model.forward(x), y))


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


@train_step_bytes.mistake(breaks=ENDS)
def generator_put_back(*args: Any) -> Any:
    """The weights are right, and torch's generator does not stand where the plain step leaves it. Perhaps the step ran in
    `torch.random.fork_rng()`, or the state was put back: then dropout has the same mask in each step.
    """
    with torch.random.fork_rng(devices=[]):
        return stepped(*args)


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
        names = {name for name, _ in model.named_parameters(remove_duplicate=False)}
        return total(each for name, each in model.state_dict().items() if name not in names)

    return stepped(*args, buffers=buffers)


@train_step_bytes.variant(buffers_by_the_state_dict)
def _(*args: Any) -> Any:
    """The same list says what was there before."""

    def buffers(model: nn.Module) -> list[Tensor]:
        names = {name for name, _ in model.named_parameters(remove_duplicate=False)}
        return [each for name, each in model.state_dict().items() if name not in names]

    return stepped(
        *args,
        buffers=lambda model: total(buffers(model)),
        before=lambda model, x, y: [*model.parameters(), *buffers(model), x, y],
    )


@train_step_bytes.mistake(breaks=MODEL)
def second_name_as_a_buffer(*args: Any) -> Any:
    """A weight with two names is counted in "buffers". `state_dict()` has it under both, and `named_parameters()` under the first
    alone: what is left over is not always a buffer.
    """

    def buffers(model: nn.Module) -> int:
        names = {name for name, _ in model.named_parameters()}
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
