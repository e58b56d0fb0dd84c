"""What people write for 11.windows, and why it is wrong: when ValueError is raised."""

from __future__ import annotations

from torch import Tensor

from helpers.labs.tensors.windows.exercise import ERROR, FIT, SHAPE, windows
from helpers.labs.tensors.windows.right import Pair, answer, by_check, checked, counted

whole = windows.bank()
check = windows.bank(by_check)


@check.mistake(breaks=ERROR)
def nothing_checked(x: Tensor, size: Pair, step: Pair) -> None:
    """A window that is one row higher than x gave a result without windows. (H - h) // step + 1 is
    0 then, and `as_strided` is content with that.
    """


@check.mistake(breaks=ERROR)
def too_large_only(x: Tensor, size: Pair, step: Pair) -> None:
    """Windows that are too large raise ValueError, and windows of 0 rows do not."""
    if size[0] > x.shape[-2] or size[1] > x.shape[-1]:
        raise ValueError("does not fit")


@check.mistake(breaks=ERROR)
def step_not_checked(x: Tensor, size: Pair, step: Pair) -> None:
    """A step of 0 was divided by: ZeroDivisionError came, and ValueError is asked for."""
    if not (1 <= size[0] <= x.shape[-2] and 1 <= size[1] <= x.shape[-1]):
        raise ValueError("does not fit")


@check.variant(step_not_checked)
def _(x: Tensor, size: Pair, step: Pair) -> None:
    if not (1 <= size[0] <= x.shape[-2] and 1 <= size[1] <= x.shape[-1]) or min(step) < 0:
        raise ValueError("does not fit")


@check.mistake(breaks=ERROR)
def step_of_zero_only(x: Tensor, size: Pair, step: Pair) -> None:
    """A step of 0 raises ValueError, and a negative one does not."""
    if not (1 <= size[0] <= x.shape[-2] and 1 <= size[1] <= x.shape[-1]) or 0 in step:
        raise ValueError("does not fit")


@check.mistake(breaks=ERROR)
def zeros_only(x: Tensor, size: Pair, step: Pair) -> None:
    """A 0 raises ValueError, in `size` and in `step`, and negative numbers do not."""
    if 0 in (*size, *step) or size[0] > x.shape[-2] or size[1] > x.shape[-1]:
        raise ValueError("does not fit")


@check.mistake(breaks=ERROR)
def exact_fit_refused(x: Tensor, size: Pair, step: Pair) -> None:
    """A window as high or as wide as x was refused. It fits, once."""
    if not (1 <= size[0] < x.shape[-2] and 1 <= size[1] < x.shape[-1]) or min(step) < 1:
        raise ValueError("does not fit")


@check.mistake(breaks=FIT)
def left_over_refused(x: Tensor, size: Pair, step: Pair) -> None:
    """ValueError came where rows or columns of x are left over at the end. As many windows are
    asked for as fit, and what is left over is in none.
    """
    checked(x, size, step)
    if any((have - want) % pace for have, want, pace in zip(x.shape[-2:], size, step, strict=True)):
        raise ValueError("something is left over")


@check.mistake(breaks=SHAPE)
def four_dimensions_only(x: Tensor, size: Pair, step: Pair) -> None:
    """ValueError came for every x that has not four dimensions. Perhaps its shape is unpacked into
    four names: take the last two, and let the others be as many as they are.
    """
    _n, _c, _height, _width = x.shape
    checked(x, size, step)


@check.mistake(breaks=SHAPE)
def three_dimensions_only(x: Tensor, size: Pair, step: Pair) -> None:
    """ValueError came for every x that has not three dimensions. Perhaps its shape is unpacked into
    three names: take the last two, and let the others be as many as they are.
    """
    _n, _height, _width = x.shape
    checked(x, size, step)


@check.mistake(breaks=SHAPE)
def two_dimensions_only(x: Tensor, size: Pair, step: Pair) -> None:
    """ValueError came for every x with more than two dimensions. Perhaps its shape is unpacked into
    two names: take the last two, and let the others be as many as they are.
    """
    _height, _width = x.shape
    checked(x, size, step)


@check.mistake(breaks=ERROR)
def step_beyond_x_refused(x: Tensor, size: Pair, step: Pair) -> None:
    """A step larger than x was refused. There is one window then, and that is no error."""
    checked(x, size, step)
    if step[0] > x.shape[-2] or step[1] > x.shape[-1]:
        raise ValueError("does not fit")


@check.mistake(breaks=ERROR)
def width_not_checked(x: Tensor, size: Pair, step: Pair) -> None:
    """Windows that are too high raise ValueError, and those that are too wide do not."""
    if size[0] > x.shape[-2] or min(*size, *step) < 1:
        raise ValueError("does not fit")


@check.mistake(breaks=ERROR)
def height_not_checked(x: Tensor, size: Pair, step: Pair) -> None:
    """Windows that are too wide raise ValueError, and those that are too high do not."""
    if size[1] > x.shape[-1] or min(*size, *step) < 1:
        raise ValueError("does not fit")


@check.mistake(breaks=ERROR)
def products_checked(x: Tensor, size: Pair, step: Pair) -> None:
    """A single number below 1 raises ValueError, and two of them together do not. Perhaps their
    product was compared with 1: that of two negative numbers is positive.
    """
    if size[0] * size[1] < 1 or step[0] * step[1] < 1:
        raise ValueError("below 1")
    if size[0] > x.shape[-2] or size[1] > x.shape[-1]:
        raise ValueError("does not fit")


@check.variant(products_checked)
def _(x: Tensor, size: Pair, step: Pair) -> None:
    if min(size) < 1 or step[0] * step[1] < 1 or size[0] > x.shape[-2] or size[1] > x.shape[-1]:
        raise ValueError("does not fit")


@check.variant(products_checked)
def _(x: Tensor, size: Pair, step: Pair) -> None:
    if size[0] * size[1] < 1 or min(step) < 1 or size[0] > x.shape[-2] or size[1] > x.shape[-1]:
        raise ValueError("does not fit")


@check.variant(products_checked)
def _(x: Tensor, size: Pair, step: Pair) -> None:
    if size[0] * size[1] * step[0] * step[1] < 1 or size[0] > x.shape[-2] or size[1] > x.shape[-1]:
        raise ValueError("does not fit")


@check.mistake(breaks=ERROR)
def one_of_two_is_enough(x: Tensor, size: Pair, step: Pair) -> None:
    """A window that is too high and not too wide raises nothing. Each of the two is an error by
    itself: perhaps an `and` stands where `or` is meant.
    """
    if size[0] > x.shape[-2] and size[1] > x.shape[-1] or min(*size, *step) < 1:
        raise ValueError("does not fit")


@check.mistake(breaks=ERROR)
def asserted(x: Tensor, size: Pair, step: Pair) -> None:
    """AssertionError was raised, and ValueError is asked for: `python -O` leaves assertions out."""
    assert 1 <= size[0] <= x.shape[-2] and 1 <= size[1] <= x.shape[-1] and min(step) >= 1


@whole.mistake(breaks=ERROR)
def by_the_number_of_windows(x: Tensor, size: Pair, step: Pair) -> Tensor:
    """Windows of -1 or 0 rows raise nothing. Perhaps only the number of windows was checked: a
    window of 0 rows fits everywhere.
    """
    counts = [
        counted(have, want, pace) for have, want, pace in zip(x.shape[-2:], size, step, strict=True) if pace
    ]
    if len(counts) < 2 or min(counts) < 1 or min(step) < 1:
        raise ValueError("no window")
    return answer(check=lambda *_: None)(x, size, step)
