"""What a measurement is, and where they all are."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from helpers.measurements.device import Device
from helpers.measurements.samples import NAME, Samples

PREDICTED = "Predicted: "


@dataclass(frozen=True)
class Measurement:
    """A function that measures, under a name.

    Args:
        lab: The number of the lab that shows it.
        unit: The unit of its samples, or what they are.
        function: From a device to raw samples: numbers or texts, in lists by name.
        seconds: Its time limit, in a process of its own.
        processes: Whether its samples come from further processes, of which a rehearsal starts one only.
    """

    name: str
    lab: str
    unit: str
    function: Callable[[Device], Samples] = field(repr=False)
    seconds: float = 60
    processes: bool = False

    @property
    def about(self) -> str:
        """What is measured and how: the docstring, without its prediction."""
        return " ".join(inspect.getdoc(self.function).partition(PREDICTED)[0].split())

    @property
    def predicted(self) -> str:
        """What the course expects, said before anybody measured."""
        return " ".join(inspect.getdoc(self.function).partition(PREDICTED)[2].split())


_FOUND: dict[str, Measurement] = {}


def measurement(name: str, *, lab: str, unit: str, **options: Any) -> Callable[[Callable], Callable]:
    """Gives a function its name as a measurement. The docstring ends with a paragraph `Predicted: ...`.

    Raises:
        ValueError: the name is no name, or is taken; or the docstring predicts nothing.
    """

    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a measurement")

    def named(function: Callable[[Device], Samples]) -> Callable[[Device], Samples]:
        if name in _FOUND and _FOUND[name].function.__module__ != function.__module__:
            raise ValueError(f"two measurements are called {name}")
        if PREDICTED not in (function.__doc__ or ""):
            raise ValueError(f"{name}: its docstring must say what is measured, and '{PREDICTED}...'")
        _FOUND[name] = Measurement(name, lab, unit, function, **options)
        return function

    return named


def measurements() -> Mapping[str, Measurement]:
    """Every measurement by name, in the order of the labs. The first call imports torch."""
    import helpers.measurements as package

    for found in pkgutil.iter_modules(package.__path__):
        if found.name.startswith("lab"):
            importlib.import_module(f"{package.__name__}.{found.name}")
    return dict(sorted(_FOUND.items(), key=lambda item: item[1].lab))
