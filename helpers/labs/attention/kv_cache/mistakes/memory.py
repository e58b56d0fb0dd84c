"""What people make of the memory in 13.kv_cache, and what they say of it."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.labs.attention.kv_cache.exercise import ATTENDS, ONLY_NEW, VIEWS, kv_cache
from helpers.labs.attention.kv_cache.right import ByHand, Steps

NO_ROOM = "If there is no room for all of k and v, ValueError is raised, and the cache stays as it was."
LENGTH = "`len(cache)` is the number of positions that it holds, 0 at first."
NO_GRAD = "Nothing in the cache requires grad, and the arguments stay as they were."
ONCE = "in memory that is taken once"


# What it says of itself.


@kv_cache.mistake(breaks=LENGTH)
class LengthIsTheRoom(Steps):
    """len(cache) is for how many positions there is room. It is how many are there."""

    def __len__(self) -> int:
        return self.k_memory.shape[2]


@kv_cache.mistake(breaks=LENGTH)
class LengthIsTheCalls(Steps):
    """len(cache) is the number of calls, and a call may bring several positions."""

    calls = 0

    def write(self, k: Tensor, v: Tensor, past: int) -> None:
        super().write(k, v, past)
        self.calls += 1

    def __len__(self) -> int:
        return self.calls


@kv_cache.mistake(breaks="`cache.keys` and `cache.values`, of shape (B, H, len(cache), D)")
class AllOfTheMemory(Steps):
    """cache.keys is the whole memory, with the room that nothing is written to. It ends with the last position."""

    @property
    def keys(self) -> Tensor:
        return self.k_memory

    @property
    def values(self) -> Tensor:
        return self.v_memory

    def look(self, q: Tensor, past: int) -> Tensor:
        allowed = self.allowed(q.shape[2], past)
        seen = slice(0, self.count)
        return F.scaled_dot_product_attention(
            q, self.keys[:, :, seen], self.values[:, :, seen], attn_mask=allowed
        )


@kv_cache.mistake(breaks="`cache.keys` and `cache.values`, of shape (B, H, len(cache), D)")
class MethodsInstead(Steps):
    """cache.keys is a method, and no tensor: `@property` above it makes it one that is read without a call."""

    def keys(self) -> Tensor:  # type: ignore[override]
        return self.k_memory[:, :, : self.count]

    def values(self) -> Tensor:  # type: ignore[override]
        return self.v_memory[:, :, : self.count]

    def look(self, q: Tensor, past: int) -> Tensor:
        allowed = self.allowed(q.shape[2], past)
        return F.scaled_dot_product_attention(q, self.keys(), self.values(), attn_mask=allowed)


@kv_cache.mistake(breaks="`cache.keys` and `cache.values`, of shape (B, H, len(cache), D)")
class TheLastCallOnly(Steps):
    """cache.keys has the positions of the last call. It has all so far."""

    first = 0

    def write(self, k: Tensor, v: Tensor, past: int) -> None:
        super().write(k, v, past)
        self.first = past

    @property
    def keys(self) -> Tensor:
        return self.k_memory[:, :, self.first : self.count]

    def look(self, q: Tensor, past: int) -> Tensor:
        keys = self.k_memory[:, :, : self.count]
        return F.scaled_dot_product_attention(q, keys, self.values, attn_mask=self.allowed(q.shape[2], past))


# The memory.


@kv_cache.mistake(breaks=ONCE)
class Grows:
    """cache.keys is no view of memory with room for all. Perhaps no memory is taken at the start, and each call joins old and new by
    `torch.cat`, which copies all that came before; or what is returned is a copy.
    """

    def __init__(
        self, batch: int, heads: int, length: int, width: int, dtype: torch.dtype = torch.float32
    ) -> None:
        self.keys = torch.empty(batch, heads, 0, width, dtype=dtype)
        self.values = torch.empty(batch, heads, 0, width, dtype=dtype)
        self.length = length

    def __len__(self) -> int:
        return self.keys.shape[2]

    @torch.no_grad()
    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        past, new = len(self), k.shape[2]
        if past + new > self.length:
            raise ValueError("full")
        self.keys, self.values = torch.cat([self.keys, k], dim=2), torch.cat([self.values, v], dim=2)
        allowed = torch.ones(new, past + new, dtype=torch.bool).tril(past)
        return F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=allowed)


@kv_cache.variant(Grows)
class _(Steps):
    def __init__(
        self, batch: int, heads: int, length: int, width: int, dtype: torch.dtype = torch.float32
    ) -> None:
        super().__init__(batch, heads, length, width, dtype)
        self.parts = [(self.k_memory[:, :, :0].clone(), self.v_memory[:, :, :0].clone())]

    def write(self, k: Tensor, v: Tensor, past: int) -> None:
        self.parts.append((k.clone(), v.clone()))
        self.count += k.shape[2]

    @property
    def keys(self) -> Tensor:
        return torch.cat([k for k, _ in self.parts], dim=2)

    @property
    def values(self) -> Tensor:
        return torch.cat([v for _, v in self.parts], dim=2)


@kv_cache.mistake(breaks=ONCE)
class ValuesTakenLater(Steps):
    """The memory of the values is not that of the start, once the first call came; that of the keys is. Perhaps it is taken in the first
    call: both are taken in `__init__`.
    """

    def write(self, k: Tensor, v: Tensor, past: int) -> None:
        if past == 0:
            self.v_memory = torch.zeros_like(self.k_memory)
        super().write(k, v, past)


@kv_cache.mistake(breaks=VIEWS)
class NewMemoryInACall(Steps):
    """The keys lie in a different memory after a call. Perhaps a call joins old and new in a new memory, or `keys` gives a copy:
    what came before is copied each time.
    """

    def write(self, k: Tensor, v: Tensor, past: int) -> None:
        room = self.k_memory.shape[2] - past - k.shape[2]
        self.k_memory, self.v_memory = (
            torch.cat([old[:, :, :past], new, old[:, :, :room]], dim=2)
            for old, new in ((self.k_memory, k), (self.v_memory, v))
        )
        self.count = past + k.shape[2]


@kv_cache.variant(NewMemoryInACall)
class _(Steps):
    def write(self, k: Tensor, v: Tensor, past: int) -> None:
        at = torch.arange(past, past + k.shape[2])
        self.k_memory = self.k_memory.index_copy(2, at, k)
        self.v_memory = self.v_memory.index_copy(2, at, v)
        self.count = past + k.shape[2]


@kv_cache.variant(NewMemoryInACall)
class _(Steps):
    @property
    def keys(self) -> Tensor:
        return self.k_memory[:, :, : self.count].contiguous()


@kv_cache.mistake(breaks="It keeps copies of k and v")
class KeepsWhatCame(Steps):
    """A call that fills the cache keeps the caller's own k and v: when the caller edits them, the cache changes."""

    def write(self, k: Tensor, v: Tensor, past: int) -> None:
        if k.shape == self.k_memory.shape:
            self.k_memory, self.v_memory = k, v
            self.count = k.shape[2]
        else:
            super().write(k, v, past)


@kv_cache.mistake(breaks="The keys and values of one layer for all positions so far")
class SharedMemory(Steps):
    """Two caches know of each other: what one keeps is seen by the other. Perhaps the memory belongs to the class, or is remembered
    by its size.
    """

    memory: ClassVar[dict[Any, Any]] = {}

    def __init__(
        self, batch: int, heads: int, length: int, width: int, dtype: torch.dtype = torch.float32
    ) -> None:
        super().__init__(batch, heads, length, width, dtype)
        size = batch, heads, length, width, dtype
        self.k_memory, self.v_memory = self.memory.setdefault(size, (self.k_memory, self.v_memory))


@kv_cache.mistake(breaks="The keys and values of one layer for all positions so far")
class SharedCount(Steps):
    """A call of one cache makes the other one longer. Perhaps the count belongs to the class, and not to the object."""

    total: ClassVar[list[int]] = [0]

    def __init__(
        self, batch: int, heads: int, length: int, width: int, dtype: torch.dtype = torch.float32
    ) -> None:
        self.total[0] = 0
        super().__init__(batch, heads, length, width, dtype)

    @property
    def count(self) -> int:
        return self.total[0]

    @count.setter
    def count(self, number: int) -> None:
        self.total[0] = number


# No room.


@kv_cache.mistake(breaks=NO_ROOM)
class TorchRefuses(Steps):
    """RuntimeError where there is no room. Perhaps torch raised it, since the slice is shorter than what comes. Count what is there and
    what comes before anything is written.
    """

    def make_room(self, new: int) -> None:
        pass


@kv_cache.variant(TorchRefuses)
class _(Steps):
    def make_room(self, new: int) -> None:
        if new > self.k_memory.shape[2]:
            raise ValueError("too many at once")


@kv_cache.mistake(breaks=NO_ROOM)
class TrustsTheSlice(Steps):
    """A single position that comes to a full cache is lost without an error. Perhaps the ValueError is made of torch's RuntimeError,
    and there is none here: one position is broadcast to a slice of none.
    """

    def make_room(self, new: int) -> None:
        pass

    def write(self, k: Tensor, v: Tensor, past: int) -> None:
        try:
            super().write(k, v, past)
        except RuntimeError as error:
            raise ValueError("no room") from error

    def look(self, q: Tensor, past: int) -> Tensor:
        return F.scaled_dot_product_attention(
            q, self.keys, self.values, attn_mask=self.allowed(q.shape[2], past)[:, : self.keys.shape[2]]
        )


@kv_cache.mistake(breaks=NO_ROOM)
class IndexErrorInstead(Steps):
    """An IndexError where there is no room. A caller that waits for ValueError does not catch it."""

    def make_room(self, new: int) -> None:
        if self.count + new > self.k_memory.shape[2]:
            raise IndexError("no room")


@kv_cache.mistake(breaks=NO_ROOM)
class AssertsRoom(Steps):
    """An AssertionError where there is no room. It is no ValueError, and with `python -O` nothing is raised."""

    def make_room(self, new: int) -> None:
        assert self.count + new <= self.k_memory.shape[2], "no room"


@kv_cache.mistake(breaks=NO_ROOM)
class OldestGo(Steps):
    """Nothing is raised where there is no room. Perhaps the oldest positions are dropped, or what does not fit is: either changes what
    later positions see.
    """

    def make_room(self, new: int) -> None:
        over = self.count + new - self.k_memory.shape[2]
        if over > 0:
            for memory in (self.k_memory, self.v_memory):
                memory.copy_(memory.roll(-over, 2))
            self.count = max(self.count - over, 0)

    def write(self, k: Tensor, v: Tensor, past: int) -> None:
        room = self.k_memory.shape[2] - self.count
        super().write(k[:, :, -room:], v[:, :, -room:], self.count)

    def look(self, q: Tensor, past: int) -> Tensor:
        new = min(q.shape[2], self.count)
        return F.scaled_dot_product_attention(
            q[:, :, -new:], self.keys, self.values, attn_mask=self.allowed(new, self.count - new)
        )


@kv_cache.mistake(breaks="the cache stays as it was")
class CountsBeforeItAsks(Steps):
    """After the ValueError the cache counts positions that it does not hold. Perhaps the count grew before the question whether there is
    room.
    """

    def make_room(self, new: int) -> None:
        self.count += new
        super().make_room(0)
        self.count -= new


@kv_cache.mistake(breaks="the cache stays as it was")
class WritesWhatFits(Steps):
    """After the ValueError the cache is longer: it was filled with what has room. All or nothing."""

    def make_room(self, new: int) -> None:
        pass

    def write(self, k: Tensor, v: Tensor, past: int) -> None:
        room = self.k_memory.shape[2] - past
        super().write(k[:, :, :room], v[:, :, :room], past)
        if room < k.shape[2]:
            raise ValueError("no room for the rest")


@kv_cache.mistake(breaks="the cache stays as it was")
class EmptiesItself(Steps):
    """After the ValueError the cache is empty. Who catches the error wants to go on with what was there."""

    def make_room(self, new: int) -> None:
        try:
            super().make_room(new)
        except ValueError:
            self.count = 0
            raise


# What is copied, recorded, and of which type.


@kv_cache.mistake(breaks=ONLY_NEW)
class CopiesToLook(Steps):
    """A call copies all keys that are there. Perhaps by `contiguous()` or `clone()`: the products read a view just as well."""

    def look(self, q: Tensor, past: int) -> Tensor:
        return F.scaled_dot_product_attention(
            q, self.keys.contiguous(), self.values.contiguous(), attn_mask=self.allowed(q.shape[2], past)
        )


@kv_cache.mistake(breaks=ONLY_NEW)
class JoinsToLook(Steps):
    """A call joins all keys and values by `torch.cat`, which copies what is there already. Written behind the others they need no join."""

    @torch.no_grad()
    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        self.make_room(k.shape[2])
        past = self.count
        keys, values = torch.cat([self.keys, k], 2), torch.cat([self.values, v], 2)
        self.write(k, v, past)
        allowed = self.allowed(q.shape[2], past)
        return F.scaled_dot_product_attention(q, keys, values, attn_mask=allowed)


@kv_cache.mistake(breaks=ONLY_NEW)
class ScalesTheKeys(ByHand):
    """All keys that are there are divided by sqrt(D), in a copy. The few queries can be divided instead, or the scores."""

    def scores(self, q: Tensor) -> Tensor:
        return q @ (self.keys / q.shape[-1] ** 0.5).transpose(-2, -1)


@kv_cache.mistake(breaks=ONLY_NEW)
class SquareThenCut(Steps):
    """A call makes a square of all positions, though few are new. Perhaps a mask with a row for each position that is there, of which the
    last rows are taken: `torch.ones(new, past + new).tril(past)` has these rows alone.
    """

    def allowed(self, new: int, past: int) -> Tensor:
        total = past + new
        return torch.ones(total, total, dtype=torch.bool).tril()[-new:]


@kv_cache.variant(SquareThenCut)
class _(Steps):
    """With a row for each place of the room."""

    def allowed(self, new: int, past: int) -> Tensor:
        room = self.k_memory.shape[2]
        return torch.ones(room, room).tril().bool()[past : past + new, : past + new]


@kv_cache.variant(SquareThenCut)
class _(ByHand):
    """By a comparison; single positions have none."""

    def allowed(self, new: int, past: int) -> Tensor | None:
        places = torch.arange(past + new)
        return (places <= places[:, None])[past:] if new > 1 else None


@kv_cache.mistake(breaks=ONLY_NEW)
class WidensInEachCall(ByHand):
    """With bfloat16 a call makes a wide copy of all keys that are there. Perhaps by `to` or `float()`: where they are float32, that copies
    nothing.
    """

    def look(self, q: Tensor, past: int) -> Tensor:
        wide = torch.promote_types(q.dtype, torch.float32)
        scores = q.to(wide) @ self.keys.to(wide).transpose(-2, -1) / q.shape[-1] ** 0.5
        weights = self.weights(scores, self.allowed(q.shape[2], past))
        return (weights @ self.values.to(wide)).to(q.dtype)


@kv_cache.variant(WidensInEachCall)
class _(Steps):
    def look(self, q: Tensor, past: int) -> Tensor:
        allowed = self.allowed(q.shape[2], past)
        kept = (q, self.keys, self.values)
        wide = (each.float() if each.dtype == torch.bfloat16 else each for each in kept)
        return F.scaled_dot_product_attention(*wide, attn_mask=allowed).to(q.dtype)


@kv_cache.mistake(breaks=VIEWS)
class KeptWide(Steps):
    """With bfloat16 keys and values are copies, and no views of the memory. Perhaps all is kept as float32, and converted where it is read:
    that is twice the memory, and a copy each time.
    """

    def __init__(
        self, batch: int, heads: int, length: int, width: int, dtype: torch.dtype = torch.float32
    ) -> None:
        super().__init__(batch, heads, length, width, torch.promote_types(dtype, torch.float32))
        self.dtype = dtype

    @property
    def keys(self) -> Tensor:
        return super().keys.to(self.dtype)

    @property
    def values(self) -> Tensor:
        return super().values.to(self.dtype)

    def look(self, q: Tensor, past: int) -> Tensor:
        keys, values = self.k_memory[:, :, : self.count], self.v_memory[:, :, : self.count]
        allowed = self.allowed(q.shape[2], past)
        return F.scaled_dot_product_attention(q.to(keys.dtype), keys, values, attn_mask=allowed).to(q.dtype)


@kv_cache.mistake(breaks=NO_GRAD)
class RecordsTheWriting(Steps):
    """The cache requires grad once a k that requires grad came: the writing was recorded, and the graphs of all calls live on. Perhaps
    `torch.no_grad()` or `detach()` is missing.
    """

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        self.make_room(k.shape[2])
        past = self.count
        self.write(k, v, past)
        return self.look(q, past)


@kv_cache.mistake(breaks=NO_GRAD)
class DetachesTheirOwn(Steps):
    """An argument has changed: it does not require grad any more. `detach_()` is the caller's tensor itself, `detach()` a view of it."""

    @torch.no_grad()
    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return super().attend(q, k.detach_(), v.detach_())


@kv_cache.mistake(breaks="dtype: of keys and values.")
class AlwaysFloat32(Steps):
    """The dtype that was asked for is not used: the memory has the default, float32. Torch rounds to it without a word, and a cache that
    was meant to be half as large is not.
    """

    def __init__(
        self, batch: int, heads: int, length: int, width: int, dtype: torch.dtype = torch.float32
    ) -> None:
        super().__init__(batch, heads, length, width)

    def look(self, q: Tensor, past: int) -> Tensor:
        return super().look(q.float(), past).to(q.dtype)


@kv_cache.mistake(breaks=ATTENDS)
class GarbageInTheRoom(ByHand):
    """NaN where the memory held NaN before: room that nobody has written was multiplied with a weight of 0. Leave it out, or begin with
    zeros.
    """

    def __init__(
        self, batch: int, heads: int, length: int, width: int, dtype: torch.dtype = torch.float32
    ) -> None:
        self.k_memory = torch.empty(batch, heads, length, width, dtype=dtype)
        self.v_memory = torch.empty(batch, heads, length, width, dtype=dtype)
        self.count = 0

    def look(self, q: Tensor, past: int) -> Tensor:
        allowed = F.pad(self.allowed(q.shape[2], past), (0, self.k_memory.shape[2] - self.count), value=False)
        scores = q @ self.k_memory.transpose(-2, -1) / q.shape[-1] ** 0.5
        return self.weights(scores, allowed) @ self.v_memory
