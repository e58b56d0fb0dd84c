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

ORDER = "A module: `depth` times a Linear(width, width) and a relu, at the end times a scale that is learned."
MODULE = "Returns a module for x of shape (B, width)."
LINEARS = "Its parameters are those of `depth` different nn.Linear"
DRAWN = "each drawn by itself"
SCALE = "and one of shape (width,), 0.1 everywhere at first; there are no others."
KNOWN = "All that it computes with is trained, saved, moved and converted with the module."
APART = "Two calls give two modules that share nothing."
DRAWS = ("torch RNG",)  # a Linear draws its first weights from the global generator
WIDTH, DEPTH = 4, 3


def _built(answer: Any, trial: Trial, depth: int = DEPTH, width: int = WIDTH) -> nn.Module:
    trial.given(f"width = {width}, depth = {depth}")
    module = trial.call(answer, width, depth)
    trial.true(
        isinstance(module, nn.Module),
        f"The answer gave {'None. Is a `return` missing?' if module is None else f'a {type(module).__name__}.'}",
        expected="an nn.Module",
        got=type(module).__name__,
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


@repair_layer_list.property("depth layers that the module knows", asks=(MODULE, LINEARS), changes=DRAWS)
def layers(answer: Any, trial: Trial) -> None:
    for depth, width in ((DEPTH, WIDTH), (1, 5)):
        module = _built(answer, trial, depth, width)
        count = len(_linears(module))
        trial.true(
            count == depth,
            f"module.modules() knows {count} different Linear. An optimizer trains those of module.parameters(), and no "
            "others.",
            expected=f"{depth} different Linear({width}, {width})",
            got=count,
            observed=("linears", depth, count),
        )
        for linear in _linears(module):
            shapes = tuple(linear.weight.shape), linear.bias is not None
            trial.true(
                shapes == ((width, width), True),
                f"A layer is Linear({linear.in_features}, {linear.out_features}"
                + (")." if shapes[1] else ", bias=False)."),
                expected=f"Linear({width}, {width})",
                got=linear,
                observed=("kind of layer", shapes),
            )


@repair_layer_list.property(
    "a learnable scale that the module knows, 0.1 at first", asks=SCALE, changes=DRAWS
)
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
    trial.true(
        others[0].requires_grad,
        "The scale does not require grad.",
        expected="requires_grad=True",
        got="requires_grad=False",
        observed="frozen",
    )
    trial.equal(others[0].detach().clone(), torch.full((WIDTH,), 0.1), "The scale")


@repair_layer_list.property("two calls with the same input give the same result", asks=ORDER, changes=DRAWS)
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


@repair_layer_list.property("each layer has first weights of its own", asks=DRAWN, changes=DRAWS)
def own_start(answer: Any, trial: Trial) -> None:
    weights = [linear.weight for linear in _linears(_built(answer, trial))]
    alike = sum(torch.equal(weight, weights[0]) for weight in weights[1:])
    one = alike > 0 and len({id(weight) for weight in weights}) == len(weights) - alike
    trial.true(
        alike == 0,
        "The layers are different objects with one and the same Parameter as weight."
        if one
        else "The layers are different objects with the same first weights.",
        expected="layers that were drawn one by one",
        got=f"{alike + 1} of {len(weights)} with the same {'Parameter' if one else 'weights'}",
        observed=("one Parameter" if one else "alike", alike),
    )


@repair_layer_list.property("modules of two calls share nothing", asks=APART, changes=DRAWS)
def apart(answer: Any, trial: Trial) -> None:
    first, second = (_built(answer, trial) for _ in range(2))
    trial.given(f"two calls with width = {WIDTH}, depth = {DEPTH}")
    known = {param.untyped_storage().data_ptr() for param in first.parameters()}
    shared = [
        name for name, param in second.named_parameters() if param.untyped_storage().data_ptr() in known
    ]
    trial.true(
        not shared,
        f"{len(shared)} of the second module's parameters are those of the first: training one trains the other.",
        expected="parameters of its own",
        got=f"{len(shared)} shared",
        observed=("shared", len(shared)),
    )


@repair_layer_list.property(
    "after .double() the whole module computes in float64", asks=(KNOWN, MODULE), changes=DRAWS
)
def doubled(answer: Any, trial: Trial) -> None:
    module = _built(answer, trial).double()
    trial.given(
        f"width = {WIDTH}, depth = {DEPTH}; after module.double(), an x of shape (2, {WIDTH}), float64"
    )
    try:
        kind = str(module(drawn(trial, 2, WIDTH)).dtype)
    except RuntimeError as error:
        kind = f"RuntimeError: {str(error)[:80]}"
    trial.true(
        kind == "torch.float64",
        "module.double() did not reach everything. module.to(device) would miss the same tensors.",
        expected="torch.float64",
        got=kind,
        observed=kind,
    )


@repair_layer_list.property("frozen by requires_grad_(False), it leaves no graph", asks=KNOWN, changes=DRAWS)
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


@repair_layer_list.property(
    "it can be copied, as a moving average of the weights does", asks=KNOWN, changes=DRAWS
)
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
    asks=ORDER,
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
        factors = _others(module)[0].view(-1)
        factors.copy_(factors.abs())[::2] *= -1  # of both signs, whatever was drawn
        want = x
        for linear in _linears(module):
            product = want @ linear.weight.T
            linear.bias.copy_(-product.mean(0))  # so each feature has both signs, and relu is seen
            want = (product + linear.bias).relu()
        want = want * _others(module)[0] + 0.0  # no minus zero
        trial.given(
            f"width = {WIDTH}, depth = {DEPTH}; all parameters got new numbers, as training gives them; x of shape (5, {WIDTH})"
        )
        got = _output(trial, module, x)
    trial.equal(got, want, "The result", rtol=1e-4, atol=1e-5, observed=_kind(got, want, module, x))


def _before_last(linears: list[nn.Linear], x: Tensor) -> Tensor:
    for linear in linears[:-1]:
        x = linear(x).relu()
    return x


def _kind(got: Any, want: Tensor, module: nn.Module, x: Tensor) -> str:
    """Which of the steps is a different one."""
    first = _others(module)[0]
    linears, without = _linears(module), x
    for place, linear in enumerate(linears, 1):
        without = linear(without)
        without = without.relu() if place < len(linears) else without
    straight = x
    for linear in linears:
        straight = linear(straight)
    before, within, again = x * first, x, x
    for linear in linears:
        before, within = linear(before).relu(), linear(within).relu() * first
        again = linears[0](again).relu()
    added, relu_first = x, x
    for linear in linears:
        added, relu_first = added + linear(added).relu(), linear(relu_first.relu())
    last = linears[-1](_before_last(linears, x))
    known = {
        "the input of each layer added": added * first,
        "relu in front of each layer": relu_first * first,
        "scaled before the last relu": (last * first).relu(),
        "no scale": want / first,
        "last relu missing": without * first,
        "no relu": straight * first,
        "scaled first": before,
        "scaled in each round": within,
        "one layer in each round": again * first,
        "scale of the beginning": want / first * 0.1,
    }
    for kind, value in known.items():
        if isinstance(got, Tensor) and got.shape == value.shape and torch.allclose(got, value, 1e-4, 1e-5):
            return kind
    return "other"


@repair_layer_list.property(
    "each parameter gets a gradient", asks=KNOWN, changes=DRAWS, after=(layers, scale, twice, values)
)
def trained(answer: Any, trial: Trial) -> None:
    module = _built(answer, trial)
    got = _output(trial, module, drawn(trial, 5, WIDTH, dtype=torch.float32))
    trial.given(f"width = {WIDTH}, depth = {DEPTH}; after a backward from module(x).sum()")
    if got.requires_grad:
        got.sum().backward()
    without = [name for name, param in module.named_parameters() if param.grad is None]
    trial.true(
        not without,
        f"{len(without)} of {len(list(module.parameters()))} parameters get no gradient: no step moves them.",
        expected="a gradient for each",
        got=f"none for {', '.join(without)}",
        observed=("without", len(without), _only_the_last(module)),
    )


def _only_the_last(module: nn.Module) -> bool:
    """Whether of all layers the last one alone has gradients."""
    have = [linear.weight.grad is not None for linear in _linears(module)]
    return have == [False] * (len(have) - 1) + [True]
