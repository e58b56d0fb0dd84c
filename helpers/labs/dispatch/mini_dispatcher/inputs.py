"""What 12.mini_dispatcher is tried on: arguments with keys, and kernels that note that they ran."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from helpers.check.trial import Trial
from helpers.notebook.stubs import missing_exercise

# Neither sorted nor sorted backwards, and no name within a different one.
PRIORITY = ["python", "autograd", "batch", "sparse", "cpu"]
MOST = 30  # kernels in one call: more run in a circle


class Thing:
    """An argument with keys."""

    def __init__(self, name: str, *keys: str) -> None:
        self.name, self.keys = name, keys

    def __repr__(self) -> str:
        return self.name


def keys_of(*args: Any) -> list[str]:
    """The keys of all things among the arguments, in the order in which they come."""
    return [key for each in args if isinstance(each, Thing) for key in each.keys]


class Empty:
    """A kernel that is false: an object that can be called, and has the length 0."""

    def __init__(self, kernel: Callable[..., Any]) -> None:
        self.kernel = kernel

    def __len__(self) -> int:
        return 0

    def __call__(self, *args: Any) -> Any:
        return self.kernel(*args)


class InACircle(BaseException):
    """Kernels run without an end. No Exception, so that no answer catches it."""


class Bench:
    """A dispatcher of the answer, and a log of the kernels that ran.

    dispatcher: the answer's object. ran: of each kernel that ran, what it is called and its arguments.
    """

    def __init__(
        self,
        answer: Any,
        trial: Trial,
        priority: list[str] = PRIORITY,
        keys: Callable[..., Iterable[str]] = keys_of,
    ) -> None:
        self.trial = trial
        self.dispatcher = trial.call(answer, list(priority), keys)
        self.ran: list[tuple[str, tuple[Any, ...]]] = []

    @property
    def passing(self) -> Any:
        """PASS as a learner's code gets it: from the class."""
        kind = type(self.dispatcher)
        if not hasattr(kind, "PASS"):
            self.trial.fail(
                "There is no `MiniDispatcher.PASS`: the class has no such attribute.",
                expected="a PASS of the class, as it was given",
                observed=("no PASS",),
            )
        return kind.PASS

    def kernel(self, name: str, then: Callable[..., Any] | None = None) -> Callable[..., Any]:
        """A kernel that notes that it ran, and gives what `then` gives for its arguments."""

        def kernel(*args: Any) -> Any:
            if len(self.ran) >= MOST:
                raise InACircle
            self.ran.append((name, args))
            return made_by(name) if then is None else then(*args)

        return kernel

    def register(self, op: str, *keys: str, then: Callable[..., Any] | None = None) -> None:
        """Kernels of an operator, each called by key and operator: "cpu of add"."""
        for key in keys:
            self.dispatcher.register(op, key, self.kernel(f"{key} of {op}", then))

    def expect(
        self,
        words: str,
        run: Callable[[], Any],
        want: list[str],
        lesson: str,
        *,
        result: Any = ...,
    ) -> None:
        """Wrong unless `run()` runs these kernels, in this order, and returns what the last of them made."""
        got, raised = self._outcome(run)
        names = [name for name, _ in self.ran]
        if raised == "in a circle":
            self._fail(
                words, want, names[:8], "kernels run in a circle", f"Kernels run without an end. {lesson}"
            )
        if raised:
            of_it = "" if raised == "ValueError" else f" {lesson}"  # no lesson is about an unknown key
            self._fail(words, want, names, raised, f"{raised} was raised{_after(names)}.{of_it}")
        if names != want:
            self._fail(words, want, names, "others", f"{_sentence(names)} {lesson}")
        result = made_by(want[-1]) if result is ... else result
        if not (got is result or isinstance(result, str) and isinstance(got, str) and got == result):
            self.trial.fail(
                f"`{words}` does not return what the kernel returned.",
                expected=result,
                got=got if got is None or isinstance(got, str) else type(got).__name__,
                observed=(
                    "result",
                    words,
                    got if got is None or isinstance(got, str) else type(got).__name__,
                ),
            )

    def _outcome(self, run: Callable[[], Any]) -> tuple[Any, str]:
        self.ran.clear()
        try:
            return run(), ""
        except (NotImplementedError, KeyError, ValueError) as error:
            if missing_exercise(error):
                raise
            return None, name_of(error)
        except InACircle:
            return None, "in a circle"

    def _fail(self, words: str, want: list[str], names: list[str], what: str, message: str) -> NoReturn:
        self.trial.fail(
            f"`{words}`: {message}",
            expected=listed(want),
            got=listed(names) if what in ("others", "kernels run in a circle") else what,
            observed=(words, what, names),
        )

    def expect_none(self, words: str, run: Callable[[], Any], lesson: str) -> BaseException:
        """Wrong unless `run()` raises NotImplementedError, and no kernel runs. Returns the error."""
        self.ran.clear()
        try:
            run()
            raised = ""
        except NotImplementedError as error:
            if missing_exercise(error):
                raise
            if not self.ran:
                return error
            raised = "NotImplementedError"
        except InACircle:
            raised = "in a circle"
        except (LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            raised = type(error).__name__
        names = [name for name, _ in self.ran][:8]
        seen = (_sentence(names) if names else "") + (f" {raised} was raised." if raised else "")
        self.trial.fail(
            f"`{words}`: {seen.strip() or 'No kernel ran, and no error was raised.'} {lesson}",
            expected="NotImplementedError, and no kernel",
            got=", ".join(filter(None, [raised, listed(names) if names else ""])) or "no error",
            observed=(words, raised, names),
        )


def counting(bench: Bench, where: str, keys: str, lesson: str) -> None:
    """Wrong unless these keys, and no others, count now. keys: by their first letters, "asc"."""
    for key in PRIORITY:
        words = f'call("all", x) {where}, x with {key} only'
        one = Thing("x", key)
        if key[0] in keys:
            bench.expect(words, lambda one=one: bench.dispatcher.call("all", one), [f"{key} of all"], lesson)
        else:
            bench.expect_none(
                words, lambda one=one: bench.dispatcher.call("all", one), f"{key} is excluded here."
            )


def made_by(name: str) -> str:
    return f"made by {name}"


def name_of(error: BaseException) -> str:
    """The name of an error's class; of a subclass of those that are asked for, the name of these."""
    return next(
        (kind.__name__ for kind in (NotImplementedError, ValueError, KeyError) if isinstance(error, kind)),
        type(error).__name__,
    )


def listed(names: list[str]) -> str:
    """ "cpu of add, then batch of add" """
    return ", then ".join(names) if names else "no kernel"


def _sentence(names: list[str]) -> str:
    if not names:
        return "No kernel ran."
    return f"{listed(names)} ran." if len(names) < 8 else f"{listed(names[:8])} and more ran."


def _after(names: list[str]) -> str:
    return f" after {listed(names)}" if names else ""


def in_thread(trial: Trial, words: str, run: Callable[[], None]) -> None:
    """Runs something in a second thread to its end. Its error comes out here."""
    errors: list[BaseException] = []

    def body() -> None:
        try:
            run()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=body, name=threading.current_thread().name, daemon=True)
    thread.start()
    thread.join()
    come_out(trial, words, errors)


def come_out(trial: Trial, words: str, errors: list[BaseException]) -> None:
    """The error of a thread: what a learner should read of it, or the error itself."""
    for error in errors:
        if isinstance(error, AttributeError | LookupError) and not missing_exercise(error):
            trial.fail(
                f"{words}: {type(error).__name__} was raised there, {error}. What one thread has set in a "
                "threading.local or a ContextVar, in __init__ for example, is not there in a different thread.",
                expected="the same as in the first thread",
                got=f"{type(error).__name__}: {error}",
                observed=(words, type(error).__name__),
            )
        raise error
