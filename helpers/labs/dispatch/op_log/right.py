"""A right answer to 12.op_log in steps, of which each mistake replaces one."""

from __future__ import annotations

from typing import Any, Self

from torch.utils._python_dispatch import TorchDispatchMode


class Mode(TorchDispatchMode):
    """Hands each operation to a log."""

    def __init__(self, log: Any) -> None:
        super().__init__()
        self.log = log

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.log.seen(func, args, kwargs or {})


class Steps:
    """A mode for each block, and one step for each thing that is asked."""

    def __init__(self) -> None:
        self.ops: Any = []
        self.modes: list[Any] = []

    def __enter__(self) -> Self:
        mode = self.mode()
        self.modes.append(mode)
        mode.__enter__()
        return self

    def __exit__(self, *error: Any) -> bool | None:
        self.modes.pop().__exit__(*error)
        return None

    def mode(self) -> Any:
        return Mode(self)

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.note(func, args)
        return func(*args, **kwargs)

    def note(self, func: Any, args: Any) -> None:
        self.ops.append(self.name(func) + (self.mark if self.is_view(func) else ""))

    mark = " (view)"

    def name(self, func: Any) -> str:
        return str(func)

    def is_view(self, func: Any) -> bool:
        return func.is_view


class Looking(Steps):
    """What a view is, is told from the result."""

    def seen(self, func: Any, args: Any, kwargs: Any) -> Any:
        place = len(self.ops)
        self.ops.append(self.name(func))
        result = func(*args, **kwargs)
        if self.looks_like_a_view(func, args, result):
            self.ops[place] += self.mark
        return result

    def looks_like_a_view(self, func: Any, args: Any, result: Any) -> bool:
        return func.is_view
