"""Exercise 11.output_strides: in which order the result of an elementwise operation lies in
memory.
"""

from __future__ import annotations

from torch._prims_common import (
    compute_elementwise_output_logical_to_physical_perm,
    compute_elementwise_output_strides,
)

from helpers.check.calls import calls_to
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.tensors.output_strides.inputs import (
    Answer,
    Layout,
    attempted,
    dense,
    in_words,
    require,
    some,
)
from helpers.labs.tensors.shared.memory import made

output_strides = Exercise(
    "11.output_strides",
    "Which layout comes out",
    objective="Say in which order the result of an elementwise operation lies in memory.",
    minutes=30,
    difficulty="hard",
    core=False,
    hints=[
        "Two questions, one after the other: in which order do the dimensions lie, from the innermost to "
        "the outermost? And "
        "which strides has a result without gaps in this order? The second is a running product.",
        "For the first, look at two dimensions only, and write down who decides: go through the tensors, "
        "pass over those in which one of "
        "the two strides is 0, or both are equal, and take the first that is left. With none left the "
        "shape decides.",
        "Strides after broadcasting: `t.expand(shape).stride()`, with `torch.broadcast_shapes` for the "
        "shape. `expand` makes no "
        "memory. A function that compares two dimensions becomes a key of `sorted` by "
        "`functools.cmp_to_key`.",
        "The comparison gives each[a] - each[b] for the first tensor that decides, and b - a if none "
        "does. Sort by it the "
        "dimensions longer than 1; the first gets stride 1, each further one the product of the sizes "
        "before it.",
    ],
)

SHAPE = "The result has the shape that the tensors are broadcast to."
DENSE = "It is dense: without gaps, and no two elements in one place."
FOLLOW = (
    "So its strides follow from the order of its dimensions, from the innermost, of stride 1, to the "
    "outermost."
)
FIRST = (
    "Take two dimensions, and go through the tensors in their order. The first in which both strides, "
    "after broadcasting, are other than 0 and differ decides: the dimension with the larger stride is "
    "the outer one."
)
NONE = "If no tensor decides, the one that comes first in the shape is the outer of the two."
ONE = "For a dimension of size 1 any stride is right."
TUPLE = "Returns a tuple of ints."
MEMORY = "No memory is made, and no tensor on the meta device."
OWN = "torch's own rule, `compute_elementwise_output_...` in `torch._prims_common`, is not called."
WHOLE = "The strides of the result of an elementwise operation, such as `torch.add(*tensors)`."

SAME = "There is one tensor, and the order of its dimensions stays."
GAPS = "The order stays, and the gaps go: the result has memory for its own elements only."
THE_FIRST = "Of tensors that differ the first decides."
NO_STRIDE = (
    "In a dimension with stride 0 all is in one place: that tensor says nothing about its order, and the "
    "next one is asked."
)
SHAPE_ORDER = "No tensor decides here, so the order is that of the shape."
EQUAL = "The two strides are equal, of equal sizes, and decide nothing: the next tensor is asked."
ALIGNED = "Shapes are aligned at their end: a tensor of two dimensions has the last two."
PAIRS = (
    "Each pair of dimensions is decided by itself: for one it may be the first tensor, for the next the "
    "second."
)


@output_strides.property(
    "one contiguous tensor: a tuple of ints, contiguous, too", asks=(TUPLE, WHOLE, DENSE, FOLLOW)
)
def one_contiguous(answer: Answer, trial: Trial) -> None:
    require(
        answer,
        trial,
        tuple(((dense(*size),), SAME) for size in ((2, 3, 4), (5,), (3, 2), (2, 3, 4, 5), ())),
    )


@output_strides.property("one permuted tensor: its order stays", asks=(FIRST, FOLLOW))
def one_permuted(answer: Answer, trial: Trial) -> None:
    require(
        answer,
        trial,
        (
            ((dense(3, 4, order=(1, 0)),), SAME),
            ((dense(2, 3, 4, order=(2, 0, 1)),), SAME),
            ((dense(2, 3, 4, order=(1, 2, 0)),), SAME),
            ((dense(2, 3, 4, 5, order=(0, 2, 3, 1)),), SAME),
            ((dense(2, 3, 4, 5, order=(3, 1, 0, 2)),), SAME),
        ),
    )


@output_strides.property("one tensor with gaps: the result has none", asks=(DENSE, FOLLOW))
def one_with_gaps(answer: Answer, trial: Trial) -> None:
    require(
        answer,
        trial,
        (
            ((Layout((3, 4), (10, 2)),), GAPS),
            ((Layout((3, 4), (2, 10)),), GAPS),
            ((Layout((2, 3, 4), (100, 4, 1)),), GAPS),
            ((Layout((4, 2, 3), (3, 50, 14)),), GAPS),
        ),
    )


@output_strides.property("of two or three that differ the first decides", asks=FIRST)
def the_first(answer: Answer, trial: Trial) -> None:
    columns, rows = dense(3, 4, order=(1, 0)), dense(3, 4)
    require(
        answer,
        trial,
        (
            ((columns, columns), "Both have the same order."),
            ((columns, rows), THE_FIRST),
            ((rows, columns), THE_FIRST),
            ((columns, rows, rows), THE_FIRST),
            ((rows, columns, columns), THE_FIRST),
            ((dense(2, 3, 4, order=(1, 2, 0)), dense(2, 3, 4, order=(2, 1, 0))), THE_FIRST),
            ((Layout((3, 4), (1, 3)), Layout((3, 4), (100, 1))), THE_FIRST),
            ((dense(2, 3, 4, 5, order=(0, 2, 3, 1)), dense(2, 3, 4, 5)), THE_FIRST),
        ),
    )


@output_strides.property("broadcast: a stride of 0 decides nothing", asks=(SHAPE, FIRST))
def broadcast(answer: Answer, trial: Trial) -> None:
    columns = dense(3, 4, order=(1, 0))
    require(
        answer,
        trial,
        (
            ((dense(4), columns), NO_STRIDE),
            ((columns, dense(4)), THE_FIRST),
            ((dense(3, 1), columns), NO_STRIDE),
            ((Layout((3, 1), (8, 1)), columns), NO_STRIDE),
            ((Layout((1, 4), (8, 1)), columns), NO_STRIDE),
            ((Layout((3, 4), (0, 1)), columns), NO_STRIDE),
            ((Layout((3, 4), (1, 0)), columns), NO_STRIDE),
            ((dense(), columns), NO_STRIDE),
            ((dense(2, 8, 4, 5, order=(0, 2, 3, 1)), dense(8, 1, 1)), THE_FIRST),
            ((dense(8, 1, 1), dense(2, 8, 4, 5, order=(0, 2, 3, 1))), NO_STRIDE),
            ((dense(3, 3), dense(2, 3, 3, order=(2, 1, 0))), ALIGNED),
            ((dense(3, 3, order=(1, 0)), dense(2, 3, 3)), ALIGNED),
            ((dense(5), dense(), columns_of(2, 3, 5)), NO_STRIDE),
        ),
    )


def columns_of(*size: int) -> Layout:
    """The last dimension is the outermost, the first the innermost."""
    return dense(*size, order=range(len(size))[::-1])


@output_strides.property("no tensor decides: the order of the shape", asks=(NONE, SHAPE))
def nobody(answer: Answer, trial: Trial) -> None:
    require(
        answer,
        trial,
        (
            ((dense(4, 1), dense(1, 3)), SHAPE_ORDER),
            ((dense(1, 3), dense(4, 1)), SHAPE_ORDER),
            ((dense(4, 1), dense(3)), SHAPE_ORDER),
            ((dense(2, 1, 1), dense(3, 1), dense(4)), SHAPE_ORDER),
            ((Layout((2, 3), (0, 0)),), SHAPE_ORDER),
            ((Layout((4, 3), (0, 1)),), SHAPE_ORDER),
            ((Layout((4, 3), (1, 0)),), SHAPE_ORDER),
            ((dense(),), "A number has no dimensions, and its result none either."),
            ((dense(), dense(3, 1), dense(2)), SHAPE_ORDER),
        ),
    )


@output_strides.property("equal strides of equal sizes decide nothing either", asks=(FIRST, NONE))
def equal(answer: Answer, trial: Trial) -> None:
    require(
        answer,
        trial,
        (
            ((Layout((3, 3), (1, 1)),), SHAPE_ORDER),
            ((Layout((3, 3), (1, 1)), dense(3, 3)), EQUAL),
            ((Layout((2, 4, 4), (8, 2, 2)),), SHAPE_ORDER),
            ((Layout((3, 3), (1, 1)), dense(3, 3, order=(1, 0))), EQUAL),
            ((Layout((3, 3, 2), (2, 2, 1)), dense(3, 3, 2, order=(1, 0, 2))), EQUAL),
        ),
    )


@output_strides.property("where a size is 1 any stride is right, and the others go on", asks=(ONE, FOLLOW))
def of_size_one(answer: Answer, trial: Trial) -> None:
    ones = "A dimension of size 1 takes no room: the next one begins where the last has ended."
    require(
        answer,
        trial,
        (
            ((dense(3, 1, 4),), ones),
            ((dense(1, 3, 4, order=(2, 1, 0)),), ones),
            ((Layout((3, 1, 4), (1, 12, 3)),), ones),
            ((Layout((1, 3, 1, 4), (12, 1, 12, 3)), dense(3, 1, 1)), ones),
            ((dense(1, 1), dense(1)), ones),
        ),
    )


@output_strides.property("each pair of dimensions is decided by itself", asks=(FIRST, SHAPE, FOLLOW))
def pairs(answer: Answer, trial: Trial) -> None:
    require(
        answer,
        trial,
        (
            # The first decides on two of the dimensions, the second on the rest.
            ((dense(3, 4, order=(1, 0)), dense(2, 3, 4)), PAIRS),
            ((dense(3, 4, order=(1, 0)), columns_of(2, 3, 4)), PAIRS),
            ((dense(2, 1, 4, order=(2, 0, 1)), dense(3, 4), columns_of(2, 3, 4)), PAIRS),
            ((dense(4, 5, order=(1, 0)), dense(3, 1, 1), dense(2, 3, 4, 5, order=(2, 3, 1, 0))), PAIRS),
            ((dense(2, 3, 1, 1, order=(1, 0, 2, 3)), columns_of(2, 3, 4, 5)), PAIRS),
        ),
    )
    require(answer, trial, [(layouts, PAIRS) for layouts in some(trial, 40)])


@output_strides.property("no memory is made", asks=MEMORY)
def no_memory(answer: Answer, trial: Trial) -> None:
    for layouts in (
        (dense(20, 30, 40),),
        (dense(30, 40, order=(1, 0)), dense(20, 30, 40)),
        (dense(8, 1, 1), dense(2, 8, 4, 5, order=(0, 2, 3, 1)), dense(5)),
    ):
        tensors = [each.made() for each in layouts]
        trial.given(in_words(layouts))
        with made() as memories:
            trial.call(lambda tensors=tensors: answer(*tensors))
        real = [each for each in memories if not each.meta]
        total = sum(each.bytes for each in real)
        names = list(dict.fromkeys(each.operation for each in real))
        trial.true(
            not real,
            f"{total} bytes of memory were made, by {', '.join(names)}. The numbers of the tensors are "
            f"enough.",
            expected="no memory",
            got=f"{total} bytes",
            observed=("memory", names),
        )
        names = list(dict.fromkeys(each.operation for each in memories))
        trial.true(
            not memories,
            f"Tensors without a memory were made, by {', '.join(names)}. Python's numbers are enough for the "
            "rule.",
            expected="the rule, on numbers",
            got="tensors on the meta device",
            observed=("meta", names),
        )


@output_strides.property("torch's own rule is not called", asks=OWN)
def own_work(answer: Answer, trial: Trial) -> None:
    called = []
    for layouts in (
        (dense(3, 4, order=(1, 0)),),
        (dense(4), dense(3, 4, order=(1, 0))),
        (dense(2, 8, 4, 5, order=(0, 2, 3, 1)), dense(8, 1, 1)),
        (dense(3, 4, order=(1, 0)), dense(2, 3, 4), columns_of(2, 3, 4)),
    ):
        with calls_to(
            compute_elementwise_output_logical_to_physical_perm, compute_elementwise_output_strides
        ) as seen:
            attempted(answer, trial, layouts)
        called += [(layouts, name) for name in seen]
    if called:
        layouts, name = called[0]
        trial.given(in_words(layouts))
        trial.fail(
            f"The answer calls torch's own `{name}`, which is the rule that this exercise builds.",
            expected="the rule, on numbers",
            got=name,
            observed=("calls", sorted({name for _, name in called})),
        )
