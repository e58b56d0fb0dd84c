"""How a batch is held against torch's own, and what of it is told (exercise 02.collate)."""

from __future__ import annotations

import linecache
import re
from collections import OrderedDict, namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor
from torch.utils.data import default_collate

from helpers.check.compare import Difference, difference, shown
from helpers.check.trial import Trial, plain
from helpers.notebook.frames import frames_of

Point = namedtuple("Point", ["x", "y"])


class Picture(NamedTuple):
    """A sample with names."""

    pixels: Any
    label: Any


class Row(dict):
    """A dict with a name of its own."""


def normal(value: Any) -> Any:
    """The same with all text in lists."""
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, (str, bytes)) for item in value):
        return list(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(normal, value))
    if type(value) in (list, tuple):
        return type(value)(map(normal, value))
    if type(value) in (dict, OrderedDict, Row):
        return type(value)((key, normal(item)) for key, item in value.items())
    return value


def compared(answer: Callable[[list], Any], trial: Trial, cases: list[list[Any]]) -> None:
    """Wrong if one of these lists of samples is not collated as torch does it; observed is what came in all of those."""
    found: list[Any] = []
    first: dict[str, str] = {}
    for place, samples in enumerate(cases):
        want, given = normal(default_collate(samples)), described(samples)
        try:
            got = normal(answer(samples))
        except NotImplementedError:
            raise
        except Exception as error:
            found.append((place, type(error).__name__))
            report = raised(error, described(want))
        else:
            differs = difference(got, want, rtol=0, atol=0)
            if not differs:
                continue
            found.append((place, differs.kind, seen(differs, got, want)))
            report = _first(differs, got, want)
        if not first:
            trial.given(f"samples = {given}")
            first = report
    if found:
        trial.fail(**first, observed=found)


def seen(differs: Difference, got: Any, want: Any) -> Any:
    """What is observed of a wrong batch: its values only where nothing else is wrong."""
    if isinstance(want, list) and isinstance(got, Tensor):
        return "stacked"
    if isinstance(want, list) and isinstance(got, (str, bytes)):
        return "the first text" if got == want[0] else "the last text" if got == want[-1] else "one text"
    if differs.kind != "value":
        return form(got)
    if isinstance(got, Tensor) and got.dim() and sorted(got.tolist()) == sorted(want.tolist()):
        return "a different order"
    return outline(got)


def raised(error: Exception, expected: str) -> dict[str, str]:
    """What is reported of an error of the answer: its words, and the line of the answer that it came from."""
    name = type(error).__name__
    lines = [linecache.getline(file, line).strip() for file, line, _ in frames_of(error)]
    where = f" at `{lines[-1]}`" if any(lines[-1:]) else ""
    return {
        "message": f"The answer raised {name}{where}{_words(error)}.",
        "expected": expected,
        "got": name,
    }


def _first(differs: Difference, got: Any, want: Any) -> dict[str, str]:
    sentence = re.sub(r"(expected [\w ]+, got [\w ]+): .*", r"\1", differs.sentence, flags=re.DOTALL)
    message = f"The batch: {sentence}" + ("" if sentence[-1] in ".?" else ".")
    return {
        "message": message,
        "expected": described(want),
        "got": described(got),
        "symptom": differs.symptom,
    }


def agreed(answer: Callable[[list], Any], trial: Trial, samples: list[Any]) -> None:
    """As compared, for random samples: observed is only the kind of what is wrong, not where or in which words."""
    trial.given(f"samples = {described(samples)}")
    want = normal(default_collate(samples))
    try:
        got = normal(answer(samples))
    except NotImplementedError:
        raise
    except Exception as error:
        trial.fail(**raised(error, described(want)), observed="raised")
    if differs := difference(got, want, rtol=0, atol=0):
        trial.fail(**_first(differs, got, want), observed=differs.kind)


def batch_of(answer: Callable[[list], Any], trial: Trial, samples: list[Any], kind: str = "") -> Any:
    """answer(samples); of an error only its type is observed, not its words, and the kind of the samples."""
    try:
        return answer(samples)
    except NotImplementedError:
        raise
    except Exception as error:
        trial.fail(
            **raised(error, "a batch"), observed=("raised", type(error).__name__, *([kind] if kind else []))
        )


Errors = type[Exception] | tuple[type[Exception], ...]


def any_result(value: Any) -> str:
    """What is observed where all that can be returned is the same mistake."""
    return "nothing raised"


def refused(
    answer: Callable[[list], Any],
    trial: Trial,
    cases: list[tuple[list[Any], Errors]],
    why: str,
    seen: Callable[[Any], Any] | None = None,
) -> None:
    """Wrong if one of these lists of samples does not raise its error; observed is what happened in all of those.

    seen: what is observed of a result; its form unless given.
    """
    found: list[Any] = []
    for place, (samples, errors) in enumerate(cases):
        given = described(samples)
        try:
            got = answer(samples)
        except NotImplementedError:
            raise
        except errors:
            continue
        except Exception as error:
            observed = type(error).__name__
            happened = f"{observed}{_words(error)}"
        else:
            happened, observed = f"returned {described(got)}", (seen or form)(got)
        if not found:
            trial.given(f"samples = {given}")
            name, first = (errors[0] if isinstance(errors, tuple) else errors).__name__, happened
            came = "nothing was raised" if happened.startswith("returned") else f"{observed} was raised"
            message = f"Expected {name} for {why}, but {came}."
        found.append((place, observed))
    if found:
        trial.fail(message, expected=name, got=first, observed=found)


class Thing:
    """Nothing that can be collated."""

    def __repr__(self) -> str:
        return "Thing()"


def outline(value: Any) -> Any:
    """Plain data that stands for samples or a batch: types, dtypes, shapes and values."""
    if isinstance(value, np.ndarray) or isinstance(value, np.generic):
        return (type(value).__name__, str(value.dtype), np.shape(value), str(value.tolist()))
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [outline(item) for item in value])
    if isinstance(value, dict):
        return (type(value).__name__, [(plain(key), outline(item)) for key, item in value.items()])
    return plain(value)


def form(value: Any) -> Any:
    """Types, dtypes and shapes, without values."""
    if isinstance(value, (Tensor, np.ndarray, np.generic)):
        kind = "Tensor" if isinstance(value, Tensor) else type(value).__name__
        nested = isinstance(value, Tensor) and value.is_nested  # has no shape
        return (kind, str(value.dtype), "nested" if nested else tuple(value.shape))
    if isinstance(value, (list, tuple)):
        kind = "namedtuple" if hasattr(value, "_fields") else type(value).__name__
        return (kind, [form(item) for item in value])
    if isinstance(value, dict):
        return (type(value).__name__, [(plain(key), form(item)) for key, item in value.items()])
    return type(value).__name__


def described(value: Any, limit: int = 300) -> str:
    """Samples or a batch in words: structures as they are written, tensors and arrays by shape and dtype."""
    text = _described(value)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text):,} characters)"


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{'memmap' if isinstance(value, np.memmap) else 'array'} of shape {value.shape} {value.dtype}"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        fields = (f"{name}={_described(item)}" for name, item in zip(value._fields, value, strict=False))
        return f"{type(value).__name__}({', '.join(fields)})"
    if type(value) is list:
        return f"[{', '.join(map(_described, value))}]"
    if type(value) is tuple:
        return f"({', '.join(map(_described, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        items = ", ".join(f"{key!r}: {_described(item)}" for key, item in value.items())
        return f"{{{items}}}" if type(value) is dict else f"{type(value).__name__}({{{items}}})"
    return shown(value, 120)


def _words(error: BaseException) -> str:
    """The words of an error. Of a RecursionError there are none: they tell where the stack happened to end."""
    return "" if isinstance(error, RecursionError) else f": {shown(str(error), 120)}"
