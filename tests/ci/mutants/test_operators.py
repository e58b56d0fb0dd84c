"""Each edit, on a line of its own; and what is never edited."""

from __future__ import annotations

import ast

import pytest

from ci.mutants.operators import edits

CASES = [
    ("a < b", "Lt to LtE", "a <= b"),
    ("a is None", "Is to IsNot", "a is not None"),
    ("a in b", "In to NotIn", "a not in b"),
    ("a + b", "Add to Sub", "a - b"),
    ("a // b", "FloorDiv to Div", "a / b"),
    ("a += b", "Add to Sub", "a -= b"),
    ("a and b", "And to Or", "a or b"),
    ("f(3)", "3 to 4", "f(4)"),
    ("f(0.5)", "0.5 to 0.0", "f(0.0)"),
    ("f(True)", "True to False", "f(False)"),
    ("not a", "not left out", "a"),
    ("-a", "minus left out", "a"),
    ("a[0]", "[0] to [-1]", "a[-1]"),
    ("a[-1]", "[-1] to [0]", "a[0]"),
    ("a is not None", "is not None to truth", "a"),
    ("a is None", "is None to not", "not a"),
    ("b if a else c", "condition always True", "b if True else c"),
    ("isinstance(a, B)", "isinstance of object", "isinstance(a, object)"),
    ("isinstance(a, B)", "isinstance to the very class", "type(a) is B"),
    ("f(a, b=c)", "b=c left out", "f(a)"),
    ("f(a, dtype=b.dtype)", "dtype to float32", "f(a, dtype=torch.float32)"),
    ("a.clone()", ".clone() left out", "a"),
    ("copy.deepcopy(a)", "deepcopy() left out", "a"),
    ("reversed(a)", "reversed() left out", "a"),
    ("a.mul_(b)", "through .data", "a.data.mul_(b)"),
    ("(a, b)", "a left out of the tuple", "(b,)"),
    ("a += b", "in place to a new object", "a = a + b"),
    ("del a[b]", "statement left out", "pass"),
    ("raise ValueError('a')", "ValueError to TypeError", "raise TypeError('a')"),
    ("return a", "a copy returned", "return __import__('copy').copy(a)"),
    ("for a in b:\n    c()", "the loop ends after its first round", "for a in b:\n    c()\n    break"),
    ("for a in b:\n    break", "Break to Continue", "for a in b:\n    continue"),
    ("with a:\n    b()", "with left out", "if True:\n    b()"),
    ("try:\n    a()\nfinally:\n    b()", "finally left out", "if True:\n    a()\n    b()"),
    ("try:\n    a()\nexcept B:\n    c()", "except to Exception", "try:\n    a()\nexcept Exception:\n    c()"),
    (
        "try:\n    a()\nexcept B:\n    c()",
        "except narrowed",
        "try:\n    a()\nexcept ZeroDivisionError:\n    c()",
    ),
]


def function(lines: str) -> ast.Module:
    return ast.parse("def f():\n" + "".join(f"    {line}\n" for line in lines.splitlines()))


def edited(tree: ast.Module) -> dict[str, str]:
    """Each edit in words, and the body of the function after it."""
    return {
        edit.says: "\n".join(map(ast.unparse, edit.tree.body[0].body))
        for edit in edits(tree, lambda node: True)
    }


@pytest.mark.parametrize(("before", "says", "after"), CASES, ids=[f"{case[0]}-{case[1]}" for case in CASES])
def test_an_edit(before: str, says: str, after: str) -> None:
    assert edited(function(before))[says] == after


@pytest.mark.parametrize(
    "source",
    [
        'def f(a: int = ...) -> "0":\n    """A text, 3."""',
        "def f():\n    a: list[0] = b",
        "def f(a=0, *, b=True):\n    pass",
        "def f():\n    raise ValueError(f'{a + 1}')",
        "def f():\n    assert a, f'{b + 1}'",
        "def f():\n    g(a, strict=True)",
        "@g(3)\ndef f():\n    pass",
    ],
)
def test_what_is_never_edited(source: str) -> None:
    allowed = {"statement left out", "ValueError to TypeError"}
    assert {edit.says for edit in edits(ast.parse(source), lambda node: True)} <= allowed


def test_only_what_is_the_answers_own_is_edited() -> None:
    tree = ast.parse("def f(a=1):\n    b = 2\n    c = 3")
    found = list(edits(tree, lambda node: node.lineno == 3))
    assert {edit.line for edit in found} == {"c = 3"} and found


def test_the_same_edit_in_one_statement_is_told_apart() -> None:
    tree = ast.parse("def f(a, b):\n    c = a.clone() + b.clone()\n    c = a.clone()")
    found = [(edit.line, edit.says) for edit in edits(tree) if "clone" in edit.says]
    assert found == [
        ("c = a.clone() + b.clone()", ".clone() left out"),
        ("c = a.clone() + b.clone()", ".clone() left out (2)"),
        ("c = a.clone()", ".clone() left out"),
    ]


def test_an_edit_leaves_the_tree_and_is_alone() -> None:
    tree = ast.parse("def f(a):\n    return a + 1 < 2 and a.clone()[0]")
    before = ast.unparse(tree)
    found = [ast.unparse(edit.tree) for edit in edits(tree)]
    assert ast.unparse(tree) == before and len(set(found)) == len(found) > 6
