"""Predictions of lab 09 on files, on torch.export, and the recall questions."""

from __future__ import annotations

from helpers.prediction import Choice, Prediction

plain_load = Prediction(
    "09.plain_load",
    "Four files and one loader",
    {
        "A": Choice(
            "All four: torch.load finds out what is in a file.",
            "It finds out, and then refuses three of them.",
            "load_reads_all",
        ),
        "B": Choice(
            "state.pt only.",
            "It is for tensors in plain containers. A pickled module needs weights_only=False, the others have loaders "
            "of their own.",
        ),
        "C": Choice(
            "state.pt and module.pt: both were written by torch.save.",
            "Until torch 2.5 that was so. Since 2.6 torch.load takes no class of yours unless you allow it by name.",
            "weights_only_is_off",
        ),
        "D": Choice(
            "state.pt and script.pt: neither needs a class.",
            "A TorchScript file needs no class, indeed. But it is a program, and torch.load by default reads data only.",
            "load_reads_script",
        ),
    },
)

tied_files = Prediction(
    "09.tied_files",
    "Tied weights, in one file and in two",
    {
        "A": Choice(
            "One file: 2 x 25 KiB, since there are two keys. Two files: 25 KiB each. No tensors share memory.",
            "Two keys, but one storage, and storages are what a file holds: each once, by name.",
            "each_key_has_data",
        ),
        "B": Choice(
            "One file: 25 KiB, its two tensors share memory. Two files: 25 KiB each, their tensors share memory, too.",
            "Two calls of torch.save know nothing of each other, and two calls of torch.load make two tensors.",
            "sharing_spans_files",
        ),
        "C": Choice(
            "One file: 25 KiB, its two tensors share memory. Two files: 25 KiB each, their tensors do not.",
            "Sharing is stored within a file. Across files it is lost, without a word.",
        ),
        "D": Choice(
            "One file: 25 KiB, its two tensors do not share memory. Two files: 25 KiB each, their tensors do not either.",
            "torch.load makes one storage for each record, and both tensors look into it, as before.",
            "loading_copies",
        ),
    },
)

compiled_keys = Prediction(
    "09.compiled_keys",
    "The state_dict of a compiled module",
    {
        "A": Choice(
            "It loads: compiling does not change the parameters.",
            "The parameters are the same, but their names are not: torch.compile wraps the module, and the wrapper's "
            "attribute is called _orig_mod.",
            "names_stay",
        ),
        "B": Choice(
            "RuntimeError: no key fits.",
            "With strict=True it would be. strict=False was meant to silence exactly that.",
            "strict_false_still_raises",
        ),
        "C": Choice(
            "No error; the prefix is stripped while loading.",
            "Nobody strips it. `missing_keys` of the returned pair lists every parameter.",
            "prefix_is_stripped",
        ),
        "D": Choice(
            "No error, and not one weight is loaded.",
            "Every key is unexpected and every parameter missing, and strict=False says that this is fine.",
        ),
    },
)

exported_branch = Prediction(
    "09.exported_branch",
    "An `if`, in torch.export",
    {
        "A": Choice(
            "None: the way that the example takes is in the program, as in a trace.",
            "Export runs with tensors that have shapes and no values, so there is no way that the example takes.",
            "export_is_a_trace",
        ),
        "B": Choice(
            "The first: it does not know what will be in the input.",
            "It does not look into a parameter either: parameters are inputs of the graph, and as fake as the others.",
            "parameters_are_known",
        ),
        "C": Choice(
            "The first and the second.",
            "Both values are in tensors, of which export knows shapes only. It does not guess, and names the line: this is "
            "the difference to trace. The bool of Python it takes as it is.",
        ),
        "D": Choice(
            "All three: a graph of operations has no place for an `if`.",
            "It needs none where Python can decide while exporting: the way that self.flag says is in the program.",
            "export_refuses_branches",
        ),
    },
)

exported_print = Prediction(
    "09.exported_print",
    "A print in torch.export",
    {
        "A": Choice(
            "It is refused: a print is a side effect.",
            "Export, unless strict, runs your Python and notes the operations. It does not notice the print.",
            "export_sees_side_effects",
        ),
        "B": Choice(
            "It is kept: the program prints at every call.",
            "A graph of operations has no place for it.",
            "print_is_exported",
        ),
        "C": Choice(
            "It prints while exporting; the program does not print, and nobody warns.",
            "In this it is a trace: Python around the operations is lost, silently. What is not lost silently are shapes "
            "and values that decide something.",
        ),
        "D": Choice(
            "It breaks the graph.",
            "Under torch.compile it does, as you will see. Export makes one graph or fails.",
            "print_breaks_export",
        ),
    },
)

exported_auto = Prediction(
    "09.exported_auto",
    "Dim.AUTO, and a loop over the rows",
    {
        "A": Choice(
            "The sum of the five rows.",
            "The loop ran in Python, three times, and made additions. AUTO does not bring it back.",
            "auto_makes_it_dynamic",
        ),
        "B": Choice(
            "Export fails: the code specialises the size.",
            "With a Dim it does. AUTO means: dynamic if possible. It was not, and that is not told.",
            "auto_is_a_demand",
        ),
        "C": Choice(
            "The sum of the first three, silently, as a trace.",
            "The program knows what it assumed: a guard compares the size at each call.",
            "export_has_no_guards",
        ),
        "D": Choice(
            "Export works; the call with five rows fails at a guard.",
            "AUTO lets the code fix the size to 3. The error comes late, with the first other input. With a Dim it comes "
            "while exporting.",
        ),
    },
)

exported_function = Prediction(
    "09.exported_function",
    "A custom Function, in torch.export",
    {
        "A": Choice(
            "-1: the Function is one node of the graph.",
            "In a trace it is one node. Export goes into forward and takes the operations that it finds there.",
            "function_is_a_node",
        ),
        "B": Choice(
            "+1: the program holds what forward did, and autograd differentiates that.",
            "Your backward is not in the graph, and nothing says so. A gradient that is turned round, cut or estimated is "
            "lost; an operator with register_autograd keeps it.",
        ),
        "C": Choice(
            "None: export refuses custom Functions.",
            "Script refuses them. Export takes forward, without a word about backward.",
            "export_refuses_functions",
        ),
        "D": Choice(
            "None: an exported program cannot be differentiated.",
            "`program.module()` is a module of aten operations, and autograd differentiates those.",
            "programs_have_no_gradient",
        ),
    },
)

recall_replace = Prediction(
    "09.recall_replace",
    "Recall, from lab 01: a file that is never half-written",
    {
        "A": Choice(
            "`torch.save(state, path)`: it writes to memory first.",
            "It writes the records one after the other into the open file. A kill on the way leaves half of them.",
            "save_is_atomic",
        ),
        "B": Choice(
            "Write to another name in the same folder, then `os.replace` it to path.",
            "The rename is one step for everybody else: a reader finds the old file or the new one.",
        ),
        "C": Choice(
            "Delete the old file first, then write.",
            "Then for a while there is none, and a kill leaves half a file or nothing.",
            "delete_first",
        ),
        "D": Choice(
            "Write to /tmp, then move it to path.",
            "Where /tmp is another disk, a move is a copy, which can be cut off in the middle.",
            "other_folder",
        ),
    },
)

recall_kept = Prediction(
    "09.recall_kept",
    "Recall, from lab 03: where a Function keeps x",
    {
        "A": Choice(
            "`ctx.save_for_backward(x)`: it is watched for edits, and freed with the graph.",
            "An edited x is found by its version. `register_autograd` of a custom op uses the same: its setup_context gets "
            "this ctx.",
        ),
        "B": Choice(
            "`ctx.x = x`: simpler, and the same.",
            "An attribute is neither watched nor freed by backward, and a result kept so makes a circle.",
            "attribute_is_the_same",
        ),
        "C": Choice(
            "A global: forward and backward run in one process.",
            "Two calls before one backward, and the first x is gone.",
            "one_call_at_a_time",
        ),
        "D": Choice(
            "Nowhere: backward gets the inputs again.",
            "It gets the gradients of the results. What else it needs must have been saved.",
            "backward_gets_inputs",
        ),
    },
)
