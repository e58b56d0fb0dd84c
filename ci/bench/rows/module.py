"""Row 05 of `labbook bench`: a call, a state dict and a recorder in Python, beside torch's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ci.bench.table import Table, row
from ci.bench.timing.rounds import medians, one_thread
from ci.notebooks.reference import solutions_of

REPEATS, CALLS = 41, 50


class Nothing(nn.Module):
    """Its forward does nothing, so that only the call is left."""

    def forward(self, x: Any) -> Any:
        return x


def blocks() -> nn.Module:
    """Two attention blocks without dropout, in training mode (in eval mode torch has a short cut, which hooks end)."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 4, dim_feedforward=64, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


@contextmanager
def hooked(module: nn.Module, pairs: int) -> Iterator[None]:
    """So many pre-hooks and as many hooks, which do nothing."""
    handles = [module.register_forward_pre_hook(lambda module, args: None) for _ in range(pairs)]
    handles += [module.register_forward_hook(lambda module, args, output: None) for _ in range(pairs)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@row("05", minutes=0.1)
def module(root: Path) -> Table:
    """The solution's `call`, `state_dict` and `ActivationRecorder` against torch, one thread."""
    given = solutions_of(root, "05")
    table = Table(
        "05: microseconds, the solution's piece beside torch's",
        ["what", "torch us", "own us", "ratio"],
        note=f"Medians of {REPEATS} runs in turn, one thread. Last line: a forward of two attention blocks on "
        "(8, 64, 32), without a recorder (left) and inside one, which copies what each module gives.",
    )
    with one_thread():
        table.lines += call_lines(given["05.call"])
        table.lines += state_lines(given["05.state_dict"])
        table.lines += recorder_lines(given["05.activation_recorder"])
    return table


def call_lines(call: Callable[..., Any]) -> list[list[Any]]:
    """A call of a module that does nothing, without hooks and with some."""
    lines, nothing = [], Nothing()
    for pairs in (0, 1, 4):
        with hooked(nothing, pairs):
            ways = {"torch": lambda: nothing(1), "own": lambda: call(nothing, 1)}
            torchs, own = medians(ways, REPEATS, times=CALLS).values()
        lines.append([f"call, {pairs} pre-hooks and {pairs} hooks", torchs * 1e6, own * 1e6, own / torchs])
    return lines


def state_lines(answer: tuple[Callable[..., Any], Callable[..., Any]]) -> list[list[Any]]:
    """Saving and loading the two blocks."""
    state_dict, load_state_dict = answer
    model = blocks()
    state = model.state_dict()
    pairs = {
        "state_dict": {"torch": model.state_dict, "own": lambda: state_dict(model)},
        "load_state_dict": {
            "torch": lambda: model.load_state_dict(state),
            "own": lambda: load_state_dict(model, state),
        },
    }
    lines = []
    for name, ways in pairs.items():
        torchs, own = medians(ways, REPEATS, times=3).values()
        lines.append([f"{name}, {len(state)} tensors", torchs * 1e6, own * 1e6, own / torchs])
    return lines


def recorder_lines(recorder: Any) -> list[list[Any]]:
    """A forward without a recorder and inside one."""
    plain, watched, x = blocks(), blocks(), torch.randn(8, 64, 32)
    recording = recorder(watched)

    def run() -> None:
        recording.activations.clear()
        watched(x)

    with torch.no_grad(), recording:
        alone, inside = medians({"alone": lambda: plain(x), "inside": run}, REPEATS).values()
    return [["forward in a recorder", alone * 1e6, inside * 1e6, inside / alone]]
