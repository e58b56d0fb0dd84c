"""States in words, what `slim` should make of them, and what is wrong with what came."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from helpers.check.compare import shown
from helpers.check.trial import Mismatch, Trial

Answer = Callable[..., Any]
State = dict[str, Tensor]
Fact = tuple[Any, ...]
STAYS = "Nothing about `state` and its tensors changes."


@dataclass(frozen=True)
class Case:
    """A state, in words. also: other sizes, in bytes, that a reader of the docstring may give to an entry."""

    words: str
    state: State
    also: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Unit:
    """Entries that have one new memory: those that belong together, or one alone."""

    names: tuple[str, ...]
    first: int  # the cell of the old memory with which the new one begins
    span: int  # bytes from the first to the last element
    side_by_side: int  # bytes of the elements, of one that is alone

    @property
    def bytes(self) -> int:
        return self.span if len(self.names) > 1 else min(self.span, self.side_by_side)


@dataclass(frozen=True)
class Wrong:
    """What is wrong: a sentence, what was expected, what came, and the same as plain data."""

    sentence: str
    expected: str
    got: str
    fact: Fact


def numbers(trial: Trial, *shape: int, dtype: torch.dtype = torch.float32, plus: int = 0) -> Tensor:
    """A memory of its own with different numbers in all cells. plus: so that two memories have no number in common."""
    count = torch.Size(shape).numel()
    return (torch.randperm(count, generator=trial.generator) + 1 + plus).to(dtype).reshape(shape)


def memory(t: Tensor) -> int:
    return t.untyped_storage()._cdata


def cells(t: Tensor) -> Tensor:
    """The cell of its memory in which each element lies."""
    found = torch.full(t.shape, t.storage_offset())
    for dim, (size, stride) in enumerate(zip(t.shape, t.stride(), strict=True)):
        found += (torch.arange(size) * stride).reshape(-1, *[1] * (t.dim() - 1 - dim))
    return found


def units(state: State) -> list[Unit]:
    """The new memories of entries that have one old memory."""
    open_: list[tuple[int, int, list[str]]] = []
    found = []
    for name, t in state.items():
        if not t.numel():
            found.append(Unit((name,), 0, 0, 0))
            continue
        places = cells(t)
        first, stop, together = int(places.min()), int(places.max()) + 1, [name]
        for other in [each for each in open_ if each[0] < stop and first < each[1]]:
            open_.remove(other)
            first, stop = min(first, other[0]), max(stop, other[1])
            together += other[2]
        open_.append((first, stop, together))
    for first, stop, together in sorted(open_):
        t = state[together[0]]
        found.append(Unit(tuple(sorted(together)), first, (stop - first) * t.element_size(), t.nbytes))
    return found


@dataclass(frozen=True)
class Before:
    """What the state was before the call."""

    entries: list[tuple[str, Tensor]]
    values: dict[str, Tensor]
    seen: dict[str, Fact]
    memories: dict[int, Tensor]

    @classmethod
    def of(cls, state: State) -> Before:
        return cls(
            list(state.items()),
            {name: t.detach().clone() for name, t in state.items()},
            {name: _seen(t) for name, t in state.items()},
            {memory(t): _raw(t).clone() for t in state.values()},
        )

    def changed(self, state: State) -> tuple[str, str] | None:
        """What has changed, in words and as plain data."""
        now = list(state.items())
        if len(now) != len(self.entries) or any(
            one != other or t is not u for (one, t), (other, u) in zip(now, self.entries, strict=True)
        ):
            return "`state` has other entries than before the call.", "entries"
        for name, t in now:
            if _seen(t) != self.seen[name]:
                return (
                    f"{name!r} in `state` is not what it was: its memory, its strides, its size or requires_grad.",
                    "tensor",
                )
            if not torch.equal(_raw(t), self.memories[memory(t)]):
                return f"The memory of {name!r} in `state` holds other values than before.", "values"
        return None


def _seen(t: Tensor) -> Fact:
    storage = t.untyped_storage()
    return (
        storage._cdata,
        storage.data_ptr(),
        storage.nbytes(),
        t.storage_offset(),
        tuple(t.shape),
        t.stride(),
        t.requires_grad,
        t.is_leaf,
    )


def _raw(t: Tensor) -> Tensor:
    """All bytes of its memory."""
    return torch.empty(0, dtype=torch.uint8).set_(t.untyped_storage())


def slimmed(trial: Trial, answer: Answer, cases: Iterable[Case], *, contents_only: bool = False) -> None:
    """Wrong where `answer(state)` is not what is asked. Observed is what is wrong in each case that is.

    contents_only: names, shapes, dtypes and values only, not the memories.
    """
    bad: list[tuple[Case, list[Wrong]]] = []
    raised: list[Fact] = []
    trial.arguments_stay(STAYS)
    for case in cases:
        trial.given(case.words)
        before = Before.of(case.state)
        try:
            got = trial.call(answer, case.state)
        except (NotImplementedError, Mismatch):
            raise
        except Exception as error:
            if not bad:
                raise
            raised.append((case.words, "raised", type(error).__name__))
            continue
        if changed := before.changed(case.state):
            sentence, what = changed
            trial.fail(sentence, expected=STAYS, observed=("state", what), about="arguments")
        _is_new_dict(trial, got, case.state)
        found = list(_contents(got, before))
        if not contents_only:
            found += _memories(got, case)
        if found:
            bad.append((case, found))
    if bad:
        case, found = bad[0]
        trial.given(case.words)
        trial.fail(
            f"{case.words}: {found[0].sentence}",
            expected=found[0].expected,
            got=found[0].got,
            observed=[(each.words, [wrong.fact for wrong in some]) for each, some in bad[:30]] + raised[:30],
        )


def _is_new_dict(trial: Trial, got: Any, state: State) -> None:
    if not isinstance(got, dict):  # asked first: the texts of all tensors take longer than all else here
        trial.fail(
            f"The result is of the type {type(got).__name__}, and no dict.",
            expected="a dict",
            got=shown(got),
            observed=("no dict", type(got).__name__),
        )
    trial.true(
        got is not state,
        "The result is `state` itself. Asked is a new dict: who edits it must not edit the state.",
        expected="a new dict",
        got="the same dict",
        observed="the same dict",
    )
    lost = sorted(set(state) - set(got))
    trial.true(
        list(got) == list(state),
        f"The names are {list(got)}, and should be {list(state)}, in this order.",
        expected=str(list(state)),
        got=str(list(got)),
        observed=("names", lost or "order" if set(got) <= set(state) else "others"),
    )
    for name, t in got.items():
        if not isinstance(t, Tensor):
            trial.fail(
                f"{name!r} is of the type {type(t).__name__}, and no tensor.",
                expected="a tensor",
                got=shown(t),
                observed=("no tensor", type(t).__name__),
            )


def _contents(got: State, before: Before) -> Iterable[Wrong]:
    for name, want in before.values.items():
        t = got[name]
        if t.shape != want.shape:
            yield _of(f"{name!r} has another shape.", tuple(want.shape), tuple(t.shape), ("shape", name))
        elif t.dtype != want.dtype:
            yield _of(f"{name!r} has another dtype.", want.dtype, t.dtype, ("dtype", name))
        elif not torch.equal(t.detach(), want):
            yield _of(f"{name!r} has other values.", shown(want), shown(t.detach()), ("values", name))


def _memories(got: State, case: Case) -> Iterable[Wrong]:
    state = case.state
    homes: dict[int, list[str]] = {}
    for name, t in state.items():
        homes.setdefault(memory(t), []).append(name)
    wanted: list[Unit] = []
    for names in homes.values():
        old = state[names[0]].untyped_storage().nbytes()
        parts = units({name: state[name] for name in names})
        if (new := sum(part.bytes for part in parts)) < old:
            wanted += parts
            for name in names:
                yield from _left(name, got[name], state, old, new)
        else:
            yield from _kept(names, got, state, old)
    renewed = {name for part in wanted for name in part.names if memory(got[name]) not in homes}
    yield from _shared(wanted, renewed, got, case)


def _left(name: str, t: Tensor, state: State, old: int, new: int) -> Iterable[Wrong]:
    """A tensor that should have left its old memory."""
    storage = t.untyped_storage()
    want = f"a copy; the entries of this memory need {new} bytes together"
    if any(storage._cdata == memory(other) for other in state.values()):
        same = t is state[name]
        yield _of(
            f"{name!r} still keeps {storage.nbytes()} bytes of old memory; it was not copied.",
            want,
            "the same object" if same else "a view of the old memory",
            ("old object" if same else "old memory", name),
        )
        return
    for other in state.values():
        start, size = other.untyped_storage().data_ptr(), other.untyped_storage().nbytes()
        if storage.nbytes() and start <= storage.data_ptr() < start + size:
            yield _of(
                f"The memory of {name!r} is a piece of the old one and no copy: while it is used, all {size} bytes live.",
                want,
                "a storage that lies within the old one",
                ("within the old memory", name),
            )
            break
    if t.requires_grad:
        yield _of(
            f"{name!r} is new and requires grad.",
            "requires_grad=False",
            "requires_grad=True",
            ("requires grad", name),
        )


def _kept(names: Sequence[str], got: State, state: State, old: int) -> Iterable[Wrong]:
    """Tensors that should be the same objects."""
    who = _listed(names)
    for name in names:
        if got[name] is not state[name]:
            view = memory(got[name]) == memory(state[name])
            yield _of(
                f"The memory of {who} has {old} bytes, and a new one would have no fewer. Yet {name!r} is another object.",
                "the same object",
                "another tensor with the same memory" if view else "a copy",
                ("another object" if view else "copied", name),
            )


def _shared(wanted: list[Unit], renewed: set[str], got: State, case: Case) -> Iterable[Wrong]:
    """Who of the new ones has a memory with whom, and how large it is."""
    homes: dict[Any, list[str]] = {}
    for name in sorted(renewed):
        t = got[name]
        # Two of no bytes share nothing.
        homes.setdefault(memory(t) if t.untyped_storage().nbytes() else name, []).append(name)
    home_of = {name: home for home, names in homes.items() for name in names}
    for part in wanted:
        names = [name for name in part.names if name in renewed]
        split = sorted({tuple(n for n in homes[home_of[name]] if n in names) for name in names})
        if len(split) > 1:
            yield _of(
                f"{_listed(names)} belong together: their ranges overlap, perhaps through others. "
                f"They have {len(split)} memories.",
                "one memory",
                " / ".join(_listed(some) for some in split),
                ("apart", split),
            )
    whole = {part.names for part in wanted}
    for names in homes.values():
        parts = [part for part in wanted if set(part.names) & set(names)]
        if len(parts) > 1:
            yield _of(
                f"{_listed(names)} have one memory, and do not all belong together: a range of one ends before "
                "that of another begins, or has nothing, or lies in a different memory.",
                " / ".join(_listed([name for name in names if name in part.names]) for part in parts),
                f"one memory of {got[names[0]].untyped_storage().nbytes()} bytes",
                ("joined", names),
            )
    for part in wanted:
        names = homes[home_of[part.names[0]]] if part.names[0] in renewed else []
        if tuple(names) in whole:
            yield from _size(part, got, case)


def _size(part: Unit, got: State, case: Case) -> Iterable[Wrong]:
    """The size of a memory, and where in it the tensors lie."""
    name, size = part.names[0], got[part.names[0]].untyped_storage().nbytes()
    alone = len(part.names) == 1
    why = f"Its range has {part.span} bytes, its elements side by side {part.side_by_side}."
    if not alone:
        why = f"From the first to the last element of any of them it is {part.span} bytes."
    if size != part.bytes and size != case.also.get(name):
        yield _of(
            f"The memory of {_listed(part.names)} has {size} bytes, and should have {part.bytes}. {why}",
            f"{part.bytes} bytes",
            f"{size} bytes",
            ("bytes", part.names, size),
        )
    elif not alone:
        for name in part.names:
            t = got[name]
            if t.shape == case.state[name].shape and not torch.equal(
                cells(t), cells(case.state[name]) - part.first
            ):
                yield _of(
                    f"{name!r} does not lie in the new memory as it lay in the old one: it overlaps differently "
                    "with the others.",
                    f"from cell {case.state[name].storage_offset() - part.first} on, strides {case.state[name].stride()}",
                    f"from cell {t.storage_offset()} on, strides {t.stride()}",
                    ("elsewhere", name),
                )


def _of(sentence: str, expected: Any, got: Any, fact: Fact) -> Wrong:
    return Wrong(sentence, str(expected), str(got), fact)


def _listed(names: Sequence[str]) -> str:
    quoted = [repr(name) for name in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " and " + quoted[-1]


def intervals(size: int) -> list[slice]:
    """All slices of a vector with one element or more, each once, with steps of 1 and 2."""
    runs = [slice(start, stop) for start in range(size) for stop in range(start + 1, size + 1)]
    odd = [slice(start, stop, 2) for start in range(size) for stop in range(start + 3, size + 1, 2)]
    return runs + odd
