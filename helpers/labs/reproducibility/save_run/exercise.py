"""Exercise 01.save_run: interrupted and resumed equals never interrupted, bit for bit."""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from helpers.check.calls import calls_to
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.reproducibility.save_run.killed import IN_PLACE, Saver, digest_of
from helpers.labs.reproducibility.save_run.state import without_numbers
from helpers.labs.reproducibility.save_run.uninterrupted import (
    EPOCH,
    Uninterrupted,
    a_file,
    place,
    some_seed,
    uninterrupted,
    wrap_step,
)
from helpers.labs.reproducibility.shared.forks import Fork, can_fork
from helpers.labs.reproducibility.shown.run import Run, new_run

MIDDLE = EPOCH + 1  # batches done at the one interruption that most properties look at
RNG = ("torch RNG", "numpy RNG", "random RNG", "cuda RNG")

save_run = Exercise(
    "01.save_run",
    "Save a run in mid-epoch, and resume it",
    objective="Find everything that the next batch depends on, and bring it through a file that is never half-written.",
    minutes=35,
    difficulty="hard",
    names=("save_run", "resume_run"),
    seconds=15,
    prepare=wrap_step,
    hints=[
        "List what the next batch depends on: which numbers, which generators, and which samples are still to come.",
        "An iterator draws its base seed when it is made, and the order at its first batch. So it must be made again from "
        "run.epoch_start, run.batch batches must be passed over, and only then do the generators get the state "
        "that they had when the run was saved.",
        "Between two epochs run.epoch_start is None and no iterator is needed. Put generators back with "
        "set_state: the dataset holds the very object that is in run.generators.",
        "np.random.get_state() holds an array, which weights_only refuses: store array.tolist(), and keep all five "
        "parts. For the file: torch.save to a second name in the same folder, then os.replace.",
    ],
)

STANDS = "Put `run`, made as for a new start, where the saved run stood: its next batch is the saved run's next batch."
ONE_STEP = (
    "The file at `path` is replaced in one step: a kill in the middle of the save leaves the older one."
)


def described(description: list[str]) -> str:
    """The first faults as one text; those of the run's own counters are short, and come first."""
    texts = sorted(description, key=lambda text: not text.startswith("run."))
    return "; ".join(texts[:4]) + (f"; and {len(texts) - 4} more" if len(texts) > 4 else "")


@save_run.property(
    "saving changes nothing in the run",
    asks="The run itself goes on as if it had not been saved.",
    changes=RNG,
)
def leaves_the_run(answer: Any, trial: Trial) -> None:
    save, _ = answer
    seed = some_seed(trial)
    for done in (0, MIDDLE, EPOCH):
        trial.given(f"a run that is saved {place(done)}, and goes on")
        with a_file() as path:
            whole = uninterrupted(seed)
            run = whole.run_to(done)
            trial.call(save, path, run)
            message = whole.fault(run, done)
        trial.true(
            not message,
            "After save_run the run that was saved is not as it would be without the save.",
            expected="a run that trains on as if it had not been saved",
            got=described(message),
            observed=without_numbers(message),
        )


@save_run.property(
    "resumed in mid-epoch, a run goes on as if nothing had interrupted it",
    asks=(STANDS, "Samples, losses, parameters and buffers are then the same, to the last bit."),
    changes=RNG,
)
def goes_on(answer: Any, trial: Trial) -> None:
    after_one_interruption(answer, trial, MIDDLE)


@save_run.property(
    "resumed between two epochs, it does so too",
    asks="That also holds between two epochs, and after several restarts.",
    changes=RNG,
)
def goes_on_between_epochs(answer: Any, trial: Trial) -> None:
    after_one_interruption(answer, trial, EPOCH)


def after_one_interruption(answer: Any, trial: Trial, done: int) -> None:
    """Saves after `done` batches, resumes in new objects, trains on."""
    save, resume = answer
    trial.given(f"a run that is saved {place(done)}, and resumed in new objects")
    with a_file() as path:
        whole = uninterrupted(some_seed(trial))
        trial.call(save, path, whole.run_to(done))
        trial.true(path.is_file(), "save_run left no file at path.", expected="a file at path")
        run, before = whole.fresh(some_seed(trial), done)
        trial.call(resume, path, run)
        message = whole.fault(run, done, before)
    trial.true(
        not message,
        "After resume_run the run does not stand where the saved run stood, or does not go on as it does.",
        expected="each part of the run as in the uninterrupted one, there and later, to the last bit",
        got=described(message),
        observed=without_numbers(message),
    )


def spare_a_process(answer: Any, trial: Trial) -> None:
    """Ends a property early for an answer that is wrong without any other process.

    An answer that is judged has passed this already. All known mistakes that it is compared with have not,
    and a process for each would make the learner wait.
    """
    after_one_interruption(answer, trial, MIDDLE)
    after_one_interruption(answer, trial, EPOCH)


@save_run.property("resume_run leaves the file as it is", asks="It stays as it is.", changes=RNG)
def keeps_the_file(answer: Any, trial: Trial) -> None:
    save, resume = answer
    trial.given(f"the file of a run that is saved {place(MIDDLE)}, before and after resume_run")
    with a_file() as path:
        trial.call(save, path, uninterrupted(some_seed(trial)).run_to(MIDDLE))
        before = digest_of(path)
        trial.call(resume, path, new_run(some_seed(trial)))
        after = digest_of(path)
    trial.true(
        after == before,
        "resume_run " + ("changed" if after else "removed") + " the file: a second crash may need it again.",
        expected="the same file at path",
        got="other bytes" if after else "no file at path",
        observed="changed" if after else "removed",
    )


@save_run.property(
    "every generator of the run is put back",
    asks="Each generator in `run.generators` is put back, whatever its name.",
    changes=RNG,
)
def all_generators(answer: Any, trial: Trial) -> None:
    save, resume = answer
    # As other parts of a file may be called, and with a dot.
    names = ("torch", "model", "epoch", "numpy", "random", "state", "mix.up")
    trial.given(f"a run with more generators, {', '.join(names)}, in run.generators")

    def with_more(run: Run) -> Run:
        more = {name: torch.Generator().manual_seed(some_seed(trial)) for name in names}
        run.generators = run.generators | more
        return run

    with a_file() as path:
        run = with_more(uninterrupted(some_seed(trial)).run_to(MIDDLE))
        for name in names:
            torch.rand(7, generator=run.generators[name])
        before = {name: generator.get_state() for name, generator in run.generators.items()}
        trial.call(save, path, run)
        moved = [
            name for name, state in before.items() if not torch.equal(state, run.generators[name].get_state())
        ]
        trial.true(
            not moved,
            f"save_run moved {', '.join(moved)} in run.generators: the run no longer goes on as if it had not been saved.",
            expected="the generators of the run as they were before the save",
            got=f"in a different state: {', '.join(moved)}",
            observed="moved by the save",
        )
        other = with_more(new_run(some_seed(trial)))
        trial.call(resume, path, other)
    wrong = [
        name
        for name, generator in run.generators.items()
        if name not in other.generators
        or not torch.equal(other.generators[name].get_state(), generator.get_state())
    ]
    trial.true(
        not wrong,
        f"After resume_run these generators are in a different state from the saved one: {', '.join(wrong)}.",
        expected=f"all of {', '.join(run.generators)} as they were saved",
        got=f"right: {', '.join(name for name in run.generators if name not in wrong) or 'none'}",
        observed=sorted(wrong),
    )


@save_run.property(
    "at every batch of two epochs, in a process that never saw the run",
    asks=(
        "Write all that the next batch of `run` depends on to a file for `resume_run`.",
        "One file holds everything: a process that never saw the run resumes from it alone.",
    ),
    changes=RNG,
)
def in_a_fresh_process(answer: Any, trial: Trial) -> None:
    spare_a_process(answer, trial)
    save, resume = answer
    other = some_seed(trial)

    def faults(paths: list[Path]) -> list[list[str]]:
        return [resumed(resume, file, other + done, whole, done) for done, file in enumerate(paths)]

    with a_file() as path:
        whole = uninterrupted(some_seed(trial))
        with elsewhere(faults) as fresh:
            paths = [path.with_name(f"after_{done}.pt") for done in range(2 * EPOCH + 1)]
            run = new_run(whole.seed)
            for done, file in enumerate(paths):
                trial.given(f"a run that is saved {place(done)}")
                trial.call(save, file, run)
                run.step()
            found = fresh([alone(file) for file in paths])
    trial.true(isinstance(found, list), "The process in which the run was resumed died.", got=str(found))
    for done, description in enumerate(found):
        trial.given(f"a run that is saved {place(done)}, and resumed in a new process")
        trial.true(
            not description,
            "In the new process the run does not stand where the saved run stood, or does not go on as it does.",
            expected="a run that goes on as if nothing had interrupted it, with nothing but the file",
            got=described(description),
            observed=[without_numbers(texts) for texts in found],
        )


def alone(file: Path) -> Path:
    """The file, moved to a folder where nothing else is: what was written beside it stays behind."""
    folder = file.with_suffix("")
    if not file.exists() or folder.exists():
        return file
    folder.mkdir()
    return file.rename(folder / file.name)


def resumed(
    resume: Callable[[Path, Run], Any], path: Path, seed: int, whole: Uninterrupted, done: int
) -> list[str]:
    """What is wrong with a new run of this seed after `resume(path, run)`."""
    run, before = whole.fresh(seed, done)
    try:
        resume(path, run)
    except OSError as error:  # its text holds the name of the file
        return [f"resume_run raised {type(error).__name__}"]
    except Exception as error:
        return [f"resume_run raised {type(error).__name__}: {error}"[:200]]
    return whole.fault(run, done, before)


@contextmanager
def elsewhere(work: Callable[[Any], Any]) -> Iterator[Callable[[Any], Any]]:
    """`work`, done in a process that is forked now; in this one where that cannot be."""
    if not can_fork():
        yield work
        return
    with Fork(work) as fork:
        yield fork.ask


@save_run.property(
    "a run that was resumed can be saved and resumed again",
    asks="That also holds between two epochs, and after several restarts.",
    changes=RNG,
)
def again_and_again(answer: Any, trial: Trial) -> None:
    save, resume = answer
    with a_file() as path:
        whole = uninterrupted(some_seed(trial))
        run, known = whole.run_to(MIDDLE), ""
        for done in range(MIDDLE, 2 * EPOCH + 2):
            restarts = done - MIDDLE + 1
            trial.given(
                f"a run saved {place(MIDDLE)}, resumed, one batch trained, saved again, and so on; "
                f"restart {restarts}, {place(done)}"
            )
            trial.call(save, path, run)
            run = new_run(some_seed(trial))
            try:
                trial.call(resume, path, run)
            except Exception as error:
                if restarts == 1:
                    raise
                trial.fail(
                    f"The resume_run of restart {restarts} raised {type(error).__name__}. {known}",
                    expected="a resumed run that holds all that a run holds",
                    got=f"{type(error).__name__}: {error}"[:200],
                    observed=(type(error).__name__, known),
                )
            was = "set" if run.epoch_start is not None else "None"
            known = f"After the one before it run.epoch_start was {was}."
            if done < 2 * EPOCH + 1:
                run.step()
        message = whole.fault(run, 2 * EPOCH + 1)
    trial.true(
        not message,
        f"After {restarts} restarts the run is not as the uninterrupted one. A resumed run did not carry all that the next "
        "save needs.",
        expected="a resumed run that holds all that a run holds, run.epoch_start and run.batch included",
        got=described(message),
        observed=without_numbers(message),
    )


# What makes code of data. torch.load needs none of them with weights_only=True, and Unpickler.load without.
RUNNERS = (pickle.load, pickle.loads, pickle.Unpickler.load, pickle._Unpickler.load, eval, exec)


class RunsCode:
    """Makes a file when it is unpickled: what a file from a stranger could do."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.path), "w")


@save_run.property(
    "the file is data: weights_only=True loads it, and no code in a file is run",
    asks=(
        "`torch.load(path, weights_only=True)` reads the file: tensors and plain Python values only.",
        "No code that a file may hold is run: no pickle, no eval.",
    ),
    changes=RNG,
)
def only_data(answer: Any, trial: Trial) -> None:
    save, resume = answer
    with a_file() as path:
        whole = uninterrupted(some_seed(trial))
        trial.given("torch.load(path, weights_only=True)")
        trial.call(save, path, whole.run_to(MIDDLE))
        if refused := refusal(path):
            trial.fail(
                f"The file holds more than tensors and plain Python values: {refused}",
                expected="tensors, numbers, strings, lists, tuples and dicts",
                got="a file that torch.load(path, weights_only=True) refuses",
                observed=refused,
            )
        trial.given("resume_run on the file that save_run wrote")
        copy = shutil.copytree(path.parent, path.parent.with_name("copy"))
        trial.call(
            resume, copy / path.name, new_run(1)
        )  # once before: an import that it needs executes a module
        with calls_to(*RUNNERS) as seen:
            resume(path, new_run(1))
        trial.true(
            not seen,
            f"resume_run calls {', '.join(map(_whole, sorted(set(seen))))} on what the file holds. Whoever writes such a file can run anything.",
            expected="no pickle and no eval: tensors and plain Python values need neither",
            got=", ".join(sorted(set(seen))),
            observed=("runners", sorted({_whole(name).removesuffix("s") for name in seen})),
        )
        trial.given("a file, not made by save_run, with code in it")
        ran = path.with_name("the_code_ran")
        torch.save({"model": RunsCode(ran)}, path)
        try:
            resume(path, new_run(1))
        except Exception:
            pass  # refused, as it should be
        trial.true(
            not ran.exists(),
            "resume_run ran the code that a file held. Whoever can give you a checkpoint can then run anything.",
            expected="torch.load(path, weights_only=True), which refuses such a file",
            got="the code in the file has run",
            observed="code ran",
        )


def _whole(name: str) -> str:
    """pickle's functions with their module's name."""
    return name if name in ("eval", "exec") else f"pickle.{name.removeprefix('_')}"


def refusal(path: Path) -> str:
    """What torch.load says against a file, shortly; "" if it loads, with no class allowed in addition."""
    allowed = torch.serialization.get_safe_globals()
    torch.serialization.clear_safe_globals()
    try:
        torch.load(path, weights_only=True)
    except Exception as error:
        text = str(error)
        line = next((line.strip() for line in text.splitlines() if "GLOBAL" in line), text[:200])
        return line.partition(". Please")[0][
            :200
        ]  # what follows tells how to allow it, which a file from a stranger forbids
    finally:
        torch.serialization.add_safe_globals(allowed)
    return ""


@save_run.property(
    "a kill in the middle of a save leaves the older file",
    asks=(ONE_STEP, "What a killed save has left behind does not stop the next one."),
    changes=RNG,
)
def atomic(answer: Any, trial: Trial) -> None:
    if not can_fork():  # a process that may be killed is needed
        return
    spare_a_process(answer, trial)
    save, resume = answer
    trial.given("a save over an older file; the process is killed when half of the new file is written")
    with a_file() as path:
        whole = uninterrupted(some_seed(trial))
        with Fork(Saver(save, path, whole.run_to(1))) as fork:
            saved = fork.ask("save")
            killed = fork.ask("be killed") == ("died",)
        trial.true(saved[0] == "saved", f"In a new process save_run failed: {saved[-1]}.")
        _, digest, broken = saved
        trial.true(
            broken in ("", IN_PLACE),
            f"save_run {broken}: for a moment there is no file at path, and a kill then loses the run.",
            expected="a new file beside path, which takes its place in one step",
            got=f"save_run {broken}",
            observed=broken,
        )
        trial.true(
            not broken and digest_of(path) == digest,
            "The file at path is written in place: a kill on the way leaves half a file, and the older one is lost.",
            expected="a new file beside path, which takes its place in one step",
            got="a file at path that is not the older one",
            observed="in place",
        )
        trial.true(
            not killed or len(os.listdir(path.parent)) > 1,
            "The new file is written in a different folder. Where that is another disk, os.replace raises OSError, "
            "and a copy is not one step.",
            expected="a second name in the folder of path",
            observed="a different folder",
        )
        trial.given("resume_run after the save that was killed, with what it has left behind beside path")
        run, before = whole.fresh(some_seed(trial), 2)
        try:
            trial.call(resume, path, run)
            message = whole.fault(run, 2, before)
        except Exception as error:
            message = [f"resume_run raised {type(error).__name__}"]
        trial.true(
            not message,
            f"After a save that was killed, resumed from the older file: {described(message)}.",
            expected="the run as the older file, at path, holds it",
            got=described(message),
            observed=("left-over read", without_numbers(message)),
        )
        for left in path.parent.iterdir():  # a longer file than the next one
            if left != path and left.is_file():
                with left.open("ab") as file:
                    file.write(bytes(1 << 20))
        trial.given("one more save, after the one that was killed")
        try:
            trial.call(save, path, whole.run_to(MIDDLE))
        except Exception as error:
            trial.fail(
                f"After a killed save the next one raised {type(error).__name__}: what the killed one has left is in its way.",
                expected="a save that writes over what a killed one has left",
                got=f"{type(error).__name__}: {getattr(error, 'strerror', None) or error}"[:200],
                observed="the next save raises",
            )
        run = new_run(1)
        trial.call(resume, path, run)
        message = whole.fault(run, MIDDLE)
        trial.true(
            not message,
            f"After a killed save, the next save and resume: {described(message)}.",
            observed=without_numbers(message),
        )
