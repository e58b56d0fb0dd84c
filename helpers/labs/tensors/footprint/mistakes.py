"""What people write for 11.footprint, and why it is wrong."""

from __future__ import annotations

import sys
from functools import reduce
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from helpers.labs.tensors.footprint.exercise import (
    ALL,
    ANEW,
    ANY_NUMBER,
    LETS_GO,
    META,
    ONCE,
    QUIET,
    SUM,
    footprint,
)

THE_STORAGE, ALL_BYTES = ALL


def on_cpu(tensors: tuple[Tensor, ...]) -> list[Tensor]:
    return [t for t in tensors if not t.is_meta]


def once(tensors: list[Tensor]) -> dict[int, int]:
    return {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in tensors}


# What is counted of a tensor.


@footprint.mistake(breaks=ALL_BYTES)
def what_they_show(*tensors: Tensor) -> int:
    """Counted is what the tensors show, element by element: a row of a matrix keeps the matrix, and an expanded bias only the bias."""
    return sum(t.numel() * t.element_size() for t in on_cpu(tensors))


@footprint.variant(what_they_show)
def _(*tensors: Tensor) -> int:
    return sum(t.nbytes for t in on_cpu(tensors))


@footprint.mistake(breaks=ALL_BYTES)
def what_they_show_once(*tensors: Tensor) -> int:
    """Each storage has an entry, and it says what one of its tensors shows. A tensor keeps all bytes of its storage."""
    return sum({t.untyped_storage()._cdata: t.nbytes for t in on_cpu(tensors)}.values())


@footprint.mistake(breaks=ALL_BYTES)
def what_each_object_shows(*tensors: Tensor) -> int:
    """Each Python object counts once, with what it shows. Two views of one storage are two objects, and a view keeps more than it shows."""
    return sum({id(t): t.nbytes for t in on_cpu(tensors)}.values())


@footprint.mistake(breaks=ALL_BYTES)
def up_to_the_last_element(*tensors: Tensor) -> int:
    """Counted is from the first to the last element that is reached. What lies before and behind lives as long."""

    def span(t: Tensor) -> int:
        if not t.numel():
            return 0
        return (1 + sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True))) * t.element_size()

    return sum({t.untyped_storage()._cdata: span(t) for t in on_cpu(tensors)}.values())


@footprint.mistake(breaks=ALL_BYTES)
def from_the_start_to_the_last_element(*tensors: Tensor) -> int:
    """Counted is from the start of the storage to the last element that is reached. What lies behind it lives as long."""
    ends: dict[int, int] = {}
    for t in on_cpu(tensors):
        steps = sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True))
        end = (t.storage_offset() + steps + 1) * t.element_size() if t.numel() else 0
        ends[t.untyped_storage()._cdata] = max(end, ends.get(t.untyped_storage()._cdata, 0))
    return sum(ends.values())


@footprint.mistake(breaks=ALL_BYTES)
def empty_ones_skipped(*tensors: Tensor) -> int:
    """A tensor without elements counts nothing, though its storage has bytes. It keeps all of them, to show none."""
    return sum(once([t for t in on_cpu(tensors) if t.numel()]).values())


@footprint.mistake(breaks=THE_STORAGE)
def elements_of_the_storage(*tensors: Tensor) -> int:
    """Counted are elements, and not bytes."""
    return sum(
        {
            t.untyped_storage()._cdata: t.untyped_storage().nbytes() // t.element_size()
            for t in on_cpu(tensors)
        }.values()
    )


@footprint.mistake(breaks=THE_STORAGE)
def four_bytes_an_element(*tensors: Tensor) -> int:
    """An element has four bytes whatever its dtype. `untyped_storage().nbytes()` knows how many there are."""
    return sum(
        {
            t.untyped_storage()._cdata: 4 * (t.untyped_storage().nbytes() // t.element_size())
            for t in on_cpu(tensors)
        }.values()
    )


@footprint.mistake(breaks=THE_STORAGE)
def size_of_the_python_object(*tensors: Tensor) -> int:
    """Counted is the Python object, too: `sys.getsizeof` of a storage adds a few dozen bytes to what it holds."""
    return sum(
        {t.untyped_storage()._cdata: sys.getsizeof(t.untyped_storage()) for t in on_cpu(tensors)}.values()
    )


@footprint.mistake(breaks=ALL_BYTES)
def of_the_base(*tensors: Tensor) -> int:
    """A view counts as its base, with what the base shows. A base may be a part of its storage, or show it several times."""
    bases = {
        id(base): base for t in on_cpu(tensors) if (base := t if t._base is None else t._base) is not None
    }
    return sum({t.untyped_storage()._cdata: t.nbytes for t in bases.values()}.values())


# Once each.


@footprint.mistake(breaks=ONCE)
def storages_of_each(*tensors: Tensor) -> int:
    """A storage that two of the tensors use counts twice: a tied weight, a row and its matrix."""
    return sum(t.untyped_storage().nbytes() for t in on_cpu(tensors))


@footprint.variant(storages_of_each)
def _(*tensors: Tensor) -> int:
    return sum(len(t.untyped_storage()) for t in on_cpu(tensors))


@footprint.mistake(breaks=ONCE)
def once_for_each_object(*tensors: Tensor) -> int:
    """The same tensor counts once, and two views of one storage count twice: they are two Python objects, with one memory."""
    return sum(t.untyped_storage().nbytes() for t in {id(t): t for t in on_cpu(tensors)}.values())


@footprint.variant(once_for_each_object)
def _(*tensors: Tensor) -> int:
    return sum(t.untyped_storage().nbytes() for t in set(on_cpu(tensors)))


@footprint.mistake(breaks=ONCE)
def by_where_they_begin(*tensors: Tensor) -> int:
    """Two views that begin in different places count twice: `t.data_ptr()` is where a tensor begins, and not its storage."""
    return sum({t.data_ptr(): t.untyped_storage().nbytes() for t in on_cpu(tensors)}.values())


@footprint.mistake(breaks=ONCE)
def with_the_one_before(*tensors: Tensor) -> int:
    """A storage counts again when a different one came between: only neighbours are compared."""
    total, last = 0, None
    for t in on_cpu(tensors):
        storage = t.untyped_storage()
        total += storage.nbytes() if storage._cdata != last else 0
        last = storage._cdata
    return total


@footprint.mistake(breaks=ONCE)
def once_for_each_dtype(*tensors: Tensor) -> int:
    """A storage counts once for each dtype with which it is read. It is the same memory."""
    return sum(
        {
            (t.untyped_storage()._cdata, t.dtype): t.untyped_storage().nbytes() for t in on_cpu(tensors)
        }.values()
    )


@footprint.mistake(breaks=ONCE)
def once_for_each_base(*tensors: Tensor) -> int:
    """`detach()` of a tensor counts as a memory of its own: its `_base` is None. What two tensors share is the storage."""
    found: dict[int, int] = {}
    for t in on_cpu(tensors):
        found[id(t if t._base is None else t._base)] = t.untyped_storage().nbytes()
    return sum(found.values())


@footprint.mistake(breaks=SUM)
def once_for_each_size(*tensors: Tensor) -> int:
    """Different memories of one size count as one: the sizes were put into a set."""
    return sum({t.untyped_storage().nbytes() for t in on_cpu(tensors)})


@footprint.mistake(breaks=SUM)
def the_largest(*tensors: Tensor) -> int:
    """Only the largest memory counts. All of them are kept."""
    return max(once(on_cpu(tensors)).values(), default=0)


@footprint.mistake(breaks=ANY_NUMBER)
def one_at_least(*tensors: Tensor) -> int:
    """Without a tensor it raises. No tensors keep no bytes: 0."""
    first, *rest = on_cpu(tensors)
    return sum(once([first, *rest]).values())


@footprint.variant(one_at_least)
def _(*tensors: Tensor) -> int:
    return reduce(lambda a, b: a + b, once(on_cpu(tensors)).values())


@footprint.variant(one_at_least)
def _(*tensors: Tensor) -> int:
    sizes = list(once(on_cpu(tensors)).values())
    return sizes[0] + sum(sizes[1:])


@footprint.variant(one_at_least)
def _(*tensors: Tensor) -> int:
    only = tensors[0] if len(tensors) < 2 else None
    return 0 if only is not None and only.is_meta else sum(once(on_cpu(tensors)).values())


@footprint.variant(one_at_least)
def _(first: Tensor, *others: Tensor) -> int:
    return sum(once(on_cpu((first, *others))).values())


@footprint.variant(one_at_least)
def _(*tensors: Tensor) -> int:
    *_, total = accumulate(once(on_cpu(tensors)).values())
    return total


@footprint.variant(one_at_least)
def _(*tensors: Tensor) -> int:
    everything = iter(tensors)
    found = once(on_cpu((next(everything),)))
    return sum((found | once(on_cpu(tuple(everything)))).values())


@footprint.mistake(breaks=ANY_NUMBER)
def a_list(tensors: Any) -> int:
    """It takes one argument. Tensors are given one beside the other, any number of them: `footprint(a, b, c)`."""
    return sum(once(list(tensors)).values())


# Meta, and what else.


@footprint.mistake(breaks=META)
def meta_counts(*tensors: Tensor) -> int:
    """Tensors on the meta device count: their storages tell how many bytes they would have, and have none."""
    return sum(once(list(tensors)).values())


@footprint.mistake(breaks=META)
def by_the_storages_address(*tensors: Tensor) -> int:
    """Something on the meta device counts: perhaps storages are told apart by their address, which is 0 for all that have no memory."""
    return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}.values())


@footprint.mistake(breaks=META)
def stops_at_meta(*tensors: Tensor) -> int:
    """With a tensor on the meta device among them all count as nothing. The others keep what they keep."""
    return 0 if any(t.is_meta for t in tensors) else sum(once(list(tensors)).values())


@footprint.mistake(breaks=META)
def ends_at_meta(*tensors: Tensor) -> int:
    """What comes behind a tensor on the meta device does not count. Perhaps `break` where `continue` was meant."""
    found: dict[int, int] = {}
    for t in tensors:
        if t.is_meta:
            break
        found[t.untyped_storage()._cdata] = t.untyped_storage().nbytes()
    return sum(found.values())


@footprint.mistake(breaks=SUM)
def with_gradients(*tensors: Tensor) -> int:
    """The gradient of a tensor counts, too, though it was not given. It is a tensor of its own."""
    both = [each for t in on_cpu(tensors) for each in (t, t.grad if t.is_leaf else None) if each is not None]
    return sum(once(both).values())


@footprint.mistake(breaks=SUM)
def a_float(*tensors: Tensor) -> Any:
    """The result is no int. Bytes are whole."""
    return float(sum(once(on_cpu(tensors)).values()))


@footprint.variant(a_float)
def _(*tensors: Tensor) -> Any:
    return torch.tensor(sum(once(on_cpu(tensors)).values()))


@footprint.mistake(breaks=QUIET)
def by_operations(*tensors: Tensor) -> int:
    """Operations of torch ran. The numbers are there without: `untyped_storage().nbytes()` runs none."""
    return int(sum(torch.tensor(each) for each in once(on_cpu(tensors)).values()))


_kept: list[Any] = []
_seen: dict[int, int] = {}


@footprint.mistake(breaks=LETS_GO)
def keeps_what_it_saw(*tensors: Tensor) -> int:
    """The memory lives on after the call. Perhaps tensors or storages are kept in a list or a dict outside of the function."""
    _kept.extend(t.untyped_storage() for t in on_cpu(tensors))
    return sum(once(on_cpu(tensors)).values())


def _counts_what_is_new(*tensors: Tensor) -> int:
    new = {name: size for name, size in once(on_cpu(tensors)).items() if name not in _seen}
    _seen.update(new)
    return sum(new.values())


footprint.add_mistake(
    "counts_what_is_new",
    _counts_what_is_new,
    why="A tensor that an earlier call has counted does not count again. Perhaps what was seen is kept outside of the "
    "function.",
    breaks=ANEW,
    at="one tensor with a memory of its own",  # what it does elsewhere depends on what ran before
)
