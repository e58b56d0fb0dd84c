"""Row 14 of `labbook bench`: what the own allocator serves, lower peaks, and what its check costs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ci.bench.table import Table, row
from ci.bench.timing.peak_memory import Peak, megabytes
from ci.bench.timing.rounds import medians, number, spread, times_ms
from ci.notebooks.reference import solutions_of

ROUNDS = 15
CHECKS = 9
WIDTH, LAYERS = 512, 6


class Counts:
    """Keeps a dict of what is out, and decides nothing: what any allocator in Python costs at least."""

    def __init__(self) -> None:
        self.out: dict[int, int] = {}
        self.count = 0

    def malloc(self, nbytes: int, stream: int = 0) -> int:
        self.count += 1
        self.out[self.count] = nbytes
        return self.count

    def free(self, address: int) -> None:
        del self.out[address]


def layers(activation: type[nn.Module] = nn.Tanh) -> nn.Sequential:
    """The notebook's model, the same at each call."""
    torch.manual_seed(0)
    pairs = [(nn.Linear(WIDTH, WIDTH, bias=False), activation()) for _ in range(LAYERS)]
    return nn.Sequential(*(module for pair in pairs for module in pair))


def plain_step(model: nn.Module, optimizer: torch.optim.Optimizer, x: Tensor) -> None:
    """A training step as usual: the optimizer comes when the backward is over."""
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()


def allocators(solved: dict[str, Any]) -> dict[str, Callable[[], None]]:
    """The real requests of a step with 2048 rows, three steps each, handed to allocators that begin empty."""
    from helpers.labs import memory as lab

    model, x = layers(), torch.randn(2048, WIDTH)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    plain_step(model, sgd, x)
    requests = lab.requests_of(lambda: plain_step(model, sgd, x))

    def served(make: Callable[[], Any]) -> None:
        allocator = make()
        for _ in range(3):
            for _ in lab.replay(allocator, requests):
                pass

    own = solved["14.caching_allocator"]
    calls = {
        "own": lambda: served(lambda: own(lab.Device(10**12), lab.rules())),
        "counts": lambda: served(Counts),
    }
    return {
        f"{name}, {3 * 2 * sum(each.nbytes > 0 for each in requests)}": call for name, call in calls.items()
    }


def peaks(
    step_in_backward: Callable[..., Any], make: Callable[[list[Any]], torch.optim.Optimizer]
) -> tuple[int, int]:
    """The most bytes that live in a step: with the optimizer's part inside the backward, and after it."""
    from helpers.labs import memory as lab

    x, first, second = torch.randn(64, WIDTH), layers(), layers()
    optimizer = make(list(first.parameters()))
    step_in_backward(second, make)
    plain_step(first, optimizer, x), second(x).square().mean().backward()  # now the states are there
    after = lab.requests_of(lambda: plain_step(first, optimizer, x))
    inside = lab.requests_of(lambda: second(x).square().mean().backward())
    return max(lab.live(inside)), max(lab.live(after))


@row("14", minutes=0.5)
def memory(root: Path) -> Table:
    """Own allocator beside one that only counts; peaks of a step; saved bytes; the check's cost."""
    import helpers
    from helpers.labs import memory as lab

    torch.set_num_threads(1)
    solved = solutions_of(root, "14")
    table = Table(
        "14: own pieces, one thread",
        ["what", "own", "beside it", "own / beside it"],
        note=(
            f"Requests: medians of {ROUNDS} rounds in turn. Bytes: by the profiler, exact; after a forward "
            f"the result lives, too, which GELU does not save. The check: {CHECKS} times the "
            "solution; memory of this process and all below it, and before the checks."
        ),
    )
    took = medians(allocators(solved), ROUNDS)
    rates = [int(name.split(", ")[1]) / seconds for name, seconds in took.items()]
    table.lines.append(
        [
            "requests and frees a second, beside a dict that counts",
            *map(number, rates),
            number(rates[0] / rates[1]),
        ]
    )

    makes: dict[str, Callable[[list[Any]], torch.optim.Optimizer]] = {
        "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.1),
        "Adam": lambda parameters: torch.optim.Adam(parameters, foreach=False),
    }
    for name, make in makes.items():
        inside, after = peaks(solved["14.step_in_backward"], make)
        table.lines.append(
            [f"peak of a step with {name}, bytes, inside and after", inside, after, number(inside / after)]
        )

    x = torch.randn(64, WIDTH)
    for activation in (nn.ReLU, nn.GELU):
        model = layers(activation)
        own, live = (
            solved["14.saved_bytes"](model, x),
            lab.live(lab.requests_of(lambda model=model: model(x)))[-1],
        )
        table.lines.append(
            [
                f"saved with {activation.__name__}, beside what lives after the forward, bytes",
                own,
                live,
                number(own / live),
            ]
        )

    exercise, answer = helpers.exercises()["14.caching_allocator"], solved["14.caching_allocator"]
    exercise.check(answer)  # the first one starts the worker
    before = megabytes(os.getpid())
    with Peak(os.getpid()) as peak:
        times = times_ms(lambda: exercise.check(answer), CHECKS)
    most = peak.mb or before
    table.lines.append(["check of CachingAllocator: median (min..max) ms", spread(times), "", ""])
    table.lines.append(
        [
            "check of CachingAllocator: MB at most, and before",
            number(most),
            number(before),
            number(most / before),
        ]
    )
    table.samples["check of CachingAllocator, ms"] = times
    return table
