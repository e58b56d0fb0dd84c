"""What people write for 14.saved_bytes, and why it is wrong: what is given up, what runs, what stays."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from helpers.labs.memory.saved_bytes.exercise import saved_bytes
from helpers.labs.memory.saved_bytes.right import (
    all_before,
    always,
    counted,
    memory_of,
    still_there,
    whole,
)
from helpers.labs.memory.saved_bytes.words import GAVE_UP, MAKES, NO_BACKWARD, NOTHING, OFF, RUNS, SAVED

# What is given up.


@saved_bytes.mistake(breaks=GAVE_UP)
def given_up_counted(fn: Any, *args: Tensor) -> int:
    """What was saved for a result that is thrown away is counted. It is freed before fn returns, unless somebody holds it:
    perhaps the count itself, or a number that was noted when it was saved.
    """
    return counted(fn, *args, counts=always)


@saved_bytes.variant(given_up_counted)
def _(fn: Any, *args: Tensor) -> int:
    kept: dict[int, Tensor] = {}
    there = [memory_of(each) for each in all_before(fn, args)]

    def pack(tensor: Tensor) -> Tensor:
        kept[memory_of(tensor)] = tensor.detach()
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        result = fn(*args)
    del result
    return sum(whole(tensor) for memory, tensor in kept.items() if memory not in there)


@saved_bytes.variant(given_up_counted)
def _(fn: Any, *args: Tensor) -> int:
    return counted(fn, *args, packed=lambda tensor: tensor, counts=always)


@saved_bytes.mistake(breaks=GAVE_UP)
def memory_that_lives(fn: Any, *args: Tensor) -> int:
    """A memory is counted that autograd gave up, and that lives on since someone else holds it: `exp` saved its result, and
    detach let its graph go. Perhaps it was asked whether the memory lives, and not whether it is still saved.
    """
    return counted(fn, *args, counts=still_there)


@saved_bytes.mistake(breaks=GAVE_UP)
def first_saver_only(fn: Any, *args: Tensor) -> int:
    """A memory is left out that is still saved: tanh saved it and gave it up, and the next product saves it, too. Perhaps it was
    noted for the first that saved it, and forgotten with that one.
    """
    met: list[int] = []

    def size(tensor: Tensor) -> int:
        first = memory_of(tensor) not in met
        met.append(memory_of(tensor))
        return whole(tensor) if first else 0

    return counted(fn, *args, once_by=None, size=size)


@saved_bytes.mistake(breaks=GAVE_UP)
def packed_itself(fn: Any, *args: Tensor) -> int:
    """What an operation saved of its own result is counted, though it was given up. Perhaps `pack` returned the tensor
    itself, or something that holds it: where it is the result of the operation that saves it, it holds the node, and the
    node holds it. Nothing frees such a circle. `tensor.detach()` looks at the same memory, and holds no node.
    """
    return counted(fn, *args, packed=lambda tensor: tensor)


@saved_bytes.mistake(breaks=GAVE_UP)
def size_of_the_first(fn: Any, *args: Tensor) -> int:
    """More is counted than is kept, where larger memories were thrown away before. Perhaps sizes are noted by `id_of`, and a
    number that is there already is not noted again: a memory that is freed gives its number to a new one, of another size.
    """
    return _by_number(fn, args, all_before(fn, args), first=True)


@saved_bytes.mistake(breaks=SAVED)
def known_let_go(fn: Any, *args: Tensor) -> int:
    """Less is counted than is kept, where a module has put new tensors in the place of its buffers. Perhaps the numbers of what
    was there before are kept, and not the tensors: an old buffer is freed, and its number is given to a new memory.
    """
    return _by_number(fn, args, ())


def _by_number(fn: Any, args: tuple[Tensor, ...], kept: Iterable[Tensor], first: bool = False) -> int:
    """kept: what was there before and is held. first: a size is noted once for each number."""
    there, sizes = {memory_of(each) for each in all_before(fn, args)}, {}
    noted: list[weakref.ref[Tensor]] = []

    def pack(tensor: Tensor) -> Tensor:
        alias = tensor.detach()
        noted.append(weakref.ref(alias))
        if not first or memory_of(alias) not in sizes:
            sizes[memory_of(alias)] = whole(alias)
        return alias

    with saved_tensors_hooks(pack, lambda alias: alias):
        result = fn(*args)
    left = {memory_of(alias) for each in noted if (alias := each()) is not None}
    del result, kept
    return sum(sizes[each] for each in left if each not in there)


@saved_bytes.mistake(breaks=MAKES)
def nothing_given_back(fn: Any, *args: Tensor) -> int:
    """A function that asks for a gradient itself cannot run: its backward gets no tensor from `unpack`. That no backward of the
    result runs does not mean that fn needs none of what was packed.
    """
    return counted(fn, *args, unpacked=lambda alias: None)


@saved_bytes.variant(nothing_given_back)
def _(fn: Any, *args: Tensor) -> int:
    return counted(fn, *args, unpacked=lambda alias: alias.shape)


# What runs, and what stays.


@saved_bytes.mistake(breaks=OFF)
def gradients_switched_on(fn: Any, *args: Tensor) -> int:
    """Gradients were switched off, and memory is counted: perhaps they were switched on for the call. Whoever asks wants to
    know what fn keeps as things are.
    """
    with torch.enable_grad():
        return counted(fn, *args)


@saved_bytes.mistake(breaks=MAKES)
def arguments_made_to_require_grad(fn: Any, *args: Tensor) -> int:
    """More is counted than is kept where an argument does not require grad: perhaps fn was called with copies or views of the
    arguments that do.
    """
    own = [each.detach().requires_grad_(torch.is_grad_enabled()) for each in args]
    return counted(fn, *own)


@saved_bytes.mistake(breaks=RUNS)
def runs_twice(fn: Any, *args: Tensor) -> int:
    """fn ran twice. It takes the time of two, and buffers and generators have moved twice: perhaps a first run was to see the
    result or to warm up.
    """
    fn(*args)
    return counted(fn, *args)


@saved_bytes.mistake(breaks=RUNS)
def on_a_copy(fn: Any, *args: Tensor) -> int:
    """The module's own buffers say that no batch went through it: perhaps a copy of it ran. The copy takes the memory of all
    weights once more.
    """
    return counted(copy.deepcopy(fn) if isinstance(fn, nn.Module) else fn, *args)


@saved_bytes.mistake(breaks=NO_BACKWARD)
def backward_to_clean_up(fn: Any, *args: Tensor) -> int:
    """A backward ran. It takes twice the time of the forward; to let go of the result frees all that it keeps."""
    inputs = [each for each in args if each.requires_grad]
    return _and_then(lambda total: torch.autograd.grad(total, inputs, allow_unused=True), fn, args)


@saved_bytes.variant(backward_to_clean_up)
def _(fn: Any, *args: Tensor) -> int:
    return _and_then(Tensor.backward, fn, args)


def _and_then(end: Callable[[Tensor], Any], fn: Any, args: tuple[Tensor, ...]) -> int:
    """end: is given the sum of the result, when all is counted."""
    results: list[Tensor] = []

    def noted(*inner: Tensor) -> Tensor:
        results.append(fn(*inner))
        return results[0]

    total = counted(noted, *args, before=lambda _, inner: all_before(fn, inner))
    if results[0].requires_grad:
        end(results[0].sum())
    return total


_last: list[Tensor] = []


@saved_bytes.mistake(breaks=NOTHING)
def result_held(fn: Any, *args: Tensor) -> int:
    """When saved_bytes has returned, the result and all that it keeps are still alive, and the garbage collector does not free
    them. Perhaps a list, an attribute or a global name holds them; or an object that the hooks belong to, since the graph
    holds the hooks, and no collector sees that.
    """

    def noted(*inner: Tensor) -> Tensor:
        _last[:] = [fn(*inner)]
        return _last[0]

    return counted(noted, *args, before=lambda _, inner: all_before(fn, inner))


class _Run:
    """Holds itself."""

    def __init__(self) -> None:
        self.me = self
        self.result: Any = None


@saved_bytes.mistake(breaks=NOTHING)
def held_in_a_circle(fn: Any, *args: Tensor) -> int:
    """When saved_bytes has returned, what fn made is alive until the garbage collector comes: it hangs in a circle of
    references. On a GPU the memory may be missing by then.
    """
    run = _Run()

    def noted(*inner: Tensor) -> Tensor:
        run.result = fn(*inner)
        return run.result

    return counted(noted, *args, before=lambda _, inner: all_before(fn, inner))


_known: dict[Any, int] = {}


@saved_bytes.mistake(breaks=RUNS)
def kept_by_function(fn: Any, *args: Tensor) -> int:
    """The same function was given a larger tensor, and the result is that of the call before: perhaps results are kept, and
    found again by the function alone.
    """
    if fn not in _known:
        _known[fn] = counted(fn, *args)
    return _known[fn]


@saved_bytes.mistake(breaks=RUNS)
def kept_by_shapes(fn: Any, *args: Tensor) -> int:
    """In a second call with the same function and the same tensor fn did not run: perhaps results are kept, by the function
    and the arguments or their shapes. A module in eval mode or a call in `no_grad` keeps something else.
    """
    key = (fn, *((each.shape, each.dtype, each.requires_grad) for each in args))
    if key not in _known:
        _known[key] = counted(fn, *args)
    return _known[key]


@cache
def _remembered(fn: Any, *args: Tensor) -> int:
    return counted(fn, *args)


@saved_bytes.variant(kept_by_shapes)
def _(fn: Any, *args: Tensor) -> int:
    return _remembered(fn, *args)
