"""Exercise 11.address: the address of an element, from the metadata of its tensor."""

from __future__ import annotations

import torch

from helpers.check.operations import operations
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.tensors.address.inputs import (
    Answer,
    Case,
    far_index,
    of_dimensions,
    of_dtypes,
    refused,
    require,
    some_index,
    views,
    whole,
)

address = Exercise(
    "11.address",
    "The address of an element",
    objective="Find any element of any tensor, from its metadata.",
    minutes=10,
    difficulty="easy",
    hints=[
        "One step in a dimension is as long as its stride. How many elements is it from the first one to `t[2, 1]`?",
        "`t.data_ptr()` is where the first element of t begins, with the offset in it. `t.stride()` counts elements, and "
        "`t.element_size()` is how many bytes one has.",
        "-1 is the last element, `size - 1`. So -size is the first one, and what is below it is out of range, as size is.",
        "First `len(index) != t.dim()`. Then a loop over `zip(index, t.shape, t.stride())`: is `-size <= at < size`? Add size to "
        "a negative one, and add `at * stride` to the sum.",
    ],
)

BYTES = "The address of one element of a tensor, in bytes."
BEGINS = "It is the address at which the element `t[index]` begins: `t[index].data_ptr()`."
COMPUTED = (
    "It is computed from the numbers that t tells of itself (`t.stride()`, `t.data_ptr()` and others): no operation of torch "
    "runs, and no tensor is made."
)
REFUSED = (
    "IndexError is raised if there is not one int for each dimension, and if one of them is out of range."
)
ANY_DTYPE = "of any dtype; perhaps a view, perhaps without dimensions."
FROM_THE_END = "a negative one counts from the end."


@address.property("an element of a contiguous tensor", asks=(BYTES, BEGINS))
def contiguous(answer: Answer, trial: Trial) -> None:
    case = whole()
    for index in ((0, 0, 3), (0, 2, 0), (2, 0, 0), (2, 3, 4), (0, 0, 0)):
        require(trial, answer, case, index, "A contiguous tensor.", call=trial.call)
    require(trial, answer, case, some_index(trial, case.t), "A contiguous tensor.")


@address.property("it is computed: no operation of torch runs", asks=COMPUTED)
def computed(answer: Answer, trial: Trial) -> None:
    (transposed, sliced, *_), (number, *_) = views(), of_dimensions()
    for case, index in (
        (transposed, (3, 2, 1)),
        (sliced, (2, -1, -2)),
        (number, ()),
        (transposed, (3, 9, 1)),
        (transposed, (3,)),
    ):
        trial.given(f"{case}; index {index}; operations are watched")
        with operations() as ran:
            try:
                answer(case.t, index)
            except NotImplementedError:
                raise
            except Exception:  # what it raises, other properties judge
                pass
        names = list(dict.fromkeys(each.name for each in ran))
        of_t = any(tuple(case.t.shape) in each.shapes for each in ran)
        trial.true(
            not ran,
            f"Operations of torch ran: {', '.join(names)}. Each of them makes a tensor"
            + (", or reads one." if of_t else ", and a few numbers need none."),
            expected="Python's + and *, on what t.stride() and others tell",
            got=", ".join(names),
            observed=("operations", "of t" if of_t else "of numbers"),
        )


@address.property("a tensor that begins further on in its memory", asks=(BEGINS, ANY_DTYPE))
def with_an_offset(answer: Answer, trial: Trial) -> None:
    x = torch.arange(60.0).view(3, 4, 5)
    made = "torch.arange(60.0).view(3, 4, 5)"
    for case in (Case(x[1], f"{made}[1]"), Case(x[1:], f"{made}[1:]"), Case(x[2, 3], f"{made}[2, 3]")):
        for index in (tuple(0 for _ in case.t.shape), far_index(case.t)):
            require(trial, answer, case, index, f"t begins at offset {case.t.storage_offset()}.")


@address.property(
    "a view: transposed, sliced, expanded, overlapping",
    asks=(BEGINS, "perhaps a view, perhaps without dimensions"),
)
def of_a_view(answer: Answer, trial: Trial) -> None:
    for case in views():
        one_step = (1, *(0 for _ in case.t.shape[1:]))
        require(trial, answer, case, one_step, "A view has strides of its own.")
        require(trial, answer, case, far_index(case.t), "A view has strides of its own.")
        require(trial, answer, case, some_index(trial, case.t), "A view has strides of its own.")
    t = torch.arange(12.0).view(3, 4)
    require(trial, answer, Case(t, "torch.arange(12.0).view(3, 4)"), (2, 1), "A contiguous tensor.")
    t.t_()  # the same object, with other strides now
    again = Case(t, "the same tensor after t.t_()")
    require(trial, answer, again, (2, 1), "The strides of this tensor have changed since it was asked last.")


@address.property("elements of any dtype", asks=(BYTES, "of any dtype; perhaps a view"))
def of_any_dtype(answer: Answer, trial: Trial) -> None:
    for case in of_dtypes():
        what = f"An element of {str(case.t.dtype).removeprefix('torch.')} has {case.t.element_size()} bytes."
        require(trial, answer, case, far_index(case.t), what)
        require(trial, answer, case, some_index(trial, case.t), what)


@address.property("no dimension, one, and many", asks=(BEGINS, "perhaps a view, perhaps without dimensions"))
def of_any_dimension(answer: Answer, trial: Trial) -> None:
    for case in of_dimensions():
        count = case.t.dim()
        what = (
            f"t has {f'{count} dimensions' if count > 1 else 'one dimension' if count else 'no dimensions'}."
        )
        require(trial, answer, case, far_index(case.t), what)
        require(trial, answer, case, some_index(trial, case.t), what)


@address.property("a negative int counts from the end", asks=(BEGINS, FROM_THE_END))
def from_the_end(answer: Answer, trial: Trial) -> None:
    what = "-1 is the last element of its dimension."
    first = "-size is the first element of its dimension, as -1 is the last."
    case = whole()
    for index in ((0, 0, -1), (0, -1, 0), (-1, 0, 0), (-1, -2, -3), (1, -1, 2)):
        require(trial, answer, case, index, what)
    require(trial, answer, case, (-3, -4, -5), first)
    for case in (*views(), *of_dimensions()):
        require(trial, answer, case, tuple(-1 for _ in case.t.shape), what)
        require(trial, answer, case, tuple(-size for size in case.t.shape), first)
        drawn = tuple(trial.random.randrange(-size, size) for size in case.t.shape)
        require(trial, answer, case, drawn, "It may stand beside others.")


@address.property("not one int for each dimension: IndexError", asks=REFUSED)
def one_for_each(answer: Answer, trial: Trial) -> None:
    case, (number, _, row, *_) = whole(), of_dimensions()
    taken = [index for index in ((1, 2), (1, 2, 3, 0)) if _taken(answer, case, index)]
    trial.given(f"{case}; index (1, 2), then index (1, 2, 3, 0)")
    trial.true(
        len(taken) < 2,
        "Nothing was raised for two ints, and nothing for four, and t has three dimensions.",
        expected="IndexError",
        got="an address, both times",
        observed="any count",
    )
    for index in ((1, 2), (1,), ()):
        refused(trial, answer, case, index, "too few")
    for index in ((1, 2, 3, 0), (1, 2, 3, 0, 0)):
        refused(trial, answer, case, index, "too many")
    refused(trial, answer, row, (), "too few")
    refused(trial, answer, row, (2, 0), "too many")
    refused(trial, answer, number, (0,), "too many")
    for other in views():
        refused(trial, answer, other, far_index(other.t)[:-1], "too few")
        refused(trial, answer, other, (*far_index(other.t), 0), "too many")


@address.property("out of range: IndexError", asks=REFUSED)
def in_range(answer: Answer, trial: Trial) -> None:
    case = whole()
    # First what is far beyond the limit: who looks at no limit is to hear of that, and not of the last place.
    for index in ((100, 0, 0), (3, 0, 0)):
        refused(trial, answer, case, index, "above")
    for index in ((0, 4, 0), (0, 0, 5), (1, 2, 7)):
        refused(trial, answer, case, index, "above, within the memory")
    for index in ((2, -9, 0), (-4, 0, 0), (0, -5, 0), (0, 0, -6), (2, 0, -100)):
        refused(trial, answer, case, index, "below")
    for other in views():
        last = far_index(other.t)
        for at, size in enumerate(other.t.shape):
            refused(trial, answer, other, (*last[:at], size, *last[at + 1 :]), "above")
            refused(trial, answer, other, (*last[:at], -size - 1, *last[at + 1 :]), "below")
    empty = Case(torch.zeros(3, 0), "torch.zeros(3, 0)")
    for index in ((0, 0), (2, -1), (-3, 0)):
        refused(trial, answer, empty, index, "empty")


def _taken(answer: Answer, case: Case, index: tuple[int, ...]) -> bool:
    """Whether nothing is raised."""
    try:
        answer(case.t, index)
    except NotImplementedError:
        raise
    except Exception:
        return False
    return True
