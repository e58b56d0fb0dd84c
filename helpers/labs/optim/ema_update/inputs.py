"""The model on which 04.ema_update is tried, with all that a module can hold."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import Parameter


class Layer(nn.Module):
    """A weight and a bias; nothing is drawn from the global generators."""

    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.weight = Parameter(torch.zeros(shape))
        self.bias = Parameter(torch.zeros(shape[:1]))


class Deep(nn.Module):
    """What stands deep inside: a parameter, a buffer to be averaged, and one to be copied."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = Parameter(torch.zeros(2, 3))
        self.register_buffer("level", torch.zeros(4))
        self.register_buffer("seen", torch.zeros(3, dtype=torch.int64))


class Inner(nn.Module):
    """One module more on the way."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner


class Model(nn.Module):
    """What a module can hold: trainable weights, one of them under two names, a frozen parameter, a BatchNorm layer,
    modules inside modules, tensors of many dtypes and shapes, a buffer that is in no state_dict.
    """

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self.inside, self.again = Layer(4, 3), Layer(4, 3)
        self.again.weight = self.inside.weight
        self.norm = nn.BatchNorm1d(4)
        self.outer = Inner(Inner(Deep()))
        self.exact = Parameter(torch.zeros(3, dtype=torch.float64))
        self.small = Parameter(torch.zeros(32, dtype=torch.float16))
        self.brain = Parameter(torch.zeros(32, dtype=torch.bfloat16))
        self.gain = Parameter(torch.zeros(2))
        self.factor = Parameter(torch.zeros(()))
        self.scale = Parameter(torch.zeros(3), requires_grad=False)
        self.register_buffer("table", torch.zeros(5))
        self.register_buffer("temperature", torch.zeros(()))
        self.register_buffer("cache", torch.zeros(3), persistent=False)
        self.register_buffer("fine", torch.zeros(3, dtype=torch.float64))
        self.register_buffer("short", torch.zeros(32, dtype=torch.float16))
        self.register_buffer("coarse", torch.zeros(32, dtype=torch.bfloat16))
        self.register_buffer("position", torch.zeros(2, dtype=torch.int64))
        self.register_buffer("mask", torch.zeros(6, dtype=torch.bool))
        self.register_buffer("ids", torch.zeros(5, dtype=torch.int32))
        self.register_buffer("bits", torch.zeros(7, dtype=torch.uint8))
        self.filled(generator)

    def filled(self, generator: torch.Generator) -> Model:
        """With new numbers everywhere."""
        fill(self, generator)
        return self


class WithNone(nn.Module):
    """Holds None where others have a tensor or a module: as a layer without a bias does, or a norm without weights or
    without statistics.
    """

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self.first, self.last = Layer(4, 3), Layer(2, 4)
        self.first.bias = None
        self.norm = nn.BatchNorm1d(4, affine=False)
        self.bare = nn.BatchNorm1d(4, track_running_stats=False)
        self.register_parameter("gain", None)
        self.register_buffer("cache", None)
        self.register_module("head", None)
        self.register_buffer("table", torch.zeros(3))
        fill(self, generator)


@torch.no_grad()
def fill(model: nn.Module, generator: torch.Generator) -> None:
    """Puts new numbers into all tensors."""
    for _, tensor in tensors(model):
        if tensor.is_floating_point():
            tensor.copy_(torch.randn(tensor.shape, generator=generator) + 2)
        else:
            most = {torch.bool: 2, torch.uint8: 250}.get(tensor.dtype, 900)
            tensor.copy_(torch.randint(most, tensor.shape, generator=generator))


def tensors(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Each tensor of a module once."""
    yield from model.named_parameters()
    yield from model.named_buffers()
