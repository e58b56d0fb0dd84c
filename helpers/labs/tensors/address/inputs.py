"""Tensors and indices that 11.address is tried on, and where an answer lies, told from the tensor's first element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial

NEAR = 1 << 14  # bytes: what is further from the first element is no place in these small tensors
Answer = Callable[[Tensor, tuple[int, ...]], int]
Index = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A tensor, and how it was made, in words."""

    t: Tensor
    made: str

    def __str__(self) -> str:
        t = self.t
        return (
            f"t = {self.made}: {str(t.dtype).removeprefix('torch.')}, size {tuple(t.shape)}, stride {t.stride()}, "
            f"storage_offset() {t.storage_offset()}"
        )


def whole() -> Case:
    """Contiguous, from the first element of its memory on."""
    return Case(torch.arange(60.0).view(3, 4, 5), "torch.arange(60.0).view(3, 4, 5)")


def some_index(trial: Trial, t: Tensor) -> Index:
    """No zeros in it, where a dimension has more than one element, so that each stride counts."""
    return tuple(trial.random.randint(min(1, size - 1), size - 1) for size in t.shape)


def far_index(t: Tensor) -> Index:
    """The last element: it is not drawn, so a small error is the same each time."""
    return tuple(size - 1 for size in t.shape)


def place(got: Any, t: Tensor) -> str:
    """An address without the part that changes from run to run."""
    if not isinstance(got, Integral) or isinstance(got, bool):
        return f"a {type(got).__name__}" if got is not None else "None"
    distance = int(got) - t.data_ptr()
    if distance == 0:
        return "t.data_ptr()"
    if abs(distance) <= NEAR:
        return f"t.data_ptr() {'+' if distance > 0 else '-'} {abs(distance)}"
    if abs(int(got)) <= NEAR:
        return f"the number {int(got)}"
    return "a number far from the memory of t"


def require(
    trial: Trial, answer: Answer, case: Case, index: Index, what: str, call: Callable[..., Any] | None = None
) -> None:
    """The answer gives the address of t[index]. what: what the input is about, for the sentence."""
    t = case.t
    trial.given(f"{case}; index {index}")
    try:
        got = answer(t, index) if call is None else call(answer, t, index)
    except IndexError as error:
        trial.fail(
            f"{what} IndexError was raised, and the index is one of an element of t.",
            expected=place(t[index].data_ptr(), t),
            got=f"IndexError: {str(error)[:120]}",
            observed=("refused", tuple(t.shape), index),
        )
    want = t[index].data_ptr()
    found = place(got, t)
    trial.true(
        isinstance(got, Integral) and not isinstance(got, bool),
        f"The result is {found}, and no int."
        + (" Is a `return` missing?" if got is None else " An address is a number of bytes."),
        expected=f"an int: {place(want, t)}",
        got=found,
        observed=("no int", found),
    )
    if got == want:
        return
    trial.fail(
        f"{what} {_off(int(got), want, t)}",
        expected=place(want, t),
        got=found,
        observed=("place", found, tuple(t.shape), index, *(["complex"] if t.is_complex() else [])),
    )


def _off(got: int, want: int, t: Tensor) -> str:
    """How far the answer is from the right place, as a sentence."""
    off = got - want
    if abs(got) <= NEAR:
        return f"The answer is {got}: a distance, perhaps, and no address. The memory of t begins elsewhere."
    if abs(got - t.data_ptr()) > NEAR:
        return "The answer is far outside of the memory of t."
    where = "behind" if off > 0 else "before"
    elements = (
        f", {abs(off) // t.element_size()} elements of {t.element_size()} bytes"
        if off % t.element_size() == 0
        else f", and an element has {t.element_size()}"
    )
    return f"The answer lies {abs(off)} bytes {where} the element{elements}."


def refused(trial: Trial, answer: Answer, case: Case, index: Index, what: str) -> None:
    """IndexError is raised. what: of which kind the index is: "too few"."""
    trial.given(f"{case}; index {index}")
    try:
        got = answer(case.t, index)
    except IndexError:
        return
    except NotImplementedError:  # a stub, this one's or one that it calls
        raise
    except Exception as error:
        trial.fail(
            f"{type(error).__name__} was raised for {_in_words(what)}, and not IndexError.",
            expected="IndexError",
            got=f"{type(error).__name__}: {str(error)[:120]}",
            observed=("raised", type(error).__name__, what, index),
        )
    trial.fail(
        f"Nothing was raised for {_in_words(what)}.",
        expected="IndexError",
        got=place(got, case.t),
        observed=("nothing raised", what, index),
    )


def _in_words(what: str) -> str:
    return {
        "too few": "fewer ints than t has dimensions",
        "too many": "more ints than t has dimensions",
        "above": "an int that is too large for its dimension",
        "below": "a negative int that reaches back beyond the first element",
        "above, within the memory": (
            "an int that is too large for its dimension (there is memory of t at that place, but of a different element)"
        ),
        "empty": "a dimension without elements, in which every int is out of range",
    }[what]


def views() -> list[Case]:
    """Views that begin further on, whose strides are not those of their size."""
    x = torch.arange(60.0).view(3, 4, 5)
    made = "torch.arange(60.0).view(3, 4, 5)"
    return [
        Case(x.transpose(0, 2), f"{made}.transpose(0, 2)"),
        Case(x[:, 1:, ::2], f"{made}[:, 1:, ::2]"),
        Case(x.permute(2, 0, 1)[1:, :, ::3], f"{made}.permute(2, 0, 1)[1:, :, ::3]"),
        Case(x[1:, 2, 1:], f"{made}[1:, 2, 1:]"),
        Case(x[:, 3, 2], f"{made}[:, 3, 2]"),
        Case(x[:, 1:2].expand(3, 6, 5), f"{made}[:, 1:2].expand(3, 6, 5)"),
        Case(x[2, 1].unfold(0, 3, 1), f"{made}[2, 1].unfold(0, 3, 1)"),
        Case(x[1].diagonal(1), f"{made}[1].diagonal(1)"),
        Case(x.as_strided((4, 3), (2, 7), 11), f"{made}.as_strided((4, 3), (2, 7), 11)"),
    ]


def of_dtypes() -> list[Case]:
    """Elements of 1 to 16 bytes; the first three have 8, 1 and 2."""
    cases = []
    for dtype in (
        torch.float64,
        torch.int8,
        torch.float16,
        torch.complex64,
        torch.complex128,
        torch.bool,
        torch.bfloat16,
        torch.int32,
        torch.int64,
        torch.uint8,
        torch.float8_e4m3fn,
    ):
        name = str(dtype)
        made = f"torch.zeros(5, 4, 3, dtype={name})[1:].transpose(0, 1)"
        cases.append(Case(torch.zeros(5, 4, 3, dtype=dtype)[1:].transpose(0, 1), made))
    wide = torch.zeros(3, 4, dtype=torch.complex64)
    return [
        *cases,
        Case(wide.imag, "torch.zeros(3, 4, dtype=torch.complex64).imag"),
        Case(wide[1:].conj(), "torch.zeros(3, 4, dtype=torch.complex64)[1:].conj()"),
        Case(torch.zeros(3, 4)[1:].view(torch.int16), "torch.zeros(3, 4)[1:].view(torch.int16)"),
        Case(torch.zeros(3, 4, requires_grad=True)[1:].T, "torch.zeros(3, 4, requires_grad=True)[1:].T"),
        Case(torch.nn.Parameter(torch.zeros(3, 4)), "torch.nn.Parameter(torch.zeros(3, 4))"),
    ]


def of_dimensions() -> list[Case]:
    """None, one and many dimensions, some of size 1."""
    x = torch.arange(60.0).view(3, 4, 5)
    return [
        Case(torch.tensor(3.0), "torch.tensor(3.0)"),
        Case(x[1, 2, 3], "torch.arange(60.0).view(3, 4, 5)[1, 2, 3]"),
        Case(torch.arange(7.0), "torch.arange(7.0)"),
        Case(x[2, :, 1], "torch.arange(60.0).view(3, 4, 5)[2, :, 1]"),
        Case(torch.zeros(1, 3, 1), "torch.zeros(1, 3, 1)"),
        Case(x[:, 1:2].mT, "torch.arange(60.0).view(3, 4, 5)[:, 1:2].mT"),
        Case(
            torch.zeros(2, 3, 2, 3, 2).permute(4, 0, 3, 1, 2),
            "torch.zeros(2, 3, 2, 3, 2).permute(4, 0, 3, 1, 2)",
        ),
    ]
