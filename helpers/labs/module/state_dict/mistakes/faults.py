"""What people write for load_state_dict of 05.state_dict, and why it is wrong: files that do not fit, and assign."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.module.state_dict.right import Keys, Load, load, loads, modules, own


@loads.mistake()
class FirstFaultOnly(Load):
    """The first fault is raised where it is met. Whoever loads a renamed checkpoint wants the whole list, and
    what comes after the fault is not loaded.
    """

    strict = True

    def misfit(self, key: str) -> None:
        raise RuntimeError(f"size mismatch for {key}")

    def lacks(self, key: str) -> None:
        if self.strict:
            raise RuntimeError(f"missing {key}")
        self.missing.append(key)

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        self.strict = strict
        return Load.__call__(self, module, sd, strict, assign)


@loads.variant(FirstFaultOnly)
class _(Load):
    """Shapes only; the names are collected."""

    def misfit(self, key: str) -> None:
        raise RuntimeError(f"size mismatch for {key}")


@loads.variant(FirstFaultOnly)
class _(Load):
    """All shapes before all names."""

    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        for errors in (self.errors, strict and missing, strict and unexpected):
            if errors:
                raise RuntimeError("; ".join(errors))


@loads.variant(FirstFaultOnly)
class _(Load):
    """All names before all shapes."""

    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        for errors in (strict and missing, strict and unexpected, self.errors):
            if errors:
                raise RuntimeError("; ".join(errors))


@loads.variant(FirstFaultOnly)
class _(Load):
    """Names in one error, then shapes in another."""

    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        if strict and missing + unexpected:
            raise RuntimeError(f"missing {missing}, unexpected {unexpected}")
        if self.errors:
            raise RuntimeError("; ".join(self.errors))


@loads.variant(FirstFaultOnly)
class _(Load):
    """Shapes in one error, then names in another."""

    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        if self.errors:
            raise RuntimeError("; ".join(self.errors))
        if strict and missing + unexpected:
            raise RuntimeError(f"missing {missing}, unexpected {unexpected}")


@loads.mistake()
class AllOrNothing(Load):
    """Nothing was loaded because something did not fit. That would be kinder than torch, and is not what it
    does: after the error the model holds a mixture of old and new weights.
    """

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        todo = []
        self.copy = self.assign = lambda *args: todo.append(args)
        found = Load.__call__(self, module, sd, strict, assign)
        for args in todo:
            (Load.assign if assign else Load.copy)(self, *args)
        return found


@loads.variant(AllOrNothing)
class _(Load):
    """The names are compared before anything is copied; the shapes while copying."""

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        known = {prefix + name for prefix, part in modules(module) for name, _ in own(part)}
        missing, unexpected = [key for key in known if key not in sd], [key for key in sd if key not in known]
        extra = any("_extra_state" in key for key in unexpected)
        if strict and not extra and missing + unexpected:
            fits = {key: value.shape for prefix, part in modules(module) for key, value in own(part)}
            bad = [key for key in sd if key in known and fits.get(key.rpartition(".")[2]) is None]
            shapes = {
                prefix + name: value.shape for prefix, part in modules(module) for name, value in own(part)
            }
            bad += [key for key in sd if key in known and shapes[key] != sd[key].shape]
            raise RuntimeError("; ".join(missing + unexpected + bad))
        return Load.__call__(self, module, sd, strict, assign)


@loads.mistake()
class KeysNotNamed(Load):
    """The error says that something is wrong, and not what. With 300 keys in the file, the names are what is
    needed.
    """

    def misfit(self, key: str) -> None:
        self.errors.append("size mismatch")

    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        Load.complain(self, ["keys"] if missing else [], ["keys"] if unexpected else [], strict)


@loads.variant(KeysNotNamed)
class _(Load):
    """Their number."""

    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        if self.errors or (strict and missing + unexpected):
            raise RuntimeError(
                f"{len(missing)} missing, {len(unexpected)} unexpected, {len(self.errors)} misfits"
            )


@loads.mistake()
class StrictIgnored(Load):
    """strict=True was no different from strict=False: a model that got none of the file's weights trains on
    from random numbers, and nobody is told.
    """

    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        Load.complain(self, missing, unexpected, False)


@loads.mistake()
class AlwaysStrict(Load):
    """strict=False raised, too. It is the way to load the backbone of a model whose head has another name."""

    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        Load.complain(self, missing, unexpected, True)


@loads.mistake()
class UnexpectedUnseen(Load):
    """Keys that the module does not know were passed over. A renamed layer then looks as if it had been
    loaded.
    """

    def unexpected(self, module: nn.Module, sd: Any) -> list[str]:
        return []


@loads.mistake()
class MissingUnseen(Load):
    """Names that the file lacks were passed over. These layers keep their random numbers."""

    def lacks(self, key: str) -> None:
        pass


@loads.variant(MissingUnseen)
class _(Load):
    """An unexpected key, too."""

    def lacks(self, key: str) -> None:
        pass

    def unexpected(self, module: nn.Module, sd: Any) -> list[str]:
        return []


@loads.mistake()
class MissingAndUnexpectedSwapped(Load):
    """What the file lacks was called unexpected, and what only the file has, missing. Seen from the model:
    missing is what it wanted and did not get.
    """

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        missing, unexpected = Load.__call__(self, module, sd, strict, assign)
        return unexpected, missing


@loads.mistake()
class ShapesNotCompared(Load):
    """The shapes were not compared: copy_ broadcasts, so that one row of a file fills all rows of a weight
    without an error.
    """

    def fits(self, old: Tensor, new: Any) -> bool:
        return True


@loads.variant(ShapesNotCompared)
class _(Load):
    """What does not broadcast is told."""

    def fits(self, old: Tensor, new: Any) -> bool:
        try:
            return torch.broadcast_shapes(old.shape, new.shape) == old.shape
        except RuntimeError:
            return False


@loads.variant(ShapesNotCompared)
class _(Load):
    """Sizes only."""

    def fits(self, old: Tensor, new: Any) -> bool:
        return old.numel() == new.numel() or new.numel() == 1


@loads.mistake()
class MisfitsSkipped(Load):
    """A tensor of another shape was skipped without a word, or only where strict is False. strict is about
    names; in torch another shape is always an error.
    """

    def misfit(self, key: str) -> None:
        pass


@loads.variant(MisfitsSkipped)
class _(Load):
    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        if strict:
            Load.complain(self, missing, unexpected, strict)


@loads.variant(MisfitsSkipped)
class _(Load):
    """Called missing."""

    def misfit(self, key: str) -> None:
        self.missing.append(key)


@loads.mistake()
def returns_nothing(*args: Any, **options: Any) -> None:
    """The lists of missing and unexpected names were not returned. With strict=False they are all that tells
    the caller what happened.
    """
    load(*args, **options)
