"""Right answers of 13.generate, of other shapes than the solution's."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn


@torch.no_grad()
def into_one_memory(model: nn.Module, prompt: Tensor, n: int) -> Tensor:
    """The result is taken first, and filled; modes in a dict."""
    batch, length, width = prompt.shape
    result = prompt.new_empty(batch, length + n, width)
    result[:, :length] = prompt
    modes = {module: module.training for module in model.modules()}
    try:
        model.eval()
        caches = model.caches(batch, length + n - 1)
        start = 0
        for end in range(length, length + n):
            result[:, end] = model(result[:, start:end], caches)[:, -1]
            start = end
    finally:
        for module, mode in modes.items():
            module.training = mode
    return result


def by_a_stack(model: nn.Module, prompt: Tensor, n: int) -> Tensor:
    """Modes are put back by an ExitStack; the result grows by cat; each module is set by hand."""
    if n == 0:
        return prompt.detach().clone()
    with ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        for module in model.modules():
            stack.callback(setattr, module, "training", module.training)
            module.training = False
        caches = model.caches(prompt.size(0), prompt.size(1) - 1 + n)
        result, row = prompt, prompt
        for _ in range(n):
            row = model(row, caches)[:, -1].unsqueeze(1)
            result = torch.cat((result, row), dim=1)
    return result


def by_recursion(model: nn.Module, prompt: Tensor, n: int) -> Tensor:
    """One row and a call of itself; gradients turned off in a different way."""

    def go_on(rows: Tensor, caches: Any, left: int) -> list[Tensor]:
        if left == 0:
            return []
        made = model(rows, caches).narrow(1, rows.shape[1] - 1, 1)
        return [made, *go_on(made, caches, left - 1)]

    modes = [module.training for module in model.modules()]
    try:
        with torch.set_grad_enabled(False):
            model.train(False)
            made = go_on(prompt, model.caches(len(prompt), prompt.shape[1] + n - 1), n)
            return torch.hstack([prompt.clone(), *made])
    finally:
        for module, mode in zip(model.modules(), modes, strict=True):
            module.training = mode


def without_inference_tensors(model: nn.Module, prompt: Tensor, n: int) -> Tensor:
    """In inference mode; the result is copied outside."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.inference_mode():
            made, rows = [], prompt
            if n > 0:
                caches = model.caches(prompt.shape[0], prompt.shape[1] + n - 1)
            while len(made) < n:
                rows = model(rows, caches)[:, -1:, :]
                made.append(rows)
    finally:
        [setattr(module, "training", mode) for module, mode in modes]
    with torch.no_grad():
        return torch.cat([prompt, *made], 1)


def by_the_switch(model: nn.Module, prompt: Tensor, n: int) -> Tensor:
    """Gradients by the global switch, put back to what it was; modes by train(mode), upwards, and then each by itself."""
    were, modes = torch.is_grad_enabled(), {each: each.training for each in model.modules()}
    result, given, caches = prompt.detach().clone(), prompt, None
    try:
        torch.set_grad_enabled(False)
        model.eval()
        for step in range(n):
            caches = model.caches(len(prompt), prompt.shape[1] + n - 1) if step == 0 else caches
            given = model(given, caches)[:, -1:]
            result = torch.cat([result, given], dim=1)
    finally:
        torch.set_grad_enabled(were)
        for each in reversed(list(modes)):
            each.train(modes[each])
        for each, mode in modes.items():
            each.training = mode
    return result


RIGHT: list[Any] = [
    into_one_memory,
    by_a_stack,
    by_recursion,
    without_inference_tensors,
    by_the_switch,
]
