"""What people get wrong about order and prefetching in a parallel loader."""

from __future__ import annotations

from typing import Any

from helpers.labs.dataloader.shared.loaders import LoaderMistake
from helpers.labs.dataloader.shared.properties import order as steps
from helpers.labs.dataloader.shared.right import Loader, answer


class ArrivalOrder(Loader):
    def in_turn(self) -> Any:
        return self.result()[1]


class SharedQueue(Loader):
    """One queue of tasks for all workers."""

    def queue_of(self, place: int) -> Any:
        return self.tasks[0]

    def work(self, id: int) -> None:
        self.tasks[id] = self.tasks[0]
        super().work(id)

    def close(self) -> None:
        for _ in self.workers:
            self.tasks[0].put(None)
        super().close()


class OneByDefault(Loader):
    def __init__(self, *args: Any, prefetch_factor: int = 1, **options: Any) -> None:
        super().__init__(*args, prefetch_factor=prefetch_factor, **options)


class InBlocks(Loader):
    """The first prefetch_factor batches for worker 0, the next for worker 1."""

    def queue_of(self, place: int) -> Any:
        return self.tasks[place // self.prefetch_factor % self.num_workers]


class FromTheSecondOn(Loader):
    """Batch 0 for worker 1."""

    def queue_of(self, place: int) -> Any:
        return self.tasks[(place + 1) % self.num_workers]


class RefillOnArrival(Loader):
    """Asks for more when a result arrives, though its turn has not come."""

    def take(self) -> None:
        super().take()
        self.ask()

    def refill(self) -> None:
        pass


class RefillWhoIsFree(RefillOnArrival):
    """The same, with a batch more for each that waits."""

    def take(self) -> None:
        super().take()
        while self.sent - self.turn - len(self.early) < self.prefetch_factor * self.num_workers:
            sent = self.sent
            self.ask()
            if sent == self.sent:
                return


class KeptNotCounted(Loader):
    """Asks until enough are outstanding, when one is handed over: without those that wait for their turn."""

    def refill(self) -> None:
        while self.sent - self.turn - len(self.early) < self.prefetch_factor * self.num_workers:
            sent = self.sent
            self.ask()
            if sent == self.sent:
                return


class Unbounded(Loader):
    """All tasks at the start."""

    def fill(self) -> None:
        for indices in self.batches:
            self.queue_of(self.sent).put((self.sent, indices))
            self.sent += 1


class FactorForgotten(Loader):
    """prefetch_factor for all workers together."""

    def fill(self) -> None:
        for _ in range(self.num_workers):
            self.ask()


class OneAtATime(Loader):
    """Asks for a batch, and waits for it."""

    def fill(self) -> None:
        self.ask()


class Rounds(Loader):
    """Refills the queues when all of a round has been handed over."""

    def refill(self) -> None:
        if self.turn == self.sent:
            self.fill()


class OneMore(Loader):
    """Fills the queues with one task more."""

    def fill(self) -> None:
        super().fill()
        self.ask()


class MoreForEach(Loader):
    """A task more for each worker."""

    def fill(self) -> None:
        super().fill()
        for _ in range(self.num_workers):
            self.ask()


class AddedUp(Loader):
    """prefetch_factor + num_workers."""

    def fill(self) -> None:
        for _ in range(self.prefetch_factor + self.num_workers):
            self.ask()


class AsksForTwo(Loader):
    """Two tasks for each batch that is handed over."""

    def refill(self) -> None:
        self.ask()
        self.ask()


class AsksForTwoAfterwards(Loader):
    """The same, once the consumer has come back."""

    def refill(self) -> None:
        pass

    def in_turn(self) -> Any:
        if self.turn:
            self.ask()
            self.ask()
        return super().in_turn()


class RefillByRounds(Loader):
    """Deals the later tasks out by the number of the round, not by the rest."""

    def queue_of(self, place: int) -> Any:
        first = self.prefetch_factor * self.num_workers
        turn = place if place < first else place - first + first // self.num_workers
        return self.tasks[turn % self.num_workers]


class Truth(Loader):
    """Asks a batch whether it is true."""

    def opened(self, batch: Any) -> Any:
        return super().opened(batch) if batch else None


class WorkersLeave(Loader):
    """Tells the workers that there is no more as soon as the sampler has ended."""

    def fill(self) -> None:
        self.signalled = False
        super().fill()

    def ask(self) -> None:
        sent = self.sent
        super().ask()
        if sent == self.sent and not self.signalled:
            self.signalled = True
            for tasks in self.tasks:
                tasks.put(None)

    def leave(self) -> None:
        self.results.close()
        self.results.join_thread()

    def look(self) -> None:
        pass


class NoneIsTheEnd(Loader):
    """Takes None for the end of the epoch."""

    def opened(self, batch: Any) -> Any:
        if batch is None:
            self.close()
            raise StopIteration
        return super().opened(batch)


class EmptyLeftOut(Loader):
    """Sends no task for an empty list."""

    def ask(self) -> None:
        indices = next(self.batches, None)
        if indices:
            self.queue_of(self.sent).put((self.sent, indices))
            self.sent += 1


class EmptyEndsTheWorker(Loader):
    """Takes an empty list of indices for the word that there is no more."""

    def work(self, id: int) -> None:
        self.prepare(id)
        while (task := self.tasks[id].get()) is not None and task[1]:
            self.results.put((task[0], self.made(task[1])))

    def look(self) -> None:
        pass


class FactorForAll(Loader):
    """prefetch_factor batches altogether."""

    def fill(self) -> None:
        for _ in range(self.prefetch_factor):
            self.ask()


class TailLost(Loader):
    """Ends with the sampler; what is outstanding then is lost."""

    def __next__(self) -> Any:
        sent = self.sent
        self.ask()
        if sent == self.sent:
            self.close()
            raise StopIteration
        return super().__next__()

    def refill(self) -> None:
        pass


ORDER = [
    LoaderMistake(
        "arrival_order",
        steps.ORDER,
        "A batch came before its turn since it was ready before. The queue of results is in the order in "
        "which batches are done: keep what comes early until its turn.",
        answer(ArrivalOrder),
        breaks="What arrives before its turn is kept.",
    ),
    LoaderMistake(
        "shared_task_queue",
        steps.TURNS,
        "While one worker was busy, the other one loaded batches that are not its own. Perhaps all "
        "workers share one queue of tasks: then the machine's mood decides which worker draws which "
        "random numbers, and no run can be repeated.",
        answer(SharedQueue),
    ),
    LoaderMistake(
        "dealt_out_in_blocks",
        steps.TURNS,
        "The batches are not dealt out in turns, perhaps in blocks: the training loop then needs a whole "
        "block of one worker, while the others work for later. Deal them out in turns.",
        answer(InBlocks),
    ),
    LoaderMistake(
        "turns_exchanged",
        steps.TURNS,
        "The batches are dealt out in turns, and the two workers are exchanged: batch 1 came from the one that "
        "get_worker_info() calls 0. Perhaps the turns begin with worker 1, or the workers are told each other's number.",
        answer(FromTheSecondOn),
    ),
    LoaderMistake(
        "refill_on_arrival",
        steps.SLOW,
        "More is asked of the sampler while the batch whose turn it is is still being loaded. Perhaps for "
        "each batch that arrives: one that waits for its turn still fills memory. Ask for more when one "
        "is handed over, or a slow worker lets the others fill the memory.",
        answer(RefillOnArrival),
        (answer(RefillWhoIsFree),),
    ),
]
PREFETCH = [
    LoaderMistake(
        "last_batches_lost",
        steps.PROCESSES,
        "Batches that were asked of the sampler never came. Perhaps the epoch ended when the sampler had "
        "no more: all that are outstanding then are still to be handed over.",
        answer(TailLost),
        breaks="Batch k is `collate_fn([dataset[i] for i in indices])` with the sampler's k-th list of "
        "indices.",
    ),
    LoaderMistake(
        "factor_for_all_workers",
        steps.BOUND,
        "About prefetch_factor batches were outstanding in all. It counts for each worker: "
        "prefetch_factor * num_workers.",
        answer(FactorForAll),
    ),
    LoaderMistake(
        "unbounded",
        steps.SLOW,
        "All batches had been asked of the sampler before the first one was handed over. Perhaps at the "
        "start: with a sampler that has no end training then never begins, and fast workers fill the "
        "memory.",
        answer(Unbounded),
    ),
    LoaderMistake(
        "one_task_too_many",
        steps.SLOW,
        "One batch too many was asked of the sampler. The first tasks are prefetch_factor * num_workers; "
        "after that one is asked for as one is handed over.",
        answer(OneMore),
    ),
    LoaderMistake(
        "one_too_many_for_each_worker",
        steps.SLOW,
        "Two batches too many were asked of the sampler. Perhaps each worker got one more: the first "
        "tasks are prefetch_factor * num_workers, and prefetch_factor is 2 unless it is given.",
        answer(MoreForEach),
    ),
    LoaderMistake(
        "more_and_more",
        steps.BOUND,
        "More batches were outstanding than prefetch_factor * num_workers. Perhaps more are asked of the sampler than are handed "
        "over, or those that have arrived and wait for their turn are not counted: ask for one as one is handed over.",
        answer(AsksForTwo),
        (answer(AsksForTwoAfterwards), answer(KeptNotCounted)),
    ),
    LoaderMistake(
        "added_up",
        steps.BOUND,
        "Fewer batches were outstanding than prefetch_factor * num_workers. Perhaps the two were added: "
        "with 2 and 2 nobody sees it.",
        answer(AddedUp),
    ),
    LoaderMistake(
        "one_at_a_time",
        steps.BOUND,
        "Hardly one batch was outstanding: one worker works, and the training loop waits for it. Perhaps "
        "a task is sent when its batch is wanted.",
        answer(OneAtATime),
    ),
    LoaderMistake(
        "prefetch_factor_forgotten",
        steps.BOUND,
        "About one batch was outstanding for each worker, though prefetch_factor is larger: a worker is "
        "idle until its next task reaches it.",
        answer(FactorForgotten),
    ),
    LoaderMistake(
        "in_rounds",
        steps.BOUND,
        "A batch was handed over, and none was asked for. Perhaps the queues are filled again when all "
        "batches of a round have been handed over: at the end of each round all workers are idle.",
        answer(Rounds),
    ),
    LoaderMistake(
        "turns_begin_anew",
        steps.BOUND,
        "The tasks after the first prefetch_factor * num_workers went to a different worker than batch k's, k % num_workers. "
        "Perhaps they are counted anew, or from prefetch_factor on: with 2 workers and a factor of 2 nobody sees it.",
        answer(RefillByRounds),
    ),
    LoaderMistake(
        "other_default",
        steps.DEFAULT,
        "With a prefetch_factor the right number of batches was outstanding, and without one fewer were: it is 2 unless it is given.",
        answer(OneByDefault),
    ),
    LoaderMistake(
        "workers_leave_early",
        steps.LATE,
        "A worker had ended before its batch was received. Perhaps it ends when it has no more tasks: "
        "what travels in the queue is a handle of a tensor, and the worker's process answers for it.",
        answer(WorkersLeave),
    ),
    LoaderMistake(
        "batch_asked_for_its_truth",
        steps.LATE,
        "A tensor of several numbers was asked whether it is true, and it is neither. Perhaps `if batch`, "
        "or a comparison with ==: a batch may be anything, so ask whether its number is there.",
        answer(Truth),
    ),
    LoaderMistake(
        "none_ends_the_epoch",
        steps.EDGES,
        "The epoch ended at the batch of an empty list of indices, which is None here. Perhaps the None, or the empty list, is taken "
        "for the end: both may stand in an epoch. Count instead, or use a marker of your own.",
        answer(NoneIsTheEnd),
    ),
    LoaderMistake(
        "empty_batch_left_out",
        steps.EDGES,
        "The batch of an empty list of indices, which is None here, was left out. Perhaps empty lists are passed over, or batches "
        "that are None. It is a batch, too: collate_fn([]) says what it is.",
        answer(EmptyLeftOut),
    ),
    LoaderMistake(
        "empty_batch_never_comes",
        steps.EDGES,
        "The loader waits for a batch that does not come. Perhaps an empty list of indices ends its worker, or gets no answer; or "
        "a batch that is None is taken for one that has not come yet.",
        answer(EmptyEndsTheWorker),
        (),
        ("hangs", "The loader waits"),
    ),
]
