"""What people write for padding, modes, dropout and gradients in 13.encode, and why it is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.labs.attention.encode.exercise import encode
from helpers.labs.attention.encode.right import Layer, Sublayer, attend, encoded

STACK = "What the layers of an `nn.TransformerEncoder` make of x, one after the other, in every mode."
ATTENTION = "attention(z) is dropout1 of what `self_attn` gives for z as query, key and value"
FORWARD = "forward(z) is dropout2(linear2(dropout(activation(linear1(z)))))."
CALLED = "These parts are called, with the layer's own `activation`."
NOBODY = "nobody looks at padding"
ZERO = "The result is 0 at padding, in training and in eval, with gradients and without."
STAY = "The arguments stay as they were, also the modes of the layers."


# Padding.


@encode.mistake(breaks=NOBODY)
def padding_forgotten(*args: Any) -> Tensor:
    """Real positions look at padding as at any other. Perhaps `self_attn` was not told of it."""
    return encoded(*args, attend=lambda z, layer, padding: attend(z, layer, None))


@encode.mistake(breaks=NOBODY)
def padding_inverted(*args: Any) -> Tensor:
    """Real positions look at padding alone. Perhaps `key_padding_mask` was given the other way round: it is True at padding, as
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
    """At padding stand numbers, in every mode: nobody looks there, and they are computed all the same. A mean over all positions
    counts them; and torch's own layers give 0 there in eval without gradients, and numbers else.
    """
    return encoded(*args, clear=lambda x, padding, layers: x)


@encode.mistake(breaks=ZERO)
def zero_without_a_graph_alone(*args: Any) -> Tensor:
    """Where a graph is made, numbers stand at padding, and 0 where none is. Perhaps the result is set to 0 only if it does not require
    grad: both are asked for.
    """
    return encoded(
        *args,
        clear=lambda x, padding, layers: x if x.requires_grad else x.masked_fill(padding[..., None], 0),
    )


@encode.mistake(breaks=ZERO)
def zero_without_gradients_alone(*args: Any) -> Tensor:
    """With gradients on, numbers stand at padding, and 0 with gradients off. Perhaps `torch.is_grad_enabled()` is asked: both are
    asked for.
    """

    def clear(x: Tensor, padding: Tensor, layers: list[Layer]) -> Tensor:
        return x if torch.is_grad_enabled() else x.masked_fill(padding[..., None], 0)

    return encoded(*args, clear=clear)


@encode.mistake(breaks=ZERO)
def zero_with_gradients_alone(*args: Any) -> Tensor:
    """With gradients off, numbers stand at padding, and 0 with gradients on. Perhaps one way out of the function does without
    `masked_fill`, as if torch gave 0 there by itself: that does only a whole layer of torch's.
    """

    def clear(x: Tensor, padding: Tensor, layers: list[Layer]) -> Tensor:
        return x.masked_fill(padding[..., None], 0) if torch.is_grad_enabled() else x.nan_to_num()

    return encoded(*args, clear=clear)


@encode.mistake(breaks=ZERO)
def zero_where_torch_gives_it(*args: Any) -> Tensor:
    """In eval without gradients 0 stands at padding, and numbers in other modes: so do torch's own layers, which is what this
    exercise mends.
    """

    def clear(x: Tensor, padding: Tensor, layers: list[Layer]) -> Tensor:
        fast = not layers[0].training and not torch.is_grad_enabled()
        return x.masked_fill(padding[..., None], 0) if fast else x

    return encoded(*args, clear=clear)


@encode.variant(zero_where_torch_gives_it)
def _(*args: Any) -> Tensor:
    def clear(x: Tensor, padding: Tensor, layers: list[Layer]) -> Tensor:
        return x if layers[0].training or x.requires_grad else x.masked_fill(padding[..., None], 0)

    return encoded(*args, clear=clear)


@encode.mistake(breaks=ZERO)
def zero_in_eval_alone(*args: Any) -> Tensor:
    """In training numbers stand at padding, and 0 in eval."""
    return encoded(
        *args,
        clear=lambda x, padding, layers: x if layers[0].training else x.masked_fill(padding[:, :, None], 0.0),
    )


@encode.mistake(breaks=ZERO)
def zero_at_the_real(*args: Any) -> Tensor:
    """The real positions are 0, and numbers stand at padding. Perhaps the mask at the end is the wrong way round."""
    return encoded(*args, clear=lambda x, padding, layers: x * padding[:, :, None])


@encode.mistake(breaks=ZERO)
def nan_times_zero(*args: Any) -> Tensor:
    """A sample that is padding throughout gives NaN in every mode. Perhaps `self_attn` was asked for its weights: then it gives NaN
    where nobody may be looked at, and NaN * 0 is NaN. `masked_fill` gives 0, whatever stands there.
    """
    return encoded(
        *args,
        attend=lambda z, layer, padding: layer.dropout1(
            layer.self_attn(z, z, z, key_padding_mask=padding)[0]
        ),
        clear=lambda x, padding, layers: x * ~padding[:, :, None],
    )


@encode.mistake(breaks=ZERO)
def nan_times_zero_in_eval(*args: Any) -> Tensor:
    """A sample that is padding throughout gives NaN in eval where no graph is made: there `self_attn` takes its fast way, which gives
    NaN where nobody may be looked at. Perhaps the end multiplies by 0: NaN * 0 is NaN, and `masked_fill` gives 0.
    """
    return encoded(*args, clear=lambda x, padding, layers: x * ~padding[:, :, None])


@encode.variant(nan_times_zero_in_eval)
def _(*args: Any) -> Tensor:
    def clear(x: Tensor, padding: Tensor, layers: list[Layer]) -> Tensor:
        return torch.einsum("btf,bt->btf", x, (~padding).to(x.dtype))

    return encoded(*args, clear=clear)


@encode.mistake(breaks=ZERO)
def empty_samples_left_out(x: Tensor, layers: Iterable[Layer], padding: Tensor | None = None) -> Tensor:
    """Where a sample has real positions, its padding is 0; where it has none, numbers stand there. Perhaps the padding that was opened
    there, so that somebody may be looked at, was used at the end, too: keep the one that came.
    """

    return encoded(x, layers, None if padding is None else padding & ~padding.all(1, keepdim=True))


@encode.mistake(breaks=ZERO)
def first_of_an_empty_sample(x: Tensor, layers: Iterable[Layer], padding: Tensor | None = None) -> Tensor:
    """In a sample that is padding throughout some positions are 0, and at others numbers stand. Perhaps one of its positions was
    opened, so that somebody may be looked at, and that padding was used at the end, too: keep the one that came.
    """
    if padding is not None:
        padding = padding.clone()
        padding[padding.all(1), 0] = False
    return encoded(x, layers, padding)


@encode.mistake(breaks=STAY)
def padding_opened(x: Tensor, layers: Iterable[Layer], padding: Tensor | None = None) -> Tensor:
    """`padding` was edited in place, and it belongs to the caller. Perhaps a position was opened where a sample is padding throughout, so
    that somebody may be looked at: do so in a copy.
    """
    if padding is not None:
        padding[padding.all(1), 0] = False
    return encoded(x, layers, padding)


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
    """A part that alone had been in training is in eval afterwards, as its layer is. Perhaps the layer's mode was put back by
    `train(mode)`, which sets all parts.
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
    """The numbers are right, and linear1 and linear2 are not called. Perhaps their weights were read, or their `forward` was called:
    so a hook has no effect.
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
    """In training dropout1 hits x itself. Perhaps it stands around the sum: it is to stand on attention's result alone."""

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
    """x gets no gradient: nothing below the stack learns, an embedding for example. Perhaps x was detached."""
    return encoded(x.detach(), *args)


@encode.mistake(breaks=STACK)
def detached_between_layers(x: Tensor, layers: Iterable[Layer], padding: Tensor | None = None) -> Tensor:
    """Only the last layer gets gradients. Perhaps x is detached between the layers, or `.data` is taken."""
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
