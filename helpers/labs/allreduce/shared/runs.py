"""Runs an all-reduce on ranks that are threads, and says in symbols what each rank ends up with.

An all-reduce is linear: what a rank holds is a sum of whole multiples of the ranks' inputs x0, x1, ... So a wrong
result is explained by a second run, on inputs that are powers of one base: their digits are the multiples.
"""

from __future__ import annotations

import itertools
import math
import random
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.check.trial import Mismatch, Trial
from helpers.ranks.checking import on_ranks, per_rank
from helpers.ranks.in_threads import Run

Answer = Callable[..., Any]
View = Callable[[Tensor], Tensor]
"""Takes memory, gives the part of it that is handed to the answer as x."""

BASE = {1: 64, 2: 64, 3: 64, 4: 32, 5: 16, 6: 8, 7: 8, 8: 8, 9: 4}
"""By ranks: the base of the inputs that explain. All results below it to the power of the ranks are exact in float32."""

UNSET = "unset memory (nothing had arrived there)"


_COPIES: weakref.WeakKeyDictionary[Trial, tuple[Answer, list[Answer]]] = weakref.WeakKeyDictionary()


def of_rank(trial: Trial, answer: Answer, world: int) -> list[Answer]:
    """By rank, a copy of the answer with global variables of its own, as a process has.

    What it keeps there stays for all runs of a trial: calls may follow one another.
    """
    kept, copies = _COPIES.get(trial, (None, []))
    if kept is not answer:
        copies = []
    if len(copies) < world:
        copies = copies + per_rank(answer, world - len(copies))
    _COPIES[trial] = answer, copies
    return copies


@contextmanager
def unset_memory_is_nan() -> Iterator[None]:
    """Inside, torch.empty gives NaN (the largest number, for integers): what is read too early is then seen."""
    was, warn, fill = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.utils.deterministic.fill_uninitialized_memory,
    )
    torch._C._set_deterministic_algorithms(True, warn_only=True)  # torch.use_... imports its compiler first
    torch.utils.deterministic.fill_uninitialized_memory = True
    try:
        yield
    finally:
        torch.utils.deterministic.fill_uninitialized_memory = fill
        torch._C._set_deterministic_algorithms(was, warn_only=warn)


def run_on(
    trial: Trial,
    answer: Answer,
    xs: list[Tensor] | list[list[Tensor]],
    *more: Any,
    delivery: Literal["late", "early"] = "late",
    order: random.Random | None = None,
) -> Run:
    """answer(xs[rank], rank, world, *more) on every rank; the xs are edited.

    xs: a tensor for each rank; or a list of them, for as many calls one after the other, whose results are a list.
    """
    world = len(xs)
    answers = of_rank(trial, answer, world)

    def on_rank() -> Any:
        rank = dist.get_rank()
        if isinstance(xs[rank], list):
            return [answers[rank](x.detach(), rank, world, *more) for x in xs[rank]]
        return answers[rank](xs[rank], rank, world, *more)

    try:
        with unset_memory_is_nan():
            return on_ranks(trial, on_rank, ranks=world, delivery=delivery, order=order)
    except Mismatch as wrong:
        if isinstance(wrong.observed, tuple) and wrong.observed[0] == "deadlock":
            _, waits, *more = wrong.observed  # isend(...).wait() is another way to write send
            wrong.observed = ("deadlock", sorted({wait.removeprefix("i") for wait in waits}), *more)
        raise


def small_numbers(trial: Trial, shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> Tensor:
    """Whole numbers of -9 to 9, no 0, of complex ones both parts: sums of nine ranks are exact in every dtype."""
    if dtype.is_complex:
        return torch.complex(small_numbers(trial, shape), small_numbers(trial, shape)).to(dtype)
    values = torch.randint(1, 10, shape, generator=trial.generator)
    signs = torch.randint(0, 2, shape, generator=trial.generator) * 2 - 1
    return (values * signs).to(dtype)


Held = list[list[str]]
"""By rank, for each element of x: what it is a sum of, in symbols."""


def held(
    trial: Trial, answer: Answer, world: int, memory: tuple[int, ...], view: View, *more: Any, **how: Any
) -> Held | None:
    """What every rank holds at the end, in symbols; None if this run does not come to its end."""
    if world not in BASE:
        return None
    memories = [torch.full(memory, float(BASE[world] ** rank)) for rank in range(world)]
    found = ended(trial, answer, memories, view, *more, **how)
    return None if found is None else [[in_symbols(value, world) for value in values] for values in found]


def come_from(
    trial: Trial, answer: Answer, world: int, memory: tuple[int, ...], view: View, *more: Any, **how: Any
) -> list[list[float]] | None:
    """Where each element of every rank's x was before, if the answer only copies: by rank, its number in the memory."""
    count = torch.Size(memory).numel()
    memories = [torch.arange(float(count)).view(memory) for _ in range(world)]
    return ended(trial, answer, memories, view, *more, **how)


def ended(
    trial: Trial, answer: Answer, memories: list[Tensor], view: View, *more: Any, **how: Any
) -> list[list[float]] | None:
    """The numbers in every rank's memory at the end; None if the run does not come to its end."""
    try:
        run_on(trial, answer, [view(x.detach()) for x in memories], *more, **how)
    except NotImplementedError:
        raise
    except Exception:
        return None
    return [view(x).flatten().tolist() for x in memories]


def in_symbols(value: float, world: int) -> str:
    """33.0 on ranks with base 32: "x0 + x1"."""
    if math.isnan(value):
        return UNSET
    for parts in (1, world):
        number = value * parts
        if number >= 0 and number == int(number) and number < BASE[world] ** world:
            digits = [int(number) // BASE[world] ** rank % BASE[world] for rank in range(world)]
            terms = [f"{count if count > 1 else ''}x{rank}" for rank, count in enumerate(digits) if count]
            text = " + ".join(terms) or "0"
            return text if parts == 1 else f"({text}) / {world}"
    return "something else"


def pieces(symbols: list[str]) -> list[tuple[int, str]]:
    """Run lengths: [(2, "x0"), (6, "x0 + x1")]."""
    return [(len(list(run)), text) for text, run in itertools.groupby(symbols)]


def described(symbols: list[str], start: int = 0) -> str:
    """One rank's elements in words: "x0" or "x0 in elements 0-1, x0 + x1 in elements 2-7"."""
    found = pieces(symbols)
    if len(found) == 1 and not start:
        return found[0][1]
    parts = []
    for length, text in found[:4]:
        where = f"element {start}" if length == 1 else f"elements {start}-{start + length - 1}"
        parts.append(f"{text} in {where}")
        start += length
    return ", ".join(parts) + (", ..." if len(found) > 4 else "")


def explained(found: Held | None, wanted: list[str], parts: list[slice]) -> tuple[str, Any]:
    """A sentence on what the ranks hold in the parts of x that count, and the same as plain data."""
    if found is None:
        return "", "no explanation"
    wrong = [rank for rank, part in enumerate(parts) if found[rank][part] != wanted[part]]
    if not wrong:
        return (
            " Each rank holds the right combination of inputs, but with elements of other places.",
            "places",
        )
    first = wrong[0]
    start = parts[first].start or 0
    text = (
        f" With x0 for the x of rank 0 and so on: rank {first} holds {described(found[first][parts[first]], start)}, "
        f"not {described(wanted[parts[first]], start)}."
    )
    right = ", ".join(str(rank) for rank in range(len(found)) if rank not in wrong)
    if right:
        text += f" Right on rank{'s' if ',' in right else ''} {right}."
    return text, [pieces(symbols) for symbols in found]
