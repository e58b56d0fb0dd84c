"""What people write for load_state_dict of 05.state_dict with assign=True, and why it is wrong."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from helpers.labs.module.state_dict.right import Load, loads


@loads.mistake()
class AssignIgnored(Load):
    """assign=True copied all the same. It is there for tensors that should not be copied: a model on the meta
    device, a file that is mapped into memory, another dtype.
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


@loads.mistake()
class AssignThaws(Load):
    """With assign=True each new Parameter requires grad: that is the default of nn.Parameter. A layer that
    was frozen in the model is trained from now on.
    """

    def assign(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        setattr(module, name, nn.Parameter(new) if isinstance(old, nn.Parameter) else new)


@loads.mistake()
class AssignPlainTensors(Load):
    """With assign=True a plain tensor was put where a Parameter belongs. It must be wrapped in nn.Parameter
    first.
    """

    def assign(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        setattr(module, name, new)


@loads.variant(AssignPlainTensors)
class _(Load):
    def assign(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        (module._parameters if isinstance(old, nn.Parameter) else module._buffers)[name] = new
