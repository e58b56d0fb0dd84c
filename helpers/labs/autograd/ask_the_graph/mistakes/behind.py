"""What people write for 03.ask_the_graph: what stands behind a part, and the words."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.labs.autograd.ask_the_graph.exercise import ask_the_graph
from helpers.labs.autograd.ask_the_graph.right import Diagnosis, asked

bank = ask_the_graph.bank(asked)

CUT_SAYS = '"cut": a parameter stands behind no part.'
CONSTANT_SAYS = '"constant": behind one of the parts stands no parameter.'
EDITED_SAYS = "reading it raises RuntimeError."


@bank.mistake(breaks=CUT_SAYS)
class LossStillHasAGradFn(Diagnosis):
    """A parameter that was used as `last.data` stands behind no part, and that goes unnoticed. Perhaps grad_fn or
    requires_grad was asked, of the parts or of the parameter: neither says who stands in the graph. Or all parameters had to be cut.
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


@bank.variant(LossStillHasAGradFn)
class _(Diagnosis):
    """All must be cut."""

    def cut(self) -> bool:
        return not any(self.stands(param, self.all_nodes()) for param in self.params.values())


@bank.mistake(breaks=CONSTANT_SAYS)
class OneSetForAllParts(Diagnosis):
    """A healthy step is called constant, whose parts have parameters in common. Perhaps what was seen behind one part is not
    visited again for the next: each part needs a set of its own.
    """

    def __init__(self, parts: dict[str, Tensor], params: dict[str, Tensor], noted: dict[str, Any]) -> None:
        super().__init__(parts, params, noted)
        seen: set[Any] = set()
        for place, nodes in enumerate(self.behind):
            self.behind[place] = [node for node in nodes if node not in seen]
            seen.update(nodes)


@bank.mistake(breaks=CUT_SAYS)
class ComparedByNumbers(Diagnosis):
    """A tensor of several numbers was asked for one truth value, which raised. Perhaps `in` with a list of tensors, `==` or
    `!=`, which compare number by number: `is` asks for the same tensor, torch.equal for the same numbers.
    """

    def stands(self, param: Tensor, nodes: list[Any]) -> bool:
        return param in [node.variable for node in nodes if hasattr(node, "variable")]


@bank.variant(ComparedByNumbers)
class _(Diagnosis):
    """The copies."""

    def differs(self, name: str) -> bool:
        return bool(self.params[name] != self.noted[name][0])


@bank.mistake(breaks=CUT_SAYS)
class EachPartNeedsAll(Diagnosis):
    """A healthy step is called cut, whose two parts have a parameter each. Perhaps each part alone was asked for all parameters,
    or what only backward fills, such as .grad, was asked. A parameter is cut if it stands behind none of the parts.
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
    before they were asked, all parts had to be constant, or parts without a grad_fn were left out.
    """

    def constant(self) -> bool:
        return not any(self.stands(param, self.all_nodes()) for param in self.params.values())


@bank.mistake(breaks=CONSTANT_SAYS)
class PartWithoutANode(Diagnosis):
    """A part without a grad_fn raised AttributeError: a number that was taken out of the graph, as by item(), has no node. No
    parameter stands behind it.
    """

    def constant(self) -> bool:
        return not all(part.grad_fn.next_functions for part in self.parts) or super().constant()


@bank.mistake(breaks="can be reached from the part's `grad_fn`.")
class EndOfAnEdge(Diagnosis):
    """None was asked for an attribute, in a step in which each part has a grad_fn. Perhaps it came out of next_functions: for an
    input that needs no gradient it holds (None, 0), which has to be passed over.
    """

    def after(self, node: Any) -> list[Any]:
        return [after for after, _ in node.next_functions]


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
