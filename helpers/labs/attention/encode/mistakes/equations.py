"""What people write for the equations of 13.encode, for one layer and several, and why it is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.labs.attention.encode.exercise import encode
from helpers.labs.attention.encode.right import Layer, Sublayer, after, before, encoded

STACK = "What the layers of an `nn.TransformerEncoder` make of x, one after the other, in every mode."
POST = "A layer is x = norm1(x + attention(x)), then x = norm2(x + forward(x))."
PRE = "With `norm_first` it is x = x + attention(norm1(x)), then x = x + forward(norm2(x))."
ATTENTION = "attention(z) is dropout1 of what `self_attn` gives for z as query, key and value"
FORWARD = "forward(z) is dropout2(linear2(dropout(activation(linear1(z)))))."
CALLED = "These parts are called, with the layer's own `activation`."
LAYER = "A layer itself is never called, nor its `forward`, nor `nn.TransformerEncoder`."
STAY = "The arguments stay as they were, also the modes of the layers."


@encode.mistake(breaks=LAYER)
def layers_called(x: Tensor, layers: Iterable[Layer], padding: Tensor | None = None) -> Tensor:
    """A layer of torch runs inside: its equations are what this exercise builds. And in eval without gradients it takes a
    different way, which leaves other numbers at padding.
    """
    for layer in layers:
        x = layer(x, src_key_padding_mask=padding)
    return x if padding is None else x.masked_fill(padding[:, :, None], 0.0)


@encode.variant(layers_called)
def _(x: Tensor, layers: Iterable[Layer], padding: Tensor | None = None) -> Tensor:
    for layer in layers:
        x = layer.forward(x, None, padding)
    return x if padding is None else x.masked_fill(padding[:, :, None], 0.0)


# One layer.


@encode.mistake(breaks=POST)
def no_residual_at_attention(*args: Any) -> Tensor:
    """x is not added to what attention gives: what a position knew of itself goes on only by way of the others."""

    def without(x: Tensor, layer: Layer, attention: Sublayer, forward: Sublayer) -> Tensor:
        x = layer.norm1(attention(x))
        return layer.norm2(x + forward(x))

    return encoded(*args, after=without)


@encode.mistake(breaks=POST)
def no_residual_at_forward(*args: Any) -> Tensor:
    """x is not added to what the feed-forward part gives."""

    def without(x: Tensor, layer: Layer, attention: Sublayer, forward: Sublayer) -> Tensor:
        return layer.norm2(forward(layer.norm1(x + attention(x))))

    return encoded(*args, after=without)


@encode.mistake(breaks=POST)
def residual_of_the_input(*args: Any) -> Tensor:
    """The second sum adds the input of the layer, not the result of the first half: attention's own part is left out of it."""

    def from_the_input(x: Tensor, layer: Layer, attention: Sublayer, forward: Sublayer) -> Tensor:
        return layer.norm2(x + forward(layer.norm1(x + attention(x))))

    return encoded(*args, after=from_the_input)


@encode.mistake(breaks=POST)
def norm_before_the_sum(*args: Any) -> Tensor:
    """The norm is taken of attention's and forward's result alone, before x is added: it belongs to the sum."""

    def of_the_branch(x: Tensor, layer: Layer, attention: Sublayer, forward: Sublayer) -> Tensor:
        x = x + layer.norm1(attention(x))
        return x + layer.norm2(forward(x))

    return encoded(*args, after=of_the_branch)


@encode.mistake(breaks=POST)
def always_norm_first(*args: Any) -> Tensor:
    """Without norm_first, the norms are taken before the sublayers all the same."""
    return encoded(*args, after=before)


@encode.mistake(breaks=POST)
def norms_exchanged(*args: Any) -> Tensor:
    """norm2 stands behind attention, and norm1 behind forward: they have weights of their own."""

    def exchanged(x: Tensor, layer: Layer, attention: Sublayer, forward: Sublayer) -> Tensor:
        x = layer.norm2(x + attention(x))
        return layer.norm1(x + forward(x))

    return encoded(*args, after=exchanged)


@encode.mistake(breaks=POST)
def one_norm_twice(*args: Any) -> Tensor:
    """norm1 is used twice, and norm2 never: they have weights of their own."""

    def twice(x: Tensor, layer: Layer, attention: Sublayer, forward: Sublayer) -> Tensor:
        x = layer.norm1(x + attention(x))
        return layer.norm1(x + forward(x))

    return encoded(*args, after=twice)


@encode.mistake(breaks=POST)
def last_norm_forgotten(*args: Any) -> Tensor:
    """The second sum is returned without its norm."""

    def without(x: Tensor, layer: Layer, attention: Sublayer, forward: Sublayer) -> Tensor:
        x = layer.norm1(x + attention(x))
        return x + forward(x)

    return encoded(*args, after=without)


@encode.mistake(breaks=POST)
def side_by_side(*args: Any) -> Tensor:
    """forward gets the input of the layer, as attention does, and both are added: forward comes after attention."""

    def parallel(x: Tensor, layer: Layer, attention: Sublayer, forward: Sublayer) -> Tensor:
        return layer.norm2(layer.norm1(x + attention(x)) + forward(x))

    return encoded(*args, after=parallel)


@encode.mistake(breaks=FORWARD)
def no_activation(*args: Any) -> Tensor:
    """There is no activation between the two linear layers: together they are one linear layer."""
    return encoded(
        *args, forward=lambda z, layer: layer.dropout2(layer.linear2(layer.dropout(layer.linear1(z))))
    )


@encode.mistake(breaks=FORWARD)
def activation_at_the_end(*args: Any) -> Tensor:
    """The activation comes after linear2: it is to stand between the two linear layers."""
    return encoded(
        *args,
        forward=lambda z, layer: layer.dropout2(
            layer.activation(layer.linear2(layer.dropout(layer.linear1(z))))
        ),
    )


@encode.mistake(breaks=FORWARD)
def activation_twice(*args: Any) -> Tensor:
    """The activation stands after linear2, too: what is below 0 there is lost."""

    def forward(z: Tensor, layer: Layer) -> Tensor:
        inner = layer.dropout(layer.activation(layer.linear1(z)))
        return layer.dropout2(layer.activation(layer.linear2(inner)))

    return encoded(*args, forward=forward)


@encode.mistake(breaks=ATTENTION)
def pair_taken_for_the_result(*args: Any) -> Tensor:
    """`self_attn` returns two things, the result and the weights, and the pair was taken for the result: [0]."""
    return encoded(*args, attend=lambda z, layer, padding: layer.dropout1(layer.self_attn(z, z, z)))


@encode.variant(pair_taken_for_the_result)
def _(*args: Any) -> Tensor:
    return encoded(*args, attend=lambda z, layer, padding: layer.self_attn(z, z, z))


@encode.mistake(breaks=ATTENTION)
def time_first(*args: Any) -> Tensor:
    """A position looks at the other samples of the batch. Perhaps x was transposed for `self_attn`, whose layer has batch_first=True."""

    def across(z: Tensor, layer: Layer, padding: Tensor | None) -> Tensor:
        z = z.transpose(0, 1)
        return layer.dropout1(layer.self_attn(z, z, z, need_weights=False)[0].transpose(0, 1))

    return encoded(*args, attend=across)


@encode.mistake(breaks=STACK)
def dropout_in_eval(*args: Any) -> Tensor:
    """Numbers were drawn in eval. Perhaps by F.dropout, which is on unless it is told otherwise: the layer has its own dropouts."""
    return encoded(
        *args,
        forward=lambda z, layer: layer.dropout2(
            layer.linear2(F.dropout(layer.activation(layer.linear1(z)), layer.dropout.p))
        ),
    )


@encode.mistake(breaks=STAY)
def added_in_place(*args: Any) -> Tensor:
    """x was edited in place. Perhaps by `x +=`, which adds to the tensor of the caller."""

    def in_place(x: Tensor, layer: Layer, attention: Sublayer, forward: Sublayer) -> Tensor:
        x += attention(x).detach()
        x = layer.norm1(x)
        return layer.norm2(x + forward(x))

    return encoded(*args, after=in_place)


@encode.variant(added_in_place)
def _(*args: Any) -> Tensor:
    def in_place(x: Tensor, layer: Layer, attention: Sublayer, forward: Sublayer) -> Tensor:
        x += attention(layer.norm1(x))
        x += forward(layer.norm2(x))
        return x

    return encoded(*args, before=in_place)


@encode.mistake(breaks=STACK)
def without_gradients(*args: Any) -> Tensor:
    """The result does not require grad: nothing in the layers can learn. Perhaps no_grad is around it, so that all modes agree."""
    with torch.no_grad():
        return encoded(*args)


@encode.mistake(breaks=POST)
def one_norm_more(x: Tensor, layers: Iterable[Layer], padding: Tensor | None = None) -> Tensor:
    """The result was normed once more, behind the last norm. Perhaps by a norm for the whole stack: that is the encoder's own `norm`,
    and not asked for.
    """
    x = encoded(x, layers, padding)
    return F.layer_norm(x, x.shape[-1:])


@encode.variant(one_norm_more)
def _(*args: Any) -> Tensor:
    return encoded(*args, after=lambda x, layer, *rest: layer.norm2(after(x, layer, *rest)))


# norm_first.


@encode.mistake(breaks=PRE)
def never_norm_first(*args: Any) -> Tensor:
    """norm_first has no effect: the norms come after the sums."""
    return encoded(*args, before=after)


@encode.mistake(breaks=PRE)
def residual_of_the_norm(*args: Any) -> Tensor:
    """With norm_first, the norm of x is added, not x itself: the way of x past the sublayers must stay free of norms."""

    def normed(x: Tensor, layer: Layer, attention: Sublayer, forward: Sublayer) -> Tensor:
        x = layer.norm1(x)
        x = x + attention(x)
        x = layer.norm2(x)
        return x + forward(x)

    return encoded(*args, before=normed)


@encode.mistake(breaks=PRE)
def norm_at_both_ends(*args: Any) -> Tensor:
    """With norm_first there is one norm too many, at the end of the layer. One for the whole stack is the encoder's own `norm`."""
    return encoded(
        *args,
        before=lambda x, layer, attention, forward: layer.norm2(before(x, layer, attention, forward)),
    )


@encode.mistake(breaks=PRE)
def first_norm_alone(*args: Any) -> Tensor:
    """With norm_first, only attention's norm comes first; that of forward still stands behind the sum."""

    def half(x: Tensor, layer: Layer, attention: Sublayer, forward: Sublayer) -> Tensor:
        x = x + attention(layer.norm1(x))
        return layer.norm2(x + forward(x))

    return encoded(*args, before=half)


# Several layers.


@encode.mistake(breaks=STACK)
def first_layer_alone(x: Tensor, layers: Iterable[Layer], padding: Tensor | None = None) -> Tensor:
    """Only the first layer has an effect. Perhaps the return stands inside the loop."""
    return encoded(x, [next(iter(layers))], padding)


@encode.mistake(breaks=STACK)
def last_layer_alone(x: Tensor, layers: Iterable[Layer], padding: Tensor | None = None) -> Tensor:
    """Only the last layer has an effect. Perhaps each gets the first input, not the result of the layer before it."""
    return encoded(x, list(layers)[-1:], padding)


@encode.mistake(breaks=STACK)
def last_layer_first(x: Tensor, layers: Iterable[Layer], padding: Tensor | None = None) -> Tensor:
    """The layers ran in the opposite order."""
    return encoded(x, list(layers)[::-1], padding)


@encode.mistake(breaks=CALLED)
def always_relu(*args: Any) -> Tensor:
    """With activation="gelu" the result is that of relu. Perhaps relu is written out: the layer knows its own `activation`."""
    return encoded(
        *args,
        forward=lambda z, layer: layer.dropout2(layer.linear2(layer.dropout(F.relu(layer.linear1(z))))),
    )


@encode.mistake(breaks="all other options may differ from layer to layer")
def options_of_the_first_layer(x: Tensor, layers: Iterable[Layer], padding: Tensor | None = None) -> Tensor:
    """A later layer is computed in the wrong order where its norm_first is not that of the first. Perhaps options are read from
    the first layer alone.
    """
    layers = list(layers)
    way = before if layers[0].norm_first else after
    return encoded(x, layers, padding, before=way, after=way)


@encode.mistake(breaks="from any iterable")
def layers_indexed(x: Tensor, layers: Any, padding: Tensor | None = None) -> Tensor:
    """A generator has no length and no places. Any iterable may come in: walk through it once, with `for layer in layers`."""
    return encoded(x, [layers[place] for place in range(len(layers))], padding)


@encode.mistake(breaks="from any iterable")
def layers_read_twice(x: Tensor, layers: Iterable[Layer], padding: Tensor | None = None) -> Tensor:
    """A generator came back without effect: it was read once before, and is empty then. Walk through it once."""
    sum(1 for _ in layers)
    return encoded(x, layers, padding)
