"""Exercise 09.scriptable: models mended so that the compiler takes all of them."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from helpers.check.compare import difference
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.torchscript.scriptable.marks import restore_marks
from helpers.labs.torchscript.shared.quiet import new_types, quiet
from helpers.labs.torchscript.shared.refusals import first_line, refused
from helpers.labs.torchscript.shown.broken import BROKEN, WIDTH

Answer = Callable[[str], nn.Module]

scriptable = Exercise(
    "09.scriptable",
    "Python that a compiler takes",
    objective="Repair seven models so that torch.jit.script compiles them whole, with both ways of every branch.",
    minutes=30,
    difficulty="medium",
    core=False,
    hints=[
        "Run torch.jit.script on each and read the last line before the arrow. An argument without an annotation is a "
        "Tensor, an empty list holds Tensors, an empty dict has str keys and Tensor values.",
        "`mask: Optional[Tensor] = None`; `places: list[int] = []`; `rows: dict[str, int] = {}`; `gated: Final[bool]` in "
        "the body of the class; @torch.jit.export above `encode`. A ModuleList can be looped over, not indexed by a "
        "variable.",
        "@torch.jit.ignore keeps a call of Python, and torch.jit.save refuses it. @torch.jit.unused puts an error in its "
        "place: right for a method that the scripted model never calls.",
        "layers: `for place, layer in enumerate(self.layers): if place < depth: x = torch.tanh(layer(x))`.",
    ],
)

WHAT = "A repaired model: what `lab.BROKEN[name]()` is, so that torch.jit.script compiles all of it."
RETURNS = (
    "Returns a new Python module at each call, not yet scripted, with the same parameters (names and shapes, as in "
    "state_dict)."
)
NEW = "Returns a new Python module at each call"
SAME = "Called from Python, in training and in eval mode, it does all that the broken one does."
SCRIPTED = "Scripted in eval mode it gives the same results, whichever way the data take."
OWN = {
    "optional": '"optional" takes a mask, none, and None',
    "export": '"export" has `encode` after scripting, too',
    "ignored": '"ignored" notes nothing when it is scripted.',
}
SAVED = "No call of Python is left in the scripted module, so that torch.jit.save can write it."

SAID = {
    "optional": '"optional": with a mask, without one, and with None',
    "list": '"list": any step, any number of rows',
    "dict": '"dict": names with rows, with none, and no names',
    "final": '"final": the layer that is not there',
    "export": '"export": forward, and encode by itself',
    "ignored": '"ignored": both ways of the branch; the notes of training are Python\'s',
    "layers": '"layers": any depth',
}

Call = tuple[str, tuple[Any, ...], str]  # method, arguments, in words


def calls_for(name: str, reference: nn.Module, trial: Trial) -> Iterator[Call]:
    """What is called, both ways of each branch."""

    def drawn(*shape: int) -> Tensor:
        return torch.randn(shape, generator=trial.generator)

    x = drawn(5, WIDTH)
    if name == "optional":
        yield "forward", (x, drawn(5, WIDTH)), "model(x, mask)"
        yield "forward", (x, (drawn(5, WIDTH) > 0).float()), "model(x, mask), a mask of 0 and 1"
        yield "forward", (x, torch.zeros(1, WIDTH)), "model(x, mask), one row of zeros as the mask"
        yield "forward", (x,), "model(x)"
        yield "forward", (x, None), "model(x, None)"
    elif name == "list":
        for step in (1, 2, 3):
            yield "forward", (x, step), f"model(x, {step}), x of shape (5, {WIDTH})"
        yield "forward", (drawn(1, WIDTH), 4), f"model(x, 4), x of shape (1, {WIDTH})"
    elif name == "dict":
        yield "forward", ({"a": x, "b": drawn(2, WIDTH)},), "model({'a': 5 rows, 'b': 2 rows})"
        yield "forward", ({"a": drawn(0, WIDTH), "c": x},), "model({'a': no rows, 'c': 5 rows})"
        yield "forward", ({},), "model({})"
        yield "forward", ({"a": drawn(1, WIDTH)},), "model({'a': 1 row})"
    elif name == "export":
        yield "forward", (x,), "model(x)"
        yield "encode", (x, 0.5), "model.encode(x, 0.5)"
        yield "encode", (x, 3.0), "model.encode(x, 3.0)"
        yield "encode", (x, 1.5), "model.encode(x, 1.5)"
    elif name == "ignored":
        for sign, words in ((1, "above"), (-1, "below")):
            x, towards = 3 * drawn(5, WIDTH), sign * reference.fc.weight.detach().sum(0)
            while sign * reference.fc(x).sum() <= 0:
                x = x + towards / 4
            yield "forward", (x,), f"model(x), where the sum of the layer's output is {words} 0"
        yield "forward", (torch.zeros(1, WIDTH),), "model(x), where the sum of the layer's output is 0"
        towards = reference.fc.weight.detach().sum(0, keepdim=True)
        for half in (0.5, -0.5):  # the bias adds nothing to the sum
            x = half * towards / towards.square().sum()
            yield "forward", (x,), f"model(x), where the sum of the layer's output is {half}"
    elif name == "layers":
        for depth in range(4):
            yield "forward", (x, depth), f"model(x, {depth})"
    else:
        yield "forward", (x,), "model(x)"


def repaired(name: str, answer: Answer, trial: Trial) -> tuple[nn.Module, nn.Module]:
    """The answer's module and the broken one, with the same weights."""
    trial.given(f'scriptable("{name}")')
    with quiet():
        module = trial.call(answer, name)
    trial.true(
        isinstance(module, nn.Module),
        f"Expected an nn.Module, got {type(module).__name__}.",
        expected=f"a module that does what lab.BROKEN[{name!r}]() does",
        observed=("type", type(module).__name__),
    )
    if isinstance(module, torch.jit.ScriptModule):
        is_traced = isinstance(module, torch.jit.TracedModule | torch.jit.TopLevelTracedModule)
        trial.fail(
            f"The module has been {'traced' if is_traced else 'scripted'} already.",
            expected="a module of Python, which the check scripts",
            observed="traced" if is_traced else "scripted",
        )
    reference = BROKEN[name]().eval()
    names, wanted = (
        {key: tuple(value.shape) for key, value in m.state_dict().items()} for m in (module, reference)
    )
    trial.true(
        names == wanted,
        "The module's parameters are not those of the broken one.",
        expected=str(wanted),
        got=str(names),
        observed=("parameters", *kind_of_names(names, wanted)),
    )
    trained, wanted = ({key for key, _ in m.named_parameters()} for m in (module, reference))
    trial.true(
        trained == wanted,
        f"{', '.join(sorted(wanted - trained))} of state_dict is no parameter of the module: no gradient reaches it, and "
        "no optimizer finds it.",
        expected=f"the parameters {', '.join(sorted(wanted))}",
        got=", ".join(sorted(trained)) or "none",
        observed=("no parameters", sorted(wanted - trained)),
    )
    weights = {
        key: torch.randn(value.shape, generator=trial.generator)
        for key, value in reference.state_dict().items()
    }
    if name == "ignored":
        weights["fc.bias"] = torch.tensor([1.0, -1.0, 2.0, -2.0])  # for x of zeros the sum is 0
    reference.load_state_dict(weights)
    module.load_state_dict(weights)
    return module.eval(), reference


def kind_of_names(names: dict[str, tuple], wanted: dict[str, tuple]) -> tuple[str, ...]:
    """How names and shapes of parameters are wrong, whatever a learner calls his own parts."""
    if not names:
        return ("none",)
    ends = {key: [name for name in names if name.endswith(f".{key}")] for key in wanted}
    if len(names) == len(wanted) and all(len(found) == 1 for found in ends.values()):
        return ("prefix",)
    if sorted(names.values()) == sorted(wanted.values()):
        return ("other names",)
    more, missing = sorted(names.keys() - wanted.keys()), sorted(wanted.keys() - names.keys())
    return "more", *more, "missing", *missing


def compiled(module: nn.Module, trial: Trial) -> torch.jit.ScriptModule:
    """torch.jit.script(module); ends the property where the compiler refuses."""
    restore_marks(module)
    try:
        with quiet(), new_types():
            return torch.jit.script(module)
    except Exception as error:  # RuntimeError, NotSupportedError, FrontendError, ...
        refused(error, trial, "torch.jit.script refuses the module.")


def last_line(error: BaseException) -> str:
    """What the interpreter says at the end of its own traceback."""
    message = re.findall(r"^ *(\w*(?:Error|Exception): .+)$", str(error), re.M)
    return (message[-1] if message else f"{type(error).__name__}: {str(error).strip().splitlines()[0]}")[:220]


def results_equal(
    module: Any, reference: nn.Module, name: str, trial: Trial, who: str, python: bool = False
) -> None:
    """Each call gives what the broken module gives in Python. python: the module holds a call of Python."""
    gaps = []
    for method, args, words in calls_for(name, reference, trial):
        want, got = getattr(reference, method)(*args), outcome(module, method, args)
        if isinstance(got, Exception):
            line = last_line(got)
            kind = "raised: a type" if "Expected a value of type" in line else "raised"
            gaps.append((words, kind, line, ""))
        elif found := difference(_detached(got), _detached(want)):
            kind = f"{found.kind} {as_of_depth(got, reference, args)}" if name == "layers" else found.kind
            gaps.append((words, kind, found.sentence, found.symptom))
    if gaps:
        words, kind, sentence, symptom = gaps[0]
        trial.given(f"{words}, {who}")
        trial.fail(
            f"The call raised, {who}." if kind.startswith("raised") else f"The result, {who}: {sentence}.",
            expected="the result of the broken module in Python",
            got=sentence if kind.startswith("raised") else "",
            symptom=symptom,
            observed=(who, [gap[:2] for gap in gaps], *(["a call of Python is left"] if python else [])),
        )


def calls_python(scripted: torch.jit.ScriptModule) -> bool:
    """Whether a call of Python is left in forward, or in what it calls."""
    return bool(scripted.inlined_graph.findAllNodes("prim::PythonOp"))


def as_of_depth(got: Any, reference: nn.Module, args: tuple[Any, ...]) -> str:
    """Which depth gives this result, of "layers"."""
    depths = [d for d in range(4) if difference(_detached(got), _detached(reference(args[0], d))) is None]
    return f"as of depth {depths[0]}" if depths else "as of no depth"


def outcome(module: Any, method: str, args: tuple[Any, ...]) -> Any:
    """What a call gives, or the error that it raises."""
    try:
        with quiet(), torch.no_grad():
            return module(*args) if method == "forward" else getattr(module, method)(*args)
    except Exception as error:  # the learner's own, or the interpreter's
        return error


def _detached(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _detached(item) for key, item in value.items()}
    return value.detach() if isinstance(value, Tensor) else value


def notes_kept(module: nn.Module, trial: Trial) -> None:
    """In Python a note is taken in training mode, and none in eval mode."""
    taken = {}
    for mode in ("eval", "training"):
        trial.given(f"two calls of the module itself, in {mode} mode, not scripted")
        before = len(getattr(module, "notes", []))
        given = [torch.randn(3, WIDTH, generator=trial.generator) for _ in range(2)]
        module.train(mode == "training")
        with quiet(), torch.no_grad():
            for x in given:
                module(x)
        taken[mode] = len(getattr(module, "notes", [])) - before
    module.eval()
    for mode, wanted in (("eval", 0), ("training", 2)):
        trial.given(f"two calls of the module itself, in {mode} mode, not scripted")
        trial.true(
            taken[mode] == wanted,
            f"{taken[mode]} notes were taken at two calls. Called from Python, the module is to do all that the broken "
            "one does.",
            expected=f"{wanted} more entries in .notes",
            got=f"{taken[mode]} more",
            observed=("notes", *taken.items()),
        )


def no_notes_scripted(scripted: torch.jit.ScriptModule, trial: Trial) -> None:
    """Wrong if the scripted module notes something, in either mode. In training mode it may raise: note is Python's."""
    for mode in ("eval", "training"):
        trial.given(f"two calls of the scripted module, in {mode} mode")
        before = len(getattr(scripted, "notes", []))
        scripted.train(mode == "training")
        for _ in range(2):
            outcome(scripted, "forward", (torch.randn(3, WIDTH, generator=trial.generator),))
        more = len(getattr(scripted, "notes", [])) - before
        scripted.eval()
        trial.true(
            not more,
            f"The scripted module has {more} more entr{'y' if more == 1 else 'ies'} in its notes.",
            expected="no notes: they are taken in Python",
            got=f"{more} more",
            observed=("notes when scripted", mode),
        )


def holds(name: str, answer: Answer, trial: Trial) -> None:
    """The repaired module is the broken one in Python, compiles, gives the same when compiled, and can be saved."""
    module, reference = repaired(name, answer, trial)
    results_equal(module, reference, name, trial, "not scripted")
    module.train(), reference.train()
    results_equal(module, reference, name, trial, "not scripted, in training mode")
    module.eval(), reference.eval()
    if name == "ignored":
        notes_kept(module, trial)
        module.notes.clear()
    trial.given(f'torch.jit.script(scriptable("{name}"))')
    scripted = compiled(module, trial)
    if name == "export":
        trial.true(
            hasattr(scripted, "encode"),
            "The scripted module has no method encode.",
            expected="forward and encode, both compiled",
            got="forward alone",
            observed="no encode",
        )
    results_equal(scripted, reference, name, trial, "scripted", calls_python(scripted))
    if name == "ignored":
        no_notes_scripted(scripted, trial)
    trial.given(f'torch.jit.save(torch.jit.script(scriptable("{name}")), file)')
    try:
        with quiet():
            torch.jit.save(scripted, io.BytesIO())
    except Exception as error:
        trial.fail(
            "The scripted module cannot be saved: it holds a call back into Python.",
            expected="a module that is compiled whole",
            got=first_line(error).partition(" Did you")[0],
            observed=("not saved", type(error).__name__),
        )
    if name == "export":
        encode_compiled(scripted, trial)


def encode_compiled(scripted: torch.jit.ScriptModule, trial: Trial) -> None:
    """Wrong if encode is a method of Python, which torch binds to a scripted module and does not save.

    Not by torch.jit.load, which refuses types of modules whose names are no names of Python.
    """
    trial.given('torch.jit.script(scriptable("export")), and its methods that a file would hold')
    trial.true(
        scripted._c._has_method("encode"),
        "The scripted module has encode as a method of Python only: it was not compiled, and in a saved file it is "
        "missing.",
        expected="forward and encode, both compiled",
        got="forward alone",
        observed="encode not compiled",
    )


for _name, _said in SAID.items():
    _asks = (WHAT, RETURNS, SAME, SCRIPTED, *([OWN[_name]] if _name in OWN else []), SAVED)
    scriptable.property(_said, asks=_asks, changes=("torch RNG", "random RNG"))(
        lambda answer, trial, name=_name: holds(name, answer, trial)
    )


@scriptable.property(
    "a new module at each call", asks=NEW, changes=("torch RNG", "random RNG"), once_right=True
)
def new_each_time(answer: Answer, trial: Trial) -> None:
    for name in SAID:
        trial.given(f'scriptable("{name}"), called twice')
        with quiet():
            one, other = (trial.call(answer, name) for _ in range(2))
        memory = {value.data_ptr() for value in one.parameters()}
        shared = [key for key, value in other.named_parameters() if value.data_ptr() in memory]
        trial.true(
            one is not other and not shared,
            "The second call gives the module of the first."
            if one is other
            else f"Two modules share parameters: {', '.join(shared)}.",
            expected="a new module, with parameters of its own",
            got="the same module" if one is other else "shared memory",
            observed="same module" if one is other else ("shared", shared),
        )
        if name == "ignored":
            notes_apart(one, other, trial)


def notes_apart(one: nn.Module, other: nn.Module, trial: Trial) -> None:
    """Wrong if what one module notes is seen in the other."""
    before = len(getattr(other, "notes", []))
    one.train()
    with quiet(), torch.no_grad():
        one(torch.randn(3, WIDTH, generator=trial.generator))
    more = len(getattr(other, "notes", [])) - before
    trial.true(
        not more,
        "What one module notes is in the notes of the other, too.",
        expected="a new module, with notes of its own",
        got=f"{more} more in the notes of a module that was not called",
        observed="notes shared",
    )
