"""Predictions of lab 09 on what a trace keeps. Each question stands in the notebook, above the cell that shows it."""

from __future__ import annotations

from helpers.prediction import Choice, Prediction

traced_branch = Prediction(
    "09.traced_branch",
    "An `if` in a trace",
    {
        "A": Choice(
            "The sum, the comparison, and an `if` with both ways.",
            "There is no other way in the trace. Python took one while tracing, and only tensor operations were noted.",
            "branch_is_kept",
        ),
        "B": Choice(
            "The sum, the comparison and the multiplication: all operations that came by.",
            "They were noted, indeed. But no result of the trace needs the first two, and what nobody needs is taken out.",
            "all_that_came_by",
        ),
        "C": Choice(
            "The multiplication alone.",
            "Sum and comparison led to a bool of Python, of which the trace knows nothing: they were taken out as dead. "
            "What warned was the tracing, once, in a line among many.",
        ),
        "D": Choice(
            "Nothing: tracing fails, since an `if` on a tensor cannot be recorded.",
            "It can be run, and that is all that tracing asks. It goes on, with a TracerWarning.",
            "trace_refuses_branches",
        ),
    },
)

traced_loop = Prediction(
    "09.traced_loop",
    "A loop over the rows, in a trace",
    {
        "A": Choice(
            "The sum of all five: `x.shape[0]` is read when the trace is called.",
            "x.shape[0] is a traced number, but `range` needs an int, and Python's loop ran three times.",
            "loop_is_kept",
        ),
        "B": Choice(
            "The sum of the first three; tracing gave a TracerWarning.",
            "The first half is right. But `range(x.shape[0])` gives no warning at all; `for row in x` would.",
            "every_loss_is_warned_of",
        ),
        "C": Choice(
            "The sum of the first three; tracing gave no warning.",
            "The loop was unrolled into three additions. Nothing was converted that the tracer warns of.",
        ),
        "D": Choice(
            "RuntimeError: the input has another shape than the example.",
            "A trace does not compare shapes. With two rows it would fail, since row 2 is asked for.",
            "trace_guards_shapes",
        ),
    },
)

traced_len = Prediction(
    "09.traced_len",
    "`len(x)` and `x.shape[0]`, in a trace",
    {
        "A": Choice(
            "Both give 1: the length is part of the input.",
            "It is, and for x.shape[0] the trace holds aten::size. But Python's len must return an int.",
            "len_is_kept",
        ),
        "B": Choice(
            "Both give 2: Python's numbers become constants.",
            "Most do. While tracing, though, x.shape[0] is a tensor in disguise, and computing with it is recorded.",
            "shape_is_a_number",
        ),
        "C": Choice(
            "by_len gives 1, by_shape gives 2.",
            "The other way round: len returns a plain int, of which the trace knows nothing.",
            "len_and_shape_exchanged",
        ),
        "D": Choice(
            "by_len gives 2, by_shape gives 1.",
            "The shape stays a recorded value while only torch touches it. len(), int() and range() end that.",
        ),
    },
)

traced_print = Prediction(
    "09.traced_print",
    "A print in a trace",
    {
        "A": Choice(
            "1: tracing runs the function once, and the trace holds no print.",
            "The second half is right. But by default tracing is checked: the function is traced again and run plainly.",
            "checks_not_counted",
        ),
        "B": Choice(
            "3: one while tracing, one for each call.",
            "A call of the trace runs no Python of yours, so nothing is printed by the calls.",
            "print_is_kept",
        ),
        "C": Choice(
            "3: all while tracing, none by the calls.",
            "It runs once to be recorded, once more to compare the graphs, and once plainly to compare the results.",
        ),
        "D": Choice(
            "0: the tracer works on the source.",
            "It runs your Python and notes which operations come by. That is its strength, too: it takes any Python.",
            "trace_reads_source",
        ),
    },
)

traced_dropout = Prediction(
    "09.traced_dropout",
    "Dropout in a trace",
    {
        "A": Choice(
            "Yes: the mode was recorded with the rest.",
            "aten::dropout has an argument `train`, and the trace holds the constant True. eval() changes a flag "
            "that nobody reads.",
        ),
        "B": Choice(
            "No: eval() works on a trace as on any module.",
            "It can be called, and the flag changes. But the flag was read in Python, while tracing.",
            "eval_reaches_the_trace",
        ),
        "C": Choice(
            "No: a trace never holds random operations.",
            "It holds them as any other, and warns of them, if tracing is checked.",
            "trace_is_deterministic",
        ),
        "D": Choice(
            "`eval()` raises: a trace has no mode.",
            "That is what the module of an exported program does. A traced module lets you call it, which is worse.",
            "trace_refuses_eval",
        ),
    },
)

untyped_argument = Prediction(
    "09.untyped_argument",
    "An argument without a type, in script",
    {
        "A": Choice(
            "It compiles, and takes any n.",
            "The compiler sees the source only, no call. Of an argument without annotation it must assume something.",
            "types_are_found_out",
        ),
        "B": Choice(
            "It compiles at the first call, with the type of that n.",
            "That is how torch.compile works. script compiles at once, before any call.",
            "script_waits_for_a_call",
        ),
        "C": Choice(
            "It compiles, and unrolls the loop, as trace does.",
            "Script sees no n that it could unroll for: a loop stays prim::Loop.",
            "script_unrolls",
        ),
        "D": Choice(
            "The compiler refuses: it takes n for a Tensor.",
            "What has no annotation is a Tensor, and range wants an int. `n: int` is all that is missing.",
        ),
    },
)

nested_loop = Prediction(
    "09.nested_loop",
    "A scripted part in a list, inside a trace",
    {
        "A": Choice(
            "The sum of five: a scripted part keeps its loop, wherever it is kept.",
            "It would keep it. But the trace notes a call of a scripted part by its name, and in a list it has none.",
            "a_list_is_a_name",
        ),
        "B": Choice(
            "The sum of three: a part that is not registered is traced through, and unrolled.",
            "That is what happens to a part of plain Python. Into a scripted one the tracer does not go.",
            "trace_unrolls_script",
        ),
        "C": Choice(
            "The sum of five; the part is copied into the trace, its weights as constants.",
            "The tracer copies tensors as constants, never a part with its graph.",
            "parts_are_copied",
        ),
        "D": Choice(
            "Nothing: tracing fails.",
            "Modules that are called while tracing must be registered as submodules: the call is noted by that name.",
        ),
    },
)
