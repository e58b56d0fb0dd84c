"""Exercise 10.repair_class_loss: what cross_entropy, nll_loss and kl_div expect to be given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.pitfalls.shared.repairs import drawn, has_graph, keeps_dtype, same_dtype

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


LOSS = "(1 - weight) · the cross entropy with the labels + weight · the divergence from the teacher."
MEANS = "Both parts are means over the batch."
DIVERGENCE = (
    "The divergence of one sample is the sum over all classes of q · log(q / p), with q the teacher's probabilities and "
    "p the student's, and 0 where q is 0."
)
FAR = "Logits that are thousands apart give no infinity and no NaN:"
STUDENTS, TEACHERS = "neither the student's", "nor the teacher's."
NEAR = 1e-4  # an eps of 1e-8 inside a logarithm is seen where logits are far apart, at every draw


def _case(trial: Trial, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    """Logits (5, 3), targets of all classes, teacher's logits: batch and classes differ. None is far from 0."""
    target = torch.tensor([0, 1, 2, 1, 0])[torch.randperm(5, generator=trial.generator)]
    student, teacher = (2 * drawn(trial, 5, 3).clamp(-1.5, 1.5).to(dtype) for _ in range(2))
    return student, target, teacher


def _wanted(logits: Tensor, target: Tensor, teacher_logits: Tensor, weight: float) -> Tensor:
    student, teacher = logits.log_softmax(-1), teacher_logits.log_softmax(-1)
    hard = -student[torch.arange(len(target)), target].mean()
    soft = (teacher.exp() * (teacher - student)).sum(-1).mean()
    return (1 - weight) * hard + weight * soft


def _compared(answer: Any, trial: Trial, weight: float, what: str) -> None:
    logits, target, teacher_logits = _case(trial)
    trial.given(f"logits and teacher_logits of shape (5, 3), float64, weight = {weight}")
    got = trial.call(answer, logits, target, teacher_logits, weight)
    alone = trial.call(answer, logits, target, teacher_logits, 1.0) if weight == 0 else None
    if all(isinstance(one, Tensor) and one.isnan().all() for one in (got, alone)):
        trial.fail(
            "At weight 0 the loss is NaN: the divergence counts 0 times, but it is NaN, and 0 times NaN is NaN.",
            expected="the cross entropy",
            got=got,
            observed="nan",
        )
    want = _wanted(logits, target, teacher_logits, weight)
    same_dtype(trial, got, want, what)
    trial.equal(got, want, what, rtol=NEAR, atol=NEAR)


@repair_class_loss.property(
    "weight 0: the cross entropy of the logits with the targets",
    asks=(LOSS, MEANS, "Returns a tensor of no dimensions"),
)
def hard_part(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, 0.0, "The cross entropy alone")


@repair_class_loss.property(
    "weight 1: the divergence of the student from the teacher, summed over classes, mean over the batch",
    asks=(LOSS, MEANS, DIVERGENCE),
)
def soft_part(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, 1.0, "The divergence alone")


@repair_class_loss.property("a weight between: both parts, in that share", asks=LOSS)
def mixed(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, 0.3, "The loss")


@repair_class_loss.property(
    "the gradient of the logits is that of the formula", asks="the gradient reaches the logits."
)
def gradient(answer: Any, trial: Trial) -> None:
    logits, target, teacher_logits = _case(trial)
    c = drawn(trial, 1)[0]
    leaf, own = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    trial.given("logits that require grad, weight = 0.3; a random number comes in from above")
    got = trial.call(answer, leaf, target, teacher_logits, 0.3)
    has_graph(trial, got, "The logits")
    (grad,) = torch.autograd.grad(got, leaf, c)
    (want,) = torch.autograd.grad(_wanted(own, target, teacher_logits, 0.3), own, c)
    trial.equal(grad, want, "The gradient of the logits", rtol=NEAR, atol=NEAR)


@repair_class_loss.property("the dtype of the logits is kept", asks="of the dtype of the logits")
def dtype_kept(answer: Any, trial: Trial) -> None:
    logits, target, teacher_logits = _case(trial, torch.float32)
    trial.given("logits and teacher_logits of shape (5, 3), float32, weight = 0.3")
    keeps_dtype(trial, trial.call(answer, logits, target, teacher_logits, 0.3), torch.float32, "the loss")


Inputs = tuple[str, Tensor, Tensor, Tensor]


def _student_far(trial: Trial) -> Inputs:
    _, target, _ = _case(trial)
    given = "logits of 2000 for a wrong class and 0 for the others, float32; the teacher's logits are 0"
    return given, 2000 * F.one_hot((target + 1) % 3, 3).float(), target, torch.zeros(5, 3)


def _teacher_far(trial: Trial) -> Inputs:
    _, target, _ = _case(trial)
    given = "the teacher's logits are 2000 for one class and 0 for the others, float32; logits are 0"
    return given, torch.zeros(5, 3), target, 2000 * F.one_hot(target, 3).float()


@repair_class_loss.property(
    "a student's logits that are far apart give no infinity and no NaN",
    asks=(FAR, STUDENTS),
    after=(hard_part, soft_part),
)
def far_apart(answer: Any, trial: Trial) -> None:
    _finite(answer, trial, *_student_far(trial))


@repair_class_loss.property(
    "nor do logits of the teacher that are far apart",
    asks=(FAR, TEACHERS, DIVERGENCE),
    after=(hard_part, soft_part),
)
def teacher_far_apart(answer: Any, trial: Trial) -> None:
    _finite(answer, trial, *_teacher_far(trial))


@repair_class_loss.property(
    "with logits that are far apart the loss and its gradient are those of the formula, too",
    asks=(LOSS, DIVERGENCE, "of any size"),
    after=(hard_part, soft_part, far_apart, teacher_far_apart),
)
def far_apart_values(answer: Any, trial: Trial) -> None:
    for who, inputs in (("student", _student_far(trial)), ("teacher", _teacher_far(trial))):
        for weight, got, want, leaf, own in _each_part(answer, trial, *inputs):
            kind = "small" if got < want else "large"
            trial.equal(
                got.detach(), want.float().detach(), "The loss", rtol=1e-4, observed=(who, weight, kind)
            )
            has_graph(trial, got, "The logits")
            (grad,), (slope,) = torch.autograd.grad(got, leaf), torch.autograd.grad(want, own)
            trial.equal(
                grad,
                slope.float(),
                "The gradient of the logits",
                rtol=1e-3,
                atol=1e-4,
                observed=(who, "slope"),
            )


def _each_part(
    answer: Any, trial: Trial, given: str, logits: Tensor, target: Tensor, teacher_logits: Tensor
) -> Iterator[tuple[float, Tensor, Tensor, Tensor, Tensor]]:
    """Weight, loss, what it should be, and the logits of each: for both parts together, and for each alone."""
    for weight in (0.5, 0.0, 1.0):
        trial.given(f"{given}; weight = {weight}")
        leaf, own = logits.clone().requires_grad_(), logits.double().requires_grad_()
        got = trial.call(answer, leaf, target, teacher_logits, weight)
        want = _wanted(own, target, teacher_logits.double(), weight)
        if not isinstance(got, Tensor) or got.shape != want.shape:
            trial.equal(got, want.float().detach(), "The loss")
        yield weight, got, want, leaf, own


def _finite(
    answer: Any, trial: Trial, given: str, logits: Tensor, target: Tensor, teacher_logits: Tensor
) -> None:
    """Neither the loss nor its gradient is infinite or NaN."""
    for weight, got, want, leaf, own in _each_part(answer, trial, given, logits, target, teacher_logits):
        kind = "infinite" if got.isinf() else "nan"
        if not got.isfinite():
            trial.equal(got.detach(), want.float().detach(), "The loss", observed=(weight, kind))
        if got.requires_grad:
            (grad,), (slope,) = torch.autograd.grad(got, leaf), torch.autograd.grad(want, own)
            if not grad.isfinite().all():
                trial.equal(grad, slope.float(), "The gradient of the logits", observed=("slope", "nan"))
