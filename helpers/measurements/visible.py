"""A fresh process that sets CUDA_VISIBLE_DEVICES at some moment: `python -m helpers.measurements.visible WHEN value=0`.

The last line on stdout is JSON: what `torch.cuda.device_count()` says and whether a tensor can be made.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable


def result_of(call: Callable[[], object]) -> str:
    """What a call gives, or its error in one line."""
    try:
        return str(call())
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0][:100]}"


def main() -> None:
    when, value = sys.argv[1], sys.argv[2].removeprefix("value=")

    def set_now(moment: str) -> None:
        if when == moment:
            os.environ["CUDA_VISIBLE_DEVICES"] = value

    set_now("before")
    import torch

    set_now("after import")
    if when == "after is_available":
        torch.cuda.is_available()
        set_now(when)
    if when == "after use":
        result_of(lambda: torch.ones(1, device="cuda"))
        set_now(when)
    count = result_of(torch.cuda.device_count)
    print(
        json.dumps(
            [f"device_count: {count}", f"a tensor: {result_of(lambda: torch.ones(1, device='cuda').device)}"]
        )
    )


if __name__ == "__main__":
    main()
