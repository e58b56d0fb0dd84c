"""What people write for 10.repair_class_loss, and why it is wrong."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.labs.pitfalls.repair_class_loss.exercise import (
    DIVERGENCE,
    LOSS,
    MEANS,
    STUDENTS,
    TEACHERS,
    repair_class_loss,
)
from helpers.labs.pitfalls.shared.repairs import add_pitfalls

Loss = Callable[[Tensor, Tensor, Tensor, float], Tensor]


def broken(have: set[str]) -> Loss:
    """The text's code with some of its pitfalls."""

    def loss(logits: Tensor, target: Tensor, teacher_logits: Tensor, weight: float) -> Tensor:
        probs, teacher = logits.softmax(-1), teacher_logits.softmax(-1)
        hard = F.cross_entropy(probs if "softmax_before_cross_entropy" in have else logits, target)
        student = probs if "kl_of_probabilities" in have else logits.log_softmax(-1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the default reduction
            soft = F.kl_div(
                student, teacher, reduction="mean" if "mean_over_classes" in have else "batchmean"
            )
        return (1 - weight) * hard + weight * soft

    return loss


add_pitfalls(
    repair_class_loss,
    broken,
    {
        "softmax_before_cross_entropy": (
            "At weight 0 the loss is that of a student full of doubt: with three classes a perfect answer still costs "
            "0.55, and training crawls. Perhaps cross_entropy gets a softmax; it takes logits.",
            LOSS,
        ),
        "kl_of_probabilities": (
            "At weight 1 the divergence is a number that can be negative, which no divergence is. Perhaps kl_div gets "
            "the student's probabilities first; it wants their logarithms.",
            DIVERGENCE,
        ),
        "mean_over_classes": (
            "The divergence is too small by the number of classes. Perhaps kl_div's default reduction 'mean' divides by "
            "batch times classes: 'batchmean' does not.",
            DIVERGENCE,
        ),
    },
)


def distilled(hard: Callable[[Tensor, Tensor], Tensor], soft: Callable[[Tensor, Tensor], Tensor]) -> Loss:
    """A loss from its two parts."""

    def loss(logits: Tensor, target: Tensor, teacher_logits: Tensor, weight: float) -> Tensor:
        return (1 - weight) * hard(logits, target) + weight * soft(logits, teacher_logits)

    return loss


def divergence(logits: Tensor, teacher_logits: Tensor) -> Tensor:
    return F.kl_div(logits.log_softmax(-1), teacher_logits.softmax(-1), reduction="batchmean")


def hard_of(learned: Tensor, target: Tensor) -> Tensor:
    return F.nll_loss(learned, target)


def soft_of(learned: Tensor, teacher: Tensor) -> Tensor:
    return F.kl_div(learned, teacher.softmax(-1), reduction="batchmean")


def both(learned: Callable[[Tensor], Tensor]) -> Loss:
    """A loss whose parts use `learned(logits)` for the student's log-probabilities."""
    return distilled(
        lambda logits, target: hard_of(learned(logits), target),
        lambda logits, teacher: soft_of(learned(logits), teacher),
    )


def written_out(logits: Tensor, teacher_logits: Tensor) -> Tensor:
    p, q = logits.softmax(-1), teacher_logits.softmax(-1)
    return (q * (q / p).log()).sum(-1).mean()


def logs_of_both(logits: Tensor, teacher_logits: Tensor) -> Tensor:
    p, q = logits.softmax(-1), teacher_logits.softmax(-1)
    return (q * (q.log() - p.log())).sum(-1).mean()


def exponents(logits: Tensor) -> Tensor:
    e = logits.exp()
    return (e / e.sum(-1, keepdim=True)).log()


WRONG_PARTS: dict[str, tuple[Loss, str, str]] = {
    "nll_of_probabilities": (
        distilled(lambda logits, target: F.nll_loss(logits.softmax(-1), target), divergence),
        LOSS,
        "At weight 0 the loss is minus the mean probability of the right class: negative. Perhaps nll_loss gets "
        "probabilities; it takes their logarithms, and turns the sign of one.",
    ),
    "nll_of_logits": (
        distilled(F.nll_loss, divergence),
        LOSS,
        "At weight 0 the loss is minus the mean logit of the right class, which has no lower bound. Perhaps nll_loss gets "
        "logits: it is the second half of cross_entropy, and the log_softmax before it is yours to do.",
    ),
    "softmax_over_the_batch": (
        distilled(
            lambda logits, target: F.nll_loss(logits.log_softmax(0), target),
            lambda logits, teacher: F.kl_div(
                logits.log_softmax(0), teacher.softmax(0), reduction="batchmean"
            ),
        ),
        LOSS,
        "Each sample's loss depends on its neighbours. Perhaps the softmax runs over dim 0, where the probabilities of one "
        "class sum to 1 over the batch.",
    ),
    "cross_entropy_summed": (
        distilled(lambda logits, target: F.cross_entropy(logits, target, reduction="sum"), divergence),
        MEANS,
        "At weight 0 the cross entropies are added up over the batch, not averaged: labels weigh more in a large batch.",
    ),
    "divergence_reversed": (
        distilled(F.cross_entropy, lambda logits, teacher: divergence(teacher, logits)),
        DIVERGENCE,
        "The divergence is that of the teacher from the student, the other way round, and it is not symmetric. kl_div "
        "takes the student's logarithms first, the teacher's probabilities second.",
    ),
    "log_target_not_told": (
        distilled(
            F.cross_entropy,
            lambda logits, teacher: F.kl_div(
                logits.log_softmax(-1), teacher.log_softmax(-1), reduction="batchmean"
            ),
        ),
        DIVERGENCE,
        "The divergence is NaN, as the logarithm of a negative number is formed in it. Perhaps kl_div gets the teacher's "
        "logarithms, and log_target=True is missing: it takes them for probabilities.",
    ),
    "divergence_from_logits": (
        distilled(F.cross_entropy, lambda logits, teacher: F.kl_div(logits, teacher, reduction="batchmean")),
        DIVERGENCE,
        "The divergence is NaN, as the logarithm of a negative number is formed in it. Perhaps kl_div gets logits: unlike "
        "cross_entropy it applies no softmax at all.",
    ),
    "summed_over_the_batch": (
        distilled(
            F.cross_entropy,
            lambda logits, teacher: F.kl_div(logits.log_softmax(-1), teacher.softmax(-1), reduction="sum"),
        ),
        MEANS,
        "The divergences are added up over the batch, not averaged: the teacher weighs more in a large batch. Perhaps "
        "reduction='sum' is meant for the classes; it adds up the batch as well.",
    ),
    "cross_entropy_for_divergence": (
        distilled(F.cross_entropy, lambda logits, teacher: F.cross_entropy(logits, teacher.softmax(-1))),
        DIVERGENCE,
        "This is the divergence plus the teacher's entropy, so it never reaches 0. Perhaps the cross entropy with the "
        "teacher is taken: its gradient is the same, its value is not.",
    ),
    "squares_of_probabilities": (
        distilled(
            F.cross_entropy,
            lambda logits, teacher: (logits.softmax(-1) - teacher.softmax(-1)).square().sum(-1).mean(),
        ),
        DIVERGENCE,
        "At weight 1 this is the sum of the squared differences of the probabilities, which is no divergence.",
    ),
    "log_of_softmax": (
        both(lambda logits: logits.softmax(-1).log()),
        STUDENTS,
        "A student that is wrong and certain makes the loss infinite. Perhaps the logarithm of a softmax is taken: a "
        "small probability rounds to 0, by exp as well. log_softmax never forms the probability.",
    ),
    "exponents_by_hand": (
        both(exponents),
        STUDENTS,
        "A student that is certain makes the loss NaN. Perhaps exp is taken of the logits as they are: exp(2000) is "
        "infinite, and infinity by infinity is NaN. log_softmax takes the largest logit off first.",
    ),
    "divergence_written_out": (
        distilled(F.cross_entropy, written_out),
        TEACHERS,
        "Logits that are far apart make the divergence infinite or NaN, and the cross entropy does not suffer. Perhaps "
        "q · log(q / p) is written out with probabilities: they round to 0. Use log_softmax for both.",
    ),
    "log_of_the_teachers_softmax": (
        distilled(
            lambda logits, target: F.cross_entropy(logits, target),
            lambda logits, teacher: (
                (teacher.softmax(-1) * (teacher.softmax(-1).log() - logits.log_softmax(-1))).sum(-1).mean()
            ),
        ),
        TEACHERS,
        "A teacher that is certain makes the loss NaN. It gives a class the probability 0: perhaps 0 · log(0) is formed. "
        "kl_div counts such a class as 0, and so does the teacher's log_softmax.",
    ),
    "eps_in_the_logarithm": (
        both(lambda logits: (logits.softmax(-1) + 1e-8).log()),
        "of any size",
        "A student that is wrong and certain costs less than it should. Perhaps a small number inside the logarithm, a "
        "clamp or nan_to_num avoids the infinity: it takes the gradient, too. log_softmax needs no such help.",
    ),
}

WRONG_PARTS |= {
    "log_target_of_probabilities": (
        distilled(
            F.cross_entropy,
            lambda logits, teacher: F.kl_div(
                logits.log_softmax(-1), teacher.softmax(-1), reduction="batchmean", log_target=True
            ),
        ),
        DIVERGENCE,
        "The divergence is that from other numbers than the teacher's probabilities: from their exponentials, which do "
        "not sum to 1. Perhaps log_target=True is told, and kl_div gets probabilities.",
    ),
    "temperature": (
        distilled(F.cross_entropy, lambda logits, teacher: 4 * divergence(logits / 2, teacher / 2)),
        DIVERGENCE,
        "The divergence is that of logits divided by 2, times 4. Perhaps a temperature was taken over from a text on "
        "distillation: here there is none.",
    ),
    "squares_of_logits": (
        distilled(F.cross_entropy, F.mse_loss),
        DIVERGENCE,
        "At weight 1 this is the mean of the squared differences of the logits, which is no divergence.",
    ),
    "one_loss_a_sample": (
        distilled(
            lambda logits, target: F.cross_entropy(logits, target, reduction="none"),
            lambda logits, teacher: F.kl_div(
                logits.log_softmax(-1), teacher.softmax(-1), reduction="none"
            ).sum(-1),
        ),
        MEANS,
        "A loss for each sample comes back, not one number. Perhaps by reduction='none', without a mean behind it.",
    ),
    "float32_comes_out": (
        lambda logits, target, teacher_logits, weight: distilled(F.cross_entropy, divergence)(
            logits.float(), target, teacher_logits.float(), weight
        ),
        "of the dtype of the logits",
        "From float64 a float32 comes out, and half of the digits are lost. Perhaps the logits are converted by .float().",
    ),
}

for name, (answer, breaks, why) in WRONG_PARTS.items():
    repair_class_loss.add_mistake(name, answer, why=why, breaks=breaks)
repair_class_loss.add_variant(
    "divergence_from_logits",
    distilled(
        F.cross_entropy,
        lambda logits, teacher: F.kl_div(logits.log_softmax(-1), teacher, reduction="batchmean"),
    ),
)
repair_class_loss.add_variant(
    "softmax_over_the_batch",
    distilled(
        F.cross_entropy,
        lambda logits, teacher: F.kl_div(logits.log_softmax(0), teacher.softmax(0), reduction="batchmean"),
    ),
)
repair_class_loss.add_variant("divergence_written_out", distilled(F.cross_entropy, logs_of_both))
repair_class_loss.add_variant(
    "eps_in_the_logarithm", both(lambda logits: logits.softmax(-1).clamp(min=1e-8).log())
)


@repair_class_loss.mistake(breaks=LOSS)
def weights_exchanged(logits: Tensor, target: Tensor, teacher_logits: Tensor, weight: float) -> Tensor:
    """At weight 0 the loss is the teacher's part alone. Perhaps weight and 1 - weight are exchanged."""
    return weight * F.cross_entropy(logits, target) + (1 - weight) * divergence(logits, teacher_logits)


@repair_class_loss.mistake(breaks=LOSS)
def cross_entropy_whole(logits: Tensor, target: Tensor, teacher_logits: Tensor, weight: float) -> Tensor:
    """At weight 1 the labels still count. Perhaps the cross entropy is not multiplied by 1 - weight."""
    return F.cross_entropy(logits, target) + weight * divergence(logits, teacher_logits)


@repair_class_loss.mistake(breaks=LOSS)
def halved(logits: Tensor, target: Tensor, teacher_logits: Tensor, weight: float) -> Tensor:
    """At weight 0 and 1 all is right, and a weight between gives a different share. Perhaps weight is only asked
    whether it is 0 or 1.
    """
    share = weight if weight in (0, 1) else 0.5
    return (1 - share) * F.cross_entropy(logits, target) + share * divergence(logits, teacher_logits)


@repair_class_loss.mistake(breaks="of the dtype of the logits")
def float64_comes_out(logits: Tensor, target: Tensor, teacher_logits: Tensor, weight: float) -> Tensor:
    """From float32 a float64 comes out. Perhaps the logits are converted against infinities, and the loss is not
    brought back; log_softmax needs no more digits.
    """
    logits, teacher_logits = logits.double(), teacher_logits.double()
    return (1 - weight) * F.cross_entropy(logits, target) + weight * divergence(logits, teacher_logits)


@repair_class_loss.mistake(breaks="the gradient reaches the logits.")
def graph_cut(logits: Tensor, target: Tensor, teacher_logits: Tensor, weight: float) -> Tensor:
    """The value is right, and nothing is learned: the loss has no graph. Perhaps the logits are detached, or
    torch.tensor(...) made a new number of the loss.
    """
    hard, soft = F.cross_entropy(logits, target).item(), divergence(logits, teacher_logits).item()
    return torch.tensor((1 - weight) * hard + weight * soft, dtype=logits.dtype)


@repair_class_loss.mistake(breaks="the gradient reaches the logits.")
def divergence_without_gradient(
    logits: Tensor, target: Tensor, teacher_logits: Tensor, weight: float
) -> Tensor:
    """The value is right, and the gradient is that of the cross entropy alone. Perhaps the divergence stands under
    no_grad, or takes the student's logits detached: that belongs to the teacher's only.
    """
    with torch.no_grad():
        soft = divergence(logits, teacher_logits)
    return (1 - weight) * F.cross_entropy(logits, target) + weight * soft


@repair_class_loss.mistake(breaks="Returns a tensor of no dimensions")
def number_returned(logits: Tensor, target: Tensor, teacher_logits: Tensor, weight: float) -> float:
    """A Python number comes back: there is nothing left to call backward on. Perhaps .item() stands at the end."""
    loss = (1 - weight) * F.cross_entropy(logits, target) + weight * divergence(logits, teacher_logits)
    return loss.item()
