"""What people write for 05.activation_recorder, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.module.activation_recorder.exercise import activation_recorder


class Right:
    """The right answer; the wrong ones change one method."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.activations: Any = {}
        self.handles: list[Any] = []

    def __enter__(self) -> Any:
        if not self.handles:
            self.register()
        return self

    def register(self) -> None:
        for name, module in self.modules():
            self.handles.append(module.register_forward_hook(self.hook(name)))

    def modules(self) -> Any:
        return self.model.named_modules()

    def hook(self, name: str) -> Callable[..., Any]:
        def record(module: nn.Module, args: Any, output: Any) -> Any:
            if isinstance(output, Tensor):
                self.keep(name, self.copy(output))

        return record

    def copy(self, output: Tensor) -> Tensor:
        return output.detach().clone()

    def keep(self, name: str, value: Tensor) -> None:
        self.activations.setdefault(name, []).append(value)

    def __exit__(self, *error: Any) -> Any:
        for handle in self.handles:
            handle.remove()
        self.handles.clear()


@activation_recorder.mistake()
class ReferenceKept(Right):
    """detach() gives a tensor that shares its memory with the output. The in-place relu that follows writes
    into it, and the memory of every layer stays in use.
    """

    def copy(self, output: Tensor) -> Tensor:
        return output.detach()


@activation_recorder.variant(ReferenceKept)
class _(Right):
    def copy(self, output: Tensor) -> Tensor:
        return output.detach().cpu()  # no copy where it is on the CPU already


@activation_recorder.variant(ReferenceKept)
class _(Right):
    """Copied when it is too late."""

    def copy(self, output: Tensor) -> Tensor:
        return output.detach()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        for name, items in self.activations.items():
            self.activations[name] = [item.clone() for item in items]


@activation_recorder.mistake()
class GraphKept(Right):
    """A clone without detach() is a part of the graph. As long as the recorder lives, so does the graph, with
    all that it has saved for a backward.
    """

    def copy(self, output: Tensor) -> Tensor:
        return output.clone()


@activation_recorder.mistake()
class OutputItselfKept(Right):
    """The very tensor that the module returned was kept: with its graph, and with whatever is written into it
    later. Detach it and clone it.
    """

    def copy(self, output: Tensor) -> Tensor:
        return output


@activation_recorder.mistake()
class LastCallOnly(Right):
    """The name was set to the newest result, so a module that is called twice keeps one. Append to a list."""

    def keep(self, name: str, value: Tensor) -> None:
        self.activations[name] = [value]


@activation_recorder.variant(LastCallOnly)
class _(Right):
    """The first call only."""

    def keep(self, name: str, value: Tensor) -> None:
        self.activations.setdefault(name, [value])


@activation_recorder.mistake()
class NoList(Right):
    """A bare tensor stands under each name. A module can be called more than once, so there is a list for
    each.
    """

    def keep(self, name: str, value: Tensor) -> None:
        self.activations[name] = value


@activation_recorder.mistake()
class NamedByClass(Right):
    """The results were named after the class of the module. All layers of one kind then share a name;
    named_modules() gives each its own.
    """

    def modules(self) -> Any:
        return ((type(module).__name__, module) for module in self.model.modules())


@activation_recorder.mistake()
class LeavesOnly(Right):
    """Only modules without children were recorded. The result of a block, and of the model, is a result of a
    module, too.
    """

    def modules(self) -> Any:
        return ((name, module) for name, module in self.model.named_modules() if not list(module.children()))


@activation_recorder.mistake()
class ChildrenOnly(Right):
    """named_children() gives the direct children and stops there. named_modules() goes all the way down."""

    def modules(self) -> Any:
        return self.model.named_children()


@activation_recorder.mistake()
class ModelItselfLeftOut(Right):
    """The model itself was left out. named_modules() gives it first, with the empty name."""

    def modules(self) -> Any:
        return ((name, module) for name, module in self.model.named_modules() if name)


@activation_recorder.mistake()
class LateBinding(Right):
    """The hook was made in the loop and reads `name` when it runs. By then the loop is over and name is the
    last one, for all hooks. Bind it: a function that returns the hook, or a default argument.
    """

    def register(self) -> None:
        for name, module in self.modules():
            self.handles.append(
                module.register_forward_hook(
                    lambda _, __, out: (
                        self.keep(name, out.detach().clone())  # noqa: B023
                        if isinstance(out, Tensor)
                        else None
                    )
                )
            )


@activation_recorder.mistake()
class OneListForAll(Right):
    """dict.fromkeys(names, []) puts one and the same list under every name."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        self.activations = dict.fromkeys([name for name, _ in model.named_modules()], [])


@activation_recorder.mistake()
class InputsRecorded(Right):
    """The inputs of the modules were recorded. A forward hook is called with (module, args, output): the
    output is the third.
    """

    def hook(self, name: str) -> Callable[..., Any]:
        return lambda module, args, output: self.keep(name, args[0].detach().clone())


@activation_recorder.variant(InputsRecorded)
class _(Right):
    def hook(self, name: str) -> Callable[..., Any]:
        def record(module: nn.Module, args: Any, output: Any) -> None:
            if isinstance(args[0], Tensor):
                self.keep(name, args[0].detach().clone())

        return record


@activation_recorder.mistake()
class OutputReplaced(Right):
    """The hook returns the detached copy, and what a hook returns takes the place of the output: the model
    runs on without a graph.
    """

    def hook(self, name: str) -> Callable[..., Any]:
        def record(module: nn.Module, args: Any, output: Tensor) -> Tensor:
            value = self.copy(output)
            self.keep(name, value)
            return value

        return record


@activation_recorder.variant(OutputReplaced)
class _(Right):
    def hook(self, name: str) -> Callable[..., Any]:
        def record(module: nn.Module, args: Any, output: Any) -> Any:
            if isinstance(output, Tensor):
                self.keep(name, output.detach().clone())
                return self.activations[name][-1]
            return None

        return record


@activation_recorder.mistake()
class WithoutGrad(Right):
    """The recorder turns gradients off for the whole with. That keeps no graph, and it changes what the model
    does: nothing can be trained while it is watched.
    """

    def __enter__(self) -> Any:
        self.no_grad = torch.no_grad()
        self.no_grad.__enter__()
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        self.no_grad.__exit__(None, None, None)
        super().__exit__(*error)


@activation_recorder.mistake()
class TensorsOnlyExpected(Right):
    """The hook takes every output for a tensor. An LSTM returns a tuple, many models a dict: the recorder
    stops a model that runs well without it.
    """

    def hook(self, name: str) -> Callable[..., Any]:
        return lambda module, args, output: self.keep(name, output.detach().clone())


# Hooks that stay, come too early or go too far.


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
