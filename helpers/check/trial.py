"""What the properties of an exercise use to say what they found.

A property is `check(answer, trial)`. It builds its inputs from `trial.generator` (never from the global
generators), calls the answer, and says what is wrong. The first thing that is wrong ends the property.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NoReturn

import torch

from helpers.check import guard
from helpers.check.compare import difference, shown
from helpers.notebook.stubs import missing_exercise


class Mismatch(Exception):
    """Raised by a Trial when an answer does not have a property."""

    def __init__(
        self, message: str, *, given: str, expected: Any, got: Any, symptom: str, observed: Any, about: str
    ) -> None:
        super().__init__(message)
        self.message, self.given = message, given
        self.expected, self.got = (
            text if isinstance(text, str) else shown(text) for text in (expected, got)
        )  # a tensor could not go through the channel
        self.symptom, self.observed, self.about = symptom, observed, about


class Trial:
    """One run of one property.

    seed: int. `generator` (torch, CPU) and `random` (Python) start from it; each check draws a new one, and
    a failing report tells it.
    """

    def __init__(self, seed: int, changes: frozenset[str] = frozenset()) -> None:
        self.seed = seed
        self._watched = [name for name in guard.DISTURBING if name not in changes]
        self.generator = torch.Generator().manual_seed(seed)
        self.random = random.Random(seed)
        self._given = self._stay = ""

    def given(self, text: str) -> None:
        """Says which input is tried now; the report shows it if this input fails."""
        self._given = text

    def arguments_stay(self, words: str) -> None:
        """Says which words of the docstring keep the arguments as they are; the report shows them if `call` finds a change.

        Where the property asks for something else.
        """
        self._stay = words

    def call(self, answer: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """`answer(*args, **kwargs)`; wrong if it edits a tensor that it was given, or leaves a switch turned.

        Switches and replaced functions are put back at once, so that they cannot disturb the check.
        """
        state = guard.snapshot(self._watched)
        before = [
            (place, value, value.requires_grad, value.detach().clone())
            for place, value in enumerate(args)
            if isinstance(value, torch.Tensor)
        ]
        lists = [
            (place, value, list(value)) for place, value in enumerate(args) if isinstance(value, list | dict)
        ]
        try:
            result = answer(*args, **kwargs)
        finally:
            changed = guard.restore(state)
        if changed:
            self.left_changed(changed)
        for place, value, requires_grad, copy in before:
            which = f"The answer changed {_in_words(place, len(args))}"
            if value.requires_grad != requires_grad:
                self.fail(
                    f"{which}: requires_grad is {value.requires_grad}, and was {requires_grad}.",
                    expected="an argument left as it was" + self._as_asked(),
                    observed="mutated",
                    about="arguments",
                )
            if found := difference(value.detach(), copy, rtol=0, atol=0):
                alike = shown(copy) == shown(value.detach())  # large: the sentence says where they differ
                self.fail(
                    f"{which}{f': {found.sentence}' if alike else ''}.",
                    expected="left as it was" + self._as_asked() + ("" if alike else f": {shown(copy)}"),
                    got="" if alike else shown(value.detach()),
                    observed="mutated",
                    about="arguments",
                )
        for place, value, items in lists:
            if len(value) != len(items) or any(a is not b for a, b in zip(value, items, strict=True)):
                self.fail(
                    f"The answer changed {_in_words(place, len(args))}, a {type(value).__name__}.",
                    expected="left as it was" + self._as_asked(),
                    got=_of_entries(items, list(value)),
                    observed="mutated",
                    about="arguments",
                )
        return result

    def _as_asked(self) -> str:
        return f", as asked: {self._stay}" if self._stay else ""

    def left_changed(self, names: list[str]) -> NoReturn:
        """Ends the property: global state was left changed."""
        self.fail(
            f"The answer left this changed: {', '.join(names[:4])}. It has been put back."
            + (
                " (A global generator changes by every draw from it.)"
                if any("RNG" in n for n in names)
                else ""
            ),
            expected="global state as it was before the call",
            observed=("changed", sorted(names)),
            about="state",
        )

    def equal(
        self,
        got: Any,
        want: Any,
        what: str = "The result",
        *,
        rtol: float | None = None,
        atol: float | None = None,
        observed: Any = None,
    ) -> None:
        """Wrong if `got` is not `want`: type, shape, dtype, device, requires_grad, then values.

        what: what is compared, with a capital: "The second draw". rtol, atol: see compare.difference.
        observed: what tells this mistake from another one; the result itself unless given.
        """
        if found := difference(got, want, rtol=rtol, atol=atol):
            alike = shown(want) == shown(got)  # two large tensors: the sentence says where they differ
            self.fail(
                f"{what}: {found.sentence}" + ("" if found.sentence[-1] in ".?" else "."),
                expected="" if alike else shown(want),
                got="" if alike else shown(got),
                symptom=found.symptom,
                observed=(found.kind, plain(got)) if observed is None else observed,
            )

    def true(
        self,
        ok: bool,
        message: str,
        *,
        expected: Any = "",
        got: Any = None,
        symptom: str = "",
        observed: Any = None,
    ) -> None:
        """Wrong, with this message, if `ok` is False."""
        if not ok:
            self.fail(
                message,
                expected=expected,
                got="" if got is None else got,
                symptom=symptom,
                observed=observed,
            )

    def raises(self, error: type[BaseException], call: Callable[[], Any], when: str) -> BaseException:
        """Wrong unless `call()` raises `error` (or a subclass). when: "for a seed below 0". Returns the error."""
        try:
            result = call()
        except error as raised:
            if missing_exercise(raised):  # a stub's error is a RuntimeError, too
                raise
            return raised
        except NotImplementedError:
            raise
        except Exception as other:
            self.fail(
                f"Expected {error.__name__} {when}, but {type(other).__name__} was raised.",
                expected=error.__name__,
                got=f"{type(other).__name__}: {shown(str(other))}",
                observed=("raised", type(other).__name__),
            )
        self.fail(
            f"Expected {error.__name__} {when}, but nothing was raised.",
            expected=error.__name__,
            got=f"returned {shown(result)}",
            observed="nothing raised",
        )

    def fail(
        self,
        message: str,
        *,
        expected: Any = "",
        got: Any = "",
        symptom: str = "",
        observed: Any = None,
        about: str = "",
    ) -> NoReturn:
        """Ends the property: the answer is wrong.

        about: see Finding.

        observed: plain data on what was seen. Two answers that fail with the same message and the same
        observation at every property have made the same mistake, so tell here what tells mistakes apart.
        """
        raise Mismatch(
            message,
            given=self._given,
            expected=expected,
            got=got,
            symptom=symptom,
            observed=(_without_numbers(message) if observed is None else observed),
            about=about,
        )


def plain(value: Any, limit: int = 4096) -> Any:
    """Plain data that stands for a value when two wrong results are compared."""
    if type(value) in (torch.Tensor, torch.nn.Parameter):
        try:
            numbers = value.detach().flatten()[:limit].tolist()
        except (RuntimeError, NotImplementedError):  # sparse, meta, quantized
            numbers = str(value.layout)
        return ("tensor", tuple(value.shape), str(value.dtype), numbers)
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [plain(item) for item in value[:limit]])
    if isinstance(value, dict):
        return ("dict", [(plain(key), plain(item)) for key, item in list(value.items())[:limit]])
    if value is None or type(value) in (bool, int, float, str, bytes):
        return value
    return type(value).__name__


def _of_entries(before: list[Any], after: list[Any]) -> str:
    """What has become of the entries of a list, or of the keys of a dict."""
    if len(after) != len(before):
        return f"{len(before)} entries before, {len(after)} after"
    if sorted(map(id, after)) == sorted(map(id, before)):
        return "the same entries in a different order"
    return "as many entries as before, and others among them"


def _in_words(place: int, count: int) -> str:
    """Which of `count` arguments stands at `place`: "its second argument"."""
    ordinals = ("first", "second", "third", "fourth", "fifth")
    return f"its {ordinals[place]} argument" if 1 < count and place < len(ordinals) else "its argument"


def _without_numbers(message: str) -> str:
    return "".join("#" if letter.isdigit() else letter for letter in message)
