"""Lab 13's figures draw what they are given, and its counted bytes are those of the formulas."""

from __future__ import annotations

import torch
from torch import nn

from helpers.figures.attention import halves, looks, rows_and_looks, saved_by_length
from helpers.labs.attention import in_heads, largest_made, saved_bytes
from helpers.labs.attention import looks as looks_of


def test_a_blocked_cell_is_crossed_out_and_a_weight_is_written() -> None:
    figure = looks(torch.tensor([[1.0, 0.0], [0.25, 0.75]]), "given", ["one", "two"])
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.texts] == ["1.00", "0.25", "0.75"] and len(axes.lines) == 1
    assert [label.get_text() for label in axes.get_yticklabels()] == ["one", "two"]


def test_a_table_stands_beside_the_rows_that_ask() -> None:
    picture, table = rows_and_looks(torch.rand(8, 8), torch.ones(7, 7).tril(), "layer 0").axes
    assert picture.images[0].get_array().shape == (7, 8) and len(table.lines) == 21


def test_each_way_has_a_line_and_the_formulas_two() -> None:
    figure = saved_by_length([32, 64], {"one": [100, 200], "two": [100, 400]}, width=16)
    lines = figure.axes[0].lines
    assert len(lines) == 4 and lines[-1].get_ydata().tolist() == [4 * 32 * 17, 4 * 64 * 17]


def test_the_halves_stand_one_above_the_other() -> None:
    assert len(halves(torch.rand(3, 8, 8), torch.rand(3, 8, 8)).axes) == 6


def test_saved_bytes_count_a_memory_once_and_inputs_not_at_all() -> None:
    x = torch.randn(3, 4, requires_grad=True)
    assert saved_bytes(lambda x: x * x, x) == 0
    assert saved_bytes(lambda x: (y := x.exp()) * y, x) == 48


def test_the_largest_tensor_made_is_no_view() -> None:
    x = torch.randn(3, 4)
    assert largest_made(lambda x: x.expand(5, 3, 4).sum(), x) == 1
    assert largest_made(lambda x: x.repeat(5, 1, 1).sum(), x) == 60


class Layer(nn.Module):
    """What `looks` asks of a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(8)])
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


def test_the_weights_of_each_layer_and_head_are_torch_s() -> None:
    layers, x = [Layer(), Layer()], torch.randn(1, 5, 8)
    later = torch.ones(5, 5).triu(1).bool()
    found = looks_of(layers, x)
    for layer, weights, given in zip(layers, found, (x, x * 2), strict=True):
        y = layer.norms[0](given)
        _, want = layer.attention(y, y, y, attn_mask=later, average_attn_weights=False)
        assert torch.allclose(weights, want[0], atol=1e-6)
    assert in_heads(x, layers[0].attention)[2].shape == (1, 2, 5, 4)
