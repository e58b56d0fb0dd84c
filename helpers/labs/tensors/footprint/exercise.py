"""Exercise 11.footprint: the bytes of the storages behind some tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef

from helpers.check.compare import shown
from helpers.check.operations import operations
from helpers.check.trial import Trial
from helpers.exercise import Exercise

footprint = Exercise(
    "11.footprint",
    "What they keep alive",
    objective="Count the bytes that some tensors keep, and not those that they show.",
    minutes=10,
    difficulty="easy",
    hints=[
        "A tensor keeps its storage, all of it: `t.untyped_storage()`. How many bytes has that?",
        "Two views of one storage give the same `untyped_storage()._cdata`, the address of the C++ storage behind it (section 1). "
        "It names a storage as long as that is alive.",
        "`t.data_ptr()` is no name for a storage: two views of it may begin in different places.",
        "A dict from `_cdata` to `nbytes()` holds each storage once. Tensors with `is_meta` do not go into it.",
    ],
)

Answer = Callable[..., Any]
ALL = (
    "The memory of a tensor is its storage.",
    "All bytes of it count, also those that the tensor does not reach.",
)
ONCE = "A storage counts once, however many of the tensors use it, and whatever part of it and with whatever dtype."
META = "A tensor on the meta device has no bytes."
QUIET = "No operation of torch runs."
LETS_GO = "No tensor is kept alive when it has returned."
ANEW = "Each call begins anew."
SUM = "The bytes of all memories that the tensors keep alive."
ANY_NUMBER = "any number of strided tensors, on the CPU or on the meta device."


@dataclass(frozen=True)
class Case:
    """Tensors in words, what they keep, and why. readable: False if not all have elements that can be read."""

    words: str
    tensors: Sequence[Tensor]
    want: int
    why: str
    readable: bool = True


def count(trial: Trial, answer: Answer, cases: Iterable[Case]) -> None:
    """Wrong where `answer(*tensors)` is not the int that is wanted. Observed is what came of each case that is wrong."""
    wrong: list[tuple[Case, int]] = []
    for case in cases:
        trial.given(case.words)
        got = trial.call(answer, *case.tensors) if case.readable else answer(*case.tensors)
        trial.true(
            isinstance(got, int) and not isinstance(got, bool),
            f"The result is {shown(got)}, of the type {type(got).__name__}, and no int.",
            expected=f"{case.want}, an int",
            got=shown(got),
            observed=("no int", type(got).__name__),
        )
        if got != case.want:
            wrong.append((case, got))
    if wrong:
        case, got = wrong[0]
        more = {found - each.want for each, found in wrong}
        # A Python object has a few dozen bytes: how many depends on the version of Python.
        objects = len(more) == 1 < len(wrong) and next(iter(more)) in range(24, 129)
        trial.given(case.words)
        trial.fail(
            f"{case.words}: {got:,} bytes, and not {case.want:,}. {case.why}",
            expected=f"{case.want:,} bytes",
            got=f"{got:,} bytes",
            observed=[(each.words, "an object more" if objects else found) for each, found in wrong],
        )


@footprint.property("one tensor with a memory of its own", asks=(SUM, ALL[0], ANEW))
def of_one(answer: Answer, trial: Trial) -> None:
    cases = [
        Case(words, [t], t.nbytes, "They are its elements.")
        for words, t in (
            ("a tensor of 3 x 5 float32", torch.zeros(3, 5)),
            ("a tensor of 7 float64", torch.zeros(7, dtype=torch.float64)),
            ("a tensor of 11 bool", torch.zeros(11, dtype=torch.bool)),
            ("a tensor of 3 complex64", torch.zeros(3, dtype=torch.complex64)),
            ("a tensor of 9 bfloat16", torch.zeros(9, dtype=torch.bfloat16)),
            ("a tensor of one float32, without dimensions", torch.tensor(2.0)),
        )
    ]  # all of them live, so that no address comes twice
    first = cases[0]
    again = Case(
        f"{first.words}, in a second call", first.tensors, first.want, "It keeps what it kept before."
    )
    count(trial, answer, [*cases, again])


@footprint.property("several memories are summed", asks=(SUM, ANY_NUMBER))
def of_several(answer: Answer, trial: Trial) -> None:
    alike = [torch.zeros(4, 3), torch.zeros(4, 3), torch.zeros(4, 3)]
    mixed = [torch.zeros(5), torch.zeros(3, dtype=torch.int64), torch.zeros(2, 2, dtype=torch.uint8)]
    empty = [torch.zeros(0), torch.zeros(3, 0), torch.zeros(6)]
    count(
        trial,
        answer,
        (
            Case("three equal tensors, made one by one", alike, 144, "Equal tensors have a memory each."),
            Case("5 float32, 3 int64 and 4 uint8", mixed, 48, "They have 20, 24 and 4 bytes."),
            Case("no tensor at all", [], 0, "Nothing is kept."),
            Case("two tensors without elements, and 6 float32", empty, 24, "The first two have no bytes."),
        ),
    )


@footprint.property("a view keeps its whole storage", asks=ALL)
def of_a_view(answer: Answer, trial: Trial) -> None:
    big = torch.zeros(10, 20)
    why = "It keeps the storage of 800 bytes, whole."
    grown, cut = torch.zeros(4), torch.zeros(6)[:5]
    grown.untyped_storage().resize_(100)
    cut.untyped_storage().resize_(0)
    count(
        trial,
        answer,
        (
            Case("a row of 10 x 20 float32", [big[3]], 800, why),
            Case("every third column of 10 x 20 float32", [big[:, ::3]], 800, why),
            Case("one element of 10 x 20 float32, as a tensor", [big[9, 19]], 800, why),
            Case("no row of 10 x 20 float32, big[:0]", [big[:0]], 800, why),
            Case("10 x 20 float32, transposed", [big.T], 800, why),
            Case(
                "6 float32, expanded to 50 x 6", [torch.zeros(1, 6).expand(50, 6)], 24, "It keeps 6 elements."
            ),
            Case("windows of 3 of 8 float32", [torch.zeros(8).unfold(0, 3, 1)], 32, "It keeps 8 elements."),
            Case("4 float32 in a storage of 100 bytes", [grown], 100, "The storage has 100 bytes."),
            Case("5 float32 whose storage was resized to 0", [cut], 0, "It keeps nothing.", readable=False),
        ),
    )


@footprint.property("a storage counts once", asks=ONCE)
def once(answer: Answer, trial: Trial) -> None:
    big, other = torch.zeros(10, 20), torch.ones(10, 20)
    why = "They look into one storage, of 800 bytes."
    turns = [big[1], other[1], big[2], other[1], big[1], other[9]]
    count(
        trial,
        answer,
        (
            Case("the same tensor twice", [big, big], 800, why),
            Case("a tensor and a view of all of it", [big, big.view(200)], 800, why),
            Case("two rows of one tensor", [big[2], big[7]], 800, why),
            Case("all rows of one tensor", list(big), 800, why),
            Case("a tensor, its transpose and a column of it", [big, big.T, big[:, 4]], 800, why),
            Case("no row of a tensor, and its last one", [big[5:5], big[9]], 800, why),
            Case("a tensor and its detach()", [big, big.detach()], 800, why),
            Case("rows of two tensors in turn", turns, 1600, "They look into two storages, of 800 bytes."),
        ),
    )


@footprint.property("also where the views have different dtypes", asks=ONCE)
def other_dtypes(answer: Answer, trial: Trial) -> None:
    x, z = torch.zeros(6, 4), torch.zeros(5, dtype=torch.complex64)
    parts = [z.real, z.imag, z]
    why = "They look into one storage, of 96 bytes."
    count(
        trial,
        answer,
        (
            Case("float32 and the same bytes as int32", [x, x.view(torch.int32)], 96, why),
            Case("all as int16, and a row as float32", [x.view(torch.int16), x[5]], 96, why),
            Case("complex64 and its two parts", parts, 40, "They look into one storage, of 40 bytes."),
        ),
    )


@footprint.property("a tensor on the meta device has no bytes", asks=(META, ANY_NUMBER))
def on_meta(answer: Answer, trial: Trial) -> None:
    meta, small = torch.empty(30, 30, device="meta"), torch.empty(3, device="meta")
    why = "On the meta device there are sizes only."
    count(
        trial,
        answer,
        (
            Case("30 x 30 float32 on the meta device", [meta], 0, why, readable=False),
            Case(
                "7 float32, between two on the meta device",
                [meta, torch.zeros(7), small],
                28,
                why,
                readable=False,
            ),
            Case(
                "two on the meta device and 2 float64",
                [meta[3], meta.T, torch.zeros(2).double()],
                16,
                why,
                readable=False,
            ),
            Case("5 float32, and one on the meta device", [torch.zeros(5), small], 20, why, readable=False),
        ),
    )


@footprint.property("parameters, and tensors with a gradient", asks=(SUM, ONCE))
def parameters(answer: Answer, trial: Trial) -> None:
    weight, bias = nn.Parameter(torch.zeros(3, 3)), nn.Parameter(torch.zeros(3))
    head, w = nn.Parameter(weight.detach()), torch.ones(5, requires_grad=True)
    w.sum().backward()
    assert w.grad is not None
    three = [weight, bias, head]
    count(
        trial,
        answer,
        (
            Case(
                "a weight of 3 x 3, a bias of 3, and a parameter made of the weight's detach()",
                three,
                48,
                "Weight and parameter are one memory, of 36 bytes.",
            ),
            Case(
                "5 float32 that have a gradient",
                [w],
                20,
                "The gradient is a tensor of its own, and was not given.",
            ),
            Case("5 float32 and their gradient", [w, w.grad], 40, "Each has a memory of 20 bytes."),
        ),
    )


@footprint.property("no operation of torch runs", asks=QUIET)
def quiet(answer: Answer, trial: Trial) -> None:
    x = torch.zeros(6, 4)
    trial.given(
        "a tensor of 6 x 4, a view of it, a tensor on the meta device and one without elements; operations are watched"
    )
    tensors = (x, x.T[1:], torch.empty(3, device="meta"), torch.zeros(0))
    with operations() as ran:
        answer(*tensors)
    names = [each.name for each in ran]
    trial.true(
        not names,
        f"Operations of torch ran: {', '.join(dict.fromkeys(names))}. Counting needs none.",
        expected="no operation",
        got=", ".join(names),
        observed="operations ran",
    )


@footprint.property("no tensor is kept, and no call knows of an earlier one", asks=(LETS_GO, ANEW))
def lets_go(answer: Answer, trial: Trial) -> None:
    trial.given("a tensor of 50 float32 and a view of it, which nobody keeps after the call")
    t = torch.zeros(50)
    memory = StorageWeakRef(t.untyped_storage())
    got = trial.call(answer, t, t[3:])
    del t
    trial.true(
        memory.expired(),
        "The memory lives on after the call: something holds the tensor, or its storage.",
        expected="a memory that is freed with its last tensor",
        got="a memory that is still there",
        observed="kept",
    )
    del got
    x, y = torch.zeros(9), torch.zeros(4)
    why = "What was counted before counts again."
    count(
        trial,
        answer,
        (
            Case("9 float32", [x], 36, why),
            Case("the same 9 float32, in a second call", [x[2:]], 36, why),
            Case("these 9 float32 and 4 more, in a third call", [x, y], 52, why),
        ),
    )
    for size in (10, 30, 20, 40):  # a new storage may lie where the last one was
        words = f"{size} float32, made after the last ones were freed"
        count(trial, answer, [Case(words, [torch.zeros(size)], 4 * size, why)])
