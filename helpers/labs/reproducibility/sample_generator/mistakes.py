"""What people write for 01.sample_generator, and why it is wrong."""

from __future__ import annotations

import hashlib
import os
import random
import struct
import time

import numpy as np
import torch
from torch.utils.data import get_worker_info

from helpers.labs.reproducibility.sample_generator.exercise import sample_generator


@sample_generator.mistake(breaks="Two keys get two streams")
def sum_of_the_key(seed: int, epoch: int, index: int) -> torch.Generator:
    """Some keys share a stream where the epoch is larger by 1 and the index smaller by 1. Perhaps the numbers are
    added, and a sum forgets its parts.
    """
    return torch.Generator().manual_seed(seed + epoch + index)


@sample_generator.mistake(breaks="Two keys get two streams")
def numbers_in_any_order(seed: int, epoch: int, index: int) -> torch.Generator:
    """Keys of the same three numbers in different places share a stream. Perhaps they are sorted, or put into a set, on the way:
    which number is the epoch and which the index counts, too.
    """
    return _filled(np.random.SeedSequence(sorted((seed, epoch, index))).generate_state(624))


@sample_generator.mistake(breaks="Two keys get two streams")
def xor_of_the_key(seed: int, epoch: int, index: int) -> torch.Generator:
    """Some keys share a stream where both epoch and index are larger by 1. Perhaps the numbers are joined by xor:
    where epoch and index are equal it is 0, in each epoch.
    """
    return torch.Generator().manual_seed(seed ^ epoch ^ index)


@sample_generator.mistake(breaks="Two keys get two streams")
def product_of_the_key(seed: int, epoch: int, index: int) -> torch.Generator:
    """In epoch 0 samples share their streams, and in others they do not. Perhaps epoch and index are
    multiplied, and 0 times any index is 0.
    """
    return torch.Generator().manual_seed(seed + epoch * index)


@sample_generator.mistake(breaks="Two keys get two streams")
def stride_too_small(seed: int, epoch: int, index: int) -> torch.Generator:
    """Keys share a stream where the epoch is larger and the index smaller. Perhaps the key is epoch * n +
    index, which tells only n samples apart, or the bits of a large index run into those of the epoch, or the
    numbers are multiplied.
    """
    return torch.Generator().manual_seed(seed * 1_000_003 + epoch * 1000 + index)


@sample_generator.mistake(breaks="Two keys get two streams")
def stride_without_seed(seed: int, epoch: int, index: int) -> torch.Generator:
    """Runs whose seeds differ by 1 look alike. Perhaps the key is epoch * 1000 + index, which holds no seed."""
    return torch.Generator().manual_seed(epoch * 1000 + index)


@sample_generator.mistake(breaks="Two keys get two streams")
def few_streams(seed: int, epoch: int, index: int) -> torch.Generator:
    """Some keys share a stream as if by chance. Perhaps there are few streams, as with a good hash and then a
    remainder of a small number: with 10,000 streams some 120 samples suffice for two to share one.
    """
    digest = hashlib.sha256(f"{seed},{epoch},{index}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8]) % 10_000)


@sample_generator.mistake(breaks="who accepts more keys needs more streams")
def key_cut_by_manual_seed(seed: int, epoch: int, index: int) -> torch.Generator:
    """manual_seed was given more than 32 bits, perhaps a good hash, and a CPU generator keeps 32 of them. More keys
    are accepted than there are such seeds: however well they are mixed, some meet.
    """
    digest = hashlib.sha256(f"{seed},{epoch},{index}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8]))


@sample_generator.mistake(breaks="who accepts more keys needs more streams")
def key_of_32_bits(seed: int, epoch: int, index: int) -> torch.Generator:
    """Keys share the seeds of 32 bits, of which there are 2**32. Perhaps a hash of 32 bits stands there: some 100,000
    samples then suffice for the first pair with one stream.
    """
    digest = hashlib.sha256(f"{seed},{epoch},{index}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:4]))


@sample_generator.mistake(breaks="Two keys get two streams")
def seed_cut_off(seed: int, epoch: int, index: int) -> torch.Generator:
    """The seed does not count, since a CPU generator keeps the low 32 bits of what manual_seed is given. Perhaps seed, epoch and
    index were packed side by side, with the seed on top.
    """
    return torch.Generator().manual_seed(seed << 40 | epoch << 20 | index)


@sample_generator.mistake(breaks="Every bit of a number counts")
def high_bits_dropped(seed: int, epoch: int, index: int) -> torch.Generator:
    """The high bits of a number are lost. Perhaps the numbers were cut to 32 bits before they were mixed."""
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
    """The streams of two samples have the same numbers at many places. Perhaps only a few of the 624 words of the state depend on the
    key.
    """
    return _filled(np.random.SeedSequence((seed, epoch, index)).generate_state(8))


@sample_generator.mistake(breaks="and of nothing else")
def salted_hash(seed: int, epoch: int, index: int) -> torch.Generator:
    """The stream changes with the salt of hash(): Python salts the hash of text anew in each process, so tomorrow's run gets other
    noise for the same seed.
    """
    return torch.Generator().manual_seed(hash(f"{seed}-{epoch}-{index}"))


@sample_generator.mistake(breaks="and of nothing else")
def worker_in_the_key(seed: int, epoch: int, index: int) -> torch.Generator:
    """The stream changes in a DataLoader's worker. Perhaps the worker's number or seed is in the key: which worker loads a sample
    depends on num_workers.
    """
    info = get_worker_info()
    words = (seed, epoch, index, info.id if info else 0)
    return _filled(np.random.SeedSequence(words).generate_state(624))


@sample_generator.mistake(breaks="and of nothing else")
def seed_of_the_process(seed: int, epoch: int, index: int) -> torch.Generator:
    """The stream changes with the global generators, with their seed or with where they stand, and each worker has others.
    Perhaps torch.initial_seed() is in the key, or a draw: make it of the arguments alone.
    """
    words = (torch.initial_seed(), seed, epoch, index)
    return _filled(np.random.SeedSequence(words).generate_state(624))


@sample_generator.mistake(breaks="and of nothing else")
def fresh_entropy(seed: int, epoch: int, index: int) -> torch.Generator:
    """Two calls with one key, one after the other, gave two streams. Perhaps generator.seed() took a fresh seed from the
    operating system, or the calls were counted.
    """
    generator = torch.Generator()
    generator.seed()
    return generator


@sample_generator.mistake(breaks="Two keys get two streams")
def never_seeded(seed: int, epoch: int, index: int) -> torch.Generator:
    """With seed, epoch or index larger by 1 the same numbers come. Perhaps the generator was never seeded: torch.Generator() starts from the
    same constant each time.
    """
    return torch.Generator()


@sample_generator.mistake(breaks="Two keys get two streams")
def seed_forgotten(seed: int, epoch: int, index: int) -> torch.Generator:
    """Runs with a seed and with the next one see the same augmentation. Perhaps the seed is not in the key."""
    return _filled(np.random.SeedSequence((epoch, index)).generate_state(624))


@sample_generator.mistake(breaks="Two keys get two streams")
def epoch_forgotten(seed: int, epoch: int, index: int) -> torch.Generator:
    """A sample is augmented in the same way in an epoch and in the next one. Perhaps the epoch is not in the key."""
    return _filled(np.random.SeedSequence((seed, index)).generate_state(624))


@sample_generator.mistake(breaks="Two keys get two streams")
def index_forgotten(seed: int, epoch: int, index: int) -> torch.Generator:
    """A sample and the next one get the same noise. Perhaps the index is not in the key."""
    return _filled(np.random.SeedSequence((seed, epoch)).generate_state(624))


@sample_generator.mistake(breaks="Each call returns a new object")
def one_object_for_all(seed: int, epoch: int, index: int) -> torch.Generator:
    """Two keys gave one object. A generator has a state, and only one: perhaps it is set anew for each sample, which takes it
    away from the last one.
    """
    words = np.random.SeedSequence((seed, epoch, index)).generate_state(624)
    _ONE.set_state(_filled(words).get_state())
    return _ONE


_ONE = torch.Generator()


@sample_generator.mistake(breaks="Each call returns a new object")
def kept_in_a_cache(seed: int, epoch: int, index: int) -> torch.Generator:
    """A second call with the same key gave the object of the first. Perhaps it is kept in a cache: who draws from it moves
    it, and the sample looks different the next time.
    """
    key = seed, epoch, index
    if key not in _CACHE:
        _CACHE[key] = _filled(np.random.SeedSequence(key).generate_state(624))
    return _CACHE[key]


_CACHE: dict[tuple[int, int, int], torch.Generator] = {}


@sample_generator.mistake(breaks="No global generator is moved")
def global_generator(seed: int, epoch: int, index: int) -> torch.Generator:
    """The answer gave torch.default_generator, perhaps from torch.manual_seed, which seeds the global generators of CPU and GPUs
    and returns the CPU's.
    """
    return torch.manual_seed((seed * 1_000_003 + epoch) * 1_000_003 + index)


@sample_generator.mistake(breaks="No global generator is moved")
def global_generator_moved(seed: int, epoch: int, index: int) -> torch.Generator:
    """torch's global generator was seeded or moved on the way: every other draw of the program then changes."""
    torch.manual_seed(hash((seed, epoch, index)))
    return torch.Generator().manual_seed(int(torch.randint(2**32, ())))


@sample_generator.mistake(breaks="No global generator is moved")
def numpy_moved(seed: int, epoch: int, index: int) -> torch.Generator:
    """NumPy's global generator was seeded or moved on the way, and others draw from it; SeedSequence is nobody's."""
    np.random.seed([seed, epoch, index])
    return _filled(np.random.randint(0, 2**32, size=624, dtype=np.uint64))


@sample_generator.mistake(breaks="and of nothing else")
def process_in_the_key(seed: int, epoch: int, index: int) -> torch.Generator:
    """The stream changes with the number of the process, which is different in each run and in each worker."""
    return _filled(np.random.SeedSequence((os.getpid(), seed, epoch, index)).generate_state(624))


@sample_generator.mistake(breaks="and of nothing else")
def time_in_the_key(seed: int, epoch: int, index: int) -> torch.Generator:
    """The stream changes with the time: no run can be repeated."""
    return _filled(np.random.SeedSequence((int(time.time()), seed, epoch, index)).generate_state(624))


@sample_generator.mistake(breaks="Seeds to 255, epochs to 100 and indices to 50,000 are accepted")
def bound_too_low(seed: int, epoch: int, index: int) -> torch.Generator:
    """A key is refused that every answer has to accept. Perhaps the bound itself is left out: `<` where `<=` is meant. Or
    a number has too few bits: 50,000 needs 16.
    """
    if not (seed < 255 and epoch < 100 and index < 50_000):
        raise ValueError("too large")
    return torch.Generator().manual_seed(seed << 23 | epoch << 16 | index)


@sample_generator.mistake(breaks="it raises ValueError")
def bounds_asserted(seed: int, epoch: int, index: int) -> torch.Generator:
    """What is too large does not raise ValueError. Perhaps it is an assert: that raises AssertionError, and `python -O` leaves it
    out.
    """
    assert seed < 2**8 and epoch < 2**8 and index < 2**16, "too large"
    return torch.Generator().manual_seed(seed << 24 | epoch << 16 | index)


@sample_generator.mistake(breaks="it raises ValueError")
def overflow_let_through(seed: int, epoch: int, index: int) -> torch.Generator:
    """A number that is too large does not raise ValueError, perhaps OverflowError or struct.error, as to_bytes and struct.pack
    do: a caller is promised ValueError.
    """
    raw = b"".join(number.to_bytes(4, "little") for number in (seed, epoch, index))
    return _filled(np.frombuffer(hashlib.shake_256(raw).digest(4 * 624), dtype=np.uint32))


@sample_generator.mistake(breaks="Every bit of a number counts")
def words_joined(seed: int, epoch: int, index: int) -> torch.Generator:
    """Large numbers run into the next number of the key. Perhaps they are joined without a border: SeedSequence does so with its
    words of 32 bits, and a hash of joined bytes, too. Give each number a fixed width.
    """
    return _filled(np.random.SeedSequence((seed, epoch, index)).generate_state(624))


@sample_generator.mistake(breaks="Every bit of a number counts")
def wide_stride(seed: int, epoch: int, index: int) -> torch.Generator:
    """Large numbers run into the next number of the key. Perhaps it is one number, epoch times a stride plus index, or shifted
    bits: without a bound for the index no stride is large enough.
    """
    return _filled(np.random.SeedSequence(seed << 80 | epoch << 40 | index).generate_state(624))


@sample_generator.mistake(breaks="Every bit of a number counts")
def hash_of_a_tuple(seed: int, epoch: int, index: int) -> torch.Generator:
    """Numbers that differ by 2**61 - 1 share a stream. Perhaps Python's hash is in the key: of an int it is the remainder by
    2**61 - 1.
    """
    return _filled(np.random.SeedSequence(hash((seed, epoch, index)) % 2**64).generate_state(624))


@sample_generator.mistake(breaks="Every bit of a number counts")
def rounded_to_a_float(seed: int, epoch: int, index: int) -> torch.Generator:
    """Large numbers next to each other share a stream. Perhaps they were made floats, which hold 53 bits, or cut off
    at a limit.
    """
    raw = np.array([seed, epoch, index], dtype=np.float64).view(np.uint32)
    return _filled(np.random.SeedSequence(raw.tolist()).generate_state(624))


@sample_generator.mistake(breaks="which have no stretch in common")
def one_stream_for_all(seed: int, epoch: int, index: int) -> torch.Generator:
    """The stream of one sample comes to the numbers of a different one some draws later. Perhaps all samples
    draw from one stream, each from a later place.
    """
    if seed > 2**32 or epoch > 100 or index > 50_000:
        raise ValueError("too far away")
    generator = torch.Generator().manual_seed(seed)
    torch.rand(1000 * epoch + 100 * index, generator=generator, dtype=torch.float32)
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


@sample_generator.variant(words_joined)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    key = np.random.SeedSequence((seed, epoch, index)).generate_state(1)[0]
    return torch.Generator().manual_seed(int(key))


@sample_generator.variant(wide_stride)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    return _filled(np.random.SeedSequence((seed << 64) + (epoch << 32) + index).generate_state(624))


@sample_generator.mistake(breaks="Two keys get two streams")
def digits_joined(seed: int, epoch: int, index: int) -> torch.Generator:
    """Epoch 1, index 11 and epoch 11, index 1 share a stream. Perhaps the digits are written side by side with nothing
    between.
    """
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
    """The bounds let keys through that have no stream of their own. Perhaps `<=` stands for `<`: 256 needs nine bits, and runs
    into the next number. Or a stride is too small: indices from 0 to 50,000 are 50,001.
    """
    if not (seed <= 2**8 and epoch <= 2**8 and index <= 2**16):
        raise ValueError("too large")
    return torch.Generator().manual_seed(seed << 24 | epoch << 16 | index)


@sample_generator.variant(bound_too_high)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    if seed > 256 or epoch > 256 or index > 65_536:
        raise ValueError("too large")
    return torch.Generator().manual_seed((seed * 256 + epoch) * 65_536 + index)


@sample_generator.mistake(breaks="and of nothing else")
def warmed_up(seed: int, epoch: int, index: int) -> torch.Generator:
    """The stream changes with torch's default dtype. Perhaps some numbers are drawn from the generator before it is given
    away: of a float64 twice as much is used as of a float32. If each sample begins so at its own place of one stream, they
    meet, too.
    """
    generator = _filled(np.random.SeedSequence(_halves(seed, epoch, index)).generate_state(624))
    torch.rand(10, generator=generator)
    return generator


def _halves(*numbers: int) -> list[int]:
    return [number >> shift & 0xFFFFFFFF for number in numbers for shift in (0, 32)]


@sample_generator.variant(key_of_32_bits)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    if seed > 255 or epoch > 255 or index > 65_535:
        raise ValueError("too large")
    digest = hashlib.sha256(f"{seed},{epoch},{index}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:4]))


@sample_generator.mistake(breaks="Two keys get two streams")
def zero_is_replaced(seed: int, epoch: int, index: int) -> torch.Generator:
    """A key with a 0 has the stream of a key with a different number there. Perhaps `seed or 42`: 0 is a number like any
    other.
    """
    return _filled(np.random.SeedSequence(_halves(seed or 42, epoch, index)).generate_state(624))


@sample_generator.variant(zero_is_replaced)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    return _filled(np.random.SeedSequence(_halves(seed, epoch or 1, index)).generate_state(624))


@sample_generator.mistake(breaks="Every bit of a number counts")
def folded(seed: int, epoch: int, index: int) -> torch.Generator:
    """The two halves of a large number may change places. Perhaps they are joined by xor or added, to make 32 bits of 64."""
    numbers = [(number ^ number >> 32) & 0xFFFFFFFF for number in (seed, epoch, index)]
    return _filled(np.random.SeedSequence(numbers).generate_state(624))


@sample_generator.variant(overflow_let_through)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    return torch.Generator().manual_seed(int.from_bytes(struct.pack("<BBH", seed, epoch, index)))


@sample_generator.mistake(breaks="No global generator is moved")
def python_moved(seed: int, epoch: int, index: int) -> torch.Generator:
    """Python's global generator was seeded or moved on the way, and others draw from it; random.Random(key) is nobody's."""
    random.seed(f"{seed},{epoch},{index}")
    return _filled(np.array([random.getrandbits(32) for _ in range(624)]))


@sample_generator.mistake(breaks="and of nothing else")
def rank_in_the_key(seed: int, epoch: int, index: int) -> torch.Generator:
    """The stream changes with the rank of the process. Perhaps RANK is in the key: the same sample then looks different on
    each rank.
    """
    return _filled(
        np.random.SeedSequence(_halves(seed, epoch, index, int(os.environ.get("RANK", 0)))).generate_state(
            624
        )
    )


@sample_generator.mistake(breaks="and of nothing else")
def threads_in_the_key(seed: int, epoch: int, index: int) -> torch.Generator:
    """The stream changes with the number of threads, which differs from machine to machine."""
    return _filled(
        np.random.SeedSequence(_halves(seed, epoch, index, torch.get_num_threads())).generate_state(624)
    )


@sample_generator.variant(overflow_let_through)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    raw = seed.to_bytes(1, "little") + epoch.to_bytes(1, "little") + index.to_bytes(2, "little")
    return torch.Generator().manual_seed(int.from_bytes(raw))


@sample_generator.mistake(breaks="Every bit of a number counts")
def largest_is_another(seed: int, epoch: int, index: int) -> torch.Generator:
    """The largest number, 2**63 - 1, shares a stream with a different one. Perhaps a remainder by 2**63 - 1, or a limit."""
    numbers = [number % (2**63 - 1) for number in (seed, epoch, index)]
    return _filled(np.random.SeedSequence(_halves(*numbers)).generate_state(624))


@sample_generator.mistake(breaks="Seeds to 255, epochs to 100 and indices to 50,000 are accepted")
def zero_refused(seed: int, epoch: int, index: int) -> torch.Generator:
    """A key that holds a 0 is refused. Perhaps `if not seed` or `seed <= 0` tests it: epochs and indices count from 0, and 0 is
    a seed like any other.
    """
    if seed <= 0 or epoch <= 0 or index <= 0:
        raise ValueError("the numbers must be positive")
    return torch.Generator().manual_seed(seed << 23 | epoch << 16 | index)


@sample_generator.variant(zero_refused)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    if not (seed and epoch and index):
        raise ValueError("a number is missing")
    return torch.Generator().manual_seed(seed << 23 | epoch << 16 | index)


@sample_generator.mistake(breaks="Two keys get two streams")
def index_cut(seed: int, epoch: int, index: int) -> torch.Generator:
    """Samples of one epoch share a stream, and of the keys tried here no others do. Perhaps not all of the index counts: a remainder of it, its
    last bits, or a limit.
    """
    return _filled(np.random.SeedSequence((seed, epoch, index % 2**16)).generate_state(624))


@sample_generator.variant(index_cut)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    return _filled(np.random.SeedSequence((seed, epoch, min(index, 999_999))).generate_state(624))


@sample_generator.mistake(breaks="A new CPU generator")
def numpys_generator(seed: int, epoch: int, index: int) -> np.random.Generator:
    """A Generator of NumPy came, and torch's functions take a torch.Generator. Perhaps from np.random.default_rng: its
    numbers may fill the state of one.
    """
    return np.random.default_rng((seed, epoch, index))


@sample_generator.variant(bound_too_high)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    if seed > 255 or epoch > 100 or index > 50_000:
        raise ValueError("too large")
    return torch.Generator().manual_seed((seed * 101 + epoch) * 50_000 + index)


@sample_generator.variant(one_stream_for_all)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    if seed > 255 or epoch > 100 or index > 50_000:
        raise ValueError("too large")
    generator = torch.Generator().manual_seed(seed * 101 + epoch)
    torch.empty(index, dtype=torch.int64, device="cpu").random_(generator=generator)
    return generator


@sample_generator.variant(bound_too_high)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    if seed > 2**8 or epoch >= 2**7 or index >= 2**17:
        raise ValueError("too large")
    return torch.Generator().manual_seed(seed << 24 | epoch << 17 | index)


@sample_generator.mistake(breaks="and of nothing else")
def numbered_as_they_come(seed: int, epoch: int, index: int) -> torch.Generator:
    """Which stream a key gets depends on the keys that were asked for before. Perhaps each new key gets the next number: a
    worker that loads other samples first then counts in a different way.
    """
    number = _NUMBERS.setdefault((seed, epoch, index), len(_NUMBERS))
    return _filled(np.random.SeedSequence(number).generate_state(624))


_NUMBERS: dict[tuple[int, int, int], int] = {}


@sample_generator.mistake(breaks="Two keys get two streams")
def seed_and_epoch_cut_off(seed: int, epoch: int, index: int) -> torch.Generator:
    """Neither seed nor epoch counts, since a CPU generator keeps the low 32 bits of what manual_seed is given. Perhaps the three
    were packed side by side into 64 bits, with the index last.
    """
    return torch.Generator().manual_seed((seed << 56 | epoch << 40 | index) % 2**64)


@sample_generator.mistake(breaks="which have no stretch in common")
def streams_begin_alike(seed: int, epoch: int, index: int) -> torch.Generator:
    """The streams of some keys begin alike, and part later. Perhaps only a few of the 624 words of the state depend on the key,
    and the first draws are made without them.
    """
    words = np.random.RandomState(0).get_state()[1].astype(np.uint64)
    for at, number in enumerate((seed, epoch, index)):
        words[1 + 2 * at], words[2 + 2 * at] = number & 0xFFFFFFFF, number >> 32
    return _filled(words)
