"""A process group in memory, for ranks that are threads of one process (see scheduler.py).

The rules are gloo's: a blocking send is a rendezvous, messages are contiguous, what is sent and received must have
the same size, the n-th collective of each rank is the same one. `torch.distributed` calls these methods on the group,
so whatever way its functions were imported, they end here.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import ReduceOp

from helpers.ranks import collectives
from helpers.ranks.requests import LIBRARY, Meeting, Message, Wires, Work, nbytes
from helpers.ranks.scheduler import Disagreement


class ThreadGroup(dist.ProcessGroup):
    """The group of one rank. name: what tells this group from others, the same on all its ranks."""

    def __init__(self, wires: Wires, name: Any, rank: int, members: list[int]) -> None:
        super().__init__(rank, len(members))
        self.wires, self.name, self.members = wires, name, members
        self._rank, self._met = rank, 0

    def getBackendName(self) -> str:
        return "in_threads"

    def _get_backend(self, device: torch.device) -> None:
        """Asked whether it can send several messages at once: no."""

    def size(self) -> int:
        return len(self.members)

    def rank(self) -> int:
        return self._rank

    @property
    def group_name(self) -> str:
        return str(self.name)

    # Point to point -------------------------------------------------------------------------------------------

    def send(self, tensors: list[Tensor], peer: int, tag: int = 0) -> Work:
        return self._post(tensors[0], peer, tag, sends=True)

    def recv(self, tensors: list[Tensor], peer: int, tag: int = 0) -> Work:
        return self._post(tensors[0], peer, tag, sends=False)

    def recv_anysource(self, tensors: list[Tensor], tag: int = 0) -> Work:
        return self._post(tensors[0], None, tag, sends=False)

    def _post(self, tensor: Tensor, peer: int | None, tag: int, *, sends: bool) -> Work:
        scheduler, wires = self.wires.scheduler, self.wires
        scheduler.pause()
        if not tensor.is_contiguous():
            raise RuntimeError("input tensor has to be contiguous")
        if peer is not None and not 0 <= peer < self.size():
            raise ValueError(f"Rank {peer} is none of the {self.size()} ranks of the group")
        kind = _called(("send", "isend") if sends else ("recv", "irecv"))
        message = Message(self._rank, peer, tensor.detach())
        message.sends = sends
        scheduler.tell(kind, peer, nbytes(tensor))
        self._match(message, tag)
        work = Work(wires, kind, peer, lambda: message.partner is not None, message.deliver)
        work.source, work.tensors = message, [tensor]
        return work

    def _match(self, message: Message, tag: int) -> None:
        """Pairs a message with the first one that waits for it, or lets it wait."""
        name, me, peer = self.name, self._rank, message.peer
        if message.sends:
            mine, theirs = self.wires.sends, self.wires.receives
            own, fitting = (name, me, peer, tag), [(name, me, peer, tag), (name, None, peer, tag)]
        else:
            mine, theirs = self.wires.receives, self.wires.sends
            sources = range(self.size()) if peer is None else [peer]
            own, fitting = (name, peer, me, tag), [(name, source, me, tag) for source in sources]
        for place in fitting:
            if theirs[place]:
                other = theirs[place].popleft()
                message.meets(other)
                self._check_sizes(message, other)
                if not self.wires.late:
                    message.deliver()
                return
        mine[own].append(message)

    def _check_sizes(self, one: Message, other: Message) -> None:
        sender, receiver = (one, other) if one.sends else (other, one)
        if nbytes(sender.tensor) != nbytes(receiver.tensor):
            raise Disagreement(
                f"Rank {sender.rank} sends {_described(sender.tensor)} to rank {receiver.rank}, "
                f"which has room for {_described(receiver.tensor)}.",
                "size",
            )

    # Collectives ----------------------------------------------------------------------------------------------

    def _meet(self, call: collectives.Call) -> Work:
        scheduler, wires = self.wires.scheduler, self.wires
        scheduler.pause()
        scheduler.tell(call.name, None, sum(map(nbytes, call.inputs)))
        meetings = wires.meetings[self.name]
        if self._met == len(meetings):
            meetings.append(Meeting(self.size()))
        meeting, me = meetings[self._met], self._rank
        self._met += 1
        meeting.join(me, call)
        if not wires.late and meeting.complete():
            for rank in range(self.size()):
                meeting.deliver(rank)

        def done() -> None:
            if wires.late:
                meeting.deliver(me)

        work = Work(wires, call.name, None, meeting.complete, done)
        work.tensors = call.outputs
        return work

    def allreduce(self, tensors: list[Tensor], opts: Any = None) -> Work:
        return self._meet(collectives.all_reduce(tensors, opts.reduceOp if opts else ReduceOp.SUM))

    allreduce_coalesced = allreduce

    def broadcast(self, tensors: list[Tensor], opts: Any) -> Work:
        return self._meet(collectives.broadcast(tensors, opts.rootRank))

    def reduce(self, tensors: list[Tensor], opts: Any) -> Work:
        return self._meet(collectives.reduce(tensors, opts.reduceOp, opts.rootRank, self._rank))

    def allgather(self, outputs: list[list[Tensor]], inputs: list[Tensor], opts: Any = None) -> Work:
        return self._meet(collectives.all_gather(outputs[0], inputs[0]))

    def all_gather_single(self, output: Tensor, tensor: Tensor, opts: Any = None) -> Work:
        return self._meet(collectives.all_gather_into_tensor(output, tensor, self.size()))

    _allgather_base = all_gather_single

    def gather(self, outputs: list[list[Tensor]], inputs: list[Tensor], opts: Any) -> Work:
        return self._meet(
            collectives.gather(outputs[0] if outputs else [], inputs[0], opts.rootRank, self._rank)
        )

    def scatter(self, outputs: list[Tensor], inputs: list[list[Tensor]], opts: Any) -> Work:
        return self._meet(
            collectives.scatter(outputs[0], inputs[0] if inputs else [], opts.rootRank, self._rank)
        )

    def reduce_scatter(self, outputs: list[Tensor], inputs: list[list[Tensor]], opts: Any) -> Work:
        return self._meet(collectives.reduce_scatter(outputs[0], inputs[0], opts.reduceOp))

    def reduce_scatter_single(self, output: Tensor, tensor: Tensor, opts: Any) -> Work:
        parts = list(tensor.chunk(self.size()))
        return self._meet(collectives.reduce_scatter(output, parts, opts.reduceOp))

    _reduce_scatter_base = reduce_scatter_single

    def alltoall(self, outputs: list[Tensor], inputs: list[Tensor], opts: Any = None) -> Work:
        return self._meet(collectives.all_to_all(outputs, inputs))

    def all_to_all_single(
        self, output: Tensor, tensor: Tensor, out_sizes: Any, in_sizes: Any, opts: Any = None
    ) -> Work:
        size = self.size()
        outputs = list(output.split(out_sizes) if out_sizes else output.chunk(size))
        inputs = list(tensor.split(in_sizes) if in_sizes else tensor.chunk(size))
        return self._meet(collectives.all_to_all(outputs, inputs))

    alltoall_base = all_to_all_single

    def barrier(self, opts: Any = None) -> Work:
        return self._meet(collectives.barrier())


def _described(tensor: Tensor) -> str:
    return f"{tuple(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"


def _called(names: tuple[str, str]) -> str:
    """Which function of torch.distributed was called: the blocking one calls the other."""
    frame, found = sys._getframe(3), names[1]  # past the group's own methods
    while frame and frame.f_code.co_filename.startswith(LIBRARY):
        if frame.f_code.co_name == names[0]:
            found = names[0]
        frame = frame.f_back
    return found
