"""Right answers to 03.square_functional, in different shapes."""

from __future__ import annotations

import torch

from .shared import Generated


class Batched(Generated):
    """A batched version of its own: one call of itself."""

    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x):
        return Batched.apply(x), in_dims[0]


class Looped(Generated):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x):
        return torch.stack([Looped.apply(part) for part in x.unbind(in_dims[0])], dim=-1), x.dim() - 1


class TwoLayers(Generated):
    """The node is that of another Function."""

    @staticmethod
    def apply(x):
        return Generated.apply(x)


RIGHT = [Generated, Batched, Looped, TwoLayers]
