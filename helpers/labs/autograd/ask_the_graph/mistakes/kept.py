"""What people write for 03.ask_the_graph: what nodes keep and saved."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from helpers.labs.autograd.ask_the_graph.exercise import ask_the_graph
from helpers.labs.autograd.ask_the_graph.right import Diagnosis, asked

bank = ask_the_graph.bank(asked)

KEPT_SAYS = '"kept on ctx": the node of a Function has a tensor among its attributes, `vars(node)`.'
EDITED_SAYS = "reading it raises RuntimeError."


@bank.mistake(breaks=KEPT_SAYS)
class AnyAttribute(Diagnosis):
    """A healthy step is said to keep a tensor on ctx. Its Function has a number, a shape and a word among its attributes, and
    saved a tensor as torch asks for it. Perhaps such attributes or saved_tensors were counted: only a tensor in vars(node) is
    neither watched nor freed.
    """

    def keeps(self, value: Any) -> bool:
        return True


@bank.variant(AnyAttribute)
class _(Diagnosis):
    """All but numbers."""

    def keeps(self, value: Any) -> bool:
        return not isinstance(value, int | float)


@bank.mistake(breaks=KEPT_SAYS)
class EveryAttributeOfANode(Diagnosis):
    """A step without any Function is said to keep a tensor on ctx. Perhaps all names in dir(node) were read: what a node saved
    and a leaf's `variable` are tensors, too, and no fault. Only vars(node) is asked for.
    """

    def attributes(self, node: Any) -> list[Any]:
        return [getattr(node, name) for name in dir(node) if self.can_be_read(node, name)]

    def can_be_read(self, node: Any, name: str) -> bool:
        try:
            getattr(node, name)
        except RuntimeError:
            return False
        return True


@bank.variant(EveryAttributeOfANode)
class _(Diagnosis):
    """The variable only."""

    def attributes(self, node: Any) -> list[Any]:
        return [*super().attributes(node), getattr(node, "variable", None)]


@bank.mistake(breaks=KEPT_SAYS)
class ParametersDoNotCount(Diagnosis):
    """A parameter on ctx goes unnoticed, though tensors of other kinds are told. Perhaps the exact type was asked, or leaves
    were left out: a parameter is a tensor, too. Ask isinstance(value, Tensor).
    """

    def keeps(self, value: Any) -> bool:
        return type(value) is Tensor


@bank.variant(ParametersDoNotCount)
class _(Diagnosis):
    """By the parameters that were given."""

    def keeps(self, value: Any) -> bool:
        return isinstance(value, Tensor) and not any(value is param for param in self.params.values())


@bank.mistake(breaks=KEPT_SAYS)
class OnlyTensorsWithAGraph(Diagnosis):
    """A tensor on ctx that requires no grad goes unnoticed. Perhaps requires_grad or grad_fn was asked: an intermediate of
    a forward has neither, and is kept all the same.
    """

    def keeps(self, value: Any) -> bool:
        return isinstance(value, Tensor) and value.requires_grad


@bank.variant(OnlyTensorsWithAGraph)
class _(Diagnosis):
    """By grad_fn."""

    def keeps(self, value: Any) -> bool:
        return isinstance(value, Tensor) and value.grad_fn is not None


@bank.mistake(breaks=KEPT_SAYS)
class LastNodeOnly(Diagnosis):
    """The result of a Function, kept on ctx in the middle of a graph, goes unnoticed. Perhaps only the parts' own grad_fn was
    asked, the loop over the nodes ends early, or only some tensors count: each node behind a part may be one of a Function, and
    each of its attributes a tensor.
    """

    def kept(self) -> bool:
        return any(self.keeps(value) for part in self.parts for value in self.attributes(part.grad_fn))


@bank.mistake(breaks="The set holds each word whose condition holds for the nodes behind the parts")
class NodesOfOnePart(Diagnosis):
    """A tensor on ctx goes unnoticed where the penalty is the first part and the node stands behind a later one; in a step whose
    first part had such a node behind it, one was told. Perhaps only the nodes behind the first part were asked,
    or only some tensors count.
    """

    def kept(self) -> bool:
        return any(self.keeps(value) for node in self.behind[0] for value in self.attributes(node))


@bank.mistake(breaks=EDITED_SAYS)
class FunctionsNotAsked(Diagnosis):
    """An edit of what a Function saved goes unnoticed. Perhaps only names that begin with _saved_ were read: the node of a
    Function has saved_tensors in place of them.
    """

    def saved(self, node: Any) -> list[str]:
        return [name for name in dir(node) if name.startswith("_saved_")]


@bank.mistake(breaks=EDITED_SAYS)
class OnlyFunctionsAsked(Diagnosis):
    """An edit of what one of torch's own nodes saved goes unnoticed. Perhaps only saved_tensors was read, which nodes of
    Functions have: the others have attributes that begin with _saved_.
    """

    def saved(self, node: Any) -> list[str]:
        return ["saved_tensors"] if hasattr(type(node), "saved_tensors") else []


@bank.mistake(breaks=EDITED_SAYS)
class OneOfTheSaved(Diagnosis):
    """An edit of a factor of a product goes unnoticed, though that of a result is told. Perhaps not every attribute whose
    name begins with _saved_ was read: a product's node has _saved_self and _saved_other.
    """

    def saved(self, node: Any) -> list[str]:
        return super().saved(node)[:1]


@bank.variant(OneOfTheSaved)
class _(Diagnosis):
    """Results only, and Functions."""

    def saved(self, node: Any) -> list[str]:
        return [
            name for name in super().saved(node) if name in ("_saved_result", "_saved_other", "saved_tensors")
        ]


@bank.variant(OneOfTheSaved)
class _(Diagnosis):
    """The first factor and results, and Functions."""

    def saved(self, node: Any) -> list[str]:
        return [
            name for name in super().saved(node) if name in ("_saved_result", "_saved_self", "saved_tensors")
        ]


@bank.mistake(breaks="(`_saved_*`, or `saved_tensors` of a Function)")
class NamesWrittenOut(Diagnosis):
    """An edit of what some kind of node saved goes unnoticed, though factors and results are told. Perhaps names such as
    _saved_self were written out: each kind of node has names of its own. Read all in dir(node) that begin with _saved_.
    """

    def saved(self, node: Any) -> list[str]:
        known = ("_saved_self", "_saved_other", "_saved_result", "saved_tensors")
        return [name for name in super().saved(node) if name in known]


@bank.variant(NamesWrittenOut)
class _(Diagnosis):
    """Some more of them."""

    def saved(self, node: Any) -> list[str]:
        return [
            name
            for name in super().saved(node)
            if name.startswith(("_saved_self", "_saved_other", "_saved_result", "_saved_mat"))
            or name == "saved_tensors"
        ]


@bank.mistake(breaks=KEPT_SAYS)
class VarsOfEveryNode(Diagnosis):
    """vars() raised: the nodes of torch's own operations have no __dict__. Ask the nodes of Functions only, or
    getattr(node, "__dict__", {}).
    """

    def attributes(self, node: Any) -> list[Any]:
        return list(vars(node).values())


@bank.mistake(breaks=EDITED_SAYS)
class VersionOfTheParameters(Diagnosis):
    """A healthy step is called edited. In it a parameter was edited before anybody saved it, as an optimizer does it, and a
    result that nobody saved. Perhaps versions were compared with the noted ones, or with 0. What counts is whether a node can
    still read what it saved.
    """

    def edited(self) -> bool:
        return any(param._version != self.noted[name][1] for name, param in self.params.items())


@bank.variant(VersionOfTheParameters)
class _(Diagnosis):
    """Or both."""

    def edited(self) -> bool:
        return super().edited() or not all(map(self.uncounted, self.params))
