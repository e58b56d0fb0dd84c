"""Recorders whose hooks stay, come too early or go too far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from helpers.labs.module.activation_recorder.exercise import activation_recorder
from helpers.labs.module.activation_recorder.right import Right


@activation_recorder.mistake(breaks="Calls outside of the `with` are not recorded.")
class NoHookRemoved(Right):
    """A call after the with was recorded: hooks are left. The model goes on recording, and its memory grows
    with each call. Keep the handles and remove() them.
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
    """Hooks are left on all modules but the last. Perhaps one attribute held the handle of each hook in turn:
    keep all handles in a list.
    """

    def __exit__(self, *error: Any) -> None:
        self.handles.pop().remove()
        self.handles.clear()


@activation_recorder.mistake(breaks="Calls outside of the `with` are not recorded.")
class HooksFromTheStart(Right):
    """A call before the with was recorded. Perhaps the hooks were registered in __init__: they record too
    early, and a second with finds none.
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
    """Entered inside its own with, the recorder notes a call twice, or leaves hooks behind. Perhaps __enter__
    registers them without asking whether they are there.
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
    """The call in the second with was not recorded. Perhaps the list of handles still holds the removed ones,
    so that `if not self.handles` registers nothing. Empty it when you have removed them.
    """

    def __enter__(self) -> Any:
        if not self.handles:
            self.register()
        return self

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
    """The error did not come out of the with. Perhaps __exit__ returned something true, which tells Python
    that it has been dealt with. Return nothing.
    """

    def __exit__(self, *error: Any) -> Any:
        super().__exit__(*error)
        return True


@activation_recorder.variant(ErrorSwallowed)
class _(Right):
    def __exit__(self, *error: Any) -> Any:
        super().__exit__(*error)
        return self


@activation_recorder.variant(ErrorSwallowed)
class _(Right):
    def __exit__(self, error_type: Any, error: Any, trace: Any) -> Any:
        super().__exit__()
        return isinstance(error, Exception)


@activation_recorder.mistake()
class AllHooksCleared(Right):
    """A hook of the user is gone after the with: of a profiler, a parametrization, a second recorder. Perhaps
    _forward_hooks.clear() was called. Each handle removes its own.
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


@activation_recorder.mistake(
    breaks="`activations` is a dict from names to lists of tensors, to be read inside the `with` and after it."
)
class EmptiedAtTheEnd(Right):
    """After the with the activations are gone: perhaps __exit__ throws them away. People look at them after
    the with.
    """

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.activations.clear()


@activation_recorder.variant(EmptiedAtTheEnd)
class _(Right):
    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.activations = {}


@activation_recorder.mistake(breaks="`with ActivationRecorder(model) as recorder` gives the recorder itself.")
class EnterReturnsNothing(Right):
    """`with ... as recorder` gives what __enter__ returns, and that is not the recorder. End it with `return self`."""

    def __enter__(self) -> None:
        super().__enter__()


@activation_recorder.variant(EnterReturnsNothing)
class _(Right):
    def __enter__(self) -> Any:
        super().__enter__()
        return self.activations


@activation_recorder.mistake()
class SharedModuleTwice(Right):
    """One call of a module that stands in the tree twice was recorded under both names. Perhaps it got a hook
    for each place: named_modules() gives each module once.
    """

    def modules(self) -> Any:
        return self.model.named_modules(remove_duplicate=False)


@activation_recorder.mistake()
class InnerWithEndsTheOuter(Right):
    """Entered inside its own with, the recorder records nothing after the inner one: perhaps the end of that
    removes the hooks of the outer one. Count how often it was entered, or raise RuntimeError.
    """

    def __enter__(self) -> Any:
        if not self.handles:
            self.register()
        return self


@activation_recorder.variant(InnerWithEndsTheOuter)
class _(Right):
    def __enter__(self) -> Any:
        self.__exit__()
        self.register()
        return self


@activation_recorder.mistake()
class InnerWithForgetsTheOuter(Right):
    """Entered inside its own with, the recorder has an entry less than there were calls: perhaps it begins
    anew, and what the outer with had recorded is gone.
    """

    depth = 0

    def __enter__(self) -> Any:
        self.activations = {}
        self.depth += 1
        if self.depth == 1:
            self.register()
        return self

    def __exit__(self, *error: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            super().__exit__(*error)


@activation_recorder.mistake()
class RefusedForEver(Right):
    """The recorder takes itself for entered though its with has ended, and refuses the second one."""

    is_on = False

    def __enter__(self) -> Any:
        if self.is_on:
            raise RuntimeError("on already")
        self.is_on = True
        self.register()
        return self


@activation_recorder.variant(RefusedForEver)
class _(Right):
    def __exit__(self, *error: Any) -> None:
        for handle in self.handles:
            handle.remove()


@activation_recorder.mistake()
class SharedByAllRecorders(Right):
    """A new recorder holds the records of a different one: perhaps the dict belongs to the class, or is a
    default argument. Make it in __init__, one for each.
    """

    everything: Any = {}

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        self.activations = self.everything


@activation_recorder.mistake()
class NewestHookRemoved(Right):
    """Hooks that the user registered inside the with are gone after it: perhaps the newest hook of each module was removed,
    or the dicts were set back to what they were at the beginning. A handle removes its own hook.
    """

    def __exit__(self, *error: Any) -> None:
        for module in self.model.modules():
            module._forward_hooks.popitem()
        self.handles.clear()


@activation_recorder.mistake()
class ErrorsOnly(Right):
    """Hooks are left after an interrupt (KeyboardInterrupt is no Exception), though not after an error."""

    def __exit__(self, error_type: Any, error: Any, trace: Any) -> None:
        if error is None or isinstance(error, Exception):
            super().__exit__()


@activation_recorder.mistake()
class EmptiedAfterAnError(Right):
    """After an error the records were thrown away. They show how far the model came."""

    def __exit__(self, error_type: Any, error: Any, trace: Any) -> None:
        super().__exit__()
        if error is not None:
            self.activations.clear()


@activation_recorder.mistake()
class InEvalMode(Right):
    """The recorder puts the model into a mode of its own: dropout and batch norm compute something else meanwhile, and
    perhaps afterwards. Whoever looks on changes nothing.
    """

    def __enter__(self) -> Any:
        self.model.eval()
        return super().__enter__()


@activation_recorder.variant(InEvalMode)
class _(Right):
    def __enter__(self) -> Any:
        self.was_training = self.model.training
        self.model.eval()
        return super().__enter__()

    def __exit__(self, *error: Any) -> Any:
        super().__exit__()
        self.model.train(self.was_training)


@activation_recorder.mistake()
class NotedOnTheModules(Right):
    """Something else than the hooks is different on the modules after the with: perhaps an attribute of the
    recorder's own, as their names. A hook can be told its name by a function that makes it.
    """

    def register(self) -> None:
        for name, module in self.modules():
            module.recorded_as = name
        super().register()

    def hook(self, name: str) -> Callable[..., Any]:
        def record(module: nn.Module, args: Any, output: Any) -> None:
            if isinstance(output, Tensor):
                self.keep(module.recorded_as, self.copy(output))

        return record


@activation_recorder.mistake()
class ForwardWrapped(Right):
    """A hook of the user put something in place of the output, and what forward gave was recorded. Perhaps
    the modules' forward was replaced in place of a hook: then an attribute `forward` of the instance is left,
    or taken away.
    """

    def register(self) -> None:
        for name, module in self.modules():
            self.wrap(name, module, module.forward)

    def wrap(self, name: str, module: nn.Module, real: Any) -> None:
        record = self.hook(name)

        def forward(*args: Any, **kwargs: Any) -> Any:
            output = real(*args, **kwargs)
            record(module, args, output)
            return output

        module.forward = forward
        self.handles.append(Undo(module, real))


class Undo:
    """Puts a forward back."""

    def __init__(self, module: nn.Module, real: Any) -> None:
        self.module, self.real = module, real

    def remove(self) -> None:
        self.module.forward = self.real


@activation_recorder.variant(ForwardWrapped)
class _(ForwardWrapped):
    def __exit__(self, *error: Any) -> None:
        for module in self.model.modules():
            vars(module).pop("forward", None)
        self.handles.clear()
