"""Words of the docstring of 14.train_step_bytes that a mistake breaks."""

from __future__ import annotations

LOSS = "`loss_fn(model(x), y)` is the loss"
NONE = "the gradients of all the model's parameters are set to None"
ONCE_EACH = "The model, the loss, the backward and the optimizer run once each."
ENDS = "The weights end where the plain step takes them."
MODEL = '"parameters" and "buffers": those of the model.'
BATCH = '"batch": x and y.'
SAVED = '"saved": what the forward of model and loss keeps for the backward'
NOTHING_OF = "nothing of the parameters, the buffers and the batch."
GRADIENTS = '"gradients": of the model\'s parameters, as they are when the backward has ended.'
OPTIMIZER = '"optimizer": the tensors in `optimizer.state` after the step, wherever they lie in its dicts, lists, tuples and deques.'
WITHIN = "Within a kind, a memory counts once"
WHOLE = "Within a kind, a memory counts once, whole, however many tensors look at it."
LEFT = "The gradients are left in the parameters."
