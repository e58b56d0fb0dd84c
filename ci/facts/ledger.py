"""Which claims of a ledger the facts of the labs do not cover, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from ci.notebooks.files import Problem, WrongUse
from helpers.facts import FactsFile

REASONS = "not_covered.yaml"


@dataclass(frozen=True)
class Claim:
    """One claim of a ledger."""

    id: str
    topic: str


def claims(folder: Path) -> list[Claim]:
    """The claims of all ledgers in a folder.

    Raises:
        WrongUse: the folder is not there, or holds no ledger.
        Problem: a file is no ledger.
    """
    paths = sorted(folder.glob("*.yaml")) if folder.is_dir() else []
    if not paths:
        raise WrongUse(f"{folder} is no folder with *.yaml files")
    found = []
    for path in paths:
        try:
            entries = yaml.safe_load(path.read_text(encoding="utf-8"))["claims"]
            found += [Claim(entry["id"], entry["topic"]) for entry in entries]
        except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError) as error:
            message = " ".join(str(error).split())[:200]
            raise Problem(
                f"not a ledger: a list `claims`, each with id and topic ({message})", path=path
            ) from None
    return found


def reasons(root: Path) -> dict[str, str]:
    """Why claims are not covered, by id.

    Raises:
        Problem: the file is no mapping of ids to reasons.
    """
    path = root / "data" / "facts" / REASONS
    if not path.exists():
        return {}
    where = f"data/facts/{REASONS}"
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise Problem(" ".join(str(error).split()), path=where) from None
    if not isinstance(given, dict) or not all(isinstance(why, str) and why.strip() for why in given.values()):
        raise Problem("it maps ids of a ledger to reasons, each a sentence", path=where)
    return {str(claim): " ".join(why.split()) for claim, why in given.items()}


def print_gaps(folder: Path, files: Sequence[FactsFile], chosen: Sequence[FactsFile], root: Path) -> int:
    """List the claims of the chosen labs' topics that no lab covers.

    Args:
        folder: The ledgers.
        files: The facts of all labs: a topic may be shared.
        chosen: The labs whose topics are asked for.
        root: The project.

    Returns:
        How many errors there are: claims without a reason, facts that cover what no ledger holds.
    """
    known, why = claims(folder), reasons(root)
    covered = {claim for file in files for fact in file.facts for claim in fact.covers}
    ids, errors = {claim.id for claim in known}, 0
    for file in chosen:
        mine = [claim for claim in known if claim.topic in file.topics]
        gaps = [claim for claim in mine if claim.id not in covered]
        print(
            f"\n{file.stem}: {len(mine) - len(gaps)} of {len(mine)} claims are covered ({', '.join(file.topics)})"
        )
        for claim in gaps:
            reason = why.get(claim.id, "NO REASON: cover it, or say why not in data/facts/not_covered.yaml")
            errors += claim.id not in why
            print(f"  not covered  {claim.id} ({claim.topic}): {reason}")
        for topic in sorted(set(file.topics) - {claim.topic for claim in known}):
            errors += 1
            print(f"  FAULT  the ledger has no topic {topic}")
        for fact in file.facts:
            for claim in sorted(set(fact.covers) - ids):
                errors += 1
                print(f"  FAULT  {fact.id} covers {claim}, which the ledger does not hold")
    for claim in sorted(set(why) & covered):
        errors += 1
        print(f"FAULT  {claim} has a reason in data/facts/{REASONS} and is covered: delete the reason")
    for claim in sorted(set(why) - ids):
        errors += 1
        print(f"FAULT  data/facts/{REASONS} names {claim}, which the ledger does not hold")
    return errors
