"""Exercise 04.adamw_step: what `torch.optim.AdamW.step` does to parameters and state."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.optim.shared.descent import (
    Case,
    Grads,
    Options,
    Step,
    copied,
    described,
    gradients,
    require_torchs_defaults,
    require_torchs_path,
    starts,
)
from helpers.labs.optim.shared.memory import (
    require_any_dtype,
    require_averages_in_the_dtype,
    require_gradients_left,
    require_kept_storage,
    require_moves,
    require_no_optimizer,
    require_remembers_in_state,
)

adamw_step = Exercise(
    "04.adamw_step",
    "AdamW by hand",
    objective="Write the step of AdamW: two averages, their correction, and a decay that stands apart.",
    minutes=20,
    difficulty="medium",
    seconds=10,
    hints=[
        "What do the two averages hold after the first gradient, if they begin at zero? By which factor are they too "
        "small then, and after t gradients? And which parameter's t is it?",
        "Decay first: the parameter times 1 - lr * weight_decay. Then the averages, then lr times the corrected first "
        "average over (the root of the corrected second one, plus eps). Each parameter counts its own steps.",
        "`kept['step'] += 1`; `param.mul_(1 - lr * weight_decay)`; `exp_avg.lerp_(grad, 1 - beta1)`; "
        "`exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)`; "
        "`root = (exp_avg_sq / (1 - beta2**step)).sqrt() + eps`; "
        "`param.addcdiv_(exp_avg, root, value=-lr / (1 - beta1**step))`. The averages begin as `zeros_like(param)`.",
    ],
)

DEFAULTS: Options = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 1e-2}
USUAL: Options = {"lr": 0.1, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.0}
NEUTRAL: Options = {"weight_decay": 0.0}
_adam = adam  # an answer that replaces the name replaces nothing here


def torchs(values: list[Tensor], grads: Grads, options: list[Options]) -> list[list[Tensor]]:
    """The path of torch's own AdamW, as `torch.optim.AdamW` calls it."""
    params = [nn.Parameter(value.clone()) for value in values]
    firsts, seconds = ([torch.zeros_like(value) for value in values] for _ in range(2))
    steps = [torch.tensor(0.0) for _ in values]
    path = []
    for now, chosen in zip(grads, options, strict=True):
        given = [place for place, grad in enumerate(now) if grad is not None]
        own = ([kept[place] for place in given] for kept in (params, now, firsts, seconds))
        with torch.no_grad():
            _adam(
                *own,
                [],
                [steps[place] for place in given],
                foreach=False,
                decoupled_weight_decay=True,
                amsgrad=False,
                maximize=False,
                beta1=chosen["betas"][0],
                beta2=chosen["betas"][1],
                **{name: chosen[name] for name in ("lr", "eps", "weight_decay")},
            )
        path.append(copied(params))
    return path


def _require_options(answer: Step, trial: Trial, *changed: Options, steps: int = 5) -> None:
    """Equal to torch with these options, on two parameters."""
    cases = []
    for options in changed:
        values = starts(trial, (3, 2), (4,))
        grads = gradients(trial, values, steps)
        chosen = USUAL | options
        cases.append(Case(f"{steps} steps with {described(chosen)}", values, grads, chosen))
    require_torchs_path(answer, torchs, trial, *cases, neutral=NEUTRAL)


@adamw_step.property(
    "the step is written by hand: no optimizer of torch works inside",
    asks="No step of torch's optimizers is called, nor their functions; a class of your own may inherit `torch.optim.Optimizer`.",
)
def by_hand(answer: Step, trial: Trial) -> None:
    require_no_optimizer(answer, trial, USUAL)


@adamw_step.property(
    "a step moves the parameters themselves, the first one by about lr in every entry",
    asks="One step of AdamW, as `torch.optim.AdamW` makes it; the parameters are edited in place.",
)
def moves(answer: Step, trial: Trial) -> None:
    require_moves(answer, torchs, trial, USUAL | {"eps": 0.0})  # eps has its own property


@adamw_step.property(
    "both averages are corrected for having begun at zero",
    asks=(
        "exp_avg takes in (1 - beta1) of the gradient, exp_avg_sq takes in (1 - beta2) of its square",
        "both are divided by 1 - beta**step (copies: the state keeps the raw ones)",
    ),
)
def corrects(answer: Step, trial: Trial) -> None:
    each = [USUAL["betas"], (0.5, 0.9), (0.0, 0.0)]
    _require_options(answer, trial, *({"betas": betas, "eps": 0.0} for betas in each))


@adamw_step.property(
    "eps is added to the root of the corrected second average",
    asks="the step is lr * exp_avg / (sqrt(exp_avg_sq) + eps), with the corrected ones: eps stands outside the root.",
)
def adds_eps(answer: Step, trial: Trial) -> None:
    _require_options(answer, trial, {"eps": 0.3})


@adamw_step.property(
    "weight decay shrinks the parameter by lr * weight_decay, past the averages",
    asks="the parameter shrinks by lr * weight_decay of itself",
)
def decays_apart(answer: Step, trial: Trial) -> None:
    _require_options(answer, trial, {"weight_decay": 0.2})


@adamw_step.property(
    "weight decay comes before the step, and the same in every step",
    asks=("In this order:", "the parameter shrinks by lr * weight_decay of itself"),
)
def decays_first(answer: Step, trial: Trial) -> None:
    values = starts(trial, (4,))
    grads: Grads = [[torch.zeros(4, dtype=torch.float64)] for _ in range(3)] + gradients(trial, values, 2)
    options = USUAL | {"weight_decay": 0.2, "lr": 0.3}
    given = f"3 steps with gradients of zeros, then 2 with others; {described(options)}"
    require_torchs_path(answer, torchs, trial, Case(given, values, grads, options))


@adamw_step.property(
    "a parameter whose gradient is None stays where it is, and counts no step",
    asks="Where the gradient is None, that parameter stays where it is, does not decay and counts no step.",
)
def passes_over_none(answer: Step, trial: Trial) -> None:
    values = starts(trial, (2,), (2,), (2,))
    grads = gradients(trial, values, 6)
    for step, place in ((0, 2), (1, 0), (3, 0), (3, 1), (4, 0), (4, 1), (4, 2)):
        grads[step][place] = None
    given = "six steps on three parameters, with gradients that are None here and there; "
    each = [USUAL, USUAL | {"weight_decay": 0.1}]
    cases = [Case(given + described(options), values, grads, options) for options in each]
    require_torchs_path(answer, torchs, trial, *cases, neutral=NEUTRAL)


@adamw_step.property(
    "a parameter that joins later begins with step 1", asks="Each parameter counts its own steps, from 1."
)
def takes_in_newcomers(answer: Step, trial: Trial) -> None:
    values = starts(trial, (3,), (3,))
    grads = gradients(trial, values, 6)
    grads[:3] = [now[:1] for now in grads[:3]]
    given = f"a second parameter joins at step 4 with an empty dict; {described(USUAL)}"
    require_torchs_path(answer, torchs, trial, Case(given, values, grads, USUAL))


@adamw_step.property(
    "a new learning rate scales the whole next step and its decay",
    asks="All options may change from step to step.",
)
def follows_the_rate(answer: Step, trial: Trial) -> None:
    values = starts(trial, (3, 2))
    rates = [0.1, 0.1, 0.01, 0.01, 0.5]
    given = (
        f"5 steps with weight_decay=0.1, and lr={', '.join(map(str, rates))} in turn, as a scheduler sets it"
    )
    options = [USUAL | {"weight_decay": 0.1, "lr": rate} for rate in rates]
    require_torchs_path(answer, torchs, trial, Case(given, values, gradients(trial, values, 5), options))


@adamw_step.property(
    "a float64 parameter is averaged in float64, a float32 one in float32",
    asks="The averages have the parameter's dtype and begin at zero.",
)
def keeps_precision(answer: Step, trial: Trial) -> None:
    for dtype in (torch.float64, torch.float32):
        values = starts(trial, (50,), dtype=dtype)
        grads = gradients(trial, values, 3)
        given = f"three steps with {described(USUAL)}"
        require_torchs_path(answer, torchs, trial, Case(given, values, grads, USUAL))
    require_any_dtype(answer, torchs, trial, USUAL | {"weight_decay": 0.1}, neutral=NEUTRAL)
    require_averages_in_the_dtype(answer, trial, USUAL)


@adamw_step.property(
    "the parameters keep their storage, and no graph is recorded",
    asks="The parameters keep their storage, and no graph is recorded.",
)
def in_place(answer: Step, trial: Trial) -> None:
    require_kept_storage(answer, trial, USUAL | {"weight_decay": 0.1})


@adamw_step.property(
    "the lists and the gradients are left as they were given",
    asks="The gradients and the lists are left as they are.",
)
def leaves_the_gradients(answer: Step, trial: Trial) -> None:
    require_gradients_left(answer, trial, [USUAL, USUAL | {"weight_decay": 0.1}])


@adamw_step.property(
    "what it remembers stands in the dicts of state, and nowhere else",
    asks="Everything that the next step needs stands in the dicts: a copy of params and state goes on alike.",
)
def remembers_in_state(answer: Step, trial: Trial) -> None:
    require_remembers_in_state(answer, torchs, trial, USUAL)


def combinations() -> list[Options]:
    """Options that differ enough to show each of them beside each other one."""
    return [
        {"lr": lr, "betas": betas, "eps": eps, "weight_decay": decay}
        for lr, betas in ((0.05, (0.9, 0.999)), (0.3, (0.8, 0.95)), (0.01, (0.95, 0.9)))
        for eps, decay in ((1e-8, 0.0), (1e-8, 0.3), (0.1, 0.0), (0.1, 0.3))
    ]


@adamw_step.property(
    "equal to torch's AdamW when all options change from step to step",
    asks=(
        "All options may change from step to step.",
        "both are divided by 1 - beta**step (copies: the state keeps the raw ones)",
    ),
)
def follows_the_options(answer: Step, trial: Trial) -> None:
    values = starts(trial, (3,))
    options = [
        trial.random.choice(combinations()) | {"lr": trial.random.uniform(0.01, 0.2)} for _ in range(20)
    ]
    given = "20 steps, each with different options, drawn at random"
    require_torchs_path(answer, torchs, trial, Case(given, values, gradients(trial, values, 20), options))


@adamw_step.property(
    "equal to torch's AdamW over 20 steps, with every combination of options",
    asks="One step of AdamW, as `torch.optim.AdamW` makes it; the parameters are edited in place.",
)
def equals_torch(answer: Step, trial: Trial) -> None:
    cases = []
    for options in combinations():
        values = starts(trial, (2,))
        grads = gradients(trial, values, 20)
        absent = sorted(trial.random.sample(range(20), 4))
        for step in absent:
            grads[step][0] = None
        given = f"{described(options)}; no gradient at steps {[step + 1 for step in absent]}"
        cases.append(Case(given, values, grads, options))
    require_torchs_path(answer, torchs, trial, *cases, neutral=NEUTRAL)


@adamw_step.property(
    "options that are not given are those of torch",
    asks="One step of AdamW, as `torch.optim.AdamW` makes it; the parameters are edited in place.",
    once_right=True,
)
def has_defaults(answer: Step, trial: Trial) -> None:
    require_torchs_defaults(answer, torchs, trial, {}, DEFAULTS)
