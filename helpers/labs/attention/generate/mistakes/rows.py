"""What people write for 13.generate that makes or shows the wrong rows, or wrong caches, and why."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.labs.attention.generate.exercise import (
    CACHES,
    N_CALLS,
    ONCE,
    RETURNS,
    generate,
)
from helpers.labs.attention.generate.right import rightly_run, rows_of

loops = generate.bank(rightly_run)
ALL_BEFORE = "each made by the model from all rows before it"


# What is made, and of what.


@loops.mistake(breaks=ALL_BEFORE)
def the_row_behind_the_first(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The first row that was made is the one behind the prompt's first row. The model gives a row for each that it got: the new one is
    the last.
    """
    rows, caches = [prompt], model.caches(prompt.shape[0], prompt.shape[1] + n - 1)
    for _ in range(n):
        rows.append(model(rows[-1], caches)[:, :1])
    return torch.cat(rows, dim=1)


@loops.mistake(breaks=RETURNS)
def all_that_the_model_gives(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The result is too long: all rows that the model gave were taken, those behind each row of the prompt, too. Only the last
    of them is new.
    """
    rows, caches = [prompt], model.caches(prompt.shape[0], prompt.shape[1] + n - 1)
    for _ in range(n):
        rows.append(model(rows[-1][:, -prompt.shape[1] :], caches))
    return torch.cat(rows, dim=1)


@loops.mistake(breaks=RETURNS)
def without_the_prompt(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The result has n rows: the prompt is missing before them."""
    return rows_of(model, prompt, n)[:, prompt.shape[1] :]


@loops.mistake(breaks=RETURNS)
def one_too_few(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The result has one row too few. Perhaps the call with the prompt was not counted, or one was counted that makes no row."""
    return rows_of(model, prompt, n - 1)


@loops.mistake(breaks=RETURNS)
def one_too_many(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The result has one row too many. Perhaps the call with the prompt makes one, and n calls follow: it makes the first of n."""
    return rows_of(model, prompt, n + 1)


@loops.mistake(breaks=RETURNS)
def parts_in_a_list(model: Any, prompt: Tensor, n: int) -> list[Tensor]:
    """A list of rows is returned. One tensor is asked for: `torch.cat(rows, dim=1)`."""
    return list(rows_of(model, prompt, n).split(1, dim=1))


@loops.mistake(breaks=RETURNS)
def joined_along_the_batch(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The rows cannot be joined: their sizes do not fit. Perhaps that is dimension 0, the batch: rows follow each other in dimension 1."""
    rows, caches = [prompt], model.caches(prompt.shape[0], prompt.shape[1] + n - 1)
    for _ in range(n):
        rows.append(model(rows[-1], caches)[:, -1:])
    return torch.cat(rows)


@loops.mistake(breaks=ALL_BEFORE)
def caches_anew_in_each_step(model: Any, prompt: Tensor, n: int) -> Tensor:
    """A row was made from the one before it alone: the model had forgotten the rest. Perhaps the caches are made in the loop."""
    rows = [prompt]
    for _ in range(n):
        rows.append(model(rows[-1], model.caches(prompt.shape[0], prompt.shape[1] + n - 1))[:, -1:])
    return torch.cat(rows, dim=1)


@loops.mistake(breaks=ALL_BEFORE)
def all_again_to_the_same_caches(model: Any, prompt: Tensor, n: int) -> Tensor:
    """All rows were shown again in each step, and the caches hold them several times: the model sees a sequence that nobody wrote."""
    caches = model.caches(prompt.shape[0], prompt.shape[1] + n - 1)
    for _ in range(n):
        prompt = torch.cat([prompt, model(prompt, caches)[:, -1:]], dim=1)
    return prompt


@loops.mistake(breaks=ONCE)
def all_that_it_gave_fed_on(model: Any, prompt: Tensor, n: int) -> Tensor:
    """All rows that the model gave for the prompt were shown to it in the next call: the caches then hold rows that are not in the text.
    Only the last one is new.
    """
    rows, caches, made = [prompt], model.caches(prompt.shape[0], prompt.shape[1] * n), prompt
    for _ in range(n):
        made = model(made, caches)
        rows.append(made[:, -1:])
    return torch.cat(rows, dim=1)


@loops.mistake(breaks=RETURNS)
def rows_before_the_prompt(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The rows that were made stand before the prompt."""
    found, length = rows_of(model, prompt, n), prompt.shape[1]
    return torch.cat([found[:, length:], found[:, :length]], dim=1)


# What the model sees.


@loops.mistake(breaks=ONCE)
def without_the_caches(model: Any, prompt: Tensor, n: int) -> Tensor:
    """Each step shows the model all rows anew: the numbers are right, and the work of a step grows with the length. That is what the
    caches are there to spare.
    """
    for _ in range(n):
        caches = model.caches(prompt.shape[0], prompt.shape[1])
        prompt = torch.cat([prompt, model(prompt, caches)[:, -1:]], dim=1)
    return prompt.clone()


@loops.mistake(breaks=ONCE)
def prompt_row_by_row(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The prompt is shown one row at a time. All its rows are known: one call takes them at once."""
    caches, rows = model.caches(prompt.shape[0], prompt.shape[1] + n - 1), [prompt]
    for row in prompt.split(1, dim=1):
        made = model(row, caches)
    for _ in range(n):
        rows.append(made)
        made = model(made, caches) if len(rows) <= n else made
    return torch.cat(rows, dim=1)


@loops.mistake(breaks=ONCE)
def prompt_in_two_parts(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The prompt comes in two calls: all but its last row, and then that one. The call with the whole prompt gives the first new row, too."""
    caches, rows = model.caches(prompt.shape[0], prompt.shape[1] + n - 1), [prompt]
    if prompt.shape[1] > 1:
        model(prompt[:, :-1], caches)
    last = prompt[:, -1:]
    for _ in range(n):
        last = model(last, caches)
        rows.append(last)
    return torch.cat(rows, dim=1)


@loops.mistake(breaks=N_CALLS)
def shows_the_last_row(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The model is called once more than needed: the last row is shown to it, and nothing is made of that."""
    caches, rows = model.caches(prompt.shape[0], prompt.shape[1] + n - 1), [prompt]
    made = model(prompt, caches)[:, -1:]
    for _ in range(n):
        rows.append(made)
        made = model(made, caches)
    return torch.cat(rows, dim=1)


@loops.mistake(breaks=N_CALLS)
def calls_it_for_nothing(model: Any, prompt: Tensor, n: int) -> Tensor:
    """For n = 0 the model is called. Perhaps the prompt is shown before the loop, whatever n is."""
    caches = model.caches(prompt.shape[0], prompt.shape[1] + n - 1)
    made = [model(prompt, caches)[:, -1:]]
    for _ in range(n - 1):
        made.append(model(made[-1], caches))
    return torch.cat([prompt, *made], dim=1)[:, : prompt.shape[1] + n]


@loops.mistake(breaks=N_CALLS)
def nothing_to_join(model: Any, prompt: Tensor, n: int) -> Tensor:
    """For n = 0 an error: there is nothing to join. The result is the prompt then."""
    caches, row, made = model.caches(prompt.shape[0], prompt.shape[1] + n - 1), prompt, []
    for _ in range(n):
        row = model(row, caches)[:, -1:]
        made.append(row)
    return torch.cat([prompt, torch.cat(made, dim=1)], dim=1)


# Caches.


@loops.mistake(breaks=CACHES)
def room_for_one_more(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The caches have room for T + n rows, one more than is shown: the last row that is made never comes to them."""
    rows, caches = [prompt], model.caches(prompt.shape[0], prompt.shape[1] + n)
    for _ in range(n):
        rows.append(model(rows[-1], caches)[:, -1:])
    return torch.cat(rows, dim=1)


@loops.mistake(breaks=CACHES)
def room_for_the_new_only(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The caches have room for n rows. The prompt comes to them, too."""
    rows, caches = [prompt], model.caches(prompt.shape[0], n)
    for _ in range(n):
        rows.append(model(rows[-1], caches)[:, -1:])
    return torch.cat(rows, dim=1)


@loops.mistake(breaks=CACHES)
def batch_and_length_swapped(model: Any, prompt: Tensor, n: int) -> Tensor:
    """`model.caches` was called with the length first. It takes the batch, then the length."""
    rows, caches = [prompt], model.caches(prompt.shape[1] + n - 1, prompt.shape[0])
    for _ in range(n):
        rows.append(model(rows[-1], caches)[:, -1:])
    return torch.cat(rows, dim=1)


@loops.mistake(breaks=CACHES)
def caches_kept_for_later(model: Any, prompt: Tensor, n: int) -> Tensor:
    """A later call of generate makes no caches. Perhaps those of an earlier one were kept, for the model or for the size: they hold
    its rows, and the new text goes on from the old one.
    """
    if not hasattr(model, "kept"):
        model.kept = model.caches(prompt.shape[0], prompt.shape[1] + n - 1)
    rows = [prompt]
    for _ in range(n):
        rows.append(model(rows[-1], model.kept)[:, -1:])
    return torch.cat(rows, dim=1)


KEPT: dict[tuple[Any, ...], Any] = {}


@loops.variant(caches_kept_for_later)
def _(model: Any, prompt: Tensor, n: int) -> Tensor:
    size = model.weight, prompt.shape[0], prompt.shape[1] + n - 1
    if size not in KEPT:
        KEPT.clear()
        KEPT[size] = model.caches(*size[1:])
    rows = [prompt]
    for _ in range(n):
        rows.append(model(rows[-1], KEPT[size])[:, -1:])
    return torch.cat(rows, dim=1)
