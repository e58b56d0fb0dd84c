"""A small model that notes how it is called: what the properties of 13.generate are tried on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from helpers.check.compare import difference
from helpers.check.trial import Trial


class Interrupted(BaseException):
    """As KeyboardInterrupt: no Exception, and what ends a generation that takes too long."""


class Caches:
    """What all rows so far, in their order, have left; None before the first."""

    def __init__(self) -> None:
        self.state: Tensor | None = None


@dataclass
class Seen:
    """One call of the model.

    rows: what it was given. training: the names of the modules in training mode. graph: whether autograd recorded.
    """

    rows: Tensor
    training: list[str]
    graph: bool


@dataclass
class Notes:
    calls: list[Seen] = field(default_factory=list)
    made: list[tuple[Any, Any]] = field(default_factory=list)

    def sizes(self) -> list[int]:
        return [each.rows.shape[1] if each.rows.dim() == 3 else -1 for each in self.calls]


class Disturbed(nn.Module):
    """As dropout: in training mode it changes what goes through. It draws no numbers, so that results can be compared."""

    def forward(self, x: Tensor) -> Tensor:
        return 0.5 * x + 1 if self.training else x


class Model(nn.Module):
    """Each row that it gives depends on all rows so far, and on their order.

    raises_at: the call that raises `error`, counted from 0; -1: `caches` does.
    shared: a part of it stands in two places.
    """

    def __init__(
        self,
        weight: Tensor,
        raises_at: int | None = None,
        error: type[BaseException] = ArithmeticError,
        shared: bool = False,
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.noise = nn.Sequential(Disturbed(), nn.Sequential(Disturbed()))
        self.other = Disturbed()
        if shared:
            self.again = nn.Sequential(self.noise[0])
        self.notes, self.raises_at, self.error = Notes(), raises_at, error

    def caches(self, batch: int, length: int) -> Caches:
        self.notes.made.append((batch, length))
        if self.raises_at == -1:
            raise self.error("this model fails here, as the check wants it")
        return Caches()

    def forward(self, rows: Tensor, caches: Caches) -> Tensor:
        if not isinstance(caches, Caches):
            raise TypeError(f"caches: what model.caches(batch, length) gives, not {type(caches).__name__}")
        training = [name or "model" for name, module in self.named_modules() if module.training]
        result = self.next_rows(rows, caches)
        self.notes.calls.append(Seen(rows.detach().clone(), training, result.requires_grad))
        if self.raises_at == len(self.notes.calls) - 1:
            raise self.error("this model fails here, as the check wants it")
        return result

    def next_rows(self, rows: Tensor, caches: Caches) -> Tensor:
        made = []
        for row in rows.unbind(1):
            before = torch.zeros_like(row) if caches.state is None else caches.state
            caches.state = (before / 2 + row @ self.weight).tanh()
            made.append(self.other(self.noise(caches.state)))
        return torch.stack(made, 1)


def model_of(
    trial: Trial,
    features: int = 3,
    *,
    dtype: torch.dtype = torch.float32,
    frozen: bool = False,
    raises_at: int | None = None,
    error: type[BaseException] = ArithmeticError,
    shared: bool = False,
) -> Model:
    """In training mode. frozen: in eval mode, and no weight requires grad."""
    weight = torch.randn(features, features, generator=trial.generator, dtype=torch.float64)
    model = Model(weight.to(dtype), raises_at, error, shared)
    return model.eval().requires_grad_(False) if frozen else model


def prompt_of(trial: Trial, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=trial.generator, dtype=torch.float64).to(dtype)


@torch.no_grad()
def wanted(model: Model, prompt: Tensor, n: int) -> Tensor:
    """What generate gives, by a model of its own in eval mode."""
    own, caches = Model(model.weight.detach().clone()).eval(), Caches()
    rows = [prompt.detach()]
    for _ in range(n):
        rows.append(own.next_rows(rows[-1], caches)[:, -1:])
    return torch.cat(rows, dim=1)


@torch.no_grad()
def _instead(model: Model, prompt: Tensor, n: int) -> dict[str, Tensor]:
    """What wrong loops give."""
    own, length = Model(model.weight.detach().clone()).eval(), prompt.shape[1]
    found: dict[str, list[Tensor]] = {}
    for words, fresh, shown, place in (
        ("each row was made from the row before it alone, with the caches empty", True, "last", -1),
        ("all rows were shown again and again to the same caches", False, "all", -1),
        ("after the prompt, the row behind its first row was taken", False, "last", 0),
        ("all rows that the model gave were shown to it in the next call", False, "given", -1),
    ):
        caches, rows = Caches(), [prompt.detach()]
        made = rows[0]
        for _ in range(n):
            caches = Caches() if fresh else caches
            given = {"all": torch.cat(rows, dim=1), "last": rows[-1], "given": made}[shown]
            made = own.next_rows(given, caches)
            rows.append(made[:, place:][:, :1])
        found[words] = rows
    right = wanted(model, prompt, n)
    return {words: torch.cat(rows, dim=1) for words, rows in found.items()} | {
        "the rows that were made stand before the prompt": torch.cat(
            [right[:, length:], right[:, :length]], 1
        ),
        "the made rows are in the order in which nobody made them": torch.cat(
            [right[:, :length], right[:, length:].flip(1)], 1
        ),
    }


def right(trial: Trial, got: Any, model: Model, prompt: Tensor, n: int) -> None:
    """The result is the prompt and the rows that the model makes."""
    want = wanted(model, prompt, n)
    if not difference(got, want):
        return
    words, shape = "", tuple(want.shape)
    if type(got) is Tensor and got.shape == shape and got.dtype == want.dtype and not got.requires_grad:
        words = next(
            (
                words
                for words, each in _instead(model, prompt, n).items()
                if torch.allclose(got.detach(), each, rtol=1e-3, atol=1e-4)
            ),
            "",
        )
    trial.equal(got, want, f"The result{f' ({words})' if words else ''}", observed=words or None)
