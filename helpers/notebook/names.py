"""Which names a piece of a cell binds."""

from __future__ import annotations

import ast


def bound_names(tree: ast.AST, begin: int, end: int) -> list[str]:
    """The names bound by the statements in lines `begin` to `end`, in order; the insides of functions left out.

    Imports do not count: they bind a name, but nobody has to find its value.
    """
    names: dict[str, None] = {}

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.stmt | ast.expr) and not (node.lineno <= end and begin <= node.end_lineno):
            return
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if begin <= node.lineno:
                names[node.name] = None
            return
        if isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            return
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names[node.id] = None
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(tree)
    return list(names)
