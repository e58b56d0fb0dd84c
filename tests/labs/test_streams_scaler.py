"""A gradient scaler by hand equals torch's over runs with overflows, to the bit; what the lab says of autocast."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ci.notebooks.reference import answers
from helpers import paths
from helpers.labs.streams import mini_grad_scaler
from helpers.labs.streams.mini_grad_scaler.training import Step, run
from tests.labs import right_answers
from tests.support.stream_autocast import autocast_table

torch.set_num_threads(
    1
)  # as every lab does: two threads on a matrix of 6 x 3 wait for each other, most of the time


def by_hand() -> list[Any]:
    """The solution that the notebook shows, and the right answers of other shape."""
    id = mini_grad_scaler.id
    return [answers(paths.SOLUTIONS / "06_streams.ipynb", {id: mini_grad_scaler})[id], *right_answers(id)]


BY_HAND = by_hand()


def torchs(*args: float) -> torch.amp.GradScaler:
    return torch.amp.GradScaler("cpu", *args)


def backoffs(steps: list[Step]) -> int:
    return sum(after.scale < before.scale for before, after in zip(steps, steps[1:], strict=False))


def same(one: list[Step], other: list[Step]) -> bool:
    return len(one) == len(other) and all(
        a[:2] == b[:2] and torch.equal(a.parameters, b.parameters) for a, b in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("clipped", [False, True], ids=["", "clipped"])
@pytest.mark.parametrize("factors", [(2.0, 0.5), (1.7, 0.3)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))])
def test_200_steps_are_torchs(
    seed: int, dtype: torch.dtype, factors: tuple[float, float], clipped: bool
) -> None:
    how = dict(factors=factors, clipped=clipped, iterations=200, reload_after=90)
    want = run(torchs, seed, dtype, **how)
    assert (backoffs(want) >= 10) == (dtype is torch.float16)
    assert same(run(BY_HAND[0], seed, dtype, **how), want)


@settings(max_examples=6, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    growth=st.floats(1.01, 9.0),
    backoff=st.floats(0.05, 0.99),
    interval=st.integers(1, 7),
    start=st.floats(1.0, 2.0**30, width=32),
    reload_after=st.none() | st.integers(0, 39),
)
def test_any_factors(
    seed: int, growth: float, backoff: float, interval: int, start: float, reload_after: int | None
) -> None:
    how = dict(
        factors=(growth, backoff),
        iterations=40,
        reload_after=reload_after,
        init_scale=start,
        growth_interval=interval,
    )
    want = run(torchs, seed, torch.float16, **how)
    for scaler in BY_HAND:
        assert same(run(scaler, seed, torch.float16, **how), want)


def test_the_runs_of_the_check_overflow() -> None:
    """Else a scaler that never looks for inf would pass them."""
    for seed in range(8):
        steps = run(torchs, seed, torch.float16)
        assert backoffs(steps) >= 4
        assert bool(steps[-1].parameters.isfinite().all())


def test_autocast_on_a_cpu() -> None:
    rows = {name: types for name, *types in autocast_table(torch.bfloat16)}
    low, wide = "bfloat16", "float32"
    for name in ("mm", "bmm", "addmm", "linear", "einsum", "conv2d", "attention"):
        assert rows[name] == [low, low], name
    for name in ("relu", "add", "exp", "sum", "softmax", "layer_norm"):
        assert rows[name] == [wide, low], name
    for name in ("mse_loss", "cross_entropy"):
        assert rows[name] == [wide, wide], name
