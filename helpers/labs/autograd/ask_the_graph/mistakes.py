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
UNSEEN_IS = "a parameter holds other numbers than its copy"
UNSEEN_SAYS = "and its `_version` is the one that was noted."


@bank.mistake(breaks=CUT_SAYS)
class LossStillHasAGradFn(Diagnosis):
    """A parameter that was used as `last.data` stands behind no part, and that goes unnoticed. Perhaps grad_fn or
    requires_grad was asked, of the parts or of the parameter: neither says who stands in the graph.
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
    """A healthy step is called cut, whose two parts have a parameter each. Perhaps each part alone was
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


@bank.variant(FirstPartOnly)
class _(Diagnosis):
    """For all of the words."""

    def __init__(self, parts: dict[str, Tensor], params: dict[str, Tensor], noted: dict[str, Any]) -> None:
        super().__init__(dict(list(parts.items())[:1]), params, noted)


@bank.mistake(breaks="can be reached from the part's `grad_fn`.")
class FirstEdgeOnly(Diagnosis):
    """A healthy step is called cut, though each parameter stands behind a part. Perhaps only the first edge of each node was
    followed: a product has two inputs, and its node two edges.
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
    """A healthy step of a few nodes is called cut and constant. Perhaps next_functions was read of the last node
    only: walk on from there, to each node once.
    """

    def nodes(self, part: Tensor) -> list[Any]:
        return [part.grad_fn, *self.after(part.grad_fn)] if part.grad_fn else []


@bank.mistake(breaks=CUT_SAYS)
class SameMemory(Diagnosis):
    """A parameter is cut off and goes unnoticed, where a different leaf of the same memory and numbers stands in the graph.
    Perhaps memory or numbers were compared: that leaf has a .grad of its own. Compare `node.variable is param`.
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
    """A part that has a graph, with no parameter in it but a new leaf, is not called constant. Perhaps its grad_fn or
    requires_grad was asked, or whether any leaf stands behind it.
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
    """A healthy step is called constant, though each of its two parts has a parameter behind it. Perhaps all parameters
    were asked for. One is enough: the part can be trained on.
    """

    def constant(self) -> bool:
        return not all(self.stands(param, nodes) for param in self.params.values() for nodes in self.behind)


@bank.mistake(breaks=CONSTANT_SAYS)
class AllMustBeConstant(Diagnosis):
    """A constant part goes unnoticed beside parts that are none. Perhaps the nodes of all parts were thrown together
    before they were asked, or parts without a grad_fn were left out.
    """

    def constant(self) -> bool:
        return not any(self.stands(param, self.all_nodes()) for param in self.params.values())


@bank.mistake(breaks=CONSTANT_SAYS)
class PartWithoutANode(Diagnosis):
    """A part without a grad_fn raised AttributeError: a number that was taken out of the graph, as by item(), has no node. No
    parameter stands behind it.
    """

    def constant(self) -> bool:
        return super().constant() or not all(part.grad_fn.next_functions for part in self.parts)


@bank.mistake(breaks="What is wrong with a training step before its backward, as a set of words.")
class Underscores(Diagnosis):
    """A word came that is not one of the five. Perhaps it was written with underscores: "kept on ctx" has blanks in it."""

    def words(self) -> Any:
        return {word.replace(" ", "_") for word in super().words()}


@bank.mistake(breaks=EDITED_SAYS)
class ErrorLetOut(Diagnosis):
    """The RuntimeError that a node raises for an edited tensor came out of the answer. It is the sign that is looked for: catch it
    where the node is read.
    """

    def cannot_be_read(self, node: Any) -> bool:
        for name in self.saved(node):
            getattr(node, name)
        return False


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
    """A tensor on ctx goes unnoticed, in a node that is not the last of a part. Perhaps only the parts' own grad_fn was
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


@bank.mistake(breaks=UNSEEN_SAYS)
class EveryEditIsUnseen(Diagnosis):
    """A healthy step is called edited unseen. In it a parameter was edited, and torch has counted that. Perhaps only the numbers
    were compared, or `_version` had to differ: the fault is that it is the one that was noted.
    """

    def uncounted(self, name: str) -> bool:
        return True


@bank.mistake(breaks=UNSEEN_SAYS)
class VersionOnly(Diagnosis):
    """A step in which nobody edits anything is called edited unseen. Perhaps only `_version` was asked: it is to be the noted one
    where nobody edits. The numbers must differ as well.
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


@bank.mistake(breaks=UNSEEN_IS)
class OneParameterCompared(Diagnosis):
    """An edit of a later parameter goes unnoticed, though that of the first one is told. Perhaps the loop over the parameters
    ends with the first of them.
    """

    def unseen(self) -> bool:
        return any(self.differs(name) and self.uncounted(name) for name in list(self.params)[:1])


@bank.variant(OneParameterCompared)
class _(Diagnosis):
    """The last of those that differ decides."""

    def unseen(self) -> bool:
        found = False
        for name in self.params:
            found = name == "first" and self.differs(name) and self.uncounted(name)
            if found:
                break
        return found


@bank.mistake(breaks=UNSEEN_IS)
class OnlyWhatStandsBehindCompared(Diagnosis):
    """An edit of a parameter that is cut goes unnoticed. Perhaps only those were compared that stand behind a part, or no
    more was asked of one that is cut: the five words have nothing to do with each other.
    """

    def unseen(self) -> bool:
        nodes = self.all_nodes()
        return any(
            self.stands(param, nodes) and self.differs(name) and self.uncounted(name)
            for name, param in self.params.items()
        )


@bank.variant(OnlyWhatStandsBehindCompared)
class _(Diagnosis):
    """Not looked for where something is cut."""

    def unseen(self) -> bool:
        return not self.cut() and super().unseen()


@bank.mistake(breaks=UNSEEN_IS)
class AllMustDiffer(Diagnosis):
    """An edit of the first entry of a parameter goes unnoticed. Perhaps all entries had to differ from their copies, or not
    all were compared: one that differs is enough.
    """

    def differs(self, name: str) -> bool:
        return bool((self.params[name] != self.noted[name][0]).all())


@bank.variant(AllMustDiffer)
class _(Diagnosis):
    """Only the last entry."""

    def differs(self, name: str) -> bool:
        return bool(self.params[name].flatten()[-1] != self.noted[name][0].flatten()[-1])


@bank.mistake(breaks=UNSEEN_IS)
class FirstEntryCompared(Diagnosis):
    """An edit of the last entry of a parameter goes unnoticed, though that of the first one is told. Perhaps the first entry
    alone was compared: torch.equal compares all.
    """

    def differs(self, name: str) -> bool:
        return bool(self.params[name].flatten()[0] != self.noted[name][0].flatten()[0])


@bank.variant(FirstEntryCompared)
class _(Diagnosis):
    """All but the last."""

    def differs(self, name: str) -> bool:
        mine, copy = (each.flatten() for each in (self.params[name], self.noted[name][0]))
        return not torch.equal(mine[: max(1, len(mine) - 1)], copy[: max(1, len(mine) - 1)])


@bank.mistake(breaks=UNSEEN_IS)
class SumsCompared(Diagnosis):
    """Numbers of a parameter that stand in a different order go unnoticed. Perhaps one number of each was compared, such as the
    sum, the mean or the norm: torch.equal compares entry by entry.
    """

    def differs(self, name: str) -> bool:
        return bool(self.params[name].sum() != self.noted[name][0].sum())


@bank.variant(SumsCompared)
class _(Diagnosis):
    """Norms."""

    def differs(self, name: str) -> bool:
        return bool(self.params[name].square().sum() != self.noted[name][0].square().sum())


@bank.variant(SumsCompared)
class _(Diagnosis):
    """Sorted numbers."""

    def differs(self, name: str) -> bool:
        return sorted(self.params[name].flatten().tolist()) != sorted(self.noted[name][0].flatten().tolist())


@bank.mistake(breaks=UNSEEN_IS)
class SignsLost(Diagnosis):
    """Numbers of a parameter that changed their sign go unnoticed. Perhaps squares or absolute values were compared."""

    def differs(self, name: str) -> bool:
        return not torch.equal(self.params[name].abs(), self.noted[name][0].abs())


@bank.variant(SignsLost)
class _(Diagnosis):
    """Squares."""

    def differs(self, name: str) -> bool:
        return not torch.equal(self.params[name] ** 2, self.noted[name][0] ** 2)


@bank.mistake(breaks=UNSEEN_IS)
class AlmostTheSame(Diagnosis):
    """An edit by 2**-40 of one number goes unnoticed. Perhaps the numbers may differ by a little, as
    torch.allclose has it: these are copies, and torch.equal asks for the same numbers. A step with a small
    learning rate is a small edit.
    """

    def differs(self, name: str) -> bool:
        return not torch.allclose(self.params[name], self.noted[name][0])


@bank.variant(AlmostTheSame)
class _(Diagnosis):
    """By a bound."""

    def differs(self, name: str) -> bool:
        return bool(((self.params[name] - self.noted[name][0]).abs() > 1e-6).any())


@bank.variant(AlmostTheSame)
class _(Diagnosis):
    """As float32."""

    def differs(self, name: str) -> bool:
        return not torch.equal(self.params[name].float(), self.noted[name][0].float())


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
    """A graph of 3,000 nodes in a row cannot be walked: calls within calls went deeper than Python allows, 1,000. Perhaps a
    function calls itself for each node. Keep a list of nodes to be visited.
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


@bank.mistake(breaks="a node may be reached on many ways")
class VisitedAgain(Diagnosis):
    """A graph of 123 nodes takes hundreds of thousands of steps. Perhaps a node is visited again on each way that leads to it:
    40 diamonds have 2**40 ways. Keep a set of the nodes that were visited.
    """

    def nodes(self, part: Tensor) -> list[Any]:
        found, todo = [], [part.grad_fn] if part.grad_fn else []
        while todo:
            here = todo.pop()
            found.append(here)
            todo += self.after(here)
        return found


@bank.variant(VisitedAgain)
class _(Diagnosis):
    """By recursion."""

    def nodes(self, part: Tensor) -> list[Any]:
        def visit(node: Any) -> list[Any]:
            return [node, *(found for after in self.after(node) for found in visit(after))]

        return visit(part.grad_fn) if part.grad_fn else []


@bank.mistake(breaks="The graph is only read")
class BackwardTried(Diagnosis):
    """The engine was started. Perhaps to see whether it raises, or which parameters get a gradient: that computes gradients, and
    may fill .grad and use the graph up. Reading the graph tells both.
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
