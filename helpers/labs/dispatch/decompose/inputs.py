"""What 12.decompose is tried on: functions, tables whose functions note that they ran, and a log of what ran below."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from helpers.check.trial import Trial
from helpers.labs.dispatch.decompose.right import Function
from helpers.labs.dispatch.decompose.right import decompose as right
from helpers.labs.dispatch.shared.writing import drain, leaky, which

aten = torch.ops.aten
MOST = 60  # functions of the table in one call: more run in a circle


class InACircle(BaseException):
    """Functions of the table run without an end. No Exception, so that no answer catches it."""


class Ran(TorchDispatchMode):
    """Lists the operations that reach it, each with its arguments in words."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.given: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(short(func))
        self.given.append(in_words(args, kwargs or {}))
        return func(*args, **(kwargs or {}))


def short(func: Any) -> str:
    """ "addmm.default" """
    return str(func).removeprefix("aten.")


def in_words(args: Any, kwargs: dict[str, Any]) -> str:
    """Arguments, tensors by dtype and size."""
    words = [*map(_word, args), *(f"{name}={_word(value)}" for name, value in sorted(kwargs.items()))]
    return f"({', '.join(words)})"


def _word(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_word, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_word(each)}' for key, each in value.items())}}}"
    return repr(value)


@dataclass
class Table:
    """A table for an answer. calls: which of its functions ran; given: their arguments in words."""

    functions: dict[Any, Function]
    calls: list[str] = field(default_factory=list)
    given: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.table = {func: self.noting(func, function) for func, function in self.functions.items()}

    def noting(self, func: Any, function: Function) -> Function:
        """The function; it notes each of its calls."""

        def noted(*args: Any, **kwargs: Any) -> Any:
            if len(self.calls) >= MOST:
                raise InACircle
            self.calls.append(short(func))
            self.given.append(in_words(args, kwargs))
            return function(*args, **kwargs)

        return noted

    def clear(self) -> None:
        self.calls.clear()
        self.given.clear()


# Functions that can stand for operations. Each calls operations that are not made of others: what is comes whole below autograd.


def addmm(bias: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    product = aten.mm.default(a, b)
    if alpha != 1:
        product = aten.mul.Tensor(product, alpha)
    if beta != 1:
        bias = aten.mul.Tensor(bias, beta)
    return aten.add.Tensor(product, bias)


def mm(a: Tensor, b: Tensor) -> Tensor:
    return aten.sum.dim_IntList(aten.mul.Tensor(a.unsqueeze(2), b.unsqueeze(0)), [1])


def add(a: Tensor, b: Any, *, alpha: float = 1) -> Tensor:
    return aten.sub.Tensor(a, b, alpha=-alpha)


def sub(a: Tensor, b: Any, *, alpha: float = 1) -> Tensor:
    scaled = aten.neg.default(b) if isinstance(b, Tensor) else -b
    return aten.add.Tensor(a, scaled, alpha=alpha)


def mul(a: Tensor, b: Any) -> Tensor:
    return aten.div.Tensor(a, aten.reciprocal.default(b) if isinstance(b, Tensor) else 1 / b)


def relu(a: Tensor) -> Tensor:
    return aten.clamp.default(a, 0)


def relu_(a: Tensor) -> Tensor:
    return aten.copy_.default(a, aten.clamp.default(a, 0))


def foreach_add_(tensors: list[Tensor], number: float) -> None:
    for each in tensors:
        aten.copy_.default(each, aten.add.Tensor(each, number))


def threshold_backward(grad: Tensor, a: Tensor, threshold: float) -> Tensor:
    return aten.mul.Tensor(grad, aten.gt.Scalar(a, threshold))


def silu(a: Tensor) -> Tensor:
    return aten.mul.Tensor(a, aten.sigmoid.default(a))


def silu_backward(grad: Tensor, a: Tensor) -> Tensor:
    s = aten.sigmoid.default(a)
    inner = aten.add.Tensor(aten.mul.Tensor(aten.mul.Tensor(a, s), aten.rsub.Scalar(s, 1)), s)
    return aten.mul.Tensor(grad, inner)


def sum_all(a: Tensor, *others: Any, dtype: torch.dtype | None = None) -> Tensor:
    """Takes more than sum.default gives, so that an answer that calls it for sum.dim_IntList is seen, and does not crash."""
    return aten.mul.Tensor(aten.mean.default(a, dtype=dtype), a.numel())


def max_dim(a: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    values, places = aten.sort.default(a, dim, True)
    values, places = aten.slice.Tensor(values, dim, 0, 1), aten.slice.Tensor(places, dim, 0, 1)
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))


def cat(tensors: list[Tensor], dim: int = 0) -> Tensor:
    size = list(tensors[0].shape)
    size[dim] = sum(each.shape[dim] for each in tensors)
    result, start = aten.empty.memory_format(size, dtype=tensors[0].dtype), 0
    for each in tensors:
        aten.copy_.default(aten.slice.Tensor(result, dim, start, start + each.shape[dim]), each)
        start += each.shape[dim]
    return result


def t(a: Tensor) -> Tensor:
    return aten.permute.default(a, list(range(a.dim()))[::-1])


def unsqueeze(a: Tensor, dim: int) -> Tensor:
    size, strides = list(a.shape), list(a.stride())
    size.insert(dim, 1)
    strides.insert(dim, 1)
    return aten.as_strided.default(a, size, strides, a.storage_offset())


def slice_(a: Tensor, dim: int = 0, start: int = 0, end: int | None = None, step: int = 1) -> Tensor:
    size, strides = list(a.shape), list(a.stride())
    offset = a.storage_offset() + start * strides[dim]
    size[dim] = len(range(start, min(size[dim], size[dim] if end is None else end), step))
    strides[dim] *= step
    return aten.as_strided.default(a, size, strides, offset)


def unbind(a: Tensor, dim: int = 0) -> list[Tensor]:
    return [aten.select.int(a, dim, place) for place in range(a.shape[dim])]


def add_out(a: Tensor, b: Tensor, *, alpha: float = 1, out: Tensor) -> Tensor:
    return aten.copy_.default(out, aten.sub.Tensor(a, b, alpha=-alpha))


def rrelu_with_noise(a: Tensor, noise: Tensor, lower: float, upper: float, training: bool = False) -> Tensor:
    return aten.leaky_relu.default(a, (lower + upper) / 2)


def drained(a: Tensor) -> Tensor:
    sums = aten.sum.dim_IntList(a, [1])
    aten.zero_.default(a)
    return sums


def ones(size: list[int], **options: Any) -> Tensor:
    return aten.full.default(size, 1.0, **options)


@dataclass
class Made:
    """A function with its arguments, and the tensors whose gradients it may fill."""

    fn: Function
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    leaves: tuple[Tensor, ...] = ()


Make = Callable[[torch.Generator], Made]


def draw(g: torch.Generator, *size: int, grad: bool = False) -> Tensor:
    return torch.randn(size, generator=g).requires_grad_(grad)


def written_and_given(g: torch.Generator) -> Made:
    def fn(x: Tensor, y: Tensor) -> Any:
        noise, y = torch.zeros(3, 4), y.clone()
        rectified, sums = leaky(x, noise), drain(y)
        return which(rectified, x=x, noise=noise), which(sums, x=y), rectified, sums, y

    return Made(fn, (draw(g, 3, 4), draw(g, 3, 4)))


def written_lists(g: torch.Generator) -> Made:
    def fn(x: Tensor, y: Tensor) -> Any:
        out, parts = torch.zeros(6, 4), [torch.zeros(2, 4), torch.zeros(1, 4)]
        values, places = torch.zeros(3), torch.zeros(3, dtype=torch.int64)
        results = torch.cat([x, y], out=out), *torch.max(x, 1, out=(values, places))
        torch._foreach_add_(parts, 1.0)
        added = [each.clone() for each in parts]
        torch.split_copy(x, 2, out=parts)
        return *results, *added, *parts

    return Made(fn, (draw(g, 3, 4), draw(g, 3, 4)))


def require(
    answer: Any, trial: Trial, words: str, make: Make, functions: dict[Any, Function], lesson: str
) -> None:
    """Wrong unless the answer's function does what `fn` does, by the operations by which a right one does it."""
    trial.given(f"{words}; table: {', '.join(map(short, functions)) or 'empty'}")
    seed = trial.random.randrange(1 << 30)
    plain, model, own = (make(torch.Generator().manual_seed(seed)) for _ in range(3))
    want = plain.fn(*plain.args, **plain.kwargs)
    there = Table(functions)
    with Ran() as ran:
        right(model.fn, there.table)(*model.args, **model.kwargs)
    here = Table(functions)
    decomposed = made(answer, trial, own.fn, here.table)
    got = compare(trial, words, here, decomposed, own, (there, ran), lesson)
    same_results(trial, words, got, want, own, plain)


def made(answer: Any, trial: Trial, fn: Function, table: dict[Any, Function]) -> Function:
    """What the answer makes of a function."""
    left: list[int] = []

    def watched(fn: Function, table: dict[Any, Function]) -> Any:
        with no_mode_stays(left):
            return answer(fn, table)

    decomposed = trial.call(watched, fn, table)
    trial.true(
        not left,
        "When decompose returned, a mode was on that was off before: outside of a call nothing may be replaced.",
        expected="no mode",
        got="a mode that is still on",
        observed="on when decompose returned",
    )
    trial.true(
        callable(decomposed),
        f"decompose returned a {type(decomposed).__name__}, and a function is asked for. It calls `fn` when it is called.",
        expected="a function",
        got=type(decomposed).__name__,
        observed=("no function", type(decomposed).__name__),
    )
    return decomposed


@contextmanager
def no_mode_stays(left: list[int]) -> Iterator[None]:
    """Ends what modes of dispatch are still on after the block, and notes how many."""
    before = torch._C._len_torch_dispatch_stack()
    try:
        yield
    finally:
        if more := torch._C._len_torch_dispatch_stack() - before:
            left.append(more)
        for _ in range(more):
            torch._C._pop_torch_dispatch_stack(None)


def compare(
    trial: Trial,
    words: str,
    here: Table,
    decomposed: Function,
    own: Made,
    want: tuple[Table, Ran],
    lesson: str,
) -> Any:
    """Calls it; wrong unless the same functions of the table run, and the same operations. Returns the result."""
    there, expected = want
    here.clear()
    ran, left = Ran(), []

    def watched(*args: Any, **kwargs: Any) -> Any:
        with ran, no_mode_stays(left):
            return decomposed(*args, **kwargs)

    try:
        got = trial.call(watched, *own.args, **own.kwargs)
    except InACircle:
        trial.fail(
            f"{words}: functions of the table run without an end.",
            expected=listed(there.calls),
            got=listed(here.calls),
            observed=(words, "in a circle", here.calls[:8]),
        )
    trial.true(
        not left,
        f"{words}: after the call a mode is on that was off before it.",
        expected="no mode",
        got="a mode that is still on",
        observed="on after a call",
    )
    if here.calls != there.calls:
        trial.fail(
            f"{words}: {unlike(here.calls, there.calls, 'Functions of the table')} {lesson}",
            expected=listed(there.calls, "no function of the table"),
            got=listed(here.calls, "no function of the table"),
            observed=(words, here.calls, ran.names),
        )
    _same_arguments(
        trial, words, "The function of the table for", (here.calls, here.given), (there.calls, there.given)
    )
    if ran.names != expected.names:
        trial.fail(
            f"{words}: {unlike(ran.names, expected.names, 'Operations that a mode outside sees')} What is in the "
            "table does not run, and what is not in it runs as it is, and is seen by modes around the call.",
            expected=listed(expected.names, "no operation"),
            got=listed(ran.names, "the mode outside saw no operation"),
            observed=(words, "operations", ran.names),
        )
    _same_arguments(trial, words, "The operation", (ran.names, ran.given), (expected.names, expected.given))
    return got


def _same_arguments(
    trial: Trial, words: str, what: str, here: tuple[list[str], list[str]], there: tuple[list[str], list[str]]
) -> None:
    for name, one, other in zip(here[0], here[1], there[1], strict=True):
        trial.true(
            one == other,
            f"{words}: {what} {name} got arguments that are not those of the operation that was called.",
            expected=other,
            got=one,
            observed=(words, "arguments", what, name, one),
        )


def same_results(trial: Trial, words: str, got: Any, want: Any, own: Made, plain: Made) -> None:
    """The results and the gradients of what was called, and of what was called without a table."""
    trial.equal(got, want, f"{words}: the result", rtol=1e-4, atol=1e-5)
    for number, (mine, its) in enumerate(zip(own.leaves, plain.leaves, strict=True)):
        trial.true(
            (mine.grad is None) == (its.grad is None),
            f"{words}: {'no gradient was' if mine.grad is None else 'a gradient was'} put into .grad of a leaf.",
            expected="what `fn` does without a table",
            observed=(words, "grad", number, mine.grad is None),
        )
        if its.grad is not None:
            trial.equal(mine.grad, its.grad, f"{words}: the gradient of a leaf", rtol=1e-4, atol=1e-5)


def listed(names: list[str], none: str = "nothing") -> str:
    return (", ".join(names[:14]) + (f" and {len(names) - 14} more" if len(names) > 14 else "")) or none


def unlike(got: list[str], want: list[str], what: str) -> str:
    """ "Functions of the table that are missing: mm.default." """
    missing, more = _without(want, got), _without(got, want)
    parts = [f"{what} that are missing: {listed(missing)}."] if missing else []
    parts += [f"{what} that are too much: {listed(more)}."] if more else []
    return " ".join(parts) or f"{what} come in a different order."


def _without(some: list[str], others: list[str]) -> list[str]:
    """What stands more often in `some` than in `others`."""
    rest = list(others)
    return [each for each in some if each not in rest or rest.remove(each)]
