"""What people write for 03.checkpointed, and why it is wrong."""

from __future__ import annotations

import contextlib
import copy
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
    """The result is right, and every intermediate is kept: this is fn itself. Nothing is computed twice,
    nothing is saved.
    """
    return fn(*args)


@checkpointed.mistake()
def graph_kept(fn: Fn, *args: Any) -> Tensor:
    """fn ran with grad mode on, and its result was kept for the backward: with it the whole graph is kept,
    with every intermediate. A Function's forward must not record anything.
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


@checkpointed.mistake()
def recorded_and_recomputed(fn: Fn, *args: Any) -> Tensor:
    """fn is computed again in the backward, but its first run was recorded as well and is still held: twice
    the work, and not a byte less.
    """

    def first_run(ctx: Any, fn: Fn, args: list) -> Tensor:
        with torch.enable_grad():
            ctx.first = fn(*(detached(arg) for arg in args))
        return ctx.first.detach()

    return function(first_run=first_run)(fn, *args)


@checkpointed.mistake()
def intermediates_in_half(fn: Fn, *args: Any) -> Tensor:
    """Packing what is saved into fewer bytes, or on another device, is a use of saved_tensors_hooks, but no
    checkpointing: fn runs once, and rounded numbers come back.
    """
    with saved_tensors_hooks(lambda tensor: tensor.half(), lambda kept: kept.double()):
        return fn(*args)


@checkpointed.mistake()
def offloaded(fn: Fn, *args: Any) -> Tensor:
    """A copy of each intermediate is kept elsewhere: that moves the memory, it does not save any. fn is not
    run again.
    """
    with saved_tensors_hooks(lambda tensor: tensor.numpy(force=True).copy(), torch.from_numpy):
        return fn(*args)


@checkpointed.variant(offloaded)
def _(fn: Fn, *args: Any) -> Tensor:
    with torch.autograd.graph.save_on_cpu():
        return fn(*args)


@checkpointed.mistake()
def once_per_saved_tensor(fn: Fn, *args: Any) -> Tensor:
    """Each tensor that autograd asks for started a run of fn of its own. Run it for the first one, and keep
    what it saves for the others.
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
    """fn was run again once for the inputs and once more for its parameters. One backward through one run
    gives both.
    """

    def second_run(fn: Fn, copies: list) -> Tensor:
        now = torch.get_rng_state()
        fn(*copies)
        torch.set_rng_state(now)
        return fn(*copies)

    return function(second_run=second_run)(fn, *args)


@checkpointed.mistake()
def parameters_lost(fn: Fn, *args: Any) -> Tensor:
    """torch.autograd.grad for the inputs alone does not reach the parameters that fn uses inside: they get no
    gradient and never train. torch.autograd.backward(out, grad_out) fills their .grad.
    """
    return function(run_backward=grads_of_inputs)(fn, *args)


@checkpointed.mistake()
def inputs_lost(fn: Fn, *args: Any) -> Tensor:
    """detach() gives a tensor that does not require grad, so the second run records nothing for it: the
    inputs get no gradient. Set requires_grad as it was.
    """
    return function(copy=lambda arg: arg.detach() if isinstance(arg, Tensor) else arg)(fn, *args)


@checkpointed.mistake()
def not_detached(fn: Fn, *args: Any) -> Tensor:
    """fn ran again on the inputs themselves: the inner backward went on through them into the layers before,
    and what the Function returned came on top. Inputs are counted twice. Use detached copies.
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
    """backward must begin with grad_out: out.sum().backward() is the gradient of another loss, one that adds
    all entries up.
    """

    def of_sum(out: Tensor, copies: list, grad_out: Tensor) -> list:
        with torch.enable_grad():
            total = out.sum()
        return backward_into_all(total, copies, torch.ones_like(total))

    return function(run_backward=of_sum)(fn, *args)


@checkpointed.mistake()
def no_grad_forward(fn: Fn, *args: Any) -> Tensor:
    """torch.no_grad() around fn alone also cuts off the result: no Function stands there to tell the backward
    what to do.
    """
    with torch.no_grad():
        return fn(*args)


@checkpointed.mistake()
def grad_mode_off_in_backward(fn: Fn, *args: Any) -> Tensor:
    """A backward runs with grad mode off, so what was computed there, fn or a sum of its result, was not
    recorded. It needs torch.enable_grad().
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


@checkpointed.mistake()
def returns_a_tuple(fn: Fn, *args: Any) -> Any:
    """The result was wrapped for fn with several outputs; where fn returns one tensor, return that tensor."""
    return (function()(fn, *args),)


_ALL: list[Tensor] = []


@checkpointed.mistake()
def kept_for_ever(fn: Fn, *args: Any) -> Tensor:
    """The result of the second run was put into a list that outlives the backward, and its graph holds all
    intermediates: after some steps the memory is full.
    """

    def kept(out: Tensor, copies: list, grad_out: Tensor) -> list:
        _ALL.append(out)
        return backward_into_all(out, copies, grad_out, retain_graph=True)

    return function(run_backward=kept)(fn, *args)


@checkpointed.mistake()
def torchs_checkpoint(fn: Fn, *args: Any) -> Tensor:
    """Right, of course: torch.utils.checkpoint does all of it. Here you write it yourself, once."""

    # Half of it is torch's. All of it imports sympy or torch._dynamo: seconds, in every search for a name.
    def first_run(ctx: Any, fn: Fn, args: list) -> Tensor:
        own = SimpleNamespace(save_for_backward=lambda *tensors: None)
        return torch.utils.checkpoint.CheckpointFunction.forward(own, fn, True, *args)

    return function(first_run=first_run)(fn, *args)


# The second run finds other random numbers, dtypes or arguments.


@checkpointed.mistake()
def rng_ignored(fn: Fn, *args: Any) -> Tensor:
    """The second run drew new random numbers, so dropout had another mask: the gradients belong to a network
    that never ran. Keep torch.get_rng_state() of the forward.
    """
    return function(how={"rng": False})(fn, *args)


@checkpointed.variant(rng_ignored)
def _(fn: Fn, *args: Any) -> Tensor:
    return function(how={"rng": False, "back": "never"})(fn, *args)


@checkpointed.variant(rng_ignored)
def _(fn: Fn, *args: Any) -> Tensor:
    return function(how={"rng": False, "back": "unless it raises"})(fn, *args)


@checkpointed.mistake(breaks="The second run finds torch's CPU generator as the first run did.")
def rng_taken_too_late(fn: Fn, *args: Any) -> Tensor:
    """The second run began with the state in which the first one had left the generator, and drew the numbers that
    come after: the state was read after fn had run. Read it before.
    """

    class Late(Around):
        pass

    def first_run(ctx: Any, fn: Fn, args: list) -> Tensor:
        out = fn(*args)
        ctx.around.rng = torch.get_rng_state()
        return out

    return function(around=Late, first_run=first_run)(fn, *args)


@checkpointed.mistake(
    breaks="It finds autocast on the CPU as the first run did: whether it is on, and its dtype."
)
def autocast_without_dtype(fn: Fn, *args: Any) -> Tensor:
    """Autocast was on again in the second run, and with a different dtype than in the first: torch.autocast("cpu")
    takes the default unless it is given torch.get_autocast_dtype("cpu") of the forward.
    """

    class WithoutDtype(Around):
        def __init__(self) -> None:
            super().__init__()
            self.dtype = None

    return function(around=WithoutDtype)(fn, *args)


@checkpointed.mistake(breaks="what is no tensor is the same object.")
def copied_arguments(fn: Fn, *args: Any) -> Tensor:
    """The second run got a copy of what is no tensor: the gradients of a module that is an argument end in the
    copy. Only tensors are cut off from the graph; hand on all else as it is.
    """
    return function(copy=lambda arg: detached(arg) if isinstance(arg, Tensor) else copy.deepcopy(arg))(
        fn, *args
    )


@checkpointed.variant(copied_arguments)
def _(fn: Fn, *args: Any) -> Tensor:
    def first_run(ctx: Any, fn: Fn, args: list) -> Tensor:
        ctx.others = copy.deepcopy(ctx.others)
        return fn(*args)

    return function(first_run=first_run)(fn, *args)


@checkpointed.mistake(
    breaks="If fn's result needs no gradient, its arguments get none from it, and no error comes."
)
def constant_result(fn: Fn, *args: Any) -> Tensor:
    """When fn's result needs no gradient, there is nothing to run a backward through, and torch raises. Ask
    `out.requires_grad` first; the arguments then get None.
    """

    def always(out: Tensor, copies: list, grad_out: Tensor) -> list:
        with torch.enable_grad():
            total = (out * grad_out).sum()
        total.backward()
        return [copy.grad if isinstance(copy, Tensor) else None for copy in copies]

    return function(run_backward=always)(fn, *args)


@checkpointed.mistake(
    breaks="The arguments and fn's parameters get the gradients that they get without a checkpoint"
)
def backward_without_grad_out(fn: Fn, *args: Any) -> Tensor:
    """out.backward() without an argument works for one number only. The gradient of the result is what backward
    was given: out.backward(grad_out).
    """

    def bare(out: Tensor, copies: list, grad_out: Tensor) -> list:
        out.backward()
        return [copy.grad for copy in copies]

    return function(run_backward=bare)(fn, *args)


@checkpointed.mistake(
    breaks="The arguments and fn's parameters get the gradients that they get without a checkpoint"
)
def gradients_miscounted(fn: Fn, *args: Any) -> Tensor:
    """A Function's backward returns one value for each argument of forward, in this order: None for fn, then one
    for each of args.
    """

    def without_last(out: Tensor, copies: list, grad_out: Tensor) -> list:
        return backward_into_all(out, copies, grad_out)[:-1]

    return function(run_backward=without_last)(fn, *args)


@checkpointed.mistake()
def rng_left_rewound(fn: Fn, *args: Any) -> Tensor:
    """The generator was set back to the forward's state and left there: from now on the program draws the
    same numbers a second time. Put the state back that it had before (torch.random.fork_rng).
    """
    return function(how={"back": "never"})(fn, *args)


@checkpointed.mistake()
def rng_left_on_error(fn: Fn, *args: Any) -> Tensor:
    """The line that puts the generator back stands after the run of fn, and never runs if fn raises. It
    belongs into `finally`, or use `with torch.random.fork_rng():`.
    """
    return function(how={"back": "unless it raises"})(fn, *args)


@checkpointed.mistake()
def seeds_both_runs(fn: Fn, *args: Any) -> Tensor:
    """A seed set before each run makes both alike, and makes every forward of the program alike, too: each
    step has the same dropout mask. Keep the state, do not set one of your own.
    """

    def seeded(fn: Fn, args: list) -> Tensor:
        torch.manual_seed(0)
        return fn(*args)

    return function(first_run=lambda ctx, fn, args: seeded(fn, args), second_run=seeded)(fn, *args)


_LAST: dict[str, Around] = {}


@checkpointed.mistake()
def state_of_the_last_call(fn: Fn, *args: Any) -> Tensor:
    """With two calls open, the second run of one began with the generator's state of the other: perhaps the state
    is kept in one place for all calls. What belongs to a call stands on its ctx, or in a closure.
    """

    class Shared:
        def again(self) -> Any:
            return _LAST["around"].again()

    def around() -> Shared:
        _LAST["around"] = Around()
        return Shared()

    return function(around=around)(fn, *args)


@checkpointed.mistake()
def autocast_forgotten(fn: Fn, *args: Any) -> Tensor:
    """Autocast is switched off when the backward runs, so the second run computed in float32 what the first
    one had computed in half precision.
    """
    return function(how={"autocast": False})(fn, *args)


@checkpointed.mistake()
def autocast_only_on(fn: Fn, *args: Any) -> Tensor:
    """Autocast was switched on again where it had been on. It must be off, too, where it had been off: a
    backward may be called inside autocast. And it has a dtype.
    """

    class OnlyOn(Around):
        def again(self) -> Any:
            return super().again(autocast=self.enabled)

    return function(around=OnlyOn)(fn, *args)


@checkpointed.mistake()
def tensors_expected(fn: Fn, *args: Any) -> Tensor:
    """fn may have arguments that are no tensors: None, numbers, names. They have no detach() and cannot be
    saved with save_for_backward: keep them beside it.
    """
    return function(copy=lambda arg: arg.detach().requires_grad_(arg.requires_grad))(fn, *args)


@checkpointed.variant(tensors_expected)
def _(fn: Fn, *args: Any) -> Tensor:
    class Saved(Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Tensor:
            ctx.around = Around()
            ctx.save_for_backward(*args)
            return fn(*args)

        @staticmethod
        def backward(ctx: Any, grad_out: Tensor) -> tuple:
            copies = [detached(arg) for arg in ctx.saved_tensors]
            with ctx.around.again():
                out = fn(*copies)
            return tuple(backward_into_all(out, copies, grad_out))

    return Saved.apply(*args)


@checkpointed.mistake()
def all_require_grad(fn: Fn, *args: Any) -> Tensor:
    """requires_grad_(True) on every copy: indices cannot require grad at all, and constants get gradients
    that nobody asked for. Copy requires_grad from the argument.
    """
    return function(copy=lambda arg: arg.detach().requires_grad_() if isinstance(arg, Tensor) else arg)(
        fn, *args
    )


@checkpointed.variant(all_require_grad)
def _(fn: Fn, *args: Any) -> Tensor:
    def copy(arg: Any) -> Any:
        return arg.detach().requires_grad_(arg.is_floating_point()) if isinstance(arg, Tensor) else arg

    return function(copy=copy)(fn, *args)


# What often comes together: the first of the mistakes is named.
checkpointed.variant(rng_ignored)(function(how={"rng": False, "autocast": False}))
checkpointed.variant(autocast_forgotten)(function(how={"autocast": False, "back": "unless it raises"}))
checkpointed.variant(parameters_lost)(
    function(run_backward=grads_of_inputs, how={"rng": False, "autocast": False, "back": "never"})
)
