"""Exercise 14.step_in_backward: each parameter is updated as soon as its gradient is complete."""

from __future__ import annotations

import gc
import math
from typing import Any

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from helpers.check.garbage import collector
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.memory.step_in_backward.inputs import (
    Branches,
    Chain,
    Frozen,
    Made,
    Make,
    Own,
    Parts,
    Plain,
    Twice,
    Watched,
    adam,
    listed,
    loss_of,
    make_model,
    momentum,
    moved_how,
    no_gradient,
    same_weights,
    setup,
    sgd,
    some,
    weights,
)

step_in_backward = Exercise(
    "14.step_in_backward",
    "The step inside the backward",
    objective="Update each parameter as soon as its gradient is complete, so that gradients never live side by side.",
    minutes=20,
    difficulty="medium",
    hints=[
        "autograd tells when it has added a gradient to a parameter's `.grad`: look for a hook of tensors with "
        '"post_accumulate_grad" in its name.',
        "The hook is given the parameter. It makes the step of the optimizer of this one parameter, and sets `.grad` to None. "
        "So each parameter needs an optimizer that lives as long as the hook: made outside of it.",
        "A function that is defined in a loop sees the loop's variables as they are when it runs, not as they were when it was defined: "
        "all hooks would see the last optimizer. Write a function that takes the optimizer and returns the hook, or use "
        "`functools.partial`.",
        "`parameter.register_post_accumulate_grad_hook(hook)` returns the handle, and raises for a parameter that needs no gradient. "
        "`model.parameters()` gives each parameter once, however many modules share it.",
    ],
)

STEP = "From now on, a backward makes the optimizer's step, too, a parameter at a time."
AT_ONCE = (
    "As soon as the gradient of a parameter is complete, the parameter is updated with it, once a backward, and its `.grad` is "
    "None again: complete gradients do not live side by side."
)
ONE_EACH = (
    "Each parameter that requires grad gets one optimizer: `make([p])` is called once for each, in the call, and its state "
    "lives on from step to step."
)
MAKE = "`make([p])` makes an optimizer of the parameter p; it treats each parameter by itself, as SGD and Adam do."
FROZEN = "A frozen parameter gets none."
SAME = (
    "After `loss.backward()` the weights are those of `make(all)` with its `step()` after the backward, bit for bit, step "
    "after step."
)
ADDED = "Gradients that are there already are added to."
NOT_REACHED = "A parameter that a backward does not reach stays as it is, and so does its state."
HANDLES = "Returns the handles of the hooks, one for each parameter that is trained."
REMOVED = "When all are removed, a backward leaves gradients in `.grad`, and changes no parameter."
AFTER = "These are the weights of the plain step, after the backward."

NAMES = {sgd: "SGD", momentum: "SGD with momentum and weight decay", adam: "Adam"}


def _trained(
    answer: Any, trial: Trial, model: nn.Module, make: Make, steps: int, about: str, kind: str, zero: int = 0
) -> None:
    """Steps on different batches; the weights are those of the plain step after each, and all gradients are None.

    zero: the backward in which all gradients are zeros.
    """
    plain = Plain(model, make)
    trial.given(about)
    with collector(by_itself=False):
        handles = setup(answer, trial, model, make)
        # Hooks that hold only each other are taken away at some time: here, in every run.
        gc.collect()
    if not isinstance(handles, list):
        kind = f"{kind}, no list returned"
    elif not handles:
        kind = f"{kind}, no handle returned"
    for step in range(1, steps + 1):
        x, before = some(trial, 6, 5), weights(model)
        trial.given(f"{about}; backward {step}")
        loss_of(model, x, float(step != zero)).backward()
        plain.step(x, times=float(step != zero))
        _as_plain(trial, model, plain, step, kind, before)
        no_gradient(trial, model)
    del handles  # they live as long as the training


def _as_plain(
    trial: Trial, model: nn.Module, plain: Plain, step: int, kind: str, started: dict[str, torch.Tensor]
) -> None:
    """started: the weights before this backward."""
    wanted = weights(plain.model)
    off = [name for name, each in model.named_parameters() if not torch.equal(each.detach(), wanted[name])]
    if off:
        # What tells one mistake from another: how they moved, which gradients are left, and whether a backward later moves these.
        moved = {moved_how(started[each], weights(model)[each], wanted[each]) for each in off}
        left = [name for name, each in model.named_parameters() if each.grad is not None]
        before, got = weights(model), [each.grad for each in model.parameters()]
        loss_of(model, some(trial, 6, 5)).backward()
        moves = [name for name in off if not torch.equal(dict(model.named_parameters())[name], before[name])]
        with torch.no_grad():
            for (name, each), gradient in zip(model.named_parameters(), got, strict=True):
                each.copy_(before[name])
                each.grad = gradient
        same_weights(
            trial, model, wanted, f"After backward {step}", AFTER, (kind, step, left, moves, sorted(moved))
        )


@step_in_backward.property("each backward makes a step, and leaves no gradient", asks=(STEP, SAME, AT_ONCE))
def makes_steps(answer: Any, trial: Trial) -> None:
    _trained(answer, trial, make_model(Chain, trial), sgd, 2, "three layers, plain SGD", "a step")


@step_in_backward.property("parameters that the model itself holds are trained, too", asks=ONE_EACH)
def own_parameters(answer: Any, trial: Trial) -> None:
    model = make_model(Own, trial)
    trial.given("a model that holds a layer, and two parameters of its own: scale and shift; plain SGD")
    setup(answer, trial, model, sgd)
    before = weights(model)
    loss_of(model, some(trial, 6, 5)).backward()
    same = [name for name, each in model.named_parameters() if torch.equal(each.detach(), before[name])]
    trial.true(
        not same,
        f"A backward has run, and {listed(same)} {'is' if len(same) == 1 else 'are'} not updated.",
        expected="each parameter that requires grad updated",
        got=f"{listed(same)} as before",
        observed=("not updated", same),
    )


@step_in_backward.property("complete gradients do not live side by side", asks=AT_ONCE)
def one_at_a_time(answer: Any, trial: Trial) -> None:
    for kind, about in ((Chain, "three layers"), (Twice, "a model with shared layers and weights")):
        trial.given(
            f"{about}, plain SGD; when a gradient is complete, it is looked at which other ones there are"
        )
        _looked_at(answer, trial, make_model(kind, trial))


def _looked_at(answer: Any, trial: Trial, model: nn.Module) -> None:
    watched = Watched(model)
    setup(answer, trial, model, sgd)
    for step in (1, 2):
        loss_of(model, some(trial, 6, 5)).backward()
        most = max(watched.alive, key=len)
        held = max(watched.held, key=len)
        trial.true(
            not held,
            f"A gradient was complete, and {len(held)} more {'was' if len(held) == 1 else 'were'} in .grad of "
            f"{'its parameter' if len(held) == 1 else 'their parameters'}: {listed(held)}. Each is used and gone before the next is made.",
            expected="no other gradient",
            got=f"{len(held)} more",
            observed=("held", held, step),
        )
        trial.true(
            not most,
            f"A gradient was complete, and the memory of {len(most)} earlier one{'' if len(most) == 1 else 's'} was still alive, though "
            f"not in .grad: {listed(most)}. Something keeps the tensor.",
            expected="no other gradient alive",
            got=f"{len(most)} more",
            observed=("alive", most, step),
        )
        left = watched.living()
        trial.true(
            not left,
            f"The backward has ended, and the memory of a gradient is alive: that of {listed(left)}. Something keeps the tensor.",
            expected="no gradient alive",
            got=listed(left),
            observed=("alive at the end", left, step),
        )


@step_in_backward.property("one optimizer for each parameter, made once", asks=(ONE_EACH, MAKE))
def one_optimizer_each(answer: Any, trial: Trial) -> None:
    model, made = make_model(Chain, trial), Made(adam)
    trial.given("three layers, Adam; three backwards")
    _steps_of_each(answer, trial, model, made)


def _steps_of_each(answer: Any, trial: Trial, model: nn.Module, made: Made) -> None:
    """Three backwards; each parameter has one optimizer, which made three steps."""
    setup(answer, trial, model, made)
    early = len(made.asked)
    trial.true(
        not any(made.steps),
        "An optimizer made a step before any backward has run.",
        expected="no step when the hooks are set",
        got=made.steps,
        observed=("steps at the start", sorted(made.steps)),
    )
    for _ in range(3):
        loss_of(model, some(trial, 6, 5)).backward()
    _asked(trial, made, dict(model.named_parameters()))
    trial.true(
        early == len(made.asked),
        f"{early} of {len(made.asked)} optimizers were there when step_in_backward had returned. `make` is called "
        "in the call, and not in a backward.",
        expected=f"{len(made.asked)} calls of make in the call",
        got=f"{early}",
        observed=("make", "late", early),
    )
    wrong = sorted({count for count in made.steps if count != 3})
    trial.true(
        not wrong,
        f"Three backwards have run, and an optimizer made {wrong[0] if wrong else 3} steps. Each makes one a backward.",
        expected="3 steps each",
        got=made.steps,
        observed=("steps", sorted(made.steps)),
    )


def _asked(trial: Trial, made: Made, trained: dict[str, nn.Parameter]) -> None:
    """make was called once with each of these parameters alone."""
    for given in made.asked:
        trial.true(
            len(given) == 1,
            f"make was given {len(given)} parameters at once. Each gets an optimizer of its own.",
            expected="make([p])",
            got=f"make of {len(given)} parameters",
            observed=("make", "several", sorted(map(len, made.asked))),
        )
    other = [name for name in made.types if name != "list"]
    trial.true(
        not other,
        f"make was given a {other[0] if other else ''}. It takes a list.",
        expected="make([p])",
        got=other[0] if other else "",
        observed=("make", "type", other[:1]),
    )
    known = {id(each): name for name, each in trained.items()}
    counts = dict.fromkeys(trained, 0)
    for (given,) in made.asked:
        trial.true(
            id(given) in known,
            "make was given a tensor that is not among the trained parameters: perhaps a copy or a view of one, or a frozen one.",
            expected="a parameter of the model that requires grad, itself",
            got=f"a {type(given).__name__} of shape {tuple(given.shape)}",
            observed=("make", "a different tensor", type(given).__name__),
        )
        counts[known[id(given)]] += 1
    often = {name: count for name, count in counts.items() if count > 1}
    trial.true(
        not often,
        f"make was called {max(often.values(), default=0)} times with {next(iter(often), '')}. Its state begins anew, or two optimizers "
        "update it.",
        expected="one call for each parameter",
        got=list(counts.values()),
        observed=("make", "often", list(counts.values())),
    )
    never = [name for name, count in counts.items() if not count]
    trial.true(
        not never,
        f"make was never called with {listed(never)}, which requires grad.",
        expected="one call for each parameter",
        got=list(counts.values()),
        observed=("make", "never", never),
    )


@step_in_backward.property(
    "the state lives on: step after step as with the plain optimizer", asks=(SAME, ONE_EACH)
)
def step_after_step(answer: Any, trial: Trial) -> None:
    for make in (momentum, adam):
        _trained(
            answer,
            trial,
            make_model(Chain, trial),
            make,
            4,
            f"three layers, {NAMES[make]}",
            NAMES[make],
        )


@step_in_backward.property(
    "a parameter that is used in several places is updated once, by one optimizer",
    asks=(AT_ONCE, SAME, ONE_EACH),
)
def several_places(answer: Any, trial: Trial) -> None:
    for make in (momentum, adam):
        _trained(
            answer,
            trial,
            make_model(Twice, trial),
            make,
            2,
            f"a layer that runs twice, and a weight in two layers, {NAMES[make]}",
            "several places",
        )
    trial.given("a layer that runs twice, and a weight in two layers, Adam; three backwards")
    _steps_of_each(answer, trial, make_model(Twice, trial), Made(adam))


@step_in_backward.property("parameters that are parts of one memory are several", asks=(ONE_EACH, SAME))
def parts_of_one_memory(answer: Any, trial: Trial) -> None:
    about = "three parameters that are parts of one memory, Adam"
    _trained(answer, trial, make_model(Parts, trial), adam, 2, about, "parts")


@step_in_backward.property("one handle for each trained parameter", asks=HANDLES)
def returns_handles(answer: Any, trial: Trial) -> None:
    for kind, count in ((Chain, 6), (Twice, 5)):
        model = make_model(kind, trial)
        trial.given(f"a model with {count} parameters")
        handles = setup(answer, trial, model, sgd)
        _handles(trial, handles, count)
        left, before = [], weights(model)
        for number, handle in enumerate(handles, 1):
            handle.remove()
            trial.given(
                f"a model with {count} parameters; {number} of {count} handles removed, then a backward"
            )
            loss_of(model, some(trial, 6, 5)).backward()
            left = [
                name for name, each in model.named_parameters() if torch.equal(each.detach(), before[name])
            ]
            trial.true(
                len(left) == number,
                f"{number} of the {count} handles {'is' if number == 1 else 'are'} removed, and a backward leaves {len(left)} parameters "
                "as they were. Each handle is of the hook of one parameter.",
                expected=f"{number}",
                got=f"{len(left)}",
                observed=("removed one by one", number, len(left)),
            )
            before = weights(model)


@step_in_backward.property("a frozen parameter gets no optimizer and no hook", asks=(FROZEN, HANDLES))
def frozen(answer: Any, trial: Trial) -> None:
    model, made = make_model(Frozen, trial), Made(momentum)
    trial.given(
        "three layers, of which the second and the last bias are frozen; SGD with momentum and weight decay"
    )
    plain = Plain(model, momentum)
    handles = setup(answer, trial, model, made)
    for step in (1, 2):
        x = some(trial, 6, 5)
        loss_of(model, x).backward()
        plain.step(x)
        same_weights(trial, model, weights(plain.model), f"After backward {step}", AFTER, "frozen")
    _asked(trial, made, {name: each for name, each in model.named_parameters() if each.requires_grad})
    _handles(trial, handles, 3)
    fixed = [name for name, each in plain.model.named_parameters() if not each.requires_grad]
    now = {name: each.requires_grad for name, each in model.named_parameters()}
    trial.true(
        not any(now[name] for name in fixed),
        "A frozen parameter requires grad now.",
        expected="frozen parameters stay frozen",
        observed="unfrozen",
    )


def _handles(trial: Trial, handles: Any, count: int) -> None:
    trial.true(
        type(handles) is list,
        f"A {type(handles).__name__} was returned."
        if handles is not None
        else "None was returned. Is a `return` missing?",
        expected="a list of handles",
        got=type(handles).__name__,
        observed=("handles", type(handles).__name__),
    )
    other = [type(each).__name__ for each in handles if not isinstance(each, RemovableHandle)]
    trial.true(
        not other,
        f"The list holds a {other[0] if other else ''}, which is no handle of a hook.",
        expected="what register_..._hook returns",
        got=other[0] if other else "",
        observed=("handles", "of", sorted(set(other))),
    )
    trial.true(
        len(handles) == count,
        f"{count} parameters are trained, and the list has {len(handles)} {'entry' if len(handles) == 1 else 'entries'}.",
        expected=f"{count} handles",
        got=f"{len(handles)} handles",
        observed=("handles", len(handles), count),
    )


@step_in_backward.property(
    "a parameter that is not reached stays as it is, and its state, too", asks=(NOT_REACHED, SAME)
)
def not_reached(answer: Any, trial: Trial) -> None:
    for make in (momentum, adam):
        model, made = make_model(Branches, trial), Made(make)
        plain = Plain(model, make)
        about = f"two branches, {NAMES[make]}"
        trial.given(about)
        setup(answer, trial, model, made)
        for step, branch in enumerate(("left", "right", "right", "left", "left", "right"), 1):
            trial.given(f"{about}; backward {step}, through the {branch} one")
            before = weights(model)
            x = some(trial, 6, 5)
            loss_of(model, x, branch=branch).backward()
            plain.step(x, branch=branch)
            idle = "right" if branch == "left" else "left"
            moved = [
                name
                for name, each in model.named_parameters()
                if name.startswith(idle) and not torch.equal(each.detach(), before[name])
            ]
            trial.true(
                not moved,
                f"The backward did not reach {listed(moved)}, which changed even so.",
                expected="as it was",
                observed=("moved", moved, step),
            )
            same_weights(
                trial,
                model,
                weights(plain.model),
                f"After backward {step}",
                AFTER + " Each branch goes on with the state that it had when it last ran.",
                ("not reached", step),
            )


@step_in_backward.property("a gradient that is there already is added to", asks=(ADDED, SAME))
def gradient_there_before(answer: Any, trial: Trial) -> None:
    for make in (sgd, adam):
        model = make_model(Chain, trial)
        loss_of(model, some(trial, 6, 5)).backward()
        plain = Plain(model, make)
        about = f"three layers, {NAMES[make]}; a backward had run before the hooks were set, and left its gradients"
        trial.given(about)
        setup(answer, trial, model, make)
        for step in (1, 2):
            trial.given(f"{about}; backward {step}")
            x = some(trial, 6, 5)
            loss_of(model, x).backward()
            plain.step(x)
            same_weights(
                trial,
                model,
                weights(plain.model),
                f"After backward {step}",
                "The plain step uses the sum of both gradients first." if step == 1 else AFTER,
                ("there before", step),
            )
            no_gradient(trial, model)


@step_in_backward.property("a gradient that is not finite is used as it came", asks=(SAME, AT_ONCE))
def not_finite(answer: Any, trial: Trial) -> None:
    for entry, model in ((math.inf, make_model(Chain, trial)), (math.nan, make_model(Chain, trial))):
        plain, before = Plain(model, sgd), weights(model)
        trial.given(f"three layers, plain SGD; the gradient of layers.4.bias has an entry that is {entry}")
        handles = setup(answer, trial, model, sgd)
        x = some(trial, 6, 5)
        for each in (model, plain.model):
            # The sum that is added reaches one entry of one parameter: all other gradients are finite.
            last = each.get_parameter("layers.4.bias")
            (loss_of(each, x) + last[1] * entry).backward()
        plain.optimizer.step()
        wanted = weights(plain.model)
        off = [
            name
            for name, each in model.named_parameters()
            if not torch.allclose(each.detach(), wanted[name], rtol=0, atol=0, equal_nan=True)
        ]
        got = model.get_parameter("layers.4.bias").detach()
        still = [name for name in off if torch.equal(weights(model)[name], before[name])]
        trial.true(
            not off,
            f"{listed(off)} {'is' if len(off) == 1 else 'are'} not what the plain step makes. Its gradients are used as they come, with "
            f"an entry that is {entry}, too.",
            expected=f"layers.4.bias as {wanted['layers.4.bias']}",
            got=f"layers.4.bias as {got}",
            observed=("not finite", off, still, got.isfinite().tolist()),
        )
        no_gradient(trial, model)
        del handles


@step_in_backward.property(
    "with all handles removed, a backward leaves gradients and changes nothing", asks=REMOVED
)
def all_removed(answer: Any, trial: Trial) -> None:
    for kind, steps in ((Chain, 0), (Twice, 2)):
        model, made = make_model(kind, trial), Made(adam)
        about = f"a model with {len(list(model.parameters()))} parameters, Adam; {steps} backwards, then all handles are removed"
        trial.given(about)
        handles = setup(answer, trial, model, made)
        for _ in range(steps):
            loss_of(model, some(trial, 6, 5)).backward()
        for handle in handles:
            handle.remove()
        plain = Plain(model, adam)
        before, counted = weights(model), list(made.steps)
        for again in (1, 2):
            x = some(trial, 6, 5)
            trial.given(f"{about}; backward {again} after that")
            loss_of(model, x).backward()
            loss_of(plain.model, x).backward()
            same_weights(
                trial,
                model,
                before,
                f"Backward {again} after that",
                "Nothing is trained any more.",
                "removed",
            )
            for (name, each), other in zip(model.named_parameters(), plain.model.parameters(), strict=True):
                trial.true(
                    each.grad is not None,
                    f"All handles are removed, and .grad of {name} is None after a backward.",
                    expected="the gradient",
                    got="None",
                    observed=("removed", "no gradient", again),
                )
                trial.equal(
                    each.grad,
                    other.grad,
                    f"All handles are removed; the gradient of {name}",
                    rtol=0,
                    atol=0,
                    observed=("removed", "gradient", again),
                )
            trial.true(
                made.steps == counted,
                "All handles are removed, and an optimizer made a step in the backward.",
                expected="no step",
                observed=("removed", "steps"),
            )


@step_in_backward.property("a gradient of zeros is a gradient, too", asks=(SAME, NOT_REACHED))
def zeros(answer: Any, trial: Trial) -> None:
    for make in (momentum, adam):
        about = f"three layers, {NAMES[make]}; the second loss is times 0, and all its gradients are zeros"
        _trained(answer, trial, make_model(Chain, trial), make, 3, about, "zeros", zero=2)


@step_in_backward.property("each call makes optimizers of its own", asks=(ONE_EACH, SAME))
def each_call_anew(answer: Any, trial: Trial) -> None:
    model, other = make_model(Chain, trial), make_model(Chain, trial)
    trial.given("three layers, Adam; two backwards, then all handles are removed")
    handles = setup(answer, trial, model, Made(adam))
    for _ in range(2):
        loss_of(model, some(trial, 6, 5)).backward()
    for handle in handles:
        handle.remove()
    for each in model.parameters():
        each.grad = None
    about = "of the same model, after all handles of the first are removed, with "
    _a_later_call(answer, trial, model, adam, f"a second call, {about}")
    _a_later_call(answer, trial, other, adam, "a call for a second model of the same layers, with ")


def _a_later_call(answer: Any, trial: Trial, model: nn.Module, make: Make, about: str) -> None:
    """As a first call: its own optimizers, without state."""
    made, plain = Made(make), Plain(model, make)
    trial.given(f"{about}{NAMES[make]}")
    setup(answer, trial, model, made)
    for step in (1, 2):
        trial.given(f"{about}{NAMES[make]}; backward {step}")
        x, before = some(trial, 6, 5), weights(model)
        loss_of(model, x).backward()
        plain.step(x)
        _as_plain(trial, model, plain, step, about[:15], before)
        no_gradient(trial, model)
    trial.given(f"{about}{NAMES[make]}; two backwards")
    _asked(trial, made, dict(model.named_parameters()))
