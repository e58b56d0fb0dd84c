"""Exercise 04.sgd_step: what `torch.optim.SGD.step` does to parameters, gradients and state."""

from __future__ import annotations

import copy
import itertools
from functools import partial

import torch
from torch import Tensor, nn
from torch.optim.sgd import sgd

from helpers.check.compare import shown
from helpers.check.trial import Trial, plain
from helpers.exercise import Exercise
from helpers.labs.optim.shared.descent import (
    Case,
    Grads,
    Options,
    Step,
    copied,
    described,
    gradients,
    leaves,
    require_torchs_defaults,
    require_torchs_path,
    starts,
)
from helpers.labs.optim.shared.memory import (
    require_any_dtype,
    require_gradients_left,
    require_kept_storage,
    require_moves,
    require_no_optimizer,
    require_own_memory,
    require_remembers_in_state,
)
from helpers.labs.optim.shared.torch_calls import unaided

sgd_step = Exercise(
    "04.sgd_step",
    "SGD by hand",
    objective="Write the step of SGD with every option, so that it equals torch's over twenty steps.",
    minutes=20,
    difficulty="medium",
    seconds=10,
    hints=[
        "Write the order down first: what happens to the gradient before the velocity sees it, and what happens "
        "after? Then: what does the velocity hold after the very first gradient?",
        "maximize turns the gradient's sign, then weight decay adds to it, then the velocity takes it in. The first "
        "velocity is a copy of that gradient, without dampening. The learning rate comes last, in the step itself.",
        "Under `torch.no_grad()`: `grad = -grad` if maximize; `grad = grad.add(param, alpha=weight_decay)`; velocity: "
        "`grad.clone()` if the dict is empty, else `velocity.mul_(momentum).add_(grad, alpha=1 - dampening)`; "
        "then `grad.add(velocity, alpha=momentum)` with nesterov, the velocity without; `param.add_(..., alpha=-lr)`. "
        "A parameter whose gradient is None is passed over.",
    ],
)

PLAIN: Options = {
    "lr": 0.1,
    "momentum": 0.0,
    "dampening": 0.0,
    "nesterov": False,
    "weight_decay": 0.0,
    "maximize": False,
}
NEUTRAL = {name: value for name, value in PLAIN.items() if name != "lr"}
_sgd = sgd  # an answer that replaces the name replaces nothing here


def torchs(values: list[Tensor], grads: Grads, options: list[Options]) -> list[list[Tensor]]:
    """The path of torch's own SGD, as `torch.optim.SGD` calls it."""
    params = [nn.Parameter(value.clone()) for value in values]
    buffers: list[Tensor | None] = [None for _ in params]
    path = []
    for now, chosen in zip(grads, options, strict=True):
        given = [place for place, grad in enumerate(now) if grad is not None]
        velocities = [buffers[place] for place in given]
        with torch.no_grad():
            _sgd([params[p] for p in given], [now[p] for p in given], velocities, foreach=False, **chosen)
        for place, velocity in zip(given, velocities, strict=True):
            buffers[place] = velocity
        path.append(copied(params))
    return path


def _require_equal(answer: Step, trial: Trial, *cases: Case) -> None:
    require_torchs_path(answer, torchs, trial, *cases, neutral=NEUTRAL)


def _set(options: Options) -> str:
    """The options that do something."""
    return described({name: value for name, value in options.items() if value != NEUTRAL.get(name)})


def _require_options(answer: Step, trial: Trial, *changed: Options) -> None:
    """Equal to torch with these options: five steps on two parameters."""
    cases = []
    for options in changed:
        values = starts(trial, (3, 2), (4,))
        grads = gradients(trial, values, 5)
        chosen = PLAIN | options
        cases.append(Case(f"5 steps with {_set(chosen)}", values, grads, chosen))
    _require_equal(answer, trial, *cases)


@sgd_step.property(
    "the step is written by hand: no optimizer of torch works inside",
    asks="No step of torch's optimizers is called, nor their functions; a class of your own may inherit `torch.optim.Optimizer`.",
)
def by_hand(answer: Step, trial: Trial) -> None:
    require_no_optimizer(answer, trial, PLAIN | {"momentum": 0.9})


@sgd_step.property(
    "a step moves the parameters themselves, the first one by lr times the gradient",
    asks=(
        "One step of SGD, as `torch.optim.SGD` makes it; the parameters are edited in place.",
        "Without momentum the step is lr times the gradient, and the velocity stays as it is.",
    ),
)
def moves(answer: Step, trial: Trial) -> None:
    require_moves(answer, torchs, trial, PLAIN | {"momentum": 0.9})


@sgd_step.property(
    "weight decay adds weight_decay times the parameter to its gradient",
    asks="weight_decay * param is added to it",
)
def decays(answer: Step, trial: Trial) -> None:
    _require_options(answer, trial, {"weight_decay": 0.1}, {"weight_decay": 1.0})


@sgd_step.property(
    "maximize turns the gradient around, and weight decay still pulls towards zero",
    asks=("In this order:", "maximize turns the gradient's sign", "weight_decay * param is added to it"),
)
def climbs(answer: Step, trial: Trial) -> None:
    _require_options(answer, trial, {"maximize": True}, {"maximize": True, "weight_decay": 0.1})


@sgd_step.property(
    "momentum: the velocity is momentum times itself plus the gradient",
    asks=(
        "the velocity takes it in: momentum * velocity + (1 - dampening) * gradient, and at first as torch's does",
        "the step is lr times the velocity, or with nesterov lr times (gradient + momentum * velocity).",
    ),
)
def gathers(answer: Step, trial: Trial) -> None:
    _require_options(answer, trial, {"momentum": 0.0}, {"momentum": 0.9})
    values = starts(trial, (3, 2), (4,))
    grads = gradients(trial, values, 5)
    grads[2][0] = torch.zeros_like(values[0])
    grads[3] = [torch.zeros_like(value) for value in values]
    options = PLAIN | {"momentum": 0.9}
    given = f"5 steps with {_set(options)}; gradients of zeros for parameter 0 at step 3, for both at step 4"
    _require_equal(answer, trial, Case(given, values, grads, options))


@sgd_step.property(
    "weight decay and maximize act on the gradient before the velocity takes it in",
    asks=(
        "In this order:",
        "the velocity takes it in: momentum * velocity + (1 - dampening) * gradient, and at first as torch's does",
    ),
)
def gathers_what_is_decayed(answer: Step, trial: Trial) -> None:
    _require_options(
        answer, trial, {"momentum": 0.9, "weight_decay": 0.1}, {"momentum": 0.9, "maximize": True}
    )


@sgd_step.property(
    "a new learning rate scales the whole next step, not only the newest gradient",
    asks="the step is lr times the velocity, or with nesterov lr times (gradient + momentum * velocity).",
)
def follows_the_rate(answer: Step, trial: Trial) -> None:
    values = starts(trial, (3, 2))
    rates = [0.1, 0.1, 0.01, 0.01, 0.5]
    given = f"5 steps with momentum=0.9, and lr={', '.join(map(str, rates))} in turn, as a scheduler sets it"
    options = [PLAIN | {"momentum": 0.9, "lr": rate} for rate in rates]
    _require_equal(answer, trial, Case(given, values, gradients(trial, values, 5), options))


@sgd_step.property(
    "dampening weakens every gradient but the first on its way into the velocity",
    asks="the velocity takes it in: momentum * velocity + (1 - dampening) * gradient, and at first as torch's does",
)
def dampens(answer: Step, trial: Trial) -> None:
    _require_options(answer, trial, {"momentum": 0.9, "dampening": 0.4})


@sgd_step.property(
    "nesterov steps along the gradient plus momentum times the new velocity",
    asks="the step is lr times the velocity, or with nesterov lr times (gradient + momentum * velocity).",
)
def looks_ahead(answer: Step, trial: Trial) -> None:
    ahead = {"momentum": 0.9, "nesterov": True}
    _require_options(answer, trial, ahead, ahead | {"weight_decay": 0.1})


@sgd_step.property(
    "a parameter whose gradient is None stays where it is, and so does its velocity",
    asks="Where the gradient is None, that parameter stays where it is, and so does what is remembered of it.",
)
def passes_over_none(answer: Step, trial: Trial) -> None:
    values = starts(trial, (2,), (2,), (2,))
    grads = gradients(trial, values, 6)
    for step, place in ((0, 2), (1, 0), (3, 0), (3, 1), (4, 0), (4, 1), (4, 2)):
        grads[step][place] = None
    given = "six steps on three parameters, with gradients that are None here and there; "
    each: list[Options] = [{"lr": 0.2}, {"momentum": 0.9, "weight_decay": 0.1}]
    cases = [Case(given + _set(PLAIN | options), values, grads, PLAIN | options) for options in each]
    _require_equal(answer, trial, *cases)


@sgd_step.property(
    "a parameter that joins later begins with a fresh velocity",
    asks="A parameter that joins later comes with an empty dict.",
)
def takes_in_newcomers(answer: Step, trial: Trial) -> None:
    values = starts(trial, (3,), (3,))
    grads = gradients(trial, values, 6)
    grads[:3] = [now[:1] for now in grads[:3]]
    options = PLAIN | {"momentum": 0.9, "dampening": 0.4}
    given = f"6 steps with {_set(options)}; a second parameter joins at step 4 with an empty dict"
    late = gradients(trial, values, 4)
    late[0][1] = late[1][1] = late[2][0] = None
    first_late = f"4 steps with {_set(options)}; the second parameter has its first gradient at step 3"
    _require_equal(
        answer, trial, Case(given, values, grads, options), Case(first_late, values, late, options)
    )


def combinations() -> list[Options]:
    """Every combination of options that torch allows."""
    found = []
    for momentum, dampening, nesterov, decay, maximize in itertools.product(
        (0.0, 0.8), (0.0, 0.3), (False, True), (0.0, 0.05), (False, True)
    ):
        if not nesterov or (momentum > 0 and dampening == 0):
            chosen = (0.05, momentum, dampening, nesterov, decay, maximize)
            found.append(dict(zip(PLAIN, chosen, strict=True)))
    return found


@sgd_step.property(
    "parameters of different dtypes and shapes go side by side",
    asks="One step of SGD, as `torch.optim.SGD` makes it; the parameters are edited in place.",
)
def takes_any_dtype(answer: Step, trial: Trial) -> None:
    require_any_dtype(answer, torchs, trial, PLAIN | {"momentum": 0.9, "weight_decay": 0.1}, neutral=NEUTRAL)


@sgd_step.property(
    "the parameters keep their storage, and no graph is recorded",
    asks="The parameters keep their storage, and no graph is recorded.",
)
def in_place(answer: Step, trial: Trial) -> None:
    require_kept_storage(answer, trial, PLAIN | {"momentum": 0.9, "weight_decay": 0.1})


@sgd_step.property(
    "the lists and the gradients are left as they were given",
    asks=(
        "The gradients are left as they are, and nothing that is remembered shares their memory.",
        "The lists themselves are left alone.",
    ),
)
def leaves_the_gradients(answer: Step, trial: Trial) -> None:
    moving = {"momentum": 0.9, "nesterov": True}
    each = [{}, {"weight_decay": 0.1}, {"maximize": True}, moving, moving | {"weight_decay": 0.1}]
    require_gradients_left(answer, trial, [PLAIN | options for options in each])


@sgd_step.property(
    "the velocity is memory of its own, not the gradient's",
    asks="The gradients are left as they are, and nothing that is remembered shares their memory.",
)
def owns_its_velocity(answer: Step, trial: Trial) -> None:
    require_own_memory(answer, torchs, trial, PLAIN | {"momentum": 0.9})


@sgd_step.property(
    "what it remembers stands in the dicts of state, and nowhere else",
    asks="Everything that the next step needs stands in the dicts: a copy of params and state goes on alike.",
)
def remembers_in_state(answer: Step, trial: Trial) -> None:
    require_remembers_in_state(answer, torchs, trial, PLAIN | {"momentum": 0.9})


# Options beside which each one is turned on and off.
TURNED: dict[str, Options] = {
    "momentum": {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1},
    "dampening": {"momentum": 0.9, "dampening": 0.3},
    "nesterov": {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    "weight_decay": {"momentum": 0.9, "weight_decay": 0.1},
    "maximize": {"momentum": 0.9, "weight_decay": 0.1, "maximize": True},
}


@sgd_step.property(
    "equal to torch's SGD when options change from step to step",
    asks=(
        "All options may change from step to step.",
        "Without momentum the step is lr times the gradient, and the velocity stays as it is.",
    ),
)
def follows_the_options(answer: Step, trial: Trial) -> None:
    values = starts(trial, (3,))
    for name, others in TURNED.items():
        on, off = PLAIN | others, PLAIN | others | {name: NEUTRAL[name]}
        given = f"6 steps with {_set(on)}, but {name} only at steps 3, 4 and 6"
        if name == "momentum":
            given = f"6 steps with {_set(on)}, but no momentum at steps 1, 2 and 5"
        steps = [off, off, on, on, off, on]
        _require_equal(answer, trial, Case(given, values, gradients(trial, values, 6), steps))
    drawn = [trial.random.choice(combinations()) for _ in range(20)]
    options = [chosen | {"lr": trial.random.uniform(0.01, 0.2)} for chosen in drawn]
    given = "20 steps, each with different options, drawn at random"
    _require_equal(answer, trial, Case(given, values, gradients(trial, values, 20), options))


@sgd_step.property(
    "equal to torch's SGD over 20 steps, with every combination of options",
    asks="One step of SGD, as `torch.optim.SGD` makes it; the parameters are edited in place.",
)
def equals_torch(answer: Step, trial: Trial) -> None:
    cases = []
    for options in combinations():
        values = starts(trial, (2,))
        grads = gradients(trial, values, 20)
        absent = sorted(trial.random.sample(range(1, 20), 4))
        for step in absent:
            grads[step][0] = None
        given = f"{described(options)}; no gradient at steps {[step + 1 for step in absent]}"
        cases.append(Case(given, values, grads, options))
    _require_equal(answer, trial, *cases)


@sgd_step.property(
    "nesterov without momentum, or with dampening, is refused with ValueError",
    asks="ValueError: nesterov without momentum, or with dampening; nothing has moved or is remembered then.",
    once_right=True,
)
def refuses(answer: Step, trial: Trial) -> None:
    for changed in ({"momentum": 0.0}, {"momentum": 0.9, "dampening": 0.1}):
        for begun in (False, True):
            values = starts(trial, (3,), (2, 2))
            [first, second] = gradients(trial, values, 2)
            params, state = leaves(values), [{}, {}]
            options = PLAIN | {"nesterov": True} | changed
            when = "for nesterov " + ("with dampening" if changed.get("dampening") else "without momentum")
            trial.given(
                f"a step with {described(options)}"
                + ("; a step with momentum=0.9 came before" if begun else "")
            )
            if begun:
                unaided(trial, partial(answer, params, first, state, **PLAIN | {"momentum": 0.9}))
            stood, kept = copied(params), copy.deepcopy(state)
            step = partial(answer, params, second, state, **options)
            unaided(trial, lambda now=step, description=when: trial.raises(ValueError, now, description))
            trial.true(
                all(torch.equal(param, value) for param, value in zip(params, stood, strict=True)),
                "The step was refused, and has moved the parameter all the same.",
                expected="parameters as before",
                observed="moved, then refused",
            )
            trial.true(
                plain(state) == plain(kept),
                "The step was refused, and the state holds something else than before it.",
                expected=shown(kept),
                got=shown(state),
                observed="stored, then refused",
            )
    for changed in ({"momentum": 0.0}, {"momentum": 0.9, "dampening": 0.1}):
        options = PLAIN | {"nesterov": True} | changed
        params = leaves(starts(trial, (3,), (2, 2)))
        trial.given(f"a step with {described(options)}; the gradients are all None")
        try:
            unaided(trial, partial(answer, params, [None, None], [{}, {}], **options))
        except ValueError:
            continue
        trial.fail(
            "Where all gradients are None, nothing was raised for nesterov "
            + ("with dampening." if changed.get("dampening") else "without momentum."),
            expected="ValueError",
            got="no error",
            observed="nothing raised without gradients",
        )


@sgd_step.property(
    "options that are not given are those of torch: 0 and False",
    asks="One step of SGD, as `torch.optim.SGD` makes it; the parameters are edited in place.",
    once_right=True,
)
def has_defaults(answer: Step, trial: Trial) -> None:
    require_torchs_defaults(answer, torchs, trial, {"lr": 0.1}, PLAIN)
