"""What people write for 03.scale_in_place."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from helpers.labs.autograd.scale_in_place import scale_in_place


class Right(Function):
    """The right answer; the wrong ones change one method."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        ctx.mark_dirty(x)
        return x.mul_(scale)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        return grad_out * scale, None if before is None else (grad_out * before).sum()


@scale_in_place.wrong_answer(
    "mark_dirty_forgotten",
    why="Nobody told torch of the edit: x keeps its old grad_fn, and its gradient lacks the scale. `ctx.mark_dirty(x)` "
    "gives x the new node.",
    seen="Nobody told torch of the edit",
)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        return x.mul_(scale)


@scale_in_place.another_form("mark_dirty_forgotten")
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        x.data.mul_(scale)
        return x


@scale_in_place.another_form("mark_dirty_forgotten")
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        x *= scale
        return x.view_as(x)


@scale_in_place.wrong_answer(
    "not_in_place",
    why="x * scale is a new tensor: x keeps its values, and nothing was saved by the edit that did not happen.",
    seen="by the edit that did not happen",
)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        return x * scale


@scale_in_place.wrong_answer(
    "dirty_but_not_edited",
    why="mark_dirty announces an edited input, and what comes back is not that input: each tensor that is marked must be "
    "returned, itself and no copy.",
    seen="mark_dirty announces an edited input",
)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        ctx.mark_dirty(x)
        return x * scale


@scale_in_place.another_form("dirty_but_not_edited")
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        ctx.mark_dirty(x)
        x.mul_(scale)
        return x.clone()


@scale_in_place.wrong_answer(
    "copy_returned",
    why="x is edited, and a copy goes back: two tensors hold one value, and x's own history knows nothing of the edit.",
    seen="two tensors hold one value",
)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        x.mul_(scale)
        return x.clone()


@scale_in_place.wrong_answer(
    "none_for_scale",
    why="None is for numbers. This scale is a tensor that may be a parameter, and with None it never learns.",
    seen="None is for numbers",
)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale)
        ctx.mark_dirty(x)
        return x.mul_(scale)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        (scale,) = ctx.saved_tensors
        return grad_out * scale, None


@scale_in_place.another_form("none_for_scale")
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale)
        ctx.mark_dirty(x)
        return x.mul_(scale)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        (scale,) = ctx.saved_tensors
        return grad_out * scale, None


@scale_in_place.wrong_answer(
    "saved_after_the_edit",
    why="The saved x is the edited one, since both are one memory: the gradient of scale comes out scale times too large. "
    "What the edit destroys must be copied before.",
    seen="What the edit destroys",
)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.mark_dirty(x)
        x.mul_(scale)
        ctx.save_for_backward(scale, x)
        return x


@scale_in_place.another_form("saved_after_the_edit")
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.mark_dirty(x)
        x.mul_(scale)
        ctx.save_for_backward(scale, x.clone() if ctx.needs_input_grad[1] else None)
        return x


@scale_in_place.wrong_answer(
    "divided_by_scale",
    why="x_before = x / scale saves the copy, and fails for scale 0: 0 / 0 is nan.",
    seen="0 / 0 is nan",
)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.mark_dirty(x)
        x.mul_(scale)
        ctx.save_for_backward(scale, x)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, after = ctx.saved_tensors
        return grad_out * scale, (grad_out * after / scale).sum()


@scale_in_place.another_form("divided_by_scale")
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.mark_dirty(x)
        x.mul_(scale)
        ctx.save_for_backward(scale, x / scale if ctx.needs_input_grad[1] else None)
        return x


@scale_in_place.wrong_answer(
    "copied_always",
    why="The copy is for the gradient of scale alone. Where nobody needs that, it costs the memory which the in-place edit "
    "was to save: ask `ctx.needs_input_grad[1]`.",
    seen="which the in-place edit was to save",
)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale, x.clone())
        ctx.mark_dirty(x)
        return x.mul_(scale)


@scale_in_place.wrong_answer(
    "scale_on_ctx",
    why="A tensor put on ctx as an attribute is not watched: after an optimizer's step, backward uses the new scale for "
    "the old forward.",
    seen="the new scale for the old forward",
)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.scale = scale
        ctx.save_for_backward(x.clone() if ctx.needs_input_grad[1] else None)
        ctx.mark_dirty(x)
        return x.mul_(scale)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        (before,) = ctx.saved_tensors
        return grad_out * ctx.scale, None if before is None else (grad_out * before).sum()


@scale_in_place.another_form("scale_on_ctx")
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.scale = scale
        ctx.before = x.clone() if ctx.needs_input_grad[1] else None
        ctx.mark_dirty(x)
        return x.mul_(scale)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return grad_out * ctx.scale, None if ctx.before is None else (grad_out * ctx.before).sum()


@scale_in_place.wrong_answer(
    "silent_second_derivative",
    why="The saved copy of x is neither input nor output, so it is a constant in the second derivative, and nothing says "
    "so. `@once_differentiable` makes it an error.",
    seen="makes it an error",
)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        return grad_out * scale, None if before is None else (grad_out * before).sum()


@scale_in_place.wrong_answer(
    "gradient_not_scaled",
    why="The edit is undone for x in backward: grad_out goes out as it came in, as if x had not been scaled.",
    seen="as if x had not been scaled",
)
class _(Right):
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        _, before = ctx.saved_tensors
        return grad_out, None if before is None else (grad_out * before).sum()


@scale_in_place.wrong_answer(
    "grad_out_ignored",
    why="The gradients are those of y.sum(): right for a gradient of ones, and for no other loss.",
    seen="right for a gradient of ones",
)
class _(Right):
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        return scale.expand_as(grad_out), None if before is None else before.sum()


@scale_in_place.another_form("grad_out_ignored")
class _(Right):
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        scale, before = ctx.saved_tensors
        return torch.ones_like(grad_out) * scale, None if before is None else (grad_out * before).sum()
