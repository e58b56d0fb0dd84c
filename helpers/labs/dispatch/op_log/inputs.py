"""What 12.op_log is tried on: code that runs in the block of a log, and what must be listed of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from helpers.check.trial import Trial

Run = Callable[[], Any]
Make = Callable[[torch.Generator], Run]


class Witness(TorchDispatchMode):
    """The log of the check itself."""

    def __init__(self) -> None:
        super().__init__()
        self.ops: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.ops.append(f"{func}{' (view)' if func.is_view else ''}")
        return func(*args, **(kwargs or {}))


def wanted(run: Run) -> list[str]:
    """What must be listed of `run`, which may raise."""
    with Witness() as witness:
        outcome(run)
    return witness.ops


@dataclass(frozen=True)
class Raised:
    """An error that came out of a call. text: of its message the first line."""

    kind: str
    text: str


def outcome(run: Run) -> Any:
    """What `run` returns, or what it raises."""
    try:
        return run()
    except NotImplementedError:  # a stub, perhaps
        raise
    except Exception as error:
        return Raised(type(error).__name__, str(error).partition("\n")[0])


def require(answer: Any, trial: Trial, words: str, make: Make, lesson: str) -> None:
    """Wrong unless the answer lists what runs in one block, and nothing that runs behind it."""
    trial.given(words)
    seed = trial.random.randrange(1 << 30)
    want = wanted(make(torch.Generator().manual_seed(seed)))
    run = make(torch.Generator().manual_seed(seed))
    log = fresh(answer, trial)
    with log:
        came = outcome(run)
    trial.true(
        not isinstance(came, Raised),
        f"In the block {came.kind if isinstance(came, Raised) else ''} was raised, and without the log nothing is: "
        "does each operation get all its arguments, and is its result returned?",
        expected="what runs without the log",
        got=f"{came.kind}: {came.text}" if isinstance(came, Raised) else "",
        observed=(words, word(repr(came)) if isinstance(came, Raised) else ""),
    )
    right(trial, log, want, words, lesson)
    ended(trial, log, words)


def fresh(answer: Any, trial: Trial) -> Any:
    """A new log. Wrong if something is listed in it already."""
    log = answer()
    there = [word(each) for each in getattr(log, "ops", [])]
    trial.true(
        not there,
        "A new log lists operations already, those of an earlier one perhaps. Two logs have two lists.",
        expected="nothing",
        got=", ".join(there),
        observed="not empty",
    )
    return log


def ended(trial: Trial, log: Any, words: str) -> None:
    """Wrong if the log lists what runs behind its block."""
    before = len(log.ops)
    torch.ones(2).exp()
    more = [word(each) for each in log.ops[before:]]
    trial.true(
        not more,
        "The block has ended, and the log lists what runs behind it.",
        expected="nothing more",
        got=", ".join(more),
        observed=("goes on", words, more),
    )


def right(
    trial: Trial,
    log: Any,
    want: list[str],
    words: str,
    lesson: str,
    which: str = "log.ops",
    *,
    beside: tuple[Any, ...] = (),
) -> None:
    """Wrong unless the list of a log is what is wanted. beside: other logs, by whose lists a mistake is known, too."""
    got = log.ops
    trial.true(
        isinstance(got, list),
        f"The type of {which} is {type(got).__name__}, and a list is asked for.",
        expected=want,
        got=word(got),
        observed=("type", type(got).__name__),
    )
    others = [each for each in got if not isinstance(each, str)]
    trial.true(
        not others,
        f"An entry of {which} is no str: its type is {type(others[0]).__name__ if others else ''}.",
        expected="the name of each operation",
        got=", ".join(map(word, got)),
        observed=("entries", sorted({type(each).__name__ for each in others})),
    )
    if got == want:
        return
    trial.fail(
        f"{_difference(got, want, which)} {lesson}",
        expected=", ".join(want) or "nothing",
        got=", ".join(map(word, got)) or "nothing",
        observed=(words, which, *([word(each) for each in its.ops] for its in (log, *beside))),
    )


def word(entry: Any) -> str:
    """An entry of the answer's list as a text that is the same each time: of what is no str the type alone."""
    return re.sub(r"0x[0-9a-f]+", "#", entry) if isinstance(entry, str) else f"a {type(entry).__name__}"


def _difference(got: list[str], want: list[str], which: str) -> str:
    if sorted(got) == sorted(want):
        return f"{which} holds the right names in a different order."
    place = next((n for n, (a, b) in enumerate(zip(got, want, strict=False)) if a != b), None)
    if place is None:
        kind = "ends too early" if len(got) < len(want) else "goes on"
        entries = f"{len(got)} {'entry' if len(got) == 1 else 'entries'}"
        return f"{which} has {entries}, and {len(want)} operation{'s' * (len(want) != 1)} ran: it {kind}."
    return f"Entry {place + 1} of {which} is {word(got[place])!r}, and {want[place]!r} ran there."


def drawn(generator: torch.Generator, *size: int) -> Tensor:
    return torch.randn(*size, generator=generator)


# What runs in a block.


def plain(generator: torch.Generator) -> Run:
    x, y = drawn(generator, 4, 3), drawn(generator, 3, 5)

    def run() -> Any:
        return torch.cat([(x @ y).exp().mul(2.0).exp() + 1, x @ y]).sum(dim=1)

    return run


def one_after_the_other(generator: torch.Generator) -> Run:
    x = drawn(generator, 7)
    return lambda: x.tanh().cos().abs().cos().cos().add(x).add(1).mean().item()


def other_libraries(generator: torch.Generator) -> Run:
    x = drawn(generator, 3, 2)

    def run() -> Any:
        with torch.profiler.record_function("part"):
            return torch.ops.prims.sin.default(x).cos()

    return run


def views(generator: torch.Generator) -> Run:
    x = drawn(generator, 6, 2)
    return lambda: (x.t() + 1, x[1:], x[0], x.expand(3, 6, 2), x.view(12), x.diagonal(), x.unsqueeze(1))


def lists_of_views(generator: torch.Generator) -> Run:
    x = drawn(generator, 4, 3)
    return lambda: (x.split(3), x.unbind(1), x.clone())


def no_views(generator: torch.Generator) -> Run:
    x, y = drawn(generator, 4, 3), drawn(generator, 3, 5)

    def run() -> Any:
        x.view(2, 2, 3) @ y  # view, mm and _unsafe_view
        x.add_(1).t_().unsqueeze_(0)
        return torch.view_copy(x, (12,)), x.unsafe_split(1, dim=1)

    return run


def empty_views(generator: torch.Generator) -> Run:
    x = drawn(generator, 0, 3)
    return lambda: (x.t(), x.exp(), x.unsqueeze(0), x.cos())


def training(generator: torch.Generator) -> Run:
    x, w, b = (
        drawn(generator, 4, 3),
        drawn(generator, 5, 3).requires_grad_(),
        torch.zeros(5, requires_grad=True),
    )
    return lambda: F.linear(x, w, b).relu().sum().backward()


def backward_only(generator: torch.Generator) -> Run:
    x = drawn(generator, 4, 3).requires_grad_()
    loss = x.tanh().mul(x).sum()
    return loss.backward


def twice_backward(generator: torch.Generator) -> Run:
    x = drawn(generator, 5).requires_grad_()

    def run() -> Any:
        (grad,) = torch.autograd.grad(x.pow(3).sum(), x, create_graph=True)
        return torch.autograd.grad(grad.sum(), x)

    return run


def without_grad(generator: torch.Generator) -> Run:
    x, w = drawn(generator, 4, 3), drawn(generator, 5, 3).requires_grad_()

    def run() -> Any:
        with torch.no_grad():
            return F.linear(x, w).relu()

    return run


def autocast(generator: torch.Generator) -> Run:
    x, w = drawn(generator, 4, 3), drawn(generator, 5, 3).requires_grad_()

    def run() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.linear(x, w).float().sum()
        loss.backward()

    return run


def inference(generator: torch.Generator) -> Run:
    x, w = drawn(generator, 4, 3), drawn(generator, 5, 3)

    def run() -> Any:
        with torch.inference_mode():
            return F.linear(x, w).relu().t()

    return run


def copies(generator: torch.Generator) -> Run:
    x = drawn(generator, 4, 3)

    def run() -> Any:
        with torch.inference_mode():
            return x.double(), x.t().reshape(-1), x.cos()

    return run


class Doubled(Tensor):
    """A tensor without memory of its own, which holds a different one."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> Doubled:
        made = Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype)
        made.held = held
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        bare = [each.held if isinstance(each, Doubled) else each for each in args]
        return Doubled(func(*bare, **(kwargs or {})).clone())


def of_a_subclass(generator: torch.Generator) -> Run:
    x = Doubled(drawn(generator, 4, 3))

    def run() -> None:
        x + 1  # noqa: B018
        x.t()
        x.held.exp()

    return run


def gradients() -> str:
    return f"gradients {'on' if torch.is_grad_enabled() else 'off'}"


def a_product_raises(generator: torch.Generator) -> Run:
    x = drawn(generator, 4, 3)

    def run() -> Any:
        outcome(lambda: x.exp() @ x)
        return x.cos()

    return run


def others_raise(generator: torch.Generator) -> Run:
    x, y = drawn(generator, 4, 3), drawn(generator, 2, 2)

    def run() -> Any:
        outcome(lambda: x.select(5, 0))
        outcome(lambda: torch.cat([x, y]))
        outcome(lambda: F.cross_entropy(x, torch.tensor([9, 0, 1, 2])))
        return x.sin()

    return run
