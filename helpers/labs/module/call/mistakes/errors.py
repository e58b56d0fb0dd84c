"""What people write for 05.call: something raises."""

from __future__ import annotations

from typing import Any

import torch.nn.modules.module as hooks

from helpers.labs.module.call.exercise import call
from helpers.labs.module.call.right import Call, Listed


@call.mistake(
    breaks="the hooks whose id is in `module_py._global_forward_hooks_always_called` or `module._forward_hooks_always_called`, and that have not begun yet, are called once, global before own."
)
class NoAlwaysCall(Call):
    """forward raised, and no hook was called. Hooks with always_call=True must see the error: they stop
    timers and close what was opened.
    """

    def failed(self, error: Exception) -> None:
        pass


@call.mistake(
    breaks="the hooks whose id is in `module_py._global_forward_hooks_always_called` or `module._forward_hooks_always_called`, and that have not begun yet, are called once, global before own."
)
class AllHooksOnError(Call):
    """On an error hooks ran that had not asked for it. Only those with always_call=True do: most hooks cannot use an output of
    None.
    """

    def is_always(self, id: int) -> bool:
        return True


@call.variant(AllHooksOnError)
class _(Call):
    """All of the module's own."""

    def is_always(self, id: int) -> bool:
        return id in self.module._forward_hooks or super().is_always(id)


@call.variant(AllHooksOnError)
class _(Call):
    """All global ones."""

    def is_always(self, id: int) -> bool:
        return id in hooks._global_forward_hooks or super().is_always(id)


@call.mistake(
    breaks="the hooks whose id is in `module_py._global_forward_hooks_always_called` or `module._forward_hooks_always_called`, and that have not begun yet, are called once, global before own."
)
class AlwaysHooksOfTheModuleOnly(Call):
    """On an error only the module's own always_call hooks ran. Global ones exist as well, and come first."""

    def is_always(self, id: int) -> bool:
        return id in self.module._forward_hooks_always_called


@call.mistake(breaks="global before own.")
class OwnBeforeGlobalOnError(Call):
    """On an error the module's own always_call hooks ran before the global ones; the order is the usual one."""

    def failed(self, error: Exception) -> None:
        for id, hook in reversed_places(self):
            if self.is_always(id) and id not in self.ran:
                self.last_call(id, hook)


def reversed_places(self: Call) -> Listed:
    return [*self.module._forward_hooks.items(), *hooks._global_forward_hooks.items()]


@call.variant(OwnBeforeGlobalOnError)
class _(Call):
    """What one of them returns, the next is given."""

    def failed(self, error: Exception) -> None:
        for id, hook in reversed_places(self):
            if self.is_always(id) and id not in self.ran:
                chained(self, id, hook)


def chained(self: Call, id: int, hook: Any) -> None:
    """A call on the way out, whose result becomes the output."""
    try:
        got = self.called(id, hook)
    except Exception as error:
        self.warn(error)
    else:
        self.result = self.result if got is None else got


@call.mistake(breaks="None as output if forward has not ended.")
class OutputUnbound(Call):
    """forward raised, no always_call hook was called, and warnings came in place of the calls. Perhaps the call itself fails,
    since `output` has no value before forward has ended, and its own try takes that error for the hook's.
    """

    def last_call(self, id: int, hook: Any) -> None:
        try:
            if self.result is None:
                raise UnboundLocalError("cannot access local variable 'output'")
            self.called(id, hook)
        except Exception as error:
            self.warn(error)


@call.mistake()
class PreHooksOutsideTheTry(Call):
    """A pre-hook raised, and no always_call hook was called: they must run then as well. Perhaps the try
    begins at forward.
    """

    def whole(self) -> Any:
        self.before()
        self.before = lambda: None
        return super().whole()


@call.mistake()
class OnlyForwardInTheTry(Call):
    """A pre-hook or a hook raised, and always_call hooks that had not run yet were not called. Perhaps hooks stand
    outside the try, they count as run too early, or none runs once one has begun.
    """

    def whole(self) -> Any:
        self.before()
        try:
            self.forward()
        except Exception as error:
            self.failed(error)
            raise
        self.after()
        return self.result


@call.variant(OnlyForwardInTheTry)
class _(Call):
    def whole(self) -> Any:
        try:
            self.before()
            self.forward()
        except Exception as error:
            self.failed(error)
            raise
        self.after()
        return self.result


@call.mistake()
class AlwaysHooksRunTwice(Call):
    """After an error in a hook all always_call hooks ran, also those that had run before it. Keep the ids of
    those that have begun.
    """

    def mark(self, id: int) -> None:
        pass


@call.mistake()
class MarkedAfterTheHook(Call):
    """An always_call hook that raised was called a second time. Note its id before you call it: perhaps it is
    noted when it has returned.
    """

    def post(self, id: int, hook: Any) -> None:
        got = self.called(id, hook)
        self.mark(id)
        if self.is_result(got):
            self.result = got


@call.mistake()
class SecondErrorReplacesTheFirst(Call):
    """An always_call hook raised, and its error came out in place of the first one. The first error is the
    cause: the later ones become warnings.
    """

    def last_call(self, id: int, hook: Any) -> None:
        self.called(id, hook)


@call.mistake()
class SecondErrorEndsTheLoop(Call):
    """After the error of one always_call hook the others did not run. Perhaps the try stands around the whole loop, or the
    loop is left: each hook has its own try, and the next one runs.
    """

    def last_call(self, id: int, hook: Any) -> None:
        self.called(id, hook)

    def failed(self, error: Exception) -> None:
        try:
            super().failed(error)
        except Exception as other:
            self.warn(other)


@call.mistake()
class SecondErrorWithoutAWord(Call):
    """No warning came of the errors of the always_call hooks. Perhaps they were dropped, or printed, where nobody who records
    warnings finds them.
    """

    def warn(self, error: Exception) -> None:
        pass


@call.mistake(breaks="Then the first error is raised again, the same object.")
class ErrorSwallowed(Call):
    """The error was caught and not raised again. Hooks may look on, but whoever called the module must hear
    of it.
    """

    def whole(self) -> Any:
        try:
            return super().whole()
        except Exception:
            return self.result


@call.variant(ErrorSwallowed)
class _(Call):
    def last_call(self, id: int, hook: Any) -> None:
        try:
            got = self.called(id, hook)
            self.result = self.result if got is None else got
        except Exception as error:
            self.warn(error)

    def whole(self) -> Any:
        try:
            return super().whole()
        except Exception:
            return self.result


@call.mistake(breaks="Then the first error is raised again, the same object.")
class AnotherErrorRaised(Call):
    """A different error object came out than the one that was raised. Perhaps a new one was made, of the same type or of a
    different one. The caller may wait for that type, or for what the object carries: a bare `raise` passes it on.
    """

    def whole(self) -> Any:
        try:
            return super().whole()
        except Exception as error:
            raise RuntimeError(f"forward failed: {error}") from error


@call.variant(AnotherErrorRaised)
class _(Call):
    def whole(self) -> Any:
        try:
            return super().whole()
        except Exception as error:
            raise type(error)(*error.args) from None


@call.mistake()
class HooksOnInterrupt(Call):
    """An interrupt (KeyboardInterrupt or its like, as SystemExit) ran the always_call hooks: perhaps by
    finally, a bare except, or except BaseException. Who presses stop wants to stop: only an Exception runs
    them.
    """

    def whole(self) -> Any:
        try:
            self.before()
            self.forward()
            self.after()
        except BaseException as error:
            self.failed(error)
            raise
        return self.result


@call.mistake(breaks="They get args and kwargs as they are by then")
class OldArgumentsOnError(Call):
    """On an error the always_call hooks were given the arguments of the call. They get those that pre-hooks
    have made of them so far.
    """

    def whole(self) -> Any:
        self.first = self.args, self.kwargs
        return super().whole()

    def failed(self, error: Exception) -> None:
        self.args, self.kwargs = self.first
        super().failed(error)


@call.variant(OldArgumentsOnError)
class _(Call):
    def whole(self) -> Any:
        self.first = self.args
        return super().whole()

    def failed(self, error: Exception) -> None:
        self.args = self.first
        super().failed(error)


@call.mistake(breaks="They get args and kwargs as they are by then")
class KwargsLostOnError(Call):
    """On an error an always_call hook with with_kwargs was called without the keyword arguments. Perhaps its
    TypeError became a warning, which hardly anybody reads.
    """

    def last_call(self, id: int, hook: Any) -> None:
        try:
            hook(self.module, self.args, self.result)
        except Exception as error:
            self.warn(error)


@call.mistake(breaks="and None as output if forward has not ended.")
class ErrorAsOutput(Call):
    """The always_call hooks were given the error in place of the output. Without a result they get None."""

    def failed(self, error: Exception) -> None:
        self.result = error if self.result is None else self.result
        super().failed(error)


@call.mistake()
class InterruptBecomesAWarning(Call):
    """An always_call hook was interrupted, and the next one was called all the same: perhaps a bare except,
    or except BaseException, stands around each. Who presses stop wants to stop: catch Exception.
    """

    def last_call(self, id: int, hook: Any) -> None:
        try:
            self.called(id, hook)
        except BaseException as error:
            self.warn(error)  # type: ignore[arg-type]


@call.variant(HooksOnInterrupt)
class _(Call):
    """Only KeyboardInterrupt is left alone."""

    def whole(self) -> Any:
        try:
            self.before()
            self.forward()
            self.after()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.failed(error)  # type: ignore[arg-type]
            raise
        return self.result


@call.variant(OnlyForwardInTheTry)
class _(Call):
    """All ids are marked at the first hook."""

    def mark(self, id: int) -> None:
        self.ran.update(id for id, _ in self.post_hooks())


@call.variant(SecondErrorEndsTheLoop)
class _(Call):
    def failed(self, error: Exception) -> None:
        for id, hook in self.post_hooks():
            if self.is_always(id) and id not in self.ran:
                try:
                    self.called(id, hook)
                except Exception as other:
                    self.warn(other)
                    break


@call.mistake()
class InterruptOfAHookReplaced(Call):
    """While an error was on its way, an always_call hook was interrupted, and the first error came out in its place. Who
    presses stop wants to stop: KeyboardInterrupt and its like come out as they are.
    """

    def failed(self, error: Exception) -> None:
        try:
            super().failed(error)
        except BaseException:
            raise error from None


@call.mistake(breaks="are called once, global before own.")
class AlwaysHooksInReverse(Call):
    """On an error always_call hooks ran in reverse. The order is the usual one: that of their dict, global before own."""

    def failed(self, error: Exception) -> None:
        for id, hook in reversed(self.post_hooks()):
            if self.is_always(id) and id not in self.ran:
                self.last_call(id, hook)


@call.variant(AlwaysHooksInReverse)
class _(Call):
    """What one of them returns, the next is given."""

    def failed(self, error: Exception) -> None:
        for id, hook in reversed(self.post_hooks()):
            if self.is_always(id) and id not in self.ran:
                chained(self, id, hook)


@call.variant(AlwaysHooksInReverse)
class _(Call):
    """Global before own, and in each dict the last one first."""

    def failed(self, error: Exception) -> None:
        for listed in (hooks._global_forward_hooks, self.module._forward_hooks):
            for id, hook in reversed(list(listed.items())):
                if self.is_always(id) and id not in self.ran:
                    self.last_call(id, hook)


@call.mistake()
class BegunKeptForTheNextCall(Call):
    """An always_call hook did not run on an error, or ran twice, because of a different call: perhaps the ids of those that
    have begun are kept for all calls, on the module or in one set. Each call begins with none.
    """

    kept: set[int] = set()

    def whole(self) -> Any:
        self.ran = self.memory()
        result = super().whole()
        return result

    def memory(self) -> set[int]:
        return self.kept


@call.variant(BegunKeptForTheNextCall)
class _(BegunKeptForTheNextCall):
    """Emptied when all goes well."""

    def memory(self) -> set[int]:
        return vars(self.module).setdefault("begun", set())

    def whole(self) -> Any:
        result = super().whole()
        self.ran.clear()
        return result


@call.variant(BegunKeptForTheNextCall)
class _(BegunKeptForTheNextCall):
    """Never emptied, on the module."""

    def memory(self) -> set[int]:
        return vars(self.module).setdefault("begun", set())


@call.variant(BegunKeptForTheNextCall)
class _(BegunKeptForTheNextCall):
    """Emptied when a call begins: a call inside of it empties it, too."""

    def memory(self) -> set[int]:
        self.kept.clear()
        return self.kept


@call.mistake()
class BegunKeptByFunction(Call):
    """Of one function that was registered twice, the second hook did not run on an error: perhaps the functions that have
    begun are kept. Each registration has an id of its own.
    """

    def mark(self, id: int) -> None:
        super().mark(id)
        function = dict(self.post_hooks()).get(id)
        self.ran |= {other for other, hook in self.post_hooks() if hook is function}


@call.variant(BegunKeptByFunction)
class _(Call):
    """Also among those that run on the way out."""

    def mark(self, id: int) -> None:
        super().mark(id)
        function = dict(self.post_hooks()).get(id)
        self.ran |= {other for other, hook in self.post_hooks() if hook is function}

    def last_call(self, id: int, hook: Any) -> None:
        if id not in self.ran:
            self.mark(id)
            super().last_call(id, hook)


@call.mistake(breaks="When an Exception comes, wherever,")
class PairErrorPastTheHooks(Call):
    """The RuntimeError about a pre-hook's pair was raised past the always_call hooks. It is an error like others: they run."""

    def replace_both(self, got: Any) -> None:
        self.no_pair = not (isinstance(got, tuple) and len(got) == 2)
        super().replace_both(got)

    def failed(self, error: Exception) -> None:
        if not getattr(self, "no_pair", False):
            super().failed(error)
