"""The labs, a package each: its exercises, a folder each, its predictions, and what else its notebook shows.

helpers/labs/optim/
  __init__.py      what the notebook knows as `lab.<name>`: found here, by `contents`
  predictions.py
  shown.py         teaching code that the notebook uses (or a folder)
  shared/          what two exercises or more use
  ema_update/      exercise.py (the text and the properties), inputs.py (what the answers are tried on),
                   right.py (a right answer in replaceable steps), mistakes.py
"""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any


def contents(package: str) -> dict[str, Any]:
    """What a lab offers its notebook, by name: its exercises, its predictions, and `__all__` of its `shown`.

    The properties of each exercise are imported too: they add themselves to it. Its mistakes do so when asked for.

    Args:
        package: The lab's full name, `helpers.labs.optim`.

    Raises:
        AttributeError: The folder of an exercise has no exercise of that name.
    """
    if shell := _notebook():  # the first check should wait for no process, and for no import of the lab in it
        _prepare_checks(package, shell)
    folder = Path(__file__).parent / package.rpartition(".")[2]
    found = {}
    for exercise in sorted(path.parent for path in folder.glob("*/exercise.py")):
        name = f"{package}.{exercise.name}"
        found[exercise.name] = getattr(import_module(f"{name}.exercise"), exercise.name)
        for module in _modules(exercise / "properties"):
            import_module(f"{name}.{module}")
        found[exercise.name].mistakes_are_in(
            *(f"{name}.{module}" for module in _modules(exercise / "mistakes"))
        )
    for module in _modules(folder / "predictions"):
        found |= _predictions(import_module(f"{package}.{module}"))
    if _modules(folder / "shown"):
        shown = import_module(f"{package}.shown")
        found |= {name: getattr(shown, name) for name in shown.__all__}
    return found


def _notebook() -> Any:
    """The shell of the kernel that this is, None elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell if hasattr(shell, "kernel") else None


def _prepare_checks(package: str, shell: Any) -> None:
    from helpers.check.pool import end_with, prepare
    from helpers.processes.fork_server import IMPORTED

    if package not in IMPORTED:
        IMPORTED.append(package)  # a server that is not started yet imports it, so that no worker need
    prepare(package)
    end_with(shell)


def _predictions(module: ModuleType) -> dict[str, Any]:
    from helpers.prediction import Prediction

    return {name: value for name, value in vars(module).items() if isinstance(value, Prediction)}


def _modules(path: Path) -> list[str]:
    """`mistakes` for a module mistakes.py; `mistakes.order` and so on, by name, for a folder of them; else none."""
    if path.with_suffix(".py").exists():
        return [path.name]
    return [f"{path.name}.{module.stem}" for module in sorted(path.glob("[a-z]*.py"))]
