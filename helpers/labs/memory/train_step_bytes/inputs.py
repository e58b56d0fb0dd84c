"""What 14.train_step_bytes is tried on: models, optimizers and batches, each with one thing that is easily counted wrong."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from helpers.check.garbage import collector
from helpers.check.trial import Trial
from helpers.labs.memory.shared.kept import in_words, kept_after

KINDS = ("parameters", "buffers", "batch", "saved", "gradients", "optimizer")


@dataclass
class Step:
    """The arguments of one call, and what ran."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    loss_fn: Callable[[Tensor, Tensor], Tensor]
    x: Tensor
    y: Tensor
    ran: list[str] = field(default_factory=list)
    generator: Tensor | None = None  # the state of torch's generator after the step

    def arguments(self) -> tuple[Any, ...]:
        return self.model, self.optimizer, self.loss_fn, self.x, self.y


Make = Callable[[torch.Generator], Step]


def plain_step(step: Step) -> dict[str, list[int]]:
    """Makes the step, and measures: of each kind the bytes of each memory."""
    model, x, y = step.model, step.x, step.y
    for each in model.parameters():
        each.grad = None
    loss, saved = kept_after(lambda: step.loss_fn(model(x), y))
    loss.backward()
    gradients = memories(each.grad for each in model.parameters() if each.grad is not None)
    step.optimizer.step()
    state = tree_leaves(list(step.optimizer.state.values()))
    return {
        "parameters": memories(model.parameters()),
        "buffers": memories(model.buffers()),
        "batch": memories((x, y)),
        "saved": saved,
        "gradients": gradients,
        "optimizer": memories(each for each in state if isinstance(each, Tensor)),
    }


def memories(tensors: Iterable[Tensor]) -> list[int]:
    """The bytes of each memory that the tensors look at."""
    storages = [each.untyped_storage() for each in tensors]
    return sorted({each._cdata: each.nbytes() for each in storages}.values())


def require(
    answer: Any,
    trial: Trial,
    words: str,
    make: Make,
    lessons: dict[str, str],
    times: int = 1,
    by_chance: bool = False,
) -> tuple[Step, Step]:
    """Wrong unless the answer says of each kind what is measured. Returns its step and the plain one.

    make: makes the same step each time that it is given a generator in the same state. times: so many steps in a row.
    by_chance: how far off a wrong answer is depends on which addresses are given out again.
    """
    seed, hidden = trial.random.randrange(1 << 30), torch.get_rng_state()
    mine, its = (make(torch.Generator().manual_seed(seed)) for _ in range(2))
    for number in range(times):
        again = f"; step {number + 1} in a row" if number else ""
        trial.given(words + again)
        state = torch.get_rng_state()
        want = plain_step(mine)
        mine.generator = torch.get_rng_state()
        torch.set_rng_state(state)
        with collector(by_itself=True):
            got = trial.call(answer, *its.arguments())
        its.generator = torch.get_rng_state()
        right(trial, got, want, lessons, words + again, by_chance)
    torch.set_rng_state(hidden)
    return its, mine


def right(
    trial: Trial,
    got: Any,
    want: dict[str, list[int]],
    lessons: dict[str, str],
    name: str,
    by_chance: bool = False,
) -> None:
    """Wrong unless `got` holds the sum of the sizes of each kind. name: what the step is known by."""
    trial.true(
        isinstance(got, dict),
        f"The result is a {type(got).__name__}, and a dict is asked for.",
        expected=f"a dict with the keys {', '.join(KINDS)}",
        got=got,
        observed=("type", type(got).__name__),
    )
    missing = [kind for kind in KINDS if kind not in got]
    trial.true(
        not missing,
        f"The result has no key {', '.join(missing)}.",
        expected=f"the keys {', '.join(KINDS)}",
        got=", ".join(map(str, got)),
        observed=("missing", missing),
    )
    odd = [kind for kind in KINDS if type(got[kind]) is not int]
    trial.true(
        not odd,
        f'"{odd[0] if odd else ""}" is a {type(got[odd[0]]).__name__ if odd else ""}, and an int is asked for.',
        expected="an int for each kind",
        got=got,
        observed=("kind of number", odd),
    )
    wrong = [kind for kind in KINDS if got[kind] != sum(want[kind])]
    if wrong:
        kind, others = wrong[0], wrong[1:]
        if by_chance:
            off = "more" if got[kind] > sum(want[kind]) else "less"
            trial.fail(
                f'"{kind}" is {off} than {sum(want[kind]):,} bytes, which are right. {lessons.get(kind, TOLD[kind])}',
                expected=f"{sum(want[kind]):,} bytes",
                got=f"{off} than that",
                observed=(name, kind, off),
            )
        trial.fail(
            f'"{kind}" is {got[kind]:,}, and {in_words(want[kind])} are right. {lessons.get(kind, TOLD[kind])}'
            + (f' Wrong, too: "{", ".join(others)}".' if others else ""),
            expected=in_words(want[kind]),
            got=f"{got[kind]:,} bytes",
            observed=(name, [(each, got[each]) for each in wrong]),
        )


TOLD = {
    "parameters": "All parameters of the model count, trained or not, each memory once and whole.",
    "buffers": "All buffers of the model count, and nothing else.",
    "batch": "The batch is x and y.",
    "saved": "Counted is what the forward of model and loss makes, and the loss keeps for the backward. The parameters, the buffers "
    "and the batch were there before.",
    "gradients": "Counted are the gradients that the model's parameters have when the backward has ended.",
    "optimizer": "Counted are all tensors in the optimizer's state after the step, also those with one number.",
}


def drawn(g: torch.Generator, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(shape, generator=g, dtype=torch.float64).to(dtype)


def given_numbers(model: nn.Module, g: torch.Generator) -> nn.Module:
    """The model with weights from `g`, in place."""
    with torch.no_grad():
        for each in model.parameters():
            each.copy_(drawn(g, *each.shape) * 0.5)
    return model


def layers(*each: Callable[[], nn.Module]) -> nn.Sequential:
    """Layers without a draw from the global generator."""
    with torch.random.fork_rng(devices=[]):
        return nn.Sequential(*(make() for make in each))


def small(g: torch.Generator) -> nn.Module:
    made = layers(lambda: nn.Linear(6, 5), nn.Tanh, lambda: nn.Linear(5, 4))
    return given_numbers(made, g)


def classified(g: torch.Generator, rows: int = 7) -> tuple[Tensor, Tensor]:
    return drawn(g, rows, 6), torch.randint(3, (rows,), generator=g)


def adam(g: torch.Generator) -> Step:
    model = small(g)
    x, y = classified(g)
    return Step(model, torch.optim.Adam(model.parameters(), lr=0.1), F.cross_entropy, x, y)


def momentum(g: torch.Generator) -> Step:
    model = small(g)
    x, y = classified(g, 9)
    return Step(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), F.cross_entropy, x, y)


def stateless(g: torch.Generator) -> Step:
    model = small(g)
    x, y = classified(g, 8)
    return Step(model, torch.optim.SGD(model.parameters(), lr=0.1), F.cross_entropy, x, y)


class Marked(torch.autograd.Function):
    """The same number; its backward is noted."""

    @staticmethod
    def forward(ctx: Any, loss: Tensor, note: Callable[[str], None]) -> Tensor:
        ctx.note = note
        return loss.clone()

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor, None]:
        ctx.note("backward")
        return above, None


class Noting(nn.Module):
    def __init__(self, inner: nn.Module, note: Callable[[str], None]) -> None:
        super().__init__()
        self.inner, self.note = inner, note

    def forward(self, x: Tensor) -> Tensor:
        self.note("model")
        return self.inner(x)


class NotingSGD(torch.optim.SGD):
    note: Callable[[str], None] = staticmethod(lambda word: None)

    def step(self, closure: Any = None) -> Any:
        self.note("optimizer")
        return super().step(closure)


def noted(g: torch.Generator) -> Step:
    """All that runs is noted, and all parameters have gradients of an earlier batch."""
    ran: list[str] = []
    note = lambda word: ran.append(word)  # noqa: E731  # a function is not copied with the model, as a method is
    model = Noting(small(g), note)
    optimizer = NotingSGD(model.parameters(), lr=0.1, momentum=0.9)
    optimizer.note = note

    def loss_fn(out: Tensor, y: Tensor) -> Tensor:
        note("loss")
        return Marked.apply(F.cross_entropy(out, y), note)

    for each in model.parameters():
        each.grad = drawn(g, *each.shape)
    x, y = classified(g)
    return Step(model, optimizer, loss_fn, x, y, ran)


def hooked(g: torch.Generator) -> Step:
    """As `noted`, and the model has hooks of its own, which are noted, too."""
    step = noted(g)
    note = step.ran.append
    step.model.register_forward_pre_hook(lambda model, args: note("pre-hook"))
    step.model.register_forward_hook(lambda model, args, out: note("hook"))
    return step


class Tied(nn.Module):
    """One weight at both ends, under two names."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.out = nn.Embedding(11, 4), nn.Linear(4, 11)
        self.out.weight = self.table.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.table(x).tanh()).flatten(0, 1)


def tied(g: torch.Generator) -> Step:
    """A language model: x and y are two parts of one tensor."""
    (model,) = layers(Tied)
    given_numbers(model, g)
    tokens = torch.randint(11, (3, 9), generator=g)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    return Step(
        model, optimizer, lambda out, y: F.cross_entropy(out, y.flatten()), tokens[:, :-1], tokens[:, 1:]
    )


class Flat(nn.Module):
    """Parameters that are slices of one memory, of which no parameter uses the end; two of them are put together."""

    def __init__(self, g: torch.Generator) -> None:
        super().__init__()
        flat = drawn(g, 41)
        self.first, self.second = (nn.Parameter(flat[at : at + 12].view(2, 6)) for at in (0, 12))
        self.third = nn.Parameter(flat[24:39].view(5, 3))
        self.fourth = nn.Parameter(drawn(g, 1, 6), requires_grad=False)
        self.register_buffer("row", flat[24:27])

    def forward(self, x: Tensor) -> Tensor:
        whole = torch.cat([self.first, self.second, self.fourth])
        return (x @ whole.T).tanh() @ self.third + self.row.detach()


class OneState(torch.optim.Optimizer):
    """Momentum, whose buffers are slices of one memory; and a note that is no tensor."""

    def __init__(self, parameters: Iterable[Tensor]) -> None:
        super().__init__(parameters, {"lr": 0.1})

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        trained = [each for group in self.param_groups for each in group["params"] if each.grad is not None]
        if not self.state:
            flat, at = torch.zeros(sum(each.numel() for each in trained) + 2), 0
            for each in trained:
                self.state[each] = {
                    "velocity": nn.Parameter(flat[at : at + each.numel()].view_as(each), requires_grad=False),
                    "count": 0,
                    "none": None,
                }
                at += each.numel()
        for each in trained:
            entry = self.state[each]
            entry["velocity"].mul_(0.9).add_(each.grad)
            entry["count"] += 1
            each.add_(entry["velocity"], alpha=-0.1)
        return loss


def flat(g: torch.Generator) -> Step:
    model = Flat(g)
    x, y = classified(g, 8)
    return Step(model, OneState(model.parameters()), F.cross_entropy, x, y)


class Partly(nn.Module):
    """A frozen layer, and one that no forward reaches."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 5), nn.Linear(5, 3)
        self.unused = nn.Linear(4, 2)
        self.frozen = nn.Linear(6, 6, bias=False).requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(self.frozen(x)).tanh())


def partly(g: torch.Generator) -> Step:
    """The optimizer has the first layer and the unused one; all parameters have gradients of an earlier batch."""
    (model,) = layers(Partly)
    given_numbers(model, g)
    for each in model.parameters():
        whole = drawn(g, 2, *each.shape)
        each.grad = whole[0]
    groups = [
        {"params": [model.first.weight], "lr": 0.1},
        {"params": [model.first.bias, *model.unused.parameters()], "lr": 0.2},
    ]
    optimizer = torch.optim.AdamW(groups, amsgrad=True)
    x, y = classified(g)
    return Step(model, optimizer, F.cross_entropy, x, y)


class Masked(nn.Module):
    """A table and a mask among its buffers, the second left out of state_dict. A part of each is saved."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.out = nn.BatchNorm1d(6), nn.Linear(6, 3)
        self.register_buffer("table", torch.ones(20, 6) * 2)
        self.register_buffer("mask", torch.ones(20, 6).triu(3).bool(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        n = len(x)
        h = self.norm(x) * self.table[2 : 2 + n]
        return self.out(F.dropout(h.masked_fill(self.mask[1 : n + 1], 0.0), 0.3, self.training))


def masked(g: torch.Generator, training: bool) -> Step:
    (model,) = layers(Masked)
    given_numbers(model, g).train(training)
    x, y = classified(g)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return Step(model, optimizer, F.cross_entropy, x, y)


class Wasteful(nn.Module):
    """Makes a second result and throws it away, as a model does whose head for an auxiliary loss is not used."""

    def __init__(self, by_sigmoid: bool) -> None:
        super().__init__()
        self.first, self.out, self.other = nn.Linear(6, 5), nn.Linear(5, 3), nn.Linear(5, 8)
        self.by_sigmoid = by_sigmoid

    def forward(self, x: Tensor) -> Tensor:
        h = self.first(x).tanh()
        result = self.out(h)
        second = self.other(h.sin())
        second.sigmoid() if self.by_sigmoid else second.cos() * second  # nobody looks at it
        return result


def wasteful(g: torch.Generator, by_sigmoid: bool) -> Step:
    (model,) = layers(lambda: Wasteful(by_sigmoid))
    given_numbers(model, g)
    x, y = classified(g)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return Step(model, optimizer, F.cross_entropy, x, y)


class Repeated(nn.Module):
    """Saves parts of one memory, what is expanded, and a list of places."""

    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        both = self.out(x)[x[:, 0].argsort()].repeat(1, 3)
        return both[:, :3] * both[:, 5:8] + both[:, 2:5].sum(0).expand(len(x), 3) * both[:, 1:4]


def repeated(g: torch.Generator) -> Step:
    (model,) = layers(Repeated)
    given_numbers(model, g)
    x, y = drawn(g, 7, 6), drawn(g, 7, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return Step(model, optimizer, lambda out, y: ((out - y) * (out - y)).sum(), x, y)


class Mixed(nn.Module):
    """One layer in bfloat16, one in float64."""

    def __init__(self) -> None:
        super().__init__()
        self.low, self.high = nn.Linear(6, 5).bfloat16(), nn.Linear(5, 3).double()

    def forward(self, x: Tensor) -> Tensor:
        return self.high(self.low(x.bfloat16()).relu().double())


def mixed(g: torch.Generator) -> Step:
    (model,) = layers(Mixed)
    given_numbers(model, g)
    x, y = drawn(g, 7, 6), drawn(g, 7, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    return Step(model, optimizer, lambda out, y: F.mse_loss(out.float(), y), x, y)


class Running(nn.Module):
    """Uses a buffer, and puts a new tensor in its place."""

    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Linear(6, 3)
        self.register_buffer("scale", torch.ones(6) * 2)

    def forward(self, x: Tensor) -> Tensor:
        h = x.tanh() * self.out.weight.sum(0) * self.scale
        self.scale = 0.9 * self.scale + 0.1 * h.detach().abs().amax(0)
        return self.out(h)


def running(g: torch.Generator) -> Step:
    return _with_sgd(g, Running)


class Showing(nn.Module):
    """Keeps a result to be looked at, without its graph."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.out, self.other = nn.Linear(6, 5), nn.Linear(5, 3), nn.Linear(5, 8)

    def forward(self, x: Tensor) -> Tensor:
        h = self.first(x).tanh()
        self.seen = self.other(h).sigmoid().detach()
        return self.out(h)


def showing(g: torch.Generator) -> Step:
    return _with_sgd(g, Showing)


def _with_sgd(g: torch.Generator, make: Callable[[], nn.Module]) -> Step:
    (model,) = layers(make)
    given_numbers(model, g)
    x, y = classified(g)
    return Step(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), F.cross_entropy, x, y)


class Gathering(torch.optim.SGD):
    """Puts all gradients into one memory."""

    def step(self, closure: Any = None) -> Any:
        loss = super().step(closure)
        trained = [each for group in self.param_groups for each in group["params"]]
        whole, at = torch.zeros(sum(each.numel() for each in trained) + 7), 0
        for each in trained:
            part = whole[at : at + each.numel()].view_as(each)
            each.grad, at = part.copy_(each.grad), at + each.numel()
        return loss


class LettingGo(torch.optim.SGD):
    """Sets the gradients to None when it has used them."""

    def step(self, closure: Any = None) -> Any:
        loss = super().step(closure)
        self.zero_grad()
        return loss


def gathered(g: torch.Generator) -> Step:
    model = small(g)
    return Step(model, Gathering(model.parameters(), lr=0.1), F.cross_entropy, *classified(g))


def let_go(g: torch.Generator) -> Step:
    model = small(g)
    return Step(model, LettingGo(model.parameters(), lr=0.1), F.cross_entropy, *classified(g))


class Deep(torch.optim.SGD):
    """Has a history of gradients in a list, statistics in a dict with a tuple, and what all parameters share."""

    def step(self, closure: Any = None) -> Any:
        loss = super().step(closure)
        for each in self.param_groups[0]["params"]:
            entry = self.state[each]
            entry.setdefault("history", []).append(each.grad.clone())
            entry["kept"] = {"sums": (each.grad.abs().sum(0), None), "steps": len(entry["history"])}
        self.state["shared"] = {"norms": [torch.ones(9)], "name": "norms"}
        self.state["scale"] = torch.ones(3)
        return loss


def deep_state(g: torch.Generator) -> Step:
    model = small(g)
    optimizer = Deep(model.parameters(), lr=0.1, momentum=0.9)
    return Step(model, optimizer, F.cross_entropy, *classified(g))


def tensor_rate(g: torch.Generator) -> Step:
    model = small(g)
    optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.1))
    return Step(model, optimizer, F.cross_entropy, *classified(g))


class Sums(NamedTuple):
    """Two sums over a gradient."""

    plain: Tensor
    absolute: Tensor


class Sorted(torch.optim.SGD):
    """Its state has dicts and tuples of classes of their own: OrderedDict, defaultdict, a named tuple."""

    def step(self, closure: Any = None) -> Any:
        loss = super().step(closure)
        for each in self.param_groups[0]["params"]:
            sums = Sums(each.grad.sum(0), each.grad.abs().sum(0))
            self.state[each] = OrderedDict(self.state[each], last=each.grad.clone(), sums=sums)
        self.state["shared"] = defaultdict(list, norms=[torch.ones(9)])
        return loss


def sorted_state(g: torch.Generator) -> Step:
    model = small(g)
    optimizer = Sorted(model.parameters(), lr=0.1, momentum=0.9)
    return Step(model, optimizer, F.cross_entropy, *classified(g))


def copied(g: torch.Generator) -> Step:
    """An autoencoder: y is x. The batch is a part of a larger tensor."""
    model = given_numbers(layers(lambda: nn.Linear(6, 2), nn.Tanh, lambda: nn.Linear(2, 6)), g)
    x = drawn(g, 12, 6)[3:10]
    return Step(model, torch.optim.SGD(model.parameters(), lr=0.1), F.mse_loss, x, x)
