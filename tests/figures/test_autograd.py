"""Lab 03's figure: the graph as torch has it, and a run over it as it was recorded."""

from __future__ import annotations

from itertools import combinations

import pytest
import torch
from torch import Tensor

from helpers.figures.autograd import HEIGHT, WIDTH, backward_graph, backward_graph_alt, layout
from helpers.figures.autograd_graph import graph_of, recorded, saved, steps_of
from helpers.figures.picture import png
from helpers.labs.autograd.shown import call_node


@pytest.fixture
def leaves() -> dict[str, Tensor]:
    return {
        "a": torch.tensor([1.0, -0.5], requires_grad=True),
        "b": torch.tensor(2.0, requires_grad=True),
    }


@pytest.fixture
def loss(leaves) -> Tensor:
    u = leaves["a"] * leaves["b"]
    return (u.sin() + u.exp() * leaves["b"]).sum()


@pytest.fixture
def run(loss):
    """The calls of an engine that goes by hand: Sum, Add, Sin, Mul, Exp, Mul."""
    addition = loss.grad_fn.next_functions[0][0]
    (sine, _), (product, _) = addition.next_functions
    inner = sine.next_functions[0][0]
    with recorded(call_node) as calls, torch.no_grad():
        (one,) = call_node(loss.grad_fn, [torch.tensor(1.0)])
        to_sin, to_product = call_node(addition, [one])
        (first,) = call_node(sine, [to_sin])
        to_exp, _ = call_node(product, [to_product])
        (second,) = call_node(product.next_functions[0][0], [to_exp])
        call_node(inner, [first + second])
    return calls


def test_a_node_tells_what_it_saved(leaves):
    a, b = leaves.values()
    assert saved((a + b).grad_fn) == ()
    assert saved(a.exp().grad_fn) == ("result (2,)",)
    assert saved((a * b).grad_fn) == ("other ()", "self (2,)")
    assert saved((a * 2).grad_fn) == ("other ()",)


def test_what_was_freed_is_said(loss, leaves):
    node = loss.grad_fn.next_functions[0][0].next_functions[0][0]
    loss.backward()
    assert saved(node) == ("freed",)


def test_a_custom_function_tells_what_it_saved(leaves):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return 2 * x

        @staticmethod
        def backward(ctx, grad_out):
            return 2 * grad_out

    graph = graph_of(Twice.apply(leaves["a"]), leaves)
    assert [box.name for box in graph.boxes] == ["TwiceBackward", "AccumulateGrad: a"]
    assert graph.boxes[0].saved == ("saved (2,)",)


def test_the_graph_holds_each_node_once(loss, leaves):
    names = [box.name for box in graph_of(loss, leaves).boxes]
    assert names[0] == "SumBackward0" and names.count("MulBackward0") == 2
    assert sorted(names[-2:]) == ["AccumulateGrad: a", "AccumulateGrad: b"] and len(names) == 8


def test_steps_say_how_many_gradients_came(loss, leaves, run):
    graph = graph_of(loss, leaves)
    steps = steps_of(graph, run)
    assert len(steps) == len(run) + 2 and steps[0].called == steps[-1].called == -1
    inner = graph.place(run[-1][0])
    assert [step.buffers.get(inner, "")[-6:] for step in steps[3:7]] == ["", "1 of 2", "1 of 2", "2 of 2"]
    assert inner not in steps[4].complete and inner in steps[6].complete


def test_buffers_hold_the_sums_in_the_shape_of_the_leaf(loss, leaves, run):
    graph = graph_of(loss, leaves)
    last = steps_of(graph, run)[-1]
    wanted = torch.autograd.grad(loss, list(leaves.values()))
    found = {graph.boxes[at].name: text for at, text in last.buffers.items()}
    first = ", ".join(f"{number:.2f}" for number in wanted[0].tolist())
    assert found == {
        "AccumulateGrad: a": f"[{first}]   1 of 1",
        "AccumulateGrad: b": f"{wanted[1]:.2f}   2 of 2",
    }


def test_an_engine_that_calls_nothing_has_one_moment(loss, leaves):
    graph = graph_of(loss, leaves)
    assert len(steps_of(graph, [])) == 1
    backward_graph(graph, "loss", steps_of(graph, [])[0])


def test_recording_ends_with_its_block(loss):
    with recorded(call_node) as calls:
        pass
    call_node(loss.grad_fn, [torch.tensor(1.0)])
    assert calls == []


def test_no_box_lies_on_another_one(leaves):
    layers = torch.nn.Sequential(*(torch.nn.Linear(2, 2) for _ in range(4)))
    boxes = graph_of(layers(leaves["a"]).sum() + leaves["a"].sin().sum(), leaves).boxes
    ways = layout(boxes)
    places = [ways[at, at][0] for at in range(len(boxes))]
    assert all(abs(x - u) >= WIDTH or abs(y - v) >= HEIGHT for (x, y), (u, v) in combinations(places, 2))
    assert all(
        ways[at, after][0][1] > ways[at, after][-1][1] for at, box in enumerate(boxes) for after in box.feeds
    )


def test_the_same_run_gives_the_same_bytes(loss, leaves, run):
    graph = graph_of(loss, leaves)
    step = steps_of(graph, run)[3]
    assert png(backward_graph(graph, "loss", step)) == png(backward_graph(graph, "loss", step))


def test_the_words_say_who_is_called(loss, leaves, run):
    graph = graph_of(loss, leaves)
    message = backward_graph_alt(graph, "loss", steps_of(graph, run)[3])
    assert "Called now: SinBackward0; 2 were called before." in message and "MulBackward0" in message
    assert "ExpBackward0 saved result (2,)" in backward_graph_alt(graph, "loss")
