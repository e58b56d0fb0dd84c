"""Lab 14: what a request costs, torch's allocator beside a model of its rules, and the way to the error."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from helpers.measurements.device import Device
from helpers.measurements.processes import answer_of
from helpers.measurements.registry import measurement
from helpers.measurements.samples import Samples
from helpers.measurements.timing import host_ms, host_us

MIB = 1 << 20
MOST_LETTERS = 600  # of an error's text

Request = tuple[int, int]  # a number for the memory, and its bytes; 0 bytes: it is freed


def bytes_on(gpu: Device, nbytes: int) -> Tensor:
    """A tensor of so many bytes on the device, whatever they are: no kernel runs."""
    return torch.empty(nbytes, dtype=torch.uint8, device=gpu.device)


@measurement("cuda_malloc", lab="14", unit="us", seconds=120)
def cuda_malloc(gpu: Device) -> Samples:
    """`torch.empty` of 16, 64 and 256 MiB, and the freeing of it, in microseconds on the host's clock, 12
    times each: served from the cache; with no block there that fits, so that the device is asked; and with
    the cache switched off (`torch.cuda.caching_allocator_enable(False)`).

    Predicted: some microseconds from the cache, whatever the size; a hundred times as long and more where the
    device is asked. Freeing costs next to nothing with the cache; without it `cudaFree` takes as long as
    `cudaMalloc`, or longer.
    """
    found: dict[str, dict[str, list[float]]] = {}
    for size in gpu.pick((16, 64, 256), (1,), (16, 64)):
        torch.cuda.empty_cache()
        for name, cached, warm in (
            ("first of its size", True, 0),
            ("cache", True, 12),
            ("no cache", False, 0),
        ):
            torch.cuda.caching_allocator_enable(cached)
            try:
                kept = [bytes_on(gpu, size * MIB) for _ in range(warm)]
                kept.clear()  # now so many idle blocks are there
                asked = host_us(
                    gpu,
                    lambda kept=kept, size=size: kept.append(bytes_on(gpu, size * MIB)),
                    12,
                    synchronize=False,
                )
                freed = host_us(gpu, kept.pop, len(kept), synchronize=False)
            finally:
                torch.cuda.caching_allocator_enable(True)
            found.setdefault(f"torch.empty, {name}, us", {})[f"{size} MiB"] = asked
            found.setdefault(f"freeing, {name}, us", {})[f"{size} MiB"] = freed
            torch.cuda.empty_cache()
    return found


@dataclass
class Block:
    """A part of a segment. memory: the number of the request that has it, None if it is idle."""

    size: int
    memory: int | None = None


@dataclass
class Segment:
    """What the device gave in one piece, as blocks from its front to its end."""

    large: bool
    stream: int
    blocks: list[Block]

    @property
    def size(self) -> int:
        return sum(block.size for block in self.blocks)


class PlainAllocator:
    """The rules of torch's allocator, with its sizes, on a device without end; oldest segment first."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []

    def malloc(self, memory: int, nbytes: int, stream: int = 0) -> None:
        """Hands out the smallest idle block that fits, of its kind and stream, or one of a new segment."""
        size = -(-nbytes // 512) * 512
        large = size > MIB
        fitting = [
            (block.size, at, segment, block)
            for at, segment in enumerate(self.segments)
            if segment.large == large and segment.stream == stream
            for block in segment.blocks
            if block.memory is None and block.size >= size
        ]
        if fitting:
            *_, segment, block = min(fitting, key=lambda each: each[:2])
        else:
            exact = -(-size // (2 * MIB)) * 2 * MIB
            block = Block(2 * MIB if not large else 20 * MIB if size < 10 * MIB else exact)
            segment = Segment(large, stream, [block])
            self.segments.append(segment)
        rest = block.size - size
        if rest > MIB or (not large and rest >= 512):
            segment.blocks.insert(segment.blocks.index(block) + 1, Block(rest))
            block.size = size
        block.memory = memory

    def free(self, memory: int) -> None:
        """Makes a block idle, and one with its idle neighbours."""
        for segment in self.segments:
            merged: list[Block] = []
            for block in segment.blocks:
                if block.memory == memory:
                    block.memory = None
                if merged and block.memory is merged[-1].memory is None:
                    merged[-1].size += block.size
                else:
                    merged.append(block)
            segment.blocks = merged

    def empty_cache(self) -> None:
        """Gives back the segments that are idle throughout."""
        self.segments = [s for s in self.segments if any(block.memory is not None for block in s.blocks)]

    def layout(self) -> list[list[tuple[int, bool]]]:
        """Each segment as a list of its blocks: (size, is it handed out)."""
        return [[(block.size, block.memory is not None) for block in each.blocks] for each in self.segments]


def torchs_layout() -> list[list[tuple[int, bool]]]:
    """The segments of torch's allocator by address, in the form of `PlainAllocator.layout`."""
    return [
        [(block["size"], block["state"] != "inactive") for block in segment["blocks"]]
        for segment in sorted(torch.cuda.memory_snapshot(), key=lambda each: each["address"])
    ]


def layouts(requests: Iterable[int], empty_cache: bool = False) -> list[list[list[tuple[int, bool]]]]:
    """The segments after requests, by the plain rules; where there is a GPU also those of torch's allocator.

    Args:
        requests: Bytes that are asked for; -1 frees the first memory that was asked for, -2 the second.
        empty_cache: Whether idle segments are given back in the end.
    """
    plain, held, on_gpu = PlainAllocator(), {}, torch.cuda.is_available()
    count = 0
    for nbytes in requests:
        if nbytes < 0:
            plain.free(-nbytes)
            held.pop(-nbytes, None)
            continue
        count += 1
        plain.malloc(count, nbytes)
        if on_gpu:
            held[count] = torch.empty(nbytes, dtype=torch.uint8, device="cuda")
    if empty_cache:
        plain.empty_cache()
        torch.cuda.empty_cache()
    return [plain.layout(), torchs_layout()] if on_gpu else [plain.layout()]


def random_requests(count: int, largest: int) -> list[Request]:
    """So many requests, up to `largest` bytes, with the same chance for each power of two; most are freed."""
    draw, live, found = random.Random(14), [], []
    for memory in range(count):
        found.append((memory, int(largest ** draw.random())))
        live.append(memory)
        while live and draw.random() < 0.45:
            found.append((live.pop(draw.randrange(len(live))), 0))
    return found


@measurement("allocator_model", lab="14", unit="segments and bytes after each request", seconds=120)
def allocator_model(gpu: Device) -> Samples:
    """1000 requests from 1 B to 64 MiB and the freeing of most of them, in an order that is drawn once,
    served by torch's allocator and by a plain model of its rules: the number of segments and the reserved
    bytes after each, by `torch.cuda.memory_snapshot()` and by the model.

    Predicted: both are the same after every request. Where several blocks fit equally well, torch takes that
    with the lowest address; the model does not know the addresses of a device and takes the oldest segment,
    so that they may part after such a choice.
    """
    found: dict[str, list[int]] = {
        name: [] for name in ("segments, torch", "segments, model", "reserved, torch, bytes")
    }
    found["reserved, model, bytes"] = []
    torch.cuda.empty_cache()
    plain, held = PlainAllocator(), {}
    for memory, nbytes in random_requests(gpu.pick(1000, 20, 300), gpu.pick(64 * MIB, 4 * MIB)):
        if nbytes:
            plain.malloc(memory, nbytes)
            held[memory] = bytes_on(gpu, nbytes)
        else:
            plain.free(memory)
            del held[memory]
        segments = torch.cuda.memory_snapshot()
        found["segments, torch"].append(len(segments))
        found["segments, model"].append(len(plain.segments))
        found["reserved, torch, bytes"].append(sum(each["total_size"] for each in segments))
        found["reserved, model, bytes"].append(sum(each.size for each in plain.segments))
    return found


@measurement(
    "expandable_segments", lab="14", unit="MiB, or a number of segments", seconds=240, processes=True
)
def expandable_segments(gpu: Device) -> Samples:
    """Training steps with 16 batches of 256 to 4096 rows, six layers of 2048 x 2048, short batches first and
    long ones first, with `PYTORCH_ALLOC_CONF=expandable_segments:True` and without, each in a process of its
    own: what is reserved after each step, the largest that was allocated, and the number of segments in the
    end.

    Predicted: with the long ones first the reserved memory stays where the first step takes it. With the
    short ones first it climbs to several times the peak of what is allocated; with expandable segments it
    ends within a tenth of what the long ones first take, in a few segments.
    """
    found: dict[str, Any] = {}
    sizes = gpu.pick(("2048", "256", "16"), ("16", "4", "2"), ("1024", "256", "8"))
    for setting in ("False", "True"):
        conf = f"expandable_segments:{setting}"
        for order in ("rising", "falling"):
            # Where both names are set, the older one is read, so a learner's own setting would win.
            answer = answer_of(
                "growing_batches",
                gpu.device.type,
                order,
                *sizes,
                PYTORCH_ALLOC_CONF=conf,
                PYTORCH_CUDA_ALLOC_CONF=conf,
            )
            found |= {f"{name}, {order}, {conf}": value for name, value in answer.items()}
    return found


class Steps:
    """Training steps of six layers, with a batch of any number of rows."""

    def __init__(self, gpu: Device) -> None:
        self.gpu, self.width = gpu, gpu.pick(1024, 8)
        layers = [(nn.Linear(self.width, self.width, device=gpu.device), nn.Tanh()) for _ in range(6)]
        self.model = nn.Sequential(*(module for pair in layers for module in pair))

    def step(self, rows: int) -> None:
        """Forward and backward."""
        self.model.zero_grad()
        self.model(torch.ones(rows, self.width, device=self.gpu.device)).square().mean().backward()

    def growing(self, first: int, count: int) -> tuple[list[float], list[int]]:
        """Milliseconds of `count` steps with ever longer batches, and the retries counted after each."""
        times, retries = [], []
        for rows in range(first, 2 * first, first // count)[: len(self.gpu.times(count))]:
            self.gpu.synchronize()
            start = self.gpu.clock()
            self.step(rows)
            self.gpu.synchronize()
            times.append((self.gpu.clock() - start) * 1e3)
            retries.append(stat("num_alloc_retries"))
        return times, retries


def stat(name: str) -> int:
    """A counter of torch's allocator; 0 where there is no GPU."""
    return int(torch.cuda.memory_stats().get(name, 0))


@measurement("out_of_memory", lab="14", unit="ms, counts, and what was seen at the error", seconds=120)
def out_of_memory(gpu: Device) -> Samples:
    """16 training steps, in milliseconds: with the same batch; with a batch that grows from step to step and
    all of the GPU's memory; and with the same growing batches and a memory fraction 25 % above what the
    longest step needs. After each of these the retries. Then a request that is larger than the limit:
    counters, numbers and text at the error.

    Predicted: growing batches cost some `cudaMalloc`s a step. Under the limit nearly every second step has a
    retry and takes several times as long as one with the same batch, and no error comes. The request that is
    too large counts one retry and one `num_ooms`, and most of the device is free when it is refused.
    """
    steps, first = Steps(gpu), gpu.pick(4096, 32)
    steps.step(2 * first)
    found: dict[str, Any] = {"same batch, ms": host_ms(gpu, lambda: steps.step(2 * first), 16)}
    needed = torch.cuda.max_memory_allocated()
    torch.cuda.empty_cache()
    found["growing, ms"], found["growing, retries"] = steps.growing(first, 16)
    torch.cuda.empty_cache()
    limited = gpu.device.type == "cuda"
    if limited:
        total = torch.cuda.get_device_properties(gpu.device).total_memory
        torch.cuda.set_per_process_memory_fraction(1.25 * needed / total)
    try:
        found["growing under a limit, ms"], found["growing under a limit, retries"] = steps.growing(first, 16)
        before = {name: stat(name) for name in ("num_alloc_retries", "num_ooms")}
        try:
            bytes_on(gpu, int(1.5 * needed) + 1)
            error = "no error"
        except torch.OutOfMemoryError as refused:
            error = f"{type(refused).__name__}: {refused}"[:MOST_LETTERS]
        found["at the error"] = [
            error,
            *(f"{name} rose by {stat(name) - count}" for name, count in before.items()),
            f"{torch.cuda.memory_allocated()} bytes allocated",
            f"{torch.cuda.memory_reserved()} bytes reserved",
            f"{torch.cuda.mem_get_info()[0] if limited else 0} bytes free on the device",
        ]
    finally:
        if limited:
            torch.cuda.set_per_process_memory_fraction(1.0)
    return found
