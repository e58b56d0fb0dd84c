"""Exercise 02.collate: many samples become one batch, whatever they are made of.

What is right is what torch's own default_collate gives, except for text: it comes in a list or in a tuple,
by an accident of how torch transposes, and both pass here.
"""

from __future__ import annotations

import copy
import functools
import itertools
from collections import OrderedDict, defaultdict
from typing import Any

import numpy as np
import torch
from torch.utils.data._utils import collate as torch_collate

from helpers.check.calls import calls_to
from helpers.check.compare import shown
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.dataloader.collate.compared import (
    Errors,
    Picture,
    Point,
    Row,
    Thing,
    agreed,
    any_result,
    batch_of,
    compared,
    described,
    outline,
    refused,
)
from helpers.labs.dataloader.collate.inputs import some_array, some_samples, some_tensor

collate = Exercise(
    "02.collate",
    "Many samples, one batch",
    objective="Turn a list of samples of any structure into one batch of the same structure, dtypes kept.",
    minutes=30,
    difficulty="medium",
    hints=[
        "Look at the first sample: its type decides what is done with all of them. A structure is taken apart, its parts "
        "are collated by the same function, and it is put together again.",
        "Order matters where one type is also another: np.float64 is a float, bool is an int, a namedtuple is a tuple, "
        "str is a sequence of str. zip(*samples) turns samples into columns; it also cuts unequal ones off in silence.",
        "Tensor: torch.stack. ndarray: the same on torch.as_tensor of each. NumPy's numbers: torch.as_tensor. float: torch.tensor "
        "with dtype float64; int and bool: torch.tensor. str, bytes: as they are. Mapping: a copy of the first, updated with "
        "collate([s[key] for s in samples]). namedtuple: type(first)(*columns). tuple, list: a list of collated columns.",
    ],
)


@collate.property(
    "tensors are stacked along a new first dimension; their dtype stays",
    asks=(
        "One batch of B samples, as torch's default_collate makes it.",
        "Tensors give a tensor of shape (B, *shape) and of their dtype.",
    ),
)
def _(answer: Any, trial: Trial) -> None:
    kinds = (
        ((2, 3), torch.float32, 4),
        ((3,), torch.float64, 2),
        ((), torch.int64, 3),
        ((3, 1, 2), torch.uint8, 1),
        ((2,), torch.bool, 3),
        ((4,), torch.bfloat16, 2),
        ((2, 0), torch.float32, 2),
        ((2, 1), torch.float32, 3),
        ((1,), torch.float16, 1),
    )
    cases = [[some_tensor(trial, shape, dtype) for _ in range(count)] for shape, dtype, count in kinds]
    cases.append([some_tensor(trial, (3, 2), torch.float32).T for _ in range(2)])
    compared(answer, trial, cases)


@collate.property(
    "gradients flow through the batch back to the samples", asks="Gradients flow back to the samples."
)
def _(answer: Any, trial: Trial) -> None:
    for kind in ("tensors", "parameters", "results in dicts", "results in lists"):
        samples = [some_tensor(trial, (2,), torch.float32).requires_grad_() for _ in range(2)]
        if kind == "parameters":
            samples = [torch.nn.Parameter(sample.detach()) for sample in samples]
        if kind.startswith("results"):  # computed, and no leaves of the graph
            inside = [{"x": sample * 1} if "dict" in kind else [sample * 1] for sample in samples]
            text = f"{described(inside)}, where each tensor is computed from one that requires gradients"
            place = "'x'" if "dict" in kind else "0"
            trial.given(f"samples = {text}; then batch[{place}].sum().backward()")
            batch = batch_of(answer, trial, inside, kind)
            batch = batch["x"] if "dict" in kind else batch[0]
        else:
            text = f"{described(samples)}, {kind} that require gradients"
            trial.given(f"samples = {text}; then batch.sum().backward()")
            batch = batch_of(answer, trial, list(samples), kind)
        if isinstance(batch, torch.Tensor) and batch.requires_grad:
            batch.sum().backward()
        grads = [None if sample.grad is None else sample.grad.tolist() for sample in samples]
        trial.true(
            grads == [[1.0, 1.0]] * 2,
            "The samples get no gradient, or a wrong one: the batch is not computed from them in their graph, as torch.stack's is.",
            expected="sample.grad is [1.0, 1.0] for each of the samples",
            got=grads,
            observed=(kind, grads),
        )


@collate.property(
    "Python's numbers: float gives float64, int gives int64, bool gives bool",
    asks="Floats give a float64 tensor of shape (B,), ints an int64 one, bools a bool one.",
)
def _(answer: Any, trial: Trial) -> None:
    r = trial.random
    floats = [[r.random() for _ in range(3)], [r.random()]]
    ints = [[r.randrange(-9, 9) for _ in range(4)], [2**40 + r.randrange(9), -1], [0]]
    compared(
        answer,
        trial,
        [*floats, *ints, [True, False, True], [False]]
        + [[2.0, -1.0, float(r.randrange(3, 9))], [0.0], [1, 0, 1]],  # the type decides, and not the value
    )


ARRAYS = (((2, 3), "float64"), ((3,), "float32"), ((2,), "uint8"), ((1, 2), "int16"), ((3,), "bool"))


@collate.property(
    "NumPy's arrays are stacked to a tensor of their own dtype",
    asks="NumPy's arrays, also a memmap, give such a tensor of NumPy's dtype, one of shape (B,) if theirs is ().",
)
def _(answer: Any, trial: Trial) -> None:
    cases = [[some_array(trial, shape, dtype) for _ in range(3)] for shape, dtype in ARRAYS]
    cases.append([some_array(trial, (2, 3), "float64")])
    cases.append([some_array(trial, (3, 2), "float32").T for _ in range(2)])
    cases.append([some_array(trial, (2, 1), "float16") for _ in range(2)])
    cases.append([some_array(trial, (2,), "float32").view(np.memmap) for _ in range(2)])
    compared(answer, trial, cases)


@collate.property(
    "arrays of shape () and NumPy's numbers: one dimension, their own dtype",
    asks=(
        "NumPy's arrays, also a memmap, give such a tensor of NumPy's dtype, one of shape (B,) if theirs is ().",
        "So do NumPy's numbers: np.float32(1), np.int16(2), np.bool_(True) and so on.",
    ),
)
def _(answer: Any, trial: Trial) -> None:
    names = ("float64", "float32", "int16", "uint8", "bool", "float16")
    arrays = [[some_array(trial, (), name) for _ in range(3)] for name in names[:3]]
    numbers = [
        [some_array(trial, (), name)[()] for _ in range(count)]
        for name, count in zip(names, (3, 2, 1, 2, 2, 2), strict=True)
    ]
    compared(answer, trial, arrays + numbers)


@collate.property(
    "text stays text: str and bytes come as they are",
    asks="Texts, which are str or bytes, give a list of them (torch sometimes gives a tuple: both pass).",
)
def _(answer: Any, trial: Trial) -> None:
    names = ["cat", "dog", "owl", "eel"]
    trial.random.shuffle(names)
    compared(
        answer, trial, [names, ["one"], ["a horse", "ox", ""], [b"ab", b"cd"], [b"", b"cde"], ["2", "1"]]
    )


@collate.property(
    "tuples and lists give a list: first items together, second items together",
    asks="Tuples and lists give a list: the first items collated, the second items collated, and so on.",
)
def _(answer: Any, trial: Trial) -> None:
    pairs = [(some_tensor(trial, (2, 3), torch.float32), trial.random.randrange(9)) for _ in range(3)]
    boxes = [[trial.random.randrange(9) for _ in range(4)] for _ in range(2)]
    corners = [[trial.random.random() for _ in range(2)] for _ in range(3)]
    square = [[trial.random.randrange(9) for _ in range(3)] for _ in range(3)]
    named = [(f"file {at}", trial.random.random()) for at in range(2)]
    compared(answer, trial, [pairs, boxes, corners, square, named, [(1.5,)], [[], []], [(), (), ()]])


@collate.property(
    "a dict gives a dict: each key's values together",
    asks="Dicts give a dict of the same class, also an OrderedDict or a defaultdict with its factory; each key's values are collated.",
)
def _(answer: Any, trial: Trial) -> None:
    rows = [
        {"x": some_tensor(trial, (3,), torch.float32), "y": trial.random.randrange(9), 0: "a", "": 0.5}
        for _ in range(3)
    ]
    compared(answer, trial, [rows, [{"x": trial.random.random()}], [{}, {}]])
    one, two = trial.random.sample(range(100), 2)
    compared(answer, trial, [[{"x": one, "y": 0.5}, {"y": 1.5, "x": two}]])


@collate.property(
    "a dict of a different class keeps its class",
    asks="Dicts give a dict of the same class, also an OrderedDict or a defaultdict with its factory; each key's values are collated.",
)
def _(answer: Any, trial: Trial) -> None:
    kinds = (OrderedDict, Row, functools.partial(defaultdict, list))
    compared(answer, trial, [[kind(x=trial.random.random(), y=at) for at in range(2)] for kind in kinds])
    samples = [defaultdict(list, x=at) for at in range(2)]
    trial.given(f"samples = {described(samples)}, whose default_factory is list")
    factory = batch_of(answer, trial, samples).default_factory
    trial.true(
        factory is list,
        "The batch is a defaultdict with a different default_factory.",
        expected="batch.default_factory is list",
        got=factory,
        observed="factory",
    )


@collate.property(
    "a namedtuple gives the same namedtuple",
    asks="Namedtuples give the same namedtuple; each field's values are collated.",
)
def _(answer: Any, trial: Trial) -> None:
    points = [Point(trial.random.random(), trial.random.randrange(9)) for _ in range(3)]
    pictures = [Picture(some_tensor(trial, (2, 2), torch.uint8), at) for at in range(2)]
    compared(answer, trial, [points, pictures, points[:1]])


def deeper(leaf: int) -> Any:
    """A structure of nine levels."""
    value: Any = leaf
    for level in range(9):
        value = ([value], {"x": value}, (value, 0.5))[level % 3]
    return value


@collate.property(
    "and so on inside, to any depth", asks="All this holds inside structures, too, to any depth."
)
def _(answer: Any, trial: Trial) -> None:
    def deep() -> Any:
        return {
            "a": (Point([1, trial.random.random()], "b"), some_array(trial, (2,), "int16")),
            "c": [{"d": True}],
        }

    agreed(answer, trial, [deep() for _ in range(3)])
    agreed(answer, trial, [deeper(at) for at in range(2)])
    for _ in range(5):
        agreed(answer, trial, some_samples(trial, (Point, Picture, OrderedDict, Row)))


@collate.property(
    "samples of unequal size raise RuntimeError",
    asks="RuntimeError: lists, tuples, tensors or arrays of unequal sizes; for arrays ValueError passes, too.",
)
def _(answer: Any, trial: Trial) -> None:
    r = trial.random
    lists = [[r.randrange(9) for _ in range(count)] for count in (2, 2, 3)]
    tensors = [some_tensor(trial, (count,), torch.float32) for count in (3, 3, 1)]
    structures: list[list[Any]] = [
        lists,
        lists[::-1],
        [lists[2], lists[2], lists[0]],
        [lists[0], lists[2], lists[1]],
        [tuple(sample) for sample in lists],
        [{"boxes": sample} for sample in lists],
        [[], [trial.random.random()]],
        tensors,
        [(tensor, 0) for tensor in tensors[::-1]],
        [some_tensor(trial, shape, torch.float32) for shape in ((2, 3), (3, 2))],
    ]
    arrays = [some_array(trial, (count,), "float64") for count in (3, 3, 1)]
    cases: list[tuple[list[Any], Errors]] = [(samples, RuntimeError) for samples in structures]
    refused(answer, trial, [*cases, (arrays, (RuntimeError, ValueError))], "samples of unequal size")


@collate.property(
    "what cannot be collated raises TypeError",
    asks="TypeError: anything else (None, a set, a complex number, an array of strings, a class of your own).",
)
def _(answer: Any, trial: Trial) -> None:
    tensor = some_tensor(trial, (2,), torch.float32)
    cases: list[list[Any]] = [
        [None, None],
        [None, tensor],
        [(tensor, None), (tensor, None)],
        [Thing(), Thing()],
        [{1, 2}, {3, 4}],
        [1j, 2j],
        [{"x": None}, {"x": None}],
        [np.array(["a", "b"]), np.array(["c", "d"])],
    ]
    refused(
        answer,
        trial,
        [(case, TypeError) for case in cases],
        "anything else, as None, a set, a complex number, an array of text",
        seen=any_result,
    )


@collate.property(
    "a sample that lacks a key raises KeyError", asks="KeyError: a sample lacks a key that the first one has."
)
def _(answer: Any, trial: Trial) -> None:
    cases: list[tuple[list[Any], Errors]] = []
    for lacks in (1, 2):
        rows = [{"x": at, "y": trial.random.random()} for at in range(3)]
        del rows[lacks]["y"]
        cases.append((rows, KeyError))
    refused(answer, trial, cases, "a sample without the key 'y' of the first")


@collate.property(
    "no samples raise IndexError",
    asks="IndexError: there are no samples; ValueError and RuntimeError pass, too.",
)
def _(answer: Any, trial: Trial) -> None:
    cases: list[tuple[list[Any], Errors]] = [([], (IndexError, ValueError, RuntimeError))]
    refused(answer, trial, cases, "a batch without samples", seen=any_result)


def how_changed(samples: list[Any], given: list[Any], before: list[Any]) -> str:
    """In words, what became of the samples. given: the objects that stood in the list; before: copies of them."""
    if len(samples) != len(given):
        return "the list holds a different number of samples"
    if any(now is not then for now, then in zip(samples, given, strict=True)):
        same = sorted(map(id, samples)) == sorted(map(id, given))
        return "the samples stand in a different order" if same else "the list holds different objects"
    if sum(map(_parts, samples)) < sum(map(_parts, before)):
        return "samples lack items that they had"
    first = outline(samples[1:]) == outline(before[1:])
    return "the first sample holds something else" if first else "samples hold something else"


def _parts(value: Any) -> int:
    """How many containers and items a sample is made of; a tensor is one."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return 1 + sum(map(_parts, items))


@collate.property(
    "the samples are left as they were", asks="The samples are not changed, nor is the list that holds them."
)
def _(answer: Any, trial: Trial) -> None:
    one, two = (some_tensor(trial, (2,), torch.float32) for _ in range(2))
    for samples in (
        [{"x": one, "y": 1}, {"x": two, "y": 2}],
        [[one, 1], [two, 2]],
        [{"boxes": [1.5, 2]}, {"boxes": [3.5, 4]}],
        [({"x": one}, 1), ({"x": two}, 2)],
        [OrderedDict(x=0.5), OrderedDict(x=1.5)],
        [{"a": {"x": 1.5}}, {"a": {"x": 2.5}}],
        [{"a": [{"x": 1.5}]}, {"a": [{"x": 2.5}]}],
        [one, two],
        [one.numpy(), two.numpy()],
        [2.5, 1.5],
        ["owl", "cat"],
    ):
        given, before, text = list(samples), copy.deepcopy(samples), described(samples)
        trial.given(f"samples = {text}")
        batch_of(answer, trial, samples)
        how = how_changed(samples, given, before)
        trial.true(
            outline(samples) == outline(before) and list(map(id, samples)) == list(map(id, given)),
            f"After the call {how}: "
            + (
                "the list is the caller's."
                if how.startswith(("the list", "the samples stand"))
                else "they are the dataset's own objects, and the next epoch reads something else there."
            ),
            expected=f"samples = {text}",
            got=described(samples),
            observed=("samples changed", how),
        )


def held(parts: list[Any]) -> str:
    """The numbers of tensors or arrays."""
    return shown([part.tolist() for part in parts])


def filled(batch: Any) -> None:
    """Fills all tensors of a batch with 7."""
    if isinstance(batch, torch.Tensor):
        batch.fill_(7)
    items = batch.values() if isinstance(batch, dict) else batch if isinstance(batch, (list, tuple)) else ()
    for item in items:
        filled(item)


@collate.property(
    "the batch shares no memory with the samples",
    asks="The batch shares no memory with the samples or with an earlier batch.",
)
def _(answer: Any, trial: Trial) -> None:
    for count, shape in itertools.product((1, 2), ((3,), ())):
        for word, make in (("tensor", some_tensor), ("array", some_array)):
            dtype: Any = torch.float32 if word == "tensor" else "float32"
            parts = [make(trial, shape, dtype) for _ in range(count)]
            for samples in (
                parts,
                [{"x": part} for part in parts],
                [(part, 1) for part in parts],
            ):
                before, text = copy.deepcopy(parts), described(samples)
                trial.given(f"samples = {text}; the tensors of the batch are filled with 7 afterwards")
                filled(batch_of(answer, trial, list(samples)))
                trial.true(
                    outline(parts) == outline(before),
                    "What is written into the batch appears in the sample: they share memory. An augmentation in place "
                    "would be done on the dataset itself.",
                    expected=f"samples that still hold {held(before)}",
                    got=f"they hold {held(parts)}",
                    observed=("shared", count),
                )


@collate.property(
    "each batch has memory of its own",
    asks="The batch shares no memory with the samples or with an earlier batch.",
)
def _(answer: Any, trial: Trial) -> None:
    for make, dtype in ((some_tensor, torch.float32), (some_array, "float32")):
        one, two = ([make(trial, (3,), dtype) for _ in range(2)] for _ in range(2))
        trial.given(f"a batch of {described(one)}, then one of {described(two)}")
        first = batch_of(answer, trial, one)
        before = outline(first)
        batch_of(answer, trial, two)
        trial.true(
            outline(first) == before,
            "The second call changed the first batch: they share memory. A loader that fetches ahead holds several batches at once.",
            expected="a first batch that stays as it was",
            got=first,
            observed="used again",
        )


OWN = [
    part
    for name, part in vars(torch_collate).items()
    if name.endswith("collate") or name.startswith("collate_")
]


@collate.property(
    "the answer collates itself", asks="torch's collate functions are not called, default_collate above all."
)
def _(answer: Any, trial: Trial) -> None:
    samples = [{"x": torch.zeros(2), "y": (1, 2.0)}, {"x": torch.ones(2), "y": (3, 4.0)}]
    trial.given(f"samples = {described(samples)}")
    with calls_to(*OWN) as seen:
        batch_of(answer, trial, samples)
    trial.true(
        not seen,
        f"The answer calls torch's {' and '.join(sorted(set(seen))[:2])}: that is what this exercise re-creates.",
        expected="a function of your own",
        observed=("calls", bool(seen)),
    )
