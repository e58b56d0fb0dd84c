"""Exercise 14.leaks: the operations whose memory piles up, step after step."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from typing import Any

from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from helpers.check.garbage import collector
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.memory.leaks import inputs
from helpers.labs.memory.leaks.inputs import require

leaks = Exercise(
    "14.leaks",
    "What each step leaves behind",
    objective="Find the operations whose memory piles up, step after step.",
    minutes=20,
    difficulty="medium",
    core=False,
    hints=[
        "What one call leaves may be replaced by the next: a gradient, the last loss. So watch a call, let one more run, and "
        "look then at what the watched call made.",
        "`with lab.operations() as ran:` lists the operations that run in the block. Each has a `name`, and `memories`: all "
        "memory that it made, which this list does not keep alive. `memory.expired()` is True when it is freed.",
        "What hangs in a cycle of references lives until the garbage collector comes. `gc.collect()` calls it; when, so that "
        "it also finds what the last call let go?",
        "One call without a watch, one in the block, one more behind it, then `gc.collect()`; then a name for each memory, "
        "not for each operation, that has not expired, sorted. Give what `step()` returns no name.",
    ],
)

MAKES = "The operations that make memory which a call of `step` leaves behind for good."
LEAK = "A leak is a memory that an operation makes in one call, and that is still alive when the call after it has ended."
NONE = (
    "What only the first call leaves is none, and neither is what a call replaces: a gradient, the last loss."
)
FIRST = "Its first call may leave behind what is made once: gradients, the state of an optimizer, a cache."
GARBAGE = "What nothing but the garbage collector can free is no leak either."
CALLS = "`step` is called three times: once, then the call whose memory is watched, then one more."
NAMES = "Returns the names of the operations, as `lab.operations` gives them, sorted: one for each leaked memory of one call."
NOT_KEPT = "What `step` returns is not kept, and nothing that it made is alive because of `leaks`."


@leaks.property("each call is about its own step", asks=(MAKES, NAMES))
def of_its_own_step(answer: Any, trial: Trial) -> None:
    """First, since an answer that keeps names from call to call is wrong everywhere, each time in a different way."""
    words = "two calls: of a step that keeps x.tanh(), then of one that keeps x.exp() and runs nothing else"
    trial.given(words)
    first, second = inputs.keeping(trial.generator, "tanh"), inputs.keeping(trial.generator, "exp")
    try:
        with collector(by_itself=False):
            trial.call(answer, first)
            got = trial.call(answer, second)
    except NotImplementedError:
        raise
    except Exception:  # for other properties to tell
        return
    trial.true(
        not isinstance(got, Iterable) or "tanh" not in got,
        "The second call names tanh. Its step does not run that: it is of the call before.",
        expected="exp",
        got=inputs.in_words(got),
        observed="of the call before",
    )


@leaks.property("a list or a sum of losses keeps what the graph of each keeps", asks=(MAKES, LEAK, NAMES))
def of_losses(answer: Any, trial: Trial) -> None:
    require(
        answer,
        trial,
        "a training step that appends its loss and its output of 300 rows, with the graph, to a list",
        inputs.losses,
        "Loss and output stay in each step; the backward has freed what its graph had saved. Gradients are replaced by the next "
        "call, and the state of the optimizer is made once.",
    )
    require(
        answer,
        trial,
        "a step that adds its loss, with the graph, to a sum, without a backward",
        inputs.total,
        "The sum keeps the graphs of all steps, with all that they have saved; LayerNorm makes three memories.",
    )


@leaks.property("a step that leaves nothing behind: no names", asks=(NONE, FIRST, LEAK))
def of_none(answer: Any, trial: Trial) -> None:
    for words, make, lesson in (
        (
            "a training step with Adam that keeps the last loss and the last output",
            inputs.clean,
            "Gradients, the last loss and the last output are replaced, and the state of the optimizer is made once.",
        ),
        (
            "a training step that appends loss.item() to a list",
            inputs.numbers,
            "A number of Python keeps no tensor alive.",
        ),
        (
            "a step that makes a table in its first call, fills it anew in each (`out=`), and edits a mean in place",
            inputs.first_only,
            "What only the first call leaves is none.",
        ),
        (
            "a step that replaces what the call before has kept",
            inputs.replaced,
            "What a call replaces is none.",
        ),
    ):
        require(answer, trial, words, make, lesson)


@leaks.property("one name for each leaked memory", asks=NAMES)
def a_name_each(answer: Any, trial: Trial) -> None:
    require(
        answer,
        trial,
        "a step that keeps x.tanh(), x.relu() and x.cos().relu(), and lets other results of these go",
        inputs.twice,
        "One name for each memory that stays, and none for the others.",
    )
    require(
        answer,
        trial,
        "a step that keeps both results of x.max(dim=1), and the indices of x.topk(2)",
        inputs.several,
        "max has made two memories that stay, topk one.",
    )
    require(
        answer,
        trial,
        "a step that keeps x.softmax(1), x.cos() and x.log_softmax(1)",
        inputs.underscored,
        "The names are those of `lab.operations`, which begin with an underscore here.",
    )


@leaks.property("memory of any size, whatever keeps it", asks=(LEAK, NAMES))
def whatever_keeps_it(answer: Any, trial: Trial) -> None:
    for words, make, lesson in (
        (
            "a training step that appends loss.detach() to a list",
            inputs.detached,
            "It is little, and piles up all the same.",
        ),
        (
            "a training step that appends its gradients to a list",
            inputs.gradients,
            "The operations of the backward have made them.",
        ),
        (
            "a step that keeps a part of x.cos(), the storage of x.exp() and x.tanh().numpy()",
            inputs.views,
            "Whoever looks at a memory keeps it, not only the tensor that the operation returned.",
        ),
        (
            "a step that goes on with what it made in the last call: h = (h @ w).cos()",
            inputs.by_a_graph,
            "The graph keeps them. No tensor of Python does.",
        ),
        (
            "a step that keeps a sum, a maximum of each row and a large result",
            inputs.small_and_large,
            "Their sizes differ, and all three pile up.",
        ),
    ):
        require(answer, trial, words, make, lesson)


@leaks.property("what the garbage collector can free is none", asks=GARBAGE)
def not_garbage(answer: Any, trial: Trial) -> None:
    for words, make in (
        ("a step that makes an object which holds x.cos() and itself", inputs.cycles),
        (
            "a step that keeps x.tanh(), and until the next call an object which holds x.cos() and itself",
            inputs.late_cycles,
        ),
    ):
        require(
            answer,
            trial,
            words,
            make,
            "A cycle of references holds x.cos() until the garbage collector runs, and here it runs only when it is called.",
            by_itself=False,
        )
    require(
        answer,
        trial,
        "a step that calls gc.collect(), keeps x.tanh(), and until the next call an object which holds x.cos() and itself",
        inputs.older_cycles,
        "Before the third call lets it go, the object has outlived a collection: so it is of an older generation, and only a "
        "collection of all generations frees it.",
        by_itself=False,
    )


@leaks.property("three calls, and the second is watched", asks=CALLS)
def three_calls(answer: Any, trial: Trial) -> None:
    step = inputs.changing(trial.generator)
    calls: list[int] = []

    def counted() -> None:
        calls.append(1)
        if len(calls) < 7:
            step()

    words = "a step that keeps x.cos() in its first call, x.exp() in its second, x.tanh() in its third, then others"
    trial.given(words)
    with collector(by_itself=True):
        got = trial.call(answer, counted)
    trial.true(
        len(calls) == 3,
        f"step was called {len(calls)} times.",
        expected="3 calls",
        got=f"{len(calls)} calls",
        observed=(
            "calls",
            len(calls),
            [each for each in got if isinstance(each, str)] if type(got) is list else None,
        ),
    )
    want = inputs.left_behind(inputs.changing(trial.generator))
    inputs.right(trial, got, want, words, "The second call is watched.")
    require(
        answer,
        trial,
        "a step that keeps x.cos(), x.exp(), x.tanh(), one in each call, and runs more operations in each call",
        inputs.growing,
        "The second call is watched, and has fewer operations than the third.",
    )


@leaks.property("what step returns and makes is not kept", asks=NOT_KEPT)
def nothing_is_kept(answer: Any, trial: Trial) -> None:
    for words, of_a_graph in (("a tensor", False), ("a tensor with a graph, in a dict", True)):
        trial.given(f"a step that returns {words}; looked at in the next call, and when leaks has returned")
        x = inputs.drawn(trial.generator, 5, 4).requires_grad_(of_a_graph)
        returned: list[tuple[Any, StorageWeakRef]] = []
        alive: list[list[int]] = []

        def step(
            x: Tensor = x,
            of_a_graph: bool = of_a_graph,
            returned: list[Any] = returned,
            alive: list[list[int]] = alive,
        ) -> Any:
            alive.append([call for call, memory in enumerate(returned) if not memory.expired()])
            result = x.cos().exp()
            returned.append(StorageWeakRef(result.untyped_storage()))
            return {"loss": result} if of_a_graph else result

        with collector(by_itself=False):
            got = trial.call(answer, step)
            end = [call + 1 for call, memory in enumerate(returned) if not memory.expired()]
            gc.collect()
            after = [call + 1 for call, memory in enumerate(returned) if not memory.expired()]
        kept = [(call + 1, [one + 1 for one in each]) for call, each in enumerate(alive) if each]
        trial.true(
            not kept,
            f"When call {kept[0][0] if kept else 0} began, what call {kept[0][1][0] if kept else 0} had returned was still alive: "
            "perhaps under a name, or in a list. It takes memory, and looks like a leak.",
            expected="what step returns is not kept",
            got=f"alive at the start of call {', '.join(str(call) for call, _ in kept)}",
            observed=("kept", kept),
        )
        trial.true(
            not end,
            f"leaks has returned, and what call {', '.join(map(str, end))} returned is still alive. "
            + (
                "Something that lives on holds it."
                if after
                else "The garbage collector frees it: a cycle of references holds it."
            ),
            expected="nothing alive",
            got=f"the result of call {', '.join(map(str, end))}",
            observed=("alive at the end", end, after),
        )
        inputs.right(trial, got, [], words, "Nothing keeps what step returned.")


@leaks.property("nothing that was watched is held", asks=NOT_KEPT)
def nothing_is_held(answer: Any, trial: Trial) -> None:
    trial.given("a step that makes x.cos() and x.exp(), and keeps neither; looked at when leaks has returned")
    x = inputs.drawn(trial.generator, 5, 4)
    made: list[StorageWeakRef] = []

    def step() -> None:
        made.extend(StorageWeakRef(each.untyped_storage()) for each in (x.cos(), x.exp()))

    with collector(by_itself=False):
        got = trial.call(answer, step)
        alive = sum(not memory.expired() for memory in made)
    trial.true(
        not alive,
        f"leaks has returned, and {alive} of {len(made)} memories that step made and let go are still alive.",
        expected="none alive",
        got=f"{alive} alive",
        observed=("held", alive, len(made)),
    )
    inputs.right(trial, got, [], "nothing kept", "The step keeps nothing.")


@leaks.property("each call looks anew", asks=(MAKES, NAMES, CALLS))
def call_after_call(answer: Any, trial: Trial) -> None:
    again = ", called after others"
    for words, make in (
        ("a step that keeps three results", inputs.twice),
        ("a step that keeps nothing", inputs.first_only),
        ("a step that keeps three results", inputs.twice),
    ):
        require(answer, trial, words + again, make, "Each call of leaks is about its own step.")
    step, calls = inputs.twice(trial.generator), []
    want = inputs.left_behind(inputs.twice(trial.generator))

    def counted() -> Any:
        calls.append(1)
        return step()

    for number in range(2):
        trial.given(f"the same step, call {number + 1} of leaks")
        with collector(by_itself=True):
            got = trial.call(answer, counted)
        inputs.right(trial, got, want, f"the same step, {number + 1}", "Only what one call leaves is named.")
        trial.true(
            len(calls) == 3 * (number + 1),
            f"step was called {len(calls) - 3 * number} times in call {number + 1} of leaks.",
            expected="3 calls",
            got=f"{len(calls) - 3 * number} calls",
            observed=("calls again", number, len(calls)),
        )
