"""A learner's way through one exercise of every lab, from the start page to a reset, and the short form of it.

The lab, its exercise and prediction, a mistake that its check knows and the solution are all found, so a lab that is
added has its journey.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import pytest
from playwright.sync_api import Locator, expect

import helpers
from helpers import paths
from helpers.exercise import Exercise
from helpers.prediction import Prediction
from tests.browser.learner import Learner

START = "work/00_start.ipynb"
PATIENCE = 30  # seconds for what JupyterLab does by itself a little later


@dataclass(frozen=True)
class Way:
    """Where a learner goes in one lab: to its first core exercise, and to its first prediction if it has one."""

    stem: str

    @property
    def number(self) -> str:
        return self.stem[:2]

    @property
    def lab(self) -> str:
        """The notebook that the learner writes in."""
        return f"work/{self.stem}.ipynb"

    @cached_property
    def core(self) -> list[Exercise]:
        """In the notebook's order: a later one may need an earlier one's answer."""
        notebook = json.loads((paths.ROOT / "solutions" / f"{self.stem}.ipynb").read_text(encoding="utf-8"))
        places = {cell["id"]: place for place, cell in enumerate(notebook["cells"])}
        every = (one for one in helpers.exercises().values() if one.id.startswith(self.number) and one.core)
        return sorted(every, key=lambda one: places[cell_of(one)])

    @property
    def exercise(self) -> Exercise:
        return self.core[0]

    @property
    def prediction(self) -> Prediction | None:
        return next((one for id, one in helpers.predictions().items() if id.startswith(self.number)), None)

    @property
    def mistake(self) -> str:
        return next(iter(self.exercise.mistakes))

    def wrong(self) -> str:
        """Text of a cell that makes the exercise's first wrong answer the learner's."""
        topic, name = self.stem.partition("_")[2], name_of(self.exercise)
        return (
            f"from helpers.labs import {topic}\n"
            f"{', '.join(self.exercise.names)} = {topic}.{name}.mistakes['{self.mistake}'].answer"
        )

    def text(self, id: str, folder: str = "solutions") -> str:
        """The text of a cell, in solutions/ or in labs/."""
        notebook = json.loads((paths.ROOT / folder / f"{self.stem}.ipynb").read_text(encoding="utf-8"))
        return next("".join(cell["source"]) for cell in notebook["cells"] if cell["id"] == id)


WAYS = [
    Way(path.stem) for path in sorted(paths.LABS.glob("[0-9][0-9]_*.ipynb")) if not path.stem.startswith("00")
]


def name_of(item: Exercise | Prediction) -> str:
    return item.id.partition(".")[2]


def cell_of(item: Exercise | Prediction) -> str:
    return name_of(item).replace("_", "-")


def each(*, slow: Callable[[Way], bool] = lambda way: False) -> pytest.MarkDecorator:
    """One test a lab; the slow ones for `make test-all`."""
    params = [pytest.param(way, id=way.stem, marks=[pytest.mark.slow] * slow(way)) for way in WAYS]
    return pytest.mark.parametrize("way", params)


def checked(learner: Learner, way: Way, answer: str) -> Locator:
    """Types an answer to the exercise, runs it and its check; the output of the check."""
    cell = cell_of(way.exercise)
    learner.type_into(cell, answer)
    learner.run(cell)
    return learner.run(f"{cell}-check")


def until_done(learner: Learner, *words: str) -> str:
    """`labbook <words>`, again as long as it is refused: JupyterLab tells its server a little later what it closed."""
    end = time.monotonic() + PATIENCE
    while (done := learner.server.labbook(*words)).returncode and time.monotonic() < end:
        assert "open in JupyterLab" in done.stdout + done.stderr
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@each()
def test_open_then_wrong_then_right(learner: Learner, way: Way) -> None:
    learner.arrive()
    learner.follow(f"^{way.number} ")
    assert learner.name() == way.lab
    learner.run_above(cell_of(way.exercise))
    expect(checked(learner, way, way.wrong())).to_contain_text(f"This mistake is known: {way.mistake}")
    expect(checked(learner, way, way.text(cell_of(way.exercise)))).to_contain_text("Passed")


@each(slow=lambda way: way.number != "01")
def test_the_whole_journey(learner: Learner, way: Way) -> None:
    learner.arrive()
    assert learner.name() == START
    expect_progress(learner, way, solved=0)
    learner.follow(f"^{way.number} ")
    assert learner.name() == way.lab

    predict(learner, way)
    learner.run_above(cell_of(way.exercise))
    wrong_then_hint(learner, way)
    right_then_compare(learner, way)
    learner.save()
    expect_progress(learner, way, solved=1)
    shoot_both(learner, way, "start", "list-of-labs")

    learner.go_to(way.lab)
    reload_and_restart(learner, way)
    reset_and_undo(learner, way)


def expect_progress(learner: Learner, way: Way, *, solved: int) -> None:
    """The start page, drawn anew, and `labbook status` say the same number."""
    message = f"{solved} of {len(way.core)}"
    learner.go_to(START)
    line = learner.run("list-of-labs").get_by_role("listitem").filter(has_text=re.compile(f"^{way.number} "))
    expect(line).to_contain_text(f"{message} solved")
    status = learner.server.labbook("status")
    assert status.returncode == 0, status.stderr
    [line] = [line for line in status.stdout.splitlines() if re.match(rf"\s*{way.number} ", line)]
    assert message in line


def predict(learner: Learner, way: Way) -> None:
    """A wrong guess and the right one."""
    if way.prediction is None:
        return
    cell = cell_of(way.prediction)
    learner.run_above(cell)
    right = way.text(cell)
    wrong = next(choice for choice in way.prediction.choices.items() if choice[1].mistake)
    for text, description in (
        (f'{name_of(way.prediction)}_answer = "{wrong[0]}"', wrong[1].mistake),
        (right, "Passed"),
    ):
        learner.type_into(cell, text)
        learner.run(cell)
        expect(learner.run(f"{cell}-check")).to_contain_text(description)


def wrong_then_hint(learner: Learner, way: Way) -> None:
    """The card names the mistake; a key typed with the focus in it deletes no cell; a hint comes at each call."""
    card = checked(learner, way, way.wrong())
    expect(card).to_contain_text("Not yet")
    expect(card).to_contain_text(f"This mistake is known: {way.mistake}")
    shoot_both(learner, way, "wrong")
    asked = learner.add_below(f"{cell_of(way.exercise)}-check", f"lab.{name_of(way.exercise)}.hint()")
    expect(learner.run(asked)).to_contain_text("Hint 1 of")
    expect(learner.run(asked)).to_contain_text("Hint 2 of")
    shoot_both(learner, way, "hint", asked)


def right_then_compare(learner: Learner, way: Way) -> None:
    """Written in another way than the solution: it passes, and the card shows the two side by side."""
    exercise, cell = way.exercise, cell_of(way.exercise)
    own = re.sub(r"### BEGIN SOLUTION.*", "pass  # my own way", way.text(cell))
    card = checked(learner, way, own)
    expect(card).to_contain_text("Passed")
    expect(card).to_contain_text("Your code beside the solution")
    expect(card).to_contain_text("Mistakes that people make here")
    before = learner.number_of_cells()
    for fold in card.locator("summary").all():
        fold.focus()
        learner.page.keyboard.type("dd")
        assert learner.number_of_cells() == before, "typing dd with the focus in a card deleted a cell"
        learner.page.keyboard.press("Enter")
        expect(fold.locator("xpath=..")).to_have_attribute("open", re.compile(".*"))
    shoot_both(learner, way, "passed")
    names = ", ".join(exercise.names)
    compared = learner.add_below(
        f"{cell}-check", f"lab.{name_of(exercise)}.compare({f'({names})' if ',' in names else names})"
    )
    expect(learner.run(compared)).to_contain_text("solution")
    shoot_both(learner, way, "compare", compared)


def reload_and_restart(learner: Learner, way: Way) -> None:
    """The answer and its card are there after a reload and after a restart of the kernel, and it passes again."""
    cell = cell_of(way.exercise)
    written = learner.source(cell)
    learner.reload()
    learner.go_to(way.lab)
    assert learner.source(cell) == written
    expect(learner.output(f"{cell}-check")).to_contain_text("Passed")
    learner.restart()
    expect(learner.output(f"{cell}-check")).to_contain_text("Passed")
    learner.run_above(f"{cell}-check")
    expect(learner.run(f"{cell}-check")).to_contain_text("Passed")
    learner.save()


def reset_and_undo(learner: Learner, way: Way) -> None:
    """Refused while the lab is open; then the stub is back and the progress gone; undo brings both back."""
    cell, id = cell_of(way.exercise), way.exercise.id
    written = learner.source(cell)
    refused = learner.server.labbook("reset", id)
    assert refused.returncode == 1 and f"{way.stem}.ipynb" in refused.stdout + refused.stderr
    assert learner.source(cell) == written
    learner.close()
    until_done(learner, "reset", id)
    expect_progress(learner, way, solved=0)
    learner.go_to(way.lab)
    assert learner.source(cell) == way.text(cell, "labs")
    learner.close()
    until_done(learner, "undo")
    expect_progress(learner, way, solved=1)
    learner.go_to(way.lab)
    assert learner.source(cell) == written


def shoot_both(learner: Learner, way: Way, name: str, cell: str = "") -> None:
    """Pictures of an output in the light and the dark theme, of lab 01 alone."""
    if way.number != "01":
        return
    cell = cell or f"{cell_of(way.exercise)}-check"
    for theme in ("Dark", "Light"):
        learner.theme(f"JupyterLab {theme}")
        learner.shoot(f"{name}-{theme.lower()}", learner.output(cell))
