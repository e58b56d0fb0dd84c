"""Right answers to exercises of lab 01, in different shapes."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from contextlib import ContextDecorator, ExitStack, contextmanager
from typing import Any

import numpy as np
import torch


def seed_by_libraries(seed: int) -> None:
    """NumPy goes first: it refuses what is out of range."""
    np.random.seed(seed)
    random.seed(seed)
    torch.manual_seed(seed)


def seed_after_a_test(seed: int) -> int:
    """Tests the range itself, names CUDA, and returns the seed."""
    if seed < 0 or seed > 2**32 - 1:
        raise ValueError(f"seed must be in 0 ... 2**32 - 1, got {seed}")
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
    return seed


def seed_from_a_sequence(seed: int) -> None:
    """A seed of its own for each library, and set states instead of seeds."""
    if not 0 <= seed < 2**32:
        raise ValueError(seed)
    for_random, for_numpy, for_torch = np.random.SeedSequence(seed).spawn(3)
    random.setstate(random.Random(for_random.generate_state(1)[0].item()).getstate())
    np.random.set_state(np.random.MT19937(for_numpy).state)
    torch.default_generator.set_state(
        torch.Generator().manual_seed(int(for_torch.generate_state(1)[0])).get_state()
    )
    torch.cuda.manual_seed_all(int(for_torch.generate_state(1)[0]))


def seed_by_a_loop(seed: int) -> None:
    """Lazily imported modules in a loop."""
    if seed not in range(2**32):
        raise ValueError("out of range")
    import importlib

    for name in ("random.seed", "numpy.random.seed", "torch.random.manual_seed"):
        module, _, function = name.rpartition(".")
        getattr(importlib.import_module(module), function)(seed)


@contextmanager
def preserve_by_a_generator() -> Iterator[None]:
    """All states in one tuple."""
    states = random.getstate(), np.random.get_state(), torch.get_rng_state(), torch.cuda.get_rng_state_all()
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.set_rng_state(states[2])
        torch.cuda.set_rng_state_all(states[3])


class PreserveByAClass(ContextDecorator):
    """A stack of states, so that one object may be used again inside its own block; CUDA only where it runs."""

    def __init__(self) -> None:
        self._stack: list[tuple] = []

    def __enter__(self) -> PreserveByAClass:
        cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
        numpy = np.random.get_state(legacy=False)
        self._stack.append((random.getstate(), numpy, torch.default_generator.get_state(), cuda))
        return self

    def __exit__(self, *error: object) -> None:
        for_random, for_numpy, for_torch, cuda = self._stack.pop()
        random.setstate(for_random)
        np.random.set_state(for_numpy)
        torch.default_generator.set_state(for_torch)
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)


@contextmanager
def preserve_with_torchs_own() -> Iterator[None]:
    """fork_rng for torch, two lines for the others."""
    with torch.random.fork_rng():
        for_random, for_numpy = random.getstate(), np.random.get_state()
        try:
            yield
        finally:
            random.setstate(for_random)
            np.random.set_state(for_numpy)


def preserve_with_callbacks() -> ExitStack:
    """An ExitStack with what is to be done on exit; GPUs one by one."""
    stack = ExitStack()
    stack.callback(random.setstate, random.getstate())
    stack.callback(np.random.set_state, np.random.get_state())
    stack.callback(torch.set_rng_state, torch.get_rng_state())
    for device in range(torch.cuda.device_count()):
        stack.callback(torch.cuda.set_rng_state, torch.cuda.get_rng_state(device), device)
    return stack


def worker_by_its_seed(worker_id: int) -> None:
    """The plain answer."""
    info = torch.utils.data.get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)


def worker_in_place(worker_id: int) -> None:
    """Keeps the generator object, gives it another state; limits threads, as many hooks do."""
    torch.set_num_threads(1)
    rng = torch.utils.data.get_worker_info().dataset.rng
    rng.bit_generator.state = np.random.PCG64(torch.initial_seed()).state


def worker_by_a_sequence(worker_id: int) -> None:
    """Base seed and number in a SeedSequence; the global generators get seeds of their own, too."""
    info = torch.utils.data.get_worker_info()
    sequence = np.random.SeedSequence(info.seed - info.id, spawn_key=(worker_id,))
    info.dataset.rng = np.random.default_rng(sequence)
    random.seed(info.seed)
    np.random.seed(info.seed % 2**32)
    torch.manual_seed(info.seed)


def worker_by_32_bits(worker_id: int) -> None:
    """The documentation's recipe, with the dataset's generator."""
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed)
    torch.utils.data.get_worker_info().dataset.rng = np.random.Generator(np.random.PCG64(seed))


def worker_by_a_global_draw(worker_id: int) -> None:
    """torch has seeded NumPy's global generator by worker and epoch: draw the seed from it."""
    torch.utils.data.get_worker_info().dataset.rng = np.random.default_rng(np.random.randint(2**31))


def worker_with_its_own_too(worker_id: int) -> None:
    """Mixes the dataset's own seed in, so that two datasets differ."""
    info = torch.utils.data.get_worker_info()
    info.dataset.rng = np.random.default_rng([info.seed, int(info.dataset.rng.integers(2**63))])


WORDS = 624  # of the Mersenne Twister's state


def _with_words(words: np.ndarray) -> torch.Generator:
    """A generator with these words of state: 8 bytes each, behind seed, left, seeded and next (24 bytes)."""
    generator = torch.Generator().manual_seed(0)
    state = generator.get_state()
    state[24 : 24 + 8 * WORDS] = torch.from_numpy(words.astype(np.uint64).view(np.uint8))
    generator.set_state(state)
    return generator


def sample_by_a_sequence(seed: int, epoch: int, index: int) -> torch.Generator:
    """SeedSequence of the key fills the state."""
    return _with_words(np.random.SeedSequence((seed, epoch, index)).generate_state(WORDS))


def sample_by_fixed_width(seed: int, epoch: int, index: int) -> torch.Generator:
    """The same with two words for each number, so that no two keys give one list of words."""
    halves = [half for number in (seed, epoch, index) for half in divmod(number, 2**32)]
    return _with_words(np.random.SeedSequence(halves).generate_state(WORDS))


def sample_by_a_digest(seed: int, epoch: int, index: int) -> torch.Generator:
    """A long digest of the key's text fills the state; no initial_seed of its own."""
    digest = hashlib.shake_256(f"{seed},{epoch},{index}".encode()).digest(4 * WORDS)
    words = np.frombuffer(digest, dtype=np.uint32)
    generator = torch.Generator()
    raw = bytearray(generator.get_state().numpy().tobytes())
    raw[24 : 24 + 8 * WORDS] = words.astype(np.uint64).tobytes()
    generator.set_state(torch.frombuffer(raw, dtype=torch.uint8))
    return generator


def sample_by_numpys_twister(seed: int, epoch: int, index: int) -> torch.Generator:
    """NumPy's own Mersenne Twister seeds itself from the sequence; torch takes its words."""
    twister = np.random.MT19937(np.random.SeedSequence(entropy=seed, spawn_key=(epoch, index)))
    return _with_words(twister.state["state"]["key"])


def sample_by_a_bounded_mix(seed: int, epoch: int, index: int) -> torch.Generator:
    """A bijection of 32 bits: 4096 epochs of a million samples, and no more."""
    if not (0 <= epoch < 2**12 and 0 <= index < 2**20 and 0 <= seed < 2**32):
        raise ValueError(f"no place for epoch {epoch}, index {index}, seed {seed}")
    key = (epoch << 20) | index
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B), (16, 1)):
        key = ((key ^ (key >> shift)) * factor) % 2**32
    folded = int(np.random.SeedSequence(seed).generate_state(1)[0])
    return torch.Generator(device="cpu").manual_seed(key ^ folded)


def sample_packed(seed: int, epoch: int, index: int) -> torch.Generator:
    """Three numbers side by side in 32 bits; what does not fit is refused."""
    if not (0 <= seed < 2**8 and 0 <= epoch < 2**8 and 0 <= index < 2**16):
        raise ValueError("seed and epoch are below 256, index is below 65,536")
    return torch.Generator().manual_seed(seed << 24 | epoch << 16 | index)


RIGHT: dict[str, list[Any]] = {
    "01.seed_everything": [seed_by_libraries, seed_after_a_test, seed_from_a_sequence, seed_by_a_loop],
    "01.preserve_rng": [
        preserve_by_a_generator,
        PreserveByAClass,
        preserve_with_torchs_own,
        preserve_with_callbacks,
    ],
    "01.seed_worker": [
        worker_by_its_seed,
        worker_in_place,
        worker_by_a_sequence,
        worker_by_32_bits,
        worker_by_a_global_draw,
        worker_with_its_own_too,
    ],
    "01.sample_generator": [
        sample_by_a_sequence,
        sample_by_fixed_width,
        sample_by_a_digest,
        sample_by_numpys_twister,
        sample_by_a_bounded_mix,
        sample_packed,
    ],
}
