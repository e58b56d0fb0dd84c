"""Predictions of lab 01 on loaders, sets and products. The questions stand in the notebook."""

from __future__ import annotations

from helpers.prediction import Choice, Prediction

two_loaders_one_generator = Prediction(
    "01.two_loaders_one_generator",
    "Two loaders, one generator",
    {
        "A": Choice(
            "Nothing: the generator was seeded, so both epochs keep their order.",
            "A seed fixes the whole stream, not who reads which part of it. The pass over valid takes a number that "
            "the second epoch would have got.",
            "a_seed_fixes_everything",
        ),
        "B": Choice(
            "Nothing: valid does not shuffle, so it draws nothing.",
            "Making the iterator draws a base seed, and it draws it from the loader's own generator if it has one.",
            "only_shuffling_draws",
        ),
        "C": Choice(
            "The second epoch of train has another order; the first one keeps its order.",
            "The first epoch is over before valid draws. What valid draws is missing from the stream of the second "
            "epoch. Give each loader a generator of its own.",
        ),
        "D": Choice(
            "Both epochs of train have another order.",
            "The first epoch has drawn all that it needs before valid makes its iterator. A stream is not changed backwards.",
            "changed_from_the_start",
        ),
    },
)

set_order = Prediction(
    "01.set_order",
    "Classes from a set",
    {
        "A": Choice(
            "No: the same three words make the same set, and so the same order.",
            "Equal sets have equal members, in no particular order. The order follows from the words' hashes.",
            "a_set_has_an_order",
        ),
        "B": Choice(
            "Yes: Python salts the hash of a string anew in each process.",
            "The salt is drawn at the start of the process, before any seed of yours. PYTHONHASHSEED fixes it; "
            "sorted(set(words)) does not need it.",
        ),
        "C": Choice(
            "No, if random.seed was called first in both processes.",
            "random.seed has no part in it: the salt of the hashes is drawn before your first line runs.",
            "seeding_random_cures",
        ),
        "D": Choice(
            "Yes, and a set of small whole numbers changes its order just the same.",
            "A small whole number is its own hash, without a salt: that set looks the same each time. This is why the "
            "fault is found so late.",
            "every_set_changes",
        ),
    },
)

batched_equals_single = Prediction(
    "01.batched_equals_single",
    "All rows at once, or one by one",
    {
        "A": Choice(
            "True: the same numbers are multiplied and added, so the result is the same.",
            "The same numbers, but added in another order, and each addition rounds.",
            "same_numbers_same_bits",
        ),
        "B": Choice(
            "False, and the batched result is the wrong one: it is less exact.",
            "Both are near the product in float64, and neither is it. Which one is nearer depends on the kernels.",
            "batched_is_wrong",
        ),
        "C": Choice(
            "False, and x @ w itself changes from call to call.",
            "On one CPU, with one number of threads, the same call takes the same kernel, and gives the same bits.",
            "each_call_differs",
        ),
        "D": Choice(
            "False: a product of matrices and a product with a vector add in another order.",
            "Another kernel, another order of additions, other last bits. So compare with a tolerance, and do not "
            "expect a batch of one to repeat a batch of 64 bit for bit.",
        ),
    },
)

reseed_each_epoch = Prediction(
    "01.reseed_each_epoch",
    "Seeded anew in each epoch",
    {
        "A": Choice(
            "Every epoch has the same order, and the same dropout masks.",
            "The seed puts the stream back to its start, so each epoch replays the first. Seed once, before the "
            "model is built; if each epoch must stand alone, derive the seed from the epoch.",
        ),
        "B": Choice(
            "The run repeats from start to start, and each epoch has an order of its own.",
            "That is what seeding once gives. Seeding again goes back to the same place of the stream.",
            "the_stream_goes_on",
        ),
        "C": Choice(
            "The order is the same in each epoch, but dropout draws from the GPU or from another stream.",
            "On one device there is one default stream: shuffling and dropout both read from it, and on a GPU "
            "manual_seed puts that one back, too.",
            "dropout_has_its_own_stream",
        ),
        "D": Choice(
            "Nothing changes: a DataLoader remembers where it is in its stream.",
            "The loader keeps no place. With every new iterator it draws from the generator anew.",
            "the_loader_remembers",
        ),
    },
)

zero_workers_generator = Prediction(
    "01.zero_workers_generator",
    "A generator for the loader, and no workers",
    {
        "A": Choice(
            "The order and the noise both repeat.",
            "The order does. The noise is drawn by torch.rand in the main process, from the global generator.",
            "generator_reaches_the_samples",
        ),
        "B": Choice(
            "The order repeats and the noise does not.",
            "The loader's generator seeds the sampler and the workers. Without workers the samples are read in the main "
            "process, with its global generator. With two workers the noise repeats, too.",
        ),
        "C": Choice(
            "The noise repeats and the order does not.",
            "It is the other way round: the order is the one thing that the generator fixes here.",
            "generator_is_for_samples",
        ),
        "D": Choice(
            "Neither repeats: a loader's generator is used by its workers only.",
            "The sampler uses it as well, and the sampler is in the main process, with or without workers.",
            "only_workers_use_it",
        ),
    },
)
