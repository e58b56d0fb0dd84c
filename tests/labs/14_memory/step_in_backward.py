"""Right answers of 14.step_in_backward, of other shapes than the solution's."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn


def by_a_dict(model, make):
    """All optimizers in a dict, and one hook for all parameters, as in torch's tutorial."""
    optimizers = {parameter: make([parameter]) for parameter in model.parameters() if parameter.requires_grad}

    def hook(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    return [parameter.register_post_accumulate_grad_hook(hook) for parameter in optimizers]


class _Step:
    """A hook that is an object, and has its optimizer."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = optimizer

    def __call__(self, parameter: nn.Parameter) -> None:
        self.optimizer.step()
        del parameter.grad


def by_objects(model, make):
    handles = []
    for _, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        handles.append(parameter.register_post_accumulate_grad_hook(_Step(make([parameter]))))
    return handles


def _update(optimizer, parameter):
    optimizer.step()
    parameter.grad = None


def by_modules(model, make):
    """Module by module, each parameter once, with partial."""
    seen, handles = set(), []
    for module in model.modules():
        for parameter in module.parameters(recurse=False):
            if parameter.requires_grad and id(parameter) not in seen:
                seen.add(id(parameter))
                handles.append(
                    parameter.register_post_accumulate_grad_hook(partial(_update, make([parameter])))
                )
    return handles


def on_the_node(model, make):
    """A hook behind autograd's node that adds to `.grad`, as DDP has it. Somebody has to keep the node: the parameter does."""

    def hook_of(parameter, optimizer):
        def hook(*_):
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        return hook

    handles = []
    for parameter in filter(lambda each: each.requires_grad, model.parameters()):
        parameter.node = parameter.view_as(parameter).grad_fn.next_functions[0][0]
        handles.append(parameter.node.register_hook(hook_of(parameter, make([parameter]))))
    return handles


_NODES: list[Any] = []


def nodes_in_a_list(model, make):
    """The nodes are kept by a list, and not by the parameters."""
    handles = []
    for parameter in model.parameters():
        if parameter.requires_grad:
            node = torch.autograd.graph.get_gradient_edge(parameter).node
            _NODES.append(node)

            optimizer = make([parameter])

            def hook(_inputs, _outputs, parameter=parameter, optimizer=optimizer):
                optimizer.step()
                parameter.grad = None

            handles.append(node.register_hook(hook))
    return handles


def looked_up(model, make):
    """One hook, which looks the optimizer up by the parameter's id, and clears the gradient whatever happens."""
    trained = [each for each in model.parameters() if each.requires_grad]
    table = {id(each): make([each]) for each in trained}

    def hook(parameter):
        try:
            table[id(parameter)].step()
        finally:
            del parameter.grad

    return [each.register_post_accumulate_grad_hook(hook) for each in trained]


RIGHT: list[Any] = [by_a_dict, by_objects, by_modules, on_the_node, nodes_in_a_list, looked_up]
