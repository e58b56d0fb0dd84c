"""Telling torch of the simulated device: quick, once, and without a change for anybody else."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from helpers import paths

# What code that knows nothing of the device sees of torch, as plain data.
SEEN = '''
import copy, io, json, os, pickle, random, sys, threading, warnings
import torch
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader

def told(call):
    """What a call gives, or the error that it raises."""
    try:
        return repr(call())
    except Exception as error:
        return type(error).__name__

def batches(**options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loader = DataLoader(torch.arange(5.0), batch_size=2, shuffle=True, pin_memory=True, **options)
        found = [(batch.tolist(), batch.is_pinned()) for batch in loader]
    # Python 3.12 and newer warn of a fork beside threads, with the id of the process.
    return found, sorted({str(one.message) for one in caught if "multi-threaded" not in str(one.message)})

def forked_draws():
    with torch.random.fork_rng():
        torch.rand(2)
    return torch.rand(2).tolist()

def trained(recompute):
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 2))
    run = (lambda x: checkpoint(module, x, use_reentrant=False)) if recompute else module
    optimizer = torch.optim.AdamW(module.parameters())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = run(torch.rand(5, 3)).float().square().sum()
    loss.backward()
    optimizer.step()
    return [value.tolist() for value in module.parameters()]

def saved():
    file = io.BytesIO()
    torch.save({"a": torch.rand(3), "b": torch.nn.Parameter(torch.rand(2))}, file)
    file.seek(0)
    return file.getvalue().hex()[:200], {name: value.tolist() for name, value in torch.load(file).items()}

def seen():
    torch.manual_seed(3)
    return {
        "loader": batches(),
        "workers": batches(num_workers=1, multiprocessing_context="fork"),
        "fork_rng": forked_draws(),
        "seed": torch.manual_seed(5).initial_seed(),
        "state": torch.get_rng_state().sum().item(),
        "training": trained(False),
        "checkpoint": trained(True),
        "saving": saved(),
        "deepcopy": copy.deepcopy(torch.rand(2)).tolist(),
        "accelerator": [
            torch.accelerator.is_available(),
            told(lambda: torch.accelerator.current_accelerator(check_available=True)),
        ],
        "autocast": [torch.is_autocast_enabled("cpu"), str(torch.get_autocast_dtype("cpu"))],
        "cuda": [told(torch.cuda.is_available), told(torch.cuda.is_initialized)],
        "pinned": [torch.rand(2).is_pinned(), "Error" in told(lambda: torch.rand(2).pin_memory())],
        "devices": [told(lambda: torch.rand(2, device=name)) for name in ("meta", "nonsense")],
        "default": str(torch.get_default_device()),
        "foreach": [told(lambda: torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], fused=True).step())],
    }
'''


def output(code: str) -> Any:
    """What a Python of its own prints last, as data; fails if it fails."""
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=paths.ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def test_installing_changes_nothing_for_others() -> None:
    before, after = output(
        SEEN
        + """
import torch
if torch.cuda.is_available():
    print(json.dumps([0, 0]))  # a process with two devices: not what is looked at here
else:
    before = seen()
    from helpers import streams
    streams.install()
    torch.randn(3, device="sim").sum().item()
    print(json.dumps([before, seen()]))
"""
    )
    assert before == after


def test_importing_installs_nothing_and_installing_twice_is_installing_once() -> None:
    assert output(
        """
import json, torch
from helpers import streams
import helpers.labs.streams
before = torch._C._get_privateuse1_backend_name(), hasattr(torch, "sim")
streams.install()
module, kept = torch.sim, torch.ones(2, device="sim")
streams.install()
same = torch.sim is module and (kept + torch.ones(2, device="sim")).tolist() == [2, 2]
print(json.dumps([*before, same, torch.sim.Stream is streams.Stream, streams.DEVICE]))
"""
    ) == ["privateuseone", False, True, True, "sim"]


def test_the_first_operations_load_no_large_module_and_dtensors_work_as_before() -> None:
    """DTensor and with it sympy would be loaded by torch, the compiler by kernels for shapes: seconds.

    C++ keeps a stand-in for the class of DTensors when the device is installed first.
    """
    loaded, *found = output(
        """
import json, sys, torch
from helpers import streams
streams.install()
x = torch.randn(3, 3, device="sim", requires_grad=True)
with torch.sim.stream(torch.sim.Stream()):
    (x @ x.to("cpu", non_blocking=True).to("sim")).relu().sum().backward()
x.grad.nonzero(), torch.tensor([1], device="sim"), torch.arange(3, device="sim")
loaded = [name for name in ("sympy", "torch._dynamo", "torch.distributed.tensor") if name in sys.modules]

import torch.distributed as dist
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
mesh = init_device_mesh("cpu", (1,))
x = distribute_tensor(torch.arange(6.0).reshape(2, 3), mesh, [Shard(0)]).requires_grad_()
y = (x @ x.t()).relu()
y.sum().backward()
whole = y.redistribute(mesh, [Replicate()]).to_local()
print(json.dumps([loaded, type(y) is DTensor, whole.tolist(), x.grad.full_tensor().tolist()]))
dist.destroy_process_group()
"""
    )
    assert loaded == []
    assert found == [True, [[5, 14], [14, 50]], [[6, 10, 14], [6, 10, 14]]]


def test_where_it_cannot_be_installed_it_says_why() -> None:
    no_hook, no_place = output(
        """
import json, torch, torch.utils.backend_registration as registration
from helpers import streams

def said():
    try:
        streams.install()
    except RuntimeError as error:
        return str(error)

hook = registration._setup_privateuseone_for_python_backend
del registration._setup_privateuseone_for_python_backend
no_hook = said()
registration._setup_privateuseone_for_python_backend = hook
torch.utils.rename_privateuse1_backend("other")
print(json.dumps([no_hook, said()]))
"""
    )
    assert "_setup_privateuseone_for_python_backend" in no_hook and "'other'" in no_place


def test_it_survives_a_fork() -> None:
    """Installed before the fork, used after it, also for a first backward pass in the child."""
    assert output(
        """
import json, os, torch
from helpers import streams
streams.install()
x = torch.ones(2, device="sim", requires_grad=True)
read, write = os.pipe()
if os.fork() == 0:
    torch.sim.Stream()
    (x * 3).sum().backward()
    os.write(write, json.dumps(x.grad.tolist()).encode())
    os._exit(0)
os.wait()
print(os.read(read, 100).decode())
"""
    ) == [3, 3]
