"""What people get wrong about errors in 02.serial_loader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from helpers.labs.dataloader.serial_loader.right import Serial, loaders


class _Ends(Serial):
    """Takes some errors for the end of the epoch."""

    kinds: tuple[type[BaseException], ...] = (Exception,)

    def __iter__(self) -> Iterator[Any]:
        try:
            yield from super().__iter__()
        except ValueError as error:
            if "exclude" in str(error) or ValueError not in self.kinds and Exception not in self.kinds:
                raise
        except self.kinds:
            return


@loaders.mistake(breaks="An error in the dataset, a sampler or collate_fn comes through as it is")
class ErrorEndsTheEpoch(_Ends):
    """An error ended the epoch, and the training loop never heard of it. Perhaps IndexError was taken for the end of the
    data, or everything was caught.
    """


@loaders.variant(ErrorEndsTheEpoch)
class _(_Ends):
    kinds = (IndexError,)


@loaders.variant(ErrorEndsTheEpoch)
class _(_Ends):
    kinds = (LookupError,)


@loaders.mistake(breaks="An error in the dataset, a sampler or collate_fn comes through as it is")
class BadSampleSkipped(Serial):
    """A sample that could not be read was left out in silence: the model trains on less than it was given."""

    def fetched(self, indices: Any) -> list[Any]:
        if getattr(self.dataset, "__getitems__", None):
            return super().fetched(indices)
        samples = []
        for index in indices:
            try:
                samples.append(self.dataset[index])
            except LookupError:
                continue
        return samples


@loaders.mistake(
    breaks="An error in the dataset, a sampler or collate_fn comes through as it is, after the batches "
    "before it."
)
class ErrorBeforeItsTurn(Serial):
    """An error came before a batch that had been made before it. Perhaps one batch is made ahead of the one that is handed over:
    keep an error until its turn.
    """

    def __iter__(self) -> Iterator[Any]:
        batches, nothing = super().__iter__(), object()
        ready = next(batches, nothing)
        while ready is not nothing:
            following = next(batches, nothing)
            yield ready
            ready = following


@loaders.mistake(breaks="The samples of a batch that was begun are lost.")
class ShortBatchBeforeAnError(Serial):
    """Before the error of a stream came a batch of the samples that were left: a short batch is the last of a stream that has
    ended, and this one has failed.
    """

    def from_stream(self) -> Iterator[Any]:
        if not self.batched:
            yield from super().from_stream()
            return
        failed: list[Exception] = []
        self.dataset = _until_it_fails(self.dataset, failed)
        yield from super().from_stream()
        for error in failed:
            raise error


def _until_it_fails(samples: Iterable[Any], failed: list[Exception]) -> Iterator[Any]:
    try:
        yield from samples
    except Exception as error:
        failed.append(error)


@loaders.mistake(breaks="An error in the dataset, a sampler or collate_fn comes through as it is")
class ErrorWrapped(Serial):
    """An error came as a different one: who catches the first by its kind catches this one no more. Perhaps `raise ... from
    error` stands there.
    """

    def __iter__(self) -> Iterator[Any]:
        try:
            yield from super().__iter__()
        except Exception as error:
            raise RuntimeError("loading failed") from error


@loaders.mistake(breaks="An error in the dataset, a sampler or collate_fn comes through as it is")
class GetitemsErrorHidden(Serial):
    """An error raised inside of __getitems__ was caught, and other batches came in its place. Perhaps a `try`
    was to find out whether the dataset has __getitems__, and the samples were read one by one: ask getattr.
    """

    def fetched(self, indices: Any) -> list[Any]:
        try:
            return self.dataset.__getitems__(indices)
        except (AttributeError, TypeError):
            return [self.dataset[index] for index in indices]


@loaders.variant(GetitemsErrorHidden)
class _(Serial):
    """AttributeError only."""

    def fetched(self, indices: Any) -> list[Any]:
        if getattr(self.dataset, "__getitems__", None) is None:
            return [self.dataset[index] for index in indices]
        try:
            return self.dataset.__getitems__(indices)
        except AttributeError:
            return [self.dataset[index] for index in indices]


@loaders.variant(GetitemsErrorHidden)
class _(Serial):
    """TypeError only."""

    def fetched(self, indices: Any) -> list[Any]:
        if getattr(self.dataset, "__getitems__", None) is None:
            return [self.dataset[index] for index in indices]
        try:
            return self.dataset.__getitems__(indices)
        except TypeError:
            return [self.dataset[index] for index in indices]


@loaders.variant(ErrorWrapped)
class _(Serial):
    """Errors of collate_fn."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        made = self.collate_fn

        def collated(samples: Any) -> Any:
            try:
                return made(samples)
            except Exception as error:
                raise RuntimeError("collate_fn failed") from error

        self.collate_fn = collated
