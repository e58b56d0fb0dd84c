"""`python -m ci.site`: builds the published pages. Exit codes: 0 built, 1 not built, 130 interrupted."""

from __future__ import annotations

import signal
import sys

from ci.site.build import site
from helpers.paths import ROOT


def end(number: int, frame: object) -> None:
    """A request to end is treated like Ctrl-C."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, end)
    sys.exit(site(ROOT))
