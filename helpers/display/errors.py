"""What the errors of Python and torch usually mean, for somebody who sees one in their answer."""

from __future__ import annotations

import re

# Words of the error -> what usually lies behind it. The first that fits is told: special ones stand first.
MEANINGS = (
    (
        r"RecursionError",
        "A function called itself until Python gave up: the case that ends the recursion is missing, or is never reached.",
    ),
    (
        r"leaf Variable that requires grad",
        "A leaf that requires grad may not be edited in place while gradients are recorded: work under torch.no_grad(), or on a new tensor.",
    ),
    (
        r"does not require grad and does not have a grad_fn",
        "The value has no graph behind it: something on the way was detached, made anew, or computed under no_grad.",
    ),
    (
        r"backward through the graph a second time",
        "One graph was walked twice, and what it had saved was freed after the first time.",
    ),
    (
        r"modified by an inplace operation",
        "A tensor that backward still needs was edited in place after it had been saved.",
    ),
    (
        r"expand|broadcast|must match the size|size of tensor|shapes cannot be multiplied|mat1 and mat2",
        "Two shapes do not fit. Print both shapes just before this line, and say for each dimension what it counts.",
    ),
    (
        r"dtype|scalar type|floating point|not implemented for '",
        "A dtype does not fit here, or two that do not mix. Print the dtypes of what stands in this line.",
    ),
    (
        r"'NoneType'",
        "Something here is None. Often a function without `return` gave it, or a method that edits in place; or a value is None the first time.",
    ),
    (
        r"UnboundLocalError",
        "A name is assigned somewhere in this function, so all of the function takes it for its own, and here it has no value yet.",
    ),
    (r"NameError", "This name is not known here: a slip of the keyboard, a missing import, or a cell above that was not run."),
    (
        r"AttributeError",
        "The object has no such attribute. Print its type: often it is another kind of object than you think, or `__init__` did not set it.",
    ),
    (
        r"TypeError: .*(argument|positional)",
        "Something was called with other arguments than it takes. Compare the call with the definition, and do not forget `self`.",
    ),
    (r"TypeError", "An operation got a kind of object that it cannot work with. Print the types of what stands in this line."),
    (
        r"IndexError|StopIteration",
        "It asked for one more than there is. Try the shortest input by hand: none, one, and a length that does not divide.",
    ),
    (r"KeyError", "The dictionary has no such key. Print its keys, and the type of the key that is asked for."),
    (r"ZeroDivisionError", "Something that is divided by is 0: an empty input, or the first step."),
    (r"ValueError", "The kind of the value is right, the value is not. Print it just before this line."),
    (r"AssertionError", "An `assert` in your own code did not hold: what it says is not so for this input."),
    (r"MemoryError|too much memory", "It asked for more memory than there is: something grows with each step, or a size is wrong."),
    (r"segmentation fault|abort", "The process died in C++: memory was used that was freed, or that belongs to another shape."),
    (r"RuntimeError", "torch refused the operation; the end of its message says why. Print shape and dtype of what stands in this line."),
)  # fmt: skip


def meaning(message: str) -> str:
    """One sentence on the error that a message names, "" if nothing is known of it."""
    return next((sense for words, sense in MEANINGS if re.search(words, message)), "")
