"""Runs one measurement on the GPU: `python -m helpers.measurements.child NAME FILE [quick]`.

FILE gets what the device is, and the raw samples as JSON. There is no other device that it takes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from helpers.measurements.device import Gpu, NoGpu
from helpers.measurements.device_info import UnknownDriver, device_info
from helpers.measurements.registry import measurements


def main() -> int:
    name, path = sys.argv[1], Path(sys.argv[2])
    try:
        gpu = Gpu(quick="quick" in sys.argv[3:])
        device = device_info()
    except (NoGpu, UnknownDriver) as error:
        print(error, file=sys.stderr)
        return 1
    samples = measurements()[name].function(gpu)
    gpu.synchronize()
    path.write_text(json.dumps({"device": device, "samples": samples}, allow_nan=False), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
