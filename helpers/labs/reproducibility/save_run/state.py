"""Where a run stands, part by part, and how two such standings differ (exercise 01.save_run)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from helpers.labs.reproducibility.shown.run import Run, Step

GENERATORS = ("torch's generator", "NumPy's generator", "Python's generator", "the generator 'augment'")
UNTOUCHED = "not put back"
ITERATOR = "left as the making of the iterator left it"
ELSEWHERE = "in a different state from the saved one"
MOVED_ON = "moved on, as if the skipped samples had been drawn a second time"
NO_SPARE = "right, but for the spare normal number that it holds ready"

SAME_OBJECT = {
    "the optimizer's parameters": "no longer those of the model",
    "the dataset's generator": "no longer the one in run.generators",
}


def standing(run: Run) -> dict[str, Any]:
    """Every part of a run that the next batches depend on, as plain data that can be compared."""
    sets = run.optimizer.state_dict()
    return {
        "the parameters": _plain(dict(run.model.named_parameters())),
        "the buffers": _plain(dict(run.model.named_buffers())),
        "the training mode": [module.training for module in run.model.modules()],
        "the optimizer's state": _plain(sets["state"]),
        "the learning rate": [group["lr"] for group in sets["param_groups"]],
        "the scheduler's count": run.scheduler.last_epoch,
        "run.epoch": run.epoch,
        "run.batch": run.batch,
        "run.epoch_start": _plain(run.epoch_start),
        "the optimizer's parameters": _same_objects(run),
        "the dataset's generator": run.loader.dataset.generator is run.generators["augment"],
        **generators(run),
    }


def generators(run: Run) -> dict[str, Any]:
    """The states of all generators, as plain data."""
    _, words, place, holds_spare, spare = np.random.get_state()
    return {
        "torch's generator": _plain(torch.get_rng_state()),
        "NumPy's generator": (_plain(words), place, holds_spare, spare if holds_spare else 0.0),
        "Python's generator": random.getstate(),
        "the generator 'augment'": _plain(run.generators["augment"].get_state()),
    }


def _same_objects(run: Run) -> bool:
    held = [param for group in run.optimizer.param_groups for param in group["params"]]
    return list(map(id, held)) == list(map(id, run.model.parameters()))


@contextmanager
def unmoved(run: Run) -> Iterator[None]:
    """All generators are afterwards where they were."""
    kept = torch.get_rng_state(), np.random.get_state(), random.getstate()
    own = run.generators["augment"].get_state()
    yield
    torch.set_rng_state(kept[0])
    np.random.set_state(kept[1])
    random.setstate(kept[2])
    run.generators["augment"].set_state(own)


def after_skipping(run: Run) -> dict[str, Any]:
    """The states of the generators after the present epoch's first run.batch batches were passed over.

    Torch's is the one after the iterator was made. The run itself is not changed.
    """
    with unmoved(run):
        if run.batch:
            torch.set_rng_state(run.epoch_start)
            batches = iter(run.loader)
            for _ in range(run.batch):
                next(batches)
        return generators(run)


class Before:
    """A new run before it is resumed: what it holds, and where its generators are if only batches are skipped."""

    def __init__(self, run: Run, samples: int) -> None:
        self.parts = standing(run)
        with unmoved(run):
            for _ in range(samples):
                run.loader.dataset[0]
            self.skipped = generators(run)


def differences(
    got: dict[str, Any], want: dict[str, Any], moved: dict[str, Any], before: Before | None = None
) -> dict[str, str]:
    """Part -> how it differs from what was saved.

    moved: the generators if the saved run had passed over the skipped batches. before: the run before its resume.
    """
    found = {}
    for part, wanted in want.items():
        have = got[part]
        if have == wanted:
            continue
        if part in SAME_OBJECT:
            found[part] = SAME_OBJECT[part]
        elif isinstance(wanted, int):
            found[part] = f"{have} instead of {wanted}"
        elif wanted is None:
            found[part] = "made too early"
        elif before and have in (before.parts[part], before.skipped.get(part, before.parts[part])):
            found[part] = UNTOUCHED
        elif part in GENERATORS:
            found[part] = _generator_difference(part, have, wanted, moved[part])
        elif part == "run.epoch_start" and have is not None:
            found[part] = "a different state of the generator"
        elif part == "the training mode":
            found[part] = "not as it was, and dropout and batch normalisation follow it"
        else:
            found[part] = f"not as in the uninterrupted run{_numbers(have, wanted)}"
    return found


def _numbers(have: Any, wanted: Any) -> str:
    """The first number that differs, in parentheses, with its place in the flat tensor; "" where nothing can be compared."""
    for name, got, want in _pairs("", have, wanted):
        if isinstance(want, bytes) and isinstance(got, bytes) and len(got) == len(want) and len(got) % 4 == 0:
            one, other = (np.frombuffer(each, dtype=np.float32) for each in (got, want))
            at = int(np.flatnonzero(one.view(np.uint32) != other.view(np.uint32))[0])
            return f" ({name.strip() or 'element'}[{at}]: {one[at]:.9g} instead of {other[at]:.9g})"
        return f" ({name.strip()}{': ' if name else ''}{_short(got)} instead of {_short(want)})"
    return ""


def _short(value: Any) -> str:
    return f"{len(value)} bytes" if isinstance(value, bytes) else f"{value!r}"[:60]


def _pairs(name: str, have: Any, wanted: Any) -> Iterator[tuple[str, Any, Any]]:
    """Name and values of what differs, down to the single tensors and numbers."""
    if have == wanted:
        return
    if isinstance(wanted, dict) and isinstance(have, dict) and have.keys() == wanted.keys():
        for key in wanted:
            yield from _pairs(f"{name} {key}", have[key], wanted[key])
    elif isinstance(wanted, list) and isinstance(have, list) and len(have) == len(wanted):
        for at, (got, want) in enumerate(zip(have, wanted, strict=True)):
            yield from _pairs(f"{name} {at}", got, want)
    else:
        yield name, have, wanted


def without_numbers(texts: list[str]) -> list[str]:
    """What differs, without what stands in parentheses: a mistake is known by this."""
    return [text.split(" (")[0] for text in texts]


def _generator_difference(part: str, have: Any, wanted: Any, moved: Any) -> str:
    if have == moved:
        return ITERATOR if part == GENERATORS[0] else MOVED_ON
    spare = -2 if part == GENERATORS[1] else -1
    if part in GENERATORS[1:3] and have[:spare] == wanted[:spare]:
        return NO_SPARE
    return ELSEWHERE


def order(got: Step, epoch: list[list[int]], batch: int) -> str:
    """What the first batch after a resume shows of the samples' order.

    epoch: the batches of the uninterrupted epoch. batch: the place at which the run was saved.
    """
    if got.samples not in epoch:
        return "the samples come in a different order"
    place = epoch.index(got.samples)
    return "" if place == batch else f"the epoch goes on at batch {place} instead of batch {batch}"


def _plain(value: Any) -> Any:
    """Tensors and arrays as bytes, also inside of dicts and lists: equal bytes are equal bits."""
    if isinstance(value, torch.Tensor):
        return value.detach().numpy().tobytes()
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
