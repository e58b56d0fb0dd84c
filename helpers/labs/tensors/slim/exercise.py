"""Exercise 11.slim: the same tensors in memories no larger than they need, overlapping as before."""

from __future__ import annotations

from itertools import permutations

import torch
from torch import nn

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.tensors.slim.inputs import STAYS, Answer, Case, State, intervals, numbers, slimmed

slim = Exercise(
    "11.slim",
    "A slim state",
    objective="Save what the tensors need, and not what they were cut from.",
    minutes=40,
    difficulty="hard",
    core=False,
    hints=[
        "Four steps: entries by memory, `t.untyped_storage()._cdata`; in each memory the groups that belong together; a new "
        "memory for each group; and at the end the question whether anything was saved.",
        "The range begins at `t.storage_offset()` and ends `(n - 1) * stride` further for each dimension. Sort by where they "
        "begin: who begins before the end of the group so far belongs to it. That end is the furthest of all in it, "
        "which need not be the last one's.",
        "`t.as_strided((stop - first,), (1,), first).clone()` copies a range. `as_strided` counts its offset from the start of "
        "the storage, also on a view, and the clone's storage begins where the range began.",
        "In the new memory a tensor has its old shape, its old strides, and its old offset less the group's first one. "
        "Collect the new tensors of one old memory in a dict of their own: "
        "`if footprint(*new.values()) < footprint(old_one): result.update(new)`, with `result = dict(state)` at the start.",
    ],
)

SAME = "The same tensors, in memories no larger than they need."
NEW_DICT = "Returns a new dict, with the names in the same order."
EACH = "Each tensor has its shape, its dtype and its values; a new one requires no grad."
ONE_DTYPE = "Tensors that share a memory have one dtype."
RANGE = "The range of a tensor goes from its first element in memory to its last."
BELONG = (
    "Tensors of one memory whose ranges overlap belong together; A and C belong together also if only B overlaps with "
    "both."
)
EMPTY = "An empty tensor has no range."
TOGETHER = (
    "Tensors that belong together have one memory again, from the first to the last element of any of them, and they "
    "overlap in it as before."
)
ALONE = (
    "A tensor that belongs to no other has a memory of its own: its range, or its elements side by side, whichever is "
    "smaller."
)
NOTHING_SAVED = (
    "Where nothing is saved, nothing is copied: if the new memories together would not be smaller than the old one, "
    "the tensors of the old one are taken as they are, the same objects."
)


@slim.property("a new dict with the same names, shapes, dtypes and values", asks=(NEW_DICT, EACH))
def same_contents(answer: Answer, trial: Trial) -> None:
    big, small = numbers(trial, 6, 5), numbers(trial, 4, 3, dtype=torch.int16, plus=100)
    long = numbers(trial, 40, dtype=torch.float64, plus=300)
    own = numbers(trial, 7, dtype=torch.float64, plus=500)
    turns = {"z": big[1], "b": small[0], "m": big[3], "a": small[2]}
    shapes = {"two": long[3:9].view(2, 3), "one": long[11], "three": long[20:25].view(1, 1, 5)}
    slimmed(
        trial,
        answer,
        (
            Case("a row of 6 x 5 float32, and 7 float64 of their own", {"row": big[2], "own": own}),
            Case("rows of 6 x 5 float32 and of 4 x 3 int16, in turn", turns),
            Case("pieces of 40 float64, of the shapes (2, 3), () and (1, 1, 5)", shapes),
            Case("a state without tensors", {}),
        ),
        contents_only=True,
    )


@slim.property("of a piece no more is kept than the piece", asks=(SAME, ALONE))
def a_piece(answer: Answer, trial: Trial) -> None:
    big, long = numbers(trial, 6, 5), numbers(trial, 9, dtype=torch.int64)
    slimmed(
        trial,
        answer,
        (
            Case("row 2 of 6 x 5 float32", {"row": big[2]}),
            Case("rows 1 and 2 of 6 x 5 float32, as one tensor", {"rows": big[1:3]}),
            Case("row 4 of 6 x 5 float32, by way of detach()", {"row": big[4].detach()}),
            Case("the first 7 of 9 int64", {"start": long[:7]}),
            Case("the last 8 of 9 int64", {"end": long[1:]}),
        ),
    )


@slim.property("tensors that overlap have one memory again", asks=(RANGE, BELONG, TOGETHER))
def overlapping(answer: Answer, trial: Trial) -> None:
    big, long = numbers(trial, 6, 5), numbers(trial, 20, dtype=torch.int16)
    row = big[3]
    element = big[2, 3]
    slimmed(
        trial,
        answer,
        (
            Case("row 3 of 6 x 5, twice, the same object", {"one": row, "other": row}),
            Case("rows 1 to 2 of 6 x 5, cut twice", {"one": big[1:3], "other": big[1:3]}),
            Case("rows 2 to 4 of 6 x 5, and rows 1 to 2", {"later": big[2:5], "first": big[1:3]}),
            Case("cells 4 to 8 of 20, and 8 to 14: one in common", {"one": long[4:9], "other": long[8:15]}),
            Case("rows 1 to 4 of 6 x 5, and in them row 3", {"rows": big[1:5], "row": big[3]}),
            Case("row 2 of 6 x 5, and one element of it, without dimensions", {"row": big[2], "one": element}),
            Case("rows 1 to 3 of 6 x 5, and the same transposed", {"rows": big[1:4], "turned": big[1:4].T}),
            Case("column 1 of 6 x 5, cut twice", {"one": big[:, 1], "other": big[:, 1]}),
            Case(
                "columns 1 and 3 of 6 x 5: no element in common", {"one": big[:, 1], "other": big[:, 3]}
            ),
            Case("column 1 of 6 x 5, and of row 2 the elements 3 and 4", {"one": big[:, 1], "two": big[2, 3:]}),
            Case("row 4 of 6 x 5, and the same expanded to 3 x 5", {"row": big[4], "bias": big[4].expand(3, 5)}),
        ),
    )  # fmt: skip


@slim.property("one that is alone has its range, or its elements side by side", asks=(RANGE, ALONE))
def alone(answer: Answer, trial: Trial) -> None:
    big, z = numbers(trial, 6, 5), torch.complex(numbers(trial, 7), numbers(trial, 7, plus=20))
    long = numbers(trial, 15, dtype=torch.float64)
    narrow = numbers(trial, 7, 3, dtype=torch.int8)
    # Six elements, shown twice: who keeps each once has kept what is needed.
    twice = Case("column 2 of 6 x 5, expanded to 2 x 6", {"it": big[:, 2].expand(2, 6)}, {"it": 24})
    slimmed(
        trial,
        answer,
        (
            Case("column 1 of 6 x 5 float32", {"it": big[:, 1]}),
            Case("row 1 of 6 x 5, expanded to 4 x 5", {"it": big[1].expand(4, 5)}),
            Case("one element of 6 x 5, expanded to 3 x 3", {"it": big[5, 4].expand(3, 3)}),
            Case("windows of 4 of the cells 3 to 9 of 15 float64", {"it": long[3:10].unfold(0, 4, 1)}),
            Case("windows of 2 of 15 float64, 5 apart", {"it": long[1:].unfold(0, 2, 5)}),
            Case("rows 1 to 3 of 6 x 5, transposed", {"it": big[1:4].T}),
            Case("each second of the rows 0 to 4 of 6 x 5", {"it": big[:5:2]}),
            Case("a block of 3 x 2 in 6 x 5", {"it": big[2:5, 1:3]}),
            Case("the diagonal of 6 x 5", {"it": big.diagonal()}),
            Case("one element of 7 x 3 int8, without dimensions", {"it": narrow[4, 2]}),
            Case("column 2 of 7 x 3 int8", {"it": narrow[:, 2]}),
            Case("the imaginary part of 7 complex64", {"it": z.imag}),
            Case("the elements 2 to 4 of 7 complex64", {"it": z[2:5]}),
            twice,
        ),
    )


@slim.property("tensors whose ranges do not overlap have a memory each", asks=(BELONG, ALONE))
def strangers(answer: Answer, trial: Trial) -> None:
    big, other = numbers(trial, 9, 5), numbers(trial, 9, 5, plus=100)
    long = numbers(trial, 20, dtype=torch.int64)
    slimmed(
        trial,
        answer,
        (
            Case("the first and the last row of 9 x 5", {"last": big[8], "first": big[0]}),
            Case("rows 2 and 3 of 9 x 5: one ends where the other begins", {"two": big[2], "three": big[3]}),
            Case("the same, the later one first", {"three": big[3], "two": big[2]}),
            Case("cells 3 to 6 of 20, and 8 to 11", {"one": long[3:7], "other": long[8:12]}),
            Case("cells 2, 5 and 8 of 20, and 9 to 12", {"one": long[2:9:3], "other": long[9:13]}),
            Case("two elements of 20 beside each other", {"one": long[6], "other": long[7]}),
            Case("row 4 of two tensors of 9 x 5", {"one": big[4], "other": other[4]}),
            Case(
                "column 1 in rows 0 to 3 of 9 x 5, and column 2 in rows 5 to 8",
                {"above": big[:4, 1], "below": big[5:, 2]},
            ),
        ),
    )


def _orders(words: str, state: State) -> list[Case]:
    """The state, with its entries in all orders."""
    return [
        Case(f"{words}; in the order {', '.join(names)}", {name: state[name] for name in names})
        for names in permutations(state)
    ]


@slim.property("ranges that overlap through others belong together", asks=(BELONG, TOGETHER))
def through_others(answer: Answer, trial: Trial) -> None:
    long, big = numbers(trial, 40), numbers(trial, 9, 5)
    chain = {"a": long[3:9], "b": long[7:14], "c": long[12:21]}
    cover = {"all": long[5:30], "a": long[6:9], "c": long[20:24]}
    same = {"all": long[4:19], "start": long[4:6], "inside": long[9:12]}
    two = {"a": long[2:8], "b": long[6:11], "c": long[15:22], "d": long[21:24], "e": long[30:33]}
    column = {"column": big[1:8, 2], "r3": big[3], "r6": big[6], "r0": big[0]}
    both = {"x1": big[1:4], "y1": long[1:4], "x2": big[2:6], "y2": long[8:11], "y3": long[3:6]}
    slimmed(
        trial,
        answer,
        (
            *_orders("a chain, cells 3 to 8, 7 to 13 and 12 to 20 of 40", chain),
            *_orders("cells 5 to 29 of 40, and in them 6 to 8 and 20 to 23", cover),
            *_orders("cells 4 to 18 of 40, and in them 4 to 5 and 9 to 11", same),
            Case("two groups and one alone in 40", two),
            Case("the same, from the last to the first", dict(reversed(two.items()))),
            Case("a column of 9 x 5, two rows that it crosses, and one that it does not", column),
            Case("groups in 9 x 5 and in 40, in turn", both),
        ),
    )


@slim.property("where nothing is saved, the same objects", asks=NOTHING_SAVED)
def nothing_saved(answer: Answer, trial: Trial) -> None:
    big, long, long2 = numbers(trial, 4, 5), numbers(trial, 12), numbers(trial, 12, plus=30)
    flags, grown = numbers(trial, 8, dtype=torch.uint8), numbers(trial, 6)
    grown.untyped_storage().resize_(28)
    layer = {"weight": nn.Parameter(numbers(trial, 3, 2)), "bias": nn.Parameter(numbers(trial, 3))}
    slimmed(
        trial,
        answer,
        (
            Case("4 x 5, with a memory of its own", {"all": big}),
            Case("4 x 5, and a number without dimensions", {"all": big, "scale": torch.tensor(3.0)}),
            Case("4 x 5, transposed, and once more", {"turned": big.T, "all": big}),
            Case("4 x 5, and one row of it", {"row": big[2], "all": big}),
            Case("a tensor without elements, with a memory of no bytes", {"none": torch.zeros(0, 3)}),
            Case("5 float32 expanded to 3 x 5", {"bias": numbers(trial, 5).expand(3, 5)}),
            Case("all windows of 3 of 12", {"windows": long.unfold(0, 3, 1)}),
            Case("the two halves of 12", {"left": long[:6], "right": long[6:]}),
            Case("all rows of 4 x 5", {str(at): row for at, row in enumerate(big)}),
            Case("cells 0 to 4, 3 to 8 and 8 to 11 of 12", {"a": long[:5], "b": long[3:9], "c": long[8:]}),
            Case("the first half of 8 uint8, and the second", {"left": flags[:4], "right": flags[4:]}),
            Case("the first and the last column of 4 x 5", {"first": big[:, 0], "last": big[:, 4]}),
            Case("the even cells of 12 and the odd ones", {"even": long[::2], "odd": long[1::2]}),
            Case("a layer's weight and bias", layer),
            Case("the two halves of 12, and no element", {"l": long[:6], "none": long[6:6], "r": long[6:]}),
            Case(
                "the two halves of 12, and one half of a different 12",
                {"left": long[:6], "half": long2[:6], "right": long[6:]},
            ),
            Case("11 of 12, and all of a different 12", {"piece": long[1:], "all": long2}),
            Case("the even cells of 12, and the last", {"even": long[::2], "last": long[11]}),
            Case("the first 6 of 12, and the last 5", {"left": long[:6], "right": long[7:]}),
            Case("6 float32 in a storage of 28 bytes", {"all": grown}),
        ),
    )


@slim.property("an empty tensor belongs to none", asks=(EMPTY, ALONE, EACH, NEW_DICT))
def empty(answer: Answer, trial: Trial) -> None:
    big, other = numbers(trial, 6, 5), numbers(trial, 6, 5, plus=50)
    long = numbers(trial, 9, dtype=torch.int64)
    slimmed(
        trial,
        answer,
        (
            Case("no row of 6 x 5", {"none": big[3:3]}),
            Case("no column of 6 x 5", {"none": big[:, 2:2]}),
            Case("no cell of 9 int64", {"none": long[4:4]}),
            Case("rows 1 to 3 of 6 x 5, and no row, cut at 2", {"rows": big[1:4], "none": big[2:2]}),
            Case("no column of 6 x 5, cut at 2, and rows 0 to 3", {"none": big[:, 2:2], "rows": big[:4]}),
            Case("row 1 of 6 x 5, and no row, cut at the end", {"row": big[1], "none": big[6:]}),
            Case("no row of 6 x 5, cut at the start, and rows 4 to 5", {"none": big[:0], "rows": big[4:]}),
            Case("no row of two tensors of 6 x 5", {"one": big[2:2], "two": other[4:4], "three": big[2:2]}),
            Case(
                "rows 1 and 3 of 6 x 5, and a window in which both lie, of no columns",
                {"one": big[1], "three": big[3], "none": big[1:4, 1:1]},
            ),
        ),
    )


@slim.property("new tensors need no gradient", asks=EACH)
def no_gradient(answer: Answer, trial: Trial) -> None:
    flat = numbers(trial, 20)
    weight = nn.Parameter(numbers(trial, 4, 5))
    w, b = nn.Parameter(flat[:6].view(2, 3)), nn.Parameter(flat[6:8])
    head, column = weight[1:3], weight[:, 1]
    slimmed(
        trial,
        answer,
        (
            Case("two parameters cut from one memory of 20", {"w": w, "b": b}),
            Case("rows 1 to 2 of a parameter, twice", {"head": head, "tied": weight[1:3]}),
            Case("column 1 of a parameter", {"column": column}),
            Case("a parameter cut from 20, and a tensor in it", {"w": w, "in": flat[2:5]}),
            Case("no row of a parameter", {"none": weight[:0]}),
            Case("a tensor cut from 20, and a parameter that begins in it", {"in": flat[5:7], "b": b}),
        ),
    )


@slim.property("`state` and its tensors stay", asks=STAYS)
def stays(answer: Answer, trial: Trial) -> None:
    big, w = numbers(trial, 6, 5), nn.Parameter(numbers(trial, 3, 3))
    views = {"a": big[1], "b": big[1:3], "c": big[:0], "own": w, "part": w[1:]}
    slimmed(
        trial,
        answer,
        [Case("rows of 6 x 5, none of them, a parameter, and a piece of it", views)] * 2,
    )


@slim.property("a call knows nothing of an earlier one", asks=EACH)
def each_call_alone(answer: Answer, trial: Trial) -> None:
    big = numbers(trial, 6, 5)
    state = {"a": big[1], "b": big[1:3]}
    slimmed(trial, answer, [Case("two pieces of 6 x 5, before they are changed", state)])
    big.add_(1)
    slimmed(trial, answer, [Case("the same two as in the call before, after an add_(1) on both", state)])


@slim.property(
    "any two pieces of five cells", asks=(SAME, ONE_DTYPE, BELONG, TOGETHER, ALONE), once_right=True
)
def any_two(answer: Answer, trial: Trial) -> None:
    cells = numbers(trial, 5)
    slimmed(
        trial,
        answer,
        (
            Case(f"of five cells {_of(one)}, and {_of(other)}", {"one": cells[one], "other": cells[other]})
            for one in intervals(5)
            for other in intervals(5)
        ),
    )


def _of(piece: slice) -> str:
    """`[1:3]`, as in an index."""
    return f"[{piece.start}:{piece.stop}{'' if piece.step is None else f':{piece.step}'}]"
