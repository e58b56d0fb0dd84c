"""What people write for load_state_dict of 05.state_dict with assign=True, and why it is wrong."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from helpers.labs.module.state_dict.right import Keys, Load, loads


@loads.mistake()
class AssignIgnored(Load):
    """With assign=True some or all entries have not the dtype, or the memory, of the file's tensors: perhaps they were copied
    all the same. assign is there for tensors that should not be copied: a file that is mapped into memory, a different dtype.
    """

    def assign(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        self.copy(module, name, old, new)


@loads.variant(AssignIgnored)
class _(Load):
    """A copy of the dtype and in new memory."""

    def assign(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        Load.assign(self, module, name, old, new.clone())


@loads.variant(AssignIgnored)
class _(Load):
    def assign(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        Load.assign(self, module, name, old, new.to(old.dtype))


@loads.variant(AssignIgnored)
class _(Load):
    """Buffers only are copied."""

    def assign(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        (Load.assign if isinstance(old, nn.Parameter) else Load.copy)(self, module, name, old, new)


@loads.variant(AssignIgnored)
class _(Load):
    """Parameters only are copied."""

    def assign(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        (Load.copy if isinstance(old, nn.Parameter) else Load.assign)(self, module, name, old, new)


@loads.mistake()
class AssignIntoTheOld(Load):
    """With assign=True a model on meta could not be filled, or stayed there: perhaps the old Parameters were given the file's
    data. On meta they are of a different kind; new Parameters must take their place.
    """

    def assign(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        old.data = new


@loads.variant(AssignIntoTheOld)
class _(Load):
    """Parameters only."""

    def assign(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        if isinstance(old, nn.Parameter):
            old.data = new
        else:
            setattr(module, name, new)


@loads.mistake()
class AssignNotCompared(Load):
    """With assign=True a tensor of a different shape was put into the module. Shapes are compared whatever the options."""

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        if assign:
            self.fits = lambda old, new: True
        return Load.__call__(self, module, sd, strict, assign)


@loads.mistake()
class AssignWrittenDown(Load):
    """The load wrote into the _metadata of the dict that it was given, as torch does with assign=True: the next load of the
    same dict reads it there. The contract of this exercise is stricter.
    """

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        for about in getattr(sd, "_metadata", {}).values():
            if assign:
                about["assign_to_params_buffers"] = True
        return Load.__call__(self, module, sd, strict, assign)


@loads.variant(AssignWrittenDown)
class _(Load):
    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        for about in getattr(sd, "_metadata", {}).values():
            about["assign_to_params_buffers"] = assign
        return Load.__call__(self, module, sd, strict, assign)


@loads.mistake()
class AssignThaws(Load):
    """After a load with assign=True a Parameter that was frozen requires grad: that is the default of nn.Parameter. A layer
    that was frozen in the model is trained from now on.
    """

    def assign(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        setattr(module, name, nn.Parameter(new) if isinstance(old, nn.Parameter) else new)


@loads.mistake()
class FileThawed(Load):
    """The load changed a Parameter of the file: its requires_grad is a different one now. Perhaps requires_grad_ or detach_ was
    called on the file's own object, as torch does with assign=True; the contract of this exercise is stricter.
    """

    def assign(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        if isinstance(old, nn.Parameter) and isinstance(new, nn.Parameter):
            setattr(module, name, new.requires_grad_(old.requires_grad))
        else:
            Load.assign(self, module, name, old, new)


@loads.variant(FileThawed)
class _(Load):
    """Set before it is wrapped."""

    def assign(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        Load.assign(self, module, name, old, new.requires_grad_(old.requires_grad))


@loads.variant(FileThawed)
class _(Load):
    """For a plain load, too."""

    def assign(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        Load.assign(self, module, name, old, new.requires_grad_(old.requires_grad))

    def copy(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        Load.copy(self, module, name, old, new.requires_grad_(old.requires_grad))


@loads.variant(FileThawed)
class _(Load):
    """Detached in place."""

    def assign(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        Load.assign(self, module, name, old, new.detach_())


@loads.mistake()
class FilesGradientDropped(Load):
    """The load changed the gradient of a Parameter in the file. Perhaps it was cleared, or handed on to the module: the file is
    somebody's, and stays as it is.
    """

    def copy(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        new.grad = None
        Load.copy(self, module, name, old, new)


@loads.variant(FilesGradientDropped)
class _(Load):
    def assign(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        new.grad = None
        Load.assign(self, module, name, old, new)


@loads.mistake()
class FileRewritten(Load):
    """The dict that was given holds different tensors after the load. Perhaps each value was detached, cast or wrapped, and
    written back into the caller's own dict: put such values into a dict of your own.
    """

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        for key, value in list(sd.items()):
            if isinstance(value, Tensor):
                sd[key] = value.detach()
        return Load.__call__(self, module, sd, strict, assign)


@loads.mistake()
class AssignFreezes(Load):
    """After a load with assign=True a Parameter that learned no longer requires grad: perhaps requires_grad was taken from the
    file's tensor, which has none. It is the module's that counts.
    """

    def assign(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        setattr(
            module, name, nn.Parameter(new, requires_grad=False) if isinstance(old, nn.Parameter) else new
        )


@loads.mistake()
class AssignForgives(Load):
    """With assign=True a missing or an unexpected key is no error, or not reported. Perhaps assign has a way of its own, past
    the lists. The two options have nothing to do with each other.
    """

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        return Load.__call__(self, module, sd, strict and not assign, assign)


@loads.variant(AssignForgives)
class _(Load):
    """No names come back."""

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        found = Load.__call__(self, module, sd, strict, assign)
        return ([], []) if assign else found


@loads.mistake()
class FilesParameterTaken(Load):
    """With assign=True parameters of the module have the requires_grad of the file's Parameters. Perhaps a value that is a
    Parameter was put there as it is: what was frozen in the module must stay so, and what was not, too.
    """

    def assign(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        if isinstance(new, nn.Parameter):
            setattr(module, name, new)
        else:
            Load.assign(self, module, name, old, new)


@loads.mistake()
class AssignPlainTensors(Load):
    """With assign=True a plain tensor was put where a Parameter belongs. Wrap it in nn.Parameter first."""

    def assign(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        setattr(module, name, new)


@loads.variant(AssignPlainTensors)
class _(Load):
    def assign(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        (module._parameters if isinstance(old, nn.Parameter) else module._buffers)[name] = new
