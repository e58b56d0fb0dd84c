"""Exercise 01.stable_sum: the same bits for every order and every number of threads."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise

stable_sum = Exercise(
    "01.stable_sum",
    "One sum, whatever the order",
    objective="Write a sum whose bits depend neither on the order of the numbers nor on the number of threads.",
    minutes=30,
    difficulty="hard",
    core=False,
    seconds=20,
    hints=[
        "Rounding is what makes the order matter. What if nothing is rounded until the very end?",
        "Every float is a whole number times a power of two, so a sum of floats can be computed exactly. Python's "
        "standard library has a function that does it.",
        "`math.fsum(x.flatten().tolist())`, turned into a 0-d tensor of the dtype of x. It refuses infinities of both "
        "signs: where there are any, their sum alone, `x[~x.isfinite()].sum()`, is the answer.",
    ],
)

BIG = 3e37  # near float32's end; 1e18 beside it is lost in 53 bits, and so is 1 beside 1e18
FLOATS = (torch.float32, torch.float64)
Answer = Callable[[Tensor], Tensor]

# Who sorts by size leaves a number and its negative as they came, and compensation then rounds in one of two ways.
TIES = [1.3164036458569647e64, -1.3164036458569647e64, 1.0118540783833809e34, -1.0118540783833809e34]
TIES += [1.1756930664888668e-10, -1.1756930664888668e-10, 3.461210510157738e-27, -3.461210510157738e-27]
TIES += [1.1417981541647678e46, 1.1972621413014755e52]


def _numbers(values: Sequence[float], dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.tensor(values, dtype=dtype)


def _exact(x: Tensor) -> Tensor:
    """The sum of finite numbers, rounded to the dtype of x; 0-d."""
    return torch.tensor(math.fsum(x.flatten().tolist()), dtype=x.dtype)


def _is_number(trial: Trial, got: Any, x: Tensor) -> None:
    """Says what is wrong with anything but a 0-d tensor of the dtype of x."""
    trial.true(
        isinstance(got, Tensor),
        f"Expected a Tensor, got {type(got).__name__}.",
        expected=f"a 0-d tensor of {x.dtype}",
        got=got,
        observed=type(got).__name__,
    )
    trial.true(
        got.shape == () and got.dtype == x.dtype,
        f"The result has shape {tuple(got.shape)} and {got.dtype}, not () and {x.dtype}.",
        expected=f"a 0-d tensor of {x.dtype}",
        got=got,
        observed=(tuple(got.shape), str(got.dtype)),
    )


def _is_near(got: Tensor, x: Tensor) -> bool:
    """Whether it is the true sum or one of the floats beside it."""
    want = _exact(x)
    ulp = torch.nextafter(want.abs(), torch.tensor(math.inf, dtype=x.dtype)) - want.abs()
    return bool((got.detach() - want).abs() <= ulp)


def _require_near(trial: Trial, near: bool, got: Any, x: Tensor, observed: Any) -> None:
    trial.true(
        near,
        "The sum is not the true one: it is off by more than one ulp, the distance to the next float.",
        expected=f"{_exact(x).item()!r}, the true sum, or one of its two neighbours",
        got=got,
        observed=observed,
    )


def _wide(trial: Trial, dtype: torch.dtype, pairs: int = 200) -> Tensor:
    """Numbers of all sizes that the dtype holds, each with its negative, and three small ones: the sum."""
    top = 120 if dtype == torch.float32 else 1000
    powers = (torch.rand(pairs, generator=trial.generator, dtype=torch.float64) * 2 - 1) * top
    large, small = powers.exp2().to(dtype), 2.0 ** (-top - 20)
    return _shuffled(trial, torch.cat([large, -large, _numbers([small, small, small], dtype)]))


def _shuffled(trial: Trial, x: Tensor) -> Tensor:
    return x.flatten()[torch.randperm(x.numel(), generator=trial.generator)]


@stable_sum.property(
    "a tensor of no dimensions, of the dtype of x, for any shape",
    asks=("Returns a tensor of no dimensions and of the dtype of x:", "x stays as it is"),
)
def kind(answer: Answer, trial: Trial) -> None:
    for _, x in _small(trial, SHAPES):
        _is_number(trial, trial.call(answer, x), x)


@stable_sum.property(
    "the sum of all elements, for any shape",
    asks=("The sum of all elements,", "The sum of no elements is 0."),
    after=(kind,),
)
def small(answer: Answer, trial: Trial) -> None:
    for shape, x in _small(trial, (*SHAPES, (0,), (0, 3), (2, 0, 3))):
        got = trial.call(answer, x)
        _is_number(trial, got, x)
        _require_near(trial, _is_near(got, x), got.item(), x, (shape, f"{got.item():.4g}"))


SHAPES = ((), (1,), (7,), (3, 5), (2, 3, 4), (2, 1, 3, 2))


def _small(trial: Trial, shapes: Sequence[tuple[int, ...]]) -> Iterator[tuple[tuple[int, ...], Tensor]]:
    """Few numbers of each shape, and the shape before it is turned."""
    for dtype, shape in itertools.product(FLOATS, shapes):
        whole = torch.randint(-64, 65, shape, generator=trial.generator)
        whole = whole.mT if len(shape) > 1 else whole  # not contiguous
        which = (
            f"128 * x = {whole.tolist()}"
            if 0 < whole.numel() <= 15
            else "multiples of 1/128"
            if whole.numel()
            else "no elements, whose sum is 0"
        )
        trial.given(f"x of shape {tuple(whole.shape)}, {dtype}: {which}")
        yield shape, whole.to(dtype) / 128


@stable_sum.property(
    "inf and nan go through, in every order",
    once_right=True,
    asks="With inf or nan among them it is nan if there is a nan, or inf and -inf, else the infinity.",
)
def special(answer: Answer, trial: Trial) -> None:
    inf, nan = math.inf, math.nan
    rows = [
        ([inf, 1.0], inf),
        ([1.0, -inf, 2.0], -inf),
        ([inf, inf], inf),
        ([-inf, -inf], -inf),
        ([inf, -inf], nan),
        ([inf, -inf, 1.0], nan),
        ([nan, 1.0], nan),
        ([nan, inf, 1.0], nan),
        ([nan, -inf], nan),
        ([inf, -inf, nan], nan),
        ([[inf, 1.0], [2.0, 3.0]], inf),
        (-inf, -inf),
        (nan, nan),
    ]
    for (values, want), dtype in itertools.product(rows, FLOATS):
        flat = isinstance(values, list) and not isinstance(values[0], list)
        for row in map(list, itertools.permutations(values)) if flat else [values]:
            _goes_through(answer, trial, row, want, dtype)


def _goes_through(answer: Answer, trial: Trial, values: Any, want: float, dtype: torch.dtype) -> None:
    trial.given(f"x = {values}, {dtype}")
    try:
        got = trial.call(answer, _numbers(values, dtype))
    except (ValueError, OverflowError, ArithmeticError) as error:
        trial.fail(
            f"The answer raised {type(error).__name__}: {error}",
            expected=f"{want}",
            got=f"{type(error).__name__}: {error}",
            observed=("raised", type(error).__name__, str(values), str(dtype)),
        )
    _is_number(trial, got, _numbers([], dtype))
    trial.true(
        got.item() == want or (math.isnan(got) and math.isnan(want)),
        f"The sum of these elements is {want}, and the answer gave {got.item()}.",
        expected=f"{want}",
        got=got.item(),
        observed=f"{values} {got.item()} {dtype}",
    )


@stable_sum.property(
    "the same bits for every number of threads, which stays as it is",
    changes=("number of threads",),
    after=(small, special),
    asks=("and every number of threads.", "and so does the number of threads."),
)
def threads(answer: Answer, trial: Trial) -> None:
    for dtype, counts in ((torch.float32, (1, 2, 3, 4)), (torch.float64, (4, 1))):
        # So many that an answer which takes torch.sum for many numbers does so here, too.
        x = torch.randn(200_003, generator=trial.generator, dtype=dtype)
        words = ", ".join(map(str, counts))
        trial.given(
            f"200,003 normal {dtype}, with "
            + (f"{words} threads" if counts[0] == 1 else "4 threads, and then with 1")
        )
        sums, left = [], []
        for count in counts:
            torch.set_num_threads(count)
            got = trial.call(answer, x)
            left.append(torch.get_num_threads())
            _is_number(trial, got, x)
            sums.append(got.item())
        _one_result(trial, sums, "The sum changes with the number of threads", dtype)
        trial.true(
            left == list(counts),
            f"The answer changed the number of threads: it was {words}, and then {', '.join(map(str, left))}.",
            expected=f"{words}, as before each call",
            got=", ".join(map(str, left)),
            observed=("threads", left),
        )


@stable_sum.property(
    "the same bits for every order of ordinary numbers",
    after=(small, special),
    asks="with the same bits for every order of them",
)
def orders(answer: Answer, trial: Trial) -> None:
    for dtype in FLOATS:
        x = torch.rand(3_000, generator=trial.generator, dtype=dtype)
        trial.given(f"3,000 {dtype} between 0 and 1, in one row, in 12 orders")
        sums = [float(trial.call(answer, _shuffled(trial, x))) for _ in range(12)]
        _one_result(trial, sums, "The sum changes with the order", dtype)


@stable_sum.property(
    "the same bits for every order of the elements of a matrix",
    after=(small, special),
    once_right=True,
    asks="with the same bits for every order of them",
)
def orders_of_a_matrix(answer: Answer, trial: Trial) -> None:
    for dtype, shape in itertools.product(FLOATS, ((60, 50), (10, 15, 20))):
        x = torch.rand(3_000, generator=trial.generator, dtype=dtype)
        trial.given(f"3,000 {dtype} between 0 and 1, of shape {shape}, in 8 orders")
        sums = [float(trial.call(answer, _shuffled(trial, x).view(shape))) for _ in range(8)]
        _one_result(trial, sums, "The sum changes with the order", observed="a matrix")


@stable_sum.property(
    "the same bits for every order, also where the numbers cancel",
    after=(small, special),
    asks="with the same bits for every order of them",
)
def cancelling_orders(answer: Answer, trial: Trial) -> None:
    for values, dtype in [
        ([1e10, 1, -1e10], torch.float32),
        ([1e30, 1, -1e30], torch.float32),
        ([1e30, 1, -1e30], torch.float64),
        ([BIG, 1e18, 1, -1e18, -BIG], torch.float32),
        ([1e300, 1e150, 1, -1e150, -1e300], torch.float64),
        ([BIG, 1.0, 1e-37, -1.0, -BIG], torch.float32),
        ([1e300, 1.0, 1e-300, -1.0, -1e300], torch.float64),
    ]:
        trial.given(f"x = {values}, {dtype}, in many orders")
        rows = list(itertools.permutations(values))[:: 1 if len(values) < 5 else 5]
        sums = [float(trial.call(answer, _numbers(row, dtype))) for row in rows]
        examples = {str(total): f"{total} for {list(row)}" for row, total in zip(rows, sums, strict=True)}
        _one_result(
            trial,
            sums,
            "The sum changes with the order",
            got="; ".join(list(examples.values())[:3]),
            observed=("cancelling", str(values), str(dtype)),
        )
    x = _numbers(TIES, torch.float64) * 2.0 ** trial.random.randrange(-40, 40)
    rounded = ", ".join(f"{number:.3g}" for number in x.tolist())
    trial.given(
        f"x = [{rounded}] (17 digits each), {x.dtype}, in 16 orders: each number and its negative have one size"
    )
    rows = [_shuffled(trial, x) for _ in range(16)]
    sums = [float(trial.call(answer, row)) for row in rows]
    _one_result(trial, sums, "The sum changes with the order", observed="ties")
    for dtype, shape in (
        (torch.float32, (403,)),
        (torch.float32, (13, 31)),
        (torch.float64, (31, 13)),
        (torch.float32, (40_003,)),
    ):
        x = _wide(trial, dtype, (math.prod(shape) - 3) // 2)
        count = 6 if x.numel() < 1_000 else 4  # two may agree by chance where parts are rounded
        trial.given(f"{dtype} of shape {shape}, of all sizes, most with their negatives, in {count} orders")
        sums = [float(trial.call(answer, _shuffled(trial, x).view(shape))) for _ in range(count)]
        _one_result(
            trial, sums, "The sum changes with the order", observed=("of all sizes", str(dtype), shape)
        )


@stable_sum.property(
    "the sum itself, to within one ulp",
    after=(small, special),
    asks="the exact sum rounded, or one of the two floats beside that (within one ulp).",
)
def near(answer: Answer, trial: Trial) -> None:
    for kind, inputs in _near_inputs(trial).items():
        for name, x in inputs.items():
            trial.given(f"x = {name}")
            got = trial.call(answer, x)
            _is_number(trial, got, x)
            _require_near(trial, _is_near(got, x), got.item(), x, (kind, _how_far(got, x)))


def _near_inputs(trial: Trial) -> dict[str, dict[str, Tensor]]:
    """Inputs of which the sum must be right, by what they show; the first kinds are the plainest."""
    normal = torch.randn(5_000, generator=trial.generator)
    matrix = torch.randn(50, 3, generator=trial.generator)
    one_size = torch.rand(40_000, generator=trial.generator, dtype=torch.float64) + 1
    other, third = (torch.randn(5_000, generator=trial.generator) for _ in range(2))  # one is right by chance
    return {
        "small": {
            "[1e-30] * 10, float32": _numbers([1e-30] * 10),
            "[1e-30] * 10, float64": _numbers([1e-30] * 10, torch.float64),
        },
        "float32": {
            "2,500 float32, each 1": torch.ones(2_500),
            "3,000 float32 between 1 and 2": one_size[:3_000].float(),
            "5,000 normal float32": normal,
            "5,000 other normal float32": other,
            "5,000 more normal float32": third,
            "[-2**25, 1, 1, ... 1] (32 ones), float32": _numbers([-(2.0**25), *[1.0] * 32]),
        },
        "float64": {
            "5,000 normal float64": normal.double() / 3,
            "3,000 float64 between 1 and 2": one_size[:3_000].clone(),
            "40,000 float64 between -2 and -1": -one_size,
        },
        "layout": {
            "a column of a matrix": matrix[:, 1],
            "every second row of a matrix, turned": matrix[::2].T,
            "one number, expanded to 6 places": _numbers([0.1]).expand(2, 3),
        },
        "large": {
            "[1e30] * 10": _numbers([1e30] * 10),
            "[1e200] * 10, float64": _numbers([1e200] * 10, torch.float64),
            "[2e38, 2e38, -2e38] (more than float32 holds on the way)": _numbers([2e38, 2e38, -2e38]),
        },
        "smallest": {
            "[1e-200] * 10, float64": _numbers([1e-200] * 10, torch.float64),
            "[1e-45] * 3 (the smallest float32)": _numbers([1e-45] * 3),
            "[5e-324] * 3 (the smallest float64)": _numbers([5e-324] * 3, torch.float64),
        },
        "cancelling": {
            "[1e30, 1, -1e30]": _numbers([1e30, 1, -1e30]),
            "[1e16, 1, -1e16], float64": _numbers([1e16, 1, -1e16], torch.float64),
            "[3e37, 1e18, 1, -1e18, -3e37]": _numbers([BIG, 1e18, 1, -1e18, -BIG]),
            "numbers of all sizes, float32": _wide(trial, torch.float32),
            "numbers of all sizes, float64": _wide(trial, torch.float64),
            # What is lost in parts of thousands is no number of an ulp here, and may be 0 in both orders of above.
            "40,003 numbers of all sizes, float32": _wide(trial, torch.float32, 20_000),
        },
    }


def _how_far(got: Tensor, x: Tensor) -> str:
    """How far a wrong sum of ordinary numbers is from the true one, in steps that tell mistakes apart."""
    want = math.fsum(x.flatten().tolist())
    off = abs(got.item() - want) / math.fsum(x.flatten().abs().tolist())
    if not off < 0.1:
        return "far"
    return "as float32" if x.dtype == torch.float64 and off > 1e-12 else "the last digits"


@stable_sum.property(
    "an infinity stays one, also beside numbers that overflow on the way",
    once_right=True,
    asks="With inf or nan among them it is nan if there is a nan, or inf and -inf, else the infinity.",
)
def overflow(answer: Answer, trial: Trial) -> None:
    for values, want in (([3e38, 3e38, -math.inf], -math.inf), ([-3e38, -3e38, math.inf], math.inf)):
        for row in itertools.permutations(values):
            _goes_through(answer, trial, list(row), want, torch.float32)


def _one_result(
    trial: Trial,
    sums: list[float],
    what: str,
    dtype: torch.dtype = torch.float32,
    *,
    got: str = "",
    observed: Any = None,
) -> None:
    distinct = sorted({str(value) for value in sums}, key=float)
    trial.true(
        len(distinct) == 1,
        f"{what}: {len(distinct)} different results.",
        expected="one result, the same to the last bit",
        got=got or ", ".join(distinct[:3]) + (", ..." if len(distinct) > 3 else ""),
        symptom="Each addition rounds, and what is rounded away depends on what was added before.",
        observed=observed or f"{what} {dtype}",
    )
