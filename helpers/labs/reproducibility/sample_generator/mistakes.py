"""What people write for 01.sample_generator, and why it is wrong."""

from __future__ import annotations

import hashlib
import os
import struct
import time

import numpy as np
import torch
from torch.utils.data import get_worker_info

from helpers.labs.reproducibility.sample_generator.exercise import sample_generator


@sample_generator.mistake(breaks="Two keys get two streams")
def sum_of_the_key(seed: int, epoch: int, index: int) -> torch.Generator:
    """1 + 2 is 2 + 1: sample 2 of epoch 1 gets the noise of sample 1 of epoch 2. A sum forgets its parts."""
    return torch.Generator().manual_seed(seed + epoch + index)


@sample_generator.mistake(breaks="Two keys get two streams")
def xor_of_the_key(seed: int, epoch: int, index: int) -> torch.Generator:
    """Where epoch and index are equal their xor is 0, in each epoch; and it is symmetric like a sum."""
    return torch.Generator().manual_seed(seed ^ epoch ^ index)


@sample_generator.mistake(breaks="Two keys get two streams")
def product_of_the_key(seed: int, epoch: int, index: int) -> torch.Generator:
    """0 times any index is 0: in epoch 0 all samples share one stream, and so does sample 0 of all epochs."""
    return torch.Generator().manual_seed(seed + epoch * index)


@sample_generator.mistake(breaks="Two keys get two streams")
def stride_too_small(seed: int, epoch: int, index: int) -> torch.Generator:
    """epoch * n + index tells only n samples apart: with more of them, the keys of the next epoch begin."""
    return torch.Generator().manual_seed(seed * 1_000_003 + epoch * 1000 + index)


@sample_generator.mistake(breaks="Two keys get two streams")
def stride_without_seed(seed: int, epoch: int, index: int) -> torch.Generator:
    """epoch * 1000 + index holds no seed, so all runs look alike, and sample 1000 meets sample 0 of the next
    epoch.
    """
    return torch.Generator().manual_seed(epoch * 1000 + index)


@sample_generator.mistake(breaks="Two keys get two streams")
def few_streams(seed: int, epoch: int, index: int) -> torch.Generator:
    """Some keys share a stream as if by chance, so there are few streams. Perhaps a good hash and then a remainder of a
    small number: with 10,000 streams some 120 samples suffice for two to share one.
    """
    digest = hashlib.sha256(f"{seed},{epoch},{index}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8]) % 10_000)


@sample_generator.mistake(breaks="who accepts more keys needs more streams")
def key_cut_by_manual_seed(seed: int, epoch: int, index: int) -> torch.Generator:
    """manual_seed was given more than 32 bits, perhaps a good hash, and a CPU generator keeps 32 of them. However well
    they are mixed, some of many samples meet.
    """
    digest = hashlib.sha256(f"{seed},{epoch},{index}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8]))


@sample_generator.mistake(breaks="who accepts more keys needs more streams")
def key_of_32_bits(seed: int, epoch: int, index: int) -> torch.Generator:
    """A hash of 32 bits gives random keys, and random keys meet: some 100,000 samples suffice for the first
    pair.
    """
    key = np.random.SeedSequence((seed, epoch, index)).generate_state(1)[0]
    return torch.Generator().manual_seed(int(key))


@sample_generator.mistake(breaks="Two keys get two streams")
def seed_cut_off(seed: int, epoch: int, index: int) -> torch.Generator:
    """seed, epoch and index were packed side by side into 64 bits, and manual_seed on a CPU generator cut the
    upper 32 off: the part with the seed.
    """
    return torch.Generator().manual_seed(seed << 40 | epoch << 20 | index)


@sample_generator.mistake(breaks="Every bit of a number counts")
def high_bits_dropped(seed: int, epoch: int, index: int) -> torch.Generator:
    """The numbers were cut to 32 bits before they were mixed, so that what stands above is lost."""
    numbers = [number & 0xFFFFFFFF for number in (seed, epoch, index)]
    return _filled(np.random.SeedSequence(numbers).generate_state(624))


def _filled(words: np.ndarray) -> torch.Generator:
    """A generator with these first words of its state."""
    generator = torch.Generator().manual_seed(0)
    state = generator.get_state()
    state[24 : 24 + 8 * len(words)] = torch.from_numpy(words.astype(np.uint64).view(np.uint8))
    generator.set_state(state)
    return generator


@sample_generator.mistake(breaks="which have no stretch in common")
def few_words_filled(seed: int, epoch: int, index: int) -> torch.Generator:
    """Only a few of the 624 words of the state depend on the key. The first numbers differ; those after are
    the same in every sample.
    """
    return _filled(np.random.SeedSequence((seed, epoch, index)).generate_state(8))


@sample_generator.mistake(breaks="and of nothing else")
def salted_hash(seed: int, epoch: int, index: int) -> torch.Generator:
    """Python salts the hash of text anew in each process: tomorrow's run gets other noise for the same seed."""
    return torch.Generator().manual_seed(hash(f"{seed}-{epoch}-{index}"))


@sample_generator.mistake(breaks="and of nothing else")
def worker_in_the_key(seed: int, epoch: int, index: int) -> torch.Generator:
    """Which worker loads a sample depends on num_workers; with it in the key, the noise does, too."""
    info = get_worker_info()
    words = (seed, epoch, index, info.id if info else 0)
    return _filled(np.random.SeedSequence(words).generate_state(624))


@sample_generator.mistake(breaks="and of nothing else")
def seed_of_the_process(seed: int, epoch: int, index: int) -> torch.Generator:
    """The stream depends on where the global generators stand, which is a different place in each worker and each epoch.
    Perhaps torch.initial_seed() is in the key, or a draw: make it of the arguments alone.
    """
    words = (torch.initial_seed(), seed, epoch, index)
    return _filled(np.random.SeedSequence(words).generate_state(624))


@sample_generator.mistake(breaks="and of nothing else")
def fresh_entropy(seed: int, epoch: int, index: int) -> torch.Generator:
    """Two calls with one key gave two streams: nothing repeats. Perhaps generator.seed() took a fresh seed from the
    operating system, or the calls were counted.
    """
    generator = torch.Generator()
    generator.seed()
    return generator


@sample_generator.mistake(breaks="Two keys get two streams")
def never_seeded(seed: int, epoch: int, index: int) -> torch.Generator:
    """torch.Generator() starts from the same constant each time, whatever the arguments."""
    return torch.Generator()


@sample_generator.mistake(breaks="Two keys get two streams")
def seed_forgotten(seed: int, epoch: int, index: int) -> torch.Generator:
    """Without the seed in the key, five runs with five seeds see the same augmentation."""
    return _filled(np.random.SeedSequence((epoch, index)).generate_state(624))


@sample_generator.mistake(breaks="Two keys get two streams")
def epoch_forgotten(seed: int, epoch: int, index: int) -> torch.Generator:
    """Without the epoch in the key, each sample is augmented once and for all, in the same way in each epoch."""
    return _filled(np.random.SeedSequence((seed, index)).generate_state(624))


@sample_generator.mistake(breaks="Two keys get two streams")
def index_forgotten(seed: int, epoch: int, index: int) -> torch.Generator:
    """Without the index in the key, all samples of an epoch get the same noise."""
    return _filled(np.random.SeedSequence((seed, epoch)).generate_state(624))


@sample_generator.mistake(breaks="Each call returns a new object")
def one_object_for_all(seed: int, epoch: int, index: int) -> torch.Generator:
    """A generator is an object with a state: seeding it for the next sample takes it away from the last one."""
    words = np.random.SeedSequence((seed, epoch, index)).generate_state(624)
    _ONE.set_state(_filled(words).get_state())
    return _ONE


_ONE = torch.Generator()


@sample_generator.mistake(breaks="Each call returns a new object")
def kept_in_a_cache(seed: int, epoch: int, index: int) -> torch.Generator:
    """A cache hands out the object of the first call, whose stream has moved on: the sample looks different
    again.
    """
    key = seed, epoch, index
    if key not in _CACHE:
        _CACHE[key] = _filled(np.random.SeedSequence(key).generate_state(624))
    return _CACHE[key]


_CACHE: dict[tuple[int, int, int], torch.Generator] = {}


@sample_generator.mistake(breaks="No global generator is moved")
def global_generator(seed: int, epoch: int, index: int) -> torch.Generator:
    """torch.manual_seed seeds the global generators of CPU and GPUs and returns the CPU's,
    torch.default_generator.
    """
    return torch.manual_seed((seed * 1_000_003 + epoch) * 1_000_003 + index)


@sample_generator.mistake(breaks="No global generator is moved")
def global_generator_moved(seed: int, epoch: int, index: int) -> torch.Generator:
    """The key was drawn from torch's global generator, seeded for it: every other draw of the program starts
    over.
    """
    torch.manual_seed(hash((seed, epoch, index)))
    return torch.Generator().manual_seed(int(torch.randint(2**32, ())))


@sample_generator.mistake(breaks="No global generator is moved")
def numpy_moved(seed: int, epoch: int, index: int) -> torch.Generator:
    """np.random.seed seeds NumPy's global generator, which others draw from; SeedSequence is nobody's."""
    np.random.seed([seed, epoch, index])
    return _filled(np.random.randint(0, 2**32, size=624, dtype=np.uint64))


@sample_generator.mistake(breaks="and of nothing else")
def process_in_the_key(seed: int, epoch: int, index: int) -> torch.Generator:
    """A process has a different number in each run, and each worker has one of its own."""
    return _filled(np.random.SeedSequence((os.getpid(), seed, epoch, index)).generate_state(624))


@sample_generator.mistake(breaks="and of nothing else")
def time_in_the_key(seed: int, epoch: int, index: int) -> torch.Generator:
    """With the time of day in the key no run can be repeated."""
    return _filled(np.random.SeedSequence((int(time.time()), seed, epoch, index)).generate_state(624))


@sample_generator.mistake(breaks="Seeds to 255, epochs to 100 and indices to 50,000 are accepted")
def bound_too_low(seed: int, epoch: int, index: int) -> torch.Generator:
    """A key is refused that every answer has to accept. Perhaps the bound itself is left out: `<` where `<=` is meant."""
    if not (seed < 255 and epoch < 100 and index < 50_000):
        raise ValueError("too large")
    return torch.Generator().manual_seed(seed << 23 | epoch << 16 | index)


@sample_generator.mistake(breaks="it raises ValueError")
def bounds_asserted(seed: int, epoch: int, index: int) -> torch.Generator:
    """What is too large raises AssertionError, and `python -O` leaves an assert out: raise ValueError."""
    assert seed < 2**8 and epoch < 2**8 and index < 2**16, "too large"
    return torch.Generator().manual_seed(seed << 24 | epoch << 16 | index)


@sample_generator.mistake(breaks="it raises ValueError")
def overflow_let_through(seed: int, epoch: int, index: int) -> torch.Generator:
    """A number that is too large raises OverflowError or struct.error, as to_bytes and struct.pack do: a caller is
    promised ValueError.
    """
    raw = b"".join(number.to_bytes(4, "little") for number in (seed, epoch, index))
    return _filled(np.frombuffer(hashlib.shake_256(raw).digest(4 * 624), dtype=np.uint32))


@sample_generator.mistake(breaks="Every bit of a number counts")
def words_joined(seed: int, epoch: int, index: int) -> torch.Generator:
    """The numbers are joined without a border: large ones run into the next. SeedSequence does so with its words of 32
    bits, and a hash of joined bytes or digits, too. Give each number a fixed width.
    """
    return _filled(np.random.SeedSequence((seed, epoch, index)).generate_state(624))


@sample_generator.mistake(breaks="Every bit of a number counts")
def wide_stride(seed: int, epoch: int, index: int) -> torch.Generator:
    """The key is one number, epoch times a stride plus index (or shifted bits): an index as large as the stride meets
    the next epoch. Without a bound for the index no stride is large enough.
    """
    return _filled(np.random.SeedSequence(seed << 80 | epoch << 40 | index).generate_state(624))


@sample_generator.mistake(breaks="Every bit of a number counts")
def hash_of_a_tuple(seed: int, epoch: int, index: int) -> torch.Generator:
    """Python's hash of an int is its remainder by 2**61 - 1, so that two numbers this far apart have one hash."""
    return _filled(np.random.SeedSequence(hash((seed, epoch, index)) % 2**64).generate_state(624))


@sample_generator.mistake(breaks="Every bit of a number counts")
def rounded_to_a_float(seed: int, epoch: int, index: int) -> torch.Generator:
    """Large numbers next to each other share a stream. Perhaps they were made floats, which hold 53 bits."""
    raw = np.array([seed, epoch, index], dtype=np.float64).view(np.uint32)
    return _filled(np.random.SeedSequence(raw.tolist()).generate_state(624))


@sample_generator.mistake(breaks="which have no stretch in common")
def one_stream_for_all(seed: int, epoch: int, index: int) -> torch.Generator:
    """All samples draw from one stream, each from a later place: whoever draws a little more comes to the numbers of
    the next sample.
    """
    if seed > 2**32 or epoch > 100 or index > 50_000:
        raise ValueError("too far away")
    generator = torch.Generator().manual_seed(seed)
    torch.rand(1000 * epoch + 100 * index, generator=generator)
    return generator


@sample_generator.variant(few_streams)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    digest = hashlib.sha256(f"{seed},{epoch},{index}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8]) % 10**6)


@sample_generator.variant(few_streams)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    digest = hashlib.sha256(f"{seed},{epoch},{index}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:2]))


@sample_generator.variant(key_of_32_bits)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    if max(seed, epoch, index) >= 2**31:
        raise ValueError("too large")
    digest = hashlib.sha256(f"{seed},{epoch},{index}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:4]))


@sample_generator.variant(words_joined)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    raw = b"".join(number.to_bytes(max(1, (number.bit_length() + 7) // 8)) for number in (seed, epoch, index))
    return _filled(np.frombuffer(hashlib.shake_256(raw).digest(4 * 624), dtype=np.uint32))


@sample_generator.variant(wide_stride)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    return _filled(np.random.SeedSequence((seed << 64) + (epoch << 32) + index).generate_state(624))


@sample_generator.mistake(breaks="Two keys get two streams")
def digits_joined(seed: int, epoch: int, index: int) -> torch.Generator:
    """The digits are written side by side with nothing between: epoch 1, index 11 and epoch 11, index 1 look alike."""
    digest = hashlib.shake_256(f"{seed}{epoch}{index}".encode()).digest(4 * 624)
    return _filled(np.frombuffer(digest, dtype=np.uint32))


@sample_generator.variant(digits_joined)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    return torch.Generator().manual_seed(int(f"{seed}{epoch}{index}") % 2**64)


@sample_generator.variant(digits_joined)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    return _filled(np.random.SeedSequence(int(f"{seed}{epoch}{index}")).generate_state(624))


@sample_generator.variant(stride_too_small)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    return _filled(np.random.SeedSequence([seed, epoch * 100_000 + index]).generate_state(624))


@sample_generator.variant(wide_stride)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    key = seed * 73_856_093 ^ epoch * 19_349_663 ^ index * 83_492_791
    return _filled(np.random.SeedSequence(key).generate_state(624))


@sample_generator.variant(seed_cut_off)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    return torch.Generator().manual_seed(((seed << 40) + (epoch << 20) + index) % 2**64)


@sample_generator.variant(overflow_let_through)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    raw = struct.pack("<III", seed, epoch, index)
    return _filled(np.frombuffer(hashlib.shake_256(raw).digest(4 * 624), dtype=np.uint32))


@sample_generator.mistake(breaks="A number that is too large for your way may be refused")
def bound_too_high(seed: int, epoch: int, index: int) -> torch.Generator:
    """The bounds let a number through that has no place. Perhaps `<=` stands for `<`: 256 needs nine bits, and runs into
    the next number.
    """
    if not (seed <= 2**8 and epoch <= 2**8 and index <= 2**16):
        raise ValueError("too large")
    return torch.Generator().manual_seed(seed << 24 | epoch << 16 | index)


@sample_generator.variant(bound_too_high)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    if seed > 256 or epoch > 256 or index > 65_536:
        raise ValueError("too large")
    return torch.Generator().manual_seed((seed * 256 + epoch) * 65_536 + index)
