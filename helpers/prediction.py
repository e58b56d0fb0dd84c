"""A prediction: the learner says what will happen before the cell that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from helpers.check.spec import ID
from helpers.display.report import Report, strictly


@dataclass(frozen=True)
class Choice:
    """One choice. mistake: name of the wrong idea behind it, "" for the right one. why: what to say to it."""

    text: str
    why: str
    mistake: str = ""


class Prediction:
    """A question with choices, of which one is right. A lab calls `check("B")`.

    choices: letter -> Choice. The question's text stands in the notebook, in the cell `<name>-question`.
    """

    def __init__(self, id: str, title: str, choices: Mapping[str, Choice]) -> None:
        right = [letter for letter, choice in choices.items() if not choice.mistake]
        if not ID.fullmatch(id):
            raise ValueError(
                f"{id!r} is no prediction id; write the lab's number and a name: 03.inplace_edit"
            )
        if len(right) != 1:
            raise ValueError(f"{id}: one choice has no mistake's name, the right one; here: {right}")
        self.id, self.title, self.choices, self._right = id, title, dict(choices), right[0]

    def check(self, choice: Any = ...) -> Report:
        """Says whether `choice`, a letter, is right and, if not, which idea misled."""
        return strictly(self._report(choice))

    def _report(self, choice: Any) -> Report:
        if choice is ... or choice is None:
            return Report(
                self.id, self.title, "not attempted", message="Write a letter first: a guess is fine."
            )
        letter = choice.strip().upper() if isinstance(choice, str) else choice
        known = {item.mistake: item.why for item in self.choices.values() if item.mistake}
        if not isinstance(letter, str) or letter not in self.choices:
            message = (
                f"There is no choice {choice!r}. Write one letter of {', '.join(self.choices)}, in quotes."
            )
            return Report(self.id, self.title, "wrong", message=message, has_hints=False)
        chosen = self.choices[letter]
        if letter == self._right:
            return Report(self.id, self.title, "passed", message=chosen.why)
        return Report(
            self.id,
            self.title,
            "wrong",
            mistake=chosen.mistake,
            message=f"You said: {chosen.text}",
            known=known,
            has_hints=False,
        )

    def __repr__(self) -> str:
        return f"Prediction({self.id!r}, {self.title!r})"
