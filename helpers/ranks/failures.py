"""What a learner reads when ranks fail: the first cause, its rank, cell and line, and where the others are."""

from __future__ import annotations

import pickle
import re
import textwrap
from typing import Any, Literal

from helpers.notebook.cells import with_cell_numbers
from helpers.notebook.frames import Frame, dumped, is_learners, places
from helpers.processes.endings import ending
from helpers.ranks.rank import Order
from helpers.ranks.rank_processes import Member, RankProcesses

Kind = Literal["raised", "died", "timed out", "not sent", "not started"]

DETAIL = "If the ranks disagree on a shape or an operation, detail=True makes torch name both sides."
DEADLOCK = "for another rank: this looks like a deadlock."
AT_ONCE = 0.1  # seconds within which errors of one class count as simultaneous: the lowest rank tells


class RankError(RuntimeError):
    """A call of `run` that came to no result.

    kind: "raised" (a rank raised), "died" (its process ended), "timed out", "not sent" (a result that cannot be
        copied), "not started".
    rank: where it began; None if no single rank is to blame.
    original: what that rank raised, where it can be copied; else None.
    others: for every other rank, where it was, in words.
    """

    def __init__(
        self,
        text: str,
        kind: Kind = "raised",
        rank: int | None = None,
        original: BaseException | None = None,
        others: dict[int, str] | None = None,
    ) -> None:
        super().__init__(text)
        self.kind, self.rank, self.original, self.others = kind, rank, original, others or {}
        if isinstance(original, Exception):
            self.__cause__ = original  # an untouched stub is known by it

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the text. The frames of the launcher would say nothing more."""
        return [f"{type(self).__name__}: {self}"]


def failure(processes: RankProcesses, seconds: float, order: Order) -> RankError:
    """Why the ranks of this processes did not all return."""
    first = _first(processes)
    others = [member for member in processes.members if member is not first]
    busy = processes.busy()  # before they are asked: one may end meanwhile
    where = whereabouts(processes, others)
    if first is None and not processes.is_ready():
        return RankError("The processes did not start in time: the machine may be too busy.", "not started")
    if first is None and not processes.has_joined():
        description = "".join(f"\nrank {rank} {text}" for rank, text in where.items())
        return RankError(f"The ranks did not get ready in time.{description}", "not started", others=where)
    if first is None:
        text, kind = f"No result within {seconds:g} s: {_ranks(busy)} still at work.", "timed out"
        waits = all(where[member.rank].startswith("waits") for member in busy)
        if waits and order.link is None:  # on a slow link, a message may only be under way
            text += f" {'It waits' if len(busy) == 1 else 'Each waits'} {DEADLOCK}"
    else:
        text, kind = _described(processes, first)
        alike = [member for member in others if _same(member, first)]
        if alike:
            text += f"\nThe same on {_ranks(alike).rsplit(' ', 1)[0]}."
        where = {member.rank: where[member.rank] for member in others if member not in alike}
    if where:
        text += "\n" + "\n".join(f"rank {rank} {description}" for rank, description in where.items())
    if not order.detail and _may_disagree(text):
        text += "\n" + DETAIL
    return RankError(text, kind, first.rank if first else None, _original(first), where)


def whereabouts(processes: RankProcesses, members: list[Member]) -> dict[int, str]:
    """Where these ranks are, in words, by rank."""
    busy = [member for member in members if member.ended is None]
    processes.ask(busy)
    return {member.rank: _whereabouts(member, asked=member in busy) for member in members}


def _whereabouts(member: Member, asked: bool) -> str:
    ended = member.ended
    if ended is None or asked:
        return _place(member)
    if ended["kind"] == "returned":
        return "had returned."
    if ended["kind"] == "died":
        return f"then {ending(ended['code'])}."
    if member.lost_another():
        return f"then lost its connection to another rank ({ended['error']}: {_short(_tidy(ended['text']))})."
    if "error" in ended:
        return f"then raised {ended['error']}: {_short(_tidy(ended['text']))}"
    return "sent what nobody can read."


def _place(member: Member) -> str:
    frames = _dumped(member.dump)
    if frames is None:
        return "does not answer." if member.dump == b"" and member.ready else "was still getting ready."
    inner = next((n for n, frame in enumerate(frames) if is_learners(frame[0])), None)
    if inner is None:
        return "was in torch, called from no line of the notebook." if frames else "was still getting ready."
    call = next((name for file, _, name in reversed(frames[:inner]) if _is_public(file, name)), None)
    at = places([frames[inner]])[0]
    if call:
        return f"waits in {call}: {at}"
    return f"waits at {at}" if ".wait(" in at else f"is at {at}"


def _is_public(file: str, name: str) -> bool:
    return (
        "/torch/distributed/" in file and not name.startswith(("_", "<")) and name not in ("wrapper", "inner")
    )


_OURS = "helpers/ranks/rank.py"


def _dumped(dump: bytes) -> list[Frame] | None:
    """Frames inside the function's call in faulthandler's dump, innermost first; None if it is not in there."""
    text = dump.decode(errors="replace")
    for part in re.split(r"^(?=(?:Current thread|Thread) )", text, flags=re.M):
        frames = dumped(part)
        for n, (file, _, name) in enumerate(frames):
            if file.endswith(_OURS) and name == "called":
                return frames[:n]
        if part.rstrip().endswith("...") and frames:  # deeper than faulthandler shows
            return frames
    return None


def _first(processes: RankProcesses) -> Member | None:
    """The rank that failed first, errors that only tell of another's end left for last; of equal ones the lowest rank.

    Of ranks that fail alike it is chance which is first, and on a busy machine they may be far apart.
    """
    failed = processes.failed()
    if not failed:
        return None
    first = min(failed, key=lambda member: (member.lost_another(), member.ended["at"]))
    until = first.ended["at"] + AT_ONCE
    kind = first.ended.get("error")
    if not kind or first.lost_another():
        return first
    at_once = [m for m in failed if m.ended.get("error") == kind and m.ended["at"] <= until]
    return next(m for m in failed if m in at_once or _same(m, first))


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def _same(one: Member, other: Member) -> bool:
    a, b = one.ended, other.ended
    if not (a and b and "error" in a and "error" in b):
        return False
    alike = all(a.get(k) == b.get(k) for k in ("kind", "error", "frames"))
    return alike and _ADDRESS.sub("", a["text"]) == _ADDRESS.sub("", b["text"])


def _described(processes: RankProcesses, member: Member) -> tuple[str, Kind]:
    ended, who = member.ended, f"rank {member.rank}"
    kind = ended["kind"]
    if kind == "raised":
        text = f"{who} raised {ended['error']}: {_tidy(ended['text'])}".rstrip(": ")
        if ended["error"] == "SystemExit":
            text = f"{who} called sys.exit({ended['text']})"
        return text + _lines(ended["frames"]), "raised"
    if kind == "died":
        place = _dumped(member.dump)
        text = f"{who}: its process {ending(ended['code'])}."
        words = _last_words(processes.printed.last_words(member.rank))
        return text + _lines(reversed(place or ())) + (f"\n  {words}" if words else ""), "died"
    if kind == "unsendable":
        message = f"{ended['error']}: {_tidy(ended['text'])[:300]}"
        return f"{who} returned a {ended['what']} that cannot be copied to here: {message}", "not sent"
    if kind == "unbuilt":
        message = f"{ended['error']}: {_tidy(ended['text'])[:300]}"
        return f"{who} could not rebuild the function and its arguments: {message}" + _lines(
            ended["frames"]
        ), "not started"
    if kind == "unready":
        return (
            f"{who} could not join the process group: {ended['error']}: {_tidy(ended['text'])}",
            "not started",
        )
    return f"{who} wrote into the channel to the launcher.", "died"


def _lines(frames: Any) -> str:
    known: list[str] = []
    for place in places(frames):
        if known and known[-1].startswith(place):  # recursion
            known[-1] = f"{place}   (again and again)"
        else:
            known.append(place)
    return "".join(f"\n  {place}" for place in known)


def _short(text: str) -> str:
    return textwrap.shorten(text, 200, placeholder=" ...")


_FINGERPRINT = re.compile(
    r"CollectiveFingerPrint\(SequenceNumber=\d+, OpType=(\w+)"
    r"(?:, TensorShape=(\[.*?\]), TensorDtypes=(\w+), TensorDeviceTypes=TensorOptions\(.*?\(nullopt\)\))?\)"
)


def _tidy(text: str) -> str:
    """An error of torch in short, and without what changes from run to run: ports, places in C++."""
    text = re.split(r"\nException raised from |\nC\+\+ CapturedTraceback", text)[0]
    text = with_cell_numbers(_ADDRESS.sub("", text))
    text = re.sub(r"\[/[^\]\s]*?([\w.]+:\d+)\] ", "", text)
    text = re.sub(r"\[([0-9a-fA-F.:]+)\]:\d+", r"[\1]", text)
    text = re.sub(r"(Connection (?:reset|closed) by peer).*", r"\1", text, flags=re.S)
    text = _FINGERPRINT.sub(lambda m: f"{m[1]} of shape {m[2]}, {m[3]}" if m[2] else m[1], text)
    text = re.sub(r"\.Collectives differ in the following aspects:\s*", ". They differ in: ", text)
    return re.sub(r"(\S)vs ", r"\1 vs ", text).replace("Tensor Tensor", "Tensor").strip()


def _last_words(text: str) -> str:
    """Why C++ aborted, in words."""
    if sizes := re.search(r"op\.preamble\.length <= op\.nbytes\. (\d+) vs (\d+)", text):
        came, held = sizes.groups()
        return f"A message of {came} bytes came for {held} bytes: the ranks disagree on a shape, a dtype or an operation."
    return _tidy(re.sub(r"^terminate called.*\n|what\(\): *", "", text))


def _may_disagree(text: str) -> bool:
    """Whether torch's comparison of collectives may say more."""
    if re.search(r"waits in (?!send|recv|isend|irecv|batch_isend_irecv)", text):
        return bool(re.search("deadlock|Timed out|bytes came", text))
    return "bytes came" in text and not re.search(r"\.(i?send|i?recv)\(", text)


def _ranks(members: list[Member]) -> str:
    names = [str(member.rank) for member in members]
    return f"rank {names[0]} is" if len(names) == 1 else f"ranks {', '.join(names[:-1])} and {names[-1]} are"


def _original(member: Member | None) -> BaseException | None:
    blob = member.ended.get("original") if member else None
    try:
        original = pickle.loads(blob) if blob else None
    except Exception:
        return None
    return original if isinstance(original, BaseException) else None
