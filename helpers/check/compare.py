"""Typed comparison, worded for people, that a patched torch cannot fool.

Type, shape, dtype, device and requires_grad are compared before values, and nothing broadcasts.
Torch's functions are taken when this module is imported; an answer that replaces `torch.allclose`
afterwards replaces nothing here. Subclasses get no say (`__torch_function__` is off).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from helpers.check import symptoms

_ops = torch._C._VariableFunctions
_isclose, _isnan, _all, _any, _sub, _abs, _eq, _equal = (
    getattr(_ops, name) for name in ("isclose", "isnan", "all", "any", "sub", "abs", "eq", "equal")
)
_Tensor, _TensorBase = torch.Tensor, torch._C.TensorBase
_NoTorchFunction = torch._C.DisableTorchFunctionSubclass
_item, _detach, _to, _max = _TensorBase.item, _TensorBase.detach, _TensorBase.to, _TensorBase.max
_descriptors = {
    name: _TensorBase.__dict__[name] for name in ("layout", "shape", "dtype", "device", "requires_grad")
}

# (relative, absolute), some ten times the rounding of a short computation in that type.
TOLERANCE = MappingProxyType(
    {
        torch.float64: (1e-9, 1e-9),
        torch.complex128: (1e-9, 1e-9),
        torch.float32: (1e-5, 1e-6),
        torch.complex64: (1e-5, 1e-6),
        torch.float16: (1e-3, 1e-3),
        torch.bfloat16: (1.6e-2, 1e-2),
    }
)


@dataclass(frozen=True)
class Difference:
    """How two things differ. kind: one word; sentence: for a person; symptom: the bug it smells of, or ""."""

    kind: str
    sentence: str
    symptom: str = ""


def difference(
    got: Any, want: Any, *, rtol: float | None = None, atol: float | None = None
) -> Difference | None:
    """None if `got` is `want`, else what differs first.

    Containers are compared element by element, and their types must be equal too. For floating tensors the
    tolerance follows from the dtype of `want` (TOLERANCE) unless given; 0 asks for the same bits, where NaN
    equals NaN.
    """
    if type(want) is _Tensor or isinstance(want, torch.nn.Parameter):
        return _tensor_difference(got, want, rtol, atol)
    if isinstance(want, np.ndarray) and type(got) is np.ndarray:
        if got.dtype != want.dtype:
            return Difference("dtype", f"expected dtype {want.dtype}, got {got.dtype}")
        return _tensor_difference(torch.from_numpy(got.copy()), torch.from_numpy(want.copy()), rtol, atol)
    if got is None and want is not None:
        return Difference("none", "the answer returned None. Is a `return` missing?")
    if type(got) is not type(want):
        return Difference("type", f"expected {_a(type(want))}, got {_a(type(got))}: {shown(got)}")
    if isinstance(want, dict):
        return _dict_difference(got, want, rtol, atol)
    if isinstance(want, (list, tuple)):
        return _sequence_difference(got, want, rtol, atol)
    if isinstance(want, float) and not (rtol == 0 and atol == 0):
        close = got == want or abs(got - want) <= (atol or 1e-9) + (rtol or 1e-9) * abs(want)
        same = close or (got != got and want != want)
    else:
        same = got == want
    return None if same is True else Difference("value", f"expected {shown(want)}, got {shown(got)}")


def _tensor_difference(got: Any, want: Any, rtol: float | None, atol: float | None) -> Difference | None:
    if got is None:
        return Difference("none", "the answer returned None. Is a `return` missing?")
    if not isinstance(got, _Tensor):
        return Difference("type", f"expected a Tensor, got {_a(type(got))}: {shown(got)}")
    if type(got) is not type(want):
        return Difference(
            "type", f"expected a plain {type(want).__name__}, got the subclass {type(got).__name__}"
        )
    with _NoTorchFunction():
        for name, descriptor in _descriptors.items():
            have, need = descriptor.__get__(got), descriptor.__get__(want)
            if have != need:
                have, need = (tuple(have), tuple(need)) if name == "shape" else (have, need)
                return Difference(
                    name, f"expected {name} {need}, got {name} {have}", symptoms.of_layout(name, have, need)
                )
        g, w = _detach(got), _detach(want)
        # The usual case first: a twentieth of the time that nearness takes. Other tensors have no bits to compare.
        if w.layout is torch.strided and w.device.type == "cpu" and not w.is_quantized and _equal(g, w):
            return None
        exact, near = TOLERANCE.get(w.dtype, (0.0, 0.0))
        rtol, atol = exact if rtol is None else rtol, near if atol is None else atol
        if w.numel() == 0 or _item(_all(_isclose(g, w, rtol, atol, True))):
            return None
        if not w.dtype.is_floating_point and not w.dtype.is_complex:
            off = ~_eq(g, w)
            where = ""
            if w.numel() > WHOLE:
                place = tuple(int(at) for at in off.nonzero()[0])
                where = f", first at {list(place)}: expected {w[place].item()}, got {g[place].item()}"
            count = int(_item(off.sum()))
            return Difference(
                "value", f"{count} of {w.numel()} values differ{where}", symptoms.of_values(g, w)
            )
        if _item(_any(_isnan(g))) and not _item(_any(_isnan(w))):
            return Difference("nan", "the result holds NaN where the expected one does not")
        if _item(_any(_isnan(w) & ~_isnan(g))):
            return Difference("value", "the expected result holds NaN where this one holds a number")
        gap, where = _largest_gap(g, w)
        description = (
            "every bit must be the same"
            if rtol == atol == 0
            else f"allowed: {rtol:g} relative, {atol:g} absolute"
        )
        return Difference(
            "value", f"values differ by up to {gap:.3g}{where} ({description})", symptoms.of_values(g, w)
        )


def _largest_gap(g: torch.Tensor, w: torch.Tensor) -> tuple[float, str]:
    """The largest distance of two values, and in words where it is, if the tensors are too long to be shown whole."""
    if w.dtype.is_complex:
        return float("nan"), ""
    gaps = _abs(_sub(_to(g, torch.float64), _to(w, torch.float64)))
    gap = _item(_max(gaps))
    if w.numel() <= WHOLE or gap != gap:
        return gap, ""
    place = tuple(int(at) for at in (gaps == gap).nonzero()[0])
    want, have = _rounded(w[place].item()), _rounded(g[place].item())
    if want == have:
        want, have = repr(w[place].item()), repr(g[place].item())
    return gap, f", at {list(place)}: expected {want}, got {have}"


def _dict_difference(got: dict, want: dict, rtol: float | None, atol: float | None) -> Difference | None:
    missing, extra = [k for k in want if k not in got], [k for k in got if k not in want]
    if missing or extra:
        parts = [
            f"{word} {shown(keys)}" for word, keys in (("missing", missing), ("not expected", extra)) if keys
        ]
        return Difference("keys", "keys differ: " + "; ".join(parts))
    for key in want:
        if found := difference(got[key], want[key], rtol=rtol, atol=atol):
            return Difference(found.kind, f"at key {key!r}: {found.sentence}", found.symptom)
    return None


def _sequence_difference(got: Any, want: Any, rtol: float | None, atol: float | None) -> Difference | None:
    if len(got) != len(want):
        return Difference("length", f"expected {len(want)} items, got {len(got)}: {shown(got)}")
    plain = all(isinstance(item, (int, str, bool)) for item in want)
    for place, (have, need) in enumerate(zip(got, want, strict=True)):
        if found := difference(have, need, rtol=rtol, atol=atol):
            if plain:
                return Difference(
                    found.kind, f"expected {shown(want)}, got {shown(got)}", symptoms.of_list(got, want)
                )
            return Difference(found.kind, f"at place {place}: {found.sentence}", found.symptom)
    return None


WHOLE = 8  # a tensor of so many elements is shown whole


def shown(value: Any, limit: int = 200) -> str:
    """A short repr; one that raises, recurses or is huge does no harm."""
    try:
        if isinstance(value, _Tensor):
            text = _shown_tensor(value)
        elif type(value) is set and value:
            text = (
                "{" + ", ".join(sorted(map(repr, value))) + "}"
            )  # the order of a set differs from run to run
        else:
            text = repr(value)
    except Exception as error:
        return f"<{type(value).__name__}, whose repr raised {type(error).__name__}>"
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text):,} characters)"


def _shown_tensor(value: torch.Tensor) -> str:
    with _NoTorchFunction():
        plain = _detach(value)
        about = f"{tuple(plain.shape)} {str(plain.dtype).removeprefix('torch.')}"
        if plain.numel() > WHOLE or plain.device.type == "meta":
            return f"tensor of shape {about}"
        numbers = plain.tolist()
    return f"tensor({_rounded(numbers)}, {about})"


def _rounded(numbers: Any) -> str:
    if isinstance(numbers, list):
        return "[" + ", ".join(_rounded(item) for item in numbers) + "]"
    return f"{numbers:.6g}" if isinstance(numbers, float) else repr(numbers)


def _a(kind: type) -> str:
    return f"{'an' if kind.__name__[:1].lower() in 'aeiou' else 'a'} {kind.__name__}"
