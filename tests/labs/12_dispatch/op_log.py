"""Right answers of 12.op_log, of other shapes than the solution's."""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode


class IsAMode(TorchDispatchMode):
    """The log is the mode, which can be entered again."""

    def __init__(self) -> None:
        super().__init__()
        self.ops: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.ops.append(str(func) + " (view)" * func.is_view)
        return func(*args, **(kwargs or {}))


class _Appends(TorchDispatchMode):
    def __init__(self, ops: list[str]) -> None:
        super().__init__()
        self.ops = ops

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = f"{func.namespace}.{func.overloadpacket.__name__}.{func._overloadname}"
        written = any(
            each.alias_info is not None and each.alias_info.is_write for each in func._schema.arguments
        )
        shared = any(each.alias_info is not None for each in func._schema.returns)
        self.ops += [name + (" (view)" if shared and not written else "")]
        return func(*args, **({} if kwargs is None else kwargs))


class OneMode:
    """One mode for all blocks, the full name and the view read from the schema."""

    def __init__(self) -> None:
        self.ops: list[str] = []
        self.mode = _Appends(self.ops)

    def __enter__(self):
        self.mode.__enter__()
        return self

    def __exit__(self, kind, error, traceback):
        return self.mode.__exit__(kind, error, traceback)


class OnAStack:
    """An ExitStack for each block; the names are put into the list when the block ends, and made from a property."""

    def __init__(self) -> None:
        self._funcs: list[Any] = []
        self._blocks: list[ExitStack] = []

    @property
    def ops(self) -> list[str]:
        return [f"{func} (view)" if func.is_view else f"{func}" for func in self._funcs]

    def __enter__(self) -> OnAStack:
        outer = self

        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                outer._funcs.append(func)
                return func(*args, **(kwargs or {}))

        block = ExitStack()
        block.enter_context(Mode())
        self._blocks.append(block)
        return self

    def __exit__(self, *error: Any) -> None:
        self._blocks.pop().close()


class ByAGenerator:
    """A context manager by a generator; what a block lists comes into the list at its end, also by an error."""

    def __init__(self) -> None:
        self.ops: list[str] = []
        self.local = threading.local()

    @contextmanager
    def block(self):
        found: list[tuple[str, bool]] = []

        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                found.append((str(func), func.is_view))
                return func(*args, **kwargs)

        try:
            with Mode():
                yield
        finally:
            self.ops.extend(f"{name} (view)" if is_view else name for name, is_view in found)

    def __enter__(self):
        self.local.open = self.block()
        self.local.open.__enter__()
        return self

    def __exit__(self, *error):
        return self.local.open.__exit__(*error)


RIGHT: list[Any] = [IsAMode, OneMode, OnAStack, ByAGenerator]
