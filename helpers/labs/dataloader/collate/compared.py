"""How a batch is held against torch's own, and what of it is told (exercise 02.collate)."""

from __future__ import annotations

import dis
import re
from collections import OrderedDict, namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor
from torch.utils.data import default_collate

from helpers.check.compare import Difference, difference, shown
from helpers.check.trial import Trial, plain

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
        want = normal(default_collate(samples))
        if not found:
            trial.given(f"samples = {described(samples)}")
        try:
            got = normal(answer(samples))
        except NotImplementedError:
            raise
        except RecursionError as error:  # its text depends on where the stack was full
            raise RecursionError("maximum recursion depth exceeded").with_traceback(
                error.__traceback__
            ) from None
        except Exception as error:
            if not found and not refusal(error):
                raise
            found.append((place, type(error).__name__))
            name = type(error).__name__
            message = f"The answer raises {name} for samples that can be collated: {shown(str(error), 120)}."
            first = first or {"message": message, "expected": described(want), "got": name}
            continue
        if differs := difference(got, want, rtol=0, atol=0):
            stacked = isinstance(want, list) and isinstance(got, Tensor)
            found.append((place, differs.kind, "stacked" if stacked else outline(got)))
            first = first or _first(differs, got, want)
    if found:
        trial.fail(**first, observed=found)


def _first(differs: Difference, got: Any, want: Any) -> dict[str, str]:
    sentence = re.sub(r"(expected [\w ]+, got [\w ]+): .*", r"\1", differs.sentence, flags=re.DOTALL)
    message = f"The batch: {sentence}" + ("" if sentence[-1] in ".?" else ".")
    return {
        "message": message,
        "expected": described(want),
        "got": described(got),
        "symptom": differs.symptom,
    }


def refusal(error: Exception) -> bool:
    """Whether a `raise` of the answer made this: the answer says, in its own words, that it takes no such samples."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] in ("torch", "numpy"):
        return False
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def agreed(answer: Callable[[list], Any], trial: Trial, samples: list[Any]) -> None:
    """As compared, for random samples: observed is only the kind of what is wrong, not where or in which words."""
    trial.given(f"samples = {described(samples)}")
    want = normal(default_collate(samples))
    try:
        got = normal(answer(samples))
    except NotImplementedError:
        raise
    except Exception as error:
        trial.fail(
            f"The answer raised {type(error).__name__}: {shown(str(error), 120)}.",
            expected=described(want),
            got=type(error).__name__,
            observed="raised",
        )
    if differs := difference(got, want, rtol=0, atol=0):
        trial.fail(**_first(differs, got, want), observed=differs.kind)


def batch_of(answer: Callable[[list], Any], trial: Trial, samples: list[Any]) -> Any:
    """answer(samples); of an error only its type is observed, not its words."""
    try:
        return answer(samples)
    except NotImplementedError:
        raise
    except Exception as error:
        name = type(error).__name__
        trial.fail(
            f"The answer raised {name}: {shown(str(error), 120)}.",
            expected="a batch",
            got=name,
            observed=("raised", name),
        )


Errors = type[Exception] | tuple[type[Exception], ...]


def refused(
    answer: Callable[[list], Any], trial: Trial, cases: list[tuple[list[Any], Errors]], why: str
) -> None:
    """Wrong if one of these lists of samples does not raise its error; observed is what happened in all of those."""
    found: list[Any] = []
    for place, (samples, errors) in enumerate(cases):
        try:
            happened = f"returned {described(answer(samples))}"
            observed = "nothing raised"
        except NotImplementedError:
            raise
        except errors:
            continue
        except Exception as error:
            happened, observed = f"{type(error).__name__}: {shown(str(error), 120)}", type(error).__name__
        if not found:
            trial.given(f"samples = {described(samples)}")
            name, first = (errors[0] if isinstance(errors, tuple) else errors).__name__, happened
            came = "nothing was raised" if observed == "nothing raised" else f"{observed} was raised"
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


def described(value: Any, limit: int = 300) -> str:
    """Samples or a batch in words: structures as they are written, tensors and arrays by shape and dtype."""
    text = _described(value)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text):,} characters)"


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape} {value.dtype}"
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
