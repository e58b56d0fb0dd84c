"""Runs one measurement on the GPU: `python -m helpers.measurements.child NAME FILE [quick]`.

FILE gets the device's facts and the raw samples as JSON. There is no other device that it takes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from helpers.measurements.device import Gpu, NoGpu
from helpers.measurements.facts import UnknownDriver, device_facts
from helpers.measurements.registry import measurements


def main() -> int:
    name, path = sys.argv[1], Path(sys.argv[2])
    try:
        gpu = Gpu(quick="quick" in sys.argv[3:])
        facts = device_facts()
    except (NoGpu, UnknownDriver) as error:
        print(error, file=sys.stderr)
        return 1
    samples = measurements()[name].function(gpu)
    gpu.synchronize()
    path.write_text(json.dumps({"facts": facts, "samples": samples}, allow_nan=False), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
