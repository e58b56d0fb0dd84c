"""Every fact of the course stands on the installed torch."""

from __future__ import annotations

from ci.facts.command import checked, facts_files
from helpers import paths


def test_every_fact_stands():
    files = facts_files(paths.ROOT)
    results = [one for results in checked(files, paths.ROOT).values() for one in results]
    fallen = {one.fact.id: f"{one.fact.fact}\n{one.why}" for one in results if one.word == "FAILED"}
    assert not fallen, "\n\n".join(f"{name}: {why}" for name, why in fallen.items())
