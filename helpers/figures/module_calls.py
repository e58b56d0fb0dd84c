"""Figure of lab 05: who is called when in one run of a nested model, as it was logged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from helpers.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW, white

MARKS = {
    "global pre-hook": (PURPLE, "v"),
    "pre-hook": (BLUE, "v"),
    "global hook": (YELLOW, "^"),
    "hook": (GREEN, "^"),
    "always_call hook": (ORANGE, "D"),
}


@dataclass(frozen=True)
class Event:
    """Something that was called: a hook of MARKS, or "forward", "returns", "raises"; `module` is its path."""

    module: str
    kind: str


@contextmanager
def logged(model: nn.Module) -> Iterator[list[Event]]:
    """Yields the list that fills while the model runs in the block: hooks and forwards of all its modules, in order.

    For the block each module has a pre-hook, a hook and an always_call hook of its own, and there is a global
    pre-hook and a global hook. Afterwards all is as before.
    """
    events: list[Event] = []
    paths = {module: path or "model" for path, module in model.named_modules()}

    def note(kind: str) -> Callable[..., None]:
        return lambda module, *_: events.append(Event(paths[module], kind)) if module in paths else None

    handles = [
        register_module_forward_pre_hook(note("global pre-hook")),
        register_module_forward_hook(note("global hook")),
    ]
    for module in paths:
        handles.append(module.register_forward_pre_hook(note("pre-hook")))
        handles.append(module.register_forward_hook(note("hook")))
        handles.append(module.register_forward_hook(note("always_call hook"), always_call=True))
        vars(module)["forward"] = _noting(module.forward, paths[module], events)
    try:
        yield events
    finally:
        for module in paths:
            vars(module).pop("forward", None)
        for handle in handles:
            handle.remove()


def _noting(forward: Callable[..., Any], path: str, events: list[Event]) -> Callable[..., Any]:
    def noting(*args: Any, **kwargs: Any) -> Any:
        events.append(Event(path, "forward"))
        try:
            result = forward(*args, **kwargs)
        except BaseException:
            events.append(Event(path, "raises"))
            raise
        events.append(Event(path, "returns"))
        return result

    return noting


def call_timeline(events: Sequence[Event], rows: Sequence[str], title: str) -> Figure:
    """The events from left to right, one line for each module; a bar is the time in which forward runs.

    Args:
        events: As `logged` gave them.
        rows: The paths of the modules, from top to bottom.
        title: What was run.
    """
    figure, axes = white(9.6, 1.6 + 0.42 * len(rows))
    place = {path: at for at, path in enumerate(rows)}
    for path, start, stop, raised in _bars(events):
        colour = "#f3c9b5" if raised else "#cfe6f5"
        axes.barh(
            place[path], stop - start, left=start, height=0.34, color=colour, edgecolor=SKY, linewidth=0.8
        )
        if raised:
            axes.text(stop, place[path], "\u2715", color=ORANGE, ha="center", va="center", fontweight="bold")
    for kind, (colour, mark) in MARKS.items():
        at = [(time, place[event.module]) for time, event in enumerate(events) if event.kind == kind]
        axes.plot(*zip(*at, strict=True) if at else ([], []), mark, color=colour, markersize=7, label=kind)
    axes.set(
        xlim=(-1, max(len(events), 1)),
        ylim=(len(rows) - 0.5, -0.6),
        xlabel="what is called, one after the other",
    )
    axes.set_yticks(range(len(rows)), rows)
    axes.grid(axis="x", visible=False)
    axes.set_title(title, fontsize=10, loc="left", color=GREY)
    figure.legend(frameon=False, fontsize=8.5, loc="outside lower center", ncols=len(MARKS))
    return figure


def _bars(events: Sequence[Event]) -> Iterator[tuple[str, int, int, bool]]:
    """Path, beginning and end of each forward, and whether it raised; one that did not end goes to the last event."""
    running: list[tuple[str, int]] = []
    for time, event in enumerate(events):
        if event.kind == "forward":
            running.append((event.module, time))
        elif event.kind in ("returns", "raises") and running:
            yield *running.pop(), time, event.kind == "raises"
    for path, start in running:
        yield path, start, len(events), False


def call_timeline_alt(events: Sequence[Event], title: str) -> str:
    """What `call_timeline` shows, in words."""
    description = ", ".join(f"{event.kind} of {event.module}" for event in events)
    return f"Who is called when, {title}: {description or 'nobody'}."
