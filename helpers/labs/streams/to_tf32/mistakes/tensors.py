"""What people write for 06.to_tf32 and why it is wrong: the bits are right, the tensor around them is not."""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Callable

import torch
from torch import Tensor

from helpers.check.spec import returned
from helpers.labs.streams.to_tf32.exercise import LOOP, NEW, WORDS, to_tf32
from helpers.labs.streams.to_tf32.mistakes.neighbours import known, right
from helpers.measurements.tf32_bits import LOW, ROUNDINGS

built = to_tf32.bank(returned)


@to_tf32.mistake(breaks=NEW)
def bits_returned(x: Tensor, rounding: str) -> Tensor:
    """The result is an int32 tensor. Perhaps its bits are right: `.view(torch.float32)` reads them as
    numbers again.
    """
    return right(x, rounding).view(torch.int32)


@to_tf32.mistake(breaks=NEW)
def float64_returned(x: Tensor, rounding: str) -> Tensor:
    """The result is a float64 tensor. Perhaps its values are right. A TF32 number is kept in a float32,
    whose last 13 bits are zero.
    """
    return right(x, rounding).double()


@to_tf32.mistake(breaks=NEW)
def one_dimension(x: Tensor, rounding: str) -> Tensor:
    """The result is float32, and has not the shape of x. Perhaps x was flattened, and the result never got its shape
    back: a reshape(x.shape) at the end does it.
    """
    return right(x.reshape(-1), rounding)


@to_tf32.mistake(breaks=NEW)
def number_for_0d(x: Tensor, rounding: str) -> Tensor | float:
    """For a 0-d x a Python number came back. Perhaps by item(): a tensor without dimensions is a tensor, too."""
    return right(x, rounding) if x.dim() else right(x, rounding).item()


@to_tf32.mistake(breaks=NEW)
def shape_of_few_dimensions(x: Tensor, rounding: str) -> Tensor:
    """Most shapes come back, and one does not. Perhaps a 0-d x got a dimension, as by atleast_1d, or a dimension of length 1
    was taken away, as by squeeze: the result has the shape of x, whatever that is.
    """
    return right(torch.atleast_1d(x), rounding)


@to_tf32.variant(shape_of_few_dimensions)
def _(x: Tensor, rounding: str) -> Tensor:
    return right(x, rounding).squeeze()


@to_tf32.mistake(breaks=NEW)
def x_edited(x: Tensor, rounding: str) -> Tensor:
    """x is not what it was. Perhaps by an operation in place, with `_` or `+=`, on x or on `x.view(torch.int32)`, which
    has the memory of x: work on a new tensor, or on a clone.
    """
    result = right(x, rounding)
    x.view(torch.int32).copy_(result.view(torch.int32))
    return result


@to_tf32.variant(x_edited)
def _(x: Tensor, rounding: str) -> Tensor:
    return x.copy_(right(x, rounding))


@to_tf32.mistake(breaks=NEW)
def x_returned(x: Tensor, rounding: str) -> Tensor:
    """The result has the memory of x. Perhaps x itself came back, or a view of it, where nothing had to be
    rounded. The caller gets a tensor of its own, or each edit of the result changes x.
    """
    result = right(x, rounding)
    return x if torch.equal(result, x) else result


@to_tf32.mistake(breaks=NEW)
def flat_view(x: Tensor, rounding: str) -> Tensor:
    """A transposed x raises an error. Perhaps `view(-1)` stands there, which asks for memory in one piece.
    Bits need no flat tensor, or take `reshape(-1)`.
    """
    return right(x.view(-1), rounding).view(x.shape)


@to_tf32.mistake(breaks=NEW)
def read_in_memory_order(x: Tensor, rounding: str) -> Tensor:
    """Of a transposed x the numbers are wrong. Perhaps they were read in the order in which they lie in
    memory, past x's strides: x is a different tensor then.
    """
    rounded = right(torch.as_strided(x, (x.numel(),), (1,), x.storage_offset()), rounding) if dense(x) else x
    return rounded.view(x.shape) if dense(x) else right(x, rounding)


def dense(x: Tensor) -> bool:
    """Whether the memory of x has as many numbers as x."""
    return x.untyped_storage().nbytes() - 4 * x.storage_offset() >= 4 * x.numel()


@to_tf32.mistake(breaks=LOOP)
def element_by_element(x: Tensor, rounding: str) -> Tensor:
    """The values are right, one by one in Python: that takes a second where one operation on the whole
    tensor takes a millisecond.
    """
    known(rounding)
    values = [of_one(value, rounding) for value in x.flatten().tolist()]
    return torch.tensor(values, dtype=torch.float32).view(x.shape)


def of_one(value: float, rounding: str) -> float:
    """One number, through the bytes of a C float."""
    if not math.isfinite(value):
        return value
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    added = {"nearest-even": 0x0FFF + (bits >> 13 & 1), "nearest-away": 0x1000, "toward-zero": 0}[rounding]
    (rounded,) = struct.unpack("<f", struct.pack("<I", (bits + added) & ~LOW))
    return rounded


@to_tf32.variant(element_by_element)
def _(x: Tensor, rounding: str) -> Tensor:
    result = torch.empty(x.shape)
    for at in itertools.product(*map(range, x.shape)):
        result[at] = right(x[at], rounding)
    return result


@to_tf32.mistake(breaks=WORDS)
def any_rounding_taken(x: Tensor, rounding: str) -> Tensor:
    """A rounding that does not exist raised nothing. Perhaps the `else` of the last branch takes it for one
    that does: it needs a ValueError, or a misspelt name goes unseen.
    """
    return right(x, rounding if rounding in ("nearest-even", "nearest-away") else "toward-zero")


@to_tf32.variant(any_rounding_taken)
def _(x: Tensor, rounding: str) -> Tensor:
    return right(x, rounding if rounding in ("nearest-away", "toward-zero") else "nearest-even")


def raising(error: type[Exception]) -> Callable[[Tensor, str], Tensor]:
    def answer(x: Tensor, rounding: str) -> Tensor:
        if rounding not in ROUNDINGS:
            raise error(rounding)
        return right(x, rounding)

    return answer


def matching(matches: Callable[[str, str], bool]) -> Callable[[Tensor, str], Tensor]:
    """An answer that takes the first known word that matches."""

    def answer(x: Tensor, rounding: str) -> Tensor:
        found = [word for word in ROUNDINGS if matches(word, rounding)]
        known(found[0] if found else rounding)
        return right(x, found[0])

    return answer


@built.mistake(breaks=WORDS)
def part_of_a_word():
    """A word that is like a known one was taken for it. Perhaps `in` or startswith looks for a part of the word:
    compare the whole of it.
    """
    return matching(lambda word, rounding: word.rpartition("-")[2] in rounding)


for matches in (
    lambda word, rounding: rounding in word,
    lambda word, rounding: rounding.startswith(word),
    lambda word, rounding: word in rounding,
):
    to_tf32.variant(part_of_a_word)(
        matching(lambda word, rounding, matches=matches: word == rounding or matches(word, rounding))
    )


@to_tf32.mistake(breaks=WORDS)
def spelling_mended(x: Tensor, rounding: str) -> Tensor:
    """A known word in a different spelling was taken: with capitals, blanks or underscores. Perhaps lower(), strip() or
    replace() stands before the comparison. Only the three words count, letter by letter.
    """
    return right(x, rounding.lower().replace("_", "-"))


@to_tf32.variant(spelling_mended)
def _(x: Tensor, rounding: str) -> Tensor:
    return right(x, rounding.strip())


@to_tf32.mistake(breaks=WORDS)
def empty_before_the_word(x: Tensor, rounding: str) -> Tensor:
    """For an empty x a word that does not exist raised nothing. Perhaps the empty case returns before the word is looked
    at: look at it first.
    """
    return right(x, rounding) if x.numel() else x.clone()


@built.mistake(breaks=WORDS)
def another_error():
    """The error is no ValueError, which is what a wrong value is. KeyError tells of a dictionary inside,
    AssertionError is gone under `python -O`, UnboundLocalError tells of a missing `else`.
    """
    return raising(KeyError)


for error in (AssertionError, UnboundLocalError, TypeError):
    to_tf32.variant(another_error)(raising(error))
