"""Steps of the parallel loaders about errors: raised in a worker, in its hook, and workers that die."""

from __future__ import annotations

import os
import queue
import signal
import time
from typing import Any

from helpers.check.trial import Trial
from helpers.labs.dataloader.shared.loaders import Steps
from helpers.labs.dataloader.shared.processes import ended
from helpers.labs.dataloader.shared.run import Loading, Samples, text_of

RAISED = "an error of a sample is raised in the training loop, at its place in the order"
TRACE = "the error has its type, and the worker's traceback"
OWN = "an error of a class of your own keeps its class"
ITSELF = "a batch that is an exception is a batch"
COLLATE = "an error in collate_fn, in the last batch"
HOOK = "an error in worker_init_fn"
AWKWARD = "an error that cannot be made from a text"
STOP = "StopIteration in a sample is an error, not the end of the epoch"
KILLED = "a worker that is killed is noticed"
EXITED = "a worker that ends by itself is noticed, whatever its exit code"
SURVIVES = "a worker that has raised an error is not taken for dead before the error's turn"
PATIENT = "a slow sample of a worker that lives is waited for"

_broken: dict[tuple[int, int], tuple[list[Any], str, str, list[int]]] = {}
_slowed: dict[tuple[int, int], tuple[list[Any], str, str, bool]] = {}


class Corrupt(Exception):
    """An error that needs two arguments, as those of many libraries do."""

    def __init__(self, file: str, offset: int) -> None:
        super().__init__(f"{file} is corrupt at byte {offset}")
        self.file, self.offset = file, offset


class Refused(Exception):
    """An error that is made from a number, and makes a text of it."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the server said {int(status)}")


def decode_sample(samples: Samples, index: Any) -> Any:
    """Stands for the learner's own code: its name must be in the traceback."""
    samples.log.note("raised", index)
    raise ValueError(f"sample {index} is corrupt")


def _slow_one(samples: Samples, index: Any) -> Any:
    samples.log.wait(lambda events: ["raised", 2] in events)
    samples.log.quiet()
    return index


def broken(answer: Any, trial: Trial) -> tuple[list[Any], str, str, list[int]]:
    """A run in which sample 2 raises while batch 1 is still loaded: what came, the error's kind and text, who read it."""
    key = id(answer), trial.seed
    message = (
        "5 batches of one sample, two workers; sample 2 raises ValueError while batch 1 is still being loaded"
    )
    trial.given(message)
    if key not in _broken:
        acts = {1: _slow_one, 2: decode_sample}
        with Loading(trial, answer, message, [[k] for k in range(5)], acts=acts) as loading:
            error = loading.error()
            kind, text = ("", "") if error is None else (type(error).__name__, text_of(error))
            readers = [event[2] for event in loading.log.events("load") if event[1] == 2]
            _broken[key] = loading.received, kind, text, readers
    return _broken[key]


def last_line(text: str) -> str:
    """What a traceback ends with; the paths before it say nothing to a learner."""
    return text.strip().splitlines()[-1][:160] if text.strip() else ""


def raised(answer: Any, trial: Trial) -> None:
    received, kind, text, readers = broken(answer, trial)
    strange = [batch for batch in received if type(batch) is not list]
    trial.true(
        not strange,
        "The error is handed to the training loop as if it were a batch: nobody will look.",
        expected="[0], [1], then ValueError",
        got=f"batches of type {', '.join(type(batch).__name__ for batch in received)}",
        observed="error as a batch",
    )
    trial.true(
        kind != "",
        "A sample raised ValueError, and the training loop never heard of it.",
        expected="[0], [1], then ValueError",
        got=f"{received}, then the end of the epoch",
        observed=("swallowed", received),
    )
    trial.true(
        received == [[0], [1]],
        "The error comes "
        + ("before" if len(received) < 2 else "after")
        + " its turn: it belongs to batch 2.",
        expected="[0], [1], then ValueError",
        got=f"{received}, then {kind}",
        observed=("place", "early" if len(received) < 2 else received),
    )
    again = readers[1:]
    where = (
        "in the training loop's process"
        if os.getpid() in again
        else "in the same worker"
        if set(again) <= {*readers[:1]}
        else "in a different worker"
    )
    trial.true(
        not again,
        f"Sample 2 raised ValueError and was read once more, {where}.",
        expected="one read of each sample",
        got=f"{len(readers)} reads of sample 2",
        observed="read again",
    )


def trace(answer: Any, trial: Trial) -> None:
    _, kind, text, _ = broken(answer, trial)
    known = "decode_sample" in text, "sample 2 is corrupt" in text
    trial.true(
        kind == "ValueError",
        f"The sample raised ValueError, and the training loop got {kind}: `except ValueError` around it catches nothing.",
        expected="ValueError",
        got=f"{kind}, whose text ends: {last_line(text)}",
        observed=("kind", kind, known),
    )
    _see_trace(trial, text, "decode_sample", "sample 2 is corrupt")


def _see_trace(trial: Trial, text: str, function: str, message: str) -> None:
    trial.true(
        function in text,
        "The error does not tell where in the worker it was raised: a traceback does not travel with an exception.",
        expected=f"the worker's traceback as text, with the name of the function that raised ({function})",
        got=last_line(text),
        observed=("no traceback", message in text),
    )
    trial.true(
        message in text,
        "The error's own message is lost.",
        expected=message,
        got=last_line(text),
        observed="no message",
    )


def stack_samples(samples: list) -> Any:
    """A collate_fn that cannot stack everything."""
    if samples == [2]:
        raise KeyError("cannot stack 2")
    return samples


def collate(answer: Any, trial: Trial) -> None:
    message = "3 batches, two workers; collate_fn raises KeyError for the last batch"
    with Loading(trial, answer, message, [[k] for k in range(3)], collate_fn=stack_samples) as loading:
        error = loading.error()
        received = loading.received
        _see(trial, error, KeyError, received, [[0], [1]], "collate")
        _see_trace(trial, text_of(error), "stack_samples", "cannot stack 2")


def _see(trial: Trial, error: Any, wanted: type, received: list, want: list, where: str) -> None:
    trial.true(
        error is not None,
        f"{wanted.__name__} was raised in a worker, and the epoch ended as if all were well.",
        expected=f"{want}, then {wanted.__name__}",
        got=f"{received}, then the end of the epoch",
        observed=("swallowed", where, received),
    )
    trial.true(
        type(error) is wanted,
        f"{wanted.__name__} was raised in a worker, and the training loop got {type(error).__name__}.",
        expected=wanted.__name__,
        got=f"{type(error).__name__}: {error}"[:300],
        observed=("kind", where, type(error).__name__),
    )
    trial.true(
        received == want,
        f"{wanted.__name__} was not raised at its place in the order.",
        expected=f"{want}, then {wanted.__name__}",
        got=f"{received}, then {type(error).__name__}",
        observed=("place", where, len(received)),
    )


def open_shard(worker_id: int) -> None:
    """A worker_init_fn that fails in worker 1."""
    if worker_id == 1:
        raise LookupError(f"no shard for worker {worker_id}")


def hook(answer: Any, trial: Trial) -> None:
    message = "4 batches, two workers; worker_init_fn raises LookupError in worker 1"
    with Loading(trial, answer, message, [[k] for k in range(4)], worker_init_fn=open_shard) as loading:
        error = loading.error()
        want = [[0]] if loading.received else []  # before the first batch will do
        alone = len({load[2] for load in loading.log.events("load")}) < 2
        where = "hook, and one worker loads all" if error is None and alone else "hook"
        _see(trial, error, LookupError, loading.received, want, where)
        _see_trace(trial, text_of(error), "open_shard", "no shard for worker 1")
    message = (
        "4 batches, two workers; worker_init_fn raises LookupError in worker 1, and so its samples, which need what it has not "
        "opened, would raise AttributeError"
    )
    acts = {1: _no_file, 3: _no_file}
    batches = [[k] for k in range(4)]
    with Loading(trial, answer, message, batches, acts=acts, worker_init_fn=open_shard) as loading:
        error = loading.error()
        want = [[0]] if loading.received else []
        _see(trial, error, LookupError, loading.received, want, "hook, and what needs it")


def _no_file(samples: Samples, index: Any) -> Any:
    """A sample of a worker whose worker_init_fn has opened nothing."""
    raise AttributeError("no shard is open")


class ShardError(Exception):
    """An error of a library: no built-in type, made from one text."""


def _no_shard(samples: Samples, index: Any) -> Any:
    raise ShardError("shard 7 is missing")


def own(answer: Any, trial: Trial) -> None:
    message = "3 batches, one worker; sample 1 raises an exception of a class of the dataset's module, made from one text"
    with Loading(
        trial, answer, message, [[k] for k in range(3)], acts={1: _no_shard}, num_workers=1
    ) as loading:
        error = loading.error()
        _see(trial, error, ShardError, loading.received, [[0]], "own")
        _see_trace(trial, text_of(error), "_no_shard", "shard 7 is missing")


def first_problem(samples: list) -> Any:
    """A collate_fn whose batches are what went wrong elsewhere, or a pair that looks like it."""
    return ValueError("a note") if samples == [1] else (KeyError, "a note") if samples == [2] else samples


def itself(answer: Any, trial: Trial) -> None:
    message = "4 batches, two workers; batch 1 is a ValueError, batch 2 a pair of a class and a text: nothing is raised"
    with Loading(trial, answer, message, [[k] for k in range(4)], collate_fn=first_problem) as loading:
        error = loading.error()
        trial.true(
            error is None,
            "A batch that collate_fn has returned was raised. It may be anything: what tells that something went wrong "
            "must not be the type of the batch.",
            expected="[0], ValueError('a note'), (KeyError, 'a note'), [3]: four batches",
            got=f"{loading.received}, then {type(error).__name__} was raised: {error}"[:300],
            observed=("itself", len(loading.received)),
        )
        kinds = [type(batch).__name__ for batch in loading.received]
        trial.true(
            kinds == ["list", "ValueError", "tuple", "list"],
            "The batches are not what collate_fn has returned.",
            expected="[0], ValueError('a note'), (KeyError, 'a note'), [3]",
            got=str(loading.received)[:300],
            observed=("itself", kinds),
        )


def _corrupt(samples: Samples, index: Any) -> Any:
    raise Corrupt("train.tar", 512)


def _refused(samples: Samples, index: Any) -> Any:
    raise Refused(503)


def awkward(answer: Any, trial: Trial) -> None:
    _awkward(answer, trial, Corrupt, _corrupt, "train.tar", "takes two arguments")
    _awkward(answer, trial, Refused, _refused, "503", "takes a number: made from a text it raises ValueError")


def _awkward(answer: Any, trial: Trial, wanted: type, act: Any, words: str, takes: str) -> None:
    message = f"3 batches, one worker; sample 1 raises {wanted.__name__}, whose class {takes}"
    with Loading(trial, answer, message, [[k] for k in range(3)], acts={1: act}, num_workers=1) as loading:
        error = loading.error()
        text = "" if error is None else text_of(error)
        kind = type(error).__name__
        trial.true(
            isinstance(error, (wanted, RuntimeError)),
            f"{wanted.__name__} cannot be made from a text, and the worker's error is lost: the training loop got "
            + ("no error." if error is None else f"{kind}."),
            expected=f"RuntimeError with the worker's traceback, or {wanted.__name__} itself",
            got=last_line(text) or str(loading.received),
            observed=("awkward", wanted.__name__, kind, _unpickled(error)),
        )
        trial.true(
            act.__name__ in text and words in text,
            f"{kind} came for {wanted.__name__}, and it does not show the worker's traceback.",
            expected=f"the worker's traceback, with the name of the function that raised ({act.__name__})",
            got=last_line(text),
            observed=("awkward", "no traceback", words in text),
        )


def _unpickled(error: BaseException | None) -> bool:
    """Whether it was raised while something was taken from a queue or a pipe."""
    place = None if error is None else error.__traceback__
    while place is not None:
        if "multiprocessing" in place.tb_frame.f_code.co_filename:
            return True
        place = place.tb_next
    return False


def _exhausted(samples: Samples, index: Any) -> Any:
    return next(iter([]))


def stop(answer: Any, trial: Trial) -> None:
    message = "4 batches of two samples, two workers; sample 5 raises StopIteration, as next() on an empty stream does"
    batches = [[k, k + 1] for k in range(0, 8, 2)]
    with Loading(trial, answer, message, batches, acts={5: _exhausted}) as loading:
        error = loading.error()
        short = [batch for batch in loading.received if type(batch) is list and len(batch) < 2]
        trial.true(
            error is not None,
            "StopIteration from a sample ended "
            + ("its batch early" if short else "the epoch")
            + ", and nobody was told.",
            expected="an error, such as RuntimeError with the worker's traceback",
            got=f"{loading.received}, then the end",
            observed=("stop", bool(short), len(loading.received)),
        )
        trial.true(
            "_exhausted" in text_of(error),
            "The error does not tell where in the worker it was raised.",
            expected="the worker's traceback",
            got=last_line(text_of(error)),
            observed=("stop", type(error).__name__),
        )


def _killed(samples: Samples, index: Any) -> Any:
    samples.log.wait(lambda events: ["got", 0] in events)
    os.kill(os.getpid(), signal.SIGKILL)


def _left(samples: Samples, index: Any) -> Any:
    os._exit(0)


def killed(answer: Any, trial: Trial) -> None:
    message = "8 batches, two workers; worker 0 is killed (as by a lack of memory) while it loads sample 2"
    _dead(answer, trial, message, {2: _killed}, "killed")


def exited(answer: Any, trial: Trial) -> None:
    message = "8 batches, two workers; the first sample of worker 1 ends its process with exit code 0"
    _dead(answer, trial, message, {1: _left}, "exited")


def _dead(answer: Any, trial: Trial, description: str, acts: dict, how: str) -> None:
    with Loading(trial, answer, description, [[k] for k in range(8)], acts=acts, patience=16) as loading:
        loading.wanted = "RuntimeError within a second or so, which says that a worker died"
        error = loading.error()
        trial.true(
            error is not None,
            "A worker died, its batches are missing, and the epoch ended as if all were well.",
            expected="RuntimeError",
            got=f"{loading.received}, then the end of the epoch",
            observed=("dead", how, "unnoticed"),
        )
        trial.true(
            isinstance(error, RuntimeError),
            f"A worker died, and the training loop got {type(error).__name__}.",
            expected="RuntimeError, which says that a worker died",
            got=f"{type(error).__name__}: {error}"[:300],
            observed=("dead", how, "Empty" if isinstance(error, queue.Empty) else "a different error"),
        )


SLOW = 2.9  # s: the docstring promises that a sample may take 3


def _takes_its_time(samples: Samples, index: Any) -> Any:
    """Takes SLOW or a little more, and notes whether the worker that has raised meanwhile ends soon."""
    end = time.monotonic() + SLOW
    samples.log.wait(lambda events: ["raised", 2] in events or time.monotonic() > end)
    other = next((event[2] for event in samples.log.events("load") if event[1] == 2), None)
    for _ in range(30):  # 0.6 s: sooner than most loaders that give up on a slow sample end their workers
        if other is not None and ended(other):
            samples.log.note("gone")
            end += 0.6  # the loop looks at its workers now and then, on a busy machine later than that
            break
        time.sleep(0.02)
    time.sleep(max(0.0, end - time.monotonic()))
    return index


def _missing(samples: Samples, index: Any) -> Any:
    samples.log.note("raised", index)
    raise FileNotFoundError("no file train.tar")


def _slow_beside_an_error(answer: Any, trial: Trial) -> tuple[list[Any], str, str, bool]:
    """Batches, kind and words of what came then, and whether worker 0 had ended and its error was lost by that."""
    key = id(answer), trial.seed
    message = (
        f"4 batches, two workers; sample 1 takes {SLOW} seconds; meanwhile sample 2, in the other worker, raises "
        "FileNotFoundError"
    )
    trial.given(message)
    if key not in _slowed:
        acts = {1: _takes_its_time, 2: _missing}
        with Loading(trial, answer, message, [[k] for k in range(4)], acts=acts, patience=50) as loading:
            error = loading.error()
            kind = "" if error is None else type(error).__name__
            words = "the end of the epoch" if error is None else f"{kind}: {error}"
            itself = kind == "FileNotFoundError" or "no file train.tar" in text_of(error)
            lost = error is not None and not itself and ["gone"] in loading.log.events()
            _slowed[key] = loading.received, kind, last_line(words), lost
    return _slowed[key]


def survives(answer: Any, trial: Trial) -> None:
    received, kind, words, lost = _slow_beside_an_error(answer, trial)
    trial.true(
        not lost,
        "The worker in which sample 2 raised has ended, and its error did not come in its turn.",
        expected="[0], [1], then FileNotFoundError",
        got=f"{received}, then {words}",
        observed=(
            "ended after its error",
            kind,
            "in its turn" if received == [[0], [1]] else "before its turn",
        ),
    )


def patient(answer: Any, trial: Trial) -> None:
    received, kind, words, _ = _slow_beside_an_error(answer, trial)
    trial.true(
        received == [[0], [1]],
        "A sample took its time, and its batch did not come, though the worker was alive.",
        expected="[0], [1], then FileNotFoundError: only a worker that is not alive any more is dead",
        got=f"{received}, then {words}",
        observed=("impatient", kind),
    )
    trial.true(
        kind == "FileNotFoundError",
        "A sample raised FileNotFoundError, and it did not come to the training loop as that.",
        expected="[0], [1], then FileNotFoundError",
        got=f"{received}, then {words}",
        observed=("not as itself", kind),
    )


# SURVIVES first: a loop that takes a worker for dead after its error does so in all that follow, if the machine is slow.
ERRORS: Steps = [
    (SURVIVES, survives),
    (RAISED, raised),
    (TRACE, trace),
    (OWN, own),
    (COLLATE, collate),
    (HOOK, hook),
    (AWKWARD, awkward),
    (STOP, stop),
    (ITSELF, itself),
    (KILLED, killed),
    (EXITED, exited),
    (PATIENT, patient),
]
