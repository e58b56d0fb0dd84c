"""What people write for 03.numerical_grad, and why it is wrong."""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch import Tensor

from helpers.labs.autograd.numerical_grad.exercise import Scalar, numerical_grad


def require_float64(x: Tensor) -> None:
    if x.dtype != torch.float64:
        raise ValueError(f"x must be float64, not {x.dtype}")


def places(x: Tensor) -> itertools.product:
    """All index tuples of x."""
    return itertools.product(*map(range, x.shape))


def moved(x: Tensor, at: tuple[int, ...], step: float) -> Tensor:
    """A copy of x with one entry moved."""
    copy = x.detach().clone(memory_format=torch.contiguous_format)
    copy[at] += step
    return copy


def places_of_its_own(x: Tensor) -> Tensor:
    """x itself, or a copy where entries share memory."""
    return x.detach().clone() if 0 in x.stride() else x.detach()


@numerical_grad.mistake()
def one_sided(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """fn was asked at x and on one side of it only. The error of such a slope falls with eps; with both sides
    the first error cancels, and what is left falls with eps ** 2.
    """
    require_float64(x)
    grad = torch.zeros(x.shape, dtype=x.dtype)
    here = float(fn(x.detach()))
    for at in places(x):
        grad[at] = (float(fn(moved(x, at, eps))) - here) / eps
    return grad


@numerical_grad.variant(one_sided)
def _(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    require_float64(x)
    x = x.detach()
    slopes = [(fn(x) - fn(moved(x, at, -eps))) / eps for at in places(x)]
    return torch.tensor([float(slope) for slope in slopes], dtype=x.dtype).view(x.shape)


@numerical_grad.mistake(
    breaks="The gradient of fn at x by central differences: (fn(x + eps e_i) - fn(x - eps e_i)) / (2 eps) for each entry i."
)
def divided_by_eps(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """Every slope is twice too steep. Perhaps the difference was divided by eps: from x - eps to x + eps the
    distance is 2 * eps.
    """
    require_float64(x)
    grad = torch.zeros(x.shape, dtype=x.dtype)
    for at in places(x):
        grad[at] = (float(fn(moved(x, at, eps))) - float(fn(moved(x, at, -eps)))) / eps
    return grad


@numerical_grad.mistake(
    breaks="The gradient of fn at x by central differences: (fn(x + eps e_i) - fn(x - eps e_i)) / (2 eps) for each entry i."
)
def divided_by_two_times_eps_without_brackets(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """Every slope is close to 0, and not 0. Perhaps `a / 2 * eps` stands there, which divides by 2 and
    multiplies by eps. Brackets: `a / (2 * eps)`.
    """
    require_float64(x)
    grad = torch.zeros(x.shape, dtype=x.dtype)
    for at in places(x):
        grad[at] = (float(fn(moved(x, at, eps))) - float(fn(moved(x, at, -eps)))) / 2 * eps
    return grad


@numerical_grad.mistake(
    breaks="The gradient of fn at x by central differences: (fn(x + eps e_i) - fn(x - eps e_i)) / (2 eps) for each entry i."
)
def computed_in_float32(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """All numbers that fn was given fit into float32, which has 7 digits. Perhaps x was made float32: x +
    1e-6 is x or one of its neighbours there, and of the difference of two values little is left.
    """
    require_float64(x)
    grad = torch.zeros(x.shape, dtype=x.dtype)
    short = x.detach().float()
    for at in places(x):
        above, below = short.clone(), short.clone()
        above[at] += eps
        below[at] -= eps
        grad[at] = (fn(above.double()).float() - fn(below.double()).float()).item() / (2 * eps)
    return grad


@numerical_grad.mistake(breaks="A float64 tensor of the shape of x that does not require grad")
def result_in_float32(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """The result is float32, though x is float64. Perhaps it is `torch.zeros(x.shape)`, float32 whatever x
    is: half of the digits are lost when the slope is stored. Say `dtype=x.dtype`.
    """
    require_float64(x)
    grad = torch.zeros(x.shape)
    for at in places(x):
        grad[at] = (float(fn(moved(x, at, eps))) - float(fn(moved(x, at, -eps)))) / (2 * eps)
    return grad


@numerical_grad.mistake()
def eps_ignored(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """fn was asked at the same distances whatever eps is. Perhaps the step is written into the code."""
    require_float64(x)
    grad = torch.zeros(x.shape, dtype=x.dtype)
    for at in places(x):
        grad[at] = (float(fn(moved(x, at, 1e-6))) - float(fn(moved(x, at, -1e-6)))) / 2e-6
    return grad


@numerical_grad.variant(eps_ignored)
def _(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    return differences(fn, x, 1e-4)


@numerical_grad.mistake()
def relative_step(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """fn was asked at distances that differ from entry to entry. Perhaps the step is eps * |x|, a rule for
    large x. Here eps is the distance itself, the same for each entry.
    """
    require_float64(x)
    grad = torch.zeros(x.shape, dtype=x.dtype)
    for at in places(x):
        step = eps * abs(x[at].item())
        grad[at] = (float(fn(moved(x, at, step))) - float(fn(moved(x, at, -step)))) / (2 * step)
    return grad


@numerical_grad.mistake()
def asks_autograd(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """fn was asked at x alone, where no difference can come from. Perhaps the gradient comes from the
    backward that a numerical gradient is to check: a fn that leaves torch has none.
    """
    require_float64(x)
    leaf = x.detach().clone().requires_grad_()
    return torch.autograd.grad(fn(leaf), leaf)[0]


@numerical_grad.variant(asks_autograd)
def _(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    require_float64(x)
    return torch.func.grad(fn)(x.detach())


@numerical_grad.variant(asks_autograd)
def _(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    require_float64(x)
    leaf = x.detach().clone().requires_grad_()
    fn(leaf).backward()
    return leaf.grad


@numerical_grad.mistake()
def result_on_the_graph(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """The result requires grad, where x or what fn computes with does. Perhaps it is made of fn's values with
    their graphs: `.item()` or `.detach()` of the values leaves these behind.
    """
    require_float64(x)
    slopes = []
    for at in places(x):
        step = torch.zeros(x.shape, dtype=x.dtype)
        step[at] = eps
        slopes.append((fn(x + step) - fn(x - step)) / (2 * eps))
    return torch.stack(slopes).view(x.shape) if slopes else torch.zeros(x.shape, dtype=x.dtype)


@numerical_grad.mistake()
def moved_back_by_arithmetic(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """x has other last bits afterwards: perhaps an entry of x was moved and moved back. x + eps - 2 * eps + eps is
    not x, since each step rounds.
    """
    grad, x = torch.zeros(x.shape, dtype=x.dtype), places_of_its_own(x)
    with torch.no_grad():
        for at in places(x):
            x[at] += eps
            above = float(fn(x))
            x[at] -= 2 * eps
            below = float(fn(x))
            x[at] += eps
            grad[at] = (above - below) / (2 * eps)
    return grad


@numerical_grad.mistake()
def moved_in_x_itself(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """Where entries share memory, a step in one of them moved the others, too: perhaps x itself is moved and put
    back, or a copy that shares memory as x does. In a contiguous copy each entry has a memory of its own.
    """
    require_float64(x)
    grad = torch.zeros(x.shape, dtype=x.dtype)
    with torch.no_grad():
        for at in places(x):
            here = x[at].item()
            x[at] = here + eps
            above = float(fn(x))
            x[at] = here - eps
            below = float(fn(x))
            x[at] = here
            grad[at] = (above - below) / (2 * eps)
    return grad


@numerical_grad.variant(moved_in_x_itself)
def _(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    require_float64(x)
    grad = torch.zeros(x.shape, dtype=x.dtype)
    for at in places(x):
        here = x[at].item()
        values = []
        try:
            for step in (eps, -eps):
                x.data[at] = here + step
                values.append(float(fn(x)))
        finally:
            x.data[at] = here
        grad[at] = (values[0] - values[1]) / (2 * eps)
    return grad


@numerical_grad.mistake()
def flat_copy(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """Where x is not contiguous every slope is 0. Perhaps a flat copy was moved, of which fn sees nothing:
    `reshape(-1)` and `flatten()` give a view of a contiguous tensor and a copy of any other.
    """
    require_float64(x)
    copy = x.detach().clone()
    flat = copy.reshape(-1)
    grad = torch.zeros(x.numel(), dtype=x.dtype)
    for i in range(flat.numel()):
        here = flat[i].item()
        flat[i] = here + eps
        above = float(fn(copy))
        flat[i] = here - eps
        below = float(fn(copy))
        flat[i] = here
        grad[i] = (above - below) / (2 * eps)
    return grad.view(x.shape)


@numerical_grad.variant(flat_copy)
def _(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    require_float64(x)
    with torch.no_grad():
        flat = x.flatten() if not x.is_contiguous() else x.detach().view(-1)
        grad = torch.zeros_like(flat)
        try:
            for i in range(flat.numel()):
                here = flat[i].item()
                flat[i] = here + eps
                above = float(fn(x))
                flat[i] = here - eps
                below = float(fn(x))
                flat[i] = here
                grad[i] = (above - below) / (2 * eps)
        finally:
            if flat.numel():
                flat[i] = here
    return grad.view(x.shape)


@numerical_grad.mistake()
def view_of_a_transposed_copy(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """`.view` raised where x is transposed: it needs numbers that lie in order. Perhaps it was asked of x
    itself, or of a clone, which keeps its strides: ask for `memory_format=torch.contiguous_format`.
    """
    require_float64(x)
    copy = x.detach().clone()
    flat = copy.view(-1)
    grad = torch.zeros(x.numel(), dtype=x.dtype)
    for i in range(flat.numel()):
        here = flat[i].item()
        flat[i] = here + eps
        above = float(fn(copy))
        flat[i] = here - eps
        below = float(fn(copy))
        flat[i] = here
        grad[i] = (above - below) / (2 * eps)
    return grad.view(x.shape)


@numerical_grad.variant(view_of_a_transposed_copy)
def _(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    require_float64(x)
    x = x.detach()
    flat = x.view(-1)
    slopes = []
    for i in range(flat.numel()):
        step = torch.zeros_like(flat)
        step[i] = eps
        slopes.append(float(fn((flat + step).view(x.shape)) - fn((flat - step).view(x.shape))) / (2 * eps))
    return torch.tensor(slopes, dtype=x.dtype).view(x.shape)


@numerical_grad.mistake(
    breaks="The gradient of fn at x by central differences: (fn(x + eps e_i) - fn(x - eps e_i)) / (2 eps) for each entry i."
)
def whole_rows_moved(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """Each entry got the sum of the slopes of its row. Perhaps `for i in range(len(x))` goes over rows, and
    `x[i] += eps` moves all of a row.
    """
    require_float64(x)
    grad = torch.zeros(x.shape, dtype=x.dtype)
    for i in range(len(x)):
        above, below = x.detach().clone(), x.detach().clone()
        above[i] += eps
        below[i] -= eps
        grad[i] = (float(fn(above)) - float(fn(below))) / (2 * eps)
    return grad


@numerical_grad.variant(whole_rows_moved)
def _(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    require_float64(x)
    grad = torch.zeros(x.shape, dtype=x.dtype)
    for i in range(x.shape[0] if x.dim() else 1):
        at = i if x.dim() else ...
        above, below = (x.detach().clone(memory_format=torch.contiguous_format) for _ in range(2))
        above[at] += eps
        below[at] -= eps
        grad[at] = (float(fn(above)) - float(fn(below))) / (2 * eps)
    return grad


@numerical_grad.mistake()
def not_moved_back(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """Where one entry is to be moved, several stood eps away from x. Perhaps an entry stays where it was
    moved to when the next one is moved: the further the loop goes, the further from x fn is asked.
    """
    require_float64(x)
    copy = x.detach().clone(memory_format=torch.contiguous_format)
    grad = torch.zeros(x.shape, dtype=x.dtype)
    for at in places(x):
        copy[at] += eps
        above = float(fn(copy))
        copy[at] -= 2 * eps
        grad[at] = (above - float(fn(copy))) / (2 * eps)
    return grad


def differences(fn: Scalar, x: Tensor, eps: float, point: Any = moved) -> Tensor:
    """Right, of which the way to a point is exchanged for a wrong one."""
    grad = torch.zeros(x.shape, dtype=x.dtype)
    for at in places(x):
        grad[at] = (float(fn(point(x, at, eps))) - float(fn(point(x, at, -eps)))) / (2 * eps)
    return grad


@numerical_grad.mistake(breaks="fn is called once at each of these 2 * x.numel() points, and nowhere else.")
def asked_at_x_too(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """fn was called at x itself, whose value central differences do not need. fn may be slow: a whole
    training run, for instance.
    """
    fn(x.detach().clone())
    return differences(fn, x, eps)


@numerical_grad.variant(asked_at_x_too)
def _(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    grad = torch.zeros(x.shape, dtype=x.dtype)
    for at in places(x):
        here = float(fn(x.detach().clone()))
        above, below = float(fn(moved(x, at, eps))), float(fn(moved(x, at, -eps)))
        grad[at] = ((above - here) + (here - below)) / (2 * eps)
    return grad


@numerical_grad.mistake(breaks="fn is called once at each of these 2 * x.numel() points, and nowhere else.")
def asked_twice(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """fn was called more often than twice for each entry. Two values are all that a slope takes."""
    differences(fn, x, eps)
    return differences(fn, x, eps)


@numerical_grad.mistake(breaks="What fn gets does not require grad, so that NumPy takes it.")
def fn_gets_a_graph(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """Where x requires grad, so did what fn was given: `.numpy()` inside fn raises. Perhaps it was made of x
    with its graph, as x + step is. Begin with x.detach(), or work under torch.no_grad().
    """

    def point(x: Tensor, at: tuple[int, ...], step: float) -> Tensor:
        return x + torch.zeros(x.shape, dtype=x.dtype).index_put(
            [torch.tensor(i) for i in at], torch.tensor(step, dtype=x.dtype)
        )

    def stepped(x: Tensor, at: tuple[int, ...], step: float) -> Tensor:
        return point(x, at, step) if at else x + step

    return differences(lambda at: fn(at).detach(), x, eps, stepped)


@numerical_grad.variant(fn_gets_a_graph)
def _(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    def point(x: Tensor, at: tuple[int, ...], step: float) -> Tensor:
        copy = x.clone(memory_format=torch.contiguous_format)
        copy[at] += step
        return copy

    return differences(lambda at: fn(at).detach(), x, eps, point)


@numerical_grad.variant(result_on_the_graph)
def _(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    grad = torch.zeros(x.shape, dtype=x.dtype)
    for at in places(x):
        grad[at] = (fn(moved(x, at, eps)) - fn(moved(x, at, -eps))) / (2 * eps)
    return grad


@numerical_grad.mistake(breaks="(fn(x + eps e_i) - fn(x - eps e_i))")
def sign_flipped(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """The gradient has the wrong sign. Perhaps what is above was subtracted from what is below."""
    return -differences(fn, x, eps)


@numerical_grad.mistake(breaks="for each entry i")
def all_entries_moved(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """Each entry got the sum of all slopes. Perhaps x + eps moved all entries at once."""
    x = x.detach()
    slope = (float(fn(x + eps)) - float(fn(x - eps))) / (2 * eps)
    return torch.full(x.shape, slope, dtype=x.dtype)


@numerical_grad.mistake(breaks="A float64 tensor of the shape of x")
def flat_result(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """The result has fewer dimensions than x. Perhaps the slopes lie in one row: they belong in the shape
    of x.
    """
    return differences(fn, x, eps).flatten()


@numerical_grad.mistake(breaks="(fn(x + eps e_i) - fn(x - eps e_i)) / (2 eps)")
def one_copy_for_both(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """Every slope is 0. Perhaps both values came from one point: `up = down = x.clone()` are two names of one
    tensor, which goes up and down again.
    """
    grad = torch.zeros(x.shape, dtype=x.dtype)
    for at in places(x):
        up = down = x.detach().clone(memory_format=torch.contiguous_format)
        up[at] += eps
        down[at] -= eps
        grad[at] = (float(fn(up)) - float(fn(down))) / (2 * eps)
    return grad


@numerical_grad.mistake(breaks="x stays as it was, also when fn raises.")
def left_moved_by_an_error(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """fn raised, and x is not what it was. Perhaps x itself is moved and put back, without `finally`. Whoever
    moves a copy has nothing to put back.
    """
    return moved_in_x_itself(fn, places_of_its_own(x), eps)


@numerical_grad.mistake(breaks="x stays as it was, also when fn raises.")
def x_left_moved(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """x is clearly not what it was: perhaps entries of x itself were moved, and not put back. Move a copy."""
    grad, x = torch.zeros(x.shape, dtype=x.dtype), places_of_its_own(x)
    for at in places(x):
        x[at] += eps
        above = float(fn(x))
        x[at] -= 2 * eps
        grad[at] = (above - float(fn(x))) / (2 * eps)
    return grad


@numerical_grad.mistake(
    breaks="A float64 tensor of the shape of x that does not require grad, whatever fn computes"
)
def dtype_of_fn(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """Where fn gives float32, the result is float32: perhaps it is put together from fn's own tensors. Make a float64
    tensor for the slopes, and write `.item()` or `float(...)` of fn's values into it.
    """
    slopes = [((fn(moved(x, at, eps)) - fn(moved(x, at, -eps))) / (2 * eps)).detach() for at in places(x)]
    return torch.stack(slopes).view(x.shape) if slopes else torch.zeros(x.shape, dtype=x.dtype)


@numerical_grad.mistake(breaks="/ (2 eps)")
def default_in_the_denominator(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """With an eps that is not the default, all slopes are off by one factor: perhaps the difference is divided by a
    number that is written into the code, 2e-6. It is 2 * eps.
    """
    return differences(fn, x, eps) * (eps / 1e-6)


@numerical_grad.mistake(breaks="A float64 tensor of the shape of x")
def empty_raises(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """For an x without entries it raised: torch.stack of no slopes has nothing to put together. Begin with an empty
    tensor of the shape of x, and fill it.
    """
    slopes = [float(fn(moved(x, at, eps)) - fn(moved(x, at, -eps))) / (2 * eps) for at in places(x)]
    return torch.stack([torch.tensor(slope, dtype=x.dtype) for slope in slopes]).view(x.shape)


@numerical_grad.mistake(breaks="eps: the distance.")
def other_default(fn: Scalar, x: Tensor, eps: float = 1e-5) -> Tensor:
    """Where eps is left out, fn is asked at other distances than 1e-6: perhaps the default is a different one."""
    return differences(fn, x, eps)


@numerical_grad.mistake(breaks="for each entry i")
def an_end_left_out(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """The slope of the first or of the last entry is 0, and all others are right. Perhaps the loop ends one
    entry too early, or begins one too late.
    """
    grad = torch.zeros(x.shape, dtype=x.dtype)
    for at in list(places(x))[:-1]:
        grad[at] = (float(fn(moved(x, at, eps))) - float(fn(moved(x, at, -eps)))) / (2 * eps)
    return grad


@numerical_grad.variant(an_end_left_out)
def _(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    grad = torch.zeros(x.shape, dtype=x.dtype)
    for at in list(places(x))[1:]:
        grad[at] = (float(fn(moved(x, at, eps))) - float(fn(moved(x, at, -eps)))) / (2 * eps)
    return grad


@numerical_grad.mistake(breaks="fn: takes a tensor of the shape of x")
def all_points_at_once(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """fn got a tensor with one dimension more than x has. Perhaps it holds many points at once: fn takes one
    point, of the shape of x, and gives one number.
    """
    steps = eps * torch.eye(x.numel(), dtype=x.dtype).view(-1, *x.shape)
    return ((fn(x.detach() + steps) - fn(x.detach() - steps)) / (2 * eps)).view(x.shape)


@numerical_grad.variant(all_points_at_once)
def _(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    steps = eps * torch.eye(x.numel(), dtype=x.dtype).view(-1, *x.shape)
    points = x.detach() + torch.cat([steps, -steps])
    above, below = fn(points).view(2, *x.shape)
    return (above - below) / (2 * eps)


@numerical_grad.mistake(breaks="A float64 tensor of the shape of x")
def numpy_array(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Any:
    """A NumPy array came back, and a tensor was asked for: `torch.from_numpy`, or a tensor from the beginning."""
    return differences(fn, x, eps).numpy()


@numerical_grad.mistake(breaks="x stays as it was, also when fn raises.")
def left_without_grad(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """fn raised, and x does not require grad as it did before. Perhaps requires_grad is switched off for the
    while, and on again without `finally`. x.detach() leaves x as it is.
    """
    needs_grad = x.requires_grad
    if x.is_leaf:
        x.requires_grad_(False)
    grad = differences(fn, x, eps)
    if x.is_leaf:
        x.requires_grad_(needs_grad)
    return grad
