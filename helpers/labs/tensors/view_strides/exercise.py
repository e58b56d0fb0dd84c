"""Exercise 11.view_strides: whether strides reach the same elements in the same order, in a different size."""

from __future__ import annotations

from math import prod

from torch._subclasses.fake_impls import _compute_stride

from helpers.check.calls import calls_to
from helpers.check.operations import operations
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.tensors.view_strides.inputs import Answer, Layout, differs, require, some

view_strides = Exercise(
    "11.view_strides",
    "Is there such a view?",
    objective="Decide from the strides whether a tensor can be viewed in a different shape.",
    minutes=35,
    difficulty="hard",
    hints=[
        "First see which dimensions of t belong together: an outer one follows an inner one without a break if its stride is "
        "the whole length of the inner one, `inner_size * inner_stride`. Leave out those of size 1: nobody steps in them.",
        "So t is a few runs, each of so many elements with one step between them. Within a run all can be cut as one likes; no "
        "new dimension can lie in two runs.",
        "Go through `new_size` from the last one. A new dimension of n elements takes the step of the run that you are in; after "
        "it, n times fewer elements are left of the run, and the step is n times as long.",
        "It cannot be cut from its run if what is left there is no multiple of n. If nothing is left, go to the next run. Before "
        "all that: put a number in the place of -1 (of what, if the others make 0?), compare the numbers of elements, and "
        "answer for tensors without elements.",
    ],
)

WHOLE = "The strides that `view` gives a tensor, or None where there is no such view."
INFERRED = "In `new_size`, one -1 stands for the size that makes the numbers of elements equal."
NONE = (
    "Returns None exactly where `t.view(new_size)` raises: the numbers of elements differ, there is more than one -1 or no "
    "single size that it can stand for, or no strides reach the same elements in the same order."
)
STRIDES = "Else it returns the strides of `t.view(new_size)`, a tuple of ints."
ANY_STRIDE = "Where the new size is 1, any stride is right, and in a tensor without elements every stride is."
NUMBERS = "The numbers decide: no operation of torch runs, and no tensor is made."
NOT_CALLED = "Nor is `_compute_stride` called, torch's own function for this."


def all_of(trial: Trial, answer: Answer, why: str, *layouts: Layout) -> None:
    for layout in layouts:
        require(trial, answer, layout, why)


@view_strides.property("a contiguous tensor has every view of as many elements", asks=(WHOLE, STRIDES, NONE))
def of_a_contiguous_one(answer: Answer, trial: Trial) -> None:
    why = "A contiguous tensor is one run: it can be cut in any way."
    require(trial, answer, ((2, 3, 4), (12, 4, 1), (6, 4)), why, call=trial.call)
    all_of(
        trial,
        answer,
        why,
        ((6, 4), (4, 1), (2, 3, 4)),
        ((2, 3, 4), (12, 4, 1), (24,)),
        ((24,), (1,), (4, 6)),
        ((4, 6), (6, 1), (3, 8)),
        ((4, 6), (6, 1), (8, 3)),
        ((2, 3, 4), (12, 4, 1), (3, 2, 4)),
        ((2, 3, 4), (12, 4, 1), (2, 2, 3, 2)),
        ((5, 7), (7, 1), (5, 7)),
    )


@view_strides.property("the numbers decide: no operation of torch runs", asks=(NUMBERS, NOT_CALLED))
def by_numbers(answer: Answer, trial: Trial) -> None:
    for layout in (
        ((2, 3, 4), (12, 4, 1), (6, 4)),
        ((4, 3), (1, 4), (12,)),
        ((4, 3), (1, 4), (2, 2, 3)),
        ((3, 4), (4, 1), (2, -1)),
        ((3, 4), (4, 1), (5,)),
        ((3, 0), (1, 1), (0, 7)),
        ((), (), (1, 1)),
    ):
        trial.given("size {}, stride {}, new_size {}; operations are watched".format(*layout))
        with operations() as ran, calls_to(_compute_stride) as called:
            try:
                answer(*layout)
            except NotImplementedError:
                raise
            except Exception:  # what it raises, other properties judge
                pass
        names = list(dict.fromkeys(each.name for each in ran))
        asked = "empty_strided" in names or "as_strided" in names
        of_t = any(layout[0] in each.shapes or each.made == prod(layout[0]) for each in ran)
        trial.true(
            not ran,
            f"Operations of torch ran: {', '.join(names)}. The numbers in the three tuples are enough.",
            expected="no operation, and no tensor",
            got=", ".join(names),
            observed=("operations", "these strides" if asked else "size of t" if of_t else "others"),
        )
        trial.true(
            not called,
            "`_compute_stride` was called, which is torch's own answer to this.",
            expected="Python's own numbers, computed with",
            got="a call of _compute_stride",
            observed="_compute_stride",
        )


@view_strides.property("its own size, and cuts of it: every layout has them", asks=(STRIDES, NONE))
def cuts(answer: Answer, trial: Trial) -> None:
    why = "A dimension can always be cut, and one that stays keeps its stride."
    all_of(
        trial,
        answer,
        why,
        ((3, 4), (8, 2), (3, 4)),
        ((4, 3), (1, 4), (4, 3)),
        ((4, 3), (10, 2), (4, 3)),
        ((12,), (3,), (3, 4)),
        ((2, 4, 3), (12, 1, 4), (2, 2, 2, 3)),
        ((4, 6), (1, 4), (2, 2, 6)),
        ((4, 6), (1, 4), (4, 3, 2)),
        ((4, 6), (20, 3), (2, 2, 2, 3)),
        ((8, 9), (1, 8), (2, 2, 2, 3, 3)),
        ((4, 6, 2), (2, 8, 1), (2, 2, 3, 2, 2)),
    )


@view_strides.property("what does not follow without a break is not joined: None", asks=NONE)
def breaks(answer: Answer, trial: Trial) -> None:
    why = (
        "Two dimensions can be joined only if the step of the outer one is the whole length of the inner one."
    )
    all_of(
        trial,
        answer,
        why,
        ((4, 3), (1, 4), (12,)),  # transposed
        ((3, 4), (5, 1), (12,)),  # a gap behind each row
        ((3, 4), (5, 1), (4, 3)),
        ((3, 4), (5, 1), (2, 6)),
        ((3, 4), (2, 1), (12,)),  # rows that overlap
        ((3, 4), (3, 1), (12,)),  # as many steps as there are rows
        ((3, 4), (4, 2), (12,)),  # the step is 4, the row 8 elements long
        ((4, 3), (1, 4), (3, 4)),
        ((4, 6), (1, 4), (2, 12)),
        ((4, 6), (1, 4), (8, 3)),
        ((2, 4, 3), (12, 1, 4), (8, 3)),
        ((2, 4, 3), (12, 1, 4), (2, 12)),
        ((2, 4, 3), (12, 1, 4), (24,)),
        ((2, 3), (1, 1), (6,)),
        ((2, 6, 2), (24, 4, 1), (4, 6)),
        ((6, 4), (8, 1), (4, 6)),
        # The ends of the block agree, and in the middle of it there is a break.
        ((2, 2, 3), (12, 1, 2), (12,)),
        ((2, 2, 3), (12, 1, 2), (3, 2, 2)),
        ((2, 3, 4), (12, 1, 1), (24,)),
        ((2, 3, 2), (0, 1, 0), (12,)),
        # One pair of neighbours follows, and the other does not.
        ((2, 3, 4), (24, 4, 1), (24,)),
        ((2, 3, 4), (24, 4, 1), (8, 3)),
        ((2, 3, 4), (36, 12, 1), (24,)),
        ((2, 2, 2, 3), (24, 1, 6, 2), (24,)),
        ((2, 2, 2, 3), (12, 6, 1, 2), (24,)),
    )


@view_strides.property("what follows without a break is joined, in any layout", asks=(STRIDES, NONE))
def joins(answer: Answer, trial: Trial) -> None:
    why = "If the step of the outer dimension is the whole length of the inner one, the two are one run."
    all_of(
        trial,
        answer,
        why,
        ((3, 4), (8, 2), (12,)),  # every second element of a row, and no gap
        ((2, 3, 4), (24, 4, 1), (2, 12)),  # a gap in front of the two
        ((4, 2, 3), (1, 12, 4), (4, 6)),
        ((4, 2, 3), (1, 12, 4), (2, 2, 6)),
        ((4, 6, 5), (90, 15, 3), (8, 15)),
        ((2, 3, 4), (36, 12, 1), (6, 4)),
        ((2, 3, 4), (36, 12, 1), (3, 2, 2, 2)),
        ((2, 2, 3, 3), (6, 3, 60, 20), (4, 9)),
        ((4, 6, 2), (12, 2, 100), (8, 3, 2)),
        ((4, 6, 2), (12, 2, 100), (3, 8, 2)),
        ((2, 2, 2, 2, 2), (64, 32, 4, 2, 1), (4, 8)),
    )


@view_strides.property("dimensions of size 1: their strides say nothing", asks=(ANY_STRIDE, NONE))
def ones(answer: Answer, trial: Trial) -> None:
    why = "Nobody steps in a dimension of size 1, so its stride does not count, and it may come and go anywhere."
    all_of(
        trial,
        answer,
        why,
        ((3, 4), (4, 1), (3, 4, 1)),
        ((3, 4), (4, 1), (1, 3, 4)),
        ((3, 4), (4, 1), (3, 1, 4)),
        ((6,), (2,), (1, 1, 6, 1, 1)),
        ((4, 3), (1, 4), (4, 1, 3)),
        ((4, 3), (1, 4), (1, 4, 3)),
        ((4, 3), (1, 4), (4, 3, 1)),
        ((3, 1, 4), (4, 99, 1), (12,)),
        ((3, 1, 4), (4, 0, 1), (12,)),
        ((3, 4, 1), (4, 1, 77), (12,)),
        ((1, 3, 4), (1, 4, 1), (12,)),
        ((3, 4, 1), (4, 1, 0), (4, 3)),
        ((4, 1, 3), (1, 50, 4), (4, 3)),
        ((4, 1, 3), (1, 50, 4), (2, 2, 3)),
        ((4, 1, 3), (1, 12, 4), (12,)),
        ((1, 1), (7, 9), (1,)),
        ((1,), (5,), (1, 1, 1)),
        ((1, 5), (3, 2), (5,)),
    )


@view_strides.property("expanded dimensions: a stride of 0 is a stride as others", asks=(NONE, STRIDES))
def of_expanded(answer: Answer, trial: Trial) -> None:
    why = "A stride of 0 is a stride as others: 0 follows 0 without a break, and nothing else."
    all_of(
        trial,
        answer,
        why,
        ((3, 4), (0, 1), (3, 4)),
        ((3, 4), (0, 1), (12,)),
        ((3, 4), (1, 0), (12,)),
        ((4, 3), (0, 1), (2, 2, 3)),
        ((3, 4), (0, 0), (12,)),
        ((2, 3, 4), (0, 0, 1), (6, 4)),
        ((2, 3, 4), (0, 0, 1), (3, 2, 4)),
        ((2, 3, 4), (4, 1, 0), (2, 12)),
        ((4, 2, 3), (1, 0, 0), (4, 6)),
        ((2, 3, 4), (0, 4, 1), (2, 12)),
        ((2, 3, 4), (0, 4, 1), (6, 4)),
        ((2, 3, 4), (1, 0, 2), (6, 4)),
    )


@view_strides.property("the numbers of elements differ: None", asks=NONE)
def counts(answer: Answer, trial: Trial) -> None:
    why = "A view has as many elements as the tensor."
    all_of(
        trial,
        answer,
        why,
        ((6,), (1,), (2, 6)),
        ((6,), (1,), (3,)),
        ((6,), (1,), (5,)),
        ((6,), (1,), (12,)),
        ((2, 3), (3, 1), (2, 2)),
        ((2, 3), (3, 1), (3,)),
        ((2, 3), (3, 1), (2, 2, 3)),
        ((2, 3), (3, 1), (2, 4)),
        ((4, 3), (1, 4), (3,)),
        ((4, 3), (1, 4), (2, 4, 3)),
        ((2, 3), (3, 1), ()),
        ((2, 3), (3, 1), (1,)),
        ((1,), (1,), (2,)),
        ((1, 1), (1, 1), (1, 2)),
    )


@view_strides.property("-1 stands for the size that is missing", asks=INFERRED)
def minus_one(answer: Answer, trial: Trial) -> None:
    why = "-1 stands for the one size that makes the numbers of elements equal."
    all_of(
        trial,
        answer,
        why,
        ((3, 4), (4, 1), (3, -1)),
        ((3, 4), (4, 1), (-1,)),
        ((3, 4), (4, 1), (2, -1)),
        ((3, 4), (4, 1), (-1, 2)),
        ((2, 3, 4), (12, 4, 1), (4, -1, 2)),
        ((4, 3), (1, 4), (2, -1, 3)),
        ((3, 4), (4, 1), (3, -1, 4)),
        ((3, 4), (4, 1), (12, -1)),
        ((4, 3), (1, 4), (-1, 4, 3)),
        ((4, 3), (1, 4), (-1,)),
        ((4, 3), (1, 4), (-1, 6)),
        ((3, 4), (8, 2), (6, -1)),
        ((1,), (1,), (-1,)),
    )


@view_strides.property("-1 that no single size can stand for: None", asks=NONE)
def no_single_size(answer: Answer, trial: Trial) -> None:
    why = "There must be exactly one size that -1 can stand for, and only one -1."
    all_of(
        trial,
        answer,
        why,
        ((3, 4), (4, 1), (5, -1)),
        ((3, 4), (4, 1), (-1, 7)),
        ((3, 4), (4, 1), (24, -1)),
        ((3, 4), (4, 1), (-1, -1)),
        ((1,), (1,), (-1, -1)),
        ((3, 4), (4, 1), (-1, -1, 12)),
        ((3, 4), (4, 1), (3, -1, -1)),
        ((1, 1), (1, 1), (-1, 1, -1)),
        ((3, 4), (4, 1), (0, -1)),
        ((2, 3), (3, 1), (-1, 6, -1)),
        ((0, 3), (3, 1), (-1, -1)),
        ((0, 3), (3, 1), (0, -1)),
        ((0,), (1,), (-1, 0, 2)),
    )


@view_strides.property("a tensor without dimensions", asks=(WHOLE, STRIDES))
def without_dimensions(answer: Answer, trial: Trial) -> None:
    why = "A tensor without dimensions has one element, and `()` for its strides."
    all_of(
        trial,
        answer,
        why,
        ((), (), ()),
        ((1,), (1,), ()),
        ((1, 1), (4, 2), ()),
        ((), (), (1,)),
        ((), (), (1, 1)),
        ((), (), (-1,)),
        ((), (), (1, -1)),
        ((), (), (2,)),
        ((), (), (0,)),
        ((), (), (-1, -1)),
    )


@view_strides.property("a tensor without elements", asks=(ANY_STRIDE, NONE))
def without_elements(answer: Answer, trial: Trial) -> None:
    why = "A tensor without elements can be viewed in each size that has none either."
    all_of(
        trial,
        answer,
        why,
        ((0, 3), (3, 1), (0, 3)),
        ((0, 3), (3, 1), (0,)),
        ((0, 3), (3, 1), (5, 0, 7)),
        ((3, 0), (1, 1), (0, 4)),
        ((2, 0, 3), (50, 7, 2), (6, 0)),
        ((0, 3), (3, 1), (-1,)),
        ((0, 3), (3, 1), (-1, 3)),
        ((0, 3), (3, 1), (4, -1)),
        ((0, 3), (3, 1), (3,)),
        ((0,), (1,), (1,)),
        ((0,), (1,), ()),
        ((6,), (1,), (0,)),
        ((2, 3), (3, 1), (2, 0)),
        ((1,), (1,), (0,)),
    )


@view_strides.property("any layout, any size, as torch views it", asks=WHOLE)
def as_torch(answer: Answer, trial: Trial) -> None:
    layouts = [
        ((2, 2, 3, 1, 2, 2, 2), (144, 72, 24, 5, 2, 1, 12), (4, 3, 4, 2)),
        ((2, 2, 3, 1, 2, 2, 2), (144, 72, 24, 5, 2, 1, 12), (12, 2, 2, 2)),
        *some(trial, 2000),
    ]
    while (found := differs(answer, layouts)) is not None:
        require(trial, answer, found, "That is what torch's own `view` gives.")
        layouts.remove(found)  # it was right this time
