"""What the properties of 03.run_backward share: calling an engine, torch's own gradients, and what tells mistakes apart."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import Node

from helpers.check.compare import difference
from helpers.check.trial import Mismatch, Trial
from helpers.labs.autograd.run_backward.inputs import Log, Logged

Engine = Callable[[Tensor, Tensor], dict[Tensor, Tensor]]


def gradients(answer: Engine, trial: Trial, root: Tensor, grad_out: Tensor, **leaves: Tensor) -> dict:
    """What the answer gives: by the leaf's name, for those that it found; wrong if it is no dict of leaves."""
    try:
        found = trial.call(answer, root, grad_out)
    except RecursionError:
        trial.fail(
            "The answer recursed until Python stopped it (RecursionError): one call inside the other for each node.",
            expected="a loop: a graph may be many thousand nodes deep",
            observed="RecursionError",
        )
    trial.true(
        isinstance(found, dict),
        f"run_backward returned {'None' if found is None else 'an object of type ' + type(found).__name__}, no dict.",
        expected="a dict: leaf -> gradient",
        observed=("no dict", type(found).__name__),
    )
    names = {id(leaf): name for name, leaf in leaves.items()}
    for key in found:
        trial.true(
            id(key) in names,
            "A key of the dict is a leaf that does not stand behind this root."
            if _kind_of_key(key) == "other"
            else "A key of the dict is no leaf that needs a gradient.",
            expected="tensors as keys, each of them a leaf with requires_grad behind this root",
            got=key,
            observed=(
                "keys",
                sorted({"leaf" if id(each) in names else _kind_of_key(each) for each in found}),
            ),
        )
    return {names[id(key)]: grad for key, grad in found.items()}


def _kind_of_key(key: Any) -> str:
    if isinstance(key, Node):
        return "node"
    if not isinstance(key, Tensor):
        return type(key).__name__
    return "not a leaf" if not key.is_leaf else "no gradient needed" if not key.requires_grad else "other"


def expected(root: Tensor, grad_out: Tensor, **leaves: Tensor) -> dict[str, Tensor]:
    """torch's own gradients, for those leaves that get one."""
    # Not grad(root, leaves, grad_out): where a gradient is given, torch imports sympy, 0.3 s in each fresh process.
    total = (root * grad_out).sum()
    grads = torch.autograd.grad(total, [*leaves.values()], allow_unused=True, retain_graph=True)
    return {name: grad for name, grad in zip(leaves, grads, strict=True) if grad is not None}


def same_leaves(trial: Trial, found: dict, want: dict, where: str = "") -> None:
    """Wrong unless the same leaves have a gradient. where: goes into what is observed."""
    lost = [name for name in want if name not in found]
    extra = {name: _of_nothing(grad) for name, grad in found.items() if name not in want}
    messages = [f"{name} should have a gradient, and is missing in the dict." for name in lost]
    messages += [f"No gradient reaches {name}; the dict holds {what} for it." for name, what in extra.items()]
    trial.true(
        not messages,
        " ".join(messages),
        expected=f"gradients for: {', '.join(want) or 'no leaf'}",
        got=sorted(found),
        observed=("leaves", lost, sorted(extra.items()), *([where] if where else [])),
    )


def for_no_ones(trial: Trial, got: Any, slope: Tensor) -> None:
    """Wrong if this is what comes for a grad_out of ones. slope: what each entry of grad_out is multiplied by."""
    trial.true(
        not slope.numel() or bool(difference(got, slope, rtol=1e-9, atol=1e-9)),
        "The gradient of x is that for a grad_out of ones.",
        expected="that for the grad_out that was given",
        got=got,
        observed="of ones",
    )


def line_of(error: Exception) -> str:
    """The line of code that raised."""
    return traceback.extract_tb(error.__traceback__)[-1].line or "?"


def _of_nothing(grad: Any) -> str:
    if not isinstance(grad, Tensor):
        return "None" if grad is None else "no tensor"
    return "zeros" if not grad.any() else "numbers"


def same(answer: Engine, trial: Trial, root: Tensor, grad_out: Tensor, **leaves: Tensor) -> None:
    """Wrong unless the answer's gradients are torch's."""
    want = expected(root, grad_out, **leaves)
    found = gradients(answer, trial, root, grad_out, **leaves)
    same_leaves(trial, found, want)
    for name, grad in want.items():
        got = found[name]
        kind = difference(got, grad, rtol=1e-4, atol=1e-6)
        observed = (name, kind and kind.kind, type(got).__name__)
        trial.equal(got, grad, f"The gradient of {name}", rtol=1e-4, atol=1e-6, observed=observed)


def normal(trial: Trial, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=trial.generator, dtype=torch.float64).to(dtype)


def leaf(trial: Trial, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return normal(trial, *shape, dtype=dtype).requires_grad_()


def times_counted(got: Any, parts: list[Tensor]) -> list[int]:
    """How often each of the parts went into the result, sorted: [1, 1, 1] is right. Empty: it is no such sum."""
    if not isinstance(got, Tensor) or got.shape != parts[0].shape or not got.is_floating_point():
        return []
    table = torch.stack([part.flatten() for part in parts], 1)
    flat = got.detach().flatten().to(torch.float64)
    times = torch.linalg.lstsq(table, flat[:, None]).solution.flatten().round()
    near = torch.allclose(table @ times, flat, rtol=1e-4, atol=1e-6)
    return [int(count) for count in times.sort().values] if near else []


def kind_of_times(times: list[int]) -> str:
    """What became of the parts of a sum, in one word or two."""
    if not times:
        return "other"
    lost = ["lost"] if 0 in times else []
    return " and ".join(lost + (["several times"] if max(times) > 1 else [])) or "once"


def gradients_of_run(
    answer: Engine, trial: Trial, run: str, root: Tensor, grad_out: Tensor, observed: str, **leaves: Tensor
) -> dict[str, Any]:
    """What `gradients` gives; an error is said to be that of this run."""
    try:
        return gradients(answer, trial, root, grad_out, **leaves)
    except (NotImplementedError, Mismatch):
        raise
    except Exception as error:
        trial.fail(
            f"In {run}, the answer raised {type(error).__name__}: {error}",
            expected="the gradients of this run",
            observed=observed,
        )


def kind_of_shape(got: Any, want: Tensor) -> Any:
    if isinstance(got, Tensor) and got.shape != want.shape:
        return ("shape", tuple(got.shape))
    return ("value", type(got).__name__)


WHAT_CAME = {
    "lost": "some were lost",
    "several times": "some were counted several times",
    "lost and several times": "some were lost, some were counted several times",
    "other": "the result is no sum of them",
    "missing": "the leaf is not in the dict",
}


def plain_numbers(grad: Tensor) -> str:
    """The first entries of a gradient."""
    if not isinstance(grad, Tensor):
        return type(grad).__name__
    first = ", ".join(f"{number:.4g}" for number in grad.detach().flatten()[:3].tolist())
    return f"[{first}, ...]"


def of_single_edges(answer: Engine, trial: Trial) -> list[tuple[str, ...]]:
    """What becomes of two gradients that two nodes send to one, in both orders: it tells why some were lost."""
    seen = set()
    for far_first in (False, True):
        x, grad_out, c, d = leaf(trial, 3, 4), normal(trial, 3, 4), normal(trial, 3, 4), normal(trial, 3, 4)
        log = Log()
        h = Logged.apply(x.sin(), 1.0, "h", log)
        near = Logged.apply(h, 1.0, "user", log) * c
        far = (Logged.apply(h, 1.0, "user", log) * d).neg().neg()
        slope = grad_out * x.detach().cos()
        try:
            found = answer(far + near if far_first else near + far, grad_out.clone())
            times = times_counted(found.get(x), [slope * c, slope * d])
        except NotImplementedError:
            raise
        except Exception as error:
            seen.add((type(error).__name__,))
            continue
        users = [at for at, label in enumerate(log.labels) if label == "user"]
        early = "h" in log.labels and log.labels.index("h") < max(users, default=0)
        all_called = log.labels.count("user") == 2
        seen.add(
            (
                kind_of_times(times),
                "early" if early and all_called else "in order" if all_called else "not all users called",
                "again" if log.labels.count("h") > 1 else "",
            )
        )
    return sorted(seen)


def used_rows(
    answer: Engine, trial: Trial, x: Tensor, description: str, root: Tensor, used: list[int]
) -> None:
    """Wrong unless the gradient of x is torch's, with numbers in the rows that are used and nowhere else."""
    trial.given(description + ", x of shape (4, 3)")
    grad_out = normal(trial, 3)
    want = expected(root, grad_out, x=x)
    found = gradients(answer, trial, root, grad_out, x=x)
    same_leaves(trial, found, want)
    got = found["x"]
    if isinstance(got, torch.Tensor) and got.shape == x.shape:
        filled = got.detach().any(1).nonzero().flatten().tolist()
        trial.true(
            filled == used,
            f"In the gradient of x, numbers stand in the rows {filled}, but the rows {used} were used.",
            expected=f"zeros in the rows that were not used, numbers in {used}",
            got=got,
            observed=(description, "rows lost" if set(filled) < set(used) else "other rows"),
        )
    trial.equal(got, want["x"], "The gradient of x", observed=(description, "values"))


def wrong_leaf(answer: Engine, trial: Trial, root: Tensor, leaves: dict[str, Tensor]) -> str:
    """What is wrong with the first leaf that has not torch's gradient, or with the call; "" if nothing is."""
    grad_out = normal(trial, *root.shape, dtype=root.dtype)
    want = expected(root, grad_out, **leaves)
    try:
        found = gradients(lambda root, grad: answer(root, grad.clone()), trial, root, grad_out, **leaves)
    except RuntimeError as error:
        if isinstance(error, (NotImplementedError, RecursionError)):
            raise
        return f"The answer raised {type(error).__name__}: {error}"
    for name, each in leaves.items():
        if (name in want) != (name in found):
            return f"The gradient of {name} is {'missing' if name in want else 'there, and torch has none'}."
        if name in want and (gap := difference(found[name], want[name], rtol=1e-4, atol=1e-5)):
            return f"The gradient of {name}, of shape {tuple(each.shape)}, {each.dtype}, is not torch's: {gap.sentence}."
    return ""


def called_once_beside_a_thread(answer: Engine, trial: Trial, x: Tensor, grad_out: Tensor) -> None:
    """Wrong if a node is called too early where a node behind it was made in a thread of its own."""
    trial.given(
        "root = g(h) + g(h), h = f(x); f and g are custom Functions; one call of g was made in a thread of its own, whose nodes "
        "are numbered anew (_sequence_nr)"
    )
    log = Log()
    h = Logged.apply(Logged.apply(x, 2.0, "below", log), 2.0, "f", log)
    with ThreadPoolExecutor(1) as pool:
        aside = pool.submit(Logged.apply, h, 3.0, "g", log).result()
    gradients(answer, trial, aside + Logged.apply(h, 3.0, "g", log), grad_out, x=x)
    times = log.labels.count("f")
    trial.true(
        times == 1,
        f"The node of f was called {times} times.",
        expected="once, when the gradients of both calls of g are there",
        observed=("made in a thread", times),
    )
