"""What people write for 13.encode, and why it is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.labs.attention.encode.exercise import encode
from helpers.labs.attention.encode.right import Layer, Sublayer, after, attend, before, encoded

STACK = "What the layers of an `nn.TransformerEncoder` make of x, one after the other, in every mode."
SHAPE = "Shape (B, T, E), dtype of x."
POST = "A layer is x = norm1(x + attention(x)), then x = norm2(x + forward(x))."
PRE = "With `norm_first` it is x = x + attention(norm1(x)), then x = x + forward(norm2(x))."
ATTENTION = "attention(z) is dropout1 of what `self_attn` gives for z as query, key and value"
FORWARD = "forward(z) is dropout2(linear2(dropout(activation(linear1(z)))))."
CALLED = "These parts are called, with the layer's own `activation`."
LAYER = "A layer itself is never called, nor its `forward`, nor `nn.TransformerEncoder`."
NOBODY = "Nobody looks at padding."
ZERO = "The result is 0 at padding, in training and in eval, with gradients and without."
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
    """A position looks at the other samples of the batch: x was transposed for `self_attn`, whose layer has batch_first=True."""

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


@encode.mistake(breaks=STACK)
def without_gradients(*args: Any) -> Tensor:
    """The result does not require grad: nothing in the layers can learn. Perhaps no_grad is around it, so that all modes agree."""
    with torch.no_grad():
        return encoded(*args)


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
    """Only the last layer has an effect: each gets the first input, not the result of the layer before it."""
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
    """All layers are taken to be as the first: a later one with a different norm_first is computed in the wrong order."""
    layers = list(layers)
    way = before if layers[0].norm_first else after
    return encoded(x, layers, padding, before=way, after=way)


@encode.mistake(breaks="layers: each made with `batch_first=True`")
def layers_indexed(x: Tensor, layers: Any, padding: Tensor | None = None) -> Tensor:
    """A generator has no length and no places. Any iterable may come in: walk through it once, with `for layer in layers`."""
    return encoded(x, [layers[place] for place in range(len(layers))], padding)


@encode.mistake(breaks="layers: each made with `batch_first=True`")
def layers_read_twice(x: Tensor, layers: Iterable[Layer], padding: Tensor | None = None) -> Tensor:
    """A generator came back without effect: it was read once before, and is empty then. Walk through it once."""
    sum(1 for _ in layers)
    return encoded(x, layers, padding)


# Padding.


@encode.mistake(breaks=NOBODY)
def padding_forgotten(*args: Any) -> Tensor:
    """Real positions look at padding as at any other. Perhaps `self_attn` was not told of it."""
    return encoded(*args, attend=lambda z, layer, padding: attend(z, layer, None))


@encode.mistake(breaks=NOBODY)
def padding_inverted(*args: Any) -> Tensor:
    """Real positions look at padding alone: `key_padding_mask` was given the other way round. It is True at padding, as
    `padding` is.
    """
    return encoded(
        *args, attend=lambda z, layer, padding: attend(z, layer, None if padding is None else ~padding)
    )


@encode.mistake(breaks=NOBODY)
def padding_as_numbers(*args: Any) -> Tensor:
    """Real positions look at padding, even more than before: a floating mask is added, and 1 is added there. Give it as bool."""
    return encoded(
        *args,
        attend=lambda z, layer, padding: attend(z, layer, None if padding is None else padding.to(z.dtype)),
    )


@encode.mistake(breaks=NOBODY)
def zeros_for_a_mask(x: Tensor, layers: Iterable[Layer], padding: Tensor | None = None) -> Tensor:
    """Real positions look at padding: x was set to 0 there, and a key of zeros has a score all the same."""
    if padding is not None:
        x = x.masked_fill(padding[:, :, None], 0.0)
    return encoded(x, layers, padding, attend=lambda z, layer, padding: attend(z, layer, None))


@encode.mistake(breaks=STAY)
def padding_zeroed_in_place(x: Tensor, layers: Iterable[Layer], padding: Tensor | None = None) -> Tensor:
    """x was edited in place, and it belongs to the caller. Perhaps it was set to 0 at padding: masked_fill gives a new tensor."""
    if padding is not None:
        x[padding] = 0.0
    return encoded(x, layers, padding)


@encode.mistake(breaks=NOBODY)
def padding_at_the_end(x: Tensor, layers: Iterable[Layer], padding: Tensor | None = None) -> Tensor:
    """The result is wrong where padding stands before a real position. Perhaps only the number of real positions was taken from
    `padding`, as if it always came at the end.
    """
    if padding is not None:
        padding = torch.arange(x.shape[1]) >= (~padding).sum(1, keepdim=True)
    return encoded(x, layers, padding)


@encode.mistake(breaks=NOBODY)
def padding_in_the_first_layer(x: Tensor, layers: Iterable[Layer], padding: Tensor | None = None) -> Tensor:
    """One layer is right, and of two the second looks at padding: it has to be told, too."""
    first, *others = layers
    x = encoded(encoded(x, [first], padding), others)
    return x if padding is None else x.masked_fill(padding[:, :, None], 0.0)


@encode.mistake(breaks=ZERO)
def numbers_at_padding(*args: Any) -> Tensor:
    """At padding stand numbers: nobody looks there, and they are computed all the same. A mean over all positions counts
    them; and torch's own layers give 0 there in eval without gradients, and numbers else.
    """
    return encoded(*args, clear=lambda x, padding, layers: x)


@encode.variant(numbers_at_padding)
def _(x: Tensor, layers: Iterable[Layer], padding: Tensor | None = None) -> Tensor:
    return encoded(
        x,
        layers,
        padding,
        clear=lambda x, padding, layers: x if x.requires_grad else x.masked_fill(padding[..., None], 0),
    )


@encode.mistake(breaks=ZERO)
def zero_in_eval_alone(*args: Any) -> Tensor:
    """In training numbers stand at padding, and 0 in eval."""
    return encoded(
        *args,
        clear=lambda x, padding, layers: x if layers[0].training else x.masked_fill(padding[:, :, None], 0.0),
    )


@encode.mistake(breaks=ZERO)
def zero_at_the_real(*args: Any) -> Tensor:
    """The real positions are 0, and numbers stand at padding: the mask at the end is the wrong way round."""
    return encoded(*args, clear=lambda x, padding, layers: x * padding[:, :, None])


@encode.mistake(breaks=ZERO)
def nan_times_zero(*args: Any) -> Tensor:
    """A sample that is padding throughout gives NaN. Perhaps `self_attn` was asked for its weights: then it gives NaN where nobody may
    be looked at, and NaN * 0 is NaN. `masked_fill` gives 0; need_weights=False avoids the NaN.
    """
    return encoded(
        *args,
        attend=lambda z, layer, padding: layer.dropout1(
            layer.self_attn(z, z, z, key_padding_mask=padding)[0]
        ),
        clear=lambda x, padding, layers: x * ~padding[:, :, None],
    )


# Modes.


@encode.mistake(breaks=STAY)
def put_into_eval(x: Tensor, layers: Iterable[Layer], padding: Tensor | None = None) -> Tensor:
    """A layer that was in training is in eval afterwards: dropout is off for the rest of the training."""
    return encoded(x, [layer.eval() for layer in layers], padding)


@encode.mistake(breaks=STAY)
def put_into_training(x: Tensor, layers: Iterable[Layer], padding: Tensor | None = None) -> Tensor:
    """A layer that was in eval is in training afterwards. Perhaps it was put into eval for the call, and then `train()` called,
    whatever it was before.
    """
    layers = list(layers)
    result = encoded(x, [layer.eval() for layer in layers], padding)
    for layer in layers:
        layer.train()
    return result


@encode.mistake(breaks=STAY)
def one_mode_for_all_parts(x: Tensor, layers: Iterable[Layer], padding: Tensor | None = None) -> Tensor:
    """The mode of the layer was put back, and that of a part lost, which had been put into training alone: `train(mode)` sets
    all parts.
    """
    layers = list(layers)
    modes = [layer.training for layer in layers]
    result = encoded(x, [layer.eval() for layer in layers], padding)
    for layer, mode in zip(layers, modes, strict=True):
        layer.train(mode)
    return result


# Parts.


@encode.mistake(breaks=CALLED)
def linear_by_its_weights(*args: Any) -> Tensor:
    """The numbers are right, and linear1 and linear2 are not called: their weights were read. A hook, or a part put in their
    place (an adapter, a quantised one), has no effect.
    """

    def forward(z: Tensor, layer: Layer) -> Tensor:
        inner = layer.dropout(layer.activation(F.linear(z, layer.linear1.weight, layer.linear1.bias)))
        return layer.dropout2(F.linear(inner, layer.linear2.weight, layer.linear2.bias))

    return encoded(*args, forward=forward)


@encode.mistake(breaks=FORWARD)
def no_dropout_in_forward(*args: Any) -> Tensor:
    """In eval all is right, and `dropout` is never called: between the two linear layers nothing is dropped in training."""
    return encoded(
        *args, forward=lambda z, layer: layer.dropout2(layer.linear2(layer.activation(layer.linear1(z))))
    )


@encode.mistake(breaks=ATTENTION)
def no_dropout_after_attention(*args: Any) -> Tensor:
    """In eval all is right, and dropout1 is never called: what attention gives is not dropped in training."""
    return encoded(
        *args,
        attend=lambda z, layer, padding: layer.self_attn(
            z, z, z, key_padding_mask=padding, need_weights=False
        )[0],
    )


@encode.mistake(breaks=FORWARD)
def no_dropout_after_forward(*args: Any) -> Tensor:
    """In eval all is right, and dropout2 is never called: what forward gives is not dropped in training."""
    return encoded(
        *args, forward=lambda z, layer: layer.linear2(layer.dropout(layer.activation(layer.linear1(z))))
    )


@encode.mistake(breaks=CALLED)
def no_dropout_after_either(*args: Any) -> Tensor:
    """In eval all is right, and dropout1 and dropout2 are never called: what attention and forward give is not dropped in training."""

    def attend(z: Tensor, layer: Layer, padding: Tensor | None) -> Tensor:
        return layer.self_attn(z, z, z, key_padding_mask=padding, need_weights=False)[0]

    return encoded(
        *args,
        attend=attend,
        forward=lambda z, layer: layer.linear2(layer.dropout(layer.activation(layer.linear1(z)))),
    )


@encode.mistake(breaks=CALLED)
def no_dropout_at_all(*args: Any) -> Tensor:
    """In eval all is right, and no dropout is ever called: the model trains without."""

    def attend(z: Tensor, layer: Layer, padding: Tensor | None) -> Tensor:
        return layer.self_attn(z, z, z, key_padding_mask=padding, need_weights=False)[0]

    return encoded(
        *args, attend=attend, forward=lambda z, layer: layer.linear2(layer.activation(layer.linear1(z)))
    )


@encode.mistake(breaks=ATTENTION)
def dropout_of_the_sum(*args: Any) -> Tensor:
    """In training dropout1 hits x itself: it stands around the sum, and is to stand on attention's result alone."""

    def around(x: Tensor, layer: Layer, attention: Sublayer, forward: Sublayer) -> Tensor:
        x = layer.norm1(layer.dropout1(x + attention(x)))
        return layer.norm2(x + forward(x))

    def bare(z: Tensor, layer: Layer, padding: Tensor | None) -> Tensor:
        return layer.self_attn(z, z, z, key_padding_mask=padding, need_weights=False)[0]

    return encoded(*args, after=around, attend=bare)


@encode.mistake(breaks=FORWARD)
def dropout_before_activation(*args: Any) -> Tensor:
    """In training `dropout` stands before the activation: with relu nobody sees it, with one that is not 0 at 0 it is wrong."""
    return encoded(
        *args,
        forward=lambda z, layer: layer.dropout2(
            layer.linear2(layer.activation(layer.dropout(layer.linear1(z))))
        ),
    )


@encode.mistake(breaks=FORWARD)
def dropouts_exchanged(*args: Any) -> Tensor:
    """dropout1 and dropout2 are exchanged: each has a p of its own, which somebody may have set."""

    def attend(z: Tensor, layer: Layer, padding: Tensor | None) -> Tensor:
        return layer.dropout2(layer.self_attn(z, z, z, key_padding_mask=padding, need_weights=False)[0])

    def forward(z: Tensor, layer: Layer) -> Tensor:
        return layer.dropout1(layer.linear2(layer.dropout(layer.activation(layer.linear1(z)))))

    return encoded(*args, attend=attend, forward=forward)


# Gradients.


@encode.mistake(breaks=STACK)
def input_detached(x: Tensor, *args: Any) -> Tensor:
    """x gets no gradient: it was detached, so that nothing below the stack learns, an embedding for example."""
    return encoded(x.detach(), *args)


@encode.mistake(breaks=STACK)
def detached_between_layers(x: Tensor, layers: Iterable[Layer], padding: Tensor | None = None) -> Tensor:
    """Only the last layer gets gradients: x is detached between the layers. Perhaps `.data` was meant to save a copy."""
    for layer in layers:
        x = encoded(x.detach(), [layer], padding)
    return x


@encode.mistake(breaks="No gradient becomes NaN, also where a sample is padding throughout.")
def weights_wanted(*args: Any) -> Tensor:
    """A sample that is padding throughout makes gradients of the layer NaN. Perhaps `self_attn` makes the weights, as it does
    unless need_weights=False: then a plain softmax runs, 0 / 0 in such a sample, and 0 times NaN is NaN on the way back.
    """

    def wanted(z: Tensor, layer: Layer, padding: Tensor | None) -> Tensor:
        return layer.dropout1(layer.self_attn(z, z, z, key_padding_mask=padding)[0])

    return encoded(*args, attend=wanted)


@encode.variant(weights_wanted)
def _(*args: Any) -> Tensor:
    def cleared(z: Tensor, layer: Layer, padding: Tensor | None) -> Tensor:
        attended, _ = layer.self_attn(z, z, z, key_padding_mask=padding, average_attn_weights=False)
        return layer.dropout1(attended.nan_to_num())

    return encoded(*args, attend=cleared)
