"""Every scheduler of torch with a few settings, for a rate of 0.1 and a run of 100 steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.optim import Optimizer
from torch.optim import lr_scheduler as S
from torch.optim.swa_utils import SWALR

Make = Callable[[Optimizer], Any]

__all__ = ["schedulers"]


def schedulers() -> dict[str, dict[str, Make]]:
    """By the scheduler's name, by the setting in words: a function that makes it for an optimizer."""
    return {
        "ChainedScheduler": {
            "StepLR(40) and ExponentialLR(0.98)": lambda o: S.ChainedScheduler(
                [S.StepLR(o, 40), S.ExponentialLR(o, 0.98)]
            )
        },
        "ConstantLR": {"factor=0.25, total_iters=30": lambda o: S.ConstantLR(o, 0.25, 30)},
        "CosineAnnealingLR": {
            f"T_max={steps}": lambda o, steps=steps: S.CosineAnnealingLR(o, steps) for steps in (99, 40)
        },
        "CosineAnnealingWarmRestarts": {
            f"T_0=20, T_mult={times}": lambda o, times=times: S.CosineAnnealingWarmRestarts(o, 20, times)
            for times in (1, 2)
        },
        "CyclicLR": {
            f"mode={mode!r}": lambda o, mode=mode: S.CyclicLR(o, 0.01, 0.1, 15, mode=mode, gamma=0.97)
            for mode in ("triangular", "triangular2", "exp_range")
        },
        "ExponentialLR": {
            f"gamma={gamma}": lambda o, gamma=gamma: S.ExponentialLR(o, gamma) for gamma in (0.99, 0.95, 0.8)
        },
        "LambdaLR": {"1 / (1 + step / 10)": lambda o: S.LambdaLR(o, lambda step: 1 / (1 + step / 10))},
        "LinearLR": {
            f"start_factor={factor}, total_iters=40": lambda o, factor=factor: S.LinearLR(
                o, factor, total_iters=40
            )
            for factor in (0.1, 0.5)
        },
        "MultiStepLR": {"milestones=[20, 70], gamma=0.3": lambda o: S.MultiStepLR(o, [20, 70], 0.3)},
        "MultiplicativeLR": {
            "0.9 at each tenth step": lambda o: S.MultiplicativeLR(o, lambda step: 1.0 if step % 10 else 0.9)
        },
        "OneCycleLR": {
            f"anneal_strategy={way!r}": lambda o, way=way: S.OneCycleLR(o, 0.1, 100, anneal_strategy=way)
            for way in ("cos", "linear")
        },
        "PolynomialLR": {
            f"total_iters=80, power={power}": lambda o, power=power: S.PolynomialLR(o, 80, power)
            for power in (1, 3)
        },
        "ReduceLROnPlateau": {
            f"factor=0.5, patience=3, threshold={least}": lambda o, least=least: S.ReduceLROnPlateau(
                o, factor=0.5, patience=3, threshold=least
            )
            for least in (0.02, 0.08)
        },
        "SWALR": {
            f"swa_lr=0.03, anneal_epochs={epochs}": lambda o, epochs=epochs: SWALR(o, 0.03, epochs)
            for epochs in (10, 50)
        },
        "SequentialLR": {
            "LinearLR for 10 steps, then CosineAnnealingLR": lambda o: S.SequentialLR(
                o, [S.LinearLR(o, 0.1, total_iters=10), S.CosineAnnealingLR(o, 90)], [10]
            )
        },
        "StepLR": {
            f"step_size={size}, gamma=0.5": lambda o, size=size: S.StepLR(o, size, 0.5) for size in (20, 50)
        },
    }
