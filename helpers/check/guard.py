"""The state that a check must leave as it was: global switches, generators, functions of torch.

`snapshot()` reads it, `restore(state)` puts it back and returns the names of what had changed.
References are taken when this module is imported, since an answer may replace the originals.
"""

from __future__ import annotations

import builtins
import gc
import itertools
import locale
import logging
import math
import operator
import os
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional
import torch.nn.modules.module as module_hooks
import torch.utils.data
import torch.utils.deterministic

from helpers import precision


class Slot(NamedTuple):
    """One piece of state: `read()` gives a value that can be compared, `write(value)` puts it back."""

    read: Callable[[], Any]
    write: Callable[[Any], None]


class Names(NamedTuple):
    """What the namespaces held: the names of each, and once more, as lists, what they stood for."""

    spaces: dict[str, dict[str, Any]]
    values: list[list[Any]]


class State(NamedTuple):
    """What `snapshot` read. is_whole: of all slots."""

    values: dict[str, Any]
    names: Names
    is_whole: bool


_setattr, _delattr, _list, _dict, _vars = setattr, delattr, list, dict, vars
_all, _len, _map, _is, _flat = all, len, map, operator.is_, itertools.chain.from_iterable
_cudnn = torch.backends.cudnn
_GLOBAL_HOOKS = [
    value
    for name, value in vars(module_hooks).items()
    if name.startswith("_global_") and isinstance(value, dict)
]
_SIGNALS = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGALRM", "SIGTERM", "SIGUSR1", "SIGCHLD")
    if hasattr(signal, name)
]
_SDP = [
    kind
    for kind in ("flash", "mem_efficient", "math")
    if hasattr(torch._C, f"_get_{kind}_sdp_enabled") and hasattr(torch._C, f"_set_sdp_use_{kind}")
]
_kept_inference_modes: list[Any] = []  # the C++ guard undoes itself when it is collected


def _read_numpy() -> tuple:
    name, key, *rest = np.random.get_state(legacy=True)
    return (name, key.tobytes(), *rest)


def _write_numpy(value: tuple) -> None:
    name, key, *rest = value
    np.random.set_state((name, np.frombuffer(key, dtype=np.uint32), *rest))


def _read_torch() -> bytes:
    return torch.default_generator.get_state().numpy().tobytes()


def _write_torch(value: bytes) -> None:
    torch.default_generator.set_state(torch.frombuffer(bytearray(value), dtype=torch.uint8))


def _read_cuda() -> list[bytes]:
    if not torch.cuda.is_initialized():
        return []
    return [state.numpy().tobytes() for state in torch.cuda.get_rng_state_all()]


def _write_cuda(value: list[bytes]) -> None:
    for device, state in enumerate(value):
        torch.cuda.set_rng_state(torch.frombuffer(bytearray(state), dtype=torch.uint8), device)


def _read_deterministic() -> tuple[bool, bool, bool]:
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.utils.deterministic.fill_uninitialized_memory,
    )


def _write_deterministic(value: tuple[bool, bool, bool]) -> None:
    torch._C._set_deterministic_algorithms(
        value[0], warn_only=value[1]
    )  # the public one imports inductor: 1 s
    torch.utils.deterministic.fill_uninitialized_memory = value[2]


def _read_cudnn() -> tuple:
    return _cudnn.enabled, _cudnn.benchmark, _cudnn.deterministic, _cudnn.benchmark_limit


def _write_cudnn(value: tuple) -> None:
    _cudnn.enabled, _cudnn.benchmark, _cudnn.deterministic, _cudnn.benchmark_limit = value


def _read_sdp() -> tuple[bool, ...]:
    return tuple(getattr(torch._C, f"_get_{kind}_sdp_enabled")() for kind in _SDP)


def _write_sdp(value: tuple[bool, ...]) -> None:
    for kind, enabled in zip(_SDP, value, strict=True):
        getattr(torch._C, f"_set_sdp_use_{kind}")(enabled)


def _read_autocast() -> tuple:
    devices = tuple(
        (device, torch.is_autocast_enabled(device), torch.get_autocast_dtype(device))
        for device in ("cpu", "cuda")
    )
    return (*devices, torch.is_autocast_cache_enabled())


def _write_autocast(value: tuple) -> None:
    *devices, cache = value
    for device, enabled, dtype in devices:
        torch.set_autocast_enabled(device, enabled)
        torch.set_autocast_dtype(device, dtype)
    torch.set_autocast_cache_enabled(cache)


def _read_device() -> Any:
    context = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    return None if context is None else context.device


def _write_inference(value: bool) -> None:
    mode = torch._C._InferenceMode(value)
    mode.__enter__()
    _kept_inference_modes.append(mode)


def _write_threads(value: int) -> None:
    if torch.get_num_threads() != value:
        torch.set_num_threads(value)


def _read_modes() -> tuple[int, int]:
    return torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack()


def _write_modes(value: tuple[int, int]) -> None:
    while torch._C._len_torch_function_stack() > value[0]:
        torch._C._pop_torch_function_stack()
    while torch._C._len_torch_dispatch_stack() > value[1]:
        torch._C._pop_torch_dispatch_stack(None)


def _write_hooks(value: tuple[dict, ...]) -> None:
    for hooks, old in zip(_GLOBAL_HOOKS, value, strict=True):
        hooks.clear()
        hooks.update(old)


def _read_environ() -> dict[str, str]:
    """All variables but the one that torch itself sets when the first optimizer is made."""
    return {name: value for name, value in os.environ.items() if name != "TORCHINDUCTOR_CACHE_DIR"}


def _write_environ(value: dict[str, str]) -> None:
    for name in [name for name in _read_environ() if name not in value]:
        del os.environ[name]
    for name, text in value.items():
        if os.environ.get(name) != text:
            os.environ[name] = text


def _write_signals(value: tuple) -> None:
    for number, handler in zip(_SIGNALS, value, strict=True):
        if handler is not None and signal.getsignal(number) is not handler:
            signal.signal(number, handler)


def _read_logging() -> tuple:
    root = logging.getLogger()
    return root.level, tuple(root.handlers), logging.root.manager.disable


def _write_logging(value: tuple) -> None:
    root = logging.getLogger()
    root.setLevel(value[0])
    root.handlers[:] = value[1]
    logging.disable(value[2])


def _write_warnings(value: tuple) -> None:
    warnings.filters[:], warnings.showwarning = value
    refresh = getattr(warnings, "_filters_mutated", None) or warnings._filters_mutated_lock_held
    refresh()


def _read_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _write_gc(value: tuple) -> None:
    (gc.enable if value[0] else gc.disable)()
    gc.set_threshold(*value[1])
    gc.set_debug(value[2])


def _attributes(*places: tuple[Any, str]) -> Slot:
    """State that is plain attributes of objects."""

    def write(value: tuple) -> None:
        for (owner, name), old in zip(places, value, strict=True):
            _setattr(owner, name, old)

    return Slot(lambda: tuple(getattr(owner, name) for owner, name in places), write)


_PRINT_OPTIONS = torch._tensor_str.PRINT_OPTS

# Everything here belongs to the process or to the calling thread. Order matters: a default device
# or an inference mode that was left on would disturb what is restored after it.
SLOTS: dict[str, Slot] = {
    "default device": Slot(_read_device, torch.set_default_device),
    "torch modes": Slot(_read_modes, _write_modes),
    "inference mode": Slot(torch.is_inference_mode_enabled, _write_inference),
    "torch RNG": Slot(_read_torch, _write_torch),
    "numpy RNG": Slot(_read_numpy, _write_numpy),
    "random RNG": Slot(random.getstate, random.setstate),
    "cuda RNG": Slot(_read_cuda, _write_cuda),
    "default dtype": Slot(torch.get_default_dtype, torch.set_default_dtype),
    "grad mode": Slot(torch.is_grad_enabled, torch.set_grad_enabled),
    "deterministic algorithms": Slot(_read_deterministic, _write_deterministic),
    "cudnn flags": Slot(_read_cudnn, _write_cudnn),
    "mkldnn flags": _attributes((torch.backends.mkldnn, "enabled"), (torch.backends.mkldnn, "deterministic")),
    "attention kernels": Slot(_read_sdp, _write_sdp),
    "float32 precision": Slot(precision.read, precision.write),
    "number of threads": Slot(torch.get_num_threads, _write_threads),
    "anomaly mode": Slot(
        lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        lambda value: torch.autograd.set_detect_anomaly(*value),
    ),
    "autocast": Slot(_read_autocast, _write_autocast),
    "torch print options": Slot(
        lambda: dict(vars(_PRINT_OPTIONS)), lambda value: vars(_PRINT_OPTIONS).update(value)
    ),
    "torch warn_always": Slot(torch.is_warn_always_enabled, torch.set_warn_always),
    "global module hooks": Slot(lambda: tuple(dict(hooks) for hooks in _GLOBAL_HOOKS), _write_hooks),
    "numpy error state": Slot(np.geterr, lambda value: np.seterr(**value) and None),
    "numpy print options": Slot(np.get_printoptions, lambda value: np.set_printoptions(**value)),
    "working directory": Slot(os.getcwd, os.chdir),
    "environment variables": Slot(_read_environ, _write_environ),
    "warning filters": Slot(lambda: (tuple(warnings.filters), warnings.showwarning), _write_warnings),
    "logging": Slot(_read_logging, _write_logging),
    "standard streams": _attributes((sys, "stdout"), (sys, "stderr"), (sys, "stdin")),
    "sys.path": Slot(lambda: list(sys.path), lambda value: sys.path.__setitem__(slice(None), value)),
    "exception hooks": _attributes(
        (sys, "excepthook"), (sys, "unraisablehook"), (threading, "excepthook"), (sys, "displayhook")
    ),
    "recursion limit": Slot(sys.getrecursionlimit, sys.setrecursionlimit),
    "switch interval": Slot(sys.getswitchinterval, sys.setswitchinterval),
    "trace functions": Slot(
        lambda: (sys.gettrace(), sys.getprofile()),
        lambda value: (sys.settrace(value[0]), sys.setprofile(value[1])) and None,
    ),
    "garbage collector": Slot(lambda: (gc.isenabled(), gc.get_threshold(), gc.get_debug()), _write_gc),
    "signal handlers": Slot(lambda: tuple(signal.getsignal(number) for number in _SIGNALS), _write_signals),
    "umask": Slot(_read_umask, lambda value: os.umask(value) and None),
    "locale": Slot(
        lambda: locale.setlocale(locale.LC_ALL), lambda value: locale.setlocale(locale.LC_ALL, value) and None
    ),
}

# Namespaces in which an answer might replace a function. Types written in C cannot be patched.
SPACES: dict[str, Any] = {
    "builtins": builtins,
    "torch": torch,
    "torch.Tensor": torch.Tensor,
    "torch.nn": torch.nn,
    "torch.nn.functional": torch.nn.functional,
    "torch.nn.Module": torch.nn.Module,
    "torch.nn.Linear": torch.nn.Linear,
    "torch.nn.Dropout": torch.nn.Dropout,
    "torch.optim.Optimizer": torch.optim.Optimizer,
    "torch.optim.SGD": torch.optim.SGD,
    "torch.optim.AdamW": torch.optim.AdamW,
    "torch.linalg": torch.linalg,
    "torch.autograd": torch.autograd,
    "torch.autograd.Function": torch.autograd.Function,
    "torch.testing": torch.testing,
    "torch.optim": torch.optim,
    "torch.utils.data": torch.utils.data,
    "numpy": np,
    "numpy.random": np.random,
    "math": math,
    "random": random,
    "time": time,
    "os": os,
    "gc": gc,
}
# By space, a view of what it holds: it shows what is there now, and to make one for each look takes longer than to look.
_live: dict[str, Iterable[Any]] = {space: _vars(owner).values() for space, owner in SPACES.items()}
_OVERLOOKED = {"__builtins__", "_", "__warningregistry__"}  # "_" is IPython's last result, in builtins
_type = type
_TORCH = os.path.dirname(torch.__file__) + os.sep


# Put back without a word: libraries change these when they are imported or used, and no check rests on them.
QUIET = {
    "logging",
    "warning filters",
    "exception hooks",
    "signal handlers",
    "sys.path",
    "locale",
    "torch warn_always",
}


def set_standard() -> None:
    """The switches as a fresh Python has them, so that a verdict does not depend on the notebook's.

    And one thread, as in every lab: inputs are small, and on a busy machine threads wait for each other.
    """
    torch.set_num_threads(1)
    torch.set_default_device(None)
    _write_inference(False)
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    for device in ("cpu", "cuda"):
        torch.set_autocast_enabled(device, False)
    _write_deterministic((False, False, True))


def watch(*modules: str) -> None:
    """Adds imported modules to the namespaces that are put back: the check's own, above all."""
    for name in modules:
        if name in sys.modules:
            _watch(name, sys.modules[name])
            for member, value in _list(_vars(sys.modules[name]).items()):
                if isinstance(value, _type) and value.__module__ == name:
                    _watch(f"{name}.{member}", value)


def _watch(space: str, owner: Any) -> None:
    if space not in SPACES:
        SPACES[space], _live[space] = owner, _vars(owner).values()


# Switches that, left on by one call of an answer, would disturb the rest of the check itself.
DISTURBING = (
    "default device",
    "torch modes",
    "inference mode",
    "default dtype",
    "grad mode",
    "autocast",
    "deterministic algorithms",
)


def snapshot(slots: Iterable[str] = SLOTS) -> State:
    """The state now: these slots, and all namespaces."""
    is_whole = slots is SLOTS
    return State({name: SLOTS[name].read() for name in slots}, _names(identical=is_whole), is_whole)


def restore(state: State) -> list[str]:
    """Puts the state back; returns what had changed, replaced functions (`torch.allclose`) first.

    The namespaces come first, so that the rest can be trusted. Where the state is not whole, as around one call of an
    answer, an object that equals the old one passes for it: comparing so takes half the time (55 and 130 us). What is whole is
    put back at the end of each property.
    """
    changed = []
    if not _are_as_before(state.names, identical=state.is_whole):
        for space, old in state.names.spaces.items():
            changed += _restored_names(space, old)
    for name, old in state.values.items():
        slot = SLOTS[name]
        try:
            same = slot.read() == old
        except Exception:
            same = False
        if not same:
            slot.write(old)
            if name not in QUIET:
                changed.append(name)
    return changed


_last = [Names({}, [])]  # a list, since this module is one of the namespaces, which must stay as they are


def _names(*, identical: bool) -> Names:
    """What the namespaces hold. As nearly always it is what they held last, and no copy is made."""
    if not _are_as_before(_last[0], identical=identical):
        spaces = {space: _dict(_vars(owner)) for space, owner in SPACES.items()}
        _last[0] = Names(spaces, [_list(held.values()) for held in spaces.values()])
    return _last[0]


def _are_as_before(old: Names, *, identical: bool) -> bool:
    """Whether the namespaces hold the objects of before, in their order, or objects that equal them."""
    now = _live.values()
    try:
        if not identical:
            return _list(_map(_list, now)) == old.values
        sizes_same = _list(_map(_len, now)) == _list(_map(_len, old.values))
        return sizes_same and _all(_map(_is, _flat(now), _flat(old.values)))
    except Exception:  # what was put there cannot be compared
        return False


def _restored_names(space: str, old: dict[str, Any]) -> list[str]:
    owner = SPACES[space]
    now = owner.__dict__
    if _same(now, old):
        return []
    changed = []
    for name in _list(now):
        if name in _OVERLOOKED:
            continue
        if name not in old:
            # A module gains names when a submodule is loaded lazily; that is no patch. A new name in
            # builtins, or one that hides an inherited name of a class, is, unless torch itself put it there.
            hides = isinstance(owner, _type) and name in _inherited(owner) and not _is_from_torch(now[name])
            if space == "builtins" or hides:
                changed.append(f"{space}.{name}")
                _delattr(owner, name)
        elif now[name] is not old[name] and not _is_hooked_step(now[name], old[name]):
            # A rebound flag of a module (private, not a function) is the module's own business.
            if _is_patch(owner, name, old[name], now[name]):
                changed.append(f"{space}.{name}")
            _setattr(owner, name, old[name])
    for name in old:
        if name not in now and name not in _OVERLOOKED:
            changed.append(f"{space}.{name}")
            _setattr(owner, name, old[name])
    return changed


def _is_patch(owner: Any, name: str, old: Any, new: Any) -> bool:
    # torch.compile wraps methods of nn.Module and torch.manual_seed, the first optimizer of a kind its `step`.
    if (isinstance(owner, _type) or name == "manual_seed") and _is_from_torch(new):
        return False
    return callable(old) or not name.startswith("_")


def _is_hooked_step(new: Any, old: Any) -> bool:
    """Whether torch wrapped an optimizer's `step`, as the first one of a kind has it done.

    It stays: the hooks of the optimizers that are there by then run in the wrapping.
    """
    wraps = _is_from_torch(new) and getattr(new, "__wrapped__", None) is old
    return wraps and getattr(new, "hooked", None) is True


def _is_from_torch(value: Any) -> bool:
    code = getattr(value, "__code__", None)
    return code is not None and code.co_filename.startswith(_TORCH)


def _same(now: Any, old: dict[str, Any]) -> bool:
    # The names in their order, as nearly always: then no loop in Python is needed.
    if _list(now) == _list(old):
        return _all(_map(_is, now.values(), old.values()))
    return now.keys() == old.keys() and _all(now[name] is old[name] for name in old)


def _inherited(owner: type) -> set[str]:
    return {name for base in owner.__mro__[1:] for name in base.__dict__}
