"""Stands around what becomes text, in a kernel and in the processes that it starts: looks, and changes nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ci.headless.edges.numbers import holds, moved

FILE = (
    "LABBOOK_EDGES"  # the file to which all of these processes add what they saw; without it nothing is noted
)
PART = 1e-6  # how much a number is disturbed: a float32 has 17 to 8 neighbours in this reach
Place = tuple[str, int, str]  # the cell, or the project's module; the line; what is written there

_noted: set[tuple] = set()


class Probe:
    """A value on its way into a text."""

    def __init__(self, value: Any, place: Place) -> None:
        self._value, self._place = value, place

    def __format__(self, spec: str) -> str:
        return self._text(lambda value: format(value, spec))

    def __str__(self) -> str:
        return self._text(str)

    def __repr__(self) -> str:
        return self._text(repr)

    def __getattr__(self, name: str) -> Any:  # for "{0.name}".format(...)
        return getattr(self._value, name)

    def __getitem__(self, key: Any) -> Any:
        return self._value[key]

    def _text(self, render: Callable[[Any], str]) -> str:
        text = render(self._value)
        compare(self._place, text, self._value, render)
        return text


def seen(value: Any, *place: Any) -> Any:
    """What stands for a value that is about to be formatted."""
    return Probe(value, place) if holds(value) else value


def each(values: Iterable[Any], *place: Any) -> Iterator[Any]:
    """The same for all values of `*values`."""
    return (seen(value, *place) for value in values)


def displayed(value: Any, *place: Any) -> Any:
    """The value itself, whose text IPython will show."""
    if holds(value):
        from IPython.lib.pretty import pretty

        compare(place, pretty(value), value, pretty)
    return value


def percent(form: str, values: Any, *place: Any) -> str:
    """`form % values`"""
    text = form % values
    if holds(values):
        compare(place, text, values, lambda changed: form % changed)
    return text


def called(place: Place, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What round, format, str, repr or a method `round` gives."""
    result = function(*args, **options)
    of = getattr(function, "__self__", None)
    if holds(of):
        name = function.__name__
        compare(place, repr(result), of, lambda value: repr(getattr(value, name)(*args, **options)))
    elif args and holds(args[0]):
        words = str if isinstance(result, str) else repr
        compare(place, words(result), args[0], lambda value: words(function(value, *args[1:], **options)))
    return result


def compare(place: Place, text: str, value: Any, render: Callable[[Any], str]) -> None:
    """Note a text, and those that a slightly other value would have given."""
    file = os.environ.get(FILE)
    if not file or (place, text) in _noted:
        return
    _noted.add((place, text))
    try:
        # Beside the value with nothing changed, and not beside `text`: a copy is not known to autograd.
        same, less, more = (render(moved(value, part)) for part in (0, -PART, PART))
    except Exception:  # what cannot be rendered once more cannot be compared
        same = less = more = ""
    others = sorted({less, more} - {same})
    with open(file, "a", encoding="utf-8") as notes:
        notes.write(json.dumps({"place": place, "text": text, "others": others}) + "\n")


def forget() -> None:
    """A new cell begins: what it prints is noted, also what an earlier one printed."""
    _noted.clear()
