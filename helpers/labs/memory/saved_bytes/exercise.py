"""Exercise 14.saved_bytes: the memory that a forward makes and keeps for its backward."""

from __future__ import annotations

import gc
from typing import Any

import torch

from helpers.check.garbage import collector
from helpers.check.operations import operations
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.memory.saved_bytes import inputs
from helpers.labs.memory.saved_bytes.inputs import Case, Loud, Normed, require, rows, some
from helpers.labs.memory.shared.kept import alive_of, in_words

saved_bytes = Exercise(
    "14.saved_bytes",
    "Saved bytes",
    objective="Count the memory that a forward keeps for its backward.",
    minutes=20,
    difficulty="medium",
    hints=[
        "Autograd lets you look at each tensor that it saves: `torch.autograd.graph.saved_tensors_hooks(pack, unpack)`. "
        "`pack` is called with the tensor, and what it returns is kept in its place.",
        "Two views of one memory are two tensors. `id_of(tensor)` is the same for both, and "
        "`tensor.untyped_storage().nbytes()` is the memory that is kept alive, whatever the view shows of it.",
        "To see what is given up before fn returns, note what `pack` returns without keeping it: `weakref.ref(alias)`, "
        "called, gives None when autograd has let go of it. (`StorageWeakRef` tells whether a memory lives. It may live for "
        "other reasons.) Ask when fn has returned, and while you still hold its result.",
        "First a set of `id_of` of the arguments and, for a module, of its parameters and buffers. In `pack`: "
        "`alias = tensor.detach()`; if its memory is not in the set, note a weak reference to the alias; return the alias. "
        "At the end the sum over the memories of the aliases that are left, each once: a dict by what tells a memory.",
    ],
)

KEPT = (
    "Counted is the memory of the tensors that autograd saves, and that the graph of the result still holds when `fn` has returned: "
    "what autograd saved and gave up before that does not count."
)
ONCE = "A memory counts once, whole, however many saved tensors look at it, and through whatever part of it."
BEFORE = "Memory that was there before does not count: that of the arguments, and of a module's parameters and buffers."
NOTHING_LEFT = "`saved_bytes` keeps nothing alive that `fn` made."


@saved_bytes.property(
    "counted is what is saved, not all that is made",
    asks=("The bytes that `fn(*args)` makes and keeps for its backward.", "It returns a tensor.", KEPT),
)
def what_is_saved(answer: Any, trial: Trial) -> None:
    require(answer, trial, *inputs.kinds(trial))


@saved_bytes.property("the arguments were there before, and views of them", asks=BEFORE)
def not_the_arguments(answer: Any, trial: Trial) -> None:
    require(answer, trial, *inputs.arguments(trial))


@saved_bytes.property("a module's parameters were there before", asks=BEFORE)
def not_the_parameters(answer: Any, trial: Trial) -> None:
    require(answer, trial, *inputs.parameters(trial))


@saved_bytes.property("a module's buffers were there before", asks=BEFORE)
def not_the_buffers(answer: Any, trial: Trial) -> None:
    require(answer, trial, *inputs.buffers(trial))


@saved_bytes.property("each memory counts once, and whole", asks=ONCE)
def once_and_whole(answer: Any, trial: Trial) -> None:
    require(answer, trial, *inputs.wholes(trial))


@saved_bytes.property("bytes, whatever the dtype, and whatever is saved", asks=(KEPT, ONCE))
def any_dtype(answer: Any, trial: Trial) -> None:
    require(answer, trial, *inputs.widths(trial))


@saved_bytes.property("what was given up before fn returned does not count", asks=KEPT)
def not_what_was_given_up(answer: Any, trial: Trial) -> None:
    require(answer, trial, *inputs.given_up(trial))


@saved_bytes.property("an argument that has a graph: what that keeps was there before", asks=BEFORE)
def not_the_past(answer: Any, trial: Trial) -> None:
    require(answer, trial, *inputs.with_a_past(trial))


@saved_bytes.property("what is written in place through a view", asks=KEPT)
def written_in_place(answer: Any, trial: Trial) -> None:
    require(answer, trial, *inputs.in_place(trial))


@saved_bytes.property("an address that is given out again is that of a new memory", asks=(KEPT, ONCE))
def given_out_again(answer: Any, trial: Trial) -> None:
    for _ in range(3):  # whether an address is given out again is up to the allocator
        require(answer, trial, *inputs.given_out_again(trial))


@saved_bytes.property("with gradients switched off, 0", asks="With gradients switched off the result is 0.")
def nothing_without_gradients(answer: Any, trial: Trial) -> None:
    n = rows(trial)
    x, frozen = some(trial, n, 4), some(trial, n, 4, grad=False)
    off = "Autograd saves nothing then."
    with torch.no_grad():
        case = Case(
            f"fn(x) = x.sin().exp(), x of shape ({n}, 4) requires grad, in torch.no_grad()",
            lambda x: x.sin().exp(),
            (x,),
            off,
        )
        require(answer, trial, case)
    words = f"fn(x) = x.sin().exp(), x of shape ({n}, 4) does not require grad"
    require(answer, trial, Case(words, lambda x: x.sin().exp(), (frozen,), off))
    require(
        answer,
        trial,
        Case(
            f"fn(x, y) = (x.sin() * y).exp(), x of shape ({n}, 4) does not require grad, y does",
            lambda x, y: (x.sin() * y).exp(),
            (frozen, x),
            "The product saves only the factor that is not y, since x needs no gradient; and exp its result.",
        ),
    )


@saved_bytes.property("fn runs once, and no backward runs", asks="`fn` runs once, and no backward runs.")
def runs_once(answer: Any, trial: Trial) -> None:
    n = rows(trial)
    x, log = some(trial, n, 4), []

    def noted(x: torch.Tensor) -> torch.Tensor:
        log.append("fn")
        return Loud.apply(x, lambda: log.append("backward")).exp().sum()

    model = Normed(trial, lambda: log.append("fn"))
    for words, fn in (("a function", noted), ("a module with batch norm", model)):
        log.clear()
        trial.given(f"{words} that notes its calls, x of shape ({n}, 4)")
        with collector(by_itself=True):
            trial.call(answer, fn, x)
        times = log.count("fn")
        trial.true(
            times == 1,
            f"fn ran {times} times: it takes as much time each time, and what it edits, as batch norm does, is edited again.",
            expected="fn once",
            got=", ".join(log) or "no call",
            observed=(words, list(log)),
        )
        trial.true(
            "backward" not in log and all(each.grad is None for each in (x, *model.parameters())),
            "A backward ran: it takes time, and frees what is to be counted.",
            expected="the forward alone",
            got=f"{', '.join(log)}; gradients: {'yes' if x.grad is not None else 'none'}",
            observed=(words, list(log), x.grad is None),
        )
    steps = int(model.norm.num_batches_tracked)
    trial.true(
        steps == 1,
        f"The module's own buffers say that {steps} batches went through it. Perhaps a copy of it ran.",
        expected="1 batch",
        got=f"{steps} batches",
        observed=("batches", steps),
    )


@saved_bytes.property("nothing that fn made is left", asks=NOTHING_LEFT)
def nothing_is_left(answer: Any, trial: Trial) -> None:
    n = rows(trial)
    x = some(trial, n, 4)
    trial.given(
        f"fn(x) = (x.sin() * x.cos()).exp(), x of shape ({n}, 4); looked at when saved_bytes has returned"
    )
    with collector(by_itself=False):
        with operations() as ran:
            trial.call(answer, lambda x: (x.sin() * x.cos()).exp(), x)
        sizes = sorted(alive_of(ran).values())
        gc.collect()
        after = sorted(alive_of(ran).values())
    trial.true(
        not sizes,
        f"{in_words(sizes)} that were made in the call are still alive. "
        + (
            "The garbage collector does not free them, either: perhaps a list, an attribute or a default value holds them."
            if after
            else "The garbage collector frees them, which may be much later: a cycle of references holds them."
        ),
        expected="nothing alive",
        got=in_words(sizes),
        observed=("left", sizes, after),
    )


@saved_bytes.property(
    "each call counts anew",
    asks=(
        "The bytes that `fn(*args)` makes and keeps for its backward.",
        "`fn` runs once, and no backward runs.",
    ),
)
def call_after_call(answer: Any, trial: Trial) -> None:
    n = rows(trial)
    x, y = some(trial, n, 4), some(trial, n + 2, 5)
    first, second = inputs.wholes(trial)[1], inputs.given_up(trial)[0]
    again = ", called several times in a row"

    def tanh(x: torch.Tensor) -> torch.Tensor:
        return x.tanh()

    for case in (
        first,
        Case(f"fn(x) = x.tanh(), x of shape ({n}, 4)", tanh, (x,), "tanh saves its result."),
        Case(f"fn(x) = x.tanh(), x of shape ({n + 2}, 5)", tanh, (y,), "tanh saves its result."),
        second,
        first,
    ):
        require(answer, trial, case, again=again)

    log: list[str] = []

    def noted(x: torch.Tensor) -> torch.Tensor:
        log.append("fn")
        return x.tanh()

    trial.given(
        f"fn(x) = x.tanh(), x of shape ({n}, 4), with a note of its calls; called twice with the same x"
    )
    for _ in range(2):
        trial.call(answer, noted, x)
    trial.true(
        len(log) == 2,
        f"Two calls with the same function and the same tensor, and fn ran {len(log)} time{'' if len(log) == 1 else 's'}. It runs "
        "once in each: what it keeps depends on more than its arguments, such as the mode of a module or `no_grad`.",
        expected="fn once in each call",
        got=f"{len(log)} in two calls",
        observed=("calls", len(log)),
    )
