"""What people write for 14.train_step_bytes, and why it is wrong: what is saved."""

from __future__ import annotations

import weakref
from typing import Any

from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._pytree import tree_leaves

from helpers.labs.memory.train_step_bytes.exercise import train_step_bytes
from helpers.labs.memory.train_step_bytes.right import (
    Counted,
    all_before,
    memory_of,
    stepped,
    whole,
)
from helpers.labs.memory.train_step_bytes.words import NOTHING_OF, SAVED, WHOLE, WITHIN

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


@train_step_bytes.mistake(breaks=WITHIN)
def model_and_loss_added(*args: Any) -> Any:
    """In "saved" the model's result counts twice, where both the model and the loss keep it: sigmoid saves its result, and
    binary cross entropy its input. Perhaps model and loss were counted apart, and added.
    """
    return _in_two_halves(*args, left_out=False)


@train_step_bytes.mistake(breaks=SAVED)
def result_left_to_the_loss(*args: Any) -> Any:
    """ "saved" lacks the model's result, which tanh has saved; the loss has saved a difference only. Perhaps model and loss were
    counted apart, and the result left out of the model's half.
    """
    return _in_two_halves(*args, left_out=True)


def _in_two_halves(*args: Any, left_out: bool) -> Any:
    """left_out: the model's result is left out of its half."""
    kept: list[int] = []

    def run(model: nn.Module, loss_fn: Any, x: Tensor, y: Tensor) -> Tensor:
        of_model, of_loss = (Counted(all_before(model, x, y)) for _ in range(2))
        with of_model.hooks:
            out = model(x)
        if left_out:
            of_model.counts = lambda alias, memory: (
                alias() is not None and memory_of(alias()) != memory_of(out)
            )
        with of_loss.hooks:
            loss = loss_fn(out, y)
        kept.append(of_model.nbytes() + of_loss.nbytes())
        return loss

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
def others_in_saved(model: nn.Module, optimizer: Any, *args: Any) -> Any:
    """A weight that the optimizer does not have is counted in "saved". It was there before, too: perhaps the parameters
    were taken from `optimizer.param_groups`, and not from the model.
    """
    own = [each for group in optimizer.param_groups for each in group["params"]]
    return stepped(model, optimizer, *args, before=lambda model, x, y: [*own, *model.buffers(), x, y])


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


@train_step_bytes.mistake(breaks=SAVED)
def writes_through_a_view_left_out(*args: Any) -> Any:
    """ "saved" lacks what an edit in place saves, where it writes through a view. Perhaps the graph was walked: the edit's own
    node lies inside a `CopySlices`, which does not show what it has saved. Hooks see it.
    """
    kept: list[int] = []

    def run(model: nn.Module, loss_fn: Any, x: Tensor, y: Tensor) -> Tensor:
        known = [*all_before(model, x, y)]
        there = [memory_of(each) for each in known]
        loss = loss_fn(model(x), y)
        todo, met, found = [loss.grad_fn], {None}, {}
        while todo:
            node = todo.pop()
            if node in met:
                continue
            met.add(node)
            todo += [behind for behind, _ in node.next_functions]
            names = [name for name in dir(node) if name.startswith("_saved_") or name == "saved_tensors"]
            for each in tree_leaves([getattr(node, name) for name in names]):
                if isinstance(each, Tensor) and memory_of(each) not in there:
                    found[memory_of(each)] = whole(each)
        kept.append(sum(found.values()))
        return loss

    found = stepped(*args, run=run)
    return found | {"saved": kept[0]}


@train_step_bytes.mistake(breaks=SAVED)
def known_let_go(*args: Any) -> Any:
    """ "saved" is less than is kept, where a model has put new tensors in the place of its buffers. Perhaps the numbers of what
    was there before are kept, and not the tensors: an old buffer is freed, and its number is given to a new memory.
    """
    kept: list[int] = []

    def run(model: nn.Module, loss_fn: Any, x: Tensor, y: Tensor) -> Tensor:
        there = {memory_of(each) for each in all_before(model, x, y)}
        noted: list[weakref.ref[Tensor]] = []

        def pack(tensor: Tensor) -> Tensor:
            alias = tensor.detach()
            noted.append(weakref.ref(alias))
            return alias

        with saved_tensors_hooks(pack, lambda alias: alias):
            loss = loss_fn(model(x), y)
        left = {memory_of(alias): whole(alias) for each in noted if (alias := each()) is not None}
        kept.append(sum(size for each, size in left.items() if each not in there))
        return loss

    found = stepped(*args, run=run, before=lambda model, x, y: [])
    return found | {"saved": kept[0]}
