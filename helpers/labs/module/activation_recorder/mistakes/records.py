"""Recorders that keep the wrong thing, or under the wrong name."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook

from helpers.labs.module.activation_recorder.exercise import activation_recorder
from helpers.labs.module.activation_recorder.right import Right


@activation_recorder.mistake()
class ReferenceKept(Right):
    """What was written into an output after the call stands in the record as well: detach() shares its memory with the
    output, and a clone must be made in the hook, before the model runs on.
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
    """The records have a graph. As long as the recorder lives, so does the graph, with all that it has saved
    for a backward. Perhaps they are clones without detach().
    """

    def copy(self, output: Tensor) -> Tensor:
        return output.clone()


@activation_recorder.mistake()
class OutputItselfKept(Right):
    """What was written into an output after the call stands in the record as well, and the record has a
    graph. Perhaps the very tensor that the module returned was kept. Detach it and clone it.
    """

    def copy(self, output: Tensor) -> Tensor:
        return output


@activation_recorder.mistake(
    breaks="Each call of a module adds one tensor to its list, in the order in which the calls end."
)
class LastCallOnly(Right):
    """The name was set to the newest result, so a module that is called twice keeps one. Append to a list."""

    def keep(self, name: str, value: Tensor) -> None:
        self.activations[name] = [value]


@activation_recorder.mistake(
    breaks="Each call of a module adds one tensor to its list, in the order in which the calls end."
)
class FirstCallOnly(Right):
    """The first result of each module was kept, and later calls changed nothing: append to the list of the name."""

    def keep(self, name: str, value: Tensor) -> None:
        self.activations.setdefault(name, [value])


@activation_recorder.mistake(
    breaks="`activations` is a dict from names to lists of tensors, to be read inside the `with` and after it."
)
class NoList(Right):
    """A bare tensor stands under a name. A module can be called more than once: there is a list for each."""

    def keep(self, name: str, value: Tensor) -> None:
        self.activations[name] = value


@activation_recorder.mistake(
    breaks='The names are those of `model.named_modules()`: every module, not only the leaves, the model itself under "".'
)
class NamedByClass(Right):
    """No name is one of named_modules(), and there are too few of them. Perhaps each is that of the module's
    class, which all layers of one kind share.
    """

    def modules(self) -> Any:
        return ((type(module).__name__, module) for module in self.model.modules())


@activation_recorder.mistake(
    breaks='The names are those of `model.named_modules()`: every module, not only the leaves, the model itself under "".'
)
class LeavesOnly(Right):
    """Only modules without children were recorded. The result of a block, and of the model, is a result of a
    module, too.
    """

    def modules(self) -> Any:
        return ((name, module) for name, module in self.model.named_modules() if not list(module.children()))


@activation_recorder.mistake(
    breaks='The names are those of `model.named_modules()`: every module, not only the leaves, the model itself under "".'
)
class ChildrenOnly(Right):
    """Only the model's direct children were recorded. Perhaps by named_children(), which stops there:
    named_modules() begins with the model and goes all the way down.
    """

    def modules(self) -> Any:
        return self.model.named_children()


@activation_recorder.mistake(breaks='the model itself under "".')
class ModelItselfLeftOut(Right):
    """The model itself was left out. named_modules() gives it first, with the empty name."""

    def modules(self) -> Any:
        return ((name, module) for name, module in self.model.named_modules() if name)


@activation_recorder.mistake(
    breaks='The names are those of `model.named_modules()`: every module, not only the leaves, the model itself under "".'
)
class LateBinding(Right):
    """Of all names only the last one was recorded. Perhaps the hook was made in the loop and reads `name`
    when it runs, when the loop is over. Bind it: a function that returns the hook, or a default argument.
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


@activation_recorder.mistake(
    breaks="`activations` is a dict from names to lists of tensors, to be read inside the `with` and after it."
)
class OneListForAll(Right):
    """The list of one module holds an entry for the call of each. Perhaps dict.fromkeys(names, []) put one
    and the same list under every name.
    """

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


@activation_recorder.variant(InputsRecorded)
class _(Right):
    """By a pre-hook."""

    def register(self) -> None:
        for name, module in self.modules():
            self.handles.append(
                module.register_forward_pre_hook(
                    lambda module, args, name=name: self.keep(name, self.copy(args[0]))
                )
            )


@activation_recorder.mistake()
class OutputReplaced(Right):
    """The caller gets a different tensor, one without a graph: the model runs on without gradients. Perhaps
    the hook returns what it records: let it return nothing.
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
                return output.detach()
            return None

        return record


@activation_recorder.variant(OutputReplaced)
class _(Right):
    """The record is what is passed on, and shares its memory with the output."""

    def hook(self, name: str) -> Callable[..., Any]:
        def record(module: nn.Module, args: Any, output: Any) -> Any:
            if isinstance(output, Tensor):
                self.keep(name, output.detach())
                return self.activations[name][-1]
            return None

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
    """Gradients are off while the model runs in the with. That keeps no graph, and it changes what the model
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
class OfOneDtype(Right):
    """The copies have a dtype of their own: numbers are rounded, or integers become floats. Copy what there is."""

    def copy(self, output: Tensor) -> Tensor:
        return output.detach().clone().float()


@activation_recorder.variant(OfOneDtype)
class _(Right):
    def copy(self, output: Tensor) -> Tensor:
        return output.detach().float().clone()


@activation_recorder.variant(OfOneDtype)
class _(Right):
    def copy(self, output: Tensor) -> Tensor:
        return output.detach().double().clone()


@activation_recorder.mistake(
    breaks="`activations` is a dict from names to lists of tensors, to be read inside the `with` and after it."
)
class NoTensors(Right):
    """A list holds something else than tensors: NumPy arrays, or plain numbers. A detached clone is a tensor."""

    def copy(self, output: Tensor) -> Any:
        return output.detach().cpu().numpy().copy()


@activation_recorder.variant(NoTensors)
class _(Right):
    def copy(self, output: Tensor) -> Any:
        return output.detach().cpu().numpy()


@activation_recorder.variant(NoTensors)
class _(Right):
    def copy(self, output: Tensor) -> Any:
        return output.tolist()


@activation_recorder.mistake(breaks="It is a copy of what the caller gets, as it is then")
class DeepCopied(Right):
    """copy.deepcopy refuses a tensor that is the result of an operation with a graph. Use detach() and clone()."""

    def copy(self, output: Tensor) -> Any:
        return copy.deepcopy(output)


@activation_recorder.mistake()
class DetachedInPlace(Right):
    """The model's own tensor has no graph any more: nothing before it is trained. Perhaps detach_() was
    called, which cuts off the tensor itself; detach() gives a second tensor and leaves the first.
    """

    def copy(self, output: Tensor) -> Tensor:
        return output.detach_().clone()


@activation_recorder.variant(DetachedInPlace)
class _(Right):
    def copy(self, output: Tensor) -> Tensor:
        return output.detach_()


@activation_recorder.mistake()
class RequiringGrad(Right):
    """The copies require grad: each is the beginning of a new graph. A record is only looked at."""

    def copy(self, output: Tensor) -> Tensor:
        return output.detach().clone().requires_grad_(output.requires_grad)


@activation_recorder.variant(RequiringGrad)
class _(Right):
    def copy(self, output: Tensor) -> Tensor:
        return output.detach().clone().requires_grad_()


@activation_recorder.mistake(breaks='the model itself under "".')
class RootRenamed(Right):
    """Nothing stands under the empty name, and something under one that named_modules() does not give:
    perhaps the model itself got a name that was made up. Its name is empty.
    """

    def keep(self, name: str, value: Tensor) -> None:
        super().keep(name or "model", value)


@activation_recorder.variant(RootRenamed)
class _(Right):
    def keep(self, name: str, value: Tensor) -> None:
        super().keep(name or type(self.model).__name__, value)


@activation_recorder.mistake(
    breaks='The names are those of `model.named_modules()`: every module, not only the leaves, the model itself under "".'
)
class NamedByTheLastPart(Right):
    """Below the direct children the names are not those of named_modules(), and two modules share one.
    Perhaps it is the name that the parent uses ("0"), without the way to it ("stem.0").
    """

    def keep(self, name: str, value: Tensor) -> None:
        super().keep(name.rpartition(".")[2], value)


@activation_recorder.mistake(
    breaks="`activations` is a dict from names to lists of tensors, to be read inside the `with` and after it."
)
class KeyedByModule(Right):
    """The keys are the modules, or numbers of them. They are the names that named_modules() gives, strings."""

    def hook(self, name: str) -> Callable[..., Any]:
        def record(module: nn.Module, args: Any, output: Any) -> None:
            if isinstance(output, Tensor):
                self.keep(module, self.copy(output))  # type: ignore[arg-type]

        return record


@activation_recorder.variant(KeyedByModule)
class _(Right):
    def hook(self, name: str) -> Callable[..., Any]:
        def record(module: nn.Module, args: Any, output: Any) -> None:
            if isinstance(output, Tensor):
                self.keep(id(module), self.copy(output))  # type: ignore[arg-type]

        return record


@activation_recorder.mistake()
class BeforeTheUsersHooks(Right):
    """What was recorded is what forward gave, before a hook of the user put something in its place. A hook that is
    registered last is called last, and gets what the caller gets. (Global hooks, prepended ones and a wrapped forward
    come earlier.)
    """

    def register(self) -> None:
        for name, module in self.modules():
            self.handles.append(module.register_forward_hook(self.hook(name), prepend=True))


@activation_recorder.variant(BeforeTheUsersHooks)
class _(Right):
    def register(self) -> None:
        names = {module: name for name, module in self.modules()}

        def record(module: nn.Module, args: Any, output: Any) -> None:
            if module in names:
                self.hook(names[module])(module, args, output)

        self.handles.append(register_module_forward_hook(record))


@activation_recorder.mistake(breaks="Calls of modules that `named_modules()` does not give are not recorded.")
class ForeignModulesRecorded(Right):
    """There are more entries than calls of the model's modules. Perhaps modules that are not the model's were
    recorded: a global hook sees every module of the program, so leave out those that named_modules() did not
    give.
    """

    def register(self) -> None:
        names = {module: name for name, module in self.modules()}
        self.handles.append(
            register_module_forward_hook(
                lambda module, args, output: self.hook(names.get(module, ""))(module, args, output)
            )
        )


@activation_recorder.mistake()
class OutputCopied(Right):
    """The caller gets an object that the module did not return: the numbers are the same. Perhaps the hook
    returns its copy: let it return nothing.
    """

    def hook(self, name: str) -> Callable[..., Any]:
        def record(module: nn.Module, args: Any, output: Any) -> Any:
            if not isinstance(output, Tensor):
                return None
            self.keep(name, self.copy(output))
            return output.clone()

        return record


@activation_recorder.mistake()
class NewestFirst(Right):
    """The list begins with the newest call. The first entry is that of the first call."""

    def keep(self, name: str, value: Tensor) -> None:
        self.activations.setdefault(name, []).insert(0, value)


@activation_recorder.mistake()
class SomethingElseOfIt(Right):
    """Not the output was recorded, but something computed from it, of a different shape: a mean, a flat copy, one row."""

    def copy(self, output: Tensor) -> Tensor:
        return output.detach().flatten().clone()


@activation_recorder.variant(SomethingElseOfIt)
class _(Right):
    def copy(self, output: Tensor) -> Tensor:
        return output.detach().mean(0)


@activation_recorder.variant(SomethingElseOfIt)
class _(Right):
    def copy(self, output: Tensor) -> Tensor:
        return output.detach().mean()


@activation_recorder.variant(SomethingElseOfIt)
class _(Right):
    def copy(self, output: Tensor) -> Tensor:
        return output[0].detach().clone()


@activation_recorder.mistake()
class OutputsHeldBeside(Right):
    """The copies are right, and the recorder holds the outputs as well: their memory and their graph live on with it."""

    def keep(self, name: str, value: Tensor) -> None:
        super().keep(name, value)
        self.held.append(self.last)

    def copy(self, output: Tensor) -> Tensor:
        self.last = output
        return output.detach().clone()

    def __enter__(self) -> Any:
        self.held: list[Tensor] = []
        return super().__enter__()
