"""Exercise 03.run_backward: a backward engine of one's own, over torch's real graph."""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.check.calls import calls_to
from helpers.check.compare import difference
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.autograd.run_backward.engines import (
    WHAT_CAME,
    Engine,
    called_once_beside_a_thread,
    expected,
    for_no_ones,
    gradients,
    gradients_of_run,
    kind_of_shape,
    kind_of_times,
    leaf,
    line_of,
    normal,
    of_single_edges,
    plain_numbers,
    same,
    same_leaves,
    times_counted,
    used_rows,
    wrong_leaf,
)
from helpers.labs.autograd.run_backward.inputs import (
    Blend,
    Blocked,
    Halves,
    Log,
    Logged,
    TwoDtypes,
    grown,
    ladder,
    long_chain,
    wide,
)

run_backward = Exercise(
    "03.run_backward",
    "An engine of your own",
    objective="Walk torch's real graph from a root to its leaves, and give every leaf its gradient.",
    minutes=40,
    difficulty="hard",
    hints=[
        "A node may be called when all gradients that will ever reach it are there. How many will? Go once through "
        "the graph before you call anything, and count how often each node stands in a next_functions.",
        "Keep for each node a list with one place for each of its outputs. A gradient comes for (node, slot): put it "
        "there, or add it to what is there. Then one gradient fewer is missing, also if it was None; at none missing "
        "the node is ready.",
        "node._input_metadata[slot] holds shape and dtype of what the node expects: grad.sum_to_size(shape).to(dtype). "
        "`before + grad` makes a new tensor; `before += grad` edits one that others hold, too.",
        "Start: edge = torch.autograd.graph.get_gradient_edge(root); its .node and .output_nr are where grad_out "
        "goes. A node with an attribute `variable` is a leaf: it is not called, its gradient goes into the dict.",
    ],
)


@run_backward.property(
    "chain: the leaf has torch's gradient",
    asks=(
        "The gradients of all leaves behind `root`, as torch.autograd.grad(..., allow_unused=True) computes them.",
        "Leaf -> gradient.",
        "Each gradient has the leaf's shape and dtype and does not require grad.",
    ),
)
def chain(answer: Engine, trial: Trial) -> None:
    for shape in ((3, 4), (), (0, 4)):
        trial.given(f"root = sin(x * c).exp(); x {shape}, float64; c needs no gradient; a random grad_out")
        x, c, grad_out = leaf(trial, *shape), normal(trial, *shape), normal(trial, *shape)
        root = (x * c).sin().exp()
        want = expected(root, grad_out, x=x)
        found = gradients(answer, trial, root, grad_out, x=x)
        same_leaves(trial, found, want, "no entries" if 0 in shape else "")
        for_no_ones(trial, found["x"], want["x"] / grad_out)
        trial.equal(found["x"], want["x"], "The gradient of x")
        trial.true(
            not found["x"].is_inference(),
            "The gradient is an inference tensor: a later computation that needs gradients cannot use it.",
            expected="an ordinary tensor, made with grad mode off (torch.no_grad)",
            observed="inference",
        )


@run_backward.property(
    "a leaf as root: its gradient is grad_out",
    asks="root: requires grad; it may be a leaf",
)
def leaf_as_root(answer: Engine, trial: Trial) -> None:
    trial.given("root = x itself, a leaf of shape (3, 4): x.grad_fn is None")
    x = leaf(trial, 3, 4)
    same(answer, trial, x, normal(trial, 3, 4), x=x)


@run_backward.property(
    "no leaf's node is called, no leaf's .grad is touched, nor does it count",
    asks="A leaf's node (it has `variable`) is not called, and no `.grad` is touched.",
)
def grad_untouched(answer: Engine, trial: Trial) -> None:
    trial.given("root = x * w.sin(), x.grad is None, w.grad holds a tensor of an earlier backward")
    x, w, kept = leaf(trial, 3, 4), leaf(trial, 3, 4), normal(trial, 3, 4)
    w.grad, copy = kept, kept.clone()
    called: list[str] = []
    for name, each in (("x", x), ("w", w)):
        each.register_post_accumulate_grad_hook(lambda _, name=name: called.append(name))
    root, grad_out = x * w.sin(), normal(trial, 3, 4)
    want = expected(root, grad_out, x=x, w=w)
    found = gradients(answer, trial, root, grad_out, x=x, w=w)
    touched = [] if x.grad is None else ["x.grad was filled"]
    if w.grad is not kept or not torch.equal(kept, copy):
        touched.append("w.grad was changed")
    messages = [f"The nodes of the leaves {' and '.join(sorted(set(called)))} were called"] if called else []
    messages += (
        [] if not touched else [" and ".join(touched) + ("" if called else ", and no leaf's node was called")]
    )
    trial.true(
        not messages,
        ". ".join(messages) + ".",
        expected="every .grad as it was: gradients go into the dict only",
        observed=("nodes called" if called else "no node called", touched),
    )
    same_leaves(trial, found, want)
    for name, grad in want.items():
        trial.equal(found[name], grad, f"The gradient of {name}", observed=(name, "differs"))


@run_backward.property(
    "a chain that is run twice", asks="Each call begins anew, also on a graph that was run before."
)
def chain_again(answer: Engine, trial: Trial) -> None:
    x = leaf(trial, 3, 4)
    root = x.neg().neg()  # nodes that save nothing: whether a run frees what was saved is left open
    for run in ("the first run", "a later run"):
        trial.given("root = x.neg().neg(); two runs over this graph, each with a grad_out of its own: " + run)
        grad_out = normal(trial, 3, 4)
        got = gradients_of_run(answer, trial, run, root, grad_out, run, x=x).get("x")
        gap = difference(got, grad_out, rtol=1e-9, atol=1e-9)
        what = f"In {run}, the gradient of x is not that of this run."
        trial.true(not gap, what, expected=grad_out, got=got, observed=run)


@run_backward.property(
    "diamond: two edges from one node to the same node are two gradients",
    asks="when all its gradients have come",
)
def double(answer: Engine, trial: Trial) -> None:
    x, w, grad_out = leaf(trial, 3, 4), leaf(trial, 3, 4), normal(trial, 3, 4)
    c, d = normal(trial, 3, 4), normal(trial, 3, 4)
    slope = grad_out * x.detach().cos()
    parts = {"x": [2 * slope * x.detach().sin(), slope * c], "w": [2 * grad_out * w.detach(), grad_out * d]}
    seen: set[tuple[str, str]] = set()
    sums, shown = {name: sum(each) for name, each in parts.items()}, {}

    def far(value: Tensor) -> Tensor:
        """The same value, two nodes later: what it sends comes late in most orders."""
        return value.neg().neg()

    # In both orders: which of the two operations is called first is up to the answer.
    for text, joined in (
        (
            "(h * h + far(h * c)) + (w * w + far(w * d))",
            lambda h: (h * h + far(h * c)) + (w * w + far(w * d)),
        ),
        (
            "(far(h * c) + h * h) + (far(w * d) + w * w)",
            lambda h: (far(h * c) + h * h) + (far(w * d) + w * w),
        ),
    ):
        trial.given(f"root = {text} with h = sin(x), far(h) = h.neg().neg()")
        root = joined(x.sin())
        try:
            found = gradients(answer, trial, root, grad_out, x=x, w=w)
        except (LookupError, TypeError) as error:
            seen.add(("the dict", f"{type(error).__name__} was raised by the answer, at `{line_of(error)}`"))
            continue
        seen |= {(name, "missing") for name in parts if name not in found}
        kinds = {
            name: kind_of_times(times_counted(found[name], parts[name])) for name in parts if name in found
        }
        seen |= set(kinds.items())
        shown |= {name: found[name] for name, kind in kinds.items() if kind != "once"}
    wrong = sorted((name, kind) for name, kind in seen if kind != "once")
    kinds_seen = [(name, kind.partition(" by the answer")[0]) for name, kind in wrong]
    trial.given(
        "root = (h * h + far(h * c)) + (w * w + far(w * d)), h = sin(x), far(h) = h.neg().neg(), and the same with its summands exchanged"
    )
    trial.true(
        not wrong,
        "Two edges lead from the node of h * h to the node of h, and one from h * c. "
        + " ".join(f"Of the gradients for {name}: {WHAT_CAME.get(kind, kind)}." for name, kind in wrong),
        expected="three gradients for h, and three for w, all of them in the sum"
        + "".join(f"; of {name} {plain_numbers(sums[name])}" for name in sorted(shown)),
        got="; ".join(f"of {name} {plain_numbers(each)}" for name, each in sorted(shown.items())),
        observed=wrong and (kinds_seen, of_single_edges(answer, trial)),
    )


@run_backward.property(
    "diamond: what is used several times gets the sum of the gradients of all uses",
    asks="when all its gradients have come",
)
def shared(answer: Engine, trial: Trial) -> None:
    trial.given("root = h*c1 + h*c2 + h*c3 + w*d1 + w*d2 + w*d3 with h = sin(x); x and w are leaves")
    x, w, grad_out = leaf(trial, 3, 4), leaf(trial, 3, 4), normal(trial, 3, 4)
    c, d = [normal(trial, 3, 4) for _ in range(3)], [normal(trial, 3, 4) for _ in range(3)]
    h = x.sin()
    root = (h * c[0] + h * c[1]) + h * c[2] + ((w * d[0] + w * d[1]) + w * d[2])
    want = expected(root, grad_out, x=x, w=w)
    found = gradients(answer, trial, root, grad_out, x=x, w=w)
    same_leaves(trial, found, want)
    counted = {
        "h": times_counted(found["x"], [grad_out * x.detach().cos() * factor for factor in c]),
        "w": times_counted(found["w"], [grad_out * factor for factor in d]),
    }
    wrong = {name: times for name, times in counted.items() if times != [1, 1, 1]}
    trial.true(
        not wrong,
        " ".join(
            f"Three gradients reach {name}; they went into the result {' and '.join(map(str, times))} times."
            if times
            else f"The result is no sum of the three gradients that reach {name}."
            for name, times in wrong.items()
        ),
        expected="each of the three once: their sum",
        observed=[(name, kind_of_times(times)) for name, times in counted.items()],
    )
    for name, grad in want.items():
        trial.equal(found[name], grad, f"The gradient of {name}")


@run_backward.property(
    "the root may be any result of its node",
    asks="root: requires grad; it may be a leaf, or one of several results of its node (`root.output_nr`);",
)
def root_slot(answer: Engine, trial: Trial) -> None:
    x = leaf(trial, 4, 3)
    used_rows(
        answer, trial, x, "root = x.unbind()[2]: the third output of a node is the root", x.unbind()[2], [2]
    )


@run_backward.property(
    "slots: each result of a node has its own",
    asks=(
        "`grads` has one place for each result of the node, `len(node._input_metadata)`, None where nothing came.",
        "What comes out belongs to `node.next_functions`, pairs of a receiver (or None) and a slot.",
    ),
)
def slots(answer: Engine, trial: Trial) -> None:
    x, c = leaf(trial, 4, 3), normal(trial, 3)
    rows = x.unbind()
    for description, root, used in (
        ("root = rows[1] * c + rows[3].sin() with rows = x.unbind()", rows[1] * c + rows[3].sin(), [1, 3]),
        (
            "root = sin(rows[0]) + rows[0] * rows[2] with rows = x.unbind()",
            rows[0].sin() + rows[0] * rows[2],
            [0, 2],
        ),
    ):
        used_rows(answer, trial, x, description, root, used)


@run_backward.property(
    "shapes: a gradient has the shape of what its receiver gave to the forward operation",
    asks=("Each gradient has the leaf's shape", "It is summed to the shape"),
)
def shapes(answer: Engine, trial: Trial) -> None:
    a, b, m, s = leaf(trial, 3, 1), leaf(trial, 1, 4), leaf(trial, 3, 4), leaf(trial)
    v = leaf(trial, 4)
    for text, root, leaves in (
        ("a + b", a + b, {"a": a, "b": b}),
        ("m.sum(1, keepdim=True) + b", m.sum(1, keepdim=True) + b, {"m": m, "b": b}),
        ("sin(m.sum() + s) + b * a", (m.sum() + s).sin() + b * a, {"m": m, "s": s, "a": a, "b": b}),
        ("v + b", v + b, {"v": v, "b": b}),  # as many entries, and a different shape
    ):
        trial.given(f"root = {text} with " + ", ".join(f"{n} {tuple(x.shape)}" for n, x in leaves.items()))
        grad_out = normal(trial, *root.shape)
        want = expected(root, grad_out, **leaves)
        found = gradients(answer, trial, root, grad_out, **leaves)
        same_leaves(trial, found, want)
        for name, grad in want.items():
            got = found[name]
            trial.equal(got, grad, f"The gradient of {name}", observed=(text, *kind_of_shape(got, grad)))


@run_backward.property(
    "shapes: and its dtype",
    asks=(
        "Each gradient has the leaf's shape and dtype",
        "It is summed to the shape and cast to the dtype in the receiver's `_input_metadata[slot]`.",
    ),
)
def dtypes(answer: Engine, trial: Trial) -> None:
    single = torch.float32
    a, b = leaf(trial, 3, 4, dtype=single), leaf(trial, 3, 4)
    trial.given("root = a + b with a of float32 and b of float64")
    same(answer, trial, a + b, normal(trial, 3, 4), a=a, b=b)
    trial.given("root = (a @ m) + b with a and m of float32, b of float64")
    m = leaf(trial, 4, 4, dtype=single)
    same(answer, trial, a @ m + b, normal(trial, 3, 4), a=a, m=m, b=b)


@run_backward.property(
    "nodes of custom Functions: no tensors among the arguments, unreduced gradients",
    asks=("The gradients of all leaves behind `root`", "What comes out belongs to `node.next_functions`"),
)
def custom_functions(answer: Engine, trial: Trial) -> None:
    a, b, c = leaf(trial, 3, 4), leaf(trial, 1, 4), normal(trial, 4)
    trial.given(
        "Function's forward(ctx, name, a, weight, b) with two outputs; name and weight are no tensors"
    )
    both, sine = Blend.apply("blend", a, 0.7, b)
    same(answer, trial, both * 2 + sine, normal(trial, 3, 4), a=a, b=b)
    trial.given("the second of a Function's two outputs is the root, the first one is not used")
    same(answer, trial, Blend.apply("blend", a, 0.7, b)[1], normal(trial, 3, 4), a=a, b=b)
    trial.given(
        "two Functions, each with a tensor argument that needs no gradient, before and after one that does"
    )
    root = Blend.apply("blend", a.detach(), 0.7, b)[1] + Halves.apply(b, c, 0.5)
    same(answer, trial, root, normal(trial, 3, 4), b=b)


@run_backward.property(
    "shapes: each result of a node has a shape and a dtype of its own",
    asks="It is summed to the shape and cast to the dtype in the receiver's `_input_metadata[slot]`.",
)
def slot_shapes(answer: Engine, trial: Trial) -> None:
    x, m, y = leaf(trial, 5), leaf(trial, 4, 3), leaf(trial, 3, dtype=torch.float32)
    trial.given("a, b = x.split([2, 3]) with x of shape (5,); root = a.sum() * m + b with m of shape (4, 3)")
    first, second = x.split([2, 3])
    same(answer, trial, first.sum() * m + second, normal(trial, 4, 3), x=x, m=m)
    trial.given("a, b = x.split([2, 3]) with x of shape (5,); root = b + m with m of shape (4, 3)")
    same(answer, trial, x.split([2, 3])[1] + m, normal(trial, 4, 3), x=x, m=m)
    trial.given(
        "a custom Function with two results, float32 and float64; each is multiplied by float64 numbers"
    )
    short, long = TwoDtypes.apply(y)
    same(answer, trial, short * m + long * m.detach(), normal(trial, 4, 3), y=y, m=m)


# The walk itself - how often, in which order, what is left untouched.


@run_backward.property(
    "no gradient is edited after a node has returned it",
    asks="Neither `grad_out` nor a gradient that a node returned is edited.",
)
def not_edited(answer: Engine, trial: Trial) -> None:
    for shape in ((3, 4), ()):
        trial.given(
            "root = s * 2, s = (h + u) + (h + v) + (h + w) + (z + u) + (z + v) + (z + w), h = sin(x), all of "
            f"shape {shape}"
        )
        x, z, u, v, w = (leaf(trial, *shape) for _ in range(5))
        log, h = Log(), x.sin()
        s = (h + u) + (h + v) + (h + w) + ((z + u) + (z + v) + (z + w))
        root = Logged.apply(s, 2.0, "top", log)
        gradients(answer, trial, root, normal(trial, *shape), x=x, z=z, u=u, v=v, w=w)
        trial.true(
            not log.was_edited(),
            "A gradient that a node had returned was edited in place; others hold the same tensor.",
            expected="a new tensor for each sum: `before + grad`",
            observed="edited",
        )
    x, u, v, w = (leaf(trial, 3, 4) for _ in range(4))
    trial.given("root = (x + u) + (x + v) + (x + w): grad_out itself reaches every leaf")
    same(answer, trial, (x + u) + (x + v) + (x + w), normal(trial, 3, 4), x=x, u=u, v=v, w=w)


@run_backward.property(
    "each node is called exactly once, when all its gradients are there, with grad mode off",
    asks=(
        "Each other node is called once, with grad mode off, when all its gradients have come: `call_node(node, grads)`.",
        "Every order is right in which no node is called too early.",
    ),
)
def once(answer: Engine, trial: Trial) -> None:
    rungs = 7
    trial.given(
        f"a ladder of {rungs} rungs: in each the value is used twice and joined again, so 2**{rungs} paths"
    )
    x, log = leaf(trial, 3), Log()
    grad_out = normal(trial, 3)
    want = expected(ladder(x, rungs, Log()), grad_out, x=x)
    root = ladder(x, rungs, log)
    found = gradients(answer, trial, root, grad_out, x=x)
    calls = [log.labels.count(f"{kind} {k}") for k in range(rungs) for kind in ("pair", "left", "right")]
    early = any(
        log.labels.index(f"pair {k}") < log.labels.index(f"{kind} {k}")
        for k in range(rungs)
        for kind in ("left", "right")
        if {f"pair {k}", f"{kind} {k}"} <= set(log.labels)
    )
    kind = "some never" if 0 in calls else "more than once" if max(calls) > 1 else "once"
    state = (kind, "too early" if early else "in order", "grad mode on" if any(log.grad_mode) else "off")
    messages = []
    if kind == "more than once":
        messages.append(
            f"One node was called {max(calls)} times, {sum(calls)} calls were made to {len(calls)} nodes."
        )
    if kind == "some never":
        messages.append(f"{calls.count(0)} nodes were never called.")
    if early:
        messages.append("A node was called before all gradients that reach it were there.")
    if any(log.grad_mode):
        messages.append(
            "A node was called with grad mode on: the backward itself is recorded as a new graph."
        )
    trial.true(
        not messages,
        " ".join(messages),
        expected="each node called once, with the sum of all its gradients, with grad mode off",
        observed=kind if kind == "more than once" else state,
    )
    same_leaves(trial, found, want)
    trial.equal(found["x"], want["x"], "The gradient of x", observed=(*state, "value"))
    called_once_beside_a_thread(answer, trial, x, grad_out)


@run_backward.property(
    "a leaf that gets no gradient is not in the dict",
    asks="A leaf that no gradient reaches is not in the dict.",
)
def nothing_arrives(answer: Engine, trial: Trial) -> None:
    trial.given("root = f(x, w), a custom Function whose backward returns None for w")
    x, w = leaf(trial, 3), leaf(trial, 3)
    same(answer, trial, Halves.apply(x, w, 0.5), normal(trial, 3), x=x, w=w)


@run_backward.property(
    "a gradient that is None has arrived, too",
    asks="None counts as an arrival",
)
def none_arrives(answer: Engine, trial: Trial) -> None:
    trial.given(
        "root = blocked(h) + h * c + blocked(h) with h = sin(x); blocked is a custom Function, it returns None"
    )
    x, c = leaf(trial, 3), normal(trial, 3)
    h = x.sin()
    same(answer, trial, Blocked.apply(h) + h * c + Blocked.apply(h), normal(trial, 3), x=x)


@run_backward.property(
    "a node that gets nothing but None is called all the same",
    asks="None counts as an arrival; a node that received only None is called all the same.",
)
def none_only(answer: Engine, trial: Trial) -> None:
    trial.given(
        "root = blocked(f(x)) + w; blocked returns None, so f's node gets only that; f is a custom Function"
    )
    x, w, grad_out = leaf(trial, 3), leaf(trial, 3), normal(trial, 3)
    log = Log()
    want = expected(Blocked.apply(Logged.apply(x, 2.0, "f", Log())) + w, grad_out, x=x, w=w)
    root = Blocked.apply(Logged.apply(x, 2.0, "f", log)) + w
    found = gradients(answer, trial, root, grad_out, x=x, w=w)
    trial.true(
        log.labels == ["f"],
        f"The node of f was called {len(log.labels)} times.",
        expected="one call, with zeros for what is missing; so x gets zeros, as torch gives it",
        observed=("calls", len(log.labels)),
    )
    same_leaves(trial, found, want)
    for name, grad in want.items():
        trial.equal(found[name], grad, f"The gradient of {name}")


@run_backward.property(
    "None is handed over as None, not as zeros",
    asks=(
        "`grads` has one place for each result of the node, `len(node._input_metadata)`, None where nothing came.",
        "A leaf that no gradient reaches is not in the dict.",
    ),
)
def none_stays(answer: Engine, trial: Trial) -> None:
    trial.given(
        "root = blocked(x * c) + w; blocked is a custom Function that returns None, x * c is torch's node"
    )
    x, w, c = leaf(trial, 3), leaf(trial, 3), normal(trial, 3)
    same(answer, trial, Blocked.apply(x * c) + w, normal(trial, 3), x=x, w=w)


@run_backward.property(
    "views and in-place edits",
    asks="Every order is right in which no node is called too early.",
)
def views(answer: Engine, trial: Trial) -> None:
    x, y = leaf(trial, 4, 3), leaf(trial, 3)
    trial.given(
        "base = zeros, two of its rows are filled with x[1:3], base.mul_(y) follows; root is a row of base"
    )
    base = torch.zeros(4, 3, dtype=torch.float64)
    row = base[2]
    base[1:3] = x[1:3].sin()
    base.mul_(y)
    same(answer, trial, row * 2, normal(trial, 3), x=x, y=y)


@run_backward.property(
    "a chain of 3,000 nodes",
    asks="3,000 nodes in a row must work.",
)
def depth(answer: Engine, trial: Trial) -> None:
    trial.given(
        "root = h + (-x); h is x after 3,000 operations, `-h` and `h + 0.1` in turn, and one more `-h`"
    )
    x, root, grad_out, want = long_chain(trial.seed)
    found = gradients(answer, trial, root, grad_out, x=x)
    same_leaves(trial, found, want)
    trial.equal(found["x"], want["x"], "The gradient of x", observed="differs")


@run_backward.property(
    "random graphs: the same gradients as torch's",
    asks="The gradients of all leaves behind `root`, as torch.autograd.grad(..., allow_unused=True) computes them.",
)
def random_graphs(answer: Engine, trial: Trial) -> None:
    for turn in range(8):
        graph = grown(trial.random.randrange, 14, trial.generator)
        roots = graph.roots()
        root = roots[-1] if turn % 2 else sum(wide(value) * (at + 1) for at, value in enumerate(roots[-3:]))
        # Six times the same tensor arrives: whoever edits it is always seen here.
        y, z = (leaf(trial, *root.shape, dtype=root.dtype) for _ in range(2))
        sine = y.sin()
        root = (root + z) + (z + z) + (sine + (sine + sine))
        leaves = {f"leaf {at}": each for at, each in enumerate([*graph.leaves, y, z])}
        trial.given(
            "a graph of these operations, with the places of their operands: " + ", ".join(graph.steps)
        )
        wrong = wrong_leaf(answer, trial, root, leaves)
        trial.true(not wrong, wrong, expected="the gradients of torch.autograd.grad", observed="differs")


_ENGINE = type(torch.autograd.Variable._execution_engine)


@run_backward.property(
    "the engine does the work itself",
    asks="torch's own engine is not called.",
)
def own_work(answer: Engine, trial: Trial) -> None:
    trial.given("root = x * w.sin(), with a look at which functions of torch are called")
    x, w = leaf(trial, 3), leaf(trial, 3)
    root = x * w.sin()
    engine = (torch.autograd.grad, torch.autograd.backward, torch.Tensor.backward, _ENGINE.run_backward)
    with calls_to(*engine) as seen:
        gradients(answer, trial, root, normal(trial, 3), x=x, w=w)
    trial.true(
        not seen,
        f"The answer calls {', '.join(dict.fromkeys(seen))}: that is the engine which is to be written here.",
        expected="a walk over grad_fn and next_functions that calls each node",
        observed="torch's engine",
    )


@run_backward.property(
    "a graph can be run again, with a different gradient and from a different root",
    asks="Each call begins anew, also on a graph that was run before.",
    once_right=True,
)
def run_again(answer: Engine, trial: Trial) -> None:
    # Nodes that save no tensor: whether a run frees what was saved is left open.
    x, w, log = leaf(trial, 3, 4), leaf(trial, 1, 4), Log()
    h = Logged.apply(-x, 2.0, "h", log)
    root = (h + w) + (h - w.sum())
    other = h.neg() - x
    grads = {"c": normal(trial, 3, 4), "d": normal(trial, 3, 4), "zeros": torch.zeros(3, 4).double()}
    for which, name in ((root, "c"), (root, "d"), (other, "c"), (root, "zeros"), (root, "c"), (other, "d")):
        trial.given(
            "root = (h + w) + (h - w.sum()) and other = -h - x, with h a Function's result of x; runs from root with c, "
            "root with d, other with c, root with zeros, root with c, other with d as grad_out, all over one graph"
        )
        want = expected(which, grads[name], x=x, w=w)
        what = f"the run from {'root' if which is root else 'other'} with {name}"
        found = gradients_of_run(answer, trial, what, which, grads[name], "a later run", x=x, w=w)
        for each, grad in want.items():
            gap = difference(found.get(each), grad, rtol=1e-9, atol=1e-9)
            trial.true(
                not gap,
                f"In {what}, the gradient of {each} is not that of this run.",
                expected=grad,
                got=found.get(each),
                observed="a later run",
            )
        extra = sorted(set(found) - set(want))
        trial.true(
            not extra,
            f"In {what}, the dict holds {', '.join(extra)}, which this root does not use.",
            expected=sorted(want),
            got=sorted(found),
            observed="a later run",
        )
