"""What a step of an optimizer may touch: the parameters' own memory and its state, and nothing else.

These hold for SGD and AdamW alike; the properties of both exercises call them.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Collection, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from helpers.check.calls import calls_to
from helpers.check.trial import Trial, plain
from helpers.labs.optim.shared.descent import (
    ROUNDED,
    Case,
    Grads,
    Options,
    Step,
    Torchs,
    copied,
    described,
    gradients,
    leaves,
    off_by,
    require_torchs_path,
    starts,
    step_seen,
    walked,
)
from helpers.labs.optim.shared.torch_calls import OPTIMIZERS, Ops, require_by_hand, unaided


def require_moves(answer: Step, torchs: Torchs, trial: Trial, options: Options) -> None:
    """One step moves the parameters themselves, to where torch's are."""
    values = starts(trial, (3, 2), (), (4,), (0,), (1, 5))
    trial.given(
        f"one step on float64 parameters of shape (3, 2), (), (4,), (0,), (1, 5), with {described(options)}"
    )
    params, state = leaves(values), [{} for _ in values]
    grads = gradients(trial, values, 1)
    returned = trial.call(
        lambda: answer(list(params), [grad.clone() for grad in grads[0]], list(state), **options)
    )
    if all(torch.equal(param, value) for param, value in zip(params, values, strict=True)):
        kinds = [sorted(type(value).__name__ for value in kept.values()) for kept in state]
        trial.fail(
            "After the step every parameter is what it was. Edit it in place, as add_ does: `param = param - ...` would "
            "make a new tensor. The gradients are those of the list, and no param.grad.",
            expected="parameters edited in place",
            got="parameters as before"
            + (
                ""
                if returned is None
                else f", and the step returned an object of type {type(returned).__name__}"
            ),
            observed=("not moved", type(returned).__name__, kinds),
        )
    [wanted] = torchs(values, grads, [options])
    # What the first parameter shows alone is the same for many rules.
    seen = [plain(param) for param in params]
    dtypes = sorted({str(value.dtype)[6:] for value in tensors_in(state) if value.ndim})
    for place, (value, param, want) in enumerate(zip(values, params, wanted, strict=True)):
        found = step_seen(value, param.detach(), want, value)
        trial.equal(
            param.detach(),
            want,
            f"After one step, parameter {place} {off_by(found)}",
            observed=(place, "rounded" if found == ROUNDED else "", seen, dtypes),
        )


def require_any_dtype(
    answer: Step, torchs: Torchs, trial: Trial, options: Options, neutral: Options | None = None
) -> None:
    """Parameters of several dtypes and shapes in one list, some alike in size, one without a gradient in the middle."""
    dtypes = (torch.float32, torch.float64, torch.bfloat16, torch.float64, torch.float32)
    shapes = ((2, 3), (6,), (3, 2), (), (6,))
    values = [
        value
        for dtype, shape in zip(dtypes, shapes, strict=True)
        for value in starts(trial, shape, dtype=dtype)
    ]
    grads = gradients(trial, values, 3)
    grads[1][1] = grads[2][2] = None
    given = f"3 steps with {described(options)}; no gradient for parameter 1 at step 2 and for 2 at step 3"
    require_torchs_path(answer, torchs, trial, Case(given, values, grads, options), neutral=neutral)


def require_averages_in_the_dtype(answer: Step, trial: Trial, options: Options) -> None:
    """What is kept of a parameter entry by entry has its dtype."""
    for dtype in (torch.float64, torch.bfloat16):
        values = starts(trial, (3, 5), (16,), dtype=dtype)
        params, state = leaves(values), [{}, {}]
        grads = gradients(trial, values, 1)
        trial.given(f"one step on {dtype} parameters of shape (3, 5), (16,), with {described(options)}")
        unaided(trial, lambda now=(params, grads[0], state): answer(*now, **options))
        found = sorted({str(value.dtype)[6:] for value in tensors_in(state) if value.numel() >= 15})
        trial.true(
            all(name == str(dtype)[6:] for name in found),
            f"The state of {dtype} parameters holds tensors of their size in {', '.join(found)}.",
            expected=f"averages in {dtype}",
            got=", ".join(found),
            observed=("dtype of the state", str(dtype), found),
        )


def require_kept_storage(answer: Step, trial: Trial, options: Options) -> None:
    """The parameters stay the leaves that they were, in their memory, and no graph is kept, also if a gradient has one."""
    for dtype, has_graph in ((torch.float32, False), (torch.float64, False), (torch.float64, True)):
        params = leaves(starts(trial, (3, 2), (4,), dtype=dtype))
        lay, state = (
            [param.detach() for param in params],
            [{}, {}],
        )  # kept: memory that is freed may be given out again
        trial.given(
            f"three steps on {dtype} parameters, with {described(options)}"
            + ("; the gradients have a graph, as after backward(create_graph=True)" if has_graph else "")
        )
        drawn = [[grad.requires_grad_(has_graph) for grad in grads] for grads in gradients(trial, params, 3)]

        def steps(
            params: list[nn.Parameter] = params, state: list[dict] = state, drawn: Grads = drawn
        ) -> None:
            for grads in drawn:
                answer(list(params), [grad.clone() for grad in grads], list(state), **options)

        unaided(trial, steps)
        trial.true(
            [param.data_ptr() for param in params] == [old.data_ptr() for old in lay],
            "A parameter has moved to other memory. Whoever holds a view of it (a flattened bucket, shared memory) "
            "still sees the old values.",
            expected="the same storage with new values",
            observed="moved to other memory",
        )
        for param in params:
            trial.true(
                param.is_leaf and param.requires_grad and param.dtype == dtype,
                "After the step a parameter is no longer the leaf that it was.",
                expected=f"a leaf that requires grad, {dtype}",
                got=f"leaf {param.is_leaf}, requires_grad {param.requires_grad}, {param.dtype}",
                observed=("leaf", param.is_leaf, param.requires_grad, param.dtype == dtype),
            )
        trial.true(
            not any(value.requires_grad for value in tensors_in(state)),
            "A tensor in the state requires grad: it holds a graph, which grows by every step and is never freed.",
            expected="state tensors that do not require grad",
            observed="the gradient's graph in the state" if has_graph else "graph in the state",
        )


def tensors_in(value: Any) -> Iterator[Tensor]:
    """All tensors in what is kept, in containers of any kind."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Collection) and not isinstance(value, str | bytes):
        for item in value.values() if isinstance(value, dict) else value:
            yield from tensors_in(item)


def require_gradients_left(answer: Step, trial: Trial, each: list[Options]) -> None:
    """Lists and gradients are after a step what they were before."""
    values = starts(trial, (3, 2), (4,), (2,))
    for options in each:
        params, state = leaves(values), [{}, {}, {}]
        trial.given(
            f"three steps with {described(options)}; at the second one the gradient of parameter 2 is None, at the third "
            "one there is inf in a gradient"
        )
        first, second, infinite = gradients(trial, values, 3)
        second[2], infinite[0][0, 0] = None, float("inf")
        for grads in (first, second, infinite):
            given = [None if grad is None else grad.clone() for grad in grads]
            lists = [list(params), list(given), list(state)]
            unaided(trial, lambda now=lists, chosen=options: answer(*now, **chosen))
            for name, now, before in zip(
                ("params", "grads", "state"), lists, (params, given, state), strict=True
            ):
                trial.true(
                    len(now) == len(before) and all(a is b for a, b in zip(now, before, strict=True)),
                    f"The list {name} holds different objects after the step than before.",
                    expected="the same objects" + ("" if name == "grads" else ", edited in place"),
                    observed=("list changed", name),
                )
            there = [(grad, old) for grad, old in zip(given, grads, strict=True) if old is not None]
            for grad, old in there:
                zeroed = not bool(grad.count_nonzero())
                trial.true(
                    torch.equal(grad, old),
                    "The step has edited a gradient that it was given. Whoever reads param.grad afterwards (a log, "
                    "a second backward that adds to it) gets something else.",
                    expected="gradients as they were",
                    got="a gradient of zeros" if zeroed else "a gradient with other values",
                    observed=(
                        *("gradient edited", zeroed, described(options)),
                        *(["inf only"] if old.isinf().any() else []),
                    ),
                )


def require_own_memory(answer: Step, torchs: Torchs, trial: Trial, options: Options) -> None:
    """The state holds no gradient: the next backward may write into the same tensor."""
    [value] = values = starts(trial, (4,))
    grads = gradients(trial, values, 4)
    [param], state, held = leaves(values), [{}], torch.zeros_like(value)
    trial.given(
        f"{described(options)}; four gradients come in one tensor, zeroed in between, "
        "as zero_grad(set_to_none=False) does"
    )

    def steps() -> None:
        for [grad] in grads:
            held.zero_().add_(grad)
            answer([param], [held], list(state), **options)

    unaided(trial, steps)
    trial.equal(
        param.detach(),
        torchs(values, grads, [options] * 4)[-1][0],
        "What the state holds has changed with the gradient's tensor. The parameter after four steps",
        observed="aliased",
    )


def require_remembers_in_state(answer: Step, torchs: Torchs, trial: Trial, options: Options) -> None:
    """A copy of parameters and state goes on as the original would, in whatever order."""
    values = starts(trial, (3,), (3,))
    grads = gradients(trial, values, 6)
    trial.given(
        f"{described(options)}; after three steps a copy of parameters and state goes on beside the original, "
        "in the other order, as after loading a checkpoint"
    )
    params, state = leaves(values), [{}, {}]

    def steps() -> tuple[list[nn.Parameter], list[nn.Parameter]]:
        for now in grads[:3]:
            answer(list(params), [grad.clone() for grad in now], list(state), **options)
        turned, kept = copy.deepcopy(params)[::-1], copy.deepcopy(state)[::-1]
        for now in grads[3:]:
            answer(list(turned), [grad.clone() for grad in now[::-1]], list(kept), **options)
            answer(list(params), [grad.clone() for grad in now], list(state), **options)
        return turned[::-1], params

    turned, own = unaided(trial, steps)
    want = torchs(values, grads, [options] * 6)[-1]
    message = "The copy does not go on as the original would. The parameters after six steps"
    trial.equal(copied(turned), want, message, observed="not in the state")
    message = "Beside the copy, the original does not go on as it would alone. The parameters after six steps"
    trial.equal(copied(own), want, message, observed="not in the state")


def require_no_optimizer(answer: Step, trial: Trial, options: Options) -> None:
    """No optimizer of torch runs inside the answer, and none of its fused operations."""
    values = starts(trial, (3, 2), (4,))
    grads = gradients(trial, values, 2)
    trial.given(f"two steps with {described(options)}, watched")
    with Ops() as ops, calls_to(*OPTIMIZERS) as seen, contextlib.suppress(Exception):
        walked(answer, values, grads, [options] * 2)  # what an answer raises is for other properties to tell
    require_by_hand(trial, seen + [name for name in ops.names if "_fused_" in name])
