"""What people write for 09.counterexamples, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.check.spec import returned
from helpers.labs.torchscript.counterexamples.exercise import (
    CALL,
    FIRST,
    LAST,
    LIST,
    MODE,
    RUN,
    SHORTEST,
    counterexamples,
)
from helpers.labs.torchscript.shown.cases import Case

built = counterexamples.bank(returned)

Way = Callable[[Case], Any]


def right(case: Case) -> list[tuple]:
    """A right answer; the wrong ones change it for some cases."""
    x, *rest = case.example
    if case.name == "branch":
        return [(2 * case.eager.threshold - x,)]
    if case.name in ("loop", "len"):
        return [(torch.cat([x, x + 1]),)]
    if case.name == "state":
        return [(x + 1,)] * (case.eager.free + 1)
    if case.name == "item":
        return [(x.abs() + 1, rest[0] - 1)]
    return [(x.abs() + 1,)]


def but(**ways: Way) -> Way:
    """The right answer with another way for some names."""
    return lambda case: ways.get(case.name, right)(case)


def first_of(*names: str, change: Callable[[Tensor], Tensor]) -> Way:
    """The right answer; for these names one call, whose x is changed like this and whose other arguments are kept."""
    return but(**dict.fromkeys(names, lambda case: [(change(case.example[0]), *case.example[1:])]))


ALL = ("branch", "loop", "len", "state", "item", "training", "random")


@counterexamples.mistake(breaks=FIRST)
def the_example_itself(case):
    """The first call is the example. For it the trace was right by construction, or, with dropout, it is the first
    that anybody tries. A counterexample is a different input.
    """
    return [case.example]


@counterexamples.variant(the_example_itself)
def _(case: Case) -> list[tuple]:
    return [tuple(part.clone() for part in case.example)] * 2


counterexamples.variant(the_example_itself)(first_of("loop", "len", "item", change=lambda x: x))
counterexamples.variant(the_example_itself)(first_of("len", change=lambda x: x))


@counterexamples.mistake(breaks=MODE)
def mode_switched(case: Case) -> list[tuple]:
    """The model or the trace is in training mode afterwards. That changes what the model does, but the mode is no
    argument of a call. The trace keeps the dropout of its recording in either mode: in eval mode almost any input
    shows that.
    """
    if case.name == "training":
        case.eager.train()
        return [case.example]
    return right(case)


@counterexamples.variant(mode_switched)
def _(case: Case) -> list[tuple]:
    if case.name == "training":
        case.traced.train()
    return right(case)


@counterexamples.variant(mode_switched)
def _(case: Case) -> list[tuple]:
    case.eager.train()
    return right(case)


@built.mistake(breaks=FIRST)
def the_example_where_it_differs():
    """With dropout, or with a random factor, the first call is the example. Perhaps since the two differ there, too.
    What is asked for is an input that the trace has not seen: the lesson holds for all of them.
    """
    return first_of("training", "random", change=lambda x: x)


counterexamples.variant(the_example_where_it_differs)(first_of("random", change=lambda x: x))


@built.mistake(breaks=RUN)
def fewer_rows():
    """There are fewer rows than in the example: the unrolled loop asks for a row that is not there, and the trace
    raises. That everybody notices. With more rows it leaves the last ones out and says nothing.
    """
    return first_of("loop", change=lambda x: x[:1])


counterexamples.variant(fewer_rows)(first_of("loop", change=lambda x: torch.ones(x.shape[0] - 1, 5)))
counterexamples.variant(fewer_rows)(first_of("loop", change=lambda x: torch.ones(x.shape[1] + 3, 4)))


@built.mistake(breaks=LAST)
def same_side():
    """The mean is on the side of the threshold where the example's is, and the shape is the example's, too: the `if`
    goes the way that was recorded, and the trace is right. Perhaps the values were changed without a look at the
    threshold, they always go to one side of it, the mean was compared with it the wrong way round, or the example itself
    was changed.
    """
    return first_of("branch", change=lambda x: x.flip(0).flip(1))


counterexamples.variant(same_side)(first_of("branch", change=lambda x: 0 * x))
counterexamples.variant(same_side)(first_of("branch", change=lambda x: -x))
counterexamples.variant(same_side)(
    but(
        branch=lambda case: [
            (case.example[0] + (1 if case.example[0].mean() > case.eager.threshold else -1),)
        ]
    )
)
counterexamples.variant(same_side)(first_of("branch", change=lambda x: -10 * x))
counterexamples.variant(same_side)(but(branch=lambda case: [(3 * case.eager.threshold - case.example[0],)]))


@built.mistake(breaks=LAST)
def both_ways_agree():
    """The mean is on the other side of the threshold, and both ways of the `if` give the same. Perhaps all values are the
    threshold itself: where that is -1, 2 * x and x - 1 are both -2.
    """

    def at_the_threshold(case: Case) -> list[tuple]:
        (x,), threshold = case.example, case.eager.threshold
        return [(torch.full_like(x, threshold if x.mean() > threshold else threshold + 9),)]

    return but(branch=at_the_threshold)


@counterexamples.variant(both_ways_agree)
def _(case: Case) -> list[tuple]:
    if case.name == "branch" and case.example[0].mean() > case.eager.threshold:
        return [(torch.full((2, 2), case.eager.threshold),)]
    return right(case)


@built.mistake(breaks=LAST)
def length_of_the_example():
    """There are as many rows as in the example: the loop was unrolled to that many steps, and whatever the values are,
    the trace is right. Perhaps only the values were changed, or the number of columns.
    """
    return first_of("loop", change=lambda x: x * 3 + 1)


@built.mistake(breaks=LAST)
def batch_of_the_example():
    """There are as many rows as in the example. Their number is what len(x) became: with that many the trace divides
    by the right number.
    """
    return first_of("len", change=lambda x: x * 3 + 1)


counterexamples.variant(batch_of_the_example)(first_of("len", change=lambda x: torch.ones(3, 4)))
counterexamples.variant(batch_of_the_example)(first_of("len", change=lambda x: torch.ones(7, 4)))
counterexamples.variant(length_of_the_example)(
    first_of("loop", "len", "state", "item", change=lambda x: x * 3 + 1)
)


@built.mistake(breaks=LAST)
def other_shape_only():
    """The shape is a different one, and the mean is on the side of the threshold where the example's is: the `if` goes
    the way that was recorded. Perhaps each case gets more rows: that shows loops and sizes. A branch wants a mean on
    the other side.
    """
    return but(
        branch=lambda case: [(torch.cat([case.example[0]] * 2),)],
        state=lambda case: [(torch.cat([case.example[0]] * 2),)],
        item=lambda case: [(torch.cat([case.example[0]] * 2), *case.example[1:])],
    )


@built.mistake(breaks=LAST)
def k_kept():
    """k is that of the example, whatever x is. It is k that `.item()` took out: only a different k shows that it
    became a constant.
    """
    return first_of("item", change=lambda x: x * 3 + 1)


counterexamples.variant(k_kept)(first_of("item", change=lambda x: torch.cat([x, x])))


@built.mistake(breaks=LAST)
def one_call_for_the_state():
    """One call is too few for the state: at the first call the model is where it was when it was traced. The difference
    shows only when it has been called more often.
    """
    return but(state=lambda case: [(case.example[0] + 1,)])


@built.mistake(breaks=LAST)
def one_call_too_few():
    """There is one call too few, as many as the warm-up has: all of them pass unchanged in both. The one after them
    is what differs.
    """
    return but(state=lambda case: [(case.example[0] + 1,)] * case.eager.free)


@built.mistake(breaks=SHORTEST)
def many_calls():
    """There are more calls than are needed, by two and more. That shows the state, and does not show which call it was.
    Stop at the first difference.
    """
    return but(state=lambda case: [(case.example[0] + 1,)] * 100)


counterexamples.variant(many_calls)(but(state=lambda case: [(torch.rand(2, 2) + 1,) for _ in range(20)]))


@built.mistake(breaks=SHORTEST)
def one_call_too_many():
    """There is one call too many: the two differ before the last. Perhaps the call of the tracing was counted. It called
    a copy: this model has not been called yet, and free + 1 calls are enough.
    """
    return but(state=lambda case: [(case.example[0] + 1,)] * (case.eager.free + 2))


@built.mistake(breaks=FIRST)
def the_example_warms_up():
    """For the state the first call is the example. The calls that warm the model up may be any but this one: the
    first call, too, is to be one that was not traced.
    """
    return but(state=lambda case: [case.example] * (case.eager.free + 1))


counterexamples.variant(the_example_warms_up)(
    but(state=lambda case: [case.example] + [(case.example[0] + 1,)] * case.eager.free)
)


@built.mistake(breaks=LAST)
def rows_of_zeros():
    """There are more rows, and those that the trace has not seen are zeros: what it leaves out adds nothing."""
    return first_of("loop", change=lambda x: torch.cat([x, 0 * x]))


counterexamples.variant(rows_of_zeros)(first_of("loop", change=lambda x: torch.cat([x, x.new_zeros(1, 4)])))


@built.mistake(breaks=LAST)
def zeros_hide_it():
    """With dropout the input is all zeros, and dropout of zeros is zero in the model and in the trace. This
    input cannot show it.
    """
    return first_of("training", "random", change=lambda x: 0 * x)


counterexamples.variant(zeros_hide_it)(first_of("training", change=lambda x: 0 * x))
counterexamples.variant(zeros_hide_it)(
    but(
        training=lambda case: [(torch.zeros(7, 2),)],
        random=lambda case: [(torch.zeros(7, 2),)],
    )
)


@built.mistake(breaks=LAST)
def zeros_times_a_factor():
    """Where the factor is random the input is all zeros, and zero times any factor is zero. This input cannot
    show it.
    """
    return first_of("random", change=lambda x: 0 * x)


@counterexamples.mistake(breaks=CALL)
def inputs_without_tuples(case):
    """The list holds a tensor where a call should be. A call is the tuple of all arguments, so that there can be two of
    them: `[(x,)]`, not `[x]`.
    """
    return [call[0] if len(call) == 1 else call for call in right(case)]


@counterexamples.mistake(breaks=RUN)
def results_returned(case):
    """The model raises, as the arguments are not those of forward. Perhaps they are the two results that differ, and
    not the arguments that led to them.
    """
    return [(case.eager(*call), case.traced(*call)) if case.name != "item" else call for call in right(case)]


@counterexamples.mistake(breaks=LIST)
def one_call_unlisted(case):
    """The answer is no list of tuples. Perhaps it is one call: [(x,)] holds one call, (x,) is one. A list is asked
    for, because a state needs several.
    """
    return right(case)[0]


@counterexamples.mistake(breaks=FIRST)
def example_first_then_other(case):
    """The first call is the example, and other calls follow. Perhaps it is there for comparison: there the two agree,
    or it is no counterexample. Leave it out.
    """
    return [case.example, *right(case)] if case.name != "state" else right(case)


@built.mistake(breaks=CALL)
def k_as_a_number():
    """In case of "item" an argument is no tensor, and the model raises. Perhaps k is a Python number: forward takes the
    number out of a tensor itself.
    """
    return but(item=lambda case: [(case.example[0].abs() + 1, int(case.example[1]) - 1)])


@built.mistake(breaks=LAST)
def zeros_for_the_loop():
    """In case of "loop" x is all zeros, and model and trace give the same. Perhaps each case gets zeros: what is left out
    of a sum of zeros changes nothing.
    """
    return first_of("loop", change=torch.zeros_like)


@built.mistake(breaks=SHORTEST)
def number_of_one_case():
    """Two cases get the same number of calls, and need different ones: it is too small or too large for one of them.
    Perhaps it is the number that was right for one case. `case.eager.free` tells how many calls pass unchanged.
    """
    return but(state=lambda case: [(case.example[0] + 1,)] * 4)


counterexamples.variant(number_of_one_case)(but(state=lambda case: [(case.example[0] + 1,)] * 3))
counterexamples.variant(number_of_one_case)(but(state=lambda case: [(case.example[0] + 1,)] * 5))


@built.mistake(breaks=LAST)
def mean_of_nan():
    """The mean is NaN. NaN is above no threshold, and whichever way the `if` goes, NaN comes out of the model and of the
    trace: they give the same.
    """
    return first_of("branch", change=lambda x: torch.full_like(x, float("nan")))


@built.mistake(breaks=LAST)
def zeros_for_the_mean():
    """In case of "len" x is all zeros: their mean is 0, whatever it is divided by. Model and trace give the same."""
    return but(len=lambda case: [(torch.zeros(len(case.example[0]) + 2, 4),)])


@built.mistake(breaks=LAST)
def zeros_for_the_state():
    """In case of "state" x is all zeros at the last call, and half of 0 is 0: model and trace give the same."""
    return but(state=lambda case: [(torch.zeros_like(case.example[0]),)] * (case.eager.free + 1))


counterexamples.variant(zeros_for_the_state)(
    but(state=lambda case: [(torch.full((1, 1), count - 1.0),) for count in range(case.eager.free + 1)])
)


@built.mistake(breaks=CALL)
def k_left_out():
    """In case of "item" the call has not as many arguments as the example, and the model raises. Perhaps k was left out:
    forward takes x and k.
    """
    return but(item=lambda case: [(case.example[0].abs() + 1,)])


@built.mistake(breaks=RUN)
def k_of_a_float():
    """In case of "item" the model raises, though it gets two tensors. Perhaps k is a tensor of a float, as
    `case.example[1] + 1.0` is: a slice takes whole numbers.
    """
    return but(item=lambda case: [(case.example[0].abs() + 1, case.example[1] - 1.0)])


@built.mistake(breaks=LAST)
def rows_of_no_effect():
    """In case of "item" k is a different one, and the sum is the same. Perhaps the rows that one k takes, and the other
    does not, are zeros, or x does not have them.
    """

    def shorter(case: Case) -> list[tuple]:
        x, k = case.example
        return [(torch.cat([x[: int(k)].abs() + 1, torch.zeros_like(x[int(k) :])]), k + 1)]

    return but(item=shorter)


counterexamples.variant(rows_of_no_effect)(
    but(item=lambda case: [(case.example[0][: int(case.example[1])].abs() + 1, case.example[1] + 1)])
)
counterexamples.variant(rows_of_no_effect)(
    but(item=lambda case: [(case.example[0].abs() + 1, case.example[1] + 1)])
)
counterexamples.variant(rows_of_no_effect)(
    but(item=lambda case: [(case.example[0].abs() + 1, case.example[1] - 2)])
)


@built.mistake(breaks=SHORTEST)
def shown_twice():
    """Two calls are given where the first one shows the difference. Perhaps a second one should make sure: for dropout
    and for the random factor one is enough.
    """
    return but(training=lambda case: [(case.example[0].abs() + 1,)] * 2)


counterexamples.variant(shown_twice)(but(random=lambda case: [(case.example[0].abs() + 1,)] * 2))
