"""What people write for 03.run_backward: grad mode, gradients that are None, leaves, custom Functions."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import Node, get_gradient_edge

from helpers.labs.autograd.nodes import call_node
from helpers.labs.autograd.run_backward import run_backward
from helpers.labs.autograd.run_backward_mistakes import Gradients, engine, nodes_below


@run_backward.wrong_answer(
    "grad_mode_left_on",
    why="With grad mode on, each backward operation is recorded in a new graph, which keeps every tensor of the "
    "backward alive. torch does that only with create_graph=True; here: with torch.no_grad().",
    seen="torch does that only with create_graph=True",
)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return engine(root, grad_out, grad_mode=torch.enable_grad)


@run_backward.another_form("grad_mode_left_on")
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    found = engine(root, grad_out, grad_mode=torch.enable_grad)
    return {leaf: grad.detach() for leaf, grad in found.items()}


@run_backward.wrong_answer(
    "inference_mode",
    why="torch.inference_mode() makes tensors that no later computation with gradients may use. torch.no_grad() is "
    "what stops the recording only.",
    seen="is an inference tensor",
)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return engine(root, grad_out, grad_mode=torch.inference_mode)


@run_backward.wrong_answer(
    "zeros_for_nothing",
    why="A leaf that no gradient reaches got zeros. torch gives None there, and an optimizer treats the two "
    "differently: zeros are a step (with momentum, with weight decay), None is none.",
    seen="an optimizer treats the two differently",
)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def leaf(grad: Tensor | None, node: Node) -> Tensor:
        return torch.zeros_like(node.variable, requires_grad=False) if grad is None else grad

    return engine(root, grad_out, leaf=leaf)


@run_backward.wrong_answer(
    "none_for_nothing",
    why="A leaf that no gradient reaches stands in the dict with None. Leave it out: `leaf in gradients` then says "
    "whether it has one.",
    seen="stands in the dict with None",
)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    gradients = dict.fromkeys(
        node.variable for node in nodes_below(get_gradient_edge(root).node) if hasattr(node, "variable")
    )
    return gradients | engine(root, grad_out)


@run_backward.wrong_answer(
    "none_never_arrives",
    why="A gradient that is None was skipped before it was counted: its receiver waits for it for ever, and all that "
    "lies behind gets nothing.",
    seen="its receiver waits for it for ever",
)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return engine(root, grad_out, none_counts=False)


@run_backward.wrong_answer(
    "empty_nodes_skipped",
    why="A node that got nothing but None was not called. torch calls it: a custom Function gets zeros, and zeros are "
    "what the leaves behind it receive.",
    seen="torch calls it: a custom Function gets zeros",
)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def call(node: Node, grads: list) -> tuple:
        return (
            (None,) * len(node.next_functions)
            if not any(g is not None for g in grads)
            else call_node(node, grads)
        )

    return engine(root, grad_out, call=call)


@run_backward.wrong_answer(
    "accumulates_into_grad",
    why="The nodes of leaves were called like all others. That is what .backward() does; torch.autograd.grad stops "
    "before them.",
    seen="torch.autograd.grad stops before them",
)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def leaf(grad: Tensor | None, node: Node) -> Tensor | None:
        node(grad)
        return grad

    return engine(root, grad_out, leaf=leaf)


@run_backward.another_form("accumulates_into_grad")
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    found = engine(root, grad_out)
    for leaf, grad in found.items():
        leaf.grad = grad if leaf.grad is None else leaf.grad + grad
    return found


@run_backward.wrong_answer(
    "calls_every_node_itself",
    why="`node(grad)` works for the nodes written in C++ only. The node of a custom Function is no callable: "
    "call_node knows both kinds.",
    seen="object is not callable",
)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def call(node: Node, grads: list) -> tuple:
        found: Any = node(*grads)
        return found if isinstance(found, tuple) else (found,)

    return engine(root, grad_out, call=call)


@run_backward.wrong_answer(
    "apply_not_aligned",
    why="`apply` of a custom Function's node returns one value for each argument of forward, next_functions has only "
    "those that are tensors: the gradients went to the wrong receivers. call_node lines them up.",
    seen="call_node lines them up",
)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def call(node: Node, grads: list) -> tuple:
        if not hasattr(node, "apply"):
            return call_node(node, grads)
        outputs = zip(grads, node._input_metadata, strict=True)
        found: Any = node.apply(*(torch.zeros(out.shape).double() if g is None else g for g, out in outputs))
        return found if isinstance(found, tuple) else (found,)

    return engine(root, grad_out, call=call)


@run_backward.another_form("apply_not_aligned")
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def call(node: Node, grads: list) -> tuple:
        found: Any = node.apply(*grads) if hasattr(node, "apply") else node(*grads)
        return found if isinstance(found, tuple) else (found,)

    return engine(root, grad_out, call=call)


@run_backward.wrong_answer(
    "leaf_as_root_forgotten",
    why="A leaf has no grad_fn, so a walk from root.grad_fn has no beginning. get_gradient_edge(root).node is the "
    "node of a leaf as well; or return {root: grad_out} at once.",
    seen="so a walk from root.grad_fn has no beginning",
)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return {} if root.grad_fn is None else engine(root, grad_out)


@run_backward.another_form("leaf_as_root_forgotten")
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return engine(root, grad_out) if root.grad_fn.next_functions else {}


@run_backward.another_form("leaf_as_root_forgotten")
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return engine(root, grad_out) if root.grad_fn._input_metadata else {}


@run_backward.wrong_answer(
    "constants_forgotten",
    why="Where an operation had an input that needs no gradient, next_functions holds (None, 0). There is no node to "
    "go to: leave that edge out.",
    seen="next_functions holds (None, 0)",
)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    node = root.grad_fn
    while node is not None and node.next_functions:
        for after, _ in node.next_functions:
            after.next_functions  # noqa: B018
        node = node.next_functions[0][0]
    return engine(root, grad_out)


@run_backward.another_form("constants_forgotten")
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    for node in nodes_below(get_gradient_edge(root).node):
        for after, _ in node.next_functions:
            after._input_metadata  # noqa: B018
    return engine(root, grad_out)


@run_backward.wrong_answer(
    "torchs_engine",
    why="Right, of course: torch.autograd.grad and .backward() are one call to the engine that you are asked to "
    "write. Walk the graph yourself.",
    seen="are one call to the engine that you are asked to write",
)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    nodes = nodes_below(get_gradient_edge(root).node)
    leaves = [node.variable for node in nodes if hasattr(node, "variable")]
    grads = torch.autograd.grad((root * grad_out).sum(), leaves, allow_unused=True)
    return {leaf: grad for leaf, grad in zip(leaves, grads, strict=True) if grad is not None}


@run_backward.another_form("torchs_engine")
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    nodes = nodes_below(get_gradient_edge(root).node)
    leaves = [node.variable for node in nodes if hasattr(node, "variable")]
    before = [leaf.grad for leaf in leaves]
    for leaf in leaves:
        leaf.grad = None
    (root * grad_out).sum().backward(inputs=leaves)
    found = {leaf: leaf.grad for leaf in leaves if leaf.grad is not None}
    for leaf, grad in zip(leaves, before, strict=True):
        leaf.grad = grad
    return found


@run_backward.another_form("torchs_engine")
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    nodes = nodes_below(get_gradient_edge(root).node)
    leaves = tuple(node.variable for node in nodes if hasattr(node, "variable"))
    run = torch.autograd.Variable._execution_engine.run_backward
    grads = run((root,), (grad_out,), True, False, leaves, True, accumulate_grad=False)
    return {leaf: grad for leaf, grad in zip(leaves, grads, strict=True) if grad is not None}
