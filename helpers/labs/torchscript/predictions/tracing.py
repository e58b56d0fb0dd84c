"""Predictions of lab 09 on what a trace keeps. Each question stands in the notebook, above the cell that shows it."""

from __future__ import annotations

from helpers.prediction import Choice, Prediction

traced_branch = Prediction(
    "09.traced_branch",
    "An `if` in a trace",
    {
        "A": Choice(
            "-0.5 for each: the negative input takes the other way.",
            "There is no other way in the trace. Python took one while tracing, and only tensor operations were noted.",
            "branch_is_kept",
        ),
        "B": Choice(
            "-2 for each, and the call says nothing.",
            "The trace holds one multiplication. What warned was the tracing, once, in a line among many.",
        ),
        "C": Choice(
            "RuntimeError: this input needs the way that was not recorded.",
            "The trace does not know that there was a question, so it cannot see that the answer is another.",
            "trace_guards_its_inputs",
        ),
        "D": Choice(
            "Tracing itself fails: an `if` on a tensor cannot be recorded.",
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
    "A scripted loop inside a trace",
    {
        "A": Choice(
            "0 and 0: whatever is traced is unrolled.",
            "The tracer does not go into a scripted part. It notes the call of it, with its own graph inside.",
            "trace_unrolls_script",
        ),
        "B": Choice(
            "1 and 1.",
            "`.graph` of the outer module shows the call only, prim::CallMethod. The loop is in the part's own graph.",
            "graph_shows_submodules",
        ),
        "C": Choice(
            "0 and 1.",
            "`.graph` holds a prim::CallMethod; `.inlined_graph` puts the part's graph in its place, loop and all.",
        ),
        "D": Choice(
            "1 and 0: inlining removes the loop.",
            "Inlining replaces a call by the graph that is called. It removes nothing.",
            "inlining_unrolls",
        ),
    },
)
