"""How 05.mini_module is tried: the same steps on the answer and on nn.Module, which must come to the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.check.trial import Trial

DICTS = ("_parameters", "_buffers", "_modules")

Step = tuple[str, ...]  # ("set", name, value), ("del", name), ("get", name), ("register_buffer", name, value)
Result = tuple[str, Any]


class Special(nn.Parameter):
    """A class below Parameter."""


class Other(Tensor):
    """A class below Tensor."""


class Inputs:
    """A class built on the answer, one built on nn.Module, and values that both are given, by name."""

    def __init__(self, answer: type, trial: Trial) -> None:
        p1, p2 = torch.randn(2, 2, 3, generator=trial.generator)
        t1, t2 = torch.randn(2, 3, generator=trial.generator)
        shared = {"p1": nn.Parameter(p1), "p2": Special(p2, requires_grad=False)}
        shared["p3"] = nn.Parameter(p1.clone(), requires_grad=False)
        shared |= {"t1": t1, "t2": t2.clone().as_subclass(Other).requires_grad_()}
        shared |= {"None": None, "3": 3, "'text'": "text"}
        self.theirs, self.ours = Side(nn.Module, shared), Side(answer, shared)


class Side:
    """One of the two classes, with the values as it knows them."""

    def __init__(self, base: Any, shared: dict[str, Any]) -> None:
        self.kind = node_of(base)
        self.values = shared | {"m1": self.kind(), "m2": leaf_of(base)()}
        # a class of modules is no module; a layer of torch is none for MiniModule, an object that is called is none for torch
        layer = Scales() if base is nn.Module else nn.ReLU()
        self.values |= {"a function": forward, "a class": self.kind, "a layer": layer}
        self.own = set(vars(self.kind()))  # what any new module has in its __dict__
        self.last_error = ""

    def word(self, value: Any) -> str:
        """The name of a value, or its type."""
        for name, known in self.values.items():
            if known is value:
                return name
        return f"a different {type(value).__name__}"

    def taken(self, module: Any, step: Step) -> Result:
        """Takes a step: what it returned, or the error it raised."""
        try:
            return "returned", self.word(self._take(module, *step))
        except NotImplementedError:  # a stub
            raise
        except Exception as error:
            self.last_error = str(error)
            return "raised", type(error)

    def _take(self, module: Any, verb: str, name: str, value: str = "None") -> Any:
        if verb == "set":
            return setattr(module, name, self.values[value])
        if verb == "del":
            return delattr(module, name)
        if verb == "get":
            return getattr(module, name)
        return getattr(module, verb)(name, self.values[value])

    def standing(self, module: Any) -> dict[str, dict[str, str]]:
        """Where each name stands, and what is under it."""
        places = {
            place: {name: self.word(value) for name, value in getattr(module, place).items()}
            for place in DICTS
        }
        plain = {name: self.word(value) for name, value in vars(module).items() if name not in self.own}
        return places | {"__dict__": plain}


def forward(x: Tensor) -> Tensor:
    """A function."""
    return x


class Scales:
    """Can be called, and is no module."""

    def __call__(self, x: Tensor) -> Tensor:
        return x


def node_of(base: Any) -> Any:
    """A module with something in its class, too."""

    class Node(base):
        scale = 2.0

        def forward(self, x: Tensor) -> Tensor:
            return x

        @property
        def broken(self) -> Any:
            return self.nowhere

    return Node


def leaf_of(base: Any) -> Any:
    """A class beside that of `node_of`: a model and its layers are of different classes."""

    class Leaf(base):
        def forward(self, x: Tensor) -> Tensor:
            return x

    return Leaf


LEGEND = {
    "p1": "p1 is a Parameter",
    "t1": "t1 is a tensor",
    "m1": "m1 is a module of m's class",
    "p2": "p2 is a frozen Parameter of a class below nn.Parameter",
    "p3": "p3 is a frozen Parameter",
    "t2": "t2 is of a class below Tensor and requires grad",
    "m2": "m2 is a module of a different class than m",
}


def legend(steps: Iterable[Step]) -> str:
    """What is special of the values in these steps."""
    used = [text for name, text in LEGEND.items() if any(name in step[2:] for step in steps)]
    return f" ({'; '.join(used)})" if used else ""


def code_of(step: Step) -> str:
    """A step as code."""
    verb, name, *value = step
    dotted = f"m.{name}" if name.isidentifier() else None
    if verb == "set":
        return f"{dotted} = {value[0]}" if dotted else f"setattr(m, {name!r}, {value[0]})"
    if verb.startswith("register"):
        return f"m.{verb}({name!r}, {value[0]})"
    return f"del {dotted}" if verb == "del" else f"{dotted}"


def outcome(step: Step, result: Result) -> str:
    """What came of a step, in words."""
    verb, what = result
    if verb == "raised":
        return f"raised {what.__name__}"
    return f"gave {what}" if step[0] == "get" else "went through"


def side_text(side: Side) -> str:
    """The text of the last error."""
    return f": {side.last_error[:200]}" if side.last_error else ""


def standing_of(pair: tuple[Side, Any]) -> list[Any]:
    """Where each name stands, as plain data; nothing while there are no dicts."""
    side, module = pair
    if any(place not in vars(module) for place in DICTS):
        return []
    return [(place, sorted(map(list, names.items()))) for place, names in side.standing(module).items()]


def as_the_other(got: Result, want: Result) -> bool:
    """Whether a step came to the same; an error may be of a class below."""
    if "raised" in (got[0], want[0]):
        return got[0] == want[0] and issubclass(got[1], want[1])
    return got == want


def has_dicts(trial: Trial, module: Any) -> None:
    """Wrong unless a new module has the three dicts."""
    other = type(module)()
    for place in DICTS:
        there = getattr(module, place, None)
        trial.true(
            isinstance(there, dict),
            f"A new module has no dict {place}.",
            expected="_parameters, _buffers and _modules, three dicts",
            observed=("no dict", place),
        )
        trial.true(
            there is not getattr(other, place, None),
            f"Two modules have one dict {place}: what is registered in one is an entry of the other, too.",
            expected="three dicts of its own in each module",
            got=f"m.{place} is other.{place}",
            observed="shared dicts",
        )


def plays(inputs: Inputs, trial: Trial, steps: Iterable[Step], *, initialised: bool = True) -> None:
    """Takes the steps on both sides; wrong at the first after which they differ."""
    pair = [
        (side, side.kind() if initialised else side.kind.__new__(side.kind))
        for side in (inputs.theirs, inputs.ours)
    ]
    if initialised:
        has_dicts(trial, pair[1][1])
    past: list[str] = [] if initialised else ["m = Node.__new__(Node), so that no __init__ has run"]
    steps = list(steps)
    for at, step in enumerate(steps, 1):
        past.append(code_of(step))
        trial.given("; ".join(past[-8:]) + legend(steps[max(at - 8, 0) : at]))
        want, got = (side.taken(module, step) for side, module in pair)
        trial.true(
            as_the_other(got, want),
            f"`{past[-1]}` {outcome(step, got)}; on nn.Module it {outcome(step, want)}.",
            expected=outcome(step, want),
            got=outcome(step, got) + side_text(pair[1][0]) if got[0] == "raised" else outcome(step, got),
            observed=(*past, outcome(step, got), standing_of(pair[1]) if got[0] == "returned" else None),
        )
        if initialised:
            same_standing(trial, pair, past)


def same_standing(trial: Trial, pair: list[tuple[Side, Any]], past: list[str]) -> None:
    """Wrong if a name stands elsewhere than on nn.Module, or something else under it."""
    want, got = (side.standing(module) for side, module in pair)
    off = [place for place in want if want[place] != got[place]]
    trial.true(
        not off,
        f"After `{past[-1]}`, {' and '.join(off)} {'differ' if len(off) > 1 else 'differs'} from nn.Module's.",
        expected="; ".join(f"{place}: {want[place] or 'empty'}" for place in off),
        got="; ".join(f"{place}: {got[place] or 'empty'}" for place in off),
        observed=(*past, [(place, sorted(map(list, got[place].items()))) for place in off]),
    )
