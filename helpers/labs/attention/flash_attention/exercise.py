"""Exercise 13.flash_attention: attention as a Function whose backward computes the scores anew."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from helpers.check.compare import difference
from helpers.check.operations import operations
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.attention.flash_attention.inputs import (
    EDITED,
    SIZES,
    SMALL,
    Answer,
    Sizes,
    applied,
    drawn,
    gradients,
    reference,
    told,
)
from helpers.labs.attention.shared.blocks import living_memory, other_than, randn, require_own_work, strided
from helpers.labs.attention.shared.levels import LEVELS, with_scores

flash_attention = Exercise(
    "13.flash_attention",
    "A backward that computes the scores anew",
    objective="Write attention as a Function whose memory grows with the length, not with its square.",
    minutes=35,
    difficulty="hard",
    names=("FlashAttention",),
    kind="class",
    hints=[
        "forward is exercise 4. What does backward need to compute a block's weights anew? For each query one number is "
        "enough: the logarithm of the sum of all its exponents. Then weights = exp(scores - logsumexp), already divided.",
        "With weights P, the gradient that comes in G and the result O: grad_v = P^T G. The gradient of P is G v^T; that of the "
        "scores is P * (G v^T - m), with m for each query the sum of P * (G v^T) over all keys. It needs no pass of its own: it "
        "is the sum of G * O over the features.",
        "forward keeps `ctx.save_for_backward(q, k, v, result, largest + total.log())` and `ctx.block = block`. In backward "
        "`meant = (grad_out * result).sum(-1, keepdim=True)` comes before the loop over blocks.",
        "For a block: `weights = (q @ keys.transpose(-2, -1) * scale - logsumexp).exp()`, then "
        "`grad_scores = weights * (grad_out @ values.transpose(-2, -1) - meant) * scale`. The block's rows of grad_k are "
        "`grad_scores.transpose(-2, -1) @ q`, those of grad_v `weights.transpose(-2, -1) @ grad_out`, and grad_q is the sum "
        "of `grad_scores @ keys`. Return grad_q, grad_k, grad_v, None.",
    ],
)

FORMULA = (
    "softmax(q @ k.transpose(-2, -1) / sqrt(D)) @ v by `FlashAttention.apply(q, k, v, block)`.",
    "q has the shape (B, H, Lq, D); k and v have (B, H, Lk, D).",
    "All are float32, or all float64.",
)
BLOCK = "block is 1 or more, the number of keys at a time; Lk need not be a multiple of it."
RESULT = "The result has the shape and dtype of q, and is right for scores of any size."
GRADIENT = (
    "Each of q, k and v that requires grad gets its gradient, for any gradient that comes in (`gradcheck`)."
)
KEPT = "Kept for backward, by `ctx.save_for_backward`: q, k, v, the result, and at most two numbers for each query."
NOTHING_ELSE = "No other tensor is kept."
ALONE = (
    "A call's gradients depend on this call alone, and so does what its backward makes, whatever other calls come in "
    "between."
)
LIMIT = (
    "Forward and backward make no tensor that has more numbers than the largest of these: q, k, and the scores of a "
    "block, of shape (B, H, Lq, block)."
)
GROWS = "The memory in use at one time grows with Lq and with Lk, not with their product."
EDITS = "If q, k, v or the result is edited in place before backward, backward raises RuntimeError."
OWN = "It calls no attention of torch's, and neither forward nor backward edits what it gets."


@flash_attention.property("no attention of torch's works inside", asks="It calls no attention of torch's")
def own_work(answer: Answer, trial: Trial) -> None:
    sizes = SIZES[1]
    trial.given(told(sizes) + ", and its backward; calls are watched")

    def both(q: Tensor, k: Tensor, v: Tensor, grad_out: Tensor) -> None:
        torch.autograd.grad(answer.apply(q, k, v, sizes[-1]), (q, k, v), grad_out)

    q, k, v = drawn(trial, sizes)
    require_own_work(trial, partial(both, q, k, v, randn(trial, *q.shape)))


@flash_attention.property("the result, with blocks of any size", asks=(*FORMULA, BLOCK, RESULT))
def result(answer: Answer, trial: Trial) -> None:
    for needing, dtype, cases in (
        ("", torch.float64, SIZES),
        ("qkv", torch.float64, SIZES[2:3]),
        ("qkv", torch.float32, SIZES[2:3]),
    ):
        for sizes in cases:
            q, k, v = drawn(trial, sizes, dtype, needing)
            trial.given(told(sizes, dtype, ", all require grad" if needing else ", none requires grad"))
            want = reference(q, k, v)
            close(trial, applied(answer, trial, q, k, v, sizes[-1]), want, "The result")


def close(trial: Trial, got: Any, want: Tensor, what: str) -> None:
    """Compares; of what is right in its first digits only, or has a wrong dtype, no more is observed than that."""
    observed: Any = None
    if type(got) is Tensor and got.shape == want.shape and got.requires_grad == want.requires_grad:
        if got.dtype != want.dtype:
            observed = what, "dtype", str(got.dtype)
        elif torch.allclose(got.detach(), want.detach(), rtol=1e-4, atol=1e-4):
            observed = what, "in its first digits only"
    rtol, atol = (1e-4, 1e-5) if want.dtype == torch.float32 else (None, None)
    trial.equal(got, want, what, rtol=rtol, atol=atol, observed=observed)


@flash_attention.property("the result for scores of any size", asks=RESULT)
def result_of_any_size(answer: Answer, trial: Trial) -> None:
    any_size(answer, trial, 0)


@flash_attention.property("the gradient of v", asks=GRADIENT)
def gradient_of_v(answer: Answer, trial: Trial) -> None:
    one_gradient(answer, trial, 2)


@flash_attention.property("the gradient of q", asks=GRADIENT)
def gradient_of_q(answer: Answer, trial: Trial) -> None:
    one_gradient(answer, trial, 0)


@flash_attention.property("the gradient of k", asks=GRADIENT)
def gradient_of_k(answer: Answer, trial: Trial) -> None:
    one_gradient(answer, trial, 1)


def one_gradient(answer: Answer, trial: Trial, which: int) -> None:
    """Compares the gradient of the argument `which`, where all three require grad."""
    for dtype, cases in ((torch.float64, SIZES[: 7 if which == 0 else 4]), (torch.float32, SIZES[2:3])):
        for sizes in cases:
            q, k, v = drawn(trial, sizes, dtype)
            trial.given(told(sizes, dtype, "; all require grad, a normal gradient comes in"))
            grad_out = randn(trial, *q.shape, dtype=dtype)
            wants = torch.autograd.grad(reference(q, k, v), (q, k, v), grad_out)
            got = gradients(answer, trial, applied(answer, trial, q, k, v, sizes[-1]), [q, k, v], grad_out)
            compared(trial, got, wants, which)


def compared(
    trial: Trial, got: tuple[Tensor | None, ...], wants: tuple[Tensor, ...], which: int, names: str = "qkv"
) -> None:
    name = names[which]
    trial.true(
        got[which] is not None,
        f"{name} requires grad and gets no gradient: None counts as 0.",
        expected=f"the gradient of {name}",
        got="None",
        observed=("None for", name, names),
    )
    close(trial, got[which], wants[which], f"The gradient of {name}")


@flash_attention.property(
    "gradients where some of q, k and v require none",
    asks=GRADIENT,
    after=(gradient_of_v, gradient_of_q, gradient_of_k),
)
def some_frozen(answer: Answer, trial: Trial) -> None:
    sizes = SIZES[2]
    outcomes: list[tuple[str, str, Any, Any]] = []
    for names in ("q", "k", "v", "qk", "qv", "kv"):
        parts = dict(zip("qkv", drawn(trial, sizes, needing=names), strict=True))
        text = told(sizes, more=f"; {' and '.join(names)} alone require{'s' * (len(names) == 1)} grad")
        trial.given(text)
        inputs = [parts[name] for name in names]
        grad_out = randn(trial, *parts["q"].shape)
        wants = torch.autograd.grad(reference(*parts.values()), inputs, grad_out)
        got = gradients(answer, trial, applied(answer, trial, *parts.values(), sizes[-1]), inputs, grad_out)
        for name, one, want in zip(names, got, wants, strict=True):
            how = "no gradient" if one is None else "a wrong gradient" if difference(one, want) else ""
            outcomes.append((f"{name} gets {how}" if how else "", text, one, want))
    wrong = next((each for each in outcomes if each[0]), None)
    if wrong:
        sentence, text, one, want = wrong
        trial.given(text)
        trial.fail(
            f"Here {sentence}. Where all three require grad, all gradients are right.",
            expected=want,
            got="None, which counts as 0" if one is None else one,
            observed=[each[0] for each in outcomes],
        )


@flash_attention.property("neither forward nor backward edits what it gets", asks=OWN)
def left_alone(answer: Answer, trial: Trial) -> None:
    for needing in ("qkv", ""):
        for gaps in (True, False):
            q, k, v = drawn(trial, SIZES[2], needing=needing)
            if not gaps:
                q, k, v = (each.detach().contiguous().requires_grad_(bool(needing)) for each in (q, k, v))
            trial.given(told(SIZES[2], more="" if gaps else ", contiguous"))
            before = [each.detach().clone() for each in (q, k, v)]
            output = applied(answer, trial, q, k, v, SIZES[2][-1])
            unchanged(trial, {"q": q, "k": k, "v": v}, before, "forward")
            if not needing:
                continue
            grad_out = randn(trial, *q.shape)  # contiguous: other layouts are asked for below
            parts = {"the gradient that comes in": grad_out, "q": q, "k": k, "v": v, "the result": output}
            before = [each.detach().clone() for each in parts.values()]
            gradients(answer, trial, output, [q, k, v], grad_out, again=True)
            unchanged(trial, parts, before, "backward")
            # Once more: the two numbers for each query are not its own, either.
            first = gradients(answer, trial, output, [q, k, v], grad_out, again=True)
            for name, one, other in zip(
                "qkv", gradients(answer, trial, output, [q, k, v], grad_out), first, strict=True
            ):
                trial.true(
                    not difference(one, other, rtol=1e-9, atol=1e-9),
                    f"A second backward of the same call gives a different gradient of {name}: the first has edited what was kept.",
                    expected="the same gradients each time",
                    observed="kept edited",
                )


def unchanged(trial: Trial, parts: dict[str, Tensor], before: list[Tensor], where: str) -> None:
    for (name, now), old in zip(parts.items(), before, strict=True):
        trial.true(
            torch.equal(now.detach(), old),
            f"{where} edited {name} in place, which does not belong to it.",
            expected=f"{name} as before",
            got=now.detach(),
            observed=(where, "edited", name),
        )


@flash_attention.property("gradients, whatever the layout of the one that comes in", asks=GRADIENT)
def any_layout(answer: Answer, trial: Trial) -> None:
    sizes = SIZES[2]
    shape = (*sizes[:3], sizes[4])
    for words, grad_out in (
        ("that of result.sum(), one number expanded", torch.ones((), dtype=torch.float64).expand(shape)),
        ("transposed", strided(randn(trial, *shape))),
        ("zeros", torch.zeros(shape, dtype=torch.float64)),
    ):
        q, k, v = drawn(trial, sizes)
        trial.given(told(sizes, more=f"; the gradient that comes in is {words}"))
        wants = torch.autograd.grad(reference(q, k, v), (q, k, v), grad_out)
        got = gradients(answer, trial, applied(answer, trial, q, k, v, sizes[-1]), [q, k, v], grad_out)
        for which in (2, 0, 1):
            compared(trial, got, wants, which)


@flash_attention.property("gradients for scores of any size", asks=(RESULT, GRADIENT))
def gradients_of_any_size(answer: Answer, trial: Trial) -> None:
    any_size(answer, trial, 1)


def any_size(answer: Answer, trial: Trial, place: int) -> None:
    """Compares results (place 0) or gradients (place 1) for large scores of float64. Which cases are wrong is what is observed."""
    outcomes: list[str] = []
    wrong: list[tuple[str, str, str, Tensor, Any]] = []
    for words, levels in LEVELS.items():
        q, k, v = (each.double().requires_grad_() for each in with_scores(levels, trial))
        text = told((1, 1, 2, k.shape[2], 4, 2), more=f"; {words}")
        trial.given(text)
        grad_out = randn(trial, *q.shape)
        want = reference(q, k, v)
        wants: tuple[Any, ...] = torch.autograd.grad(want, (q, k, v), grad_out) if place else (want,)
        got = applied(answer, trial, q, k, v, 2)
        gots: tuple[Any, ...] = gradients(answer, trial, got, [q, k, v], grad_out) if place else (got,)
        names = ("The gradient of q", "The gradient of k", "The gradient of v") if place else ("The result",)
        how = "right"
        for name, one, right in zip(names, gots, wants, strict=True):
            # In k stand the scores, up to 10 ** 12, and the gradient of q is a difference of sums of them.
            found = difference(one, right, rtol=1e-6, atol=1e-2 if name.endswith("q") else 1e-6)
            if found and found.kind not in ("value", "nan"):
                trial.equal(one, right, name)
            if found and how == "right":
                how = "wrong" if bool(one.isfinite().all()) else "not finite"
                wrong.append((words, text, f"{name} is {how}.", right, one))
        outcomes.append(how)
    if wrong:
        _, text, sentence, right, one = wrong[0]
        trial.given(text)
        others = "; with ".join(each for each, *_ in wrong[1:])
        trial.fail(
            sentence + (f" Something is wrong, too, with {others}." if others else ""),
            expected=right,
            got=one,
            observed=outcomes,
        )


@flash_attention.property(
    "two calls pending, each with a block and lengths of its own", asks=(GRADIENT, ALONE), once_right=True
)
def two_calls(answer: Answer, trial: Trial) -> None:
    cases = (1, 2, 4, 9, 3, 5), (2, 3, 5, 7, 4, 3), (2, 3, 5, 7, 4, 2)
    for order in ((0, 1, 2), (2, 0, 1)):
        calls = [drawn(trial, sizes) for sizes in cases]
        trial.given(
            "; ".join(told(sizes) for sizes in cases)
            + f"; then the backward of the {', '.join(('first', 'second', 'third')[at] for at in order)}"
        )
        outputs = [applied(answer, trial, *each, sizes[-1]) for each, sizes in zip(calls, cases, strict=True)]
        for at in order:
            grad_out = randn(trial, *outputs[at].shape)
            wants = torch.autograd.grad(reference(*calls[at]), calls[at], grad_out)
            try:
                got: Any = torch.autograd.grad(outputs[at], calls[at], grad_out, allow_unused=True)
            except Exception as error:
                got = type(error).__name__
            right = type(got) is tuple and all(
                a is not None and not difference(a, b, rtol=1e-6, atol=1e-6)
                for a, b in zip(got, wants, strict=True)
            )
            trial.true(
                right,
                f"The backward of the {('first', 'second', 'third')[at]} call "
                + (f"raises {got}." if type(got) is str else "gives wrong gradients.")
                + " Alone it gives the right ones.",
                expected="what forward left for backward, for each call its own",
                got=got if type(got) is str else "gradients of other numbers",
                observed="calls mixed up",
            )


@flash_attention.property(
    "kept are q, k, v, the result and two numbers for each query", asks=(KEPT, NOTHING_ELSE)
)
def kept(answer: Answer, trial: Trial) -> None:
    sizes = batch, heads, queries, _, _, block = (2, 3, 5, 11, 7, 4)
    for gaps in (True, False):
        q, k, v = drawn(trial, sizes, torch.float32)
        if not gaps:
            q, k, v = (each.detach().contiguous().requires_grad_() for each in (q, k, v))
        trial.given(told(sizes, torch.float32, ", not contiguous" if gaps else ""))
        with living_memory() as living:
            output = applied(answer, trial, q, k, v, block)
        node = output.grad_fn
        on_ctx = sorted(
            name
            for name, value in getattr(node, "__dict__", {}).items()
            if any(isinstance(each, Tensor) for each in pytree.tree_leaves(value))
        )
        trial.true(
            not on_ctx,
            f"A tensor stands on ctx, as ctx.{on_ctx[0] if on_ctx else ''}: torch does not see there whether it is edited.",
            expected="tensors given to ctx.save_for_backward",
            got=", ".join(f"ctx.{name}" for name in on_ctx),
            observed="on ctx",
        )
        known = {each.untyped_storage()._cdata for each in (q, k, v, output)}
        saved = {each.untyped_storage()._cdata: each for each in node.saved_tensors if each is not None}
        more = [each for at, each in saved.items() if at not in known]
        of_saved = sum(each.untyped_storage().nbytes() // each.element_size() for each in more)
        numbers, limit = max(of_saved, living.numbers(output)), 2 * batch * heads * queries
        each_query = numbers / (batch * heads * queries)
        trial.true(
            numbers <= limit,
            f"Beside q, k, v and the result, {numbers} numbers are kept for backward, {each_query:.3g} for each query.",
            expected=f"at most {limit} numbers, 2 for each query",
            got=f"saved beside them: {', '.join(str(tuple(each.shape)) for each in more) or 'nothing'}"
            + (f"; kept elsewhere: {numbers - of_saved} numbers" if numbers > of_saved else ""),
            observed=(
                "kept",
                _what(more, q, k, output) if numbers == of_saved else "elsewhere",
                each_query == 3,
            ),
        )


def _what(more: list[Tensor], q: Tensor, k: Tensor, output: Tensor) -> str:
    """What is saved beside q, k, v and the result."""
    shapes = [each.shape for each in more]
    if any(each.shape == output.shape and torch.equal(each.detach(), output.detach()) for each in more):
        return "the result once more"
    return "of the shape of q or k" if q.shape in shapes or k.shape in shapes else "for each query"


@flash_attention.property("neither forward nor backward makes a tensor that is too large", asks=LIMIT)
def small(answer: Answer, trial: Trial) -> None:
    for sizes in SMALL:
        batch, heads, queries, keys, width, block = sizes
        q, k, v = (each.detach().contiguous().requires_grad_() for each in drawn(trial, sizes, torch.float32))
        parts = {"q": queries * width, "k": keys * width, "the scores of a block": queries * block}
        limit = batch * heads * max(parts.values())
        grad_out = randn(trial, *q.shape, dtype=torch.float32)
        with operations() as forward:
            output = applied(answer, trial, q, k, v, block)
        with operations() as backward:
            gradients(answer, trial, output, [q, k, v], grad_out)
        for where, ran in (("forward", forward), ("backward", backward)):
            trial.given(told(sizes, torch.float32))
            large = next((each for each in ran if each.made > limit), None)
            if large:
                whole = batch * heads * queries * keys
                trial.fail(
                    f"In {where}, the operation {large.name} makes a tensor of {large.made} numbers"
                    + (", as many as all scores have." if large.made == whole else "."),
                    expected=f"{limit} numbers at most, as many as in {max(parts, key=parts.__getitem__)}",
                    got=f"{large.made} numbers, from {large.name} of {' and '.join(map(str, large.shapes[:2]))}",
                    observed=("large", where, any(each.made == whole for each in ran), SMALL.index(sizes)),
                )


@flash_attention.property("products take `block` keys at a time", asks=BLOCK)
def block_at_a_time(answer: Answer, trial: Trial) -> None:
    sizes = 2, 3, 5, 32, 7, 11  # blocks of 11, 11 and 10 keys
    q, k, v = (each.detach().contiguous().requires_grad_() for each in drawn(trial, sizes, torch.float32))
    trial.given(told(sizes, torch.float32))
    with operations() as forward:
        output = applied(answer, trial, q, k, v, 11)
    with operations() as backward:
        gradients(answer, trial, output, [q, k, v], randn(trial, *q.shape, dtype=torch.float32))
    for where, ran in (("forward", forward), ("backward", backward)):
        # Sums over the features of one query may be written as products, too.
        others = [pair for pair in other_than(ran, 11, 10) if not {*pair[0][-2:], *pair[1][-2:]} <= {1, 7}]
        trial.true(
            not others,
            f"Products of {where} do not take `block` keys at a time.",
            expected="products with blocks of 11, 11 and 10 keys",
            got=f"{len(others)} products of other sizes, of {' and '.join(map(str, others[0])) if others else ''} for example",
            observed=("other blocks", where),
        )


@flash_attention.property(
    "backward goes by the block of its own call, also when others came in between",
    asks=ALONE,
    after=(block_at_a_time,),
)
def own_block(answer: Answer, trial: Trial) -> None:
    first, others = (2, 3, 5, 32, 7, 11), ((2, 3, 5, 32, 7, 32), (1, 2, 4, 9, 3, 2))
    for then in others:
        q, k, v = (each.detach().contiguous().requires_grad_() for each in drawn(trial, first, torch.float32))
        trial.given(
            f"{told(first, torch.float32)}; then {told(then, torch.float32)}; then the backward of the first"
        )
        output = applied(answer, trial, q, k, v, first[-1])
        applied(answer, trial, *drawn(trial, then, torch.float32), then[-1])
        with operations() as backward:
            gradients(answer, trial, output, [q, k, v], randn(trial, *q.shape, dtype=torch.float32))
        found = [
            pair for pair in other_than(backward, 11, 10) if not {*pair[0][-2:], *pair[1][-2:]} <= {1, 7}
        ]
        trial.true(
            not found,
            f"The backward of a call with block 11 does not take 11 keys at a time once a call with block {then[-1]} "
            "came in between.",
            expected="products with blocks of 11, 11 and 10 keys, as alone",
            got=f"{len(found)} products of other sizes, of {' and '.join(map(str, found[0])) if found else ''} for example",
            observed="the block of a different call",
        )


@flash_attention.property("the memory in use grows with Lq and with Lk, not with their product", asks=GROWS)
def not_growing(answer: Answer, trial: Trial) -> None:
    def most(keys: int) -> dict[str, int]:
        sizes: Sizes = (1, 2, 40, keys, 2, 4)
        q, k, v = (each.detach().contiguous().requires_grad_() for each in drawn(trial, sizes, torch.float32))
        grad_out = randn(trial, *q.shape, dtype=torch.float32)
        trial.given(told(sizes, torch.float32))
        with living_memory() as forward:
            output = applied(answer, trial, q, k, v, 4)
        with living_memory() as backward:
            gradients(answer, trial, output, [q, k, v], grad_out)
        return {"forward": forward.most, "backward": backward.most}

    few, many = most(8), most(24)
    for where, of_all in (("forward", 0.1), ("backward", 0.5)):
        # All scores of the 16 keys more. Their gradients are a tenth of that, or a fifth while lists of them are joined.
        more = (many[where] - few[where]) / (4 * 2 * 40 * 16)
        trial.true(
            more <= of_all,
            f"With 24 keys for 8, {where} has {many[where] - few[where]} bytes more in use at one time: as if the scores of "
            "all blocks, or something of that size, were kept until its end.",
            expected=f"{few[where]} bytes at most with 8 keys, and little more with 24",
            got=f"{many[where]} bytes at most",
            observed=("grows", where),
        )


@flash_attention.property("an edit of q, k, v or the result before backward raises", asks=EDITS)
def edits_raise(answer: Answer, trial: Trial) -> None:
    passed = []
    for at, name in enumerate(("q", "k", "v", "the result")):
        q, k, v = drawn(trial, SIZES[2])
        trial.given(told(SIZES[2], more=f"; {name} is edited in place between apply and backward"))
        output = applied(answer, trial, q, k, v, SIZES[2][-1])
        with torch.no_grad():
            (q, k, v, output)[at].mul_(2.0)
        try:
            torch.autograd.grad(output, (q, k, v), randn(trial, *q.shape), allow_unused=True)
        except RuntimeError as error:
            if EDITED not in str(error) and isinstance(error, NotImplementedError):
                raise
        else:
            passed.append(name)
    trial.given(
        told(SIZES[2], more="; one of q, k, v and the result is edited in place between apply and backward")
    )
    trial.true(
        not passed,
        f"After an edit of {' or of '.join(passed)}, backward gives gradients, and no error.",
        expected=f"RuntimeError: one of the variables needed for gradient computation has been {EDITED}",
        got=f"no error after an edit of {', '.join(passed)}",
        observed=("no error", passed),
    )
