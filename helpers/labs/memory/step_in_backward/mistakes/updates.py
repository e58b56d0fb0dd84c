"""Mistakes in the step, and in what becomes of gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Variable
from torch.autograd.graph import register_multi_grad_hook

from helpers.labs.memory.step_in_backward.exercise import (
    AT_ONCE,
    SAME,
    STEP,
    step_in_backward,
)
from helpers.labs.memory.step_in_backward.right import Right


def as_function(written: type[Right]) -> Callable[..., Any]:
    """The answer is a function of the model and of make."""
    return lambda model, make: written(model, make)()


bank = step_in_backward.bank(as_function)
Optimizer = torch.optim.Optimizer


def _trained(model: nn.Module) -> list[nn.Parameter]:
    return [each for each in model.parameters() if each.requires_grad]


@bank.mistake(breaks=STEP)
class LateBinding(Right):
    """Only the last parameter was updated. Perhaps the hooks are defined in a loop, and see its variable as
    it is when they run: all of them step the last optimizer.
    """

    def __call__(self) -> Any:
        handles = []
        for each in self.parameters():
            optimizer = self.make([each])

            def hook(parameter: Tensor) -> None:
                optimizer.step()  # noqa: B023
                parameter.grad = None

            handles.append(self.register(each, hook))
        return handles


@bank.variant(LateBinding)
class _(Right):
    latest: Any = None

    def hook(self, optimizer: Optimizer) -> Callable[[Tensor], None]:
        self.latest = optimizer
        return Right.hook(self, optimizer)

    def step(self, optimizer: Optimizer, parameter: Tensor) -> None:
        self.latest.step()


@bank.mistake(breaks=STEP)
class NoStep(Right):
    """No parameter was updated, and no gradient is left. Perhaps `.grad` is set to None before the step,
    which then finds nothing.
    """

    def step(self, optimizer: Optimizer, parameter: Tensor) -> None:
        parameter.grad = None
        optimizer.step()


@bank.mistake(breaks=STEP)
class StepNow(Right):
    """An optimizer made a step when the hooks were set, before any backward. With gradients that are there
    already, the weights change.
    """

    def optimizer(self, parameter: nn.Parameter) -> Optimizer:
        made = self.make([parameter])
        made.step()
        return made


@bank.mistake(breaks=STEP)
class HookOfTheGradient(Right):
    """The backward left its gradients in `.grad`. Perhaps the hook is `register_hook`: it is given the
    gradient before that is added to `.grad`, and what the hook clears there comes back.
    """

    def register(self, parameter: nn.Parameter, hook: Callable[[Tensor], None]) -> Any:
        def with_gradient(gradient: Tensor) -> None:
            parameter.grad = gradient
            hook(parameter)

        return parameter.register_hook(with_gradient)


@bank.mistake(breaks=STEP)
class OneBackwardLate(Right):
    """The first backward updated nothing, and the next one did. Perhaps the hook is `register_hook`, which
    runs before the gradient is in `.grad`: a step then uses that of the backward before.
    """

    def register(self, parameter: nn.Parameter, hook: Callable[[Tensor], None]) -> Any:
        return parameter.register_hook(lambda gradient: hook(parameter))


@bank.mistake(breaks=STEP)
class OneHookForAll(Right):
    """The weights are right, and a gradient is left, of the parameter that comes last in the backward. Perhaps
    one hook waits for all gradients (`register_multi_grad_hook`), which runs before the last is added to `.grad`;
    or each hook clears the gradient of the one before.
    """

    def __call__(self) -> Any:
        parameters = list(self.parameters())
        optimizers = [self.make([each]) for each in parameters]

        def complete(gradients: Sequence[Tensor | None]) -> None:
            for each, optimizer, gradient in zip(parameters, optimizers, gradients, strict=True):
                if gradient is not None:
                    each.grad = gradient.clone()
                    optimizer.step()
                each.grad = None

        return [register_multi_grad_hook(parameters, complete)]


@bank.variant(OneHookForAll)
class _(Right):
    before: Any = None

    def clear(self, optimizer: Optimizer, parameter: Tensor) -> None:
        if self.before is not None:
            self.before.grad = None
        self.before = parameter


@bank.mistake(breaks=STEP)
class HookOfTheModule(Right):
    """Some parameters were updated, and the first layer's were not: their gradients are left. Perhaps the hook is one
    of modules (`register_full_backward_hook`), which may run before the gradients of the parameters are there.
    """

    def __call__(self) -> Any:
        handles = []
        for module in self.model.modules():
            own = [each for each in module.parameters(recurse=False) if each.requires_grad]
            if own:
                handles.append(module.register_full_backward_hook(self.after([self.make([p]) for p in own])))
        return handles

    def after(self, optimizers: list[Optimizer]) -> Callable[..., None]:
        def run(*_: Any) -> None:
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad()

        return run


@bank.mistake(breaks="`make([p])` makes an optimizer of the parameter p")
class NoList(Right):
    """make was given a parameter, and not a list: an optimizer goes through what it is given, and a parameter
    is a tensor.
    """

    def optimizer(self, parameter: nn.Parameter) -> Optimizer:
        return self.make(parameter)  # type: ignore[arg-type]


@bank.mistake(breaks=STEP)
class TopLevelOnly(Right):
    """No parameter was updated, all gradients are left, and the list of handles is empty: no hook was set.
    Perhaps only the parameters that the model itself holds were asked for (`recurse=False`).
    """

    def parameters(self) -> Iterable[nn.Parameter]:
        return [each for each in self.model.parameters(recurse=False) if each.requires_grad]


@bank.mistake(breaks=STEP)
class HooksAreCollected(Right):
    """Handles were returned, no parameter was updated, and all gradients are left: no hook ran. Perhaps the
    hooks sit on something that nobody keeps, such as a node of the graph. It works until the garbage collector
    runs, which takes node and hook away, and the check lets it run before the first backward.
    """

    def register(self, parameter: nn.Parameter, hook: Callable[[Tensor], None]) -> Any:
        node = torch.autograd.graph.get_gradient_edge(parameter).node
        return node.register_hook(lambda *_: (hook(parameter), node)[0])


@bank.mistake(breaks=SAME)
class GradientsAreClipped(Right):
    """All parameters were updated, in the right direction, and not as far as by the plain step. Perhaps the
    gradient is clipped or divided before the step: it is to be used as it came.
    """

    def step(self, optimizer: Optimizer, parameter: Tensor) -> None:
        nn.utils.clip_grad_norm_([parameter], 1e-3)
        optimizer.step()


@bank.variant(GradientsAreClipped)
class _(Right):
    def step(self, optimizer: Optimizer, parameter: Tensor) -> None:
        parameter.grad /= 6
        optimizer.step()


@bank.mistake(breaks=SAME)
class SkipsNotFinite(Right):
    """A gradient had an entry that is inf or nan, and its parameter stayed as it was: no step was made with it. A
    `GradScaler` does that; the plain step uses each gradient as it came.
    """

    def step(self, optimizer: Optimizer, parameter: Tensor) -> None:
        if parameter.grad.isfinite().all():
            optimizer.step()


@bank.variant(SkipsNotFinite)
class _(Right):
    """The norm is inf or nan as soon as an entry is."""

    def step(self, optimizer: Optimizer, parameter: Tensor) -> None:
        if not parameter.grad.norm().isnan():
            optimizer.step()


@bank.mistake(breaks=SAME)
class SkipsZeros(Right):
    """A gradient of zeros came, and its parameter stayed as it was. Perhaps zeros were taken for "not reached": such
    a parameter has no gradient at all, and with zeros momentum, weight decay and Adam move on.
    """

    def step(self, optimizer: Optimizer, parameter: Tensor) -> None:
        if parameter.grad.any():
            optimizer.step()


@bank.variant(SkipsZeros)
class _(Right):
    def step(self, optimizer: Optimizer, parameter: Tensor) -> None:
        if parameter.grad.norm() > 1e-12:
            optimizer.step()


@bank.mistake(breaks=SAME)
class RepairsNotFinite(Right):
    """A gradient had an entry that is inf or nan, and its parameter moved and is finite even so. Perhaps the gradient
    was repaired (`nan_to_num`) or clamped: the plain step uses each gradient as it came.
    """

    def step(self, optimizer: Optimizer, parameter: Tensor) -> None:
        parameter.grad.nan_to_num_(0, 0, 0)
        optimizer.step()


@bank.variant(RepairsNotFinite)
class _(Right):
    def step(self, optimizer: Optimizer, parameter: Tensor) -> None:
        parameter.grad.nan_to_num_(nan=0, posinf=math.inf)
        optimizer.step()


@bank.variant(RepairsNotFinite)
class _(Right):
    def step(self, optimizer: Optimizer, parameter: Tensor) -> None:
        parameter.grad.clamp_(-1e6, 1e6)
        optimizer.step()


@bank.mistake(breaks=AT_ONCE)
class StepTwice(Right):
    """All parameters were updated twice as far as by the plain step. Perhaps the step is made twice a
    backward, or two hooks make it.
    """

    def step(self, optimizer: Optimizer, parameter: Tensor) -> None:
        optimizer.step()
        optimizer.step()


@bank.mistake(breaks=STEP)
class WeightsOnly(Right):
    """The weights of the layers were updated, and their biases were not: `model.parameters()` has all."""

    def parameters(self) -> Iterable[nn.Parameter]:
        return [each for each in self.model.parameters() if each.requires_grad and each.dim() > 1]


# Gradients.


@bank.mistake(breaks=AT_ONCE)
class GradientsStay(Right):
    """The weights are right, and all gradients are still there: `.grad` is to be None again. The next
    backward would add to them.
    """

    def clear(self, optimizer: Optimizer, parameter: Tensor) -> None:
        pass


@bank.mistake(breaks=AT_ONCE)
class ZerosStay(Right):
    """The weights are right, and `.grad` is a tensor of zeros: as much memory as before. `set_to_none=False`,
    or `zero_()`, saves nothing.
    """

    def clear(self, optimizer: Optimizer, parameter: Tensor) -> None:
        optimizer.zero_grad(set_to_none=False)


@bank.variant(ZerosStay)
class _(Right):
    def clear(self, optimizer: Optimizer, parameter: Tensor) -> None:
        parameter.grad.zero_()


@bank.mistake(breaks=AT_ONCE)
class AllAtTheEnd(Right):
    """The weights are right here, and all gradients were alive at the same time: the steps were made when the last
    one was complete. That saves nothing.
    """

    def __call__(self) -> Any:
        parameters = list(self.parameters())
        optimizers = [self.make([each]) for each in parameters]

        def at_the_end() -> None:
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad()

        def hook(parameter: Tensor) -> None:
            if not self.waits:
                self.waits = True
                Variable._execution_engine.queue_callback(self.end(at_the_end))

        return [self.register(each, hook) for each in parameters]

    waits = False

    def end(self, work: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            self.waits = False
            work()

        return run


@bank.variant(AllAtTheEnd)
class _(Right):
    def __call__(self) -> Any:
        parameters, ready = list(self.parameters()), []
        optimizers = {each: self.make([each]) for each in parameters}

        def hook(parameter: Tensor) -> None:
            ready.append(parameter)
            if len(ready) == len(parameters):
                while ready:
                    optimizers[ready[-1]].step()
                    ready.pop().grad = None

        return [self.register(each, hook) for each in parameters]


@bank.mistake(breaks=AT_ONCE)
class OneBehind(Right):
    """When a gradient was complete, that of the parameter before was still there. Perhaps each hook makes the
    step of the one before, or waits for the other parameter of its layer.
    """

    last: Any = None

    def hook(self, optimizer: Optimizer) -> Callable[[Tensor], None]:
        def complete(parameter: Tensor) -> None:
            if self.last is None:
                Variable._execution_engine.queue_callback(self.work)
            else:
                self.work()
            self.last = (optimizer, parameter)

        return complete

    def work(self) -> None:
        optimizer, parameter = self.last
        optimizer.step()
        parameter.grad = self.last = None


@bank.variant(OneBehind)
class _(Right):
    """Weight and bias of a layer at once."""

    def __call__(self) -> Any:
        handles, seen = [], set()
        for module in self.model.modules():
            own = {
                each: self.make([each])
                for each in module.parameters(recurse=False)
                if each.requires_grad and each not in seen
            }
            seen.update(own)
            handles += [self.register(each, self.both(own)) for each in own]
        return handles

    def both(self, own: dict[nn.Parameter, Optimizer]) -> Callable[[Tensor], None]:
        def complete(parameter: Tensor) -> None:
            if all(each.grad is not None for each in own):
                for each, optimizer in own.items():
                    optimizer.step()
                    each.grad = None

        return complete


@bank.mistake(breaks=AT_ONCE)
class GradientsAreKept(Right):
    """`.grad` was None, and the gradients were alive even so: something keeps the tensors, a list or a dict
    perhaps. A memory is free when nobody holds it.
    """

    def __init__(self, model: nn.Module, make: Any) -> None:
        super().__init__(model, make)
        self.kept: list[Tensor] = []

    def step(self, optimizer: Optimizer, parameter: Tensor) -> None:
        self.kept.append(parameter.grad)
        optimizer.step()


@bank.mistake(breaks=AT_ONCE)
class LastGradientIsKept(Right):
    """`.grad` was None, and the memory of the gradient before was alive even so: a variable keeps it until
    the next one takes its place.
    """

    def step(self, optimizer: Optimizer, parameter: Tensor) -> None:
        self.gradient = parameter.grad
        optimizer.step()
