"""A fresh process with one setting of the precision switches: `python -m helpers.measurements.switched SETTING DEVICE`.

The last line on stdout is JSON: the digest of a matrix product, a convolution and an LSTM on fixed inputs.
"""

from __future__ import annotations

import json
import sys

import torch

from helpers.measurements.timing import digest

PARTS = ("torch.backends.cuda.matmul", "torch.backends.cudnn.conv", "torch.backends.cudnn.rnn")
OLDER = ("torch.backends.cuda.matmul.allow_tf32", "torch.backends.cudnn.allow_tf32")

# What a user writes; each line as it stands.
SETTINGS = {
    "all ieee": [f"{switch} = False" for switch in OLDER],
    "all tf32": [f"{switch} = True" for switch in OLDER],
    "newer words, all ieee": [f"{part}.fp32_precision = 'ieee'" for part in PARTS],
    "newer words, all tf32": [f"{part}.fp32_precision = 'tf32'" for part in PARTS],
    "default": [],
    "matmul.allow_tf32 = True": ["torch.backends.cuda.matmul.allow_tf32 = True"],
    "matmul.allow_tf32 = False": ["torch.backends.cuda.matmul.allow_tf32 = False"],
    "cudnn.allow_tf32 = True": ["torch.backends.cudnn.allow_tf32 = True"],
    "cudnn.allow_tf32 = False": ["torch.backends.cudnn.allow_tf32 = False"],
    "set_float32_matmul_precision highest": ["torch.set_float32_matmul_precision('highest')"],
    "set_float32_matmul_precision high": ["torch.set_float32_matmul_precision('high')"],
    "set_float32_matmul_precision medium": ["torch.set_float32_matmul_precision('medium')"],
    "backends.fp32_precision = ieee": ["torch.backends.fp32_precision = 'ieee'"],
    "backends.fp32_precision = tf32": ["torch.backends.fp32_precision = 'tf32'"],
    "cuda.matmul.fp32_precision = tf32": ["torch.backends.cuda.matmul.fp32_precision = 'tf32'"],
    "cudnn.fp32_precision = ieee": ["torch.backends.cudnn.fp32_precision = 'ieee'"],
    "cudnn.fp32_precision = tf32": ["torch.backends.cudnn.fp32_precision = 'tf32'"],
    "cudnn.conv.fp32_precision = ieee": ["torch.backends.cudnn.conv.fp32_precision = 'ieee'"],
    "cudnn.rnn.fp32_precision = ieee": ["torch.backends.cudnn.rnn.fp32_precision = 'ieee'"],
    "mkldnn.fp32_precision = bf16": ["torch.backends.mkldnn.fp32_precision = 'bf16'"],
    "old True, then new ieee": [
        "torch.backends.cuda.matmul.allow_tf32 = True",
        "torch.backends.cuda.matmul.fp32_precision = 'ieee'",
    ],
    "new tf32, then old False": [
        "torch.backends.cuda.matmul.fp32_precision = 'tf32'",
        "torch.backends.cuda.matmul.allow_tf32 = False",
    ],
}


def results(device: str) -> dict[str, str]:
    """The digest of each operation's result, or its error."""
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(256, 256, generator=generator).to(device) for _ in "ab")
    # With 32 channels cuDNN took a kernel without TF32 on an H200, whatever the switches said.
    x = torch.randn(8, 128, 16, 16, generator=generator).to(device)
    weight = torch.randn(128, 128, 3, 3, generator=generator).to(device)
    torch.manual_seed(0)
    lstm = torch.nn.LSTM(64, 64).to(device)
    words = torch.randn(10, 8, 64, generator=generator).to(device)
    operations = {
        "matmul": lambda: a @ b,
        "conv2d": lambda: torch.nn.functional.conv2d(x, weight),
        "lstm": lambda: lstm(words)[0],
    }
    found = {}
    for name, operation in operations.items():
        try:
            found[name] = digest(operation())
        except RuntimeError as error:
            found[name] = f"error: {str(error).splitlines()[0][:100]}"
    return found


def main() -> None:
    for line in SETTINGS[sys.argv[1]]:
        exec(line, {"torch": torch})
    print(json.dumps(results(sys.argv[2])))


if __name__ == "__main__":
    main()
