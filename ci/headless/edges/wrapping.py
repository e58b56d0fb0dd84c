"""Puts probes around what becomes text: in the cells of a kernel, and in the project's modules that it imports."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType
from typing import Any

from ci.headless.edges import probe

# Looked up when it is called, and not by a name of the notebook: a function that cloudpickle takes to another process
# finds it there too, and the notebook has no name more than it had.
PROBE = "__import__('ci.headless.edges.probe').headless.edges.probe"
TEXTS = ("round", "format", "str", "repr")


class Wrapper(ast.NodeTransformer):
    """Wraps all in a piece of code that formats, prints or rounds."""

    def __init__(self, where: str, spared: Iterable[str] = ()) -> None:
        """
        Args:
            where: The cell, or the module.
            spared: Names of functions and classes that are left as they are.
        """
        self.where, self.spared = where, frozenset(spared)

    def cell(self, tree: ast.Module) -> ast.Module:
        """A cell's code, wrapped; the value of its last line is shown."""
        tree = self.visit(tree)
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = tree.body[-1]
            last.value = self._probed("displayed", last.value)
        return ast.fix_missing_locations(tree)

    def file(self, tree: ast.Module) -> ast.Module:
        """A module's code, wrapped."""
        return ast.fix_missing_locations(self.visit(tree))

    def visit_FunctionDef(self, node: Any) -> ast.AST:
        return node if node.name in self.spared else self.generic_visit(node)

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        written = node.value
        self.generic_visit(node)
        node.value = self._probed("seen", node.value, written)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mod) and _is_text(node.left):
            return self._call("percent", [node.left, node.right, *self._place(node)], node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        place = self._place(node)
        self.generic_visit(node)
        name = getattr(node.func, "id", "")
        method = getattr(node.func, "attr", "")
        if name == "print" or (method == "format" and _is_text(node.func.value)):
            node.args = [self._argument(argument) for argument in node.args]
        elif name == "display":
            node.args = [self._probed("displayed", argument) for argument in node.args]
        elif name in TEXTS or (method == "round" and (node.args or node.keywords)):
            given = ast.Tuple(elts=place, ctx=ast.Load())
            return self._call("called", [given, node.func, *node.args], node, node.keywords)
        return node

    def _argument(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Starred):
            node.value = self._probed("each", node.value)
            return node
        return self._probed("seen", node)

    def _probed(self, name: str, value: ast.expr, written: ast.expr | None = None) -> ast.expr:
        if isinstance(value, (ast.Constant, ast.JoinedStr, ast.Starred)):
            return value
        return self._call(name, [value, *self._place(written or value)], value)

    def _place(self, node: ast.expr) -> list[ast.expr]:
        return [ast.Constant(self.where), ast.Constant(node.lineno), ast.Constant(ast.unparse(node))]

    def _call(
        self, name: str, args: Sequence[ast.expr], at: ast.expr, keywords: Sequence[ast.keyword] = ()
    ) -> ast.expr:
        function = ast.parse(f"{PROBE}.{name}", mode="eval").body
        # All on the line of what is wrapped, so that a traceback shows the line that it would show.
        for node in ast.walk(function):
            ast.copy_location(node, at)
        return ast.copy_location(ast.Call(function, list(args), list(keywords)), at)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def answers(sources: Iterable[str]) -> list[str]:
    """What is given to a check, by name: the answers of exercises. They are left alone.

    A check looks into an answer, counts its calls and takes its time; and what an answer formats is for its check.
    """
    return sorted({name for source in sources for name in _checked(source)})


def _checked(source: str) -> Iterator[str]:
    try:
        tree = ast.parse(source)
    except SyntaxError:  # IPython's own, such as `!ls`
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "check":
            for argument in node.args:
                yield from (part.id for part in ast.walk(argument) if isinstance(part, ast.Name))


class Cells:
    """Of an IPython shell: knows which cell runs, and wraps it."""

    def __init__(self, names: Sequence[str], spared: Sequence[str]) -> None:
        self.waiting, self.spared = list(names), spared

    def begin(self, info: Any) -> None:
        """A cell begins. Only those that are counted are the notebook's."""
        probe.forget()
        self.name = self.waiting.pop(0) if info.store_history and self.waiting else ""

    def visit(self, tree: ast.Module) -> ast.Module:
        """What IPython calls with the code of each cell."""
        return Wrapper(self.name, self.spared).cell(tree) if self.name else tree


class Wrapped(SourceFileLoader):
    """Loads a module with probes in it. No compiled file is read or written: the next process wants the plain one."""

    def get_code(self, fullname: str) -> CodeType:
        tree = Wrapper(fullname).file(ast.parse(self.get_data(self.path)))
        return compile(tree, self.path, "exec", dont_inherit=True)


class Finder:
    """Finds the modules of `helpers`, to load them wrapped."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name.startswith("helpers.") else None
        if spec and isinstance(spec.loader, SourceFileLoader):
            spec.loader = Wrapped(name, spec.loader.path)
        return spec


def install(file: str, names: Sequence[str], spared: Sequence[str]) -> None:
    """Wrap, in this kernel, all cells and modules from here on.

    Args:
        file: Where the probes note what they see.
        names: The ids of the cells that will run, in order.
        spared: Names of functions and classes in the notebook that are left alone.
    """
    from IPython import get_ipython

    os.environ[probe.FILE] = file
    shell, cells = get_ipython(), Cells(names, spared)
    shell.events.register("pre_run_cell", cells.begin)
    shell.ast_transformers.append(cells)
    sys.meta_path.insert(0, Finder)
