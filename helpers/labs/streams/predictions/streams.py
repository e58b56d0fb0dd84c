"""Predictions of lab 06, first sitting. Each question stands in the notebook, above the cell that shows it."""

from __future__ import annotations

from helpers.prediction import Choice, Prediction

launch_time = Prediction(
    "06.launch_time",
    "A clock around a kernel",
    {
        "A": Choice(
            "1, 10 and 100 ms.",
            "The call returns when the kernel is queued, not when it is over. The host's clock has no part in the rest.",
            "host_runs_the_kernel",
        ),
        "B": Choice(
            "The same few microseconds each time.",
            "What was timed is the launch: putting an entry into a queue. It costs the same for every kernel.",
        ),
        "C": Choice(
            "100 ms each time: the host waits for the longest.",
            "The host waits for none of them, unless somebody asks for a result.",
            "host_waits_for_all",
        ),
        "D": Choice(
            "1, 11 and 111 ms, since the kernels of one stream run one after the other.",
            "So they do, on the device. The host is long gone by then.",
            "host_follows_the_stream",
        ),
    },
)

host_waits = Prediction(
    "06.host_waits",
    "Who makes the host wait",
    {
        "A": Choice(
            "All six: each of them reads x.",
            "A kernel that reads x is queued behind the one that writes it. The stream keeps the order; the host need "
            "not wait for that.",
            "every_read_waits",
        ),
        "B": Choice(
            "Only `x.cpu()`: nothing else is copied.",
            "A number for Python is a copy, too. `item()` copies one, `if` asks for a bool, and the shape of "
            "`x.nonzero()` is a number that only the device knows.",
            "only_explicit_copies",
        ),
        "C": Choice(
            "`x.sum().item()`, `if x.max() > 0:`, `x.cpu()` and `x.nonzero()`.",
            "The host waits where Python needs a value, or a shape that depends on values.",
        ),
        "D": Choice(
            "Only `x.sum().item()` and `x.cpu()`.",
            "`if x.max() > 0` calls `bool(tensor)`, which is `item()` in disguise, and `nonzero` has to know how many "
            "there are before it can give you a tensor of that shape.",
            "hidden_waits_missed",
        ),
    },
)

recorded_early = Prediction(
    "06.recorded_early",
    "An event that is recorded before the work",
    {
        "A": Choice(
            "42 each time: the event belongs to the default stream, and the other waits for that stream.",
            "An event is a mark in the queue, and not a name for a stream. All behind the mark is not waited for.",
            "event_means_stream",
        ),
        "B": Choice(
            "What stood there before: the mark is behind nothing.",
            "The event is done when all that was queued *before* the record is done. That was nothing.",
        ),
        "C": Choice(
            "The program hangs: the event is waited for before its work is done.",
            "The event is done at once, since nothing stood before it. Nobody waits long.",
            "early_record_hangs",
        ),
        "D": Choice(
            "RuntimeError, since the event covers no work.",
            "Marks in an empty queue are legal, and useful: a start mark of a measurement is one.",
            "empty_record_raises",
        ),
    },
)

never_recorded = Prediction(
    "06.never_recorded",
    "Waiting for an event that nobody recorded",
    {
        "A": Choice(
            "The stream waits for ever.",
            "There is nothing to wait for: an event that was never recorded counts as done.",
            "unrecorded_blocks",
        ),
        "B": Choice(
            "RuntimeError.",
            "It would be kind, but no. `elapsed_time` raises for such an event, a wait does not.",
            "unrecorded_raises",
        ),
        "C": Choice(
            "The stream waits for the record that comes later.",
            "A wait looks at the last record that was issued before it, once, when you call it. Later ones do not count.",
            "wait_sees_the_future",
        ),
        "D": Choice(
            "Nothing happens, and nobody is told.",
            "A wait on an event without a record is passed over. So a program whose record was forgotten, or stands too "
            "late, looks synchronised.",
        ),
    },
)

lucky_race = Prediction(
    "06.lucky_race",
    "A race that gives the right sum",
    {
        "A": Choice(
            "It has no race: the same right value ten times is no accident.",
            "Nothing in the program orders the two streams. That the times fit is a fact about today's times.",
            "right_means_ordered",
        ),
        "B": Choice(
            "It has a race. One kernel that takes longer, or shorter, and the sum may be a different one.",
            "A race is the lack of an order, and not the wrong value. Values show it only when the times are against you.",
        ),
        "C": Choice(
            "It has a race, but a harmless one: all kernels are queued before the sum is.",
            "Queued before is not run before: these are two queues.",
            "issue_order_is_enough",
        ),
        "D": Choice(
            "It has no race: both streams belong to one device, which runs kernels as they come.",
            "Order within a stream is all that is promised. Kernels of two streams may run in any order, or at once.",
            "device_keeps_order",
        ),
    },
)

which_wait = Prediction(
    "06.which_wait",
    "Four waits, one of them useless",
    {
        "A": Choice(
            "`side.wait_stream(main)`",
            "That is what it is for: the side stream, on the device, waits for what main holds. The host goes on.",
            "only_host_waits",
        ),
        "B": Choice(
            "`main.synchronize()`",
            "The host waits here for main, and what it queues afterwards comes later still. Correct, and slow.",
            "host_wait_orders_nothing",
        ),
        "C": Choice(
            "`side.synchronize()`",
            "The side stream has nothing to do, so the host goes on at once, and the race is as it was.",
        ),
        "D": Choice(
            "`streams.synchronize()`",
            "It waits for all streams of the device, whatever the current one is.",
            "synchronize_is_current_only",
        ),
    },
)

read_early = Prediction(
    "06.read_early",
    "From the device to the host, without waiting",
    {
        "A": Choice(
            "42: a tensor that is not there yet cannot be returned.",
            "Its memory is there. What stands in it comes later; `non_blocking=True` says that you will wait yourself.",
            "copy_is_done_at_return",
        ),
        "B": Choice(
            "42: the first read of `y` waits for the copy.",
            "`y` is a tensor of the host, like any other. It does not know that a copy is on its way.",
            "read_waits_for_copy",
        ),
        "C": Choice(
            "RuntimeError: the copy is not over.",
            "Nobody checks. That is why this error is found in results and not in logs.",
            "read_raises",
        ),
        "D": Choice(
            "What stood in that host memory before.",
            "The copy has not begun, and the host reads its own memory. On a GPU it may as well be half of it, or, with "
            "a small tensor and luck, all.",
        ),
    },
)

buffer_reused = Prediction(
    "06.buffer_reused",
    "A pinned buffer, filled again at once",
    {
        "A": Choice(
            "All 1, since the copy was called first.",
            "It was queued first. The host writes the 2s while the copy waits for its turn.",
            "queued_is_copied",
        ),
        "B": Choice(
            "2s in part or throughout.",
            "The device reads the buffer when the copy runs. What the host has written by then is what it gets.",
        ),
        "C": Choice(
            "All 1: pinned pages cannot be written while they are copied.",
            "Pinned means that the pages stay where they are in memory. Everybody may go on writing to them.",
            "pinned_means_locked",
        ),
        "D": Choice(
            "RuntimeError: the buffer's version changed.",
            "Versions are compared for what autograd saved, nowhere else. This copy knows of none.",
            "versions_are_watched",
        ),
    },
)

visible_devices = Prediction(
    "06.visible_devices",
    "What a line in the environment means",
    {
        "A": Choice(
            "`[0, 2]`, `[1]`, `[1]`, `[0, 1]`: what is no device is left out.",
            "It is not left out: the list ends there. A number counts if the text begins with one, and devices named "
            "twice make no devices.",
            "bad_entries_skipped",
        ),
        "B": Choice(
            "ValueError for each of them.",
            "CUDA's rule is to be silent: the list ends at the first entry that is no device.",
            "bad_entries_raise",
        ),
        "C": Choice(
            "`[0]`, `[]`, `[3, 1]`, `[0]`.",
            "The list ends at the first entry that is no device. One device twice makes the whole list empty, and of "
            "`3abc` the 3 is read.",
        ),
        "D": Choice(
            "`[0]`, `[1, 1]`, `[]`, `[0]`.",
            "Nearly: but a device that is named twice makes the list empty, and `3abc` begins with a number, as C reads them.",
            "duplicates_allowed",
        ),
    },
)

visible_too_late = Prediction(
    "06.visible_too_late",
    "When the environment is read",
    {
        "A": Choice(
            "At `import torch`.",
            "Importing torch does not touch the driver. That is on purpose: a process may be forked afterwards.",
            "import_freezes",
        ),
        "B": Choice(
            "At the first `torch.cuda.device_count()`.",
            "So it was once. Now it asks the driver's management library and does not keep the answer.",
            "counting_freezes",
        ),
        "C": Choice(
            "At the first call that starts CUDA, such as `torch.zeros(1).cuda()` or `torch.cuda.is_available()`.",
            "It starts the driver, which reads the variable once for the process. Until then you may still change it.",
        ),
        "D": Choice(
            "Never: it is read at each call.",
            "torch's own parser does read it at each call. The driver, which decides, reads it once.",
            "never_frozen",
        ),
    },
)
