"""Exercise 14.train_step_bytes: what each kind of memory of a training step takes."""

from __future__ import annotations

from typing import Any

import torch

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.memory.train_step_bytes import cases, inputs
from helpers.labs.memory.train_step_bytes.inputs import Step, require

train_step_bytes = Exercise(
    "14.train_step_bytes",
    "The budget of a step",
    objective="Say what each kind of memory of a training step takes, before you buy a larger GPU.",
    minutes=25,
    difficulty="medium",
    hints=[
        "Write the plain step first: gradients to None, the loss, its backward, `optimizer.step()`. Then ask between which two "
        "lines each kind can be seen. Gradients are not there before the backward, a state not before the step.",
        "A helper that takes tensors and adds up memories serves five of the six kinds: a dict from what tells a memory "
        "(`id_of`) to `untyped_storage().nbytes()` counts each once, and whole.",
        "For the sixth, hooks as in `saved_bytes`, around the forward of model and loss only. Count before the backward frees "
        "it all; what is there already is the parameters, the buffers, x and y. `pack` returns `tensor.detach()`.",
        "`model.zero_grad()` sets the gradients of all parameters to None, `optimizer.zero_grad()` only those of its own. "
        "`optimizer.state` has a dict for each parameter, and may have other keys, lists and dicts in it: `tree_leaves` of its "
        "values gives all that lies in them. Take every tensor, `step` too, and leave what is no tensor.",
    ],
)

ONE_STEP = (
    "One step: the gradients of all the model's parameters are set to None, the loss, its backward, `optimizer.step()`.",
    "The model, the loss, the backward and the optimizer run once each.",
    "The weights end where the plain step takes them.",
)
LOSS = "`loss_fn(model(x), y)` is the loss, a scalar; it uses no other tensors."
MAKES = "Makes one training step, and returns the bytes that each kind of memory takes."
MODEL = '"parameters" and "buffers": those of the model.'
BATCH = '"batch": x and y.'
SAVED = (
    '"saved": what the forward of model and loss keeps for the backward, as `saved_bytes` counts it: nothing of the '
    "parameters, the buffers and the batch."
)
GRADIENTS = '"gradients": of the model\'s parameters, as they are when the backward has ended.'
OPTIMIZER = '"optimizer": the tensors in `optimizer.state` after the step, wherever they lie in its dicts, lists, tuples and deques.'
ONCE = "Within a kind, a memory counts once, whole, however many tensors look at it."
LEFT = "The gradients are left in the parameters."
MLP = "Linear(6, 5), Tanh, Linear(5, 4), cross entropy"


@train_step_bytes.property(
    "the six kinds of a plain step",
    asks=(MAKES, LOSS, MODEL, BATCH, SAVED, GRADIENTS, OPTIMIZER),
)
def plain(answer: Any, trial: Trial) -> None:
    require(answer, trial, f"{MLP}, a batch of 9, SGD with momentum", inputs.momentum, {})
    require(answer, trial, f"{MLP}, a batch of 7, Adam", inputs.adam, {})
    require(
        answer,
        trial,
        f"{MLP}, a batch of 8, SGD",
        inputs.stateless,
        {"optimizer": "SGD without momentum has no state."},
    )


@train_step_bytes.property("each part of the step runs once", asks=ONE_STEP[:2])
def once_each(answer: Any, trial: Trial) -> None:
    its, mine = require(answer, trial, f"{MLP}; gradients of an earlier batch are there", inputs.noted, {})
    _same_ran(trial, its, mine, "A step has each part once.")


def _same_ran(trial: Trial, its: Step, mine: Step, why: str) -> None:
    trial.true(
        sorted(its.ran) == sorted(mine.ran),
        f"This ran: {', '.join(its.ran) or 'nothing'}. {why}",
        expected=", ".join(mine.ran),
        got=", ".join(its.ran) or "nothing",
        observed=("ran", list(its.ran)),
    )


@train_step_bytes.property("the model is called, with its hooks", asks=LOSS)
def with_hooks(answer: Any, trial: Trial) -> None:
    words = f"{MLP}; the model has a forward hook and a forward pre-hook, which are noted"
    its, mine = require(answer, trial, words, inputs.hooked, {})
    _same_ran(trial, its, mine, "`model(x)` runs the model's hooks, too, each once.")


FROM_EARLIER = {
    "gradients": "Gradients of an earlier batch were there. They are set to None, all of them; the parameters that are not "
    "used, and the frozen ones, get none."
}
OF_BUFFERS = {
    "buffers": "Running mean, running variance, the count of batches, and the model's own buffers, persistent or not.",
    "saved": "Parts of buffers are saved here. Their memory was there before.",
}
IN_EVAL_MODE = OF_BUFFERS | {
    "saved": "The model is in eval mode: batch norm saves its running statistics, which were there before, and dropout nothing."
}


@train_step_bytes.property(
    "a weight under two names, and a batch in one memory: once", asks=(MODEL, BATCH, ONCE)
)
def shared_memory(answer: Any, trial: Trial) -> None:
    require(
        answer,
        trial,
        "an embedding whose weight is that of the last layer, too; x and y are tokens[:, :-1] and tokens[:, 1:]",
        inputs.tied,
        {
            "parameters": "The weight of both ends is one memory.",
            "batch": "x and y look at one memory, that of tokens, which counts once, whole.",
            "gradients": "The weight of both ends has one gradient.",
        },
    )
    require(
        answer,
        trial,
        "an autoencoder: y is x, rows 3 to 9 of a tensor with 12",
        inputs.copied,
        {"batch": "x and y are one tensor, that looks at a part of a memory. It counts once, whole."},
    )


@train_step_bytes.property(
    "parameters, gradients and states that are parts of one memory: once, whole",
    asks=(ONCE, MODEL, GRADIENTS, OPTIMIZER),
)
def parts(answer: Any, trial: Trial) -> None:
    its, mine = require(
        answer,
        trial,
        "three parameters and a buffer that are parts of one memory of 41 numbers, and a frozen fourth; an optimizer whose "
        "states are parts of one memory",
        inputs.flat,
        {
            "parameters": "Three parameters are parts of a memory of 164 bytes, of which a parameter keeps all alive.",
            "buffers": "The buffer looks at the memory of parameters. Once within a kind, and in each kind.",
            "gradients": "The gradients of what torch.cat put together are parts of one memory, of which the part of the frozen fourth is nobody's.",
            "optimizer": "The states are parts of one memory, which counts once, whole; what is no tensor does not count.",
        },
    )
    same_end(trial, its, mine)


@train_step_bytes.property(
    "frozen parameters, those not used, and those of no optimizer",
    asks=(ONE_STEP[0], MODEL, SAVED, GRADIENTS, OPTIMIZER),
)
def some_only(answer: Any, trial: Trial) -> None:
    require(
        answer,
        trial,
        "four layers: one is frozen, one is not used, the last is not in the optimizer (AdamW with amsgrad, two groups); "
        "gradients of an earlier batch are there",
        inputs.partly,
        FROM_EARLIER,
    )


@train_step_bytes.property("buffers, whatever the mode of the model", asks=(MODEL, SAVED))
def all_buffers(answer: Any, trial: Trial) -> None:
    for training in (True, False):
        words = f"batch norm, dropout and buffers of its own, model.{'train' if training else 'eval'}()"
        lessons = OF_BUFFERS if training else IN_EVAL_MODE
        require(answer, trial, words, lambda g, training=training: inputs.masked(g, training), lessons)
    require(
        answer,
        trial,
        "a model that uses a buffer, and then puts a new tensor in its place",
        inputs.running,
        {
            "saved": "The old tensor of the buffer is saved. Its memory was there before, and is that of a buffer."
        },
    )


@train_step_bytes.property(
    "weights, buffers and gradients are those of the plain step", asks=(*ONE_STEP, LEFT)
)
def ends_there(answer: Any, trial: Trial) -> None:
    words = f"{MLP}; gradients of an earlier batch are there"
    same_end(trial, *require(answer, trial, words, inputs.noted, {}))
    words = "layers of which some are frozen, not used or not in the optimizer; gradients of an earlier batch are there"
    same_end(trial, *require(answer, trial, words, inputs.partly, FROM_EARLIER))
    for training in (True, False):
        words = f"batch norm and dropout, model.{'train' if training else 'eval'}()"
        same_end(
            trial,
            *require(
                answer, trial, words, lambda g, training=training: inputs.masked(g, training), OF_BUFFERS
            ),
        )


def same_end(trial: Trial, its: Step, mine: Step) -> None:
    """Wrong unless an answer left its model as the plain step leaves it."""
    theirs = dict(its.model.named_parameters())
    for name, want in mine.model.named_parameters():
        got = theirs[name]
        trial.true(
            (got.grad is None) == (want.grad is None),
            f"The gradient of {name} is {'None' if got.grad is None else 'there'} after the call. "
            + (
                "The gradients of the step are left where they are."
                if got.grad is None
                else "No backward of this step has made it."
            ),
            expected="None" if want.grad is None else "the gradient of this step",
            got="None" if got.grad is None else "a gradient",
            observed=("gradient", name, got.grad is None),
        )
        if want.grad is not None:
            trial.equal(
                got.grad,
                want.grad,
                f"The gradient of {name} after the call",
                rtol=1e-5,
                atol=1e-6,
            )
    for name, want in mine.model.named_parameters():
        trial.equal(
            theirs[name].detach(),
            want.detach(),
            f"The parameter {name} after the step",
            rtol=1e-5,
            atol=1e-6,
        )
    its_buffers = dict(its.model.named_buffers())
    for name, want in mine.model.named_buffers():
        trial.equal(its_buffers[name], want, f"The buffer {name} after the step", rtol=1e-5, atol=1e-6)
    entries, right = len(its.optimizer.state), len(mine.optimizer.state)
    trial.true(
        entries == right,
        f"optimizer.state has {entries} entries after the call, and {right} after the plain step. "
        "`optimizer.state[parameter]` makes an empty entry where there is none.",
        expected=f"{right} entries",
        got=f"{entries} entries",
        observed=("entries", entries),
    )
    trial.true(
        its.model.training == mine.model.training,
        f"model.training is {its.model.training} after the call, and was {mine.model.training}.",
        expected=f"model.training {mine.model.training}",
        observed=("training", its.model.training),
    )
    trial.true(
        torch.equal(its.generator, mine.generator),
        "The weights are right, and torch's generator is not where the plain step leaves it: dropout draws from it, so the next "
        "step would use a different mask.",
        expected="the generator as after the plain step",
        observed="generator",
    )


@train_step_bytes.property("of what is saved each memory once, whole", asks=(SAVED, ONCE))
def saved_once(answer: Any, trial: Trial) -> None:
    require(
        answer,
        trial,
        "a model that saves several parts of one memory, and an expanded tensor; a loss that saves a difference",
        inputs.repeated,
        {"saved": "Several parts of one memory are saved, and each keeps the whole alive."},
    )


@train_step_bytes.property(
    "what model and loss both keep, and what the model alone keeps", asks=(SAVED, ONCE)
)
def model_and_loss(answer: Any, trial: Trial) -> None:
    require(
        answer,
        trial,
        "a Linear(6, 1), Sigmoid and Flatten(0), binary cross entropy, a batch of 7",
        cases.kept_by_both,
        {
            "saved": "Sigmoid saves its result, and the loss saves it as its input: one memory, which counts once."
        },
    )
    require(
        answer,
        trial,
        "a Linear(6, 5) and Tanh, the loss (out - y).square().mean(), a batch of 7",
        cases.kept_by_the_model,
        {"saved": "Tanh saves its result, the model's, and square the difference to y: two memories."},
    )


@train_step_bytes.property("what the forward gave up is not kept", asks=SAVED)
def given_up(answer: Any, trial: Trial) -> None:
    for by_sigmoid, ends in ((False, "a product"), (True, "sigmoid")):
        require(
            answer,
            trial,
            f"a model that makes a second result, by sin, a Linear and {ends}, and throws it away",
            lambda g, by_sigmoid=by_sigmoid: inputs.wasteful(g, by_sigmoid),
            {"saved": "What was saved for a result that is thrown away is freed before the loss is there."},
        )
    require(
        answer,
        trial,
        "a model that keeps the sigmoid of a second result to show it, by detach",
        inputs.showing,
        {
            "saved": "sigmoid has saved its result, and given it up with its graph. The model keeps the memory; no backward "
            "needs it."
        },
    )


@train_step_bytes.property("what is written in place through a view", asks=SAVED)
def written_in_place(answer: Any, trial: Trial) -> None:
    require(
        answer,
        trial,
        "a model that edits parts of a result in place, by mul_ and masked_fill_",
        cases.rewriting,
        {
            "saved": "An edit in place through a view saves what its backward needs: both factors, or the mask."
        },
    )


@train_step_bytes.property("an address that is given out again is that of a new memory", asks=(SAVED, ONCE))
def given_out_again(answer: Any, trial: Trial) -> None:
    for words, make, lesson in (
        (
            "a model that first makes larger results, and throws them away",
            cases.larger_before,
            "What was thrown away was larger. Its addresses may be given out again.",
        ),
        (
            "a model that puts new tensors in the place of its 16 buffers",
            cases.aged,
            "Nothing has saved the old buffers, and they are freed. Their addresses may be given out again.",
        ),
    ):
        for _ in range(3):  # whether an address is given out again is up to the allocator
            require(answer, trial, words, make, {"saved": lesson}, by_chance=True)


@train_step_bytes.property("the gradients before the optimizer has them", asks=GRADIENTS)
def when_the_backward_has_ended(answer: Any, trial: Trial) -> None:
    for words, make in (
        ("an optimizer whose step puts all gradients into one memory, with some room left", inputs.gathered),
        ("an optimizer whose step lets the gradients go", inputs.let_go),
    ):
        require(
            answer,
            trial,
            words,
            make,
            {
                "gradients": "Asked for are the gradients before the optimizer's step, which may do with them what it likes."
            },
        )


@train_step_bytes.property("tensors in the optimizer's state, wherever they lie in it", asks=OPTIMIZER)
def deep_in_the_state(answer: Any, trial: Trial) -> None:
    its, mine = require(
        answer,
        trial,
        "an optimizer whose state has lists, dicts and tuples in it, and entries that are of no parameter",
        inputs.deep_state,
        {
            "optimizer": 'Tensors lie in lists, dicts and tuples here, and under the keys "scale" and "shared", which are no '
            "parameters."
        },
    )
    same_end(trial, its, mine)
    require(
        answer,
        trial,
        "an optimizer whose state has an OrderedDict for each parameter, with a named tuple in it, and a defaultdict",
        inputs.sorted_state,
        {
            "optimizer": "Tensors lie in an OrderedDict, a defaultdict and a named tuple here, which are dicts and tuples, too."
        },
    )
    require(
        answer,
        trial,
        "an optimizer whose state has a deque for each parameter, with its last gradients",
        cases.queued,
        {"optimizer": "Tensors lie in deques here."},
    )
    require(
        answer,
        trial,
        f"{MLP}, Adam, whose learning rate is a tensor",
        inputs.tensor_rate,
        {"optimizer": "The learning rate lies in `optimizer.param_groups`, and not in `optimizer.state`."},
    )


@train_step_bytes.property("bytes, whatever the dtype", asks=(MAKES, ONCE))
def any_dtype(answer: Any, trial: Trial) -> None:
    require(
        answer,
        trial,
        "a layer in bfloat16 and one in float64, a loss in float32, Adam",
        inputs.mixed,
        {},
    )


@train_step_bytes.property("step after step", asks=(MAKES, *ONE_STEP))
def step_after_step(answer: Any, trial: Trial) -> None:
    for words, make in (
        (f"{MLP}, a batch of 7, Adam", inputs.adam),
        ("parameters in one memory", inputs.flat),
    ):
        its, mine = require(answer, trial, words, make, {}, times=3)
        same_end(trial, its, mine)
