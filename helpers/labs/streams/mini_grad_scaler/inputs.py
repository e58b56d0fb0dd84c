"""Where 06.mini_grad_scaler is played: an optimizer that notes what it is given, and scripted iterations."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Real
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from helpers.check.calls import calls_to
from helpers.check.compare import shown
from helpers.check.trial import Trial

Scaler = Any  # an object of the answer's class
Answer = type[Any]


LOSS = torch.tensor(0.5)


class Counting(Optimizer):
    """Counts its steps, and takes none."""

    def __init__(self, params: Any) -> None:
        super().__init__(params, {})
        self.steps = 0

    def step(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        self.steps += 1


def counting(number: int = 2) -> Counting:
    """An optimizer over so many parameters of two entries."""
    return Counting([nn.Parameter(torch.ones(2)) for _ in range(number)])


def play(scaler: Scaler, *optimizers: Counting, signs: str = "++", explicit: bool = False) -> None:
    """An iteration without a network, since most of a check would be its backward.

    signs: "0" for an optimizer that finds an inf. explicit: unscale_ is called for all before the first step.
    """
    scaler.scale(LOSS)
    for sign, optimizer in zip(signs, optimizers, strict=False):
        for param in parameters(optimizer):
            param.grad = torch.ones(2)
        if sign == "0":
            optimizer.param_groups[0]["params"][0].grad[1] = math.inf
    for optimizer in optimizers if explicit else ():
        scaler.unscale_(optimizer)
    for optimizer in optimizers:
        scaler.step(optimizer)
    scaler.update()


class Noting(Optimizer):
    """Plain gradient descent that notes what each step was given and the gradients that it saw."""

    def __init__(self, params: Any, lr: float = 0.5) -> None:
        super().__init__(params, {"lr": lr})
        self.seen: list[list[Tensor | None]] = []  # gradients
        self.given: list[tuple[tuple, dict]] = []

    @torch.no_grad()
    def step(self, *args: Any, **kwargs: Any) -> str:  # type: ignore[override]
        self.seen.append(gradients(self))
        self.given.append((args, kwargs))
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    param.sub_(param.grad * group["lr"])
        return f"the result of step {len(self.seen)}"


def parameters(optimizer: Optimizer) -> list[nn.Parameter]:
    return [param for group in optimizer.param_groups for param in group["params"]]


def gradients(optimizer: Optimizer) -> list[Tensor | None]:
    """Copies of the gradients, group by group."""
    return [None if p.grad is None else p.grad.detach().clone() for p in parameters(optimizer)]


def optimizer_of(trial: Trial, *shapes: tuple[int, ...], dtype: torch.dtype = torch.float32) -> Noting:
    """One optimizer over parameters of these shapes: the last one stands in a group of its own."""
    made = [nn.Parameter(torch.randn(shape, generator=trial.generator).to(dtype)) for shape in shapes]
    return Noting([{"params": made[:-1]}, {"params": made[-1:], "lr": 0.25}] if made[:-1] else made)


def some_scale(trial: Trial) -> float:
    """A power of two: to divide by it and to multiply by its inverse give the same bits."""
    return 2.0 ** trial.random.randrange(9, 14)


def backward(scaler: Scaler, *optimizers: Optimizer, trial: Trial) -> list[list[Tensor]]:
    """Scales a loss and runs its backward; returns the gradients of the loss as it is, for each optimizer."""
    true = [
        [torch.randn(param.shape, generator=trial.generator).to(param.dtype) for param in parameters(each)]
        for each in optimizers
    ]
    for each in optimizers:
        each.zero_grad()
    loss = sum(
        (param * grad).sum()
        for each, grads in zip(optimizers, true, strict=True)
        for param, grad in zip(parameters(each), grads, strict=True)
    )
    require_tensor(trial, scaled := scaler.scale(loss), "What scale(loss) returns")
    trial.true(
        scaled.requires_grad and scaled.shape == (),
        "What scale(loss) returns is no loss that backward() can start from.",
        expected="a tensor of no dimensions that requires grad",
        got=scaled,
        observed=("no loss", tuple(scaled.shape), scaled.requires_grad),
    )
    scaled.backward()
    return true


def scaled_gradients(scaler: Scaler, optimizer: Optimizer, trial: Trial) -> list[Tensor]:
    """Gives each parameter a gradient as the backward of a scaled loss would; returns those of the loss as it is."""
    require_tensor(trial, scaled := scaler.scale(LOSS), "What scale(loss) returns")
    by, true = scaled.detach() / LOSS, []
    for param in parameters(optimizer):
        true.append(torch.randn(param.shape, generator=trial.generator))
        param.grad = true[-1] * by
    return true


def require_tensor(trial: Trial, got: Any, what: str) -> None:
    trial.true(
        type(got) is Tensor,
        f"{what} is no tensor." + (" Is a `return` missing?" if got is None else ""),
        expected="a Tensor",
        got=shown(got),
        observed=("no tensor", type(got).__name__),
    )


def require_number(trial: Trial, got: Any, what: str) -> float:
    """`got` as a float; wrong if it is no number (NumPy's are)."""
    trial.true(
        isinstance(got, Real) and not isinstance(got, bool),
        f"{what} is no Python number, but of type {type(got).__name__}.",
        expected="a float",
        got=shown(got),
        observed=("no number", type(got).__name__),
    )
    return float(got)


def scale_of(trial: Trial, scaler: Scaler) -> float:
    return require_number(trial, scaler.get_scale(), "What get_scale() returns")


def power_of(trial: Trial, scaler: Scaler) -> float | str:
    """log2 of the scale."""
    now = scale_of(trial, scaler)
    return round(math.log2(now), 3) if 0 < now < math.inf else str(now)


def shown_powers(powers: list[Any]) -> str:
    return "2 to the " + ", ".join(f"{power:g}" if isinstance(power, float) else power for power in powers)


def powers(got: Iterable[Tensor | None], true: Iterable[Tensor], scale: float) -> list[Any]:
    """By which power of the scale each gradient is larger than the true one: 0 is unscaled, 1 still scaled."""
    found: list[Any] = []
    for have, want in zip(got, true, strict=True):
        if have is None:
            found.append("None")
            continue
        pairs = zip(have.flatten().tolist(), want.flatten().tolist(), strict=True)
        ratios = [a / b if b else math.nan for a, b in pairs]
        alike = all(math.isclose(ratio, ratios[0], rel_tol=1e-4) for ratio in ratios)
        right = alike and 0 < ratios[0] < math.inf
        found.append(round(math.log(ratios[0]) / math.log(scale), 3) + 0.0 if right else "other")
    return found


def described(powers: list[Any]) -> str:
    """Powers of the scale in words."""
    words = {
        0.0: "the true gradient",
        1.0: "the true gradient times the scale",
        -1.0: "the true gradient divided by the scale",
        2.0: "the true gradient times the scale, twice",
    }
    each = [
        words.get(
            power, f"the true gradient times scale^{power:g}" if isinstance(power, float) else str(power)
        )
        for power in powers
    ]
    return f"{each[0]}, in all {len(each)}" if len(set(each)) == 1 and len(each) > 1 else "; ".join(each)


def require_unscaled(trial: Trial, got: list[Any], true: list[Tensor], scale: float, what: str) -> None:
    found = powers(got, true, scale)
    trial.true(
        not any(found),
        f"{what} are not the gradients of the loss.",
        expected="the true gradients: those of scale(loss) divided by the scale, once",
        got=f"{described(found)} (the scale is {scale:g})",
        observed=("powers", found),
    )


def scales(answer: Answer, trial: Trial, script: str, *, interval: int, start: int) -> list[Any]:
    """log2 of the scale after each iteration of a script: "+" is a good one, "0" one with inf. It begins at `start`."""
    scaler, optimizer, found = answer(2.0**start, 2.0, 0.5, interval), counting(1), []
    for sign in script:
        play(scaler, optimizer, signs=sign)
        found.append(power_of(trial, scaler))
    return found


def scripted(script: str, *, interval: int, start: int) -> list[float]:
    """What `scales` is to give, from the rule."""
    found, now, good = [], float(start), 0
    for sign in script:
        good = good + 1 if sign == "+" else 0
        now += -1 if sign == "0" else good == interval
        good %= interval
        found.append(now)
    return found


def require_script(answer: Answer, trial: Trial, script: str, *, interval: int, start: int) -> None:
    words = " ".join({"+": "good", "0": "inf"}[sign] for sign in script)
    trial.given(
        f"init_scale 2**{start}, factors 2.0 and 0.5, growth_interval {interval}; iterations: {words}"
    )
    want = scripted(script, interval=interval, start=start)
    got = scales(answer, trial, script, interval=interval, start=start)
    wrong = next((sign for sign, a, b in zip(script, got, want, strict=True) if a != b), "")
    why = {
        "0": "The scale was too large wherever an inf was found. Nothing holds it above 1.",
        "+": "It grows when growth_interval iterations in a row were good, without an inf between them, and counts from "
        "0 again.",
    }
    trial.true(
        not wrong,
        f"The scale goes another way than it should. {why.get(wrong, '')}",
        expected=shown_powers(want),
        got=shown_powers(got),
        observed=("scales", got),
    )


# What torch has for this, and its parts in C++: an answer re-creates both.
TORCHS = (torch.amp.GradScaler, torch._amp_foreach_non_finite_check_and_unscale_, torch._amp_update_scale_)


def torchs_own(answer: Answer, trial: Trial) -> list[str]:
    """What of torch's own scaler works in an iteration."""
    optimizer = counting(1)
    with calls_to(*TORCHS) as seen:
        try:
            play(answer(some_scale(trial), 2.0, 0.5, 9), optimizer, explicit=True)
        except NotImplementedError:  # a stub
            raise
        except Exception:
            pass  # what an answer raises is for other properties to tell
    return sorted(set(seen))
