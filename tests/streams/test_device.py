"""What runs on the simulated device, how its errors surface, and what a reset forgets."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
import torch
from torch import nn

from helpers import streams
from tests.support.device_process import CASES, UNWRITTEN, device_process, matrix, on_device  # noqa: F401


@on_device
def test_an_error_of_values_surfaces_at_the_next_synchronisation() -> None:
    x, index = torch.zeros(3, device="sim"), torch.tensor([7], device="sim")
    y = x[index]  # launched here
    line = test_an_error_of_values_surfaces_at_the_next_synchronisation.case_line + 2
    z = x + 1
    with pytest.raises(IndexError) as caught:
        streams.synchronize()
    note = caught.value.__notes__[-1]
    assert note == f"Raised by the kernel `index` on stream default, launched by test_device.py, line {line}."
    assert y.shape == (1,) and z.tolist() == [1, 1, 1]
    streams.synchronize()


test_an_error_of_values_surfaces_at_the_next_synchronisation.case_line = (
    CASES["test_an_error_of_values_surfaces_at_the_next_synchronisation"].__code__.co_firstlineno + 1
)


@on_device
def test_an_error_of_shapes_is_raised_by_the_call() -> None:
    with pytest.raises(RuntimeError, match="must match"):
        torch.ones(2, device="sim") + torch.ones(3, device="sim")
    streams.synchronize()


@on_device
def test_arguments_that_overlap_are_a_fault_of_the_call() -> None:
    x = torch.ones(5, device="sim")
    with pytest.raises(RuntimeError, match="single memory location"):
        x[1:].add_(x[:-1])


@on_device
def test_there_is_one_device() -> None:
    for call in (lambda: torch.ones(1, device="sim:1"), lambda: torch.ones(1).to("sim:1")):
        with pytest.raises(RuntimeError, match="one simulated device, sim:0, and no sim:1"):
            call()


@on_device
def test_tensors_of_host_and_device_do_not_mix() -> None:
    x, cpu = torch.ones(2, 2, device="sim"), torch.ones(2, 2)
    for mixed in (
        lambda: x + cpu,
        lambda: cpu @ x,
        lambda: torch.cat([x, cpu]),
        lambda: nn.Linear(2, 2)(x),
        lambda: cpu.add_(x),
        lambda: nn.functional.mse_loss(x, cpu),
    ):
        with pytest.raises(
            RuntimeError, match="Expected all tensors to be on the same device.*sim:0 and cpu"
        ):
            mixed()
    assert (x * torch.tensor(2.0)).tolist() == [[2, 2], [2, 2]]  # numbers of the host may
    assert x[torch.tensor([0])].shape == (1, 2)  # and indices
    with pytest.raises(TypeError, match="can't convert sim:0 device type tensor to numpy"):
        x.numpy()


@on_device
def test_factories() -> None:
    assert torch.tensor([1.0, 2.0], device="sim").tolist() == [1, 2]
    assert torch.as_tensor([[1], [2]], device="sim").tolist() == [[1], [2]]
    assert torch.tensor(3, device="sim", dtype=torch.int8).item() == 3
    assert torch.arange(4, device="sim").tolist() == [0, 1, 2, 3]
    assert torch.eye(2, device="sim").tolist() == [[1, 0], [0, 1]]
    assert torch.linspace(0, 1, 3, device="sim").tolist() == [0, 0.5, 1]
    assert torch.full((2,), 7, device="sim").tolist() == [7, 7]
    assert sorted(torch.randperm(5, device="sim").tolist()) == [0, 1, 2, 3, 4]
    x = torch.empty(300, device="sim")[:3]  # a size that no block has been made for
    assert (
        x.tolist() == [UNWRITTEN] * 3 and torch.zeros_like(x).tolist() == x.new_zeros(3).tolist() == [0] * 3
    )
    assert repr(torch.ones(2, device="sim")) == "tensor([1., 1.], device='sim:0')"
    with pytest.raises(NotImplementedError, match="dense tensors only"):
        torch.eye(2, device="sim").to_sparse()


@on_device
def test_layout_follows_operations_in_place() -> None:
    x = matrix(2, 3).to("sim")
    assert x.t_().shape == (3, 2) and x.tolist() == matrix(2, 3).t().tolist()
    out = torch.empty(0, device="sim")
    torch.add(x, 1, out=out)
    assert out.tolist() == (matrix(2, 3).t() + 1).tolist()
    x.data = torch.ones(4, device="sim")
    assert (x + 1).tolist() == [2] * 4
    x[1:3] = torch.tensor([5.0, 6.0])
    x[x > 5] = 0
    assert x.tolist() == [1, 5, 0, 1]


@on_device
def test_memory_follows_set_and_resize() -> None:
    x, other = torch.arange(3.0, device="sim"), torch.ones(4, device="sim")
    x.resize_(500)  # a larger block
    assert x[:3].tolist() == [0, 1, 2] and streams.truth(x)[:3].tolist() == [0, 1, 2]
    x.set_(other)
    other.fill_(5)
    assert x.tolist() == [5] * 4 and x.data_ptr() == other.data_ptr()


@on_device
def test_complex_numbers() -> None:
    host = torch.tensor([[1 + 2j, -3j, 4], [2, 1j, 1 - 1j]])
    on_device = host.to("sim")
    for compute in (
        torch.Tensor.conj,
        lambda x: x.conj().imag,
        lambda x: x.mH @ x,
        torch.linalg.pinv,  # conjugates within
        torch.fft.ifft,
        lambda x: torch.fft.fft(x.conj()).abs(),
    ):
        expected, got = compute(host).resolve_conj().resolve_neg(), compute(on_device)
        torch.testing.assert_close(got.cpu(), expected)
        torch.testing.assert_close(streams.truth(got), expected)


@on_device
def test_the_host_waits_for_shapes_that_depend_on_values() -> None:
    x = torch.tensor([0.0, 3.0, 0.0, 4.0], device="sim")
    assert x.nonzero().shape == (2, 1) and x[x > 0].tolist() == [3, 4] and x.unique().tolist() == [0, 3, 4]
    assert [op.kind for op in streams.trace()].count("host_sync") > 4
    assert torch.equal(x, x.clone()) and bool(x[1] == 3)


def network() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.GELU(), nn.Flatten(), nn.Linear(8, 3))


@on_device
def test_training_equals_the_cpus_bit_for_bit() -> None:
    for optimizer in (torch.optim.SGD, torch.optim.AdamW):
        torch.manual_seed(0)
        there, inputs, targets = network(), torch.randn(4, 1, 4, 4), torch.tensor([0, 1, 2, 1])
        here = copy.deepcopy(there).to("sim")
        for module in (there, here):
            device = next(module.parameters()).device
            steps = optimizer(module.parameters(), lr=0.1)
            for _ in range(3):
                steps.zero_grad()
                nn.functional.cross_entropy(module(inputs.to(device)), targets.to(device)).backward()
                steps.step()
        for want, got in zip(there.state_dict().values(), here.state_dict().values(), strict=True):
            assert torch.equal(want, got.cpu()) and torch.equal(want, streams.truth(got))
    assert nn.Linear(2, 3, device="sim").weight.device.type == "sim"


@on_device
def test_tensors_are_copied_saved_and_loaded() -> None:
    parameter = nn.Parameter(torch.randn(3, device="sim"))
    copied = copy.deepcopy(parameter)
    assert isinstance(copied, nn.Parameter) and copied.data_ptr() != parameter.data_ptr()
    assert copied.tolist() == parameter.tolist() == pickle.loads(pickle.dumps(parameter)).tolist()
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(parameter * 2)
    module, file = network().to("sim"), io.BytesIO()
    torch.save(module.state_dict(), file)
    for place, device in ((None, "sim"), ("cpu", "cpu")):
        file.seek(0)
        loaded = torch.load(file, map_location=place)
        assert {value.device.type for value in loaded.values()} == {device}
        module.load_state_dict(loaded)


@on_device
def test_random_numbers_are_the_devices_own() -> None:
    before = torch.get_rng_state()
    first = torch.randn(3, device="sim")
    assert first.tolist() == streams.truth(first).tolist()
    assert torch.equal(torch.get_rng_state(), before)
    streams.reset()
    assert torch.randn(3, device="sim").tolist() == first.tolist()
    torch.manual_seed(1)
    one = torch.rand(3, device="sim").tolist()
    torch.manual_seed(1)
    assert torch.rand(3, device="sim").tolist() == one != torch.rand(3, device="sim").tolist()


@on_device
def test_autocast_and_inference_mode_around_a_synchronisation_change_no_kernel() -> None:
    x = torch.randn(8, 8, device="sim")
    y = x @ x
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.inference_mode():
        streams.synchronize()
        z = torch.ones(2, device="sim")
    assert torch.equal(y.cpu(), streams.truth(y)) and y.dtype == torch.float32
    assert (torch.zeros(2, device="sim") + z).tolist() == [1, 1]


@on_device
def test_autocast_for_the_device_changes_nothing() -> None:
    x = torch.ones(2, 2, device="sim", requires_grad=True)
    with torch.autocast("sim", dtype=torch.bfloat16):
        y = x @ x
    y.sum().backward()
    assert y.dtype is torch.float32 and x.grad.tolist() == [[4, 4], [4, 4]]


@on_device
def test_costs() -> None:
    with streams.costs({"add": lambda nbytes: nbytes}, launch=0, kernel=3.0, mul=7.0, pinned=1.0):
        x = torch.ones(2, device="sim")
        x.add_(x)
        with streams.costs(mul=1.0):
            x.mul_(2)
        x * 2
        streams.pin_memory(torch.ones(250)).to("sim", non_blocking=True)
    torch.ones(2, device="sim")
    lengths = [op.duration for op in streams.trace()]
    assert lengths == [3, 8, 1, 7, 1, 20]


@on_device
def test_a_reset_forgets_everything() -> None:
    def program() -> tuple:
        side = streams.Stream()
        x = torch.randn(64, device="sim")
        with side:
            y = x * 2
        side.synchronize()
        return y.tolist(), streams.timeline(), streams.trace(), streams.clock()

    first = program()
    streams.set_stream(streams.Stream())
    event = streams.current_stream().record_event()
    x = torch.ones(64, device="sim")
    pending = x + 1
    for _ in range(2):
        streams.reset()
        assert event.query() and streams.current_stream() is streams.default_stream()
        streams.reset()
        assert program() == first
    streams.reset()
    del x, pending  # blocks of before serve nobody
    assert torch.empty(64, device="sim").tolist() == [UNWRITTEN] * 64
    with streams.stream(streams.Stream()):
        streams.reset()
    with streams.Stream():
        streams.reset()
    assert streams.current_stream() is streams.default_stream() and streams.trace() == []


@on_device
def test_a_reset_frees_memory() -> None:
    import gc
    import weakref

    x = torch.ones(1000, device="sim")
    x + 1
    block = weakref.ref(x.allocation.block)
    del x
    gc.collect()
    assert block() is not None  # in the pool
    streams.reset()
    assert block() is None


def test_the_differences_are_told() -> None:
    assert len(streams.DIFFERENCES) == 8
