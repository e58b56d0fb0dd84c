"""What people refuse, and what they take, in 02.serial_loader."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from torch.utils.data import DataLoader

from helpers.labs.dataloader.serial_loader.exercise import serial_loader
from helpers.labs.dataloader.serial_loader.right import Serial, loaders


@serial_loader.mistake()
def data_loader_inside(*args: Any, **options: Any) -> Iterator[Any]:
    """DataLoader is called, and this is the class that the exercise re-creates."""
    yield from DataLoader(*args, **options)


@loaders.mistake()
class BatchSamplerBesideOthers(Serial):
    """batch_sampler beside an argument that it takes the place of was taken: batch_size, shuffle, sampler or drop_last.
    Perhaps one of the two silently wins. Each of the four is to be tested, and an empty sampler is one, too.
    """

    def forbidden(self) -> Iterator[bool]:
        rules = list(super().forbidden())
        return iter([*rules[:2], *rules[3:]])

    def refuse(self) -> None:
        super().refuse()
        if self.batch_sampler is not None:
            self.sampler = None


def _without(*numbers: int) -> Callable[[Serial], Iterator[bool]]:
    """The rules but for those of these numbers."""

    def forbidden(self: Serial) -> Iterator[bool]:
        return (rule for at, rule in enumerate(Serial.forbidden(self)) if at not in numbers)

    return forbidden


@loaders.variant(BatchSamplerBesideOthers)
class _(Serial):
    """Nothing at all is refused."""

    forbidden = _without(0, 1, 2, 3, 4)

    def refuse(self) -> None:
        if self.batch_size is not None and self.batch_size < 1:
            raise ValueError("batch_size")


@loaders.variant(BatchSamplerBesideOthers)
class _(Serial):
    """`if batch_sampler and ...`: an empty list passes."""

    def forbidden(self) -> Iterator[bool]:
        yield from (rule for at, rule in enumerate(super().forbidden()) if at != 2)
        yield bool(
            self.batch_sampler
            and (self.batch_size != 1 or self.shuffle or self.sampler is not None or self.drop_last)
        )


@loaders.mistake()
class SamplerBesideShuffle(Serial):
    """sampler beside shuffle=True was taken: two arguments decide the order, and perhaps one of them silently wins.
    Perhaps nothing tests it, or `if sampler and shuffle` does, which an empty sampler passes.
    """

    forbidden = _without(1)


@loaders.variant(SamplerBesideShuffle)
class _(Serial):
    """Only a sampler that is not empty."""

    def forbidden(self) -> Iterator[bool]:
        rules = list(super().forbidden())
        return iter([rules[0], bool(self.sampler and self.shuffle), *rules[2:]])


@loaders.mistake()
class DropLastWithoutBatches(Serial):
    """batch_size=None with drop_last=True was taken, though there is no last batch that could be dropped."""

    forbidden = _without(3)


@loaders.variant(DropLastWithoutBatches)
class _(Serial):
    """Refused for datasets with indices only."""

    def forbidden(self) -> Iterator[bool]:
        rules = list(super().forbidden())
        return iter([*rules[:3], rules[3] and not self.iterable, rules[4]])


@loaders.mistake()
class StreamNotRefused(Serial):
    """An IterableDataset has an order of its own. shuffle=True, a sampler or a batch_sampler beside one was taken.
    Perhaps it does nothing, and nobody knows. An empty sampler is one, too.
    """

    forbidden = _without(0)


@loaders.variant(StreamNotRefused)
class _(Serial):
    """Only shuffle is."""

    def forbidden(self) -> Iterator[bool]:
        rules = list(super().forbidden())
        return iter([bool(self.iterable and self.shuffle), *rules[1:]])


@loaders.variant(StreamNotRefused)
class _(Serial):
    """Samplers that are not empty are."""

    def forbidden(self) -> Iterator[bool]:
        rules = list(super().forbidden())
        return iter(
            [bool(self.iterable and (self.shuffle or self.sampler or self.batch_sampler)), *rules[1:]]
        )


@loaders.mistake()
class BatchesOfNothing(Serial):
    """A batch_size below 1 was not refused by ValueError. Perhaps by an assert, or that is left to BatchSampler, and for
    an IterableDataset nobody makes one.
    """

    def chosen(self) -> Any:
        if self.batch_size is not None and self.batch_size < 1:
            return itertools.repeat([])
        return super().chosen()


@loaders.variant(BatchesOfNothing)
class _(Serial):
    """By an assert."""

    def refuse(self) -> None:
        super().refuse()
        assert self.batch_size is None or self.batch_size >= 1


@loaders.variant(BatchesOfNothing)
class _(Serial):
    """Of a stream."""

    def chosen(self) -> Any:
        if self.iterable and self.batch_size is not None and self.batch_size < 1:
            return itertools.repeat([])
        return super().chosen()


@loaders.variant(BatchesOfNothing)
class _(Serial):
    """Of a stream, 0 and no negative number."""

    def chosen(self) -> Any:
        return itertools.repeat([]) if self.iterable and self.batch_size == 0 else super().chosen()


@loaders.mistake()
class WorkersOptionsTaken(Serial):
    """An option was taken that asks for workers: prefetch_factor or persistent_workers. prefetch_factor=0 is a value that
    somebody has given, too: the default is None.
    """

    forbidden = _without(4)


@loaders.variant(WorkersOptionsTaken)
class _(Serial):
    """prefetch_factor=0 passes."""

    def __init__(self, *args: Any, prefetch_factor: int | None = None, **options: Any) -> None:
        super().__init__(*args, prefetch_factor=prefetch_factor or None, **options)


@loaders.mistake()
class NegativeTimeoutTaken(Serial):
    """A negative timeout was taken, and 0 is the least. Perhaps only options that are given without workers are tested."""

    def __init__(self, *args: Any, timeout: float = 0, **options: Any) -> None:
        super().__init__(*args, **options)


@loaders.variant(WorkersOptionsTaken)
class _(Serial):
    """persistent_workers passes."""

    def __init__(self, *args: Any, persistent_workers: bool = False, **options: Any) -> None:
        super().__init__(*args, **options)


@loaders.mistake()
class RefusedByADifferentError(Serial):
    """The call was refused, but not with ValueError. Perhaps by assert: that raises AssertionError, and with python -O
    nothing at all.
    """

    def refuse(self) -> None:
        assert not any(self.forbidden())


@loaders.variant(RefusedByADifferentError)
class _(Serial):
    def refuse(self) -> None:
        if any(self.forbidden()):
            raise TypeError("these arguments exclude each other")


@loaders.mistake(breaks="ValueError: where DataLoader raises it")
class ShuffleFalseRefused(Serial):
    """shuffle=False asks for nothing, as None does: only shuffle=True contradicts a sampler or an IterableDataset."""

    def refuse(self) -> None:
        super().refuse()
        if (self.sampler is not None or self.iterable) and self.shuffle is not None:
            raise ValueError("shuffle and an order")


@loaders.variant(ShuffleFalseRefused)
class _(Serial):
    """Beside a stream only."""

    def refuse(self) -> None:
        super().refuse()
        if self.iterable and self.shuffle is not None:
            raise ValueError("shuffle and an IterableDataset")


@loaders.variant(ShuffleFalseRefused)
class _(Serial):
    """Beside a sampler only."""

    def refuse(self) -> None:
        super().refuse()
        if self.sampler is not None and self.shuffle is not None:
            raise ValueError("shuffle and a sampler")


@loaders.variant(ShuffleFalseRefused)
class _(Serial):
    """Beside a batch sampler only."""

    def refuse(self) -> None:
        super().refuse()
        if self.batch_sampler is not None and self.shuffle is not None:
            raise ValueError("shuffle and batch_sampler")


@loaders.mistake(breaks="An empty sampler is a sampler, too: nothing is read.")
class EmptySamplerRefused(Serial):
    """An empty sampler was refused. It is a sampler, too, and the epoch has no batch."""

    def refuse(self) -> None:
        super().refuse()
        if (
            self.sampler is not None
            and not self.sampler
            or self.batch_sampler is not None
            and not self.batch_sampler
        ):
            raise ValueError("nothing to sample")


@loaders.mistake(breaks="ValueError: where DataLoader raises it")
class BatchSamplerAloneRefused(Serial):
    """A batch_sampler was refused beside which only arguments stand that do not contradict it. Perhaps since batch_size is not
    None: that is 1 unless it is given.
    """

    def refuse(self) -> None:
        super().refuse()
        if self.batch_sampler is not None and self.batch_size is not None:
            raise ValueError("batch_sampler and batch_size")
