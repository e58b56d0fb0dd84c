"""Exercise 10.repair_class_loss: what cross_entropy, nll_loss and kl_div expect to be given."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.pitfalls.shared.repairs import drawn, has_graph

repair_class_loss = Exercise(
    "10.repair_class_loss",
    "Repair: a student and its teacher",
    objective="Repair a loss whose parts get probabilities where logits or log-probabilities are expected.",
    minutes=10,
    difficulty="medium",
    hints=[
        "Take the two parts apart: weight 0 leaves the cross entropy alone, weight 1 the divergence. What is each for "
        "logits that are certain and right? What is the divergence of a student from itself?",
        "cross_entropy takes logits: it applies log_softmax itself. kl_div takes the logarithms of the student's "
        "probabilities first, and the teacher's probabilities second.",
        "kl_div's default reduction divides by all elements, the classes too. 'batchmean' divides by the batch.",
        "`F.cross_entropy(logits, target)` and `F.kl_div(logits.log_softmax(-1), teacher_logits.softmax(-1), "
        "reduction='batchmean')`.",
    ],
)


def _case(trial: Trial, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    """Logits (5, 3), targets of all classes, teacher's logits: batch and classes differ."""
    target = torch.tensor([0, 1, 2, 1, 0])[torch.randperm(5, generator=trial.generator)]
    return 2 * drawn(trial, 5, 3, dtype=dtype), target, 2 * drawn(trial, 5, 3, dtype=dtype)


def _wanted(logits: Tensor, target: Tensor, teacher_logits: Tensor, weight: float) -> Tensor:
    student, teacher = logits.log_softmax(-1), teacher_logits.log_softmax(-1)
    hard = -student[torch.arange(len(target)), target].mean()
    soft = (teacher.exp() * (teacher - student)).sum(-1).mean()
    return (1 - weight) * hard + weight * soft


def _compared(answer: Any, trial: Trial, weight: float, what: str) -> None:
    logits, target, teacher_logits = _case(trial)
    trial.given(f"logits and teacher_logits of shape (5, 3), float64, weight = {weight}")
    got = trial.call(answer, logits, target, teacher_logits, weight)
    if weight == 0 and isinstance(got, Tensor) and got.isnan().all():
        trial.fail(
            "At weight 0 the loss is NaN: the divergence counts 0 times, but it is NaN, and 0 times NaN is NaN.",
            expected="the cross entropy",
            got=got,
            observed="nan",
        )
    trial.equal(got, _wanted(logits, target, teacher_logits, weight), what, rtol=1e-6, atol=1e-6)


@repair_class_loss.property("weight 0: the cross entropy of the logits with the targets")
def hard_part(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, 0.0, "The cross entropy alone")


@repair_class_loss.property(
    "weight 1: the divergence of the student from the teacher, summed over classes, mean over the batch"
)
def soft_part(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, 1.0, "The divergence alone")


@repair_class_loss.property("a weight between: both parts, in that share")
def mixed(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, 0.3, "The loss")


@repair_class_loss.property("the gradient of the logits is that of the formula")
def gradient(answer: Any, trial: Trial) -> None:
    logits, target, teacher_logits = _case(trial)
    c = drawn(trial, 1)[0]
    leaf, own = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    trial.given("logits that require grad, weight = 0.3; a random number comes in from above")
    got = trial.call(answer, leaf, target, teacher_logits, 0.3)
    has_graph(trial, got, "The logits")
    (grad,) = torch.autograd.grad(got, leaf, c)
    (want,) = torch.autograd.grad(_wanted(own, target, teacher_logits, 0.3), own, c)
    trial.equal(grad, want, "The gradient of the logits", rtol=1e-7)


@repair_class_loss.property(
    "logits far apart give no infinity and no NaN",
    after=(
        hard_part,
        soft_part,
    ),
)
def far_apart(answer: Any, trial: Trial) -> None:
    _, target, _ = _case(trial)
    logits = 2000 * F.one_hot((target + 1) % 3, 3).float()
    trial.given("logits of 2000 for a wrong class and 0 for the others, float32; the teacher's logits are 0")
    _finite(answer, trial, logits, target, torch.zeros(5, 3))


@repair_class_loss.property(
    "nor do logits of the teacher that are far apart",
    after=(
        hard_part,
        soft_part,
    ),
)
def teacher_far_apart(answer: Any, trial: Trial) -> None:
    _, target, _ = _case(trial)
    trial.given("the teacher's logits are 2000 for one class and 0 for the others, float32; logits are 0")
    _finite(answer, trial, torch.zeros(5, 3), target, 2000 * F.one_hot(target, 3).float())


def _finite(answer: Any, trial: Trial, logits: Tensor, target: Tensor, teacher_logits: Tensor) -> None:
    got = trial.call(answer, logits, target, teacher_logits, 0.5)
    want = _wanted(logits.double(), target, teacher_logits.double(), 0.5).float()
    kind = "infinite" if got.isinf() else "nan" if got.isnan() else "another value"
    trial.equal(got, want, "The loss", rtol=1e-4, observed=kind)
