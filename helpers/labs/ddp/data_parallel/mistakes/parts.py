"""What people write for 07.data_parallel: scatter, gather and the whole."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.check.spec import returned
from helpers.labs.ddp.data_parallel.exercise import data_parallel

built = data_parallel.bank(returned)


def right_scatter(x: Any, n: int) -> list[Any]:
    return list(x.chunk(n)) if isinstance(x, Tensor) else [x] * n


def right_replicate(module: nn.Module, n: int) -> list[nn.Module]:
    keep = {id(param): param for param in module.parameters()}
    return [copy.deepcopy(module, dict(keep)) for _ in range(n)]


def right_apply(mods: list[Any], inputs: list[Any], kwargs: list[dict[str, Any]]) -> list[Any]:
    results: dict[int, Any] = {}
    grad = torch.is_grad_enabled()

    def run(place: int) -> None:
        try:
            with torch.set_grad_enabled(grad):
                results[place] = mods[place](inputs[place], **kwargs[place])
        except Exception as error:
            results[place] = Failed(error)

    run_threads(run, len(mods))
    for result in results.values():
        if isinstance(result, Failed):
            raise result.error
    return [results[place] for place in range(len(mods))]


class Failed:
    def __init__(self, error: Exception) -> None:
        self.error = error


def run_threads(run: Callable[[int], None], n: int) -> None:
    threads = [threading.Thread(target=run, args=(place,)) for place in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def right_gather(outs: list[Tensor]) -> Tensor:
    return torch.stack(outs) if outs[0].dim() == 0 else torch.cat(outs)


def parts(
    scatter: Any = right_scatter,
    replicate: Any = right_replicate,
    parallel_apply: Any = right_apply,
    gather: Any = right_gather,
    whole: Any = None,
) -> tuple[Any, ...]:
    """The right parts but for those given, and a whole that is made of them."""

    def of_parts(module: nn.Module, x: Tensor, n: int, **kw: Any) -> Tensor:
        pieces = scatter(x, n)
        size = len(pieces)
        kwargs = [{} for _ in pieces]
        for name, value in kw.items():
            for own, part in zip(kwargs, scatter(value, size), strict=False):
                own[name] = part
        return gather(parallel_apply(replicate(module, size), pieces, kwargs))

    return scatter, replicate, parallel_apply, gather, whole or of_parts


def tensors_cut(cut: Callable[[Tensor, int], Any]) -> Callable[[Any, int], list[Any]]:
    """A scatter that cuts tensors in this way."""
    return lambda x, n: list(cut(x, n)) if isinstance(x, Tensor) else [x] * n


@built.mistake(
    breaks="A tensor (of one dimension or more) is cut along dim 0 as `torch.chunk(x, n)` cuts it, which may give fewer pieces than n."
)
def as_tensor_split():
    """The pieces are as equal as possible, as torch.tensor_split cuts. torch scatters by chunk: pieces of
    ceil(rows / n), so that some replicas may get nothing to do.
    """
    return parts(scatter=tensors_cut(lambda x, n: x.tensor_split(n)))


data_parallel.variant(as_tensor_split)(
    parts(scatter=tensors_cut(lambda x, n: [p for p in x.tensor_split(n) if len(p)]))
)


@built.mistake(
    breaks="A tensor (of one dimension or more) is cut along dim 0 as `torch.chunk(x, n)` cuts it, which may give fewer pieces than n."
)
def pieces_of_the_floor():
    """Pieces of `rows // n` samples: what is left over makes one piece more than there are replicas, or a
    piece of 0 raises.
    """
    return parts(scatter=tensors_cut(lambda x, n: x.split(max(1, len(x) // n))))


data_parallel.variant(pieces_of_the_floor)(parts(scatter=tensors_cut(lambda x, n: x.split(len(x) // n))))


@built.mistake(
    breaks="A tensor (of one dimension or more) is cut along dim 0 as `torch.chunk(x, n)` cuts it, which may give fewer pieces than n."
)
def remainder_lost():
    """Each piece has `rows // n` samples, and nobody gets the rest: the result has fewer rows than the batch."""
    return parts(
        scatter=tensors_cut(lambda x, n: [x[i * (len(x) // n) : (i + 1) * (len(x) // n)] for i in range(n)])
    )


@built.mistake(
    breaks="A tensor (of one dimension or more) is cut along dim 0 as `torch.chunk(x, n)` cuts it, which may give fewer pieces than n."
)
def remainder_to_the_last():
    """Each piece has `rows // n` samples and the last one the whole rest besides: torch.chunk makes the last
    piece the smallest.
    """
    return parts(
        scatter=tensors_cut(
            lambda x, n: [
                x[i * (len(x) // n) : None if i == n - 1 else (i + 1) * (len(x) // n)] for i in range(n)
            ]
        )
    )


@built.mistake(
    breaks="A tensor (of one dimension or more) is cut along dim 0 as `torch.chunk(x, n)` cuts it, which may give fewer pieces than n."
)
def dealt_in_turn():
    """The samples are dealt in turn, as `x[i::n]` does. Joined again in the order of the replicas, the batch
    has its samples at other places, and labels do not fit any more.
    """
    return parts(scatter=tensors_cut(lambda x, n: [x[i::n] for i in range(min(n, len(x)))]))


data_parallel.variant(dealt_in_turn)(parts(scatter=tensors_cut(lambda x, n: [x[i::n] for i in range(n)])))


@built.mistake(
    breaks="A tensor (of one dimension or more) is cut along dim 0 as `torch.chunk(x, n)` cuts it, which may give fewer pieces than n."
)
def last_dimension_cut():
    """The tensor is cut along a different dimension than the first: every replica gets all samples, and a
    part of each.
    """
    return parts(scatter=tensors_cut(lambda x, n: x.chunk(n, -1)))


@built.mistake(breaks="Gradients of the pieces reach x.")
def pieces_detached():
    """The pieces do not require grad: layers before this one never learn. Perhaps they are copied out of the
    graph (detach, .data, torch.tensor).
    """
    return parts(scatter=tensors_cut(lambda x, n: x.detach().chunk(n)))


data_parallel.variant(pieces_detached)(
    parts(scatter=tensors_cut(lambda x, n: [p.detach().clone() for p in x.chunk(n)]))
)


def _only_for_the_first(x: Any, n: int) -> list[Any]:
    return list(x.chunk(n)) if isinstance(x, Tensor) else [x]


@built.mistake(
    breaks="Anything else, lists and tuples too, goes to all n replicas as it is: neither cut nor copied."
)
def others_to_the_first_only():
    """What is no tensor comes back once: only the first replica gets it. A factor or a flag belongs to all of
    them.
    """
    return parts(scatter=_only_for_the_first)


@built.mistake(breaks="The outputs joined along dim 0, in their order.")
def outputs_stacked():
    """The result has a new first dimension. Perhaps torch.stack made it, which wants equal shapes, too; torch.cat
    joins along the one that is there.
    """
    return parts(gather=lambda outs: torch.stack(list(outs)))


@built.mistake(breaks="The outputs joined along dim 0, in their order.")
def stacked_and_flattened():
    """torch.stack refuses outputs of different sizes, and the last piece of a batch is often smaller. Perhaps stack and flatten
    were to join them: torch.cat does.
    """
    return parts(gather=lambda outs: torch.stack(outs).flatten(0, 1) if outs[0].dim() else torch.stack(outs))


@built.mistake(breaks="Outputs without dimensions become a vector.")
def scalars_not_joined():
    """torch.cat refuses tensors without dimensions: a module that returns its loss needs torch.stack here."""
    return parts(gather=lambda outs: torch.cat(list(outs)))


@built.mistake(breaks="Outputs without dimensions become a vector.")
def scalars_averaged():
    """The losses of the replicas are averaged. The pieces are of different sizes, so this mean of means is
    not the loss of the batch; torch gives the vector and leaves that to you.
    """
    return parts(gather=lambda outs: torch.cat(outs) if outs[0].dim() else torch.stack(outs).mean())


data_parallel.variant(scalars_averaged)(
    parts(gather=lambda outs: torch.cat(outs) if outs[0].dim() else sum(outs) / len(outs))
)


@built.mistake(breaks="Outputs without dimensions become a vector.")
def scalars_added():
    """The losses of the replicas are added up; torch gives a vector with one number a replica."""
    return parts(gather=lambda outs: torch.cat(outs) if outs[0].dim() else torch.stack(outs).sum())


@built.mistake(breaks="Gradients reach outs.")
def outputs_detached():
    """What gather gives has no graph: backward ends here. Perhaps it is made of the outputs' numbers, not of
    the outputs.
    """
    return parts(gather=lambda outs: right_gather([out.detach() for out in outs]))


data_parallel.variant(outputs_detached)(
    parts(
        gather=lambda outs: torch.cat(outs) if outs[0].dim() else torch.tensor([out.item() for out in outs])
    )
)


@built.mistake(breaks="The outputs joined along dim 0, in their order.")
def joined_along_the_last():
    """The outputs are joined along their last dimension, as if each replica had computed other features of
    the same samples.
    """
    return parts(gather=lambda outs: torch.cat(outs, -1) if outs[0].dim() else torch.stack(outs))


def _unsplit(module: nn.Module, x: Tensor, n: int, **kw: Any) -> Tensor:
    return module(x, **kw)


@built.mistake(breaks="As many replicas run as x has pieces.")
def batch_not_split():
    """One forward gets the whole batch: right numbers, and nothing runs at one time. So does nn.DataParallel on a
    CPU.
    """
    return parts(whole=_unsplit)


data_parallel.variant(batch_not_split)(
    parts(whole=lambda module, x, n, **kw: nn.DataParallel(module)(x, **kw))
)


def _same_kwargs(module: nn.Module, x: Tensor, n: int, **kw: Any) -> Tensor:
    pieces = right_scatter(x, n)
    return right_gather(right_apply(right_replicate(module, len(pieces)), pieces, [kw] * len(pieces)))


@built.mistake(breaks="Keyword arguments are scattered as x is.")
def keywords_not_scattered():
    """A keyword tensor does not fit to the piece of its replica. Perhaps every replica gets the whole tensor: a mask of the
    batch is cut as x is.
    """
    return parts(whole=_same_kwargs)


def _no_kwargs(module: nn.Module, x: Tensor, n: int, **kw: Any) -> Tensor:
    return _same_kwargs(module, x, n)


@built.mistake(breaks="Keyword arguments are scattered as x is.")
def keywords_dropped():
    """The result is that of the keywords' defaults. Perhaps the keyword arguments never reach the replicas."""
    return parts(whole=_no_kwargs)


def _always_n(module: nn.Module, x: Tensor, n: int, **kw: Any) -> Tensor:
    pieces, split = right_scatter(x, n), {name: right_scatter(value, n) for name, value in kw.items()}
    kwargs = [{name: part[place] for name, part in split.items()} for place in range(n)]
    return right_gather(
        right_apply(right_replicate(module, n), [pieces[place] for place in range(n)], kwargs)
    )


@built.mistake(breaks="As many replicas run as x has pieces.")
def n_pieces_assumed():
    """With fewer pieces than n the lists are not equally long. Perhaps n replicas run, or what is no tensor is scattered to
    n, whatever scatter gave of x: a batch of 6 for 5 replicas makes 3 pieces, so ask how many there are.
    """
    return parts(whole=_always_n)


data_parallel.variant(n_pieces_assumed)(
    parts(
        whole=lambda module, x, n, **kw: right_gather(
            right_apply(
                right_replicate(module, n),
                right_scatter(x, n),
                [{name: right_scatter(value, n)[i] for name, value in kw.items()} for i in range(n)],
            )
        )
    )
)


def _buffers_back(module: nn.Module, x: Tensor, n: int, **kw: Any) -> Tensor:
    pieces = right_scatter(x, n)
    size = len(pieces)
    replicas = right_replicate(module, size)
    split = {name: right_scatter(value, size) for name, value in kw.items()}
    kwargs = [{name: part[place] for name, part in split.items()} for place in range(size)]
    outs = right_apply(replicas, pieces, kwargs)
    with torch.no_grad():
        for replica in replicas:
            for own, buffer in zip(module.buffers(), replica.buffers(), strict=True):
                own.copy_(buffer)
    return right_gather(outs)


@built.mistake(
    breaks="What the replicas write to their buffers does not come back, or only what the first one wrote."
)
def buffers_brought_back():
    """In the whole, what the replicas wrote to their buffers is brought back to the module. Each has seen one piece only,
    so no way to join them fits every buffer; torch's replicas are thrown away.
    """
    return parts(whole=_buffers_back)


def _state_loaded_back(module: nn.Module, x: Tensor, n: int, **kw: Any) -> Tensor:
    pieces = right_scatter(x, n)
    size = len(pieces)
    replicas = right_replicate(module, size)
    split = {name: right_scatter(value, size) for name, value in kw.items()}
    outs = right_apply(
        replicas, pieces, [{name: part[i] for name, part in split.items()} for i in range(size)]
    )
    module.load_state_dict(replicas[-1].state_dict())
    return right_gather(outs)


data_parallel.variant(buffers_brought_back)(parts(whole=_state_loaded_back))


def _keywords_for_n(module: nn.Module, x: Tensor, n: int, **kw: Any) -> Tensor:
    pieces, split = right_scatter(x, n), {name: right_scatter(value, n) for name, value in kw.items()}
    kwargs = [{name: part[place] for name, part in split.items()} for place in range(n)]
    return right_gather(right_apply(right_replicate(module, n)[: len(pieces)], pieces, kwargs))


data_parallel.variant(n_pieces_assumed)(parts(whole=_keywords_for_n))


def _zipped_strictly(module: nn.Module, x: Tensor, n: int, **kw: Any) -> Tensor:
    pieces = right_scatter(x, n)
    kwargs: list[dict[str, Any]] = [{} for _ in pieces]
    for name, value in kw.items():
        for own, part in zip(kwargs, right_scatter(value, n), strict=True):
            own[name] = part
    return right_gather(right_apply(right_replicate(module, len(pieces)), pieces, kwargs))


data_parallel.variant(n_pieces_assumed)(parts(whole=_zipped_strictly))


def _filled_up(module: nn.Module, x: Tensor, n: int, **kw: Any) -> Tensor:
    """Empty pieces for the replicas that have none."""

    def scattered(value: Any) -> list[Any]:
        found = right_scatter(value, n)
        return found + [value[:0]] * (n - len(found))

    cut = {name: scattered(value) for name, value in kw.items()}
    kwargs = [{name: part[place] for name, part in cut.items()} for place in range(n)]
    return right_gather(right_apply(right_replicate(module, n), scattered(x), kwargs))


@built.mistake(breaks="As many replicas run as x has pieces.")
def empty_pieces_run():
    """Where x has fewer pieces than n, replicas run on no sample at all. Perhaps the list of the pieces is filled up with
    empty ones: a mean of nothing is NaN, and some layers refuse an empty batch.
    """
    return parts(whole=_filled_up)


def _lists_cut(x: Any, n: int) -> list[Any]:
    if isinstance(x, (list, tuple)):
        size = -(-len(x) // n)
        return [x[start : start + size] for start in range(0, len(x), size)]
    return right_scatter(x, n)


@built.mistake(
    breaks="Anything else, lists and tuples too, goes to all n replicas as it is: neither cut nor copied."
)
def lists_cut():
    """Lists are cut like the batch: each replica gets a part of a list that may be no batch at all. (torch cuts the tensors
    inside of it; here only tensors are cut.)
    """
    return parts(scatter=_lists_cut)


@built.mistake(
    breaks="Anything else, lists and tuples too, goes to all n replicas as it is: neither cut nor copied."
)
def containers_copied():
    """Each replica gets a copy of a list or a dict: what one of them writes there, for the caller to read, is lost. Hand the
    same object to all.
    """
    return parts(
        scatter=lambda x, n: (
            right_scatter(x, n) if isinstance(x, Tensor) else [copy.copy(x) for _ in range(n)]
        )
    )


data_parallel.variant(containers_copied)(
    parts(
        scatter=lambda x, n: (
            right_scatter(x, n) if isinstance(x, Tensor) else [copy.deepcopy(x) for _ in range(n)]
        )
    )
)


def _inner_tensors_cut(x: Any, n: int) -> list[Any]:
    if isinstance(x, (list, tuple)):
        return [type(x)(each) for each in zip(*(_inner_tensors_cut(part, n) for part in x), strict=False)]
    if isinstance(x, dict):
        cut = {name: _inner_tensors_cut(part, n) for name, part in x.items()}
        return [{name: part[place] for name, part in cut.items()} for place in range(n)]
    return right_scatter(x, n)


@built.mistake(
    breaks="Anything else, lists and tuples too, goes to all n replicas as it is: neither cut nor copied."
)
def tensors_inside_cut():
    """A list comes back as three new ones: the tensors inside of it are cut, as torch does it. Here only a tensor is cut;
    anything else goes to the replicas as it is.
    """
    return parts(scatter=_inner_tensors_cut)


def _joined_by_cat(module: nn.Module, x: Tensor, n: int, **kw: Any) -> Tensor:
    pieces = right_scatter(x, n)
    split = {name: right_scatter(value, len(pieces)) for name, value in kw.items()}
    kwargs = [{name: part[place] for name, part in split.items()} for place in range(len(pieces))]
    return torch.cat(right_apply(right_replicate(module, len(pieces)), pieces, kwargs))


@built.mistake(
    breaks="module(x, **kw), computed by at most n replicas at once, each on its piece of the batch."
)
def whole_without_gather():
    """The whole joins outputs of one dimension or more, and fails where each replica gives a loss. Perhaps it calls
    torch.cat itself, although gather knows outputs without dimensions.
    """
    return parts(whole=_joined_by_cat)
