"""What people write for 05.activation_recorder: hooks that stay, come too early or go too far."""

from __future__ import annotations

from typing import Any

from torch import nn

from helpers.labs.module.activation_recorder import activation_recorder
from helpers.labs.module.activation_recorder_mistakes import Right


@activation_recorder.mistake()
class NoHookRemoved(Right):
    """Nobody removed the hooks. The model goes on recording, and its memory grows with each call. Keep the
    handles and remove() them.
    """

    def __exit__(self, *error: Any) -> None:
        pass


@activation_recorder.variant(NoHookRemoved)
class _(Right):
    def __exit__(self, *error: Any) -> None:
        self.handles.clear()


@activation_recorder.mistake()
class HooksLeftAfterAnError(Right):
    """The hooks are removed only when all went well. __exit__ runs after an error, too: remove them whatever
    it is called with.
    """

    def __exit__(self, error_type: Any, error: Any, trace: Any) -> None:
        if error_type is None:
            super().__exit__()


@activation_recorder.variant(HooksLeftAfterAnError)
class _(Right):
    def __exit__(self, error_type: Any, error: Any, trace: Any) -> bool:
        if error is not None:
            return False
        super().__exit__()
        return True


@activation_recorder.mistake()
class LastHandleOnly(Right):
    """One attribute held the handle of each hook in turn, so only the last one was removed. Keep all handles
    in a list.
    """

    def __exit__(self, *error: Any) -> None:
        self.handles.pop().remove()
        self.handles.clear()


@activation_recorder.mistake()
class HooksFromTheStart(Right):
    """The hooks were registered in __init__. They record before the with begins, and a second with finds
    none.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        self.register()

    def __enter__(self) -> Any:
        return self


@activation_recorder.variant(HooksFromTheStart)
class _(Right):
    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        self.register()


@activation_recorder.variant(HooksFromTheStart)
class _(Right):
    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        self.__enter__()

    def __enter__(self) -> Any:
        self.register()
        return self


@activation_recorder.mistake()
class RegisteredAtEachEnter(Right):
    """__enter__ registered the hooks without asking whether they are there: entered inside its own with, the
    recorder notes everything twice.
    """

    def __enter__(self) -> Any:
        self.register()
        return self


@activation_recorder.variant(RegisteredAtEachEnter)
class _(Right):
    def __enter__(self) -> Any:
        self.handles = []  # the first ones are lost
        self.register()
        return self


@activation_recorder.variant(RegisteredAtEachEnter)
class _(Right):
    def __enter__(self) -> Any:
        self.handles, self.activations = [], {}
        self.register()
        return self


@activation_recorder.mistake()
class SecondWithRecordsNothing(Right):
    """After the first with the list of handles still holds the removed ones, so the second `if not
    self.handles` registers nothing. Empty the list when you have removed them.
    """

    def __exit__(self, *error: Any) -> None:
        for handle in self.handles:
            handle.remove()


@activation_recorder.variant(SecondWithRecordsNothing)
class _(Right):
    """Opened once, for ever."""

    is_open = False

    def __enter__(self) -> Any:
        if not self.is_open:
            self.is_open = True
            self.register()
        return self


@activation_recorder.mistake()
class ErrorSwallowed(Right):
    """__exit__ returned something true, which tells Python that the error has been dealt with. Return
    nothing.
    """

    def __exit__(self, *error: Any) -> Any:
        super().__exit__(*error)
        return True


@activation_recorder.variant(ErrorSwallowed)
class _(Right):
    def __exit__(self, *error: Any) -> Any:
        super().__exit__(*error)
        return self


@activation_recorder.mistake()
class AllHooksCleared(Right):
    """_forward_hooks.clear() takes all hooks off the modules, those of others as well: a profiler, a
    parametrization, a second recorder. Each handle removes its own.
    """

    def __exit__(self, *error: Any) -> None:
        for module in self.model.modules():
            module._forward_hooks.clear()
        self.handles.clear()


@activation_recorder.variant(AllHooksCleared)
class _(Right):
    def __exit__(self, *error: Any) -> None:
        for module in self.model.modules():
            module._forward_hooks.clear()
            module._forward_pre_hooks.clear()
        self.handles.clear()


@activation_recorder.mistake()
class EmptiedAtTheEnd(Right):
    """The activations were thrown away in __exit__. People look at them after the with."""

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.activations.clear()


@activation_recorder.variant(EmptiedAtTheEnd)
class _(Right):
    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.activations = {}


@activation_recorder.mistake()
class EnterReturnsNothing(Right):
    """__enter__ returns nothing, so `with ... as recorder` gives None. End it with `return self`."""

    def __enter__(self) -> None:
        super().__enter__()


@activation_recorder.variant(EnterReturnsNothing)
class _(Right):
    def __enter__(self) -> Any:
        super().__enter__()
        return self.activations


@activation_recorder.mistake()
class SharedModuleTwice(Right):
    """The tree was walked by hand, and a module that stands in it twice got a hook for each place: one call
    is recorded under both names. named_modules() gives each module once.
    """

    def modules(self) -> Any:
        return self.model.named_modules(remove_duplicate=False)
