"""What 14.leaks is tried on: steps that leave memory behind, each in its own way, and steps that leave none."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.check.garbage import collector
from helpers.check.operations import operations
from helpers.check.trial import Trial

Step = Callable[[], Any]
Make = Callable[[torch.Generator], Step]


def require(
    answer: Any, trial: Trial, words: str, make: Make, lesson: str, *, by_itself: bool = True
) -> None:
    """Wrong unless the answer names what the second call leaves behind.

    by_itself: whether the garbage collector runs meanwhile without being called.
    """
    trial.given(words)
    seed = trial.random.randrange(1 << 30)
    want = left_behind(make(torch.Generator().manual_seed(seed)))
    with collector(by_itself=by_itself):
        got = trial.call(answer, make(torch.Generator().manual_seed(seed)))
    right(trial, got, want, words, lesson)


def right(trial: Trial, got: Any, want: list[str], words: str, lesson: str) -> None:
    trial.true(
        type(got) is list,
        f"The result is a {type(got).__name__}, and a list is asked for.",
        expected=want,
        got=got,
        observed=("type", type(got).__name__),
    )
    if got == want:
        return
    if all(isinstance(each, str) for each in got) and sorted(got) == want:
        trial.fail(
            "The right names, and they are not sorted.",
            expected=want,
            got=got,
            observed=("not sorted", words),
        )
    missing, more = _without(want, got), _without(got, want)
    trial.fail(
        " ".join(
            part
            for part in (
                f"Missing: {_listed(missing)}." if missing else "",
                f"Too much: {_listed(more)}." if more else "",
                lesson,
            )
            if part
        ),
        expected=_listed(want) or "no names",
        got=_listed(got) or "no names",
        observed=(words, [_word(each) for each in got]),
    )


def _word(entry: Any) -> str:
    """An entry of the answer's list; of what is no name only the type, since its text may hold an address."""
    return entry if isinstance(entry, str) else f"<{type(entry).__name__}>"


def _listed(entries: list[Any]) -> str:
    words = [_word(each) for each in entries]
    return ", ".join(words[:6]) + (f" and {len(words) - 6} more" if len(words) > 6 else "")


def in_words(got: Any) -> str:
    return _listed([*got]) if isinstance(got, (list, tuple, set, dict)) else f"a {type(got).__name__}"


def _without(some: list[Any], others: list[Any]) -> list[Any]:
    """What stands more often in `some` than in `others`."""
    rest = list(others)
    return [each for each in some if each not in rest or rest.remove(each)]


def left_behind(step: Step) -> list[str]:
    """The names, by one log over three calls of which the second is looked at in the end."""
    with collector(by_itself=False), operations() as ran:
        step()
        start = len(ran)
        step()
        stop = len(ran)
        step()
        gc.collect()
        names = [each.name for each in ran[start:stop] for memory in each.memories if not memory.expired()]
    return sorted(names)


def drawn(g: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(shape, generator=g)


def net(g: torch.Generator) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        model = nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6), nn.Tanh(), nn.Linear(6, 3))
    with torch.no_grad():
        for each in model.parameters():
            each.copy_(drawn(g, *each.shape))
    return model


class Training:
    """A training step. keep: is called with the model, its output and the loss, before the backward; and after it."""

    def __init__(
        self,
        g: torch.Generator,
        before: Callable[[nn.Module, Tensor, Tensor], Any] = lambda model, out, loss: None,
        after: Callable[[nn.Module, Tensor, Tensor], Any] = lambda model, out, loss: None,
        optimizer: Callable[..., torch.optim.Optimizer] = torch.optim.Adam,
        rows: int = 5,
    ) -> None:
        self.model, self.x, self.y = net(g), drawn(g, rows, 4), drawn(g, rows, 3)
        self.optimizer = optimizer(self.model.parameters(), lr=0.01)
        self.before, self.after = before, after

    def __call__(self) -> Tensor:
        self.optimizer.zero_grad()
        out = self.model(self.x)
        loss = F.mse_loss(out, self.y)
        self.before(self.model, out, loss)
        loss.backward()
        self.optimizer.step()
        self.after(self.model, out, loss)
        return loss


def clean(g: torch.Generator) -> Step:
    """Keeps the last loss and the last output, and replaces them."""
    last: dict[str, Any] = {}
    return Training(g, after=lambda model, out, loss: last.update(loss=loss, out=out))


def losses(g: torch.Generator) -> Step:
    """A small leak and a large one, both in the first call, too."""
    kept: list[Tensor] = []
    return Training(g, after=lambda model, out, loss: kept.extend((loss, out)), rows=300)


def total(g: torch.Generator) -> Step:
    """A sum of losses, with the graphs of all."""
    model, x, y = net(g), drawn(g, 5, 4), drawn(g, 5, 3)
    so_far: list[Tensor] = [torch.zeros(())]

    def step() -> None:
        so_far[0] = so_far[0] + F.mse_loss(model(x), y)

    return step


def detached(g: torch.Generator) -> Step:
    kept: list[Tensor] = []
    return Training(g, after=lambda model, out, loss: kept.append(loss.detach()))


def numbers(g: torch.Generator) -> Step:
    kept: list[float] = []
    return Training(g, after=lambda model, out, loss: kept.append(loss.item()))


def gradients(g: torch.Generator) -> Step:
    kept: list[Any] = []
    return Training(g, after=lambda model, out, loss: kept.append([each.grad for each in model.parameters()]))


def first_only(g: torch.Generator) -> Step:
    """Made in the first call: a table, a state and gradients; then used and edited."""
    cache: dict[str, Tensor] = {}
    x = drawn(g, 5, 4)

    def step() -> Tensor:
        if not cache:
            cache["table"], cache["mean"] = x.cos(), x.mean(0).exp()
        torch.cos(x, out=cache["table"])
        cache["mean"].mul_(0.9).add_(x.sin().sum(0))
        return (x * cache["table"]).tanh()

    return step


def twice(g: torch.Generator) -> Step:
    """The same operation several times, of which some stay; in an order that is not that of the names."""
    kept: list[Tensor] = []
    x = drawn(g, 5, 4)

    def step() -> Tensor:
        kept.append(x.tanh())
        kept.append(x.relu())
        x.relu().exp()
        kept.append(x.cos().relu())
        return x.tanh()

    return step


def several(g: torch.Generator) -> Step:
    """An operation that makes two memories, both kept, and one of which one is kept."""
    kept: list[Any] = []
    x = drawn(g, 5, 4)

    def step() -> None:
        kept.append(x.max(dim=1))
        kept.append(x.topk(2).indices)

    return step


def underscored(g: torch.Generator) -> Step:
    """Operations whose names begin with an underscore."""
    kept: list[Any] = []
    x = drawn(g, 5, 4)

    def step() -> None:
        kept.append(x.softmax(1))
        kept.append((x.cos(), x.log_softmax(1)))

    return step


def views(g: torch.Generator) -> Step:
    """What is kept looks at the memory, and is not what the operation returned."""
    kept: list[Any] = []
    x = drawn(g, 5, 4)

    def step() -> None:
        kept.append(x.cos()[1:3].detach())
        kept.append(x.exp().untyped_storage())
        kept.append(x.tanh().numpy())

    return step


def by_a_graph(g: torch.Generator) -> Step:
    """Only the graph keeps it: no tensor of Python is left."""
    w = drawn(g, 4, 4).requires_grad_()
    kept: list[Tensor] = [drawn(g, 5, 4)]

    def step() -> None:
        kept[0] = (kept[0] @ w).cos()

    return step


def small_and_large(g: torch.Generator) -> Step:
    kept: list[Tensor] = []
    x = drawn(g, 300, 400)

    def step() -> None:
        kept.append(x.sum())
        kept.append(x.amax(1))
        kept.append(x.cos())

    return step


def replaced(g: torch.Generator) -> Step:
    """One is replaced in each call, one is kept for a call: no memory outlives the call after it."""
    last: deque[Tensor] = deque(maxlen=1)
    other: dict[str, Tensor] = {}
    x = drawn(g, 5, 4)

    def step() -> None:
        last.append(x.cos())
        other["now"] = x.exp() + other.get("now", x)

    return step


class Holder:
    """Holds itself, so that only the garbage collector frees it."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor, self.me = tensor, self


def cycles(g: torch.Generator) -> Step:
    x = drawn(g, 5, 4)

    def step() -> None:
        Holder(x.cos())

    return step


def late_cycles(g: torch.Generator) -> Step:
    """A cycle that the next call lets go; and a leak beside it."""
    x = drawn(g, 5, 4)
    kept: list[Tensor] = []
    last: dict[str, Holder] = {}

    def step() -> None:
        kept.append(x.tanh())
        last["now"] = Holder(x.cos())

    return step


def older_cycles(g: torch.Generator) -> Step:
    """The same, and the cycle has outlived a collection by then: it is of the oldest generation."""
    step = late_cycles(g)

    def collected() -> None:
        gc.collect()
        step()

    return collected


def growing(g: torch.Generator) -> Step:
    """Each call runs more operations than the one before: what it keeps comes first, by a different operation each time."""
    x = drawn(g, 5, 4)
    kept: list[Tensor] = []
    makes = (x.cos, x.exp, x.tanh, x.relu, x.tan)

    def step() -> None:
        call = len(kept) + 1
        kept.append(makes[min(call, len(makes)) - 1]())
        for _ in range(call * call):
            x.sin()

    return step


def keeping(g: torch.Generator, name: str) -> Step:
    """One operation, whose result is kept."""
    x = drawn(g, 5, 4)
    kept: list[Tensor] = []
    return lambda: kept.append(getattr(x, name)())


def changing(g: torch.Generator) -> Step:
    """Each call leaves one memory, each by a different operation."""
    x = drawn(g, 5, 4)
    kept: list[Tensor] = []
    makes = iter((x.cos, x.exp, x.tanh, x.sin, x.relu, x.tan))

    def step() -> None:
        kept.append(next(makes)())

    return step
