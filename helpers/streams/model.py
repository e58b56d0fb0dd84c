"""How the simulated device differs from a real GPU, in sentences to show."""

from __future__ import annotations

DIFFERENCES = (
    "Time is a model: a table of costs. No number of it is that of a real GPU.",
    "A kernel reads its inputs when it begins and writes its outputs at its end (a copy between host and device "
    "reads its first half when it begins, its second half at its end). A real kernel reads and writes all the "
    "time, so what a real race gives may differ from run to run and may even be right; here it is always the same.",
    "Streams never get in each other's way: any number of kernels runs at once. On a real GPU, a kernel that "
    "fills it makes the others wait.",
    "Backward runs on the stream that is current when `backward` is called. With CUDA it runs on the streams of "
    "the forward, and the gradients of leaves are waited for.",
    "The default stream waits for no other stream, and none waits for it, as with the streams that torch makes. "
    "The rules of CUDA's older default stream, which waits for all, do not apply.",
    "A value that a kernel cannot work with (an index out of range) is told at the next synchronisation, as with "
    "CUDA, but here the device lives on. A failed device assertion of CUDA ends all work of the process on it.",
    "The allocator has one rule: a freed block serves the next request of its stream and size at once, other "
    "streams' work or not. CUDA's has more rules, for sizes above all.",
    "Random numbers are drawn in the order of issue, as with CUDA. The device's generator is not CUDA's: one "
    "seed gives other numbers.",
)
