"""Small models on which rules for weight decay disagree. Built anew for each check, of constant values."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

Named = tuple[str, Callable[[], nn.Module]]


def _tied() -> nn.Module:
    model = nn.ModuleDict(
        {"emb": nn.Embedding(5, 3), "mid": nn.Linear(3, 3), "out": nn.Linear(3, 5, bias=False)}
    )
    model["out"].weight = model["emb"].weight
    return model


def _half_frozen() -> nn.Module:
    """Frozen: a weight that is tied, a whole layer, and what a buffer's name looks like."""
    model = _tied()
    model["emb"].weight.requires_grad_(False)
    model["last"] = nn.Linear(3, 2).requires_grad_(False)
    return model


def _shared() -> nn.Module:
    block = nn.Linear(3, 3)
    return nn.Sequential(block, nn.ReLU(), block, nn.Linear(3, 2))


class _Scale(nn.Module):
    """A bare parameter of one dimension, as LayerScale has; another of none; three of two, with a side of 1 or 0."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(2, 3)
        self.gamma = nn.Parameter(torch.empty(3))
        self.temperature = nn.Parameter(torch.empty(()))
        self.queries = nn.Parameter(torch.empty(4, 3))
        self.row, self.column = nn.Parameter(torch.empty(1, 3)), nn.Parameter(torch.empty(3, 1))
        self.empty = nn.Parameter(torch.empty(0, 3))


class _Lists(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.prompts = nn.ParameterList([nn.Parameter(torch.empty(2, 2)), nn.Parameter(torch.empty(2))])
        self.table = nn.ParameterDict(
            {"bias": nn.Parameter(torch.empty(3, 2)), "w": nn.Parameter(torch.empty(3))}
        )


def _frozen() -> nn.Module:
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 3))
    model[0].requires_grad_(False)
    model[2].bias.requires_grad_(False)
    return model


class _Buffers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mask", torch.ones(3, 3))
        self.norm = nn.BatchNorm1d(3)
        self.register_parameter("absent", None)
        self.lin = nn.Linear(3, 2)


class _Deep(nn.Module):
    """Own parameters come before those of children, and names are not in the order of the alphabet."""

    def __init__(self) -> None:
        super().__init__()
        self.z = nn.Sequential(
            nn.Linear(2, 3), nn.LayerNorm(3), nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        )
        self.b = nn.Linear(2, 2)
        self.weight = nn.Parameter(torch.empty(2, 5))
        self.a = nn.Conv1d(2, 3, 2)
        self.scale = nn.Parameter(torch.empty(2))


def _norms() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 4, 1),
        nn.BatchNorm2d(4),
        nn.GroupNorm(2, 4),
        nn.PReLU(4),
        nn.LayerNorm((3, 2)),
        nn.Embedding(4, 2),
        nn.Bilinear(2, 3, 4),
    )


def _constant(model: nn.Module) -> nn.Module:
    """All values 1, so that no generator is drawn from in vain and equal tensors are common."""
    for param in model.parameters():
        nn.init.ones_(param)
    return model


def _quiet(build: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    """The model with constant values; the global generator is left as it was."""

    def built() -> nn.Module:
        with torch.random.fork_rng(devices=[]):
            return _constant(build())

    return built


_BUILT: dict[str, tuple[str, Callable[[], nn.Module]]] = {
    "linear": ("two Linear layers", lambda: nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))),
    "norms": ("Conv2d, BatchNorm2d, GroupNorm, PReLU, LayerNorm((3, 2)), Embedding, Bilinear", _norms),
    "names": (
        "a Linear called norm_proj, a LayerNorm called norm, a Linear called bias",
        lambda: nn.ModuleDict(
            {"norm_proj": nn.Linear(2, 3), "norm": nn.LayerNorm(3), "bias": nn.Linear(3, 2)}
        ),
    ),
    "lstm": ("an LSTM of two layers", lambda: nn.LSTM(2, 3, num_layers=2)),
    "conv": (
        "Conv1d, InstanceNorm1d(affine), ConvTranspose3d",
        lambda: nn.Sequential(
            nn.Conv1d(1, 2, 1), nn.InstanceNorm1d(2, affine=True), nn.ConvTranspose3d(1, 2, 1)
        ),
    ),
    "bare": (
        "a module with parameters of its own: gamma (3,), temperature (), queries (4, 3), row (1, 3), column (3, 1), "
        "empty (0, 3), beside a Linear",
        _Scale,
    ),
    "list": (
        "parameters in a ParameterList and in a ParameterDict, one of them called bias, with shape (3, 2)",
        _Lists,
    ),
    "frozen": ("Linear (frozen), BatchNorm1d, Linear with a frozen bias", _frozen),
    "buffers": (
        "a module with a buffer (3, 3), a BatchNorm1d, a parameter that is None and a Linear",
        _Buffers,
    ),
    "half frozen": ("an embedding tied to the output layer, frozen, and a frozen Linear", _half_frozen),
    "all frozen": ("a Linear, wholly frozen", lambda: nn.Linear(3, 2).requires_grad_(False)),
    "tied": ("an embedding tied to the output layer", _tied),
    "shared": ("one Linear used at two places of a Sequential", _shared),
    "equal": (
        "three Linear(2, 2) with equal values",
        lambda: nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)),
    ),
    "deep": ("modules in modules, with parameters at the top", _Deep),
    "no bias": ("a Linear without bias", lambda: nn.Linear(3, 2, bias=False)),
    "only norm": ("a LayerNorm alone", lambda: nn.LayerNorm(3)),
    "empty": ("a model without parameters", nn.Identity),
}
MODELS: dict[str, Named] = {
    name: (description, _quiet(build)) for name, (description, build) in _BUILT.items()
}
