"""What people write for 06.predict_tf32_error, and why it is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from helpers.check.spec import returned
from helpers.labs.streams.predict_tf32_error.emulation import EMULATED, TERMS, relative_error
from helpers.labs.streams.predict_tf32_error.exercise import (
    ERROR,
    FORMULA,
    NUMBER,
    PRODUCT,
    Answer,
    predict_tf32_error,
)

built = predict_tf32_error.bank(returned)

Law = Callable[[int], float]

NOISE = 2.077e-4  # rms error of a normal number rounded to nearest, beside its own rms
NORMAL = math.sqrt(2) * NOISE
SHRINKING = 7.06e-4  # what a product of two normal numbers loses toward zero
UNIFORM = 3.48e-4
SHRINKING_UNIFORM = 6.51e-4
ULP = 2.0**-10


def nearest_normal(n: int) -> float:
    return NORMAL


def zero_normal(n: int) -> float:
    return math.hypot(NORMAL, SHRINKING)


def nearest_uniform(n: int) -> float:
    return UNIFORM / math.sqrt(n)


def zero_uniform(n: int) -> float:
    return SHRINKING_UNIFORM


def laws(
    normal: Law = nearest_normal,
    normal_zero: Law = zero_normal,
    uniform: Law = nearest_uniform,
    uniform_zero: Law = zero_uniform,
    away: Law | None = None,
) -> Answer:
    """An answer made of these laws; those not given are right."""

    def answer(n: int, rounding: str, data: str) -> float:
        if rounding == "toward-zero":
            return (normal_zero if data == "normal" else uniform_zero)(n)
        if rounding == "nearest-away" and away is not None:
            return away(n)
        return (normal if data == "normal" else uniform)(n)

    return answer


def scaled(factor: float, power: float = 0.0) -> Answer:
    """All laws right, times a factor and a power of n."""

    def times(law: Law) -> Law:
        return lambda n: law(n) * factor * n**power

    return laws(*map(times, (nearest_normal, zero_normal, nearest_uniform, zero_uniform)))


def always(law: Law) -> Answer:
    return laws(law, law, law, law)


@built.mistake(breaks=NUMBER)
def grows_with_n():
    """The prediction grows as n. Perhaps it is n times the error of a term: that is a bound, for errors
    that all have one sign and a C that does not grow. C grows with n as well.
    """
    return always(lambda n: n * 2.0**-11)


for form in (scaled(1, 1), laws(normal_zero=lambda n: n * SHRINKING), laws(uniform_zero=lambda n: n * ULP)):
    predict_tf32_error.variant(grows_with_n)(form)


@built.mistake(breaks=NUMBER)
def grows_with_the_root():
    """The prediction grows as sqrt(n). Perhaps it is the error itself, of random signs, or what both
    operands lose was added up over the terms and not C. Asked is the error beside C, and C grows with n as well.
    """
    return always(lambda n: math.sqrt(n) * 2.0**-11)


for form in (
    scaled(1, 0.5),
    laws(normal_zero=lambda n: math.sqrt(n) * SHRINKING),
    laws(uniform=lambda n: math.sqrt(n) * UNIFORM, uniform_zero=lambda n: n * SHRINKING_UNIFORM),
    laws(uniform_zero=lambda n: math.sqrt(n) * SHRINKING_UNIFORM),
):
    predict_tf32_error.variant(grows_with_the_root)(form)


@built.mistake(breaks=NUMBER)
def falls_always():
    """For numbers around zero the prediction falls as 1/sqrt(n). Perhaps that law was taken for all data,
    or the two kinds of data are exchanged. It is that of positive data, where C grows as n and its error as sqrt(n). A sum around zero grows no
    faster than its error.
    """
    return always(lambda n: NORMAL / math.sqrt(n))


for form in (
    laws(lambda n: NORMAL / math.sqrt(n)),
    laws(nearest_uniform, zero_uniform, nearest_normal, zero_normal),
):
    predict_tf32_error.variant(falls_always)(form)


@built.mistake(breaks=NUMBER)
def flat_always():
    """For positive data, rounded to nearest, the prediction is the same for all n. That is right for data around zero. Positive
    terms make C grow as n, the error to nearest only as sqrt(n). Perhaps the formula is that of normal data, or C is measured
    by its deviation, which leaves its mean out.
    """
    return laws(uniform=nearest_normal, uniform_zero=zero_normal)


@built.mistake(breaks=NUMBER)
def falls_with_n():
    """The prediction falls as 1/n. Perhaps n errors were averaged, or stand as one beside a sum of n. With random
    signs, n of them add up to sqrt(n) times one: beside a sum that grows as n this falls as 1/sqrt(n).
    """
    return laws(uniform=lambda n: UNIFORM / n)


for form in (always(lambda n: NORMAL / n), laws(uniform_zero=lambda n: SHRINKING_UNIFORM / n)):
    predict_tf32_error.variant(falls_with_n)(form)


@built.mistake(breaks=PRODUCT)
def one_operand():
    """The prediction is too small by what a second operand adds. Perhaps one was counted. Both are rounded,
    so each product errs twice: sqrt(2) times as much to nearest, twice as much toward zero.
    """
    return scaled(2**-0.5)


for form in (
    laws(uniform=lambda n: UNIFORM / math.sqrt(2 * n)),
    laws(normal_zero=lambda n: math.hypot(NORMAL, SHRINKING) / 2),
    laws(normal_zero=lambda n: math.hypot(NOISE, SHRINKING / 2)),
    laws(uniform_zero=lambda n: SHRINKING_UNIFORM / 2),
):
    predict_tf32_error.variant(one_operand)(form)


@built.mistake(breaks=NUMBER)
def errors_added_up():
    """The prediction is sqrt(2) times too large. Perhaps the errors of the two operands were added. They
    are independent: their squares add, and the two together are sqrt(2) times one, not twice.
    """
    return laws(lambda n: 2 * NOISE)


predict_tf32_error.variant(errors_added_up)(scaled(2**0.5))
predict_tf32_error.variant(errors_added_up)(laws(uniform=lambda n: 2**0.5 * UNIFORM / math.sqrt(n)))


@built.mistake(breaks=NUMBER)
def the_largest_error():
    """The prediction is 1.6 to 3.4 times too large. Perhaps it goes by the largest error: 2**-11 is half a
    place just above a power of two. The usual one is smaller: a whole place over sqrt(12), and smaller
    again for mantissas up to 2.
    """
    return laws(lambda n: 2.0**-11)


for factor in (2**0.5, 2, 3**0.5 * NORMAL * 2**11):
    predict_tf32_error.variant(the_largest_error)(laws(lambda n, by=factor: by * 2.0**-11))


@built.mistake(breaks=NUMBER)
def every_mantissa_is_one():
    """The prediction is a third too large. Perhaps it takes 2**-10 / sqrt(12) for every number. That holds
    just above a power of two. A place is worth the same up to the next one, so beside a mantissa of 1.9 it
    is half as large.
    """
    return laws(lambda n: math.sqrt(2) * ULP / math.sqrt(12))


@built.mistake(breaks=NUMBER)
def another_mantissa():
    """The prediction is too large or too small by a power of two. Perhaps it is for a different number of
    bits. TF32 keeps 10 of the mantissa: 23 are float32's, 7 bfloat16's, and 11 count the leading one, which
    is not stored.
    """
    return scaled(0.5)


for factor in (2**-13, 8, 2):
    predict_tf32_error.variant(another_mantissa)(scaled(factor))


@built.mistake(breaks=ERROR)
def mean_square():
    """The prediction is about the square of what is measured. Perhaps the mean of the squares was returned,
    without its root.
    """
    return laws(lambda n: nearest_normal(n) ** 2, lambda n: zero_normal(n) ** 2)


@built.mistake(breaks=NUMBER)
def uniform_as_the_upper_half():
    """For uniform data the prediction is about 1.3 times what is measured. Perhaps the places of numbers from 1/2 to 1 were
    taken for all. Half of the uniform numbers are smaller than 1/2, and their places, too.
    """
    return laws(uniform=lambda n: UNIFORM * 1.32 / math.sqrt(n))


@built.mistake(breaks=ERROR)
def in_percent():
    """The prediction is a hundred times too large. Perhaps it is in percent. A relative error is a plain
    ratio, about 3e-4 here.
    """
    return scaled(100)


@built.mistake(breaks=NUMBER)
def rounding_ignored():
    """The prediction is about that of a different rounding. Perhaps nearest and toward zero get one number,
    or are exchanged. Toward zero the errors are twice as wide, and all have one sign.
    """
    return laws(normal_zero=nearest_normal, uniform_zero=nearest_uniform)


predict_tf32_error.variant(rounding_ignored)(laws(zero_normal, uniform=zero_uniform))


@built.mistake(breaks=NUMBER)
def twice_the_error_of_nearest():
    """The prediction is about three quarters of what is measured. Perhaps it is twice the error of nearest.
    Toward zero all errors have one sign: the shrinking of both operands adds up,
    to 7.0e-4, and what differs from number to number comes on top.
    """
    return laws(normal_zero=lambda n: 2 * NORMAL, uniform_zero=lambda n: 2 * nearest_uniform(n))


@built.mistake(breaks=NUMBER)
def bias_averages_out():
    """Toward zero, the prediction falls as 1/sqrt(n). Perhaps the errors were taken for random. A longer
    sum averages out what has no fixed sign. Toward zero all terms shrink alike: their sum shrinks as much,
    however long it is.
    """
    return laws(uniform_zero=lambda n: 2 * nearest_uniform(n))


predict_tf32_error.variant(bias_averages_out)(
    laws(normal_zero=lambda n: zero_normal(n) / math.sqrt(n), uniform_zero=nearest_uniform)
)


@built.mistake(breaks=NUMBER)
def away_is_a_bias():
    """Ties away from zero got a larger error than ties to even. The two differ on exact ties only, one
    number in thousands. In the size of an error that cannot be seen.
    """
    return laws(away=zero_normal)


predict_tf32_error.variant(away_is_a_bias)(laws(away=lambda n: math.sqrt(2) * NORMAL))


@predict_tf32_error.mistake(breaks=FORMULA)
def measured(n: int, rounding: str, data: str) -> float:
    """A product of two matrices was computed. Perhaps its error was measured, at n or at a smaller number of terms. A
    prediction comes before: from the bits and the data.
    """
    terms = min(n, 4096)
    error = relative_error(terms, rounding, data, rows=max(8, min(64, 2**15 // terms)))
    return error * math.sqrt(terms / n) if data == "uniform" and rounding != "toward-zero" else error


@predict_tf32_error.variant(measured)
def _(n: int, rounding: str, data: str) -> float:
    """At n itself."""
    return relative_error(n, rounding, data, rows=max(8, min(64, 2**15 // n)))


@predict_tf32_error.mistake(breaks=FORMULA)
def n_numbers(n: int, rounding: str, data: str) -> float:
    """For n = 2**50 an error was raised. Perhaps n numbers are made or gone through, known values were looked up,
    or a large n is refused. A prediction comes from the bits and the data, for any n.
    """
    return laws()(int(torch.ones(n).sum()), rounding, data)


@predict_tf32_error.variant(n_numbers)
def _(n: int, rounding: str, data: str) -> float:
    """Looked up."""
    return EMULATED[rounding, data][TERMS.index(n)]


@predict_tf32_error.mistake(breaks=FORMULA)
def cut_at_4096(n: int, rounding: str, data: str) -> float:
    """Right up to n = 4096, and the same from there on, where positive data make it fall as 1/sqrt(n). Perhaps n is cut,
    or the nearest value of a table is taken.
    """
    return laws()(min(n, 4096), rounding, data)


@predict_tf32_error.mistake(breaks=NUMBER)
def tensor_returned(n: int, rounding: str, data: str) -> torch.Tensor:
    """A 0-d tensor came back, and a Python number is asked. float() makes one of it."""
    return torch.tensor(laws()(n, rounding, data))


@predict_tf32_error.mistake(breaks=NUMBER)
def away_not_known(n: int, rounding: str, data: str) -> float:
    """For "nearest-away" an error is raised. Perhaps a table has no entry for it. Ties are too rare to be seen in the size of
    the error: it is that of "nearest-even".
    """
    return {"nearest-even": laws(), "toward-zero": laws()}[rounding](n, rounding, data)


@predict_tf32_error.variant(away_not_known)
def _(n: int, rounding: str, data: str) -> float:
    known = [(mode, kind) for mode in ("nearest-even", "toward-zero") for kind in ("normal", "uniform")]
    return dict.fromkeys(known, laws())[rounding, data](n, rounding, data)
