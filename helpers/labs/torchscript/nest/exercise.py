"""Exercise 09.nest: tracing inside scripting, and scripting inside tracing."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.check.calls import calls_to
from helpers.check.compare import difference, shown
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.torchscript.nest.loops import kind_of_gap, ways_missed
from helpers.labs.torchscript.shared.quiet import new_types, quiet
from helpers.labs.torchscript.shared.refusals import refused
from helpers.labs.torchscript.shown import recurrent
from helpers.labs.torchscript.shown.recurrent import HIDDEN, INPUTS, Cell, Gate, Readout

Answer = Callable[[str], torch.jit.ScriptModule]

Case = tuple[Tensor, Tensor, str]  # xs, h, in words

MODEL = "A recurrent model whose loop and branch survive, though neither script nor trace takes all of it."
INNER = '"trace_in_script" is a scripted loop around a traced lab.Cell, which holds a scripted lab.Gate.'
OUTER = '"script_in_trace" is a traced lab.Readout around that scripted loop.'
RETURNS = (
    "Returns a ScriptModule, called as `model(xs, h)`: xs of shape (length, batch, lab.INPUTS), h of shape (batch, "
    "lab.HIDDEN)."
)
PARAMETERS = "Its parameters are those of the parts."
LOOP = (
    "The loop, which you write, runs the cell over xs, hands h on, and gives (ys, h): ys stacked to (length, batch, "
    "lab.HIDDEN), h the last one. lab.Readout changes ys."
)
ANY = "It is right for any length from 1 on and any batch, whichever way the gate goes at each step."
BOTH = "whichever way the gate goes at each step"
HOLDS = "`model.inlined_graph` holds a prim::Loop and a prim::If."
LEFT = "xs and h are left as they were, and the gradients of xs, h and the parameters are those of the parts in Python."

KINDS = ("trace_in_script", "script_in_trace")
PARTS = inspect.getsource(recurrent)
RNG = ("torch RNG", "numpy RNG", "random RNG")  # parts and examples are drawn

nest = Exercise(
    "09.nest",
    "A trace inside a script inside a trace",
    objective="Put script and trace together so that a loop and a branch survive in a model that neither takes alone.",
    minutes=20,
    difficulty="medium",
    hints=[
        "Each part has one way only: what has an `if` or a `for` on the data must be scripted, what holds Python that the "
        "compiler refuses must be traced. Which of Gate, Cell, your loop and Readout are which?",
        "From the inside out: a scripted Gate goes into a Cell, which is traced with an example; the traced cell goes into "
        "your loop, which is scripted. A ScriptModule is a module like any other: pass it to the constructor.",
        "The loop needs types: `def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]`, with "
        "`y, h = self.cell(xs[place], h)` in `for place in range(xs.shape[0])`, and torch.stack(ys) at the end.",
        '"script_in_trace" is torch.jit.trace(lab.Readout(loop), (xs, h)) around the very loop that "trace_in_script" '
        "returns.",
    ],
)


class Steps(nn.Module):
    """The loop in Python, for comparison."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = Cell(Gate())

    def forward(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        ys = []
        for x in xs:
            y, h = self.cell(x, h)
            ys.append(y)
        return torch.stack(ys), h


def reference(kind: str) -> nn.Module:
    """The model in plain Python."""
    return Steps() if kind == "trace_in_script" else Readout(Steps())


def nested(answer: Answer, kind: str, trial: Trial) -> torch.jit.ScriptModule:
    """What the answer gives, if it is a ScriptModule. Each answer is asked once: tracing is slow."""
    trial.given(f'nest("{kind}")')
    try:
        with quiet(), new_types():
            model = _asked(answer, kind, trial)
    except NotImplementedError:
        raise  # a stub
    except RuntimeError as error:
        if "not part of the active trace" in str(error):
            trial.fail(
                "torch.jit.trace refused: a module that is called during a trace must be a submodule of what is traced.",
                observed="no submodule",
            )
        if "<--- HERE" not in str(error):
            raise
        refused(error, trial, "torch.jit.script refused a part.", PARTS)
    trial.true(
        isinstance(model, torch.jit.ScriptModule),
        f"Expected a ScriptModule, got {type(model).__name__}.",
        expected="what torch.jit.script or torch.jit.trace returns",
        observed=("type", type(model).__name__ if model is None else isinstance(model, nn.Module)),
    )
    return model


_models: dict[
    tuple[int, str, int], tuple[Answer, Any]
] = {}  # the answer is kept, so that its id stays its own


def _asked(answer: Answer, kind: str, trial: Trial) -> Any:
    known = _models.get((id(answer), kind, trial.seed))
    if known is None:
        known = _models[id(answer), kind, trial.seed] = answer, trial.call(answer, kind)
    return known[1]


def short_name(name: str) -> str:
    """A parameter's name from the cell's own part on, whatever the modules around are called."""
    return ".".join(name.split(".")[-2:]) if "gate" in name else ".".join(name.split(".")[-3:])


def with_weights(model: torch.jit.ScriptModule, kind: str, trial: Trial) -> nn.Module:
    """The model in Python; both hold the same new weights afterwards."""
    plain = reference(kind)
    own = {short_name(name): value for name, value in model.named_parameters()}
    wanted = {short_name(name): value for name, value in plain.named_parameters()}
    fits = len(own) == len(list(model.parameters())) and {k: v.shape for k, v in own.items()} == {
        k: v.shape for k, v in wanted.items()
    }
    trial.true(
        fits,
        "The parameters of the model are not those of its parts"
        + (
            ": some are missing. What is no submodule is not seen by script and trace."
            if own and own.keys() < wanted.keys()
            else "."
        ),
        expected=", ".join(sorted(wanted)),
        got=", ".join(sorted(own)) or "none",
        observed=("parameters", sorted(own), bool(model.inlined_graph.findAllNodes("prim::PythonOp"))),
    )
    with torch.no_grad():
        for name, value in wanted.items():
            value.copy_(torch.randn(value.shape, generator=trial.generator))
            own[name].copy_(value)
    return plain


def inputs(trial: Trial, cell: Cell) -> list[Case]:
    """xs, h and words, over lengths and batch sizes, in which the gate goes both ways."""
    for scale in itertools.count(1):  # a large bias of the gate must not decide for all inputs
        cases, seen = [], set()
        for length, batch in ((2, 4), (1, 3), (5, 2), (9, 1)):
            xs = scale * torch.randn(length, batch, INPUTS, generator=trial.generator)
            h = torch.randn(batch, HIDDEN, generator=trial.generator)
            cases.append((xs, h, f"xs of shape {tuple(xs.shape)}, h of shape {tuple(h.shape)}"))
            seen |= ways_missed(cell, xs, h)
        if len(seen) == 2:
            return cases


def gaps(
    model: torch.jit.ScriptModule, plain: nn.Module, cases: Iterable[Case]
) -> list[tuple[str, str, str]]:
    """Where the model differs from Python: (words, kind, sentence)."""
    found = []
    is_steps = isinstance(plain, Steps)
    cell, readout = (plain.cell, None) if is_steps else (plain.loop.cell, torch.sin)
    for xs, h, words in cases:
        with quiet(), torch.no_grad():
            want = plain(xs, h)
            try:
                got = model(xs, h)
            except Exception as error:  # the interpreter's
                line = str(error).strip().splitlines()[-1][:160]
                is_unrolled = "out of range" in line or "elements in a list" in line  # xs[place], xs.unbind()
                found.append((words, "unrolled" if is_unrolled else "raised", line))
                continue
            if not isinstance(got, tuple) or len(got) != 2:
                found.append((words, "no pair", f"expected the tuple (ys, h), got {type(got).__name__}"))
                continue
            for name, have, need in zip(("ys", "h"), got, want, strict=True):
                if gap := difference(have, need, rtol=1e-4, atol=1e-5):
                    kind = kind_of_gap(got, want, cell, xs, h, readout)
                    found.append((words, kind, f"{name}: {gap.sentence}"))
                    break
    return found


def tell(found: list[tuple[str, str, str]], model: torch.jit.ScriptModule, kind: str, trial: Trial) -> None:
    """Ends the property if there is a gap. An unrolled loop fails in ways that depend on its example: it is one kind."""
    if found:
        words, what, sentence = found[0]
        has_raised = sentence.startswith("RuntimeError") or what == "raised"
        kinds = sorted({gap[1] for gap in found})
        trial.given(f'nest("{kind}")(xs, h), {words}')
        trial.fail(
            "The model raised."
            if has_raised
            else f"The result differs from the same parts in Python: {sentence}.",
            expected="what the loop gives in Python",
            got=sentence if has_raised else "",
            observed=(kind, *unrolled(model)) if "unrolled" in kinds else (kind, kinds),
        )


def unrolled(model: torch.jit.ScriptModule) -> tuple[str, ...]:
    """What is seen of a model with another number of steps: which of loop and branch are in its graph."""
    kinds = {"prim::Loop": "loop", "prim::If": "branch"}
    return "unrolled", *(word for kind, word in kinds.items() if model.inlined_graph.findAllNodes(kind))


def right_results(kind: str, answer: Answer, trial: Trial) -> None:
    """Any length, any batch, with new weights."""
    model = nested(answer, kind, trial)
    plain = with_weights(model, kind, trial)
    cell = plain.loop.cell if kind == "script_in_trace" else plain.cell
    tell(gaps(model, plain, inputs(trial, cell)), model, kind, trial)


@nest.property(
    '"trace_in_script": any length and any batch', asks=(RETURNS, PARAMETERS, LOOP, ANY), changes=RNG
)
def trace_in_script(answer: Answer, trial: Trial) -> None:
    right_results("trace_in_script", answer, trial)


@nest.property('"script_in_trace": any length and any batch', asks=(OUTER, PARAMETERS, ANY), changes=RNG)
def script_in_trace(answer: Answer, trial: Trial) -> None:
    right_results("script_in_trace", answer, trial)


@nest.property("the gate goes both ways, whichever way the example went", asks=BOTH, changes=RNG)
def both_ways(answer: Answer, trial: Trial) -> None:
    for kind in KINDS:
        model = nested(answer, kind, trial)
        plain = with_weights(model, kind, trial)
        cell = plain.loop.cell if kind == "script_in_trace" else plain.cell
        towards = cell.layers[0].weight.detach().sum(0)  # along it the sum before the gate grows
        h = torch.zeros(2, HIDDEN)
        cases = [
            (
                sign * 50 * towards.expand(2, 2, INPUTS),
                h,
                f"the sum before the gate {words} 0 at the first step",
            )
            for sign, words in ((1, "above"), (-1, "below"))
        ]
        tell(gaps(model, plain, cases), model, kind, trial)


@nest.property("the loop and the branch stand in inlined_graph", asks=(HOLDS, MODEL), changes=RNG)
def survive(answer: Answer, trial: Trial) -> None:
    for kind in KINDS:
        model = nested(answer, kind, trial)
        missing = [name for name in ("prim::Loop", "prim::If") if not model.inlined_graph.findAllNodes(name)]
        trial.true(
            not missing,
            f"There is no {' and no '.join(missing)} in inlined_graph.",
            expected="a prim::Loop and a prim::If",
            got="neither" if len(missing) == 2 else f"no {missing[0]}" if missing else "",
            observed=(kind, missing),
        )


@nest.property(
    "the outermost part is scripted in the one, traced in the other", asks=(INNER, OUTER), changes=RNG
)
def outermost(answer: Answer, trial: Trial) -> None:
    for kind in KINDS:
        model = nested(answer, kind, trial)
        is_traced = isinstance(model, torch.jit.TopLevelTracedModule)
        trial.true(
            is_traced == (kind == "script_in_trace"),
            f"The outermost part was {'traced' if is_traced else 'scripted'}.",
            expected="traced" if kind == "script_in_trace" else "scripted",
            observed=(kind, is_traced),
        )


@nest.property("xs and h are left, and the gradients are right", asks=LEFT, changes=RNG, once_right=True)
def gradients(answer: Answer, trial: Trial) -> None:
    for kind in KINDS:
        model = nested(answer, kind, trial)
        plain = with_weights(model, kind, trial)
        given = drawn_for_slopes(plain, trial)
        trial.given(
            f'nest("{kind}")(xs, h), xs of shape {tuple(given[0].shape)}, h of shape {tuple(given[1].shape)}'
        )
        kept = [part.clone() for part in given]
        with quiet(), torch.no_grad():
            model(*given)
        for name, part, before in zip(("xs", "h"), given, kept, strict=True):
            edit = difference(part, before, rtol=0, atol=0)
            trial.true(
                edit is None,
                f"The model writes into {name}, which is the caller's: {edit.sentence if edit else ''}.",
                expected="left as it was",
                observed=(kind, "edited", name),
            )
        want, got = (slopes(one, kept) for one in (plain, model))
        without = [name for name in want if got[name] is None]
        trial.true(
            not without,
            f"No gradient reaches {', '.join(without)}.",
            expected=f"gradients of {', '.join(want)}",
            got=f"None for {', '.join(without)}",
            observed=(kind, "no gradient", "anything" if len(without) == len(want) else without),
        )
        for name, need in want.items():
            have = got[name]
            gap = difference(have, need, rtol=1e-4, atol=1e-5)
            trial.true(
                gap is None,
                f"The gradient of {name}: {gap.sentence if gap else ''}.",
                expected="" if shown(need) == shown(have) else shown(need),
                got="" if shown(need) == shown(have) else shown(have),
                observed=(kind, "other gradient", name),
            )


def drawn_for_slopes(plain: nn.Module, trial: Trial) -> list[Tensor]:
    """xs and h for which every parameter has a gradient: the gate's scale has none where no step takes its way."""
    for scale in itertools.count(
        1
    ):  # larger from try to try: a large bias of the gate must not decide for all inputs
        given = [
            scale * torch.randn(3, 5, INPUTS, generator=trial.generator),
            torch.randn(5, HIDDEN, generator=trial.generator),
        ]
        if all(slope is not None for slope in slopes(plain, given).values()):
            return given


def slopes(model: nn.Module, given: list[Tensor]) -> dict[str, Tensor | None]:
    """The gradients of xs, h and each parameter, of a loss that both results go into."""
    xs, h = (part.clone().requires_grad_() for part in given)
    with quiet():
        ys, last = model(xs, h)
    wanted = {"h": h, "xs": xs, **{short_name(key): value for key, value in sorted(model.named_parameters())}}
    loss = (ys * torch.linspace(-1, 2, ys.numel()).view(ys.shape)).sum() + (last**2).sum()
    if not loss.requires_grad:
        return dict.fromkeys(wanted)
    return dict(zip(wanted, torch.autograd.grad(loss, list(wanted.values()), allow_unused=True), strict=True))


@nest.property(
    "script and trace are both used, for either kind", asks=(MODEL, INNER), changes=RNG, once_right=True
)
def both_tools(answer: Answer, trial: Trial) -> None:
    for kind in KINDS:
        with calls_to(torch.jit.script, torch.jit.trace, torch.jit.trace_module) as seen:
            with quiet():
                trial.call(answer, kind)
        used = {"trace" if name.startswith("trace") else name for name in seen}
        trial.true(
            used == {"script", "trace"},
            f"Only torch.jit.{' and torch.jit.'.join(sorted(used)) or 'neither'} was called.",
            expected="both: the parts as lab gives them cannot be made with one",
            observed=(kind, sorted(used)),
        )
