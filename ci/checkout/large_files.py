"""Refuses files too large for the repository. `python -m ci.checkout.large_files FILE ...`; pre-commit calls it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

LIMIT_KB = 1000


def large_files(paths: Sequence[Path]) -> list[str]:
    """One line for each file above the limit."""
    sizes = {path: path.stat().st_size / 1000 for path in paths if path.is_file()}
    return [
        f"{path}: {size:.0f} kB, the limit is {LIMIT_KB} kB. Store less, or fewer pictures in one notebook"
        for path, size in sizes.items()
        if size > LIMIT_KB
    ]


if __name__ == "__main__":
    lines = large_files([Path(name) for name in sys.argv[1:]])
    print(*lines, sep="\n", end="\n" if lines else "")
    sys.exit(bool(lines))
