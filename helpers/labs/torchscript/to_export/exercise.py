"""Exercise 09.to_export: today's way, for a size, a branch and a custom Function."""

from __future__ import annotations

import contextlib
import re

import torch
from torch import Tensor, nn
from torch._functorch import config as functorch_config
from torch._subclasses.fake_tensor import FakeTensorMode

from helpers.check.compare import difference, shown
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.torchscript.shared.quiet import quiet
from helpers.labs.torchscript.shown.export_models import LONGEST
from helpers.labs.torchscript.to_export import operators as operators
from helpers.labs.torchscript.to_export.exported import (
    REGISTERED_HERE,
    Answer,
    Calls,
    OutOfReach,
    Program,
    first_sentence,
    held,
    program_of,
    tell_refusal,
)

KEEPS = "The module as an ExportedProgram that keeps what torch.export alone would refuse or lose."
LEFT = "The module is left as it is, modes and parameters, too: what has to be written otherwise stands in modules of yours."
SAME = (
    "`to_export(...).module()` gives what `module` gives, for each size of the dynamic dimensions: of dimension 0 from "
    "2 on, of dimension 1 of Averaged from 2 to the length of its table."
)
RANGES = "`range_constraints` tells these ranges (0 or 1 as the lower end is right, too)."
GRADIENTS = "The gradients of x and of each parameter are the same; the parameters are the program's, too."
COND = "Branching: the graph holds one torch.cond."
OPERATOR = "Squared: the graph holds an operator of your own, made with torch.library.custom_op."
OPCHECK = "torch.library.opcheck accepts this operator, as the program calls it, with a fake kernel and an autograd formula."

RNG = ("torch RNG", "numpy RNG", "random RNG")  # an answer makes modules, opcheck draws
SAID = ("FakeTensors", "Shapes", "Dtypes", "alias")  # what opcheck says of a fake kernel
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


def gradients_of(one: Program, model: nn.Module, x: Tensor, *, ones: bool = False) -> list[Tensor | None]:
    """The gradients by x and by a model's parameters, in the order of the module's own.

    ones: the gradient of the result is 1 everywhere, and not random.
    """
    x = x.detach().requires_grad_()
    own = [by_value(model, value) for value in one.module.parameters()]
    out = model(x)
    if not isinstance(out, Tensor) or not out.requires_grad:
        return []
    grad_out = torch.randn(out.shape, generator=torch.Generator().manual_seed(3))
    wanted = [x, *(value for value in own if value is not None)]
    grads = iter(torch.autograd.grad(out, wanted, grad_out**0 if ones else grad_out, allow_unused=True))
    return [next(grads), *(None if value is None else next(grads) for value in own)]


def by_value(model: nn.Module, value: Tensor) -> Tensor | None:
    """The parameter of a model that has these values and can be trained."""
    trained = [own for own in model.parameters() if own.requires_grad]
    return next((own for own in trained if own.shape == value.shape and torch.equal(own, value)), None)


def same_results(one: Program, trial: Trial) -> None:
    """Each other size, both ways of the branch."""
    model, gaps = one.model, []
    for x in one.inputs():
        way = f" with a sum {'above' if x.sum() > 0 else 'below' if x.sum() < 0 else 'that is'} 0"
        words = f"x of shape {tuple(x.shape)}{way if one.name == 'Branching' else ''}"
        want = one.module(x).detach()
        try:
            with quiet(), torch.no_grad():
                got = model(x.detach())
        except Exception as error:
            line = first_sentence(re.sub(r"\(with implementation in .*?\): ?", "", str(error)))
            guard = re.sub(r"(= ?)\d+", r"\1#", line.partition("Guard failed: ")[2])
            gaps.append(
                (
                    words,
                    f"raised {guard or ('an alias' if 'alias' in str(error) else '')}".strip(),
                    line,
                    "",
                    line,
                )
            )
            continue
        if gap := difference(got, want):
            kind = kind_of_result(one, x, got, want) or gap.kind
            tell = shown(want) != shown(got)  # large ones: the sentence says where they differ
            gaps.append(
                (words, kind, gap.sentence, f": {shown(want)}" if tell else "", shown(got) if tell else "")
            )
    if gaps:
        words, kind, sentence, wanted, had = gaps[0]
        trial.given(f"to_export(lab.{one.name}(), ...).module()(x), {words}")
        trial.fail(
            "The program raised." if kind.startswith("raised") else f"The result: {sentence}.",
            expected=f"what the module gives{wanted}",
            got=had,
            observed=[gap[:2] for gap in gaps] + ([("fixed", fixed(one))] if "raised" in str(gaps) else []),
        )


def fixed(one: Program) -> list[int]:
    """The dimensions of x whose size is a constant of the program."""
    return [dim for dim, (least, _) in enumerate(ranges(one)) if least == "fixed"]


def kind_of_result(one: Program, x: Tensor, got: Tensor, want: Tensor) -> str:
    """What a wrong result is, where it can be told."""
    if got.shape != want.shape:
        return ""
    if one.name == "Averaged":
        divided = got * len(one.x) / len(x)
        if difference(divided, want, rtol=1e-4, atol=1e-5) is None:
            return "divided by the example's batch"
        return "" if difference(got / len(x), want, rtol=1e-4, atol=1e-5) else "the sum"
    if one.name == "Branching":
        with torch.no_grad():
            up, down = one.module.up(x), torch.tanh(one.module.down(x))
        other = down if x.sum() > 0 else up
        return "" if difference(got, other, rtol=1e-4, atol=1e-5) else "the other branch"
    return ""


@to_export.property("Averaged: other batches, other lengths", asks=(KEEPS, SAME, LEFT), changes=RNG)
def averaged(answer: Answer, trial: Trial) -> None:
    held(same_results, program_of(answer, "Averaged", trial), trial)


@to_export.property("Branching: both ways, other batches", asks=(SAME, LEFT), changes=RNG)
def branching(answer: Answer, trial: Trial) -> None:
    held(same_results, program_of(answer, "Branching", trial), trial)


@to_export.property("Squared: other batches", asks=(SAME, LEFT), changes=RNG)
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


@to_export.property("the ranges of the sizes stand in range_constraints", asks=RANGES, changes=RNG)
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
            "The ranges of the sizes of x are different: "
            + ", ".join(f"{a} to {b}" if a != b else a for a, b in found)
            + ".",
            expected="the dynamic ones from 2 (or less) on, "
            + (f"the length to {LONGEST}, where the table ends" if name == "Averaged" else "without an end")
            + "; the last one fixed",
            observed=(name, list(map(kind_of_range, found, wanted))),
        )


def kind_of_range(found: tuple[str, str], need: str) -> str:
    """How a range is wrong, or ""."""
    least, greatest = found
    if greatest != need:
        return "fixed" if greatest == "fixed" else "no end" if greatest == "int_oo" else "a different end"
    return "" if least in ("0", "1", "2", "fixed") else "begins late"


@to_export.property("Branching: the graph holds one torch.cond", asks=COND, changes=RNG)
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


@to_export.property("Squared: the graph holds an operator of your own", asks=OPERATOR, changes=RNG)
def one_operator(answer: Answer, trial: Trial) -> None:
    one = program_of(answer, "Squared", trial)
    found = own_operators(one)
    trial.true(
        len(found) > 0,
        "There is no operator of your own in the graph.",
        expected="an operator, made with torch.library.custom_op",
        got=f"a graph of {', '.join(str(node.target) for node in one.program.graph.nodes if node.op == 'call_function')}",
        observed="no operator",
    )
    needed = needed_for_the_result(one.program.graph)
    trial.true(
        any(node.target in found for node in needed),
        "There is an operator of your own in the graph, and the result is computed without it.",
        expected="a result that the operator has part in",
        got=f"{', '.join(map(str, found))}, whose result nobody uses",
        observed="unused operator",
    )


def needed_for_the_result(graph: torch.fx.Graph) -> set[torch.fx.Node]:
    """The nodes that the output of a graph depends on."""
    waiting = [node for node in graph.nodes if node.op == "output"]
    found = set(waiting)
    while waiting:
        new = set(waiting.pop().all_input_nodes) - found
        found |= new
        waiting += new
    return found


def accepted_by_torch(one: Program, trial: Trial) -> None:
    """What opcheck says of each own operator, with the arguments that it has in the program."""
    for example in one.inputs()[:2]:
        with quiet(), torch.no_grad(), contextlib.suppress(Exception), Calls(own_operators(one)) as calls:
            one.model(example)  # what it raises is told by another property
        for op, args, kwargs in calls.seen:
            shape = next((tuple(x.shape) for x in args if isinstance(x, Tensor)), ())
            trial.given(f"torch.library.opcheck(operator, args), as the program calls it, x of shape {shape}")
            with quiet(), functorch_config.patch(cse=False):  # for cse, torch would import all of inductor
                message = torch.library.opcheck(op, args, kwargs, raise_exception=False)
            failed = sorted(name for name, result in message.items() if result != "SUCCESS")
            trial.true(
                not failed,
                f"opcheck says no: {', '.join(failed)}.",
                expected="SUCCESS for all tests: " + ", ".join(sorted(message)),
                got=first_line(str(message[failed[0]])) if failed else "",
                observed=(
                    "opcheck",
                    failed,
                    [word for word in SAID if word in str(message.get("test_faketensor"))],
                    kind_of_fake(op, args) if failed else "",
                ),
            )


def kind_of_fake(op: torch._ops.OpOverload, args: tuple) -> str:
    """How the shape that the fake kernel tells is related to that of its argument."""
    shapes = []
    for rows in (5, 7):
        try:
            with quiet(), FakeTensorMode():
                shapes.append(tuple(op(torch.empty(rows, args[0].shape[-1]), *args[1:]).shape))
        except Exception:  # opcheck says what is wrong
            return "raised"
    width = args[0].shape[-1]
    if shapes == [(5, width), (7, width)]:
        return ""
    if shapes == [(width, 5), (width, 7)]:
        return "turned"
    return "fixed" if shapes[0] == shapes[1] else "other"


@to_export.property("Squared: torch.library.opcheck accepts the operator", asks=OPCHECK, changes=RNG)
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
        want = gradients_of(one, one.module, x)
        try:
            with quiet():
                got = gradients_of(one, one.model, x)
        except RuntimeError as error:
            tell_refusal(error, trial)
            if "fork-based multiprocessing" in str(error):
                raise OutOfReach(REGISTERED_HERE) from None
            trial.fail(
                "The program raised.", got=first_sentence(str(error)), observed=(one.name, "backward raised")
            )
        names = ["x", *(key for key, _ in one.module.named_parameters())]
        trial.true(
            len(got) > 0,
            "The result of the program does not require grad.",
            expected="a result through which backward goes",
            observed=(one.name, "no grad"),
        )
        of_ones = gradients_of(one, one.module, x, ones=True)
        wrong = {
            key: kind_of_gradient(have, need, other)
            for key, have, need, other in zip(names, got, want, of_ones, strict=True)
        }
        wrong = {key: kind for key, kind in wrong.items() if kind}
        trial.true(
            not wrong,
            " ".join(f"The gradient of {key} is {IN_WORDS.get(kind, kind)}." for key, kind in wrong.items()),
            expected="the gradients of the module" + numbers_of(wrong, dict(zip(names, want, strict=True))),
            got=numbers_of(wrong, dict(zip(names, got, strict=True))).removeprefix("; "),
            observed=(one.name, sorted(wrong.items())),
        )


def numbers_of(wrong: dict[str, str], gradients: dict[str, Tensor | None]) -> str:
    """The first numbers of the first gradient that is wrong."""
    for key in list(wrong)[:1]:
        value = gradients[key]
        if value is None:
            return f"; of {key}: None"
        return f"; of {key}, the first numbers: " + ", ".join(
            f"{x:.4g}" for x in value.flatten()[:3].tolist()
        )
    return ""


for _name in ("Averaged", "Branching", "Squared"):
    to_export.property(f"{_name}: the gradients of x and of each parameter", asks=GRADIENTS, changes=RNG)(
        lambda answer, trial, name=_name: held(same_gradients, program_of(answer, name, trial), trial)
    )


IN_WORDS = {"another one": "a different one"}  # what is observed is stored under the first


def kind_of_gradient(got: Tensor | None, want: Tensor | None, of_ones: Tensor | None) -> str:
    """How a gradient is wrong, or "". of_ones: what it would be if the gradient of the result were 1 everywhere."""
    if want is None or got is None:
        is_zero = all(part is None or not part.any() for part in (got, want))
        return "" if is_zero else "missing"
    if difference(got, want, rtol=1e-4, atol=1e-5) is None:
        return ""
    if difference(2 * got, want, rtol=1e-4, atol=1e-5) is None:
        return "half of what it should be"
    if of_ones is not None and difference(got, of_ones, rtol=1e-4, atol=1e-5) is None:
        return "what it would be if the gradient of the result were 1 everywhere"
    if not got.isfinite().all():
        return "not finite"
    return "another one" if got.any() else "zero"
