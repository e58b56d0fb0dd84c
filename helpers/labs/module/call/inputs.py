"""A module with hooks that write down what they are given, played once by torch and once by the answer."""

from __future__ import annotations

import contextlib
import functools
import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch.nn.modules.module as hooks
from torch import nn

from helpers.check.compare import shown
from helpers.check.trial import Trial

MISFIT = "called as hook"
NOTHING = object()  # a hook that returns None


class Boom(Exception):
    """What a hook or forward raises in the check."""


@dataclass
class Hook:
    """One hook. kind: "pre" or "post"; removes: names of hooks that it removes when it runs."""

    name: str
    kind: str
    place: str = "own"
    with_kwargs: bool = False
    always: bool = False
    prepend: bool = False
    returns: Any = NOTHING
    raises: BaseException | None = None
    removes: tuple[str, ...] = ()
    same_as: str = ""  # the name of a hook whose function is registered here once more
    at_first: bool = False  # whether it raises in the first call only
    edits: int | None = None  # what it writes into the kwargs that it is given, as scale
    calls: bool = False  # whether it calls a different module, by what is tried

    def __str__(self) -> str:
        """In words: own pre-hook `a` (prepend), returns 3."""
        options = [name for name in ("with_kwargs", "always", "prepend") if getattr(self, name)]
        message = self.title + (
            f" ({', '.join(options).replace('always', 'always_call')})" if options else ""
        )
        if self.returns is not NOTHING:
            message += f" returns {shown(self.returns)}"
            if isinstance(self.returns, tuple) and type(self.returns) is not tuple:
                message += " (a NamedTuple, and so a tuple)"
        if self.raises:
            message += f" raises {type(self.raises).__name__}" + (
                " in the first call only" if self.at_first else ""
            )
        message += "" if self.edits is None else f" sets kwargs['scale'] = {self.edits}"
        message += ", the same function once more" if self.same_as else ""
        message += " calls a different module (by call)" if self.calls else ""
        return message + (f" removes {' and '.join(self.removes)}" if self.removes else "")

    @property
    def title(self) -> str:
        return f"{self.place} {'pre-hook' if self.kind == 'pre' else 'hook'} {self.name}"


@dataclass
class Inputs:
    """Hooks in the order in which they are registered, and one call of the module."""

    hooks: list[Hook]
    args: tuple = (3,)
    kwargs: dict = field(default_factory=dict)
    raises: BaseException | None = None
    with_child: bool = False
    before: int = 0  # how many calls come before the one that is told; forward raises in the last one only
    own_forward: bool = False  # the module has a forward of its own, beside that of its class

    def __str__(self) -> str:
        listed = "; ".join(map(str, self.hooks)) or "no hooks"
        raised = f"; forward raises {type(self.raises).__name__}" if self.raises else ""
        raised += (
            "; module.forward = ..., a function that belongs to this one module" if self.own_forward else ""
        )
        if self.before:
            raised += f"; {self.before} call before it" + (
                ", in which forward raises nothing" if self.raises else ""
            )
        return f"call(module, {_arguments(self.args, self.kwargs)}), with {listed}{raised}"


@dataclass
class Played:
    """What happened: the events in their order, how the call ended, what was warned of."""

    log: list[str]
    result: Any = None
    error: BaseException | None = None
    warned: list[str] = field(default_factory=list)


class Spy(nn.Module):
    """forward(x, scale=1, shift=0) is x * scale + shift, and a line in the log."""

    def __init__(self, name: str, log: list[str], inputs: Inputs) -> None:
        super().__init__()
        self.name, self.log, self.raises = name, log, inputs.raises
        self.child = Spy("child", log, Inputs([])) if inputs.with_child else None
        if inputs.own_forward:
            self.forward = self.own_forward
        self.past = 0  # calls that have ended
        self.ended = self.broken = False  # whether forward has given a result; whether a hook has raised

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        self.log.append(f"forward of {self.name} gets {_arguments(args, kwargs)}")
        if self.raises:
            raise self.raises
        numbers = [value for value in (*args, *kwargs.values()) if isinstance(value, int)]
        total = sum(place * value for place, value in enumerate(numbers, 2))
        result = total if self.child is None else self.child(total)
        self.ended = True
        return result

    def own_forward(self, *args: Any, **kwargs: Any) -> Any:
        """Twice what the forward of the class gives."""
        self.log.append("the module's own forward is called")
        return 2 * type(self).forward(self, *args, **kwargs)


def played(inputs: Inputs, caller: Callable[..., Any]) -> Played:
    """Builds the module, registers the hooks, and calls `caller(module, *args, **kwargs)`."""
    log: list[str] = []
    module = Spy("module", log, inputs)
    functions: dict[str, Any] = {}
    handles: dict[str, Any] = {}
    happened = Played(log)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            for hook in inputs.hooks:
                handles[hook.name] = _registered(hook, module, log, handles, functions, caller)
            for _ in range(inputs.before):
                module.raises = None
                with contextlib.suppress(Boom):
                    caller(module, *inputs.args, **inputs.kwargs)
                log.append("the first call ends")
                module.raises, module.ended, module.broken = inputs.raises, False, False
                module.past += 1
            happened.result = caller(module, *inputs.args, **inputs.kwargs)
        except NotImplementedError:
            raise
        except BaseException as error:
            happened.error = error
        finally:
            for handle in handles.values():
                handle.remove()
                # torch itself leaves this behind
                hooks._global_forward_hooks_with_kwargs.pop(handle.id, None)
    happened.warned = [str(warning.message) for warning in warned]
    return happened


def _registered(
    hook: Hook,
    module: nn.Module,
    log: list[str],
    handles: dict[str, Any],
    functions: dict[str, Any],
    caller: Callable[..., Any],
) -> Any:
    names = ("args", "kwargs", "output") if hook.with_kwargs else ("args", "output")

    def runs(owner: Spy, *given: Any) -> Any:
        # after an error in a hook the output may be that of forward, the one so far, or None
        is_told = {"output": not (module.broken and owner.ended)}
        description = ", ".join(
            f"{name} {shown(value)}"
            for name, value in zip(names, given, strict=False)
            if is_told.get(name, True)
        )
        log.append(f"{hook.title} at {owner.name} gets {description}")
        for name in hook.removes:
            handles[name].remove()
        if hook.edits is not None:
            given[1]["scale"] = hook.edits
        if hook.calls:
            caller(Spy("a different module", log, Inputs([])), 1)
        if hook.raises and not (hook.at_first and module.past):
            module.broken = True
            raise hook.raises
        return None if hook.returns is NOTHING else hook.returns

    # as strict as hooks that people write: too many or too few arguments raise TypeError
    def pre_hook(module: Any, args: Any) -> Any:
        return runs(module, args)

    def pre_hook_with_kwargs(module: Any, args: Any, kwargs: Any) -> Any:
        return runs(module, args, kwargs)

    def post_hook(module: Any, args: Any, output: Any) -> Any:
        return runs(module, args, output)

    def post_hook_with_kwargs(module: Any, args: Any, kwargs: Any, output: Any) -> Any:
        return runs(module, args, kwargs, output)

    plain, full = (
        (pre_hook, pre_hook_with_kwargs) if hook.kind == "pre" else (post_hook, post_hook_with_kwargs)
    )
    function = full if hook.with_kwargs else plain
    function.__qualname__ = function.__name__.replace("post_", "")  # as errors show it
    function = functions.get(hook.same_as) or _told_if_misfit(function, hook.title, log)
    functions[hook.name] = function
    options = {name: True for name in ("with_kwargs", "prepend") if getattr(hook, name)}
    if hook.kind == "pre":
        if hook.place == "global":
            return hooks.register_module_forward_pre_hook(function)
        return module.register_forward_pre_hook(function, **options)
    options |= {"always_call": True} if hook.always else {}
    if hook.place == "global":
        return hooks.register_module_forward_hook(function, **options)
    return module.register_forward_hook(function, **options)


def _told_if_misfit(function: Callable[..., Any], title: str, log: list[str]) -> Callable[..., Any]:
    """The function, with a line in the log if it is called with arguments that it does not take."""

    @functools.wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        try:
            inspect.signature(function).bind(*given, **named)
        except TypeError as error:
            words = ["module" if isinstance(value, Spy) else shown(value) for value in given]
            words += [f"{name}={shown(value)}" for name, value in named.items()]
            log.append(f"{title} is {MISFIT}({', '.join(words)}): TypeError, {error}")
        return function(*given, **named)

    return called


def require_same(answer: Any, trial: Trial, inputs: Inputs) -> None:
    """Wrong unless the answer makes the events that module(...) makes, and ends as it does."""
    trial.given(str(inputs))
    want, got = (played(inputs, caller) for caller in (lambda module, *a, **k: module(*a, **k), answer))
    for at, (need, have) in enumerate(
        zip([*want.log, "the call ends"], [*got.log, "the call ends"], strict=False), 1
    ):
        if need != have:
            is_misfit = MISFIT in have  # the line says more than the error
            pair_is_taken(trial, inputs, got)
            if not is_misfit and (
                _is_own_fault(got, want) or (have == "the call ends" and _is_foreign(got.error))
            ):
                raise got.error  # told with the line that raised
            # an error of the answer's own, on the way out, may have become a warning
            more = [] if is_misfit else got.warned[len(want.warned) :]
            trial.fail(
                f"Event {at} is a different one than in module(...)."
                + (f" The call warned: {shown(more[0])}." if more else ""),
                expected=f"{at}. {need}",
                got=f"{at}. {have}",
                observed=("log", got.log, ending(got, want), *(["warned"] if more else [])),
            )
    if _is_own_fault(got, want):
        raise got.error
    message, have = ending(want, want), ending(got, want)
    trial.true(
        message == have,
        "The events are right, but the call does not end as module(...) does.",
        expected=f"module(...) {message}",
        got=have,
        observed=("end", have),
    )
    is_the_same = got.result is want.result or not isinstance(want.result, list)
    trial.true(
        is_the_same,
        "The call returned a copy of the result.",
        expected="the very object that the last hook returned",
        got="an equal one",
        observed="a copy",
    )
    trial.true(
        len(got.warned) >= len(want.warned),
        f"{len(want.warned)} of the always_call hooks raised, and {len(got.warned) or 'no'} warning came of it.",
        expected=f"warnings: {len(want.warned)}",
        got=f"warnings: {len(got.warned)}",
        observed=("warnings", len(got.warned)),
    )


def pair_is_taken(trial: Trial, inputs: Inputs, got: Played) -> None:
    """Wrong if an error of the answer's own came of a pair that is of a class below tuple."""
    for hook in inputs.hooks:
        is_named = isinstance(hook.returns, tuple) and type(hook.returns) is not tuple and hook.with_kwargs
        if is_named and _is_foreign(got.error) and got.log and got.log[-1].startswith(f"{hook.title} at "):
            trial.fail(
                f"{hook.title} returned a NamedTuple of two, args and kwargs, and an error came of it.",
                expected="what every tuple of two gives: new args and kwargs",
                got=f"{type(got.error).__name__}: {shown(str(got.error))}",
                observed=("a pair of a class below tuple", type(got.error).__name__),
            )


def ending(happened: Played, want: Played) -> str:
    """How a call ended, in words."""
    error = happened.error
    if error is None:
        return f"returned {shown(happened.result)}"
    if error is want.error:
        return f"raised {type(error).__name__}: {error}"
    return f"raised {'a different ' if type(error) is type(want.error) is Boom else ''}{type(error).__name__}"


def _is_foreign(error: BaseException | None) -> bool:
    """Whether neither a hook nor forward of the check raised this."""
    return isinstance(error, Exception) and not isinstance(error, Boom)


def _is_own_fault(got: Played, want: Played) -> bool:
    """Whether the answer raised an error of its own: it is told with the line that raised."""
    return want.error is None and _is_foreign(got.error)


def _arguments(args: Any, kwargs: dict) -> str:
    return ", ".join([*map(shown, args), *(f"{name}={shown(value)}" for name, value in kwargs.items())])
