"""Exercise 05.mini_module: where nn.Module keeps its parameters, buffers and children."""

from __future__ import annotations

import copy
import random
from typing import Any

from torch import nn

from helpers.check.calls import calls_to
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.module.mini_module.inputs import DICTS, Inputs, Step, has_dicts, plays

mini_module = Exercise(
    "05.mini_module",
    "Three dicts behind the attributes",
    objective="Write the attribute access of nn.Module: assignment sorts values into three dicts, reading finds them.",
    minutes=30,
    difficulty="medium",
    version=2,
    names=("MiniModule",),
    kind="class",
    hints=[
        "Python calls __setattr__ for every assignment, but __getattr__ only for a name that it found neither in "
        "__dict__ nor in the class. So an entry must not stand in __dict__, and __getattr__ has nothing to do for the rest.",
        "self._parameters inside of __getattr__ calls __getattr__ again as long as there is no such dict: take "
        "self.__dict__.get('_parameters'). A plain attribute is stored with object.__setattr__(self, name, value).",
        "In __setattr__ the order of the questions decides: is the value a Parameter? is the name an entry of "
        "_parameters? is the value a module? is the name an entry of _modules? of _buffers? What is left is plain.",
        "For 'None or TypeError' call the register function: it has the rule already. Before a Parameter or a module "
        "is registered, pop its name from all other dicts, __dict__ among them.",
    ],
)


@mini_module.property(
    "a Parameter that is assigned becomes an entry of _parameters, and is read back",
    asks=(
        "Where nn.Module keeps parameters, buffers and children: a plain class with three dicts of its own.",
        "`self.name = value`: the first rule that fits.",
        "A Parameter becomes an entry of _parameters, by the rules of register_parameter;",
        "The entry `name`, None too,",
    ),
)
def parameters(answer: Any, trial: Trial) -> None:
    inputs = Inputs(answer, trial)
    steps = [("set", "w", "p1"), ("get", "w"), ("set", "frozen", "p3"), ("get", "frozen")]
    plays(inputs, trial, [*steps, ("set", "bias", "p2"), ("get", "bias")])


@mini_module.property(
    "a module that is assigned becomes an entry of _modules, and is read back",
    asks="A MiniModule becomes an entry of _modules;",
)
def modules(answer: Any, trial: Trial) -> None:
    inputs = Inputs(answer, trial)
    plays(inputs, trial, [("set", "child", "m1"), ("get", "child")])
    plays(inputs, trial, [("set", "leaf", "m2"), ("get", "leaf")])


@mini_module.property(
    "a tensor, a number or None under a new name is a plain attribute",
    asks="All else is a plain attribute, in __dict__: a Tensor, too, since only register_buffer makes a new buffer.",
)
def plain_attributes(answer: Any, trial: Trial) -> None:
    inputs = Inputs(answer, trial)
    steps = [("set", "t", "t1"), ("get", "t"), ("set", "n", "3"), ("set", "nothing", "None"), ("get", "n")]
    plays(inputs, trial, [*steps, ("set", "t", "t2"), ("set", "n", "t1"), ("get", "nothing")])


@mini_module.property(
    "register_parameter, register_buffer and register_module make entries, None among them",
    asks=(
        "An entry is a name in one of the dicts: an nn.Parameter in _parameters, a Tensor in _buffers, a MiniModule in _modules, or None in any of them.",
        "An entry of _parameters, new or in its old place;",
        "An entry of _buffers, new or in its old place;",
        "An entry of _modules, new or in its old place;",
    ),
)
def registered(answer: Any, trial: Trial) -> None:
    inputs = Inputs(answer, trial)
    for kind, value in (("parameter", "p1"), ("buffer", "t1"), ("module", "m1")):
        plays(
            inputs, trial, [(f"register_{kind}", "a", value), ("get", "a"), (f"register_{kind}", "0", value)]
        )
        plays(
            inputs, trial, [(f"register_{kind}", "a", "None"), ("get", "a"), (f"register_{kind}", "a", value)]
        )
    plays(inputs, trial, [("register_module", "a", "m2"), ("get", "a")])
    plays(inputs, trial, [("register_buffer", "a", "p1"), ("get", "a")])


@mini_module.property(
    "an entry takes a different value of its kind, and None: then it stays an entry",
    asks=(
        "Where the name is an entry of _parameters, None is stored there,",
        "Where the name is an entry of _modules, None is stored there,",
        "Where the name is an entry of _buffers, a Tensor or None is stored there,",
    ),
)
def taken_in(answer: Any, trial: Trial) -> None:
    inputs = Inputs(answer, trial)
    for kind, one, other in (("parameter", "p1", "p2"), ("buffer", "t1", "t2"), ("module", "m1", "m2")):
        plays(inputs, trial, [(f"register_{kind}", "a", one), ("set", "a", other), ("get", "a")])
        plays(inputs, trial, [(f"register_{kind}", "a", one), ("set", "a", "None"), ("get", "a")])
        plays(inputs, trial, [(f"register_{kind}", "a", "None"), ("set", "a", other), ("get", "a")])


@mini_module.property(
    "a Parameter or a module takes a name over, and what stood there is gone",
    asks=(
        "what stood under the name in __dict__, _buffers or _modules goes.",
        "what stood under the name in __dict__ or _buffers goes.",
        "No name stands in two of the dicts, nor in a dict and in __dict__.",
    ),
)
def taken_over(answer: Any, trial: Trial) -> None:
    inputs = Inputs(answer, trial)
    plays(inputs, trial, [("set", "a", "3"), ("set", "a", "p1"), ("get", "a")])
    plays(inputs, trial, [("set", "a", "t1"), ("set", "a", "m1"), ("get", "a")])
    plays(inputs, trial, [("register_buffer", "a", "t1"), ("set", "a", "p1"), ("get", "a")])
    plays(inputs, trial, [("register_buffer", "a", "t1"), ("set", "a", "m1"), ("get", "a")])
    plays(inputs, trial, [("set", "a", "m1"), ("set", "a", "p1"), ("get", "a")])


KINDLESS = ("t1", "3", "a function", "a class", "a layer")  # no module for the side that is given it


def refuses(answer: Any, trial: Trial, *cases: tuple[Step, tuple[str, ...]]) -> None:
    inputs = Inputs(answer, trial)
    for first, values in cases:
        for value in values:
            plays(inputs, trial, [first, ("set", "a", value)])


@mini_module.property(
    "what is assigned over an entry of _parameters and is no Parameter is TypeError, and the entry stays",
    asks="Where the name is an entry of _parameters, None is stored there, all else is TypeError.",
)
def refused(answer: Any, trial: Trial) -> None:
    refuses(
        answer,
        trial,
        (("register_parameter", "a", "p1"), ("t1", "3", "m1")),
        (("register_parameter", "a", "None"), ("t1", "m1")),
    )


@mini_module.property(
    "what is assigned over an entry of _modules and is no module is TypeError, and the entry stays",
    asks="Where the name is an entry of _modules, None is stored there, all else is TypeError.",
)
def refused_by_modules(answer: Any, trial: Trial) -> None:
    refuses(
        answer,
        trial,
        (("register_module", "a", "m1"), KINDLESS),
        (("register_module", "a", "None"), ("'text'",)),
    )


@mini_module.property(
    "what is assigned over an entry of _buffers and is no tensor is TypeError, and the entry stays",
    asks="Where the name is an entry of _buffers, a Tensor or None is stored there, all else is TypeError.",
)
def refused_by_buffers(answer: Any, trial: Trial) -> None:
    refuses(answer, trial, (("register_buffer", "a", "t1"), ("3", "'text'", "a function")))


@mini_module.property(
    "a name that is nowhere is an AttributeError that tells the name",
    asks=(
        "The entry `name`, None too, else AttributeError that tells the name.",
        "AttributeError if there is neither.",
    ),
)
def missing(answer: Any, trial: Trial) -> None:
    inputs = Inputs(answer, trial)
    plays(inputs, trial, [("get", "nowhere"), ("del", "nowhere")])
    plays(inputs, trial, [("get", "broken")])
    module = inputs.ours.kind()
    for name, reported, given in (
        ("nowhere", ("nowhere",), "m.nowhere, a name that is nowhere"),
        ("broken", ("broken", "nowhere"), "m.broken, a property of the class, which reads self.nowhere"),
    ):
        trial.given(given)
        error = trial.raises(AttributeError, lambda name=name: getattr(module, name), f"for m.{name}")
        trial.true(
            any(word in str(error) for word in reported),
            f"The AttributeError for m.{name} does not tell which name is missing.",
            expected=f"a text with {reported[0]!r}",
            got=str(error),
            observed=("text", name),
        )


@mini_module.property(
    "del takes an entry or a plain attribute away; then its name is free",
    asks="`del self.name`: an entry, or else a plain attribute;",
)
def deleted(answer: Any, trial: Trial) -> None:
    inputs = Inputs(answer, trial)
    for kind, value in (("parameter", "p1"), ("buffer", "t1"), ("module", "m1")):
        plays(
            inputs, trial, [(f"register_{kind}", "a", value), ("del", "a"), ("get", "a"), ("set", "a", "t2")]
        )
    for kind in ("parameter", "buffer", "module"):  # a None is an entry, too
        plays(
            inputs, trial, [(f"register_{kind}", "a", "None"), ("del", "a"), ("get", "a"), ("set", "a", "t2")]
        )
    plays(inputs, trial, [("set", "a", "3"), ("del", "a"), ("get", "a"), ("register_buffer", "a", "t1")])
    plays(inputs, trial, [("set", "scale", "3"), ("del", "scale"), ("get", "scale")])


CORE = (
    parameters,
    modules,
    plain_attributes,
    registered,
    taken_in,
    taken_over,
    refused,
    refused_by_modules,
    refused_by_buffers,
    deleted,
)


@mini_module.property(
    "before __init__ a plain attribute can be set; entries, and missing names, are AttributeError",
    asks=(
        "Before __init__ has run there are no dicts (a subclass forgot super().__init__(), or copy.deepcopy):",
        "To assign a Parameter or a MiniModule, to register, and to read a missing name is then an AttributeError.",
        "To assign anything else works: it is a plain attribute.",
    ),
    after=CORE,
)
def uninitialised(answer: Any, trial: Trial) -> None:
    inputs = Inputs(answer, trial)
    registered = [(f"register_{kind}", "a", "None") for kind in ("parameter", "buffer", "module")]
    for step in (("get", "nowhere"), ("set", "w", "p1"), ("set", "child", "m1"), *registered):
        plays(inputs, trial, [step], initialised=False)
    plays(inputs, trial, [("set", "n", "3"), ("get", "n"), ("set", "t", "t1")], initialised=False)


@mini_module.property(
    "copy.deepcopy copies a module with all its entries",
    asks="Before __init__ has run there are no dicts (a subclass forgot super().__init__(), or copy.deepcopy):",
    after=CORE,
)
def copied(answer: Any, trial: Trial) -> None:
    side = Inputs(answer, trial).ours
    module = side.kind()
    module.w, module.child, module.n = side.values["p1"], side.values["m1"], 3
    module.register_buffer("b", side.values["t1"])
    trial.given("m.w = p1; m.child = m1; m.n = 3; m.register_buffer('b', t1); copy.deepcopy(m)")
    try:
        twin = copy.deepcopy(module)
    except NotImplementedError:
        raise
    except Exception as error:
        trial.fail(
            f"copy.deepcopy raised {type(error).__name__}: it makes an object without __init__ and asks it for "
            "attributes before it has a __dict__ entry.",
            observed=type(error).__name__,
        )
    names = [sorted(getattr(twin, place, {"none": 0})) for place in DICTS]
    trial.equal(names, [["w"], ["b"], ["child"]], "The names in the dicts of the copy")
    trial.true(twin.w is not module.w and twin.n == 3, "The copy shares its parameter with the module.")


@mini_module.property(
    "a name that the class or a different place has already is KeyError",
    asks=(
        "Raises an error unless an entry may be called so.",
        'KeyError if `name` is "", holds a dot, or is taken: by the class, a plain attribute, an entry of a different dict.',
    ),
    after=(*CORE, uninitialised, copied),
)
def taken_names(answer: Any, trial: Trial) -> None:
    inputs = Inputs(answer, trial)
    for kind, value in (("parameter", "p1"), ("buffer", "t1"), ("module", "m1")):
        for name in ("forward", "scale"):
            plays(inputs, trial, [(f"register_{kind}", name, value)])
        for plain in ("3", "None"):
            plays(inputs, trial, [("set", "a", plain), (f"register_{kind}", "a", value)])
        for other, there in (("parameter", "p2"), ("buffer", "t2"), ("module", "m2")):
            if other != kind:
                for held in (there, "None"):
                    steps = [(f"register_{other}", "a", held), (f"register_{kind}", "a", value)]
                    plays(inputs, trial, steps)
    plays(inputs, trial, [("set", "forward", "p1")])


@mini_module.property(
    "the names '' and 'a.b' are KeyError",
    asks='KeyError if `name` is "", holds a dot,',
    after=(*CORE, uninitialised, copied, taken_names),
)
def bad_names(answer: Any, trial: Trial) -> None:
    inputs = Inputs(answer, trial)
    for name in ("", "a.b"):
        for kind, value in (("parameter", "p1"), ("buffer", "t1"), ("module", "m1")):
            plays(inputs, trial, [(f"register_{kind}", name, value)])
        plays(inputs, trial, [("set", name, "p1")])


@mini_module.property(
    "what is of the wrong kind cannot be registered: TypeError",
    asks=(
        "TypeError unless a Parameter or None.",
        "TypeError unless a Tensor or None.",
        "TypeError unless a MiniModule or None.",
    ),
    after=(*CORE, uninitialised, copied, taken_names, bad_names),
)
def wrong_kinds(answer: Any, trial: Trial) -> None:
    inputs = Inputs(answer, trial)
    for kind, values in (("parameter", ("t1", "3", "m1")), ("buffer", ("3", "m1")), ("module", KINDLESS)):
        for value in values:
            plays(inputs, trial, [(f"register_{kind}", "a", value)])


@mini_module.property(
    "a name that is no str is TypeError",
    asks="TypeError if `name` is no str.",
    after=(*CORE, taken_names, bad_names, wrong_kinds),
)
def no_text(answer: Any, trial: Trial) -> None:
    side = Inputs(answer, trial).ours
    for name in (0, 3, None, b"w"):
        for kind in ("parameter", "buffer", "module"):
            trial.given(f"m.register_{kind}({name!r}, None)")
            register = getattr(side.kind(), f"register_{kind}")
            trial.raises(
                TypeError, lambda register=register, name=name: register(name, None), f"for {name!r}"
            )


@mini_module.property(
    "an entry that is assigned or registered again keeps its place in the order of its dict",
    asks=(
        "An entry that is assigned again keeps its place in the order of its dict.",
        "An entry of _parameters, new or in its old place;",
        "An entry of _buffers, new or in its old place;",
        "An entry of _modules, new or in its old place;",
    ),
    after=(
        *CORE,
        taken_names,
        bad_names,
        wrong_kinds,
    ),
)
def order(answer: Any, trial: Trial) -> None:
    inputs = Inputs(answer, trial)
    for kind, values in (("parameter", ("p1", "p2")), ("buffer", ("t1", "t2")), ("module", ("m1", "m2"))):
        for again in ("assigned", "registered"):
            module = inputs.ours.kind()
            register = getattr(module, f"register_{kind}")
            for name in ("a", "b", "c"):
                register(name, inputs.ours.values[values[0]])
            for name, value in (("a", values[1]), ("b", "None")):
                if again == "assigned":
                    setattr(module, name, inputs.ours.values[value])
                else:
                    register(name, inputs.ours.values[value])
            trial.given(
                f"entries a, b, c by register_{kind}; then "
                + (
                    f"m.a = {values[1]}; m.b = None"
                    if again == "assigned"
                    else f"register_{kind}('a', {values[1]}); register_{kind}('b', None)"
                )
            )
            got = list(getattr(module, f"_{kind}s"))
            trial.true(
                got == ["a", "b", "c"],
                f"The order of the entries in _{kind}s changed when two of them were {again} again.",
                expected=["a", "b", "c"],
                got=got,
                observed=(kind, again, got),
            )


@mini_module.property(
    "dir() lists the entries, too",
    asks="All names of the class, of __dict__ and of the three dicts.",
    after=(*CORE, taken_names, bad_names, wrong_kinds),
)
def listed(answer: Any, trial: Trial) -> None:
    side = Inputs(answer, trial).ours
    module = side.kind()
    has_dicts(trial, module)
    module.w, module.child, module.n = side.values["p1"], side.values["m1"], 3
    module.w2 = side.values["p2"]
    module.register_buffer("b", side.values["t1"])
    trial.given(
        "m with the parameters w and w2, a buffer b, a module child, a plain n, and scale in its class"
    )
    got = set(dir(module))
    names = ("w", "w2", "b", "child", "n", "scale", "forward", "_parameters")
    missing = [name for name in names if name not in got]
    trial.true(
        not missing,
        f"dir(m) lacks {', '.join(missing)}.",
        expected=f"{', '.join(names)} among others",
        got=f"{', '.join(name for name in names if name in got) or 'none'} of these",
        observed=("lacks", missing),
    )


@mini_module.property(
    "a plain class: the work is done here, and not by nn.Module",
    asks="a plain class with three dicts of its own.",
)
def own_work(answer: Any, trial: Trial) -> None:
    names = ("__setattr__", "__getattr__", "__delattr__", "__dir__", "register_parameter", "register_buffer")
    side = Inputs(answer, trial).ours
    with calls_to(*(getattr(nn.Module, name) for name in (*names, "add_module"))) as seen:
        module = side.kind()
        module.w, module.child = side.values["p1"], side.values["m1"]
        module.register_buffer("b", side.values["t1"])
        found = module.w, module.b
        del module.w
    trial.true(
        not issubclass(answer, nn.Module) and not seen and bool(found),
        "MiniModule is an nn.Module, or calls its methods: that is the class which is to be built.",
        expected="a class without a base class",
        observed="torch's own",
    )


STEPS: list[Step] = [
    *[("set", name, value) for name in "abc" for value in ("p1", "p2", "t1", "m1", "m2", "None", "3")],
    *[
        (f"register_{kind}", name, value)
        for name in "abc"
        for kind, value in (("parameter", "p1"), ("buffer", "t1"), ("buffer", "None"), ("module", "m1"))
    ],
    *[(verb, name) for name in "abc" for verb in ("get", "del")],
]


def program(rng: random.Random, length: int) -> list[Step]:
    """Random steps on three names."""
    return [rng.choice(STEPS) for _ in range(length)]


@mini_module.property(
    "random programs leave the same names in the same places as on nn.Module",
    once_right=True,
    asks="All errors are of nn.Module's types.",
)
def programs(answer: Any, trial: Trial) -> None:
    inputs = Inputs(answer, trial)
    for _ in range(4):
        plays(inputs, trial, program(trial.random, 25))
