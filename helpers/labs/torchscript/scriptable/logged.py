"""What people make of the "ignored" model of 09.scriptable: the classes of its mistakes.

Without `from __future__ import annotations`: the compiler reads the annotations of these classes as objects.
"""

import torch
from torch import Tensor

from helpers.labs.torchscript.scriptable.right import REPAIRED
from helpers.labs.torchscript.shown import broken


class Ignored(broken.Logged):
    @torch.jit.ignore
    def note(self, x: Tensor) -> None:
        super().note(x)


class NoNotes(broken.Logged):
    def forward(self, x: Tensor) -> Tensor:
        y = self.fc(x)
        return y if y.sum() > 0 else -y


class NotesOfScript(broken.Logged):
    @torch.jit.unused
    def note(self, x: Tensor) -> None:
        pass


class OneSign(broken.Logged):
    def forward(self, x: Tensor) -> Tensor:
        if not torch.jit.is_scripting() and self.training:
            self.note(x)
        return self.fc(x).abs()


class Always(broken.Logged):
    @torch.jit.unused
    def note(self, x: Tensor) -> None:
        super().note(x)

    def forward(self, x: Tensor) -> Tensor:
        self.note(x)
        y = self.fc(x)
        return y if y.sum() > 0 else -y


class NotesAlways(REPAIRED["ignored"]):
    def forward(self, x: Tensor) -> Tensor:
        if not torch.jit.is_scripting():
            self.note(x)
        y = self.fc(x)
        return y if y.sum() > 0 else -y


class AtZero(REPAIRED["ignored"]):
    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.note(x)
        y = self.fc(x)
        return y if y.sum() >= 0 else -y


class AboveOne(REPAIRED["ignored"]):
    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.note(x)
        y = self.fc(x)
        return y if y.sum() > 1 else -y


class NotesInEval(REPAIRED["ignored"]):
    def forward(self, x: Tensor) -> Tensor:
        if not torch.jit.is_scripting():
            if not self.training:
                self.note(x)
        y = self.fc(x)
        return y if y.sum() > 0 else -y


class NotesOfFloats(broken.Logged):
    notes: list[float]

    def note(self, x: Tensor) -> None:
        self.notes.append(float(x.mean().item()))


NOTES: list = []


class NotesOfAll(REPAIRED["ignored"]):
    def __init__(self) -> None:
        super().__init__()
        self.notes = NOTES
