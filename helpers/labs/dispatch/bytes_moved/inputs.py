"""What 12.bytes_moved is tried on: functions of tensors, and the bytes that their operations move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from helpers.check.trial import Trial
from helpers.labs.dispatch.shared.writing import drain, leaky

Fn = Callable[..., Any]
Made = tuple[Fn, tuple[Tensor, ...]]


@dataclass(frozen=True)
class Case:
    """A function with its tensors.

    words: what it does. lesson: what is to be seen in it. make: gives both, of tensors that `tensor(*size)` makes.
    """

    words: str
    lesson: str
    make: Callable[[Tensors], Made]


@dataclass(frozen=True)
class Tensors:
    """Makes the tensors of a case, on the CPU or on the meta device."""

    generator: torch.Generator
    device: str = "cpu"

    def __call__(self, *size: int, dtype: torch.dtype = torch.float32) -> Tensor:
        drawn = torch.randn(*size, generator=self.generator).mul(9).to(dtype)
        return drawn.to(self.device)

    def places(self, below: int, *size: int) -> Tensor:
        return torch.randint(below, size, generator=self.generator).to(self.device)


@dataclass
class Count(TorchDispatchMode):
    """What the check itself counts. parts: of each name, what its calls read, changed and made."""

    parts: dict[str, list[tuple[int, int, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = _tensors((args, kwargs))
        memories = {each.untyped_storage()._cdata for each in given}
        read = _bytes(given)
        result = func(*args, **kwargs)
        results = _tensors(result)
        made = [each for each in results if each.untyped_storage()._cdata not in memories]
        written = [
            kwargs.get(each.name, args[place] if place < len(args) else None)
            for place, each in enumerate(func._schema.arguments)
            if each.alias_info is not None and each.alias_info.is_write
        ]
        only_memory = func.overloadpacket.__name__.startswith(("empty", "new_empty"))
        if not only_memory and (made or written or not results):
            part = (read, _bytes(_tensors(written)), _bytes(made))
            self.parts.setdefault(str(func), []).append(part)
        return result


def _tensors(value: Any) -> list[Tensor]:
    return [each for each in tree_leaves(value) if isinstance(each, Tensor)]


def _bytes(tensors: list[Tensor]) -> int:
    return sum(each.numel() * each.element_size() for each in tensors)


def counted(fn: Fn, *args: Tensor) -> Count:
    """What the operations of `fn(*args)` move."""
    count = Count()
    with count:
        fn(*args)
    return count


def require(answer: Any, trial: Trial, case: Case, *, device: str = "cpu") -> None:
    """Wrong unless the answer gives what the operations of a case move."""
    where = "" if device == "cpu" else ", on the meta device"
    trial.given(case.words + where)
    seed = trial.random.randrange(1 << 30)
    fn, args = case.make(Tensors(torch.Generator().manual_seed(seed)))
    want = counted(fn, *args)
    fn, args = case.make(Tensors(torch.Generator().manual_seed(seed), device))
    got = trial.call(lambda: answer(fn, *args))
    right(trial, got, want, case.words + where, case.lesson)


def right(trial: Trial, got: Any, count: Count, words: str, lesson: str) -> None:
    """Wrong unless `got` is what was counted."""
    want = {name: sum(map(sum, parts)) for name, parts in count.parts.items()}
    trial.true(
        isinstance(got, dict),
        f"The result is a {type(got).__name__}, and a dict is asked for.",
        expected=want,
        got=got,
        observed=("type", type(got).__name__),
    )
    others = sorted({type(name).__name__ for name in got if not isinstance(name, str)})
    trial.true(
        not others,
        f"A key is of the type {', '.join(others)}, and no str: the full name is `str(func)`.",
        expected=_listed(want),
        got=_listed(got),
        observed=("keys", others),
    )
    others = sorted({type(each).__name__ for each in got.values() if type(each) is not int})
    trial.true(
        not others,
        f"A value is a {', '.join(others)}, and an int is asked for.",
        expected=_listed(want),
        got=_listed(got),
        observed=("values", others),
    )
    if list(got.items()) == list(want.items()):
        return
    observed = (words, [[name, each] for name, each in got.items()])
    if got == want:
        trial.fail(
            "The right numbers, in a different order: it is that of the first call of each.",
            expected=", ".join(want),
            got=", ".join(got),
            observed=observed,
        )
    trial.fail(
        f"{_difference(got, want, count)} {lesson}",
        expected=_listed(want),
        got=_listed(got),
        observed=observed,
    )


def _difference(got: dict[str, int], want: dict[str, int], count: Count) -> str:
    for name, number in want.items():
        if name not in got:
            return f"{name} is missing."
        if got[name] != number:
            parts = count.parts[name]
            read, changed, made = (sum(part) for part in zip(*parts, strict=True))
            calls = f" in {len(parts)} calls" if len(parts) > 1 else ""
            wrote = " and ".join(
                f"{words} {size}" for words, size in (("changes", changed), ("makes", made)) if size
            )
            return f"{name} moves {number} bytes{calls}: it reads {read}{f', {wrote}' if wrote else ''}. Your result says {got[name]}."
    more = ", ".join(name for name in got if name not in want)
    return f"Too much: {more}."


def _listed(found: dict[Any, Any]) -> str:
    return ", ".join(f"{name}: {each}" for name, each in found.items()) or "nothing"


# What is counted.


def plain(tensor: Tensors) -> Made:
    return lambda x, y: (x + y).exp().mul(y).exp().add(y) + 1, (tensor(5, 3), tensor(5, 3))


def dtypes(tensor: Tensors) -> Made:
    x, y, z = tensor(5, 4), tensor(4, dtype=torch.float64), tensor(5, 4, dtype=torch.int8)
    return lambda x, y, z: (
        (x @ x.new_ones(4, 3)).relu(),
        y * 2,
        x > 0,
        z.abs(),
        x.double(),
        x.argmax(1),
        x.bfloat16(),
    ), (x, y, z)


def overloads(tensor: Tensors) -> Made:
    return lambda x, y: (x.sum(), x.sum(0), x.pow(2), x.pow(y), x > y, x > 0, x.sum(1)), (
        tensor(6, 2),
        tensor(6, 2),
    )


def twice_given(tensor: Tensors) -> Made:
    return lambda x: (x * x, x + 1, torch.where(x > 0, x, x)), (tensor(7),)


def of_nothing(tensor: Tensors) -> Made:
    return lambda x: (x + x, x.sum(), x.exp()), (tensor(0, 3),)


def in_place(tensor: Tensors) -> Made:
    def fn(x: Tensor, y: Tensor) -> None:
        x.add_(y)
        x.exp_()
        x[1:].mul_(2)
        y.fill_(0.5)
        y.sum().mul_(2)
        x.copy_(y)
        x.exp_()

    return fn, (tensor(5, 3), tensor(3))


def out(tensor: Tensors) -> Made:
    def fn(x: Tensor, y: Tensor, z: Tensor, places: Tensor) -> None:
        torch.add(x, y, out=z)
        torch.mul(x, y, out=z)
        torch.max(x, 1, out=(y[:, 0], places))
        torch.cat([x[:1], x[1:]], out=z)

    return fn, (tensor(5, 3), tensor(5, 3), tensor(5, 3), tensor.places(9, 5))


def of_lists(tensor: Tensors) -> Made:
    def fn(x: Tensor, y: Tensor) -> None:
        torch._foreach_add_([x, y], 1.0)
        torch._foreach_mul_([x, y], [y, y])

    return fn, (tensor(4, 3), tensor(3))


def parameters(tensor: Tensors) -> Made:
    @torch.no_grad()
    def fn(x: Tensor, w: Tensor) -> Any:
        w.mul_(0.9)
        torch._foreach_add_([w], [x])
        return w.t(), w + x

    return fn, (tensor(4, 3), torch.nn.Parameter(tensor(4, 3)))


def running(tensor: Tensors) -> Made:
    return (
        lambda x, mean, var: torch._native_batch_norm_legit(x, None, None, mean, var, True, 0.1, 1e-5),
        (tensor(6, 3), tensor(3), tensor(3).abs()),
    )


def written_and_given(tensor: Tensors) -> Made:
    def fn(x: Tensor, noise: Tensor) -> None:
        rectified = leaky(x, noise)
        if rectified is not x:
            rectified.cos()
        if rectified is not noise:
            rectified.sin()
        drain(x).exp()

    return fn, (tensor(4, 3), tensor(4, 3))


def lists(tensor: Tensors) -> Made:
    def fn(x: Tensor, y: Tensor, places: Tensor) -> Any:
        return torch.cat([x, y, x]), torch.stack([y, y]), x[:, places], torch.cat([x, y], dim=1)

    return fn, (tensor(4, 3), tensor(4, 3), tensor.places(3, 5))


def by_keyword(tensor: Tensors) -> Made:
    def fn(x: Tensor, y: Tensor, places: Tensor) -> Any:
        return torch.searchsorted(x, y, sorter=places), torch.add(x, x, alpha=2)

    return fn, (tensor(4), tensor(3), tensor.places(4, 4))


def out_lists(tensor: Tensors) -> Made:
    return lambda x, *parts: torch.split_copy(x, 2, out=list(parts)), (
        tensor(4, 3),
        tensor(2, 3),
        tensor(2, 3),
    )


def twice_changed(tensor: Tensors) -> Made:
    return lambda x, y: (torch._foreach_add_([x, y, x], 1.0), torch._foreach_neg_([y, y])), (
        tensor(4, 3),
        tensor(3),
    )


def inference(tensor: Tensors) -> Made:
    @torch.inference_mode()
    def fn(x: Tensor, y: Tensor) -> Any:
        views = x.float(), x.reshape(-1), F.dropout(x, 0.5, training=False), torch.broadcast_tensors(x, y)
        return views, x.double(), x.t().reshape(-1), x.t().contiguous()

    return fn, (tensor(4, 3), tensor(3))


def loss(tensor: Tensors) -> Made:
    return lambda x, w: (x * w).sum(), (tensor(4, 3), tensor(4, 3).requires_grad_())


def other_libraries(tensor: Tensors) -> Made:
    def fn(x: Tensor) -> Any:
        with torch.profiler.record_function("part"):
            return torch.ops.prims.sin.default(x).cos()

    return fn, (tensor(3, 2),)


def makers(tensor: Tensors) -> Made:
    device = tensor.device

    def fn(x: Tensor) -> Any:
        z = torch.zeros(3, 2, device=device), torch.full((2,), 1.5, dtype=torch.float64, device=device)
        return *z, torch.arange(5, device=device), torch.ones_like(x), x.new_zeros(4)

    return fn, (tensor(3, 3),)


def several(tensor: Tensors) -> Made:
    def fn(x: Tensor, w: Tensor) -> Any:
        return (
            x.max(dim=1),
            F.layer_norm(x, (3,), w, w),
            x.topk(2),
            torch._foreach_exp([x, w]),
            x.unique().shape,
        )

    return fn, (tensor(5, 3), tensor(3))


def no_tensors(tensor: Tensors) -> Made:
    return lambda x, y: (torch.equal(x, y), x.sum().item(), bool((x > 99).any()), x.allclose(y)), (
        tensor(4, 3),
        tensor(4, 3),
    )


def views(tensor: Tensors) -> Made:
    def fn(x: Tensor) -> Any:
        return x.t(), x[1:], x.view(-1).exp(), x[0], x.unsqueeze(0), x.detach(), x.t().cos(), x.diagonal()

    return fn, (tensor(4, 3),)


def lists_of_views(tensor: Tensors) -> Made:
    return lambda x: (x.split(2), x.unbind(1), x.sin(), x.chunk(3)), (tensor(5, 3),)


def unsafe_views(tensor: Tensors) -> Made:
    return lambda x, y: (x @ y, x.transpose(0, 1).reshape(-1), x.unsafe_chunk(2)), (
        tensor(2, 4, 3),
        tensor(3, 5),
    )


def only_memory(tensor: Tensors) -> Made:
    device = tensor.device

    def fn(x: Tensor) -> Any:
        a = torch.empty(3, device=device), torch.empty_like(x), torch.empty_strided((2,), (1,), device=device)
        b = (
            x.new_empty(4),
            x.new_empty_strided((2,), (1,)),
            torch.empty_permuted((2, 3), (1, 0), device=device),
        )
        return a, b, torch.empty(4, device=device).fill_(2), torch.zeros(2, device=device)

    return fn, (tensor(3, 2),)


def sizes(tensor: Tensors) -> Made:
    def fn(x: Tensor, y: Tensor) -> Any:
        return x.expand(6, 4).exp(), y[1:, ::2].cos(), x.expand(6, 4) + y[:, :4], y[0].clone()

    return fn, (tensor(4), tensor(6, 5))


def training(tensor: Tensors) -> Made:
    def fn(x: Tensor, w: Tensor, b: Tensor) -> None:
        F.layer_norm(F.linear(x, w, b).relu(), (3,)).softmax(1).sum().backward()

    return fn, (tensor(4, 2), tensor(3, 2).requires_grad_(), tensor(3).requires_grad_())


def twice_backward(tensor: Tensors) -> Made:
    def fn(x: Tensor) -> None:
        for _ in range(2):
            x.tanh().mul(x).sum().backward()

    return fn, (tensor(5).requires_grad_(),)


PLAIN = Case(
    "(x + y).exp().mul(y).exp().add(y) + 1, of size (5, 3)",
    "Each call reads what it is given, and writes what it makes.",
    plain,
)
DTYPES = Case(
    "operations on int8, bool, int64, bfloat16, float32 and float64",
    "Each tensor counts by its own dtype, and each operation stands there.",
    dtypes,
)
OVERLOADS = Case(
    "sum() and sum(dim), pow and > with a number and a tensor",
    "Overloads are operations of their own; a tensor of one number counts as all others do, and a bool has 1 byte.",
    overloads,
)
TWICE = Case(
    "x * x, x + 1 and torch.where(x > 0, x, x)",
    "A tensor that stands in two places counts in both.",
    twice_given,
)
NOTHING = Case(
    "operations on an x of size (0, 3)",
    "They are called, and so they are listed: what they make is made, also without a number and an address.",
    of_nothing,
)
IN_PLACE = Case(
    "add_, exp_, mul_ of a part and of a sum, fill_, copy_",
    "What is edited in place is read, also where it is only overwritten; and what the schema says is written.",
    in_place,
)
OUT = Case(
    "`out=` with one tensor and with two", "The schema says what is written, whatever the name is.", out
)
OF_LISTS = Case(
    "_foreach_add_ and _foreach_mul_", "The schema says that all of a list are written.", of_lists
)
OUT_LISTS = Case(
    "split_copy with a list by `out=`",
    "The tensors of a list that is given by keyword are read and written.",
    out_lists,
)
TWICE_CHANGED = Case(
    "_foreach_add_ and _foreach_neg_ of lists in which a tensor stands twice",
    "A tensor that stands in two places counts in both, also as written.",
    twice_changed,
)
INFERENCE = Case(
    "under inference_mode: float(), dropout in evaluation, broadcast_tensors; double(), reshape, contiguous()",
    "Under inference_mode these come whole. Memory tells what is made, and neither the name nor `is_view` does.",
    inference,
)
LOSS = Case("an fn that returns a loss", "Only what runs in fn counts.", loss)
OTHER_LIBRARIES = Case(
    "a function of prims in a block of record_function",
    "What comes to a mode is listed, also what is not aten, and what has no tensor at all.",
    other_libraries,
)
WRITTEN_AND_GIVEN = Case(
    "rrelu, which writes to its noise; of what it gives cos if it is not x, and sin if it is not the noise; then an "
    "operation that sets x to 0 and gives the sums of its rows; exp of them",
    "What writes to an argument may give something new, and fn goes on with that.",
    written_and_given,
)
PARAMETERS = Case(
    "a Parameter that is edited in place under no_grad, alone and in a list",
    "A Parameter is a tensor, too.",
    parameters,
)
RUNNING = Case(
    "a batch norm that changes running mean and variance",
    "The schema says what is changed, besides what is made.",
    running,
)
LISTS = Case(
    "cat, stack, an index with None in its list",
    "Tensors in lists are given, too, each as often as it stands there.",
    lists,
)
BY_KEYWORD = Case("searchsorted with `sorter=`", "Tensors by keyword are given, too.", by_keyword)
MAKERS = Case(
    "zeros, full, arange, ones_like, new_zeros",
    "What is made is written, also where nothing is read.",
    makers,
)
SEVERAL = Case("max, layer_norm, topk, _foreach_exp, unique", "Of several results each is made.", several)
NO_TENSORS = Case("equal, item(), bool(), allclose", "They read, and make no tensor.", no_tensors)
VIEWS = Case("views, and functions of some of them", "A view moves nothing.", views)
LISTS_OF_VIEWS = Case(
    "split, unbind, chunk, and sin", "A list of views moves nothing either.", lists_of_views
)
UNSAFE = Case(
    "products of stacks, a reshape that copies, unsafe_chunk",
    "What lies in the memory of an argument is not made, whatever `is_view` says.",
    unsafe_views,
)
ONLY_MEMORY = Case(
    "six kinds of `empty`, one of them filled, and zeros",
    "`empty` writes nothing; `fill_` and `zeros` do.",
    only_memory,
)
SIZES = Case("expanded and sliced tensors", "`numel() * element_size()`, whatever lies in memory.", sizes)
TRAINING = Case(
    "linear, relu, layer_norm, softmax and backward()", "A backward has its operations, too.", training
)
TWICE_BACKWARD = Case("two losses with backward()", "A backward has its operations, too.", twice_backward)
ON_META = (
    PLAIN,
    OVERLOADS,
    IN_PLACE,
    LISTS,
    MAKERS,
    VIEWS,
    UNSAFE,
    ONLY_MEMORY,
    SIZES,
    TRAINING,
    NOTHING,
    OUT,
    OF_LISTS,
)


class MemoryMade(TorchDispatchMode):
    """How many bytes operations make that lie not on the meta device."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        given = {each.untyped_storage()._cdata for each in _tensors((args, kwargs))}
        new = [each.untyped_storage() for each in _tensors(result) if each.device.type != "meta"]
        self.bytes += sum(each.nbytes() for each in new if each._cdata not in given)
        return result
