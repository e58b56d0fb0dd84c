"""Tensors that 11.reshape is tried on, and what is seen of a result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from helpers.check.compare import difference
from helpers.check.trial import Trial
from helpers.labs.tensors.shared.memory import made

Shape = tuple[int, ...]
Answer = Callable[[Tensor, Shape], Tensor]
MEMORY = "where its memory is"
FORBIDDEN = ("reshape", "reshape_as", "flatten", "unflatten", "ravel")


@dataclass(frozen=True)
class Case:
    """A tensor and the shape that is wanted of it.

    of: the shape of the tensor that it is made from. way: how. about: the way in words.
    """

    of: Shape
    way: Callable[[Tensor], Tensor]
    about: str
    shape: Shape

    def numbers(self, dtype: torch.dtype = torch.float32) -> Tensor:
        """0, 1, 2, ..., so that each element is known by its number."""
        return self.way(torch.arange(torch.Size(self.of).numel()).to(dtype).view(self.of))

    def given(self, t: Tensor) -> str:
        return f"t of shape {tuple(t.shape)} and stride {t.stride()} ({self.about}), shape={self.shape}"


def _same(t: Tensor) -> Tensor:
    return t


PLAIN = tuple(
    Case(of, _same, "contiguous", shape)
    for of, shape in (
        ((3, 4), (12,)),
        ((3, 4), (2, 6)),
        ((2, 3, 4), (4, 3, 2)),
        ((2, 3, 4), (-1,)),
        ((2, 3, 4), (3, -1)),
        ((2, 3, 4), (-1, 6, 2)),
        ((2, 3, 4), (2, 3, 4)),
        ((6,), (2, 1, 3, 1)),
        ((1, 6, 1), (6,)),
        ((5,), (5, -1)),
        ((1, 1), ()),
        ((), ()),
        ((), (1, 1)),
        ((), (-1,)),
        ((0, 3), (3, 0)),
        ((0, 3), (-1,)),
        ((2, 0), (2, -1)),
        ((2, 0), (0, 5, 7)),
        ((0, 3), (0, 2, 0)),
    )
)

VIEWS = (
    Case((5, 4), lambda t: t[1:3], "rows 1 and 2", (2, 2, 2)),
    Case((4, 6), lambda t: t[:, 1:5], "columns 1 to 4", (2, 2, 2, 2)),
    Case((3, 12), lambda t: t[:, ::2], "every second column", (9, 2)),
    Case((3, 12), lambda t: t[:, ::2], "every second column", (-1,)),
    Case((24,), lambda t: t[1::3], "every third, from the second", (2, -1)),
    Case((2, 3, 4), lambda t: t.transpose(1, 2), "transposed", (2, 2, 2, 3)),
    Case((2, 3, 4), lambda t: t.permute(2, 0, 1), "permuted", (4, 6)),
    Case((2, 3, 4), lambda t: t.permute(2, 0, 1), "permuted", (2, 2, 6)),
    Case((4, 1), lambda t: t.expand(4, 6), "expanded columns", (4, 3, 2)),
    Case((1, 4), lambda t: t.expand(6, 4), "expanded rows", (2, 3, 4)),
    Case((), lambda t: t.expand(2, 6), "one number, expanded", (12,)),
    Case((4, 1, 6), lambda t: t[:, :, ::2], "every second column", (4, 3)),
    Case((6, 3), lambda t: t[:, :1], "the first column", (2, 3)),
    Case((4, 3, 1), lambda t: t.permute(2, 1, 0), "permuted", (3, 1, 4)),
    Case((4, 6), lambda t: t[:, :0].t(), "transposed, without elements", (2, 0, 3)),
)

COPIES = (
    Case((3, 4), lambda t: t.t(), "transposed", (12,)),
    Case((3, 4), lambda t: t.t(), "transposed", (2, 6)),
    Case((3, 4), lambda t: t.t(), "transposed", (3, -1)),
    Case((4, 6), lambda t: t[:, 1:5], "columns 1 to 4", (16,)),
    Case((100, 6), lambda t: t[:5, 1:5], "a corner of a large one", (2, 10)),
    Case((2, 3, 4), lambda t: t.transpose(0, 2), "transposed", (4, 6)),
    Case((2, 3, 4), lambda t: t.permute(1, 0, 2), "permuted", (6, 4)),
    Case((4, 1), lambda t: t.expand(4, 6), "expanded columns", (-1,)),
    Case((1, 4), lambda t: t.expand(6, 4), "expanded rows", (3, 8)),
    Case((2, 1, 3, 4), lambda t: t.transpose(2, 3), "transposed", (2, 12)),
    Case((9,), lambda t: t.unfold(0, 3, 1), "windows that overlap", (21,)),
)


def called(answer: Answer, trial: Trial, t: Tensor, case: Case, more: str = "") -> Any:
    """What the answer returns. t is not handed to `trial`: what that does with it would be logged
    as the answer's work.
    """
    trial.given(case.given(t) + more)
    return trial.call(lambda: answer(t, case.shape))


def result(answer: Answer, trial: Trial, t: Tensor, case: Case, more: str = "") -> Tensor:
    """What the answer returns; wrong if that is no tensor."""
    got = called(answer, trial, t, case, more)
    if not isinstance(got, Tensor):
        trial.equal(got, torch.empty(0))
    return got


def require_values(
    answer: Answer, trial: Trial, cases: tuple[Case, ...], dtype: torch.dtype = torch.float32
) -> None:
    """Wrong if shape or values are not those of `t.reshape(shape)`. All are tried before the first
    is told.
    """
    wrong = []
    for case in cases:
        t = case.numbers(dtype)
        want = t.detach().clone().reshape(case.shape)
        got: Any = None
        error = None
        with made() as memories:
            try:
                got = called(answer, trial, t, case)
            except (NotImplementedError, RecursionError):
                raise
            except RuntimeError as raised:
                error = raised
        if error is not None:
            copied = [each.operation for each in memories if not each.meta]
            wrong.append((case, got, want, error, (type(error).__name__, copied)))
        elif difference(got, want, rtol=0, atol=0):
            wrong.append((case, got, want, error, _plain(got)))
    if not wrong:
        return
    case, got, want, error, _ = wrong[0]
    short = str(dtype).removeprefix("torch.")
    trial.given(case.given(case.numbers()) + (f", {short}" if dtype != torch.float32 else ""))
    observed = [(short, each.about, each.shape, seen) for each, *_, seen in wrong]
    if error is not None:
        trial.fail(
            f"RuntimeError was raised, and t.reshape({case.shape}) raises nothing.",
            expected=want,
            got=f"RuntimeError: {str(error)[:120]}",
            observed=observed,
        )
    trial.equal(got, want, rtol=0, atol=0, observed=observed)


def _plain(got: Any) -> Any:
    if isinstance(got, Tensor):
        return (
            tuple(got.shape),
            str(got.dtype),
            [f"{n:g}" for n in got.detach().double().flatten().tolist()],
        )
    return type(got).__name__


def state(t: Tensor) -> dict[str, Any]:
    """All of a tensor that may not change."""
    return {
        "its shape": tuple(t.shape),
        "its strides": t.stride(),
        "its offset": t.storage_offset(),
        "its dtype": str(t.dtype),
        "requires_grad": t.requires_grad,
        MEMORY: t.data_ptr(),
        "the size of its storage": t.untyped_storage().nbytes(),
        "its values": [f"{n:g}" for n in t.detach().double().flatten().tolist()],
        "how often it was edited in place": t._version,
    }


@contextmanager
def functions() -> Iterator[list[str]]:
    """Yields the list of those of torch's functions that are forbidden here, by whatever name they
    were reached.
    """
    seen: list[str] = []
    with _Noting(seen):
        yield seen


class _Noting(TorchFunctionMode):
    def __init__(self, seen: list[str]) -> None:
        super().__init__()
        self.seen = seen

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "").partition(".")[0]  # an overload is called "reshape.default"
        if name in FORBIDDEN:
            self.seen.append(name)
        return func(*args, **(kwargs or {}))
