"""Every fact of the course stands on the installed torch."""

from __future__ import annotations

import pytest

from ci.facts.command import checked, facts_files
from helpers import paths
from helpers.facts import FactsFile


@pytest.mark.parametrize("file", facts_files(paths.ROOT), ids=lambda file: file.stem)
def test_every_fact_stands(file: FactsFile) -> None:
    (results,) = checked([file], paths.ROOT).values()
    fallen = {one.fact.id: f"{one.fact.fact}\n{one.why}" for one in results if one.word == "FAILED"}
    assert not fallen, "\n\n".join(f"{name}: {why}" for name, why in fallen.items())
