"""Exercise 03.checkpointed: intermediates are computed once more in the backward instead of kept."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from typing import Any

import torch
import torch.utils.checkpoint
from torch import Tensor

from helpers.check.calls import calls_to
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.autograd.checkpointed.inputs import (
    DROPOUT,
    RNG,
    Boom,
    Checkpointed,
    Setting,
    forward,
    judged_grads,
    made,
    reference,
    saved_bytes,
    young_garbage,
)

checkpointed = Exercise(
    "03.checkpointed",
    "Compute it twice, keep nothing",
    objective="Run a function without keeping its intermediates, and compute them again when the backward needs them.",
    minutes=35,
    difficulty="hard",
    seconds=15,  # the first call of torch.utils.checkpoint, which some answers make, imports for seconds
    version=2,
    hints=[
        "In a Function's forward nothing is recorded, so fn's intermediates die at once. What must be kept so that the "
        "backward can run fn again and get the very same numbers, dropout included?",
        "In the backward: detached copies of the inputs that require grad as the originals did, enable_grad, fn once "
        "more, then torch.autograd.backward(out, grad_out). That fills .grad of the copies, and of fn's parameters.",
        "The second run must draw what the first one drew: torch.get_rng_state() before the first, and in the backward "
        "`with torch.random.fork_rng():` around torch.set_rng_state(...) and fn.",
        "Autocast is read by torch.is_autocast_enabled('cpu') and torch.get_autocast_dtype('cpu'), and set again by "
        "torch.autocast('cpu', enabled=..., dtype=...). The Function returns None for fn, one gradient for each "
        "argument after it, None for those that are no tensors.",
    ],
)


@checkpointed.property(
    "the result is fn's own",
    asks="`fn(*args)`, without keeping what fn computes on the way: backward runs fn once more.",
    changes=RNG,
)
def result(answer: Checkpointed, trial: Trial) -> None:
    trial.given(
        "fn(x, bias), six layers; x of shape (8, 4), float64, comes from a layer before; bias is a leaf"
    )
    setting = Setting(trial.seed)
    out = forward(answer, trial, setting)
    trial.equal(out.detach(), reference(trial.seed)[0], "The result", observed="value")
    trial.given("fn with dropout; torch's generator stands where it stood for fn alone")
    torch.rand(5)  # the state is not the one that a seed makes
    state = torch.get_rng_state()
    want = reference(trial.seed, dropout=DROPOUT)[0]
    torch.set_rng_state(state)
    out = forward(answer, trial, Setting(trial.seed, dropout=DROPOUT))
    trial.equal(out.detach(), want, "The result with dropout", observed="other numbers in the forward")


@checkpointed.property(
    "the gradients of the inputs and of fn's parameters are those without checkpointing",
    asks="The arguments and fn's parameters get the gradients that they get without a checkpoint, by `.backward()`.",
    changes=RNG,
)
def gradients(answer: Checkpointed, trial: Trial) -> None:
    trial.given("out = checkpointed(fn, x, bias); out.backward(grad_out), without dropout")
    setting, want = Setting(trial.seed), reference(trial.seed)[1]
    ones = reference(trial.seed, torch.ones(8, 4, dtype=torch.float64))[1]
    out = forward(answer, trial, setting)
    first = setting.fn.calls
    try:
        setting.backward(out)
    except RuntimeError as error:
        if not (
            counts := re.search(r"incorrect number of gradients \(expected (\d+), got (\d+)\)", str(error))
        ):
            raise
        trial.fail(
            "torch refused what backward of the Function returned: an incorrect number of gradients.",
            expected=f"{counts[1]} values: one for each argument of forward after ctx, and fn is one of them",
            got=f"{counts[2]} values",
            observed=("refused", "too few" if int(counts[2]) < int(counts[1]) else "too many"),
        )
    wrong, again = judged_grads(trial, setting, want, ones), setting.fn.calls - first
    trial.true(
        not wrong,
        " ".join(f"The gradient of {name} is {kind}." for name, kind in wrong.items())
        + ("" if again else " fn did not run again in the backward."),
        expected="the gradients of fn(x, bias) without checkpointing",
        observed=(sorted(wrong.items()), "again" if again else "not again"),
    )


@checkpointed.property(
    "an argument that is used beside the checkpoint, too: a residual block",
    asks="The arguments and fn's parameters get the gradients that they get without a checkpoint, by `.backward()`.",
    changes=RNG,
    after=(gradients,),
)
def residual(answer: Checkpointed, trial: Trial) -> None:
    trial.given("h = sin(x); out = h + checkpointed(fn, h, bias); out.backward(grad_out)")
    found = []
    for run in (lambda fn, *args: fn(*args), answer):
        setting = Setting(trial.seed)
        h = setting.leaf.sin()
        try:
            setting.backward(h + trial.call(run, setting.fn, h, setting.bias))
        except RuntimeError as error:
            if isinstance(error, NotImplementedError):
                raise
            trial.fail(
                f"backward raised {type(error).__name__}: {str(error).partition('. ')[0]}.",
                expected="the gradients of h + fn(h, bias)",
                observed="raised",
            )
        found.append(setting)
    want = found[0].grads()
    wrong = judged_grads(trial, found[1], want, want)
    trial.true(
        not wrong,
        " ".join(f"The gradient of {name} is {kind}." for name, kind in wrong.items()),
        expected="the gradients of h + fn(h, bias)",
        observed=sorted(wrong.items()),
    )


@checkpointed.property(
    "fn is called once in the forward and once in the backward",
    asks="fn runs once in forward and once in backward, not more.",
    changes=RNG,
)
def calls(answer: Checkpointed, trial: Trial) -> None:
    trial.given("fn counts its calls")
    setting = Setting(trial.seed)
    out = forward(answer, trial, setting)
    first, is_custom = setting.fn.calls, isinstance(out.grad_fn, torch.autograd.function.BackwardCFunction)
    setting.backward(out)
    second = setting.fn.calls - first
    trial.true(
        (first, second) == (1, 1),
        f"fn was called {first} times in the forward, {second} times in the backward.",
        expected="once and once: "
        + (
            "backward needs what the first run computed, and nothing of it may be kept"
            if second < 1
            else "each further call costs a whole forward"
        ),
        observed=(min(first, 2), min(second, 3), "a Function" if is_custom else "no Function"),
    )


@checkpointed.property(
    "nothing that fn computed is kept: not after the forward, and not after the backward",
    asks=(
        "After forward, what fn computed on the way is gone: of the bytes that autograd saves without a checkpoint, three quarters or more are not saved.",
        "After backward nothing of either run is kept, but the result by whoever holds it.",
    ),
    changes=RNG,
)
def memory(answer: Checkpointed, trial: Trial) -> None:
    trial.given(
        "six layers on x of shape (40, 6), with a look at what autograd saves and which memory lives on"
    )
    plain, setting = (Setting(trial.seed, rows=40, width=6) for _ in range(2))
    with saved_bytes(plain.x, plain.bias, *plain.fn.weights) as without:
        kept = plain.fn(plain.x, plain.bias)
    with young_garbage():
        with saved_bytes(setting.x, setting.bias, *setting.fn.weights) as within:
            out = forward(answer, trial, setting)
        living, saved, usual = setting.fn.living(), sum(within.values()), sum(without.values())
        is_much = saved > usual / 4
        messages = [
            f"Autograd saved {saved:,} bytes besides inputs and parameters, {usual:,} without checkpointing."
        ]
        messages = messages if is_much else []
        messages += (
            [f"{living} of 6 intermediates of fn are still in memory after the forward."] if living else []
        )
        trial.true(
            not messages,
            " ".join(messages),
            expected="only what is needed to run fn again: its arguments and the state of the generator",
            observed=("much saved" if is_much else "little saved", "alive" if living else "gone"),
        )
        loss = (out * setting.grad_out).sum()
        loss.backward()
        second = any(setting.fn.results_living()[1:]) or setting.fn.living() > 0
        del out, kept
        first = any(setting.fn.results_living()[:1])
        del loss
        for_ever = setting.fn.living() > 0 or any(setting.fn.results_living())
    kept_of = ["the second run"] if second else ["the result of the first run"] if first else []
    trial.true(
        not for_ever,
        "Backward is over, result and loss are gone, and something that fn computed is still in memory.",
        expected="nothing is left",
        observed="kept for ever",
    )
    trial.true(
        not kept_of,
        f"Backward is over, and memory of {' and '.join(kept_of)} is still held, as long as the loss lives.",
        expected="nothing of either run is left, but the result for whoever holds it",
        observed="kept with the loss",
    )


# What the second run of fn must find as the first one did.


@checkpointed.property(
    "the second run of fn draws the same numbers: dropout has the same mask",
    asks="The second run finds torch's CPU generator as the first run did.",
    changes=RNG,
)
def dropout(answer: Checkpointed, trial: Trial) -> None:
    trial.given("fn with dropout; the program draws other numbers between forward and backward")
    seed = trial.random.getrandbits(32)
    torch.manual_seed(seed)
    torch.rand(5)  # the state is not the one that a seed makes
    before = torch.get_rng_state()
    want = reference(trial.seed, dropout=DROPOUT)[1]
    torch.set_rng_state(before)
    setting = Setting(trial.seed, dropout=DROPOUT)
    out = forward(answer, trial, setting)
    known = {"as the first run left it": torch.get_rng_state()}
    torch.rand(3)
    known |= {"where the program stood when backward began": torch.get_rng_state()}
    setting.backward(out)
    wrong = judged_grads(trial, setting, want, want)
    began = setting.fn.states[-1]
    stood = next((name for name, state in known.items() if torch.equal(state, began)), "in a different state")
    trial.true(
        not wrong,
        f"With dropout the gradients of {', '.join(wrong)} are not those of the forward. When the second run of fn "
        f"began, torch's generator stood {stood}.",
        expected="the second run of fn with the generator in the state that it had before the first one",
        observed=("other numbers in the backward", stood),
    )


def is_right(answer: Checkpointed, trial: Trial, dropout: float) -> bool:
    """If not, other properties say so, and name the mistake whatever else was forgotten with it."""
    trial.given("fn with dropout" if dropout else "fn without dropout")
    torch.manual_seed(1)
    want = reference(trial.seed, dropout=dropout)[1]
    torch.manual_seed(1)
    setting = Setting(trial.seed, dropout=dropout)
    setting.backward(forward(answer, trial, setting))
    return not judged_grads(trial, setting, want, want)


@checkpointed.property(
    "the program's random numbers go on as without checkpointing",
    asks="After backward the generator stands where the program had it, also if fn raises in its second run.",
    changes=RNG,
)
def generator(answer: Checkpointed, trial: Trial) -> None:
    if not is_right(answer, trial, 0.0):
        return
    trial.given("fn with dropout; the state of torch's generator after the forward and after the backward")
    torch.manual_seed(trial.random.getrandbits(32))
    before = torch.get_rng_state()
    plain = Setting(trial.seed, dropout=DROPOUT)
    plain.fn(plain.x, plain.bias)
    after_forward = torch.get_rng_state()
    torch.rand(3)
    want = torch.get_rng_state()
    torch.set_rng_state(before)
    setting = Setting(trial.seed, dropout=DROPOUT)
    out = forward(answer, trial, setting)
    trial.true(
        torch.equal(torch.get_rng_state(), after_forward),
        "After the forward torch's generator is not where fn alone would have left it.",
        expected="the forward draws what fn draws, and nothing else",
        observed="moved by the forward",
    )
    torch.rand(3)
    setting.backward(out)
    now = torch.get_rng_state()
    where = "where the forward took it" if torch.equal(now, after_forward) else "somewhere else"
    trial.true(
        torch.equal(now, want),
        f"After the backward torch's generator is {where}: the program's next random numbers are different ones.",
        expected="the state that it had before the backward",
        observed=("moved by the backward", where),
    )


@checkpointed.property(
    "each call keeps its own state",
    asks="Several calls may be open at once, in a row or one inside the other.",
    changes=RNG,
)
def several(answer: Checkpointed, trial: Trial) -> None:
    trial.given(
        "h = checkpointed(fn, x, bias), out = checkpointed(fn, h, bias): fn with dropout, twice in a row"
    )
    judged_beside_plain(answer, trial, "two calls", in_a_row)
    trial.given(
        "checkpointed(g, x, bias), and g calls checkpointed(fn, x, bias): one inside the other, with dropout"
    )
    judged_beside_plain(answer, trial, "one call in another", one_in_another)


def in_a_row(run: Checkpointed, setting: Setting) -> Tensor:
    return run(setting.fn, run(setting.fn, setting.x, setting.bias) * 0.7, setting.bias)


def one_in_another(run: Checkpointed, setting: Setting) -> Tensor:
    def outer(x: Tensor, bias: Tensor) -> Tensor:
        dropped = torch.nn.functional.dropout(x * 0.7, DROPOUT)
        return torch.nn.functional.dropout(run(setting.fn, dropped, bias).sin(), DROPOUT)

    return run(outer, setting.x, setting.bias)


def judged_beside_plain(
    answer: Checkpointed, trial: Trial, what: str, calls: Callable[[Checkpointed, Setting], Tensor]
) -> None:
    """Wrong unless the calls give the gradients that they give without a checkpoint, added to what .grad holds."""
    seed, runs = trial.random.getrandbits(32), []
    for run in (lambda fn, *args: fn(*args), answer):
        torch.manual_seed(seed)
        setting = Setting(trial.seed, dropout=DROPOUT)
        for weight in setting.fn.weights:
            weight.grad = torch.ones_like(weight)
        setting.backward(trial.call(calls, run, setting))
        runs.append(setting)
    want = runs[0].grads()
    wrong = judged_grads(trial, runs[1], want, want)
    trial.true(
        not wrong,
        f"With {what} these gradients are not right: "
        + ", ".join(f"{name} ({kind})" for name, kind in wrong.items())
        + ".",
        expected="the second run of each call with that call's own arguments and random numbers, and .grad added to",
        observed=(what, found_again(runs[1].fn.states)),
    )


def found_again(states: list[Tensor]) -> list[int]:
    """For each call of fn the first call at which the generator stood where it does now."""
    return [next(at for at, state in enumerate(states) if torch.equal(state, now)) for now in states]


def kind_of_error(error: Exception) -> str:
    """What torch or Python did not accept."""
    if "different than None" in str(error):
        return "a gradient for what is no tensor"
    if "can require grad" in str(error):
        return "requires grad"
    return "tensor rules" if isinstance(error, RuntimeError) else "no tensor"


@checkpointed.property(
    "fn gets its arguments as they are, in both runs",
    asks="fn gets its arguments as they are, both times: what is no tensor is the same object.",
)
def arguments(answer: Checkpointed, trial: Trial) -> None:
    trial.given(
        "fn(None, x, 3, 'mean', rows, scale, [1, 2], layer): rows are indices of int64, scale needs no gradient, layer is a "
        "module with a parameter"
    )
    x, scale = made(trial, 5, 4), made(trial, 4, requires_grad=False)
    rows, given = torch.tensor([0, 3]), [1, 2]
    seen: list[tuple[str, ...]] = []
    counts: list[int] = []
    layer = torch.nn.Module()  # without a draw from the global generator, as Linear makes one
    layer.weight = torch.nn.Parameter(made(trial, 4, requires_grad=False))

    def fn(*got: Any) -> Tensor:
        if len(got) != 8:
            counts.append(len(got))
            raise TypeError(f"fn takes 8 arguments, not {len(got)}")
        none, x, power, name, rows, scale, numbers, used = got
        wrong = [] if none is None else ["None"]
        wrong += [] if (type(power), power) == (int, 3) else ["3"]
        wrong += [] if name == "mean" and numbers == [1, 2] else ["'mean' or [1, 2]"]
        wrong += [] if rows.dtype == torch.int64 and not rows.requires_grad else ["rows"]
        wrong += ["scale, which now requires grad"] if scale.requires_grad else []
        wrong += ["a copy of the list"] if numbers is not given else []
        wrong += ["a copy of the module"] if used is not layer else []
        seen.append(tuple(wrong))
        return (x[rows] * scale).sin() ** power * used.weight

    wanted = torch.autograd.grad(fn(None, x, 3, "mean", rows, scale, given, layer).sum(), (x, layer.weight))
    seen.clear()
    try:
        out = trial.call(answer, fn, None, x, 3, "mean", rows, scale, given, layer)
        if isinstance(out, Tensor) and out.requires_grad:
            out.sum().backward()
    except (AttributeError, TypeError, RuntimeError) as error:
        if isinstance(error, NotImplementedError):
            raise
        trial.true(
            not counts,
            f"fn was called with {counts and counts[0]} arguments, and was given 8.",
            expected="None, 3, 'mean', the indices, scale, the list [1, 2] and the module, in their places, and x",
            got=f"{counts and counts[0]} arguments",
            observed=("fewer" if counts and counts[0] < 8 else "more",),
        )
        trial.fail(
            f"With arguments that are no tensors, or no floating ones, came {type(error).__name__}: {error}",
            expected="fn called with the arguments as they are",
            observed=("raised", kind_of_error(error)),
        )
    trial.true(
        not any(seen),
        f"fn got other arguments than it was given: {', '.join(dict.fromkeys(sum(seen, ())))}.",
        expected="None, 3, 'mean', the indices, scale without a gradient, the list [1, 2] and the module themselves",
        observed="copies"
        if all("a copy" in each for each in sum(seen, ()))
        else [list(wrong) for wrong in seen],
    )
    trial.equal(x.grad, wanted[0], "The gradient of x", observed="gradient of x")
    trial.equal(
        layer.weight.grad, wanted[1], "The gradient of layer.weight", observed="gradient of the layer"
    )


def under(dtype: torch.dtype | None) -> contextlib.AbstractContextManager:
    """Autocast to a dtype; None: none, with no trace of an earlier one."""
    return contextlib.nullcontext() if dtype is None else torch.autocast("cpu", dtype=dtype)


def autocast_states(
    answer: Checkpointed, trial: Trial, first: torch.dtype | None, second: torch.dtype | None
) -> list[tuple[bool, str]]:
    """What each run of fn finds: on or off, and the dtype. first, second: what it is in forward and backward."""
    states: list[tuple[bool, str]] = []

    def fn(x: Tensor) -> Tensor:
        enabled = torch.is_autocast_enabled("cpu")
        states.append((enabled, str(torch.get_autocast_dtype("cpu")) if enabled else ""))
        return x.sin()

    x = made(trial, 3)
    with under(first):
        out = trial.call(answer, fn, x)
    with under(second):
        out.sum().backward()
    return states


@checkpointed.property(
    "the second run of fn has the autocast state of the first",
    asks="It finds autocast on the CPU as the first run did: whether it is on, and its dtype.",
    changes=RNG,
    after=(generator,),
)
def autocast(answer: Checkpointed, trial: Trial) -> None:
    if not is_right(answer, trial, DROPOUT):
        return
    half, brain = torch.float16, torch.bfloat16
    for description, first, second in (
        ("forward under autocast to float16, backward outside", half, None),
        ("forward outside autocast, backward inside, to bfloat16", None, brain),
        ("forward under autocast to bfloat16, backward under autocast to float16", brain, half),
    ):
        trial.given(description)
        states = autocast_states(answer, trial, first, second)
        now = torch.is_autocast_enabled("cpu")
        trial.true(
            not now and len(set(states)) == 1,
            "The two runs of fn differ in autocast, so what they compute has a different dtype: "
            + " and ".join(f"{'on' if on else 'off'} {dtype}".strip() for on, dtype in states)
            + ".",
            expected="the same state in both runs",
            observed=(description, states),
        )


@checkpointed.property(
    "if the second run of fn raises, the generator is back all the same",
    asks=(
        "After backward the generator stands where the program had it, also if fn raises in its second run.",
        "That error comes out.",
    ),
    changes=RNG,
    after=(generator, autocast),
)
def on_error(answer: Checkpointed, trial: Trial) -> None:
    for error in (Boom, KeyboardInterrupt):
        when_it_raises(answer, trial, error)


def when_it_raises(answer: Checkpointed, trial: Trial, error: type[BaseException]) -> None:
    trial.given(f"fn draws numbers and raises {error.__name__} when it is called the second time")
    setting = Setting(trial.seed, dropout=DROPOUT)
    setting.fn.fails_at, setting.fn.error = 2, error
    out = forward(answer, trial, setting)
    torch.rand(3)
    before, came = torch.get_rng_state(), "nothing"
    try:
        setting.backward(out)
    except error:
        came = error.__name__
    after = torch.get_rng_state()
    trial.true(
        came == error.__name__,
        f"fn raised {error.__name__} in its second run, and nobody outside heard of it.",
        expected="the error comes out of backward()",
        observed="swallowed",
    )
    trial.true(
        torch.equal(before, after),
        "After the error torch's generator is somewhere else than before the backward.",
        expected="the generator as before the backward, as `finally` or a with statement puts it back",
        observed="rng after error" if error is Boom else "rng after KeyboardInterrupt",
    )


@checkpointed.property("the work is done by the answer itself", asks="torch.utils.checkpoint is not called.")
def own_work(answer: Checkpointed, trial: Trial) -> None:
    trial.given("with a look at which functions of torch.utils.checkpoint are called")
    there = torch.utils.checkpoint
    names = (
        "checkpoint",
        "checkpoint_sequential",
        "CheckpointFunction",
        "_checkpoint_impl",
        "_CheckpointFrame",
    )
    names += ("_checkpoint_without_reentrant_generator", "_CheckpointedFunction", "_checkpoint_hook")
    x = made(trial, 3)
    with calls_to(*(getattr(there, name) for name in names if hasattr(there, name))) as seen:
        trial.call(answer, torch.sin, x).sum().backward()
    trial.true(
        not seen,
        f"The answer calls {', '.join(dict.fromkeys(seen))} of torch.utils.checkpoint: that is what you are to write.",
        expected="a Function, or saved_tensors_hooks",
        observed="torch.utils.checkpoint",
    )


@checkpointed.property(
    "a result without a graph is a constant for the backward",
    asks="If fn's result needs no gradient, its arguments get none from it, and no error comes.",
    changes=RNG,
    once_right=True,
)
def constant(answer: Checkpointed, trial: Trial) -> None:
    x = made(trial, 3)

    def no_graph(x: Tensor) -> Tensor:
        with torch.no_grad():
            return x * 2

    for text, fn in (
        ("fn works under no_grad", no_graph),
        ("fn detaches", lambda x: x.detach().sin()),
        ("fn gives indices, of int64", lambda x: x.argsort()),
    ):
        trial.given(f"(checkpointed(fn, x) + x).sum().backward(); {text}")
        x.grad = None
        try:
            (trial.call(answer, fn, x) + x).sum().backward()
        except RuntimeError as error:
            if isinstance(error, NotImplementedError):
                raise
            trial.fail(
                f"It raised {type(error).__name__}: {error}",
                expected="a gradient of ones, as fn(x) + x gives it",
                observed="raised",
            )
        trial.equal(x.grad, torch.ones_like(x), "The gradient of x", observed="value")
        trial.given(f"(checkpointed(fn, x) + z).sum().backward(), z requires grad; {text}")
        x.grad, z = None, made(trial, 3)
        (trial.call(answer, fn, x) + z).sum().backward()
        trial.true(
            x.grad is None,
            "x has a gradient, and nothing that depends on x needed one.",
            expected="x.grad is None, as without checkpointed",
            got=x.grad,
            observed="a gradient of nothing",
        )
