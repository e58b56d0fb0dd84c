"""What an exercise asks: the properties that a right answer has, and the mistakes that people make."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from helpers.check.trial import Trial

ID = re.compile(r"\d\d\.[a-z][a-z0-9_]*")
Check = Callable[[Any, "Trial"], None]
Written = TypeVar("Written", bound=Callable[..., Any])
_importing = threading.RLock()  # checks may run in several threads


@dataclass(frozen=True)
class Mistake:
    """A thing that people really write.

    answer: what a learner would pass to `check`.
    why: the sentence of a good teacher.
    breaks: the words of the exercise's docstring that it breaks; "" until they are known.
    at: the property at which it falls, and the only one at which it is compared with an answer; "" compares it at all.
        For an exercise whose properties take seconds each.
    observed: what that property observes of it, written down where it takes seconds to see, as a hang does.
    variants: the same mistake written in different ways, or beside a mistake that often comes with it.
    """

    answer: Any
    why: str
    breaks: str = ""
    at: str = ""
    observed: Any = None
    variants: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Property:
    """One thing that is true of every right answer.

    description: the property in words, for the report.
    check: `check(answer, trial)`; says through `trial` what is wrong.
    changes: names of global state (see guard.SLOTS) that a right answer may leave changed.
    asks: the words of the exercise's docstring that it holds; the card quotes them.
    after: the properties that must hold before this one is asked. A small demand then never hides the name of a
        big mistake, and a slow one is not run for an answer that a quick one rejects.
    """

    description: str
    check: Check
    changes: frozenset[str]
    asks: tuple[str, ...] = ()
    after: tuple[Property, ...] = ()


class Spec:
    """What is asked of an answer.

    id: lab number and name, `03.conv2d`.
    names: what the answer is called in the notebook; several names mean that the answer is a tuple.
    kind: "function" or "class".
    core: a lab is solved when its core exercises are; the others are optional.
    seconds: of processor time, in which one call to `check` gives a verdict; see limits.py.
    inside_kernel: the answer is a live object that no other process can be sent.
    processes: the answer starts processes: a check takes seconds, and what it saw depends on who was first.
    prepare: called in the process that checks, before the answer is rebuilt there: what the answer refers to may
        need it. Calling it again changes nothing.
    version: raised when the exercise changes so much that an old solution no longer counts.
    """

    names_mistakes = True  # False: a check gives a verdict only

    def __init__(
        self,
        id: str,
        title: str,
        *,
        objective: str,
        minutes: int,
        difficulty: str,
        hints: list[str],
        core: bool = True,
        names: tuple[str, ...] | None = None,
        kind: str = "function",
        seconds: float = 5.0,
        inside_kernel: bool = False,
        processes: bool = False,
        prepare: Callable[[], None] | None = None,
        version: int = 1,
    ) -> None:
        if not ID.fullmatch(id):
            raise ValueError(f"{id!r} is no exercise id; write the lab's number and a name: 03.conv2d")
        if len(hints) < 3:
            raise ValueError(f"{id}: an exercise has three hints or more, from a nudge to nearly there")
        if difficulty not in ("easy", "medium", "hard"):
            raise ValueError(f"{id}: difficulty is easy, medium or hard, not {difficulty!r}")
        self.id, self.title, self.objective = id, title, objective
        self.minutes, self.difficulty, self.core = minutes, difficulty, core
        self.hints = tuple(hints)
        self.names = names or (id.partition(".")[2],)
        self.kind = kind
        self.seconds = seconds
        self.inside_kernel = inside_kernel
        self.processes = processes
        self.prepare = prepare
        self.version = version
        self.properties: list[Property] = []
        self._mistake_modules: tuple[str, ...] = ()
        self._mistakes: dict[str, Mistake] = {}
        self._written: dict[str, Any] = {}  # the mistake's name -> the function or class that was decorated

    @property
    def mistakes(self) -> Mapping[str, Mistake]:
        """The known mistakes, by name. Imports the modules that hold them, when asked for the first time."""
        with _importing:
            modules, self._mistake_modules = self._mistake_modules, ()
            for module in modules:
                import_module(module)
        return MappingProxyType(self._mistakes)

    def mistakes_are_in(self, *modules: str) -> None:
        """Names the modules that add the mistakes. A session needs them seldom, and they are the larger part of a lab."""
        self._mistake_modules = modules

    def property(
        self,
        description: str,
        *,
        asks: str | tuple[str, ...] = (),
        changes: tuple[str, ...] = (),
        after: tuple[Check, ...] = (),
        once_right: bool = False,
    ) -> Callable[[Check], Check]:
        """Adds a property; decorates `check(answer, trial)`.

        asks: the words of the docstring that it holds: a sentence, or each of several.
        after: checks of earlier properties, which must hold before this one is asked. once_right: all earlier ones.
        """
        earlier = {prop.check: prop for prop in self.properties}
        if unknown := [check for check in after if check not in earlier]:
            raise ValueError(f"{self.id}: {unknown[0]} is the check of no earlier property")
        quoted = tuple(" ".join(words.split()) for words in ((asks,) if isinstance(asks, str) else asks))
        before = tuple(self.properties) if once_right else tuple(earlier[check] for check in after)

        def add(check: Check) -> Check:
            self.properties.append(Property(description, check, frozenset(changes), quoted, before))
            return check

        return add

    def add_mistake(
        self, name: str, answer: Any, *, why: str, breaks: str = "", at: str = "", observed: Any = None
    ) -> None:
        """Adds a mistake that stands in a table. `@exercise.mistake()` is the usual way. The words: see Mistake."""
        if name in self._mistakes:
            raise ValueError(f"{self.id}: the mistake {name} stands twice")
        if at and at not in [prop.description for prop in self.properties]:
            raise ValueError(f"{self.id}: {name} falls at no property: none says {at!r}")
        self._mistakes[name] = Mistake(answer, why, " ".join(breaks.split()), at, observed)

    def add_variant(self, name: str, answer: Any) -> None:
        """Adds a variant of the mistake `name`."""
        if name not in self._mistakes:
            raise ValueError(f"{self.id}: a variant of {name}, and there is no such mistake")
        known = self._mistakes[name]
        self._mistakes[name] = replace(known, variants=(*known.variants, answer))

    def bank(self, *adapt: Callable[[Any], Any]) -> Bank:
        """The mistakes of one file that are all adapted in the same way: see Bank."""
        return Bank(self, *adapt)

    def mistake(self, *, breaks: str = "") -> Callable[[Written], Written]:
        """Adds a mistake: decorates what a learner would pass to `check`. See Bank.mistake."""
        return Bank(self).mistake(breaks=breaks)

    def variant(self, of: Callable[..., Any] | str) -> Callable[[Written], Written]:
        """Adds a variant of the mistake `of`: decorates what a learner would pass to `check`. See Bank.variant."""
        return Bank(self).variant(of)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r}, {self.title!r})"


class Bank:
    """Mistakes of one exercise, each written as a function or a class.

    adapt: what makes the answer of what is written; none: it is the answer. Each further one makes a variant of it.
    """

    def __init__(self, spec: Spec, *adapt: Callable[[Any], Any]) -> None:
        self.spec = spec
        self._adapt, *self._others = adapt or (as_written,)

    def mistake(self, *, breaks: str = "") -> Callable[[Written], Written]:
        """Adds a mistake. Its name is the function's (of a class `TiesSplit`: ties_split), its sentence the docstring.

        breaks: the words of the exercise's docstring that it breaks.
        """

        def add(written: Written) -> Written:
            name, why = name_of(written), " ".join((written.__doc__ or "").split())
            if not why:
                raise ValueError(
                    f"{self.spec.id}: the mistake {name} has no docstring, the sentence of a teacher"
                )
            self.spec.add_mistake(name, self._adapt(written), why=why, breaks=breaks)
            self.spec._written[name] = written
            for adapt in self._others:
                self.spec.add_variant(name, adapt(written))
            return written

        return add

    def variant(self, of: Callable[..., Any] | str) -> Callable[[Written], Written]:
        """Adds a variant of the mistake `of`: what @mistake() decorated, or the name of one that stands in a table."""
        name = of if isinstance(of, str) else name_of(of)
        if not isinstance(of, str) and self.spec._written.get(name) is not of:
            raise ValueError(f"{self.spec.id}: a variant of {name}, which is no mistake of this exercise")

        def add(written: Written) -> Written:
            for adapt in (self._adapt, *self._others):
                self.spec.add_variant(name, adapt(written))
            return written

        return add


def as_written(written: Any) -> Any:
    """What is written is the answer."""
    return written


def returned(written: Callable[[], Any]) -> Any:
    """What is written returns the answer: for answers that are put together from parts."""
    return written()


def name_of(written: Callable[..., Any]) -> str:
    """The mistake's name: the function's, or the class's in small letters."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", written.__name__).lower()
