"""What people write for 05.call: something raises."""

from __future__ import annotations

from typing import Any

import torch.nn.modules.module as hooks

from helpers.labs.module.call import call
from helpers.labs.module.call_steps import Call, Listed


@call.wrong_answer(
    "no_always_call",
    why="An error ends the call at once. Hooks with always_call=True must see it: they stop timers and close what was "
    "opened.",
    seen="they stop timers",
)
class _(Call):
    def failed(self, error: Exception) -> None:
        pass


@call.wrong_answer(
    "all_hooks_on_error",
    why="On an error every hook ran. Only those that asked for it do: most hooks cannot use an output of None.",
    seen="On an error every hook ran",
)
class _(Call):
    def is_always(self, id: int) -> bool:
        return True


@call.wrong_answer(
    "always_hooks_of_the_module_only",
    why="On an error only the module's own always_call hooks ran. Global ones exist as well, and come first.",
    seen="Global ones exist as well",
)
class _(Call):
    def is_always(self, id: int) -> bool:
        return id in self.module._forward_hooks_always_called


@call.wrong_answer(
    "own_before_global_on_error",
    why="On an error the module's own always_call hooks ran before the global ones; the order is the usual one.",
    seen="the order is the usual one",
)
class _(Call):
    def failed(self, error: Exception) -> None:
        for id, hook in reversed_places(self):
            if self.is_always(id) and id not in self.ran:
                self.last_call(id, hook)


def reversed_places(self: Call) -> Listed:
    return [*self.module._forward_hooks.items(), *hooks._global_forward_hooks.items()]


@call.wrong_answer(
    "pre_hooks_outside_the_try",
    why="The try begins at forward. When a pre-hook raises, the always_call hooks must run as well.",
    seen="The try begins at forward",
)
class _(Call):
    def whole(self) -> Any:
        self.before()
        self.before = lambda: None
        return super().whole()


@call.wrong_answer(
    "only_forward_in_the_try",
    why="Only forward stands in the try. When a pre-hook or a hook raises, the always_call hooks that have not run yet "
    "must run as well.",
    seen="Only forward stands in the try",
)
class _(Call):
    def whole(self) -> Any:
        self.before()
        try:
            self.forward()
        except Exception as error:
            self.failed(error)
            raise
        self.after()
        return self.result


@call.another_form("only_forward_in_the_try")
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


@call.wrong_answer(
    "always_hooks_run_twice",
    why="After an error in a hook all always_call hooks ran, also those that had run before it. Keep the ids of those "
    "that have begun.",
    seen="also those that had run before it",
)
class _(Call):
    def mark(self, id: int) -> None:
        pass


@call.wrong_answer(
    "marked_after_the_hook",
    why="An always_call hook was noted as run only after it had returned. If it is the one that raises, it runs a "
    "second time: note its id before you call it.",
    seen="note its id before you call it",
)
class _(Call):
    def post(self, id: int, hook: Any) -> None:
        got = self.called(id, hook)
        self.mark(id)
        if self.is_result(got):
            self.result = got


@call.wrong_answer(
    "second_error_replaces_the_first",
    why="An always_call hook raised, and its error came out in place of the first one. The first error is the cause: "
    "the later ones become warnings.",
    seen="in place of the first one",
)
class _(Call):
    def last_call(self, id: int, hook: Any) -> None:
        self.called(id, hook)


@call.wrong_answer(
    "second_error_ends_the_loop",
    why="The try stands around the whole loop: after the error of one always_call hook the others do not run. Each hook "
    "needs a try of its own.",
    seen="around the whole loop",
)
class _(Call):
    def last_call(self, id: int, hook: Any) -> None:
        self.called(id, hook)

    def failed(self, error: Exception) -> None:
        try:
            super().failed(error)
        except Exception as other:
            self.warn(other)


@call.wrong_answer(
    "second_error_without_a_word",
    why="The errors of the always_call hooks were dropped without a warning. A hook that always fails would never be "
    "found.",
    seen="would never be found",
)
class _(Call):
    def warn(self, error: Exception) -> None:
        pass


@call.wrong_answer(
    "error_swallowed",
    why="The error was caught and not raised again. Hooks may look on, but whoever called the module must hear of it.",
    seen="must hear of it",
)
class _(Call):
    def whole(self) -> Any:
        try:
            return super().whole()
        except Exception:
            return self.result


@call.another_form("error_swallowed")
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


@call.wrong_answer(
    "another_error_raised",
    why="A new error was raised in place of the one that came. The caller waits for the type that forward raises: a bare "
    "`raise` passes it on.",
    seen="a bare `raise` passes it on",
)
class _(Call):
    def whole(self) -> Any:
        try:
            return super().whole()
        except Exception as error:
            raise RuntimeError(f"forward failed: {error}") from error


@call.another_form("another_error_raised")
class _(Call):
    def whole(self) -> Any:
        try:
            return super().whole()
        except Exception as error:
            raise type(error)(*error.args) from None


@call.wrong_answer(
    "hooks_on_interrupt",
    why="KeyboardInterrupt ran the always_call hooks (finally, a bare except, or except BaseException). Who presses stop "
    "wants to stop: only an Exception runs them.",
    seen="Who presses stop",
)
class _(Call):
    def whole(self) -> Any:
        try:
            self.before()
            self.forward()
            self.after()
        except BaseException as error:
            self.failed(error)
            raise
        return self.result


@call.wrong_answer(
    "old_arguments_on_error",
    why="On an error the always_call hooks were given the arguments of the call. They get those that pre-hooks have "
    "made of them so far.",
    seen="made of them so far",
)
class _(Call):
    def whole(self) -> Any:
        self.first = self.args, self.kwargs
        return super().whole()

    def failed(self, error: Exception) -> None:
        self.args, self.kwargs = self.first
        super().failed(error)


@call.another_form("old_arguments_on_error")
class _(Call):
    def whole(self) -> Any:
        self.first = self.args
        return super().whole()

    def failed(self, error: Exception) -> None:
        self.args = self.first
        super().failed(error)


@call.wrong_answer(
    "kwargs_lost_on_error",
    why="On an error with_kwargs was forgotten: the hook is called with one argument too few, and its TypeError is "
    "turned into a warning that hardly anybody reads.",
    seen="one argument too few",
)
class _(Call):
    def last_call(self, id: int, hook: Any) -> None:
        try:
            hook(self.module, self.args, self.result)
        except Exception as error:
            self.warn(error)


@call.wrong_answer(
    "error_as_output",
    why="The always_call hooks were given the error in place of the output. Without a result they get None.",
    seen="given the error in place of the output",
)
class _(Call):
    def failed(self, error: Exception) -> None:
        self.result = error if self.result is None else self.result
        super().failed(error)
