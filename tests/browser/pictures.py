"""README's pictures, made anew: `make pictures`, or `python -m tests.browser.pictures`.

A learner opens a fresh copy of the project, gives a wrong answer and the right one to an exercise, and looks at the
start page. The pictures go to .github/pictures/, and the words in them, as the browser had them, to words.json beside
them. tests/test_pictures.py holds these words against the course, without a browser.

Exit codes: 0 all are written, 1 there is no Chromium; nothing is written where something else goes wrong.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import FloatRect, Locator, expect, sync_playwright

from helpers import paths
from helpers.display.report import BESIDE
from tests.browser.conftest import CHROMIUM, FLAGS
from tests.browser.learner import Learner
from tests.browser.server import Server, copied_project

FOLDER = paths.ROOT / ".github" / "pictures"
WORDS = FOLDER / "words.json"
START, LAB = "00_start.ipynb", "01_reproducibility.ipynb"
EXERCISE, CELL = "01.seed_everything", "seed-everything"
# What the learner writes in place of the stub's last line.
WRONG = """\
random.seed(seed)
np.random.default_rng(seed)
torch.manual_seed(seed)"""
RIGHT = """\
if seed not in range(2**32):
    raise ValueError(f"{seed} is no seed for NumPy")
for seeded in (random.seed, np.random.seed, torch.manual_seed):
    seeded(seed)"""
MISTAKE = "numpy_forgotten"
# The numbers in a card follow from this seed alone. The long time is for a busy machine.
SEED = 2026
SETTINGS = {"LABBOOK_CHECK_SEED": str(SEED), "LABBOOK_CHECK_SECONDS": "120"}
# What the picture of the start page shows: these cells, the last of them with its output down to the second lab.
TEXTS, LIST, LABS_SHOWN = ("welcome", "how-a-lab-works", "the-labs"), "list-of-labs", 2
# So high that nothing on the start page is scrolled.
WINDOW = {"width": 1400, "height": 2600}
# Pixels of paper around the start page; less than what is between a cell and its number, or between two labs.
MARGIN = 8
COLOURS = 32


@dataclass(frozen=True)
class Shown:
    """A picture's entry in words.json. sha256: of the picture and these words, so that neither is edited alone."""

    sha256: str
    words: Sequence[str]


def digest(picture: bytes, words: Sequence[str]) -> str:
    """The sha256 of a picture's file, followed by the lines of its words."""
    return hashlib.sha256(picture + "\n".join(words).encode()).hexdigest()


def stored() -> dict[str, Shown]:
    """What words.json holds, by the picture's file name."""
    entries = json.loads(WORDS.read_text(encoding="utf-8"))
    return {name: Shown(**entry) for name, entry in entries.items()}


def source(notebook: str, id: str) -> str:
    """The text of a cell, as a learner gets it."""
    cells = json.loads((paths.LABS / notebook).read_text(encoding="utf-8"))["cells"]
    return next("".join(cell["source"]) for cell in cells if cell["id"] == id)


def written(body: str) -> str:
    """The exercise's cell with a learner's lines in it. The docstring of the stub stays."""
    stub, gap, _ = source(LAB, CELL).partition("    raise NotImplementedError")
    assert gap, f"{LAB}: the stub of {CELL} has another form"
    return stub + "\n".join(f"    {line}" for line in body.splitlines())


@dataclass(frozen=True)
class Picture:
    """A picture as the file that is stored, and the words in it."""

    png: bytes
    words: Sequence[str]


def picture(png: bytes, *texts: str) -> Picture:
    """A screenshot and its words: the lines of the texts, without empty ones."""
    file = io.BytesIO()
    of_few_colours(Image.open(io.BytesIO(png))).save(file, "PNG", optimize=True)
    lines = [" ".join(line.split()) for text in texts for line in text.splitlines()]
    return Picture(file.getvalue(), [line for line in lines if line])


def of_few_colours(image: Image.Image) -> Image.Image:
    """The image in COLOURS of its own colours, for a small file; each other pixel gets the nearest of them.

    Each is the one that does most for the pixels: a colour counts by how many have it, and by how far it is from those
    taken before. Pillow's own ways shift the colours of paper: the grey of a code cell became white.
    """
    pixels = np.asarray(image.convert("RGB")).astype(np.int64) @ [1 << 16, 1 << 8, 1]
    packed, place, count = np.unique(pixels, return_inverse=True, return_counts=True)
    colours = np.stack([packed >> 16, packed >> 8 & 255, packed & 255], axis=1)
    few = [colours[count.argmax()]]
    while len(few) < COLOURS:
        away = ((colours[:, None] - few) ** 2).sum(-1).min(1)
        few.append(colours[(away * count).argmax()])
    nearest = ((colours[:, None] - few) ** 2).sum(-1).argmin(1).astype(np.uint8)
    found = Image.fromarray(nearest[place].reshape(pixels.shape))
    found.putpalette(np.array(few, np.uint8).tobytes())
    return found


def of_card(learner: Learner, body: str, description: str) -> Picture:
    """Gives an answer to the check; the card, which must hold some words. A comparison in it is unfolded."""
    learner.type_into(CELL, written(body))
    learner.run(CELL)
    card = learner.run(f"{CELL}-check").locator("section")
    expect(card).to_contain_text(description)
    fold = card.locator("summary").filter(has_text=BESIDE)
    if fold.count():
        fold.click()
    learner.page.mouse.move(0, 0)
    return picture(card.screenshot(animations="disabled"), card.inner_text())


def of_start_page(learner: Learner, theme: str) -> Picture:
    """The start page from its top to one of the labs, without the numbers of cells."""
    learner.theme(f"JupyterLab {theme}")
    texts = [learner.cell(id).locator(".jp-RenderedMarkdown") for id in TEXTS]
    code, drawn = learner.cell(LIST).locator(".cm-content"), learner.output(LIST)
    labs = [drawn.get_by_role("listitem").nth(place) for place in range(LABS_SHOWN)]
    parts = [*texts, code, drawn.locator("p"), *labs]
    # The active cell has a frame and buttons: let it be one that is not in the picture.
    learner.cell("your-work")
    learner.page.mouse.move(0, 0)
    clip = around(texts[0], labs[-1])
    return picture(
        learner.page.screenshot(clip=clip, animations="disabled"), *(part.inner_text() for part in parts)
    )


def around(first: Locator, last: Locator) -> FloatRect:
    """The place from the top of one element to the bottom of another, with a margin."""
    top, bottom = first.bounding_box(), last.bounding_box()
    return {
        "x": top["x"] - MARGIN,
        "y": top["y"],
        "width": top["width"] + 2 * MARGIN,
        "height": bottom["y"] + bottom["height"] + MARGIN - top["y"],
    }


def taken(learner: Learner) -> dict[str, Picture]:
    """All pictures, by file name. The start page comes last: it shows that one exercise is solved."""
    learner.arrive()
    learner.theme("JupyterLab Light")
    learner.follow(f"^{LAB[:2]} ")
    learner.run_above(CELL)
    found = {"card-wrong.png": of_card(learner, WRONG, f"This mistake is known: {MISTAKE}")}
    found["card-passed.png"] = of_card(learner, RIGHT, "Passed")
    learner.save()
    learner.go_to(f"work/{START}")
    learner.run(LIST)
    found["start.png"] = of_start_page(learner, "Light")
    found["start-dark.png"] = of_start_page(learner, "Dark")
    return found


def put(pictures: Mapping[str, Picture]) -> None:
    """Writes all pictures and their words, and says which are other ones than before."""
    for name, new in pictures.items():
        path = FOLDER / name
        before = path.read_bytes() if path.exists() else b""
        path.write_bytes(new.png)
        state = "as it was" if new.png == before else "new"
        print(f"{path.relative_to(paths.ROOT)}: {state}, {len(new.png) / 1000:.0f} kB")
    entries = {name: asdict(Shown(digest(new.png, new.words), new.words)) for name, new in pictures.items()}
    WORDS.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> int:
    """Takes the pictures and returns the exit code."""
    if CHROMIUM is None:
        print("There is no Chromium here. `labbook doctor` says how to get one.", file=sys.stderr)
        return 1
    os.environ.update(SETTINGS)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = Server(copied_project(Path(folder) / "project"), Path(folder) / "state")
        try:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            # Two pixels for one: sharp on a fine screen.
            page = browser.new_page(viewport=WINDOW, device_scale_factor=2)
            found = taken(Learner(page, server))
            browser.close()
        finally:
            server.stop()
    put(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
