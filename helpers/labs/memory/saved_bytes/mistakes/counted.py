"""What people write for 14.saved_bytes, and why it is wrong: what is counted, what was there before, once and whole."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.multiprocessing.reductions import StorageWeakRef

from helpers.check.operations import operations
from helpers.labs.memory.saved_bytes.exercise import saved_bytes
from helpers.labs.memory.saved_bytes.right import (
    all_before,
    always,
    buffers_of,
    counted,
    memory_of,
    whole,
)
from helpers.labs.memory.saved_bytes.words import ARGUMENTS, BEFORE, KEEPS, MAKES, MODULE, ONCE, SAVED, WHOLE

# What is counted.


@saved_bytes.mistake(breaks=SAVED)
def all_that_is_made(fn: Any, *args: Tensor) -> int:
    """All memory that the operations make is counted. Much of it is freed while fn runs; only what autograd saves is kept for
    the backward.
    """
    with operations() as ran:
        fn(*args)
    return sum(each.bytes for each in ran)


@saved_bytes.mistake(breaks=KEEPS)
def result_let_go(fn: Any, *args: Tensor) -> int:
    """The count came out as 0. The result holds the graph, and the graph what is saved: perhaps nobody held the result when
    the memory was counted, or fn made no graph, since it was given arguments that require no grad (`detach`).
    """
    return counted(fn, *args, holds=False)


@saved_bytes.variant(result_let_go)
def _(fn: Any, *args: Tensor) -> int:
    return counted(fn, *(each.detach() for each in args))


@saved_bytes.mistake(breaks=SAVED)
def result_left_out(fn: Any, *args: Tensor) -> int:
    """The memory of fn's result is left out. The operation that made it has saved it for its own backward: that it is
    returned, too, changes nothing.
    """
    last: list[Tensor] = []

    def noted(*inner: Tensor) -> Tensor:
        last[:] = [fn(*inner)]
        return last[0]

    def size(tensor: Tensor) -> int:
        return whole(tensor) if sizes.setdefault(memory_of(tensor), whole(tensor)) else 0

    sizes: dict[int, int] = {}
    total = counted(noted, *args, before=lambda _, inner: all_before(fn, inner), size=size)
    return total - sizes.get(memory_of(last[0]), 0)


@saved_bytes.mistake(breaks=KEEPS)
def result_only(fn: Any, *args: Tensor) -> int:
    """Only the memory of fn's result is counted. Perhaps `pack` noted the others, too, and returned something that does not
    hold them: what it returns is all that the graph keeps, and so they were freed.
    """
    noted: dict[int, tuple[StorageWeakRef, int]] = {}

    def pack(tensor: Tensor) -> None:
        noted[memory_of(tensor)] = StorageWeakRef(tensor.untyped_storage()), whole(tensor)

    there = [memory_of(each) for each in all_before(fn, args)]
    with saved_tensors_hooks(pack, lambda packed: packed):
        result = fn(*args)
    left = [size for key, (each, size) in noted.items() if key not in there and not each.expired()]
    del result
    return sum(left)


@saved_bytes.variant(result_only)
def _(fn: Any, *args: Tensor) -> int:
    return fn(*args).nbytes


@saved_bytes.mistake(breaks=SAVED)
def last_node_only(fn: Any, *args: Tensor) -> int:
    """Only what the last operation saved is counted. Each node of the graph keeps what it saved: the others are reached by
    `next_functions`.
    """
    result = fn(*args)
    found = {}
    there = [memory_of(each) for each in all_before(fn, args)]
    for name in dir(result.grad_fn):
        value = getattr(result.grad_fn, name) if name.startswith("_saved_") else None
        if isinstance(value, Tensor) and memory_of(value) not in there:
            found[memory_of(value)] = whole(value)
    return sum(found.values())


@saved_bytes.mistake(breaks=MAKES)
def a_float(fn: Any, *args: Tensor) -> Any:
    """The count is a float. Bytes are whole numbers, and an int is asked for: perhaps it was divided, by 1, 1024 or 1e6."""
    return counted(fn, *args) / 1


@saved_bytes.mistake(breaks=SAVED)
def alive_not_saved(fn: Any, *args: Tensor) -> int:
    """Memory is counted that lives and that autograd has not saved: the result of fn is alive since it is returned, and
    neither sum nor + saves its result. Perhaps all was counted that is alive when fn has returned.
    """
    with operations() as ran:
        result = fn(*args)
    alive = {memory.cdata for each in ran for memory in each.memories if not memory.expired()}
    storages = [torch.UntypedStorage._new_with_weak_ptr(memory) for memory in alive]
    del result
    return sum(each.nbytes() for each in storages if each is not None)


@saved_bytes.mistake(breaks=SAVED)
def without_a_node(fn: Any, *args: Tensor) -> int:
    """What batch norm saves of the batch, its mean and its deviation, is left out. It has no `grad_fn` and needs no gradient:
    perhaps only tensors that do were counted.
    """
    return counted(fn, *args, size=lambda tensor: whole(tensor) if tensor.grad_fn is not None else 0)


@saved_bytes.variant(without_a_node)
def _(fn: Any, *args: Tensor) -> int:
    return counted(fn, *args, size=lambda tensor: whole(tensor) if tensor.requires_grad else 0)


@saved_bytes.mistake(breaks=SAVED)
def own_functions_left_out(fn: Any, *args: Tensor) -> int:
    """What a Function of its own hands to save_for_backward is left out. Perhaps the graph was walked, and its nodes asked for
    what begins with `_saved_`: that of such a Function is in `saved_tensors`.
    """
    return _walked(fn, args, lambda node: _entries(node, "_saved_"))


@saved_bytes.variant(own_functions_left_out)
def _(fn: Any, *args: Tensor) -> int:
    there = [memory_of(each) for each in all_before(fn, args)]
    result = fn(*args)
    todo, met, found = [result.grad_fn], {None}, {}
    while todo:
        node = todo.pop()
        if node not in met:
            met.add(node)
            todo += [behind for behind, _ in node.next_functions]
            for name in dir(node):
                value = getattr(node, name) if name.startswith("_saved_") else None
                if isinstance(value, Tensor) and memory_of(value) not in there:
                    found[memory_of(value)] = whole(value)
    return sum(found.values())


@saved_bytes.mistake(breaks=SAVED)
def writes_through_a_view_left_out(fn: Any, *args: Tensor) -> int:
    """What an edit in place saves is left out, where it writes through a view: `h[:, :2].mul_(w)`. Perhaps the graph was
    walked: the edit's own node lies inside a `CopySlices`, which does not show what it has saved. Hooks see it.
    """
    return _walked(fn, args, lambda node: _entries(node, "_saved_", "saved_tensors"))


@saved_bytes.variant(writes_through_a_view_left_out)
def _(fn: Any, *args: Tensor) -> int:
    def raw(node: Any) -> list[Tensor]:
        given: list[Tensor] = []

        def pack(tensor: Tensor) -> Tensor:
            given.append(tensor.detach())
            return given[-1]

        entries = _entries(node, "_raw_saved_")
        for each in torch.utils._pytree.tree_leaves(entries):
            with contextlib.suppress(RuntimeError):  # nothing was saved there
                each.register_hooks(pack, lambda tensor: tensor)
        return given + list(getattr(node, "saved_tensors", ()) if not entries else ())

    return _walked(fn, args, raw)


def _entries(node: Any, *beginnings: str) -> list[Any]:
    """The attributes of a node of the graph whose names begin so."""
    return [getattr(node, name) for name in dir(node) if name.startswith(beginnings)]


def _walked(fn: Any, args: tuple[Tensor, ...], saved_by: Callable[[Any], Any]) -> int:
    """From the result down to where the arguments come from."""
    known = [*all_before(fn, args)]
    there = [memory_of(each) for each in known]
    result = fn(*args)
    todo, met, found = [result.grad_fn], {None, *(each.grad_fn for each in args)}, {}
    while todo:
        node = todo.pop()
        if node in met:
            continue
        met.add(node)
        todo += [behind for behind, _ in node.next_functions]
        for each in torch.utils._pytree.tree_leaves(saved_by(node)):
            if isinstance(each, Tensor) and memory_of(each) not in there:
                found[memory_of(each)] = whole(each)
    return sum(found.values())


# What was there before.


@saved_bytes.mistake(breaks=ARGUMENTS)
def frozen_arguments_counted(fn: Any, *args: Tensor) -> int:
    """An argument that does not require grad is counted. A product saves it for the gradient of its other factor, and it was
    there before, like the others.
    """
    trained = lambda fn, args: all_before(fn, tuple(each for each in args if each.requires_grad))  # noqa: E731
    return counted(fn, *args, before=trained)


@saved_bytes.mistake(breaks=BEFORE)
def looked_up_afterwards(fn: Any, *args: Tensor) -> int:
    """A buffer is counted that fn has replaced by a new tensor. It was there before: perhaps what was there was looked up when
    fn had returned, and the buffer was a different one by then.
    """
    kept: list[weakref.ref[Tensor]] = []

    def pack(tensor: Tensor) -> Tensor:
        alias = tensor.detach()
        kept.append(weakref.ref(alias))
        return alias

    with saved_tensors_hooks(pack, lambda alias: alias):
        result = fn(*args)
    there = [memory_of(each) for each in all_before(fn, args)]
    left = [alias for each in kept if (alias := each()) is not None]
    del result
    return sum({memory_of(each): whole(each) for each in left if memory_of(each) not in there}.values())


@saved_bytes.mistake(breaks=ARGUMENTS)
def arguments_by_object(fn: Any, *args: Tensor) -> int:
    """A view of an argument is counted as new memory: `x.T` looks at the memory of x, and is a different tensor. Perhaps the
    tensors were compared, by `is` or `id`.
    """
    return counted(fn, *args, known_by=id)


@saved_bytes.variant(arguments_by_object)
def _(fn: Any, *args: Tensor) -> int:
    return counted(fn, *args, known_by=lambda tensor: (tensor.data_ptr(), tensor.shape, tensor.stride()))


@saved_bytes.mistake(breaks=ARGUMENTS)
def arguments_counted(fn: Any, *args: Tensor) -> int:
    """The arguments are counted where autograd saves them. They were there before, and are alive whether they are saved or
    not. A tensor that is saved is a new object each time: it can be known by its memory.
    """
    return counted(fn, *args, before=lambda fn, args: all_before(fn, ()))


@saved_bytes.mistake(breaks=ARGUMENTS)
def arguments_by_their_first_byte(fn: Any, *args: Tensor) -> int:
    """A part of an argument is counted as new memory: `x[2:]` begins at a different address than x. Perhaps `data_ptr()` of
    the tensors was compared; that of their storages is the same.
    """
    return counted(fn, *args, known_by=Tensor.data_ptr)


@saved_bytes.mistake(breaks=MODULE)
def parameters_counted(fn: Any, *args: Tensor) -> int:
    """The weights of a module are counted: a product saves them. They are there whether a backward comes or not."""
    return counted(fn, *args, before=lambda fn, args: [*args, *buffers_of(fn)])


@saved_bytes.variant(parameters_counted)
def _(fn: Any, *args: Tensor) -> int:
    return counted(fn, *args, before=lambda fn, args: args)


@saved_bytes.mistake(breaks=MODULE)
def frozen_parameters_counted(fn: Any, *args: Tensor) -> int:
    """A frozen weight is counted. It needs no gradient, and a product saves it for the gradient of its other factor; its
    memory was there before.
    """
    trained = lambda fn: (each for each in fn.parameters() if each.requires_grad)  # noqa: E731
    return counted(
        fn,
        *args,
        before=lambda fn, args: [*args, *(trained(fn) if isinstance(fn, nn.Module) else ()), *buffers_of(fn)],
    )


@saved_bytes.mistake(breaks=MODULE)
def own_parameters_only(fn: Any, *args: Tensor) -> int:
    """The weights of the modules inside the module are counted. `parameters()` gives those of all modules inside, too;
    perhaps they were looked for without these.
    """
    return counted(
        fn,
        *args,
        before=lambda fn, args: [
            *args,
            *(fn.parameters(recurse=False) if isinstance(fn, nn.Module) else ()),
            *buffers_of(fn),
        ],
    )


@saved_bytes.variant(own_parameters_only)
def _(fn: Any, *args: Tensor) -> int:
    return counted(
        fn,
        *args,
        before=lambda fn, args: [
            *args,
            *(each for each in vars(fn).get("_parameters", {}).values() if each is not None),
        ],
    )


@saved_bytes.mistake(breaks=MODULE)
def parameters_by_their_first_byte(fn: Any, *args: Tensor) -> int:
    """A part of a weight is counted as new memory: the second half of a weight begins at a different address than the weight.
    Perhaps its `data_ptr()` was compared with that of the weight.
    """
    there = [memory_of(each) for each in args]
    first = [each.data_ptr() for each in all_before(fn, ())]
    return counted(
        fn,
        *args,
        before=lambda fn, args: args,
        known_by=lambda tensor: memory_of(tensor) in there or tensor.data_ptr() in first,
    )


@saved_bytes.mistake(breaks=MODULE)
def buffers_counted(fn: Any, *args: Tensor) -> int:
    """Buffers are counted: batch norm saves its running mean and variance. They were there before, like the parameters."""
    return counted(fn, *args, before=lambda fn, args: [*args, *_parameters(fn)])


def _parameters(fn: Any) -> list[Tensor]:
    return list(fn.parameters()) if isinstance(fn, nn.Module) else []


@saved_bytes.mistake(breaks=MODULE)
def by_the_state_dict(fn: Any, *args: Tensor) -> int:
    """Buffers that are not persistent are counted. Perhaps what was there before was taken from `state_dict()`, which leaves
    them out.
    """
    return counted(
        fn,
        *args,
        before=lambda fn, args: [*args, *(fn.state_dict().values() if isinstance(fn, nn.Module) else ())],
    )


@saved_bytes.mistake(breaks=BEFORE)
def the_whole_history(fn: Any, *args: Tensor) -> int:
    """What the graph of an argument keeps is counted. That was saved before fn was called: fn's own part of the graph ends at
    the arguments.
    """
    there = [memory_of(each) for each in all_before(fn, args)]
    result = fn(*args)
    todo, met, found = [result.grad_fn], {None}, {}
    while todo:
        node = todo.pop()
        if node in met:
            continue
        met.add(node)
        todo += [behind for behind, _ in node.next_functions]
        values = [
            getattr(node, name) for name in dir(node) if name.startswith("_saved_") or name == "saved_tensors"
        ]
        for each in torch.utils._pytree.tree_leaves(values):
            if isinstance(each, Tensor) and memory_of(each) not in there:
                found[memory_of(each)] = whole(each)
    return sum(found.values())


# Once, and whole.


@saved_bytes.mistake(breaks=ONCE)
def each_saved_tensor(fn: Any, *args: Tensor) -> int:
    """A memory that is saved several times is counted as many times. Saving makes no copy: all look at one memory."""
    return counted(fn, *args, once_by=None)


@saved_bytes.mistake(breaks=WHOLE)
def once_by_the_first_byte(fn: Any, *args: Tensor) -> int:
    """Two parts of one memory are counted as two. They begin at different addresses: perhaps `data_ptr()` of the tensors told
    them apart.
    """
    return counted(fn, *args, once_by=Tensor.data_ptr)


@saved_bytes.variant(once_by_the_first_byte)
def _(fn: Any, *args: Tensor) -> int:
    return counted(fn, *args, once_by=lambda tensor: (tensor.data_ptr(), tensor.shape))


@saved_bytes.mistake(breaks="whole, however many saved tensors look at it, and through whatever part of it.")
def parts_only(fn: Any, *args: Tensor) -> int:
    """Of a memory only the part is counted that a saved tensor shows. It keeps the whole alive. Perhaps numel() times
    element_size() was taken: that is the tensor's, not the memory's.
    """
    return counted(fn, *args, size=lambda tensor: tensor.numel() * tensor.element_size())


@saved_bytes.mistake(breaks="whole, however many saved tensors look at it, and through whatever part of it.")
def each_part(fn: Any, *args: Tensor) -> int:
    """What each saved tensor shows is added up, so that a memory that is saved several times counts as many times, and one
    that is saved in part counts in part. Memories count: each once, and whole.
    """
    return counted(fn, *args, once_by=None, size=lambda tensor: tensor.numel() * tensor.element_size())


@saved_bytes.variant(each_part)
def _(fn: Any, *args: Tensor) -> int:
    return counted(fn, *args, once_by=None, size=lambda tensor: tensor.nbytes, counts=always)


@saved_bytes.mistake(breaks=WHOLE)
def each_part_once(fn: Any, *args: Tensor) -> int:
    """Of two parts of one memory the bytes are added that each shows: more than a part, and not the memory. Perhaps `data_ptr()`
    of the tensors told them apart, and numel() gave the size.
    """
    return counted(fn, *args, once_by=Tensor.data_ptr, size=lambda tensor: tensor.nbytes)


@saved_bytes.mistake(breaks=MAKES)
def four_bytes_each(fn: Any, *args: Tensor) -> int:
    """Each number is taken for 4 bytes. That is float32: others have 1, 2 or 8."""
    return counted(fn, *args, size=lambda tensor: whole(tensor) // tensor.element_size() * 4)


@saved_bytes.mistake(breaks=SAVED)
def floats_only(fn: Any, *args: Tensor) -> int:
    """Indices and masks are left out. Autograd saves them, too, and int64 takes twice as much as float32."""
    return counted(fn, *args, size=lambda tensor: whole(tensor) if tensor.is_floating_point() else 0)
