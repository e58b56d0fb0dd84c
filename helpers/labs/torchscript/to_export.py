"""Exercise 09.to_export: today's way, for a size, a branch and a custom Function."""

from __future__ import annotations

import re

import torch
from torch import Tensor, nn

from helpers.compare import difference
from helpers.exercise import Exercise
from helpers.labs.torchscript import operators as operators  # so that an answer with an operator can be sent
from helpers.labs.torchscript.export_models import LONGEST
from helpers.labs.torchscript.exported import (
    Answer,
    Program,
    first_sentence,
    held,
    program_of,
    tell_refusal,
)
from helpers.labs.torchscript.quiet import quiet
from helpers.trial import Trial

RNG = ("torch RNG", "numpy RNG", "random RNG")  # an answer makes modules, opcheck draws
TORCHS = ("aten", "prims", "prim", "higher_order", "_c10d_functional", "inductor")

to_export = Exercise(
    "09.to_export",
    "The same models through torch.export",
    objective="Export a model with a size that its code fixes, one with a branch on data, one with a custom Function.",
    minutes=35,
    difficulty="hard",
    seconds=40,  # the first export imports dynamo: 2 s, and 15 on a machine that does much else
    hints=[
        "Call torch.export.export(module, example, dynamic_shapes=({0: Dim('batch')},)) on each and read the error. Each "
        "names what to change: a number that the code made of a size, a question about data, a range.",
        "Averaged: len(x) is a number of Python, x.shape[0] is a symbol, and x.mean(0) asks for neither. Its table ends: "
        "Dim('length', max=len(module.table)).",
        "Branching: torch.cond(x.sum() > 0, up, down, (x,)), up and down two functions of x with results of one shape. "
        "Write it in a small module that takes over `up` and `down` of the given one.",
        "Squared: @torch.library.custom_op('lab09::square', mutates_args=()) above a function with types; "
        "square.register_fake(lambda x: torch.empty_like(x)); square.register_autograd(backward, setup_context=...) with "
        "setup_context(ctx, inputs, output) and backward(ctx, grad_out).",
    ],
)


def results_and_gradients(one: Program, model: nn.Module, x: Tensor) -> tuple[Tensor, list[Tensor | None]]:
    """What a model gives for x, and the gradients by x and by its parameters, in the order of the module's own."""
    x = x.detach().requires_grad_()
    own = [by_value(model, value) for value in one.module.parameters()]
    out = model(x)
    if not isinstance(out, Tensor) or not out.requires_grad:
        return out, []
    grad_out = torch.randn(out.shape, generator=torch.Generator().manual_seed(3))
    wanted = [x, *(value for value in own if value is not None)]
    grads = iter(torch.autograd.grad(out, wanted, grad_out, allow_unused=True))
    return out, [next(grads), *(None if value is None else next(grads) for value in own)]


def by_value(model: nn.Module, value: Tensor) -> Tensor | None:
    """The parameter of a model that has these values."""
    same = [own for own in model.parameters() if own.shape == value.shape and torch.equal(own, value)]
    return same[0] if same else None


def same_results(one: Program, trial: Trial) -> None:
    """Each other size, both ways of the branch."""
    model, gaps = one.model, []
    for x in one.inputs():
        way = " with a sum above 0" if x.sum() > 0 else " with a sum below 0"
        words = f"x of shape {tuple(x.shape)}{way if one.name == 'Branching' else ''}"
        want = one.module(x).detach()
        try:
            with quiet(), torch.no_grad():
                got = model(x.detach())
        except Exception as error:
            line = first_sentence(re.sub(r"\(with implementation in .*?\): ?", "", str(error)))
            gaps.append((words, "raised " + re.sub(r"\d+", "#", line.partition("Guard failed: ")[2]), line))
            continue
        if gap := difference(got, want):
            gaps.append((words, gap.kind, gap.sentence))
    if gaps:
        words, kind, sentence = gaps[0]
        trial.given(f"to_export(lab.{one.name}(), ...).module()(x), {words}")
        trial.fail(
            "The program raised." if kind.startswith("raised") else f"The result: {sentence}.",
            expected="what the module gives",
            got=sentence if kind.startswith("raised") else "",
            observed=[gap[:2] for gap in gaps],
        )


@to_export.property("Averaged: other batches, other lengths", changes=RNG)
def averaged(answer: Answer, trial: Trial) -> None:
    held(same_results, program_of(answer, "Averaged", trial), trial)


@to_export.property("Branching: both ways, other batches", changes=RNG)
def branching(answer: Answer, trial: Trial) -> None:
    held(same_results, program_of(answer, "Branching", trial), trial)


@to_export.property("Squared: other batches", changes=RNG)
def squared(answer: Answer, trial: Trial) -> None:
    held(same_results, program_of(answer, "Squared", trial), trial)


def ranges(one: Program) -> list[tuple[str, str]]:
    """The least and the greatest size of each dimension of x, as the program tells them."""
    x = next(
        node for node in one.program.graph.nodes if node.op == "placeholder" and node.name in user_inputs(one)
    )
    found = []
    for size in x.meta["val"].shape:
        bounds = one.program.range_constraints.get(size.node.expr) if isinstance(size, torch.SymInt) else None
        found.append((str(bounds.lower), str(bounds.upper)) if bounds else ("fixed", "fixed"))
    return found


def user_inputs(one: Program) -> tuple[str, ...]:
    """The names of the arguments of forward in the graph."""
    return tuple(one.program.graph_signature.user_inputs)


@to_export.property("the ranges of the sizes stand in range_constraints", changes=RNG)
def constraints(answer: Answer, trial: Trial) -> None:
    for name in ("Averaged", "Branching", "Squared"):
        found = ranges(program_of(answer, name, trial))
        wanted = {"Averaged": ["int_oo", str(LONGEST), "fixed"]}.get(name, ["int_oo", "fixed"])
        is_right = all(
            greatest == need and least in ("0", "1", "2", "fixed")
            for (least, greatest), need in zip(found, wanted, strict=True)
        )
        trial.true(
            is_right,
            "The ranges of the sizes of x are others: "
            + ", ".join(f"{a} to {b}" if a != b else a for a, b in found)
            + ".",
            expected="the dynamic ones from 2 (or less) on, "
            + (f"the length to {LONGEST}, where the table ends" if name == "Averaged" else "without an end")
            + "; the last one fixed",
            observed=(name, found),
        )


@to_export.property("Branching: the graph holds one torch.cond", changes=RNG)
def one_cond(answer: Answer, trial: Trial) -> None:
    one = program_of(answer, "Branching", trial)
    count = sum(node.target is torch.ops.higher_order.cond for node in one.program.graph.nodes)
    trial.true(
        count == 1,
        f"There are {count} nodes of torch.cond in the graph.",
        expected="one: a branch is taken, the other one is not computed",
        observed=("cond", count),
    )


def own_operators(one: Program) -> list[torch._ops.OpOverload]:
    """The operators of a program that are not torch's."""
    found = {
        node.target for node in one.program.graph.nodes if isinstance(node.target, torch._ops.OpOverload)
    }
    return sorted((op for op in found if op.namespace not in TORCHS), key=str)


@to_export.property("Squared: the graph holds an operator of your own", changes=RNG)
def one_operator(answer: Answer, trial: Trial) -> None:
    found = own_operators(program_of(answer, "Squared", trial))
    trial.true(
        len(found) == 1,
        "There is no operator of your own in the graph: torch.export went through the Function, wrote down what its "
        "forward does, and its backward is lost."
        if not found
        else f"There are {len(found)} operators of your own in the graph.",
        expected="one operator, made with torch.library.custom_op",
        observed=("operators", len(found)),
    )


def accepted_by_torch(one: Program, trial: Trial) -> None:
    """What opcheck says of each own operator."""
    generator = torch.Generator().manual_seed(trial.seed)
    for op in own_operators(one):
        for shape in ((4, 2), (3, 5)):
            x = torch.randn(shape, generator=generator, requires_grad=True)
            trial.given(f"torch.library.opcheck(operator, (x,)), x of shape {shape}")
            with quiet():
                said = torch.library.opcheck(op, (x,), raise_exception=False)
            failed = sorted(name for name, result in said.items() if result != "SUCCESS")
            trial.true(
                not failed,
                f"opcheck says no: {', '.join(failed)}.",
                expected="SUCCESS for all tests: " + ", ".join(sorted(said)),
                got=first_line(str(said[failed[0]])) if failed else "",
                observed=("opcheck", failed, "FakeTensors" in str(said[failed[0]]) if failed else False),
            )


@to_export.property("Squared: torch.library.opcheck accepts the operator", changes=RNG)
def accepted(answer: Answer, trial: Trial) -> None:
    held(accepted_by_torch, program_of(answer, "Squared", trial), trial)


def first_line(text: str) -> str:
    """The part of opcheck's report that says what is wrong."""
    text = text.partition("raised: ")[2] or text
    text = re.sub(r"\S*\.(?:default|py)\b\S*", "operator", text)
    return re.sub(r"\s+", " ", text.strip())[:200]


def same_gradients(one: Program, trial: Trial) -> None:
    """By x and by each parameter, for both ways of the branch."""
    for x in one.inputs()[:2]:
        trial.given(
            f"lab.{one.name}, x of shape {tuple(x.shape)}: backward with a random gradient of the result"
        )
        _, want = results_and_gradients(one, one.module, x)
        try:
            with quiet():
                _, got = results_and_gradients(one, one.model, x)
        except RuntimeError as error:
            tell_refusal(error, trial)
            raise
        names = ["x", *(key for key, _ in one.module.named_parameters())]
        trial.true(
            len(got) > 0,
            "The result of the program does not require grad.",
            expected="a result through which backward goes",
            observed=(one.name, "no grad"),
        )
        wrong = {key: kind_of_gradient(have, need) for key, have, need in zip(names, got, want, strict=True)}
        wrong = {key: kind for key, kind in wrong.items() if kind}
        trial.true(
            not wrong,
            " ".join(f"The gradient of {key} is {kind}." for key, kind in wrong.items()),
            expected="the gradients of the module",
            observed=(one.name, sorted(wrong.items())),
        )


@to_export.property("the gradients of x and of each parameter", changes=RNG)
def gradients(answer: Answer, trial: Trial) -> None:
    for name in ("Averaged", "Branching", "Squared"):
        held(same_gradients, program_of(answer, name, trial), trial)


def kind_of_gradient(got: Tensor | None, want: Tensor | None) -> str:
    """How a gradient is wrong, or ""."""
    if want is None or got is None:
        is_zero = all(part is None or not part.any() for part in (got, want))
        return "" if is_zero else "missing"
    if difference(got, want, rtol=1e-4, atol=1e-5) is None:
        return ""
    if difference(2 * got, want, rtol=1e-4, atol=1e-5) is None:
        return "half of what it should be"
    if not got.isfinite().all():
        return "not finite"
    return "another one" if got.any() else "zero"
