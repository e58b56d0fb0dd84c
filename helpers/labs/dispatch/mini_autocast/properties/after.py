"""Properties of 12.mini_autocast about the end of a block: what is forgotten, and what an error does."""

from __future__ import annotations

import gc
import weakref
from contextlib import nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch.multiprocessing.reductions import StorageWeakRef

from helpers.check.garbage import only_new_garbage
from helpers.check.trial import Trial
from helpers.labs.dispatch.mini_autocast.exercise import ENDED, FORGOTTEN, ONCE, PASSES, mini_autocast
from helpers.labs.dispatch.mini_autocast.inputs import casts, drawn, leaf, made, once, short, telling, used


@mini_autocast.property("an error ends the block, and passes through", asks=(ENDED, PASSES, ONCE))
def errors(answer: Any, trial: Trial) -> None:
    x, w = drawn(trial, 4, 5), leaf(trial, 3, 5)
    block = made(answer)
    trial.given("a block in which KeyError is raised")
    modes, passed = torch._C._len_torch_function_stack(), False
    try:
        with block:
            F.linear(x, w)
            raise KeyError("on purpose")
    except KeyError:
        passed = True
    trial.true(
        passed,
        "KeyError was raised in the block, and did not come out of it. `__exit__` returned something that is true, perhaps.",
        expected="KeyError",
        got="no error",
        observed="swallowed",
    )
    after = short(F.linear(x, w).dtype)
    trial.true(
        after == "float32" and torch._C._len_torch_function_stack() == modes,
        "An error ended the block, and F.linear is still cast after it.",
        expected="float32",
        got=after,
        observed=("cast after an error", after, torch._C._len_torch_function_stack() - modes),
    )
    trial.given(
        "after this error, a second block of the same object, and in it an inner one that an error ends"
    )
    with casts(w) as found, block:
        first = F.linear(x, w)
        passed = False
        try:
            with block:
                torch.mm(x, w)  # shapes that do not fit
        except RuntimeError:
            passed = True
        second = F.linear(x, w)
    after = F.linear(x, w)
    trial.true(
        passed,
        "RuntimeError was raised in the inner block, and did not come out of it.",
        expected="RuntimeError",
        got="no error",
        observed="swallowed inside",
    )
    kinds = [short(each.dtype) for each in (first, second, after)]
    trial.true(
        kinds == ["bfloat16", "bfloat16", "float32"],
        "The dtypes of F.linear before the inner block, after it, and after the outer block are not those that were asked for.",
        expected=["bfloat16", "bfloat16", "float32"],
        got=kinds,
        observed=("dtypes", kinds),
    )
    once(trial, found, "An error ended the inner block only.", "inner error")


@mini_autocast.property("after the outermost block nothing keeps the cast or the leaf alive", asks=FORGOTTEN)
def forgotten(answer: Any, trial: Trial) -> None:
    other = answer(torch.bfloat16, {"two"}, set())
    for words, grad, error in (
        ("a block", True, False),
        ("a block under no_grad", False, False),
        ("a block that an error ended", True, True),
        ("a block with an inner one of the same object", True, None),
        ("a block in one of a different object, which goes on,", True, False),
    ):
        trial.given(
            f"{words} in which a leaf is used; the object itself lives on, the leaf is let go after the block"
        )
        block = made(answer, torch.bfloat16, "one")
        tells = telling("one")
        with only_new_garbage(), other if "different" in words else nullcontext():
            w = leaf(trial, 3, 5)
            leaf_memory, leaf_alive = StorageWeakRef(w.untyped_storage()), weakref.ref(w)
            cast_memory = used(block, tells, w, grad, error)
            gc.collect()
            trial.true(
                cast_memory.expired(),
                "The block has ended, and the cast of the leaf is still alive.",
                expected="a cast that is forgotten",
                got="a cast that something keeps",
                observed=("cast alive", words),
            )
            del w
            gc.collect()
            trial.true(
                leaf_memory.expired() and leaf_alive() is None,
                "The block has ended, the leaf was let go, and something keeps it alive.",
                expected="a leaf that is freed",
                got="a leaf that something keeps",
                observed=("leaf alive", words),
            )
