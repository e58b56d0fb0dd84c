"""What people write for 14.allocate where something is tried, and why it is wrong."""

from __future__ import annotations

from helpers.labs.memory.allocate.exercise import (
    ADDRESS,
    FIRST,
    FIVE,
    FOUR,
    NO_MORE,
    ORDER,
    SIX,
    THREE,
    TWO,
    allocate,
)
from helpers.labs.memory.allocate.right import Right, as_function

bank = allocate.bank(as_function)
RETRIES, OOMS = "num_alloc_retries", "num_ooms"


# The address.


@bank.mistake(breaks=ADDRESS)
class NoReturn(Right):
    """The search gave an address, and nothing was returned. Perhaps a `return` is missing."""

    def end(self) -> None:
        return None


@bank.mistake(breaks=FIRST)
class AsksOnAfterTheSearch(Right):
    """The search gave an address, and the callbacks were asked, too. Whatever comes after the first address
    is not needed.
    """

    def __call__(self) -> int:
        self.idle()
        first = self.address
        if self.steps.free_memory_callbacks() and first is None:
            self.search()
        if self.address is not None:
            return self.address
        for step in (self.garbage, self.device, self.available, self.everything):
            step()
            if self.found():
                return self.end()
        return self.out_of_memory()


# The callbacks.


@bank.mistake(breaks=TWO)
class NoCallbacks(Right):
    """Nothing idle fits, and nobody was asked to give memory back: `free_memory_callbacks` comes before the
    device.
    """

    def callbacks(self) -> None:
        pass


@bank.mistake(breaks=TWO)
class SearchesAgainAnyway(Right):
    """The callbacks gave nothing back (False), and the idle blocks were searched again: they are the same as
    before.
    """

    def callbacks(self) -> None:
        self.steps.free_memory_callbacks()
        self.search()


@bank.mistake(breaks=TWO)
class NoSecondSearch(Right):
    """The callbacks gave memory back (True), and the idle blocks were not searched again. What came back may
    fit.
    """

    def callbacks(self) -> None:
        self.steps.free_memory_callbacks()


@bank.mistake(breaks=TWO)
class SearchOnlyAfterCallbacks(Right):
    """The callbacks gave memory back (True), no block fitted even then, and the device was passed over.
    Perhaps an `elif` or `else` belongs to the wrong `if`.
    """

    def callbacks(self) -> None:
        self.gave = self.steps.free_memory_callbacks()
        if self.gave:
            self.search()

    def device(self) -> None:
        if not self.gave:
            self.malloc()


@bank.mistake(breaks=TWO)
class AsksUntilNothingComes(Right):
    """The callbacks were asked a second time, after a search that found nothing. Each step comes once."""

    def callbacks(self) -> None:
        for _ in range(5):
            if self.address is not None or not self.steps.free_memory_callbacks():
                return
            self.search()


# Old blocks.


@bank.mistake(breaks=THREE)
class AlwaysCollects(Right):
    """`collect_garbage` was called with the threshold 0: it is off then, and old blocks stay."""

    def garbage(self) -> None:
        self.steps.collect_garbage()


@bank.variant(AlwaysCollects)
class _(Right):
    def garbage(self) -> None:
        if self.steps.threshold is not None:
            self.steps.collect_garbage()


@bank.mistake(breaks=THREE)
class CollectsAtZero(Right):
    """`collect_garbage` was called with the threshold 0, and not with one below it. Perhaps there is `>=`: it
    is off at 0, and old blocks stay.
    """

    def garbage(self) -> None:
        if self.steps.threshold >= 0:
            self.steps.collect_garbage()


@bank.mistake(breaks=THREE)
class NeverCollects(Right):
    """The threshold is above 0, and old blocks were not given back, neither before the device was asked nor
    after it. `collect_garbage` comes before `device_malloc`.
    """

    def garbage(self) -> None:
        pass


@bank.mistake(breaks=ORDER)
class CollectsAfterTheDevice(Right):
    """The threshold is above 0, and old blocks were given back only when the device had been asked.
    `collect_garbage` comes before `device_malloc`.
    """

    def device(self) -> None:
        self.malloc()
        if self.address is None and self.steps.threshold > 0:
            self.steps.collect_garbage()
            self.malloc()

    garbage = NeverCollects.garbage


@bank.mistake(breaks=NO_MORE)
class SearchesAfterCollecting(Right):
    """After `collect_garbage` the idle blocks were searched. There are fewer of them now: the device has
    more, and is to be asked.
    """

    def garbage(self) -> None:
        if self.steps.threshold > 0:
            self.steps.collect_garbage()
            self.search()


@bank.mistake(breaks=ORDER)
class CollectsFirst(Right):
    """Old blocks were given back before anything was searched: an idle block that fits is perhaps among them."""

    def idle(self) -> None:
        if self.steps.threshold > 0:
            self.steps.collect_garbage()
        self.search()

    def garbage(self) -> None:
        pass


@bank.mistake(breaks=ORDER)
class CollectsBeforeCallbacks(Right):
    """Old blocks were given back before the callbacks were asked. What those give back is perhaps enough."""

    def callbacks(self) -> None:
        Right.garbage(self)
        Right.callbacks(self)

    def garbage(self) -> None:
        pass


@bank.mistake(breaks=THREE)
class CollectsOnlyWithoutCallbacks(Right):
    """The threshold is above 0, and old blocks stayed where they were, since the callbacks had given memory
    back (True). Perhaps an `elif`: the one does not depend on the other.
    """

    def callbacks(self) -> None:
        self.gave = self.steps.free_memory_callbacks()
        if self.gave:
            self.search()

    def garbage(self) -> None:
        if not self.gave:
            Right.garbage(self)


@bank.mistake(breaks=THREE)
class CollectsFromAHalfOn(Right):
    """The threshold is 0.01, above 0, and old blocks were not given back. Perhaps the threshold was rounded,
    or compared with a number other than 0.
    """

    def garbage(self) -> None:
        if round(self.steps.threshold):
            self.steps.collect_garbage()


@bank.variant(CollectsFromAHalfOn)
class _(Right):
    def garbage(self) -> None:
        if self.steps.threshold > 0.5:
            self.steps.collect_garbage()


@bank.mistake(breaks=THREE)
class CollectsForFractions(Right):
    """The threshold is 1 or more, above 0, and old blocks were not given back. Perhaps it is taken for a
    fraction: torch refuses others before this, and here it is only asked whether it is above 0.
    """

    def garbage(self) -> None:
        if 0 < self.steps.threshold < 1:
            self.steps.collect_garbage()


@bank.mistake(breaks=THREE)
class CollectsBelowZero(Right):
    """The threshold is below 0, and `collect_garbage` was called. Perhaps it was asked whether the threshold
    is 0, and not whether it is above.
    """

    def garbage(self) -> None:
        if self.steps.threshold:
            self.steps.collect_garbage()


# The device, and what is given back for it.


@bank.mistake(breaks=FOUR)
class ReleasesFirst(Right):
    """Idle blocks were given back before the device was asked: a new segment was there for the asking."""

    def device(self) -> None:
        pass


@bank.mistake(breaks=ORDER)
class AllBeforeAvailable(Right):
    """The device refused, and all idle segments were given back at once. Those of a suitable size come first:
    they are perhaps enough, and each segment given back has to be asked for again later.
    """

    def available(self) -> None:
        Right.everything(self)

    def everything(self) -> None:
        Right.available(self)


@bank.variant(AllBeforeAvailable)
class _(Right):
    def available(self) -> None:
        pass


@bank.mistake(breaks=FIVE)
class ReleasesAvailableAgain(Right):
    """The device refused once more after `release_available`, and that was called again. Perhaps `while`
    stands where `if` should: "once more" is once.
    """

    def available(self) -> None:
        while self.address is None and self.steps.release_available():
            self.malloc()


@bank.mistake(breaks=FIVE)
class AsksAfterNothingCame(Right):
    """`release_available` gave nothing back (False), and the device was asked again: it can only refuse
    again.
    """

    def available(self) -> None:
        self.steps.release_available()
        self.malloc()


@bank.mistake(breaks=FIVE)
class AvailableIsNotTried(Right):
    """`release_available` gave blocks back (True), and the device was not asked again before all the others
    went, too.
    """

    def available(self) -> None:
        self.steps.release_available()


@bank.mistake(breaks=ORDER)
class AllOnlyWithoutAvailable(Right):
    """`release_available` gave blocks back (True), the device refused even so, and nothing more was tried.
    Perhaps `release_all` stands in an `else`: it does not depend on what step 5 returned.
    """

    def available(self) -> None:
        self.gave = self.steps.release_available()
        if self.gave:
            self.malloc()

    def everything(self) -> None:
        if not self.gave:
            Right.everything(self)


@bank.mistake(breaks=ORDER)
class AllOnlyWithAvailable(Right):
    """`release_available` gave nothing back (False), and out of memory was raised before all idle segments
    were given back. Perhaps `release_all` stands below the `if` of step 5: it does not depend on it.
    """

    def available(self) -> None:
        self.gave = self.steps.release_available()
        if self.gave:
            self.malloc()

    def everything(self) -> None:
        if self.gave:
            Right.everything(self)


@bank.mistake(breaks="`steps.release_all()` gives back all idle segments.")
class NoReleaseAll(Right):
    """Out of memory was raised, and the idle segments were not given back before. With them gone the device
    may have room.
    """

    def everything(self) -> None:
        pass


@bank.mistake(breaks=SIX[1])
class NoRetry(Right):
    """All idle segments were given back, and the device was not asked again: what was given back
    helps nobody.
    """

    def everything(self) -> None:
        self.steps.release_all()
        self.count(RETRIES)


@bank.mistake(breaks=SIX[1])
class SearchesAfterReleaseAll(Right):
    """After `release_all` the idle blocks were searched. They are all gone: the device has the memory now."""

    def everything(self) -> None:
        self.steps.release_all()
        self.count(RETRIES)
        self.search()


@bank.mistake(breaks=SIX[1])
class TrustsReleaseAll(Right):
    """`release_all` returned False, and the device was not asked again. Nothing is said of what it returns:
    the retry comes anyway.
    """

    def everything(self) -> None:
        if self.steps.release_all():
            self.count(RETRIES)
            self.malloc()


@bank.variant(TrustsReleaseAll)
class _(Right):
    def everything(self) -> None:
        if self.steps.release_all() is not False:
            self.count(RETRIES)
            self.malloc()


@bank.mistake(breaks=NO_MORE)
class RetriesTwice(Right):
    """All idle segments were given back a second time. Nothing has become idle in between."""

    def everything(self) -> None:
        for _ in range(2):
            if self.address is None:
                Right.everything(self)
