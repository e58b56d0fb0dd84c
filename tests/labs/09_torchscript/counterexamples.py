"""Right answers to 09.counterexamples, in different shapes."""

from __future__ import annotations

import copy
import itertools

import torch

from helpers.labs.torchscript.shown.cases import Case


def by_name(case: Case) -> list[tuple]:
    """As in the notebook: a thought for each case."""
    eager, (x, *rest) = case.eager, case.example
    if case.name == "branch":
        return [(2 * eager.threshold - x,)]
    if case.name in ("loop", "len"):
        return [(torch.cat([x, x + 1]),)]
    if case.name == "state":
        return [(x + 1,)] * (eager.free + 1)
    if case.name == "item":
        return [(x.abs(), rest[0] - 1)]
    return [(x.abs() + 1,)]


def searched(case: Case) -> list[tuple]:
    """Tries candidates on copies, longer and longer lists; knows no names."""
    x = case.example[0]
    changed = [x + 7, x - 7, torch.cat([x, 2 * x + 1]), -x - 1]
    candidates = [(value, *rest) for value in changed for rest in _others(case.example[1:])]
    for length in range(1, 8):
        for call in candidates:
            eager, traced = copy.deepcopy(case.eager), case.traced
            torch.manual_seed(0)
            for _ in range(length):
                try:
                    results = eager(*call), traced(*call)
                except (RuntimeError, IndexError):
                    break
            else:
                same = results[0].shape == results[1].shape and torch.allclose(*results)
                if not same:
                    return [call] * length
    raise AssertionError(case.name)


def _others(rest: tuple) -> list[tuple]:
    return list(itertools.product(*([value, value + 1] for value in rest)))


class Finder:
    """A class with a method a case; large values everywhere."""

    def __call__(self, case: Case) -> list[tuple]:
        return [*getattr(self, case.name)(case)]

    def branch(self, case: Case) -> list[tuple]:
        (x,) = case.example
        below = bool(x.mean() <= case.eager.threshold)
        return [(torch.full((2, 2), case.eager.threshold + (100.0 if below else -100.0)),)]

    def loop(self, case: Case) -> list[tuple]:
        return [(torch.ones(len(case.example[0]) + 1, 3),)]

    len = loop

    def state(self, case: Case) -> list[tuple]:
        return [(torch.full((1, 1), float(count + 1)),) for count in range(case.eager.free + 1)]

    def item(self, case: Case) -> list[tuple]:
        return [(torch.ones(9, 2), torch.tensor(9))]

    def training(self, case: Case) -> list[tuple]:
        return [(torch.ones(50),)]

    def random(self, case: Case) -> list[tuple]:
        return [(torch.tensor(1.0),)]


def drawn(case: Case) -> list[tuple]:
    """Random inputs from the global generator."""
    x = case.example[0]
    if case.name == "branch":
        away = -50 if x.mean() > case.eager.threshold else 50
        return [(torch.randn(5, 2) + away,)]
    if case.name in ("loop", "len"):
        return [(torch.rand(x.shape[0] + 3, 4) + 1,)]
    if case.name == "item":
        return [(torch.rand(7, 4), torch.tensor(5))]
    count = case.eager.free + 1 if case.name == "state" else 1
    return [(torch.rand(3, 4) + 0.1,) for _ in range(count)]


RIGHT = [by_name, searched, Finder(), drawn]
