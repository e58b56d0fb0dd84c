"""Merging, tried with courses and learners that chance makes up."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.work import lost_lines
from helpers.work.merge import merge
from helpers.work.notebook import ids, parsed
from tests.support import work_projects as tiny

LINES = st.lists(
    st.sampled_from([f"line_{letter} = 1" for letter in "abcdefgh"] + ["", "def f():"]), max_size=6
)
KINDS = st.sampled_from(["code", "code", "code", "markdown"])


@st.composite
def cells(draw: st.DrawFn, names: str) -> list[dict[str, Any]]:
    """A few cells, in any order."""
    chosen = draw(st.lists(st.sampled_from(names), unique=True, max_size=6))
    return [tiny.cell(name, "\n".join(draw(LINES)), draw(KINDS)) for name in chosen]


@st.composite
def edited(draw: st.DrawFn, before: list[dict[str, Any]], own: str) -> list[dict[str, Any]]:
    """Some cells changed, some gone, some new, at times in another order."""
    after = []
    for cell in before:
        what = draw(st.sampled_from(["keep", "keep", "keep", "write", "insert", "drop"]))
        lines = [line.rstrip("\n") for line in cell["source"]]
        if what == "write":
            lines = draw(LINES)
        elif what == "insert":
            lines.insert(draw(st.integers(0, len(lines))), f"line_{own} = 2")
        if what != "drop":
            after.append(tiny.cell(cell["id"], "\n".join(lines), cell["cell_type"]))
    for cell in draw(cells(own)):
        after.insert(draw(st.integers(0, len(after))), cell)
    return draw(st.permutations(after)) if draw(st.integers(0, 4)) == 0 else after


@st.composite
def three(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A lab, a learner's copy of it, and a newer lab."""
    base = draw(cells("abcdef"))
    versions = [base, draw(edited(base, "uvw")), draw(edited(base, "xyz"))]
    for one in versions[1]:
        if one["cell_type"] == "code":
            one["outputs"] = draw(st.sampled_from([[], [tiny.OUTPUT]]))
        else:
            one.pop("outputs", None)
    for one in (one for version in versions for one in version if one["cell_type"] == "markdown"):
        one.pop("outputs", None)
        one.pop("execution_count", None)
    return [tiny.notebook(*version) for version in versions]


def read(notebook: dict[str, Any]) -> dict[str, Any]:
    return parsed(json.dumps(notebook).encode())


@given(three())
@settings(max_examples=150, deadline=None)
def test_nothing_is_lost_whatever_both_sides_did(versions: list[dict[str, Any]]) -> None:
    base, copy, lab = (read(version) for version in versions)
    merged = merge(base, copy, lab)
    assert lost_lines.faults(base, copy, merged.notebook) == []
    assert {id for id in ids(lab) if id not in ids(base)} <= set(ids(merged.notebook))
    again = merge(lab, merged.notebook, lab)
    assert again.notebook == merged.notebook, "the next update finds nothing to do"


@given(three())
@settings(max_examples=50, deadline=None)
def test_where_one_side_did_nothing_the_other_is_taken(versions: list[dict[str, Any]]) -> None:
    base, copy, lab = (read(version) for version in versions)
    assert merge(base, copy, base).notebook["cells"] == copy["cells"]
    taken = merge(base, base, lab).notebook
    assert [(cell["id"], cell["source"]) for cell in taken["cells"]] == [
        (cell["id"], cell["source"]) for cell in lab["cells"]
    ]
