"""Right answers to 05.call, in different shapes."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.modules.module as hooks
from torch import nn


def plain(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    """The plain answer: one try, and a set of the ids that have begun."""
    result, begun = None, set()
    try:
        for id, hook in [*hooks._global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()]:
            if id in module._forward_pre_hooks_with_kwargs:
                got = hook(module, args, kwargs)
                if got is None:
                    continue
                if not (isinstance(got, tuple) and len(got) == 2):
                    raise RuntimeError(f"a pre-hook with kwargs returns None or (args, kwargs), not {got!r}")
                args, kwargs = got
            elif (got := hook(module, args)) is not None:
                args = got if isinstance(got, tuple) else (got,)
        result = module.forward(*args, **kwargs)
        for id, hook in [*hooks._global_forward_hooks.items(), *module._forward_hooks.items()]:
            begun.add(id)
            takes_kwargs = (
                id in hooks._global_forward_hooks_with_kwargs or id in module._forward_hooks_with_kwargs
            )
            got = hook(module, args, kwargs, result) if takes_kwargs else hook(module, args, result)
            result = result if got is None else got
        return result
    except Exception:
        for id, hook in [*hooks._global_forward_hooks.items(), *module._forward_hooks.items()]:
            is_always = (
                id in hooks._global_forward_hooks_always_called or id in module._forward_hooks_always_called
            )
            if not is_always or id in begun:
                continue
            try:
                takes_kwargs = id in module._forward_hooks_with_kwargs
                hook(module, args, kwargs, result) if takes_kwargs else hook(module, args, result)
            except Exception as error:
                warnings.warn(f"silenced: {error}", stacklevel=2)
        raise


@dataclass
class Registered:
    """A hook with its options, read once."""

    hook: Callable[..., Any]
    with_kwargs: bool
    always: bool = False
    has_begun: bool = False

    def __call__(self, module: nn.Module, args: tuple, kwargs: dict, *output: Any) -> Any:
        self.has_begun = True
        return self.hook(module, args, *([kwargs] if self.with_kwargs else []), *output)


def of_objects(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    """Hooks become objects; what has not begun is known from them."""

    def pre_hooks() -> Iterator[Registered]:
        for hook in hooks._global_forward_pre_hooks.values():
            yield Registered(hook, False)
        for id, hook in module._forward_pre_hooks.items():
            yield Registered(hook, id in module._forward_pre_hooks_with_kwargs)

    def post_hooks() -> Iterator[Registered]:
        for id, hook in hooks._global_forward_hooks.items():
            with_kwargs = id in hooks._global_forward_hooks_with_kwargs
            yield Registered(hook, with_kwargs, id in hooks._global_forward_hooks_always_called)
        for id, hook in module._forward_hooks.items():
            with_kwargs = id in module._forward_hooks_with_kwargs
            yield Registered(hook, with_kwargs, id in module._forward_hooks_always_called)

    output, after = None, None
    try:
        for each in tuple(pre_hooks()):
            new = each(module, args, kwargs)
            if new is None:
                continue
            if each.with_kwargs:
                if not isinstance(new, tuple) or len(new) != 2:
                    raise RuntimeError("expected (args, kwargs)")
                args, kwargs = new
            else:
                args = new if isinstance(new, tuple) else (new,)
        output = module.forward(*args, **kwargs)
        after = tuple(post_hooks())
        for each in after:
            new = each(module, args, kwargs, output)
            if new is not None:
                output = new
    except Exception as first:
        for each in tuple(post_hooks()) if after is None else after:
            if each.always and not each.has_begun:
                try:
                    each(module, args, kwargs, output)
                except Exception as other:
                    warnings.warn(repr(other), RuntimeWarning, stacklevel=1)
        raise first
    return output


def with_a_stack(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    """The clean-up stands in a context manager around the three steps."""
    state = {"args": args, "kwargs": kwargs, "result": None, "done": []}

    def ask(id: int, hook: Callable[..., Any]) -> Any:
        state["done"].append(id)
        own, everywhere = module._forward_hooks_with_kwargs, hooks._global_forward_hooks_with_kwargs
        if own.get(id) or everywhere.get(id):
            return hook(module, state["args"], state["kwargs"], state["result"])
        return hook(module, state["args"], state["result"])

    def always(error_type: type | None, error: BaseException | None, trace: Any) -> bool:
        if error_type is None or not issubclass(error_type, Exception):
            return False
        flags = {**hooks._global_forward_hooks_always_called, **module._forward_hooks_always_called}
        for id, hook in {**hooks._global_forward_hooks, **module._forward_hooks}.items():
            if id in flags and id not in state["done"]:
                try:
                    got = ask(id, hook)
                    state["result"] = state["result"] if got is None else got
                except Exception as other:
                    warnings.warn(str(other), stacklevel=2)
        return False

    with contextlib.ExitStack() as stack:
        stack.push(always)
        for id, hook in {**hooks._global_forward_pre_hooks, **module._forward_pre_hooks}.items():
            has_kwargs = id in module._forward_pre_hooks_with_kwargs
            got = hook(module, state["args"], state["kwargs"]) if has_kwargs else hook(module, state["args"])
            if got is not None and has_kwargs:
                if not isinstance(got, tuple) or len(got) != 2:
                    raise RuntimeError(got)
                state["args"], state["kwargs"] = got
            elif got is not None:
                state["args"] = got if isinstance(got, tuple) else (got,)
        state["result"] = module.forward(*state["args"], **state["kwargs"])
        for id, hook in {**hooks._global_forward_hooks, **module._forward_hooks}.items():
            got = ask(id, hook)
            if got is not None:
                state["result"] = got
        return state["result"]


def with_two_loops_each(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    """Global and own hooks in loops of their own; functions inside, as torch's _call_impl has one."""
    m = torch.nn.modules.module
    result: Any = None
    called: dict[int, bool] = {}

    def after(id: int, hook: Callable[..., Any], with_kwargs: bool) -> None:
        nonlocal result
        called[id] = True
        value = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
        if value is not None:
            result = value

    def inner() -> Any:
        nonlocal args, kwargs, result
        for hook in list(m._global_forward_pre_hooks.values()):
            value = hook(module, args)
            args = args if value is None else value if isinstance(value, tuple) else (value,)
        for id, hook in list(module._forward_pre_hooks.items()):
            if id in module._forward_pre_hooks_with_kwargs:
                value = hook(module, args, kwargs)
                if value is not None:
                    if not isinstance(value, tuple) or len(value) != 2:
                        raise RuntimeError("a pre-hook must return None or a tuple of (new_args, new_kwargs)")
                    args, kwargs = value
                continue
            value = hook(module, args)
            args = args if value is None else value if isinstance(value, tuple) else (value,)
        result = module.forward(*args, **kwargs)
        for id, hook in list(m._global_forward_hooks.items()):
            after(id, hook, id in m._global_forward_hooks_with_kwargs)
        for id, hook in list(module._forward_hooks.items()):
            after(id, hook, id in module._forward_hooks_with_kwargs)
        return result

    try:
        return inner()
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        for place in (m._global_forward_hooks, module._forward_hooks):
            own = place is module._forward_hooks
            flags = module._forward_hooks_always_called if own else m._global_forward_hooks_always_called
            for id in [id for id in place if id in flags and id not in called]:
                with_kwargs = own and id in module._forward_hooks_with_kwargs
                try:
                    (
                        place[id](module, args, kwargs, result)
                        if with_kwargs
                        else place[id](module, args, result)
                    )
                except Exception as other:
                    warnings.warn(
                        f"{type(other).__name__} while {type(error).__name__} was on its way", stacklevel=2
                    )
        raise error


def in_three_parts(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    """The parts are functions; the output of forward is what hooks see after an error."""
    begun: set[int] = set()

    def before() -> None:
        nonlocal args, kwargs
        for id, hook in [*hooks._global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()]:
            if id in module._forward_pre_hooks_with_kwargs:
                got = hook(module, args, kwargs)
                if got is not None:
                    if not isinstance(got, tuple) or len(got) != 2:
                        raise RuntimeError("no pair")
                    args, kwargs = got
            else:
                got = hook(module, args)
                if got is not None:
                    args = got if isinstance(got, tuple) else (got,)

    def listed() -> list[tuple[int, Any, bool]]:
        kwargs_ids = hooks._global_forward_hooks_with_kwargs | module._forward_hooks_with_kwargs
        items = [*hooks._global_forward_hooks.items(), *module._forward_hooks.items()]
        return [(id, hook, id in kwargs_ids) for id, hook in items]

    def after(output: Any) -> Any:
        for id, hook, takes_kwargs in listed():
            begun.add(id)
            got = hook(module, args, kwargs, output) if takes_kwargs else hook(module, args, output)
            if got is not None:
                output = got
        return output

    output = None
    try:
        before()
        output = module.forward(*args, **kwargs)
        return after(output)
    except Exception:
        always = hooks._global_forward_hooks_always_called | module._forward_hooks_always_called
        for id, hook, takes_kwargs in listed():
            if id in always and id not in begun:
                try:
                    hook(module, args, kwargs, output) if takes_kwargs else hook(module, args, output)
                except Exception as error:
                    warnings.warn(repr(error), stacklevel=2)
        raise


RIGHT = [plain, of_objects, with_a_stack, with_two_loops_each, in_three_parts]
