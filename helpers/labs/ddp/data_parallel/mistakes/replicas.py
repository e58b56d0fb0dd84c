"""What people write for 07.data_parallel: replicate and parallel_apply."""

from __future__ import annotations

import copy
import functools
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import torch
from torch import nn

from helpers.check.spec import returned
from helpers.labs.ddp.data_parallel.exercise import data_parallel
from helpers.labs.ddp.data_parallel.mistakes.parts import parts, right_replicate, run_threads

built = data_parallel.bank(returned)


def _deep_copies(module: nn.Module, n: int) -> list[nn.Module]:
    return [copy.deepcopy(module) for _ in range(n)]


def _loaded_copies(module: nn.Module, n: int) -> list[nn.Module]:
    """Copies with Parameters of their own, over the same memory."""
    replicas = _deep_copies(module, n)
    for replica in replicas:
        for own, param in zip(replica.parameters(), module.parameters(), strict=True):
            own.data = param.data
    return replicas


@built.mistake()
def deepcopy():
    """A deep copy has Parameters of its own: gradients arrive there, and are thrown away with the copy. The
    module's own parameters must be in the replicas' graph.
    """
    return parts(replicate=_deep_copies)


data_parallel.variant(deepcopy)(parts(replicate=_loaded_copies))


def _first_is_real(module: nn.Module, n: int) -> list[nn.Module]:
    return [module, *(copy.deepcopy(module) for _ in range(n - 1))]


@built.mistake()
def gradient_of_the_first_only():
    """The module itself is the first replica, the others are deep copies: only the first piece of the batch
    trains.
    """
    return parts(replicate=_first_is_real)


@built.mistake()
def module_is_a_replica():
    """The module itself serves as a replica: what that forward writes on `self` stays, and what the others
    write is lost.
    """
    return parts(replicate=lambda module, n: [module, *right_replicate(module, n - 1)])


@built.mistake()
def one_module_for_all():
    """Every place holds the same module: several threads run one object, and what one of them writes on
    `self` is read by another one.
    """
    return parts(replicate=lambda module, n: [module] * n)


def _one_memo(module: nn.Module, n: int) -> list[nn.Module]:
    """The memo of the first copy gives that copy again."""
    memo: dict[int, Any] = {id(param): param for param in module.parameters()}
    return [copy.deepcopy(module, memo) for _ in range(n)]


data_parallel.variant(one_module_for_all)(parts(replicate=_one_memo))


def _functional(module: nn.Module, n: int) -> list[Any]:
    params = dict(module.named_parameters())

    def call(*args: Any, **kw: Any) -> Any:
        return torch.func.functional_call(module, params, args, kw)

    return [functools.partial(call) for _ in range(n)]


def _functional_with_buffers(module: nn.Module, n: int) -> list[Any]:
    def call(state: dict[str, torch.Tensor], *args: Any, **kw: Any) -> Any:
        return torch.func.functional_call(module, state, args, kw)

    copies = [{name: buffer.clone() for name, buffer in module.named_buffers()} for _ in range(n)]
    return [functools.partial(call, {**dict(module.named_parameters()), **own}) for own in copies]


data_parallel.variant(one_module_for_all)(parts(replicate=_functional))


@built.mistake()
def functional_call_on_one_module():
    """functional_call puts tensors into the one module for the time of the call. Two threads do that at once,
    and each takes out what the other one needs: a skeleton copy a thread.
    """
    return parts(replicate=_functional_with_buffers)


@built.mistake()
def shallow_copies():
    """copy.copy copies the outer object only: all copies hold the same dict of sub-modules and of buffers."""
    return parts(replicate=lambda module, n: [copy.copy(module) for _ in range(n)])


def _skeletons(module: nn.Module, n: int) -> list[nn.Module]:
    """Every module object is new, the dicts, too; parameters and buffers are the module's own."""

    def skeleton(of: nn.Module) -> nn.Module:
        new = copy.copy(of)
        new._parameters, new._buffers = dict(of._parameters), dict(of._buffers)
        new._modules = {name: child and skeleton(child) for name, child in of._modules.items()}
        return new

    return [skeleton(module) for _ in range(n)]


@built.mistake()
def buffers_shared():
    """The replicas hold the module's own buffers: in BatchNorm, all threads edit one running mean, and
    updates are lost by chance.
    """
    return parts(replicate=_skeletons)


def _keeping_all(module: nn.Module, n: int) -> list[nn.Module]:
    keep = {id(each): each for each in (*module.parameters(), *module.buffers())}
    return [copy.deepcopy(module, dict(keep)) for _ in range(n)]


data_parallel.variant(buffers_shared)(parts(replicate=_keeping_all))


@built.mistake()
def replicas_in_eval_mode():
    """The replicas are put into eval mode: dropout and BatchNorm then do in training what they should not do.
    A replica has the mode of its module.
    """
    return parts(replicate=lambda module, n: [replica.eval() for replica in right_replicate(module, n)])


def _loop(mods: list[Any], inputs: list[Any], kwargs: list[dict[str, Any]]) -> list[Any]:
    return [mod(x, **kw) for mod, x, kw in zip(mods, inputs, kwargs, strict=True)]


def _started_and_joined(mods: list[Any], inputs: list[Any], kwargs: list[dict[str, Any]]) -> list[Any]:
    with ThreadPoolExecutor(1) as pool:
        return list(pool.map(lambda mod, x, kw: mod(x, **kw), mods, inputs, kwargs))


@built.mistake()
def one_after_another():
    """The replicas run one after the other: right, and no faster than one. Start all threads before the first
    join.
    """
    return parts(parallel_apply=_loop)


data_parallel.variant(one_after_another)(parts(parallel_apply=_started_and_joined))


def _by_finishing(mods: list[Any], inputs: list[Any], kwargs: list[dict[str, Any]]) -> list[Any]:
    with ThreadPoolExecutor(len(mods)) as pool:
        calls = [pool.submit(mod, x, **kw) for mod, x, kw in zip(mods, inputs, kwargs, strict=True)]
        return [call.result() for call in as_completed(calls)]


def _appended(mods: list[Any], inputs: list[Any], kwargs: list[dict[str, Any]]) -> list[Any]:
    results: list[Any] = []
    run_threads(lambda place: results.append(mods[place](inputs[place], **kwargs[place])), len(mods))
    return results


def _swallowed(mods: list[Any], inputs: list[Any], kwargs: list[dict[str, Any]]) -> list[Any]:
    results: list[Any] = [None] * len(mods)
    grad = torch.is_grad_enabled()

    def run(place: int) -> None:
        with torch.set_grad_enabled(grad):
            results[place] = mods[place](inputs[place], **kwargs[place])

    run_threads(run, len(mods))
    return results


def _kept_by_place(mods: list[Any], inputs: list[Any], kwargs: list[dict[str, Any]]) -> list[Any]:
    results: dict[int, Any] = {}

    def run(place: int) -> None:
        results[place] = mods[place](inputs[place], **kwargs[place])

    run_threads(run, len(mods))
    return [results[place] for place in range(len(mods))]


def _errors_as_results(mods: list[Any], inputs: list[Any], kwargs: list[dict[str, Any]]) -> list[Any]:
    results: list[Any] = [None] * len(mods)

    def run(place: int) -> None:
        try:
            results[place] = mods[place](inputs[place], **kwargs[place])
        except Exception as error:
            results[place] = error

    run_threads(run, len(mods))
    return results


@built.mistake()
def error_lost_in_its_thread():
    """An exception ends its thread and nothing more: Python prints it, and the caller goes on without a
    result. Catch it in the thread, keep it, raise it after the joins.
    """
    return parts(parallel_apply=_swallowed)


data_parallel.variant(error_lost_in_its_thread)(parts(parallel_apply=_kept_by_place))
data_parallel.variant(error_lost_in_its_thread)(parts(parallel_apply=_errors_as_results))


def _text_only(mods: list[Any], inputs: list[Any], kwargs: list[dict[str, Any]]) -> list[Any]:
    found = _errors_as_results(mods, inputs, kwargs)
    if any(isinstance(each, Exception) for each in found):
        raise RuntimeError("a replica failed")
    return found


@built.mistake()
def another_error_raised():
    """A new exception is raised in place of the replica's: its type and its text, which say what went wrong,
    are lost.
    """
    return parts(parallel_apply=_text_only)


def _no_kwargs(mods: list[Any], inputs: list[Any], kwargs: list[dict[str, Any]]) -> list[Any]:
    with ThreadPoolExecutor(len(mods)) as pool:
        return list(pool.map(lambda mod, x: mod(x), mods, inputs))


@built.mistake()
def keywords_not_passed_on():
    """parallel_apply calls each module with its input only."""
    return parts(parallel_apply=_no_kwargs)


def _late_bound(mods: list[Any], inputs: list[Any], kwargs: list[dict[str, Any]]) -> list[Any]:
    results: dict[int, Any] = {}
    threads = []
    for place in range(len(mods)):
        call = lambda: results.update({place: mods[place](inputs[place], **kwargs[place])})  # noqa: E731, B023
        threads.append(threading.Thread(target=call))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return list(results.values())


@built.mistake()
def all_threads_run_the_last():
    """A lambda in a loop looks its variable up when it runs, and by then the loop is over: all threads run
    the last module. Hand the place over as an argument of the thread.
    """
    return parts(parallel_apply=_late_bound)


@built.mistake()
def order_of_finishing():
    """The outputs stand in the order in which the threads were ready, so the samples of a batch change places
    from run to run. Put each result at the place of its module.
    """
    return parts(parallel_apply=_by_finishing)


data_parallel.variant(order_of_finishing)(parts(parallel_apply=_appended))
