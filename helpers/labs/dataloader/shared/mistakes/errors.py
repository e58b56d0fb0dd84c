"""What people get wrong about errors and dead workers in a parallel loader."""

from __future__ import annotations

import builtins
import traceback
from typing import Any

from helpers.labs.dataloader.shared.loaders import LoaderMistake
from helpers.labs.dataloader.shared.properties import errors as steps
from helpers.labs.dataloader.shared.right import Failure, Loader, answer


class Skipped(Loader):
    """Leaves out what could not be made."""

    def __next__(self) -> Any:
        while isinstance(batch := super().__next__(), Failure):
            pass
        return batch

    def opened(self, batch: Any) -> Any:
        return batch


class NoneForFailure(Loader):
    def opened(self, batch: Any) -> Any:
        return None if isinstance(batch, Failure) else batch


class HandedOver(Loader):
    """Yields the error itself."""

    def opened(self, batch: Any) -> Any:
        return batch.raised() if isinstance(batch, Failure) else batch


class EndsQuietly(Loader):
    """Prints the error, and ends the epoch."""

    def opened(self, batch: Any) -> Any:
        if isinstance(batch, Failure):
            print(batch.text)
            self.close()
            raise StopIteration
        return batch


class Early(Loader):
    """Raises an error as it arrives."""

    def take(self) -> None:
        place, batch = self.result()
        self.early[place] = super().opened(batch)


class AtTheEnd(Loader):
    """Keeps the first error, and raises it when all batches have come."""

    failure: Failure | None = None

    def __next__(self) -> Any:
        while True:
            try:
                batch = super().__next__()
            except StopIteration:
                if self.failure:
                    failure, self.failure = self.failure, None
                    raise failure.raised() from None
                raise
            if not isinstance(batch, Failure):
                return batch
            self.failure = self.failure or batch

    def opened(self, batch: Any) -> Any:
        return batch


class AlwaysRuntimeError(Loader):
    def opened(self, batch: Any) -> Any:
        if isinstance(batch, Failure):
            raise RuntimeError(batch.text)
        return batch


class PlainException(Loader):
    def opened(self, batch: Any) -> Any:
        if isinstance(batch, Failure):
            raise Exception(batch.text)
        return batch


class ErrorItself(Loader):
    """Sends the exception, whose traceback stays behind."""

    def made(self, indices: Any) -> Any:
        try:
            return self.batch(indices)
        except Exception as error:
            return error

    def opened(self, batch: Any) -> Any:
        if isinstance(batch, Exception):
            raise batch
        return super().opened(batch)


class OnlyMessage(Loader):
    """Sends type and message."""

    def made(self, indices: Any) -> Any:
        try:
            return self.batch(indices)
        except Exception as error:
            return type(error), str(error)

    def opened(self, batch: Any) -> Any:
        if isinstance(batch, tuple) and isinstance(batch[0], type):
            raise batch[0](batch[1])
        return super().opened(batch)


class OnlyDataset(Loader):
    """collate_fn stands outside the try."""

    def made(self, indices: Any) -> Any:
        try:
            samples = [self.dataset[index] for index in indices]
        except Exception as error:
            return Failure(error)
        return self.collate_fn(samples)


class OnlyBuiltIns(Loader):
    """Sends the type's name, and looks it up among the built-in ones."""

    def opened(self, batch: Any) -> Any:
        if isinstance(batch, Failure) and not hasattr(builtins, batch.kind.__name__):
            raise RuntimeError(batch.text)
        return super().opened(batch)


class AnyException(Loader):
    """Tells a failure by its being an exception."""

    def opened(self, batch: Any) -> Any:
        if isinstance(batch, Exception):
            raise batch
        return super().opened(batch)


class AnyPair(Loader):
    """Tells a failure by its being a pair of a class and a text."""

    def opened(self, batch: Any) -> Any:
        if isinstance(batch, tuple) and isinstance(batch[0], type):
            raise batch[0](batch[1])
        return super().opened(batch)


class LastUnseen(Loader):
    """Does not look at the last batch."""

    def opened(self, batch: Any) -> Any:
        if isinstance(batch, Failure) and self.turn == self.sent:
            self.close()
            raise StopIteration
        return super().opened(batch)


class HookOutside(Loader):
    """worker_init_fn stands outside the try: the process dies of its error."""

    def work(self, id: int) -> None:
        self.prepare(id)
        prepared, self.prepare = self.prepare, lambda id: None
        super().work(id)
        self.prepare = prepared


class HookIgnored(Loader):
    """Goes on after an error of worker_init_fn."""

    def prepare(self, id: int) -> None:
        try:
            super().prepare(id)
        except Exception as error:
            print(error)


class HookAndSamples(Loader):
    """Loads after an error of worker_init_fn, which waits for what comes of it."""

    hook_failure: Failure | None = None

    def prepare(self, id: int) -> None:
        try:
            super().prepare(id)
        except Exception as error:
            self.hook_failure = Failure(error)

    def made(self, indices: Any) -> Any:
        batch = super().made(indices)
        return batch if isinstance(batch, Failure) else self.hook_failure or batch


class TextForAll(Loader):
    """type(text), whatever the type."""

    def opened(self, batch: Any) -> Any:
        if isinstance(batch, Failure):
            error = batch.kind(batch.text)
            raise RuntimeError(batch.text) if isinstance(error, StopIteration) else error
        return batch


class StopPasses(Loader):
    """Raises StopIteration from __next__, which means the end."""

    def opened(self, batch: Any) -> Any:
        if isinstance(batch, Failure) and batch.kind is StopIteration:
            raise StopIteration(batch.text)
        return super().opened(batch)


class StopShortens(Loader):
    """list(map(...)) ends at a StopIteration of its function."""

    def batch(self, indices: Any) -> Any:
        return self.collate_fn(list(map(self.dataset.__getitem__, indices)))


class LeftOut(Loader):
    """Leaves a sample that fails out of its batch."""

    def batch(self, indices: Any) -> Any:
        samples = []
        for index in indices:
            try:
                samples.append(self.dataset[index])
            except Exception as error:
                print(error)
        return self.collate_fn(samples)


class ReadAgain(Loader):
    """Tries once more."""

    def batch(self, indices: Any) -> Any:
        return self.collate_fn([self.read(index) for index in indices])

    def read(self, index: Any) -> Any:
        try:
            return self.dataset[index]
        except Exception:
            return self.dataset[index]


class SeeThere(Loader):
    """Prints the traceback in the worker, and sends the class."""

    def opened(self, batch: Any) -> Any:
        if isinstance(batch, Failure):
            raise batch.kind("an error in a worker: see its output")
        return batch


class MadeByPickle(Loader):
    """Sends the exception with a note, so that pickle makes it anew."""

    def made(self, indices: Any) -> Any:
        try:
            return self.batch(indices)
        except Exception as error:
            if isinstance(error, StopIteration):
                return Failure(error)
            error.add_note(traceback.format_exc())
            return Sent(error)

    def opened(self, batch: Any) -> Any:
        if isinstance(batch, Sent):
            raise batch.error
        return super().opened(batch)


class Sent:
    """An exception on its way, to tell it from a batch."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class OnlyTypeError(Loader):
    """Catches TypeError around type(text), and nothing else."""

    def opened(self, batch: Any) -> Any:
        if isinstance(batch, Failure):
            try:
                error = batch.kind(batch.text)
            except TypeError:
                error = RuntimeError(batch.text)
            raise RuntimeError(batch.text) if isinstance(error, StopIteration) else error
        return batch


class AwkwardInShort(Loader):
    """RuntimeError without the text."""

    def opened(self, batch: Any) -> Any:
        if isinstance(batch, Failure):
            try:
                batch.kind(batch.text)
            except Exception:
                raise RuntimeError(f"{batch.kind.__name__} in a worker") from None
        return super().opened(batch)


class AwkwardMessage(Loader):
    """RuntimeError with the error's message only."""

    def opened(self, batch: Any) -> Any:
        if isinstance(batch, Failure):
            try:
                batch.kind(batch.text)
            except Exception:
                raise RuntimeError(batch.text.strip().splitlines()[-1]) from None
        return super().opened(batch)


class StopInShort(Loader):
    """RuntimeError without the text, for StopIteration."""

    def opened(self, batch: Any) -> Any:
        if isinstance(batch, Failure) and batch.kind is StopIteration:
            raise RuntimeError("StopIteration in a worker")
        return super().opened(batch)


class EndsAfterItsError(Loader):
    """Its try stands around the whole life of a worker."""

    def work(self, id: int) -> None:
        task = None
        try:
            self.prepare(id)
            while (task := self.tasks[id].get()) is not None:
                self.results.put((task[0], self.batch(task[1])))
        except Exception as error:
            self.results.put(((task or self.tasks[id].get())[0], Failure(error)))


class SomeClasses(Loader):
    """Catches the errors that its author has thought of."""

    def made(self, indices: Any) -> Any:
        try:
            return self.batch(indices)
        except OSError:
            raise
        except Exception as error:
            return Failure(error)


RAISING = [
    LoaderMistake(
        "error_swallowed",
        steps.RAISED,
        "The batch is left out, or the epoch ends early: the model trains on less than it was given.",
        answer(Skipped),
        (answer(EndsQuietly),),
    ),
    LoaderMistake(
        "failed_sample_left_out",
        steps.RAISED,
        "The batch of the sample that failed came without it, and nobody was told: a batch that is too small, or empty.",
        answer(LeftOut),
    ),
    LoaderMistake(
        "failed_sample_read_again",
        steps.RAISED,
        "A sample that raised was read a second time. Perhaps as a second try, which hides an error that comes now and then; or to "
        "raise the error once more in the training loop, which waits meanwhile. Send the first one.",
        answer(ReadAgain),
    ),
    LoaderMistake(
        "error_as_a_batch",
        steps.RAISED,
        "What was put into the queue in the batch's place is to be raised, not yielded.",
        answer(HandedOver),
        (answer(NoneForFailure),),
    ),
    LoaderMistake(
        "raised_on_arrival",
        steps.RAISED,
        "An error came before batches that were asked for first, perhaps as soon as it arrived: which "
        "batches a run has seen then depends on the machine's mood.",
        answer(Early),
    ),
    LoaderMistake(
        "raised_at_the_end",
        steps.RAISED,
        "Errors are gathered, and raised when the epoch is over: hours later, and after training on the rest.",
        answer(AtTheEnd),
    ),
    LoaderMistake(
        "type_lost",
        steps.TRACE,
        "ValueError came as RuntimeError, perhaps as all errors do: code that catches FileNotFoundError "
        "or ValueError around the loop then works with num_workers=0 only.",
        answer(AlwaysRuntimeError),
    ),
    LoaderMistake(
        "plain_exception",
        steps.TRACE,
        "ValueError came as Exception, perhaps as Exception(text): that has neither the type of the error "
        "nor one that says what happened.",
        answer(PlainException),
    ),
    LoaderMistake(
        "traceback_lost",
        steps.TRACE,
        "The error has its class and its message, and does not tell where in the worker it was raised. Perhaps the exception "
        "itself was sent (pickle drops its __traceback__), or its message only, or the traceback was sent and is not in what is "
        "raised: send traceback.format_exc(), called in the worker's except, and put it into the error.",
        answer(ErrorItself),
        (answer(OnlyMessage),),
    ),
    LoaderMistake(
        "message_and_traceback_lost",
        steps.TRACE,
        "The error has its class, and neither its message nor the worker's traceback. Perhaps they were printed in the worker: "
        "send traceback.format_exc() with the class.",
        answer(SeeThere),
    ),
    LoaderMistake(
        "own_types_lost",
        steps.OWN,
        "An error of a class that is not built in came as an error of a different type. Perhaps its name was sent, and looked "
        "up: send the class itself, which pickle can. Or only some classes are caught, and the worker dies of the others.",
        answer(OnlyBuiltIns),
    ),
    LoaderMistake(
        "batch_taken_for_an_error",
        steps.ITSELF,
        "A batch was raised because it looks as an error does in your queue: an exception, or a pair. Say it beside the "
        "batch, or in a class of your own.",
        answer(AnyException),
        (answer(AnyPair),),
    ),
    LoaderMistake(
        "collate_unguarded",
        steps.COLLATE,
        "An error in collate_fn came as RuntimeError. Perhaps collate_fn stands outside of the try: it "
        "runs in the worker, too, and it is where samples of unequal size come to light.",
        answer(OnlyDataset),
    ),
    LoaderMistake(
        "last_batch_unseen",
        steps.COLLATE,
        "An error in collate_fn, in the last batch, was never raised. Perhaps the epoch is over when the "
        "last result has arrived, before anybody has looked whether it is an error.",
        answer(LastUnseen),
    ),
    LoaderMistake(
        "hook_unguarded",
        steps.HOOK,
        "An error in worker_init_fn came as RuntimeError. Perhaps it runs before the loop with its try: "
        "the process dies, and its error is printed by a process that nobody reads.",
        answer(HookOutside),
    ),
    LoaderMistake(
        "hook_error_ignored",
        steps.HOOK,
        "A worker whose worker_init_fn has failed loads all the same with what it has: the wrong shard, "
        "or no seed.",
        answer(HookIgnored),
    ),
    LoaderMistake(
        "hook_error_replaced",
        steps.HOOK,
        "After an error in worker_init_fn came the error of a sample that needs what it did not open: the cause is lost. Perhaps "
        "the worker loads all the same, and a later error takes the first one's place.",
        answer(HookAndSamples),
        breaks="An exception in worker_init_fn takes the place of a batch of its worker",
    ),
    LoaderMistake(
        "awkward_type",
        steps.AWKWARD,
        "TypeError came for an error whose class wants more arguments, perhaps out of type(text): catch "
        "that, and take RuntimeError.",
        answer(TextForAll),
    ),
    LoaderMistake(
        "error_not_unpickled",
        steps.AWKWARD,
        "An error came out of the queue's get(), where pickle made the worker's exception anew: it calls the class with the "
        "exception's `args`, and this class takes others. Send class and text, and make the error in the training loop.",
        answer(MadeByPickle),
    ),
    LoaderMistake(
        "only_type_error_caught",
        steps.AWKWARD,
        "A class that is called with a text it cannot use may raise anything: here ValueError came instead of the worker's error. "
        "Perhaps only TypeError is caught around type(text).",
        answer(OnlyTypeError),
    ),
    LoaderMistake(
        "awkward_type_without_traceback",
        steps.AWKWARD,
        "What came for a class that cannot be made from a text does not tell where in the worker it was raised: give the "
        "RuntimeError the worker's traceback as its text.",
        answer(AwkwardInShort),
        (answer(AwkwardMessage),),
    ),
    LoaderMistake(
        "stop_iteration_ends_the_epoch",
        steps.STOP,
        "StopIteration in a sample ended the epoch, and nobody was told. Perhaps it was raised from __next__, where it means that "
        "there is no more, or taken for that: torch's own loader ends here in silence.",
        answer(StopPasses),
    ),
    LoaderMistake(
        "stop_iteration_without_traceback",
        steps.STOP,
        "RuntimeError came for StopIteration, and does not tell where in the worker it was raised: give it the worker's "
        "traceback as its text.",
        answer(StopInShort),
    ),
    LoaderMistake(
        "worker_ends_after_its_error",
        steps.SURVIVES,
        "A worker had ended after an error in it, and was taken for dead before the error's turn. Perhaps "
        "its try stands around the whole loop and not around one batch; or it does not hold the sample, or this class "
        "(FileNotFoundError).",
        answer(EndsAfterItsError),
        (answer(SomeClasses),),
    ),
    LoaderMistake(
        "stop_iteration_shortens_the_batch",
        steps.STOP,
        "StopIteration in a sample made a batch shorter, and nobody was told. Perhaps in list(map(...)), "
        "which takes it for the end of its own work; a list comprehension lets it through.",
        answer(StopShortens),
    ),
]
