"""What people write for 05.mini_module: values that go to the wrong place, or to two places."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.module.mini_module.exercise import mini_module
from helpers.labs.module.mini_module.right import DICTS, Right


@mini_module.mistake()
class TensorsBecomeBuffers(Right):
    """Every tensor that is assigned becomes a buffer. Then each mask or cached activation is saved and moved
    with the model, so torch asks for register_buffer: only what is registered already is a buffer.
    """

    def set_plain(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor):
            self.clear(name, "_buffers")
            self._buffers[name] = value
        else:
            object.__setattr__(self, name, value)


@mini_module.variant(TensorsBecomeBuffers)
class _(Right):
    def set_plain(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor):
            self.register_buffer(name, value)
        else:
            object.__setattr__(self, name, value)


@mini_module.variant(TensorsBecomeBuffers)
class _(Right):
    def set_plain(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor):
            self._buffers[name] = value
        else:
            object.__setattr__(self, name, value)


@mini_module.mistake()
class OldEntryLeft(Right):
    """The old entry under the same name was left where it was. Then register_parameter refuses the name as
    taken; or it stands in two dicts: Python finds what is in __dict__ first, and the name is saved twice.
    Take the old one out first.
    """

    def clear(self, name: str, place: str) -> None:
        pass

    def is_free(self, name: str, place: str) -> bool:
        return not hasattr(type(self), name)


@mini_module.variant(OldEntryLeft)
class _(Right):
    def clear(self, name: str, place: str) -> None:
        for other in DICTS:
            if other != place:
                vars(self)[other].pop(name, None)

    def is_free(self, name: str, place: str) -> bool:
        return not hasattr(type(self), name)


@mini_module.variant(OldEntryLeft)
class _(Right):
    def clear(self, name: str, place: str) -> None:
        vars(self).pop(name, None)

    def is_free(self, name: str, place: str) -> bool:
        return not hasattr(type(self), name)


@mini_module.variant(OldEntryLeft)
class _(Right):
    def clear(self, name: str, place: str) -> None:
        vars(self).pop(name, None)


@mini_module.variant(OldEntryLeft)
class _(Right):
    def clear(self, name: str, place: str) -> None:
        for other in DICTS:
            if other != place:
                vars(self)[other].pop(name, None)


@mini_module.variant(OldEntryLeft)
class _(Right):
    """The same, in a class whose register methods look at nothing."""

    def clear(self, name: str, place: str) -> None:
        pass

    def is_free(self, name: str, place: str) -> bool:
        return True


@mini_module.variant(OldEntryLeft)
class _(Right):
    def clear(self, name: str, place: str) -> None:
        pass


@mini_module.variant(OldEntryLeft)
class _(Right):
    """Only what a module replaces is left."""

    def add_module_entry(self, name: str, value: Any) -> None:
        self._modules[name] = value


@mini_module.variant(OldEntryLeft)
class _(Right):
    """Only what stood in _buffers is left."""

    def clear(self, name: str, place: str) -> None:
        for entries in (
            vars(self),
            *(vars(self)[other] for other in DICTS if other not in (place, "_buffers")),
        ):
            entries.pop(name, None)


@mini_module.variant(OldEntryLeft)
class _(Right):
    """The same, past the check of the name."""

    def clear(self, name: str, place: str) -> None:
        for entries in (
            vars(self),
            *(vars(self)[other] for other in DICTS if other not in (place, "_buffers")),
        ):
            entries.pop(name, None)

    def is_free(self, name: str, place: str) -> bool:
        return not hasattr(type(self), name)


@mini_module.mistake()
class KeptInTwoPlaces(Right):
    """Besides the entry, the value was stored as a plain attribute by super().__setattr__. Reading works; but
    after .to() or a load the entry has changed, and forward still reads the old one.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        Right.__setattr__(self, name, value)
        object.__setattr__(self, name, value)


@mini_module.variant(KeptInTwoPlaces)
class _(Right):
    def store(self, place: str, name: str, value: Any) -> None:
        vars(self)[place][name] = value
        vars(self)[name] = value


@mini_module.variant(KeptInTwoPlaces)
class _(Right):
    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if isinstance(value, nn.Parameter):
            self._parameters[name] = value
        elif isinstance(value, Right):
            self._modules[name] = value


@mini_module.mistake()
class ParametersBecomeBuffers(Right):
    """A Parameter is a Tensor, too: whoever asks isinstance(value, Tensor) first puts it among the buffers,
    and no optimizer ever sees it.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor) and "_buffers" in vars(self):
            self.clear(name, "_buffers")
            self._buffers[name] = value
        else:
            Right.__setattr__(self, name, value)


@mini_module.variant(ParametersBecomeBuffers)
class _(Right):
    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, nn.Parameter) and "_buffers" in vars(self):
            self.clear(name, "_buffers")
            self._buffers[name] = value
        else:
            Right.__setattr__(self, name, value)


@mini_module.mistake()
class ModulesStayPlain(Right):
    """Modules are stored as plain attributes: the call in forward works, and parameters(), state_dict() and
    .to() of the whole never reach the child.
    """

    def add_module_entry(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)


@mini_module.mistake()
class RequiresGradMakesAParameter(Right):
    """Whether a tensor is trained was read from requires_grad. It is the type nn.Parameter that counts: a
    frozen Parameter is one, and the result of a computation is none.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        frozen = isinstance(value, nn.Parameter) and not value.requires_grad
        trained = isinstance(value, Tensor) and value.requires_grad
        if frozen or (trained and not isinstance(value, nn.Parameter)):
            place = vars(self) if frozen else self._parameters
            place[name] = value
        else:
            Right.__setattr__(self, name, value)


@mini_module.mistake()
class AssignedGoesLast(Right):
    """The old entry is taken out, and the new one put at the end of its dict. parameters() then has another
    order, and an optimizer's saved state meets the wrong weights.
    """

    def store(self, place: str, name: str, value: Any) -> None:
        vars(self)[place].pop(name, None)
        vars(self)[place][name] = value


@mini_module.variant(AssignedGoesLast)
class _(Right):
    def clear(self, name: str, place: str) -> None:
        for entries in (vars(self), *(vars(self)[other] for other in DICTS)):
            entries.pop(name, None)


@mini_module.mistake()
class WrittenThrough(Right):
    """A tensor over a Parameter was copied into it. That hides a slip, such as self.w = self.w * 2 in
    forward; torch refuses it, and asks for copy_ where copying is meant.
    """

    def over_parameter(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor):
            with torch.no_grad():
                self._parameters[name].copy_(value)
        else:
            self.register_parameter(name, value)


@mini_module.variant(WrittenThrough)
class _(Right):
    def over_parameter(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor):
            self._parameters[name].data = value
        else:
            self.register_parameter(name, value)


@mini_module.variant(WrittenThrough)
class _(Right):
    def over_parameter(self, name: str, value: Any) -> None:
        self.register_parameter(name, nn.Parameter(value) if isinstance(value, Tensor) else value)
