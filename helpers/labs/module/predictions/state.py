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
    "Two values for a tied weight",
    {
        "A": Choice(
            "Zeros: the entry of the first name is loaded, and what has been filled is skipped.",
            "Nobody keeps a list of what has been filled: a load goes through the names, and each is filled.",
            "filled_once",
        ),
        "B": Choice(
            "Ones: both entries are copied into the one tensor, and the later one stays.",
            "Each name is filled, and both lead to one tensor. `head` comes behind `embed`.",
        ),
        "C": Choice(
            "Nothing new: the load raises RuntimeError, since the file contradicts the tie.",
            "A load compares names and shapes. That two names are one tensor is nowhere asked for.",
            "contradiction_raises",
        ),
        "D": Choice(
            "Zeros, and ones in `net.head.weight`: the load parts them.",
            "A plain load copies numbers into the tensors that are there, so one object stays one object.",
            "load_parts_ties",
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
    "Over a name that is taken",
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
            "`m.c = torch.ones(1)`",
            "TypeError: a child's name takes a module or None, and a tensor is neither.",
            "a_tensor_replaces_a_child",
        ),
        "D": Choice(
            "`m.c = p`",
            "Whether the value is a Parameter is the first question of all; what has the name elsewhere goes.",
        ),
    },
)

converted = Prediction(
    "05.converted",
    "The momentum after double()",
    {
        "A": Choice(
            "The weight float64, its momentum float64: what belongs to a Parameter goes with it.",
            "Its gradient does: `_apply` converts it. The momentum stands in the optimizer, in no dict of a module, and no "
            "walk over the tree comes by.",
            "double_converts_the_optimizer",
        ),
        "B": Choice(
            "The weight float64, its momentum float32.",
            "The Parameter is the same object with other memory, so the step reaches it. The momentum is the optimizer's "
            "own, and nobody converts it.",
        ),
        "C": Choice(
            "The weight float32, its momentum float32: the optimizer writes into the tensors that it was given.",
            "Those are the Parameters, the very objects that the model holds. Their dtype was exchanged under them.",
            "double_makes_new_parameters",
        ),
        "D": Choice(
            "There is no second step: it raises, since the gradient is float64.",
            "So it is with Adam. SGD adds the gradient to the momentum in place, which casts.",
            "dtypes_clash",
        ),
    },
)

best = Prediction(
    "05.best",
    "The best weights, and a change of dtype",
    {
        "A": Choice(
            "The weights after step 3, in float32: detaching has copied them.",
            "`detach()` makes a new tensor object on the same memory, and the optimizer writes into that, in place.",
            "detach_copies",
        ),
        "B": Choice(
            "The weights after step 10, in float64: the entries follow their parameters.",
            "An entry is a tensor of its own. It shares the memory that the parameter had, and knows of no other.",
            "entries_follow",
        ),
        "C": Choice(
            "The weights after step 5, in float32.",
            "Up to step 5 the entries share the model's memory, and each step is seen in them. `double()` gives the "
            "parameters other memory; `kept` stays behind with the old one.",
        ),
        "D": Choice(
            "The weights after step 10, in float32: the memory is the model's, the dtype that of the moment of saving.",
            "Numbers of a different dtype need other memory. From `double()` on the two share nothing.",
            "one_memory_two_dtypes",
        ),
    },
)

failed_load = Prediction(
    "05.failed_load",
    "Two loads that fail",
    {
        "A": Choice(
            "What it began with: neither file was loaded.",
            "Nothing is put back: what fitted was copied before the error came.",
            "a_load_is_atomic",
        ),
        "B": Choice(
            'Zeros, and in `"0.weight"` what it began with: missing names are noticed before anything is copied.',
            "Missing names are collected on the same walk that copies, and told at its end.",
            "names_are_compared_first",
        ),
        "C": Choice(
            "Ones in layer 0, zeros in layer 1.",
            "Each load copies all that fits, and raises at its end. The first one filled three entries with zeros, the "
            "second one layer 0 with ones.",
        ),
        "D": Choice(
            'Ones in layer 0, in layer 1 what it began with: the first load stopped at its first fault, `"0.weight"`.',
            "It goes on to the end, so that one error can name every fault.",
            "stops_at_the_first",
        ),
    },
)

orphan = Prediction(
    "05.orphan",
    "After a load with assign=True",
    {
        "A": Choice(
            "`model.load_state_dict(checkpoint)`, which copies into the tensors that are there.",
            "Those that are there are the model's new ones. The optimizer's are no longer in the model.",
            "copies_reach_the_optimizer",
        ),
        "B": Choice(
            "`optimizer.load_state_dict(optimizer.state_dict())`, which takes hold of the parameters again.",
            "An optimizer has never heard of the model: its state goes to the tensors that it holds already.",
            "optimizer_knows_the_model",
        ),
        "C": Choice(
            '`optimizer.param_groups[0]["params"] = list(model.parameters())`',
            "The optimizer has a list of objects, and now they are the model's again. (A momentum of the old ones is lost.)",
        ),
        "D": Choice(
            "`model.load_state_dict(before, assign=True)`, which puts the old ones back.",
            "A state dict holds detached tensors, no Parameters: new Parameters are made of them, in the memory of the old ones.",
            "state_dict_holds_parameters",
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
