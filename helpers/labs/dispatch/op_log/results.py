"""What must come out of a block of 12.op_log as it does without a log: results, errors, gradients, edits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.check.compare import difference
from helpers.check.trial import Trial
from helpers.labs.dispatch.op_log.inputs import Make, Raised, Run, drawn, outcome
from helpers.labs.dispatch.shared.writing import drain, which


def same(answer: Any, trial: Trial, words: str, make: Make, lesson: str) -> None:
    """Wrong unless what `make(...)` gives does in a block what it does without one."""
    trial.given(words)
    seed = trial.random.randrange(1 << 30)
    want = outcome(make(torch.Generator().manual_seed(seed)))
    run = make(torch.Generator().manual_seed(seed))
    with answer():
        got = outcome(run)
    if type(got) is not type(want) or isinstance(want, Raised):
        trial.true(
            got == want,
            f"In the block: {_in_words(got).rstrip('.')}. Without the log: {_in_words(want).rstrip('.')}. {lesson}",
            expected=_in_words(want),
            got=_in_words(got),
            observed=(words, _how_different(got, want)),
        )
        return
    pairs = list(zip(got, want, strict=True))
    found = [
        (place, its, wanted, difference(its, wanted, rtol=0, atol=0))
        for place, (its, wanted) in enumerate(pairs)
    ]
    wrong = [(place, its, wanted, how) for place, its, wanted, how in found if how]
    for place, its, wanted, how in wrong[:1]:
        trial.fail(
            f"Result {place + 1} of {len(pairs)} in the block is not that without the log: {how.sentence.rstrip('.')}. {lesson}",
            expected=plain_words(wanted),
            got=plain_words(its),
            observed=(
                words,
                [(at, each.kind, its if isinstance(its, str) else "") for at, its, _, each in wrong],
            ),
        )


def plain_words(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else repr(value)


def _how_different(got: Any, want: Any) -> str:
    """Of two errors without their texts, which an answer may have written itself."""
    if not isinstance(got, Raised) or not isinstance(want, Raised):
        return _in_words(got)
    text = "the same" if got.text == want.text else "more" if want.text in got.text else "different"
    return f"{got.kind}, {text} text"


def _in_words(found: Any) -> str:
    if isinstance(found, Raised):
        return f"{found.kind}: {found.text}"
    return "nothing was raised" if not isinstance(found, list) else "results came"


def _returns(body: Callable[[Tensor, Tensor, torch.Generator], list[Any]]) -> Make:
    """Code that gets two tensors and returns what is compared."""

    def make(generator: torch.Generator) -> Run:
        x, y = drawn(generator, 4, 3), drawn(generator, 4, 3)
        return lambda: body(x, y, generator)

    return make


@_returns
def arguments_by_name(x: Tensor, y: Tensor, generator: torch.Generator) -> list[Any]:
    return [
        torch.add(x, y, alpha=3),
        x.sum(dtype=torch.float64),
        x.std(0, correction=0),
        torch.full((2,), 3, dtype=torch.int16),
        torch.searchsorted(torch.tensor([3.0, 1.0, 2.0]), x, sorter=torch.tensor([1, 2, 0])),
    ]


@_returns
def in_place(x: Tensor, y: Tensor, generator: torch.Generator) -> list[Any]:
    out = torch.zeros(4, 3)
    edited, given = x.add_(y), torch.mul(x, 2, out=out)
    row = x[1]
    row.mul_(3)
    return [x, out, edited is x, given is out, row._base is x]


@_returns
def several(x: Tensor, y: Tensor, generator: torch.Generator) -> list[Any]:
    values, places = x.max(dim=1)
    first, *_ = x.split(2)
    first.zero_()
    kinds = [type(each).__name__ for each in (x.max(dim=1), x.split(2), torch._foreach_mul([x], 2.0))]
    return [values, places, x, *kinds]


@_returns
def numbers(x: Tensor, y: Tensor, generator: torch.Generator) -> list[Any]:
    z = torch.arange(5.0)
    return [z.sum().item(), torch.equal(x, x), bool((x > 99).any()), z.tolist()]


@_returns
def draws(x: Tensor, y: Tensor, generator: torch.Generator) -> list[Any]:
    drawn_there = torch.rand(3, generator=generator), torch.randperm(5, generator=generator)
    return [*drawn_there, x.uniform_(generator=generator)]


@_returns
def gradients(x: Tensor, y: Tensor, generator: torch.Generator) -> list[Any]:
    x.requires_grad_()
    z = (x.tanh() @ y.T).relu()
    z.mul(y @ y.T).sum().backward()
    return [z.requires_grad, z.is_leaf, x.grad, z.detach().requires_grad]


@_returns
def written_and_given(x: Tensor, y: Tensor, generator: torch.Generator) -> list[Any]:
    noise = torch.zeros(4, 3)
    rectified = torch.ops.aten.rrelu_with_noise.default(x, noise, 0.1, 0.3, True, generator)
    first = which(rectified, x=x, noise=noise)
    sums = drain(y)
    return [first, which(sums, x=y), rectified, noise, sums, y]


@_returns
def out_of_lists(x: Tensor, y: Tensor, generator: torch.Generator) -> list[Any]:
    out, places = torch.zeros(8, 3), torch.zeros(4, dtype=torch.int64)
    both = which(torch.cat([x, y], out=out), out=out)
    values = torch.zeros(4)
    return [both, *torch.max(x, 1, out=(values, places)), out, values, places]


@_returns
def nothing_given(x: Tensor, y: Tensor, generator: torch.Generator) -> list[Any]:
    parts = [torch.zeros(2, 3), torch.zeros(2, 3)]
    torch._foreach_add_([x, y], 1.0)
    torch.split_copy(x, 2, out=parts)
    return [x, y, *parts]


def error(call: Callable[[Tensor, torch.Generator], Any]) -> Make:
    """Code that ends by the error of an operation."""

    def make(generator: torch.Generator) -> Run:
        x = drawn(generator, 4, 3)
        return lambda: [call(x, generator)]

    return make
