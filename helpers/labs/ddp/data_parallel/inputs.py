"""Modules and small tools that the check of 07.data_parallel uses."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from helpers.check.trial import Trial

Answer = tuple[Callable[..., Any], ...]
PATIENCE = 0.5  # seconds that a forward waits for the others; only wrong answers let it wait


def drawn(trial: Trial, *shape: int) -> Tensor:
    return torch.randn(shape, generator=trial.generator, dtype=torch.float64)


def listed(trial: Trial, got: Any, name: str) -> list[Any]:
    """The result as a list; wrong if it is neither a list nor a tuple."""
    trial.true(
        got is not None, f"{name} returned None. Is a `return` missing?", got="None", observed=(name, "None")
    )
    trial.true(
        isinstance(got, (list, tuple)),
        f"{name} gives no list.",
        expected="a list",
        got=type(got).__name__,
        observed=(name, type(got).__name__),
    )
    return list(got)


class Shared:
    """An object of the check that stays one when a module that holds it is copied."""

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self


class Selves(Shared):
    """Which modules ran, by what they are: kept alive, so that no two have the same id.

    one_at_a_time: held where a forward writes to a buffer. Where replicas share it, wrongly, no update gets lost by
    chance, and what is seen is the same in every run.
    """

    def __init__(self) -> None:
        self.seen: list[tuple[str, nn.Module, int]] = []
        self.one_at_a_time = threading.Lock()

    def selves(self, kind: str) -> list[nn.Module]:
        return [module for name, module, _ in self.seen if name == kind]

    def rows(self) -> list[int]:
        return sorted(rows for name, _, rows in self.seen if name == "net")


class Inner(nn.Module):
    """A sub-module without bias, that says on which self it ran."""

    def __init__(self, trial: Trial, crowd: Selves) -> None:
        super().__init__()
        self.weight = nn.Parameter(drawn(trial, 5, 4))
        self.register_parameter("bias", None)
        self.crowd = crowd

    def forward(self, x: Tensor) -> Tensor:
        self.crowd.seen.append(("inner", self, len(x)))
        y = x @ self.weight.T
        return y if self.bias is None else y + self.bias


class Net(nn.Module):
    """Sub-modules, one of them under two names, one that is None, an empty list; a parameter of its own; buffers that are read
    and written, one that is None; a mode.
    """

    def __init__(self, trial: Trial) -> None:
        super().__init__()
        self.crowd, self.calls = Selves(), 0
        self.inner = Inner(trial, self.crowd)
        self.stack = nn.Sequential(nn.Tanh(), self.inner)
        self.out = nn.Parameter(drawn(trial, 3, 5))
        self.register_buffer("shift", drawn(trial, 3))
        self.register_buffer("total", torch.zeros((), dtype=torch.float64))
        self.register_buffer("scale", None)
        self.register_module("norm", None)
        self.more = nn.ModuleList()

    def forward(self, x: Tensor, factor: float = 1.0, mask: Tensor | None = None) -> Tensor:
        self.crowd.seen.append(("net", self, len(x)))
        self.crowd.seen.extend(("part", module, len(x)) for module in self.modules())
        self.calls += 1
        with torch.no_grad(), self.crowd.one_at_a_time:
            self.total.add_(x.sum())
        hidden = self.inner(x if self.norm is None else self.norm(x))
        for layer in self.more:
            hidden = layer(hidden)
        return self._computed(x, hidden if self.scale is None else hidden * self.scale, factor, mask)

    def _computed(self, x: Tensor, hidden: Tensor, factor: float, mask: Tensor | None) -> Tensor:
        y = (hidden.tanh() + x.sum(1, keepdim=True)) @ self.out.T * factor + self.shift
        y = y if self.training else y / 2
        return y if mask is None else y * mask

    def right(self, x: Tensor, factor: float = 1.0, mask: Tensor | None = None) -> Tensor:
        """What forward gives, and nothing is written."""
        return self._computed(x, x @ self.inner.weight.T, factor, mask)


class Losses(Net):
    """Gives the mean of its output: a tensor without dimensions."""

    def _computed(self, x: Tensor, hidden: Tensor, factor: float, mask: Tensor | None) -> Tensor:
        return super()._computed(x, hidden, factor, mask).mean()


def gradients_of(net: nn.Module, outs: Sequence[Tensor], upstream: Sequence[Tensor]) -> list[Tensor | None]:
    """The gradients of the net's parameters; None for all where no output has a graph."""
    params = list(net.parameters())
    taken = [(out, grad) for out, grad in zip(outs, upstream, strict=True) if out.requires_grad]
    if not taken:
        return [None] * len(params)
    found = torch.autograd.grad(
        [out for out, _ in taken], params, [grad for _, grad in taken], allow_unused=True, retain_graph=True
    )
    return list(found)


def right_slopes(net: Net, xs: Sequence[Tensor], upstream: Sequence[Tensor]) -> list[Tensor | None]:
    return gradients_of(net, [net.right(x) for x in xs], upstream)


class Doubled(nn.Module):
    """Takes a moment, and gives twice its input and more, by its place."""

    def __init__(self, place: int) -> None:
        super().__init__()
        self.place = place

    def right(self, x: Tensor, shift: float = 0.0) -> Tensor:
        return 2 * x + shift + 100 * self.place

    def forward(self, x: Tensor, shift: float = 0.0) -> Tensor:
        time.sleep(0.002)
        return self.right(x, shift)


class Broken(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        raise ValueError("no such label: 7")


class Crowd(Shared):
    """Where the forwards of `size` modules wait for each other. met: whether all were there at one time; most: how many were."""

    def __init__(self, size: int) -> None:
        self.size, self.met, self.given_up, self.most = size, False, False, 0
        self.caller, self.before = threading.get_ident(), threading.active_count()
        self.here = 0
        self.changed = threading.Condition()
        self.left = [threading.Event() for _ in range(size)]

    def wait(self) -> None:
        """Returns when all have come; or when some will not."""
        with self.changed:
            self.here += 1
            self.most = max(self.most, self.here)
            self.met = self.met or self.here == self.size
            self.changed.notify_all()
            if self._hopeless() or not self.changed.wait_for(
                lambda: self.met or self.given_up, timeout=PATIENCE
            ):
                self.given_up = True
                self.changed.notify_all()
            self.here -= 1

    def _hopeless(self) -> bool:
        """The caller's own thread runs a forward, and has not started threads for the others."""
        mine = threading.get_ident() == self.caller
        return not self.met and mine and threading.active_count() - self.before < self.size - 1


class Member(nn.Module):
    """Waits in forward until all are there. last_first: and then until the next one is ready."""

    def __init__(self, crowd: Crowd, place: int, last_first: bool = False) -> None:
        super().__init__()
        self.crowd, self.place, self.last_first = crowd, place, last_first

    def forward(self, x: Tensor) -> Tensor:
        self.crowd.wait()
        if self.last_first and self.crowd.met and self.place + 1 < self.crowd.size:
            self.crowd.left[self.place + 1].wait(PATIENCE)
            time.sleep(0.008)  # the next one's result is then where its thread puts it
        self.crowd.left[self.place].set()
        return 2 * x


@contextmanager
def quiet_threads() -> Iterator[None]:
    """Without the traceback that Python prints when a thread ends by an exception."""
    before = threading.excepthook
    threading.excepthook = lambda args: None
    try:
        yield
    finally:
        threading.excepthook = before
