"""A simulated device, "sim": streams, events and races without a GPU.

    from helpers import streams
    streams.install()                       # registers the device and torch.sim; nothing happens before
    x = torch.randn(3, device="sim")        # tensors, modules, autograd, optimizers as on "cuda"
    side = torch.sim.Stream()               # and streams and events with torch.cuda's methods
    with torch.sim.stream(side):
        y = x * 2                           # may read x before it is written: nobody waited

Time is virtual: each kernel has a cost, nothing sleeps, and every run of a program is the same, races included.
`timeline()` shows when which kernel ran, `trace()` what was issued, `truth(x)` what a tensor would hold had
everything run in program order. `reset()` makes the device new.

How it differs from a real GPU (`DIFFERENCES` is this list as data):
1. Time is a model, a table of costs (`costs()` changes it). No number of it is that of a real GPU.
2. A kernel reads its inputs when it begins and writes its outputs at its end; a real one is torn anywhere, and a
   real race is sometimes right. Here it always ends the same way.
3. Streams never slow each other down. A real GPU that is full makes kernels wait.
4. Backward runs on the stream that is current when it is called; CUDA's runs on the forward's streams.
5. The default stream waits for no other, and none for it. The rules of CUDA's older default stream do not apply.
6. Errors of values surface at the next synchronisation, as with CUDA, but the device lives on after them.
7. The allocator knows one rule: a freed block serves the next request of its stream and size at once.
8. Random numbers are drawn in the order of issue, as with CUDA, but from another generator.

The device is made for one thread. Calls from several are safe, one at a time, each thread with its own current
stream; but then the order of issue is decided by the operating system, and so are all times. A backward pass runs
on the thread that calls for it (`torch.autograd.backward(y, gradient)` in a thread that has used no tensor of the
device before fails), and processes may be forked after one.

`torch.Stream("sim")` and `torch.Event("sim")` are made by C++ and order nothing here; `torch.accelerator` knows only
those. Given to a stream, an event or a tensor of this device they raise TypeError.

torch has one accelerator, and once installed it is this one: `x.pin_memory()` of torch looks for page-locked memory
here and raises (`streams.pin_memory` is the way), and CUDA in the same process loses it and more. Programs for
a real GPU belong into another process.
"""

from helpers.streams.backend import install
from helpers.streams.memory import is_pinned, pin_memory
from helpers.streams.model import DIFFERENCES
from helpers.streams.program import Op
from helpers.streams.queues import (
    Event,
    Stream,
    current_stream,
    default_stream,
    set_stream,
    stream,
    synchronize,
)
from helpers.streams.tensor import DEVICE
from helpers.streams.tools import Run, clock, costs, empty, host_works, reset, sleep, timeline, trace, truth

__all__ = [
    "DEVICE",
    "DIFFERENCES",
    "Event",
    "Op",
    "Run",
    "Stream",
    "clock",
    "costs",
    "current_stream",
    "default_stream",
    "empty",
    "host_works",
    "install",
    "is_pinned",
    "pin_memory",
    "reset",
    "set_stream",
    "sleep",
    "stream",
    "synchronize",
    "timeline",
    "trace",
    "truth",
]
