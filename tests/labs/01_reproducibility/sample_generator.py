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


RIGHT = [
    sample_by_a_sequence,
    sample_by_fixed_width,
    sample_by_a_digest,
    sample_by_numpys_twister,
    sample_by_a_bounded_mix,
    sample_packed,
]
