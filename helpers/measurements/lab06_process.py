"""Lab 06: which devices a process sees, and what a GradScaler makes the host wait for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

from helpers.measurements.device import Device
from helpers.measurements.processes import answer_of
from helpers.measurements.registry import measurement
from helpers.measurements.samples import Samples
from helpers.measurements.timing import host_ms

VISIBLE = ("0", "", "-1", "0,0", "99", "0,99", "99,0", "0,-1", "a")
MOMENTS = ("before", "after import", "after is_available", "after use")
LONG = 100_000_000  # cycles, about 50 ms


@measurement("visible_devices", lab="06", unit="number of devices, or an error", seconds=300, processes=True)
def visible_devices(gpu: Device) -> Samples:
    """`torch.cuda.device_count()` and whether a tensor can be made, in fresh processes: CUDA_VISIBLE_DEVICES set before
    `import torch`, after it, after `torch.cuda.is_available()`, and after CUDA was used.

    Predicted: what is set after CUDA was used changes nothing; an invalid number ends the list, so "99,0" gives none.
    """
    moments, values = gpu.pick(MOMENTS, ("after use",)), gpu.pick(VISIBLE, ("0",), ("0", "", "99,0"))
    with ThreadPoolExecutor(gpu.pick(4, 1)) as pool:
        asked = {
            f"{when}, {value!r}": pool.submit(answer_of, "visible", when, f"value={value}")
            for when in moments
            for value in values
        }
        return {name: answer.result() for name, answer in asked.items()}


class Training:
    """A small model, trained in float16 under autocast with a GradScaler, or without one."""

    def __init__(self, gpu: Device, scaled: bool, fused: bool) -> None:
        width = gpu.pick(1024, 8)
        with torch.random.fork_rng(devices=[]):
            layers = [nn.Linear(width, width) for _ in range(4)]
        self.model = nn.Sequential(*layers).to(gpu.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5, fused=fused)
        self.scaler = torch.amp.GradScaler(gpu.device.type, init_scale=2.0**10, enabled=scaled)
        self.x, self.where = torch.ones(64, width, device=gpu.device), gpu.device.type

    def backward(self) -> None:
        self.optimizer.zero_grad()
        with torch.autocast(self.where, torch.float16):
            loss = self.model(self.x).float().square().mean()
        self.scaler.scale(loss).backward()

    def step(self) -> None:
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def both(self) -> None:
        self.backward()
        self.step()


@measurement("scaler_sync", lab="06", unit="us and ms")
def scaler_sync(gpu: Device) -> Samples:
    """`scaler.step(optimizer); scaler.update()` while the device sleeps for about 50 ms first: microseconds until the
    host goes on; with a GradScaler and without, AdamW fused and not. Beside it whole training steps in milliseconds. 20
    times each after 3 for warm-up.

    Predicted: with a GradScaler and an AdamW that is not fused the host waits for the device, 50 ms: it must read whether
    an inf was found. The fused one takes that along on the device, and the host goes on at once.
    """
    found: dict[str, dict[str, list[float]]] = {"host_goes_on_after_us": {}, "whole_step_ms": {}}
    for scaled in (True, False):
        for fused in (True, False):
            name = f"{'GradScaler' if scaled else 'no GradScaler'}, {'fused' if fused else 'not fused'}"
            training = Training(gpu, scaled, fused)
            for _ in range(3):
                training.both()
            found["host_goes_on_after_us"][name] = waits(gpu, training.backward, training.step)
            found["whole_step_ms"][name] = host_ms(gpu, training.both, 20)
    return found


def waits(gpu: Device, before: Callable[[], None], call: Callable[[], None]) -> list[float]:
    """Microseconds until `call` lets the host go on, 20 times; `before` is done first each time."""
    found = []
    for _ in gpu.times(20):
        before()
        gpu.synchronize()
        gpu.sleep(LONG)
        start = gpu.clock()
        call()
        found.append((gpu.clock() - start) * 1e6)
    gpu.synchronize()
    return found
