"""What people write for 06.mini_grad_scaler: a scale that is stored by half, and a switch that does not switch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.optim import Optimizer

from helpers.labs.streams.mini_grad_scaler.exercise import (
    ENTRIES,
    LARGER,
    LEFT,
    LOAD,
    OFF,
    STATE,
    STEP,
    mini_grad_scaler,
)
from helpers.labs.streams.mini_grad_scaler.right import Pieces


@mini_grad_scaler.mistake(breaks=ENTRIES)
class StateWithoutCount(Pieces):
    """The state lacks the count of good iterations. After each reload it begins at 0: who saves more often
    than growth_interval has a scale that never grows.
    """

    def state_dict(self) -> dict[str, Any]:
        return {name: value for name, value in super().state_dict().items() if name != "_growth_tracker"}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict({**state, "_growth_tracker": self.good} if state else state)


@mini_grad_scaler.variant(StateWithoutCount)
class _ScaleAlone(Pieces):
    def state_dict(self) -> dict[str, Any]:
        return {"scale": self.get_scale()} if self.enabled else {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if self.enabled:
            self.now = torch.full_like(self.now, state["scale"])


@mini_grad_scaler.mistake(breaks=LOAD)
class CountNotLoaded(Pieces):
    """After load_state_dict the count of good iterations is not that of the state. Perhaps it was left out."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        good = self.good
        super().load_state_dict(state)
        self.good = good


@mini_grad_scaler.variant(CountNotLoaded)
class _CountFromNought(Pieces):
    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.good = 0


@mini_grad_scaler.mistake(breaks=LOAD)
class FactorsNotLoaded(Pieces):
    """After load_state_dict the factors and the interval are not those of the state. Perhaps those of __init__ are
    kept. In torch the state goes first: a changed argument has no effect after a reload.
    """

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if self.enabled:
            self.now, self.good = torch.full_like(self.now, state["scale"]), state["_growth_tracker"]


@mini_grad_scaler.mistake(breaks=LOAD)
class IntervalNotLoaded(Pieces):
    """After load_state_dict growth_interval is not that of the state. Perhaps the one of __init__ is kept: all five
    entries are taken over.
    """

    def load_state_dict(self, state: dict[str, Any]) -> None:
        interval = self.interval
        super().load_state_dict(state)
        self.interval = interval


@mini_grad_scaler.mistake(breaks=STATE)
class StateOfTensors(Pieces):
    """The state holds the tensors themselves. They change with the scaler if it edits them in place, and a
    file of them is not what torch's scaler loads: it holds plain numbers.
    """

    def state_dict(self) -> dict[str, Any]:
        state = super().state_dict()
        return {**state, "scale": self.now, "_growth_tracker": torch.tensor(self.good)} if state else state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if self.enabled:
            super().load_state_dict({**state, "_growth_tracker": int(state["_growth_tracker"])})


@mini_grad_scaler.variant(StateOfTensors)
class _ScaleTensor(StateOfTensors):
    def state_dict(self) -> dict[str, Any]:
        state = super().state_dict()
        return {**state, "_growth_tracker": self.good} if state else state


class _InADict(Pieces):
    """Gives out one dict, which update() edits."""

    given: dict[str, Any]

    def state_dict(self) -> dict[str, Any]:
        if not self.enabled:
            return {}
        self.given = getattr(self, "given", {})
        self.given.update(super().state_dict())
        return self.given

    def update(self) -> None:
        super().update()
        self.state_dict()


@mini_grad_scaler.mistake(breaks=STATE)
class StateIsAlive(_InADict):
    """state_dict() gives the dict out in which the scaler works: the state that was taken changes with each
    update().
    """


@mini_grad_scaler.variant(StateIsAlive)
class _AliveBothWays(_InADict):
    """Works in the dict that it loaded, too."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.given = state


@mini_grad_scaler.mistake(breaks=STATE)
class OneDictForAllStates(_InADict):
    """The state that was taken changes when state_dict() is called again. Perhaps one dict is kept, filled anew at each
    call and given out: give out a new one.
    """

    def update(self) -> None:
        Pieces.update(self)


@mini_grad_scaler.mistake(breaks=LEFT)
class PopsFromTheDict(Pieces):
    """After load_state_dict the dict that it was given lacks an entry. Perhaps it was taken with pop(): whoever loads the
    same state a second time gets a KeyError. Read it with [].
    """

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        state.pop("_growth_tracker", None)


for name in ("scale", "growth_factor", "backoff_factor", "growth_interval"):

    class _PopsOne(Pieces):
        name = name

        def load_state_dict(self, state: dict[str, Any]) -> None:
            super().load_state_dict(state)
            state.pop(self.name, None)

    mini_grad_scaler.variant(PopsFromTheDict)(_PopsOne)


@mini_grad_scaler.variant(PopsFromTheDict)
class _PopsAll(Pieces):
    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        state.clear()


@mini_grad_scaler.mistake(breaks=LOAD)
class ScaleNotLoadedInUse(Pieces):
    """A scaler in use keeps its scale when it loads a state. Perhaps load_state_dict sets init_scale alone, which nobody
    reads after the first loss.
    """

    def load_state_dict(self, state: dict[str, Any]) -> None:
        now = self.now
        super().load_state_dict(state)
        if self.used:
            self.now = now


@mini_grad_scaler.mistake(breaks=OFF)
class EnabledIgnored(Pieces):
    """enabled is stored and never asked: the switch with which a script trains without a scaler does nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.pop("enabled", None)
        super().__init__(*args, **kwargs)


@mini_grad_scaler.mistake(breaks=OFF)
class OffTakesNoStep(Pieces):
    """With enabled=False step never calls optimizer.step: nothing is trained. Perhaps it returns at once, as the other
    methods do.
    """

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        return super().step(optimizer, *args, **kwargs) if self.enabled else None


@mini_grad_scaler.mistake(breaks=STEP)
class OffLosesArguments(Pieces):
    """With enabled=False optimizer.step is called without what the caller gave for it, or its result is lost: the switch changes
    more than the scaling.
    """

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        return super().step(optimizer, *args, **kwargs) if self.enabled else optimizer.step()


@mini_grad_scaler.mistake(breaks=LOAD)
class CountAddedInUse(Pieces):
    """A scaler in use that loads a state has a different count than the state. Perhaps the count is added to its own, or
    something else is taken for it.
    """

    def load_state_dict(self, state: dict[str, Any]) -> None:
        good = self.good
        super().load_state_dict(state)
        self.good += good


@mini_grad_scaler.mistake(breaks=ENTRIES)
class NoCountBeforeTheFirstLoss(Pieces):
    """Before the first loss state_dict() holds no right count. Perhaps it is made by scale(): who saves at once has a state
    that cannot be loaded.
    """

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | ({} if self.used else {"_growth_tracker": -1})


@mini_grad_scaler.mistake(breaks=STATE)
class NumpyScaleInTheState(Pieces):
    """In state_dict() of a new scaler the scale is no Python number, perhaps NumPy's: torch.load with weights_only, its
    default, refuses such a state.
    """

    def state_dict(self) -> dict[str, Any]:
        state = super().state_dict()
        return state if self.used or not state else state | {"scale": np.float32(state["scale"])}


@mini_grad_scaler.mistake(breaks=LARGER)
class CountInFloat32(Pieces):
    """A large count does not go on. Perhaps it is a float32 tensor, which holds no odd number above 2**24."""

    def count(self) -> None:
        super().count()
        self.good = int(np.float32(self.good))
