"""What people write for 06.probe_rounding, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import torch
from torch import Tensor

from helpers.check.spec import returned
from helpers.labs.streams.probe_rounding.exercise import (
    DIFFERENTLY,
    DRAWN,
    NONE,
    REACH,
    RULES,
    SMALL,
    SUM,
    THREE,
    UNKNOWN,
    Answer,
    probe_rounding,
)
from helpers.labs.streams.probe_rounding.inputs import Matmul
from helpers.labs.streams.shared.rounding import of_bits, tf32
from helpers.measurements.tf32_bits import HALF, ROUNDINGS

built = probe_rounding.bank(returned)

TOLD_BY = (1, 0x0FFF, 0x1000, 0x1001, 0x1FFF)
FAR = (87, 127, 167)  # exponents: 2**-40, 1, 2**40
Judge = Callable[[Tensor, Tensor], str]  # the matrix and what came back -> the word


def filled(
    n: int, low: Sequence[int] = TOLD_BY, odd: Sequence[int] = (0, 1), sign=(0, 1), exponent=FAR
) -> Tensor:
    """An n x n matrix with all of these patterns, again and again."""
    tops = (0, 0x2C, 0x1A5)  # of nine bits
    all_of = product(exponent, low, odd, sign, tops)
    patterns = [(s << 31) | (e << 23) | (t << 14) | (o << 13) | w for e, w, o, s, t in all_of]
    return of_bits((patterns * (n * n // len(patterns) + 1))[: n * n]).view(n, n)


def drawn(n: int, *ties: int) -> Tensor:
    """Normal numbers from an own generator. ties: patterns that stand among them, as if by luck."""
    x = torch.randn(n, n, generator=torch.Generator().manual_seed(3))
    x[0, : len(ties)] = of_bits(ties)
    return x


def same(x: Tensor, y: Tensor, order: Sequence[str] = ROUNDINGS) -> str:
    """The first word that explains every bit."""
    if torch.equal(y, x):
        return "none"
    return next((mode for mode in order if torch.equal(y, tf32(x, mode))), "unknown")


def probing(
    matrix: Callable[[int], Tensor] = filled,
    judged: Judge = same,
    ns: Sequence[int] = (64, 128),
    sides: str = "both",
    joined: Callable[[list[str]], str] | None = None,
) -> Answer:
    """A probe with one thing in it that may be wrong."""
    joined = joined or (lambda words: words[0] if len(set(words)) == 1 else "unknown")

    def answer(matmul: Matmul) -> str:
        words = []
        for n in ns:
            x, eye = matrix(n), torch.eye(n)
            if sides in ("both", "left"):
                words.append(judged(x, matmul(x, eye)))
            if sides in ("both", "right"):
                words.append(judged(x, matmul(eye, x)))
        return joined(words)

    return answer


def only(**patterns: Sequence[int]) -> Callable[[int], Tensor]:
    return lambda n: filled(n, **patterns)


@built.mistake(breaks=THREE)
def random_inputs():
    """Hardly any number that was tried is a tie, and then even and away look alike. Perhaps the numbers are
    random: of these about one in 8,000 is a tie. Ties must be built, bit by bit.
    """
    return probing(drawn)


AWAY_FIRST = ("nearest-away", "nearest-even", "toward-zero")
for form in (
    probing(drawn, lambda x, y: same(x, y, AWAY_FIRST)),
    probing(only(low=(1, 0x0FFF, 0x1001, 0x1FFF))),
    probing(drawn, ns=(64,)),
    probing(lambda n: drawn(n, 0x3F803000)),
    probing(lambda n: drawn(n, 0x3F801000)),
    probing(drawn, lambda x, y: same(x, y, AWAY_FIRST), ns=(64,)),
):
    probe_rounding.variant(random_inputs)(form)


def by_norm(x: Tensor, y: Tensor) -> str:
    """The word whose usual error is the nearest."""
    error = float((y - x).double().norm() / x.double().norm())
    return "none" if error < 1e-6 else "toward-zero" if error > 4e-4 else "nearest-even"


@built.mistake(breaks=THREE)
def by_the_size_of_the_error():
    """The word is wrong, and hardly any number that was tried is a tie. Perhaps the size of the error
    decides: it tells rounding from cutting off, and no more. Even and away have the same.
    """
    return probing(drawn, by_norm)


@probe_rounding.mistake(breaks=THREE)
def products_compared(matmul: Matmul) -> str:
    """A mode is found where the sum is made in float32 from front to back, and is unknown where it is made
    in a different way. Perhaps two full matrices were multiplied. With the identity there is one term, and
    every bit can be compared.
    """
    words = []
    for n in (64, 128):
        x, y = filled(n, exponent=(125, 127)), filled(n, exponent=(126, 128)).T.contiguous()
        got = matmul(x, y)
        words += [mode for mode in ROUNDINGS if torch.equal(got, tf32(x, mode) @ tf32(y, mode))][:1] or [
            "none" if torch.equal(got, x @ y) else "unknown"
        ]
    return words[0] if len(set(words)) == 1 else "unknown"


@built.mistake(breaks=RULES)
def only_even_neighbours():
    """Ties toward zero were taken for nearest-even, and ties to odd for nearest-away. Perhaps all ties
    stood behind an even last kept bit. There they are alike: an odd one tells them apart.
    """
    return probing(only(odd=(0,)))


@built.mistake(breaks=THREE)
def only_odd_neighbours():
    """Even and away got one word. Perhaps no tie stood behind an even last kept bit, and behind an odd one
    both go up; or a word is taken that most numbers fit. Let both kinds count, every bit.
    """
    return probing(only(odd=(1,)))


@built.mistake(breaks=RULES)
def nothing_over_a_tie():
    """A device that sends ties down was taken for one that cuts off. Perhaps no number lay just over a tie:
    there the one goes up, and the other does not.
    """
    return probing(only(low=(1, 0x0FFF, 0x1000)))


probe_rounding.variant(nothing_over_a_tie)(probing(only(low=(0x1000,))))
probe_rounding.variant(nothing_over_a_tie)(probing(only(low=(0, 0x0800, 0x1000))))


@built.mistake(breaks=RULES)
def positive_only():
    """Toward minus infinity was taken for toward zero, and ties upward for ties away. Perhaps all numbers
    were positive: there they are alike. Both signs belong in the matrix.
    """
    return probing(only(sign=(0,)))


@built.mistake(breaks=REACH)
def near_one_only():
    """float16 was taken for nearest-even. Perhaps all numbers lay near 1, where float16 rounds exactly as
    TF32: both have 10 bits of mantissa. Far from 1, float16 ends.
    """
    return probing(only(exponent=(126, 127, 128)))


@built.mistake(breaks=DIFFERENTLY)
def only_the_left_operand():
    """Where the operands are rounded in two ways, the word is that of the left one. Perhaps only the left operand held
    numbers to round, or its word counts first: swap them for a second product, and compare.
    """
    return probing(sides="left")


@built.mistake(breaks=DIFFERENTLY)
def only_the_right_operand():
    """Where the operands are rounded in two ways, the word is that of the right one. Perhaps only the right operand held
    numbers to round, or its word counts first: swap them for a second product, and compare.
    """
    return probing(sides="right")


@built.mistake(breaks=DIFFERENTLY)
def the_side_that_rounds():
    """Where one operand is in full float32, the word is that of the other. Perhaps "none" of one side was
    passed over. A device that treats its operands differently is "unknown".
    """
    return probing(
        joined=lambda words: (
            (set(words) - {"none"} or {"none"}).pop() if len(set(words) - {"none"}) < 2 else "unknown"
        )
    )


@built.mistake(breaks=DIFFERENTLY)
def the_side_that_does_not():
    """Where one operand is in full float32, and the other is not, the word is "none". Perhaps the words of all products
    were put together, and "none" looked for first. A device that treats its operands differently is "unknown".
    """
    return probing(
        joined=lambda words: "none" if "none" in words else words[0] if len(set(words)) == 1 else "unknown"
    )


@probe_rounding.mistake(breaks=DRAWN)
def global_generator(matmul: Matmul) -> str:
    """A global generator has moved. Perhaps numbers were drawn without a generator of their own, or the global one was
    seeded: whoever draws after the probe gets different numbers. Build the numbers, they are no matter of chance.
    """
    torch.randn(3)
    return probing()(matmul)


@built.mistake(breaks=DIFFERENTLY)
def one_size():
    """Where two sizes are rounded in two ways, the word is that of one size. Perhaps only one was tried. A
    device takes another kernel for other sizes, and one of them may round where the other does not.
    """
    return probing(ns=(64,))


probe_rounding.variant(one_size)(probing(ns=(128,)))


@probe_rounding.mistake(breaks=DIFFERENTLY)
def one_number_of_rows(matmul: Matmul) -> str:
    """Where the number of rows of the product decides how it rounds, the word is that of one number of rows. Perhaps all
    products have as many rows, and the second size is that of the columns, or of the sum: take 64 and 128 rows.
    """
    words = set()
    for n in (64, 128):
        x = filled(n)
        words |= {same(x[:64], matmul(x[:64], torch.eye(n))), same(x[:64], matmul(torch.eye(64, n), x))}
    return words.pop() if len(words) == 1 else "unknown"


@built.mistake(breaks=SMALL)
def too_small():
    """A device that does something else below 64 rows was called unknown. Perhaps such a product was asked,
    too. What is measured there does not speak for the rest: begin with 64.
    """
    return probing(ns=(16, 64, 128))


@probe_rounding.mistake(breaks=SMALL)
def small_ones_only(matmul: Matmul) -> str:
    """A device that does something else below 64 rows or columns got the word for that. Perhaps a matrix with fewer columns is
    asked, or with fewer rows: begin with 64 by 64.
    """
    words = set()
    for rows in (64, 128):
        x = filled(rows)[:, :16]
        words |= {same(x, matmul(x, torch.eye(16))), same(x, matmul(torch.eye(rows), x))}
    return words.pop() if len(words) == 1 else "unknown"


@built.mistake(breaks=REACH)
def subnormals_probed():
    """A device that sets subnormals to zero was called unknown. Perhaps the matrix held some. Whether they
    are kept is a question of its own: leave them out.
    """
    return probing(only(exponent=(0, *FAR)))


def with_the_largest(n: int) -> Tensor:
    x = filled(n)
    x[0, 0] = of_bits([0x7F7FFFFF])[0]
    return x


@built.mistake(breaks=REACH)
def overflow_probed():
    """The two nearest modes were called unknown. Perhaps the largest float32 was tried: it rounds to
    infinity, and infinity times the zeros of the identity is NaN, a whole row of it. That question needs a
    product of its own.
    """
    return probing(with_the_largest)


def closest(x: Tensor, y: Tensor) -> str:
    errors = {mode: (tf32(x, mode) - y).double().abs().nansum() for mode in ROUNDINGS}
    errors["none"] = (x - y).double().abs().nansum()
    return min(errors, key=lambda name: float(errors[name]))


@built.mistake(breaks=SUM)
def the_sum_is_none():
    """The sum of two TF32 numbers for each float32 was taken for full float32. Perhaps by a tolerance, such as 1e-5, or the
    default of allclose: it errs by less. Compare the bits, with torch.equal.
    """
    return probing(judged=lambda x, y: "none" if torch.allclose(y, x, rtol=1e-5, atol=0.0) else same(x, y))


@built.mistake(breaks=UNKNOWN)
def none_for_the_rest():
    """What is none of the three roundings was called "none". Perhaps the last `else` says so. "none" is that every number
    comes out as it went in; what no word fits is "unknown".
    """
    return probing(
        judged=lambda x, y: next((mode for mode in ROUNDINGS if torch.equal(y, tf32(x, mode))), "none")
    )


@built.mistake(breaks=UNKNOWN)
def the_closest():
    """Two rules for ties that are none of the three got the word of one. Perhaps the closest of the known
    roundings is always found. Every bit must agree, or it is "unknown".
    """
    return probing(judged=closest)


@probe_rounding.variant(the_closest)
def _(matmul: Matmul) -> str:
    right = dict.fromkeys((*ROUNDINGS, "none"), 0)
    for n in (64, 128):
        x, eye = filled(n), torch.eye(n)
        for y in (matmul(x, eye), matmul(eye, x)):
            for mode in ROUNDINGS:
                right[mode] += int((tf32(x, mode) == y).sum())
            right["none"] += int((x == y).sum())
    return max(right, key=lambda mode: right[mode])


def rightly_counted(x: Tensor, y: Tensor) -> str:
    counts = {mode: int((tf32(x, mode) == y).sum()) for mode in ROUNDINGS} | {"none": int((x == y).sum())}
    return max(counts, key=lambda name: counts[name])


probe_rounding.variant(the_closest)(probing(judged=rightly_counted))


def near(x: Tensor, y: Tensor) -> str:
    modes = {mode: tf32(x, mode) for mode in ROUNDINGS} | {"none": x}
    return next((m for m, want in modes.items() if torch.allclose(y, want, rtol=1e-3)), "unknown")


@built.mistake(breaks=THREE)
def compared_by_allclose():
    """A product that rounds nothing was taken for nearest-even. Perhaps by a tolerance: the roundings
    differ by one unit of the tenth bit, a thousandth, and a tolerance of that size takes the first mode for
    all. Compare the bits, with torch.equal.
    """
    return probing(judged=near)


@built.mistake(breaks=NONE)
def never_none():
    """A product that rounds nothing was called unknown. Perhaps it is compared with the three modes only,
    or sums of many terms are compared, which may be made in any order. Compare with x itself, one term a sum.
    """
    return probing(judged=lambda x, y: "unknown" if torch.equal(x, y) else same(x, y))


probe_rounding.variant(never_none)(
    probing(drawn, lambda x, y: "unknown" if torch.equal(x, y) else same(x, y))
)


@built.mistake(breaks=THREE)
def held_numbers():
    """A product that rounds and one that does not look alike. Perhaps the numbers of the matrix are TF32
    numbers already: no rounding changes them, so every device looks like the first candidate.
    """
    return probing(
        only(low=(0,)), lambda x, y: next((m for m in ROUNDINGS if torch.equal(y, tf32(x, m))), "none")
    )


probe_rounding.variant(held_numbers)(probing(only(low=(0,))))
probe_rounding.variant(held_numbers)(
    probing(only(low=(0,)), lambda x, y: same(x, y) if not torch.equal(x, y) else "nearest-even")
)


@probe_rounding.mistake(breaks=THREE)
def the_device_is_not_asked(matmul: Matmul) -> str:
    """Three devices that round were all said to round nothing. Perhaps a switch was asked, and not the
    product that was handed in. A switch says what is allowed, not what the kernel does.
    """
    return "none" if torch.get_float32_matmul_precision() == "highest" else "nearest-even"


@probe_rounding.variant(the_device_is_not_asked)
def _(matmul: Matmul) -> str:
    return probing()(torch.matmul)


@probe_rounding.mistake(breaks=DIFFERENTLY)
def one_operand_at_the_second_size(matmul: Matmul) -> str:
    """A device that treats one operand differently at one size only gets the word of the rest. Perhaps each operand has
    a size of its own: all four products count.
    """
    words = {same(x := filled(64), matmul(x, torch.eye(64))), same(x, matmul(torch.eye(64), x))}
    words.add(same(x := filled(128), matmul(x, torch.eye(128))))
    return words.pop() if len(words) == 1 else "unknown"


@probe_rounding.variant(one_operand_at_the_second_size)
def _(matmul: Matmul) -> str:
    """The left one at 64 rows is left out."""
    words = {same(x := filled(128), matmul(x, torch.eye(128))), same(x, matmul(torch.eye(128), x))}
    words.add(same(x := filled(64), matmul(torch.eye(64), x)))
    return words.pop() if len(words) == 1 else "unknown"


@built.mistake(breaks=RULES)
def nothing_just_over_a_tie():
    """A rounding that takes 0x1001 for a tie was not told from nearest-even. Perhaps what is above a tie is far above it: the
    next number, low bits 0x1001, shows whether all dropped bits are looked at.
    """
    return probing(only(low=(1, 0x0FFF, HALF, 0x1800, 0x1FFF)))


@built.mistake(breaks=RULES)
def nothing_just_below_a_tie():
    """A rounding that takes 0x0FFF for a tie was not told from nearest-away. Perhaps what is below a tie is far below it: the
    next number, low bits 0x0FFF, shows whether the bits were rounded once.
    """
    return probing(only(low=(1, 0x0800, HALF, 0x1001, 0x1FFF)))


@built.mistake(breaks=RULES)
def negative_only():
    """A device that rounds positive numbers in a different way got the word that is right for negative ones. Perhaps no number
    that was tried is positive.
    """
    return probing(only(sign=(1,)))


@built.mistake(breaks=REACH)
def not_so_small():
    """A rounding that ends at 2**-39 was not noticed. Perhaps the smallest number that was tried is larger: 2**-40 is asked
    for.
    """
    return probing(only(exponent=(100, 127, 167)))


@built.mistake(breaks=REACH)
def not_so_large():
    """A rounding that ends at 2**40 was not noticed. Perhaps the largest number that was tried is smaller: 2**40 is asked
    for.
    """
    return probing(only(exponent=(87, 127, 150)))


@built.mistake(breaks=THREE)
def other_numbers_of_rows():
    """A product that is different at exactly 64 rows, or at 128, was not noticed. Perhaps other numbers of rows were tried:
    a kernel is often chosen for a multiple of 64 or 128.
    """
    return probing(ns=(100, 200))


for rows in ((64, 200), (100, 128)):
    probe_rounding.variant(other_numbers_of_rows)(probing(ns=rows))
