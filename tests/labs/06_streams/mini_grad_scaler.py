"""Right answers to 06.mini_grad_scaler, in different shapes."""

from __future__ import annotations

import copy
import math
from collections import defaultdict
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor


class Terse:
    """Python floats, one dict of what was found, no defaults but one; a list of losses is not taken."""

    def __init__(self, init_scale, growth_factor, backoff_factor, growth_interval, enabled=True):
        self.s, self.g, self.b, self.n, self.on = (
            float(np.float32(init_scale)),
            growth_factor,
            backoff_factor,
            growth_interval,
            enabled,
        )
        self.t, self.used, self.inf = 0, False, {}

    def scale(self, loss):
        self.used = True
        return loss * self.s if self.on else loss

    def unscale_(self, opt):
        if not self.on:
            return
        assert self.used
        if opt in self.inf:
            raise RuntimeError("unscale_ twice")
        grads = [p.grad for group in opt.param_groups for p in group["params"] if p.grad is not None]
        if any(grad.dtype == torch.float16 for grad in grads):
            raise ValueError("float16")
        self.inf[opt] = any(not grad.isfinite().all() for grad in grads)
        for grad in grads:
            grad.mul_(torch.tensor(1 / self.s))

    def step(self, opt, *args, **kwargs):
        if self.on and opt not in self.inf:
            self.unscale_(opt)
        if not self.on or not self.inf[opt]:
            return opt.step(*args, **kwargs)

    def update(self):
        if not self.on:
            return
        if any(self.inf.values()):
            self.s, self.t = float(np.float32(self.s * self.b)), 0
        else:
            self.t += 1
            if self.t == self.n:
                larger = torch.tensor(self.s * self.g, dtype=torch.float32).item()
                self.s, self.t = self.s if math.isinf(larger) else larger, 0
        self.inf = {}

    def get_scale(self):
        return self.s

    def state_dict(self):
        return dict(
            scale=self.s,
            growth_factor=self.g,
            backoff_factor=self.b,
            growth_interval=self.n,
            _growth_tracker=self.t,
        )

    def load_state_dict(self, state):
        self.s, self.g, self.b, self.n, self.t = (
            state[name]
            for name in ("scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker")
        )


class InPlaceOfTorch:
    """As torch has it: a state for each optimizer, made when it is first seen; the scale a tensor, edited in place."""

    def __init__(
        self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True
    ):
        self._enabled, self._init = enabled, (init_scale, 0)
        self._scale = self._tracker = None
        self._rule = [growth_factor, backoff_factor, growth_interval]
        self._states = defaultdict(self._fresh)

    @staticmethod
    def _fresh():
        return {"stage": "ready", "found": []}

    def scale(self, outputs):
        if not self._enabled:
            return outputs
        if self._scale is None:
            self._scale = torch.full((), self._init[0], dtype=torch.float32)
            self._tracker = torch.full((), self._init[1], dtype=torch.int32)
        return outputs * self._scale

    @torch.no_grad()
    def unscale_(self, optimizer):
        if not self._enabled:
            return
        assert self._scale is not None, "scale is None"
        state = self._states[id(optimizer)]
        if state["stage"] != "ready":
            raise RuntimeError(state["stage"])
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if any(grad.dtype is torch.half for grad in grads):
            raise ValueError("Attempting to unscale FP16 gradients.")
        largest = torch._foreach_norm(grads, math.inf)  # inf and NaN stay what they are
        torch._foreach_mul_(grads, self._scale.double().reciprocal().float())
        state.update(stage="unscaled", found=[1.0 - torch.stack(largest).isfinite().all().float()])

    def step(self, optimizer, *args, **kwargs):
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        state = self._states[id(optimizer)]
        if state["stage"] == "stepped":
            raise RuntimeError("stepped")
        if state["stage"] == "ready":
            self.unscale_(optimizer)
        state["stage"] = "stepped"
        return None if sum(found.item() for found in state["found"]) else optimizer.step(*args, **kwargs)

    def update(self):
        if not self._enabled:
            return
        growth, backoff, interval = self._rule
        if sum(found.item() for state in self._states.values() for found in state["found"]):
            self._scale.fill_(self._scale.item() * backoff)
            self._tracker.zero_()
        elif self._tracker + 1 == interval:
            larger = torch.tensor(self._scale.item() * growth, dtype=torch.float32)
            self._scale.copy_(torch.where(larger.isfinite(), larger, self._scale))
            self._tracker.zero_()
        else:
            self._tracker += 1
        self._states = defaultdict(self._fresh)

    def get_scale(self):
        if not self._enabled:
            return 1.0
        return self._init[0] if self._scale is None else self._scale.item()

    def state_dict(self):
        names = ("growth_factor", "backoff_factor", "growth_interval")
        tracker = self._init[1] if self._tracker is None else self._tracker.item()
        return {
            "scale": self.get_scale(),
            **dict(zip(names, self._rule, strict=True)),
            "_growth_tracker": tracker,
        }

    def load_state_dict(self, state):
        self._init = state["scale"], state["_growth_tracker"]
        self._rule = [state["growth_factor"], state["backoff_factor"], state["growth_interval"]]
        self._scale = self._tracker = None  # scale() makes them anew


class PythonNumbers:
    """The scale is a Python float that NumPy rounds; the gradients of an optimizer are looked at in one vector."""

    def __init__(
        self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True
    ):
        self.state = dict(
            scale=float(np.float32(init_scale)),
            growth_factor=growth_factor,
            backoff_factor=backoff_factor,
            growth_interval=growth_interval,
            _growth_tracker=0,
        )
        self.enabled, self.was_used = enabled, False
        self.iteration = {}

    def scale(self, x):
        if not self.enabled:
            return x
        self.was_used = True
        by = torch.tensor(self.state["scale"])
        if isinstance(x, Tensor):
            return torch.mul(x, by)
        return type(x)([self.scale(one) for one in x])

    def unscale_(self, optimizer):
        if not self.enabled:
            return
        if not self.was_used:
            raise AssertionError
        if id(optimizer) in self.iteration:
            raise RuntimeError("twice")
        flat = []
        for group in optimizer.param_groups:
            for param in group["params"]:
                if param.grad is None:
                    continue
                if param.grad.dtype == torch.half:
                    raise ValueError("half")
                flat.append(param.grad.detach().reshape(-1))
        bad = bool(torch.cat(flat).sub(torch.cat(flat)).ne(0).any())  # inf - inf and NaN are NaN
        for group in optimizer.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    param.grad.data *= np.float32(1.0 / self.state["scale"]).item()
        self.iteration[id(optimizer)] = [bad, False]

    def step(self, optimizer, *args, **kwargs):
        if self.enabled:
            if id(optimizer) not in self.iteration:
                self.unscale_(optimizer)
            entry = self.iteration[id(optimizer)]
            if entry[1]:
                raise RuntimeError("stepped")
            entry[1] = True
            if entry[0]:
                return
        return optimizer.step(*args, **kwargs)

    def update(self):
        if not self.enabled:
            return
        if not self.iteration:
            raise AssertionError("nothing looked at")
        state = self.state
        if any(bad for bad, _ in self.iteration.values()):
            state["scale"] = float(np.float32(state["scale"] * state["backoff_factor"]))
            state["_growth_tracker"] = 0
        else:
            state["_growth_tracker"] += 1
            if state["_growth_tracker"] == state["growth_interval"]:
                with np.errstate(over="ignore"):
                    larger = float(np.float32(state["scale"] * state["growth_factor"]))
                if math.isfinite(larger):
                    state["scale"] = larger
                state["_growth_tracker"] = 0
        self.iteration.clear()

    def get_scale(self):
        return self.state["scale"] if self.enabled else 1.0

    def state_dict(self):
        return copy.copy(self.state) if self.enabled else {}

    def load_state_dict(self, state):
        if self.enabled:
            self.state.update(state)


@dataclass
class Iteration:
    """What is known of one optimizer until update()."""

    found: Tensor
    stepped: bool = False


class WithRecords:
    """One record an optimizer, held weakly; the scale is edited in place, in double until it is stored."""

    def __init__(
        self, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True
    ):
        self._on = enabled
        if not enabled:
            return
        self._scale = torch.tensor([init_scale], dtype=torch.float32)
        self._rule = {
            "growth_factor": growth_factor,
            "backoff_factor": backoff_factor,
            "growth_interval": growth_interval,
        }
        self._good, self._ready = 0, False
        self._records: WeakKeyDictionary = WeakKeyDictionary()

    def scale(self, outputs):
        if not self._on:
            return outputs
        self._ready = True
        factor = self._scale.squeeze().clone()
        if isinstance(outputs, Tensor):
            return factor * outputs
        return type(outputs)(factor * each for each in outputs)

    def _gradients(self, optimizer):
        for group in optimizer.param_groups:
            yield from (param.grad.detach() for param in group["params"] if param.grad is not None)

    def unscale_(self, optimizer):
        if self._on:
            assert self._ready
            if optimizer in self._records:
                raise RuntimeError("already unscaled")
            found = torch.zeros(())
            inverse = (1.0 / self._scale.double()).float()
            for grad in self._gradients(optimizer):
                if grad.dtype is torch.float16:
                    raise ValueError("float16")
                found += (~torch.isfinite(grad)).sum()
                torch.mul(
                    grad, inverse.to(grad.dtype) if grad.dtype is torch.float64 else inverse[0], out=grad
                )
            self._records[optimizer] = Iteration(found)

    def step(self, optimizer, *args, **kwargs):
        if not self._on:
            return optimizer.step(*args, **kwargs)
        record = self._records.get(optimizer)
        if record is None:
            self.unscale_(optimizer)
            record = self._records[optimizer]
        if record.stepped:
            raise RuntimeError("already stepped")
        record.stepped = True
        return optimizer.step(*args, **kwargs) if not record.found else None

    def update(self):
        if self._on:
            assert self._ready and len(self._records)
            wide = self._scale.double()
            if sum(record.found for record in self._records.values()) > 0:
                self._scale.copy_(wide * self._rule["backoff_factor"])
                self._good = 0
            else:
                self._good += 1
                if self._good >= self._rule["growth_interval"]:
                    self._good = 0
                    wide = (wide * self._rule["growth_factor"]).float()
                    if not torch.isinf(wide):
                        self._scale.copy_(wide)
            self._records = WeakKeyDictionary()

    def get_scale(self):
        return float(self._scale) if self._on else 1.0

    def state_dict(self):
        return {"scale": float(self._scale), **self._rule, "_growth_tracker": self._good} if self._on else {}

    def load_state_dict(self, state):
        if self._on:
            state = dict(state)
            self._scale.fill_(state.pop("scale"))
            self._good = state.pop("_growth_tracker")
            self._rule = state


RIGHT = [Terse, InPlaceOfTorch, PythonNumbers, WithRecords]
