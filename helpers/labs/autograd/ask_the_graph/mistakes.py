"""What people write for 03.ask_the_graph, and why it is wrong."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.labs.autograd.ask_the_graph.exercise import ask_the_graph
from helpers.labs.autograd.ask_the_graph.inputs import CONSTANT, CUT, EDITED, KEPT, UNSEEN
from helpers.labs.autograd.ask_the_graph.right import Diagnosis, asked

bank = ask_the_graph.bank(asked)

CUT_SAYS = '"cut": a parameter stands behind no part.'
CONSTANT_SAYS = '"constant": behind one of the parts stands no parameter.'
KEPT_SAYS = '"kept on ctx": the node of a Function has a tensor among its attributes, `vars(node)`.'
EDITED_SAYS = "reading it raises RuntimeError."
UNSEEN_SAYS = "and its `_version` is the one that was noted."


@bank.mistake(breaks=CUT_SAYS)
class LossStillHasAGradFn(Diagnosis):
    """A parameter that is in no graph goes unnoticed, since the loss has other parameters behind it. Perhaps only the
    grad_fn of the parts was looked at: it says that there is a graph, and not who stands in it.
    """

    def cut(self) -> bool:
        return not any(part.grad_fn for part in self.parts)


@bank.variant(LossStillHasAGradFn)
class _(Diagnosis):
    """By requires_grad of the parts."""

    def cut(self) -> bool:
        return not any(part.requires_grad for part in self.parts)


@bank.variant(LossStillHasAGradFn)
class _(Diagnosis):
    """By requires_grad of the parameters, which a cut does not change."""

    def cut(self) -> bool:
        return not all(param.requires_grad for param in self.params.values())


@bank.mistake(breaks=CUT_SAYS)
class EachPartNeedsAll(Diagnosis):
    """A healthy step is called cut: not each part uses each parameter. Perhaps each part alone was
    asked for all parameters. A parameter is cut if it stands behind none of them.
    """

    def cut(self) -> bool:
        return not all(self.stands(param, nodes) for param in self.params.values() for nodes in self.behind)


@bank.mistake(breaks="The set holds each word whose condition holds for the nodes behind the parts")
class FirstPartOnly(Diagnosis):
    """A healthy step is called cut, where two parts have a parameter each. Perhaps the nodes of one part only were looked at,
    the first or the last.
    """

    def all_nodes(self) -> list[Any]:
        return self.behind[0]


@bank.variant(FirstPartOnly)
class _(Diagnosis):
    """The last one."""

    def all_nodes(self) -> list[Any]:
        return self.behind[-1]


@bank.mistake(breaks="can be reached from the part's `grad_fn`.")
class FirstEdgeOnly(Diagnosis):
    """Parameters of a healthy step were not found in the graph. Perhaps only the first edge of each node was followed: a
    product has two inputs, and its node two edges.
    """

    def after(self, node: Any) -> list[Any]:
        return super().after(node)[:1]


@bank.variant(FirstEdgeOnly)
class _(Diagnosis):
    """The last edge."""

    def after(self, node: Any) -> list[Any]:
        return super().after(node)[-1:]


@bank.mistake(breaks="can be reached from the part's `grad_fn`.")
class OneStepOnly(Diagnosis):
    """In a healthy step of a few nodes no parameter was found behind a part. Perhaps next_functions was read of the last node
    only: walk on from there, to each node once.
    """

    def nodes(self, part: Tensor) -> list[Any]:
        return [part.grad_fn, *self.after(part.grad_fn)] if part.grad_fn else []


@bank.mistake(breaks=CUT_SAYS)
class SameMemory(Diagnosis):
    """A parameter is cut off and goes unnoticed, since a copy of it stands in the graph. Perhaps memory or numbers were compared:
    the copy is a different leaf, with a .grad of its own. Compare `node.variable is param`.
    """

    def stands(self, param: Tensor, nodes: list[Any]) -> bool:
        found = [node.variable for node in nodes if hasattr(node, "variable")]
        return any(leaf.data_ptr() == param.data_ptr() for leaf in found)


@bank.variant(SameMemory)
class _(Diagnosis):
    """By numbers."""

    def stands(self, param: Tensor, nodes: list[Any]) -> bool:
        found = [node.variable for node in nodes if hasattr(node, "variable")]
        return any(leaf.shape == param.shape and torch.equal(leaf, param) for leaf in found)


@bank.mistake(breaks=CONSTANT_SAYS)
class AGraphIsEnough(Diagnosis):
    """A part that has a graph, with no parameter in it, was taken for one that can be trained on. Perhaps its grad_fn or
    requires_grad was asked: somebody may have set that on a new leaf.
    """

    def constant(self) -> bool:
        return any(part.grad_fn is None for part in self.parts)


@bank.variant(AGraphIsEnough)
class _(Diagnosis):
    """By requires_grad."""

    def constant(self) -> bool:
        return not all(part.requires_grad for part in self.parts)


@bank.variant(AGraphIsEnough)
class _(Diagnosis):
    """By any leaf at all."""

    def constant(self) -> bool:
        return not all(any(hasattr(node, "variable") for node in nodes) for nodes in self.behind)


@bank.mistake(breaks=CONSTANT_SAYS)
class ConstantWithoutEach(Diagnosis):
    """A healthy step has a part that is called constant, since a parameter is missing behind it. Perhaps all parameters
    were asked for. One is enough: the part can be trained on.
    """

    def constant(self) -> bool:
        return not all(self.stands(param, nodes) for param in self.params.values() for nodes in self.behind)


@bank.mistake(breaks=CONSTANT_SAYS)
class AllMustBeConstant(Diagnosis):
    """A constant part goes unnoticed beside parts that are none. Perhaps the nodes of all parts were thrown together
    before they were asked.
    """

    def constant(self) -> bool:
        return not any(self.stands(param, self.all_nodes()) for param in self.params.values())


@bank.mistake(breaks=KEPT_SAYS)
class AnyAttribute(Diagnosis):
    """A healthy Function is blamed for attributes that are no tensors. Numbers, names and shapes belong on ctx: only a
    tensor there is neither watched nor freed.
    """

    def keeps(self, value: Any) -> bool:
        return True


@bank.variant(AnyAttribute)
class _(Diagnosis):
    """All but numbers."""

    def keeps(self, value: Any) -> bool:
        return not isinstance(value, int | float)


@bank.mistake(breaks=KEPT_SAYS)
class OnlyTensorsWithAGraph(Diagnosis):
    """A tensor on ctx goes unnoticed if it requires no grad. Perhaps requires_grad or grad_fn was asked: an intermediate of
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
    """A tensor on ctx goes unnoticed where its node is not the last of a part. Perhaps only the parts' own grad_fn was
    asked: each node behind them may be one of a Function.
    """

    def kept(self) -> bool:
        return any(self.keeps(value) for part in self.parts for value in self.attributes(part.grad_fn))


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
    """An edit of the plain tensor that a parameter was multiplied with goes unnoticed. Perhaps not every attribute whose
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


@bank.mistake(breaks=EDITED_SAYS)
class VersionOfTheParameters(Diagnosis):
    """A healthy step is called edited: a parameter was edited before anybody saved it, as an optimizer does it. Perhaps its
    version was compared with the noted one. What counts is whether a node can still read what it saved.
    """

    def edited(self) -> bool:
        return any(param._version != self.noted[name][1] for name, param in self.params.items())


@bank.variant(VersionOfTheParameters)
class _(Diagnosis):
    """Or both."""

    def edited(self) -> bool:
        return super().edited() or not all(map(self.uncounted, self.params))


@bank.mistake(breaks=UNSEEN_SAYS)
class EveryEditIsUnseen(Diagnosis):
    """A healthy step is called edited unseen: an edit that torch has counted changed the numbers. Perhaps only the numbers
    were compared. Ask `_version` as well: it tells whether the edit was counted.
    """

    def uncounted(self, name: str) -> bool:
        return True


@bank.mistake(breaks=UNSEEN_SAYS)
class VersionOnly(Diagnosis):
    """A healthy step is called edited unseen, since a version did not move. That is how it should be where nobody edits:
    the numbers must differ as well.
    """

    def differs(self, name: str) -> bool:
        return True


@bank.mistake(breaks=UNSEEN_SAYS)
class VersionZero(Diagnosis):
    """An edit that nobody counted goes unnoticed in a parameter that has been trained before. Perhaps its `_version` was
    compared with 0, and not with the noted one: each counted step before has raised it.
    """

    def uncounted(self, name: str) -> bool:
        return self.params[name]._version == 0


@bank.mistake(breaks="a parameter holds other numbers than its copy")
class SumsCompared(Diagnosis):
    """An edit goes unnoticed that leaves most of a parameter as it was. Perhaps a part of the numbers was compared, such as
    the first of them: torch.equal compares all.
    """

    def differs(self, name: str) -> bool:
        return bool(self.params[name].flatten()[0] != self.noted[name][0].flatten()[0])


@bank.mistake(
    breaks="The set holds each word whose condition holds for the nodes behind the parts, and no other;"
)
class FirstWordOnly(Diagnosis):
    """Of several faults only one is told. Perhaps the function returns as soon as it has found one."""

    def words(self) -> Any:
        return set(sorted(super().words())[:1])


@bank.variant(FirstWordOnly)
class _(Diagnosis):
    """In the order of the docstring."""

    def words(self) -> Any:
        found = super().words()
        return set([word for word in (CUT, CONSTANT, KEPT, EDITED, UNSEEN) if word in found][:1])


@bank.mistake(breaks="as a set of words.")
class AList(Diagnosis):
    """What came is a list, no set. Perhaps the words were gathered in a list, and the list was returned."""

    def words(self) -> Any:
        return sorted(super().words())


@bank.variant(AList)
class _(Diagnosis):
    """In the order of the docstring."""

    def words(self) -> Any:
        found = super().words()
        return [word for word in (CUT, CONSTANT, KEPT, EDITED, UNSEEN) if word in found]


@bank.mistake(breaks="Thousands of nodes may stand in a row")
class Recursion(Diagnosis):
    """A graph of 3,000 nodes in a row cannot be walked. Perhaps a function calls itself for each node: Python gives up at a
    depth of 1,000. Keep a list of nodes to be visited.
    """

    def nodes(self, part: Tensor) -> list[Any]:
        found: dict[Any, None] = {}

        def visit(node: Any) -> None:
            if node is not None and node not in found:
                found[node] = None
                for after in self.after(node):
                    visit(after)

        visit(part.grad_fn)
        return list(found)


@bank.mistake(breaks="The graph is only read")
class BackwardTried(Diagnosis):
    """The engine was started. Perhaps to see whether backward() raises: then the gradients are in .grad, and the graph is
    used up, or the work was done twice. Reading a saved tensor raises as well.
    """

    def edited(self) -> bool:
        try:
            sum(self.parts).backward(retain_graph=True)
        except RuntimeError:
            return True
        return False


@bank.variant(BackwardTried)
class _(Diagnosis):
    """By grad, which leaves .grad alone."""

    def edited(self) -> bool:
        try:
            torch.autograd.grad(
                sum(self.parts), list(self.params.values()), retain_graph=True, allow_unused=True
            )
        except RuntimeError:
            return True
        return False
