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


def empty_samples_look_anywhere(x, layers, padding=None):
    """Where nobody is real, the padding is opened in a copy; so the weights may be wanted, and a product clears."""
    opened = padding if padding is None else padding.logical_and(~padding.all(1, keepdim=True))
    for layer in layers:
        a = layer.norm1(x) if layer.norm_first else x
        a = x + layer.dropout1(layer.self_attn(a, a, a, key_padding_mask=opened)[0])
        b = layer.norm2(a) if layer.norm_first else (a := layer.norm1(a))
        x = a + layer.dropout2(layer.linear2(layer.dropout(layer.activation(layer.linear1(b)))))
        x = x if layer.norm_first else layer.norm2(x)
    return x + 0 if padding is None else x * ~padding.unsqueeze(-1)


def without_empty_samples(x, layers, padding=None):
    """Only samples that have a real position go through the layers; a floating mask, of 0 and -inf."""
    alive = slice(None) if padding is None else ~padding.all(1)
    part, mask = x[alive], None
    if padding is not None:
        mask = torch.zeros(part.shape[:2], dtype=x.dtype).masked_fill(padding[alive], -torch.inf)

    def attention(layer, z):
        return layer.dropout1(layer.self_attn(z, z, z, need_weights=False, key_padding_mask=mask)[0])

    def forward(layer, z):
        return layer.dropout2(layer.linear2(layer.dropout(layer.activation(layer.linear1(z)))))

    for layer in layers:
        for inner, norm in ((attention, layer.norm1), (forward, layer.norm2)):
            part = part + inner(layer, norm(part)) if layer.norm_first else norm(part + inner(layer, part))
    if padding is None:
        return part
    part = part.masked_fill(padding[alive][..., None], 0)
    return torch.zeros_like(x).index_copy(0, alive.nonzero().flatten(), part)


RIGHT: list[Any] = [
    written_out,
    cleared_between,
    by_the_layers_blocks,
    empty_samples_look_anywhere,
    without_empty_samples,
]
