"""Recognises a known mistake by behaviour, never by name or source.

An answer that does at every property what the mistake does has made it. Most answers have a second fault, or lack one
that the known mistake has beside the one it is named for. So where the properties quote the docstring, one that falls
at the same property, and does there what the answer does, gives its name: its sentence tells what is seen there. Only
where several mistakes do the same there is more compared.

What the mistakes do at one seed is stored (see stored.py), so the answer runs once more, at that seed, and is looked
up. Where the store does not decide, since it was made with a different torch, the mistakes themselves run beside
the answer; that takes up to a hundred times as long.
"""

from __future__ import annotations

import math
from typing import Any

from helpers.check import stored
from helpers.check.judge import Finding, tried
from helpers.check.spec import Mistake, Property, Spec


def mistake(exercise: Spec, answer: Any, seed: int, first: Finding) -> str | None:
    """The name of the known mistake that behaves like `answer`, or None.

    first: what `judge` found, with this seed.
    """
    if first.verdict == "not attempted" or not first.at or not exercise.names_mistakes:
        return None
    kept = stored.of_exercise(exercise.id)
    if kept is None or kept.properties != len(exercise.properties):
        return by_the_mistakes(exercise, answer, seed, first)
    own = Outcomes(exercise, answer, kept.seed)
    names = looked_up(exercise, kept, own, first.at)
    if len(names) == 1:
        return names.pop()
    if not names and (name := fallen_earlier(exercise, kept, own, first.at)):
        return name
    known_here = not names and kept.made_here() and own.fails()
    if not known_here and (name := by_the_mistakes(exercise, answer, seed, first)):
        return name
    return None if names else fallen_alike(exercise, kept, own, first)


def fallen_earlier(exercise: Spec, kept: stored.Stored, own: Outcomes, at: str) -> str | None:
    """The mistake that falls before the property at which the answer fell, and does there what the answer does.

    The stored inputs show it there, those of the answer's own seed did not: how far two numbers are apart, say, is drawn.
    """
    if not known_by_the_first_fall(exercise):
        return None
    for place, prop in enumerate(exercise.properties):
        if prop.description == at:
            return None
        seen = observed(own.at(prop))
        if isinstance(seen, list):
            names = {row.mistake for row in _falling(kept, place, seen)}
            return names.pop() if len(names) == 1 else None
    return None


def _falling(kept: stored.Stored, place: int, seen: Any) -> list[stored.Row]:
    """What is stored of the mistakes that fall first there, and do this."""
    return [row for row in kept.rows if row.first() == place and stored.same(row.outcome(place), seen)]


def fallen_alike(exercise: Spec, kept: stored.Stored, own: Outcomes, first: Finding) -> str | None:
    """The mistake that falls first where the answer fell, and does the same there.

    Of several it is the one that does what the answer does at every property that does not hold for it: it lacks a
    second fault of that mistake. Asked only of exercises whose properties quote the docstring: in the others the
    sentence of a mistake tells its cause, and not what is seen at one property.
    first: how the answer fell, at its own seed. Where it falls otherwise at the stored one, it was lucky there, or depends
    on what ran before, as one does that counts its calls. Only a mistake that is known by this property alone, at any
    seed, can then be told.
    """
    properties = exercise.properties
    place = [prop.description for prop in properties].index(first.at)
    if not known_by_the_first_fall(exercise):
        return None
    rows = _falling(kept, place, observed(own.at(properties[place])))
    if not rows:
        rows = [row for row in _falling(kept, place, observed(first)) if row.at is not None]
    if len({row.mistake for row in rows}) > 1:
        seen = [observed(own.at(prop)) for prop in properties]
        rows = [row for row in rows if row.at is None and _explains(row, seen)]
    names = {row.mistake for row in rows}
    return names.pop() if len(names) == 1 else None


def known_by_the_first_fall(exercise: Spec) -> bool:
    """Whether a mistake's sentence tells what is seen at the first property that does not hold."""
    return all(prop.asks for prop in exercise.properties)


def _explains(row: stored.Row, seen: list[Any]) -> bool:
    return all(
        stored.same(row.outcome(place), each)
        for place, each in enumerate(seen)
        if isinstance(each, list) and row.knows(place)
    )


def looked_up(exercise: Spec, kept: stored.Stored, own: Outcomes, at: str) -> set[str]:
    """The mistakes that do what the answer does, by what is stored of them.

    at: the property at which the answer failed. Most mistakes are told apart by it, so the answer runs at the others
    only while there are some left; and a mistake that is known by one property alone is compared at that one.
    Where the first fall makes the name, and is seen at this seed, too, one mistake that is left is enough, unless it falls
    at an earlier property, and the answer does not do there what it does: its sentence tells what is seen there.
    """
    places = {prop.description: place for place, prop in enumerate(exercise.properties)}
    fall = observed(own.at(exercise.properties[places[at]]))
    enough = known_by_the_first_fall(exercise) and isinstance(fall, list)
    left = [row for row in kept.rows if row.knows(places[at])]
    for place in (places[at], *places.values()):
        if place != places[at] and enough and len({row.mistake for row in left}) < 2:
            break
        if any(row.knows(place) for row in left):
            seen = observed(own.at(exercise.properties[place]))
            left = [row for row in left if not row.knows(place) or stored.same(row.outcome(place), seen)]
    if enough:
        left = [row for row in left if row.at is not None or _falls_alike(row, exercise, own)]
    return {row.mistake for row in left}


def _falls_alike(row: stored.Row, exercise: Spec, own: Outcomes) -> bool:
    """Whether the answer does what the mistake does at the first property that does not hold for it."""
    place = row.first()
    return place is None or stored.same(row.outcome(place), observed(own.at(exercise.properties[place])))


def observed(outcome: Finding | None) -> Any:
    """What an answer did at a property, as it is stored."""
    if outcome is None:
        return None
    if outcome.verdict == stored.NOT_ATTEMPTED:
        return stored.NOT_ATTEMPTED
    return [stored.as_data(outcome.observed)]


def by_the_mistakes(exercise: Spec, answer: Any, seed: int, first: Finding) -> str | None:
    """The name of the mistake that behaves like `answer` at every property, or None; all of them run.

    Most mistakes are told apart by the property that `first` comes from, so the others are run only for those that are
    left; and where it is written down at which property a mistake falls, that one alone is asked.
    """
    failing = next(prop for prop in exercise.properties if prop.description == first.at)
    own = Outcomes(exercise, answer, seed, _seen(exercise, first))
    left = [
        (name, Outcomes(exercise, variant, seed, written_down(known)))
        for name, known in exercise.mistakes.items()
        for variant in (known.answer, *known.variants)
        if known.at in ("", first.at)
    ]
    for prop in (failing, *exercise.properties):
        if left:
            left = [
                (name, its)
                for name, its in left
                if exercise.mistakes[name].at not in ("", prop.description)
                or alike(its.at(prop), own.at(prop))
            ]
    names = {name for name, _ in left}
    return names.pop() if len(names) == 1 else None


def _seen(exercise: Spec, first: Finding) -> dict[str, Finding | None]:
    """What is known of an answer since `first` was found: the properties before that one hold."""
    descriptions = [prop.description for prop in exercise.properties]
    return dict.fromkeys(descriptions[: descriptions.index(first.at)], None) | {first.at: first}


def written_down(known: Mistake) -> dict[str, Finding | None]:
    """What is known of a mistake without running it."""
    if known.observed is None:
        return {}
    return {known.at: Finding("wrong", known.why, observed=known.observed)}


class Outcomes:
    """What one answer does at each property; each is found out when it is first asked for.

    None where the property holds, and where it is not asked, since one that must hold before it does not.
    """

    def __init__(
        self, exercise: Spec, answer: Any, seed: int, known: dict[str, Finding | None] | None = None
    ) -> None:
        self._exercise, self._answer, self._seed = exercise, answer, seed
        self._known = dict(known or {})

    def at(self, prop: Property) -> Finding | None:
        if prop.description not in self._known:
            asked = all(self.at(earlier) is None for earlier in prop.after)
            found = tried(self._exercise, prop, self._answer, self._seed) if asked else None
            self._known[prop.description] = found
        return self._known[prop.description]

    def fails(self) -> bool:
        """Whether a property that was looked at does not hold."""
        return any(self._known.values())


def alike(one: Finding | None, other: Finding | None) -> bool:
    """Whether two answers behaved the same at a property."""
    if one is None or other is None:
        return one is other
    if "not attempted" in (one.verdict, other.verdict):
        return one.verdict == other.verdict
    return _alike(one.observed, other.observed)


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or math.isclose(a, b, rel_tol=1e-6) or (a != a and b != b)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_alike, a, b))
    return type(a) is type(b) and a == b
