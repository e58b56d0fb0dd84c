"""Mistakes in who gets an optimizer and a hook, in what lives on, and in what is returned."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

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


@bank.mistake(breaks=ONE_EACH)
class MadeInTheHook(Right):
    """The first step is right, and optimizers are made anew in each backward. Where they take the place
    of the first ones, the state is lost: momentum and Adam then always make their first step.
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


@bank.mistake(breaks="`make([p])` is called once for each, in the call")
class MadeLate(Right):
    """The weights are right, and there were no optimizers when the call had returned. Perhaps each is made
    when its hook first runs, by whatever `make` gives at that time.
    """

    def __call__(self) -> Any:
        optimizers: dict[Any, Optimizer] = {}

        def hook(parameter: Tensor) -> None:
            if parameter not in optimizers:
                optimizers[parameter] = self.make([parameter])  # type: ignore[list-item]
            optimizers[parameter].step()
            parameter.grad = None

        return [self.register(each, hook) for each in self.parameters()]


@bank.mistake(breaks=ONE_EACH)
class ChildrenOnly(Right):
    """The parameters that the model itself holds were not updated, and those of its layer were. Perhaps they were
    looked for in the model's children: `model.parameters()` gives both.
    """

    def parameters(self) -> Iterable[nn.Parameter]:
        children = dict.fromkeys(p for child in self.model.children() for p in child.parameters())
        return [each for each in children if each.requires_grad]


@bank.mistake(breaks=ONE_EACH)
class ByShape(Right):
    """Of the parameters of one shape only one was updated. Perhaps they share one optimizer, which is kept by
    something else than the parameter: by its shape, or by its value.
    """

    def __init__(self, model: nn.Module, make: Any) -> None:
        super().__init__(model, make)
        self.by_shape = cache(
            lambda shape: make([each for each in _trained(model) if each.shape == shape][:1])
        )

    def optimizer(self, parameter: nn.Parameter) -> Optimizer:
        return self.by_shape(parameter.shape)


@bank.mistake(breaks=ONE_EACH)
class ByMemory(Right):
    """Of the parameters that are parts of one memory only the first was updated. Perhaps parameters are told apart
    by their memory: these are several, each with a gradient of its own.
    """

    def parameters(self) -> Iterable[nn.Parameter]:
        first: dict[int, nn.Parameter] = {}
        for each in _trained(self.model):
            first.setdefault(each.untyped_storage().data_ptr(), each)
        return list(first.values())


@bank.mistake(breaks=ONE_EACH)
class KeptFromTheCallBefore(Right):
    """A second call for the same model, after the handles of the first were removed, went on with the state of
    the first. Perhaps the optimizers stand in a global dict: each call makes its own.
    """

    known: dict[nn.Parameter, Optimizer] = {}

    def optimizer(self, parameter: nn.Parameter) -> Optimizer:
        if parameter not in self.known:
            self.known[parameter] = self.make([parameter])
        return self.known[parameter]


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


@bank.mistake(breaks=STEP)
class OnceEach(Right):
    """The first backward made the steps, and the second updated nothing, though its gradients are gone. Perhaps
    a set of what was updated is never cleared. "From now on" is for every backward.
    """

    def __init__(self, model: nn.Module, make: Any) -> None:
        super().__init__(model, make)
        self.done: set[Tensor] = set()

    def step(self, optimizer: Optimizer, parameter: Tensor) -> None:
        if parameter not in self.done:
            optimizer.step()
            self.done.add(parameter)


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
class ClearsAllGradients(Right):
    """A gradient was there before, and only some parameters were updated with the sum. Perhaps the hook clears the
    gradients of all (`model.zero_grad()`): those of the others go before the backward has added to them.
    """

    def clear(self, optimizer: Optimizer, parameter: Tensor) -> None:
        self.model.zero_grad()


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
