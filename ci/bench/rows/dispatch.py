"""Row 12 of `labbook bench`: what own dispatcher, own log and own autocast cost beside torch's, in one run."""

from __future__ import annotations

import copy
from pathlib import Path

import torch
from torch import nn

from ci.bench.table import Table, row
from ci.bench.timing.rounds import beside_torch, one_thread
from ci.notebooks.reference import solutions_of

ROUNDS = 31
KEYS = ["Autocast", "Autograd", "CPU"]


@row("12", minutes=0.1)
def dispatch(root: Path) -> Table:
    """A call through three keys; a forward and backward with and without a log; autocast by a mode and by torch."""
    solved = solutions_of(root, "12")
    dispatcher = solved["12.mini_dispatcher"](KEYS, lambda *_: KEYS)
    for above in KEYS[:-1]:
        dispatcher.register("neg", above, lambda x, above=above: dispatcher.redispatch("neg", above, x))
    dispatcher.register("neg", "CPU", torch.neg)
    one = torch.ones(1)
    model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256))
    x = torch.randn(64, 256, generator=torch.Generator().manual_seed(0))
    on_meta, x_on_meta = copy.deepcopy(model).to("meta"), x.to("meta")

    def step() -> None:
        model(x).sum().backward()

    def logged() -> None:
        with solved["12.op_log"]():
            step()

    def autocast() -> None:
        with torch.autocast("cpu", torch.bfloat16):
            model(x)

    def own_autocast() -> None:
        with solved["12.mini_autocast"](torch.bfloat16, {"linear"}, set()):
            model(x)

    table = Table(
        "12: own pieces beside torch's, one thread",
        ["what", "own us", "torch us", "own / torch"],
        note=f"Medians of {ROUNDS} rounds in turn. bytes_moved: a step on the meta device beside the step itself.",
    )
    pairs = {
        "a call through three keys": {
            "own": lambda: dispatcher.call("neg", one),
            "torch": lambda: torch.neg(one),
        },
        "forward and backward in a log": {"own": logged, "torch": step},
        "forward in autocast": {"own": own_autocast, "torch": autocast},
        "bytes_moved": {
            "own": lambda: solved["12.bytes_moved"](lambda x: on_meta(x).sum().backward(), x_on_meta),
            "torch": step,
        },
    }
    with one_thread():
        table.lines += beside_torch(pairs, ROUNDS)
    return table
