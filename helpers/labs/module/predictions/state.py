"""Predictions of lab 05, sections 1 to 6. Each question stands in the notebook, above the cell that shows what happens."""

from __future__ import annotations

from helpers.prediction import Choice, Prediction

registered = Prediction(
    "05.registered",
    "What parameters() finds",
    {
        "A": Choice(
            "10: one each for a, b, c, d, and six in the three layers.",
            "`parameters()` looks into `_parameters` and `_modules`, nowhere else. A list, and a tensor that is no "
            "nn.Parameter, are plain attributes.",
            "all_that_requires_grad",
        ),
        "B": Choice(
            "9: d is no `nn.Parameter`.",
            "c is none either: an operation on a Parameter gives a plain Tensor. And a list is a plain attribute, "
            "whatever it holds.",
            "all_that_was_a_parameter",
        ),
        "C": Choice(
            "3: a, and one weight and one bias in e.",
            "a is the only Parameter that is assigned as such, and `[layer] * 3` is three times one layer, whose "
            "parameters are reported once.",
        ),
        "D": Choice(
            "7: a, and six in the three layers.",
            "A list times 3 repeats the reference: e holds one layer under three names.",
            "a_list_times_3_copies",
        ),
    },
)

tied = Prediction(
    "05.tied",
    "Counting a tied weight",
    {
        "A": Choice(
            "9 entries: it makes the same walk, and a file needs each number once.",
            "A file must fill every name: the state dict never looks whether it has met a tensor before.",
            "state_dict_removes_duplicates",
        ),
        "B": Choice(
            "10 entries, two of them in one memory.",
            "An optimizer must not step twice; a file must fill every name. So the two walks differ.",
        ),
        "C": Choice(
            "10 entries; the second one is a copy, so that each name can be loaded by itself.",
            "A state dict copies nothing: each entry shares its memory with the model, and these two with each other.",
            "state_dict_copies",
        ),
        "D": Choice(
            "9 entries; the second name is noted in `_metadata`, and a load follows it.",
            "`_metadata` holds versions and knows nothing of names that share a tensor: both stand in the dict.",
            "ties_are_noted",
        ),
    },
)

frozen_norm = Prediction(
    "05.frozen_norm",
    "A frozen BatchNorm",
    {
        "A": Choice(
            "Nothing: no parameter requires grad, and autograd is off.",
            "The statistics are buffers, written in forward with plain numbers. Neither switch of autograd concerns "
            "them; `training` does.",
            "no_grad_freezes",
        ),
        "B": Choice(
            "`running_mean` and `running_var`.",
            "These two, and the third buffer as well, which counts the batches.",
            "the_counter_is_forgotten",
        ),
        "C": Choice(
            "`running_mean`, `running_var` and `num_batches_tracked`.",
            "All three buffers are written in forward, as long as the layer is in training mode.",
        ),
        "D": Choice(
            "Nothing visible: new statistics are written when the mode changes to eval.",
            "A change of mode sets `training` and nothing else. The statistics move with each forward.",
            "written_at_eval",
        ),
    },
)

module_over = Prediction(
    "05.module_over",
    "A module in a parameter's place",
    {
        "A": Choice(
            "`m.w = nn.ReLU()`",
            "TypeError: the name is a parameter's, and that is asked before it is asked what the value is.",
            "the_value_decides",
        ),
        "B": Choice(
            '`m.register_module("w", nn.ReLU())`',
            "KeyError: a name that exists already is refused, unless it stands in the same dict.",
            "register_replaces",
        ),
        "C": Choice(
            "`m.w = None`, then `m.w = nn.ReLU()`",
            "None leaves the name in `_parameters`, so it is a parameter's name still.",
            "none_deletes",
        ),
        "D": Choice(
            "`del m.w`, then `m.w = nn.ReLU()`",
            "Only after `del` the name is free.",
        ),
    },
)

converted = Prediction(
    "05.converted",
    "An optimizer from before double()",
    {
        "A": Choice(
            "They move, all of them.",
            "`_apply` keeps each Parameter object and sets its `.data`, so the optimizer's references stay good.",
        ),
        "B": Choice(
            "They do not move: the optimizer holds the float32 tensors from before.",
            "It holds the same Parameter objects as the model. Their memory and dtype were exchanged under them.",
            "double_makes_new_parameters",
        ),
        "C": Choice(
            "step() raises, since gradients are float64 and the optimizer's tensors float32.",
            "The optimizer's tensors are the model's, so they are float64 as well.",
            "dtypes_clash",
        ),
        "D": Choice(
            "They move at the first step only, which is when the optimizer still has valid references.",
            "A reference does not run out: either it is the same object or not. Here it is.",
            "references_run_out",
        ),
    },
)

best = Prediction(
    "05.best",
    "The best weights",
    {
        "A": Choice(
            "The weights of step 3: detaching has copied them.",
            "`detach()` makes a new tensor object on the same memory.",
            "detach_copies",
        ),
        "B": Choice(
            "The weights of step 3: `dict(...)` makes a copy.",
            "It copies the dict: the names, and the references to the same tensors.",
            "dict_copies_tensors",
        ),
        "C": Choice(
            "The weights of the last step, buffers as of step 3.",
            "Buffers are in the state dict as the parameters are: detached, on the same memory.",
            "buffers_are_copied",
        ),
        "D": Choice(
            "The weights of the last step.",
            "The entries share their memory with the model, and an optimizer writes into that memory, in place.",
        ),
    },
)

failed_load = Prediction(
    "05.failed_load",
    "A load that fails",
    {
        "A": Choice(
            "RuntimeError, and the model is as it was before.",
            "Nothing is put back: what fitted was copied before the error came.",
            "a_load_is_atomic",
        ),
        "B": Choice(
            'RuntimeError, and "0.bias", "1.weight", "1.bias" are zero.',
            "Faults are collected while everything that fits is copied, and told together at the end.",
        ),
        "C": Choice(
            'No error: `"0.weight"` is skipped and reported as missing.',
            "`strict=False` forgives names, not shapes.",
            "strict_forgives_shapes",
        ),
        "D": Choice(
            'RuntimeError at the first bad entry: nothing behind `"0.weight"` was loaded.',
            "It goes on to the end, so that one error can name every fault.",
            "stops_at_the_first",
        ),
    },
)

orphan = Prediction(
    "05.orphan",
    "A load with assign=True",
    {
        "A": Choice(
            "It trains from the checkpoint's weights.",
            "It would after a plain load, which copies into the parameters that the optimizer knows.",
            "assign_keeps_parameters",
        ),
        "B": Choice(
            "step() raises: the optimizer's parameters have no gradient any more.",
            "A parameter without a gradient is skipped, in silence.",
            "step_raises",
        ),
        "C": Choice(
            "The model keeps the checkpoint's weights; no step changes it, and no error comes.",
            "The model has new Parameter objects. The optimizer holds the old ones, which get no gradient, so it "
            "skips them.",
        ),
        "D": Choice(
            "It trains from the weights that the model had before the load.",
            "Those are what the optimizer holds, but nothing computes with them any more, so they get no gradient.",
            "the_old_ones_train",
        ),
    },
)

lost_version = Prediction(
    "05.lost_version",
    "A key that was dropped",
    {
        "A": Choice(
            "Both: the key is missing.",
            "BatchNorm itself puts the key in if the file says that it is older than version 2, or says nothing.",
            "no_completion",
        ),
        "B": Choice(
            "Only the one after `del`.",
            "It still has its `_metadata`: a file of version 2 must have the key. The comprehension lost the version, "
            "so it is taken for old, and completed.",
        ),
        "C": Choice(
            "Only the comprehension: a plain dict has no versions.",
            "It has none, and that is why it is taken for an old file, whose missing key is put in.",
            "none_is_new",
        ),
        "D": Choice(
            "Neither: BatchNorm completes the file.",
            "It completes old files only. After `del` the version, 2, is still there.",
            "always_completed",
        ),
    },
)

recall_positions = Prediction(
    "05.recall_positions",
    "From lab 04: the optimizer after a renaming",
    {
        "A": Choice(
            "The same renaming: its state is kept by the parameters' names.",
            "An optimizer has never heard of names: it was given a list of tensors.",
            "by_name",
        ),
        "B": Choice(
            "Nothing can be done: its state is kept by the ids of the old tensors.",
            "In memory it is kept by the tensors themselves. `state_dict()` turns them into numbers, 0, 1, 2, so that "
            "a new process can read it.",
            "by_id",
        ),
        "C": Choice(
            "Nothing needs to be done: its state is kept by positions.",
            "The state of parameter 0 goes to whatever is parameter 0 now, whatever its name is.",
        ),
        "D": Choice(
            "It must be loaded before the model, while the old names are there.",
            "No name is asked for, so the order of the two loads does not matter.",
            "order_of_loads",
        ),
    },
)
