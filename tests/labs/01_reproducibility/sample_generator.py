"""Right answers to 01.sample_generator, in different shapes."""

from __future__ import annotations

import hashlib

import numpy as np
import torch

WORDS = 624  # of the Mersenne Twister's state


def _with_words(words: np.ndarray) -> torch.Generator:
    """A generator with these words of state: 8 bytes each, behind seed, left, seeded and next (24 bytes)."""
    generator = torch.Generator().manual_seed(0)
    state = generator.get_state()
    state[24 : 24 + 8 * WORDS] = torch.from_numpy(words.astype(np.uint64).view(np.uint8))
    generator.set_state(state)
    return generator


def sample_by_a_sequence(seed: int, epoch: int, index: int) -> torch.Generator:
    """SeedSequence of the key fills the state; larger numbers would be joined, so they are refused."""
    if max(seed, epoch, index) >= 2**32:
        raise ValueError("seed, epoch and index are below 2**32")
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
    if (epoch | index) >> 32:
        raise ValueError("epoch and index are one word each")
    twister = np.random.MT19937(np.random.SeedSequence(entropy=seed, spawn_key=(epoch, index)))
    return _with_words(twister.state["state"]["key"])


def sample_by_a_bounded_mix(seed: int, epoch: int, index: int) -> torch.Generator:
    """A bijection of 32 bits: as many streams as keys, 256 seeds, 128 epochs of 131,072 samples."""
    if not (0 <= seed < 2**8 and 0 <= epoch < 2**7 and 0 <= index < 2**17):
        raise ValueError(f"no place for epoch {epoch}, index {index}, seed {seed}")
    key = (seed << 24) | (epoch << 17) | index
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B), (16, 1)):
        key = ((key ^ (key >> shift)) * factor) % 2**32
    return torch.Generator(device="cpu").manual_seed(key)


def sample_packed(seed: int, epoch: int, index: int) -> torch.Generator:
    """Three numbers side by side in 32 bits; what does not fit is refused."""
    if not (0 <= seed < 2**8 and 0 <= epoch < 2**8 and 0 <= index < 2**16):
        raise ValueError("seed and epoch are below 256, index is below 65,536")
    return torch.Generator().manual_seed(seed << 24 | epoch << 16 | index)


class Samples:
    """A callable object that keeps states, and gives a new generator with a copy each time."""

    def __init__(self) -> None:
        self.states: dict[tuple[int, ...], torch.Tensor] = {}

    def __call__(self, seed: int, epoch: int, index: int) -> torch.Generator:
        key = seed, epoch, index
        if key not in self.states:
            text = ":".join(map(str, key)).encode()
            words = np.frombuffer(hashlib.blake2b(text).digest(), dtype=np.uint32)
            self.states[key] = _with_words(np.random.SeedSequence(words).generate_state(WORDS)).get_state()
        generator = torch.Generator("cpu")
        generator.set_state(self.states[key].clone())
        return generator


def sample_by_the_global_one(seed: int, epoch: int, index: int) -> torch.Generator:
    """NumPy's global generator does the mixing, and is put back."""
    kept = np.random.get_state()
    try:
        np.random.seed([half for number in (seed, epoch, index) for half in divmod(number, 2**32)])
        return _with_words(np.random.get_state()[1])
    finally:
        np.random.set_state(kept)


def sample_by_one_large_number(seed: int, epoch: int, index: int) -> torch.Generator:
    """64 bits for each number, side by side in one Python int."""
    if max(seed, epoch, index).bit_length() > 64:
        raise ValueError("64 bits for each")
    return _with_words(np.random.SeedSequence((((seed << 64) | epoch) << 64) | index).generate_state(WORDS))


RIGHT = [
    sample_by_a_sequence,
    sample_by_fixed_width,
    sample_by_a_digest,
    sample_by_numpys_twister,
    sample_by_a_bounded_mix,
    sample_packed,
    Samples(),
    sample_by_the_global_one,
    sample_by_one_large_number,
]
