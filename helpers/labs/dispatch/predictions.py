"""Predictions of lab 12. Each question stands in the notebook, above the cell that shows what happens."""

from __future__ import annotations

from helpers.prediction import Choice, Prediction

variants = Prediction(
    "12.variants",
    "Functions and methods",
    {
        "A": Choice(
            "None: every operator can be called in both ways.",
            "`variants` says for each operator in which ways: add_ and stack have one each.",
            "both_ways",
        ),
        "B": Choice(
            "`torch.add_` and `x.stack`.",
            "`variants: method` is a method only, no `variants` a function only, and relu_ is both.",
        ),
        "C": Choice(
            "`torch.add_`, `torch.relu_` and `x.stack`: what works in place is a method.",
            "relu_ has `variants: function, method`: torch.relu_ works in place, too.",
            "in_place_is_a_method",
        ),
        "D": Choice(
            "`x.stack` only: each operator is a function, and some are methods, too.",
            "add_ has `variants: method`, so there is no torch.add_.",
            "always_a_function",
        ),
    },
)

who_sees = Prediction(
    "12.who_sees",
    "Who sees a backward",
    {
        "A": Choice(
            "Both.", "Nobody calls a function of Python in a backward: nothing passes the top.", "both_see"
        ),
        "B": Choice(
            "The top only: the backward calls functions, too.",
            "The engine calls operators in C++. No Python function is called.",
            "the_top",
        ),
        "C": Choice(
            "The bottom only: the engine is C++, and calls operators.",
            "The nodes of the graph call operators in C++, and these go through the dispatcher as all do.",
        ),
        "D": Choice(
            "Neither: the engine runs in a thread of its own.",
            "For the CPU, the engine works in the thread that called backward. And it takes the modes along.",
            "a_different_thread",
        ),
    },
)

composite = Prediction(
    "12.composite",
    "What a matmul is made of",
    {
        "A": Choice(
            "`aten.matmul.default`.",
            "matmul has no kernel of its own for the CPU. It is made of other operators.",
            "matmul_itself",
        ),
        "B": Choice(
            "Nothing: matmul goes to MKL by itself.",
            "MKL is called by the kernel of bmm, and bmm is an operator.",
            "nothing",
        ),
        "C": Choice(
            "`aten.mm.default`, twice: one for each matrix.",
            "Two batches are multiplied by one bmm.",
            "twice_mm",
        ),
        "D": Choice(
            "`aten.expand`, `aten.view`, `aten.bmm`: matmul is made of other operators, and only those reach a backend.",
            "The composite function runs above, and its parts reach the backend.",
        ),
    },
)

host = Prediction(
    "12.host",
    "Who has to wait",
    {
        "A": Choice(
            "`torch.where(x > 0, x, 0.0)`",
            "Its result has the size of x, whatever the numbers are. All of it is done on the device.",
        ),
        "B": Choice(
            "`if (x > 0).any(): ...`",
            "Python has to know which way to go, and so it needs the number.",
            "an_if_is_free",
        ),
        "C": Choice(
            "`x[x > 0]`",
            "How many are kept depends on the numbers. The host needs the size to make the result.",
            "a_mask_is_free",
        ),
        "D": Choice("`print(x.mean())`", "What is to be printed has to arrive first.", "a_print_is_free"),
    },
)

fused = Prediction(
    "12.fused",
    "Three kernels",
    {
        "A": Choice(
            "8 MB: x is read once and the result is written once.",
            "That would be one kernel. In eager mode nobody puts the three together.",
            "fused_by_itself",
        ),
        "B": Choice(
            "12 MB: the middle results stay in the cache.",
            "4 MB may stay in a large cache, but each kernel reads and writes it all the same, and that is what is asked.",
            "kept_in_the_cache",
        ),
        "C": Choice(
            "16 MB: each of the two middle results is made once.",
            "Each middle result is also read again by the next kernel.",
            "middle_made_once",
        ),
        "D": Choice(
            "24 MB: three kernels, and each reads and writes 4 MB.",
            "Each operator is a kernel of its own: 8 MB, three times.",
        ),
    },
)

roofline = Prediction(
    "12.roofline",
    "One token at a time",
    {
        "A": Choice("About a third of a percent.", "One operation for each byte; 295 would be needed."),
        "B": Choice(
            "About 5 %.", "989e12 / 3.35e12 is 295 operations for each byte. Here it is one.", "a_twentieth"
        ),
        "C": Choice(
            "About half: as many bytes as operations.",
            "As many operations as bytes, yes. But the GPU can compute 295 times as many operations as it can read bytes.",
            "half",
        ),
        "D": Choice(
            "All of it: matrix products are limited by arithmetic.",
            "A product of two large matrices is. This one uses each weight once.",
            "always_arithmetic",
        ),
    },
)

key_set = Prediction(
    "12.key_set",
    "Sets of keys",
    {
        "A": Choice(
            "One: keys belong to operators.",
            "An operator has a row for each key. Which row is taken is decided by the tensors.",
            "keys_of_operators",
        ),
        "B": Choice(
            "Two: with data and without.",
            "The sparse tensor has data, too, and needs other kernels.",
            "data_or_not",
        ),
        "C": Choice(
            "Three: dtypes do not count.",
            "Device and layout make keys: CPU, SparseCPU and Meta. A dtype makes none.",
        ),
        "D": Choice("Five.", "The dtype is looked at inside of a kernel, by a switch.", "dtypes_count"),
    },
)

no_grad = Prediction(
    "12.no_grad",
    "The Autograd kernel",
    {
        "A": Choice(
            "Never: nothing requires grad.",
            "The key is there for nearly every tensor. Its kernel looks whether anything requires grad.",
            "needs_grad",
        ),
        "B": Choice(
            "Only in the plain call.",
            "no_grad is a flag, which the kernel reads. It changes no set of keys.",
            "no_grad_removes_it",
        ),
        "C": Choice(
            "In the plain call and under `no_grad`.", "Only inference_mode takes the key out of the set."
        ),
        "D": Choice(
            "In all three: the key is in the tensor.",
            "It is in the tensor, but inference_mode excludes it for the whole thread.",
            "always",
        ),
    },
)

casts = Prediction(
    "12.casts",
    "Casts of a weight",
    {
        "A": Choice(
            "4: three inputs, and the weight once.",
            "The cast of a weight that requires grad is kept until the block ends.",
        ),
        "B": Choice(
            "6: an input and the weight, each time.", "So it would be without the cache.", "each_time"
        ),
        "C": Choice(
            "2: one of the input, one of the weight.",
            "The three inputs are three tensors, and each is cast.",
            "one_input",
        ),
        "D": Choice(
            "0: the kernel reads float32 and computes in bfloat16.",
            "The kernel of mm takes two tensors of one dtype. Somebody has to cast them, and that is an operator.",
            "in_the_kernel",
        ),
    },
)

recall_hook = Prediction(
    "12.recall_hook",
    "What a hook sees",
    {
        "A": Choice(
            "Yes: all that happens in a forward happens in some module.",
            "relu is called by the forward of a module, and has none of its own.",
            "all_in_modules",
        ),
        "B": Choice("Yes, as a module without a name.", "A function makes no module.", "a_nameless_module"),
        "C": Choice(
            "No: hooks belong to modules, and this is a function.", "Only the call of a module runs hooks."
        ),
        "D": Choice("Only if the model is in train mode.", "Hooks run in both modes.", "in_training"),
    },
)

recall_index = Prediction(
    "12.recall_index",
    "A view by index",
    {
        "A": Choice(
            "`x[1:3]` and `x[[1, 2]]`",
            "A list picks elements that no stride can reach in general.",
            "both_are_views",
        ),
        "B": Choice("`x[1:3]` only", "A slice has strides, a list has not."),
        "C": Choice("`x[[1, 2]]` only", "A list is copied, a slice is not.", "the_list"),
        "D": Choice(
            "Neither: indexing is done in Python.",
            "Both are operators: aten.slice and aten.index.",
            "in_python",
        ),
    },
)
