"""What people write for 10.review: modes, losses, and all questions together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.labs.pitfalls.review.exercise import NAMES, NO_OTHER, SET, THIS_SCRIPT, review
from helpers.labs.pitfalls.review.inputs import FIRST, plain
from helpers.labs.pitfalls.review.right import Review, asked
from helpers.labs.pitfalls.shown import Script

bank = review.bank(asked)


@bank.mistake(breaks=NAMES)
class TrainingOnly(Review):
    """A `dropped` that drops outside of training goes through, and so does one that scales there. Perhaps it is asked in
    training only.
    """

    def evaluation(self, dropped: Callable[[Tensor, bool], Tensor], x: Tensor) -> bool:
        return True


@bank.mistake(breaks=NAMES)
class WholeRowsNotSeen(Review):
    """A `dropped` that drops whole rows goes through. Perhaps the share of zeros is asked of all entries together: ask
    whether a whole row is 0, and give x more than one column.
    """

    def not_in_rows(self, zeros: Tensor) -> bool:
        return True


@bank.mistake(breaks=NAMES)
class MeanOfAll(Review):
    """A `dropped` that drops three quarters goes through. Perhaps the mean is asked, which stays where what is left is divided
    by its share: ask how many entries are 0.
    """

    def survivors(self, got: Tensor, x: Tensor) -> bool:
        return bool((got.mean() - x.mean()).abs() < 0.05)

    def share(self, zeros: Tensor) -> bool:
        return True


@bank.mistake(breaks=NAMES)
class SequencesOfOneLength(Review):
    """A `loss` that averages the means of the sequences goes through. Perhaps all sequences have equally many tokens that
    count: give them different numbers of them.
    """

    def targets(self) -> list[Tensor]:
        even = torch.tensor([[1, 0, -100, -100], [4, 2, -100, -100], [-100, 3, 0, -100]])
        return [even, torch.full_like(even, -100)]


@bank.mistake(breaks=NAMES)
class SomePaddingAlways(Review):
    """A `loss` that is NaN for a batch of nothing but padding goes through. Perhaps it is never asked about one; or a NaN was
    compared by `>`, which is never True of it.
    """

    def targets(self) -> list[Tensor]:
        return super().targets()[:1]


@bank.mistake(breaks=NAMES)
class NoPadding(Review):
    """Each `loss` goes through that is wrong about padding. Perhaps no target is -100 in what it is asked: pad, unevenly, and
    once everything.
    """

    def targets(self) -> list[Tensor]:
        return [torch.tensor([[1, 0, 2, 2], [4, 1, 0, 3], [2, 3, 0, 4]])]


@bank.mistake(breaks=SET)
class AnotherMean(Review):
    """A `loss` that keeps its promise is named. Perhaps what cross_entropy gives was asked for where all is padding, and it
    gives NaN there; or the mean of the sequences' means, and the mean is one of all tokens together.
    """

    def loss(self, loss: Callable[[Tensor, Tensor], Tensor]) -> bool:
        logits = 3 * torch.randn(3, 4, 5)
        return all(
            torch.allclose(loss(logits, t), F.cross_entropy(logits.mT, t), equal_nan=True)
            for t in self.targets()
        )


@bank.variant(AnotherMean)
class _(Review):
    """Each sequence has its mean."""

    def loss_by_hand(self, logits: Tensor, target: Tensor) -> Tensor:
        each = [
            super(type(self), self).loss_by_hand(x[None], t[None])
            for x, t in zip(logits, target, strict=True)
        ]
        return torch.stack(each).mean()


@bank.mistake(breaks=NAMES)
class PerfectAnswer(Review):
    """A `loss` that divides by all tokens goes through, and so does one that takes a mean of means. Perhaps it is asked what a
    perfect answer costs: 0, whatever it is divided by. Ask for the cost of an answer that is partly wrong.
    """

    def loss(self, loss: Callable[[Tensor, Tensor], Tensor]) -> bool:
        return all(
            self.same(loss(100.0 * F.one_hot(t.clamp(min=0), 5), t), torch.tensor(0.0))
            for t in self.targets()
        )


@bank.mistake(breaks=NAMES)
class IgnorantAnswer(Review):
    """A `loss` goes through that takes a softmax too many, and so do others that scramble or weigh the tokens. Perhaps it is
    asked with equal logits only, where each token costs log(classes): ask with logits that are all different.
    """

    def loss(self, loss: Callable[[Tensor, Tensor], Tensor]) -> bool:
        logits = torch.zeros(3, 4, 5)
        return all(self.same(loss(logits, t), self.loss_by_hand(logits, t)) for t in self.targets())


@bank.mistake(breaks=NO_OTHER)
class OneTryForAll(Review):
    """Of several pieces at fault some are missing, and only if one of them gives a wrong shape or has no graph. Perhaps a
    question raises there, and one `try` stands around all of them: those after it are never asked. Write one for each.
    """

    def same(self, got: Tensor, want: Tensor, atol: float = 1e-3) -> bool:
        return bool(((got - want).abs() <= atol).all()) and super().same(got, want, atol)

    def asked(self, penalty: Callable[[Tensor, Tensor], Tensor], moved: Tensor) -> tuple[Tensor, Tensor]:
        start = torch.randn(len(moved))
        weight = (start + moved).requires_grad_()
        value = penalty(weight, start)
        return value.detach(), torch.autograd.grad(value, weight)[0]

    def named(self) -> Any:
        found, name = set(), ""
        try:
            for name in Script._fields:
                if not getattr(self, name)(getattr(self.script, name)):
                    found.add(name)
        except RuntimeError:
            found.add(name)
        return found


@bank.variant(OneTryForAll)
class _(OneTryForAll):
    """It raises where there is no graph."""

    def same(self, got: Tensor, want: Tensor, atol: float = 1e-3) -> bool:
        return Review.same(self, got, want, atol)


@bank.variant(OneTryForAll)
class _(OneTryForAll):
    """It raises where `distances` has a wrong shape."""

    def same(self, got: Tensor, want: Tensor, atol: float = 1e-3) -> bool:
        return Review.same(self, got, want, atol)

    def distances(self, distances: Callable[[Tensor, Tensor], Tensor]) -> bool:
        pairs = [(distances(a, b), (a[:, None] - b).norm(dim=-1)) for a, b in self.points()]
        return all(torch.allclose(got, want, atol=1e-3) and self.same(got, want) for got, want in pairs)


@bank.mistake(breaks=NO_OTHER)
class FirstOnly(Review):
    """Of several faulty pieces one is named. Perhaps `return`, `break` or `elif` ends the questions at the first fault."""

    def named(self) -> Any:
        return set(sorted(super().named())[:1])


@bank.variant(FirstOnly)
class _(Review):
    """In the order of the pieces."""

    def named(self) -> Any:
        found = super().named()
        return set([name for name in Script._fields if name in found][:1])


@bank.mistake(breaks=NO_OTHER)
class LastOnly(Review):
    """Of several faulty pieces the last one is named. Perhaps `found = {name}` stands where `found.add(name)` was
    meant, or a `return` in a loop over a set, which has no order.
    """

    def named(self) -> Any:
        found = super().named()
        return set([name for name in Script._fields if name in found][-1:])


@bank.mistake(breaks=THIS_SCRIPT)
class NamesKept(Review):
    """All pieces are named of a script without a fault, as they were of the one before, which had faults in all. Perhaps the set
    stays from call to call, as a default argument or a global does: make a new one in each.
    """

    kept: set[str] = set()

    def named(self) -> Any:
        if self.script == Script(*map(plain, FIRST)):  # the first one of each check: it does the same in each
            self.kept.clear()
        self.kept.update(super().named())
        return set(self.kept)


@bank.mistake(breaks=THIS_SCRIPT)
class FirstIsRight(Review):
    """A `scaled` that keeps its promise is named, where the script before was at fault. Perhaps the numbers of the first script
    that was seen were kept, as the ones that are right: that one may have faults.
    """

    kept: list[Tensor] = []

    def scaled(self, scaled: Callable[[Tensor], Tensor]) -> bool:
        if self.script == Script(*map(plain, FIRST)):  # the first one of each check
            self.kept.clear()
        x = torch.tensor([[1.0, 0.001], [2.0, 0.002], [3.0, 0.003], [6.0, 0.006]])
        got = torch.cat([scaled(x), scaled(x + 10_000)])
        if not self.kept:
            self.kept.append(got)
        return self.same(got, self.kept[0], atol=0.01)


@bank.mistake(breaks=NAMES)
class Opposite(Review):
    """All pieces are named of a script without a fault, and of one with faults in all they were not. Perhaps the names of what
    keeps its promise are collected: a `not` is missing.
    """

    def named(self) -> Any:
        return set(Script._fields) - super().named()


@bank.mistake(breaks=SET)
class ExactlyAQuarter(Review):
    """A `dropped` is named that keeps its promise. Perhaps exactly a quarter of the entries had to be 0: the number
    of zeros is random. Take many, and a bound. Or each call was seeded alike, and two had to differ.
    """

    def share(self, zeros: Tensor) -> bool:
        return int(zeros.sum()) * 4 == zeros.numel()


@bank.mistake(breaks=SET)
class FewEntries(Review):
    """A `dropped` that keeps its promise is named, in some calls and not in others. Perhaps few entries are drawn, or the bound
    is narrow: the share of zeros of 100 entries is off by 0.04 in two of five draws. Take many.
    """

    def share(self, zeros: Tensor) -> bool:
        return bool((zeros[:10, :10].float().mean() - 0.25).abs() < 0.035)


@bank.mistake(breaks=SET)
class ListOfNames(Review):
    """A list comes back, or a dict, and a set was asked for."""

    def named(self) -> Any:
        return sorted(super().named())


@bank.variant(ListOfNames)
class _(Review):
    """Each name with its answer."""

    def named(self) -> Any:
        return {name: name not in super(type(self), self).named() for name in Script._fields}
