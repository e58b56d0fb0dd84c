"""Fails if git sees a change: what ran must have rewritten the same bytes. `python -m ci.checkout.unchanged`"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from helpers import paths


def changed_files(root: Path) -> list[str]:
    """What `git status --porcelain` lists.

    Raises: RuntimeError, if git is not there or `root` is no checkout.
    """
    command = ["git", "-C", str(root), "status", "--porcelain"]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        raise RuntimeError("git is not installed") from None
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[0])
    return done.stdout.splitlines()


def main() -> int:
    """Exit code 1 and the list of files, if there are any."""
    try:
        files = changed_files(paths.ROOT)
    except RuntimeError as error:
        print(f"unchanged: cannot tell what changed: {error}")
        return 1
    for file in files:
        print(file)
    if files:
        print(
            f"unchanged: {len(files)} files differ from the last commit. See why with git diff, or commit them"
        )
    else:
        print("unchanged: git sees no change")
    return int(bool(files))


if __name__ == "__main__":
    sys.exit(main())
