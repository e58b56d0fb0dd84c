"""What the checks of several custom Functions share: calling them, asking for gradients, seeing what they keep."""

from __future__ import annotations

import gc
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import BackwardCFunction
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from helpers.check.compare import difference, shown
from helpers.check.trial import Trial

Answer = type[Function]

EDITED = "modified by an inplace operation"


def require_function(answer: Any, trial: Trial) -> None:
    """Says plainly when the class is no `torch.autograd.Function`."""
    if not issubclass(answer, Function):
        answer()  # an untouched stub of a different shape says so here
        trial.fail(
            f"{answer.__name__} is no autograd Function, so torch would not know its backward.",
            expected="class ...(torch.autograd.Function)",
            got=f"a class made from {', '.join(base.__name__ for base in answer.__bases__)}",
            observed="no Function",
        )


def called(answer: Answer, trial: Trial, *args: Any, watched: bool = True) -> Any:
    """`answer.apply(*args)`. watched: wrong if it edits an argument or leaves a switch turned."""
    require_function(answer, trial)

    def applied(*args: Any) -> Any:
        needs = [arg.requires_grad for arg in args if isinstance(arg, Tensor)]
        before = [arg.detach().clone() if isinstance(arg, Tensor) else None for arg in args]
        result = answer.apply(*args)
        for name, arg, copy in zip(names_of(answer), args, before, strict=False):
            edit = None if copy is None else difference(arg.detach(), copy, rtol=0, atol=0)
            trial.true(
                not edit,
                f"forward edited {name}, which belongs to the caller: {edit and edit.sentence}.",
                expected=f"{name} as it was: {shown(copy)}",
                got=shown(arg),
                observed="mutated",
            )
        trial.true(
            needs == [arg.requires_grad for arg in args if isinstance(arg, Tensor)],
            "forward changed requires_grad of what it was given.",
            expected=f"requires_grad={needs[0]}, as before",
            got=f"requires_grad={not needs[0]}",
            observed="requires_grad changed",
        )
        return result

    try:
        return trial.call(applied, *args) if watched else answer.apply(*args)
    except (RuntimeError, TypeError) as error:
        _tell(answer, trial, error, "apply")


def names_of(answer: Answer) -> list[str]:
    """The names of what apply takes, as forward has them."""
    names = list(inspect.signature(answer.forward).parameters)
    return names if answer.setup_context is not Function.setup_context else names[1:]


def is_tensor(trial: Trial, got: Any, what: str = "The result") -> None:
    """Says what is wrong with a result that is no tensor."""
    trial.true(
        type(got) is Tensor,
        f"{what} is no tensor, but {'None' if got is None else 'of type ' + type(got).__name__}."
        + (" Is a `return` missing?" if got is None else ""),
        expected="a Tensor",
        got=got,
        observed=("no tensor", type(got).__name__),
    )


def gradients(
    answer: Answer,
    trial: Trial,
    output: Tensor,
    inputs: Sequence[Tensor],
    grad_out: Tensor | None = None,
    *,
    create_graph: bool = False,
    retain_graph: bool | None = None,
) -> tuple[Tensor | None, ...]:
    """`torch.autograd.grad`; None for an input that was not reached. What torch refuses is told in words."""
    is_tensor(trial, output)
    trial.true(
        output.requires_grad,
        "An input requires grad, and the result does not: the graph is cut.",
        expected="a result with grad_fn",
        got="requires_grad=False",
        observed="result off the graph",
    )
    try:
        return torch.autograd.grad(
            output, inputs, grad_out, create_graph=create_graph, retain_graph=retain_graph, allow_unused=True
        )
    except (RuntimeError, TypeError) as error:
        _tell(answer, trial, error, "backward")
    except AttributeError as error:
        if not retain_graph and (
            sought := re.search(r"Backward' object has no attribute '(\w+)'", str(error))
        ):
            trial.fail(
                f"backward looks for ctx.{sought[1]}, and nothing stands there.",
                expected="what backward needs of forward, under one name in both",
                got=str(error),
                observed="not on ctx",
            )
        raise


def differentiated_again(
    trial: Trial, first: Tensor | None, inputs: Sequence[Tensor], above: Tensor
) -> tuple[Tensor | None, ...]:
    """The derivatives of a gradient that was taken with create_graph=True, by the leaves `inputs`; `above` comes in."""
    is_tensor(trial, first, "The gradient of x")
    trial.true(
        first.requires_grad,
        "With create_graph=True the gradient of x has no graph: what came in had one, and backward cut it.",
        expected="a gradient that depends on the one that came in",
        got="a gradient that does not require grad",
        observed="no graph",
    )
    try:
        first.backward(above)
    except RuntimeError as error:
        if "once_differentiable" not in str(error):
            raise
        trial.fail(
            "The gradient of x cannot be differentiated again: backward is marked once_differentiable.",
            expected="a second derivative",
            got=str(error),
            observed="once",
        )
    found = tuple(each.grad for each in inputs)
    trial.true(
        found[0] is not None,
        "The gradient of x does not depend on the one that came in.",
        expected="a gradient made of grad_out",
        got="no connection (None)",
        observed="cut",
    )
    return found


def gradients_unless_edited(
    answer: Answer, trial: Trial, output: Tensor, inputs: Sequence[Tensor], grad_out: Tensor | None = None
) -> tuple[Tensor | None, ...] | None:
    """The gradients; None where torch refuses because something saved was edited in place."""
    try:
        return gradients(answer, trial, output, inputs, grad_out)
    except RuntimeError as error:
        if EDITED not in str(error):
            raise
        return None


def _tell(answer: Answer, trial: Trial, error: Exception, where: str) -> NoReturn:
    """Says what torch refused, without the class's name in what mistakes are known by; other errors go on."""
    text = str(error).strip().partition("\n")[0]
    name = rf"(?<!\w){re.escape(answer.__name__)}(Backward)?(?!\w)"
    of_torch = re.search(name, text) or re.search(r"(forward|backward|setup_context)\(\)", text)
    if EDITED in text:
        raise RuntimeError(text.partition(": [")[0]) from error
    if "implement either the backward" in text:
        trial.fail("The Function has no backward.", expected="a method backward", observed="no backward")
    if text.startswith("save_for_backward can only save variables"):
        trial.fail(
            f"torch refused what {where} did: {text} (only tensors can be saved so)",
            expected="save_for_backward with a tensor as each argument",
            got=text.rpartition(" ")[2],
            observed="no tensor saved",
        )
    if isinstance(error, NotImplementedError) or not of_torch:
        raise error
    trial.fail(
        f"torch refused what {where} did: {text}",
        observed=("refused", re.sub(r"\S+\(\)", "method", re.sub(name, "Function", text))),
    )


def run_backward(
    answer: Answer, trial: Trial, output: Tensor, inputs: Sequence[Tensor], grad_out: Tensor
) -> None:
    """Runs backward for what it does to its arguments; what is wrong with its gradients, the next property says."""
    try:
        gradients(answer, trial, output, inputs, grad_out)
    except NotImplementedError:
        raise
    except Exception:
        return


def left_alone(trial: Trial, now: Tensor, before: Tensor, name: str) -> None:
    """Wrong if backward has edited a tensor that is not its own."""
    now = now.detach()
    trial.true(
        torch.equal(now, before),
        f"backward edited {name} in place: "
        + (
            "torch may have given the same tensor to other nodes."
            if name == "grad_out"
            else "it belongs to the caller."
        ),
        expected=f"{name} as it was: {shown(before)}",
        got=now,
        observed=(name, "edited"),
    )


def require_node(trial: Trial, output: Tensor) -> Any:
    """The node of `output`, which must be one of a custom Function."""
    node = output.grad_fn
    trial.true(
        isinstance(node, BackwardCFunction),
        f"The result's grad_fn is {type(node).__name__}, a node of torch: the backward that was written is never run.",
        expected="a node made by the Function's own apply",
        got=type(node).__name__,
        observed="a node of torch",
    )
    return node


def require_own_node(trial: Trial, output: Tensor, inputs: Sequence[Tensor]) -> None:
    """The graph of `output` is one node of a custom Function, directly above the leaves `inputs`."""
    node = require_node(trial, output)
    below = [getattr(next_node, "variable", None) for next_node, _ in node.next_functions]
    trial.true(
        len(below) == len(inputs) and all(a is b for a, b in zip(below, inputs, strict=True)),
        "The result's node does not lead straight to the inputs: other nodes stand between.",
        expected="one node, then the inputs",
        got=[type(next_node).__name__ for next_node, _ in node.next_functions],
        observed="nodes between",
    )


class _Made(TorchDispatchMode):
    """Notes, without keeping it alive, every memory that an operation returns."""

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[int, tuple[StorageWeakRef, int]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for item in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(item, Tensor):
                memory = item.untyped_storage()
                self.made[memory._cdata] = StorageWeakRef(memory), memory.nbytes()
        return result


@contextmanager
def counted_memory() -> Iterator[Callable[..., int]]:
    """Yields `kept(*known)`: bytes that operations of the block made and that still live, `known` tensors' left out."""
    recorder = _Made()

    def kept(*known: Tensor) -> int:
        left_out = {tensor.untyped_storage()._cdata for tensor in known}
        return sum(
            size for at, (ref, size) in recorder.made.items() if at not in left_out and not ref.expired()
        )

    with no_collection(), recorder:
        yield kept


@contextmanager
def no_collection() -> Iterator[None]:
    """Without Python's cycle collector: what lives on is held by somebody, if only by itself."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def memory_of(tensor: Tensor) -> StorageWeakRef:
    """A weak reference to the memory of a tensor: `.expired()` when it is free."""
    return StorageWeakRef(tensor.untyped_storage())


def are_right(slopes: Sequence[Tensor | None], wants: Sequence[Tensor]) -> bool:
    """Whether gradients have shapes and values of the right ones."""
    return all(
        slope is not None and slope.shape == want.shape and bool(torch.allclose(slope, want.to(slope.dtype)))
        for slope, want in zip(slopes, wants, strict=True)
    )


Operation = tuple[str, int]  # name and how many numbers it gave


@contextmanager
def recorded() -> Iterator[list[Operation]]:
    """Yields the list of the operations that run in the block."""
    ran: list[Operation] = []

    class Recorder(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            ran.append((func.overloadpacket.__name__, result.numel() if isinstance(result, Tensor) else 0))
            return result

    with Recorder():
        yield ran


def kind_of(got: Tensor | None, **candidates: Tensor) -> Any:
    """Which candidate a gradient is, by name; "other" for none of them."""
    if got is None:
        return "None"
    for name, candidate in candidates.items():
        if got.shape == candidate.shape and torch.allclose(got, candidate.to(got.dtype), equal_nan=True):
            return name
    return "other"
