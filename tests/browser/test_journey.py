"""The learner's first path: start page, lab, a wrong answer, the card that names the mistake, the right answer."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, expect

import helpers
from tests.browser.conftest import Learner

LABS = sorted(path.stem for path in helpers.LABS.glob("[0-9][0-9]_*.ipynb") if not path.stem.startswith("00"))

NUMPY_FORGOTTEN = '''\
def seed_everything(seed):
    """As many people write it."""
    random.seed(seed)
    torch.manual_seed(seed)
'''


def solution(stem: str, id: str) -> str:
    """The text of a cell in solutions/."""
    notebook = json.loads((helpers.SOLUTIONS / f"{stem}.ipynb").read_text(encoding="utf-8"))
    return next("".join(cell["source"]) for cell in notebook["cells"] if cell["id"] == id)


def checked(learner: Learner, cell: str, answer: str) -> Locator:
    """Types an answer, runs it and its check; the output of the check."""
    learner.type_into(cell, answer)
    learner.run(cell)
    return learner.run(f"{cell}-check")


def run_all_above(learner: Learner, cell: str) -> None:
    learner.cell(cell)
    learner.page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-above')")


def number_of_cells(learner: Learner) -> int:
    return learner.page.evaluate(f"() => {{ {learner.CURRENT} return panel.content.widgets.length }}")


def test_the_first_path(learner: Learner) -> None:
    learner.arrive()
    assert learner.name() == "work/00_start.ipynb"
    expect(learner.panel).to_contain_text("When are two training runs the same, bit for bit?")
    learner.shoot("start")
    learner.follow("01 Reproducibility")
    assert learner.name() == "work/01_reproducibility.ipynb"
    run_all_above(learner, "seed-everything")

    card = checked(learner, "seed-everything", NUMPY_FORGOTTEN)
    expect(card).to_contain_text("Not yet: wrong")
    expect(card).to_contain_text("This mistake is known: numpy_forgotten")
    learner.shoot("wrong-light")
    card.screenshot(path=helpers.STATE / "shots" / "card-wrong.png")

    card = checked(learner, "seed-everything", solution("01_reproducibility", "seed-everything"))
    expect(card).to_contain_text("Passed")
    learner.shoot("passed-light")
    card.screenshot(path=helpers.STATE / "shots" / "card-passed.png")

    before = number_of_cells(learner)
    card.locator("summary").first.focus()
    learner.page.keyboard.type("dd")
    assert number_of_cells(learner) == before, "typing dd with the focus in a card deleted a cell"
    learner.page.keyboard.press("Enter")
    expect(card.locator("details").first).to_have_attribute("open", re.compile(".*"))

    learner.save()
    learner.page.reload()
    learner._settled()
    learner.cell("seed-everything-check")
    expect(learner.panel.locator(".jp-Cell-outputArea").filter(has_text="Passed").first).to_be_attached()
    learner.theme("JupyterLab Dark")
    learner.cell("seed-everything-check")
    learner.shoot("passed-dark")
    learner.theme("JupyterLab Light")


# Lab 01 is walked by the test above; here it stands for `make test-all`.
@pytest.mark.parametrize(
    "stem", [pytest.param(stem, marks=pytest.mark.slow) if stem.startswith("01") else stem for stem in LABS]
)
def test_wrong_then_right(learner: Learner, stem: str) -> None:
    number, _, topic = stem.partition("_")
    exercise = next(e for id, e in helpers.exercises().items() if id.startswith(number) and e.core)
    name = exercise.id.partition(".")[2]
    cell, mistake = name.replace("_", "-"), next(iter(exercise.wrong))
    learner.arrive()
    learner.follow(number)
    run_all_above(learner, cell)
    wrong = f"from helpers.labs import {topic}\n{', '.join(exercise.names)} = {topic}.{name}.wrong['{mistake}'].answer"
    expect(checked(learner, cell, wrong)).to_contain_text(f"This mistake is known: {mistake}")
    expect(checked(learner, cell, solution(stem, cell))).to_contain_text("Passed")
