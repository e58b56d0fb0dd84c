"""Lab 01's training loop in one order: it trains as torch does, and its bits are the same under other settings."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from functools import cache

import pytest
import torch
from torch import nn

from ci.headless import portable
from helpers.digits import digit_tensors
from helpers.labs.reproducibility.shown.in_order import MOMENTUM, product, total, train_in_order
from helpers.paths import ROOT

SETTINGS, _ = portable.settings(portable.capability())
# No look for garbage among imports, and no end of torch: half a second of each process.
BITS = """
import gc, os
gc.disable()
from tests.labs.test_reproducibility_in_order import fingerprint
print(fingerprint(), flush=True)
os._exit(0)
"""


def trained() -> torch.Tensor:
    torch.manual_seed(0)
    return train_in_order(*digit_tensors("train"), 40, 0.5)


@cache
def fingerprint() -> str:
    return hashlib.sha256(trained().numpy().tobytes()).hexdigest()


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_its_bits_are_the_same_under(setting: portable.Setting) -> None:
    environment = os.environ | setting.variables
    done = subprocess.run(
        [sys.executable, "-c", BITS], capture_output=True, text=True, cwd=ROOT, env=environment, check=True
    )
    assert done.stdout.strip() == fingerprint()


def test_it_trains_as_torch_does() -> None:
    pictures, labels = digit_tensors("train")
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))
    for parameter in model.parameters():
        nn.init.uniform_(parameter, -1 / 8, 1 / 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=MOMENTUM)
    torch.manual_seed(1)
    after = []
    for _ in range(20):
        pick = torch.randint(len(labels), (40,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(pictures[pick]), labels[pick]).backward()
        optimizer.step()
        after.append(nn.utils.parameters_to_vector(model.parameters()).detach())
    torch.manual_seed(0)
    ordered = train_in_order(
        pictures, labels, 20, 0.05, lambda step, model: torch.manual_seed(1) if step == 0 else None
    )
    torch.testing.assert_close(ordered, torch.stack(after), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("terms", [1, 2, 3, 5, 40])
def test_a_total_adds_each_term_once(terms: int) -> None:
    numbers = torch.arange(1.0, terms + 1)
    assert total(numbers[:, None]).item() == numbers.sum().item()


def test_a_product_is_the_matrix_product() -> None:
    a, b = torch.randint(9, (3, 5)).float(), torch.randint(9, (5, 7)).float()
    assert torch.equal(product(a, b), a @ b)
