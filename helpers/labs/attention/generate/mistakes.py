"""What people write for 13.generate, and why it is wrong."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.attention.generate.exercise import (
    AFTERWARDS,
    CACHES,
    N_CALLS,
    ONCE,
    RETURNS,
    RUNS,
    STAY,
    generate,
)

ALL_BEFORE = "each made by the model from all rows before it"


@contextmanager
def in_eval(model: nn.Module) -> Iterator[None]:
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def rightly_run(loop: Callable[..., Any]) -> Callable[..., Any]:
    """In eval mode and without a graph, as asked."""

    @functools.wraps(loop)
    @torch.no_grad()
    def run(model: nn.Module, prompt: Tensor, n: int) -> Any:
        with in_eval(model):
            return loop(model, prompt.detach(), n)

    return run


loops = generate.bank(rightly_run)


def rows_of(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The right loop."""
    rows = [prompt.detach()]
    if n:
        caches = model.caches(prompt.shape[0], prompt.shape[1] + n - 1)
        for _ in range(n):
            rows.append(model(rows[-1], caches)[:, -1:])
    return torch.cat(rows, dim=1)


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


# Modes and graphs.


@generate.mistake(breaks=RUNS)
@torch.no_grad()
def in_any_mode(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The model runs in training mode: its dropout is active, and the rows come out differently each time. `no_grad` turns off graphs,
    and not dropout.
    """
    return rows_of(model, prompt, n)


@generate.mistake(breaks=RUNS)
@torch.no_grad()
def the_top_alone(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The parts of the model run in training mode, though the model itself says eval. Perhaps only its own `training` was set:
    `model.eval()` goes through all modules.
    """
    was, model.training = model.training, False
    try:
        return rows_of(model, prompt, n)
    finally:
        model.training = was


@generate.mistake(breaks=RUNS)
@torch.no_grad()
def eval_if_the_top_trains(model: Any, prompt: Tensor, n: int) -> Tensor:
    """A part in training mode stays in it when the model itself is in eval mode. Perhaps `model.training` was asked, and that is the flag
    of one module.
    """
    if not model.training:
        return rows_of(model, prompt, n)
    with in_eval(model):
        return rows_of(model, prompt, n)


@generate.mistake(breaks=RUNS)
@torch.no_grad()
def eval_after_the_prompt(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The prompt goes through the model in training mode, and only the later rows in eval mode."""
    if n == 0:
        return prompt.clone()
    caches = model.caches(prompt.shape[0], prompt.shape[1] + n - 1)
    rows = [prompt, model(prompt, caches)[:, -1:]]
    with in_eval(model):
        for _ in range(n - 1):
            rows.append(model(rows[-1], caches))
    return torch.cat(rows, dim=1)


@generate.mistake(breaks=RUNS)
def with_a_graph(model: Any, prompt: Tensor, n: int) -> Tensor:
    """A graph is made in each step, and nobody runs it backward: eval mode does not turn that off. Perhaps the result was detached in the end, which comes too late."""
    with in_eval(model):
        return rows_of(model, prompt, n).detach()


@generate.variant(with_a_graph)
def _(model: Any, prompt: Tensor, n: int) -> Tensor:
    rows = [prompt.detach()]
    with in_eval(model):
        caches = model.caches(len(prompt), prompt.shape[1] + n - 1) if n else None
        while len(rows) <= n:
            rows.append(model(rows[-1], caches)[:, -1:])
        with torch.no_grad():
            return torch.cat(rows, dim=1)


@generate.mistake(breaks=RUNS)
def graph_of_the_prompt(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The call with the prompt makes a graph, the others do not: it stands outside of `torch.no_grad()`. It is the largest of all."""
    if n == 0:
        return prompt.detach().clone()
    with in_eval(model):
        caches = model.caches(prompt.shape[0], prompt.shape[1] + n - 1)
        rows = [prompt.detach(), model(prompt, caches)[:, -1:].detach()]
        with torch.no_grad():
            for _ in range(n - 1):
                rows.append(model(rows[-1], caches))
    return torch.cat(rows, dim=1)


@generate.mistake(breaks=RUNS)
def gradients_off_for_good(model: Any, prompt: Tensor, n: int) -> Tensor:
    """Gradients stay off for all that comes after: `torch.set_grad_enabled(False)` holds until somebody turns them on again. With
    `torch.no_grad()` they come back.
    """
    torch.set_grad_enabled(False)
    with in_eval(model):
        return rows_of(model, prompt, n)


# Afterwards.


@generate.mistake(breaks=AFTERWARDS)
@torch.no_grad()
def stays_in_eval(model: Any, prompt: Tensor, n: int) -> Tensor:
    """A model that was in training mode is in eval mode afterwards: the training that goes on has no dropout."""
    model.eval()
    return rows_of(model, prompt, n)


@generate.mistake(breaks=AFTERWARDS)
@torch.no_grad()
def back_to_training(model: Any, prompt: Tensor, n: int) -> Tensor:
    """A model that was in eval mode is in training mode afterwards. Perhaps `model.train()` was called, however it was before."""
    model.eval()
    try:
        return rows_of(model, prompt, n)
    finally:
        model.train()


@generate.mistake(breaks=AFTERWARDS)
@torch.no_grad()
def one_flag_for_all(model: Any, prompt: Tensor, n: int) -> Tensor:
    """A part that was in eval mode is in training mode afterwards. Perhaps `model.train(was_training)` gave all modules the mode of the
    model itself: parts that were frozen on purpose, as BatchNorm often is, wake up.
    """
    was = model.training
    model.eval()
    try:
        return rows_of(model, prompt, n)
    finally:
        model.train(was)


@generate.mistake(breaks=AFTERWARDS)
@torch.no_grad()
def children_alone(model: Any, prompt: Tensor, n: int) -> Tensor:
    """A part of a part is in a different mode afterwards. Perhaps only `children()` were noted: `modules()` goes all the way down."""
    modes = [(child, child.training) for child in (model, *model.children())]
    model.eval()
    try:
        return rows_of(model, prompt, n)
    finally:
        for child, mode in modes:
            child.train(mode)


@generate.mistake(breaks="also if the model raises")
@torch.no_grad()
def not_after_an_error(model: Any, prompt: Tensor, n: int) -> Tensor:
    """When the model raises, it is left in eval mode. Perhaps the modes are put back after the loop, where an error never comes: `finally`
    is for that.
    """
    modes = {module: module.training for module in model.modules()}
    model.eval()
    result = rows_of(model, prompt, n)
    for module, mode in modes.items():
        module.training = mode
    return result


@generate.mistake(breaks="also if the model raises")
@torch.no_grad()
def hides_the_error(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The model raised, and the caller learns nothing of it. Perhaps a `return` in `finally`, or an `except` that goes on."""
    rows = [prompt.detach()]
    with in_eval(model):
        if n:
            caches = model.caches(prompt.shape[0], prompt.shape[1] + n - 1)
        try:
            for _ in range(n):
                rows.append(model(rows[-1], caches)[:, -1:])
        except Exception:
            pass
    return torch.cat(rows, dim=1)


@generate.mistake(breaks="also if the model raises")
@torch.no_grad()
def not_after_an_interrupt(model: Any, prompt: Tensor, n: int) -> Tensor:
    """When the model is interrupted, it is left in eval mode. Perhaps the modes are put back under `except Exception`: KeyboardInterrupt,
    which ends a long generation, is none. `finally` sees all.
    """
    modes = {module: module.training for module in model.modules()}

    def put_back() -> None:
        for module, mode in modes.items():
            module.training = mode

    model.eval()
    try:
        result = rows_of(model, prompt, n)
    except Exception:
        put_back()
        raise
    put_back()
    return result


# The result, and the arguments.


@generate.mistake(breaks=RETURNS)
@torch.no_grad()
def the_prompt_itself(model: Any, prompt: Tensor, n: int) -> Tensor:
    """For n = 0 the result is the prompt's own memory. Who edits the result edits the prompt."""
    with in_eval(model):
        return rows_of(model, prompt, n) if n else prompt.detach()


@generate.mistake(breaks=RETURNS)
def requires_grad_of_the_prompt(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The result requires grad, since the prompt does. Perhaps they are joined outside of `torch.no_grad()`."""
    with torch.no_grad(), in_eval(model):
        made = rows_of(model, prompt, n)[:, prompt.shape[1] :]
    return torch.cat([prompt, made], dim=1)


@generate.mistake(breaks=STAY)
@torch.no_grad()
def detaches_the_prompt(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The caller's prompt does not require grad any more. `detach_()` and `requires_grad_(False)` change the tensor itself."""
    prompt.requires_grad_(False)
    with in_eval(model):
        return rows_of(model, prompt, n)


@generate.mistake(breaks=RETURNS)
@torch.no_grad()
def always_float32(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The result is float32, and the prompt is float64. Perhaps its memory was taken by `torch.empty` without a dtype."""
    (batch, length, width), found = prompt.shape, rows_of
    result = torch.empty(batch, length + n, width)
    with in_eval(model):
        result[:] = found(model, prompt, n)
    return result


@generate.mistake(breaks=RETURNS)
@torch.no_grad()
def squeezed(model: Any, prompt: Tensor, n: int) -> Tensor:
    """A dimension of size 1 is gone. Perhaps `squeeze()` was meant for one dimension, and took all that have one entry."""
    with in_eval(model):
        return rows_of(model, prompt, n).squeeze()


@generate.mistake(breaks=STAY)
def freezes_the_model(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The weights of the model do not require grad afterwards. Perhaps `model.requires_grad_(False)` was to spare the graph: that is for
    `torch.no_grad()`.
    """
    model.requires_grad_(False)
    with in_eval(model):
        return rows_of(model, prompt.detach(), n)


@loops.mistake(breaks=STAY)
def caches_on_the_model(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The model has one attribute more than before. Perhaps the caches were stored on it: they live on with it."""
    if n == 0:
        return prompt.clone()
    model.kv, rows = model.caches(prompt.shape[0], prompt.shape[1] + n - 1), [prompt]
    for _ in range(n):
        rows.append(model(rows[-1], model.kv)[:, -1:])
    return torch.cat(rows, dim=1)


@generate.mistake(breaks=ONCE)
@torch.no_grad()
def runs_a_copy(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The model itself was never called. Perhaps a deep copy of it runs: its modes need no care then, and all weights are there twice."""
    return rows_of(copy.deepcopy(model).eval(), prompt, n)
