"""What people write for 03.checkpointed: the second run finds other random numbers, dtypes or arguments."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from helpers.labs.autograd.checkpointed.exercise import checkpointed
from helpers.labs.autograd.checkpointed.mistakes.runs import (
    Around,
    Fn,
    backward_into_all,
    detached,
    function,
    grads_of_inputs,
)


@checkpointed.mistake()
def rng_ignored(fn: Fn, *args: Any) -> Tensor:
    """The second run drew new random numbers, so dropout had a different mask: the gradients belong to a network
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
    """The second run began with the state in which the first one had left the generator, and drew the numbers
    that come after. Perhaps the state was read after fn had run: read it before.
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
    """Autocast was on again in the second run, and with a different dtype than in the first. Perhaps
    torch.autocast("cpu") took the default: give it torch.get_autocast_dtype("cpu") of the forward.
    """

    class WithoutDtype(Around):
        def __init__(self) -> None:
            super().__init__()
            self.dtype = None

    return function(around=WithoutDtype)(fn, *args)


@checkpointed.mistake(breaks="what is no tensor is the same object.")
def copied_arguments(fn: Fn, *args: Any) -> Tensor:
    """fn got a different object in the place of one that is no tensor. Perhaps a copy: what fn appends to a copied list
    is lost, and so are the gradients of a deep copy of a module. Only tensors are cut off from the graph; hand on all
    else as it is.
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


@checkpointed.variant(copied_arguments)
def _(fn: Fn, *args: Any) -> Tensor:
    return function(copy=lambda arg: list(arg) if isinstance(arg, list) else detached(arg))(fn, *args)


@checkpointed.variant(copied_arguments)
def _(fn: Fn, *args: Any) -> Tensor:
    return function(
        copy=lambda arg: copy.deepcopy(arg) if isinstance(arg, torch.nn.Module) else detached(arg)
    )(fn, *args)


@checkpointed.mistake(
    breaks="If fn's result needs no gradient, its arguments get none from it, and no error comes."
)
def constant_result(fn: Fn, *args: Any) -> Tensor:
    """Where fn's result needs no gradient, it raised: perhaps a backward was started from a result without a graph. Ask
    `out.requires_grad` after the second run; the arguments then get None.
    """

    def always(out: Tensor, copies: list, grad_out: Tensor) -> list:
        with torch.enable_grad():
            total = (out * grad_out).sum()
        total.backward()
        return [copy.grad if isinstance(copy, Tensor) else None for copy in copies]

    return function(run_backward=always)(fn, *args)


@checkpointed.mistake(
    breaks="If fn's result needs no gradient, its arguments get none from it, and no error comes."
)
def zeros_of_a_constant(fn: Fn, *args: Any) -> Tensor:
    """Where fn's result needs no gradient, x has one all the same, perhaps of zeros: an optimizer then decays or moves x. None is
    what autograd itself gives.
    """

    def zeros(out: Tensor, copies: list, grad_out: Tensor) -> list:
        if out.requires_grad:
            return backward_into_all(out, copies, grad_out)
        return [
            torch.zeros_like(copy) if isinstance(copy, Tensor) and copy.requires_grad else None
            for copy in copies
        ]

    return function(run_backward=zeros)(fn, *args)


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
    """Backward returned fewer values than forward has arguments after ctx. Perhaps that for fn is missing: None for fn,
    then one for each of args.
    """

    def without_last(out: Tensor, copies: list, grad_out: Tensor) -> list:
        return backward_into_all(out, copies, grad_out)[:-1]

    return function(run_backward=without_last)(fn, *args)


@checkpointed.variant(gradients_miscounted)
def _(fn: Fn, *args: Any) -> Tensor:
    """Without None for fn."""

    class Recompute(Function):
        @staticmethod
        def forward(ctx: Any, fn: Fn, *args: Any) -> Tensor:
            ctx.fn, ctx.args, ctx.around = fn, args, Around()
            return fn(*args)

        @staticmethod
        def backward(ctx: Any, grad_out: Tensor) -> tuple:
            copies = [detached(arg) for arg in ctx.args]
            with ctx.around.again():
                out = ctx.fn(*copies)
            return tuple(backward_into_all(out, copies, grad_out))

    return Recompute.apply(fn, *args)


@checkpointed.mistake()
def rng_left_rewound(fn: Fn, *args: Any) -> Tensor:
    """After the backward the generator stands where the forward had taken it. Perhaps it was set back for the
    second run and left there: the program draws the same numbers a second time. Put the state back that it
    had before (torch.random.fork_rng).
    """
    return function(how={"back": "never"})(fn, *args)


@checkpointed.mistake(
    breaks="After backward the generator stands where the program had it, also if fn raises in its second run."
)
def rng_left_on_error(fn: Fn, *args: Any) -> Tensor:
    """fn raised in its second run, and the generator was not put back. Perhaps the line that does it stands
    after the run of fn. It belongs in `finally`, or use `with torch.random.fork_rng():`.
    """
    return function(how={"back": "unless it raises"})(fn, *args)


@checkpointed.mistake()
def seeds_both_runs(fn: Fn, *args: Any) -> Tensor:
    """The first run of fn drew other numbers than fn draws without a checkpoint: perhaps a seed is set before each run,
    which makes both alike. Keep the generator's state from before the first run, and set none of your own.
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


_STACK: list[Around] = []


@checkpointed.variant(state_of_the_last_call)
def _(fn: Fn, *args: Any) -> Tensor:
    class Popped:
        def again(self) -> Any:
            return _STACK.pop().again()

    def around() -> Popped:
        _STACK.append(Around())
        return Popped()

    return function(around=around)(fn, *args)


_FNS: list[Fn] = []


@checkpointed.variant(state_of_the_last_call)
def _(fn: Fn, *args: Any) -> Tensor:
    class Popped:
        def again(self) -> Any:
            return _STACK.pop().again()

    def first_run(ctx: Any, fn: Fn, args: list) -> Tensor:
        _STACK.append(Around())
        _FNS.append(fn)
        return fn(*args)

    return function(around=Popped, first_run=first_run, second_run=lambda fn, copies: _FNS.pop()(*copies))(
        fn, *args
    )


@checkpointed.mistake(breaks="`fn(*args)`, without keeping what fn computes on the way")
def first_run_put_back(fn: Fn, *args: Any) -> Tensor:
    """After the forward torch's generator is not where fn would have left it: perhaps it is put back after the first
    run, too. The program then draws fn's numbers a second time. Put it back after the second run only.
    """
    with torch.random.fork_rng(devices=[]):
        return function()(fn, *args)


@checkpointed.mistake()
def autocast_forgotten(fn: Fn, *args: Any) -> Tensor:
    """The second run was outside autocast, and the first one inside. Perhaps nothing was done about it, or the setting
    of a different device was read: autocast is switched off when the backward runs, and float32 is computed in place of
    half precision.
    """
    return function(how={"autocast": False})(fn, *args)


@checkpointed.mistake()
def autocast_only_on(fn: Fn, *args: Any) -> Tensor:
    """The second run was inside autocast, and the first one outside. Perhaps autocast is always on there, or is
    switched on again where it had been on, and nothing else is done: it must be off where it had been off.
    """

    class OnlyOn(Around):
        def again(self) -> Any:
            return super().again(autocast=self.enabled)

    return function(around=OnlyOn)(fn, *args)


@checkpointed.mistake()
def tensors_expected(fn: Fn, *args: Any) -> Tensor:
    """With arguments that are no tensors it raised: perhaps they were treated as tensors are. None, numbers and names have no
    detach() and cannot be saved with save_for_backward: keep them beside it, each in its place.
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
    """A tensor that needs no gradient, such as scale or the indices, required grad in fn, or was to. Perhaps
    requires_grad_(True) was called on every copy: indices cannot require grad at all. Copy requires_grad from
    the argument.
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
checkpointed.variant("parameters_lost")(
    function(run_backward=grads_of_inputs, how={"rng": False, "autocast": False, "back": "never"})
)


@checkpointed.mistake(breaks="fn gets its arguments as they are, both times")
def arguments_left_out(fn: Fn, *args: Any) -> Tensor:
    """fn got fewer arguments than it was given: perhaps those that are None, or false, were left out. Each has its place,
    None too.
    """
    return function(second_run=lambda fn, copies: fn(*(each for each in copies if each is not None)))(
        fn, *args
    )


@checkpointed.variant(arguments_left_out)
def _(fn: Fn, *args: Any) -> Tensor:
    return function(second_run=lambda fn, copies: fn(*(each for each in copies if isinstance(each, Tensor))))(
        fn, *args
    )


@checkpointed.variant(copied_arguments)
def _(fn: Fn, *args: Any) -> Tensor:
    """Before the first run."""
    return function()(fn, *(arg if isinstance(arg, Tensor) else copy.deepcopy(arg) for arg in args))


@checkpointed.variant(copied_arguments)
def _(fn: Fn, *args: Any) -> Tensor:
    """Lists, before the first run."""
    return function()(fn, *(list(arg) if isinstance(arg, list) else arg for arg in args))


@checkpointed.mistake(breaks="That error comes out.")
def error_swallowed(fn: Fn, *args: Any) -> Tensor:
    """fn raised in its second run, and backward ended as if nothing had been: perhaps an `except` that does not raise again.
    Gradients are missing then, and nobody knows.
    """

    def second_run(fn: Fn, copies: list) -> Tensor:
        try:
            return fn(*copies)
        except Exception:
            return torch.zeros(())

    return function(second_run=second_run)(fn, *args)


@checkpointed.mistake(breaks="also if fn raises in its second run")
def not_back_after_an_interrupt(fn: Fn, *args: Any) -> Tensor:
    """After a KeyboardInterrupt in the second run of fn the generator is not back: perhaps `except Exception`, which does not
    catch it. `finally` is there for all.
    """

    class Caught(Around):
        @contextlib.contextmanager
        def again(self, *args: Any, **kwargs: Any) -> Iterator[None]:
            now = torch.get_rng_state()
            try:
                with Around.again(self, back="unless it raises"):
                    yield
            except Exception:
                torch.set_rng_state(now)
                raise

    return function(around=Caught)(fn, *args)


@checkpointed.mistake(
    breaks="The arguments and fn's parameters get the gradients that they get without a checkpoint"
)
def gradients_slip(fn: Fn, *args: Any) -> Tensor:
    """A gradient came for an argument that takes none. Perhaps those of the tensors stand one after the other, and not in the
    places of their arguments: backward returns None for each that is no tensor, or needs no gradient.
    """

    def in_a_row(out: Tensor, copies: list, grad_out: Tensor) -> list:
        grads = [each for each in backward_into_all(out, copies, grad_out) if each is not None]
        return grads + [None] * (len(copies) - len(grads))

    return function(run_backward=in_a_row)(fn, *args)
