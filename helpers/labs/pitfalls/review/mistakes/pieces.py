"""What people write for 10.review, and why it lets faults through, or suspects what is right."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.labs.pitfalls.review.exercise import NAMES, NO_ERROR, SET, review
from helpers.labs.pitfalls.review.right import Review, asked

bank = review.bank(asked)


@bank.mistake(breaks=NAMES)
class ManyRows(Review):
    """A `scaled` that divides by N - 1 goes through. Perhaps it is asked with hundreds of rows, where N and N - 1 are
    hardly different: ask with four.
    """

    def tables(self) -> list[Tensor]:
        return [1e-3 * torch.randn(400, 3), torch.randn(400, 3), torch.randn(400, 3) + 10_000]


@bank.mistake(breaks=NAMES)
class ManyRowsOfSpreadOne(Review):
    """A `scaled` that divides by N - 1 goes through, and so does one with its eps outside the root. Perhaps it is asked
    with many rows of plain normal numbers: four rows show the first, a spread of 0.001 the second.
    """

    def tables(self) -> list[Tensor]:
        return [torch.randn(400, 3), torch.randn(400, 3) + 10_000]


@bank.mistake(breaks=NAMES)
class SpreadOfOne(Review):
    """A `scaled` that adds its eps outside the root goes through. Perhaps it is asked with numbers of spread 1 only, beside
    which 1e-5 is nothing: ask with a spread of 0.001, too.
    """

    def tables(self) -> list[Tensor]:
        return [torch.randn(4, 3), torch.randn(4, 3) + 10_000]


@bank.mistake(breaks=NAMES)
class AroundZeroOnly(Review):
    """A `scaled` that subtracts the square of the mean from the mean of the squares goes through. Perhaps it is asked with
    numbers around 0 only, where that loses nothing: ask around 10,000, too.
    """

    def tables(self) -> list[Tensor]:
        return super().tables()[:2]


@bank.variant(AroundZeroOnly)
class _(Review):
    """A hundred is not enough for a bound of 0.01."""

    def tables(self) -> list[Tensor]:
        return [*super().tables()[:2], torch.randn(4, 3) + 1]


@bank.mistake(breaks=NAMES)
class PlainNormalNumbers(Review):
    """A `scaled` with its eps outside the root goes through, and so does one that loses its digits far from 0. Perhaps it is
    asked with plain normal numbers: a spread of 0.001 shows the first, an offset of 10,000 the second.
    """

    def tables(self) -> list[Tensor]:
        return [torch.randn(4, 3)]


@bank.mistake(breaks=NAMES)
class ManyPlainNumbers(Review):
    """Three kinds of a wrong `scaled` go through: N - 1, eps outside the root, digits lost far from 0. Perhaps it is asked
    with many plain normal numbers: they hide all three.
    """

    def tables(self) -> list[Tensor]:
        return [torch.randn(400, 3)]


@bank.mistake(breaks=SET)
class ByItsOwnFloat32(Review):
    """A `scaled` is named that keeps its promise. Perhaps what it is compared with is computed in float32, or with N - 1, the
    default of torch.var; or the bound is much narrower than 0.01, or eps is outside of the root. Compute it in float64, with N.
    """

    def scaled_by_hand(self, x: Tensor) -> Tensor:
        variance = (x * x).mean(0) - x.mean(0) ** 2
        return (x - x.mean(0)) / (variance.abs() + 1e-5).sqrt()


@bank.mistake(breaks=SET)
class MoreDigitsThanPromised(Review):
    """A `scaled` is named that is off by up to 0.005, and its promise is 0.01. Perhaps more digits are asked for, by the defaults
    of torch.allclose, say.
    """

    def scaled(self, scaled: Callable[[Tensor], Tensor]) -> bool:
        return all(self.same(scaled(x), self.scaled_by_hand(x).float(), atol=1e-3) for x in self.tables())


@bank.mistake(breaks=NO_ERROR)
class DifferenceOfTwoShapes(Review):
    """An error came out where a `scaled` gives a wrong shape. Perhaps a difference was taken, or torch.allclose called, of two
    shapes that cannot be stretched to one: compare the shapes first.
    """

    def scaled(self, scaled: Callable[[Tensor], Tensor]) -> bool:
        return all(bool(((scaled(x) - self.scaled_by_hand(x)).abs() <= 0.01).all()) for x in self.tables())


@bank.mistake(breaks=NAMES)
class NoBatchOfOne(Review):
    """A `distances` that squeezes its result goes through. Perhaps N and M are never 1: ask with one row, too."""

    def points(self) -> list[tuple[Tensor, Tensor]]:
        return [(torch.randn(2, 5), torch.randn(3, 5))]


@bank.mistake(breaks=NAMES)
class ToItself(Review):
    """A `distances` that gives (M, N) goes through, and so does one that is turned by reshape. Perhaps it is asked how far rows
    lie from themselves, a table that is the same when it is turned: ask with two tables, of different lengths.
    """

    def points(self) -> list[tuple[Tensor, Tensor]]:
        x, one = torch.randn(3, 5), torch.randn(1, 5)
        return [(x, x), (one, one)]


@bank.mistake(breaks=NAMES)
class ShapesOnly(Review):
    """Each `distances` with the right shape and wrong numbers goes through. Perhaps only the shape is asked."""

    def distances(self, distances: Callable[[Tensor, Tensor], Tensor]) -> bool:
        return all(distances(a, b).shape == (len(a), len(b)) for a, b in self.points())


@bank.mistake(breaks=NAMES)
class OneColumn(Review):
    """A `distances` goes through that sums the absolute differences, and so do those that take the largest, or the first
    column alone. Perhaps it is asked with rows of one number, where all of these are the distance: ask with more columns.
    """

    def points(self) -> list[tuple[Tensor, Tensor]]:
        return [(torch.randn(n, 1), torch.randn(m, 1)) for n, m in ((2, 3), (1, 3), (2, 1))]


@bank.mistake(breaks=NO_ERROR)
class AllcloseOfTwoShapes(Review):
    """An error came out where a `distances` gives a wrong shape. Perhaps torch.allclose, or a difference, was asked of two
    shapes that cannot be stretched to one: compare the shapes first.
    """

    def distances(self, distances: Callable[[Tensor, Tensor], Tensor]) -> bool:
        return all(
            torch.allclose(distances(a, b), (a[:, None] - b).norm(dim=-1), atol=1e-3)
            for a, b in self.points()
        )


@bank.mistake(breaks=NAMES)
class RowsNotCompared(Review):
    """A `batches` that shuffles `rows` itself goes through. Perhaps `rows` is not compared with a clone from before, or the
    comparison is with the same tensor: clone first.
    """

    def untouched(self, rows: Tensor, before: Tensor) -> bool:
        return True


@bank.mistake(breaks=NAMES)
class OneCall(Review):
    """A `batches` that gives one order in each call goes through, and so does one that writes into the memory of the call
    before. Perhaps it is called once: call twice, and compare order and memory.
    """

    def batches(self, batches: Callable[[Tensor, int], list[Tensor]]) -> bool:
        rows = self.rows()
        before = rows.clone()
        first = batches(rows, 8)
        return (
            self.untouched(rows, before)
            and self.sizes(first)
            and self.each_once(torch.cat(first), before)
            and self.apart(rows, first, [])
        )


@bank.mistake(breaks=NAMES)
class MemoryOfTwoCallsNotCompared(Review):
    """A `batches` that writes into the memory of the call before goes through. Perhaps memory is compared with that of `rows`
    only, or what two calls gave is compared after the second: keep a clone of the first.
    """

    def apart(self, rows: Tensor, first: list[Tensor], second: list[Tensor]) -> bool:
        return super().apart(rows, first, [])


@bank.mistake(breaks=NAMES)
class OrderNotAsked(Review):
    """A `batches` that gives the same order in each call goes through. Perhaps two calls are not compared."""

    def drawn_anew(self, first: Tensor, second: Tensor) -> bool:
        return True


@bank.mistake(breaks=NAMES)
class ColumnByColumn(Review):
    """A `batches` that shuffles each column by itself goes through: no row is whole. Perhaps numbers are compared and not
    rows, by a sum, by sorting all, or by `sort(0)`, which sorts each column.
    """

    def each_once(self, copies: Tensor, rows: Tensor) -> bool:
        return torch.equal(copies.sort(0).values, rows.sort(0).values)


@bank.variant(ColumnByColumn)
class _(Review):
    """By the sum."""

    def each_once(self, copies: Tensor, rows: Tensor) -> bool:
        return self.same(copies.sum(0), rows.sum(0))


@bank.mistake(breaks=NAMES)
class LengthsOnly(Review):
    """A `batches` that draws rows twice goes through, and so does one that shuffles each column by itself. Perhaps only the
    sizes of the batches are asked, not which rows are in them.
    """

    def each_once(self, copies: Tensor, rows: Tensor) -> bool:
        return True


@bank.mistake(breaks=NAMES)
class FullBatches(Review):
    """A `batches` that leaves out what does not fill a batch goes through. Perhaps the number of rows is a multiple of the
    size, and nothing is left over: ask with 50 rows and a size of 8.
    """

    def rows(self) -> Tensor:
        return torch.randn(48, 2)

    def sizes(self, parts: list[Tensor]) -> bool:
        return [len(part) for part in parts] == [8] * 6


@bank.mistake(breaks=SET)
class OrderOfTheRows(Review):
    """A `batches` that keeps its promise is named. Perhaps what comes out is compared in the order of `rows`, and the order is
    random. Or each call was seeded alike, and two had to differ.
    """

    def each_once(self, copies: Tensor, rows: Tensor) -> bool:
        return torch.equal(copies, rows)


@bank.mistake(breaks=SET)
class TooFewRows(Review):
    """A `batches` that keeps its promise is named, in some calls and not in others. Perhaps few rows are drawn, and two calls, or
    a call and `rows`, have the same order by chance: ask with 50.
    """

    def rows(self) -> Tensor:
        return torch.randn(2, 2)

    def sizes(self, parts: list[Tensor]) -> bool:
        return [len(part) for part in parts] == [2]


@bank.mistake(breaks=SET)
class BatchesShareAStorage(Review):
    """A `batches` that keeps its promise is named: its tensors are pieces of one new storage. Perhaps each tensor had to have
    a storage of its own. What is promised is memory apart from `rows` and from earlier calls.
    """

    def apart(self, rows: Tensor, first: list[Tensor], second: list[Tensor]) -> bool:
        every = [rows, *first, *second]
        return len({part.untyped_storage().data_ptr() for part in every}) == len(every)


@bank.mistake(breaks=SET)
class GradientOfTheStart(Review):
    """A `penalty` that keeps its promise is named: it is computed from start.detach(). Perhaps a gradient of `start` was asked,
    too. It is promised for `weight` alone.
    """

    def away(self, penalty: Callable[[Tensor, Tensor], Tensor]) -> bool:
        weight, start = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
        value = penalty(weight, start)
        if not super().away(penalty) or not value.requires_grad:
            return False
        value.backward()
        return start.grad is not None and self.same(start.grad, -weight.grad)


@bank.mistake(breaks=NAMES)
class ShapeOfThePenalty(Review):
    """A `penalty` of shape (1,) goes through. Perhaps numbers are compared and the shape is not: a number and a tensor of one
    number give a difference all the same. Look at `shape`.
    """

    def same(self, got: Tensor, want: Tensor, atol: float = 1e-3) -> bool:
        if want.ndim == 0 and got.numel() == 1:  # what is said to be one number
            got = got.reshape(())
        return super().same(got, want, atol)


@bank.mistake(breaks=NAMES)
class FiniteIsEnough(Review):
    """A `penalty` with the right value and a gradient of 0 everywhere goes through. Perhaps the gradient must only be there and
    be finite: away from the start, ask what it is.
    """

    def away(self, penalty: Callable[[Tensor, Tensor], Tensor]) -> bool:
        value, grad = self.asked(penalty, torch.tensor([3.0, 4.0]))
        return self.same(value, torch.tensor(5.0)) and grad is not None and bool(grad.isfinite().all())


@bank.mistake(breaks=NAMES)
class DistanceOfOne(Review):
    """A `penalty` that gives the square of the distance goes through. Perhaps the two vectors are 1 apart, where the square is
    the same, and the gradient must only be something else than 0.
    """

    def away(self, penalty: Callable[[Tensor, Tensor], Tensor]) -> bool:
        value, grad = self.asked(penalty, torch.tensor([0.6, 0.8]))
        return self.same(value, torch.tensor(1.0)) and grad is not None and bool(grad.any())


@bank.mistake(breaks=NAMES)
class NeverEqual(Review):
    """A `penalty` whose gradient is NaN where the two vectors are equal goes through. Perhaps it is not asked there, or NaN was
    compared by `>`, which is never True of it: ask `isfinite`.
    """

    def where_equal(self, penalty: Callable[[Tensor, Tensor], Tensor]) -> bool:
        return True


@bank.variant(NeverEqual)
class _(Review):
    """NaN is not above any bound."""

    def where_equal(self, penalty: Callable[[Tensor, Tensor], Tensor]) -> bool:
        value, grad = self.asked(penalty, torch.zeros(2))
        return bool(value == 0) and grad is not None and not bool((grad.abs() > 1e6).any())


@bank.mistake(breaks=NAMES)
class OnlyWhereEqual(Review):
    """A `penalty` with a wrong value or a gradient of 0 goes through. Perhaps it is asked only where the two vectors are equal,
    and there all is 0.
    """

    def away(self, penalty: Callable[[Tensor, Tensor], Tensor]) -> bool:
        return True


@bank.mistake(breaks=NAMES)
class ValueOfThePenalty(Review):
    """A `penalty` with the right value and no gradient, or one that is 0 or NaN, goes through. Perhaps only the value is asked:
    ask for the gradient, away from the start and at it.
    """

    def penalty(self, penalty: Callable[[Tensor, Tensor], Tensor]) -> bool:
        value, _ = self.asked(penalty, torch.tensor([3.0, 4.0]))
        return self.same(value, torch.tensor(5.0))


@bank.mistake(breaks=NO_ERROR)
class BackwardWithoutAGraph(Review):
    """An error came out where a `penalty` has no graph. Perhaps backward or torch.autograd.grad was called without a look at
    requires_grad.
    """

    def asked(self, penalty: Callable[[Tensor, Tensor], Tensor], moved: Tensor) -> tuple[Tensor, Tensor]:
        start = torch.randn(len(moved))
        weight = (start + moved).requires_grad_()
        value = penalty(weight, start)
        return value.detach(), torch.autograd.grad(value, weight)[0]
