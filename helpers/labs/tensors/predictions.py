"""Predictions of lab 11. Each question stands in the notebook, above the cell that shows what happens."""

from __future__ import annotations

from helpers.prediction import Choice, Prediction

constructors = Prediction(
    "11.constructors",
    "Three constructors",
    {
        "A": Choice(
            "All three are the same tensor of two integers.",
            "They differ by more than a capital letter: torch.Tensor is the class, and its old constructor always makes the default dtype.",
            "one_constructor",
        ),
        "B": Choice(
            "Two integers, two floats, and a 2 x 3 tensor of floats that nobody has filled.",
            "torch.tensor finds the dtype from the numbers. torch.Tensor makes the default dtype, and takes integers for sizes.",
        ),
        "C": Choice(
            "Two integers, two integers, and an error: `torch.Tensor` takes a list.",
            "torch.Tensor never makes integers, and it takes sizes, too.",
            "like_tensor",
        ),
        "D": Choice(
            "Two floats each, since float32 is the default dtype; the third is 2 x 3, filled with zeros.",
            "torch.tensor takes the dtype of the numbers: integers stay integers. And memory of torch.Tensor(2, 3) is not filled.",
            "default_dtype",
        ),
    },
)

every_second = Prediction(
    "11.every_second",
    "Every second column",
    {
        "A": Choice(
            "Offset 4, stride (2, 1): it has two columns, so a row is two elements long.",
            "Nothing was moved. The next row lies as far away as before, four elements.",
            "columns_of_the_view",
        ),
        "B": Choice(
            "Offset 0, stride (4, 2): it begins a row later because of its sizes.",
            "The first element of y is x[1, 0], the fifth of the storage.",
            "offset_forgotten",
        ),
        "C": Choice(
            "Offset 4, stride (4, 2).",
            "It begins four elements later, a row is still four elements long, and every second column is two steps.",
        ),
        "D": Choice(
            "Offset 16, stride (16, 8).",
            "These are NumPy's numbers, in bytes. torch counts elements.",
            "in_bytes",
        ),
    },
)

channels = Prediction(
    "11.channels",
    "Channels in front",
    {
        "A": Choice(
            "The picture, with its channels in front: the elements stay, the dimensions get new names.",
            "That is permute(2, 0, 1). view keeps the order in which the elements come.",
            "view_renames",
        ),
        "B": Choice(
            "An error: the strides do not fit.",
            "The picture is contiguous, so every size with as many elements fits.",
            "strides_do_not_fit",
        ),
        "C": Choice(
            "The picture, turned on its side.",
            "To turn it the order of its pixels would have to change. view changes no order.",
            "turned",
        ),
        "D": Choice(
            'A tensor of the right shape, in which each "channel" is a third of the rows, with the colours still side by side.',
            "The elements come in the same order, red, green, blue, red ..., and are cut into three parts.",
        ),
    },
)

which_views = Prediction(
    "11.which_views",
    "A view of a transposed tensor",
    {
        "A": Choice(
            "`q.view(8, 3)`",
            "To join 2 and 4 into 8, the step of the 2 would have to be four steps of 1. It is 12.",
            "joins_the_first_two",
        ),
        "B": Choice(
            "`q.view(2, 12)`",
            "To join 4 and 3 into 12, the step of the 4 would have to be three steps of 4. It is 1.",
            "joins_the_last_two",
        ),
        "C": Choice(
            "`q.view(2, 2, 2, 3)`",
            "It only cuts the dimension of 4 into 2 and 2, and that is always possible.",
        ),
        "D": Choice(
            "`q.view(24)`",
            "In memory they lie in a row, yes, but in the order of the tensor before it was transposed.",
            "always_flat",
        ),
    },
)

overlap = Prediction(
    "11.overlap",
    "Writing to windows",
    {
        "A": Choice(
            "They become 1, 2, 3, 2, 1: an element is increased once for each window that it is in.",
            "The middle is in three windows, the ends in one.",
        ),
        "B": Choice(
            "They become 1, 1, 1, 1, 1: each is in the view.",
            "The view has nine elements in five places. Each of the nine is increased.",
            "once_each",
        ),
        "C": Choice(
            "It raises: several elements of the view lie in one place.",
            "`add_` refuses a stride of 0. Whether other strides overlap is costly to find out, so torch does not look.",
            "refused",
        ),
        "D": Choice("Nothing: `unfold` copies.", "unfold makes a view: only its strides are new.", "a_copy"),
    },
)

lost_write = Prediction(
    "11.lost_write",
    "Writing to what reshape gives",
    {
        "A": Choice(
            "The 1 and the 2: `reshape` is a view.",
            "a.T has the elements in an order that no strides of six elements reach: reshape has to copy.",
            "always_a_view",
        ),
        "B": Choice(
            "Neither: `reshape` is a copy.",
            "a is contiguous, so there is a view, and reshape takes it.",
            "always_a_copy",
        ),
        "C": Choice(
            "The 1 only: the first is a view, the second a copy.", "reshape gives a view where there is one."
        ),
        "D": Choice("The 2 only.", "It is the transposed one that has to be copied.", "the_other_way_round"),
    },
)

listed_rows = Prediction(
    "11.listed_rows",
    "A list as an index",
    {
        "A": Choice(
            "0, 0, 0, 0: a list as an index copies.",
            "Reading with a list copies. But b[...] += 5 does not only read: in the end it sets the items.",
            "never_writes",
        ),
        "B": Choice(
            "0, 5, 5, 0: the first writes back, the second only into the copy.",
            "The first ends with b[[1, 2]] = ..., which writes. The second has no such step.",
        ),
        "C": Choice("0, 10, 10, 0: both write.", "c is a copy, with a memory of its own.", "both_write"),
        "D": Choice("0, 5, 5, 0 and a warning.", "There is no warning.", "with_a_warning"),
    },
)

clone_layout = Prediction(
    "11.clone_layout",
    "The layout of a clone",
    {
        "A": Choice(
            "(1, 3): it is a copy of the layout, too.",
            "clone() preserves the format: memory is copied from end to end.",
        ),
        "B": Choice(
            "(2, 1): a new tensor is contiguous.",
            "That is what contiguous() gives. clone() keeps the layout, if it is dense.",
            "contiguous",
        ),
        "C": Choice(
            "(3, 1): those of a.",
            "These are three elements a row and one a column. The size of the clone is (3, 2).",
            "the_strides_of_a",
        ),
        "D": Choice(
            "(1, 2): the transposed of contiguous.",
            "Two steps of 1 in the first dimension and a step of 2 would meet: elements would overlap.",
            "of_the_new_size",
        ),
    },
)

pickled_row = Prediction(
    "11.pickled_row",
    "The bytes of a row",
    {
        "A": Choice(
            "About 4,000 each: a row is what is asked for.",
            "A tensor is written as its storage and its numbers, and the storage is whole.",
            "only_the_row",
        ),
        "B": Choice(
            "About 4,000 by pickle, and 4,000,000 by `torch.save`, which writes storages.",
            "Pickling a tensor writes its storage, too. Both do it so.",
            "only_torch_save",
        ),
        "C": Choice("About 4,000,000 each.", "Both write the storage that the row looks at."),
        "D": Choice(
            "An error: a view cannot be stored without its base.",
            "The storage is all that it needs.",
            "needs_its_base",
        ),
    },
)

note = Prediction(
    "11.note",
    "Notes on a tensor",
    {
        "A": Choice(
            "No: the Python object is gone with its last name, and `p.grad` makes a new one around the C++ tensor.",
            "It would be so if Python alone counted. The C++ tensor holds its Python object.",
            "gone_with_the_name",
        ),
        "B": Choice("No: `p.grad = g` copies.", ".grad holds the very tensor.", "a_copy"),
        "C": Choice(
            "Yes, until the garbage collector runs.", "The collector sees that it is held.", "until_collected"
        ),
        "D": Choice(
            "Yes: as long as the C++ tensor lives, its Python object lives.",
            "The two objects live and die together.",
        ),
    },
)

recall_state = Prediction(
    "11.recall_state",
    "A state dict as a snapshot",
    {
        "A": Choice(
            "The weights as they were: a state dict is a snapshot.", "It holds no copies.", "a_snapshot"
        ),
        "B": Choice(
            "Nothing: the tensors in `best` share their memory with the parameters, so they have been trained, too.",
            "Its tensors are views of the parameters.",
        ),
        "C": Choice("The parameters come back, the buffers do not.", "Both are shared.", "buffers_only"),
        "D": Choice("An error: the tensors have changed since.", "Nobody compares them.", "notices"),
    },
)

recall_version = Prediction(
    "11.recall_version",
    "Detached, and changed",
    {
        "A": Choice(
            "The gradient is right: `detach()` made a copy.", "It shares the memory.", "detach_copies"
        ),
        "B": Choice(
            "The gradient is wrong, and nobody says so.",
            "That is what .data would do: it has a version counter of its own.",
            "silent",
        ),
        "C": Choice(
            "An error: `detach()` shares the memory *and* its version counter, and `exp` has saved its result.",
            "exp has saved y, and backward sees that its version has changed.",
        ),
        "D": Choice(
            "An error at `add_`: a detached tensor is read-only.",
            "It is an ordinary tensor that needs no gradient.",
            "read_only",
        ),
    },
)
