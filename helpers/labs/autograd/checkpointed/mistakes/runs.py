"""What people write for 03.checkpointed: how often fn runs, what is kept, which gradients arrive."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import torch
import torch.utils.checkpoint
from torch import Tensor
from torch.autograd import Function
from torch.autograd.graph import saved_tensors_hooks

from helpers.labs.autograd.checkpointed.exercise import checkpointed

Fn = Callable[..., Tensor]


class Around:
    """What a run of fn finds around itself: the generator's state and autocast. A right one; parts can be left out."""

    def __init__(self) -> None:
        self.rng = torch.get_rng_state()
        self.enabled, self.dtype = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")

    @contextlib.contextmanager
    def again(self, rng: bool = True, back: str = "always", autocast: bool = True) -> Iterator[None]:
        """back: when the generator is put back to where the program was: "always", "never", "unless it raises"."""
        now = torch.get_rng_state()
        if rng:
            torch.set_rng_state(self.rng)
        keep = contextlib.nullcontext() if not autocast else torch.autocast("cpu", self.dtype, self.enabled)
        try:
            with torch.enable_grad(), keep:
                yield
        except BaseException:
            if back == "always":
                torch.set_rng_state(now)
            raise
        if back != "never":
            torch.set_rng_state(now)


def detached(arg: Any) -> Any:
    return arg.detach().requires_grad_(arg.requires_grad) if isinstance(arg, Tensor) else arg


def backward_into_all(out: Tensor, copies: list, grad_out: Tensor, retain_graph: bool = False) -> list:
    """As torch.autograd.backward(out, grad_out), which imports sympy: it reaches fn's parameters, too."""
    if out.requires_grad:
        with torch.enable_grad():
            total = (out * grad_out).sum()
        total.backward(retain_graph=retain_graph)
    return [copy.grad if isinstance(copy, Tensor) else None for copy in copies]


def grads_of_inputs(out: Tensor, copies: list, grad_out: Tensor) -> list:
    """torch.autograd.grad for the inputs alone. The graph is kept."""
    wanted = [copy for copy in copies if isinstance(copy, Tensor) and copy.requires_grad]
    if not out.requires_grad:
        return [None] * len(copies)
    with torch.enable_grad():
        total = (out * grad_out).sum()
    grads = iter(torch.autograd.grad(total, wanted, retain_graph=True, allow_unused=True))
    return [next(grads) if isinstance(copy, Tensor) and copy.requires_grad else None for copy in copies]


def function(
    *,
    copy: Callable[[Any], Any] = detached,
    around: Callable[[], Any] = Around,
    how: dict[str, Any] | None = None,
    run_backward: Callable[[Tensor, list, Tensor], list] = backward_into_all,
    first_run: Callable[[Any, Fn, list], Tensor] = lambda ctx, fn, args: fn(*args),
    second_run: Callable[[Fn, list], Tensor] = lambda fn, copies: fn(*copies),
) -> Callable[..., Tensor]:
    """A right checkpointed, made with a Function, of which one part is exchanged for a wrong one."""

    class Recompute(Function):
        @staticmethod
        def forward(ctx: Any, fn: Fn, *args: Any) -> Tensor:
            ctx.fn, ctx.around = fn, around()
            ctx.others = [None if isinstance(arg, Tensor) else arg for arg in args]
            ctx.places = [at for at, arg in enumerate(args) if isinstance(arg, Tensor)]
            ctx.save_for_backward(*(args[at] for at in ctx.places))
            return first_run(ctx, fn, list(args))

        @staticmethod
        def backward(ctx: Any, grad_out: Tensor) -> tuple:
            args = list(ctx.others)
            for at, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
                args[at] = tensor
            copies = [copy(arg) for arg in args]
            with ctx.around.again(**(how or {})):
                out = second_run(ctx.fn, copies)
            return None, *run_backward(out, copies, grad_out)

    return Recompute.apply


@checkpointed.mistake()
def not_checkpointed(fn: Fn, *args: Any) -> Tensor:
    """fn ran in forward and not in backward, and no Function stands behind the result. Perhaps this is fn
    itself: every intermediate is kept, and nothing is computed twice.
    """
    return fn(*args)


@checkpointed.mistake()
def graph_kept(fn: Fn, *args: Any) -> Tensor:
    """fn ran in forward and not in backward. Perhaps it ran with grad mode on, and its result was kept for
    the backward: with it the whole graph is kept, with every intermediate. A Function's forward must not
    record anything.
    """

    class Kept(Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Tensor:
            ctx.copies = [detached(arg) for arg in args]
            with torch.enable_grad():
                ctx.out = fn(*ctx.copies)
            return ctx.out.detach()

        @staticmethod
        def backward(ctx: Any, grad_out: Tensor) -> tuple:
            return tuple(backward_into_all(ctx.out, ctx.copies, grad_out))

    return Kept.apply(*args)


@checkpointed.mistake(
    breaks="After forward, what fn computed on the way is gone: of the bytes that autograd saves without a checkpoint, three quarters or more are not saved."
)
def recorded_and_recomputed(fn: Fn, *args: Any) -> Tensor:
    """fn is computed again in the backward, and after the forward what it computed is still held. Perhaps its
    first run was recorded as well: twice the work, and not a byte less.
    """

    def first_run(ctx: Any, fn: Fn, args: list) -> Tensor:
        with torch.enable_grad():
            ctx.first = fn(*(detached(arg) for arg in args))
        return ctx.first.detach()

    return function(first_run=first_run)(fn, *args)


@checkpointed.mistake()
def intermediates_in_half(fn: Fn, *args: Any) -> Tensor:
    """All gradients are different ones. Perhaps what is saved was packed into fewer bytes by
    saved_tensors_hooks: that is no checkpointing, as fn runs once, and rounded numbers come back.
    """
    with saved_tensors_hooks(lambda tensor: tensor.half(), lambda kept: kept.double()):
        return fn(*args)


@checkpointed.mistake()
def offloaded(fn: Fn, *args: Any) -> Tensor:
    """fn is not run again in backward. Perhaps a copy of each intermediate is kept elsewhere: that moves the
    memory, it does not save any.
    """
    with saved_tensors_hooks(lambda tensor: tensor.numpy(force=True).copy(), torch.from_numpy):
        return fn(*args)


@checkpointed.variant(offloaded)
def _(fn: Fn, *args: Any) -> Tensor:
    with torch.autograd.graph.save_on_cpu():
        return fn(*args)


@checkpointed.mistake()
def once_per_saved_tensor(fn: Fn, *args: Any) -> Tensor:
    """fn ran several times in one backward. Perhaps once for each tensor that autograd asks for: run it for the
    first one, and keep what it saves for the others.
    """
    return by_hooks(fn, args, once=False)


def by_hooks(fn: Fn, args: tuple, once: bool) -> Tensor:
    """With saved_tensors_hooks: a saved tensor is packed into its number."""
    around, packed, again = Around(), [], []

    def pack(tensor: Tensor) -> int:
        packed.append(None)
        return len(packed) - 1

    def keep(tensor: Tensor) -> Tensor:
        again.append(tensor.detach())
        return tensor.detach()

    def unpack(number: int) -> Tensor:
        if not again or not once:
            again.clear()
            with around.again(), saved_tensors_hooks(keep, lambda tensor: tensor):
                fn(*(detached(arg) for arg in args))
        return again[number]

    with saved_tensors_hooks(pack, unpack):
        return fn(*args)


@checkpointed.mistake()
def once_per_gradient(fn: Fn, *args: Any) -> Tensor:
    """fn ran twice in backward. Perhaps once for the inputs and once more for its parameters, or once for each
    argument: one backward through one run gives all gradients.
    """

    def second_run(fn: Fn, copies: list) -> Tensor:
        now = torch.get_rng_state()
        fn(*copies)
        torch.set_rng_state(now)
        return fn(*copies)

    return function(second_run=second_run)(fn, *args)


@checkpointed.mistake()
def parameters_lost(fn: Fn, *args: Any) -> Tensor:
    """fn's own parameters get no gradient and never train. Perhaps torch.autograd.grad was called for the
    inputs alone: torch.autograd.backward(out, grad_out) fills the .grad of the parameters, too.
    """
    return function(run_backward=grads_of_inputs)(fn, *args)


@checkpointed.mistake()
def inputs_lost(fn: Fn, *args: Any) -> Tensor:
    """The inputs get no gradient, and fn's parameters get theirs. Perhaps fn ran again on detached copies:
    detach() gives a tensor that does not require grad. Set requires_grad as it was.
    """
    return function(copy=lambda arg: arg.detach() if isinstance(arg, Tensor) else arg)(fn, *args)


@checkpointed.mistake()
def not_detached(fn: Fn, *args: Any) -> Tensor:
    """The inner backward did not end at the arguments: perhaps fn ran again on the arguments themselves, and not on
    detached copies. It then goes on into the layers before, which are walked twice: torch raises, or counts twice.
    """

    def with_grad(out: Tensor, inputs: list, grad_out: Tensor) -> list:
        found = grads_of_inputs(out, inputs, grad_out)
        backward_into_all(out, [], grad_out, retain_graph=True)
        return found

    return function(copy=lambda arg: arg, run_backward=with_grad)(fn, *args)


@checkpointed.variant(not_detached)
def _(fn: Fn, *args: Any) -> Tensor:
    return function(copy=lambda arg: arg)(fn, *args)


@checkpointed.mistake()
def ignores_grad_out(fn: Fn, *args: Any) -> Tensor:
    """backward must begin with grad_out: out.sum().backward() is the gradient of a different loss, one that adds
    all entries up.
    """

    def of_sum(out: Tensor, copies: list, grad_out: Tensor) -> list:
        with torch.enable_grad():
            total = out.sum()
        return backward_into_all(total, copies, torch.ones_like(total))

    return function(run_backward=of_sum)(fn, *args)


@checkpointed.mistake()
def no_grad_forward(fn: Fn, *args: Any) -> Tensor:
    """The result does not require grad. Perhaps torch.no_grad() stands around fn alone, which cuts off the
    result, too: no Function stands there to tell the backward what to do.
    """
    with torch.no_grad():
        return fn(*args)


@checkpointed.mistake()
def grad_mode_off_in_backward(fn: Fn, *args: Any) -> Tensor:
    """fn ran again in backward, and no gradient came out of it. A backward runs with grad mode off: perhaps fn, or a
    sum of its result, was computed there without torch.enable_grad(), and so not recorded.
    """

    def unrecorded(fn: Fn, copies: list) -> Tensor:
        with torch.no_grad():
            return fn(*copies)

    return function(second_run=unrecorded)(fn, *args)


@checkpointed.variant(grad_mode_off_in_backward)
def _(fn: Fn, *args: Any) -> Tensor:
    def of_sum(out: Tensor, copies: list, grad_out: Tensor) -> list:
        out.sum().backward()
        return [copy.grad for copy in copies]

    return function(run_backward=of_sum)(fn, *args)


@checkpointed.mistake(
    breaks="The arguments and fn's parameters get the gradients that they get without a checkpoint"
)
def leaf_that_leads_nowhere(fn: Fn, *args: Any) -> Tensor:
    """No gradient came, and fn did not run again. Perhaps fn ran under no_grad, and requires_grad_() was called on its
    result: that makes a leaf, from which no way leads to the arguments. A Function makes a node.
    """
    with torch.no_grad():
        out = fn(*args)
    return out.requires_grad_() if out.is_floating_point() else out


@checkpointed.mistake()
def returns_a_tuple(fn: Fn, *args: Any) -> Any:
    """fn returns one tensor, and a tuple came back: return that tensor. Perhaps it was wrapped for a fn with
    several outputs.
    """
    return (function()(fn, *args),)


_ALL: list[Tensor] = []


@checkpointed.mistake(
    breaks="After backward nothing of either run is kept, but the result by whoever holds it."
)
def kept_for_ever(fn: Fn, *args: Any) -> Tensor:
    """What fn computed outlives the backward, the result and the loss: perhaps a list or a dict holds it that nobody
    empties. After some steps the memory is full.
    """

    def kept(out: Tensor, copies: list, grad_out: Tensor) -> list:
        _ALL.append(out)
        return backward_into_all(out, copies, grad_out, retain_graph=True)

    return function(run_backward=kept)(fn, *args)


@checkpointed.variant(kept_for_ever)
def _(fn: Fn, *args: Any) -> Tensor:
    def kept(out: Tensor, copies: list, grad_out: Tensor) -> list:
        _ALL.append(out.detach())
        return backward_into_all(out, copies, grad_out)

    return function(run_backward=kept)(fn, *args)


@checkpointed.mistake(breaks="After backward nothing of either run is kept")
def kept_with_the_loss(fn: Fn, *args: Any) -> Tensor:
    """Backward is over, and what fn computed lives on until the loss is dropped: perhaps as an attribute of ctx, or in a
    closure. Let go of it when the gradients are there.
    """

    def first_run(ctx: Any, fn: Fn, args: list) -> Tensor:
        out = fn(*args)
        ctx.first = out.detach()
        return out

    return function(first_run=first_run)(fn, *args)


@checkpointed.variant(kept_with_the_loss)
def _(fn: Fn, *args: Any) -> Tensor:
    held = []

    def first_run(ctx: Any, fn: Fn, args: list) -> Tensor:
        ctx.held = held
        return fn(*args)

    def second_run(fn: Fn, copies: list) -> Tensor:
        held.append(fn(*copies))
        return held[0]

    return function(first_run=first_run, second_run=second_run)(fn, *args)


@checkpointed.mistake(
    breaks="The arguments and fn's parameters get the gradients that they get without a checkpoint"
)
def leaf_with_a_hook(fn: Fn, *args: Any) -> Tensor:
    """With an argument that is used a second time, as in h + checkpointed(fn, h), backward raised: perhaps the result
    is a leaf, and a hook on it starts a backward of its own into the arguments. Torch walks the graph behind h for
    the other path, too, and finds it freed. Return a node of the graph, as a Function makes one.
    """
    return by_a_hook(fn, args, again_on=lambda arg: arg)


@checkpointed.variant(leaf_with_a_hook)
def _(fn: Fn, *args: Any) -> Tensor:
    return by_a_hook(fn, args, again_on=detached)


def by_a_hook(fn: Fn, args: tuple, again_on: Callable[[Any], Any]) -> Tensor:
    """The result is a leaf; its hook runs fn again on again_on(arg), and hands the gradients to the arguments."""
    around = Around()
    with torch.no_grad():
        out = fn(*args)
    if not out.is_floating_point():
        return out
    out = out.detach().requires_grad_()

    def again(grad_out: Tensor) -> None:
        copies = [again_on(arg) for arg in args]
        with around.again():
            second = fn(*copies)
        backward_into_all(second, copies, grad_out)
        for arg, each in zip(args, copies, strict=True):
            if each is not arg and isinstance(arg, Tensor) and each.grad is not None:
                with torch.enable_grad():
                    total = (arg * each.grad).sum()
                total.backward()

    out.register_hook(again)
    return out


@checkpointed.mistake(
    breaks="The arguments and fn's parameters get the gradients that they get without a checkpoint"
)
def first_argument_only(fn: Fn, *args: Any) -> Tensor:
    """An argument that requires grad got no gradient: perhaps only the first one is returned. Backward returns one
    gradient for each of args.
    """

    def first(out: Tensor, copies: list, grad_out: Tensor) -> list:
        grads = backward_into_all(out, copies, grad_out)
        place = next((at for at, grad in enumerate(grads) if grad is not None), -1)
        return [grad if at == place else None for at, grad in enumerate(grads)]

    return function(run_backward=first)(fn, *args)


@checkpointed.mistake(
    breaks="The arguments and fn's parameters get the gradients that they get without a checkpoint"
)
def leaves_counted_twice(fn: Fn, *args: Any) -> Tensor:
    """An argument that is a leaf got its gradient twice: perhaps the second run used the leaf itself. The inner backward
    then fills its .grad, and the Function returns it once more. Use a detached copy of it as well.
    """
    leaves = {id(arg) for arg in args if isinstance(arg, Tensor) and arg.is_leaf}
    return function(copy=lambda arg: arg if id(arg) in leaves else detached(arg))(fn, *args)


@checkpointed.mistake()
def torchs_checkpoint(fn: Fn, *args: Any) -> Tensor:
    """torch.utils.checkpoint was called: it does all of it. Here you write it yourself, once."""

    # Half of it is torch's. All of it imports sympy or torch._dynamo: seconds, in every search for a name.
    def first_run(ctx: Any, fn: Fn, args: list) -> Tensor:
        own = SimpleNamespace(save_for_backward=lambda *tensors: None)
        return torch.utils.checkpoint.CheckpointFunction.forward(own, fn, True, *args)

    return function(first_run=first_run)(fn, *args)


@checkpointed.mistake(breaks="fn runs once in forward and once in backward, not more.")
def twice_in_forward(fn: Fn, *args: Any) -> Tensor:
    """fn ran twice in forward: perhaps once to see whether its result needs a gradient. That costs a whole forward more;
    the second run, in backward, tells it, too.
    """
    state = torch.get_rng_state()
    fn(*args)
    torch.set_rng_state(state)
    return function()(fn, *args)
