"""In a rank: a message to a rank that does not exist is an error, where gloo waits for it or crashes."""

from __future__ import annotations

import functools

import torch.distributed as dist
import torch.distributed.distributed_c10d as c10d


def refuse_unknown_ranks() -> None:
    """For the life of this process. All functions that take a rank, messages and collectives, ask here which it is."""
    known = c10d._canonicalize_group_rank

    @functools.wraps(known)
    def checked(
        group: dist.ProcessGroup,
        global_rank: int | None = None,
        group_rank: int | None = None,
        return_global: bool = False,
    ) -> int:
        found = known(group, global_rank, group_rank, return_global)
        count = dist.get_world_size() if return_global else group.size()
        if not 0 <= found < count:
            raise ValueError(f"Rank {found} is none of the {count} ranks of the group")
        return found

    c10d._canonicalize_group_rank = checked
