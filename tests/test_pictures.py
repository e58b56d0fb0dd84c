"""README's pictures say what the course says today. Needs no browser: words.json holds the words in each picture."""

from __future__ import annotations

import difflib
import linecache
import random
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import numpy as np
import pytest
import torch
from nbconvert.filters.markdown import markdown2html

import helpers
from ci.messages.reports import checked
from helpers import paths
from helpers.course.progress import note_solved
from helpers.display.report import BESIDE, Report
from helpers.start import course
from tests.browser import pictures

NAMES = ["card-passed.png", "card-wrong.png", "start-dark.png", "start.png"]
ADVICE = "Take the pictures anew with `make pictures`, look at them, and commit them with words.json."
INLINE = re.compile(r"</?(?:a|b|code|em|span|strong)\b[^>]*>")
FOLD = re.compile(r"<details[^>]*>(?P<title><summary.*?</summary>)(?P<inside>.*?)</details>", re.DOTALL)


def text_of(html: str) -> str:
    """What a reader sees of HTML. An inline element does not part words; any other does."""
    return unescape(re.sub(r"<[^>]+>", " ", INLINE.sub("", html)))


def seen_of(card: str) -> str:
    """What the picture shows of a card: of its folds, only the comparison is open."""
    return text_of(FOLD.sub(lambda fold: fold["title"] + fold["inside"] * (BESIDE in fold["title"]), card))


def signs(text: str) -> list[str]:
    """The words of a text and its signs, each by itself: where the browser has space does not count."""
    return re.findall(r"\w+|[^\w\s]", text)


def differences(picture: str, now: str) -> list[str]:
    """Where the words in a picture are other ones than those of today, each with a few words around it."""
    before, after = signs(picture), signs(now)
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return [
        f"the picture says: {' '.join(before[max(0, i1 - 4) : i2 + 4])}\n"
        f"       now it is: {' '.join(after[max(0, j1 - 4) : j2 + 4])}"
        for operation, i1, i2, j1, j2 in matcher.get_opcodes()
        if operation != "equal"
    ]


def assert_says(name: str, now: str) -> None:
    """The picture's words are those of today."""
    found = differences("\n".join(pictures.stored()[name].words), now)
    assert not found, "\n".join([f"{name} shows other words than the course has now.", *found, ADVICE])


def report(body: str) -> Report:
    """What the check says to the answer in a picture, which is written as in a cell of the notebook."""
    text, file = pictures.written(body), "a cell of the picture"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    known = {"random": random, "np": np, "torch": torch}
    exec(compile(text, file, "exec"), known)
    exercise = helpers.exercises()[pictures.EXERCISE]
    return checked(exercise, [known[exercise.names[0]]], pictures.SEED)[0]


@pytest.fixture
def one_solved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The learner of the pictures has solved one exercise."""
    monkeypatch.setattr(paths, "WORK", tmp_path)
    monkeypatch.delenv("LABBOOK_HEADLESS", raising=False)
    note_solved(pictures.EXERCISE, helpers.exercises()[pictures.EXERCISE].version)


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_and_its_words_were_taken_together(name: str) -> None:
    shown, png = pictures.stored()[name], (pictures.FOLDER / name).read_bytes()
    message = f"{name}, or its words in words.json, was changed by itself. {ADVICE}"
    assert pictures.digest(png, shown.words) == shown.sha256, message
    assert len(png) < 150_000


def test_every_picture_has_its_words_and_readme_shows_each_with_a_text_for_those_who_do_not_see_it() -> None:
    readme = (paths.ROOT / "README.md").read_text(encoding="utf-8")
    assert sorted(pictures.stored()) == NAMES
    assert sorted(path.name for path in pictures.FOLDER.glob("*.png")) == NAMES
    assert sorted(re.findall(r"\.github/pictures/([\w.-]+)", readme)) == NAMES
    texts = re.findall(r"!\[([^]]*)\]\(", readme) + re.findall(r'<img [^>]*?alt="([^"]*)"', readme)
    # Three texts for four pictures: the dark page is the same picture as the light one.
    assert len(texts) == len(re.findall(r"!\[|<img", readme)) == 3
    assert all(len(text.split()) >= 4 for text in texts)


@pytest.mark.parametrize(
    ("name", "body"),
    [("card-wrong.png", pictures.WRONG), ("card-passed.png", pictures.RIGHT)],
    ids=["wrong", "passed"],
)
def test_a_card_says_what_its_picture_shows(name: str, body: str) -> None:
    assert_says(name, seen_of(report(body)._repr_html_()))


def test_the_passed_card_shows_the_comparison_without_docstrings() -> None:
    words = "\n".join(pictures.stored()["card-passed.png"].words)
    assert "yours (-) solution (+)" in words and '"""' in pictures.written(pictures.RIGHT)
    assert '"""' not in words and "Raises:" not in words


@pytest.mark.parametrize("name", ["start.png", "start-dark.png"])
def test_the_start_page_says_what_its_picture_shows(one_solved: None, name: str) -> None:
    texts = [text_of(markdown2html(pictures.source(pictures.START, id))) for id in pictures.TEXTS]
    drawn = "".join(course()._repr_html_().split("</li>")[: pictures.LABS_SHOWN])
    now = [*texts, pictures.source(pictures.START, pictures.LIST), text_of(drawn)]
    # nbconvert gives each title a link, a sign that a reader sees under the mouse alone.
    assert_says(name, "\n".join(now).replace("\u00b6", ""))


def changed(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new)


@pytest.mark.parametrize(
    ("change", "description"),
    [
        (changed("17", "18"), "reject 18 wrong answers"),
        (changed(" wrong", ""), "to reject 17 answers"),
        (changed("hint()", "hint(1)"), "hint ( 1 )"),
        (changed("a hint", "ahint"), "For ahint :"),
    ],
    ids=["a number", "a word less", "a sign", "a space less"],
)
def test_a_change_is_named_with_the_words_around_it(change: Callable[[str], str], description: str) -> None:
    text = "This check is known to reject 17 wrong answers. For a hint: lab.seed_everything.hint()"
    assert differences(text, text.replace(" ", "\n  ")) == []
    [found] = differences(text, change(text))
    assert description in found.splitlines()[1] and "the picture says: " in found


def test_of_a_card_only_what_is_open_is_seen() -> None:
    folds = [f"<details><summary>{title}</summary><p>in {title}</p></details>" for title in (BESIDE, "More")]
    assert " ".join(seen_of(f"<div><b>a</b>b</div><div>c</div>{''.join(folds)}").split()) == (
        f"ab c {BESIDE} in {BESIDE} More"
    )
