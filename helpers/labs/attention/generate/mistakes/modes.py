"""What people write for 13.generate about modes, graphs, the result and the arguments, and why it is wrong."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor

from helpers.labs.attention.generate.exercise import (
    AFTERWARDS,
    ONCE,
    RETURNS,
    RUNS,
    STAY,
    generate,
)
from helpers.labs.attention.generate.right import in_eval, rightly_run, rows_of

loops = generate.bank(rightly_run)


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
    """The call with the prompt makes a graph, the others do not: it is the largest of all. Perhaps it stands outside of
    `torch.no_grad()`.
    """
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
    """Gradients stay off for all that comes after. Perhaps by `torch.set_grad_enabled(False)`, which holds until somebody turns them
    on again: behind `with torch.no_grad():` they are as they were.
    """
    torch.set_grad_enabled(False)
    with in_eval(model):
        return rows_of(model, prompt, n)


@generate.mistake(breaks="gradients are on or off as they were")
def gradients_on_for_good(model: Any, prompt: Tensor, n: int) -> Tensor:
    """The caller had turned gradients off, and they are on afterwards. Perhaps by `torch.set_grad_enabled(True)` at the end: behind
    `with torch.no_grad():` they are as they were.
    """
    torch.set_grad_enabled(False)
    try:
        with in_eval(model):
            return rows_of(model, prompt, n)
    finally:
        torch.set_grad_enabled(True)


@generate.mistake(breaks="gradients are on or off as they were")
def gradients_off_after_an_error(model: Any, prompt: Tensor, n: int) -> Tensor:
    """When the model raises, gradients stay off. Perhaps they are turned on again behind the loop, where an error never comes: behind
    `with torch.no_grad():` they are as they were, also then.
    """
    were = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    with in_eval(model):
        result = rows_of(model, prompt, n)
    torch.set_grad_enabled(were)
    return result


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


@generate.mistake(breaks="A module may stand in several places.")
@torch.no_grad()
def by_train_of_each(model: Any, prompt: Tensor, n: int) -> Tensor:
    """A part that stands in two places is in a different mode afterwards. Perhaps modes are put back by `train(mode)`, which goes down:
    who comes later sets the mode of the part once more. Set `training` of each module.
    """
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        return rows_of(model, prompt, n)
    finally:
        for module, mode in modes:
            module.train(mode)


@generate.mistake(breaks="also if the model or its `caches` raises")
@torch.no_grad()
def caches_outside_of_try(model: Any, prompt: Tensor, n: int) -> Tensor:
    """When `model.caches` raises, as it does where memory is short, the model is left in eval mode. Perhaps it is called before the
    `try`: whatever comes after `model.eval()` belongs into it.
    """
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    rows = [prompt.detach()]
    caches = model.caches(prompt.shape[0], prompt.shape[1] + n - 1) if n else None
    try:
        for _ in range(n):
            rows.append(model(rows[-1], caches)[:, -1:])
    finally:
        for module, mode in modes:
            module.training = mode
    return torch.cat(rows, dim=1)


@generate.mistake(breaks="also if the model or its `caches` raises")
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


@generate.mistake(breaks="also if the model or its `caches` raises")
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


@generate.mistake(breaks="also if the model or its `caches` raises")
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
