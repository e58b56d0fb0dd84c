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
from helpers.labs.ddp.data_parallel.mistakes.parts import parts, right_apply, right_replicate, run_threads

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


@built.mistake(breaks="They use the module's own parameters, so that gradients reach `module.parameters()`.")
def deepcopy():
    """Through none of the replicas a gradient reaches the module's own parameters. Perhaps they are deep
    copies with Parameters of their own, where gradients are thrown away with the copy.
    """
    return parts(replicate=_deep_copies)


data_parallel.variant(deepcopy)(parts(replicate=_loaded_copies))


def _first_is_real(module: nn.Module, n: int) -> list[nn.Module]:
    return [module, *(copy.deepcopy(module) for _ in range(n - 1))]


@built.mistake(breaks="They use the module's own parameters, so that gradients reach `module.parameters()`.")
def gradient_of_the_first_only():
    """Only the first replica sends gradients to the module: only the first piece of the batch trains. Perhaps
    the module itself is the first replica, and the others are deep copies.
    """
    return parts(replicate=_first_is_real)


@built.mistake(
    breaks="No two of them share a module object (sub-modules included), and none is module itself: what a forward writes on `self` stays in its replica."
)
def module_is_a_replica():
    """The module itself serves as a replica: what that forward writes on `self` stays, and what the others
    write is lost.
    """
    return parts(replicate=lambda module, n: [module, *right_replicate(module, n - 1)])


@built.mistake(
    breaks="No two of them share a module object (sub-modules included), and none is module itself: what a forward writes on `self` stays in its replica."
)
def one_module_for_all():
    """All places run one and the same module object: what one thread writes on `self` is read by a different
    one.
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


@built.mistake(
    breaks="No two of them share a module object (sub-modules included), and none is module itself: what a forward writes on `self` stays in its replica."
)
def functional_call_on_one_module():
    """All places run one and the same module object. Perhaps functional_call puts tensors into it for the
    time of the call: two threads do that at once, and each takes out what the other one needs. A skeleton
    copy a thread helps.
    """
    return parts(replicate=_functional_with_buffers)


@built.mistake(
    breaks="No two of them share a module object (sub-modules included), and none is module itself: what a forward writes on `self` stays in its replica."
)
def shallow_copies():
    """The replicas are three objects that hold the same sub-modules. Perhaps copy.copy made them: it copies
    the outer object only, and all copies hold the same dict of sub-modules and of buffers.
    """
    return parts(replicate=lambda module, n: [copy.copy(module) for _ in range(n)])


def _skeletons(module: nn.Module, n: int) -> list[nn.Module]:
    """Every module object is new, the dicts, too; parameters and buffers are the module's own."""

    def skeleton(of: nn.Module) -> nn.Module:
        new = copy.copy(of)
        new._parameters, new._buffers = dict(of._parameters), dict(of._buffers)
        new._modules = {
            name: None if child is None else skeleton(child) for name, child in of._modules.items()
        }
        return new

    return [skeleton(module) for _ in range(n)]


@built.mistake(
    breaks="Buffers are copies: what a replica writes there is lost, or the module keeps what the first one wrote, as in torch."
)
def buffers_shared():
    """What replicas write to their buffers changes the module. Perhaps they hold the module's own: in BatchNorm, all threads
    edit one running mean, and updates are lost by chance.
    """
    return parts(replicate=_skeletons)


def _keeping_all(module: nn.Module, n: int) -> list[nn.Module]:
    keep = {id(each): each for each in (*module.parameters(), *module.buffers())}
    return [copy.deepcopy(module, dict(keep)) for _ in range(n)]


data_parallel.variant(buffers_shared)(parts(replicate=_keeping_all))


@built.mistake(breaks="They are in the mode (train or eval) that module is in.")
def replicas_in_eval_mode():
    """The replicas of a module in train mode compute as in eval mode: without dropout, and with BatchNorm's running
    statistics. Perhaps eval() is called on them: a replica has the mode of its module.
    """
    return parts(replicate=lambda module, n: [replica.eval() for replica in right_replicate(module, n)])


@built.mistake(breaks="They are in the mode (train or eval) that module is in.")
def replicas_in_train_mode():
    """The replicas of a module in eval mode compute as in train mode. Perhaps train() is called on them, or they are built
    anew: a replica has the mode of its module.
    """
    return parts(replicate=lambda module, n: [replica.train() for replica in right_replicate(module, n)])


def _kept(module: nn.Module, n: int) -> list[nn.Module]:
    given = module.__dict__.setdefault("_replicas", {})
    if n not in given:
        given[n] = right_replicate(module, n)
    return given[n]


@built.mistake(breaks="n new modules that compute what `module` computes, one for each thread.")
def replicas_kept_between_calls():
    """A second call gives modules of the first one again. Perhaps they are kept, to save the copies: what a forward
    has written to a buffer is then still there, and a new mode of the module is not seen.
    """
    return parts(replicate=_kept)


def _loop(mods: list[Any], inputs: list[Any], kwargs: list[dict[str, Any]]) -> list[Any]:
    return [mod(x, **kw) for mod, x, kw in zip(mods, inputs, kwargs, strict=True)]


def _started_and_joined(mods: list[Any], inputs: list[Any], kwargs: list[dict[str, Any]]) -> list[Any]:
    with ThreadPoolExecutor(1) as pool:
        return list(pool.map(lambda mod, x, kw: mod(x, **kw), mods, inputs, kwargs))


@built.mistake(
    breaks="[mods[0](inputs[0], **kwargs[0]), ...], all at the same time, each in a thread of its own."
)
def one_after_another():
    """No two replicas ran at one time: right, and no faster than one. Perhaps each thread is joined before
    the next one starts, or there are no threads.
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


@built.mistake(breaks="If a replica raises, an exception of the same type and text is raised here.")
def error_lost_in_its_thread():
    """The exception of a replica does not reach the caller, who goes on without a result, or fails elsewhere.
    Perhaps it ends its thread and nothing more, or it is kept and not raised: catch it in the thread, keep it, and raise it
    after the joins, whichever replica it comes from.
    """
    return parts(parallel_apply=_swallowed)


data_parallel.variant(error_lost_in_its_thread)(parts(parallel_apply=_kept_by_place))


@built.mistake(breaks="If a replica raises, an exception of the same type and text is raised here.")
def error_in_the_list():
    """The exception of a replica is not raised: it stands in the list of the results, where the caller expects a tensor.
    After the joins, raise it.
    """
    return parts(parallel_apply=_errors_as_results)


def _text_only(mods: list[Any], inputs: list[Any], kwargs: list[dict[str, Any]]) -> list[Any]:
    found = _errors_as_results(mods, inputs, kwargs)
    if any(isinstance(each, Exception) for each in found):
        raise RuntimeError("a replica failed")
    return found


@built.mistake(breaks="If a replica raises, an exception of the same type and text is raised here.")
def another_error_raised():
    """An exception of a different type reaches the caller, who may wait for that of the replica. Perhaps a new one is raised
    in its place, or around it: raise the one that was kept.
    """
    return parts(parallel_apply=_text_only)


def _no_kwargs(mods: list[Any], inputs: list[Any], kwargs: list[dict[str, Any]]) -> list[Any]:
    with ThreadPoolExecutor(len(mods)) as pool:
        return list(pool.map(lambda mod, x: mod(x), mods, inputs))


@built.mistake(breaks="[mods[0](inputs[0], **kwargs[0]), ...]")
def keywords_not_passed_on():
    """The outputs are those without keywords. Perhaps parallel_apply calls each module with its input only."""
    return parts(parallel_apply=_no_kwargs)


def _first_kwargs(mods: list[Any], inputs: list[Any], kwargs: list[dict[str, Any]]) -> list[Any]:
    return right_apply(mods, inputs, [kwargs[0]] * len(mods))


@built.mistake(breaks="[mods[0](inputs[0], **kwargs[0]), ...]")
def first_keywords_for_all():
    """All modules are called with the keywords of the first one. Perhaps kwargs[0] is handed to each: module i gets kwargs[i]."""
    return parts(parallel_apply=_first_kwargs)


def _without_graph(mods: list[Any], inputs: list[Any], kwargs: list[dict[str, Any]]) -> list[Any]:
    with torch.no_grad():
        return right_apply(mods, inputs, kwargs)


@built.mistake(breaks="Gradients reach module.parameters() and x.")
def no_graph_in_the_threads():
    """Neither the module's parameters nor x get a gradient from the whole. Perhaps the forwards run under no_grad, or what
    they give is detached.
    """
    return parts(parallel_apply=_without_graph)


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


@built.mistake(breaks="[mods[0](inputs[0], **kwargs[0]), ...]")
def all_threads_run_the_last():
    """Of three modules only one gives an output. Perhaps all threads run the last: a lambda in a loop looks its variable up
    when it runs, and by then the loop is over. Hand the place over as an argument of the thread.
    """
    return parts(parallel_apply=_late_bound)


@built.mistake(breaks="The results stand in the order of mods, whichever is ready first.")
def order_of_finishing():
    """The outputs stand in the order in which the threads were ready, so the samples of a batch change places
    from run to run. Put each result at the place of its module.
    """
    return parts(parallel_apply=_by_finishing)


data_parallel.variant(order_of_finishing)(parts(parallel_apply=_appended))


def _at_the_last_place(mods: list[Any], inputs: list[Any], kwargs: list[dict[str, Any]]) -> list[Any]:
    results: list[Any] = [None] * len(mods)
    threads = []
    for place in range(len(mods)):

        def call() -> None:
            results[place] = mods[place](inputs[place], **kwargs[place])  # noqa: B023

        threads.append(threading.Thread(target=call))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


data_parallel.variant(all_threads_run_the_last)(parts(parallel_apply=_at_the_last_place))


def _two_threads(mods: list[Any], inputs: list[Any], kwargs: list[dict[str, Any]]) -> list[Any]:
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda mod, x, kw: mod(x, **kw), mods, inputs, kwargs))


@built.mistake(
    breaks="[mods[0](inputs[0], **kwargs[0]), ...], all at the same time, each in a thread of its own."
)
def too_few_threads():
    """Some replicas ran at one time, and not all of them. Perhaps a pool has fewer threads than there are modules: on GPUs
    the rest would wait for them.
    """
    return parts(parallel_apply=_two_threads)
