"""Right answers of 13.encode, of other shapes than the solution's."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


def written_out(x, layers, padding=None):
    """No functions inside; padding by where."""
    for layer in layers:
        z = layer.norm1(x) if layer.norm_first else x
        attended, _ = layer.self_attn(query=z, key=z, value=z, key_padding_mask=padding, need_weights=False)
        x = x + layer.dropout1(attended)
        if not layer.norm_first:
            x = layer.norm1(x)
        z = layer.norm2(x) if layer.norm_first else x
        hidden = layer.activation(layer.linear1(z))
        x = x + layer.dropout2(layer.linear2(layer.dropout(hidden)))
        if not layer.norm_first:
            x = layer.norm2(x)
    if padding is None:
        return x
    return torch.where(padding.unsqueeze(-1), torch.zeros_like(x), x)


def cleared_between(x, layers, padding=None):
    """0 at padding after each layer; the padding as a mask for each query and head."""
    for layer in layers:
        mask = None
        if padding is not None:
            mask = padding[:, None, None].expand(-1, layer.self_attn.num_heads, x.shape[1], -1).flatten(0, 1)
        skip = nn.Identity()
        before, after = (skip, layer.norm1) if not layer.norm_first else (layer.norm1, skip)
        z = before(x)
        x = after(x + layer.dropout1(layer.self_attn(z, z, z, attn_mask=mask, need_weights=False)[0]))
        before, after = (skip, layer.norm2) if not layer.norm_first else (layer.norm2, skip)
        x = after(
            x + layer.dropout2(layer.linear2(layer.dropout(layer.activation(layer.linear1(before(x))))))
        )
        if padding is not None:
            x = x.masked_fill(padding.unsqueeze(2), 0)
    return x


def by_the_layers_blocks(x, layers, padding=None):
    """The two halves that a layer has as methods."""
    for layer in layers:
        if layer.norm_first:
            x = x + layer._sa_block(layer.norm1(x), None, padding)
            x = x + layer._ff_block(layer.norm2(x))
        else:
            x = layer.norm1(x + layer._sa_block(x, None, padding))
            x = layer.norm2(x + layer._ff_block(x))
    if padding is not None:
        x = x.clone()
        x[padding] = 0.0
    return x


RIGHT: list[Any] = [written_out, cleared_between, by_the_layers_blocks]
