"""Words of the docstring of 14.saved_bytes that a mistake breaks."""

from __future__ import annotations

MAKES = "The bytes that `fn(*args)` makes and keeps for its backward."
SAVED = "Counted is the memory of the tensors that autograd saves"
KEEPS = "and that the graph of the result still holds when `fn` has returned"
GAVE_UP = "what autograd saved and gave up before that does not count."
ONCE = "A memory counts once"
WHOLE = "A memory counts once, whole, however many saved tensors look at it, and through whatever part of it."
BEFORE = "Memory that was there before does not count"
ARGUMENTS = "that of the arguments"
MODULE = "and of a module's parameters and buffers."
RUNS = "`fn` runs once"
NO_BACKWARD = "no backward runs."
NOTHING = "`saved_bytes` keeps nothing alive that `fn` made."
OFF = "With gradients switched off the result is 0."
