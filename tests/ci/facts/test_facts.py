"""Every fact of the course stands on the installed torch."""

from __future__ import annotations

import pytest

from ci.facts.command import Checked, checked, facts_files
from helpers import paths
from helpers.facts import FactsFile


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest) -> dict[FactsFile, list[Checked]]:
    """What came of the facts of every lab that is asked for. They run together: torch is then imported once."""
    here = [item for item in request.session.items if item.path == request.path]
    return checked([item.callspec.params["file"] for item in here], paths.ROOT)


@pytest.mark.parametrize("file", facts_files(paths.ROOT), ids=lambda file: file.stem)
def test_every_fact_stands(file: FactsFile, results: dict[FactsFile, list[Checked]]) -> None:
    fallen = {one.fact.id: f"{one.fact.fact}\n{one.why}" for one in results[file] if one.word == "FAILED"}
    assert not fallen, "\n\n".join(f"{name}: {why}" for name, why in fallen.items())
