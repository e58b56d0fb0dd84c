"""What 14.saved_bytes is tried on: functions and modules, each with one thing that is easily counted wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from helpers.check.garbage import collector
from helpers.check.trial import Trial
from helpers.labs.memory.shared.kept import in_words, kept_after


@dataclass(frozen=True)
class Case:
    """One call. lesson: what is true of it, in one sentence.

    by_chance: how far off a wrong answer is depends on which numbers are given out again.
    """

    words: str
    fn: Callable[..., Any]
    args: tuple[Tensor, ...]
    lesson: str
    by_chance: bool = False


def require(answer: Any, trial: Trial, *cases: Case, again: str = "") -> None:
    """Wrong unless the answer says of each case what is kept."""
    for case in cases:
        trial.given(case.words + again)
        _, sizes = kept_after(lambda case=case: case.fn(*case.args))
        with collector(by_itself=True):
            got = trial.call(answer, case.fn, *case.args)
        right(trial, got, sizes, case.lesson, case.words + again, case.by_chance)


def right(trial: Trial, got: Any, sizes: list[int], lesson: str, name: str, by_chance: bool = False) -> None:
    """Wrong unless `got` is the sum of these sizes, an int. name: what the case is known by."""
    trial.true(
        type(got) is int,
        f"The result is a {type(got).__name__}, and an int is asked for: a number of bytes.",
        expected=f"the int {sum(sizes)}",
        got=got,
        observed=("type", type(got).__name__),
    )
    want = sum(sizes)
    if by_chance and got != want:
        off = "more" if got > want else "less"
        trial.fail(
            f"{want:,} bytes are kept, and the result says {off}. {lesson}",
            expected=f"{want:,} bytes",
            got=f"{off} than that",
            observed=(name, off),
        )
    trial.true(
        got == want,
        f"{in_words(sizes)} are kept, and the result says {got:,}. {lesson}",
        expected=in_words(sizes),
        got=f"{got:,} bytes",
        observed=(name, got, want),
    )


def some(trial: Trial, *shape: int, dtype: torch.dtype = torch.float32, grad: bool = True) -> Tensor:
    made = torch.randn(shape, generator=trial.generator, dtype=torch.float64).to(dtype)
    return made.requires_grad_(grad)


def rows(trial: Trial) -> int:
    return trial.random.choice((7, 9, 11))


def weights(trial: Trial, *shape: int, grad: bool = True) -> nn.Parameter:
    return nn.Parameter(some(trial, *shape, grad=False), requires_grad=grad)


class Fused(nn.Module):
    """One weight that is used in two parts, and one that is turned round."""

    def __init__(self, trial: Trial) -> None:
        super().__init__()
        self.both, self.out = weights(trial, 4, 6), weights(trial, 5, 3)

    def forward(self, x: Tensor) -> Tensor:
        keys, values = self.both.chunk(2, dim=1)
        return ((x @ keys).tanh() * (x @ values)) @ self.out.T


class Deep(nn.Module):
    """A module in a module; the first layer is frozen, the last is the first, turned round."""

    def __init__(self, trial: Trial) -> None:
        super().__init__()
        self.inner = nn.Module()
        self.inner.scale = weights(trial, 4)
        self.weight = weights(trial, 4, 4, grad=False)

    def forward(self, x: Tensor) -> Tensor:
        return ((x * self.inner.scale) @ self.weight).tanh() @ self.weight.T


class Flat(nn.Module):
    """Two parameters that are slices of one memory."""

    def __init__(self, trial: Trial) -> None:
        super().__init__()
        flat = some(trial, 28, grad=False)
        self.first, self.second = (
            nn.Parameter(flat[:12].view(4, 3)),
            nn.Parameter(flat[12:27].view(3, 5)),
        )

    def forward(self, x: Tensor) -> Tensor:
        return (x @ self.first).tanh() @ self.second


class Tables(nn.Module):
    """Buffers of which parts are saved; the second is left out of state_dict."""

    def __init__(self, trial: Trial) -> None:
        super().__init__()
        self.weight = weights(trial, 4)
        self.register_buffer("places", some(trial, 20, 4, grad=False))
        self.register_buffer("turns", some(trial, 20, 4, grad=False), persistent=False)
        self.register_buffer("later", torch.ones(20, 4).triu(2).bool(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[0]
        h = (x * self.weight) * self.places[2 : 2 + length]
        return (h * self.turns[3 : 3 + length]).masked_fill(self.later[:length], 0.0)


class Running(nn.Module):
    """Uses a buffer, and puts a new tensor in its place."""

    def __init__(self, trial: Trial) -> None:
        super().__init__()
        self.register_buffer("scale", some(trial, 4, grad=False))

    def forward(self, x: Tensor) -> Tensor:
        h = x.sin() * self.scale
        self.scale = 0.9 * self.scale + 0.1 * h.detach().abs().amax(0)
        return h.exp()


class Aged(nn.Module):
    """Puts new tensors in the place of its buffers; nothing saves the old ones, and they are freed."""

    def __init__(self, trial: Trial, n: int) -> None:
        super().__init__()
        for number in range(16):
            self.register_buffer(f"seen{number}", some(trial, n, 4, grad=False))

    def forward(self, x: Tensor) -> Tensor:
        for number in range(16):
            setattr(self, f"seen{number}", getattr(self, f"seen{number}") * 0.9)
            x = x.sigmoid().tanh()
        return x


class Showing(nn.Module):
    """Keeps a result to be looked at, without its graph."""

    def forward(self, x: Tensor) -> Tensor:
        self.seen = x.repeat(1, 2).tanh().detach()
        return x.sin().exp()


class Normed(nn.Module):
    """Batch norm, whose buffers are edited while it runs. `note` is called in each forward."""

    def __init__(self, trial: Trial, note: Callable[[], Any] = lambda: None) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            self.norm = nn.BatchNorm1d(4)
        self.weight, self.note = weights(trial, 4, 3), note

    def forward(self, x: Tensor) -> Tensor:
        self.note()
        return (self.norm(x) @ self.weight).relu()


class Loud(torch.autograd.Function):
    """Three times x, with a tensor that it makes and saves; its backward calls `note`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, note: Callable[[], Any]) -> Tensor:
        ctx.note = note
        ctx.save_for_backward(torch.full_like(x, 3.0))
        return x + x + x

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor, None]:
        ctx.note()
        (times,) = ctx.saved_tensors
        return above * times, None


def kinds(trial: Trial) -> list[Case]:
    """The main case: what is saved, what is made and not saved, and the result itself."""
    n = rows(trial)
    x, w = some(trial, n, 4), some(trial, 4, 3)
    return [
        Case(
            # The last operation saves more than the result of fn, and more than one memory is saved before it.
            f"fn(x, w) = (x.sin() @ w).tanh().cos().logsumexp(1), x of shape ({n}, 4), w of shape (4, 6)",
            lambda x, w: (x.sin() @ w).tanh().cos().logsumexp(1),
            (x, some(trial, 4, 6)),
            "The product saves x.sin() and w, tanh its result, cos its input, which is the same memory, and logsumexp its input "
            "and its result, which is the result of fn.",
        ),
        Case(
            f"fn(x) = x.sin().cos().sum(), x of shape ({n}, 4)",
            lambda x: x.sin().cos().sum(),
            (x,),
            "cos saves its input, which sin made. The results of cos and sum are not saved.",
        ),
        Case(
            f"fn(x, w) = ((x @ w).tanh() * (x @ w).sin()).sum(), x of shape ({n}, 4), w of shape (4, 3)",
            lambda x, w: ((x @ w).tanh() * (x @ w).sin()).sum(),
            (x, w),
            "tanh saves its result, sin its input, and the product both factors, one of which is the result of tanh.",
        ),
        Case(
            f"fn(x) = x.sin().exp(), x of shape ({n}, 4)",
            lambda x: x.sin().exp(),
            (x,),
            "exp saves its result, so that the result of fn is kept for the backward, too.",
        ),
        Case(
            f"fn(x) = x.exp() + x, x of shape ({n}, 4)",
            lambda x: x.exp() + x,
            (x,),
            "exp saves its result, and a sum saves nothing: the result of fn is made, and not saved.",
        ),
        Case(
            f"fn(x) = x + x, x of shape ({n}, 4)",
            lambda x: x + x,
            (x,),
            "A sum saves nothing.",
        ),
    ]


def arguments(trial: Trial) -> list[Case]:
    n = rows(trial)
    x, w, base = some(trial, n, 4), some(trial, 4, 3), some(trial, n + 3, 8)
    told = "Memory that was there before does not count, also where a view of it is saved."
    return [
        Case(
            f"fn(x, w) = (x @ w).sum(), x of shape ({n}, 4), w of shape (4, 3)",
            lambda x, w: (x @ w).sum(),
            (x, w),
            "The product saves x and w. They are the arguments, and were there before.",
        ),
        Case(
            f"fn(x) = (x.sin() * x.T.cos().T).sum(), x of shape ({n}, 4): its view x.T is saved, too",
            lambda x: (x.sin() * x.T.cos().T).sum(),
            (x,),
            told,
        ),
        Case(
            f"fn(x) = x[2:].sin().exp().sum(), x of shape ({n}, 4): a part of it is saved",
            lambda x: x[2:].sin().exp().sum(),
            (x,),
            told,
        ),
        Case(
            f"fn(x) = x[1:].sin().exp().sum(), x = base[3:, ::2] of shape ({n}, 4)",
            lambda x: x[1:].sin().exp().sum(),
            (base[3:, ::2],),
            told,
        ),
        Case(
            f"fn(x, y) = (x * y).sum(), x and y two parts of one tensor, of shape ({n}, 4)",
            lambda x, y: (x * y).sum(),
            (base[:n, :4], base[2 : n + 2, 4:]),
            told,
        ),
        Case(
            f"fn(x, s) = (x * s).sum(), x of shape ({n}, 4), s of shape (1, 4) expanded to it, without grad",
            lambda x, s: (x * s).exp().sum(),
            (x, some(trial, 1, 4, grad=False).expand(n, 4)),
            told,
        ),
        Case(
            f"fn(x) = (x * x.detach()).exp().sum(), x of shape ({n}, 4)",
            lambda x: (x * x.detach()).exp().sum(),
            (x,),
            "x.detach() looks at the memory of x, which was there before.",
        ),
    ]


def parameters(trial: Trial) -> list[Case]:
    n = rows(trial)
    x, told = some(trial, n, 4), "The memory of parameters was there before."
    with torch.random.fork_rng(devices=[]):
        plain = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3, bias=False))
    return [
        Case(f"a Linear(4, 5), Tanh and Linear(5, 3), x of shape ({n}, 4)", plain, (x,), told),
        Case(
            f"a module whose weight is used in two parts, by chunk, x of shape ({n}, 4)",
            Fused(trial),
            (x,),
            f"{told} A part of one is saved here, which begins behind its start.",
        ),
        Case(
            f"a module with a parameter in a module of its own and with a frozen weight, used twice, x of shape ({n}, 4)",
            Deep(trial),
            (x,),
            f"{told} So was that of the frozen one, and that of modules inside.",
        ),
        Case(
            f"a module whose two parameters are slices of one memory, x of shape ({n}, 4)",
            Flat(trial),
            (x,),
            told,
        ),
    ]


def buffers(trial: Trial) -> list[Case]:
    n = rows(trial)
    x = some(trial, n, 4)
    tables, told = Tables(trial), "The memory of buffers was there before."
    return [
        Case(
            f"batch norm, a product and relu, in training, x of shape ({n}, 4)",
            Normed(trial),
            (x,),
            f"{told} Batch norm saves its running mean and variance.",
        ),
        Case(
            f"a module that uses parts of its buffers, some of them not persistent, x of shape ({n}, 4)",
            tables,
            (x,),
            f"{told} A buffer that is not persistent is one, too.",
        ),
        Case(
            f"a module that uses a buffer, and then puts a new tensor in its place, x of shape ({n}, 4)",
            Running(trial),
            (x,),
            f"{told} That of the old one is saved, and was there, too. exp saves its result.",
        ),
    ]


def wholes(trial: Trial) -> list[Case]:
    n = rows(trial)
    x = some(trial, n, 4)
    return [
        Case(
            f"h = x + x, then h.sin() + h.cos() + h.tan() * h, x of shape ({n}, 4)",
            lambda x: _four(x + x),
            (x,),
            "h is saved several times. It is one memory.",
        ),
        Case(
            f"h = x.repeat(1, 3), then (h[:, :4] * h[:, 6:10]).sum(), x of shape ({n}, 4)",
            lambda x: _two_parts(x.repeat(1, 3)),
            (x,),
            "Two parts of h are saved. Both look at its memory, which is kept whole, and is one.",
        ),
        Case(
            f"h = x.repeat(1, 2), then h[2:5].sin().sum(), x of shape ({n}, 4)",
            lambda x: x.repeat(1, 2)[2:5].sin().sum(),
            (x,),
            "A part of h is saved, and keeps the whole memory alive.",
        ),
        Case(
            f"s = x.sum(0), then (s.expand(6, 4) * s[1]).sum(), x of shape ({n}, 4)",
            lambda x: _expanded(x.sum(0)),
            (x,),
            "What is expanded has more numbers than its memory. It is the memory that counts.",
        ),
    ]


def _four(h: Tensor) -> Tensor:
    return h.sin() + h.cos() + h.tan() * h


def _two_parts(h: Tensor) -> Tensor:
    return (h[:, :4] * h[:, 6:10]).sum()


def _expanded(s: Tensor) -> Tensor:
    return (s.expand(6, 4) * s[1]).sum()


def widths(trial: Trial) -> list[Case]:
    n = rows(trial)
    x = some(trial, n, 4)
    return [
        Case(
            f"fn(x) = x.double().sin().exp().sum(), x of shape ({n}, 4), float32",
            lambda x: x.double().sin().exp().sum(),
            (x,),
            "A number of float64 takes 8 bytes.",
        ),
        Case(
            f"fn(x) = x.sin().exp().sum(), x of shape ({n}, 4), bfloat16",
            lambda x: x.sin().exp().sum(),
            (some(trial, n, 4, dtype=torch.bfloat16),),
            "A number of bfloat16 takes 2 bytes.",
        ),
        Case(
            f"fn(x) = x.sin().topk(3).values.sum(), x of shape ({n}, 4)",
            lambda x: x.sin().topk(3).values.sum(),
            (x,),
            "topk saves the places, which are int64, of 8 bytes each.",
        ),
        Case(
            f"fn(x) = torch.where(x > 0, x, -x).sum(), x of shape ({n}, 4)",
            lambda x: torch.where(x > 0, x, -x).sum(),
            (x,),
            "where saves its condition, which is bool, of 1 byte each. Nothing says that what is saved needs a gradient.",
        ),
        Case(
            f"a Function of its own that saves a tensor which it makes, x of shape ({n}, 4)",
            lambda x: Loud.apply(x, int),
            (x,),
            "Autograd saves what a Function hands to save_for_backward, too.",
        ),
        Case(
            "fn(x) = x.sin().exp().sum(), x of shape (0, 4)",
            lambda x: x.sin().exp().sum(),
            (some(trial, 0, 4),),
            "A memory without numbers takes no bytes.",
        ),
    ]


def given_up(trial: Trial) -> list[Case]:
    n = rows(trial)
    x, w = some(trial, n, 4), some(trial, 4, 4)
    told = "What was saved for a result that is thrown away is freed before fn returns."

    def thrown_after(x: Tensor) -> Tensor:
        kept = x.exp()
        (x.sin() * x.cos()).sum()
        return kept.sum()

    def thrown_before(x: Tensor) -> Tensor:
        for _ in range(4):
            (x.sin() * x.cos()).sum()
        return x.sin().exp().sum()

    def cut(x: Tensor) -> Tensor:
        return x.exp() * x.tan().sum().detach()

    def steps(x: Tensor, w: Tensor) -> Tensor:
        for _ in range(3):
            x = (x.detach() @ w).tanh()
        return x.sum()

    def a_gradient_inside(x: Tensor) -> Tensor:
        (slope,) = torch.autograd.grad((x.sin() * x.cos()).sum(), x)
        return (slope * x).exp().sum()

    return [
        Case(f"fn keeps x.exp(), and throws a product away, x of shape ({n}, 4)", thrown_after, (x,), told),
        Case(
            f"fn throws a product away, four times, and keeps x.sin().exp(), x of shape ({n}, 4)",
            thrown_before,
            (x,),
            f"{told} Its addresses may be given out again.",
        ),
        Case(
            f"fn(x) = x.exp() * x.tan().sum().detach(), x of shape ({n}, 4)",
            cut,
            (x,),
            "What tan has saved is freed, since detach cuts its graph off.",
        ),
        Case(
            f"three times x = (x.detach() @ w).tanh(), x of shape ({n}, 4), w of shape (4, 4)",
            steps,
            (x, w),
            "Each detach cuts off what was before, and its memory is freed.",
        ),
        Case(
            f"fn(x) = x.exp().detach(), x of shape ({n}, 4)",
            lambda x: x.exp().detach(),
            (x,),
            "exp has saved its result, and given it up with its graph. The memory lives on, and no backward needs it.",
        ),
        Case(
            f"a module that keeps x.repeat(1, 2).tanh().detach() to show it, and returns x.sin().exp(), x of shape ({n}, 4)",
            Showing(),
            (x,),
            "tanh has saved its result, and given it up with its graph. The module keeps the memory; no backward needs it.",
        ),
        Case(
            f"fn multiplies x by the gradient of (x.sin() * x.cos()).sum(), and returns exp of it, x of shape ({n}, 4)",
            a_gradient_inside,
            (x,),
            "fn asks for a gradient itself. Its graph is freed then; the product saves the gradient, and exp its result.",
        ),
    ]


def with_a_past(trial: Trial) -> list[Case]:
    n = rows(trial)
    x = some(trial, n, 4)
    # A graph for each: a backward that runs in one call frees it.
    first, second = x.sin().exp().tan(), x.sin().exp().tan()
    return [
        Case(
            f"fn(x) = x.exp().sum(), x = base.sin().exp().tan() of shape ({n}, 4), which has a graph",
            lambda x: x.exp().sum(),
            (first,),
            "What the graph of the argument keeps was there before.",
        ),
        Case(
            f"fn(x) = x, x = base.sin().exp().tan() of shape ({n}, 4), which has a graph",
            lambda x: x,
            (second,),
            "fn makes nothing.",
        ),
    ]


def in_place(trial: Trial) -> list[Case]:
    n = rows(trial)
    x, w = some(trial, n, 4), some(trial, n, 2)

    def a_part(x: Tensor, w: Tensor) -> Tensor:
        h = x.clone()
        h[:, :2].mul_(w.sin())
        return h.sum()

    def masked(x: Tensor) -> Tensor:
        h = x.clone()
        h[2:].masked_fill_(x[2:] > 0, 0.0)
        return h.sum()

    def chosen(x: Tensor, w: Tensor) -> Tensor:
        h = x.clone()
        h[:, 1:3][w > 0] = 0.0
        return h.sum()

    words = f"x of shape ({n}, 4), w of shape ({n}, 2)"
    told = "An edit in place through a view is an operation, too, and saves what its backward needs"
    return [
        Case(
            f"h = x.clone(), then h[:, :2].mul_(w.sin()), and h.sum(), {words}",
            a_part,
            (x, w),
            f"{told}: both factors, as they were.",
        ),
        Case(
            f"h = x.clone(), then h[2:].masked_fill_(x[2:] > 0, 0.0), and h.sum(), x of shape ({n}, 4)",
            masked,
            (x,),
            f"{told}: the mask.",
        ),
        Case(
            f"h = x.clone(), then h[:, 1:3][w > 0] = 0.0, and h.sum(), {words}",
            chosen,
            (x, w),
            f"{told}: what tells the places.",
        ),
    ]


def _deep(x: Tensor, times: int) -> Tensor:
    for _ in range(times):
        x = x.sigmoid().tanh()
    return x


def given_out_again(trial: Trial) -> list[Case]:
    n = rows(trial)
    x = some(trial, n, 4)

    def larger_before(x: Tensor) -> Tensor:
        _deep(x.repeat(1, 3), 16)
        return _deep(x, 8)

    return [
        Case(
            f"x = x.sigmoid().tanh(), 16 times from x.repeat(1, 3), thrown away; then 8 times from x, of shape ({n}, 4)",
            larger_before,
            (x,),
            "What was thrown away was larger. Its addresses may be given out again.",
            by_chance=True,
        ),
        Case(
            f"a module that 16 times puts a new tensor in the place of a buffer, and then x = x.sigmoid().tanh(), x of shape ({n}, 4)",
            Aged(trial, n),
            (x,),
            "Nothing has saved the old buffers, and they are freed. Their addresses may be given out again.",
            by_chance=True,
        ),
    ]
