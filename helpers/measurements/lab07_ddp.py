"""Lab 07: DDP with one rank on one GPU beside the plain module, and what it sends when."""

# No `from __future__ import annotations` here: DDP looks at the types in a hook's signature.
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from helpers import ranks
from helpers.measurements.device import Device
from helpers.measurements.registry import measurement
from helpers.measurements.samples import Samples
from helpers.measurements.timing import host_ms

SECONDS = 100.0
BACKWARD = "whole backward"
MEGA = 2**20


def on_one_rank(function, gpu: Device, *args: object):
    """What a function gives in a process group of one rank: NCCL for CUDA tensors, gloo in a rehearsal."""
    return ranks.run(function, gpu, *args, ranks=1, timeout=SECONDS)[0]


def layers(gpu: Device) -> nn.Sequential:
    """Twelve linear layers, 4 MB of weights each."""
    width = gpu.pick(1024, 8)
    return nn.Sequential(*(nn.Linear(width, width) for _ in range(gpu.pick(12, 3)))).to(gpu.device)


def batch(gpu: Device) -> Tensor:
    return torch.ones(gpu.pick(512, 2), gpu.pick(1024, 8), device=gpu.device)


def step(model: nn.Module, x: Tensor) -> None:
    """Forward and backward."""
    model.zero_grad()
    model(x).square().mean().backward()


@measurement("ddp_world_one", lab="07", unit="ms", seconds=150)
def ddp_world_one(gpu: Device) -> Samples:
    """Forward and backward of twelve linear layers with n = 1024 and a batch of 512: the plain module, and the same in
    DistributedDataParallel over NCCL with one rank. Milliseconds until the device is done, 20 times after 5 for warm-up.

    Predicted: DDP takes longer by the copies into and out of its buckets, tenths of a millisecond; there is nobody to
    wait for.
    """
    return on_one_rank(steps_plain_and_ddp, gpu)


def steps_plain_and_ddp(gpu: Device) -> dict[str, list[float]]:
    model, x = layers(gpu), batch(gpu)
    found = {}
    for name, trained in {"plain_ms": model, "ddp_ms": DistributedDataParallel(model)}.items():
        for _ in range(5):
            step(trained, x)
        found[name] = host_ms(gpu, lambda trained=trained: step(trained, x), 20)
    return found


@measurement("buckets_by_cap", lab="07", unit="bytes of each all-reduce")
def buckets_by_cap(gpu: Device) -> Samples:
    """The same model in DDP with `bucket_cap_mb` of 1, 5, 25 and 100: the bytes of each all-reduce of the first and of the
    third step, in their order, as a communication hook sees them.

    Predicted: the sum is always the bytes of all gradients, and a larger cap gives fewer all-reduces; the first bucket is
    smaller (1 MB at most, or one parameter), so that the first one starts early.
    """
    return on_one_rank(bytes_by_cap, gpu)


def bytes_by_cap(gpu: Device) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for cap in (1, 5, 25, 100):
        sent: list[int] = []
        model = DistributedDataParallel(layers(gpu), bucket_cap_mb=cap)
        model.register_comm_hook(sent, counted)
        for turn in (1, 2, 3):
            step(model, batch(gpu))
            if turn != 2:
                found[f"cap={cap} MB, step {turn}, bytes"] = list(sent)
            sent.clear()
    return found


def counted(sent: list[int], bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
    """A communication hook that notes the bytes and all-reduces (of one rank: the mean is the sum)."""
    sent.append(bucket.buffer().nbytes)
    work = dist.all_reduce(bucket.buffer(), async_op=True)
    return work.get_future().then(lambda done: done.value()[0])


@measurement("allreduce_in_backward", lab="07", unit="us")
def allreduce_in_backward(gpu: Device) -> Samples:
    """Five steps of the same model in DDP with `bucket_cap_mb=5`, each seen by torch's profiler: of the whole backward, of
    every all-reduce and of every kernel where ("host" or "device"), the name, start and end in microseconds.

    Predicted: the host starts the first all-reduce long before backward ends, after the last layers' gradients. With one
    rank NCCL need not launch a kernel, so the device may show none.
    """
    return on_one_rank(profiled_steps, gpu)


def profiled_steps(gpu: Device) -> dict[str, list[list]]:
    model, x = DistributedDataParallel(layers(gpu), bucket_cap_mb=5), batch(gpu)

    def one() -> None:
        model.zero_grad()
        loss = model(x).square().mean()
        with torch.profiler.record_function(BACKWARD):
            loss.backward()

    for _ in range(3):
        one()
    found = {}
    for turn in range(1, 6):
        seen = gpu.events(one)
        found[f"step {turn}: where, name, start_us, end_us"] = [
            [where, name[:60], start, end] for where, name, start, end in seen if is_shown(where, name)
        ]
    return found


def is_shown(where: str, name: str) -> bool:
    """Whether an event is a kernel, an all-reduce or the whole backward."""
    plain = name.lower().replace("_", "")
    return where == "device" or name == BACKWARD or "allreduce" in plain or "nccl" in plain


@measurement("allreduce_latency", lab="07", unit="us")
def allreduce_latency(gpu: Device) -> Samples:
    """`dist.all_reduce` over NCCL with one rank for 4 bytes to 64 MB: microseconds until the device is done, on the host's
    clock, 20 times after 3 for warm-up. What is left when there is nobody to talk to.

    Predicted: some 10 to 30 us whatever the size, since nothing is sent.
    """
    return {"all_reduce_us": on_one_rank(latencies, gpu)}


def latencies(gpu: Device) -> dict[str, list[float]]:
    found = {}
    for size in gpu.pick((4, 1024, MEGA, 16 * MEGA, 64 * MEGA), (4, 1024)):
        x = torch.zeros(size // 4, device=gpu.device)
        for _ in range(3):
            dist.all_reduce(x)
        found[f"{size} bytes"] = [time * 1e3 for time in host_ms(gpu, lambda x=x: dist.all_reduce(x), 20)]
    return found
