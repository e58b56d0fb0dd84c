"""Right answers to 01.stable_sum and 01.deterministic."""

from __future__ import annotations

import contextlib
import math
import os
import unittest.mock
from decimal import Context, Decimal
from fractions import Fraction

import torch
from torch import Tensor


def fsum(x: Tensor) -> Tensor:
    if not torch.isfinite(x).all():
        return x[~torch.isfinite(x)].sum()
    return torch.tensor(math.fsum(x.flatten().tolist()), dtype=x.dtype)


def fractions(x):
    if x.isnan().any() or x.isinf().any():
        return sum(value for value in x.flatten() if not value.isfinite())
    return x.new_tensor(float(sum((Fraction(value) for value in x.reshape(-1).tolist()), Fraction(0))))


def whole_numbers(x: Tensor) -> Tensor:
    """Every float64 is a whole multiple of 2**-1074."""
    if not x.isfinite().all():
        odd = set(x[~x.isfinite()].tolist())
        return torch.as_tensor(odd.pop() if len(odd) == 1 else math.nan, dtype=x.dtype)
    total = 0
    for value in x.double().flatten().tolist():
        top, bottom = value.as_integer_ratio()
        total += top * (2**1074 // bottom)
    return torch.as_tensor(total / 2**1074, dtype=x.dtype)


def decimals(x: Tensor) -> Tensor:
    try:
        exact = Context(prec=1500)
        total = Decimal(0)
        for value in x.ravel().tolist():
            total = exact.add(total, Decimal(value))
        return torch.full((), float(total), dtype=x.dtype)
    except ArithmeticError:
        return torch.full((), math.nan, dtype=x.dtype)


RIGHT = {"01.stable_sum": [fsum, fractions, whole_numbers, decimals]}


@contextlib.contextmanager
def deterministic():
    old = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.utils.deterministic.fill_uninitialized_memory,
        torch.backends.cudnn.benchmark,
        torch.backends.cudnn.deterministic,
        os.environ.get("CUBLAS_WORKSPACE_CONFIG"),
    )
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(old[0], warn_only=old[1])
        torch.utils.deterministic.fill_uninitialized_memory = old[2]
        torch.backends.cudnn.benchmark = old[3]
        torch.backends.cudnn.deterministic = old[4]
        if old[5] is None:
            del os.environ["CUBLAS_WORKSPACE_CONFIG"]
        else:
            os.environ["CUBLAS_WORKSPACE_CONFIG"] = old[5]


class Deterministic(contextlib.ContextDecorator):
    """A class, and torch's own context managers where there are some."""

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        self.stack.enter_context(torch.backends.cudnn.flags(benchmark=False, deterministic=False))
        mode, fill = torch.get_deterministic_debug_mode(), torch.utils.deterministic.fill_uninitialized_memory
        self.stack.callback(torch.set_deterministic_debug_mode, mode)
        self.stack.callback(setattr, torch.utils.deterministic, "fill_uninitialized_memory", fill)
        self.stack.enter_context(unittest.mock.patch.dict(os.environ, CUBLAS_WORKSPACE_CONFIG=":16:8"))
        torch.set_deterministic_debug_mode("error")
        torch.utils.deterministic.fill_uninitialized_memory = True
        return self

    def __exit__(self, *error):
        return self.stack.__exit__(*error)


def entered_late():
    """Any object with __enter__ and __exit__ will do."""
    return Deterministic()


RIGHT["01.deterministic"] = [deterministic, Deterministic, entered_late]
