"""The figure of lab 09: what a trace kept of a source, and what vanished."""

from __future__ import annotations

import random
import warnings

import pytest
import torch
from torch import Tensor, nn

from helpers.figures import torchscript as figures
from helpers.figures.picture import png
from helpers.labs.torchscript.shown.cases import CASES, case


def mixed(x: Tensor) -> Tensor:
    """A docstring."""
    print("called")
    total = torch.zeros(2)
    for row in range(x.shape[0]):
        total = total + x[row]
    if total.sum() > 100:
        total = total - 100
    return total / len(x)


def read(function, *example: Tensor) -> figures.Reading:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return figures.reading(function, torch.jit.trace(function, example, check_trace=False))


def test_lines_without_operations_are_lost() -> None:
    found = read(mixed, torch.ones(3, 2))
    lost = [
        'print("called")',
        "for row in range(x.shape[0]):",
        "if total.sum() > 100:",
        "total = total - 100",
    ]
    assert found.lost == lost
    assert [line.text.strip() for line in found.lines][:2] == ["def mixed(x: Tensor) -> Tensor:", lost[0]]


def test_operations_know_their_line() -> None:
    found = read(mixed, torch.ones(3, 2))
    made_by = [found.lines[line].text.strip() for _, line, _ in found.operations]
    assert made_by == ["total = torch.zeros(2)", *["total = total + x[row]"] * 6, "return total / len(x)"]


@pytest.mark.parametrize(
    ("name", "text"), [("len", "div(%1, "), ("item", "slice(x, 0, 0, "), ("random", "mul(x, 1.")]
)
def test_numbers_that_python_computed_are_marked(name: str, text: str) -> None:
    found = figures.reading((one := case(name)).eager, one.traced)
    assert [text in operation for operation, _, frozen in found.operations if frozen] == [True]


def test_the_turns_of_a_loop_are_marked() -> None:
    found = figures.reading((one := case("loop")).eager, one.traced)
    of_loop = [
        (text, frozen) for text, line, frozen in found.operations if "/ (place" in found.lines[line].text
    ]
    frozen = [text for text, frozen in of_loop if frozen]
    assert frozen and frozen == [text for text, _ in of_loop if "select(" in text or "div(" in text]


def test_numbers_of_the_source_are_not() -> None:
    def line(x: Tensor) -> Tensor:
        return 2 * x + 1

    assert [frozen for *_, frozen in read(line, torch.ones(2)).operations] == [False, False]


def test_a_lambda_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="written with def"):
        read(lambda x: 2 * x, torch.ones(2))


def test_operations_of_layers_belong_to_the_line_that_calls_them() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(2, 1)

        def forward(self, x: Tensor) -> Tensor:
            y = self.fc(x)
            return y.relu()

    found = read(Net(), torch.ones(1, 2))
    assert [found.lines[line].text.strip() for _, line, _ in found.operations] == [
        "y = self.fc(x)",
        "return y.relu()",
    ]


@pytest.mark.parametrize("name", CASES)
def test_every_case_can_be_drawn(name: str) -> None:
    random.seed(0)
    found = figures.reading((one := case(name)).eager, one.traced)
    picture = png(figures.side_by_side(found, name, "a note"))
    assert picture[:4] == b"\x89PNG" and name in figures.side_by_side_alt(found, name)
