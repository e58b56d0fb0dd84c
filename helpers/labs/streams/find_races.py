"""Exercise 06.find_races: which kernels of a program race. Here: what a race is, and what events order."""

from __future__ import annotations

from helpers.exercise import Exercise
from helpers.labs.streams.find_races_parts import asks, case

find_races = Exercise(
    "06.find_races",
    "A race detector",
    objective="Find all pairs of kernels in a program that nothing keeps in order, though they share memory.",
    minutes=45,
    difficulty="hard",
    hints=[
        "Forget time. For each kernel ask: which earlier kernels are certainly over when it begins? On its own stream "
        "all of them. On another stream t: the first so many, because t runs them one after the other. One number a "
        "stream is enough; a dict of such numbers is called a clock.",
        "Keep a clock for each stream (what is over before the next thing on it begins), one for each event, one for "
        "the host. record copies the stream's clock to the event, wait joins the event's clock into the stream's, "
        "host_sync joins the stream's into the host's, and every op first joins the host's into its stream's. To join "
        "is to take the larger number for each stream.",
        "Kernel number n of stream t races with a later one on s, if they conflict and n > clock of s at t. To find all "
        "of them without comparing every pair, keep for each memory and stream the list of (n, index, writes), and walk "
        "it from its end until one is over: all before it are over, too.",
        "for number, earlier, wrote in reversed(touched[memory][stream]): if number <= clock.get(stream, 0): break; "
        "if wrote or memory in op.writes: races.add((earlier, index)). The kernel's own number is "
        "clock[op.stream] = clock.get(op.stream, 0) + 1, so its own stream gives nothing.",
    ],
)


two_streams = asks(
    find_races,
    "two kernels on two streams, each reads what the other writes: a set with their pair",
    case("nothing between them", {(0, 1)}, "s1 y>xz, s2 x>yz"),
    case("a kernel before them that touches nothing of theirs", {(1, 2)}, "s1 >w, s1 y>xz, s2 x>yz"),
)

conflicts = asks(
    find_races,
    "two kernels race if one of them writes what the other reads or writes",
    case("a write, then a read", {(0, 1)}, "s1 >x, s2 x>"),
    case("a read, then a write", {(0, 1)}, "s1 x>, s2 >x"),
    case("two writes", {(0, 1)}, "s1 >x, s2 >x"),
    case("two reads", set(), "s1 x>, s2 x>"),
    case("two reads of x, and writes elsewhere", set(), "s1 x>y, s2 x>z"),
    case("nothing in common", set(), "s1 x>y, s2 z>w"),
    case("edited in place, then read", {(0, 1)}, "s1 x>x, s2 x>y"),
    case("read, then edited in place", {(0, 1)}, "s1 x>y, s2 x>x"),
    case("two conflicts in one pair", {(0, 1)}, "s1 xz>y, s2 yz>x"),
    case("the second of two names", {(0, 1)}, "s1 z>xy, s2 wy>u"),
    after=[two_streams],
)

same_stream = asks(
    find_races,
    "kernels of one stream never race",
    case("a write and a read", set(), "s1 >x, s1 x>"),
    case("edited in place twice", set(), "s2 x>x, s2 x>x again"),
    case("another stream between", {(1, 3)}, "s1 x>y, s2 >z, s1 y>x, s1 z>y"),
    after=[two_streams],
)

all_pairs = asks(
    find_races,
    "all pairs are found, not only the first or the nearest",
    case("three streams write x", {(0, 1), (0, 2), (1, 2)}, "s1 >x, s2 >x, s3 >x"),
    case("one stream writes x twice, another reads it", {(0, 2), (1, 2)}, "s1 >x, s1 >x again, s2 x>"),
    case("a write, two reads, a write", {(0, 1), (0, 2), (1, 3), (2, 3)}, "s1 >x, s2 x>, s3 x>, s1 >x again"),
    case("a read between two writes", {(0, 1), (0, 2), (1, 2)}, "s1 >x, s2 x>, s3 >x"),
    after=[two_streams],
)

indices = asks(
    find_races,
    "a pair holds indices into the program, where records and waits count, too",
    case(
        "an event that is of no use stands first",
        {(3, 5)},
        "s3 record e, s2 wait e, s3 host_sync, s1 >x, s1 record f, s2 x>",
    ),
    after=[two_streams],
)

RACES = (two_streams, conflicts, same_stream, all_pairs, indices)

event = asks(
    find_races,
    "after a wait a stream goes on when all is over that the event marked",
    case("kernel, record, wait, kernel", set(), "s1 >x, s1 record e, s2 wait e, s2 x>"),
    case("two streams wait for one event", set(), "s1 >x, s1 record e, s2 wait e, s3 wait e, s2 x>, s3 x>"),
    case(
        "the default stream waits, as any other does",
        set(),
        "s2 x>y, s2 record e, default wait e, default >x",
    ),
    case("two kernels marked, two that waited", set(), "s1 >x, s1 >y, s1 record e, s2 wait e, s2 y>z, s2 x>"),
    after=RACES,
)

event_only = asks(
    find_races,
    "an event orders what stands before its record and what stands after the wait, nothing else",
    case("the record stands before the work", {(1, 3)}, "s1 record e, s1 >x, s2 wait e, s2 x>"),
    case("more work after the record", {(2, 4)}, "s1 >x, s1 record e, s1 >x again, s2 wait e, s2 x>"),
    case("more work after the wait", {(3, 4)}, "s1 >x, s1 record e, s2 wait e, s1 >x again, s2 x>"),
    case(
        "a read before the wait, one after it", {(0, 1)}, "s1 >x, s2 x> early, s1 record e, s2 wait e, s2 x>"
    ),
    case("another stream waits", {(0, 3)}, "s1 >x, s1 record e, s3 wait e, s2 x>"),
    case("the recording stream waits for nobody", {(3, 4)}, "s1 >x, s1 record e, s2 wait e, s2 x>y, s1 y>z"),
    case("nor for what the waiting stream did before", {(0, 3)}, "s2 >y, s1 record e, s2 wait e, s1 y>"),
    case("a record without a wait", {(0, 2)}, "s1 >x, s1 record e, s2 x>"),
    case("the stream waits for itself", {(0, 3)}, "s1 >x, s2 record e, s2 wait e, s2 x>"),
    case("the default stream waits for nobody", {(0, 1), (1, 2)}, "s1 >x, default x>y, s2 y>"),
    after=RACES,
)
