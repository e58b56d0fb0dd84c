"""What people write for 03.run_backward: grad mode, gradients that are None, leaves, custom Functions."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import Node, get_gradient_edge

from helpers.labs.autograd.run_backward.exercise import run_backward
from helpers.labs.autograd.run_backward.mistakes.engine import Gradients, engine, nodes_below
from helpers.labs.autograd.shown import call_node


@run_backward.mistake(breaks="Each gradient has the leaf's shape and dtype and does not require grad.")
def grad_mode_left_on(root: Tensor, grad_out: Tensor) -> Gradients:
    """A gradient requires grad. Perhaps grad mode was left on: each backward operation is then recorded in a new graph,
    which keeps every tensor of the backward alive. torch does that only with create_graph=True; here: with torch.no_grad().
    """
    return engine(root, grad_out, grad_mode=torch.enable_grad)


@run_backward.mistake(
    breaks="Each other node is called once, with grad mode off, when all its gradients have come: `call_node(node, grads)`."
)
def detached_at_the_end(root: Tensor, grad_out: Tensor) -> Gradients:
    """A node was called with grad mode on, and no gradient requires grad. Perhaps grad mode was left on, and the results were
    detached: all of the backward was recorded in a new graph. Call the nodes with torch.no_grad().
    """
    found = engine(root, grad_out, grad_mode=torch.enable_grad)
    return {leaf: grad.detach() for leaf, grad in found.items()}


@run_backward.mistake(
    breaks="The gradients of all leaves behind `root`, as torch.autograd.grad(..., allow_unused=True) computes them."
)
def ones_for_grad_out(root: Tensor, grad_out: Tensor) -> Gradients:
    """The gradient is that of root.sum(): grad_out was not used. Perhaps the walk begins with ones, as loss.backward() does for
    a loss of one number.
    """
    return engine(root, torch.ones_like(grad_out))


@run_backward.mistake(
    breaks="The gradients of all leaves behind `root`, as torch.autograd.grad(..., allow_unused=True) computes them."
)
def inference_mode(root: Tensor, grad_out: Tensor) -> Gradients:
    """torch.inference_mode() makes tensors that no later computation with gradients may use. torch.no_grad()
    is what stops the recording only.
    """
    return engine(root, grad_out, grad_mode=torch.inference_mode)


@run_backward.mistake()
def zeros_for_nothing(root: Tensor, grad_out: Tensor) -> Gradients:
    """A leaf that no gradient reaches got zeros. torch gives None there, and an optimizer treats the two
    differently: zeros are a step (with momentum, with weight decay), None is none.
    """

    def leaf(grad: Tensor | None, node: Node) -> Tensor:
        return torch.zeros_like(node.variable, requires_grad=False) if grad is None else grad

    return engine(root, grad_out, leaf=leaf)


@run_backward.mistake()
def none_for_nothing(root: Tensor, grad_out: Tensor) -> Gradients:
    """A leaf that no gradient reaches stands in the dict with None. Leave it out: `leaf in gradients` then
    says whether it has one.
    """
    gradients = dict.fromkeys(
        node.variable for node in nodes_below(get_gradient_edge(root).node) if hasattr(node, "variable")
    )
    return gradients | engine(root, grad_out)


@run_backward.mistake()
def none_never_arrives(root: Tensor, grad_out: Tensor) -> Gradients:
    """A leaf is missing where a gradient that is None comes beside others. Perhaps None was skipped before it
    was counted: its receiver waits for it for ever, and all that lies behind gets nothing.
    """
    return engine(root, grad_out, none_counts=False)


@run_backward.mistake()
def empty_nodes_skipped(root: Tensor, grad_out: Tensor) -> Gradients:
    """A node that got nothing but None was not called. torch calls it: a custom Function gets zeros, and
    zeros are what the leaves behind it receive.
    """

    def call(node: Node, grads: list) -> tuple:
        return (
            (None,) * len(node.next_functions)
            if not any(g is not None for g in grads)
            else call_node(node, grads)
        )

    return engine(root, grad_out, call=call)


@run_backward.mistake(breaks="A leaf's node (it has `variable`) is not called")
def accumulates_into_grad(root: Tensor, grad_out: Tensor) -> Gradients:
    """A leaf's node was called, like all others. That is what .backward() does; torch.autograd.grad stops
    before it.
    """

    def leaf(grad: Tensor | None, node: Node) -> Tensor | None:
        node(grad)
        return grad

    return engine(root, grad_out, leaf=leaf)


@run_backward.variant(accumulates_into_grad)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def leaf(grad: Tensor | None, node: Node) -> Tensor | None:
        old, node.variable.grad = node.variable.grad, None
        node(grad)
        node.variable.grad = old
        return grad

    return engine(root, grad_out, leaf=leaf)


@run_backward.variant(accumulates_into_grad)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def leaf(grad: Tensor | None, node: Node) -> Tensor | None:
        old, node.variable.grad = node.variable.grad, None
        node(grad)
        found, node.variable.grad = node.variable.grad, old
        return found

    return engine(root, grad_out, leaf=leaf)


@run_backward.mistake(breaks="no `.grad` is touched")
def written_into_grad(root: Tensor, grad_out: Tensor) -> Gradients:
    """A leaf's .grad was written. That is for .backward() to do: what an earlier call left there is added to, or lost.
    Here the gradients go into the dict only.
    """
    found = engine(root, grad_out)
    for leaf, grad in found.items():
        leaf.grad = grad if leaf.grad is None else leaf.grad + grad
    return found


@run_backward.variant(written_into_grad)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return {leaf: leaf.grad for leaf in written_into_grad(root, grad_out)}


@run_backward.mistake(breaks="`call_node(node, grads)`.")
def calls_every_node_itself(root: Tensor, grad_out: Tensor) -> Gradients:
    """`node(grad)` works for the nodes written in C++ only. The node of a custom Function is no callable:
    call_node knows both kinds.
    """

    def call(node: Node, grads: list) -> tuple:
        found: Any = node(*grads)
        return found if isinstance(found, tuple) else (found,)

    return engine(root, grad_out, call=call)


@run_backward.mistake(
    breaks="What comes out belongs to `node.next_functions`, pairs of a receiver (or None) and a slot."
)
def apply_not_aligned(root: Tensor, grad_out: Tensor) -> Gradients:
    """A leaf behind a custom Function is missing in the dict. Perhaps the gradients went to the wrong
    receivers: `apply` of its node returns one value for each argument of forward, and next_functions has only
    those that are tensors. call_node lines them up.
    """

    def call(node: Node, grads: list) -> tuple:
        if not hasattr(node, "apply"):
            return call_node(node, grads)
        outputs = zip(grads, node._input_metadata, strict=True)
        found: Any = node.apply(*(torch.zeros(out.shape).double() if g is None else g for g, out in outputs))
        return found if isinstance(found, tuple) else (found,)

    return engine(root, grad_out, call=call)


@run_backward.variant(apply_not_aligned)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def call(node: Node, grads: list) -> tuple:
        found: Any = node.apply(*grads) if hasattr(node, "apply") else node(*grads)
        return found if isinstance(found, tuple) else (found,)

    return engine(root, grad_out, call=call)


@run_backward.mistake()
def leaf_as_root_forgotten(root: Tensor, grad_out: Tensor) -> Gradients:
    """A leaf has no grad_fn, so a walk from root.grad_fn has no beginning. get_gradient_edge(root).node is
    the node of a leaf as well; or return {root: grad_out} at once.
    """
    return {} if root.grad_fn is None else engine(root, grad_out)


@run_backward.variant(leaf_as_root_forgotten)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return engine(root, grad_out) if root.grad_fn.next_functions else {}


@run_backward.variant(leaf_as_root_forgotten)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return engine(root, grad_out) if root.grad_fn._input_metadata else {}


@run_backward.mistake(
    breaks="What comes out belongs to `node.next_functions`, pairs of a receiver (or None) and a slot."
)
def constants_forgotten(root: Tensor, grad_out: Tensor) -> Gradients:
    """None was used as a node. Perhaps it came from next_functions, which holds (None, 0) where an operation
    had an input that needs no gradient: leave that edge out.
    """
    node = root.grad_fn
    while node is not None and node.next_functions:
        for after, _ in node.next_functions:
            after.next_functions  # noqa: B018
        node = node.next_functions[0][0]
    return engine(root, grad_out)


@run_backward.variant(constants_forgotten)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    for node in nodes_below(get_gradient_edge(root).node):
        for after, _ in node.next_functions:
            after._input_metadata  # noqa: B018
    return engine(root, grad_out)


@run_backward.mistake()
def torchs_engine(root: Tensor, grad_out: Tensor) -> Gradients:
    """torch's own engine was called: torch.autograd.grad and .backward() are one call to the engine that you
    are asked to write. Walk the graph yourself.
    """
    nodes = nodes_below(get_gradient_edge(root).node)
    leaves = [node.variable for node in nodes if hasattr(node, "variable")]
    grads = torch.autograd.grad((root * grad_out).sum(), leaves, allow_unused=True)
    return {leaf: grad for leaf, grad in zip(leaves, grads, strict=True) if grad is not None}


@run_backward.variant(torchs_engine)
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


@run_backward.variant(torchs_engine)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    nodes = nodes_below(get_gradient_edge(root).node)
    leaves = tuple(node.variable for node in nodes if hasattr(node, "variable"))
    run = torch.autograd.Variable._execution_engine.run_backward
    grads = run((root,), (grad_out,), True, False, leaves, True, accumulate_grad=False)
    return {leaf: grad for leaf, grad in zip(leaves, grads, strict=True) if grad is not None}
