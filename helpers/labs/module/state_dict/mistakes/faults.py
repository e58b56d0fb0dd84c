"""What people write for load_state_dict of 05.state_dict, and why it is wrong: files that do not fit, and assign."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.module.state_dict.right import Keys, Load, has_own, load, loads, modules, own


@loads.mistake()
class FirstFaultOnly(Load):
    """The error names one fault of several, and came before all that fits was loaded: perhaps it is raised where the fault
    is met. Collect the faults, and raise once at the end.
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


def names_of(module: nn.Module) -> set[str]:
    """The names that a file of this module has, extra states too."""
    return {
        *(prefix + name for prefix, part in modules(module) for name, _ in own(part)),
        *(f"{prefix}_extra_state" for prefix, part in modules(module) if has_own(part, "set_extra_state")),
    }


@loads.variant(FirstFaultOnly)
class _(Load):
    """The first unexpected key, before anything is loaded."""

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        for key in sd:
            if strict and key not in names_of(module):
                raise RuntimeError(f"unexpected {key}")
        return Load.__call__(self, module, sd, strict, assign)


@loads.mistake()
class OneFaultTold(Load):
    """All that fits was loaded, and then the error names one fault of a kind, where there are several. Put
    all of them into one message: whoever loads a renamed checkpoint wants the whole list.
    """

    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        for error in (*self.errors, *(missing + unexpected if strict else ())):
            raise RuntimeError(error)


@loads.variant(OneFaultTold)
class _(Load):
    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        for error in (*self.errors, *(unexpected + missing if strict else ())):
            raise RuntimeError(error)


@loads.variant(OneFaultTold)
class _(Load):
    """Of each kind the first."""

    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        Load.complain(self, missing[:1], unexpected[:1], strict)


@loads.variant(OneFaultTold)
class _(Load):
    """Of the shapes the first."""

    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        self.errors = self.errors[:1]
        Load.complain(self, missing, unexpected, strict)


@loads.mistake()
class OneKindTold(Load):
    """The error leaves out all faults of a kind. Missing keys, unexpected keys and different shapes belong
    into one error: whoever mends one kind at a time runs the program many times.
    """

    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        for errors in (self.errors, strict and missing, strict and unexpected):
            if errors:
                raise RuntimeError("; ".join(errors))


@loads.variant(OneKindTold)
class _(Load):
    """All names before all shapes."""

    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        for errors in (strict and unexpected, strict and missing, self.errors):
            if errors:
                raise RuntimeError("; ".join(errors))


@loads.variant(OneKindTold)
class _(Load):
    """Names in one error, then shapes in another."""

    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        if strict and missing + unexpected:
            raise RuntimeError(f"missing {missing}, unexpected {unexpected}")
        if self.errors:
            raise RuntimeError("; ".join(self.errors))


@loads.variant(OneKindTold)
class _(Load):
    """Shapes in one error, then names in another."""

    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        if self.errors:
            raise RuntimeError("; ".join(self.errors))
        if strict and missing + unexpected:
            raise RuntimeError(f"missing {missing}, unexpected {unexpected}")


@loads.variant(OneKindTold)
class _(Load):
    """Before anything is loaded: missing keys."""

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        if strict and (missing := [key for key in names_of(module) if key not in sd]):
            raise RuntimeError(f"missing {missing}")
        return Load.__call__(self, module, sd, strict, assign)


@loads.variant(OneKindTold)
class _(Load):
    """Before anything is loaded: unexpected keys."""

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        if strict and (unexpected := [key for key in sd if key not in names_of(module)]):
            raise RuntimeError(f"unexpected {unexpected}")
        return Load.__call__(self, module, sd, strict, assign)


@loads.variant(OneKindTold)
class _(Load):
    """Before anything is loaded: both kinds of names, and no shapes."""

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        missing = [key for key in names_of(module) if key not in sd]
        if strict and (wrong := missing + [key for key in sd if key not in names_of(module)]):
            raise RuntimeError(f"names {wrong}")
        return Load.__call__(self, module, sd, strict, assign)


@loads.mistake()
class AllOrNothing(Load):
    """Not all that fits was in the module when the error came, perhaps nothing. To load nothing would be kinder than
    torch, and is not what it does: after the error the model holds a mixture of old and new weights.
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
    """The names are compared before anything is copied; the shapes, too."""

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        shapes = {prefix + name: value.shape for prefix, part in modules(module) for name, value in own(part)}
        bad = [key for key in shapes if key in sd and shapes[key] != getattr(sd[key], "shape", None)]
        names = names_of(module)
        wrong = [key for key in names if key not in sd] + [key for key in sd if key not in names]
        if strict and wrong:
            raise RuntimeError("; ".join(wrong + bad))
        return Load.__call__(self, module, sd, strict, assign)


@loads.mistake()
class KeysNotNamed(Load):
    """The error names none of the keys. With 300 of them in a file, the names are what is needed."""

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


@loads.variant(KeysNotNamed)
class _(Load):
    """Before anything is loaded."""

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        if strict and names_of(module) != {*sd}:
            raise RuntimeError("keys")
        return Load.__call__(self, module, sd, strict, assign)


@loads.variant(KeysNotNamed)
class _(Load):
    """Shapes only."""

    def misfit(self, key: str) -> None:
        self.errors.append("size mismatch")


@loads.mistake()
class StrictIgnored(Load):
    """A missing or an unexpected key raised nothing where strict was not given, so that it is True: a model that got none of
    the file's weights trains on from random numbers, and nobody is told.
    """

    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        Load.complain(self, missing, unexpected, False)


@loads.variant(StrictIgnored)
class _(Load):
    """Unexpected keys are returned only."""

    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        Load.complain(self, missing, unexpected, bool(strict and missing))


@loads.variant(StrictIgnored)
class _(Load):
    """Missing keys are returned only."""

    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        Load.complain(self, missing, unexpected, bool(strict and unexpected))


@loads.variant(StrictIgnored)
class _(Load):
    """An empty file is nothing to do."""

    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        Load.complain(self, missing, unexpected, strict and len(missing) < len(self.known))


@loads.mistake()
class AlwaysStrict(Load):
    """strict=False raised, too. It is the way to load the backbone of a model whose head has a different name."""

    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        Load.complain(self, missing, unexpected, True)


@loads.mistake()
class UnexpectedUnseen(Load):
    """Keys that the module does not know, all or some of them, are not among the unexpected ones. A renamed layer then
    looks as if it had been loaded.
    """

    def unexpected(self, module: nn.Module, sd: Any) -> list[str]:
        return []


@loads.variant(UnexpectedUnseen)
class _(Load):
    """The first part of the key decides."""

    def unexpected(self, module: nn.Module, sd: Any) -> list[str]:
        return [key for key in sd if key.split(".")[0] not in {one.split(".")[0] for one in self.known}]


@loads.variant(UnexpectedUnseen)
class _(Load):
    """Known is what begins with a name that is known."""

    def unexpected(self, module: nn.Module, sd: Any) -> list[str]:
        return [key for key in sd if not key.startswith(tuple(self.known))]


@loads.variant(UnexpectedUnseen)
class _(Load):
    """Known is what is part of a name that is known."""

    def unexpected(self, module: nn.Module, sd: Any) -> list[str]:
        return [key for key in sd if not any(key in one for one in self.known)]


@loads.variant(UnexpectedUnseen)
class _(Load):
    """The first part of the key decides: a name of a child, also of one that is None."""

    def unexpected(self, module: nn.Module, sd: Any) -> list[str]:
        return [key for key in Load.unexpected(self, module, sd) if key.split(".")[0] not in module._modules]


@loads.variant(UnexpectedUnseen)
class _(Load):
    """What is None in the file is passed over."""

    def unexpected(self, module: nn.Module, sd: Any) -> list[str]:
        return [key for key in sd if key not in self.known and sd[key] is not None]


@loads.mistake()
class MissingUnseen(Load):
    """Names that the file lacks are not among the missing ones. Nobody is told that these entries keep their random
    numbers.
    """

    def lacks(self, key: str) -> None:
        pass


@loads.variant(UnexpectedUnseen)
class _(Load):
    """Only below a child that is there."""

    def unexpected(self, module: nn.Module, sd: Any) -> list[str]:
        children = {name for name, _ in module.named_children()}
        return [key for key in Load.unexpected(self, module, sd) if key.split(".")[0] in children]


@loads.variant(UnexpectedUnseen)
class _(Load):
    """Only below a child, or a None in its place."""

    def unexpected(self, module: nn.Module, sd: Any) -> list[str]:
        return [key for key in Load.unexpected(self, module, sd) if key.split(".")[0] in module._modules]


@loads.mistake(breaks="(missing, unexpected), two lists of names in any order:")
class NoNameReported(Load):
    """With strict=False neither what the file lacks nor what only the file has was reported: nobody is told that the module has
    got nothing.
    """

    def lacks(self, key: str) -> None:
        pass

    def unexpected(self, module: nn.Module, sd: Any) -> list[str]:
        return []


@loads.mistake(breaks="what the module has and `sd` lacks, and what only `sd` has.")
class PrefixTakenOff(Load):
    """`module.conv.b` of the file was taken for conv.b. Perhaps `module.` is taken off each name, as it is often done to files
    of DistributedDataParallel: that is for whoever has such a file. A name is a name, and this one is unexpected.
    """

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        bare = type(sd)((key.removeprefix("module."), value) for key, value in sd.items())
        return Load.__call__(self, module, bare, strict, assign)


@loads.mistake()
class MissingAndUnexpectedSwapped(Load):
    """What the file lacks was called unexpected, and what only the file has, missing. Seen from the model:
    missing is what it wanted and did not get.
    """

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        missing, unexpected = Load.__call__(self, module, sd, strict, assign)
        return unexpected, missing


def copy_raises(old: Tensor, new: Any) -> bool:
    """What there is to see where nothing is compared."""
    with torch.no_grad():
        old.copy_(new)
    return True


class Unasked(Load):
    """Nothing is asked before the copy."""

    def fits(self, old: Tensor, new: Any) -> bool:
        return True


@loads.mistake()
class CopysOwnError(Unasked):
    """For what does not fit an error came that names no key, and before all that fits was loaded. Perhaps it is the one
    of copy_ itself, or of torch.as_tensor: ask before, and note the key.
    """


@loads.variant(CopysOwnError)
class _(Load):
    """Only for what is no tensor."""

    def fits(self, old: Tensor, new: Any) -> bool:
        return torch.as_tensor(new).shape == old.shape


@loads.mistake()
class ShapesBroadcast(Load):
    """A tensor of a different shape was loaded where it broadcasts, as copy_ does: one row of a file fills all rows of a
    weight without an error.
    """

    def fits(self, old: Tensor, new: Any) -> bool:
        try:
            return torch.broadcast_shapes(old.shape, new.shape) == old.shape
        except RuntimeError:
            return False


@loads.variant(ShapesBroadcast)
class _(Load):
    """What copy_ refuses is noted."""

    def fits(self, old: Tensor, new: Any) -> bool:
        try:
            return copy_raises(old, new)
        except (RuntimeError, TypeError):
            return False


@loads.mistake()
class NumbersCounted(Load):
    """A tensor of a different shape was loaded where it has as many numbers: a (3, 2) went into a (2, 3).
    Compare the shapes.
    """

    def fits(self, old: Tensor, new: Any) -> bool:
        return isinstance(new, Tensor) and old.numel() == new.numel()

    def copy(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        Load.copy(self, module, name, old, new.reshape(old.shape))


@loads.variant(NumbersCounted)
class _(Load):
    """What cannot be reshaped raises at once."""

    def fits(self, old: Tensor, new: Any) -> bool:
        return isinstance(new, Tensor) and (new.reshape(old.shape) is not None)

    def copy(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        Load.copy(self, module, name, old, new.reshape(old.shape))


@loads.variant(ShapesBroadcast)
class _(Load):
    """The dimensions are counted."""

    def fits(self, old: Tensor, new: Any) -> bool:
        return isinstance(new, Tensor) and old.dim() == new.dim() and ShapesBroadcast.fits(self, old, new)


@loads.mistake()
class NoTensorNotExpected(Load):
    """A value of the file that is no tensor ended the load with an error that is no RuntimeError: perhaps it was asked for
    its shape. It is one more fault, to be told with the others at the end.
    """

    def fits(self, old: Tensor, new: Any) -> bool:
        return old.shape == new.shape


@loads.variant(NoTensorNotExpected)
class _(Load):
    def fits(self, old: Tensor, new: Any) -> bool:
        return not isinstance(new, Tensor) or old.shape == new.shape


@loads.mistake()
class NoTensorSkipped(Load):
    """A value of the file that is no tensor was skipped without a word. It is a fault as a different shape is, whatever
    strict is.
    """

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        fine = lambda key: key not in names_of(module) or key.endswith("_extra_state")  # noqa: E731
        left = {key: value for key, value in sd.items() if isinstance(value, Tensor) or fine(key)}
        missing, unexpected = Load.__call__(self, module, left, False, assign)
        missing = [key for key in missing if key not in sd]
        self.complain(missing, unexpected, strict)
        return missing, unexpected


@loads.variant(NoTensorSkipped)
class _(Load):
    """Called missing, so that strict=False is silent."""

    def is_missing(self, key: str, sd: Any) -> bool:
        return not isinstance(sd.get(key), Tensor)


@loads.mistake()
class NoTensorMade(Load):
    """A number or a list in the file was made into a tensor and loaded. torch takes tensors only."""

    def fits(self, old: Tensor, new: Any) -> bool:
        return new is not None and not isinstance(new, str) and old.shape == torch.as_tensor(new).shape

    def copy(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        Load.copy(self, module, name, old, torch.as_tensor(new))


@loads.mistake()
class NoneTakenForMissing(Load):
    """Of the values that are no tensor, some were not told: perhaps get(key) gives None for a key that
    the file has, with None as its value, too. Ask `key in sd`.
    """

    def is_missing(self, key: str, sd: Any) -> bool:
        return sd.get(key) is None


@loads.mistake()
class MisfitsSkipped(Load):
    """For tensors of a different shape nothing was raised, perhaps only where strict is False. strict is about names; in
    torch a different shape is always an error.
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


@loads.mistake(breaks="All faults come in one RuntimeError at the end, when all that fits has been loaded.")
class FaultsRaisedDifferently(Load):
    """For keys that are missing or unexpected an error of a different type came. torch raises RuntimeError for all faults."""

    error: Any = KeyError

    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        try:
            Load.complain(self, missing, unexpected, strict)
        except RuntimeError as error:
            raise self.error(str(error)) from None


for other in (ValueError, TypeError):
    loads.variant(FaultsRaisedDifferently)(type("_", (FaultsRaisedDifferently,), {"error": other}))
