"""The log of operations: names in order, memory that is new, a backward's operations too."""

from __future__ import annotations

import torch

from helpers.check.operations import Operation, operations


def test_a_view_and_an_edit_in_place_make_no_memory() -> None:
    x = torch.ones(3, 4)
    with operations() as ran:
        x.t().add_(1)
    assert [(each.name, each.made, each.bytes) for each in ran] == [("t", 0, 0), ("add_", 0, 0)]


def test_new_memory_is_counted_whole() -> None:
    x = torch.ones(3, 4, dtype=torch.float64)
    with operations() as ran:
        x.expand(2, 3, 4).sum(0)
        torch.cat([x, x])
        x.max(dim=0)
    assert ran == [
        Operation("expand", 0, 0, ((3, 4),)),
        Operation("sum", 12, 96, ((2, 3, 4),)),
        Operation("cat", 24, 192, ((3, 4), (3, 4))),
        Operation("max", 4, 64, ((3, 4),)),
    ]


def test_matmul_is_seen_in_its_steps_and_so_is_a_backward() -> None:
    k = torch.ones(2, 1, 3, 4, requires_grad=True)
    with operations() as ran:
        (torch.ones(2, 5, 2, 4) @ k.transpose(-2, -1)).sum().backward()
    names = [each.name for each in ran]
    copies = [each.made for each in ran if each.name == "clone"]
    assert names.count("bmm") == 2 and copies[0] == 2 * 5 * 4 * 3  # matmul copied k for each of the five


def test_what_an_operation_made_is_followed_and_not_kept() -> None:
    with operations() as ran:
        kept = torch.ones(3).exp()
        torch.ones(4).exp()
    alive = [not memory.expired() for each in ran for memory in each.memories]
    assert alive == [False, True, False, False] and kept.numel() == 3
    with operations() as ran:
        torch.ones(3, 3).to_sparse()
    assert ran[-1].made == 0  # a layout without one memory is left out
