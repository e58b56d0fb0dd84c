"""What people write for 14.step_in_backward, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Variable

from helpers.labs.memory.step_in_backward.exercise import (
    AT_ONCE,
    FROZEN,
    HANDLES,
    NOT_REACHED,
    ONE_EACH,
    REMOVED,
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


# The step.


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
    """No parameter was updated, and all gradients are left: there is no hook on the parameters of the layers.
    Perhaps only those that the model itself holds were asked for (`recurse=False`), or none.
    """

    def parameters(self) -> Iterable[nn.Parameter]:
        return [each for each in self.model.parameters(recurse=False) if each.requires_grad]


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
    """The weights are right, and all gradients were alive at the same time: the steps were made when the last
    one was complete. That is the plain step, and saves nothing.
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
    step of the one before.
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


# Optimizers.


@bank.mistake(breaks=ONE_EACH)
class MadeInTheHook(Right):
    """The first step is right, and the optimizers are made anew in each backward: their state is lost.
    Momentum and Adam then always make their first step.
    """

    def register(self, parameter: nn.Parameter, hook: Any) -> Any:
        def complete(parameter: Tensor) -> None:
            self.make([parameter]).step()  # type: ignore[list-item]
            parameter.grad = None

        return parameter.register_post_accumulate_grad_hook(complete)

    def optimizer(self, parameter: nn.Parameter) -> Any:
        return None


@bank.mistake(breaks=ONE_EACH)
class StateIsThrownAway(Right):
    """There is one optimizer for each parameter, the first step is right, and the second is not: the state
    did not live on. Perhaps it was cleared to save memory. Momentum and Adam then always make their first
    step.
    """

    def clear(self, optimizer: Optimizer, parameter: Tensor) -> None:
        parameter.grad = None
        optimizer.state.clear()


@bank.mistake(breaks=ONE_EACH)
class OneForAll(Right):
    """make was called with all parameters, and this one optimizer is stepped in each hook. The weights are
    right, since it passes over those without gradient; but every hook goes through all parameters.
    """

    def __call__(self) -> Any:
        optimizer = self.make(list(self.parameters()))
        return [self.register(each, self.hook(optimizer)) for each in self.parameters()]


@bank.mistake(breaks=AT_ONCE)
class AllOptimizersEachTime(Right):
    """The weights are right, and each hook makes a step of every optimizer, not of its own one only. Those without
    gradient pass over it; but the work grows with the square of the number of parameters.
    """

    def __call__(self) -> Any:
        optimizers = [self.make([each]) for each in self.parameters()]

        def complete(parameter: Tensor) -> None:
            for optimizer in optimizers:
                optimizer.step()
            parameter.grad = None

        return [self.register(each, complete) for each in self.parameters()]


@bank.mistake(breaks=ONE_EACH)
class OneALayer(Right):
    """make was called with the parameters of a layer. One optimizer for each parameter was asked."""

    def __call__(self) -> Any:
        handles, seen = [], set()
        for module in self.model.modules():
            own = [
                each for each in module.parameters(recurse=False) if each.requires_grad and each not in seen
            ]
            seen.update(own)
            if own:
                optimizer = self.make(own)
                handles += [self.register(each, self.hook(optimizer)) for each in own]
        return handles


@bank.mistake(breaks=ONE_EACH)
class GivenATuple(Right):
    """make was given a tuple, or something else that is no list. torch's optimizers take it; a `make` that
    changes its list does not.
    """

    def optimizer(self, parameter: nn.Parameter) -> Optimizer:
        return self.make((parameter,))  # type: ignore[arg-type]


@bank.mistake(breaks=ONE_EACH)
class TwiceWhereShared(Right):
    """A parameter that two modules share got two optimizers. `model.parameters()` gives it once; who goes
    through the modules meets it again.
    """

    def parameters(self) -> Iterable[nn.Parameter]:
        return [each for _, each in self.model.named_parameters(remove_duplicate=False) if each.requires_grad]


@bank.variant(TwiceWhereShared)
class _(Right):
    def parameters(self) -> Iterable[nn.Parameter]:
        for module in self.model.modules():
            yield from (each for each in module.parameters(recurse=False) if each.requires_grad)


@bank.mistake(breaks=ONE_EACH)
class MadeTwice(Right):
    """make was called twice with a parameter. Perhaps once to try, and once to keep."""

    def optimizer(self, parameter: nn.Parameter) -> Optimizer:
        self.make([parameter])
        return self.make([parameter])


@bank.mistake(breaks=ONE_EACH)
class ByShape(Right):
    """Parameters of the same shape were not updated. Perhaps they share one optimizer, which is kept by
    something else than the parameter: by its shape, or by its value.
    """

    def __init__(self, model: nn.Module, make: Any) -> None:
        super().__init__(model, make)
        self.by_shape = cache(
            lambda shape: make([each for each in _trained(model) if each.shape == shape][:1])
        )

    def optimizer(self, parameter: nn.Parameter) -> Optimizer:
        return self.by_shape(parameter.shape)


@bank.mistake(breaks=STEP)
class OnceOnly(Right):
    """The first backward made the steps, and a later one did not: perhaps the hooks remove themselves. "From
    now on" is for every backward.
    """

    def __call__(self) -> Any:
        handles: dict[Any, Any] = {}

        def once(optimizer: Optimizer) -> Callable[[Tensor], None]:
            def complete(parameter: Tensor) -> None:
                optimizer.step()
                parameter.grad = None
                handles[parameter].remove()

            return complete

        for each in self.parameters():
            handles[each] = self.register(each, once(self.make([each])))
        return list(handles.values())


# Frozen, not reached, there before.


@bank.mistake(breaks=FROZEN)
class FrozenToo(Right):
    """A hook was set on a frozen parameter, and torch refuses: `requires_grad` is to be asked first."""

    def parameters(self) -> Iterable[nn.Parameter]:
        return self.model.parameters()


@bank.mistake(breaks=FROZEN)
class OptimizersForFrozen(Right):
    """make was called with a frozen parameter, which nobody trains. Only its hook was left out."""

    def __call__(self) -> Any:
        optimizers = {each: self.make([each]) for each in self.model.parameters()}
        return [self.register(each, self.hook(optimizers[each])) for each in self.parameters()]


@bank.mistake(breaks=FROZEN)
class Unfreezes(Right):
    """Frozen parameters require grad now, and are trained."""

    def parameters(self) -> Iterable[nn.Parameter]:
        return [each.requires_grad_() for each in self.model.parameters()]


@bank.mistake(breaks=NOT_REACHED)
class ZerosForTheOthers(Right):
    """A backward reached one branch, and the other one's parameters moved, too. Perhaps they were given a
    gradient of zeros: momentum and Adam move on with that.
    """

    def clear(self, optimizer: Optimizer, parameter: Tensor) -> None:
        parameter.grad = None
        if parameter is self.first:
            for each, other in self.others.items():
                if each.grad is None and each not in self.met:
                    each.grad = torch.zeros_like(each)
                    other.step()
                    each.grad = None
            self.met.clear()
        else:
            self.met.add(parameter)

    def __call__(self) -> Any:
        parameters = list(self.parameters())
        self.first, self.met = parameters[0], set()
        optimizers = {each: self.make([each]) for each in parameters}
        self.others = dict(list(optimizers.items())[2:])
        return [self.register(each, self.hook(optimizers[each])) for each in reversed(parameters)]


@bank.mistake(breaks=SAME)
class ClearsAtTheStart(Right):
    """A gradient was there before the hooks were set, and step_in_backward threw it away. The plain step
    would have used it, too.
    """

    def optimizer(self, parameter: nn.Parameter) -> Optimizer:
        made = self.make([parameter])
        made.zero_grad()
        return made


@bank.mistake(breaks=SAME)
class OnlyWithoutGradients(Right):
    """A gradient was there before, and the parameters that had one are not trained. Perhaps `.grad is None`
    is asked where the hooks are set.
    """

    def parameters(self) -> Iterable[nn.Parameter]:
        return [each for each in _trained(self.model) if each.grad is None]


# Handles.


@bank.mistake(breaks=HANDLES)
class NoHandles(Right):
    """The hooks work, and nothing was returned: nobody can remove them any more. Perhaps a `return` is
    missing.
    """

    def __call__(self) -> Any:
        Right.__call__(self)


@bank.mistake(breaks=HANDLES)
class HandlesInADict(Right):
    """The handles were returned in a dict. A list was asked."""

    def __call__(self) -> Any:
        return dict(enumerate(Right.__call__(self)))


@bank.mistake(breaks=HANDLES)
class HooksForHandles(Right):
    """The list holds the hooks, and no handles: `remove` belongs to what `register_post_accumulate_grad_hook`
    returns.
    """

    def register(self, parameter: nn.Parameter, hook: Callable[[Tensor], None]) -> Any:
        parameter.register_post_accumulate_grad_hook(hook)
        return hook


@bank.mistake(breaks=HANDLES)
class LastHandleOnly(Right):
    """One handle was returned, and there are more hooks. Perhaps the list is made anew for each parameter."""

    def __call__(self) -> Any:
        return Right.__call__(self)[-1:]


@bank.mistake(breaks=REMOVED)
class ASecondHook(Right):
    """All handles are removed, and a backward leaves no gradient: a second hook, whose handle was not
    returned, clears `.grad`.
    """

    def register(self, parameter: nn.Parameter, hook: Callable[[Tensor], None]) -> Any:
        handle = parameter.register_post_accumulate_grad_hook(lambda p: self.step(self.of[p], p))
        parameter.register_post_accumulate_grad_hook(lambda p: self.clear(self.of[p], p))
        return handle

    def optimizer(self, parameter: nn.Parameter) -> Optimizer:
        self.of = getattr(self, "of", {})
        self.of[parameter] = self.make([parameter])
        return self.of[parameter]

    def clear(self, optimizer: Optimizer, parameter: Tensor) -> None:
        parameter.grad = None
