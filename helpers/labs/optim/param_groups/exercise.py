"""Exercise 04.param_groups: which parameters decay, and which do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from helpers.check.compare import shown
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.optim.param_groups.inputs import MODELS, Named

param_groups = Exercise(
    "04.param_groups",
    "Who decays and who does not",
    objective="Split the parameters of any model into two groups, so that biases and norm weights do not decay.",
    minutes=10,
    difficulty="easy",
    core=False,
    hints=[
        "A rule by names or by module types fails on the next model: an LSTM's bias is called bias_ih_l0, and a layer of "
        "your own has a parameter of any name. What do biases and norm weights have in common as tensors?",
        "One dimension or none. Go once through model.parameters(), which gives each tied weight once, and leave out "
        "what does not require grad.",
        "`params = [p for p in model.parameters() if p.requires_grad]`; then two dicts with the keys `params` and "
        "`weight_decay`: those with `p.ndim >= 2`, and the others with `weight_decay` 0.0.",
    ],
)

Answer = Callable[[nn.Module, float], Any]
DECAY = 0.07
ONE_GROUP_EMPTY = ("no bias", "only norm", "empty", "all frozen")


def _wanted(model: nn.Module) -> tuple[list[str], list[str]]:
    """Names of the parameters that decay and of those that do not."""
    named = [(name, param) for name, param in model.named_parameters() if param.requires_grad]
    return [n for n, p in named if p.ndim >= 2], [n for n, p in named if p.ndim < 2]


def _groups(answer: Answer, trial: Trial, model: nn.Module, decay: float = DECAY) -> list[dict]:
    """What the answer returned, if it is a list of dicts."""
    found = trial.call(answer, model, decay)
    kinds = [type(group).__name__ for group in found] if isinstance(found, list) else []
    trial.true(
        isinstance(found, list) and all(kind == "dict" for kind in kinds),
        f"Expected a list of two dicts, got {type(found).__name__}"
        + (f" of {', '.join(kinds)}." if kinds else "."),
        expected="[{'params': [...], 'weight_decay': ...}, {'params': [...], 'weight_decay': 0.0}]",
        got=found,
        observed=("no groups", type(found).__name__, kinds),
    )
    return found


def _names(group: dict, place: int, model: nn.Module, trial: Trial) -> list[str]:
    """Names of the parameters of a group; "?" for a tensor that the model does not have."""
    params = group.get("params")
    trial.true(
        isinstance(params, list | tuple),
        f"Group {place} holds its parameters in {_kind(params)}"
        + (", which has no order." if isinstance(params, set | frozenset) else ".")
        + (" It can be read only once: the second time it is empty." if isinstance(params, Iterator) else ""),
        expected="a list under the key 'params'",
        got=params,
        observed=("params", type(params).__name__, sorted(map(str, group))),
    )
    strange = [item for item in params if not isinstance(item, Tensor)]
    trial.true(
        not strange,
        f"Group {place} holds {type(strange[0]).__name__ if strange else ''}, where parameters were expected.",
        expected="the parameters themselves, as model.parameters() gives them",
        got=params,
        observed=("no tensors", sorted({type(item).__name__ for item in strange})),
    )
    names = {id(param): name for name, param in model.named_parameters()}
    return [names.get(id(param), "?") for param in params]


def _kind(params: Any) -> str:
    return "nothing" if params is None else f"a {type(params).__name__}"


def _require_split(answer: Answer, trial: Trial, *models: Named, order: bool = False) -> None:
    """Both groups hold what they should; with `order` in the order of the model."""
    for description, build in models:
        model = build()
        trial.given(f"{description}, weight_decay={DECAY}")
        want = [list(names) for names in _wanted(model)]  # asked before: an answer may thaw what was frozen
        groups = _groups(answer, trial, model)
        got = [_names(group, place, model, trial) for place, group in enumerate(groups)]
        trial.true(
            "?" not in sum(got, []),
            "A group holds tensors that are no parameters of this model: buffers, copies, what detach() and state_dict() give, or "
            "parameters of the model of an earlier call. An optimizer moves the objects that it is given.",
            expected="parameters of the model",
            got=got,
            observed=("strangers", got),
        )
        trial.true(
            len(got) == 2,
            f"Expected two groups, got {len(got)}. The order of groups is how a checkpoint finds them again, so there "
            "are always two, also when one is empty.",
            expected=shown(want),
            got=got,
            observed=("number", got),
        )
        missing = [name for name in sum(want, []) if name not in sum(got, [])]
        trial.true(
            not missing,
            f"In no group: {', '.join(map(repr, missing))}. An optimizer will never move it.",
            expected=shown(want),
            got=got,
            observed=("missing", got),
        )
        double = sorted({name for name in sum(got, []) if sum(got, []).count(name) > 1})
        trial.true(
            not double,
            f"More than once: {', '.join(map(repr, double))}. An optimizer refuses that, or moves it twice.",
            expected=shown(want),
            got=got,
            observed=("double", got),
        )
        _require_places(trial, want, got)
        trial.true(
            not order or got == want,
            "The right parameters in a different order. The state of an optimizer is matched by position.",
            expected=shown(want),
            got=got,
            observed="order",
        )


def _require_places(trial: Trial, want: list[list[str]], got: list[list[str]]) -> None:
    extra = [name for name in sum(got, []) if name not in sum(want, [])]
    trial.true(
        not extra,
        f"Did not require grad, and is in a group: {', '.join(map(repr, extra))}.",
        expected=shown(want),
        got=got,
        observed=("frozen", got),
    )
    misplaced = [name for name in want[0] + want[1] if (name in want[0]) != (name in got[0])]
    trial.true(
        not misplaced,
        f"In the wrong group: {', '.join(map(repr, misplaced))}. Two dimensions or more decay; fewer do not.",
        expected=shown(want),
        got=got,
        observed=("misplaced", got),
    )


@param_groups.property(
    "two groups: weights that decay first, biases behind",
    asks=(
        "Two groups for an optimizer, those that decay first.",
        'Each group is a dict with the keys "params" (a list of the model\'s own Parameter objects) and "weight_decay".',
    ),
)
def splits(answer: Answer, trial: Trial) -> None:
    _require_split(answer, trial, MODELS["linear"])


@param_groups.property(
    "the first group has the weight decay that was asked for, the second has 0",
    asks="Parameters of two dimensions or more are in the first group, with this weight_decay; the others are in the second, with 0.0.",
)
def sets_the_decay(answer: Answer, trial: Trial) -> None:
    for decay in (DECAY, 0.0, 3):
        model = MODELS["linear"][1]()
        trial.given(f"{MODELS['linear'][0]}, weight_decay={decay}; AdamW's own default is 0.01")
        groups = _groups(answer, trial, model, decay)
        got = [group.get("weight_decay", "no such key") for group in groups]
        trial.true(
            got == [decay, 0],
            f"The groups have weight_decay {got}, for weight_decay={decay}."
            + (" Where the key is missing, AdamW takes its default, 0.01." if "no such key" in got else ""),
            expected=f"[{decay}, 0.0]",
            got=got,
            observed=("decay", decay, got),
        )
        # What an optimizer would read; a name or the like does no harm.
        other = sorted({str(key) for group in groups for key in group} & {"lr", "betas", "eps", "momentum"})
        trial.true(
            not other,
            f"The groups set {', '.join(other)} as well, which nobody asked for.",
            expected="the keys params and weight_decay",
            got=sorted({str(key) for group in groups for key in group}),
            observed=("options", other),
        )


@param_groups.property(
    "norms, PReLU and convolutions are told by their dimensions, not by their type",
    asks="Parameters of two dimensions or more are in the first group, with this weight_decay; the others are in the second, with 0.0.",
)
def knows_any_layer(answer: Answer, trial: Trial) -> None:
    _require_split(answer, trial, MODELS["norms"], MODELS["conv"])


@param_groups.property(
    "the parameters of an LSTM, whatever they are called",
    asks="Parameters of two dimensions or more are in the first group, with this weight_decay; the others are in the second, with 0.0.",
)
def knows_an_lstm(answer: Answer, trial: Trial) -> None:
    _require_split(answer, trial, MODELS["lstm"])


@param_groups.property(
    "what a layer is called says nothing",
    asks="Parameters of two dimensions or more are in the first group, with this weight_decay; the others are in the second, with 0.0.",
)
def ignores_names(answer: Answer, trial: Trial) -> None:
    _require_split(answer, trial, MODELS["names"])


@param_groups.property(
    "parameters of the model's own, in lists, and at the top are found",
    asks="Parameters of two dimensions or more are in the first group, with this weight_decay; the others are in the second, with 0.0.",
)
def finds_bare_parameters(answer: Answer, trial: Trial) -> None:
    _require_split(answer, trial, MODELS["bare"], MODELS["list"])


@param_groups.property(
    "only parameters that require grad; buffers are none",
    asks="Only those that require grad, each once, in the order of `model.named_parameters()`.",
)
def leaves_out_frozen(answer: Answer, trial: Trial) -> None:
    _require_split(answer, trial, MODELS["frozen"], MODELS["buffers"], MODELS["half frozen"])


@param_groups.property(
    "a tied weight or a shared module comes once",
    asks="Only those that require grad, each once, in the order of `model.named_parameters()`.",
)
def ties_once(answer: Answer, trial: Trial) -> None:
    _require_split(answer, trial, MODELS["tied"], MODELS["shared"])


@param_groups.property(
    "equal values are not the same parameter",
    asks="Only those that require grad, each once, in the order of `model.named_parameters()`.",
)
def compares_by_identity(answer: Answer, trial: Trial) -> None:
    _require_split(answer, trial, MODELS["equal"])


@param_groups.property(
    "the order is that of named_parameters",
    asks="Only those that require grad, each once, in the order of `model.named_parameters()`.",
)
def keeps_the_order(answer: Answer, trial: Trial) -> None:
    first = ("deep", "half frozen", "shared")
    others = (name for name in MODELS if name not in (*first, *ONE_GROUP_EMPTY))
    _require_split(answer, trial, *(MODELS[name] for name in (*first, *others)), order=True)


@param_groups.property(
    "always two groups, also when one is empty",
    asks="There are always two groups, also when one of them is empty.",
)
def always_two(answer: Answer, trial: Trial) -> None:
    _require_split(answer, trial, *(MODELS[name] for name in ONE_GROUP_EMPTY))


@param_groups.property(
    "the model is left as it is, and a second call gives the same groups",
    asks="The model is left as it is, and a second call gives the same groups.",
)
def leaves_the_model(answer: Answer, trial: Trial) -> None:
    for kind in ("frozen", "bare", "tied"):
        description, build = MODELS[kind]
        model = build()
        trial.given(f"{description}, weight_decay={DECAY}; called twice, with a different model in between")
        for param in model.parameters():
            param.grad = torch.ones_like(param)
        grads = [(param, param.grad) for param in model.parameters()]
        before = {name: (param, param.requires_grad) for name, param in model.named_parameters()}
        first = _all_names(answer, trial, model)
        _all_names(answer, trial, MODELS["linear"][1]())
        after = {name: (param, param.requires_grad) for name, param in model.named_parameters()}
        changed = sorted(
            name
            for name in {**before, **after}
            if name not in before or name not in after or not _same_parameter(before[name], after[name])
        )
        trial.true(
            not changed,
            f"Making the groups changed the model: {', '.join(changed)} became a different parameter, or its "
            "requires_grad changed.",
            expected="the model as before",
            got=changed,
            observed="model changed",
        )
        trial.true(
            all(param.grad is grad and bool(grad.all()) for param, grad in grads),
            "Making the groups changed gradients of the model.",
            expected="each .grad as before",
            observed="gradients changed",
        )
        trial.true(
            all(module.training for module in model.modules()),
            "Making the groups changed the mode of the model.",
            expected="a model in training mode, as before",
            observed="mode changed",
        )
        second = _all_names(answer, trial, model)
        trial.true(
            first == second,
            "The second call for one model gives different groups.",
            expected=shown(first),
            got=second,
            observed=("different at the second call", second),
        )
        trial.given(f"{description}; called with weight_decay={DECAY}, then with 3")
        got = [group.get("weight_decay") for group in _groups(answer, trial, model, 3)]
        trial.true(
            got == [3, 0],
            "A later call for the same model, with a different weight_decay, gives other decays.",
            expected="[3, 0.0]",
            got=got,
            observed="an older decay",
        )


def _all_names(answer: Answer, trial: Trial, model: nn.Module) -> list[list[str]]:
    return [_names(group, place, model, trial) for place, group in enumerate(_groups(answer, trial, model))]


def _same_parameter(one: tuple[Tensor, bool], other: tuple[Tensor, bool]) -> bool:
    return one[0] is other[0] and one[1] == other[1]
