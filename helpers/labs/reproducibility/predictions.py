"""Predictions of lab 01. Each question stands in the notebook, above the cell that shows what happens."""

from __future__ import annotations

from helpers.prediction import Choice, Prediction

eval_pass = Prediction(
    "01.eval_pass",
    "A validation pass in between",
    {
        "A": Choice(
            "0, and 1 with a shuffle: only the shuffle needs a seed.",
            "Without a shuffle it draws all the same: whoever makes an iterator of a DataLoader draws a base seed for "
            "workers, whether there are any or not. The shuffle's seed comes on top.",
            "only_shuffling_draws",
        ),
        "B": Choice(
            "1, and 1 with a shuffle: each pass draws a seed, and the shuffle uses it, too.",
            "The base seed is for workers. The sampler knows nothing of it: it draws a seed of its own, for a generator "
            "that gives this epoch's order.",
            "one_seed_for_both",
        ),
        "C": Choice(
            "1, and 2 with a shuffle: each pass draws a seed, and the shuffle draws one of its own.",
            "Making the iterator draws a base seed for workers, whether there are any or not. A sampler that shuffles "
            "draws one more. A loader with a generator of its own draws both from there instead.",
        ),
        "D": Choice(
            "0, and 800 with a shuffle: one for each label.",
            "The order does not come from the global generator: the sampler draws one seed, for a generator of its own. "
            "And whoever makes an iterator draws a base seed, with or without a shuffle.",
            "order_from_the_global_stream",
        ),
    },
)

worker_noise = Prediction(
    "01.worker_noise",
    "Who gives the same noise twice?",
    {
        "A": Choice(
            "NumPy's global generator: torch does not know about it.",
            "It did not until torch 1.9. Since then each worker seeds NumPy's global generator, too.",
            "numpy_global",
        ),
        "B": Choice(
            "The dataset's own generator, and no other.",
            "Each worker holds a copy of the dataset, with the generator in the same state. Torch seeds the "
            "three global generators in a worker; of objects that you own it knows nothing.",
        ),
        "C": Choice(
            "None: each worker is a process of its own, so all generators differ.",
            "A process that is forked starts as a copy, and so do its generators.",
            "processes_differ",
        ),
        "D": Choice(
            "All but torch's, since torch seeds only its own generator in a worker.",
            "Torch seeds three in each worker: its own, Python's random and NumPy's global one.",
            "torch_only",
        ),
    },
)

number_of_workers = Prediction(
    "01.number_of_workers",
    "A different number of workers",
    {
        "A": Choice(
            "All eight: the seed is the same, and the order of the samples is, too.",
            "The order is the same, but the noise is drawn in the workers: each has a stream of its own, and "
            "which worker reads which sample depends on how many there are.",
            "order_is_enough",
        ),
        "B": Choice(
            "Every second one: what worker 0 reads, since its seed is the same.",
            "Its seed is the same, but a worker goes on in its stream from sample to sample. One of two workers reads "
            "batch 2 as its second batch, where a worker that is alone reads batch 1.",
            "seed_by_sample",
        ),
        "C": Choice(
            "None: with two workers both have new seeds.",
            "A worker's seed is the base seed plus the worker's number, and the base seed does not ask how many there "
            "are. So worker 0 begins with the same numbers.",
            "all_seeds_change",
        ),
        "D": Choice(
            "The first one only.",
            "Worker 0 begins both times with the same seed and the same batch. After that its stream goes to "
            "different samples, and worker 1 has a stream of its own.",
        ),
    },
)

one_ulp = Prediction(
    "01.one_ulp",
    "One ulp apart",
    {
        "A": Choice(
            "0: training pulls both runs to the same minimum.",
            "The loss may end the same, the bits do not. Nothing in a step of training removes a difference of one bit.",
            "minimum_attracts",
        ),
        "B": Choice(
            "Less than 10⁻⁵: each step adds a rounding error, and there are 180 of them.",
            "So it is with learning rate 0.05. With 0.5 a step also stretches the difference that it finds: the "
            "differences multiply, they do not only add up.",
            "roundings_add_up",
        ),
        "C": Choice(
            "Between 10⁻³ and 0.1.",
            "At this learning rate the difference grows tenfold every thirty steps or so: by a factor of a million "
            "in 180 steps. At 0.05 it would stay near 10⁻⁷.",
        ),
        "D": Choice(
            "More than 1: as far as two runs with different seeds.",
            "It is on its way there, but 180 steps are too few: tenfold every thirty steps or so makes 10⁻² of 10⁻⁸.",
            "far_apart_at_once",
        ),
    },
)

stable_sums = Prediction(
    "01.stable_sums",
    "Sums that do not depend on the order",
    {
        "A": Choice(
            "Sorted, and no other.",
            "float64 rounds in each order, too, but here so far below the last bit of a float32 that the results are "
            "the same. It ends where more digits cancel: see 10**12.",
            "float64_shows_the_order",
        ),
        "B": Choice(
            "Sorted and float64.",
            "Sorting makes one order of all orders; the sum may still be far from the true one. float64 has bits to "
            "spare here. Where more digits cancel, at 10**12, it has not.",
        ),
        "C": Choice(
            "Sorted, float64 and Kahan.",
            "Kahan keeps what each addition rounds away, but in one more float32. Where a later number cancels the sum, "
            "what was kept has been rounded, too.",
            "kahan_is_exact",
        ),
        "D": Choice(
            "Sorted, float64, Kahan and pairwise.",
            "Pairs make the error smaller: it grows only with the logarithm of the length. A small error is no fixed "
            "result: a different order, different pairs, different last bits. And Kahan's rest is rounded, too.",
            "small_error",
        ),
    },
)

gpu_bits = Prediction(
    "01.gpu_bits",
    "Different bits from run to run, on a GPU",
    {
        "A": Choice(
            "`out.index_add_(0, index, x)` for float32 `x`, where indices repeat",
            "Threads add to one place with atomic additions, in the order in which they happen to arrive, and "
            "float addition depends on the order.",
        ),
        "B": Choice(
            "`torch.rand(1000, device='cuda')` after `torch.manual_seed(0)`",
            "CUDA's generator counts: thread and position give the number, not the time. A seed repeats it.",
            "generator_races",
        ),
        "C": Choice(
            "`out.index_add_(0, index, x)` for int64 `x`, where indices repeat",
            "The threads race here, too, but integer addition gives the same sum in every order.",
            "every_race_shows",
        ),
        "D": Choice(
            "`x + y` for float32 `x` and `y` of one million elements",
            "Every element has one thread to itself. Many threads alone change nothing; it takes several that add "
            "to one place.",
            "threads_alone",
        ),
    },
)
