"""Which kernels race: the quick way, with clocks, against a search through all orders in which a program can run."""

from __future__ import annotations

import itertools
import random

import pytest

import helpers.labs.streams  # noqa: F401  all cases of the checks stand there
from helpers.labs.streams.find_races.compared import CASES, Case
from helpers.labs.streams.shared.happens_before import races
from helpers.labs.streams.shared.random_programs import drawn_kernel, drawn_program, pipeline
from helpers.labs.streams.shown.programs import EXAMPLES, Example, host_sync, listing, record, wait, written
from helpers.streams.program import Op
from tests.support.stream_interleavings import racing_pairs


def compared(programs: list[list[Op]]) -> tuple[int, int]:
    """How many of the programs race, and in how many pairs; fails where clocks and search differ."""
    racy = pairs = 0
    for program in programs:
        found = races(program)
        assert found == racing_pairs(program), listing(program)
        racy += bool(found)
        pairs += len(found)
    return racy, pairs


@pytest.mark.parametrize("seed", range(4))
def test_clocks_and_all_orders_agree_on_random_small_programs(seed: int) -> None:
    rng = random.Random(seed)
    programs = [
        drawn_program(
            rng,
            rng.randint(0, 9),
            streams=rng.randint(1, 4),
            events=rng.randint(1, 3),
            memories=rng.randint(1, 3),
        )
        for _ in range(1_500)
    ]
    racy, pairs = compared(programs)
    assert racy > 200 and pairs > racy, "programs without races prove nothing"
    assert racy < 1_300, "programs that all race prove nothing"


def test_clocks_and_all_orders_agree_on_longer_programs() -> None:
    rng = random.Random(12)
    compared([drawn_program(rng, 12, streams=3) for _ in range(200)])
    compared([pipeline(2), pipeline(3), pipeline(3, [2])])


def test_clocks_and_all_orders_agree_on_all_programs_of_four_ops() -> None:
    on_two = [(record(s, "e"), wait(s, "e"), host_sync(s), *written(f"{s} >x, {s} x>")) for s in ("a", "b")]
    programs = [list(program) for program in itertools.product(itertools.chain(*on_two), repeat=4)]
    assert len(programs) == 10_000
    racy, pairs = compared(programs)
    assert 1_000 < racy < pairs < 5_000


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.description)
def test_what_the_check_expects_of_a_program_is_what_all_orders_show(case: Case) -> None:
    assert racing_pairs(case.ops) == case.pairs


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
def test_examples_race_as_all_orders_show(example: Example) -> None:
    assert races(example.ops) == racing_pairs(example.ops)


def test_examples_teach_what_they_say() -> None:
    assert [sorted(races(example.ops)) for example in EXAMPLES] == [[(0, 1)], [], [(2, 4)], [(5, 8)]]


def test_a_drawn_kernel_touches_something() -> None:
    rng = random.Random(1)
    for memory in ("x", "xy", "xyz"):
        kernels = [drawn_kernel(rng, "s1", memory) for _ in range(200)]
        assert all(op.reads | op.writes for op in kernels)
        assert any(op.reads & op.writes for op in kernels) and any(not op.writes for op in kernels)


def test_a_program_is_written_in_one_line() -> None:
    program = written("s1 x>yz again, s1 record e, s2 wait e, s2 host_sync")
    kernel, *rest = program
    assert (kernel.stream, kernel.kind, kernel.name) == ("s1", "kernel", "again")
    assert (kernel.reads, kernel.writes) == (frozenset("x"), frozenset("yz"))
    assert rest == [record("s1", "e"), wait("s2", "e"), host_sync("s2")]
    assert written("") == ()
