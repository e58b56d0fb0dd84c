"""What people write for 03.checkpointed: the second run finds other random numbers, dtypes or arguments."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from helpers.labs.autograd.checkpointed import checkpointed
from helpers.labs.autograd.checkpointed_mistakes import (
    Around,
    Fn,
    backward_into_all,
    detached,
    function,
    grads_of_inputs,
    parameters_lost,
)


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
    """The generator's state was kept in one place for all calls: the second call wrote over that of the
    first. What belongs to a call stands on its ctx, or in a closure.
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
