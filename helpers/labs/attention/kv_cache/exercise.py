"""Exercise 13.kv_cache: the memory of keys and values, taken once, and a causal look from the newest positions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from helpers.check.operations import operations
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.attention.kv_cache.inputs import Positions, counted, fed, held, positions, right

kv_cache = Exercise(
    "13.kv_cache",
    "Keys and values are kept",
    objective="Write the cache of one layer: memory taken once, and a causal look from the new positions at all so far.",
    minutes=25,
    difficulty="medium",
    names=("KVCache",),
    kind="class",
    hints=[
        "Take two tensors of shape (batch, heads, length, width) in `__init__`, and count how many positions are taken. "
        "A call writes behind them; `keys` and `values` are slices of these two.",
        "The first of the new positions has `past` positions before it, and looks at `past + 1` keys. Which argument of "
        "`tril` moves the diagonal? `is_causal=True` begins at the first key, whatever stands before.",
        "Ask first whether there is room, before anything is written. An assignment to a slice copies, and with "
        "`torch.no_grad()` around it nothing is recorded.",
        "`self._keys[:, :, past : past + new] = k`, the same for v, then `self._held += new`. The mask is "
        "`torch.ones(new, past + new, dtype=torch.bool).tril(past)`, for `F.scaled_dot_product_attention(q, self.keys, "
        "self.values, attn_mask=mask)`.",
    ],
)

ATTENDS = (
    "It keeps copies of k and v, and returns what causal attention gives for q: each position looks at itself and at all "
    "before it, those of earlier calls, too."
)
VIEWS = (
    "`cache.keys` and `cache.values`, of shape (B, H, len(cache), D), are views of the memory that was taken at the start, "
    "in each call the same."
)
ONLY_NEW = (
    "A call copies only what is new: where few positions are new, it makes no tensor as large as the keys that are there "
    "already."
)


@kv_cache.property(
    "what lay in the memory before does not matter",
    asks=ATTENDS,
)
def no_garbage(answer: Any, trial: Trial) -> None:
    # First, since such an answer gives NaN now and then everywhere. It speaks of nothing else: without free room NaN has a
    # different cause.
    results = []
    for room in (11, 4):
        now = positions(trial, room=room)
        with _empty_is_nan():
            cache = now.empty(answer)
        try:
            results.append(bool(cache.attend(*now.of(0, 4)).isnan().any()))
        except NotImplementedError:
            raise
        except Exception:  # for other properties to tell
            return
    trial.given(
        "KVCache(2, 3, 11, 5), made where memory that torch.empty takes holds NaN; attend with 4 positions"
    )
    trial.true(
        results != [True, False],
        "The result is NaN: what lay in memory that nobody has written yet went into it. A weight of 0 times NaN is NaN.",
        expected="a result made of keys and values only",
        got="NaN; none where the room is full",
        observed="garbage",
    )


@kv_cache.property(
    "the first call: causal attention within it",
    asks=(
        "`cache.attend(q, k, v)` takes three tensors of shape (B, H, new, D), of the `new` positions that come next.",
        ATTENDS,
        "Scores are divided by sqrt(D).",
    ),
)
def first_call(answer: Any, trial: Trial) -> None:
    now = positions(trial)
    trial.given("KVCache(2, 3, 11, 5), then attend with 4 positions")
    fed(answer, trial, now, (4,))


@kv_cache.property(
    "one position a call looks at all before it",
    asks=(
        ATTENDS,
        "The keys and values of one layer for all positions so far, in memory that is taken once.",
    ),
)
def one_by_one(answer: Any, trial: Trial) -> None:
    now = positions(trial)
    trial.given("KVCache(2, 3, 11, 5), then attend with 3, 1 and 1 positions")
    fed(answer, trial, now, (3, 1, 1))


@kv_cache.property(
    "several positions behind earlier ones: each looks back as far as it goes, and not ahead",
    asks=(ATTENDS, "`new` may be any number from 1 on, in every call."),
)
def several_behind(answer: Any, trial: Trial) -> None:
    now = positions(trial)
    trial.given("KVCache(2, 3, 11, 5), then attend with 2, 4 and 3 positions")
    fed(answer, trial, now, (2, 4, 3))


@kv_cache.property(
    "calls of any length, in any order, until the room is full",
    asks=(
        "`new` may be any number from 1 on, in every call.",
        "If there is no room for all of k and v, ValueError is raised, and the cache stays as it was.",
    ),
)
def any_length(answer: Any, trial: Trial) -> None:
    for sizes in ((1, 5, 1, 2), (9,)):
        now = positions(trial, room=9, apart=True)
        trial.given(f"KVCache(2, 3, 9, 5), then attend with {_listed(sizes)} positions; not contiguous")
        fed(answer, trial, now, sizes)
    now = positions(trial, (1, 1, 6, 1), 6)
    trial.given("KVCache(1, 1, 6, 1), then attend with 1, 2 and 3 positions")
    fed(answer, trial, now, (1, 2, 3))


@kv_cache.property(
    "large scores give no overflow",
    asks=ATTENDS,
)
def large_scores(answer: Any, trial: Trial) -> None:
    now = positions(trial, times=1000.0)
    trial.given("KVCache(2, 3, 11, 5), attend with 3, 1 and 3 positions; the scores go up to 1,000 and more")
    fed(answer, trial, now, (3, 1, 3), rtol=1e-2, atol=1e-2)


@kv_cache.property(
    "len(cache) is the number of positions",
    asks="`len(cache)` is the number of positions that it holds, 0 at first.",
)
def has_a_length(answer: Any, trial: Trial) -> None:
    now = positions(trial)
    trial.given("KVCache(2, 3, 11, 5), then attend with 4, 1 and 2 positions")
    cache, start, found = now.empty(answer), 0, []
    found.append(len(cache))
    for size in (4, 1, 2):
        cache.attend(*now.of(start, start + size))
        start += size
        found.append(len(cache))
    trial.true(
        found == [0, 4, 5, 7],
        f"len(cache) is {_listed(found)}: at first, and after each call.",
        expected="0, 4, 5 and 7",
        got=_listed(found),
        observed=found,
    )


@kv_cache.property(
    "keys and values are those of all positions so far, and nothing else",
    asks="`cache.keys` and `cache.values`, of shape (B, H, len(cache), D)",
)
def holds_what_came(answer: Any, trial: Trial) -> None:
    now = positions(trial)
    cache, start = now.empty(answer), 0
    trial.given("KVCache(2, 3, 11, 5), before the first call")
    held(trial, now, cache, 0)
    for size in (4, 1, 2):
        trial.given(f"KVCache(2, 3, 11, 5), after calls with {start + size} positions in all")
        cache.attend(*now.of(start, start + size))
        start += size
        held(trial, now, cache, start)


@kv_cache.property(
    "the memory is taken once, and is the same in each call",
    asks=(VIEWS, "The keys and values of one layer for all positions so far, in memory that is taken once."),
)
def same_memory(answer: Any, trial: Trial) -> None:
    _is_taken_once(answer, trial, torch.float32)


def _is_taken_once(answer: Any, trial: Trial, dtype: torch.dtype) -> None:
    now = positions(trial, dtype=dtype)
    of_dtype = "" if dtype == torch.float32 else f", {dtype}"
    trial.given(
        f"KVCache(2, 3, 11, 5{of_dtype}), then attend with 4, 1 and 2 positions; the memory of keys and values is looked at"
    )
    cache, start = now.empty(answer), 0
    first = cache.keys, cache.values  # kept: memory that is freed may be given out again
    full = 2 * 3 * 11 * 5 * dtype.itemsize
    for name, part in zip(("keys", "values"), first, strict=True):
        size = part.untyped_storage().nbytes()
        trial.true(
            size >= full,
            f"Before the first call, cache.{name} is no view of memory with room for all {now.room} positions. None was taken, or "
            "it was, and a copy of what is in it was handed out.",
            expected=f"a view of memory of {full} bytes or more",
            got=f"a tensor on memory of {size} bytes",
            observed=("no room at the start", name),
        )
    places = [part.untyped_storage().data_ptr() for part in first]
    for call, size in enumerate((4, 1, 2)):
        cache.attend(*now.of(start, start + size))
        start += size
        for name, part, place in zip(("keys", "values"), (cache.keys, cache.values), places, strict=True):
            trial.true(
                part.untyped_storage().data_ptr() == place,
                f"After call {call + 1}, cache.{name} lies in a different memory than at the start: it was not taken once.",
                expected="a view of the memory that was taken at the start",
                got="a different memory",
                observed=("moved", name, call),
            )


@kv_cache.property(
    "copies are kept: what the caller does with its k and v afterwards changes nothing",
    asks="It keeps copies of k and v, and returns what causal attention gives for q",
)
def keeps_copies(answer: Any, trial: Trial) -> None:
    for first in (11, 3, 1):
        now = positions(trial, (2, 3, max(first, 9), 5))
        trial.given(f"KVCache(2, 3, 11, 5), attend with {first} positions, then k and v are filled with 7")
        cache = now.empty(answer)
        q, k, v = now.of(0, first)
        cache.attend(q, k, v)
        k.fill_(7.0)
        v.fill_(7.0)
        changed = [
            name
            for name, part, whole in (("keys", cache.keys, now.k), ("values", cache.values, now.v))
            if not torch.equal(part, whole[:, :, :first])
        ]
        trial.true(
            not changed,
            f"The caller changed its k and v after the call, and cache.{' and cache.'.join(changed)} changed with them.",
            expected="copies in the cache's own memory",
            got="the caller's memory",
            observed=("shared with the caller", changed, first),
        )


@kv_cache.property(
    "two caches know nothing of each other",
    asks="The keys and values of one layer for all positions so far, in memory that is taken once.",
)
def two_caches(answer: Any, trial: Trial) -> None:
    one, other = positions(trial), positions(trial)
    trial.given(
        "two caches KVCache(2, 3, 11, 5), made one after the other and called in turns with 2, 1 and 3 positions"
    )
    caches = one.empty(answer), other.empty(answer)
    start = 0
    for size in (2, 1, 3):
        stop = start + size
        for cache, now in zip(caches, (one, other), strict=True):
            got = cache.attend(*now.of(start, stop))
            trial.true(
                len(cache) == stop and tuple(getattr(got, "shape", ())) == (2, 3, size, 5),
                "A call of one cache changed the length of the other.",
                expected=f"{stop} positions in each",
                got=f"{len(cache)} positions",
                observed=("length shared", len(cache), stop),
            )
            trial.equal(
                got.detach(),
                now.wanted(start, stop).float(),
                "The result of one of two caches",
                rtol=1e-4,
                atol=1e-5,
                observed=("not apart", start),
            )
        start = stop
    for name in ("keys", "values"):
        trial.true(
            getattr(caches[0], name).untyped_storage().data_ptr()
            != getattr(caches[1], name).untyped_storage().data_ptr(),
            f"The {name} of two caches lie in the same memory.",
            expected="a memory for each cache",
            observed=("memory shared", name),
        )


@kv_cache.property(
    "no room: ValueError, and the cache stays as it was",
    asks="If there is no room for all of k and v, ValueError is raised, and the cache stays as it was.",
)
def no_room(answer: Any, trial: Trial) -> None:
    for before, size in ((8, 4), (11, 1), (0, 12)):
        now = positions(trial, (2, 3, 18, 5))
        cache = now.empty(answer)
        trial.given(f"KVCache(2, 3, 11, 5) that holds {before} positions, attend with {size}")
        if before:
            cache.attend(*now.of(0, before))
        raised = _raised(
            lambda cache=cache, now=now, before=before, size=size: cache.attend(
                *now.of(before, before + size)
            )
        )
        trial.true(
            raised == "ValueError",
            f"{raised[0].upper()}{raised[1:]} was raised for {counted(size)} behind {before}, and there is room for 11.",
            expected="ValueError",
            got=raised,
            observed=("raised", raised, before, size),
        )
        trial.true(
            len(cache) == before,
            f"ValueError was raised, and len(cache) is {len(cache)} now. It was {before}.",
            expected=f"{before} positions, as before",
            got=f"{len(cache)}",
            observed=("length after the error", len(cache) - before, before, size),
        )
        for name, whole in (("keys", now.k), ("values", now.v)):
            trial.equal(
                getattr(cache, name).detach(),
                whole[:, :, :before],
                f"ValueError was raised, and cache.{name} is not what it was",
                rtol=0,
                atol=0,
                observed=("after the error", name, before, size),
            )
        if before < 11:
            got = cache.attend(*now.of(before, 11))
            trial.given(
                f"KVCache(2, 3, 11, 5) with {before} positions; {size} were refused, then {11 - before} that have room"
            )
            right(trial, now, got, before, 11)


@kv_cache.property(
    "a call makes no tensor as large as the keys that are there",
    asks=ONLY_NEW,
)
def copies_the_new(answer: Any, trial: Trial) -> None:
    _copies_the_new(answer, trial, positions(trial, (2, 3, 29, 16), 33), 24)
    # One head of few features: here a square of all positions is larger than the keys.
    _copies_the_new(answer, trial, positions(trial, (1, 1, 41, 4), 44), 36)


def _copies_the_new(answer: Any, trial: Trial, now: Positions, start: int) -> None:
    """Calls with 1 and 2 positions behind `start` others make no tensor as large as the keys."""
    batch, heads, _, width = now.k.shape
    of_dtype = "" if now.k.dtype == torch.float32 else f", {now.k.dtype}"
    cache = now.empty(answer)
    cache.attend(*now.of(0, start))
    for size in (1, 2):
        trial.given(
            f"KVCache({batch}, {heads}, {now.room}, {width}{of_dtype}) that holds {start} positions, attend with {size}; operations "
            "are watched"
        )
        given, there = now.of(start, start + size), batch * heads * start * width
        try:
            with operations() as ran:
                cache.attend(*given)
        except RuntimeError as error:
            if "Creating a new Tensor subclass" in str(
                error
            ):  # torch's CausalBias cannot be made where operations are watched
                return
            raise
        start += size
        large = [each for each in ran if each.made >= there]
        moved = [
            each for each in ran if each.name == "copy_" and each.shapes and _numbers(each.shapes[0]) >= there
        ]
        squares = [each for each in large if each.made in (start**2, now.room**2)]
        for each in [*large, *moved][:1]:
            trial.fail(
                f"The keys that are there have {there} numbers, and {each.name} "
                + (f"made a tensor of {each.made}" if large else f"wrote {_numbers(each.shapes[0])}")
                + (
                    f", {round(each.made**0.5)} rows of {round(each.made**0.5)}"
                    if squares == large != []
                    else ""
                )
                + ". So each call costs as much as all before it.",
                expected="only the new positions are copied",
                got=", ".join(f"{one.name}: {one.made}" for one in large) if large else "copy_",
                observed=("copied", "a square")
                if squares == large != []
                else ("copied", sorted({one.name for one in (large or moved)})),
            )


def _numbers(shape: tuple[int, ...]) -> int:
    number = 1
    for size in shape:
        number *= size
    return number


@kv_cache.property(
    "nothing in the cache requires grad",
    asks="Nothing in the cache requires grad, and the arguments stay as they were.",
)
def no_graph(answer: Any, trial: Trial) -> None:
    now = positions(trial, requires_grad=True)
    trial.given(
        "KVCache(2, 3, 11, 5), attend with 3, 1 and 2 positions of q, k and v that require grad, as in training"
    )
    cache, start = now.empty(answer), 0
    for size in (3, 1, 2):
        got = trial.call(cache.attend, *now.of(start, start + size))
        right(trial, now, got, start, start + size)
        start += size
        recording = [name for name in ("keys", "values") if getattr(cache, name).requires_grad]
        trial.true(
            not recording,
            f"cache.{' and cache.'.join(recording)}: requires_grad is True. The graph of each call so far is kept alive.",
            expected="tensors that do not require grad",
            got=f"requires_grad of {' and '.join(recording)}",
            observed=("requires grad", recording),
        )


@kv_cache.property(
    "keys and values have the dtype that was asked for",
    asks="dtype: of keys and values.",
)
def has_its_dtype(answer: Any, trial: Trial) -> None:
    for dtype, rtol, atol in ((torch.float64, 1e-9, 1e-9), (torch.bfloat16, 0.1, 0.1)):
        now = positions(trial, dtype=dtype)
        trial.given(f"KVCache(2, 3, 11, 5, dtype={dtype}), attend with 3 and 2 positions of that dtype")
        cache = now.empty(answer)
        start = 0
        for size in (3, 2):
            got = cache.attend(*now.of(start, start + size))
            start += size
            for name in ("keys", "values"):
                found = getattr(cache, name).dtype
                trial.true(
                    found == dtype,
                    f"cache.{name} has the dtype {found}.",
                    expected=str(dtype),
                    got=str(found),
                    observed=(name, str(found), str(dtype)),
                )
            right(trial, now, got, start - size, start, rtol=rtol, atol=atol)


@kv_cache.property(
    "the same holds in bfloat16: memory taken once, and no tensor as large as the keys",
    asks=(VIEWS, ONLY_NEW, "dtype: of keys and values."),
)
def in_bfloat16(answer: Any, trial: Trial) -> None:
    _is_taken_once(answer, trial, torch.bfloat16)
    _copies_the_new(answer, trial, positions(trial, (2, 3, 29, 16), 33, dtype=torch.bfloat16), 24)


@contextmanager
def _empty_is_nan() -> Iterator[None]:
    """torch.empty fills what it takes with NaN, as it does for deterministic algorithms."""
    was, warns = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(was, warn_only=warns)


def _raised(call: Any) -> str:
    """The name of the error that a call raises; of ValueError and those below it, ValueError."""
    try:
        call()
    except NotImplementedError:
        raise
    except ValueError:
        return "ValueError"
    except Exception as error:
        return type(error).__name__
    return "nothing"


def _listed(numbers: Any) -> str:
    """1, 2 and 3"""
    *others, last = map(str, numbers)
    return f"{', '.join(others)} and {last}" if others else last
