"""Exercise 04.clip_grad_norm_: all gradients as one vector, shortened in place, without waiting for the device."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from helpers.check.calls import calls_to
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.optim.clip_grad_norm_.inputs import (
    SHAPES,
    Answer,
    gradients_of,
    norm_of,
    require_clipped,
    require_number,
    with_exact_gradients,
    with_gradients,
)
from helpers.labs.optim.shared.torch_calls import CLIPPING, Ops

clip_grad_norm_ = Exercise(
    "04.clip_grad_norm_",
    "Clip all gradients in one pass",
    objective="Shorten all gradients as one vector: in place, in as many operations for 100 parameters as for 3.",
    minutes=20,
    difficulty="medium",
    hints=[
        "The norm of all gradients is the norm of their norms: which operation gives the norms of a whole list at once, "
        "and which multiplies a whole list? Their names begin with torch._foreach_.",
        "No `if` on a tensor: on a GPU it waits until everything before it is done. Compute the factor "
        "max_norm / (total + 1e-6), keep it from being above 1 with clamp, and multiply always.",
        "Under `torch.no_grad()`: `grads = [p.grad for p in params if p.grad is not None]` (the only time that params is "
        "read); `torch.tensor(0.0)` if there are none; "
        "`total = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads, norm_type)), norm_type)`; "
        "`torch._foreach_mul_(grads, (max_norm / (total + 1e-6)).clamp(max=1.0))`; return total.",
    ],
)


@clip_grad_norm_.property(
    "clipping is written by hand: torch's own works nowhere inside",
    asks="Nothing of `torch.nn.utils` is called.",
)
def by_hand(answer: Answer, trial: Trial) -> None:
    params = with_gradients(trial, (3,), (2, 2))
    trial.given("two parameters, max_norm 0.1; calls are watched")
    with calls_to(*CLIPPING) as seen, contextlib.suppress(Exception):
        answer(list(params), 0.1, 2.0)  # what an answer raises is for other properties to tell
    trial.true(
        not seen,
        "The answer calls torch.nn.utils, which is what this exercise builds.",
        expected="operations on tensors",
        got=", ".join(sorted(set(seen))),
        observed="torch.nn.utils",
    )


@clip_grad_norm_.property(
    "a norm above max_norm: the norm is returned, and all gradients are shortened together",
    asks=(
        "Shortens all gradients together, as `torch.nn.utils.clip_grad_norm_` does.",
        "Returns the norm of all gradients as one vector, before clipping: a tensor of no dimensions that does not require grad; 0 if there is no gradient.",
    ),
)
def clips(answer: Answer, trial: Trial) -> None:
    params = with_gradients(trial, *SHAPES)
    trial.given("five parameters of torch.float64, norm_type 2.0, max_norm a third of the norm")
    require_clipped(answer, trial, list(params), params, float(norm_of(gradients_of(params), 2.0)) / 3, 2.0)
    for dtype in (torch.float16, torch.bfloat16):
        params, norm = with_exact_gradients(trial, *SHAPES, dtype=dtype)
        trial.given(f"five parameters of {dtype}, norm {norm}, norm_type 2.0, max_norm a quarter of the norm")
        require_clipped(answer, trial, list(params), params, norm / 4, 2.0)


@clip_grad_norm_.property(
    "a norm below max_norm: the gradients stay as they are",
    asks="The gradients are edited in place, all by one factor: max_norm / (norm + 1e-6), or 1 where that is larger (also for max_norm = inf).",
)
def leaves_the_small(answer: Answer, trial: Trial) -> None:
    params = with_gradients(trial, *SHAPES, dtype=torch.float32)
    before = gradients_of(params)
    norm = float(norm_of(before, 2.0))
    for max_norm in (2 * norm, 1.001 * norm, math.inf):
        trial.given(f"five parameters, norm {norm:.6g}, max_norm {max_norm:.6g}")
        got = trial.call(lambda limit=max_norm: answer(list(params), limit, 2.0))
        require_number(trial, got)
        scaled = [
            float(new.norm() / old.norm()) for new, old in zip(gradients_of(params), before, strict=True)
        ]
        trial.true(
            all(math.isclose(ratio, 1.0, rel_tol=1e-5) for ratio in scaled),
            "The norm is below max_norm, and the gradients have changed. The factor is never above 1, and there it is 1.",
            expected="gradients as they were",
            got=f"gradients times {', '.join(f'{ratio:.6g}' for ratio in scaled)}",
            observed=(
                "changed",
                "finite" if math.isfinite(max_norm) else "inf",
                "stretched"
                if all(math.isclose(ratio, max_norm / norm, rel_tol=1e-3) for ratio in scaled)
                else [round(ratio, 4) for ratio in scaled],
            ),
        )


@clip_grad_norm_.property(
    "norms of any order, also infinity",
    asks="norm_type: above 0, also infinity (the largest entry); 2.0 unless it is given.",
)
def knows_other_norms(answer: Answer, trial: Trial) -> None:
    for norm_type in (1.0, 3.0, 0.5):
        params = with_gradients(trial, *SHAPES)
        trial.given(f"five parameters, norm_type {norm_type}, max_norm half of the norm")
        limit = float(norm_of(gradients_of(params), norm_type)) / 2
        require_clipped(answer, trial, list(params), params, limit, norm_type)


@clip_grad_norm_.property(
    "the infinity norm is the largest entry of all gradients",
    asks="norm_type: above 0, also infinity (the largest entry); 2.0 unless it is given.",
)
def knows_infinity(answer: Answer, trial: Trial) -> None:
    for sign, word in ((-1, "below"), (1, "above")):
        params = with_gradients(trial, *SHAPES)
        every = torch.cat([grad.flatten() for grad in gradients_of(params)])
        if every[every.abs().argmax()] * sign < 0:
            for param in params:
                param.grad.neg_()
        trial.given(
            f"five parameters, the largest entry is {word} 0; norm_type inf, max_norm half of the norm"
        )
        limit = float(norm_of(gradients_of(params), math.inf)) / 2
        require_clipped(answer, trial, list(params), params, limit, math.inf)


@clip_grad_norm_.property(
    "norm_type is 2.0 unless it is given",
    asks="norm_type: above 0, also infinity (the largest entry); 2.0 unless it is given.",
)
def has_a_default(answer: Answer, trial: Trial) -> None:
    params = with_gradients(trial, (3,), (2, 2))
    trial.given("two parameters, clip_grad_norm_(params, 100.0)")
    got = trial.call(lambda: answer(list(params), 100.0))
    require_number(trial, got)
    trial.equal(got.detach().double(), norm_of(gradients_of(params), 2.0), "The norm returned", rtol=1e-5)


@clip_grad_norm_.property(
    "parameters without a gradient are passed over, frozen ones that have one are not",
    asks="The iterable is read once (a generator, too); parameters whose .grad is None are passed over.",
)
def passes_over_none(answer: Answer, trial: Trial) -> None:
    params = with_gradients(trial, *SHAPES)
    params[0].grad = params[3].grad = None
    trial.given("five parameters, two of them with .grad None; max_norm a third of the norm")
    require_clipped(answer, trial, list(params), params, float(norm_of(gradients_of(params), 2.0)) / 3, 2.0)
    params = with_gradients(trial, *SHAPES)
    for param in params[1:3]:
        param.requires_grad_(False)
    trial.given("five parameters with gradients, two of them frozen since; max_norm a third of the norm")
    require_clipped(answer, trial, list(params), params, float(norm_of(gradients_of(params), 2.0)) / 3, 2.0)


@clip_grad_norm_.property(
    "without any gradient the norm is 0",
    asks="Returns the norm of all gradients as one vector, before clipping: a tensor of no dimensions that does not require grad; 0 if there is no gradient.",
)
def empty(answer: Answer, trial: Trial) -> None:
    none: list[tuple[str, list[nn.Parameter]]] = [
        ("an empty list", []),
        ("two parameters whose .grad is None", [nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(3))]),
    ]
    for description, params in none:
        trial.given(description)
        got = trial.call(lambda now=params: answer(list(now), 1.0, 2.0))
        require_number(trial, got)
        trial.true(
            float(got) == 0,
            "There is no gradient, and the norm is not 0.",
            expected="0.0",
            got=got,
            observed=("not 0", float(got)),
        )


@clip_grad_norm_.property(
    "gradients of zeros stay zeros",
    asks="The gradients are edited in place, all by one factor: max_norm / (norm + 1e-6), or 1 where that is larger (also for max_norm = inf).",
)
def zeros(answer: Answer, trial: Trial) -> None:
    params = with_gradients(trial, (3,), (2, 2))
    for param in params:
        param.grad.zero_()
    trial.given("two parameters, all gradients 0, max_norm 1.0")
    got = trial.call(lambda: answer(list(params), 1.0, 2.0))
    require_number(trial, got)
    after = [entry for grad in gradients_of(params) for entry in grad.flatten().tolist()]
    trial.true(
        float(got) == 0 and not any(after),
        "All gradients are 0, and after clipping they, or the norm, are not.",
        expected="norm 0 and gradients of zeros",
        got=f"norm {float(got):g}, gradients {after}",
        observed=("zeros", float(got), after),
    )


@clip_grad_norm_.property(
    "an iterator is read once, and clips all the same",
    asks="The iterable is read once (a generator, too); parameters whose .grad is None are passed over.",
)
def reads_an_iterator(answer: Answer, trial: Trial) -> None:
    def lazily(params: list[nn.Parameter]) -> Iterator[nn.Parameter]:
        yield from params

    for description, once in (
        ("a generator", lazily),
        ("a filter object", lambda params: filter(lambda p: True, params)),
    ):
        params = with_gradients(trial, *SHAPES)
        trial.given(
            f"five parameters in {description}, as model.parameters() is one; max_norm a third of the norm"
        )
        limit = float(norm_of(gradients_of(params), 2.0)) / 3
        require_clipped(answer, trial, once(params), params, limit, 2.0)


@clip_grad_norm_.property(
    "the gradients are edited where they are, and the parameters not at all",
    asks=(
        "The gradients are edited in place, all by one factor: max_norm / (norm + 1e-6), or 1 where that is larger (also for max_norm = inf).",
        "The parameters stay as they are.",
    ),
)
def in_place(answer: Answer, trial: Trial) -> None:
    params = with_gradients(trial, *SHAPES, dtype=torch.float32)
    objects, lay = (
        [param.grad for param in params],
        [param.grad.detach() for param in params],
    )  # kept: memory that is freed may be given out again
    trial.given("five parameters, max_norm 0.1")
    trial.call(lambda: answer(list(params), 0.1, 2.0))
    moved = [param.grad.data_ptr() for param in params] != [old.data_ptr() for old in lay]
    trial.true(
        not moved and all(param.grad is old for param, old in zip(params, objects, strict=True)),
        "A gradient is a different tensor than before. Whoever holds the old one (a bucket of DistributedDataParallel, say) "
        "has the unclipped values.",
        expected="the same tensors, edited in place",
        observed="replaced",
    )
    trial.true(
        all(bool((param == 1).all()) for param in params),
        "The parameters themselves have changed. Only their gradients are to be clipped.",
        expected="parameters as they were",
        observed="parameters changed",
    )


@clip_grad_norm_.property(
    "gradients that have a graph are clipped without recording", asks="No graph is recorded."
)
def records_nothing(answer: Answer, trial: Trial) -> None:
    params = with_gradients(trial, (3,), (2, 2))
    for param in params:
        param.grad = param.grad.requires_grad_() * 2.0
    trial.given(
        "two parameters whose gradients have a graph, as after backward(create_graph=True); max_norm 0.5"
    )
    before, nodes = gradients_of(params), [param.grad.grad_fn for param in params]
    got = trial.call(lambda: answer(list(params), 0.5, 2.0))
    require_number(trial, got)
    trial.true(
        not got.requires_grad,
        "The norm returned requires grad: it keeps the whole graph alive for as long as somebody logs it.",
        expected="a tensor that does not require grad",
        observed="norm records",
    )
    recorded = [
        param.grad.grad_fn
        for param, node in zip(params, nodes, strict=True)
        if param.grad is not None and param.grad.grad_fn not in (None, node)
    ]
    trial.true(
        not recorded,
        "The graph of a gradient has grown: autograd recorded how it was clipped.",
        expected="the node that it had before, or none",
        got=", ".join(type(node).__name__ for node in recorded),
        observed="gradients record",
    )
    factor = 0.5 / (float(norm_of(before, 2.0)) + 1e-6)
    for new, old in zip(gradients_of(params), before, strict=True):
        trial.equal(new, old * factor, "A gradient with a graph", rtol=1e-5)


VIEWS = {
    f"aten::{name}"
    for name in (
        "alias as_strided expand permute select slice split squeeze t transpose unbind unsqueeze view _unsafe_view"
    ).split()
}


@clip_grad_norm_.property(
    "as many operations for 100 parameters as for 3",
    asks="As many torch operations for 100 parameters as for 3, views among them (only `detach` is not counted).",
)
def one_pass(answer: Answer, trial: Trial) -> None:
    counts = []
    for number in (3, 100):
        params = with_gradients(trial, *[(2, 2)] * number)
        trial.given(f"{number} parameters of shape (2, 2), max_norm 0.1; operations are counted")
        with Ops() as ops:
            answer(list(params), 0.1, 2.0)
        counts.append({name: ops.names.count(name) for name in ops.names if name != "aten::detach"})
    few, many = counts
    growing = sorted(
        (name for name in many if many[name] > few.get(name, 0)), key=lambda name: (name in VIEWS, name)
    )
    trial.true(
        not growing,
        f"{sum(few.values())} operations for 3 parameters, and {sum(many.values())} for 100. These grow: "
        + ", ".join(f"{name} ({few.get(name, 0)}, then {many[name]})" for name in growing[:4])
        + (
            ". A view launches nothing on a GPU, and Python runs for each all the same"
            if set(growing) <= VIEWS
            else ". On a GPU each is a launch"
        )
        + ": take the whole list at once (torch._foreach_...).",
        expected="a number that does not depend on the number of parameters",
        got=f"{sum(few.values())}, then {sum(many.values())}",
        observed=("operations grow", "views alone" if set(growing) <= VIEWS else "others than views"),
    )
    params = with_gradients(trial, *[(2, 2)] * 100)
    trial.given("100 parameters, norm_type 2.0, max_norm a third of the norm")
    require_clipped(answer, trial, list(params), params, float(norm_of(gradients_of(params), 2.0)) / 3, 2.0)


@clip_grad_norm_.property(
    "no value is read back to Python: on a GPU that waits for the device",
    asks="No value is read back to Python (no item, no float(), no `if` on a tensor), which on a GPU waits for the device.",
)
def reads_nothing_back(answer: Answer, trial: Trial) -> None:
    params = with_gradients(trial, (3,), (2, 2))
    trial.given("two parameters, max_norm 0.1; operations are watched")
    with Ops() as ops:
        answer(list(params), 0.1, 2.0)
    trial.true(
        "aten::_local_scalar_dense" not in ops.names,
        "The answer reads a tensor's value (item, float, or an `if` on a tensor): aten::_local_scalar_dense.",
        expected="clamp and multiply, without an if",
        observed="read back",
    )
    for number in (2, 3):
        params = [nn.Parameter(torch.empty(number, 2, device="meta")) for _ in range(number)]
        for param in params:
            param.grad = torch.empty_like(param)
        trial.given(
            "parameters on the meta device, which has shapes and no values: what reads a value raises there"
        )
        try:
            answer(list(params), 0.1, 2.0)
        except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
            trial.fail(
                f"On tensors without values the answer raises {type(error).__name__}: it reads a value back "
                "(item, tolist, numpy, cpu, float or an `if`).",
                expected="operations on tensors only",
                got=str(error).partition("\n")[0][:150],
                observed="read back",
            )


@clip_grad_norm_.property(
    "one NaN or inf among the gradients is not hidden",
    asks="A NaN or inf is not hidden: a norm of NaN makes every gradient NaN, a norm of inf makes the factor 0.",
)
def shows_nan(answer: Answer, trial: Trial) -> None:
    for bad, max_norm in ((math.nan, 1.0), (math.inf, 1.0), (math.nan, math.inf)):
        params = with_gradients(trial, (3,), (2, 2))
        params[1].grad[0, 1] = bad
        before = gradients_of(params)
        trial.given(f"two parameters, one entry of a gradient is {bad}, max_norm {max_norm}")
        got = trial.call(lambda now=params, limit=max_norm: answer(list(now), limit, 2.0))
        require_number(trial, got)
        first = params[0].grad.tolist()
        shown = not math.isfinite(float(got)) and not math.isfinite(float(params[1].grad.sum()))
        trial.true(
            shown and (all(map(math.isnan, first)) if math.isnan(bad) else not any(first)),
            f"One entry is {bad}, and it does not show as in torch: the norm is {bad}, "
            + (
                "and every gradient becomes NaN."
                if math.isnan(bad)
                else "the factor 0, and inf times 0 is NaN."
            ),
            expected=f"norm {bad}, gradients " + ("nan everywhere" if math.isnan(bad) else "0 and one nan"),
            got=f"norm {float(got):g}, gradients {first} and {params[1].grad.tolist()}",
            observed=(
                str(bad),
                "max_norm inf" if math.isinf(max_norm) else "a finite max_norm",
                "the norm is finite" if math.isfinite(float(got)) else f"the norm is {float(got)}",
                _as_words(params[0].grad, before[0]),
            ),
        )


def _as_words(now: Tensor, before: Tensor) -> str:
    """What became of a gradient that holds neither NaN nor inf."""
    if torch.equal(now, before):
        return "the others are as before"
    if now.isnan().all():
        return "the others are NaN"
    if not now.any():
        return "the others are 0"
    return "the others have other numbers" if now.isfinite().all() else "the others are partly NaN or inf"


@clip_grad_norm_.property(
    "1e-6 is added to the norm, which shows where it is tiny",
    asks="The gradients are edited in place, all by one factor: max_norm / (norm + 1e-6), or 1 where that is larger (also for max_norm = inf).",
)
def adds_what_keeps_from_zero(answer: Answer, trial: Trial) -> None:
    for dtype, norm, max_norm in ((torch.float64, 2e-6, 1e-6), (torch.float32, 2.5e-6, 3e-6)):
        params = with_gradients(trial, *SHAPES, dtype=dtype)
        longer = float(norm_of(gradients_of(params), 2.0))
        for param in params:
            param.grad.mul_(norm / longer)
        before, factor = gradients_of(params), max_norm / (norm + 1e-6)
        trial.given(f"five parameters of {dtype}, norm {norm:g}, max_norm {max_norm:g}")
        trial.call(lambda now=params, limit=max_norm: answer(list(now), limit, 2.0))
        scaled = [
            float(new.norm() / old.norm()) for new, old in zip(gradients_of(params), before, strict=True)
        ]
        trial.true(
            all(math.isclose(ratio, factor, rel_tol=1e-4) for ratio in scaled),
            f"The factor is max_norm / (norm + 1e-6), here {factor:.4g}, and the gradients were multiplied by a different one.",
            expected=f"every gradient times {factor:.4g}",
            got=f"gradients times {', '.join(f'{ratio:.4g}' for ratio in scaled)}",
            observed=(
                "tiny",
                "nothing is added"
                if all(math.isclose(ratio, min(1.0, max_norm / norm), rel_tol=1e-4) for ratio in scaled)
                else "something else is added"
                if all(math.isclose(ratio, scaled[0], rel_tol=1e-4) for ratio in scaled)
                else [round(ratio, 4) for ratio in scaled],
            ),
        )
    params = with_gradients(trial, *SHAPES)
    trial.given("five parameters, max_norm 0")
    trial.call(lambda: answer(list(params), 0.0, 2.0))
    left = sum(bool(grad.any()) for grad in gradients_of(params))
    trial.true(
        not left,
        f"For max_norm 0 the factor is 0, and {left} of 5 gradients are not 0.",
        expected="gradients that are 0",
        got=f"{left} gradients with other numbers",
        observed="max_norm 0",
    )
