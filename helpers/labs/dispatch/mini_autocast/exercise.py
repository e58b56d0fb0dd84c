"""Exercise 12.mini_autocast: a mode that casts what functions are given, and a weight only once."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.dispatch.mini_autocast.inputs import (
    alike,
    backward,
    casts,
    compare_gradients,
    drawn,
    leaf,
    made,
    once,
    other_than,
    same,
    short,
    telling,
)

mini_autocast = Exercise(
    "12.mini_autocast",
    "Autocast",
    objective="Cast where it pays, once a weight, and leave no trace.",
    minutes=30,
    difficulty="hard",
    names=("MiniAutocast",),
    kind="class",
    hints=[
        "Everything goes through `__torch_function__`: look at `func.__name__`, cast what is to be cast in `args` and "
        "`kwargs`, then call `func`. Which tensors change, and in which direction, differs between the two sets.",
        "`tree_map_only(Tensor, cast, (args, kwargs))` finds the tensors wherever they are, and makes new tuples and lists. "
        "`cast` returns its argument itself where there is nothing to do.",
        "Keep a dict from the id of a leaf to the leaf and its cast. A cast that was made under no_grad has no way back to the "
        "leaf, and it is used after no_grad, too: with what can you make it so that it always has one?",
        "Count in `__enter__` and `__exit__` how many blocks of this object are open, and clear the dict when the last one "
        "ends, whether by an error or not. Make the cast of a leaf in `with torch.enable_grad():`; call `func` outside.",
    ],
)

SUITS = "In its block, functions get their tensors in the dtype that suits them."
MADE_OF = "`MiniAutocast(dtype, lower, higher)`:"
SETS = "`dtype` is bfloat16 or float16; `lower` and `higher` are sets of names of functions, as in `func.__name__`."
LOWERED = "A function of `lower` gets its float32 tensors as `dtype`."
RAISED = "A function of `higher` gets its float16 and bfloat16 tensors as float32."
OTHERS = "All other arguments stay as they are, and so do those of all other functions."
WHEREVER = "Tensors by keyword, in lists and in tuples count, too."
ONCE = (
    "A float32 leaf that requires grad is cast to `dtype` once, however often it is used, under no_grad, too, until the "
    "outermost block of this object ends."
)
FORGOTTEN = "After that its cast is forgotten, and nothing keeps it or the leaf alive."
GRADIENTS = (
    "Gradients go back through the casts, also where the leaf was first used under no_grad: a float32 leaf gets a float32 "
    "gradient."
)
AUTOCAST = (
    "Results and gradients are those of `torch.autocast`, bit for bit, as far as it casts the same functions and tensors: for "
    "`lower`, `torch.autocast` casts the other half dtype, too."
)
UNCHANGED = "The arguments themselves do not change."
PASSES = "The error passes through."
ENDED = "After the block, also one that an error ended, nothing is cast."


@mini_autocast.property("functions of lower work in dtype", asks=(LOWERED, SUITS, MADE_OF, SETS, AUTOCAST))
def lowered(answer: Any, trial: Trial) -> None:
    for dtype in (torch.bfloat16, torch.float16):
        x, w, b = drawn(trial, 4, 5), leaf(trial, 3, 5), leaf(trial, 3)
        batch = drawn(trial, 2, 5, 3)
        for name, run in {
            "F.linear(x, w, b)": lambda x=x, w=w, b=b: F.linear(x, w, b),
            "torch.mm(x, y)": lambda x=x, batch=batch: torch.mm(x, batch[0]),
            "x @ y": lambda x=x, batch=batch: x @ batch,
            "torch.bmm(y, z)": lambda batch=batch: torch.bmm(batch.mT, batch),
        }.items():
            trial.given(f"{name} in a block of MiniAutocast({dtype}, ...), its name in `lower`; all float32")
            in_float32 = run().detach()
            with torch.autocast("cpu", dtype):
                want = run()
            with made(answer, dtype):
                got = run()
            plain = alike(got, in_float32)
            key = ("lower", name, short(dtype), plain)
            why = (
                "It is what the function gives for float32 tensors."
                if plain
                else "torch.autocast gives it so."
            )
            same(trial, got, want, f"The result of {name}", why, key)


@mini_autocast.property("functions of higher work in float32", asks=(RAISED, SUITS, SETS, AUTOCAST))
def raised(answer: Any, trial: Trial) -> None:
    for of in (torch.bfloat16, torch.float16):
        for dtype in (torch.bfloat16, torch.float16):
            x, y = drawn(trial, 4, 5).to(of), drawn(trial, 4, 5)
            for name, run in {
                "F.mse_loss(x, y)": lambda x=x, y=y: F.mse_loss(x, y),
                "F.mse_loss(x, x / 2)": lambda x=x: F.mse_loss(x, x / 2),
                "F.smooth_l1_loss(x, x / 2)": lambda x=x: F.smooth_l1_loss(x, x / 2),
            }.items():
                kinds = f"x is {short(of)}{', y float32' if 'y' in name else ''}"
                trial.given(f"{name} in a block of MiniAutocast({dtype}, ...), its name in `higher`; {kinds}")
                with made(answer, dtype):
                    got = run()
                with torch.autocast("cpu", dtype):
                    want = run()
                key = ("higher", name, of == dtype)
                same(trial, got, want, f"The result of {name}", "A function of `higher` gets float32.", key)


@mini_autocast.property("the arguments do not change", asks=UNCHANGED)
def unchanged(answer: Any, trial: Trial) -> None:
    for kind, names in ((torch.float32, "lower"), (torch.float16, "higher")):
        for grad in (False, True):
            x = drawn(trial, 3, 4).to(kind).requires_grad_(grad)
            copy, version, place = x.detach().clone(), x._version, x.data_ptr()
            trial.given(
                f"a {short(kind)} tensor{', a leaf that requires grad,' if grad else ''} goes to a function of `{names}`"
            )
            with answer(torch.bfloat16, {"one"}, {"two"}):
                telling("one" if names == "lower" else "two")(x)
            now = (x.dtype == kind, x.requires_grad == grad, x.data_ptr() == place, x._version == version)
            trial.true(
                all(now) and torch.equal(x.detach(), copy) and x.is_leaf and x.grad is None,
                f"The argument was changed: its dtype is {short(x.dtype)}, requires_grad {x.requires_grad}"
                + ("." if not all(now[:2]) else ", and its memory or its version is a different one."),
                expected=f"{short(kind)}, and the memory that it had",
                observed=("argument", short(x.dtype), names, grad, now),
            )


@mini_autocast.property(
    "what is neither in lower nor to be cast stays as it is", asks=(OTHERS, LOWERED, RAISED, SETS)
)
def others(answer: Any, trial: Trial) -> None:
    kinds = [getattr(torch, kind) for kind in "float32 bfloat16 float16 float64 int64 bool complex64".split()]
    given = [drawn(trial, 3).to(kind) for kind in kinds]
    given += [each.detach().clone().requires_grad_() for each in given if each.dtype.is_floating_point]
    for dtype in (torch.bfloat16, torch.float16):
        for name, words, low, high in (
            ("one", "a function of `lower`", (torch.float32,), ()),
            ("two", "a function of `higher`", (), (torch.bfloat16, torch.float16)),
            ("three", "a function in neither set", (), ()),
            ("on", "a function whose name is a part of one in `lower`", (), ()),
            ("one_", "a function whose name begins like one in `lower`", (), ()),
            ("add_two", "a function whose name ends like one in `higher`", (), ()),
        ):
            to = [dtype if t.dtype in low else torch.float32 if t.dtype in high else t.dtype for t in given]
            for is_together in (False, True):
                with answer(dtype, {"one", "other"}, {"two"}):
                    if is_together:
                        got = telling(name)(*given).args
                    else:
                        got = [telling(name)(each).args[0] for each in given]
                if found := other_than(given, to, got):
                    kind, wanted, came = found[0]
                    beside = " beside tensors of other dtypes" if is_together else ""
                    trial.given(f"{words} gets a tensor of {kind}{beside}; MiniAutocast({dtype}, ...)")
                    who = words[0].upper() + words[1:]
                    trial.fail(
                        f"{who} got a tensor of {kind}{beside} as a different one, of {came}."
                        if wanted == "the tensor itself"
                        else f"{who} is to get a tensor of {kind}{beside} as {wanted}, with its values, and got {came}.",
                        expected=wanted,
                        got=came,
                        observed=(name, short(dtype), *(["together"] if is_together else []), found),
                    )
            trial.given(
                f"{words} gets 2, 1.5, None, True, 'a', torch.float32, (2, 3), [4] and an object beside a tensor"
            )
            thing = object()
            plain = (2, 1.5, None, True, "a", torch.float32, (2, 3), [4], thing)
            with answer(dtype, {"one", "other"}, {"two"}):
                got_all = telling(name)(given[4], *plain, more=thing)
            got_plain = got_all.args[1:]
            kinds = [
                (type(one).__name__, type(two).__name__) for one, two in zip(plain, got_plain, strict=False)
            ]
            strange = [pair for pair in kinds if pair[0] != pair[1]]
            trial.true(
                got_plain == plain and not strange and got_all.kwargs == {"more": thing},
                f"What is no tensor is to come as it is. What was a {strange[0][0]} came as a {strange[0][1]}."
                if strange
                else "What is no tensor came as something else, or not at all.",
                expected=plain,
                got=got_plain,
                observed=("no tensors", name, set(got_all.kwargs) == {"more"}, strange),
            )


@mini_autocast.property("tensors by keyword, in lists and in tuples count", asks=(WHEREVER, UNCHANGED))
def wherever(answer: Any, trial: Trial) -> None:
    for name, low in (("one", True), ("two", False)):
        from_, to = (torch.float32, torch.bfloat16) if low else (torch.float16, torch.float32)
        a, b, c, d, e = (drawn(trial, 2).to(from_) for _ in range(5))
        listed, other = [a, 3, b], [d]
        trial.given(
            f"a function of `{'lower' if low else 'higher'}` gets [a, 3, b], weight=c, more=[d] and e, all of {short(from_)}"
        )
        with answer(torch.bfloat16, {"one"}, {"two"}):
            got = telling(name)(listed, e, weight=c, more=other)
        trial.true(
            listed[0] is a and listed[2] is b and other[0] is d,
            "The list itself was changed: the caller's list has other tensors in it now.",
            expected="a new list for the function",
            observed=("list changed", name),
        )
        (left, positional), right = got.args, got.kwargs
        for place, each in {
            "e, given by its place": positional,
            "c, given by keyword": right["weight"],
            "a, the first of a list": left[0],
            "b, the last of a list": left[2],
            "d, in a list that is given by keyword": right["more"][0],
        }.items():
            trial.true(
                each.dtype == to,
                f"{place}, came as {short(each.dtype)}.",
                expected=short(to),
                got=short(each.dtype),
                observed=(name, place, short(each.dtype)),
            )
        with answer(torch.bfloat16, {"one"}, {"two"}):
            in_tuples = telling(name)((a, b), more=(d,))
        kinds = [short(each.dtype) for each in (*in_tuples.args[0], in_tuples.kwargs["more"][0])]
        trial.true(
            kinds == [short(to)] * 3,
            f"The function gets (a, b) and more=(d,). In the tuples they came as {', '.join(kinds)}.",
            expected=", ".join([short(to)] * 3),
            got=", ".join(kinds),
            observed=("tuples", name, kinds),
        )
        trial.true(
            type(left) is list and left[1] == 3 and set(right) == {"weight", "more"},
            "The function did not get its other arguments, or its list came as something else.",
            expected="a list, weight and more",
            observed=("shape of the arguments", name),
        )
    x, w = drawn(trial, 4, 5), leaf(trial, 3, 5)
    trial.given("F.linear(input=x, weight=w), and torch.cat([x, w]) with `cat` in `lower`")
    with made(answer, torch.bfloat16, "cat"):
        by_name, joined = F.linear(input=x, weight=w), torch.cat([x, w])
    trial.true(
        by_name.dtype == joined.dtype == torch.bfloat16,
        f"F.linear gives {short(by_name.dtype)}, torch.cat {short(joined.dtype)}.",
        expected="bfloat16",
        observed=("keyword, list", short(by_name.dtype), short(joined.dtype)),
    )


@mini_autocast.property("a leaf is cast once", asks=ONCE)
def cast_once(answer: Any, trial: Trial) -> None:
    x, w, b = drawn(trial, 4, 5), nn.Parameter(drawn(trial, 5, 5)), nn.Parameter(drawn(trial, 5))
    for each, words in ((w, "the weight"), (b, "the bias")):
        trial.given(f"F.linear(x, weight, bias), three times, in one block; the casts of {words} are counted")
        with casts(each) as found, made(answer):
            h = x
            for _ in range(3):
                h = F.linear(h, w, b)
        once(trial, found, "It is used three times, and need not be cast again.", words)
    trial.given(
        "one leaf in F.linear, torch.mm and torch.matmul, once as nn.Parameter, once as a plain tensor"
    )
    for each in (nn.Parameter(drawn(trial, 5, 5)), leaf(trial, 5, 5)):
        with casts(each) as found, made(answer):
            _ = F.linear(x, each), torch.mm(x, each), torch.matmul(x, each)
        once(trial, found, "Three functions use it.", ("three functions", type(each).__name__))
    held = leaf(trial, 5, 5)
    held.grad = torch.ones(5, 5)
    trial.given(
        "a leaf that has a gradient already, as in a second small batch; F.linear(x, leaf), three times, in one block"
    )
    with casts(held) as found, made(answer):
        for _ in range(3):
            F.linear(x, held)
    once(trial, found, "That it has a gradient changes nothing.", "has a gradient")
    many = [leaf(trial, 5, 5) for _ in range(150)]
    trial.given("150 leaves, each used twice, in one block")
    with casts(w) as found, made(answer):
        for _ in range(2):
            for each in many:
                torch.mm(x, each)
    trial.true(
        len(found) <= 150,
        f"150 leaves were cast {len(found)} times in all.",
        expected="150 casts",
        got=f"{len(found)} casts",
        observed=("many", len(found)),
    )


@mini_autocast.property("it is cast once under no_grad, too", asks=(ONCE, AUTOCAST))
def without_grad(answer: Any, trial: Trial) -> None:
    for words, order in (
        ("three times under no_grad", (False, False, False)),
        ("twice under no_grad, then twice with grad", (False, False, True, True)),
        ("with grad, then twice under no_grad", (True, False, False)),
    ):
        x, w = drawn(trial, 4, 5), leaf(trial, 3, 5)
        results = []
        trial.given(f"F.linear(x, w), {words}, in one block")
        with casts(w) as found, made(answer):
            for grad in order:
                with torch.set_grad_enabled(grad):
                    results.append(F.linear(x, w).requires_grad)
        once(trial, found, f"It is used {len(order)} times: {words}.", order)
        trial.true(
            not any(got for got, grad in zip(results, order, strict=True) if not grad),
            "A result that was made under no_grad requires grad. The function itself ran with grad enabled.",
            expected="a result that does not require grad",
            got="requires_grad=True",
            observed=("requires grad under no_grad", order),
        )


@mini_autocast.property("gradients go back through the casts", asks=(GRADIENTS, AUTOCAST))
def gradients(answer: Any, trial: Trial) -> None:
    start = (drawn(trial, 4, 5), drawn(trial, 5, 5), drawn(trial, 5))
    for between in ("", ".float()"):
        for dtype in (torch.bfloat16, torch.float16):
            trial.given(
                f"F.linear(x, w, b){between} three times, each on the result of the one before, then a backward; x, w and b "
                f"are float32 leaves, dtype is {short(dtype)}"
            )
            grads = []
            for block in (made(answer, dtype), torch.autocast("cpu", dtype)):
                leaves = [each.clone().requires_grad_() for each in start]
                results = [leaves[0]]  # all live on: none has the id of one before
                with block:
                    for _ in range(3):
                        h = F.linear(results[-1], *leaves[1:])
                        results += [h.float()] if between else [h]
                backward(trial, results[-1])
                grads.append([each.grad for each in leaves])
            why, key = "torch.autocast gives this gradient.", f"thrice{between} {short(dtype)}"
            compare_gradients(trial, ("x", "w", "b"), *grads, why, key)
    trial.given("two losses of one weight, with a backward after each, in one block")
    grads = []
    for block in (made(answer), torch.autocast("cpu", torch.bfloat16)):
        w = start[1].clone().requires_grad_()
        with block:
            for factor in (1.0, 3.0):
                backward(trial, F.mse_loss(torch.mm(start[0], w), start[0] * factor))
        grads.append([w.grad])
    compare_gradients(trial, ("w",), *grads, "torch.autocast gives this gradient.", "two losses")
    for factor in ("", " * 2"):
        trial.given(f"F.mse_loss(v{factor}, y), a function of `higher`; v is a float16 leaf")
        grads = []
        for block in (made(answer), torch.autocast("cpu", torch.bfloat16)):
            v = start[0].to(torch.float16).requires_grad_()
            with block:
                backward(trial, F.mse_loss(v * 2 if factor else v, start[0] * 3))
            grads.append([v.grad])
        compare_gradients(trial, ("v",), *grads, "torch.autocast gives this gradient.", f"higher{factor}")


@mini_autocast.property("also where the leaf was first used under no_grad", asks=GRADIENTS)
def after_no_grad(answer: Any, trial: Trial) -> None:
    x, w, up = drawn(trial, 4, 5), leaf(trial, 3, 5), drawn(trial, 4, 3).to(torch.bfloat16)
    trial.given(
        "in one block: F.linear(x, w) under no_grad, then F.linear(x, w) with grad, and a backward of this"
    )
    with made(answer):
        with torch.no_grad():
            F.linear(x, w)
        got = F.linear(x, w)
    backward(trial, got, up)
    other = w.detach().clone().requires_grad_()
    F.linear(x.to(torch.bfloat16), other.to(torch.bfloat16)).backward(up)
    compare_gradients(
        trial, ("w",), [w.grad], [other.grad], "The leaf was first used under no_grad.", "after no_grad"
    )


@mini_autocast.property("the other tensors are cast as they are now", asks=(LOWERED, AUTOCAST, ONCE))
def not_stale(answer: Any, trial: Trial) -> None:
    x, w, v = drawn(trial, 4, 5), leaf(trial, 4, 5), drawn(trial, 5, 3)
    trial.given(
        "h = w * 1; torch.mm(h, v); h.mul_(2); torch.mm(h, v): h is no leaf, and changes in the block"
    )
    with made(answer):
        h = w * 1
        torch.mm(h, v)
        h.mul_(2)
        got = torch.mm(h, v)
    want = torch.mm((w * 2).to(torch.bfloat16), v.to(torch.bfloat16))
    same(trial, got, want, "The second product", "It is to be that of h as it is then.", "changed")
    wrong, results = [], []
    trial.given("40 times: torch.mm(x * i, v) in one block, with a new tensor each time")
    with made(answer), torch.no_grad():
        results = [torch.mm(x * number, v) for number in range(1, 41)]
    for number, result in enumerate(results, 1):
        if not alike(result, torch.mm((x * number).to(torch.bfloat16), v.to(torch.bfloat16))):
            wrong.append(number)
    trial.true(
        not wrong,
        "Some of the products are those of different tensors. A tensor that is freed leaves its place and its id to the next "
        "one: perhaps the cast of an old one was taken.",
        expected="the product of each tensor",
        observed="of freed tensors",
    )
    trial.given("40 times: torch.mm(x, leaf) in one block, with a new leaf each time, under no_grad")
    values = [drawn(trial, 5, 3) for _ in range(40)]
    with made(answer), torch.no_grad():
        results = [torch.mm(x, value.clone().requires_grad_()) for value in values]
    wrong = [
        number
        for number, (result, value) in enumerate(zip(results, values, strict=True))
        if not alike(result, torch.mm(x.to(torch.bfloat16), value.to(torch.bfloat16)))
    ]
    trial.true(
        not wrong,
        "Some of the products are those of different leaves. A leaf that is freed leaves its place and its id to the next one: "
        "perhaps the cast of an old one was taken.",
        expected="the product of each leaf",
        observed="of freed leaves",
    )
    for grad in (True, False):
        h = drawn(trial, 4, 5)
        trial.given(
            f"torch.mm(h, v); h.mul_(2); torch.mm(h, v){'' if grad else ' under no_grad'}: h does not require grad, and "
            "changes in the block"
        )
        with made(answer), torch.set_grad_enabled(grad):
            torch.mm(h, v)
            h.mul_(2)
            got = torch.mm(h, v)
        want = torch.mm(h.to(torch.bfloat16), v.to(torch.bfloat16))
        same(trial, got, want, "The second product", "It is to be that of h as it is then.", "no grad")


@mini_autocast.property("each leaf has its own cast", asks=(LOWERED, GRADIENTS, ONCE))
def each_its_own(answer: Any, trial: Trial) -> None:
    one, two = torch.zeros(2, 0, requires_grad=True), torch.zeros(0, 3, requires_grad=True)
    tells = telling("one")
    trial.given("two leaves without numbers, of shape (2, 0) and (0, 3), in one block")
    with answer(torch.bfloat16, {"one"}, set()):
        shapes = [tuple(tells(each).args[0].shape) for each in (one, two)]
    trial.true(
        shapes == [(2, 0), (0, 3)],
        "A function got the cast of a different leaf.",
        expected=[(2, 0), (0, 3)],
        got=shapes,
        observed=("shapes", shapes),
    )
    w = leaf(trial, 3, 5)
    v, x = nn.Parameter(w.data), drawn(trial, 4, 5)
    trial.given(
        "F.linear(x, w) and F.linear(x, nn.Parameter(w.data)): two leaves on one memory, each with its own gradient"
    )
    with made(answer):
        results = F.linear(x, w), F.linear(x, v)
    backward(trial, results[0].sum() + 2 * results[1].sum())
    others = [w.detach().clone().requires_grad_() for _ in range(2)]
    low = [F.linear(x.to(torch.bfloat16), each.to(torch.bfloat16)).sum() for each in others]
    (low[0] + 2 * low[1]).backward()
    why = "The two leaves share a memory, and are two."
    compare_gradients(trial, ("w", "v"), (w.grad, v.grad), [each.grad for each in others], why, "one memory")


@mini_autocast.property("blocks of one object can be nested", asks=ONCE)
def nested(answer: Any, trial: Trial) -> None:
    x, w = drawn(trial, 4, 5), leaf(trial, 3, 5)
    block = made(answer)
    trial.given(
        "`with m:` F.linear(x, w), in it `with m:` once more, and in this again; F.linear(x, w) in each, and after each inner one"
    )
    results, counts = [], []

    def use() -> None:
        results.append(F.linear(x, w))
        counts.append(len(found))

    with casts(w) as found:
        with block:
            use()
            with block:
                use()
                with block:
                    use()
                use()
            use()
        outside = F.linear(x, w)
    kinds = [short(each.dtype) for each in (*results, outside)]
    trial.true(
        kinds[:-1] == ["bfloat16"] * 5,
        "A function in the outer block was not cast: before the inner blocks, in them and after them it works in bfloat16.",
        expected=["bfloat16"] * 5,
        got=kinds[:-1],
        observed=("dtypes", kinds),
    )
    trial.true(
        kinds[-1] == "float32",
        "After the outermost block a function is still cast.",
        expected="float32",
        got=kinds[-1],
        observed=("after", kinds),
    )
    trial.true(
        counts == [1] * 5,
        f"The leaf was cast {counts[-1]} times. The outermost block has not ended before the last use.",
        expected="one cast",
        got=f"{', '.join(map(str, counts))} casts so far, after each of the five uses",
        observed=("casts", counts),
    )


@mini_autocast.property("two objects know nothing of each other", asks=(ONCE, LOWERED, SETS))
def two_objects(answer: Any, trial: Trial) -> None:
    w = leaf(trial, 3, 5)
    outer, inner = answer(torch.bfloat16, {"linear", "mm"}, set()), answer(torch.float16, {"linear"}, set())
    linear, mm = telling("linear"), telling("mm")
    trial.given(
        "a block of an object for float16, `lower` {linear}, in one of an object for bfloat16, `lower` {linear, mm}: linear before, "
        "linear and mm in, linear after the inner one; then linear and mm in a block of the inner one alone"
    )
    with casts(w) as found, outer:
        results = [linear(w)]
        with inner:
            results += [linear(w), mm(w)]
        results.append(linear(w))
    with inner:
        results += [linear(w), mm(w)]
    kinds = [short(each.args[0].dtype) for each in results]
    wanted = ["bfloat16", "float16", "bfloat16", "bfloat16", "float16", "float32"]
    trial.true(
        kinds == wanted,
        "The functions got the leaf in other dtypes than they should. The block that is entered last casts first; an object has its own "
        "dtype, sets and casts.",
        expected=wanted,
        got=kinds,
        observed=("dtypes", kinds),
    )
    once(trial, found, "The block of the other object ended in between, and this one goes on.", "two objects")


@mini_autocast.property("an object can be used again, and casts anew", asks=(FORGOTTEN, LOWERED))
def again(answer: Any, trial: Trial) -> None:
    x, w = drawn(trial, 4, 5), leaf(trial, 3, 5)
    block = made(answer)
    for number in range(3):
        trial.given(
            f"block {number + 1} of one object: F.linear(x, w) twice; w has been changed since the last block"
        )
        with casts(w) as found, block:
            got = F.linear(x, w), F.linear(x, w)
        want = F.linear(x.to(torch.bfloat16), w.to(torch.bfloat16))
        for each in got:
            same(
                trial,
                each,
                want,
                "The result",
                "The cast is to be made of the weight as it is now.",
                ("again", number),
            )
        once(trial, found, "In each block once.", ("again", number))
        with torch.no_grad():
            w.mul_(-1.5)
