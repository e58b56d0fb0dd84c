"""Exercise 10.repair_layer_list: what a module does not know, no optimizer trains and no checkpoint holds."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.pitfalls.shared.repairs import drawn

repair_layer_list = Exercise(
    "10.repair_layer_list",
    "Repair: a stack of layers",
    objective="Repair a module whose layers stand in a plain list, are one layer many times, and whose scale is lost.",
    minutes=8,
    difficulty="easy",
    core=False,
    hints=[
        "Count list(module.parameters()) and the numbers in them. How many should there be?",
        "nn.Module registers what is assigned as a Module or a Parameter. A plain list is neither, and `[layer] * n` holds "
        "one layer n times.",
        "`nn.Parameter(...) * 0.1` is the result of a product, a plain Tensor. Compute first, wrap last.",
        "`self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])` and "
        "`self.scale = nn.Parameter(torch.full((width,), 0.1))`.",
    ],
)

DRAWS = ("torch RNG",)  # a Linear draws its first weights from the global generator
WIDTH, DEPTH = 4, 3


def _built(answer: Any, trial: Trial, depth: int = DEPTH) -> nn.Module:
    trial.given(f"width = {WIDTH}, depth = {depth}")
    module = trial.call(answer, WIDTH, depth)
    trial.true(
        isinstance(module, nn.Module),
        f"The answer gave {'None. Is a `return` missing?' if module is None else f'a {type(module).__name__}.'}",
        expected="an nn.Module",
        observed=("kind", type(module).__name__),
    )
    return module


def _linears(module: nn.Module) -> list[nn.Linear]:
    return [part for part in module.modules() if isinstance(part, nn.Linear)]


def _others(module: nn.Module) -> list[nn.Parameter]:
    """Parameters that belong to no Linear."""
    known = {id(param) for linear in _linears(module) for param in linear.parameters()}
    return [param for param in module.parameters() if id(param) not in known]


def _output(trial: Trial, module: nn.Module, x: Tensor) -> Any:
    try:
        return module(x)
    except RuntimeError as error:
        trial.fail(f"The module raised RuntimeError: {error}", observed="forward raised")


@repair_layer_list.property("depth layers that the module knows", changes=DRAWS)
def layers(answer: Any, trial: Trial) -> None:
    for depth in (DEPTH, 1):
        module = _built(answer, trial, depth)
        count = len(_linears(module))
        trial.true(
            count == depth,
            f"module.modules() knows {count} different Linear. An optimizer trains those of module.parameters(), and no "
            "others.",
            expected=f"{depth} different Linear({WIDTH}, {WIDTH})",
            got=count,
            observed=("linears", depth, count),
        )


@repair_layer_list.property("a learnable scale that the module knows, 0.1 at first", changes=DRAWS)
def scale(answer: Any, trial: Trial) -> None:
    module = _built(answer, trial)
    others = _others(module)
    shapes = [tuple(param.shape) for param in others]
    buffers = [tuple(buffer.shape) for buffer in module.buffers()]
    trial.true(
        shapes == [(WIDTH,)],
        f"Beside those of the Linear layers module.parameters() holds {shapes or 'nothing'}"
        + (f", and module.buffers() {buffers}." if buffers else "."),
        expected=f"one Parameter of shape ({WIDTH},)",
        got=shapes,
        observed=("shapes", shapes, buffers),
    )
    trial.true(others[0].requires_grad, "The scale does not require grad.", observed="frozen")
    trial.equal(others[0].detach().clone(), torch.full((WIDTH,), 0.1), "The scale")


@repair_layer_list.property("two calls with the same input give the same result", changes=DRAWS)
def twice(answer: Any, trial: Trial) -> None:
    module, x = _built(answer, trial), drawn(trial, 2, WIDTH, dtype=torch.float32)
    got = _output(trial, module, x)
    trial.true(
        isinstance(got, Tensor) and torch.equal(got, _output(trial, module, x)),
        "The second call gives other numbers than the first one.",
        expected="the same numbers",
        got="others",
        observed="other numbers",
    )


@repair_layer_list.property("each layer has first weights of its own", changes=DRAWS)
def own_start(answer: Any, trial: Trial) -> None:
    weights = [linear.weight for linear in _linears(_built(answer, trial))]
    alike = sum(torch.equal(weight, weights[0]) for weight in weights[1:])
    trial.true(
        alike == 0,
        "The layers are different objects with the same first weights: they were copied from one.",
        expected="layers that were drawn one by one",
        observed=("alike", alike),
    )


@repair_layer_list.property("after .double() the whole module computes in float64", changes=DRAWS)
def doubled(answer: Any, trial: Trial) -> None:
    module = _built(answer, trial).double()
    try:
        kind = str(module(drawn(trial, 2, WIDTH)).dtype)
    except RuntimeError:
        kind = "RuntimeError: another dtype"
    trial.true(
        kind == "torch.float64",
        "module.double() did not reach everything. module.to(device) would miss the same tensors.",
        expected="torch.float64",
        got=kind,
        observed=kind,
    )


@repair_layer_list.property("frozen by requires_grad_(False), it leaves no graph", changes=DRAWS)
def frozen(answer: Any, trial: Trial) -> None:
    module = _built(answer, trial).requires_grad_(False)
    got = _output(trial, module, drawn(trial, 2, WIDTH, dtype=torch.float32))
    trial.true(
        not getattr(got, "requires_grad", False),
        "The module was frozen and its result still requires grad: something that learns is not among its parameters.",
        expected="a result without a graph",
        got="requires_grad=True",
        observed="graph",
    )


@repair_layer_list.property("it can be copied, as a moving average of the weights does", changes=DRAWS)
def copied(answer: Any, trial: Trial) -> None:
    module = _built(answer, trial)
    try:
        copy.deepcopy(module)
    except RuntimeError:
        trial.fail(
            "copy.deepcopy(module) raised RuntimeError: the module holds the result of an operation, with its graph, "
            "where a Parameter should be.",
            expected="a copy",
            got="RuntimeError",
            observed="no copy",
        )


@repair_layer_list.property(
    "each layer, then relu; at the end times scale",
    changes=DRAWS,
    after=(
        layers,
        scale,
        twice,
    ),
)
def values(answer: Any, trial: Trial) -> None:
    module, x = _built(answer, trial), drawn(trial, 5, WIDTH, dtype=torch.float32)
    with torch.no_grad():
        for param in module.parameters():
            param.copy_(drawn(trial, *param.shape))
        want = x
        for linear in _linears(module):
            product = want @ linear.weight.T
            linear.bias.copy_(-product.mean(0))  # so each feature has both signs, and relu is seen
            want = (product + linear.bias).relu()
        want = want * _others(module)[0]
        got = _output(trial, module, x)
    trial.equal(got, want, "The result", rtol=1e-4, atol=1e-5, observed=_kind(got, want, module, x))


def _kind(got: Any, want: Tensor, module: nn.Module, x: Tensor) -> str:
    """Which of the steps is another one."""
    first = _others(module)[0]
    linears, without = _linears(module), x
    for place, linear in enumerate(linears, 1):
        without = linear(without)
        without = without.relu() if place < len(linears) else without
    straight = x
    for linear in linears:
        straight = linear(straight)
    known = {"no scale": want / first, "last relu missing": without * first, "no relu": straight * first}
    for kind, value in known.items():
        if isinstance(got, Tensor) and got.shape == value.shape and torch.allclose(got, value, 1e-4, 1e-5):
            return kind
    return "other"
