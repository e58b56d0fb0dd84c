"""Many steps of an optimizer: the answer's beside torch's, on the same parameters and gradients."""

from __future__ import annotations

import contextlib
from collections import deque
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
ROUNDING = 1e-6  # of what is computed in float32 along the way
ROUNDED = "it is off by as little as float32 rounds"
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


_ALIVE: deque[nn.Parameter] = deque(maxlen=20_000)  # more than a check makes


def leaves(values: Sequence[Tensor]) -> list[nn.Parameter]:
    """New parameters of these values, of which no two in a check have one address.

    Else a table by id(param) would meet the entry of a parameter that is gone, by chance.
    """
    made = [nn.Parameter(value.clone()) for value in values]
    _ALIVE.extend(made)
    return made


def walked(answer: Step, values: list[Tensor], grads: Grads, options: list[Options]) -> list[list[Tensor]]:
    """The parameters after each step. A step with fewer gradients is given only so many of the parameters.

    The list of the state is one and the same at all steps, as whoever calls by hand keeps it; it grows with the parameters.
    """
    params = leaves(values)
    state: list[dict] = []
    path = []
    for now, chosen in zip(grads, options, strict=True):
        copies = [None if grad is None else grad.clone() for grad in now]
        state.extend({} for _ in now[len(state) :])
        answer(params[: len(now)], copies, state, **chosen)
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
    def in_words(self) -> str:
        """The case, and what the parameters are."""
        kinds = ", ".join(f"{tuple(value.shape)} {str(value.dtype)[6:]}" for value in self.values)
        return f"{self.given}; parameters: {kinds}"

    @property
    def each(self) -> list[Options]:
        return self.options if isinstance(self.options, list) else [self.options] * len(self.grads)


def require_torchs_path(
    answer: Step, torchs: Torchs, trial: Trial, *cases: Case, neutral: Options | None = None
) -> None:
    """In every case, every parameter is where torch's is, after every step.

    neutral: the values with which an option does nothing. The case that fails is tried again with each option set to
    its own: the report says without which of them the answer agrees with torch.
    """

    def paths() -> list[list[list[Tensor]]]:
        found = []
        for case in cases:
            trial.given(case.in_words)
            found.append(walked(answer, case.values, case.grads, case.each))
        return found

    for case, got in zip(cases, unaided(trial, paths), strict=True):
        trial.given(case.in_words)
        want = torchs(case.values, case.grads, case.each)
        if _close(got, want):
            continue
        agrees = _agrees_without(answer, torchs, case, neutral or {})
        before, stood = case.values, case.values
        for step, (have, need) in enumerate(zip(got, want, strict=True), start=1):
            for place, (mine, theirs) in enumerate(zip(have, need, strict=True)):
                without = f"all agrees without {', or without '.join(agrees)}" if agrees else ""
                message = f"After step {step} of {len(want)}, parameter {place} " + off_by(
                    step_seen(before[place], mine, theirs, stood[place]), without
                )
                # One value may be NaN for many reasons: all parameters, then and at the end, tell mistakes apart.
                seen = [[plain(value) for value in now] for now in (have, got[-1])]
                trial.equal(mine, theirs, message, observed=(step, place, agrees, *seen))
            before, stood = need, have


def _agrees_without(answer: Step, torchs: Torchs, case: Case, neutral: Options) -> list[str]:
    """The options that this case gives a value, and without one of which the answer agrees with torch."""
    given = [name for name in neutral if any(each[name] != neutral[name] for each in case.each)]
    found = []
    for name in given if len(given) > 1 else ():
        without = [each | {name: neutral[name]} for each in case.each]
        if any(each.get("nesterov") and not each["momentum"] for each in without):
            continue  # torch refuses that
        with contextlib.suppress(Exception):
            got = walked(answer, case.values, case.grads, without)
            if _close(got, torchs(case.values, case.grads, without)):
                found.append(name)
    return found


def step_seen(before: Tensor, got: Tensor, want: Tensor, stood: Tensor) -> str:
    """How a step differs from torch's, from the same place, in a few words, or nothing.

    stood: where the answer's parameter stood before, which may differ from `before` in its last digits.
    """
    if got.shape != want.shape or got.dtype != want.dtype:
        return ""
    mine, theirs = ((value - before).double().flatten() for value in (got, want))
    if torch.equal(got, stood):
        return "it has not moved in this step"
    if not theirs.count_nonzero():
        return "torch does not move it in this step"
    if float((mine - theirs).abs().max()) <= ROUNDING * float(want.double().abs().max()):
        return ROUNDED
    largest = theirs.abs().argmax()
    times = mine[largest] / theirs[largest]
    if bool(((mine - times * theirs).abs() <= 1e-5 * theirs.abs().max()).all()):
        return f"the step is {float(times):.3g} times torch's"
    return ""


def off_by(*remarks: str) -> str:
    """Remarks on a parameter that is somewhere else."""
    found = "; ".join(remark for remark in remarks if remark)
    return "is not where torch's is" + (f" ({found})" if found else "")


def require_torchs_defaults(
    answer: Step, torchs: Torchs, trial: Trial, given: Options, defaults: Options
) -> None:
    """Options that are not given are those of torch."""
    values = starts(trial, (3, 2))
    grads = gradients(trial, values, 3)
    left_out = {name: value for name, value in defaults.items() if name not in given}
    called = f"{described(given)} and nothing else" if given else "no option at all"
    trial.given(f"three steps on a parameter of shape (3, 2), float64, with {called}")
    [*_, [got]] = unaided(trial, lambda: walked(answer, values, grads, [given] * 3))
    [*_, [want]] = torchs(values, grads, [defaults | given] * 3)
    if not difference(got, want):
        return
    # The option whose default is a different one: where it is given, all agrees.
    decides = []
    for name, value in left_out.items():
        with contextlib.suppress(Exception):
            [*_, [there]] = walked(answer, values, grads, [given | {name: value}] * 3)
            if not difference(there, want):
                decides.append(name)
    off = float((got.double() - want.double()).abs().max()) if got.shape == want.shape else float("nan")
    trial.fail(
        f"Torch takes {described(left_out)}. The parameter after three steps is not where torch's is: off by up to "
        f"{off:.3g}."
        + "".join(f" With {described({name: left_out[name]})} given, all agrees." for name in decides),
        expected=want,
        got=got,
        observed=("defaults", decides),
    )


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
