"""Every fact of the course stands on the installed torch."""

from __future__ import annotations

import pytest

from ci.facts.command import Checked, checked, facts_files
from ci.facts.ledger import REASONS
from helpers import paths

# By name, since each worker collects all tests: reading the files takes seconds.
STEMS = [path.stem for path in sorted((paths.DATA / "facts").glob("*.yaml")) if path.name != REASONS]


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest) -> dict[str, list[Checked]]:
    """What came of the facts of every lab that is asked for. They run together: torch is then imported once."""
    here = [item.callspec.params["stem"] for item in request.session.items if item.path == request.path]
    files = [file for file in facts_files(paths.ROOT) if file.stem in here]
    return {file.stem: found for file, found in checked(files, paths.ROOT).items()}


@pytest.mark.parametrize("stem", STEMS)
def test_every_fact_stands(stem: str, results: dict[str, list[Checked]]) -> None:
    fallen = {one.fact.id: f"{one.fact.fact}\n{one.why}" for one in results[stem] if one.word == "FAILED"}
    assert not fallen, "\n\n".join(f"{name}: {why}" for name, why in fallen.items())
