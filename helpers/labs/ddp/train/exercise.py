"""Exercise 07.train: training that a kill does not change."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.ddp.shared.models import on_each
from helpers.labs.ddp.train.inputs import (
    PARTS,
    Killed,
    Place,
    Train,
    WatchedJob,
    a_path,
    half_written,
    reference,
    watched,
)
from helpers.ranks.checking import over_gloo

EPOCHS, STEPS, RANKS = 3, 2, 2  # STEPS: of one epoch
ORDER = ("epoch of the sampler", "samples")

train = Exercise(
    "07.train",
    "Training that survives a kill",
    objective="Bring everything that the next step depends on, on every rank, through one file that is always whole.",
    minutes=40,
    difficulty="hard",
    core=False,
    seconds=30,
    hints=[
        "What does the first step after a restart depend on? Weights, the optimizer's state, the order of the samples, "
        "the dropout masks. Which of them are the same on all ranks, and which not?",
        "Each rank has its own generator, and only rank 0 writes: dist.all_gather_object(states, torch.get_rng_state()) "
        "brings them together. Save how many epochs are DONE, and start with that one.",
        "torch.save to another name in the same folder, then os.replace(new, ckpt): at every moment ckpt is a whole "
        "file. A dist.barrier() after it, on all ranks, and nobody runs ahead of the file.",
    ],
)

Whole = list[tuple[list[Place], list[Tensor]]]  # by rank: where each step starts, the weights at the end


class Outcome:
    """One call of train on all ranks. places, weights, files by rank; killed: whether it was."""

    def __init__(
        self,
        answer: Train,
        trial: Trial,
        path: Path,
        seed: int,
        epochs: int,
        *,
        slow: bool = False,
        own_disk: bool = False,
        **kill: int,
    ) -> None:
        jobs: dict[int, WatchedJob] = {}
        self.files: dict[int, bytes] = {}

        def on_rank(train: Train) -> None:
            rank = dist.get_rank()
            jobs[rank] = WatchedJob(seed, kill.get("step") if rank == kill.get("rank") else None)
            train(path, jobs[rank], epochs)
            self.files[rank] = path.read_bytes() if path.exists() else b""

        self.killed = False
        with watched(path, kill.get("rename"), slow, own_disk) as self.watch:
            self.watch.steps = lambda: len(jobs[0].places) if 0 in jobs else 0
            try:
                on_each(trial, answer, on_rank, ranks=RANKS)
            except Killed:
                self.killed = True
        self.places = [jobs[rank].places for rank in sorted(jobs)]
        self.weights = [jobs[rank].weights() for rank in sorted(jobs)]

    def whole(self) -> Whole:
        return list(zip(self.places, self.weights, strict=True))

    def generators(self) -> list[list[list[int]]]:
        """By rank and step."""
        return [[place.generator for place in places] for places in self.places]


def uninterrupted(answer: Train, trial: Trial, seed: int, epochs: int) -> Whole:
    """The answer's own training when nothing comes between: it may draw masks by a rule of its own."""
    with a_path() as path:
        outcome = Outcome(answer, trial, path, seed, epochs)
    return outcome.whole()


def goes_on(trial: Trial, outcome: Outcome, whole: Whole, done: int, parts: tuple[str, ...] = PARTS) -> None:
    """Wrong unless each rank's steps are those of the uninterrupted training after `done` epochs.

    parts: what of a step's start has to be the same.
    """
    expected = [places[done * STEPS :] for places, _ in whole]
    extra = len(outcome.places[0]) - len(expected[0])
    for i in range(len(expected[0])):
        differing = {
            rank: other
            for rank, steps in enumerate(expected)
            if i < len(outcome.places[rank])
            and (other := outcome.places[rank][i].differs_from(steps[i], parts))
        }
        for rank, other in differing.items():
            kinds = {
                each: _generator_of(outcome.places[each][i], each, whole, done * STEPS + i)
                for each, names in differing.items()
                if "generator" in names
            }
            told = [
                f"{name} ({kinds[rank]})" if name == "generator" and kinds[rank] else name for name in other
            ]
            trial.fail(
                f"On rank {rank}, step {i % STEPS} of epoch {done + i // STEPS} does not start as in the "
                f"uninterrupted training: these differ: {', '.join(told)}.",
                expected=f"{len(expected[0])} steps, from epoch {done} on, that start where the uninterrupted ones do",
                got=f"{len(outcome.places[0])} steps; set_epoch({outcome.places[rank][i].epoch}) before this one",
                observed=(i, sorted(differing.items()), extra, sorted(kinds.items())),
            )
    trial.true(
        not extra,
        f"Rank 0 made {len(outcome.places[0])} steps, where {len(expected[0])} were left to do.",
        expected=f"{STEPS} steps in each epoch from {done} on",
        observed=("steps", extra),
    )
    for rank, (_, weights) in enumerate(whole if parts == PARTS else []):
        for have, want in zip(outcome.weights[rank], weights, strict=True):
            trial.equal(
                have, want, f"A weight at the end, on rank {rank}", rtol=0, atol=0, observed="weights"
            )


def _generator_of(place: Place, rank: int, whole: Whole, at: int) -> str:
    """Whose generator a step starts with; "" if of none that is known. at: the step, in the uninterrupted training."""
    known = {
        "that of a new process": whole[rank][0][0],
        "as where the epoch before began": whole[rank][0][max(0, at - STEPS)],
        **{f"that of rank {other}": places[at] for other, (places, _) in enumerate(whole)},
    }
    name = next((name for name, other in known.items() if place.generator == other.generator), "")
    if not name and _drawn_since(whole[rank][0][at].generator, place.generator):
        return "further on: numbers were drawn in between"
    return name


def _drawn_since(state: list[int], now: list[int]) -> bool:
    """Whether a generator gets from one state to the other by a few numbers that are drawn."""
    generator, aim = torch.Generator(), torch.tensor(now, dtype=torch.uint8)
    generator.set_state(torch.tensor(state, dtype=torch.uint8))
    for _ in range(64):
        torch.empty((), dtype=torch.int32).random_(generator=generator)
        if torch.equal(generator.get_state(), aim):
            return True
    return False


@train.property(
    "a run that nothing interrupts trains epoch by epoch, each in its own order",
    asks=(
        "Trains the job up to this number of epochs, and saves to ckpt after each of them.",
        "An epoch is `job.sampler.set_epoch(epoch)`, then `job.step(x, y)` for each batch of job.loader.",
        "state of the torch generator of *each rank* (dropout), which is a different one on each rank.",
    ),
)
def plain(answer: Train, trial: Trial) -> None:
    seed = some_seed(trial)
    trial.given(f"{RANKS} ranks, no file at ckpt, epochs=2")
    expected = reference(seed, 2, RANKS)
    with a_path() as path:
        outcome = Outcome(answer, trial, path, seed, 2)
        own_masks = outcome.generators() != [[place.generator for place in places] for places, _ in expected]
        goes_on(trial, outcome, expected, 0, parts=ORDER if own_masks else PARTS)
        trial.true(
            all(len(set(map(tuple, states))) == RANKS for states in zip(*outcome.generators(), strict=True)),
            "The ranks' generators are in the same state where a step starts, so all ranks draw the same dropout masks.",
            expected="a different state on each rank",
            observed="same masks",
        )
        trial.true(
            path.is_file(),
            "train left no file at ckpt.",
            expected="a file after every epoch",
            observed="no file",
        )
        alike = [rank for rank, states in enumerate(outcome.generators()) if states[0] == states[STEPS]]
        trial.true(
            not alike,
            f"On rank {alike[0] if alike else 0} the generator is in the same state where epoch 0 and where epoch 1 begins, so every "
            "epoch draws the same dropout masks.",
            expected="a different state in each epoch",
            observed="same masks in each epoch",
        )


def some_seed(trial: Trial) -> int:
    return trial.random.randrange(1, 2**31)


@train.property(
    "a second call, in new processes, goes on where the first one ended",
    asks=(
        "If there is a file at ckpt, training goes on after the last epoch in it.",
        "with the same weights, momentum, samples and state of the torch generator of *each rank* (dropout)",
        "The weights at the end are those of that run, to the last bit.",
    ),
)
def resumed(answer: Train, trial: Trial) -> None:
    seed = some_seed(trial)
    trial.given("train(ckpt, job, 2), then in new processes, with a new job, train(ckpt, job, 3)")
    whole = uninterrupted(answer, trial, seed, 3)
    with a_path() as path:
        Outcome(answer, trial, path, seed, 2)
        goes_on(trial, Outcome(answer, trial, path, seed, 3), whole, 2)


@train.property(
    "a rank killed in the middle of an epoch costs that epoch's steps, and nothing else",
    asks=(
        "Trains the job up to this number of epochs, and saves to ckpt after each of them.",
        "Each step starts as in a run that nothing interrupted, whatever step was the last and whichever rank was killed, and how often: with the same weights, momentum, samples and state of the torch generator of *each rank* (dropout), which is a different one on each rank.",
        "The weights at the end are those of that run, to the last bit.",
    ),
)
def killed_in_a_step(answer: Train, trial: Trial) -> None:
    seed = some_seed(trial)
    trial.given(f"{RANKS} ranks, epochs={EPOCHS}, no kill")
    whole = uninterrupted(answer, trial, seed, EPOCHS)
    again_cut = "then all start again (a file beside ckpt is cut to half)"
    for kills in (((1, 1),), ((1, 3), (0, 3))):
        with a_path() as path:
            done, told = 0, ""
            for rank, step in kills:
                epoch = done + step // STEPS
                again = f"; {again_cut}; then" if told else f"{RANKS} ranks, epochs={EPOCHS};"
                told += f"{again} rank {rank} is killed in epoch {epoch}, step {step % STEPS}"
                trial.given(told)
                Outcome(answer, trial, path, seed, EPOCHS, rank=rank, step=step)
                half_written(path)
                done = epoch
            trial.given(f"{told}; {again_cut}")
            goes_on(trial, Outcome(answer, trial, path, seed, EPOCHS), whole, done)


@train.property(
    "the file at ckpt is whole at every moment, and rank 0 alone writes it",
    asks=(
        "Rank 0 alone writes.",
        "The file at ckpt is whole at every moment: the older one until the new one takes its place.",
    ),
)
def whole_file(answer: Train, trial: Trial) -> None:
    seed = some_seed(trial)
    trial.given("train(ckpt, job, 1), then train(ckpt, job, 2) over the file that is there")
    # torch.save opens a file with a name beyond ASCII in Python, where it is seen, and any other one in C++.
    with a_path("Läufe") as path:
        Outcome(answer, trial, path, seed, 1)
        trial.true(
            path.is_file(),
            "train left no file at ckpt.",
            expected="a file after every epoch",
            observed="no file",
        )
        witness = path.parent.parent / "witness"
        os.link(path, witness)  # another name of the same file: what is written in place is seen there
        before = witness.read_bytes()
        outcome = Outcome(answer, trial, path, seed, 2)
        watch = outcome.watch
        others = sorted({rank for rank in watch.renames if rank})
        trial.true(
            not others,
            f"Rank {others[0] if others else 0} writes ckpt, too. Ranks that write the same file disturb each other, and "
            "on a shared disk one overwrites what the other one is writing.",
            expected="rank 0 alone writes",
            observed="other ranks write",
        )
        fault = watch.faults[0] if watch.faults else ""
        in_place = witness.read_bytes() != before
        trial.true(
            not fault and not in_place,
            "The file at ckpt is written in place: a kill on the way leaves half a file, and the older one is lost."
            if in_place
            else f"train {fault}: for a moment there is no file at ckpt, and a kill then loses the run.",
            expected="a new file beside ckpt, which takes its place in one step (os.replace)",
            observed=fault or "in place",
        )
        beside = sorted({rank for rank in watch.writers if rank})
        trial.true(
            not beside,
            f"Rank {beside[0] if beside else 0} writes a file beside ckpt. Then there are as many files as ranks, and a kill "
            "between two of them leaves files of different epochs.",
            expected="rank 0 alone writes",
            observed="other ranks write beside",
        )


@train.property(
    "a kill just before the new file takes its place leaves the older one",
    asks=(
        "The file at ckpt is whole at every moment: the older one until the new one takes its place.",
        "Files that a kill leaves beside ckpt do no harm.",
    ),
)
def killed_in_a_save(answer: Train, trial: Trial) -> None:
    seed = some_seed(trial)
    trial.given(
        "rank 0 is killed in the save after epoch 1, before the new file takes its place, and what it has "
        "written beside ckpt is cut to half; then all start again, epochs=2"
    )
    with a_path() as path:
        first = Outcome(answer, trial, path, seed, 2)
    # The first file after all steps of epoch 1: an answer may write more than one.
    whole, last = first.whole(), next((i for i, n in enumerate(first.watch.done) if n == 2 * STEPS), 1)
    with a_path() as path:
        outcome = Outcome(answer, trial, path, seed, 2, rename=max(1, last))
        if not outcome.killed:
            return  # told where the file is asked to be whole, or where it is asked for after every epoch
        half_written(path)
        older = path.read_bytes()
        goes_on(trial, Outcome(answer, trial, path, seed, 2), whole, 1)
        trial.true(
            path.read_bytes() != older,
            "After the restart epoch 1 is trained, and the file at ckpt is still the older one.",
            expected="a new file after epoch 1, whatever lies beside it",
            got="the file of epoch 0",
            observed="the older one stays",
        )


@train.property(
    "when train returns, on any rank, the last file is at ckpt",
    asks="When train returns, on any rank, the last file is there.",
)
def file_is_there(answer: Train, trial: Trial) -> None:
    seed = some_seed(trial)
    trial.given("each rank looks at ckpt as soon as train(ckpt, job, 2) has returned there")
    with a_path() as path:
        outcome = Outcome(answer, trial, path, seed, 2, slow=True)
        last = path.read_bytes() if path.exists() else b""
        early = [rank for rank in range(RANKS) if outcome.files[rank] != last]
        trial.true(
            not early,
            f"train had returned on rank {early[0] if early else 0} when the last file was not written yet. What this rank "
            "does next, load it say, meets an older file or none.",
            expected="every rank waits until rank 0 has written",
            observed="early",
        )


@train.property(
    "a run that is complete only loads", once_right=True, asks="If all epochs are done, train only loads."
)
def complete(answer: Train, trial: Trial) -> None:
    seed = some_seed(trial)
    trial.given("train(ckpt, job, 2), then in new processes train(ckpt, job, 2) once more")
    with a_path() as path:
        first = Outcome(answer, trial, path, seed, 2)
        whole = first.whole()
        before = path.stat()
        second = Outcome(answer, trial, path, seed, 2)
        goes_on(trial, second, whole, 2)
        now = path.stat()
        trial.true(
            not second.watch.renames and (now.st_ino, now.st_mtime_ns) == (before.st_ino, before.st_mtime_ns),
            "All epochs are done, and the file at ckpt is written once more.",
            expected="no step and no new file: train only loads",
            got="no step, and a new file at ckpt",
            observed="written again",
        )


@train.property(
    "ckpt may lie on a different disk than the folder for temporary files",
    once_right=True,
    asks="The file at ckpt is whole at every moment: the older one until the new one takes its place.",
)
def own_disk(answer: Train, trial: Trial) -> None:
    seed = some_seed(trial)
    trial.given("train(ckpt, job, 1), then train(ckpt, job, 2); ckpt's folder is on a disk of its own")
    with a_path() as path:
        try:
            Outcome(answer, trial, path, seed, 1, own_disk=True)
            os.link(path, witness := path.parent.parent / "witness")
            before = witness.read_bytes()
            Outcome(answer, trial, path, seed, 2, own_disk=True)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            trial.fail(
                "The new file lies on a different disk than ckpt, so that it cannot take its place by a new name: os.replace raises "
                f"OSError: {error.strerror}. Perhaps it is in the folder for temporary files.",
                expected="a new file beside ckpt, in the same folder",
                got=f"OSError: {error.strerror}",
                observed="another disk",
            )
        trial.true(
            witness.read_bytes() == before,
            "The file at ckpt is written in place, since the new one lies on a different disk: shutil.move copies it then. A kill on "
            "the way leaves half a file.",
            expected="a new file beside ckpt, in the same folder",
            got="a copy, written over the older file",
            observed="copied",
        )


@train.property(
    "and on two processes over gloo, the same",
    once_right=True,
    asks=(
        "Trains the job up to this number of epochs, and saves to ckpt after each of them.",
        "The weights at the end are those of that run, to the last bit.",
    ),
)
def over_processes(answer: Train, trial: Trial) -> None:
    seed = some_seed(trial)

    def on_rank(path: Path, epochs: int) -> list[Tensor]:
        job = WatchedJob(seed)
        answer(path, job, epochs)
        return job.weights()

    with a_path() as path:
        trial.given("train(ckpt, job, 1), then in new processes train(ckpt, job, 2)")
        over_gloo(trial, on_rank, path, 1, ranks=RANKS)
        found = over_gloo(trial, on_rank, path, 2, ranks=RANKS)
    whole = uninterrupted(answer, trial, seed, 2)
    for rank, (have, (_, want)) in enumerate(zip(found, whole, strict=True)):
        trial.equal(have, want, f"The weights at the end, on rank {rank}", observed="weights")
