"""Right answers to 04.recalibrate_bn, in different shapes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

BatchNorm = nn.modules.batchnorm._BatchNorm


@torch.no_grad()
def recalibrate_plainly(loader: Iterable[Any], model: nn.Module) -> None:
    """The solution of the notebook."""
    norms = [module for module in model.modules() if isinstance(module, BatchNorm)]
    momenta = [norm.momentum for norm in norms]
    training = [(module, module.training) for module in model.modules()]
    try:
        model.eval()
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None
            norm.train()
        for batch in loader:
            model(batch[0] if isinstance(batch, (tuple, list)) else batch)
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        for module, flag in training:
            module.training = flag


def recalibrate_with_a_stack(loader: Iterable[Any], model: nn.Module) -> nn.Module:
    """An ExitStack that undoes each change; momentum 1 / k in place of None."""
    with contextlib.ExitStack() as undo, torch.inference_mode():
        for module in model.modules():
            undo.callback(setattr, module, "training", module.training)
        model.train(False)
        norms = [m for m in model.modules() if isinstance(m, BatchNorm) and m.track_running_stats]
        for norm in norms:
            undo.callback(setattr, norm, "momentum", norm.momentum)
            norm.running_mean.zero_()
            norm.running_var.fill_(1)
            norm.num_batches_tracked.zero_()
            norm.training = True
        for count, batch in enumerate(loader, 1):
            for norm in norms:
                norm.momentum = 1 / count
            model(batch if isinstance(batch, torch.Tensor) else batch[0])
    return model


def recalibrate_with_own_sums(loader: Iterable[Any], model: nn.Module) -> None:
    """Sums the statistics of the batches itself: momentum 1 leaves those of the batch."""
    norms = [
        module
        for module in model.modules()
        if isinstance(module, BatchNorm) and module.running_mean is not None
    ]
    state = {module: dict(vars(module)) for module in model.modules()}
    sums = {norm: [0.0, 0.0] for norm in norms}
    count = 0
    try:
        model.eval()
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum, norm.training = 1.0, True
        with torch.no_grad():
            for batch in loader:
                model(*batch[:1] if isinstance(batch, (list, tuple)) else (batch,))
                count += 1
                for norm, (mean, var) in sums.items():
                    sums[norm] = [mean + norm.running_mean, var + norm.running_var]
        for norm, (mean, var) in sums.items():
            norm.running_mean.copy_(mean / count)
            norm.running_var.copy_(var / count)
    finally:
        for module, before in state.items():
            module.training = before["training"]
            if module in sums:
                module.momentum = before["momentum"]


RIGHT = [recalibrate_plainly, recalibrate_with_a_stack, recalibrate_with_own_sums]
