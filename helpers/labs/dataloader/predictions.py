"""Predictions of lab 02. Each question stands in the notebook, above the cell that shows what happens."""

from __future__ import annotations

from helpers.prediction import Choice, Prediction

collate_boxes = Prediction(
    "02.collate_boxes",
    "Two boxes become a batch",
    {
        "A": Choice(
            "One float32 tensor of shape (2, 4).",
            "A list is not taken for a row of numbers: it is gone into, place by place. And a Python float becomes "
            "float64.",
            "a_list_is_a_row",
        ),
        "B": Choice(
            "A list of four float64 tensors of shape (2,).",
            "All first numbers make a tensor, then all second ones, and so on: a list is a container for collate, "
            "as a dict is. A tensor in place of the list gives the shape (2, 4).",
        ),
        "C": Choice(
            "A list of the two lists, as they were.",
            "That holds for strings and bytes. Lists are containers, and what is in them is collated.",
            "lists_pass_through",
        ),
        "D": Choice(
            "One float64 tensor of shape (2, 4).",
            "The dtype is right, the shape is not: `collate` goes into the list before it looks at the numbers.",
            "only_the_dtype_changes",
        ),
    },
)

forbidden_arguments = Prediction(
    "02.forbidden_arguments",
    "Which call raises?",
    {
        "A": Choice(
            "`DataLoader(data, batch_size=None, shuffle=True)`",
            "That was an error in torch 1.7. Today it gives single samples in random order.",
            "no_batches_no_shuffle",
        ),
        "B": Choice(
            "`DataLoader(data, sampler=[3, 1], shuffle=False)`",
            "Only `shuffle=True` beside a sampler is an error: then two things would decide the order.",
            "sampler_excludes_shuffle",
        ),
        "C": Choice(
            "`DataLoader(data, worker_init_fn=print)`",
            "Without workers this function is never called, and nobody says so.",
            "unused_options_raise",
        ),
        "D": Choice(
            "`DataLoader(data, batch_sampler=[[3, 1]], batch_size=None)`",
            "A batch sampler goes with the default batch_size=1 and no other value, although None says what is true: "
            "that the loader has no batch size of its own.",
        ),
    },
)

who_runs_where = Prediction(
    "02.who_runs_where",
    "What the main process has counted",
    {
        "A": Choice(
            "6 indices drawn, 0 samples read, 0 batches collated.",
            "The main process draws, and sends lists of indices. A worker reads the samples, makes one batch of them and sends "
            "the batch. What it counts, it counts in its own copies.",
        ),
        "B": Choice(
            "0 indices drawn, 0 samples read, 0 batches collated.",
            "Then each worker would have a sampler, and each would read everything. One sampler, in the main process, "
            "deals the indices out.",
            "everything_in_the_worker",
        ),
        "C": Choice(
            "6 indices drawn, 0 samples read, 3 batches collated.",
            "The samples of a batch would then travel one by one, and the training loop would wait for the collating. "
            "The worker sends whole batches.",
            "collate_in_the_main_process",
        ),
        "D": Choice(
            "6 indices drawn, 6 samples read, 3 batches collated.",
            "So it would be with threads, which share all objects. Workers are processes: each has a copy.",
            "workers_are_threads",
        ),
    },
)

asked_ahead = Prediction(
    "02.asked_ahead",
    "How far does the loader read ahead?",
    {
        "A": Choice(
            "0: nothing is drawn until the first batch is asked for.",
            "So it is without workers. With workers the iterator fills their queues as soon as it is made.",
            "lazy_as_without_workers",
        ),
        "B": Choice(
            "12: three batches of four.",
            "The factor counts for each worker, and there are two.",
            "factor_for_all_workers",
        ),
        "C": Choice(
            "24: three batches of four for each of two workers.",
            "`prefetch_factor * num_workers` lists of indices are sent at once, then one more for each batch that "
            "is handed over: the number in flight stays the same.",
        ),
        "D": Choice(
            "100: workers need to know the whole order.",
            "A worker knows the lists that stand in its queue and no others. A sampler without end would never come "
            "to its end.",
            "whole_order",
        ),
    },
)

slow_item = Prediction(
    "02.slow_item",
    "Who waits for the slow sample?",
    {
        "A": Choice(
            "None: the other worker takes over whatever waits.",
            "Each worker has a queue of its own, and what stands in it is not taken out again.",
            "queues_are_shared",
        ),
        "B": Choice(
            "2, and no other.",
            "The first four were dealt out in turn: 0 and 2 to the first worker. 4 and 5 were sent later, each to the "
            "worker with room in its queue.",
        ),
        "C": Choice(
            "2 and 4: all that the slow worker would get in turn.",
            "In turn is the rule for `in_order=True`. Without order a batch goes to a worker that has room.",
            "always_in_turn",
        ),
        "D": Choice(
            "All five: what came early is held back.",
            "That is `in_order=True`. Here each is given out as it comes.",
            "held_back",
        ),
    },
)

frozen_attribute = Prediction(
    "02.frozen_attribute",
    "An attribute set in the training loop",
    {
        "A": Choice(
            "0, 0, 0, 0, 0, 0, 0, 0.",
            "The loader holds the dataset itself, no copy of it. Copies are made when workers start: without "
            "`persistent_workers` that is at each epoch, and the second one begins at step 4.",
            "copied_with_the_loader",
        ),
        "B": Choice(
            "0, 0, 0, 0, 4, 4, 4, 4.",
            "A worker holds the copy that it was started with. New ones are started for each epoch, from the dataset as it "
            "is at that moment; what is set later does not reach them.",
        ),
        "C": Choice(
            "0, 1, 2, 3, 4, 5, 6, 7.",
            "So it is without workers. A worker has a copy, and nothing but lists of indices is sent to it.",
            "workers_share_the_dataset",
        ),
        "D": Choice(
            "0, 0, 0, 1, 4, 4, 4, 5: as C, but late by what is loaded ahead.",
            "Loading ahead is not the cause: a batch that is asked for late sees no later step. The worker's copy is never "
            "brought up to date.",
            "only_late",
        ),
    },
)

stop_iteration = Prediction(
    "02.stop_iteration",
    "StopIteration in `__getitem__`",
    {
        "A": Choice(
            "RuntimeError: generator raised StopIteration.",
            "Python protects generator functions so. A DataLoader's iterator is an object with `__next__`, where "
            "StopIteration means that it has come to its end.",
            "protected_as_a_generator",
        ),
        "B": Choice(
            "StopIteration, shown with its traceback.",
            "A for-loop takes StopIteration for the end, wherever it comes from.",
            "shown_as_an_error",
        ),
        "C": Choice(
            "Two batches, and a warning that eight are missing.",
            "`len(loader)` promises ten, and nobody compares. You have to.",
            "somebody_warns",
        ),
        "D": Choice(
            "Two batches, then the loop ends as at the end of an epoch.",
            "StopIteration leaves `__getitem__`, the fetcher and `__next__`, and the for-loop takes it for the end of "
            "the data.",
        ),
    },
)

shared_file = Prediction(
    "02.shared_file",
    "One open file, two workers",
    {
        "A": Choice(
            "Wrong records, and no error.",
            "A fork copies the number of the open file. The place where the next read begins is kept by the system, "
            "once for all who share it: one worker seeks between the other's seek and its read.",
        ),
        "B": Choice(
            "The right records: each worker has a copy of the file object and its position.",
            "The Python object is copied, the position is not in it. It belongs to the open file, which the system "
            "keeps once.",
            "position_is_copied",
        ),
        "C": Choice(
            "An error: a file that another process opened cannot be read.",
            "It can: a forked process inherits all open files.",
            "files_are_not_inherited",
        ),
        "D": Choice(
            "The right records, but slowly: the system lets one worker at a time read.",
            "One read is whole, but a seek and a read are two calls, and nothing keeps them together.",
            "calls_are_kept_together",
        ),
    },
)

recall_own_generator = Prediction(
    "02.recall_own_generator",
    "From lab 01: a generator that the dataset owns",
    {
        "A": Choice(
            "`torch.manual_seed(0)` before the loop.",
            "The run repeats, but every worker still holds the same copy of `self.rng`: no global seed reaches it.",
            "global_seed_reaches_all",
        ),
        "B": Choice(
            "`DataLoader(..., worker_init_fn=np.random.seed)`",
            "That seeds NumPy's global generator with the worker's number, over a seed that was right. `self.rng` is "
            "a different object.",
            "numpy_global",
        ),
        "C": Choice(
            "A `worker_init_fn` that sets `info.dataset.rng = np.random.default_rng(info.seed)`, with "
            "`info = get_worker_info()`",
            "Each worker gets a stream of its own on its own copy of the dataset. The worker's seed is the base seed "
            "plus its number, so it repeats with the main process's seed and changes with the epoch.",
        ),
        "D": Choice(
            "`DataLoader(..., generator=torch.Generator().manual_seed(0))`",
            "That decides the order and the base seed. Nobody hands it on to `self.rng`.",
            "loader_generator",
        ),
    },
)

recall_stream = Prediction(
    "02.recall_stream",
    "From lab 01: more workers",
    {
        "A": Choice(
            "They stay the same: `in_order=True` keeps the order of the samples.",
            "The order stays. But the noise of a sample depends on which worker reads it, and on what that worker "
            "read before.",
            "order_is_enough",
        ),
        "B": Choice(
            "They change: a different worker reads a sample, at a different place of a different stream.",
            "A worker's stream begins at base seed plus number and goes on from sample to sample. Only randomness "
            "that is a function of (seed, epoch, index) does not depend on this setting.",
        ),
        "C": Choice(
            "They change from run to run, since processes race.",
            "They do not: batch k always goes to worker k modulo the number of workers, whoever is faster. With "
            "`in_order=False` that would be true.",
            "processes_race",
        ),
        "D": Choice(
            "They stay the same in the first epoch, and change later.",
            "The seeds are the same in each epoch here, and the first epoch differs already.",
            "only_later",
        ),
    },
)
