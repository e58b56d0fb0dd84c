"""What people write for 14.leaks, and why it is wrong."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from helpers.check.operations import Operation, operations
from helpers.labs.memory.leaks.exercise import leaks
from helpers.labs.memory.leaks.right import Step, found, of_each_memory

MAKES = "The operations that make memory which a call of `step` leaves behind for good."
LEAK = "still alive when the call after it has ended."
FIRST = "What only the first call leaves is none"
REPLACED = "neither is what a call replaces: a gradient, the last loss."
GARBAGE = "What nothing but the garbage collector can free is no leak either."
CALLS = "`step` is called three times: once, then the call whose memory is watched, then one more."
NAMES = "Returns the names of the operations, as `lab.operations` gives them"
SORTED = "as `lab.operations` gives them, sorted"
EACH = "one for each leaked memory of one call."
NOT_KEPT = "What `step` returns is not kept"
NOTHING = "nothing that it made is alive because of `leaks`."


# Which call, and when.


@leaks.mistake(breaks=CALLS)
def no_call_after(step: Step) -> Any:
    """What is replaced by the next call is named: a gradient, the last loss. Perhaps no call came after the watched one, before
    it was looked at.
    """
    return found(step, after=0)


@leaks.variant(no_call_after)
def _(step: Step) -> Any:
    return found(step, before=2, after=0)


@leaks.variant(no_call_after)
def _(step: Step) -> Any:
    step()
    with operations() as ran:
        step()
    gc.collect()
    names = sorted(of_each_memory(ran))
    step()
    return names


@leaks.mistake(breaks=FIRST)
def first_call_watched(step: Step) -> Any:
    """What the first call makes once is named: the state of the optimizer, a cache. Perhaps the first call was the watched
    one.
    """
    return found(step, before=0)


@leaks.variant(first_call_watched)
def _(step: Step) -> Any:
    return found(step, before=0, after=2)


@leaks.mistake(breaks=EACH)
def all_calls_watched(step: Step) -> Any:
    """The leaks of several calls are named, so that each stands there several times, beside what is made once or replaced. One
    call is watched.
    """
    with operations() as ran:
        for _ in range(3):
            step()
    gc.collect()
    return sorted(of_each_memory(ran))


@leaks.variant(all_calls_watched)
def _(step: Step) -> Any:
    with operations() as ran:
        step()
        step()
    step()
    gc.collect()
    return sorted(of_each_memory(ran))


@leaks.mistake(breaks=EACH)
def second_and_third(step: Step) -> Any:
    """What the third call made is named, too. Nothing came after it that could have replaced its memory."""
    step()
    with operations() as ran:
        step()
        step()
    gc.collect()
    return sorted(of_each_memory(ran))


@leaks.mistake(breaks=CALLS)
def half_of_the_log(step: Step) -> Any:
    """Where a call runs more operations than the one before, some of a different call are named. Perhaps one log was cut into
    equal parts: where a call ends is known when it has ended, by the length of the log.
    """
    step()
    with operations() as ran:
        step()
        step()
    gc.collect()
    return sorted(of_each_memory(ran[: len(ran) // 2]))


@leaks.variant(half_of_the_log)
def _(step: Step) -> Any:
    with operations() as ran:
        for _ in range(3):
            step()
    gc.collect()
    return sorted(of_each_memory(ran[len(ran) // 3 : 2 * len(ran) // 3]))


@leaks.mistake(breaks=LEAK)
def in_two_calls(step: Step) -> Any:
    """What the second call leaves behind is left out where a different call does not leave the same. Perhaps the names of two
    calls were compared: watched is the memory of one.
    """
    step()
    with operations() as second:
        step()
    with operations() as third:
        step()
    gc.collect()
    return sorted((Counter(of_each_memory(second)) & Counter(of_each_memory(third))).elements())


@leaks.variant(in_two_calls)
def _(step: Step) -> Any:
    with operations() as first:
        step()
    with operations() as second:
        step()
    step()
    gc.collect()
    return sorted((Counter(of_each_memory(first)) & Counter(of_each_memory(second))).elements())


@leaks.mistake(breaks=CALLS)
def four_calls(step: Step) -> Any:
    """step was called four times, and three are asked for: a step is slow, and trains the model."""
    return found(step, after=2)


@leaks.mistake(breaks=CALLS)
def third_of_four(step: Step) -> Any:
    """step was called four times, and the third was watched. Three are asked for: one call is enough to make what is made
    once.
    """
    return found(step, before=2)


@leaks.variant(four_calls)
def _(step: Step) -> Any:
    return found(step, after=3)


_so_far: list[str] = []


@leaks.mistake(breaks=EACH)
def of_earlier_calls(step: Step, names: list[str] = []) -> Any:  # noqa: B006
    """What an earlier call of leaks has found is named again. Perhaps its list of names, or of memories, is a default value or a
    global name: a default is made once, and all calls add to it.
    """
    names += found(step)
    return sorted(names)


@leaks.variant(of_earlier_calls)
def _(step: Step) -> Any:
    _so_far.extend(found(step))
    return sorted(_so_far)


@leaks.variant(of_earlier_calls)
def _(step: Step, ran: list[Operation] = []) -> Any:  # noqa: B006
    """The operations."""
    step()
    with operations() as now:
        step()
    ran.extend(now)
    step()
    gc.collect()
    return sorted(of_each_memory(ran))


# What counts as a leak.


@leaks.mistake(breaks=GARBAGE)
def garbage_named(step: Step) -> Any:
    """What an object in a circle of references holds is named. The garbage collector frees it: perhaps it was not asked before
    looking.
    """
    return found(step, collect=lambda: None)


@leaks.mistake(breaks=GARBAGE)
def collected_too_early(step: Step) -> Any:
    """What an object in a circle of references held until the third call is named. Perhaps the garbage collector was asked
    before that call: it only finds what nothing else holds by then.
    """
    step()
    with operations() as ran:
        step()
    gc.collect()
    step()
    return sorted(of_each_memory(ran))


@leaks.mistake(breaks=GARBAGE)
def youngest_generation(step: Step) -> Any:
    """What an object in a circle of references held until the third call is named, if that object had outlived a collection
    before. Perhaps only younger generations were collected: `gc.collect()` without a number collects all.
    """
    return found(step, collect=lambda: gc.collect(0))


@leaks.mistake(breaks=LEAK)
def all_that_ran(step: Step) -> Any:
    """Operations are named whose memory was freed long ago. Most of what a step makes is."""
    return found(step, names=lambda ran: [each.name for each in ran])


@leaks.variant(all_that_ran)
def _(step: Step) -> Any:
    return found(step, names=lambda ran: [each.name for each in ran for _ in each.memories])


@leaks.mistake(breaks=LEAK)
def large_ones_only(step: Step) -> Any:
    """A leak of a few bytes is left out. In a thousand steps there are a thousand, and each takes 512 bytes on a GPU, the
    smallest block.
    """
    return found(step, names=lambda ran: of_each_memory([each for each in ran if each.made > 1]))


@leaks.variant(large_ones_only)
def _(step: Step) -> Any:
    return found(step, names=lambda ran: of_each_memory([each for each in ran if each.bytes >= 1024]))


@leaks.mistake(breaks=FIRST)
def as_in_the_first_call(step: Step) -> Any:
    """No leak is named, though a large memory and a small one pile up. Perhaps what the first call left was taken away: a leak
    is left by each call, by the first one, too.
    """
    with operations() as first:
        step()
    with operations() as ran:
        step()
    step()
    gc.collect()
    return sorted((Counter(of_each_memory(ran)) - Counter(of_each_memory(first))).elements())


@leaks.variant(as_in_the_first_call)
def _(step: Step) -> Any:
    with operations() as first:
        step()
    names = [each.name for each in first]
    return found(
        step, before=0, names=lambda ran: [each for each in of_each_memory(ran) if each not in names]
    )


@leaks.mistake(breaks=MAKES)
def without_memory(step: Step) -> Any:
    """Operations are named that made no memory, such as views and edits in place, or `_local_scalar_dense`. Perhaps it was asked
    whether any of an operation's memories is freed: of none, none is.
    """
    return found(
        step,
        names=lambda ran: [each.name for each in ran if not any(one.expired() for one in each.memories)],
    )


class _Tensors(TorchDispatchMode):
    """Notes the tensors that operations return, by weak references."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[tuple[str, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        given = {each.untyped_storage()._cdata for each in tree_leaves(args) if isinstance(each, Tensor)}
        for each in tree_leaves(result):
            if isinstance(each, Tensor) and each.untyped_storage()._cdata not in given:
                self.made.append((func.overloadpacket.__name__, weakref.ref(each)))
        return result


@leaks.mistake(breaks=LEAK)
def by_objects_of_python(step: Step) -> Any:
    """Leaks are missing where no tensor of Python is left that looks at the memory: a storage or a graph keeps it as well.
    Perhaps the garbage collector's list of objects was searched.
    """

    def names(ran: list[Operation]) -> list[str]:
        seen = [each for each in gc.get_objects() if issubclass(type(each), Tensor)]
        alive = {each.untyped_storage()._cdata for each in seen}
        return [each.name for each in ran for memory in each.memories if memory.cdata in alive]

    return found(step, names=names)


@leaks.mistake(breaks=LEAK)
def by_what_was_returned(step: Step) -> Any:
    """Leaks are missing where a view, a storage or an array keeps the memory, and not the tensor that the operation returned.
    Perhaps that tensor was watched, and not its memory.
    """
    step()
    watch = _Tensors()
    with watch:
        step()
    step()
    gc.collect()
    return sorted(name for name, tensor in watch.made if tensor() is not None)


@leaks.mistake(breaks=MAKES)
def by_the_name(step: Step) -> Any:
    """Names are taken together: where one result of an operation stays and a different one goes, all its calls are named."""

    def all_of(ran: list[Operation]) -> list[str]:
        stay = set(of_each_memory(ran))
        return [each.name for each in ran for _ in each.memories if each.name in stay]

    return found(step, names=all_of)


# What is returned.


@leaks.mistake(breaks=EACH)
def each_name_once(step: Step) -> Any:
    """A name stands there once, though several memories of that operation stay: one name for each is asked for. How much piles
    up cannot be seen from a set.
    """
    return found(step, names=lambda ran: list(set(of_each_memory(ran))))


@leaks.variant(each_name_once)
def _(step: Step) -> Any:
    return found(step, returned=lambda names: sorted(Counter(names)))


@leaks.mistake(breaks=EACH)
def one_for_each_operation(step: Step) -> Any:
    """An operation that leaves two memories behind is named once. max makes values and indices, LayerNorm three memories."""
    return found(
        step,
        names=lambda ran: [each.name for each in ran if any(not one.expired() for one in each.memories)],
    )


@leaks.mistake(breaks=EACH)
def all_memories_of_it(step: Step) -> Any:
    """An operation of whose memories one stays and one goes is named for both. Each memory counts by itself."""
    return found(
        step,
        names=lambda ran: [
            each.name
            for each in ran
            if any(not one.expired() for one in each.memories)
            for _ in each.memories
        ],
    )


@leaks.mistake(breaks=EACH)
def if_all_of_it_stays(step: Step) -> Any:
    """An operation is left out of whose memories the first goes and others stay. Perhaps only operations are named of which
    all memories stay, or only the first memory of each is looked at: each memory counts by itself.
    """
    return found(
        step,
        names=lambda ran: [
            each.name
            for each in ran
            if not any(one.expired() for one in each.memories)
            for _ in each.memories
        ],
    )


@leaks.variant(if_all_of_it_stays)
def _(step: Step) -> Any:
    return found(
        step,
        names=lambda ran: [each.name for each in ran if each.memories and not each.memories[0].expired()],
    )


@leaks.mistake(breaks=NAMES)
def without_underscores(step: Step) -> Any:
    """Names are given without the underscore that they begin with. `_softmax` is what softmax calls, and the name that
    `lab.operations` gives.
    """
    return found(step, names=lambda ran: [name.strip("_") for name in of_each_memory(ran)])


@leaks.mistake(breaks=NAMES)
def underscores_left_out(step: Step) -> Any:
    """Operations whose names begin with an underscore are left out. Their memory stays like any other."""
    return found(step, names=lambda ran: [name for name in of_each_memory(ran) if name[0] != "_"])


@leaks.mistake(breaks=SORTED)
def in_the_order_of_calls(step: Step) -> Any:
    """The names are right, and stand in a different order: perhaps that of the calls. Sorted ones can be compared."""
    return found(step, returned=list)


@leaks.variant(in_the_order_of_calls)
def _(step: Step) -> Any:
    return found(step, returned=lambda names: sorted(names, reverse=True))


@leaks.mistake(breaks=NAMES)
def a_counter(step: Step) -> Any:
    """The result is a Counter, and a list is asked for: a name for each memory."""
    return found(step, returned=Counter)


@leaks.mistake(breaks=NAMES)
def a_set(step: Step) -> Any:
    """The result is a set, and a list is asked for: a set has each name once, and no order."""
    return found(step, returned=set)


@leaks.mistake(breaks=NAMES)
def operations_themselves(step: Step) -> Any:
    """The entries are not names: perhaps they are the operations themselves. `each.name` is the name."""
    step()
    with operations() as ran:
        step()
    step()
    gc.collect()
    return [each for each in ran for memory in each.memories if not memory.expired()]


# What is kept.


@leaks.mistake(breaks=NOT_KEPT)
def result_of_the_watched_call(step: Step) -> Any:
    """What the watched call returned is named where the caller of step is to let it go: perhaps a name held it while the
    next call ran.
    """
    step()
    with operations() as ran:
        result = step()
    step()
    gc.collect()
    names = sorted(of_each_memory(ran))
    del result
    return names


@leaks.mistake(breaks=NOT_KEPT)
def result_over_the_third_call(step: Step) -> Any:
    """What the watched call returned was alive when the third call began, and is named nowhere: perhaps a name held it while
    that call ran, and let it go before the memories were looked at. Two results are there at once.
    """
    step()
    with operations() as ran:
        result = step()
    step()
    del result
    gc.collect()
    return sorted(of_each_memory(ran))


@leaks.mistake(breaks=NOT_KEPT)
def all_results(step: Step) -> Any:
    """What the first call returned is kept until the end, and so is that of the others: perhaps in a list, or under names of
    their own.
    """
    results = [step()]
    with operations() as ran:
        results.append(step())
    results.append(step())
    gc.collect()
    return sorted(of_each_memory(ran))


@leaks.mistake(breaks=NOT_KEPT)
def result_until_the_next(step: Step) -> Any:
    """What a call returned was alive when the next one began: perhaps under a name that the next result takes over. So two
    results are there at once.
    """
    result = step()
    with operations() as ran:
        result = step()
    result = step()
    gc.collect()
    names = sorted(of_each_memory(ran))
    del result
    return names


_held: list[Any] = []


@leaks.mistake(breaks=NOTHING)
def last_result_held(step: Step) -> Any:
    """When leaks has returned, what the last call returned is still alive: an attribute or a global name holds it."""
    step()
    with operations() as ran:
        step()
    _held[:] = [step()]
    gc.collect()
    return sorted(of_each_memory(ran))


class _Holding(TorchDispatchMode):
    """Holds all results of operations."""

    def __init__(self) -> None:
        super().__init__()
        self.results: list[Any] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.results.append(result)
        return result


_modes: list[Any] = []


@leaks.mistake(breaks=NOTHING)
def last_call_held(step: Step) -> Any:
    """When leaks has returned, memory is still alive that step had let go: perhaps something that lives on holds the results of
    operations.
    """
    step()
    with operations() as ran:
        step()
    holding = _Holding()
    with holding:
        step()
    gc.collect()
    names = sorted(of_each_memory(ran))
    _modes[:] = holding.results[:1]
    return names


@leaks.mistake(breaks=MAKES)
def watched_by_what_it_holds(step: Step) -> Any:
    """All memory that the watched call made is named. Perhaps its results were put into a list to look at them later: nothing
    in that list can be freed.
    """
    step()
    holding = _Holding()
    with operations() as ran, holding:
        step()
    step()
    gc.collect()
    return sorted(of_each_memory(ran))


_known: dict[Any, list[str]] = {}


@leaks.mistake(breaks=CALLS)
def kept_by_step(step: Step) -> Any:
    """The names of an earlier call came again, and step did not run: perhaps results are kept, and found again by the step."""
    if step not in _known:
        _known[step] = found(step)
    return _known[step]
