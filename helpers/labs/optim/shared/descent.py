"""Many steps of an optimizer: the answer's beside torch's, on the same parameters and gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from helpers.check.compare import difference
from helpers.check.trial import Trial, plain
from helpers.labs.optim.shared.torch_calls import unaided

Options = dict[str, Any]
Grads = list[list[Tensor | None]]
Step = Callable[..., Any]
_stack = torch.stack  # an answer that replaces the name replaces nothing here
Torchs = Callable[[list[Tensor], Grads, list[Options]], list[list[Tensor]]]


def starts(trial: Trial, *shapes: tuple[int, ...], dtype: torch.dtype = torch.float64) -> list[Tensor]:
    """Values to start from; those of two dimensions are stored by columns, as a transposed weight is."""
    drawn = [torch.randn(shape, generator=trial.generator, dtype=dtype) for shape in shapes]
    return [value.t().contiguous().t() if value.ndim == 2 else value for value in drawn]


def gradients(trial: Trial, values: Sequence[Tensor], steps: int) -> Grads:
    """A gradient for each value at each step."""
    return [
        [torch.randn(value.shape, generator=trial.generator, dtype=value.dtype) for value in values]
        for _ in range(steps)
    ]


def walked(answer: Step, values: list[Tensor], grads: Grads, options: list[Options]) -> list[list[Tensor]]:
    """The parameters after each step. A step with fewer gradients is given only so many of the parameters."""
    params = [nn.Parameter(value.clone()) for value in values]
    state: list[dict] = [{} for _ in params]
    path = []
    for now, chosen in zip(grads, options, strict=True):
        copies = [None if grad is None else grad.clone() for grad in now]
        answer(params[: len(now)], copies, state[: len(now)], **chosen)
        path.append(copied(params))
    return path


def copied(params: Sequence[Tensor]) -> list[Tensor]:
    return [param.detach().clone() for param in params]


@dataclass(frozen=True)
class Case:
    """Some steps to be made. options: one for all steps, or one for each. given: the case in words."""

    given: str
    values: list[Tensor]
    grads: Grads
    options: Options | list[Options]

    @property
    def each(self) -> list[Options]:
        return self.options if isinstance(self.options, list) else [self.options] * len(self.grads)


def require_torchs_path(answer: Step, torchs: Torchs, trial: Trial, *cases: Case) -> None:
    """In every case, every parameter is where torch's is, after every step."""

    def paths() -> list[list[list[Tensor]]]:
        found = []
        for case in cases:
            trial.given(case.given)
            found.append(walked(answer, case.values, case.grads, case.each))
        return found

    for case, got in zip(cases, unaided(trial, paths), strict=True):
        trial.given(case.given)
        want = torchs(case.values, case.grads, case.each)
        if _close(got, want):
            continue
        for step, (have, need) in enumerate(zip(got, want, strict=True), start=1):
            for place, (mine, theirs) in enumerate(zip(have, need, strict=True)):
                message = f"After step {step} of {len(want)}, parameter {place} is not where torch's is"
                # One value may be NaN for many reasons: all parameters of the step tell mistakes apart.
                trial.equal(mine, theirs, message, observed=(step, place, [plain(value) for value in have]))


def require_torchs_defaults(
    answer: Step, torchs: Torchs, trial: Trial, given: Options, defaults: Options
) -> None:
    """Options that are not given are those of torch."""
    values = starts(trial, (3, 2))
    grads = gradients(trial, values, 3)
    trial.given(f"three steps with {described(given) or 'no option at all'}; the others are left out")
    [*_, [got]] = unaided(trial, lambda: walked(answer, values, grads, [given] * 3))
    [*_, [want]] = torchs(values, grads, [defaults | given] * 3)
    trial.equal(got, want, "The parameter after three steps")


def _close(got: list[list[Tensor]], want: list[list[Tensor]]) -> bool:
    """Whether two paths agree: one comparison a parameter, where the report needs one a step."""
    for mine, theirs in zip(zip(*got, strict=True), zip(*want, strict=True), strict=True):
        if any(have.shape != need.shape for have, need in zip(mine, theirs, strict=True)):
            return False
        if difference(_stack(mine), _stack(theirs)):
            return False
    return True


def described(options: Options) -> str:
    """Options as they stand in a call."""
    return ", ".join(f"{name}={value}" for name, value in options.items())
