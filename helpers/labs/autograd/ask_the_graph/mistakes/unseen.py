"""What people write for 03.ask_the_graph: edits that nobody counted, and the walk."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.labs.autograd.ask_the_graph.exercise import ask_the_graph
from helpers.labs.autograd.ask_the_graph.inputs import CONSTANT, CUT, EDITED, KEPT, UNSEEN
from helpers.labs.autograd.ask_the_graph.right import Diagnosis, asked

bank = ask_the_graph.bank(asked)

UNSEEN_IS = "a parameter holds other numbers than its copy"
UNSEEN_SAYS = "and its `_version` is the one that was noted."


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
    compared with 0, and not with the noted one: each counted step before has raised it. Or a later parameter took the word back.
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


@bank.mistake(breaks="and no tensor and no `.grad` is changed.")
class GradThrownAway(Diagnosis):
    """What a parameter had in .grad before the call is not there after it. Perhaps it was set to None or to zeros: a loop that
    sums gradients over several batches loses what the earlier ones have left.
    """

    def unseen(self) -> bool:
        for param in self.params.values():
            param.grad = None
        return super().unseen()


@bank.variant(GradThrownAway)
class _(Diagnosis):
    """Set to zeros."""

    def unseen(self) -> bool:
        for param in self.params.values():
            if param.grad is not None:
                param.grad.zero_()
        return super().unseen()


@bank.mistake(breaks="and no tensor and no `.grad` is changed.")
class EditedAndPutBack(Diagnosis):
    """A tensor was edited, though it holds the numbers of before. Perhaps it was changed and put back, as in a comparison in place:
    the edit counts, and whoever had saved the tensor raises in backward.
    """

    def differs(self, name: str) -> bool:
        param, (copy, _) = self.params[name], self.noted[name]
        kept = param.detach().clone()
        with torch.no_grad():
            differs = bool(param.sub_(copy).any())
            param.copy_(kept)
        return differs

    def unseen(self) -> bool:
        versions = {name: param._version for name, param in self.params.items()}
        return any([self.differs(name) and versions[name] == self.noted[name][1] for name in self.params])
