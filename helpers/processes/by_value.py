"""Objects as bytes, with all of the notebook that they refer to: another process can rebuild them."""

from __future__ import annotations

import contextlib
import importlib
import io
import random
import sys
import types
from typing import Any


def by_value(answer: Any) -> bytes:
    """The answer as bytes, with all of the notebook that it refers to. Raises if that cannot be done."""
    import cloudpickle
    import numpy
    import torch

    # The global generators: `from random import seed` in the notebook means the child's own one there.
    single = {
        id(random._inst): ("random", "_inst"),
        id(numpy.random.mtrand._rand): ("numpy.random.mtrand", "_rand"),
        id(torch.default_generator): ("torch", "default_generator"),
    }

    class Pickler(cloudpickle.Pickler):
        def reducer_override(self, value: Any) -> Any:
            if id(value) in single:
                module, name = single[id(value)]
                return getattr, (importlib.import_module(module), name)
            # torch.backends.cudnn and torch.ops are modules of classes of their own, which pickle refuses.
            if isinstance(value, types.ModuleType):
                if sys.modules.get(value.__name__) is value:
                    return importlib.import_module, (value.__name__,)
                # torch._C._functions is a module that cannot be imported, only reached.
                above, _, name = value.__name__.rpartition(".")
                if above in sys.modules and getattr(sys.modules[above], name, None) is value:
                    return getattr, (importlib.import_module(above), name)
            # From Python 3.14 on a class's annotations are evaluated when they are first read, and cloudpickle takes along
            # only those that have been: torch.jit.script would miss a Final, a dataclass its fields.
            if isinstance(value, type) and vars(value).get("__annotate_func__") and _travels(value):
                with contextlib.suppress(Exception):  # such as a name that is not known here
                    _ = value.__annotations__
            return super().reducer_override(value)

    file = io.BytesIO()
    Pickler(file, protocol=5).dump(answer)
    return file.getvalue()


def _travels(kind: type) -> bool:
    """Whether a class goes along by value: it is the notebook's, or in no module. Others must not be touched."""
    module = sys.modules.get(kind.__module__)
    return kind.__module__ == "__main__" or getattr(module, kind.__qualname__, None) is not kind
