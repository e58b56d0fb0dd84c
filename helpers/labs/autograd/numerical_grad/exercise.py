"""Exercise 03.numerical_grad: a gradient from values alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.check.calls import calls_to
from helpers.check.compare import shown
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.autograd.shared.functions import kind_of

numerical_grad = Exercise(
    "03.numerical_grad",
    "A gradient without autograd",
    objective="Write the central differences that gradcheck rests on, and see what they ask of the number type.",
    minutes=15,
    difficulty="easy",
    core=False,
    version=2,
    hints=[
        "One entry is moved at a time, up and down, and all the others stay. On which tensor do you move it, if x must "
        "stay as it is?",
        "A copy that is contiguous for certain can be seen flat: `x.detach().clone(memory_format=torch.contiguous_format)` "
        "and `.view(-1)`, two names of one memory. Keep the old value of an entry, and write it back.",
        "For each i: `here = flat[i].item()`; `flat[i] = here + eps`, `above = fn(moved)`; `flat[i] = here - eps`, "
        "`below = fn(moved)`; `flat[i] = here`; `(above - below) / (2 * eps)`.",
    ],
)

Scalar = Callable[[Tensor], Tensor]
Answer = Callable[..., Tensor]


def drawn(trial: Trial, *shape: int) -> Tensor:
    """float64, from 0.5 to 2 and both signs."""
    sign = torch.randint(0, 2, shape, generator=trial.generator) * 2 - 1
    return sign * (0.5 + 1.5 * torch.rand(shape, generator=trial.generator, dtype=torch.float64))


def product_sum(c: Tensor) -> Scalar:
    """sum of c * x**2, plus the square of the sum of x: every entry meets every other one."""
    return lambda x: (c * x * x).sum() + x.sum() ** 2


def slope_of_product_sum(c: Tensor, x: Tensor) -> Tensor:
    return 2 * c * x + 2 * x.sum()


def called(answer: Answer, trial: Trial, fn: Scalar, x: Tensor, **keywords: float) -> Any:
    """`answer(fn, x, ...)`. Whether x is as it was afterwards is a property of its own."""
    return trial.call(lambda: answer(fn, x, **keywords))


def require_gradient(trial: Trial, got: Any, want: Tensor, **candidates: Tensor) -> None:
    """Compares with the exact gradient, loosely: how exact it must be is the error's own property."""
    trial.true(
        not isinstance(got, Tensor) or not got.requires_grad or not got.is_leaf,
        "The gradient requires grad. It is a leaf: no operation made it, and requires_grad was switched on.",
        expected="requires_grad=False",
        got="a leaf with requires_grad=True",
        observed="a leaf that requires grad",
    )
    if isinstance(got, Tensor) and got.shape == want.shape:
        first, last = want.clone(), want.clone()
        first.view(-1)[:1] = last.view(-1)[-1:] = 0
        candidates |= {"without an end": first, "without the last": last} if want.numel() > 1 else {}
        name = kind_of(got.detach(), zero=0 * want, **candidates)
        name = "nearly zero" if name == "zero" and got.any() else name
        name = "without an end" if name == "without the last" else name
        kind = (name, str(got.dtype), got.requires_grad)
    elif isinstance(got, Tensor):
        kind = ("shape", got.dim() - want.dim())
    else:
        kind = ("type", type(got).__name__)
    trial.equal(got, want, "The gradient", rtol=1e-4, atol=1e-4, observed=kind)


@numerical_grad.property(
    "the gradient, for every shape: float64, shape of x",
    asks=(
        "The gradient of fn at x by central differences: (fn(x + eps e_i) - fn(x - eps e_i)) / (2 eps) for each entry i.",
        "A float64 tensor of the shape of x that does not require grad",
        "fn: takes a tensor of the shape of x, gives a 0-d tensor.",
    ),
)
def shapes(answer: Answer, trial: Trial) -> None:
    for shape in [(4,), (3, 5), (2, 3, 2), (), (1, 1), (0,), (0, 3)]:
        x, c = drawn(trial, *shape), drawn(trial, *shape)
        trial.given(f"fn(x) = (c * x * x).sum() + x.sum() ** 2, x of shape {shape}, contiguous")
        want = slope_of_product_sum(c, x)
        require_gradient(
            trial,
            noted(answer, trial, product_sum(c), x),
            want,
            twice=2 * want,
            half=want / 2,
            negative=-want,
            of_all=want.sum() + 0 * want,
            piled_up=want.flatten().cumsum(0).view(want.shape),
            short_values=with_short_values(product_sum(c), x),
            **({"of_the_row": of_rows(want)} if x.dim() > 1 and x.numel() > 1 else {}),
        )


def of_rows(slopes: Tensor) -> Tensor:
    """In each place the sum of the slopes of its row."""
    return slopes.sum(tuple(range(1, slopes.dim())), keepdim=True).expand_as(slopes)


def with_short_values(fn: Scalar, x: Tensor) -> Tensor:
    """The central differences of fn's values in float32."""
    slopes = torch.zeros(x.numel(), dtype=x.dtype)
    for i in range(x.numel()):
        values = []
        for step in (1e-6, -1e-6):
            point = x.clone()
            point.view(-1)[i] += step
            values.append(fn(point).float().item())
        slopes[i] = (values[0] - values[1]) / 2e-6
    return slopes.view(x.shape)


def noted(answer: Answer, trial: Trial, fn: Scalar, x: Tensor) -> Any:
    """`answer(fn, x)`; wrong if fn gets what has not the shape of x, or x in fewer digits."""
    given: list[Tensor] = []

    def asked(at: Tensor) -> Tensor:
        trial.true(
            isinstance(at, Tensor),
            f"fn got an object of type {type(at).__name__}, no tensor.",
            expected="a tensor of the shape of x",
            got=type(at).__name__,
            observed=("fn got", type(at).__name__),
        )
        if not under_vmap(at):
            given.append(at.detach().clone())
        return fn(at)

    try:
        got = called(answer, trial, asked, x)
    except NotImplementedError:
        raise
    except Exception:
        _same_shape(trial, given, x)
        raise
    _same_shape(trial, given, x)
    short = [at for at in given if torch.equal(at.to(torch.float32).to(at.dtype), at)]
    trial.true(
        not x.numel() or not short or len(short) < len(given),
        "All numbers that fn was given fit into float32: more than half of the digits of x, and of x + 1e-6, are lost.",
        expected=f"points such as {shown(x + 1e-6)}",
        got=f"points such as {shown(given[0])}" if given else "",
        observed="float32 points",
    )
    return got


def under_vmap(at: Any) -> bool:
    """Whether a tensor stands for many, as in a function that torch.func.vmap calls."""
    return isinstance(at, Tensor) and torch._C._functorch.is_functorch_wrapped_tensor(at)


def _same_shape(trial: Trial, given: list[Tensor], x: Tensor) -> None:
    other = [tuple(at.shape) for at in given if at.shape != x.shape]
    trial.true(
        not other,
        f"fn got a tensor of shape {other and other[0]}; x has the shape {tuple(x.shape)}.",
        expected=f"each point on its own, of the shape {tuple(x.shape)}",
        got=f"a tensor of shape {other and other[0]}",
        observed=("fn got", other and len(other[0]) - x.dim()),
    )


@numerical_grad.property(
    "the gradient for an x that is not contiguous",
    asks="x may have any strides, also those of a transposed or an expanded tensor.",
)
def strides(answer: Answer, trial: Trial) -> None:
    base = drawn(trial, 4, 6)
    for name, x in (
        ("transposed", base.T),
        ("every second column of a larger tensor", base[:, ::2]),
        ("a permuted (2, 3, 4) tensor", base.view(2, 3, 4).permute(2, 0, 1)),
    ):
        c = drawn(trial, *x.shape)
        trial.given(f"x of shape {tuple(x.shape)}, {name}")
        want = slope_of_product_sum(c, x)
        in_memory = {"as_in_memory": want.T.reshape(x.shape)} if name == "transposed" else {}
        require_gradient(trial, called(answer, trial, product_sum(c), x), want, **in_memory)


@numerical_grad.property(
    "the gradient for an expanded x, whose entries share memory",
    asks="x may have any strides, also those of a transposed or an expanded tensor.",
)
def expanded(answer: Answer, trial: Trial) -> None:
    x, c = drawn(trial, 3, 1).expand(3, 4), drawn(trial, 3, 4)
    trial.given("x = column.expand(3, 4): four entries of a row are one number in memory")
    want = slope_of_product_sum(c, x)
    require_gradient(
        trial,
        called(answer, trial, product_sum(c), x),
        want,
        of_the_row=want.sum(1, keepdim=True).expand(3, 4),
    )


@numerical_grad.property("x is as it was, to the last bit", asks="x stays as it was, also when fn raises.")
def unchanged(answer: Answer, trial: Trial) -> None:
    x, c = drawn(trial, 3, 4), drawn(trial, 3, 4)
    before = x.clone()
    trial.given(
        "fn(x) = (c * x * x).sum() + x.sum() ** 2, x of shape (3, 4); x is compared with a copy from before"
    )
    called(answer, trial, product_sum(c), x)
    gap = (x.detach() - before).abs().max().item()
    trial.true(
        torch.equal(x.detach(), before),
        f"x is not as it was: its entries are off by up to {gap:.2g}.",
        expected="the very same numbers",
        got=f"{(x.detach() != before).sum().item()} of 12 entries changed",
        observed=("x changed", "in its last bits" if gap < 1e-12 else "clearly"),
    )


def distances(answer: Answer, eps: float) -> list[float]:
    """Where an answer asks, for an x with the one entry 1.5."""
    asked: set[float] = set()

    def fn(at: Tensor) -> Tensor:
        asked.update(at.detach().double().flatten().tolist())
        return at.sum()

    answer(fn, torch.full((1,), 1.5, dtype=torch.float64), eps)
    return sorted(float(f"{each:.6g}") for each in asked)


def many(moves: list[list[float]]) -> str:
    """Whether an answer that asks at more than two distances has the same ones for each entry."""
    of_each = {tuple(sorted({gap for gap in gaps if gap})) for gaps in zip(*moves, strict=True)}
    return "the same for each entry" if len(of_each) == 1 else "many"


def times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


@numerical_grad.property(
    "fn is asked at x + eps and x - eps in one entry, and nowhere else",
    asks="fn is called once at each of these 2 * x.numel() points, and nowhere else.",
)
def points(answer: Answer, trial: Trial) -> None:
    for eps in (1e-3, 0.1, None):
        x, step = 3 * drawn(trial, 2, 3), eps or 1e-6
        before = x.clone()  # an answer may move x itself for a while
        moves: list[list[float]] = []

        def fn(at: Tensor, x: Tensor = before, step: float = step, moves: list = moves) -> Tensor:
            trial.true(
                not under_vmap(at),
                "fn was called under torch.func.vmap, once for many points.",
                expected="12 calls: at x + eps and x - eps for each of the 6 entries",
                got="a tensor that stands for many points: NumPy and .item() inside fn would raise",
                observed="vmap",
            )
            gaps = ((at.detach() - x) / step).flatten().tolist()
            moves.append([round(gap, 3) for gap in gaps])
            return (at * at).sum() + at.sum() ** 2

        trial.given(
            f"x of shape (2, 3), eps={eps}, fn writes down where it is asked" if eps else "eps left out: 1e-6"
        )
        trial.call(lambda x=x, fn=fn, eps=eps: answer(fn, x, *([eps] if eps else [])))
        most = max(moves, key=lambda gaps: sum(gap != 0 for gap in gaps), default=[])
        count = sum(gap != 0 for gap in most)
        by_eps = {abs(gap) for gaps in moves for gap in gaps} <= {0, 1}
        trial.true(
            count <= 1,
            f"fn was asked at a point that differs from x in {count} entries.",
            expected="one entry moved by eps, all others as in x",
            got=f"entries that are off by {', '.join(f'{gap:g}' for gap in most)} times eps",
            observed=("entries", "by eps" if by_eps else "by other distances"),
        )
        steps = sorted({gap for gaps in moves for gap in gaps if gap})
        if not set(steps) <= {1.0, -1.0}:
            fixed = eps and distances(answer, 0.1) == distances(answer, 0.05)
            trial.fail(
                "fn was asked at other distances from x than eps"
                + (": at the same ones whatever eps is." if fixed else "."),
                expected="x + eps and x - eps",
                got=f"steps of {', '.join(f'{gap:g} * eps' for gap in steps[:4])}",
                observed=("steps", "fixed")
                if fixed
                else ("steps", "default" if not eps else many(moves) if len(steps) > 2 else steps),
            )
        at_x = sum(not any(gaps) for gaps in moves)
        trial.true(
            not at_x,
            f"fn was asked {times(at_x)} at x itself.",
            expected="12 calls: at x + eps and x - eps for each of the 6 entries",
            got=f"{len(moves)} calls, {at_x} of them at x",
            observed=("at x", "one side" if len(steps) == 1 else steps),
        )
        trial.true(
            len(moves) == 12,
            f"fn was asked {times(len(moves))}.",
            expected="12 calls: at x + eps and x - eps for each of the 6 entries",
            got=f"{len(moves)} calls",
            observed=("calls", "more" if len(moves) > 12 else "fewer"),
        )


@numerical_grad.property(
    "the gradient where entries are 0, or alike",
    asks="The gradient of fn at x by central differences: (fn(x + eps e_i) - fn(x - eps e_i)) / (2 eps) for each entry i.",
    after=(points,),
)
def alike(answer: Answer, trial: Trial) -> None:
    x, c = drawn(trial, 2, 4), drawn(trial, 2, 4)
    x[0, 1] = x[1, 0] = 0
    x[0, 3] = x[1, 3] = x[1, 2]
    trial.given(f"fn(x) = (c * x * x).sum() + x.sum() ** 2, x = {x.tolist()}")
    want = slope_of_product_sum(c, x)
    require_gradient(
        trial,
        called(answer, trial, product_sum(c), x),
        want,
        zero_at_zero=torch.where(x == 0, 0 * want, want),
    )


@numerical_grad.property(
    "the error falls with the square of eps",
    asks="by central differences: (fn(x + eps e_i) - fn(x - eps e_i)) / (2 eps) for each entry i.",
)
def error_order(answer: Answer, trial: Trial) -> None:
    x, c = drawn(trial, 3, 4), drawn(trial, 3, 4)
    exact = 3 * c * x * x
    for eps in (0.1, 0.01):
        trial.given(f"fn(x) = (c * x ** 3).sum(), eps={eps}: central differences are off by c * eps ** 2")
        got = called(answer, trial, lambda x: (c * x**3).sum(), x, eps=eps)
        _is_float64(trial, got, x)
        up, down, centre = 3 * c * x * eps + c * eps**2, -3 * c * x * eps + c * eps**2, c * eps**2
        error = got - exact
        factor = (got / (exact + centre)).mean().item()
        kind = kind_of(
            error,
            central=centre,
            up=up,
            down=down,
            none=0 * c,
            factor=(exact + centre) * factor - exact,
        )
        kind = "one-sided" if kind in ("up", "down") else kind
        descriptions = {
            "one-sided": ": it falls with eps, not with eps ** 2. One side was fn(x) itself",
            "factor": f", and the result is {factor:.3g} times the central differences",
            "none": ": there is no error at all, so this is not made of values at a distance of eps",
        }
        trial.true(
            kind == "central",
            f"The error is not that of central differences{descriptions.get(kind, '')}.",
            expected=f"errors up to {centre.abs().max().item():.2e}",
            got=f"errors up to {error.abs().max().item():.2e}",
            observed=(eps, kind, f"{factor:.3g}" if kind == "factor" else ""),
        )


def _is_float64(trial: Trial, got: Any, x: Tensor) -> None:
    trial.true(
        isinstance(got, Tensor) and got.shape == x.shape and got.dtype == torch.float64,
        f"The result is no float64 tensor of shape {tuple(x.shape)}.",
        expected="float64, shape of x",
        got=got,
        observed=("kind", type(got).__name__, str(getattr(got, "dtype", ""))),
    )


@numerical_grad.property(
    "fn may be any code: torch is left inside",
    asks="fn may be any code, with NumPy or `.item()` inside: autograd is not asked.",
)
def black_box(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 2, 3)
    weights = drawn(trial, 6).tolist()

    def fn(at: Tensor) -> Tensor:
        numbers = at.detach().numpy().ravel().tolist()
        value = math.fsum(w * math.sin(n) for w, n in zip(weights, numbers, strict=True))
        return torch.tensor(value, dtype=torch.float64)

    trial.given("fn computes in plain Python: .detach().numpy(), math.sin, then a 0-d tensor")
    want = torch.tensor(weights, dtype=torch.float64).view(2, 3) * x.cos()
    require_gradient(trial, called(answer, trial, fn, x), want)


@numerical_grad.property(
    "an x that requires grad is taken, and the result is off the graph",
    asks="A float64 tensor of the shape of x that does not require grad, whatever fn computes with.",
)
def requires_grad(answer: Answer, trial: Trial) -> None:
    x, c = drawn(trial, 2, 3).requires_grad_(), drawn(trial, 2, 3)
    trial.given("x requires grad")
    require_gradient(trial, called(answer, trial, product_sum(c), x), slope_of_product_sum(c, x.detach()))
    trial.given("c, with which fn computes, requires grad; x does not")
    x, c = drawn(trial, 2, 3), drawn(trial, 2, 3).requires_grad_()
    require_gradient(trial, called(answer, trial, product_sum(c), x), slope_of_product_sum(c, x).detach())
    trial.true(c.grad is None, "c.grad was filled.", expected="None", got=c.grad, observed="c.grad")


@numerical_grad.property(
    "x requires grad, or not, as before, and has no .grad", asks="x stays as it was, also when fn raises."
)
def unchanged_for_autograd(answer: Answer, trial: Trial) -> None:
    for needs_grad in (True, False):
        x, c = drawn(trial, 2, 3).requires_grad_(needs_grad), drawn(trial, 2, 3)
        trial.given(f"x requires {'grad' if needs_grad else 'no grad'}")
        called(answer, trial, product_sum(c), x)
        trial.true(x.grad is None, "x.grad was filled.", expected="None", got=x.grad, observed="x.grad")
        trial.true(
            x.requires_grad == needs_grad,
            f"x does {'not require grad any more' if needs_grad else 'require grad now'}.",
            expected=f"requires_grad={needs_grad}, as before",
            got=f"requires_grad={x.requires_grad}",
            observed=("requires_grad", needs_grad),
        )


@numerical_grad.property(
    "the result is float64 also where fn computes in float32",
    asks="A float64 tensor of the shape of x that does not require grad, whatever fn computes with.",
)
def whatever_fn_gives(answer: Answer, trial: Trial) -> None:
    # Numbers that float32 holds exactly, so that nothing is rounded.
    x, c = (torch.randint(-8, 9, (2, 3), generator=trial.generator).double() / 8 for _ in range(2))
    for dtype in (torch.float32, torch.float16):
        trial.given(f"fn(x) = (c * x).sum() in {dtype}, eps=0.25; x is float64")
        got = called(answer, trial, lambda x, dtype=dtype: (c.to(dtype) * x.to(dtype)).sum(), x, eps=0.25)
        require_gradient(trial, got, c)


@numerical_grad.property(
    "an x that requires grad can go to NumPy inside fn",
    asks="What fn gets does not require grad, so that NumPy takes it.",
    after=(requires_grad,),
)
def numpy_inside(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 2, 3).requires_grad_()
    asked: list[bool] = []

    def fn(at: Tensor) -> Tensor:
        asked.append(at.requires_grad)
        return torch.tensor(float((at.detach().numpy() ** 2).sum()), dtype=torch.float64)

    trial.given("x requires grad; fn(x) = (x.numpy() ** 2).sum()")
    got = called(answer, trial, fn, x)
    trial.true(
        not any(asked),
        "What fn got requires grad, and .numpy() of such a tensor raises RuntimeError.",
        expected="tensors that are cut off: x.detach()",
        observed="requires grad",
    )
    require_gradient(trial, got, 2 * x.detach())


@numerical_grad.property(
    "x is as it was, also when fn raises", asks="x stays as it was, also when fn raises."
)
def unchanged_after_an_error(answer: Answer, trial: Trial) -> None:
    for needs_grad, last in ((False, 4), (True, 4), (True, 1), (True, 12)):
        x = drawn(trial, 2, 3).requires_grad_(needs_grad)
        before = x.detach().clone()
        asked: list[int] = []

        def fn(at: Tensor, asked: list[int] = asked, last: int = last) -> Tensor:
            asked.append(1)
            if len(asked) == last:
                raise ZeroDivisionError("from fn")
            return at.sum()

        trial.given(
            f"fn raises ZeroDivisionError in its call number {last}; x requires {'grad' if needs_grad else 'no grad'}"
        )
        trial.raises(ZeroDivisionError, lambda fn=fn, x=x: answer(fn, x), "which fn raised")
        trial.true(
            torch.equal(x.detach(), before),
            "fn raised, and x was left changed.",
            expected="x as it was",
            got=f"an entry is off by {(x.detach() - before).abs().max().item():.3g}",
            observed="x changed",
        )
        trial.true(
            x.requires_grad == needs_grad,
            f"fn raised, and x does {'not require grad any more' if needs_grad else 'require grad now'}.",
            expected=f"requires_grad={needs_grad}, as before",
            got=f"requires_grad={x.requires_grad}",
            observed=("requires_grad", needs_grad),
        )


@numerical_grad.property(
    "autograd has no part in it", asks="with NumPy or `.item()` inside: autograd is not asked."
)
def without_autograd(answer: Answer, trial: Trial) -> None:
    x, c = drawn(trial, 2, 3), drawn(trial, 2, 3)
    trial.given("fn(x) = (c * x * x).sum() + x.sum() ** 2, x of shape (2, 3)")
    engine = type(torch.autograd.Variable._execution_engine).run_backward
    with calls_to(torch.autograd.grad, torch.autograd.backward, torch.func.jvp, engine) as seen:
        called(answer, trial, product_sum(c), x)
    trial.true(
        not seen,
        "The answer asks autograd for the gradient, which this exercise is to check.",
        expected="values of fn, and nothing else",
        got=f"a call to {seen[0] if seen else ''}",
        observed="autograd",
    )
