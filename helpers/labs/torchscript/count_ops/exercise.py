"""Exercise 09.count_ops: a walk over a graph whose nodes hold blocks of nodes."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch

from helpers.check.calls import calls_to
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.torchscript.shared.quiet import quiet
from helpers.labs.torchscript.shown.programs import compiled, graph_of
from helpers.labs.torchscript.shown.recurrent import HIDDEN, INPUTS, Cell, Gate

Answer = Callable[[torch.Graph, str], int]

COUNT = 'How many nodes of `graph` are of this kind ("aten::add", "prim::If").'
NODES = (
    "Nodes stand in the graph and in the blocks of other nodes (the body of a prim::Loop, both ways of a prim::If), "
    "however deep."
)
ONCE = "Each node counts once."
WHOLE = 'Kinds are compared whole: "aten::add_" and "aten::addmm" are not "aten::add".'
PARTS = (
    "A call of a submodule is one node, prim::CallMethod; to count what it runs, the caller gives "
    "`model.inlined_graph`."
)
INT = "Returns an int."
LEFT = "The graph is left as it was."
WALK = "The walk is your own: neither findAllNodes nor findNode is called."

count_ops = Exercise(
    "09.count_ops",
    "Counting in the IR",
    objective="Count the operations of a kind in a TorchScript graph, those inside loops and branches, too.",
    minutes=15,
    difficulty="easy",
    core=False,
    hints=[
        "Print a graph with a loop in it. What stands indented under prim::Loop belongs to a block of that node, and "
        "graph.nodes() gives the outermost nodes only.",
        "`node.kind()` is the name, `node.blocks()` the blocks of a node: one for a loop, two for a branch, none for most. "
        "A block has nodes() as a graph has.",
        "Write a function of a block that adds its own nodes of the kind to what it gives for each block of each of its "
        "nodes. Go into the blocks of a node that you have just counted, too.",
    ],
)

NESTED = """
def f(x: Tensor, n: int):
    x = x + 1
    for i in range(n):
        x = x + 2
        if n > 3:
            x = x + 3
            for j in range(i):
                x = x + 4
        else:
            x = x + 5
            x = x * x
            y = torch.relu(x)
    if n > 7:
        x = torch.sin(x)
    return x
"""
FLAT = """
def f(x: Tensor, y: Tensor):
    x = x + 1
    x = x + y
    print(x)
    x = x + 2
    return x * y
"""
NAMES = """
def f(x: Tensor, n: int):
    print("aten::add", "prim::Loop", "aten::add is a name", "%x = aten::add(%x)", "%y = aten::add(%x)")
    x = x + 1
    x += 2
    x = torch.addmm(x, x, x)
    x = torch.addcmul(x, x, x)
    return x
"""

FORKED = """
def side(x: Tensor):
    return torch.sin(x)
def f(x: Tensor):
    one = torch.jit.fork(side, x)
    other = torch.jit.fork(side, x)
    return torch.jit.wait(one) * torch.jit.wait(other)
"""


SPACED = ("aten::add", "quantized::add", "aten::complex", "aten::Complex")
SPACES = """
graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %scale : float = prim::Constant[value=0.5]()
  %y : Tensor = quantized::add(%x, %x, %scale, %one)
  %z : Tensor = aten::add(%x, %one, %one)
  %number : complex = aten::Complex(%scale, %scale)
  %numbers : Tensor = aten::complex(%z, %z)
  return (%y, %number, %numbers)
"""
UNTIDY = """
graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %also : int = prim::Constant[value=1]()
  %y : Tensor = aten::add(%x, %one, %one)
  %z : Tensor = aten::add(%x, %also, %also)
  %unused : Tensor = aten::mul(%y, %y)
  %sum : Tensor = aten::add(%y, %z, %one)
  return (%sum)
"""


@functools.cache
def model_of_parts() -> torch.jit.ScriptModule:
    """A trace that calls a script: the call is one node of its graph."""
    with quiet():
        example = torch.ones(2, INPUTS), torch.zeros(2, HIDDEN)
        return torch.jit.trace(Cell(torch.jit.script(Gate())), example, check_trace=False)


def loops_in_loops(depth: int) -> torch.Graph:
    """A graph with one addition, in so many loops."""
    lines = [f"{'    ' * (place + 1)}for i{place} in range(n):" for place in range(depth)]
    body = [*lines, f"{'    ' * (depth + 1)}x = x + 1", "    return x"]
    return compiled("\n".join(["def f(x: Tensor, n: int):", *body, ""]))


def counted(answer: Answer, trial: Trial, graph: torch.Graph, kinds: tuple[str, ...], words: str) -> None:
    """The count of each kind, against torch's own. All wrong ones are observed: one alone looks like several mistakes."""
    wrong, before, text = [], graph.str(False), shown(graph)
    for kind in kinds:
        trial.given(f'count_ops(graph, "{kind}"), {words}:\n{text}')
        want = len(graph.findAllNodes(kind))
        with quiet():
            got = trial.call(answer, graph, kind)
        trial.true(
            type(got) is int,
            f"Expected an int, got {type(got).__name__}.",
            expected=str(want),
            got=f"a value of type {type(got).__name__}",
            observed=("type", type(got).__name__, want == 0),
        )
        if got != want:
            wrong.append((kind, want, got))
    if wrong:
        kind, want, got = wrong[0]
        changed = " The answer has changed the graph." if graph.str(False) != before else ""
        trial.given(f'count_ops(graph, "{kind}"), {words}:\n{text}')
        with quiet():
            again = trial.call(answer, graph, kind)
        trial.true(
            again == got,
            "The same call gives a different number when it is made again: something of one call is left for the next.",
            expected="the same number at each call",
            got="a different one",
            observed="different when called again",
        )
        trial.fail(
            f"Expected {want}, got {got}.{changed}",
            expected=str(want),
            got=str(got),
            observed=("counts", [(kind, got) for kind, _, got in wrong]),
        )


def shown(graph: torch.Graph, lines: int = 40) -> str:
    """The graph's text without the places in the source."""
    text = [line.partition(" # ")[0] for line in graph.str(False).strip().splitlines()]
    return "\n".join(text[:lines] + (["..."] if len(text) > lines else []))


@count_ops.property("one block: every node of the kind, at each call anew", asks=(COUNT, INT))
def one_block(answer: Answer, trial: Trial) -> None:
    kinds = ("aten::add", "aten::mul", "prim::Print", "prim::Loop")
    counted(answer, trial, compiled(FLAT), kinds, "of a function without loops")


@count_ops.property(
    "whole names: aten::add_, aten::addmm and a text that holds the name do not count", asks=WHOLE
)
def whole_names(answer: Answer, trial: Trial) -> None:
    graph = compiled(NAMES)
    kinds = ("aten::add", "aten::add_", "prim::Loop", "prim::Print", "aten::mul")
    counted(answer, trial, graph, kinds, "of a function without loops")
    counted(
        answer,
        trial,
        torch._C.parse_ir(SPACES),
        SPACED,
        "of names that differ in a part",
    )
    counted(answer, trial, compiled(FORKED), ("prim::fork",), "of a function that forks two calls")


@count_ops.property("inside loops and branches, as deep as they go", asks=(NODES, ONCE))
def nested_blocks(answer: Answer, trial: Trial) -> None:
    graph = compiled(NESTED)
    kinds = ("aten::add", "aten::mul", "aten::sin")
    counted(answer, trial, graph, kinds, "of a function with a loop in a branch in a loop")


@count_ops.property("a loop in a loop, a branch in a branch", asks=(NODES, ONCE))
def own_kind(answer: Answer, trial: Trial) -> None:
    graph = compiled(NESTED)
    kinds = ("prim::Loop", "prim::If", "prim::Constant")
    counted(answer, trial, graph, kinds, "of a function with a loop in a branch in a loop")


@count_ops.property("random programs, and loops in loops in loops", asks=(COUNT, NODES))
def programs(answer: Answer, trial: Trial) -> None:
    counted(answer, trial, loops_in_loops(trial.random.randint(6, 9)), ("aten::add",), "of loops in loops")
    kinds = ("aten::add", "aten::add_", "aten::relu", "prim::If", "prim::Loop", "prim::Print")
    for _ in range(4):
        counted(answer, trial, graph_of(trial.random), kinds, "of a random program")


@count_ops.property("graph and inlined_graph of a model with parts", asks=PARTS, changes=("torch RNG",))
def parts(answer: Answer, trial: Trial) -> None:
    model = model_of_parts()
    kinds = ("prim::CallMethod", "aten::linear", "prim::If", "aten::neg")
    counted(answer, trial, model.graph.copy(), kinds, "graph is model.graph: a call of a part is one node")
    counted(
        answer,
        trial,
        model.inlined_graph.copy(),
        kinds,
        "graph is model.inlined_graph: the parts stand in it",
    )


@count_ops.property("the graph stays as it was", asks=LEFT, changes=("torch RNG",))
def unchanged(answer: Answer, trial: Trial) -> None:
    untidy = [(torch._C.parse_ir(UNTIDY), kind) for kind in ("aten::add", "aten::mul", "prim::Constant")]
    for graph, kind in (*untidy, (model_of_parts().graph.copy(), "prim::CallMethod")):
        before = graph.str(False)
        trial.given(f'count_ops(graph, "{kind}"):\n{shown(graph)}')
        with quiet():
            trial.call(answer, graph, kind)
        trial.true(
            graph.str(False) == before,
            "The answer changed the graph that it was given.",
            expected="a graph that is only read",
            got=shown(graph),
            observed=("changed", kind),
        )


@count_ops.property("the walk is the answer's own", asks=WALK)
def own_walk(answer: Answer, trial: Trial) -> None:
    graph = compiled(NESTED)
    trial.given("with a look at which methods of the graph are called")
    finders = [
        getattr(kind, name)
        for kind in (torch._C.Graph, torch._C.Block)
        for name in ("findAllNodes", "findNode")
    ]
    with quiet(), calls_to(*finders) as seen:
        trial.call(answer, graph, "aten::add")
    names = sorted({name.rpartition(".")[2] for name in seen})
    trial.true(
        not names,
        f"The answer calls {', '.join(names)}: that is what you are to write.",
        expected="a walk over nodes() and blocks()",
        observed=("calls", names),
    )
