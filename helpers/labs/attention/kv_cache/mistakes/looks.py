"""Who looks at whom in 13.kv_cache, and where a call writes."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.labs.attention.kv_cache.exercise import ATTENDS, kv_cache
from helpers.labs.attention.kv_cache.right import ByHand, Steps

SCALED = "Scores are divided by sqrt(D)."
ANY_NUMBER = "`new` may be any number from 1 on, in every call."


# Who looks at whom.


@kv_cache.mistake(breaks=ATTENDS)
class NoMask(Steps):
    """Positions look at later ones of the same call: there is no causal mask. With one position a call nothing is later,
    and so this shows in the prompt.
    """

    def allowed(self, new: int, past: int) -> None:
        return None


@kv_cache.variant(NoMask)
class _(ByHand):
    def weights(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        return scores.softmax(-1)


@kv_cache.mistake(breaks=ATTENDS)
class AlignedWithTheFirst(Steps):
    """A single position behind others looks at the first key alone: the mask begins at the first key. Perhaps that is
    `is_causal=True`, which knows nothing of earlier calls, or `tril()` without the number of earlier positions.
    """

    def look(self, q: Tensor, past: int) -> Tensor:
        return F.scaled_dot_product_attention(q, self.keys, self.values, is_causal=True)


@kv_cache.variant(AlignedWithTheFirst)
class _(Steps):
    def allowed(self, new: int, past: int) -> Tensor:
        return torch.ones(new, past + new, dtype=torch.bool).tril()


@kv_cache.mistake(breaks=ATTENDS)
class AlignedUnlessAlone(Steps):
    """Several positions behind earlier ones look as if they were the first: the diagonal of the mask has to move by the
    number of earlier positions. With a prompt, and with one position a call, it does not show.
    """

    def look(self, q: Tensor, past: int) -> Tensor:
        return F.scaled_dot_product_attention(q, self.keys, self.values, is_causal=q.shape[2] > 1)


@kv_cache.variant(AlignedUnlessAlone)
class _(ByHand):
    def allowed(self, new: int, past: int) -> Tensor | None:
        return None if new == 1 else torch.ones(new, past + new, dtype=torch.bool).tril()


@kv_cache.mistake(breaks=ATTENDS)
class SquareMask(ByHand):
    """Several positions behind earlier ones: the mask does not fit the scores. Perhaps it has a column for each new position only: there is
    one for each key, past + new.
    """

    def allowed(self, new: int, past: int) -> Tensor:
        return torch.ones(new, new, dtype=torch.bool).tril()


@kv_cache.variant(SquareMask)
class _(Steps):
    def allowed(self, new: int, past: int) -> Tensor | None:
        return torch.ones(new, new, dtype=torch.bool).tril() if new > 1 else None


@kv_cache.mistake(breaks=ATTENDS)
class MaskForThePromptOnly(Steps):
    """Several positions behind earlier ones look at later ones of their call. Perhaps only the first call has a mask, since
    single positions need none.
    """

    def look(self, q: Tensor, past: int) -> Tensor:
        return F.scaled_dot_product_attention(q, self.keys, self.values, is_causal=past == 0)


@kv_cache.mistake(breaks=ATTENDS)
class OwnCallOnly(Steps):
    """A position behind others looks at its own call only. Perhaps the k and v that came are used, and not those in the cache."""

    @torch.no_grad()
    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        self.make_room(k.shape[2])
        self.write(k, v, self.count)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@kv_cache.mistake(breaks=ATTENDS)
class NotAtItself(Steps):
    """A position does not look at itself, and the first one has nothing to look at: NaN, or 0 by SDPA. Perhaps the diagonal stands one
    place too low.
    """

    def allowed(self, new: int, past: int) -> Tensor:
        return torch.ones(new, past + new, dtype=torch.bool).tril(past - 1)

    def look(self, q: Tensor, past: int) -> Tensor:
        scores = q @ self.keys.transpose(-2, -1) / q.shape[-1] ** 0.5
        return scores.masked_fill(~self.allowed(q.shape[2], past), float("-inf")).softmax(-1) @ self.values


@kv_cache.variant(NotAtItself)
class _(Steps):
    def allowed(self, new: int, past: int) -> Tensor:
        return torch.ones(new, past + new, dtype=torch.bool).tril(past - 1)


@kv_cache.mistake(breaks=ATTENDS)
class OneTooFar(Steps):
    """Each position looks at the one after it, too. Perhaps the diagonal stands one place too high."""

    def allowed(self, new: int, past: int) -> Tensor:
        return torch.ones(new, past + new, dtype=torch.bool).tril(past + 1)


@kv_cache.variant(OneTooFar)
class _(ByHand):
    def weights(self, scores: Tensor, allowed: Tensor) -> Tensor:
        new, total = scores.shape[-2:]
        later = torch.triu(torch.ones(new, total), diagonal=total - new + 2).bool()
        return scores.masked_fill(later, -torch.inf).softmax(-1)


@kv_cache.mistake(breaks=ATTENDS)
class Inverted(ByHand):
    """Positions look at later ones only, and the last at nothing: the mask is inverted. True means "may look" here, and "blocked"
    for `masked_fill` and for `nn.MultiheadAttention`.
    """

    def weights(self, scores: Tensor, allowed: Tensor) -> Tensor:
        return scores.masked_fill(allowed, float("-inf")).softmax(-1)


@kv_cache.mistake(breaks=ATTENDS)
class MaskAfterSoftmax(ByHand):
    """The weights of a position do not add up to 1: later positions were set to 0 after the softmax, and had their part in the sum."""

    def weights(self, scores: Tensor, allowed: Tensor) -> Tensor:
        return scores.softmax(-1) * allowed


@kv_cache.mistake(breaks=ATTENDS)
class MaskOfNumbers(Steps):
    """Later positions count nearly as much as others: a mask of 0 and 1 in floating numbers is added to the scores. Only a bool mask
    blocks where it is False.
    """

    def allowed(self, new: int, past: int) -> Tensor:
        return torch.ones(new, past + new).tril(past)


@kv_cache.mistake(breaks=ATTENDS)
class WholeRoom(Steps):
    """Room that nothing is written to gets weight: the whole memory was taken for keys, and a score of 0 is not "blocked"."""

    def look(self, q: Tensor, past: int) -> Tensor:
        allowed = F.pad(self.allowed(q.shape[2], past), (0, self.k_memory.shape[2] - self.count), value=True)
        return F.scaled_dot_product_attention(q, self.k_memory, self.v_memory, attn_mask=allowed)


@kv_cache.mistake(breaks=ATTENDS)
class OldestDropped(Steps):
    """The result is wrong once there are more positions than a small window: earlier ones are to be seen, however many there are."""

    def allowed(self, new: int, past: int) -> Tensor:
        return super().allowed(new, past).triu(past - 3)


@kv_cache.mistake(breaks=ATTENDS)
class LastRowOnly(Steps):
    """The result has one position where several came: each of the new ones gets a row."""

    def look(self, q: Tensor, past: int) -> Tensor:
        return F.scaled_dot_product_attention(q[:, :, -1:], self.keys, self.values)


# Scores.


@kv_cache.mistake(breaks=SCALED)
class NotDivided(ByHand):
    """The scores are not divided at all: they are products of D numbers, and grow with D."""

    def scores(self, q: Tensor) -> Tensor:
        return q @ self.keys.transpose(-2, -1)


@kv_cache.mistake(breaks=SCALED)
class DividedTwice(Steps):
    """The scores are divided by D, and not by its root. Perhaps q was scaled, and `F.scaled_dot_product_attention` does that, too."""

    def look(self, q: Tensor, past: int) -> Tensor:
        return super().look(q / q.shape[-1] ** 0.5, past)


@kv_cache.mistake(breaks=SCALED)
class DividedByTheModel(ByHand):
    """The scores are divided by the root of all features. A score is a product over one head: it is sqrt(D)."""

    def scores(self, q: Tensor) -> Tensor:
        return q @ self.keys.transpose(-2, -1) / (q.shape[1] * q.shape[-1]) ** 0.5


@kv_cache.mistake(breaks=ATTENDS)
class SoftmaxOverQueries(ByHand):
    """The weights of a position do not add up to 1: the softmax runs over the queries. It runs over the keys, the last dimension."""

    def weights(self, scores: Tensor, allowed: Tensor) -> Tensor:
        return scores.masked_fill(~allowed, float("-inf")).softmax(-2)


@kv_cache.mistake(breaks=ATTENDS)
class Overflows(ByHand):
    """The result is NaN for large scores. Perhaps exp was taken of them as they are, and that of 100 is infinite in float32: take the
    largest of a row away first, as softmax does.
    """

    def weights(self, scores: Tensor, allowed: Tensor) -> Tensor:
        powers = scores.exp() * allowed
        return powers / powers.sum(-1, keepdim=True)


@kv_cache.mistake(breaks="the arguments stay as they were")
class ScalesInPlace(ByHand):
    """The caller's q has changed: it was scaled in place."""

    def scores(self, q: Tensor) -> Tensor:
        return q.div_(q.shape[-1] ** 0.5) @ self.keys.transpose(-2, -1)


@kv_cache.mistake(breaks=ATTENDS)
class OneMemoryForResults(Steps):
    """A result that was returned changes with the next call. Perhaps all results are written to one memory of the cache's."""

    def look(self, q: Tensor, past: int) -> Tensor:
        if not hasattr(self, "results"):
            self.results = torch.empty_like(self.k_memory)
        found = self.results[:, :, : q.shape[2]]
        return found.copy_(super().look(q, past))


# Where it is written.


@kv_cache.mistake(breaks=ATTENDS)
class OverTheFirst(Steps):
    """A call writes where the first call wrote: the earlier keys and values are lost. Perhaps they were written to [:new]."""

    def write(self, k: Tensor, v: Tensor, past: int) -> None:
        super().write(k, v, 0)
        self.count = past + k.shape[2]


@kv_cache.mistake(breaks=ATTENDS)
class ForgetsTheCount(Steps):
    """A call that comes after others crashes. Perhaps the count is that of the last call alone, and the number of keys does not fit
    the mask.
    """

    def write(self, k: Tensor, v: Tensor, past: int) -> None:
        self.k_memory[:, :, past : past + k.shape[2]] = k
        self.v_memory[:, :, past : past + k.shape[2]] = v
        self.count = k.shape[2]


@kv_cache.mistake(breaks=ANY_NUMBER)
class OneMoreACall(Steps):
    """The count grows by one a call. A prompt brings several positions at once."""

    def write(self, k: Tensor, v: Tensor, past: int) -> None:
        super().write(k, v, past)
        self.count = past + 1


@kv_cache.mistake(breaks=ATTENDS)
class LooksBeforeItWrites(Steps):
    """The new positions are written after the look: they do not see themselves, and the first call finds nothing at all."""

    @torch.no_grad()
    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        self.make_room(k.shape[2])
        past = self.count
        scores = q @ self.keys.transpose(-2, -1) / q.shape[-1] ** 0.5
        result = scores.softmax(-1) @ self.values
        self.write(k, v, past)
        return result


@kv_cache.mistake(breaks=ATTENDS)
class KeysTwice(Steps):
    """The result is made of keys: k was written to both memories."""

    def write(self, k: Tensor, v: Tensor, past: int) -> None:
        super().write(k, k, past)


@kv_cache.mistake(breaks="If there is no room for all of k and v, ValueError is raised")
class FullIsTooFull(Steps):
    """ValueError though there is room: the last place may be taken, too. Perhaps `>=` stands where `>` is meant."""

    def make_room(self, new: int) -> None:
        if self.count + new >= self.k_memory.shape[2]:
            raise ValueError("the cache is full")


@kv_cache.mistake(breaks=ANY_NUMBER)
class PromptThenSingles(Steps):
    """A later call with several positions is refused. Any call may bring any number."""

    def make_room(self, new: int) -> None:
        super().make_room(new)
        if self.count:
            assert new == 1, "one position at a time"
