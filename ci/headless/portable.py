"""`labbook portable`: the solutions print the same under other settings, and no digit of theirs stands near an edge.

Two machines round a sum otherwise: other vector instructions and another number of threads add in another order. A value
near the edge of two texts, as 2.5e-7 is with one digit, then prints as one here and as the other there. So each solution is
compared under other settings of this machine, and is run once with probes around what it prints (edges/), which make the
text of each number also for its neighbours, one part in a million off. Nothing of this is remembered.

What this does not show: what oneDNN and MKL do on newer processors than this; a number of half precision, to which one part
in a million is nothing; a comparison near its edge (`error < 1e-6`), unless a setting turns it.

Numbers in the text that no probe saw are counted, and listed with --unseen. Those left in the course are typed, not computed:
in the listed source of torch, in what a prediction, a check or a measurement says, in labels made elsewhere. What torch itself
writes into a message or a repr of a module is not seen either, nor a number that a helper shows without a fraction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ci.environ import environ_with
from ci.headless.jobs import Outcome
from ci.headless.kernels import kernel_error
from ci.headless.pool import outcomes
from ci.headless.progress import print_table
from ci.headless.run import guarded, job_for, seconds
from ci.notebooks.files import Problem, notebooks, shown

THREADS = (1, 4)
CAPABILITY = "ATEN_CPU_CAPABILITY"  # the vector instructions that torch uses; read when it is loaded
# MKL and oneDNN multiply matrices, and choose their instructions by themselves.
LIBRARIES = {
    "default": {"MKL_CBWR": "COMPATIBLE", "ONEDNN_MAX_CPU_ISA": "SSE41"},
    "avx2": {"MKL_ENABLE_INSTRUCTIONS": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"},
}
LESS = "print one digit less, or a bound"
# Texts of numbers that are exact, though many digits are needed to write them: by notebook and cell, with the reason.
EXACT = {
    # What fresh memory holds on the simulated device: the same bytes everywhere.
    ("06_streams", "read-early-shown"): "tensor([3.3962e+38, 3.3962e+38, 3.3962e+38])",
    # One third, rounded once, as its bits are shown.
    ("06_streams", "bits-figure"): "0.333333343",
}
# Pictures that show torch's own rounding: without vector instructions it is another, and the picture, too.
OWN_ROUNDING = {("default", "10_pitfalls", "offsets-figure"): "the errors of torch.var and of float32 means"}


@dataclass(frozen=True)
class Setting:
    """Variables of the environment under which the solutions are compared."""

    threads: int
    capability: str = ""  # "": as it is

    @property
    def variables(self) -> dict[str, str]:
        """What to set."""
        count = {name: str(self.threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
        count["MKL_DYNAMIC"] = (
            "FALSE"  # else MKL, and torch after it, takes no more threads than there are cores
        )
        chosen = {CAPABILITY: self.capability} if self.capability else {}
        return count | chosen | LIBRARIES.get(self.capability, {})

    def __str__(self) -> str:
        threads = f"{self.threads} thread{'s' * (self.threads > 1)}"
        return f"{threads}, {f'{CAPABILITY}={self.capability}' if self.capability else 'processor as it is'}"


def portable(root: Path, labs: list[str], *, unseen: bool = False) -> int:
    """Try solutions under other settings, and look for digits near an edge; returns the exit code.

    Args:
        root: The project.
        labs: Numbers of labs, none for all.
        unseen: List also the numbers that no probe saw.
    """
    return guarded("portable", lambda: _portable(root, labs, unseen))


def _portable(root: Path, labs: list[str], unseen: bool) -> int:
    if error := kernel_error():
        raise Problem(error)
    paths = notebooks(root / "solutions", labs)
    probed = outcomes([job_for(path, root, "edges") for path in paths], root, "edges")
    errors = [
        error
        for path, outcome in zip(paths, probed, strict=True)
        for error in edge_errors(path, root, outcome)
    ]
    rows = [(o.name, seconds(o), *_numbers(o)) for o in probed]
    tried, left_out = settings(capability())
    compared = []
    for setting in tried:
        done = under(setting, paths, root)
        errors += [f"with {setting}: {error}" for outcome in done for error in outcome.errors]
        well = sum(not outcome.errors for outcome in done)
        compared.append((str(setting), f"{sum(o.seconds for o in done):.1f}", f"{well} of {len(done)}"))
    print_table(("notebook", "seconds", "numbers seen", "near an edge", "not seen"), rows)
    print_table(("setting", "seconds", "notebooks well"), compared)
    for line in left_out:
        print(f"portable: not tried: {line}")
    if unseen:
        _list_unseen(probed)
    for error in errors:
        print(f"portable: {error}")
    print(f"portable: {len(errors)} errors" if errors else "portable: no digit depends on the machine")
    return int(bool(errors))


def capability() -> str:
    """The vector instructions that torch uses here, in its own words, as AVX2 or DEFAULT."""
    import torch

    return torch.backends.cpu.get_cpu_capability()


def settings(here: str) -> tuple[list[Setting], list[str]]:
    """The settings to try on a processor, and which are not tried, and why.

    Instructions that a processor lacks are never asked for: they would end the kernel.

    Args:
        here: What `capability` says.
    """
    names, left_out = [""], []
    if here in ("DEFAULT", "NO AVX"):
        left_out.append(f"{CAPABILITY}=default: the processor as it is gives {here}")
    else:
        names.append("default")
    if here.startswith("AVX512"):
        names.append("avx2")
    else:
        why = "the processor as it is gives AVX2" if here == "AVX2" else f"there is only {here} here"
        left_out.append(f"{CAPABILITY}=avx2: {why}")
    return [Setting(threads, name) for name in names for threads in THREADS], left_out


def under(setting: Setting, paths: Sequence[Path], root: Path) -> list[Outcome]:
    """Compare solutions, their pictures too, with what is stored, under a setting.

    It is set for this process too: the kernel server, which has torch loaded, must agree with the kernels.
    """
    with environ_with(setting.variables):
        done = outcomes([job_for(path, root, "compare") for path in paths], root, f"compare ({setting})")
    for path, outcome in zip(paths, done, strict=True):
        for cell, (fresh, stored) in outcome.result.get("changes", {}).items():
            picture = fresh == stored
            if picture and (setting.capability, path.stem, cell) in OWN_ROUNDING:
                continue
            new, old = first_difference(fresh, stored)
            message = "its picture looks different" if picture else f"shows {new!r} where {old!r} is stored"
            outcome.errors.append(f"{shown(path, root)}, cell {cell}: {message}")
    return done


def _numbers(outcome: Outcome) -> tuple[str, str, str]:
    result = outcome.result
    if not result:
        return "-", "-", "-"
    not_seen = sum(map(len, result["unseen"].values()))
    return str(result["probed"]), str(len(result["found"])), str(not_seen)


def edge_errors(path: Path, root: Path, outcome: Outcome) -> Iterator[str]:
    """What a person must mend in a solution that ran with probes."""
    yield from outcome.errors
    where = shown(path, root)
    for note in outcome.result.get("found", []):
        if EXACT.get((path.stem, note["cell"])) != note["text"]:
            yield f"{where}, {described(note)}"
    for cell in outcome.result.get("changed", []):
        yield f"{where}, cell {cell}: with probes around what is printed its text is not the stored one"


def described(note: Mapping[str, Any]) -> str:
    """A text near an edge, in words: where it is, what it is, what it might be, what to do."""
    place, line, written = note["place"]
    other, what = note["cell"] != place, " ".join(written.split())
    at = f"cell {note['cell']}, line {line}" if not other else f"cell {note['cell']} (line {line} of {place})"
    texts = [first_difference(note["text"], text) for text in note["others"]]
    message = (
        f"{at}: `{what}` is near an edge: {texts[0][0]!r} would be {' or '.join(repr(b) for _, b in texts)}"
    )
    return f"{message}, were the number off by one part in a million: {LESS}"


def first_difference(text: str, other: str) -> tuple[str, str]:
    """The first lines of two texts that differ; the texts where no line does."""
    pairs = zip(text.splitlines(), other.splitlines(), strict=False)
    return next(((a.strip(), b.strip()) for a, b in pairs if a != b), (text, other))


def _list_unseen(probed: Sequence[Outcome]) -> None:
    for outcome in probed:
        for cell, numbers in outcome.result.get("unseen", {}).items():
            print(f"portable: {outcome.name}, cell {cell}: no probe saw {', '.join(numbers)}")
