"""What people write for 01.sample_generator."""

from __future__ import annotations

import hashlib

import numpy as np
import torch
from torch.utils.data import get_worker_info

from helpers.labs.reproducibility.sample_generator import sample_generator


@sample_generator.wrong_answer(
    "sum_of_the_key",
    why="1 + 2 is 2 + 1: sample 2 of epoch 1 gets the noise of sample 1 of epoch 2. A sum forgets its parts.",
    seen="A sum forgets its parts",
)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed + epoch + index)


@sample_generator.wrong_answer(
    "xor_of_the_key",
    why="Where epoch and index are equal their xor is 0, in each epoch; and it is symmetric like a sum.",
    seen="their xor is 0",
)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed ^ epoch ^ index)


@sample_generator.wrong_answer(
    "product_of_the_key",
    why="0 times any index is 0: in epoch 0 all samples share one stream, and so does sample 0 of all epochs.",
    seen="0 times any index is 0",
)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed + epoch * index)


@sample_generator.wrong_answer(
    "stride_too_small",
    why="epoch * n + index tells only n samples apart: with more of them, the keys of the next epoch begin.",
    seen="the keys of the next epoch begin",
)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed * 1_000_003 + epoch * 1000 + index)


@sample_generator.wrong_answer(
    "stride_without_seed",
    why="epoch * 1000 + index holds no seed, so all runs look alike, and sample 1000 meets sample 0 of the next epoch.",
    seen="meets sample 0 of the next epoch",
)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    return torch.Generator().manual_seed(epoch * 1000 + index)


@sample_generator.wrong_answer(
    "few_streams",
    why="A good hash, then a remainder of a small number: with 10,000 streams some 120 samples suffice for two to share one.",
    seen="then a remainder of a small number",
)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    digest = hashlib.sha256(f"{seed},{epoch},{index}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8]) % 10_000)


@sample_generator.wrong_answer(
    "key_cut_by_manual_seed",
    why="The 64-bit key is well mixed (hash of a tuple, SeedSequence, sha256: all the same), but manual_seed on a CPU "
    "generator keeps 32 bits of it.",
    seen="keeps 32 bits of it",
)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    digest = hashlib.sha256(f"{seed},{epoch},{index}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8]))


@sample_generator.wrong_answer(
    "key_of_32_bits",
    why="A hash of 32 bits gives random keys, and random keys meet: some 100,000 samples suffice for the first pair.",
    seen="random keys meet",
)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    key = np.random.SeedSequence((seed, epoch, index)).generate_state(1)[0]
    return torch.Generator().manual_seed(int(key))


@sample_generator.wrong_answer(
    "seed_cut_off",
    why="seed, epoch and index were packed side by side into 64 bits, and manual_seed on a CPU generator cut the upper "
    "32 off: the part with the seed.",
    seen="packed side by side",
)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed << 40 | epoch << 20 | index)


@sample_generator.wrong_answer(
    "high_bits_dropped",
    why="The numbers were cut to 32 bits before they were mixed, so that what stands above is lost.",
    seen="before they were mixed",
)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    numbers = [number & 0xFFFFFFFF for number in (seed, epoch, index)]
    return _filled(np.random.SeedSequence(numbers).generate_state(624))


def _filled(words: np.ndarray) -> torch.Generator:
    """A generator with these first words of its state."""
    generator = torch.Generator().manual_seed(0)
    state = generator.get_state()
    state[24 : 24 + 8 * len(words)] = torch.from_numpy(words.astype(np.uint64).view(np.uint8))
    generator.set_state(state)
    return generator


@sample_generator.wrong_answer(
    "few_words_filled",
    why="Only a few of the 624 words of the state depend on the key. The first numbers differ; those after are the same "
    "in every sample.",
    seen="those after are the same",
)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    return _filled(np.random.SeedSequence((seed, epoch, index)).generate_state(8))


@sample_generator.wrong_answer(
    "salted_hash",
    why="Python salts the hash of text anew in each process: tomorrow's run gets other noise for the same seed.",
    seen="another salt in its hashes",
)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    return torch.Generator().manual_seed(hash(f"{seed}-{epoch}-{index}"))


@sample_generator.wrong_answer(
    "worker_in_the_key",
    why="Which worker loads a sample depends on num_workers; with it in the key, the noise does, too.",
    seen="Made again in a DataLoader's worker",
)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    info = get_worker_info()
    words = (seed, epoch, index, info.id if info else 0)
    return _filled(np.random.SeedSequence(words).generate_state(624))


@sample_generator.wrong_answer(
    "seed_of_the_process",
    why="torch.initial_seed() is another number in each worker and each epoch: the key must be made of the arguments alone.",
    seen="with the global generators elsewhere",
)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    words = (torch.initial_seed(), seed, epoch, index)
    return _filled(np.random.SeedSequence(words).generate_state(624))


@sample_generator.wrong_answer(
    "fresh_entropy",
    why="generator.seed() takes a fresh seed from the operating system: nothing repeats.",
    seen="Made again at once",
)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    generator = torch.Generator()
    generator.seed()
    return generator


@sample_generator.wrong_answer(
    "never_seeded",
    why="torch.Generator() starts from the same constant each time, whatever the arguments.",
    seen="Another seed or epoch or index gives the same numbers",
)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    return torch.Generator()


@sample_generator.wrong_answer(
    "seed_forgotten",
    why="Without the seed in the key, five runs with five seeds see the same augmentation.",
    seen="five runs with five seeds",
)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    return _filled(np.random.SeedSequence((epoch, index)).generate_state(624))


@sample_generator.wrong_answer(
    "epoch_forgotten",
    why="Without the epoch in the key, each sample is augmented once and for all, in the same way in each epoch.",
    seen="Another epoch gives the same numbers",
)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    return _filled(np.random.SeedSequence((seed, index)).generate_state(624))


@sample_generator.wrong_answer(
    "index_forgotten",
    why="Without the index in the key, all samples of an epoch get the same noise.",
    seen="Another index gives the same numbers",
)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    return _filled(np.random.SeedSequence((seed, epoch)).generate_state(624))


@sample_generator.wrong_answer(
    "one_object_for_all",
    why="A generator is an object with a state: seeding it for the next sample takes it away from the last one.",
    seen="takes it away from the last one",
)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    words = np.random.SeedSequence((seed, epoch, index)).generate_state(624)
    _ONE.set_state(_filled(words).get_state())
    return _ONE


_ONE = torch.Generator()


@sample_generator.wrong_answer(
    "kept_in_a_cache",
    why="A cache hands out the object of the first call, whose stream has moved on: the sample looks different again.",
    seen="A cache hands out",
)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    key = seed, epoch, index
    if key not in _CACHE:
        _CACHE[key] = _filled(np.random.SeedSequence(key).generate_state(624))
    return _CACHE[key]


_CACHE: dict[tuple[int, int, int], torch.Generator] = {}


@sample_generator.wrong_answer(
    "global_generator",
    why="torch.manual_seed seeds the global generators of CPU and GPUs and returns the CPU's, torch.default_generator.",
    seen="The answer gave the global generator",
)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    return torch.manual_seed((seed * 1_000_003 + epoch) * 1_000_003 + index)


@sample_generator.wrong_answer(
    "global_generator_moved",
    why="The key was drawn from torch's global generator, seeded for it: every other draw of the program starts over.",
    seen="The answer seeded torch's global generator",
)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    torch.manual_seed(hash((seed, epoch, index)))
    return torch.Generator().manual_seed(int(torch.randint(2**32, ())))


@sample_generator.wrong_answer(
    "numpy_moved",
    why="np.random.seed seeds NumPy's global generator, which others draw from; SeedSequence is nobody's.",
    seen="left this changed: numpy RNG",
)
def _(seed: int, epoch: int, index: int) -> torch.Generator:
    np.random.seed([seed, epoch, index])
    return _filled(np.random.randint(0, 2**32, size=624, dtype=np.uint64))
