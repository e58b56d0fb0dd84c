"""A right answer to 03.ask_the_graph, in steps: each mistake replaces one."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.labs.autograd.ask_the_graph.inputs import CONSTANT, CUT, EDITED, KEPT, UNSEEN


class Diagnosis:
    """The words, each from a method of its own."""

    def __init__(self, parts: dict[str, Tensor], params: dict[str, Tensor], noted: dict[str, Any]) -> None:
        self.parts, self.params, self.noted = list(parts.values()), params, noted
        self.behind = [self.nodes(part) for part in self.parts]

    def nodes(self, part: Tensor) -> list[Any]:
        """All nodes behind a part, each once."""
        found = {part.grad_fn: None} if part.grad_fn is not None else {}
        todo = list(found)
        while todo:
            for node in self.after(todo.pop()):
                if node not in found:
                    found[node] = None
                    todo.append(node)
        return list(found)

    def after(self, node: Any) -> list[Any]:
        return [after for after, _ in node.next_functions if after is not None]

    def all_nodes(self) -> list[Any]:
        return [node for nodes in self.behind for node in nodes]

    def stands(self, param: Tensor, nodes: list[Any]) -> bool:
        return any(getattr(node, "variable", None) is param for node in nodes)

    def cut(self) -> bool:
        nodes = self.all_nodes()
        return not all(self.stands(param, nodes) for param in self.params.values())

    def constant(self) -> bool:
        return not all(
            any(self.stands(param, nodes) for param in self.params.values()) for nodes in self.behind
        )

    def kept(self) -> bool:
        return any(self.keeps(value) for node in self.all_nodes() for value in self.attributes(node))

    def attributes(self, node: Any) -> list[Any]:
        return list(getattr(node, "__dict__", {}).values())

    def keeps(self, value: Any) -> bool:
        return isinstance(value, Tensor)

    def edited(self) -> bool:
        return any(self.cannot_be_read(node) for node in self.all_nodes())

    def saved(self, node: Any) -> list[str]:
        return [name for name in dir(node) if name.startswith("_saved_") or name == "saved_tensors"]

    def cannot_be_read(self, node: Any) -> bool:
        try:
            for name in self.saved(node):
                getattr(node, name)
        except RuntimeError:
            return True
        return False

    def unseen(self) -> bool:
        return any(self.differs(name) and self.uncounted(name) for name in self.params)

    def differs(self, name: str) -> bool:
        return not torch.equal(self.params[name], self.noted[name][0])

    def uncounted(self, name: str) -> bool:
        return self.params[name]._version == self.noted[name][1]

    def words(self) -> Any:
        holds = {
            CUT: self.cut,
            CONSTANT: self.constant,
            KEPT: self.kept,
            EDITED: self.edited,
            UNSEEN: self.unseen,
        }
        return {word for word, condition in holds.items() if condition()}


def asked(diagnosis: type[Diagnosis]) -> Any:
    """The answer that a class makes."""

    def ask_the_graph(parts: dict[str, Tensor], params: dict[str, Tensor], noted: dict[str, Any]) -> Any:
        return diagnosis(parts, params, noted).words()

    return ask_the_graph
