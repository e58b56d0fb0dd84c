"""How many rounds the messages of a run take, on ports that send one message at a time and receive one at a time."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field

from helpers.ranks.in_threads import Event


@dataclass
class Message:
    """after: the numbers of the messages that were over before this one could begin."""

    source: int
    target: int
    after: set[int] = field(default_factory=set)


def messages(log: list[Event]) -> list[Message]:
    """A message begins when both sides have asked for it; what a side has waited for before that comes earlier.

    Messages of one pair of ranks come in order.
    """
    found: list[Message] = []
    over: dict[int, set[int]] = defaultdict(set)  # by rank: what it has waited for
    under_way: dict[tuple[int, int], deque[int]] = defaultdict(deque)
    unsent: dict[tuple[int, int], deque[int]] = defaultdict(deque)
    asked: dict[tuple[int, int | None], deque[set[int]]] = defaultdict(deque)
    for event in log:
        rank, peer = event.rank, event.peer
        if event.kind in ("send", "isend") and peer is not None:
            under_way[rank, peer].append(len(found))
            unsent[rank, peer].append(len(found))
            found.append(Message(rank, peer, set(over[rank])))
        elif event.kind in ("recv", "irecv"):
            asked[rank, peer].append(set(over[rank]))
        elif event.kind == "sent" and peer is not None:
            over[rank].add(unsent[rank, peer].popleft())
        elif event.kind == "received":
            sources = [key for key, waiting in under_way.items() if waiting and key[1] == rank]
            if peer is not None:
                sources = [key for key in sources if key[0] == peer]
            if sources:  # from anybody: the one that was sent first
                number = under_way[min(sources, key=lambda key: under_way[key][0])].popleft()
                found[number].after |= asked[rank, peer].popleft() - {number}
                over[rank].add(number)
    return found


def rounds(log: list[Event], *, ports: bool = True) -> int:
    """The fewest rounds, or nearly: of those that could go next, the first is what most others wait for.

    ports: whether a rank sends one message a round and receives one; without, only what needs each other counts.
    """
    todo = dict(enumerate(messages(log)))
    height = dict.fromkeys(todo, 0)  # how many come after, at least
    for _ in todo:
        for number, message in todo.items():
            for earlier in message.after:
                height[earlier] = max(height[earlier], height[number] + 1)
    ended: set[int] = set()
    count = 0
    while todo:
        ready = [number for number, message in todo.items() if message.after <= ended]
        if not ready:  # cannot be: what is over has begun before
            return count + len(todo)
        sends: set[int] = set()
        receives: set[int] = set()
        now = []
        for number in sorted(ready, key=lambda number: (-height[number], number)):
            message = todo[number]
            if not ports or (message.source not in sends and message.target not in receives):
                sends.add(message.source)
                receives.add(message.target)
                now.append(number)
        for number in now:
            del todo[number]
        ended.update(now)
        count += 1
    return count
