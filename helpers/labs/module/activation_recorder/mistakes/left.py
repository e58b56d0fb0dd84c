"""Recorders that hold on to something, or leave something changed."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from helpers.labs.module.activation_recorder.exercise import activation_recorder
from helpers.labs.module.activation_recorder.mistakes.hooks import RefusedForEver
from helpers.labs.module.activation_recorder.right import Right


@activation_recorder.mistake()
class GradientsCleared(Right):
    """Gradients that were there before the with are gone after it: perhaps zero_grad() was called. A recorder looks on, also
    between backward and step.
    """

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.model.zero_grad()


@activation_recorder.variant(GradientsCleared)
class _(Right):
    def __enter__(self) -> Any:
        self.model.zero_grad()
        return super().__enter__()


@activation_recorder.mistake()
class ErrorKept(Right):
    """After an error the results of modules are alive as long as the recorder: perhaps it keeps the error, whose traceback
    holds the frames of forward with all that they computed.
    """

    def __exit__(self, error_type: Any, error: Any, trace: Any) -> None:
        super().__exit__()
        self.error = error


@activation_recorder.variant(ErrorKept)
class _(Right):
    def __exit__(self, *error: Any) -> None:
        super().__exit__()
        self.error = error


@activation_recorder.mistake()
class HeldUntilTheEnd(Right):
    """Inside the with the outputs are alive though nobody else holds them: in a long with the memory of every
    call, and its graph, is in use. Perhaps the recorder lets go of them at its end only.
    """

    def copy(self, output: Tensor) -> Tensor:
        self.held.append(output)
        return output.detach().clone()

    def __enter__(self) -> Any:
        self.held: list[Tensor] = []
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.held = []


@activation_recorder.mistake()
class SomeHandlesKept(Right):
    """Hooks are left on every second module: perhaps the list of handles was changed while a loop went through it. Go through
    it first, and empty it then.
    """

    def __exit__(self, *error: Any) -> None:
        for handle in self.handles:
            handle.remove()
            self.handles.remove(handle)


@activation_recorder.mistake()
class LastNameOfAShared(Right):
    """A module that stands under two names was recorded under the last one. named_modules() gives it once, under the first."""

    def modules(self) -> Any:
        names = {module: name for name, module in self.model.named_modules(remove_duplicate=False)}
        return [(name, module) for module, name in names.items()]


@activation_recorder.mistake()
class RefusedTooLate(Right):
    """Entered inside its own with, the recorder raised RuntimeError, and the next call was recorded twice:
    perhaps it had registered its hooks once more already. Ask before you register.
    """

    def __enter__(self) -> Any:
        is_inside = bool(self.handles)
        self.register()
        if is_inside:
            raise RuntimeError("on already")
        return self


@activation_recorder.variant(RefusedForEver)
class _(Right):
    used = False

    def __enter__(self) -> Any:
        if self.used:
            raise RuntimeError("used already")
        self.used = True
        return super().__enter__()


@activation_recorder.mistake()
class TrainsAfterwards(Right):
    """After the with parts of the model are in a different mode than before: perhaps model.train() was called, which sets all
    of it. A part may have been in eval mode, as a frozen backbone is.
    """

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.model.train()


@activation_recorder.variant(TrainsAfterwards)
class _(Right):
    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.model.eval()


@activation_recorder.mistake(
    breaks='The names are those of `model.named_modules()`: every module, not only the leaves, the model itself under "".'
)
class OneLevelOnly(Right):
    """The model and its direct children were recorded, and nothing below them: named_modules() goes all the way down."""

    def modules(self) -> Any:
        return [("", self.model), *self.model.named_children()]


@activation_recorder.mistake(breaks="in the order in which the calls end.")
class InOrderOfStart(Right):
    """Of calls inside calls the outer one stands first: perhaps its place is taken when it begins. They are recorded in the
    order in which they end.
    """

    def register(self) -> None:
        for name, module in self.modules():
            self.handles.append(
                module.register_forward_pre_hook(lambda module, args, name=name: self.begin(name))
            )
            self.handles.append(module.register_forward_hook(self.hook(name)))

    def begin(self, name: str) -> None:
        self.activations.setdefault(name, []).append(None)
        self.open.append((self.activations[name], len(self.activations[name]) - 1))

    def hook(self, name: str) -> Any:
        def record(module: nn.Module, args: Any, output: Any) -> None:
            items, place = self.open.pop()
            if isinstance(output, Tensor):
                items[place] = self.copy(output)
            else:
                del items[place]

        return record

    def __enter__(self) -> Any:
        self.open: list[Any] = []
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        for name, items in self.activations.items():
            self.activations[name] = [item for item in items if item is not None]


@activation_recorder.mistake(breaks="After its `with` it can be entered again, and goes on or begins anew.")
class HandlesKeptAfterAnError(Right):
    """After a with that an error ended it cannot be entered again. Perhaps the hooks are removed there, and the list of handles, or the
    mark that says "on", is reset only if all goes well.
    """

    def __exit__(self, *error: Any) -> Any:
        for handle in self.handles:
            handle.remove()
        if error[0] is None:
            self.handles.clear()
