"""What people write for 13.rotate, and why it is wrong."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.labs.attention.rotate.exercise import ALONE, ANGLE, ANYWHERE, LAYOUT, PAIRS, TURNS, WIDE, rotate
from helpers.labs.attention.rotate.right import (
    angles_of,
    answer,
    by_angles,
    by_turn,
    joined,
    pairs_of,
    speeds_of,
    turned,
    wide_of,
)

of_angles = rotate.bank(by_angles)
of_turns = rotate.bank(by_turn)
right = answer()


# The turn.


@of_turns.mistake(breaks=PAIRS)
def new_a_in_b(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> Any:
    """Rows have a different length: the new a went into b. Both are made of the old a and b."""
    a = a * cos - b * sin
    b = a * sin + b * cos
    return a, b


@of_turns.mistake(breaks=PAIRS)
def two_pluses(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> Any:
    """Rows have a different length: with + in both lines this is no turn."""
    return a * cos + b * sin, a * sin + b * cos


@of_turns.mistake(breaks=PAIRS)
def cos_alone(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> Any:
    """Rows have a different length: each feature was multiplied by cos. A turn mixes the two of a pair."""
    return a * cos, b * cos


@of_turns.mistake(breaks=PAIRS)
def swapped(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> Any:
    """cos and sin are swapped, so that position 0 is turned, too. The lengths and the scores do not show it."""
    return a * sin - b * cos, a * cos + b * sin


@of_turns.mistake(breaks=PAIRS)
def mirrored(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> Any:
    """The signs are those of a mirror, not of a turn: at position 0, b becomes -b. Each score is as before, since q and k are mirrored
    both.
    """
    return a * cos - b * sin, -a * sin - b * cos


@of_turns.mistake(breaks=PAIRS)
def the_other_way(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> Any:
    """Each pair is turned the other way. Scores are as before where q and k are turned alike, and weights that were trained with the
    right way do not fit.
    """
    return a * cos + b * sin, b * cos - a * sin


@rotate.mistake(breaks=PAIRS)
def half_apart(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """Feature i is paired with feature i + D / 2, and not with its neighbour. Both are in use, and weights that were trained with one do
    not fit the other.
    """
    angles = torch.cat([angles_of(x, positions, base)] * 2, dim=-1)
    wide = x.to(wide_of(x))
    first, second = wide.chunk(2, dim=-1)
    return (wide * angles.cos() + torch.cat((-second, first), dim=-1) * angles.sin()).to(x.dtype)


@rotate.variant(half_apart)
def _(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    t = angles_of(x, positions, base)
    a, b = x.to(wide_of(x)).chunk(2, dim=-1)
    return torch.cat(turned(a, b, t.cos(), t.sin()), dim=-1).to(x.dtype)


rotate.add_mistake(
    "joined_one_behind_the_other",
    answer(join=lambda a, b: torch.cat((a, b), dim=-1)),
    why="The first features of all pairs stand before all second ones. In the result, too, a pair lies side by side: stack, then flatten.",
    breaks=" ".join(PAIRS.split()),
)
rotate.add_mistake(
    "split_in_halves_and_interleaved",
    answer(pairs=lambda x: x.chunk(2, dim=-1)),
    why="Feature i is paired with feature i + D / 2, and the result has them side by side. The pairs are neighbours before and after.",
    breaks=" ".join(PAIRS.split()),
)


@rotate.mistake(breaks=PAIRS)
def cos_does_not_fit(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """Rows have a different length. Perhaps cos and sin are laid out by halves, and the pairs by neighbours: the two features of a pair
    get different angles.
    """
    angles = angles_of(x, positions, base).repeat(1, 2)
    wide = x.to(wide_of(x))
    a, b = pairs_of(wide)
    return (wide * angles.cos() + joined(-b, a) * angles.sin()).to(x.dtype)


@rotate.mistake(breaks=TURNS)
def added(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """Sines and cosines were added to x, as in the first Transformer. Lengths change, and a score depends on the places themselves."""
    angles = angles_of(x, positions, base)
    return x + joined(angles.sin(), angles.cos()).to(x.dtype)


# The angle.


@of_angles.mistake(breaks=ANGLE)
def growing_speeds(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """The exponent lacks its minus: the speeds grow with i, up to thousands of turns a position."""
    return positions.to(wide_of(x))[:, None] / speeds_of(x.shape[-1], base, wide_of(x))


@of_angles.mistake(breaks=ANGLE)
def half_the_exponent(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """The exponent is -i / D: the slowest pairs turn much too fast. i counts pairs, and each has two features: -2i / D."""
    wide, width = wide_of(x), x.shape[-1]
    return positions.to(wide)[:, None] * base ** (-torch.arange(width // 2, dtype=wide) / width)


@of_angles.mistake(breaks=ANGLE)
def twice_the_exponent(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """The exponent is -4i / D. Perhaps the steps of two were multiplied by two once more."""
    wide, width = wide_of(x), x.shape[-1]
    return positions.to(wide)[:, None] * base ** (-2 * torch.arange(0, width, 2, dtype=wide) / width)


@of_angles.mistake(breaks=ANGLE)
def one_speed(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """All pairs are turned by the same angle. Each pair has its own speed."""
    return positions.to(wide_of(x))[:, None].expand(-1, x.shape[-1] // 2)


@of_angles.mistake(breaks=ANGLE)
def counted_from_one(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """The first position is turned as if it were 1. Scores are as before: all are turned further by the same."""
    return angles_of(x, positions + 1, base)


@of_angles.mistake(breaks=ANGLE)
def in_degrees(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """The angles are much too small: they were taken as degrees. `torch.cos` takes radians, as the formula does."""
    return torch.deg2rad(angles_of(x, positions, base))


@of_angles.mistake(breaks=ANGLE)
def always_the_same_base(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """The base is 10,000, and a different one was given. Perhaps it is written out."""
    return angles_of(x, positions, 10_000.0)


@of_angles.mistake(breaks=ANGLE)
def whole_number_exponent(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """The speeds are all 1 or 1 / base: the exponent was divided to a whole number. Perhaps `//` stands where `/` is meant."""
    wide, width = wide_of(x), x.shape[-1]
    return positions.to(wide)[:, None] * base ** (-torch.arange(0, width, 2) // width).to(wide)


@of_angles.mistake(breaks=ANGLE)
def end_included(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """The exponents go from 0 to -1, both included. Perhaps by `linspace`: -2i / D ends one step before -1."""
    wide = wide_of(x)
    return positions.to(wide)[:, None] * base ** -torch.linspace(0, 1, x.shape[-1] // 2, dtype=wide)


# Where it is.


@of_angles.mistake(breaks=ANYWHERE)
def counts_the_rows(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """The rows of x were counted, and the positions not read: the first row is turned as position 0. Under a cache, each new row would
    stand at the beginning. Where all begin at 0, it does not show.
    """
    return angles_of(x, torch.arange(x.shape[2]), base)


@of_angles.mistake(breaks=ANYWHERE)
def counts_on_from_the_first(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Only the first position was read, and the rows counted on from it. They need not be in order."""
    return angles_of(x, positions[0] + torch.arange(x.shape[2]), base)


@of_angles.mistake(breaks=ANYWHERE)
def begins_at_the_smallest(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """The smallest position is turned as 0, and the others by their distance to it. Within a call the scores are as before; a key that was
    turned in an earlier call does not fit.
    """
    return angles_of(x, positions - positions.min(), base)


@of_angles.mistake(breaks=ANYWHERE)
def relative_to_the_first(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """The first position is turned as 0, and the others by their distance to it. Within a call the scores are as before; a key that was
    turned in an earlier call does not fit.
    """
    return angles_of(x, positions - positions[0], base)


@of_angles.mistake(breaks=ANYWHERE)
def sorts_them(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Rows have the angles of others where the positions are not in order. Perhaps they were sorted."""
    return angles_of(x, positions.sort().values, base)


@of_angles.mistake(breaks=ANYWHERE)
def table_too_short(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """A position that is larger than the number of rows raises IndexError. Perhaps a table for T positions is looked up: positions need not
    begin at 0.
    """
    table = angles_of(x, torch.arange(x.shape[2] + 7), base)
    return table[positions]


@of_angles.mistake(breaks="0 or more, the position of each row of x")
def table_of_fixed_length(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """A position of some thousands raises IndexError, and small ones do not. Perhaps a table of fixed length is looked up: no sentence says
    where positions end.
    """
    return angles_of(x, torch.arange(2048), base)[positions]


@of_angles.variant(table_of_fixed_length)
def _(x: Tensor, positions: Tensor, base: float) -> Tensor:
    return angles_of(x, torch.arange(512), base).index_select(0, positions)


@of_angles.variant(table_of_fixed_length)
def _(x: Tensor, positions: Tensor, base: float) -> Tensor:
    return angles_of(x, torch.arange(1024), base)[positions]


SPEEDS: dict[tuple[Any, ...], Tensor] = {}


@of_angles.mistake(breaks=ALONE)
def speeds_of_an_earlier_base(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """The base is that of an earlier call. Perhaps a table of speeds is kept for each width: what it was made of has to be the same, too."""
    size = x.shape[-1], wide_of(x)
    if size not in SPEEDS:
        SPEEDS[size] = speeds_of(*size[:1], base, wide_of(x))
    return positions.to(wide_of(x))[:, None] * SPEEDS[size]


KNOWN: dict[tuple[Any, ...], tuple[Tensor, Tensor]] = {}


@of_angles.mistake(breaks=ALONE)
def known_by_identity(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """The angles are those of an earlier call, and the positions have other numbers by now. Perhaps angles are kept under the identity or
    the place of the tensor: it stays where numbers change, and comes again once a tensor is gone.
    """
    key = id(positions), x.shape[-1], x.dtype, base
    if key not in KNOWN:
        KNOWN[key] = positions, angles_of(x, positions, base)
    return KNOWN[key][1]


LATEST: list[Any] = [None, None, None]


@of_angles.variant(known_by_identity)
def _(x: Tensor, positions: Tensor, base: float) -> Tensor:
    key = positions.data_ptr(), x.shape, x.dtype, base
    if LATEST[0] != key:
        LATEST[:] = key, angles_of(x, positions, base), positions
    return LATEST[1]


TABLES: dict[tuple[Any, ...], Tensor] = {}


@of_angles.mistake(breaks=ANYWHERE)
def table_of_an_earlier_call(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """The angles are those of an earlier call with different positions. Perhaps a table is kept for each size: what it was made of has to
    be the same, too.
    """
    size = *x.shape[2:], x.dtype, base
    if size not in TABLES:
        TABLES[size] = angles_of(x, positions, base)
    return TABLES[size]


# Memory, shapes, dtypes, gradients.


@rotate.mistake(breaks="The arguments stay as they were.")
def in_place(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """The caller's x has changed. Perhaps the pairs were written back into it."""
    t = angles_of(x, positions, base)
    a, b = (each.clone() for each in pairs_of(x.to(wide_of(x))))
    with torch.no_grad():
        x[..., 0::2], x[..., 1::2] = turned(a, b, t.cos(), t.sin())
    return x


@rotate.mistake(breaks="Shape and dtype of x.")
def left_in_pairs(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """The result has a dimension too many, of the two features of a pair. Perhaps `flatten(-2)` is missing."""
    t = angles_of(x, positions, base)
    return torch.stack(turned(*pairs_of(x.to(wide_of(x))), t.cos(), t.sin()), dim=-1).to(x.dtype)


@rotate.mistake(breaks=LAYOUT)
def needs_neighbours(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """An error where the features of x do not lie side by side in memory. Perhaps `view_as_complex` or `view` needs that: `contiguous()`
    or `reshape` before it.
    """
    t = angles_of(x, positions, base)
    pairs = torch.view_as_complex(x.to(wide_of(x)).unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(t), t)).flatten(-2).to(x.dtype)


@rotate.mistake(breaks="Shape and dtype of x.")
def without_single_dimensions(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """Dimensions of size 1 are gone from the result. Perhaps `squeeze()` took more than one."""
    return right(x, positions, base).squeeze()


@rotate.mistake(breaks=WIDE[0])
def always_float32(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """With float64 the result has the accuracy of float32 only. Perhaps the angles are float32, whatever x is: `torch.arange(...).float()`
    is.
    """
    t = angles_of(x.float(), positions, base)
    return joined(*turned(*pairs_of(x), t.cos(), t.sin())).to(x.dtype)


@rotate.variant(always_float32)
def _(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    return right(x.float(), positions, base).to(x.dtype)


@rotate.mistake(breaks=WIDE[0])
def angles_in_the_low_dtype(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """With bfloat16 the result is far off. Perhaps positions and angles were rounded to it: 257 is 256 there, a whole radian less."""
    speeds = base ** (-torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1])
    t = positions.to(x.dtype)[:, None] * speeds
    return joined(*turned(*pairs_of(x), t.cos(), t.sin()))


@rotate.mistake(breaks=WIDE[1])
def tables_rounded(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """With bfloat16 the result was rounded more than once. Perhaps cos and sin have the dtype of x, or x was not made wider before it was
    turned: products and sums are then rounded, too.
    """
    t = angles_of(x, positions, base)
    return joined(*turned(*pairs_of(x), t.cos().to(x.dtype), t.sin().to(x.dtype)))


@rotate.mistake(breaks=WIDE[0])
def positions_in_half(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """With float16 the result is far off, and with bfloat16 it is not. Perhaps positions or angles have the dtype float16: 2049 is 2048
    there.
    """
    return right(x, positions.half() if x.dtype == torch.float16 else positions, base)


@of_angles.mistake(breaks=WIDE[1])
def exponents_rounded(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """The exponents -2i / D were rounded to the dtype of x, and the speeds made of them. Perhaps they are divided in it, and made wide
    afterwards. Where D is a power of two nothing is lost by it, and it does not show.
    """
    exponents = -torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1]
    wide = wide_of(x)
    return positions.to(wide)[:, None] * base ** exponents.to(wide)


@of_angles.mistake(breaks=WIDE[1])
def base_rounded(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """The base was rounded. Perhaps a tensor of the dtype of x was made of it: 10,000 is 9,984 in bfloat16. A Python number is exact
    enough as it is.
    """
    return angles_of(x, positions, torch.tensor(base, dtype=x.dtype).item())


@of_angles.variant(base_rounded)
def _(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """By a tensor of the default dtype."""
    wide, width = wide_of(x), x.shape[-1]
    speeds = torch.tensor(base) ** (-torch.arange(0, width, 2, dtype=wide) / width)
    return positions.to(wide)[:, None] * speeds


@of_angles.variant(base_rounded)
def _(x: Tensor, positions: Tensor, base: float) -> Tensor:
    return angles_of(x, positions, torch.tensor(base).half().item() if x.dtype == torch.float16 else base)


@rotate.mistake(breaks="Shape and dtype of x.")
def stays_wide(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """With bfloat16 the result is float32: it was not given back the dtype of x."""
    t = angles_of(x, positions, base)
    return joined(*turned(*pairs_of(x), t.cos(), t.sin()))


@rotate.mistake(breaks="x gets its gradient.")
@torch.no_grad()
def without_a_graph(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """The result does not require grad: what makes the queries and keys learns nothing. `torch.no_grad()` or `detach()` may stand around
    the angles, and not around x.
    """
    return right(x, positions, base)


@rotate.variant(without_a_graph)
def _(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    return right(x.detach(), positions, base)


@rotate.mistake(breaks="x gets its gradient.")
def half_a_graph(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """The gradient of x is wrong. Perhaps a part of x was detached, and only the rest gets its share."""
    t = angles_of(x, positions, base)
    a, b = pairs_of(x.to(wide_of(x)))
    return joined(*turned(a, b.detach(), t.cos(), t.sin())).to(x.dtype)
