"""Stands in for a rank of a distributed run, where only the asking for the rank matters."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import torch.distributed

RANKS = ("RANK", "LOCAL_RANK", "GROUP_RANK", "SLURM_PROCID", "SLURM_LOCALID")
RANKS += ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_RANK")
SIZES = ("WORLD_SIZE", "LOCAL_WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE")


@contextmanager
def as_rank(rank: int, world_size: int) -> Iterator[None]:
    """As if in a process of a distributed run."""
    variables = dict.fromkeys(RANKS, str(rank)) | dict.fromkeys(SIZES, str(world_size))
    with (
        mock.patch.dict(os.environ, variables),
        mock.patch.multiple(
            torch.distributed,
            is_initialized=lambda: True,
            get_rank=lambda *group, **named: rank,
            get_node_local_rank=lambda *fallback, **named: rank,
            get_world_size=lambda *group, **named: world_size,
        ),
    ):
        yield
