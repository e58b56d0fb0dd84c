"""A fresh process that trains with batches of changing length.

`python -m helpers.measurements.growing_batches DEVICE ORDER WIDTH ROWS COUNT`: the last line is JSON,
what torch's allocator holds after each step.
"""

from __future__ import annotations

import json
import sys

MIB = 1 << 20


def main() -> None:
    device, order, width, rows, count = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
    import torch
    from torch import nn

    layers = [(nn.Linear(width, width, bias=False, device=device), nn.Tanh()) for _ in range(6)]
    model = nn.Sequential(*(module for pair in layers for module in pair))
    lengths = range(rows, rows * count + 1, rows)
    reserved = []
    for length in lengths if order == "rising" else reversed(lengths):
        model.zero_grad()
        model(torch.ones(length, width, device=device)).square().mean().backward()
        reserved.append(torch.cuda.memory_reserved() // MIB)
    print(
        json.dumps(
            {
                "reserved, MiB": reserved,
                "most allocated, MiB": [torch.cuda.max_memory_allocated() // MIB],
                "segments": [len(torch.cuda.memory_snapshot())],
            }
        )
    )


if __name__ == "__main__":
    main()
