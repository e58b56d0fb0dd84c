"""06.mini_grad_scaler: what is asked of a scaler that works: errors, and every bit as torch's."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.labs.streams.mini_grad_scaler.exercise import (
    AS_UNSCALE,
    FLOAT32,
    HALF,
    INVERSE,
    LARGER,
    LIKE_TORCH,
    NO_LOSS,
    PRODUCT,
    TWICE,
    mini_grad_scaler,
)
from helpers.labs.streams.mini_grad_scaler.inputs import (
    LOSS,
    Answer,
    counting,
    gradients,
    optimizer_of,
    parameters,
    play,
    power_of,
    scale_of,
    shown_powers,
    some_scale,
)
from helpers.labs.streams.mini_grad_scaler.properties.small import (
    looks_before,
    multiplies_beside_inf,
    passes_over_none,
    stands_between,
    tells,
)
from helpers.labs.streams.mini_grad_scaler.properties.state import passes_through, stores
from helpers.labs.streams.mini_grad_scaler.properties.update import ESSENTIAL
from helpers.labs.streams.mini_grad_scaler.training import Step, run

# Asked of a scaler that has no other fault: these would hide the names of larger ones.
SOUND = (
    *ESSENTIAL,
    passes_over_none,
    stands_between,
    tells,
    multiplies_beside_inf,
    looks_before,
    stores,
    passes_through,
)


@mini_grad_scaler.property(
    "a second unscale_ is refused (RuntimeError), a step without a scaled loss (AssertionError), a float16 gradient "
    "(ValueError)",
    asks=(TWICE, NO_LOSS, HALF, AS_UNSCALE),
    after=SOUND,
)
def refuses(answer: Answer, trial: Trial) -> None:
    start = some_scale(trial)
    trial.given("scale, backward, unscale_, unscale_, without update between them")
    scaler, optimizer = answer(start, 2.0, 0.5, 9), counting()
    scaler.scale(LOSS)
    give_gradients(optimizer)
    scaler.unscale_(optimizer)
    require_refused(
        trial, RuntimeError, lambda: scaler.unscale_(optimizer), "for unscale_ a second time in one iteration"
    )
    trial.given("scale, backward, step, unscale_, without update between them")
    scaler, optimizer = answer(start, 2.0, 0.5, 9), counting()
    scaler.scale(LOSS)
    give_gradients(optimizer)
    scaler.step(optimizer)
    require_refused(trial, RuntimeError, lambda: scaler.unscale_(optimizer), "for unscale_ after step")
    trial.given("a new scaler, gradients of a loss that was not scaled: unscale_")
    scaler, optimizer = answer(start, 2.0, 0.5, 9), counting()
    give_gradients(optimizer)
    require_refused(
        trial, AssertionError, lambda: scaler.unscale_(optimizer), "for unscale_ without a scaled loss"
    )
    trial.given("a new scaler, gradients of a loss that was not scaled: step")
    scaler, optimizer = answer(start, 2.0, 0.5, 9), counting()
    give_gradients(optimizer)
    require_refused(trial, AssertionError, lambda: scaler.step(optimizer), "for step without a scaled loss")
    for which in ([0, 1, 2], [0], [1], [2]):
        names = ", ".join(map(str, which))
        trial.given(
            f"three parameters in two groups, float16 those of index {names}: scale, backward, unscale_"
        )
        scaler, half = answer(8.0, 2.0, 0.5, 9), optimizer_of(trial, (3,), (2, 2), (4,))
        for index in which:
            param = parameters(half)[index]
            param.data = param.data.half()
        scaler.scale(LOSS)
        give_gradients(half)
        kind = "for float16 gradients" if len(which) == 3 else "for one float16 gradient of several"
        require_refused(trial, ValueError, lambda: scaler.unscale_(half), kind)  # noqa: B023


def require_refused(trial: Trial, error: type[Exception], call: Callable[[], Any], when: str) -> None:
    raised = "no error"
    try:
        call()
    except NotImplementedError:
        raise
    except Exception as found:
        raised = "" if isinstance(found, error) else type(found).__name__
    trial.true(
        not raised,
        f"Expected {error.__name__} {when}.",
        expected=error.__name__,
        got=raised,
        observed=(when, raised),
    )


def give_gradients(optimizer: torch.optim.Optimizer) -> None:
    for param in parameters(optimizer):
        param.grad = torch.ones_like(param)


def products(start: float, factors: list[float]) -> dict[str, list[str]]:
    """The scale after each factor, to the bit, by the ways to multiply."""
    found: dict[str, list[str]] = {}
    ways = {
        "in double, then float32": lambda scale, factor: float(np.float32(scale * factor)),
        "in float32": lambda scale, factor: float(np.float32(scale) * np.float32(factor)),
        "in double": lambda scale, factor: scale * factor,
    }
    for way, product in ways.items():
        scale, row = start, []
        for factor in factors:
            row.append((scale := product(scale, factor)).hex())
        found[way] = row
    return found


@mini_grad_scaler.property(
    "behind growth the count begins anew, also where the scale stays since it would become inf",
    asks=LARGER,
    after=SOUND,
)
def stays_finite(answer: Answer, trial: Trial) -> None:
    scaler, optimizer = answer(8.0, 2.0, 0.5, 2), counting(1)
    trial.given(
        "init_scale 8, growth_factor 2.0, growth_interval 2, two good iterations: the scale has grown"
    )
    for _ in range(2):
        play(scaler, optimizer)
    good = scaler.state_dict()["_growth_tracker"]
    trial.true(
        good == 0,
        "The scale has grown, and the count of good iterations went on.",
        expected='state_dict()["_growth_tracker"] == 0',
        got=good,
        observed=("count after growth", good),
    )
    scaler, optimizer, found = answer(2.0**126, 2.0, 0.5, 1), counting(1), []
    trial.given("init_scale 2**126, growth_factor 2.0, growth_interval 1, two good iterations")
    for _ in range(2):
        play(scaler, optimizer)
        found.append(power_of(trial, scaler))
    trial.true(
        found == [127.0, 127.0],
        "2**127 is the largest power of two of float32: twice of it is inf, and from then on every gradient is.",
        expected=shown_powers([127.0] * 2),
        got=shown_powers(found),
        observed=("scales", found),
    )
    good = scaler.state_dict()["_growth_tracker"]
    trial.true(
        good == 0,
        "The scale could not grow, and the count of good iterations went on.",
        expected='state_dict()["_growth_tracker"] == 0',
        got=good,
        observed=("count", good),
    )


@mini_grad_scaler.property(
    "scale times factor is taken in double and rounded to float32",
    asks=(PRODUCT, FLOAT32),
    after=(*SOUND, refuses, stays_finite),
)
def rounds_the_product(answer: Answer, trial: Trial) -> None:
    given, held = 0.1, float(np.float32(0.1))  # 0.1 is no float32 number
    scaler = answer(given, 2.0, 0.5, 9)
    trial.given(f"init_scale {given}, which is no float32 number: scale of a first loss, then get_scale()")
    scaler.scale(LOSS)
    got = scale_of(trial, scaler)
    trial.true(
        got == held,
        "After the first loss the scale is not init_scale as float32 holds it. torch keeps it in a float32 tensor.",
        expected=f"{held}",
        got=f"{got}",
        observed=("first scale", "as given" if got == given else "otherwise"),
    )
    start = some_scale(trial)
    scaler, optimizer = answer(start, 1.7, 0.3, 1), counting(1)
    script = "++0+++"
    trial.given(
        f"init_scale {start:g}, growth_factor 1.7, backoff_factor 0.3, growth_interval 1, six iterations"
    )
    found = []
    for sign in script:
        play(scaler, optimizer, signs=sign)
        found.append(scale_of(trial, scaler))
    ways = products(start, [1.7 if sign == "+" else 0.3 for sign in script])
    bits = [scale.hex() for scale in found]
    how = next((way for way, row in ways.items() if row == bits), "otherwise")
    right = ways["in double, then float32"]
    off = next((at for at, pair in enumerate(zip(bits, right, strict=True)) if pair[0] != pair[1]), 0)
    trial.true(
        bits == right,
        "The scale differs in its last digits. With factors of 2 and 1/2 no rounding can be seen; 1.7 and 0.3 are no "
        "float32 numbers, so a product in float32 rounds twice.",
        expected=f"after iteration {off + 1}: {float.fromhex(right[off]):.12g}, which is {right[off]}",
        got=f"{found[off]:.12g}, which is {bits[off]} (as if multiplied {how})",
        observed=("product", how, bits if how == "otherwise" else []),
    )


@mini_grad_scaler.property(
    "gradients are multiplied by the inverse of the scale, a float32 number",
    asks=INVERSE,
    after=(*SOUND, refuses, stays_finite, rounds_the_product),
)
def multiplies_by_the_inverse(answer: Answer, trial: Trial) -> None:
    # torch makes float32 of a Python number beside a float32 gradient: only a float64 one shows an inverse in double,
    # only a bfloat16 one an inverse of the gradient's dtype.
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        require_the_inverse(answer, trial, dtype)


def require_the_inverse(answer: Answer, trial: Trial, dtype: torch.dtype) -> None:
    start = 333.25  # a float32 number, and no power of two
    kind = str(dtype).removeprefix("torch.")
    scaler, optimizer = answer(start, 2.0, 0.5, 9), optimizer_of(trial, (40,), (8, 9), dtype=dtype)
    trial.given(f"init_scale {start:.6g}, {kind} parameters: scale, backward, unscale_")
    scaler.scale(LOSS)
    for param in parameters(optimizer):
        param.grad = torch.randn(param.shape, generator=trial.generator).to(dtype)
    before: list[Tensor] = gradients(optimizer)  # type: ignore[assignment]
    scaler.unscale_(optimizer)
    scale = float(np.float32(start))
    ways = {
        "times the inverse": [grad * float(np.float32(1 / scale)) for grad in before],
        "divided by the scale": [grad / scale for grad in before],
        "times the inverse in double": [(grad.double() * (1 / scale)).to(dtype) for grad in before],
    }
    got = gradients(optimizer)
    how = next((way for way, row in ways.items() if all(map(same_bits, got, row))), "otherwise")
    trial.true(
        how == "times the inverse",
        f"The {kind} gradients differ from torch's in the last bits. The inverse is computed once, in double, and rounded "
        "to float32; each gradient is multiplied by it.",
        expected=f"times {float(np.float32(1 / scale))!r}, the inverse as float32 holds it",
        got=f"times {1 / scale!r}, the inverse in double" if how == "times the inverse in double" else how,
        observed=("inverse", kind, how),
    )


def same_bits(one: Any, other: Tensor) -> bool:
    return isinstance(one, Tensor) and one.dtype is other.dtype and torch.equal(one, other)


ITERATIONS = 60


@lru_cache(maxsize=4)
def torchs_run(seed: int) -> tuple[Step, ...]:
    """The run with torch's scaler. Kept: naming a mistake runs the bank on one seed."""

    def torchs(*args: Any) -> torch.amp.GradScaler:
        return torch.amp.GradScaler("cpu", *args)

    return tuple(run(torchs, seed, torch.float16, iterations=ITERATIONS, reload_after=ITERATIONS // 2))


@mini_grad_scaler.property(
    "60 iterations under float16 autocast are torch's to the bit: overflows, two optimizers, clipping, a reload",
    asks=LIKE_TORCH,
    after=(*SOUND, refuses, stays_finite, rounds_the_product, multiplies_by_the_inverse),
)
def runs_as_torchs(answer: Answer, trial: Trial) -> None:
    half = ITERATIONS // 2
    trial.given(
        f"factors 1.7 and 0.3; torch.amp.GradScaler('cpu') beside it; the state is loaded anew after {half}"
    )
    want = torchs_run(trial.seed)
    got = run(answer, trial.seed, torch.float16, iterations=ITERATIONS, reload_after=half)
    for number, (mine, torchs) in enumerate(zip(got, want, strict=True), start=1):
        same = mine[:2] == torchs[:2] and torch.equal(mine.parameters, torchs.parameters)
        for what, have, need in () if same else zip(Step._fields, mine, torchs, strict=True):
            trial.equal(
                have,
                need,
                f"After iteration {number} of {ITERATIONS}, the {what.replace('_', ' ')}",
                rtol=0,
                atol=0,
                observed=("run", what),
            )
