"""Right answers to 04.warmup_cosine, 04.optimizer_state, 04.ema_update, 04.swa_average, 04.recalibrate_bn, 04.accumulate."""

from __future__ import annotations

import contextlib
import copy
import io
import itertools
import math
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.optim import Optimizer


def warmup_in_three_pieces(step: int, warmup: int, total: int, floor: float) -> float:
    """The solution of the notebook."""
    if step < warmup:
        return (step + 1) / (warmup + 1)
    if step >= total:
        return floor
    progress = (step - warmup) / (total - warmup)
    return floor + (1 - floor) * (1 + math.cos(math.pi * progress)) / 2


def warmup_by_interpolation(step: int, warmup: int, total: int, floor: float) -> float:
    """The line by np.interp, the cosine as a square, one expression each."""
    line = np.interp(step, [-1, warmup], [0, 1])
    way = np.clip((step - warmup) / (total - warmup), 0, 1) if total > warmup else float(step >= total)
    return float(line * (1 - (1 - floor) * np.sin(math.pi / 2 * way) ** 2))


@lru_cache(1)
def curve(warmup: int, total: int, floor: float) -> list[float]:
    steps = torch.arange(total - warmup, dtype=torch.float64)
    fall = torch.cos(math.pi * steps / max(1, total - warmup)).add(1).mul(0.5 * (1 - floor)).add(floor)
    return torch.cat([torch.linspace(0, 1, warmup + 2, dtype=torch.float64)[1:-1], fall]).tolist()


def warmup_from_a_table(step: int, warmup: int, total: int, floor: float) -> float:
    table = curve(warmup, total, floor)
    return table[step] if step < len(table) else floor


class Schedule:
    def __call__(self, step: int, warmup: int, total: int, floor: float) -> Any:
        match step:
            case _ if step < warmup:
                return 1 - (warmup - step) / (warmup + 1)
            case _:
                progress = min(1, (step - warmup) / max(1, total - warmup))
                return floor * (1 - (w := 0.5 * (1 + math.cos(math.pi * progress)))) + w


def save_by_index(opt: Optimizer) -> dict[str, Any]:
    """The solution of the notebook."""
    params = [param for group in opt.param_groups for param in group["params"]]
    index = {param: place for place, param in enumerate(params)}
    groups = []
    for group in opt.param_groups:
        options = {key: copy.deepcopy(value) for key, value in group.items() if key != "params"}
        groups.append(options | {"params": [index[param] for param in group["params"]]})
    state = {index[param]: copy.deepcopy(values) for param, values in opt.state.items()}
    return {"state": state, "param_groups": groups}


def load_by_index(opt: Optimizer, sd: dict[str, Any]) -> None:
    sizes = [len(group["params"]) for group in opt.param_groups]
    if sizes != (saved := [len(group["params"]) for group in sd["param_groups"]]):
        raise ValueError(f"the optimizer has groups of {sizes} parameters, the file of {saved}")
    params = {}
    for group, saved_group in zip(opt.param_groups, sd["param_groups"], strict=True):
        params |= dict(zip(saved_group["params"], group["params"], strict=True))
        group.update({key: copy.deepcopy(value) for key, value in saved_group.items() if key != "params"})
    opt.state.clear()
    for place, values in sd["state"].items():
        for key, value in copy.deepcopy(values).items():
            if isinstance(value, torch.Tensor) and key != "step":
                value = value.to(params[place])
            opt.state[params[place]][key] = value


def save_in_one_pass(opt: Optimizer) -> dict[str, Any]:
    """One loop, a counter, one deep copy at the end."""
    state, groups, numbers = {}, [], itertools.count()
    for group in opt.param_groups:
        packed = dict(group, params=[])
        for param in group["params"]:
            packed["params"].append(number := next(numbers))
            if values := opt.state.get(param):
                state[number] = values
        groups.append(packed)
    return copy.deepcopy({"state": state, "param_groups": groups})


def load_anew(opt: Optimizer, sd: dict[str, Any]) -> None:
    """New dicts and lists, handed over in one go as torch does."""
    if len(opt.param_groups) != len(sd["param_groups"]):
        raise ValueError("another number of groups")
    sd, state, groups = copy.deepcopy(sd), defaultdict(dict), []
    for own, saved in zip(opt.param_groups, sd["param_groups"], strict=True):
        if len(own["params"]) != len(saved["params"]):
            raise ValueError("a group of another size")
        for place, param in zip(saved["params"], own["params"], strict=True):
            for key, value in sd["state"].get(place, {}).items():
                fits = key == "step" or not torch.is_tensor(value)
                state[param][key] = value if fits else value.to(device=param.device, dtype=param.dtype)
        groups.append({**saved, "params": own["params"]})
    opt.__setstate__({"state": state, "param_groups": groups})


def save_through_bytes(opt: Optimizer) -> dict[str, Any]:
    """The way through a file is the copy."""
    flat = list(itertools.chain.from_iterable(group["params"] for group in opt.param_groups))
    place = {id(param): number for number, param in enumerate(flat)}
    memory = io.BytesIO()
    torch.save(
        {
            "state": {place[id(param)]: dict(values) for param, values in opt.state.items()},
            "param_groups": [
                {
                    name: [place[id(p)] for p in value] if name == "params" else value
                    for name, value in group.items()
                }
                for group in opt.param_groups
            ],
        },
        memory,
    )
    memory.seek(0)
    return torch.load(memory, weights_only=True)


class Cupboard:
    """Both as methods; the state of each parameter is replaced, one by one, and never the dict."""

    def put(self, opt: Optimizer, /) -> dict[str, Any]:
        return save_in_one_pass(opt)

    def take(self, opt: Optimizer, sd: dict[str, Any], /) -> None:
        pairs = list(itertools.zip_longest(opt.param_groups, sd["param_groups"], fillvalue={"params": []}))
        if any(len(own["params"]) != len(saved["params"]) for own, saved in pairs):
            raise ValueError("the groups differ")
        numbers = itertools.count()
        for own, saved in pairs:
            for key in saved.keys() - {"params"}:
                own[key] = copy.copy(saved[key])
            for param in own["params"]:
                opt.state.pop(param, None)
                for key, value in sd["state"].get(next(numbers), {}).items():
                    self.one(opt, param, key, value)

    def one(self, opt: Optimizer, param: torch.Tensor, key: str, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            value = value.clone() if key == "step" else value.to(param.dtype, copy=True).to(param.device)
        opt.state[param][key] = value


@torch.no_grad()
def follow_by_lerp(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """The solution of the notebook."""
    for mine, theirs in zip(ema.parameters(), model.parameters(), strict=True):
        mine.lerp_(theirs.to(mine), 1 - decay)
    for mine, theirs in zip(ema.buffers(), model.buffers(), strict=True):
        if mine.is_floating_point():
            mine.lerp_(theirs.to(mine), 1 - decay)
        else:
            mine.copy_(theirs)


def follow_by_data(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """By name, through .data; the natural formula, which rounds its second half in the model's dtype."""
    theirs = dict(model.named_parameters()) | dict(model.named_buffers())
    for name, mine in (dict(ema.named_parameters()) | dict(ema.named_buffers())).items():
        if torch.is_floating_point(mine):
            mine.data.copy_(decay * mine.data + (1 - decay) * theirs[name].data)
        else:
            mine.data[...] = theirs[name].data


def follow_in_one_pass(ema: nn.Module, model: nn.Module, decay: float) -> nn.Module:
    """foreach over all that has a point."""
    pairs = [
        (mine.detach(), theirs.detach())
        for kind in (nn.Module.parameters, nn.Module.buffers)
        for mine, theirs in zip(kind(ema), kind(model), strict=True)
    ]
    moving = [(mine, theirs.to(mine.dtype)) for mine, theirs in pairs if mine.dtype.is_floating_point]
    still = [pair for pair in pairs if not pair[0].dtype.is_floating_point]
    with torch.inference_mode():
        averages = torch._foreach_mul([mine for mine, _ in moving], decay)
        torch._foreach_add_(averages, [theirs for _, theirs in moving], alpha=1 - decay)
    torch._foreach_copy_([mine for mine, _ in moving], averages)
    for mine, theirs in still:
        mine.copy_(theirs)
    return ema


class Follower:
    """Walks over the modules, and remembers which tensors it has seen."""

    def __call__(self, ema: nn.Module, model: nn.Module, decay: float) -> None:
        seen: set[int] = set()
        with torch.set_grad_enabled(False):
            for mine, theirs in zip(ema.modules(), model.modules(), strict=True):
                for name in [*mine._parameters, *mine._buffers]:
                    self.one(getattr(mine, name), getattr(theirs, name), decay, seen)

    def one(self, mine: Any, theirs: Any, decay: float, seen: set[int]) -> None:
        if mine is None or id(mine) in seen:
            return
        seen.add(id(mine))
        if mine.dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            mine.sub_((1 - decay) * (mine - theirs))
        else:
            mine.copy_(theirs)


State = dict[str, torch.Tensor]


def average_of_sums(states: Iterable[State]) -> State:
    """The solution of the notebook."""
    total: State = {}
    count = 0
    for count, state in enumerate(states, 1):
        if count == 1:
            dtypes = {name: value.dtype for name, value in state.items()}
        if state.keys() != dtypes.keys():
            raise ValueError("states with different keys")
        for name, value in state.items():
            value = value.detach()
            if not value.is_floating_point() or count == 1:
                total[name] = value.to(torch.promote_types(value.dtype, torch.float32), copy=True)
                if not value.is_floating_point():
                    total[name] = value.clone()
            else:
                total[name] += value
    if not count:
        raise ValueError("no state to average")
    return {name: (v / count).to(dtypes[name]) if v.is_floating_point() else v for name, v in total.items()}


@torch.no_grad()
def running_average(states: Iterable[State]) -> State:
    """A running mean in float64."""
    states = iter(states)
    try:
        first = next(states)
    except StopIteration:
        raise ValueError("nothing to average") from None
    mean = {
        name: value.double() if value.is_floating_point() else value.clone() for name, value in first.items()
    }
    kinds = {name: value.dtype for name, value in first.items()}
    for count, state in enumerate(states, 2):
        if set(state) ^ set(mean):
            raise ValueError(f"keys differ: {set(state) ^ set(mean)}")
        for name in mean:
            if kinds[name].is_floating_point:
                mean[name] = mean[name] + (state[name].double() - mean[name]) / count
            else:
                mean[name] = state[name].clone()
    return {name: value.to(kinds[name], copy=True) for name, value in mean.items()}


def average_by_numpy(states: Iterable[State]) -> OrderedDict[str, torch.Tensor]:
    """Sums in NumPy's longdouble; integers through a deep copy of the last state."""
    sums: dict[str, Any] = {}
    last, names, count = None, None, 0
    for state in states:
        names = names or tuple(state)
        if sorted(names) != sorted(state):
            raise ValueError("keys")
        for name in names:
            if state[name].dtype.is_floating_point:
                sums[name] = sums.get(name, 0) + state[name].detach().double().numpy().astype(np.longdouble)
        last, count = copy.deepcopy({name: value.detach() for name, value in state.items()}), count + 1
    if last is None:
        raise ValueError("empty")
    return OrderedDict(
        (
            name,
            torch.as_tensor(np.float64(sums[name] / count)).to(value.dtype)
            if name in sums
            else value.clone(),
        )
        for name, value in last.items()
    )


BatchNorm = nn.modules.batchnorm._BatchNorm


@torch.no_grad()
def recalibrate_plainly(loader: Iterable[Any], model: nn.Module) -> None:
    """The solution of the notebook."""
    norms = [module for module in model.modules() if isinstance(module, BatchNorm)]
    momenta = [norm.momentum for norm in norms]
    training = [(module, module.training) for module in model.modules()]
    try:
        model.eval()
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None
            norm.train()
        for batch in loader:
            model(batch[0] if isinstance(batch, (tuple, list)) else batch)
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        for module, flag in training:
            module.training = flag


def recalibrate_with_a_stack(loader: Iterable[Any], model: nn.Module) -> nn.Module:
    """An ExitStack that undoes each change; momentum 1 / k in place of None."""
    with contextlib.ExitStack() as undo, torch.inference_mode():
        for module in model.modules():
            undo.callback(setattr, module, "training", module.training)
        model.train(False)
        norms = [m for m in model.modules() if isinstance(m, BatchNorm) and m.track_running_stats]
        for norm in norms:
            undo.callback(setattr, norm, "momentum", norm.momentum)
            norm.running_mean.zero_()
            norm.running_var.fill_(1)
            norm.num_batches_tracked.zero_()
            norm.training = True
        for count, batch in enumerate(loader, 1):
            for norm in norms:
                norm.momentum = 1 / count
            model(batch if isinstance(batch, torch.Tensor) else batch[0])
    return model


def recalibrate_with_own_sums(loader: Iterable[Any], model: nn.Module) -> None:
    """Sums the statistics of the batches itself: momentum 1 leaves those of the batch."""
    norms = [
        module
        for module in model.modules()
        if isinstance(module, BatchNorm) and module.running_mean is not None
    ]
    state = {module: dict(vars(module)) for module in model.modules()}
    sums = {norm: [0.0, 0.0] for norm in norms}
    count = 0
    try:
        model.eval()
        for norm in norms:
            norm.momentum, norm.training = 1.0, True
        with torch.no_grad():
            for batch in loader:
                model(*batch[:1] if isinstance(batch, (list, tuple)) else (batch,))
                count += 1
                for norm, (mean, var) in sums.items():
                    sums[norm] = [mean + norm.running_mean, var + norm.running_var]
        for norm, (mean, var) in sums.items():
            norm.running_mean.copy_(mean / count)
            norm.running_var.copy_(var / count)
            norm.num_batches_tracked.fill_(count)
    finally:
        for module, before in state.items():
            module.training = before["training"]
            if module in sums:
                module.momentum = before["momentum"]


Batch = tuple[torch.Tensor, torch.Tensor]


def accumulate_by_shares(
    model: nn.Module, loss_fn: nn.CrossEntropyLoss, batches: Iterable[Batch]
) -> torch.Tensor:
    """The solution of the notebook."""
    batches = list(batches)
    counts = [int((target != loss_fn.ignore_index).sum()) for _, target in batches]
    if not sum(counts):
        raise ValueError("no target counts")
    losses = []
    for (x, target), count in zip(batches, counts, strict=True):
        if count:
            loss = loss_fn(model(x), target) * (count / sum(counts))
            loss.backward()
            losses.append(loss.detach())
    return torch.stack(losses).sum()


def accumulate_then_divide(
    model: nn.Module, loss_fn: nn.CrossEntropyLoss, batches: Iterable[Batch]
) -> torch.Tensor:
    """Reads a generator as it comes: old gradients aside, sums, one division at the end."""
    aside = [(param, param.grad) for param in model.parameters()]
    for param, _ in aside:
        param.grad = None
    whole, total = 0, 0
    for x, target in batches:
        count = target.ne(loss_fn.ignore_index).sum().item()
        if count == 0:
            continue
        summed = loss_fn(model(x), target) * count
        summed.backward()
        whole, total = whole + count, total + summed.detach()
        del summed
    for param, old in aside:
        if param.grad is not None and whole:
            param.grad /= whole
        if old is not None:
            param.grad = old if param.grad is None else old.add_(param.grad)
    if whole == 0:
        raise ValueError("nothing counts")
    return total / whole


def accumulate_with_grad(
    model: nn.Module, loss_fn: nn.CrossEntropyLoss, batches: Iterable[Batch]
) -> torch.Tensor:
    """autograd.grad, and a loss that sums for the time of the call; batches in which nothing counts go through, too."""
    batches = tuple(batches)
    whole = (
        torch.cat([target.flatten() for _, target in batches] or [torch.empty(0)])
        .ne(loss_fn.ignore_index)
        .sum()
    )
    if whole == 0:
        raise ValueError("nothing counts")
    params = [param for param in model.parameters() if param.requires_grad]
    before, loss_fn.reduction, result = loss_fn.reduction, "sum", None
    try:
        for x, target in batches:
            loss = loss_fn(model(x), target) / whole
            for param, grad in zip(params, torch.autograd.grad(loss, params, allow_unused=True), strict=True):
                if grad is not None:
                    param.grad = grad.clone() if param.grad is None else param.grad + grad
            result = loss.detach() if result is None else result + loss.detach()
    finally:
        loss_fn.reduction = before
    return result


class Accumulator:
    """Scales the gradient that enters backward, and not the loss."""

    def __call__(
        self, model: nn.Module, loss_fn: nn.CrossEntropyLoss, batches: Iterable[Batch]
    ) -> torch.Tensor:
        counted = [(x, y, (y != loss_fn.ignore_index).sum()) for x, y in batches]
        counted = [item for item in counted if item[2] > 0]
        if not counted:
            raise ValueError
        whole = sum(count for *_, count in counted)
        return sum(self.one(model, loss_fn, x, y, count / whole) for x, y, count in counted)

    def one(self, model: nn.Module, loss_fn: Any, x: Any, y: Any, share: torch.Tensor) -> torch.Tensor:
        loss = loss_fn(model(x), y)
        share = share.to(loss)
        loss.backward(share)
        return (loss * share).detach()


RIGHT: dict[str, list[Any]] = {
    "04.accumulate": [accumulate_by_shares, accumulate_then_divide, accumulate_with_grad, Accumulator()],
    "04.ema_update": [follow_by_lerp, follow_by_data, follow_in_one_pass, Follower()],
    "04.optimizer_state": [
        (save_by_index, load_by_index),
        (save_in_one_pass, load_anew),
        (save_through_bytes, load_by_index),
        (Cupboard().put, Cupboard().take),
    ],
    "04.recalibrate_bn": [recalibrate_plainly, recalibrate_with_a_stack, recalibrate_with_own_sums],
    "04.swa_average": [average_of_sums, running_average, average_by_numpy],
    "04.warmup_cosine": [warmup_in_three_pieces, warmup_by_interpolation, warmup_from_a_table, Schedule()],
}
