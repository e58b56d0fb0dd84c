"""What the properties of 12.scaled_tensor look with: the plain tensor beside, and the memory that is made behind a ScaledTensor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from helpers.check.compare import difference
from helpers.check.trial import Trial

ROUNDING = {
    torch.float32: (2e-5, 1e-5),
    torch.float64: (1e-10, 1e-10),
    torch.bfloat16: (3e-2, 3e-2),
    torch.float16: (5e-3, 5e-3),
}

# The methods of Tensor that the properties call.
CALLED = frozenset(
    "abs add_ backward chunk clone copy_ detach diagonal exp expand item max mean mul_ neg neg_ normal_ pow requires_grad_ "
    "reshape softmax split sum to unbind unfold view zero_".split()
)


@dataclass(frozen=True)
class Behind:
    """An operation on plain tensors that ran in a block. made: the bytes of the memory that it made; size: numbers in its results."""

    name: str
    made: int
    size: int


@contextmanager
def behind() -> Iterator[list[Behind]]:
    """Yields the list of the operations on plain tensors in the block: those that a ScaledTensor runs are among them.

    A mode that handles an operation on a subclass is not asked about what runs in it. This one hands such an operation on,
    and so sees what runs in the subclass's own `__torch_dispatch__`.
    """
    found: list[Behind] = []
    with _Behind(found):
        yield found


class _Behind(TorchDispatchMode):
    def __init__(self, found: list[Behind]) -> None:
        super().__init__()
        self.found = found

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(kind not in (Tensor, nn.Parameter) for kind in types):
            return NotImplemented
        before = {_memory(each) for each in _tensors((args, kwargs))}
        result = func(*args, **(kwargs or {}))
        made = {
            _memory(each): each.untyped_storage().nbytes()
            for each in _tensors(result)
            if _memory(each) not in before
        }
        self.found.append(
            Behind(
                func.overloadpacket.__name__,
                sum(made.values()),
                sum(each.numel() for each in _tensors(result)),
            )
        )
        return result


def _tensors(values: Any) -> list[Tensor]:
    return [
        each
        for each in pytree.tree_leaves(values)
        if isinstance(each, Tensor) and each.layout is torch.strided
    ]


def _memory(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata


def drawn(trial: Trial, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Numbers from 0.5 to 1.5, half of them negative: none near 0."""
    size = torch.rand(shape, generator=trial.generator) + 0.5
    sign = torch.randint(0, 2, shape, generator=trial.generator) * 2 - 1
    return (size * sign).to(dtype)


def plain(value: Any, answer: Any) -> Any:
    """What a value stands for: of a ScaledTensor `inner * scale`; tuples and lists as lists."""
    if isinstance(value, answer):
        return value.inner * value.scale
    if isinstance(value, list | tuple):
        return [plain(each, answer) for each in value]
    return value


def shape_of(tensor: Tensor) -> tuple[Any, ...]:
    """What tells how a tensor lies in its memory, and of what it is."""
    return (
        tuple(tensor.shape),
        tensor.stride(),
        tensor.storage_offset(),
        str(tensor.dtype),
        str(tensor.device),
    )


def hides(answer: Any) -> list[str]:
    """Class methods and static methods of the answer that have the name of a method of Tensor that is called on t here."""
    found: list[str] = []
    for kind in answer.__mro__:
        if kind is Tensor:
            break
        found += [
            name
            for name, value in vars(kind).items()
            if name in CALLED and isinstance(value, classmethod | staticmethod)
        ]
    return found


def not_scaled(answer: Any, inner: Tensor, runs: dict[str, Any]) -> list[str]:
    """Those of the runs that give no ScaledTensors."""
    found = []
    for words, run in runs.items():
        try:
            got = run(answer(inner, 0.5))
        except Exception:  # the property runs it once more, and tells
            continue
        if not all(isinstance(each, answer) for each in (got if isinstance(got, tuple | list) else [got])):
            found.append(words)
    return found


def is_scaled(trial: Trial, got: Any, answer: Any, key: Any, kinds: Any = None) -> None:
    """Wrong unless `got` is a ScaledTensor, with its attributes, that looks like its inner.

    kinds: what is observed where it is none, in place of the key.
    """
    trial.true(
        isinstance(got, answer),
        f"The result is a {_kind(got, answer)}.",
        expected="a ScaledTensor",
        got=_kind(got, answer),
        observed=("kind", key if kinds is None else kinds, _kind(got, answer)),
    )
    missing = [name for name in ("inner", "scale") if not hasattr(got, name)]
    trial.true(
        not missing,
        f"The result is a ScaledTensor without {' and '.join(missing)}: its __init__ has not run.",
        expected="the attributes inner and scale",
        observed=("attributes", key, missing),
    )
    trial.true(
        isinstance(got.inner, Tensor) and not isinstance(got.inner, answer),
        f"The inner of the result is a {_kind(got.inner, answer)}.",
        expected="a plain tensor",
        got=_kind(got.inner, answer),
        observed=("kind of inner", key, _kind(got.inner, answer)),
    )
    trial.true(
        type(got.scale) is float,
        f"The scale of the result is a{'n' * (type(got.scale) is int)} {type(got.scale).__name__}.",
        expected="a float",
        got=type(got.scale).__name__,
        observed=("kind of scale", key, type(got.scale).__name__),
    )
    names = ("size", "strides", "offset", "dtype", "device")
    unlike = [
        name for name, own, its in zip(names, shape_of(got), shape_of(got.inner), strict=True) if own != its
    ]
    trial.true(
        not unlike,
        f"A ScaledTensor has not the {' and '.join(unlike)} of its inner.",
        expected=shape_of(got.inner),
        got=shape_of(got),
        observed=("unlike", key, unlike),
    )


def is_plain(trial: Trial, got: Any, answer: Any, key: Any) -> None:
    """Wrong where a result, or one of several, is a ScaledTensor."""
    found = [each for each in pytree.tree_leaves(got) if isinstance(each, answer)]
    trial.true(
        not found,
        "The result is a ScaledTensor.",
        expected="a plain tensor",
        got="a ScaledTensor",
        observed=("not plain", key),
    )


def is_new(trial: Trial, got: Any, t: Tensor, key: Any) -> None:
    """Wrong if the result is t itself."""
    trial.true(
        got is not t,
        "The result is the ScaledTensor itself.",
        expected="a new ScaledTensor",
        got="the same object",
        observed=("itself", key),
    )


def lies_in(trial: Trial, got: Any, inner: Tensor, answer: Any, ran: list[Behind], key: Any) -> None:
    """Wrong unless the inner of `got` lies in the memory of `inner`, and no memory was made."""
    trial.true(
        _memory(got.inner) == _memory(inner) or got.inner.data_ptr() == inner.data_ptr() != 0,
        "The inner of the result lies in a memory of its own: it was copied or computed.",
        expected="the memory of the inner that was given",
        got="a different memory",
        observed=("memory", key),
    )
    nothing_made(trial, ran, key)


def nothing_made(trial: Trial, ran: list[Behind], key: Any, most: int = 16) -> None:
    """Wrong where operations made more memory than `most` bytes: a number or two are no matter."""
    makers = [each for each in ran if each.made]
    trial.true(
        sum(each.made for each in makers) <= most,
        f"Memory was made, by {', '.join(each.name for each in makers)}: {sum(each.made for each in makers)} bytes.",
        expected="no memory" if most <= 16 else f"{most} bytes or less",
        got=", ".join(f"{each.name}: {each.made} bytes" for each in makers),
        observed=("made", key, [each.name for each in makers]),
    )


def same_values(
    trial: Trial,
    got: Any,
    want: Any,
    what: str,
    key: Any,
    known: dict[str, Any] | None = None,
    *,
    atol: float = 0.0,
) -> None:
    """Wrong unless values, shape and dtype are those wanted. known: what else it may be, in words. atol: more than the usual.

    NaN and inf, where numbers are wanted, come in many ways: no words are said of them.
    """
    rtol, least = ROUNDING.get(getattr(want, "dtype", None), (None, None))
    atol = None if least is None else max(least, atol)
    if isinstance(want, list):
        rtol, atol = ROUNDING[torch.float32]
    if found := difference(got, want, rtol=rtol, atol=atol):
        words = [
            word
            for word, other in (known or {}).items()
            if not difference(got, other, rtol=rtol, atol=atol) and (_finite(other) or not _finite(want))
        ]
        instead = f" It is {words[0]}." if words else ""
        trial.fail(
            f"{what}: {found.sentence}{'' if found.sentence[-1] in '.?' else '.'}{instead}",
            expected=want,
            got=got,
            observed=("values", key, found.kind, words),
        )


def same_bits(trial: Trial, got: Any, want: Any, words: str) -> None:
    """Wrong unless a result is the one wanted, every bit of it, -0.0 for -0.0. All NaN are one."""
    got, want = (list(each) if isinstance(each, tuple) else each for each in (got, want))
    found = difference(got, want, rtol=0, atol=0)
    sentence = found.sentence if found else ""
    if not found and any(
        bool((one.signbit() != other.signbit())[~other.isnan()].any())
        for one, other in zip(_tensors(got), _tensors(want), strict=True)
        if other.is_floating_point()
    ):
        sentence = "a 0.0 has the other sign"
    if sentence:
        kind, found_in_tensors = type(want).__name__, bool(_tensors(want))
        trial.fail(
            f"The result: {sentence}{'' if sentence[-1] in '.?' else '.'}",
            expected=want,
            got=got,
            observed=("bits", kind if found_in_tensors else (kind, words), getattr(found, "kind", "sign")),
        )


def _finite(value: Any) -> bool:
    return all(bool(each.isfinite().all()) for each in pytree.tree_leaves(value) if isinstance(each, Tensor))


def _kind(value: Any, answer: Any) -> str:
    if isinstance(value, answer):
        return "ScaledTensor"
    return "plain tensor" if isinstance(value, Tensor) else type(value).__name__
