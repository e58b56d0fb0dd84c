"""Exercise 11.expanded: the strides that expand gives a tensor."""

from __future__ import annotations

from helpers.check.operations import operations
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.tensors.expanded.inputs import Answer, require, some

expanded = Exercise(
    "11.expanded",
    "Repeated without a copy",
    objective="Say what `expand` does to the strides.",
    minutes=10,
    difficulty="easy",
    core=False,
    hints=[
        "A dimension that is repeated has stride 0: each step in it leads to the same place. What do `size` and `to` say of "
        "each dimension, one after the other?",
        "The last dimension of t is the partner of the last one of `to`. `new = len(to) - len(size)` of them are left over in "
        "front: what if new is below 0, and what if there is a -1 among `to[:new]`?",
        "For the others, `zip(size, stride, to[new:])`. If the wanted size is -1 or the one that is there, the stride stays. "
        "Else it is 0 where the size is 1, and anywhere else expand raises.",
    ],
)

MATCHED = "Dimensions are matched from the last one."
IN_FRONT = "Those of `to` that have no partner are new, and stand in front."
ANY_SIZE = "A dimension of t of size 1 can become any size, and a new one can have any."
MINUS_ONE = "In `to`, -1 stands for the size that the dimension has in t."
NONE = (
    "Returns None exactly where `t.expand(to)` raises: `to` is shorter than `size`, a dimension of a size other than 1 "
    "would change, or a new dimension is -1."
)
STRIDES = (
    "Else it returns the strides of `t.expand(to)`, a tuple of ints: 0 where a dimension is new or its size has changed, "
    "the stride of t where it has not."
)
ANY_STRIDE = "Where the new size is 1, any stride is right."
NUMBERS = "The numbers decide: no operation of torch runs, and no tensor is made."
WHOLE = "The strides that `expand` gives a tensor, or None where it raises."


@expanded.property("a dimension of size 1 becomes larger: stride 0", asks=(WHOLE, STRIDES, ANY_SIZE))
def one_becomes_many(answer: Answer, trial: Trial) -> None:
    why = "A dimension of size 1 that becomes larger has stride 0; the others keep theirs."
    require(trial, answer, ((1, 4), (9, 1), (3, 4)), why, call=trial.call)
    for layout in (
        ((4, 1), (1, 1), (4, 3)),
        ((4, 1, 3), (3, 3, 1), (4, 5, 3)),
        ((1, 5, 1), (5, 1, 1), (2, 5, 2)),
        ((1, 1), (6, 2), (2, 3)),
        ((1,), (7,), (4,)),
    ):
        require(trial, answer, layout, why)


@expanded.property("the numbers decide: no operation of torch runs", asks=NUMBERS)
def by_numbers(answer: Answer, trial: Trial) -> None:
    for layout in (
        ((1, 4), (9, 1), (3, 4)),
        ((3, 4), (4, 1), (2, 3, 4)),
        ((3, 1), (1, 3), (-1, 2)),
        ((3,), (1,), (4,)),
        ((3, 4), (4, 1), (4,)),
        ((4,), (1,), (-1, 4)),
        ((0, 1), (1, 1), (0, 5)),
    ):
        size, _, _ = layout
        trial.given("size {}, stride {}, to {}; operations are watched".format(*layout))
        with operations() as ran:
            try:
                answer(*layout)
            except NotImplementedError:
                raise
            except Exception:  # what it raises, other properties judge
                pass
        names = list(dict.fromkeys(each.name for each in ran))
        asked = {"expand", "expand_as", "expand_copy"} & set(names)
        of_t = {"empty_strided", "as_strided"} & set(names) or any(size in each.shapes for each in ran)
        trial.true(
            not ran,
            f"Operations of torch ran: {', '.join(names)}. The numbers in the three tuples are enough.",
            expected="no operation, and no tensor",
            got=", ".join(names),
            observed=("operations", "expand" if asked else "of a tensor of t's size" if of_t else "others"),
        )


@expanded.property("what does not change keeps the stride of t", asks=(STRIDES, ANY_STRIDE))
def the_rest_stays(answer: Answer, trial: Trial) -> None:
    why = "A dimension whose size does not change keeps the stride that it has in t."
    for layout in (
        ((3, 4), (4, 1), (3, 4)),
        ((4, 3), (1, 4), (4, 3)),
        ((4, 1), (10, 2), (4, 3)),
        ((1, 3, 4), (99, 2, 9), (5, 3, 4)),
        ((3, 4), (0, 1), (3, 4)),
        ((2, 1, 3), (0, 5, 0), (2, 4, 3)),
        ((6,), (3,), (6,)),
        ((1, 3), (8, 2), (1, 3)),
        ((1,), (5,), (1,)),
        ((2, 1, 1, 3), (3, 8, 9, 1), (2, 1, 1, 3)),
    ):
        require(trial, answer, layout, why)


@expanded.property("new dimensions stand in front, with stride 0", asks=(MATCHED, IN_FRONT, ANY_SIZE))
def new_in_front(answer: Answer, trial: Trial) -> None:
    why = "Sizes are matched from the last one; what is left over in `to` stands in front, and has stride 0."
    for layout in (
        ((4,), (1,), (3, 4)),
        ((3, 4), (4, 1), (2, 3, 4)),
        ((4,), (2,), (4, 4)),
        ((2, 3), (1, 2), (3, 2, 2, 3)),
        ((1, 3), (3, 1), (2, 4, 3)),
        ((3, 1), (2, 2), (3, 3, 5)),
        ((3,), (1,), (1, 3)),
        ((1,), (3,), (2, 1)),
    ):
        require(trial, answer, layout, why)


@expanded.property("-1 stands for the size that is there", asks=MINUS_ONE)
def minus_one(answer: Answer, trial: Trial) -> None:
    why = "-1 stands for the size that the dimension has in t: it does not change."
    for layout in (
        ((1, 4), (4, 1), (-1, 4)),
        ((1, 4), (4, 1), (3, -1)),
        ((4, 1), (1, 1), (-1, 3)),
        ((3, 4), (9, 2), (-1, -1)),
        ((3, 1, 4), (4, 7, 1), (5, -1, 6, -1)),
        ((1,), (1,), (-1,)),
        ((4, 1), (2, 5), (3, -1, -1)),
        ((2, 3), (0, 1), (-1, 3)),
    ):
        require(trial, answer, layout, why)


@expanded.property("a size other than 1 would change: None", asks=NONE)
def cannot_change(answer: Answer, trial: Trial) -> None:
    why = "Only a dimension of size 1 can change its size."
    for layout in (
        ((3,), (1,), (4,)),
        ((3,), (1,), (6,)),
        ((3, 4), (4, 1), (3, 1)),
        ((3, 4), (4, 1), (1, 4)),
        ((4, 3), (3, 1), (2, 3)),
        ((3, 4), (4, 1), (4, 3)),
        ((3,), (1,), (3, 4)),
        ((3,), (0,), (6,)),
        ((2, 1), (1, 1), (4, 3)),
        ((1, 2), (2, 1), (3, 4)),
        ((2, 3), (3, 1), (5, 4, 3)),
    ):
        require(trial, answer, layout, why)


@expanded.property("`to` is shorter than the size: None", asks=NONE)
def never_shorter(answer: Answer, trial: Trial) -> None:
    why = "expand never takes a dimension away, not even one of size 1."
    for layout in (
        ((3, 4), (4, 1), (4,)),
        ((1, 4), (4, 1), (4,)),
        ((1, 1), (1, 1), (1,)),
        ((1,), (1,), ()),
        ((4,), (1,), ()),
        ((2, 1, 4), (4, 4, 1), (2, 4)),
        ((3, 3), (3, 1), (3,)),
        ((1, 4), (4, 1), (-1,)),
    ):
        require(trial, answer, layout, why)


@expanded.property("a new dimension that is -1: None", asks=NONE)
def new_minus_one(answer: Answer, trial: Trial) -> None:
    why = "A new dimension has no size in t for which -1 could stand."
    for layout in (
        ((4,), (1,), (-1, 4)),
        ((4,), (1,), (2, -1, 4)),
        ((4,), (1,), (-1, 2, 4)),
        ((3, 4), (4, 1), (-1, -1, -1)),
        ((1,), (1,), (-1, 1)),
        ((1,), (1,), (-1, 3)),
    ):
        require(trial, answer, layout, why)


@expanded.property("sizes of 0", asks=(ANY_SIZE, NONE, STRIDES))
def nothing_at_all(answer: Answer, trial: Trial) -> None:
    why = "0 is a size like others: 1 can become 0, a new dimension can be 0, and 0 itself cannot change and keeps its stride."
    for layout in (
        ((1,), (1,), (0,)),
        ((1, 4), (4, 1), (0, 4)),
        ((4,), (1,), (0, 4)),
        ((0,), (1,), (0,)),
        ((0, 3), (3, 1), (0, 3)),
        ((0, 3), (3, 1), (-1, 3)),
        ((0, 1), (1, 1), (0, 5)),
        ((0,), (2,), (3, 0)),
        ((0,), (1,), (3,)),
        ((0,), (1,), (1,)),
        ((0, 3), (3, 1), (2, 3)),
        ((3,), (1,), (0,)),
        ((3,), (1,), (0, 0)),
        ((4,), (1,), (0, -1, 4)),
    ):
        require(trial, answer, layout, why)


@expanded.property("any layout, any size, as torch expands it", asks=(WHOLE, STRIDES, NONE))
def as_torch(answer: Answer, trial: Trial) -> None:
    for layout in some(trial, 300):
        require(
            trial, answer, layout, "This layout was drawn at random; it is what torch's own `expand` does."
        )
