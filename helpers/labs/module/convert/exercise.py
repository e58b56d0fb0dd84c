"""Exercise 05.convert: what .to(), .double() and .cuda() do with a module."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from helpers.check.calls import calls_to
from helpers.check.compare import shown
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.module.convert.inputs import Fn, doubled, model, off_entries, to_double, wanted
from helpers.labs.module.shared.states import Leafless, copied, holders, same
from helpers.labs.module.shared.trees import buffer, forest, node, outline, parameter

convert = Exercise(
    "05.convert",
    "A module in a different dtype",
    objective="Write Module._apply: every tensor of the tree is converted, and an optimizer notices nothing.",
    minutes=12,
    difficulty="medium",
    core=False,
    hints=[
        "An optimizer holds the Parameter objects. So the objects must stay, and what is in them must change: param.data "
        "is the tensor inside, and can be assigned, in a different dtype, too.",
        "A gradient is a tensor that its parameter holds: once the parameter has its new dtype, the gradient needs it.",
        "Buffers are entries of module._buffers: store what fn gives under the same name there. That keeps them as "
        "persistent as they were; register_buffer would make all of them persistent.",
        "param.data = fn(param.data); if param.grad is not None: param.grad.data = fn(param.grad.data). Skip what is None, do the "
        "same for each child, and return the module.",
    ],
)


WHAT = "What .to(), .double() and .cuda() do: `fn` on every parameter, gradient and buffer of the tree."
SAME = "Every Parameter is the same object afterwards, with its requires_grad: an optimizer holds it."
DATA = "Its data become what `fn` gives, and so does its .grad where it has one."
BUFFERS = (
    "Buffers become what `fn` gives, those that are not saved, too, and stay as persistent as they were."
)
ASKED = "`fn` is asked about every tensor, integer ones too; what to do with them is its business."


def called(answer: Any, trial: Trial, module: nn.Module, fn: Fn) -> Any:
    """The answer's result; the module is what is looked at."""
    word = {to_double: "lambda t: t.double() if t.is_floating_point() else t", doubled: "lambda t: t * 2"}
    trial.given(f"convert(m, {word[fn]}) of m = Node({outline(module)})")
    got = trial.call(answer, module, fn)
    trial.true(
        not isinstance(got, nn.Module) or got is module,
        "convert gave a different module. The one that it was given is to be converted.",
        expected="m itself, converted",
        got="a different module",
        observed="another module",
    )
    return got


def kind_of(module: nn.Module, want: dict[str, Tensor], off: list[str]) -> list[Any]:
    """The wrong entries with the dtype that they have, for telling mistakes apart."""
    now = holders(module)
    found = [(name, str(now[name].dtype) if name in now else "gone") for name in off]
    return [*found, "and new names with dots"] if dotted(module) else found


def dotted(module: nn.Module) -> list[str]:
    """Entries whose names have dots: no module registers such a one."""
    return [
        name
        for part in module.modules()
        for name in (*part._parameters, *part._buffers)
        if "." in name  # a path, stored as if it were a name
    ]


def says(trial: Trial, module: nn.Module, want: dict[str, Tensor], names: set[str], what: str) -> None:
    """Wrong if one of these entries is not what fn gives."""
    off = [name for name in off_entries(module, want) if name in names]
    now = holders(module)
    values = [name for name in off if name in now and now[name].dtype == want[name].dtype]
    need = [f"{name}: {shown(want[name], 120) if name in values else want[name].dtype}" for name in off]
    have = [
        f"{name}: {'gone' if name not in now else shown(now[name], 120) if name in values else now[name].dtype}"
        for name in off
    ]
    most = 3 if values else len(off)  # numbers are long
    trial.true(
        not off,
        f"{', '.join(map(repr, off))} {'are' if len(off) > 1 else 'is'} not what fn makes of {what}."
        + (
            f" A module has new entries: {', '.join(map(repr, dotted(module)[:3]))}."
            if dotted(module)
            else ""
        ),
        expected=", ".join(need[:most]),
        got=", ".join(have[:most]),
        observed=kind_of(module, want, off),
    )


INTEGERS = {"block.num_batches_tracked", "block.index", "block.table"}


def parameters_of(module: nn.Module) -> set[str]:
    return {name for name, _ in module.named_parameters(remove_duplicate=False)}


def with_gradients(module: nn.Module) -> dict[str, Tensor]:
    """The entries by their names, and the gradients."""
    params = module.named_parameters()
    return holders(module) | {f"{name}.grad": param.grad for name, param in params if param.grad is not None}


def made_by(answer: Any, module: nn.Module) -> dict[str, tuple[bool, Tensor, Tensor | None]]:
    """By name, after a call of the answer: whether it is what fn makes of it, what that is, and what is there."""
    want = {name: value.detach() * 2 for name, value in with_gradients(module).items()}
    answer(module, doubled)
    now = with_gradients(module)
    return {
        name: (name in now and same(now[name], value), value, now.get(name)) for name, value in want.items()
    }


@convert.property(
    "an entry that one call converts is converted by the next call, too",
    asks="Each call converts all of it, whatever calls came before.",
)
def memory(answer: Any, trial: Trial) -> None:
    """All models live at once: an answer that remembers addresses meets new ones. What the first call leaves, or an error,
    is for the properties below.
    """
    models, left = [model(trial.generator) for _ in range(3)], {}
    trial.given(f"convert(m, lambda t: t * 2), and the same once more, of m = Node({outline(models[0])})")
    for module in models:
        try:
            first, second = made_by(answer, module), made_by(answer, module)
        except NotImplementedError:
            raise
        except Exception:
            return
        for name, (right, *told) in second.items():
            if not right and first.get(name, (False,))[0]:
                left.setdefault(name, told)
    buffers = {name for name, _ in models[0].named_buffers()}
    kinds = {
        "gradients" if name.endswith(".grad") else "buffers" if name in buffers else "parameters"
        for name in left
    }
    trial.true(
        not left,
        f"The first call has converted {', '.join(map(repr, left))}; the second has not.",
        expected="".join(f"{name}: {shown(want, 120)}" for name, (want, _) in [*left.items()][:1]),
        got="".join(f"{name}: {shown(have, 120)}" for name, (_, have) in [*left.items()][:1]),
        observed=("not again", sorted(kinds)),
    )


@convert.property("fn is asked what becomes of a tensor", asks=ASKED)
def asked(answer: Any, trial: Trial) -> None:
    module, seen = model(trial.generator, gradients=False), []
    trial.given("convert(m, fn)")
    trial.call(answer, module, lambda t: (seen.append(type(t)), t)[1])
    trial.true(bool(seen), "fn was never called.", expected="one call at least for each tensor of the tree")


@convert.property("every parameter of the tree holds what fn gives", asks=(WHAT, DATA))
def parameters(answer: Any, trial: Trial) -> None:
    for fn in (to_double, doubled):
        module = model(trial.generator, gradients=False)
        names, want = parameters_of(module) - INTEGERS, wanted(module, fn)
        called(answer, trial, module, fn)
        says(trial, module, want, names, "the parameter")


@convert.property("the Parameters stay the same objects, with their requires_grad", asks=SAME)
def objects(answer: Any, trial: Trial) -> None:
    module = model(trial.generator, gradients=False)
    before = dict(module.named_parameters())
    frozen = [name for name, param in before.items() if not param.requires_grad]
    called(answer, trial, module, to_double)
    now = dict(module.named_parameters())
    replaced = [name for name in before if now.get(name) is not before[name]]
    thawed = [name for name in frozen if name in now and now[name].requires_grad]
    trial.true(
        not replaced,
        f"{', '.join(map(repr, replaced))} {'are' if len(replaced) > 1 else 'is'} not the same object any more: an optimizer that was "
        "built before moves the old ones, which belong to no model.",
        expected="the same Parameter objects with other data",
        observed=(
            "replaced",
            replaced,
            thawed,
            all(isinstance(param, nn.Parameter) for param in now.values()),
        ),
    )
    now_frozen = [name for name, param in now.items() if not param.requires_grad and name not in frozen]
    words = [f"{', '.join(map(repr, thawed))} was frozen, and requires grad now"] if thawed else []
    words += [f"{', '.join(map(repr, now_frozen))} required grad, and does not now"] if now_frozen else []
    trial.true(
        not words,
        "; ".join(words) + ".",
        expected="requires_grad as it was",
        observed=("requires_grad", thawed, now_frozen),
    )
    inner = [name for name, param in now.items() if not param.is_leaf]
    trial.true(
        not inner,
        f"{', '.join(map(repr, inner))} is no leaf any more: no gradient stays in it.",
        observed=("no leaf", inner),
    )


@convert.property("tied weights stay tied", asks="Weights that are tied stay tied.")
def tied(answer: Any, trial: Trial) -> None:
    g = trial.generator
    weight = parameter(3, 2, generator=g)
    shared = node({"s": parameter(2, generator=g)}, {"mean": buffer(2, generator=g)})
    children = {"encoder": node({"w": weight}), "a": shared, "b": shared}
    module = node({"first": weight, "second": weight}, children=children)
    want = wanted(module, to_double)
    called(answer, trial, module, to_double)
    apart = [name for name in ("second", "encoder.w") if holders(module).get(name) is not module.first]
    apart += ["b.s"] if module.a.s is not module.b.s else []
    trial.true(
        not apart,
        f"{' and '.join(map(repr, apart))} {'are' if len(apart) > 1 else 'is'} no longer tied: the two names were one "
        "parameter before.",
        expected="one object under both names",
        observed=("apart", apart),
    )
    says(trial, module, want, parameters_of(module), "the parameter")


@convert.property("buffers hold what fn gives, those that are not saved, too", asks=BUFFERS)
def buffers(answer: Any, trial: Trial) -> None:
    for fn in (to_double, doubled):
        module = model(trial.generator, gradients=False)
        want = wanted(module, fn)
        floats = set(want) - parameters_of(module) - INTEGERS
        called(answer, trial, module, fn)
        says(trial, module, want, floats, "the buffer")
    shared = buffer(2, generator=trial.generator)
    inner = node(buffers={"c": buffer(2, generator=trial.generator)})
    module = node(
        buffers={"mu": shared, "again": shared},
        children={"twin": node(buffers={"nu": shared}), "a": inner, "b": inner},
    )
    want = wanted(module, to_double)
    called(answer, trial, module, to_double)
    says(trial, module, want, set(want), "a buffer that has two names")


@convert.property("two parameters at one address are two", asks=(WHAT, DATA))
def one_address(answer: Any, trial: Trial) -> None:
    flat = torch.randn(4, generator=trial.generator)
    module = node(
        {"whole": nn.Parameter(flat), "part": nn.Parameter(flat[:2]), "none": nn.Parameter(torch.zeros(0))},
        children={"other": node({"none": nn.Parameter(torch.zeros(0))})},
    )
    want = wanted(module, to_double)
    called(answer, trial, module, to_double)
    says(trial, module, want, set(want), "a parameter at the address of a different one")


@convert.property("fn decides on integers: they are handed to it as any other tensor", asks=ASKED)
def integers(answer: Any, trial: Trial) -> None:
    for fn in (to_double, doubled):
        module = model(trial.generator, gradients=False)
        want = wanted(module, fn)
        called(answer, trial, module, fn)
        says(trial, module, want, INTEGERS, "the integer entry")


@convert.property("a gradient goes with its parameter; where there was none, there is none", asks=DATA)
def gradients(answer: Any, trial: Trial) -> None:
    for fn in (to_double, doubled):
        module = model(trial.generator)
        want = {
            name: None if param.grad is None else fn(param.grad.clone())
            for name, param in module.named_parameters()
        }
        called(answer, trial, module, fn)
        off, casts = [], []
        for name, param in module.named_parameters():
            grad, need = param.grad, want.get(name)
            if (grad is None) != (need is None) or (need is not None and not same(grad, need)):
                off.append((name, None if grad is None else str(grad.dtype)))
                casts.append(need is not None and grad is not None and grad.dtype == need.dtype)
        trial.true(
            not off,
            "The gradients are not what fn makes of them: "
            + "; ".join(
                f"{name}.grad is {'None' if dtype is None else f'of {dtype}, with other numbers than expected' if want[name] is not None and dtype == str(want[name].dtype) else dtype}"
                for name, dtype in off
            )
            + ".",
            got="; ".join(f"{name}.grad: {shown(module.get_parameter(name).grad)}" for name, _ in off[:2]),
            expected="; ".join(f"{name}.grad: {shown(want.get(name))}" for name, _ in off[:2]),
            observed=[*off, "right dtype" if all(casts) else "wrong dtype"],
        )


@convert.property(
    "entries that are None are skipped, and all stay in their order",
    asks=("Entries that are None are skipped, and stay.", "Entries keep their order."),
)
def none_skipped(answer: Any, trial: Trial) -> None:
    g = trial.generator
    child = node(
        {"bias": None, "w": parameter(2, generator=g)}, {"var": buffer(2, generator=g), "mean": None}
    )
    empty = Leafless(parameter(2, generator=g))
    module = node({"off": None}, {"n": None}, children={"down": None, "empty": empty, "on": child})
    before, want = outline(module), wanted(module, to_double)
    called(answer, trial, module, to_double)
    says(trial, module, want, set(want), "the entry")
    trial.true(
        outline(module) == before,
        "The entries have changed, or stand in a different order, in which a state dict writes them.",
        expected=before,
        got=outline(module),
        observed=outline(module),
    )


@convert.property(
    "a second call converts again", asks="Each call converts all of it, whatever calls came before."
)
def again(answer: Any, trial: Trial) -> None:
    module = model(trial.generator)
    called(answer, trial, module, to_double)
    want = wanted(module, doubled)
    grads = {name: param.grad * 2 for name, param in module.named_parameters() if param.grad is not None}
    called(answer, trial, module, doubled)
    trial.given("the same module a second time, with lambda t: t * 2")
    says(trial, module, want, set(want), "the entry")
    off = [name for name, want in grads.items() if not same(module.get_parameter(name).grad, want)]
    trial.true(
        not off, f"The gradient of {', '.join(off)} was not converted again.", observed=("second", off)
    )


@convert.property("buffers stay as persistent as they were", asks=BUFFERS)
def persistence(answer: Any, trial: Trial) -> None:
    module = model(trial.generator)
    before = [sorted(part._non_persistent_buffers_set) for part in module.modules()]
    called(answer, trial, module, to_double)
    now = [sorted(part._non_persistent_buffers_set) for part in module.modules()]
    trial.true(
        now == before,
        "A buffer that was registered with persistent=False is in the state dict now, or the other way round.",
        expected=str(before),
        got=str(now),
        observed=now,
    )


@convert.property("with gradients, too, each Parameter keeps its requires_grad", asks=SAME)
def as_they_were(answer: Any, trial: Trial) -> None:
    module = model(trial.generator)
    before = {name: param.requires_grad for name, param in module.named_parameters()}
    called(answer, trial, module, to_double)
    now = {name: param.requires_grad for name, param in module.named_parameters()}
    off = [name for name in before if now.get(name) != before[name]]
    trial.true(
        not off,
        f"requires_grad of {', '.join(map(repr, off))} has changed.",
        expected=str({name: before[name] for name in off}),
        got=str({name: now.get(name) for name in off}),
        observed=("changed", sorted((name, before[name]) for name in off)),
    )


@convert.property(
    "what is no entry is left alone: a plain tensor, a list of modules",
    asks="What is no entry is left alone: a plain tensor attribute, a list of modules, the mode.",
)
def no_entries(answer: Any, trial: Trial) -> None:
    module = model(trial.generator)
    hidden = node({"w": parameter(2, generator=trial.generator)})
    plain = module.block.plain = buffer(3, generator=trial.generator)
    module.listed, value = [hidden], plain.clone()
    module.block.training = False
    others = no_entries_of(module)
    called(answer, trial, module, to_double)
    touched = [] if module.block.plain is plain and same(plain, value) else ["the plain tensor attribute"]
    touched += [] if hidden.w.dtype == torch.float32 else ["a module in a Python list"]
    trial.true(
        not touched,
        f"Converted, too: {' and '.join(touched)}. In torch it is left behind in the old dtype, and on the old device.",
        observed=touched,
    )
    now = no_entries_of(module)
    moved = sorted(
        name
        for name, was in others.items()
        if name not in now or not (now[name] is was or (not isinstance(was, Tensor) and now[name] == was))
    )
    trial.true(
        not moved,
        f"{', '.join(moved[:4])}: changed. The model was in training mode, and m.block in eval mode.",
        expected=", ".join(f"{name}: {shown(others[name], 60)}" for name in moved[:4]),
        got=", ".join(f"{name}: {shown(now.get(name, 'gone'), 60)}" for name in moved[:4]),
        observed=("attributes", sorted({name.rpartition(".")[2] for name in moved})),
    )


def no_entries_of(module: nn.Module) -> dict[str, Any]:
    """The attributes of all modules but their entries: the mode is one."""
    return {
        f"{path or 'm'}.{name}": value
        for path, part in module.named_modules()
        for name, value in vars(part).items()
        if name not in ("_parameters", "_buffers", "_modules")
    }


@convert.property(
    "the work is done here, and not by Module._apply",
    asks="Module._apply and the methods built on it are not called.",
)
def own_work(answer: Any, trial: Trial) -> None:
    methods = ("_apply", "to", "type", "float", "double", "half", "bfloat16", "cpu", "cuda", "to_empty")
    module = model(trial.generator)
    with calls_to(*(getattr(nn.Module, name) for name in methods)) as seen:
        answer(module, to_double)
    names = sorted(set(seen))
    trial.true(
        not names,
        f"The answer calls {', '.join(names)}, which the exercise builds again.",
        expected="entries converted by the answer",
        observed="torch's own",
    )


CORE = (parameters, objects, tied, buffers, integers, gradients, none_skipped, again, persistence, no_entries)


@convert.property("the module itself comes back, as from .to()", asks="The module itself.", after=CORE)
def returned(answer: Any, trial: Trial) -> None:
    module = model(trial.generator)
    got = called(answer, trial, module, to_double)
    trial.true(
        got is module,
        f"convert gave {'None' if got is None else f'another object, of type {type(got).__name__}'}.",
        expected="the module: model = convert(model, fn) must work",
        observed=("returned", type(got).__name__),
    )


@convert.property("on random trees all entries are what Module._apply makes of them", asks=WHAT, after=CORE)
def random_trees(answer: Any, trial: Trial) -> None:
    for ties, fn in ((True, to_double), (False, doubled)):
        for theirs, ours in forest(trial.random, 2, 2, ties=ties):
            nn.Module._apply(theirs, fn)
            called(answer, trial, ours, fn)
            want = copied(theirs)
            says(trial, ours, want, set(want), "the entry")
            pairs = zip(ours.named_parameters(), theirs.named_parameters(), strict=True)
            off = [
                name
                for (name, one), (_, other) in pairs
                if (one.grad is None) != (other.grad is None)
                or (one.grad is not None and not same(one.grad, other.grad))
            ]
            trial.true(
                not off, f"The gradients of {', '.join(off[:3])} are not torch's.", observed="gradients"
            )
