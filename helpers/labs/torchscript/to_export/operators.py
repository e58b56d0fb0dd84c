"""Lets a custom operator be pickled, so that an answer which uses one is checked in another process.

What is sent are the functions that it was made of; there it is registered again under its name.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from typing import Any

import torch
from torch.library import CustomOpDef

Parts = dict[str, Any]


def parts_of(op: CustomOpDef) -> tuple[Any, ...]:
    """How pickle makes an operator again. The formula may call the operator itself, so it comes after it."""
    parts = {
        "fake": op._abstract_fn,
        "backward": op._backward_fn,
        "setup_context": op._setup_context_fn,
    }
    made_of = op._qualname, op._schema, op._init_fn
    return registered, made_of, parts, None, None, complete


def registered(name: str, schema: str, kernel: Callable[..., Any]) -> CustomOpDef:
    """An operator of this name and schema; one of this process that has the name already is replaced."""
    return torch.library.custom_op(name, kernel, mutates_args=(), schema=schema)


def complete(op: CustomOpDef, parts: Parts) -> None:
    """Gives an operator its fake kernel and its formula."""
    if parts["fake"] is not None:
        op.register_fake(parts["fake"])
    if parts["backward"] is not None:
        op.register_autograd(parts["backward"], setup_context=parts["setup_context"])


copyreg.pickle(CustomOpDef, parts_of)
