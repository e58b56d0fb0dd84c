"""Predictions of lab 01. Each question stands in the notebook, above the cell that shows what happens."""

from __future__ import annotations

from helpers.prediction import Choice, Prediction

eval_pass = Prediction(
    "01.eval_pass",
    "A validation pass in between",
    {
        "A": Choice(
            "No: the loader does not shuffle, so it draws nothing.",
            "It draws all the same: whoever makes an iterator of a DataLoader draws a base seed for workers, "
            "whether the loader shuffles or not, and whether it has workers or not.",
            "only_shuffling_draws",
        ),
        "B": Choice(
            "Only if the loader has workers, since only they need seeds.",
            "The base seed is drawn before anybody asks whether there are workers.",
            "only_workers_draw",
        ),
        "C": Choice(
            "Yes: every pass over the loader moves the global stream.",
            "Making the iterator draws one number from the global generator. A loader with a generator of its "
            "own draws it from there instead.",
        ),
        "D": Choice(
            "Only the first pass does; later passes find the seed already drawn.",
            "Every pass makes a new iterator, and each one draws anew.",
            "drawn_once",
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
            "Yes: the seed is the same, and the order of the samples is, too.",
            "The order is the same, but the noise is drawn in the workers: each has a stream of its own, and "
            "which worker reads which sample depends on how many there are.",
            "order_is_enough",
        ),
        "B": Choice(
            "Only 0 workers differ: with 1, 2 or 3 each sample gets the same worker seed.",
            "A worker's seed is the base seed plus the worker's number, and a worker goes on in its stream from "
            "sample to sample. With a different number of workers a sample falls on a different place of a different stream.",
            "seed_by_sample",
        ),
        "C": Choice(
            "Yes, if the loader is given a generator with a seed.",
            "The generator seeds the sampler and the workers. How samples are dealt out to workers is not its business.",
            "generator_cures",
        ),
        "D": Choice(
            "No: each number of workers gives different pictures.",
            "The noise of a sample depends on which worker reads it, and on what that worker read before.",
        ),
    },
)

one_ulp = Prediction(
    "01.one_ulp",
    "One ulp apart",
    {
        "A": Choice(
            "It dies out: training pulls both runs to the same minimum.",
            "The loss may end the same, the bits do not. Nothing in a step of training removes a difference of one bit.",
            "minimum_attracts",
        ),
        "B": Choice(
            "It stays about one ulp: the steps are the same for both.",
            "The steps are not the same: each gradient is computed from parameters that differ by a bit, and is "
            "rounded differently.",
            "same_steps",
        ),
        "C": Choice(
            "It spreads to the other parameters; how fast it grows depends on the learning rate.",
            "One parameter differs after the first step, a few after the second, most of them in the end. With a "
            "small learning rate the difference stays small for long; with a large one it grows by factors.",
        ),
        "D": Choice(
            "It grows by the same factor at every step, whatever the learning rate.",
            "How much a step stretches a difference depends on the curvature times the learning rate: some steps "
            "shrink it.",
            "always_chaos",
        ),
    },
)

stable_sums = Prediction(
    "01.stable_sums",
    "Sums that do not depend on the order",
    {
        "A": Choice(
            "Pairwise: the error grows only with the logarithm of the length.",
            "A small error is no fixed result: a different order, different pairs, different last bits.",
            "small_error",
        ),
        "B": Choice(
            "Sorted: whatever the order was, it is the same after sorting.",
            "On one thread that is so. The result is one and the same for all orders, and may be far from the true sum.",
        ),
        "C": Choice(
            "float64: with 53 bits there is nothing left to round in a float32.",
            "Almost always. Where the numbers cancel by more than those bits, the order shows again.",
            "float64_is_enough",
        ),
        "D": Choice(
            "Kahan: it keeps what each addition rounds away.",
            "It keeps it in one more float32. Where a later number cancels the sum, what was kept has been rounded, too.",
            "kahan_is_exact",
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
