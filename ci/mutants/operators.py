"""The edits: from the tree of an answer, trees with one edit each.

cosmic-ray and mutmut edit the files of a package and run its tests once an edit; an answer is a cell of a notebook, its
test is a check, and half of these edits are about tensors, so they would only lend their simplest operators.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

EXCHANGED: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Break: ast.Continue,
    ast.Continue: ast.Break,
}
# Calls without which the value is nearly the same: its memory, its graph, its dtype or its order differ.
NEARLY_NOTHING = frozenset(
    "clone detach detach_ contiguous copy deepcopy list tuple reversed sorted set "
    "float double to type_as abs int item flatten reshape view view_as expand_as "
    "retain_grad requires_grad_ no_grad enable_grad".split()
)
# Fields that are left alone: the signature, which the exercise gives, and the texts of errors.
NEVER = {
    *("annotation", "returns", "decorator_list", "type_params"),
    *((ast.arguments, "defaults"), (ast.arguments, "kw_defaults"), (ast.Raise, "exc"), (ast.Assert, "msg")),
}
ANY_ERROR = ("Exception", "BaseException")
LEAVES = (ast.Pass, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.FunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Edit:
    """One edit. line: the first line of the statement that it is in, as `ast.unparse` writes it; says: what was done.

    Where the same can be done several times in one statement, the second says so: "0 to 1 (2)".
    """

    line: str
    says: str
    tree: ast.Module


Change = tuple[str, Callable[[ast.AST], ast.AST | None]]


def edits(tree: ast.Module, is_own: Callable[[ast.AST], bool] = lambda node: True) -> Iterator[Edit]:
    """Every tree that differs from `tree` by one edit.

    tree: of functions and classes. is_own: whether a node, which has a line, is part of the answer; the rest is left
    as it is. Signatures, docstrings, messages of errors and `strict=` are never edited.
    """
    seen: Counter[tuple[Place, str]] = Counter()
    for path, statement in _places(tree, is_own):
        line = ast.unparse(_at(tree, statement)).splitlines()[0]
        for says, change in changes(_at(tree, path)):
            edited = copy.deepcopy(tree)
            new = change(_at(edited, path))
            if new is not None:
                _put(edited, path, new)
                seen[statement, says] += 1
                times = seen[statement, says]
                yield Edit(
                    line, f"{says} ({times})" if times > 1 else says, ast.fix_missing_locations(edited)
                )


Place = tuple[tuple[str, int | None], ...]


def _places(tree: ast.Module, is_own: Callable[[ast.AST], bool]) -> Iterator[tuple[Place, Place]]:
    """Where there is something to edit, and where the statement around it is."""

    def walk(node: ast.AST, path: Place, statement: Place, own: bool) -> Iterator[tuple[Place, Place]]:
        statement = path if isinstance(node, ast.stmt) else statement
        own = is_own(node) if hasattr(node, "lineno") else own
        if own:
            yield path, statement
        for name, value in ast.iter_fields(node):
            if (type(node), name) in NEVER or name in NEVER:
                continue
            for place, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(child, ast.AST) and not _is_left_alone(child):
                    yield from walk(child, (*path, (name, place)), statement, own)

    yield from walk(tree, (), (), False)


def _is_left_alone(node: ast.AST) -> bool:
    """A docstring, or a text that stands alone, and `strict=`."""
    if isinstance(node, ast.keyword):
        return node.arg == "strict"
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _at(tree: ast.AST, path: Place) -> ast.AST:
    for name, place in path:
        tree = getattr(tree, name) if place is None else getattr(tree, name)[place]
    return tree


def _put(tree: ast.AST, path: Place, new: ast.AST) -> None:
    if not path:
        return
    owner, (name, place) = _at(tree, path[:-1]), path[-1]
    if place is None:
        setattr(owner, name, new)
    else:
        getattr(owner, name)[place] = new


def changes(node: ast.AST) -> Iterator[Change]:
    """What can be done to one node: in words, and a function that gives the node in its place (or None: nothing)."""
    for operator in OPERATORS:
        yield from operator(node)


def exchanged(node: ast.AST) -> Iterator[Change]:
    """`<` for `<=`, `+` for `-`, `and` for `or`, `is` for `is not`, `break` for `continue`."""
    if type(node) in EXCHANGED:
        other = EXCHANGED[type(node)]
        yield f"{type(node).__name__} to {other.__name__}", lambda old: other()


def constants(node: ast.AST) -> Iterator[Change]:
    """A number raised or zeroed, a boolean flipped."""
    if not isinstance(node, ast.Constant):
        return
    if isinstance(node.value, bool):
        yield f"{node.value} to {not node.value}", lambda old: ast.Constant(not old.value)
    elif isinstance(node.value, int | float):
        yield f"{node.value} to {node.value + 1}", lambda old: ast.Constant(old.value + 1)
        if node.value:
            zero = type(node.value)(0)
            yield f"{node.value} to {zero}", lambda old: ast.Constant(zero)


def signs(node: ast.AST) -> Iterator[Change]:
    """A `not` or a minus left out."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        word = "not" if isinstance(node.op, ast.Not) else "minus"
        yield f"{word} left out", lambda old: old.operand


def ends_of_a_list(node: ast.AST) -> Iterator[Change]:
    """The first for the last, the last for the first."""
    if isinstance(node, ast.Subscript) and ast.unparse(node.slice) in ("0", "-1"):
        new = "-1" if ast.unparse(node.slice) == "0" else "0"

        def other(old: ast.AST) -> ast.AST:
            old.slice = ast.parse(new, mode="eval").body
            return old

        yield f"[{ast.unparse(node.slice)}] to [{new}]", other


def truths(node: ast.AST) -> Iterator[Change]:
    """`x is not None` to `x`, `x is None` to `not x`."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and ast.unparse(node.comparators[0]) == "None":
        if isinstance(node.ops[0], ast.IsNot):
            yield "is not None to truth", lambda old: old.left
        elif isinstance(node.ops[0], ast.Is):
            yield "is None to not", lambda old: ast.UnaryOp(ast.Not(), old.left)


def conditions(node: ast.AST) -> Iterator[Change]:
    """An `if` whose condition always or never holds."""
    if isinstance(node, ast.If | ast.IfExp):
        for value in (True, False):

            def always(old: ast.AST, value: bool = value) -> ast.AST:
                old.test = ast.Constant(value)
                return old

            yield f"condition always {value}", always


def types(node: ast.AST) -> Iterator[Change]:
    """`isinstance` widened to all objects, or narrowed to exactly the class."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance" and len(node.args) == 2:

        def wide(old: ast.AST) -> ast.AST:
            old.args[1] = ast.Name("object", ast.Load())
            return old

        def narrow(old: ast.AST) -> ast.AST:
            kind = ast.Call(ast.Name("type", ast.Load()), [old.args[0]], [])
            return ast.Compare(kind, [ast.Is()], [old.args[1]])

        yield "isinstance of object", wide
        if not isinstance(node.args[1], ast.Tuple | ast.BinOp):
            yield "isinstance to the very class", narrow


def calls(node: ast.AST) -> Iterator[Change]:
    """A keyword left out, a dtype fixed, `.clone()` and its like left out or put in, `p.mul_()` through `p.data`."""
    if not isinstance(node, ast.Call):
        return
    for place, keyword in enumerate(node.keywords):
        if keyword.arg == "strict":
            continue

        def without(old: ast.AST, place: int = place) -> ast.AST:
            del old.keywords[place]
            return old

        yield f"{ast.unparse(keyword)} left out", without
        if keyword.arg == "dtype" and ast.unparse(keyword.value) != "torch.float32":

            def fixed(old: ast.AST, place: int = place) -> ast.AST:
                old.keywords[place].value = ast.parse("torch.float32", mode="eval").body
                return old

            yield "dtype to float32", fixed
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in NEARLY_NOTHING:
        if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value):
            yield f".{name}() left out", lambda old: old.func.value
        elif len(node.args) == 1:
            yield f"{name}() left out", lambda old: old.args[0]
    if name.endswith("_") and not name.endswith("__") and isinstance(node.func, ast.Attribute):
        if isinstance(node.func.value, ast.Name) and not _is_module(node.func.value):

            def through_data(old: ast.AST) -> ast.AST:
                old.func.value = ast.Attribute(old.func.value, "data", ast.Load())
                return old

            yield "through .data", through_data


def _is_module(node: ast.AST) -> bool:
    return ast.unparse(node).split(".")[0] in ("torch", "np", "numpy", "math", "F", "nn", "copy", "itertools")


def results(node: ast.AST) -> Iterator[Change]:
    """What is returned is a copy, or the error raised is of a different type."""
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Name):

        def copied(old: ast.AST) -> ast.AST:
            old.value = ast.parse(f"__import__('copy').copy({ast.unparse(old.value)})", mode="eval").body
            return old

        yield "a copy returned", copied
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
        other = "TypeError" if node.exc.func.id == "ValueError" else "ValueError"

        def raised(old: ast.AST) -> ast.AST:
            old.exc.func = ast.Name(other, ast.Load())
            return old

        yield f"{node.exc.func.id} to {other}", raised


def members(node: ast.AST) -> Iterator[Change]:
    """A member of a tuple left out."""
    if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) and len(node.elts) > 1:
        for place, member in enumerate(node.elts):

            def without(old: ast.AST, place: int = place) -> ast.AST:
                del old.elts[place]
                return old

            yield f"{ast.unparse(member)} left out of the tuple", without


def statements(node: ast.AST) -> Iterator[Change]:
    """A statement left out, a `with` without its lines' protection, a loop that ends after its first round."""
    if isinstance(node, ast.stmt) and not isinstance(node, (*LEAVES, ast.Return, ast.Break, ast.Continue)):
        yield "statement left out", lambda old: ast.Pass()
    if isinstance(node, ast.With):
        yield "with left out", lambda old: ast.If(ast.Constant(True), old.body, [])
    if isinstance(node, ast.For | ast.While):

        def once(old: ast.AST) -> ast.AST:
            old.body.append(ast.Break())
            return old

        yield "the loop ends after its first round", once
    if isinstance(node, ast.AugAssign):

        def assigned(old: ast.AST) -> ast.AST:
            read = ast.parse(ast.unparse(old.target), mode="eval").body
            return ast.Assign([old.target], ast.BinOp(read, old.op, old.value))

        yield "in place to a new object", assigned


def errors(node: ast.AST) -> Iterator[Change]:
    """`finally` left out, `except` widened or narrowed."""
    if isinstance(node, ast.Try) and node.finalbody:

        def without(old: ast.AST) -> ast.AST:
            return (
                ast.Try(old.body, old.handlers, [*old.orelse, *old.finalbody], [])
                if old.handlers
                else ast.If(ast.Constant(True), [*old.body, *old.finalbody], [])
            )

        yield "finally left out", without
    if isinstance(node, ast.ExceptHandler):
        if node.type is None or ast.unparse(node.type) not in ANY_ERROR:
            yield "except to Exception", lambda old: _caught(old, "Exception")
        yield "except narrowed", lambda old: _caught(old, "ZeroDivisionError")


def _caught(handler: ast.AST, name: str) -> ast.AST:
    handler.type = ast.Name(name, ast.Load())
    return handler


OPERATORS = (
    exchanged,
    constants,
    signs,
    ends_of_a_list,
    truths,
    conditions,
    types,
    calls,
    results,
    members,
    statements,
    errors,
)
