"""A fresh process that times its first calls: `python -m helpers.measurements.first_call DEVICE`; JSON on stdout."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable


def seconds(call: Callable[[], object], synchronize: Callable[[], None]) -> float:
    """Seconds until the device has done the call."""
    start = time.perf_counter()
    call()
    synchronize()
    return time.perf_counter() - start


def main() -> None:
    start = time.perf_counter()
    import torch

    found = {"import_torch": time.perf_counter() - start}
    device, made = sys.argv[1], {}
    synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None

    def make() -> None:
        made["x"] = torch.ones(1, 3, 64, 64, device=device)

    found["first_tensor"] = seconds(make, synchronize)
    x, kernel = made["x"], torch.ones(8, 3, 3, 3, device=device)
    square = x[0, 0]
    for which in ("first", "second"):
        found[f"{which}_matmul"] = seconds(lambda: square @ square, synchronize)
    for which in ("first", "second"):
        found[f"{which}_conv2d"] = seconds(lambda: torch.nn.functional.conv2d(x, kernel), synchronize)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
