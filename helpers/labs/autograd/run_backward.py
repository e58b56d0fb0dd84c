"""Exercise 03.run_backward: a backward engine of one's own, over torch's real graph."""

from __future__ import annotations

import torch

from helpers.exercise import Exercise
from helpers.labs.autograd.graphs import Blend, Halves
from helpers.labs.autograd.run_backward_parts import (
    Engine,
    expected,
    gradients,
    kind_of_shape,
    kind_of_times,
    leaf,
    normal,
    same,
    same_leaves,
    times_counted,
)
from helpers.trial import Trial

run_backward = Exercise(
    "03.run_backward",
    "An engine of your own",
    objective="Walk torch's real graph from a root to its leaves, and give every leaf its gradient.",
    minutes=40,
    difficulty="hard",
    hints=[
        "A node may be called when all gradients that will ever reach it are there. How many will? Go once through "
        "the graph before you call anything, and count how often each node stands in a next_functions.",
        "Keep for each node a list with one place for each of its outputs. A gradient comes for (node, slot): put it "
        "there, or add it to what is there. Then one gradient fewer is missing, also if it was None; at none missing "
        "the node is ready.",
        "node._input_metadata[slot] holds shape and dtype of what the node expects: grad.sum_to_size(shape).to(dtype). "
        "`before + grad` makes a new tensor; `before += grad` edits one that others hold, too.",
        "Start: edge = torch.autograd.graph.get_gradient_edge(root); its .node and .output_nr are where grad_out "
        "goes. A node with an attribute `variable` is a leaf: it is not called, its gradient goes into the dict.",
    ],
)


@run_backward.property("after a chain of operations the leaf has torch's gradient")
def chain(answer: Engine, trial: Trial) -> None:
    for shape in ((3, 4), (), (0, 4)):
        trial.given(f"root = sin(x * c).exp() with x of shape {shape}, float64; c needs no gradient")
        x, c, grad_out = leaf(trial, *shape), normal(trial, *shape), normal(trial, *shape)
        root = (x * c).sin().exp()
        want = expected(root, grad_out, x=x)
        found = gradients(answer, trial, root, grad_out, x=x)
        same_leaves(trial, found, want)
        trial.equal(found["x"], want["x"], "The gradient of x")
        trial.true(
            not found["x"].is_inference(),
            "The gradient is an inference tensor: a later computation that needs gradients cannot use it.",
            expected="an ordinary tensor, made with grad mode off (torch.no_grad)",
            observed="inference",
        )


@run_backward.property("a leaf as root: its gradient is grad_out")
def leaf_as_root(answer: Engine, trial: Trial) -> None:
    trial.given("root = x itself, a leaf of shape (3, 4): x.grad_fn is None")
    x = leaf(trial, 3, 4)
    same(answer, trial, x, normal(trial, 3, 4), x=x)


@run_backward.property("what is used several times gets the sum of the gradients of all uses")
def shared(answer: Engine, trial: Trial) -> None:
    trial.given("root = h*c1 + h*c2 + h*c3 + w*d1 + w*d2 + w*d3 with h = sin(x); x and w are leaves")
    x, w, grad_out = leaf(trial, 3, 4), leaf(trial, 3, 4), normal(trial, 3, 4)
    c, d = [normal(trial, 3, 4) for _ in range(3)], [normal(trial, 3, 4) for _ in range(3)]
    h = x.sin()
    root = (h * c[0] + h * c[1]) + h * c[2] + ((w * d[0] + w * d[1]) + w * d[2])
    want = expected(root, grad_out, x=x, w=w)
    found = gradients(answer, trial, root, grad_out, x=x, w=w)
    same_leaves(trial, found, want)
    counted = {
        "h": times_counted(found["x"], [grad_out * x.detach().cos() * factor for factor in c]),
        "w": times_counted(found["w"], [grad_out * factor for factor in d]),
    }
    wrong = {name: times for name, times in counted.items() if times != [1, 1, 1]}
    trial.true(
        not wrong,
        " ".join(
            f"Three gradients reach {name}; they went into the result {' and '.join(map(str, times))} times."
            if times
            else f"The result is no sum of the three gradients that reach {name}."
            for name, times in wrong.items()
        ),
        expected="each of the three once: their sum",
        observed=[(name, kind_of_times(times)) for name, times in counted.items()],
    )
    for name, grad in want.items():
        trial.equal(found[name], grad, f"The gradient of {name}")


@run_backward.property("a gradient has the shape of what its receiver gave to the forward operation")
def shapes(answer: Engine, trial: Trial) -> None:
    trial.given("root = a + b with a of shape (3, 1) and b of shape (1, 4)")
    a, b, m, s = leaf(trial, 3, 1), leaf(trial, 1, 4), leaf(trial, 3, 4), leaf(trial)
    for root, leaves in (
        (a + b, {"a": a, "b": b}),
        (m.sum(1, keepdim=True) + b, {"m": m, "b": b}),
        ((m.sum() + s).sin() + b * a, {"m": m, "s": s, "a": a, "b": b}),
    ):
        grad_out = normal(trial, 3, 4)
        want = expected(root, grad_out, **leaves)
        found = gradients(answer, trial, root, grad_out, **leaves)
        same_leaves(trial, found, want)
        for name, grad in want.items():
            got = found[name]
            trial.equal(got, grad, f"The gradient of {name}", observed=kind_of_shape(got, grad))
        trial.given(
            "root = m.sum(1, keepdim=True) + b with m of shape (3, 4), b of shape (1, 4), and more of this kind"
        )


@run_backward.property("a gradient has the dtype of what its receiver gave to the forward operation")
def dtypes(answer: Engine, trial: Trial) -> None:
    single = torch.float32
    a, b = leaf(trial, 3, 4, dtype=single), leaf(trial, 3, 4)
    trial.given("root = a + b with a of float32 and b of float64")
    same(answer, trial, a + b, normal(trial, 3, 4), a=a, b=b)
    trial.given("root = (a @ m) + b with a and m of float32, b of float64")
    m = leaf(trial, 4, 4, dtype=single)
    same(answer, trial, a @ m + b, normal(trial, 3, 4), a=a, m=m, b=b)


@run_backward.property("each output of a node has its own slot")
def slots(answer: Engine, trial: Trial) -> None:
    x, c = leaf(trial, 4, 3), normal(trial, 3)
    rows = x.unbind()
    for told, root, used in (
        ("root = x.unbind()[2]: the third output of a node is the root", rows[2], [2]),
        ("root = rows[1] * c + rows[3].sin() with rows = x.unbind()", rows[1] * c + rows[3].sin(), [1, 3]),
        (
            "root = sin(rows[0]) + rows[0] * rows[2] with rows = x.unbind()",
            rows[0].sin() + rows[0] * rows[2],
            [0, 2],
        ),
    ):
        trial.given(told + ", x of shape (4, 3)")
        grad_out = normal(trial, 3)
        want = expected(root, grad_out, x=x)
        found = gradients(answer, trial, root, grad_out, x=x)
        same_leaves(trial, found, want)
        got = found["x"]
        if isinstance(got, torch.Tensor) and got.shape == x.shape:
            filled = got.detach().any(1).nonzero().flatten().tolist()
            trial.true(
                filled == used,
                f"In the gradient of x, numbers stand in the rows {filled}, but the rows {used} were used.",
                expected=f"zeros in the rows that were not used, numbers in {used}",
                got=got,
                observed=(told, "rows lost" if set(filled) < set(used) else "other rows"),
            )
        trial.equal(got, want["x"], "The gradient of x", observed=(told, "values"))


@run_backward.property("nodes of custom Functions: no tensors among the arguments, unreduced gradients")
def custom_functions(answer: Engine, trial: Trial) -> None:
    a, b, c = leaf(trial, 3, 4), leaf(trial, 1, 4), normal(trial, 4)
    trial.given(
        "Function's forward(ctx, name, a, weight, b) with two outputs; name and weight are no tensors"
    )
    both, sine = Blend.apply("blend", a, 0.7, b)
    same(answer, trial, both * 2 + sine, normal(trial, 3, 4), a=a, b=b)
    trial.given("the second of a Function's two outputs is the root, the first one is not used")
    same(answer, trial, Blend.apply("blend", a, 0.7, b)[1], normal(trial, 3, 4), a=a, b=b)
    trial.given(
        "two Functions, each with a tensor argument that needs no gradient, before and after one that does"
    )
    root = Blend.apply("blend", a.detach(), 0.7, b)[1] + Halves.apply(b, c, 0.5)
    same(answer, trial, root, normal(trial, 3, 4), b=b)
